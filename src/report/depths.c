/* depths: how many requests wait at the slices and behind them, mean over the time of the run. */
#include "report/report.h"

static const char *const queue_names[SYSTEM_QUEUES] = {
    [SYSTEM_QUEUE_INPUT] = "at the port, from SMs",
    [SYSTEM_QUEUE_REMOTE_INPUT] = "at the port, from other slices",
    [SYSTEM_QUEUE_REMOTE_REPLIES] = "at the port, answers of other slices",
    [SYSTEM_QUEUE_LOCAL] = "taken, before the tag stage (LMR)",
    [SYSTEM_QUEUE_INSIDE] = "inside: tags read, not answered",
    [SYSTEM_QUEUE_MSHRS] = "MSHRs in use",
    [SYSTEM_QUEUE_MEMORY] = "operations due at memory",
    [SYSTEM_QUEUE_CHANNEL] = "columns waiting in a channel",
};

static const char *part_name(enum system_queue queue)
{
    return queue == SYSTEM_QUEUE_CHANNEL ? "channel" : "slice";
}

/* Little's law: the sum of all waiting times over the time. */
static double mean(const struct report *r, const struct system_depth *d, uint64_t sum, uint32_t parts)
{
    const double cycles = r->total.seconds * (double)d->clock_hz;
    return cycles > 0 ? (double)sum / cycles / (double)parts : 0;
}

/* ---- for people ---- */

/* A number with so many decimals in so many columns; a dash where nothing is known. */
static void write_number(FILE *out, int columns, int decimals, double value, bool known)
{
    if (known)
        (void)fprintf(out, " %*.*f", columns, decimals, value);
    else
        (void)fprintf(out, " %*s", columns, "-");
}

static void write_queue(const struct report *r, FILE *out, enum system_queue queue,
                        const struct system_depth *d)
{
    (void)fprintf(out, "    %-38s", queue_names[queue]);
    write_number(out, 9, 3, mean(r, d, d->sum, d->parts), d->has_sum);
    write_number(out, 9, 1, mean(r, d, d->sum, 1), d->has_sum);
    write_number(out, 6, 0, (double)d->peak, d->has_peak);
    write_number(out, 9, 3, mean(r, d, d->max, 1), d->has_max);
    if (d->has_max && d->max) (void)fprintf(out, "  %s %u", part_name(queue), d->deepest);
    (void)fputc('\n', out);
}

void report_depths_text(const struct report *r, FILE *out)
{
    bool all = true;
    (void)fprintf(out, "\n  %-40s %9s %9s %6s %9s\n", "slice queues (waiting, mean over time)", "of one",
                  "of all", "peak", "deepest");
    for (enum system_queue queue = 0; queue < SYSTEM_QUEUES; queue++) {
        const struct system_depth d = system_depth(r->system, queue);
        if (!d.parts) continue;
        all &= d.has_max;
        write_queue(r, out, queue, &d);
    }
    if (!all)
        (void)fputs("    (means: not counted while the memory side works ahead; -s sim.work_ahead=false "
                    "counts them)\n",
                    out);
}

/* ---- for programs ---- */

static json_t *queue_json(const struct report *r, enum system_queue queue, const struct system_depth *d)
{
    json_t *row = json_object();
    if (d->has_sum) {
        (void)json_object_set_new(row, "mean", json_real(mean(r, d, d->sum, d->parts)));
        (void)json_object_set_new(row, "all", json_real(mean(r, d, d->sum, 1)));
    }
    if (d->has_max) {
        (void)json_object_set_new(row, "deepest", json_real(mean(r, d, d->max, 1)));
        if (d->max) (void)json_object_set_new(row, part_name(queue), json_integer(d->deepest));
    }
    if (d->has_peak) (void)json_object_set_new(row, "peak", json_integer((json_int_t)d->peak));
    return row;
}

/* What is not counted is left out. */
json_t *report_depths_json(const struct report *r)
{
    json_t *queues = json_object();
    for (enum system_queue queue = 0; queue < SYSTEM_QUEUES; queue++) {
        const struct system_depth d = system_depth(r->system, queue);
        if (d.parts && (d.has_sum || d.has_peak))
            (void)json_object_set_new(queues, measure_queue_keys[queue], queue_json(r, queue, &d));
    }
    return queues;
}
