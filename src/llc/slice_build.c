/* slice_build: construction of a slice, and its occupancies and wait reasons for reports. */
#include <stdio.h>

#include "llc/coherence.h"
#include "llc/rdc.h"
#include "llc/spill.h"

uint32_t slice_set_of(const struct slice_spec *p, uint64_t line) { return set_in(p, line); }

uint32_t slice_home(const struct slice_spec *p, uint64_t line)
{
    const uint64_t address = line << LINE_LOG2, chiplet = dram_map_chiplet(p->map, address);
    const struct dram_place place = dram_map_place(p->map, address & (((uint64_t)1 << p->map->bits) - 1));
    const uint32_t channel = ((uint32_t)chiplet << p->map->width[DRAM_FIELD_CHANNEL]) + place.channel;
    return channel * p->slices_per_channel + place.slice;
}

uint64_t slice_waiting(const struct slice *s)
{
    uint64_t count =
        (uint64_t)s->hits.count + s->filled.count + s->walked.count + remote_waiting(s) + once_waiting(s);
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++)
        if (*tags_pins(&s->tags, line)) count += s->lines[line].waiting.count;
    return count;
}

/* Waiting time so far of the operations that are due and not accepted. */
static uint64_t waiting_ticks(const struct slice *s, uint64_t tick)
{
    uint64_t sum = 0;
    for (uint32_t q = 0; q < s->spec->channels + (s->spill != NULL); q++) {
        const struct memory_queue *const ops = q < s->spec->channels ? &s->queues[q].ops : &s->spill->ops;
        const size_t front = (size_t)(ops->front - ops->ring);
        for (uint32_t k = 0; k < ops->count; k++) {
            const uint64_t ready_tick = ops->ring[(front + k) & s->ops_mask].ready_tick;
            if (ready_tick < tick) sum += tick - ready_tick;
        }
    }
    return sum;
}

struct slice_depths slice_depths(const struct slice *s, uint64_t now, uint64_t tick)
{
    struct slice_depths d = {.inside_cyc = s->inside_sum + now * s->inside, .counted = !s->windowed};
    if (s->windowed) return d;
    d.mshr_cyc = s->mshr_sum + now * (s->spec->mshrs - s->mshr_free_count);
    d.memory_wait_ticks = s->memory_wait_ticks + waiting_ticks(s, tick);
    if (s->remote) d.local_cyc = s->remote->local_sum + now * s->remote->local.count;
    return d;
}

uint32_t slice_lines_used(const struct slice *s)
{
    uint32_t used = 0;
    for (uint32_t line = 0; line < tags_lines(&s->tags); line++) used += tags_used(&s->tags, line);
    return used;
}

static struct wait waits(void *self)
{
    const struct slice *s = self;
    struct wait w = {.reason = WAIT_NOTHING, .on = ENGINE_NO_COMPONENT};
    const uint64_t waiting = slice_waiting(s);
    if (s->reply_refused) {
        w.reason = WAIT_QUEUE_FULL;
        w.on = s->wire.fabric->reply.component;
        (void)snprintf(w.detail, sizeof w.detail, "the network refuses a reply; %u more replies wait",
                       s->hits.count + s->filled.count - 1);
    } else if (waiting || s->ops_count) {
        w.reason = WAIT_REPLY;
        w.on = s->wire.channel_component;
        (void)snprintf(w.detail, sizeof w.detail, "%llu requests inside, %u for the memory channel",
                       (unsigned long long)waiting, s->ops_count);
    }
    return w;
}

/* Index mask of a ring with at least count_min entries. */
static uint32_t ring_mask(uint32_t count_min)
{
    uint32_t count = 1;
    while (count < count_min) count *= 2;
    return count - 1;
}

/* The wake-up handler with the fewest tests for this slice. */
static void (*wake_handler(const struct slice *s))(void *self, uint64_t now)
{
    if (!s->remote) return slice_wake;
    return s->remote->rdc || s->remote->coherence || s->spec->page_lines ? slice_wake_extended
                                                                         : slice_wake_remote;
}

