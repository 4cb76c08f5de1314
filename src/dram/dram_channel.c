/* dram_channel: the step of a channel, its two buses, its birth.
 * See dram.h for the contract, dram_accept.c for acceptance, dram_pick.h for the choice of columns,
 * dram_commands.h for what commands do. */
#include "dram/dram_pick.h"
#include "dram/dram_rows.h"
#include "dram/dram_take.h"

const char *const dram_command_names[DRAM_COMMAND_KINDS] = {"ACT", "PRE", "PREA", "RD", "WR", "REF", "MIG"};

static void catch_up(struct dram_channel *ch, uint64_t now);
static const struct dram_entry *any_column(struct dram_channel *ch, uint64_t now);
static DRAM_HOT inline const struct dram_entry *plain_column(struct dram_channel *ch, uint64_t now,
                                                             enum dram_path path);
static inline void tell_done(struct dram_channel *ch, uint64_t now, const struct dram_entry *e);
static inline void offer_space(struct dram_channel *ch);
static uint64_t next_cyc(struct dram_channel *ch, uint64_t now);

/* The channel's TSV set is lent: commands are due when it is back. True: not yet. */
DRAM_RARE static bool wait_for_set(struct dram_channel *ch, uint64_t now)
{
    ch->col_next_cyc = dram_max(ch->col_next_cyc, ch->lent_until_cyc);
    ch->row_next_cyc = dram_max(ch->row_next_cyc, ch->lent_until_cyc);
    if (now < ch->lent_until_cyc) return true;
    ch->lent_until_cyc = 0;
    return false;
}

/* Anything may be due. */
static __attribute__((noinline)) uint64_t step_fully(struct dram_channel *ch, uint64_t now)
{
    if (now == ch->stepped_cyc) return ch->front.next_cyc; /* done already; nothing accepted since is due */
    const bool lent = ch->lent_until_cyc && wait_for_set(ch, now);
    if (ch->plain && !ch->refresh_pending) rows_before(ch, now, DRAM_PLAIN);
    catch_up(ch, now);
    if (lent) (void)wait_for_set(ch, now); /* what was admitted waits too */
    const struct dram_entry *served = any_column(ch, now);
    if (ch->refresh_pending) {
        dram_refresh_run(ch, now);
    } else {
        if (dram_mode_stale(ch)) dram_mode_change(ch);
        if (lent) (void)wait_for_set(ch, now);
        if (ch->row_next_cyc <= now) row_command(ch, now, DRAM_ANY);
    }
    if (served) tell_done(ch, now, served);
    if (ch->freed && ch->front.refused) offer_space(ch);
    ch->freed = false;
    return ch->front.next_cyc = next_cyc(ch, now);
}

/* Before alarm_cyc. */
static DRAM_HOT inline uint64_t step_plainly(struct dram_channel *ch, uint64_t now, enum dram_path path)
{
    rows_before(ch, now, path);
    ch->stepped_cyc = now;
    const struct dram_entry *served = ch->col_next_cyc <= now ? plain_column(ch, now, path) : NULL;
    if (ch->row_next_cyc <= now) row_command(ch, now, path);
    if (served) {
        tell_done(ch, now, served);
        if (ch->front.refused) offer_space(ch);
    }
    return ch->front.next_cyc = ch->front.stats.waiting ? dram_due_cyc(ch) : dram_idle(ch);
}

static __attribute__((noinline)) uint64_t step_plain(struct dram_channel *ch, uint64_t now)
{
    return step_plainly(ch, now, DRAM_PLAIN);
}

uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now)
{
    if (now >= ch->alarm_cyc) return step_fully(ch, now);
    if (!ch->lean) return step_plain(ch, now);
    return step_plainly(ch, now, DRAM_LEAN);
}

__attribute__((noinline)) void dram_log(struct dram_channel *ch, uint64_t cyc, enum dram_command_kind kind,
                                        uint32_t bank, uint32_t row, uint32_t column)
{
    if (ch->wiring.log)
        ch->wiring.log(
            ch->wiring.owner,
            &(struct dram_command){.cyc = cyc, .kind = kind, .bank = bank, .row = row, .column = column});
}

