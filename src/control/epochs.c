/* epochs: implementation of epochs.h, a list of clients with their next cycles. */
#include "control/epochs.h"

#include "base/diag.h"

void epochs_add(struct epochs *e, const struct epoch_client *client)
{
    DIAG_ASSERT(e->count < EPOCH_CLIENTS_MAX && client->due);
    e->clients[e->count] = *client;
    e->due_cyc[e->count++] = EPOCH_NEVER;
}

uint64_t epochs_due(const struct epochs *e)
{
    uint64_t first_cyc = EPOCH_NEVER;
    for (uint32_t k = 0; e->kernels && k < e->count; k++)
        if (e->due_cyc[k] < first_cyc) first_cyc = e->due_cyc[k];
    return first_cyc;
}

void epochs_run(struct epochs *e, uint64_t now)
{
    for (uint32_t k = 0; k < e->count; k++)
        if (e->due_cyc[k] <= now) e->due_cyc[k] = e->clients[k].due(e->clients[k].self, now);
}

void epochs_kernel_begins(struct epochs *e, uint64_t now, const struct launch_facts *l)
{
    for (uint32_t k = 0; k < e->count; k++) {
        const struct epoch_client *c = &e->clients[k];
        if (c->kernel_begins) e->due_cyc[k] = c->kernel_begins(c->self, now, l, e->kernels);
    }
    e->kernels++;
}

void epochs_kernel_ends(struct epochs *e, uint64_t now)
{
    for (uint32_t k = 0; k < e->count; k++)
        if (e->clients[k].kernel_ends) e->clients[k].kernel_ends(e->clients[k].self, now);
}

void epochs_kernel_leaves(struct epochs *e, uint64_t now, const struct launch_facts *oldest)
{
    DIAG_ASSERT(e->kernels);
    e->kernels--;
    for (uint32_t k = 0; k < e->count; k++) {
        const struct epoch_client *c = &e->clients[k];
        if (c->kernel_leaves) e->due_cyc[k] = c->kernel_leaves(c->self, now, oldest);
    }
}
