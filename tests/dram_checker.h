/* dram_checker: replays a log of DRAM commands against the data sheet's rules, without any code of src/dram.
 *
 * It looks at pairs: for every command, at all earlier ones that could still bind it, and asks for the gap
 * that the two kinds and their places (same bank, same group, elsewhere) demand. It also follows which rows
 * are open, counts commands per bus and cycle, and keeps the smallest gap seen for each rule, so that a test
 * can demand that every rule was actually met with equality. */
#ifndef TESTS_DRAM_CHECKER_H
#define TESTS_DRAM_CHECKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum checker_kind { CHECK_ACT, CHECK_PRE, CHECK_PREA, CHECK_RD, CHECK_WR, CHECK_REF, CHECK_MIG };

/* The resources of the channel that a MIGRATION uses. */
enum checker_role { CHECK_SOURCE, CHECK_DESTINATION, CHECK_SET };

struct checker_command {
    uint64_t cyc;
    int kind, bank;
    int64_t row;
    uint64_t end; /* MIGRATION: first cycle after the transfer; the same for all commands of a transfer */
    int role;     /* MIGRATION: enum checker_role */
    int unused;   /* logs are compared as memory */
};

/* By data-sheet name, cycles. act = bus cycles of an activate. */
struct checker_timing {
    int groups, banks_per_group;
    int rc, rcd_rd, rcd_wr, rp, cl, wl, ras, rrd_l, rrd_s, faw, rtp, ccd_l, ccd_s, wtr_l, wtr_s, wr, bl, turn,
        rfc, act;
    bool single_bus;
    bool mig_timed; /* else a transfer has mig_cyc cycles and closes its banks */
    int mig_cyc, set_idle;
};

/* Gaps that a MIGRATION demands. "MIG-x" counts from the end of the transfer, "x-MIG" from command to command. */
enum checker_migration_rule {
    MIG_LINES,    /* first to second command of a transfer */
    MIG_BANK,     /* next command of a bank, other than the next two */
    MIG_PRE_WR,   /* timed: precharge of the written bank */
    MIG_RD_WR,    /* timed: read in the group of the written bank */
    MIG_GROUP,    /* column in the group of the bank */
    MIG_SET,      /* any command of the channel whose set was used */
    ACT_MIG_OPEN, /* paper: the bank of an open row */
    ACT_MIG_SRC,  /* timed */
    ACT_MIG_DST,  /* timed */
    PRE_MIG,      /* paper: a closed bank */
    RD_MIG_BANK,  /* paper: the bank is closed by the transfer */
    WR_MIG_BANK,  /* paper */
    RD_MIG_GROUP,
    WR_MIG_GROUP,
    RD_MIG_SET, /* the set is idle */
    WR_MIG_SET,
    ROW_MIG_SET,
    CHECKER_MIGRATION_RULES
};

static const char *const checker_migration_names[CHECKER_MIGRATION_RULES] = {"MIG-MIG of a transfer",
                                                                             "MIG-bank",
                                                                             "MIG-PRE written",
                                                                             "MIG-RD written",
                                                                             "MIG-column of the group",
                                                                             "MIG-command of the set",
                                                                             "ACT-MIG open",
                                                                             "ACT-MIG source",
                                                                             "ACT-MIG destination",
                                                                             "PRE-MIG",
                                                                             "RD-MIG bank",
                                                                             "WR-MIG bank",
                                                                             "RD-MIG group",
                                                                             "WR-MIG group",
                                                                             "RD-MIG set",
                                                                             "WR-MIG set",
                                                                             "row-MIG set"};

enum checker_rule {
    RULE_tRC,
    RULE_tRCD_RD,
    RULE_tRCD_WR,
    RULE_tRAS,
    RULE_tRP,
    RULE_tRTP,
    RULE_WR_PRE,
    RULE_tRRDs,
    RULE_tRRDl,
    RULE_tFAW,
    RULE_RD_RDs,
    RULE_RD_RDl,
    RULE_WR_WRs,
    RULE_WR_WRl,
    RULE_RD_WR,
    RULE_WR_RDs,
    RULE_WR_RDl,
    RULE_tRFC,
    RULE_PRE_REF,
    RULE_ACT_REF,
    CHECKER_RULES
};

