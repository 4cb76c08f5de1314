/* plan: partitions that the user lists (partition.plan), one per epoch. For measurements of single splits and
 * for tests of changes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "policy/partition/partition.h"

static void mistake(const struct partition_spec *s, const char *why)
{
    diag_mistake("partition.plan is '%s': %s; it needs SMs/channels for each of %u applications, such as "
                 "40/16,40/16;60/8,20/24, of %u SMs and %u channels in units of %u",
                 s->plan, why, s->apps, s->sms, s->indices * s->channels_per_index, s->channels_per_index);
}

static uint32_t number(const struct partition_spec *s, const char **at, char end_char)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(*at, &end, 10);
    if (end == *at || errno || value > UINT16_MAX || (end_char ? *end != end_char : *end && *end != ';'))
        mistake(s, "it cannot be read");
    *at = *end ? end + 1 : end;
    return (uint32_t)value;
}

/* Reads partition number `epoch` of the plan, or the last one. */
static void read(const struct partition_spec *s, uint64_t epoch, struct partition *p)
{
    const char *at = s->plan;
    for (uint64_t k = 0; k <= epoch; k++) {
        const char *const from = at;
        uint32_t sms = 0, indices = 0;
        if (!*from) {
            if (!k) mistake(s, "it is empty");
            return; /* the last one stays */
        }
        for (uint32_t app = 0; app < s->apps; app++) {
            struct partition_share *share = &p->of[app];
            share->sms = number(s, &at, '/');
            const uint32_t channels = number(s, &at, app + 1 < s->apps ? ',' : 0);
            if (!share->sms || !channels || channels % s->channels_per_index)
                mistake(s, "a share is not a whole number of SMs and channel indices");
            share->indices = channels / s->channels_per_index;
            sms += share->sms;
            indices += share->indices;
        }
        if (sms > s->sms || indices > s->indices) mistake(s, "a partition exceeds the machine");
    }
}

static void first(void *state, const struct partition_spec *s, const struct partition_profile *alone,
                  struct partition *p)
{
    (void)state;
    (void)alone;
    read(s, UINT16_MAX, p); /* finds mistakes in the whole plan */
    read(s, 0, p);
}

static void decide(void *state, const struct partition_question *q, struct partition_answer *a)
{
    (void)state;
    a->next = q->now;
    read(q->spec, q->epoch + 1, &a->next);
}

extern const struct partition_ops partition_plan;
const struct partition_ops partition_plan = {.first = first, .decide = decide};
