/* Coalescer and bank conflicts against references that look at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "exec/lanes.h"
#include "sm/sm_private.h"

static uint32_t sector_bits(const uint64_t bytes[2])
{
    uint32_t sectors = 0;
    for (uint32_t k = 0; k < LINE_BYTES; k++)
        if (bytes[k / 64] >> (k % 64) & 1) sectors |= 1u << k / SECTOR_BYTES;
    return sectors;
}

/* Lines in the order in which lanes first touch them, byte by byte. */
static uint32_t reference(const struct warp_op *op, uint32_t bytes, struct line_access *out)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->mask >> lane & 1)) continue;
        for (uint64_t address = op->address[lane]; address < op->address[lane] + bytes; address++) {
            uint32_t k = 0;
            while (k < count && out[k].line != address / LINE_BYTES) k++;
            if (k == count) out[count++] = (struct line_access){.line = address / LINE_BYTES};
            out[k].bytes[address % LINE_BYTES / 64] |= (uint64_t)1 << address % 64;
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t lanes_on[LINE_BYTES / 4] = {0};
        out[k].sectors = (uint8_t)sector_bits(out[k].bytes);
        for (uint32_t lane = 0; lane < 32; lane++) {
            if (!(op->mask >> lane & 1) || op->address[lane] / LINE_BYTES != out[k].line) continue;
            const uint32_t n = ++lanes_on[op->address[lane] % LINE_BYTES / 4];
            if (n > out[k].conflict) out[k].conflict = (uint8_t)n;
        }
    }
    return count;
}

enum pattern { UNIT_STRIDE, UNIFORM, STRIDED, NEAR, FAR, PATTERNS };

static void fill_addresses(struct warp_op *op, struct rng *rng, uint32_t bytes, enum pattern pattern)
{
    const uint64_t base = (0x10000 + rng_below(rng, 512) * 16) / bytes * bytes;
    const uint64_t stride = rng_below(rng, 64) * bytes;
    for (uint32_t lane = 0; lane < 32; lane++) {
        switch (pattern) {
        case UNIT_STRIDE: op->address[lane] = base + (uint64_t)lane * bytes; break;
        case UNIFORM: op->address[lane] = base; break;
        case STRIDED: op->address[lane] = base + lane * stride; break;
        case NEAR: op->address[lane] = base + rng_below(rng, 512 / bytes) * bytes; break;
        case FAR: op->address[lane] = base + rng_below(rng, 1 << 20) * bytes; break;
        case PATTERNS: break;
        }
    }
}

static uint32_t random_mask(struct rng *rng)
{
    switch (rng_below(rng, 4)) {
    case 0: return 1u << rng_below(rng, 32);
    case 1: return (uint32_t)rng_u64(rng) | 1;
    case 2: return 0xffff;
    default: return UINT32_MAX;
    }
}

static const uint16_t widths[] = {1, 2, 4, 8, 16};
static const struct line_access model = {.load = 7, .warp = 3, .conflict = 1};

static void compare(const struct warp_op *op, uint32_t bytes, bool writes, bool atomic)
{
    struct line_access expected[SM_LANES * 2] = {{0}}, got[SM_LANES];
    const uint32_t count = reference(op, bytes, expected);
    assert_int_equal(coalesce(op, &model, got, writes, atomic), count);
    for (uint32_t k = 0; k < count; k++) {
        assert_int_equal(got[k].line, expected[k].line);
        assert_true(got[k].load == model.load && got[k].warp == model.warp);
        assert_int_equal(got[k].sectors, expected[k].sectors);
        for (int half = 0; half < 2; half++)
            assert_int_equal(got[k].bytes[half], writes ? expected[k].bytes[half] : 0);
        if (atomic) assert_int_equal(got[k].conflict, expected[k].conflict);
    }
}

