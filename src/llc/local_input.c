/* local_input: the input stage of a slice with links to the SMs of its partition (organisation nuba).
 *
 *   links of the SMs ──► local_input_accept() ──┬─ lookup ──► local queue (LMR) ──► tag stage, round-robin
 *                                               │                                     ▲
 *   far_request network ──► sink queue (RMR) ───│─────────────────────────────────────┘
 *                                               └─ bypass ──► bypass queue ──► far_request network
 *
 * The rule of the path (request/path.h) says lookup if the home is here or if the line may be replicated.
 * The input stage accepts one request per cycle (ASSUMPTION). A bypassing request uses no tag cycle. */
#include "llc/llc_private.h"

static inline uint32_t request_at_input(const struct slice *s, uint64_t now)
{
    return fabric_front_at(s->remote->sm_front, fabric_net_now(&s->wire.fabric->request, now));
}

static inline bool has_room(const struct slice *s, bool lookup)
{
    return lookup ? s->remote->local.count < s->spec->local_queue
                  : s->remote->bypass.count < s->spec->forward_queue;
}

void local_input_accept(struct slice *s, uint64_t now)
{
    const uint32_t idx = request_at_input(s, now);
    struct request *r = at(s, idx);
    const bool lookup = rule_of(s, r)->lookup;
    if (!has_room(s, lookup)) return;
    fabric_take(&s->wire.fabric->request, now, s->wire.slice_idx);
    if (s->wire.input_monitor.on_request)
        s->wire.input_monitor.on_request(s->wire.input_monitor.self, r, s->wire.slice_idx, false, now);
    s->stats.accepted++;
    if (lookup) {
        append(s, &s->remote->local, idx);
        s->remote->local_sum -= now;
        return;
    }
    s->stats.past++;
    s->stats.crossing_reads += r->kind == REQUEST_READ;
    on_arrival(s, r, now);
    r->via = (uint16_t)(s->wire.slice_idx + 1);
    r->ready_cyc = now + s->spec->bypass_latency_cyc;
    append(s, &s->remote->bypass, idx);
}

uint64_t local_input_next_cyc(const struct slice *s, uint64_t now)
{
    const uint32_t idx = request_at_input(s, now);
    return idx != REQUEST_NONE && has_room(s, rule_of(s, at(s, idx))->lookup) ? now + 1 : ENGINE_NEVER;
}
