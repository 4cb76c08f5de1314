/* coalesce: from the addresses of 32 lanes to the lines and sectors that they touch; bank conflicts in shared
 * memory.
 *
 * Most accesses are unit-stride or uniform: those are seen with one pass and need no search. */
#include <string.h>

#include "sm/sm_private.h"

static inline uint8_t sectors_of_bytes(uint32_t first, uint32_t count)
{
    const uint32_t low = first / SECTOR_BYTES, high = (first + count - 1) / SECTOR_BYTES;
    return (uint8_t)((2u << high) - (1u << low));
}

/* Bits first .. first + count - 1 of a line's 128. */
static void add_bytes(uint64_t bytes[2], uint32_t first, uint32_t count)
{
    const uint32_t end = first + count;
    if (first < 64) bytes[0] |= (UINT64_MAX << first) & (end < 64 ? ((uint64_t)1 << end) - 1 : UINT64_MAX);
    if (end > 64)
        bytes[1] |= (first > 64 ? UINT64_MAX << (first - 64) : UINT64_MAX) &
                    (end < 128 ? ((uint64_t)1 << (end - 64)) - 1 : UINT64_MAX);
}

/* Do all 32 lanes follow each other by `bytes`? */
static bool is_unit_stride(const struct warp_op *op, uint32_t bytes)
{
    uint64_t wrong = 0;
    if (op->address[SM_LANES - 1] - op->address[0] != (SM_LANES - 1) * (uint64_t)bytes) return false;
    for (uint32_t lane = 0; lane < SM_LANES; lane++)
        wrong |= op->address[lane] - op->address[0] - (uint64_t)lane * bytes;
    return !wrong;
}

static inline struct line_access *begin_line(struct line_access *a, const struct line_access *model,
                                             uint64_t line)
{
    *a = *model;
    a->line = line;
    return a;
}

static __attribute__((noinline)) uint32_t unit_stride_lines(uint64_t first, uint32_t total,
                                                            const struct line_access *model,
                                                            struct line_access *out, bool writes)
{
    uint32_t count = 0;
    for (uint64_t address = first, end = first + total; address < end; count++) {
        const uint32_t offset = (uint32_t)address % LINE_BYTES;
        const uint32_t here =
            end - address < LINE_BYTES - offset ? (uint32_t)(end - address) : LINE_BYTES - offset;
        begin_line(&out[count], model, address >> LINE_LOG2)->sectors = sectors_of_bytes(offset, here);
        if (writes) add_bytes(out[count].bytes, offset, here);
        address += here;
    }
    return count;
}

static inline uint32_t unit_stride(uint64_t first, uint32_t total, const struct line_access *model,
                                   struct line_access *out, bool writes)
{
    if (total != LINE_BYTES || first % LINE_BYTES) return unit_stride_lines(first, total, model, out, writes);
    /* most accesses of four bytes per lane */
    begin_line(out, model, first >> LINE_LOG2)->sectors = SECTORS_ALL;
    if (writes) out->bytes[0] = out->bytes[1] = UINT64_MAX;
    return 1;
}

enum { TABLE = 64 };

/* Any addresses: a lane mostly shares its line with the one before it; else a small table finds the line. */
static uint32_t any_stride(const struct warp_op *op, uint32_t bytes, const struct line_access *model,
                           struct line_access *out, bool writes)
{
    uint8_t table[TABLE];
    uint32_t count = 0;
    uint64_t sector_before = UINT64_MAX;
    struct line_access *a = NULL;
    memset(table, 0, sizeof table);
    for (uint32_t left = op->mask; left; left &= left - 1) {
        const uint64_t address = op->address[__builtin_ctz(left)], line = address >> LINE_LOG2;
        const uint32_t offset = (uint32_t)address % LINE_BYTES;
        /* Most lanes of a load with a few lanes off lie in the sector of the lane before. */
        const bool same = address / SECTOR_BYTES == sector_before;
        if (same && !writes && offset % SECTOR_BYTES + bytes <= SECTOR_BYTES) continue;
        sector_before = address / SECTOR_BYTES;
        if (!a || a->line != line) {
            uint32_t at = (uint32_t)(line ^ line >> 6 ^ line >> 12) % TABLE;
            while (table[at] && out[table[at] - 1].line != line) at = (at + 1) % TABLE;
            if (!table[at]) {
                (void)begin_line(&out[count++], model, line);
                table[at] = (uint8_t)count;
            }
            a = &out[table[at] - 1];
        }
        /* An access is aligned to its size: only one wider than a sector, or odd in size, can touch two. */
        const uint32_t here = bytes < LINE_BYTES - offset ? bytes : LINE_BYTES - offset;
        const bool in_one = offset % SECTOR_BYTES + here <= SECTOR_BYTES;
        const uint32_t sectors = in_one ? 1u << offset / SECTOR_BYTES : sectors_of_bytes(offset, here);
        a->sectors = (uint8_t)(a->sectors | sectors);
        if (writes) add_bytes(a->bytes, offset, here);
    }
    return count;
}

