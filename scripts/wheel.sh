#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Wheels for pip, in TARGET/wheels: the Python module teiji and the static program, for this machine and, where `make cross` has
# built it, for aarch64. Plain Python writes them: there is nothing to compile beside the program
# (docs/decisions/0047-a-wheel.md).
#
# Usage: wheel.sh [TARGET...]
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/packaging.sh
. scripts/packaging.sh

ensure_rust
needs python3 python3
install_missing
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# wheel TARGET
wheel() {
    local machine=${1%%-*}
    mkdir "$work/$1"
    install -m 644 -t "$work/$1" LICENSE-MIT LICENSE-APACHE
    licences_linked "$1" >"$work/$1/LICENSES-LINKED"
    # A static program runs with any C library, so these are the oldest that every pip knows.
    python3 -B packaging/python/wheel.py "$target_dir/$1/release/teiji" "$version" \
        "manylinux_2_17_$machine.musllinux_1_1_$machine" "$work/$1" "$to"
}

to=$target_dir/wheels
native=$target_dir/$(native_target)/release/teiji
[ -x "$native" ] || ./scripts/build.sh
rm -rf "$to"
mkdir -p "$to"
if [ $# = 0 ]; then
    mapfile -t targets < <(built_targets)
    set -- "${targets[@]}"
fi
for target; do
    case $target in
        *-musl) wheel "$target" ;;
        *) echo "$target: no wheel, see docs/decisions/0047-a-wheel.md" ;;
    esac
done
