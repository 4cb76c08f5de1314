/* Reports: what a span is bound by, numbers and bars for people, traces of bounded size. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <atoll.h>

#include "report/report.h"
#include "report/timeline.h"

static void assert_near(double value, double expected, double most)
{
    if (!(fabs(value - expected) <= most)) fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- what a span is bound by ---- */

struct fixture {
    struct config config;
    struct stats stats;
    struct system_use use;
};

enum { CYCLES = 10000, SMS = 64, SLICES = 64, CHANNELS = 32, SCHEDULERS = 2, REQUESTS = 1000 };

/* The default machine for CYCLES cycles in which schedulers only wait for memory: thousand requests, of whose
 * time nothing is known. */
static void waiting_for_memory(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->stats.sm.requests_sent = f->stats.sm.reads_done = REQUESTS;
    f->stats.sm.request_cyc = f->stats.sm.read_latency_cyc = REQUESTS * 1000;
    config_defaults(&f->config);
    assert_int_equal(config_sms_per_gpu(&f->config), SMS);
    assert_int_equal(config_channels_per_gpu(&f->config), CHANNELS);
    assert_int_equal(f->config.sm.schedulers, SCHEDULERS);
    f->stats.sm.scheduler_cycles = (uint64_t)CYCLES * SMS * SCHEDULERS;
    f->stats.sm.stall_memory = f->stats.sm.scheduler_cycles;
    f->use.requests.links = f->use.replies.links = SLICES;
}

static struct measure measured(const struct fixture *f)
{
    struct measure m;
    const struct span span = {
        .config = &f->config, .stats = &f->stats, .use = &f->use, .cycles = CYCLES, .blocks = SMS};
    measure_span(&span, &m);
    return m;
}

static void a_span_in_which_little_happens_is_bound_by_latency(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_LATENCY);
    assert_non_null(strstr(m.why, "100 % waited for memory"));
}

static void schedulers_that_issue_are_bound_by_compute(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.sm.issue_cycles = f.stats.sm.scheduler_cycles * 8 / 10;
    f.stats.sm.stall_memory = f.stats.sm.scheduler_cycles * 2 / 10;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_COMPUTE);
    assert_non_null(strstr(m.why, "80 % of scheduler cycles issue"));
}

/* A unit that takes an instruction every second cycle is full when half of the cycles issue. */
static void busy_units_count_as_compute(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.sm.issue_cycles = f.stats.sm.stall_structural = f.stats.sm.scheduler_cycles / 2;
    f.stats.sm.stall_memory = 0;
    assert_int_equal(measured(&f).bound, BOUND_COMPUTE);
}

/* 64 B per column and cycle of 350 MHz: the peak of a channel is one column per four SM cycles. */
static void channels_at_nine_tenths_of_their_peak_are_the_bound(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.dram.column_reads = (uint64_t)CYCLES / 4 * CHANNELS * 9 / 10;
    f.use.columns_max = CYCLES / 4 * 9 / 10;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_DRAM);
    assert_near(m.levels[LEVEL_DRAM].use, 0.9, 1e-3);
    assert_non_null(strstr(m.why, "90 % of its peak"));
    assert_near(m.levels[LEVEL_DRAM].peak_bytes_per_second, 716.8e9, 1e6);
}

static void of_two_full_resources_the_one_nearer_to_its_limit_is_named(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.dram.column_reads = (uint64_t)CYCLES / 4 * CHANNELS * 7 / 10;
    f.use.columns_max = CYCLES / 4 * 7 / 10;
    f.use.replies.flits = (uint64_t)CYCLES * SLICES * 9 / 10;
    f.use.replies.flits_max = CYCLES * 9 / 10;
    struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_REPLIES);
    assert_non_null(strstr(m.why, "next: DRAM 70 %"));
    /* what comes next is never nearer */
    f.use.replies.flits = (uint64_t)CYCLES * SLICES * 6 / 10;
    f.use.replies.flits_max = CYCLES * 6 / 10;
    m = measured(&f);
    assert_int_equal(m.bound, BOUND_DRAM);
    assert_non_null(strstr(m.why, "next: reply network 60 %"));
}

static void one_busy_slice_is_a_hot_spot(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.llc.port_cycles = CYCLES * 95 / 100;
    f.use.port_cycles_max = CYCLES * 95 / 100;
    f.use.port_slice = 7;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_LLC);
    assert_non_null(strstr(m.why, "slice 7 is 95 % busy"));
}

/* Requests of the given time, of which each stands inside a slice but for a network that takes nothing. */
static void inside_slices(struct fixture *f, uint64_t cycles)
{
    f->stats.sm.request_cyc = f->stats.sm.read_latency_cyc = REQUESTS * cycles;
    f->stats.llc.requests = f->stats.llc.reads = f->stats.llc.tag_cycles = REQUESTS;
    f->stats.llc.stay_cyc = REQUESTS * cycles;
}

/* A hit takes 120 cycles; more than that inside a slice are replies that wait for their network, though
 * its links are little used: bursts. */
