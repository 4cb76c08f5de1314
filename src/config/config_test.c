/* Units, rows, machine files: every rule of config/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/machine.h"
#include "system/rules.h"

/* ---- units ---- */

static void quantities_are_exact_and_print_back(void **state)
{
    (void)state;
    static const struct {
        enum quantity kind;
        const char *text;
        uint64_t value;
        const char *printed;
    } cases[] = {
        {QUANTITY_BYTES, "6 MiB", 6u << 20, "6 MiB"},
        {QUANTITY_BYTES, "96KiB", 96u << 10, "96 KiB"},
        {QUANTITY_BYTES, "1.5 KiB", 1536, "1536 B"},
        {QUANTITY_BYTES, "0", 0, "0 B"},
        {QUANTITY_RATE, "720 GB/s", 720000000000u, "720 GB/s"},
        {QUANTITY_RATE, "716.8 GB/s", 716800000000u, "716.8 GB/s"},
        {QUANTITY_RATE, "1.433601 TB/s", 1433601000000u, "1433.601 GB/s"},
        {QUANTITY_FREQ, "1.4 GHz", 1400000000u, "1.4 GHz"},
        {QUANTITY_FREQ, "350 MHz", 350000000u, "350 MHz"},
        {QUANTITY_TIME, "20 us", 20000000u, "20 us"},
        {QUANTITY_TIME, "3.9us", 3900000u, "3.9 us"},
        {QUANTITY_PLAIN, "18446744073709551615", UINT64_MAX, "18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0, again = 0;
        const char *why;
        char buf[UNITS_TEXT_MAX];
        assert_true(units_parse(cases[i].text, cases[i].kind, NULL, &value, &why));
        assert_int_equal(value, cases[i].value);
        assert_string_equal(units_print(value, cases[i].kind, buf), cases[i].printed);
        assert_true(units_parse(buf, cases[i].kind, NULL, &again, &why));
        assert_int_equal(again, value);
    }
}

static void wrong_quantities_are_refused(void **state)
{
    (void)state;
    static const struct {
        enum quantity kind;
        const char *text;
    } cases[] = {
        {QUANTITY_BYTES, "6 MB"},
        {QUANTITY_BYTES, "6"},
        {QUANTITY_BYTES, "0.3 B"},
        {QUANTITY_BYTES, "99999999999999999999 B"},
        {QUANTITY_BYTES, "999999999 TiB"},
        {QUANTITY_RATE, "720 GB"},
        {QUANTITY_FREQ, "1.4"},
        {QUANTITY_FREQ, "1.4.0 GHz"},
        {QUANTITY_TIME, "-20 us"},
        {QUANTITY_PLAIN, "12x"},
        {QUANTITY_PLAIN, "0x10"},
        {QUANTITY_PLAIN, ""},
        {QUANTITY_PLAIN, "1.5"},
        {QUANTITY_PLAIN, "3 4"},
        {QUANTITY_PLAIN, "5."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value;
        const char *why = NULL;
        if (units_parse(cases[i].text, cases[i].kind, "cycles", &value, &why))
            fail_msg("accepted '%s'", cases[i].text);
        assert_non_null(why);
    }
}

/* ---- rows ---- */

static void check_rows(void *arg)
{
    (void)arg;
    struct config c;
    char why[512], buf[UNITS_TEXT_MAX];
    config_defaults(&c);
    for (unsigned i = 0; i < PARAM_COUNT; i++) {
        const struct param_row *row = &param_rows[i];
        struct config again = c;
        const char *limits[] = {param_print(&c, (enum param_idx)i, buf), row->min_text, row->max_text};
        for (int k = 0; k < 3; k++)
            if (*limits[k] && !param_parse(&again, (enum param_idx)i, limits[k], why, sizeof why))
                fail_msg("row %s.%s: %s", row->section, row->name, why);
        assert_true(strlen(row->help) > 10);
        assert_int_equal(param_find(row->section, row->name), i);
    }
    uint32_t rows = 0;
    for (unsigned s = 0; s < PARAM_SECTION_COUNT; s++) {
        assert_int_equal(param_sections[s].first_idx, rows);
        rows += param_sections[s].count;
    }
    assert_int_equal(rows, PARAM_COUNT);
}

static void every_row_has_a_valid_default_and_limits(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, check_rows, NULL), DIAG_NONE);
    diag_clear(&d);
}

