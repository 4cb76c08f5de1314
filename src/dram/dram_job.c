/* dram_job: what `atoll model dram` does; see dram_job.h. */
#include "dram/dram_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "stats/stats.h"

enum { BUILTIN_COUNT = 65536, BUILTIN_COUNT_MAX = 100000000 };

static struct dram_stream get_stream(struct arena *a, const char *text, const struct dram_spec *spec)
{
    static const char prefix[] = "builtin:";
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) return dram_stream_read(a, text, spec);
    const char *name = text + sizeof prefix - 1, *colon = strchr(name, ':');
    if (!colon) return dram_stream_make(a, name, BUILTIN_COUNT, spec);
    char *end;
    errno = 0;
    const unsigned long long count = strtoull(colon + 1, &end, 10);
    if (end == colon + 1 || *end || errno || !count || count > BUILTIN_COUNT_MAX)
        diag_mistake("--stream %s: the number of requests must be from 1 to %d", text, BUILTIN_COUNT_MAX);
    return dram_stream_make(a, arena_strndup(a, name, (size_t)(colon - name)), (size_t)count, spec);
}

/* What is open while the job runs. */
struct opened {
    struct arena arena;
    FILE *log;
    char *log_text;
    size_t log_len;
    uint32_t banks_per_group;
};

static void release(void *arg)
{
    struct opened *o = arg;
    if (o->log) (void)fclose(o->log);
    free(o->log_text);
    arena_free(&o->arena);
}

static void log_command(void *owner, const struct dram_command *c)
{
    const struct opened *o = owner;
    fprintf(o->log, "%lu %s %u %u %u %u\n", c->cyc, dram_command_names[c->kind], c->bank / o->banks_per_group,
            c->bank % o->banks_per_group, c->row, c->column);
}

static void write_log(struct opened *o, const char *path)
{
    const bool kept = !fclose(o->log);
    o->log = NULL;
    if (!kept) diag_mistake("out of host memory for the command log");
    FILE *f = fopen(path, "w");
    bool good = f && fwrite(o->log_text, 1, o->log_len, f) == o->log_len;
    if (f && fclose(f)) good = false;
    if (!good) diag_mistake("cannot write the command log '%s': %s", path, strerror(errno));
}

static void free_registry(void *arg) { stats_free(arg); }

/* The conservation laws hold at the end of this run as of every other. */
static void check_laws(const struct dram_result *r, uint64_t cycles)
{
    struct stats_registry registry;
    struct dram_stats stats = r->stats;
    struct diag_cleanup freeing;
    stats_init(&registry, 1000);
    diag_defer(&freeing, free_registry, &registry);
    STATS_REGISTER(&registry, dram, &stats, STATS_EVERYWHERE);
    stats_check_laws(&registry, cycles);
    diag_done(&freeing, true);
}

json_t *dram_job_run(const struct machine *m, const struct dram_job *job, FILE *report)
{
    const struct dram_spec spec = dram_spec_of(&m->config);
    const double clock_hz = (double)m->config.clock.dram;
    if (job->outstanding > UINT32_MAX - 1) diag_mistake("--outstanding must be below 2^32");
    struct opened o = {.banks_per_group = spec.banks_per_group};
    arena_init(&o.arena);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release, &o);
    const struct dram_load load = dram_load_parse(job->load);
    const struct dram_stream stream = get_stream(&o.arena, job->stream, &spec);
    if (job->command_log) {
        o.log = open_memstream(&o.log_text, &o.log_len);
        if (!o.log) diag_mistake("out of host memory for the command log");
    }
    const struct dram_result r =
        dram_model_run(&spec, &stream, load, (uint32_t)job->outstanding, o.log ? log_command : NULL, &o);
    check_laws(&r, r.cycles);
    if (o.log) write_log(&o, job->command_log);
    fprintf(report, "machine       %s\nstream        %s, load %s", m->name ? m->name : "defaults",
            job->stream, job->load);
    if (job->outstanding) fprintf(report, ", at most %lu outstanding", job->outstanding);
    fprintf(report, "\n");
    dram_model_print(report, &r, clock_hz);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o}", "atoll_version", ATOLL_VERSION,
                             "machine", m->name ? m->name : "", "model", "dram", "stream", job->stream,
                             "load", job->load, "outstanding", (json_int_t)job->outstanding, "config",
                             machine_dump_json(m), "result", dram_model_json(&r, clock_hz));
    diag_done(&cleanup, true);
    return json;
}
