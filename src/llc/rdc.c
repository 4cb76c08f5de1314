/* rdc: see rdc.h. */
#include "llc/rdc.h"

#include "check/check.h"
#include "llc/coherence.h"
#include "llc/slice_memory.h"

enum { EPOCH_SHIFT = 1, LINE_SHIFT = 21 };

/* ---- sets and their places in memory ---- */

static uint64_t number_of(const struct rdc *r, uint64_t line)
{
    uint64_t number = 0;
    for (uint32_t k = 0; k < r->run_count; k++)
        number |= (line >> r->runs[k].right & r->runs[k].mask) << r->runs[k].left;
    return number;
}

static uint64_t line_of_number(const struct rdc *r, uint64_t number)
{
    uint64_t line = 0;
    for (uint32_t k = 0; k < r->run_count; k++)
        line |= (number >> r->runs[k].left & r->runs[k].mask) << r->runs[k].right;
    return line;
}

uint64_t rdc_set_of(const struct rdc *r, uint64_t line)
{
    const uint64_t gpu = line >> (r->map_bits - LINE_LOG2);
    switch (r->index) {
    case rdc_index_staggered: return (number_of(r, line) + gpu * r->sets / r->gpus) % r->sets;
    case rdc_index_frame: return number_of(r, line) % r->sets;
    case rdc_index_hash: return hash_u64(line) % r->sets;
    case rdc_index_count: break;
    }
    return 0;
}

/* An address map is linear under XOR: the bits that choose a slice are added to the bits that number its lines. */
uint64_t rdc_place_of(const struct slice *s, uint64_t set)
{
    const struct rdc *const r = s->remote->rdc;
    const uint32_t slices = s->wire.organisation->slice_count;
    const uint64_t line = line_of_number(r, r->first_number + set);
    return line ^ r->position[(slice_home(s->spec, line) ^ s->wire.slice_idx) & (slices - 1)];
}

static uint64_t *find_word(const struct rdc *r, uint64_t set)
{
    uint64_t *const chunk = r->chunks[set / RDC_CHUNK];
    return chunk ? &chunk[set % RDC_CHUNK] : NULL;
}

static uint64_t *make_word(struct rdc *r, uint64_t set)
{
    uint64_t **const chunk = &r->chunks[set / RDC_CHUNK];
    if (!*chunk) *chunk = ARENA_ARRAY(r->arena, uint64_t, RDC_CHUNK);
    return &(*chunk)[set % RDC_CHUNK];
}

/* ---- epochs ---- */

static uint32_t epoch_of(const struct slice *s)
{
    const struct copy_epoch *e = s->wire.epoch;
    return e->changed_tick == engine_tick(s->wire.engine) ? e->before : e->value;
}

static uint64_t word_of(const struct rdc *r, uint64_t line, uint32_t epoch)
{
    return line << LINE_SHIFT | (uint64_t)(r->has_epochs ? epoch & r->epoch_mask : 0) << EPOCH_SHIFT | 1;
}

static bool holds_line(uint64_t word, uint64_t line) { return word & 1 && word >> LINE_SHIFT == line; }

/* The word says that the set holds a copy of the line that may be read. */
static bool is_copy(const struct slice *s, uint64_t word, uint64_t line)
{
    if (FAULT_FIRES(rdc_ignores_epoch)) return holds_line(word, line);
    return word == word_of(s->remote->rdc, line, epoch_of(s));
}

/* After epoch_bits have rolled over, the epochs in the tags say nothing: every set is written once. ASSUMPTION:
 * the reset of a slice begins with the first operation of the slice in the new round. */
