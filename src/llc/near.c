/* near: the input stage of a slice with links to the SMs of its partition (organisation nuba).
 *
 *   links of the SMs ──► near_accept() ──┬─ lookup ──► local queue (LMR) ────────────────────┐
 *                                        └─ bypass ──► past queue ──► far_request network    ├──► tag stage,
 *   far_request network ──► sink queue (RMR) ───────────────────────────────────────────────┘    round-robin
 *
 * The rule of the path (request/path.h) says lookup if the home is here or if the line may be replicated.
 * The input stage accepts one request per cycle (ASSUMPTION). A bypassing request uses no tag cycle. */
#include "llc/llc_private.h"

static inline uint32_t near_request_at(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->far->near, fabric_net_now(&s->wire.fabric->request, now));
}

static inline bool has_room(const struct slice *s, bool lookup)
{
    return lookup ? s->far->local.count < s->spec->local_queue : s->far->past.count < s->spec->forward_queue;
}

void near_accept(struct slice *s, uint64_t now)
{
    const uint32_t idx = near_request_at(s, now);
    struct request *r = at(s, idx);
    const bool lookup = rule_of(s, r)->lookup;
    if (!has_room(s, lookup)) return;
    fabric_take(&s->wire.fabric->request, now, s->wire.slice_idx);
    if (s->wire.input_monitor.on_request)
        s->wire.input_monitor.on_request(s->wire.input_monitor.self, r, s->wire.slice_idx, false, now);
    s->stats.accepted++;
    if (lookup) {
        append(s, &s->far->local, idx);
        s->far->local_sum -= now;
        return;
    }
    s->stats.past++;
    s->stats.crossing_reads += r->kind == REQUEST_READ;
    enters(s, r, now);
    r->via = (uint16_t)(s->wire.slice_idx + 1);
    r->ready_cyc = now + s->spec->pass_cyc;
    append(s, &s->far->past, idx);
}

uint64_t near_next_visit(const struct slice *s, uint64_t now)
{
    const uint32_t idx = near_request_at(s, now);
    return idx != REQUEST_NONE && has_room(s, rule_of(s, at(s, idx))->lookup) ? now + 1 : ENGINE_NEVER;
}
