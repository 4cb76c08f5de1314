/* dram_map: which channel, LLC slice, bank, row and column an address of a chiplet's memory is in, and back.
 *
 * A map is data: a layout (what each address bit is, from the bottom) and, for every bit of the place, the
 * set of address bits whose XOR it is. Both directions are linear, so the number of a line is looked up in
 * pieces of ten bits, the way back byte by byte; building a map checks that it is one-to-one.
 *
 *   fixed_channel  [6] column  [7] bank 0  [9:8] column  [11:10] bank | page | channel  column  bank  row
 *   interleaved    the same, with the channel above map.interleave bytes
 *   pae            interleaved, then channel and bank bits = random XORs of row, channel and bank bits
 *   page_move      [6] column  stack  bank group  column | page | channel in stack  bank  column  row
 *
 * Bank bits count from the bank group's, so that neighbouring lines fall into different groups. */
#ifndef ATOLL_DRAM_MAP_H
#define ATOLL_DRAM_MAP_H

#include <stdio.h>

#include "base/arena.h"
#include "config/config.h"
#include "dram/dram_key.h"

enum { DRAM_MAP_BITS_MAX = 48, DRAM_MAP_BYTES = DRAM_MAP_BITS_MAX / 8 };
enum { DRAM_MAP_LINE_BITS = 7, DRAM_MAP_LINE_COLUMNS = 16 }; /* a line is 128 B, a column 8 B or more */
enum { DRAM_MAP_PIECE_BITS = 10, DRAM_MAP_PIECE = 1 << DRAM_MAP_PIECE_BITS, DRAM_MAP_PIECES = 5 };

enum dram_field { DRAM_FIELD_COLUMN, DRAM_FIELD_BANK, DRAM_FIELD_CHANNEL, DRAM_FIELD_ROW, DRAM_FIELDS };

struct dram_place {
    uint32_t channel; /* of the chiplet */
    uint32_t slice;   /* of the channel */
    uint32_t bank;    /* group * banks_per_group + bank in group */
    uint32_t row, column;
};

struct dram_map {
    enum address_map kind;
    uint64_t size_bytes; /* addresses are below this */
    uint32_t bits, offset_bits, page_bits, colour_count;
    uint32_t shift[DRAM_FIELDS], width[DRAM_FIELDS]; /* of the fields in a packed place */
    uint32_t slice_bits, group_bits;
    struct {
        uint8_t field, idx;
    } layout[DRAM_MAP_BITS_MAX];                       /* what address bit i is; from offset_bits on */
    uint64_t forward_rows[DRAM_MAP_BITS_MAX];          /* place bit = parity of the address and this */
    uint64_t backward_rows[DRAM_MAP_BITS_MAX];         /* address bit = parity of the packed place and this */
    uint64_t slice_rows[8];                            /* slice bit = parity of the address and this */
    uint64_t in_line[DRAM_MAP_LINE_COLUMNS];           /* what the column of a line adds to its place, */
    uint64_t forward[DRAM_MAP_PIECES][DRAM_MAP_PIECE]; /* … a piece of a line's number */
    uint64_t backward[DRAM_MAP_BYTES][256];
};

/* A place as the forward tables hold it, whatever the map: its key in the channel (dram_key.h), channel and
 * slice. A field = lowest bit, width. */
#define DRAM_PLACED_COLUMN  0, DRAM_COLUMN_BITS
#define DRAM_PLACED_BANK    DRAM_COLUMN_BITS, DRAM_BANK_BITS
#define DRAM_PLACED_CHANNEL DRAM_COLUMN_BITS + DRAM_BANK_BITS, 14
#define DRAM_PLACED_ROW     DRAM_ROW_SHIFT, DRAM_ROW_BITS
#define DRAM_PLACED_SLICE   DRAM_ROW_SHIFT + DRAM_ROW_BITS, 8
_Static_assert(DRAM_COLUMN_BITS + DRAM_BANK_BITS + 14 == DRAM_ROW_SHIFT, "fields do not overlap");

struct dram_map *dram_map_new(struct arena *a, const struct config *c);

