/* lab: local and balanced (NUBA, section 4). While pages are spread evenly enough over the colours, a page
 * goes to the partition whose SM touches it first. Else it goes to a colour with the fewest pages.
 *
 * The balance is computed before the page is placed. Without pages the balance is 1: the first page goes to
 * its toucher, ASSUMPTION. With n channels and m pages in each, one more page makes the balance 1 - (n - 1) /
 * (n (m + 1)). Until there are about 9 pages per channel, locality comes from ties only; hence
 * runtime.lab_tie. */
#include "policy/placement/placement.h"

struct lab {
    uint64_t *pages; /* [colour] placed so far */
    double threshold;
    bool rotates;  /* ties rotate even if the toucher's colour is among them */
    uint32_t next; /* index among the owned colours at which the search for the fewest begins */
};

double placement_balance(const uint64_t *pages, const struct colours *owned)
{
    uint64_t sum = 0, max = 0;
    for (uint32_t k = 0; k < owned->count; k++) {
        const uint64_t here = pages[owned->colour[k]];
        sum += here;
        if (here > max) max = here;
    }
    return max ? (double)sum / ((double)max * owned->count) : 1;
}

/* Index of a colour with the fewest pages. */
static uint32_t fewest(struct lab *s, const struct colours *owned, uint32_t near)
{
    uint32_t chosen = s->next % owned->count;
    for (uint32_t k = 1; k < owned->count; k++) {
        const uint32_t other = (s->next + k) % owned->count;
        if (s->pages[owned->colour[other]] < s->pages[owned->colour[chosen]]) chosen = other;
    }
    if (!s->rotates && s->pages[owned->colour[near]] == s->pages[owned->colour[chosen]]) return near;
    s->next = (chosen + 1) % owned->count;
    return chosen;
}

static uint32_t place(void *state, const struct placement_question *q)
{
    struct lab *s = state;
    const uint32_t near = placement_near(q);
    const bool local = placement_balance(s->pages, q->owned) > s->threshold;
    const uint32_t colour = q->owned->colour[local ? near : fewest(s, q->owned, near)];
    s->pages[colour]++;
    return colour;
}

static void begin(void *state, struct arena *a, const struct config *c, uint32_t colours)
{
    *(struct lab *)state = (struct lab){.pages = ARENA_ARRAY(a, uint64_t, colours),
                                        .threshold = c->runtime.lab_threshold,
                                        .rotates = c->runtime.lab_tie == lab_tie_rotate};
}

extern const struct placement_ops placement_lab;
const struct placement_ops placement_lab = {
    .level = NODE_PARTITION, .state_bytes = sizeof(struct lab), .begin = begin, .place = place};
