/* dram_spec: is a description of a channel sound, and what gaps between commands follow from it. */
#include "dram/dram_state.h"

const char *dram_spec_fault(const struct dram_spec *s)
{
#define DRAM_RULE(name, condition, message) \
    if (!(condition)) return message;
#include "dram/dram_rules.def"
#undef DRAM_RULE
    return NULL;
}

struct dram_spec dram_spec_of(const struct config *c)
{
    return (struct dram_spec){
#define SECTION(section, help)
#define PARAM(section, name, type, default_, min, max, unit, help) .name = c->section.name,
#define CHOICE(section, name, list, default_, help)                .name = c->section.name,
#define END_SECTION(section)
#include "dram/dram_params.def"
#undef SECTION
#undef PARAM
#undef CHOICE
#undef END_SECTION
    };
}

double dram_spec_peak(const struct dram_spec *s)
{
    return (double)s->column_size / (s->tccd_s_cyc > s->burst_cyc ? s->tccd_s_cyc : s->burst_cyc);
}

struct dram_gaps dram_spec_gaps(const struct dram_spec *t)
{
    const uint32_t read_write = t->tcl_cyc + t->burst_cyc + t->turnaround_cyc - t->twl_cyc;
    const uint32_t write_end = t->twl_cyc + t->burst_cyc;
    /* JEDEC counts from the last bus cycle of an activate; commands are stamped with their first. */
    const uint32_t late = t->act_bus_cyc - 1;
    const uint32_t ccd_s = t->tccd_s_cyc > t->burst_cyc ? t->tccd_s_cyc : t->burst_cyc;
    const uint32_t ccd_l = t->tccd_l_cyc > t->burst_cyc ? t->tccd_l_cyc : t->burst_cyc;
    return (struct dram_gaps){
        .col_s = {{ccd_s, read_write}, {write_end + t->twtr_s_cyc, ccd_s}},
        .col_l = {{ccd_l, read_write}, {write_end + t->twtr_l_cyc, ccd_l}},
        .act_col = {t->trcd_rd_cyc + late, t->trcd_wr_cyc + late},
        .act_act = t->trc_cyc,
        .act_act_s = t->trrd_s_cyc,
        .act_act_l = t->trrd_l_cyc,
        .act_four = t->tfaw_cyc,
        .act_pre = t->tras_cyc + late,
        .col_pre = {t->trtp_cyc, write_end + t->twr_cyc},
        .pre_act = t->trp_cyc - late,
        .ref_act = t->trfc_cyc - late,
        .act_bus = t->act_bus_cyc,
        .done = {t->tcl_cyc + t->burst_cyc, write_end},
    };
}
