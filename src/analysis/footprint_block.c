/* footprint_block: all that a block touches, over all iterations of all loops: with as many as any thread,
 * block or way may have. */
#include <stdlib.h>

#include "analysis/footprint.h"

/* Does every block touch the same, moved by its distance from the first? */
bool footprint_blocks_alike(const struct expr *index)
{
    for (uint32_t k = 0; k < index->n; k++) {
        const struct mono *m = index->terms[k].mono;
        if (m->deps & BLOCK_DEPS && (m->loops || m->deps & THREAD_DEPS)) return false;
    }
    return footprint_linear_in(index, BLOCK_DEPS);
}

uint64_t footprint_loops_around(const struct sizing *z, uint32_t loop)
{
    uint64_t around = 0;
    for (; loop != SYMBOLIC_NO_LOOP; loop = z->s->loops[loop].parent) around |= expr_loop_bit(loop);
    return around;
}

/* Loops that are over before the access and count in its index: does how often they ran depend on nothing but
 * the launch and loops around the access? Those are given as bits. */
bool footprint_ended_by(const struct sizing *z, uint64_t ended, uint64_t around, uint64_t *by)
{
    enum { FIXED = DEP_PARAM | DEP_BDX | DEP_BDY | DEP_BDZ | DEP_GDX | DEP_GDY | DEP_GDZ };
    *by = 0;
    for (; ended; ended &= ended - 1) {
        const uint32_t l = (uint32_t)__builtin_ctzll(ended);
        if (l >= 63 || l >= z->s->n_loops) return false;
        const struct symbolic_exit *e = z->s->loops[l].exits;
        if (!e || e->next || e->condition->deps & ~(uint32_t)FIXED) return false;
        *by |= e->condition->loops & ~z->s->loops[l].iv->loops;
    }
    return !(*by & ~around);
}

/* What the bounds of a loop depend on, and whether they go by lines over it. */
struct bounds {
    uint32_t deps;
    bool thread_lines, block_lines, loop_lines;
    uint32_t ways;   /* of the one place in them where ways meet */
    uint32_t around; /* the one loop whose iterations count in them; SYMBOLIC_NO_LOOP: none */
};

/* Is there at most one place in the expression where ways meet, beside what was found before? */
static bool one_meeting(const struct expr *e, const struct atom **meeting)
{
    for (uint32_t k = 0; k < e->n; k++) {
        const struct mono *m = e->terms[k].mono;
        if (!(m->deps & DEP_MERGE)) continue;
        if (m->n != 1 || m->atoms[0]->kind != ATOM_MERGE || (*meeting && *meeting != m->atoms[0]))
            return false;
        *meeting = m->atoms[0];
        for (uint32_t n = 0; n < (*meeting)->element; n++)
            if (!(*meeting)->args[n] || (*meeting)->args[n]->deps & DEP_MERGE) return false;
    }
    return true;
}

static bool bounds_of(const struct sizing *z, const struct symbolic_loop *l, struct bounds *b)
{
    const struct atom *meeting = NULL;
    *b = (struct bounds){0, true, true, true, 1, SYMBOLIC_NO_LOOP};
    for (const struct symbolic_exit *e = l->exits; e; e = e->next) {
        const struct expr *c = e->condition;
        if (c->deps & (DEP_DATA | DEP_OTHER)) continue; /* may only end it sooner */
        if (c->deps & DEP_MERGE && (!e->distance || !one_meeting(e->distance, &meeting))) return false;
        if (meeting) b->ways = meeting->element;
        const struct expr *const decides = e->distance ? e->distance : c;
        b->deps |= decides->deps;
        uint64_t by;
        const uint64_t others = decides->loops & ~l->iv->loops,
                       ended = others & ~footprint_loops_around(z, l->parent);
        if (!footprint_ended_by(z, ended, footprint_loops_around(z, l->parent), &by)) return false;
        const uint64_t counted = (others & ~ended) | by;
        const uint32_t around = counted ? (uint32_t)__builtin_ctzll(counted) : b->around;
        if (counted & (counted - 1) || around == 63 || (b->around != SYMBOLIC_NO_LOOP && b->around != around))
            return false;
        b->around = around;
        b->loop_lines &= !by;
        if (!e->distance) {
            b->thread_lines = b->block_lines = b->loop_lines = false;
            continue;
        }
        b->thread_lines &= footprint_linear_in(e->distance, THREAD_DEPS);
        b->block_lines &= footprint_linear_in(e->distance, BLOCK_DEPS);
        if (around != SYMBOLIC_NO_LOOP) b->loop_lines &= expr_is_linear(e->distance, z->s->loops[around].iv);
    }
    return true;
}

/* The k-th place to look at of [0, count) in three directions: its corners when the bounds go by lines, else
 * all. False: that was the last. */
static bool place_at(uint64_t k, const uint32_t count[3], bool lines, bool matters, int64_t at[3])
{
    uint64_t rest = k;
    for (int d = 0; d < 3; d++) {
        const uint32_t here = !matters ? 1 : lines ? (count[d] > 1 ? 2 : 1) : count[d];
        at[d] = matters && lines ? (rest % here ? count[d] - 1 : 0) : (int64_t)(rest % here);
        rest /= here;
    }
    return !rest;
}

/* Most iterations of a loop, over threads and blocks and the iterations of the loop around it. 0: not known.
 */
