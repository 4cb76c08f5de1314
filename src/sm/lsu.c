/* lsu: the memory pipe of an SM, from the issue of a memory instruction to its last line.
 *
 *   lsu_issue() --> queue --> translate --hit--> L1 (l1.c) --miss, write--> misses --> request network
 *                                |                ^
 *                                | miss           | replay: precedes the queue
 *                                v                |
 *                             parked lists ----> replay list <-- mmu_arrival()
 *
 *   lsu_reply() <-- reply network: fills the L1, completes loads, acknowledges stores
 *
 * coalesce.c forms the lines of an instruction. Lines enter the L1 in order, except behind an access that
 * waits for a page. In lookahead windows pump.c serves the frequent cases.
 *
 * Accesses that wait for pages are nodes of linked lists: sm.waiting holds the accesses, sm.waiting_next the
 * links. A missing page selects one of SM_PAGE_LISTS parked lists by hash, so that an arrival visits few
 * other accesses.
 *
 * Invariants:
 *  1. A node is in exactly one list: a parked list, the replay list or the free list.
 *  2. parked_count + replay_count <= spec->waiting_for_pages (mmu.l1_waiting).
 *  3. Each page that the MMU counts as missing for the SM has at least one parked access.
 *
 * A pipe that is blocked for want of a page entry (stall_page_busy) continues after an arrival only, by
 * invariant 3, and is not retried before. With a pager the pipe retries in each activation: the pager may
 * release a page, and it counts retries. */
#include "pages/pages.h"
#include "sm/send.h"
#include "sm/structures.h"

/* ---- issue ---- */

static inline uint8_t kind_of(const struct warp_op_info *info)
{
    if (info->class == WARP_CLASS_LOAD) return REQUEST_READ;
    switch ((enum warp_class)info->class) {
    case WARP_CLASS_STORE: return REQUEST_WRITE;
    case WARP_CLASS_ATOMIC: return info->dst_count ? REQUEST_ATOMIC : REQUEST_REDUCTION;
    case WARP_CLASS_REDUCTION: return REQUEST_REDUCTION;
    default: return REQUEST_READ;
    }
}

static uint8_t flags_of(const struct warp_op *op)
{
    uint32_t f = 0;
    const bool load = op->info->class == WARP_CLASS_LOAD;
    if (op->read_only || (load && FAULT_FIRES(read_only_wrong))) f |= REQUEST_READ_ONLY;
    if (op->info->flags & (WARP_F_STRONG | WARP_F_CACHE_L2)) f |= REQUEST_UNCACHED;
    if (load && op->info->flags & WARP_F_STRONG && op->info->scope >= WARP_SCOPE_GPU) f |= REQUEST_STRONG;
    return (uint8_t)f;
}

/* Destination registers become readable at the short cycle cyc. */
static void lock_registers(struct sm *sm, uint32_t warp, const struct warp_op_info *info, uint32_t base,
                           uint32_t cyc)
{
    uint32_t *const regs = sm_regs(sm, warp);
    for (uint32_t k = 0; k < info->dst_count; k++) regs[(base + info->dst[k]) % SM_REGS] = cyc;
}

/* Fills the free entry idx of sm.loads. plain: the instruction is neither a texture fetch nor a copy. */
static inline void new_load(struct sm *sm, uint16_t idx, struct sm_block *block, uint32_t warp,
                            uint32_t lines, uint64_t now, bool plain)
{
    const struct warp_op *op = &sm->op;
    const bool copy = !plain && op->info->class == WARP_CLASS_COPY_ASYNC;
    const bool texture = !plain && op->info->class == WARP_CLASS_TEXTURE;
    sm->loads[idx] = (struct load){
        .info = op->info,
        .issue_cyc = now,
        .reg_base = op->reg_base,
        .after_cyc =
            texture ? sm->spec->classes[sm_class_idx(WARP_SPACE_NONE, WARP_CLASS_TEXTURE)].latency_cyc : 0,
        .remaining = (uint16_t)lines,
        .warp = (uint8_t)warp,
        .copy = copy};
    block->loads++;
    if (copy)
        sm->warps[warp].copies++;
    else
        lock_registers(sm, warp, op->info, op->reg_base, short_cyc(now) + SM_FAR);
}

/* Computes the physical line, home slice and L1 indices of a read at issue. slot: the page's slot in
 * sm.pages. */
