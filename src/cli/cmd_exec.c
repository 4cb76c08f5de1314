/* atoll exec: an unmodified CUDA program on a machine.
 *
 *   look at the program ─► environment (our libraries first, options) ─► fork, exec ─► wait ─► results
 *
 * The libraries in the program's process do the work (src/frontend/cudart); this command prepares and
 * collects. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/elf.h"
#include "frontend/cudart/wire.h"

struct exec_args {
    const char *machine, *json, *csv, *timeline, *max_instructions, *kernels, *launches, *devices;
    bool functional, check, racecheck, details;
    struct cli_list set;
    struct cli_words rest;
};

static const char *const versions[] = {"13", "12", "11.0"};
enum { VERSION_COUNT = sizeof versions / sizeof *versions, PATH_MOST = 4096 };

/* ---- the program ---- */

/* The file that execvp() would run. */
static bool find_program(const char *name, char path[PATH_MOST])
{
    if (strchr(name, '/')) {
        (void)snprintf(path, PATH_MOST, "%s", name);
        return access(path, F_OK) == 0;
    }
    const char *dirs = getenv("PATH");
    for (const char *at = dirs ? dirs : ""; *at;) {
        const size_t len = strcspn(at, ":");
        (void)snprintf(path, PATH_MOST, "%.*s/%s", (int)len, at, name);
        if (access(path, X_OK) == 0) return true;
        at += len + (at[len] == ':');
    }
    errno = ENOENT;
    return false;
}

/* What can be known before it runs; 0: go on. */
static int check_program(const char *name, const char *path, const struct elf_facts *f)
{
    if (access(path, X_OK) != 0) return cli_mistake("cannot run '%s': %m", name);
    if (!f->is_elf || !f->has_device_code || *f->cudart || f->needs_driver) return 0;
    return cli_mistake(
        "'%s' carries CUDA's runtime inside (nvcc links it statically unless told otherwise), so "
        "Atoll cannot take its place: link it again with 'nvcc -cudart shared ...'",
        name);
}

/* ---- the environment ---- */

/* Where the libraries are: beside the command in a build, in lib/ when installed. */
static bool find_libraries(char dir[PATH_MOST])
{
    static const char *const places[] = {"cuda", ATOLL_CUDA_LIBDIR};
    char self[PATH_MOST / 4], probe[PATH_MOST + 64];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return false;
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)snprintf(dir, PATH_MOST, "%s/%s", self, places[i]);
        (void)snprintf(probe, sizeof probe, "%s/13/libcudart.so.13", dir);
        if (access(probe, R_OK) == 0) return true;
    }
    return false;
}

/* The version that the program was built with comes first: libcuda.so.1 is taken from there. */
static void set_library_path(const char *dir, const struct elf_facts *f)
{
    char path[4 * PATH_MOST], preload[2 * PATH_MOST];
    const char *first = *f->cudart ? f->cudart : versions[0], *before = getenv("LD_LIBRARY_PATH");
    int n = snprintf(path, sizeof path, "%s/%s", dir, first);
    for (size_t i = 0; i < VERSION_COUNT; i++)
        if (strcmp(versions[i], first) != 0)
            n += snprintf(path + n, sizeof path - (size_t)n, ":%s/%s", dir, versions[i]);
    if (before && *before) (void)snprintf(path + n, sizeof path - (size_t)n, ":%s", before);
    (void)setenv("LD_LIBRARY_PATH", path, 1);
    *preload = '\0';
#ifdef ATOLL_ASAN_LIBRARY
    /* The sanitizer must be the first library of a program that was built without it. */
    (void)snprintf(preload, sizeof preload, "%s", ATOLL_ASAN_LIBRARY);
    (void)setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 0);
#endif
    if (f->has_rpath) {
        const size_t len = strlen(preload);
        (void)snprintf(preload + len, sizeof preload - len, "%s%s/%s/libcudart.so.%s", len ? ":" : "", dir,
                       first, first);
    }
    if (*preload) (void)setenv("LD_PRELOAD", preload, 1);
}

static void add_option(FILE *out, const char *key, const char *value)
{
    if (value) (void)fprintf(out, "%s %s\n", key, value);
}

