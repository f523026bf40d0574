#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fuzz each importer by itself for SECONDS (600), one after the other, and stop at the first that crashes, hangs, or takes more
# than 64 MB beyond what the idle process has.
#
#     fuzz/importers.sh [SECONDS [OPTIONS OF cargo fuzz run]...]
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-600}
[ $# = 0 ] || shift
grown=fuzz/target/importers
empty=$grown/empty
# The sanitizer keeps what was freed, 256 MB of it without this.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1

fuzz() {
    cargo +nightly fuzz run "${options[@]}" import "$@"
}
options=("$@")

rm -rf "$empty"
mkdir -p "$empty"
idle=$(fuzz "$empty" -- -runs=0 -print_final_stats=1 2>&1 | sed -n 's/^stat::peak_rss_mb: *//p')
[ -n "$idle" ] || { echo "the target does not run: cargo +nightly fuzz run import" >&2; exit 1; }

mapfile -t formats < <(sed -n 's/^ *name: "\(.*\)",$/\1/p' crates/formats/src/lib.rs)
for format in "${formats[@]}"; do
    echo "$format: $seconds s, $idle MB idle"
    mkdir -p "$grown/$format"
    TEIJI_FUZZ_FORMAT=$format fuzz "$grown/$format" fuzz/corpus/import crates/formats/src/samples -- \
        -max_total_time="$seconds" -max_len=1048576 -timeout=10 -rss_limit_mb=$((idle + 64))
done
