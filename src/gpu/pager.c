/* pager: see pager.h. */
#include "gpu/pager.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "gpu/gpu_private.h"

enum { MESSAGE_ACT, MESSAGE_INTERVAL, MESSAGE_PAID }; /* MESSAGE_PAID + n: the driver is done with move n */

/* What is known of a page. */
struct page {
    uint64_t key;
    uint32_t in_flight;   /* requests of SMs to it */
    struct move *move;    /* it is held for everybody by this one; NULL: it is not */
    uint32_t *accesses;   /* migration: in this interval, by partition */
    bool listed, queued;  /* migration: in the list of pages with accesses; will move */
    bool written;         /* replication: in this kernel, */
    uint64_t written_cyc; /* first then */
    bool no_copies;       /* replication: not in this kernel any more */
    uint64_t *frames;     /* replication: copies by partition, + 1; NULL: none was ever made */
    uint64_t *copying;    /* replication: bit per partition that waits for a copy */
    uint32_t copies, under_way;
    uint64_t *waiting; /* bit per SM that its MMU keeps */
};

enum move_kind { MOVE_MIGRATE, MOVE_COPY, MOVE_COLLAPSE };

struct move {
    struct page *page;
    struct move *next; /* in the queue, or in that of those with lines to ask for */
    uint64_t from, to; /* frames */
    uint64_t begin_cyc;
    uint32_t idx, asked, done; /* lines */
    uint32_t partition;        /* who gets the page */
    uint8_t kind;
    bool paid, drained, due, copies;
};

struct move_queue {
    struct move *first, *last;
};

/* What SMs asked for in a cycle, in no order. */
struct question {
    struct page *page;
    uint32_t partition;
    enum move_kind kind;
};

struct pager {
    struct gpu *gpu;
    uint32_t component, page_log2, lines, partitions, channels_per_partition, sms_per_partition, words;
    bool replicates;
    uint64_t interval_cyc, least, cost_cyc;
    struct map pages;     /* key > struct page */
    struct page **listed; /* with accesses in this interval; room for all pages */
    uint32_t listed_count, listed_capacity;
    struct question *questions;
    uint32_t question_count, question_capacity;
    struct move **moves; /* by idx */
    uint32_t move_count, move_capacity, move_limit, active;
    struct move **due; /* that can go on, in no order */
    uint32_t due_count, due_capacity;
    struct page **copied; /* replication: pages that have had copies in this kernel */
    uint32_t copied_count, copied_capacity;
    uint64_t *free_sms; /* scratch: bit per SM */
    struct move *free;
    struct move_queue queue, asking; /* that wait for the driver; that have lines to ask for */
    uint32_t lines_out, lines_limit;
    uint64_t acts_cyc; /* a message is on its way for this cycle */
    bool ticking;      /* the end of an interval is */
    struct pages_stats stats;
};

/* In the next cycle everything that is due is done, before anybody is visited. */
static void act_soon(struct pager *p)
{
    const uint64_t next = engine_now(p->gpu->engine, p->gpu->sm_domain) + 1;
    if (p->acts_cyc >= next) return;
    p->acts_cyc = next;
    engine_send(p->gpu->engine, p->component, 1, MESSAGE_ACT);
}

static void make_due(struct pager *p, struct move *m)
{
    if (m->due) return;
    m->due = true;
    p->due = grow(p->due, p->due_count, &p->due_capacity, sizeof(struct move *), "pages that move");
    p->due[p->due_count++] = m;
    act_soon(p);
}

/* ---- pages ---- */

static struct page *find(const struct pager *p, uint64_t key)
{
    const uint64_t *found = map_find(&p->pages, key);
    return found ? (struct page *)(uintptr_t)*found : NULL; // NOLINT(performance-no-int-to-ptr)
}

