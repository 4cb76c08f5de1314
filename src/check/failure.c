/* failure: what a failed check says: who read what, where it came from, and who wrote what should be there.
 */
#include "check/check_private.h"

static const char *kernel_name(const struct check *c)
{
    return c->kernel_count ? c->kernels[c->kernel_count - 1] : "(none)";
}

const char *check_describe(struct check *c, uint32_t version)
{
    if (!version) return "version 0 (what was there before any kernel stored to it)";
    const struct version *v = &c->versions[version];
    const char *text = arena_printf(
        &c->arena,
        "version %u (stored at cycle %llu by kernel '%s' (launch %u), block %llu, SM %u, warp slot %u",
        version, (unsigned long long)v->issue_cyc, c->kernels[v->kernel], v->kernel,
        (unsigned long long)v->block, v->sm, v->warp);
    if (!v->acknowledged) return arena_printf(&c->arena, "%s, not acknowledged)", text);
    return arena_printf(&c->arena, "%s, acknowledged at cycle %llu)", text, (unsigned long long)v->ack_cyc);
}

const char *check_reader(struct check *c, uint32_t sm, uint32_t warp, uint64_t block)
{
    return arena_printf(&c->arena, "SM %u, warp slot %u, block %llu", sm, warp, (unsigned long long)block);
}

static unsigned long long address_of(uint64_t key, uint32_t word)
{
    const uint64_t line = key & (((uint64_t)1 << 56) - 1);
    return (line << 7) + word * 4u;
}

void check_stale(struct check *c, uint64_t now, const char *reader, uint64_t key, uint32_t word,
                 const char *place, uint32_t seen, uint32_t must, const char *why)
{
    diag_check_failed("--check: stale read at cycle %llu in kernel '%s' (launch %u)\n"
                      "  who      %s\n"
                      "  address  0x%llx, application %llu\n"
                      "  from     %s\n"
                      "  saw      %s\n"
                      "  must see %s\n"
                      "  because  %s",
                      (unsigned long long)now, kernel_name(c), c->kernel_count - 1, reader,
                      address_of(key, word), (unsigned long long)(key >> 56), place, check_describe(c, seen),
                      check_describe(c, must), why);
}

void check_wrong(struct check *c, uint64_t now, uint64_t key, uint32_t word, const char *place,
                 const char *what)
{
    diag_check_failed("--check: wrong copy at cycle %llu in kernel '%s' (launch %u)\n"
                      "  where    %s\n"
                      "  address  0x%llx, application %llu\n"
                      "  what     %s",
                      (unsigned long long)now, kernel_name(c), c->kernel_count - 1, place,
                      address_of(key, word), (unsigned long long)(key >> 56), what);
}
