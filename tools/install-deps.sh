#!/bin/sh
# install-deps.sh [test]: installs the packages of tools/packages.txt that are missing; without the right to do so, prints the
# one line that does and stops. With 'test' also those of tools/packages-test.txt; tests that need what cannot be installed
# say that they are skipped.
set -eu
cd "$(dirname "$0")/.."

# missing_of FILE: the packages of a list that are not installed
missing_of() {
    for package in $(sed 's/#.*//' "$1" | awk 'NF {print $1}'); do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$package"
    done
}
missing=$(missing_of tools/packages.txt)
wanted=
[ "${1-}" != test ] || wanted=$(missing_of tools/packages-test.txt)
[ -n "$missing$wanted" ] || exit 0
if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo=sudo
elif [ -z "$missing" ]; then
    echo "not installed, tests that need them will be skipped:$wanted" >&2
    exit 0
else
    echo "Atoll needs some Debian packages that are not installed, and this user may not install them. Run as root:" >&2
    echo "    apt-get install -y$missing" >&2
    exit 1
fi
echo "installing:$missing$wanted"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086 # lists of words
[ -z "$missing" ] || $sudo apt-get install -y $missing -qq >/dev/null
# shellcheck disable=SC2086
[ -z "$wanted" ] || $sudo apt-get install -y --no-install-recommends $wanted -qq >/dev/null 2>&1 ||
    echo "cannot be installed, tests that need them will be skipped:$wanted" >&2
