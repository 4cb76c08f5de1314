/* cli: the atoll command. A client of include/atoll.h; the only part of Atoll that prints and exits.
 *
 *   main ── find command ── parse options (rows below) ── command->run(args) ── exit code
 *
 * A subcommand is one file cmd_X.c with its rows, its run function and one row in commands.def. */
#ifndef ATOLL_CLI_CLI_H
#define ATOLL_CLI_CLI_H

#include <atoll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLI_LIST_MAX = 256 };

/* Values of an option that may be repeated. */
struct cli_list {
    const char *items[CLI_LIST_MAX];
    size_t count;
};

/* Words of the command line, as they are there; ends with NULL. */
struct cli_words {
    char **items;
    size_t count;
};

enum cli_kind { CLI_FLAG, CLI_TEXT, CLI_LIST };

/* One option: a field of the command's argument struct (bool, const char *, struct cli_list). */
struct cli_option {
    const char *name; /* without the dashes */
    char letter;      /* 0 = none */
    enum cli_kind kind;
    size_t offset;
    const char *argument, *help;
};

struct cli_command {
    const char *name, *summary, *usage, *examples;
    const struct cli_option *options; /* ends with a row whose name is NULL */
    size_t args_bytes;
    size_t rest_offset;   /* struct cli_list of what is not an option */
    bool rest_is_command; /* everything after "--" or the first plain word belongs to another program:
                           * rest_offset is a struct cli_words */
    int (*run)(const void *args);
};

#define COMMAND(name) extern const struct cli_command cli_##name;
#include "cli/commands.def"
#undef COMMAND

extern const struct cli_command *const cli_commands[]; /* ends with NULL */

/* ---- shared by the commands ---- */

/* The end of a command that shows one text: prints it, or what was wrong; releases both; the exit code. */
int cli_show(atoll_sim *sim, atoll_status status, char *text);
/* Prints the simulator's message to stderr and returns the exit code of a status. */
int cli_fail(const atoll_sim *sim, atoll_status status);
/* After the message of an internal error: the command line, and what to do with it. */
void cli_report_bug(void);
/* Creates a simulator with -m and -s applied; NULL after printing what was wrong (*code set). */
atoll_sim *cli_sim(const char *machine, const struct cli_list *sets, int *code);
/* "atoll: ..." on stderr, exit code 1. */
int cli_mistake(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "X,Y,Z", "X,Y" or "X" of --option; false after printing what was wrong. */
bool cli_parse_dim(const char *option, const char *text, uint32_t dim[3]);
/* A whole number from `least` of --option, 0 without the option; false after printing what was wrong. */
bool cli_parse_count(const char *option, const char *text, uint64_t least, uint64_t *value);
/* Writes text to a path ("-" = stdout) whole or not at all; returns an exit code. */
int cli_write_file(const char *path, const char *text);
/* Before a long run: 0 when cli_write_file() will be able to open the file (NULL: none is asked for). */
int cli_can_write(const char *path);
/* The same for three, which must differ. */
int cli_can_write_each(const char *json, const char *csv, const char *timeline);
/* Does the environment ask for UTF-8 text? */
bool cli_is_utf8(void);
/* Path of this program, for the processes that it starts. */
const char *cli_program(void);
/* The end of a sweep in words; an exit code. */
int cli_sweep_summary(const struct atoll_sweep_summary *s, const char *db);
/* A report of a database into a file ("-" = stdout); an exit code. */
int cli_write_report(const char *db, const char *path, atoll_format format, const char *command);
/* A service whose engine is not there yet says so plainly. */
int cli_not_yet(const char *command);

/* Options that many commands have. */
#define CLI_OPTION_MACHINE(type) \
    { \
        "machine", 'm', CLI_TEXT, offsetof(type, machine), "MACHINE", "preset name or YAML file" \
    }
#define CLI_OPTION_SET(type) \
    { \
        "set", 's', CLI_LIST, offsetof(type, set), "SECTION.KEY=VALUE", \
            "override a parameter; may be repeated" \
    }
#define CLI_OPTION_JSON(type) \
    { \
        "json", 0, CLI_TEXT, offsetof(type, json), "FILE", \
            "write the result as JSON ('-' = standard output)" \
    }
#define CLI_OPTION_CSV(type) \
    { \
        "csv", 0, CLI_TEXT, offsetof(type, csv), "FILE", "write the statistics as CSV" \
    }
/* Of what runs kernels. */
#define CLI_OPTION_FUNCTIONAL(type) \
    { \
        "functional", 0, CLI_FLAG, offsetof(type, functional), "", "compute values only, no time" \
    }
#define CLI_OPTION_RACECHECK(type) \
    { \
        "racecheck", 0, CLI_FLAG, offsetof(type, racecheck), "", \
            "report races on shared memory (exit code 2)" \
    }
#define CLI_OPTION_CHECK(type) \
    { \
        "check", 0, CLI_FLAG, offsetof(type, check), "", \
            "follow every word through every cache, fail on the first stale read (exit code 2)" \
    }
#define CLI_OPTION_TIMELINE(type) \
    { \
        "timeline", 0, CLI_TEXT, offsetof(type, timeline), "FILE", \
            "write a trace for chrome://tracing or ui.perfetto.dev" \
    }
#define CLI_OPTION_DETAILS(type) \
    { \
        "details", 0, CLI_FLAG, offsetof(type, details), "", \
            "a longer report: causes of misses, waits, balance, histograms" \
    }

void cli_print_help(const struct cli_command *command);

#endif
