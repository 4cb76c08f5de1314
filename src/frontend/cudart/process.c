/* process: start, end and the entry of every call. */
#include "frontend/cudart/process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frontend/cudart/wire.h"

struct process process = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .device_count = 1};

static __thread struct {
    int device;
    cudaError_t last;
    int inside; /* calls */
} self;

int current_device(void) { return self.device; }
void set_current_device(int device) { self.device = device; }
cudaError_t *last_error(void) { return &self.last; }
bool is_inside(void) { return self.inside > 0; }

static void lock(void)
{
    if (pthread_mutex_trylock(&process.lock)) {
        atomic_fetch_add(&process.waiting, 1);
        (void)pthread_mutex_lock(&process.lock);
        atomic_fetch_sub(&process.waiting, 1);
    }
    self.inside++;
}

static void unlock(void)
{
    self.inside--;
    (void)pthread_mutex_unlock(&process.lock);
}

void go_outside(bool out)
{
    if (out)
        unlock();
    else
        lock();
}

void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fflush(stdout);
    (void)fputs("atoll: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

/* ---- results to `atoll exec` ---- */

static void put(const char *text, size_t len)
{
    while (len) {
        const ssize_t n = write(process.options.result_fd, text, len);
        if (n <= 0) return;
        text += n;
        len -= (size_t)n;
    }
}

static void send_record(const char *kind, const char *text)
{
    char *record = NULL;
    if (process.options.result_fd < 0 || !text) return;
    /* one piece: other processes write to the same file */
    const int n = asprintf(&record, "%s %d.%lx %zu\n%s", kind, process.pid, (unsigned long)&process,
                           strlen(text), text);
    if (n < 0) return;
    put(record, (size_t)n);
    free(record);
}

static void tell_status(atoll_status status)
{
    char text[16];
    if (status <= process.worst) return;
    process.worst = status;
    (void)snprintf(text, sizeof text, "%d", (int)status);
    send_record(WIRE_STATUS, text);
}

/* A message of the simulator; names of C++ in it as the program has them: 'sum(int*)', not '_Z3sumPi'. */
static void show_message(const char *text)
{
    (void)fflush(stdout);
    (void)fputs("atoll: ", stderr);
    for (const char *name; (name = strstr(text, "'_Z"));) {
        const size_t len = strcspn(name + 1, "'\n");
        char *mangled = strndup(name + 1, len), *pretty = mangled ? pretty_name(mangled) : NULL;
        (void)fprintf(stderr, "%.*s'%s", (int)(name - text), text, pretty ? pretty : "");
        free(pretty);
        free(mangled);
        text = name + 1 + len;
    }
    const size_t len = strlen(text);
    (void)fprintf(stderr, "%s%s", text, len && text[len - 1] == '\n' ? "" : "\n");
}

cudaError_t atoll_error(atoll_status status, cudaError_t mistake)
{
    if (!status) return cudaSuccess;
    show_message(atoll_message(process.sim));
    if (status != ATOLL_MISTAKE) tell_status(status);
    return status == ATOLL_MISTAKE ? mistake : cudaErrorUnknown;
}

/* ---- options ---- */

static void take_option(struct options *o, const char *key, const char *value)
{
    const struct {
        const char *key;
        char **text;
    } texts[] = {
        {"machine", &o->machine}, {"label", &o->label}, {"kernels", &o->kernels}, {"launches", &o->launches}};
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {{"functional", &o->functional},
                 {"racecheck", &o->racecheck},
                 {"check", &o->check},
                 {"details", &o->details},
                 {"ascii", &o->ascii},
                 {"timeline", &o->timeline},
                 {"json", &o->json},
                 {"csv", &o->csv}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(key, texts[i].key)) *texts[i].text = strdup(value);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (!strcmp(key, flags[i].key)) *flags[i].flag = true;
    if (!strcmp(key, "set") && o->set_count < sizeof o->sets / sizeof *o->sets)
        o->sets[o->set_count++] = strdup(value);
    if (!strcmp(key, "max-instructions")) o->max_instructions = strtoull(value, NULL, 10);
    if (!strcmp(key, "devices")) o->devices = atoi(value);
    if (!strcmp(key, "fd")) o->result_fd = atoi(value);
}

static void read_options(struct options *o)
{
    const char *text = getenv(WIRE_VARIABLE);
    char *copy = strdup(text ? text : ""), *rest = NULL;
    o->result_fd = -1;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *space = strchr(line, ' ');
        if (space) *space = '\0';
        take_option(o, line, space ? space + 1 : "");
    }
    free(copy);
    if (!o->label) o->label = strdup(program_invocation_short_name);
    if (o->devices < 1) o->devices = 1;
    if (o->devices > DEVICES_MAX) o->devices = DEVICES_MAX;
}

/* ---- start ---- */

static atoll_status open_simulator(void)
{
    const struct options *o = &process.options;
    atoll_status status = atoll_create(&process.sim);
    if (status) return status;
    if (o->machine) status = atoll_machine(process.sim, o->machine);
    for (size_t i = 0; !status && i < o->set_count; i++) status = atoll_set(process.sim, o->sets[i]);
    if (status) return status;
    const struct atoll_device_options options = {.label = o->label,
                                                 .functional = o->functional,
                                                 .racecheck = o->racecheck,
                                                 .check = o->check,
                                                 .details = o->details,
                                                 .ascii = o->ascii,
                                                 .timeline = o->timeline,
                                                 .max_instructions = o->max_instructions,
                                                 .print = kernel_prints,
                                                 .pretty = pretty_name};
    return atoll_device_open(process.sim, &options, &process.atoll);
}

