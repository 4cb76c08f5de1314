/* workloads: the 27 workloads of LADM's Table IV: kernel, a small launch with data, and what the index
 * analysis must find. `paper` is the table's locality type; where ours differs, `why` says so (ours is what
 * Algorithm 1 gives for the index equation). */
#ifndef ATOLL_TESTS_ANALYSIS_WORKLOADS_H
#define ATOLL_TESTS_ANALYSIS_WORKLOADS_H

#include <stdint.h>

#include "analysis/locality.h"

enum fill { FILL_NONE, FILL_INT, FILL_FLOAT, FILL_ZERO, FILL_RAMP, FILL_MOD };

/* A parameter: a number, or a buffer of `value` bytes filled with i*k (RAMP), any number below k (MOD), ...
 */
struct given {
    enum fill fill;
    uint64_t value;
    uint32_t k;
};
#define I(n) \
    { \
        FILL_INT, (uint64_t)(n), 0 \
    }
#define F(n) \
    { \
        FILL_FLOAT, (uint64_t)(n), 0 \
    }
#define BUF(bytes) \
    { \
        FILL_ZERO, bytes, 0 \
    }
#define RAMP(bytes, k) \
    { \
        FILL_RAMP, bytes, k \
    }
#define MOD(bytes, k) \
    { \
        FILL_MOD, bytes, k \
    }

enum { GIVEN_MOST = 10, WANT_MOST = 5 };

struct want {
    const char *argument;
    enum locality_class class;
    int64_t stride_bytes; /* 0: none asked for */
};

struct ladm_workload {
    const char *name, *paper, *file, *kernel;
    uint32_t grid[3], block[3];
    struct given given[GIVEN_MOST];
    struct want wants[WANT_MOST];
    const char *scheduler; /* of the kernel */
    const char *why;
};

#define N1    (64 * 128)
#define IMAGE (64 * 64)

