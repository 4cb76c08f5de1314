/* write_through: a slice of a private organisation. Memory has the newest data, the slice only copies.
 *
 *   store, atomic ─► line changed where it is ─► memory operation ─► accepted ─► answered
 *   acquire of the cluster ─► every line forgotten; one on its way is read again
 *   memory accepted another slice's store ─► home copy forgotten (slice_snoop)
 *
 * So a load that follows an acquire finds what was acknowledged before, and atomics, done at a line's home,
 * find what memory has. */
#include "llc/llc_private.h"

void slice_write_on(struct slice *s, uint64_t now, uint64_t line, const uint64_t bytes[2],
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
        check_write_on(s->copies, idx);
        idx = at(s, idx)->next;
    }
    s->stats.memory_writes++;
    s->stats.written_through++;
    s->stats.memory_write_columns += op.column_count;
    slice_push_op(s, op);
}

/* Changes the line where it is here; keeps whole sectors of one that is not. */
bool slice_write_through(struct slice *s, uint64_t now, uint32_t idx, uint32_t set, uint32_t line)
{
    const struct request *r = at(s, idx);
    const uint8_t whole = sectors_written(r->bytes);
    const bool here = line != TAGS_NONE;
    if (!here && whole) {
        line = slice_make_room(s, now, set);
        if (line == TAGS_NONE) return false;
        tags_fill(&s->tags, line, r->home.line);
    }
    s->stats.write_hits += here;
    if (line != TAGS_NONE) {
        tags_touch(&s->tags, line);
        if (*tags_pins(&s->tags, line)) s->lines[line].again = true;
        s->lines[line].valid |= whole;
        slice_write_line(s, now, line, idx);
    }
    (void)use_port(s, now, slice_service_cycles(s, r));
    slice_write_on(s, now, r->home.line, r->bytes, (struct request_list){idx, idx, 1});
    return true;
}

/* What is known of the line is old: nobody finds it, and who waits for it gets it read again. */
static void forget_line(struct slice *s, uint64_t now, uint32_t line)
{
    DIAG_ASSERT(!(s->lines[line].dirty[0] | s->lines[line].dirty[1]));
    if (*tags_pins(&s->tags, line)) {
        struct slice_line *m = &s->lines[line];
        m->again = true;
        m->redo |= s->lines[line].valid;
        s->lines[line].valid = 0;
        if (s->copies) check_copy_drop(s->copies, line, now);
        return;
    }
    slice_drop_line(s, now, line);
}

/* Delivered before the slice is visited in the cycle. */
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
        forget_line(s, now, line);
        s->stats.acquire_drops++;
    }
}

void slice_invalidate(struct slice *s) { engine_send(s->wire.engine, s->component, 1, 0); }

void slice_snoop(struct slice *s, uint64_t line)
{
    const uint32_t here = tags_find(&s->tags, slice_set_of(s->spec, line), line);
    if (here == TAGS_NONE || !s->write_through || FAULT_FIRES(private_snoops_not)) return;
    s->stats.snooped++;
    forget_line(s, engine_now(s->wire.engine, s->wire.domain), here);
}

void slice_set_write_through(struct slice *s, bool on)
{
    s->write_through = on;
    if (s->copies) check_place_coherent(s->copies, !on);
}
