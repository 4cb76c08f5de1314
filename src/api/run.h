/* run: what the files of api/ share that run something and write its result: a workload or one kernel
 * (run.c), a program of the client's (device.c, launches.c). */
#ifndef ATOLL_API_RUN_H
#define ATOLL_API_RUN_H

#include "api/sim.h"
#include "api/timed.h"
#include "runtime/runtime.h"

struct launch_list;

struct run_call {
    atoll_sim *sim;
    const struct atoll_job *job;
    struct atoll_outcome *out;
    struct script_set *set;             /* a workload, or */
    struct rt_context *rt;              /* one kernel by hand, or */
    const struct launch_list *launches; /* a program's, with rt */
    double start_seconds, start_cpu_seconds, shown_seconds;
    struct rt_totals totals;
    bool stopped;                 /* in the middle of a kernel */
    const char *stopped_by;       /* NULL: max_instructions, */
    char *stopped_where;          /* with the warps here */
    const char *error;            /* of a kernel that failed, or NULL */
    struct timed *timed;          /* NULL: functional */
    struct together *together;    /* several applications, timed; or NULL */
    struct page_profile *profile; /* of the first pass; NULL: the machine needs none */
};

double run_wall_seconds(void);
double run_cpu_seconds(void); /* user and system time of this process */
enum rt_isa run_isa(enum isa choice);
/* Fills call->out from what the run left. */
void run_write_texts(struct run_call *call);

/* ---- first_pass.c ---- */

/* Executes the workload once without time and keeps in call->profile how the measured part uses its pages. No effect
 * if no policy of the machine needs the profile. */
void run_first_pass(struct run_call *call, const struct rt_options *options);

/* Raises a user error if a policy of the machine needs a first pass: for programs that run only once. */
void run_refuse_first_pass(const struct config *c);

/* ---- launches.c: every launch of a program, for functional reports and the JSON of both kinds ---- */

struct launch_row {
    char *name;
    uint32_t grid[3], block[3];
    uint64_t shared_bytes, warp_instructions, thread_instructions;
    double seconds;
    uint64_t number; /* 0: its place in the list */
    bool timed, ended;
};
struct launch_list {
    struct launch_row *rows;
    size_t count, capacity;
};
size_t launches_add(struct launch_list *list, const struct launch_row *row); /* the name is copied */
void launches_free(struct launch_list *list);
void run_write_launches(const struct run_call *call, FILE *out);
/* Functional: sets "kernels". Timed: those that ran without time become "untimed_kernels". */
void run_add_launches(const struct run_call *call, json_t *root);

#endif
