/* units: exact decimal arithmetic on quantities; see units.h. */
#include "config/units.h"

#include <stdio.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit byte_units[] = {{"B", 1},          {"KiB", 1u << 10},   {"MiB", 1u << 20},
                                         {"GiB", 1u << 30}, {"TiB", 1ull << 40}, {0}};
static const struct unit rate_units[] = {{"B/s", 1},           {"kB/s", 1000},          {"MB/s", 1000000},
                                         {"GB/s", 1000000000}, {"TB/s", 1000000000000}, {0}};
static const struct unit freq_units[] = {
    {"Hz", 1}, {"kHz", 1000}, {"MHz", 1000000}, {"GHz", 1000000000}, {0}};
static const struct unit time_units[] = {{"ps", 1},          {"ns", 1000},         {"us", 1000000},
                                         {"ms", 1000000000}, {"s", 1000000000000}, {0}};
static const struct unit no_units[] = {{0}};

static const struct unit *units_of(enum quantity kind)
{
    switch (kind) {
    case QUANTITY_PLAIN: return no_units;
    case QUANTITY_BYTES: return byte_units;
    case QUANTITY_RATE: return rate_units;
    case QUANTITY_FREQ: return freq_units;
    case QUANTITY_TIME: return time_units;
    }
    return no_units;
}

static const char *advice(enum quantity kind)
{
    switch (kind) {
    case QUANTITY_PLAIN: return "a whole number, such as 64";
    case QUANTITY_BYTES: return "a size in B, KiB, MiB, GiB or TiB (powers of 1024), such as 48 KiB";
    case QUANTITY_RATE: return "a rate in B/s, kB/s, MB/s, GB/s or TB/s, such as 720 GB/s";
    case QUANTITY_FREQ: return "a frequency in Hz, kHz, MHz or GHz, such as 1.4 GHz";
    case QUANTITY_TIME: return "a time in ps, ns, us, ms or s, such as 20 us";
    }
    return "";
}

/* digits[.digits] as mantissa and number of decimals; moves *text behind it. */
static bool parse_decimal(const char **text, uint64_t *mantissa, unsigned *decimals)
{
    const char *p = *text;
    uint64_t m = 0;
    unsigned digits = 0, after_point = 0;
    bool point = false;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        if (__builtin_mul_overflow(m, 10u, &m) || __builtin_add_overflow(m, (uint64_t)(*p - '0'), &m))
            return false;
        digits++;
        after_point += point;
    }
    if (!digits || p[-1] == '.') return false;
    *text = p;
    *mantissa = m;
    *decimals = after_point;
    return true;
}

bool units_parse(const char *text, enum quantity kind, const char *plain_unit, uint64_t *value,
                 const char **why)
{
    *why = advice(kind);
    const char *p = text;
    while (*p == ' ') p++;
    uint64_t mantissa;
    unsigned decimals;
    if (!parse_decimal(&p, &mantissa, &decimals)) return false;
    while (*p == ' ') p++;
    char unit_text[16];
    const size_t len = strcspn(p, " ");
    if (len >= sizeof unit_text || p[len + strspn(p + len, " ")]) return false;
    memcpy(unit_text, p, len);
    unit_text[len] = '\0';

    uint64_t factor = 0;
    if (kind == QUANTITY_PLAIN) {
        factor = len == 0 || (plain_unit && strcmp(unit_text, plain_unit) == 0);
    } else {
        for (const struct unit *u = units_of(kind); u->name; u++)
            if (strcmp(u->name, unit_text) == 0) factor = u->factor;
        if (len == 0 && mantissa == 0) factor = 1; /* zero needs no unit */
    }
    if (!factor) return false;
    unsigned __int128 exact = (unsigned __int128)mantissa * factor;
    for (; decimals; decimals--) {
        if (exact % 10) {
            *why = kind == QUANTITY_PLAIN ? "a whole number" : "a whole number of the smallest unit";
            return false;
        }
        exact /= 10;
    }
    if (exact >> 64) return false;
    *value = (uint64_t)exact;
    return true;
}

char *units_print(uint64_t value, enum quantity kind, char buf[UNITS_TEXT_MAX])
{
    const struct unit *best = NULL;
    uint64_t rest = 0;
    unsigned decimals = 0;
    for (const struct unit *u = units_of(kind); u->name; u++) {
        if (value < u->factor && best) break;
        if (kind == QUANTITY_BYTES ? value % u->factor : (value % u->factor) % ((u->factor + 999) / 1000))
            continue;
        best = u;
    }
    if (!best) {
        (void)snprintf(buf, UNITS_TEXT_MAX, "%llu", (unsigned long long)value);
        return buf;
    }
    if (kind != QUANTITY_BYTES && best->factor >= 1000) { /* up to three decimals, exact by choice of unit */
        rest = (value % best->factor) / (best->factor / 1000);
        for (decimals = rest ? 3 : 0; decimals && rest % 10 == 0; decimals--) rest /= 10;
    }
    const unsigned long long whole = value / best->factor;
    if (decimals)
        (void)snprintf(buf, UNITS_TEXT_MAX, "%llu.%0*llu %s", whole, (int)decimals, (unsigned long long)rest,
                       best->name);
    else
        (void)snprintf(buf, UNITS_TEXT_MAX, "%llu %s", whole, best->name);
    return buf;
}