static inline void look_ahead(const struct sm *sm, struct line_access *a, uint32_t slot)
{
    a->physical = a->line + sm->pages->to_frame[slot];
    a->where = (struct line_where){
        .slice = (uint16_t)pages_slice_in(sm->table, sm->pages->slice[slot], a->line),
        .set = (uint16_t)l1_set_of(sm->spec, a->line), /* the complete set index if l1.quick */
        .slot = (uint16_t)l1_slot_idx(a->line),
        .hint = tags_hint(a->line)};
    a->sectors |= sm->l1.whole;
}

/* Called before the access to a page. Returns the slot of the page in sm.pages, valid if the page has a
 * frame. */
static inline uint32_t touch_page(struct sm *sm, uint64_t page)
{
    const uint64_t key = pages_key(sm->app, page);
    const uint32_t slot = mmu_page_slot(key);
    if (__builtin_expect(sm->pages->key[slot] != key + 1, 0)) mmu_touch(sm->wire.mmu, sm->wire.sm_idx, key);
    return slot;
}

/* Touches the pages of count lines. Precondition: count > 0. */
static inline void touch_lines(struct sm *sm, struct line_access *a, uint32_t count, bool looks_ahead)
{
    const uint32_t page_log2 = sm->page_lines_log2;
    uint64_t page = a->line >> page_log2;
    uint32_t slot = touch_page(sm, page);
    if (looks_ahead) look_ahead(sm, a, slot);
    for (const struct line_access *const end = a + count; ++a < end;) {
        if (a->line >> page_log2 != page) {
            page = a->line >> page_log2;
            slot = touch_page(sm, page);
        }
        if (looks_ahead) look_ahead(sm, a, slot);
    }
}

/* Touches the pages of all lines of an instruction. A texture fetch may have more lines than lanes. */
static inline void touch_pages(struct sm *sm, struct memory_instr *m, uint32_t count, bool texture,
                               bool looks_ahead)
{
    const uint32_t first = texture && count > SM_LANES ? SM_LANES : count;
    if (first) touch_lines(sm, m->lines, first, looks_ahead);
    if (first < count) touch_lines(sm, m->more, count - first, looks_ahead);
}

/* ---- machines with several memory nodes ---- */

static struct structures *structures_of(const struct sm *sm, const struct line_access *a)
{
    return sm->places[a->place].kernel->structures;
}

/* Sets the cache hint of loads, line by line: a gather may touch several structures. */
static __attribute__((noinline)) void set_hints(const struct sm *sm, struct memory_instr *m, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        struct line_access *const a = line_of(m, k);
        if (structures_find(structures_of(sm, a), a->line)->once) a->flags |= REQUEST_ONCE;
    }
}

/* Counts a line access by the distance of its home. Precondition: the page has a frame. */
static __attribute__((noinline)) void count_node(struct sm *sm, const struct line_access *a)
{
    struct structure *const s = structures_find(structures_of(sm, a), a->line);
    const uint32_t chiplet = sm->wire.sm_idx / sm->spec->sms_per_chiplet,
                   home = home_of(sm, a->line).slice / sm->spec->slices_per_chiplet;
    s->lines++;
    if (home == chiplet) {
        sm->stats.lines_home++;
        return;
    }
    s->lines_off_chiplet++;
    sm->stats.lines_off_chiplet++;
    if (home / sm->spec->chiplets_per_gpu == chiplet / sm->spec->chiplets_per_gpu) return;
    s->lines_off_gpu++;
    sm->stats.lines_off_gpu++;
}

/* ---- --check ---- */

static struct check_access access_of(const struct sm *sm, const struct line_access *a)
{
    const bool waits = a->kind == REQUEST_READ || a->kind == REQUEST_ATOMIC;
    return (struct check_access){.line = a->line,
                                 .bytes = {a->bytes[0], a->bytes[1]},
                                 .block = sm->blocks[sm->warps[a->warp].block].idx,
                                 .app = sm->app,
                                 .kernel = sm->places[a->place].kernel->number,
                                 .sm = sm->wire.sm_idx,
                                 .load = a->load,
                                 .warp = a->warp,
                                 .generation = waits ? sm->warps[a->warp].generation : a->load,
                                 .reads = waits,
                                 .read_only = (a->flags & REQUEST_READ_ONLY) != 0,
                                 .writes = a->kind != REQUEST_READ};
}

