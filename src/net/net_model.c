/* net_model: see net_model.h. The generator draws the gap between two packets of a source at once, so a
 * source costs per packet, not per cycle. */
#include "net/net_model.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/rng.h"
#include "stats/stats.h"

#define LATENCY_BINS 65536u /* exact below; percentiles above are given as this */
#define GAP_BITS     40
#define CALENDAR     1024u
#define NO_SOURCE    UINT32_MAX

struct source {
    struct rng rng;
    uint64_t next_cyc; /* when its next packet is generated */
    uint32_t next_in_list;
    uint32_t dst, bytes;
    uint32_t in_flight; /* closed loop */
};

struct model {
    const struct net_model_spec *spec;
    struct arena arena;
    struct net *net, *reply_net;
    struct source *sources;
    struct net_traffic traffic;
    uint32_t senders;
    double gap_power[GAP_BITS]; /* probability of 2^k cycles without a packet */
    uint32_t gap_bits;          /* longer gaps have a probability below 2^-53 */
    bool always;                /* a packet in every cycle */
    uint32_t calendar[CALENDAR];
    uint64_t *waiting; /* sources with a generated packet and, as far as known, room */
    uint64_t *roomy;   /* sources that have room from the next cycle on */
    uint64_t *arrived; /* sinks with packets that become visible */
    uint64_t *reply_arrived;
    uint32_t source_words, sink_words;
    uint64_t now, window_begin, window_end;
    uint64_t generated_in_window, arrived_of_window;
    uint64_t packets_in_window, bytes_in_window, total;
    double latency_sum, network_latency_sum;
    uint64_t latency_min, latency_max;
    uint64_t *bins;
    uint64_t round_trips;
    double round_trip_sum;
    uint64_t *link_flits_at_begin;
    /* closed loop: replies that wait for their service time or for room */
    struct reply {
        uint64_t due_cyc, issued_cyc;
        uint32_t to, next;
    } * replies;
    uint32_t *reply_head, *reply_tail, free_reply;
};

struct net_model_spec net_model_default(void)
{
    return (struct net_model_spec){
        .net = net_spec_default(),
        .traffic = NET_UNIFORM,
        .rate = 0.5,
        .packet_bytes = {16},
        .size_count = 1,
        .reply_bytes = 136,
        .seed = 1,
        .warmup_cyc = 3000,
        .measure_cyc = 10000,
        .drain_cyc = 10000,
    };
}

const char *net_model_problem(const struct net_model_spec *s)
{
    const char *problem = net_spec_problem(&s->net);
    if (problem) return problem;
    if (!(s->rate >= 0 && s->rate <= 1)) return "the rate is in flits per cycle and source: 0 to 1";
    if (!s->size_count || s->size_count > NET_MODEL_SIZES) return "one to eight packet sizes";
    for (uint32_t i = 0; i < s->size_count; i++)
        if (!s->packet_bytes[i] || s->packet_bytes[i] > s->net.max_packet_bytes)
            return "a packet has at least one byte and at most the largest packet of the network";
    if (!s->measure_cyc) return "measure at least one cycle";
    if (s->outstanding && s->net.sources != s->net.sinks)
        return "a closed loop needs as many sources as sinks";
    if (s->outstanding && s->reply_bytes > s->net.max_packet_bytes)
        return "replies larger than the largest packet";
    return net_traffic_problem(&s->net, s->same_ends);
}

/* ---- generator ---- */

static double mean_flits(const struct model *m)
{
    double sum = 0;
    for (uint32_t i = 0; i < m->spec->size_count; i++) sum += net_flits(m->net, m->spec->packet_bytes[i]);
    return sum / m->spec->size_count;
}

/* A packet is generated in each cycle with the same probability p; the number of cycles without one is found
 * by halving from P(gap >= g) = (1-p)^g. Multiplications only: the same on every machine. */
static uint64_t draw_gap(const struct model *m, struct rng *rng)
{
    if (m->always) return 0;
    const double u = rng_unit(rng);
    double above = 1;
    uint64_t gap = 0;
    for (uint32_t k = m->gap_bits; k-- > 0;) {
        const double next = above * m->gap_power[k];
        if (next > u) above = next, gap += 1ull << k;
    }
    return gap;
}

