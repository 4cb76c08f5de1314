/* dram_job: `atoll model dram` as one call: stream and load by name, table, JSON and command log out. */
#ifndef ATOLL_DRAM_JOB_H
#define ATOLL_DRAM_JOB_H

#include "config/machine.h"
#include "dram/dram_model.h"

struct dram_job {
    const char *stream;      /* a path, or builtin:NAME[:COUNT] (dram_streams.def) */
    const char *load;        /* see dram_load_parse() */
    uint64_t outstanding;    /* 0 = no limit but the queues */
    const char *command_log; /* path, or NULL; one line `cycle CMD group bank row column` per command */
};

/* The machine must be finished. Prints the table to report and returns the JSON (a new reference). Raises
 * mistakes; a log is written only when all else went well. */
json_t *dram_job_run(const struct machine *m, const struct dram_job *job, FILE *report);

#endif
