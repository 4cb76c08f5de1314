/* golden_runs: runs a fixed set of small simulations and prints a digest per result item.
 *
 * The set is every preset of machines/ with three workloads, each plain and with --check, and the table of
 * special runs below. Presets that only scale another one have one run, and hbm-*, which describe one channel,
 * have none. tests/golden/golden.py compares the output with the record in tests/golden, and
 * tests/golden.sh starts both. The working directory is the root of the source tree.
 *
 *     golden_runs [--list] [--shard K/N] [--show] [PATTERN]    PATTERN: a shell pattern of run names
 *
 * Output, one record per line, fields separated by tabs:
 *     run NAME SAME_AS       a run starts; SAME_AS: a run that must give the same items, or empty.
 *                            `totals.slice_queues` may be absent: a window of slices does not measure it
 *     error CODE DIGEST TEXT the run failed; TEXT: the first line of the message
 *     config KEY VALUE       one parameter of the effective configuration
 *     item SECTION NAME DIGEST
 *     end COUNT              the program ran the whole selection
 *
 * An item is one key of a section of the JSON result. An array of records (kernels, apps, decisions) gives
 * one item per key, with the values of all records. An object in `totals` gives one item per value. Four
 * parts of the JSON result are no items: `host`, the statistics `engine.*`, which count activations of the
 * simulator, the sentence `bound_by_why`, and `laws_checked`, which counts the laws of the program. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "atoll.h"

struct run {
    char name[64];
    const char *machine;
    const char *workload; /* NULL: run_streams() */
    const char *settings; /* "a.b=c;d.e=f" */
    const char *same_as;  /* name of a run with the same items, or NULL */
    bool check;
    uint64_t max_instructions; /* 0: no limit */
};

#define PAGE_MOVES     "runtime.move_interval_cyc=1000;runtime.move_accesses=8;runtime.move_cost=100ns"
#define SHORT_PROFILES "selrep.profile_cyc=1000;selrep.period_cyc=4000;selrep.samples=1;selrep.sigmas=0"
/* The first replicas appear in the second kernel. */
#define LATE_REPLICAS \
    "selrep.per_kernel=false;selrep.epoch_cyc=6000;selrep.samples=1;selrep.sigmas=0;selrep.equal=0;" \
    "selrep.idle=0"
#define ONE_ENTRY \
    "l1.miss_queue=1;l1.mshrs=1;l1.mshr_merges=1;sm.lsu_queue=1;sm.loads=1;sm.stores=1;llc.mshrs=1;" \
    "llc.mshr_merges=1;llc.data_queue=1;llc.reply_queue=1;llc.memory_queue=1;net.vcs=2;" \
    "net.input_speedup=1;net.vc_flits=1;net.source_packets=1;net.sink_packets=1;dram.queue_entries=2"
#define ONE_ENTRY_TLB \
    "mmu.mode=tlb;mmu.l1_misses=1;mmu.l1_waiting=1;mmu.walkers=1;mmu.l1_entries=1;mmu.l2_entries=1"
#define ONE_ENTRY_BETWEEN \
    "slice_net.vcs=2;slice_net.input_speedup=1;slice_net.vc_flits=1;slice_net.source_packets=1;" \
    "slice_net.sink_packets=1;chiplet_net.source_packets=1;chiplet_net.buffer=136 B;llc.local_queue=1;" \
    "llc.forward_queue=1;llc.mshrs=1;llc.data_queue=1;llc.reply_queue=1;llc.memory_queue=1;" \
    "net.source_packets=1;net.sink_packets=1;l1.miss_queue=1"
#define NO_REPLICAS "mmu.mode=tlb;nuba.replication=none;"
#define THRASHING   "l1.size=512 B;l1.ways=4;gpu.llc_size=64 KiB;llc.ways=2;llc.boundary=flush"
#define ODD_CLOCKS  "clock.sm=1200 MHz;clock.net=1000 MHz;clock.llc=900 MHz;clock.dram=700 MHz"
#define ORDERING    "./tests/kit/ordering:tiny"
#define GEMM        "gemm_naive:n=96"
#define STENCIL     "stencil5:rows=256,cols=256,steps=3"

