/* fiber: a function with a stack of its own, which can stop in the middle and go on later.
 *
 *   fiber_resume(f) ──► body(arg) ... fiber_yield(f) ──► back to the caller of fiber_resume()
 *
 * Both run on the calling thread. What is raised inside (diag.h) must be caught inside: the body calls
 * diag_run(). A fiber that is freed must have ended, or have nothing to give back. */
#ifndef ATOLL_FRONTEND_SCRIPT_FIBER_H
#define ATOLL_FRONTEND_SCRIPT_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

enum { FIBER_STACK_BYTES = 256 * 1024 };

struct fiber {
    ucontext_t own, caller;
    void (*body)(void *arg);
    void *arg;
    void *stack;  /* mapped, with a guard page below */
    void *frames; /* of diag, while the fiber rests */
    bool ended;
    /* AddressSanitizer wants to know which stack is in use. */
    void *own_fake;
    const void *caller_bottom;
    size_t caller_bytes;
};

void fiber_init(struct fiber *f, void (*body)(void *arg), void *arg);
void fiber_free(struct fiber *f);
/* Runs the body until it yields or ends; false when it has ended. */
bool fiber_resume(struct fiber *f);
/* From inside the body. */
void fiber_yield(struct fiber *f);

#endif
