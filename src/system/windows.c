/* windows: see windows.h. */
#include "system/windows.h"

#include "net/ahead.h"
#include "net/net_queue.h"

enum { WINDOW_LEAST = 4, WINDOW_MOST = 200, LANES_MOST = 32 };

struct windows {
    struct ahead ahead; /* first: see wake_first() */
    struct windows_parts parts;
    uint32_t component;
    uint32_t length_cyc;
    uint32_t per_channel; /* slices */
    bool closes;          /* statistics are sampled when the window ends */
    uint64_t *fresh;      /* bit per SM that had no packet in flight before */
    uint64_t *unread;     /* the same per slice; not read, because every window runs all slices */
    uint32_t fresh_words;
    uint64_t requests_cyc, replies_cyc; /* sums of the cycles of taken packets, at the last comparison */
};

/* ---- a channel and its slices ----
 *
 * Slices run first: operations that a channel has accepted since the last window only free entries of its queues. A
 * slice that depends on a free entry stops. in_time() then runs the slices and the channel together, in order of
 * cycles. */

static void in_time(const struct windows *w, struct channel *ch, struct slice *const *slices, uint64_t until)
{
    for (;;) {
        struct slice *first = NULL;
        uint64_t due = until;
        bool needs_channel = false;
        for (uint32_t k = 0; k < w->per_channel; k++) {
            needs_channel |= slice_needs_channel(slices[k], until);
            if (slice_window_due(slices[k]) >= due) continue;
            due = slice_window_due(slices[k]);
            first = slices[k];
        }
        /* the channel frees entries before the slice checks for them, and may make the slice due earlier */
        if (needs_channel && channel_work_next(ch, due)) continue;
        if (!first) return;
        slice_window_cycle(first, due);
    }
}

static void run_slices(const struct windows *w, uint32_t channel, uint64_t until)
{
    struct channel *const ch = w->parts.channels[channel];
    struct slice *const *const slices = w->parts.slices + (size_t)channel * w->per_channel;
    bool stopped = false;
    for (uint32_t k = 0; k < w->per_channel; k++) stopped |= !slice_run_window(slices[k], until);
    if (__builtin_expect(stopped, 0)) in_time(w, ch, slices, until);
}

/* ---- the window ---- */

static bool is_busy(const struct windows *w)
{
    for (uint32_t k = 0; k < w->parts.slice_count; k++)
        if (slice_window_busy(w->parts.slices[k])) return true;
    if (net_queue_some_inside(w->parts.fabric->request.net) ||
        net_queue_some_wait(w->parts.fabric->reply.net))
        return true;
    for (uint32_t k = 0; k < w->parts.channel_count; k++)
        if (channel_due(w->parts.channels[k]) != DRAM_NEVER) return true;
    return false;
}

static void wake_sms(struct windows *w)
{
    const struct fabric_side *const reply = &w->parts.fabric->reply;
    for (uint32_t word = 0; word < w->fresh_words; word++) {
        for (uint64_t m = w->fresh[word]; m; m &= m - 1) {
            const uint32_t sm = word << 6 | (uint32_t)__builtin_ctzll(m);
            engine_wake(w->parts.engine, w->parts.sm_components[sm], net_peek_cyc(reply->net, sm));
        }
        w->fresh[word] = 0;
    }
}

/* Brings statistics, networks and channels to the end of the window, so that a sample equals one without windows. */
static void close_window(struct windows *w)
{
    w->closes = false;
    for (uint32_t k = 0; k < w->parts.slice_count; k++) slice_window_sync_stats(w->parts.slices[k]);
    net_queue_run(w->parts.fabric->request.net, w->ahead.until_cyc, w->unread);
    for (uint32_t k = 0; k < w->parts.channel_count; k++) {
        channel_work_before(w->parts.channels[k], w->ahead.until_cyc);
        channel_visit_before(w->parts.channels[k], w->ahead.until_cyc);
    }
}

/* True if a receiver took a packet since the last call. */
static bool some_taken(const struct net *n, uint64_t *seen_cyc)
{
    const uint64_t before_cyc = *seen_cyc;
    *seen_cyc = net_queue_taken(n).cyc;
    return *seen_cyc != before_cyc;
}

