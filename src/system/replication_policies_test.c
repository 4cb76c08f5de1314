/* Contract of every policy that replicates lines in the LLC, on a small GPU whose traffic makes the policies
 * decide. The test covers each row of nuba_copies with every model and profiler (mdr_choices.def), and each
 * row of replication_policy with every form of the directory (replication_choices.def). New rows are covered
 * automatically.
 *
 *  1. The organisation changes nuba.decision_cyc (selrep.decision_cyc) after the end of an epoch or later,
 *     and at most once per decision. An epoch without requests changes no state.
 *  2. Lines that are not marked read-only, stores and atomics have one slice: the home of the line.
 *  3. The pass at the end of a kernel leaves no replica.
 *  4. A run has bit-identical statistics in any evaluation order. Ratios are at most 1, predictions at most
 *     the peak bandwidth of the slices, and all laws hold. */
#include "llc/llc_private.h"
#include "system/rules.h"
#include "system_testbed.h"

enum {
    EPOCH = 250,
    LATENCY = 37,
    CHECK_CYC = 50,
    SHARED_LINES = 96,
    WRITTEN_LINES = 64,
    OWN_LINES = 512,
    SMS = 4
};
#define SHARED  0x100000
#define WRITTEN 0x200000
#define OWN     0x300000

/* Machine of four SMs, slices and channels: four partitions, or one stack with a cluster per SM. */
#define GPU_OF_FOUR \
    "chiplet.partitions=4;gpu.llc_size=64 KiB;gpu.memory_size=256 MiB;llc.boundary=flush;" \
    "net.source_packets=4;nuba.epoch_cyc=250;nuba.decision_cyc=37;nuba.profiled_sets=64;" \
    "selrep.clusters=4;selrep.epoch_cyc=250;selrep.decision_cyc=37;selrep.profile_cyc=250;" \
    "selrep.period_cyc=1000;selrep.rdd_sets=8;"
#define PARTITIONS \
    GPU_OF_FOUR "llc.organisation=nuba;net.topology=links;net.link_latency_cyc=4;slice_net.topology=" \
                "crossbar;slice_net.width=16 B;" \
                "runtime.placement=first_touch;"
/* The runs are short: one sample suffices for a decision, and directories have no warm-up. */
#define STACK GPU_OF_FOUR "llc.stacks=1;selrep.samples=1;selrep.sigmas=0;selrep.rdd_skip_cold=false;"

/* State that a policy has set. */
struct state {
    bool replicates, is_private;
    uint32_t degree;
};

struct watch {
    struct bed bed;
    struct state state;
    uint64_t decisions;     /* decisions so far */
    uint64_t decided_cyc;   /* lower bound of the cycle of the last decision */
    uint64_t served;        /* requests served by the slices */
    uint64_t served_early;  /* requests served up to the middle of the epoch */
    uint64_t earliest_cyc;  /* first cycle in which the last decision may be in force */
    uint32_t changes;       /* changes of the state */
    uint32_t replica_count; /* replicas found by all checks */
};

static struct state state_of(const struct system *g)
{
    const struct organisation *o = g->organisations;
    const struct organisation_state *s = organisation_in_force(o);
    return (struct state){s->replicate, s->is_private, s->degree};
}

static uint64_t decisions_of(const struct system *g)
{
    return (g->mdr ? g->mdr->stats.epochs : 0) + (g->replication ? g->replication->stats.epochs : 0);
}

static uint64_t requests_of(const struct system *g)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < g->slice_count; k++)
        sum += slice_stats(g->slices[k])->requests + slice_stats(g->slices[k])->past;
    return sum;
}

/* ---- paths ---- */

/* Follows a request from its SM to memory. Returns the number of slices that may allocate its line. */
static uint32_t slices_of(const struct organisation *o, const struct request *r, uint32_t sm,
                          uint32_t places[2])
{
    uint32_t count = 0, here = path_first(path_routes_of(&o->path, sm), r);
    const struct path_rules *const rules = path_rules_at(&o->path, engine_tick(o->engine));
    for (uint32_t hops = 0;; hops++) {
        assert_true(here < SMS && hops < 2);
        const struct path_rule *const rule = path_rule_of(rules, r, here);
        if (rule->allocate) places[count++] = here;
        if (rule->next == PATH_TO_MEMORY) return count;
        here = r->home.slice;
    }
}

