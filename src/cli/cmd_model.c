/* atoll model: the DRAM channel or a network alone, under a stream or synthetic traffic. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct model_args {
    const char *machine, *json, *stream, *load, *outstanding, *command_log, *traffic, *packet_bytes, *rate,
        *seed, *level, *ports, *reply_bytes, *cycles;
    bool replies;
    struct cli_list set, rest;
};

/* Options of the other part would change nothing: the user means something that will not happen. */
static int refuse_foreign(const struct model_args *a, const char *part)
{
    const struct {
        const char *option, *part;
        bool given;
    } rows[] = {
        {"stream", "dram", a->stream},
        {"load", "dram", a->load},
        {"command-log", "dram", a->command_log},
        {"traffic", "net", a->traffic},
        {"packet-bytes", "net", a->packet_bytes},
        {"rate", "net", a->rate},
        {"seed", "net", a->seed},
        {"level", "net", a->level},
        {"ports", "net", a->ports},
        {"replies", "net", a->replies},
        {"reply-bytes", "net", a->reply_bytes},
        {"cycles", "net", a->cycles},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && strcmp(rows[i].part, part) != 0)
            return cli_mistake("--%s is an option of 'atoll model %s', not of 'atoll model %s': leave it out",
                               rows[i].option, rows[i].part, part);
    return 0;
}

/* A number option; false after printing what was wrong. */
static bool number(const char *option, const char *text, double fallback, double min, double max,
                   double *value)
{
    char *end;
    *value = fallback;
    if (!text) return true;
    errno = 0;
    *value = strtod(text, &end);
    if (end != text && !*end && !errno && *value >= min && *value <= max) return true;
    (void)cli_mistake("--%s '%s' is not a number from %g to %g", option, text, min, max);
    return false;
}

static int run_part(const struct model_args *args, atoll_sim *sim, char **report, char **json)
{
    double outstanding, reply_bytes, cycles, rate, seed;
    if (!number("outstanding", args->outstanding, 0, 1, 1e9, &outstanding) ||
        !number("reply-bytes", args->reply_bytes, 0, 1, 1e6, &reply_bytes) ||
        !number("cycles", args->cycles, 0, 1, 1e12, &cycles) ||
        !number("rate", args->rate, 0.1, 0, 1, &rate) || !number("seed", args->seed, 1, 0, 9e15, &seed))
        return ATOLL_MISTAKE;
    atoll_status status;
    if (strcmp(args->rest.items[0], "dram") == 0) {
        if (!args->stream)
            return cli_mistake("'atoll model dram' needs --stream FILE or --stream builtin:NAME");
        status = atoll_run_model_dram(sim,
                                      &(struct atoll_model_dram){.stream = args->stream,
                                                                 .load = args->load ? args->load : "sat",
                                                                 .outstanding = (uint64_t)outstanding,
                                                                 .command_log = args->command_log},
                                      report, json);
    } else {
        status = atoll_run_model_net(
            sim,
            &(struct atoll_model_net){.traffic = args->traffic ? args->traffic : "uniform",
                                      .packet_bytes = args->packet_bytes ? args->packet_bytes : "136",
                                      .rate = rate,
                                      .seed = (uint64_t)seed,
                                      .level = args->level,
                                      .ports = args->ports,
                                      .replies = args->replies,
                                      .outstanding = (uint64_t)outstanding,
                                      .reply_bytes = (uint64_t)reply_bytes,
                                      .cycles = (uint64_t)cycles},
            report, json);
    }
    return status ? cli_fail(sim, status) : 0;
}

static int run(const void *arg)
{
    const struct model_args *args = arg;
    if (args->rest.count != 1 ||
        (strcmp(args->rest.items[0], "dram") != 0 && strcmp(args->rest.items[0], "net") != 0))
        return cli_mistake("'atoll model' takes one part: dram or net");
    int code = refuse_foreign(args, args->rest.items[0]);
    if (code) return code;
    atoll_sim *sim = cli_sim(args->machine, &args->set, &code);
    if (!sim) return code;
    char *report = NULL, *json = NULL;
    code = run_part(args, sim, &report, &json);
    if (!code && !(args->json && strcmp(args->json, "-") == 0)) (void)fputs(report, stdout);
    if (!code && args->json) code = cli_write_file(args->json, json);
    free(report);
    free(json);
    atoll_destroy(sim);
    return code;
}

static const struct cli_option options[] = {
    CLI_OPTION_MACHINE(struct model_args),
    CLI_OPTION_SET(struct model_args),
    CLI_OPTION_JSON(struct model_args),
    {"stream", 0, CLI_TEXT, offsetof(struct model_args, stream), "FILE|builtin:NAME[:N]",
     "dram: lines 'OP RANK BG BANK ROW COL' (.gz too), or a built-in pattern such as s3_rand_rd"},
    {"load", 0, CLI_TEXT, offsetof(struct model_args, load), "sat|low|iREAL",
     "dram: as fast as accepted, one per 50 cycles, one per REAL cycles"},
    {"outstanding", 0, CLI_TEXT, offsetof(struct model_args, outstanding), "N",
     "at most N requests in flight; net: per source, closed loop"},
    {"command-log", 0, CLI_TEXT, offsetof(struct model_args, command_log), "FILE",
     "dram: write every command with its cycle"},
    {"traffic", 0, CLI_TEXT, offsetof(struct model_args, traffic), "uniform|hotspot|permutation",
     "net: who sends to whom"},
    {"packet-bytes", 0, CLI_TEXT, offsetof(struct model_args, packet_bytes), "B[,B]...",
     "net: size of a packet, or sizes that are equally likely (136)"},
    {"rate", 0, CLI_TEXT, offsetof(struct model_args, rate), "R",
     "net: offered load per source, fraction of its port (0.1)"},
    {"seed", 0, CLI_TEXT, offsetof(struct model_args, seed), "S", "net: seed of the traffic (1)"},
    {"level", 0, CLI_TEXT, offsetof(struct model_args, level), "net|slice_net|chiplet_net|gpu_net",
     "net: which network of the machine (net)"},
    {"ports", 0, CLI_TEXT, offsetof(struct model_args, ports), "N|NxM",
     "net: sources x sinks instead of what the machine has"},
    {"replies", 0, CLI_FLAG, offsetof(struct model_args, replies), NULL,
     "net: the reply network instead of the request network"},
    {"reply-bytes", 0, CLI_TEXT, offsetof(struct model_args, reply_bytes), "B",
     "net: with --outstanding, size of a reply (136)"},
    {"cycles", 0, CLI_TEXT, offsetof(struct model_args, cycles), "N",
     "net: cycles to measure after the warm-up (10000)"},
    {0},
};

const struct cli_command cli_model = {
    .name = "model",
    .summary = "run one part alone: the DRAM channel or a network",
    .usage = "dram|net -m MACHINE [-s section.key=value]... [options] [--json F]",
    .examples = "  atoll model dram -m uba-mem --stream builtin:s3_rand_rd --load sat\n"
                "  atoll model net -m uba-mem --traffic uniform --packet-bytes 136 --rate 0.5\n",
    .options = options,
    .args_bytes = sizeof(struct model_args),
    .rest_offset = offsetof(struct model_args, rest),
    .run = run,
};
