/* ideal: every page is local to every node that touches it, at no cost. A store reaches the other replicas without
 * traffic, so a read finds the newest version everywhere: an upper bound (CARVE, section II: all shared pages
 * replicated). */
#include "policy/page_replication/page_replication.h"

static bool at_touch(const struct page_touch *t)
{
    (void)t;
    return true;
}

extern const struct page_replication_ops page_replication_ideal;
const struct page_replication_ops page_replication_ideal = {.at_touch = at_touch};
