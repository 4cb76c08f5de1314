/* engine_bench: 256 components that exchange messages with random delays of 1-1000 cycles.
 *
 *   engine_bench [PENDING [EVENTS]]     one line: events, pending, seconds, events per second */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/diag.h"
#include "base/rng.h"
#include "engine/engine.h"

enum { COMPONENTS = 256 };

struct node {
    struct engine *engine;
    struct rng rng;
    uint64_t *left;
};

struct job {
    uint64_t pending, events;
};

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

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(void *arg)
{
    const struct job *job = arg;
    static struct node nodes[COMPONENTS];
    uint64_t left = job->events;
    struct engine *e = engine_create(1400000000, NULL);
    const uint32_t domain = engine_add_domain(e, "sm", 1400000000);
    for (uint32_t i = 0; i < COMPONENTS; i++) {
        nodes[i] = (struct node){.engine = e, .rng = rng_seed(1, i), .left = &left};
        (void)engine_add(e, (struct component_spec){.name = "node",
                                                    .self = &nodes[i],
                                                    .domain = domain,
                                                    .wake = node_wake,
                                                    .receive = node_receive});
    }
    for (uint64_t i = 0; i < job->pending; i++) engine_send(e, (uint32_t)(i % COMPONENTS), 1 + i % 1000, i);
    const double start = cpu_seconds();
    (void)engine_run(e, ENGINE_NEVER);
    const double seconds = cpu_seconds() - start;
    const double events = (double)(job->events + job->pending);
    (void)printf("engine pending=%llu events=%.0f cpu_seconds=%.3f events_per_second=%.1fM\n",
                 (unsigned long long)job->pending, events, seconds, events / seconds * 1e-6);
    engine_free(e);
}

int main(int argc, char **argv)
{
    struct job job = {.pending = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000,
                      .events = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000000};
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, run, &job) == DIAG_NONE) return 0;
    (void)fputs(d.text, stderr);
    return 1;
}
