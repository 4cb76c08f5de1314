/* sp: survey propagation on a random 3-SAT problem (Lonestar). The factor graph is stored both ways: the
 * literals of every clause, and the edges of every variable (compressed rows). Per iteration two launches: a
 * thread per variable multiplies up the surveys of its clauses; a thread per clause gathers the products of
 * its literals and makes new surveys. At the end the variables' biases, and which of them are decided. */
#include "device.h"

#define LITERALS 3 /* of a clause; a literal is 2 x variable + 1 if it is negated */

/* Products of (1 - survey) over the clauses where the variable is plain, and where it is negated. */
extern "C" __global__ void sp_products(const int *first, const int *edges, const int *literals,
                                       const float *eta, float2 *products, int variables)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= variables) return;
    float plain = 1.0f, negated = 1.0f;
    for (int k = first[v]; k < first[v + 1]; k++) {
        const int e = edges[k];
        if (literals[e] & 1)
            negated *= 1.0f - eta[e];
        else
            plain *= 1.0f - eta[e];
    }
    products[v] = make_float2(plain, negated);
}

/* The chance that the others leave this literal false: it is asked to be by the other side and by none of its
 * own. */
static __device__ float abandoned(float2 products, bool negated, float own)
{
    const float same = (negated ? products.y : products.x) / (1.0f - own),
                other = negated ? products.x : products.y;
    const float against = (1.0f - other) * same, with = (1.0f - same) * other, none = same * other;
    return against / (against + with + none);
}

extern "C" __global__ void sp_update(const int *literals, const float2 *products, const float *eta,
                                     float *next, int clauses)
{
    const int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= clauses) return;
    float chance[LITERALS];
    for (int k = 0; k < LITERALS; k++) {
        const int e = c * LITERALS + k, literal = literals[e];
        chance[k] = abandoned(products[literal >> 1], literal & 1, eta[e]);
    }
    for (int k = 0; k < LITERALS; k++) /* at most 0.99: a certain survey would let nothing be undone */
        next[c * LITERALS + k] = fminf(chance[(k + 1) % LITERALS] * chance[(k + 2) % LITERALS], 0.99f);
}

/* bias: from -1, surely false, to 1. decided: 1, -1, or 0 while the bias is below the threshold. */
extern "C" __global__ void sp_bias(const float2 *products, float *bias, int *decided, float threshold,
                                   int variables)
{
    const int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= variables) return;
    const float2 p = products[v];
    const float plain = (1.0f - p.x) * p.y, negated = (1.0f - p.y) * p.x, free = p.x * p.y;
    const float b = (plain - negated) / (plain + negated + free);
    bias[v] = b;
    decided[v] = fabsf(b) < threshold ? 0 : b > 0.0f ? 1 : -1;
}