static void generate(struct model *m, uint32_t i, uint64_t from_cyc)
{
    struct source *s = &m->sources[i];
    const struct net_model_spec *spec = m->spec;
    s->bytes = spec->packet_bytes[spec->size_count > 1 ? rng_below(&s->rng, spec->size_count) : 0];
    s->dst = net_traffic_draw(&m->traffic, i, &s->rng);
    if (spec->outstanding) {
        s->next_cyc = from_cyc;
    } else if (spec->rate == 0) {
        s->next_cyc = NET_NEVER;
        return;
    } else {
        s->next_cyc = from_cyc + draw_gap(m, &s->rng);
    }
    if (s->next_cyc >= m->window_begin && s->next_cyc < m->window_end) m->generated_in_window++;
    if (s->next_cyc <= m->now) {
        m->waiting[i / 64] |= 1ull << (i % 64);
        return;
    }
    uint32_t *list = &m->calendar[s->next_cyc % CALENDAR];
    s->next_in_list = *list;
    *list = i;
}

static void calendar_step(struct model *m)
{
    uint32_t *list = &m->calendar[m->now % CALENDAR];
    uint32_t i = *list;
    *list = NO_SOURCE;
    while (i != NO_SOURCE) {
        struct source *s = &m->sources[i];
        const uint32_t next = s->next_in_list;
        if (s->next_cyc <= m->now) {
            m->waiting[i / 64] |= 1ull << (i % 64);
        } else {
            s->next_in_list = *list;
            *list = i;
        }
        i = next;
    }
}

/* ---- wiring ---- */

static void on_room(void *ctx, uint32_t source, uint64_t from_cyc)
{
    struct model *m = ctx;
    (void)from_cyc; /* the cycle after this one, when inject() has passed */
    m->roomy[source / 64] |= 1ull << (source % 64);
}

static void on_arrival(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    (void)visible_cyc;
    ((struct model *)ctx)->arrived[sink / 64] |= 1ull << (sink % 64);
}

static void on_reply(void *ctx, uint32_t sink, uint64_t visible_cyc)
{
    (void)visible_cyc;
    ((struct model *)ctx)->reply_arrived[sink / 64] |= 1ull << (sink % 64);
}

/* ---- a cycle ---- */

static void inject(struct model *m)
{
    for (uint32_t w = 0; w < m->source_words; w++) {
        for (uint64_t bits = m->waiting[w]; bits; bits &= bits - 1) {
            const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);
            struct source *s = &m->sources[i];
            m->waiting[w] &= ~(1ull << (i % 64));
            if (m->spec->outstanding && s->in_flight == m->spec->outstanding) continue;
            /* the handle carries both times: of generation and, in the low half, of acceptance */
            const struct net_packet p = {.handle = s->next_cyc << 32 | (m->now & UINT32_MAX),
                                         .src = i,
                                         .dst = s->dst,
                                         .bytes = s->bytes};
            if (!net_try_inject(m->net, &p, m->now)) continue;
            s->in_flight++;
            const uint64_t from = m->spec->outstanding ? m->now + 1 : s->next_cyc + 1;
            generate(m, i, from);
        }
        m->waiting[w] |= m->roomy[w];
        m->roomy[w] = 0;
    }
}

static void record(struct model *m, const struct net_packet *p)
{
    const uint64_t generated = p->handle >> 32, accepted = p->handle & UINT32_MAX;
    m->total++;
    if (m->now >= m->window_begin && m->now < m->window_end) {
        m->bytes_in_window += p->bytes;
        m->packets_in_window++;
    }
    if (generated < m->window_begin || generated >= m->window_end) return;
    const uint64_t latency = m->now - generated;
    m->arrived_of_window++;
    m->latency_sum += (double)latency;
    m->network_latency_sum += (double)(m->now - accepted);
    m->bins[latency < LATENCY_BINS ? latency : LATENCY_BINS - 1]++;
    if (latency < m->latency_min) m->latency_min = latency;
    if (latency > m->latency_max) m->latency_max = latency;
}

