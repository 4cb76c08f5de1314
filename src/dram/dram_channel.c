/* dram_channel: the step of a channel and what each command does to the banks.
 * See dram.h for the contract, dram_accept.c for acceptance, dram_pick.h for the choice of commands. */
#include "dram/dram_pick.h"

const char *const dram_command_names[DRAM_COMMAND_KINDS] = {"ACT", "PRE", "PREA", "RD", "WR", "REF"};

static void catch_up(struct dram_channel *ch, uint64_t now);
static const struct dram_entry *any_column(struct dram_channel *ch, uint64_t now);
static inline const struct dram_entry *plain_column(struct dram_channel *ch, uint64_t now);
static inline void row_command(struct dram_channel *ch, uint64_t now, bool plain);
static inline void rows_before(struct dram_channel *ch, uint64_t now);
static inline void tell_done(struct dram_channel *ch, uint64_t now, const struct dram_entry *e);
static inline void offer_space(struct dram_channel *ch);
static uint64_t idle(struct dram_channel *ch);
static uint64_t next_cyc(struct dram_channel *ch, uint64_t now);

/* Anything may be due. */
static __attribute__((noinline)) uint64_t step_fully(struct dram_channel *ch, uint64_t now)
{
    if (now == ch->stepped_cyc) return ch->front.next_cyc; /* done already; nothing accepted since is due */
    if (ch->plain && !ch->refresh_pending) rows_before(ch, now);
    catch_up(ch, now);
    const struct dram_entry *served = any_column(ch, now);
    if (ch->refresh_pending) {
        dram_refresh_run(ch, now);
    } else {
        if (dram_mode_stale(ch)) dram_mode_change(ch);
        if (ch->row_next_cyc <= now) row_command(ch, now, false);
    }
    if (served) tell_done(ch, now, served);
    if (ch->freed && ch->front.refused) offer_space(ch);
    ch->freed = false;
    return ch->front.next_cyc = next_cyc(ch, now);
}

uint64_t dram_channel_step(struct dram_channel *ch, uint64_t now)
{
    if (now >= ch->alarm_cyc) return step_fully(ch, now);
    rows_before(ch, now);
    ch->stepped_cyc = now;
    const struct dram_entry *served = ch->col_next_cyc <= now ? plain_column(ch, now) : NULL;
    if (ch->row_next_cyc <= now) row_command(ch, now, true);
    if (served) {
        tell_done(ch, now, served);
        if (ch->front.refused) offer_space(ch);
    }
    return ch->front.next_cyc = ch->front.stats.waiting ? dram_max(dram_due_cyc(ch), now + 1) : idle(ch);
}

/* ---- column commands ---- */

__attribute__((noinline)) void dram_log(struct dram_channel *ch, uint64_t cyc, enum dram_command_kind kind,
                                        uint32_t bank, uint32_t row, uint32_t column)
{
    if (ch->wiring.log)
        ch->wiring.log(
            ch->wiring.owner,
            &(struct dram_command){.cyc = cyc, .kind = kind, .bank = bank, .row = row, .column = column});
}

static inline void raise_to(uint64_t *cyc, uint64_t to)
{
    if (*cyc < to) *cyc = to;
}

/* Of its own kind a column is the latest, so nothing later can stand there; the turnaround from reads to
 * writes is the same in all groups. */
static inline void column_timing(struct dram_channel *ch, uint64_t now, uint32_t kind, struct dram_bank *b)
{
    const struct dram_gaps *gap = &ch->gap;
    const uint32_t group = b->side[kind].group;
    ch->col_chan_cyc[kind] = now + gap->col_s[kind][kind];
    raise_to(&ch->col_chan_cyc[!kind], now + gap->col_s[kind][!kind]);
    raise_to(&b->pre_cyc, now + gap->col_pre[kind]);
    if (!ch->groups_columns) return;
    ch->col_group_cyc[kind][group] = now + gap->col_l[kind][kind];
    if (kind == DRAM_WRITE)
        raise_to(&ch->col_group_cyc[DRAM_READ][group], now + gap->col_l[DRAM_WRITE][DRAM_READ]);
}

#define WORD_OF(stat) (offsetof(struct dram_stats, stat) / sizeof(uint64_t))
_Static_assert(WORD_OF(row_misses) == WORD_OF(row_hits) + DRAM_MISS &&
                   WORD_OF(row_conflicts) == WORD_OF(row_hits) + DRAM_CONFLICT,
               "classes are counted by their number");

