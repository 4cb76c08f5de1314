/* epochs: calls clients that decide at cycles of their own choice while kernels run. The client today is
 * replication_client.c.
 *
 *   system/kernel.c: run_engine()  ──epochs_due()──► limit of engine_run()
 *                                  ──epochs_run()──► client.due() ──► next cycle of this client
 *
 * Invariants:
 *  1. A client is called between two runs of the engine, when the cycle is complete in every component.
 *     Exception: the wake-up of an SM may call kernel_ends().
 *  2. Clients are called in the order of registration.
 *  3. due() is called only while at least one kernel runs. */
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
    /* Called when a kernel starts at cycle `now` beside `others` kernels. Returns the client's next cycle.
     * NULL pointer: the next cycle stays. */
    uint64_t (*kernel_begins)(void *self, uint64_t now, const struct launch_facts *l, uint32_t others);
    /* Called when the boundary of a kernel begins: its last block has ended and its stores are
     * acknowledged. NULL pointer: no action. */
    void (*kernel_ends)(void *self, uint64_t now);
    /* Called when a kernel has left the machine. `oldest`: facts of the oldest running kernel; NULL: none.
     * Returns the client's next cycle. NULL pointer: the next cycle stays. */
    uint64_t (*kernel_leaves)(void *self, uint64_t now, const struct launch_facts *oldest);
};

struct epochs {
    struct epoch_client clients[EPOCH_CLIENTS_MAX];
    uint64_t due_cyc[EPOCH_CLIENTS_MAX]; /* next cycle of each client */
    uint32_t count;
    uint32_t kernels; /* running kernels */
};

void epochs_add(struct epochs *e, const struct epoch_client *client);
/* Earliest next cycle of all clients: the limit of engine_run(). EPOCH_NEVER: no kernel runs, or no client
 * has a next cycle. */
uint64_t epochs_due(const struct epochs *e);
/* Calls the clients whose next cycle is `now` or earlier. */
void epochs_run(struct epochs *e, uint64_t now);

void epochs_kernel_begins(struct epochs *e, uint64_t now, const struct launch_facts *l);
void epochs_kernel_ends(struct epochs *e, uint64_t now);
void epochs_kernel_leaves(struct epochs *e, uint64_t now, const struct launch_facts *oldest);

#endif
