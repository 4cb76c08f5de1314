/* pump: see pump.h.
 *
 *   cycle by cycle     as elsewhere: whatever comes back, whatever is in front (sm_pump_cycle())
 *   in stretches       lines that are known to be absent miss one after the other, and their replies come in
 *                      (stretch()): nearly all that happens in a program that waits for memory
 *
 * A line that is absent stays so until it misses: lines come for MSHRs only, and no other access gets one
 * meanwhile. So each is looked for once, as soon as the one before it is on its way. */
#include "sm/pump.h"

#include "check/fault.h"
#include "sm/stretch.h"

enum { LINES_AHEAD = 3 };

/* ---- cycle by cycle ---- */

/* Many cycles bring none. */
static __attribute__((noinline)) void take_one(struct sm *sm, uint64_t now)
{
    struct stretch s = begin(sm);
    struct spare spare;
    sm->reply_came = true;
    if (!take(&s, &spare, now)) return;
    count_answered(&s, now);
    settle_answered(&s);
    sm->l1.free[sm->l1.free_count++] = (uint16_t)spare.mshr;
}

PART void miss_one(struct sm *sm, const struct line_access *a, uint64_t now)
{
    struct stretch s = begin(sm);
    s.at = a;
    count_sent(&s, now);
    miss(&s, spare_of(&s, sm->l1.free[--sm->l1.free_count]), now);
    const struct fabric_side *const side = &sm->wire.fabric->request;
    if (side->ahead->asleep) side->ahead->wake(side->ahead, now);
    settle_sent(&s);
}

PART uint32_t find_line(const struct l1 *l1, const struct line_access *a)
{
    return tags_find_in_step(&l1->tags, a->where.set, a->line, a->where.hint);
}

/* Some other line of its slot has one: has it, too? */
static __attribute__((noinline)) bool is_among(const struct l1 *l1, const struct line_access *a)
{
    return search(l1, &l1->slots[a->where.slot], a->line);
}
PART bool has_mshr(const struct l1 *l1, const struct line_access *a)
{
    return __builtin_expect(l1->slots[a->where.slot].mshr, 0) && is_among(l1, a);
}

/* A line of a load. */
static inline bool read_line(struct sm *sm, struct memory_instr *m, const struct line_access *a, uint64_t now)
{
    struct l1 *const l1 = &sm->l1;
    if (!l1->quick) return l1_read(sm, a, now);
    if (!m->absent) {
        const uint32_t place = find_line(l1, a);
        if (place != TAGS_NONE && !(a->sectors & ~l1->valid[place])) {
            hit(sm, a, place, now);
            return true;
        }
        m->absent = place == TAGS_NONE && !has_mshr(l1, a);
    }
    if (!m->absent || !l1->free_count || sm->outstanding == sm->spec->request_limit)
        return l1_read(sm, a, now);
    miss_one(sm, a, now);
    return true;
}

/* The line in front. */
static inline void access_line(struct sm *sm, uint64_t now)
{
    struct memory_instr *const m = sm->front;
    if (m->reads) {
        const struct line_access *const a = &m->lines[m->at];
        if (!read_line(sm, m, a, now)) return;
        if (m->at + LINES_AHEAD < m->count)
            l1_coming(&sm->l1, a[LINES_AHEAD].where.slot, a[LINES_AHEAD].where.set);
    } else if (!m->count || m->lines[m->at].kind == REQUEST_READ) {
        lsu_step(sm, now);
        return;
    } else if (!lsu_write(sm, &m->lines[m->at], now)) {
        return;
    }
    (void)lsu_next_line(sm, m);
}

/* As lsu_step(), of which only the first line is left. */
static inline void step(struct sm *sm, uint64_t now)
{
    if (sm->lsu_blocked) {
        *sm->lsu_blocked += now - sm->lsu_blocked_cyc;
        sm->lsu_blocked_cyc = now;
        if (lsu_still_blocked(sm)) return;
        sm->lsu_blocked = NULL;
    }
    sm->lsu_blocked_cyc = now;
    sm->reply_came = false;
    access_line(sm, now);
}

