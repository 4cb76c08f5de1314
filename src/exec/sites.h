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

/* builtin.c: an argument, the result of a call that nobody defines. */
uint64_t builtin_argument(const struct exec_warp *w, const struct call_site *call, uint32_t k, uint32_t lane);
void builtin_result(const struct exec_warp *w, const struct call_site *call, uint32_t lane, uint64_t v);
/* child.c */
void child_buffer(struct exec_warp *w, uint32_t mask, const struct call_site *call);
void child_launch(struct exec_warp *w, uint32_t mask, const struct call_site *call);
void child_error(struct exec_warp *w, uint32_t mask, const struct call_site *call, bool forget);
void child_handle(struct exec_warp *w, const struct insn *i, uint32_t mask, const struct call_site *call);

enum image_outside { IMAGE_OUTSIDE_TRAP, IMAGE_OUTSIDE_CLAMP, IMAGE_OUTSIDE_ZERO };

/* An instruction of textures or surfaces. */
struct image_site {
    uint16_t op;        /* enum ptx_op */
    uint8_t type;       /* enum ptx_type of the value */
    uint8_t sub;        /* sured: enum ptx_sub */
    uint8_t mip;        /* enum ptx_mip */
    uint8_t component;  /* tld4: 0-3; txq, suq: enum ptx_image */
    uint8_t outside;    /* enum image_outside */
    uint8_t log2_bytes; /* of an element of a surface access */
    bool whole;         /* coordinates are integers */
    bool raw;           /* surfaces: bytes; else formatted values */
    bool has_offset;
    struct image_geometry geometry;
    uint32_t handle; /* refs from here on */
    uint32_t x[3], layer, level, dx[3], dy[3], offset[3];
    uint32_t count, reg[4]; /* of the value; UINT32_MAX: sink */
    bool reg64[4];
    uint32_t resident; /* predicate; UINT32_MAX: none. istypep: the result */
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
