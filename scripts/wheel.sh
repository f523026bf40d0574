#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Wheels for pip, in TARGET/wheels: the Python module teiji and the static program, for this machine and, where `make cross` has
# built it, for aarch64. Plain Python writes them: there is nothing to compile beside the program
# (docs/decisions/0047-a-wheel.md). Times are the last commit's, so that the same files give the same bytes.
#
# Usage: wheel.sh
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh
# shellcheck source=scripts/licences.sh
. scripts/licences.sh

ensure_rust
needs python3 python3
install_missing
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# wheel TARGET
wheel() {
    local machine=${1%%-*}
    mkdir "$work/$1"
    licence_files "$1" "$work/$1"
    # A static program runs with any C library, so these are the oldest that every pip knows.
    python3 -B packaging/python/wheel.py "$target_dir/$1/release/teiji" "$version" \
        "manylinux_2_17_$machine.musllinux_1_1_$machine" "$work/$1" "$to"
}

to=$target_dir/wheels
native=$target_dir/$(native_target)/release/teiji
[ -x "$native" ] || ./scripts/build.sh
rm -rf "$to"
mkdir -p "$to"
wheel "$(native_target)"
board=aarch64-unknown-linux-musl
if [ "$board" != "$(native_target)" ] && [ -x "$target_dir/$board/release/teiji" ]; then
    wheel "$board"
fi
