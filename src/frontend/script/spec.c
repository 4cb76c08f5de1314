/* spec: from a size as the user writes it to values of the parameters.
 *
 *   size = item { "," item }     item = NAME (first only: a named size) | KEY "=" NUMBER
 *
 * NUMBER is a whole number, with K, M or G for 2^10, 2^20, 2^30. Named sizes set some parameters, keys after
 * it override them, all others have their standard values. */
#include "frontend/script/script_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t param_count(const struct workload *workload)
{
    size_t n = 0;
    while (workload->params && workload->params[n].name) n++;
    return n;
}

static const char *copy_of(char *to, size_t cap, const char *text, size_t len)
{
    (void)snprintf(to, cap, "%.*s", (int)len, text);
    return to;
}

static struct diag_place at(const struct diag_source *source, size_t offset, size_t len)
{
    return diag_place_at(source, offset, (uint32_t)(len ? len : 1));
}

/* "did you mean 'x'? " or nothing, then all names there are. */
static void raise_unknown(struct diag_place place, const char *what, const char *name, const char *of,
                          const char *const *names, size_t count)
{
    char all[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used + 2 < sizeof all; i++) {
        const int wrote = snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    const char *near = diag_nearest(name, names, count);
    if (near)
        diag_mistake_at(place, "%s has no %s '%s'; did you mean '%s'? (there are: %s)", of, what, name, near,
                        all);
    diag_mistake_at(place, "%s has no %s '%s'; there are: %s", of, what, name, all);
}

static int64_t read_number(const struct diag_source *source, size_t offset, size_t len)
{
    const char *text = source->text + offset;
    const struct diag_place place = at(source, offset, len);
    const bool negative = len && text[0] == '-';
    size_t i = negative;
    int64_t value = 0;
    bool digits = false, fits = true;
    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++, digits = true)
        fits &= !__builtin_mul_overflow(value, 10, &value) &&
                !__builtin_add_overflow(value, text[i] - '0', &value);
    if (digits && i + 1 == len) {
        const char *const units = "KMG", *unit = strchr(units, text[i] & ~0x20);
        if (text[i] && unit) {
            fits &= !__builtin_mul_overflow(value, (int64_t)1 << (10 * (unit - units + 1)), &value);
            i++;
        }
    }
    if (!digits || i != len)
        diag_mistake_at(place, "'%.*s' is not a whole number (as 4096, 4K, 2M)", (int)len, text);
    if (!fits) diag_mistake_at(place, "'%.*s' is too large", (int)len, text);
    return negative ? -value : value;
}

static void set_param(const struct workload *workload, const struct diag_source *source, size_t offset,
                      size_t key_len, size_t len, int64_t *values, bool given[static SCRIPT_PARAMS_MAX])
{
    const size_t count = param_count(workload);
    char key[64];
    copy_of(key, sizeof key, source->text + offset, key_len);
    size_t row = 0;
    while (row < count && strcmp(workload->params[row].name, key) != 0) row++;
    if (row == count) {
        const char *names[SCRIPT_PARAMS_MAX];
        for (size_t i = 0; i < count; i++) names[i] = workload->params[i].name;
        raise_unknown(at(source, offset, key_len), "parameter", key, workload->name, names, count);
    }
    if (given[row]) diag_mistake_at(at(source, offset, key_len), "'%s' is given twice", key);
    given[row] = true;
    const struct wl_param *p = &workload->params[row];
    const size_t number_at = offset + key_len + 1, number_len = len - key_len - 1;
    const int64_t value = read_number(source, number_at, number_len);
    const struct diag_place place = at(source, number_at, number_len);
    if (value < p->min || value > p->max)
        diag_mistake_at(place, "%s of %s (%s) goes from %lld to %lld", p->name, workload->name, p->help,
                        (long long)p->min, (long long)p->max);
    if (p->multiple > 1 && value % p->multiple)
        diag_mistake_at(place, "%s of %s (%s) must be a multiple of %lld", p->name, workload->name, p->help,
                        (long long)p->multiple);
    values[row] = value;
}

