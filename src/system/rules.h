/* rules: the constraints between parameters (rules.def). machine_finish() in config/ checks them. */
#ifndef ATOLL_SYSTEM_RULES_H
#define ATOLL_SYSTEM_RULES_H

#include "config/config.h"

extern const struct rule_set system_rules;

#endif
