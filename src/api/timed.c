/* timed: see timed.h. */
#include "api/timed.h"

#include <stdlib.h>
#include <time.h>

#include "check/check.h"
#include "exec/exec.h"
#include "net/net_level.h"
#include "pages/pages.h"
#include "report/timeline.h"
#include "system/walk.h"
#include "system/warm.h"

struct timed {
    atoll_sim *sim;
    const struct atoll_job *job;
    struct stats_registry stats;
    struct system *system;
    double shown_seconds;           /* time of the last progress report */
    uint32_t warmed[PAGES_APPS];    /* [application] launches of runtime.warm_launches that have run */
    bool blocks_warmed[PAGES_APPS]; /* [application] its blocks of runtime.warm_blocks have run */
    struct timeline *timeline;
    struct report report;
    bool reported;
};

static double wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* At most a few times per second, and only when somebody listens. */
static bool progress(void *arg, uint64_t now_cyc, uint64_t warp_instructions)
{
    struct timed *t = arg;
    if (t->sim->interrupted) return false;
    if (!t->sim->progress) return true;
    const double now = wall_seconds();
    if (now - t->shown_seconds < 0.2) return true;
    t->shown_seconds = now;
    const double limit = (double)t->job->max_instructions;
    const struct atoll_progress p = {.fraction = limit > 0 ? (double)warp_instructions / limit : -1,
                                     .cycles = now_cyc,
                                     .warp_instructions = warp_instructions,
                                     .kernel = system_kernel_count(t->system),
                                     .kernel_fraction = system_kernel_progress(t->system)};
    t->sim->progress(t->sim->progress_arg, &p);
    return true;
}

static void block_ended(void *arg, uint32_t sm, uint32_t kernel, uint64_t block, uint64_t start_cyc,
                        uint64_t end_cyc)
{
    struct timed *t = arg;
    timeline_block(t->timeline, sm, block, kernel, start_cyc, end_cyc);
}

/* A load must not overtake a store of its own warp, nor that the one before it. */
static void refuse_disorder(const struct machine *m)
{
    for (enum net_level level = 0; level < NET_LEVELS; level++) {
        if (!net_level_used(&m->config, level)) continue;
        const struct net_spec spec = net_level_spec(&m->config, level, NET_REQUESTS);
        if (spec.in_order || spec.vcs == 1 || !net_has_vcs(&spec)) continue;
        const enum param_idx idx = param_find(net_level_names[level], "in_order");
        diag_mistake_at(
            m->set_at[idx],
            "%s.in_order=false is for networks alone (atoll model net): stores and loads of a warp "
            "would overtake each other; leave it true, or set %s.vcs=1",
            net_level_names[level], net_level_names[level]);
    }
}

struct timed *timed_begin(atoll_sim *sim, const struct atoll_job *job)
{
    refuse_disorder(&sim->machine);
    struct timed *t = calloc(1, sizeof *t);
    if (!t) diag_mistake("out of host memory");
    t->sim = sim;
    t->job = job;
    const struct config *c = &sim->machine.config;
    stats_init(&t->stats, c->sim.series_interval_cyc);
    t->system = system_new(c, &t->stats, job->check);
    if (job->timeline) t->timeline = timeline_new();
    system_listen(t->system, &(struct system_listener){.arg = t,
                                                       .progress = progress,
                                                       .block = job->timeline ? block_ended : NULL});
    system_limit(t->system, job->max_instructions);
    return t;
}

bool timed_is_untimed(struct timed *t, uint32_t app, struct exec_launch *launch)
{
    if (!launch->untimed && t->warmed[app] < t->sim->machine.config.runtime.warm_launches) {
        t->warmed[app]++;
        launch->untimed = true;
    }
    return launch->untimed;
}

/* The first blocks of the first launch with time run without it. */
static void warm_blocks(struct timed *t, uint32_t app, struct exec_launch *launch)
{
    const uint32_t blocks = t->sim->machine.config.runtime.warm_blocks;
    if (!blocks || t->blocks_warmed[app]) return;
    const struct walk_observer warm = system_warm(t->system);
    t->blocks_warmed[app] = true;
    system_walk_blocks(t->system, app, launch, blocks, &warm);
}

