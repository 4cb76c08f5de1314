/* atoll complete: candidates for the shell's completion (tools/atoll.bash-completion calls it).
 *
 *   atoll complete -- WORD...     words after "atoll", the last one being typed */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct complete_args {
    struct cli_list rest;
};

static void offer(const char *candidate, const char *suffix, const char *typed)
{
    if (strncmp(candidate, typed, strlen(typed)) == 0) (void)printf("%s%s\n", candidate, suffix);
}

/* Offers the first column of a list. */
static void offer_list(const char *what, const char *column, const char *suffix, const char *typed)
{
    int code;
    char *text = NULL;
    atoll_sim *sim = cli_sim(NULL, NULL, &code);
    if (!sim) return;
    if (!atoll_list(sim, what, ATOLL_JSON, &text)) {
        json_t *rows = json_loads(text, 0, NULL), *row;
        size_t i;
        json_array_foreach(rows, i, row)
            offer(json_string_value(json_object_get(row, column)), suffix, typed);
        json_decref(rows);
    }
    free(text);
    atoll_destroy(sim);
}

static int run(const void *arg)
{
    const struct cli_list *words = &((const struct complete_args *)arg)->rest;
    const char *typed = words->count ? words->items[words->count - 1] : "";
    const char *before = words->count > 1 ? words->items[words->count - 2] : "";
    if (words->count <= 1 || (words->count == 2 && strcmp(before, "help") == 0)) {
        for (const struct cli_command *const *c = cli_commands; *c; c++)
            if ((*c)->summary[0]) offer((*c)->name, "", typed);
        return 0;
    }
    if (strcmp(before, "-m") == 0 || strcmp(before, "--machine") == 0) {
        offer_list("machines", "machine", "", typed);
    } else if (strcmp(before, "-w") == 0 || strcmp(before, "--workload") == 0) {
        offer_list("workloads", "workload", "", typed);
    } else if (strcmp(before, "-s") == 0 || strcmp(before, "--set") == 0) {
        offer_list("params", "parameter", "=", typed);
    } else if (words->count == 2 && strcmp(before, "list") == 0) {
        static const char *const lists[] = {"machines", "workloads", "policies", "params", "stats"};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) offer(lists[i], "", typed);
    } else if (words->count == 2 && strcmp(before, "model") == 0) {
        offer("dram", "", typed);
        offer("net", "", typed);
    } else if (typed[0] == '-') {
        for (const struct cli_command *const *c = cli_commands; *c; c++) {
            if (strcmp((*c)->name, words->items[0]) != 0) continue;
            for (const struct cli_option *o = (*c)->options; o && o->name; o++) {
                char spelling[64];
                (void)snprintf(spelling, sizeof spelling, "--%s", o->name);
                offer(spelling, "", typed);
            }
        }
    }
    return 0;
}

const struct cli_command cli_complete = {
    .name = "complete",
    .summary = "", /* hidden */
    .usage = "-- WORD...",
    .args_bytes = sizeof(struct complete_args),
    .rest_offset = offsetof(struct complete_args, rest),
    .run = run,
};
