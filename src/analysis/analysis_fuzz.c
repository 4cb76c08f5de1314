/* Fuzzes both analyses with arbitrary bytes.
 * covers: src/analysis
 *
 * First byte odd: the rest is PTX text (seeds: what compilers emit); any module that parses must be analysed,
 * reported as text and as JSON, with and without a launch, or end in a mistake of the user. Even: the rest
 * makes a kernel that runs, and no line that was read with ld.global.ro may be written; it is reported too.
 */
#include <stdint.h>

#include "analysis/random_kernel.h"
#include "analysis/report.h"
#include "base/arena.h"

struct input {
    struct arena arena;
    struct diag_source source;
    char *text;
    size_t text_bytes;
    FILE *out;
};

static void report(struct input *in, struct ptx_module *m, bool launch)
{
    const struct report_request request = {.grid = {launch ? 64 : 0, 8, 1}, .block = {128, 2, 1}};
    (void)analysis_report(&in->arena, &m, 1, &request, in->out, false);
    json_decref(analysis_report(&in->arena, &m, 1, &request, NULL, true));
}

static void analyse_text(void *arg)
{
    struct input *in = arg;
    struct ptx_module *m = ptx_parse(&in->arena, &in->source);
    report(in, m, false);
    report(in, m, true);
}

static void fuzz_text(const uint8_t *data, size_t size)
{
    struct input in = {.source = {"fuzz.ptx", (const char *)data, size}};
    struct diag d;
    in.out = open_memstream(&in.text, &in.text_bytes);
    if (!in.out) return;
    arena_init(&in.arena);
    diag_init(&d);
    if (diag_run(&d, analyse_text, &in) == DIAG_BUG) {
        (void)fprintf(stderr, "%s", d.text);
        abort();
    }
    diag_clear(&d);
    arena_free(&in.arena);
    (void)fclose(in.out);
    free(in.text);
}

static void fuzz_kernel(const uint8_t *data, size_t size)
{
    struct random_kernel *k = malloc(sizeof *k);
    struct diag d;
    if (!k) return;
    if (!random_run(k, data, size, &d)) {
        (void)fprintf(stderr, "%s\n%s", d.text ? d.text : "a line marked read-only is written", k->text);
        abort();
    }
    diag_clear(&d);
    fuzz_text((const uint8_t *)k->text, k->len); /* and the tables of such a kernel */
    free(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    if (data[0] & 1)
        fuzz_text(data + 1, size - 1);
    else
        fuzz_kernel(data + 1, size - 1);
    return 0;
}