/* Line of a block's context (migrating block): no warp of the kernel waits for the line. */
static void check_context(const struct sm *sm, struct check_access *a, uint64_t now)
{
    a->warp = UINT8_MAX;
    a->reads = false;
    if (a->writes) check_issue(sm->wire.check, a, now);
}

static void check_lines(const struct sm *sm, struct memory_instr *m, uint32_t warp, uint64_t now)
{
    const struct warp_op_info *info = sm->op.info;
    if (info->flags & WARP_F_RELEASE && info->scope >= WARP_SCOPE_GPU) sm_check_release(sm, warp, now);
    for (uint32_t k = 0; k < m->count; k++) {
        const struct check_access a = access_of(sm, line_of(m, k));
        check_issue(sm->wire.check, &a, now);
    }
}

/* Coalesces a load whose lanes access 32 different lines. False: out is invalid and coalesce() has to be
 * used. */
static inline bool scatter(const struct sm *sm, const struct line_access *model, struct line_access *out)
{
    const struct warp_op *const op = &sm->op;
    const uint32_t bytes = op->info->bytes;
    if (!sm->spec->scatters || op->grouped || op->mask != UINT32_MAX || (bytes & (bytes - 1)) ||
        bytes > SECTOR_BYTES)
        return false;
    /* early exit for most loads with several lanes per line */
    const uint64_t *const at = op->address;
    if (!((at[0] ^ at[1]) >> LINE_LOG2) || !((at[1] ^ at[2]) >> LINE_LOG2)) return false;
    return lsu_scatter_avx2(sm, at, model, out);
}

/* load: the instruction is a load of global or local memory, neither texture fetch nor copy, without --check.
 */
static inline __attribute__((always_inline)) void issue(struct sm *sm, uint32_t warp, uint64_t now, bool load)
{
    const struct warp_op *op = &sm->op;
    const uint8_t kind = load ? REQUEST_READ : kind_of(op->info), flags = flags_of(op);
    const bool writes = kind != REQUEST_READ, atomic = kind == REQUEST_ATOMIC || kind == REQUEST_REDUCTION;
    const bool waits = kind == REQUEST_READ || kind == REQUEST_ATOMIC, checked = !load && sm->wire.check;
    struct memory_instr *const m = sm->back;
    struct sm_block *const block = &sm->blocks[sm->warps[warp].block];
    DIAG_ASSERT(lsu_has_room(sm));
    const uint8_t place = block->place;
    const struct line_access model = {.load = waits ? sm->loads_free[--sm->loads_free_count]
                                                    : sm->warps[warp].generation,
                                      .warp = (uint8_t)warp,
                                      .place = place,
                                      .kind = kind,
                                      .flags = flags,
                                      .conflict = 1};
    const bool texture = !load && op->info->class == WARP_CLASS_TEXTURE;
    const bool scattered = load && scatter(sm, &model, m->lines);
    uint32_t count;
    if (scattered)
        count = SM_LANES;
    else if (texture)
        count = coalesce_texels(op, &model, m, sm->arena, checked);
    else
        count = coalesce(op, &model, m->lines, writes || checked, atomic);
    m->count = (uint16_t)count;
    m->at = 0;
    m->translated = m->absent = false;
    m->reads = !writes && !(flags & REQUEST_UNCACHED) && count - 1 < SM_LANES;
    if (waits) new_load(sm, model.load, block, warp, count, now, load);
    if (!scattered) touch_pages(sm, m, count, texture, !writes && !checked);
    if (sm->spec->counts_nodes && !writes) set_hints(sm, m, count);
    if (writes) sm->warps[warp].stores += count;
    if (!waits) sm->places[place].stores += count;
    if (checked) check_lines(sm, m, warp, now);
    if (writes && op->info->flags & WARP_F_RELEASE) sm->fence_cyc[warp] = 0;
    sm->back = lsu_behind(sm, m);
    sm->queue_count++;
    sm->stats.line_accesses += count;
    if (flags & REQUEST_READ_ONLY) sm->stats.read_only_accesses += count;
    STATS_COUNT(sm->stats.lines_per_access, count);
}

void lsu_issue(struct sm *sm, uint32_t warp, uint64_t now)
{
    if (sm->op.info->class == WARP_CLASS_LOAD && !sm->wire.check)
        issue(sm, warp, now, true);
    else
        issue(sm, warp, now, false);
}

/* ---- completion of loads ---- */

