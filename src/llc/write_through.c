/* write_through: the stores and invalidations of a slice of a private organisation. Memory holds the newest
 * data; the lines of the slice are clean copies.
 *
 *   event                                          action
 *   store or atomic                                update the line if present ─► memory operation; the
 *                                                  request completes when the channel accepts the operation
 *   acquire of an SM of the cluster                invalidate every line; refetch lines with a pending fill
 *   memory accepts the store of another slice      invalidate the copy at the home (slice_snoop())
 *
 * A load after an acquire therefore sees every store that was acknowledged before. Atomics are executed at
 * the home, whose copy follows memory. */
#include "llc/llc_private.h"

void slice_push_writes(struct slice *s, uint64_t now, uint64_t line, const uint64_t bytes[2],
                       struct request_list writers)
{
    DIAG_ASSERT(writers.count <= UINT16_MAX);
    uint8_t sectors = 0;
    for (uint32_t k = 0; k < LINE_SECTORS; k++)
        if ((uint32_t)(bytes[k / 2] >> (k % 2 * 32))) sectors |= (uint8_t)(1u << k);
    struct memory_op op = {.line = line,
                           .tag_line = MEMORY_OP_WRITE,
                           .writers_first = writers.first,
                           .writers_count = (uint16_t)writers.count,
                           .ready_tick = (now + 1) * s->spec->ticks_per_cycle};
    slice_columns(s->spec, sectors, &op.first_column, &op.column_count);
    for (uint32_t k = 0, idx = writers.first; s->copies && k < writers.count; k++) {
        check_write_through(s->copies, idx);
        idx = at(s, idx)->next;
    }
    s->stats.memory_writes++;
    s->stats.written_through++;
    s->stats.memory_write_columns += op.column_count;
    slice_push_op(s, op);
}

/* Updates the line if it is present. On a miss, allocates a line for completely written sectors. */
bool slice_write_through(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line)
{
    const struct request *r = at(s, idx);
    const uint8_t whole = sectors_written(r->bytes);
    const bool here = line != TAGS_NONE;
    if (!here && whole) {
        line = slice_evict_victim(s, now, set);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
    }
    s->stats.write_hits += here;
    if (line != TAGS_NONE) {
        tags_touch(&s->tags, line);
        if (*tags_pins(&s->tags, line)) s->lines[line].refetch = true;
        s->lines[line].valid |= whole;
        slice_write_line(s, now, line, idx);
    }
    (void)use_port(s, now, slice_service_cycles(s, r));
    slice_push_writes(s, now, r->home.line, r->bytes, (struct request_list){idx, idx, 1});
    return true;
}

/* Invalidates a stale line. If its fill is pending, the line is read again for the waiting requests. */
static void refetch_or_invalidate(struct slice *s, uint64_t now, uint32_t line)
{
    DIAG_ASSERT(!(s->lines[line].dirty[0] | s->lines[line].dirty[1]));
    if (*tags_pins(&s->tags, line)) {
        struct slice_line *m = &s->lines[line];
        m->refetch = true;
        m->refetch_sectors |= s->lines[line].valid;
        s->lines[line].valid = 0;
        if (s->copies) check_copy_drop(s->copies, line, now);
        return;
    }
    slice_drop_line(s, now, line);
}

/* The engine delivers messages before it wakes the slice in the cycle. */
void slice_receive(void *self, uint64_t now, uint64_t message)
{
    struct slice *s = self;
    if (message) {
        coherent_invalidate(s, now, message - 1);
        return;
    }
    if (!s->write_through || FAULT_FIRES(private_keeps_at_acquire)) return;
    s->stats.acquires++;
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++) {
        if (!tags_used(&s->tags, line)) continue;
        refetch_or_invalidate(s, now, line);
        s->stats.acquire_drops++;
    }
}

void slice_invalidate(struct slice *s) { engine_send(s->wire.engine, s->component, 1, 0); }

void slice_snoop(struct slice *s, uint64_t line)
{
    const uint32_t here = tags_find(&s->tags, slice_set_of(s->spec, line), line);
    if (here == TAGS_NONE || !s->write_through || FAULT_FIRES(private_snoops_not)) return;
    s->stats.snooped++;
    refetch_or_invalidate(s, engine_now(s->wire.engine, s->wire.domain), here);
}

void slice_set_write_through(struct slice *s, bool on)
{
    s->write_through = on;
    if (s->copies) check_place_coherent(s->copies, !on);
}
