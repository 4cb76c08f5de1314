/* rules: combinations of parameters that no machine can have (rules.def). */
#ifndef ATOLL_SYSTEM_RULES_H
#define ATOLL_SYSTEM_RULES_H

#include "config/config.h"

extern const struct rule_set system_rules;

#endif
