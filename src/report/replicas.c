/* replicas: how often read-only lines were replicated (organisations private, adaptive, selective), what was
 * predicted and what was measured, for people and as data. */
#include "policy/replication/replication.h"
#include "report/report.h"
#include "request/request.h"

enum { DEGREES = 5 }; /* rows of replication_stats.def: 1, 2, 4, 8, 16 */

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/* The last row has what lies above it, too. */
static void write_degree(const struct report *r, FILE *out, uint32_t k, uint32_t slices)
{
    const struct selrep_stats *s = &r->stats.selrep;
    const uint64_t cycles = (&s->cycles_at_1)[k], sampled = (&s->sampled_1)[k],
                   reads = (&s->read_only_reads_1)[k];
    char name[16];
    if (k == DEGREES - 1 && slices > 1u << k)
        (void)snprintf(name, sizeof name, "%u-%u", 1u << k, slices);
    else
        (void)snprintf(name, sizeof name, "%u", 1u << k);
    (void)fprintf(out, "    %6s %5.1f %% %7llu  ", name, 100 * share((double)cycles, (double)s->cycles),
                  (unsigned long long)(&s->epochs_at_1)[k]);
    if (sampled)
        (void)fprintf(out, "%7.1f %%", 100 * share((double)(&s->sampled_hits_1)[k], (double)sampled));
    else
        (void)fprintf(out, "%9s", "-");
    if (reads)
        (void)fprintf(out, " %7.1f %%  ", 100 * share((double)(&s->read_only_found_1)[k], (double)reads));
    else
        (void)fprintf(out, " %9s  ", "-");
    if ((&s->judged_1)[k])
        (void)fprintf(out, "%9.0f",
                      1e-3 * share((double)(&s->predicted_mb_per_s_1)[k], (double)(&s->judged_1)[k]));
    else
        (void)fprintf(out, "%9s", "-");
    if (reads)
        (void)fprintf(out, " %8.0f  ",
                      share((double)reads * LINE_BYTES * 1e-9 * (double)r->config->clock.sm, (double)cycles));
    else
        (void)fprintf(out, " %8s  ", "-");
    if (s->epoch_requests)
        (void)fprintf(out, "%6.1f", share((double)s->epoch_requests, (double)(&s->busiest_epoch_1)[k]));
    else
        (void)fprintf(out, "%6s", "-");
    (void)fprintf(out, " %6.1f\n", share((double)s->requests, (double)(&s->busiest_256_1)[k]));
}

static void write_sharing(const struct selrep_stats *s, FILE *out)
{
    if (!s->window_lines) return;
    (void)fprintf(
        out,
        "    read-only lines read within 1000 cycles: %.1f %% by more than 2 SMs, %.1f %% by more than 9; of "
        "the lines\n    that several SMs use in a kernel %.1f %% are read-only\n",
        100 * share((double)s->window_lines_3, (double)s->window_lines),
        100 * share((double)s->window_lines_10, (double)s->window_lines),
        100 * share((double)s->shared_lines_read_only, (double)s->shared_lines));
}

void report_replicas_text(const struct report *r, FILE *out)
{
    const struct selrep_stats *s = &r->stats.selrep;
    const struct level_use *l = &r->total.levels[LEVEL_LLC];
    if (!s->cycles || !r->total.cycles) return;
    (void)fprintf(out, "  replication: degree %.1f on average, %llu %s, %llu changes",
                  share((double)s->degree_cycles, (double)s->cycles), (unsigned long long)s->epochs,
                  r->config->selrep.degree ? "epochs" : "decisions", (unsigned long long)s->changes);
    if (s->private_cycles)
        (void)fprintf(out, ", private %.1f %% of the time",
                      100 * share((double)s->private_cycles, (double)s->cycles));
    (void)fprintf(out,
                  "\n    LLC: %.1f %% of reads miss, %.2f replies per cycle, the busiest slice has %.2f "
                  "times the mean\n",
                  100 * share((double)r->stats.llc.read_misses, (double)r->stats.llc.reads),
                  (double)r->stats.llc.replies / (double)r->total.cycles, share(l->busiest, l->use));
    const uint32_t slices = (uint32_t)(config_slices_per_gpu(r->config) / r->config->llc.stacks);
    (void)fprintf(out,
                  "                            read-only hits        read-only GB/s    slices of %u in use\n"
                  "    degree    time  epochs  predicted  measured  predicted measured   epoch  256 cyc\n",
                  slices);
    for (uint32_t k = 0; k < DEGREES && 1u << k <= slices; k++) write_degree(r, out, k, slices);
    write_sharing(s, out);
    (void)fputc('\n', out);
}

/* ---- as data: what every epoch was decided on ---- */

static json_t *counts_of(const uint32_t *values, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < count; k++) (void)json_array_append_new(list, json_integer(values[k]));
    return list;
}

static json_t *list_of(const double *values, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t k = 0; k < count; k++) (void)json_array_append_new(list, json_real(values[k]));
    return list;
}

void report_replicas_json(const struct report *r, json_t *root)
{
    const struct replication *p = system_replication(r->system);
    if (!p || !p->decision_count) return;
    json_t *list = json_array();
    for (uint32_t k = 0; k < p->decision_count; k++) {
        const struct replication_decision *d = &p->decisions[k];
        (void)json_array_append_new(
            list,
            json_pack(
                "{s:I, s:i, s:i, s:b, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                "cycle", (json_int_t)d->cyc, "degree", (int)d->degree, "next", (int)d->next, "tried",
                d->is_trial, "epoch_cycles", (json_int_t)d->epoch_cyc, "requests", (json_int_t)d->requests,
                "reads", (json_int_t)d->reads, "found", (json_int_t)d->found, "sampled",
                counts_of(d->sampled, p->degrees), "cold", counts_of(d->cold, p->degrees), "hit_rate",
                list_of(d->hit_rate, p->degrees), "slice_parallelism", list_of(d->lsp, p->degrees),
                "slice_parallelism_256", list_of(d->short_lsp[0], p->degrees), "slice_parallelism_1k",
                list_of(d->short_lsp[1], p->degrees), "bytes_per_second", list_of(d->bandwidth, p->degrees),
                "counted_hit_rate", list_of(d->choice_hit_rate, p->degrees), "promised_bytes_per_second",
                list_of(d->choice_bandwidth, p->degrees)));
    }
    (void)json_object_set_new(root, "replication", json_pack("{s:o}", "decisions", list));
}
