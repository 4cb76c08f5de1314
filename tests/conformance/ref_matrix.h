/* Matrix instructions for the tests: spellings with operands, and the fragment layouts of mma.sync as the PTX
 * manual writes them, shape by shape. Independent of src/. */
#ifndef CONFORMANCE_REF_MATRIX_H
#define CONFORMANCE_REF_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct ref_mma {
    const char *spelling;
    int m, n, k;
    char ta[6], tb[6], tc[6], td[6];
    int regs_a, regs_b, regs_c, regs_d; /* of the operands */
};
static const struct ref_mma ref_mma_rows[] = {
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", 8, 8, 4, "f16", "f16", "f32", "f32", 2, 2, 8, 8},
    {"mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", 8, 8, 4, "f16", "f16", "f16", "f16", 2, 2, 4, 4},
    {"mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f16", 8, 8, 4, "f16", "f16", "f16", "f32", 2, 2, 4, 8},
    {"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 8, "f16", "f16", "f32", "f32", 2, 1, 4, 4},
    {"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 8, "f16", "f16", "f16", "f16", 2, 1, 2, 2},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 8, 16, "f16", "f16", "f32", "f32", 4, 2, 4, 4},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 8, 16, "f16", "f16", "f16", "f16", 4, 2, 2, 2},
    {"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 8, "bf16", "bf16", "f32", "f32", 2, 1, 4,
     4},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 8, 16, "bf16", "bf16", "f32", "f32", 4, 2, 4,
     4},
    {"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 8, 4, "tf32", "tf32", "f32", "f32", 2, 1, 4,
     4},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 8, "tf32", "tf32", "f32", "f32", 4, 2, 4,
     4},
    {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 8, 4, "f64", "f64", "f64", "f64", 1, 1, 2, 2},
    {"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 8, 16, "s8", "s8", "s32", "s32", 1, 1, 2, 2},
    {"mma.sync.aligned.m8n8k16.row.col.satfinite.s32.u8.s8.s32", 8, 8, 16, "u8", "s8", "s32", "s32", 1, 1, 2,
     2},
    {"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", 16, 8, 16, "s8", "u8", "s32", "s32", 2, 1, 4, 4},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 32, "s8", "s8", "s32", "s32", 4, 2, 4, 4},
    {"mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", 8, 8, 32, "s4", "s4", "s32", "s32", 1, 1, 2, 2},
    {"mma.sync.aligned.m16n8k32.row.col.s32.u4.s4.s32", 16, 8, 32, "u4", "s4", "s32", "s32", 2, 1, 4, 4},
    {"mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", 16, 8, 64, "s4", "s4", "s32", "s32", 4, 2, 4, 4},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 8, 8, 128, "b1", "b1", "s32", "s32", 1, 1, 2,
     2},
    {"mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc", 8, 8, 128, "b1", "b1", "s32", "s32", 1, 1, 2,
     2},
};
enum { REF_MMA_COUNT = sizeof ref_mma_rows / sizeof ref_mma_rows[0] };

static inline int ref_element_bits(const char *t)
{
    return strcmp(t, "f64") == 0                                                      ? 64
           : strcmp(t, "f32") == 0 || strcmp(t, "tf32") == 0 || strcmp(t, "s32") == 0 ? 32
           : strcmp(t, "f16") == 0 || strcmp(t, "bf16") == 0                          ? 16
           : strcmp(t, "s8") == 0 || strcmp(t, "u8") == 0                             ? 8
           : strcmp(t, "s4") == 0 || strcmp(t, "u4") == 0                             ? 4
                                                                                      : 1;
}
static inline bool ref_is_quads(const struct ref_mma *r)
{
    return r->k == 4 && r->m == 8 && r->ta[0] == 'f' && r->ta[1] == '1';
}

