/* run: a workload (host script and kernels) on a machine, and its result as report, JSON and CSV.
 *
 *   atoll_run ─► script_open / script_start ─► resume a script, run what it queued, next script ... ─► texts
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "api/run.h"
#include "api/together.h"
#include "exec/lanes.h"
#include "frontend/script/script.h"
#include "pages/profile.h"
#include "runtime/oneshot.h"
#include "system/rules.h"

double run_wall_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* User and system time of this process. */
double run_cpu_seconds(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static uint64_t peak_rss_bytes(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (uint64_t)u.ru_maxrss * 1024;
}

enum rt_isa run_isa(enum isa choice)
{
    switch (choice) {
    case isa_plain: return RT_ISA_PLAIN;
    case isa_avx2:
        if (!lanes_isa_present(LANES_AVX2)) diag_mistake("sim.isa = avx2, but this machine has no AVX2");
        return RT_ISA_AVX2;
    case isa_avx512:
        if (!lanes_isa_present(LANES_AVX512))
            diag_mistake("sim.isa = avx512, but this machine has no AVX-512");
        return RT_ISA_BEST;
    case isa_automatic:
    case isa_count: break;
    }
    return RT_ISA_BEST;
}

static void add_totals(struct rt_totals *sum, struct rt_totals more)
{
    sum->launches += more.launches;
    sum->blocks += more.blocks;
    sum->warp_instructions += more.warp_instructions;
    sum->thread_instructions += more.thread_instructions;
}

static struct rt_totals app_totals(const struct run_call *call, uint32_t app)
{
    struct rt_totals t = rt_totals(script_context(script_app(call->set, app)));
    if (call->together) add_totals(&t, together_totals(call->together, app));
    return t;
}

static void sum_totals(struct run_call *call)
{
    call->totals = (struct rt_totals){0};
    for (uint32_t i = 0; i < script_count(call->set); i++) add_totals(&call->totals, app_totals(call, i));
}

/* At most a few times per second, and only when somebody listens. */
static void show_progress(struct run_call *call)
{
    if (!call->sim->progress) return;
    const double now = run_wall_seconds();
    if (now - call->shown_seconds < 0.2) return;
    call->shown_seconds = now;
    sum_totals(call);
    const struct atoll_progress p = {.fraction = -1, .warp_instructions = call->totals.warp_instructions};
    call->sim->progress(call->sim->progress_arg, &p);
}

/* Applications take turns, launch by launch. */
static void run_scripts(void *arg)
{
    struct run_call *call = arg;
    if (call->together) {
        together_run(call->together);
        return;
    }
    for (bool busy = true; busy;) {
        busy = false;
        for (uint32_t i = 0; i < script_count(call->set); i++) {
            struct script_app *app = script_app(call->set, i);
            if (script_ended(app)) continue;
            busy = true;
            if (rt_run_next(script_context(app)))
                show_progress(call);
            else
                (void)script_resume(app);
        }
    }
}

/* ---- texts ---- */

static const char *job_name(const struct run_call *call)
{
    return call->set ? call->job->workload : call->job->ptx[0];
}

static const char *stopped_by(const struct run_call *call)
{
    return call->stopped_by ? call->stopped_by : "--max-instructions";
}

static void write_report(const struct run_call *call, FILE *out, double seconds)
{
    const double rate = seconds > 0 ? (double)call->totals.warp_instructions / seconds : 0;
    (void)fprintf(out, "%s on %s, functional (values only, no time)\n\n", job_name(call),
                  call->sim->machine.name);
    if (!call->set)
        (void)fprintf(out, "  %llu blocks, %llu warp instructions, %llu thread instructions%s%s\n",
                      (unsigned long long)call->totals.blocks,
                      (unsigned long long)call->totals.warp_instructions,
                      (unsigned long long)call->totals.thread_instructions,
                      call->stopped ? "; stopped by " : "", call->stopped ? stopped_by(call) : "");
    for (uint32_t i = 0; call->set && i < script_count(call->set); i++) {
        struct script_app *app = script_app(call->set, i);
        const struct rt_totals t = rt_totals(script_context(app));
        (void)fprintf(out, "  %-24s %8llu launches %12llu blocks %16llu warp instructions\n",
                      script_label(app), (unsigned long long)t.launches, (unsigned long long)t.blocks,
                      (unsigned long long)t.warp_instructions);
        (void)fprintf(out, "  %-24s %8.1f MB of device memory; %s\n", "",
                      (double)script_bytes_allocated(app) * 1e-6,
                      call->stopped          ? "stopped by --max-instructions, result not checked"
                      : !script_outputs(app) ? "the workload checks no result"
                                             : "result checked against the CPU: right");
        if (!call->stopped)
            (void)fprintf(out, "  %-24s %8u outputs, %llu words compared\n", "", script_outputs(app),
                          (unsigned long long)script_words_checked(app));
    }
    if (call->launches) run_write_launches(call, out);
    if (call->stopped && !call->set)
        (void)fprintf(out, "  stopped by %s: the kernel did not finish\n", stopped_by(call));
    if (call->error)
        (void)fprintf(out, "  a kernel failed: %.*s\n", (int)strcspn(call->error, "\n"), call->error);
    if (call->stopped_where) (void)fprintf(out, "\n%s", call->stopped_where);
    (void)fprintf(out,
                  "\n  host: %.3f CPU seconds, %.2f M warp instructions per CPU second, %.0f MB at most\n",
                  seconds, rate * 1e-6, (double)peak_rss_bytes() * 1e-6);
}

static json_t *totals_json(struct rt_totals t)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "launches", (json_int_t)t.launches, "blocks",
                     (json_int_t)t.blocks, "warp_instructions", (json_int_t)t.warp_instructions,
                     "thread_instructions", (json_int_t)t.thread_instructions);
}

