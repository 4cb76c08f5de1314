/* dram_stack: see dram_stack.h. A piece goes through three states, per end:
 *
 *   wanted (older requests of the bank go first) ──► claimed (the bank serves the piece) ──► moves
 *
 * A claim is an entry that competes for row commands like a request (ch->claims[bank]), so the bank is opened
 * and closed by the rules of all other banks. The start of a piece raises the bank's and the group's earliest
 * cycles to the end of the transfer, so nothing has to be done at the end. */
#include "dram/dram_stack.h"

#include "base/diag.h"
#include "check/fault.h"
#include "dram/dram_lists.h"

struct dram_stack {
    struct dram_stack_wiring wire;
    struct dram_channel *channels[DRAM_STACK_CHANNELS_MAX];
    uint32_t count;
    struct dram_copy *first; /* copies with pieces that have not begun, oldest first */
    struct travel {
        const struct dram_copy *copy; /* the last whose pieces moved at the channel */
        uint64_t end_cyc;             /* of these pieces */
    } travels[DRAM_STACK_CHANNELS_MAX];
    struct stack_stats stats;
};

/* One end of a piece. */
struct end {
    struct dram_channel *ch;
    struct dram_bank *b;
    uint64_t key, bit;
    uint32_t bank, group;
    bool written;
};

static struct end end_of(const struct dram_stack *s, const struct dram_piece *p, bool written)
{
    const uint64_t key = written ? p->to[0] : p->from[0];
    struct dram_channel *ch = s->channels[written ? p->destination : p->source];
    const uint32_t bank = dram_key_bank(key);
    return (struct end){.ch = ch,
                        .b = &ch->banks[bank],
                        .key = key,
                        .bit = dram_bit(bank),
                        .bank = bank,
                        .group = bank / ch->spec->banks_per_group,
                        .written = written};
}

/* Every command that was due by now has been issued; what the change makes possible is due from now + 1 on. */
static void changed(const struct dram_stack *s, struct dram_channel *ch, uint64_t now)
{
    ch->row_next_cyc = dram_max(ch->row_next_cyc, now + 1);
    ch->alarm_cyc = 0; /* until the next step has found out */
    ch->front.next_cyc = dram_min(ch->front.next_cyc, now + 1);
    for (uint32_t k = 0; s->wire.changed && k < s->count; k++)
        if (s->channels[k] == ch) s->wire.changed(s->wire.owner, k);
}

/* ---- claims ---- */

static void want(const struct end *e, uint64_t now)
{
    struct dram_channel *ch = e->ch;
    ch->claims[e->bank] = (struct dram_entry){.seq = ch->next_seq++,
                                              .key = e->key,
                                              .accept_cyc = now,
                                              .kind = e->written ? DRAM_WRITE : DRAM_READ,
                                              .class = DRAM_HIT};
    ch->wanted |= e->bit;
}

/* A request that was accepted before the piece waits for the bank. */
static bool older_waits(const struct end *e)
{
    const uint64_t seq = e->ch->claims[e->bank].seq;
    for (uint32_t kind = 0; kind < 2; kind++)
        if (e->b->side[kind].head && e->b->side[kind].head->seq < seq) return true;
    for (const struct dram_entry *w = e->ch->staged; w; w = w->next)
        if (dram_bank_of(w) == e->bank && w->seq < seq) return true;
    return false;
}

/* A request that waits behind the piece is not served before all others. */
static void forget_starving(const struct end *e)
{
    struct dram_channel *ch = e->ch;
    if (!ch->starving || dram_bank_of(ch->starving) != e->bank) return;
    ch->starving = NULL;
    ch->starve_cyc = 0;
    ch->col_next_cyc = 0;
}

/* True: the bank serves the piece. */
static bool claim(const struct dram_stack *s, const struct end *e, uint64_t now)
{
    struct dram_channel *ch = e->ch;
    if (ch->claimed & e->bit) return true;
    if (older_waits(e) && !FAULT_FIRES(migration_overtakes)) return false;
    ch->wanted &= ~e->bit;
    ch->claimed |= e->bit;
    forget_starving(e);
    dram_bank_changed(ch, e->b);
    changed(s, ch, now);
    return true;
}