/* ---- machines ---- */

struct scratch {
    char folder[64];
    struct machine machine;
    const char *load, *set[4];
};

static int make_scratch(void **state)
{
    struct scratch *s = calloc(1, sizeof *s);
    strcpy(s->folder, "/tmp/atoll-config-XXXXXX");
    if (!mkdtemp(s->folder)) return -1;
    *state = s;
    return 0;
}

static int drop_scratch(void **state)
{
    struct scratch *s = *state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", s->folder);
    const int status = system(command);
    free(s);
    return status;
}

static char *write_file(struct scratch *s, const char *name, const void *bytes, size_t len)
{
    static char path[256]; /* tests only */
    (void)snprintf(path, sizeof path, "%s/%s", s->folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    return path;
}

static void build(void *arg)
{
    struct scratch *s = arg;
    machine_init(&s->machine);
    if (s->load) machine_load(&s->machine, s->load);
    for (int i = 0; i < 4 && s->set[i]; i++) machine_set(&s->machine, s->set[i]);
    machine_finish(&s->machine, &system_rules);
}

/* Builds the machine; expects 'fragment' in the message, or success when it is NULL. */
static void expect(struct scratch *s, const char *fragment)
{
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, build, s);
    if (!fragment && kind != DIAG_NONE) fail_msg("unexpected: %s", d.text);
    if (fragment && (kind != DIAG_MISTAKE || !strstr(d.text, fragment)))
        fail_msg("'%s' not in: %s", fragment, d.text ? d.text : "(no message)");
    diag_clear(&d);
    machine_free(&s->machine);
    memset(s->set, 0, sizeof s->set);
}

static void expect_file(void **state, const char *text, const char *fragment)
{
    struct scratch *s = *state;
    s->load = write_file(s, "m.yaml", text, strlen(text));
    expect(s, fragment);
}

static void a_file_sets_values_and_overrides_win(void **state)
{
    struct scratch *s = *state;
    static const char text[] = "description: test\ngpu:\n  llc_size: 3 MiB\nclock: {sm: 1 GHz}\n";
    s->load = write_file(s, "m.yaml", text, strlen(text));
    s->set[0] = "gpu.llc_size=12 MiB";
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, build, s), DIAG_NONE);
    assert_int_equal(s->machine.config.gpu.llc_size, 12u << 20);
    assert_int_equal(s->machine.config.clock.sm, 1000000000);
    assert_string_equal(s->machine.description, "test");
    machine_free(&s->machine);
    diag_clear(&d);
}

static void mistakes_in_files_show_their_place(void **state)
{
    expect_file(state, "gpu:\n  lcl_size: 3 MiB\n",
                "m.yaml:2:3: unknown parameter 'gpu.lcl_size'; did you mean 'gpu.llc_size'?\n"
                "      lcl_size: 3 MiB\n      ^~~~~~~~\n");
    expect_file(state, "gpuu:\n  llc_size: 3 MiB\n",
                "m.yaml:1:1: unknown section 'gpuu'; did you mean 'gpu'?");
    expect_file(state, "system:\n  llc_size: 3 MiB\n", "did you mean 'gpu.llc_size'?");
    expect_file(state, "gpu:\n  llc_size: 3 MB\n",
                "m.yaml:2:13: gpu.llc_size = '3 MB' is not a size in B, KiB");
    expect_file(state, "system:\n  gpus: 0\n", "out of range: 1 to 64 GPUs");
    expect_file(state, "system:\n  gpus: 99999999999\n", "out of range");
    expect_file(state, "sim:\n  isa: avx3\n",
                "is none of: automatic, plain, avx2, avx512; did you mean 'avx2'?");
    expect_file(state, "gpu:\n  llc_size: 3 MiB\n  llc_size: 4 MiB\n",
                "m.yaml:3:3: 'gpu.llc_size' is given twice");
    expect_file(state, "gpu:\n  chiplets: 1\ngpu:\n  chiplets: 2\n",
                "m.yaml:3:1: section 'gpu' is given twice");
    expect_file(state, "gpu:\n  llc_size:\n", "'llc_size' has no value");
    expect_file(state, "gpu:\n  llc_size: [1, 2]\n", "takes one value, not a list");
    expect_file(state, "gpu:\n  llc_size: {a: {b: {c: 1}}}\n", "takes one value, not a mapping");
    expect_file(state, "gpu: 3\n", "section 'gpu' takes 'key: value' lines");
    expect_file(state, "- a\n- b\n", "a machine file consists of sections");
    expect_file(state, "gpu: &x\n  chiplets: 1\n", "anchors and aliases");
    expect_file(state, "gpu: *x\n", "anchors and aliases");
    expect_file(state, "gpu:\n  chiplets: 1\n---\ngpu:\n  chiplets: 2\n", "holds one document");
    expect_file(state, "gpu:\n\t chiplets: 1\n", "not valid YAML");
    expect_file(state, "gpu: {chiplets: 1\n", "not valid YAML");
    expect_file(state, "{[a]: 1}\n", "a key must be a plain name");
    expect_file(state, "", "the machine file is empty");
    expect_file(state, "# only a comment\n", "the machine file is empty");
    expect_file(state, "gpu:\n  chiplets: 0\n  lcl_size: 1\n", "unknown parameter"); /* both are shown */
}

