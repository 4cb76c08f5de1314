/* coherence_vi: GPU-VI with an in-memory sharing tracker (CARVE-HWC). The IMST keeps two bits per line at the home,
 * also after the line has left its slice:
 *
 *   state          local read     local write              remote read    remote write
 *   uncached       private        private                  read-shared    read-write-shared
 *   private        private        private                  read-shared    read-write-shared
 *   read-shared    read-shared    read-write-shared, inv.  read-shared    read-write-shared, inv.
 *   rw-shared      rw-shared      rw-shared, inv. (*)      rw-shared      rw-shared, inv.
 *
 * inv.: invalidates all GPUs but the home and the writer (coherence.h). (*): with probability imst.demote the line
 * is private afterwards. imst.remote_write_shares=false: a remote write leaves an uncached or private line private.
 * A line becomes read-shared when the read is served, so a store that meets a pending read of another GPU sends
 * nothing. ASSUMPTION: the entries cost no memory traffic ("negligible" in the paper); atomics and reductions count
 * as writes of the GPU whose SM issued them. Uncached and private decide alike, so slices do not report local
 * reads. */
#include "llc/coherence.h"

struct imst_step imst_step_of(enum imst_state state, enum coherence_event e)
{
    const bool shared = state == IMST_READ_SHARED || state == IMST_WRITE_SHARED;
    switch (e) {
    case COHERENCE_LOCAL_READ: return (struct imst_step){shared ? (uint8_t)state : IMST_PRIVATE, false};
    case COHERENCE_LOCAL_WRITE: return (struct imst_step){shared ? IMST_WRITE_SHARED : IMST_PRIVATE, shared};
    case COHERENCE_REMOTE_READ:
        return (struct imst_step){state == IMST_WRITE_SHARED ? IMST_WRITE_SHARED : IMST_READ_SHARED, false};
    case COHERENCE_REMOTE_WRITE: return (struct imst_step){IMST_WRITE_SHARED, shared};
    case COHERENCE_EVENTS: break;
    }
    return (struct imst_step){(uint8_t)state, false};
}

static void count(struct coherence *k, uint8_t next)
{
    k->stats->to_private += next == IMST_PRIVATE;
    k->stats->to_read_shared += next == IMST_READ_SHARED;
    k->stats->to_write_shared += next == IMST_WRITE_SHARED;
}

static uint64_t on(struct coherence *k, enum coherence_event e, uint64_t line, uint32_t gpu)
{
    const bool writes = e == COHERENCE_LOCAL_WRITE || e == COHERENCE_REMOTE_WRITE;
    const uint64_t others = k->gpus & ~((uint64_t)1 << gpu);
    if (!k->imst) return writes ? others : 0;
    uint64_t *const state = map_put(&k->lines, line, NULL);
    struct imst_step step = imst_step_of((enum imst_state) * state, e);
    if (step.broadcast && e == COHERENCE_LOCAL_WRITE && rng_unit(&k->rng) < k->demote) {
        step.next = IMST_PRIVATE;
        k->stats->demotions++;
    }
    if (e == COHERENCE_REMOTE_WRITE && !step.broadcast && !k->remote_write_shares) step.next = IMST_PRIVATE;
    if (step.next != *state) count(k, step.next);
    *state = step.next;
    return step.broadcast ? others : 0;
}

const struct coherence_ops coherence_gpu_vi = {.on = on};
