/* block_cta (BCS): a run of runtime.cta_run consecutive blocks goes to the same SM. */
#include "policy/cta_sched/cta_sched.h"

struct run {
    uint64_t next; /* block; valid if left > 0 */
    uint32_t left;
};

struct block_cta {
    struct run *runs;        /* [SM] */
    uint64_t blocks, cursor; /* cursor: the first block of the next run */
    uint32_t run_blocks;
};

static void *create(struct arena *a, const struct config *c, uint32_t sms)
{
    struct block_cta *b = ARENA_NEW(a, struct block_cta);
    b->runs = ARENA_ARRAY(a, struct run, sms);
    b->run_blocks = c->runtime.cta_run;
    return b;
}

static void begin(void *state, const struct launch_facts *l, const struct nodes *n, uint32_t sms)
{
    struct block_cta *b = state;
    (void)n;
    b->blocks = l->blocks;
    b->cursor = 0;
    for (uint32_t sm = 0; sm < sms; sm++) b->runs[sm].left = 0;
}

static uint64_t next(void *state, uint32_t sm)
{
    struct block_cta *b = state;
    struct run *r = &b->runs[sm];
    if (!r->left || r->next >= b->blocks) {
        if (b->cursor >= b->blocks) return CTA_NONE;
        *r = (struct run){.next = b->cursor, .left = b->run_blocks};
        b->cursor += b->run_blocks;
    }
    r->left--;
    return r->next++;
}

const struct cta_ops cta_block_cta = {.create = create, .begin = begin, .next = next};
