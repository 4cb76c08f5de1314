/* partition_rows: see partition_rows.h. */
#include "api/partition_rows.h"

#include "system/repartition.h"

static void set_integer(json_t *row, const char *name, uint64_t value)
{
    (void)json_object_set_new(row, name, json_integer((json_int_t)value));
}

static double per_kilo(uint64_t part, uint64_t whole)
{
    return whole ? 1000.0 * (double)part / (double)whole : 0;
}

static json_t *pages_by_index_json(const struct repartition_app *a, uint32_t indices)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < indices; k++)
        (void)json_array_append_new(list, json_integer((json_int_t)a->pages_in[k]));
    return list;
}

static json_t *bytes_json(const struct repartition_epoch *e, uint32_t indices)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < indices; k++)
        (void)json_array_append_new(list, json_integer((json_int_t)e->bytes_in[k]));
    return list;
}

static json_t *app_json(const struct repartition_app *a, uint32_t channels_per_index, uint32_t indices,
                        uint64_t cycles)
{
    json_t *row = json_object();
    set_integer(row, "sms", a->share.sms);
    set_integer(row, "channels", (uint64_t)a->share.indices * channels_per_index);
    (void)json_object_set_new(row, "class", json_string(a->class.memory_bound ? "memory" : "compute"));
    (void)json_object_set_new(row, "demand_gbs", json_real(a->class.demand / 1e9));
    (void)json_object_set_new(row, "supply_gbs", json_real(a->class.supply / 1e9));
    (void)json_object_set_new(row, "ipc",
                              json_real(cycles ? (double)a->warp_instructions / (double)cycles : 0));
    (void)json_object_set_new(row, "apki",
                              json_real(per_kilo(a->profile.accesses, a->profile.thread_instructions)));
    set_integer(row, "accesses", a->profile.accesses);
    set_integer(row, "hits", a->profile.hits);
    set_integer(row, "thread_instructions", a->profile.thread_instructions);
    set_integer(row, "warp_instructions", a->warp_instructions);
    set_integer(row, "memory_bytes", a->memory_bytes);
    set_integer(row, "pages", a->profile.pages);
    set_integer(row, "foreign_pages", a->foreign_pages);
    set_integer(row, "outside", a->outside);
    (void)json_object_set_new(row, "pages_by_index", pages_by_index_json(a, indices));
    set_integer(row, "faults_lost", a->faults_lost);
    set_integer(row, "faults_gained", a->faults_gained);
    set_integer(row, "pages_moved", a->pages_moved);
    set_integer(row, "set_wait_cycles", a->set_wait_cyc);
    set_integer(row, "held_cycles", a->held_cyc);
    set_integer(row, "sms_drained", a->sms_drained);
    set_integer(row, "sms_switched", a->sms_switched);
    return row;
}

/* Share of the epochs in which a change was not over: of all of them, and of the one with most of it. */
static void set_reallocation(json_t *root, const struct repartition_epoch *e, uint32_t count)
{
    uint64_t change_cyc = 0, cycles = 0;
    double most = 0;
    for (uint32_t k = 0; k < count; k++) {
        const uint64_t epoch_cyc = e[k].end_cyc - e[k].begin_cyc;
        change_cyc += e[k].change_cyc;
        cycles += epoch_cyc;
        if (epoch_cyc && (double)e[k].change_cyc / (double)epoch_cyc > most)
            most = (double)e[k].change_cyc / (double)epoch_cyc;
    }
    (void)json_object_set_new(root, "reallocation_share",
                              json_real(cycles ? (double)change_cyc / (double)cycles : 0));
    (void)json_object_set_new(root, "reallocation_share_most", json_real(most));
}

/* Where the pages of an application may lie, and how many moved in the epoch. */
static json_t *pages_json(const struct repartition_app *a)
{
    json_t *row = json_object(), *indices = json_array();
    for (uint64_t left = a->owned; left; left &= left - 1)
        (void)json_array_append_new(indices, json_integer(__builtin_ctzll(left)));
    (void)json_object_set_new(row, "indices", indices);
    set_integer(row, "moved", a->pages_moved);
    return row;
}

