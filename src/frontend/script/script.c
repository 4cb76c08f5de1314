/* script: applications from request to end. */
#include "frontend/script/script_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening: "name[:size]+name[:size]" ---- */

static _Noreturn void raise_unknown_workload(const struct diag_source *source, size_t offset,
                                             const char *name)
{
    const struct diag_place place = diag_place_at(source, offset, (uint32_t)strlen(name));
    const char *names[256];
    size_t count = 0;
    while (count < 256 && script_registry[count]) {
        names[count] = script_registry[count]->name;
        count++;
    }
    const char *near = diag_nearest(name, names, count);
    if (near) diag_mistake_at(place, "there is no workload '%s'; did you mean '%s'?", name, near);
    diag_mistake_at(
        place, "there is no workload '%s' ('atoll list workloads' shows all; ./folder runs your own)", name);
}

/* One application: text[first, first + len). */
static void open_app(struct script_set *set, struct script_app *app, const struct diag_source *source,
                     size_t first, size_t len)
{
    const char *text = source->text + first;
    const char *slash = memrchr(text, '/', len), *from = slash ? slash : text;
    const char *colon = memchr(from, ':', len - (size_t)(from - text));
    const size_t name_len = colon ? (size_t)(colon - text) : len;
    char *name = arena_strndup(&set->arena, text, name_len);
    if (!name_len) diag_mistake_at(diag_place_at(source, first, 1), "expected the name of a workload");
    app->wl.calls = &script_calls;
    app->label = arena_strndup(&set->arena, text, len);
    if (slash) {
        outside_open(&app->outside, &set->arena, name);
        app->workload = app->outside.workload;
    } else {
        app->workload = script_find(name);
    }
    if (!app->workload) raise_unknown_workload(source, first, name);
    const size_t size_at = first + name_len + (colon ? 1 : 0);
    if (colon && size_at == first + len)
        diag_mistake_at(diag_place_at(source, size_at - 1, 1), "expected a size after ':'");
    spec_apply(app->workload, *source, size_at, first + len - size_at, app->values);
}

static void close_on_raise(void *arg) { script_close(arg); }

struct script_set *script_open(const char *text)
{
    struct arena arena;
    arena_init(&arena);
    struct script_set *set = ARENA_NEW(&arena, struct script_set);
    set->arena = arena;
    set->text = arena_strdup(&set->arena, text);
    struct diag_cleanup cleanup;
    diag_defer(&cleanup, close_on_raise, set);

    const struct diag_source source = {"-w", set->text, strlen(set->text)};
    uint32_t most = 1;
    for (const char *c = set->text; *c; c++) most += *c == '+';
    set->apps = ARENA_ARRAY(&set->arena, struct script_app *, most);
    for (size_t first = 0; set->count < most;) {
        const char *plus = strchr(set->text + first, '+');
        const size_t len = plus ? (size_t)(plus - set->text) - first : source.len_bytes - first;
        struct script_app *app = set->apps[set->count++] = ARENA_NEW(&set->arena, struct script_app);
        open_app(set, app, &source, first, len);
        first += len + 1;
    }
    diag_done(&cleanup, false);
    return set;
}

/* ---- starting ---- */

static void body_of_script(void *arg)
{
    struct script_app *app = arg;
    app->workload->run(&app->wl);
    wl_wait(&app->wl);
}

static void body_of_fiber(void *arg)
{
    struct script_app *app = arg;
    (void)diag_run(&app->diag, body_of_script, app);
}

static void load_module(struct script_app *app, const char *name, const char *text, size_t len)
{
    if (app->module_count == SCRIPT_MODULES_MAX) diag_mistake("%s: too many device files", app->label);
    if (app->options.ptx_folder) {
        char path[4096];
        const char *slash = strrchr(name, '/');
        (void)snprintf(path, sizeof path, "%s/%s", app->options.ptx_folder, slash ? slash + 1 : name);
        app->modules[app->module_count++] = rt_module_load_file(app->rt, path);
    } else {
        app->modules[app->module_count++] = rt_module_load(app->rt, name, text, len);
    }
}

