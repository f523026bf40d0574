# shellcheck shell=bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Debian packages, only those that are missing: whoever tries the project should not have to read a list first, and a
# machine that has everything is left alone. Sourced by the other scripts.
set -eu

missing=()
lists_are_fresh=no

# needs COMMAND PACKAGE...: these packages will be installed if there is no such command.
needs() {
    local command=$1
    shift
    command -v "$command" >/dev/null 2>&1 || missing+=("$@")
}

# Whether commands can be run as root through sudo. Asks for a password only where somebody can type one.
can_sudo() {
    command -v sudo >/dev/null 2>&1 || return 1
    sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Debian's package lists; an image of a fresh system has none.
refresh_lists() {
    [ "$lists_are_fresh" = no ] || return 0
    lists_are_fresh=yes
    echo "Reading Debian's package lists (apt-get update)."
    as_root apt-get update -qq || echo "apt-get update complained; going on with the lists there are."
}

install_missing() {
    [ "${#missing[@]}" -gt 0 ] || return 0
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
    local packages="${missing[*]}"
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "Missing, by their names in Debian: $packages. There is no apt-get here; please install them and try again." >&2
        return 1
    fi
    if [ "$(id -u)" != 0 ] && ! can_sudo; then
        echo "Missing: $packages. Please have them installed (apt-get install $packages) and try again." >&2
        return 1
    fi
    refresh_lists
    echo "Installing Debian packages: $packages."
    as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes apt-get install -y -qq -o DPkg::Lock::Timeout=120 \
        --no-install-recommends "${missing[@]}" >/dev/null
    missing=()
}