/* A simulated window is not progress for the watchdog: the packets inside may be deadlocked. Progress is reported only
 * if a receiver took a packet since the last call. Replies are sampled only if no request was taken. */
static void note_progress(struct windows *w)
{
    const struct fabric *const f = w->parts.fabric;
    if (some_taken(f->request.net, &w->requests_cyc) || some_taken(f->reply.net, &w->replies_cyc))
        engine_progress(w->parts.engine);
}

static void wake(void *self, uint64_t now)
{
    struct windows *const w = self;
    w->ahead.asleep = false;
    w->ahead.first_cyc = ENGINE_NEVER;
    if (w->closes && now + 1 == w->ahead.until_cyc) {
        close_window(w);
        w->ahead.asleep = !is_busy(w);
        if (!w->ahead.asleep) engine_wake(w->parts.engine, w->component, now + 1);
        return;
    }
    const uint64_t unwatched = engine_unwatched_until(w->parts.engine, w->parts.domain);
    /* statistics are sampled when one of several kernels ends */
    uint64_t until = now + (*w->parts.kernels > 1 ? 1 : w->length_cyc);
    if (until > unwatched) until = unwatched > now ? unwatched : now + 1;
    net_queue_run(w->parts.fabric->request.net, now, w->unread);
    net_queue_idle_before(w->parts.fabric->reply.net, now);
    for (uint32_t k = 0; k < w->parts.channel_count; k++) channel_work_before(w->parts.channels[k], now);
    for (uint32_t k = 0; k < w->parts.channel_count; k++) run_slices(w, k, until);
    net_queue_run(w->parts.fabric->reply.net, until, w->fresh);
    w->ahead.until_cyc = until;
    wake_sms(w);
    note_progress(w);
    w->closes = until == unwatched;
    if (w->closes && until == now + 1) close_window(w);
    w->ahead.asleep = !w->closes && !is_busy(w);
    if (!w->ahead.asleep) engine_wake(w->parts.engine, w->component, w->closes ? until - 1 : until);
}

/* SMs may be ahead: the first to send need not be the one that sends first. */
static void wake_first(struct ahead *a, uint64_t at)
{
    struct windows *const w = (struct windows *)(void *)a;
    if (!w->ahead.asleep) return;
    const uint64_t first_cyc = at + w->ahead.arrival_cyc;
    if (w->ahead.first_cyc == ENGINE_NEVER)
        net_queue_idle_before(w->parts.fabric->request.net, engine_now(w->parts.engine, w->parts.domain));
    if (first_cyc >= w->ahead.first_cyc) return;
    w->ahead.first_cyc = first_cyc;
    engine_wake(w->parts.engine, w->component, first_cyc);
}

void windows_finish(struct windows *w)
{
    const uint64_t now = engine_now(w->parts.engine, w->parts.domain);
    for (uint32_t k = 0; k < w->parts.slice_count; k++) slice_window_sync_stats(w->parts.slices[k]);
    net_queue_run(w->parts.fabric->request.net, now + 1, w->unread);
    for (uint32_t k = 0; k < w->parts.channel_count; k++) channel_finish(w->parts.channels[k]);
}

/* ---- conditions: ahead.def ---- */

/* Replies that wait before the link of a slice: at most those that pass the data port while a slower reply is
 * in flight from there (hits, fills, the lanes of an atomic one by one), and the reply that is sent. */
static bool source_queue_holds_replies(const struct config *c)
{
    const uint64_t slower_cyc = c->llc.latency_cyc - slice_tag_latency(c) + c->llc.fill_latency_cyc +
                                (uint64_t)(LANES_MOST - 1) * c->llc.atomic_cyc;
    return c->net.source_packets >= slower_cyc + 2;
}

/* The link of a slice carries replies as fast as the data port of the slice supplies them. */
static bool link_matches_port(const struct config *c)
{
    for (uint64_t sectors = 0; sectors <= LINE_SECTORS; sectors++) {
        const uint64_t bytes = sectors * SECTOR_BYTES, width = c->net.width;
        const uint64_t port_cyc = bytes ? (bytes + c->llc.port - 1) / c->llc.port : 1;
        if ((c->packet.header + bytes + width - 1) / width > port_cyc) return false;
    }
    return true;
}

