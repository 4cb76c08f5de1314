/* copies: what each place holds of each line: versions, which bytes are there, and of which line. See
 * check.h. */
#include <string.h>

#include "check/check_private.h"

struct check_place *check_place_new(struct check *c, const char *name, uint32_t lines, bool memory_side)
{
    struct check_place *p = ARENA_NEW(&c->arena, struct check_place);
    *p = (struct check_place){
        .check = c, .name = name, .lines = lines, .coherent = memory_side, .next = c->places};
    p->copies = ARENA_ARRAY(&c->arena, struct copy, lines);
    if (memory_side) p->arriving = ARENA_ARRAY(&c->arena, struct copy, lines);
    c->places = p;
    return p;
}

struct memory_line *check_memory_line(struct check *c, uint64_t frame)
{
    bool fresh;
    uint64_t *found = map_put(&c->memory, frame, &fresh);
    if (fresh) *found = (uint64_t)(uintptr_t)ARENA_NEW(&c->arena, struct memory_line);
    return (
        struct memory_line *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
}

static uint64_t sector_bytes(uint8_t sectors, uint32_t half)
{
    return (sectors >> (2 * half) & 1 ? UINT32_MAX : 0) |
           (uint64_t)(sectors >> (2 * half + 1) & 1 ? UINT32_MAX : 0) << 32;
}

/* Sectors of one copy replace those of another; of bytes only what is there. */
static void take_sectors(struct copy *to, const struct copy *from, uint8_t sectors)
{
    to->frame = from->frame;
    for (uint32_t half = 0; half < 2; half++) {
        const uint64_t these = sector_bytes(sectors, half);
        to->bytes[half] = (to->bytes[half] & ~these) | (from->bytes[half] & these);
    }
    for (uint32_t left = check_words_in(sectors); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        to->version[w] = from->version[w];
    }
}

void check_copy_reply(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors)
{
    take_sectors(&p->copies[idx], &p->check->requests[request].data, sectors);
}

void check_copy_from(struct check_place *p, uint32_t idx, uint32_t from, uint8_t sectors)
{
    if (sectors) take_sectors(&p->copies[idx], &p->copies[from], sectors);
}

/* ---- stores ---- */

static bool same_warp(const struct version *a, const struct version *b)
{
    return a->kernel == b->kernel && a->block == b->block && a->sm == b->sm && a->warp == b->warp &&
           a->generation == b->generation;
}

/* The version that a request stores to a word. */
static uint32_t version_in(const struct request_copy *r, uint32_t w)
{
    return r->kept ? r->data.version[w] : r->version;
}

static void store_word(struct check *c, const char *place, struct copy *copy, const struct request_copy *r,
                       uint32_t w, uint64_t now)
{
    const uint32_t here = copy->version[w], version = version_in(r, w);
    if (here > version) {
        if (same_warp(&c->versions[here], &c->versions[version]))
            check_wrong(c, now, r->line->key, w, place,
                        arena_printf(&c->arena, "stores of a warp arrive in the wrong order: %s after %s",
                                     check_describe(c, version), check_describe(c, here)));
        c->counts.racy_stores++;
        return;
    }
    copy->version[w] = version;
}

static const struct request_copy *request_of(struct check *c, const char *place, uint32_t request,
                                             uint64_t now)
{
    const struct request_copy *r = &c->requests[request];
    if (!r->line)
        diag_check_failed("--check: at cycle %llu %s serves request %u, which nobody waits for",
                          (unsigned long long)now, place, request);
    return r;
}

static const struct request_copy *on_its_way(struct check_place *p, uint32_t request, uint64_t now)
{
    return request_of(p->check, p->name, request, now);
}

void check_store(struct check *c, const char *place, struct copy *copy, uint32_t request, uint64_t now)
{
    const struct request_copy *r = request_of(c, place, request, now);
    if (!copy->frame) copy->frame = r->frame;
    if (copy->frame != r->frame)
        check_wrong(c, now, r->line->key, 0, place, "a store writes a copy of another line");
    for (uint32_t left = check_words_of(r->bytes); left; left &= left - 1)
        store_word(c, place, copy, r, (uint32_t)__builtin_ctz(left), now);
    copy->bytes[0] |= r->bytes[0];
    copy->bytes[1] |= r->bytes[1];
}

static void raise_to(uint32_t versions[CHECK_WORDS], const struct request_copy *r)
{
    for (uint32_t left = check_words_of(r->bytes); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        if (r->version > versions[w]) versions[w] = r->version;
    }
}

/* united: every frame of the line has the store from now on. */
static void perform(struct check_place *p, const struct request_copy *r)
{
    struct memory_line *m = check_memory_line(p->check, r->frame - 1);
    if (!m->performed) m->performed = ARENA_ARRAY(&p->check->arena, uint32_t, CHECK_WORDS);
    raise_to(m->performed, r);
}

void check_copy_store(struct check_place *p, uint32_t idx, uint32_t request, uint64_t now)
{
    check_store(p->check, p->name, &p->copies[idx], request, now);
    if (p->check->united && p->arriving) perform(p, &p->check->requests[request]);
}

void check_copy_update(struct check_place *p, uint32_t idx, uint32_t sm, uint64_t now)
{
    check_copy_store(p, idx, p->check->sms[sm].last_sent, now);
}

/* ---- copies that go ---- */

void check_copy_drop(struct check_place *p, uint32_t idx, uint64_t now)
{
    struct check *c = p->check;
    struct copy *copy = &p->copies[idx];
    if (p->arriving && copy->frame) {
        const struct memory_line *m = check_memory_line(c, copy->frame - 1);
        for (uint32_t w = 0; w < CHECK_WORDS; w++) {
            const uint32_t v = copy->version[w];
            if (v <= m->now[w] || v <= m->coming[w]) continue;
            check_wrong(c, now, c->versions[v].line, w, p->name,
                        arena_printf(&c->arena, "the only copy of %s is dropped without being written back",
                                     check_describe(c, v)));
        }
    }
    *copy = (struct copy){0};
}

void check_write_back(struct check_place *p, uint32_t idx, const uint64_t dirty[2])
{
    const struct copy *copy = &p->copies[idx];
    p->check->counts.write_backs++;
    if (!copy->frame) return;
    struct memory_line *m = check_memory_line(p->check, copy->frame - 1);
    for (uint32_t left = check_words_of(dirty); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        if (copy->version[w] > m->coming[w]) m->coming[w] = copy->version[w];
    }
}

void check_place_coherent(struct check_place *p, bool coherent) { p->coherent = coherent; }

void check_write_through(struct check_place *p, uint32_t request)
{
    const struct request_copy *r = &p->check->requests[request];
    p->check->counts.write_backs++;
    raise_to(check_memory_line(p->check, r->frame - 1)->coming, r);
}

void check_memory_store(struct check_place *p, uint32_t request)
{
    const struct request_copy *r = &p->check->requests[request];
    raise_to(check_memory_line(p->check, r->frame - 1)->now, r);
}

/* ---- reads ---- */

/* At the memory side nothing acknowledged is missing. */
static void acknowledged_is_here(struct check_place *p, const struct copy *copy, const struct request_copy *r,
                                 uint8_t sectors, uint64_t now)
{
    struct check *c = p->check;
    const uint64_t key = r->line->key;
    for (uint32_t left = check_words_in(sectors); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left), must = check_acknowledged(r->line, w);
        if (!check_has_word(copy, w))
            check_wrong(c, now, key, w, p->name,
                        arena_printf(&c->arena, "a read of SM %u is served before the word is there", r->sm));
        if (check_is_foreign(c, copy->version[w], key))
            check_wrong(c, now, key, w, p->name,
                        arena_printf(&c->arena, "a read of SM %u gets another line's data: %s", r->sm,
                                     check_describe(c, copy->version[w])));
        if (copy->version[w] < must)
            check_stale(c, now, arena_printf(&c->arena, "a request of SM %u", r->sm), key, w, p->name,
                        copy->version[w], must, "the store was acknowledged before the read is served here");
    }
}

