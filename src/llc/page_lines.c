/* page_lines: lines of pages that get another frame (pages/). Lines of the old frame leave the slice: the slice
 * writes dirty bytes back and invalidates the line. Lines of the new frame go to memory. */
#include "check/fault.h"
#include "llc/slice_memory.h"

/* An operation of the line waits for the channel, from an earlier eviction or for a fill. */
static bool op_waits(const struct slice *s, uint64_t line)
{
    for (uint32_t q = 0; q < s->spec->channels; q++) {
        const struct memory_queue *ops = &s->queues[q].ops;
        const struct memory_op *op = ops->front;
        for (uint32_t k = 0; k < ops->count; k++) {
            if (op->line == line) return true;
            if (++op == ops->end) op = ops->ring;
        }
    }
    return false;
}

enum page_line slice_evict_page_line(struct slice *s, uint64_t line, uint32_t move)
{
    const uint64_t now = engine_now(s->wire.engine, s->wire.domain);
    const uint32_t at_line = tags_find(&s->tags, set_of(s, line), line);
    if (op_waits(s, line)) return PAGE_LINE_BUSY;
    if (at_line == TAGS_NONE) return PAGE_LINE_ABSENT;
    if (*tags_pins(&s->tags, at_line)) return PAGE_LINE_BUSY;
    uint64_t *const dirty = s->lines[at_line].dirty;
    const bool writes = (dirty[0] | dirty[1]) != 0 && !FAULT_FIRES(move_loses_dirty);
    if (writes) {
        if (!slice_memory_has_room(s)) return PAGE_LINE_BUSY;
        slice_write_back_for(s, now, at_line, move + 1);
    }
    dirty[0] = dirty[1] = 0;
    slice_drop_line(s, now, at_line);
    s->stats.page_evictions++;
    return writes ? PAGE_LINE_WRITES : PAGE_LINE_ABSENT;
}

uint64_t slice_write_page_line(struct slice *s, uint64_t now, uint32_t idx)
{
    const struct request *r = at(s, idx);
    struct memory_op op = {.line = r->kind == REQUEST_WRITE ? r->home.line : r->bytes[0],
                           .tag_line = MEMORY_OP_WRITE,
                           .move = r->owner + 1,
                           .ready_tick = (now + s->spec->fill_latency_cyc) * s->spec->ticks_per_cycle};
    slice_columns(s->spec, SECTORS_ALL, &op.first_column, &op.column_count);
    const uint64_t start = use_port(s, now, s->spec->line_cyc);
    if (s->wire.check) check_page_write(s->wire.check, idx, op.line);
    s->stats.page_writes++;
    s->stats.memory_writes++;
    s->stats.memory_write_columns += op.column_count;
    slice_push_op(s, op);
    return start;
}
