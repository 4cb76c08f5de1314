/* apps: several applications on one machine: the owner of each SM, and the channels for the pages of each
 * application.
 *
 *   function               when          effect
 *   apps_split()           at the start  divides SMs and channels by apps.sms and apps.channels
 *   apps_give_sm()         at any time   The SM takes no more blocks of its old owner. When its resident
 *                                        blocks have ended, the SM starts blocks of the new owner.
 *   apps_keep_channels()   at any time   restricts pages that are placed later to these channels
 *
 * A machine with one application has one owner. */
#ifndef ATOLL_SYSTEM_APPS_H
#define ATOLL_SYSTEM_APPS_H

#include "pages/pages.h"
#include "stats/stats.h"

struct system;
struct running;

enum { APPS_MAX = PAGES_APPS, APPS_NOBODY = APPS_MAX };

struct apps {
    struct system *system;
    uint32_t count, component;
    struct {
        uint32_t sm_count, channel_count; /* owned; of channels, that its pages may lie in */
        struct app_stats stats;
    } app[APPS_MAX + 1]; /* the last: of SMs that are nobody's */
    uint8_t *owner;      /* [SM] whose it is, */
    uint8_t *serving;    /* [SM] and whose kernels it has: another's while it changes hands */
    uint16_t *place;     /* [SM] which of its owner's SMs it is */
    uint32_t changing;
    bool own_mmus;         /* each application has MMUs of its own */
    uint64_t (*marked)[2]; /* [SM] warp and thread instructions that are counted */
};

void apps_init(struct apps *a, struct system *g);
/* Shares the machine out among so many applications; raises a mistake when the parameters do not fit. */
void apps_split(struct apps *a, uint32_t count);

void apps_give_sm(struct apps *a, uint32_t sm, uint32_t app);
void apps_keep_channels(struct apps *a, uint32_t app, const uint16_t *channels, uint32_t count);

/* The place of its MMU for a GPU among the machine's. */
uint32_t apps_mmu(const struct apps *a, uint32_t app, uint32_t gpu);

/* May the SM take blocks of the application? */
static inline bool apps_may_run(const struct apps *a, uint32_t sm, uint32_t app)
{
    return a->owner[sm] == app && a->serving[sm] == app;
}
/* An SM has nothing left of a kernel, or a kernel has ended: those that change hands may be free now. */
void apps_look_again(struct apps *a);
/* Counts instructions up to now. */
void apps_count(struct apps *a);

#endif
