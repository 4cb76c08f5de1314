/* Any bytes as a stream: a mistake or a stream that fits the channel, which then runs to its end. */
#include "base/diag.h"
#include "config/config.h"
#include "dram/dram_model.h"

struct input {
    struct arena arena;
    const char *bytes;
    size_t len;
};

static void body(void *arg)
{
    struct input *in = arg;
    struct config c;
    config_defaults(&c);
    const struct dram_spec spec = dram_spec_of(&c);
    const struct dram_stream s = dram_stream_parse(&in->arena, "fuzz", in->bytes, in->len, &spec);
    const struct dram_result r = dram_model_run(&spec, &s, (struct dram_load){0}, 64, NULL, NULL);
    DIAG_ASSERT(r.reads + r.writes == s.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.bytes = (const char *)data, .len = size};
    struct diag d;
    arena_init(&in.arena);
    diag_init(&d);
    if (diag_run(&d, body, &in) == DIAG_BUG) __builtin_trap();
    diag_clear(&d);
    arena_free(&in.arena);
    return 0;
}
