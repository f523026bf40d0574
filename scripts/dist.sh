#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# A folder to install from: the program, and next to it those for other processors, under the names by which it finds them
# when a guest of the lab needs one. They are not inside it, because each is as large as itself.
#
# Usage: dist.sh [TARGET...]; the plans that come along need aarch64.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

[ $# -gt 0 ] || set -- aarch64-unknown-linux-musl
./scripts/build.sh
./scripts/cross.sh "$@"
mkdir -p dist
install -p "$target_dir/$(native_target)/release/teiji" dist/teiji
for target; do
    install -p "$target_dir/$target/release/teiji" "dist/teiji-$target"
done
ls -l dist
echo "Copy all of dist/ into one folder, such as /usr/local/bin. 'dist/teiji plans' says what can begin."
