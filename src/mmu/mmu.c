/* mmu: see mmu.h. One component for a GPU: the L2 TLB, the walkers and the fault handler; the L1 TLBs are
 * looked up by their SMs and live here, because shootdowns reach them from here. */
#include "mmu/mmu.h"

#include <string.h>

#include "cache/tags.h"
#include "check/fault.h"
#include "mmu/tlb.h"

enum { PTES_PER_TABLE_LOG2 = 9, PTE_BYTES = 8 };

struct timed_page {
    uint64_t key, cyc;
};

struct page_ring {
    struct timed_page *items;
    uint32_t head, count;
};

struct mmu_sm {
    struct tlb l1;
    struct page_ring asked;   /* for the L2 TLB */
    struct page_ring arrived; /* on their way back */
    uint64_t *missing;        /* pages waited for, + 1 */
    uint32_t missing_count;
    struct page_cache cache;
};

enum walker_state { WALKER_FREE, WALKER_FAULT, WALKER_READ, WALKER_DONE };

struct walker {
    uint64_t key, begin_cyc, due_cyc;
    uint64_t *sms; /* who waits, a bit per SM */
    uint8_t state;
};

struct mmu {
    struct mmu_wiring wire;
    uint32_t component, page_log2;
    bool ideal, prefault;
    bool holds; /* pages may be locked while they move */
    uint32_t l1_misses, l2_ports, l2_latency_cyc, walk_cache_cyc, walk_latency_cyc, fault_limit;
    uint64_t fault_cyc;
    struct pages *pages;
    struct map tables; /* key >> 9 to frame of the page table */
    uint32_t tables_made;
    struct tags l2;
    struct mmu_sm *sms;
    uint64_t *asking; /* bit per SM with something for the L2 TLB */
    uint32_t words, turn;
    struct walker *walkers;
    uint32_t walker_count, faults_now;
    struct page_ring queue; /* pages that wait for a walker; cyc = from when on */
    uint64_t(*queue_sms);   /* [queue place][words] */
    uint32_t queue_capacity, ring_capacity;
    struct mmu_stats stats;
};

/* ---- pages ---- */

/* The page gets its frame; returns it. */
static uint64_t place(struct mmu *m, uint32_t sm, uint64_t key)
{
    const uint64_t fullest = m->pages->fullest, frame = pages_place(m->pages, sm, key);
    m->stats.pages_placed++;
    m->stats.page_slots += (m->pages->fullest - fullest) * pages_colours(m->pages);
    return frame;
}

static inline struct page_cache *cached(struct mmu *m, uint32_t sm, uint64_t key, uint32_t *at)
{
    *at = mmu_page_slot(key);
    return &m->sms[sm - m->wire.first_sm].cache;
}

/* The first line of the page in its address space. */
static inline uint64_t first_line(const struct mmu *m, uint64_t key)
{
    return (key & (((uint64_t)1 << 56) - 1)) << (m->page_log2 - LINE_LOG2);
}

static inline void remember(const struct mmu *m, struct page_cache *cache, uint32_t at, uint64_t key,
                            uint64_t frame)
{
    cache->key[at] = key + 1;
    cache->to_frame[at] = (frame >> LINE_LOG2) - first_line(m, key);
    cache->slice[at] = pages_home(m->pages, frame).slice;
}

void mmu_touch(struct mmu *m, uint32_t sm, uint64_t key)
{
    uint32_t at;
    struct page_cache *cache = cached(m, sm, key, &at);
    if (cache->key[at] == key + 1) return;
    if (m->pages->count_sharing) pages_count_sharer(m->pages, sm, key);
    const uint64_t *frame = pages_find(m->pages, sm, key);
    if (!frame && !m->prefault && !m->ideal) return;
    remember(m, cache, at, key, frame ? *frame : place(m, sm, key));
}

void mmu_place_for_driver(struct mmu *m, uint32_t sm, uint64_t key)
{
    if (!pages_find(m->pages, sm, key)) (void)place(m, sm, key);
}

uint64_t mmu_frame(struct mmu *m, uint32_t sm, uint64_t key)
{
    uint32_t at;
    struct page_cache *cache = cached(m, sm, key, &at);
    if (cache->key[at] == key + 1) return (first_line(m, key) + cache->to_frame[at]) << LINE_LOG2;
    const uint64_t *frame = pages_find(m->pages, sm, key);
    DIAG_ASSERT(frame);
    remember(m, cache, at, key, *frame);
    return *frame;
}

