/* The GPU against cases with a closed answer: latencies as sums of their parts, bandwidths of each level,
 * slopes of a hot line, hit rates of known streams, what scales with channels and what does not. */
#include "net/net_level.h"
#include "network_alone.h"
#include "system_testbed.h"

#define ENDS(...) ((const struct bed_op[]){__VA_ARGS__, BED_END})

static const uint64_t A = 0x10000000;
enum { WARPS = 32, COLUMN_BYTES = 64 };

static uint64_t ticks(const struct config *c, uint64_t hz) { return config_tick_frequency(c) / hz; }
static uint64_t up(uint64_t x, uint64_t by) { return (x + by - 1) / by * by; }

/* ---- latency: a pointer chase is a chain of these ---- */

/* Issue of a load by SM 0 at SM cycle `issue` > its first use. All but the memory channel share a clock. */
static uint64_t expected_cyc(struct bed *b, uint64_t line, uint64_t issue, bool from_memory, uint32_t sectors)
{
    const struct config *c = &b->machine.config;
    const uint64_t sm = ticks(c, c->clock.sm), dram = ticks(c, c->clock.dram);
    const struct home h = mmu_home(b->system->mmus[0], 0, 0, line);
    uint64_t now = issue + 1;
    now += net_zero_load_cyc(b->system->fabrics->request.net, 0, h.slice, (uint32_t)c->packet.header);
    if (from_memory) {
        const uint32_t columns = c->llc.sectored ? 1 : 2;
        uint64_t t = up((now + c->llc.miss_latency_cyc) * sm, dram); /* the channel's next edge */
        /* accepted; activated in the next cycle; columns of one line are in one bank */
        const uint64_t between =
            c->dram.tccd_l_cyc > c->dram.burst_cyc ? c->dram.tccd_l_cyc : c->dram.burst_cyc;
        t += (1 + c->dram.trcd_rd_cyc + (columns - 1) * between + c->dram.tcl_cyc + c->dram.burst_cyc) * dram;
        if (c->llc.stacks) /* through a port of the stack's crossbar */
            t += up(columns * COLUMN_BYTES, c->llc.stack_width) / c->llc.stack_width * ticks(c, c->clock.llc);
        now = up(t, sm) / sm + c->llc.memory_latency_cyc + c->llc.fill_latency_cyc;
    } else {
        now += c->llc.latency_cyc;
    }
    now += net_zero_load_cyc(b->system->fabrics->reply.net, h.slice, 0,
                             (uint32_t)c->packet.header + 32 * sectors);
    return now + c->l1.fill_latency_cyc - issue;
}

/* Loads of one line each, every one after the use of the one before, each in a bank that is closed. */
static void chase(const char *preset, const char *settings)
{
    enum { LINES = 16 };
    struct bed b;
    struct bed_op ops[2 * LINES + 1];
    char all[256];
    (void)snprintf(all, sizeof all, "mmu.mode=ideal;dram.refresh=false;%s", settings);
    bed_open_machine(&b, preset, all);
    uint64_t address = A;
    uint64_t banks_used[256] = {0}; /* by channel */
    for (uint32_t k = 0; k < LINES; k++) {
        for (;; address += 0x11080) { /* a bank that no other line opens */
            mmu_touch(b.system->mmus[0], 0, pages_key(0, address >> mmu_page_log2(b.system->mmus[0])));
            const struct home h = mmu_home(b.system->mmus[0], 0, 0, address >> LINE_LOG2);
            const struct dram_place place = dram_map_place(b.system->map, h.line << LINE_LOG2);
            if (banks_used[place.channel] >> place.bank & 1) continue;
            banks_used[place.channel] |= (uint64_t)1 << place.bank;
            break;
        }
        ops[2 * k] = (struct bed_op)BED_LOAD(address, 1, .mask = 1);
        ops[2 * k + 1] = (struct bed_op)BED_USE(1);
    }
    ops[2 * LINES] = (struct bed_op)BED_END;
    const uint32_t sectors = b.machine.config.l1.sectored ? 1 : 4;
    const uint64_t first = b.machine.config.sm.start_latency_cyc;
    for (int from_memory = 1; from_memory >= 0; from_memory--) {
        bed_run(&b, ops, 1, 1);
        for (uint32_t k = 0; k < LINES; k++) {
            const uint64_t issue = bed_cyc(&b, 0, 0, 2 * k), took = bed_cyc(&b, 0, 0, 2 * k + 1) - issue;
            const uint64_t expected = expected_cyc(&b, ops[2 * k].base >> LINE_LOG2,
                                                   b.start_cyc + first + issue, from_memory, sectors);
            if (took != expected)
                fail_msg("%s, %s, line %u: %llu cycles, the parts are %llu", preset,
                         from_memory ? "DRAM" : "LLC", k, (unsigned long long)took,
                         (unsigned long long)expected);
        }
    }
    /* and once more in the same kernel: the L1 */
    bed_run(&b, ENDS(BED_LOAD(A, 1), BED_USE(1), BED_LOAD(A, 2), BED_USE(2)), 1, 1);
    assert_int_equal(bed_cyc(&b, 0, 0, 3) - bed_cyc(&b, 0, 0, 2), b.machine.config.l1.latency_cyc);
    bed_close(&b);
}

