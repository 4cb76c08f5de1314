/* carve: the remote data cache (llc/rdc.h) and the coherence of copies in other GPUs (llc/coherence.h), on machines
 * of small GPUs: one SM, one slice and one channel each, everything at 1 GHz. */
#include "llc/coherence.h"
#include "llc/rdc.h"
#include "system/warm.h"
#include "system_testbed.h"

#define GPUS(n) \
    "system.gpus=" #n ";gpu_net.bandwidth=8 GB/s;gpu_net.latency=800 cycles;llc.organisation=numa;" \
    "runtime.placement=first_touch_gpu;map.kind=interleaved;map.page_size=4 KiB;llc.boundary=drop_remote;"
#define RDC       "rdc.size=128 KiB;rdc.write_queue=1024;"
#define HARDWARE  "llc.coherence=gpu_vi;"
#define DIRECTORY "llc.coherence=directory;"
#define A         0x100000

static struct slice *slice_at(const struct bed *b, uint32_t gpu) { return b->system->slices[gpu]; }
static struct rdc *rdc_at(const struct bed *b, uint32_t gpu) { return slice_at(b, gpu)->remote->rdc; }

/* Runs a block on each GPU below `gpus`; operations with from_block run on the GPUs from there on. */
static void run_on(struct bed *b, const struct bed_op *ops, uint32_t gpus)
{
    b->only_sms = gpus;
    bed_run(b, ops, 1, gpus);
    bed_settle(b);
}

static void done(void *arg) { ++*(uint32_t *)arg; }

/* The pass of a kernel boundary drops the lines of the LLC and leaves the RDC. */
static void drop_llc_lines(struct bed *b)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < b->system->slice_count; k++)
        slice_flush(slice_at(b, k), llc_boundary_drop_remote, false, done, &count);
    bed_settle(b);
    assert_int_equal(count, b->system->slice_count);
}

static uint64_t cyc(const struct fabric_side *side, uint32_t src, uint32_t dst, uint32_t bytes)
{
    return net_zero_load_cyc(side->net, src, dst, bytes);
}
static uint64_t far_cyc(const struct bed *b, enum net_direction d, uint32_t bytes, uint32_t from, uint32_t to)
{
    return cyc(system_net_at(b->system, NET_LEVEL_slice_net, d, from), 0, 1, bytes) +
           cyc(system_net_at(b->system, NET_LEVEL_gpu_net, d, 0), from, to, bytes) +
           cyc(system_net_at(b->system, NET_LEVEL_slice_net, d, to), 1, 0, bytes);
}

/* Latency of one load. */
static uint64_t load_cyc(struct bed *b, uint64_t address)
{
    const struct bed_op read[] = {BED_LOAD(address, 1), BED_USE(1), BED_END};
    b->only_sms = 1;
    bed_run(b, read, 1, 1);
    const uint64_t took = bed_cyc(b, 0, 0, 1);
    bed_settle(b);
    return took;
}

BED_TEST(a_miss_and_a_hit_cost_one_access_of_memory)
{
    static const struct bed_op warm[] = {BED_LOAD(A, 1, .from_block = 1), BED_END};
    struct bed b;
    bed_open(&b, GPUS(2) RDC HARDWARE);
    const struct config *const c = &b.machine.config;
    const uint64_t local = A + 0x200000;
    bed_touch(&b, 1, A, 1);
    bed_touch(&b, 0, local, 4096);
    run_on(&b, warm, 2); /* the home slice has the line */
    const uint64_t cold = load_cyc(&b, local);
    const uint64_t open_row = load_cyc(&b, local + 2 * LINE_BYTES); /* the same bank */
    assert_true(open_row < cold);
    const uint64_t tag_check = c->llc.fill_latency_cyc;
    const uint64_t link =
        far_cyc(&b, NET_REQUESTS, 8, 0, 1) + c->llc.latency_cyc + far_cyc(&b, NET_REPLIES, 136, 1, 0);
    assert_int_equal(load_cyc(&b, A), cold + link + tag_check);
    drop_llc_lines(&b);
    assert_int_equal(load_cyc(&b, A), open_row); /* the fill has opened the row */
    struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.probes, 2);
    assert_int_equal(s.rdc.hits, 1);
    assert_int_equal(s.rdc.fills, 1);
    assert_int_equal(s.llc.fetches, 1);
    assert_int_equal(s.gpu_net.accepted, 2); /* the RDC fetches the line once */
    assert_int_equal(s.gpu_net.accepted_bytes, 8 + 136);
    assert_int_equal(s.rdc.read_columns, 2 * 128 / c->dram.column_size);
    assert_int_equal(s.rdc.write_columns, 128 / c->dram.column_size);
    (void)load_cyc(&b, A); /* a hit of the LLC */
    s = bed_stats(&b);
    assert_int_equal(s.rdc.probes, 2);
    bed_close(&b);
}

