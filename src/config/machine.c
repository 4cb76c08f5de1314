/* machine: finding, merging and printing configurations. Reading YAML is in machine_yaml.c. */
#include "config/machine.h"

#include <string.h>

#include "base/embedded.h"
#include "config/machine_private.h"

void machine_init(struct machine *m)
{
    *m = (struct machine){.name = "default", .description = ""};
    arena_init(&m->arena);
    config_defaults(&m->config);
}

void machine_free(struct machine *m) { arena_free(&m->arena); }

const char *machine_preset(size_t idx)
{
    for (size_t i = 0; embedded_machines[i].name; i++) {
        if (i != idx) continue;
        return embedded_machines[i].name; /* with its .yaml */
    }
    return NULL;
}

/* ---- values that became parameters of their own: the old spelling sets all of them ---- */

static const struct alias {
    enum param_idx param;
    const char *value;
    struct {
        enum param_idx param;
        const char *value;
    } sets[3];
} aliases[] = {
    {PARAM_IDX(runtime, placement),
     "migration",
     {{PARAM_IDX(runtime, placement), "first_touch"},
      {PARAM_IDX(pages, migration), "most_used"},
      {PARAM_IDX(pages, replication), "none"}}},
    {PARAM_IDX(runtime, placement),
     "replication",
     {{PARAM_IDX(runtime, placement), "first_touch"},
      {PARAM_IDX(pages, migration), "none"},
      {PARAM_IDX(pages, replication), "read_only"}}},
};

static void assign(struct machine *m, struct diag_place place, enum param_idx idx, const char *text)
{
    char why[768];
    if (param_parse(&m->config, idx, text, why, sizeof why))
        m->set_at[idx] = place;
    else
        diag_note_mistake_at(place, "%s", why);
}

static bool same_place(struct diag_place a, struct diag_place b)
{
    return a.source && a.source == b.source && a.line == b.line && a.col == b.col;
}

/* A later value replaces all that an alias set at the same place. */
static void undo_aliases(struct machine *m, enum param_idx idx)
{
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
        if (aliases[k].param != idx) continue;
        for (size_t n = 0; n < sizeof aliases[k].sets / sizeof *aliases[k].sets; n++) {
            const enum param_idx other = aliases[k].sets[n].param;
            if (other == idx || !same_place(m->set_at[other], m->set_at[idx])) continue;
            assign(m, (struct diag_place){0}, other, param_rows[other].default_text);
        }
    }
}

/* A parameter and its older spellings exclude each other: the value that is set last counts. */
static void undo_older_spellings(struct machine *m, enum param_idx idx)
{
    static const struct {
        enum param_idx param, older[2];
    } rows[] = {
#define LINKS(section) \
    {PARAM_IDX(section, bandwidth), {PARAM_IDX(section, width), PARAM_IDX(clock, section)}}, \
        {PARAM_IDX(section, latency), {PARAM_IDX(section, link_latency_cyc), PARAM_COUNT}}, \
        {PARAM_IDX(section, buffer), {PARAM_IDX(section, sink_packets), PARAM_COUNT}},
        LINKS(chiplet_net) LINKS(gpu_net)
#undef LINKS
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (uint32_t n = 0; n < 2 && rows[k].param == idx; n++)
            if (rows[k].older[n] != PARAM_COUNT)
                assign(m, (struct diag_place){0}, rows[k].older[n],
                       param_rows[rows[k].older[n]].default_text);
}

void machine_assign(struct machine *m, struct diag_place place, enum param_idx idx, const char *text)
{
    undo_aliases(m, idx);
    undo_older_spellings(m, idx);
    for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++) {
        if (aliases[k].param != idx || strcmp(aliases[k].value, text) != 0) continue;
        for (size_t n = 0; n < sizeof aliases[k].sets / sizeof *aliases[k].sets; n++)
            assign(m, place, aliases[k].sets[n].param, aliases[k].sets[n].value);
        return;
    }
    assign(m, place, idx, text);
}

/* "; did you mean 'gpu.llc_size'?" for an unknown name, in arena memory; "" when nothing is near. */
static const char *suggestion(struct machine *m, const char *section, const char *name)
{
    const char *names[PARAM_COUNT];
    for (unsigned i = 0; i < PARAM_COUNT; i++) { /* the right name in the wrong section */
        if (strcmp(param_rows[i].name, name) == 0)
            return arena_printf(&m->arena, "; did you mean '%s.%s'?", param_rows[i].section, name);
        names[i] = arena_printf(&m->arena, "%s.%s", param_rows[i].section, param_rows[i].name);
    }
    const char *near = diag_nearest(arena_printf(&m->arena, "%s.%s", section, name), names, PARAM_COUNT);
    return near ? arena_printf(&m->arena, "; did you mean '%s'?", near) : "; 'atoll list params' shows all";
}

