/* timeline: see timeline.h. One event per line, so that the file can be looked at with a pager too. */
#include "report/timeline.h"

#include <stdarg.h>

#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "report/report.h"
#include "system/repartition.h"

struct shown_block {
    uint64_t block, start_cyc, end_cyc;
    uint32_t sm, kernel;
};

struct timeline {
    uint32_t count;
    uint64_t seen;
    uint64_t every; /* one of so many is kept */
    char note[100];
    struct shown_block blocks[TIMELINE_BLOCKS];
};

/* Processes of the trace. */
enum { PID_MACHINE = 1, PID_PARTITIONS = 2, PID_APPS = 1000000 };
enum { LANES = 64 }; /* blocks of an SM at one time (sm.block_slots) */

struct timeline *timeline_new(void)
{
    struct timeline *t = calloc(1, sizeof *t);
    if (!t) diag_mistake("out of host memory for a timeline");
    t->every = 1;
    return t;
}

void timeline_free(struct timeline *t) { free(t); }

void timeline_block(struct timeline *t, uint32_t sm, uint64_t block, uint32_t kernel, uint64_t start_cyc,
                    uint64_t end_cyc)
{
    if (t->seen++ % t->every) return;
    if (t->count == TIMELINE_BLOCKS) {
        t->count /= 2;
        for (uint32_t k = 0; k < t->count; k++) t->blocks[k] = t->blocks[2 * (size_t)k];
        t->every *= 2; /* TIMELINE_BLOCKS is even: this block is one of those to keep */
    }
    t->blocks[t->count++] = (struct shown_block){block, start_cyc, end_cyc, sm, kernel};
}

const char *timeline_note(struct timeline *t)
{
    char shown[DRAW_TEXT], all[DRAW_TEXT];
    if (t->every == 1) return NULL;
    (void)snprintf(t->note, sizeof t->note, "the timeline shows %s of %s blocks, one of %llu",
                   draw_count(shown, t->count), draw_count(all, t->seen), (unsigned long long)t->every);
    return t->note;
}

/* ---- writing ---- */

struct trace {
    FILE *out;
    bool first;
    double us_per_cycle;
};

static void next_event(struct trace *t)
{
    (void)fputs(t->first ? "\n" : ",\n", t->out);
    t->first = false;
}

/* Kernel names are identifiers, workloads and machines may be paths: quotes, backslashes, control characters.
 */
static void write_text(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            (void)fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            (void)fprintf(out, "\\u%04x", *c < 0x20 || *c == 0x7f ? *c : '?');
        else
            (void)fputc(*c, out);
    }
    (void)fputc('"', out);
}

__attribute__((format(printf, 5, 6))) static void write_name(struct trace *t, const char *what, uint32_t pid,
                                                             uint32_t tid, const char *format, ...)
{
    char name[160];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    next_event(t);
    (void)fprintf(t->out, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":", pid, tid,
                  what);
    write_text(t->out, name);
    (void)fputs("}}", t->out);
}

static void write_sort(struct trace *t, const char *what, uint32_t pid, uint32_t tid, uint32_t index)
{
    next_event(t);
    (void)fprintf(t->out, "{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"sort_index\":%u}}",
                  pid, tid, what, index);
}

/* Kernels may overlap: each goes to the first lane that is free, the last takes what is left. */
static void write_kernels(struct trace *t, const struct report *r, const char *note)
{
    uint64_t free_cyc[LANES] = {0};
    uint32_t used = 0;
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++) {
        const struct system_kernel_record *record = system_kernel_record(r->system, k);
        const uint64_t cycles = record->end_cyc > record->start_cyc ? record->end_cyc - record->start_cyc : 0;
        uint32_t lane = 0;
        while (lane + 1 < LANES && free_cyc[lane] > record->start_cyc) lane++;
        free_cyc[lane] = record->end_cyc;
        if (lane >= used) {
            used = lane + 1;
            if (lane)
                write_name(t, "thread_name", PID_MACHINE, used, "kernels beside them, %u", lane);
            else
                write_name(t, "thread_name", PID_MACHINE, used, "kernels%s", note);
            write_sort(t, "thread_sort_index", PID_MACHINE, used, used);
        }
        next_event(t);
        (void)fprintf(
            t->out, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.4f,\"dur\":%.4f,\"name\":", PID_MACHINE,
            lane + 1, (double)record->start_cyc * t->us_per_cycle, (double)cycles * t->us_per_cycle);
        write_text(t->out, record->name);
        (void)fprintf(t->out,
                      ",\"args\":{\"launch\":%u,\"grid\":\"%u x %u x %u\",\"block\":\"%u x %u x "
                      "%u\",\"cycles\":%llu,\"blocks per SM\":%u,\"limited by\":",
                      k, record->grid[0], record->grid[1], record->grid[2], record->block[0],
                      record->block[1], record->block[2], (unsigned long long)cycles, record->blocks_per_sm);
        write_text(t->out, record->limited_by);
        (void)fputs("}}", t->out);
    }
}