static void queue_reply(struct model *m, const struct net_packet *request)
{
    const uint32_t server = request->dst, r = m->free_reply;
    DIAG_ASSERT(r != NO_SOURCE);
    m->free_reply = m->replies[r].next;
    m->replies[r] =
        (struct reply){m->now + m->spec->service_cyc, request->handle & UINT32_MAX, request->src, NO_SOURCE};
    if (m->reply_head[server] == NO_SOURCE)
        m->reply_head[server] = r;
    else
        m->replies[m->reply_tail[server]].next = r;
    m->reply_tail[server] = r;
}

static void pop_arrived(struct model *m)
{
    for (uint32_t w = 0; w < m->sink_words; w++) {
        for (uint64_t bits = m->arrived[w]; bits; bits &= bits - 1) {
            const uint32_t sink = w * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct net_packet *p;
            while ((p = net_peek(m->net, sink, m->now))) {
                if (m->spec->outstanding) queue_reply(m, p);
                record(m, p);
                net_pop(m->net, sink, m->now);
            }
        }
        /* What arrived in this step becomes visible in the next cycle: keep those sinks. */
        for (uint64_t bits = m->arrived[w]; bits; bits &= bits - 1) {
            const uint32_t sink = w * 64 + (uint32_t)__builtin_ctzll(bits);
            if (net_peek_cyc(m->net, sink) == NET_NEVER) m->arrived[w] &= ~(1ull << (sink % 64));
        }
    }
}

static void send_replies(struct model *m)
{
    for (uint32_t i = 0; i < m->spec->net.sinks; i++) {
        const uint32_t r = m->reply_head[i];
        if (r == NO_SOURCE || m->replies[r].due_cyc > m->now) continue;
        const struct net_packet p = {.handle = m->replies[r].issued_cyc,
                                     .src = i,
                                     .dst = m->replies[r].to,
                                     .bytes = m->spec->reply_bytes};
        if (!net_try_inject(m->reply_net, &p, m->now)) continue;
        m->reply_head[i] = m->replies[r].next;
        m->replies[r].next = m->free_reply;
        m->free_reply = r;
    }
}

static void take_replies(struct model *m)
{
    for (uint32_t i = 0; i < m->spec->net.sources; i++) {
        const struct net_packet *p;
        while ((p = net_peek(m->reply_net, i, m->now))) {
            if (m->now >= m->window_begin && m->now < m->window_end) {
                m->round_trips++;
                m->round_trip_sum += (double)(m->now - p->handle);
            }
            net_pop(m->reply_net, i, m->now);
            m->sources[i].in_flight--;
            m->waiting[i / 64] |= 1ull << (i % 64);
        }
    }
}

static void cycle(struct model *m)
{
    net_step(m->net, m->now);
    if (m->reply_net) net_step(m->reply_net, m->now);
    pop_arrived(m);
    if (m->reply_net) {
        take_replies(m);
        send_replies(m);
    }
    calendar_step(m);
    inject(m);
    m->now++;
}

/* ---- set-up and results ---- */

static void setup_loop(struct model *m)
{
    const struct net_model_spec *spec = m->spec;
    const uint32_t count = spec->net.sources * spec->outstanding;
    const struct net_wiring back = {.ctx = m, .arrived = on_reply};
    struct net_spec reply = spec->net;
    if (reply.topology == NET_HXBAR) {
        reply.first_routers = spec->net.second_routers;
        reply.second_routers = spec->net.first_routers;
    }
    m->reply_net = net_new(&m->arena, &reply, &back);
    m->replies = ARENA_ARRAY(&m->arena, struct reply, count);
    m->reply_head = ARENA_ARRAY(&m->arena, uint32_t, spec->net.sinks);
    m->reply_tail = ARENA_ARRAY(&m->arena, uint32_t, spec->net.sinks);
    for (uint32_t i = 0; i < count; i++) m->replies[i].next = i + 1 < count ? i + 1 : NO_SOURCE;
    m->free_reply = 0;
    memset(m->reply_head, 0xff, spec->net.sinks * sizeof *m->reply_head);
}

