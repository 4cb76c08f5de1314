/* mmu: see mmu.h. One component per GPU: the L2 TLB, the page walkers and the fault handler. The L1 TLBs are
 * here because shootdowns reach them; each SM looks up its own.
 *
 *   sms[].requests --> L2 TLB --hit--------------------------------------------> sms[].arrived
 *                        | miss                                                     ^
 *                        v                                                          |
 *                     walk queue --> walker --> leaf entry in a slice --> end_walk() +
 *                                      | page without a frame         ^
 *                                      +--> fault handler ------------+
 *
 * Walks. A walk is one page with a set of waiting SMs, either in the queue or at a walker. `walks` finds the
 * walk of a page by hash; its entry number indexes walk_from_cyc and walk_sms. A walk keeps its entry when it
 * leaves the queue for a walker. Lookups that miss the L2 TLB merge with the walk of their page.
 *
 * Walkers. Three masks with one bit per walker hold the states, so that idle and reading walkers cost
 * nothing:
 *
 *   free                   no walk
 *   faulting, not timed    the page has no frame; the walk waits for the fault handler
 *   faulting and timed     the fault handler works until due_cyc
 *   timed, not faulting    the leaf entry has been read; the walk ends at due_cyc
 *   in no mask             the leaf entry is being read
 *
 * Invariants:
 *  1. A page has at most one walk.
 *  2. next_due_cyc is the minimum of due_cyc over the timed walkers, or ENGINE_NEVER.
 *  3. Walkers act in ascending order of their numbers. */
#include "mmu/mmu.h"

#include <string.h>

#include "cache/tags.h"
#include "check/fault.h"
#include "mmu/page_index.h"
#include "mmu/tlb.h"

enum { PTES_PER_TABLE_LOG2 = 9, PTE_BYTES = 8, WALKERS_MAX = 64 };

struct timed_page {
    uint64_t key, cyc;
};

struct page_ring {
    struct timed_page *items;
    uint32_t head, count;
};

struct mmu_sm {
    struct tlb l1;
    struct page_ring requests; /* for the L2 TLB; cyc = first cycle in which the L2 TLB sees the request */
    struct page_ring arrived;  /* replies to the SM, in order of arrival; cyc = arrival */
    struct page_index missing; /* pages requested and not yet taken by the SM: at most mmu.l1_misses */
    struct page_cache cache;
};

struct walker {
    uint64_t begin_cyc;
    uint64_t due_cyc; /* valid while the walker is timed */
    uint32_t walk;    /* entry of mmu.walks; valid while the walker is not free */
};

struct mmu {
    struct mmu_wiring wire;
    uint32_t component, page_log2;
    bool ideal, prefault;
    bool holds;   /* pages may be locked while they move */
    bool follows; /* pages follow the channels of their application */
    uint32_t l1_misses, l2_ports, l2_latency_cyc, walk_cache_cyc, walk_latency_cyc, fault_limit;
    uint64_t fault_cyc;
    struct pages *pages;
    struct map tables; /* from key >> PTES_PER_TABLE_LOG2 to the frame of the leaf page table */
    uint32_t tables_made;
    struct tags l2;
    struct mmu_sm *sms;
    uint64_t *requesting; /* mask of the SMs with requests for the L2 TLB */
    uint32_t words;       /* 64-bit words of a mask of SMs */
    uint32_t rr_sm;       /* SM served first in the next cycle (round-robin) */
    struct walker *walkers;
    uint32_t walker_count;
    uint32_t faults_now;            /* faults in the handler */
    uint64_t free, timed, faulting; /* masks of walkers, see above */
    uint64_t next_due_cyc;          /* earliest due_cyc of the timed walkers */
    struct page_index walks;
    uint64_t *walk_from_cyc; /* [entry of walks] first cycle in which a walker may take the walk */
    uint64_t *walk_sms;      /* [entry of walks][words] mask of the waiting SMs */
    uint32_t *walk_first_sm; /* [entry of walks] SM of the GPU whose lookup came first; it places the page */
    uint32_t *queue;         /* ring of walks without a walker: entries of walks */
    uint32_t queue_head, queue_count, queue_capacity;
    struct mmu_stats stats;
};

/* ---- pages ---- */

