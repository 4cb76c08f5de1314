/* wakes: registration, wake-ups that are far, replaced or of another domain, moving the clock. */
#include "engine/wakes.h"

#include <string.h>

#include "base/diag.h"
#include "engine/engine_private.h"

enum { FIRST_WORDS = 4 };

/* ---- registration ---- */

static void grow_clock(struct engine *e, struct engine_clock *k, uint32_t words_before)
{
    uint64_t **rows = ARENA_ARRAY(&e->arena, uint64_t *, e->word_capacity);
    uint64_t *far = ARENA_ARRAY(&e->arena, uint64_t, e->word_capacity);
    if (words_before) {
        memcpy(rows, k->rows, words_before * sizeof(uint64_t *));
        memcpy(far, k->far, words_before * sizeof *far);
    }
    k->rows = rows;
    k->far = far;
}

void wakes_init_clock(struct engine *e, struct engine_clock *k, uint64_t ticks_per_cycle)
{
    k->open_cyc = ENGINE_CLOSED;
    k->ticks_per_cycle = ticks_per_cycle;
    k->cycles_per_tick = UINT64_MAX / ticks_per_cycle;
    k->last_cyc = UINT64_MAX / ticks_per_cycle - 1;
    if (k->last_cyc >> ENGINE_CYCLE_LOG2) k->last_cyc = (1ull << ENGINE_CYCLE_LOG2) - 1;
    k->next_cyc = k->far_cyc = ENGINE_NEVER;
    if (e->word_capacity) grow_clock(e, k, 0);
}

/* One bit of the summary stands for twice as many rows from now on. */
static void double_groups(struct engine *e)
{
    e->group_log2++;
    for (uint32_t d = 0; d < e->domain_count; d++) {
        uint64_t *const summary = e->front.clocks[d]->summary;
        for (uint32_t slot = 0; slot < ENGINE_SLOTS; slot++) {
            uint64_t folded = 0;
            for (uint32_t bit = 0; bit < 32; bit++)
                folded |= (uint64_t)((summary[slot] >> (2 * bit) & 3) != 0) << bit;
            summary[slot] = folded;
        }
    }
    for (uint32_t c = 0; c < e->front.component_count; c++)
        e->front.components[c].group = 1ull << (c / 64 >> e->group_log2);
}

void wakes_add_component(struct engine *e, uint32_t component)
{
    struct engine_component *c = &e->front.components[component];
    const uint32_t word = component / 64;
    if (word >= e->word_capacity) {
        const uint32_t before = e->word_capacity;
        e->word_capacity = before ? before * 2 : FIRST_WORDS;
        for (uint32_t d = 0; d < e->domain_count; d++) grow_clock(e, e->front.clocks[d], before);
    }
    if (word >= 64u << e->group_log2) double_groups(e);
    uint64_t **row = &c->clock->rows[word];
    if (!*row) *row = ARENA_ARRAY(&e->arena, uint64_t, ENGINE_ROW_WORDS);
    c->row = *row;
    c->bit = 1ull << (component % 64);
    c->group = 1ull << (word >> e->group_log2);
    c->wake_cyc = ENGINE_NEVER;
}

/* ---- asking ---- */

static void insert_near(struct engine_component *c)
{
    const uint32_t slot = (uint32_t)c->wake_cyc % ENGINE_SLOTS;
    c->row[slot] |= c->bit;
    c->clock->summary[slot] |= c->group;
}

static void take_off(const struct engine *e, struct engine_component *c, uint32_t word)
{
    struct engine_clock *k = c->clock;
    if (k->far_count && (k->far[word] & c->bit)) {
        k->far[word] &= ~c->bit; /* far_cyc stays, as a bound, while there is something to bound */
        if (--k->far_count == 0) k->far_cyc = ENGINE_NEVER;
        return;
    }
    const uint32_t slot = (uint32_t)c->wake_cyc % ENGINE_SLOTS;
    const uint32_t first = word >> e->group_log2 << e->group_log2;
    if (c->row[slot] &= ~c->bit) return;
    for (uint32_t w = first; e->group_log2 && w < first + (1u << e->group_log2); w++)
        if (k->rows[w] && k->rows[w][slot]) return;
    k->summary[slot] &= ~c->group;
}

/* What is asked for now bears this mark, see struct engine_component. */
static inline uint64_t asked_now(const struct engine *e, const struct engine_clock *k)
{
    return k->open_cyc == ENGINE_CLOSED ? ENGINE_CLOSED + e->front.tick : k->open_cyc;
}

/* The common case of wake_any(), which needs no call: the wake-up and the one that it replaces, if any, are
 * near, and a bit of the summary stands for one row. */
static inline void wake_near(struct engine *e, struct engine_component *c, uint64_t at_cyc, bool pending)
{
    struct engine_clock *const k = c->clock;
    const uint64_t asked = asked_now(e, k);
    if (pending) {
        const uint32_t slot = (uint32_t)c->wake_cyc % ENGINE_SLOTS;
        /* Not when both were asked for in one cycle: who asked first does not matter. */
        e->front.stats.events_merged += c->asked != asked;
        if (!(c->row[slot] &= ~c->bit)) k->summary[slot] &= ~c->group;
    } else {
        k->asked_count++;
        k->counted++;
        e->front.stats.events_sent++;
    }
    c->wake_cyc = at_cyc;
    c->asked = asked;
    insert_near(c);
    if (at_cyc < k->next_cyc) k->next_cyc = at_cyc;
}

