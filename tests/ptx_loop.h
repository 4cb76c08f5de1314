/* ptx_loop: does a kernel's loop load the word that it stores? For the PolyBench kernels, which accumulate in
 * global memory (workloads/device.h, DEVICE_KEEP_IN_MEMORY). */
#ifndef ATOLL_TESTS_PTX_LOOP_H
#define ATOLL_TESTS_PTX_LOOP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PTX_POLYBENCH_COUNT = 8 };
/* workload, kernel */
static const char *const ptx_polybench[PTX_POLYBENCH_COUNT][2] = {
    {"gemm_naive", "gemm_naive"}, {"mvt", "mvt_rows"},      {"mvt", "mvt_columns"}, {"atax", "atax_rows"},
    {"atax", "atax_columns"},     {"bicg", "bicg_columns"}, {"bicg", "bicg_rows"},  {"gesummv", "gesummv"},
};

static inline const char *ptx_next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : NULL;
}

/* Is there, between first and last, a load from the very address operand of a store? */
static inline bool ptx_loads_what_it_stores(const char *first, const char *last)
{
    for (const char *line = first; line && line < last; line = ptx_next_line(line)) {
        const char *store = strstr(line, "st.global.f32"), *end = strchr(line, '\n');
        if (!store || store > end) continue;
        const char *open = strchr(store, '['), *close = open ? strchr(open, ']') : NULL;
        if (!close || close > end) continue;
        for (const char *other = first; other && other < last; other = ptx_next_line(other)) {
            const char *load = strstr(other, "ld.global.f32"), *from = load ? strchr(load, '[') : NULL;
            if (load && load < strchr(other, '\n') && strncmp(from, open, (size_t)(close - open) + 1) == 0)
                return true;
        }
    }
    return false;
}

/* The innermost loop of a kernel, as the compilers lay it out: a label and a branch back to it. */
static inline bool ptx_loop_loads_what_it_stores(const char *ptx, const char *kernel)
{
    char head[64];
    (void)snprintf(head, sizeof head, ".entry %s(", kernel);
    const char *entry = strstr(ptx, head);
    if (!entry) return false;
    const char *end = strstr(entry, "\n}");
    for (const char *line = entry, *label = NULL; line && line < end; line = ptx_next_line(line)) {
        const size_t len = strcspn(line, "\n");
        if (len > 1 && line[len - 1] == ':' && line[0] != '\t') label = line;
        const char *branch = label ? memmem(line, len, "bra", 3) : NULL;
        if (!branch) continue;
        const char *target = branch + strcspn(branch, "L$");
        const size_t name = strcspn(label, ":");
        if (strncmp(target, label, name) == 0 && target[name] == ';' && ptx_loads_what_it_stores(label, line))
            return true;
    }
    return false;
}

#endif