bool machine_section_known(struct machine *m, struct diag_place place, const char *section)
{
    const char *names[PARAM_SECTION_COUNT];
    for (unsigned i = 0; i < PARAM_SECTION_COUNT; i++) {
        names[i] = param_sections[i].name;
        if (strcmp(names[i], section) == 0) return true;
    }
    const char *near = diag_nearest(section, names, PARAM_SECTION_COUNT);
    diag_note_mistake_at(place, "unknown section '%s'%s%s%s", section, near ? "; did you mean '" : "",
                         near ? near : "", near ? "'?" : "; 'atoll list params' shows all");
    (void)m;
    return false;
}

/* Advice about a parameter of an earlier version; NULL: no earlier version had a parameter of this name. */
static const char *retired(const char *section, const char *name)
{
    static const struct {
        const char *section, *name, *advice;
    } rows[] = {
#define RETIRED(section_, name_, advice_) {#section_, #name_, advice_},
#include "config/retired.def"
#undef RETIRED
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].section, section) && !strcmp(rows[k].name, name)) return rows[k].advice;
    return NULL;
}

enum param_idx machine_find(struct machine *m, struct diag_place place, const char *section, const char *name)
{
    const enum param_idx idx = param_find(section, name);
    if (idx == PARAM_COUNT && diag_enough()) diag_raise_if_any();
    if (idx != PARAM_COUNT) return idx;
    const char *const advice = retired(section, name);
    if (advice)
        diag_note_mistake_at(place, "'%s.%s' is a parameter of an earlier version: %s", section, name,
                             advice);
    else
        diag_note_mistake_at(place, "unknown parameter '%s.%s'%s", section, name,
                             suggestion(m, section, name));
    return idx;
}

void machine_set_at(struct machine *m, const char *key, struct diag_place key_at, const char *value,
                    struct diag_place value_at)
{
    const char *dot = strchr(key, '.');
    if (!dot) diag_mistake_at(key_at, "a parameter is named section.key, such as gpu.llc_size");
    const char *section = arena_strndup(&m->arena, key, (size_t)(dot - key));
    if (machine_section_known(m, key_at, section)) {
        const enum param_idx idx = machine_find(m, key_at, section, dot + 1);
        if (idx != PARAM_COUNT) machine_assign(m, value_at, idx, arena_strdup(&m->arena, value));
    }
    diag_raise_if_any();
}

void machine_set(struct machine *m, const char *assignment)
{
    struct diag_source *source = ARENA_NEW(&m->arena, struct diag_source);
    const char *text = arena_strdup(&m->arena, assignment);
    *source = (struct diag_source){"-s", text, strlen(text)};
    const char *equals = strchr(text, '='), *dot = strchr(text, '.');
    if (!equals || !dot || dot > equals)
        diag_mistake_at((struct diag_place){source, 1, 1, (uint32_t)strlen(text)},
                        "an override is written section.key=value, such as -s gpu.llc_size='3 MiB'");
    const uint32_t key_len = (uint32_t)(equals - text);
    machine_set_at(m, arena_strndup(&m->arena, text, key_len), (struct diag_place){source, 1, 1, key_len},
                   equals + 1, (struct diag_place){source, 1, key_len + 2, (uint32_t)strlen(equals + 1)});
}

/* "; nearest: 5888 KiB, 6016 KiB" for a size or number that must be a multiple of something. */
static const char *nearest(struct machine *m, const struct rule_row *rule)
{
    char below[UNITS_TEXT_MAX], above[UNITS_TEXT_MAX];
    if (!rule->unit) return "";
    const struct param_row *const row = &param_rows[rule->param];
    const void *const field = (const char *)&m->config + row->offset;
    const uint64_t value = row->type == PARAM_u32 ? *(const uint32_t *)field : *(const uint64_t *)field;
    const enum quantity quantity = row->type == PARAM_bytes ? QUANTITY_BYTES : QUANTITY_PLAIN;
    const uint64_t unit = rule->unit(&m->config), least = value / unit * unit;
    return arena_printf(&m->arena, "; nearest: %s, %s", units_print(least, quantity, below),
                        units_print(least + unit, quantity, above));
}

void machine_finish(struct machine *m, const struct rule_set *rules)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule_row *rule = &rules->rows[i];
        if (rule->holds(&m->config)) continue;
        char buf[UNITS_TEXT_MAX];
        const struct param_row *row = &param_rows[rule->param];
        diag_note_mistake_at(m->set_at[rule->param], "%s (%s.%s is %s%s%s)", rule->message, row->section,
                             row->name, param_print(&m->config, rule->param, buf),
                             m->set_at[rule->param].source ? "" : ", its default", nearest(m, rule));
    }
    diag_raise_if_any();
}

/* ---- output ---- */

