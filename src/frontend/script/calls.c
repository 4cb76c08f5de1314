/* calls: what a host script's calls do: the table behind workload.h. All of it runs on the script's fiber. */
#include "frontend/script/numbers.h"
#include "frontend/script/script_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct script_app *script_app_of(struct wl *w) { return (struct script_app *)w; }

static int64_t call_param(const struct wl *w, const char *name)
{
    const struct script_app *app = (const struct script_app *)w;
    for (size_t i = 0; app->workload->params && app->workload->params[i].name; i++)
        if (strcmp(app->workload->params[i].name, name) == 0) return app->values[i];
    diag_mistake("the script of %s asks for a parameter '%s', which it does not declare", app->workload->name,
                 name);
}

/* The only place where a script rests. */
static void call_wait(struct wl *w)
{
    struct script_app *app = script_app_of(w);
    while (rt_pending(app->rt)) {
        fiber_yield(&app->fiber);
        if (app->cancelled) diag_mistake("%s: ended early", app->label); /* unwinds the script's stack */
    }
}

/* ---- memory ---- */

static void *call_alloc(struct wl *w, const char *name, uint64_t bytes)
{
    struct script_app *app = script_app_of(w);
    app->bytes_allocated += bytes;
    return rt_alloc(app->rt, bytes, name);
}

static void *call_input(struct wl *w, const char *name, uint64_t bytes, wl_fill_fn *fill, void *arg)
{
    struct script_app *app = script_app_of(w);
    app->bytes_allocated += bytes;
    void *device = rt_alloc_lazy(app->rt, bytes, name, fill, arg);
    if (app->options.eager) rt_touch(app->rt, device, bytes);
    return device;
}

static void *call_scratch(struct wl *w, uint64_t bytes)
{
    return arena_alloc(&script_app_of(w)->scratch, bytes);
}

static void *call_variable(struct wl *w, const char *name, uint64_t bytes)
{
    struct script_app *app = script_app_of(w);
    for (uint32_t i = 0; i < app->module_count; i++) {
        uint64_t has = 0;
        void *device = rt_variable_find(app->modules[i], name, &has);
        if (!device) continue;
        if (has != bytes)
            diag_mistake("%s: variable '%s' of the device code has %llu bytes, the script expects %llu",
                         app->label, name, (unsigned long long)has, (unsigned long long)bytes);
        return device;
    }
    diag_mistake("%s: the device code has no variable '%s'", app->label, name);
}

static void call_write(struct wl *w, void *device, const void *host, uint64_t bytes)
{
    call_wait(w);
    rt_copy_to_device(script_app_of(w)->rt, device, host, bytes);
}

static const void *call_read(struct wl *w, const void *device, uint64_t bytes)
{
    struct script_app *app = script_app_of(w);
    call_wait(w);
    if (bytes > app->read_bytes) {
        app->read_buffer = arena_alloc(&app->scratch, bytes);
        app->read_bytes = bytes;
    }
    rt_copy_to_host(app->rt, app->read_buffer, device, bytes);
    return app->read_buffer;
}

static const void *call_output(struct wl *w, const char *name, const void *device, uint64_t bytes)
{
    struct script_app *app = script_app_of(w);
    (void)name;
    call_wait(w);
    rt_touch(app->rt, device, bytes);
    app->outputs++;
    app->words_checked += bytes / 4; /* all of it, unless a check says that it took a sample */
    if (app->outputs == app->options.flip_output && bytes >= 4) {
        const uint64_t words = bytes / 4, word = (uint64_t)(app->options.flip_at * (double)(words - 1) + 0.5);
        uint32_t *wrong = (uint32_t *)(uintptr_t)device + word;
        *wrong = ~*wrong;
    }
    return device;
}

/* ---- launches ---- */

static void call_launch(struct wl *w, const struct wl_launch *l, const struct wl_arg *args,
                        uint32_t arg_count)
{
    struct script_app *app = script_app_of(w);
    struct rt_arg converted[64];
    if (arg_count > 64) diag_mistake("%s: launch of '%s' with more than 64 arguments", app->label, l->kernel);
    for (uint32_t i = 0; i < arg_count; i++) converted[i] = (struct rt_arg){args[i].bits, args[i].bytes};
    rt_launch(app->rt, &(struct rt_launch){.kernel = rt_kernel_find_any(app->rt, l->kernel),
                                           .grid = {l->grid.x, l->grid.y, l->grid.z},
                                           .block = {l->block.x, l->block.y, l->block.z},
                                           .dynamic_shared_bytes = l->shared_bytes,
                                           .cooperative = l->cooperative,
                                           .values = converted,
                                           .arg_count = arg_count});
}

static void call_measure(struct wl *w) { rt_measure(script_app_of(w)->rt); }

/* The attribute, not _Noreturn: clang compares it with the table's. */
static __attribute__((noreturn, format(printf, 2, 3))) void call_fail(struct wl *w, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    diag_check_failed("%s: %s", script_app_of(w)->label, text);
}

const struct wl_calls script_calls = {
    .param = call_param,
    .alloc = call_alloc,
    .input = call_input,
    .input_f32 = input_f32,
    .scratch = call_scratch,
    .variable = call_variable,
    .write = call_write,
    .read = call_read,
    .output = call_output,
    .launch = call_launch,
    .wait = call_wait,
    .measure = call_measure,
    .many_f32 = many_f32,
    .many_f32_at = numbers_f32_at,
    .many_below = numbers_below,
    .check_f32 = check_f32,
    .check_u32 = check_u32,
    .fail = call_fail,
};