#define PLAIN(run_name, on, what, with, ...) \
    { \
        .name = run_name, .machine = on, .workload = what, .settings = with, ##__VA_ARGS__ \
    }
#define CHECKED(run_name, on, what, with, ...) PLAIN(run_name, on, what, with, .check = true, ##__VA_ARGS__)

/* Runs for the parts that no preset uses, or not with the workloads above. */
static const struct run specials[] = {
    /* pages move */
    CHECKED("nuba-norep/migration-4k", "nuba-norep", "bfs:tiny", PAGE_MOVES ";runtime.placement=migration"),
    CHECKED("nuba-norep/replication-4k", "nuba-norep", "bfs:tiny",
            PAGE_MOVES ";runtime.placement=replication"),
    PLAIN("nuba-norep/migration-64k", "nuba-norep", GEMM,
          PAGE_MOVES ";runtime.placement=migration;map.page_size=64KiB"),
    CHECKED("nuba-norep/replication-64k", "nuba-norep", ORDERING,
            "map.page_size=64KiB;runtime.move_cost=100ns;runtime.placement=replication"),
    CHECKED("mcm-nuba/migration-4k", "mcm-nuba", "bfs:tiny",
            NO_REPLICAS PAGE_MOVES ";runtime.placement=migration;map.page_size=4KiB"),
    CHECKED("mcm-nuba/replication-4k", "mcm-nuba", "bfs:tiny",
            NO_REPLICAS PAGE_MOVES ";runtime.placement=replication;map.page_size=4KiB"),
    PLAIN("mcm-nuba/migration-64k", "mcm-nuba", GEMM,
          NO_REPLICAS PAGE_MOVES ";runtime.placement=migration;map.page_size=64KiB"),
    PLAIN("mcm-nuba/replication-64k", "mcm-nuba", GEMM,
          NO_REPLICAS PAGE_MOVES ";runtime.placement=replication;map.page_size=64KiB"),
    /* blocks move */
    CHECKED("uba-mem/rotate", "uba-mem", GEMM, "runtime.rotate_blocks_cyc=1500"),
    CHECKED("uba-mem/rotate-faults", "uba-mem", "sgemm:tiny",
            "runtime.rotate_blocks_cyc=500;mmu.prefault=false"),
    PLAIN("v100/rotate", "v100", "histogram:tiny", "runtime.rotate_blocks_cyc=1000"),
    /* two applications */
    CHECKED("ugpu-bp/pair", "ugpu-bp", "reduction:tiny+histogram:tiny", ""),
    CHECKED("ugpu-bp-bs/pair", "ugpu-bp-bs", "bfs:tiny+gemm_naive:tiny", ""),
    PLAIN("ugpu-bp-sb/pair", "ugpu-bp-sb", "bfs:tiny+gemm_naive:tiny", ""),
    CHECKED("ugpu-mps/pair", "ugpu-mps", "spmv:tiny+triad:tiny", ""),
    PLAIN("ugpu-mps/pair-kernels", "ugpu-mps", "bfs:tiny+scan:tiny", ""),
    CHECKED("ugpu/pair", "ugpu", "sgemm:n=128+triad:tiny", "partition.epoch_cyc=5000;apps.window_cyc=20000"),
    CHECKED("ugpu-soft/pair", "ugpu-soft", "sgemm:n=128+triad:tiny",
            "partition.epoch_cyc=5000;apps.window_cyc=20000"),
    CHECKED("ugpu-ori/pair", "ugpu-ori", "sgemm:n=128+triad:tiny",
            "partition.epoch_cyc=5000;apps.window_cyc=20000;pages.fault_cyc=1000"),
    CHECKED("ugpu/pair/shuffled", "ugpu", "sgemm:n=128+triad:tiny",
            "partition.epoch_cyc=5000;apps.window_cyc=20000;sim.visit_order=shuffled",
            .same_as = "ugpu/pair"),
    CHECKED("ugpu-bp/pair/shuffled", "ugpu-bp", "reduction:tiny+histogram:tiny", "sim.visit_order=shuffled",
            .same_as = "ugpu-bp/pair"),
    /* the organisation changes at run time */
    CHECKED("selrep-adaptive/short-profiles", "selrep-adaptive", "gemm_naive:n=128", SHORT_PROFILES),
    CHECKED("selrep/late", "selrep", "squeezenet:tiny", LATE_REPLICAS),
    PLAIN("selrep/degree-4", "selrep", GEMM, "selrep.degree=4;llc.boundary=replicas"),
    CHECKED("selrep/degree-16", "selrep", ORDERING, "selrep.degree=16"),
    /* remote reads that do not allocate at their home */
    CHECKED("ladm-rr/ronce", "ladm-rr", GEMM, "crb.policy=ronce"),
    CHECKED("ladm-rr/ronce-one-entry", "ladm-rr", ORDERING,
            "crb.policy=ronce;" ONE_ENTRY_BETWEEN ";llc.mshrs=2;llc.mshr_merges=1"),
    PLAIN("ladm-rr/by-class", "ladm-rr", GEMM, "crb.policy=by_class"),
    /* launches */
    PLAIN("uba-mem/start-skew", "uba-mem", GEMM, "runtime.start_skew_cyc=1000"),
    PLAIN("v100/max-instructions", "v100", GEMM, "", .max_instructions = 5000),
    PLAIN("nuba/max-instructions", "nuba", GEMM, "", .max_instructions = 5000),
    CHECKED("uba-mem/streams", "uba-mem", NULL, ""),
    PLAIN("v100/streams", "v100", NULL, ""),
    CHECKED("nuba/streams", "nuba", NULL, ""),
    CHECKED("selrep/streams", "selrep", NULL, ""),
    PLAIN("selrep-private/streams", "selrep-private", NULL, ""),
    CHECKED("selrep-adaptive/streams", "selrep-adaptive", NULL, ""),
    CHECKED("numa-gpu/streams", "numa-gpu", NULL, ""),
    CHECKED("ladm-rr/streams", "ladm-rr", NULL, ""),
    CHECKED("nuba/streams/shuffled", "nuba", NULL, "sim.visit_order=shuffled", .same_as = "nuba/streams"),
    /* rare events made frequent */
    PLAIN("uba-mem/one-entry", "uba-mem", "histogram:tiny", ONE_ENTRY ";" ONE_ENTRY_TLB),
    CHECKED("v100/one-entry", "v100", "bfs:tiny", ONE_ENTRY),
    CHECKED("nuba/one-entry", "nuba", "gemm_naive:tiny", ONE_ENTRY_BETWEEN),
    PLAIN("mcm-nuba/one-entry", "mcm-nuba", "histogram:tiny", ONE_ENTRY_BETWEEN),
    PLAIN("mcm-uba/one-entry", "mcm-uba", "bfs:tiny", ONE_ENTRY_BETWEEN),
    PLAIN("v100/thrashing", "v100", "transpose:tiny",
          "l1.size=16 KiB;l1.ways=2;gpu.llc_size=384 KiB;llc.ways=2;llc.boundary=flush"),
    PLAIN("uba-mem/thrashing", "uba-mem", STENCIL, THRASHING),
    CHECKED("nuba/thrashing", "nuba", "bicg:tiny", THRASHING),
    CHECKED("uba-mem/evictions", "uba-mem", "triad:n=40000", "gpu.llc_size=128KiB"),
    /* clocks and mappings */
    PLAIN("v100/odd-clocks", "v100", GEMM, ODD_CLOCKS),
    PLAIN("nuba/odd-clocks", "nuba", GEMM, ODD_CLOCKS),
    PLAIN("numa-gpu/odd-clocks", "numa-gpu", "bfs:tiny", ODD_CLOCKS),
    PLAIN("v100/one-channel", "v100", "gather:tiny",
          "map.kind=fixed_channel;map.page_size=2 MiB;gpu.llc_size=384 KiB;llc.ways=4"),
    PLAIN("v100/slow-dram", "v100", "gather:n=32768",
          "gpu.llc_size=96KiB;llc.ways=1;clock.dram=101MHz;dram.starvation_cyc=300"),
    PLAIN("v100/two-level", "v100", "fwt:tiny", "sm.scheduler=two_level;sm.loads=2;sm.stores=2"),
    /* fences, acquires and atomics */
    CHECKED("uba-mem/ordering", "uba-mem", ORDERING, "l1.sectored=true;llc.boundary=flush"),
    CHECKED("uba-sm/ordering", "uba-sm", ORDERING, ""),
    CHECKED("nuba-fullrep/ordering", "nuba-fullrep", ORDERING, ""),
    CHECKED("selrep-private/ordering", "selrep-private", ORDERING, ""),
    CHECKED("numa-gpu/ordering", "numa-gpu", ORDERING, ""),
    CHECKED("mcm-nuba/ordering", "mcm-nuba", ORDERING, ""),
    /* the evaluation order and the run-ahead of components do not change results */
    PLAIN("v100/gemm/shuffled", "v100", GEMM, "sim.visit_order=shuffled", .same_as = "v100/gemm"),
    PLAIN("v100/bfs/step", "v100", "bfs:tiny", "sim.work_ahead=false", .same_as = "v100/bfs"),
    PLAIN("v100/slow-dram/step", "v100", "gather:n=32768",
          "gpu.llc_size=96KiB;llc.ways=1;clock.dram=101MHz;dram.starvation_cyc=300;sim.work_ahead=false",
          .same_as = "v100/slow-dram"),
    PLAIN("a100/stencil/step", "a100", STENCIL, "sim.work_ahead=false", .same_as = "a100/stencil"),
    PLAIN("uba-mem/stencil/shuffled", "uba-mem", STENCIL, "sim.visit_order=shuffled",
          .same_as = "uba-mem/stencil"),
    PLAIN("nuba/bfs/shuffled", "nuba", "bfs:tiny", "sim.visit_order=shuffled", .same_as = "nuba/bfs"),
    PLAIN("nuba/gemm/step", "nuba", GEMM, "sim.work_ahead=false", .same_as = "nuba/gemm"),
    PLAIN("numa-gpu/bfs/shuffled", "numa-gpu", "bfs:tiny", "sim.visit_order=shuffled",
          .same_as = "numa-gpu/bfs"),
    PLAIN("selrep/gemm/step", "selrep", GEMM, "sim.work_ahead=false", .same_as = "selrep/gemm"),
    PLAIN("mcm-nuba/bfs/step", "mcm-nuba", "bfs:tiny", "sim.work_ahead=false", .same_as = "mcm-nuba/bfs"),
};

