/* owned: the owned colours of an application change while it runs (pages.h). The L2 TLB holds two masks per
 * application: `owned`, and `gained` by the last change. Pages move when SMs touch them:
 *
 *   translation                          moves                                             counted as
 *   outside owned                        always                                            lost
 *   in owned, outside gained             while gained is set, and its colour has at least   gained
 *                                        two pages more than the least filled gained colour;
 *                                        pages.gained=spread: only the share of its neighbours
 *                                        that the gained colours are of the owned ones
 *
 * With pages.faulting=all every page moves once after a change of the set, whatever its colour; gained is not used.
 * A page whose colour is owned may get another frame of this colour.
 *
 * The driver clears gained when no colour of owned outside gained has so many pages more. Untouched pages stay.
 * The new frame is in the owned colour with the fewest pages of the application; ties: the lowest number.
 * page_app.planned counts a page in the colour where the page is or will be. */
#include "check/check.h"
#include "check/fault.h"
#include "pages/pages_private.h"

static uint64_t bit(uint32_t colour) { return (uint64_t)1 << colour; }

static uint64_t mask_of(const struct colours *c)
{
    uint64_t mask = 0;
    for (uint32_t k = 0; c && k < c->count; k++) mask |= bit(c->colour[k]);
    return mask;
}

/* The colour of the mask with the fewest pages. */
static uint32_t fewest(const struct page_app *a, uint64_t mask)
{
    uint32_t best = (uint32_t)__builtin_ctzll(mask);
    for (uint64_t left = mask & (mask - 1); left; left &= left - 1) {
        const uint32_t colour = (uint32_t)__builtin_ctzll(left);
        if (a->planned[colour] < a->planned[best]) best = colour;
    }
    return best;
}

/* Pages above the least filled gained colour from which on a page of an old colour moves. */
enum { GAINED_MARGIN = 2 };

static bool is_full_beside(const struct page_app *a, uint64_t gained, uint32_t colour)
{
    return a->planned[colour] >= a->planned[fewest(a, gained)] + GAINED_MARGIN;
}

static bool any_full_beside(const struct page_app *a, const struct page_owner *o)
{
    for (uint64_t left = o->owned & ~o->gained; left; left &= left - 1)
        if (is_full_beside(a, o->gained, (uint32_t)__builtin_ctzll(left))) return true;
    return false;
}

/* Numbers of pages have changed. */
static void update(struct page_life *l, uint32_t app)
{
    struct page_owner *o = &l->owners[app];
    const struct page_app *a = &l->pages->apps[app];
    if (o->gained && !any_full_beside(a, o) && !FAULT_FIRES(gained_kept)) o->gained = 0;
    o->stats.present = o->stats.outside = 0;
    for (uint32_t colour = 0; colour < pages_colours(l->pages); colour++) {
        o->stats.present += a->in_colour[colour];
        if (!(o->owned & bit(colour))) o->stats.outside += a->in_colour[colour];
    }
}

void owned_set(struct page_life *l, uint32_t app, uint64_t gained)
{
    struct page_owner *o = &l->owners[app];
    o->owned = mask_of(pages_owned(l->pages, app));
    o->gained = l->all_fault ? 0 : gained & o->owned;
    if (o->gained == o->owned) o->gained = 0; /* no old colour is left */
    update(l, app);
}

void pages_change_owned(struct pages *p, uint32_t app, const struct colours *owned,
                        const struct colours *gained)
{
    pages_restrict(p, app, owned);
    if (!p->life || !p->life->follows) return;
    p->life->owners[app].changes++;
    owned_set(p->life, app, mask_of(gained));
}

bool pages_change_over(const struct pages *p, uint32_t app)
{
    return !p->life || !p->life->follows || !p->life->owners[app].locked;
}

struct owner_stats *pages_owner_stats(struct pages *p, uint32_t app)
{
    return p->life && p->life->follows ? &p->life->owners[app].stats : NULL;
}

/* ---- a page ---- */

void owned_placed(struct page_life *l, uint64_t key)
{
    const uint32_t app = pages_key_app(key);
    l->owners[app].stats.placed++;
    if (l->all_fault) (void)track_record(l, key); /* remembers the change before it */
    update(l, app);
}

bool owned_is_outside(const struct page_life *l, const struct page *page)
{
    return !(l->owners[pages_key_app(page->key)].owned & bit(page->colour));
}

/* True for the share g/n of the pages if g of n owned colours are gained: multiples of the golden ratio spread them
 * evenly among neighbours, and independently of the colours that these had in turn. */