static void reads_that_take_long_are_a_bound_of_what_they_queue_up_for(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    inside_slices(&f, 130);
    struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_LATENCY);
    assert_non_null(strstr(m.why, "too few reads in flight"));
    inside_slices(&f, 3000);
    f.use.replies.flits = (uint64_t)CYCLES * SLICES * 2 / 10;
    f.use.replies.flits_max = CYCLES / 2;
    m = measured(&f);
    assert_int_equal(m.bound, BOUND_REPLIES);
    assert_non_null(strstr(m.why, "reads queue up: 3000 cycles each"));
    assert_non_null(strstr(m.why, "20 % of its peak, one link 50 %"));
}

/* The same where the queues of channels are full: they wait for memory. */
static void reads_behind_full_channels_are_a_bound_of_dram(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    inside_slices(&f, 3000);
    f.stats.llc.read_misses = REQUESTS;
    f.stats.dram.waiting_cyc = (uint64_t)CYCLES / 4 * CHANNELS * f.config.dram.queue_entries * 9 / 10;
    assert_int_equal(measured(&f).bound, BOUND_DRAM);
    f.stats.dram.waiting_cyc /= 9;
    assert_int_equal(measured(&f).bound, BOUND_REPLIES);
}

/* Requests that stand before slices wait for what stops the slices. */
static void misses_that_do_not_get_away_are_a_bound_of_what_stops_the_slices(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    inside_slices(&f, 120);
    f.stats.sm.request_cyc = REQUESTS * 3000;
    f.use.requests.flits = f.use.requests.flits_max = CYCLES / 2;
    assert_int_equal(measured(&f).bound, BOUND_REQUESTS);
    f.stats.llc.wait_reply = 5 * REQUESTS;
    assert_int_equal(measured(&f).bound, BOUND_REPLIES);
    f.stats.llc.wait_mshr = 50 * REQUESTS;
    assert_int_equal(measured(&f).bound, BOUND_DRAM);
}

/* One channel has all to do: seven tenths of its peak, two hundredths of that of all. */
static void the_busiest_channel_counts_not_the_mean(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.use.replies.flits = (uint64_t)CYCLES * SLICES * 4 / 10;
    f.use.replies.flits_max = CYCLES * 4 / 10;
    f.stats.dram.column_reads = f.use.columns_max = CYCLES / 4 * 7 / 10;
    f.use.columns_channel = 5;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_DRAM);
    assert_non_null(strstr(m.why, "channel 5 is 70 % busy, the mean is 2 %"));
}

/* Accesses that find their line on the way, and no room to wait for it, while reads meet no queue. */
static void full_mshrs_are_a_bound_of_the_l1_unless_reads_queue_up(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    inside_slices(&f, 120);
    f.stats.sm.stall_pipe = f.stats.sm.stall_memory;
    f.stats.sm.stall_memory = 0;
    f.stats.l1.wait_mshr = (uint64_t)CYCLES * SMS * 6 / 10;
    struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_L1);
    assert_non_null(strstr(m.why, "stopped 60 % of the time"));
    assert_non_null(strstr(m.why, "l1.mshr_merges"));
    f.stats.l1.mshr_peak = f.config.l1.mshrs;
    m = measured(&f);
    assert_non_null(strstr(m.why, "every MSHR is taken"));
    inside_slices(&f, 3000);
    assert_int_equal(measured(&f).bound, BOUND_REPLIES);
}

/* Some SMs have no warps any more; those that have wait for a link. */
static void a_busy_link_comes_before_sms_without_work(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.sm.stall_no_warp = f.stats.sm.scheduler_cycles * 6 / 10;
    f.stats.sm.stall_memory = f.stats.sm.scheduler_cycles * 4 / 10;
    assert_int_equal(measured(&f).bound, BOUND_LAUNCH);
    f.use.replies.flits = f.use.replies.flits_max = CYCLES * 7 / 10;
    assert_int_equal(measured(&f).bound, BOUND_REPLIES);
}

/* Four GPUs, each with a link of 8 B per cycle to every other, at the clock of the SMs. */
static void with_four_gpus(struct fixture *f)
{
    waiting_for_memory(f);
    f->config.system.gpus = 4;
    f->config.gpu_net.topology = node_shape_links;
    f->config.gpu_net.bandwidth = 8 * f->config.clock.sm;
    f->use.nodes[NET_LEVEL_gpu_net].links = 12;
}

