/* page_replication: the rows of page_replication.def as function tables. */
#include "policy/page_replication/page_replication.h"

#define ITEM(list, item, help) extern const struct page_replication_ops page_replication_##item;
#include "policy/page_replication/page_replication.def"
#undef ITEM
#define ITEM(list, item, help) [list##_##item] = &page_replication_##item,
static const struct page_replication_ops *const policies[page_copies_count] = {
#include "policy/page_replication/page_replication.def"
};
#undef ITEM

const struct page_replication_ops page_replication_none = {0};

const struct page_replication_ops *page_replication_of(const struct config *c)
{
    return policies[c->pages.replication];
}
