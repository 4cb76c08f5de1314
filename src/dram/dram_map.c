/* dram_map: building the maps of dram_map.h, of machines that keep to system/rules.def. */
#include "dram/dram_map.h"

#include "base/diag.h"
#include "base/rng.h"

static uint32_t log2_of(uint64_t value)
{
    DIAG_ASSERT(value && !(value & (value - 1)));
    return (uint32_t)__builtin_ctzll(value);
}

static uint64_t one(uint32_t bit) { return UINT64_C(1) << bit; }

/* ---- the layout ---- */

/* Bits of the place in the order in which addresses go through them, channel bits apart. */
struct layout {
    struct dram_map *m;
    uint32_t used[DRAM_FIELDS];
    uint32_t at;          /* next address bit */
    uint32_t channel_at;  /* channel bits are put in there ... */
    uint32_t channel_end; /* ... up to this one */
};

static void put_channel(struct layout *l)
{
    while (l->used[DRAM_FIELD_CHANNEL] < l->channel_end) {
        l->m->layout[l->at].field = DRAM_FIELD_CHANNEL;
        l->m->layout[l->at++].idx = (uint8_t)l->used[DRAM_FIELD_CHANNEL]++;
    }
}

static void put(struct layout *l, enum dram_field field, uint32_t count)
{
    struct dram_map *m = l->m;
    while (count && l->used[field] < m->width[field]) {
        if (l->at == l->channel_at && field != DRAM_FIELD_CHANNEL) put_channel(l);
        m->layout[l->at].field = (uint8_t)field;
        m->layout[l->at++].idx = (uint8_t)l->used[field]++;
        count--;
    }
}

/* modelling.md A6: with 4 KiB pages a page uses 8 banks x 4 lines, so that it is not bound by activates. */
static void lay_fixed(struct dram_map *m, uint32_t channel_at)
{
    struct layout l = {.m = m, .at = m->offset_bits, .channel_at = channel_at};
    l.channel_end = m->width[DRAM_FIELD_CHANNEL];
    put(&l, DRAM_FIELD_COLUMN, 7 - m->offset_bits); /* a 128 B line stays in one row */
    put(&l, DRAM_FIELD_BANK, m->slice_bits ? m->slice_bits : 1);
    put(&l, DRAM_FIELD_COLUMN, 2);
    put(&l, DRAM_FIELD_BANK, 2);
    put(&l, DRAM_FIELD_COLUMN, 64);
    put(&l, DRAM_FIELD_BANK, 64);
    put(&l, DRAM_FIELD_ROW, 64);
    put_channel(&l); /* a channel has no more than what lies below them */
}

/* UGPU Fig 8. Channel bits: the low ones choose the channel in its stack, the high ones the stack. */
static void lay_page_move(struct dram_map *m, uint32_t stack_bits)
{
    struct layout l = {.m = m, .at = m->offset_bits, .channel_at = UINT32_MAX};
    const uint32_t channel_bits = m->width[DRAM_FIELD_CHANNEL] - stack_bits;
    put(&l, DRAM_FIELD_COLUMN, 7 - m->offset_bits);
    l.used[DRAM_FIELD_CHANNEL] = channel_bits;
    put(&l, DRAM_FIELD_CHANNEL, stack_bits);
    l.used[DRAM_FIELD_CHANNEL] = 0;
    l.channel_at = m->page_bits;
    l.channel_end = channel_bits;
    put(&l, DRAM_FIELD_BANK, m->group_bits);
    put(&l, DRAM_FIELD_COLUMN, 1);
    put(&l, DRAM_FIELD_BANK, 64);
    put(&l, DRAM_FIELD_COLUMN, 64);
    put(&l, DRAM_FIELD_ROW, 64);
    put_channel(&l); /* a channel has no more than what lies below them */
}

/* The bit of a packed place that bit idx of a field is. Bank bits count from the bank group's, which are the
 * upper ones of a bank number. */
static uint32_t place_bit(const struct dram_map *m, enum dram_field field, uint32_t idx)
{
    if (field == DRAM_FIELD_BANK) {
        const uint32_t low = m->width[DRAM_FIELD_BANK] - m->group_bits;
        idx = idx < m->group_bits ? low + idx : idx - m->group_bits;
    }
    return m->shift[field] + idx;
}

static uint32_t address_bit(const struct dram_map *m, enum dram_field field, uint32_t idx)
{
    for (uint32_t bit = m->offset_bits; bit < m->bits; bit++)
        if (m->layout[bit].field == field && m->layout[bit].idx == idx) return bit;
    diag_bug("dram_map", 0, "bit %u of field %d is nowhere", idx, (int)field);
}

