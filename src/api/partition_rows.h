/* partition_rows: the partition of the machine over time (system/repartition.h), as text and as JSON. */
#ifndef ATOLL_API_PARTITION_ROWS_H
#define ATOLL_API_PARTITION_ROWS_H

#include <jansson.h>
#include <stdio.h>

#include "config/config.h"

struct repartition;

/* {"epochs": [...], "pages": [...], "changes": [...], "dropped": n}; a new reference. pages: by epoch and application,
 * the channel indices that it owns and the pages that moved. */
json_t *partition_rows_json(const struct repartition *r, const struct config *c, uint32_t apps);
/* A line per epoch. */
void partition_rows_text(const struct repartition *r, const struct config *c, uint32_t apps, FILE *out);

#endif