/* name:? shows what may be asked for. */
static _Noreturn void raise_help(const struct workload *workload)
{
    char text[6000];
    size_t used = 0;
#define SAY(...) \
    used += used < sizeof text ? (size_t)snprintf(text + used, sizeof text - used, __VA_ARGS__) : 0
    SAY("%s: %s\n  sizes:\n    %-14s standard values\n", workload->name, workload->description, "small");
    for (const struct wl_size *s = workload->sizes; s && s->name; s++)
        SAY("    %-14s %s%s%s%s\n", s->name, s->values, s->note ? "  (" : "", s->note ? s->note : "",
            s->note ? ")" : "");
    SAY("  parameters:\n");
    for (const struct wl_param *p = workload->params; p && p->name; p++)
        SAY("    %-14s %lld  (%lld to %lld) %s\n", p->name, (long long)p->standard, (long long)p->min,
            (long long)p->max, p->help);
#undef SAY
    diag_mistake("%s", text);
}

static void set_named(const struct workload *workload, const struct diag_source *source, size_t offset,
                      size_t len, int64_t *values)
{
    char name[64];
    copy_of(name, sizeof name, source->text + offset, len);
    if (strcmp(name, "?") == 0) raise_help(workload);
    const char *names[64] = {"small"};
    size_t count = 1;
    for (const struct wl_size *s = workload->sizes; s && s->name; s++) {
        if (strcmp(s->name, name) == 0) {
            const struct diag_source inner = {workload->name, s->values, strlen(s->values)};
            spec_apply(workload, inner, 0, inner.len_bytes, values);
            return;
        }
        if (count < 64) names[count++] = s->name;
    }
    if (strcmp(name, "small") != 0)
        raise_unknown(at(source, offset, len), "size", name, workload->name, names, count);
}

void spec_apply(const struct workload *workload, struct diag_source source, size_t offset, size_t len,
                int64_t values[static SCRIPT_PARAMS_MAX])
{
    const size_t count = param_count(workload), end = offset + len;
    bool given[SCRIPT_PARAMS_MAX] = {0};
    for (size_t i = 0; i < count; i++) values[i] = workload->params[i].standard;
    for (size_t first = offset, item = 0; first < end; item++) {
        const char *text = source.text + first, *comma = memchr(text, ',', end - first);
        const size_t item_len = comma ? (size_t)(comma - text) : end - first;
        const char *equals = memchr(text, '=', item_len);
        if (equals)
            set_param(workload, &source, first, (size_t)(equals - text), item_len, values, given);
        else if (item == 0 && item_len)
            set_named(workload, &source, first, item_len, values);
        else
            diag_mistake_at(at(&source, first, item_len), "expected parameter=number");
        first += item_len + 1;
        if (comma && first == end) diag_mistake_at(at(&source, end - 1, 1), "nothing after the comma");
    }
}

void spec_check_workload(const struct workload *workload)
{
    if (workload->api != WL_API)
        diag_mistake(
            "the workload was compiled for version %u of the kit, this is version %u: compile it again",
            workload->api, WL_API);
    if (!workload->name || !workload->run) diag_mistake("the workload has no name or no run function");
    if (param_count(workload) > SCRIPT_PARAMS_MAX)
        diag_mistake("%s: more than %d parameters", workload->name, SCRIPT_PARAMS_MAX);
    bool tiny = false;
    for (const struct wl_size *s = workload->sizes; s && s->name; s++) {
        int64_t values[SCRIPT_PARAMS_MAX];
        const struct diag_source source = {workload->name, s->values, strlen(s->values)};
        spec_apply(workload, source, 0, source.len_bytes, values);
        tiny |= strcmp(s->name, "tiny") == 0;
    }
    if (!tiny) diag_mistake("%s has no size 'tiny'", workload->name);
}
