/* pool: see pool.h. */
#include "sweep/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep/process.h"
#include "sweep/store.h"

enum { LOG_BYTES_MAX = 16384, ARGS_MAX = 600 };

struct slot {
    bool used, said_stuck, over_limit;
    uint32_t id;
    pid_t pid;
    int pipe, log;
    char *text; /* what came through the pipe */
    size_t len, capacity;
    char started_at[32];
    double start_seconds, progress_seconds;
};

struct pool {
    struct pool_options options;
    struct slot *slots;
    uint32_t running;
};

struct pool *pool_new(const struct pool_options *options)
{
    struct pool *p = calloc(1, sizeof *p);
    struct slot *slots = calloc(options->jobs, sizeof *slots);
    if (!p || !slots) diag_mistake("out of host memory");
    *p = (struct pool){.options = *options, .slots = slots};
    return p;
}

uint32_t pool_running(const struct pool *p) { return p->running; }
bool pool_has_room(const struct pool *p) { return p->running < p->options.jobs; }

void pool_result_free(struct pool_result *r)
{
    free(r->result);
    free(r->message);
    free(r->log);
}

static void release(struct pool *p, struct slot *s)
{
    (void)close(s->pipe);
    (void)close(s->log);
    free(s->text);
    *s = (struct slot){0};
    p->running--;
}

void pool_free(struct pool *p)
{
    if (!p) return;
    for (uint32_t i = 0; i < p->options.jobs; i++) {
        struct slot *s = &p->slots[i];
        if (!s->used) continue;
        (void)kill(s->pid, SIGKILL);
        (void)waitpid(s->pid, NULL, 0);
        release(p, s);
    }
    free(p->slots);
    free(p);
}

/* ---- starting ---- */

/* In the child: own process group (Ctrl-C is for the sweep), dies with the sweep. */
static _Noreturn void become_worker(const struct slot *s, int out, pid_t parent, char *const *argv)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int null = open("/dev/null", O_RDONLY);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(s->log, STDOUT_FILENO);
    (void)dup2(s->log, STDERR_FILENO);
    (void)dup2(out, POOL_FD);
    if (out == POOL_FD) (void)fcntl(out, F_SETFD, 0);
    (void)execv(argv[0], argv);
    (void)dprintf(STDERR_FILENO, "cannot start '%s': %s\n", argv[0], strerror(errno));
    _exit(127);
}

static struct slot *free_slot(struct pool *p)
{
    for (uint32_t i = 0; i < p->options.jobs; i++)
        if (!p->slots[i].used) return &p->slots[i];
    diag_bug("sweep", 0, "no free slot for a worker");
}

void pool_start(struct pool *p, const struct pool_job *job)
{
    const char *argv[ARGS_MAX] = {p->options.program, "worker", "-m", job->machine, "-w", job->workload};
    struct slot *s = free_slot(p);
    char limit[32];
    size_t n = 6;
    int ends[2];
    if (job->set_count * 2 + 12 > ARGS_MAX)
        diag_mistake("a point has more than %d settings", ARGS_MAX / 2 - 6);
    for (size_t i = 0; i < job->set_count; i++) {
        argv[n++] = "-s";
        argv[n++] = job->sets[i];
    }
    if (job->instructions) {
        (void)snprintf(limit, sizeof limit, "%llu", (unsigned long long)job->instructions);
        argv[n++] = "--max-instructions";
        argv[n++] = limit;
    }
    *s = (struct slot){.used = true, .id = job->id};
    s->log = memfd_create("atoll-log", MFD_CLOEXEC);
    if (s->log < 0 || pipe2(ends, O_CLOEXEC) != 0) diag_mistake("cannot start a worker: %m");
    s->start_seconds = s->progress_seconds = process_seconds();
    (void)store_time_text(s->started_at);
    const pid_t parent = getpid();
    s->pid = fork();
    if (s->pid == 0) become_worker(s, ends[1], parent, (char *const *)(uintptr_t)argv);
    if (s->pid < 0) diag_mistake("cannot start a worker: %m");
    (void)close(ends[1]);
    s->pipe = ends[0];
    p->running++;
}

/* ---- ending ---- */

static char *log_tail(const struct slot *s)
{
    const off_t size = lseek(s->log, 0, SEEK_END);
    if (size <= 0) return NULL;
    const off_t from = size > LOG_BYTES_MAX ? size - LOG_BYTES_MAX : 0;
    char *text = malloc((size_t)(size - from) + 1);
    const ssize_t got = text ? pread(s->log, text, (size_t)(size - from), from) : 0;
    if (text) text[got > 0 ? got : 0] = '\0';
    return text;
}

