/* alone: what an application does without the others, to compare with: a stored result, or a run now.
 *
 * Equal in kind: the run alone begins again as the one beside others does (apps.relaunch), until it has
 * lasted as long, so that its caches are as warm; it is compared at the same number of instructions. */
#ifndef ATOLL_API_ALONE_H
#define ATOLL_API_ALONE_H

#include <atoll.h>

struct alone;
struct machine;

/* The counters of the application's alone run, for partition policies. */
struct alone_profile {
    uint64_t accesses, hits, thread_instructions;
};
struct alone_profile alone_profile(const struct alone *a);

/* Reads the file number idx of count in "A.json,B.json", a result of the workload on the machine `beside` outside of what
 * divides it; raises mistakes. */
struct alone *alone_read(const char *list, uint32_t idx, uint32_t count, const char *workload,
                         const struct machine *beside);
/* Runs the workload on the whole of the machine for so many cycles; beside: where it had neighbours. */
struct alone *alone_run(const atoll_sim *beside, const char *workload, uint64_t cycles);
void alone_free(struct alone *a); /* NULL is allowed */

/* Cycles in which it issued so many instructions; beyond its end it counts as repeated. */
double alone_cycles(const struct alone *a, uint64_t instructions);
/* These instructions over those that it issued. */
double alone_repeats(const struct alone *a, uint64_t instructions);

#endif
