#!/bin/sh
# demo.sh ATOLL: the main job of Atoll, shown.
set -eu
atoll=$1
"$atoll" --version
echo
echo "\$ atoll list machines"
"$atoll" list machines
