#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The figures of SPECIFICATION.md, taken on this machine beside Debian's cyclictest. Here only what they need is brought.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/packages.sh
. scripts/packages.sh

needs cyclictest rt-tests
needs valgrind valgrind
needs python3 python3
install_missing
./scripts/build.sh
exec benches/run