static void setup(struct model *m)
{
    const struct net_model_spec *spec = m->spec;
    const struct net_wiring wiring = {.ctx = m, .arrived = on_arrival, .room = on_room};
    m->net = net_new(&m->arena, &spec->net, &wiring);
    m->source_words = (spec->net.sources + 63) / 64;
    m->sink_words = (spec->net.sinks + 63) / 64;
    m->sources = ARENA_ARRAY(&m->arena, struct source, spec->net.sources);
    m->waiting = ARENA_ARRAY(&m->arena, uint64_t, m->source_words);
    m->roomy = ARENA_ARRAY(&m->arena, uint64_t, m->source_words);
    m->arrived = ARENA_ARRAY(&m->arena, uint64_t, m->sink_words);
    m->reply_arrived = ARENA_ARRAY(&m->arena, uint64_t, m->source_words);
    m->bins = ARENA_ARRAY(&m->arena, uint64_t, LATENCY_BINS);
    m->traffic = net_traffic_new(&m->arena, &spec->net, spec->traffic, spec->same_ends, spec->seed);
    m->link_flits_at_begin = ARENA_ARRAY(&m->arena, uint64_t, net_link_count(m->net));
    memset(m->calendar, 0xff, sizeof m->calendar);
    m->window_begin = spec->warmup_cyc;
    m->window_end = spec->warmup_cyc + spec->measure_cyc;
    m->latency_min = NET_NEVER;
    const double p = spec->rate / mean_flits(m);
    m->always = p >= 1;
    m->gap_power[0] = 1 - p;
    for (uint32_t k = 1; k < GAP_BITS; k++) m->gap_power[k] = m->gap_power[k - 1] * m->gap_power[k - 1];
    while (m->gap_bits < GAP_BITS && m->gap_power[m->gap_bits] > 0x1p-53) m->gap_bits++;
    if (spec->outstanding) setup_loop(m);
    for (uint32_t i = 0; i < spec->net.sources; i++) {
        m->sources[i].rng = rng_seed(spec->seed, i);
        if (!net_traffic_sends(&m->traffic, i)) continue;
        m->senders++;
        generate(m, i, 0);
    }
}

static uint64_t percentile(const struct model *m, double share)
{
    const double target = share * (double)m->arrived_of_window;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < LATENCY_BINS; i++) {
        seen += m->bins[i];
        if (seen && (double)seen >= target) return i;
    }
    return 0;
}

/* Plain links are built for every pair of ports; the machine has none from an endpoint to itself. */
static bool is_to_itself(const struct model *m, uint32_t link)
{
    const enum net_topology t = m->spec->net.topology;
    return m->spec->same_ends && (t == NET_LINKS || t == NET_NODE_LINKS) &&
           link / m->spec->net.sinks == link % m->spec->net.sinks;
}

static void stage_results(const struct model *m, const uint64_t *flits_at_end, struct net_model_result *r)
{
    r->stage_count = net_stage_count(m->net);
    DIAG_ASSERT(r->stage_count <= NET_MODEL_STAGES);
    for (uint32_t i = 0; i < net_link_count(m->net); i++) {
        if (is_to_itself(m, i)) continue;
        struct net_model_stage *s = &r->stages[net_link(m->net, i).stage];
        const double used =
            (double)(flits_at_end[i] - m->link_flits_at_begin[i]) / (double)m->spec->measure_cyc;
        if (!s->links || used < s->min) s->min = used;
        if (!s->links || used > s->max) s->max = used;
        s->mean += used;
        s->links++;
    }
    for (uint32_t i = 0; i < r->stage_count; i++) r->stages[i].mean /= r->stages[i].links;
}

