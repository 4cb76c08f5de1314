/* pages: large pieces of zeroed memory straight from the system, in huge pages where it gives them.
 *
 * What a simulation touches in turn is far larger than the host's caches and, in small pages, than its
 * address translation. A piece costs nothing until it is used. Freed with pages_free() and the same size. */
#ifndef ATOLL_BASE_PAGES_H
#define ATOLL_BASE_PAGES_H

#include <stddef.h>

#define PAGES_HUGE_BYTES ((size_t)2 << 20)

/* NULL when there is no more. From PAGES_HUGE_BYTES on, aligned to that. */
void *pages_alloc(size_t bytes);
void pages_free(void *pages, size_t bytes);
/* The same range in huge pages, as far as it holds whole ones. */
void pages_advise_huge(void *at, size_t bytes);

#endif
