#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# What the page of a release has, in dist/: the static program for each processor, Debian packages, wheels, manual pages and
# completions, whose libraries are in it, a bill of materials, sources with all crates, and SHA256SUMS of them all. The same
# commit gives the same bytes.
# It is a folder to install from too: `teiji` is a link to this machine's program, and those for other processors have the
# names by which it finds them when a guest of the lab needs one. They are not inside it, because each is as large as itself.
#
# Usage: dist.sh [--only TARGET...]; four targets unless told otherwise. Plans that are shipped need aarch64. DIST is another
# folder than dist, which is emptied first.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/packaging.sh
. scripts/packaging.sh

# The same files give the same bytes: archive FOLDER NAME.
archive() {
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
        --directory "$1" "$2" | gzip --best --no-name
}

needs python3 python3
install_missing
git diff --quiet HEAD || echo "There are changes that are not committed: programs have them, and the sources do not." >&2
native=$(native_target)
if [ "${1:-}" = --only ]; then
    shift
else
    set -- "$native"
    for target in "${boards[@]}"; do
        [ "$target" = "$native" ] || set -- "$@" "$target"
    done
fi
others=()
for target; do
    [ "$target" = "$native" ] || others+=("$target")
done

# Cargo builds what has changed, and nothing else: what lies there may be of another commit.
./scripts/build.sh
[ "${#others[@]}" = 0 ] || ./scripts/cross.sh "${others[@]}"
./scripts/deb.sh "$@"
./scripts/wheel.sh "$@"

to=${DIST:-dist}
rm -rf "$to"
mkdir -p "$to"
for target; do
    install "$target_dir/$target/release/teiji" "$to/teiji-$target"
    licences_linked "$target" >"$to/LICENSES-LINKED-$target"
done
install -m 644 -t "$to" LICENSE-MIT LICENSE-APACHE "$target_dir"/debian/*.deb
find "$target_dir/wheels" -name '*.whl' -exec install -m 644 -t "$to" {} +

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
"$target_dir/$native/release/teiji" pages "$pages"
archive "$pages" . >"$to/teiji-$version-pages.tar.gz"
packaging/bill.py "$@" >"$to/teiji-$version.cdx.json"

# Sources with those of all crates, for build systems that have no network and link by their own toolchain: cargo's settings are
# where the crates are, and nothing else. Of what is committed.
sources=$(mktemp -d)
trap 'rm -rf "$pages" "$sources"' EXIT
mkdir "$sources/teiji-$version"
git archive HEAD | tar --extract --directory "$sources/teiji-$version"
(cd "$sources/teiji-$version" && cargo vendor --quiet --locked VENDOR >"$sources/config.toml" && mv "$sources/config.toml" .cargo/)
archive "$sources" "teiji-$version" >"$to/teiji-$version-vendored.tar.gz"

sums=$(cd "$to" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum)
echo "$sums" >"$to/SHA256SUMS"
if [ -e "$to/teiji-$native" ]; then
    ln -s "teiji-$native" "$to/teiji"
fi
ls -l "$to"
echo "To install, copy $to/teiji, and $to/teiji-*-linux-* for guests of the lab, into one folder, such as /usr/local/bin."
echo "'$to/teiji plans' says what can begin."