struct home mmu_home(struct mmu *m, uint32_t sm, uint32_t app, uint64_t line)
{
    const uint64_t address = line << LINE_LOG2;
    const uint64_t frame = mmu_frame(m, sm, pages_key(app, address >> m->page_log2));
    const uint64_t offset = address & (((uint64_t)1 << m->page_log2) - 1);
    return pages_home(m->pages,
                      (FAULT_FIRES(wrong_frame) ? frame ^ (uint64_t)1 << m->page_log2 : frame) + offset);
}

uint32_t mmu_page_log2(const struct mmu *m) { return m->page_log2; }
bool mmu_is_ideal(const struct mmu *m) { return m->ideal; }
const struct pages *mmu_pages(const struct mmu *m) { return m->pages; }

const struct page_cache *mmu_page_cache(const struct mmu *m, uint32_t sm)
{
    return &m->sms[sm - m->wire.first_sm].cache;
}

/* Page tables go round-robin to those colours of the GPU's own memory that the application owns. If it owns
 * none there, they go to all that it owns. */
static uint32_t table_colour(const struct mmu *m, uint32_t app)
{
    const struct colours *owned = pages_owned(m->pages, app);
    uint32_t here = 0, first = owned->count;
    DIAG_ASSERT(owned->count);
    for (uint32_t k = 0; k < owned->count; k++) {
        if (owned->colour[k] - m->wire.first_colour >= m->wire.colours) continue;
        if (first == owned->count) first = k;
        here++;
    }
    return owned->colour[here ? first + m->tables_made % here : m->tables_made % owned->count];
}

/* Where the leaf entry of a page lies. */
static struct home entry_home(struct mmu *m, uint64_t key)
{
    bool fresh;
    uint64_t *table = map_put(&m->tables, key >> PTES_PER_TABLE_LOG2, &fresh);
    if (fresh) {
        const uint32_t app = pages_key_app(key);
        *table = pages_take_frame(m->pages, app, table_colour(m, app));
        m->tables_made++;
    }
    return pages_home(m->pages, *table + (key & ((1u << PTES_PER_TABLE_LOG2) - 1)) * PTE_BYTES);
}

/* ---- rings ---- */

static void ring_add(struct page_ring *r, uint32_t capacity, uint64_t key, uint64_t cyc)
{
    DIAG_ASSERT(r->count < capacity);
    r->items[(r->head + r->count++) % capacity] = (struct timed_page){key, cyc};
}

static struct timed_page ring_take(struct page_ring *r, uint32_t capacity)
{
    const struct timed_page p = r->items[r->head];
    r->head = (r->head + 1) % capacity;
    r->count--;
    return p;
}

/* ---- the SM's side ---- */

static bool is_missing(const struct mmu_sm *s, uint64_t key)
{
    for (uint32_t k = 0; k < s->missing_count; k++)
        if (s->missing[k] == key + 1) return true;
    return false;
}

/* The L1 TLB does not have the page: asks for it, unless that has been done. */
static enum mmu_answer ask_l2(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (is_missing(s, key)) {
        m->stats.l1_lookups++;
        m->stats.l1_merged++;
        return MMU_MISS;
    }
    if (s->missing_count == m->l1_misses) return MMU_BUSY;
    m->stats.l1_lookups++;
    m->stats.l1_misses++;
    s->missing[s->missing_count++] = key + 1;
    ring_add(&s->asked, m->l1_misses, key, now + 1);
    sm -= m->wire.first_sm;
    m->asking[sm / 64] |= (uint64_t)1 << (sm % 64);
    engine_wake(m->wire.engine, m->component, now + 1);
    return MMU_MISS;
}

enum mmu_answer mmu_lookup(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (m->ideal) return MMU_HIT;
    if (tlb_lookup(&s->l1, key)) {
        m->stats.l1_lookups++;
        m->stats.l1_hits++;
        return MMU_HIT;
    }
    return ask_l2(m, sm, key, now);
}

enum mmu_answer mmu_wait(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    (void)tlb_remove(&m->sms[sm - m->wire.first_sm].l1, key);
    return ask_l2(m, sm, key, now);
}

