/* dram_bench: how many requests per second one HBM channel simulates at saturation.
 *
 *   build/bench/dram_bench [requests]     default 4000000; the best of five runs each, CPU time of this
 * process valgrind --tool=callgrind --toggle-collect=dram_model_run build/bench/dram_bench 200000 s3_rand_rd
 * hbm-a
 *
 * Sequential is stream s1, random is s3 (see src/dram/dram_streams.def), 64 B requests, refresh on as in the
 * reference measurements. "channel": the channel with a source that offers whenever an entry is free;
 * "model": the whole of `atoll model dram` with its latency statistics, unified queues at 64 outstanding. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/diag.h"
#include "config/machine.h"
#include "dram/dram_model.h"
#include "system/rules.h"

enum { RUNS = 5 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct job {
    size_t count;
    const char *stream, *machine; /* NULL = all */
};

static void on_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    (void)tag, (void)kind, (void)accept_cyc;
    *(uint64_t *)owner += done_cyc;
}

/* Saturates one channel; returns its last cycle. */
static uint64_t run_channel(const struct dram_spec *spec, const struct dram_stream *s)
{
    struct arena a;
    arena_init(&a);
    uint64_t sum = 0, now = 0;
    struct dram_channel *ch =
        dram_channel_new(&a, spec, &(struct dram_wiring){.owner = &sum, .done = on_done});
    const uint32_t room = spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries;
    size_t next = 0;
    while (now != DRAM_NEVER) {
        dram_channel_step(ch, now);
        while (next < s->count && dram_channel_waiting(ch) < room) {
            const struct dram_stream_op *o = &s->ops[next];
            const struct dram_request rq = {.kind = (enum dram_kind)o->kind,
                                            .bank = o->bank,
                                            .row = o->row,
                                            .column = o->column,
                                            .column_count = 1};
            if (!dram_try_accept(ch, now, &rq)) break;
            next++;
        }
        now = dram_channel_next(ch);
    }
    const uint64_t cycles = dram_channel_last_data(ch);
    arena_free(&a);
    return cycles;
}

static void measure(const char *stream, const char *machine, size_t count, int runs)
{
    struct machine m;
    machine_init(&m);
    machine_load(&m, machine);
    machine_set(&m, "dram.refresh=true");
    machine_finish(&m, &system_rules);
    const struct dram_spec spec = dram_spec_of(&m.config);
    const uint32_t outstanding = spec.queue == dram_queue_unified ? spec.queue_entries : 0;
    struct arena a;
    arena_init(&a);
    const struct dram_stream s = dram_stream_make(&a, stream, count, &spec);
    for (int whole = 0; whole < 2; whole++) {
        double best = 1e9;
        uint64_t cycles = 0;
        for (int i = 0; i < runs; i++) {
            const double start = cpu_seconds();
            cycles = whole ? dram_model_run(&spec, &s, (struct dram_load){0}, outstanding, NULL, NULL).cycles
                           : run_channel(&spec, &s);
            const double took = cpu_seconds() - start;
            if (took < best) best = took;
        }
        printf("%-18s %-12s %-8s %10zu requests %8.3f s %8.2f M requests/s  %6.2f %% of peak\n", stream,
               machine, whole ? "model" : "channel", count, best, (double)count / best * 1e-6,
               100.0 * (double)count / (double)cycles);
    }
    arena_free(&a);
    machine_free(&m);
}

static void run(void *arg)
{
    const struct job *job = arg;
    if (job->stream) {
        measure(job->stream, job->machine, job->count, 1);
        return;
    }
    const char *const streams[] = {"s1_seq_rd", "s3_rand_rd", "s2_seq_rw21", "s10_rand128_rw21"};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        measure(streams[i], "hbm-a", job->count, RUNS);
        measure(streams[i], "hbm-a-split", job->count, RUNS);
    }
}

int main(int argc, char **argv)
{
    struct job job = {.count = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000};
    if (argc > 3) {
        job.stream = argv[2];
        job.machine = argv[3];
    }
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, run, &job);
    if (kind != DIAG_NONE) fputs(d.text, stderr);
    diag_clear(&d);
    return kind != DIAG_NONE;
}