static const char *const checker_rule_names[CHECKER_RULES] = {"tRC",
                                                              "tRCD rd",
                                                              "tRCD wr",
                                                              "tRAS",
                                                              "tRP",
                                                              "tRTP",
                                                              "WR-PRE",
                                                              "tRRDs",
                                                              "tRRDl",
                                                              "tFAW",
                                                              "RD-RD other group",
                                                              "RD-RD same group",
                                                              "WR-WR other group",
                                                              "WR-WR same group",
                                                              "RD-WR",
                                                              "WR-RD other group",
                                                              "WR-RD same group",
                                                              "tRFC",
                                                              "PRE-REF",
                                                              "ACT-REF"};

struct checker_report {
    uint64_t violations;
    char first_violation[200];
    int need[CHECKER_RULES];
    uint64_t min_seen[CHECKER_RULES]; /* UINT64_MAX: the rule never applied */
    int64_t migration_need[CHECKER_MIGRATION_RULES], migration_seen[CHECKER_MIGRATION_RULES];
};

/* Every command as the set of banks it concerns: -1 = all. */
static inline bool checker_same_bank(const struct checker_command *a, const struct checker_command *b)
{
    return a->bank < 0 || b->bank < 0 || a->bank == b->bank;
}

static inline void checker_needs(const struct checker_timing *t, int need[CHECKER_RULES])
{
    const int late = t->act - 1; /* the data sheet counts from the last bus cycle of an activate */
    need[RULE_tRC] = t->rc;
    need[RULE_tRCD_RD] = t->rcd_rd + late;
    need[RULE_tRCD_WR] = t->rcd_wr + late;
    need[RULE_tRAS] = t->ras + late;
    need[RULE_tRP] = t->rp - late;
    need[RULE_tRTP] = t->rtp;
    need[RULE_WR_PRE] = t->wl + t->bl + t->wr;
    need[RULE_tRRDs] = t->rrd_s;
    need[RULE_tRRDl] = t->rrd_l;
    need[RULE_tFAW] = t->faw;
    need[RULE_RD_RDs] = need[RULE_WR_WRs] = t->ccd_s > t->bl ? t->ccd_s : t->bl;
    need[RULE_RD_RDl] = need[RULE_WR_WRl] = t->ccd_l > t->bl ? t->ccd_l : t->bl;
    need[RULE_RD_WR] = t->cl + t->bl + t->turn - t->wl;
    need[RULE_WR_RDs] = t->wl + t->bl + t->wtr_s;
    need[RULE_WR_RDl] = t->wl + t->bl + t->wtr_l;
    need[RULE_tRFC] = t->rfc - late;
    need[RULE_PRE_REF] = t->rp;
    need[RULE_ACT_REF] = t->rc + late;
}

/* The rule between an earlier and a later command, or -1. */
static inline int checker_rule_between(const struct checker_timing *t, const struct checker_command *a,
                                       const struct checker_command *b)
{
    const bool same_bank = checker_same_bank(a, b);
    const bool same_group =
        a->bank < 0 || b->bank < 0 || a->bank / t->banks_per_group == b->bank / t->banks_per_group;
    const bool pre_a = a->kind == CHECK_PRE || a->kind == CHECK_PREA;
    const bool pre_b = b->kind == CHECK_PRE || b->kind == CHECK_PREA;
    if (a->kind == CHECK_ACT && b->kind == CHECK_ACT)
        return same_bank ? RULE_tRC : same_group ? RULE_tRRDl : RULE_tRRDs;
    if (a->kind == CHECK_ACT && b->kind == CHECK_RD && same_bank) return RULE_tRCD_RD;
    if (a->kind == CHECK_ACT && b->kind == CHECK_WR && same_bank) return RULE_tRCD_WR;
    if (a->kind == CHECK_ACT && pre_b && same_bank) return RULE_tRAS;
    if (a->kind == CHECK_ACT && b->kind == CHECK_REF) return RULE_ACT_REF;
    if (pre_a && b->kind == CHECK_ACT && same_bank) return RULE_tRP;
    if (pre_a && b->kind == CHECK_REF) return RULE_PRE_REF;
    if (a->kind == CHECK_RD && pre_b && same_bank) return RULE_tRTP;
    if (a->kind == CHECK_WR && pre_b && same_bank) return RULE_WR_PRE;
    if (a->kind == CHECK_RD && b->kind == CHECK_RD) return same_group ? RULE_RD_RDl : RULE_RD_RDs;
    if (a->kind == CHECK_WR && b->kind == CHECK_WR) return same_group ? RULE_WR_WRl : RULE_WR_WRs;
    if (a->kind == CHECK_RD && b->kind == CHECK_WR) return RULE_RD_WR;
    if (a->kind == CHECK_WR && b->kind == CHECK_RD) return same_group ? RULE_WR_RDl : RULE_WR_RDs;
    if (a->kind == CHECK_REF && b->kind == CHECK_ACT) return RULE_tRFC;
    return -1;
}

