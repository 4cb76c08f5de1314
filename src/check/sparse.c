/* sparse: a place with many lines, few of which hold copies (a remote data cache). Copies are kept in a map. */
#include "check/check_private.h"

/* A set. */
struct sparse_copy {
    struct copy copy;
    struct kept *kept; /* stores that the home does not have; oldest last */
};

struct check_sparse {
    struct check *check;
    const char *name;
    struct map sets;             /* set to struct sparse_copy */
    struct sparse_copy *leaving; /* by slot; NULL: no store is kept */
    struct check_sparse *next;
};

struct check_sparse *check_sparse_new(struct check *c, const char *name)
{
    struct check_sparse *sp = ARENA_NEW(&c->arena, struct check_sparse);
    *sp = (struct check_sparse){.check = c, .name = name, .next = c->sparse};
    map_init(&sp->sets);
    c->sparse = sp;
    return sp;
}

void check_sparse_free_all(struct check *c)
{
    for (struct check_sparse *sp = c->sparse; sp; sp = sp->next) map_free(&sp->sets);
}

static struct sparse_copy *find_set(const struct check_sparse *sp, uint64_t set)
{
    const uint64_t *const found = map_find(&sp->sets, set);
    return found ? (struct sparse_copy *)(uintptr_t)*found : NULL; // NOLINT(performance-no-int-to-ptr)
}

static struct copy *find(const struct check_sparse *sp, uint64_t set)
{
    struct sparse_copy *const found = find_set(sp, set);
    return found ? &found->copy : NULL;
}

static struct copy *make(struct check_sparse *sp, uint64_t set)
{
    bool fresh;
    uint64_t *const found = map_put(&sp->sets, set, &fresh);
    if (fresh) *found = (uint64_t)(uintptr_t)ARENA_NEW(&sp->check->arena, struct sparse_copy);
    struct sparse_copy *const at =
        (struct sparse_copy *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
    return &at->copy;
}

void check_sparse_put(struct check_sparse *sp, uint64_t set, const struct check_place *p, uint32_t idx)
{
    *make(sp, set) = p->copies[idx];
}

void check_place_keep_reply(struct check_place *p, uint32_t idx, uint32_t request)
{
    p->coming[idx] = p->check->requests[request].data;
}

void check_sparse_put_reply(struct check_sparse *sp, uint64_t set, const struct check_place *p, uint32_t idx)
{
    *make(sp, set) = p->coming[idx];
}

void check_sparse_fresh(struct check_sparse *sp, uint64_t set, uint64_t frame)
{
    *make(sp, set) = (struct copy){.frame = frame + 1, .bytes = {UINT64_MAX, UINT64_MAX}};
}

void check_sparse_read(struct check_sparse *sp, uint64_t set, struct check_place *p, uint32_t idx)
{
    const struct copy *const copy = find(sp, set);
    p->coming[idx] = copy ? *copy : (struct copy){0};
}

void check_sparse_store(struct check_sparse *sp, uint64_t set, uint32_t request, uint64_t now)
{
    struct copy *const copy = find(sp, set);
    DIAG_ASSERT(copy);
    check_store(sp->check, sp->name, copy, request, now);
}

void check_sparse_drop(struct check_sparse *sp, uint64_t set)
{
    struct copy *const copy = find(sp, set);
    if (copy) *copy = (struct copy){0};
}

void check_sparse_clear(struct check_sparse *sp)
{
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&sp->sets, &cursor));)
        ((struct sparse_copy *)(uintptr_t)e->value)->copy = // NOLINT(performance-no-int-to-ptr)
            (struct copy){0};
}

/* ---- stores that are kept ---- */

void check_sparse_writes_back(struct check_sparse *sp, uint32_t slots)
{
    sp->leaving = ARENA_ARRAY(&sp->check->arena, struct sparse_copy, slots);
}

void check_sparse_keep(struct check_sparse *sp, uint64_t set, uint32_t request, uint64_t now)
{
    struct check *const c = sp->check;
    struct sparse_copy *const at = find_set(sp, set);
    DIAG_ASSERT(at);
    check_store(c, sp->name, &at->copy, request, now);
    struct request_copy *const r = &c->requests[request];
    struct kept *k = c->free_kept;
    if (k)
        c->free_kept = k->next;
    else
        k = ARENA_NEW(&c->arena, struct kept);
    *k = (struct kept){
        .next = at->kept, .line = r->line, .bytes = {r->bytes[0], r->bytes[1]}, .version = r->version};
    at->kept = k;
    r->stays = true;
    c->versions[r->version].kept = true;
}

void check_sparse_leave(struct check_sparse *sp, uint64_t set, uint32_t slot, const uint64_t bytes[2])
{
    struct sparse_copy *const at = find_set(sp, set);
    DIAG_ASSERT(at && at->kept);
    sp->leaving[slot] = *at;
    sp->leaving[slot].copy.bytes[0] = bytes[0];
    sp->leaving[slot].copy.bytes[1] = bytes[1];
    at->kept = NULL;
}

void check_sparse_sent(struct check_sparse *sp, uint32_t slot, uint32_t request)
{
    const struct sparse_copy *const from = &sp->leaving[slot];
    sp->check->requests[request] = (struct request_copy){.data = from->copy,
                                                         .line = from->kept->line,
                                                         .frame = from->copy.frame,
                                                         .bytes = {from->copy.bytes[0], from->copy.bytes[1]},
                                                         .sm = sp->check->versions[from->kept->version].sm,
                                                         .kept = from->kept};
}

void check_kept_performed(struct check *c, uint32_t request, uint64_t now)
{
    struct request_copy *const r = &c->requests[request];
    while (r->kept) {
        struct kept *const k = r->kept;
        check_acknowledge(c, k->line, k->version, k->bytes, now);
        r->kept = k->next;
        k->next = c->free_kept;
        c->free_kept = k;
    }
}

void check_sparse_finish(struct check *c)
{
    for (const struct check_sparse *sp = c->sparse; sp; sp = sp->next) {
        size_t cursor = 0;
        for (const struct map_entry *e; (e = map_next(&sp->sets, &cursor));) {
            const struct sparse_copy *const at =
                (const struct sparse_copy *)(uintptr_t)e->value; // NOLINT(performance-no-int-to-ptr)
            for (const struct kept *k = at->kept; k; k = k->next) {
                struct memory_line *const m = check_memory_line(c, at->copy.frame - 1);
                for (uint32_t left = check_words_of(k->bytes); left; left &= left - 1) {
                    const uint32_t w = (uint32_t)__builtin_ctz(left);
                    if (k->version > m->now[w]) m->now[w] = k->version;
                }
            }
        }
    }
}
