#!/bin/sh
# tools/roles.py finds enumerators of a role that are used outside the role's room, and nothing else.
# tools/rooms.py finds includes against the order of rooms, and private headers outside their room.
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
# a choice of every role, also of those whose list is no registry
for name in crb_policy_ronce llc_acquire_keep rdc_index_hash lasp_match_literal coda_granule_mean crb_by_kernel page_engine_in_stack nuba_copies_full block_scheduler_lasp partition_policy_plan; do
    printf 'int a = %s;\n' "$name" > "$tree/src/sm/sm.c"
    expect 1 "src/sm/sm.c:1: $name" python3 tools/roles.py "$tree"
done
printf 'int a = FAULT_FIRES(nuba_copies_written);\n' > "$tree/src/sm/sm.c"
holds "a fault is no choice" python3 tools/roles.py "$tree"

holds "the tree keeps its rooms" python3 tools/rooms.py
mkdir -p "$tree/tools" "$tree/src/dram"
cp tools/rooms.py "$tree/tools"
printf '#include "base/map.h"\n#include "dram/channel_private.h"\n' > "$tree/src/dram/channel.c"
holds "a room includes rooms to its left and its own private headers" python3 "$tree/tools/rooms.py"
printf '#include "llc/llc.h"\n' > "$tree/src/dram/channel.c"
expect 1 "room llc is to the right of room dram" python3 "$tree/tools/rooms.py"
printf '#  include "llc/llc.h"\n' > "$tree/src/dram/channel.c"
expect 1 "room llc is to the right of room dram" python3 "$tree/tools/rooms.py"
printf '#include "../llc/llc.h"\n' > "$tree/src/dram/channel.c"
expect 1 "name headers from src/" python3 "$tree/tools/rooms.py"
printf '#include "base/map_private.h"\n' > "$tree/src/dram/channel.c"
expect 1 "private to room base" python3 "$tree/tools/rooms.py"
rm "$tree/src/dram/channel.c"
mkdir "$tree/src/unknown"
: > "$tree/src/unknown/a.c"
expect 1 "src/unknown: not a room" python3 "$tree/tools/rooms.py"
finish
