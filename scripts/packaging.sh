# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# What packages have in common: version and times, the targets they are for, what the program is linked with and whose that is.
# Sourced by other scripts.
set -eu

# shellcheck source=scripts/toolchain.sh
. "${BASH_SOURCE[0]%/*}/toolchain.sh"

# shellcheck disable=SC2034 # for those that source this
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
# The last commit's, so that the same programs give the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
boards=(aarch64-unknown-linux-musl armv7-unknown-linux-gnueabihf riscv64gc-unknown-linux-gnu)

# This machine's target, and those that `make cross` has built.
built_targets() {
    local target
    native_target
    for target in "${boards[@]}"; do
        if [ "$target" != "$(native_target)" ] && [ -x "$target_dir/$target/release/teiji" ]; then
            echo "$target"
        fi
    done
}

# The crates that are part of the program, with the licences of each and the folder of its sources: crates TARGET.
crates() {
    local name of licences folders=()
    mapfile -t folders < <(folders_of_dependencies "$1")
    # Our own are named with their folder.
    cargo tree --locked --package teiji --target "$1" --edges normal,no-proc-macro --prefix none --format '{p}|{l}' |
        sed -e '\:(/:d' -e 's/ (\*)$//' | LC_ALL=C sort -u | while IFS=' |' read -r name of licences; do
        echo "$name ${of#v}|$licences|$(printf '%s\n' "${folders[@]/%//$name-${of#v}}" | first_there)"
    done
}

first_there() {
    local path
    while read -r path; do
        [ ! -e "$path" ] || { echo "$path" && return; }
    done
}

# Whose each library is, by its own words, which MIT asks to be kept: linked TARGET.
linked() {
    local crate licences folder words all
    all=$(crates "$1")
    while IFS='|' read -r crate licences folder; do
        words=$(printf '%s\n' "$folder"/LICENSE-MIT* "$folder"/COPYRIGHT "$folder"/LICENSE* | first_there)
        [ -n "$words" ] || { echo "$crate has no licence file in '$folder'" >&2 && return 1; }
        words=$(sed -nE 's/^[ #]*(Copyright .*(\([Cc]\)|[0-9]{4}).*)/, \1/p' "$words" | tr -d '\r\n' | tr -s ' ')
        words=${words#, }
        echo " $crate ($licences): ${words:-the authors of $crate}"
    done <<<"$all"
    sed -n 's/^Copyright.*/ uPlot (MIT): &/p' crates/report/assets/uPlot.LICENSE
    echo " Rust's standard library (MIT OR Apache-2.0): The Rust Project Developers"
    case $1 in
        *-musl) echo " musl (MIT): Copyright 2005-2020 Rich Felker, et al." ;;
        *) echo " GNU C library (LGPL-2.1-or-later, /usr/share/common-licenses/LGPL-2.1): Copyright Free Software Foundation, Inc." ;;
    esac
}

# For what stands alone, beside LICENSE-MIT and LICENSE-APACHE: licences_linked TARGET.
licences_linked() {
    echo "The program is static. These are the libraries that it contains, with the licences of each. Where MIT is one of"
    echo "several, the library is used under MIT, whose permission is the one in LICENSE-MIT."
    echo
    linked "$1"
}
