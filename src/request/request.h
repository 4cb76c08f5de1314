/* request: one access to a line, from an SM, a page walker or a slice to an LLC slice or a memory channel and
 * back. path.h holds the hops; sm/, mmu/ and llc/ create requests; net/ transports their indices.
 *
 *   SM, walker: pool_take() --> network --> slice --> (home slice) --> channel
 *   SM, walker: pool_give() <-- network <-- slice <-- (home slice) <---+   the same request is the reply
 *
 * Invariants:
 *  1. A request occupies a pool entry from its creation until its requester has the reply.
 *  2. One component at a time holds the index of a request. This component owns the request and its `next`.
 *  3. A request carries no data. The functional model produced all values when the instruction issued. */
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
    REQUEST_ATOMIC,     /* the reply carries the old values */
    REQUEST_REDUCTION,  /* atomic without a result: the reply is an acknowledgement */
    REQUEST_WALK,       /* page walk: read of a page-table entry */
    REQUEST_INVALIDATE, /* llc/coherence.h: home > slice with a copy; owner: its round at the home */
    REQUEST_ACK,        /* … and back, in the same entry. Neither is served by a tag stage. */
    REQUEST_KINDS
};

enum {
    REQUEST_READ_ONLY = 1 << 0, /* the line is not written while the kernel runs */
    REQUEST_UNCACHED = 1 << 1,  /* does not allocate in the L1 */
    REQUEST_FETCH =
        1 << 2, /* fetch of a remote line by a slice; owner: index of the line in that slice. Write: dirty
                                bytes of a remote data cache (llc/rdc_back.h); owner: their slot */
    REQUEST_PAGE = 1 << 3,    /* copy of a line into a page's new frame (pages/); owner: the page migration,
                                bytes[0]: the line in the new frame, if slices copy it (read). An engine at a port
                                of its own sends a read and then a write (sm: its port) */
    REQUEST_MIGRATE = 1 << 4, /* page migration: the home slice writes the line back if dirty, invalidates it,
                                 and does not keep the refetched line */
    REQUEST_STRONG = 1 << 7,  /* strong load of GPU or system scope */
    REQUEST_ONCE = 1 << 5 /* hint for the home slice of a remote read: a miss does not allocate there if the
                                 path rule says so (llc/read_once.c) */
};
enum {
    REQUEST_CONTEXT = 1 << 6 /* a line of a block's context: no access of a program */
};

/* Home of a line: its slice and memory channel. */
struct home {
    uint64_t line; /* physical line number: chiplet number above the line within the chiplet's memory */
    uint16_t channel, slice; /* numbers in the machine */
};

struct request { /* the first cache line of the host serves reads; the second one only writes */
    _Alignas(64) uint64_t line; /* simulated virtual address >> 7 */
    struct home home;
    uint64_t sent_cyc; /* SM cycle of creation */
    union {
        uint64_t ready_cyc; /* cycle in which the present hop completes */
        uint8_t *pin;       /* pin flag of the slice line that the request waits for (llc/slice_quick.h) */
    };
    uint32_t owner;  /* identifier for the requester: entry of the SM, walker or slice */
    uint32_t next;   /* next request in the list of the holding component; REQUEST_NONE: last */
    uint32_t served; /* cycle, modulo 2^32, in which the tag stage of a slice served the request */
    uint16_t sm;     /* requesting SM; page walk: number of the MMU */
    uint8_t kind, flags;
    uint8_t sectors;  /* read: bit per requested sector */
    uint8_t conflict; /* atomic: max number of lanes on one word */
    uint8_t app;
    uint8_t hit; /* the slice had the line; for the requester's statistics */
    uint16_t
        via; /* number + 1 of the slice that forwarded the request and gets the reply; 0: the SM gets it */

    _Alignas(64) uint64_t bytes[2]; /* write, atomic: bit per byte of the line, bit 0 = byte 0 */
    uint64_t performed_cyc;         /* performed write: cycle in which the home performed it */
    uint64_t order;                 /* write: its cycle in llc/store_order.h */
    uint32_t round; /* performed write: 1 + round of invalidations; 0: none (llc/coherence.h) */
};
_Static_assert(sizeof(struct request) == 128, "request_at() uses a shift");

/* List of requests, linked by `next`. */
struct request_list {
    uint32_t first, last, count;
};

static inline struct request *request_at(const struct pool *p, uint32_t idx)
{
    return (struct request *)(void *)p->objects + idx; /* pool_at() with a constant size */
}

/* Number of bytes in a byte mask. Fast path: all bytes, because popcount is a call on some hosts. */
static inline uint32_t request_byte_count(const uint64_t bytes[2])
{
    if (__builtin_expect((bytes[0] & bytes[1]) == UINT64_MAX, 1)) return LINE_BYTES;
    /* sums of neighbouring bits: without a popcnt instruction __builtin_popcountll() is a call */
    const uint64_t ones = 0x5555555555555555u, twos = 0x3333333333333333u, fours = 0x0f0f0f0f0f0f0f0fu;
    uint64_t a = bytes[0] - (bytes[0] >> 1 & ones), b = bytes[1] - (bytes[1] >> 1 & ones);
    a = (a & twos) + (a >> 2 & twos) + (b & twos) + (b >> 2 & twos);
    a = (a & fours) + (a >> 4 & fours);
    return (uint32_t)(a * 0x0101010101010101u >> 56);
}

static inline bool request_writes(const struct request *r)
{
    return r->kind == REQUEST_WRITE || r->kind == REQUEST_ATOMIC || r->kind == REQUEST_REDUCTION;
}

#endif
