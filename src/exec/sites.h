/* sites: what a static instruction needs beyond struct insn; made by lower.c, read by handlers. */
#ifndef ATOLL_EXEC_SITES_H
#define ATOLL_EXEC_SITES_H

#include "exec/machine.h"

enum bar_kind { BAR_SYNC, BAR_ARRIVE, BAR_RED };

struct bar_site {
    uint8_t kind; /* enum bar_kind */
    uint8_t red;  /* enum ptx_sub: POPC, AND, OR */
    bool has_count;
    uint32_t invert; /* ~0: !p */
};

struct collective_site {
    struct lanes_ctx ctx;
    bool has_members, has_d2, invert_a;
    uint32_t members, d2; /* refs */
};

struct branch_site {
    const struct insn *target, *join; /* join NULL: nowhere in this function */
    bool backward;
    uint32_t skip; /* a helper around one instruction: distance to the join behind it */
};

struct table_site {
    const struct insn **targets;
    uint32_t count;
    const struct insn *join;
};

/* An arithmetic instruction that needs more than d, a, b, c. */
struct lanes_site {
    struct lanes_ctx ctx;
    uint32_t e, d2, d3, d4; /* refs; UINT32_MAX: none */
    uint8_t invert;         /* bit k: source k (a, b, c) is a predicate to be complemented */
    uint32_t needs;
    lanes_fn *lane;
    uint8_t d_bytes;
};

struct sreg_site {
    uint16_t sreg;
    uint16_t which;
    bool wide; /* the destination is a 64-bit register */
};

enum mbarrier_kind {
    MB_INIT,
    MB_INVAL,
    MB_ARRIVE,
    MB_ARRIVE_DROP,
    MB_EXPECT_TX,
    MB_COMPLETE_TX,
    MB_TEST_WAIT,
    MB_TRY_WAIT,
    MB_PENDING,
    MB_COPY_ARRIVE
};

struct mbarrier_site {
    struct access *access;
    uint8_t kind;
    bool has_count, has_state, parity, noinc, expect_tx, no_complete;
    uint32_t count, state, dst; /* refs; dst UINT32_MAX: none */
    bool dst64;
};

struct copy_site {
    struct access *to, *from;
    uint32_t bytes;
    bool has_size, has_ignore;
    uint32_t size, ignore; /* refs: bytes to read (the rest is zero); predicate */
    uint32_t ignore_xor;
    bool bulk, bulk_mbarrier;
    struct access *mbarrier;
    uint32_t bulk_size; /* ref */
};

struct matrix_site {
    struct lanes_matrix m;
    struct access *access;
    bool has_stride;
    uint32_t stride;                     /* ref */
    uint32_t d[32], a[32], b[32], c[32]; /* refs of fragment registers */
    uint8_t nd, na, nb, nc;
    uint8_t d64, a64; /* fragments of f64 */
};

#endif