uint64_t mmu_arrival(struct mmu *m, uint32_t sm, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (!s->arrived.count || s->arrived.items[s->arrived.head].cyc > now) return UINT64_MAX;
    const uint64_t key = ring_take(&s->arrived, m->l1_misses).key;
    for (uint32_t k = 0; k < s->missing_count; k++)
        if (s->missing[k] == key + 1) {
            s->missing[k] = s->missing[--s->missing_count];
            break;
        }
    tlb_insert(&s->l1, key);
    return key;
}

uint64_t mmu_arrival_cyc(const struct mmu *m, uint32_t sm)
{
    const struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    return s->arrived.count ? s->arrived.items[s->arrived.head].cyc : ENGINE_NEVER;
}

/* From here on SMs are numbered within the GPU.
 * The answer of a walk may come before that of the L2 TLB to an earlier question: in order of time. */
static void deliver(struct mmu *m, uint32_t sm, uint64_t key, uint64_t cyc)
{
    struct page_ring *r = &m->sms[sm].arrived;
    ring_add(r, m->l1_misses, key, cyc);
    for (uint32_t k = r->count - 1; k; k--) {
        struct timed_page *const late = &r->items[(r->head + k) % m->l1_misses];
        struct timed_page *const before = &r->items[(r->head + k - 1) % m->l1_misses];
        if (before->cyc <= late->cyc) break;
        const struct timed_page moved = *late;
        *late = *before;
        *before = moved;
    }
    m->stats.answers++;
    engine_wake(m->wire.engine, m->wire.sm_components[m->wire.first_sm + sm], cyc);
}

/* ---- walks ---- */

/* A cycle of one clock as the first of another that is not before it. */
static inline uint64_t in_clock(uint64_t cyc, uint64_t from_ticks, uint64_t to_ticks)
{
    return from_ticks == to_ticks ? cyc : (cyc * from_ticks + to_ticks - 1) / to_ticks;
}

