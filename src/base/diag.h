/* diag: how Atoll says that something is wrong.
 *
 * Two kinds, never mixed:
 *   mistake  the user's: a typo in a machine, broken PTX, a full disk. Says what, where, what to do.
 *   bug      ours: a broken law or contract. Names component and cycle.
 *
 * Library code raises either from any depth; the raise unwinds to the nearest diag_run(), which every
 * function of the public API is wrapped in. Nothing below the API exits or prints.
 *
 *   api ── diag_run(d, body) ──► config ──► yaml ── diag_mistake_at(...)
 *              ▲                                            │
 *              └──────── status + diagnostic ◄── unwind ────┘
 *
 * What must be given back on unwinding (a FILE, a malloc) is registered with diag_defer(). The only
 * thread-local state of the library is the pointer to the innermost diag_run() of this thread.
 *
 * Ownership: a struct diag owns its text; messages stay valid until diag_clear(). */
#ifndef ATOLL_BASE_DIAG_H
#define ATOLL_BASE_DIAG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum diag_kind { DIAG_NONE, DIAG_MISTAKE, DIAG_CHECK_FAILED, DIAG_BUG };

/* Text that messages can point into: a machine file, a PTX module, a trace, an option. */
struct diag_source {
    const char *name; /* as the user wrote it */
    const char *text; /* need not end in NUL */
    size_t len_bytes;
};

/* A place in a source. line and col count from 1; line 0 = the source as a whole. */
struct diag_place {
    const struct diag_source *source;
    uint32_t line, col;
    uint32_t width; /* characters to underline, at least 1 */
};

struct diag {
    enum diag_kind kind; /* of the worst message so far */
    uint32_t count;      /* messages held */
    uint32_t dropped;    /* messages beyond the limit, counted only */
    char *text;          /* all messages, rendered, each ends with a newline */
    size_t text_len, text_cap;
};

void diag_init(struct diag *d);
void diag_clear(struct diag *d); /* frees the text */

/* Run body(arg); returns DIAG_NONE, or the kind of what was raised inside, rendered into d. */
typedef void diag_body_fn(void *arg);
enum diag_kind diag_run(struct diag *d, diag_body_fn *body, void *arg);

/* Something to undo if the innermost diag_run() is left by a raise. Last in, first out.
 * The struct lives in the caller's frame; diag_done() takes it off again, running it when asked. */
struct diag_cleanup {
    void (*undo)(void *arg);
    void *arg;
    struct diag_cleanup *below;
};
void diag_defer(struct diag_cleanup *c, void (*undo)(void *arg), void *arg);
void diag_done(struct diag_cleanup *c, bool run_undo);

/* Raise: record and unwind. */
_Noreturn void diag_mistake(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void diag_mistake_at(struct diag_place place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
_Noreturn void diag_check_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void diag_bug(const char *component, uint64_t cycle, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Raise once more what an inner diag_run() ended with; its messages go to the outer one. */
_Noreturn void diag_pass_on(struct diag *inner);

/* For coroutines: a raise must unwind to a diag_run() on the same stack. Whoever switches stacks hands in
 * what the stack that runs next had (NULL at its first time) and keeps what is returned for the one that
 * stops. */
void *diag_switch(void *frames);

/* Record a mistake and go on, so that a user sees all of them at once; diag_raise_if_any() unwinds. */
void diag_note_mistake_at(struct diag_place place, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void diag_raise_if_any(void);
/* So many mistakes are noted that more would not be shown: time to stop looking. */
bool diag_enough(void);

/* "did you mean 'llc'?" or NULL: the candidate nearest to name, if near enough to be a slip. */
const char *diag_nearest(const char *name, const char *const *candidates, size_t count);

/* Place of a byte offset in a source (linear; for messages only). */
struct diag_place diag_place_at(const struct diag_source *source, size_t offset, uint32_t width);

/* A contract of ours; stays on in release builds. Cheap tests only. */
#define DIAG_ASSERT(condition) \
    ((condition) ? (void)0 : diag_assert_failed(#condition, __FILE__, __LINE__, __func__))
_Noreturn void diag_assert_failed(const char *condition, const char *file, int line, const char *function);

#endif