static void links_between_gpus_have_a_peak_and_can_be_what_bounds_a_run(void **state)
{
    (void)state;
    struct fixture f;
    with_four_gpus(&f);
    assert_int_equal(measured(&f).bound, BOUND_LATENCY);
    struct system_node_use *const links = &f.use.nodes[NET_LEVEL_gpu_net];
    links->cycles = (uint64_t)CYCLES * 12 * 9 / 10;
    links->cycles_max = CYCLES * 9 / 10;
    struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_GPUS);
    assert_near(m.levels[LEVEL_GPUS].peak_bytes_per_second, 12 * 8.0 * (double)f.config.clock.sm, 1);
    assert_near(m.levels[LEVEL_GPUS].use, 0.9, 1e-6);
    assert_true(m.levels[LEVEL_CHIPLETS].peak_bytes_per_second == 0);
    assert_non_null(strstr(m.why, "bandwidth: busiest link 90 %, mean 90 %"));
    links->cycles = links->cycles_max = CYCLES * 85 / 100;
    m = measured(&f);
    assert_int_equal(m.bound, BOUND_GPUS);
    assert_non_null(strstr(m.why, "bandwidth: busiest link 85 %, mean 7 %"));
}

static void slices_that_cannot_send_on_are_a_bound_of_the_busiest_level_above(void **state)
{
    (void)state;
    struct fixture f;
    with_four_gpus(&f);
    f.stats.l1.wait_queue = (uint64_t)CYCLES * 4 * SMS * 6 / 10;
    f.stats.llc.tag_cycles = 1000;
    f.stats.llc.wait_forward = 5000;
    f.use.nodes[NET_LEVEL_gpu_net].cycles_max = CYCLES / 2;
    f.use.nodes[NET_LEVEL_gpu_net].cycles = CYCLES;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_GPUS);
    assert_non_null(strstr(m.why, "latency: ")); /* a link that is half idle is not what limits */
}

/* Slices cannot send on, and links are hardly used: credit of small buffers, or memory behind the links. */
static void links_without_credit_are_a_bound_of_their_buffers_or_of_the_receivers(void **state)
{
    (void)state;
    struct fixture f;
    with_four_gpus(&f);
    f.stats.l1.wait_queue = (uint64_t)CYCLES * 4 * SMS * 6 / 10;
    f.stats.llc.tag_cycles = 1000;
    f.stats.llc.wait_forward = 50000;
    f.use.nodes[NET_LEVEL_gpu_net].cycles_max = CYCLES / 50;
    f.use.nodes[NET_LEVEL_gpu_net].cycles = CYCLES / 10;
    f.stats.dram.column_reads = f.use.columns_max = CYCLES / 4 * 7 / 10; /* of one channel */
    assert_int_equal(measured(&f).bound, BOUND_DRAM);
    f.use.nodes[NET_LEVEL_gpu_net].full_max = CYCLES * 9 / 10;
    assert_int_equal(measured(&f).bound, BOUND_DRAM);
    f.use.nodes[NET_LEVEL_gpu_net].full_max = 0;
    f.use.nodes[NET_LEVEL_gpu_net].short_max = CYCLES * 9 / 10;
    const struct measure m = measured(&f);
    assert_int_equal(m.bound, BOUND_GPUS);
    assert_non_null(strstr(m.why, "credit: a link waits 90 % of the time because gpu_net.buffer is smaller"));
}

static void busy_walkers_are_a_bound_of_translation(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    inside_slices(&f, 1000);
    f.stats.sm.stall_translation = f.stats.sm.scheduler_cycles * 55 / 100;
    f.stats.sm.stall_memory = f.stats.sm.scheduler_cycles * 45 / 100;
    assert_int_equal(measured(&f).bound, BOUND_REPLIES); /* where data queues up once its page is known */
    f.stats.mmu.walk_cycles = (uint64_t)CYCLES * f.config.mmu.walkers;
    assert_int_equal(measured(&f).bound, BOUND_TRANSLATION);
    f.stats.mmu.walk_cycles = 0;
    f.stats.sm.stall_translation = f.stats.sm.scheduler_cycles * 75 / 100;
    f.stats.sm.stall_memory = f.stats.sm.scheduler_cycles * 25 / 100;
    assert_int_equal(measured(&f).bound, BOUND_TRANSLATION);
}

static void idle_sms_are_a_matter_of_the_launch(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    f.stats.sm.stall_no_warp = f.stats.sm.scheduler_cycles * 3 / 4;
    f.stats.sm.stall_memory = f.stats.sm.scheduler_cycles / 4;
    struct measure m;
    struct span span = {.config = &f.config, .stats = &f.stats, .use = &f.use, .cycles = CYCLES, .blocks = 3};
    measure_span(&span, &m);
    assert_int_equal(m.bound, BOUND_LAUNCH);
    assert_non_null(strstr(m.why, "3 blocks for 64 SMs"));
    span.gap_cycles = CYCLES * 7 / 10;
    measure_span(&span, &m);
    assert_non_null(strstr(m.why, "70 % of the time is the gap before a launch"));
}

