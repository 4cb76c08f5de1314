/* check: versions from issue to reply, and what loads, fences and kernels demand. See check.h. */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "check/check_private.h"

/* ---- building ---- */

struct check *check_new(uint32_t sms, uint32_t loads, uint32_t requests)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c) diag_mistake("out of host memory for --check");
    arena_init(&c->arena);
    map_init(&c->lines);
    map_init(&c->memory);
    c->sm_count = sms;
    c->sms = ARENA_ARRAY(&c->arena, struct check_sm, sms);
    for (uint32_t k = 0; k < sms; k++) c->sms[k].loads = ARENA_ARRAY(&c->arena, struct ticket *, loads);
    c->requests = ARENA_ARRAY(&c->arena, struct request_copy, requests);
    c->version_count = 1; /* 0: from before */
    return c;
}

void check_free(struct check *c)
{
    if (!c) return;
    for (uint32_t k = 0; k < c->sm_count; k++) free(c->sms[k].unsent);
    check_sparse_free_all(c);
    map_free(&c->lines);
    map_free(&c->memory);
    free(c->versions);
    free(c->observations);
    free(c->kernels);
    arena_free(&c->arena);
    free(c);
}

void check_expect_stale(struct check *c) { c->expects_stale = true; }

struct check_counts check_counts(const struct check *c) { return c->counts; }

/* ---- what is true of a line ---- */

struct line *check_line(struct check *c, uint64_t key)
{
    bool fresh;
    uint64_t *found = map_put(&c->lines, key, &fresh);
    if (fresh) {
        struct line *l = ARENA_NEW(&c->arena, struct line);
        l->key = key;
        *found = (uint64_t)(uintptr_t)l;
    }
    return (struct line *)(uintptr_t)*found; // NOLINT(performance-no-int-to-ptr): the map holds pointers
}

uint32_t check_acknowledged(const struct line *l, uint32_t word)
{
    return l->state_count ? l->states[l->state_count - 1].version[word] : 0;
}

/* What was acknowledged before the cycle; NULL: nothing. Not in it: within a cycle SMs have no order. */
static const struct acknowledged *state_before(const struct line *l, uint64_t cyc)
{
    for (uint32_t k = l->state_count; k-- > 0;)
        if (l->states[k].cyc < cyc) return &l->states[k];
    return NULL;
}

/* Is there an SM whose acquire point lies after the first cycle, and not after the last? */
static bool any_acquired(const struct check *c, uint64_t first_cyc, uint64_t last_cyc)
{
    for (uint32_t k = 0; k < c->sm_count; k++)
        if (c->sms[k].acquire_cyc > first_cyc && c->sms[k].acquire_cyc <= last_cyc) return true;
    return false;
}

/* States that no SM can ask for any more make room. */
static void forget_states(const struct check *c, struct line *l)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < l->state_count; k++)
        if (k + 1 == l->state_count || any_acquired(c, l->states[k].cyc, l->states[k + 1].cyc))
            l->states[kept++] = l->states[k];
    l->state_count = kept;
}

/* The state that acknowledgements of now go into. */
static struct acknowledged *state_now(struct check *c, struct line *l, uint64_t now)
{
    if (l->state_count && l->states[l->state_count - 1].cyc >= now) return &l->states[l->state_count - 1];
    if (l->state_count == l->state_capacity) forget_states(c, l);
    if (l->state_count == l->state_capacity) {
        l->state_capacity = l->state_capacity ? 2 * l->state_capacity : 2;
        struct acknowledged *more = ARENA_ARRAY(&c->arena, struct acknowledged, l->state_capacity);
        if (l->state_count) memcpy(more, l->states, l->state_count * sizeof *more);
        l->states = more;
    }
    struct acknowledged *s = &l->states[l->state_count++];
    if (l->state_count > 1)
        *s = s[-1];
    else
        *s = (struct acknowledged){0};
    s->cyc = now;
    return s;
}

/* ---- issue ---- */

static uint64_t key_of(uint32_t app, uint64_t line) { return (uint64_t)app << 56 | line; }