/* The same for loads of up to a sector, each of which lies in one sector: an access is aligned to its size.
 * Nobody asks for the bytes of a load. Lanes that lie far apart are the usual case: the table is large, so
 * that most lines find their place in it empty. */
enum { LOAD_TABLE = 256 };
struct load_lines {
    struct line_access fresh, *out, *last; /* last: of the lane before */
    uint32_t count;
    uint8_t table[LOAD_TABLE]; /* lines, + 1 */
};

static inline __attribute__((always_inline)) void add_load(struct load_lines *l, uint64_t address)
{
    const uint64_t line = address >> LINE_LOG2;
    if (l->last->line != line) {
        uint32_t at = (uint32_t)(line ^ line >> 8) % LOAD_TABLE, found;
        while ((found = l->table[at]) && l->out[found - 1].line != line) at = (at + 1) % LOAD_TABLE;
        if (found) {
            l->last = &l->out[found - 1];
        } else {
            l->last = begin_line(&l->out[l->count++], &l->fresh, line);
            l->table[at] = (uint8_t)l->count;
        }
    }
    l->last->sectors |= (uint8_t)(1u << address / SECTOR_BYTES % LINE_SECTORS);
}

static uint32_t any_load(const struct warp_op *op, const struct line_access *model, struct line_access *out)
{
    struct line_access before = {.line = UINT64_MAX};
    struct load_lines l = {.fresh = *model, .out = out, .last = &before};
    if (op->mask == UINT32_MAX)
        for (uint32_t lane = 0; lane < SM_LANES; lane++) add_load(&l, op->address[lane]);
    else
        for (uint32_t left = op->mask; left; left &= left - 1) add_load(&l, op->address[__builtin_ctz(left)]);
    return l.count;
}

/* Most lanes on one word of each line: they act one after the other. */
static void count_conflicts(const struct warp_op *op, struct line_access *out, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        uint8_t on_word[LINE_BYTES / 4] = {0};
        for (uint32_t left = op->mask; left; left &= left - 1) {
            const uint64_t address = op->address[__builtin_ctz(left)];
            if (address >> LINE_LOG2 != out[k].line) continue;
            const uint8_t n = ++on_word[address % LINE_BYTES / 4];
            if (n > out[k].conflict) out[k].conflict = n;
        }
    }
}

/* The lines of [address, end) added to those that are there. */
static uint32_t add_run(const struct line_access *model, struct line_access *out, uint32_t count,
                        uint64_t address, uint64_t end, bool writes)
{
    while (address < end) {
        const uint64_t line = address >> LINE_LOG2;
        const uint32_t offset = (uint32_t)address % LINE_BYTES;
        const uint32_t here =
            end - address < LINE_BYTES - offset ? (uint32_t)(end - address) : LINE_BYTES - offset;
        uint32_t k = count;
        while (k > 0 && out[k - 1].line != line) k--;
        struct line_access *a = &out[k ? k - 1 : count];
        if (!k) {
            (void)begin_line(a, model, line);
            count++;
        }
        a->sectors |= sectors_of_bytes(offset, here);
        if (writes) add_bytes(a->bytes, offset, here);
        address += here;
    }
    return count;
}

static __attribute__((noinline)) uint32_t coalesce_groups(const struct warp_op *op,
                                                          const struct line_access *model,
                                                          struct line_access *out, bool writes)
{
    const uint64_t bytes = op->info->bytes;
    uint32_t count = 0;
    for (uint32_t g = 0; g < 4;) {
        const uint64_t first = op->base[g];
        uint64_t end = first + (op->unit >> g & 1 ? 8 * bytes : bytes);
        for (g++; g < 4 && op->unit >> g & 1 && op->base[g] == end; g++) end += 8 * bytes;
        count = add_run(model, out, count, first, end, writes);
    }
    return count;
}