/* Gives the page a frame and returns it. */
static uint64_t place(struct mmu *m, uint32_t sm, uint64_t key)
{
    const uint64_t fullest = m->pages->fullest, by_rule = m->pages->placed_by_rule;
    const uint64_t frame = pages_place(m->pages, sm, key);
    m->stats.pages_placed++;
    m->stats.pages_placed_at_launch += m->pages->placed_by_rule - by_rule;
    m->stats.page_slots += (m->pages->fullest - fullest) * pages_colours(m->pages);
    return frame;
}

/* Gives the page a frame for an access of the SM; the policy may place it in another node. */
static uint64_t place_for(struct mmu *m, uint32_t sm, uint64_t key)
{
    (void)place(m, sm, key);
    return *pages_use(m->pages, sm, key);
}

static inline struct page_cache *cached(struct mmu *m, uint32_t sm, uint64_t key, uint32_t *at)
{
    *at = mmu_page_slot(key);
    return &m->sms[sm - m->wire.first_sm].cache;
}

/* Number of the first line of the page in its address space. */
static inline uint64_t first_line(const struct mmu *m, uint64_t key)
{
    return (key & (((uint64_t)1 << 56) - 1)) << (m->page_log2 - LINE_LOG2);
}

static inline void cache_page(const struct mmu *m, struct page_cache *cache, uint32_t at, uint64_t key,
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
    const uint64_t *frame = pages_use(m->pages, sm, key);
    if (!frame && !m->prefault) return;
    const uint64_t to = frame ? *frame : place_for(m, sm, key);
    if (!(to & PAGES_INTERLEAVED)) cache_page(m, cache, at, key, to);
}

void mmu_place_for_driver(struct mmu *m, uint32_t sm, uint64_t key)
{
    if (!pages_find(m->pages, sm, key)) (void)place(m, sm, key);
}

void mmu_place_context(struct mmu *m, uint64_t key)
{
    if (!pages_frame(m->pages, key)) pages_place_context(m->pages, key);
}

uint64_t mmu_frame(struct mmu *m, uint32_t sm, uint64_t key)
{
    uint32_t at;
    struct page_cache *cache = cached(m, sm, key, &at);
    if (cache->key[at] == key + 1) return (first_line(m, key) + cache->to_frame[at]) << LINE_LOG2;
    const uint64_t *frame = pages_use(m->pages, sm, key);
    DIAG_ASSERT(frame && !(*frame & PAGES_INTERLEAVED));
    cache_page(m, cache, at, key, *frame);
    return *frame;
}

struct home mmu_home(struct mmu *m, uint32_t sm, uint32_t app, uint64_t line)
{
    const uint64_t address = line << LINE_LOG2, key = pages_key(app, address >> m->page_log2);
    uint32_t at;
    if (m->pages->interleaving_count && cached(m, sm, key, &at)->key[at] != key + 1) {
        const uint64_t *const entry = pages_find(m->pages, sm, key);
        if (entry && *entry & PAGES_INTERLEAVED) return pages_line(m->pages, *entry, line);
    }
    const uint64_t frame = mmu_frame(m, sm, key);
    const uint64_t offset = address & (((uint64_t)1 << m->page_log2) - 1);
    return pages_home(m->pages,
                      (FAULT_FIRES(wrong_frame) ? frame ^ (uint64_t)1 << m->page_log2 : frame) + offset);
}

uint32_t mmu_page_log2(const struct mmu *m) { return m->page_log2; }
bool mmu_is_ideal(const struct mmu *m) { return m->ideal && m->prefault; }
const struct pages *mmu_pages(const struct mmu *m) { return m->pages; }

const struct page_cache *mmu_page_cache(const struct mmu *m, uint32_t sm)
{
    return &m->sms[sm - m->wire.first_sm].cache;
}

/* The colour of the next leaf page table of an application. Page tables rotate over the colours of the GPU's
 * own memory that the application owns. If it owns none there, they rotate over all its colours. */
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

/* The home of the leaf entry of a page. The first entry of a page table allocates the frame of the table. */
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

/* ---- L1 TLBs ---- */