/* A third of the time is a gap; in the rest schedulers issue in nine cycles of ten. */
static void gaps_before_launches_are_left_out(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    const uint64_t all = f.stats.sm.scheduler_cycles;
    f.stats.sm.stall_no_warp = all / 3;
    f.stats.sm.issue_cycles = all * 6 / 10;
    f.stats.sm.stall_memory = all - all / 3 - all * 6 / 10;
    struct measure m;
    const struct span span = {.config = &f.config,
                              .stats = &f.stats,
                              .use = &f.use,
                              .cycles = CYCLES,
                              .gap_cycles = CYCLES / 3,
                              .blocks = SMS};
    measure_span(&span, &m);
    assert_int_equal(m.bound, BOUND_COMPUTE);
    assert_non_null(strstr(m.why, "90 % of scheduler cycles issue"));
    assert_non_null(strstr(m.why, "outside launch gaps"));
    assert_near(m.stalls[STALL_ISSUE], 0.6, 1e-6); /* what is shown is of all the time */
}

static void nothing_at_all_is_bound_by_nothing(void **state)
{
    (void)state;
    struct fixture f;
    waiting_for_memory(&f);
    struct measure m;
    memset(&f.stats, 0, sizeof f.stats);
    const struct span span = {.config = &f.config, .stats = &f.stats, .use = &f.use};
    measure_span(&span, &m);
    assert_int_equal(m.bound, BOUND_NOTHING);
    assert_near(m.ipc, 0, 0);
}

/* ---- drawing ---- */

static void counts_are_grouped_and_shortened(void **state)
{
    (void)state;
    char buf[DRAW_TEXT];
    assert_string_equal(draw_count(buf, 0), "0");
    assert_string_equal(draw_count(buf, 999), "999");
    assert_string_equal(draw_count(buf, 1000), "1,000");
    assert_string_equal(draw_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(draw_short(buf, 999), "999");
    assert_string_equal(draw_short(buf, 4040704), "4.04 M");
    assert_string_equal(draw_short(buf, 999999), "1.00 M");
    assert_string_equal(draw_seconds(buf, 33.07e-6), "33.1 us");
    assert_string_equal(draw_seconds(buf, 2), "2.00 s");
    assert_string_equal(draw_seconds(buf, 0), "0.00 s");
}

static char *drawn(double fraction, uint32_t width, bool ascii)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    draw_bar(f, fraction, width, ascii);
    (void)fclose(f);
    return text;
}

static void bars_are_as_long_as_their_share_and_never_hide_a_little(void **state)
{
    (void)state;
    static const struct {
        double fraction;
        bool ascii;
        const char *bar;
    } cases[] = {{0.5, true, "####"}, {0, true, ""},  {1e-9, true, "#"},  {7, true, "########"},
                 {0.25, false, "██"}, {0, false, ""}, {1e-9, false, "▏"}, {0.1875, false, "█▌"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *bar = drawn(cases[i].fraction, 8, cases[i].ascii);
        assert_string_equal(bar, cases[i].bar);
        free(bar);
    }
}

static void rounded_shares_add_up_to_the_whole(void **state)
{
    (void)state;
    const double thirds[] = {1.0 / 3, 1.0 / 3, 1.0 / 3}, odd[] = {0.00049, 0.99902, 0.00049};
    uint32_t tenths[3];
    draw_tenths(thirds, 3, tenths);
    assert_int_equal(tenths[0] + tenths[1] + tenths[2], 1000);
    assert_int_equal(tenths[0], 334);
    draw_tenths(odd, 3, tenths);
    assert_int_equal(tenths[0] + tenths[1] + tenths[2], 1000);
    assert_int_equal(tenths[1], 999);
}

static void long_texts_are_wrapped_between_words(void **state)
{
    (void)state;
    char words[601] = "", *text;
    size_t len;
    for (int i = 0; i < 60; i++) strcat(words, "nine-char ");
    FILE *f = open_memstream(&text, &len);
    draw_wrapped(f, 15, words);
    (void)fclose(f);
    size_t column = 15;
    for (const char *c = text; *c; c++) {
        column = *c == '\n' ? 0 : column + 1;
        assert_true(column <= DRAW_COLUMNS);
    }
    assert_int_equal(text[len - 1], '\n');
    free(text);
    char clipped[11];
    assert_string_equal(draw_clipped(clipped, 10, "abcdefghij"), "abcdefghij");
    assert_string_equal(draw_clipped(clipped, 10, "abcdefghijk"), "abcdefgh..");
    char kernel[31];
    assert_string_equal(draw_kernel(kernel, 30, "void sum<float>(float*, int)"),
                        "void sum<float>(float*, int)");
    assert_string_equal(draw_kernel(kernel, 30, "void a::sum<b::(anonymous namespace)::c>(float*, int)"),
                        "sum<c>");
    assert_string_equal(draw_kernel(kernel, 30, "a::agent<b::reduce<int, long>, policy<int>, 12345>(int)"),
                        "agent<reduce<int, ..t>, 12345>");
    assert_string_equal(draw_kernel(kernel, 30, "_Z123456789012345678901234567890123456789"),
                        "_Z1234567890123456..0123456789");
}

/* ---- timeline ---- */

static void a_timeline_keeps_at_most_its_limit_and_says_so(void **state)
{
    (void)state;
    struct timeline *t = timeline_new();
    for (uint64_t i = 0; i < TIMELINE_BLOCKS; i++) timeline_block(t, 0, i, 0, i, i + 1);
    assert_null(timeline_note(t));
    for (uint64_t i = TIMELINE_BLOCKS; i < 5 * (uint64_t)TIMELINE_BLOCKS; i++)
        timeline_block(t, 0, i, 0, i, i + 1);
    assert_string_equal(timeline_note(t), "the timeline shows 40,960 of 327,680 blocks, one of 8");
    timeline_free(t);
}

/* ---- a whole run through the public interface ---- */

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json) fail_msg("line %d: %s", error.line, error.text);
    return json;
}