BED_TEST(unloaded_latency_is_the_sum_of_its_parts)
{
    chase("uba-mem", "");
    chase("selrep-shared", "");
    chase("gpu1", "");
    chase("v100", "");
}

/* Lines of the own partition, or half: over the links of the SM, or the crossbar of its half, and no further.
 */
BED_TEST(unloaded_latency_near_home_is_the_sum_of_its_parts)
{
    chase("nuba-norep", "runtime.placement=first_touch");
    chase("nuba-fullrep", "runtime.placement=first_touch");
    chase("nuba", "runtime.placement=first_touch");
    chase("uba-sm", "runtime.placement=first_touch");
    chase("mcm-uba", "runtime.placement=first_touch");
    chase("mcm-nuba", "runtime.placement=first_touch");
    chase("a100", "runtime.placement=first_touch");
}

/* ---- bandwidth: the time that twice as many loads take longer ---- */

/* In each load the lines of all warps follow each other. regions > 0: load i reads region i mod regions; 0:
 * all lines are different. Two blocks of 32 warps per SM. Returns lines per cycle of the whole GPU. */
static double read_rate(const char *preset, const char *settings, uint32_t n, uint64_t lines_read,
                        uint8_t flags)
{
    uint64_t cycles[2], lines = 0;
    struct bed_op ops[BED_OPS_MAX];
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        bed_open_machine(&b, preset, settings);
        const uint32_t blocks = 2 * b.system->sm_count, count = n << k;
        assert_true(count < BED_OPS_MAX);
        lines = (uint64_t)n * blocks * WARPS;
        for (uint32_t i = 0; i < count; i++) {
            ops[i] = (struct bed_op)BED_LOAD(A, (uint8_t)(1 + i % 32), .scatter_lines = lines_read,
                                             .flags = flags);
            if (lines_read) continue;
            ops[i].base += (uint64_t)i * blocks * WARPS * LINE_BYTES;
            ops[i].by_warp = LINE_BYTES;
            ops[i].by_block = LINE_BYTES * WARPS;
        }
        ops[count] = (struct bed_op)BED_END;
        bed_run(&b, ops, WARPS, blocks);
        cycles[k] = b.end_cyc - b.start_cyc;
        bed_close(&b);
    }
    return (double)lines / (double)(cycles[1] - cycles[0]);
}

/* 16 SMs, 16 slices, 8 channels. */
#define SMALL \
    "chiplet.partitions=8;gpu.llc_size=1536 KiB;gpu.memory_size=2 GiB;net.topology=crossbar;mmu.mode=ideal;" \
    "sm.scheduler=lrr;map.kind=pae;"
#define WIDE "net.width=256 B;net.input_speedup=4;net.iterations=4;llc.port=128 B;"

static void count_done(void *owner, uint64_t tag, enum dram_kind kind, uint64_t accept_cyc, uint64_t done_cyc)
{
    (void)tag, (void)kind, (void)accept_cyc, (void)done_cyc;
    ++*(uint64_t *)owner;
}

/* Bytes per cycle of its clock that the channel model alone carries of sequential reads, 16 banks in turn. */
static double channel_alone(const struct config *c)
{
    enum { LINES = 20000 };
    const struct dram_spec spec = dram_spec_of(c);
    struct arena a;
    uint64_t done = 0, now = 0, sent = 0;
    const struct dram_wiring wiring = {.owner = &done, .done = count_done};
    arena_init(&a);
    struct dram_channel *ch = dram_channel_new(&a, &spec, &wiring);
    for (; done < LINES; now++) {
        (void)dram_channel_step(ch, now);
        for (; sent < LINES; sent++) {
            const uint32_t per_row = spec.columns / 2;
            const struct dram_request q = {.kind = DRAM_READ,
                                           .bank = (uint32_t)(sent % 16),
                                           .row = (uint32_t)(sent / 16 / per_row),
                                           .column = (uint32_t)(sent / 16 % per_row) * 2,
                                           .column_count = 2};
            if (!dram_try_accept(ch, now, &q)) break;
        }
    }
    arena_free(&a);
    return (double)LINES * LINE_BYTES / (double)now;
}

