/* report: the tables of both analyses for people and for programs (atoll analyze). */
#ifndef ATOLL_ANALYSIS_REPORT_H
#define ATOLL_ANALYSIS_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "exec/launch_facts.h"
#include "ptx/ir.h"

struct report_request {
    const char *entry;          /* NULL: every kernel */
    uint32_t grid[3], block[3]; /* grid[0] == 0: no launch is given */
    const char *const *params;  /* "NAME=VALUE"; of a pointer: the bytes of its structure */
    size_t param_count;
    /* Adds what a machine would do with the launch; NULL: nothing. Arrays have base addresses of their own choice. */
    void (*place)(void *user, struct arena *arena, const struct launch_facts *l, FILE *out, json_t *json);
    void *user;
};

/* Writes the tables to `out` (may be NULL) and returns them as JSON when asked (else NULL). */
json_t *analysis_report(struct arena *arena, struct ptx_module *const *modules, uint32_t count,
                        const struct report_request *request, FILE *out, bool json);

#endif