/* ---- the column bus ---- */

static DRAM_HOT inline const struct dram_entry *plain_serve(struct dram_channel *ch, uint64_t now,
                                                            struct dram_side *side, uint32_t kind,
                                                            enum dram_path path)
{
    struct dram_entry *e = side->hit;
    issue_column(ch, now, e, kind, dram_bank_with(side, kind), path);
    ch->col_next_cyc = column_cyc(ch, path);
    return e;
}

__attribute__((noinline)) const struct dram_entry *dram_serve_write(struct dram_channel *ch, uint64_t now,
                                                                    struct dram_side *side)
{
    return plain_serve(ch, now, side, DRAM_WRITE, DRAM_PLAIN);
}

/* What was served, NULL: nothing. */
static DRAM_HOT inline const struct dram_entry *plain_column(struct dram_channel *ch, uint64_t now,
                                                             enum dram_path path)
{
    struct dram_side *read = oldest_ready(ch, now, DRAM_READ, path);
    if (ch->front.waiting_writes) {
        struct dram_side *write = oldest_ready_write(ch, now, path);
        if (write->seq < read->seq) return dram_serve_write(ch, now, write);
    }
    if (read != &ch->ready[DRAM_READ]) return plain_serve(ch, now, read, DRAM_READ, path);
    ch->col_next_cyc = dram_max(column_cyc(ch, path), now + 1);
    return NULL;
}

/* Serves p and says when the next column may go, given what was seen while p was picked. */
static DRAM_HOT inline void serve(struct dram_channel *ch, uint64_t now, const struct dram_pick *p,
                                  uint32_t kind)
{
    struct dram_bank *b = p->bank;
    struct dram_side *side = &b->side[kind];
    /* a write of the same bank may have waited for this read */
    const bool others_ready = p->ready_count > 1 || ch->slot_mask || b->side[!kind].hit;
    ch->col_next_cyc = DRAM_NEVER; /* 0 if the column that starved is served below */
    issue_column(ch, now, p->entry, kind, b, DRAM_ANY);
    uint64_t after = dram_min(dram_chan_cyc(ch, DRAM_READ), dram_chan_cyc(ch, DRAM_WRITE));
    if (!others_ready) {
        const uint64_t same_bank = side->hit ? dram_column_cyc(ch, kind, side) : DRAM_NEVER;
        after = dram_max(after, dram_min(p->next_cyc, same_bank));
    }
    ch->col_next_cyc = dram_min(ch->col_next_cyc, after);
}

static const struct dram_entry *any_column(struct dram_channel *ch, uint64_t now)
{
    if (ch->col_next_cyc > now || (ch->single_bus && ch->row_bus_cyc > now)) return NULL;
    const struct dram_pick p = pick_column(ch, now);
    if (!p.entry)
        ch->col_next_cyc = p.next_cyc;
    else if (p.entry->kind == DRAM_READ)
        serve(ch, now, &p, DRAM_READ);
    else
        serve(ch, now, &p, DRAM_WRITE);
    return p.entry;
}

/* ---- completion: callbacks of the owner ---- */

static inline void tell_done(struct dram_channel *ch, uint64_t now, const struct dram_entry *e)
{
    if (e->line != DRAM_NONE && !line_ends(ch, e->line)) return;
    ch->wiring.done(ch->wiring.owner, e->tag, (enum dram_kind)e->kind, e->accept_cyc,
                    now + ch->gap.done[e->kind]);
}

static inline void offer_space(struct dram_channel *ch)
{
    ch->front.refused = false;
    if (ch->wiring.space) ch->wiring.space(ch->wiring.owner);
}

/* ---- what seldom happens ---- */

static void catch_up(struct dram_channel *ch, uint64_t now)
{
    if (ch->refresh_due_cyc < now) dram_refresh_run(ch, now - 1);
    /* cycles in which it slept through an empty queue count too */
    if (ch->stepped_cyc + 1 < now && !ch->refresh_pending && dram_mode_stale(ch)) dram_mode_change(ch);
    ch->stepped_cyc = now;
    if (ch->refresh_due_cyc <= now) ch->refresh_pending = true;
    dram_admit(ch, now);
    if (ch->refresh_pending) return;
    if (dram_mode_stale(ch)) dram_mode_change(ch);
    if (now >= ch->starve_cyc && !ch->starving) dram_starvation_look(ch, now);
}

