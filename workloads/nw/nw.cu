/* nw: Needleman-Wunsch global alignment. The score matrix is (n + 1) x (n + 1); tiles of 16x16 scores on one
 * anti-diagonal are independent, so the host launches diagonal after diagonal. A block of 16 threads stages
 * the similarity tile and the north and west borders in shared memory, sweeps the 31 diagonals of the tile
 * and writes it back: every tile row is a 64-byte piece of another matrix row. */
#include "device.h"

#define TILE 16

/* Tile (by, bx) of this block: by + bx = diagonal, by counts from first_by. */
extern "C" __global__ void nw_diagonal(int *score, const int *similarity, int n, int penalty, int diagonal,
                                       int first_by)
{
    __shared__ int s[TILE + 1][TILE + 1], like[TILE][TILE];
    const int t = threadIdx.x, by = first_by + blockIdx.x, bx = diagonal - by, pitch = n + 1;
    int *corner = score + (long long)by * TILE * pitch + bx * TILE; /* north-west neighbour of the tile */
    const int *ref = similarity + (long long)(by * TILE + 1) * pitch + bx * TILE + 1;
    for (int i = 0; i < TILE; i++) like[i][t] = ref[(long long)i * pitch + t];
    s[t + 1][0] = corner[(long long)(t + 1) * pitch];
    s[0][t + 1] = corner[t + 1];
    if (t == 0) s[0][0] = corner[0];
    __syncthreads();
    for (int d = 0; d < 2 * TILE - 1; d++) {
        const int row = d - t; /* thread t owns column t */
        if (row >= 0 && row < TILE) {
            const int diag = s[row][t] + like[row][t];
            s[row + 1][t + 1] = max(diag, max(s[row][t + 1], s[row + 1][t]) - penalty);
        }
        __syncthreads();
    }
    for (int i = 0; i < TILE; i++) corner[(long long)(i + 1) * pitch + t + 1] = s[i + 1][t + 1];
}