/* Hit rate of the second of two sweeps by GPU 0 over as many lines of each other GPU as a quarter of the RDC. */
static double second_sweep(const char *settings)
{
    struct bed b;
    bed_open(&b, settings);
    const uint64_t bytes = b.machine.config.rdc.size / 4;
    for (uint32_t gpu = 1; gpu < 4; gpu++) bed_touch(&b, gpu, A + gpu * bytes, bytes);
    struct stats first;
    for (uint32_t k = 0; k < 2; k++) {
        first = bed_stats(&b);
        for (uint32_t gpu = 1; gpu < 4; gpu++) {
            const struct bed_op read[] = {BED_LOAD(A + gpu * bytes, 1, .stride = 128, .by_block = 4096),
                                          BED_USE(1), BED_END};
            b.only_sms = 1;
            bed_run(&b, read, 1, bytes / 4096);
            bed_settle(&b);
        }
    }
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.probes - first.rdc.probes, 3 * bytes / 128);
    assert_int_equal(s.rdc.fills, s.rdc.misses);
    bed_close(&b);
    return (double)(s.rdc.hits - first.rdc.hits) / (double)(s.rdc.probes - first.rdc.probes);
}

BED_TEST(the_index_decides_whether_homes_share_sets)
{
#define SWEEP GPUS(4) RDC HARDWARE "gpu.llc_size=2 KiB;llc.ways=16;"
    assert_true(second_sweep(SWEEP "rdc.index=staggered") == 1.0);
    assert_true(second_sweep(SWEEP "rdc.index=frame") == 0.0);
    const double hash = second_sweep(SWEEP "rdc.index=hash"); /* exp(-3/4) = 0.472 */
    assert_true(hash > 0.42 && hash < 0.52);
}

BED_TEST(the_region_is_above_all_frames_and_behind_its_slice)
{
    struct bed b;
    bed_open(&b,
             "gpu.llc_size=512 KiB;chiplet.partitions=4;gpu.memory_size=256 MiB;map.interleave=256 B;" GPUS(2)
                 RDC HARDWARE);
    const struct config *const c = &b.machine.config;
    assert_int_equal(dram_frames_per_colour(b.system->pages->frames[0]),
                     (c->gpu.memory_size - c->rdc.size) / c->map.page_size);
    uint64_t sets = 0;
    for (uint32_t k = 0; k < b.system->slice_count; k++) {
        const struct slice *const s = slice_at(&b, k);
        for (uint64_t set = 0; set < s->remote->rdc->sets; set++, sets++) {
            const uint64_t line = rdc_place_of(s, set);
            assert_int_equal(slice_home(s->spec, line), k % 4);
            assert_in_range(line * LINE_BYTES, c->gpu.memory_size - c->rdc.size,
                            c->gpu.memory_size - LINE_BYTES);
            if (set) assert_int_not_equal(line, rdc_place_of(s, set - 1));
        }
    }
    assert_int_equal(sets, 2 * c->rdc.size / LINE_BYTES);
    bed_close(&b);
}

/* ---- stores and atomics of the GPU that caches the line ---- */

BED_TEST(a_store_updates_the_line_and_an_atomic_clears_it)
{
    static const struct bed_op store[] = {BED_STORE(A, BED_NO_REG), BED_STORE(A + 128, BED_NO_REG), BED_END};
    static const struct bed_op atomic[] = {BED_MEMORY(ATOMIC, A, 2, BED_NO_REG, .mask = 1), BED_USE(2),
                                           BED_END};
    struct bed b;
    bed_open(&b, GPUS(2) RDC HARDWARE);
    bed_touch(&b, 1, A, 1);
    (void)load_cyc(&b, A);
    run_on(&b, store, 1); /* the RDC has the first line, not the second */
    struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.updates, 2);
    assert_int_equal(s.rdc.update_hits, 1);
    assert_int_equal(s.rdc.reads, 3);
    assert_int_equal(s.rdc.writes, 2);
    drop_llc_lines(&b);
    (void)load_cyc(&b, A);
    assert_int_equal(bed_stats(&b).rdc.hits, 1);
    run_on(&b, atomic, 1);
    s = bed_stats(&b);
    assert_int_equal(s.rdc.clears, 1);
    assert_int_equal(s.rdc.clear_hits, 1);
    (void)load_cyc(&b, A);
    s = bed_stats(&b);
    assert_int_equal(s.rdc.hits, 1);
    assert_int_equal(s.rdc.cold, 1); /* a cleared set is not cold */
    bed_close(&b);
}

/* ---- invalidations ---- */

/* Invalidations of one store to a line of GPU 0, by GPU `writer`, after the first `readers` of the other GPUs have
 * read the line. */