static const struct ladm_workload ladm_workloads[] = {
    {"VecAdd",
     "NL",
     "no_locality",
     "vecadd",
     {64, 1, 1},
     {128, 1, 1},
     {BUF(N1 * 4), BUF(N1 * 4), BUF(N1 * 4), I(N1)},
     {{"p0", LOCALITY_NL, 0}, {"p2", LOCALITY_NL, 0}},
     "align-aware",
     0},
    {"SRAD",
     "NL",
     "no_locality",
     "srad",
     {4, 4, 1},
     {16, 16, 1},
     {BUF(IMAGE * 4), BUF(IMAGE * 4), BUF(IMAGE * 4), BUF(IMAGE * 4), BUF(IMAGE * 4), BUF(IMAGE * 4), I(64),
      I(64), F(1)},
     {{"p0", LOCALITY_NL, 0}, {"p5", LOCALITY_NL, 0}, {"p1", LOCALITY_NL, 0}},
     "align-aware",
     0},
    {"HS",
     "NL",
     "no_locality",
     "hs",
     {6, 6, 1},
     {16, 16, 1},
     {I(2), BUF(IMAGE * 4), BUF(IMAGE * 4), BUF(IMAGE * 4), I(64), I(64), I(2), F(1)},
     {{"p1", LOCALITY_NL, 0}, {"p2", LOCALITY_NL, 0}, {"p3", LOCALITY_NL, 0}},
     "align-aware",
     0},
    {"ScalarProd",
     "NL-Xstride",
     "no_locality",
     "scalarprod",
     {8, 1, 1},
     {256, 1, 1},
     {BUF(32 * 4), BUF(32 * 512 * 4), BUF(32 * 512 * 4), I(32), I(512)},
     {{"p1", LOCALITY_NL, 8 * 512 * 4}, {"p2", LOCALITY_NL, 8 * 512 * 4}},
     "align-aware",
     0},
    {"BLK",
     "NL-Xstride",
     "no_locality",
     "blackscholes",
     {16, 1, 1},
     {128, 1, 1},
     {BUF(N1 * 4), BUF(N1 * 4), BUF(N1 * 4), BUF(N1 * 4), BUF(N1 * 4), F(1), F(1), I(N1)},
     {{"p0", LOCALITY_NL, 16 * 128 * 4}, {"p2", LOCALITY_NL, 16 * 128 * 4}},
     "align-aware",
     0},
    {"Histo-final",
     "NL-Xstride",
     "no_locality",
     "histo_final",
     {4, 1, 1},
     {512, 1, 1},
     {BUF(N1 * 4), BUF(N1 * 4), BUF(N1), I(N1)},
     {{"p0", LOCALITY_NL, 4 * 512 * 4}, {"p2", LOCALITY_NL, 4 * 512}},
     "align-aware",
     0},
    {"Reduction-k6",
     "NL-Xstride",
     "no_locality",
     "reduction6",
     {4, 1, 1},
     {256, 1, 1},
     {BUF(N1 * 4), BUF(64), I(N1)},
     {{"p0", LOCALITY_NL, 4 * 512 * 4}, {"p1", LOCALITY_NL, 0}},
     "align-aware",
     0},
    {"Hotspot3D",
     "NL-Ystride",
     "no_locality",
     "hotspot3d",
     {2, 8, 1},
     {64, 4, 1},
     {BUF(128 * 32 * 8 * 4), BUF(128 * 32 * 8 * 4), BUF(128 * 32 * 8 * 4), I(128), I(32), I(8), F(1)},
     {{"p0", LOCALITY_NL, 128 * 32 * 4}, {"p1", LOCALITY_NL, 0}, {"p2", LOCALITY_NL, 128 * 32 * 4}},
     "align-aware",
     0},
    {"CONV",
     "RCL",
     "row_column",
     "conv_rows",
     {2, 8, 1},
     {16, 4, 1},
     {BUF(256 * 33 * 4), BUF(256 * 33 * 4), BUF(17 * 4), I(256), I(256)},
     {{"p0", LOCALITY_NL, 0}, {"p1", LOCALITY_NL, 0}},
     "align-aware",
     "a tile's index depends on both blockIdx.x and blockIdx.y, so Algorithm 1 gives NL before it looks for "
     "sharing; only the "
     "halos are shared by neighbours in a row"},
    {"Histo-main",
     "RCL",
     "row_column",
     "histo_main",
     {8, 4, 1},
     {16, 16, 1},
     {MOD(N1 * 4, 512), BUF(4 * 128 * 4), I(N1), I(128)},
     {{"p0", LOCALITY_COL_V, 8 * 256 * 4}, {"p1", LOCALITY_ROW_H, 0}},
     "col-binding",
     0},
    {"FWT-k2",
     "RCL",
     "row_column",
     "fwt_k2",
     {4, 4, 1},
     {256, 1, 1},
     {BUF(16 * 1024 * 4), BUF(16 * 1024 * 4), I(256)},
     {{"p0", LOCALITY_NL, 0}, {"p1", LOCALITY_NL, 0}},
     "align-aware",
     "each block of the second kernel transforms elements of its own: both blockIdx.x and blockIdx.y are in "
     "the index"},
    {"SQ-GEMM",
     "RCL",
     "row_column",
     "sq_gemm",
     {8, 8, 1},
     {16, 16, 1},
     {BUF(128 * 128 * 4), BUF(128 * 128 * 4), BUF(128 * 128 * 4), I(128)},
     {{"p0", LOCALITY_ROW_H, 16 * 4}, {"p1", LOCALITY_COL_V, 16 * 128 * 4}, {"p2", LOCALITY_NL, 0}},
     "row-binding",
     0},
    {"Alexnet-FC-2",
     "RCL",
     "row_column",
     "gemm_fc",
     {8, 2, 1},
     {32, 4, 1},
     {BUF(64 * 256 * 4), BUF(256 * 256 * 4), BUF(64 * 256 * 4), I(256), I(256)},
     {{"p0", LOCALITY_ROW_H, 32 * 4}, {"p1", LOCALITY_COL_V, 4 * 256 * 4}, {"p2", LOCALITY_NL, 0}},
     "col-binding",
     0},
    {"VGGnet-FC-2",
     "RCL",
     "row_column",
     "gemm_fc",
     {16, 2, 1},
     {32, 4, 1},
     {BUF(64 * 128 * 4), BUF(128 * 512 * 4), BUF(64 * 512 * 4), I(128), I(512)},
     {{"p0", LOCALITY_ROW_H, 32 * 4}, {"p1", LOCALITY_COL_V, 4 * 512 * 4}, {"p2", LOCALITY_NL, 0}},
     "col-binding",
     0},
    {"Resnet-50-FC",
     "RCL",
     "row_column",
     "gemm_fc",
     {32, 1, 1},
     {32, 4, 1},
     {BUF(32 * 64 * 4), BUF(64 * 1024 * 4), BUF(32 * 1024 * 4), I(64), I(1024)},
     {{"p0", LOCALITY_ROW_H, 32 * 4}, {"p1", LOCALITY_COL_V, 4 * 1024 * 4}, {"p2", LOCALITY_NL, 0}},
     "col-binding",
     0},
    {"LSTM-1",
     "RCL",
     "row_column",
     "lstm",
     {16, 4, 1},
     {32, 4, 1},
     {BUF(16 * 128 * 4), BUF(16 * 128 * 4), BUF(128 * 512 * 4), BUF(128 * 512 * 4), BUF(16 * 512 * 4), I(128),
      I(512)},
     {{"p0", LOCALITY_ROW_H, 32 * 4},
      {"p2", LOCALITY_COL_V, 512 * 4},
      {"p3", LOCALITY_COL_V, 512 * 4},
      {"p4", LOCALITY_NL, 0}},
     "col-binding",
     0},
    {"LSTM-2",
     "RCL",
     "row_column",
     "lstm",
     {8, 2, 1},
     {32, 4, 1},
     {BUF(8 * 64 * 4), BUF(8 * 64 * 4), BUF(64 * 256 * 4), BUF(64 * 256 * 4), BUF(8 * 256 * 4), I(64),
      I(256)},
     {{"p1", LOCALITY_ROW_H, 32 * 4}, {"p2", LOCALITY_COL_V, 256 * 4}, {"p4", LOCALITY_NL, 0}},
     "col-binding",
     0},
    {"TRA",
     "RCL",
     "row_column",
     "tra",
     {4, 8, 1},
     {16, 16, 1},
     {BUF(64 * 128 * 4), BUF(64 * 128 * 4), I(64), I(128)},
     {{"p0", LOCALITY_NL, 0}, {"p1", LOCALITY_NL, 0}},
     "align-aware",
     "both tiles are a block's own: blockIdx.x and blockIdx.y are in both indices and there is no loop; the "
     "row scheduler of the "
     "paper follows from the order of its output, not from Algorithm 1"},
    {"PageRank",
     "ITL",
     "intra_thread",
     "pagerank",
     {8, 1, 1},
     {128, 1, 1},
     {RAMP(1025 * 4, 7), MOD(7 * 1024 * 4, 1024), BUF(1024 * 4), BUF(1024 * 4), I(1024)},
     {{"p1", LOCALITY_ITL, 4}, {"p2", LOCALITY_NONE, 0}, {"p3", LOCALITY_NL, 0}},
     "kernel-wide",
     0},
    {"BFS-relax",
     "ITL",
     "intra_thread",
     "bfs_relax",
     {2, 1, 1},
     {256, 1, 1},
     {MOD(1024 * 4, 1024), RAMP(1025 * 4, 5), MOD(5 * 1024 * 4, 1024), BUF(1024 * 4), BUF(6 * 1024 * 4),
      BUF(4), I(1024)},
     {{"p2", LOCALITY_ITL, 4}, {"p0", LOCALITY_NL, 512 * 4}, {"p3", LOCALITY_NONE, 0}},
     0,
     0},
    {"SSSP",
     "ITL",
     "intra_thread",
     "sssp",
     {16, 1, 1},
     {64, 1, 1},
     {RAMP(1025 * 4, 6), MOD(6 * 1024 * 4, 1024), MOD(6 * 1024 * 4, 9), BUF(1024 * 4), BUF(1024 * 4),
      I(1024)},
     {{"p1", LOCALITY_ITL, 4}, {"p2", LOCALITY_ITL, 4}, {"p4", LOCALITY_NONE, 0}},
     "kernel-wide",
     0},
    {"Random-loc",
     "ITL",
     "intra_thread",
     "randomloc",
     {8, 1, 1},
     {256, 1, 1},
     {BUF(70000 * 4), BUF(2048 * 4), I(65536), I(19)},
     {{"p0", LOCALITY_ITL, 4}, {"p1", LOCALITY_NL, 0}},
     "kernel-wide",
     0},
    {"Kmeans-noTex",
     "ITL",
     "intra_thread",
     "kmeans_notex",
     {4, 1, 1},
     {256, 1, 1},
     {BUF(1024 * 34 * 4), BUF(5 * 34 * 4), BUF(1024 * 4), I(1024), I(5), I(34)},
     {{"p0", LOCALITY_ITL, 4}, {"p2", LOCALITY_NL, 0}},
     "kernel-wide",
     0},
    {"SpMV-jds",
     "ITL",
     "intra_thread",
     "spmv_jds",
     {16, 1, 1},
     {32, 1, 1},
     {RAMP(64, 512), MOD(16 * 4, 15), MOD(512 * 16 * 4, 512), BUF(512 * 16 * 4), RAMP(512 * 4, 1),
      BUF(512 * 4), BUF(512 * 4), I(512)},
     {{"p0", LOCALITY_ITL, 4}, {"p1", LOCALITY_NL, 0}, {"p5", LOCALITY_NONE, 0}},
     "kernel-wide",
     0},
    {"B+tree",
     "unclassified",
     "unclassified",
     "btree",
     {8, 1, 1},
     {256, 1, 1},
     {I(3), RAMP(257 * 64 * 4, 1), MOD(256 * 64 * 4, 64), BUF(256 * 64 * 4), BUF(8 * 4), MOD(8 * 4, 256),
      BUF(8 * 4), I(256)},
     {{"p1", LOCALITY_NONE, 0}, {"p2", LOCALITY_NONE, 0}, {"p3", LOCALITY_NONE, 0}},
     "kernel-wide",
     0},
    {"LBM",
     "unclassified",
     "unclassified",
     "lbm",
     {8, 6, 1},
     {120, 1, 1},
     {BUF(5 * 128 * 8 * 10 * 4), BUF(6 * 128 * 8 * 10 * 4), BUF(128 * 8 * 10 * 4), I(128), I(128 * 8),
      I(128 * 8 * 8)},
     {{"p0", LOCALITY_NL, 0}, {"p1", LOCALITY_NL, 0}, {"p2", LOCALITY_NL, 0}},
     "align-aware",
     "stronger than the paper: the index is a sum of products once the macros are expanded, which PTX has "
     "done"},
    {"StreamCluster",
     "unclassified",
     "unclassified",
     "streamcluster",
     {2, 1, 1},
     {512, 1, 1},
     {BUF(1024 * 16 * 4), BUF(16 * 4), MOD(1024 * 4, 64), BUF(1024 * 4), MOD(64 * 4, 8), BUF(1024 * 8 * 4),
      I(1024), I(16), I(8)},
     {{"p4", LOCALITY_NONE, 0}, {"p5", LOCALITY_NONE, 0}, {"p0", LOCALITY_NL, 1024 * 4}},
     "align-aware",
     "the gathers through the table of centres are unclassified as in the paper; the coordinates are regular "
     "and larger"},
};
enum { LADM_WORKLOADS = sizeof ladm_workloads / sizeof *ladm_workloads };
_Static_assert(LADM_WORKLOADS == 27, "Table IV has 27 rows");

#undef I
#undef F
#undef BUF
#undef RAMP
#undef MOD
#undef N1
#undef IMAGE

#endif