static void byte_order_marks_and_crlf_are_fine(void **state)
{
    expect_file(state, "\xef\xbb\xbfgpu:\r\n  chiplets: 2\r\n", NULL);
}

static void hostile_files_are_refused_kindly(void **state)
{
    struct scratch *s = *state;
    static unsigned char binary[4096];
    for (size_t i = 0; i < sizeof binary; i++) binary[i] = (unsigned char)(i * 7 + 1);
    s->load = write_file(s, "m.yaml", binary, sizeof binary);
    expect(s, "m.yaml");
    static char deep[200001];
    memset(deep, '[', 200000);
    s->load = write_file(s, "m.yaml", deep, 200000);
    expect(s, "m.yaml");
    static char huge[(1 << 20) + 2];
    memset(huge, '#', sizeof huge);
    s->load = write_file(s, "m.yaml", huge, sizeof huge);
    expect(s, "a machine file has at most 1048576");
    s->load = "/nonexistent/m.yaml";
    expect(s, "cannot open machine file '/nonexistent/m.yaml': No such file or directory");
    s->load = "/tmp/";
    expect(s, "is a directory");
    s->load = "/dev/null";
    expect(s, "not a regular file");
    s->load = "uba-men";
    expect(s, "unknown machine 'uba-men'; did you mean 'uba-mem'?");
}

static void a_layer_scales_the_machine_before_it(void **state)
{
    struct scratch *s = *state;
    static const char base[] = "gpu: {chiplets: 4, llc_size: 12 MiB}\nchiplet_net: {bandwidth: 180 GB/s}\n";
    static const char half[] = "description: layer\ngpu: {llc_size: /2}\nchiplet_net: {bandwidth: /2}\n";
    static const char child[] = "description: child\nextends: [base.yaml, half.yaml, again.yaml]\n";
    (void)write_file(s, "base.yaml", base, strlen(base));
    (void)write_file(s, "half.yaml", half, strlen(half));
    (void)write_file(s, "again.yaml", half, strlen(half));
    s->load = write_file(s, "child.yaml", child, strlen(child));
    s->set[0] = "gpu.chiplets=/2";
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, build, s), DIAG_NONE);
    assert_int_equal(s->machine.config.gpu.chiplets, 2);
    assert_int_equal(s->machine.config.gpu.llc_size, 3u << 20);
    assert_int_equal(s->machine.config.chiplet_net.bandwidth, 45000000000);
    assert_string_equal(s->machine.description, "child");
    machine_free(&s->machine);
    diag_clear(&d);
    s->set[0] = NULL;
    expect_file(state, "extends: [base]\ngpu: {chiplets: /3}\n", "the present value 1 is no multiple of 3");
    expect_file(state, "gpu: {chiplets: /x}\n", "such as /4 for a quarter of the present value");
    expect_file(state, "gpu: {chiplets: /0}\n", "such as /4 for a quarter of the present value");
    expect_file(state, "extends: [base, nowhere]\n", "m.yaml:1:17: unknown machine 'nowhere'");
}

