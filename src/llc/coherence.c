/* coherence: see coherence.h. The packets of a coherence row, and the writes that wait for them. */
#include "llc/coherence.h"

#include "llc/rdc.h"

enum { NO_ROUND = UINT32_MAX };

static const struct coherence_ops *const rows[] = {
#define ITEM(list, item, help) [list##_##item] = &coherence_##item,
#include "llc/coherence.def"
#undef ITEM
};
_Static_assert(sizeof rows / sizeof *rows == llc_coherence_count, "a row for each way of coherence");

const struct coherence_ops *coherence_row(const struct config *c) { return rows[c->llc.coherence]; }

struct coherence *coherence_new(struct slice *s, struct arena *a, const struct config *c)
{
    const struct coherence_ops *const ops = coherence_row(c);
    if (!ops->on) return NULL;
    struct coherence *k = ARENA_NEW(a, struct coherence);
    const uint64_t all = config_chiplets(c) < 64 ? ((uint64_t)1 << config_chiplets(c)) - 1 : UINT64_MAX;
    *k = (struct coherence){.ops = ops,
                            .gpus = all & ~((uint64_t)1 << s->wire.chiplet),
                            .rng = rng_seed(c->sim.seed, UINT64_C(0x1357000000) + s->wire.slice_idx),
                            .imst = c->imst.enabled,
                            .remote_write_shares = c->imst.remote_write_shares,
                            .demote = c->imst.demote,
                            .free = c->llc.invalidate_queue,
                            .free_round = NO_ROUND,
                            .stats = &s->remote->coherence_stats};
    map_init(&k->lines);
    map_init(&k->active);
    return k;
}

static uint32_t gpu_of(const struct slice *s, const struct request *r)
{
    return r->via ? (r->via - 1u) / s->wire.organisation->slice_count : s->wire.chiplet;
}

/* ---- the home ---- */

void coherence_free(struct coherence *k)
{
    map_free(&k->lines);
    map_free(&k->active);
    free(k->rounds);
}

/* ---- rounds of invalidations ---- */

/* The active rounds of a line, as the value of k->active. */
struct span {
    uint32_t oldest, youngest;
};
static struct span unpack(uint64_t v) { return (struct span){(uint32_t)(v >> 32), (uint32_t)v}; }
static uint64_t pack(struct span a) { return (uint64_t)a.oldest << 32 | a.youngest; }

static struct coherence_round *youngest_of(const struct coherence *k, uint64_t line)
{
    const uint64_t *const active = k->active.count ? map_find(&k->active, line) : NULL;
    return active ? &k->rounds[unpack(*active).youngest] : NULL;
}

static uint32_t take_round(struct coherence *k)
{
    if (k->free_round == NO_ROUND) {
        const uint32_t from = k->round_count, count = from ? 2 * from : 64;
        struct coherence_round *const grown = realloc(k->rounds, count * sizeof *grown);
        if (!grown) diag_mistake("out of host memory for the invalidations of a slice");
        k->rounds = grown;
        k->round_count = count;
        for (uint32_t r = count; r-- > from;) {
            grown[r].younger = k->free_round;
            k->free_round = r;
        }
    }
    const uint32_t idx = k->free_round;
    k->free_round = k->rounds[idx].younger;
    return idx;
}

/* The round gets INVALIDATEs to further GPUs, for a write that is performed now. */
static void add_to_round(struct coherence *k, uint64_t now, uint32_t idx, const struct request *write,
                         uint64_t gpus)
{
    struct coherence_round *const r = &k->rounds[idx];
    if (!r->unsent) {
        r->next_unsent = NO_ROUND;
        if (k->unsent.count++)
            k->rounds[k->unsent.last].next_unsent = idx;
        else
            k->unsent.first = idx;
        k->unsent.last = idx;
    }
    r->added_cyc = now;
    r->address = write->line;
    r->home = write->home;
    r->sm = write->sm;
    r->app = write->app;
    r->gpus |= gpus;
    r->unsent |= gpus;
    r->covered |= gpus;
    r->pending += (uint32_t)__builtin_popcountll(gpus);
}

/* A round behind the active ones of the line. covered: see struct coherence_round. */
static uint32_t new_round(struct coherence *k, uint64_t line, uint64_t covered)
{
    bool fresh;
    const uint32_t idx = take_round(k);
    uint64_t *const active = map_put(&k->active, line, &fresh);
    k->rounds[idx] = (struct coherence_round){.covered = covered, .younger = NO_ROUND};
    struct span a = {idx, idx};
    if (!fresh) {
        a.oldest = unpack(*active).oldest;
        k->rounds[unpack(*active).youngest].younger = idx;
    }
    *active = pack(a);
    return idx;
}

