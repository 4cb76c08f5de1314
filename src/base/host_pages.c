/* host_pages: see host_pages.h. */
#include "base/host_pages.h"

#include <stdint.h>
#include <sys/mman.h>

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void host_pages_advise_huge(void *at, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t first = ((uintptr_t)at + PAGES_HUGE_BYTES - 1) & ~(PAGES_HUGE_BYTES - 1),
                    end = ((uintptr_t)at + bytes) & ~(PAGES_HUGE_BYTES - 1);
    if (end > first) (void)madvise((void *)first, end - first, MADV_HUGEPAGE); /* a wish only */
#else
    (void)at;
    (void)bytes;
#endif
}

void *host_pages_alloc(size_t bytes)
{
    if (bytes < PAGES_HUGE_BYTES) return map(bytes);
    if (bytes > SIZE_MAX - PAGES_HUGE_BYTES) return NULL;
    uint8_t *got = map(bytes + PAGES_HUGE_BYTES);
    if (!got) return NULL;
    /* What lies before the first huge page and behind the last byte goes back. */
    const size_t before = (PAGES_HUGE_BYTES - (uintptr_t)got % PAGES_HUGE_BYTES) % PAGES_HUGE_BYTES;
    const size_t used = (bytes + 4095) & ~(size_t)4095;
    if (before) munmap(got, before);
    if (PAGES_HUGE_BYTES - before > used - bytes)
        munmap(got + before + used, bytes + PAGES_HUGE_BYTES - before - used);
    host_pages_advise_huge(got + before, bytes);
    return got + before;
}

void host_pages_free(void *pages, size_t bytes)
{
    if (pages) munmap(pages, bytes);
}