static const struct {
    const char *name, *workload;
} workloads[] = {{"gemm", GEMM}, {"bfs", "bfs:tiny"}, {"stencil", STENCIL}};

enum { RUNS_MAX = 1024, SPECIALS = sizeof specials / sizeof *specials };
static struct run runs[RUNS_MAX];
static size_t run_count;
static bool showing; /* --show: values instead of digests */

static void die(const char *what)
{
    (void)fprintf(stderr, "golden_runs: %s\n", what);
    exit(2);
}

/* FNV-1a, 64 bits. */
static uint64_t digest(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    return h;
}

/* ---- the set ---- */

static void add_run(const struct run *r)
{
    if (run_count == RUNS_MAX) die("the set has more than RUNS_MAX runs; increase RUNS_MAX");
    runs[run_count++] = *r;
}

/* True for a preset that only scales another one (machines/quarter.yaml): it has one run. */
static bool is_scaled(const char *machine)
{
    const size_t len = strlen(machine);
    return !strcmp(machine, "quarter") || (len > 3 && !strcmp(machine + len - 3, "-q4"));
}

/* All presets but hbm-*, which describe one channel for `atoll model dram`. */
static void collect_runs(void)
{
    atoll_sim *sim;
    char *text;
    if (atoll_create(&sim) || atoll_list(sim, "machines", ATOLL_JSON, &text)) die("cannot list the machines");
    json_t *machines = json_loads(text, 0, NULL); /* never freed: runs[] refers to the names */
    const json_t *row;
    size_t k;
    free(text);
    atoll_destroy(sim);
    json_array_foreach(machines, k, row)
    {
        const char *const machine = json_string_value(json_object_get(row, "machine"));
        if (!strncmp(machine, "hbm-", 4)) continue;
        const bool scaled = is_scaled(machine);
        for (size_t w = 0; w < (scaled ? 1 : sizeof workloads / sizeof *workloads); w++)
            for (int check = 0; check < (scaled ? 1 : 2); check++) {
                struct run r = {
                    .machine = machine, .workload = workloads[w].workload, .settings = "", .check = check};
                (void)snprintf(r.name, sizeof r.name, "%s/%s%s", machine, workloads[w].name,
                               check ? "/check" : "");
                add_run(&r);
            }
    }
    for (size_t s = 0; s < SPECIALS; s++) add_run(&specials[s]);
}