static char *options_text(const struct exec_args *a, int fd)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    char *machine = a->machine && strchr(a->machine, '/') ? realpath(a->machine, NULL) : NULL;
    add_option(out, "machine", machine ? machine : a->machine);
    free(machine);
    for (size_t i = 0; i < a->set.count; i++) add_option(out, "set", a->set.items[i]);
    add_option(out, "label", a->rest.items[0]);
    add_option(out, "max-instructions", a->max_instructions);
    add_option(out, "kernels", a->kernels);
    add_option(out, "launches", a->launches);
    add_option(out, "devices", a->devices);
    add_option(out, "functional", a->functional ? "" : NULL);
    add_option(out, "check", a->check ? "" : NULL);
    add_option(out, "racecheck", a->racecheck ? "" : NULL);
    add_option(out, "details", a->details ? "" : NULL);
    add_option(out, "ascii", cli_is_utf8() ? NULL : "");
    add_option(out, "json", a->json ? "" : NULL);
    add_option(out, "csv", a->csv ? "" : NULL);
    add_option(out, "timeline", a->timeline ? "" : NULL);
    (void)fprintf(out, "fd %d\n", fd);
    return fclose(out) == 0 ? text : NULL;
}

/* ---- running ---- */

static void start_program(const struct exec_args *a)
{
    (void)execvp(a->rest.items[0], a->rest.items);
    (void)cli_mistake("cannot run '%s': %m", a->rest.items[0]);
    _exit(127);
}

/* ---- signals: atoll's are the program's ---- */

static volatile pid_t running;

/* What the terminal sends goes to both anyway. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (running > 0 && info->si_code <= 0) (void)kill(running, number);
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { PASSED_COUNT = sizeof passed / sizeof *passed };

/* before: what to go back to. A signal that is ignored stays so. */
static void pass_signals(struct sigaction before[PASSED_COUNT])
{
    struct sigaction mine = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)sigemptyset(&mine.sa_mask);
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        (void)sigaction(passed[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) (void)sigaction(passed[i], &mine, NULL);
    }
}

static void leave_signals(const struct sigaction before[PASSED_COUNT])
{
    for (size_t i = 0; i < PASSED_COUNT; i++) (void)sigaction(passed[i], &before[i], NULL);
}

/* Its exit code, as a shell counts it. */
static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    (void)cli_mistake("the program was ended by signal %d (%s)", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
}

/* ---- results ---- */

/* Of one process, and one copy of the library in it. */
struct results {
    char from[40];
    char *report, *json, *csv, *timeline;
    struct results *next; /* in the order in which they started */
};

static char *read_all(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return NULL;
    char *text = calloc(1, (size_t)st.st_size + 1);
    size_t have = 0;
    for (ssize_t n; text && have < (size_t)st.st_size; have += (size_t)n)
        if ((n = pread(fd, text + have, (size_t)st.st_size - have, (off_t)have)) <= 0) break;
    return text;
}

static struct results *results_new(const char *from)
{
    struct results *r = calloc(1, sizeof *r);
    if (r) (void)snprintf(r->from, sizeof r->from, "%s", from);
    return r;
}

/* The latest of that name: a process that became another program by exec() starts again. */
static struct results *results_of(struct results *list, const char *from)
{
    struct results *found = NULL;
    for (struct results *r = list; r; r = r->next)
        if (!strcmp(r->from, from)) found = r;
    return found;
}

static void append(struct results **list, struct results *r)
{
    while (*list) list = &(*list)->next;
    *list = r;
}

static void take_record(struct results *r, const char *kind, const char *text, size_t len)
{
    char **to = !r                             ? NULL
                : !strcmp(kind, WIRE_REPORT)   ? &r->report
                : !strcmp(kind, WIRE_JSON)     ? &r->json
                : !strcmp(kind, WIRE_CSV)      ? &r->csv
                : !strcmp(kind, WIRE_TIMELINE) ? &r->timeline
                                               : NULL;
    if (!to) return;
    free(*to);
    *to = strndup(text, len);
}

