/* device: a device for a program of the client's: memory, code and launches of the runtime, with or without
 * the timing model, and the report at its end.
 *
 *   CUDA runtime ── atoll_alloc / atoll_program_add / atoll_flight ──► runtime/, flights.c ──► exec/ or
 * timed.c */
#include <stdlib.h>
#include <string.h>

#include "api/device.h"
#include "api/run.h"
#include "base/arena.h"
#include "dram/dram.h"
#include "exec/exec.h"
#include "frontend/fatbin/fatbin.h"
#include "system/rules.h"
#include "system/system.h"

/* ---- opening and closing ---- */

static void open_device(void *arg)
{
    atoll_device *d = arg;
    const struct config *c = &d->sim->machine.config;
    if (d->options.check && d->options.functional)
        diag_mistake(
            "--check holds caches against memory; a functional run has none: leave --functional out");
    machine_finish(&d->sim->machine, &system_rules);
    d->start_seconds = run_wall_seconds();
    d->start_cpu_seconds = run_cpu_seconds();
    if (!d->options.functional) run_refuse_first_pass(&d->sim->machine.config);
    if (!d->options.functional) d->timed = timed_begin(d->sim, &d->job);
    const struct rt_options options = {.isa = run_isa(c->sim.isa),
                                       .racecheck = d->options.racecheck,
                                       .whole_pages = !c->runtime.exact_addresses,
                                       .max_instructions = d->timed ? 0 : d->options.max_instructions,
                                       .stack_bytes = d->options.stack_bytes,
                                       .sm_count = (uint32_t)config_sms(c),
                                       .print = d->options.print,
                                       .print_user = d->options.print_arg};
    d->rt = rt_create(&options);
}

atoll_status atoll_device_open(atoll_sim *sim, const struct atoll_device_options *options, atoll_device **out)
{
    atoll_device *d = *out = calloc(1, sizeof *d);
    if (!d) return ATOLL_MISTAKE;
    d->sim = sim;
    d->options = *options;
    d->label = strdup(options->label ? options->label : "program");
    d->labels[0] = d->label;
    d->job = (struct atoll_job){.ptx = d->labels,
                                .ptx_count = 1,
                                .functional = options->functional,
                                .racecheck = options->racecheck,
                                .check = options->check,
                                .details = options->details,
                                .ascii = options->ascii,
                                .timeline = options->timeline,
                                .max_instructions = options->max_instructions};
    const atoll_status status = api_run(sim, open_device, d);
    if (status) {
        atoll_device_close(d);
        *out = NULL;
    }
    return status;
}

void atoll_device_close(atoll_device *d)
{
    if (!d) return;
    flights_free(d);
    while (d->programs) {
        atoll_program *p = d->programs;
        d->programs = p->next;
        while (p->kernels) {
            atoll_kernel *k = p->kernels;
            p->kernels = k->next;
            free(k);
        }
        free(p);
    }
    rt_destroy(d->rt);
    timed_end(d->timed);
    launches_free(&d->launches);
    free(d->label);
    free(d->error);
    free(d);
}

struct rt_context *device_runtime(atoll_device *d) { return d->rt; }
atoll_sim *device_sim(atoll_device *d) { return d->sim; }

void atoll_device_properties(const atoll_device *d, struct atoll_properties *p)
{
    const struct config *c = &d->sim->machine.config;
    const struct dram_spec spec = dram_spec_of(c);
    const double channels = (double)config_channels(c);
    *p = (struct atoll_properties){.machine = d->sim->machine.name,
                                   .gpus = c->system.gpus,
                                   .sms = (uint32_t)config_sms(c),
                                   .warps = c->sm.warps,
                                   .threads = c->sm.threads,
                                   .block_slots = c->sm.block_slots,
                                   .registers = c->sm.registers,
                                   .schedulers = c->sm.schedulers,
                                   .compute_capability = c->runtime.compute_capability,
                                   .shared_bytes = c->sm.shared_size,
                                   .l1_bytes = c->l1.size,
                                   .llc_bytes = c->gpu.llc_size,
                                   .memory_bytes = c->gpu.memory_size,
                                   .clock_hz = (double)c->clock.sm,
                                   .memory_clock_hz = (double)c->clock.dram,
                                   .memory_bytes_per_second =
                                       channels * dram_spec_peak(&spec) * (double)c->clock.dram,
                                   .host_bytes_per_second = (double)c->runtime.host_link,
                                   .host_latency_seconds = (double)c->runtime.host_latency * 1e-12,
                                   .channels = (uint32_t)channels,
                                   .column_bytes = (uint32_t)c->dram.column_size};
}

void atoll_device_interrupt(atoll_device *d, const char *reason)
{
    d->interrupted_by = reason;
    exec_interrupt(rt_env(d->rt));
    d->sim->interrupted = true;
}

void atoll_device_set_heap(atoll_device *d, uint64_t bytes) { exec_set_heap(rt_env(d->rt), bytes); }