static void release(const struct dram_stack *s, const struct end *e, uint64_t now)
{
    struct dram_channel *ch = e->ch;
    ch->claimed &= ~e->bit;
    dram_bank_changed(ch, e->b);
    ch->col_next_cyc = dram_min(ch->col_next_cyc, now + 1);
    if (ch->starvation_cyc) ch->starve_cyc = dram_min(ch->starve_cyc, now + 1);
    changed(s, ch, now);
}

/* ---- when a piece may begin ---- */

/* Earliest cycle as far as the bank decides; DRAM_NEVER: its row must be opened or closed first. */
static uint64_t bank_ready_cyc(const struct end *e)
{
    const struct dram_bank *b = e->b;
    if (e->ch->spec->migration == dram_migration_paper)
        return b->open_row == DRAM_NO_ROW ? b->act_cyc : b->pre_cyc;
    return b->open_row == dram_key_row(e->key) ? b->side[e->written].col_cyc : DRAM_NEVER;
}

static uint64_t bank_cyc(const struct end *e)
{
    return FAULT_FIRES(migration_takes_busy_bank) ? 0 : bank_ready_cyc(e);
}

/* … as far as the column path of the group decides. */
static uint64_t group_cyc(const struct end *e)
{
    return dram_max(e->ch->col_group_cyc[DRAM_READ][e->group], e->ch->col_group_cyc[DRAM_WRITE][e->group]);
}

/* First cycle after the last command and the last data of the channel. */
static uint64_t busy_until(const struct dram_channel *ch)
{
    const uint64_t *own = ch->col_own_cyc;
    uint64_t until = ch->row_bus_cyc;
    if (ch->read_cyc) until = dram_max(until, ch->read_cyc + ch->gap.done[DRAM_READ]);
    if (own[DRAM_WRITE])
        until = dram_max(until,
                         own[DRAM_WRITE] - ch->gap.col_s[DRAM_WRITE][DRAM_WRITE] + ch->gap.done[DRAM_WRITE]);
    return until;
}

static bool is_lent(const struct dram_channel *ch, uint64_t now) { return ch->lent_until_cyc > now + 1; }

/* A channel whose set has come back sends its requests first. */
static bool is_idle(const struct dram_channel *ch, uint64_t now)
{
    if (is_lent(ch, now) || ch->refresh_pending) return false;
    uint64_t until = busy_until(ch);
    if (ch->front.stats.waiting) until = dram_max(until, ch->returned_cyc);
    return !until || until + ch->spec->tsv_idle_cyc <= now + 1;
}

static uint32_t idle_sets(const struct dram_stack *s, uint64_t now)
{
    uint32_t idle = 0;
    for (uint32_t k = 0; k < s->count; k++) idle += is_idle(s->channels[k], now);
    return idle;
}

/* An idle set for a piece; s->count: none. Sets of channels without requests come first, then sets of channels
 * other than the piece's own, whose other groups would wait. */
static uint32_t idle_set(const struct dram_stack *s, const struct dram_piece *p, uint64_t now)
{
    uint32_t best = s->count, best_rank = UINT32_MAX;
    for (uint32_t k = 0; k < s->count; k++) {
        if (!is_idle(s->channels[k], now)) continue;
        const uint32_t rank = (s->channels[k]->front.stats.waiting ? 2u : 0u) +
                              (k == p->source || k == p->destination ? 1u : 0u);
        if (rank >= best_rank) continue;
        best = k;
        best_rank = rank;
    }
    return best;
}

/* ---- a piece begins ---- */