static struct stats store_after_reads(const char *settings, uint32_t readers, uint32_t writer, bool drop)
{
    struct bed b;
    bed_open(&b, settings);
    bed_touch(&b, 0, A, 1);
    const struct bed_op read[] = {BED_LOAD(A, 1, .from_block = 1), BED_USE(1), BED_END};
    const struct bed_op write[] = {BED_STORE(A, BED_NO_REG, .from_block = writer), BED_END};
    run_on(&b, read, readers + 1);
    if (drop) drop_llc_lines(&b);
    const struct stats before = bed_stats(&b);
    run_on(&b, write, writer + 1);
    struct stats s = bed_stats(&b);
    stats_subtract(&s, &before, &s);
    bed_close(&b);
    return s;
}

BED_TEST(a_store_to_a_shared_line_invalidates_all_gpus_but_home_and_writer)
{
    struct stats s = store_after_reads(GPUS(4) HARDWARE, 1, 0, false);
    assert_int_equal(s.coherence.sent, 3); /* writer at home: N - 1 */
    assert_int_equal(s.coherence.acks, 3);
    assert_int_equal(s.coherence.useful, 1);
    assert_int_equal(s.coherence.held, 1);
    s = store_after_reads(GPUS(4) HARDWARE, 1, 2, false);
    assert_int_equal(s.coherence.sent, 2); /* N - 2 */
    s = store_after_reads(GPUS(4) HARDWARE RDC, 3, 0, true);
    assert_int_equal(s.coherence.sent, 3);
    assert_int_equal(s.coherence.useful, 3); /* found in the RDCs */
    assert_int_equal(s.rdc.clear_hits, 3);
    s = store_after_reads(GPUS(2) HARDWARE, 1, 1, false);
    assert_int_equal(s.coherence.sent, 0);
    s = store_after_reads(GPUS(8) HARDWARE, 5, 0, false);
    assert_int_equal(s.coherence.sent, 7);
}

BED_TEST(a_directory_invalidates_the_readers_only)
{
    for (uint32_t readers = 0; readers < 4; readers++) {
        const struct stats s = store_after_reads(GPUS(4) DIRECTORY, readers, 0, false);
        assert_int_equal(s.coherence.sent, readers);
        assert_int_equal(s.coherence.useful, readers);
    }
    /* the writer keeps its own copy */
    const struct stats s = store_after_reads(GPUS(4) DIRECTORY, 3, 2, false);
    assert_int_equal(s.coherence.sent, 2);
}

/* The reply of a store says that no copy can be read any more. A second store therefore waits for the invalidations of
 * the first one, although the directory has no reader and the line is private by then. It sends none. */
BED_TEST(a_store_waits_for_the_invalidations_in_flight)
{
    static const char *const machines[] = {GPUS(2) DIRECTORY, GPUS(2) HARDWARE "imst.demote=1"};
    static const struct bed_op read[] = {BED_LOAD(A, 1, .from_block = 1), BED_USE(1), BED_END};
    static const struct bed_op write[] = {BED_STORE(A, BED_NO_REG), BED_STORE(A, BED_NO_REG), BED_END};
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        bed_open(&b, machines[k]);
        bed_touch(&b, 0, A, 1);
        run_on(&b, read, 2);
        run_on(&b, write, 1);
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.coherence.sent, 1);
        assert_int_equal(s.coherence.held, 2);
        assert_int_equal(s.coherence.joined, 1);
        assert_int_equal(s.coherence.useful, 1);
        run_on(&b, write, 1); /* no copy, nothing in flight */
        assert_int_equal(bed_stats(&b).coherence.held, 2);
        bed_close(&b);
    }
}

/* A line of GPU 0 among four, at its home: `gpu` has read or written it. Invalidations that are to be sent. */
static uint32_t after_read(const struct bed *b, uint32_t gpu)
{
    const struct request r = {.home.line = A / LINE_BYTES, .via = (uint16_t)(gpu ? gpu + 1 : 0)};
    coherence_on_read(slice_at(b, 0), &r);
    return (uint32_t)slice_at(b, 0)->remote->coherence->unsent.count;
}
static uint32_t after_write(const struct bed *b, uint32_t gpu)
{
    struct slice *const s = slice_at(b, 0);
    struct request r = {
        .home.line = A / LINE_BYTES, .via = (uint16_t)(gpu ? gpu + 1 : 0), .kind = REQUEST_WRITE};
    coherence_on_write(s, engine_now(s->wire.engine, s->wire.domain), &r);
    const struct coherence_round *const round = &s->remote->coherence->rounds[r.round - 1];
    return r.round ? (uint32_t)__builtin_popcountll(round->unsent) : 0;
}
static void make_invalidations(const struct bed *b)
{
    struct slice *const s = slice_at(b, 0);
    bool sent;
    (void)coherence_send(s, engine_now(s->wire.engine, s->wire.domain) + 1, &sent);
    assert_int_equal(s->remote->coherence->unsent.count, 0);
    engine_wake(s->wire.engine, s->component, engine_now(s->wire.engine, s->wire.domain) + 2);
}

