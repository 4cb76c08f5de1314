/* time_bounds: the lower bounds that links and channels set to the time of the run, and the run's time over the
 * largest of them. */
#include "report/report.h"

enum { BOUND_TEXT = 2 * DRAW_TEXT + 8 };

static const char *const floor_names[SYSTEM_FLOORS] = {[SYSTEM_FLOOR_LINK] = "link_bytes",
                                                       [SYSTEM_FLOOR_BUS] = "channel_bytes",
                                                       [SYSTEM_FLOOR_ACTIVATES] = "channel_activates",
                                                       [SYSTEM_FLOOR_CPU_LINK] = "cpu_link_bytes"};

static void describe(const struct report *r, enum system_floor floor, uint32_t idx, char text[BOUND_TEXT])
{
    struct system_node_link l;
    if (floor == SYSTEM_FLOOR_CPU_LINK) {
        (void)snprintf(text, BOUND_TEXT, "CPU link of GPU %u", idx);
        return;
    }
    if (floor != SYSTEM_FLOOR_LINK || !system_node_link(r->system, idx, &l)) {
        (void)snprintf(text, BOUND_TEXT, "channel %u", idx);
        return;
    }
    report_node_link_name(r, &l, text, BOUND_TEXT);
}

/* The resource with the largest bound; SYSTEM_FLOORS: no link and no channel did anything. */
static enum system_floor largest(const struct report *r, struct system_time_bound *bound)
{
    enum system_floor floor = SYSTEM_FLOORS;
    *bound = (struct system_time_bound){0};
    for (enum system_floor k = 0; k < SYSTEM_FLOORS; k++) {
        struct system_time_bound b;
        if (!system_time_bound(r->system, k, &b) || b.seconds <= bound->seconds) continue;
        *bound = b;
        floor = k;
    }
    return floor;
}

void report_time_bounds_text(const struct report *r, FILE *out)
{
    static const char *const works[SYSTEM_FLOORS] = {[SYSTEM_FLOOR_LINK] = "bytes over its bandwidth",
                                                     [SYSTEM_FLOOR_BUS] = "columns over its bandwidth",
                                                     [SYSTEM_FLOOR_ACTIVATES] = "activates, four per tFAW",
                                                     [SYSTEM_FLOOR_CPU_LINK] = "bytes over its bandwidth"};
    struct system_time_bound b;
    const enum system_floor floor = largest(r, &b);
    char name[BOUND_TEXT], seconds[DRAW_TEXT];
    if (floor == SYSTEM_FLOORS) return;
    describe(r, floor, b.idx, name);
    (void)fprintf(out, "\n  lower bound: %s, %s (%s); the run takes %.2f times as long\n",
                  draw_seconds(seconds, b.seconds), name, works[floor], r->total.seconds / b.seconds);
}

json_t *report_time_bounds_json(const struct report *r)
{
    struct system_time_bound b;
    json_t *all = json_object();
    for (enum system_floor k = 0; k < SYSTEM_FLOORS; k++) {
        char name[BOUND_TEXT];
        if (!system_time_bound(r->system, k, &b)) continue;
        describe(r, k, b.idx, name);
        (void)json_object_set_new(all, floor_names[k],
                                  json_pack("{s:f, s:s}", "seconds", b.seconds, "busiest", name));
    }
    const enum system_floor floor = largest(r, &b);
    if (floor == SYSTEM_FLOORS) return all;
    (void)json_object_set_new(all, "largest", json_string(floor_names[floor]));
    (void)json_object_set_new(all, "time_over_largest", json_real(r->total.seconds / b.seconds));
    return all;
}
