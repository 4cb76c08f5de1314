/* devmem: see devmem.h. */
#include "exec/devmem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/diag.h"
#include "base/host_pages.h"

#define DEVMEM_DEFAULT_BYTES   ((uint64_t)64 << 30)
#define DEVMEM_LEAST_BYTES     ((uint64_t)1 << 30)
#define DEVMEM_BIG_BYTES       ((uint64_t)2 << 20)
#define DEVMEM_HUGE_MOST_BYTES ((uint64_t)64 << 20) /* of larger ones a run may touch little */
#define DEVMEM_GUARD_BYTES     ((uint64_t)4096) /* between allocations: an index beyond the end meets nothing */
#define DEVMEM_HINT            ((uint64_t)0x200000000000)
#define DEVMEM_HOST_SIM_OFFSET (DEVMEM_SIM_SLOT_BYTES / 2) /* where registered memory starts in a slot */

static uint64_t round_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

/* The same place in every process when it is free (then even printed pointers are the same), else any. */
static void *reserve(uint32_t slot, uint64_t bytes)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    const uint64_t hint = DEVMEM_HINT + slot * DEVMEM_SIM_SLOT_BYTES;
#ifdef MAP_FIXED_NOREPLACE
    void *at = mmap((void *)hint, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED && at != (void *)hint) {
        munmap(at, bytes);
        at = MAP_FAILED;
    }
    if (at != MAP_FAILED) return at;
#endif
    return mmap(NULL, bytes, PROT_NONE, flags, -1, 0);
}

void devmem_init(struct devmem *m, uint32_t slot, uint64_t reserve_bytes)
{
    memset(m, 0, sizeof *m);
    if (slot >= 64) diag_mistake("application slot %u: at most 64 applications share a run", slot);
    uint64_t bytes = round_up(reserve_bytes ? reserve_bytes : DEVMEM_DEFAULT_BYTES, DEVMEM_BIG_BYTES);
    if (bytes < DEVMEM_LEAST_BYTES) bytes = DEVMEM_LEAST_BYTES;
    if (bytes > DEVMEM_HOST_SIM_OFFSET) bytes = DEVMEM_HOST_SIM_OFFSET;
    /* DEVMEM_WINDOW_BYTES more, so that the start can be aligned to a window. */
    void *at = MAP_FAILED;
    for (; bytes >= DEVMEM_LEAST_BYTES; bytes /= 2) {
        at = reserve(slot, bytes + DEVMEM_WINDOW_BYTES);
        if (at != MAP_FAILED) break;
    }
    if (at == MAP_FAILED)
        diag_mistake("cannot reserve %llu bytes of address space for device memory (limit set by ulimit -v?)",
                     (unsigned long long)DEVMEM_LEAST_BYTES);
    m->base = round_up((uint64_t)at, DEVMEM_WINDOW_BYTES);
    const uint64_t before = m->base - (uint64_t)at;
    if (before) munmap(at, before);
    munmap((void *)(m->base + bytes), DEVMEM_WINDOW_BYTES - before);
    m->size = bytes;
    m->next = m->base + 3 * DEVMEM_WINDOW_BYTES + DEVMEM_GUARD_BYTES;
    m->sim_base = DEVMEM_SIM_BASE + slot * DEVMEM_SIM_SLOT_BYTES;
    m->sim_next_host = m->sim_base + DEVMEM_HOST_SIM_OFFSET;
    m->generation = 1;
}

void devmem_free(struct devmem *m)
{
    if (m->size) munmap((void *)m->base, m->size);
    for (size_t i = 0; i < m->count; i++) {
        free(m->allocs[i].name);
        free(m->allocs[i].filled);
    }
    free(m->allocs);
    memset(m, 0, sizeof *m);
}