/* ---- memory ---- */

struct memory_call {
    atoll_device *device;
    void *at;
    uint64_t bytes;
    const char *name;
};

static void alloc_memory(void *arg)
{
    struct memory_call *call = arg;
    call->at = rt_alloc(call->device->rt, call->bytes, call->name);
}

atoll_status atoll_alloc(atoll_device *d, uint64_t bytes, const char *name, void **out)
{
    struct memory_call call = {.device = d, .bytes = bytes, .name = name};
    const atoll_status status = api_run(d->sim, alloc_memory, &call);
    *out = call.at;
    return status;
}

static void free_memory(void *arg)
{
    const struct memory_call *call = arg;
    rt_free(call->device->rt, call->at);
}

atoll_status atoll_free(atoll_device *d, void *memory)
{
    return api_run(d->sim, free_memory, &(struct memory_call){.device = d, .at = memory});
}

static void register_memory(void *arg)
{
    const struct memory_call *call = arg;
    rt_register(call->device->rt, call->at, call->bytes, call->name);
}

atoll_status atoll_register(atoll_device *d, void *host, uint64_t bytes, const char *name)
{
    return api_run(d->sim, register_memory,
                   &(struct memory_call){.device = d, .at = host, .bytes = bytes, .name = name});
}

static void unregister_memory(void *arg)
{
    const struct memory_call *call = arg;
    rt_unregister(call->device->rt, call->at);
}

atoll_status atoll_unregister(atoll_device *d, void *host)
{
    return api_run(d->sim, unregister_memory, &(struct memory_call){.device = d, .at = host});
}

bool atoll_memory_find(const atoll_device *d, const void *at, uint64_t bytes, void **start, uint64_t *size)
{
    const struct devmem_alloc *a = devmem_find(rt_memory(d->rt), (uint64_t)at);
    if (!a || bytes > a->hi - (uint64_t)at) return false;
    if (start) *start = (void *)a->lo;
    if (size) *size = a->hi - a->lo;
    return true;
}

bool atoll_memory_reserved(const atoll_device *d, const void *at)
{
    const struct devmem *m = rt_memory(d->rt);
    return (uint64_t)at - m->base < m->size;
}

/* ---- code ---- */

struct code_call {
    atoll_program *program;
    const char *name;
    const void *image;
    size_t bytes;
    atoll_kernel *kernel;
    void *at;
    uint64_t size;
    struct atoll_kernel_info *info;
    uint32_t threads, blocks;
};

static void new_group(void *arg)
{
    atoll_program *p = arg;
    p->group = rt_group_new(p->device->rt);
}

atoll_status atoll_program_new(atoll_device *d, atoll_program **out)
{
    atoll_program *p = *out = calloc(1, sizeof *p);
    if (!p) return ATOLL_MISTAKE;
    p->device = d;
    p->next = d->programs;
    d->programs = p;
    return api_run(d->sim, new_group, p);
}

struct twin_call {
    atoll_program *of, *twin;
};

static void make_twin(void *arg)
{
    const struct twin_call *call = arg;
    call->twin->group = rt_group_twin(call->of->group);
}

atoll_status atoll_program_twin(atoll_program *of, atoll_program **out)
{
    atoll_program *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p) return ATOLL_MISTAKE;
    p->device = of->device;
    p->next = p->device->programs;
    p->device->programs = p;
    const atoll_status status = api_run(p->device->sim, make_twin, &(struct twin_call){of, p});
    if (!status) *out = p;
    return status;
}

static void add_code(void *arg)
{
    const struct code_call *call = arg;
    struct rt_group *group = call->program->group;
    if (!fatbin_is(call->image, call->bytes)) {
        const size_t len = strnlen(call->image, call->bytes);
        (void)rt_group_load(group, call->name, call->image, len);
        return;
    }
    struct arena arena;
    struct diag_cleanup cleanup;
    arena_init(&arena);
    diag_defer(&cleanup, (void (*)(void *))arena_free, &arena);
    const uint32_t sm = call->program->device->sim->machine.config.runtime.compute_capability;
    const struct fatbin_text text = fatbin_choose(&arena, call->name, call->image, call->bytes, sm);
    if (text.text) (void)rt_group_load(group, text.name ? text.name : call->name, text.text, text.len);
    diag_done(&cleanup, true);
}

atoll_status atoll_program_add(atoll_program *p, const char *name, const void *image, size_t bytes)
{
    return api_run(p->device->sim, add_code,
                   &(struct code_call){.program = p, .name = name, .image = image, .bytes = bytes});
}

size_t atoll_fatbin_bytes(const void *image) { return fatbin_bytes(image); }
bool atoll_fatbin_has_ptx(const void *image, size_t bytes) { return fatbin_has_ptx(image, bytes); }

