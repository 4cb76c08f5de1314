/* repartition: implementation of repartition.h. */
#include "system/repartition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "llc/llc.h"
#include "system/system_private.h"

/* ASSUMPTION: the driver looks every POLL_CYC cycles whether a step of a change is complete. */
enum { POLL_CYC = 16, BITS = 64 };

enum state {
    STATE_IDLE,
    STATE_DECIDED,  /* the decision takes effect at change_cyc */
    STATE_CHANNELS, /* accesses of the applications whose channels change are held */
    STATE_SMS       /* SMs change hands, pages may be locked */
};

struct repartition {
    struct system *system;
    const struct partition_ops *ops;
    void *policy;
    struct partition_spec spec;
    uint64_t epoch_cyc, epoch_end_cyc, epoch_begin_cyc;
    uint64_t change_cyc; /* next step of a change; EPOCH_NEVER: none */
    uint64_t epoch;      /* number of the current epoch */
    struct partition now, next;
    enum state state;
    struct quiesce quiesce;
    uint64_t *slices;                /* bit per slice of the pass */
    uint16_t *owned[PARTITION_APPS]; /* colours in force, ascending */
    uint32_t owned_count[PARTITION_APPS];
    uint16_t *gained;         /* scratch */
    uint64_t drain_until_cyc; /* SMs that have not drained by then switch */
    uint64_t counted_cyc;     /* cycles of a change are counted up to here */
    struct app_stats before[PARTITION_APPS];
    struct owner_stats pages_before[PARTITION_APPS];
    uint64_t *channel_bytes; /* [channel] at the start of the epoch */
    struct repartition_epoch *epochs;
    uint32_t epoch_count, epoch_capacity;
    struct repartition_change *changes;
    uint32_t change_count, change_capacity;
    uint64_t dropped, change_cyc_in_epoch, pages_cyc_in_epoch;
};

/* ---- what the applications did ---- */

static uint64_t bytes_of_channel(const struct repartition *r, uint32_t channel)
{
    const struct dram_stats *s = channel_stats(r->system->channels[channel]);
    return (s->column_reads + s->column_writes) * r->system->config->dram.column_size;
}

static uint32_t colour_of_channel(const struct repartition *r, uint32_t channel)
{
    return pages_colour_of_channel(r->system->pages, channel);
}

static bool owns(const struct repartition *r, uint32_t app, uint32_t colour)
{
    for (uint32_t k = 0; k < r->owned_count[app]; k++)
        if (r->owned[app][k] == colour) return true;
    return false;
}

static uint64_t memory_bytes(const struct repartition *r, uint32_t app)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < r->system->channel_count; k++)
        if (owns(r, app, colour_of_channel(r, k))) sum += bytes_of_channel(r, k) - r->channel_bytes[k];
    return sum;
}

static void measure_indices(const struct repartition *r, struct repartition_epoch *e)
{
    for (uint32_t k = 0; k < r->system->channel_count; k++) {
        const uint32_t index = colour_of_channel(r, k);
        if (index < REPARTITION_INDICES) e->bytes_in[index] += bytes_of_channel(r, k) - r->channel_bytes[k];
    }
}

static uint64_t foreign_pages(const struct repartition *r, uint32_t app)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < pages_colours(r->system->pages); k++)
        if (!owns(r, app, k)) sum += pages_in(r->system->pages, app, k);
    return sum;
}

static void measure_pages(const struct repartition *r, uint32_t app, struct repartition_app *out)
{
    struct pages *p = r->system->pages;
    const struct owner_stats *s = pages_owner_stats(p, app), *b = &r->pages_before[app];
    for (uint32_t k = 0; k < pages_colours(p) && k < REPARTITION_INDICES; k++)
        out->pages_in[k] = (uint32_t)pages_in(p, app, k);
    if (!s) return;
    out->faults_lost = s->faults_lost - b->faults_lost;
    out->faults_gained = s->faults_gained - b->faults_gained;
    out->pages_moved = s->came - b->came;
    out->set_wait_cyc = s->set_wait_cyc - b->set_wait_cyc;
    out->held_cyc = s->held_cyc - b->held_cyc;
}