static struct page *known(struct pager *p, uint64_t key)
{
    bool fresh;
    uint64_t *found = map_put(&p->pages, key, &fresh);
    if (fresh) {
        struct arena *a = &p->gpu->arena;
        struct page *page = ARENA_NEW(a, struct page);
        page->key = key;
        page->waiting = ARENA_ARRAY(a, uint64_t, p->words);
        if (p->replicates) {
            page->copying = ARENA_ARRAY(a, uint64_t, (p->partitions + 63) / 64);
            page->frames = ARENA_ARRAY(a, uint64_t, p->partitions);
        } else {
            page->accesses = ARENA_ARRAY(a, uint32_t, p->partitions);
        }
        *found = (uint64_t)(uintptr_t)page;
    }
    return (struct page *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
}

static bool is_copying(const struct page *page, uint32_t partition)
{
    return page->copying && page->copying[partition / 64] >> (partition % 64) & 1;
}

static uint64_t home_frame(const struct pager *p, const struct page *page)
{
    const uint64_t *frame = map_find(&p->gpu->pages->frame_of, page->key);
    DIAG_ASSERT(frame);
    return *frame;
}

static uint32_t home_partition(const struct pager *p, const struct page *page)
{
    return page_table_home(p->gpu->pages, home_frame(p, page)).channel / p->channels_per_partition;
}

static struct mmu *mmu_of(const struct pager *p, const struct page *page)
{
    return p->gpu->mmus[apps_mmu(&p->gpu->apps, (uint32_t)(page->key >> 56), 0)];
}

/* ---- what SMs do ---- */

static bool ask(struct pager *p, struct page *page, uint32_t partition, enum move_kind kind)
{
    p->questions =
        grow(p->questions, p->question_count, &p->question_capacity, sizeof *p->questions, "pages that move");
    p->questions[p->question_count++] = (struct question){page, partition, kind};
    act_soon(p);
    return true;
}

static bool replication_stops(struct pager *p, uint32_t partition, uint64_t key, bool writes, bool read_only,
                              uint64_t now)
{
    struct page *page = known(p, key);
    if (page->move) return true;
    if (writes) {
        if (!(page->copies | page->under_way) || FAULT_FIRES(replica_collapses_not)) return false;
        return ask(p, page, 0, MOVE_COLLAPSE);
    }
    if (is_copying(page, partition)) return true;
    if (!read_only || page->no_copies || page->frames[partition]) return false;
    if (page->written && page->written_cyc < now) return false;
    return home_partition(p, page) != partition && ask(p, page, partition, MOVE_COPY);
}

bool pager_stops(struct pager *p, uint32_t sm, uint64_t key, bool writes, bool read_only, uint64_t now)
{
    bool stops;
    if (p->replicates) {
        stops = replication_stops(p, sm / p->sms_per_partition, key, writes, read_only, now);
    } else {
        const struct page *page = find(p, key);
        stops = page && page->move;
    }
    p->stats.waits += stops;
    return stops;
}

void pager_sent(struct pager *p, uint32_t sm, uint64_t key, bool writes, uint64_t now)
{
    struct page *page = known(p, key);
    page->in_flight++;
    if (p->replicates) {
        if (!writes || page->written) return;
        page->written = true;
        page->written_cyc = now;
        return;
    }
    page->accesses[sm / p->sms_per_partition]++;
    if (page->listed) return;
    page->listed = true;
    p->listed = grow(p->listed, p->listed_count, &p->listed_capacity, sizeof *p->listed, "pages that move");
    p->listed[p->listed_count++] = page;
}

void pager_answered(struct pager *p, uint64_t key, uint64_t now)
{
    struct page *page = find(p, key);
    DIAG_ASSERT(page && page->in_flight);
    (void)now;
    if (!--page->in_flight && page->move) make_due(p, page->move);
}

bool pager_keeps(void *pager, uint32_t sm, uint64_t key)
{
    const struct pager *p = pager;
    struct page *page = find(p, key);
    if (!page || !(page->move || is_copying(page, sm / p->sms_per_partition))) return false;
    page->waiting[sm / 64] |= (uint64_t)1 << (sm % 64);
    return true;
}

/* SMs that waited and may use the page now. */
static void release(struct pager *p, struct page *page, uint64_t now)
{
    uint64_t *const free_sms = p->free_sms;
    bool any = false;
    if (page->move) return;
    memset(free_sms, 0, p->words * sizeof *free_sms);
    for (uint32_t sm = 0; sm < p->gpu->sm_count; sm++) {
        const uint64_t bit = (uint64_t)1 << (sm % 64);
        if (!(page->waiting[sm / 64] & bit) || is_copying(page, sm / p->sms_per_partition)) continue;
        page->waiting[sm / 64] &= ~bit;
        free_sms[sm / 64] |= bit;
        any = true;
    }
    if (any) mmu_resume(mmu_of(p, page), page->key, free_sms, now);
}

/* ---- lines ---- */

/* Line n of the page of a move, from its home slice to that of the new frame. */
static void ask_for_line(struct pager *p, struct move *m, uint32_t n)
{
    struct gpu *g = p->gpu;
    const uint64_t offset = (uint64_t)n * LINE_BYTES;
    const struct home home = page_table_home(g->pages, m->from + offset);
    const struct home to = page_table_home(g->pages, m->to + offset);
    const uint32_t app = (uint32_t)(m->page->key >> 56), idx = pool_try_take(&g->requests);
    DIAG_ASSERT(idx != REQUEST_NONE);
    const uint64_t page = m->page->key & (((uint64_t)1 << 56) - 1);
    struct request *r = request_at(&g->requests, idx);
    *r = (struct request){.line = (page << (p->page_log2 - LINE_LOG2)) + n,
                          .bytes = {to.line},
                          .home = home,
                          .owner = m->idx,
                          .sm = (uint16_t)(m->partition * p->sms_per_partition),
                          .kind = REQUEST_READ,
                          .flags =
                              REQUEST_FETCH | REQUEST_PAGE | (m->kind == MOVE_MIGRATE ? REQUEST_TAKES : 0),
                          .sectors = SECTORS_ALL,
                          .app = (uint8_t)app};
    if (g->check) check_page_read(g->check, idx, app, r->line, home.line, r->sm);
    p->stats.lines++;
    p->lines_out++;
    slice_fetch_page_line(g->slices[to.slice], idx);
}

static void ask_for_lines(struct pager *p)
{
    for (struct move *m; (m = p->asking.first) && p->lines_out < p->lines_limit;) {
        if (m->asked == 0 && FAULT_FIRES(move_skips_line))
            m->done++;
        else
            ask_for_line(p, m, m->asked);
        if (++m->asked == p->lines) p->asking.first = m->next;
    }
}

void pager_line_done(void *pager, uint32_t move)
{
    struct pager *p = pager;
    struct move *m = p->moves[move];
    p->lines_out--;
    if (++m->done == p->lines)
        make_due(p, m);
    else if (p->asking.first)
        act_soon(p);
}

/* ---- moves ---- */

static void put(struct move_queue *q, struct move *m)
{
    m->next = NULL;
    *(q->first ? &q->last->next : &q->first) = m;
    q->last = m;
}

static struct move *new_move(struct pager *p, struct page *page, uint32_t partition, enum move_kind kind)
{
    struct move *m = p->free;
    if (m) {
        p->free = m->next;
    } else {
        p->moves = grow(p->moves, p->move_count, &p->move_capacity, sizeof(struct move *), "pages that move");
        m = ARENA_NEW(&p->gpu->arena, struct move);
        m->idx = p->move_count;
        p->moves[p->move_count++] = m;
    }
    *m = (struct move){.page = page, .idx = m->idx, .partition = partition, .kind = (uint8_t)kind};
    return m;
}

static void set_copying(struct page *page, uint32_t partition, bool on)
{
    const uint64_t bit = (uint64_t)1 << (partition % 64);
    if (on)
        page->copying[partition / 64] |= bit;
    else
        page->copying[partition / 64] &= ~bit;
    page->under_way += on ? 1 : UINT32_MAX;
}

static void answer(struct pager *p, const struct question *q)
{
    struct page *page = q->page;
    if (q->kind == MOVE_COLLAPSE) {
        if (page->move) return; /* several stores */
        page->move = new_move(p, page, 0, MOVE_COLLAPSE);
        put(&p->queue, page->move);
        return;
    }
    if (page->move || is_copying(page, q->partition)) return;
    if (page->written) {
        p->stats.refused++;
        return;
    }
    set_copying(page, q->partition, true);
    put(&p->queue, new_move(p, page, q->partition, MOVE_COPY));
}

static int by_page(const void *a, const void *b)
{
    const struct question *l = a, *r = b;
    if (l->kind != r->kind) return l->kind > r->kind ? -1 : 1; /* stores first */
    if (l->page->key != r->page->key) return l->page->key < r->page->key ? -1 : 1;
    return l->partition < r->partition ? -1 : l->partition > r->partition;
}

static void answer_questions(struct pager *p)
{
    if (!p->question_count) return;
    qsort(p->questions, p->question_count, sizeof *p->questions, by_page);
    for (uint32_t k = 0; k < p->question_count; k++) answer(p, &p->questions[k]);
    p->question_count = 0;
}

static void end_move(struct pager *p, struct move *m, uint64_t now)
{
    struct page *page = m->page;
    p->stats.held_cyc += now - m->begin_cyc;
    if (page->move == m) page->move = NULL;
    release(p, page, now);
    if (page->move && page->move->paid) make_due(p, page->move); /* it waited for this copy */
    m->next = p->free;
    p->free = m;
    p->active--;
}

/* The driver takes it up: it gets a frame, and nobody who must wait knows the page any more. */
static void start(struct pager *p, struct move *m, uint64_t now)
{
    struct gpu *g = p->gpu;
    struct page *page = m->page;
    const uint32_t app = (uint32_t)(page->key >> 56);
    m->begin_cyc = now;
    p->active++;
    stats_peak(&p->stats.peak, p->active);
    if (m->kind != MOVE_COLLAPSE) {
        const uint32_t class =
            m->partition * p->channels_per_partition + (uint32_t)(page->key % p->channels_per_partition);
        m->from = home_frame(p, page);
        if (!page_table_try_frame(g->pages, app, class, &m->to)) {
            p->stats.refused++;
            page->no_copies = true;
            if (m->kind == MOVE_COPY) set_copying(page, m->partition, false);
            end_move(p, m, now);
            return;
        }
    }
    if (m->kind == MOVE_COPY) {
        mmu_forget(mmu_of(p, page), page->key, m->partition * p->sms_per_partition, p->sms_per_partition);
    } else {
        page->move = m;
        mmu_shootdown(mmu_of(p, page), page->key);
    }
    engine_send(g->engine, p->component, p->cost_cyc ? p->cost_cyc : 1, MESSAGE_PAID + m->idx);
    make_due(p, m);
}

static void drop_copy(struct pager *p, struct page *page, uint32_t partition)
{
    struct gpu *g = p->gpu;
    if (!page->frames[partition]) return;
    const uint64_t frame = page->frames[partition] - 1;
    for (uint32_t n = 0; n < p->lines; n++) {
        const struct home home = page_table_home(g->pages, frame + (uint64_t)n * LINE_BYTES);
        slice_forget(g->slices[home.slice], home.line);
        if (g->check) check_frame_free(g->check, home.line);
    }
    page_table_give_frame(g->pages, frame);
    (void)map_remove(&g->pages->replicas, page_table_replica_key(page->key, partition));
    page->frames[partition] = 0;
    page->copies--;
    p->stats.replicas_dropped++;
}

static void collapse(struct pager *p, struct page *page)
{
    for (uint32_t k = 0; page->copies && k < p->partitions; k++) drop_copy(p, page, k);
    page->no_copies = true;
    mmu_forget(mmu_of(p, page), page->key, 0, p->gpu->sm_count);
    p->stats.collapses++;
}

static void take_new_place(struct pager *p, struct move *m)
{
    struct gpu *g = p->gpu;
    struct page *page = m->page;
    const uint32_t app = (uint32_t)(page->key >> 56);
    if (m->kind == MOVE_COPY) {
        if (!page->copies) {
            p->copied = grow(p->copied, p->copied_count, &p->copied_capacity, sizeof(struct page *),
                             "pages that move");
            p->copied[p->copied_count++] = page;
        }
        page->frames[m->partition] = m->to + 1;
        *map_put(&g->pages->replicas, page_table_replica_key(page->key, m->partition), NULL) = m->to;
        page->copies++;
        set_copying(page, m->partition, false);
        mmu_forget(mmu_of(p, page), page->key, m->partition * p->sms_per_partition, p->sms_per_partition);
        p->stats.replicas++;
        return;
    }
    const uint64_t first = (page->key & (((uint64_t)1 << 56) - 1)) << (p->page_log2 - LINE_LOG2);
    for (uint32_t n = 0; g->check && n < p->lines; n++)
        check_page_moved(g->check, app, first + n, (m->to >> LINE_LOG2) + n);
    *map_put(&g->pages->frame_of, page->key, NULL) = m->to;
    page_table_give_frame(g->pages, m->from);
    page_table_uncount(g->pages, m->from);
    (void)page_table_count(g->pages, m->to);
    mmu_forget(mmu_of(p, page), page->key, 0, g->sm_count);
    p->stats.migrations++;
}

/* What a move can do now. */
static void go_on(struct pager *p, struct move *m, uint64_t now)
{
    struct page *page = m->page;
    m->due = false;
    if (!m->drained) {
        m->drained = m->kind == MOVE_COPY || (!page->in_flight && !page->under_way) ||
                     (m->kind == MOVE_MIGRATE && FAULT_FIRES(move_waits_not));
        if (!m->drained) return;
        p->stats.drain_cyc += now - m->begin_cyc;
    }
    if (!m->paid) return;
    if (m->kind == MOVE_COLLAPSE) {
        collapse(p, page);
        end_move(p, m, now);
    } else if (!m->copies) {
        m->copies = true;
        put(&p->asking, m);
    } else if (m->done == p->lines) {
        take_new_place(p, m);
        end_move(p, m, now);
    }
}

/* ---- intervals ---- */

static int by_key(const void *a, const void *b)
{
    const struct page *l = *(struct page *const *)a, *r = *(struct page *const *)b;
    return l->key < r->key ? -1 : l->key > r->key;
}

static void end_interval(struct pager *p)
{
    if (p->listed_count) qsort(p->listed, p->listed_count, sizeof(struct page *), by_key);
    for (uint32_t k = 0; k < p->listed_count; k++) {
        struct page *page = p->listed[k];
        const uint32_t home = home_partition(p, page);
        const uint32_t to = placement_migrate_to(page->accesses, p->partitions, home, p->least);
        memset(page->accesses, 0, p->partitions * sizeof *page->accesses);
        page->listed = false;
        if (to != home && !page->move && !page->queued) {
            page->queued = true;
            put(&p->queue, new_move(p, page, to, MOVE_MIGRATE));
        }
    }
    p->listed_count = 0;
    p->ticking = kernel_any_runs(p->gpu);
    if (p->ticking) engine_send(p->gpu->engine, p->component, p->interval_cyc, MESSAGE_INTERVAL);
}

static int by_number(const void *a, const void *b)
{
    const struct move *l = *(struct move *const *)a, *r = *(struct move *const *)b;
    return l->idx < r->idx ? -1 : l->idx > r->idx;
}

static void receive(void *self, uint64_t now, uint64_t message)
{
    struct pager *p = self;
    if (message == MESSAGE_INTERVAL) end_interval(p);
    if (message >= MESSAGE_PAID) {
        struct move *m = p->moves[message - MESSAGE_PAID];
        m->paid = true;
        make_due(p, m);
    }
    answer_questions(p);
    if (p->due_count) qsort(p->due, p->due_count, sizeof(struct move *), by_number);
    const uint32_t due = p->due_count;
    for (uint32_t k = 0; k < due; k++) go_on(p, p->due[k], now); /* may make more due, for the next cycle */
    p->due_count -= due;
    if (p->due_count) memmove(p->due, p->due + due, p->due_count * sizeof(struct move *));
    for (struct move *m; (m = p->queue.first) && p->active < p->move_limit;) {
        p->queue.first = m->next;
        m->page->queued = false;
        start(p, m, now);
    }
    ask_for_lines(p);
    engine_progress(p->gpu->engine);
}

/* ---- kernels ---- */

void pager_begin(struct gpu *g, uint64_t start_cyc)
{
    struct pager *p = g->pager;
    if (!p || p->replicates || p->ticking) return;
    p->ticking = true;
    engine_send(g->engine, p->component, start_cyc - gpu_now(g) + p->interval_cyc, MESSAGE_INTERVAL);
}

void pager_end(struct gpu *g)
{
    struct pager *p = g->pager;
    if (!p || !p->replicates) return;
    DIAG_ASSERT(!p->active); /* whoever asked for a copy waits for it */
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&p->pages, &cursor));) {
        struct page *page = (struct page *)(uintptr_t)e->value; // NOLINT(performance-no-int-to-ptr)
        page->written = page->no_copies = false;
    }
    for (uint32_t n = 0; n < p->copied_count; n++) {
        struct page *page = p->copied[n];
        for (uint32_t k = 0; page->copies && k < p->partitions; k++) drop_copy(p, page, k);
        mmu_shootdown(mmu_of(p, page), page->key);
    }
    p->copied_count = 0;
}

