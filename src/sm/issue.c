/* issue: a cycle of an SM: warps whose registers have come, the schedulers' choice, what it is counted as and
 * when there is something to do next. */
#include "net/ahead.h"
#include "sm/memory_half.h"
#include "sm/pump.h"
#include "sm/scoreboard.h"
#include "sm/stalls.h"

/* Of these warps some sleep for longer than the wheel reaches, sleep by themselves, or have to stop: those
 * that can issue. */
static __attribute__((noinline)) uint64_t wake_rarer(struct sm *sm, uint64_t due, uint64_t now)
{
    for (uint64_t far = due & sm->far; far; far &= far - 1) { /* once around the wheel was not enough */
        const uint32_t warp = (uint32_t)__builtin_ctzll(far);
        sm->far &= ~bit_of(warp);
        if (sm->warps[warp].ready_cyc <= now) continue;
        due &= ~bit_of(warp);
        sleep_until(sm, warp, sm->warps[warp].ready_cyc, now);
    }
    sm->asleep &= ~due;
    sm->held |= due & sm->stopping;
    sm_all_changed(sm);
    return due & ~sm->stopping;
}

/* Warps whose cycle has come; returns them. */
static inline uint64_t wake_warps(struct sm *sm, uint64_t now)
{
    uint64_t due = sm->wheel[now % SM_WHEEL];
    sm->wheel[now % SM_WHEEL] = 0;
    sm->wheel_used &= ~((uint64_t)1 << now % SM_WHEEL);
    sm->sleeping &= ~due;
    if (__builtin_expect((due & (sm->far | sm->asleep | sm->stopping)) != 0, 0))
        due = wake_rarer(sm, due, now);
    sm->any_ready |= due;
    return due;
}

static inline uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* The warp that a scheduler issues from, and the port that it needs. */
struct choice {
    struct sm_warp *w; /* NULL: none can; unit: what the first one waits for, if it is one */
    uint32_t warp, unit;
};

/* A branch of a run, which no lane takes. */
static __attribute__((noinline)) void pass_branch(struct sm *sm, struct sm_warp *w, uint32_t warp,
                                                  uint64_t now)
{
    const uint64_t bit = bit_of(warp), earliest_cyc = now + sm->spec->branch_latency_cyc;
    const struct warp_op_info *const next = --w->run ? w->next + 1 : w->after;
    sm->any_ready &= ~bit;
    if (!next) {
        sm_next(sm, warp, earliest_cyc, now);
        return;
    }
    set_next(sm, w, bit, next);
    if (!w->run) set_outward(sm, warp, next);
    reconsider(sm, w, warp, earliest_cyc, now);
}

/* An operation of a run: it has been executed. */
static inline __attribute__((always_inline)) void issue_of_run(struct sm *sm, struct sm_warp *w,
                                                               uint32_t warp, uint32_t unit, uint64_t now)
{
    const uint64_t bit = bit_of(warp);
    const struct warp_op_info *info = w->next;
    if (__builtin_expect(info->dst_count != 1, 0) && info->class == WARP_CLASS_CONTROL) {
        pass_branch(sm, w, warp, now);
        return;
    }
    const uint64_t done = unit == UNIT_SHARED ? use_banks(sm, *(sm->sources[warp].cycles - w->run), now)
                                              : now + w->class.latency_cyc;
    set_registers(w, info, w->reg_base, done);
    sm->stats.thread_instructions += w->run_lanes;
    if (__builtin_expect(--w->run != 0, 1)) {
        set_next_in_run(sm, w, bit, info + 1);
        wait_in_run(sm, w, bit, now);
    } else if (w->after) {
        sm->any_ready &= ~bit;
        set_next(sm, w, bit, w->after);
        set_outward(sm, warp, w->after);
        reconsider(sm, w, warp, now + 1, now);
    } else {
        sm->any_ready &= ~bit;
        sm_next(sm, warp, now + 1, now);
    }
}

/* Warps whose next instruction goes into the memory pipe. */
static inline uint64_t pipe_warps(const struct sm *sm)
{
    return sm->of_unit[UNIT_MEMORY] | sm->of_unit[UNIT_TEXTURE];
}

