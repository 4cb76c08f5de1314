/* fatbin: see fatbin.h. Field offsets as seen in binaries of nvcc 11 to 13. */
#include "frontend/fatbin/fatbin.h"

#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "base/arena.h"
#include "base/diag.h"

#define FATBIN_MAGIC 0xBA55ED50u
enum {
    CONTAINER_HEADER = 16,
    ENTRY_HEADER = 64,
    KIND_PTX = 1,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
};
/* A PTX text larger than this is taken for a broken size. */
#define TEXT_MOST  ((uint64_t)1 << 30)
#define RATIO_MOST ((uint64_t)4096) /* of packing; LZ4 reaches 255 */

struct entry {
    const uint8_t *payload;
    uint64_t payload_bytes, compressed_bytes, text_bytes, flags;
    uint32_t arch;
    uint16_t kind;
    const char *name; /* not ended by NUL */
    uint32_t name_len;
};

static uint16_t u16_at(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint32_t u32_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static uint64_t u64_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

bool fatbin_is(const void *image, size_t bytes) { return bytes >= 4 && u32_at(image) == FATBIN_MAGIC; }

size_t fatbin_bytes(const void *image)
{
    const uint8_t *p = image;
    if (u32_at(p) != FATBIN_MAGIC) return 0;
    const uint64_t follows = u64_at(p + 8);
    return follows > SIZE_MAX / 2 ? 0 : u16_at(p + 6) + (size_t)follows;
}

static _Noreturn void broken(const char *label, const char *why)
{
    diag_mistake("%s: the fat binary is broken: %s; rebuild the program", label, why);
}

/* The entry at *at; moves *at behind it. Returns what is wrong, or NULL. */
static const char *next_entry(const uint8_t **at, const uint8_t *end, struct entry *e)
{
    const uint8_t *p = *at;
    const uint64_t left = (uint64_t)(end - p);
    if (left < ENTRY_HEADER) return "it ends inside the header of an entry";
    const uint32_t header = u32_at(p + 4);
    *e = (struct entry){.kind = u16_at(p),
                        .payload_bytes = u64_at(p + 8),
                        .compressed_bytes = u32_at(p + 16),
                        .arch = u32_at(p + 28),
                        .flags = u64_at(p + 40),
                        .text_bytes = u64_at(p + 56)};
    if (header < ENTRY_HEADER || header > left) return "the header of an entry has an impossible size";
    if (e->payload_bytes > left - header) return "it ends inside the code of an entry";
    const uint64_t name_at = u32_at(p + 32), name_len = u32_at(p + 36);
    if (name_len && name_at <= header && name_len <= header - name_at) {
        e->name = (const char *)p + name_at;
        e->name_len = (uint32_t)name_len;
    }
    e->payload = p + header;
    *at = e->payload + e->payload_bytes;
    return NULL;
}

/* First entry and end of a container; what is wrong, or NULL. */
static const char *open_container(const void *image, size_t bytes, const uint8_t **at, const uint8_t **end)
{
    const uint8_t *p = image;
    if (bytes < CONTAINER_HEADER || u32_at(p) != FATBIN_MAGIC) return "it does not start as one";
    const uint64_t header = u16_at(p + 6), follows = u64_at(p + 8);
    if (header < CONTAINER_HEADER || header > bytes || follows > bytes - header)
        return "it is shorter than it says";
    *at = p + header;
    *end = *at + follows;
    return NULL;
}

bool fatbin_has_ptx(const void *image, size_t bytes)
{
    const uint8_t *at, *end;
    struct entry e;
    if (open_container(image, bytes, &at, &end)) return false;
    while (at < end && !next_entry(&at, end, &e))
        if (e.kind == KIND_PTX) return true;
    return false;
}

/* Is `a` a better choice than `b` for the architecture? */
static bool fits_better(uint32_t a, uint32_t b, uint32_t arch)
{
    if ((a <= arch) != (b <= arch)) return a <= arch;
    return a <= arch ? a > b : a < b;
}

static struct fatbin_text unpack(struct arena *arena, const char *label, const struct entry *e)
{
    struct fatbin_text out = {.arch = e->arch};
    const bool packed = e->flags & (FLAG_LZ4 | FLAG_ZSTD);
    const uint64_t stored = packed && e->compressed_bytes ? e->compressed_bytes : e->payload_bytes;
    const uint64_t bytes = packed ? e->text_bytes : e->payload_bytes;
    if (stored > e->payload_bytes || stored > TEXT_MOST || bytes > TEXT_MOST ||
        bytes > RATIO_MOST * (stored + 16))
        broken(label, "an entry has an impossible size");
    out.text = arena_alloc(arena, bytes + 1);
    if (!packed) {
        memcpy(out.text, e->payload, bytes);
    } else if (e->flags & FLAG_ZSTD) {
        const size_t n = ZSTD_decompress(out.text, bytes, e->payload, stored);
        if (ZSTD_isError(n) || n != bytes) broken(label, "its zstd data does not unpack to the stated size");
    } else {
        const int n = LZ4_decompress_safe((const char *)e->payload, out.text, (int)stored, (int)bytes);
        if (n < 0 || (uint64_t)n != bytes) broken(label, "its LZ4 data does not unpack to the stated size");
    }
    out.text[bytes] = '\0';
    out.len = strnlen(out.text, bytes);
    out.name = e->name ? arena_strndup(arena, e->name, e->name_len) : NULL;
    return out;
}

struct fatbin_text fatbin_choose(struct arena *arena, const char *label, const void *image, size_t bytes,
                                 uint32_t arch)
{
    const uint8_t *at, *end;
    const char *why = open_container(image, bytes, &at, &end);
    if (why) broken(label, why);
    struct entry best = {0};
    uint32_t cubins = 0, cubin_arch = 0;
    while (at < end) {
        struct entry e;
        if ((why = next_entry(&at, end, &e))) broken(label, why);
        if (e.kind != KIND_PTX) {
            cubins++;
            cubin_arch = e.arch;
        } else if (!best.payload || fits_better(e.arch, best.arch, arch)) {
            best = e;
        }
    }
    if (best.payload) return unpack(arena, label, &best);
    if (cubins)
        diag_mistake("%s: the program has machine code for sm_%u only, no PTX, which is what Atoll executes; "
                     "rebuild it with PTX: nvcc -gencode arch=compute_%u,code=compute_%u (or -arch=sm_%u)",
                     label, cubin_arch, cubin_arch, cubin_arch, cubin_arch);
    return (struct fatbin_text){0};
}