/* ---- the XORs ---- */

static void rows_of_layout(struct dram_map *m)
{
    for (uint32_t bit = m->offset_bits; bit < m->bits; bit++)
        m->forward_rows[place_bit(m, (enum dram_field)m->layout[bit].field, m->layout[bit].idx)] = one(bit);
}

/* designs.md 1.1: bank bit i also takes the row and channel bits j with j mod (bank bits) = i. */
static void hash_banks(struct dram_map *m)
{
    const uint32_t banks = m->width[DRAM_FIELD_BANK];
    static const enum dram_field from[] = {DRAM_FIELD_ROW, DRAM_FIELD_CHANNEL};
    for (int f = 0; f < 2 && banks; f++)
        for (uint32_t j = 0; j < m->width[from[f]]; j++)
            m->forward_rows[place_bit(m, DRAM_FIELD_BANK, j % banks)] ^= one(address_bit(m, from[f], j));
}

/* Is the square part of 'rows' over the address bits in 'inputs' invertible? */
static bool independent(const uint64_t *rows, uint32_t count, uint64_t inputs)
{
    uint64_t basis[DRAM_MAP_BITS_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t v = rows[i] & inputs;
        for (uint32_t bit = 0; bit < DRAM_MAP_BITS_MAX && v; bit++) {
            if (!(v >> bit & 1)) continue;
            if (!basis[bit]) {
                basis[bit] = v;
                break;
            }
            v ^= basis[bit];
        }
        if (!v) return false;
    }
    return true;
}

/* The bits of slice numbers, channel bits first, as rows over the address. */
static uint32_t slice_number_rows(const struct dram_map *m, uint64_t *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->width[DRAM_FIELD_CHANNEL]; i++)
        rows[count++] = m->forward_rows[place_bit(m, DRAM_FIELD_CHANNEL, i)];
    for (uint32_t i = 0; i < m->slice_bits; i++)
        rows[count++] = m->forward_rows[place_bit(m, DRAM_FIELD_BANK, i)];
    return count;
}

/* Does every stride of a power of two reach all slices, four times evenly? Among any few neighbours of the
 * input bits, two more than slice numbers have, the bits of slice numbers are independent. */
static bool spreads_strides(const struct dram_map *m, uint64_t inputs)
{
    enum { MORE = 2 };
    uint64_t rows[DRAM_MAP_BITS_MAX];
    const uint32_t count = slice_number_rows(m, rows);
    for (; (uint32_t)__builtin_popcountll(inputs) >= count + MORE; inputs &= inputs - 1) {
        uint64_t window = 0, rest = inputs;
        for (uint32_t i = 0; i < count + MORE; i++, rest &= rest - 1) window |= rest & (~rest + 1);
        if (!independent(rows, count, window)) return false;
    }
    return true;
}

/* True if the bits that the layout leaves to the lines of a slice distinguish all of them. These bits are the index
 * of the set: otherwise some lines would share sets, and other sets would stay empty. */
static bool leaves_an_index(const struct dram_map *m)
{
    uint64_t rows[DRAM_MAP_BITS_MAX], chosen = 0;
    const uint32_t count = slice_number_rows(m, rows);
    for (uint32_t bit = m->offset_bits; bit < m->bits; bit++)
        if (dram_map_chooses_slice(m, bit)) chosen |= one(bit);
    return independent(rows, count, chosen);
}

/* Channel and bank bits become random XORs of row, channel and bank bits; rows and columns stay, so the map
 * is one-to-one when the part over channel and bank bits is: draw again until it is (about 3 times), until
 * slices can use all of their sets (again), and until it spreads strides (some hundred times; ASSUMPTION: a
 * memory controller uses a good matrix). */
static void randomise(struct dram_map *m, uint64_t seed)
{
    enum { PAE_STREAM = 0x706165, DRAWS = 100000 };
    struct rng rng = rng_seed(seed, PAE_STREAM);
    uint64_t inputs = 0, square = 0;
    for (uint32_t bit = m->offset_bits; bit < m->bits; bit++) {
        if (m->layout[bit].field == DRAM_FIELD_COLUMN) continue;
        inputs |= one(bit);
        if (m->layout[bit].field != DRAM_FIELD_ROW) square |= one(bit);
    }
    const uint32_t first = m->shift[DRAM_FIELD_BANK];
    const uint32_t count = m->width[DRAM_FIELD_BANK] + m->width[DRAM_FIELD_CHANNEL];
    uint32_t draws = 0;
    do {
        for (uint32_t i = 0; i < count; i++) m->forward_rows[first + i] = rng_u64(&rng) & inputs;
    } while (!independent(&m->forward_rows[first], count, square) || !leaves_an_index(m) ||
             (!spreads_strides(m, inputs) && ++draws < DRAWS));
}

