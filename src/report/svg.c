/* svg: small things that the page's plots are made of. */
#include <math.h>
#include <string.h>

#include "report/html.h"

void html_text(const char *text, FILE *out)
{
    for (; *text; text++) switch (*text) {
        case '<': (void)fputs("&lt;", out); break;
        case '>': (void)fputs("&gt;", out); break;
        case '&': (void)fputs("&amp;", out); break;
        case '"': (void)fputs("&quot;", out); break;
        case '\'': (void)fputs("&#39;", out); break;
        default: (void)fputc(*text, out);
        }
}

const char *html_number(char buf[48], double value)
{
    const double size = fabs(value);
    if (!isfinite(value))
        (void)strcpy(buf, "–");
    else if (size >= 1e6 || (size > 0 && size < 1e-3))
        (void)snprintf(buf, 48, "%.3g", value);
    else
        (void)snprintf(buf, 48, "%.*f", size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3, value);
    return buf;
}

const char *html_estimate(char buf[96], const struct study_estimate *e)
{
    char value[48], low[48], high[48];
    if (e->seeds > 1)
        (void)snprintf(buf, 96, "%s (%s to %s)", html_number(value, e->value), html_number(low, e->low),
                       html_number(high, e->high));
    else
        (void)snprintf(buf, 96, "%s", html_number(value, e->value));
    return buf;
}

struct svg_axis svg_axis_of(double low, double high, uint32_t steps)
{
    if (!(high > low)) high = low + 1;
    const double raw = (high - low) / steps, power = pow(10, floor(log10(raw)));
    const double digit = raw / power;
    const double step = (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 2.5 ? 2.5 : digit <= 5 ? 5 : 10) * power;
    return (struct svg_axis){floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step};
}

uint32_t svg_ticks(const struct svg_axis *a) { return (uint32_t)((a->high - a->low) / a->step + 1.5); }

double svg_tick(const struct svg_axis *a, uint32_t i)
{
    const double v = a->low + i * a->step;
    return fabs(v) < a->step / 1e6 ? 0 : v;
}

void svg_begin(FILE *out, double width, double height, const char *title)
{
    (void)fprintf(out,
                  "<svg role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" aria-label=\"",
                  width, height, width, height);
    html_text(title, out);
    (void)fputs("\">\n", out);
}

void svg_text(FILE *out, double x, double y, const char *attributes, const char *text)
{
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    html_text(text, out);
    (void)fputs("</text>\n", out);
}

void svg_line(FILE *out, const char *class_, double x1, double y1, double x2, double y2)
{
    (void)fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class_, x1,
                  y1, x2, y2);
}

void html_anchor(const char *name, FILE *out)
{
    for (; *name; name++) {
        const bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                           (*name >= '0' && *name <= '9') || *name == '.' || *name == '_';
        (void)fputc(plain ? *name : '-', out);
    }
}

void html_heading(FILE *out, const char *study, const char *part, const char *title)
{
    (void)fputs("<h3 id=\"", out);
    html_anchor(study, out);
    (void)fprintf(out, "-%s\">%s</h3>\n", part, title);
}

const char *html_clip(char buf[HTML_CLIP_BYTES], const char *text, uint32_t chars)
{
    size_t at = 0;
    uint32_t seen = 0;
    for (; at < HTML_CLIP_BYTES - 8 && text[at]; at++) {
        if ((text[at] & 0xc0) == 0x80) continue; /* the rest of a character */
        if (seen++ == chars) break;
    }
    while (text[at] && at && (text[at] & 0xc0) == 0x80) at--;
    (void)snprintf(buf, HTML_CLIP_BYTES, "%.*s%s", (int)at, text, text[at] ? "…" : "");
    return buf;
}

void html_figure_begin(FILE *out, const char *title, const char *where, const char *about, const char *class_)
{
    (void)fprintf(out, "<figure class=\"%s\">\n<figcaption>", class_);
    html_text(title, out);
    if (where) {
        (void)fputs(" <span class=\"soft\">(", out);
        html_text(where, out);
        (void)fputs(")</span>", out);
    }
    (void)fputs("</figcaption>\n", out);
    if (about) {
        (void)fputs("<p class=\"soft\">", out);
        html_text(about, out);
        (void)fputs("</p>\n", out);
    }
    (void)fputs("<div class=\"plot\">\n", out);
}

void html_figure_table(FILE *out, const char *hint)
{
    (void)fputs("</div>\n<output class=\"readout\" aria-live=\"polite\">", out);
    html_text(hint, out);
    (void)fputs("</output>\n<details><summary>the numbers</summary>\n<div class=\"scroll\">\n", out);
}

void html_figure_end(FILE *out) { (void)fputs("</div></details>\n</figure>\n", out); }
