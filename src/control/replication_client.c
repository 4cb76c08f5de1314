/* replication_client: implementation of replication_client.h. */
#include "control/replication_client.h"

#include "control/control.h"
#include "exec/launch_facts.h"
#include "llc/llc.h"
#include "policy/replication/replication.h"

struct client {
    struct control *control;
    struct replication *policy;
    struct quiesce quiesce;
    uint64_t due_cyc;   /* next cycle of the policy */
    bool write_through; /* mode of the slices */
};

/* The pass writes back all dirty lines. If a kernel ends during the pass, organisation_skip_pass() sets
 * memory_stale again: that kernel may leave dirty lines in slices that have completed the pass. */
static void on_pass(void *self)
{
    const struct client *k = self;
    k->policy->organisation->memory_stale = false;
}

static void on_done(void *self)
{
    const struct client *k = self;
    k->policy->pass.state = REPLICATION_PASS_DONE;
}

static void follow_pass(struct client *k)
{
    const struct replication_pass *pass = &k->policy->pass;
    if (k->quiesce.state == QUIESCE_DONE && pass->state != REPLICATION_PASS_DONE) quiesce_end(&k->quiesce);
    if (pass->state != REPLICATION_PASS_NEEDED || k->quiesce.state != QUIESCE_IDLE) return;
    k->quiesce.app = pass->stops_sms ? QUIESCE_ALL : QUIESCE_NONE;
    k->quiesce.pass = pass->how;
    quiesce_begin(&k->quiesce);
}

static void follow_mode(struct client *k)
{
    const struct control_wiring *w = &k->control->wire;
    const bool on = k->policy->organisation->state[0].is_private;
    if (k->write_through == on) return;
    k->write_through = on;
    for (uint32_t s = 0; s < w->slice_count; s++) slice_set_write_through(w->slices[s], on);
}

static uint64_t due(void *self, uint64_t now)
{
    struct client *k = self;
    struct replication *p = k->policy;
    if (p->pass.state == REPLICATION_PASS_NEEDED && now >= p->change_cyc) quiesce_poll(&k->quiesce);
    k->due_cyc = p->due ? p->due(p, now) : EPOCH_NEVER;
    follow_mode(k);
    follow_pass(k);
    return k->due_cyc;
}

/* A launch beside another kernel has no effect: the policy's epoch continues. */
static uint64_t kernel_begins(void *self, uint64_t now, const struct launch_facts *l, uint32_t others)
{
    struct client *k = self;
    if (others) return k->due_cyc;
    replication_begin(k->policy, now, l->key);
    return due(k, now);
}

static void kernel_ends(void *self, uint64_t now)
{
    const struct client *k = self;
    replication_boundary(k->policy, now);
}

/* If the policy has an epoch per kernel, the epoch has ended with the kernel. The oldest running kernel
 * then starts a new epoch. */
static uint64_t kernel_leaves(void *self, uint64_t now, const struct launch_facts *oldest)
{
    struct client *k = self;
    if (!oldest) {
        replication_sync_stats(k->policy, now);
        return k->due_cyc;
    }
    if (!k->policy->kernel_begins) return k->due_cyc;
    replication_begin(k->policy, now, oldest->key);
    return due(k, now);
}

void replication_client_add(struct control *c, struct replication *p)
{
    struct client *k = ARENA_NEW(c->arena, struct client);
    *k = (struct client){.control = c,
                         .policy = p,
                         .quiesce = {.self = k,
                                     .polled = true,
                                     .rank = QUIESCE_RANK_LAST,
                                     .on_pass = on_pass,
                                     .on_done = on_done},
                         .due_cyc = EPOCH_NEVER,
                         .write_through = p->organisation->state[0].is_private};
    quiesce_init(&k->quiesce, c);
    epochs_add(&c->epochs, &(struct epoch_client){.self = k,
                                                  .due = due,
                                                  .kernel_begins = kernel_begins,
                                                  .kernel_ends = kernel_ends,
                                                  .kernel_leaves = kernel_leaves});
}
