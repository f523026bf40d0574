#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Debian packages, in TARGET/debian: of the program for this machine, which is built, and of those that `make cross` has built
# of these sources. What they hold is what `make install` installs, and packaging/debian. Plain dpkg-deb: a static program
# leaves debhelper nothing to find out.
#
# Usage: deb.sh [TARGET...]. TEIJI names a program for this machine that is taken as it is, and nothing is built. DEBFULLNAME
# and DEBEMAIL name who makes the package, as they do for Debian's own tools.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/packaging.sh
. scripts/packaging.sh

ensure_rust
umask 022
version+=-1
maintainer="${DEBFULLNAME:-The teiji contributors} <${DEBEMAIL:-contributors@teiji.invalid}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

architecture_of() {
    case $1 in
        x86_64-*) echo amd64 ;;
        aarch64-*) echo arm64 ;;
        armv7-*) echo armhf ;;
        riscv64gc-*) echo riscv64 ;;
    esac
}

# The file of that name: copyright TARGET.
copyright() {
    linked "$1" >"$work/linked"
    sed -e "/^@LINKED@$/{r $work/linked" -e 'd}' packaging/debian/copyright
    # The permission of MIT is the same for all.
    sed -n '/^Permission/,$s/^/ /p' LICENSE-MIT | sed 's/^ $/ ./'
}

# What a package's files take on disk, as dpkg counts it: kB, each file rounded up.
installed_kb() {
    find "$1" -mindepth 1 -type f -printf '%s\n' -o -mindepth 1 -printf '1\n' | awk '{ kb += int(($1 + 1023) / 1024) } END { print kb }'
}

# package TARGET
package() {
    local root=$work/$1 architecture document
    architecture=$(architecture_of "$1")
    document=$root/usr/share/doc/teiji
    # Pages and completions come from this machine's program.
    DESTDIR=$root PREFIX=/usr TEIJI=$native ./scripts/install.sh >/dev/null
    [ "$1" = "$(native_target)" ] || install -m 755 "$target_dir/$1/release/teiji" "$root/usr/bin/teiji"
    # Debian's zsh does not look into site-functions.
    mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"

    # Where a rule of the same name in /etc/udev, such as docs/rights.md advises, replaces it.
    install -D -m 644 packaging/debian/udev.rules "$root/usr/lib/udev/rules.d/60-cpu-dma-latency.rules"
    # Before a realtime.conf, so that lines there count instead.
    install -D -m 644 packaging/debian/limits.conf "$root/etc/security/limits.d/50-teiji.conf"
    install -D -m 644 -t "$document/examples" plans/*
    install -m 644 packaging/debian/README.Debian "$document"
    copyright "$1" >"$document/copyright"
    gzip --best --no-name <CHANGELOG.md >"$document/changelog.gz"
    printf 'teiji (%s) unstable; urgency=medium\n\n  * What changed is in changelog.gz.\n\n -- %s  %s\n' \
        "$version" "$maintainer" "$(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")" |
        gzip --best --no-name >"$document/changelog.Debian.gz"
    install -D -m 644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/teiji"

    install -d "$root/DEBIAN"
    sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@MAINTAINER@/$maintainer/" \
        -e "s/@INSTALLED_SIZE@/$(installed_kb "$root")/" packaging/debian/control >"$root/DEBIAN/control"
    install -m 755 packaging/debian/postinst "$root/DEBIAN"
    (cd "$root" && find etc -type f -printf '/%p\n') >"$root/DEBIAN/conffiles"
    (cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    # Debian 12 knows xz, and not what Ubuntu's dpkg-deb takes by itself.
    dpkg-deb --root-owner-group -Zxz --build "$root" "$to/teiji_${version}_$architecture.deb"
}

needs dpkg-deb dpkg
install_missing
to=$target_dir/debian
rm -rf "$to"
mkdir -p "$to"
native=${TEIJI-}
if [ -z "$native" ]; then
    ./scripts/build.sh
    native=$target_dir/$(native_target)/release/teiji
fi
if [ $# = 0 ]; then
    mapfile -t targets < <(built_targets)
    set -- "${targets[@]}"
fi
for target; do
    program=$target_dir/$target/release/teiji
    if [ "$target" = "$(native_target)" ]; then
        package "$target"
    elif [ -n "$(find Cargo.toml Cargo.lock .cargo crates plans -type f -newer "$program" -print -quit)" ]; then
        echo "$program is older than its sources, and gets no package: run make cross first." >&2
    else
        package "$target"
    fi
done
