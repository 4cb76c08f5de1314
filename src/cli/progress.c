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

/* ", 12 s left" when so much of something took so long. */
static void format_left(char *buf, size_t bytes, double fraction, double seconds)
{
    buf[0] = '\0';
    if (!(fraction > 0.001)) return;
    const double left = seconds * (1 - fraction) / fraction;
    if (left < 120)
        (void)snprintf(buf, bytes, ", %.0f s left", left);
    else
        (void)snprintf(buf, bytes, ", %.0f min left", left / 60);
}

void progress_format(char *buf, size_t bytes, const struct atoll_progress *p, double elapsed_seconds,
                     double kernel_seconds, size_t rss)
{
    char part[64], left[64], kernel[128] = "";
    const double rate = elapsed_seconds > 0 ? (double)p->warp_instructions / elapsed_seconds : 0;
    if (p->fraction >= 0)
        (void)snprintf(part, sizeof part, "%3.0f %%", 100 * p->fraction);
    else
        (void)snprintf(part, sizeof part, "%.0f s", elapsed_seconds);
    if (p->kernel && p->fraction < 0) {
        format_left(left, sizeof left, p->kernel_fraction, kernel_seconds);
        (void)snprintf(kernel, sizeof kernel, ", kernel %llu %.0f %%%s", (unsigned long long)p->kernel,
                       100 * p->kernel_fraction, left);
    }
    format_left(left, sizeof left, p->fraction, elapsed_seconds);
    (void)snprintf(buf, bytes, "%s%s%s, cycle %llu, %.2f M warp instructions, %.2f M/s, %.0f MB", part, left,
                   kernel, (unsigned long long)p->cycles, (double)p->warp_instructions * 1e-6, rate * 1e-6,
                   (double)rss * 1e-6);
}

static void show(void *arg, const struct atoll_progress *p)
{
    struct progress *self = arg;
    char line[200];
    const double now = now_seconds();
    if (p->kernel != self->kernel) {
        self->kernel = p->kernel;
        self->kernel_seconds = now;
    }
    progress_format(line, sizeof line, p, now - self->start_seconds, now - self->kernel_seconds, rss_bytes());
    (void)fprintf(stderr, "\r\033[K%s", line);
    (void)fflush(stderr);
    self->shown = true;
}

void progress_begin(struct progress *p, atoll_sim *sim)
{
    const double now = now_seconds();
    *p = (struct progress){.start_seconds = now, .kernel = 1, .kernel_seconds = now};
    if (isatty(STDERR_FILENO)) atoll_on_progress(sim, show, p);
}

void progress_end(struct progress *p)
{
    if (p->shown) (void)fputs("\r\033[K", stderr);
}
