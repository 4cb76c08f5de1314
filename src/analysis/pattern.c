/* pattern: the row of a locality table as a mixed-radix number (exec/launch_pattern.h).
 *
 * The sources are those of footprint_block.c: places, threads, loops, blocks. Each becomes a digit instead of
 * spans, so that the size does not depend on the number of iterations. A free digit whose steps touch each
 * other is merged into the pieces: 32 threads of 4 B are one piece of 128 B. */
#include <stdlib.h>
#include <string.h>

#include "analysis/footprint.h"

/* Steps up to this many bytes are merged into the pieces, as long as the pieces are few. */
enum { MERGED_STEP_MAX = 512, MERGED_PIECES_MAX = 2048 };

struct making {
    struct launch_pattern *out;
    int64_t origin; /* what descending digits move the first byte by */
    bool fits;
};

static void add_digit(struct making *m, enum launch_axis axis, int64_t step, uint64_t count)
{
    int64_t reach;
    if (!step || count < 2) return;
    if (m->out->digits == LAUNCH_DIGITS_MAX || count > INT64_MAX ||
        __builtin_mul_overflow(step, (int64_t)count - 1, &reach) || llabs(reach) > INT64_MAX / 4) {
        m->fits = false;
        return;
    }
    if (step < 0) m->origin += reach;
    m->out->digit[m->out->digits++] = (struct launch_digit){
        .step = (uint64_t)llabs(step), .count = count, .axis = (uint8_t)axis, .descending = step < 0};
}

/* Iterations of the motion when the program does not say how many there are: as many as the array has room
 * for. */
static uint64_t iterations_in(uint64_t array_bytes, int64_t step)
{
    return step ? array_bytes / (uint64_t)llabs(step) + 1 : 1;
}

static bool add_loops(struct sizing *z, const struct locality_row *row, struct index_point *n,
                      uint64_t array_bytes, struct making *m)
{
    const uint64_t around = footprint_loops_around(z, row->loop);
    uint64_t by;
    if (!footprint_ended_by(z, row->index->loops & ~around, around, &by)) return false;
    for (uint32_t k = row->loop; k != SYMBOLIC_NO_LOOP; k = z->s->loops[k].parent) {
        const struct symbolic_loop *l = &z->s->loops[k];
        const bool motion = k == row->motion_loop, also = by & expr_loop_bit(k);
        if (!((row->index->loops | by) & expr_loop_bit(k)) || footprint_is_in_places(z->s, row, l)) continue;
        uint64_t trips = footprint_trips(z, row, k);
        if (!footprint_moves_alike(row->index, l->iv)) return false;
        if (also || !expr_is_linear(row->index, l->iv)) {
            if (motion && row->folded * row->unroll != 1 && row->linear) return false;
            if (!trips || !footprint_repeat(row, n, l->iv, trips, z->all)) return false;
            continue;
        }
        const int64_t step = footprint_loop_distance(row, n, l->iv);
        if (llabs(step) > INT32_MAX || (!trips && !motion)) return false;
        const int64_t turn = motion ? step * (int64_t)row->folded * (int64_t)row->unroll : step;
        if (!trips) trips = iterations_in(array_bytes, turn);
        if (motion) add_digit(m, LAUNCH_FREE, step, row->folded);
        add_digit(m, LAUNCH_FREE, turn, trips);
    }
    return true;
}

static bool add_threads(struct sizing *z, const struct locality_row *row, struct index_point *n,
                        struct making *m)
{
    const struct threads t = footprint_threads(row, n);
    if (!t.known) return false;
    for (int k = 0; k < 3 && t.linear; k++) add_digit(m, LAUNCH_FREE, t.step[k], z->l->block[k]);
    if (!t.linear) footprint_add_threads(row, n, &t, z->all, z->work);
    return z->all->n < SPANS_MOST && z->all->times == 1;
}

static bool add_blocks(struct sizing *z, const struct locality_row *row, struct index_point *n,
                       struct making *m, uint8_t *any)
{
    int64_t step;
    *any = 0;
    if (!footprint_blocks_alike(row->index)) return false;
    for (int k = 0; k < 3; k++) {
        if (z->l->grid[k] < 2) continue;
        if (!footprint_distance(row, n, &n->bid[k], &step)) return false;
        if (!step) *any |= (uint8_t)(1u << k);
        add_digit(m, (enum launch_axis)(LAUNCH_X + k), step, z->l->grid[k]);
    }
    return true;
}

static int by_step(const void *a, const void *b)
{
    const struct launch_digit *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? 1 : -1;
    return x->axis != y->axis ? (x->axis < y->axis ? -1 : 1) : 0;
}