/* row and column of element i of a lane; group and thread as in the manual */
static inline void ref_at_a(const struct ref_mma *r, int lane, int i, int *row, int *col)
{
    const int group = lane >> 2, thread = lane % 4, bits = ref_element_bits(r->ta);
    if (ref_is_quads(r)) { /* .m8n8k4 f16: row major and column major forms */
        const bool by_col = strstr(r->spelling, "k4.col") != NULL;
        *row = by_col ? i % 4 + (lane < 16 ? 0 : 4) : lane % 4 + (lane < 16 ? 0 : 4);
        *col = by_col ? lane % 4 : i;
        return;
    }
    if (r->m == 8) { /* one row per group */
        *row = group;
        *col = bits == 64  ? thread
               : bits == 8 ? thread * 4 + i
               : bits == 4 ? thread * 8 + i
                           : thread * 32 + i;
        return;
    }
    if (bits == 16 && r->k == 8) {
        *row = i < 2 ? group : group + 8;
        *col = thread * 2 + (i & 1);
    } else if (bits == 16) {
        *row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? group : group + 8;
        *col = i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
    } else if (bits == 32 && r->k == 4) {
        *row = i == 0 ? group : group + 8;
        *col = thread;
    } else if (bits == 32) {
        *row = i == 0 || i == 2 ? group : group + 8;
        *col = i == 0 || i == 1 ? thread : thread + 4;
    } else if (bits == 8 && r->k == 16) {
        *row = i < 4 ? group : group + 8;
        *col = thread * 4 + (i & 3);
    } else if (bits == 8) {
        *row = (i < 4) || (i >= 8 && i < 12) ? group : group + 8;
        *col = i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
    } else if (r->k == 32) {
        *row = i < 8 ? group : group + 8;
        *col = thread * 8 + (i & 7);
    } else {
        *row = (i < 8) || (i >= 16 && i < 24) ? group : group + 8;
        *col = i < 16 ? thread * 8 + (i & 7) : thread * 8 + (i & 7) + 32;
    }
}
static inline void ref_at_b(const struct ref_mma *r, int lane, int i, int *row, int *col)
{
    const int group = lane >> 2, thread = lane % 4, bits = ref_element_bits(r->tb);
    if (ref_is_quads(r)) {
        const bool by_row = strstr(r->spelling, ".row.f16.f16") || strstr(r->spelling, "col.row") ||
                            strstr(r->spelling, "row.row");
        *row = by_row ? lane % 4 : i;
        *col = by_row ? i + (lane < 16 ? 0 : 4) : lane % 4 + (lane < 16 ? 0 : 4);
        return;
    }
    *col = group;
    switch (bits) {
    case 64: *row = thread; break;
    case 32: *row = i == 0 ? thread : thread + 4; break;
    case 16: *row = i < 2 ? thread * 2 + i : thread * 2 + (i & 1) + 8; break;
    case 8: *row = i < 4 ? thread * 4 + i : thread * 4 + (i & 3) + 16; break;
    case 4: *row = i < 8 ? thread * 8 + i : thread * 8 + (i & 7) + 32; break;
    default: *row = thread * 32 + i; break;
    }
}
static inline void ref_at_c(const struct ref_mma *r, const char *type, int lane, int i, int *row, int *col)
{
    const int group = lane >> 2, thread = lane % 4;
    if (ref_is_quads(r)) {
        if (strcmp(type, "f16") == 0) {
            *row = lane % 4 + (lane < 16 ? 0 : 4);
            *col = i;
        } else {
            const int x = (lane & 1) + (i & 2);
            *row = lane < 16 ? x : x + 4;
            *col = (i & 4) + (lane & 2) + (i & 1);
        }
        return;
    }
    *row = i < 2 ? group : group + 8;
    *col = thread * 2 + (i & 1);
}

/* ---- as text ---- */
static inline int ref_vector(char *out, size_t room, char reg, int from, int count)
{
    int n = snprintf(out, room, "{");
    for (int i = 0; i < count; i++)
        n += snprintf(out + n, room - (size_t)n, "%s%%%c%d", i ? "," : "", reg, from + i);
    return n + snprintf(out + n, room - (size_t)n, "}");
}
static inline void ref_mma_text(const struct ref_mma *r, char *out, size_t room)
{
    const char reg = r->ta[0] == 'f' && r->ta[1] == '6' ? 'l' : 'm';
    int n = snprintf(out, room, "%s ", r->spelling);
    n += ref_vector(out + n, room - (size_t)n, reg, 0, r->regs_d);
    n += snprintf(out + n, room - (size_t)n, ", ");
    n += ref_vector(out + n, room - (size_t)n, reg, 8, r->regs_a);
    n += snprintf(out + n, room - (size_t)n, ", ");
    n += ref_vector(out + n, room - (size_t)n, reg, 16, r->regs_b);
    n += snprintf(out + n, room - (size_t)n, ", ");
    n += ref_vector(out + n, room - (size_t)n, reg, 24, r->regs_c);
    (void)snprintf(out + n, room - (size_t)n, ";\n");
}
/* registers of a wmma fragment; the manual's table */
static inline int ref_wmma_regs(const char *spelling, char fragment, const char *type)
{
    const int bits = ref_element_bits(type);
    int m = 16, n = 16, k = 16;
    const char *shape = strstr(spelling, ".m");
    while (shape && sscanf(shape, ".m%dn%dk%d", &m, &n, &k) != 3) shape = strstr(shape + 1, ".m");
    if ((fragment == 'a' || fragment == 'b') && strcmp(type, "f16") == 0) return 8;
    const int elements = fragment == 'a' ? m * k : fragment == 'b' ? k * n : m * n;
    return bits == 64 ? elements / 32 : elements * bits / 32 / 32;
}

#endif