static void measure(const struct repartition *r, uint32_t app, struct repartition_app *out)
{
    const struct app_stats *s = &r->system->apps.app[app].stats, *b = &r->before[app];
    *out = (struct repartition_app){
        .share = {r->system->apps.app[app].sm_count, r->owned_count[app]},
        .profile = {.accesses = s->llc_accesses - b->llc_accesses,
                    .hits = s->llc_hits - b->llc_hits,
                    .thread_instructions = s->thread_instructions - b->thread_instructions,
                    .pages = s->pages},
        .warp_instructions = s->warp_instructions - b->warp_instructions,
        .memory_bytes = memory_bytes(r, app),
        .outside = s->llc_outside - b->llc_outside,
        .foreign_pages = foreign_pages(r, app),
        .sms_drained = s->sms_drained - b->sms_drained,
        .sms_switched = s->sms_switched - b->sms_switched};
    measure_pages(r, app, out);
    for (uint32_t k = 0; k < r->owned_count[app]; k++) out->owned |= (uint64_t)1 << r->owned[app][k] % BITS;
    out->class = partition_classify(&r->spec, &out->profile, out->share);
}

static void mark(struct repartition *r, uint64_t now)
{
    for (uint32_t app = 0; app < r->spec.apps; app++) {
        const struct owner_stats *pages = pages_owner_stats(r->system->pages, app);
        r->before[app] = r->system->apps.app[app].stats;
        if (pages) r->pages_before[app] = *pages;
    }
    for (uint32_t k = 0; k < r->system->channel_count; k++) r->channel_bytes[k] = bytes_of_channel(r, k);
    r->epoch_begin_cyc = now;
    r->change_cyc_in_epoch = r->pages_cyc_in_epoch = 0;
}

static void count_change_time(struct repartition *r, uint64_t now)
{
    if (r->state != STATE_IDLE) r->change_cyc_in_epoch += now - r->counted_cyc;
    if (r->state == STATE_SMS && !r->system->apps.handover_count)
        r->pages_cyc_in_epoch += now - r->counted_cyc;
    r->counted_cyc = now;
}

/* ---- channels ---- */

static void add_colour(struct repartition *r, uint32_t app, uint32_t colour)
{
    uint32_t at = r->owned_count[app]++;
    for (; at && r->owned[app][at - 1] > colour; at--) r->owned[app][at] = r->owned[app][at - 1];
    r->owned[app][at] = (uint16_t)colour;
}

static void remove_colour(struct repartition *r, uint32_t app, uint32_t at)
{
    r->owned_count[app]--;
    for (; at < r->owned_count[app]; at++) r->owned[app][at] = r->owned[app][at + 1];
}

/* The place in owned[] of the index that the application gives next: fewest of its pages, the highest of equals. */
static uint32_t index_to_give(const struct repartition *r, uint32_t app)
{
    const struct pages *p = r->system->pages;
    uint32_t best = 0;
    for (uint32_t k = 1; k < r->owned_count[app]; k++)
        if (pages_in(p, app, r->owned[app][k]) <= pages_in(p, app, r->owned[app][best])) best = k;
    return best;
}

/* Applications whose channels change, as bits. */
static uint64_t apps_with_new_channels(const struct repartition *r)
{
    uint64_t apps = 0;
    for (uint32_t app = 0; app < r->spec.apps; app++)
        if (r->now.of[app].indices != r->next.of[app].indices) apps |= (uint64_t)1 << app;
    return apps;
}

/* The pass: slices of all channels that one of these applications owns now. */
static void choose_slices(struct repartition *r, uint64_t apps)
{
    const struct system *g = r->system;
    const uint32_t per_channel = g->slice_spec.slices_per_channel;
    memset(r->slices, 0, (g->slice_count + BITS - 1) / BITS * sizeof *r->slices);
    for (uint32_t s = 0; s < g->slice_count; s++) {
        const uint32_t colour = colour_of_channel(r, s / per_channel);
        for (uint64_t left = apps; left; left &= left - 1)
            if (owns(r, (uint32_t)__builtin_ctzll(left), colour))
                r->slices[s / BITS] |= (uint64_t)1 << s % BITS;
    }
}

/* Slices count accesses to channels that the application does not own. */
static void set_slice_owners(const struct repartition *r)
{
    const struct system *g = r->system;
    for (uint32_t s = 0; s < g->slice_count; s++) {
        const uint32_t colour = colour_of_channel(r, s / g->slice_spec.slices_per_channel);
        uint64_t owners = 0;
        for (uint32_t app = 0; app < r->spec.apps; app++)
            if (owns(r, app, colour)) owners |= (uint64_t)1 << app;
        slice_set_owners(g->slices[s], owners);
    }
}

