/* coherence: copies of a line in the slices and RDCs of other GPUs (organisation numa). A row of coherence.def
 * decides which copies a write makes stale; coherence.c carries the decision out.
 *
 *   home slice                                                  slice of another GPU
 *   a write is performed; row->on() names GPUs
 *        └── INVALIDATE to each ──── far_reply network ───────► drop the LLC line, clear the RDC line
 *   last acknowledgement ◄────────── far_reply network ──────── ACK, in the entry of the INVALIDATE
 *        └── the reply of the write leaves
 *
 * Invariants:
 *  1. INVALIDATE and ACK travel in the reply direction. Their receivers accept them always: an INVALIDATE waits in
 *     a list that holds all of them, an ACK ends at once. No request of a slice waits for a request, so the
 *     argument of remote_lines.c holds.
 *  2. A home has at most llc.invalidate_queue invalidations in flight. A round keeps the mask of GPUs that are
 *     still to be sent to, so the tag stage never waits for an invalidation.
 *  3. A write to a line with invalidations in flight waits for them, whatever the row says: the copies may still be
 *     read, and the reply of the write says that they are gone. It sends INVALIDATEs only to GPUs that have none
 *     in flight, or that have been served the line since theirs was made. Rounds of a line end in order.
 *  4. An ACK leaves when the LLC line is gone and the clear of the RDC set has its place in the order of the set. */
#ifndef ATOLL_LLC_COHERENCE_H
#define ATOLL_LLC_COHERENCE_H

#include "base/map.h"
#include "base/rng.h"
#include "config/config.h"
#include "request/request.h"
#include "stats/stats.h"

struct slice;

/* Accesses that the home of a line serves. Remote: by an SM of another GPU. */
enum coherence_event {
    COHERENCE_LOCAL_READ,
    COHERENCE_LOCAL_WRITE,
    COHERENCE_REMOTE_READ,
    COHERENCE_REMOTE_WRITE,
    COHERENCE_EVENTS
};

/* Invalidations of a line, and the performed writes whose replies wait for them. */
struct coherence_round {
    uint64_t gpus, unsent; /* GPUs that it invalidates; those whose INVALIDATE has not been made */
    uint64_t
        covered; /* GPUs with an INVALIDATE of this or an older active round of the line, and nothing served
                         since it was made: they hold no copy when the round ends */
    uint64_t address,
        added_cyc; /* of the last write that added INVALIDATEs: its line, when it was performed */
    struct home home;
    struct request_list writes;
    uint32_t pending; /* INVALIDATEs that are not acknowledged */
    uint32_t younger; /* next round of the line, or next free round */
    uint32_t next_unsent;
    uint16_t sm;
    uint8_t app;
};

/* Coherence state of a home slice. */
struct coherence {
    const struct coherence_ops *ops;
    uint64_t gpus;     /* mask of all GPUs but this one */
    struct map lines;  /* state of a line, as the row defines it; absent: 0 */
    struct map active; /* lines with rounds: the oldest and the youngest one */
    struct coherence_round *rounds;
    uint32_t round_count, free_round;
    struct {
        uint32_t first, last, count;
    } unsent; /* rounds with INVALIDATEs to be made */
    struct rng rng;
    bool imst;                   /* imst.enabled */
    bool remote_write_shares;    /* imst.remote_write_shares */
    double demote;               /* imst.demote */
    uint32_t free;               /* invalidations that may be sent before an acknowledgement arrives */
    uint32_t held;               /* performed writes whose acknowledgements are outstanding */
    struct request_list out;     /* INVALIDATE and ACK packets for the network */
    struct request_list waiting; /* INVALIDATEs that wait for an entry of the RDC's queue */
    struct coherence_stats *stats;
};

/* A row: decisions only. */
struct coherence_ops {
    /* The home serves an access of a GPU to a line. Returns the mask of GPUs whose copies are stale from now on.
     * NULL: the home never invalidates. */
    uint64_t (*on)(struct coherence *k, enum coherence_event e, uint64_t line, uint32_t gpu);
    bool has_epochs; /* copies of an earlier epoch are stale; acquires and kernel ends start one */
    bool
        strong_to_home; /* strong loads of GPU or system scope pass on to the home if copies live long (RDC) */
    bool expects_stale; /* --check counts stale reads and does not fail */
};

const struct coherence_ops *coherence_row(const struct config *c);

/* ---- IMST: the sharing states of gpu_vi ---- */

enum imst_state { IMST_UNCACHED, IMST_PRIVATE, IMST_READ_SHARED, IMST_WRITE_SHARED, IMST_STATES };
struct imst_step {
    uint8_t next;
    bool broadcast; /* invalidates all GPUs but the home and the writer */
};
/* Without the demotion of imst.demote. */
struct imst_step imst_step_of(enum imst_state state, enum coherence_event e);

#define ITEM(list, item, help) extern const struct coherence_ops coherence_##item;
#include "llc/coherence.def"
#undef ITEM

/* ---- the slice: coherence.c. s->remote->coherence is NULL where no row has on(). ---- */

struct coherence_stats;
struct coherence *coherence_new(struct slice *s, struct arena *a, const struct config *c);
void coherence_free(struct coherence *k);
/* The home replies to a fetch of another GPU's slice. */
void coherence_on_read(struct slice *s, const struct request *r);
/* The home performs a store, atomic or reduction. Sets r->round, which its reply waits for. */
void coherence_on_write(struct slice *s, uint64_t now, struct request *r);
/* Keeps the reply of a performed write until its acknowledgements have arrived. */
void coherence_hold(struct slice *s, uint64_t now, uint32_t idx, uint64_t ready_cyc);
/* An INVALIDATE or ACK has arrived. */
void coherence_receive(struct slice *s, uint64_t now, uint32_t idx);
/* True if packets of the protocol are to be sent, or an INVALIDATE waits. */
static inline bool coherence_busy(const struct coherence *k)
{
    return k->unsent.count | k->out.count | k->waiting.count;
}
/* Sends one packet. *sent: a packet was injected. Returns the cycle of the next attempt; ENGINE_NEVER: a wake-up
 * is registered. */
uint64_t coherence_send(struct slice *s, uint64_t now, bool *sent);

#endif