struct slice *slice_new(struct arena *a, const struct slice_spec *spec, const struct slice_wiring *wiring,
                        const char *name)
{
    struct slice *s = ARENA_NEW(a, struct slice);
    s->spec = spec;
    s->wire = *wiring;
    tags_init(&s->tags, a, spec->sets, spec->ways, spec->replacement, spec->seed + wiring->slice_idx);
    const uint32_t lines = tags_lines(&s->tags);
    const uint32_t lines_and_entries = lines + once_entries(spec);
    s->lines = ARENA_ARRAY(a, struct slice_line, lines_and_entries);
    s->mshr_free_count = spec->mshrs;
    s->hits_cyc = s->filled_cyc = s->due_cyc = ENGINE_NEVER;
    s->requests = request_at(wiring->requests, 0);
    const uint32_t room = spec->memory_queue + spec->mshrs;
    s->ops_inexact_max = room > 2 * SLICE_EXACT_MARGIN ? room - SLICE_EXACT_MARGIN : 0;
    s->ops_max = room - 2;
    uint32_t ops = room + 5 + spec->page_lines; /* 1: an operation of the remote data cache */
    if (spec->may_write_through) /* fills add write-throughs and refetches without a check of the limit */
        ops += spec->mshrs * (LINE_SECTORS + 1);
    s->ops_mask = ring_mask(ops + 1);
    s->fills_mask = ring_mask(spec->mshrs * LINE_SECTORS + ops + 1);
    s->first_sm = wiring->partition * wiring->sms_per_partition;
    s->queues = spec->channels == 1 ? &s->own_queue : ARENA_ARRAY(a, struct channel_queue, spec->channels);
    for (uint32_t k = 0; k < spec->channels; k++) {
        struct memory_op *const ring = ARENA_ARRAY(a, struct memory_op, s->ops_mask + (size_t)1);
        s->queues[k].ops = (struct memory_queue){.front = ring, .ring = ring, .end = ring + s->ops_mask + 1};
        ring->ready_tick = ENGINE_NEVER;
        s->queues[k].fills = ARENA_ARRAY(a, struct fill, s->fills_mask + (size_t)1);
    }
    s->spill = spill_join(wiring->spill, a, s, s->ops_mask + 1);
    s->flush_cursor = lines;
    if (spec->count_lines) {
        s->line_requests = ARENA_ARRAY(a, uint32_t, lines);
        s->line_partitions = ARENA_ARRAY(a, uint64_t, lines);
    }
    if (wiring->check) s->copies = check_place_new(wiring->check, name, lines_and_entries, true);
    if (wiring->forwards) remote_new(s, a, name);
    if (spec->reads_once && wiring->forwards) once_new(s, a);
    s->has_input = s->remote && wiring->organisation->path.has_bypass;
    if (wiring->forwards && config_slices_coherent(wiring->organisation->config)) coherent_new(s, a);
    if (!s->ops_inexact_max && wiring->channels_sync) slice_update_exact_accept(s);
    s->basic = !s->remote && !s->copies && !s->line_requests && !wiring->monitor.on_request &&
               !spec->may_write_through && spec->channels == 1 && !spec->stack_width && !wiring->pages &&
               !wiring->spill;
    s->component = engine_add(wiring->engine, (struct component_spec){.name = name,
                                                                      .self = s,
                                                                      .domain = wiring->domain,
                                                                      .wake = wake_handler(s),
                                                                      .receive = slice_receive,
                                                                      .waits = waits});
    return s;
}

uint32_t slice_component(const struct slice *s) { return s->component; }

struct llc_stats *slice_stats(struct slice *s) { return &s->stats; }

struct rdc_stats *slice_rdc_stats(struct slice *s)
{
    return s->remote && s->remote->rdc ? &s->remote->rdc->stats : NULL;
}

struct coherence_stats *slice_coherence_stats(struct slice *s)
{
    return s->remote ? &s->remote->coherence_stats : NULL;
}

void slice_free(struct slice *s)
{
    if (s->remote && s->remote->coherence) coherence_free(s->remote->coherence);
    if (s->remote && s->remote->rdc && s->remote->rdc->back) rdc_back_free(s->remote->rdc->back);
}

void llc_epoch_change(struct copy_epoch *e, uint64_t tick)
{
    if (e->changed_tick != tick) e->before = e->value;
    e->changed_tick = tick;
    e->value++;
    e->kept = false;
}

void llc_epoch_end(struct copy_epoch *e, uint64_t tick)
{
    if (e->changed_tick == tick) return; /* at most one change per tick, in any order of calls */
    if (e->kept)
        llc_epoch_change(e, tick);
    else
        e->asked_tick = tick;
}

void llc_epoch_keep(struct copy_epoch *e, uint64_t tick)
{
    if (e->changed_tick == tick) return; /* the line is of the epoch that has just ended */
    e->kept = true;
    if (e->asked_tick == tick) llc_epoch_change(e, tick);
}