/* A kernel by hand has nothing to compare with; a stopped run neither result nor balance. */
static json_t *check_json(const struct run_call *call)
{
    json_t *check = json_object();
    if (call->set) (void)json_object_set_new(check, "self_check_passed", json_boolean(!call->stopped));
    if (call->timed)
        (void)json_object_set_new(check, "laws_checked",
                                  json_integer(call->stopped ? 0 : (json_int_t)law_row_count));
    if (call->timed) timed_check_json(call->timed, check);
    return check;
}

static struct report about_run(const struct run_call *call, double cpu)
{
    struct report r = {.workload = job_name(call),
                       .stopped_by = stopped_by(call),
                       .error = call->error,
                       .self_checking = call->set != NULL,
                       .cpu_seconds = cpu,
                       .max_rss_bytes = peak_rss_bytes()};
    for (uint32_t i = 0; call->set && i < script_count(call->set); i++) {
        r.outputs += script_outputs(script_app(call->set, i));
        r.words_checked += script_words_checked(script_app(call->set, i));
    }
    return r;
}

static json_t *result_json(const struct run_call *call, const struct report *report, double wall, double cpu)
{
    json_t *apps = json_array();
    for (uint32_t i = 0; call->set && i < script_count(call->set); i++) {
        struct script_app *app = script_app(call->set, i);
        json_t *row = totals_json(app_totals(call, i));
        (void)json_object_set_new(row, "workload", json_string(script_label(app)));
        (void)json_object_set_new(row, "device_bytes", json_integer((json_int_t)script_bytes_allocated(app)));
        (void)json_object_set_new(row, "words_checked", json_integer((json_int_t)script_words_checked(app)));
        if (report) {
            (void)json_object_set_new(row, "cycles", json_integer((json_int_t)report->total.cycles));
            (void)json_object_set_new(row, "ipc", json_real(report->total.ipc));
        }
        if (call->together) together_row(call->together, i, row);
        (void)json_array_append_new(apps, row);
    }
    json_t *root = json_object();
    (void)json_object_set_new(root, "atoll_version", json_string(ATOLL_VERSION));
    (void)json_object_set_new(root, "mode", json_string(call->timed ? "timed" : "functional"));
    (void)json_object_set_new(root, "machine", json_string(call->sim->machine.name));
    (void)json_object_set_new(root, "workload", json_string(job_name(call)));
    (void)json_object_set_new(root, "config", machine_dump_json(&call->sim->machine));
    (void)json_object_set_new(root, "totals", totals_json(call->totals));
    (void)json_object_set_new(root, "apps", apps);
    if (report) report_json(report, root);
    if (call->together) together_json(call->together, json_object_get(root, "totals"));
    if (call->launches) run_add_launches(call, root);
    if (call->stopped) (void)json_object_set_new(root, "stopped_by", json_string(stopped_by(call)));
    if (call->error) (void)json_object_set_new(root, "error", json_string(call->error));
    (void)json_object_set_new(root, "check", check_json(call));
    json_t *host =
        json_pack("{s:f, s:f, s:f, s:I}", "seconds", wall, "cpu_seconds", cpu, "warp_instructions_per_second",
                  cpu > 0 ? (double)call->totals.warp_instructions / cpu : 0.0, "max_rss_bytes",
                  (json_int_t)peak_rss_bytes());
    if (report) {
        const char *off = system_windows_off(report->system);
        (void)json_object_set_new(host, "lookahead_windows",
                                  off ? json_sprintf("off, %s", off) : json_string("on"));
    }
    (void)json_object_set_new(root, "host", host);
    return root;
}