static uint64_t alarm_cyc(const struct dram_channel *ch)
{
    if (!ch->plain || ch->refresh_pending || ch->starving || ch->claimed || ch->lent_until_cyc) return 0;
    const uint64_t staged = ch->staged ? ch->staged->visible_cyc : DRAM_NEVER;
    return dram_min(dram_min(staged, ch->refresh_due_cyc), ch->starve_cyc);
}

/* ---- time ---- */

/* How long those of a list have waited by the last change. */
static uint64_t waits_of(const struct dram_channel *ch, const struct dram_entry *e)
{
    uint64_t sum = 0;
    for (; e; e = e->next) sum += ch->changed_cyc - e->accept_cyc;
    return sum;
}

/* The integral of the number of waiting columns is the sum of their waits: of those that left and those queued. */
static void count_waiting(struct dram_channel *ch)
{
    struct dram_stats *s = &ch->front.stats;
    uint64_t integral = ch->waited_cyc + waits_of(ch, ch->staged);
    for (uint32_t bank = 0; s->waiting && bank < ch->bank_count; bank++) {
        const struct dram_bank *b = &ch->banks[bank];
        integral += waits_of(ch, b->side[DRAM_READ].head) + waits_of(ch, b->side[DRAM_WRITE].head);
        if (b->slot) integral += ch->changed_cyc - b->slot->accept_cyc;
    }
    s->waiting_cyc += integral - ch->counted_integral;
    ch->counted_integral = integral;
}

/* Nothing waits: what is counted now and then is complete. */
DRAM_RARE uint64_t dram_idle(struct dram_channel *ch)
{
    count_waiting(ch);
    return DRAM_NEVER;
}

static uint64_t next_cyc(struct dram_channel *ch, uint64_t now)
{
    ch->alarm_cyc = alarm_cyc(ch);
    if (!ch->front.stats.waiting) {
        const uint64_t idle = dram_idle(ch);
        if (!ch->claimed) return idle;
    }
    uint64_t next = ch->staged ? ch->staged->visible_cyc : DRAM_NEVER;
    const uint64_t column = ch->single_bus ? dram_max(ch->col_next_cyc, ch->row_bus_cyc) : ch->col_next_cyc;
    next = dram_min(next, column);
    if (ch->refresh_pending) {
        next = dram_min(next, dram_refresh_next(ch));
    } else {
        next = dram_min(next, ch->refresh_due_cyc);
        next = dram_min(next, ch->row_next_cyc);
        if (!ch->starving) next = dram_min(next, ch->starve_cyc);
        if (dram_mode_stale(ch)) return now + 1;
    }
    return dram_max(next, now + 1);
}

uint32_t dram_channel_waiting(const struct dram_channel *ch) { return (uint32_t)ch->front.stats.waiting; }
uint64_t dram_channel_last_data(const struct dram_channel *ch)
{
    return ch->read_cyc ? dram_max(ch->last_data_cyc, ch->read_cyc + ch->gap.done[DRAM_READ])
                        : ch->last_data_cyc;
}
struct dram_stats *dram_channel_stats(struct dram_channel *ch)
{
    count_waiting(ch);
    return &ch->front.stats;
}

/* ---- birth ---- */

static bool is_group_longer(const struct dram_channel *ch)
{
    const struct dram_gaps *gap = &ch->gap;
    return gap->col_l[DRAM_READ][DRAM_READ] > gap->col_s[DRAM_READ][DRAM_READ] ||
           gap->col_l[DRAM_WRITE][DRAM_WRITE] > gap->col_s[DRAM_WRITE][DRAM_WRITE] ||
           gap->col_l[DRAM_WRITE][DRAM_READ] > gap->col_s[DRAM_WRITE][DRAM_READ];
}

