/* lanes_warp: instructions that look across the lanes of a warp: shfl, vote, match, redux, activemask, elect.
 *
 * `mask` is the lanes that execute together now. Each lane names its members (x->e, .sync) or means all
 * active ones; several groups with different member masks may execute the same instruction at once, so that
 * results are per group. Lanes of a member mask that are not here (the caller made them wait, or they left)
 * do not take part. */
#include <string.h>

#include "exec/lanes_float.h"
#include "exec/lanes_private.h"

#define WARP_ARGS \
    void *d_, const void *a_, const void *b_, const void *c_, uint32_t mask, const struct lanes_ctx *x
#define WARP_UNUSED (void)d_, (void)a_, (void)b_, (void)c_, (void)x

static uint32_t members_of(const struct lanes_ctx *x, uint32_t mask, int lane)
{
    return x->e ? ((const uint32_t *)x->e)[lane] & mask : mask;
}

/* Takes the group of the lowest lane of *left out of it. */
static uint32_t next_group(const struct lanes_ctx *x, uint32_t *left)
{
    uint32_t group = *left;
    if (x->e) {
        const uint32_t *e = x->e, name = e[__builtin_ctz(*left)];
        uint32_t same = 0;
        for (int i = 0; i < LANES_COUNT; i++) same |= e[i] == name ? 1u << i : 0u;
        group &= same;
    }
    *left &= ~group;
    return group;
}

static void put_bits(uint32_t *d, uint32_t bits, uint32_t mask) { *d = (*d & ~mask) | (bits & mask); }
static void put_value(uint32_t *d, uint32_t value, uint32_t lanes)
{
    if (lanes == LANES_ALL) {
        for (int i = 0; i < LANES_COUNT; i++) d[i] = value;
        return;
    }
    for (uint32_t m = lanes; m != 0; m &= m - 1) d[__builtin_ctz(m)] = value;
}

/* ---- shfl ---- */
enum shfl_mode { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };

static inline int shfl_source(enum shfl_mode mode, int lane, uint32_t b, uint32_t c, bool *inside)
{
    const int by = (int)(b & 31), segment = (int)((c >> 8) & 31), clamp = (int)(c & 31);
    const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int from = lane;
    switch (mode) {
    case SHFL_UP: from = lane - by; break;
    case SHFL_DOWN: from = lane + by; break;
    case SHFL_BFLY: from = lane ^ by; break;
    case SHFL_IDX: from = first | (by & ~segment); break;
    }
    *inside = mode == SHFL_UP ? from >= last : from <= last;
    return *inside ? from : lane;
}
/* The usual shapes: all lanes, one distance, the whole warp as one segment. a may be d. */
static inline bool shfl_fast(enum shfl_mode mode, uint32_t *d, const uint32_t *a, const uint32_t *b,
                             const uint32_t *c, uint32_t *inside)
{
    uint32_t differ = 0;
    for (int i = 0; i < LANES_COUNT; i++) differ |= (b[i] ^ b[0]) | (c[i] ^ c[0]);
    if (differ != 0) return false;
    const uint32_t by = b[0] & 31;
    if ((c[0] & 0x1f1fu) != (mode == SHFL_UP ? 0u : 31u)) return false;
    /* a window of 32 words over the row and a copy of the lanes that keep their own value */
    uint32_t t[2 * LANES_COUNT];
    const size_t row = LANES_COUNT * sizeof t[0], kept = by * sizeof t[0];
    switch (mode) {
    case SHFL_UP:
        memcpy(t + LANES_COUNT, a, row);
        memcpy(t + LANES_COUNT - by, a, kept);
        memcpy(d, t + LANES_COUNT - by, row);
        *inside = LANES_ALL << by;
        return true;
    case SHFL_DOWN:
        memcpy(t, a, row);
        memcpy(t + LANES_COUNT, a + LANES_COUNT - by, kept);
        memcpy(d, t + by, row);
        *inside = LANES_ALL >> by;
        return true;
    case SHFL_BFLY:
        for (int i = 0; i < LANES_COUNT; i++) t[i] = a[i];
        for (int i = 0; i < LANES_COUNT; i++) d[i] = t[i ^ (int)by];
        *inside = LANES_ALL;
        return true;
    case SHFL_IDX: {
        const uint32_t v = a[by];
        for (int i = 0; i < LANES_COUNT; i++) d[i] = v;
        *inside = LANES_ALL;
        return true;
    }
    }
    return false;
}
static inline void shfl(enum shfl_mode mode, WARP_ARGS)
{
    uint32_t *d = d_, *p = x->d2;
    const uint32_t *a = a_, *b = b_, *c = c_;
    uint32_t inside = 0;
    if (mask == LANES_ALL && d != NULL && shfl_fast(mode, d, a, b, c, &inside)) {
        if (p) *p = inside;
        return;
    }
    uint32_t t[LANES_COUNT];
    for (int i = 0; i < LANES_COUNT; i++) {
        bool in;
        t[i] = a[shfl_source(mode, i, b[i], c[i], &in)];
        inside |= (uint32_t)in << i;
    }
    if (d)
        for (int i = 0; i < LANES_COUNT; i++) d[i] = (mask >> i) & 1u ? t[i] : d[i];
    if (p) put_bits(p, inside, mask);
}
void lanes_warp_shfl_up(WARP_ARGS) { shfl(SHFL_UP, d_, a_, b_, c_, mask, x); }
void lanes_warp_shfl_down(WARP_ARGS) { shfl(SHFL_DOWN, d_, a_, b_, c_, mask, x); }
void lanes_warp_shfl_bfly(WARP_ARGS) { shfl(SHFL_BFLY, d_, a_, b_, c_, mask, x); }
void lanes_warp_shfl_idx(WARP_ARGS) { shfl(SHFL_IDX, d_, a_, b_, c_, mask, x); }