static __attribute__((noinline)) uint32_t coalesce_lanes(const struct warp_op *op,
                                                         const struct line_access *model,
                                                         struct line_access *out, bool writes, bool atomic)
{
    const uint32_t bytes = op->info->bytes ? op->info->bytes : 4;
    uint32_t count;
    if (op->mask == UINT32_MAX && bytes <= 16 && is_unit_stride(op, bytes))
        count = unit_stride(op->address[0], SM_LANES * bytes, model, out, writes);
    else if (!writes && bytes <= SECTOR_BYTES && !(bytes & (bytes - 1)))
        count = any_load(op, model, out);
    else
        count = any_stride(op, bytes, model, out, writes);
    if (atomic) count_conflicts(op, out, count);
    return count;
}

uint32_t coalesce(const struct warp_op *op, const struct line_access *model, struct line_access *out,
                  bool writes, bool atomic)
{
    if (!op->grouped) return coalesce_lanes(op, model, out, writes, atomic);
    const uint64_t bytes = op->info->bytes, *const base = op->base;
    const uint64_t wrong = (base[1] - base[0] - 8 * bytes) | (base[2] - base[0] - 16 * bytes) |
                           (base[3] - base[0] - 24 * bytes) | ((op->unit & 15) ^ 15);
    return wrong ? coalesce_groups(op, model, out, writes)
                 : unit_stride(base[0], (uint32_t)(32 * bytes), model, out, writes);
}

/* ---- textures ---- */

enum { TEXEL_TABLE = 1024 };

static struct line_access *new_line(const struct line_access *model, struct memory_instr *m, uint32_t count,
                                    struct arena *arena, uint64_t line)
{
    if (count == SM_LANES && !m->more) m->more = ARENA_ARRAY(arena, struct line_access, SM_TEXELS - SM_LANES);
    return begin_line(line_of(m, count), model, line);
}

/* Texels are aligned to their size, so each lies in one line; neighbours mostly in that of the one before. */
uint32_t coalesce_texels(const struct warp_op *op, const struct line_access *model, struct memory_instr *m,
                         struct arena *arena, bool bytes)
{
    uint16_t table[TEXEL_TABLE];
    uint32_t count = 0;
    struct line_access *a = NULL;
    memset(table, 0, sizeof table);
    for (uint32_t k = 0; k < op->texel_count; k++) {
        const uint64_t line = op->texels[k] >> LINE_LOG2;
        const uint32_t offset = (uint32_t)op->texels[k] % LINE_BYTES;
        if (!a || a->line != line) {
            uint32_t at = (uint32_t)(line ^ line >> 10 ^ line >> 20) % TEXEL_TABLE;
            while (table[at] && line_of(m, table[at] - 1u)->line != line) at = (at + 1) % TEXEL_TABLE;
            if (!table[at]) {
                (void)new_line(model, m, count, arena, line);
                table[at] = (uint16_t)++count;
            }
            a = line_of(m, table[at] - 1u);
        }
        a->sectors = (uint8_t)(a->sectors | 1u << offset / SECTOR_BYTES);
        if (bytes) add_bytes(a->bytes, offset, op->texel_bytes);
    }
    return count;
}

enum { SHARED_WORDS_MAX = 4, WORD_TABLE = 256 };

/* Words that lanes share are read once, but changed by one atomic after the other; each bank gives one word
 * per cycle. ASSUMPTION: wide accesses are spread over the banks as well as they can be, whichever lanes they
 * belong to. */
static inline bool lanes_share(const struct warp_op *op)
{
    return op->info->class != WARP_CLASS_ATOMIC && op->info->class != WARP_CLASS_REDUCTION;
}

static uint32_t busiest_bank(const struct warp_op *op, uint32_t words, uint32_t banks)
{
    const bool share = lanes_share(op);
    uint8_t on_bank[64] = {0}, table[WORD_TABLE];
    uint64_t seen[SM_LANES * SHARED_WORDS_MAX];
    uint32_t count = 0, most = 1;
    memset(table, 0, sizeof table);
    for (uint32_t left = op->mask; left; left &= left - 1)
        for (uint32_t k = 0; k < words; k++) {
            const uint64_t word = op->address[__builtin_ctz(left)] / 4 + k;
            uint32_t at = (uint32_t)word % WORD_TABLE;
            while (table[at] && (!share || seen[table[at] - 1] != word)) at = (at + 1) % WORD_TABLE;
            if (table[at]) continue;
            seen[count] = word;
            table[at] = (uint8_t)++count;
            const uint8_t n = ++on_bank[word % banks];
            if (n > most) most = n;
        }
    return most;
}