static void write_csv(const struct run_call *call, FILE *out)
{
    (void)fprintf(out, "totals.launches,%llu,launches\n", (unsigned long long)call->totals.launches);
    (void)fprintf(out, "totals.blocks,%llu,blocks\n", (unsigned long long)call->totals.blocks);
    (void)fprintf(out, "totals.warp_instructions,%llu,warp instructions\n",
                  (unsigned long long)call->totals.warp_instructions);
    (void)fprintf(out, "totals.thread_instructions,%llu,thread instructions\n",
                  (unsigned long long)call->totals.thread_instructions);
}

static void drop_json(void *arg) { json_decref(arg); }

void run_write_texts(struct run_call *call)
{
    const double wall = run_wall_seconds() - call->start_seconds,
                 cpu = run_cpu_seconds() - call->start_cpu_seconds;
    struct api_text text;
    call->out->stopped = call->stopped;
    api_text_begin(&text);
    const struct report *report = NULL;
    if (call->timed) {
        const struct report about = about_run(call, cpu);
        report = timed_report(call->timed, &about);
        if (call->stopped || call->error) { /* SMs had executed more than they issued */
            call->totals.warp_instructions = report->stats.sm.warp_instructions;
            call->totals.thread_instructions = report->stats.sm.thread_instructions;
        }
        timed_outcome(call->timed, call->out);
        report_text(report, text.file);
        if (call->together) together_text(call->together, text.file);
    } else {
        write_report(call, text.file, cpu);
    }
    call->out->report = api_text_end(&text);
    call->out->warp_instructions = call->totals.warp_instructions;
    call->out->thread_instructions = call->totals.thread_instructions;
    if (call->job->timeline) {
        api_text_begin(&text);
        timed_timeline(call->timed, text.file);
        call->out->timeline = api_text_end(&text);
    }
    if (call->job->no_data) return;
    api_text_begin(&text);
    if (report)
        report_csv(report, text.file);
    else
        (void)fputs("name,value,unit\n", text.file);
    write_csv(call, text.file);
    call->out->csv = api_text_end(&text);
    struct diag_cleanup dropping;
    json_t *json = result_json(call, report, wall, cpu);
    diag_defer(&dropping, drop_json, json);
    api_text_begin(&text);
    (void)json_dumpf(json, text.file, JSON_INDENT(2));
    (void)fputc('\n', text.file);
    call->out->json = api_text_end(&text);
    diag_done(&dropping, true);
}

/* ---- the run ---- */

/* What kernels print. It reaches the caller also when the run fails: the last lines before a fault are what
 * a user looks for. */
struct prints {
    FILE *file;
    char *text;
    size_t len;
    struct atoll_outcome *out;
    struct diag_cleanup cleanup;
};

static void keep_print(void *user, const char *text, size_t len)
{
    (void)fwrite(text, 1, len, ((struct prints *)user)->file);
}

static void hand_over_prints(void *arg)
{
    struct prints *p = arg;
    (void)fclose(p->file);
    p->out->output = p->text;
}

static void prints_begin(struct prints *p, struct atoll_outcome *out)
{
    *p = (struct prints){.out = out};
    p->file = open_memstream(&p->text, &p->len);
    if (!p->file) diag_mistake("out of host memory for what kernels print");
    diag_defer(&p->cleanup, hand_over_prints, p);
}

static void close_set(void *arg) { script_close(arg); }

/* Runs to the end, or to the limit; what else is raised goes on upwards. */
static void run_limited(struct run_call *call, diag_body_fn *body)
{
    struct diag inner;
    diag_init(&inner);
    if (!call->job->max_instructions) {
        body(call);
        return;
    }
    const enum diag_kind kind = diag_run(&inner, body, call);
    for (uint32_t i = 0; call->set && i < script_count(call->set); i++)
        call->stopped |= rt_limit_reached(script_context(script_app(call->set, i)));
    if (call->rt) call->stopped |= rt_limit_reached(call->rt);
    if (kind != DIAG_NONE && !call->stopped) diag_pass_on(&inner);
    if (call->stopped && !call->timed && inner.text) call->stopped_where = strdup(inner.text);
    diag_clear(&inner);
}

static struct rt_options rt_options_of(const struct run_call *call, struct prints *prints)
{
    const struct config *c = &call->sim->machine.config;
    return (struct rt_options){.isa = run_isa(c->sim.isa),
                               .racecheck = call->job->racecheck,
                               .whole_pages = !c->runtime.exact_addresses,
                               .max_instructions = call->timed ? 0 : call->job->max_instructions,
                               .execute = call->timed ? timed_execute : NULL,
                               .execute_user = call->timed,
                               .host_wrote = call->timed ? timed_host_wrote : NULL,
                               .sm_count = (uint32_t)config_sms(c),
                               .print = keep_print,
                               .print_user = prints};
}

