/* together: several applications on one machine at the same time (-w A+B).
 *
 *   each script ─► its queued launches, one at a time ─► kernels of all applications side by side on the GPU
 *        ▲                                                              │
 *        └─ ended: begins again (apps.relaunch) ◄───────────────────────┘
 *
 * The measurement ends at apps.window_cyc, in the middle of kernels; without a window when every application
 * has ended once: then no more launches are made, those that run end, and the laws are checked. */
#ifndef ATOLL_API_TOGETHER_H
#define ATOLL_API_TOGETHER_H

#include "api/timed.h"
#include "frontend/script/script.h"

struct machine;
struct together;

/* alone: results of runs alone ("A.json,B.json"), NULL:
 * none. */
struct together *together_begin(struct timed *timed, const struct machine *machine, struct script_set *set,
                                const char *alone);
/* Policies that need profiles of alone runs: runs every application alone and sets partition.profiles of `c`. Before
 * the machine is divided. No effect otherwise. */
void together_profile(struct together *t, const atoll_sim *sim, struct config *c);
/* After the machine is divided: the configuration is what the user gave again. */
void together_end_profile(const struct together *t, struct config *c);
void together_run(struct together *t);
/* apps.alone: after that, every application runs on the whole machine without the others, for as long. */
void together_run_alone(struct together *t, const atoll_sim *sim);
/* Did the window end it? */
bool together_was_cut(const struct together *t);
/* Launches, blocks, instructions of runs that have ended and been begun again. */
struct rt_totals together_totals(const struct together *t, uint32_t app);
/* Adds what is known of an application to its row. */
void together_row(const struct together *t, uint32_t app, json_t *row);
/* System throughput and mean turn-around time, when runs alone were given. */
void together_json(const struct together *t, json_t *totals);
void together_text(const struct together *t, FILE *out);
void together_end(struct together *t); /* NULL is allowed */

#endif
