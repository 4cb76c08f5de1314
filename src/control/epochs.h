/* epochs: clients that decide at cycles of their own choice while kernels run: replication policies today,
 * partitioning later.
 *
 *   kernel.c: run_engine()  ──epochs_due()──► limit of engine_run()
 *                           ──epochs_run()──► client.due() ──► next cycle of this client
 *
 * Every call of a client happens between two runs of the engine, when the cycle is complete in every
 * component. The one exception is kernel_ends(), which an SM's activation may call. Clients are called in the
 * order of registration. A client is called only while at least one kernel runs. */
#ifndef ATOLL_CONTROL_EPOCHS_H
#define ATOLL_CONTROL_EPOCHS_H

#include <stdint.h>

struct launch_facts;

#define EPOCH_NEVER UINT64_MAX
enum { EPOCH_CLIENTS_MAX = 4 };

struct epoch_client {
    void *self;
    /* Called at the cycle that the client returned last. Returns its next cycle; EPOCH_NEVER: none. */
    uint64_t (*due)(void *self, uint64_t now);
    /* A kernel starts at cycle `now` beside `others` kernels. Returns the client's next cycle. NULL: the next
     * cycle stays. */
    uint64_t (*kernel_begins)(void *self, uint64_t now, const struct launch_facts *l, uint32_t others);
    /* The last block of a kernel has ended and its stores are acknowledged; its boundary begins. NULL: no
     * action. */
    void (*kernel_ends)(void *self, uint64_t now);
    /* A kernel has left the machine. `oldest`: the facts of the oldest kernel that still runs; NULL: none.
     * Returns the client's next cycle. NULL: the next cycle stays. */
    uint64_t (*kernel_leaves)(void *self, uint64_t now, const struct launch_facts *oldest);
};

struct epochs {
    struct epoch_client clients[EPOCH_CLIENTS_MAX];
    uint64_t due_cyc[EPOCH_CLIENTS_MAX]; /* next cycle of each client */
    uint32_t count;
    uint32_t kernels; /* that run */
};

void epochs_add(struct epochs *e, const struct epoch_client *client);
/* The earliest next cycle of a client; it bounds engine_run(). EPOCH_NEVER: no kernel runs, or no client has
 * a next cycle. */
uint64_t epochs_due(const struct epochs *e);
/* Calls the clients whose next cycle is `now` or earlier. */
void epochs_run(struct epochs *e, uint64_t now);

void epochs_kernel_begins(struct epochs *e, uint64_t now, const struct launch_facts *l);
void epochs_kernel_ends(struct epochs *e, uint64_t now);
void epochs_kernel_leaves(struct epochs *e, uint64_t now, const struct launch_facts *oldest);

#endif
