/* symbolic_local: which slots of the stack are written otherwise than by constant addresses.
 *
 * At -O0 every variable of a program is a slot, and arrays, structures and variables whose address is taken
 * lie among them; PTX does not tell where one ends. So the walk follows all slots first, notes every store
 * through another address and every address that goes where it cannot be followed, and looks afterwards, when
 * loops are understood, what those reach: a range when the index has one (a loop of eight, a mask), else all
 * of the stack frame. Slots in reach are `mixed` and the walk is repeated without them.
 *
 * Why it is right to use values that were found while slots were followed: up to the first write to a
 * followed slot that was not foreseen all values are right, so the address of that very write was right too,
 * and the slot is in its range. */
#include <string.h>

#include "analysis/symbolic_private.h"

/* Grows an array of the arena by doubling. */
static void *grown(struct arena *arena, void *rows, uint32_t count, uint32_t *capacity, size_t row_bytes)
{
    if (count < *capacity) return rows;
    *capacity = *capacity ? 2 * *capacity : 16;
    void *more = arena_alloc(arena, *capacity * row_bytes);
    if (count) memcpy(more, rows, count * row_bytes);
    return more;
}

void local_store(struct activation *a, const struct expr *address, uint32_t space, uint32_t bytes)
{
    struct walker *w = a->w;
    const bool local = space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM;
    const bool maybe = space == PTX_SPACE_GENERIC && (address->deps & DEP_LOCAL || expr_is_lost(address));
    if (!local && !maybe) return;
    w->stores = grown(w->arena, w->stores, w->n_stores, &w->store_capacity, sizeof *w->stores);
    const uint32_t l = a->f->cfg->blocks[a->block].loop;
    w->stores[w->n_stores++] =
        (struct local_store){.at = {.func = a->f->func,
                                    .activation = a->idx,
                                    .block = a->block,
                                    .loop = l == PTX_NO_INDEX ? a->caller_loop : a->first_loop + l,
                                    .address = address},
                             .bytes = bytes,
                             .by_chance = !local && !(address->deps & DEP_LOCAL)};
}

void local_publish(struct activation *a, const struct expr *value)
{
    struct walker *w = a->w;
    if (!(value->deps & DEP_LOCAL)) return;
    w->published =
        grown(w->arena, w->published, w->n_published, &w->published_capacity, sizeof *w->published);
    w->published[w->n_published++] = value;
}

/* ---- mixed slots ---- */

static uint64_t key_of(const struct frame *f, uint32_t slot)
{
    return hash_u64((uint64_t)(uintptr_t)f) + slot;
}

bool local_is_mixed(const struct activation *a, uint32_t slot)
{
    return a->f->slots[slot].mixed || a->w->all_mixed || map_find(a->w->mixed, key_of(a->f, slot));
}

/* Bytes [first, end) of the variable; NULL: of every variable. */
static bool mix(struct walker *w, const struct ptx_symbol *symbol, int64_t first, int64_t end)
{
    bool more = false;
    for (uint32_t k = 0; k < w->s->n_activations; k++) {
        const struct frame *f = frame_of(w->frames, w->s->activations[k].func);
        for (uint32_t n = 0; n < f->n_slots; n++) {
            const struct frame_slot *slot = &f->slots[n];
            const struct ptx_symbol *s = &f->func->module->symbols[slot->symbol];
            if (slot->mixed || (symbol && symbol != (s->def ? s->def : s))) continue;
            if (slot->offset >= end || slot->offset + (int64_t)slot->bytes <= first) continue;
            bool fresh;
            *map_put(w->mixed, key_of(f, n), &fresh) = 1;
            more |= fresh;
        }
    }
    return more;
}

/* ---- what an address reaches ---- */

struct range {
    int64_t least, most;
};