static bool slices_are_basic(const struct windows *w)
{
    for (uint32_t k = 0; k < w->parts.slice_count; k++)
        if (!slice_is_basic(w->parts.slices[k])) return false;
    return true;
}

/* While all components sleep, an SM may be ahead by the latency of a request and its reply, and the next SM by
 * as much again after that. A packet may then still wait for its link and for a queue slot. */
static bool is_within_wheel(const struct windows *w)
{
    const struct net_spec *const s = net_spec_of(w->parts.fabric->request.net);
    const uint64_t ahead = 2 * ((uint64_t)w->ahead.arrival_cyc + w->ahead.reply_cyc);
    return ahead + s->max_packet_bytes / s->width_bytes + s->credit_delay_cyc + 4 < NET_QUEUE_WHEEL;
}

/* The text of the first row over the configuration that does not hold; NULL: all hold. */
static const char *unmet_by_config(const struct config *c)
{
#define AHEAD_NEEDS(name, condition, text) \
    if (!(condition)) return text;
#define AHEAD_NEEDS_BUILT(name, condition, text)
#include "system/ahead.def"
#undef AHEAD_NEEDS_BUILT
#undef AHEAD_NEEDS
    return NULL;
}

/* The text of the first row over the built machine that does not hold; NULL: all hold. */
static const char *unmet_by_parts(const struct windows *w)
{
#define AHEAD_NEEDS(name, condition, text)
#define AHEAD_NEEDS_BUILT(name, condition, text) \
    if (!(condition)) return text;
#include "system/ahead.def"
#undef AHEAD_NEEDS_BUILT
#undef AHEAD_NEEDS
    return NULL;
}

/* ---- building ---- */

static struct wait waits(void *self)
{
    (void)self;
    return (struct wait){.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
}

struct windows *windows_new(struct arena *a, const struct config *c, const struct windows_parts *parts,
                            const char **off)
{
    *off = unmet_by_config(c);
    if (*off) return NULL;
    struct windows *w = ARENA_NEW(a, struct windows);
    struct fabric *const f = parts->fabric;
    w->parts = *parts;
    w->ahead.engine = parts->engine;
    w->ahead.domain = parts->domain;
    w->ahead.wake = wake_first;
    w->per_channel = parts->slice_count / parts->channel_count;
    w->ahead.arrival_cyc =
        (uint32_t)net_zero_load_cyc(f->request.net, 0, 0, (uint32_t)c->packet.header) + slice_tag_latency(c);
    w->ahead.reply_cyc = (uint32_t)f->min_reply_cyc - 1;
    /* the maximum for which no request sent and no line read in the window reaches a slice in it */
    const uint32_t memory_cyc = c->llc.memory_latency_cyc + c->llc.fill_latency_cyc;
    w->length_cyc = w->ahead.arrival_cyc - 1 < memory_cyc ? w->ahead.arrival_cyc - 1 : memory_cyc - 1;
    if (w->length_cyc > WINDOW_MOST) w->length_cyc = WINDOW_MOST;
    *off = unmet_by_parts(w);
    if (*off) return NULL;
    w->fresh_words = (uint32_t)(config_sms(c) + 63) / 64;
    w->fresh = ARENA_ARRAY(a, uint64_t, w->fresh_words);
    w->unread = ARENA_ARRAY(a, uint64_t, (parts->slice_count + 63) / 64);
    w->ahead.asleep = true;
    w->ahead.first_cyc = ENGINE_NEVER;
    w->component =
        engine_add(parts->engine,
                   (struct component_spec){
                       .name = "windows", .self = w, .domain = parts->domain, .wake = wake, .waits = waits});
    f->request.ahead = f->reply.ahead = &w->ahead;
    for (uint32_t k = 0; k < parts->slice_count; k++) slice_in_windows(parts->slices[k], true);
    for (uint32_t k = 0; k < parts->channel_count; k++) channel_in_windows(parts->channels[k], true);
    return w;
}

void windows_close(struct windows *w)
{
    w->parts.fabric->request.ahead = w->parts.fabric->reply.ahead = NULL;
    for (uint32_t k = 0; k < w->parts.slice_count; k++) slice_in_windows(w->parts.slices[k], false);
    for (uint32_t k = 0; k < w->parts.channel_count; k++) channel_in_windows(w->parts.channels[k], false);
}