json_t *partition_rows_json(const struct repartition *r, const struct config *c, uint32_t apps)
{
    uint32_t epochs, changes;
    const struct repartition_epoch *e = repartition_epochs(r, &epochs);
    const struct repartition_change *h = repartition_changes(r, &changes);
    const uint32_t per_index = repartition_channels_per_index(r);
    const uint32_t indices = (uint32_t)config_channels(c) / per_index;
    json_t *root = json_object(), *rows = json_array(), *list = json_array(), *pages = json_array();
    for (uint32_t k = 0; k < epochs; k++) {
        json_t *row = json_object(), *of = json_array(), *pages_of = json_array();
        set_integer(row, "begin", e[k].begin_cyc);
        set_integer(row, "end", e[k].end_cyc);
        set_integer(row, "iterations", e[k].iterations);
        (void)json_object_set_new(row, "changed", json_boolean(e[k].changed));
        (void)json_object_set_new(row, "dropped", json_boolean(e[k].dropped));
        set_integer(row, "change_cycles", e[k].change_cyc);
        set_integer(row, "page_cycles", e[k].pages_cyc);
        for (uint32_t app = 0; app < apps; app++)
            (void)json_array_append_new(
                of, app_json(&e[k].of[app], per_index, indices, e[k].end_cyc - e[k].begin_cyc));
        (void)json_object_set_new(row, "memory_bytes_by_index", bytes_json(&e[k], indices));
        for (uint32_t app = 0; app < apps; app++)
            (void)json_array_append_new(pages_of, pages_json(&e[k].of[app]));
        (void)json_array_append_new(pages, pages_of);
        (void)json_object_set_new(row, "apps", of);
        (void)json_array_append_new(rows, row);
    }
    for (uint32_t k = 0; k < changes; k++) {
        json_t *row = json_object();
        set_integer(row, "begin", h[k].begin_cyc);
        set_integer(row, "masks", h[k].masks_cyc);
        set_integer(row, "over", h[k].over_cyc);
        set_integer(row, "sms", h[k].sms);
        set_integer(row, "indices", h[k].indices);
        (void)json_array_append_new(list, row);
    }
    (void)json_object_set_new(root, "epochs", rows);
    (void)json_object_set_new(root, "pages", pages);
    (void)json_object_set_new(root, "changes", list);
    set_integer(root, "dropped", repartition_dropped(r));
    set_reallocation(root, e, epochs);
    return root;
}

void partition_rows_text(const struct repartition *r, const struct config *c, uint32_t apps, FILE *out)
{
    uint32_t count;
    const struct repartition_epoch *e = repartition_epochs(r, &count);
    const uint32_t per_index = repartition_channels_per_index(r);
    (void)c;
    if (!count) return;
    (void)fprintf(
        out,
        "\n  partition by epoch: SMs/channels, class, demand/supply in GB/s, IPC; changing: share of the "
        "epoch\n");
    for (uint32_t k = 0; k < count; k++) {
        const uint64_t cycles = e[k].end_cyc - e[k].begin_cyc;
        (void)fprintf(out, "   %4u %11llu", k, (unsigned long long)e[k].end_cyc);
        for (uint32_t app = 0; app < apps; app++) {
            const struct repartition_app *a = &e[k].of[app];
            (void)fprintf(out, "  %2u/%-2u %c %4.0f/%-4.0f %6.2f", a->share.sms, a->share.indices * per_index,
                          a->class.memory_bound ? 'M' : 'C', a->class.demand / 1e9, a->class.supply / 1e9,
                          (double)a->warp_instructions / (double)cycles);
        }
        (void)fprintf(out, "  %5.1f %%%s\n", 100.0 * (double)e[k].change_cyc / (double)cycles,
                      e[k].dropped   ? " decision dropped"
                      : e[k].changed ? " new partition"
                                     : "");
    }
}