/* Moves indices from givers to takers; `gained` of an application is what it gets in this change. */
static void write_masks(struct repartition *r, uint64_t apps)
{
    const uint32_t colours = pages_colours(r->system->pages);
    uint16_t given[PAGES_APPS * BITS];
    uint32_t given_count = 0, taken = 0;
    DIAG_ASSERT(colours <= sizeof given / sizeof *given);
    for (uint32_t app = 0; app < r->spec.apps; app++)
        while (r->owned_count[app] > r->next.of[app].indices) {
            const uint32_t at = index_to_give(r, app);
            given[given_count++] = r->owned[app][at];
            remove_colour(r, app, at);
        }
    for (uint32_t app = 0; app < r->spec.apps; app++) {
        uint32_t gained = 0;
        while (r->owned_count[app] < r->next.of[app].indices) {
            DIAG_ASSERT(taken < given_count);
            r->gained[gained++] = given[taken];
            add_colour(r, app, given[taken++]);
        }
        if (!(apps >> app & 1)) continue;
        pages_change_owned(r->system->pages, app, &(struct colours){r->owned[app], r->owned_count[app]},
                           &(struct colours){r->gained, gained});
        r->system->apps.app[app].channel_count = r->owned_count[app] * r->spec.channels_per_index;
    }
    r->changes[r->change_count - 1].indices = taken;
}

/* The pass must have left no line of the held applications. --check only. */
static void check_pass(const struct repartition *r)
{
    const struct system *g = r->system;
    for (uint32_t s = 0; g->check && s < g->slice_count; s++)
        if (r->slices[s / BITS] >> s % BITS & 1 && slice_dirty_lines(g->slices[s]))
            diag_check_failed(
                "--check: slice %u holds dirty lines at cycle %llu, after the pass of a change of channels",
                s, (unsigned long long)system_now(g));
}

static void begin_channels(struct repartition *r)
{
    const uint64_t apps = apps_with_new_channels(r);
    choose_slices(r, apps);
    r->quiesce.apps = apps;
    r->quiesce.pass = FAULT_FIRES(llc_keeps_at_change) ? llc_boundary_keep : llc_boundary_flush;
    r->state = STATE_CHANNELS;
    quiesce_begin(&r->quiesce);
}

static void end_channels(struct repartition *r, uint64_t now)
{
    struct system *g = r->system;
    check_pass(r);
    for (uint32_t sm = 0; sm < g->sm_count; sm++)
        if (r->quiesce.apps >> g->apps.serving[sm] & 1) sm_drop_translations(g->sms[sm]);
    write_masks(r, r->quiesce.apps);
    set_slice_owners(r);
    quiesce_end(&r->quiesce);
    r->changes[r->change_count - 1].masks_cyc = now;
}

/* ---- SMs ---- */

static bool is_cooperative(const struct repartition *r, uint32_t app)
{
    const struct system *g = r->system;
    for (uint32_t n = 0; n < g->running_count; n++)
        if (g->running[n]->sm.app == app && g->running[n]->launch->cooperative) return true;
    return false;
}

/* True if SMs of the application are emptied by moving their blocks at once. */
static bool switches(const struct repartition *r, uint32_t app)
{
    const struct system *g = r->system;
    uint64_t cycles = 0, blocks = 0;
    const enum partition_sm_change how = g->config->partition.sm_change;
    if (how != partition_sm_change_auto) return how == partition_sm_change_switch;
    for (uint32_t n = 0; n < g->running_count; n++) {
        if (g->running[n]->sm.app != app) continue;
        cycles += g->running[n]->block_cyc;
        blocks += g->running[n]->blocks_ended;
    }
    return blocks && cycles / blocks > r->epoch_cyc;
}

static void begin_sms(struct repartition *r, uint64_t now)
{
    struct system *g = r->system;
    uint32_t missing[PARTITION_APPS] = {0}, taker = 0, moved = 0;
    bool switched[PARTITION_APPS] = {false};
    for (uint32_t app = 0; app < r->spec.apps; app++) {
        const uint32_t from = r->now.of[app].sms, to = r->next.of[app].sms;
        missing[app] = to > from ? to - from : 0;
        switched[app] = switches(r, app);
    }
    for (uint32_t app = 0; app < r->spec.apps; app++)
        for (uint32_t sm = g->sm_count; sm-- > 0 && g->apps.app[app].sm_count > r->next.of[app].sms;) {
            if (g->apps.owner[sm] != app) continue;
            while (taker < r->spec.apps && !missing[taker]) taker++;
            assert(taker < r->spec.apps); /* SMs given = SMs taken */
            missing[taker]--;
            moved++;
            const bool idle = sm_idle(g->sms[sm]);
            apps_assign_sm(&g->apps, sm, taker);
            if (switched[app] && !idle)
                block_migration_clear_sm(g->block_migration, sm);
            else
                g->apps.app[app].stats.sms_drained++;
            g->apps.app[app].stats.sms_switched += switched[app] && !idle;
        }
    r->changes[r->change_count - 1].sms = moved;
    r->drain_until_cyc = now + r->epoch_cyc;
    r->state = STATE_SMS;
}