static void make_lists(struct dram_channel *ch)
{
    for (uint32_t bank = 0; bank < ch->bank_count; bank++) {
        struct dram_bank *b = &ch->banks[bank];
        b->open_row = DRAM_NO_ROW;
        for (uint32_t kind = 0; kind < 2; kind++) {
            b->side[kind].end = &b->side[kind].head;
            b->side[kind].group = bank / ch->spec->banks_per_group;
        }
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        ch->ready[kind].before = ch->ready[kind].after = &ch->ready[kind];
        ch->coming[kind].before = ch->coming[kind].after = &ch->coming[kind];
        ch->ready[kind].seq = ch->coming[kind].col_cyc = UINT64_MAX;
    }
    ch->opening.before = ch->opening.after = &ch->opening;
    ch->closing.before = ch->closing.after = &ch->closing;
    ch->opening.row_seq = ch->closing.pre_cyc = UINT64_MAX;
}

struct dram_channel *dram_channel_new(struct arena *a, const struct dram_spec *spec,
                                      const struct dram_wiring *wiring)
{
    DIAG_ASSERT(!dram_spec_fault(spec) && wiring->done);
    struct dram_channel *ch = ARENA_NEW(a, struct dram_channel);
    ch->spec = spec;
    ch->wiring = *wiring;
    ch->gap = dram_spec_gaps(spec);
    const uint32_t banks = ch->bank_count = spec->bank_groups * spec->banks_per_group;
    ch->front.split = spec->queue == dram_queue_split;
    ch->front.room[DRAM_READ] = ch->front.split ? spec->read_entries : spec->queue_entries;
    ch->front.room[DRAM_WRITE] = ch->front.split ? spec->write_entries : spec->queue_entries;
    ch->slots = spec->bank_slots;
    ch->plain = !ch->front.split && !ch->slots && spec->bus == dram_bus_dual;
    ch->starvation_cyc = spec->starvation_cyc;
    ch->row_hit_cap = spec->row_hit_cap;
    ch->hits_most = spec->row_hit_cap ? spec->row_hit_cap : UINT32_MAX;
    if (spec->close_rule == dram_close_when_older) ch->hits_most = 0;
    ch->intake_per_cyc = spec->intake_per_cyc;
    ch->in_turn = !ch->plain || spec->intake_per_cyc;
    ch->row_count = spec->rows;
    ch->column_count = spec->columns;
    ch->single_bus = spec->bus == dram_bus_single;
    ch->entry_count =
        (spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries + spec->write_entries) +
        (spec->bank_slots ? banks : 0);
    ch->act_col_min = (uint32_t)dram_min(ch->gap.act_col[DRAM_READ], ch->gap.act_col[DRAM_WRITE]);
    ch->entries =
        arena_alloc_aligned(a, ch->entry_count * sizeof(struct dram_entry), _Alignof(struct dram_entry));
    ch->lines = ARENA_ARRAY(a, struct dram_line, ch->entry_count + 1); /* from 1 on */
    ch->free_lines = ARENA_ARRAY(a, uint32_t, ch->entry_count);
    for (uint32_t i = 0; i < ch->entry_count; i++) {
        ch->entries[i].next = i + 1 < ch->entry_count ? &ch->entries[i + 1] : NULL;
        ch->free_lines[i] = ch->entry_count - i;
    }
    ch->free_line_count = ch->entry_count;
    ch->free_entries = ch->entries;
    ch->kinds = spec->queue == dram_queue_unified ? 3u : 1u << DRAM_READ;
    ch->front.next_cyc = DRAM_NEVER;
    ch->col_next_cyc = ch->row_next_cyc = DRAM_NEVER;
    ch->starve_cyc = DRAM_NEVER;
    ch->starving = NULL;
    ch->refresh_due_cyc = spec->refresh ? spec->trefi_cyc : DRAM_NEVER;
    ch->groups_columns = is_group_longer(ch);
    ch->lean = ch->plain && !ch->groups_columns && ch->gap.act_act_l == ch->gap.act_act_s &&
               !ch->gap.act_four && !wiring->log;
    make_lists(ch);
    return ch;
}
