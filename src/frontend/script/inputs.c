/* inputs: inputs of random numbers, and the same numbers once more for checks.
 *
 *   input_f32() ── when a part is touched ──► numbers ──► the device's copy, and a sum for each block of it
 *   many_f32()  ◄── the device's copy of a block, if its sum is still that; else the numbers are made again
 *
 * A sum changes with every word that changes alone, and with others but for an accident of 1 in 2^32 or
 * less, so that a check does not take what a kernel has written for its input. */
#include "frontend/script/numbers.h"
#include "frontend/script/script_private.h"

#include <string.h>

enum { BLOCK = WL_CHECK_BLOCK };
_Static_assert(RT_LAZY_CHUNK_BYTES % (BLOCK * sizeof(float)) == 0, "parts are filled in whole blocks");

struct script_input {
    struct wl_numbers numbers;
    const float *device;
    uint64_t count;
    uint64_t *sums; /* by block; 0: not known */
    struct script_input *next;
};

static uint64_t block_length(const struct script_input *in, uint64_t first)
{
    return in->count - first < BLOCK ? in->count - first : BLOCK;
}

static void fill(void *arg, void *to, uint64_t first_bytes, uint64_t bytes)
{
    const struct script_input *in = arg;
    const uint64_t from = first_bytes / sizeof(float), end = from + bytes / sizeof(float);
    for (uint64_t first = from; first < end; first += BLOCK) {
        float *const made = (float *)to + (first - from);
        const uint64_t length = block_length(in, first);
        numbers_f32(&in->numbers, first, length, made);
        in->sums[first / BLOCK] = numbers_sum(made, length); /* now, while it is in the host's cache */
    }
}

void *input_f32(struct wl *w, const char *name, uint64_t count, uint64_t seed, float low, float high)
{
    struct script_app *app = script_app_of(w);
    struct script_input *in = ARENA_NEW(&app->scratch, struct script_input);
    *in = (struct script_input){.numbers = {seed, low, high}, .count = count, .next = app->inputs};
    in->sums = ARENA_ARRAY(&app->scratch, uint64_t, count / BLOCK + 1);
    in->device = w->calls->input(w, name, count * sizeof(float), fill, in);
    app->inputs = in;
    return (void *)(uintptr_t)in->device;
}

static const struct script_input *input_of(struct wl *w, const struct wl_numbers *n)
{
    for (const struct script_input *in = script_app_of(w)->inputs; in; in = in->next)
        if (in->numbers.seed == n->seed && in->numbers.low == n->low && in->numbers.high == n->high)
            return in;
    return NULL;
}

/* Is a block of the device's copy as it was made? */
static bool is_intact(const struct script_input *in, uint64_t first, uint64_t count)
{
    const uint64_t sum = in->sums[first / BLOCK];
    return sum && count == block_length(in, first) && numbers_sum(in->device + first, count) == sum;
}

void many_f32(struct wl *w, const struct wl_numbers *n, uint64_t first, uint64_t count, float *to)
{
    const struct script_input *in = input_of(w, n);
    if (!in || first % BLOCK || first + count > in->count) {
        numbers_f32(n, first, count, to);
        return;
    }
    for (uint64_t done = 0; done < count; done += BLOCK) {
        const uint64_t some = count - done < BLOCK ? count - done : BLOCK;
        if (is_intact(in, first + done, some))
            memcpy(to + done, in->device + first + done, some * sizeof(float));
        else
            numbers_f32(n, first + done, some, to + done);
    }
}
