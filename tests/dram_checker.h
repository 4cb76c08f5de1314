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

enum checker_kind { CHECK_ACT, CHECK_PRE, CHECK_PREA, CHECK_RD, CHECK_WR, CHECK_REF };

struct checker_command {
    uint64_t cyc;
    int kind, bank;
    int64_t row;
};

/* By data-sheet name, cycles. act = bus cycles of an activate. */
struct checker_timing {
    int groups, banks_per_group;
    int rc, rcd_rd, rcd_wr, rp, cl, wl, ras, rrd_l, rrd_s, faw, rtp, ccd_l, ccd_s, wtr_l, wtr_s, wr, bl, turn,
        rfc, act;
    bool single_bus;
};

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

static inline struct checker_report checker_check(const struct checker_timing *t,
                                                  const struct checker_command *c, size_t count)
{
    struct checker_report r = {0};
    checker_needs(t, r.need);
    uint64_t window = 0;
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
        checker_rows(t, open, &c[i], &r);
        while (c[from].cyc + window < c[i].cyc) from++;
        for (size_t j = from; j < i; j++) checker_pair(t, &c[j], &c[i], &r);
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
