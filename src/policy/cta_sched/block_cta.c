/* block_cta (BCS): a run of consecutive blocks goes to the same SM. */
#include "policy/cta_sched/cta_sched.h"

uint64_t cta_block_cta(struct cta_sched *s, uint32_t sm)
{
    if (s->left_in_run[sm] && s->from[sm] < s->blocks) {
        s->left_in_run[sm]--;
        s->given++;
        return s->from[sm]++;
    }
    if (s->cursor >= s->blocks) return CTA_NONE;
    const uint64_t block = s->cursor;
    s->cursor += s->run;
    s->from[sm] = block + 1;
    s->left_in_run[sm] = s->run - 1;
    s->given++;
    return block;
}
