#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fuzz each importer by itself for SECONDS (600), one after the other, and stop at the first that crashes, hangs, or takes more
# than 64 MB for one input.
#
#     fuzz/importers.sh [SECONDS [OPTIONS OF cargo fuzz run]...]
set -eu
cd "$(dirname "$0")/.."

seconds=${1:-600}
[ $# = 0 ] || shift
grown=fuzz/target/importers
mapfile -t formats < <(sed -n 's/^ *name: "\(.*\)",$/\1/p' crates/formats/src/lib.rs)
for format in "${formats[@]}"; do
    echo "$format: $seconds s"
    mkdir -p "$grown/$format"
    TEIJI_FUZZ_FORMAT=$format cargo +nightly fuzz run "$@" import "$grown/$format" fuzz/corpus/import crates/formats/src/samples -- \
        -max_total_time="$seconds" -max_len=1048576 -timeout=10
done
