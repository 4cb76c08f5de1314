/* accesses: see accesses.h. */
#include "policy/replication/accesses.h"

void accesses_flush(struct accesses *q)
{
    for (uint32_t k = 0; k < q->count; k++) q->on_access(q->self, &q->items[k], q->cyc);
    q->count = 0;
}

void accesses_put(struct accesses *q, const struct access *a, uint64_t cyc)
{
    if (cyc != q->cyc || q->count == ACCESSES_MAX) accesses_flush(q);
    q->cyc = cyc;
    uint32_t k = q->count++;
    for (; k && q->items[k - 1].slice > a->slice; k--) q->items[k] = q->items[k - 1];
    q->items[k] = *a;
}