static struct atoll_outcome run_on(const char *machine, const char *workload, struct atoll_job job)
{
    atoll_sim *sim;
    struct atoll_outcome out;
    job.workload = workload;
    assert_int_equal(atoll_create(&sim), ATOLL_OK);
    assert_int_equal(atoll_machine(sim, machine), ATOLL_OK);
    if (atoll_run(sim, &job, &out)) fail_msg("%s", atoll_message(sim));
    atoll_destroy(sim);
    return out;
}

static struct atoll_outcome run(const char *workload, struct atoll_job job)
{
    return run_on("uba-mem", workload, job);
}

static double number(const json_t *from, const char *key)
{
    const json_t *value = json_object_get(from, key);
    assert_non_null(value);
    return json_number_value(value);
}

static void a_result_holds_what_the_contract_names_and_agrees_with_itself(void **state)
{
    (void)state;
    struct atoll_outcome out = run("sgemm:tiny", (struct atoll_job){.details = true});
    json_t *root = load(out.json);
    const json_t *totals = json_object_get(root, "totals"), *stats = json_object_get(root, "stats");
    const json_t *kernels = json_object_get(root, "kernels");
    assert_int_equal(number(totals, "cycles"), out.cycles);
    assert_int_equal(number(totals, "warp_instructions"), out.warp_instructions);
    assert_int_equal(number(stats, "sm.warp_instructions"), out.warp_instructions);
    assert_int_equal(number(stats, "sm.thread_instructions"), out.thread_instructions);
    assert_near(number(totals, "ipc"), (double)out.warp_instructions / (double)out.cycles, 1e-9);
    assert_near(number(totals, "seconds") * 1.4e9, (double)out.cycles, 1e-3);
    assert_int_equal(json_array_size(kernels), 1);
    const json_t *kernel = json_array_get(kernels, 0);
    assert_int_equal(number(kernel, "warp_instructions"), out.warp_instructions);
    assert_true(number(kernel, "end") <= (double)out.cycles);
    double sum = 0;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(totals, "scheduler_cycles"), key, value) sum +=
        json_number_value(value);
    assert_near(sum, 1, 1e-9);
    assert_true(number(stats, "net.taken") > 0);
    /* the series and the counter are counted apart */
    double points = 0;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(stats, "sm.instructions_over_time"), "values"), i,
                       value) points += json_number_value(value);
    assert_int_equal(points, out.warp_instructions);
    json_decref(root);
    atoll_outcome_free(&out);
}

/* ---- links and queues ---- */

/* Of who is at the two ends of a link. */
static bool names_begin(const json_t *link, const char *const ends[2])
{
    const char *const from = json_string_value(json_object_get(link, "from"));
    const char *const to = json_string_value(json_object_get(link, "to"));
    return from && to && !strncmp(from, ends[0], strlen(ends[0])) && !strncmp(to, ends[1], strlen(ends[1]));
}

/* Every flit that enters a network passes each of its stages once (a ring may take it over several links):
 * flits / (links x cycles) is the use of a stage, and the busiest stage is the efficiency of the network. */
static void check_network(const json_t *totals, const char *network, const char *level, const char *from,
                          const char *to)
{
    const json_t *stages = json_object_get(json_object_get(totals, "link_stages"), network), *stage;
    const json_t *whole = json_object_get(json_object_get(totals, "bandwidth"), level);
    static const char *const names[] = {"senders", "between_routers", "receivers"};
    const char *const ends[3][2] = {{from, "router "}, {"router ", "router "}, {"router ", to}};
    double most = 0, busiest = 0;
    assert_int_equal(json_object_size(stages), 3);
    for (size_t k = 0; k < 3; k++) {
        stage = json_object_get(stages, names[k]);
        const double use = number(stage, "utilisation"), of_busiest = number(stage, "utilisation_of_busiest");
        const double flits = number(json_object_get(stage, "busiest"), "flits");
        assert_true(names_begin(json_object_get(stage, "busiest"), ends[k]));
        assert_int_equal(number(stage, "links"), 64);
        assert_int_equal(number(stage, "flits"), number(json_object_get(stages, "senders"), "flits"));
        assert_near(use, number(stage, "flits") / 64 / number(totals, "cycles"), 1e-12);
        assert_near(of_busiest, flits / number(totals, "cycles"), 1e-12);
        assert_true(of_busiest >= use && use > 0);
        if (use > most) most = use;
        if (of_busiest > busiest) busiest = of_busiest;
    }
    assert_near(most, number(whole, "utilisation"), 1e-12);
    assert_near(busiest, number(whole, "utilisation_of_busiest"), 1e-12);
}

