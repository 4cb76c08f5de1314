/* machine_yaml: reads one machine file and, before it, those that it extends.
 *
 *   description: one line of text
 *   extends: another preset or path (relative to this file), or a list of them in the order in which they are read
 *   section:
 *     key: value
 *
 * A value '/4' is a quarter of the value that the extended files give. A file of such values is a layer: it scales
 * every machine that stands before it in a list. Later machines of a list override earlier ones, and the file
 * overrides them all. A machine that several of them extend is read once, before the first of them, so that its
 * values do not come back.
 *
 * Only this shape is accepted. Anchors, aliases, several documents, deeper nesting, duplicate
 * keys are refused at their place. All mistakes of a file are shown together. */
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "config/machine_private.h"
#include "config/yaml_events.h"

enum { EXTENDS_DEPTH_MAX = 16, MACHINES_MAX = 64 };

/* One file being read; the chain upwards finds cycles in `extends`. */
struct reading {
    struct machine *machine;
    struct diag_source *source;
    const char *identity; /* preset name or resolved path */
    const struct reading *extended_by;
    const char *(
        *read)[MACHINES_MAX]; /* identities of the machines that this one extends so far, shared by all */
    unsigned *read_count;
    unsigned depth;
    struct yaml_events yaml;
    bool key_seen[PARAM_COUNT];
    bool section_seen[PARAM_SECTION_COUNT];
    bool description_seen, extends_seen;
};

static void load(struct machine *m, const char *name, struct diag_place named_at,
                 const struct reading *extended_by);

/* ---- finding a file ---- */

static const struct embedded_file *find_preset(const char *name)
{
    const size_t len = strlen(name);
    for (const struct embedded_file *f = embedded_machines; f->name; f++)
        if (strncmp(f->name, name, len) == 0 && strcmp(f->name + len, ".yaml") == 0) return f;
    return NULL;
}

static _Noreturn void unknown_machine(struct machine *m, struct diag_place named_at, const char *name)
{
    const char *names[256];
    size_t count = 0;
    for (const struct embedded_file *f = embedded_machines; f->name && count < 256; f++)
        names[count++] = arena_strndup(&m->arena, f->name, strlen(f->name) - strlen(".yaml"));
    const char *near = diag_nearest(name, names, count);
    diag_mistake_at(named_at, "unknown machine '%s'%s%s%s", name, near ? "; did you mean '" : "",
                    near ? near : "",
                    near ? "'?" : ": neither a preset ('atoll list machines') nor a YAML file");
}

/* ---- events ---- */

static struct diag_place here(const struct reading *r) { return yaml_here(&r->yaml); }
static void next_event(struct reading *r) { yaml_next(&r->yaml); }
static yaml_event_type_t event_type(const struct reading *r) { return r->yaml.event.type; }
static const char *scalar(const struct reading *r) { return yaml_scalar(&r->yaml, &r->machine->arena); }

/* The scalar at hand as the value of a key; NULL after noting a mistake. */
static const char *present_scalar(struct reading *r, const char *key)
{
    if (event_type(r) != YAML_SCALAR_EVENT)
        diag_mistake_at(here(r), "'%s' takes one value, not a %s", key,
                        event_type(r) == YAML_SEQUENCE_START_EVENT ? "list" : "mapping");
    if (r->yaml.event.data.scalar.length == 0 && r->yaml.event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        diag_note_mistake_at(here(r), "'%s' has no value", key);
        return NULL;
    }
    return scalar(r);
}

/* Reads the value of a key that takes one scalar; NULL after noting a mistake. */
static const char *scalar_value(struct reading *r, const char *key)
{
    next_event(r);
    return present_scalar(r, key);
}

/* ---- the three kinds of entries ---- */

static void read_parameter(struct reading *r, const char *section)
{
    const struct diag_place key_place = here(r);
    const char *name = scalar(r);
    const enum param_idx idx = machine_find(r->machine, key_place, section, name);
    const char *text = scalar_value(r, name);
    if (idx == PARAM_COUNT || !text) return;
    if (r->key_seen[idx])
        diag_note_mistake_at(key_place, "'%s.%s' is given twice in this file", section, name);
    r->key_seen[idx] = true;
    machine_assign(r->machine, here(r), idx, text);
}