/* Records "kind from length\n" and bytes; a cut one at the end is left out. *worst: atoll_status. */
static struct results *read_results(int fd, int *worst)
{
    struct results *list = NULL;
    char *all = read_all(fd), kind[16], from[40];
    const size_t bytes = all ? strlen(all) : 0;
    for (size_t at = 0; at < bytes;) {
        size_t len = 0;
        int head = 0;
        if (sscanf(all + at, "%15s %39s %zu%n", kind, from, &len, &head) != 3 ||
            all[at + (size_t)head] != '\n')
            break;
        at += (size_t)head + 1;
        if (len > bytes - at) break;
        if (!strcmp(kind, WIRE_USED)) append(&list, results_new(from));
        if (!strcmp(kind, WIRE_STATUS) && atoi(all + at) > *worst) *worst = atoi(all + at);
        take_record(results_of(list, from), kind, all + at, len);
        at += len;
    }
    free(all);
    return list;
}

/* Of the second process on, its number is in the name: result.json, result.2.json. */
static int write_result(const char *path, const char *text, unsigned number, int code)
{
    char numbered[PATH_MOST];
    if (!path || !text) return code;
    if (number > 1 && strcmp(path, "-") != 0) {
        const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
        const size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
        (void)snprintf(numbered, sizeof numbered, "%.*s.%u%s", (int)stem, path, number, path + stem);
        path = numbered;
    }
    const int written = cli_write_file(path, text);
    return code ? code : written;
}

/* The report goes to standard error: standard output is the program's. */
static int show_one(const struct exec_args *a, const struct results *r, unsigned number, bool several,
                    int code)
{
    if (several) (void)fprintf(stderr, "atoll: process %d, report %u\n", atoi(r->from), number);
    (void)fputs(r->report, stderr);
    code = write_result(a->json, r->json, number, code);
    code = write_result(a->csv, r->csv, number, code);
    return write_result(a->timeline, r->timeline, number, code);
}

static void free_results(struct results *list)
{
    while (list) {
        struct results *r = list;
        list = r->next;
        free(r->report);
        free(r->json);
        free(r->csv);
        free(r->timeline);
        free(r);
    }
}

static int show_results(const struct exec_args *a, int fd, int program_code)
{
    int worst = 0;
    unsigned reports = 0, silent = 0, shown = 0;
    struct results *list = read_results(fd, &worst);
    int code = worst ? worst : program_code;
    if (worst == ATOLL_BUG) cli_report_bug();
    for (const struct results *r = list; r; r = r->next) {
        reports += r->report != NULL;
        silent += r->report == NULL;
    }
    for (const struct results *r = list; r; r = r->next)
        if (r->report) code = show_one(a, r, ++shown, reports > 1, code);
    if (!list && !worst && program_code < 128)
        (void)fputs("atoll: the program ended without using CUDA: there is no report\n", stderr);
    if (silent == 1 && !reports && !worst)
        (void)fputs("atoll: the program used CUDA but was ended (or replaced by exec) before it could give a "
                    "report\n",
                    stderr);
    else if (silent && !worst)
        (void)fprintf(stderr,
                      "atoll: warning: %u process%s used CUDA but %s ended before a report could be given\n",
                      silent, silent > 1 ? "es" : "", silent > 1 ? "were" : "was");
    free_results(list);
    return code;
}

/* A number from 1; *at moves behind it. */
static bool take_number(const char **at, unsigned long long *number)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    *number = strtoull(*at, &end, 10);
    *at = end;
    return *number > 0;
}

/* 3-7,9: of the launches that have a number from 1. */
static bool is_number_list(const char *at)
{
    for (;; at++) {
        unsigned long long from, to;
        if (!take_number(&at, &from)) return false;
        to = from;
        if (*at == '-' && (at++, !take_number(&at, &to))) return false;
        if (to < from) return false;
        if (*at != ',') return *at == '\0';
    }
}

static int check_options(const struct exec_args *a)
{
    int code = 0;
    uint64_t instructions;
    if (!a->rest.count)
        return cli_mistake("which program? For example: atoll exec -m uba-mem -- ./program 1024");
    if (a->functional && (a->timeline || a->details))
        return cli_mistake("--timeline and --details are about time, which --functional leaves out");
    if (a->functional && (a->kernels || a->launches))
        return cli_mistake(
            "--kernels and --launches choose what is timed; --functional times nothing: leave it out");
    if (a->functional && a->check)
        return cli_mistake(
            "--check holds caches against memory; a functional run has none: leave --functional out");
    if (a->launches && !is_number_list(a->launches))
        return cli_mistake("--launches takes numbers from 1 and ranges, such as 3-7,9; not '%s'",
                           a->launches);
    if (!cli_parse_count("max-instructions", a->max_instructions, 1, &instructions)) return ATOLL_MISTAKE;
    if (a->devices && (atoi(a->devices) < 1 || atoi(a->devices) > 16))
        return cli_mistake("--devices takes a number from 1 to 16");
    if ((code = cli_can_write_each(a->json, a->csv, a->timeline))) return code;
    atoll_sim *sim = cli_sim(a->machine, &a->set, &code);
    atoll_destroy(sim);
    return code;
}