static uint32_t work_out_conflicts(const struct warp_op *op, uint32_t banks)
{
    const uint32_t bytes = op->info->bytes ? op->info->bytes : 4;
    const uint32_t words = bytes > 4 ? bytes / 4 : 1;
    if (op->mask == UINT32_MAX && bytes >= 4 && words * SM_LANES % banks == 0 && is_unit_stride(op, bytes))
        return words * SM_LANES / banks;
    uint64_t distinct = 0;
    const uint64_t first = op->address[__builtin_ctz(op->mask)];
    for (uint32_t left = op->mask; left; left &= left - 1)
        distinct |= op->address[__builtin_ctz(left)] ^ first;
    if (!distinct && lanes_share(op)) return (words + banks - 1) / banks;
    /* More than 16 bytes per lane (matrix fragments) go in parts of 16. */
    const uint32_t part = words < SHARED_WORDS_MAX ? words : SHARED_WORDS_MAX;
    return busiest_bank(op, part, banks) * ((words + part - 1) / part);
}

/* Are the distances those of the entry? Lanes that do not take part have any address. */
static inline bool same_distances(const struct warp_op *op, const uint64_t *distance)
{
    uint64_t different = 0;
    if (op->mask == UINT32_MAX) {
        for (uint32_t lane = 0; lane < SM_LANES; lane++)
            different |= (op->address[lane] - op->address[0]) ^ distance[lane];
        return !different;
    }
    const uint64_t first = op->address[__builtin_ctz(op->mask)];
    for (uint32_t left = op->mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        different |= (op->address[lane] - first) ^ distance[lane];
    }
    return !different;
}

/* The same for groups of lanes: fewer distances. */
static uint32_t conflicts_of_groups(const struct warp_op *op, uint32_t banks, struct conflict_cache *cache)
{
    const uint32_t at = (uint32_t)((uintptr_t)op->info / sizeof *op->info) % CONFLICT_CACHE;
    const uint64_t d0 = op->base[1] - op->base[0], d1 = op->base[2] - op->base[0],
                   d2 = op->base[3] - op->base[0];
    const uint64_t *const d = cache->groups[at].distance;
    if (cache->groups[at].info == op->info && cache->groups[at].unit == op->unit &&
        cache->groups[at].bytes == op->info->bytes && !((d[0] ^ d0) | (d[1] ^ d1) | (d[2] ^ d2)) &&
        !(op->base[0] % 4))
        return cache->groups[at].cycles;
    struct warp_op lanes = *op;
    lanes.grouped = 0;
    for (uint32_t lane = 0; lane < SM_LANES; lane++) lanes.address[lane] = warp_op_address(op, lane);
    const uint32_t cycles = work_out_conflicts(&lanes, banks);
    if (op->base[0] % 4) return cycles; /* distances do not tell */
    cache->groups[at].info = op->info;
    cache->groups[at].unit = op->unit;
    cache->groups[at].bytes = op->info->bytes; /* another kernel's may lie at the same place */
    cache->groups[at].distance[0] = d0;
    cache->groups[at].distance[1] = d1;
    cache->groups[at].distance[2] = d2;
    return cache->groups[at].cycles = cycles;
}

uint32_t shared_conflict_cycles(const struct warp_op *op, uint32_t banks, struct conflict_cache *cache)
{
    if (op->grouped) return conflicts_of_groups(op, banks, cache);
    const uint64_t first = op->address[__builtin_ctz(op->mask)];
    if (first % 4) return work_out_conflicts(op, banks); /* distances do not tell */
    const uint32_t at = (uint32_t)((uintptr_t)op->info / sizeof *op->info) % CONFLICT_CACHE;
    if (cache->entries[at].info == op->info && cache->entries[at].mask == op->mask &&
        cache->entries[at].bytes == op->info->bytes && same_distances(op, cache->entries[at].distance))
        return cache->entries[at].cycles;
    cache->entries[at].info = op->info;
    cache->entries[at].mask = op->mask;
    cache->entries[at].bytes = op->info->bytes; /* another kernel's may lie at the same place */
    for (uint32_t left = op->mask; left; left &= left - 1) {
        const uint32_t lane = (uint32_t)__builtin_ctz(left);
        cache->entries[at].distance[lane] = op->address[lane] - first;
    }
    return cache->entries[at].cycles = work_out_conflicts(op, banks);
}