static uint32_t duration(const struct dram_channel *ch, const struct dram_piece *p)
{
    const struct dram_spec *t = ch->spec;
    if (t->migration == dram_migration_paper) return t->migration_cyc;
    const uint32_t columns = p->line_count * (DRAM_LINE_BYTES / (uint32_t)t->column_size);
    return (columns - 1) * ch->gap.col_l[DRAM_READ][DRAM_READ] + ch->gap.done[DRAM_READ];
}

/* Cycles between the MIGRATION commands of a piece. */
static uint32_t line_gap(const struct dram_channel *ch)
{
    const uint32_t columns =
        DRAM_LINE_BYTES / (uint32_t)ch->spec->column_size * ch->gap.col_l[DRAM_READ][DRAM_READ];
    return columns > DRAM_MIGRATION_CYCLES ? columns : DRAM_MIGRATION_CYCLES;
}

/* The open row of a bank serves requests later: the lists of sides are sorted by that cycle. */
static void set_column_cyc(struct dram_channel *ch, struct dram_bank *b, uint32_t kind, uint64_t cyc)
{
    struct dram_side *side = &b->side[kind];
    struct dram_entry *hit = side->hit;
    if (hit) dram_hit_ends(side);
    side->col_cyc = dram_max(side->col_cyc, cyc);
    if (hit) dram_hit_begins(ch, kind, side, hit);
}

static void occupy(const struct end *e, uint64_t end_cyc)
{
    struct dram_channel *ch = e->ch;
    ch->transfers_cyc = dram_max(ch->transfers_cyc, end_cyc);
    struct dram_bank *b = e->b;
    const struct dram_spec *t = ch->spec;
    uint64_t read_cyc = end_cyc;
    if (t->migration == dram_migration_paper) {
        if (b->open_row != DRAM_NO_ROW) dram_row_closes(b, DRAM_ANY);
        b->act_cyc = dram_max(b->act_cyc, end_cyc);
    } else {
        if (e->written) read_cyc = end_cyc + t->twtr_l_cyc;
        b->pre_cyc = dram_max(
            b->pre_cyc, e->written ? end_cyc + t->twr_cyc
                                   : dram_max(end_cyc, end_cyc - ch->gap.done[DRAM_READ] + t->trtp_cyc));
        set_column_cyc(ch, b, DRAM_READ, read_cyc);
        set_column_cyc(ch, b, DRAM_WRITE, end_cyc);
    }
    for (uint32_t kind = 0; kind < 2; kind++) {
        uint64_t *const group = &ch->col_group_cyc[kind][e->group];
        *group = dram_max(*group, kind == DRAM_READ ? read_cyc : end_cyc);
    }
}

static void log_piece(const struct dram_stack *s, const struct dram_piece *p, uint64_t begin_cyc,
                      uint32_t set)
{
    static const enum dram_role roles[] = {DRAM_ROLE_SOURCE, DRAM_ROLE_DESTINATION, DRAM_ROLE_SET};
    const uint32_t of_role[] = {p->source, p->destination, set};
    for (uint32_t r = 0; r < 3; r++) {
        struct dram_channel *ch = s->channels[of_role[r]];
        if (!ch->wiring.log) continue;
        for (uint32_t k = 0; k < p->line_count; k++) {
            const uint64_t key = r == 1 ? p->to[k] : p->from[k];
            ch->wiring.log(ch->wiring.owner, &(struct dram_command){.cyc = begin_cyc + k * line_gap(ch),
                                                                    .kind = DRAM_MIGRATE,
                                                                    .bank = dram_key_bank(key),
                                                                    .row = dram_key_row(key),
                                                                    .column = dram_key_column(key),
                                                                    .role = roles[r],
                                                                    .end_cyc = p->end_cyc});
        }
    }
}

static bool write_waits(const struct dram_channel *ch, uint64_t key)
{
    const uint32_t columns = DRAM_LINE_BYTES / (uint32_t)ch->spec->column_size;
    for (uint32_t k = 0; k < columns; k++)
        if (dram_write_waits(ch, key + k)) return true;
    return false;
}

