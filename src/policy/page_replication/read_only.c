/* read_only: a node that reads a page through a load that the analysis proved read-only gets a replica,
 * unless the page has been written (NUBA, section 7.6: an alternative to the replication of lines;
 * ASSUMPTION: details). */
#include "policy/page_replication/page_replication.h"

static bool replicates(const struct page_replication_question *q) { return q->read_only && !q->written; }

extern const struct page_replication_ops page_replication_read_only;
const struct page_replication_ops page_replication_read_only = {.replicates = replicates};
