/* together: see together.h. */
#include "api/together.h"

#include <stdlib.h>

#include "api/alone.h"
#include "api/partition_rows.h"
#include "config/machine.h"
#include "exec/exec.h"

struct member {
    struct script_app *script;
    struct exec_launch *running;
    uint32_t runs; /* that have ended */
    uint64_t first_end_cyc;
    struct rt_totals before; /* of runs begun again */
    struct system_app measured;
    uint64_t cycles;     /* over which it was measured */
    struct alone *alone; /* NULL: not known */
};

enum { APPS_PER_RUN = 8 };

struct together {
    struct timed *timed;
    const struct config *config;
    uint32_t count;
    struct member *members;
    bool cut, over;
    char profiles[64 * APPS_PER_RUN]; /* text of partition.profiles */
};

/* ---- running ---- */

static bool all_have_ended(const struct together *t)
{
    for (uint32_t k = 0; k < t->count; k++)
        if (!t->members[k].runs) return false;
    return true;
}

static void add_totals(struct rt_totals *sum, struct rt_totals more)
{
    sum->launches += more.launches;
    sum->blocks += more.blocks;
    sum->warp_instructions += more.warp_instructions;
    sum->thread_instructions += more.thread_instructions;
}

static void measure(struct together *t)
{
    const uint64_t now = timed_now(t->timed);
    for (uint32_t k = 0; k < t->count; k++) {
        struct member *m = &t->members[k];
        m->measured = timed_app(t->timed, k);
        m->cycles = t->config->apps.relaunch || !m->runs ? now : m->first_end_cyc;
    }
    t->over = true;
}

static void script_has_ended(struct together *t, struct member *m)
{
    if (!m->runs++) m->first_end_cyc = timed_now(t->timed);
    if (!t->over && !t->config->apps.window_cyc && all_have_ended(t)) measure(t);
}

/* Puts the next launch of the application on the GPU, when there is one. */
static void start_next(struct together *t, uint32_t app)
{
    struct member *m = &t->members[app];
    while (!t->over) {
        if (script_ended(m->script)) {
            if (!t->config->apps.relaunch) return;
            add_totals(&m->before, rt_totals(script_context(m->script)));
            script_restart(m->script);
        }
        m->running = rt_take_next(script_context(m->script));
        if (m->running) {
            rt_ready(script_context(m->script), m->running);
            if (timed_is_untimed(t->timed, app, m->running)) {
                timed_walk(t->timed, app, m->running);
                rt_drop(script_context(m->script), m->running);
                continue;
            }
            timed_start_app(t->timed, app, m->running);
            return;
        }
        if (script_resume(m->script) == SCRIPT_ENDED) script_has_ended(t, m);
    }
}

static void end_launch(struct together *t, const struct exec_launch *ended)
{
    for (uint32_t k = 0; k < t->count; k++) {
        struct member *m = &t->members[k];
        if (m->running != ended) continue;
        rt_drop(script_context(m->script), m->running);
        m->running = NULL;
    }
}

/* Drops the launches that have not ended: the run was cut, or it raised an error. */
static void drop_running(void *together)
{
    struct together *t = together;
    for (uint32_t k = 0; k < t->count; k++) {
        struct member *m = &t->members[k];
        if (m->running) rt_drop(script_context(m->script), m->running);
        m->running = NULL;
    }
}

void together_run(struct together *t)
{
    struct diag_cleanup dropping;
    diag_defer(&dropping, drop_running, t);
    const uint64_t limit = t->config->apps.window_cyc ? t->config->apps.window_cyc : ENGINE_NEVER;
    for (;;) {
        struct exec_env *env = NULL;
        for (uint32_t k = 0; k < t->count; k++) {
            if (!t->members[k].running) start_next(t, k);
            if (t->members[k].running) env = t->members[k].running->env;
        }
        if (!env) break;
        const struct exec_launch *ended = timed_advance(t->timed, env, limit);
        if (!ended) {
            t->cut = true;
            break;
        }
        end_launch(t, ended);
    }
    if (!t->over) measure(t);
    if (t->cut) timed_abandon(t->timed);
    diag_done(&dropping, true);
}

