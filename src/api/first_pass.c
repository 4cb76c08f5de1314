/* first_pass: executes a workload without time before its timed run, so that policies that need knowledge of the
 * future have a profile of the measured part (pages/profile.h). The host script runs twice; the simulated addresses of
 * both runs are equal. The pass ends after as many warp instructions as the timed run will execute at most. */
#include "api/run.h"
#include "exec/exec.h"
#include "frontend/script/script.h"
#include "pages/pages.h"
#include "pages/profile.h"
#include "system/walk.h"

struct pass {
    struct system *system;
    struct page_profile *profile;
    uint32_t app;                   /* whose launch runs */
    uint32_t warm_left[PAGES_APPS]; /* launches of runtime.warm_launches still to run */
    uint64_t warm_blocks;
    bool blocks_warmed[PAGES_APPS];
    uint64_t left;
    bool limited, over;
};

static void add_access(void *arg, uint32_t sm, uint32_t app, uint64_t line, bool writes)
{
    struct pass *p = arg;
    system_profile_access(p->system, p->profile, sm, app, line, writes);
}

static void execute(void *user, struct exec_launch *launch)
{
    struct pass *p = user;
    struct walk_observer observer = {.arg = p, .access = add_access, .left = p->limited ? &p->left : NULL};
    const bool warms = !launch->untimed && p->warm_left[p->app];
    const struct walk_observer *measured = launch->untimed || warms ? NULL : &observer;
    if (p->over) return;
    p->warm_left[p->app] -= warms;
    if (measured && !p->blocks_warmed[p->app]) {
        observer.skip_blocks = p->warm_blocks;
        p->blocks_warmed[p->app] = true;
    }
    p->over = !system_walk(p->system, p->app, launch, false, measured);
}

static bool run_some(struct pass *p, struct script_set *set)
{
    bool busy = false;
    for (uint32_t k = 0; k < script_count(set) && !p->over; k++) {
        struct script_app *app = script_app(set, k);
        if (script_ended(app)) continue;
        p->app = k;
        busy = true;
        if (!rt_run_next(script_context(app))) (void)script_resume(app);
    }
    return busy && !p->over;
}

static void close_set(void *arg) { script_close(arg); }

/* Output of kernels is dropped here: the timed run prints it. */
static void drop_print(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

void run_first_pass(struct run_call *call, const struct rt_options *options)
{
    if (!config_pages_need_profile(&call->sim->machine.config)) return;
    call->profile = page_profile_new();
    struct pass p = {.system = timed_system(call->timed),
                     .profile = call->profile,
                     .warm_blocks = call->sim->machine.config.runtime.warm_blocks,
                     .left = call->job->max_instructions,
                     .limited = call->job->max_instructions != 0};
    for (uint32_t k = 0; k < PAGES_APPS; k++)
        p.warm_left[k] = call->sim->machine.config.runtime.warm_launches;
    struct diag_cleanup closing;
    struct script_set *set = script_open(call->job->workload);
    struct script_options script = {.rt = *options};
    script.rt.execute = execute;
    script.rt.execute_user = &p;
    script.rt.host_wrote = NULL;
    script.rt.print = drop_print;
    diag_defer(&closing, close_set, set);
    script_start(set, &script);
    while (run_some(&p, set)) {
    }
    diag_done(&closing, true);
    page_profile_spill(call->profile, call->sim->machine.config.spill.share);
    system_set_profile(p.system, call->profile);
}

void run_refuse_first_pass(const struct config *c)
{
    if (config_pages_need_profile(c))
        diag_mistake("%s needs a first pass over the program, and this program runs once: use it with a "
                     "workload (-w), or %s",
                     config_spills(c) ? "spill.share above 0" : "pages.replication oracle",
                     config_spills(c) ? "set spill.share to 0" : "choose another policy");
}