static void reset_if_due(struct slice *s)
{
    struct rdc *const r = s->remote->rdc;
    if (!r->has_epochs) return;
    const uint32_t epoch = epoch_of(s), round = epoch / (r->epoch_mask + 1);
    r->stats.epochs += epoch - r->epoch;
    r->epoch = epoch;
    if (round == r->round || FAULT_FIRES(rdc_resets_not)) return;
    r->reset_waits = r->back && rdc_back_any(r->back);
    if (r->reset_waits) return;
    r->round = round;
    r->reset_left = r->sets;
    r->stats.resets++;
    for (uint64_t k = 0; k * RDC_CHUNK < r->sets; k++)
        if (r->chunks[k]) memset(r->chunks[k], 0, RDC_CHUNK * sizeof **r->chunks);
    if (r->copies) check_sparse_clear(r->copies);
}

/* ---- the queue ---- */

static struct rdc_entry *take_entry(struct rdc *r, uint32_t *idx)
{
    *idx = r->free;
    r->free = r->entries[*idx].next;
    r->free_count--;
    return &r->entries[*idx];
}

static void free_entry(struct rdc *r, uint32_t idx)
{
    r->entries[idx].next = r->free;
    r->free = idx;
    r->free_count++;
}

static void enqueue(struct rdc *r, uint32_t idx)
{
    r->entries[idx].next = UINT32_MAX;
    if (r->queue.count++)
        r->entries[r->queue.last].next = idx;
    else
        r->queue.first = idx;
    r->queue.last = idx;
}

void rdc_queue(struct slice *s, uint64_t now, struct rdc_entry what)
{
    struct rdc *const r = s->remote->rdc;
    uint32_t idx;
    DIAG_ASSERT(r->free_count);
    struct rdc_entry *const e = take_entry(r, &idx);
    *e = what;
    r->changes += what.reads_tag;
    enqueue(r, idx);
    own_due(s, now + 1);
}

static void push_line(struct slice *s, uint64_t now, uint64_t set, uint32_t tag, uint32_t delay_cyc)
{
    struct rdc *const r = s->remote->rdc;
    struct memory_op op = {.line = rdc_place_of(s, set),
                           .tag_line = tag,
                           .move = MEMORY_OP_OWN,
                           .ready_tick = (now + delay_cyc) * s->spec->ticks_per_cycle};
    slice_columns(s->spec, SECTORS_ALL, &op.first_column, &op.column_count);
    const bool write = tag == MEMORY_OP_WRITE;
    *(write ? &r->stats.writes : &r->stats.reads) += 1;
    *(write ? &r->stats.write_columns : &r->stats.read_columns) += op.column_count;
    slice_push_op(s, op);
}

void rdc_step(struct slice *s, uint64_t now)
{
    struct rdc *const r = s->remote->rdc;
    if (!rdc_busy(r)) return;
    s->waits_for_memory = true; /* the channel wakes the slice when it accepts */
    const bool urgent = r->queue.count && (r->changes || !r->free_count);
    if (urgent ? !slice_memory_has_room(s) : s->ops_count) return;
    if (!r->queue.count) {
        r->stats.reset_lines++;
        push_line(s, now, --r->reset_left, MEMORY_OP_WRITE, 1);
        return;
    }
    const uint32_t idx = r->queue.first;
    struct rdc_entry *const e = &r->entries[idx];
    r->queue.first = e->next;
    r->queue.count--;
    if (e->reads_tag) {
        r->changes--;
        push_line(s, now, e->set, RDC_TAG_QUEUE | idx, 1);
        return;
    }
    r->changes -= e->writes_after;
    push_line(s, now, e->set, MEMORY_OP_WRITE, 1);
    free_entry(r, idx);
}

/* ---- reads ---- */

bool rdc_may_probe(struct slice *s)
{
    reset_if_due(s);
    if (!s->remote->rdc->reset_left && !s->remote->rdc->reset_waits) return true;
    s->blocked = &s->remote->rdc->stats.wait_reset;
    return false;
}

/* True if the probe hits. */
static bool look_up(struct slice *s, uint64_t set, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t *const found = find_word(r, set), word = found ? *found : 0;
    r->stats.probes++;
    const bool hit = is_copy(s, word, line);
    r->stats.hits += hit;
    r->stats.misses += !hit;
    r->stats.cold += !word;
    r->stats.conflicts += word & 1 && !holds_line(word, line);
    r->stats.stale += !hit && holds_line(word, line);
    return hit;
}

