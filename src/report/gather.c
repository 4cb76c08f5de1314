/* gather: adds up the launches of every kernel and measures them and the whole run. */
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void add_net(struct system_net_use *into, const struct system_net_use *more)
{
    into->packets += more->packets;
    into->bytes += more->bytes;
    into->latency_cyc += more->latency_cyc;
    into->blocked_cyc += more->blocked_cyc;
    if (!into->links) into->links = more->links;
    if (more->links) into->flits += more->flits * into->links / more->links; /* stages differ: per link */
    into->flits_max += more->flits_max;
}

/* The busiest part of each launch, whichever it was: an upper bound for any one of them. */
static void add_use(struct system_use *into, const struct system_use *more)
{
    add_net(&into->requests, &more->requests);
    add_net(&into->replies, &more->replies);
    for (uint32_t level = 0; level < NET_LEVELS; level++)
        for (uint32_t direction = 0; direction < 2; direction++)
            add_net(&into->above[level][direction], &more->above[level][direction]);
    into->port_cycles_max += more->port_cycles_max;
    into->columns_max += more->columns_max;
    into->port_slice = more->port_slice;
    into->columns_channel = more->columns_channel;
}

static struct report_kernel *kernel_named(struct report *r, const struct system_kernel_record *record)
{
    for (uint32_t k = 0; k < r->kernel_count; k++)
        if (strcmp(r->kernels[k].first->name, record->name) == 0) return &r->kernels[k];
    struct report_kernel *kernel = &r->kernels[r->kernel_count++];
    kernel->first = record;
    return kernel;
}

static uint32_t distinct_names(const struct system *g)
{
    uint32_t distinct = 0;
    for (uint32_t k = 0; k < system_kernel_count(g); k++) {
        uint32_t i = 0;
        while (strcmp(system_kernel_record(g, i)->name, system_kernel_record(g, k)->name) != 0) i++;
        distinct += i == k;
    }
    return distinct;
}

static int longest_first(const void *a, const void *b)
{
    const struct report_kernel *x = a, *y = b;
    if (x->cycles != y->cycles) return x->cycles < y->cycles ? 1 : -1;
    return strcmp(x->first->name, y->first->name);
}

/* From the launch on: the gap before it is time that the kernel costs. */
uint64_t report_kernel_cycles(const struct system_kernel_record *k) { return k->end_cyc - k->launch_cyc; }

/* Cycles in which a kernel was on the machine, with the gap before it or without. Records are in the order
 * of both their launches and their starts. */
static uint64_t busy_cycles(const struct report *r, bool with_gaps)
{
    uint64_t busy = 0, until = 0;
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++) {
        const struct system_kernel_record *record = system_kernel_record(r->system, k);
        const uint64_t start = with_gaps ? record->launch_cyc + 1 : record->start_cyc;
        const uint64_t from = start > until ? start : until;
        if (record->end_cyc <= from) continue;
        busy += record->end_cyc - from;
        until = record->end_cyc;
    }
    return busy;
}

static uint64_t gather_kernels(struct report *r)
{
    r->kernels = ARENA_ARRAY(&r->arena, struct report_kernel, distinct_names(r->system));
    for (uint32_t k = 0; k < system_kernel_count(r->system); k++) {
        const struct system_kernel_record *record = system_kernel_record(r->system, k);
        struct report_kernel *kernel = kernel_named(r, record);
        const uint64_t gap = record->start_cyc - record->launch_cyc - 1;
        kernel->launches++;
        kernel->cycles += report_kernel_cycles(record);
        kernel->gap_cycles += gap;
        kernel->blocks += record->blocks;
        r->shared_launches += record->shared;
        stats_add(&kernel->stats, &record->stats);
        add_use(&kernel->use, &record->use);
    }
    qsort(r->kernels, r->kernel_count, sizeof *r->kernels, longest_first);
    for (uint32_t k = 0; k < r->kernel_count; k++) {
        struct report_kernel *kernel = &r->kernels[k];
        const struct span span = {.config = r->config,
                                  .stats = &kernel->stats,
                                  .use = &kernel->use,
                                  .cycles = kernel->cycles,
                                  .gap_cycles = kernel->gap_cycles,
                                  .blocks = kernel->blocks / kernel->launches};
        measure_span(&span, &kernel->measure);
    }
    return busy_cycles(r, true) - busy_cycles(r, false); /* in a gap others may run */
}

void report_gather(struct report *r)
{
    arena_init(&r->arena);
    stats_sum(r->registry, STATS_EVERYWHERE, &r->stats);
    r->use = system_total_use(r->system);
    r->gap_cycles = gather_kernels(r);
    const uint32_t launches = system_kernel_count(r->system);
    const struct span span = {.config = r->config,
                              .stats = &r->stats,
                              .use = &r->use,
                              .cycles = system_end_cyc(r->system),
                              .gap_cycles = r->gap_cycles,
                              .blocks = launches ? r->stats.sm.blocks_started / launches : 0};
    measure_span(&span, &r->total);
}

void report_free(struct report *r) { arena_free(&r->arena); }
