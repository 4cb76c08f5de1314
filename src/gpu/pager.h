/* pager: pages that change their place while kernels run (runtime.placement migration and replication), and
 * what that costs.
 *
 *   migration:   interval over ─► page used most by another partition ─► held ─► requests in flight end,
 *                the driver's time passes ─► lines ─► new frame ─► page table ─► released
 *   replication: a partition reads a read-only page of another ─► held for this partition ─► driver ─► lines
 *                ─► a frame of its own ─► released; a store ─► held for all ─► driver ─► copies are gone
 *
 * A line of a page is read by its home slice (migration: the LLC gives it up, what is dirty is written back
 * first), crosses the network to the slice that the new frame lives in, and is written to memory there. Who
 * accesses a page that is held waits in its MMU, as for a page that is not known.
 *
 * Decisions and changes are made in messages, before anybody is visited in a cycle, so the order of visits
 * does not matter. */
#ifndef ATOLL_GPU_PAGER_H
#define ATOLL_GPU_PAGER_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct gpu;
struct pager;

/* NULL: pages stay where they are put. After the page table, before MMUs and slices. */
struct pager *pager_new(struct gpu *g, const struct config *c);
void pager_free(struct pager *p);

/* ---- an SM ---- */

/* Must the access wait for its page? Then the SM asks its MMU for the page (mmu_wait()). */
bool pager_stops(struct pager *p, uint32_t sm, uint64_t key, bool writes, bool read_only, uint64_t now);
/* A request to the page leaves; its answer has come. */
void pager_sent(struct pager *p, uint32_t sm, uint64_t key, bool writes, uint64_t now);
void pager_answered(struct pager *p, uint64_t key, uint64_t now);

/* ---- an MMU: must the SM wait? Then it is told with mmu_resume() when the page can be used ---- */

bool pager_keeps(void *pager, uint32_t sm, uint64_t key);

/* ---- a slice: memory has accepted a line of a move ---- */

void pager_line_done(void *pager, uint32_t move);

/* ---- kernels ---- */

void pager_begin(struct gpu *g, uint64_t start_cyc);
/* The last kernel that ran is over: copies of pages are gone. Between two runs of the engine. */
void pager_end(struct gpu *g);

#endif