void rdc_probe(struct slice *s, uint64_t now, uint32_t tag_line)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t line = tags_key(&s->tags, tag_line), set = rdc_set_of(r, line);
    struct slice_line *const m = &s->lines[tag_line];
    m->pending_sectors = SECTORS_ALL;
    m->from_rdc = look_up(s, set, line);
    if (m->from_rdc && r->copies) check_sparse_read(r->copies, set, s->remote->copies, tag_line);
    push_line(s, now, set, RDC_TAG_PROBE | tag_line, s->spec->miss_latency_cyc);
}

void rdc_memory_done(struct slice *s, uint32_t tag_line, uint64_t ready_cyc)
{
    struct rdc *const r = s->remote->rdc;
    r->stats.returned++;
    if (tag_line & RDC_TAG_QUEUE) {
        const uint32_t idx = tag_line & ~RDC_TAG_QUEUE;
        struct rdc_entry *const e = &r->entries[idx];
        e->reads_tag = false;
        if (e->request) append_filled(s, e->request - 1, ready_cyc);
        if (e->leaving | e->scans) rdc_back_read_done(s, e, ready_cyc);
        if (e->writes_after) {
            r->changes++;
            enqueue(r, idx);
        } else {
            free_entry(r, idx);
        }
    } else {
        const uint32_t line = tag_line & ~RDC_TAG_PROBE;
        if (s->lines[line].from_rdc) {
            if (s->remote->copies) check_remote_arrived(s->remote->copies, line, s->lines[line].dirty);
            slice_push_fill(s, line, SECTORS_ALL, ready_cyc);
        } else {
            DIAG_ASSERT(r->misses_count <= r->misses_mask);
            r->misses[(r->misses_head + r->misses_count++) & r->misses_mask] =
                (struct rdc_miss){.ready_cyc = ready_cyc, .tag_line = line};
        }
    }
    engine_wake(s->wire.engine, s->component, ready_cyc);
}

uint32_t rdc_miss_at(const struct rdc *r, uint64_t now)
{
    return rdc_miss_due(r) <= now ? r->misses[r->misses_head].tag_line : TAGS_NONE;
}

void rdc_take_miss(struct rdc *r)
{
    r->misses_head = (r->misses_head + 1) & r->misses_mask;
    r->misses_count--;
}

/* ---- changes ---- */

static void write_tag(struct slice *s, uint64_t set, uint64_t line, uint32_t epoch)
{
    struct rdc *const r = s->remote->rdc;
    uint64_t *const word = make_word(r, set);
    r->stats.evictions += *word & 1 && !holds_line(*word, line);
    *word = word_of(r, line, epoch);
    llc_epoch_keep(s->wire.epoch, engine_tick(s->wire.engine));
}

void rdc_fill(struct slice *s, uint64_t now, uint32_t tag_line)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t line = tags_key(&s->tags, tag_line), set = rdc_set_of(r, line);
    const uint32_t asked = s->remote->epoch_of[tag_line], epoch = epoch_of(s);
    reset_if_due(s);
    if (r->has_epochs && asked != epoch) {
        r->stats.fills_discarded++;
        return;
    }
    if (!r->free_count || r->reset_left || r->reset_waits || (r->back && !rdc_back_may_leave(r, set))) {
        r->stats.fills_unwritten++;
        return;
    }
    const uint32_t leaving = r->back ? rdc_back_leave(s, set) : 0;
    r->stats.fills++;
    r->stats.back_victims += leaving != 0;
    write_tag(s, set, line, epoch);
    if (r->copies && FAULT_FIRES(rdc_raw_fill))
        check_sparse_put_reply(r->copies, set, s->remote->copies, tag_line);
    else if (r->copies)
        check_sparse_put(r->copies, set, s->remote->copies, tag_line);
    rdc_queue(s, now,
              (struct rdc_entry){
                  .set = set, .reads_tag = leaving != 0, .writes_after = leaving != 0, .leaving = leaving});
}