/* Of the first column of a line. */
static inline uint64_t dram_map_lookup_line(const struct dram_map *m, uint64_t line)
{
    const uint64_t mask = DRAM_MAP_PIECE - 1;
    uint64_t y = m->forward[0][line & mask] ^ m->forward[1][line >> 10 & mask];
    if (line >> 20) y ^= m->forward[2][line >> 20 & mask] ^ m->forward[3][line >> 30 & mask];
    if (line >> 40) y ^= m->forward[4][line >> 40 & mask];
    return y;
}

static inline uint64_t dram_map_lookup(const struct dram_map *m, uint64_t address)
{
    return dram_map_lookup_line(m, address >> DRAM_MAP_LINE_BITS) ^
           m->in_line[(address & ((1u << DRAM_MAP_LINE_BITS) - 1)) >> m->offset_bits];
}

static inline uint32_t dram_map_take(uint64_t placed, uint32_t low, uint32_t width)
{
    return (uint32_t)(placed >> low & ((UINT64_C(1) << width) - 1));
}

static inline struct dram_place dram_map_unpack(uint64_t placed)
{
    return (struct dram_place){.channel = dram_map_take(placed, DRAM_PLACED_CHANNEL),
                               .slice = dram_map_take(placed, DRAM_PLACED_SLICE),
                               .bank = dram_map_take(placed, DRAM_PLACED_BANK),
                               .row = dram_map_take(placed, DRAM_PLACED_ROW),
                               .column = dram_map_take(placed, DRAM_PLACED_COLUMN)};
}
/* address < size_bytes; the offset inside a column is dropped. */
static inline struct dram_place dram_map_place(const struct dram_map *m, uint64_t address)
{
    return dram_map_unpack(dram_map_lookup(m, address));
}
/* The same of a line's first column. */
static inline struct dram_place dram_map_place_line(const struct dram_map *m, uint64_t line)
{
    return dram_map_unpack(dram_map_lookup_line(m, line));
}
/* … where in its channel (dram_key.h). */
static inline uint64_t dram_map_key_line(const struct dram_map *m, uint64_t line)
{
    return dram_map_lookup_line(m, line) & DRAM_KEY_MASK;
}
/* Only the channel. */
static inline uint32_t dram_map_channel(const struct dram_map *m, uint64_t address)
{
    return dram_map_take(dram_map_lookup(m, address), DRAM_PLACED_CHANNEL);
}
/* True if the bit selects channel or slice in the layout; the other bits distinguish the lines of a slice. */
static inline bool dram_map_chooses_slice(const struct dram_map *m, uint32_t bit)
{
    if (m->layout[bit].field == DRAM_FIELD_CHANNEL) return true;
    const uint32_t first = m->kind == address_map_page_move ? m->group_bits : 0;
    return m->layout[bit].field == DRAM_FIELD_BANK && m->layout[bit].idx - first < m->slice_bits;
}
/* A physical address of the machine: DRAM_MAP_CHIPLET_BITS above those of the chiplet's memory name the chiplet. With
 * the bit above these the address is one of system memory, behind the slice that the rest of the address chooses. */
enum { DRAM_MAP_CHIPLET_BITS = 12 };
static inline uint64_t dram_map_chiplet(const struct dram_map *m, uint64_t address)
{
    return address >> m->bits & ((1u << DRAM_MAP_CHIPLET_BITS) - 1);
}
static inline uint64_t dram_map_system_bit(const struct dram_map *m)
{
    return UINT64_C(1) << (m->bits + DRAM_MAP_CHIPLET_BITS);
}
static inline bool dram_map_in_system(const struct dram_map *m, uint64_t address)
{
    return (address & dram_map_system_bit(m)) != 0;
}
/* The first address of a column; slice is not looked at. */
uint64_t dram_map_address(const struct dram_map *m, const struct dram_place *place);

/* "[6] column 0  [7] bank 0 ^ row 0 ^ ..." one line per address bit or place bit. */
void dram_map_print(const struct dram_map *m, FILE *out);

#endif
