/* sim: creating a simulator, its machine, and how every public call is guarded. */
#include "api/sim.h"
#include "system/rules.h"

#include <stdlib.h>

atoll_status api_run(atoll_sim *sim, diag_body_fn *body, void *arg)
{
    diag_clear(&sim->diag);
    switch (diag_run(&sim->diag, body, arg)) {
    case DIAG_NONE: return ATOLL_OK;
    case DIAG_MISTAKE: return ATOLL_MISTAKE;
    case DIAG_CHECK_FAILED: return ATOLL_CHECK_FAILED;
    case DIAG_BUG: return ATOLL_BUG;
    }
    return ATOLL_BUG;
}

static void drop_text(void *arg)
{
    struct api_text *t = arg;
    if (t->file) (void)fclose(t->file);
    free(t->text);
}

void api_text_begin(struct api_text *t)
{
    *t = (struct api_text){0};
    t->file = open_memstream(&t->text, &t->len);
    if (!t->file) diag_mistake("out of host memory for a text");
    diag_defer(&t->cleanup, drop_text, t);
}

char *api_text_end(struct api_text *t)
{
    FILE *file = t->file;
    t->file = NULL;
    if (fclose(file) != 0) diag_mistake("out of host memory for a text");
    diag_done(&t->cleanup, false);
    return t->text;
}

const char *atoll_version(void) { return ATOLL_VERSION; }

const char *atoll_nearest(const char *name, const char *const *candidates, size_t count)
{
    return diag_nearest(name, candidates, count);
}

static void start(void *arg)
{
    atoll_sim *sim = arg;
    machine_init(&sim->machine);
}

atoll_status atoll_create(atoll_sim **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return ATOLL_MISTAKE;
    diag_init(&(*out)->diag);
    return api_run(*out, start, *out);
}

void atoll_destroy(atoll_sim *sim)
{
    if (!sim) return;
    machine_free(&sim->machine);
    diag_clear(&sim->diag);
    free(sim);
}

const char *atoll_message(const atoll_sim *sim) { return sim->diag.text ? sim->diag.text : ""; }

void atoll_on_progress(atoll_sim *sim, void (*callback)(void *arg, const struct atoll_progress *p), void *arg)
{
    sim->progress = callback;
    sim->progress_arg = arg;
}

/* ---- the machine ---- */

struct machine_call {
    atoll_sim *sim;
    const char *text;
    atoll_format format;
    char **out;
};

static void load_machine(void *arg)
{
    const struct machine_call *call = arg;
    machine_free(&call->sim->machine);
    machine_init(&call->sim->machine);
    machine_load(&call->sim->machine, call->text);
}

atoll_status atoll_machine(atoll_sim *sim, const char *name_or_path)
{
    return api_run(sim, load_machine, &(struct machine_call){.sim = sim, .text = name_or_path});
}

static void override(void *arg)
{
    const struct machine_call *call = arg;
    machine_set(&call->sim->machine, call->text);
}

atoll_status atoll_set(atoll_sim *sim, const char *assignment)
{
    return api_run(sim, override, &(struct machine_call){.sim = sim, .text = assignment});
}

static void check_machine(void *arg) { machine_finish(&((atoll_sim *)arg)->machine, &system_rules); }
atoll_status atoll_check_machine(atoll_sim *sim) { return api_run(sim, check_machine, sim); }

static void write_config(void *arg)
{
    const struct machine_call *call = arg;
    struct api_text text;
    machine_finish(&call->sim->machine, &system_rules);
    api_text_begin(&text);
    if (call->format == ATOLL_JSON) {
        json_t *json = machine_dump_json(&call->sim->machine);
        (void)json_dumpf(json, text.file, JSON_INDENT(2));
        json_decref(json);
        (void)fputc('\n', text.file);
    } else if (call->format == ATOLL_YAML) {
        machine_dump_yaml(&call->sim->machine, text.file);
    } else {
        diag_mistake("a configuration is written as YAML or JSON");
    }
    *call->out = api_text_end(&text);
}

atoll_status atoll_config(atoll_sim *sim, atoll_format format, char **text)
{
    return api_run(sim, write_config, &(struct machine_call){.sim = sim, .format = format, .out = text});
}
