/* lasp: LADM's locality-aware scheduling and placement. The class of the winner's index decides on the binding of
 * the launch (Table II); see binding.h. */
#include <string.h>

#include "analysis/locality.h"
#include "base/diag.h"
#include "policy/binding/binding.h"

/* ---- lasp.force: "kernel/argument:class,kernel/argument:class" ---- */

struct forced {
    const char *kernel, *argument, *class;
    size_t kernel_bytes, argument_bytes, class_bytes;
};

/* Takes the next entry of the text. False: no more entries. An entry of another form has a NULL class. */
static bool next_forced(const char **text, struct forced *f)
{
    if (!**text) return false;
    const size_t bytes = strcspn(*text, ",");
    const char *const end = *text + bytes, *slash = memchr(*text, '/', bytes), *colon = NULL;
    *f = (struct forced){.kernel = *text};
    if (slash) colon = memchr(slash, ':', (size_t)(end - slash));
    if (colon) {
        f->kernel_bytes = (size_t)(slash - *text);
        f->argument = slash + 1;
        f->argument_bytes = (size_t)(colon - slash - 1);
        f->class = colon + 1;
        f->class_bytes = (size_t)(end - colon - 1);
    }
    *text = *end ? end + 1 : end;
    return true;
}

static bool is_text(const char *text, size_t bytes, const char *name)
{
    return text && strlen(name) == bytes && !strncmp(text, name, bytes);
}

static uint8_t class_of_name(const struct forced *f)
{
    for (int k = LOCALITY_NL; k < LOCALITY_CLASSES; k++)
        if (is_text(f->class, f->class_bytes, locality_action((enum locality_class)k)->class_name))
            return (uint8_t)k;
    return LOCALITY_UNKNOWN;
}

bool lasp_force_is_valid(const struct config *c)
{
    const char *text = c->lasp.force;
    struct forced f;
    while (next_forced(&text, &f))
        if (!f.class || class_of_name(&f) == LOCALITY_UNKNOWN) return false;
    return true;
}

static bool is_forced(const struct config *c) { return c->lasp.class == lasp_source_given; }

void lasp_check_force(const struct config *c, const struct launch_facts *l, uint64_t *seen)
{
    const char *text = c->lasp.force;
    const struct launch_arrays *const a = launch_arrays(l);
    struct forced f;
    for (uint32_t k = 0; is_forced(c) && next_forced(&text, &f); k++) {
        bool found = false;
        if (!is_text(f.kernel, f.kernel_bytes, l->name)) continue;
        *seen |= (uint64_t)1 << (k % 64);
        for (uint32_t n = 0; a && n < a->count; n++)
            found |= is_text(f.argument, f.argument_bytes, a->array[n].name);
        if (!found)
            diag_mistake(
                "lasp.force: kernel '%s' has no argument '%.*s'; 'atoll analyze' lists its structures",
                l->name, (int)f.argument_bytes, f.argument);
    }
}

void lasp_check_force_used(const struct config *c, uint64_t seen)
{
    const char *text = c->lasp.force;
    struct forced f;
    for (uint32_t k = 0; is_forced(c) && next_forced(&text, &f); k++)
        if (!(seen >> (k % 64) & 1))
            diag_mistake(
                "lasp.force: the program has launched no kernel '%.*s'; use the name that PTX declares",
                (int)f.kernel_bytes, f.kernel);
}

uint8_t lasp_class(const struct config *c, const struct launch_facts *l, uint32_t array)
{
    const struct launch_array *const a = &launch_arrays(l)->array[array];
    const char *text = c->lasp.force;
    struct forced f;
    while (is_forced(c) && next_forced(&text, &f))
        if (is_text(f.kernel, f.kernel_bytes, l->name) && is_text(f.argument, f.argument_bytes, a->name))
            return class_of_name(&f);
    return a->locality;
}

/* ---- the plan of a launch ---- */

struct binding lasp_binding(const struct config *c, const struct launch_facts *l, const struct nodes *n,
                            uint8_t locality, uint64_t datablock_bytes)
{
    const bool in_turn = c->lasp.hierarchy == lasp_hierarchy_in_turn && c->lasp.match == lasp_match_blocks;
    switch (locality_action((enum locality_class)locality)->scheduler) {
    case LOCALITY_ALIGN_AWARE: {
        const uint64_t batch = datablock_bytes ? c->map.page_size / datablock_bytes : 1;
        return binding_runs(l, n, batch ? batch : 1);
    }
    case LOCALITY_ROW_BINDING: return binding_lines(l, n, BINDING_ROWS, in_turn);
    case LOCALITY_COL_BINDING: return binding_lines(l, n, BINDING_COLUMNS, in_turn);
    case LOCALITY_KERNEL_WIDE: break;
    }
    return binding_runs(l, n, 1);
}

struct lasp_plan lasp_plan(const struct config *c, const struct launch_facts *l, const struct nodes *n)
{
    const struct launch_arrays *const a = launch_arrays(l);
    struct lasp_plan plan = {.winner = a ? a->winner : LAUNCH_NO_ARRAY, .locality = LOCALITY_UNKNOWN};
    if (plan.winner != LAUNCH_NO_ARRAY) plan.locality = lasp_class(c, l, plan.winner);
    plan.binding = lasp_binding(c, l, n, plan.locality,
                                plan.winner == LAUNCH_NO_ARRAY ? 0 : a->array[plan.winner].datablock_bytes);
    return plan;
}