static void extends_chains_and_cycles_are_found(void **state)
{
    struct scratch *s = *state;
    static const char a[] = "extends: ./b.yaml\n", b[] = "extends: a.yaml\n", self[] = "extends: self.yaml\n";
    static const char child[] = "description: child\nextends: parent.yaml\ngpu: {chiplets: 4}\n";
    static const char parent[] = "description: parent\ngpu: {chiplets: 2, llc_size: 12 MiB}\n";
    (void)write_file(s, "b.yaml", b, strlen(b));
    s->load = write_file(s, "a.yaml", a, strlen(a));
    expect(s, "extends itself through other machines");
    s->load = write_file(s, "self.yaml", self, strlen(self));
    expect(s, "self.yaml:1:10: 'self.yaml' extends itself");
    (void)write_file(s, "parent.yaml", parent, strlen(parent));
    s->load = write_file(s, "child.yaml", child, strlen(child));
    struct diag d;
    diag_init(&d);
    assert_int_equal(diag_run(&d, build, s), DIAG_NONE);
    assert_int_equal(s->machine.config.gpu.chiplets, 4);
    assert_int_equal(s->machine.config.gpu.llc_size, 12u << 20);
    assert_string_equal(s->machine.description, "child");
    machine_free(&s->machine);
    expect_file(state, "gpu: {chiplets: 2}\nextends: base\n", "'extends' must stand before the sections");
    expect_file(state, "extends: nowhere\n", "m.yaml:1:10: unknown machine 'nowhere'");
}

static void broken_rules_point_at_the_value(void **state)
{
    struct scratch *s = *state;
    expect_file(state, "gpu:\n  llc_size: 1025 B\n",
                "m.yaml:2:13: gpu.llc_size must divide evenly among the LLC slices");
    expect_file(
        state, "gpu:\n  llc_size: 6000 KiB\n",
        "m.yaml:2:13: gpu.llc_size gives a slice no whole number of sets: choose a multiple of slices x "
        "llc.ways x 128 B, or other llc.ways (gpu.llc_size is 6000 KiB; nearest: 5888 KiB, 6016 KiB)");
    expect_file(
        state, "l1:\n  size: 64 KiB\n",
        "m.yaml:2:9: l1.size is no whole number of sets: choose a multiple of l1.ways x 128 B, or other "
        "l1.ways (l1.size is 64 KiB; nearest: 65280 B, 66048 B)");
    expect_file(
        state, "mmu:\n  l2_entries: 511\n",
        "m.yaml:2:15: mmu.l2_entries is no whole number of sets: choose a multiple of mmu.l2_ways, or "
        "other mmu.l2_ways (mmu.l2_entries is 511; nearest: 496, 512)");
    expect_file(state, "mmu: {l2_ways: 3}\n", "(mmu.l2_entries is 512, its default; nearest: 510, 513)");
    expect_file(
        state, "nuba: {replication: mdr}\nllc: {boundary: flush}\n",
        "m.yaml:1:21: nuba.replication needs a nuba LLC: set llc.organisation to nuba, or nuba.replication "
        "to none");
    expect_file(state, "system: {gpus: 2}\nllc: {organisation: numa}\n",
                "a numa LLC keeps stale lines of other chiplets unless llc.boundary is flush, replicas or "
                "drop_remote (llc.boundary is keep, its default)");
    expect_file(
        state, "extends: selrep\nllc:\n  organisation: adaptive\n",
        "an adaptive LLC is shared or private as a whole, but this policy chooses a replication degree: no "
        "line would be replicated. Set selrep.policy to all_or_nothing, or llc.organisation to selective "
        "(selrep.policy is bandwidth)");
    expect_file(
        state, "extends: selrep\nselrep: {policy: all_or_nothing}\n",
        "m.yaml:2:18: a selective LLC has a replication degree, but this policy chooses shared or private: "
        "no line would be replicated. Set selrep.policy to bandwidth, selrep.degree to a fixed degree, or "
        "llc.organisation to adaptive");
    s->load = NULL;
    s->set[0] = "chiplet.partitions=1024";
    s->set[1] = "gpu.chiplets=64";
    s->set[2] = "system.gpus=2";
    expect(s, "-s:1:20: more than 65536 partitions in all");
    s->set[0] = "clock.dram=1000000007 Hz";
    s->set[1] = "clock.net=1400000009 Hz";
    expect(s, "the clocks have no common multiple");
}

