#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The figures of SPECIFICATION.md, taken with the release program of this checkout beside Debian's cyclictest. The benches
# bring that and valgrind themselves; they build a program of their own, so they need the same compiler.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

needs python3 python3
install_missing
./scripts/build.sh
ensure_rust
exec benches/run "$@"