/* Its exit code; -1: it could not be started. */
static int run_program(const struct exec_args *a, const char *dir, const struct elf_facts *facts,
                       const char *options)
{
    struct sigaction before[PASSED_COUNT];
    const pid_t self = getpid();
    (void)fflush(NULL);
    pass_signals(before);
    const pid_t child = running = fork();
    if (child == 0) {
        leave_signals(before);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would collect its results */
        if (getppid() != self) _exit(1);
        (void)setenv(WIRE_VARIABLE, options, 1);
        set_library_path(dir, facts);
        start_program(a);
    }
    if (child < 0) (void)cli_mistake("cannot start another process: %m");
    const int code = child < 0 ? -1 : wait_for(child);
    leave_signals(before);
    return code;
}

static int run(const void *arg)
{
    const struct exec_args *a = arg;
    char path[PATH_MOST], dir[PATH_MOST];
    struct elf_facts facts;
    int code = check_options(a);
    if (code) return code;
    const char *name = a->rest.items[0];
    if (!find_program(name, path)) return cli_mistake("cannot run '%s': %m", name);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return cli_mistake("'%s' is a folder, not a program", name);
    if (!elf_look(path, &facts)) return cli_mistake("cannot read '%s': %m", name);
    if ((code = check_program(name, path, &facts))) return code;
    if (!find_libraries(dir))
        return cli_mistake(
            "the CUDA libraries of Atoll are not beside the command; build or install it again");
    /* appending: the processes of the program write at the same time, and the offset of a memory file
     * is not kept for one writer at a time */
    const int fd = memfd_create("atoll-exec", 0);
    char *options = fd < 0 || fcntl(fd, F_SETFL, O_APPEND) < 0 ? NULL : options_text(a, fd);
    if (!options) return cli_mistake("out of host memory");
    code = run_program(a, dir, &facts, options);
    free(options);
    if (code >= 0) code = show_results(a, fd, code);
    (void)close(fd);
    return code < 0 ? ATOLL_MISTAKE : code;
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct exec_args),
    CLI_OPTION_SET(struct exec_args),
    CLI_OPTION_FUNCTIONAL(struct exec_args),
    {"kernels", 0, CLI_TEXT, offsetof(struct exec_args, kernels), "A,B",
     "time kernels with these in their name only; the others run functionally"},
    {"launches", 0, CLI_TEXT, offsetof(struct exec_args, launches), "3-7,9",
     "time these launches only, counted from 1; the others run functionally"},
    {"max-instructions", 0, CLI_TEXT, offsetof(struct exec_args, max_instructions), "N",
     "end the program after N warp instructions"},
    {"devices", 0, CLI_TEXT, offsetof(struct exec_args, devices), "N",
     "CUDA devices that the program sees, each such a machine (1)"},
    CLI_OPTION_RACECHECK(struct exec_args),
    CLI_OPTION_CHECK(struct exec_args),
    CLI_OPTION_JSON(struct exec_args),
    CLI_OPTION_CSV(struct exec_args),
    CLI_OPTION_TIMELINE(struct exec_args),
    CLI_OPTION_DETAILS(struct exec_args),
    {0},
};

const struct cli_command cli_exec = {
    .name = "exec",
    .summary = "run an unmodified CUDA program on a machine",
    .usage = "[-m MACHINE] [options] -- ./program args...",
    .examples = "  nvcc -cudart shared -o program program.cu\n"
                "  atoll exec -m uba-mem -- ./program 1024\n"
                "  atoll exec --functional -- ./program 1024\n"
                "  atoll exec -m v100 --kernels gemm --json result.json -- ./program\n",
    .options = options,
    .args_bytes = sizeof(struct exec_args),
    .rest_offset = offsetof(struct exec_args, rest),
    .rest_is_command = true,
    .run = run,
};
