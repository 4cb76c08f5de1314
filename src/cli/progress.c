/* progress: formats the line and shows it on a terminal. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t rss_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long size, resident = 0;
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0; /* NOLINT: the kernel writes numbers */
    (void)fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

void progress_format(char *buf, size_t bytes, const struct atoll_progress *p, double elapsed_seconds,
                     size_t rss)
{
    char part[64], left[64] = "";
    const double rate = elapsed_seconds > 0 ? (double)p->warp_instructions / elapsed_seconds : 0;
    if (p->fraction >= 0)
        (void)snprintf(part, sizeof part, "%3.0f %%", 100 * p->fraction);
    else
        (void)snprintf(part, sizeof part, "%.0f s", elapsed_seconds);
    if (p->fraction > 0.001) {
        const double seconds = elapsed_seconds * (1 - p->fraction) / p->fraction;
        if (seconds < 120)
            (void)snprintf(left, sizeof left, ", %.0f s left", seconds);
        else
            (void)snprintf(left, sizeof left, ", %.0f min left", seconds / 60);
    }
    char kernel[64] = "";
    if (p->kernel)
        (void)snprintf(kernel, sizeof kernel, ", kernel %llu at %.0f %%", (unsigned long long)p->kernel,
                       100 * p->kernel_fraction);
    (void)snprintf(buf, bytes, "%s%s, cycle %llu, %.2f M warp instructions, %.2f M/s%s, %.0f MB", part,
                   kernel, (unsigned long long)p->cycles, (double)p->warp_instructions * 1e-6, rate * 1e-6,
                   left, (double)rss * 1e-6);
}

static void show(void *arg, const struct atoll_progress *p)
{
    struct progress *self = arg;
    char line[200];
    progress_format(line, sizeof line, p, now_seconds() - self->start_seconds, rss_bytes());
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    self->shown = true;
}

void progress_begin(struct progress *p, atoll_sim *sim)
{
    *p = (struct progress){.start_seconds = now_seconds()};
    if (isatty(STDERR_FILENO)) atoll_on_progress(sim, show, p);
}

void progress_end(struct progress *p)
{
    if (p->shown) (void)fputs("\r\033[K", stderr);
}
