#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the release program and installs it, its manual pages and completions, and links by the names of the commands that
# it stands in for, in a folder of their own: whoever wants them puts it into PATH. PREFIX is where (/usr/local), DESTDIR what
# stands in front of it for packages. TEIJI names a program that is to be installed as it is, and nothing is built.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

prefix=${PREFIX:-/usr/local}
to=${DESTDIR-}$prefix
program=${TEIJI-}
if [ -z "$program" ]; then
    program=$target_dir/$(native_target)/release/teiji
    # A program that is there may be older than its sources. Who called sudo has the compiler, and is to own what is built.
    if [ "$(id -u)" = 0 ] && [ "${SUDO_USER:-root}" != root ]; then
        sudo --set-home --user "$SUDO_USER" CARGO_TARGET_DIR="$target_dir" ./scripts/build.sh
    else
        ./scripts/build.sh
    fi
fi

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$program" pages "$pages"

install -D -m 755 "$program" "$to/bin/teiji"
for page in "$pages"/man1/*.1; do
    gzip --best --no-name "$page"
    install -D -m 644 "$page.gz" "$to/share/man/man1/${page##*/}.gz"
done
install -D -m 644 "$pages/completions/bash/teiji" "$to/share/bash-completion/completions/teiji"
install -D -m 644 "$pages/completions/zsh/_teiji" "$to/share/zsh/site-functions/_teiji"
install -D -m 644 "$pages/completions/fish/teiji.fish" "$to/share/fish/vendor_completions.d/teiji.fish"
install -d "$to/lib/teiji/bin"
for name in cyclictest hackbench; do
    ln -sf ../../../bin/teiji "$to/lib/teiji/bin/$name"
done
echo "installed into $to"
