/* diag: raising and unwinding, rendering with a caret, suggestions. */
#include "base/diag.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 20, LINE_SHOWN_MAX = 200 };

struct frame {
    jmp_buf back;
    struct diag *diag;
    struct diag_cleanup *cleanups;
    struct frame *outer;
};

/* The innermost diag_run() of this thread, as errno is per thread: see diag.h. */
static _Thread_local struct frame *innermost;

void diag_init(struct diag *d) { *d = (struct diag){0}; }

void diag_clear(struct diag *d)
{
    free(d->text);
    diag_init(d);
}

enum diag_kind diag_run(struct diag *d, diag_body_fn *body, void *arg)
{
    struct frame f = {.diag = d, .outer = innermost};
    innermost = &f;
    if (setjmp(f.back) == 0) body(arg);
    innermost = f.outer;
    return d->kind;
}

void diag_defer(struct diag_cleanup *c, void (*undo)(void *arg), void *arg)
{
    *c = (struct diag_cleanup){.undo = undo, .arg = arg, .below = innermost ? innermost->cleanups : NULL};
    if (innermost) innermost->cleanups = c;
}

void diag_done(struct diag_cleanup *c, bool run_undo)
{
    if (innermost) {
        DIAG_ASSERT(innermost->cleanups == c);
        innermost->cleanups = c->below;
    }
    if (run_undo) c->undo(c->arg);
}

static _Noreturn void unwind(void)
{
    struct frame *f = innermost;
    while (f->cleanups) {
        struct diag_cleanup *c = f->cleanups;
        f->cleanups = c->below;
        c->undo(c->arg);
    }
    longjmp(f->back, 1);
}

void *diag_switch(void *frames)
{
    struct frame *before = innermost;
    innermost = frames;
    return before;
}

/* ---- rendering ---- */

static void append(struct diag *d, const char *bytes, size_t len)
{
    if (d->text_len + len + 1 > d->text_cap) {
        const size_t cap = (d->text_len + len + 1) * 2;
        char *grown = realloc(d->text, cap);
        if (!grown) return; /* the kind still tells */
        d->text = grown;
        d->text_cap = cap;
    }
    memcpy(d->text + d->text_len, bytes, len);
    d->text_len += len;
    d->text[d->text_len] = '\0';
}

/* Control characters of a user's file must not reach a terminal. */
static void hide_controls(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') || text[i] == 127)
            text[i] = '?';
}

static void append_text(struct diag *d, const char *text) { append(d, text, strlen(text)); }

static void append_format(struct diag *d, const char *format, va_list args)
{
    char small[512];
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(small, sizeof small, format, args);
    if (len >= 0 && (size_t)len < sizeof small) {
        hide_controls(small, (size_t)len);
        append(d, small, (size_t)len);
    } else if (len >= 0) {
        char *large = malloc((size_t)len + 1);
        if (large) {
            (void)vsnprintf(large, (size_t)len + 1, format, again);
            hide_controls(large, (size_t)len);
            append(d, large, (size_t)len);
            free(large);
        }
    }
    va_end(again);
}

static bool find_line(const struct diag_source *s, uint32_t line, const char **start, size_t *len)
{
    const char *p = s->text, *end = s->text + s->len_bytes;
    for (uint32_t n = 1; n < line; n++) {
        p = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        if (!p) return false;
        p++;
    }
    if (p > end) return false;
    const char *stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    *start = p;
    *len = (size_t)((stop ? stop : end) - p);
    return true;
}

static char printable(char c) { return (c >= ' ' && c != 127) || (unsigned char)c >= 128 ? c : ' '; }

/* The line itself and a caret below; long lines are shown around the place. */
static void append_excerpt(struct diag *d, struct diag_place place)
{
    const char *line;
    size_t len;
    if (!place.source->text || !place.line || !find_line(place.source, place.line, &line, &len)) return;
    size_t caret = place.col ? place.col - 1 : 0, skip = 0;
    if (caret > len) caret = len;
    if (caret > LINE_SHOWN_MAX - 40) skip = caret - LINE_SHOWN_MAX / 2;
    if (len - skip > LINE_SHOWN_MAX) len = skip + LINE_SHOWN_MAX;
    append_text(d, "    ");
    for (size_t i = skip; i < len; i++) append(d, &(char){printable(line[i])}, 1);
    append_text(d, "\n    ");
    for (size_t i = skip; i < caret; i++)
        if (((unsigned char)line[i] & 0xC0) != 0x80) append(d, " ", 1); /* one column per UTF-8 character */
    append_text(d, "^");
    for (size_t i = 1; i < place.width && caret + i < len; i++) append(d, "~", 1);
    append_text(d, "\n");
}