BED_TEST(stores_share_invalidations_unless_a_copy_was_fetched_since)
{
    struct bed b;
    bed_open(&b, GPUS(4) HARDWARE "imst.demote=0");
    const struct coherence *const k = slice_at(&b, 0)->remote->coherence;
    (void)after_read(&b, 1);
    assert_int_equal(after_write(&b, 0), 3); /* a round to GPUs 1 to 3 */
    (void)after_read(&b, 1);
    assert_int_equal(after_write(&b, 0), 3); /* joins: no INVALIDATE has been made */
    assert_int_equal(after_write(&b, 2), 3);
    make_invalidations(&b);
    assert_int_equal(after_write(&b, 0), 0); /* joins: nothing was served since */
    assert_int_equal(after_write(&b, 3), 0);
    (void)after_read(&b, 1);
    assert_int_equal(after_write(&b, 2), 1); /* a round to GPU 1 alone, behind the first one */
    make_invalidations(&b);
    (void)after_read(&b, 1);
    (void)after_read(&b, 3);
    assert_int_equal(after_write(&b, 1), 1); /* GPU 3; the writer keeps its copy */
    assert_int_equal(after_write(&b, 0), 2); /* and GPU 1 in the same round */
    assert_int_equal(k->stats->joined, 4);
    make_invalidations(&b);
    bed_settle(&b);
    assert_int_equal(k->stats->sent, 3 + 1 + 2);
    assert_int_equal(k->stats->acks, 3 + 1 + 2);
    assert_int_equal(k->active.count, 0);
    assert_int_equal(after_write(&b, 3), 2); /* still shared, nothing in flight */
    bed_close(&b);
}

/* Mean time that stores to eight lines wait for their acknowledgements while the other GPU reads its own memory. */
static uint64_t held_cyc(const char *settings, uint32_t reads)
{
    struct bed b;
    bed_open(&b, settings);
    const uint64_t local = A + 0x100000;
    bed_touch(&b, 0, A, 4096);
    bed_touch(&b, 1, local, 0x80000);
    const struct bed_op share[] = {BED_LOAD(A, 1, .stride = 128, .mask = 255, .from_block = 1), BED_USE(1),
                                   BED_END};
    run_on(&b, share, 2);
    struct bed_op ops[BED_OPS_MAX] = {BED_STORE(A, BED_NO_REG, .stride = 128, .mask = 255)};
    for (uint32_t k = 1; k <= reads; k++)
        ops[k] =
            (struct bed_op)BED_LOAD(local + k * 4096, (uint8_t)(1 + k % 60), .stride = 128, .from_block = 1);
    ops[reads + 1] = (struct bed_op)BED_END;
    run_on(&b, ops, 2);
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.coherence.held, 8);
    bed_close(&b);
    return s.coherence.held_cyc / 8;
}

BED_TEST(invalidations_do_not_wait_for_an_idle_channel)
{
#define SCARCE \
    GPUS(2) \
    HARDWARE \
    "rdc.size=128 KiB;rdc.write_queue=2;imst.demote=0;sm.loads=64;dram.queue_entries=8;net.width=128 " \
    "B;llc.port=128 B;"
    const uint64_t idle = held_cyc(SCARCE, 0), busy = held_cyc(SCARCE, 100);
    /* eight tag reads and writes, each behind what llc.memory_queue holds: about 8 x 2 x 9 lines of 8 cycles */
    assert_true(busy < idle + 1200);
}

/* State of the line at its home. */
static uint64_t state_of(const struct bed *b)
{
    const struct map *const lines = &slice_at(b, 0)->remote->coherence->lines;
    assert_true(lines->count <= 1);
    size_t cursor = 0;
    const struct map_entry *const e = map_next(lines, &cursor);
    return e ? e->value : 0;
}

