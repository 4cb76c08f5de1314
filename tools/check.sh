#!/bin/sh
# check.sh: format, lint and static analysis over everything that git tracks.
set -u
cd "$(dirname "$0")/.."
status=0
# clang-tidy reads the compile commands of a build without gcc's own flags
cmake -S . -B build/tidy -G Ninja -DCMAKE_C_COMPILER=clang >/dev/null || exit 1
sources=$(git ls-files 'src/*.c' 'bench/*.c' 'tests/*.c' 'workloads/*.c' 'examples/*.c')
headers=$(git ls-files '*.h')
# shellcheck disable=SC2086 # lists of words
clang-format --dry-run -Werror $sources $headers || status=1
library=$(echo "$sources" | grep '^src/' | grep -vE '_(test|fuzz|avx2|avx512)\.c$')
echo "$library" | xargs -P2 -n6 clang-tidy --quiet -p build/tidy 2>/dev/null || status=1
cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j2 \
    --suppressions-list=tools/cppcheck.suppressions -Isrc -Iinclude $library || status=1
for word in 'march=native' 'TODO' 'FIXME' 'XXX'; do
    if git grep -nw -e "$word" -- 'src/' 'include/' 'CMakeLists.txt' 'workloads/' | grep -v 'tools/check.sh' | grep .; then
        echo "'$word' does not belong into the tree"
        status=1
    fi
done
python3 tools/rooms.py || status=1
python3 tools/roles.py || status=1
[ $status = 0 ] && echo "check: format, clang-tidy and cppcheck are clean"
exit $status