/* ---- output ---- */

static char *dump(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    if (!text) die("a value cannot be written as JSON");
    return text;
}

static void print_item(const char *section, const char *name, const json_t *value)
{
    char *text = dump(value);
    if (showing)
        printf("%s\t%s\t%s\n", section, name, text);
    else
        printf("item\t%s\t%s\t%016" PRIx64 "\n", section, name, digest(text));
    free(text);
}

static void print_config(json_t *config)
{
    const char *section, *key;
    json_t *keys, *value;
    json_object_foreach(config, section, keys) json_object_foreach(keys, key, value)
    {
        char *text = dump(value);
        printf("config\t%s.%s\t%s\n", section, key, text);
        free(text);
    }
}

/* One item per key of the records, in the order of first appearance; a record without the key gives null. */
static void print_records(const char *section, const char *prefix, json_t *records)
{
    json_t *columns = json_object(), *record, *value, *column;
    const char *key;
    size_t k;
    json_array_foreach(records, k, record) json_object_foreach(record, key, value)(void)
        json_object_set_new(columns, key, json_array());
    json_object_foreach(columns, key, column)
    {
        char name[256];
        json_array_foreach(records, k, record)
        {
            value = json_object_get(record, key);
            (void)json_array_append(column, value ? value : json_null());
        }
        (void)snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key);
        print_item(section, name, column);
    }
    json_decref(columns);
}

