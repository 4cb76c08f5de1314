/* apps: assigns SMs and memory channels to the applications that share the machine. kernel.c starts blocks
 * only on SMs of the kernel's application (apps_may_run()). pages/ places frames only in the application's
 * channels.
 *
 *   function                  when          effect
 *   apps_split()              at the start  divides SMs and channels by apps.sms and apps.channels
 *   apps_assign_sm()          at any time   The SM starts no more blocks of its old owner. When its resident
 *                                           blocks have ended, the SM starts blocks of the new owner.
 *   apps_restrict_channels()  at any time   restricts pages that are placed later to these channels
 *
 * Invariants:
 *  1. An SM runs blocks of one application at a time (`serving`).
 *  2. owner[sm] != serving[sm] only during a handover. handover_count is the number of such SMs.
 *  3. A machine with one application has one owner, and no handover. */
#ifndef ATOLL_SYSTEM_APPS_H
#define ATOLL_SYSTEM_APPS_H

#include "pages/pages.h"
#include "stats/stats.h"

struct system;
struct running;

enum { APPS_MAX = PAGES_APPS, APPS_NONE = APPS_MAX };

struct apps {
    struct system *system;
    uint32_t count, component;
    struct {
        uint32_t sm_count;      /* SMs owned */
        uint32_t channel_count; /* channels that may hold pages of the application */
        struct app_stats stats;
    } app[APPS_MAX + 1];     /* the last element: SMs without an owner (APPS_NONE) */
    uint8_t *owner;          /* [SM] application that owns the SM; APPS_NONE: none */
    uint8_t *serving;        /* [SM] application whose blocks the SM runs; the old owner during a handover */
    uint16_t *app_idx;       /* [SM] index of the SM among the SMs of its owner */
    uint32_t handover_count; /* SMs with owner != serving */
    bool own_mmus;           /* each application has its own MMUs (apps.mmu=own) */
    uint64_t (*counted)[2];  /* [SM] warp and thread instructions already added to an application */
};

void apps_init(struct apps *a, struct system *g);
/* Divides the machine among `count` applications by the parameters apps.*. Call it before the first kernel.
 * Raises a user error if the parameters do not fit the machine. */
void apps_split(struct apps *a, uint32_t count);

/* Changes the owner of an SM. The handover completes when the SM is idle. A return to the old owner before
 * that cancels the handover. */
void apps_assign_sm(struct apps *a, uint32_t sm, uint32_t app);
/* Restricts the frames of pages that are placed later to these colours (pages/pages.h). */
void apps_restrict_channels(struct apps *a, uint32_t app, const uint16_t *channels, uint32_t count);

/* Index in system.mmus of the MMU that an application uses on a GPU. */
uint32_t apps_mmu(const struct apps *a, uint32_t app, uint32_t gpu);

/* True if the SM may start blocks of the application. False during a handover. */
static inline bool apps_may_run(const struct apps *a, uint32_t sm, uint32_t app)
{
    return a->owner[sm] == app && a->serving[sm] == app;
}
/* Wakes the handover component if a handover is pending. Call it when an SM has drained a kernel or a
 * kernel has ended: an SM may be idle now. */
void apps_wake_handover(struct apps *a);
/* Adds the instructions issued since the last call to the statistics of the applications. */
void apps_sync_stats(struct apps *a);

#endif