/* Warps that cannot issue, ready or not, because the pipe is full. */
static inline uint64_t kept_out(const struct sm *sm) { return lsu_has_room(sm) ? 0 : pipe_warps(sm); }

/* Returns false if it was one of a run: those change nothing that other schedulers look at. */
static inline __attribute__((always_inline)) bool issue_warp(struct sm *sm, struct scheduler *s,
                                                             struct choice c, uint64_t now)
{
    s->last = (uint8_t)c.warp;
    sm->stats.warp_instructions++;
    s->port_free[c.unit] = short_cyc(now) + c.w->class.interval_cyc;
    if (c.w->run) {
        issue_of_run(sm, c.w, c.warp, c.unit, now);
        return false;
    }
    sm->any_ready &= ~bit_of(c.warp);
    sm_step(sm, c.warp, c.w->class.latency_cyc, now);
    return true;
}

/* ---- schedulers ---- */

static uint32_t oldest(const struct sm *sm, uint64_t candidates)
{
    const uint64_t *warps = sm->by_age; /* some block has a candidate */
    while (!(*warps & candidates)) warps++;
    return (uint32_t)__builtin_ctzll(*warps & candidates);
}

static inline uint32_t after_last(uint32_t last, uint64_t candidates)
{
    const uint64_t after = candidates & ~(uint64_t)1 << last;
    return (uint32_t)__builtin_ctzll(after ? after : candidates);
}

/* The active set: a warp that waits for memory leaves, a ready one comes in. */
static uint64_t active_of(struct sm *sm, const struct scheduler *s, uint64_t candidates)
{
    uint64_t *const kept = &sm->active[s - sm->schedulers], active = *kept;
    active &= (sm->any_ready | sm->sleeping) & ~sm->asleep; /* neither waits nor has ended */
    for (uint64_t more = candidates & ~active; more; more &= more - 1) {
        if ((uint32_t)__builtin_popcountll(active) >= sm->spec->active_warps) break;
        active |= more & (~more + 1);
    }
    *kept = active;
    return candidates & active;
}

static inline uint32_t pick(struct sm *sm, const struct scheduler *s, uint64_t candidates,
                            enum warp_scheduler policy)
{
    const uint32_t last = s->last;
    switch (policy) {
    case warp_scheduler_gto: return candidates & bit_of(last) ? last : oldest(sm, candidates);
    case warp_scheduler_lrr: return after_last(last, candidates);
    case warp_scheduler_two_level: {
        const uint64_t active = active_of(sm, s, candidates);
        return active ? after_last(last, active) : UINT32_MAX;
    }
    case warp_scheduler_count: break;
    }
    return UINT32_MAX;
}

/* Of the scheduler's ready warps, none of which is kept out, those whose port is free. */
static inline uint64_t candidates_of(const struct sm *sm, const struct scheduler *s, uint64_t ready,
                                     uint64_t now)
{
    const uint64_t pipe = ready & pipe_warps(sm);
    uint64_t candidates = 0;
    if (ready != pipe)
        for (uint32_t u = 0; u < UNIT_SHARED; u++)
            if (short_ahead(s->port_free[u], now) <= 0) candidates |= sm->of_unit[u];
    if (sm->shared_free_cyc <= now && short_ahead(s->port_free[UNIT_SHARED], now) <= 0)
        candidates |= sm->of_unit[UNIT_SHARED];
    if (pipe) {
        if (short_ahead(s->port_free[UNIT_MEMORY], now) <= 0) candidates |= sm->of_unit[UNIT_MEMORY];
        if (short_ahead(s->port_free[UNIT_TEXTURE], now) <= 0) candidates |= sm->of_unit[UNIT_TEXTURE];
    }
    return candidates & ready;
}

static inline struct choice choice_of(struct sm *sm, uint32_t warp)
{
    struct sm_warp *const w = sm_warp_at(sm, warp);
    return (struct choice){w, warp, w->class.unit};
}

/* A warp that would be taken if every port were free is taken if its own is: only else are all ports looked
 * at. */
