/* net_job: `atoll model net` as one call: traffic by name, table and JSON out. */
#ifndef ATOLL_NET_NET_JOB_H
#define ATOLL_NET_NET_JOB_H

#include "config/machine.h"
#include "net/net_level.h"
#include "net/net_model.h"

struct net_job {
    const char *traffic;      /* uniform, hotspot, permutation */
    const char *packet_bytes; /* "136", or several sizes "8,136", each as likely */
    double rate;              /* flits per cycle and source */
    uint64_t seed;
    const char *level;    /* net, slice_net, chiplet_net, gpu_net; NULL = net */
    const char *ports;    /* "64" or "80x64" instead of what the machine has; NULL = as it has */
    bool replies;         /* the reply network instead of the request network */
    uint64_t outstanding; /* > 0: closed loop */
    uint64_t reply_bytes; /* closed loop: size of the replies */
    uint64_t cycles;      /* measured */
};

/* The machine must be finished. Prints the table to report and returns the JSON (a new reference). Raises
 * mistakes. */
json_t *net_job_run(const struct machine *m, const struct net_job *job, FILE *report);

#endif
