/* sreg: special registers. */
#include "exec/sites.h"

/* Value for one lane; most are the same for all. */
static uint64_t value_of(const struct exec_warp *w, const struct sreg_site *site, uint32_t lane)
{
    const struct exec_block *b = w->block;
    const struct exec_launch *l = b->launch;
    const uint32_t thread = w->idx * LANES + lane;
    const uint64_t clock = b->timed ? b->cycle : b->instructions + w->warp_instructions;
    const uint64_t timer = b->timed ? (uint64_t)((double)b->cycle * b->nanoseconds_per_cycle)
                                    : w->env->totals.warp_instructions + clock;
    switch ((enum ptx_sreg)site->sreg) {
    case PTX_SREG_TID_X: return thread % l->block[0];
    case PTX_SREG_TID_Y: return thread / l->block[0] % l->block[1];
    case PTX_SREG_TID_Z: return thread / l->block[0] / l->block[1];
    case PTX_SREG_NTID_X: return l->block[0];
    case PTX_SREG_NTID_Y: return l->block[1];
    case PTX_SREG_NTID_Z: return l->block[2];
    case PTX_SREG_CTAID_X:
    case PTX_SREG_CLUSTERID_X: return b->ctaid[0];
    case PTX_SREG_CTAID_Y:
    case PTX_SREG_CLUSTERID_Y: return b->ctaid[1];
    case PTX_SREG_CTAID_Z:
    case PTX_SREG_CLUSTERID_Z: return b->ctaid[2];
    case PTX_SREG_NCTAID_X:
    case PTX_SREG_NCLUSTERID_X: return l->grid[0];
    case PTX_SREG_NCTAID_Y:
    case PTX_SREG_NCLUSTERID_Y: return l->grid[1];
    case PTX_SREG_NCTAID_Z:
    case PTX_SREG_NCLUSTERID_Z: return l->grid[2];
    case PTX_SREG_CLUSTER_NCTAID_X:
    case PTX_SREG_CLUSTER_NCTAID_Y:
    case PTX_SREG_CLUSTER_NCTAID_Z:
    case PTX_SREG_CLUSTER_NCTARANK: return 1;
    case PTX_SREG_LANEID: return lane;
    case PTX_SREG_WARPID: return w->idx;
    case PTX_SREG_NWARPID: return 64;
    case PTX_SREG_SMID: return b->sm;
    case PTX_SREG_NSMID: return w->env->options.sm_count;
    case PTX_SREG_GRIDID: return l->grid_id;
    case PTX_SREG_LANEMASK_EQ: return 1u << lane;
    case PTX_SREG_LANEMASK_LE: return ((uint64_t)2 << lane) - 1;
    case PTX_SREG_LANEMASK_LT: return (1u << lane) - 1;
    case PTX_SREG_LANEMASK_GE: return ~((1u << lane) - 1);
    case PTX_SREG_LANEMASK_GT: return (uint32_t) ~(((uint64_t)2 << lane) - 1);
    case PTX_SREG_CLOCK: return (uint32_t)clock;
    case PTX_SREG_CLOCK_HI: return clock >> 32;
    case PTX_SREG_CLOCK64: return clock;
    case PTX_SREG_GLOBALTIMER: return timer;
    case PTX_SREG_GLOBALTIMER_LO: return (uint32_t)timer;
    case PTX_SREG_GLOBALTIMER_HI: return timer >> 32;
    case PTX_SREG_TOTAL_SMEM_SIZE:
    case PTX_SREG_AGGR_SMEM_SIZE: return w->shared_bytes;
    case PTX_SREG_DYNAMIC_SMEM_SIZE: return l->dynamic_shared_bytes;
    case PTX_SREG_ENVREG:
        /* The grid barrier of cooperative launches keeps its workspace's address in 1 (high) and 2 (low). */
        if (site->which == 1) return l->barrier_workspace >> 32;
        if (site->which == 2) return (uint32_t)l->barrier_workspace;
        return 0;
    default: return 0; /* counters that nobody set, ranks within clusters of one block, fourth components */
    }
}

