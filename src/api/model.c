/* model: one part alone, so that a user can validate first what they trust least. */
#include "api/sim.h"

struct model_call {
    atoll_sim *sim;
    const void *job;
    char **report, **json;
};

static void run_dram(void *arg)
{
    const struct model_call *call = arg;
    machine_finish(&call->sim->machine);
    diag_mistake("the DRAM channel is not part of version %s yet", ATOLL_VERSION);
}

atoll_status atoll_run_model_dram(atoll_sim *sim, const struct atoll_model_dram *job, char **report,
                                  char **json)
{
    return api_run(sim, run_dram, &(struct model_call){sim, job, report, json});
}

static void run_net(void *arg)
{
    const struct model_call *call = arg;
    machine_finish(&call->sim->machine);
    diag_mistake("the networks are not part of version %s yet", ATOLL_VERSION);
}

atoll_status atoll_run_model_net(atoll_sim *sim, const struct atoll_model_net *job, char **report,
                                 char **json)
{
    return api_run(sim, run_net, &(struct model_call){sim, job, report, json});
}