static __attribute__((noinline)) void wake_any(struct engine *e, uint32_t component, uint64_t at_cyc)
{
    struct engine_component *c = &e->front.components[component];
    struct engine_clock *k = c->clock;
    const bool pending = (c->wake_cyc - k->base_cyc) >> ENGINE_CYCLE_LOG2 == 0;
    const uint64_t asked = asked_now(e, k);
    if (pending) {
        e->front.stats.events_merged += c->asked != asked;
        take_off(e, c, component / 64);
    } else {
        k->asked_count++;
        k->counted++;
        e->front.stats.events_sent++;
    }
    if (at_cyc - k->base_cyc >= ENGINE_NEAR) {
        /* A domain that slept: nothing can be pending before the present instant. */
        const uint64_t present = engine_edges(k, e->front.tick + k->ticks_per_cycle - 1);
        if (present > k->base_cyc) k->base_cyc = present;
    }
    c->wake_cyc = at_cyc;
    c->asked = asked;
    if (at_cyc - k->base_cyc < ENGINE_NEAR) {
        insert_near(c);
    } else {
        k->far[component / 64] |= c->bit;
        k->far_count++;
        if (at_cyc < k->far_cyc) k->far_cyc = at_cyc;
    }
    if (at_cyc < k->next_cyc) k->next_cyc = at_cyc;
}

void engine_wake_other(struct engine *e, uint32_t component, uint64_t at_cyc)
{
    DIAG_ASSERT(component < e->front.component_count);
    if (at_cyc == ENGINE_NEVER) return;
    struct engine_component *c = &e->front.components[component];
    const struct engine_clock *k = c->clock;
    DIAG_ASSERT(at_cyc <= k->last_cyc && at_cyc * k->ticks_per_cycle >= e->front.open_tick);
    const bool pending = (c->wake_cyc - k->base_cyc) >> ENGINE_CYCLE_LOG2 == 0;
    if (pending && c->wake_cyc <= at_cyc) return;
    const bool near = at_cyc - k->base_cyc < ENGINE_NEAR && !e->group_log2 &&
                      (!pending || !(k->far_count && k->far[component / 64] & c->bit));
    if (near)
        wake_near(e, c, at_cyc, pending);
    else
        wake_any(e, component, at_cyc);
}

/* ---- moving the clock ---- */

/* Moves near what lies less than 'span' cycles after 'cycle', and finds far_cyc. */
static void look_through_far(const struct engine *e, struct engine_clock *k, uint64_t cycle, uint64_t span)
{
    k->far_cyc = ENGINE_NEVER;
    for (uint32_t word = 0; word < e->word_capacity; word++) {
        for (uint64_t bits = k->far[word]; bits; bits &= bits - 1) {
            struct engine_component *c = &e->front.components[word * 64 + (uint32_t)__builtin_ctzll(bits)];
            if (c->wake_cyc - cycle < span) {
                k->far[word] &= ~c->bit;
                k->far_count--;
                insert_near(c);
            } else if (c->wake_cyc < k->far_cyc) {
                k->far_cyc = c->wake_cyc;
            }
        }
    }
}

bool wakes_far_due(const struct engine *e, struct engine_clock *k)
{
    const uint64_t expected = k->next_cyc;
    look_through_far(e, k, expected, 0);
    return k->far_cyc == expected;
}

void wakes_bring_near(const struct engine *e, struct engine_clock *k, uint64_t cycle)
{
    look_through_far(e, k, cycle, ENGINE_NEAR);
}

/* Cycles from base_cyc on without a wake-up. One is near. */
static uint32_t empty_cycles(const struct engine_clock *k)
{
    enum { BLOCK = 8, BLOCKS = ENGINE_SLOTS / BLOCK };
    const uint32_t start = (uint32_t)k->base_cyc % ENGINE_SLOTS;
    for (uint32_t n = 0; n <= BLOCKS; n++) { /* the first block once more at the end: its beginning */
        const uint32_t first = (start / BLOCK + n) % BLOCKS * BLOCK;
        const uint64_t *const s = &k->summary[first];
        if (!(s[0] | s[1] | s[2] | s[3] | s[4] | s[5] | s[6] | s[7])) continue;
        for (uint32_t i = 0; i < BLOCK; i++)
            if (s[i] && (n || first + i >= start)) return (first + i - start) % ENGINE_SLOTS;
    }
    diag_bug("engine", k->now_cyc, "a pending wake-up is in no cycle");
}

void wakes_find_next(struct engine_clock *k)
{
    const bool near = k->asked_count - k->visited_count > k->far_count;
    const uint64_t near_cyc = near ? k->base_cyc + empty_cycles(k) : ENGINE_NEVER;
    k->next_cyc = near_cyc < k->far_cyc ? near_cyc : k->far_cyc;
}

uint64_t wakes_count(const struct engine *e, const struct engine_clock *k)
{
    uint64_t count = 0;
    for (uint32_t word = 0; word < e->word_capacity; word++)
        count += (uint64_t)__builtin_popcountll(k->far[word]);
    for (uint32_t slot = 0; slot < ENGINE_SLOTS; slot++) {
        for (uint64_t groups = k->summary[slot]; groups; groups &= groups - 1) {
            const uint32_t first = (uint32_t)__builtin_ctzll(groups) << e->group_log2;
            for (uint32_t w = first; w < first + (1u << e->group_log2); w++)
                if (k->rows[w]) count += (uint64_t)__builtin_popcountll(k->rows[w][slot]);
        }
    }
    return count;
}