static void the_links_of_each_stage_carry_what_the_network_carries(void **state)
{
    (void)state;
    struct atoll_outcome out = run("sgemm:tiny", (struct atoll_job){.details = true, .ascii = true});
    json_t *root = load(out.json);
    check_network(json_object_get(root, "totals"), "requests", "request_network", "SM ", "slice ");
    check_network(json_object_get(root, "totals"), "replies", "reply_network", "slice ", "SM ");
    static const char *const rows[] = {"link stages (share of cycles used)",
                                       "requests from SMs ",
                                       "requests between routers ",
                                       "requests to slices ",
                                       "replies from slices ",
                                       "replies between routers ",
                                       "replies to SMs "};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) assert_non_null(strstr(out.report, rows[k]));
    assert_non_null(strstr(out.report, "  router "));
    assert_null(strstr(out.report, "slice requests")); /* the machine has no such network */
    for (const char *line = out.report; *line; line = strchrnul(line, '\n') + 1)
        assert_true(strchrnul(line, '\n') - line <= DRAW_COLUMNS);
    json_decref(root);
    atoll_outcome_free(&out);
}

/* Four GPUs of four chiplets, a ring in each: two links per chiplet. A chiplet has 16 slices and a gate,
 * whose plain links lead to all others. */
static void networks_of_a_level_are_taken_together_and_their_links_named(void **state)
{
    (void)state;
    struct atoll_outcome out = run_on("ladm-rr", "vecadd:tiny", (struct atoll_job){.details = true});
    json_t *root = load(out.json);
    const json_t *networks = json_object_get(json_object_get(root, "totals"), "link_stages");
    const json_t *ring = json_object_get(json_object_get(networks, "chiplet_replies"), "ring");
    const json_t *link = json_object_get(ring, "busiest");
    const json_t *plain = json_object_get(json_object_get(networks, "slice_requests"), "links");
    const json_t *gpus = json_object_get(json_object_get(networks, "gpu_replies"), "receivers");
    static const char *const chiplets[2] = {"chiplet ", "chiplet "};
    assert_int_equal(number(ring, "links"), 4 * 4 * 2);
    assert_int_equal(number(plain, "links"), 16 * 17 * 16);
    assert_int_equal(number(gpus, "links"), 4);
    assert_true(names_begin(link, chiplets));
    const int from = atoi(json_string_value(json_object_get(link, "from")) + strlen(chiplets[0]));
    const int to = atoi(json_string_value(json_object_get(link, "to")) + strlen(chiplets[1]));
    assert_int_equal(from / 4, to / 4); /* of the same GPU, one after the other */
    assert_true((from + 1) % 4 == to % 4 || (to + 1) % 4 == from % 4);
    assert_non_null(strstr(out.report, "chiplet replies round the ring"));
    assert_non_null(strstr(out.report, "> gate 0 of chiplet "));
    assert_non_null(strstr(out.report, "slice requests over plain links "));
    assert_non_null(strstr(out.report, "GPU requests from GPUs"));
    json_decref(root);
    atoll_outcome_free(&out);
}

/* Few blocks on four GPUs: the link of an SM that has none carries nothing. */
static void the_busiest_sender_is_an_sm_on_which_a_block_ran(void **state)
{
    (void)state;
    struct atoll_outcome out = run_on("numa-gpu", "pointer_chase:tiny", (struct atoll_job){.timeline = true});
    json_t *root = load(out.json), *trace = load(out.timeline), *event, *other;
    const json_t *networks = json_object_get(json_object_get(root, "totals"), "link_stages");
    const json_t *senders = json_object_get(json_object_get(networks, "requests"), "senders");
    const char *const sm = json_string_value(json_object_get(json_object_get(senders, "busiest"), "from"));
    const json_t *events = json_object_get(trace, "traceEvents");
    uint32_t blocks = 0;
    size_t i, k;
    json_array_foreach(events, i, event)
    {
        if (strncmp(json_string_value(json_object_get(event, "name")), "block ", 6) != 0) continue;
        json_array_foreach(events, k, other)
        {
            const char *name = json_string_value(json_object_get(json_object_get(other, "args"), "name"));
            if (!name || number(other, "tid") != number(event, "tid")) continue;
            blocks += !strncmp(name, sm, strlen(sm)) && name[strlen(sm)] == ','; /* "SM 64, place 0" */
        }
    }
    assert_int_equal(blocks, 1);
    json_decref(root);
    json_decref(trace);
    atoll_outcome_free(&out);
}

