/* engine_bench: what time itself costs.
 *
 *   engine_bench [PENDING [EVENTS]]               256 components that exchange messages with random delays
 *                                                 of 1-1000 cycles
 *   engine_bench wake [PENDING [EVENTS [SPAN]]]   PENDING components, each with one wake-up pending, 1 to
 *                                                 SPAN cycles ahead; SPAN 1: everybody in every cycle
 *   engine_bench cross [PENDING [EVENTS]]         pairs in two clock domains that wake each other by tick
 *
 * One line: events, pending, seconds, events per second. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/diag.h"
#include "base/rng.h"
#include "engine/engine.h"

enum { COMPONENTS = 256 };

struct node {
    struct engine *engine;
    uint64_t *left;
    uint32_t id, other, span, state;
    struct rng rng;
};

struct job {
    const char *kind;
    uint64_t pending, events;
    uint32_t span;
};

/* ---- messages ---- */

static void node_wake(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static void node_receive(void *self, uint64_t now, uint64_t message)
{
    struct node *n = self;
    (void)now;
    if (!*n->left) return;
    --*n->left;
    const uint64_t r = rng_u64(&n->rng);
    engine_send(n->engine, (uint32_t)(r >> 56), 1 + (((r & 0xffffffff) * 1000) >> 32), message + 1);
}

static void start_messages(struct engine *e, const struct job *job, struct node *nodes, uint64_t *left)
{
    const uint32_t domain = engine_add_domain(e, "sm", 1400000000);
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        nodes[i] = (struct node){.engine = e, .rng = rng_seed(1, i), .left = left};
        (void)engine_add(e, (struct component_spec){.name = "node",
                                                    .self = &nodes[i],
                                                    .domain = domain,
                                                    .wake = node_wake,
                                                    .receive = node_receive});
    }
    for (uint64_t i = 0; i < job->pending; i++) engine_send(e, (uint32_t)(i % COMPONENTS), 1 + i % 1000, i);
}

/* ---- wake-ups ---- */

static void wake_every_cycle(void *self, uint64_t now)
{
    struct node *n = self;
    if (!*n->left) return;
    --*n->left;
    engine_wake(n->engine, n->id, now + 1);
}

/* A cheap random delay: the engine is measured, not the generator. */
static void wake_some_time(void *self, uint64_t now)
{
    struct node *n = self;
    if (!*n->left) return;
    --*n->left;
    n->state = n->state * 1664525u + 1013904223u;
    engine_wake(n->engine, n->id, now + 1 + (((uint64_t)n->state * n->span) >> 32));
}

static void start_wakes(struct engine *e, const struct job *job, struct node *nodes, uint64_t *left)
{
    const uint32_t domain = engine_add_domain(e, "sm", 1400000000);
    for (uint32_t i = 0; i < job->pending; i++) {
        nodes[i] = (struct node){.engine = e, .left = left, .span = job->span, .state = i * 2654435761u};
        nodes[i].id = engine_add(
            e, (struct component_spec){.name = "node",
                                       .self = &nodes[i],
                                       .domain = domain,
                                       .wake = job->span == 1 ? wake_every_cycle : wake_some_time});
    }
    for (uint32_t i = 0; i < job->pending; i++) engine_wake(e, nodes[i].id, 1 + i % job->span);
}

/* ---- across clock domains ---- */

static void wake_other(void *self, uint64_t now)
{
    struct node *n = self;
    (void)now;
    if (!*n->left) return;
    --*n->left;
    engine_wake_at_tick(n->engine, n->other, engine_tick(n->engine) + 1);
}

static void start_crossing(struct engine *e, const struct job *job, struct node *nodes, uint64_t *left)
{
    const uint32_t sm = engine_add_domain(e, "sm", 1400000000),
                   dram = engine_add_domain(e, "dram", 350000000);
    for (uint32_t i = 0; i < job->pending; i++) {
        nodes[i] = (struct node){.engine = e, .left = left};
        nodes[i].id = engine_add(
            e, (struct component_spec){
                   .name = "node", .self = &nodes[i], .domain = i % 2 ? dram : sm, .wake = wake_other});
        nodes[i].other = i ^ 1;
        engine_wake(e, i, 1 + i % 4);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(void *arg)
{
    const struct job *job = arg;
    uint64_t left = job->events;
    struct arena arena;
    arena_init(&arena);
    struct node *nodes = ARENA_ARRAY(&arena, struct node, job->pending + COMPONENTS);
    struct engine *e = engine_create(1400000000, NULL);
    if (strcmp(job->kind, "wake") == 0)
        start_wakes(e, job, nodes, &left);
    else if (strcmp(job->kind, "cross") == 0)
        start_crossing(e, job, nodes, &left);
    else
        start_messages(e, job, nodes, &left);
    const double start = cpu_seconds();
    (void)engine_run(e, ENGINE_NEVER);
    const double seconds = cpu_seconds() - start;
    const double events = (double)(job->events + job->pending);
    (void)printf("engine %s pending=%llu events=%.0f cpu_seconds=%.3f events_per_second=%.1fM\n", job->kind,
                 (unsigned long long)job->pending, events, seconds, events / seconds * 1e-6);
    engine_free(e);
    arena_free(&arena);
}

int main(int argc, char **argv)
{
    struct job job = {.kind = "message", .pending = 10000, .events = 20000000, .span = 1};
    int at = 1;
    if (at < argc && (strcmp(argv[at], "wake") == 0 || strcmp(argv[at], "cross") == 0)) job.kind = argv[at++];
    if (at < argc) job.pending = strtoull(argv[at++], NULL, 10) & ~1ull;
    if (at < argc) job.events = strtoull(argv[at++], NULL, 10);
    if (at < argc) job.span = (uint32_t)strtoul(argv[at], NULL, 10);
    if (!job.pending || !job.span) {
        (void)fputs("engine_bench: PENDING must be at least 2 and SPAN at least 1\n", stderr);
        return 2;
    }
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, run, &job) == DIAG_NONE) return 0;
    (void)fputs(d.text, stderr);
    return 1;
}
