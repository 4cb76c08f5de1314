/* dram_model: drives one channel with a stream and measures; see dram_model.h. */
#include "dram/dram_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

struct dram_load dram_load_parse(const char *text)
{
    if (!strcmp(text, "sat")) return (struct dram_load){0};
    if (!strcmp(text, "low")) return (struct dram_load){.interval_cyc = 50, .limit_count = 8192};
    if (text[0] == 'i' && text[1]) {
        char *end;
        const double interval = strtod(text + 1, &end);
        if (!*end && interval > 0 && interval <= 1e9) return (struct dram_load){.interval_cyc = interval};
    }
    diag_mistake("--load is 'sat', 'low' or 'i<cycles between requests>' (such as i2.5), not '%s'", text);
}

/* ---- the run ---- */

enum { TALLY = 1 << 16 };

struct run {
    const struct dram_stream *stream;
    struct dram_channel *channel;
    struct dram_load load;
    uint64_t now;
    size_t next, end; /* the request to offer, and where the offers stop */
    struct dram_request request;
    uint64_t offer_cyc; /* when it is to be offered */
    bool blocked;       /* the last offer was refused and no room has been announced since */
    uint32_t limit, outstanding, outstanding_max;
    uint64_t release_cyc; /* end of the first request under way (with a limit) */
    uint64_t last_done_cyc;
    uint64_t *done_ring; /* ends of those under way, in order */
    uint32_t ring_head, ring_tail, ring_mask;
    uint64_t *tally; /* reads that took so many cycles, below TALLY */
    struct slow_read {
        uint64_t latency_cyc;
        struct slow_read *next;
    } * slow; /* the others */
    struct arena *arena;
    void (*log)(void *owner, const struct dram_command *command);
    void *log_owner;
};

/* A forwarded read, or a write, ends before reads already under way. */
__attribute__((noinline)) static void insert_done(struct run *r, uint64_t cyc)
{
    uint32_t at = r->ring_tail++;
    for (; at != r->ring_head && r->done_ring[(at - 1) & r->ring_mask] > cyc; at--)
        r->done_ring[at & r->ring_mask] = r->done_ring[(at - 1) & r->ring_mask];
    r->done_ring[at & r->ring_mask] = cyc;
    r->release_cyc = r->done_ring[r->ring_head & r->ring_mask];
}

__attribute__((noinline)) static void count_slow(struct run *r, uint64_t latency_cyc)
{
    struct slow_read *s = ARENA_NEW(r->arena, struct slow_read);
    *s = (struct slow_read){latency_cyc, r->slow};
    r->slow = s;
}

static void on_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    struct run *r = owner;
    uint64_t cyc = r->now;
    (void)tag;
    if (kind == DRAM_READ) {
        cyc = done_cyc;
        const uint64_t latency = cyc - accept_cyc;
        if (latency < TALLY)
            r->tally[latency]++;
        else
            count_slow(r, latency);
    }
    if (r->limit == UINT32_MAX) return;
    if (cyc < r->last_done_cyc) {
        insert_done(r, cyc);
        return;
    }
    r->last_done_cyc = cyc;
    r->done_ring[r->ring_tail++ & r->ring_mask] = cyc;
    if (r->release_cyc == DRAM_NEVER) r->release_cyc = cyc;
}

static void on_space(void *owner) { ((struct run *)owner)->blocked = false; }

static void on_log(void *owner, const struct dram_command *command)
{
    struct run *r = owner;
    r->log(r->log_owner, command);
}

static void release_done(struct run *r, uint64_t now)
{
    while (r->release_cyc < now) {
        r->ring_head++;
        r->outstanding--;
        r->release_cyc =
            r->ring_head == r->ring_tail ? DRAM_NEVER : r->done_ring[r->ring_head & r->ring_mask];
    }
}

/* The request to offer next. */
static inline void look_up(struct run *r)
{
    const struct dram_stream_op *o = &r->stream->ops[r->next];
    r->request.kind = (enum dram_kind)o->kind;
    r->request.bank = o->bank;
    r->request.row = o->row;
    r->request.column = o->column;
}

static inline void offer(struct run *r, uint64_t now)
{
    while (r->offer_cyc <= now && !r->blocked && r->outstanding < r->limit) {
        if (!dram_try_accept(r->channel, now, &r->request)) {
            r->blocked = true;
            return;
        }
        if (r->limit != UINT32_MAX && ++r->outstanding > r->outstanding_max)
            r->outstanding_max = r->outstanding;
        if (++r->next == r->end) {
            r->offer_cyc = DRAM_NEVER;
            return;
        }
        look_up(r);
        if (r->load.interval_cyc > 0) r->offer_cyc = (uint64_t)floor(r->load.interval_cyc * (double)r->next);
    }
}

/* The next cycle at which the driver itself has something to do. */
static uint64_t driver_next(const struct run *r)
{
    if (r->blocked || r->offer_cyc == DRAM_NEVER) return DRAM_NEVER;
    if (r->outstanding < r->limit) return r->offer_cyc;
    return r->release_cyc == DRAM_NEVER ? DRAM_NEVER : r->release_cyc + 1;
}

