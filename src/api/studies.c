/* studies: sweeps, comparisons and reports: many runs as one service. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/sim.h"
#include "base/embedded.h"
#include "report/study_report.h"
#include "sweep/slurm.h"
#include "sweep/store.h"
#include "sweep/sweep.h"

extern const char study_build_id[];

const char *atoll_build(void) { return study_build_id; }

static void free_study(void *arg) { study_free(arg); }
static void close_store(void *arg) { store_close(arg); }
static void free_data(void *arg) { study_data_free(arg); }

/* ---- sweep ---- */

struct sweep_call {
    const struct atoll_sweep *sweep;
    struct atoll_sweep_summary *summary;
};

/* A file; or, when there is none of that name, an experiment that travels inside. */
static void read_experiment(struct study *s, const char *name, const char *scale)
{
    const size_t len = strlen(name);
    if (access(name, F_OK) != 0)
        for (const struct embedded_file *f = embedded_experiments; f->name; f++)
            if (strncmp(f->name, name, len) == 0 && (!f->name[len] || strcmp(f->name + len, ".yaml") == 0)) {
                study_read_text(s, f->name, f->text, f->len_bytes, scale);
                return;
            }
    study_read(s, name, scale);
}

/* Is there anything to set side by side? A baseline alone proves nothing of a paper. */
static bool worth_running(const struct study *s)
{
    uint32_t there = 0, all = 0;
    for (uint32_t m = 0; m < s->machine_count; m++) {
        if (s->machines[m].best_of) continue;
        there += !s->machines[m].missing;
        all++;
    }
    if (s->machines[s->base_machine].missing) return false;
    return there > 1 || there == all || s->combo_count > 1;
}

/* Points that will not run become "not available" too. */
static void give_up(struct study *s)
{
    for (uint32_t i = 0; i < s->point_count; i++) s->points[i].key[0] = '\0';
    for (uint32_t m = 0; m < s->machine_count; m++)
        if (!s->machines[m].missing && !s->machines[m].best_of)
            s->machines[m].missing = "not run: there is nothing in this version to compare it with";
}

static void missing_only(struct study *s, struct atoll_sweep_summary *summary)
{
    *summary = (struct atoll_sweep_summary){.missing = s->point_count};
    size_t len = 0;
    for (uint32_t m = 0; m < s->machine_count; m++)
        if (s->machines[m].missing && strncmp(s->machines[m].missing, "this", 4) == 0 &&
            len < sizeof summary->missing_names)
            len += (size_t)snprintf(summary->missing_names + len, sizeof summary->missing_names - len, "%s%s",
                                    len ? ", " : "", s->machines[m].preset);
}

static void run_sweep(void *arg)
{
    const struct sweep_call *call = arg;
    const struct atoll_sweep *o = call->sweep;
    struct diag_cleanup freeing, closing;
    struct study *s = study_new();
    diag_defer(&freeing, free_study, s);
    read_experiment(s, o->experiment, o->scale);
    study_plan(s, o->missing_machines || o->dry_run ? STUDY_UNKNOWN_IS_MISSING : STUDY_UNKNOWN_IS_MISTAKE);
    if (o->dry_run) {
        missing_only(s, call->summary);
        call->summary->total = s->point_count;
        diag_done(&freeing, true);
        return;
    }
    const bool worth = !o->missing_machines || worth_running(s);
    if (!worth) {
        missing_only(s, call->summary);
        give_up(s);
    }
    struct store *store = store_open(o->db, STORE_WRITE);
    diag_defer(&closing, close_store, store);
    store_put_study(store, s, o->command);
    const bool runs = worth && !o->plan_only;
    if (runs && o->slurm) sweep_slurm(s, store, o, call->summary);
    if (runs && !o->slurm) sweep_local(s, store, o, call->summary);
    diag_done(&closing, true);
    diag_done(&freeing, true);
}

atoll_status atoll_sweep(atoll_sim *sim, const struct atoll_sweep *sweep, struct atoll_sweep_summary *summary)
{
    *summary = (struct atoll_sweep_summary){0};
    return api_run(sim, run_sweep, &(struct sweep_call){sweep, summary});
}

struct task_call {
    const char *spool, *task, *program;
};

static void run_task(void *arg)
{
    const struct task_call *call = arg;
    slurm_task(call->spool, call->task, call->program);
}

atoll_status atoll_sweep_task(atoll_sim *sim, const char *spool, const char *task, const char *program)
{
    return api_run(sim, run_task, &(struct task_call){spool, task, program});
}

/* ---- report ---- */

struct report_call {
    const char *db, *command;
    atoll_format format;
    char **out;
};

struct loaded {
    struct study_report report;
    struct study **studies;
    const char **commands;
    uint32_t count;
};

static void free_loaded(void *arg)
{
    struct loaded *l = arg;
    for (uint32_t i = 0; i < l->count; i++) {
        study_data_free(l->report.data[i]);
        study_free(l->studies[i]);
    }
    free(l->report.data);
    free(l->commands);
    free(l->studies);
}