struct together *together_begin(struct timed *timed, const struct machine *machine, struct script_set *set,
                                const char *alone)
{
    struct together *t = calloc(1, sizeof *t);
    if (t) t->members = calloc(script_count(set), sizeof *t->members);
    if (!t || !t->members) diag_mistake("out of host memory");
    t->timed = timed;
    t->config = &machine->config;
    t->count = script_count(set);
    for (uint32_t k = 0; k < t->count; k++) t->members[k].script = script_app(set, k);
    for (uint32_t k = 0; alone && k < t->count; k++)
        t->members[k].alone = alone_read(alone, k, t->count, script_label(t->members[k].script), machine);
    return t;
}

void together_end(struct together *t)
{
    if (!t) return;
    for (uint32_t k = 0; k < t->count; k++) alone_free(t->members[k].alone);
    free(t->members);
    free(t);
}

/* The run alone of an application that is faster beside others lasts longer, or it would not cover the same
 * instructions. */
static struct alone *run_alone(const struct member *m, const atoll_sim *sim)
{
    enum { LONGEST = 4 }; /* times the cycles beside others */
    for (uint64_t times = 1;; times *= 2) {
        struct alone *a = alone_run(sim, script_label(m->script), m->cycles * times);
        if (times == LONGEST || alone_repeats(a, m->measured.stats.app.warp_instructions) <= 1) return a;
        alone_free(a);
    }
}

void together_run_alone(struct together *t, const atoll_sim *sim)
{
    for (uint32_t k = 0; k < t->count; k++)
        if (!t->members[k].alone) t->members[k].alone = run_alone(&t->members[k], sim);
}

void together_profile(struct together *t, const atoll_sim *sim, struct config *c)
{
    size_t used = 0;
    if (!config_partition_needs_profiles(c) || t->count < 2 || *c->partition.profiles) return;
    if (!c->apps.alone || !c->apps.window_cyc)
        diag_mistake(
            "partition.policy offline needs the profile of each application alone: set apps.alone=true and "
            "apps.window_cyc, or partition.profiles");
    for (uint32_t k = 0; k < t->count && k < APPS_PER_RUN; k++) {
        struct member *m = &t->members[k];
        if (!m->alone) m->alone = alone_run(sim, script_label(m->script), c->apps.window_cyc);
        const struct alone_profile p = alone_profile(m->alone);
        const double apki =
            p.thread_instructions ? 1000.0 * (double)p.accesses / (double)p.thread_instructions : 0;
        used += (size_t)snprintf(t->profiles + used, sizeof t->profiles - used, "%s%.6f:%.6f", k ? "," : "",
                                 apki, p.accesses ? (double)p.hits / (double)p.accesses : 0.0);
    }
    c->partition.profiles = t->profiles;
}

void together_end_profile(const struct together *t, struct config *c)
{
    if (c->partition.profiles == t->profiles) c->partition.profiles = "";
}

/* ---- results ---- */

bool together_was_cut(const struct together *t) { return t->cut; }

struct rt_totals together_totals(const struct together *t, uint32_t app) { return t->members[app].before; }

static double ipc_of(const struct member *m)
{
    return m->cycles ? (double)m->measured.stats.app.warp_instructions / (double)m->cycles : 0;
}

/* Speed beside the others over speed alone, for the same instructions. */
static double progress_of(const struct member *m)
{
    const double alone = alone_cycles(m->alone, m->measured.stats.app.warp_instructions);
    return m->cycles ? alone / (double)m->cycles : 0;
}

void together_row(const struct together *t, uint32_t app, json_t *row)
{
    const struct member *m = &t->members[app];
    const struct app_stats *s = &m->measured.stats.app;
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"sms", m->measured.sms},
                {"channels", m->measured.channels},
                {"cycles", m->cycles},
                {"runs", m->runs},
                {"first_run_cycles", m->first_end_cyc},
                {"issued_warp_instructions", s->warp_instructions},
                {"issued_thread_instructions", s->thread_instructions},
                {"kernels", s->kernels},
                {"pages", s->pages},
                {"llc_requests", s->llc_requests},
                {"llc_reads", s->llc_reads},
                {"llc_read_hits", s->llc_read_hits},
                {"llc_read_misses", s->llc_read_misses},
                {"llc_accesses", s->llc_accesses},
                {"llc_hits", s->llc_hits},
                {"llc_outside", s->llc_outside},
                {"sms_gained", s->sms_gained},
                {"sms_drained", s->sms_drained},
                {"sms_switched", s->sms_switched},
                {"blocks_switched", s->blocks_switched}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        (void)json_object_set_new(row, rows[k].name, json_integer((json_int_t)rows[k].value));
    (void)json_object_set_new(row, "ipc", json_real(ipc_of(m)));
    (void)json_object_set_new(row, "ipc_per_sm",
                              json_real(m->measured.sms ? ipc_of(m) / m->measured.sms : 0));
    if (!m->alone) return;
    (void)json_object_set_new(row, "alone_cycles", json_real(alone_cycles(m->alone, s->warp_instructions)));
    (void)json_object_set_new(row, "alone_repeats", json_real(alone_repeats(m->alone, s->warp_instructions)));
    (void)json_object_set_new(row, "normalized_progress", json_real(progress_of(m)));
}