static void find_kernel(void *arg)
{
    struct code_call *call = arg;
    struct rt_kernel *rt = rt_group_kernel(call->program->group, call->name);
    for (atoll_kernel *k = call->program->kernels; rt && k; k = k->next)
        if (k->rt == rt) call->kernel = k;
    if (!rt || call->kernel) return;
    atoll_kernel *k = calloc(1, sizeof *k);
    if (!k) diag_mistake("out of host memory");
    *k = (atoll_kernel){.program = call->program, .rt = rt, .next = call->program->kernels};
    call->program->kernels = call->kernel = k;
}

atoll_status atoll_kernel_find(atoll_program *p, const char *name, atoll_kernel **out)
{
    struct code_call call = {.program = p, .name = name};
    const atoll_status status = api_run(p->device->sim, find_kernel, &call);
    *out = call.kernel;
    return status;
}

const char *atoll_kernel_name(const atoll_program *p, uint32_t idx)
{
    return rt_group_kernel_name(p->group, idx);
}

static void find_variable(void *arg)
{
    struct code_call *call = arg;
    call->at = rt_group_variable(call->program->group, call->name, &call->size);
}

atoll_status atoll_variable_find(atoll_program *p, const char *name, void **at, uint64_t *bytes)
{
    struct code_call call = {.program = p, .name = name};
    const atoll_status status = api_run(p->device->sim, find_variable, &call);
    *at = call.at;
    if (bytes) *bytes = call.size;
    return status;
}

static void describe_kernel(void *arg)
{
    const struct code_call *call = arg;
    const struct ptx_func *f = rt_kernel_ptx(call->kernel->rt);
    const struct exec_kernel *k = rt_kernel_exec(call->kernel->rt);
    const uint32_t threads = ptx_func_threads(f);
    *call->info = (struct atoll_kernel_info){
        .registers = system_registers_per_thread(&call->program->device->sim->machine.config, k),
        .max_threads = threads ? threads : PTX_THREADS_MOST,
        .param_count = f->n_params,
        .ptx_version = f->module->version_major * 10 + f->module->version_minor,
        .target_sm = f->module->target_sm,
        .shared_bytes = exec_kernel_shared_bytes(k),
        .local_bytes = exec_kernel_local_bytes(k),
        .param_bytes = f->param_bytes,
        .has_cluster = ptx_func_has_cluster(f)};
}

atoll_status atoll_kernel_info(atoll_kernel *kernel, struct atoll_kernel_info *info)
{
    struct code_call call = {.program = kernel->program, .kernel = kernel, .info = info};
    return api_run(kernel->program->device->sim, describe_kernel, &call);
}

bool atoll_kernel_param(const atoll_kernel *kernel, uint32_t idx, uint64_t *offset, uint64_t *bytes)
{
    const struct ptx_func *f = rt_kernel_ptx(kernel->rt);
    if (idx >= f->n_params) return false;
    const struct ptx_symbol *s = &f->module->symbols[f->first_param + f->n_rets + idx];
    if (offset) *offset = s->offset;
    if (bytes) *bytes = s->size_bytes;
    return true;
}

static void fit_blocks(void *arg)
{
    struct code_call *call = arg;
    const char *why;
    const struct exec_kernel *k = rt_kernel_exec(call->kernel->rt);
    call->blocks = system_fitting_blocks(&call->program->device->sim->machine.config, k, call->threads,
                                         exec_kernel_shared_bytes(k) + call->size, &why);
}

atoll_status atoll_kernel_fitting(atoll_kernel *kernel, uint32_t threads, uint64_t dynamic_shared,
                                  uint32_t *blocks)
{
    struct code_call call = {
        .program = kernel->program, .kernel = kernel, .threads = threads, .size = dynamic_shared};
    const atoll_status status = api_run(kernel->program->device->sim, fit_blocks, &call);
    *blocks = call.blocks;
    return status;
}

/* ---- the end ---- */

static void finish(void *arg)
{
    struct run_call *call = arg;
    if (call->timed) timed_finish(call->timed);
    if (call->job->racecheck && rt_races(call->rt))
        diag_check_failed("races on shared memory:\n%s", rt_race_report(call->rt));
    call->totals = rt_totals(call->rt);
    run_write_texts(call);
}

atoll_status atoll_device_finish(atoll_device *d, struct atoll_outcome *outcome)
{
    *outcome = (struct atoll_outcome){0};
    if (d->flights || d->waiting) { /* the program ends before them */
        d->stopped = true;
        flights_stop(d);
    }
    struct run_call call = {.sim = d->sim,
                            .job = &d->job,
                            .out = outcome,
                            .rt = d->rt,
                            .launches = &d->launches,
                            .start_seconds = d->start_seconds,
                            .start_cpu_seconds = d->start_cpu_seconds,
                            .stopped = d->stopped || d->broken,
                            .stopped_by = d->stopped  ? d->interrupted_by
                                          : d->broken ? "a fault"
                                                      : NULL,
                            .error = d->error,
                            .timed = d->timed};
    return api_run(d->sim, finish, &call);
}