/* Little's law: what counters say of all waits, divided by the cycles of their clock. */
static void the_depth_of_queues_is_the_time_that_was_waited_over_the_time_of_the_run(void **state)
{
    (void)state;
    struct atoll_outcome out = run("gather:tiny", (struct atoll_job){.details = true});
    json_t *root = load(out.json);
    const json_t *totals = json_object_get(root, "totals"), *stats = json_object_get(root, "stats");
    const json_t *queues = json_object_get(totals, "slice_queues"), *queue;
    const double cycles = number(totals, "cycles"), dram_cycles = number(totals, "seconds") * 350e6;
    /* SMs take replies when they come: whoever waits at a port of a network waits at a slice */
    assert_true(number(json_object_get(queues, "input"), "all") > 10);
    assert_near(number(json_object_get(queues, "input"), "all") * cycles,
                number(stats, "net.stay_cyc") - number(stats, "net.latency_cyc"), 1e-6 * cycles);
    queue = json_object_get(queues, "inside");
    assert_near(number(queue, "all"), number(stats, "llc.stay_cyc") / cycles, 1e-9);
    assert_null(json_object_get(queue, "peak")); /* nobody knows it */
    queue = json_object_get(queues, "channel");
    assert_near(number(queue, "all"), number(stats, "dram.wait_cyc") / dram_cycles, 1e-9);
    assert_near(number(queue, "mean") * CHANNELS, number(queue, "all"), 1e-9);
    assert_int_equal(number(queue, "peak"), number(stats, "dram.waiting_peak"));
    queue = json_object_get(queues, "mshrs");
    assert_int_equal(number(queue, "peak"), number(stats, "llc.mshr_peak"));
    assert_near(number(queue, "mean") * SLICES, number(queue, "all"), 1e-9);
    assert_true(number(queue, "deepest") >= number(queue, "mean") && number(queue, "slice") < SLICES);
    assert_true(number(json_object_get(queues, "memory_queue"), "all") > 0);
    assert_null(json_object_get(queues, "local_queue")); /* the machine has none */
    assert_non_null(strstr(out.report, "slice queues (waiting, mean over time)"));
    assert_non_null(strstr(out.report, "MSHRs in use"));
    assert_null(strstr(out.report, "sim.work_ahead"));
    json_decref(root);
    atoll_outcome_free(&out);
}

static void what_is_not_counted_in_a_run_is_not_shown_as_a_number(void **state)
{
    (void)state;
    struct atoll_outcome out = run_on("v100", "vecadd:tiny", (struct atoll_job){.details = true});
    json_t *root = load(out.json);
    const json_t *queues = json_object_get(json_object_get(root, "totals"), "slice_queues");
    assert_null(json_object_get(json_object_get(queues, "mshrs"), "mean"));
    assert_null(json_object_get(json_object_get(queues, "mshrs"), "deepest"));
    assert_true(number(json_object_get(queues, "mshrs"), "peak") > 0);
    assert_null(json_object_get(queues, "memory_queue"));
    assert_true(number(json_object_get(queues, "input"), "mean") >= 0);
    assert_null(json_object_get(json_object_get(queues, "input"), "deepest"));
    assert_non_null(
        strstr(out.report, "    operations due at memory                       -         -      -"));
    assert_non_null(strstr(out.report, "sim.work_ahead=false counts them"));
    json_decref(root);
    atoll_outcome_free(&out);
}

/* The report names the first condition of ahead.def that the machine does not meet. */
static void the_report_says_why_lookahead_windows_are_off(void **state)
{
    static const struct {
        const char *machine, *setting, *windows;
        bool check;
    } tried[] = {
        {"v100", NULL, "on", false},
        {"v100", "mmu.mode=tlb", "off, mmu.mode is tlb", false},
        {"v100", "sim.work_ahead=false", "off, sim.work_ahead is false", false},
        {"v100", "llc.boundary=flush", "off, llc.boundary is not keep", false},
        {"v100", "net.source_packets=1", "off, net.source_packets is too small for the replies of a slice",
         false},
        {"v100", "net.link_latency_cyc=400", "off, latencies of the networks are too long", false},
        {"v100", NULL, "off, --check is on", true},
        {"nuba", NULL, "off, net.topology is not queued", false},
    };
    (void)state;
    for (size_t k = 0; k < sizeof tried / sizeof *tried; k++) {
        atoll_sim *sim;
        struct atoll_outcome out = {0};
        char line[128];
        assert_int_equal(atoll_create(&sim), ATOLL_OK);
        assert_int_equal(atoll_machine(sim, tried[k].machine), ATOLL_OK);
        if (tried[k].setting) assert_int_equal(atoll_set(sim, tried[k].setting), ATOLL_OK);
        const struct atoll_job job = {.workload = "vecadd:tiny", .details = true, .check = tried[k].check};
        assert_int_equal(atoll_run(sim, &job, &out), ATOLL_OK);
        (void)snprintf(line, sizeof line, "\n  lookahead windows: %s\n", tried[k].windows);
        assert_non_null(strstr(out.report, line));
        json_t *root = load(out.json);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(root, "host"), "lookahead_windows")),
            tried[k].windows);
        json_decref(root);
        atoll_outcome_free(&out);
        atoll_destroy(sim);
    }
}

