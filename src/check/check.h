/* check: the model of --check. It carries a version of every 4-byte word through every cache, beside the
 * timing model.
 *
 *   store issued ──► request ──► copy in a slice ──► write-back ──► memory ──► fill ──► copy in a slice
 *   (new version)                    │                                                        │
 *                                    └──► acknowledgement to the SM                           │
 *                                               load ◄── copy in an L1 ◄── read reply ◄───────┘
 *
 * The timing model moves requests, not data, so a stale line cannot show in a kernel's values. A version is
 * the number of the store (or atomic) in the order of issue. The rules, by the event at which they are
 * checked:
 *
 *   event               rule
 *   memory-side read    The read sees every store that was acknowledged before the read is served.
 *   load                The load sees every store acknowledged before the last acquire point of its SM
 *                       (kernel begin, fence or acquire of GPU scope, arrival of a migrated block). The
 *                       load also sees the newest store if that store belongs to the same block.
 *   release             Every earlier store of the warp is acknowledged.
 *   store               Stores of a warp to a word arrive in program order.
 *   kernel end          Every store is acknowledged. After a flush, memory holds the newest versions.
 *   use of a copy       The copy is valid and holds the requested line. Its eviction loses no dirty data.
 *
 * A load that sees an older version than the newest store, without being ordered after that store, is racy.
 * The check counts a racy load and does not fail. If two stores race, the newer version stays, in either
 * order of arrival, because their order is undefined.
 *
 * A place is an array of lines that hold copies. The components report each fill, loss and use of a copy, so
 * a new organisation needs no new rule. A hook costs one branch if the check is off. The check owns its
 * memory. diag_check_failed() raises a failure. */
#ifndef ATOLL_CHECK_CHECK_H
#define ATOLL_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct check;
struct check_place;

struct check_counts {
    uint64_t stores;            /* line accesses of stores, atomics and reductions */
    uint64_t loads;             /* line accesses of loads and atomics */
    uint64_t words;             /* words that they read */
    uint64_t ordered_words;     /* of these: had a version that they must see */
    uint64_t racy_words;        /* of these: saw an older version than the newest issued, and may */
    uint64_t stale_words;       /* of these: had to see a newer version; llc.coherence none only */
    uint64_t racy_stores;       /* words of stores that arrived after a newer store by another warp */
    uint64_t memory_side_reads; /* reads checked where they were served */
    uint64_t acquires, releases;
    uint64_t write_backs;
    uint64_t read_only_loads; /* line accesses of loads marked ld.global.ro */
};

/* loads: max. instructions in flight of an SM; requests: size of the machine's pool of requests. */
struct check *check_new(uint32_t sms, uint32_t loads, uint32_t requests);
void check_free(struct check *c); /* NULL is allowed */
struct check_counts check_counts(const struct check *c);

/* ---- kernels ---- */

/* Returns the number of the kernel, which its accesses carry. */
uint32_t check_kernel_begin(struct check *c, const char *name);
/* Checks that all stores of the kernel are acknowledged. Call when all its blocks have ended. flushed: every
 * cache below the L1s was written back, and no other kernel runs. */
void check_kernel_end(struct check *c, uint32_t kernel, bool flushed, uint64_t now);
/* Checks at the end of a run that the newest version of every word is in memory or in a copy at the memory
 * side. */
void check_finish(struct check *c, uint64_t now);

/* ---- an SM: from issue to reply ---- */

struct check_access {
    uint64_t line; /* simulated virtual address >> 7 */
    uint64_t bytes[2];
    uint64_t block;
    uint32_t app, sm, kernel;
    uint16_t load;       /* reads: the SM's number of the instruction, valid until its line arrives */
    uint16_t generation; /* generation of the warp in its slot */
    uint8_t warp;
    bool reads, writes;
    bool read_only; /* marked ld.global.ro: no store writes the line while the kernel runs */
};

void check_issue(struct check *c, const struct check_access *a, uint64_t now);
/* An access becomes a request. frame: physical line to which the request is sent. */
void check_send(struct check *c, const struct check_access *a, uint32_t request, uint64_t frame,
                uint64_t now);
/* An acquire point of an SM. Later loads must see every store acknowledged in earlier cycles. Stores of this
 * cycle are excluded, because SMs have no order within a cycle. */
void check_acquire(struct check *c, uint32_t sm, uint64_t now);
void check_release(struct check *c, uint32_t sm, uint32_t warp, uint32_t generation, uint64_t now);
/* A warp of the block passes a fence or release that it reached at since_cyc. Checks that no load of the block, ended
 * before since_cyc, has read a store that is not answered yet (cumulativity). */
void check_cumulative(struct check *c, uint32_t sm, uint64_t block, uint64_t since_cyc, uint64_t now);
/* Records what check_cumulative() needs. */
void check_expect_cumulative(struct check *c);
/* A reply or acknowledgement has reached the SM. Call before the request is freed. */
void check_reply(struct check *c, uint32_t request, uint64_t now);
/* A load reads its line from a copy, or directly from a reply. */
void check_load(struct check_place *p, uint32_t idx, uint32_t sm, uint32_t load, uint32_t app, uint64_t line,
                uint64_t now);
void check_load_reply(struct check *c, uint32_t request, uint32_t load, uint64_t now);

/* ---- copies at a place ---- */