/* SMs whose blocks did not end within an epoch switch now. */
static void stop_draining(struct repartition *r)
{
    struct system *g = r->system;
    r->drain_until_cyc = EPOCH_NEVER;
    if (g->config->partition.sm_change == partition_sm_change_drain) return;
    for (uint32_t sm = 0; sm < g->sm_count; sm++)
        if (g->apps.owner[sm] != g->apps.serving[sm] && g->apps.serving[sm] < g->apps.count)
            block_migration_clear_sm(g->block_migration, sm);
}

/* ---- a change ---- */

static bool is_over(const struct repartition *r)
{
    for (uint32_t app = 0; app < r->spec.apps; app++)
        if (!pages_change_over(r->system->pages, app)) return false;
    return !r->system->apps.handover_count;
}

static void begin_change(struct repartition *r, uint64_t now)
{
    r->changes = grow(r->changes, r->change_count, &r->change_capacity, sizeof *r->changes,
                      "changes of the partition");
    r->changes[r->change_count++] = (struct repartition_change){.begin_cyc = now};
    if (apps_with_new_channels(r))
        begin_channels(r);
    else
        begin_sms(r, now);
}

/* The next step of a change that is due. */
static void step_change(struct repartition *r, uint64_t now)
{
    switch (r->state) {
    case STATE_IDLE: break;
    case STATE_DECIDED: begin_change(r, now); break;
    case STATE_CHANNELS:
        quiesce_poll(&r->quiesce);
        if (r->quiesce.state != QUIESCE_DONE) break;
        end_channels(r, now);
        begin_sms(r, now);
        break;
    case STATE_SMS:
        if (now >= r->drain_until_cyc) stop_draining(r);
        if (!is_over(r)) break;
        r->state = STATE_IDLE;
        r->now = r->next;
        r->changes[r->change_count - 1].over_cyc = now;
        break;
    }
    r->change_cyc = r->state == STATE_IDLE ? EPOCH_NEVER : now + POLL_CYC;
}

/* ---- epochs ---- */

static bool gives_from_cooperative(const struct repartition *r, const struct partition *next)
{
    for (uint32_t app = 0; app < r->spec.apps; app++)
        if (next->of[app].sms < r->now.of[app].sms && is_cooperative(r, app)) return true;
    return false;
}

static void decide(struct repartition *r, struct repartition_epoch *e, uint64_t now)
{
    struct partition_question q = {.spec = &r->spec, .now = r->now, .epoch = r->epoch};
    struct partition_answer a = {.next = r->now};
    for (uint32_t app = 0; app < r->spec.apps; app++) q.of[app] = e->of[app].profile;
    r->ops->decide(r->policy, &q, &a);
    e->decided = true;
    e->iterations = a.iterations;
    if (partition_equal(&r->spec, &a.next, &r->now)) return;
    if (gives_from_cooperative(r, &a.next)) {
        e->dropped = true;
        r->dropped++;
        return;
    }
    e->changed = true;
    r->next = a.next;
    r->state = STATE_DECIDED;
    r->counted_cyc = now;
    r->change_cyc = now + a.latency_cyc;
}

/* While pages follow the masks, an access outside the owned channels is an error of the machine. */
static void check_outside(const struct repartition *r, const struct repartition_app *a, uint32_t app)
{
    if (a->outside && pages_follow(r->system->pages))
        diag_bug("repartition", system_now(r->system),
                 "application %u sent %llu accesses to channels that it does not own", app,
                 (unsigned long long)a->outside);
}

static void end_epoch(struct repartition *r, uint64_t now)
{
    apps_sync_stats(&r->system->apps);
    count_change_time(r, now);
    r->epochs = grow(r->epochs, r->epoch_count, &r->epoch_capacity, sizeof *r->epochs, "epochs");
    struct repartition_epoch *e = &r->epochs[r->epoch_count++];
    *e = (struct repartition_epoch){.begin_cyc = r->epoch_begin_cyc,
                                    .end_cyc = now,
                                    .change_cyc = r->change_cyc_in_epoch,
                                    .pages_cyc = r->pages_cyc_in_epoch};
    measure_indices(r, e);
    for (uint32_t app = 0; app < r->spec.apps; app++) {
        measure(r, app, &e->of[app]);
        check_outside(r, &e->of[app], app);
    }
    if (r->state != STATE_IDLE) {
        e->dropped = true;
        r->dropped++;
    } else {
        decide(r, e, now);
    }
    mark(r, now);
    r->epoch++;
    r->epoch_end_cyc += r->epoch_cyc;
}