/* Every block, every kernel; slices of one track do not overlap; names for all tracks. */
static void a_trace_is_json_in_which_every_block_has_its_place(void **state)
{
    (void)state;
    struct atoll_outcome out = run("sgemm:tiny", (struct atoll_job){.timeline = true});
    json_t *root = load(out.timeline), *events = json_object_get(root, "traceEvents"), *event;
    size_t i, blocks = 0, kernels = 0, counters = 0, names = 0;
    const double end_us = out.seconds * 1e6;
    json_array_foreach(events, i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        const char *name = json_string_value(json_object_get(event, "name"));
        assert_non_null(phase);
        assert_non_null(name);
        names += *phase == 'M';
        counters += *phase == 'C';
        if (*phase == 'C') assert_true(number(event, "ts") <= end_us + 1e-3);
        if (*phase != 'X') continue;
        assert_true(number(event, "ts") + number(event, "dur") <= end_us + 1e-3);
        if (strncmp(name, "block ", 6) == 0)
            blocks++;
        else
            kernels++;
    }
    assert_int_equal(kernels, 1);
    assert_int_equal(blocks, number(json_object_get(root, "otherData"), "blocks"));
    assert_true(blocks > 1 && counters > 8 && names > blocks / 2);
    json_decref(root);
    atoll_outcome_free(&out);
}

static void a_limit_stops_a_run_within_one_cycle_of_the_machine(void **state)
{
    (void)state;
    struct atoll_outcome out = run("sgemm:small", (struct atoll_job){.max_instructions = 20000});
    assert_true(out.stopped);
    assert_in_range(out.warp_instructions, 20000, 20000 + SMS * SCHEDULERS - 1);
    assert_non_null(strstr(out.report, "stopped by --max-instructions"));
    atoll_outcome_free(&out);
}

static void ascii_reports_are_ascii(void **state)
{
    (void)state;
    struct atoll_outcome out = run("vecadd:tiny", (struct atoll_job){.ascii = true, .details = true});
    for (const char *c = out.report; *c; c++) assert_true(*c == '\n' || (*c >= ' ' && *c < 0x7f));
    atoll_outcome_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_in_which_little_happens_is_bound_by_latency),
        cmocka_unit_test(schedulers_that_issue_are_bound_by_compute),
        cmocka_unit_test(busy_units_count_as_compute),
        cmocka_unit_test(channels_at_nine_tenths_of_their_peak_are_the_bound),
        cmocka_unit_test(of_two_full_resources_the_one_nearer_to_its_limit_is_named),
        cmocka_unit_test(one_busy_slice_is_a_hot_spot),
        cmocka_unit_test(links_between_gpus_have_a_peak_and_can_be_what_bounds_a_run),
        cmocka_unit_test(slices_that_cannot_send_on_are_a_bound_of_the_busiest_level_above),
        cmocka_unit_test(reads_that_take_long_are_a_bound_of_what_they_queue_up_for),
        cmocka_unit_test(reads_behind_full_channels_are_a_bound_of_dram),
        cmocka_unit_test(misses_that_do_not_get_away_are_a_bound_of_what_stops_the_slices),
        cmocka_unit_test(the_busiest_channel_counts_not_the_mean),
        cmocka_unit_test(full_mshrs_are_a_bound_of_the_l1_unless_reads_queue_up),
        cmocka_unit_test(a_busy_link_comes_before_sms_without_work),
        cmocka_unit_test(links_without_credit_are_a_bound_of_their_buffers_or_of_the_receivers),
        cmocka_unit_test(busy_walkers_are_a_bound_of_translation),
        cmocka_unit_test(idle_sms_are_a_matter_of_the_launch),
        cmocka_unit_test(gaps_before_launches_are_left_out),
        cmocka_unit_test(nothing_at_all_is_bound_by_nothing),
        cmocka_unit_test(counts_are_grouped_and_shortened),
        cmocka_unit_test(bars_are_as_long_as_their_share_and_never_hide_a_little),
        cmocka_unit_test(rounded_shares_add_up_to_the_whole),
        cmocka_unit_test(long_texts_are_wrapped_between_words),
        cmocka_unit_test(a_timeline_keeps_at_most_its_limit_and_says_so),
        cmocka_unit_test(a_result_holds_what_the_contract_names_and_agrees_with_itself),
        cmocka_unit_test(the_links_of_each_stage_carry_what_the_network_carries),
        cmocka_unit_test(networks_of_a_level_are_taken_together_and_their_links_named),
        cmocka_unit_test(the_busiest_sender_is_an_sm_on_which_a_block_ran),
        cmocka_unit_test(the_depth_of_queues_is_the_time_that_was_waited_over_the_time_of_the_run),
        cmocka_unit_test(what_is_not_counted_in_a_run_is_not_shown_as_a_number),
        cmocka_unit_test(the_report_says_why_lookahead_windows_are_off),
        cmocka_unit_test(a_trace_is_json_in_which_every_block_has_its_place),
        cmocka_unit_test(a_limit_stops_a_run_within_one_cycle_of_the_machine),
        cmocka_unit_test(ascii_reports_are_ascii),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
