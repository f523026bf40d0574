#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Renews the pin of the lab's QEMU: which packages of Debian 13, by version and SHA-256, have the emulators, the libraries they
# are loaded with and the firmware their machines start with. Writes crates/lab/src/pinned.txt, which becomes part of the program.
# Needs apt and Debian's keyring (debian-archive-keyring), on amd64; no root. The system's packages are not touched.
#
# Every figure of the lab is of one QEMU. After a renewal benches/reviewed_lab.json and the figures in docs/tour.md want a new review.
#
# Usage: pin-qemu.sh
set -eu
cd "$(dirname "$0")/.."

release=trixie
mirror=http://deb.debian.org
table=crates/lab/src/pinned.txt
libraries=usr/lib/x86_64-linux-gnu
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,debs,root}
: >"$work/status"
for source in "debian $release" "debian $release-updates" "debian-security $release-security"; do
    echo "deb [signed-by=$keyring] $mirror/${source% *} ${source#* } main"
done >"$work/sources.list"

# apt with state of its own: with_apt PROGRAM ARGUMENT...
with_apt() {
    local program=$1
    shift
    LC_ALL=C "$program" -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o Dir::State="$work" \
        -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
        -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Acquire::Languages=none \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

echo "Reading Debian's package lists ($release)." >&2
with_apt apt-get -qq update

emulators=(qemu-system-x86 qemu-system-arm)
mapfile -t packages < <(with_apt apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances --no-pre-depends "${emulators[@]}" | grep '^[a-z0-9]' | sort -u)
# 'URI' NAME SIZE SHA256:HASH; the names have their epochs written as %3a.
(cd "$work/debs" && with_apt apt-get -qq --print-uris download "${packages[@]}") >"$work/uris"
echo "Downloading ${#packages[@]} packages, of which some will be needed." >&2
(cd "$work/debs" && with_apt apt-get -qq download "${packages[@]}")
# SHA256 SIZE PATH, by the file's name; what apt prints for some is not SHA-256.
while read -r uri name size _; do
    uri=${uri//\'/}
    echo "$name $(sha256sum "$work/debs/$name" | cut -d' ' -f1) $size ${uri#"$mirror"/}"
    # Which package a file comes from.
    dpkg-deb --fsys-tarfile "$work/debs/$name" | tar -t | sed -n "s|^\./\(.*[^/]\)\$|\1 $name|p" >>"$work/owners"
    dpkg-deb --extract "$work/debs/$name" "$work/root"
done <"$work/uris" >"$work/known"

cd "$work/root"
# A line for each file: in which parts, its package, and FILE or FILE=NAME where it is called otherwise in the end.
wants() {
    local parts=$1 file real
    shift
    for file; do
        real=$(realpath --relative-to=. "$file")
        local owner
        owner=$(awk -v file="$real" '$1 == file { print $2; exit }' "$work/owners")
        [ -n "$owner" ] || { echo "no package has $real" >&2; return 1; }
        if [ "${real##*/}" = "${file##*/}" ]; then
            echo "$parts $owner ${real##*/}"
        else
            echo "$parts $owner ${real##*/}=${file##*/}"
        fi
    done
}
# What the loader finds for a program, with nothing of this machine: names only.
loaded() {
    "$libraries/ld-linux-x86-64.so.2" --inhibit-cache --library-path "$libraries" --list "usr/bin/$1" |
        sed -n 's|^\s*\S* => \(\S*\) .*|\1|p' | sort
}
loaded qemu-system-x86_64 >"$work/loaded"
for emulator in qemu-system-aarch64 qemu-system-arm; do
    loaded "$emulator" | diff "$work/loaded" - >&2 || {
        echo "$emulator is loaded with other libraries: the table can say so, this script cannot yet" >&2
        exit 1
    }
done
mapfile -t files <"$work/loaded"
for file in "${files[@]}"; do
    case $file in
        "$libraries"/*) ;;
        *)
            echo "$file is not in $libraries" >&2
            exit 1
            ;;
    esac
done
# The firmware of a PC that boots a kernel given with -kernel, without a display or network. The ARM machines need none.
firmware=(usr/share/seabios/bios-256k.bin usr/share/qemu/{kvmvapic,linuxboot_dma,pvh}.bin)
{
    wants both "${files[@]}"
    wants x86 usr/bin/qemu-system-x86_64 "${firmware[@]}"
    wants arm usr/bin/qemu-system-aarch64 usr/bin/qemu-system-arm
} >"$work/wanted"

# What all files of a part are, as `sha256sum` prints them in the part's folder, sorted by name.
sum_of() {
    local part=$1 parts owner file real folder
    while read -r parts owner file; do
        [ "$parts" = both ] || [ "$parts" = "$part" ] || continue
        real=${file%=*}
        folder=lib/
        case $real in
            qemu-system-*) folder= ;;
            *.bin) folder=share/ ;;
        esac
        real=$(awk -v name="$real" -v owner="$owner" '$2 == owner && $1 ~ "/" name "$" { print $1; exit }' "$work/owners")
        echo "$(sha256sum <"$real" | cut -d' ' -f1)  $folder${file#*=}"
    done <"$work/wanted" | LC_ALL=C sort -k 2 | sha256sum | cut -d' ' -f1
}

version=$(awk '$1 ~ /^qemu-system-x86_/ { print $1 }' "$work/known" | sed 's/.*%3a\([0-9.]*\).*/\1/')
cd "$OLDPWD"
{
    echo "# Debian 13's QEMU for the lab, on amd64. Written by scripts/pin-qemu.sh on $(date -u +%F), from $mirror, whose lists"
    echo "# apt has checked by Debian's keys. Packages: parts, SHA-256, bytes, path in the archive, files (FILE or FILE=NAME)."
    echo "version $version"
    echo "snapshot $(date -u +%Y%m%dT%H%M%SZ)"
    for part in x86 arm; do
        echo "$part $(cd "$work/root" && sum_of "$part")"
    done
    while read -r name hash size path; do
        awk -v owner="$name" -v rest="$hash $size $path" '
            $2 == owner { parts = $1; files = files " " $3 }
            END { if (files) print parts, rest files }' "$work/wanted"
    done <"$work/known"
} >"$work/table"
mv "$work/table" "$table"
echo "$table: QEMU $version, $(grep -c '/pool/' "$table") packages" >&2
