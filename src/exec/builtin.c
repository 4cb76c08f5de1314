/* builtin: functions that a program calls and nobody defines: vprintf, malloc, free, __assertfail, and those
 * of kernels that launch kernels (child.c).
 *
 * Their arguments stand in .param variables of the call, 8 bytes each; vprintf's second one points to a
 * buffer of promoted values, each aligned to its size. */
#include "exec/sites.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MOST = 1 << 16 };

enum exec_builtin builtin_find(const char *name)
{
    static const struct {
        const char *name;
        enum exec_builtin builtin;
    } rows[] = {{"vprintf", BUILTIN_VPRINTF},
                {"malloc", BUILTIN_MALLOC},
                {"free", BUILTIN_FREE},
                {"__assertfail", BUILTIN_ASSERTFAIL},
                {"__cudaCDP2GetParameterBufferV2", BUILTIN_CHILD_BUFFER},
                {"__cudaCDP2LaunchDeviceV2", BUILTIN_CHILD_LAUNCH},
                {"__cudaCDP2GetLastError", BUILTIN_CHILD_ERROR},
                {"__cudaCDP2PeekAtLastError", BUILTIN_CHILD_PEEK_ERROR},
                {"__cudaCDP2StreamCreateWithFlags", BUILTIN_CHILD_HANDLE},
                {"__cudaCDP2EventCreateWithFlags", BUILTIN_CHILD_HANDLE},
                {"__cudaCDP2StreamDestroy", BUILTIN_CHILD_NOTHING},
                {"__cudaCDP2EventDestroy", BUILTIN_CHILD_NOTHING},
                {"__cudaCDP2EventRecord", BUILTIN_CHILD_NOTHING},
                {"__cudaCDP2StreamWaitEvent", BUILTIN_CHILD_NOTHING}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].name, name)) return rows[k].builtin;
    return BUILTIN_NONE;
}

bool exec_provides(const char *function) { return builtin_find(function) != BUILTIN_NONE; }

const char *exec_advice(const char *function)
{
    if (!strncmp(function, "cuda", 4) || !strncmp(function, "__cudaCDP", 9) ||
        !strncmp(function, "__cuda_syscall_cnp", 18))
        return "of the device runtime only launches (<<<>>>), streams, events and errors are there; call it "
               "from the host";
    return "give the PTX file that defines it too";
}

void exec_print(struct exec_env *env, const char *text, size_t len)
{
    if (env->options.print) {
        env->options.print(env->options.print_user, text, len);
        return;
    }
    if (env->output_len + len + 1 > env->output_cap) {
        const size_t cap = 2 * env->output_cap + len + 4096;
        char *grown = realloc(env->output, cap);
        if (!grown) diag_mistake("out of host memory for what kernels print");
        env->output = grown;
        env->output_cap = cap;
    }
    memcpy(env->output + env->output_len, text, len);
    env->output_len += len;
    env->output[env->output_len] = 0;
}

const char *exec_output(const struct exec_env *env, size_t *len)
{
    if (len) *len = env->output_len;
    return env->output ? env->output : "";
}

/* ---- arguments and result ---- */

uint64_t builtin_argument(const struct exec_warp *w, const struct call_site *call, uint32_t k, uint32_t lane)
{
    uint64_t v = 0;
    if (k >= call->n_args) return 0;
    const struct call_value *a = &call->args[k];
    const uint32_t bytes = a->bytes < 8 ? a->bytes : 8;
    if (a->is_param)
        local_read(w, lane, w->local_base + a->offset, &v, bytes);
    else
        memcpy(&v, ref_at(w, a->reg) + (uint64_t)a->bytes * lane, bytes);
    return v;
}

void builtin_result(const struct exec_warp *w, const struct call_site *call, uint32_t lane, uint64_t v)
{
    if (!call->n_rets) return;
    const struct call_value *r = &call->rets[0];
    const uint32_t bytes = r->bytes < 8 ? r->bytes : 8;
    if (r->is_param)
        local_write(w, lane, w->local_base + r->offset, &v, bytes);
    else if (r->reg != UINT32_MAX)
        memcpy(ref_at(w, r->reg) + (uint64_t)r->bytes * lane, &v, bytes);
}