static void load(struct loaded *l, struct store *store)
{
    const uint32_t count = store_study_count(store);
    if (!count) diag_mistake("'%s' holds no study yet: 'atoll sweep' puts one in", store_path(store));
    l->report.data = calloc(count, sizeof *l->report.data);
    l->report.commands = l->commands = calloc(count, sizeof *l->commands);
    l->studies = calloc(count, sizeof *l->studies);
    if (!l->report.data || !l->commands || !l->studies) diag_mistake("out of host memory");
    for (uint32_t i = 0; i < count; i++) {
        l->studies[i] = store_get_study(store, i, &l->commands[i]);
        l->report.data[i] = study_data_new(l->studies[i]);
        l->count = i + 1;
        store_get_results(store, l->report.data[i]);
    }
    l->report.count = count;
}

static void write_report(void *arg)
{
    const struct report_call *call = arg;
    struct diag_cleanup closing, freeing;
    struct api_text text;
    struct loaded l = {.report = {.database = call->db, .command = call->command}};
    struct store *store = store_open(call->db, STORE_READ);
    diag_defer(&closing, close_store, store);
    diag_defer(&freeing, free_loaded, &l);
    load(&l, store);
    api_text_begin(&text);
    if (call->format == ATOLL_HTML)
        study_report_html(&l.report, text.file);
    else if (call->format == ATOLL_CSV)
        study_report_csv(&l.report, text.file);
    else if (call->format == ATOLL_MARKDOWN)
        study_report_markdown(&l.report, text.file);
    else
        study_report_text(&l.report, text.file);
    *call->out = api_text_end(&text);
    diag_done(&freeing, true);
    diag_done(&closing, true);
}

atoll_status atoll_report(atoll_sim *sim, const char *db, atoll_format format, const char *command,
                          char **text)
{
    return api_run(sim, write_report,
                   &(struct report_call){.db = db, .command = command, .format = format, .out = text});
}

struct names_call {
    const char *prefix;
    char **out;
};

static void write_names(void *arg)
{
    const struct names_call *call = arg;
    struct api_text text;
    api_text_begin(&text);
    for (const struct embedded_file *f = embedded_experiments; f->name; f++)
        if (strncmp(f->name, call->prefix, strlen(call->prefix)) == 0)
            (void)fprintf(text.file, "%.*s\n", (int)(strlen(f->name) - strlen(".yaml")), f->name);
    *call->out = api_text_end(&text);
}

atoll_status atoll_experiments(atoll_sim *sim, const char *prefix, char **names)
{
    return api_run(sim, write_names, &(struct names_call){prefix, names});
}

/* ---- compare ---- */

struct compare_call {
    const struct atoll_compare *what;
    struct atoll_comparison *out;
};

static void write_comparison(struct study_data *d, const struct compare_call *call)
{
    struct atoll_comparison *out = call->out;
    struct api_text text;
    api_text_begin(&text);
    compare_text(d, text.file);
    out->text = api_text_end(&text);
    api_text_begin(&text);
    compare_failures(d, text.file);
    out->failures = api_text_end(&text);
    json_t *json = compare_json(d);
    api_text_begin(&text);
    (void)json_dumpf(json, text.file, JSON_INDENT(2));
    (void)fputc('\n', text.file);
    json_decref(json);
    out->json = api_text_end(&text);
    if (!call->what->html) return;
    api_text_begin(&text);
    study_report_html(
        &(struct study_report){
            .data = &d, .commands = &call->what->how.command, .count = 1, .command = call->what->how.command},
        text.file);
    out->html = api_text_end(&text);
}

static void run_comparison(void *arg)
{
    const struct compare_call *call = arg;
    const struct atoll_compare *what = call->what;
    struct diag_cleanup freeing, closing, dropping;
    struct atoll_sweep_summary summary;
    struct study *s = study_new();
    diag_defer(&freeing, free_study, s);
    study_make(s, what->machines, what->machine_count, what->workloads, what->workload_count, what->sets,
               what->set_count);
    study_plan(s, STUDY_UNKNOWN_FAILS);
    struct store *store = store_open(NULL, STORE_MEMORY);
    diag_defer(&closing, close_store, store);
    sweep_local(s, store, &what->how, &summary);
    call->out->worst = summary.worst;
    call->out->stopped = summary.stopped;
    struct study_data *d = study_data_new(s);
    diag_defer(&dropping, free_data, d);
    store_get_results(store, d);
    write_comparison(d, call);
    diag_done(&dropping, true);
    diag_done(&closing, true);
    diag_done(&freeing, true);
}

atoll_status atoll_compare(atoll_sim *sim, const struct atoll_compare *what, struct atoll_comparison *out)
{
    *out = (struct atoll_comparison){0};
    return api_run(sim, run_comparison, &(struct compare_call){what, out});
}

void atoll_comparison_free(struct atoll_comparison *c)
{
    free(c->text);
    free(c->json);
    free(c->html);
    free(c->failures);
    *c = (struct atoll_comparison){0};
}