/* Blocks come in order and read 16 KB each, as a vector addition does; enough of them that begin and end do
 * not count. One channel; all before it is wide. */
BED_TEST(a_stream_reaches_the_bandwidth_of_the_memory_channel)
{
#define ONE_CHANNEL \
    WIDE "chiplet.partitions=1;partition.sms=8;partition.channels=1;partition.slices=2;" \
         "gpu.llc_size=192 KiB;gpu.memory_size=256 MiB;net.topology=crossbar;mmu.mode=ideal"
#define ONE_PARTITION \
    WIDE "chiplet.partitions=1;partition.sms=8;partition.channels=1;partition.slices=2;" \
         "gpu.llc_size=192 KiB;gpu.memory_size=256 MiB;slice_net.topology=crossbar;mmu.mode=ideal"
    static const char *const presets[] = {"uba-mem", "selrep-shared", "gpu1", "v100", "nuba-norep", "nuba"};
    static const char *const settings[] = {ONE_CHANNEL,   ONE_CHANNEL ";llc.stacks=1;selrep.clusters=1",
                                           ONE_CHANNEL,   ONE_CHANNEL,
                                           ONE_PARTITION, ONE_PARTITION};
    for (size_t k = 0; k < sizeof presets / sizeof *presets; k++) {
        struct bed b;
        bed_open_machine(&b, presets[k], settings[k]);
        const struct config *c = &b.machine.config;
        const struct bed_op *reads = ENDS(BED_LOAD(A, 1, .by_warp = 128, .by_block = 16384),
                                          BED_LOAD(A + 4096, 2, .by_warp = 128, .by_block = 16384),
                                          BED_LOAD(A + 8192, 3, .by_warp = 128, .by_block = 16384),
                                          BED_LOAD(A + 12288, 4, .by_warp = 128, .by_block = 16384));
        bed_run(&b, reads, WARPS, 400);
        const double clocks = (double)c->clock.dram / (double)c->clock.sm;
        const double alone = channel_alone(c) * clocks,
                     got = 400.0 * 16384 / (double)(b.end_cyc - b.start_cyc);
        print_message("    %s: %.2f B/cycle, the channel alone %.2f: %.1f %%\n", presets[k], got, alone,
                      100 * got / alone);
        assert_true(got > 0.95 * alone && got < 1.05 * alone);
        bed_close(&b);
    }
}

/* A line of 128 B takes a 32 B port for four cycles; the network is wide. */
BED_TEST(reads_that_hit_the_llc_reach_the_slice_ports)
{
    const double peak = 16 / 4.0; /* lines per cycle of 16 slices */
    const double got = read_rate("uba-mem", SMALL WIDE "llc.port=32 B", 96, 4096, WARP_F_CACHE_L2);
    print_message("    %.3f of %.3f lines per cycle\n", got, peak);
    assert_true(got > 0.90 * peak && got <= peak * 1.001);
}

/* The network is the narrowest: 9 flits of 16 B per reply; e as the network alone has it under uniform load.
 */
BED_TEST(reads_that_hit_the_llc_reach_the_network)
{
    const double alone = network_alone("uba-mem", SMALL, 32);
    const double width = 16 / 9.0; /* replies per cycle of 16 ports */
    const double got =
        read_rate("uba-mem", SMALL "llc.port=128 B;l1.mshrs=31;sm.stores=1", 48, 4096, WARP_F_CACHE_L2);
    print_message("    e = %.3f, the network alone %.3f\n", got / width, alone / width);
    assert_true(got > 0.95 * alone && got <= width * 1.001);
}

/* ---- hot lines: k SMs, n lines in n slices, each read by all; replies of 9 flits leave one port ---- */

