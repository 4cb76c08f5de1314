/* progress: one line on a terminal with percent, cycles, speed, time left and memory; silent when piped. */
#ifndef ATOLL_CLI_PROGRESS_H
#define ATOLL_CLI_PROGRESS_H

#include <atoll.h>
#include <stddef.h>

struct progress {
    double start_seconds;
    uint64_t kernel; /* the one that runs, and since when */
    double kernel_seconds;
    bool shown;
};

/* Listens to the simulator when stderr is a terminal. p must outlive the run. */
void progress_begin(struct progress *p, atoll_sim *sim);
/* Takes the line away. */
void progress_end(struct progress *p);

/* The line itself (without the return), for given times since the start and since the kernel's start, and
 * memory. */
void progress_format(char *buf, size_t bytes, const struct atoll_progress *p, double elapsed_seconds,
                     double kernel_seconds, size_t rss_bytes);

#endif