static enum dram_hazard hazard_of(const struct dram_stack *s, const struct dram_piece *p, uint32_t line,
                                  uint64_t begin_cyc)
{
    const struct end ends[] = {end_of(s, p, false), end_of(s, p, true)};
    for (uint32_t k = 0; k < 2; k++) {
        if (write_waits(ends[k].ch, k ? p->to[line] : p->from[line])) return DRAM_HAZARD_WRITE_WAITS;
        if (bank_ready_cyc(&ends[k]) > begin_cyc) return DRAM_HAZARD_BANK_BUSY;
    }
    return DRAM_HAZARD_NONE;
}

static void tell_lines(const struct dram_stack *s, const struct dram_copy *c, const struct dram_piece *p,
                       uint64_t begin_cyc)
{
    for (uint32_t k = 0; s->wire.moves && k < p->line_count; k++)
        s->wire.moves(s->wire.owner, c, p->line[k], hazard_of(s, p, k, begin_cyc));
}

/* A piece of another copy moves at the channel. */
static bool others_travel(const struct dram_stack *s, const struct dram_copy *c, uint32_t channel,
                          uint64_t now)
{
    const struct travel *t = &s->travels[channel];
    return t->copy != c && t->end_cyc > now + 1;
}

static void travel(struct dram_stack *s, const struct dram_copy *c, uint32_t channel, uint64_t end_cyc)
{
    struct travel *t = &s->travels[channel];
    t->copy = c;
    t->end_cyc = dram_max(t->end_cyc, end_cyc);
}

static void begin_piece(struct dram_stack *s, struct dram_copy *c, struct dram_piece *p, uint32_t set,
                        uint64_t begin_cyc, uint64_t now)
{
    const struct end from = end_of(s, p, false), to = end_of(s, p, true);
    p->begun = true;
    p->end_cyc = begin_cyc + duration(from.ch, p);
    c->begun++;
    c->end_cyc = dram_max(c->end_cyc, p->end_cyc);
    tell_lines(s, c, p, begin_cyc);
    occupy(&from, p->end_cyc);
    occupy(&to, p->end_cyc);
    travel(s, c, p->source, p->end_cyc);
    travel(s, c, p->destination, p->end_cyc);
    struct dram_channel *lender = s->channels[set];
    lender->lent_until_cyc = lender->returned_cyc = p->end_cyc;
    lender->transfers_cyc = dram_max(lender->transfers_cyc, p->end_cyc);
    release(s, &from, now);
    release(s, &to, now);
    changed(s, s->channels[set], now);
    log_piece(s, p, begin_cyc, set);
    s->stats.transfers++;
    s->stats.migrations += p->line_count;
    s->stats.busy_cyc += p->end_cyc - begin_cyc;
    const uint64_t waited_cyc = begin_cyc > p->ready_cyc ? begin_cyc - p->ready_cyc : 0;
    s->stats.set_wait_cyc += waited_cyc;
    c->set_wait_cyc += waited_cyc;
}

/* Claims the banks of a piece; the cycle in which it may begin if it gets a set now, DRAM_NEVER: not yet. */
static uint64_t piece_cyc(const struct dram_stack *s, struct dram_piece *p, uint64_t now)
{
    const struct end from = end_of(s, p, false), to = end_of(s, p, true);
    if (!p->claimed) { /* the bank may serve another piece of the page */
        if ((from.ch->wanted | from.ch->claimed) & from.bit || (to.ch->wanted | to.ch->claimed) & to.bit)
            return DRAM_NEVER;
        want(&from, now);
        want(&to, now);
        p->claimed = true;
    }
    const bool one = claim(s, &from, now), both = claim(s, &to, now) && one;
    if (!both || from.ch->refresh_pending || to.ch->refresh_pending) return DRAM_NEVER;
    if (dram_max(bank_cyc(&from), bank_cyc(&to)) > now + 1) return DRAM_NEVER;
    /* The group's path is reserved from now on, or its other banks would use it for ever. */
    return dram_max(now + 1, dram_max(group_cyc(&from), group_cyc(&to)));
}