/* A string of the kernel; cut at `most`. */
static void read_string(struct exec_warp *w, const struct insn *i, uint32_t lane, uint64_t at, char *to,
                        uint32_t most)
{
    uint32_t n = 0;
    for (; n + 1 < most; n++) {
        lane_read(w, i, lane, at + n, to + n, 1);
        if (!to[n]) return;
    }
    to[n] = 0;
}

/* ---- printf ---- */

struct printer {
    struct exec_warp *w;
    const struct insn *i;
    uint32_t lane;
    uint64_t args; /* next value */
    char *out;
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct printer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(p->out + p->len, TEXT_MOST - p->len, format, args);
    va_end(args);
    if (n > 0) p->len += (size_t)n;
    if (p->len >= TEXT_MOST) p->len = TEXT_MOST - 1;
}

static uint64_t take(struct printer *p, uint32_t bytes)
{
    uint64_t v = 0;
    p->args = (p->args + bytes - 1) & ~(uint64_t)(bytes - 1);
    lane_read(p->w, p->i, p->lane, p->args, &v, bytes);
    p->args += bytes;
    return v;
}

/* One conversion; f points behind the '%'. The flags, width and precision go to the host's printf as they
 * are; the length decides how many bytes the value has. */
static const char *convert(struct printer *p, const char *f)
{
    char spec[64] = "%";
    size_t n = 1;
    uint32_t longs = 0, halves = 0;
    while (*f && strchr("-+ #0", *f) && n < 40) spec[n++] = *f++;
    for (int part = 0; part < 2; part++) {
        if (part && *f != '.') break;
        if (part) spec[n++] = *f++;
        if (*f == '*') {
            n += (size_t)snprintf(spec + n, sizeof spec - n, "%d", (int)(uint32_t)take(p, 4));
            f++;
        }
        while (*f >= '0' && *f <= '9' && n < 40) spec[n++] = *f++;
    }
    for (; *f && strchr("lhzjtLq", *f); f++) {
        if (*f == 'h')
            halves++;
        else
            longs++;
    }
    const char c = *f;
    if (!c) return f;
    switch (c) {
    case '%': put(p, "%%"); break;
    case 'd':
    case 'i': {
        int64_t v = longs ? (int64_t)take(p, 8) : (int64_t)(int32_t)(uint32_t)take(p, 4);
        if (halves == 1) v = (int16_t)v;
        if (halves >= 2) v = (int8_t)v;
        snprintf(spec + n, sizeof spec - n, "ll%c", c);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        put(p, spec, (long long)v);
        break;
    }
    case 'u':
    case 'o':
    case 'x':
    case 'X': {
        uint64_t v = longs ? take(p, 8) : (uint32_t)take(p, 4);
        if (halves == 1) v = (uint16_t)v;
        if (halves >= 2) v = (uint8_t)v;
        snprintf(spec + n, sizeof spec - n, "ll%c", c);
        put(p, spec, (unsigned long long)v);
        break;
    }
    case 'c':
        snprintf(spec + n, sizeof spec - n, "c");
        put(p, spec, (int)(uint32_t)take(p, 4));
        break;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        const uint64_t bits = take(p, 8);
        double v;
        memcpy(&v, &bits, 8);
        snprintf(spec + n, sizeof spec - n, "%c", c);
        put(p, spec, v);
        break;
    }
    case 'p': put(p, "0x%llx", (unsigned long long)take(p, 8)); break;
    case 's': {
        char *text = malloc(TEXT_MOST);
        struct diag_cleanup cleanup;
        if (!text) diag_mistake("out of host memory");
        diag_defer(&cleanup, free, text);
        const uint64_t at = take(p, 8);
        if (at)
            read_string(p->w, p->i, p->lane, at, text, TEXT_MOST);
        else
            strcpy(text, "(null)");
        snprintf(spec + n, sizeof spec - n, "s");
        put(p, spec, text);
#pragma GCC diagnostic pop
        diag_done(&cleanup, true);
        break;
    }
    default: put(p, "%%%c", c);
    }
    return f + 1;
}