/* A product: one value that is never negative and has a bound. */
static bool range_of_mono(const struct walker *w, const struct symbolic_access *at, const struct mono *m,
                          uint64_t *most)
{
    if (m->n != 1) return false;
    const struct atom *a = m->atoms[0];
    if (a->kind == ATOM_IV) {
        const struct symbolic_loop *l = &w->s->loops[a->id];
        const uint64_t trips = symbolic_trips_at(l, at, NULL, NULL);
        /* in the loop; at its end it may be one more */
        *most = trips && symbolic_loop_contains(w->s, a->id, at->loop) ? trips - 1 : l->trips;
        return trips && l->trips;
    }
    *most = expr_most(expr_of(w->pool, a));
    return *most != UINT64_MAX;
}

/* What is added to the variable's address; false: anything. */
static bool range_of(const struct walker *w, const struct symbolic_access *at, const struct expr *index,
                     struct range *r)
{
    enum { FAR = 1 << 30 };
    *r = (struct range){0, 0};
    for (uint32_t k = 0; k < index->n; k++) {
        const struct term *t = &index->terms[k];
        uint64_t most = 1;
        if (t->mono->n && !range_of_mono(w, at, t->mono, &most)) return false;
        if (most > FAR || t->coef > FAR || t->coef < -FAR) return false;
        const int64_t far = t->coef * (int64_t)most;
        if (!t->mono->n || far < 0) r->least += far;
        if (!t->mono->n || far > 0) r->most += far;
    }
    return true;
}

struct reaching {
    struct walker *w;
    struct map seen;
    bool more, lost;
};

static void reach_all(struct reaching *r, const struct expr *e);

static void reach_atom(struct reaching *r, const struct atom *a)
{
    bool fresh;
    if (!(a->deps & DEP_LOCAL)) return;
    (void)map_put(&r->seen, a->serial, &fresh);
    if (!fresh) return;
    if (a->kind == ATOM_BASE)
        r->more |= mix(r->w, a->symbol, INT64_MIN, INT64_MAX);
    else if (a->kind != ATOM_OP && a->kind != ATOM_MERGE)
        r->lost = true;
    for (uint32_t k = 0; k < a->n_args; k++)
        if (a->args[k]) reach_all(r, a->args[k]);
}

/* Every variable whose address is in the value somehow. */
static void reach_all(struct reaching *r, const struct expr *e)
{
    bool fresh;
    if (!(e->deps & DEP_LOCAL)) return;
    (void)map_put(&r->seen, e->serial, &fresh);
    for (uint32_t k = 0; fresh && k < e->n; k++)
        for (uint32_t j = 0; j < e->terms[k].mono->n; j++) reach_atom(r, e->terms[k].mono->atoms[j]);
}

static void reach_store(struct reaching *r, const struct local_store *s)
{
    const struct expr *address = s->at.address;
    const struct atom *base = NULL;
    for (uint32_t k = 0; k < address->n; k++) {
        const struct mono *m = address->terms[k].mono;
        if (m->n == 1 && address->terms[k].coef == 1 && m->atoms[0]->kind == ATOM_BASE) base = m->atoms[0];
    }
    struct range range;
    if (!base || !(base->deps & DEP_LOCAL)) {
        r->lost |= !(address->deps & DEP_LOCAL); /* a number, or what nothing is known of */
        reach_all(r, address);
    } else if (range_of(r->w, &s->at, expr_sub(r->w->pool, address, expr_of(r->w->pool, base)), &range)) {
        r->more |= mix(r->w, base->symbol, range.least, range.most + s->bytes);
    } else {
        r->more |= mix(r->w, base->symbol, INT64_MIN, INT64_MAX);
    }
}

static void free_seen(void *seen) { map_free(seen); }

bool local_reaches_more(struct walker *w)
{
    struct reaching r = {.w = w};
    struct diag_cleanup cleanup;
    if (w->all_mixed) return false;
    map_init(&r.seen);
    diag_defer(&cleanup, free_seen, &r.seen);
    r.lost = !w->pool->work_left;
    for (uint32_t k = 0; k < w->n_stores; k++)
        if (!w->stores[k].by_chance || w->forgot) reach_store(&r, &w->stores[k]);
    for (uint32_t k = 0; k < w->n_published; k++) reach_all(&r, w->published[k]);
    if (r.lost) r.more |= mix(w, NULL, INT64_MIN, INT64_MAX);
    diag_done(&cleanup, true);
    return r.more;
}