static inline struct choice choose(struct sm *sm, const struct scheduler *s, uint64_t ready, uint64_t now,
                                   enum warp_scheduler policy)
{
    struct choice none = {NULL, 0, UNIT_COUNT};
    if (policy != warp_scheduler_two_level) {
        const struct choice first = choice_of(sm, pick(sm, s, ready, policy));
        if (short_ahead(s->port_free[first.unit], now) <= 0 &&
            (first.unit != UNIT_SHARED || sm->shared_free_cyc <= now))
            return first;
        none.unit = first.unit;
        ready &= ~sm->of_unit[first.unit]; /* most wait for the same port */
        if (!ready) return none;
    }
    const uint64_t candidates = candidates_of(sm, s, ready, now);
    if (!candidates) return none;
    const uint32_t warp = pick(sm, s, candidates, policy);
    return warp == UINT32_MAX ? none : choice_of(sm, warp);
}

/* The scheduler has ready warps, one of them for this port (UNIT_COUNT: for any), but issues none. */
static inline void stall(struct sm *sm, struct scheduler *s, uint32_t unit, uint64_t now)
{
    uint64_t *const counter =
        unit < UNIT_SHARED ? &sm->stats.stall_structural : stalls_of_ready(sm, sm->any_ready & s->warps);
    sm->unknown &= ~(uint32_t)s->bit;
    if (s->counter == counter) return;
    stalls_until(s, now, now);
    s->counter = counter;
}

/* These warps have become ready in vain: what do their schedulers wait for? */
static __attribute__((noinline)) void stall_all(struct sm *sm, uint64_t warps, uint32_t issued, uint64_t now)
{
    for (; warps; warps &= warps - 1) {
        struct scheduler *const s = &sm->schedulers[sm->warps[__builtin_ctzll(warps)].scheduler];
        if (!(issued & s->bit)) stall(sm, s, UNIT_COUNT, now);
    }
}

/* due: warps that have just become ready; *out: kept_out(). Returns the schedulers that issued, a bit each.
 */
static inline __attribute__((always_inline)) uint32_t issue_all(struct sm *sm, uint64_t due, uint64_t *out,
                                                                uint64_t now, enum warp_scheduler policy)
{
    uint64_t ready = sm->any_ready & ~*out;
    uint32_t issued = 0;
    for (struct scheduler *s = sm->schedulers; ready; s++) {
        const uint64_t own = ready & s->warps;
        if (!own) continue;
        ready ^= own;
        const struct choice c = choose(sm, s, own, now, policy);
        if (!c.w) {
            stall(sm, s, c.unit, now);
            continue;
        }
        stalls_until(s, now, now + 1);
        issued |= s->bit;
        if (issue_warp(sm, s, c, now)) {
            *out = kept_out(sm);
            ready &= ~*out;
        }
    }
    if (due & *out) stall_all(sm, due & *out, issued, now);
    return issued;
}

/* ---- what comes next ---- */

/* The next cycle at which a ready warp finds its port free. */
static __attribute__((noinline)) uint64_t port_free(const struct sm *sm, uint64_t now)
{
    uint64_t next = ENGINE_NEVER;
    for (uint32_t u = 0; u < UNIT_COUNT; u++) {
        const uint64_t ready = sm->any_ready & sm->of_unit[u];
        if (!ready) continue;
        if (u >= UNIT_MEMORY && !lsu_has_room(sm)) continue; /* the memory pipe is visited while it moves */
        for (uint32_t k = 0; k < sm->spec->schedulers; k++) {
            if (!(ready & sm->schedulers[k].warps)) continue;
            const int32_t ahead = short_ahead(sm->schedulers[k].port_free[u], now);
            uint64_t at = ahead > 0 ? now + (uint32_t)ahead : now;
            if (u == UNIT_SHARED && sm->shared_free_cyc > at) at = sm->shared_free_cyc;
            if (at <= now + 1) return now + 1;
            next = earlier(next, at);
        }
    }
    return next;
}

/* The next cycle at which a warp can issue that sleeps now. */
static inline uint64_t next_to_wake(const struct sm *sm, uint64_t now)
{
    if (!sm->wheel_used) return ENGINE_NEVER;
    const uint32_t from = (uint32_t)(now + 1) % SM_WHEEL;
    const uint64_t turned = sm->wheel_used >> from | sm->wheel_used << (-from % SM_WHEEL);
    return now + 1 + (uint64_t)__builtin_ctzll(turned);
}

