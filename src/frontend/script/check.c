/* check: outputs against their references: every word when that is cheap, else a sample that depends on
 * nothing but the output's length. */
#include "frontend/script/numbers.h"
#include "frontend/script/script_private.h"

#include <math.h>

enum { SAMPLE_LEAST = 64, SAMPLE_SEED = 0x5eed };

/* The k-th word to check of 'samples': both ends first, then by hash. */
static uint64_t sample_at(uint64_t k, uint64_t samples, uint64_t count)
{
    if (samples == count) return k;
    const uint64_t ends = SAMPLE_LEAST / 4;
    if (k < ends) return k;
    if (k < 2 * ends) return count - 1 - (k - ends);
    return wl_below(SAMPLE_SEED, k, count);
}

static uint64_t sample_count(const struct wl_check *check)
{
    uint64_t samples = WL_CHECK_BUDGET / (check->cost ? check->cost : 1);
    if (samples < SAMPLE_LEAST) samples = SAMPLE_LEAST;
    return samples < check->count ? samples : check->count;
}

/* Word i against its reference. */
static inline void check_float(const struct script_app *app, const struct wl_check *check,
                               const float *output, uint64_t i)
{
    const double want = check->reference(check->arg, i), got = (double)output[i];
    if (got == want || fabs(got - want) <= check->absolute + check->relative * fabs(want)) return;
    diag_check_failed("%s: %s[%llu] is %.9g, expected %.9g (allowed: %g + %g relative)", app->label,
                      check->name, (unsigned long long)i, got, want, check->absolute, check->relative);
}

/* All words, a block at a time: word by word where a block differs, and the last one of each, so that both
 * references are known to agree. */
static void check_blocks(struct wl *w, const struct wl_check *check, const float *output)
{
    const struct script_app *app = script_app_of(w);
    float want[WL_CHECK_BLOCK];
    for (uint64_t first = 0; first < check->count; first += WL_CHECK_BLOCK) {
        const uint64_t left = check->count - first, count = left < WL_CHECK_BLOCK ? left : WL_CHECK_BLOCK;
        check->references(w, check->arg, first, count, want);
        uint64_t from = numbers_same(output + first, want, count) ? count - 1 : 0;
        for (; from < count; from++) check_float(app, check, output, first + from);
    }
}

void check_f32(struct wl *w, const struct wl_check *check)
{
    struct script_app *app = script_app_of(w);
    const uint64_t checked_before = app->words_checked;
    const float *output = wl_output(w, check->name, check->output, check->count * sizeof(float));
    const uint64_t samples = sample_count(check);
    if (check->references && samples == check->count)
        check_blocks(w, check, output);
    else
        for (uint64_t k = 0; k < samples; k++)
            check_float(app, check, output, sample_at(k, samples, check->count));
    app->words_checked = checked_before + samples;
}

void check_u32(struct wl *w, const struct wl_check *check)
{
    struct script_app *app = script_app_of(w);
    const uint64_t checked_before = app->words_checked;
    const uint32_t *output = wl_output(w, check->name, check->output, check->count * sizeof(uint32_t));
    const uint64_t samples = sample_count(check);
    for (uint64_t k = 0; k < samples; k++) {
        const uint64_t i = sample_at(k, samples, check->count);
        const uint32_t want = (uint32_t)(int64_t)check->reference(check->arg, i);
        if (output[i] == want) continue;
        diag_check_failed("%s: %s[%llu] is %u (0x%x), expected %u (0x%x)", app->label, check->name,
                          (unsigned long long)i, output[i], output[i], want, want);
    }
    app->words_checked = checked_before + samples;
}
