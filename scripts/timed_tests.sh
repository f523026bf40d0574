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
RUSTC_BOOTSTRAP=1 "$@" "${options[@]}" | while IFS= read -r line; do
    if [[ $line =~ ^test\ (.*)\ \.\.\.\ ok\ [\<\(]([0-9.]+) ]]; then
        printf '%s\t%s: %s\t%s\t\n' "$TEIJI_STAGE" "$program" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >>"$TEIJI_TEST_TIMES"
    else
        printf '%s\n' "$line"
    fi
done