/* What the load must see is settled now: later acquire points and stores are not its own. */
static void issue_load(struct check *c, struct line *l, const struct check_access *a, uint64_t now)
{
    struct check_sm *sm = &c->sms[a->sm];
    struct ticket *t = c->free_tickets;
    if (t)
        c->free_tickets = t->next;
    else
        t = ARENA_NEW(&c->arena, struct ticket);
    *t = (struct ticket){.next = sm->loads[a->load],
                         .line = l,
                         .block = a->block,
                         .issue_cyc = now,
                         .words = check_words_of(a->bytes),
                         .warp = a->warp};
    sm->loads[a->load] = t;
    if (!l->newest) return;
    const struct acknowledged *before = state_before(l, sm->acquire_cyc);
    for (uint32_t left = t->words; left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left), newest = l->newest[w];
        const struct version *v = &c->versions[newest];
        const bool own = newest && v->block == a->block && v->kernel == a->kernel;
        t->newest[w] = newest;
        t->must[w] = own ? newest : before ? before->version[w] : 0;
    }
}

static void issue_store(struct check *c, struct line *l, const struct check_access *a, uint64_t now)
{
    struct check_sm *sm = &c->sms[a->sm];
    DIAG_ASSERT(c->version_count < UINT32_MAX);
    const uint32_t version = c->version_count;
    c->versions = grow(c->versions, version, &c->version_capacity, sizeof *c->versions, "--check");
    c->versions[c->version_count++] = (struct version){.line = l->key,
                                                       .block = a->block,
                                                       .issue_cyc = now,
                                                       .kernel = a->kernel,
                                                       .sm = (uint16_t)a->sm,
                                                       .warp = a->warp,
                                                       .generation = a->generation};
    if (!l->newest) l->newest = ARENA_ARRAY(&c->arena, uint32_t, CHECK_WORDS);
    for (uint32_t left = check_words_of(a->bytes); left; left &= left - 1)
        l->newest[__builtin_ctz(left)] = version;
    sm->unsent = grow(sm->unsent, sm->unsent_count, &sm->unsent_capacity, sizeof *sm->unsent, "--check");
    sm->unsent[sm->unsent_count++] = version;
    if (sm->warps[a->warp].generation != a->generation) {
        sm->warps[a->warp].generation = a->generation;
        sm->warps[a->warp].stores = 0;
    }
    sm->warps[a->warp].stores++;
    sm->warps[a->warp].last = version;
    c->unacknowledged++;
    c->counts.stores++;
}

/* A line that the compiler's analysis marked read-only is not written by the same kernel. */
static void check_read_only(struct check *c, struct line *l, const struct check_access *a, uint64_t now)
{
    if (a->read_only) {
        l->read_only_in = a->kernel + 1;
        c->counts.read_only_loads++;
    }
    if (a->writes) l->written_in = a->kernel + 1;
    if (!c->kernel_count || l->read_only_in != a->kernel + 1 || l->written_in != a->kernel + 1) return;
    const uint64_t address = a->line << 7;
    diag_check_failed(
        "--check: at cycle %llu line 0x%llx (address 0x%llx) is %s in kernel '%s', which also %s it: "
        "the analysis of read-only data is wrong here",
        (unsigned long long)now, (unsigned long long)a->line, (unsigned long long)address,
        a->writes ? "written" : "read with ld.global.ro", c->kernels[a->kernel],
        a->writes ? "reads with ld.global.ro" : "writes");
}

void check_issue(struct check *c, const struct check_access *a, uint64_t now)
{
    struct line *l = check_line(c, key_of(a->app, a->line));
    if (a->read_only || a->writes) check_read_only(c, l, a, now);
    if (a->reads) issue_load(c, l, a, now);
    if (a->writes) issue_store(c, l, a, now);
}

/* ---- requests ---- */

/* The oldest store of this warp to this line that has not been sent. */
static uint32_t take_unsent(struct check *c, const struct check_access *a, uint64_t key)
{
    struct check_sm *sm = &c->sms[a->sm];
    for (uint32_t k = 0; k < sm->unsent_count; k++) {
        const struct version *v = &c->versions[sm->unsent[k]];
        if (v->line != key || v->warp != a->warp || v->generation != a->generation) continue;
        const uint32_t version = sm->unsent[k];
        sm->unsent_count--;
        memmove(&sm->unsent[k], &sm->unsent[k + 1], (sm->unsent_count - k) * sizeof *sm->unsent);
        return version;
    }
    return 0;
}

void check_replicas(struct check *c, bool united)
{
    c->replicas = true;
    c->united = united;
}