static bool is_records(const json_t *value) { return json_is_object(json_array_get(value, 0)); }

/* One item per value below the object: the name is the path to the value. */
static void print_leaves(const char *section, const char *path, json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char name[256];
        (void)snprintf(name, sizeof name, "%s.%s", path, key);
        if (json_is_object(value))
            print_leaves(section, name, value);
        else
            print_item(section, name, value);
    }
}

static void print_section(const char *section, json_t *content)
{
    const char *key;
    json_t *value;
    if (is_records(content)) {
        print_records(section, "", content);
        return;
    }
    if (!json_is_object(content)) {
        print_item(section, "all", content);
        return;
    }
    json_object_foreach(content, key, value)
    {
        if (is_records(value))
            print_records(section, key, value);
        else if (json_is_object(value) && !strcmp(section, "totals"))
            print_leaves(section, key, value);
        else
            print_item(section, key, value);
    }
}

/* Removes what the head of this file excludes. */
static void drop_excluded(json_t *value)
{
    const char *key;
    json_t *inner;
    void *next;
    size_t k;
    json_object_foreach_safe(value, next, key, inner)
    {
        if (!strncmp(key, "engine.", 7) || !strcmp(key, "bound_by_why") || !strcmp(key, "laws_checked"))
            (void)json_object_del(value, key);
        else
            drop_excluded(inner);
    }
    json_array_foreach(value, k, inner) drop_excluded(inner);
}