static uint64_t next_cyc(const struct repartition *r)
{
    return r->change_cyc < r->epoch_end_cyc ? r->change_cyc : r->epoch_end_cyc;
}

static uint64_t due(void *self, uint64_t now)
{
    struct repartition *r = self;
    if (now >= r->change_cyc) {
        count_change_time(r, now);
        step_change(r, now);
    }
    if (now >= r->epoch_end_cyc) end_epoch(r, now);
    return next_cyc(r);
}

static uint64_t kernel_begins(void *self, uint64_t now, const struct launch_facts *l, uint32_t others)
{
    (void)now;
    (void)l;
    (void)others;
    return next_cyc(self);
}

/* ---- building ---- */

bool repartition_first(struct system *g, uint32_t apps, struct partition *p)
{
    const struct config *c = g->config;
    const struct partition_ops *ops = partition_ops_of(c);
    struct partition_profile alone[PARTITION_APPS];
    if (apps < 2 || !ops->first) return false;
    const struct partition_spec s = partition_spec_of(c, apps, pages_colours(g->pages), 0);
    if (ops->needs_profiles && !partition_read_profiles(c, apps, alone))
        diag_mistake(
            "partition.policy offline needs the profile of each application alone: set apps.alone=true or "
            "partition.profiles");
    void *state = ops->state_bytes ? arena_array(&g->arena, 1, ops->state_bytes) : NULL;
    ops->first(state, &s, ops->needs_profiles ? alone : NULL, p);
    return true;
}

struct repartition *repartition_new(struct system *g, const struct config *c)
{
    if (!config_partition_changes(c)) return NULL;
    struct repartition *r = ARENA_NEW(&g->arena, struct repartition);
    r->system = g;
    r->ops = partition_ops_of(c);
    r->policy = r->ops->state_bytes ? arena_array(&g->arena, 1, r->ops->state_bytes) : NULL;
    r->epoch_cyc = c->partition.epoch_cyc;
    r->epoch_end_cyc = r->change_cyc = EPOCH_NEVER;
    r->slices = ARENA_ARRAY(&g->arena, uint64_t, (g->slice_count + BITS - 1) / BITS);
    r->gained = ARENA_ARRAY(&g->arena, uint16_t, pages_colours(g->pages));
    for (uint32_t app = 0; app < PARTITION_APPS; app++)
        r->owned[app] = ARENA_ARRAY(&g->arena, uint16_t, pages_colours(g->pages));
    r->channel_bytes = ARENA_ARRAY(&g->arena, uint64_t, g->channel_count);
    r->quiesce = (struct quiesce){
        .app = QUIESCE_SET, .accesses = true, .polled = true, .rank = QUIESCE_RANK_LAST, .slices = r->slices};
    quiesce_init(&r->quiesce, &g->control);
    epochs_add(&g->control.epochs,
               &(struct epoch_client){.self = r, .due = due, .kernel_begins = kernel_begins});
    return r;
}

void repartition_begin(struct repartition *r)
{
    struct system *g = r->system;
    const struct pages *p = g->pages;
    if (g->apps.count < 2) return; /* one application: fixed */
    r->spec = partition_spec_of(g->config, g->apps.count, pages_colours(p), pages_per_colour(p));
    for (uint32_t app = 0; app < r->spec.apps; app++) {
        const struct colours *owned = pages_owned(p, app);
        r->owned_count[app] = owned->count;
        memcpy(r->owned[app], owned->colour, owned->count * sizeof *r->owned[app]);
        r->now.of[app] = (struct partition_share){g->apps.app[app].sm_count, owned->count};
    }
    r->epoch_end_cyc = r->epoch_cyc;
    set_slice_owners(r);
    mark(r, 0);
}

void repartition_free(struct repartition *r)
{
    if (!r) return;
    free(r->epochs);
    free(r->changes);
}

const struct repartition_epoch *repartition_epochs(const struct repartition *r, uint32_t *count)
{
    *count = r ? r->epoch_count : 0;
    return r ? r->epochs : NULL;
}

const struct repartition_change *repartition_changes(const struct repartition *r, uint32_t *count)
{
    *count = r ? r->change_count : 0;
    return r ? r->changes : NULL;
}

uint64_t repartition_dropped(const struct repartition *r) { return r ? r->dropped : 0; }

uint32_t repartition_channels_per_index(const struct repartition *r) { return r->spec.channels_per_index; }