static void lines_sectors_and_bytes_are_those_that_lanes_touch(void **state)
{
    (void)state;
    struct rng rng = rng_seed(11, 1);
    for (int k = 0; k < 40000; k++) {
        struct warp_op_info info = {.bytes = widths[rng_below(&rng, 5)]};
        struct warp_op op = {.info = &info, .mask = random_mask(&rng)};
        fill_addresses(&op, &rng, info.bytes, (enum pattern)rng_below(&rng, PATTERNS));
        const bool writes = rng_below(&rng, 2), atomic = writes && rng_below(&rng, 2);
        compare(&op, info.bytes, writes, atomic);
    }
}

/* An SM of which only what lines are looked for by is there: pages all known, by 4 KiB. */
static struct sm *sm_of_known_pages(struct rng *rng, uint64_t pages)
{
    static struct sm sm;
    static struct sm_spec spec;
    static struct pages table;
    static struct page_cache cache;
    sm.spec = &spec;
    sm.table = &table;
    sm.pages = &cache;
    sm.app = 3;
    sm.page_lines_log2 = 5;
    spec.hashed_log2 = (uint32_t)rng_below(rng, 16);
    spec.sets = 1u << spec.hashed_log2;
    table.lower_mask = 31;
    for (uint32_t k = 0; k < 32; k++) table.lower[k] = (uint32_t)rng_below(rng, 1 << 16);
    memset(&cache, 0, sizeof cache);
    for (uint64_t page = 0; page < pages; page++) {
        const uint64_t key = pages_key(sm.app, page);
        cache.key[mmu_page_slot(key)] = key + 1;
        cache.to_frame[mmu_page_slot(key)] = rng_u64(rng) >> 32;
        cache.slice[mmu_page_slot(key)] = (uint32_t)rng_below(rng, 1 << 16);
    }
    return &sm;
}

static void compare_scattered(const struct sm *sm, const struct line_access *got, const struct line_access *a)
{
    const uint32_t page = mmu_page_slot(pages_key(sm->app, a->line >> sm->page_lines_log2));
    assert_int_equal(got->line, a->line);
    assert_memory_equal(&got->load, &a->load, sizeof *a - offsetof(struct line_access, load));
    assert_int_equal(got->physical, a->line + sm->pages->to_frame[page]);
    assert_int_equal(got->where.slice, pages_slice_in(sm->table, sm->pages->slice[page], a->line));
    if (sm->spec->hashed_log2) assert_int_equal(got->where.set, l1_set_of(sm->spec, a->line));
    assert_int_equal(got->where.slot, l1_slot_idx(a->line));
    assert_int_equal(got->where.hint, tags_hint(a->line));
}

static void lanes_that_lie_apart_are_found_as_one_by_one(void **state)
{
    (void)state;
    if (!lanes_isa_present(LANES_AVX2)) return;
    struct rng rng = rng_seed(14, 1);
    uint32_t apart = 0;
    for (int k = 0; k < 20000; k++) {
        struct warp_op_info info = {.bytes = 4};
        struct warp_op op = {.info = &info, .mask = UINT32_MAX};
        const uint64_t pages = 40 + rng_below(&rng, 24);
        const struct sm *const sm = sm_of_known_pages(&rng, pages);
        bool known = true;
        for (uint32_t lane = 0; lane < 32; lane++) {
            op.address[lane] = rng_below(&rng, 63 * 1024) * 4;
            known &= op.address[lane] >> 12 < pages;
        }
        struct line_access expected[SM_LANES];
        _Alignas(32) struct line_access got[SM_LANES];
        const uint32_t count = coalesce(&op, &model, expected, false, false);
        const bool found = lsu_scatter_avx2(sm, op.address, &model, got);
        if (found) assert_true(known && count == SM_LANES);
        apart += known && count == SM_LANES;
        apart -= found; /* some look the same by their hashes */
        for (uint32_t lane = 0; found && lane < SM_LANES; lane++)
            compare_scattered(sm, &got[lane], &expected[lane]);
    }
    assert_true(apart < 200);
}

