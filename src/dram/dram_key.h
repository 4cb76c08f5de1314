/* dram_key: where a column is in its channel, as one word: the column lowest (key + 1 is the next one of the
 * row), then the bank; the row in the upper half, which is compared most. dram_map.h has the slice and the
 * channel in the bits between and above. */
#ifndef ATOLL_DRAM_KEY_H
#define ATOLL_DRAM_KEY_H

#include <stdint.h>

enum { DRAM_COLUMN_BITS = 12, DRAM_BANK_BITS = 6, DRAM_ROW_BITS = 24 }; /* what dram_params.def allows */
enum { DRAM_ROW_SHIFT = 32 };
#define DRAM_KEY_MASK \
    (((UINT64_C(1) << DRAM_ROW_BITS) - 1) << DRAM_ROW_SHIFT | \
     ((UINT64_C(1) << (DRAM_COLUMN_BITS + DRAM_BANK_BITS)) - 1))

static inline uint64_t dram_key(uint32_t bank, uint32_t row, uint32_t column)
{
    return (uint64_t)row << DRAM_ROW_SHIFT | (uint64_t)bank << DRAM_COLUMN_BITS | column;
}

static inline uint32_t dram_key_row(uint64_t key) { return (uint32_t)(key >> DRAM_ROW_SHIFT); }
static inline uint32_t dram_key_bank(uint64_t key)
{
    return (uint32_t)(key >> DRAM_COLUMN_BITS) & ((1u << DRAM_BANK_BITS) - 1);
}
static inline uint32_t dram_key_column(uint64_t key) { return key & ((1u << DRAM_COLUMN_BITS) - 1); }

#endif
