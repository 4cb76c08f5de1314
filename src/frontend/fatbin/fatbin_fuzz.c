/* Any bytes as a fat binary: read or refused, never out of bounds. The first byte is the architecture asked
 * for. */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "frontend/fatbin/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct input {
    const uint8_t *data;
    size_t bytes;
    struct arena arena;
};

static void body(void *arg)
{
    struct input *in = arg;
    const struct fatbin_text t = fatbin_choose(&in->arena, "fuzz", in->data + 1, in->bytes - 1, in->data[0]);
    if (t.text) DIAG_ASSERT(t.text[t.len] == '\0');
    if (t.text) DIAG_ASSERT(fatbin_has_ptx(in->data + 1, in->bytes - 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {.data = data, .bytes = bytes};
    struct diag d;
    if (!bytes) return 0;
    arena_init(&in.arena);
    diag_init(&d);
    if (diag_run(&d, body, &in) == DIAG_BUG) __builtin_trap();
    diag_clear(&d);
    arena_free(&in.arena);
    return 0;
}
