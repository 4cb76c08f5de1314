/* chunk: memory for resident blocks, used again by the next one of its size.
 *
 * Blocks come and go in thousands, and a GPU holds hundreds: their chunks are cut from slabs in huge pages,
 * one list per size. When a size has none left, what others hold and nobody uses goes back to the system
 * first. */
#include "exec/machine.h"

#include <stdlib.h>

#include "base/host_pages.h"

enum { SLABS_IDLE_MOST_BYTES = 64 << 20 };

struct chunk_free { /* stands in a free chunk */
    struct chunk_free *next;
};

struct chunk_slab {
    struct chunk_slab *next;
    void *pages;
};

struct chunk_size {
    struct chunk_size *next;
    uint64_t bytes, slab_bytes;
    struct chunk_slab *slabs;
    struct chunk_free *free;
    uint64_t held_bytes;
    uint32_t used;
};

static void release(struct chunk_size *s)
{
    for (struct chunk_slab *slab = s->slabs, *next; slab; slab = next) {
        next = slab->next;
        host_pages_free(slab->pages, s->slab_bytes);
        free(slab);
    }
    s->slabs = NULL;
    s->free = NULL;
    s->held_bytes = 0;
}

static struct chunk_size *size_of(struct exec_env *env, uint64_t bytes)
{
    for (struct chunk_size *s = env->chunks; s; s = s->next)
        if (s->bytes == bytes) return s;
    struct chunk_size *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    const uint64_t count = bytes < PAGES_HUGE_BYTES ? PAGES_HUGE_BYTES / bytes : 1;
    s->bytes = bytes;
    s->slab_bytes = (count * bytes + PAGES_HUGE_BYTES - 1) & ~(uint64_t)(PAGES_HUGE_BYTES - 1);
    s->next = env->chunks;
    env->chunks = s;
    return s;
}

static void release_idle(struct exec_env *env)
{
    uint64_t idle_bytes = 0;
    for (const struct chunk_size *s = env->chunks; s; s = s->next)
        if (!s->used) idle_bytes += s->held_bytes;
    if (idle_bytes < SLABS_IDLE_MOST_BYTES) return;
    for (struct chunk_size *s = env->chunks; s; s = s->next)
        if (!s->used) release(s);
}

static bool grow(struct exec_env *env, struct chunk_size *s)
{
    release_idle(env);
    struct chunk_slab *slab = malloc(sizeof *slab);
    uint8_t *pages = slab ? host_pages_alloc(s->slab_bytes) : NULL;
    if (!pages) {
        free(slab);
        return false;
    }
    *slab = (struct chunk_slab){.next = s->slabs, .pages = pages};
    s->slabs = slab;
    s->held_bytes += s->slab_bytes;
    for (uint64_t at = s->slab_bytes / s->bytes; at-- > 0;) {
        struct chunk_free *f = (struct chunk_free *)(pages + at * s->bytes);
        f->next = s->free;
        s->free = f;
    }
    return true;
}

void *chunk_take(struct exec_env *env, uint64_t bytes)
{
    struct chunk_size *s = size_of(env, bytes);
    if (!s || (!s->free && !grow(env, s))) return NULL;
    struct chunk_free *f = s->free;
    if (!f) return NULL;
    s->free = f->next;
    s->used++;
    return f;
}

void chunk_give(struct exec_env *env, void *chunk, uint64_t bytes)
{
    struct chunk_size *s = size_of(env, bytes);
    struct chunk_free *f = chunk;
    f->next = s->free;
    s->free = f;
    s->used--;
}

void chunks_free(struct exec_env *env)
{
    for (struct chunk_size *s = env->chunks, *next; s; s = next) {
        next = s->next;
        release(s);
        free(s);
    }
    env->chunks = NULL;
}