void load_done(struct sm *sm, uint32_t idx, uint64_t now)
{
    const struct load *const l =
        &sm->loads[idx]; /* the entry is not reallocated before this function returns */
    struct sm_warp *w = &sm->warps[l->warp];
    struct sm_block *b = &sm->blocks[w->block];
    sm->loads_free[sm->loads_free_count++] = (uint16_t)idx;
    const uint64_t done_cyc = l->issue_cyc + l->done_cyc + l->after_cyc;
    sm->stats.loads_waiting_cyc += done_cyc - l->issue_cyc;
    sm->stats.loads_done++;
    b->loads--;
    if (l->copy)
        w->copies--;
    else
        lock_registers(sm, l->warp, l->info, l->reg_base, short_cyc(done_cyc));
    if (l->info->flags & WARP_F_ACQUIRE && l->info->scope >= WARP_SCOPE_GPU && sm->spec->fence_invalidates)
        sm_acquire(sm, FAULT_FIRES(acquire_invalidates_not), now);
    if (sm->wait_memory & bit_of(l->warp)) {
        sm->wait_memory &= ~bit_of(l->warp);
        sm_wait_over(sm, l->warp, now);
    } else if (!b->warps_left) {
        sm_check_block(sm, w->block, now);
    }
}

/* ---- requests to the network ---- */

/* True if the access must wait because its page is locked, whatever the TLB contains, or because an older access of
 * the SM waits for the page: accesses of a warp to one line keep their order. */
static inline bool page_stops(const struct sm *sm, const struct line_access *a, uint64_t now)
{
    if (!sm->wire.moving_pages) return false;
    const uint64_t key = page_key(sm, a->line);
    return pages_stops(sm->wire.moving_pages, sm->wire.sm_idx, key, a->kind != REQUEST_READ,
                       (a->flags & REQUEST_READ_ONLY) != 0, now) ||
           mmu_awaits(sm->wire.mmu, sm->wire.sm_idx, key);
}

void lsu_check_send(struct sm *sm, const struct line_access *a, uint32_t idx, uint64_t now)
{
    const struct request *r = request_at(sm->wire.requests, idx);
    struct check_access access = access_of(sm, a);
    if (r->owner == MOVE_OWNER) check_context(sm, &access, now);
    check_send(sm->wire.check, &access, idx, r->home.line, now);
}

static inline __attribute__((always_inline)) bool try_send(struct sm *sm, const struct line_access *a,
                                                           uint32_t owner, uint8_t sectors, uint64_t now)
{
    uint64_t *const blocked = send_blocked(sm);
    if (blocked) {
        sm->lsu_blocked = blocked;
        return false;
    }
    send_line(sm, a, pool_take(sm->wire.requests), owner, sectors, now);
    return true;
}
bool lsu_send(struct sm *sm, const struct line_access *a, uint32_t owner, uint8_t sectors, uint64_t now)
{
    return try_send(sm, a, owner, sectors, now);
}

/* Injected fault: swaps the first request with the next request to the same line. */
static void swap_misses(struct sm *sm)
{
    uint32_t *const first = &sm->misses[sm->misses_head];
    for (uint32_t k = 1; k < sm->misses_count; k++) {
        uint32_t *const other = &sm->misses[(sm->misses_head + k) % sm->spec->miss_queue];
        const uint32_t idx = *other;
        if (request_at(sm->wire.requests, idx)->line != request_at(sm->wire.requests, *first)->line) continue;
        *other = *first;
        *first = idx;
        return;
    }
}

/* With path.orders_atomics, atomics and other requests to one line have different first slices. The SM keeps
 * an atomic and a store to one line from being in flight together. Lines share counters; an unnecessary wait
 * does no harm. */
static uint16_t *on_way(struct sm *sm, const struct request *r)
{
    const bool atomic = r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
    const uint32_t k = (uint32_t)(r->line ^ r->line >> 6) % SM_ORDER;
    return atomic ? &sm->atomics_on_way[k] : r->kind == REQUEST_WRITE ? &sm->stores_on_way[k] : NULL;
}

static bool may_overtake(const struct sm *sm, const struct request *r)
{
    const bool atomic = r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
    const uint32_t k = (uint32_t)(r->line ^ r->line >> 6) % SM_ORDER;
    return !(atomic ? sm->stores_on_way[k] : sm->atomics_on_way[k]) || FAULT_FIRES(private_orders_not);
}