static int by_sm_and_start(const void *a, const void *b)
{
    const struct shown_block *x = a, *y = b;
    if (x->sm != y->sm) return x->sm < y->sm ? -1 : 1;
    if (x->start_cyc != y->start_cyc) return x->start_cyc < y->start_cyc ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

static void write_block(struct trace *t, const struct report *r, const struct shown_block *b, uint32_t lane)
{
    const uint32_t partition = b->sm / r->config->partition.sms;
    next_event(t);
    (void)fprintf(t->out,
                  "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":%.4f,\"dur\":%.4f,\"name\":\"block "
                  "%llu\",\"args\":{\"launch\":%u,\"kernel\":",
                  PID_PARTITIONS + partition, b->sm * LANES + lane, (double)b->start_cyc * t->us_per_cycle,
                  (double)(b->end_cyc - b->start_cyc) * t->us_per_cycle, (unsigned long long)b->block,
                  b->kernel);
    write_text(t->out, b->kernel < system_kernel_count(r->system)
                           ? system_kernel_record(r->system, b->kernel)->name
                           : "?");
    (void)fputs("}}", t->out);
}

/* Blocks of an SM overlap: each goes to the first lane of its SM that is free. */
static void write_blocks(struct trace *t, struct timeline *timeline, const struct report *r)
{
    uint64_t free_cyc[LANES] = {0};
    uint32_t sm = UINT32_MAX, used = 0;
    qsort(timeline->blocks, timeline->count, sizeof *timeline->blocks, by_sm_and_start);
    for (uint32_t k = 0; k < timeline->count; k++) {
        const struct shown_block *b = &timeline->blocks[k];
        const uint32_t pid = PID_PARTITIONS + b->sm / r->config->partition.sms;
        if (b->sm != sm) {
            if (sm == UINT32_MAX || sm / r->config->partition.sms != b->sm / r->config->partition.sms) {
                write_name(t, "process_name", pid, 0, "partition %u", b->sm / r->config->partition.sms);
                write_sort(t, "process_sort_index", pid, 0, pid);
            }
            sm = b->sm;
            used = 0;
            memset(free_cyc, 0, sizeof free_cyc);
        }
        uint32_t lane = 0;
        while (lane + 1 < LANES && free_cyc[lane] > b->start_cyc) lane++;
        if (lane >= used) {
            used = lane + 1;
            write_name(t, "thread_name", pid, sm * LANES + lane, "SM %u, place %u", sm, lane);
            write_sort(t, "thread_sort_index", pid, sm * LANES + lane, sm * LANES + lane);
        }
        free_cyc[lane] = b->end_cyc;
        write_block(t, r, b, lane);
    }
}

/* ---- counters over time, from the series ---- */

struct counter {
    const char *name, *unit, *group, *series, *second; /* second: another series to add, or NULL */
    double scale;                                      /* of growth per SM cycle */
    const char *over; /* of growth per growth of this series of the group instead; NULL: per cycle */
    bool so_far;      /* both counted from the beginning */
};

static const uint64_t *points_of(const struct report *r, const char *group, const char *series)
{
    for (size_t row = 0; row < series_row_count; row++)
        if (strcmp(series_rows[row].group_name, group) == 0 && strcmp(series_rows[row].name, series) == 0)
            return r->registry->series_values + row * SERIES_POINTS_MAX;
    diag_bug("timeline", 0, "there is no series %s.%s", group, series);
}

static void write_counter(struct trace *t, const struct report *r, const struct counter *c)
{
    const struct stats_registry *s = r->registry;
    const uint64_t *v = points_of(r, c->group, c->series),
                   *w = c->second ? points_of(r, c->group, c->second) : NULL,
                   *o = c->over ? points_of(r, c->group, c->over) : NULL;
    double above = 0, below = 0;
    const uint64_t end_cyc = system_now(r->system);
    for (uint32_t i = 0; i <= s->series_points; i++) {
        const bool last = i == s->series_points; /* down to zero at the end */
        const uint64_t from = last ? end_cyc : i * s->series_interval_cyc;
        const uint64_t to = from + s->series_interval_cyc < end_cyc ? from + s->series_interval_cyc : end_cyc;
        const double growth = last ? 0 : (double)(v[i] + (w ? w[i] : 0));
        double base = to > from ? (double)(to - from) : 0;
        if (o) base = last ? 0 : (double)o[i];
        above = c->so_far ? above + growth : growth;
        below = c->so_far ? below + base : base;
        next_event(t);
        (void)fprintf(t->out, "{\"ph\":\"C\",\"pid\":%d,\"ts\":%.4f,\"name\":\"%s\",\"args\":{\"%s\":%.6g}}",
                      PID_MACHINE, (double)from * t->us_per_cycle, c->name, c->unit,
                      below > 0 && !last ? c->scale * above / below : 0.0);
    }
}

/* Of machines that tell near from far: where reads are served, where pages lie, what MDR decides. */
static void write_partition_counters(struct trace *t, const struct report *r, double sm_ghz)
{
    const struct counter counters[] = {
        {"replies to SMs", "replies/cycle", "sm", "replies_over_time", NULL, 1, NULL, false},
        {"reads served at home", "requests/cycle", "llc", "home_reads_over_time", NULL, 1, NULL, false},
        {"reads served by copies", "requests/cycle", "llc", "copy_reads_over_time", NULL, 1, NULL, false},
        {"reads that cross", "requests/cycle", "llc", "crossing_reads_over_time", NULL, 1, NULL, false},
        {"network between slices", "GB/s", "slice_net", "bytes_over_time", NULL, sm_ghz, NULL, false},
        {"page balance", "of 1", "mmu", "pages_over_time", NULL, 1, "page_slots_over_time", true},
        {"MDR: decisions for copies", "share", "nuba", "on_over_time", NULL, 1, "epochs_over_time", false},
        {"MDR: predicted without copies", "TB/s", "nuba", "without_over_time", NULL, 1e-6, "epochs_over_time",
         false},
        {"MDR: predicted with copies", "TB/s", "nuba", "with_over_time", NULL, 1e-6, "epochs_over_time",
         false},
    };
    const bool mdr = r->stats.nuba.epochs > 0;
    for (size_t k = 0; k < sizeof counters / sizeof *counters; k++) {
        if (strcmp(counters[k].group, "nuba") == 0 && !mdr) continue;
        write_counter(t, r, &counters[k]);
    }
}

static void write_counters(struct trace *t, const struct report *r)
{
    const struct config *c = r->config;
    const double sm_ghz = (double)c->clock.sm * 1e-9,
                 dram_per_sm = (double)c->clock.dram / (double)c->clock.sm;
    const struct counter counters[] = {
        {"IPC", "warp instructions/cycle", "sm", "instructions_over_time", NULL, 1, NULL, false},
        {"L1", "GB/s", "l1", "reads_over_time", "writes_over_time", 128 * sm_ghz, NULL, false},
        {"networks", "GB/s", "net", "bytes_over_time", NULL, sm_ghz, NULL, false},
        {"LLC data ports", "GB/s", "llc", "port_over_time", NULL, (double)c->llc.port * sm_ghz, NULL, false},
        {"DRAM", "GB/s", "dram", "reads_over_time", "writes_over_time", (double)c->dram.column_size * sm_ghz,
         NULL, false},
        {"reads in flight", "requests", "sm", "read_time_over_time", NULL, 1, NULL, false},
        {"DRAM reads waiting", "columns", "dram", "read_time_over_time", NULL, 1 / dram_per_sm, NULL, false},
        {"page walks in flight", "walks", "mmu", "walk_time_over_time", NULL, 1, NULL, false},
    };
    for (size_t k = 0; k < sizeof counters / sizeof *counters; k++) write_counter(t, r, &counters[k]);
    const struct counter degree = {"replication", "copies", "selrep", "degree_over_time",
                                   NULL,          1,        NULL,     false};
    if (r->stats.selrep.cycles) write_counter(t, r, &degree);
    if (config_slices_by_partition(c)) write_partition_counters(t, r, sm_ghz);
    const struct counter moved = {
        "pages moved", "pages/cycle", "pages", "migrations_over_time", "replicas_over_time", 1, NULL, false};
    if (r->stats.pages.migrations + r->stats.pages.replicas > 0) write_counter(t, r, &moved);
}

/* ---- the partition among applications ---- */

static void write_slice(struct trace *t, uint32_t tid, uint64_t from_cyc, uint64_t to_cyc, const char *name)
{
    next_event(t);
    (void)fprintf(t->out, "{\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%.4f,\"dur\":%.4f,\"name\":", PID_APPS,
                  tid, (double)from_cyc * t->us_per_cycle, (double)(to_cyc - from_cyc) * t->us_per_cycle);
    write_text(t->out, name);
}

/* A change from its effect to its end, and the part in which accesses are held for the masks of channels. */
static void write_change(struct trace *t, const struct report *r, const struct repartition_change *h)
{
    const uint64_t over = h->over_cyc ? h->over_cyc : system_now(r->system);
    char name[96];
    (void)snprintf(name, sizeof name, "%u SMs, %u channel indices%s", h->sms, h->indices,
                   h->over_cyc ? "" : " (not over)");
    write_slice(t, 1, h->begin_cyc, over, name);
    (void)fprintf(t->out, ",\"args\":{\"SMs\":%u,\"channel indices\":%u,\"cycles\":%llu}}", h->sms,
                  h->indices, (unsigned long long)(over - h->begin_cyc));
    if (!h->masks_cyc) return;
    write_slice(t, 1, h->begin_cyc, h->masks_cyc, "accesses held: pass over slices, masks");
    (void)fputs("}", t->out);
}

/* Share of an application from one change to the next, and the pages that moved meanwhile. */
static void write_shares(struct trace *t, const struct repartition *r, uint32_t app)
{
    uint32_t count, per_index = repartition_channels_per_index(r);
    const struct repartition_epoch *e = repartition_epochs(r, &count);
    for (uint32_t k = 0; k < count; k++) {
        const struct repartition_app *a = &e[k].of[app];
        char name[96];
        (void)snprintf(name, sizeof name, "%u SMs, %u channels", a->share.sms, a->share.indices * per_index);
        write_slice(t, 2 + app, e[k].begin_cyc, e[k].end_cyc, name);
        (void)fprintf(t->out,
                      ",\"args\":{\"class\":\"%s\",\"demand GB/s\":%.1f,\"supply GB/s\":%.1f,\"pages "
                      "moved\":%llu,\"pages outside\":%llu}}",
                      a->class.memory_bound ? "memory-bound" : "compute-bound", a->class.demand * 1e-9,
                      a->class.supply * 1e-9, (unsigned long long)a->pages_moved,
                      (unsigned long long)a->foreign_pages);
    }
}

static uint32_t app_count(const struct repartition *r)
{
    uint32_t epochs, count = 0;
    const struct repartition_epoch *e = repartition_epochs(r, &epochs);
    while (epochs && count < PARTITION_APPS && e->of[count].share.sms) count++;
    return count;
}

static void write_partition(struct trace *t, const struct report *r)
{
    const struct repartition *p = system_repartition(r->system);
    uint32_t changes;
    const struct repartition_change *h = repartition_changes(p, &changes);
    const uint32_t apps = p ? app_count(p) : 0;
    if (!apps) return;
    write_name(t, "process_name", PID_APPS, 0, "partition among applications");
    write_sort(t, "process_sort_index", PID_APPS, 0, 1);
    write_name(t, "thread_name", PID_APPS, 1, "reallocations");
    write_sort(t, "thread_sort_index", PID_APPS, 1, 1);
    for (uint32_t k = 0; k < changes; k++) write_change(t, r, &h[k]);
    for (uint32_t app = 0; app < apps; app++) {
        write_name(t, "thread_name", PID_APPS, 2 + app, "application %u", app);
        write_sort(t, "thread_sort_index", PID_APPS, 2 + app, 2 + app);
        write_shares(t, p, app);
    }
}

void timeline_write(struct timeline *timeline, const struct report *r, FILE *out)
{
    struct trace t = {.out = out, .first = true, .us_per_cycle = 1e6 / (double)r->config->clock.sm};
    (void)fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"machine\":", out);
    write_text(out, r->machine);
    (void)fputs(",\"workload\":", out);
    write_text(out, r->workload);
    (void)fprintf(out, ",\"cycles\":%llu,\"blocks\":%llu,\"blocks_shown\":%u},\n\"traceEvents\":[",
                  (unsigned long long)r->total.cycles, (unsigned long long)timeline->seen, timeline->count);
    write_name(&t, "process_name", PID_MACHINE, 0, "%s on %s", r->workload, r->machine);
    write_sort(&t, "process_sort_index", PID_MACHINE, 0, 0);
    write_kernels(&t, r, timeline->every > 1 ? " (not all blocks are shown)" : "");
    write_counters(&t, r);
    write_partition(&t, r);
    write_blocks(&t, timeline, r);
    (void)fputs("\n]}\n", out);
}
