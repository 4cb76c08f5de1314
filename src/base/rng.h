/* rng: seedable random numbers, the same on every machine (xoshiro256**, seeded by splitmix64).
 *
 * Every user of randomness has a stream of its own: rng_seed(seed, stream), so that adding one
 * consumer never shifts the numbers of another. */
#ifndef ATOLL_BASE_RNG_H
#define ATOLL_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t s[4];
};

static inline uint64_t rng_splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline struct rng rng_seed(uint64_t seed, uint64_t stream)
{
    struct rng r;
    uint64_t state = seed;
    state = rng_splitmix(&state) ^ (stream * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; i++) r.s[i] = rng_splitmix(&state);
    return r;
}

static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    const uint64_t five = s[1] * 5, result = ((five << 7) | (five >> 57)) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 45) | (s[3] >> 19);
    return result;
}

/* 0 .. bound-1; the bias is below 2^-32 for bounds below 2^32. bound > 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)rng_u64(r) * bound) >> 64);
}

/* 0 <= x < 1, 53 bits. */
static inline double rng_unit(struct rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }

#endif