static inline void checker_complain(struct checker_report *r, const struct checker_command *c,
                                    const char *what)
{
    if (!r->violations++)
        snprintf(r->first_violation, sizeof r->first_violation, "cycle %lu kind %d bank %d row %ld: %s",
                 c->cyc, c->kind, c->bank, (long)c->row, what);
}

/* ---- MIGRATION ---- */

static inline void checker_migration_needs(const struct checker_timing *t,
                                           int64_t need[CHECKER_MIGRATION_RULES])
{
    const int late = t->act - 1, ccd_l = t->ccd_l > t->bl ? t->ccd_l : t->bl;
    memset(need, 0, CHECKER_MIGRATION_RULES * sizeof *need);
    need[MIG_LINES] = 2 * ccd_l > 2 ? 2 * ccd_l : 2; /* a line is two columns */
    need[MIG_PRE_WR] = t->wr;
    need[MIG_RD_WR] = t->wtr_l;
    need[ACT_MIG_OPEN] = t->ras + late;
    need[ACT_MIG_SRC] = t->rcd_rd + late;
    need[ACT_MIG_DST] = t->rcd_wr + late;
    need[PRE_MIG] = t->rp - late;
    need[RD_MIG_BANK] = t->rtp;
    need[WR_MIG_BANK] = t->wl + t->bl + t->wr;
    need[RD_MIG_GROUP] = ccd_l;
    need[WR_MIG_GROUP] = t->wl + t->bl + t->wtr_l;
    need[RD_MIG_SET] = t->cl + t->bl + t->set_idle;
    need[WR_MIG_SET] = t->wl + t->bl + t->set_idle;
    need[ROW_MIG_SET] = 1 + t->set_idle;
}

static inline void checker_migration_gap(struct checker_report *r, const struct checker_command *a,
                                         const struct checker_command *b, int rule, int64_t gap)
{
    if (gap < r->migration_need[rule]) {
        char what[120];
        snprintf(what, sizeof what, "%s is %ld, needs %ld (after cycle %lu)", checker_migration_names[rule],
                 (long)gap, (long)r->migration_need[rule], a->cyc);
        checker_complain(r, b, what);
    }
    if (gap < r->migration_seen[rule]) r->migration_seen[rule] = gap;
}

/* A transfer, then another command or transfer. */
static inline void checker_after_migration(const struct checker_timing *t, const struct checker_command *a,
                                           const struct checker_command *b, struct checker_report *r)
{
    const int64_t gap = (int64_t)b->cyc - (int64_t)a->end;
    const bool group = b->bank < 0 || a->bank / t->banks_per_group == b->bank / t->banks_per_group;
    const bool bank = checker_same_bank(a, b), written = a->role == CHECK_DESTINATION;
    const bool uses_bank = b->kind != CHECK_MIG || b->role != CHECK_SET;
    if (a->role == CHECK_SET) { /* the channel sends nothing, and its set carries one transfer at a time */
        if (b->kind != CHECK_MIG || b->role == CHECK_SET) checker_migration_gap(r, a, b, MIG_SET, gap);
        return;
    }
    if (!uses_bank || !group) return;
    if (bank && b->kind == CHECK_PRE && t->mig_timed && written)
        checker_migration_gap(r, a, b, MIG_PRE_WR, gap);
    else if (b->kind == CHECK_RD && t->mig_timed && written)
        checker_migration_gap(r, a, b, MIG_RD_WR, gap);
    else if (bank)
        checker_migration_gap(r, a, b, MIG_BANK, gap);
    else if (b->kind == CHECK_RD || b->kind == CHECK_WR || b->kind == CHECK_MIG)
        checker_migration_gap(r, a, b, MIG_GROUP, gap);
}

