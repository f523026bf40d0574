#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# From a fresh checkout to a report on this machine: what the README promises as its first command. Real-time priority
# needs root; without any way to it the machine is measured all the same, and teiji says what the figures lack.
set -eu
cd "$(dirname "$0")/.."

# shellcheck source=scripts/toolchain.sh
. scripts/toolchain.sh

./scripts/build.sh
teiji=$target_dir/$(native_target)/release/teiji

with_rights=()
if [ "$(id -u)" != 0 ]; then
    if can_sudo; then
        echo "Measuring through sudo, for real-time priority."
        with_rights=(sudo)
    else
        echo "Neither root nor sudo: measuring without real-time priority."
    fi
fi

# Whoever asked for the demo owns it, also where sudo measured or ran this script.
give_back() {
    local owner=${SUDO_UID:-$(id -u)}:${SUDO_GID:-$(id -g)}
    if [ "$(id -u)" = 0 ] || [ "${#with_rights[@]}" -gt 0 ]; then
        as_root chown -R "$owner" demo
        # Built by root only if this script was run through sudo.
        if [ -n "${SUDO_UID:-}" ] && [ -d "$target_dir" ]; then as_root chown -R "$owner" "$target_dir"; fi
    fi
}
trap give_back EXIT

mkdir -p demo
rm -rf demo/idle.teiji demo/hackbench.teiji demo/report.html
echo "Measuring for 10 s, idle."
"${with_rights[@]}" "$teiji" measure --duration 10s --output demo/idle.teiji
echo "Measuring for 10 s, under hackbench."
"${with_rights[@]}" "$teiji" measure --duration 10s --load hackbench --output demo/hackbench.teiji
give_back
trap - EXIT

echo
"$teiji" report demo/idle.teiji demo/hackbench.teiji --output demo/report.html
echo "Open $PWD/demo/report.html in a browser; it needs no network."
echo "Took $SECONDS s with the build; promised from nothing on two quiet cores: at most 255 s."