/* L1 TLB miss: sends one request to the L2 TLB for all lookups of the page. */
static enum mmu_result request_l2(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (page_index_find(&s->missing, key) != PAGE_INDEX_NONE) {
        m->stats.l1_lookups++;
        m->stats.l1_merged++;
        return MMU_MISS;
    }
    if (s->missing.count == m->l1_misses) return MMU_BUSY;
    m->stats.l1_lookups++;
    m->stats.l1_misses++;
    (void)page_index_add(&s->missing, key);
    ring_add(&s->requests, m->l1_misses, key, now + 1);
    sm -= m->wire.first_sm;
    m->requesting[sm / 64] |= (uint64_t)1 << (sm % 64);
    engine_wake(m->wire.engine, m->component, now + 1);
    return MMU_MISS;
}

enum mmu_result mmu_lookup(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (m->ideal) {
        const bool present = m->prefault || mmu_is_cached(&s->cache, key) || pages_find(m->pages, sm, key);
        return present ? MMU_HIT : request_l2(m, sm, key, now);
    }
    if (tlb_lookup(&s->l1, key)) {
        m->stats.l1_lookups++;
        m->stats.l1_hits++;
        return MMU_HIT;
    }
    return request_l2(m, sm, key, now);
}

enum mmu_result mmu_wait(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    (void)tlb_remove(&m->sms[sm - m->wire.first_sm].l1, key);
    return request_l2(m, sm, key, now);
}

bool mmu_awaits(const struct mmu *m, uint32_t sm, uint64_t key)
{
    const struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    return s->missing.count && page_index_find(&s->missing, key) != PAGE_INDEX_NONE;
}

uint64_t mmu_arrival(struct mmu *m, uint32_t sm, uint64_t now)
{
    struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    if (!s->arrived.count || s->arrived.items[s->arrived.head].cyc > now) return UINT64_MAX;
    const uint64_t key = ring_take(&s->arrived, m->l1_misses).key;
    page_index_remove(&s->missing, page_index_find(&s->missing, key));
    tlb_insert(&s->l1, key);
    return key;
}

uint64_t mmu_arrival_cyc(const struct mmu *m, uint32_t sm)
{
    const struct mmu_sm *s = &m->sms[sm - m->wire.first_sm];
    return s->arrived.count ? s->arrived.items[s->arrived.head].cyc : ENGINE_NEVER;
}

/* From here on SMs are numbered within the GPU. */

/* Sends the translation to the SM, where it arrives at cyc. A walk may end before an earlier L2 TLB hit
 * arrives, so the ring is kept in order of arrival. */
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

static inline uint64_t *sms_of_walk(const struct mmu *m, uint32_t walk)
{
    return m->walk_sms + (size_t)walk * m->words;
}

static inline uint64_t key_of_walker(const struct mmu *m, uint32_t walker)
{
    return m->walks.entries[m->walkers[walker].walk].key;
}

static inline uint64_t bit_of_walker(uint32_t walker) { return (uint64_t)1 << walker; }

/* Converts a cycle of one clock to the first cycle of another clock that is not earlier. */
static inline uint64_t in_clock(uint64_t cyc, uint64_t from_ticks, uint64_t to_ticks)
{
    return from_ticks == to_ticks ? cyc : (cyc * from_ticks + to_ticks - 1) / to_ticks;
}

/* The walker acts again at due_cyc. */
static void set_due(struct mmu *m, uint32_t walker, uint64_t due_cyc)
{
    m->walkers[walker].due_cyc = due_cyc;
    m->timed |= bit_of_walker(walker);
    if (due_cyc < m->next_due_cyc) m->next_due_cyc = due_cyc;
    engine_wake(m->wire.engine, m->component, due_cyc);
}

