/* timed: see timed.h. */
#include "api/timed.h"

#include <stdlib.h>

#include "exec/exec.h"

struct timed {
    atoll_sim *sim;
    const struct atoll_job *job;
    struct stats_registry stats;
    struct gpu *gpu;
};

static bool progress(void *arg, uint64_t now_cyc, uint64_t warp_instructions)
{
    const struct timed *t = arg;
    if (t->sim->progress) {
        const struct atoll_progress p = {
            .fraction = -1, .cycles = now_cyc, .warp_instructions = warp_instructions};
        t->sim->progress(t->sim->progress_arg, &p);
    }
    return !t->job->max_instructions || warp_instructions < t->job->max_instructions;
}

struct timed *timed_begin(atoll_sim *sim, const struct atoll_job *job)
{
    struct timed *t = calloc(1, sizeof *t);
    if (!t) diag_mistake("out of host memory");
    t->sim = sim;
    t->job = job;
    const struct config *c = &sim->machine.config;
    stats_init(&t->stats, c->sim.series_interval_cyc);
    t->gpu = gpu_new(c, &t->stats);
    gpu_listen(t->gpu, &(struct gpu_listener){.arg = t, .progress = progress});
    return t;
}

void timed_execute(void *timed, struct exec_launch *launch)
{
    struct timed *t = timed;
    if (!gpu_run_kernel(t->gpu, 0, launch)) exec_stop(launch->env);
}

void timed_finish(struct timed *t) { gpu_finish(t->gpu); }

void timed_end(struct timed *t)
{
    if (!t) return;
    gpu_free(t->gpu);
    stats_free(&t->stats);
    free(t);
}

void timed_report(const struct timed *t, const char *workload, FILE *out)
{
    struct stats sum;
    stats_sum(&t->stats, STATS_EVERYWHERE, &sum);
    (void)fprintf(out, "%s: %llu cycles\n", workload, (unsigned long long)gpu_now(t->gpu));
    for (uint32_t k = 0; k < gpu_kernel_count(t->gpu); k++) {
        const struct gpu_kernel_record *r = gpu_kernel_record(t->gpu, k);
        (void)fprintf(out, "  %s: %llu cycles, %u blocks/SM by %s, %u registers\n", r->name,
                      (unsigned long long)(r->end_cyc - r->start_cyc), r->blocks_per_sm, r->limited_by,
                      r->registers_per_thread);
    }
    stats_text(&sum, false, out);
}

void timed_json(const struct timed *t, json_t *root)
{
    struct stats sum;
    stats_sum(&t->stats, STATS_EVERYWHERE, &sum);
    (void)json_object_set_new(root, "stats", stats_json(&sum));
}
