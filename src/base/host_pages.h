/* host_pages: large pieces of zeroed memory straight from the system, in huge pages where it gives them.
 *
 * What a simulation touches in turn is far larger than the host's caches and, in small pages, than its
 * address translation. A piece costs nothing until it is used. Freed with host_pages_free() and the same
 * size. */
#ifndef ATOLL_BASE_HOST_PAGES_H
#define ATOLL_BASE_HOST_PAGES_H

#include <stddef.h>

#define PAGES_HUGE_BYTES ((size_t)2 << 20)

/* NULL when there is no more. From PAGES_HUGE_BYTES on, aligned to that. */
void *host_pages_alloc(size_t bytes);
void host_pages_free(void *pages, size_t bytes);
/* The same range in huge pages, as far as it holds whole ones. */
void host_pages_advise_huge(void *at, size_t bytes);

#endif
