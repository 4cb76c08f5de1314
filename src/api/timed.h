/* timed: a run with the timing model: the GPU, its statistics, and its part of the result. */
#ifndef ATOLL_API_TIMED_H
#define ATOLL_API_TIMED_H

#include "api/sim.h"
#include "gpu/gpu.h"

struct exec_launch;
struct timed;

struct timed *timed_begin(atoll_sim *sim, const struct atoll_job *job);
/* rt_options.execute. */
void timed_execute(void *timed, struct exec_launch *launch);
/* After the last launch: what is on its way arrives, the laws are checked. */
void timed_finish(struct timed *t);
/* Frees all of it; NULL is allowed. */
void timed_end(struct timed *t);

void timed_report(const struct timed *t, const char *workload, FILE *out);
/* Adds totals, kernels and stats to a result. */
void timed_json(const struct timed *t, json_t *root);

#endif