/* ---- vote ---- */
enum vote_mode { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
static inline void vote(enum vote_mode mode, WARP_ARGS)
{
    WARP_UNUSED;
    const uint32_t p = *(const uint32_t *)a_;
    for (uint32_t left = mask; left != 0;) {
        const int first = __builtin_ctz(left);
        const uint32_t members = members_of(x, mask, first), yes = p & members;
        const uint32_t group = next_group(x, &left);
        bool r = false;
        switch (mode) {
        case VOTE_BALLOT: put_value(d_, yes, group); continue;
        case VOTE_ALL: r = yes == members; break;
        case VOTE_ANY: r = yes != 0; break;
        case VOTE_UNI: r = yes == members || yes == 0; break;
        }
        put_bits(d_, r ? LANES_ALL : 0, group);
    }
}
void lanes_warp_vote_all(WARP_ARGS) { vote(VOTE_ALL, d_, a_, b_, c_, mask, x); }
void lanes_warp_vote_any(WARP_ARGS) { vote(VOTE_ANY, d_, a_, b_, c_, mask, x); }
void lanes_warp_vote_uni(WARP_ARGS) { vote(VOTE_UNI, d_, a_, b_, c_, mask, x); }
void lanes_warp_vote_ballot(WARP_ARGS) { vote(VOTE_BALLOT, d_, a_, b_, c_, mask, x); }

/* ---- match ---- */
static inline uint64_t value_at(const void *a, int lane, int bytes)
{
    return bytes == 8 ? ((const uint64_t *)a)[lane] : ((const uint32_t *)a)[lane];
}
static inline void match_any(WARP_ARGS, int bytes)
{
    WARP_UNUSED;
    uint32_t t[LANES_COUNT] = {0};
    for (uint32_t m = mask; m != 0; m &= m - 1) {
        const int lane = __builtin_ctz(m);
        const uint64_t v = value_at(a_, lane, bytes);
        uint32_t same = 0;
        for (uint32_t o = members_of(x, mask, lane); o != 0; o &= o - 1) {
            const int other = __builtin_ctz(o);
            same |= (uint32_t)(value_at(a_, other, bytes) == v) << other;
        }
        t[lane] = same;
    }
    for (uint32_t m = mask; m != 0; m &= m - 1) ((uint32_t *)d_)[__builtin_ctz(m)] = t[__builtin_ctz(m)];
}
static inline void match_all(WARP_ARGS, int bytes)
{
    WARP_UNUSED;
    uint32_t groups[LANES_COUNT], results[LANES_COUNT];
    int count = 0;
    for (uint32_t left = mask; left != 0; count++) {
        const int first = __builtin_ctz(left);
        const uint32_t members = members_of(x, mask, first);
        const uint64_t v = value_at(a_, first, bytes);
        bool same = true;
        for (uint32_t o = members; o != 0; o &= o - 1) same &= value_at(a_, __builtin_ctz(o), bytes) == v;
        groups[count] = next_group(x, &left);
        results[count] = same ? members : 0;
    }
    for (int i = 0; i < count; i++) {
        if (d_) put_value(d_, results[i], groups[i]);
        if (x->d2) put_bits(x->d2, results[i] ? LANES_ALL : 0, groups[i]);
    }
}
void lanes_warp_match_any_b32(WARP_ARGS) { match_any(d_, a_, b_, c_, mask, x, 4); }
void lanes_warp_match_any_b64(WARP_ARGS) { match_any(d_, a_, b_, c_, mask, x, 8); }
void lanes_warp_match_all_b32(WARP_ARGS) { match_all(d_, a_, b_, c_, mask, x, 4); }
void lanes_warp_match_all_b64(WARP_ARGS) { match_all(d_, a_, b_, c_, mask, x, 8); }

/* ---- redux ---- */
static uint32_t redux_step(uint32_t op, uint32_t r, uint32_t v)
{
    switch ((enum lanes_redux)op) {
    case REDUX_ADD: return r + v;
    case REDUX_MIN_U: return v < r ? v : r;
    case REDUX_MAX_U: return v > r ? v : r;
    case REDUX_MIN_S: return (int32_t)v < (int32_t)r ? v : r;
    case REDUX_MAX_S: return (int32_t)v > (int32_t)r ? v : r;
    case REDUX_AND: return r & v;
    case REDUX_OR: return r | v;
    case REDUX_XOR: return r ^ v;
    }
    return r;
}
void lanes_warp_redux(WARP_ARGS)
{
    WARP_UNUSED;
    uint32_t groups[LANES_COUNT], results[LANES_COUNT];
    int count = 0;
    const uint32_t *a = a_;
    for (uint32_t left = mask; left != 0; count++) {
        const int first = __builtin_ctz(left);
        uint32_t r = a[first];
        for (uint32_t o = members_of(x, mask, first) & ~(1u << first); o != 0; o &= o - 1)
            r = redux_step(x->imm, r, a[__builtin_ctz(o)]);
        groups[count] = next_group(x, &left);
        results[count] = r;
    }
    for (int i = 0; i < count; i++) put_value(d_, results[i], groups[i]);
}
/* imm: 1 = max, 2 = .abs, 4 = .NaN */
void lanes_warp_redux_float(WARP_ARGS)
{
    WARP_UNUSED;
    uint32_t groups[LANES_COUNT], results[LANES_COUNT];
    int count = 0;
    const uint32_t *a = a_;
    const uint32_t keep = x->imm & 2 ? 0x7fffffffu : 0xffffffffu;
    for (uint32_t left = mask; left != 0; count++) {
        const int first = __builtin_ctz(left);
        f32 r = float32(a[first] & keep);
        bool nan = r != r;
        for (uint32_t o = members_of(x, mask, first) & ~(1u << first); o != 0; o &= o - 1) {
            const f32 v = float32(a[__builtin_ctz(o)] & keep);
            nan |= v != v;
            r = x->imm & 1 ? max32(r, v) : min32(r, v);
        }
        groups[count] = next_group(x, &left);
        results[count] = nan && (x->imm & 4) ? NAN32 : bits32(canon32(r));
    }
    for (int i = 0; i < count; i++) put_value(d_, results[i], groups[i]);
}

void lanes_warp_activemask(WARP_ARGS)
{
    WARP_UNUSED;
    put_value(d_, mask, mask);
}

/* ASSUMPTION: the leader is the lowest lane of the group; the manual leaves the choice open */
void lanes_warp_elect(WARP_ARGS)
{
    WARP_UNUSED;
    for (uint32_t left = mask; left != 0;) {
        const int first = __builtin_ctz(left);
        const uint32_t members = members_of(x, mask, first);
        const int leader = members != 0 ? __builtin_ctz(members) : first;
        const uint32_t group = next_group(x, &left);
        if (d_) put_value(d_, (uint32_t)leader, group);
        if (x->d2) put_bits(x->d2, 1u << leader, group);
    }
}

/* movmatrix.trans: an 8x8 matrix of 16-bit elements, two of a row in each lane, transposed. All lanes take
 * part. */
void lanes_warp_movmatrix(WARP_ARGS)
{
    WARP_UNUSED;
    const uint32_t *a = a_;
    uint32_t t[LANES_COUNT];
    for (uint32_t i = 0; i < LANES_COUNT; i++) {
        const uint32_t row = i / 4, col = 2 * (i % 4);
        const uint32_t low = a[col * 4 + row / 2] >> (row % 2 * 16),
                       high = a[(col + 1) * 4 + row / 2] >> (row % 2 * 16);
        t[i] = (low & 0xffffu) | high << 16;
    }
    for (int i = 0; i < LANES_COUNT; i++)
        if ((mask >> i) & 1u) ((uint32_t *)d_)[i] = t[i];
}
