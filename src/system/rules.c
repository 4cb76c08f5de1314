/* rules: turns the rows of rules.def into functions. The rules use limits of other rooms (net, dram), and
 * config/ is below these rooms. config/ therefore receives the rules as an argument of machine_finish(). */
#include "system/rules.h"

#include <string.h>

#include "net/net_level.h"
#include "policy/binding/binding.h"

/* Name of a rule's function. Several .def files may hold rules of one parameter: the line number makes names
 * unique. */
#define RULE_NAME2(section, name, line) rule_##section##_##name##_at_line_##line
#define RULE_NAME(section, name, line)  RULE_NAME2(section, name, line)
#define RULE(section, name, condition, message) \
    static bool RULE_NAME(section, name, __LINE__)(const struct config *c) { return condition; }
#define UNIT_NAME(section, name, line) RULE_NAME(unit_of_##section, name, line)
#define SIZE(section, name, condition, unit, message) \
    static uint64_t UNIT_NAME(section, name, __LINE__)(const struct config *c) { return unit; } \
    RULE(section, name, !(condition) || c->section.name % UNIT_NAME(section, name, __LINE__)(c) == 0, message)
#include "system/rules.def"
#undef SIZE
#undef RULE
static const struct rule_row rows[] = {
#define RULE(section, name, condition, message) \
    {PARAM_IDX(section, name), RULE_NAME(section, name, __LINE__), message, NULL},
#define SIZE(section, name, condition, unit, message) \
    {PARAM_IDX(section, name), RULE_NAME(section, name, __LINE__), message, \
     UNIT_NAME(section, name, __LINE__)},
#include "system/rules.def"
#undef SIZE
#undef UNIT_NAME
#undef RULE
};
const struct rule_set system_rules = {rows, sizeof rows / sizeof *rows};
