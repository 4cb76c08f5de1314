/* yaml_events: a YAML text as a stream of events with places, and as a tree.
 *
 *   yaml_slurp (file ─► source) ─► yaml_begin ─► yaml_next* ─► yaml_end       events: machine files
 *                               └► yaml_read_tree ─► nodes with places        tree: experiment files
 *
 * Anchors, aliases, several documents, NUL characters and, in a tree, keys given twice are refused at their
 * place. All memory is the caller's arena; mistakes are raised (base/diag.h). */
#ifndef ATOLL_CONFIG_YAML_EVENTS_H
#define ATOLL_CONFIG_YAML_EVENTS_H

#include <yaml.h>

#include "base/arena.h"
#include "base/diag.h"

enum { YAML_FILE_BYTES_MAX = 1 << 20 };

struct yaml_events {
    const struct diag_source *source;
    const char *instead_of_anchors; /* what the message advises */
    yaml_parser_t parser;
    yaml_event_t event; /* the present one */
    bool event_held;
    struct diag_cleanup deleting;
};

/* The whole file in arena memory; kind ("machine", "experiment") stands in messages. */
void yaml_slurp(struct arena *a, const char *kind, const char *path, struct diag_place named_at,
                struct diag_source *source);
/* y must stay where it is until yaml_end(), which an unwinding does by itself. */
void yaml_begin(struct yaml_events *y, const struct diag_source *source, const char *instead_of_anchors);
void yaml_next(struct yaml_events *y);
void yaml_end(struct yaml_events *y);
/* Of the present event. */
struct diag_place yaml_here(const struct yaml_events *y);
const char *yaml_scalar(const struct yaml_events *y, struct arena *a);

/* ---- a tree ---- */

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };
struct yaml_node {
    enum yaml_kind kind;
    struct diag_place place;
    const char *text; /* of a scalar */
    /* entries of a list or a map, in their order */
    const char *key; /* inside a map */
    struct diag_place key_place;
    struct yaml_node *first, *next;
    uint32_t count;
};
/* The one document of a source; NULL when it is empty. */
struct yaml_node *yaml_read_tree(struct arena *a, const struct diag_source *source);
/* NULL when absent. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);

#endif
