#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Installs the release program, its manual pages and completions, and links by the names of the commands that it stands in
# for, in a folder of their own: whoever wants them puts it into PATH. PREFIX is where (/usr/local), DESTDIR what stands in
# front of it for packages.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

prefix=${PREFIX:-/usr/local}
to=${DESTDIR-}$prefix
program=$target_dir/$(native_target)/release/teiji
[ -x "$program" ] || ./scripts/build.sh

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
