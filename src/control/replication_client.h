/* replication_client: the replication policies (policy/replication/) as an epoch client (epochs.h). The
 * client calls the policy at its cycles, performs the pass that the policy requests (struct
 * replication_pass) as a polled quiesce (quiesce.h), and switches the slices between write-back and
 * write-through. */
#ifndef ATOLL_CONTROL_REPLICATION_CLIENT_H
#define ATOLL_CONTROL_REPLICATION_CLIENT_H

struct control;
struct replication;

/* Registers the policy with the epochs of the machine. Memory comes from the arena of `c`. */
void replication_client_add(struct control *c, struct replication *p);

#endif