static void writable_lines_have_one_slice(const struct system *g)
{
    const struct organisation *o = g->organisations;
    for (uint32_t kind = 0; kind < REQUEST_WALK; kind++)
        for (uint32_t read_only = 0; read_only < 2; read_only++)
            for (uint32_t n = 0; n < SMS * SMS; n++) {
                const uint16_t home = (uint16_t)(n % SMS);
                const struct request r = {.kind = (uint8_t)kind,
                                          .flags = read_only ? REQUEST_READ_ONLY : 0,
                                          .home = {.slice = home, .channel = home}};
                uint32_t at_slices[2] = {0};
                const uint32_t places = slices_of(o, &r, n / SMS, at_slices);
                const bool atomic = kind == REQUEST_ATOMIC || kind == REQUEST_REDUCTION;
                if (kind == REQUEST_READ && read_only) continue;
                if (o->state[0].is_private && !atomic) continue; /* write-through: memory is up to date */
                assert_int_equal(places, 1);
                assert_int_equal(at_slices[0], home);
            }
}

/* ---- contents of slices ---- */

static struct home home_of(const struct system *g, uint64_t address)
{
    return mmu_home(g->mmus[0], 0, 0, address >> LINE_LOG2);
}

/* Counts the replicas of these lines in slices other than their home. A replica must not be dirty.
 * *used: lines found in slices. */
static uint32_t replicas_of(const struct system *g, uint64_t from, uint32_t lines, uint32_t *used)
{
    uint32_t replicas = 0;
    for (uint32_t n = 0; n < lines; n++) {
        const struct home h = home_of(g, from + (uint64_t)n * LINE_BYTES);
        for (uint32_t k = 0; k < g->slice_count; k++) {
            const struct slice *s = g->slices[k];
            const uint32_t at_line = tags_find(&s->tags, slice_set_of(s->spec, h.line), h.line);
            if (at_line == TAGS_NONE) continue;
            ++*used;
            replicas += k != h.slice;
            if (k != h.slice) assert_true(!(s->lines[at_line].dirty[0] | s->lines[at_line].dirty[1]));
        }
    }
    return replicas;
}

/* Counts the replicas of all lines. Slices must hold no other lines. */
static uint32_t count_replicas(const struct system *g)
{
    uint32_t used = 0, held = 0;
    const uint32_t shared = replicas_of(g, SHARED, SHARED_LINES, &used);
    const uint32_t written = replicas_of(g, WRITTEN, WRITTEN_LINES, &used);
    const uint32_t own = replicas_of(g, OWN, SMS * OWN_LINES, &used);
    for (uint32_t k = 0; k < g->slice_count; k++) held += slice_lines_used(g->slices[k]);
    assert_int_equal(used, held);
    if (!g->organisations->state[0].is_private) assert_int_equal(written, 0);
    return shared + written + own;
}

/* Counts replicas during a run. Writable lines must have no replica at any time. */
static void expect_replicas(struct watch *w)
{
    const struct system *g = w->bed.system;
    uint32_t used = 0;
    w->replica_count += replicas_of(g, SHARED, SHARED_LINES, &used);
    const uint32_t written = replicas_of(g, WRITTEN, WRITTEN_LINES, &used);
    if (!g->organisations->state[0].is_private && !quiesce_stops(&g->control, QUIESCE_ALL))
        assert_int_equal(written, 0);
}

/* ---- run with checks ---- */

/* Checks the changes between the last check and now. */
static void check_state(struct watch *w, uint64_t last, uint64_t now)
{
    const struct system *g = w->bed.system;
    const struct state s = state_of(g);
    const uint64_t decisions = decisions_of(g);
    if (decisions != w->decisions) {
        assert_int_equal(decisions, w->decisions + 1);
        assert_true(now >= EPOCH);
        if (w->decisions) assert_true(now / EPOCH > w->decided_cyc / EPOCH); /* one per epoch */
        w->decisions = decisions;
        w->decided_cyc = last + 1;
        /* the decision for an epoch that ended without requests comes later and is in force at once */
        const bool late = now % EPOCH >= LATENCY || w->served == w->served_early;
        w->earliest_cyc = late ? last + 1 : now / EPOCH * EPOCH + LATENCY;
    }
    w->served = requests_of(g);
    if (last % EPOCH < EPOCH / 2 && now % EPOCH >= EPOCH / 2) w->served_early = w->served;
    assert_true(s.degree >= 1 && s.degree <= SMS && (s.degree & (s.degree - 1)) == 0);
    if (s.replicates == w->state.replicates && s.is_private == w->state.is_private &&
        s.degree == w->state.degree)
        return;
    if (!w->decisions) fail_msg("a change at cycle %llu without a decision", (unsigned long long)now);
    if (now < w->earliest_cyc || (now == w->decided_cyc && now == last + 1))
        fail_msg("in force at cycle %llu, decided at %llu", (unsigned long long)now,
                 (unsigned long long)w->decided_cyc);
    w->state = s;
    w->changes++;
    writable_lines_have_one_slice(g);
}