BED_TEST(private_lines_cost_nothing_and_states_outlive_the_line)
{
    static const struct bed_op stream[] = {BED_STORE(A, BED_NO_REG, .stride = 128, .by_block = 4096),
                                           BED_END};
    uint64_t took[2];
    for (uint32_t k = 0; k < 2; k++) {
        struct bed b;
        bed_open(&b, k ? GPUS(2) HARDWARE : GPUS(2));
        b.only_sms = 1;
        bed_run(&b, stream, 1, 16);
        took[k] = b.end_cyc - b.start_cyc;
        assert_int_equal(bed_stats(&b).coherence.sent, 0);
        bed_close(&b);
    }
    assert_int_equal(took[0], took[1]);

    static const struct bed_op read[] = {BED_LOAD(A, 1, .from_block = 1), BED_USE(1), BED_END};
    static const struct bed_op write[] = {BED_STORE(A, BED_NO_REG), BED_END};
    struct bed b;
    bed_open(&b, GPUS(2) HARDWARE "imst.demote=0");
    bed_touch(&b, 0, A, 1);
    run_on(&b, write, 1);
    assert_int_equal(state_of(&b), IMST_PRIVATE);
    run_on(&b, read, 2);
    assert_int_equal(state_of(&b), IMST_READ_SHARED);
    uint32_t count = 0;
    slice_flush(slice_at(&b, 0), llc_boundary_flush, false, done,
                &count); /* the line leaves its home slice */
    bed_settle(&b);
    run_on(&b, write, 1);
    assert_int_equal(state_of(&b), IMST_WRITE_SHARED);
    assert_int_equal(bed_stats(&b).coherence.sent, 1);
    run_on(&b, write, 1); /* still shared: without a demotion every store broadcasts */
    assert_int_equal(bed_stats(&b).coherence.sent, 2);
    bed_close(&b);
    bed_open(&b, GPUS(2) HARDWARE "imst.demote=1");
    bed_touch(&b, 0, A, 1);
    run_on(&b, read, 2);
    run_on(&b, write, 1);
    assert_int_equal(state_of(&b), IMST_PRIVATE);
    run_on(&b, write, 1);
    assert_int_equal(bed_stats(&b).coherence.sent, 1);
    assert_int_equal(bed_stats(&b).coherence.demotions, 1);
    bed_close(&b);
}

static void the_sharing_states_follow_their_table(void **state)
{
    enum { U = IMST_UNCACHED, P = IMST_PRIVATE, R = IMST_READ_SHARED, W = IMST_WRITE_SHARED };
    /* local read, local write, remote read, remote write */
    static const uint8_t next[IMST_STATES][COHERENCE_EVENTS] = {
        [U] = {P, P, R, W}, [P] = {P, P, R, W}, [R] = {R, W, R, W}, [W] = {W, W, W, W}};
    (void)state;
    for (uint32_t from = 0; from < IMST_STATES; from++)
        for (uint32_t e = 0; e < COHERENCE_EVENTS; e++) {
            const struct imst_step step = imst_step_of((enum imst_state)from, (enum coherence_event)e);
            const bool writes = e == COHERENCE_LOCAL_WRITE || e == COHERENCE_REMOTE_WRITE;
            assert_int_equal(step.next, next[from][e]);
            assert_int_equal(step.broadcast, writes && from >= R);
        }
}

/* The machine leaves the home of a line in the state of the table and sends its packets, whether the line is still in
 * the home slice or not. */
static void expect_step(enum imst_state from, enum coherence_event e, bool leaves)
{
    static const struct bed_op read_0[] = {BED_LOAD(A, 1), BED_USE(1), BED_END};
    static const struct bed_op write_0[] = {BED_STORE(A, BED_NO_REG), BED_END};
    static const struct bed_op read_1[] = {BED_LOAD(A, 1, .from_block = 1), BED_USE(1), BED_END};
    static const struct bed_op write_1[] = {BED_STORE(A, BED_NO_REG, .from_block = 1), BED_END};
    static const struct bed_op read_2[] = {BED_LOAD(A, 1, .from_block = 2), BED_USE(1), BED_END};
    static const struct bed_op write_2[] = {BED_STORE(A, BED_NO_REG, .from_block = 2), BED_END};
    static const struct bed_op *const before[IMST_STATES] = {NULL, write_0, read_1, write_1},
                                      *const event[COHERENCE_EVENTS] = {read_0, write_0, read_2, write_2};
    const bool writes = e == COHERENCE_LOCAL_WRITE || e == COHERENCE_REMOTE_WRITE;
    const uint32_t packets = writes && from >= IMST_READ_SHARED ? e == COHERENCE_LOCAL_WRITE ? 3 : 2 : 0;
    uint64_t state = imst_step_of(from, e).next;
    if (from == IMST_UNCACHED && e == COHERENCE_LOCAL_READ) state = IMST_UNCACHED; /* not reported */
    struct bed b;
    uint32_t count = 0;
    bed_open(&b, GPUS(4) HARDWARE "imst.demote=0");
    bed_touch(&b, 0, A, 1);
    if (before[from]) run_on(&b, before[from], from == IMST_PRIVATE ? 1 : 2);
    assert_int_equal(state_of(&b), from);
    if (leaves) slice_flush(slice_at(&b, 0), llc_boundary_flush, false, done, &count);
    bed_settle(&b);
    run_on(&b, event[e], e <= COHERENCE_LOCAL_WRITE ? 1 : 3);
    assert_int_equal(state_of(&b), state);
    assert_int_equal(bed_stats(&b).coherence.sent, packets);
    assert_int_equal(bed_stats(&b).coherence.acks, packets);
    bed_close(&b);
}