bool rdc_may_change(struct slice *s, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    (void)line;
    reset_if_due(s);
    if (r->reset_waits) {
        s->blocked = &r->stats.wait_reset;
        return false;
    }
    if (r->free_count) return true;
    s->blocked = &r->stats.wait_queue;
    return false;
}

void rdc_update(struct slice *s, uint64_t now, uint32_t idx)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t line = at(s, idx)->home.line, set = rdc_set_of(r, line);
    const uint64_t *const word = find_word(r, set);
    const bool hit = word && is_copy(s, *word, line);
    r->stats.updates++;
    r->stats.update_hits += hit;
    if (hit && r->copies && !FAULT_FIRES(rdc_store_passes)) check_sparse_store(r->copies, set, idx, now);
    rdc_queue(s, now, (struct rdc_entry){.set = set, .reads_tag = true, .writes_after = hit});
}

static bool has_copy(const struct slice *s, uint64_t set, uint64_t line)
{
    const uint64_t *const word = find_word(s->remote->rdc, set);
    return word && is_copy(s, *word, line);
}

bool rdc_keeps(const struct slice *s, uint64_t line)
{
    const struct rdc *const r = s->remote->rdc;
    const uint64_t set = r->back ? rdc_set_of(r, line) : 0;
    return r->back && (rdc_back_has(r, set, line) || has_copy(s, set, line));
}

void rdc_keep(struct slice *s, uint64_t now, uint32_t idx)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t set = rdc_set_of(r, at(s, idx)->home.line);
    r->stats.updates++;
    r->stats.update_hits++;
    r->stats.kept++;
    rdc_back_store(s, idx, set);
    if (r->copies) check_sparse_keep(r->copies, set, idx, now);
    rdc_queue(s, now,
              (struct rdc_entry){.set = set, .reads_tag = true, .writes_after = true, .request = idx + 1});
}

bool rdc_may_fetch(struct slice *s, uint64_t now, uint64_t line)
{
    const struct rdc *const r = s->remote->rdc;
    return !r->back || has_copy(s, rdc_set_of(r, line), line) || rdc_settled(s, now, line);
}

/* Invalidates the set if it holds the line, of any epoch. */
static bool invalidate_set(struct slice *s, uint64_t set, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    uint64_t *const word = find_word(r, set);
    if (!word || !holds_line(*word, line)) return false;
    *word &= ~(uint64_t)1; /* not 0: the set was filled */
    if (r->copies && !(r->back && rdc_back_has(r, set, line))) check_sparse_drop(r->copies, set);
    return true;
}

/* Planted fault: a fill of the set is in the queue, which an overtaking clear does not find. */
static bool waits_to_be_written(const struct rdc *r, uint64_t set)
{
    for (uint32_t n = 0, k = r->queue.first; n < r->queue.count; n++, k = r->entries[k].next)
        if (r->entries[k].set == set && !r->entries[k].reads_tag) return true;
    return false;
}

bool rdc_clear(struct slice *s, uint64_t now, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t set = rdc_set_of(r, line);
    const bool overtakes = FAULT_FIRES(rdc_swaps_order) && waits_to_be_written(r, set);
    const bool hit = !overtakes && !FAULT_FIRES(rdc_clears_not) && invalidate_set(s, set, line);
    r->stats.clears++;
    r->stats.clear_hits += hit;
    rdc_queue(s, now, (struct rdc_entry){.set = set, .reads_tag = true, .writes_after = hit});
    return hit;
}

bool rdc_drop(struct slice *s, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    const bool hit = invalidate_set(s, rdc_set_of(r, line), line);
    r->stats.host_drops += hit;
    return hit;
}

void rdc_warm(struct slice *s, uint64_t line)
{
    struct rdc *const r = s->remote->rdc;
    const uint64_t set = rdc_set_of(r, line);
    uint64_t *const word = make_word(r, set);
    if (is_copy(s, *word, line)) return;
    *word = word_of(r, line, epoch_of(s));
    if (r->copies) check_sparse_fresh(r->copies, set, line);
    llc_epoch_keep(s->wire.epoch, engine_tick(s->wire.engine));
    r->stats.warm_fills++;
}

