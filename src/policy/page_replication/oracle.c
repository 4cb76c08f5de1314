/* oracle: a page that is not written in the measured part and that several nodes read gets a replica in each of them at
 * its first touch there. The copy costs neither traffic nor time (CARVE, section II: read-only replication with perfect
 * knowledge; the paper charges capacity only). A first pass without time provides the knowledge (pages/profile.h). A
 * store that the first pass did not see collapses the page for the rest of the run. */
#include "policy/page_replication/page_replication.h"

static bool at_touch(const struct page_touch *t) { return t->known && t->shared && !t->written; }

extern const struct page_replication_ops page_replication_oracle;
const struct page_replication_ops page_replication_oracle = {.at_touch = at_touch};