/* Per cycle, in whole flits as they are offered: links between nodes carry bytes, and a ring several times. */
static double delivered_flits(const struct model *m)
{
    double flits = 0;
    for (uint32_t k = 0; k < m->spec->size_count; k++)
        flits += net_flits(m->net, m->spec->packet_bytes[k]) / (double)m->spec->size_count;
    return flits * (double)m->packets_in_window / (double)m->spec->measure_cyc;
}

static void results(const struct model *m, struct net_model_result *r)
{
    const struct net_model_spec *spec = m->spec;
    const double cycles = (double)spec->measure_cyc;
    r->offered = spec->rate;
    /* what the links into the sinks carried */
    const struct net_model_stage *last = &r->stages[r->stage_count - 1];
    const double flits = net_between_nodes(&spec->net) ? delivered_flits(m) : last->mean * last->links;
    r->accepted = flits / (spec->traffic == NET_HOTSPOT ? spec->net.groups : spec->net.sinks);
    r->accepted_per_source = flits / m->senders;
    r->accepted_packets = (double)m->packets_in_window / cycles;
    r->bytes_per_cycle = (double)m->bytes_in_window / cycles;
    r->packets = m->arrived_of_window;
    r->unfinished = m->generated_in_window - m->arrived_of_window;
    if (m->arrived_of_window) {
        r->latency_mean = m->latency_sum / (double)m->arrived_of_window;
        r->network_latency_mean = m->network_latency_sum / (double)m->arrived_of_window;
        r->latency_min = m->latency_min;
        r->latency_max = m->latency_max;
        r->latency_p50 = percentile(m, 0.50);
        r->latency_p95 = percentile(m, 0.95);
        r->latency_p99 = percentile(m, 0.99);
    }
    r->saturated = !spec->outstanding && (r->accepted_per_source < 0.97 * spec->rate || r->unfinished);
    r->total_packets = m->total;
    r->total_cyc = m->now;
    r->round_trips = m->round_trips;
    r->round_trip_mean = m->round_trips ? m->round_trip_sum / (double)m->round_trips : 0;
}

static void free_registry(void *arg) { stats_free(arg); }

/* The conservation laws hold at the end of this run as of every other. */
static void check_laws(struct model *m)
{
    struct stats_registry registry;
    struct diag_cleanup cleanup;
    stats_init(&registry, 1000);
    diag_defer(&cleanup, free_registry, &registry);
    net_stats_finish(m->net, m->now);
    STATS_REGISTER(&registry, net, net_stats_of(m->net), STATS_EVERYWHERE);
    if (m->reply_net) {
        net_stats_finish(m->reply_net, m->now);
        STATS_REGISTER(&registry, net, net_stats_of(m->reply_net), STATS_EVERYWHERE);
    }
    stats_check_laws(&registry, m->now);
    diag_done(&cleanup, true);
}

static void free_arena(void *arg) { arena_free(arg); }

void net_model_run(const struct net_model_spec *spec, struct net_model_result *result)
{
    const char *problem = net_model_problem(spec);
    if (problem) diag_mistake("%s", problem);
    struct arena outer;
    arena_init(&outer);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, free_arena, &outer);
    struct model *m = ARENA_NEW(&outer, struct model);
    struct diag_cleanup inner;
    arena_init(&m->arena);
    diag_defer(&inner, free_arena, &m->arena);
    memset(result, 0, sizeof *result);
    m->spec = spec;
    setup(m);
    const uint32_t links = net_link_count(m->net);
    uint64_t *flits_at_end = ARENA_ARRAY(&m->arena, uint64_t, links);
    while (m->now < m->window_begin) cycle(m);
    for (uint32_t i = 0; i < links; i++) m->link_flits_at_begin[i] = net_link(m->net, i).flits;
    while (m->now < m->window_end) cycle(m);
    for (uint32_t i = 0; i < links; i++) flits_at_end[i] = net_link(m->net, i).flits;
    const uint64_t give_up = m->window_end + spec->drain_cyc;
    while (m->now < give_up && m->arrived_of_window < m->generated_in_window) cycle(m);
    stage_results(m, flits_at_end, result);
    results(m, result);
    check_laws(m);
    diag_done(&inner, true);
    diag_done(&cleanup, true);
}