/* The next cycle in which a warp can issue, as far as the SM itself knows, or something comes from outside or
 * goes there. */
static inline __attribute__((always_inline)) uint64_t next_visit(const struct sm *sm, uint64_t issue_cyc,
                                                                 uint64_t now)
{
    if ((sm->queue_count | sm->replay_count) && !lsu_waits(sm)) return now + 1;
    if (sm->misses_count && !sm->miss_refused) return now + 1;
    if (sm->move.state > MOVE_STOPPING && sm->move.sent < sm->move.lines) return now + 1;
    if (sm->outstanding && fabric_at(&sm->wire.fabric->reply, now, sm->wire.sm_idx) != REQUEST_NONE)
        return now + 1;
    uint64_t next = issue_cyc;
    if (sm->windows) /* else it is woken for replies to come */
        next = earlier(next, sm->reply->visible_cyc);
    if (sm->wants_blocks) next = earlier(next, now < sm->start_cyc ? sm->start_cyc : now + 1);
    if (sm->parked_count) next = earlier(next, mmu_arrival_cyc(sm->wire.mmu, sm->wire.sm_idx));
    return next > now ? next : now + 1;
}

/* The same in windows, where most of it is seldom asked for. */
static inline uint64_t next_in_window(const struct sm *sm, uint64_t issue_cyc, uint64_t now)
{
    if (sm->queue_count && !lsu_waits(sm)) return now + 1;
    if (__builtin_expect((sm->misses_count | sm->parked_count | sm->replay_count) != 0, 0) ||
        sm->wants_blocks || sm->move.state != MOVE_NONE)
        return next_visit(sm, issue_cyc, now);
    const uint64_t next = earlier(issue_cyc, sm->reply->visible_cyc);
    return next > now ? next : now + 1;
}

/* ---- cycles ---- */

/* Returns the next one in which a warp can issue. */
static inline __attribute__((always_inline)) uint64_t a_cycle(struct sm *sm, uint64_t now,
                                                              enum warp_scheduler policy)
{
    const uint64_t due = sm->wheel_used >> now % SM_WHEEL & 1 ? wake_warps(sm, now) : 0;
    if (__builtin_expect((sm->any_ready & sm->releases) != 0, 0))
        sm_hold_fences(sm, sm->any_ready & sm->releases, now);
    uint64_t out = kept_out(sm);
    const uint32_t issued = issue_all(sm, due, &out, now, policy);
    uint64_t next = next_to_wake(sm, now);
    if (sm->any_ready & ~out) next = issued ? now + 1 : earlier(next, port_free(sm, now));
    stalls_count(sm, issued, now, next);
    return next;
}

/* While nothing comes in and nothing goes out, the cycles of an SM are its own business: they are worked off
 * in one visit, one after the other as always, while the SM is in the host's cache. */

/* The first cycle that must be a visit of its own. */
static uint64_t alone_until(const struct sm *sm, uint64_t now)
{
    if (sm->queue_count | sm->misses_count | sm->parked_count | sm->replay_count) return now;
    if (sm->wants_blocks || sm->move.state != MOVE_NONE || sm->wire.disturbed) return now;
    if (sm->wait_order) return now;      /* another SM ends the wait */
    if (sm->asked_cyc > now) return now; /* a visit is due then, though it has been served in this one */
    /* When one of several kernels ends, the others are looked at, and new ones may come. */
    if (sm->place_count > 1 || (sm->wire.kernels && *sm->wire.kernels > 1)) return now;
    const uint64_t unwatched = engine_unwatched_until(sm->wire.engine, sm->wire.domain);
    if (!sm->outstanding) return unwatched;
    return earlier(unwatched, fabric_no_reply_until(sm->wire.fabric, now, sm->wire.sm_idx));
}

/* Can somebody outside notice what may issue in this cycle? */
static inline bool is_inside(const struct sm *sm, uint64_t cyc)
{
    return !((sm->any_ready | sm->wheel[cyc % SM_WHEEL]) & sm->outward);
}