/* CUDA_VISIBLE_DEVICES as a list of numbers: those before the first that is not there count. Devices are all
 * alike, so which ones does not matter. Names (GPU-...) are not known here: then all are seen. */
static int visible_devices(int count)
{
    const char *at = getenv("CUDA_VISIBLE_DEVICES");
    bool seen[DEVICES_MAX] = {false};
    int visible = 0;
    if (!at || at[strspn(at, "0123456789,- ")]) return count;
    while (*at) {
        char *end;
        const long number = strtol(at, &end, 10);
        if (end == at || number < 0 || number >= count || seen[number]) break;
        seen[number] = true;
        visible++;
        at = end + strspn(end, " ,");
    }
    return visible;
}

static void begin_devices(void)
{
    process.device_count = visible_devices(process.options.devices);
    for (int i = 0; i < process.device_count; i++) {
        struct device_state *d = &process.devices[i];
        d->legacy.device = i;
        d->legacy.id = ++process.next_id;
        d->limits[0] = 1024;    /* stack of a thread */
        d->limits[1] = 1 << 20; /* printf buffer */
        d->limits[2] = 8 << 20; /* malloc heap */
        d->limits[3] = 2;       /* device runtime: depth, */
        d->limits[4] = 2048;    /* launches */
        d->limits[5] = 64;      /* L2 fetch granularity */
    }
}

void process_start(void)
{
    if (process.started) return;
    process.started = true;
    process.pid = getpid();
    read_options(&process.options);
    begin_devices();
    if (!process.device_count) {
        process.start_error = cudaErrorNoDevice;
        return;
    }
    send_record(WIRE_USED, "");
    const atoll_status status = open_simulator();
    if (!status) {
        ending_prepare();
        atoll_device_properties(process.atoll, &process.props);
        return;
    }
    (void)atoll_error(status, cudaErrorInitializationError);
    tell_status(status);
    process.start_error = cudaErrorInitializationError;
}

/* ---- calls ---- */

void enter_quietly(void) { lock(); }

/* As CUDA does: a process that fork() made of one that uses the device has none. */
static cudaError_t refuse_fork(void)
{
    static bool said;
    if (!said) complain("CUDA was used before fork(): it cannot be used in the new process");
    said = true;
    return cudaErrorInitializationError;
}

cudaError_t enter(void)
{
    lock();
    atomic_fetch_add(&process.calls, 1);
    process.used = true;
    if (process.started && process.pid != getpid()) return refuse_fork();
    if (process.finished) return cudaErrorCudartUnloading;
    process_start();
    if (process.start_error) return process.start_error;
    driver_make_current();
    if (process.pending) {
        process.sticky = process.pending;
        process.pending = cudaSuccess;
    }
    return process.sticky;
}

cudaError_t leave(cudaError_t error)
{
    if (error) self.last = error;
    if (self.inside == 1) tasks_watch();
    unlock();
    return error;
}

cudaError_t leave_quietly(cudaError_t error)
{
    unlock();
    return error;
}

/* ---- what kernels print ---- */

void kernel_prints(void *arg, const char *text, size_t len)
{
    struct process *p = &process;
    (void)arg;
    if (p->printed_len + len > p->printed_cap) {
        const size_t capacity = 2 * (p->printed_len + len);
        char *grown = realloc(p->printed, capacity);
        if (!grown) return;
        p->printed = grown;
        p->printed_cap = capacity;
    }
    memcpy(p->printed + p->printed_len, text, len);
    p->printed_len += len;
}

void show_prints(void)
{
    if (!process.printed_len) return;
    (void)fwrite(process.printed, 1, process.printed_len, stdout);
    process.printed_len = 0;
}

/* ---- the end ---- */

static void send_results(const struct atoll_outcome *out)
{
    const struct options *o = &process.options;
    if (o->result_fd < 0 && out->report) (void)fputs(out->report, stderr);
    send_record(WIRE_REPORT, out->report);
    if (o->json) send_record(WIRE_JSON, out->json);
    if (o->csv) send_record(WIRE_CSV, out->csv);
    if (o->timeline) send_record(WIRE_TIMELINE, out->timeline);
}

static void check_choice(void)
{
    const struct options *o = &process.options;
    if (o->functional || !process.launch_count || process.timed_count || (!o->kernels && !o->launches))
        return;
    complain("warning: nothing was timed: %s%s%s%s%s chose none of the %llu launches",
             o->kernels ? "--kernels " : "", o->kernels ? o->kernels : "",
             o->kernels && o->launches ? " with " : "", o->launches ? "--launches " : "",
             o->launches ? o->launches : "", (unsigned long long)process.launch_count);
}

void process_finish(void)
{
    if (process.finished) return;
    process.finished = true;
    if (!process.atoll || process.pid != getpid()) return;
    show_prints();
    check_choice();
    struct atoll_outcome out;
    const atoll_status status = atoll_device_finish(process.atoll, &out);
    (void)fflush(stdout);
    if (status) {
        (void)atoll_error(status, cudaErrorUnknown);
        tell_status(status);
    } else {
        send_results(&out);
    }
    atoll_outcome_free(&out);
    atoll_device_close(process.atoll);
    atoll_destroy(process.sim);
    process.atoll = NULL;
    process.sim = NULL;
}

void process_stop(void)
{
    process_finish();
    send_record(WIRE_STOPPED, "");
    (void)fflush(NULL);
    end_as_asked();
}

/* After the program's own destructors, which may still free device memory. */
__attribute__((destructor)) static void library_ends(void)
{
    enter_quietly();
    if (process.atoll && !process.finished && process.pid == getpid()) tasks_wait_for_all();
    process_finish();
    (void)leave_quietly(cudaSuccess);
}