static inline void count_served(struct dram_channel *ch, uint64_t now, const struct dram_entry *e,
                                uint32_t kind)
{
    const uint64_t wait_cyc = now - e->accept_cyc;
    ((uint64_t *)&ch->front.stats)[WORD_OF(row_hits) + e->class]++;
    dram_count_leaving(ch, now);
    ch->front.stats.wait_cyc += wait_cyc;
    if (kind == DRAM_READ) {
        const uint64_t latency_cyc = wait_cyc + ch->gap.done[DRAM_READ];
        ch->front.stats.column_reads++;
        ch->front.stats.read_latency_cyc += latency_cyc;
        STATS_COUNT(ch->front.stats.read_latency, latency_cyc);
        ch->last_data_cyc = now + ch->gap.done[DRAM_READ]; /* one column per cycle: later than all before */
    } else {
        ch->front.stats.column_writes++;
        ch->last_data_cyc = dram_max(ch->last_data_cyc, now);
        ch->filter[dram_filter_slot(e->key)]--;
        ch->front.waiting_writes--;
    }
}

DRAM_RARE static void no_longer_starving(struct dram_channel *ch)
{
    ch->starving = NULL;
    ch->starve_cyc = ch->starvation_cyc ? 0 : DRAM_NEVER;
    ch->col_next_cyc = 0;
}

/* A column of the open row has left: does the bank still want the same of the row bus? */
static inline void column_left(struct dram_channel *ch, uint32_t kind, struct dram_bank *b, bool plain)
{
    const struct dram_side *side = &b->side[kind];
    if (b->side[!kind].head || b->row_entry) {
        dram_bank_changed(ch, b);
    } else if (side->head == side->hit) {
        /* none at all, or one that the row serves */
    } else if (!side->hit && (plain || (!b->slot && ch->kinds >> kind & 1))) {
        dram_wish_close(ch, b, side->head);
    } else {
        dram_bank_changed(ch, b);
    }
}

/* The entry is free from now on, but keeps what it holds until the next one is accepted. */
static DRAM_HOT inline void issue_column(struct dram_channel *ch, uint64_t now, struct dram_entry *e,
                                         uint32_t kind, struct dram_bank *b, bool plain)
{
    struct dram_side *side = &b->side[kind];
    column_timing(ch, now, kind, b);
    b->columns_since_act++;
    if (!plain && ch->single_bus) {
        ch->row_bus_cyc = now + 1;
        raise_to(&ch->row_next_cyc, now + 1);
    }
    if (!plain && b->slot == e) {
        b->slot = NULL;
        ch->slot_mask &= ~dram_bit(dram_bank_of(e));
    } else {
        dram_unlink(side, e);
        if (plain || side->hit == e) dram_hit_next(side, b->open_row, e->next);
        ++*dram_room(ch, kind);
        if (!plain && ch->front.split) ch->seen[kind]--;
        if (!plain) ch->freed = true;
    }
    if (ch->wiring.log)
        dram_log(ch, now, kind == DRAM_READ ? DRAM_RD : DRAM_WR, dram_bank_of(e), dram_row(e),
                 dram_column(e));
    count_served(ch, now, e, kind);
    if (!plain && e == ch->starving) no_longer_starving(ch);
    e->next = ch->free_entries;
    ch->free_entries = e;
    column_left(ch, kind, b, plain);
}

static inline const struct dram_entry *plain_read(struct dram_channel *ch, uint64_t now,
                                                  struct dram_side *side)
{
    struct dram_entry *e = side->hit;
    issue_column(ch, now, e, DRAM_READ, dram_bank_with(side, DRAM_READ), true);
    ch->col_next_cyc = column_cyc(ch);
    return e;
}

static __attribute__((noinline)) const struct dram_entry *plain_write(struct dram_channel *ch, uint64_t now,
                                                                      struct dram_side *side)
{
    struct dram_entry *e = side->hit;
    issue_column(ch, now, e, DRAM_WRITE, dram_bank_with(side, DRAM_WRITE), true);
    ch->col_next_cyc = column_cyc(ch);
    return e;
}