static void load_modules(struct script_app *app)
{
    for (uint32_t i = 0; i < app->outside.module_count; i++) {
        const struct embedded_file *m = &app->outside.modules[i];
        load_module(app, m->name, m->text, m->len_bytes);
    }
    const size_t len = strlen(app->workload->name);
    for (const struct embedded_file *f = embedded_workloads; !app->outside.library && f->name; f++)
        if (strncmp(f->name, app->workload->name, len) == 0 && f->name[len] == '.')
            load_module(app, f->name, f->text, f->len_bytes);
    if (!app->module_count) diag_mistake("%s has no device code", app->label);
}

static void start_app(struct script_app *app)
{
    arena_init(&app->scratch);
    app->inputs = NULL;
    diag_init(&app->diag);
    app->started = true;
    app->rt = rt_create(&app->options.rt);
    load_modules(app);
    fiber_init(&app->fiber, body_of_fiber, app);
}

void script_start(struct script_set *set, const struct script_options *options)
{
    for (uint32_t i = 0; i < set->count; i++) {
        struct script_app *app = set->apps[i];
        DIAG_ASSERT(!app->started);
        if (options) app->options = *options;
        app->options.rt.slot = i;
        start_app(app);
    }
}

/* ---- running ---- */

enum script_state script_resume(struct script_app *app)
{
    DIAG_ASSERT(app->started && !app->ended);
    if (fiber_resume(&app->fiber)) return SCRIPT_WAITS;
    app->ended = true;
    if (app->diag.kind != DIAG_NONE) diag_pass_on(&app->diag);
    return SCRIPT_ENDED;
}

void script_run(struct script_set *set)
{
    for (bool running = true; running;) {
        running = false;
        for (uint32_t i = 0; i < set->count; i++) {
            struct script_app *app = set->apps[i];
            if (app->ended) continue;
            if (!rt_run_next(app->rt)) (void)script_resume(app);
            running |= !app->ended;
        }
    }
}

/* A script that has not ended is resumed once more to unwind its stack. */
static void stop_app(struct script_app *app)
{
    app->cancelled = true;
    if (app->fiber.stack && app->fiber.frames && !app->ended) (void)fiber_resume(&app->fiber);
    fiber_free(&app->fiber);
    diag_clear(&app->diag);
    if (app->rt) rt_destroy(app->rt);
    arena_free(&app->scratch);
}

static void close_app(struct script_app *app)
{
    if (app->started) stop_app(app);
    outside_close(&app->outside);
}

void script_restart(struct script_app *app)
{
    DIAG_ASSERT(app->ended);
    stop_app(app);
    app->rt = NULL;
    app->ended = app->cancelled = false;
    app->module_count = 0;
    app->read_buffer = NULL;
    app->read_bytes = app->bytes_allocated = 0;
    memset(&app->fiber, 0, sizeof app->fiber);
    start_app(app);
}

void script_close(struct script_set *set)
{
    if (!set) return;
    for (uint32_t i = 0; i < set->count; i++) close_app(set->apps[i]);
    struct arena arena = set->arena;
    arena_free(&arena);
}

/* ---- about an application ---- */

uint32_t script_count(const struct script_set *set) { return set->count; }

struct script_app *script_app(struct script_set *set, uint32_t i)
{
    DIAG_ASSERT(i < set->count);
    return set->apps[i];
}

const struct workload *script_workload(const struct script_app *app) { return app->workload; }
const char *script_label(const struct script_app *app) { return app->label; }
int64_t script_value(const struct script_app *app, size_t i)
{
    DIAG_ASSERT(i < SCRIPT_PARAMS_MAX);
    return app->values[i];
}
struct rt_context *script_context(struct script_app *app) { return app->rt; }
bool script_ended(const struct script_app *app) { return app->ended; }
uint32_t script_outputs(const struct script_app *app) { return app->outputs; }
uint64_t script_words_checked(const struct script_app *app) { return app->words_checked; }
uint64_t script_bytes_allocated(const struct script_app *app) { return app->bytes_allocated; }