static void run_all(struct run *r)
{
    uint64_t now = 0;
    if (r->end) look_up(r);
    for (;;) {
        r->now = now;
        dram_channel_step(r->channel, now); /* also when only the driver has something to do */
        release_done(r, now);
        offer(r, now);
        const uint64_t channel = dram_channel_next(r->channel);
        const uint64_t driver = driver_next(r);
        const uint64_t next = channel < driver ? channel : driver;
        if (next == DRAM_NEVER) break;
        now = next > now ? next : now + 1;
    }
    if (r->next != r->end)
        diag_bug("dram_model", now, "request %zu of %zu was never accepted", r->next, r->end);
    if (dram_channel_waiting(r->channel)) diag_bug("dram_model", now, "requests are left in an idle channel");
}

/* ---- what was measured ---- */

/* Bins of half an octave: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... */
static uint64_t bin_edge(uint32_t bin)
{
    if (bin < 4) return bin;
    const uint64_t octave = UINT64_C(1) << (bin / 2);
    return bin % 2 ? octave + octave / 2 : octave;
}

/* tally[x] = reads that took x cycles. */
static uint64_t percentile(const uint64_t *tally, uint64_t count, uint64_t percent)
{
    const uint64_t rank = (count - 1) * percent / 100;
    uint64_t seen = 0, x = 0;
    while ((seen += tally[x]) <= rank) x++;
    return x;
}

static void measure_latency(struct dram_result *r, const struct run *run)
{
    uint64_t count = 0, sum = 0, *tally = run->tally;
    for (const struct slow_read *s = run->slow; s; s = s->next)
        if (s->latency_cyc > r->latency_max_cyc) r->latency_max_cyc = s->latency_cyc;
    if (run->slow) { /* one table for all */
        tally = ARENA_ARRAY(run->arena, uint64_t, r->latency_max_cyc + 1);
        memcpy(tally, run->tally, TALLY * sizeof *tally);
        for (const struct slow_read *s = run->slow; s; s = s->next) tally[s->latency_cyc]++;
    }
    for (uint64_t x = 0; x < TALLY || x <= r->latency_max_cyc; x++) {
        count += tally[x];
        sum += x * tally[x];
        if (tally[x]) r->latency_max_cyc = x > r->latency_max_cyc ? x : r->latency_max_cyc;
    }
    if (!count) return;
    r->latency_mean_cyc = (double)sum / (double)count;
    r->latency_p50_cyc = percentile(tally, count, 50);
    r->latency_p95_cyc = percentile(tally, count, 95);
    r->latency_p99_cyc = percentile(tally, count, 99);
    uint32_t bin = 0;
    for (uint64_t x = 0; x <= r->latency_max_cyc; x++) {
        while (bin + 1 < DRAM_LATENCY_BINS && x >= bin_edge(bin + 1)) bin++;
        r->latency_counts[bin] += tally[x];
    }
    r->latency_bins = bin + 1;
    for (uint32_t i = 0; i < r->latency_bins; i++) r->latency_edges[i] = bin_edge(i);
}

static void release_arena(void *arg) { arena_free(arg); }

struct dram_result dram_model_run(const struct dram_spec *spec, const struct dram_stream *stream,
                                  struct dram_load load, uint32_t outstanding,
                                  void (*log)(void *owner, const struct dram_command *command),
                                  void *log_owner)
{
    const char *fault = dram_spec_fault(spec);
    if (fault) diag_mistake("this channel cannot work: %s", fault);
    struct arena a;
    arena_init(&a);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, release_arena, &a);
    struct run run = {.stream = stream,
                      .load = load,
                      .limit = outstanding ? outstanding : UINT32_MAX,
                      .request = {.column_count = 1},
                      .release_cyc = DRAM_NEVER,
                      .log = log,
                      .log_owner = log_owner};
    run.end = load.limit_count && load.limit_count < stream->count ? (size_t)load.limit_count : stream->count;
    run.arena = &a;
    run.tally = ARENA_ARRAY(&a, uint64_t, TALLY);
    /* columns under way: queued, or their data on the way */
    const uint64_t under_way = (uint64_t)spec->queue_entries + spec->read_entries + spec->write_entries +
                               DRAM_BANKS_MAX + spec->tcl_cyc + spec->burst_cyc + 1;
    while (run.ring_mask < under_way) run.ring_mask = 2 * run.ring_mask + 1;
    run.done_ring = ARENA_ARRAY(&a, uint64_t, run.ring_mask + 1);
    run.channel = dram_channel_new(
        &a, spec,
        &(struct dram_wiring){.owner = &run, .done = on_done, .space = on_space, .log = log ? on_log : NULL});
    run_all(&run);

    struct dram_result r = {.request_count = run.end, .stats = *dram_channel_stats(run.channel)};
    r.reads = r.stats.reads;
    r.writes = r.stats.writes;
    r.cycles = dram_channel_last_data(run.channel);
    r.bytes = (r.reads + r.writes - r.stats.merged) * spec->column_size;
    r.bytes_per_cycle = (double)r.bytes / (double)r.cycles;
    r.peak_bytes_per_cycle = dram_spec_peak(spec);
    r.percent_of_peak = 100 * r.bytes_per_cycle / r.peak_bytes_per_cycle;
    r.outstanding_max = run.outstanding_max;
    measure_latency(&r, &run);
    diag_done(&cleanup, true);
    return r;
}