/* What was served, NULL: nothing. */
static DRAM_HOT inline const struct dram_entry *plain_column(struct dram_channel *ch, uint64_t now)
{
    struct dram_side *read = oldest_ready(ch, now, DRAM_READ);
    if (ch->front.waiting_writes) {
        struct dram_side *write = oldest_ready_write(ch, now);
        if (write->seq < read->seq) return plain_write(ch, now, write);
    }
    if (read != &ch->ready[DRAM_READ]) return plain_read(ch, now, read);
    ch->col_next_cyc = column_cyc(ch);
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
    ch->col_next_cyc = DRAM_NEVER; /* 0 when who starved is served below */
    issue_column(ch, now, p->entry, kind, b, false);
    uint64_t after = dram_min(ch->col_chan_cyc[DRAM_READ], ch->col_chan_cyc[DRAM_WRITE]);
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

/* ---- who waits for them ---- */

/* One column of a line was served; was it the last? */
static inline bool line_ends(struct dram_channel *ch, uint16_t line)
{
    if (--ch->lines[line].waiting_count) return false;
    ch->free_lines[ch->free_line_count++] = line;
    return true;
}

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

/* ---- row commands ---- */

/* Activate to activate in the whole channel: tRRD, and no five in tFAW. */
static inline void activate_timing(struct dram_channel *ch, uint64_t now)
{
    ch->act_chan_cyc = now + ch->gap.act_act_s;
    if (!ch->gap.act_four) return;
    ch->act_four_cyc[ch->recent_act_idx] = now + ch->gap.act_four;
    ch->recent_act_idx = (ch->recent_act_idx + 1) % 4;
    raise_to(&ch->act_chan_cyc, ch->act_four_cyc[ch->recent_act_idx]);
}

/* The column whose activate it is waits in its bank from now on. */
static inline void fill_slot(struct dram_channel *ch, struct dram_bank *b, struct dram_entry *e)
{
    dram_unlink(&b->side[e->kind], e);
    b->slot = e;
    ch->slot_mask |= dram_bit(dram_bank_of(e));
    ++*dram_room(ch, e->kind);
    if (ch->front.split) ch->seen[e->kind]--;
    ch->freed = true;
    ch->col_next_cyc = dram_min(ch->col_next_cyc, b->side[e->kind].col_cyc);
}

/* The row has just been opened: which columns does it serve? */
static inline void first_hit(struct dram_channel *ch, uint32_t kind, struct dram_bank *b)
{
    struct dram_side *side = &b->side[kind];
    struct dram_entry *e = side->head;
    while (e && dram_row(e) != b->open_row) e = e->next;
    if (!e) return;
    dram_hit_begins(ch, kind, side, e);
    ch->col_next_cyc = dram_min(ch->col_next_cyc, side->col_cyc);
}

static inline void issue_activate(struct dram_channel *ch, uint64_t now, struct dram_bank *b, bool plain)
{
    struct dram_entry *e = b->row_entry;
    b->act_cyc = now + ch->gap.act_act;
    if (ch->groups_activates) ch->act_group_cyc[b->side[0].group] = now + ch->gap.act_act_l;
    activate_timing(ch, now);
    b->side[DRAM_READ].col_cyc = now + ch->gap.act_col[DRAM_READ];
    b->side[DRAM_WRITE].col_cyc = now + ch->gap.act_col[DRAM_WRITE];
    b->pre_cyc = now + ch->gap.act_pre; /* what held the row before it is over */
    ch->row_bus_cyc = now + ch->gap.act_bus;
    ch->open_count++;
    b->open_row = dram_row(e);
    b->columns_since_act = 0;
    if (e->class == DRAM_HIT) e->class = DRAM_MISS;
    ch->front.stats.activates++;
    if (ch->wiring.log) dram_log(ch, now, DRAM_ACT, dram_bank_of(e), dram_row(e), dram_column(e));
    /* Its oldest hits now, or holds the row open by its slot: nothing else is wanted of the row bus. */
    dram_wish_remove(b);
    if (!plain && ch->slots) fill_slot(ch, b, e);
    first_hit(ch, DRAM_READ, b);
    first_hit(ch, DRAM_WRITE, b);
}

static inline void issue_precharge(struct dram_channel *ch, uint64_t now, struct dram_bank *b)
{
    struct dram_entry *e = b->row_entry;
    raise_to(&b->act_cyc, now + ch->gap.pre_act);
    ch->row_bus_cyc = now + 1;
    if (ch->wiring.log) dram_log(ch, now, DRAM_PRE, dram_bank_of(e), b->open_row, 0);
    dram_row_closes(ch, b);
    e->class = DRAM_CONFLICT;
    ch->front.stats.precharges++;
    dram_wish_leave(b);
    dram_opening_insert(ch, b);
}

/* ---- the row bus ---- */

static inline bool group_opens(const struct dram_channel *ch, uint64_t now, const struct dram_bank *b)
{
    return !ch->groups_activates || ch->act_group_cyc[b->side[0].group] <= now || b == &ch->opening;
}

/* The oldest bank that may be opened now; the end of the list: none, and *next_cyc says, as a lower bound,
 * when. */
static inline struct dram_bank *oldest_to_open(struct dram_channel *ch, uint64_t now, uint64_t *next_cyc)
{
    struct dram_bank *end = &ch->opening, *b = end->after;
    *next_cyc = DRAM_NEVER;
    if (ch->act_chan_cyc > now) {
        if (b != end) *next_cyc = ch->act_chan_cyc;
        return end;
    }
    for (; b->act_cyc > now || !group_opens(ch, now, b); b = b->after)
        *next_cyc = dram_min(*next_cyc, dram_activate_cyc(ch, b));
    return b;
}

/* The oldest bank that may be closed now and is older than that; NULL: none. */
static inline struct dram_bank *oldest_to_close(struct dram_channel *ch, uint64_t now, uint64_t seq)
{
    struct dram_bank *oldest = NULL;
    for (struct dram_bank *b = ch->closing.after; b->pre_cyc <= now; b = b->after) {
        if (b->row_seq > seq) continue;
        seq = b->row_seq;
        oldest = b;
    }
    return oldest;
}

/* The oldest ready activate or precharge; per bank only the oldest queued column asks for one. */
static DRAM_HOT inline void row_command(struct dram_channel *ch, uint64_t now, bool plain)
{
    const struct dram_bank *end = &ch->opening;
    uint64_t act_cyc;
    struct dram_bank *opened = oldest_to_open(ch, now, &act_cyc);
    struct dram_bank *closed = oldest_to_close(ch, now, opened->row_seq);
    if (closed) {
        issue_precharge(ch, now, closed);
        act_cyc = opened != end ? 0 : dram_min(act_cyc, closed->act_cyc);
    } else if (opened != end) {
        issue_activate(ch, now, opened, plain);
        act_cyc = end->after != end ? ch->act_chan_cyc : DRAM_NEVER;
    }
    ch->row_next_cyc = dram_max(dram_min(act_cyc, ch->closing.after->pre_cyc), ch->row_bus_cyc);
}

/* Row commands that were due between the last step and this one, each in its cycle: nobody outside notices
 * that they are late, as the queue changes only in cycles that are stepped. */
static DRAM_HOT inline void rows_before(struct dram_channel *ch, uint64_t now)
{
    for (uint64_t cyc; (cyc = ch->row_next_cyc) < now;) row_command(ch, cyc, true);
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
    if (!ch->plain || ch->refresh_pending || ch->starving) return 0;
    const uint64_t staged = ch->staged ? ch->staged->visible_cyc : DRAM_NEVER;
    return dram_min(dram_min(staged, ch->refresh_due_cyc), ch->starve_cyc);
}

/* ---- time ---- */

static void count_waiting(struct dram_channel *ch)
{
    struct dram_stats *s = &ch->front.stats;
    s->waiting_cyc += ch->waiting_cyc + (ch->changed_cyc - ch->counted_cyc) * s->waiting;
    ch->waiting_cyc = 0;
    ch->counted_cyc = ch->changed_cyc;
}

/* Nothing waits: what is counted now and then is complete. */
DRAM_RARE static uint64_t idle(struct dram_channel *ch)
{
    count_waiting(ch);
    return DRAM_NEVER;
}

static uint64_t next_cyc(struct dram_channel *ch, uint64_t now)
{
    ch->alarm_cyc = alarm_cyc(ch);
    if (!ch->front.stats.waiting) return idle(ch);
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
uint64_t dram_channel_last_data(const struct dram_channel *ch) { return ch->last_data_cyc; }
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
    ch->intake_per_cyc = spec->intake_per_cyc;
    ch->prompt = ch->plain && !spec->intake_per_cyc;
    ch->row_count = spec->rows;
    ch->column_count = spec->columns;
    ch->single_bus = spec->bus == dram_bus_single;
    ch->entry_count =
        (spec->queue == dram_queue_unified ? spec->queue_entries : spec->read_entries + spec->write_entries) +
        (spec->bank_slots ? banks : 0);
    ch->act_col_min = (uint32_t)dram_min(ch->gap.act_col[DRAM_READ], ch->gap.act_col[DRAM_WRITE]);
    ch->entries =
        arena_alloc_aligned(a, ch->entry_count * sizeof(struct dram_entry), _Alignof(struct dram_entry));
    ch->lines = ARENA_ARRAY(a, struct dram_line, ch->entry_count);
    ch->free_lines = ARENA_ARRAY(a, uint16_t, ch->entry_count);
    for (uint32_t i = 0; i < ch->entry_count; i++) {
        ch->entries[i].next = i + 1 < ch->entry_count ? &ch->entries[i + 1] : NULL;
        ch->free_lines[i] = (uint16_t)(ch->entry_count - 1 - i);
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
    ch->groups_activates = ch->gap.act_act_l > ch->gap.act_act_s;
    make_lists(ch);
    return ch;
}
