/* model: one part alone, so that a user can validate first what they trust least. */
#include "api/sim.h"
#include "dram/dram_job.h"
#include "net/net_job.h"
#include "system/rules.h"

struct model_call {
    atoll_sim *sim;
    const void *job;
    char **report, **json;
};

/* The result as data, when it was asked for. Takes the reference. */
static void hand_over(const struct model_call *call, json_t *json)
{
    struct api_text text;
    if (call->json) {
        api_text_begin(&text);
        (void)json_dumpf(json, text.file, JSON_INDENT(2));
        (void)fputc('\n', text.file);
        *call->json = api_text_end(&text);
    }
    json_decref(json);
}

static void run_dram(void *arg)
{
    const struct model_call *call = arg;
    machine_finish(&call->sim->machine, &system_rules);
    const struct atoll_model_dram *job = call->job;
    struct api_text text;
    api_text_begin(&text);
    json_t *json = dram_job_run(&call->sim->machine,
                                &(struct dram_job){.stream = job->stream,
                                                   .load = job->load,
                                                   .outstanding = job->outstanding,
                                                   .command_log = job->command_log},
                                text.file);
    *call->report = api_text_end(&text);
    hand_over(call, json);
}

atoll_status atoll_run_model_dram(atoll_sim *sim, const struct atoll_model_dram *job, char **report,
                                  char **json)
{
    return api_run(sim, run_dram, &(struct model_call){sim, job, report, json});
}

static void run_net(void *arg)
{
    const struct model_call *call = arg;
    machine_finish(&call->sim->machine, &system_rules);
    const struct atoll_model_net *job = call->job;
    struct api_text text;
    api_text_begin(&text);
    json_t *json = net_job_run(&call->sim->machine,
                               &(struct net_job){.traffic = job->traffic,
                                                 .packet_bytes = job->packet_bytes,
                                                 .rate = job->rate,
                                                 .seed = job->seed,
                                                 .level = job->level,
                                                 .ports = job->ports,
                                                 .replies = job->replies,
                                                 .outstanding = job->outstanding,
                                                 .reply_bytes = job->reply_bytes,
                                                 .cycles = job->cycles},
                               text.file);
    *call->report = api_text_end(&text);
    hand_over(call, json);
}

atoll_status atoll_run_model_net(atoll_sim *sim, const struct atoll_model_net *job, char **report,
                                 char **json)
{
    return api_run(sim, run_net, &(struct model_call){sim, job, report, json});
}