void rdc_warm_clear(struct slice *s, uint64_t line)
{
    (void)invalidate_set(s, rdc_set_of(s->remote->rdc, line), line);
}

void rdc_warm_end(struct slice *s)
{
    struct rdc *const r = s->remote->rdc;
    for (uint64_t k = 0; k * RDC_CHUNK < r->sets; k++)
        for (uint32_t n = 0; r->chunks[k] && n < RDC_CHUNK; n++) r->chunks[k][n] &= ~(uint64_t)1;
    if (r->copies) check_sparse_clear(r->copies);
}

/* ---- building ---- */

static void find_positions(struct slice *s, struct arena *a, uint64_t number_mask)
{
    struct rdc *const r = s->remote->rdc;
    const uint32_t slices = s->wire.organisation->slice_count;
    const uint64_t choosing = (((uint64_t)1 << (r->map_bits - LINE_LOG2)) - 1) & ~(number_mask >> LINE_LOG2);
    r->position = ARENA_ARRAY(a, uint64_t, slices);
    uint64_t bits = 0;
    for (uint32_t k = 0; k < slices; k++) {
        r->position[slice_home(s->spec, bits) & (slices - 1)] = bits;
        bits = (bits - choosing) & choosing; /* the next subset of the bits */
    }
    DIAG_ASSERT(!bits); /* as many subsets as slices */
}

static void find_runs(struct rdc *r, uint64_t number_mask)
{
    uint32_t filled = 0;
    for (uint64_t mask = number_mask >> LINE_LOG2; mask;) {
        const uint32_t low = (uint32_t)__builtin_ctzll(mask);
        const uint64_t run = mask >> low;
        const uint32_t length = (uint32_t)__builtin_ctzll(~run);
        r->runs[r->run_count++] =
            (struct slice_bits){.mask = ((uint64_t)1 << length) - 1, .right = low, .left = filled};
        filled += length;
        mask = run >> length << length << low;
    }
}

struct rdc *rdc_new(struct slice *s, struct arena *a, const struct config *c, const char *name)
{
    if (!c->rdc.size) return NULL;
    struct rdc *const r = s->remote->rdc = ARENA_NEW(a, struct rdc);
    const uint64_t slices = config_slices_per_gpu(c);
    const uint32_t bits = s->spec->map->bits, queue = c->rdc.write_queue;
    const uint64_t number_mask = s->spec->index_mask & (((uint64_t)1 << bits) - 1);
    *r = (struct rdc){.arena = a,
                      .sets = c->rdc.size / LINE_BYTES / slices,
                      .index = c->rdc.index,
                      .gpus = c->system.gpus,
                      .has_epochs = coherence_row(c)->has_epochs,
                      .epoch_mask = (1u << c->rdc.epoch_bits) - 1,
                      .map_bits = bits,
                      .first_number = (c->gpu.memory_size - c->rdc.size) / LINE_BYTES / slices,
                      .free_count = queue};
    find_runs(r, number_mask);
    find_positions(s, a, number_mask);
    r->chunks = ARENA_ARRAY(a, uint64_t *, (r->sets + RDC_CHUNK - 1) / RDC_CHUNK);
    r->entries = ARENA_ARRAY(a, struct rdc_entry, queue);
    for (uint32_t k = 0; k < queue; k++) r->entries[k].next = k + 1;
    uint32_t misses = 1;
    while (misses < s->spec->mshrs) misses *= 2;
    r->misses = ARENA_ARRAY(a, struct rdc_miss, misses);
    r->misses_mask = misses - 1;
    if (s->wire.check) {
        r->copies = check_sparse_new(s->wire.check, arena_printf(a, "%s, remote data cache", name));
        check_place_expects(s->remote->copies);
    }
    r->back = rdc_back_new(s, a, c);
    return r;
}