BED_TEST(a_hot_slice_gives_a_reply_every_nine_cycles)
{
    for (uint32_t sms = 2; sms <= 8; sms *= 2)
        for (uint32_t lines = 1; lines <= 4 && lines <= sms; lines *= 2) {
            uint64_t cycles[2];
            for (uint32_t k = 0; k < 2; k++) {
                char settings[256];
                struct bed b;
                struct bed_op ops[BED_OPS_MAX];
                (void)snprintf(settings, sizeof settings,
                               "mmu.mode=ideal;partition.sms=%u;chiplet.partitions=1;partition.slices=%u;"
                               "partition.channels=1;gpu.llc_size=%u KiB;gpu.memory_size=64 MiB;"
                               "net.topology=crossbar;sm.block_slots=1",
                               sms, lines, 96 * lines);
                bed_open_machine(&b, "uba-mem", settings);
                const uint32_t rounds = 20u << k;
                for (uint32_t i = 0; i < rounds; i++)
                    ops[i] = (struct bed_op)BED_LOAD(A + i % lines * LINE_BYTES, (uint8_t)(1 + i % 32),
                                                     .mask = 1, .flags = WARP_F_CACHE_L2);
                ops[rounds] = (struct bed_op)BED_END;
                bed_run(&b, ops, 1, sms);
                cycles[k] = b.end_cyc - b.start_cyc;
                bed_close(&b);
            }
            const uint64_t expected = 20ull * 9 * sms / lines; /* 20 rounds more of every SM: 9 k / n each */
            if (cycles[1] - cycles[0] != expected)
                fail_msg("%u SMs, %u lines: %llu cycles for 20 rounds, expected %llu", sms, lines,
                         (unsigned long long)(cycles[1] - cycles[0]), (unsigned long long)expected);
        }
}

/* ---- hit rates ---- */

/* LRU: a loop over as many lines as fit hits from the second round on; over one more set's worth it never
 * does. */
BED_TEST(loops_have_the_hit_rates_of_their_caches)
{
    for (uint32_t lines = 24; lines <= 25; lines++) {
        struct bed b;
        struct bed_op ops[BED_OPS_MAX];
        bed_open(&b, "l1.size=3 KiB;l1.ways=24");
        for (uint32_t i = 0; i < 4 * lines; i++) {
            ops[2 * i] = (struct bed_op)BED_LOAD(A + i % lines * LINE_BYTES, 1);
            ops[2 * i + 1] = (struct bed_op)BED_USE(1);
        }
        ops[8 * lines] = (struct bed_op)BED_END;
        bed_run(&b, ops, 1, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.l1.reads, 4 * lines);
        assert_int_equal(s.l1.hits, lines == 24 ? 3 * 24 : 0);
        assert_int_equal(s.l1.misses_replaced, lines == 24 ? 0 : 3 * 25);
        assert_int_equal(s.llc.read_hits, lines == 24 ? 0 : 3 * 25);
        bed_close(&b);
    }
}

/* ---- what scales with channels ---- */

static uint64_t compute_cyc(const char *channels)
{
    struct bed b;
    char settings[256];
    struct bed_op ops[129];
    (void)snprintf(settings, sizeof settings, "%s%s", SMALL, channels);
    bed_open_machine(&b, "uba-mem", settings);
    for (uint32_t i = 0; i < 128; i++)
        ops[i] = (struct bed_op)BED_ARITH(FP32, (uint8_t)(i % 8), (uint8_t)(i % 8));
    ops[128] = (struct bed_op)BED_END;
    bed_run(&b, ops, 8, 64);
    const uint64_t cycles = b.end_cyc - b.start_cyc;
    bed_close(&b);
    return cycles;
}

BED_TEST(compute_does_not_care_for_channels)
{
    assert_int_equal(compute_cyc("partition.channels=1"), compute_cyc("partition.channels=2"));
}

BED_TEST(twice_the_channels_serve_a_stream_in_half_the_time)
{
    static const char slow[] = SMALL WIDE "partition.slices=2;clock.dram=100 MHz;";
    char one[512], two[512];
    (void)snprintf(one, sizeof one, "%spartition.channels=1", slow);
    (void)snprintf(two, sizeof two, "%spartition.channels=2", slow);
    const double a = read_rate("uba-mem", one, 60, 0, 0), b = read_rate("uba-mem", two, 60, 0, 0);
    print_message("    %.3f and %.3f lines per cycle: %.3f times\n", a, b, b / a);
    assert_true(b > 1.9 * a && b < 2.1 * a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unloaded_latency_is_the_sum_of_its_parts),
        cmocka_unit_test(unloaded_latency_near_home_is_the_sum_of_its_parts),
        cmocka_unit_test(a_stream_reaches_the_bandwidth_of_the_memory_channel),
        cmocka_unit_test(reads_that_hit_the_llc_reach_the_slice_ports),
        cmocka_unit_test(reads_that_hit_the_llc_reach_the_network),
        cmocka_unit_test(a_hot_slice_gives_a_reply_every_nine_cycles),
        cmocka_unit_test(loops_have_the_hit_rates_of_their_caches),
        cmocka_unit_test(compute_does_not_care_for_channels),
        cmocka_unit_test(twice_the_channels_serve_a_stream_in_half_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
