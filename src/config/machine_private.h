/* Shared by machine.c and machine_yaml.c only. */
#ifndef ATOLL_CONFIG_MACHINE_PRIVATE_H
#define ATOLL_CONFIG_MACHINE_PRIVATE_H

#include "config/machine.h"

/* Each notes the mistake (diag_note_mistake_at) and goes on, so that a user sees all at once. */
bool machine_section_known(struct machine *m, struct diag_place place, const char *section);
enum param_idx machine_find(struct machine *m, struct diag_place place, const char *section,
                            const char *name);
void machine_assign(struct machine *m, struct diag_place place, enum param_idx idx, const char *text);

#endif
