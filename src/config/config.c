/* config: the tables behind config.h, from the .def files; parsing and printing of one value. */
#include "config/config.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

const struct param_row param_rows[PARAM_COUNT] = {
#define SECTION(section, help)
#define PARAM(section, name, type, default_, min, max, unit, help) \
    {#section, #name, PARAM_##type, default_,          min, \
     max,      unit,  help,         CHOICE_LIST_COUNT, offsetof(struct config, section.name)},
#define CHOICE(section, name, list, default_, help) \
    {#section, #name, PARAM_choice, default_,       "", \
     "",       "",    help,         CHOICES_##list, offsetof(struct config, section.name)},
#define END_SECTION(section)
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

enum { /* first row and number of rows of each section */
#define SECTION(section, help)                                     FIRST_##section, BEFORE_##section = FIRST_##section - 1,
#define PARAM(section, name, type, default_, min, max, unit, help) ROW_##section##_##name,
#define CHOICE(section, name, list, default_, help)                ROW_##section##_##name,
#define END_SECTION(section)                                       END_##section, AFTER_##section = END_##section - 1,
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

const struct param_section param_sections[PARAM_SECTION_COUNT] = {
#define SECTION(section, help_) \
    {.name = #section, .help = help_, .first_idx = FIRST_##section, .count = END_##section - FIRST_##section},
#define PARAM(section, name, type, default_, min, max, unit, help)
#define CHOICE(section, name, list, default_, help)
#define END_SECTION(section)
#include "config/params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
};

#define DERIVED(section, name, quantity, unit, expression, help) \
    static uint64_t derive_##section##_##name(const struct config *c) { return expression; }
#include "config/derived.def"
#undef DERIVED

const struct derived_row derived_rows[] = {
#define DERIVED(section, name, quantity, unit, expression, help) \
    {#section, #name, unit, help, QUANTITY_##quantity, derive_##section##_##name},
#include "config/derived.def"
#undef DERIVED
};
const size_t derived_row_count = sizeof derived_rows / sizeof *derived_rows;

enum param_idx param_find(const char *section, const char *name)
{
    for (unsigned i = 0; i < PARAM_COUNT; i++)
        if (strcmp(param_rows[i].section, section) == 0 && strcmp(param_rows[i].name, name) == 0)
            return (enum param_idx)i;
    return PARAM_COUNT;
}

static enum quantity quantity_of(enum param_type type)
{
    switch (type) {
    case PARAM_bytes: return QUANTITY_BYTES;
    case PARAM_rate: return QUANTITY_RATE;
    case PARAM_freq: return QUANTITY_FREQ;
    case PARAM_time:
    case PARAM_delay: return QUANTITY_TIME;
    case PARAM_u32:
    case PARAM_u64:
    case PARAM_real:
    case PARAM_bool:
    case PARAM_text:
    case PARAM_choice: break;
    }
    return QUANTITY_PLAIN;
}

/* A finite real in the C locale, whatever locale the host program has chosen. */
static bool parse_real(const char *text, double *value)
{
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c_locale) return false;
    char *end;
    errno = 0;
    *value = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    return end != text && *end == '\0' && isfinite(*value) && strpbrk(text, "xXnN") == NULL;
}

static bool in_range_real(const struct param_row *row, double v)
{
    double limit;
    if (*row->min_text && parse_real(row->min_text, &limit) && v < limit) return false;
    if (*row->max_text && parse_real(row->max_text, &limit) && v > limit) return false;
    return true;
}

static bool in_range(const struct param_row *row, uint64_t v)
{
    uint64_t limit;
    const char *why;
    const enum quantity q = quantity_of(row->type);
    if (*row->min_text && units_parse(row->min_text, q, row->unit, &limit, &why) && v < limit) return false;
    if (*row->max_text && units_parse(row->max_text, q, row->unit, &limit, &why) && v > limit) return false;
    return true;
}

static bool refuse_range(const struct param_row *row, const char *text, char *why, size_t why_bytes)
{
    (void)snprintf(why, why_bytes, "%s.%s = %.60s is out of range: %s to %s%s%s", row->section, row->name,
                   text, *row->min_text ? row->min_text : "any", *row->max_text ? row->max_text : "any",
                   *row->unit ? " " : "", row->unit);
    return false;
}

static bool refuse(const struct param_row *row, const char *text, const char *expected, char *why,
                   size_t why_bytes)
{
    (void)snprintf(why, why_bytes, "%s.%s = '%.60s' is not %s", row->section, row->name, text, expected);
    return false;
}

static bool parse_choice(struct config *c, const struct param_row *row, const char *text, char *why,
                         size_t why_bytes)
{
    const struct choice_list *list = &choice_lists[row->list];
    const uint32_t found = choice_find(row->list, text);
    if (found != UINT32_MAX) {
        *(uint32_t *)(void *)((char *)c + row->offset) = found;
        return true;
    }
    const char *names[64];
    char all[512] = "";
    for (uint32_t i = 0; i < list->count && i < 64; i++) {
        names[i] = list->items[i].name;
        (void)snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "", names[i]);
    }
    const char *near = diag_nearest(text, names, list->count < 64 ? list->count : 64);
    (void)snprintf(why, why_bytes, "%s.%s = '%.60s' is none of: %s%s%s%s", row->section, row->name, text, all,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return false;
}

static uint64_t whole_value(const struct config *c, const struct param_row *row)
{
    const void *const field = (const char *)c + row->offset;
    return row->type == PARAM_u32 ? *(const uint32_t *)field : *(const uint64_t *)field;
}

/* "/4": a quarter of the present value, which must be a multiple of four. */
static bool parse_fraction(const struct config *c, const struct param_row *row, const char *text, uint64_t *v,
                           char *why, size_t why_bytes)
{
    const uint64_t present = whole_value(c, row);
    uint64_t divisor;
    const char *expected;
    char buf[UNITS_TEXT_MAX];
    if (!units_parse(text + 1, QUANTITY_PLAIN, "", &divisor, &expected) || !divisor)
        return refuse(row, text, "'/' and a whole number, such as /4 for a quarter of the present value", why,
                      why_bytes);
    if (present % divisor) {
        (void)snprintf(why, why_bytes,
                       "%s.%s = '%.60s': the present value %s is no multiple of %llu; set a value",
                       row->section, row->name, text, units_print(present, quantity_of(row->type), buf),
                       (unsigned long long)divisor);
        return false;
    }
    *v = present / divisor;
    return true;
}

static bool parse_whole(struct config *c, const struct param_row *row, const char *text, char *why,
                        size_t why_bytes)
{
    uint64_t v;
    const char *expected;
    if (*text == '/') {
        if (!parse_fraction(c, row, text, &v, why, why_bytes)) return false;
    } else if (!units_parse(text, quantity_of(row->type), row->unit, &v, &expected)) {
        return refuse(row, text, expected, why, why_bytes);
    }
    if (!in_range(row, v) || (row->type == PARAM_u32 && v > UINT32_MAX))
        return refuse_range(row, text, why, why_bytes);
    void *field = (char *)c + row->offset;
    if (row->type == PARAM_u32)
        *(uint32_t *)field = (uint32_t)v;
    else
        *(uint64_t *)field = v;
    return true;
}

/* "100 ns" or "20 cycles"; the limits of the row are those of the time. */
static bool parse_delay(struct config *c, const struct param_row *row, const char *text, char *why,
                        size_t why_bytes)
{
    uint64_t cycles;
    const char *expected;
    const char *const letter = strpbrk(text, "cC");
    if (!letter || !units_parse(text, QUANTITY_PLAIN, "cycles", &cycles, &expected)) {
        if (parse_whole(c, row, text, why, why_bytes)) return true;
        if (units_parse(text, QUANTITY_TIME, row->unit, &cycles, &expected)) return false;
        return refuse(row, text,
                      "a time in ps, ns, us, ms or s or a number of SM cycles, such as 100 ns or 20 cycles",
                      why, why_bytes);
    }
    if (cycles < 2 || cycles > 1000000) {
        (void)snprintf(why, why_bytes, "%s.%s = %.60s is out of range: 2 to 1000000 cycles", row->section,
                       row->name, text);
        return false;
    }
    *(uint64_t *)(void *)((char *)c + row->offset) = cycles | CONFIG_DELAY_CYCLES;
    return true;
}

bool param_parse(struct config *c, enum param_idx idx, const char *text, char *why, size_t why_bytes)
{
    const struct param_row *row = &param_rows[idx];
    void *field = (char *)c + row->offset;
    switch (row->type) {
    case PARAM_u32:
    case PARAM_u64:
    case PARAM_bytes:
    case PARAM_rate:
    case PARAM_freq:
    case PARAM_time: return parse_whole(c, row, text, why, why_bytes);
    case PARAM_delay: return parse_delay(c, row, text, why, why_bytes);
    case PARAM_choice: return parse_choice(c, row, text, why, why_bytes);
    case PARAM_text: *(const char **)field = text; return true;
    case PARAM_real: {
        double v;
        if (!parse_real(text, &v)) return refuse(row, text, "a number, such as 0.9", why, why_bytes);
        if (!in_range_real(row, v)) return refuse_range(row, text, why, why_bytes);
        *(double *)field = v;
        return true;
    }
    case PARAM_bool: {
        const bool yes = !strcmp(text, "true") || !strcmp(text, "yes") || !strcmp(text, "on");
        const bool no = !strcmp(text, "false") || !strcmp(text, "no") || !strcmp(text, "off");
        if (!yes && !no) return refuse(row, text, "true or false", why, why_bytes);
        *(bool *)field = yes;
        return true;
    }
    }
    return false;
}

const char *param_print(const struct config *c, enum param_idx idx, char buf[UNITS_TEXT_MAX])
{
    const struct param_row *row = &param_rows[idx];
    const void *field = (const char *)c + row->offset;
    switch (row->type) {
    case PARAM_u32: return units_print(*(const uint32_t *)field, QUANTITY_PLAIN, buf);
    case PARAM_u64:
    case PARAM_bytes:
    case PARAM_rate:
    case PARAM_freq:
    case PARAM_time: return units_print(*(const uint64_t *)field, quantity_of(row->type), buf);
    case PARAM_delay: {
        const uint64_t delay = *(const uint64_t *)field;
        if (!(delay & CONFIG_DELAY_CYCLES)) return units_print(delay, QUANTITY_TIME, buf);
        (void)snprintf(buf, UNITS_TEXT_MAX, "%llu cycles",
                       (unsigned long long)(delay & ~CONFIG_DELAY_CYCLES));
        return buf;
    }
    case PARAM_real: /* shortest text that reads back to the same value */
        for (int digits = 1; digits <= 17; digits++) {
            double again;
            (void)snprintf(buf, UNITS_TEXT_MAX, "%.*g", digits, *(const double *)field);
            char *comma = strchr(buf, ','); /* the host program may have chosen another locale */
            if (comma) *comma = '.';
            if (parse_real(buf, &again) && again == *(const double *)field) break;
        }
        return buf;
    case PARAM_bool: return *(const bool *)field ? "true" : "false";
    case PARAM_text: return *(const char *const *)field;
    case PARAM_choice: return choice_name(row->list, *(const uint32_t *)field);
    }
    return "";
}

void config_defaults(struct config *c)
{
    char why[256];
    *c = (struct config){0};
    for (unsigned i = 0; i < PARAM_COUNT; i++)
        if (!param_parse(c, (enum param_idx)i, param_rows[i].default_text, why, sizeof why))
            diag_bug("config", 0, "the default of a row is wrong: %s", why);
}

uint64_t config_tick_frequency(const struct config *c)
{
    const uint64_t limit = 100000000000000000u;
    const uint64_t clocks[] = {c->clock.sm, c->clock.net, c->clock.llc, c->clock.dram};
    uint64_t multiple = 1;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        if (!clocks[i]) return 0;
        uint64_t a = multiple, b = clocks[i];
        while (b) {
            const uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        const unsigned __int128 next = (unsigned __int128)(multiple / a) * clocks[i];
        if (next > limit) return 0;
        multiple = (uint64_t)next;
    }
    return multiple;
}