static void call_vprintf(struct exec_warp *w, const struct insn *i, uint32_t mask,
                         const struct call_site *call)
{
    char *buffer = malloc(2 * TEXT_MOST);
    struct diag_cleanup cleanup;
    if (!buffer) diag_mistake("out of host memory");
    diag_defer(&cleanup, free, buffer);
    FOR_LANES(lane, mask)
    {
        char *format = buffer + TEXT_MOST;
        read_string(w, i, lane, builtin_argument(w, call, 0, lane), format, TEXT_MOST);
        struct printer p = {
            .w = w, .i = i, .lane = lane, .args = builtin_argument(w, call, 1, lane), .out = buffer};
        uint32_t values = 0;
        for (const char *f = format; *f;) {
            if (*f == '%') {
                values += f[1] != '%';
                f = convert(&p, f + 1);
            } else if (p.len + 1 < TEXT_MOST) {
                p.out[p.len++] = *f++;
            } else {
                break;
            }
        }
        exec_print(w->env, p.out, p.len);
        builtin_result(w, call, lane, values);
    }
    diag_done(&cleanup, true);
}

/* ---- device heap ---- */

static void call_malloc(struct exec_warp *w, uint32_t mask, const struct call_site *call)
{
    struct exec_env *env = w->env;
    FOR_LANES(lane, mask)
    {
        const uint64_t bytes = builtin_argument(w, call, 0, lane);
        void *at = NULL;
        if (bytes && bytes <= env->options.heap_bytes - env->heap_used) {
            at = devmem_alloc(env->memory, bytes, 16, DEVMEM_HEAP, "device malloc");
            env->heap_used += bytes;
        }
        builtin_result(w, call, lane, (uint64_t)at);
    }
}

static void call_free(struct exec_warp *w, const struct insn *i, uint32_t mask, const struct call_site *call)
{
    struct exec_env *env = w->env;
    FOR_LANES(lane, mask)
    {
        const uint64_t at = builtin_argument(w, call, 0, lane);
        if (!at) continue;
        const struct devmem_alloc *a = devmem_find(env->memory, at);
        if (!a || a->lo != at || a->kind != DEVMEM_HEAP)
            exec_fault(w, i, lane, "free of 0x%llx, which is not what device malloc gave%s",
                       (unsigned long long)at, a ? "" : " (or freed already)");
        env->heap_used -= a->hi - a->lo;
        devmem_release_heap(env->memory, at);
        access_reset(env);
    }
}

static void call_assertfail(struct exec_warp *w, const struct insn *i, uint32_t mask,
                            const struct call_site *call)
{
    char what[512], file[512], function[512];
    const uint32_t lane = lowest_lane(mask);
    read_string(w, i, lane, builtin_argument(w, call, 0, lane), what, sizeof what);
    read_string(w, i, lane, builtin_argument(w, call, 1, lane), file, sizeof file);
    const uint32_t line = (uint32_t)builtin_argument(w, call, 2, lane);
    read_string(w, i, lane, builtin_argument(w, call, 3, lane), function, sizeof function);
    w->env->fault = EXEC_FAULT_ASSERT;
    exec_fault(w, i, lane, "%s:%u: %s: assertion `%s' failed", file, line, function, what);
}

void builtin_call(struct exec_warp *w, const struct insn *i, uint32_t mask, const struct call_site *call)
{
    switch ((enum exec_builtin)call->builtin) {
    case BUILTIN_VPRINTF: call_vprintf(w, i, mask, call); return;
    case BUILTIN_MALLOC: call_malloc(w, mask, call); return;
    case BUILTIN_FREE: call_free(w, i, mask, call); return;
    case BUILTIN_ASSERTFAIL: call_assertfail(w, i, mask, call); return;
    case BUILTIN_CHILD_BUFFER: child_buffer(w, mask, call); return;
    case BUILTIN_CHILD_LAUNCH: child_launch(w, mask, call); return;
    case BUILTIN_CHILD_ERROR:
    case BUILTIN_CHILD_PEEK_ERROR: child_error(w, mask, call, call->builtin == BUILTIN_CHILD_ERROR); return;
    case BUILTIN_CHILD_HANDLE: child_handle(w, i, mask, call); return;
    case BUILTIN_CHILD_NOTHING: FOR_LANES(lane, mask) builtin_result(w, call, lane, 0); return;
    case BUILTIN_NONE: break;
    }
    const char *name = call->name ? call->name : "?";
    exec_fault(w, i, lowest_lane(mask), "call of '%s', which no module defines: %s", name, exec_advice(name));
}