static inline __attribute__((always_inline)) uint64_t cycles(struct sm *sm, uint64_t now,
                                                             enum warp_scheduler policy)
{
    if (sm->wants_blocks) (void)sm_try_start(sm, now);
    uint64_t next = next_visit(sm, a_cycle(sm, now, policy), now);
    if (next == ENGINE_NEVER || !is_inside(sm, next)) return next;
    const uint64_t until = alone_until(sm, now);
    while (next < until && is_inside(sm, next)) {
        const uint64_t cyc = next;
        sm->ahead_cyc = cyc;
        next = a_cycle(sm, cyc, policy);
    }
    return next;
}

/* One copy of the loops per policy. */
static __attribute__((noinline)) uint64_t cycles_gto(struct sm *sm, uint64_t now)
{
    return cycles(sm, now, warp_scheduler_gto);
}
static __attribute__((noinline)) uint64_t cycles_lrr(struct sm *sm, uint64_t now)
{
    return cycles(sm, now, warp_scheduler_lrr);
}
static __attribute__((noinline)) uint64_t cycles_two_level(struct sm *sm, uint64_t now)
{
    return cycles(sm, now, warp_scheduler_two_level);
}

static inline uint64_t cycles_by_policy(struct sm *sm, uint64_t now)
{
    switch (sm->spec->policy) {
    case warp_scheduler_gto: return cycles_gto(sm, now);
    case warp_scheduler_lrr: return cycles_lrr(sm, now);
    case warp_scheduler_two_level: return cycles_two_level(sm, now);
    case warp_scheduler_count: break;
    }
    return ENGINE_NEVER;
}

/* Do all warps wait for what they waited for before this visit? Most visits of an SM that is bound by memory
 * are for a line of a load that waits for more lines, or for the next line of an access. */
static inline bool is_quiet(const struct sm *sm, uint64_t now)
{
    if (sm->changed | sm->unknown | (sm->wheel_used >> now % SM_WHEEL & 1)) return false;
    return !sm->wants_blocks && !(sm->any_ready & ~kept_out(sm));
}

/* ... then it goes past the schedulers; 0: there is work for them after all. */
static __attribute__((noinline)) uint64_t quiet_visit(struct sm *sm, uint64_t now)
{
    const uint64_t next = next_visit(sm, next_to_wake(sm, now), now);
    return next == ENGINE_NEVER || !is_inside(sm, next) || next >= alone_until(sm, now) ? next : 0;
}

/* ---- in windows ----
 *
 * What comes back is known for the cycles to come, and what goes out is not looked at before: as long as
 * nothing issues that others can notice, both halves of a cycle are the SM's own business. */

static uint64_t window_until(const struct sm *sm, uint64_t now)
{
    /* blocks that end, and new ones, are noticed */
    if (!sm->block_count || sm->ending || sm->wants_blocks || sm->asked_cyc > now || sm->wire.disturbed)
        return now;
    if (sm->place_count > 1 || *sm->wire.kernels > 1) return now;
    const uint64_t unwatched = engine_unwatched_until(sm->wire.engine, sm->wire.domain);
    return earlier(unwatched, ahead_known_until(sm->windows));
}

/* The second half of a visit's cycle. */
static inline __attribute__((always_inline)) uint64_t first_cycle(struct sm *sm, uint64_t now,
                                                                  enum warp_scheduler policy)
{
    if (sm->wants_blocks) (void)sm_try_start(sm, now);
    return a_cycle(sm, now, policy);
}

/* The end of a window that begins with this cycle itself, because there is something to do for the pump at
 * most; `now`: the cycle comes before it, as a whole. */
static inline uint64_t first_until(struct sm *sm, uint64_t now)
{
    if (sm->memory_cyc == now || !is_quiet(sm, now)) return now;
    const uint64_t until = window_until(sm, now);
    if (until > now) sm->ahead_cyc = now;
    return until;
}

/* Warps that may issue in this cycle, if there is room for them, what others can notice. */
static inline uint64_t outward_in(const struct sm *sm, uint64_t cyc)
{
    return (sm->any_ready | sm->wheel[cyc % SM_WHEEL]) & sm->outward;
}
/* Is there room for one? */
static inline bool goes_out(const struct sm *sm, uint64_t out) { return out && out & ~kept_out(sm); }

