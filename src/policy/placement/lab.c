/* lab: local and balanced (NUBA, section 4): a page goes where it is first used while pages are spread evenly
 * enough over the channels, else to a channel that has the fewest.
 *
 * Balance is judged before the page is placed. The first page finds none to judge: it goes where it is used,
 * ASSUMPTION. With n channels and m pages in each, one more page makes the balance 1 - (n - 1) / (n (m + 1)):
 * until there are about 9 pages per channel locality comes from ties only, hence runtime.lab_tie. */
#include "policy/placement/placement.h"

double placement_balance(const uint64_t *pages, uint32_t colours)
{
    uint64_t sum = 0, most = 0;
    for (uint32_t k = 0; k < colours; k++) {
        sum += pages[k];
        if (pages[k] > most) most = pages[k];
    }
    return most ? (double)sum / ((double)most * colours) : 1;
}

static uint32_t fewest(struct placement *p, uint32_t near)
{
    uint32_t chosen = p->next;
    for (uint32_t k = 1; k < p->colours; k++) {
        const uint32_t other = (p->next + k) % p->colours;
        if (p->pages[other] < p->pages[chosen]) chosen = other;
    }
    if (!p->rotates && p->pages[near] == p->pages[chosen]) return near;
    p->next = (chosen + 1) % p->colours;
    return chosen;
}

uint32_t placement_lab(struct placement *p, const struct placement_question *q)
{
    const uint32_t near = placement_first_touch(p, q);
    const uint32_t chosen = placement_balance(p->pages, p->colours) > p->threshold ? near : fewest(p, near);
    p->pages[chosen]++;
    return chosen;
}