/* Reads one UTF-8 character; UINT32_MAX (one byte long) when it is none. */
static uint32_t decode_utf8(const char *text, size_t *len)
{
    const unsigned char *p = (const unsigned char *)text;
    static const unsigned char masks[] = {0x7f, 0, 0x1f, 0x0f, 0x07};
    *len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 && p[0] < 0xf8 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
    if (*len == 1) return p[0];
    uint32_t code = *len && p[0] < 0xf8 ? p[0] & masks[*len] : UINT32_MAX;
    for (size_t i = 1; i < *len && code != UINT32_MAX; i++)
        code = (p[i] & 0xc0) == 0x80 ? code << 6 | (p[i] & 0x3f) : UINT32_MAX;
    if (code == UINT32_MAX) *len = 1;
    return code;
}

/* A YAML double-quoted scalar: what YAML does not print is escaped, what is no UTF-8 becomes '?'. */
static void print_quoted(const char *text, FILE *out)
{
    (void)fputc('"', out);
    for (size_t len; *text; text += len) {
        const uint32_t code = decode_utf8(text, &len);
        const bool hidden = code < ' ' || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
                            (code >= 0xd800 && code < 0xe000) || code == 0xfeff || code == 0xfffe ||
                            code == 0xffff;
        if (code == UINT32_MAX || code > 0x10ffff)
            (void)fputc('?', out);
        else if (hidden)
            (void)fprintf(out, "\\u%04x", code);
        else if (code == '"' || code == '\\')
            (void)fprintf(out, "\\%c", (char)code);
        else
            (void)fwrite(text, 1, len, out);
    }
    (void)fputc('"', out);
}

void machine_dump_yaml(const struct machine *m, FILE *out)
{
    char buf[UNITS_TEXT_MAX];
    (void)fputs("# effective configuration of machine ", out);
    print_quoted(m->name, out);
    (void)fprintf(out, ", Atoll %s\ndescription: ", ATOLL_VERSION);
    print_quoted(m->description, out);
    for (unsigned s = 0; s < PARAM_SECTION_COUNT; s++) {
        const struct param_section *section = &param_sections[s];
        (void)fprintf(out, "\n%s: # %s\n", section->name, section->help);
        for (uint32_t i = section->first_idx; i < section->first_idx + section->count; i++) {
            const char *text = param_print(&m->config, (enum param_idx)i, buf);
            (void)fprintf(out, "  %s: ", param_rows[i].name);
            if (param_rows[i].type == PARAM_text)
                print_quoted(text, out);
            else
                (void)fputs(text, out);
            (void)fprintf(out, "%s\n", m->set_at[i].source ? "" : " # default");
        }
        for (size_t d = 0; d < derived_row_count; d++)
            if (strcmp(derived_rows[d].section, section->name) == 0)
                (void)fprintf(out, "  # %s = %s %s: %s\n", derived_rows[d].name,
                              units_print(derived_rows[d].value(&m->config), derived_rows[d].quantity, buf),
                              derived_rows[d].unit, derived_rows[d].help);
    }
}

json_t *machine_dump_json(const struct machine *m)
{
    char buf[UNITS_TEXT_MAX];
    json_t *root = json_object(), *derived = json_object();
    for (unsigned s = 0; s < PARAM_SECTION_COUNT; s++) {
        json_t *section = json_object();
        for (uint32_t i = param_sections[s].first_idx;
             i < param_sections[s].first_idx + param_sections[s].count; i++) {
            const struct param_row *row = &param_rows[i];
            const void *field = (const char *)&m->config + row->offset;
            json_t *value = NULL;
            switch (row->type) { /* numbers stay numbers, quantities keep their unit */
            case PARAM_u32: value = json_integer(*(const uint32_t *)field); break;
            case PARAM_u64: /* JSON integers end at 2^63 here; a larger one keeps its digits as text */
                value = *(const uint64_t *)field <= INT64_MAX
                            ? json_integer((json_int_t) * (const uint64_t *)field)
                            : json_string(param_print(&m->config, (enum param_idx)i, buf));
                break;
            case PARAM_real: value = json_real(*(const double *)field); break;
            case PARAM_bool: value = json_boolean(*(const bool *)field); break;
            case PARAM_text:
            case PARAM_bytes:
            case PARAM_rate:
            case PARAM_freq:
            case PARAM_time:
            case PARAM_delay:
            case PARAM_choice: value = json_string(param_print(&m->config, (enum param_idx)i, buf)); break;
            }
            (void)json_object_set_new(section, row->name, value);
        }
        (void)json_object_set_new(root, param_sections[s].name, section);
    }
    for (size_t d = 0; d < derived_row_count; d++) {
        char key[96];
        (void)snprintf(key, sizeof key, "%s.%s", derived_rows[d].section, derived_rows[d].name);
        const uint64_t value = derived_rows[d].value(&m->config);
        (void)json_object_set_new(derived, key,
                                  derived_rows[d].quantity == QUANTITY_PLAIN
                                      ? json_integer((json_int_t)value)
                                      : json_string(units_print(value, derived_rows[d].quantity, buf)));
    }
    (void)json_object_set_new(root, "derived", derived);
    return root;
}
