/* net_bench: packets per second that one network simulates at saturation, uniform traffic.
 *
 *   build/bench/net_bench [cycles]                 all cases; the best of five runs each, CPU time of this
 * process build/bench/net_bench CYCLES CASE              one run of one case (0 ..), for callgrind: valgrind
 * --tool=callgrind --toggle-collect=drive build/bench/net_bench 2000 0
 *
 * The driver does as little as it can: every source always has a packet to a random sink, sinks pop at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/rng.h"
#include "net/net.h"

enum { RUNS = 5, NODES_MAX = 256 };

struct bench_case {
    const char *name;
    enum net_topology topology;
    uint32_t nodes, bytes, input_speedup;
    bool hold;
};

static const struct bench_case cases[] = {
    {"crossbar 64x64, 1 flit", NET_CROSSBAR, 64, 16, 1, false},
    {"crossbar 64x64, 9 flits", NET_CROSSBAR, 64, 144, 1, false},
    {"crossbar 64x64, 9 flits, hold", NET_CROSSBAR, 64, 144, 1, true},
    {"crossbar 64x64, 9 flits, input speed-up 2", NET_CROSSBAR, 64, 144, 2, false},
    {"hxbar 64x64 of 8x8, 1 flit", NET_HXBAR, 64, 16, 1, false},
    {"hxbar 64x64 of 8x8, 9 flits", NET_HXBAR, 64, 144, 1, false},
    {"crossbar 256x256, 5 flits", NET_CROSSBAR, 256, 80, 1, false},
    {"ring of 4, 9 flits", NET_RING, 4, 144, 1, false},
    {"links 4x4, 9 flits", NET_LINKS, 4, 144, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

struct driver {
    struct net *net;
    uint64_t room[NODES_MAX / 64], room_next[NODES_MAX / 64], arrived[NODES_MAX / 64],
        arrived_next[NODES_MAX / 64];
    struct rng rng;
    uint32_t words;
    uint64_t popped;
};

static void on_arrival(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    (void)visible_cyc;
    ((struct driver *)ctx)->arrived_next[sink / 64] |= 1ull << (sink % 64);
}

static void on_room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    (void)from_cyc;
    ((struct driver *)ctx)->room_next[source / 64] |= 1ull << (source % 64);
}

__attribute__((noinline)) static void drive(struct driver *d, uint64_t cycles, uint32_t bytes, uint32_t sinks)
{
    for (uint64_t now = 0; now < cycles; now++) {
        net_step(d->net, now);
        for (uint32_t w = 0; w < d->words; w++) {
            for (uint64_t m = d->arrived[w]; m; m &= m - 1) {
                const uint32_t sink = w * 64 + (uint32_t)__builtin_ctzll(m);
                while (net_peek(d->net, sink, now)) net_pop(d->net, sink, now), d->popped++;
            }
            d->arrived[w] = d->arrived_next[w];
            d->arrived_next[w] = 0;
            for (uint64_t m = d->room[w]; m; m &= m - 1) {
                struct net_packet p = {.src = w * 64 + (uint32_t)__builtin_ctzll(m), .bytes = bytes};
                do p.dst = (uint32_t)rng_below(&d->rng, sinks);
                while (net_try_inject(d->net, &p,
                                      now)); /* a refused packet is drawn anew: uniform all the same */
            }
            d->room[w] = d->room_next[w];
            d->room_next[w] = 0;
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
    struct driver d = {.words = (c->nodes + 63) / 64, .rng = rng_seed(1, 1)};
    const struct net_wiring wiring = {&d, on_arrival, on_room};
    d.net = net_new(&a, &s, &wiring);
    for (uint32_t i = 0; i < c->nodes; i++) d.room[i / 64] |= 1ull << (i % 64);
    const double start = cpu_seconds();
    drive(&d, cycles, c->bytes, s.sinks);
    const double took = cpu_seconds() - start;
    *packets = d.popped;
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
