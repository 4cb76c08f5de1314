/* workloads_bench: functional speed of workloads, check included but not timed.
 *
 *   workloads_bench NAME[:SIZE]...    per workload one line: warp instructions, CPU seconds of execution
 * (user + system, one core; inputs are filled before), warp instructions per second */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/diag.h"
#include "frontend/script/script.h"

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void close_set(void *arg) { script_close(arg); }

static void run(void *arg)
{
    struct script_set *set = script_open(arg);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_set, set);
    const struct script_options options = {.eager = true};
    script_start(set, &options);
    struct script_app *app = script_app(set, 0);
    struct rt_context *rt = script_context(app);
    double executing = 0;
    while (!script_ended(app)) {
        const double before = cpu_seconds();
        const bool ran = rt_run_next(rt);
        executing += cpu_seconds() - before;
        if (!ran) (void)script_resume(app);
    }
    const struct rt_totals totals = rt_totals(rt);
    (void)printf("workload=%s warp_instructions=%llu seconds=%.4f millions_per_second=%.2f\n",
                 script_label(app), (unsigned long long)totals.warp_instructions, executing,
                 (double)totals.warp_instructions / 1e6 / executing);
    diag_done(&cleanup, true);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct diag d;
        diag_init(&d);
        if (diag_run(&d, run, argv[i]) != DIAG_NONE) {
            const int status = (int)d.kind;
            (void)fputs(d.text, stderr);
            diag_clear(&d);
            return status;
        }
    }
    return 0;
}