/* Groups of eight lanes instead of 32 addresses: bases near each other, so that groups share lines and words.
 */
static struct warp_op random_groups(struct rng *rng, const struct warp_op_info *info)
{
    struct warp_op op = {.info = info, .mask = UINT32_MAX, .grouped = 1, .unit = (uint8_t)rng_below(rng, 16)};
    const uint64_t start = rng_below(rng, 1 << 20) * info->bytes;
    const bool follow = rng_below(rng, 3) == 0;
    for (uint32_t g = 0; g < 4; g++)
        op.base[g] = follow ? start + 8ull * g * info->bytes : start + rng_below(rng, 64) * info->bytes;
    return op;
}

static struct warp_op as_lanes(const struct warp_op *op)
{
    struct warp_op lanes = *op;
    lanes.grouped = 0;
    for (uint32_t lane = 0; lane < 32; lane++) lanes.address[lane] = warp_op_address(op, lane);
    return lanes;
}

static void groups_of_lanes_give_the_lines_of_their_lanes(void **state)
{
    (void)state;
    struct rng rng = rng_seed(13, 1);
    for (int k = 0; k < 40000; k++) {
        struct warp_op_info info = {.bytes = widths[rng_below(&rng, 5)]};
        const struct warp_op op = random_groups(&rng, &info), lanes = as_lanes(&op);
        const bool writes = rng_below(&rng, 2);
        struct line_access a[SM_LANES * 2], b[SM_LANES * 2];
        const uint32_t n = coalesce(&op, &model, a, writes, false);
        assert_int_equal(n, coalesce(&lanes, &model, b, writes, false));
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(a[i].line, b[i].line);
            assert_int_equal(a[i].sectors, b[i].sectors);
            assert_int_equal(a[i].conflict, b[i].conflict);
            assert_memory_equal(a[i].bytes, b[i].bytes, sizeof a[i].bytes);
        }
    }
}

/* Every start of a unit-stride access, all widths. */
static void unaligned_unit_stride_stores_mark_every_byte_once(void **state)
{
    (void)state;
    for (int w = 0; w < 5; w++)
        for (uint64_t start = 0; start < 256; start += widths[w]) {
            struct warp_op_info info = {.bytes = widths[w]};
            struct warp_op op = {.info = &info, .mask = UINT32_MAX};
            for (uint32_t lane = 0; lane < 32; lane++) op.address[lane] = start + (uint64_t)lane * widths[w];
            compare(&op, widths[w], true, false);
        }
}

/* ---- shared memory ---- */

/* Words that several lanes want are given once; each bank gives one word per cycle. */
static uint32_t reference_conflicts(const struct warp_op *op, uint32_t bytes, uint32_t banks)
{
    uint64_t words[32 * 4];
    uint32_t count = 0, on_bank[64] = {0}, most = 0;
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (!(op->mask >> lane & 1)) continue;
        for (uint64_t word = op->address[lane] / 4; word <= (op->address[lane] + bytes - 1) / 4; word++) {
            uint32_t k = 0;
            while (k < count && words[k] != word) k++;
            if (k < count) continue;
            words[count++] = word;
            const uint32_t n = ++on_bank[word % banks];
            if (n > most) most = n;
        }
    }
    return most;
}

static void shared_memory_takes_as_long_as_its_busiest_bank(void **state)
{
    (void)state;
    static const uint32_t banks[] = {32, 16, 64, 8, 1};
    uint32_t last_banks = 0;
    static struct conflict_cache cache;
    struct rng rng = rng_seed(12, 1);
    for (int k = 0; k < 40000; k++) {
        struct warp_op_info info = {.bytes = widths[rng_below(&rng, 5)]};
        struct warp_op op = {.info = &info, .mask = random_mask(&rng)};
        const uint32_t n = banks[k / 8000];
        fill_addresses(&op, &rng, info.bytes, (enum pattern)rng_below(&rng, PATTERNS));
        const uint32_t expected = reference_conflicts(&op, info.bytes, n);
        if (n != last_banks) memset(&cache, 0, sizeof cache); /* a machine has one number of banks */
        last_banks = n;
        const uint32_t got = shared_conflict_cycles(&op, n, &cache);
        if (got != expected)
            fail_msg("%u bytes, mask %x, %u banks: %u cycles, expected %u", info.bytes, op.mask, n, got,
                     expected);
    }
}

