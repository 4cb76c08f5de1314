/* launches: the list of what a program launched, and how it is shown. */
#include <stdlib.h>
#include <string.h>

#include "api/run.h"
#include "report/report.h"

size_t launches_add(struct launch_list *list, const struct launch_row *row)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        struct launch_row *grown = realloc(list->rows, capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory");
        list->rows = grown;
        list->capacity = capacity;
    }
    struct launch_row *at = &list->rows[list->count];
    *at = *row;
    at->name = strdup(row->name);
    if (!at->name) diag_mistake("out of host memory");
    return list->count++;
}

void launches_free(struct launch_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->rows[i].name);
    free(list->rows);
    *list = (struct launch_list){0};
}

/* ---- for people: one line per kernel, the one with most instructions first ---- */

struct kernel_sum {
    const char *name;
    uint64_t launches, warp_instructions;
};

static int by_instructions(const void *a, const void *b)
{
    const struct kernel_sum *x = a, *y = b;
    if (x->warp_instructions != y->warp_instructions)
        return x->warp_instructions < y->warp_instructions ? 1 : -1;
    return strcmp(x->name, y->name);
}

static size_t sum_up(const struct launch_list *list, struct kernel_sum *sums)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        size_t k = 0;
        if (!list->rows[i].ended) continue;
        while (k < count && strcmp(sums[k].name, list->rows[i].name) != 0) k++;
        if (k == count) sums[count++] = (struct kernel_sum){.name = list->rows[i].name};
        sums[k].launches++;
        sums[k].warp_instructions += list->rows[i].warp_instructions;
    }
    qsort(sums, count, sizeof *sums, by_instructions);
    return count;
}

void run_write_launches(const struct run_call *call, FILE *out)
{
    enum { SHOWN = 12, NAME = 52 };
    char name[NAME + 1];
    const struct launch_list *list = call->launches;
    struct kernel_sum *sums = calloc(list->count + 1, sizeof *sums);
    if (!sums) return;
    const size_t count = sum_up(list, sums);
    (void)fprintf(out, "  %-*s %10s %20s\n", NAME, "kernels", "launches", "warp instructions");
    for (size_t i = 0; i < count && i < SHOWN; i++)
        (void)fprintf(out, "  %-*s %10llu %20llu\n", NAME, draw_kernel(name, NAME, sums[i].name),
                      (unsigned long long)sums[i].launches, (unsigned long long)sums[i].warp_instructions);
    if (count > SHOWN) (void)fprintf(out, "  and %zu more\n", count - SHOWN);
    if (!count) (void)fputs("  none\n", out);
    free(sums);
}

/* ---- for programs ---- */

static json_t *dim(const uint32_t v[3])
{
    return json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

void run_add_launches(const struct run_call *call, json_t *root)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < call->launches->count; i++) {
        const struct launch_row *l = &call->launches->rows[i];
        if (l->timed || !l->ended) continue;
        json_t *row = json_pack("{s:s, s:I, s:o, s:o, s:I, s:I, s:I}", "name", l->name, "launch_number",
                                (json_int_t)(l->number ? l->number : i + 1), "grid", dim(l->grid), "block",
                                dim(l->block), "shared_bytes", (json_int_t)l->shared_bytes,
                                "warp_instructions", (json_int_t)l->warp_instructions, "thread_instructions",
                                (json_int_t)l->thread_instructions);
        (void)json_array_append_new(rows, row);
    }
    (void)json_object_set_new(root, call->timed ? "untimed_kernels" : "kernels", rows);
}
