/* arena: a chain of blocks, each twice the size of the one before up to a limit. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/host_pages.h"

enum { FIRST_BLOCK_BYTES = 16 << 10, LARGEST_BLOCK_BYTES = (4 << 20) - 256 };

struct arena_block {
    struct arena_block *next;
    void *got;    /* from calloc: the block begins at the next multiple of 64; NULL: the block is from
                     host_pages_alloc */
    size_t bytes; /* of the block, with this */
    size_t capacity;
    size_t used;
    size_t written; /* beyond this it is still zero, as it came from the host */
    _Alignas(64) unsigned char data[];
};

void arena_init(struct arena *a) { *a = (struct arena){0}; }

void arena_reset(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next) b->used = 0;
    a->current = a->first;
    a->used_bytes = 0;
}

void arena_free(struct arena *a)
{
    for (struct arena_block *b = a->first, *next; b; b = next) {
        next = b->next;
        if (b->got)
            free(b->got);
        else
            host_pages_free(b, b->bytes);
    }
    arena_init(a);
}

/* Small blocks from the library, large ones in pages of their own. NULL: there is no more. */
static struct arena_block *block_new(size_t capacity)
{
    const size_t total = (sizeof(struct arena_block) + capacity + 63) & ~(size_t)63;
    struct arena_block *b;
    if (total < capacity || total > SIZE_MAX - 2 * PAGES_HUGE_BYTES) return NULL;
    if (total < PAGES_HUGE_BYTES) {
        unsigned char *got = calloc(1, total + 64);
        if (!got) return NULL;
        b = (struct arena_block *)(got + (64 - (uintptr_t)got % 64) % 64);
        b->got = got;
        b->bytes = total;
    } else {
        const size_t whole = (total + PAGES_HUGE_BYTES - 1) & ~(PAGES_HUGE_BYTES - 1);
        b = host_pages_alloc(whole);
        if (!b) return NULL;
        b->bytes = whole;
    }
    b->capacity = b->bytes - sizeof *b;
    return b;
}

static struct arena_block *grow(struct arena *a, size_t bytes)
{
    size_t capacity = a->current ? a->current->capacity * 2 : FIRST_BLOCK_BYTES;
    if (capacity > LARGEST_BLOCK_BYTES) capacity = LARGEST_BLOCK_BYTES;
    struct arena_block *b = block_new(capacity < bytes ? bytes : capacity);
    if (!b) diag_mistake("out of host memory: %zu more bytes were asked for", bytes);
    if (a->current) {
        b->next = a->current->next;
        a->current->next = b;
    } else {
        a->first = b;
    }
    a->current = b;
    a->held_bytes += b->bytes;
    return b;
}

static void *take(struct arena_block *b, size_t bytes, size_t align)
{
    const size_t start = (b->used + align - 1) & ~(align - 1);
    if (start > b->capacity || b->capacity - start < bytes) return NULL;
    b->used = start + bytes;
    if (start < b->written) memset(b->data + start, 0, (b->written < b->used ? b->written : b->used) - start);
    if (b->written < b->used) b->written = b->used;
    return b->data + start;
}

void *arena_alloc_aligned(struct arena *a, size_t bytes, size_t align)
{
    DIAG_ASSERT(align && (align & (align - 1)) == 0 && align <= 64);
    if (bytes > SIZE_MAX / 2) diag_mistake("out of host memory: %zu more bytes were asked for", bytes);
    void *p = a->current ? take(a->current, bytes, align) : NULL;
    while (!p && a->current && a->current->next) { /* blocks kept by a reset */
        a->current = a->current->next;
        p = take(a->current, bytes, align);
    }
    if (!p) p = take(grow(a, bytes), bytes, align);
    a->used_bytes += bytes;
    return p;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    return arena_alloc_aligned(a, bytes, _Alignof(max_align_t));
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
    return arena_alloc_aligned(a, bytes, 64);
}

char *arena_strndup(struct arena *a, const char *text, size_t len)
{
    char *p = arena_alloc_aligned(a, len + 1, 1);
    memcpy(p, text, len);
    return p;
}

char *arena_strdup(struct arena *a, const char *text) { return arena_strndup(a, text, strlen(text)); }

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    DIAG_ASSERT(len >= 0);
    char *p = arena_alloc_aligned(a, (size_t)len + 1, 1);
    (void)vsnprintf(p, (size_t)len + 1, format, again);
    va_end(again);
    return p;
}
