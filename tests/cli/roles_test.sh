#!/bin/sh
# tools/roles.py finds enumerators of a role that are used outside the role's room, and nothing else.
. tests/cli/lib.sh

holds "the tree keeps its roles" python3 tools/roles.py
tree=$dir/tree
mkdir -p "$tree/src/llc" "$tree/src/sm" "$tree/src/system" "$tree/src/config"
echo 'bool a = c->llc.organisation == llc_organisation_nuba;' > "$tree/src/llc/spec.c"
cp "$tree/src/llc/spec.c" "$tree/src/system/rules.def"
cp "$tree/src/llc/spec.c" "$tree/src/config/config.h"
cp "$tree/src/llc/spec.c" "$tree/src/sm/sm_test.c"
printf '/* llc_organisation_nuba\n */ "llc_organisation_nuba" CHOICES_llc_organisation\n' > "$tree/src/sm/sm.c"
holds "the room, rules, config.h, tests, comments and strings may name them" python3 tools/roles.py "$tree"
printf '\nswitch (x) { case llc_organisation_numa: break; }\n' >> "$tree/src/sm/sm.c"
expect 1 "src/sm/sm.c:4: llc_organisation_numa (LLC organisation)" python3 tools/roles.py "$tree"
finish
