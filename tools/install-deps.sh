#!/bin/sh
# install-deps.sh: installs the packages of tools/packages.txt that are missing; without the right to do so,
# prints the one line that does and stops.
set -eu
cd "$(dirname "$0")/.."
missing=
for package in $(sed 's/#.*//' tools/packages.txt | awk 'NF {print $1}'); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
line="apt-get install -y$missing"
if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo=sudo
else
    echo "Atoll needs some Debian packages that are not installed, and this user may not install them. Run as root:" >&2
    echo "    $line" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$sudo $line -qq >/dev/null