/* The round that a write waits for, after which the GPUs `stale` have no copy; NO_ROUND: they have none now. */
static uint32_t join_round(struct coherence *k, uint64_t now, const struct request *write, uint64_t stale,
                           uint32_t writer)
{
    const uint64_t line = write->home.line;
    const uint64_t *const active = k->active.count ? map_find(&k->active, line) : NULL;
    uint64_t missing = stale, covered = 0;
    uint32_t idx = NO_ROUND;
    if (active) {
        const struct span a = unpack(*active);
        const struct coherence_round *const r = &k->rounds[a.youngest];
        covered = r->covered;
        missing &= ~covered;
        const bool only_writer = a.oldest == a.youngest && !(r->gpus & ~((uint64_t)1 << writer));
        if (!missing && (stale || !only_writer)) {
            k->stats->joined++;
            return a.youngest;
        }
        if (r->unsent == r->gpus) idx = a.youngest;
    }
    if (!missing) return NO_ROUND;
    if (idx == NO_ROUND) idx = new_round(k, line, covered);
    add_to_round(k, now, idx, write, missing);
    return idx;
}

void coherence_on_read(struct slice *s, const struct request *r)
{
    struct coherence *const k = s->remote->coherence;
    const uint32_t gpu = gpu_of(s, r);
    struct coherence_round *const round = youngest_of(k, r->home.line);
    (void)k->ops->on(k, COHERENCE_REMOTE_READ, r->home.line, gpu);
    if (round && !FAULT_FIRES(vi_joins_after_read)) round->covered &= ~((uint64_t)1 << gpu) | round->unsent;
}

void coherence_on_write(struct slice *s, uint64_t now, struct request *r)
{
    struct coherence *const k = s->remote->coherence;
    const enum coherence_event e = r->via ? COHERENCE_REMOTE_WRITE : COHERENCE_LOCAL_WRITE;
    const uint32_t writer = gpu_of(s, r);
    const uint64_t stale = k->ops->on(k, e, r->home.line, writer);
    r->round = join_round(k, now, r, stale, writer) + 1;
    r->performed_cyc = now;
    k->stats->writes++;
    k->stats->broadcasts += r->round != 0;
}

void coherence_hold(struct slice *s, uint64_t now, uint32_t idx, uint64_t ready_cyc)
{
    struct coherence *const k = s->remote->coherence;
    at(s, idx)->ready_cyc = ready_cyc;
    append(s, &k->rounds[at(s, idx)->round - 1].writes, idx);
    k->held++;
    own_due(s, now + 1);
}

/* The reply of a write whose acknowledgements have all arrived. */
static void release(struct slice *s, uint64_t now, uint32_t idx)
{
    struct coherence *const k = s->remote->coherence;
    struct request *const r = at(s, idx);
    const uint64_t ready = max_u64(now + 1, r->ready_cyc);
    k->held--;
    k->stats->held++;
    k->stats->held_cyc += now - r->performed_cyc;
    if (!r->via) {
        append_filled(s, idx, ready);
        return;
    }
    r->ready_cyc = ready;
    append(s, &s->remote->filled, idx);
}

/* Ends the rounds of the line that are acknowledged, the oldest first. */
static void end_rounds(struct slice *s, uint64_t now, uint64_t line)
{
    struct coherence *const k = s->remote->coherence;
    uint64_t *const active = map_find(&k->active, line);
    DIAG_ASSERT(active);
    struct span a = unpack(*active);
    while (a.oldest != NO_ROUND && !k->rounds[a.oldest].pending) {
        struct coherence_round *const r = &k->rounds[a.oldest];
        const uint32_t younger = r->younger;
        while (r->writes.count) release(s, now, take_first(s, &r->writes));
        r->younger = k->free_round;
        k->free_round = a.oldest;
        a.oldest = younger;
    }
    if (a.oldest == NO_ROUND)
        (void)map_remove(&k->active, line);
    else
        *active = pack(a);
}

