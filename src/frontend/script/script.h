/* script: runs workloads: those in the tree and folders of the user's.
 *
 *   "bfs:tiny+sgemm" ── script_open ──► set of applications, each: workload, parameter values
 *                          script_start ──► each: context of the runtime, PTX, coroutine of the host script
 *                          script_resume ──► runs a script until it waits for the device or ends
 *                          script_run     all of it functionally
 *
 * The executor (functional here, timed elsewhere) runs the launches that a waiting application has queued in
 * its context; applications interleave.
 *
 * Errors are raised (diag.h): a mistake in the request or the script, check failed when a result is wrong.
 * Ownership: the set owns the applications and their contexts; script_close() gives all of it back, at any
 * time. */
#ifndef ATOLL_FRONTEND_SCRIPT_SCRIPT_H
#define ATOLL_FRONTEND_SCRIPT_SCRIPT_H

#include "runtime/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workload; /* workloads/workload.h */

/* ---- what is there ---- */

size_t script_bundled_count(void);
const struct workload *script_bundled(size_t i);      /* in the order of their names */
const struct workload *script_find(const char *name); /* by name or alias; NULL when absent */

/* A row of `atoll list workloads`; texts live as long as the workload. */
struct script_info {
    const char *name, *suite, *sharing, *description;
    uint64_t footprint_bytes; /* at size 'small' */
};
struct script_info script_info(const struct workload *workload);
/* Device memory at a size ("tiny", "nuba", "n=4096"); raises a mistake when the size is wrong. */
uint64_t script_footprint_bytes(const struct workload *workload, const char *size);

/* ---- a request ---- */

struct script_set;
struct script_app;

/* text: name[:size], joined by '+' for applications that run together. A name with a '/' is a folder of the
 * user's, which is compiled. Raises mistakes that point into the text. */
struct script_set *script_open(const char *text);
void script_close(struct script_set *set);
uint32_t script_count(const struct script_set *set);
struct script_app *script_app(struct script_set *set, uint32_t i);

/* ---- running ---- */

struct script_options {
    struct rt_options rt;   /* slot is set per application */
    const char *ptx_folder; /* PTX from files there ("sgemm.sgemm.ptx") instead of the embedded; or NULL */
    bool eager; /* fill inputs when they are allocated instead of when they are first touched (for benchmarks)
                 */
    /* For tests of the checks: inverts one word of the flip_output-th output (from 1; 0 = none), at flip_at
     * (0 .. 1) of its length, before the script checks it. */
    uint32_t flip_output;
    double flip_at;
};

/* Creates the contexts and loads the code. options may be NULL. */
void script_start(struct script_set *set, const struct script_options *options);

enum script_state { SCRIPT_WAITS, SCRIPT_ENDED };
/* Runs the script until it waits for its queued launches, or ends. Raises what the script raised. */
enum script_state script_resume(struct script_app *app);

/* An application that has ended begins again, with a new context at the same simulated addresses; what it has
 * checked so far is kept. */
void script_restart(struct script_app *app);

/* Runs all applications to their ends functionally, launch by launch in turn. */
void script_run(struct script_set *set);

/* ---- about an application ---- */

const struct workload *script_workload(const struct script_app *app);
const char *script_label(const struct script_app *app); /* as requested: "bfs:tiny" */
/* Value of parameter row i of the workload. */
int64_t script_value(const struct script_app *app, size_t i);
struct rt_context *script_context(struct script_app *app); /* after script_start() */
bool script_ended(const struct script_app *app);
uint32_t script_outputs(const struct script_app *app); /* outputs that the script has checked so far */
uint64_t script_words_checked(const struct script_app *app);
uint64_t script_bytes_allocated(const struct script_app *app);

#endif