/* Sends at most one request per cycle. */
static void send_miss(struct sm *sm, uint64_t now)
{
    if (sm->miss_refused &&
        (lsu_still_refused(sm, now) || !fabric_may_request(sm->wire.fabric, now, sm->wire.sm_idx)))
        return; /* the network wakes the SM when a slot is free */
    sm->miss_refused = false;
    if (FAULT_FIRES(requests_swap)) swap_misses(sm);
    const uint32_t idx = sm->misses[sm->misses_head];
    const struct request *r = request_at(sm->wire.requests, idx);
    const struct organisation *o = sm->wire.organisation;
    if ((sm->hold && sm->hold != SM_DRAINS) || (o->path.orders_atomics && !may_overtake(sm, r))) return;
    uint16_t *const counter = o->path.orders_atomics ? on_way(sm, r) : NULL;
    if (!fabric_try_request(sm->wire.fabric, now, idx, sm->wire.sm_idx, path_first(sm->routes, r))) {
        sm->miss_refused = true;
        return;
    }
    if (++sm->misses_head == sm->spec->miss_queue) sm->misses_head = 0;
    sm->misses_count--;
    if (sm->misses_count) __builtin_prefetch(request_at(sm->wire.requests, sm->misses[sm->misses_head]), 1);
    sm->stats.requests_sent++;
    if (counter) ++*counter;
}

/* ---- L1 accesses, one line at a time ---- */

bool lsu_write(struct sm *sm, const struct line_access *a, uint64_t now)
{
    if (sm->stores_out == sm->spec->stores) {
        sm->lsu_blocked = &sm->l1.stats.wait_mshr;
        return false;
    }
    const uint32_t owner = a->kind == REQUEST_ATOMIC
                               ? a->load
                               : (uint32_t)a->warp | (uint32_t)a->load << 8 | (uint32_t)a->place << 24;
    if (!try_send(sm, a, owner, a->sectors, now)) return false;
    if (FAULT_FIRES(store_sent_twice) && lsu_send(sm, a, owner, a->sectors, now))
        sm->places[a->place].stores++;
    l1_write(sm, a, now);
    sm->stores_out += a->kind != REQUEST_ATOMIC;
    return true;
}

static inline bool access_line(struct sm *sm, const struct line_access *a, uint64_t now)
{
    if (!(a->kind == REQUEST_READ ? l1_read(sm, a, now) : lsu_write(sm, a, now))) return false;
    if (sm->spec->counts_nodes) count_node(sm, a);
    return true;
}

static bool is_waited_for(const struct line_access *a)
{
    return a->kind == REQUEST_READ || a->kind == REQUEST_ATOMIC;
}

/* ---- accesses that wait for pages ---- */

static inline struct access_list *parked_list(struct sm *sm, uint64_t key)
{
    return &sm->parked[(key ^ key >> SM_PAGE_LISTS_LOG2) % SM_PAGE_LISTS];
}

static inline void append(struct sm *sm, struct access_list *list, uint32_t node)
{
    sm->waiting_next[node] = 0;
    if (list->first)
        sm->waiting_next[list->last] = node;
    else
        list->first = node;
    list->last = node;
}

static inline uint32_t take_first(struct sm *sm, struct access_list *list)
{
    const uint32_t node = list->first;
    list->first = sm->waiting_next[node];
    return node;
}

static inline uint32_t allocate_node(struct sm *sm)
{
    const uint32_t node = sm->waiting_free;
    if (!node) {
        DIAG_ASSERT(sm->waiting_used < sm->spec->waiting_for_pages);
        return ++sm->waiting_used;
    }
    sm->waiting_free = sm->waiting_next[node];
    return node;
}

static inline void free_node(struct sm *sm, uint32_t node)
{
    sm->waiting_next[node] = sm->waiting_free;
    sm->waiting_free = node;
}

/* The access of the node waits for its page. */
static void park(struct sm *sm, uint32_t node, uint64_t key)
{
    const struct line_access *const a = &sm->waiting[node];
    append(sm, parked_list(sm, key), node);
    sm->parked_count++;
    if (!is_waited_for(a)) return;
    sm->sources[a->warp].parked++;
    sm_changed(sm, a->warp);
    sm->wait_page |= bit_of(a->warp);
}

static void unpark(struct sm *sm, uint32_t node)
{
    const struct line_access *const a = &sm->waiting[node];
    sm->parked_count--;
    append(sm, &sm->replay, node);
    sm->replay_count++;
    if (!is_waited_for(a) || --sm->sources[a->warp].parked) return;
    sm_changed(sm, a->warp);
    sm->wait_page &= ~bit_of(a->warp);
}

