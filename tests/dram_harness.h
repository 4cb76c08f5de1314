/* dram_harness: what the DRAM tests share: specs from presets, logs for the checker. */
#ifndef TESTS_DRAM_HARNESS_H
#define TESTS_DRAM_HARNESS_H

#include "base/diag.h"
#include "config/machine.h"
#include "dram/dram.h"
#include "dram_checker.h"
#include "system/rules.h"

/* A test whose mistakes and bugs are shown as its failure. */
#define DRAM_TEST(name) \
    static void name##_body(void *unused); \
    static void name(void **state) \
    { \
        (void)state; \
        harness_guard(name##_body); \
    } \
    static void name##_body(void *unused __attribute__((unused)))

static inline void harness_guard(diag_body_fn *body)
{
    struct diag d;
    diag_init(&d);
    const enum diag_kind kind = diag_run(&d, body, NULL);
    if (kind != DIAG_NONE) fail_msg("%s", d.text);
    diag_clear(&d);
}

/* A preset with overrides separated by spaces ("dram.refresh=true dram.bus=single"). */
static inline struct dram_spec harness_spec(const char *preset, const char *overrides)
{
    struct machine m;
    machine_init(&m);
    machine_load(&m, preset);
    char text[1000];
    snprintf(text, sizeof text, "%s", overrides ? overrides : "");
    char *save = NULL;
    for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
        machine_set(&m, word);
    machine_finish(&m, &system_rules);
    const struct dram_spec spec = dram_spec_of(&m.config);
    machine_free(&m);
    return spec;
}

static inline struct checker_timing harness_timing(const struct dram_spec *s)
{
    return (struct checker_timing){.groups = (int)s->bank_groups,
                                   .banks_per_group = (int)s->banks_per_group,
                                   .rc = (int)s->trc_cyc,
                                   .rcd_rd = (int)s->trcd_rd_cyc,
                                   .rcd_wr = (int)s->trcd_wr_cyc,
                                   .rp = (int)s->trp_cyc,
                                   .cl = (int)s->tcl_cyc,
                                   .wl = (int)s->twl_cyc,
                                   .ras = (int)s->tras_cyc,
                                   .rrd_l = (int)s->trrd_l_cyc,
                                   .rrd_s = (int)s->trrd_s_cyc,
                                   .faw = (int)s->tfaw_cyc,
                                   .rtp = (int)s->trtp_cyc,
                                   .ccd_l = (int)s->tccd_l_cyc,
                                   .ccd_s = (int)s->tccd_s_cyc,
                                   .wtr_l = (int)s->twtr_l_cyc,
                                   .wtr_s = (int)s->twtr_s_cyc,
                                   .wr = (int)s->twr_cyc,
                                   .bl = (int)s->burst_cyc,
                                   .turn = (int)s->turnaround_cyc,
                                   .rfc = (int)s->trfc_cyc,
                                   .act = (int)s->act_bus_cyc,
                                   .single_bus = s->bus == dram_bus_single,
                                   .mig_timed = s->migration == dram_migration_timed,
                                   .mig_cyc = (int)s->migration_cyc,
                                   .set_idle = (int)s->tsv_idle_cyc};
}

struct harness_log {
    struct checker_command *commands;
    size_t count, capacity;
};

static inline void harness_on_log(void *owner, const struct dram_command *c)
{
    static const int kinds[DRAM_COMMAND_KINDS] = {
        [DRAM_ACT] = CHECK_ACT, [DRAM_PRE] = CHECK_PRE, [DRAM_PRE_ALL] = CHECK_PREA, [DRAM_RD] = CHECK_RD,
        [DRAM_WR] = CHECK_WR,   [DRAM_REF] = CHECK_REF, [DRAM_MIGRATE] = CHECK_MIG};
    static const int roles[] = {[DRAM_ROLE_SOURCE] = CHECK_SOURCE,
                                [DRAM_ROLE_DESTINATION] = CHECK_DESTINATION,
                                [DRAM_ROLE_SET] = CHECK_SET};
    struct harness_log *l = owner;
    if (l->count == l->capacity) {
        l->capacity = l->capacity ? 2 * l->capacity : 1024;
        l->commands = realloc(l->commands, l->capacity * sizeof *l->commands);
    }
    const bool all = c->kind == DRAM_PRE_ALL || c->kind == DRAM_REF;
    l->commands[l->count++] = (struct checker_command){.cyc = c->cyc,
                                                       .kind = kinds[c->kind],
                                                       .bank = all ? -1 : (int)c->bank,
                                                       .row = c->row,
                                                       .role = roles[c->role],
                                                       .end = c->end_cyc};
}

#endif
