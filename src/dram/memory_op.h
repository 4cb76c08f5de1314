/* memory_op: the read or write of a line, and the queue of one client for one memory channel.
 *
 *   client (LLC slice) --append--> struct memory_queue --accepted oldest first--> channel (channel.h)
 *
 * The client owns queue and operations. The channel only reads the front; the client removes the front in
 * channel_wiring.accepted(). The client also keeps its bit of channel_wiring.pending: set while count > 0. */
#ifndef ATOLL_DRAM_MEMORY_OP_H
#define ATOLL_DRAM_MEMORY_OP_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_OP_WRITE UINT32_MAX
#define MEMORY_OP_OWN \
    UINT32_MAX /* memory_op.move: a line of the client itself, which --check does not follow */

struct memory_op {
    uint64_t line;
    uint32_t tag_line;                  /* read: the client's tag entry to fill; MEMORY_OP_WRITE: a write */
    uint8_t first_column, column_count; /* run of columns within the line */
    uint16_t writers_count; /* write-through requests that complete when the channel accepts; 0: none */
    uint64_t ready_tick;    /* first tick at which the channel may accept the operation */
    uint32_t writers_first; /* request index; linked by request.next */
    uint32_t move;          /* page migration of the line + 1, or MEMORY_OP_OWN; 0: none */
};
_Static_assert(sizeof(struct memory_op) == 32, "half a cache line");

static inline bool memory_op_is_write(const struct memory_op *op) { return op->tag_line == MEMORY_OP_WRITE; }

/* Bytes that an operation transfers to the channel: a header, and the columns of a write. */
static inline uint32_t memory_op_bytes(const struct memory_op *op, uint32_t header_bytes,
                                       uint32_t column_bytes)
{
    return header_bytes + (memory_op_is_write(op) ? op->column_count * column_bytes : 0);
}

/* A ring in FIFO order. The entry behind the last operation has ready_tick = ENGINE_NEVER. */
struct memory_queue {
    struct memory_op *front; /* the oldest operation */
    struct memory_op *ring, *end;
    uint32_t count;
};

/* ready_tick of the oldest operation; ENGINE_NEVER: the queue is empty. */
static inline uint64_t memory_queue_due(const struct memory_queue *q) { return q->front->ready_tick; }

#endif
