/* dram_take: entries of the queue for columns that were accepted, and the lines that they are part of.
 * Included by dram_accept.c, dram_channel.c and dram_reads.h. */
#ifndef ATOLL_DRAM_TAKE_H
#define ATOLL_DRAM_TAKE_H

#include "dram/dram_lists.h"

/* Takes an entry for one column. */
static inline struct dram_entry *take_entry(struct dram_channel *ch, uint64_t now, uint32_t kind,
                                            uint64_t key, uint64_t tag, uint32_t line)
{
    struct dram_entry *e = ch->free_entries;
    ch->free_entries = e->next;
    e->seq = ch->next_seq++;
    e->accept_cyc = now;
    e->tag = tag;
    e->key = key;
    e->line = line;
    e->kind = (uint16_t)kind;
    e->class = DRAM_HIT;
    e->behind_read = kind == DRAM_WRITE; /* until looked at */
    if (kind == DRAM_WRITE) {
        ch->filter[dram_filter_slot(key)]++;
        ch->front.waiting_writes++;
    }
    return e;
}

static inline uint32_t take_line(struct dram_channel *ch, uint32_t columns)
{
    if (columns < 2) return DRAM_NONE;
    const uint32_t line = ch->free_lines[--ch->free_line_count];
    ch->lines[line].waiting_count = columns;
    return line;
}

/* One column of a line was served; was it the last? */
static inline bool line_ends(struct dram_channel *ch, uint32_t line)
{
    if (--ch->lines[line].waiting_count) return false;
    ch->free_lines[ch->free_line_count++] = line;
    return true;
}

static inline void count_accepted(struct dram_channel *ch, uint64_t now, uint32_t kind, uint32_t columns)
{
    dram_count_coming(ch, now, columns);
    *dram_room(ch, kind) -= columns;
    if (kind == DRAM_READ)
        ch->front.stats.reads += columns;
    else
        ch->front.stats.writes += columns;
}

/* Columns that join the queue of their bank at once. They are of one row: when the first changes nothing for
 * the bank, none does. */
static DRAM_HOT inline bool take_now(struct dram_channel *ch, uint64_t now, uint32_t kind, uint64_t key,
                                     uint32_t columns, uint64_t tag)
{
    const struct dram_bank *b = &ch->banks[dram_key_bank(key)];
    struct dram_side *side = &ch->banks[dram_key_bank(key)].side[kind];
    if (!side->head || (dram_key_row(key) == b->open_row && !side->hit))
        return dram_take_in_turn(ch, now, kind, key, columns, tag);
    const uint32_t line = take_line(ch, columns);
    const uint64_t end = key + columns;
    do {
        dram_append(side, take_entry(ch, now, kind, key, tag, line));
    } while (++key < end);
    return true;
}

#endif