/* The smallest free digits become part of the pieces where they leave no gap, or few pieces. */
static void merge_free_digits(struct launch_pattern *p, struct spans *s)
{
    uint32_t kept = p->digits;
    for (uint32_t k = p->digits; k-- > 0;) {
        const struct launch_digit *d = &p->digit[k];
        if (d->axis != LAUNCH_FREE) continue;
        const bool closes = s->n == 1 && (int64_t)d->step <= s->at[0].end - s->at[0].first;
        if (!closes && (d->step > MERGED_STEP_MAX || s->n * d->count > MERGED_PIECES_MAX)) continue;
        spans_repeat(s, (int64_t)d->step, d->count);
        spans_tidy(s);
        memmove(&p->digit[k], &p->digit[k + 1], (kept - k - 1) * sizeof *p->digit);
        kept--;
    }
    p->digits = kept;
}

/* Equal pieces at one distance are a free digit, as unrolled accesses are: eight rows of a tile, 4 rows apart. Groups
 * of such pieces are two digits. Returns false if the pieces are not so. */
static bool split_pieces(struct making *m, struct spans *s)
{
    while (s->n > 1) {
        const int64_t bytes = s->at[0].end - s->at[0].first, gap = s->at[1].first - s->at[0].first;
        uint32_t group = 1;
        while (group < s->n && s->at[group].first - s->at[group - 1].first == gap) group++;
        if (s->n % group) return false;
        for (uint32_t k = 0; k < s->n; k++)
            if (s->at[k].end - s->at[k].first != bytes ||
                s->at[k].first - s->at[k / group * group].first != gap * (int64_t)(k % group))
                return false;
        add_digit(m, LAUNCH_FREE, gap, group);
        if (!m->fits) return false;
        for (uint32_t k = 0; k < s->n / group; k++) s->at[k] = s->at[k * group];
        s->n /= group;
    }
    return true;
}

static const struct launch_bytes *pieces_of(struct arena *arena, const struct spans *s, int64_t origin)
{
    struct launch_bytes *piece = ARENA_ARRAY(arena, struct launch_bytes, s->n);
    for (uint32_t k = 0; k < s->n; k++)
        piece[k] = (struct launch_bytes){s->at[k].first + origin, s->at[k].end + origin};
    return piece;
}

bool pattern_of_row(struct sizing *z, const struct locality_row *row, uint64_t array_bytes,
                    struct launch_pattern *out, uint8_t *any)
{
    struct index_point n = {.launch = z->l, .s = z->s, .loop = row->loop};
    struct making m = {.out = out, .fits = true};
    int64_t *at, origin;
    *out = (struct launch_pattern){0};
    if ((row->index->deps | row->also_deps) & (DEP_OTHER | DEP_DATA)) return false;
    if (!footprint_index(row, &n, &origin) || !footprint_places_are_known(row, &n)) return false;
    struct spans *const s = z->all;
    s->n = 0;
    s->times = 1;
    const uint32_t places = footprint_places(z->arena, row, &n, &at);
    if (!places || places > SPANS_MOST) return false;
    for (uint32_t k = 0; k < places; k++)
        s->at[s->n++] = (struct span){origin + at[k], origin + at[k] + row->element_bytes};
    spans_tidy(s);
    if (!footprint_repeat_choices(row->index, s) || !add_loops(z, row, &n, array_bytes, &m)) return false;
    if (!add_threads(z, row, &n, &m) || !add_blocks(z, row, &n, &m, any) || !m.fits || n.lost_end)
        return false;
    qsort(out->digit, out->digits, sizeof *out->digit, by_step);
    merge_free_digits(out, s);
    const struct launch_pattern whole = *out;
    *z->own = *s;
    if (split_pieces(&m, s)) {
        qsort(out->digit, out->digits, sizeof *out->digit, by_step);
    } else { /* the pieces stay as they are */
        *out = whole;
        *s = *z->own;
        m.fits = true;
    }
    if (s->times != 1 || s->n >= SPANS_MOST) return false;
    out->piece = pieces_of(z->arena, s, m.origin);
    out->pieces = s->n;
    return true;
}

/* ---- all arguments of a launch ---- */

/* The first and last byte that a pattern touches, not cut to the array. */
static struct launch_bytes reach_of(const struct launch_pattern *p)
{
    struct launch_bytes reach = {p->piece[0].first, p->piece[p->pieces - 1].end};
    for (uint32_t k = 0; k < p->digits; k++)
        reach.end += (int64_t)(p->digit[k].step * (p->digit[k].count - 1));
    return reach;
}

static bool is_same(const struct launch_pattern *a, const struct launch_pattern *b)
{
    if (a->digits != b->digits || a->pieces != b->pieces) return false;
    for (uint32_t k = 0; k < a->digits; k++)
        if (a->digit[k].step != b->digit[k].step || a->digit[k].count != b->digit[k].count ||
            a->digit[k].axis != b->digit[k].axis || a->digit[k].descending != b->digit[k].descending)
            return false;
    return !memcmp(a->piece, b->piece, a->pieces * sizeof *a->piece);
}

