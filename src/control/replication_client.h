/* replication_client: the replication policies (policy/replication/) as an epoch client. The client calls the
 * policy at its cycles, carries out the pass that the policy asks for (struct replication_pass) as a polled
 * quiesce, and switches the slices between write-back and write-through. */
#ifndef ATOLL_CONTROL_REPLICATION_CLIENT_H
#define ATOLL_CONTROL_REPLICATION_CLIENT_H

struct control;
struct replication;

/* Registers the policy with the epochs of the machine. The memory is the arena's of `c`. */
void replication_client_add(struct control *c, struct replication *p);

#endif