static void start_clocks(struct run_call *call)
{
    if (call->job->check && call->job->functional)
        diag_mistake(
            "--check holds caches against memory; a functional run has none: leave --functional out");
    machine_finish(&call->sim->machine, &system_rules);
    call->start_seconds = run_wall_seconds();
    call->start_cpu_seconds = run_cpu_seconds();
    if (!call->job->functional) call->timed = timed_begin(call->sim, call->job);
}

static void fail_on_races(const struct rt_context *rt)
{
    if (rt_races(rt)) diag_check_failed("races on shared memory:\n%s", rt_race_report(rt));
}

static void run_workload(void *arg)
{
    struct run_call *call = arg;
    struct diag_cleanup closing;
    struct prints prints;
    start_clocks(call);
    prints_begin(&prints, call->out);
    call->set = script_open(call->job->workload);
    diag_defer(&closing, close_set, call->set);
    const struct script_options options = {.rt = rt_options_of(call, &prints)};
    script_start(call->set, &options);
    if (call->timed && (script_count(call->set) > 1 || call->sim->machine.config.apps.window_cyc)) {
        call->together = together_begin(call->timed, &call->sim->machine, call->set, call->job->alone);
        together_profile(call->together, call->sim, &call->sim->machine.config);
    }
    if (call->timed) timed_split(call->timed, script_count(call->set));
    if (call->together) together_end_profile(call->together, &call->sim->machine.config);
    if (call->timed) run_first_pass(call, &options.rt);
    if (call->together)
        ;
    else if (call->job->alone)
        diag_mistake("--alone is for applications that run together with timing (-w A+B)");
    run_limited(call, run_scripts);
    if (call->together && together_was_cut(call->together)) {
        call->stopped = true;
        call->stopped_by = "the end of apps.window_cyc";
    }
    if (call->timed) timed_finish(call->timed);
    if (call->together && call->sim->machine.config.apps.alone) together_run_alone(call->together, call->sim);
    sum_totals(call);
    for (uint32_t i = 0; call->job->racecheck && i < script_count(call->set); i++)
        fail_on_races(script_context(script_app(call->set, i)));
    run_write_texts(call);
    diag_done(&closing, true);
    diag_done(&prints.cleanup, true);
}

/* ---- one kernel of a PTX file, by hand ---- */

static void close_context(void *arg) { rt_destroy(arg); }
static void wait_for_kernel(void *arg) { rt_wait(((struct run_call *)arg)->rt); }
static void close_oneshot(void *arg) { oneshot_free(arg); }

static void run_kernel(void *arg)
{
    struct run_call *call = arg;
    const struct atoll_job *job = call->job;
    struct diag_cleanup closing, freeing;
    struct prints prints;
    if (!job->ptx_count) diag_mistake("a job names a workload or PTX files");
    start_clocks(call);
    if (call->timed) run_refuse_first_pass(&call->sim->machine.config);
    prints_begin(&prints, call->out);
    const struct rt_options options = rt_options_of(call, &prints);
    struct rt_context *rt = rt_create(&options);
    diag_defer(&closing, close_context, rt);
    const struct oneshot_request request = {.paths = job->ptx,
                                            .path_count = (uint32_t)job->ptx_count,
                                            .entry = job->entry,
                                            .grid = {job->grid[0], job->grid[1], job->grid[2]},
                                            .block = {job->block[0], job->block[1], job->block[2]},
                                            .dynamic_shared_bytes = job->shared_bytes,
                                            .cooperative = job->cooperative,
                                            .args = job->args,
                                            .arg_count = (uint32_t)job->arg_count};
    struct oneshot *one = oneshot_start(rt, &request);
    diag_defer(&freeing, close_oneshot, one);
    call->rt = rt;
    run_limited(call, wait_for_kernel);
    if (call->timed) timed_finish(call->timed);
    if (job->racecheck) fail_on_races(rt);
    (void)fputs(oneshot_finish(one), prints.file);
    call->totals = rt_totals(rt);
    diag_done(&freeing, true);
    diag_done(&closing, true);
    run_write_texts(call);
    diag_done(&prints.cleanup, true);
}

atoll_status atoll_run(atoll_sim *sim, const struct atoll_job *job, struct atoll_outcome *outcome)
{
    *outcome = (struct atoll_outcome){0};
    struct run_call call = {.sim = sim, .job = job, .out = outcome};
    const atoll_status status = api_run(sim, job->workload ? run_workload : run_kernel, &call);
    together_end(call.together);
    timed_end(call.timed);
    page_profile_free(call.profile);
    free(call.stopped_where);
    return status;
}

void atoll_outcome_free(struct atoll_outcome *outcome)
{
    free(outcome->report);
    free(outcome->json);
    free(outcome->csv);
    free(outcome->timeline);
    free(outcome->output);
    *outcome = (struct atoll_outcome){0};
}
