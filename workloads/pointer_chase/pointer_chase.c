/* pointer_chase: host script. The links form one cycle through all entries: next = (a at + c) mod 2^k with
 * a = 1 mod 4 and c odd has full period, and successive entries lie far apart. */
#include "workload.h"

enum { BLOCK = 128 };

static const struct wl_param params[] = {
    {"log2_entries", 20, 5, 30, 0, "the table has 2^this links of 4 bytes"},
    {"steps", 1000, 1, 1 << 24, 0, "links that a thread follows"},
    {"threads", 1024, 1, 1 << 22, 0, "threads, spread over the cycle"},
    {0},
};
static const struct wl_size sizes[] = {{"tiny", "log2_entries=14,steps=50,threads=300", NULL}, {0}};

struct problem {
    uint64_t entries, steps, threads;
};

static uint32_t next_of(uint64_t entries, uint64_t at)
{
    return (uint32_t)((at * 1664525 + 1013904223) & (entries - 1));
}

static void fill(void *arg, void *to, uint64_t first, uint64_t bytes)
{
    const struct problem *p = arg;
    for (uint64_t i = 0; i < bytes / 4; i++) ((uint32_t *)to)[i] = next_of(p->entries, first / 4 + i);
}

static double expected(const void *arg, uint64_t thread)
{
    const struct problem *p = arg;
    uint64_t at = p->entries * thread / p->threads;
    for (uint64_t i = 0; i < p->steps; i++) at = next_of(p->entries, at);
    return (double)at;
}

static struct problem problem_of(const struct wl *w)
{
    return (struct problem){(uint64_t)1 << wl_param(w, "log2_entries"), (uint64_t)wl_param(w, "steps"),
                            (uint64_t)wl_param(w, "threads")};
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct problem p = problem_of(w);
    return 4 * (p.entries + p.threads);
}

static void run(struct wl *w)
{
    struct problem p = problem_of(w);
    uint32_t *next = wl_input(w, "next", p.entries * 4, fill, &p),
             *reached = wl_alloc(w, "reached", p.threads * 4);
    WL_LAUNCH(w, "pointer_chase", wl_dim(wl_blocks((int64_t)p.threads, BLOCK)), wl_dim(BLOCK), next, reached,
              (int)p.steps, (int)p.entries, (int)p.threads);
    wl_check_u32(w, &(struct wl_check){.name = "reached",
                                       .output = reached,
                                       .count = p.threads,
                                       .reference = expected,
                                       .arg = &p,
                                       .cost = p.steps});
}

WORKLOAD(pointer_chase, .suite = "micro", .sharing = "-",
         .description = "chains of dependent loads: bare memory latency", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
