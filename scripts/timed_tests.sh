#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs a test program of cargo's, as its runner, and writes down what each test took: to TEIJI_TEST_TIMES, a line for each that
# passed, with TEIJI_STAGE. All else that the program prints is passed on.
set -euo pipefail

program=$(basename "$1")
program=${program%-*}
case $program in
    # Has a runner of its own, to which each word is a part of a test's name.
    loads) set -- "$1" && options=() ;;
    # libtest calls the option unstable, which it permits where it runs. Cargo makes it --quiet, which would name no test.
    *) options=(-Zunstable-options --report-time --format pretty) ;;
esac
RUSTC_BOOTSTRAP=1 "$@" "${options[@]}" | awk -v program="$program" -v times="$TEIJI_TEST_TIMES" '
    /^test .* \.\.\. ok/ {
        seconds = $NF == "s)" ? $(NF - 1) : $NF
        gsub(/[^0-9.]/, "", seconds)
        print ENVIRON["TEIJI_STAGE"] "\t" program ": " $2 "\t" seconds "\t" >>times
        fflush(times)
        next
    }
    { print; fflush() }'