/* The first cycle in which there is something to do for the first half, at most `until`. Nothing that issues
 * before can change that, as long as it does not go out. */
static inline uint64_t memory_rests_until(const struct sm *sm, uint64_t until)
{
    if ((sm->queue_count && !lsu_waits(sm)) ||
        (sm->misses_count | sm->parked_count | sm->replay_count) != 0 || sm->move.state != MOVE_NONE)
        return 0;
    return earlier(until, sm->reply->visible_cyc);
}

/* The cycles of a window, as far as they are the SM's own business; returns the next one.
 *
 * Before each round everything up to cycle `cyc` is done, but for its second half when `issues` says so, and
 * warps may issue again in issue_cyc. A round is: cycles in which the first half rests; then what the pump
 * can do alone; then the first half of a cycle that has a second one. first: the cycle of the visit itself is
 * to be done as a whole before all that. */
static inline __attribute__((always_inline)) uint64_t window(struct sm *sm, uint64_t now,
                                                             enum warp_scheduler policy)
{
    uint64_t issue_cyc = next_to_wake(sm, now), cyc = now - 1, until = first_until(sm, now);
    for (bool issues = false, first = until <= now;;) {
        if (first) {
            if (sm->memory_cyc != now) sm_memory_half(sm, now);
            issue_cyc = first_cycle(sm, now, policy);
            until = window_until(sm, now);
            cyc = now;
        }
        const uint64_t rests_until = memory_rests_until(sm, until);
        do {
            if (issues) issue_cyc = a_cycle(sm, cyc, policy);
            issues = issue_cyc < rests_until && !goes_out(sm, outward_in(sm, issue_cyc));
            if (issues) sm->ahead_cyc = cyc = issue_cyc;
        } while (issues);
        cyc = rests_until > cyc ? earlier(issue_cyc, sm->reply->visible_cyc)
                                : next_in_window(sm, issue_cyc, cyc);
        if (cyc >= until || sm->ending) return cyc;
        /* while they wait for the pipe or for memory, warps issue nothing */
        if (cyc < issue_cyc && sm->direct && !sm->misses_count) {
            cyc = earlier(sm_pump(sm, cyc, earlier(until, issue_cyc), sm->any_ready), issue_cyc);
            if (cyc >= until) return cyc;
        }
        first = cyc == now;
        if (first) continue;
        const uint64_t out = outward_in(sm, cyc);
        if (goes_out(sm, out)) return cyc;
        if (sm->memory_cyc != cyc) {
            sm_memory_half(sm, cyc);
            /* one that waited for a place in the memory pipe may have got it in this very cycle */
            if (out && lsu_has_room(sm)) {
                sm->memory_cyc = cyc;
                return cyc;
            }
        }
        sm->ahead_cyc = cyc;
        issues = cyc >= issue_cyc || sm->changed || sm->any_ready & ~kept_out(sm);
    }
}

static __attribute__((noinline)) uint64_t window_gto(struct sm *sm, uint64_t now)
{
    return window(sm, now, warp_scheduler_gto);
}
static __attribute__((noinline)) uint64_t window_lrr(struct sm *sm, uint64_t now)
{
    return window(sm, now, warp_scheduler_lrr);
}
static __attribute__((noinline)) uint64_t window_two_level(struct sm *sm, uint64_t now)
{
    return window(sm, now, warp_scheduler_two_level);
}

static inline uint64_t window_by_policy(struct sm *sm, uint64_t now)
{
    switch (sm->spec->policy) {
    case warp_scheduler_lrr: return window_lrr(sm, now);
    case warp_scheduler_gto: return window_gto(sm, now);
    case warp_scheduler_two_level: return window_two_level(sm, now);
    case warp_scheduler_count: break;
    }
    return ENGINE_NEVER;
}

static __attribute__((noinline)) uint64_t without_windows(struct sm *sm, uint64_t now)
{
    if (is_quiet(sm, now)) {
        const uint64_t next = quiet_visit(sm, now);
        if (next) return next;
    }
    return cycles_by_policy(sm, now);
}

uint64_t sm_issue(struct sm *sm, uint64_t now)
{
    return sm->windows ? window_by_policy(sm, now) : without_windows(sm, now);
}
