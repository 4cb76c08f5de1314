/* request: one access to a line on its way through the machine, from an SM (or a page walker) to an LLC
 * slice, a memory channel, and back.
 *
 * A request lives in a pool from the moment its owner makes it until the owner has its reply; who holds its
 * index owns it. Requests name places, they carry no data: values were produced when the instruction was
 * issued. */
#ifndef ATOLL_REQUEST_REQUEST_H
#define ATOLL_REQUEST_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"

enum { LINE_BYTES = 128, LINE_LOG2 = 7, SECTOR_BYTES = 32, LINE_SECTORS = 4, SECTORS_ALL = 15 };
#define REQUEST_NONE POOL_NONE

enum request_kind {
    REQUEST_READ,
    REQUEST_WRITE,
    REQUEST_ATOMIC,    /* the old values come back */
    REQUEST_REDUCTION, /* an atomic whose sender waits for nothing but the acknowledgement */
    REQUEST_WALK,      /* read of a page table entry */
    REQUEST_KINDS
};

enum {
    REQUEST_READ_ONLY = 1 << 0, /* the line is not written while the kernel runs */
    REQUEST_UNCACHED = 1 << 1,  /* does not allocate in the L1 */
    REQUEST_FETCH = 1 << 2,     /* of a slice, which waits for the line; owner: its place there */
    REQUEST_PAGE = 1 << 3,      /* of a slice, for a page that gets a frame there (pages/); owner: the move,
                                   bytes[0]: the line in the new frame */
    REQUEST_MIGRATE = 1 << 4    /* its home gives the line up */
};

/* Where a line lives. */
struct home {
    uint64_t line;           /* physical line number, the chiplet above the line in its memory */
    uint16_t channel, slice; /* counted over the whole machine */
};

struct request {                /* one cache line and what only writes need */
    _Alignas(64) uint64_t line; /* simulated virtual address >> 7 */
    struct home home;
    uint64_t sent_cyc; /* when the SM made it */
    union {
        uint64_t ready_cyc; /* when the present stop is done with it */
        uint8_t *pin;       /* … of a slice's line that it waits for, see llc/slice_quick.h */
    };
    uint32_t owner;  /* what the SM or the walker knows it by */
    uint32_t next;   /* in the list of whoever holds it */
    uint32_t served; /* cycle, modulo 2^32, in which the tag stage of a slice served it */
    uint16_t sm;     /* requester; a walker: the number of its MMU */
    uint8_t kind, flags;
    uint8_t sectors;  /* read: wanted sectors */
    uint8_t conflict; /* atomics: most lanes on one word */
    uint8_t app;
    uint8_t hit;  /* found in the slice: for the owner's statistics */
    uint16_t via; /* slice + 1 that sent it on to its home and gets the reply; 0: the reply goes to the SM */

    _Alignas(64) uint64_t bytes[2]; /* writes, atomics: which bytes of the line, bit 0 = byte 0 */
};
_Static_assert(sizeof(struct request) == 128, "found by a shift");

/* Linked by their 'next'. */
struct request_list {
    uint32_t first, last, count;
};

static inline struct request *request_at(const struct pool *p, uint32_t idx)
{
    return (struct request *)(void *)p->objects + idx; /* as pool_at(), the size being known */
}

/* Of a mask of bytes of a line; most are of all, and many hosts count bits in a function. */
static inline uint32_t request_byte_count(const uint64_t bytes[2])
{
    if (__builtin_expect((bytes[0] & bytes[1]) == UINT64_MAX, 1)) return LINE_BYTES;
    return (uint32_t)(__builtin_popcountll(bytes[0]) + __builtin_popcountll(bytes[1]));
}

static inline bool request_writes(const struct request *r)
{
    return r->kind == REQUEST_WRITE || r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
}

#endif
