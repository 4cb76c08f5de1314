/* bitcoin: search of a nonce, a thread per nonce. The header of a block is 80 bytes; SHA-256 of its first 64 bytes
 * (the midstate) is the same for all nonces. A thread compresses the rest of the header with its nonce, hashes the
 * digest once more, stores the first word of the result and appends the nonce to a list if the word is below the
 * target. The rounds are unrolled: registers only, no loads but the header's constants. */
#include "device.h"

typedef unsigned u32;

struct header { /* state after 64 bytes; bytes 64 .. 75 */
    u32 midstate[8], tail[3];
};

__constant__ header work;

/* FIPS 180-4. */
static __device__ constexpr u32 K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static __device__ __forceinline__ u32 rotate(u32 x, int by) { return (x >> by) | (x << (32 - by)); }

/* One block of 64 bytes; w is used up. */
static __device__ __forceinline__ void compress(u32 *state, u32 *w)
{
    u32 a = state[0], b = state[1], c = state[2], d = state[3];
    u32 e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
    for (int k = 0; k < 64; k++) {
        if (k >= 16) {
            const u32 x = w[(k + 1) & 15], y = w[(k + 14) & 15];
            w[k & 15] += (rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)) + w[(k + 9) & 15] +
                         (rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10));
        }
        const u32 t1 =
            h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + K[k] + w[k & 15];
        const u32 t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

static __device__ __forceinline__ u32 swap_bytes(u32 x)
{
    return (x << 24) | ((x & 0xff00) << 8) | ((x >> 8) & 0xff00) | (x >> 24);
}

/* Block b searches words b x sample x blockDim.x and following of `leading`. found: pairs (round, nonce);
 * found_count counts beyond found_max, too. */
extern "C" __global__ void bitcoin_search(u32 *leading, u32 *found, u32 *found_count, u32 nonces, u32 first,
                                          u32 sample, u32 target, u32 round, u32 found_max)
{
    const unsigned long long i = (unsigned long long)blockIdx.x * sample * blockDim.x + threadIdx.x;
    if (i >= nonces) return;
    const u32 nonce = first + (u32)i;
    u32 state[8], w[16];
#pragma unroll
    for (int k = 0; k < 8; k++) state[k] = work.midstate[k];
#pragma unroll
    for (int k = 0; k < 16; k++) w[k] = k < 3 ? work.tail[k] : 0;
    w[3] = swap_bytes(nonce);
    w[4] = 0x80000000u;
    w[15] = 80 * 8;
    compress(state, w);
#pragma unroll
    for (int k = 0; k < 16; k++) w[k] = k < 8 ? state[k] : 0;
    w[8] = 0x80000000u;
    w[15] = 32 * 8;
    u32 digest[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    compress(digest, w);
    const u32 word = swap_bytes(digest[7]); /* a digest is a number with its last byte first */
    leading[i] = word;
    if (word >= target) return;
    const u32 at = atomicAdd(found_count, 1u);
    if (at >= found_max) return;
    found[2 * at] = round;
    found[2 * at + 1] = nonce;
}
