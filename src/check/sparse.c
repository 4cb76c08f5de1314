/* sparse: a place with many lines, few of which hold copies (a remote data cache). Copies are kept in a map. */
#include "check/check_private.h"

struct check_sparse {
    struct check *check;
    const char *name;
    struct map sets; /* set to struct copy */
    struct copy *free;
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

static struct copy *find(const struct check_sparse *sp, uint64_t set)
{
    const uint64_t *const found = map_find(&sp->sets, set);
    return found ? (struct copy *)(uintptr_t)*found : NULL; // NOLINT(performance-no-int-to-ptr)
}

static struct copy *make(struct check_sparse *sp, uint64_t set)
{
    bool fresh;
    uint64_t *const found = map_put(&sp->sets, set, &fresh);
    if (fresh) *found = (uint64_t)(uintptr_t)ARENA_NEW(&sp->check->arena, struct copy);
    return (struct copy *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
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
        *(struct copy *)(uintptr_t)e->value = (struct copy){0}; // NOLINT(performance-no-int-to-ptr)
}
