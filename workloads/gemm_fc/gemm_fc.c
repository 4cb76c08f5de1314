/* gemm_fc: host script. LADM's fully connected layers: M images, K inputs, N outputs. The table gives blocks of
 * 32 x 4 threads, their number and the input size; with an element per thread that leaves
 *   VGGnet-FC-2   M 256, K 4096,  N 4096:  8192 blocks,  76 MB
 *   Alexnet-FC-2  M 64,  K 25088, N 4096:  2048 blocks, 419 MB (published 400)
 *   Resnet-50-FC  M 512, K 4928,  N 4096: 16384 blocks,  99 MB
 * Quick sizes cut M, then K; a row of the weights keeps its four pages of 4 KiB.
 *
 * Footprint: 4 x (M K + K N + M N) bytes. One launch. Activations are read by the blocks of a grid row, weights by
 * the blocks of a grid column; every block has elements of its own in the result. */
#include "gemm.h"

enum { SEED_A = 1, SEED_B, ROWS = 4, COLUMNS = 32 };

static const struct wl_param params[] = {
    {"m", 32, ROWS, 1 << 16, ROWS, "rows of the activations: images of the batch"},
    {"k", 512, COLUMNS, 1 << 16, COLUMNS, "inputs"},
    {"n", 1024, COLUMNS, 1 << 16, COLUMNS, "outputs"},
    {0},
};
static const struct wl_size sizes[] = {
    {"tiny", "m=8,k=64,n=96", NULL},
    {"ladm_vgg", "m=256,k=4096,n=4096", "LADM VGGnet-FC-2, 76 MB, 8192 blocks"},
    {"ladm_alexnet", "m=64,k=25088,n=4096", "LADM Alexnet-FC-2, 400 MB, 2048 blocks"},
    {"ladm_resnet", "m=512,k=4928,n=4096", "LADM Resnet-50-FC, 99 MB, 16384 blocks"},
    {"ladmq_vgg", "m=32,k=512,n=4096", "LADM quick: VGGnet-FC-2 with less of M and K"},
    {"ladmq_alexnet", "m=16,k=1024,n=4096", "LADM quick: Alexnet-FC-2 with less of M and K"},
    {"ladmq_resnet", "m=64,k=256,n=4096", "LADM quick: Resnet-50-FC with less of M and K"},
    {"ladmq_lstm_1", "m=16,k=512,n=8192", "LADM quick: product of LSTM-1 with less of M and K"},
    {"ladmq_lstm_2", "m=16,k=1024,n=4096", "LADM quick: product of LSTM-2 with less of M and K"},
    {0},
};

static uint64_t footprint_bytes(const struct wl *w)
{
    const uint64_t m = (uint64_t)wl_param(w, "m"), n = (uint64_t)wl_param(w, "n"),
                   k = (uint64_t)wl_param(w, "k");
    return 4 * (m * k + k * n + m * n);
}

static void run(struct wl *w)
{
    const int m = (int)wl_param(w, "m"), n = (int)wl_param(w, "n"), k = (int)wl_param(w, "k");
    const uint64_t rows = (uint64_t)m, columns = (uint64_t)n, inner = (uint64_t)k;
    float *a = wl_input_f32(w, "activations", rows * inner, SEED_A, 0, 1);
    float *b = wl_input_f32(w, "weights", inner * columns, SEED_B, -1, 1);
    float *c = wl_alloc(w, "out", rows * columns * sizeof *c);
    WL_LAUNCH(w, "gemm_fc", wl_dim(n / COLUMNS, m / ROWS), wl_dim(COLUMNS, ROWS), a, b, c, k, n);
    wl_wait(w);
    const struct gemm g = gemm_new(w, (struct wl_numbers){SEED_A, 0, 1}, (struct wl_numbers){SEED_B, -1, 1},
                                   rows, columns, inner);
    gemm_check(w, c, rows * columns, &g);
}

WORKLOAD(gemm_fc, .suite = "DL", .sharing = "-",
         .description = "fully connected layer as matrix product, 4x32 elements per block", .params = params,
         .sizes = sizes, .footprint_bytes = footprint_bytes, .run = run);