/* memory_side: the lines of this place are written only here, and stores are acknowledged here. */
struct check_place *check_place_new(struct check *c, const char *name, uint32_t lines, bool memory_side);
/* The copy gets sectors of a reply, or of another copy at the same place. */
void check_copy_reply(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors);
void check_copy_from(struct check_place *p, uint32_t idx, uint32_t from, uint8_t sectors);
/* A store or atomic writes the copy. */
void check_copy_store(struct check_place *p, uint32_t idx, uint32_t request, uint64_t now);
/* The last store that the SM sent also updates the SM's copy. */
void check_copy_update(struct check_place *p, uint32_t idx, uint32_t sm, uint64_t now);
/* The copy is invalidated. */
void check_copy_drop(struct check_place *p, uint32_t idx, uint64_t now);
/* The copy serves a read, or the read of an atomic. The request gets the versions of the copy. */
void check_copy_read(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors, uint64_t now);

/* ---- between places: fetches of remote lines ---- */

/* `request` fetches the line of `for_request` from another place. */
void check_forward(struct check *c, uint32_t request, uint32_t for_request);
/* The data of the fetch fills the copy, except for its dirty bytes. */
void check_remote_fill(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors,
                       const uint64_t dirty[2]);
void check_forward_done(struct check *c, uint32_t request);

/* ---- sparse places: a remote data cache ---- */

struct check_sparse;
struct check_sparse *check_sparse_new(struct check *c, const char *name);
/* Lines of the place are also filled by check_remote_arrived(). */
void check_place_expects(struct check_place *p);
/* The set gets the copy of a place. */
void check_sparse_put(struct check_sparse *sp, uint64_t set, const struct check_place *p, uint32_t idx);
/* Planted fault: the reply of a fetch as it came; the set gets it instead. */
void check_place_keep_reply(struct check_place *p, uint32_t idx, uint32_t request);
void check_sparse_put_reply(struct check_sparse *sp, uint64_t set, const struct check_place *p, uint32_t idx);
/* The set gets the line as the host left it. */
void check_sparse_fresh(struct check_sparse *sp, uint64_t set, uint64_t frame);
/* The data of the set sets out for a line of the place, and fills it, except for its dirty bytes. */
void check_sparse_read(struct check_sparse *sp, uint64_t set, struct check_place *p, uint32_t idx);
void check_remote_arrived(struct check_place *p, uint32_t idx, const uint64_t dirty[2]);
/* A store updates the copy of the set; the copy is invalidated; all copies are. */
void check_sparse_store(struct check_sparse *sp, uint64_t set, uint32_t request, uint64_t now);
void check_sparse_drop(struct check_sparse *sp, uint64_t set);
void check_sparse_clear(struct check_sparse *sp);

/* A remote data cache that keeps stores (rdc.write back). slots: lines that may leave at one time. A store that is kept
 * is acknowledged when its home has performed the bytes of its line. */
void check_sparse_writes_back(struct check_sparse *sp, uint32_t slots);
void check_sparse_keep(struct check_sparse *sp, uint64_t set, uint32_t request, uint64_t now);
/* The dirty bytes of the set leave; they are sent as a request; the home performs the request. */
void check_sparse_leave(struct check_sparse *sp, uint64_t set, uint32_t slot, const uint64_t bytes[2]);
void check_sparse_sent(struct check_sparse *sp, uint32_t slot, uint32_t request);
void check_kept_performed(struct check *c, uint32_t request, uint64_t now);

/* Stale loads are counted and are no failure (llc.coherence none). */
void check_expect_stale(struct check *c);

/* ---- page migration and replication, line by line ---- */

/* A request reads a line from its present frame. */
void check_page_read(struct check *c, uint32_t request, uint32_t app, uint64_t line, uint64_t frame,
                     uint32_t sm);
/* The data of the request is written to another frame of the line. */
void check_page_write(struct check *c, uint32_t request, uint64_t frame);
/* The frame becomes the frame of the line. */
void check_page_moved(struct check *c, uint32_t app, uint64_t line, uint64_t frame);
/* The allocation of the line was freed: a later use of the address is another line, in another frame. */
void check_line_freed(struct check *c, uint32_t app, uint64_t line);
/* A line is copied inside memory from one frame to another. hazard: what makes the copy wrong; NULL: nothing. */
void check_line_moves(struct check *c, uint32_t app, uint64_t line, uint64_t from, uint64_t to,
                      const char *hazard, uint64_t now);
/* Lines have several frames: replicas of their page. united: a store reaches all frames at once, so that a read at the
 * memory side finds the newest version in each. Call it before the first kernel. */
void check_replicas(struct check *c, bool united);
/* The frame is freed. */
void check_frame_free(struct check *c, uint64_t frame);

/* coherent (the default at the memory side): every read at the place sees all acknowledged stores. Otherwise
 * this holds for atomics only; other reads are compared with the acquire points of their SMs. */
void check_place_coherent(struct check_place *p, bool coherent);

/* ---- between the memory side and memory ---- */

/* A store or atomic is written through to memory. */
void check_write_through(struct check_place *p, uint32_t request);
/* Memory has accepted a store or atomic that was written through. */
void check_memory_store(struct check_place *p, uint32_t request);

/* The dirty bytes of the copy are written back. */
void check_write_back(struct check_place *p, uint32_t idx, const uint64_t dirty[2]);
/* Memory has accepted a write-back of the line. */
void check_memory_write(struct check *c, uint64_t frame);
/* Memory has accepted a read of the line for a copy. */
void check_memory_read(struct check_place *p, uint32_t idx, uint64_t frame, uint8_t sectors);
/* The data of a memory read for copy `from` goes to copy `idx` instead. check_memory_fill() follows. */
void check_memory_redirect(struct check_place *p, uint32_t idx, uint32_t from, uint8_t sectors);
/* The data of a memory read fills the copy, except for its dirty bytes. */
void check_memory_fill(struct check_place *p, uint32_t idx, uint8_t sectors, const uint64_t dirty[2],
                       uint64_t now);

#endif
