/* draw: numbers for people, bars and lines in text. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/report.h"

const char *draw_count(char buf[DRAW_TEXT], uint64_t value)
{
    char digits[32];
    const int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    int to = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) buf[to++] = ',';
        buf[to++] = digits[i];
    }
    buf[to] = '\0';
    return buf;
}

const char *draw_short(char buf[DRAW_TEXT], double value)
{
    static const char *const units[] = {"", " K", " M", " G", " T"};
    uint32_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) value /= 1000, unit++;
    const int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    (void)snprintf(buf, DRAW_TEXT, "%.*f%s", decimals, value, units[unit]);
    return buf;
}

const char *draw_seconds(char buf[DRAW_TEXT], double seconds)
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    uint32_t unit = 0;
    while (seconds > 0 && seconds < 0.9995 && unit + 1 < sizeof units / sizeof *units)
        seconds *= 1000, unit++;
    const int decimals = seconds < 9.995 ? 2 : seconds < 99.95 ? 1 : 0;
    (void)snprintf(buf, DRAW_TEXT, "%.*f %s", decimals, seconds, units[unit]);
    return buf;
}

void draw_bar(FILE *out, double fraction, uint32_t width, bool ascii)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    if (!(fraction > 0)) return;
    const double columns = (fraction < 1 ? fraction : 1) * width;
    if (ascii) {
        const uint32_t n = columns < 1 ? 1 : (uint32_t)(columns + 0.5);
        for (uint32_t i = 0; i < n; i++) (void)fputc('#', out);
        return;
    }
    uint32_t parts = (uint32_t)(columns * 8 + 0.5);
    if (!parts) parts = 1;
    for (uint32_t i = 0; i < parts / 8; i++) (void)fputs("█", out);
    (void)fputs(eighths[parts % 8], out);
}

void draw_line(FILE *out, const double *values, uint32_t count, double top, bool ascii)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    for (uint32_t i = 0; i < count; i++) {
        const double share = top > 0 ? values[i] / top : 0;
        uint32_t step = (uint32_t)ceil(share * 8 - 1e-9);
        if (!(share > 0)) step = 0;
        if (step > 8) step = 8;
        (void)fputs(ascii ? marks[step] : blocks[step], out);
    }
}

/* The largest remainders are rounded up. */
void draw_tenths(const double *shares, uint32_t count, uint32_t *tenths)
{
    double sum = 0;
    uint32_t given = 0;
    for (uint32_t i = 0; i < count; i++) {
        tenths[i] = (uint32_t)(shares[i] * 1000);
        given += tenths[i];
        sum += shares[i];
    }
    for (const uint32_t all = (uint32_t)(sum * 1000 + 0.5); given < all; given++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < count; i++)
            if (shares[i] * 1000 - tenths[i] > shares[best] * 1000 - tenths[best]) best = i;
        tenths[best]++;
    }
}

void draw_wrapped(FILE *out, uint32_t indent, const char *text)
{
    uint32_t column = indent;
    while (*text) {
        uint32_t len = (uint32_t)strcspn(text, " ");
        if (text[len] == ' ' && text[len + 1] == '%') /* stays with its number */
            len += 1 + (uint32_t)strcspn(text + len + 1, " ");
        if (column > indent && column + 1 + len > DRAW_COLUMNS) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        (void)fprintf(out, "%s%.*s", column > indent ? " " : "", (int)len, text);
        column += len + (column > indent);
        text += len;
        while (*text == ' ') text++;
    }
    (void)fputc('\n', out);
}

const char *draw_clipped(char *buf, size_t width, const char *text)
{
    const size_t len = strlen(text);
    if (len <= width)
        memcpy(buf, text, len + 1);
    else
        (void)snprintf(buf, width + 1, "%.*s..", (int)(width - 2), text);
    return buf;
}

static bool is_word(char c) { return c == '_' || isalnum((unsigned char)c); }

/* void a::b<c::d>::e(int) becomes b<d>::e */
static size_t without_places(char *text, size_t room, const char *at)
{
    static const char unnamed[] = "(anonymous namespace)::";
    size_t len = 0;
    int depth = 0;
    if (!strncmp(at, "void ", 5)) at += 5;
    for (; *at && len + 1 < room; at++) {
        if (!strncmp(at, unnamed, sizeof unnamed - 1)) {
            at += sizeof unnamed - 2;
            continue;
        }
        if (*at == '(' && !depth) break;
        depth += (*at == '<') - (*at == '>');
        if (at[0] == ':' && at[1] == ':' && len && is_word(text[len - 1])) {
            while (len && is_word(text[len - 1])) len--;
            at++;
            continue;
        }
        text[len++] = *at;
    }
    text[len] = '\0';
    return len;
}

const char *draw_kernel(char *buf, size_t width, const char *name)
{
    char text[1024];
    if (strlen(name) <= width) return draw_clipped(buf, width, name);
    const size_t len = without_places(text, sizeof text, name);
    if (len <= width) return draw_clipped(buf, width, text);
    const size_t head = 2 * (width - 2) / 3, tail = width - 2 - head;
    (void)snprintf(buf, width + 1, "%.*s..%s", (int)head, text, text + len - tail);
    return buf;
}
