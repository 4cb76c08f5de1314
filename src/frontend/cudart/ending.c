/* ending: the report of a program that does not return from main().
 *
 *   exit(), return      the library's destructor (process.c)
 *   _exit, quick_exit   taken over here: the thread below finishes, then the program ends
 *   a fatal signal      handler ─► stops the launch, wakes the thread ─► it finishes and ends by the signal
 *
 * A signal handler may do next to nothing, so a thread that starts with the simulator does the work. Only
 * signals with the default action are taken: a program's own handlers work as without us. A crash may leave
 * the heap locked: then who waits for the thread gives up after a while. */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "frontend/cudart/process.h"

enum { WAIT_SECONDS = 10 };

static struct {
    sem_t asked, done;
    volatile bool thread;
    volatile int code;   /* of _exit() */
    volatile int signal; /* or 0 */
} ending;

static const struct {
    int number;
    bool crash; /* of the thread that gets it: it cannot go on */
    const char *name;
} taken[] = {
    {SIGTERM, false, "signal 15 (SIGTERM)"}, {SIGINT, false, "signal 2 (SIGINT)"},
    {SIGHUP, false, "signal 1 (SIGHUP)"},    {SIGABRT, true, "signal 6 (SIGABRT)"},
    {SIGSEGV, true, "signal 11 (SIGSEGV)"},  {SIGBUS, true, "signal 7 (SIGBUS)"},
    {SIGFPE, true, "signal 8 (SIGFPE)"},     {SIGILL, true, "signal 4 (SIGILL)"},
};
enum { TAKEN_COUNT = sizeof taken / sizeof *taken };

static bool can_finish(void)
{
    return process.atoll && !process.finished && process.pid == getpid() && ending.thread;
}

static struct timespec soon(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += WAIT_SECONDS;
    return t;
}

_Noreturn void end_as_asked(void)
{
    const int number = ending.signal;
    if (number) {
        sigset_t set;
        (void)sigemptyset(&set);
        (void)sigaddset(&set, number);
        (void)signal(number, SIG_DFL);
        (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        (void)kill(getpid(), number);
    }
    for (;;) (void)syscall(SYS_exit_group, number ? 128 + number : ending.code);
}

static void *finish_when_asked(void *arg)
{
    while (sem_wait(&ending.asked) != 0 && errno == EINTR) {
    }
    const struct timespec until = soon();
    if (pthread_mutex_timedlock(&process.lock, &until) == 0) {
        process_finish();
        (void)pthread_mutex_unlock(&process.lock);
    }
    (void)sem_post(&ending.done);
    for (size_t i = 0; i < TAKEN_COUNT; i++)
        if (taken[i].number == ending.signal && !taken[i].crash) end_as_asked();
    return arg;
}

/* From a thread that ends and cannot do it itself, perhaps inside of malloc(). One that is inside of the
 * library holds what the report needs. */
static void wait_for_finish(void)
{
    const struct timespec until = soon();
    if (is_inside()) return;
    (void)sem_post(&ending.asked);
    while (sem_timedwait(&ending.done, &until) != 0 && errno == EINTR) {
    }
}

static void on_signal(int number)
{
    const int before = errno;
    bool crash = true;
    const char *name = "a signal";
    for (size_t i = 0; i < TAKEN_COUNT; i++) {
        if (taken[i].number != number) continue;
        crash = taken[i].crash;
        name = taken[i].name;
    }
    const bool can = can_finish();
    if (can) {
        ending.signal = number;
        atoll_device_interrupt(process.atoll, name);
    }
    if (can && !crash) {
        (void)sem_post(&ending.asked);
        errno = before;
        return;
    }
    if (can) wait_for_finish();
    (void)signal(number, SIG_DFL); /* it is delivered again when this handler returns */
    (void)raise(number);
    errno = before;
}

static void take_signals(void)
{
    struct sigaction mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK}, theirs;
    (void)sigfillset(&mine.sa_mask);
    for (size_t i = 0; i < TAKEN_COUNT; i++)
        if (sigaction(taken[i].number, NULL, &theirs) == 0 && !(theirs.sa_flags & SA_SIGINFO) &&
            theirs.sa_handler == SIG_DFL)
            (void)sigaction(taken[i].number, &mine, NULL);
}

static void before_end(int code)
{
    if (!can_finish()) return;
    ending.code = code;
    if (!is_inside()) atoll_device_interrupt(process.atoll, "_exit()");
    wait_for_finish();
}

static void at_quick_end(void) { before_end(0); }

void ending_prepare(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (sem_init(&ending.asked, 0, 0) != 0 || sem_init(&ending.done, 0, 0) != 0) return;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    ending.thread = pthread_create(&thread, NULL, finish_when_asked, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!ending.thread) return;
    (void)pthread_detach(thread);
    (void)at_quick_exit(at_quick_end);
    take_signals();
}

/* In place of the C library's: the program finds these first. */
CUDA_API _Noreturn void _exit(int code) /* NOLINT(bugprone-reserved-identifier): its name */
{
    before_end(code);
    for (;;) (void)syscall(SYS_exit_group, code);
}

CUDA_API _Noreturn void _Exit(int code) { _exit(code); } /* NOLINT(bugprone-reserved-identifier) */