static void read_section(struct reading *r, const char *section, struct diag_place key_place)
{
    const bool known = machine_section_known(r->machine, key_place, section);
    if (!known) diag_raise_if_any(); /* what is inside would only repeat the mistake */
    for (unsigned i = 0; i < PARAM_SECTION_COUNT; i++) {
        if (strcmp(param_sections[i].name, section) != 0) continue;
        if (r->section_seen[i])
            diag_note_mistake_at(key_place, "section '%s' is given twice in this file", section);
        r->section_seen[i] = true;
    }
    next_event(r);
    if (event_type(r) != YAML_MAPPING_START_EVENT)
        diag_mistake_at(here(r), "section '%s' takes 'key: value' lines below it", section);
    for (next_event(r); event_type(r) != YAML_MAPPING_END_EVENT; next_event(r)) {
        if (event_type(r) != YAML_SCALAR_EVENT) diag_mistake_at(here(r), "a key must be a plain name");
        read_parameter(r, section);
    }
}

/* The value of `extends`: a machine, or a list of machines. late: the mistake is noted, nothing is loaded. */
static void read_parents(struct reading *r, const char *key, bool late)
{
    next_event(r);
    if (event_type(r) != YAML_SEQUENCE_START_EVENT) {
        const char *const parent = present_scalar(r, key);
        if (parent && !late) load(r->machine, parent, here(r), r);
        return;
    }
    uint32_t count = 0;
    for (next_event(r); event_type(r) != YAML_SEQUENCE_END_EVENT; next_event(r), count++) {
        if (event_type(r) != YAML_SCALAR_EVENT) diag_mistake_at(here(r), "'%s' lists names of machines", key);
        if (!late) load(r->machine, scalar(r), here(r), r);
    }
    if (!count) diag_note_mistake_at(here(r), "'%s' has no value", key);
}

static void read_entry(struct reading *r)
{
    if (event_type(r) != YAML_SCALAR_EVENT) diag_mistake_at(here(r), "a key must be a plain name");
    const struct diag_place key_place = here(r);
    const char *key = scalar(r);
    if (strcmp(key, "description") == 0) {
        if (r->description_seen) diag_note_mistake_at(key_place, "'description' is given twice in this file");
        r->description_seen = true;
        const char *text = scalar_value(r, key);
        if (text) r->machine->description = text;
    } else if (strcmp(key, "extends") == 0) {
        if (r->extends_seen) diag_note_mistake_at(key_place, "'extends' is given twice in this file");
        bool late = r->extends_seen;
        for (unsigned i = 0; i < PARAM_SECTION_COUNT; i++) late |= r->section_seen[i];
        if (late && !r->extends_seen)
            diag_mistake_at(key_place, "'extends' must stand before the sections, since they override it");
        r->extends_seen = true;
        const char *own = r->machine->description;
        read_parents(r, key, late);
        if (r->description_seen) r->machine->description = own;
    } else {
        read_section(r, key, key_place);
    }
}

static void read_document(struct reading *r)
{
    next_event(r); /* stream start */
    next_event(r);
    if (event_type(r) == YAML_STREAM_END_EVENT)
        diag_mistake_at((struct diag_place){r->source, 0, 0, 1},
                        "the machine file is empty; 'extends: uba-mem' is the "
                        "shortest one");
    next_event(r);
    if (event_type(r) != YAML_MAPPING_START_EVENT)
        diag_mistake_at(here(r), "a machine file consists of sections with 'key: value' lines");
    for (next_event(r); event_type(r) != YAML_MAPPING_END_EVENT; next_event(r)) read_entry(r);
    next_event(r); /* document end */
    next_event(r);
    if (event_type(r) != YAML_STREAM_END_EVENT)
        diag_mistake_at(here(r), "a machine file holds one document; a second one starts here");
}

