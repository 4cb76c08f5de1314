/* read_once: reads of other slices that do not allocate at the home (RONCE of LADM, crb.policy).
 *
 *   requesting slice                           home slice
 *   miss, REQUEST_ONCE ──► tag stage ─ present ──► hit or missing sectors, as any other read
 *                              │ absent
 *                              ▼
 *                     no-allocate entry ──► memory ──► fill ──► replies; no way is filled
 *                              │ a read of this chiplet, a store or an atomic to the line
 *                              ▼
 *                     the line gets a way; the waiters and the pending fills move to it
 *
 * The path rule home[1] of the organisation (request/path.h) turns the mechanism on, and the flag REQUEST_ONCE
 * of a read selects it. An entry stands behind the lines of the tags in slice.lines, so memory operations and
 * fills name it like a line.
 *
 * Invariants:
 *  1. A line has a way or a no-allocate entry that is not moved, never both.
 *  2. Only reads wait in an entry. An entry holds an MSHR until it is freed or moved; then the way holds it.
 *  3. A moved entry forwards its fills to the way, which stays pinned until they have arrived.
 *  4. Entries that are not moved leave one MSHR to the other lines, if the slice has more than one. They depend
 *     on memory only, so they cannot block each other. */
#include "cache/tags.h"
#include "llc/slice_memory.h"

enum { NOT_MOVED = TAGS_NONE };

struct once_entry {
    uint64_t line;      /* physical line number */
    uint32_t next;      /* next entry with the same hash, or the next free entry */
    uint32_t moved_to;  /* way of the line that gets the fills; NOT_MOVED: none */
    uint32_t reads_out; /* memory reads without a fill so far */
};

struct read_once {
    uint32_t first_line;        /* line number of entry 0 in slice.lines */
    uint32_t mask;              /* number of hash lists, minus 1 */
    uint32_t *lists;            /* first entry of each hash list; TAGS_NONE: empty */
    struct once_entry *entries; /* [slice_spec.mshrs] */
    uint32_t free;              /* first free entry; TAGS_NONE: none */
    uint32_t used, used_max;    /* entries that are not moved */
};

static uint32_t *list_of(const struct read_once *o, uint64_t line)
{
    return &o->lists[tags_hash(line) & o->mask];
}

static uint32_t find(const struct read_once *o, uint64_t line)
{
    uint32_t k = *list_of(o, line);
    while (k != TAGS_NONE && o->entries[k].line != line) k = o->entries[k].next;
    return k;
}

static void unlink_entry(struct read_once *o, uint32_t k)
{
    uint32_t *at_k = list_of(o, o->entries[k].line);
    while (*at_k != k) at_k = &o->entries[*at_k].next;
    *at_k = o->entries[k].next;
    o->used--;
}

static void free_entry(struct read_once *o, uint32_t k)
{
    o->entries[k].next = o->free;
    o->free = k;
}

static void release_mshr(struct slice *s, uint64_t now)
{
    s->mshr_free_count++;
    s->mshr_sum += now;
}

static bool stall(struct slice *s, uint64_t *reason)
{
    s->blocked = reason;
    return false;
}

/* Reads sectors of the entry's line from memory. */
static void read_sectors(struct slice *s, uint64_t now, uint32_t k, uint8_t sectors)
{
    struct read_once *const o = s->once;
    o->entries[k].reads_out++;
    read_memory(s, now, o->entries[k].line, o->first_line + k, sectors, false);
}

static bool merge(struct slice *s, uint64_t now, uint32_t idx, uint32_t k)
{
    const struct request *const r = at(s, idx);
    const uint32_t line = s->once->first_line + k;
    struct slice_line *const m = &s->lines[line];
    const uint8_t missing = r->sectors & (uint8_t) ~(m->valid | m->pending_sectors);
    if (m->waiting.count >= s->spec->mshr_merges) return stall(s, &s->stats.wait_mshr);
    append(s, &m->waiting, idx);
    if (missing) read_sectors(s, now, k, missing);
    s->stats.read_merged++;
    return true;
}

bool once_serve(struct slice *s, uint64_t now, uint32_t idx)
{
    struct read_once *const o = s->once;
    const struct request *const r = at(s, idx);
    uint32_t k = find(o, r->home.line);
    if (k != TAGS_NONE) return merge(s, now, idx, k);
    if (!s->mshr_free_count || o->used == o->used_max || o->free == TAGS_NONE)
        return stall(s, &s->stats.wait_mshr);
    k = o->free;
    o->free = o->entries[k].next;
    uint32_t *const list = list_of(o, r->home.line);
    o->entries[k] = (struct once_entry){.line = r->home.line, .next = *list, .moved_to = NOT_MOVED};
    *list = k;
    o->used++;
    s->mshr_free_count--;
    s->mshr_sum -= now;
    stats_peak(&s->stats.mshr_peak, s->spec->mshrs - s->mshr_free_count);
    struct slice_line *const m = &s->lines[o->first_line + k];
    *m = (struct slice_line){0};
    append(s, &m->waiting, idx);
    s->stats.read_misses++;
    s->stats.once_misses++;
    if (s->apps) app_of(s, r)->llc_read_misses++;
    read_sectors(s, now, k, s->spec->sectored ? r->sectors : SECTORS_ALL);
    return true;
}