/* Next cycle of a check: every cycle from the end of an epoch until its decision may be in force, else
 * every CHECK_CYC cycles. */
static uint64_t next_check_cyc(const struct watch *w, uint64_t now)
{
    uint64_t next = now % EPOCH <= LATENCY + 1 ? now + 1 : now / CHECK_CYC * CHECK_CYC + CHECK_CYC;
    const uint64_t due_cyc = epochs_due(&w->bed.system->control.epochs);
    return due_cyc > now && due_cyc < next ? due_cyc : next;
}

static uint64_t step(struct watch *w, uint64_t last)
{
    struct system *g = w->bed.system;
    const uint64_t now = next_check_cyc(w, last);
    (void)engine_run(g->engine, now);
    if (now >= epochs_due(&g->control.epochs)) control_run_epochs(&g->control, now);
    check_state(w, last, now);
    if (now % CHECK_CYC == 0) expect_replicas(w);
    return now;
}

static void run(struct watch *w, const struct bed_op *ops, uint32_t warps, uint64_t blocks)
{
    struct bed *b = &w->bed;
    struct system *g = b->system;
    bed_begin(b, ops, warps, blocks);
    epochs_kernel_begins(&g->control.epochs, system_now(g), &(struct launch_facts){.key = 1});
    uint64_t now = system_now(g);
    while (!b->over) now = step(w, now);
    bed_finish(b);
    while (quiesce_stops(&g->control, QUIESCE_ALL))
        now = step(w, now); /* time advances even if no event is due */
    bed_settle(b);
    epochs_kernel_leaves(&g->control.epochs, system_now(g), NULL);
}

static void count_down(void *slices) { --*(uint32_t *)slices; }

/* Performs the pass of a kernel boundary. */
static void end_kernel(struct watch *w)
{
    struct system *g = w->bed.system;
    const enum llc_boundary how = organisation_boundary(g->organisations);
    w->replica_count += count_replicas(g);
    if (how != llc_boundary_keep) {
        uint32_t busy = g->slice_count;
        organisation_start_pass(g->organisations);
        if (how == llc_boundary_flush) mdr_flush(g->mdr);
        for (uint32_t k = 0; k < g->slice_count; k++) slice_flush(g->slices[k], how, true, count_down, &busy);
        bed_settle(&w->bed);
        assert_int_equal(busy, 0);
    }
    if (how == llc_boundary_keep) organisation_skip_pass(g->organisations);
    assert_int_equal(count_replicas(g), 0);
}

/* ---- traffic ---- */

