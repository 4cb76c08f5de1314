/* coherence: see coherence.h. The packets of a coherence row, and the writes that wait for them. */
#include "llc/coherence.h"

#include "llc/rdc.h"

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
                            .demote = c->imst.demote,
                            .free = c->llc.invalidate_queue,
                            .stats = &s->remote->coherence_stats};
    map_init(&k->lines);
    map_init(&k->stale);
    map_init(&k->waits);
    return k;
}

static uint32_t gpu_of(const struct slice *s, const struct request *r)
{
    return r->via ? (r->via - 1u) / s->wire.organisation->slice_count : s->wire.chiplet;
}

/* ---- the home ---- */

void coherence_on_read(struct slice *s, const struct request *r)
{
    struct coherence *const k = s->remote->coherence;
    (void)k->ops->on(k, COHERENCE_REMOTE_READ, r->home.line, gpu_of(s, r));
}

void coherence_free(struct coherence *k)
{
    map_free(&k->lines);
    map_free(&k->stale);
    map_free(&k->waits);
}

/* GPUs to which the writes of a line wait for invalidations. */
static uint64_t in_flight(const struct coherence *k, uint64_t line)
{
    const uint64_t *const gpus = k->stale.count ? map_find(&k->stale, line) : NULL;
    return gpus ? *gpus : 0;
}

static void begin_wait(struct coherence *k, const struct request *r)
{
    *map_put(&k->stale, r->home.line, NULL) |= r->stale_gpus;
    ++*map_put(&k->waits, r->home.line, NULL);
}

static void end_wait(struct coherence *k, uint64_t line)
{
    if (--*map_put(&k->waits, line, NULL)) return;
    (void)map_remove(&k->waits, line);
    (void)map_remove(&k->stale, line);
}

void coherence_on_write(struct slice *s, uint64_t now, struct request *r)
{
    struct coherence *const k = s->remote->coherence;
    const enum coherence_event e = r->via ? COHERENCE_REMOTE_WRITE : COHERENCE_LOCAL_WRITE;
    const uint32_t writer = gpu_of(s, r);
    r->stale_gpus =
        k->ops->on(k, e, r->home.line, writer) | (in_flight(k, r->home.line) & ~((uint64_t)1 << writer));
    r->acks = (uint16_t)__builtin_popcountll(r->stale_gpus);
    r->performed_cyc = now;
    k->stats->writes++;
    if (!r->acks) return;
    k->stats->broadcasts++;
    begin_wait(k, r);
}

void coherence_hold(struct slice *s, uint64_t now, uint32_t idx, uint64_t ready_cyc)
{
    struct coherence *const k = s->remote->coherence;
    at(s, idx)->ready_cyc = ready_cyc;
    append(s, &k->writes, idx);
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
    end_wait(k, r->home.line);
    k->stats->held++;
    k->stats->held_cyc += now - r->performed_cyc;
    if (!r->via) {
        append_filled(s, idx, ready);
        return;
    }
    r->ready_cyc = ready;
    append(s, &s->remote->filled, idx);
}

/* Makes the next INVALIDATE of the oldest write. Its last one takes the write off the list. */
static void make_invalidation(struct slice *s, uint64_t now)
{
    struct coherence *const k = s->remote->coherence;
    const uint32_t write = k->writes.first;
    struct request *const w = at(s, write);
    const uint32_t slices = s->wire.organisation->slice_count;
    const uint32_t gpu = (uint32_t)__builtin_ctzll(w->stale_gpus);
    const uint32_t idx = pool_try_take(s->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    w->stale_gpus &= w->stale_gpus - 1;
    if (!w->stale_gpus) (void)take_first(s, &k->writes);
    k->free--;
    *at(s, idx) = (struct request){.line = w->line,
                                   .home = w->home,
                                   .sent_cyc = now,
                                   .ready_cyc = max_u64(now, w->performed_cyc + s->spec->invalidate_cyc),
                                   .owner = write,
                                   .sm = w->sm,
                                   .kind = REQUEST_INVALIDATE,
                                   .app = w->app,
                                   .via = (uint16_t)(gpu * slices + s->wire.slice_idx % slices + 1)};
    append(s, &k->out, idx);
}

static void receive_ack(struct slice *s, uint64_t now, uint32_t idx)
{
    struct coherence *const k = s->remote->coherence;
    const uint32_t write = at(s, idx)->owner;
    k->stats->acks++;
    k->free++;
    at(s, idx)->via = 0; /* SMs rely on it */
    pool_give(s->wire.requests, idx);
    if (!--at(s, write)->acks) release(s, now, write);
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
    while (k->writes.count && k->free) make_invalidation(s, now);
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
