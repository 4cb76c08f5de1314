/* sgemm: host script; the MatrixMul (MM) of the NUBA and SelRep papers.
 * NUBA: 8 MB of which 7 MB read-only, so C is 1 MB: 512 x 512 with k = 1712. LADM's SQ-GEMM: 128 MB in 2048
 * blocks of 16 x 16 threads, which tiles of 64 x 64 give ('wide') for M 4096, K 4096, N 2048. Its quick size cuts
 * M, N and K: with less of M alone B would be larger than A, and blocks would follow columns.
 *
 * SelRep's shared set is A and B: mm_0 .. mm_4 = 0.04, 0.1, 0.6, 1.9, 3.8 MB, and half of their reads come to
 * the LLC, from several SMs at a time, as fast as half of its crossbar carries. So they use 'ahead': with an
 * element of C per thread, 16x16 tiles need 20 warp instructions per line of the LLC, and issue bounds the
 * run at 5 lines per cycle. Blocks of one SM drift apart (the oldest goes first), and with them the SMs: mm_2
 * to mm_4 have 64 blocks with a long k, and 'alone' keeps them on an SM each (48 of its 64 KiB of shared
 * memory), to go through A and B together; mm_3
 * and mm_4 four products of the same A and B at a time, so that each line has 16 readers or more. mm_1
 * (larger than an L1) is re-read by many products in one launch; mm_0 fits into an L1, which begins each
 * launch empty: it is launched again and again. */
#include "gemm.h"

enum { SEED_A = 1, SEED_B, TILE = 16, WIDE = 64 };

static const struct wl_param params[] = {
    {"n", 256, TILE, 32768, TILE, "columns of B and C"},
    {"m", 0, 0, 32768, TILE, "rows of A and C; 0 = n"},
    {"k", 0, 0, 32768, TILE, "columns of A, rows of B; 0 = n"},
    {"repeat", 1, 1, 10000, 0, "launches"},
    {"batch", 1, 1, 4096, 0, "products of a launch, of the same A and B, each into a C of its own"},
    {"ahead", 0, 0, 1, 0, "1: tiles loaded four steps ahead (k in multiples of 64), 4 elements a thread"},
    {"wide", 0, 0, 1, 0, "1: tiles of 64x64 (m and n in multiples of 64), 16 elements a thread"},
    {"alone", 0, 0, 1, 0, "1: blocks ask for 48 KiB of shared memory, so that an SM has one or two"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "n=48,m=32,k=64", NULL},
    {"nuba", "n=512,k=1712", "NUBA MM, 8 MB, 7 MB read-only"},
    {"selrep0", "n=80,k=64,batch=5,repeat=300,ahead=1", "SelRep mm_0, 0.04 MB shared"},
    {"selrep1", "n=112,m=80,k=128,batch=128,repeat=4,ahead=1", "SelRep mm_1, 0.1 MB shared"},
    {"selrep2", "n=128,k=576,repeat=64,ahead=1,alone=1", "SelRep mm_2, 0.6 MB shared"},
    {"selrep3", "n=64,k=3712,batch=4,repeat=20,ahead=1,alone=1", "SelRep mm_3, 1.9 MB shared"},
    {"selrep4", "n=64,k=7424,batch=4,repeat=10,ahead=1,alone=1", "SelRep mm_4, 3.8 MB shared"},
    {"ladm", "n=2048,m=4096,k=4096,wide=1", "LADM SQ-GEMM, 128 MB, 2048 blocks"},
    {"ladmq", "n=512,m=4096,k=512,wide=1",
     "LADM quick: SQ-GEMM with less of N and K, four rows of blocks per chiplet"},
    {0},
};

struct shape {
    int m, n, k;
};

static struct shape shape_of(const struct wl *w)
{
    struct shape s = {.m = (int)wl_param(w, "m"), .n = (int)wl_param(w, "n"), .k = (int)wl_param(w, "k")};
    if (!s.m) s.m = s.n;
    if (!s.k) s.k = s.n;
    return s;
}

static uint64_t footprint_bytes(const struct wl *w)
{
    const struct shape s = shape_of(w);
    const uint64_t m = (uint64_t)s.m, n = (uint64_t)s.n, k = (uint64_t)s.k;
    return 4 * (m * k + k * n + (uint64_t)wl_param(w, "batch") * m * n);
}

static void run(struct wl *w)
{
    const struct shape s = shape_of(w);
    const uint64_t m = (uint64_t)s.m, n = (uint64_t)s.n, k = (uint64_t)s.k;
    const uint64_t batch = (uint64_t)wl_param(w, "batch");
    const bool ahead = wl_param(w, "ahead"), wide = wl_param(w, "wide");
    if (wide && (m % WIDE || n % WIDE || batch > 1 || ahead || wl_param(w, "alone")))
        wl_fail(w, "wide: m and n must be multiples of 64, and batch, ahead and alone are not possible");
    if (ahead && k % (4 * TILE)) wl_fail(w, "ahead: k is not a multiple of 64");
    float *a = wl_input_f32(w, "a", m * k, SEED_A, 0, 1), *b = wl_input_f32(w, "b", k * n, SEED_B, 0, 1);
    float *c = wl_alloc(w, "c", batch * m * n * sizeof *c);
    for (int64_t i = wl_param(w, "repeat"); i > 0; i--) {
        if (wide)
            WL_LAUNCH(w, "sgemm_wide", wl_dim(n / WIDE, m / WIDE), wl_dim(TILE, TILE), a, b, c, s.n, s.k);
        else
            WL_LAUNCH_SHARED(w, ahead ? "sgemm_ahead" : "sgemm", wl_dim(n / TILE, m / TILE, batch),
                             wl_dim(TILE, ahead ? TILE / 4 : TILE), wl_param(w, "alone") ? 40 << 10 : 0, a, b,
                             c, s.n, s.k);
    }
    wl_wait(w);
    const struct gemm g =
        gemm_new(w, (struct wl_numbers){SEED_A, 0, 1}, (struct wl_numbers){SEED_B, 0, 1}, m, n, k);
    gemm_check(w, c, batch * m * n, &g);
}

WORKLOAD(sgemm, .aliases = "matmul_tiled mm", .suite = "CUDA SDK", .sharing = "high-sharing",
         .description = "matrix multiply, 16x16 tiles in shared memory", .params = params, .sizes = sizes,
         .footprint_bytes = footprint_bytes, .run = run);
