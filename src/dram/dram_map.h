/* dram_map: which channel, LLC slice, bank, row and column an address of a GPU's memory is in, and back.
 *
 * A map is data: a layout (what each address bit is, from the bottom) and, for every bit of the place, the
 * set of address bits whose XOR it is. Both directions are linear, so they are looked up byte by byte;
 * building a map checks that it is one-to-one.
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

enum { DRAM_MAP_BITS_MAX = 48, DRAM_MAP_BYTES = DRAM_MAP_BITS_MAX / 8 };

enum dram_field { DRAM_FIELD_COLUMN, DRAM_FIELD_BANK, DRAM_FIELD_CHANNEL, DRAM_FIELD_ROW, DRAM_FIELDS };

struct dram_place {
    uint32_t channel; /* of the GPU */
    uint32_t slice;   /* of the channel */
    uint32_t bank;    /* group * banks_per_group + bank in group */
    uint32_t row, column;
};

struct dram_map {
    enum address_map kind;
    uint64_t size_bytes; /* addresses are below this */
    uint32_t bits, offset_bits, page_bits, class_count;
    uint32_t shift[DRAM_FIELDS], width[DRAM_FIELDS]; /* of the fields in a packed place */
    uint32_t slice_bits, group_bits;
    struct {
        uint8_t field, idx;
    } layout[DRAM_MAP_BITS_MAX];               /* what address bit i is; from offset_bits on */
    uint64_t forward_rows[DRAM_MAP_BITS_MAX];  /* place bit = parity of the address and this */
    uint64_t backward_rows[DRAM_MAP_BITS_MAX]; /* address bit = parity of the packed place and this */
    uint64_t slice_rows[8];                    /* slice bit = parity of the address and this */
    uint64_t forward[DRAM_MAP_BYTES][256], backward[DRAM_MAP_BYTES][256];
    uint8_t slice_table[DRAM_MAP_BYTES][256];
};

/* Raises a mistake when the machine has no such map (sizes that are no powers of two, ...). */
struct dram_map *dram_map_new(struct arena *a, const struct config *c);

static inline uint64_t dram_map_lookup(const uint64_t table[DRAM_MAP_BYTES][256], uint64_t x)
{
    uint64_t y = 0;
    for (int i = 0; i < DRAM_MAP_BYTES; i++) y ^= table[i][x >> (8 * i) & 0xff];
    return y;
}

/* address < size_bytes; the offset inside a column is dropped. */
struct dram_place dram_map_place(const struct dram_map *m, uint64_t address);
/* The first address of a column; slice is not looked at. */
uint64_t dram_map_address(const struct dram_map *m, const struct dram_place *place);
/* Only the channel. */
uint32_t dram_map_channel(const struct dram_map *m, uint64_t address);

/* "[6] column 0  [7] bank 0 ^ row 0 ^ ..." one line per address bit or place bit. */
void dram_map_print(const struct dram_map *m, FILE *out);

#endif
