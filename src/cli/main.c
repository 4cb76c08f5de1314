/* main: finds the subcommand, reads its options, runs it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

const struct cli_command *const cli_commands[] = {
#define COMMAND(name) &cli_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL};

static bool hidden(const struct cli_command *c) { return c->summary[0] == '\0'; }

static void print_overview(FILE *out)
{
    (void)fprintf(out,
                  "atoll %s: a cycle-level simulator of non-uniform GPUs\n\nusage: atoll COMMAND "
                  "[options]\n\ncommands:\n",
                  atoll_version());
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        if (!hidden(*c)) (void)fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    (void)fputs(
        "\n'atoll COMMAND --help' explains a command; 'atoll --version' prints the version.\n"
        "exit status: 0 success, 1 user error (message on stderr), 2 failed check, 3 internal error\n",
        out);
}

void cli_print_help(const struct cli_command *command)
{
    (void)printf("atoll %s: %s\n\nusage: atoll %s %s\n", command->name, command->summary, command->name,
                 command->usage);
    if (command->options && command->options->name) (void)puts("\noptions:");
    for (const struct cli_option *o = command->options; o && o->name; o++) {
        char spelling[96];
        (void)snprintf(spelling, sizeof spelling, "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
                       o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
                       o->kind == CLI_FLAG ? "" : " ", o->kind == CLI_FLAG ? "" : o->argument);
        (void)printf("  %-36s %s\n", spelling, o->help);
    }
    if (command->examples) (void)printf("\nexamples:\n%s", command->examples);
}

static const struct cli_command *find_command(const char *name)
{
    const char *names[64];
    size_t count = 0;
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0) return *c;
        if (!hidden(*c)) names[count++] = (*c)->name;
    }
    const char *near = atoll_nearest(name, names, count);
    (void)fprintf(stderr, "atoll: unknown command '%s'%s%s%s\n", name, near ? "; did you mean '" : "",
                  near ? near : "", near ? "'?" : "; 'atoll help' shows all");
    return NULL;
}

/* ---- options ---- */

static const struct cli_option *find_option(const struct cli_command *c, const char *word, const char **value)
{
    const char *equals = strchr(word, '=');
    *value = NULL;
    for (const struct cli_option *o = c->options; o && o->name; o++) {
        if (word[1] != '-') { /* -m X or -mX */
            if (!o->letter || word[1] != o->letter) continue;
            if (word[2]) *value = word + 2;
            return o;
        }
        const size_t len = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
        if (strlen(o->name) != len || strncmp(o->name, word + 2, len) != 0) continue;
        if (equals) *value = equals + 1;
        return o;
    }
    return NULL;
}

static int unknown_option(const struct cli_command *c, const char *word)
{
    const char *names[64] = {0};
    size_t count = 0;
    char name[64];
    (void)snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = '\0';
    for (const struct cli_option *o = c->options; o && o->name && count < 63; o++) names[count++] = o->name;
    names[count++] = "help";
    const char *near = atoll_nearest(name, names, count);
    return cli_mistake("unknown option '%s' of 'atoll %s'%s%s%s", word, c->name,
                       near ? "; did you mean '--" : "", near ? near : "",
                       near ? "'?" : "; --help shows all");
}

static int store(const struct cli_command *c, const struct cli_option *o, void *args, const char *value)
{
    void *field = (char *)args + o->offset;
    switch (o->kind) {
    case CLI_FLAG:
        if (value) return cli_mistake("option --%s of 'atoll %s' takes no value", o->name, c->name);
        *(bool *)field = true;
        return 0;
    case CLI_TEXT:
        if (*(const char **)field) return cli_mistake("option --%s is given twice", o->name);
        *(const char **)field = value;
        return 0;
    case CLI_LIST: {
        struct cli_list *list = field;
        if (list->count == CLI_LIST_MAX)
            return cli_mistake("option --%s is given more than %d times", o->name, CLI_LIST_MAX);
        list->items[list->count++] = value;
        return 0;
    }
    }
    return 0;
}

static int add_rest(const struct cli_command *c, void *args, const char *word)
{
    struct cli_list *rest = (struct cli_list *)(void *)((char *)args + c->rest_offset);
    if (rest->count == CLI_LIST_MAX) return cli_mistake("more than %d arguments", CLI_LIST_MAX);
    rest->items[rest->count++] = word;
    return 0;
}