/* The line is sent to another of its frames for the first time. united: the frames share one memory line. */
static void learn_replica(struct check *c, struct line *l, uint64_t frame)
{
    if (c->united) {
        const uint64_t shared = (uint64_t)(uintptr_t)check_memory_line(c, l->frame - 1);
        *map_put(&c->memory, frame, NULL) = shared;
    } else {
        check_memory_line(c, frame)->key = l->key + 1;
    }
    l->moved = true;
}

/* A frame has one line; a line one frame, and copies of its page. */
static void learn_frame(struct check *c, struct line *l, uint64_t frame, uint64_t now)
{
    if (l->frame == frame + 1) return;
    struct memory_line *m = check_memory_line(c, frame);
    if (m->key == l->key + 1 && l->frame) return;
    if (l->frame && c->replicas && !m->key) {
        learn_replica(c, l, frame);
        return;
    }
    if (l->frame)
        check_wrong(c, now, l->key, 0, "address translation",
                    arena_printf(&c->arena, "the line is sent to frame line 0x%llx, but lives in 0x%llx",
                                 (unsigned long long)frame, (unsigned long long)(l->frame - 1)));
    if (m->key && m->key != l->key + 1)
        check_wrong(c, now, l->key, 0, "address translation",
                    arena_printf(&c->arena, "the line is sent to frame line 0x%llx, where line 0x%llx lives",
                                 (unsigned long long)frame, (unsigned long long)(m->key - 1)));
    l->frame = frame + 1;
    m->key = l->key + 1;
}

void check_send(struct check *c, const struct check_access *a, uint32_t request, uint64_t frame, uint64_t now)
{
    struct line *l = check_line(c, key_of(a->app, a->line));
    struct request_copy *r = &c->requests[request];
    learn_frame(c, l, frame, now);
    *r = (struct request_copy){
        .line = l, .frame = frame + 1, .bytes = {a->bytes[0], a->bytes[1]}, .sm = a->sm};
    if (!a->writes) return;
    r->version = take_unsent(c, a, l->key);
    if (!r->version) check_wrong(c, now, l->key, 0, "SM", "a store is sent that was not issued, or twice");
    c->sms[a->sm].last_sent = request;
}

/* ---- pages that move ---- */

void check_page_read(struct check *c, uint32_t request, uint32_t app, uint64_t line, uint64_t frame,
                     uint32_t sm)
{
    struct line *l = check_line(c, key_of(app, line));
    if (!l->frame) { /* nobody has used it yet */
        l->frame = frame + 1;
        check_memory_line(c, frame)->key = l->key + 1;
    }
    c->requests[request] = (struct request_copy){.line = l, .frame = frame + 1, .sm = sm};
}

void check_page_write(struct check *c, uint32_t request, uint64_t frame)
{
    struct request_copy *r = &c->requests[request];
    struct memory_line *m = check_memory_line(c, frame);
    m->key = r->line->key + 1;
    memcpy(m->coming, r->data.version, sizeof m->coming);
    r->line->moved = true;
    r->line = NULL;
}

void check_line_moves(struct check *c, uint32_t app, uint64_t line, uint64_t from, uint64_t to,
                      const char *hazard, uint64_t now)
{
    struct line *l = check_line(c, key_of(app, line));
    struct memory_line *m = check_memory_line(c, to);
    if (hazard) check_wrong(c, now, l->key, 0, "memory", hazard);
    *m = *check_memory_line(c, from);
    if (l->frame) m->key = l->key + 1;
    l->moved = true;
}

void check_frame_free(struct check *c, uint64_t frame)
{
    const struct memory_line *m = check_memory_line(c, frame);
    if (c->replicas && m->key && check_line(c, m->key - 1)->frame == frame + 1)
        check_line(c, m->key - 1)->frame = 0;
    *check_memory_line(c, frame) = (struct memory_line){0};
}

void check_page_moved(struct check *c, uint32_t app, uint64_t line, uint64_t frame)
{
    struct line *l = check_line(c, key_of(app, line));
    if (!l->frame) return;
    check_frame_free(c, l->frame - 1);
    l->frame = frame + 1;
}

void check_line_freed(struct check *c, uint32_t app, uint64_t line)
{
    struct line *l = check_line(c, key_of(app, line));
    l->frame = 0;
    l->newest = NULL;
    l->state_count = 0;
    l->moved = true;
}