static void print_result(const char *text)
{
    static const char *const not_sections[] = {"atoll_version", "mode", "machine", "workload", "host"};
    const char *key;
    json_t *root = json_loads(text, 0, NULL), *value;
    if (!root) die("the result is not JSON");
    drop_excluded(root);
    json_object_foreach(root, key, value)
    {
        bool is_section = true;
        for (size_t k = 0; k < sizeof not_sections / sizeof *not_sections; k++)
            is_section &= strcmp(key, not_sections[k]) != 0;
        if (!is_section) continue;
        if (!strcmp(key, "config"))
            print_config(value);
        else
            print_section(!strcmp(key, "replication") ? "decisions" : key, value);
    }
    json_decref(root);
}

static void print_error(const atoll_sim *sim, atoll_status status)
{
    const char *const message = atoll_message(sim);
    printf("error\t%d\t%016" PRIx64 "\t%.*s\n", (int)status, digest(message), (int)strcspn(message, "\n"),
           message);
    if (showing) printf("%s\n", message);
}

/* ---- runs ---- */

static atoll_status configure(atoll_sim *sim, const struct run *r)
{
    atoll_status status = atoll_machine(sim, r->machine);
    for (const char *from = r->settings; !status && *from;) {
        const char *const end = strchrnul(from, ';');
        char one[128];
        (void)snprintf(one, sizeof one, "%.*s", (int)(end - from), from);
        status = atoll_set(sim, one);
        from = *end ? end + 1 : end;
    }
    return status;
}

/* meet: sets its flag and waits for the flag of the other kernel. spin: arithmetic, then a store. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry meet(.param .u64 x, .param .u32 me, .param .u32 other)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n.reg .pred %p1;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [me];\nld.param.u32 %r2, [other];\n"
    "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
    "mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd1, %rd3;\n"
    "st.volatile.global.u32 [%rd2], 1;\n"
    "again:\nld.volatile.global.u32 %r3, [%rd3];\nsetp.eq.u32 %p1, %r3, 0;\n@%p1 bra again;\nret;\n}\n"
    ".visible .entry spin(.param .u64 x, .param .u32 rounds)\n{\n"
    ".reg .b32 %r<6>;\n.reg .b64 %rd<6>;\n.reg .pred %p1;\n"
    "ld.param.u64 %rd1, [x];\nld.param.u32 %r1, [rounds];\nmov.u32 %r2, %tid.x;\n"
    "again:\nmad.lo.u32 %r2, %r2, 3, 1;\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;\n"
    "mov.u32 %r3, %ctaid.x;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
    "st.global.u32 [%rd1], %r2;\nret;\n}\n";

struct streams {
    atoll_device *device;
    atoll_kernel *meet, *spin;
    uint32_t *x;
};

static atoll_status start_launch(struct streams *s, const struct atoll_launch *launch)
{
    struct atoll_launched launched;
    atoll_flight *flight;
    const atoll_status status = atoll_flight_new(s->device, launch, &launched, &flight);
    return status ? status : atoll_flight_start(flight);
}

static atoll_status start_meet(struct streams *s, uint32_t me, uint32_t other)
{
    const void *args[] = {&s->x, &me, &other};
    return start_launch(
        s, &(struct atoll_launch){.kernel = s->meet, .grid = {1, 1, 1}, .block = {1, 1, 1}, .args = args});
}

static atoll_status start_spin(struct streams *s, uint32_t at, uint32_t blocks, uint32_t rounds, int priority)
{
    const uint32_t *const to = s->x + at;
    const void *args[] = {&to, &rounds};
    return start_launch(s, &(struct atoll_launch){.kernel = s->spin,
                                                  .grid = {blocks, 1, 1},
                                                  .block = {256, 1, 1},
                                                  .priority = priority,
                                                  .args = args});
}

static atoll_status wait_for_ends(struct streams *s, uint32_t count)
{
    atoll_status status = ATOLL_OK;
    while (!status && count) {
        struct atoll_launched launched;
        atoll_flight *ended = NULL;
        double passed;
        status = atoll_device_advance(s->device, 1e-5, &passed, &ended, &launched);
        if (!ended) continue;
        atoll_flight_free(ended);
        count--;
    }
    return status;
}

/* One kernel waits for a later one while six others start and end beside it, one of higher priority. */
static atoll_status launch_streams(struct streams *s)
{
    atoll_status status = start_spin(s, 0, 8, 1000, 0);
    if (!status) status = wait_for_ends(s, 1);
    if (!status) status = start_meet(s, 4096, 4097);
    for (uint32_t n = 0; !status && n < 6; n++) status = start_spin(s, 64 * n, 8 + n, 300 + 50 * n, n == 4);
    if (!status) status = wait_for_ends(s, 6);
    if (!status) status = start_meet(s, 4097, 4096);
    return status ? status : wait_for_ends(s, 2);
}