/* The part behind the line "R status", or NULL when there is none. */
static const char *find_result(const struct slot *s, int *status)
{
    const char *p = s->text;
    while (p && strncmp(p, "P\n", 2) == 0) p += 2;
    if (!p || sscanf(p, POOL_RESULT, status) != 1) return NULL; /* NOLINT: our own worker writes it */
    const char *line = strchr(p, '\n');
    return line ? line + 1 : NULL;
}

static char *crash_message(int wait_status, bool over_limit, double seconds)
{
    char *text = NULL;
    int rc;
    if (over_limit)
        rc = asprintf(&text, "stopped after %.0f seconds, the limit for one run\n", seconds);
    else if (WIFSIGNALED(wait_status))
        rc = asprintf(&text, "the worker was ended by signal %d (%s)\n", WTERMSIG(wait_status),
                      strsignal(WTERMSIG(wait_status)));
    else
        rc = asprintf(&text, "the worker ended with code %d and gave no result\n", WEXITSTATUS(wait_status));
    return rc < 0 ? NULL : text;
}

static void collect(struct pool *p, struct slot *s, struct pool_result *r)
{
    int wait_status = 0, status = 0;
    (void)waitpid(s->pid, &wait_status, 0);
    *r = (struct pool_result){.id = s->id, .wall_seconds = process_seconds() - s->start_seconds};
    memcpy(r->started_at, s->started_at, sizeof r->started_at);
    r->log = log_tail(s);
    const char *text = find_result(s, &status);
    const bool complete = text && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == status;
    if (!complete) {
        r->status = s->over_limit ? STUDY_STOPPED : STUDY_CRASHED;
        r->message = crash_message(wait_status, s->over_limit, r->wall_seconds);
    } else if (status) {
        r->status = status == 1 ? STUDY_FAILED : status == 2 ? STUDY_CHECK : STUDY_BUG;
        r->message = strdup(text);
    } else {
        r->result = strdup(text);
    }
    release(p, s);
}

/* ---- listening ---- */

/* False at the end of the stream. */
static bool receive(struct slot *s)
{
    if (s->capacity - s->len < 65536 + 1) {
        const size_t capacity = s->capacity ? s->capacity * 2 : 262144;
        char *text = realloc(s->text, capacity);
        if (!text) diag_mistake("out of host memory for a result");
        s->text = text;
        s->capacity = capacity;
    }
    const ssize_t got = read(s->pipe, s->text + s->len, 65536);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got <= 0) return false;
    s->len += (size_t)got;
    s->text[s->len] = '\0';
    s->progress_seconds = process_seconds();
    s->said_stuck = false;
    return true;
}

static void watch(struct pool *p, struct slot *s)
{
    const struct pool_options *o = &p->options;
    const double now = process_seconds(), silent = now - s->progress_seconds;
    if (o->limit_seconds > 0 && now - s->start_seconds > o->limit_seconds && !s->over_limit) {
        s->over_limit = true;
        (void)kill(s->pid, SIGKILL);
    }
    if (o->stuck && o->stuck_seconds > 0 && silent > o->stuck_seconds && !s->said_stuck) {
        s->said_stuck = true;
        o->stuck(o->arg, s->id, (int)s->pid, silent);
    }
}

bool pool_wait(struct pool *p, double seconds, struct pool_result *result)
{
    struct pollfd fds[1024];
    struct slot *slots[1024];
    nfds_t count = 0;
    for (uint32_t i = 0; i < p->options.jobs && count < 1024; i++) {
        if (!p->slots[i].used) continue;
        slots[count] = &p->slots[i];
        fds[count++] = (struct pollfd){.fd = p->slots[i].pipe, .events = POLLIN};
    }
    (void)poll(fds, count, (int)(seconds * 1000));
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].revents && !receive(slots[i])) {
            collect(p, slots[i], result);
            return true;
        }
        watch(p, slots[i]);
    }
    return false;
}

double pool_elapsed(const struct pool *p, uint32_t id)
{
    for (uint32_t i = 0; i < p->options.jobs; i++)
        if (p->slots[i].used && p->slots[i].id == id) return process_seconds() - p->slots[i].start_seconds;
    return 0;
}
