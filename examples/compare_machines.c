/* compare_machines: runs workloads on two machines and prints cycles, IPC, speed-up and bottleneck.
 *
 *   cc compare_machines.c -o compare_machines $(pkg-config --cflags --libs atoll)
 *   ./compare_machines uba-mem nuba sgemm:tiny spmv:tiny
 *
 * The program uses the public interface only (atoll.h). The exit status is the worst atoll_status of all runs. */
#include <stdio.h>

#include <atoll.h>

/* Runs one workload on one machine. On failure, prints the message and returns its status. */
static atoll_status run(const char *machine, const char *workload, struct atoll_outcome *outcome)
{
    atoll_sim *sim;
    if (atoll_create(&sim)) {
        fputs("out of memory\n", stderr);
        return ATOLL_MISTAKE;
    }
    /* no_data: this program needs the figures only, not the JSON and CSV texts. */
    const struct atoll_job job = {.workload = workload, .no_data = true};
    atoll_status status = atoll_machine(sim, machine);
    if (!status) status = atoll_run(sim, &job, outcome);
    if (status) fprintf(stderr, "%s on %s: %s", workload, machine, atoll_message(sim));
    atoll_destroy(sim);
    return status;
}

/* Prints one row per machine. The speed-up compares simulated seconds, because clocks may differ. */
static atoll_status compare(const char *const machines[2], const char *workload)
{
    atoll_status worst = ATOLL_OK;
    double first_seconds = 0;
    for (int k = 0; k < 2; k++) {
        struct atoll_outcome outcome = {0};
        const atoll_status status = run(machines[k], workload, &outcome);
        if (status > worst) worst = status;
        if (status) continue;
        if (k == 0) first_seconds = outcome.seconds;
        printf("%-16s %-16s %12llu %8.2f %9.2f  %s\n", workload, machines[k],
               (unsigned long long)outcome.cycles, outcome.ipc, first_seconds / outcome.seconds,
               outcome.bound_by);
        atoll_outcome_free(&outcome);
    }
    return worst;
}

int main(int argc, char **argv)
{
    static const char *const default_workloads[] = {"vecadd:tiny", "sgemm:tiny", "spmv:tiny"};
    const char *machines[2] = {"uba-mem", "nuba"};
    const char *const *workloads = default_workloads;
    int workload_count = (int)(sizeof default_workloads / sizeof *default_workloads);
    if (argc == 2) {
        fprintf(stderr, "usage: %s [MACHINE MACHINE [WORKLOAD...]]\n", argv[0]);
        return ATOLL_MISTAKE;
    }
    if (argc > 2) {
        machines[0] = argv[1];
        machines[1] = argv[2];
    }
    if (argc > 3) {
        workloads = (const char *const *)argv + 3;
        workload_count = argc - 3;
    }

    atoll_status worst = ATOLL_OK;
    printf("%-16s %-16s %12s %8s %9s  %s\n", "workload", "machine", "cycles", "IPC", "speed-up",
           "bottleneck");
    for (int k = 0; k < workload_count; k++) {
        const atoll_status status = compare(machines, workloads[k]);
        if (status > worst) worst = status;
    }
    return (int)worst;
}