static void run_launch(struct timed *t, struct exec_launch *launch)
{
    warm_blocks(t, 0, launch);
    if (!system_run_kernel(t->system, 0, launch)) exec_stop(launch->env);
}

void timed_execute(void *timed, struct exec_launch *launch)
{
    struct timed *t = timed;
    if (timed_is_untimed(t, 0, launch))
        timed_walk(t, 0, launch);
    else
        run_launch(t, launch);
}

void timed_host_wrote(void *timed, uint64_t address, uint64_t bytes)
{
    struct timed *t = timed;
    system_host_wrote(t->system, 0, address, bytes);
}

void timed_walk(struct timed *t, uint32_t app, struct exec_launch *launch)
{
    const struct walk_observer warm = system_warm(t->system);
    (void)system_walk(t->system, app, launch, true, &warm);
}

struct system *timed_system(struct timed *t) { return t->system; }

bool timed_can_start(const struct timed *t) { return system_can_start(t->system); }

void timed_start(struct timed *t, struct exec_launch *launch, int priority)
{
    warm_blocks(t, 0, launch);
    system_start_kernel(t->system, 0, launch, priority);
}

void timed_split(struct timed *t, uint32_t apps) { system_split(t->system, apps); }

void timed_start_app(struct timed *t, uint32_t app, struct exec_launch *launch)
{
    warm_blocks(t, app, launch);
    system_start_kernel(t->system, app, launch, 0);
}

const struct repartition *timed_repartition(const struct timed *t) { return system_repartition(t->system); }

struct system_app timed_app(struct timed *t, uint32_t app) { return system_app(t->system, app); }

void timed_abandon(struct timed *t) { system_abandon(t->system); }

struct exec_launch *timed_advance(struct timed *t, struct exec_env *env, uint64_t limit_cyc)
{
    struct exec_launch *ended = NULL;
    if (system_advance(t->system, limit_cyc, &ended) == SYSTEM_STOPPED) exec_stop(env);
    return ended;
}

uint64_t timed_now(const struct timed *t) { return system_now(t->system); }

void timed_finish(struct timed *t) { system_finish(t->system); }

void timed_end(struct timed *t)
{
    if (!t) return;
    if (t->reported) report_free(&t->report);
    timeline_free(t->timeline);
    system_free(t->system);
    stats_free(&t->stats);
    free(t);
}

const struct report *timed_report(struct timed *t, const struct report *about)
{
    t->report = *about;
    t->report.config = &t->sim->machine.config;
    t->report.machine = t->sim->machine.name;
    t->report.registry = &t->stats;
    t->report.system = t->system;
    t->report.details = t->job->details;
    t->report.ascii = t->job->ascii;
    if (t->timeline) t->report.note = timeline_note(t->timeline);
    t->reported = true;
    report_gather(&t->report);
    return &t->report;
}

void timed_timeline(const struct timed *t, FILE *out) { timeline_write(t->timeline, &t->report, out); }

void timed_outcome(const struct timed *t, struct atoll_outcome *out)
{
    const struct measure *m = &t->report.total;
    out->cycles = m->cycles;
    out->seconds = m->seconds;
    out->ipc = m->ipc;
    out->bound_by = measure_bound_names[m->bound];
}

void timed_check_json(const struct timed *t, json_t *check)
{
    if (!system_check(t->system)) return;
    const struct check_counts n = check_counts(system_check(t->system));
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {{"stores", n.stores},
                {"loads", n.loads},
                {"words", n.words},
                {"ordered_words", n.ordered_words},
                {"racy_words", n.racy_words},
                {"stale_words", n.stale_words},
                {"racy_stores", n.racy_stores},
                {"memory_side_reads", n.memory_side_reads},
                {"write_backs", n.write_backs},
                {"acquires", n.acquires},
                {"releases", n.releases},
                {"read_only_loads", n.read_only_loads}};
    (void)json_object_set_new(check, "caches_passed", json_true());
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        (void)json_object_set_new(check, rows[k].name, json_integer((json_int_t)rows[k].count));
}