static void read_entry(struct mmu *m, uint32_t walker, uint64_t now)
{
    const uint64_t key = key_of_walker(m, walker);
    const uint32_t idx = pool_try_take(m->wire.requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    struct request *r = request_at(m->wire.requests, idx);
    *r = (struct request){.kind = REQUEST_WALK,
                          .owner = walker,
                          .home = entry_home(m, key),
                          .sent_cyc = now,
                          .sm = (uint16_t)m->wire.number,
                          .app = (uint8_t)(key >> 56)};
    r->sectors = 1; /* an entry lies in one sector; the sector number does not affect timing */
    slice_walk(m->wire.slices[r->home.slice], idx,
               in_clock(now + m->walk_cache_cyc + m->walk_latency_cyc, m->wire.ticks_per_cycle,
                        m->wire.llc_ticks_per_cycle));
}

static void end_walk(struct mmu *m, uint32_t walker, uint64_t now);

/* The page has a frame: reads its leaf entry. An ideal MMU has the frame without a read. */
static void finish_walk(struct mmu *m, uint32_t walker, uint64_t now)
{
    if (m->ideal)
        end_walk(m, walker, now);
    else
        read_entry(m, walker, now);
}

static void start_walk(struct mmu *m, uint32_t walker, uint32_t walk, uint64_t now)
{
    struct walker *w = &m->walkers[walker];
    w->walk = walk;
    w->begin_cyc = now;
    m->free &= ~bit_of_walker(walker);
    m->stats.walks += !m->ideal;
    m->stats.walk_wait_cycles += now - m->walk_from_cyc[walk];
    if (pages_frame(m->pages, m->walks.entries[walk].key))
        finish_walk(m, walker, now);
    else
        m->faulting |= bit_of_walker(walker);
}

/* Hands walks of pages without a frame to the fault handler, up to its limit. */
static void start_faults(struct mmu *m, uint64_t now)
{
    for (uint64_t left = m->faulting & ~m->timed; left && m->faults_now < m->fault_limit; left &= left - 1) {
        m->faults_now++;
        m->stats.faults++;
        set_due(m, (uint32_t)__builtin_ctzll(left), now + m->fault_cyc);
    }
}

/* The fault handler has finished: the page gets a frame, unless it has got one since, and the walk goes on.
 */
static void end_fault(struct mmu *m, uint32_t walker, uint64_t now)
{
    const uint64_t key = key_of_walker(m, walker);
    m->faults_now--;
    m->faulting &= ~bit_of_walker(walker);
    if (!pages_frame(m->pages, key))
        (void)place(m, m->wire.first_sm + m->walk_first_sm[m->walkers[walker].walk], key);
    finish_walk(m, walker, now);
}

/* pages.copier: the masks of the L2 TLB at the end of a walk. True: the page must move, and its SMs wait. */
static bool walk_faults(struct mmu *m, uint64_t key, const uint64_t *sms)
{
    bool faults = false;
    for (uint32_t k = 0; k < m->words; k++)
        for (uint64_t left = sms[k]; left; left &= left - 1) {
            const uint32_t sm = m->wire.first_sm + k * 64 + (uint32_t)__builtin_ctzll(left);
            if (!pages_faults(m->pages, sm, key)) return false; /* all SMs of a walk are served alike */
            faults = true;
        }
    m->stats.walk_faults += faults;
    return faults;
}

static void translate(struct mmu *m, uint64_t key, const uint64_t *sms, uint64_t now)
{
    if (m->follows && !FAULT_FIRES(mask_skips_walks) && walk_faults(m, key, sms)) return;
    uint32_t line = tags_find(&m->l2, (uint32_t)(key % m->l2.sets), key);
    if (line == TAGS_NONE && !m->ideal) {
        line = tags_victim(&m->l2, (uint32_t)(key % m->l2.sets));
        tags_fill(&m->l2, line, key);
    }
    for (uint32_t k = 0; k < m->words; k++)
        for (uint64_t left = sms[k]; left; left &= left - 1)
            deliver(m, k * 64 + (uint32_t)__builtin_ctzll(left), key, now + 1);
}

static void end_walk(struct mmu *m, uint32_t walker, uint64_t now)
{
    const uint32_t walk = m->walkers[walker].walk;
    translate(m, key_of_walker(m, walker), sms_of_walk(m, walk), now);
    page_index_remove(&m->walks, walk);
    m->free |= bit_of_walker(walker);
    m->stats.walks_done += !m->ideal; /* of an ideal MMU: the wait for a page fault, not a walk */
    m->stats.walk_cycles += now - m->walkers[walker].begin_cyc;
}

/* The timed walkers that are due act. The function also finds the next due cycle. */
static void step_timed(struct mmu *m, uint64_t now)
{
    const uint64_t timed = m->timed;
    m->next_due_cyc = ENGINE_NEVER;
    for (uint64_t left = timed; left; left &= left - 1) {
        const uint32_t k = (uint32_t)__builtin_ctzll(left);
        const uint64_t due_cyc = m->walkers[k].due_cyc;
        if (due_cyc > now) {
            if (due_cyc < m->next_due_cyc) m->next_due_cyc = due_cyc;
            continue;
        }
        m->timed &= ~bit_of_walker(k);
        if (m->faulting & bit_of_walker(k))
            end_fault(m, k, now);
        else
            end_walk(m, k, now);
        engine_progress(m->wire.engine);
    }
}

static void step_walkers(struct mmu *m, uint64_t now)
{
    if (m->next_due_cyc <= now) step_timed(m, now);
    while (m->queue_count && m->free) {
        const uint32_t walk = m->queue[m->queue_head];
        if (m->walk_from_cyc[walk] > now) break; /* the L2 TLB has not detected the miss yet */
        if (++m->queue_head == m->queue_capacity) m->queue_head = 0;
        m->queue_count--;
        start_walk(m, (uint32_t)__builtin_ctzll(m->free), walk, now);
    }
    start_faults(m, now);
}

void mmu_walk_done(void *mmu, uint32_t owner, uint64_t ready_cyc)
{
    struct mmu *m = mmu;
    set_due(m, owner,
            in_clock(ready_cyc, m->wire.llc_ticks_per_cycle, m->wire.ticks_per_cycle) + m->walk_latency_cyc);
}

/* ---- the L2 TLB ---- */

/* Queues a walk that a walker may take from a cycle on. No SM waits for the walk yet. Returns its entry. */
static uint32_t queue_walk(struct mmu *m, uint32_t first_sm, uint64_t key, uint64_t from_cyc)
{
    const uint32_t walk = page_index_add(&m->walks, key);
    const uint32_t tail = m->queue_head + m->queue_count++;
    DIAG_ASSERT(m->queue_count <= m->queue_capacity);
    m->queue[tail < m->queue_capacity ? tail : tail - m->queue_capacity] = walk;
    m->walk_from_cyc[walk] = from_cyc;
    m->walk_first_sm[walk] = first_sm;
    memset(sms_of_walk(m, walk), 0, m->words * sizeof *m->walk_sms);
    return walk;
}

static void lookup_l2(struct mmu *m, uint32_t sm, uint64_t key, uint64_t now)
{
    const uint32_t line = tags_find(&m->l2, (uint32_t)(key % m->l2.sets), key);
    m->stats.l2_lookups++;
    if (m->holds && pages_held(m->pages, m->wire.first_sm + sm, key)) {
        m->stats.l2_held++;
        return;
    }
    if (line != TAGS_NONE && m->follows && pages_faults(m->pages, m->wire.first_sm + sm, key)) {
        m->stats.l2_faults++;
        return;
    }
    if (line != TAGS_NONE) {
        m->stats.l2_hits++;
        tags_touch(&m->l2, line);
        deliver(m, sm, key, now + m->l2_latency_cyc);
        return;
    }
    if (m->ideal &&
        pages_find(m->pages, m->wire.first_sm + sm, key)) { /* placed or released since the SM's lookup */
        m->stats.l2_hits++;
        deliver(m, sm, key, now + 1);
        return;
    }
    uint32_t walk = page_index_find(&m->walks, key);
    if (walk != PAGE_INDEX_NONE)
        m->stats.l2_merged++;
    else
        walk = queue_walk(m, sm, key, m->ideal ? now : now + m->l2_latency_cyc);
    sms_of_walk(m, walk)[sm / 64] |= (uint64_t)1 << (sm % 64);
}

void mmu_resume(struct mmu *m, uint64_t key, const uint64_t *sms, uint64_t now)
{
    if (m->ideal) {
        for (uint32_t k = 0; k < m->words; k++)
            for (uint64_t left = sms[k]; left; left &= left - 1)
                deliver(m, k * 64 + (uint32_t)__builtin_ctzll(left), key, now + 1);
        return;
    }
    uint32_t walk = page_index_find(&m->walks, key);
    if (walk == PAGE_INDEX_NONE) {
        uint32_t word = 0;
        while (word + 1 < m->words && !sms[word]) word++;
        walk =
            queue_walk(m, word * 64 + (sms[word] ? (uint32_t)__builtin_ctzll(sms[word]) : 0), key, now + 1);
    }
    uint64_t *const waiting = sms_of_walk(m, walk);
    for (uint32_t k = 0; k < m->words; k++) waiting[k] |= sms[k];
    engine_wake(m->wire.engine, m->component, now + 1);
}

/* The next SM at or after `from` with a request for the L2 TLB, in cyclic order. UINT32_MAX: none. */
static uint32_t next_requesting(const struct mmu *m, uint32_t from)
{
    for (uint32_t k = 0; k <= m->words; k++) {
        const uint32_t word = (from / 64 + k) % m->words;
        uint64_t bits = m->requesting[word];
        if (k == 0) bits &= ~(uint64_t)0 << (from % 64);
        if (bits) return word * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    return UINT32_MAX;
}

/* Number of SMs from `from` on, in cyclic order, before the first one with a visible request. UINT32_MAX:
 * none. A request of the current cycle is not visible, so the order of evaluation within a cycle has no
 * effect. */
static uint32_t distance_to_request(const struct mmu *m, uint32_t from, uint64_t now)
{
    const uint32_t count = m->wire.sm_count;
    for (uint32_t passed = 0; passed < count; passed++) {
        const uint32_t at = (from + passed) % count, sm = next_requesting(m, at);
        if (sm == UINT32_MAX) break;
        passed += (sm - at + count) % count;
        const struct page_ring *requests = &m->sms[sm].requests;
        if (passed < count && requests->items[requests->head].cyc <= now) return passed;
    }
    return UINT32_MAX;
}

static bool serve_l2(struct mmu *m, uint64_t now)
{
    const uint32_t count = m->wire.sm_count;
    for (uint32_t port = 0, looked = 0; port < m->l2_ports && looked < count; port++) {
        const uint32_t passed = distance_to_request(m, m->rr_sm, now), sm = (m->rr_sm + passed) % count;
        if (passed == UINT32_MAX) break;
        struct page_ring *requests = &m->sms[sm].requests;
        lookup_l2(m, sm, ring_take(requests, m->l1_misses).key, now);
        if (!requests->count) m->requesting[sm / 64] &= ~((uint64_t)1 << (sm % 64));
        m->rr_sm = (sm + 1) % count;
        looked += passed + 1;
    }
    return next_requesting(m, 0) != UINT32_MAX;
}

static void wake(void *self, uint64_t now)
{
    struct mmu *m = self;
    const bool more = serve_l2(m, now);
    step_walkers(m, now);
    uint64_t next = more ? now + 1 : ENGINE_NEVER;
    if (m->next_due_cyc < next) next = m->next_due_cyc;
    if (m->queue_count) {
        /* If the first walk is due and still queued, all walkers are busy. The end of a walk wakes the MMU
         * then. */
        const uint64_t from_cyc = m->walk_from_cyc[m->queue[m->queue_head]];
        if (from_cyc > now && from_cyc < next) next = from_cyc;
    }
    if (next != ENGINE_NEVER) engine_wake(m->wire.engine, m->component, next > now ? next : now + 1);
}

/* ---- shootdown, building ---- */

void mmu_invalidate_l1(struct mmu *m, uint64_t key, uint32_t first_sm, uint32_t sm_count)
{
    for (uint32_t sm = first_sm; sm < first_sm + sm_count; sm++) {
        uint32_t at;
        struct page_cache *cache = cached(m, sm, key, &at);
        (void)tlb_remove(&m->sms[sm - m->wire.first_sm].l1, key);
        if (cache->key[at] == key + 1) cache->key[at] = 0;
    }
}

uint32_t mmu_waiting(const struct mmu *m, uint32_t sm)
{
    return m->ideal ? 0 : m->sms[sm - m->wire.first_sm].missing.count;
}

void mmu_flush_l1(struct mmu *m, uint32_t sm)
{
    struct mmu_sm *const s = &m->sms[sm - m->wire.first_sm];
    DIAG_ASSERT(!mmu_waiting(m, sm));
    tlb_clear(&s->l1);
    memset(s->cache.key, 0, sizeof s->cache.key);
}

bool mmu_l1_is_flushed(const struct mmu *m, uint32_t sm)
{
    return !m->sms[sm - m->wire.first_sm].l1.newest_key;
}

void mmu_shootdown(struct mmu *m, uint64_t key)
{
    mmu_invalidate_l1(m, key, m->wire.first_sm, m->wire.sm_count);
    const uint32_t line = tags_find(&m->l2, (uint32_t)(key % m->l2.sets), key);
    if (line != TAGS_NONE) tags_drop(&m->l2, line);
    m->stats.shootdowns++;
}

struct mmu_stats *mmu_stats(struct mmu *m) { return &m->stats; }

void mmu_count_waiting(struct mmu *m)
{
    m->stats.waiting = 0;
    for (uint32_t k = 0; k < m->wire.sm_count; k++)
        m->stats.waiting += m->sms[k].missing.count - m->sms[k].arrived.count;
}

static struct wait waits(void *self)
{
    const struct mmu *m = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    const uint32_t busy = m->walker_count - (uint32_t)__builtin_popcountll(m->free);
    if (!busy && !m->queue_count) return w;
    w.reason = m->faults_now ? WAIT_PAGE_FAULT : WAIT_REPLY;
    (void)snprintf(w.detail, sizeof w.detail, "%u walks in flight, %u queued, %u faults", busy,
                   m->queue_count, m->faults_now);
    return w;
}

static void build_sm(struct mmu *m, struct arena *a, uint32_t sm, const struct config *c)
{
    struct mmu_sm *s = &m->sms[sm];
    tlb_init(&s->l1, a, c->mmu.l1_entries);
    s->requests.items = ARENA_ARRAY(a, struct timed_page, m->l1_misses);
    s->arrived.items = ARENA_ARRAY(a, struct timed_page, m->l1_misses);
    page_index_init(&s->missing, a, m->l1_misses);
}

static void build_walkers(struct mmu *m, struct arena *a, const struct config *c)
{
    m->walker_count = c->mmu.walkers;
    DIAG_ASSERT(m->walker_count > 0 && m->walker_count <= WALKERS_MAX);
    m->walkers = ARENA_ARRAY(a, struct walker, m->walker_count);
    m->free = ~(uint64_t)0 >> (WALKERS_MAX - m->walker_count);
    m->next_due_cyc = ENGINE_NEVER;
    /* Each walk has a waiting SM, and an SM waits for at most l1_misses pages. */
    m->queue_capacity = m->wire.sm_count * m->l1_misses;
    m->queue = ARENA_ARRAY(a, uint32_t, m->queue_capacity);
    page_index_init(&m->walks, a, m->queue_capacity);
    m->walk_from_cyc = ARENA_ARRAY(a, uint64_t, (size_t)m->queue_capacity + 1);
    m->walk_sms = ARENA_ARRAY(a, uint64_t, ((size_t)m->queue_capacity + 1) * m->words);
    m->walk_first_sm = ARENA_ARRAY(a, uint32_t, (size_t)m->queue_capacity + 1);
}

struct mmu *mmu_new(struct arena *a, const struct config *c, const struct mmu_wiring *wiring)
{
    struct mmu *m = ARENA_NEW(a, struct mmu);
    m->wire = *wiring;
    m->page_log2 = (uint32_t)__builtin_ctzll(c->map.page_size);
    m->ideal = c->mmu.mode == mmu_mode_ideal;
    m->prefault = c->mmu.prefault;
    m->l1_misses = c->mmu.l1_misses;
    m->l2_ports = m->ideal ? wiring->sm_count : c->mmu.l2_ports;
    m->l2_latency_cyc = c->mmu.l2_latency_cyc;
    m->walk_cache_cyc = c->mmu.walk_cache_cyc;
    m->walk_latency_cyc = c->mmu.walk_latency_cyc;
    m->fault_limit = c->mmu.faults;
    m->fault_cyc = config_cycles_in(c->mmu.fault, c->clock.sm);
    m->pages = wiring->pages;
    m->holds = pages_may_move(m->pages);
    m->follows = pages_follow(m->pages);
    map_init(&m->tables);
    const uint32_t ways = c->mmu.l2_ways < c->mmu.l2_entries ? c->mmu.l2_ways : c->mmu.l2_entries;
    tags_init(&m->l2, a, c->mmu.l2_entries / ways, ways, replacement_lru, 0);
    m->words = (wiring->sm_count + 63) / 64;
    m->requesting = ARENA_ARRAY(a, uint64_t, m->words);
    m->sms = ARENA_ARRAY(a, struct mmu_sm, wiring->sm_count);
    for (uint32_t k = 0; k < wiring->sm_count; k++) build_sm(m, a, k, c);
    build_walkers(m, a, c);
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