static void wrong_overrides_are_explained(void **state)
{
    struct scratch *s = *state;
    s->load = NULL;
    static const char *const cases[][2] = {
        {"gpu", "an override is written section.key=value"},
        {"gpu=3", "an override is written section.key=value"},
        {"gpu.llc_sise=3 MiB", "did you mean 'gpu.llc_size'?"},
        {"gup.llc_size=3 MiB", "unknown section 'gup'; did you mean 'gpu'?"},
        {"gpu.llc_size=", "is not a size"},
        {"=.", "an override is written"},
        {"sim.seed=-1", "is not a whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s->set[0] = cases[i][0];
        expect(s, cases[i][1]);
    }
}

static void a_dump_loads_to_the_same_machine(void **state)
{
    struct scratch *s = *state;
    char path[128], twice[128];
    (void)snprintf(path, sizeof path, "%s/dump.yaml", s->folder);
    (void)snprintf(twice, sizeof twice, "%s/again.yaml", s->folder);
    struct diag d;
    diag_init(&d);
    s->load = NULL;
    s->set[0] = "clock.dram=293 MHz";
    s->set[1] = "gpu.llc_size=4 MiB";
    assert_int_equal(diag_run(&d, build, s), DIAG_NONE);
    const struct config first = s->machine.config;
    FILE *f = fopen(path, "w");
    machine_dump_yaml(&s->machine, f);
    assert_int_equal(fclose(f), 0);
    machine_free(&s->machine);
    memset(s->set, 0, sizeof s->set);
    s->load = path;
    if (diag_run(&d, build, s) != DIAG_NONE) fail_msg("%s", d.text);
    char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
    for (unsigned i = 0; i < PARAM_COUNT; i++)
        assert_string_equal(param_print(&first, (enum param_idx)i, a),
                            param_print(&s->machine.config, (enum param_idx)i, b));
    machine_free(&s->machine);
}

static void every_preset_loads(void **state)
{
    struct scratch *s = *state;
    size_t count = 0;
    for (const char *file; (file = machine_preset(count)); count++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - 5), file);
        s->load = name;
        expect(s, NULL);
    }
    assert_true(count >= 1);
}

static void the_tick_divides_every_clock(void **state)
{
    (void)state;
    struct config c = {0};
    c.clock.sm = c.clock.net = 1400000000;
    c.clock.llc = 440000000;
    c.clock.dram = 293000000;
    const uint64_t tick = config_tick_frequency(&c);
    assert_int_equal(tick, 1400000000ull * 11 * 293);
}

/* runtime.placement: migration and replication were values of the placement. */
static void use_old_values(void *unused)
{
    (void)unused;
    struct machine m;
    machine_init(&m);
    machine_set(&m, "runtime.placement=migration");
    assert_int_equal(m.config.runtime.placement, page_placement_first_touch);
    assert_int_equal(m.config.pages.migration, page_migration_most_used);
    assert_int_equal(m.config.pages.replication, page_copies_none);
    machine_set(&m, "runtime.placement=replication");
    assert_int_equal(m.config.runtime.placement, page_placement_first_touch);
    assert_int_equal(m.config.pages.migration, page_migration_none);
    assert_int_equal(m.config.pages.replication, page_copies_read_only);
    machine_set(&m, "runtime.placement=lab"); /* as before: the later value replaces all of the earlier one */
    assert_int_equal(m.config.runtime.placement, page_placement_lab);
    assert_int_equal(m.config.pages.replication, page_copies_none);
    machine_set(&m, "pages.replication=read_only");
    machine_set(&m, "runtime.placement=round_robin"); /* set on its own: stays */
    assert_int_equal(m.config.pages.replication, page_copies_read_only);
    machine_free(&m);
}

static void an_old_value_sets_the_parameters_that_took_its_place(void **state)
{
    (void)state;
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, use_old_values, NULL)) fail_msg("%s", d.text);
    diag_clear(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_are_exact_and_print_back),
        cmocka_unit_test(wrong_quantities_are_refused),
        cmocka_unit_test(every_row_has_a_valid_default_and_limits),
        cmocka_unit_test(the_tick_divides_every_clock),
        cmocka_unit_test_setup_teardown(a_file_sets_values_and_overrides_win, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(mistakes_in_files_show_their_place, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(byte_order_marks_and_crlf_are_fine, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(hostile_files_are_refused_kindly, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(a_layer_scales_the_machine_before_it, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(extends_chains_and_cycles_are_found, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(broken_rules_point_at_the_value, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(wrong_overrides_are_explained, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(a_dump_loads_to_the_same_machine, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(every_preset_loads, make_scratch, drop_scratch),
        cmocka_unit_test(an_old_value_sets_the_parameters_that_took_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