void check_acknowledge(struct check *c, struct line *l, uint32_t version, const uint64_t bytes[2],
                       uint64_t now)
{
    struct version *v = &c->versions[version];
    struct check_sm *sm = &c->sms[v->sm];
    struct acknowledged *s = state_now(c, l, now);
    v->acknowledged = true;
    v->ack_cyc = now;
    c->unacknowledged--;
    if (sm->warps[v->warp].generation == v->generation) sm->warps[v->warp].stores--;
    for (uint32_t left = check_words_of(bytes); left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        if (version > s->version[w]) s->version[w] = version;
    }
}

void check_reply(struct check *c, uint32_t request, uint64_t now)
{
    struct request_copy *r = &c->requests[request];
    if (!r->line)
        diag_check_failed(
            "--check: at cycle %llu an SM got a reply to request %u, which waits for none: it was "
            "answered before",
            (unsigned long long)now, request);
    if (r->version && !r->stays) check_acknowledge(c, r->line, r->version, r->bytes, now);
    r->line = NULL;
}

/* ---- loads ---- */

/* A load of the block has read a version that is not answered. */
static void observe(struct check *c, uint32_t version, uint32_t sm, const struct ticket *t, uint64_t now)
{
    const struct version *const v = &c->versions[version];
    if (!c->cumulative || !version || v->acknowledged) return;
    const uint32_t last = c->observation_count;
    if (last && c->observations[last - 1].version == version && c->observations[last - 1].block == t->block &&
        c->observations[last - 1].sm == sm)
        return;
    c->observations =
        grow(c->observations, last, &c->observation_capacity, sizeof *c->observations, "--check");
    c->observations[c->observation_count++] =
        (struct observation){.block = t->block, .cyc = now, .sm = sm, .version = version};
}

void check_expect_cumulative(struct check *c) { c->cumulative = true; }

void check_cumulative(struct check *c, uint32_t sm, uint64_t block, uint64_t since_cyc, uint64_t now)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < c->observation_count; k++) {
        const struct observation *const o = &c->observations[k];
        if (c->versions[o->version].acknowledged) continue;
        if (o->block == block && o->sm == sm && o->cyc < since_cyc)
            diag_check_failed("--check: fence not cumulative at cycle %llu: block %llu on SM %u passes a "
                              "fence or release of GPU "
                              "scope, but its load at cycle %llu has read %s",
                              (unsigned long long)now, (unsigned long long)block, sm,
                              (unsigned long long)o->cyc, check_describe(c, o->version));
        c->observations[kept++] = *o;
    }
    c->observation_count = kept;
}

static void load_word(struct check *c, const struct ticket *t, const struct copy *copy, uint32_t w,
                      const char *reader, const char *place, uint64_t now)
{
    const uint64_t key = t->line->key;
    if (!check_has_word(copy, w))
        check_wrong(c, now, key, w, place,
                    arena_printf(&c->arena, "%s reads a word that is not there", reader));
    const uint32_t seen = copy->version[w];
    if (check_is_foreign(c, seen, key))
        check_wrong(
            c, now, key, w, place,
            arena_printf(&c->arena, "%s reads another line's data: %s", reader, check_describe(c, seen)));
    c->counts.words++;
    c->counts.ordered_words += t->must[w] != 0;
    if (seen < t->must[w] && c->expects_stale)
        c->counts.stale_words++;
    else if (seen < t->must[w])
        check_stale(
            c, now, reader, key, w, place, seen, t->must[w],
            arena_printf(&c->arena,
                         "the load was issued at cycle %llu, after an acquire point of its SM that follows "
                         "the acknowledgement, or after that store in its own block",
                         (unsigned long long)t->issue_cyc));
    c->counts.racy_words += seen < t->newest[w];
}

/* Takes the load's ticket for the line and holds the copy against it. */
static void load_line(struct check *c, const struct copy *copy, uint32_t sm, uint32_t load, uint64_t key,
                      const char *place, uint64_t now)
{
    struct ticket **at = &c->sms[sm].loads[load];
    while (*at && (*at)->line->key != key) at = &(*at)->next;
    struct ticket *t = *at;
    if (!t)
        check_wrong(c, now, key, 0, place,
                    arena_printf(&c->arena, "SM %u gets the line for a load that does not wait for it", sm));
    *at = t->next;
    const char *reader = NULL;
    if (copy->frame != t->line->frame && !t->line->moved)
        check_wrong(c, now, key, 0, place,
                    arena_printf(
                        &c->arena, "SM %u reads a copy of frame line 0x%llx, but the line lives in 0x%llx",
                        sm, (unsigned long long)(copy->frame - 1), (unsigned long long)(t->line->frame - 1)));
    for (uint32_t left = t->words; left; left &= left - 1) {
        const uint32_t w = (uint32_t)__builtin_ctz(left);
        const bool fine = check_has_word(copy, w) && copy->version[w] >= t->must[w] &&
                          !check_is_foreign(c, copy->version[w], key);
        if (!fine) reader = check_reader(c, sm, t->warp, t->block);
        load_word(c, t, copy, w, reader, place, now);
        observe(c, copy->version[w], sm, t, now);
    }
    c->counts.loads++;
    t->next = c->free_tickets;
    c->free_tickets = t;
}

