#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The release program for this machine. A script rather than a line of make, because it has to make sure of the compiler
# and the target first, and because what came out must be checked: a program that is not static fails on the next board.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

ensure_rust
ensure_linker
target=$(native_target)
ensure_target "$target"
reproducible "$target"
cargo build "${same_bytes[@]}" --locked --release --package teiji --target "$target"
check_static "$target_dir/$target/release/teiji"
