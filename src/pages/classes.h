/* classes: how nodes (pages.level) share the pages and lines that miss in the LLC (pages.count_classes).
 *
 *   private      one node accesses it
 *   read-only    several nodes access it, and none writes it
 *   read-write   several nodes access it, and at least one writes it
 *
 * The classes hold for the whole measured part, so the misses are counted per page and per line and classified at the
 * end of the run. Accesses that hit an L1 are not seen; the node has then missed the L1 there before. */
#ifndef ATOLL_PAGES_CLASSES_H
#define ATOLL_PAGES_CLASSES_H

#include "llc/llc.h"
#include "pages/pages.h"

struct page_classes;

/* NULL: pages.count_classes is false. */
struct page_classes *page_classes_new(struct arena *a, const struct config *c, struct pages *p,
                                      struct stats_registry *stats);
void page_classes_free(struct page_classes *s); /* NULL is allowed */
/* The monitor of every slice; on_request is NULL for NULL. */
struct llc_monitor page_classes_monitor(struct page_classes *s);
/* Fills in the statistics. Call it once, at the end of the run; no effect for NULL. */
void page_classes_finish(struct page_classes *s);

#endif
