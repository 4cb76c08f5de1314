/* arena: memory that lives and dies together (one run, one kernel, one file).
 *
 * An arena owns all memory handed out from it; nothing is freed singly. arena_reset() keeps the
 * blocks for reuse, arena_free() gives them back. Running out of host memory raises a mistake
 * (see diag.h), so callers never see NULL. */
#ifndef ATOLL_BASE_ARENA_H
#define ATOLL_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
    struct arena_block *first;   /* every block, oldest first */
    struct arena_block *current; /* the block that serves */
    size_t used_bytes;           /* handed out since the last reset */
    size_t held_bytes;           /* got from the host */
};

void arena_init(struct arena *a);
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

/* Zeroed memory; align is a power of two. */
void *arena_alloc_aligned(struct arena *a, size_t bytes, size_t align);
/* Zeroed, aligned for any scalar. */
void *arena_alloc(struct arena *a, size_t bytes);
/* count * size with an overflow check. */
void *arena_array(struct arena *a, size_t count, size_t size);
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t len);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type)          ((type *)arena_alloc_aligned((a), sizeof(type), _Alignof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_array((a), (count), sizeof(type)))

#endif