BED_TEST(homes_follow_the_table_before_and_after_the_line_left)
{
    for (uint32_t from = 0; from < IMST_STATES; from++)
        for (uint32_t e = 0; e < COHERENCE_EVENTS; e++)
            for (uint32_t leaves = 0; leaves < 2; leaves++)
                expect_step((enum imst_state)from, (enum coherence_event)e, leaves);
}

/* A remote write allocates nothing, so a line that no other GPU has read may stay private. */
BED_TEST(a_remote_write_may_leave_a_line_private)
{
    static const struct bed_op write[] = {BED_STORE(A, BED_NO_REG, .from_block = 1), BED_END};
    for (uint32_t shares = 0; shares < 2; shares++) {
        struct bed b;
        bed_open(&b, shares ? GPUS(4) HARDWARE "imst.demote=0"
                            : GPUS(4) HARDWARE "imst.demote=0;imst.remote_write_shares=false");
        bed_touch(&b, 0, A, 1);
        run_on(&b, write, 2);
        run_on(&b, write, 2);
        assert_int_equal(state_of(&b), shares ? IMST_WRITE_SHARED : IMST_PRIVATE);
        assert_int_equal(bed_stats(&b).coherence.sent, shares ? 2 : 0);
        bed_close(&b);
    }
}

BED_TEST(a_write_of_the_host_drops_copies_in_other_gpus)
{
    struct bed b;
    bed_open(&b, GPUS(2) RDC HARDWARE);
    bed_touch(&b, 1, A, 4096);
    (void)load_cyc(&b, A);
    (void)load_cyc(&b, A + 512);
    system_host_wrote(b.system, 0, A + 100, 8); /* of the first line */
    struct stats s = bed_stats(&b);
    assert_int_equal(s.coherence.host_drops, 1);
    assert_int_equal(s.rdc.host_drops, 1);
    (void)load_cyc(&b, A);
    (void)load_cyc(&b, A + 512);
    s = bed_stats(&b);
    assert_int_equal(s.rdc.misses, 3); /* the first line again, the other one hits in the LLC */
    assert_int_equal(s.rdc.probes, 3);
    bed_close(&b);
}

/* ---- epochs ---- */

BED_TEST(an_epoch_ends_lines_and_a_roll_over_resets_the_region)
{
    struct bed b;
    bed_open(&b, GPUS(2) RDC "rdc.epoch_bits=2");
    struct organisation *const o = &b.system->organisations[0];
    bed_touch(&b, 1, A, 1);
    const uint64_t sets = rdc_at(&b, 0)->sets;
    for (uint32_t kernel = 0; kernel < 5; kernel++) {
        drop_llc_lines(&b);
        (void)load_cyc(&b, A); /* never hits: the line is of the epoch before */
        drop_llc_lines(&b);
        (void)load_cyc(&b, A); /* hits in the same epoch */
        const struct stats s = bed_stats(&b);
        assert_int_equal(s.rdc.misses, kernel + 1);
        assert_int_equal(s.rdc.hits, kernel + 1);
        assert_int_equal(s.rdc.resets, kernel / 4);
        assert_int_equal(s.rdc.reset_lines, kernel / 4 * sets);
        assert_int_equal(o->epoch.value, kernel);
        organisation_skip_pass(o);
        organisation_skip_pass(o); /* nothing was kept in this epoch: it goes on */
        bed_settle(&b);
    }
    const struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.stale, 3);
    assert_true(s.rdc.wait_reset > sets); /* one write of memory per set */
    bed_close(&b);
}

/* ---- stores that stay (rdc.write back) ---- */

#define BACK RDC "rdc.write=back;rdc.write_backs=1024;packet.write=physical;"

/* GPU 0 loads `lines` lines of GPU 1, each in a region of its own, or all in a row. Then it stores to them. */
static void dirty_lines(struct bed *b, const char *settings, uint32_t lines, uint64_t apart, uint32_t lanes)
{
    bed_open(b, settings);
    bed_touch(b, 1, A, lines * apart);
    const struct bed_op read[] = {BED_LOAD(A, 1, .by_block = (int64_t)apart), BED_USE(1), BED_END};
    const struct bed_op write[] = {BED_STORE(A, BED_NO_REG, .by_block = (int64_t)apart, .mask = lanes),
                                   BED_END};
    b->only_sms = 1;
    bed_run(b, read, 1, lines);
    bed_settle(b);
    bed_run(b, write, 1, lines);
    bed_settle(b);
}