/* united: the copy of a frame with the stores that reached the other frames of the line. */
static void add_performed(struct check *c, struct copy *copy)
{
    const struct memory_line *m = check_memory_line(c, copy->frame - 1);
    for (uint32_t w = 0; m->performed && w < CHECK_WORDS; w++)
        if (m->performed[w] > copy->version[w]) copy->version[w] = m->performed[w];
}

void check_copy_read(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors, uint64_t now)
{
    struct check *c = p->check;
    const struct copy *copy = &p->copies[idx];
    const struct request_copy *r = on_its_way(p, request, now);
    if (!copy->frame)
        check_wrong(c, now, r->line->key, 0, p->name,
                    arena_printf(&c->arena, "a read of SM %u is served before the line is there", r->sm));
    if (copy->frame != r->frame)
        check_wrong(c, now, r->line->key, 0, p->name,
                    arena_printf(&c->arena, "a read of frame line 0x%llx is served from a copy of 0x%llx",
                                 (unsigned long long)(r->frame - 1), (unsigned long long)(copy->frame - 1)));
    struct copy newest;
    if (c->united && p->arriving) {
        newest = *copy;
        add_performed(c, &newest);
        copy = &newest;
    }
    if (p->coherent || (p->arriving && r->version)) {
        acknowledged_is_here(p, copy, r, sectors, now);
        c->counts.memory_side_reads++;
    }
    take_sectors(&c->requests[request].data, copy, sectors);
}