/* A command, then a transfer. own_set: the transfer uses the set of its source, which need not be idle. */
static inline void checker_before_migration(const struct checker_timing *t, const struct checker_command *a,
                                            const struct checker_command *b, const int64_t *open,
                                            bool own_set, struct checker_report *r)
{
    const int64_t gap = (int64_t)b->cyc - (int64_t)a->cyc;
    const bool group = a->bank < 0 || a->bank / t->banks_per_group == b->bank / t->banks_per_group;
    const bool bank = checker_same_bank(a, b);
    if (b->role == CHECK_SET) {
        const int rule = a->kind == CHECK_RD ? RD_MIG_SET : a->kind == CHECK_WR ? WR_MIG_SET : ROW_MIG_SET;
        checker_migration_gap(r, a, b, rule, own_set ? gap + t->set_idle : gap);
        return;
    }
    if (bank && a->kind == CHECK_ACT && t->mig_timed)
        checker_migration_gap(r, a, b, b->role == CHECK_SOURCE ? ACT_MIG_SRC : ACT_MIG_DST, gap);
    if (bank && a->kind == CHECK_ACT && !t->mig_timed && open[b->bank] >= 0)
        checker_migration_gap(r, a, b, ACT_MIG_OPEN, gap);
    if (bank && (a->kind == CHECK_PRE || a->kind == CHECK_PREA) && !t->mig_timed)
        checker_migration_gap(r, a, b, PRE_MIG, gap);
    if (group && a->kind == CHECK_RD)
        checker_migration_gap(r, a, b, bank && !t->mig_timed ? RD_MIG_BANK : RD_MIG_GROUP, gap);
    if (group && a->kind == CHECK_WR)
        checker_migration_gap(r, a, b, bank && !t->mig_timed ? WR_MIG_BANK : WR_MIG_GROUP, gap);
}

static inline bool checker_same_transfer(const struct checker_command *a, const struct checker_command *b)
{
    return b->kind == CHECK_MIG && a->end == b->end && a->bank == b->bank && a->role == b->role;
}

/* The transfer that a MIGRATION of role SET belongs to has its source here too. */
static inline bool checker_is_own_set(const struct checker_command *c, size_t count, size_t at)
{
    for (size_t k = 0; k < count && c[k].cyc <= c[at].cyc; k++)
        if (c[k].kind == CHECK_MIG && c[k].role == CHECK_SOURCE && c[k].end == c[at].end &&
            c[k].bank == c[at].bank)
            return true;
    return false;
}

/* Rows: a column needs its row open, an activate a closed bank, a precharge an open one, a refresh all
 * closed. */
static inline void checker_rows(const struct checker_timing *t, int64_t *open,
                                const struct checker_command *c, struct checker_report *r)
{
    const int banks = t->groups * t->banks_per_group;
    switch (c->kind) {
    case CHECK_ACT:
        if (open[c->bank] >= 0) checker_complain(r, c, "activate of an open bank");
        open[c->bank] = c->row;
        break;
    case CHECK_PRE:
        if (open[c->bank] < 0) checker_complain(r, c, "precharge of a closed bank");
        open[c->bank] = -1;
        break;
    case CHECK_PREA:
        for (int i = 0; i < banks; i++) open[i] = -1;
        break;
    case CHECK_RD:
    case CHECK_WR:
        if (open[c->bank] != c->row) checker_complain(r, c, "column of a row that is not open");
        break;
    case CHECK_MIG:
        if (c->role == CHECK_SET) break;
        if (t->mig_timed && open[c->bank] != c->row)
            checker_complain(r, c, "MIGRATION of a row that is not open");
        if (!t->mig_timed) open[c->bank] = -1;
        break;
    case CHECK_REF:
        for (int i = 0; i < banks; i++)
            if (open[i] >= 0) checker_complain(r, c, "refresh with an open row");
        break;
    }
}

static inline bool checker_is_column(const struct checker_command *c)
{
    return c->kind == CHECK_RD || c->kind == CHECK_WR;
}