static void system_of(const struct together *t, double *stp, double *antt)
{
    *stp = *antt = 0;
    for (uint32_t k = 0; k < t->count; k++) {
        const double progress = progress_of(&t->members[k]);
        *stp += progress;
        *antt += progress > 0 ? 1 / progress / t->count : 0;
    }
}

/* Every run alone is known and covers the instructions of the application here. A run that is too short would count
 * as repeated from cold. */
static bool alone_runs_suffice(const struct together *t)
{
    for (uint32_t k = 0; k < t->count; k++) {
        const struct member *m = &t->members[k];
        if (!m->alone || alone_repeats(m->alone, m->measured.stats.app.warp_instructions) > 1) return false;
    }
    return true;
}

void together_json(const struct together *t, json_t *totals)
{
    double stp, antt;
    const struct repartition *r = timed_repartition(t->timed);
    if (r) (void)json_object_set_new(totals, "partition", partition_rows_json(r, t->config, t->count));
    if (*t->profiles) (void)json_object_set_new(totals, "profiles", json_string(t->profiles));
    if (!alone_runs_suffice(t)) return;
    system_of(t, &stp, &antt);
    json_t *progress = json_object(); /* by the number of the application */
    for (uint32_t k = 0; k < t->count; k++) {
        char name[16];
        (void)snprintf(name, sizeof name, "app%u", k);
        (void)json_object_set_new(progress, name, json_real(progress_of(&t->members[k])));
    }
    (void)json_object_set_new(totals, "progress", progress);
    (void)json_object_set_new(totals, "stp", json_real(stp));
    (void)json_object_set_new(totals, "antt", json_real(antt));
}

void together_text(const struct together *t, FILE *out)
{
    if (t->count == 1 && !t->members[0].alone) return; /* what the report says already */
    (void)fprintf(out, "\n  %-24s %4s %8s %13s %5s %8s %9s%s\n", "applications", "SMs", "channels", "cycles",
                  "runs", "IPC", "LLC hits", t->members[0].alone ? "  to alone" : "");
    for (uint32_t k = 0; k < t->count; k++) {
        const struct member *m = &t->members[k];
        const struct app_stats *s = &m->measured.stats.app;
        (void)fprintf(out, "    %-22s %4u %8u %13llu %5u %8.2f %7.1f %%", script_label(m->script),
                      m->measured.sms, m->measured.channels, (unsigned long long)m->cycles, m->runs,
                      ipc_of(m),
                      s->llc_reads ? 100.0 * (double)s->llc_read_hits / (double)s->llc_reads : 0.0);
        if (m->alone) (void)fprintf(out, "  %8.3f", progress_of(m));
        (void)fputc('\n', out);
    }
    const struct repartition *r = timed_repartition(t->timed);
    if (r) partition_rows_text(r, t->config, t->count, out);
    if (!t->members[0].alone) return;
    double stp, antt;
    system_of(t, &stp, &antt);
    if (alone_runs_suffice(t))
        (void)fprintf(out,
                      "    system throughput (STP) %.3f, average normalized turnaround time (ANTT) %.3f\n",
                      stp, antt);
    for (uint32_t k = 0; k < t->count; k++) {
        const struct member *m = &t->members[k];
        const double repeats = alone_repeats(m->alone, m->measured.stats.app.warp_instructions);
        if (repeats > 1)
            (void)fprintf(out,
                          "    %s issued %.2f times the instructions of its run alone: no STP; give that run "
                          "apps.window_cyc, or use apps.alone\n",
                          script_label(m->script), repeats);
    }
}