/* Makes the next INVALIDATE of the oldest round with one. */
static void make_invalidation(struct slice *s, uint64_t now)
{
    struct coherence *const k = s->remote->coherence;
    const uint32_t round = k->unsent.first;
    struct coherence_round *const r = &k->rounds[round];
    const uint32_t slices = s->wire.organisation->slice_count;
    const uint32_t gpu = (uint32_t)__builtin_ctzll(r->unsent);
    const uint32_t idx = pool_try_take(s->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    r->unsent &= r->unsent - 1;
    if (!r->unsent) {
        k->unsent.first = r->next_unsent;
        k->unsent.count--;
    }
    k->free--;
    *at(s, idx) = (struct request){.line = r->address,
                                   .home = r->home,
                                   .sent_cyc = now,
                                   .ready_cyc = max_u64(now, r->added_cyc + s->spec->invalidate_cyc),
                                   .owner = round,
                                   .sm = r->sm,
                                   .kind = REQUEST_INVALIDATE,
                                   .app = r->app,
                                   .via = (uint16_t)(gpu * slices + s->wire.slice_idx % slices + 1)};
    append(s, &k->out, idx);
}

static void receive_ack(struct slice *s, uint64_t now, uint32_t idx)
{
    struct coherence *const k = s->remote->coherence;
    struct coherence_round *const r = &k->rounds[at(s, idx)->owner];
    k->stats->acks++;
    k->free++;
    at(s, idx)->via = 0; /* SMs rely on it */
    pool_give(s->wire.requests, idx);
    if (!--r->pending) end_rounds(s, now, r->home.line);
}

/* ---- a slice with copies ---- */

/* Makes the INVALIDATE its own acknowledgement. */
static void acknowledge(struct slice *s, uint64_t now, uint32_t idx)
{
    struct request *const r = at(s, idx);
    r->kind = REQUEST_ACK;
    r->via = (uint16_t)(r->home.slice + 1);
    r->ready_cyc = now + s->spec->invalidate_cyc;
    append(s, &s->remote->coherence->out, idx);
}

/* Drops the line from the LLC slice. True: it was there, or on its way. */
static bool drop_copy(struct slice *s, uint64_t now, uint64_t key)
{
    const uint32_t line = tags_find(&s->tags, slice_set_of(s->spec, key), key);
    if (line == TAGS_NONE) return false;
    s->stats.invalidated++;
    if (!*tags_pins(&s->tags, line))
        slice_drop_line(s, now, line);
    else if (!FAULT_FIRES(vi_keeps_fill))
        s->lines[line].discard_fill = true;
    return true;
}

static void invalidate(struct slice *s, uint64_t now, uint32_t idx)
{
    struct remote_lines *const f = s->remote;
    struct coherence *const k = f->coherence;
    const uint64_t key = at(s, idx)->home.line;
    const bool in_slice = drop_copy(s, now, key);
    const bool in_rdc = f->rdc && rdc_clear(s, now, key);
    k->stats->useful += in_slice || in_rdc;
    acknowledge(s, now, idx);
}

void coherence_receive(struct slice *s, uint64_t now, uint32_t idx)
{
    struct remote_lines *const f = s->remote;
    struct coherence *const k = f->coherence;
    if (at(s, idx)->kind == REQUEST_ACK) {
        receive_ack(s, now, idx);
        return;
    }
    k->stats->received++;
    if (f->rdc && (k->waiting.count || !rdc_may_change(s, at(s, idx)->home.line)))
        append(s, &k->waiting, idx);
    else
        invalidate(s, now, idx);
}

/* ---- packets ---- */

uint64_t coherence_send(struct slice *s, uint64_t now, bool *sent)
{
    struct remote_lines *const f = s->remote;
    struct coherence *const k = f->coherence;
    *sent = false;
    while (k->waiting.count && rdc_may_change(s, at(s, k->waiting.first)->home.line))
        invalidate(s, now, take_first(s, &k->waiting));
    while (k->unsent.count && k->free) make_invalidation(s, now);
    if (!k->out.count) return ENGINE_NEVER;
    const uint32_t idx = k->out.first;
    struct request *const r = at(s, idx);
    if (r->ready_cyc > now) return r->ready_cyc;
    if (r->kind == REQUEST_INVALIDATE && FAULT_FIRES(vi_invalidation_lost)) {
        (void)take_first(s, &k->out);
        k->stats->sent++;
        k->stats->received++;
        receive_ack(s, now, idx);
        return now + 1;
    }
    const uint32_t next = r->next;
    const bool ack = r->kind == REQUEST_ACK;
    if (fabric_refuses(&s->wire.fabric->far_reply, now, s->wire.slice_idx) ||
        !fabric_try_far_reply(s->wire.fabric, now, idx, s->wire.slice_idx))
        return ENGINE_NEVER;
    k->out.first = next;
    k->out.count--;
    *(ack ? &k->stats->acks_sent : &k->stats->sent) += 1;
    *sent = true;
    return now + 1;
}