static inline void checker_pair(const struct checker_timing *t, const struct checker_command *a,
                                const struct checker_command *b, struct checker_report *r)
{
    const uint64_t gap = b->cyc - a->cyc;
    const uint64_t bus = a->kind == CHECK_ACT ? (uint64_t)t->act : 1;
    if (gap < bus && (t->single_bus || checker_is_column(a) == checker_is_column(b)))
        checker_complain(r, b, "two commands on one bus at a time");
    const int rule = checker_rule_between(t, a, b);
    if (rule < 0) return;
    if (gap < (uint64_t)r->need[rule]) {
        char what[100];
        snprintf(what, sizeof what, "%s is %lu, needs %d (after cycle %lu)", checker_rule_names[rule], gap,
                 r->need[rule], a->cyc);
        checker_complain(r, b, what);
    }
    if (gap < r->min_seen[rule]) r->min_seen[rule] = gap;
}

static inline void checker_migration(const struct checker_timing *t, const struct checker_command *c,
                                     size_t count, size_t j, size_t i, const int64_t *open,
                                     struct checker_report *r)
{
    const struct checker_command *a = &c[j], *b = &c[i];
    if (a->kind != CHECK_MIG)
        checker_before_migration(t, a, b, open, b->role == CHECK_SET && checker_is_own_set(c, count, i), r);
    else if (checker_same_transfer(a, b))
        checker_migration_gap(r, a, b, MIG_LINES, (int64_t)(b->cyc - a->cyc));
    else
        checker_after_migration(t, a, b, r);
}

static inline int checker_by_cycle(const void *a, const void *b)
{
    const struct checker_command *l = *(const struct checker_command *const *)a,
                                 *r = *(const struct checker_command *const *)b;
    if (l->cyc != r->cyc) return l->cyc < r->cyc ? -1 : 1;
    return l < r ? -1 : l > r;
}

/* MIGRATIONs are logged when they are decided: sorts by cycle, keeps the order within a cycle. */
static inline void checker_sort(struct checker_command *c, size_t count)
{
    const struct checker_command **by = malloc(count * sizeof *by);
    struct checker_command *sorted = malloc(count * sizeof *sorted);
    for (size_t k = 0; k < count; k++) by[k] = &c[k];
    qsort(by, count, sizeof *by, checker_by_cycle);
    for (size_t k = 0; k < count; k++) sorted[k] = *by[k];
    if (count) memcpy(c, sorted, count * sizeof *c);
    free(by);
    free(sorted);
}

static inline struct checker_report checker_check(const struct checker_timing *t,
                                                  const struct checker_command *c, size_t count)
{
    struct checker_report r = {0};
    checker_needs(t, r.need);
    checker_migration_needs(t, r.migration_need);
    for (int i = 0; i < CHECKER_MIGRATION_RULES; i++) r.migration_seen[i] = INT64_MAX;
    uint64_t window = 2 * (uint64_t)(t->mig_cyc + t->cl + t->set_idle + t->bl + t->wr + t->wtr_l);
    for (int i = 0; i < CHECKER_RULES; i++) {
        r.min_seen[i] = UINT64_MAX;
        if ((uint64_t)r.need[i] > window) window = (uint64_t)r.need[i];
    }
    int64_t open[64];
    for (int i = 0; i < 64; i++) open[i] = -1;
    uint64_t activates[4] = {0};
    size_t activate_count = 0, from = 0;
    for (size_t i = 0; i < count; i++) {
        if (i && c[i].cyc < c[i - 1].cyc) checker_complain(&r, &c[i], "time runs backwards");
        while (c[from].cyc + window < c[i].cyc) from++;
        for (size_t j = from; j < i; j++) {
            if (c[j].kind == CHECK_MIG || c[i].kind == CHECK_MIG)
                checker_migration(t, c, count, j, i, open, &r);
            else
                checker_pair(t, &c[j], &c[i], &r);
        }
        checker_rows(t, open, &c[i], &r);
        if (c[i].kind != CHECK_ACT) continue;
        if (activate_count >= 4) {
            const uint64_t gap = c[i].cyc - activates[activate_count % 4];
            if (gap < (uint64_t)t->faw) checker_complain(&r, &c[i], "five activates in tFAW");
            if (gap < r.min_seen[RULE_tFAW]) r.min_seen[RULE_tFAW] = gap;
        }
        activates[activate_count++ % 4] = c[i].cyc;
    }
    return r;
}

#endif