void sm_pump_cycle(struct sm *sm, uint64_t now)
{
    if (sm->reply->visible_cyc <= now) take_one(sm, now);
    if (sm->queue_count) step(sm, now);
}

/* ---- in stretches ---- */

/* Neither the line nor an MSHR for it is there. */
PART bool is_absent(const struct l1 *l1, const struct line_access *a)
{
    return find_line(l1, a) == TAGS_NONE && !has_mshr(l1, a);
}

/* What is in front from now on. */
PART void begin_front(struct stretch *s)
{
    const struct sm *const sm = s->sm;
    s->m = NULL;
    if (!sm->queue_count) return;
    struct memory_instr *const m = sm->front;
    s->over = true;
    if (!m->reads) return;
    s->at = &m->lines[m->at];
    s->end = &m->lines[m->count];
    if (!m->absent) m->absent = is_absent(s->l1, s->at);
    if (!m->absent) return;
    s->m = m;
    s->over = false;
}

/* The line in front has missed. */
PART void next_line(struct stretch *s, uint64_t now)
{
    const struct line_access *const a = ++s->at;
    if (__builtin_expect(a + LINES_AHEAD - 1 < s->end, 1)) {
        l1_coming(s->l1, a[LINES_AHEAD - 1].where.slot, a[LINES_AHEAD - 1].where.set);
    } else if (a >= s->end) {
        s->m->at = (uint16_t)(s->m->count - 1);
        (void)lsu_next_line(s->sm, s->m);
        begin_front(s);
        s->noted_cyc = now;
        return;
    }
    if (__builtin_expect(is_absent(s->l1, a), 1)) return;
    s->m->at = (uint16_t)(a - s->m->lines);
    s->m->absent = false;
    s->m = NULL;
    s->over = true;
    s->noted_cyc = now;
}

/* One cycle, with a line in front. */
PART void cycle(struct stretch *s, uint64_t now)
{
    struct spare spare;
    if (s->replies.front->visible_cyc <= now && take(s, &spare, now)) {
        s->turned++;
    } else {
        s->due_cyc = now;
        if (!s->free_count) return;
        spare = spare_of(s, s->l1->free[--s->free_count]);
        count_sent(s, now);
    }
    s->due_cyc = now + 1;
    miss(s, spare, now);
    next_line(s, now);
}

/* The same of a reply, with none. */
PART void take_reply(struct stretch *s, uint64_t now)
{
    struct spare spare;
    if (!take(s, &spare, now)) return;
    count_answered(s, now);
    s->l1->free[s->free_count++] = (uint16_t)spare.mshr;
}

/* Somebody else is to look at this cycle, the first half of which is done. */
static inline bool is_noticed(const struct sm *sm, bool room_matters)
{
    return sm->changed || (room_matters && lsu_has_room(sm));
}

/* What the loop kept for itself; cycles before until_cyc are over. */
PART void leave(struct stretch *s, uint64_t until_cyc)
{
    struct sm *const sm = s->sm;
    settle(s);
    sm->lsu_blocked = NULL;
    sm->reply_came = false;
    if (!s->m) return;
    s->m->at = (uint16_t)(s->at - s->m->lines);
    sm->lsu_blocked_cyc = s->due_cyc;
    if (s->due_cyc < until_cyc && !FAULT_FIRES(fast_stall_lost)) sm->lsu_blocked = &s->l1->stats.wait_mshr;
}

/* More than a line came or went: does the stretch end with this cycle? */
PART bool is_last(const struct stretch *s, uint64_t now, bool room_matters)
{
    if (is_noticed(s->sm, room_matters)) s->sm->memory_cyc = now;
    return s->over || s->sm->memory_cyc == now;
}

/* Then this is the next one. */
PART uint64_t end_with(struct stretch *s, uint64_t now)
{
    leave(s, now + 1);
    const bool noticed = s->sm->memory_cyc == now;
    s->sm->ahead_cyc = noticed ? now - 1 : now;
    return noticed ? now : now + 1;
}