static void groups_of_lanes_have_the_conflicts_of_their_lanes(void **state)
{
    (void)state;
    static struct conflict_cache cache;
    static struct warp_op_info infos[8]; /* several instructions, so that what is kept is found again */
    struct rng rng = rng_seed(14, 1);
    for (int k = 0; k < 8; k++) infos[k].bytes = widths[2 + k % 3];
    for (int k = 0; k < 40000; k++) {
        const struct warp_op op = random_groups(&rng, &infos[rng_below(&rng, 8)]), lanes = as_lanes(&op);
        const uint32_t expected = reference_conflicts(&lanes, op.info->bytes, 32);
        for (int again = 0; again < 2; again++)
            assert_int_equal(shared_conflict_cycles(&op, 32, &cache), expected);
    }
}

/* Lanes that change a word do it one after the other; those that read it, together. */
static void atomics_on_one_word_of_shared_memory_take_turns(void **state)
{
    (void)state;
    static const struct {
        uint32_t mask, bytes, divide, cycles;
    } cases[] = {
        {UINT32_MAX, 4, 32, 32}, /* all on one word */
        {UINT32_MAX, 4, 4, 4},   /* four on each of eight */
        {UINT32_MAX, 4, 1, 1},   /* one each */
        {0xff, 4, 32, 8},        {UINT32_MAX, 8, 32, 32}, {1, 4, 32, 1},
    };
    static struct conflict_cache cache;
    for (int class = 0; class < 2; class ++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct warp_op_info info = {.bytes = (uint16_t)cases[k].bytes,
                                        .class = class ? WARP_CLASS_ATOMIC : WARP_CLASS_REDUCTION};
            struct warp_op op = {.info = &info, .mask = cases[k].mask};
            memset(&cache, 0, sizeof cache);
            for (uint64_t lane = 0; lane < 32; lane++)
                op.address[lane] = lane / cases[k].divide * cases[k].bytes;
            for (int again = 0; again < 2; again++)
                assert_int_equal(shared_conflict_cycles(&op, 32, &cache), cases[k].cycles);
        }
}

static void known_patterns_have_their_textbook_conflicts(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes, stride, cycles;
    } cases[] = {{4, 4, 1}, {4, 8, 2}, {4, 128, 32}, {4, 132, 1},
                 {4, 0, 1}, {8, 8, 2}, {16, 16, 4},  {1, 1, 1}};
    static struct conflict_cache cache;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct warp_op_info info = {.bytes = (uint16_t)cases[k].bytes};
        struct warp_op op = {.info = &info, .mask = UINT32_MAX};
        for (uint64_t lane = 0; lane < 32; lane++) op.address[lane] = lane * cases[k].stride;
        for (int again = 0; again < 2; again++)
            assert_int_equal(shared_conflict_cycles(&op, 32, &cache), cases[k].cycles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_sectors_and_bytes_are_those_that_lanes_touch),
        cmocka_unit_test(lanes_that_lie_apart_are_found_as_one_by_one),
        cmocka_unit_test(groups_of_lanes_give_the_lines_of_their_lanes),
        cmocka_unit_test(groups_of_lanes_have_the_conflicts_of_their_lanes),
        cmocka_unit_test(unaligned_unit_stride_stores_mark_every_byte_once),
        cmocka_unit_test(shared_memory_takes_as_long_as_its_busiest_bank),
        cmocka_unit_test(known_patterns_have_their_textbook_conflicts),
        cmocka_unit_test(atomics_on_one_word_of_shared_memory_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
