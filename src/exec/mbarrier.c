/* mbarrier: barriers that are objects in shared memory.
 *
 * The 64-bit word (opaque to programs):
 *   63        62..42      41..21      20..0
 *   phase     expected    pending     transaction bytes still to come (two's complement, 21 bits)
 *             arrivals    arrivals
 * The phase completes when no arrivals and no bytes are pending; then pending = expected and the phase flips.
 */
#include "exec/sites.h"

enum { COUNT_BITS = 21 };
#define COUNT_MASK ((uint64_t)((1 << COUNT_BITS) - 1))

struct mbarrier {
    uint32_t phase, expected, pending;
    int32_t bytes;
};

static struct mbarrier unpack(uint64_t word)
{
    struct mbarrier m = {.phase = (uint32_t)(word >> 63),
                         .expected = (uint32_t)(word >> 42 & 0xfffff),
                         .pending = (uint32_t)(word >> COUNT_BITS & COUNT_MASK)};
    m.bytes = (int32_t)((uint32_t)(word & COUNT_MASK) << (32 - COUNT_BITS)) >> (32 - COUNT_BITS);
    return m;
}

static uint64_t pack(struct mbarrier m)
{
    return (uint64_t)m.phase << 63 | (uint64_t)(m.expected & 0xfffff) << 42 |
           ((uint64_t)m.pending & COUNT_MASK) << COUNT_BITS | ((uint64_t)(uint32_t)m.bytes & COUNT_MASK);
}

static struct mbarrier settle(struct mbarrier m)
{
    if (m.pending == 0 && m.bytes == 0) {
        m.phase ^= 1;
        m.pending = m.expected;
    }
    return m;
}

uint64_t mbarrier_complete_tx(uint64_t word, uint32_t bytes)
{
    struct mbarrier m = unpack(word);
    m.bytes -= (int32_t)bytes;
    return pack(settle(m));
}

static void arrive(struct exec_warp *w, const struct insn *i, uint32_t lane, const struct mbarrier_site *site,
                   struct mbarrier *m, uint32_t value)
{
    uint32_t count = 1;
    if (site->expect_tx)
        m->bytes += (int32_t)value;
    else if (site->has_count)
        count = value;
    if (site->kind == MB_COPY_ARRIVE && !site->noinc) m->pending += 1; /* cancels out: the copies are done */
    if (count > m->pending)
        exec_fault(w, i, lane, "mbarrier: %u arrivals, but only %u are pending in this phase", count,
                   m->pending);
    if (site->kind == MB_ARRIVE_DROP) m->expected -= count;
    m->pending -= count;
    *m = settle(*m);
}

/* Has the phase that the program asks for completed? */
static bool phase_done(const struct mbarrier_site *site, const struct mbarrier *m, const void *state,
                       uint32_t lane)
{
    if (site->parity) return (((const uint32_t *)state)[lane] & 1) != m->phase;
    return unpack(((const uint64_t *)state)[lane]).phase != m->phase;
}

static void put(const struct exec_warp *w, const struct mbarrier_site *site, uint32_t lane, uint64_t value)
{
    if (site->dst == UINT32_MAX) return;
    if (site->dst64)
        ((uint64_t *)ref_at(w, site->dst))[lane] = value;
    else
        ((uint32_t *)ref_at(w, site->dst))[lane] = (uint32_t)value;
}

const struct insn *h_mbarrier(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct mbarrier_site *site = i->x.extra;
    uint32_t done = 0;
    FOR_LANES(lane, mask)
    {
        if (site->kind == MB_PENDING) {
            put(w, site, lane, unpack(((const uint64_t *)ref_at(w, site->state))[lane]).pending);
            continue;
        }
        uint32_t space;
        uint8_t *p =
            access_pointer(w, i, site->access, lane, access_address(w, site->access, lane), 8, &space);
        if (space != PTX_SPACE_SHARED) exec_fault(w, i, lane, "an mbarrier must be in shared memory");
        uint64_t word;
        memcpy(&word, p, 8);
        struct mbarrier m = unpack(word);
        const uint32_t value = site->has_count ? ((const uint32_t *)ref_at(w, site->count))[lane] : 0;
        switch ((enum mbarrier_kind)site->kind) {
        case MB_INIT:
            if (!value || value > 0xfffff)
                exec_fault(w, i, lane, "mbarrier.init with count %u (1 to 1048575)", value);
            m = (struct mbarrier){.expected = value, .pending = value};
            break;
        case MB_INVAL: m = (struct mbarrier){0}; break;
        case MB_EXPECT_TX: m.bytes += (int32_t)value; break;
        case MB_COMPLETE_TX:
            m.bytes -= (int32_t)value;
            m = settle(m);
            break;
        case MB_ARRIVE:
        case MB_ARRIVE_DROP:
        case MB_COPY_ARRIVE:
            put(w, site, lane, word);
            arrive(w, i, lane, site, &m, value);
            break;
        case MB_TEST_WAIT:
        case MB_TRY_WAIT: done |= (uint32_t)phase_done(site, &m, ref_at(w, site->state), lane) << lane; break;
        case MB_PENDING: break;
        }
        if (m.phase != unpack(word).phase) w->block->epoch++; /* accesses before it are ordered: racecheck */
        word = pack(m);
        memcpy(p, &word, 8);
    }
    if (site->kind == MB_TEST_WAIT || site->kind == MB_TRY_WAIT) {
        uint32_t *d = (uint32_t *)ref_at(w, site->dst);
        *d = (*d & ~mask) | done;
        w->spin++;
        if (site->kind == MB_TRY_WAIT && done != mask) w->budget = 0;
    }
    return i + 1;
}
