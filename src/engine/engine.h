/* engine: time. Components sleep until a wake-up or a message; a component with nothing to do costs
 * nothing, and the clock jumps over cycles in which nothing is due.
 *
 *   send(dst, delay) ───────► list of that cycle ─► receive(self, now, message)
 *   wake(component, cycle) ─► bit of that cycle ──► wake(self, now), commit(self, now)
 *
 * Clock domains tick at whole multiples of one common tick (the least common multiple of all
 * frequencies), so that 1.4 GHz, 440 MHz and 293 MHz never drift.
 *
 * Order. In one cycle of a domain all messages are delivered first, then the wake-ups. What a
 * component does becomes visible to others in a later cycle only: messages take at least one cycle,
 * queues (queue.h) show a push and give back a credit at the earliest in the next cycle. So no result
 * depends on the order in which components are visited; with `sim.visit_order: shuffled` they are
 * visited at random to prove it. Domains that tick at the same instant run in the order of their
 * registration.
 *
 * A component has at most one wake-up pending, the earliest that was asked for. When it runs it does
 * what is due and asks again for what comes later.
 *
 * commit() is for what must happen in the order of registration whatever the order of visits, as the
 * functional execution of instructions: components woken in a cycle that have one are asked for it in that
 * order. With fixed visits it follows the component's own wake() at once, with shuffled visits it comes
 * after all wake() of the cycle; so a wake() must not see what another's commit() does in the same cycle.
 *
 * The engine owns its memory (an arena); components and their names belong to the caller. */
#ifndef ATOLL_ENGINE_ENGINE_H
#define ATOLL_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "stats/stats.h"

#define ENGINE_NEVER UINT64_MAX

/* Why a component cannot go on, for the watchdog. */
enum wait_reason {
    WAIT_NOTHING,
    WAIT_QUEUE_FULL,
    WAIT_QUEUE_EMPTY,
    WAIT_CREDIT,
    WAIT_MSHR,
    WAIT_PAGE_FAULT,
    WAIT_BARRIER,
    WAIT_REPLY,
    WAIT_SM
};

struct wait {
    enum wait_reason reason;
    uint32_t on;     /* the component that must act first; ENGINE_NO_COMPONENT when unknown */
    char detail[96]; /* what exactly: "read 0x7f.. of warp 3" */
};
#define ENGINE_NO_COMPONENT UINT32_MAX

struct component_spec {
    const char *name; /* "gpu0.partition3.slice1" */
    void *self;
    uint32_t domain;
    void (*wake)(void *self, uint64_t now_cyc);
    void (*receive)(void *self, uint64_t now_cyc, uint64_t message); /* NULL: takes no messages */
    struct wait (*waits)(void *self);                                /* NULL: never blocks */
    void (*commit)(void *self, uint64_t now_cyc);                    /* NULL: all is done in wake() */
    void (*visit)(void *self, uint64_t now_cyc); /* wake() and then commit() in one call; may be NULL */
};

struct engine;

/* The tick is the least common multiple of the domains' frequencies (config_tick_frequency()). */
struct engine *engine_create(uint64_t ticks_per_second, struct stats_registry *stats);
void engine_free(struct engine *e);
uint32_t engine_add_domain(struct engine *e, const char *name, uint64_t frequency_hz);
/* Not during a visit. */
uint32_t engine_add(struct engine *e, struct component_spec spec);
/* Visit siblings in random order from now on, to prove that it does not matter. */
void engine_shuffle_visits(struct engine *e, struct rng rng);

/* Ask to be woken at 'at_cyc' of the component's own domain, later than the present instant.
 * ENGINE_NEVER asks for nothing. Inline, as what a component of the domain being stepped calls often. */
static inline void engine_wake(struct engine *e, uint32_t component, uint64_t at_cyc);
/* The same for whoever is in another clock domain: at the first edge of the component's domain that is not
 * before 'tick' and later than the present instant. */
static inline void engine_wake_at_tick(struct engine *e, uint32_t component, uint64_t tick);
/* Deliver a message after delay_cyc >= 1 cycles of the receiver's domain (counted from its last edge). */
void engine_send(struct engine *e, uint32_t receiver, uint64_t delay_cyc, uint64_t message);

/* The present cycle of a domain: edges passed so far. */
static inline uint64_t engine_now(const struct engine *e, uint32_t domain);
static inline uint64_t engine_tick(const struct engine *e);
double engine_seconds(const struct engine *e);
const char *engine_name(const struct engine *e, uint32_t component);
uint32_t engine_domain_of(const struct engine *e, uint32_t component);

/* Work that must finish: requests in flight, blocks that run. The watchdog looks at it. */
void engine_work_begins(struct engine *e);
void engine_work_ends(struct engine *e);
/* Something moved. Queues call it; a component that retries in vain does not. */
static inline void engine_progress(struct engine *e);
/* Stuck after this many cycles of the slowest clock without progress. */
void engine_set_watchdog(struct engine *e, uint64_t limit_cyc);
/* Asked before a run that stopped moving is called a bug: raises a mistake when the program is to blame;
 * false: it goes on, somebody waits for a cycle that is known. due: something is, so that it may. */
void engine_set_stuck(struct engine *e, bool (*stuck)(void *self, bool due), void *self);
/* The cycle of domain 0 in which the next thing is due, or the one before; ENGINE_NEVER: nothing is. */
uint64_t engine_due_cyc(struct engine *e);

/* Somebody outside the engine goes on at the limit of a run: until then nothing need be due. */
void engine_set_awaited(struct engine *e, bool on);

enum engine_end { ENGINE_IDLE, ENGINE_LIMIT, ENGINE_STOPPED };
/* Runs until nothing is due, or until domain 0 would pass limit_cyc. Raises a bug with the chain of who
 * waits for whom when work is outstanding and nothing moves. */
enum engine_end engine_run(struct engine *e, uint64_t limit_cyc);

/* During a visit: the first cycle of the domain before which nobody outside looks at the components: neither
 * the caller of engine_run() nor series. */
static inline uint64_t engine_unwatched_until(const struct engine *e, uint32_t domain);

/* Makes engine_run() return when the domain that is being stepped has been; others may still be due at the
 * same instant. It can go on with another call. */
void engine_stop(struct engine *e);
/* While it does not run: the last instant at which every domain was stepped that had to be. */
uint64_t engine_stepped_tick(const struct engine *e);

/* Text of the present chain of waiting components (arena memory of the engine). */
const char *engine_wait_report(struct engine *e);

#include "engine/engine_inline.h" /* the bodies of the inline functions above */

#endif