void check_load(struct check_place *p, uint32_t idx, uint32_t sm, uint32_t load, uint32_t app, uint64_t line,
                uint64_t now)
{
    load_line(p->check, &p->copies[idx], sm, load, key_of(app, line), p->name, now);
}

void check_load_reply(struct check *c, uint32_t request, uint32_t load, uint64_t now)
{
    const struct request_copy *r = &c->requests[request];
    if (!r->line) return; /* check_reply() says so */
    load_line(c, &r->data, r->sm, load, r->line->key, "reply to the SM, past its L1", now);
}

/* ---- ordering points ---- */

void check_acquire(struct check *c, uint32_t sm, uint64_t now)
{
    c->sms[sm].acquire_cyc = now;
    c->counts.acquires++;
}

void check_release(struct check *c, uint32_t sm, uint32_t warp, uint32_t generation, uint64_t now)
{
    const struct check_sm *s = &c->sms[sm];
    c->counts.releases++;
    if (s->warps[warp].generation != (uint16_t)generation || !s->warps[warp].stores) return;
    const uint32_t last = s->warps[warp].last;
    diag_check_failed(
        "--check: release before its stores at cycle %llu: SM %u, warp slot %u passes a fence or release "
        "of GPU scope while %u of its stores are not acknowledged, the last of them %s",
        (unsigned long long)now, sm, warp, s->warps[warp].stores, check_describe(c, last));
}

/* ---- kernels ---- */

uint32_t check_kernel_begin(struct check *c, const char *name)
{
    c->kernels = grow(c->kernels, c->kernel_count, &c->kernel_capacity, sizeof *c->kernels, "--check");
    c->kernels[c->kernel_count] = arena_strdup(&c->arena, name);
    return c->kernel_count++;
}

/* Memory holds the newest version of every word. */
static void memory_is_newest(struct check *c, const char *when, uint64_t now)
{
    size_t cursor = 0;
    for (const struct map_entry *e; (e = map_next(&c->lines, &cursor));) {
        struct line *l = (struct line *)(uintptr_t)e->value; // NOLINT(performance-no-int-to-ptr)
        if (!l->newest) continue;
        const struct memory_line *m = check_memory_line(c, l->frame - 1);
        for (uint32_t w = 0; w < CHECK_WORDS; w++)
            if (m->now[w] < l->newest[w])
                check_stale(c, now, when, l->key, w, "memory", m->now[w], l->newest[w],
                            "all stores have ended: somebody lost it");
    }
}

void check_kernel_end(struct check *c, uint32_t kernel, bool flushed, uint64_t now)
{
    for (uint32_t k = 1; c->unacknowledged && k < c->version_count; k++)
        if (c->versions[k].kernel == kernel && !c->versions[k].acknowledged &&
            !(c->versions[k].kept && c->expects_stale))
            diag_check_failed(
                "--check: kernel '%s' ended at cycle %llu, but %llu stores are not acknowledged; first: %s",
                c->kernels[kernel], (unsigned long long)now, (unsigned long long)c->unacknowledged,
                check_describe(c, k));
    if (flushed) memory_is_newest(c, "nobody: the flush at the end of the kernel", now);
}

void check_finish(struct check *c, uint64_t now)
{
    for (const struct check_place *p = c->places; p; p = p->next)
        for (uint32_t k = 0; p->arriving && k < p->lines; k++) {
            const struct copy *copy = &p->copies[k];
            if (!copy->frame) continue;
            struct memory_line *m = check_memory_line(c, copy->frame - 1);
            for (uint32_t w = 0; w < CHECK_WORDS; w++)
                if (copy->version[w] > m->now[w]) m->now[w] = copy->version[w];
        }
    check_sparse_finish(c);
    memory_is_newest(c, "nobody: memory and the memory side together, at the end of the run", now);
}