static bool open_message(struct diag *d, enum diag_kind kind)
{
    if (kind > d->kind) d->kind = kind;
    if (d->count >= MESSAGES_MAX) {
        d->dropped++;
        return false;
    }
    d->count++;
    return true;
}

static void render_at(struct diag *d, struct diag_place place, const char *format, va_list args)
{
    if (!open_message(d, DIAG_MISTAKE)) return;
    if (place.source) {
        append_text(d, place.source->name);
        if (place.line) {
            char position[48];
            (void)snprintf(position, sizeof position, ":%u:%u", place.line, place.col ? place.col : 1);
            append_text(d, position);
        }
        append_text(d, ": ");
    }
    append_format(d, format, args);
    append_text(d, "\n");
    if (place.source) append_excerpt(d, place);
}

static struct diag *diag_of_thread(void)
{
    if (!innermost) { /* raised outside the API: an internal error in a test or tool */
        (void)fputs("atoll: diagnostic raised outside diag_run()\n", stderr);
        abort();
    }
    return innermost->diag;
}

void diag_mistake(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    render_at(diag_of_thread(), (struct diag_place){0}, format, args);
    va_end(args);
    unwind();
}

void diag_mistake_at(struct diag_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    render_at(diag_of_thread(), place, format, args);
    va_end(args);
    unwind();
}

void diag_note_mistake_at(struct diag_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    render_at(diag_of_thread(), place, format, args);
    va_end(args);
}

bool diag_enough(void) { return diag_of_thread()->count >= MESSAGES_MAX; }

void diag_raise_if_any(void)
{
    struct diag *d = diag_of_thread();
    if (d->kind == DIAG_NONE) return;
    if (d->dropped) {
        char more[64];
        (void)snprintf(more, sizeof more, "... and %u more\n", d->dropped);
        append_text(d, more);
    }
    unwind();
}

void diag_check_failed(const char *format, ...)
{
    struct diag *d = diag_of_thread();
    va_list args;
    va_start(args, format);
    if (open_message(d, DIAG_CHECK_FAILED)) {
        append_text(d, "check failed: ");
        append_format(d, format, args);
        append_text(d, "\n");
    }
    va_end(args);
    unwind();
}

void diag_bug(const char *component, uint64_t cycle, const char *format, ...)
{
    struct diag *d = diag_of_thread();
    va_list args;
    va_start(args, format);
    if (open_message(d, DIAG_BUG)) {
        char where[160];
        (void)snprintf(where, sizeof where, "internal error in %s at cycle %llu: ", component,
                       (unsigned long long)cycle);
        append_text(d, where);
        append_format(d, format, args);
        append_text(d, "\n");
    }
    va_end(args);
    unwind();
}

void diag_pass_on(struct diag *inner)
{
    DIAG_ASSERT(inner->kind != DIAG_NONE);
    struct diag *d = diag_of_thread();
    if (inner->kind > d->kind) d->kind = inner->kind;
    d->count += inner->count;
    d->dropped += inner->dropped;
    if (inner->text) append(d, inner->text, inner->text_len);
    diag_clear(inner);
    unwind();
}

void diag_assert_failed(const char *condition, const char *file, int line, const char *function)
{
    struct diag *d = diag_of_thread();
    if (open_message(d, DIAG_BUG)) {
        char text[512];
        (void)snprintf(text, sizeof text, "internal error in %s() at %s:%d: '%s' does not hold\n", function,
                       file, line, condition);
        append_text(d, text);
    }
    unwind();
}

/* ---- suggestions ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Edit distance with adjacent transposition, cut off above 'limit'. */
static size_t distance(const char *a, const char *b, size_t limit)
{
    enum { LONGEST = 63 };
    const size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST || n > m + limit || m > n + limit) return limit + 1;
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= m; j++) last[j] = j;
    for (size_t i = 1; i <= n; i++) {
        now[0] = i;
        for (size_t j = 1; j <= m; j++) {
            const size_t differs = lower(a[i - 1]) != lower(b[j - 1]);
            size_t best = last[j - 1] + differs;
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[m];
}

const char *diag_nearest(const char *name, const char *const *candidates, size_t count)
{
    const size_t len = strlen(name);
    size_t best = len < 4 ? 1 : len < 8 ? 2 : 3;
    const char *found = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t d = distance(name, candidates[i], best);
        if (d < best || (d == best && !found)) {
            best = d;
            found = candidates[i];
        }
    }
    return found;
}

struct diag_place diag_place_at(const struct diag_source *source, size_t offset, uint32_t width)
{
    struct diag_place p = {.source = source, .line = 1, .col = 1, .width = width};
    for (size_t i = 0; i < offset && i < source->len_bytes; i++) {
        if (source->text[i] == '\n') {
            p.line++;
            p.col = 1;
        } else {
            p.col++;
        }
    }
    return p;
}