/* All SMs read the same read-only lines repeatedly, and write to other shared lines. */
static const struct bed_op shares[] = {
    BED_LOAD(SHARED, 1, .uniform = true, .scatter_lines = SHARED_LINES,
             .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
    BED_LOAD(SHARED, 2, .uniform = true, .scatter_lines = SHARED_LINES,
             .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
    BED_LOAD(SHARED, 3, .uniform = true, .scatter_lines = SHARED_LINES,
             .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
    BED_LOAD(WRITTEN, 4, .uniform = true, .scatter_lines = WRITTEN_LINES, .flags = WARP_F_STRONG),
    BED_USE(1),
    BED_USE(2),
    BED_USE(3),
    BED_STORE(WRITTEN, 4, .uniform = true, .scatter_lines = WRITTEN_LINES),
    BED_MEMORY(ATOMIC, WRITTEN, 5, BED_NO_REG, .mask = 1, .scatter_lines = WRITTEN_LINES),
    BED_USE(5),
    BED_END};
/* SMs read more read-only lines than the LLC holds, each once: replicas would only evict other lines. */
static const struct bed_op streams[] = {
    BED_LOAD(OWN, 1, .uniform = true, .scatter_lines = (uint64_t)SMS * OWN_LINES,
             .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
    BED_LOAD(OWN, 2, .uniform = true, .scatter_lines = (uint64_t)SMS * OWN_LINES,
             .flags = WARP_F_READ_ONLY | WARP_F_STRONG),
    BED_USE(1), BED_USE(2), BED_END};
static const struct bed_op arithmetic[] = {BED_ARITH(INT, 1, 1), BED_ARITH(INT, 1, 1), BED_ARITH(INT, 1, 1),
                                           BED_END};

static void place_pages(struct bed *b)
{
    for (uint32_t k = 0; k < SMS; k++) {
        bed_touch(b, k, SHARED + (uint64_t)k * SHARED_LINES / SMS * LINE_BYTES, 1);
        bed_touch(b, k, OWN + (uint64_t)k * OWN_LINES * LINE_BYTES, OWN_LINES * LINE_BYTES);
    }
    bed_touch(b, 1, SHARED, SHARED_LINES * LINE_BYTES);
    bed_touch(b, 2, WRITTEN, WRITTEN_LINES * LINE_BYTES);
}

/* ---- the contract ---- */

static bool is_policy_group(const char *group) { return !strcmp(group, "nuba") || !strcmp(group, "selrep"); }

static void check_ratios_and_predictions(const struct bed *b, const struct stats *s)
{
    const struct config *c = &b->machine.config;
    for (size_t k = 0; k < ratio_row_count; k++) {
        const struct ratio_row *r = &ratio_rows[k];
        if (is_policy_group(r->group_name) && !*r->unit && r->numerator(s) > r->denominator(s))
            fail_msg("%s.%s is above 1", r->group_name, r->name);
    }
    assert_true(s->nuba.changes <= s->nuba.epochs && s->nuba.epochs_on <= s->nuba.epochs);
    const uint64_t peak = (uint64_t)((double)c->llc.port * (double)c->clock.llc * SMS * 1e-6);
    assert_true(s->nuba.predicted_without <= peak * s->nuba.epochs);
    assert_true(s->nuba.predicted_with <= peak * s->nuba.epochs);
    assert_true(s->selrep.predicted_mb_per_s_1 <= peak * s->selrep.epochs);
    assert_true(s->selrep.predicted_mb_per_s_2 <= peak * s->selrep.epochs);
    assert_true(s->selrep.predicted_mb_per_s_4 <= peak * s->selrep.epochs);
}

/* Checks the laws of the LLC and of the policies. The testbed has no applications. */
static void check_laws(const struct stats *s)
{
    uint32_t held = 0;
    for (size_t k = 0; k < law_row_count; k++) {
        const struct law_row *r = &law_rows[k];
        if (strcmp(r->group_name, "llc") && !is_policy_group(r->group_name)) continue;
        if (r->left(s) != r->right(s)) fail_msg("law %s.%s is broken", r->group_name, r->name);
        held++;
    }
    assert_true(held >= 2);
}

/* Runs epochs without requests. They must not change the state, for any earlier decision. Exception: a
 * private organisation may return to shared in order to profile. */
static void run_idle_epochs(struct watch *w, bool replicas)
{
    const struct system *g = w->bed.system;
    struct organisation *o = g->organisations;
    run(w, arithmetic, 8, 72); /* ends the epoch of the earlier requests */
    struct organisation_state s = *organisation_in_force(o);
    if (g->mdr) s.replicate = replicas;
    const bool chosen = g->replication && g->replication->due && !g->replication->config->selrep.degree;
    if (chosen)
        s.degree = g->replication->kernels[0].degree =
            replicas ? 2 : 1; /* all runs have the same kernel key */
    organisation_set(o, &s, 0);
    o->replicated |= replicas;
    w->state = state_of(g);
    const uint32_t before = w->changes;
    const bool is_private = w->state.is_private;
    run(w, arithmetic, 8, 160);
    assert_true(w->bed.end_cyc - w->bed.start_cyc > 4 * EPOCH);
    if (!is_private) assert_int_equal(w->changes, before);
}

/* Runs the workload with all checks. Returns the statistics without those of the simulator itself. */
static struct stats run_workload(const char *settings, const char *order, struct watch *w)
{
    char all[1024];
    (void)snprintf(all, sizeof all, "%s;sim.visit_order=%s", settings, order);
    memset(w, 0, sizeof *w);
    bed_open(&w->bed, all);
    place_pages(&w->bed);
    w->state = state_of(w->bed.system);
    writable_lines_have_one_slice(w->bed.system);
    run_idle_epochs(w, false);
    run(w, shares, 8, 40);
    end_kernel(w);
    run_idle_epochs(w, true);
    run(w, streams, 8, 60);
    end_kernel(w);
    const struct stats s = bed_stats(&w->bed);
    check_laws(&s);
    check_ratios_and_predictions(&w->bed, &s);
    assert_int_equal(s.nuba.changes <= w->decisions, 1);
    struct stats out = s;
    memset(&out.engine, 0, sizeof out.engine);
    bed_close(&w->bed);
    return out;
}

struct tally {
    uint32_t rows, deciding, changing, replicating;
};

/* Checks the contract with both evaluation orders. False: the policy makes no decisions. */
static bool contract(const char *settings, struct tally *tally)
{
    struct watch w;
    const struct stats first = run_workload(settings, "fixed", &w);
    tally->rows++;
    tally->deciding += w.decisions > 0;
    tally->changing += w.changes > 0;
    tally->replicating += w.replica_count > 0;
    const bool decides = w.decisions > 0;
    if (decides) assert_true(w.decisions >= 4);
    const struct stats shuffled = run_workload(settings, "shuffled", &w);
    assert_memory_equal(&first, &shuffled, sizeof first);
    return decides;
}

BED_TEST(every_policy_between_partitions_keeps_the_contract)
{
    struct tally tally = {0};
    for (uint32_t row = 0; row < nuba_copies_count; row++)
        for (uint32_t n = 0; n < mdr_model_count * mdr_profiler_count; n++) {
            char settings[1024];
            (void)snprintf(
                settings, sizeof settings, PARTITIONS "nuba.replication=%s;nuba.model=%s;nuba.profiler=%s",
                choice_name(CHOICES_nuba_copies, row), choice_name(CHOICES_mdr_model, n / mdr_profiler_count),
                choice_name(CHOICES_mdr_profiler, n % mdr_profiler_count));
            if (!contract(settings, &tally)) break; /* no decisions: model and profiler have no effect */
        }
    /* the traffic is sufficient: mdr changes its decision with every model and profiler */
    assert_true(tally.deciding >= mdr_model_count * mdr_profiler_count);
    assert_int_equal(tally.changing, tally.deciding);
    assert_int_equal(tally.replicating, tally.deciding + 1); /* full */
}

struct candidate {
    struct machine machine;
    const char *settings;
};

static void configure(void *arg)
{
    struct candidate *o = arg;
    char all[1024];
    (void)snprintf(all, sizeof all, "%s", o->settings);
    machine_load_text(&o->machine, "testbed", bed_machine, strlen(bed_machine));
    for (char *rest = all, *one; (one = strsep(&rest, ";"));) machine_set(&o->machine, one);
    machine_finish(&o->machine, &system_rules);
}

/* True if the settings satisfy all rules. */
static bool is_valid_machine(const char *settings)
{
    struct candidate o = {.settings = settings};
    struct diag d;
    diag_init(&d);
    machine_init(&o.machine);
    const bool is_one = diag_run(&d, configure, &o) == DIAG_NONE;
    machine_free(&o.machine);
    diag_clear(&d);
    return is_one;
}

/* The rules refuse a policy whose decisions have no effect. Every other policy must replicate lines. */
BED_TEST(every_policy_in_a_stack_keeps_the_contract)
{
    static const enum llc_organisation organisations[] = {llc_organisation_selective,
                                                          llc_organisation_adaptive};
    struct tally tally = {0};
    uint32_t refused = 0;
    for (uint32_t row = 0; row < replication_policy_count; row++)
        for (uint32_t form = 0; form < rdd_form_count; form++)
            for (size_t k = 0; k < 2; k++) {
                char settings[1024];
                (void)snprintf(
                    settings, sizeof settings, STACK "selrep.policy=%s;selrep.rdd=%s;llc.organisation=%s",
                    choice_name(CHOICES_replication_policy, row), choice_name(CHOICES_rdd_form, form),
                    choice_name(CHOICES_llc_organisation, organisations[k]));
                if (is_valid_machine(settings)) {
                    (void)contract(settings, &tally);
                    continue;
                }
                const bool degrees = row == replication_policy_bandwidth;
                assert_int_equal(organisations[k],
                                 degrees ? llc_organisation_adaptive : llc_organisation_selective);
                refused++;
            }
    assert_int_equal(refused, 2 * rdd_form_count);
    assert_true(tally.rows >= 2 * rdd_form_count);
    assert_int_equal(tally.deciding, tally.rows);
    assert_int_equal(tally.changing, tally.rows);
    assert_int_equal(tally.replicating, tally.rows);
}

/* With a fixed degree, the policy evaluates epochs, the degree never changes, and the contract holds. */
BED_TEST(fixed_degrees_keep_the_contract)
{
    for (uint32_t degree = 1; degree <= SMS; degree *= 2) {
        struct tally tally = {0};
        char settings[1024];
        (void)snprintf(settings, sizeof settings, STACK "llc.organisation=selective;selrep.degree=%u",
                       degree);
        (void)contract(settings, &tally);
        assert_int_equal(tally.deciding, 1);
        assert_int_equal(tally.changing, 0);
        assert_int_equal(tally.replicating, degree > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_between_partitions_keeps_the_contract),
        cmocka_unit_test(every_policy_in_a_stack_keeps_the_contract),
        cmocka_unit_test(fixed_degrees_keep_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