/* Effect of the pass at a kernel end on these lines. */
static struct stats flush_of(uint32_t lines, uint64_t apart, uint32_t lanes)
{
    struct bed b;
    dirty_lines(&b, GPUS(2) BACK, lines, apart, lanes);
    const struct stats before = bed_stats(&b);
    assert_int_equal(before.rdc.kept, lines);
    assert_int_equal(before.gpu_net.accepted, 2 * lines); /* the fetches: no store has left the GPU */
    drop_llc_lines(&b);
    struct stats s = bed_stats(&b);
    stats_subtract(&s, &before, &s);
    assert_int_equal(s.rdc.back_lines, lines);
    assert_int_equal(s.rdc.backs, lines);
    assert_int_equal(s.rdc.backs_answered, lines);
    assert_int_equal(s.rdc.back_regions, lines * apart / 4096);
    assert_int_equal(s.rdc.back_scanned, lines * apart / 4096 * 32);
    const uint64_t bytes = 4 * (uint64_t)__builtin_popcount(lanes);
    assert_int_equal(s.rdc.back_bytes, lines * bytes);
    assert_int_equal(s.gpu_net.accepted_bytes, lines * (8 + bytes + 8)); /* store and acknowledgement */
    drop_llc_lines(&b);                                                  /* nothing is left */
    assert_int_equal(bed_stats(&b).rdc.backs, lines);
    bed_close(&b);
    return s;
}

BED_TEST(a_flush_takes_the_time_of_the_link_or_of_the_channel)
{
    /* whole lines: the link carries 136 B of each at 8 B per cycle, memory reads a line in two columns */
    const uint64_t whole = flush_of(192, 128, UINT32_MAX).rdc.wait_flush;
    assert_int_equal(whole - flush_of(64, 128, UINT32_MAX).rdc.wait_flush, 128 * 136 / 8);
    /* a word in every region: memory reads all of its 32 lines, and the link carries 12 B */
    const uint64_t word = flush_of(6, 4096, 1).rdc.wait_flush;
    assert_in_range(word - flush_of(2, 4096, 1).rdc.wait_flush, 4 * 32 * 2, 4 * 32 * 2 + 4);
    /* no line waits for another one: a read of memory, and the link there and back */
    assert_in_range(flush_of(1, 4096, 1).rdc.wait_flush, 2 * 800, 2 * 800 + 200);
}

/* Latency of a fence of GPU scope behind stores. */
static uint64_t fence_cyc(struct bed *b, uint64_t address)
{
    const struct bed_op ops[] = {BED_STORE(address, BED_NO_REG),
                                 {.class = WARP_CLASS_FENCE,
                                  .flags = WARP_F_ACQUIRE | WARP_F_RELEASE,
                                  .scope = WARP_SCOPE_GPU,
                                  .dst = BED_NO_REG,
                                  .src = BED_NO_REG},
                                 BED_ARITH(INT, BED_NO_REG, BED_NO_REG),
                                 BED_END};
    b->only_sms = 1;
    bed_run(b, ops, 1, 1);
    const uint64_t took = bed_cyc(b, 0, 0, 1) - b->start_cyc;
    bed_settle(b);
    return took;
}

BED_TEST(a_fence_waits_for_the_dirty_lines_of_its_own_gpu)
{
    static const struct bed_op other[] = {BED_STORE(A, BED_NO_REG, .from_block = 1), BED_END};
    struct bed b;
    dirty_lines(&b, GPUS(2) BACK, 40, 128, UINT32_MAX);
    bed_touch(&b, 0, A + 0x200000, 4096);
    struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.backs, 0);
    const uint64_t dirty = fence_cyc(&b, A + 0x200000); /* a store to the own memory, and 40 dirty lines */
    s = bed_stats(&b);
    assert_int_equal(s.rdc.backs, 40);
    assert_int_equal(s.rdc.back_regions, 2);
    const uint64_t clean = fence_cyc(&b, A + 0x200000);
    assert_true(dirty > clean + 40 * 136 / 8 + 2 * 800); /* the link, there and back */
    run_on(&b, other, 2);                                /* GPU 1 writes its own memory */
    (void)fence_cyc(&b, A + 0x200000);
    assert_int_equal(bed_stats(&b).rdc.backs, 40);
    bed_close(&b);
}

