/* fiber: coroutines of host scripts; see fiber.h. */
#include "frontend/script/fiber.h"

#include "base/diag.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif

#ifdef FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
static void leaving(void **fake, const void *bottom, size_t bytes)
{
    __sanitizer_start_switch_fiber(fake, bottom, bytes);
}
static void arrived(void *fake, const void **bottom, size_t *bytes)
{
    __sanitizer_finish_switch_fiber(fake, bottom, bytes);
}
#else
static void leaving(void **fake, const void *bottom, size_t bytes) { (void)fake, (void)bottom, (void)bytes; }
static void arrived(void *fake, const void **bottom, size_t *bytes) { (void)fake, (void)bottom, (void)bytes; }
#endif

static size_t guard_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* makecontext() hands over ints: the pointer travels in two halves. */
static void enter(unsigned high, unsigned low)
{
    struct fiber *f = (struct fiber *)(((uintptr_t)high << 32) | low);
    arrived(NULL, &f->caller_bottom, &f->caller_bytes);
    f->body(f->arg);
    f->ended = true;
    leaving(NULL, f->caller_bottom, f->caller_bytes); /* NULL: this stack is not used again */
    (void)setcontext(&f->caller);
}

void fiber_init(struct fiber *f, void (*body)(void *arg), void *arg)
{
    *f = (struct fiber){.body = body, .arg = arg};
    const size_t guard = guard_bytes();
    char *mapped = mmap(NULL, FIBER_STACK_BYTES + guard, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) diag_mistake("no memory for the stack of a host script");
    (void)mprotect(mapped, guard, PROT_NONE);
    f->stack = mapped + guard;
    (void)getcontext(&f->own);
    f->own.uc_stack.ss_sp = f->stack;
    f->own.uc_stack.ss_size = FIBER_STACK_BYTES;
    f->own.uc_link = NULL;
    const uintptr_t self = (uintptr_t)f;
    makecontext(&f->own, (void (*)(void))enter, 2, (unsigned)(self >> 32), (unsigned)self);
}

void fiber_free(struct fiber *f)
{
    if (f->stack) (void)munmap((char *)f->stack - guard_bytes(), FIBER_STACK_BYTES + guard_bytes());
    f->stack = NULL;
}

bool fiber_resume(struct fiber *f)
{
    DIAG_ASSERT(!f->ended);
    void *fake = NULL, *frames = diag_switch(f->frames);
    leaving(&fake, f->stack, FIBER_STACK_BYTES);
    (void)swapcontext(&f->caller, &f->own);
    arrived(fake, NULL, NULL);
    f->frames = diag_switch(frames);
    return !f->ended;
}

void fiber_yield(struct fiber *f)
{
    leaving(&f->own_fake, f->caller_bottom, f->caller_bytes);
    (void)swapcontext(&f->own, &f->caller);
    arrived(f->own_fake, &f->caller_bottom, &f->caller_bytes);
}
