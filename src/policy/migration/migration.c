/* migration: the rows of migration.def as function tables. */
#include "policy/migration/migration.h"

#define ITEM(list, item, help) extern const struct migration_ops migration_##item;
#include "policy/migration/migration.def"
#undef ITEM
#define ITEM(list, item, help) [list##_##item] = &migration_##item,
static const struct migration_ops *const policies[page_migration_count] = {
#include "policy/migration/migration.def"
};
#undef ITEM

const struct migration_ops migration_none = {0};

struct migration migration_new(struct arena *a, const struct config *c)
{
    struct migration m = {.ops = policies[c->pages.migration]};
    m.state = m.ops->state_bytes ? arena_array(a, 1, m.ops->state_bytes) : NULL;
    if (m.ops->begin) m.ops->begin(m.state, c);
    return m;
}
