/* walk: executes launches without time. The blocks run on the SMs that the block scheduler of the machine chooses,
 * all SMs in turns of a few instructions. Two clients:
 *
 *   launches before wl_measure()   pages get the frames that they would have got in a timed run; an observer may
 *                                  fill structures that a cold start would leave empty (the remote data cache)
 *   first pass of a run            an observer collects a profile of the pages (pages/profile.h); no page is placed
 *
 * No statistic of the machine counts an instruction or an access of a walk; mmu.pages_placed counts its pages. */
#ifndef ATOLL_SYSTEM_WALK_H
#define ATOLL_SYSTEM_WALK_H

#include <stdbool.h>
#include <stdint.h>

struct exec_launch;
struct system;

/* Callbacks of a walk. Any member may be NULL. */
struct walk_observer {
    void *arg;
    /* A warp instruction of an SM accesses a line (virtual line number), in the order of execution. Called once per
     * line of the instruction, unless lanes that are not neighbours share the line. */
    void (*access)(void *arg, uint32_t sm, uint32_t app, uint64_t line, bool writes);
    /* The last block of the launch has ended. */
    void (*ended)(void *arg, uint32_t app);
    uint64_t
        skip_blocks; /* accesses and instructions of so many blocks, the first that SMs get, are not observed */
    uint64_t
        *left; /* observed warp instructions that may still execute; the walk stops at 0. NULL: no limit */
};

/* Executes a launch of an application. `places`: a page without a frame gets one at its first access. Raises a user
 * error if the launch is invalid or its blocks deadlock. False: the observer's limit stopped the walk. */
bool system_walk(struct system *g, uint32_t app, struct exec_launch *launch, bool places,
                 const struct walk_observer *observer);

/* Executes the first blocks of a launch, as many as `blocks`; pages are placed. system_start_kernel() of the launch must
 * follow and runs the others with time. Raises a user error if the launch has no more blocks. */
void system_walk_blocks(struct system *g, uint32_t app, struct exec_launch *launch, uint64_t blocks,
                        const struct walk_observer *observer);

#endif
