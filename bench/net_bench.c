/* net_bench: packets per second that one network simulates at saturation, uniform traffic.
 *
 *   build/bench/net_bench [cycles]                 all cases; the best of five runs each, CPU time of this
 * process build/bench/net_bench CYCLES CASE              one run of one case (0 ..), for callgrind: valgrind
 * --tool=callgrind --toggle-collect=drive build/bench/net_bench 2000 0
 *
 * The driver does as little as it can: every source always has a packet to a random sink unless
 * the case has a load; sinks pop at once. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/rng.h"
#include "net/net.h"

enum { RUNS = 5 };

struct bench_case {
    const char *name;
    enum net_topology topology;
    uint32_t nodes, bytes, input_speedup;
    bool hold;
    double load; /* flits per cycle and source; 0: every source always has a packet */
};

static const struct bench_case cases[] = {
    {"crossbar 64x64, 1 flit", NET_CROSSBAR, 64, 16, 1, false, 0},
    {"crossbar 64x64, 9 flits", NET_CROSSBAR, 64, 144, 1, false, 0},
    {"crossbar 64x64, 9 flits, hold", NET_CROSSBAR, 64, 144, 1, true, 0},
    {"crossbar 64x64, 9 flits, input speed-up 2", NET_CROSSBAR, 64, 144, 2, false, 0},
    {"hxbar 64x64 of 8x8, 1 flit", NET_HXBAR, 64, 16, 1, false, 0},
    {"hxbar 64x64 of 8x8, 9 flits", NET_HXBAR, 64, 144, 1, false, 0},
    {"crossbar 256x256, 5 flits", NET_CROSSBAR, 256, 80, 1, false, 0},
    {"ring of 4, 9 flits", NET_RING, 4, 144, 1, false, 0},
    {"links 4x4, 9 flits", NET_LINKS, 4, 144, 1, false, 0},
    {"crossbar 64x64, 1 flit, hold, load 0.3", NET_CROSSBAR, 64, 16, 1, true, 0.3},
    {"crossbar 64x64, 9 flits, hold, load 0.3", NET_CROSSBAR, 64, 144, 1, true, 0.3},
    {"crossbar 64x64, 1 flit, hold, load 0.03", NET_CROSSBAR, 64, 16, 1, true, 0.03},
    {"crossbar 64x64, 9 flits, hold, load 0.03", NET_CROSSBAR, 64, 144, 1, true, 0.03},
    {"crossbar 64x64, 1 flit, hold", NET_CROSSBAR, 64, 16, 1, true, 0},
    {"hxbar 64x64 of 8x8, 9 flits, hold", NET_HXBAR, 64, 144, 1, true, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

struct driver {
    struct net *net;
    struct rng rng;
    uint32_t nodes, bytes, next_source;
    double packets_per_cycle;
    uint64_t popped, dropped;
};

static void pop_arrived(struct driver *d, uint64_t now)
{
    for (uint64_t words = net_arrived_words(d->net, now); words; words &= words - 1) {
        const uint32_t w = (uint32_t)__builtin_ctzll(words);
        for (uint64_t m = net_arrived(d->net, w, now); m; m &= m - 1) {
            const uint32_t sink = w * 64 + (uint32_t)__builtin_ctzll(m);
            while (net_peek(d->net, sink, now)) net_pop(d->net, sink, now), d->popped++;
        }
    }
}

/* Fills the queue of a source; a refused packet is drawn anew: uniform all the same. */
static void fill(struct driver *d, uint32_t source, uint64_t now)
{
    struct net_packet p = {.src = source, .bytes = d->bytes};
    do p.dst = (uint32_t)rng_below(&d->rng, d->nodes);
    while (net_try_inject(d->net, &p, now));
}

__attribute__((noinline)) static void drive(struct driver *d, uint64_t cycles)
{
    double due = 0;
    for (uint32_t i = 0; i < d->nodes && d->packets_per_cycle == 0; i++) fill(d, i, 0);
    for (uint64_t now = 1; now < cycles; now++) {
        net_step(d->net, now);
        pop_arrived(d, now);
        for (uint64_t words = net_room_words(d->net, now); words; words &= words - 1) {
            const uint32_t w = (uint32_t)__builtin_ctzll(words);
            for (uint64_t m = net_room_take(d->net, w, now); m; m &= m - 1)
                if (d->packets_per_cycle == 0) fill(d, w * 64 + (uint32_t)__builtin_ctzll(m), now);
        }
        for (due += d->packets_per_cycle; due >= 1; due -= 1) {
            const struct net_packet p = {.src = d->next_source++ % d->nodes,
                                         .dst = (uint32_t)rng_below(&d->rng, d->nodes),
                                         .bytes = d->bytes};
            d->dropped += !net_try_inject(d->net, &p, now);
        }
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double run_once(const struct bench_case *c, uint64_t cycles, uint64_t *packets)
{
    struct arena a;
    arena_init(&a);
    struct net_spec s = net_spec_default();
    s.topology = c->topology;
    s.sources = s.sinks = c->nodes;
    s.input_speedup = c->input_speedup;
    s.hold = c->hold;
    if (c->topology == NET_LINKS) s.link_latency_cyc = 20;
    struct driver d = {.nodes = c->nodes, .bytes = c->bytes, .rng = rng_seed(1, 1)};
    d.net = net_new(&a, &s, NULL);
    d.packets_per_cycle = c->load * c->nodes / net_flits(d.net, c->bytes);
    const double start = cpu_seconds();
    drive(&d, cycles);
    const double took = cpu_seconds() - start;
    *packets = d.popped;
    DIAG_ASSERT(d.dropped * 20 <= d.popped);
    arena_free(&a);
    return took;
}

struct job {
    uint64_t cycles;
    long only;
};

static void run(void *arg)
{
    const struct job *job = arg;
    for (uint32_t i = 0; i < CASES; i++) {
        if (job->only >= 0 && (uint32_t)job->only != i) continue;
        double best = 1e9;
        uint64_t packets = 0;
        for (int k = 0; k < (job->only >= 0 ? 1 : RUNS); k++) {
            const double took = run_once(&cases[i], job->cycles, &packets);
            if (took < best) best = took;
        }
        printf("%-42s %9lu packets %7.3f s %7.2f M packets/s %8.0f cycles/s\n", cases[i].name,
               (unsigned long)packets, best, (double)packets / best * 1e-6, (double)job->cycles / best);
    }
}

int main(int argc, char **argv)
{
    struct job job = {.cycles = argc > 1 ? strtoull(argv[1], NULL, 10) : 30000,
                      .only = argc > 2 ? strtol(argv[2], NULL, 10) : -1};
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, run, &job);
    if (kind) fputs(d.text, stderr);
    diag_clear(&d);
    return kind ? 1 : 0;
}