BED_TEST(requests_and_fills_drive_dirty_bytes_home)
{
    static const struct bed_op atomic[] = {BED_MEMORY(ATOMIC, A, 2, BED_NO_REG, .mask = 1), BED_USE(2),
                                           BED_END};
    struct bed b;
    dirty_lines(&b, GPUS(2) BACK, 2, 128, 1);
    run_on(&b, atomic, 1); /* the bytes first, then the atomic */
    struct stats s = bed_stats(&b);
    assert_int_equal(s.rdc.back_called, 1);
    assert_int_equal(s.rdc.back_bytes, 4);
    assert_int_equal(s.rdc.clear_hits, 1);
    assert_true(s.rdc.wait_back > 0);
    const uint64_t conflict = A + 128 + b.machine.config.rdc.size; /* the set of the other line */
    for (uint64_t page = A + 0x1000; page <= conflict; page += 4096) bed_touch(&b, 1, page, 1);
    (void)load_cyc(&b, conflict);
    s = bed_stats(&b);
    assert_int_equal(s.rdc.back_victims, 1);
    assert_int_equal(s.rdc.backs, 2);
    assert_int_equal(s.rdc.evictions, 1);
    drop_llc_lines(&b);
    assert_int_equal(bed_stats(&b).rdc.backs, 2);
    bed_close(&b);
}

/* ---- rules ---- */

static const struct {
    const char *preset, *settings, *message;
} impossible[] = {
    {"carve", "system.gpus=1", "set system.gpus to 2 or more"},
    {"carve-swc", "system.gpus=1", "a remote data cache holds lines of other GPUs"},
    {"carve", "rdc.size=40 GiB", "rdc.size exceeds the memory of a GPU"},
    {"carve", "rdc.size=3000 KiB", "rdc.size is no whole number of pages"},
    {"carve", "llc.sectored=true", "a remote data cache holds whole lines"},
    {"carve-swc", "llc.organisation=sm_side",
     "a remote data cache needs slices that cache lines of other GPUs"},
    {"carve-swc", "llc.boundary=keep", "a numa LLC keeps stale lines of other chiplets"},
    {"carve", "map.kind=fixed_channel", "a remote data cache lies in every channel"},
    {"carve", "rdc.epoch_bits=0", "rdc.epoch_bits"},
    {"carve", "rdc.write=back", "with invalidations a home must see every store"},
    {"numa-gpu", "rdc.write=back", "rdc.write back needs a remote data cache"},
    {"carve", "rdc.epoch_bits=21", "rdc.epoch_bits"},
    {"v100", "llc.coherence=gpu_vi", "set llc.organisation to numa and system.gpus to 2 or more"},
    {"v100", "rdc.size=1 GiB", "a remote data cache holds lines of other GPUs"},
};

struct loading {
    size_t row;
    struct machine machine;
};

static void load_impossible(void *arg)
{
    struct loading *const l = arg;
    machine_load(&l->machine, impossible[l->row].preset);
    machine_set(&l->machine, impossible[l->row].settings);
    machine_finish(&l->machine, &system_rules);
}

static void impossible_settings_are_explained(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof impossible / sizeof *impossible; k++) {
        struct loading l = {.row = k};
        struct diag d;
        diag_init(&d);
        machine_init(&l.machine);
        assert_int_equal(diag_run(&d, load_impossible, &l), DIAG_MISTAKE);
        if (!strstr(d.text, impossible[k].message)) fail_msg("%s: %s", impossible[k].settings, d.text);
        diag_clear(&d);
        machine_free(&l.machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_miss_and_a_hit_cost_one_access_of_memory),
        cmocka_unit_test(the_index_decides_whether_homes_share_sets),
        cmocka_unit_test(the_region_is_above_all_frames_and_behind_its_slice),
        cmocka_unit_test(a_store_updates_the_line_and_an_atomic_clears_it),
        cmocka_unit_test(a_store_to_a_shared_line_invalidates_all_gpus_but_home_and_writer),
        cmocka_unit_test(a_directory_invalidates_the_readers_only),
        cmocka_unit_test(a_store_waits_for_the_invalidations_in_flight),
        cmocka_unit_test(stores_share_invalidations_unless_a_copy_was_fetched_since),
        cmocka_unit_test(invalidations_do_not_wait_for_an_idle_channel),
        cmocka_unit_test(private_lines_cost_nothing_and_states_outlive_the_line),
        cmocka_unit_test(the_sharing_states_follow_their_table),
        cmocka_unit_test(homes_follow_the_table_before_and_after_the_line_left),
        cmocka_unit_test(a_remote_write_may_leave_a_line_private),
        cmocka_unit_test(a_write_of_the_host_drops_copies_in_other_gpus),
        cmocka_unit_test(impossible_settings_are_explained),
        cmocka_unit_test(an_epoch_ends_lines_and_a_roll_over_resets_the_region),
        cmocka_unit_test(a_flush_takes_the_time_of_the_link_or_of_the_channel),
        cmocka_unit_test(a_fence_waits_for_the_dirty_lines_of_its_own_gpu),
        cmocka_unit_test(requests_and_fills_drive_dirty_bytes_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
