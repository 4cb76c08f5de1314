/* Fuzz target: a machine file from bytes, then overrides, rules and a dump that must load again.
 * covers: src/config
 *
 * The input is a YAML text; lines that start with "-s " become overrides. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "config/machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *path;
    char *overrides;
    char dump_path[64];
};

static void load(void *arg)
{
    struct input *in = arg;
    struct machine m;
    struct diag_cleanup freeing;
    machine_init(&m);
    diag_defer(&freeing, (void (*)(void *))machine_free, &m);
    if (in->path) machine_load(&m, in->path);
    char *save = NULL;
    for (char *line = strtok_r(in->overrides, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, "-s ", 3) == 0) machine_set(&m, line + 3);
    machine_finish(&m);
    json_decref(machine_dump_json(&m));
    FILE *f = fopen(in->dump_path, "w");
    if (f) {
        machine_dump_yaml(&m, f);
        (void)fclose(f);
    }
    diag_done(&freeing, true);
}

static void write_all(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f) abort();
    if (size && fwrite(bytes, 1, size, f) != size) abort();
    (void)fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct input in = {.path = path};
    struct diag d;
    (void)snprintf(path, sizeof path, "/tmp/atoll-fuzz-%d.yaml", (int)getpid());
    (void)snprintf(in.dump_path, sizeof in.dump_path, "/tmp/atoll-fuzz-%d-dump.yaml", (int)getpid());
    in.overrides = calloc(1, size + 1);
    if (!in.overrides) abort();
    if (size) memcpy(in.overrides, data, size);
    if (size > 3 && memcmp(data, "-s ", 3) == 0)
        in.path = NULL; /* overrides alone */
    else
        write_all(path, data, size);
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, load, &in);
    if (kind == DIAG_BUG) abort();
    diag_clear(&d);
    if (kind == DIAG_NONE) { /* what was dumped must be accepted */
        struct input again = {.path = in.dump_path, .overrides = (char[]){""}};
        (void)snprintf(again.dump_path, sizeof again.dump_path, "%s", path);
        if (diag_run(&d, load, &again) != DIAG_NONE) abort();
        diag_clear(&d);
    }
    free(in.overrides);
    return 0;
}