/* The command line of another program: all that is left. */
static void take_command(const struct cli_command *c, void *args, int argc, char **argv)
{
    struct cli_words *rest = (struct cli_words *)(void *)((char *)args + c->rest_offset);
    *rest = (struct cli_words){.items = argv, .count = (size_t)argc};
}

/* Fills args; -1 = go on, else the exit code. */
static int parse(const struct cli_command *c, int argc, char **argv, void *args)
{
    bool only_rest = false;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        int code;
        if (only_rest || word[0] != '-' || word[1] == '\0') {
            if (c->rest_is_command) {
                take_command(c, args, argc - i, argv + i);
                return -1;
            }
            if ((code = add_rest(c, args, word))) return code;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_rest = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            cli_print_help(c);
            return 0;
        }
        const struct cli_option *o = find_option(c, word, &value);
        if (!o) return unknown_option(c, word);
        if (o->kind != CLI_FLAG && !value) {
            if (i + 1 >= argc || strcmp(argv[i + 1], "--") == 0)
                return cli_mistake("option --%s of 'atoll %s' needs a value: %s", o->name, c->name,
                                   o->argument);
            value = argv[++i];
        }
        if ((code = store(c, o, args, value))) return code;
    }
    return -1;
}

/* ---- shared by the commands ---- */

int cli_mistake(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)fputs("atoll: ", stderr);
    (void)vfprintf(stderr, format, list);
    (void)fputs("\n", stderr);
    va_end(list);
    return ATOLL_MISTAKE;
}

bool cli_parse_count(const char *option, const char *text, uint64_t least, uint64_t *value)
{
    char *end;
    *value = 0;
    if (!text) return true;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (end == text || *end || errno || *text == '-')
        return (void)cli_mistake("--%s '%s' is not a whole number", option, text), false;
    if (*value >= least) return true;
    (void)cli_mistake("--%s takes a number from %llu, not %s; leave it out for no limit", option,
                      (unsigned long long)least, text);
    return false;
}

bool cli_parse_dim(const char *option, const char *text, uint32_t dim[3])
{
    unsigned long v[3] = {1, 1, 1};
    char *end = NULL;
    if (!text) {
        (void)cli_mistake("a kernel of a PTX file needs --%s X[,Y[,Z]], such as --%s 64", option, option);
        return false;
    }
    errno = 0;
    for (int i = 0; i < 3; i++) {
        v[i] = strtoul(text, &end, 10);
        if (end == text || errno || v[i] == 0 || v[i] > 0x7fffffff || *text == '-') break;
        if (*end == '\0') {
            for (int k = 0; k < 3; k++) dim[k] = (uint32_t)v[k];
            return true;
        }
        if (*end != ',') break;
        text = end + 1;
    }
    (void)cli_mistake("--%s takes X,Y,Z (whole numbers from 1), such as --%s 64,1,1", option, option);
    return false;
}

int cli_show(atoll_sim *sim, atoll_status status, char *text)
{
    int code = 0;
    if (status)
        code = cli_fail(sim, status);
    else
        (void)fputs(text, stdout);
    free(text);
    atoll_destroy(sim);
    return code;
}

static struct cli_words command_line; /* as the user gave it */

/* As a shell reads it back. */
static void print_word(const char *word, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        (void)fputs(word, out);
        return;
    }
    (void)fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            (void)fputs("'\\''", out);
        else
            (void)fputc(*word, out);
    (void)fputc('\'', out);
}

void cli_report_bug(void)
{
    (void)fputs("command line:", stderr);
    for (size_t i = 0; i < command_line.count; i++) {
        (void)fputc(' ', stderr);
        print_word(command_line.items[i], stderr);
    }
    (void)fprintf(
        stderr, "\nThis is a bug of Atoll %s, not of yours. Please report it with the command line above.\n",
        atoll_version());
}

int cli_fail(const atoll_sim *sim, atoll_status status)
{
    (void)fprintf(stderr, "atoll: %s", atoll_message(sim));
    if (status == ATOLL_BUG) cli_report_bug();
    return (int)status;
}

int cli_not_yet(const char *command)
{
    return cli_mistake("'atoll %s' does not work yet in version %s: its engine is not part of it", command,
                       atoll_version());
}