/* ---- from place to place ---- */

void check_forward(struct check *c, uint32_t request, uint32_t for_request)
{
    const struct request_copy *r = &c->requests[for_request];
    c->requests[request] = (struct request_copy){.line = r->line, .frame = r->frame, .sm = r->sm};
}

/* Sectors replace those of the copy, but for words that are newer there. */
static void fill(struct copy *copy, const struct copy *from, uint8_t sectors, const uint64_t dirty[2])
{
    const uint32_t kept = check_words_of(dirty);
    copy->frame = from->frame;
    for (uint32_t half = 0; half < 2; half++) copy->bytes[half] |= sector_bytes(sectors, half);
    for (uint32_t left = check_words_in(sectors); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        if (kept >> w & 1 && copy->version[w] > from->version[w]) continue;
        copy->version[w] = from->version[w];
    }
}

void check_remote_fill(struct check_place *p, uint32_t idx, uint32_t request, uint8_t sectors,
                       const uint64_t dirty[2])
{
    fill(&p->copies[idx], &p->check->requests[request].data, sectors, dirty);
}

void check_place_expects(struct check_place *p)
{
    p->coming = ARENA_ARRAY(&p->check->arena, struct copy, p->lines);
}

void check_remote_arrived(struct check_place *p, uint32_t idx, const uint64_t dirty[2])
{
    fill(&p->copies[idx], &p->coming[idx], 15, dirty);
}

void check_forward_done(struct check *c, uint32_t request) { c->requests[request].line = NULL; }

/* ---- memory ---- */

void check_memory_write(struct check *c, uint64_t frame)
{
    struct memory_line *m = check_memory_line(c, frame);
    for (uint32_t w = 0; w < CHECK_WORDS; w++)
        if (m->coming[w] > m->now[w]) m->now[w] = m->coming[w];
}

void check_memory_read(struct check_place *p, uint32_t idx, uint64_t frame, uint8_t sectors)
{
    const struct memory_line *m = check_memory_line(p->check, frame);
    struct copy from = {.frame = frame + 1, .bytes = {UINT64_MAX, UINT64_MAX}};
    memcpy(from.version, m->now, sizeof from.version);
    take_sectors(&p->arriving[idx], &from, sectors);
}

void check_memory_redirect(struct check_place *p, uint32_t idx, uint32_t from, uint8_t sectors)
{
    take_sectors(&p->arriving[idx], &p->arriving[from], sectors);
}

void check_memory_fill(struct check_place *p, uint32_t idx, uint8_t sectors, const uint64_t dirty[2],
                       uint64_t now)
{
    struct copy *copy = &p->copies[idx];
    const struct copy *from = &p->arriving[idx];
    if (copy->frame && copy->frame != from->frame) {
        const struct memory_line *m = check_memory_line(p->check, copy->frame - 1);
        check_wrong(p->check, now, m->key - 1, 0, p->name, "memory fills it with another line");
    }
    fill(copy, from, sectors, dirty);
}
