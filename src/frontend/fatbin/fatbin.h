/* fatbin: the container in which CUDA compilers put device code, read from bytes that nobody vouches for.
 *
 *   container: magic, version, header size, size of what follows
 *     entry: kind (PTX, cubin), sizes, flags, architecture, name; payload plain, zstd or raw LZ4
 *
 * Only PTX can be executed; of several the one for the architecture asked for is taken, or the next lower, or
 * else the lowest. */
#ifndef ATOLL_FRONTEND_FATBIN_FATBIN_H
#define ATOLL_FRONTEND_FATBIN_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

/* Does it start as a fat binary does? */
bool fatbin_is(const void *image, size_t bytes);
/* Size of the container that starts here, header included; 0: none does. 16 bytes must be readable. */
size_t fatbin_bytes(const void *image);

/* Is a PTX entry among those that can be read? */
bool fatbin_has_ptx(const void *image, size_t bytes);

struct fatbin_text {
    char *text; /* PTX in the arena, ends in NUL; NULL: the container is empty, or is a library's that kernels
                   do not need (CUDA's device runtime) */
    size_t len;
    const char *name; /* of the entry, in the arena; NULL: none */
    uint32_t arch;
};
/* Raises a mistake when the bytes are no whole fat binary, or hold cubins only. label: for messages. */
struct fatbin_text fatbin_choose(struct arena *arena, const char *label, const void *image, size_t bytes,
                                 uint32_t arch);

#endif