/* The same whenever and wherever the block reads it. */
bool sreg_is_constant(uint32_t sreg)
{
    switch ((enum ptx_sreg)sreg) {
    case PTX_SREG_CLOCK:
    case PTX_SREG_CLOCK_HI:
    case PTX_SREG_CLOCK64:
    case PTX_SREG_GLOBALTIMER:
    case PTX_SREG_GLOBALTIMER_LO:
    case PTX_SREG_GLOBALTIMER_HI:
    case PTX_SREG_SMID: return false;
    default: return true;
    }
}

static bool differs_by_lane(uint32_t sreg) { return ptx_sreg_varies((enum ptx_sreg)sreg) == 'L'; }

static void broadcast(uint8_t *d, bool wide, uint64_t value)
{
    if (wide)
        for (uint32_t lane = 0; lane < LANES; lane++) ((uint64_t *)d)[lane] = value;
    else
        for (uint32_t lane = 0; lane < LANES; lane++) ((uint32_t *)d)[lane] = (uint32_t)value;
}

static void count_up(uint8_t *d, uint32_t from)
{
    for (uint32_t lane = 0; lane < LANES; lane++) ((uint32_t *)d)[lane] = from + lane;
}

/* All lanes of a warp that does not wrap round in x: counting up or the same. False: not that simple. */
static bool simple(const struct exec_warp *w, const struct sreg_site *site, uint8_t *d)
{
    const uint32_t thread = w->idx * LANES, width = w->block->launch->block[0];
    if (!differs_by_lane(site->sreg)) {
        broadcast(d, site->wide, value_of(w, site, 0));
        return true;
    }
    if (site->sreg > PTX_SREG_TID_Z || site->wide) return false;
    if (thread % width + LANES > width) return false;
    if (site->sreg == PTX_SREG_TID_X)
        count_up(d, thread % width);
    else
        broadcast(d, false, value_of(w, site, 0));
    return true;
}

static __attribute__((noinline)) const struct insn *any_sreg(struct exec_warp *w, const struct insn *i,
                                                             uint32_t mask)
{
    const struct sreg_site *site = i->x.extra;
    uint8_t *d = ref_at(w, i->d);
    if (!mask) return i + 1;
    if (mask == LANES_ALL && site->sreg != PTX_SREG_IS_EXPLICIT_CLUSTER && simple(w, site, d)) return i + 1;
    if (site->sreg == PTX_SREG_IS_EXPLICIT_CLUSTER) {
        *(uint32_t *)d &= ~mask;
        return i + 1;
    }
    uint64_t value = value_of(w, site, lowest_lane(mask));
    const bool each = differs_by_lane(site->sreg);
    /* Rows of a warp: divisions once, then counting. */
    const bool rows = each && site->sreg <= PTX_SREG_TID_Z;
    uint32_t at[3];
    const uint32_t thread = w->idx * LANES, *size = w->block->launch->block;
    at[0] = thread % size[0];
    at[1] = thread / size[0] % size[1];
    at[2] = thread / size[0] / size[1];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        if (rows) {
            value = at[site->sreg - PTX_SREG_TID_X];
            if (++at[0] == size[0]) {
                at[0] = 0;
                if (++at[1] == size[1]) {
                    at[1] = 0;
                    at[2]++;
                }
            }
        } else if (each) {
            value = value_of(w, site, lane);
        }
        if (!(mask >> lane & 1)) continue;
        if (site->wide)
            ((uint64_t *)d)[lane] = value;
        else
            ((uint32_t *)d)[lane] = (uint32_t)value;
    }
    return i + 1;
}

/* %tid.x of a whole warp in a row is what nearly all ask for. */
const struct insn *h_sreg(struct exec_warp *w, const struct insn *i, uint32_t mask)
{
    const struct sreg_site *const site = i->x.extra;
    const uint32_t first = w->idx * LANES;
    if (mask != LANES_ALL || site->sreg != PTX_SREG_TID_X || site->wide ||
        first + LANES > w->block->launch->block[0])
        return any_sreg(w, i, mask);
    count_up(ref_at(w, i->d), first);
    return i + 1;
}