static void slices(struct dram_map *m)
{
    for (uint32_t i = 0; i < m->slice_bits; i++) {
        if (m->kind == address_map_page_move) {
            /* ASSUMPTION: so that a page uses both slices; the paper is silent */
            m->slice_rows[i] = one(address_bit(m, DRAM_FIELD_COLUMN, 8 - m->offset_bits - 1 + i)) ^
                               one(address_bit(m, DRAM_FIELD_BANK, m->group_bits + i));
        } else {
            m->slice_rows[i] = m->forward_rows[place_bit(m, DRAM_FIELD_BANK, i)];
        }
    }
}

/* ---- both directions ---- */

static void invert(struct dram_map *m)
{
    uint64_t left[DRAM_MAP_BITS_MAX], right[DRAM_MAP_BITS_MAX];
    const uint32_t n = m->bits - m->offset_bits;
    for (uint32_t i = 0; i < n; i++) {
        left[i] = m->forward_rows[i] >> m->offset_bits;
        right[i] = one(i);
    }
    for (uint32_t col = 0; col < n; col++) {
        uint32_t pivot = col;
        while (pivot < n && !(left[pivot] >> col & 1)) pivot++;
        if (pivot == n) diag_bug("dram_map", 0, "the address map is not one-to-one");
        const uint64_t l = left[pivot], r = right[pivot];
        left[pivot] = left[col];
        right[pivot] = right[col];
        left[col] = l;
        right[col] = r;
        for (uint32_t i = 0; i < n; i++) {
            if (i == col || !(left[i] >> col & 1)) continue;
            left[i] ^= l;
            right[i] ^= r;
        }
    }
    for (uint32_t i = 0; i < n; i++) m->backward_rows[m->offset_bits + i] = right[i];
}

static uint64_t apply(const uint64_t *rows, uint32_t count, uint64_t x)
{
    uint64_t y = 0;
    for (uint32_t i = 0; i < count; i++) y |= (uint64_t)__builtin_parityll(rows[i] & x) << i;
    return y;
}

static uint32_t take(const struct dram_map *m, uint64_t packed, enum dram_field field)
{
    return (uint32_t)(packed >> m->shift[field] & (one(m->width[field]) - 1));
}

static uint64_t put_placed(uint64_t value, uint32_t low, uint32_t width)
{
    DIAG_ASSERT(value < one(width));
    return value << low;
}

/* What the bits of an address that are set in x add to its place. */
static uint64_t placed(const struct dram_map *m, uint64_t x)
{
    const uint64_t packed = apply(m->forward_rows, m->bits - m->offset_bits, x);
    return put_placed(take(m, packed, DRAM_FIELD_ROW), DRAM_PLACED_ROW) |
           put_placed(take(m, packed, DRAM_FIELD_COLUMN), DRAM_PLACED_COLUMN) |
           put_placed(take(m, packed, DRAM_FIELD_BANK), DRAM_PLACED_BANK) |
           put_placed(apply(m->slice_rows, m->slice_bits, x), DRAM_PLACED_SLICE) |
           put_placed(take(m, packed, DRAM_FIELD_CHANNEL), DRAM_PLACED_CHANNEL);
}

/* What a piece of an address, from a bit on, adds to its place. Entries of one bit by the rows, all others as
 * XORs of two that are there. */
static void tabulate_piece(const struct dram_map *m, uint64_t *piece, uint32_t count, uint32_t bit)
{
    for (uint32_t v = 1; v < count; v++) {
        const uint32_t low = v & (~v + 1);
        piece[v] = v == low ? placed(m, (uint64_t)v << bit) : piece[low] ^ piece[v ^ low];
    }
}

static void tabulate(struct dram_map *m)
{
    tabulate_piece(m, m->in_line, 1u << (DRAM_MAP_LINE_BITS - m->offset_bits), m->offset_bits);
    for (uint32_t piece = 0; piece < DRAM_MAP_PIECES; piece++)
        tabulate_piece(m, m->forward[piece], DRAM_MAP_PIECE,
                       DRAM_MAP_LINE_BITS + DRAM_MAP_PIECE_BITS * piece);
    for (uint32_t byte = 0; byte < DRAM_MAP_BYTES; byte++)
        for (uint64_t v = 0; v < 256; v++)
            m->backward[byte][v] = apply(m->backward_rows, m->bits, v << (8 * byte));
}