static atoll_status run_streams(atoll_sim *sim, const struct run *r, struct atoll_outcome *outcome)
{
    struct streams s = {0};
    atoll_program *program;
    atoll_status status =
        atoll_device_open(sim, &(struct atoll_device_options){.check = r->check}, &s.device);
    if (status) return status;
    status = atoll_program_new(s.device, &program);
    if (!status) status = atoll_program_add(program, "k.ptx", ptx, strlen(ptx));
    if (!status) status = atoll_kernel_find(program, "meet", &s.meet);
    if (!status) status = atoll_kernel_find(program, "spin", &s.spin);
    if (!status) status = atoll_alloc(s.device, 1 << 16, "x", (void **)&s.x);
    if (!status) status = launch_streams(&s);
    if (!status) status = atoll_device_finish(s.device, outcome);
    if (status) print_error(sim, status);
    atoll_device_close(s.device);
    return status;
}

static void run_one(const struct run *r)
{
    struct atoll_outcome outcome = {0};
    atoll_sim *sim;
    printf("run\t%s\t%s\n", r->name, r->same_as ? r->same_as : "");
    (void)fflush(stdout); /* after a crash the last line names the run */
    if (atoll_create(&sim)) die("cannot create a simulator");
    atoll_status status = configure(sim, r);
    if (status) {
        print_error(sim, status);
    } else if (r->workload) {
        const struct atoll_job job = {
            .workload = r->workload, .check = r->check, .max_instructions = r->max_instructions};
        status = atoll_run(sim, &job, &outcome);
        if (status) print_error(sim, status);
    } else {
        status = run_streams(sim, r, &outcome);
    }
    if (!status) print_result(outcome.json);
    atoll_outcome_free(&outcome);
    atoll_destroy(sim);
}

int main(int argc, char **argv)
{
    const char *pattern = "*";
    bool listing = false;
    unsigned shard = 0, shards = 1, count = 0;
    for (int k = 1; k < argc; k++) {
        if (!strcmp(argv[k], "--list"))
            listing = true;
        else if (!strcmp(argv[k], "--show"))
            showing = true;
        else if (!strcmp(argv[k], "--shard") && k + 1 < argc) {
            if (sscanf(argv[++k], "%u/%u", &shard, &shards) != 2 || shard >= shards)
                die("--shard takes K/N with K below N");
        } else if (argv[k][0] == '-')
            die("usage: golden_runs [--list] [--shard K/N] [--show] [PATTERN]");
        else
            pattern = argv[k];
    }
    collect_runs();
    for (size_t k = 0; k < run_count; k++) {
        /* the name decides the shard, so a new run moves no other */
        if (fnmatch(pattern, runs[k].name, 0) || (digest(runs[k].name) >> 8) % shards != shard) continue;
        count++;
        if (listing)
            printf("%s\n", runs[k].name);
        else
            run_one(&runs[k]);
    }
    if (!count) die("no run has such a name; --list prints the names");
    if (!listing) printf("end\t%u\n", count);
    return 0;
}