static void add_pattern(struct locality_argument *a, struct launch_pattern *room,
                        const struct launch_pattern *p)
{
    for (uint32_t k = 0; k < a->patterns; k++)
        if (is_same(&room[k], p)) return;
    if (a->patterns < LOCALITY_PATTERNS_MAX) room[a->patterns++] = *p;
}

/* Bytes from the argument's base to the next base in its allocation, or to the end. */
static uint64_t room_of(const struct locality_table *t, const struct locality_argument *a)
{
    uint64_t room = a->bytes;
    for (uint32_t k = 0; k < t->n_arguments; k++) {
        const uint64_t distance = t->arguments[k].base - a->base;
        if (t->arguments[k].bytes && distance && distance < room) room = distance;
    }
    return room;
}

static void put_argument(struct sizing *z, struct locality_table *t, uint32_t which)
{
    struct locality_argument *const a = &t->arguments[which];
    struct launch_pattern *room = ARENA_ARRAY(z->arena, struct launch_pattern, LOCALITY_PATTERNS_MAX), p;
    struct launch_bytes all = {INT64_MAX, INT64_MIN};
    bool known = true;
    uint8_t any;
    if (pattern_of_row(z, &t->rows[a->row], a->bytes, &p, &a->any)) add_pattern(a, room, &p);
    for (uint32_t k = 0; k < t->n_rows; k++) {
        const struct locality_row *row = &t->rows[k];
        if (row->argument != which) continue;
        if (!pattern_of_row(z, row, a->bytes, &p, &any)) {
            known = false;
            continue;
        }
        const struct launch_bytes reach = reach_of(&p);
        if (reach.first < all.first) all.first = reach.first;
        if (reach.end > all.end) all.end = reach.end;
        if (row->class != a->class) continue;
        if (!a->patterns) a->any = any; /* the row that speaks is not linear, at the border of an image */
        if (any == a->any) add_pattern(a, room, &p);
    }
    a->pattern = room;
    if (!known) all = (struct launch_bytes){0, (int64_t)room_of(t, a)};
    a->first = all.first > 0 ? (uint64_t)all.first : 0;
    a->end = all.end > 0 ? (uint64_t)all.end : 0;
    if (a->end > a->bytes) a->end = a->bytes;
    if (a->first > a->end) a->first = a->end;
}

static void open_sizing(struct sizing *z, struct arena *arena, const struct symbolic *s,
                        const struct locality_launch *l)
{
    *z = (struct sizing){.arena = arena,
                         .s = s,
                         .l = l,
                         .all = ARENA_NEW(arena, struct spans),
                         .own = ARENA_NEW(arena, struct spans),
                         .work = ARENA_ARRAY(arena, struct spans, 2)};
}

void pattern_put_all(struct arena *arena, const struct symbolic *s, struct locality_table *t,
                     const struct locality_launch *l)
{
    struct sizing z;
    open_sizing(&z, arena, s, l);
    for (uint32_t k = 0; k < t->n_arguments; k++) put_argument(&z, t, k);
}

/* ---- layout of blocks ---- */

static int by_first_byte(const void *a, const void *b)
{
    const struct launch_span *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* Adds what one block touches through the rows of the argument's class. False: not known, or too many spans. */
static bool lay_block(struct sizing *z, const struct locality_table *t, uint32_t argument, uint64_t block,
                      struct launch_span *out, uint32_t *count)
{
    const uint32_t *grid = z->l->grid;
    const int64_t bid[3] = {(int64_t)(block % grid[0]), (int64_t)(block / grid[0] % grid[1]),
                            (int64_t)(block / grid[0] / grid[1])};
    int64_t distance[3];
    bool linear, any = false;
    for (uint32_t k = 0; k < t->n_rows; k++) {
        const struct locality_row *row = &t->rows[k];
        if (row->argument != argument || row->class != t->arguments[argument].class) continue;
        if (!footprint_of_block(z, row, bid, z->all, distance, &linear)) return false;
        if (*count + z->all->n > LAUNCH_LAYOUT_MAX) return false;
        for (uint32_t s = 0; s < z->all->n; s++)
            out[(*count)++] = (struct launch_span){z->all->at[s].first, z->all->at[s].end, block};
        any = true;
    }
    return any;
}

const struct launch_span *locality_layout(struct arena *arena, const struct locality_table *t,
                                          const struct locality_launch *launch, uint32_t argument,
                                          uint32_t *count)
{
    const uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    struct sizing z;
    *count = 0;
    if (blocks > LAUNCH_LAYOUT_MAX) return NULL;
    open_sizing(&z, arena, t->symbolic, launch);
    struct launch_span *out = ARENA_ARRAY(arena, struct launch_span, LAUNCH_LAYOUT_MAX);
    for (uint64_t b = 0; b < blocks; b++)
        if (!lay_block(&z, t, argument, b, out, count)) return NULL;
    qsort(out, *count, sizeof *out, by_first_byte);
    return out;
}