static void read_source(struct reading *r)
{
    yaml_begin(&r->yaml, r->source, "in machine files; say 'extends:' to share values");
    read_document(r);
    yaml_end(&r->yaml);
}

/* ---- loading ---- */

/* A path is taken from the folder of the file that extends it. */
static const char *beside(struct machine *m, const struct reading *extended_by, const char *name)
{
    const char *slash = extended_by ? strrchr(extended_by->source->name, '/') : NULL;
    if (!slash || name[0] == '/') return name;
    return arena_printf(&m->arena, "%.*s/%s", (int)(slash - extended_by->source->name),
                        extended_by->source->name, name);
}

/* The list of machines that were read belongs to the outermost file. */
static void share_read(struct reading *r)
{
    const struct reading *up = r->extended_by;
    r->read = up ? up->read
                 : (const char *(*)[MACHINES_MAX])ARENA_ARRAY(&r->machine->arena, const char *, MACHINES_MAX);
    r->read_count = up ? up->read_count : ARENA_NEW(&r->machine->arena, unsigned);
}

/* True if another machine of a list has extended this one already. */
static bool was_read(struct reading *r, struct diag_place named_at)
{
    for (unsigned k = 0; k < *r->read_count; k++)
        if (strcmp((*r->read)[k], r->identity) == 0) return true;
    if (*r->read_count == MACHINES_MAX)
        diag_mistake_at(named_at, "more than %d machines extend one another", MACHINES_MAX);
    (*r->read)[(*r->read_count)++] = r->identity;
    return false;
}

static void load(struct machine *m, const char *name, struct diag_place named_at,
                 const struct reading *extended_by)
{
    struct reading *r = ARENA_NEW(&m->arena, struct reading);
    r->machine = m;
    r->source = ARENA_NEW(&m->arena, struct diag_source);
    r->extended_by = extended_by;
    r->depth = extended_by ? extended_by->depth + 1 : 0;
    if (r->depth > EXTENDS_DEPTH_MAX)
        diag_mistake_at(named_at, "more than %d machines extend one another", EXTENDS_DEPTH_MAX);
    const struct embedded_file *preset = find_preset(name);
    if (preset) {
        *r->source = (struct diag_source){preset->name, preset->text, preset->len_bytes};
        r->identity = preset->name;
    } else {
        if (!strchr(name, '/') && !strstr(name, ".y")) unknown_machine(m, named_at, name);
        const char *path = beside(m, extended_by, name);
        yaml_slurp(&m->arena, "machine", path, named_at, r->source);
        char *real = realpath(path, NULL);
        r->identity = arena_strdup(&m->arena, real ? real : path);
        free(real);
    }
    for (const struct reading *up = extended_by; up; up = up->extended_by)
        if (strcmp(up->identity, r->identity) == 0)
            diag_mistake_at(named_at, "'%s' extends itself%s", name,
                            up == extended_by ? "" : " through other machines");
    share_read(r);
    if (!was_read(r, named_at)) read_source(r);
}

void machine_load_text(struct machine *m, const char *name, const char *text, size_t len_bytes)
{
    struct reading *r = ARENA_NEW(&m->arena, struct reading);
    m->name = arena_strdup(&m->arena, name);
    r->machine = m;
    r->source = ARENA_NEW(&m->arena, struct diag_source);
    *r->source = (struct diag_source){m->name, arena_strndup(&m->arena, text, len_bytes), len_bytes};
    r->identity = m->name;
    share_read(r);
    if (len_bytes > YAML_FILE_BYTES_MAX)
        diag_mistake("machine '%s' has more than %d bytes", name, YAML_FILE_BYTES_MAX);
    read_source(r);
    diag_raise_if_any();
}

void machine_load_at(struct machine *m, const char *name_or_path, struct diag_place named_at)
{
    m->name = arena_strdup(&m->arena, name_or_path);
    load(m, m->name, named_at, NULL);
    diag_raise_if_any();
}

void machine_load(struct machine *m, const char *name_or_path)
{
    machine_load_at(m, name_or_path, (struct diag_place){0});
}