static void set_widths(struct dram_map *m, const struct config *c)
{
    const uint64_t channels = config_channels_per_chiplet(c);
    const uint64_t channel_bytes = c->gpu.memory_size / c->gpu.chiplets / channels;
    const uint32_t bank_bits = log2_of((uint64_t)c->dram.bank_groups * c->dram.banks_per_group);
    const uint64_t row_bytes = (c->dram.column_size * c->dram.columns) << bank_bits;
    uint32_t row_bits = 0;
    while (one(row_bits) * row_bytes < channel_bytes) row_bits++;
    m->size_bytes = c->gpu.memory_size / c->gpu.chiplets;
    m->offset_bits = log2_of(c->dram.column_size);
    m->page_bits = log2_of(c->map.page_size);
    m->group_bits = log2_of(c->dram.bank_groups);
    m->slice_bits = log2_of(c->partition.slices) - log2_of(c->partition.channels);
    m->width[DRAM_FIELD_COLUMN] = log2_of(c->dram.columns);
    m->width[DRAM_FIELD_BANK] = bank_bits;
    m->width[DRAM_FIELD_CHANNEL] = log2_of(channels);
    m->width[DRAM_FIELD_ROW] = row_bits;
    for (int f = 1; f < DRAM_FIELDS; f++) m->shift[f] = m->shift[f - 1] + m->width[f - 1];
    m->bits = m->offset_bits + m->shift[DRAM_FIELD_ROW] + row_bits;
    DIAG_ASSERT(m->bits <= DRAM_MAP_BITS_MAX);
}

struct dram_map *dram_map_new(struct arena *a, const struct config *c)
{
    struct dram_map *m = ARENA_NEW(a, struct dram_map);
    m->kind = c->map.kind;
    set_widths(m, c);
    const uint32_t channel_bits = m->width[DRAM_FIELD_CHANNEL];
    m->colour_count = 1;
    switch (m->kind) {
    case address_map_fixed_channel:
        lay_fixed(m, m->page_bits);
        m->colour_count = 1u << channel_bits;
        break;
    case address_map_interleaved:
    case address_map_pae: lay_fixed(m, log2_of(c->map.interleave)); break;
    case address_map_page_move: {
        const uint32_t stack_bits = log2_of(c->map.stacks);
        lay_page_move(m, stack_bits);
        m->colour_count = 1u << (channel_bits - stack_bits);
        break;
    }
    case address_map_count: diag_bug("dram_map", 0, "no such map");
    }
    rows_of_layout(m);
    if (m->kind == address_map_pae)
        randomise(m, c->sim.seed);
    else if (c->map.hash_banks && m->kind != address_map_page_move)
        hash_banks(m);
    slices(m);
    invert(m);
    tabulate(m);
    return m;
}

/* ---- use ---- */

uint64_t dram_map_address(const struct dram_map *m, const struct dram_place *p)
{
    const uint64_t packed =
        (uint64_t)p->column << m->shift[DRAM_FIELD_COLUMN] | (uint64_t)p->bank << m->shift[DRAM_FIELD_BANK] |
        (uint64_t)p->channel << m->shift[DRAM_FIELD_CHANNEL] | (uint64_t)p->row << m->shift[DRAM_FIELD_ROW];
    uint64_t address = 0;
    for (int i = 0; i < DRAM_MAP_BYTES; i++) address ^= m->backward[i][packed >> (8 * i) & 0xff];
    return address;
}

void dram_map_print(const struct dram_map *m, FILE *out)
{
    static const char *const names[DRAM_FIELDS] = {"column", "bank", "channel", "row"};
    for (uint32_t bit = m->offset_bits; bit < m->bits; bit++) {
        const enum dram_field field = (enum dram_field)m->layout[bit].field;
        const uint64_t from = m->forward_rows[place_bit(m, field, m->layout[bit].idx)];
        fprintf(out, "[%2u] %s %u", bit, names[field], m->layout[bit].idx);
        if (from != one(bit)) {
            fprintf(out, " = XOR of");
            for (uint32_t i = 0; i < m->bits; i++)
                if (from >> i & 1) fprintf(out, " %u", i);
        }
        fprintf(out, "\n");
    }
}
