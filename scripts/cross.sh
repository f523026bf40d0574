#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Static programs for boards, built here. Each target needs its standard library, and two of them a C cross compiler and
# its static C library; .cargo/config.toml says how they are linked.
#
# Usage: cross.sh [--profile NAME] [TARGET...]; all three targets and the release profile unless told otherwise.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

profile=release
if [ "${1:-}" = --profile ]; then
    profile=$2
    shift 2
fi
[ $# -gt 0 ] || set -- aarch64-unknown-linux-musl armv7-unknown-linux-gnueabihf riscv64gc-unknown-linux-gnu

# Whether a C compiler can link a static program: it may be there without its C library.
links() {
    echo 'int main(void) { return 0; }' | "$1" -static -x c -o /dev/null - 2>/dev/null
}

ensure_rust
ensure_linker
for target; do
    case $target in
        armv7-*) links arm-linux-gnueabihf-gcc || missing+=(gcc-arm-linux-gnueabihf libc6-dev-armhf-cross) ;;
        riscv64gc-*) links riscv64-linux-gnu-gcc || missing+=(gcc-riscv64-linux-gnu libc6-dev-riscv64-cross) ;;
    esac
done
install_missing

# All in one go, so that no core waits for the last crate of a target.
which=()
for target; do
    ensure_target "$target"
    which+=(--target "$target")
done
reproducible "$@"
cargo build "${same_bytes[@]}" --locked --profile "$profile" --package teiji "${which[@]}"
for target; do
    program=$target_dir/$target/$profile/teiji
    check_static "$program"
    echo "$program: static, $(stat -c %s "$program") bytes"
done