uint64_t footprint_trips(const struct sizing *z, const struct locality_row *row, uint32_t loop)
{
    enum { LOOKS_MOST = 4096 };
    const struct symbolic_loop *l = &z->s->loops[loop];
    struct index_point n = {.launch = z->l, .s = z->s, .loop = row->loop};
    struct bounds b;
    uint64_t most = 0, outer = 1, looks = 0;
    if (!bounds_of(z, l, &b)) return 0;
    if (b.around != SYMBOLIC_NO_LOOP) {
        n.iv = z->s->loops[b.around].iv;
        outer = footprint_trips(z, row, b.around);
        if (!outer) return 0;
    }
    const bool threads = b.deps & THREAD_DEPS, blocks = b.deps & BLOCK_DEPS;
    for (uint64_t m = 0; m < outer; m = b.loop_lines && !m && outer > 1 ? outer - 1 : m + 1)
        for (uint64_t i = 0; place_at(i, z->l->grid, b.block_lines, blocks, n.bid); i++)
            for (uint64_t t = 0; place_at(t, z->l->block, b.thread_lines, threads, n.tid); t++) {
                if (++looks > LOOKS_MOST) return 0;
                n.count = (int64_t)m;
                for (n.way = 0; n.way < b.ways; n.way++) {
                    const uint64_t trips = symbolic_trips(l, index_value, &n);
                    if (trips > most) most = trips;
                }
            }
    return n.lost_end ? 0 : most;
}

bool footprint_places_are_known(const struct locality_row *row, struct index_point *n)
{
    int64_t v;
    for (uint32_t k = 0; k < row->n_places; k++) {
        const struct locality_place *p = &row->places[k];
        if (!expr_eval(p->offset, index_value, n, &v)) return false;
        for (int d = 0; d < 2; d++)
            if (p->step[d] && !expr_eval(p->step[d], index_value, n, &v)) return false;
    }
    return row->n_places < LOCALITY_PLACES_MOST;
}

/* A choice between constants: any of them. False: there are other choices in the index. */
bool footprint_repeat_choices(const struct expr *index, struct spans *s)
{
    for (uint32_t k = 0; k < index->n; k++) {
        const struct mono *m = index->terms[k].mono;
        if (!(m->deps & DEP_MERGE)) continue;
        const struct atom *choice = m->n == 1 && m->atoms[0]->kind == ATOM_MERGE ? m->atoms[0] : NULL;
        const uint32_t before = s->n;
        int64_t first, other;
        if (!choice || !choice->args[0] || !expr_is_const(choice->args[0], &first)) return false;
        for (uint32_t c = 1; c < choice->element; c++) {
            if (!choice->args[c] || !expr_is_const(choice->args[c], &other)) return false;
            if (llabs(other) > INT32_MAX || llabs(first) > INT32_MAX || s->n + before > SPANS_MOST)
                return false;
            for (uint32_t i = 0; i < before; i++) {
                const int64_t by = (other - first) * index->terms[k].coef;
                s->at[s->n++] = (struct span){s->at[i].first + by, s->at[i].end + by};
            }
        }
        spans_tidy(s);
    }
    return true;
}

/* What the loops around the access add, the inner ones first. */
static bool repeat_loops(struct sizing *z, const struct locality_row *row, struct index_point *n,
                         struct spans *out)
{
    const uint64_t around = footprint_loops_around(z, row->loop);
    uint64_t by;
    if (!footprint_ended_by(z, row->index->loops & ~around, around, &by)) return false;
    for (uint32_t k = row->loop; k != SYMBOLIC_NO_LOOP; k = z->s->loops[k].parent) {
        const struct symbolic_loop *l = &z->s->loops[k];
        const bool motion = k == row->motion_loop, also = by & expr_loop_bit(k);
        if (!((row->index->loops | by) & expr_loop_bit(k)) || footprint_is_in_places(z->s, row, l)) continue;
        const uint64_t trips = footprint_trips(z, row, k);
        if (!trips || !footprint_moves_alike(row->index, l->iv)) return false;
        if (also || !expr_is_linear(row->index, l->iv)) {
            if (motion && row->folded * row->unroll != 1 && row->linear) return false;
            if (!footprint_repeat(row, n, l->iv, trips, out)) return false;
            continue;
        }
        const int64_t step = footprint_loop_distance(row, n, l->iv);
        if (llabs(step) > INT32_MAX) return false;
        if (motion) spans_repeat(out, step, row->folded);
        spans_repeat(out, motion ? step * (int64_t)row->folded * (int64_t)row->unroll : step, trips);
    }
    return true;
}

bool footprint_of_block(struct sizing *z, const struct locality_row *row, const int64_t bid[3],
                        struct spans *out, int64_t far[3], bool *linear)
{
    struct index_point n = {.launch = z->l, .s = z->s, .loop = row->loop};
    int64_t origin, *at;
    for (int k = 0; k < 3; k++) n.bid[k] = bid[k];
    if ((row->index->deps | row->also_deps) & (DEP_OTHER | DEP_DATA)) return false;
    if (!footprint_index(row, &n, &origin) || !footprint_places_are_known(row, &n)) return false;
    *out = (struct spans){.times = 1};
    const uint32_t places = footprint_places(z->arena, row, &n, &at);
    if (places > SPANS_MOST) return false;
    for (uint32_t k = 0; k < places; k++)
        out->at[out->n++] = (struct span){origin + at[k], origin + at[k] + row->element_bytes};
    const struct threads threads = footprint_threads(row, &n);
    if (!footprint_repeat_choices(row->index, out) || !repeat_loops(z, row, &n, out) || !threads.known)
        return false;
    footprint_add_threads(row, &n, &threads, out, z->work);
    *linear = footprint_blocks_alike(row->index);
    for (int k = 0; k < 3; k++)
        if (!footprint_distance(row, &n, &n.bid[k], &far[k])) return false;
    return out->times == 1 && !n.lost_end;
}