/* ---- building ---- */

static void nothing(void *self, uint64_t now)
{
    (void)self;
    (void)now;
}

static struct wait waits(void *self)
{
    const struct pager *p = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NOBODY};
    if (!p->active) return w;
    w.reason = WAIT_PAGE_FAULT;
    (void)snprintf(w.detail, sizeof w.detail, "%u pages move, %u of their lines on their way", p->active,
                   p->lines_out);
    return w;
}

struct pager *pager_new(struct gpu *g, const struct config *c)
{
    if (!config_pages_move(c)) return NULL;
    struct pager *p = ARENA_NEW(&g->arena, struct pager);
    *p = (struct pager){.gpu = g,
                        .page_log2 = g->map->page_bits,
                        .lines = (uint32_t)(c->map.page_size / LINE_BYTES),
                        .partitions = (uint32_t)config_partitions(c),
                        .channels_per_partition = c->partition.channels,
                        .sms_per_partition = c->partition.sms,
                        .words = (g->sm_count + 63) / 64,
                        .replicates = c->runtime.placement == page_placement_replication,
                        .interval_cyc = c->runtime.move_interval_cyc,
                        .least = c->runtime.move_accesses,
                        .cost_cyc = config_cycles_in(c->runtime.move_cost, c->clock.sm),
                        .move_limit = c->runtime.moves,
                        .lines_limit = c->runtime.move_lines};
    map_init(&p->pages);
    p->free_sms = ARENA_ARRAY(&g->arena, uint64_t, p->words);
    p->component = engine_add(g->engine, (struct component_spec){.name = "gpu0.pager",
                                                                 .self = p,
                                                                 .domain = g->sm_domain,
                                                                 .wake = nothing,
                                                                 .receive = receive,
                                                                 .waits = waits});
    STATS_REGISTER(g->stats, pages, &p->stats, STATS_EVERYWHERE);
    return p;
}

void pager_free(struct pager *p)
{
    if (!p) return;
    map_free(&p->pages);
    free(p->listed);
    free(p->questions);
    free(p->moves);
    free(p->due);
    free(p->copied);
}
