/* machine: a configuration as the user gave it: a preset or a YAML file, then -s overrides.
 *
 *   machine_init ─► machine_load (preset or file, `extends:` first) ─► machine_set* ─► machine_finish
 *
 * Every value has the position where it was set, so that the message of a broken rule names that position.
 * All functions raise user errors (base/diag.h). A machine owns its texts until machine_free(). */
#ifndef ATOLL_CONFIG_MACHINE_H
#define ATOLL_CONFIG_MACHINE_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/diag.h"
#include "config/config.h"

struct machine {
    struct config config;
    struct diag_place set_at[PARAM_COUNT]; /* source NULL = the default holds */
    const char *name;                      /* preset name or path, as given */
    const char *description;
    struct arena arena; /* texts and sources */
};

void machine_init(struct machine *m); /* every parameter at its default */
void machine_free(struct machine *m);
void machine_load(struct machine *m, const char *name_or_path);
/* The same; a mistake in the name is shown at the place where it stands. */
void machine_load_at(struct machine *m, const char *name_or_path, struct diag_place named_at);
/* The same from memory; name stands in messages. The text is copied. */
void machine_load_text(struct machine *m, const char *name, const char *text, size_t len_bytes);
/* "section.key=value" */
void machine_set(struct machine *m, const char *assignment);
/* The same for a setting of another file; mistakes are shown at the two places. */
void machine_set_at(struct machine *m, const char *key, struct diag_place key_at, const char *value,
                    struct diag_place value_at);
/* Checks the rules; call once after the last set. */
void machine_finish(struct machine *m, const struct rule_set *rules);

/* The effective configuration: loading the YAML again gives the same machine. */
void machine_dump_yaml(const struct machine *m, FILE *out);
/* {section: {key: value}}: numbers as numbers, quantities as text with their unit; derived values under
 * "derived". A new reference. */
json_t *machine_dump_json(const struct machine *m);

/* File name ("uba-mem.yaml") of preset idx, or NULL after the last. */
const char *machine_preset(size_t idx);

#endif
