#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# One run of the lab on this system, and once more on Debian 13 in a folder, with the QEMU that the lab fetches there by itself:
# the samples are the same. Installs debootstrap where it is missing, and needs root.
#
# Usage: qemu-on-debian-13.sh [PROGRAM [FOLDER]]; the release program and a folder below the target folder unless told otherwise.
# The folder keeps the system, some 300 MB, for the next time.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

program=$(realpath "${1:-$target_dir/x86_64-unknown-linux-musl/release/teiji}")
folder=$(realpath -m "${2:-$target_dir/check/debian-13}")
kernel=debian:amd64

needs debootstrap debootstrap
install_missing
mkdir -p "$folder"
if ! [ -e "$folder/root/installed" ]; then
    echo "Installing Debian 13 in $folder/root."
    rm -rf "${folder:?}/root"
    as_root debootstrap --variant=minbase trixie "$folder/root" >"$folder/debootstrap.log"
    as_root touch "$folder/root/installed"
fi

. /etc/os-release
echo "On ${PRETTY_NAME:-this system}:"
rm -rf "$folder/here"
"$program" lab run --quiet --qemu pinned --kernel "$kernel" --load hackbench -n 300 --boot-timeout 900s -o "$folder/here"

cache=$folder/root/cache/teiji
as_root rm -rf "$folder/root/cache" "$folder/root/here" "$folder/root/teiji"
as_root mkdir -p "$cache"
as_root cp -RL "${XDG_CACHE_HOME:-$HOME/.cache}/teiji/kernels" "$cache/kernels"
as_root cp -R "$program" "$folder/root/teiji"
as_root cp -R "$folder/here" "$folder/root/here"
as_root cp /etc/resolv.conf "$folder/root/etc/resolv.conf"

echo "On $(sed -n 's/^PRETTY_NAME="\(.*\)"$/\1/p' "$folder/root/etc/os-release"):"
# What is mounted there is mounted for these commands alone.
# shellcheck disable=SC2016 # for the shell in the other system
as_root unshare --mount --fork bash -eu -c '
    mount -t proc proc "$0/proc"
    mount --bind /dev "$0/dev"
    exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin HOME=/root TMPDIR=/tmp XDG_CACHE_HOME=/cache ${http_proxy:+http_proxy=$http_proxy} \
        sh -euc "./teiji lab rerun --quiet --boot-timeout 900s here/*.teiji; ./teiji lab kernels"' "$folder/root"