/* Index of the first allocation with lo > address. */
static size_t upper_bound(const struct devmem *m, uint64_t address)
{
    size_t lo = 0, hi = m->count;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (m->allocs[mid].lo <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct devmem_alloc *insert(struct devmem *m, uint64_t lo, uint64_t hi, const char *name)
{
    if (m->count == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 64;
        struct devmem_alloc *grown = realloc(m->allocs, capacity * sizeof *grown);
        if (!grown) diag_mistake("out of host memory for the table of allocations");
        m->allocs = grown;
        m->capacity = capacity;
    }
    const size_t at = upper_bound(m, lo);
    memmove(m->allocs + at + 1, m->allocs + at, (m->count - at) * sizeof *m->allocs);
    m->count++;
    struct devmem_alloc *a = &m->allocs[at];
    *a = (struct devmem_alloc){.lo = lo, .hi = hi, .serial = ++m->serial};
    if (name) {
        a->name = strdup(name);
        if (!a->name) diag_mistake("out of host memory");
    }
    return a;
}

static void remove_at(struct devmem *m, size_t at)
{
    free(m->allocs[at].name);
    free(m->allocs[at].filled);
    memmove(m->allocs + at, m->allocs + at + 1, (m->count - at - 1) * sizeof *m->allocs);
    m->count--;
    m->generation++;
}

/* First fit between live allocations, for when the reserved range has been used up once. */
static uint64_t reuse(struct devmem *m, uint64_t bytes, uint64_t align)
{
    uint64_t at = round_up(m->base + 3 * DEVMEM_WINDOW_BYTES, align);
    const uint64_t end = m->base + m->size;
    for (size_t i = upper_bound(m, m->base); i < m->count && m->allocs[i].lo < end; i++) {
        const struct devmem_alloc *a = &m->allocs[i];
        if (a->freed) continue;
        if (a->lo >= at + bytes) break;
        at = round_up(a->hi, align);
    }
    if (at + bytes > end) return 0;
    for (size_t i = m->count; i-- > 0;)
        if (m->allocs[i].freed && m->allocs[i].lo < at + bytes && m->allocs[i].hi > at) remove_at(m, i);
    const uint64_t page = 4096, first = round_up(at, page), last = (at + bytes) & ~(page - 1);
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
    return at;
}

void *devmem_alloc(struct devmem *m, uint64_t bytes, uint64_t align, enum devmem_kind kind, const char *name)
{
    const uint64_t page = 4096;
    if (align < 256) align = 256;
    if (bytes >= DEVMEM_BIG_BYTES && kind == DEVMEM_DEVICE && align < DEVMEM_BIG_BYTES)
        align = DEVMEM_BIG_BYTES;
    const uint64_t span = bytes ? bytes : 1, end = m->base + m->size;
    uint64_t at = round_up(m->next, align);
    if (span > m->size || at + span > end) {
        at = span > m->size ? 0 : reuse(m, span, align);
        if (!at)
            diag_mistake("out of device memory: %llu bytes for '%s' do not fit the %llu bytes reserved",
                         (unsigned long long)bytes, name ? name : "a buffer", (unsigned long long)m->size);
    } else {
        m->next = round_up(at + span, 256) + DEVMEM_GUARD_BYTES;
    }
    const uint64_t first_page = at & ~(page - 1), last_page = round_up(at + span, page);
    if (mprotect((void *)first_page, last_page - first_page, PROT_READ | PROT_WRITE))
        diag_mistake("out of host memory: cannot commit %llu bytes for '%s'", (unsigned long long)bytes,
                     name ? name : "a buffer");
    if (span <= DEVMEM_HUGE_MOST_BYTES) host_pages_advise_huge((void *)at, span);
    /* The first bytes may share a page with freed memory. */
    const uint64_t head = span < page ? span : page;
    memset((void *)at, 0, head);
    if (span > page) memset((void *)(at + span - page), 0, page);
    struct devmem_alloc *a = insert(m, at, at + bytes, name);
    a->sim = m->sim_base + (at - m->base);
    a->kind = kind;
    m->live_bytes += bytes;
    if (m->live_bytes > m->peak_bytes) m->peak_bytes = m->live_bytes;
    return (void *)at;
}

void devmem_make_lazy(struct devmem *m, void *device, devmem_fill_fn *fill, void *user)
{
    struct devmem_alloc *a = devmem_find(m, (uint64_t)device);
    DIAG_ASSERT(a && a->lo == (uint64_t)device && fill);
    const uint64_t chunks = (a->hi - a->lo + DEVMEM_LAZY_CHUNK_BYTES - 1) / DEVMEM_LAZY_CHUNK_BYTES;
    a->filled = calloc((size_t)(chunks + 63) / 64, sizeof *a->filled);
    if (!a->filled) diag_mistake("out of host memory");
    a->fill = fill;
    a->fill_user = user;
    a->unfilled_count = chunks;
    m->generation++;
}

void devmem_register(struct devmem *m, void *host, uint64_t bytes, const char *name)
{
    const uint64_t lo = (uint64_t)host;
    const size_t at = upper_bound(m, lo);
    const bool below = at && !m->allocs[at - 1].freed && m->allocs[at - 1].hi > lo;
    const bool above = at < m->count && !m->allocs[at].freed && m->allocs[at].lo < lo + bytes;
    if (!host || below || above)
        diag_mistake("host memory at %p (%llu bytes) overlaps registered memory", host,
                     (unsigned long long)bytes);
    struct devmem_alloc *a = insert(m, lo, lo + bytes, name);
    a->kind = DEVMEM_HOST;
    /* Keeps the offset within a 2 MiB page out of the simulated address: host layout must not show. */
    a->sim = m->sim_next_host;
    m->sim_next_host = round_up(m->sim_next_host + bytes, DEVMEM_BIG_BYTES);
    m->live_bytes += bytes;
    if (m->live_bytes > m->peak_bytes) m->peak_bytes = m->live_bytes;
}

static size_t index_of(const struct devmem *m, const void *device, const char *what)
{
    const uint64_t address = (uint64_t)device;
    const size_t at = upper_bound(m, address);
    if (at && m->allocs[at - 1].lo == address) {
        if (m->allocs[at - 1].freed) diag_mistake("%s of %p: already freed", what, device);
        return at - 1;
    }
    diag_mistake("%s of %p, which is not the start of an allocation", what, device);
}

void devmem_unregister(struct devmem *m, void *host)
{
    const size_t at = index_of(m, host, "unregister");
    if (m->allocs[at].kind != DEVMEM_HOST) diag_mistake("unregister of %p, which was not registered", host);
    m->live_bytes -= m->allocs[at].hi - m->allocs[at].lo;
    remove_at(m, at);
}

void devmem_release(struct devmem *m, void *device)
{
    if (!device) return;
    struct devmem_alloc *a = &m->allocs[index_of(m, device, "free")];
    if (a->kind != DEVMEM_DEVICE) diag_mistake("free of %p, which was not allocated by the runtime", device);
    a->freed = true;
    a->fill = NULL;
    m->live_bytes -= a->hi - a->lo;
    m->generation++;
    const uint64_t page = 4096, lo = round_up(a->lo, page), hi = a->hi & ~(page - 1);
    if (hi > lo) madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

void devmem_release_heap(struct devmem *m, uint64_t address)
{
    struct devmem_alloc *a = devmem_find(m, address);
    DIAG_ASSERT(a && a->kind == DEVMEM_HEAP);
    a->freed = true;
    m->live_bytes -= a->hi - a->lo;
    m->generation++;
}

struct devmem_alloc *devmem_find(const struct devmem *m, uint64_t address)
{
    const size_t at = upper_bound(m, address);
    if (!at) return NULL;
    struct devmem_alloc *a = &m->allocs[at - 1];
    return !a->freed && address < a->hi ? a : NULL;
}

const struct devmem_alloc *devmem_nearest(const struct devmem *m, uint64_t address)
{
    const size_t at = upper_bound(m, address);
    const struct devmem_alloc *below = at ? &m->allocs[at - 1] : NULL;
    const struct devmem_alloc *above = at < m->count ? &m->allocs[at] : NULL;
    if (!below || !above) return below ? below : above;
    if (address < below->hi) return below;
    return address - below->hi <= above->lo - address ? below : above;
}

static void fill_chunk(struct devmem_alloc *a, uint64_t chunk)
{
    const uint64_t first = chunk * DEVMEM_LAZY_CHUNK_BYTES, left = a->hi - a->lo - first;
    const uint64_t bytes = left < DEVMEM_LAZY_CHUNK_BYTES ? left : DEVMEM_LAZY_CHUNK_BYTES;
    a->filled[chunk / 64] |= (uint64_t)1 << (chunk % 64);
    a->fill(a->fill_user, (void *)(a->lo + first), first, bytes);
    if (--a->unfilled_count == 0) a->fill = NULL;
}

static bool is_filled(const struct devmem_alloc *a, uint64_t chunk)
{
    return a->filled[chunk / 64] >> (chunk % 64) & 1;
}

static void fill_range(struct devmem_alloc *a, uint64_t address, uint64_t bytes)
{
    if (!a->fill || !bytes) return;
    const uint64_t last = (address + bytes - 1 - a->lo) / DEVMEM_LAZY_CHUNK_BYTES;
    for (uint64_t c = (address - a->lo) / DEVMEM_LAZY_CHUNK_BYTES; c <= last; c++)
        if (!is_filled(a, c)) {
            fill_chunk(a, c);
            if (!a->fill) return;
        }
}

/* whole_pages: is something live in the page, and all of it filled? What lies between reads as zero. */
static bool lookup_page(const struct devmem *m, uint64_t address, uint64_t bytes, struct devmem_range *range)
{
    const uint64_t lo = address & ~(DEVMEM_BIG_BYTES - 1), hi = lo + DEVMEM_BIG_BYTES;
    bool live = false;
    if (lo < m->base + 3 * DEVMEM_WINDOW_BYTES || hi > m->base + m->size || bytes > hi - address)
        return false;
    for (size_t i = upper_bound(m, hi - 1); i-- > 0 && m->allocs[i].lo >= m->base;) {
        const struct devmem_alloc *a = &m->allocs[i];
        if (a->freed || a->hi <= lo) continue;
        if (a->fill) return false;
        live = true;
    }
    if (!live || mprotect((void *)lo, DEVMEM_BIG_BYTES, PROT_READ | PROT_WRITE)) return false;
    *range = (struct devmem_range){lo, hi, true};
    return true;
}

bool devmem_lookup(struct devmem *m, uint64_t address, uint64_t bytes, struct devmem_range *range)
{
    struct devmem_alloc *a = devmem_find(m, address);
    if (!a || bytes > a->hi - address) return m->whole_pages && lookup_page(m, address, bytes, range);
    *range = (struct devmem_range){a->lo, a->hi, a->kind != DEVMEM_CONST};
    if (!a->fill) return true;
    fill_range(a, address, bytes);
    if (!a->fill) return true;
    /* Widen over filled neighbours, so that a random access pattern soon sees long ranges. */
    const uint64_t chunks = (a->hi - a->lo + DEVMEM_LAZY_CHUNK_BYTES - 1) / DEVMEM_LAZY_CHUNK_BYTES;
    uint64_t from = (address - a->lo) / DEVMEM_LAZY_CHUNK_BYTES;
    uint64_t to = (address + bytes - 1 - a->lo) / DEVMEM_LAZY_CHUNK_BYTES + 1;
    for (int steps = 64; steps && from && is_filled(a, from - 1); steps--) from--;
    for (int steps = 64; steps && to < chunks && is_filled(a, to); steps--) to++;
    range->lo = a->lo + from * DEVMEM_LAZY_CHUNK_BYTES;
    if (to < chunks) range->hi = a->lo + to * DEVMEM_LAZY_CHUNK_BYTES;
    return true;
}

void devmem_require(struct devmem *m, const void *device, uint64_t bytes, const char *what)
{
    const uint64_t address = (uint64_t)device;
    if (!bytes) return;
    struct devmem_alloc *a = devmem_find(m, address);
    if (a && bytes <= a->hi - address) {
        fill_range(a, address, bytes);
        return;
    }
    const struct devmem_alloc *near = devmem_nearest(m, address);
    if (!near) diag_mistake("%s: %p is not device memory (nothing is allocated)", what, device);
    diag_mistake("%s: [%p, +%llu) is not inside an allocation; nearest is %s'%s' of %llu bytes at %p", what,
                 device, (unsigned long long)bytes, near->freed ? "freed " : "",
                 near->name ? near->name : "buffer", (unsigned long long)(near->hi - near->lo),
                 (void *)near->lo);
}

uint64_t devmem_simulated(const struct devmem *m, uint64_t address)
{
    if (address - m->base < m->size) return m->sim_base + (address - m->base);
    const struct devmem_alloc *a = devmem_find(m, address);
    return a ? a->sim + (address - a->lo) : m->sim_base + (address - m->base);
}