static bool is_in_share(const struct page_owner *o, uint64_t page)
{
    const uint64_t fraction = (uint32_t)page * UINT64_C(0x9e3779b9) & UINT32_MAX;
    return fraction * (uint64_t)__builtin_popcountll(o->owned) >> 32 <
           (uint64_t)__builtin_popcountll(o->gained);
}

/* A mask that still holds although the pages are balanced makes pages move for nothing. */
static void check_gained(const struct page_life *l, uint32_t app)
{
    const struct page_owner *o = &l->owners[app];
    if (!l->wire.check || !o->gained || any_full_beside(&l->pages->apps[app], o)) return;
    diag_check_failed(
        "--check: application %u: the mask of gained channels is still set, but no other channel has %d "
        "pages more than the least filled of them",
        app, GAINED_MARGIN);
}

bool owned_must_move(const struct page_life *l, const struct page *page)
{
    const uint32_t app = pages_key_app(page->key);
    const struct page_owner *o = &l->owners[app];
    if (l->all_fault) return page->changes != o->changes && !page->context;
    if (owned_is_outside(l, page)) return true;
    if (!o->gained) return false;
    check_gained(l, app);
    if (o->gained & bit(page->colour)) return false;
    if (l->spreads && !is_in_share(o, pages_key_page(page->key))) return false;
    return is_full_beside(&l->pages->apps[app], o->gained, page->colour);
}

void owned_plan(struct page_life *l, struct page_move *m)
{
    const struct page *page = m->page;
    const uint32_t app = pages_key_app(page->key);
    struct page_owner *o = &l->owners[app];
    struct page_app *a = &l->pages->apps[app];
    if (owned_is_outside(l, page))
        o->stats.faults_lost++;
    else if (l->all_fault)
        o->stats.faults_kept++;
    else
        o->stats.faults_gained++;
    a->planned[page->colour]--;
    m->colour = fewest(a, owned_is_outside(l, page) || l->all_fault ? o->owned : o->gained);
    a->planned[m->colour]++;
    o->locked++;
    update(l, app);
}

void owned_start(struct page_life *l, struct page_move *m)
{
    const uint32_t app = pages_key_app(m->page->key);
    struct page_app *a = &l->pages->apps[app];
    const uint64_t *from = pages_frame(l->pages, m->page->key);
    DIAG_ASSERT(from);
    const uint64_t to = pages_take_frame(l->pages, app, m->colour); /* raises an error if all are full */
    m->copy = (struct page_copy){.move = m->idx, .key = m->page->key, .from = *from, .to = to, .takes = true};
    const uint32_t colour = pages_colour_of(l->pages, to);
    a->planned[m->colour]--;
    a->planned[colour]++;
    m->colour = colour;
    update(l, app);
}

void owned_moved(struct page_life *l, const struct page_move *m)
{
    const uint32_t app = pages_key_app(m->page->key);
    struct page_owner *o = &l->owners[app];
    o->stats.left++;
    o->stats.came++;
    o->stats.set_wait_cyc += m->copy.set_wait_cyc;
    m->page->colour = (uint16_t)m->colour;
    m->page->changes = o->changes;
    update(l, app);
}

void owned_released(struct page_life *l, const struct page_move *m, uint64_t now)
{
    struct page_owner *o = &l->owners[pages_key_app(m->page->key)];
    o->locked--;
    o->stats.held_cyc += now - m->lock_cyc;
}

void owned_sent(struct page_life *l, const struct page *page)
{
    struct page_owner *o = &l->owners[pages_key_app(page->key)];
    if (page->context) return;
    if (l->wire.check && l->all_fault && page->changes != o->changes)
        diag_check_failed("--check: application %u sends a request to page 0x%llx, which has not moved since "
                          "the last change of its "
                          "channels",
                          pages_key_app(page->key), (unsigned long long)pages_key_page(page->key));
    o->stats.requests++;
    if (!owned_is_outside(l, page)) return;
    o->stats.foreign_requests++;
    if (l->wire.check)
        diag_check_failed(
            "--check: application %u sends a request to page 0x%llx in colour %u, which it does not own",
            pages_key_app(page->key), (unsigned long long)pages_key_page(page->key), page->colour);
}

void owned_init(struct page_life *l)
{
    DIAG_ASSERT(pages_colours(l->pages) <= 64);
    for (uint32_t app = 0; app < PAGES_APPS; app++) {
        owned_set(l, app, 0);
        const struct stats_scope scope = {STATS_ANY, STATS_ANY, STATS_ANY, (int32_t)app};
        STATS_REGISTER(l->wire.stats, owner, &l->owners[app].stats, scope);
    }
}