static void read_entry(struct mmu *m, uint32_t walker, uint64_t now)
{
    struct walker *w = &m->walkers[walker];
    const uint32_t idx = pool_try_take(m->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    struct request *r = request_at(m->wire.requests, idx);
    *r = (struct request){.kind = REQUEST_WALK,
                          .owner = walker,
                          .home = entry_home(m, w->key),
                          .sent_cyc = now,
                          .sm = (uint16_t)m->wire.number,
                          .app = (uint8_t)(w->key >> 56)};
    r->sectors = 1; /* an entry lies in one sector; which one only matters to its line */
    w->state = WALKER_READ;
    w->due_cyc = ENGINE_NEVER;
    slice_walk(m->wire.slices[r->home.slice], idx,
               in_clock(now + m->walk_cache_cyc + m->walk_latency_cyc, m->wire.ticks_per_cycle,
                        m->wire.llc_ticks_per_cycle));
}

static uint32_t first_waiter(const struct mmu *m, const struct walker *w)
{
    for (uint32_t k = 0; k < m->words; k++)
        if (w->sms[k]) return k * 64 + (uint32_t)__builtin_ctzll(w->sms[k]);
    return 0;
}

static void start_walk(struct mmu *m, uint32_t walker, uint64_t key, const uint64_t *sms, uint64_t asked_cyc,
                       uint64_t now)
{
    struct walker *w = &m->walkers[walker];
    w->key = key;
    w->begin_cyc = now;
    memcpy(w->sms, sms, m->words * sizeof *sms);
    m->stats.walks++;
    m->stats.walk_wait_cycles += now - asked_cyc;
    if (pages_frame(m->pages, key)) {
        read_entry(m, walker, now);
        return;
    }
    w->state = WALKER_FAULT;
    w->due_cyc = ENGINE_NEVER;
}

/* Walks that met a page without a frame: handled when the handler has room, in the order of walkers. */
static void start_faults(struct mmu *m, uint64_t now)
{
    for (uint32_t k = 0; k < m->walker_count && m->faults_now < m->fault_limit; k++) {
        struct walker *w = &m->walkers[k];
        if (w->state != WALKER_FAULT || w->due_cyc != ENGINE_NEVER) continue;
        w->due_cyc = now + m->fault_cyc;
        m->faults_now++;
        m->stats.faults++;
        engine_wake(m->wire.engine, m->component, w->due_cyc);
    }
}

static void end_walk(struct mmu *m, struct walker *w, uint64_t now)
{
    uint32_t line = tags_find(&m->l2, (uint32_t)(w->key % m->l2.sets), w->key);
    if (line == TAGS_NONE) {
        line = tags_victim(&m->l2, (uint32_t)(w->key % m->l2.sets));
        tags_fill(&m->l2, line, w->key);
    }
    for (uint32_t k = 0; k < m->words; k++)
        for (uint64_t left = w->sms[k]; left; left &= left - 1)
            deliver(m, k * 64 + (uint32_t)__builtin_ctzll(left), w->key, now + 1);
    w->state = WALKER_FREE;
    m->stats.walks_done++;
    m->stats.walk_cycles += now - w->begin_cyc;
}

static void step_walkers(struct mmu *m, uint64_t now)
{
    for (uint32_t k = 0; k < m->walker_count; k++) {
        struct walker *w = &m->walkers[k];
        if (w->state == WALKER_FREE || w->due_cyc > now) continue;
        if (w->state == WALKER_FAULT) {
            m->faults_now--;
            if (!pages_frame(m->pages, w->key)) (void)place(m, m->wire.first_sm + first_waiter(m, w), w->key);
            read_entry(m, k, now);
        } else if (w->state == WALKER_DONE) {
            end_walk(m, w, now);
        }
        engine_progress(m->wire.engine);
    }
    for (uint32_t k = 0; k < m->walker_count && m->queue.count; k++) {
        if (m->queue.items[m->queue.head].cyc > now) break; /* the L2 TLB does not know yet that it misses */
        if (m->walkers[k].state != WALKER_FREE) continue;
        const uint32_t place_idx = m->queue.head;
        const struct timed_page p = ring_take(&m->queue, m->queue_capacity);
        start_walk(m, k, p.key, m->queue_sms + (size_t)place_idx * m->words, p.cyc, now);
    }
    start_faults(m, now);
}

void mmu_walk_done(void *mmu, uint32_t owner, uint64_t ready_cyc)
{
    struct mmu *m = mmu;
    m->walkers[owner].state = WALKER_DONE;
    m->walkers[owner].due_cyc =
        in_clock(ready_cyc, m->wire.llc_ticks_per_cycle, m->wire.ticks_per_cycle) + m->walk_latency_cyc;
    engine_wake(m->wire.engine, m->component, m->walkers[owner].due_cyc);
}

/* ---- the L2 TLB ---- */

/* The SMs that wait for this page already, NULL when nobody does. */
static uint64_t *waiters_of(struct mmu *m, uint64_t key)
{
    for (uint32_t k = 0; k < m->walker_count; k++)
        if (m->walkers[k].state != WALKER_FREE && m->walkers[k].key == key) return m->walkers[k].sms;
    for (uint32_t k = 0; k < m->queue.count; k++) {
        const uint32_t at = (m->queue.head + k) % m->queue_capacity;
        if (m->queue.items[at].key == key) return m->queue_sms + (size_t)at * m->words;
    }
    return NULL;
}

/* One more walk from a cycle on; the SMs that wait for it, none yet. */
static uint64_t *queue_walk(struct mmu *m, uint64_t key, uint64_t from_cyc)
{
    uint64_t *const sms =
        m->queue_sms + (size_t)((m->queue.head + m->queue.count) % m->queue_capacity) * m->words;
    ring_add(&m->queue, m->queue_capacity, key, from_cyc);
    DIAG_ASSERT(sms);
    memset(sms, 0, m->words * sizeof *sms);
    return sms;
}

static void lookup_l2(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    const uint32_t line = tags_find(&m->l2, (uint32_t)(key % m->l2.sets), key);
    m->stats.l2_lookups++;
    if (m->holds && pages_held(m->pages, m->wire.first_sm + sm, key)) {
        m->stats.l2_held++;
        return;
    }
    if (line != TAGS_NONE) {
        m->stats.l2_hits++;
        tags_touch(&m->l2, line);
        deliver(m, sm, key, now + m->l2_latency_cyc);
        return;
    }
    uint64_t *waiting = waiters_of(m, key);
    if (waiting)
        m->stats.l2_merged++;
    else
        waiting = queue_walk(m, key, now + m->l2_latency_cyc);
    waiting[sm / 64] |= (uint64_t)1 << (sm % 64);
}

void mmu_resume(struct mmu *m, uint64_t key, const uint64_t *sms, uint64_t now)
{
    uint64_t *waiting = waiters_of(m, key);
    if (!waiting) waiting = queue_walk(m, key, now + 1);
    for (uint32_t k = 0; k < m->words; k++) waiting[k] |= sms[k];
    engine_wake(m->wire.engine, m->component, now + 1);
}

/* The next SM at or after `from` that asks, UINT32_MAX when none does. */
static uint32_t next_asking(const struct mmu *m, uint32_t from)
{
    for (uint32_t k = 0; k <= m->words; k++) {
        const uint32_t word = (from / 64 + k) % m->words;
        uint64_t bits = m->asking[word];
        if (k == 0) bits &= ~(uint64_t)0 << (from % 64);
        if (bits) return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return UINT32_MAX;
}

/* How many SMs from `from` on are passed before one whose question can be seen, UINT32_MAX when there is
 * none. Those that asked in this very cycle are not seen yet, whoever was visited first. */
static uint32_t distance_to_asking(const struct mmu *m, uint32_t from, uint64_t now)
{
    const uint32_t count = m->wire.sm_count;
    for (uint32_t passed = 0; passed < count; passed++) {
        const uint32_t at = (from + passed) % count, sm = next_asking(m, at);
        if (sm == UINT32_MAX) break;
        passed += (sm - at + count) % count;
        const struct page_ring *asked = &m->sms[sm].asked;
        if (passed < count && asked->items[asked->head].cyc <= now) return passed;
    }
    return UINT32_MAX;
}

static bool serve_l2(struct mmu *m, uint64_t now)
{
    const uint32_t count = m->wire.sm_count;
    for (uint32_t port = 0, looked = 0; port < m->l2_ports && looked < count; port++) {
        const uint32_t passed = distance_to_asking(m, m->turn, now), sm = (m->turn + passed) % count;
        if (passed == UINT32_MAX) break;
        struct page_ring *asked = &m->sms[sm].asked;
        lookup_l2(m, sm, ring_take(asked, m->l1_misses).key, now);
        if (!asked->count) m->asking[sm / 64] &= ~((uint64_t)1 << (sm % 64));
        m->turn = (sm + 1) % count;
        looked += passed + 1;
    }
    return next_asking(m, 0) != UINT32_MAX;
}

static void wake(void *self, uint64_t now)
{
    struct mmu *m = self;
    const bool more = serve_l2(m, now);
    step_walkers(m, now);
    uint64_t next = more ? now + 1 : ENGINE_NEVER;
    for (uint32_t k = 0; k < m->walker_count; k++) {
        const struct walker *w = &m->walkers[k];
        if (w->state != WALKER_FREE && w->due_cyc < next) next = w->due_cyc;
    }
    /* due and not taken: every walker is busy, and the one that ends first wakes */
    if (m->queue.count && m->queue.items[m->queue.head].cyc > now && m->queue.items[m->queue.head].cyc < next)
        next = m->queue.items[m->queue.head].cyc;
    if (next != ENGINE_NEVER) engine_wake(m->wire.engine, m->component, next > now ? next : now + 1);
}

/* ---- shootdown, building ---- */

void mmu_forget(struct mmu *m, uint64_t key, uint32_t first_sm, uint32_t sm_count)
{
    for (uint32_t sm = first_sm; sm < first_sm + sm_count; sm++) {
        uint32_t at;
        struct page_cache *cache = cached(m, sm, key, &at);
        (void)tlb_remove(&m->sms[sm - m->wire.first_sm].l1, key);
        if (cache->key[at] == key + 1) cache->key[at] = 0;
    }
}

void mmu_shootdown(struct mmu *m, uint64_t key)
{
    mmu_forget(m, key, m->wire.first_sm, m->wire.sm_count);
    const uint32_t line = tags_find(&m->l2, (uint32_t)(key % m->l2.sets), key);
    if (line != TAGS_NONE) tags_drop(&m->l2, line);
    m->stats.shootdowns++;
}

struct mmu_stats *mmu_stats(struct mmu *m) { return &m->stats; }

void mmu_count_waiting(struct mmu *m)
{
    m->stats.waiting = 0;
    for (uint32_t k = 0; k < m->wire.sm_count; k++)
        m->stats.waiting += m->sms[k].missing_count - m->sms[k].arrived.count;
}

static struct wait waits(void *self)
{
    const struct mmu *m = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NOBODY};
    uint32_t busy = 0;
    for (uint32_t k = 0; k < m->walker_count; k++) busy += m->walkers[k].state != WALKER_FREE;
    if (!busy && !m->queue.count) return w;
    w.reason = m->faults_now ? WAIT_PAGE_FAULT : WAIT_REPLY;
    (void)snprintf(w.detail, sizeof w.detail, "%u walks under way, %u wait, %u faults", busy, m->queue.count,
                   m->faults_now);
    return w;
}

static void build_sm(struct mmu *m, struct arena *a, uint32_t sm, const struct config *c)
{
    struct mmu_sm *s = &m->sms[sm];
    tlb_init(&s->l1, a, c->mmu.l1_entries);
    s->asked.items = ARENA_ARRAY(a, struct timed_page, m->l1_misses);
    s->arrived.items = ARENA_ARRAY(a, struct timed_page, m->l1_misses);
    s->missing = ARENA_ARRAY(a, uint64_t, m->l1_misses);
}

struct mmu *mmu_new(struct arena *a, const struct config *c, const struct mmu_wiring *wiring)
{
    struct mmu *m = ARENA_NEW(a, struct mmu);
    m->wire = *wiring;
    m->page_log2 = (uint32_t)__builtin_ctzll(c->map.page_size);
    m->ideal = c->mmu.mode == mmu_mode_ideal;
    m->prefault = c->mmu.prefault;
    m->l1_misses = c->mmu.l1_misses;
    m->l2_ports = c->mmu.l2_ports;
    m->l2_latency_cyc = c->mmu.l2_latency_cyc;
    m->walk_cache_cyc = c->mmu.walk_cache_cyc;
    m->walk_latency_cyc = c->mmu.walk_latency_cyc;
    m->fault_limit = c->mmu.faults;
    m->fault_cyc = config_cycles_in(c->mmu.fault, c->clock.sm);
    m->pages = wiring->pages;
    m->holds = pages_may_move(m->pages);
    map_init(&m->tables);
    const uint32_t ways = c->mmu.l2_ways < c->mmu.l2_entries ? c->mmu.l2_ways : c->mmu.l2_entries;
    tags_init(&m->l2, a, c->mmu.l2_entries / ways, ways, replacement_lru, 0);
    m->words = (wiring->sm_count + 63) / 64;
    m->asking = ARENA_ARRAY(a, uint64_t, m->words);
    m->sms = ARENA_ARRAY(a, struct mmu_sm, wiring->sm_count);
    for (uint32_t k = 0; k < wiring->sm_count; k++) build_sm(m, a, k, c);
    m->walker_count = c->mmu.walkers;
    m->walkers = ARENA_ARRAY(a, struct walker, m->walker_count);
    for (uint32_t k = 0; k < m->walker_count; k++) m->walkers[k].sms = ARENA_ARRAY(a, uint64_t, m->words);
    m->queue_capacity = wiring->sm_count * m->l1_misses;
    m->queue.items = ARENA_ARRAY(a, struct timed_page, m->queue_capacity);
    m->queue_sms = ARENA_ARRAY(a, uint64_t, (size_t)m->queue_capacity * m->words);
    m->component =
        engine_add(wiring->engine,
                   (struct component_spec){
                       .name = "mmu", .self = m, .domain = wiring->domain, .wake = wake, .waits = waits});
    return m;
}

void mmu_count_sharing(struct mmu *m)
{
    const struct map *pages = &m->pages->sharers;
    for (size_t k = 0; k < pages->capacity; k++) {
        if (!pages->entries[k].used) continue;
        const uint64_t sms = pages->entries[k].value;
        STATS_COUNT(m->stats.sms_per_page, sms);
        m->stats.pages_used++;
        m->stats.pages_of_1_sm += sms == 1;
        m->stats.pages_of_2_to_10_sms += sms >= 2 && sms <= 10;
        m->stats.pages_of_11_to_25_sms += sms >= 11 && sms <= 25;
        m->stats.pages_of_26_sms_or_more += sms >= 26;
    }
}

void mmu_free(struct mmu *m) { map_free(&m->tables); }