atoll_sim *cli_sim(const char *machine, const struct cli_list *sets, int *code)
{
    atoll_sim *sim = NULL;
    atoll_status status = atoll_create(&sim);
    if (!sim) {
        *code = cli_mistake("out of host memory");
        return NULL;
    }
    if (!status && machine) status = atoll_machine(sim, machine);
    for (size_t i = 0; !status && sets && i < sets->count; i++) status = atoll_set(sim, sets->items[i]);
    if (!status) status = atoll_check_machine(sim);
    if (!status) return sim;
    *code = cli_fail(sim, status);
    atoll_destroy(sim);
    return NULL;
}

static int write_to(const char *path, const char *shown, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f) return cli_mistake("cannot write '%s': %m", shown);
    const bool written = fputs(text, f) >= 0 && fflush(f) == 0;
    if (fclose(f) != 0 || !written) return cli_mistake("cannot write '%s': %m", shown);
    return 0;
}

/* A file is written through a temporary one beside it, so that a full disk leaves nothing half-written. A
 * device or pipe is written directly; a link is followed. */
int cli_write_file(const char *path, const char *text)
{
    if (strcmp(path, "-") == 0) {
        (void)fputs(text, stdout);
        return fflush(stdout) == 0 ? 0 : cli_mistake("cannot write to standard output: %m");
    }
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return write_to(path, path, text);
    char *target = realpath(path, NULL);
    char temporary[4096];
    const int len = snprintf(temporary, sizeof temporary, "%s.part", target ? target : path);
    int code = len < (int)sizeof temporary ? write_to(temporary, path, text)
                                           : cli_mistake("the path '%.60s...' is too long", path);
    if (!code && rename(temporary, target ? target : path) != 0)
        code = cli_mistake("cannot write '%s': %m", path);
    if (code && len < (int)sizeof temporary) (void)remove(temporary);
    free(target);
    return code;
}

int cli_can_write_each(const char *json, const char *csv, const char *timeline)
{
    const char *const paths[] = {json, csv, timeline};
    for (int k = 0; k < 3; k++) {
        const int code = cli_can_write(paths[k]);
        if (code) return code;
        for (int other = 0; paths[k] && other < k; other++)
            if (paths[other] && strcmp(paths[k], paths[other]) == 0)
                return cli_mistake("--json, --csv and --timeline name '%s' twice", paths[k]);
    }
    return 0;
}

int cli_can_write(const char *path)
{
    struct stat st;
    if (!path || strcmp(path, "-") == 0) return 0;
    if (!*path) return cli_mistake("cannot write a file without a name");
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return cli_mistake("cannot write '%s': it is a folder", path);
    if (exists && !S_ISREG(st.st_mode)) return 0;
    char *target = realpath(path, NULL);
    char temporary[4096];
    const int len = snprintf(temporary, sizeof temporary, "%s.part", target ? target : path);
    free(target);
    if (len >= (int)sizeof temporary) return cli_mistake("the path '%.60s...' is too long", path);
    FILE *f = fopen(temporary, "w");
    if (!f) return cli_mistake("cannot write '%s': %m", path);
    (void)fclose(f);
    (void)remove(temporary);
    return 0;
}

/* As the C library looks it up, without asking for a locale that may not be installed. */
bool cli_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* Runs what the words ask for; the caller flushes. */
static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_overview(stderr);
        return ATOLL_MISTAKE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        (void)printf("atoll %s\n", atoll_version());
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc < 3)) {
        print_overview(stdout);
        return 0;
    }
    const bool help = strcmp(name, "help") == 0;
    const struct cli_command *command = find_command(help ? argv[2] : name);
    if (!command) return ATOLL_MISTAKE;
    if (help) {
        cli_print_help(command);
        return 0;
    }
    void *args = calloc(1, command->args_bytes);
    if (!args) return cli_mistake("out of host memory");
    int code = parse(command, argc - 2, argv + 2, args);
    if (code < 0) code = command->run(args);
    free(args);
    return code;
}

int main(int argc, char **argv)
{
    command_line = (struct cli_words){.items = argv, .count = (size_t)argc};
    const int code = dispatch(argc, argv);
    const bool failed = fflush(stdout) != 0 || ferror(stdout);
    return failed ? cli_mistake("cannot write to standard output: %m") : code;
}