/* Translates the line in front and accesses the L1. True: the line is served or parked. False: the pipe
 * blocks. */
static __attribute__((noinline)) bool translate_and_access(struct sm *sm, struct memory_instr *m,
                                                           uint64_t now)
{
    const struct line_access *a = line_of(m, m->at);
    if (sm->parked_count + sm->replay_count >= sm->spec->waiting_for_pages) {
        sm->lsu_blocked = &sm->stats.stall_page_busy;
        return false;
    }
    if (m->translated && (!sm->wire.moving_pages || !page_stops(sm, a, now))) return access_line(sm, a, now);
    const uint64_t key = page_key(sm, a->line);
    switch (page_stops(sm, a, now) ? mmu_wait(sm->wire.mmu, sm->wire.sm_idx, key, now)
                                   : mmu_lookup(sm->wire.mmu, sm->wire.sm_idx, key, now)) {
    case MMU_HIT: m->translated = true; return access_line(sm, a, now);
    case MMU_MISS: {
        const uint32_t node = allocate_node(sm);
        sm->waiting[node] = *a;
        park(sm, node, key);
        return true;
    }
    case MMU_BUSY: break;
    }
    sm->lsu_blocked = &sm->stats.stall_page_busy;
    return false;
}

/* Moves the accesses to pages that have arrived to the replay list, in the order in which they were parked.
 * Accesses to other pages of the same list stay, in their order. */
static void take_pages(struct sm *sm, uint64_t now)
{
    for (uint64_t key; (key = mmu_arrival(sm->wire.mmu, sm->wire.sm_idx, now)) != UINT64_MAX;) {
        struct access_list *const list = parked_list(sm, key);
        uint32_t node = list->first;
        *list = (struct access_list){0};
        while (node) {
            const uint32_t next = sm->waiting_next[node];
            if (page_key(sm, sm->waiting[node].line) == key)
                unpark(sm, node);
            else
                append(sm, list, node);
            node = next;
        }
        sm->reply_came = true; /* another line is in front, and the MMU can take one more miss */
    }
}

/* Accesses the L1 for the first access of the replay list, which precedes the queue. False: the pipe blocks.
 */
static bool replay_one(struct sm *sm, uint64_t now)
{
    const uint32_t node = sm->replay.first;
    const struct line_access *const a = &sm->waiting[node];
    const uint64_t key = page_key(sm, a->line);
    const bool stale = sm->replay_stale && !FAULT_FIRES(tlb_keeps_at_change);
    const enum mmu_result page = page_stops(sm, a, now) ? mmu_wait(sm->wire.mmu, sm->wire.sm_idx, key, now)
                                 : stale                ? mmu_lookup(sm->wire.mmu, sm->wire.sm_idx, key, now)
                                                        : MMU_HIT;
    if (page == MMU_BUSY) {
        sm->lsu_blocked = &sm->stats.stall_page_busy;
        return false;
    }
    if (page == MMU_MISS) {
        (void)take_first(sm, &sm->replay);
        park(sm, node, key);
    } else {
        if (!access_line(sm, a, now)) return false;
        free_node(sm, take_first(sm, &sm->replay));
    }
    sm->replay_count--;
    if (sm->replay_stale) sm->replay_stale--;
    return true;
}

static inline bool access_one(struct sm *sm, uint64_t now)
{
    if (sm->replay_count) return replay_one(sm, now);
    if (!sm->queue_count) return false;
    struct memory_instr *m = sm->front;
    if (m->count &&
        !(sm->translates ? translate_and_access(sm, m, now) : access_line(sm, line_of(m, m->at), now)))
        return false;
    if (lsu_next_line(sm, m)) {
        const uint64_t line = line_of(m, m->at)->line;
        l1_coming(&sm->l1, l1_slot_idx(line), l1_set_of(sm->spec, line));
    }
    return true;
}

void lsu_step(struct sm *sm, uint64_t now)
{
    if (sm->lsu_blocked) *sm->lsu_blocked += now - sm->lsu_blocked_cyc;
    sm->lsu_blocked_cyc = now;
    if (sm->parked_count) take_pages(sm, now);
    if (!lsu_still_blocked(sm) && sm->hold != SM_DRAINS) {
        sm->lsu_blocked = NULL;
        sm->reply_came = false;
        uint32_t left = sm->spec->lines_per_cyc;
        while (access_one(sm, now) && --left) {
        }
    }
    if (sm->misses_count) send_miss(sm, now);
}