/* The set for a piece, and in *cyc the cycle in which the piece may begin; s->count: none. */
static uint32_t take_set(struct dram_stack *s, const struct dram_copy *c, const struct dram_piece *p,
                         uint64_t now, uint64_t *cyc)
{
    const uint32_t set = idle_set(s, p, now);
    const struct dram_channel *own = s->channels[p->source];
    if (set < s->count) return set;
    if (!own->starvation_cyc || now < c->since_cyc + own->starvation_cyc || is_lent(own, now))
        return s->count;
    s->stats.forced++;
    *cyc = dram_max(*cyc, busy_until(own));
    return p->source;
}

static void step_copy(struct dram_stack *s, struct dram_copy *c, uint64_t now)
{
    const uint32_t left = c->count - c->begun, groups = s->channels[0]->spec->bank_groups;
    bool moving = c->end_cyc > now + 1;
    if (!moving) c->parallel = idle_sets(s, now) >= (left < groups ? left : groups);
    for (uint32_t k = 0; k < c->count; k++) {
        struct dram_piece *p = &c->pieces[k];
        if (p->begun) continue;
        uint64_t cyc = piece_cyc(s, p, now);
        if (cyc == DRAM_NEVER) continue;
        if (others_travel(s, c, p->source, now) || others_travel(s, c, p->destination, now)) continue;
        if (!p->ready_cyc) p->ready_cyc = cyc;
        if (moving && !c->parallel) continue;
        const uint32_t set = take_set(s, c, p, now, &cyc);
        if (set == s->count) continue;
        begin_piece(s, c, p, set, cyc, now);
        moving = true;
    }
}

uint64_t dram_stack_step(struct dram_stack *s, uint64_t now)
{
    if (!s->first) return DRAM_NEVER;
    for (uint32_t k = 0; k < s->count; k++) (void)dram_channel_step(s->channels[k], now);
    for (struct dram_copy **at = &s->first, *c; (c = *at);) {
        step_copy(s, c, now);
        if (c->begun == c->count)
            *at = c->next;
        else
            at = &c->next;
    }
    return s->first ? now + 1 : DRAM_NEVER;
}

void dram_stack_begin(struct dram_stack *s, struct dram_copy *copy, uint64_t now)
{
    struct dram_copy **at = &s->first;
    while (*at) at = &(*at)->next;
    *at = copy;
    copy->next = NULL;
    copy->begun = 0;
    copy->parallel = false;
    copy->end_cyc = copy->set_wait_cyc = 0;
    copy->since_cyc = now;
    for (uint32_t k = 0; k < copy->count; k++) {
        struct dram_piece *p = &copy->pieces[k];
        DIAG_ASSERT(p->source != p->destination && p->line_count && p->line_count <= DRAM_PIECE_LINES);
        p->claimed = p->begun = false;
        p->ready_cyc = p->end_cyc = 0;
    }
}

struct stack_stats *dram_stack_stats(struct dram_stack *s) { return &s->stats; }

struct dram_stack *dram_stack_new(struct arena *a, struct dram_channel *const *channels, uint32_t count,
                                  const struct dram_stack_wiring *wiring)
{
    struct dram_stack *s = ARENA_NEW(a, struct dram_stack);
    DIAG_ASSERT(count > 1 && count <= DRAM_STACK_CHANNELS_MAX);
    *s = (struct dram_stack){.wire = *wiring, .count = count};
    for (uint32_t k = 0; k < count; k++) {
        struct dram_channel *ch = s->channels[k] = channels[k];
        DIAG_ASSERT(ch->spec->queue == dram_queue_unified && !ch->spec->bank_slots);
        ch->claims = arena_alloc_aligned(a, ch->bank_count * sizeof *ch->claims, _Alignof(struct dram_entry));
        ch->groups_columns = true; /* a transfer occupies the column path of one group */
        ch->lean = false;
    }
    return s;
}