/* While lines are in front. Returns the next cycle; *ended: the stretch is over. */
PART uint64_t lines(struct stretch *s, uint64_t cyc, uint64_t until, bool room_matters, bool *ended)
{
    do {
        cycle(s, cyc);
        if (__builtin_expect(s->noted_cyc == cyc, 0)) {
            *ended = is_last(s, cyc, room_matters);
            if (*ended) return end_with(s, cyc);
            if (!s->m) return cyc + 1;
        }
        cyc++;
        /* nothing is left to be done before the next reply? The line in front waits, from this cycle on */
        const uint64_t reply_cyc = s->replies.front->visible_cyc;
        if (!s->free_count && reply_cyc > cyc) cyc = reply_cyc;
    } while (cyc < until);
    leave(s, until);
    *ended = true;
    const bool waits = s->due_cyc < until;
    s->sm->ahead_cyc = waits ? s->due_cyc : s->due_cyc - 1;
    return waits ? cyc : s->due_cyc;
}

/* The line in front goes out in this cycle, and others behind it: who runs the memory side is told of the
 * first. False: it waits for an MSHR, and nobody knows when it goes. */
PART bool tell_of_first(const struct stretch *s, uint64_t cyc)
{
    const struct fabric_side *const side = &s->sm->wire.fabric->request;
    if (__builtin_expect(!side->ahead->asleep, 1)) return true;
    if (s->free_count) side->ahead->wake(side->ahead, cyc);
    return s->free_count;
}

/* As sm_pump(), but ends where the line in front is nothing for a stretch. */
PART uint64_t stretch(struct sm *sm, uint64_t cyc, uint64_t until, bool room_matters)
{
    struct stretch s = begin(sm);
    begin_front(&s);
    if (s.over) return cyc;
    uint64_t ahead_cyc = cyc;
    if (s.m) {
        bool ended = false;
        if (!tell_of_first(&s, cyc)) return cyc;
        s.due_cyc = s.counted_cyc = sm->lsu_blocked ? sm->lsu_blocked_cyc : cyc;
        cyc = lines(&s, cyc, until, room_matters, &ended);
        if (ended) return cyc;
        ahead_cyc = cyc - 1;
    }
    for (;; cyc++) {
        const uint64_t reply_cyc = s.replies.front->visible_cyc;
        if (reply_cyc > cyc) cyc = reply_cyc;
        if (cyc >= until) break;
        ahead_cyc = cyc;
        take_reply(&s, cyc);
        if (__builtin_expect(s.noted_cyc == cyc, 0) && is_last(&s, cyc, room_matters))
            return end_with(&s, cyc);
    }
    leave(&s, until);
    sm->ahead_cyc = ahead_cyc;
    return cyc;
}

/* May there be a stretch? Not if more requests are on their way, of others than MSHRs, than stores may make:
 * else it is always MSHRs that there are too few of. */
static inline bool may_stretch(const struct sm *sm)
{
    const uint32_t others = sm->outstanding - (sm->l1.mshr_count - sm->l1.free_count);
    return sm->l1.quick && others <= sm->spec->stores &&
           (!sm->lsu_blocked || sm->lsu_blocked == &sm->l1.stats.wait_mshr);
}

/* Where there is no stretch, until there may be one again. */
static __attribute__((noinline)) uint64_t one_by_one(struct sm *sm, uint64_t cyc, uint64_t until,
                                                     bool room_matters)
{
    do {
        sm_pump_cycle(sm, cyc);
        if (__builtin_expect(is_noticed(sm, room_matters), 0)) {
            sm->memory_cyc = cyc;
            return cyc;
        }
        sm->ahead_cyc = cyc;
        const uint64_t reply_cyc = sm->reply->visible_cyc;
        cyc = reply_cyc > cyc && (!sm->queue_count || sm->lsu_blocked) ? reply_cyc : cyc + 1;
    } while (cyc < until && !may_stretch(sm));
    return cyc;
}

uint64_t sm_pump(struct sm *sm, uint64_t cyc, uint64_t until, bool room_matters)
{
    while (cyc < until) {
        if (may_stretch(sm)) cyc = stretch(sm, cyc, until, room_matters);
        if (cyc >= until || sm->memory_cyc == cyc) break;
        cyc = one_by_one(sm, cyc, until, room_matters);
        if (sm->memory_cyc == cyc) break;
    }
    return cyc;
}