/* ---- replies ---- */

/* A line of a store or atomic of the warp is written. The last one releases a warp that waits at a fence. */
static void write_done(struct sm *sm, uint32_t warp, uint64_t now)
{
    struct sm_warp *w = &sm->warps[warp];
    w->stores--;
    if (w->stores || !(sm->wait_fence & bit_of(warp))) return;
    sm->wait_fence &= ~bit_of(warp);
    sm_wait_over(sm, warp, now);
}

static void store_acknowledged(struct sm *sm, uint32_t owner, uint64_t now)
{
    if (owner == MOVE_OWNER) {
        move_line_done(sm);
        return;
    }
    const uint32_t warp = owner & 0xff;
    const struct sm_warp *w = &sm->warps[warp];
    sm->stores_out--;
    sm->places[owner >> 24].stores--;
    if (w->generation != (owner >> 8 & 0xffff)) return; /* the warp has ended; another warp has its slot */
    write_done(sm, warp, now);
}

/* --check: checks the data of the reply. Precondition: the request is still allocated. */
static void check_answer(struct sm *sm, uint32_t idx, uint64_t now)
{
    const struct request *r = request_at(sm->wire.requests, idx);
    if (r->owner == MOVE_OWNER)
        ; /* context of a migrating block: no load reads the data */
    else if (r->kind == REQUEST_ATOMIC || (r->kind == REQUEST_READ && r->owner & 1u << 31))
        check_load_reply(sm->wire.check, idx, r->owner & 0xffff, now);
    else if (r->kind == REQUEST_READ)
        check_copy_reply(sm->l1.copies, tags_lines(&sm->l1.tags) + r->owner, idx, r->sectors);
    check_reply(sm->wire.check, idx, now);
}

/* Reply to a store, reduction or atomic. */
static __attribute__((noinline)) void written(struct sm *sm, enum request_kind kind, uint32_t owner,
                                              uint64_t now)
{
    switch (kind) {
    case REQUEST_ATOMIC:
        write_done(sm, sm->loads[owner].warp, now);
        load_line_done(sm, owner, now + sm->spec->fill_latency_cyc, now);
        break;
    case REQUEST_WRITE:
    case REQUEST_REDUCTION: store_acknowledged(sm, owner, now); break;
    case REQUEST_READ:
    case REQUEST_WALK:
    case REQUEST_INVALIDATE:
    case REQUEST_ACK:
    case REQUEST_KINDS: diag_bug("sm", now, "a reply that no SM asked for");
    }
}

void lsu_reply(struct sm *sm, uint64_t now, uint32_t idx)
{
    const struct request *const r = request_at(sm->wire.requests, idx);
    if (sm->wire.check) check_answer(sm, idx, now);
    if (sm->wire.organisation->path.orders_atomics) {
        uint16_t *const counter = on_way(sm, r);
        if (counter) --*counter;
    }
    if (sm->wire.moving_pages && !(r->flags & REQUEST_CONTEXT))
        pages_answered(sm->wire.moving_pages, page_key(sm, r->line));
    const uint32_t owner = r->owner;
    const bool own = idx - sm->first_request < sm->spec->mshrs; /* permanently allocated to an MSHR */
    if (!own) pool_give(sm->wire.requests, idx); /* not reallocated before this function returns */
    lsu_count_reply(sm, now);
    if (__builtin_expect(r->kind != REQUEST_READ, 0)) {
        sm->write_cyc += now - r->sent_cyc;
        if (sm->wire.store_order) store_order_answer(sm->wire.store_order, r->order, now);
        written(sm, (enum request_kind)r->kind, owner, now);
        return;
    }
    const uint64_t took = own ? short_cyc(now) - l1_mshr_at(&sm->l1, owner)->sent : now - r->sent_cyc;
    sm->stats.reads_done++;
    sm->stats.read_latency_cyc += took;
    lsu_count_latency(sm, took, r->home.slice);
    if (__builtin_expect(!(owner & 1u << 31) && owner != MOVE_OWNER, 1))
        l1_fill(sm, owner, r->sectors, now);
    else if (owner == MOVE_OWNER)
        move_line_done(sm);
    else
        load_line_done(sm, owner & 0xffff, now + sm->spec->fill_latency_cyc, now);
}
