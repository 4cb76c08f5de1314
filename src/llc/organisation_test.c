/* The contract of an LLC organisation, over every row of organisation.def and several machine shapes: path
 * tables equal formulas that are written down here independently, and paths end in memory. */
#include "llc/organisation.h"
#include "system/rules.h"
#include "system_testbed.h"

enum { SETTINGS_MAX = 6 };

static const struct shape {
    const char *machine, *settings[SETTINGS_MAX];
} shapes[] = {
    {"uba-mem", {0}},
    {"mcm-uba", {0}},
    {"uba-mem", {"llc.organisation=numa"}},
    {"numa-gpu", {0}},
    {"ladm-rr", {0}},
    {"uba-sm", {0}},
    {"a100", {0}},
    {"nuba", {0}},
    {"nuba-fullrep", {"system.gpus=2"}},
    {"mcm-nuba", {0}},
    {"mcm-nuba", {"partition.sms=3", "partition.slices=4"}},
    {"selrep-private", {0}},
    {"selrep-private", {"selrep.clusters=4", "net.first_routers=4"}},
    {"selrep-adaptive", {0}},
    {"selrep", {0}},
    {"selrep", {"selrep.degree=4"}},
    {"selrep", {"selrep.clusters=4", "net.first_routers=4", "selrep.degree=2"}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* One request of each class. */
static const struct request samples[PATH_CLASSES] = {
    [PATH_LOAD] = {.kind = REQUEST_READ},
    [PATH_LOAD_RO] = {.kind = REQUEST_READ, .flags = REQUEST_READ_ONLY},
    [PATH_STORE] = {.kind = REQUEST_WRITE},
    [PATH_ATOMIC] = {.kind = REQUEST_ATOMIC},
};

struct bench {
    struct machine machine;
    struct arena arena;
    const struct config *c;
    struct organisation *chiplets;
    uint32_t count, sms, slices; /* chiplets; SMs and slices of the machine */
};

static void bench_open(struct bench *b, const struct shape *shape)
{
    machine_init(&b->machine);
    machine_load(&b->machine, shape->machine);
    for (uint32_t k = 0; k < SETTINGS_MAX && shape->settings[k]; k++)
        machine_set(&b->machine, shape->settings[k]);
    machine_finish(&b->machine, &system_rules);
    arena_init(&b->arena);
    b->c = &b->machine.config;
    b->count = config_chiplets(b->c);
    b->sms = (uint32_t)config_sms(b->c);
    b->slices = (uint32_t)config_slices(b->c);
    b->chiplets = ARENA_ARRAY(&b->arena, struct organisation, b->count);
    for (uint32_t k = 0; k < b->count; k++)
        organisation_init(&b->chiplets[k], &b->arena, b->c, k, NULL, NULL);
}

static void bench_close(struct bench *b)
{
    arena_free(&b->arena);
    machine_free(&b->machine);
}

static struct organisation *of_sm(struct bench *b, uint32_t sm)
{
    return &b->chiplets[sm / (b->sms / b->count)];
}

/* ---- states that policies may set, by number; false: there is no such number ---- */

static bool state_numbered(const struct config *c, uint32_t number, struct organisation_state *s)
{
    *s = (struct organisation_state){.degree = 1};
    switch (c->llc.organisation) {
    case llc_organisation_memory_side:
    case llc_organisation_numa:
    case llc_organisation_sm_side: return number < 1;
    case llc_organisation_private: s->is_private = true; return number < 1;
    case llc_organisation_adaptive: s->is_private = number % 2; return number < 4; /* there and back */
    case llc_organisation_selective:
        s->degree = 1u << number;
        return s->degree <= config_slices_per_gpu(c) / c->llc.stacks;
    case llc_organisation_nuba: s->replicate = number % 2; return number < 4;
    case llc_organisation_count: break;
    }
    fail_msg("a new organisation needs its states and a formula here");
    return false;
}

static void set_all(struct bench *b, const struct organisation_state *s)
{
    for (uint32_t k = 0; k < b->count; k++) organisation_set(&b->chiplets[k], s, 0);
}

/* ---- formulas: division and remainder, no masks ---- */

/* Slice of the home's stack for the cluster of an SM, with so many replicas per stack. */
static uint32_t clustered(const struct config *c, uint32_t home, uint32_t sm, uint32_t replicas)
{
    const uint32_t stack = (uint32_t)config_slices_per_gpu(c) / c->llc.stacks, group = stack / replicas;
    const uint32_t cluster = sm / ((uint32_t)config_sms_per_gpu(c) / c->selrep.clusters);
    const uint32_t own = cluster * stack / c->selrep.clusters; /* in the stack */
    return home / stack * stack + own / group * group + home % group;
}

static uint32_t expected_first(const struct config *c, const struct organisation_state *s, uint32_t home,
                               uint32_t sm, uint32_t class)
{
    const uint32_t per_chiplet = c->chiplet.partitions * c->partition.slices;
    const uint32_t stack = c->llc.stacks ? (uint32_t)config_slices_per_gpu(c) / c->llc.stacks : 0;
    switch (c->llc.organisation) {
    case llc_organisation_memory_side: return home;
    case llc_organisation_numa:
    case llc_organisation_sm_side:
        return sm / (c->chiplet.partitions * c->partition.sms) * per_chiplet + home % per_chiplet;
    case llc_organisation_nuba:
        return sm / c->partition.sms * c->partition.slices + home % c->partition.slices;
    case llc_organisation_private:
    case llc_organisation_adaptive:
        return s->is_private && class != PATH_ATOMIC ? clustered(c, home, sm, stack) : home;
    case llc_organisation_selective: return class == PATH_LOAD_RO ? clustered(c, home, sm, s->degree) : home;
    case llc_organisation_count: break;
    }
    return UINT32_MAX;
}

static struct path_rule expected_away(const struct config *c, const struct organisation_state *s,
                                      uint32_t class)
{
    const bool load = class == PATH_LOAD || class == PATH_LOAD_RO;
    const bool replica = class == PATH_LOAD_RO && s->replicate;
    switch (c->llc.organisation) {
    case llc_organisation_numa:
    case llc_organisation_sm_side: return (struct path_rule){PATH_TO_HOME, true, load};
    case llc_organisation_nuba: return (struct path_rule){PATH_TO_HOME, replica, replica};
    case llc_organisation_memory_side:
    case llc_organisation_private:
    case llc_organisation_adaptive:
    case llc_organisation_selective:
    case llc_organisation_count: break;
    }
    return (struct path_rule){PATH_TO_MEMORY, true, true};
}

static void assert_rule(const struct path_rule *got, struct path_rule expected)
{
    assert_int_equal(got->next, expected.next);
    assert_int_equal(got->lookup, expected.lookup);
    assert_int_equal(got->allocate, expected.allocate);
}

/* ---- tests ---- */

static void over_every_state(void (*test)(struct bench *b, const struct organisation_state *s))
{
    for (uint32_t k = 0; k < SHAPES; k++) {
        struct bench b;
        struct organisation_state s;
        bench_open(&b, &shapes[k]);
        for (uint32_t n = 0; state_numbered(b.c, n, &s); n++) {
            set_all(&b, &s);
            test(&b, &s);
        }
        bench_close(&b);
    }
}

BED_TEST(every_organisation_has_a_shape)
{
    bool found[llc_organisation_count] = {false};
    for (uint32_t k = 0; k < SHAPES; k++) {
        struct bench b;
        bench_open(&b, &shapes[k]);
        found[b.c->llc.organisation] = true;
        bench_close(&b);
    }
    for (uint32_t n = 0; n < llc_organisation_count; n++) assert_true(found[n]);
}

/* In range, and in the SM's chiplet or partition where networks lead to no other slice. */
static void routes_are_those_of(struct bench *b, const struct organisation_state *s)
{
    const uint32_t sms = b->sms / b->count, slices = b->slices / b->count;
    for (uint32_t sm = 0; sm < b->sms; sm++)
        for (uint32_t class = 0; class < PATH_CLASSES; class ++)
            for (uint32_t home = 0; home < b->slices; home++) {
                struct request r = samples[class];
                r.home.slice = (uint16_t)home;
                const uint32_t first = path_first(path_routes_of(&of_sm(b, sm)->path, sm), &r);
                assert_int_equal(first, expected_first(b->c, s, home, sm, class));
                assert_true(first < b->slices);
                if (config_slices_forward(b->c)) assert_int_equal(first / slices, sm / sms);
                if (config_slices_by_partition(b->c))
                    assert_int_equal(first / b->c->partition.slices, sm / b->c->partition.sms);
            }
}

BED_TEST(the_first_slice_is_that_of_the_formula) { over_every_state(routes_are_those_of); }

static void rules_are_those_of(struct bench *b, const struct organisation_state *s)
{
    for (uint32_t k = 0; k < b->count; k++) {
        const struct path *const p = &b->chiplets[k].path;
        assert_int_equal(p->orders_atomics, s->is_private);
        for (uint32_t n = 0; n < 2; n++)
            for (uint32_t class = 0; class < PATH_CLASSES; class ++) {
                assert_rule(&p->rules[n].away[class], expected_away(b->c, s, class));
                for (uint32_t from = 0; from < 2; from++)
                    assert_rule(&p->rules[n].home[from][class],
                                (struct path_rule){PATH_TO_MEMORY, true, true});
            }
    }
}

BED_TEST(rules_are_those_of_the_table) { over_every_state(rules_are_those_of); }

/* A slice with a network to other slices is needed where a rule forwards, an input stage where one
 * bypasses; a line that may be written is allocated at its home only, unless stores are written through. */
static void paths_of(struct bench *b, const struct organisation_state *s)
{
    for (uint32_t sm = 0; sm < b->sms; sm++)
        for (uint32_t class = 0; class < PATH_CLASSES; class ++)
            for (uint32_t home = 0; home < b->slices; home++) {
                struct request r = samples[class];
                r.home.slice = (uint16_t)home;
                const struct path *const p = &of_sm(b, sm)->path;
                const uint32_t first = path_first(path_routes_of(p, sm), &r);
                const struct path_rule *rule = path_rule_of(path_rules_at(p, 0), &r, first);
                const bool writes = class == PATH_STORE || class == PATH_ATOMIC;
                if (writes && first != home && rule->allocate) assert_true(s->is_private);
                if (rule->next == PATH_TO_HOME) {
                    assert_int_not_equal(first, home);
                    assert_true(config_slices_forward(b->c));
                    r.via = (uint16_t)(first + 1);
                    rule = path_rule_of(path_rules_at(p, 0), &r, home);
                }
                assert_int_equal(rule->next, PATH_TO_MEMORY);
                assert_true(rule->allocate);
            }
}

BED_TEST(every_path_ends_in_memory_after_two_slices_at_most) { over_every_state(paths_of); }

/* before the tick as it was, from the tick on as decided; routes are not touched */
BED_TEST(a_change_at_a_tick_is_visible_from_that_tick_on)
{
    for (uint32_t on = 0; on < 2; on++) {
        struct bench b;
        bench_open(&b, &(struct shape){"mcm-nuba", {0}});
        set_all(&b, &(struct organisation_state){.degree = 1, .replicate = !on});
        const struct organisation_state next = {.degree = 1, .replicate = on};
        for (uint32_t k = 0; k < b.count; k++) {
            const struct path *const p = &b.chiplets[k].path;
            organisation_set(&b.chiplets[k], &next, 1000);
            assert_int_equal(path_rules_at(p, 999)->away[PATH_LOAD_RO].lookup, !on);
            assert_int_equal(path_rules_at(p, 999)->away[PATH_LOAD_RO].allocate, !on);
            assert_int_equal(path_rules_at(p, 1000)->away[PATH_LOAD_RO].lookup, on);
            assert_int_equal(path_rules_at(p, 1000)->away[PATH_LOAD_RO].allocate, on);
            assert_true(b.chiplets[k].replicated);
        }
        routes_are_those_of(&b, &next);
        bench_close(&b);
    }
}

BED_TEST(classes_of_all_kinds)
{
    static const enum path_class expected[REQUEST_KINDS][2] = {
        [REQUEST_READ] = {PATH_LOAD, PATH_LOAD_RO},
        [REQUEST_WRITE] = {PATH_STORE, PATH_STORE},
        [REQUEST_ATOMIC] = {PATH_ATOMIC, PATH_ATOMIC},
        [REQUEST_REDUCTION] = {PATH_ATOMIC, PATH_ATOMIC},
        [REQUEST_WALK] = {PATH_LOAD, PATH_LOAD}};
    for (uint32_t kind = 0; kind < REQUEST_KINDS; kind++)
        for (uint32_t flags = 0; flags < 256; flags++) {
            const struct request r = {.kind = (uint8_t)kind, .flags = (uint8_t)flags};
            assert_int_equal(path_class_of(&r), expected[kind][(flags & REQUEST_READ_ONLY) != 0]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_organisation_has_a_shape),
        cmocka_unit_test(the_first_slice_is_that_of_the_formula),
        cmocka_unit_test(rules_are_those_of_the_table),
        cmocka_unit_test(every_path_ends_in_memory_after_two_slices_at_most),
        cmocka_unit_test(a_change_at_a_tick_is_visible_from_that_tick_on),
        cmocka_unit_test(classes_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
