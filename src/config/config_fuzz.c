/* Fuzz target: a machine file from bytes, then overrides, rules and a dump that must load again.
 * covers: src/config
 *
 * The input is a YAML text; lines that start with "-s " become overrides. */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "config/machine.h"
#include "system/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *yaml; /* NULL: overrides alone */
    size_t yaml_len;
    char *overrides;
    struct config config; /* out; its texts are gone */
    char *dump;           /* out */
    size_t dump_len;
};

static void load(void *arg)
{
    struct input *in = arg;
    struct machine m;
    struct diag_cleanup freeing;
    machine_init(&m);
    diag_defer(&freeing, (void (*)(void *))machine_free, &m);
    if (in->yaml) machine_load_text(&m, "fuzz.yaml", in->yaml, in->yaml_len);
    char *save = NULL;
    for (char *line = strtok_r(in->overrides, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, "-s ", 3) == 0) machine_set(&m, line + 3);
    machine_finish(&m, &system_rules);
    json_decref(machine_dump_json(&m));
    FILE *f = open_memstream(&in->dump, &in->dump_len);
    if (!f) abort();
    machine_dump_yaml(&m, f);
    (void)fclose(f);
    in->config = m.config;
    diag_done(&freeing, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct diag d;
    char *text = calloc(1, size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    struct input in = {.yaml = (const char *)data, .yaml_len = size, .overrides = text};
    if (size > 3 && memcmp(data, "-s ", 3) == 0) in.yaml = NULL;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, load, &in);
    if (kind == DIAG_BUG) abort();
    diag_clear(&d);
    if (kind == DIAG_NONE) { /* what was dumped must be accepted, and be the same machine */
        struct input again = {.yaml = in.dump, .yaml_len = in.dump_len, .overrides = (char[]){""}};
        if (diag_run(&d, load, &again) != DIAG_NONE) abort();
        char a[UNITS_TEXT_MAX], b[UNITS_TEXT_MAX];
        for (unsigned i = 0; i < PARAM_COUNT; i++)
            if (param_rows[i].type != PARAM_text &&
                strcmp(param_print(&in.config, (enum param_idx)i, a),
                       param_print(&again.config, (enum param_idx)i, b)) != 0)
                abort();
        free(again.dump);
    }
    free(in.dump);
    free(text);
    return 0;
}
