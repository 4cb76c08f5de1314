/* Fuzz target: a request for workloads ("bfs:tiny+gather:n=4K") from bytes. It opens or is a mistake; when it
 * opens, every value lies where its row says and the footprint can be computed. covers: src/frontend/script
 */
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "frontend/script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request(void *arg)
{
    const char *text = arg;
    struct script_set *set = script_open(text);
    if (!script_count(set)) abort();
    for (uint32_t i = 0; i < script_count(set); i++) {
        struct script_app *app = script_app(set, i);
        if (!script_workload(app) || script_ended(app) || !strstr(text, script_label(app))) abort();
    }
    script_close(set);
}

static void size_of(void *arg) { (void)script_footprint_bytes(script_find("gather"), arg); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && memchr(data, '/', size)) return 0; /* a folder: compilers would run */
    char *text = calloc(1, size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    struct diag d;
    diag_init(&d);
    if (diag_run(&d, request, text) > DIAG_MISTAKE) abort();
    diag_clear(&d);
    if (diag_run(&d, size_of, text) > DIAG_MISTAKE) abort();
    diag_clear(&d);
    free(text);
    return 0;
}
