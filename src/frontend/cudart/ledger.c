/* ledger: simulated time of streams and engines.
 *
 * A device has one array of SMs and one copy engine per direction. An operation starts when its stream, its
 * engine and the host's last wait allow, and ends so many seconds later. The legacy default stream waits for
 * all blocking streams of its device and they for it. */
#include "frontend/cudart/process.h"

static double later(double a, double b) { return a > b ? a : b; }

static bool is_legacy(const struct stream *s) { return s == &process.devices[s->device].legacy; }

double ledger_now(struct stream *s)
{
    const struct device_state *d = &process.devices[s->device];
    double t = later(s->time, process.host_time);
    if (!is_legacy(s)) return s->flags & STREAM_NON_BLOCKING ? t : later(t, d->legacy.time);
    for (const struct stream *other = process.streams; other; other = other->next)
        if (other->device == s->device && !(other->flags & STREAM_NON_BLOCKING)) t = later(t, other->time);
    return t;
}

void ledger_spend(struct stream *s, enum engine engine, double seconds)
{
    struct device_state *d = &process.devices[s->device];
    double *free_at = engine == ENGINE_COMPUTE     ? &d->compute_free
                      : engine == ENGINE_TO_DEVICE ? &d->to_device_free
                      : engine == ENGINE_TO_HOST   ? &d->to_host_free
                                                   : NULL;
    double t = ledger_now(s);
    if (free_at) t = later(t, *free_at);
    s->time = t + seconds;
    if (free_at) *free_at = s->time;
}

void ledger_host_waits(double time) { process.host_time = later(process.host_time, time); }

void ledger_host_waits_for_all(int device)
{
    ledger_host_waits(process.devices[device].legacy.time);
    for (const struct stream *s = process.streams; s; s = s->next)
        if (s->device == device) ledger_host_waits(s->time);
}
