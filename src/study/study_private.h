/* Shared by the files of study/ only. */
#ifndef ATOLL_STUDY_PRIVATE_H
#define ATOLL_STUDY_PRIVATE_H

#include "config/yaml_events.h"
#include "study/study.h"

/* ---- nodes.c: reading nodes of an experiment file ---- */

/* An array that grows in an arena: `items = nodes_grow(...)` before items[count++] is written. */
void *nodes_grow(struct arena *a, void *items, uint32_t count, size_t bytes);
/* Every key of the map is in the list (which ends with NULL); else a mistake with the nearest one. */
void nodes_check_keys(const struct yaml_node *map, const char *what, const char *const *known);
/* The scalar of a key; NULL when the key is absent. */
const char *nodes_text(const struct yaml_node *map, const char *key);
/* The same; absent is a mistake. */
const char *nodes_need(const struct yaml_node *map, const char *what, const char *key);
const char *nodes_scalar(const struct yaml_node *node, const char *what);
/* A whole number; "3 M" and "200 K" are allowed. */
uint64_t nodes_count(const struct yaml_node *node, const char *what);
/* Index of one of the words (list ends with NULL). */
uint32_t nodes_choice(const struct yaml_node *node, const char *what, const char *const *words);
/* {key: value, ...} behind `set`. */
struct study_setting *nodes_settings(struct arena *a, const struct yaml_node *map);
/* Raises "unknown WHAT 'NAME'" at a place, with the nearest of the names. */
_Noreturn void nodes_unknown(struct diag_place place, const char *what, const char *name,
                             const char *const *names, size_t count);

/* ---- study_read.c ---- */
void study_build(struct study *s, const char *scale);
uint32_t study_find_machine(const struct study *s, struct diag_place place, const char *name);
uint32_t study_find_metric(const struct study *s, struct diag_place place, const char *name);
/* Workloads named "all", by a group, or by themselves. */
struct study_set study_find_workloads(const struct study *s, struct diag_place place, const char *name);

/* ---- asked.c: metrics, figures, claims ---- */
void study_read_metrics(struct study *s, const struct yaml_node *list);
void study_read_figures(struct study *s, const struct yaml_node *list);
void study_read_claims(struct study *s, const struct yaml_node *list);

#endif
