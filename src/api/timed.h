/* timed: a run with the timing model: the GPU, its statistics, and its part of the result. */
#ifndef ATOLL_API_TIMED_H
#define ATOLL_API_TIMED_H

#include "api/sim.h"
#include "report/report.h"
#include "system/system.h"

struct exec_env;
struct exec_launch;
struct timed;

struct timed *timed_begin(atoll_sim *sim, const struct atoll_job *job);
/* rt_options.execute. */
void timed_execute(void *timed, struct exec_launch *launch);
/* rt_options.host_wrote: copies of the bytes in other GPUs are dropped. */
void timed_host_wrote(void *timed, uint64_t address, uint64_t bytes);
struct system *timed_system(struct timed *t);
/* True if the launch runs without time: it comes before the measured part, or it is one of runtime.warm_launches.
 * Marks it (exec_launch.untimed). Call it once per launch. */
bool timed_is_untimed(struct timed *t, uint32_t app, struct exec_launch *launch);
/* Executes such a launch. */
void timed_walk(struct timed *t, uint32_t app, struct exec_launch *launch);
uint64_t timed_now(const struct timed *t); /* SM cycles */
/* Several launches at a time: see system_start_kernel(), system_advance(). */
bool timed_can_start(const struct timed *t);
void timed_start(struct timed *t, struct exec_launch *launch, int priority);
/* Several applications: see system_split(). */
void timed_split(struct timed *t, uint32_t apps);
void timed_start_app(struct timed *t, uint32_t app, struct exec_launch *launch);
/* NULL: the partition of the machine does not change. */
const struct repartition *timed_repartition(const struct timed *t);
struct system_app timed_app(struct timed *t, uint32_t app);
void timed_abandon(struct timed *t);
/* NULL: the cycle has come, none has ended. Raises when the run was stopped. */
struct exec_launch *timed_advance(struct timed *t, struct exec_env *env, uint64_t limit_cyc);
/* After the last launch: what is on its way arrives, the laws are checked. */
void timed_finish(struct timed *t);
/* Frees all of it; NULL is allowed. */
void timed_end(struct timed *t);

/* After timed_finish(): fills in the machine's side of the report and gathers it; it lives as long as t. */
const struct report *timed_report(struct timed *t, const struct report *about);
/* A Chrome trace; the job asked for one. */
void timed_timeline(const struct timed *t, FILE *out);
/* For whoever wants the figures alone. */
void timed_outcome(const struct timed *t, struct atoll_outcome *out);
/* --check: what was checked, into the result's "check". */
void timed_check_json(const struct timed *t, json_t *check);

#endif