/* Gives the line of the entry a way. TAGS_NONE: all ways of the set are pinned, s->blocked is set. */
static uint32_t move_to_way(struct slice *s, uint64_t now, uint32_t set, uint32_t k)
{
    struct read_once *const o = s->once;
    const uint32_t entry = o->first_line + k, line = slice_evict_victim(s, now, set);
    if (line == TAGS_NONE) return line;
    const struct slice_line from = s->lines[entry];
    tags_fill(&s->tags, line, o->entries[k].line);
    unlink_entry(o, k);
    release_mshr(s, now);
    struct slice_line *const to = slice_pin(s, now, line);
    to->waiting = from.waiting;
    to->pending_sectors = from.pending_sectors;
    to->valid = from.valid;
    if (s->copies) {
        check_copy_from(s->copies, line, entry, from.valid);
        check_copy_drop(s->copies, entry, now);
    }
    o->entries[k].moved_to = line;
    s->stats.once_moved++;
    s->remote->blocked = NULL; /* a no-allocate miss may use the entry's share of the MSHRs */
    return line;
}

bool once_find_or_move(struct slice *s, uint64_t now, const struct request *r, uint32_t set, uint32_t *line)
{
    const uint32_t k = find(s->once, r->home.line);
    if (k == TAGS_NONE || FAULT_FIRES(once_loses_move)) return true;
    if (r->kind != REQUEST_WRITE && s->lines[s->once->first_line + k].waiting.count >= s->spec->mshr_merges)
        return stall(s, &s->stats.wait_mshr);
    *line = move_to_way(s, now, set, k);
    return *line != TAGS_NONE;
}

/* Fills an entry that is not moved. Frees it after its last waiter. */
static void fill_entry(struct slice *s, uint64_t now, uint32_t k, const struct fill *f)
{
    struct slice_line *const m = &s->lines[f->tag_line];
    if (s->copies)
        DIAG_ASSERT(tags_find(&s->tags, set_of(s, s->once->entries[k].line), s->once->entries[k].line) ==
                    TAGS_NONE);
    s->stats.fills++;
    m->pending_sectors &= (uint8_t)~f->sectors;
    m->valid |= f->sectors;
    if (s->copies) check_memory_fill(s->copies, f->tag_line, f->sectors, m->dirty, now);
    slice_serve_waiting(s, now, f->tag_line);
    if (m->waiting.count || s->once->entries[k].reads_out) return;
    if (s->copies) check_copy_drop(s->copies, f->tag_line, now);
    unlink_entry(s->once, k);
    free_entry(s->once, k);
    release_mshr(s, now);
}

bool once_fill(struct slice *s, uint64_t now, struct fill *f)
{
    struct read_once *const o = s->once;
    const uint32_t k = f->tag_line - o->first_line, way = o->entries[k].moved_to;
    o->entries[k].reads_out--;
    if (way == NOT_MOVED) {
        fill_entry(s, now, k, f);
        return false;
    }
    if (s->copies) check_memory_redirect(s->copies, way, f->tag_line, f->sectors);
    DIAG_ASSERT(*tags_pins(&s->tags, way) && tags_key(&s->tags, way) == o->entries[k].line);
    f->tag_line = way;
    if (!o->entries[k].reads_out) free_entry(o, k);
    return true;
}

uint64_t once_waiting(const struct slice *s)
{
    const struct read_once *const o = s->once;
    uint64_t count = 0;
    if (!o) return 0;
    for (uint32_t n = 0; n <= o->mask; n++)
        for (uint32_t k = o->lists[n]; k != TAGS_NONE; k = o->entries[k].next)
            count += s->lines[o->first_line + k].waiting.count;
    return count;
}

void once_new(struct slice *s, struct arena *a)
{
    const uint32_t count = s->spec->mshrs;
    struct read_once *const o = ARENA_NEW(a, struct read_once);
    o->first_line = tags_lines(&s->tags);
    o->mask = 1;
    while (o->mask < count) o->mask = 2 * o->mask + 1;
    o->lists = ARENA_ARRAY(a, uint32_t, o->mask + (size_t)1);
    for (uint32_t n = 0; n <= o->mask; n++) o->lists[n] = TAGS_NONE;
    o->entries = ARENA_ARRAY(a, struct once_entry, count);
    for (uint32_t k = 0; k < count; k++) o->entries[k].next = k + 1 < count ? k + 1 : TAGS_NONE;
    o->used_max = count > 1 ? count - 1 : 1;
    s->once = o;
}
