/* dram_spec: is a description of a channel sound, and what gaps between commands follow from it. */
#include "dram/dram_state.h"

static const char *organisation_fault(const struct dram_spec *s)
{
    const uint64_t banks = (uint64_t)s->group_count * s->banks_per_group;
    if (!s->group_count || s->group_count > DRAM_GROUPS_MAX) return "a channel has 1 to 16 bank groups";
    if (!banks || banks > DRAM_BANKS_MAX) return "a channel has 1 to 64 banks";
    if (!s->row_count || !s->column_count || !s->column_bytes)
        return "rows, columns and their size must not be 0";
    if (s->column_count > UINT16_MAX) return "a row has at most 65535 columns";
    return NULL;
}

static const char *timing_fault(const struct dram_timing *t, bool refresh)
{
    if (!t->cl_cyc || !t->wl_cyc || !t->bl_cyc) return "tCL, tWL and the burst must be at least 1 cycle";
    if (!t->ccd_s_cyc || t->ccd_l_cyc < t->ccd_s_cyc) return "tCCDs must be at least 1 and at most tCCDl";
    if (t->rrd_l_cyc < t->rrd_s_cyc || t->wtr_l_cyc < t->wtr_s_cyc)
        return "a same-group gap (tRRDl, tWTRl) must be at least the other-group one (tRRDs, tWTRs)";
    if (t->cl_cyc + t->bl_cyc + t->turnaround_cyc <= t->wl_cyc)
        return "tCL + burst + turnaround must be more than tWL";
    if (t->act_bus_cyc < 1 || t->act_bus_cyc > 2) return "an activate takes 1 or 2 cycles on the row bus";
    if (t->rp_cyc < t->act_bus_cyc || t->rcd_rd_cyc < 1 || t->rcd_wr_cyc < 1 || t->ras_cyc < 1)
        return "tRP, tRCD and tRAS must be at least 1 cycle (tRP at least the cycles of an activate)";
    if (t->rc_cyc < t->ras_cyc) return "tRC must be at least tRAS";
    if (refresh && (t->rfc_cyc < t->act_bus_cyc || t->refi_cyc <= t->rfc_cyc + t->rc_cyc + t->rp_cyc))
        return "with refresh, tREFI must leave room for tRFC, tRC and tRP";
    return NULL;
}

static const char *queue_fault(const struct dram_spec *s)
{
    if (s->queue == DRAM_QUEUE_UNIFIED) {
        if (!s->queue_entries || s->queue_entries > DRAM_ENTRIES_MAX)
            return "the queue has 1 to 1024 entries";
        return NULL;
    }
    if (!s->read_entries || s->read_entries > DRAM_ENTRIES_MAX || !s->write_entries ||
        s->write_entries > DRAM_ENTRIES_MAX)
        return "read queue and write buffer have 1 to 1024 entries each";
    if (s->write_low_count > s->write_high_count + 1)
        return "the low watermark must not be above the high one";
    if (s->write_high_count >= s->write_entries)
        return "the high watermark must be below the write buffer's size";
    return NULL;
}

const char *dram_spec_fault(const struct dram_spec *s)
{
    const char *fault = organisation_fault(s);
    if (!fault) fault = timing_fault(&s->timing, s->refresh);
    return fault ? fault : queue_fault(s);
}

struct dram_gaps dram_spec_gaps(const struct dram_spec *spec)
{
    const struct dram_timing *t = &spec->timing;
    const uint32_t read_write = t->cl_cyc + t->bl_cyc + t->turnaround_cyc - t->wl_cyc;
    const uint32_t write_end = t->wl_cyc + t->bl_cyc;
    /* JEDEC counts from the last bus cycle of an activate; commands are stamped with their first. */
    const uint32_t late = t->act_bus_cyc - 1;
    const uint32_t ccd_s = t->ccd_s_cyc > t->bl_cyc ? t->ccd_s_cyc : t->bl_cyc;
    const uint32_t ccd_l = t->ccd_l_cyc > t->bl_cyc ? t->ccd_l_cyc : t->bl_cyc;
    return (struct dram_gaps){
        .col_s = {{ccd_s, read_write}, {write_end + t->wtr_s_cyc, ccd_s}},
        .col_l = {{ccd_l, read_write}, {write_end + t->wtr_l_cyc, ccd_l}},
        .act_col = {t->rcd_rd_cyc + late, t->rcd_wr_cyc + late},
        .act_act = t->rc_cyc,
        .act_act_s = t->rrd_s_cyc,
        .act_act_l = t->rrd_l_cyc,
        .act_four = t->faw_cyc,
        .act_pre = t->ras_cyc + late,
        .col_pre = {t->rtp_cyc, write_end + t->wr_cyc},
        .pre_act = t->rp_cyc - late,
        .ref_act = t->rfc_cyc - late,
        .act_bus = t->act_bus_cyc,
        .done = {t->cl_cyc + t->bl_cyc, write_end},
    };
}
