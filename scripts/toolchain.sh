#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The Rust that builds this workspace: the release that the project's figures were taken with, because another compiler
# makes another program, and in the lab its figures differ by some nanoseconds. Where it is not the one in use, rustup brings
# it, beside whatever else is installed; where that cannot be, one that is new enough does, and says so. No default is changed
# and no file of the user's shell. Sourced by the other scripts, or run by itself.
set -eu

# shellcheck source=scripts/packages.sh
. "${BASH_SOURCE[0]%/*}/packages.sh"

wanted_rust=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "${BASH_SOURCE[0]%/*}/../Cargo.toml")
# What rustup calls it, and the commit it was built from: `stable` was the same compiler once.
reference_rust=1.95.0
reference_commit=59807616e1fa2540724bfbac14d7976d7e4a3860
# shellcheck disable=SC2034 # for those that source this
target_dir=${CARGO_TARGET_DIR:-target}

# Whether `cargo` is there and at least as new as the workspace wants.
rust_is_new_enough() {
    local have
    have=$(RUSTUP_AUTO_INSTALL=0 cargo --version 2>/dev/null | cut -d' ' -f2) || return 1
    [ -n "$have" ] && [ "$(printf '%s\n' "$wanted_rust" "${have%%-*}" | sort -V | head -n 1)" = "$wanted_rust" ]
}

# Debian's rustup where it has one, which is from Debian 13 on; else the one from rust-lang.org. Debian's would push
# out Debian's own compiler, so it is not taken where that is installed.
get_rustup() {
    if command -v apt-get >/dev/null 2>&1 && ! command -v rustc >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || can_sudo; }; then
        refresh_lists
        if LC_ALL=C apt-cache policy rustup | grep -q 'Candidate: [0-9]'; then
            needs rustup rustup
            install_missing
            return 0
        fi
    fi
    get_rustup_from_its_makers
}

get_rustup_from_its_makers() {
    local folder url sum
    needs curl curl ca-certificates
    install_missing
    url=https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu/rustup-init
    echo "Fetching $url, checking it against its published SHA-256, and installing it into ${CARGO_HOME:-$HOME/.cargo}."
    folder=$(mktemp -d)
    curl --proto '=https' --tlsv1.2 -fsSL --retry 3 -o "$folder/rustup-init" "$url"
    sum=$(curl --proto '=https' --tlsv1.2 -fsSL --retry 3 "$url.sha256" | cut -c 1-64)
    if ! echo "$sum  $folder/rustup-init" | sha256sum --check --status; then
        echo "$url does not have its published SHA-256, $sum: not run." >&2
        rm -r "$folder"
        return 1
    fi
    chmod +x "$folder/rustup-init"
    RUSTUP_INIT_SKIP_PATH_CHECK=yes "$folder/rustup-init" -y --quiet --no-modify-path --profile minimal --default-toolchain none >/dev/null
    rm -r "$folder"
}

# The compiler of the project's figures, for the commands of this script alone.
use_reference_rust() {
    export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    command -v rustup >/dev/null 2>&1 || get_rustup
    # Asked of the list: older rustups install a missing toolchain without a word when it is called.
    if ! rustup toolchain list | grep -q "^$reference_rust-"; then
        echo "Installing Rust $reference_rust with rustup; this takes about a minute."
        rustup --quiet toolchain install "$reference_rust" --profile minimal --component rustfmt,clippy || return 1
    fi
    export RUSTUP_TOOLCHAIN=$reference_rust
    rust_is_new_enough
}

rust_commit() {
    RUSTUP_AUTO_INSTALL=0 rustc -vV 2>/dev/null | sed -n 's/^commit-hash: //p'
}

ensure_rust() {
    [ "$(rust_commit)" != "$reference_commit" ] || return 0
    export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
    [ "$(rust_commit)" != "$reference_commit" ] || return 0
    if ! rust_is_new_enough; then
        use_reference_rust
    # What is there will do; rustup is not installed for this alone.
    elif ! command -v rustup >/dev/null 2>&1 || ! use_reference_rust; then
        echo "$(rustc --version) builds this, not $reference_rust: figures of the lab will differ a little from those of docs/tour.md." >&2
    fi
}

# The standard library for a target, which only rustup can add.
ensure_target() {
    local target=$1
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] && return 0
    command -v rustup >/dev/null 2>&1 || use_reference_rust
    [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ] && return 0
    echo "Adding Rust's standard library for $target."
    rustup --quiet target add "$target"
}

# Build scripts run on this machine, so its own linker and C library are needed whatever is built.
ensure_linker() {
    if ! echo 'int main(void) { return 0; }' | cc -x c -o /dev/null - 2>/dev/null; then
        missing+=(gcc libc6-dev)
        install_missing
    fi
}

# What cargo is told so that a commit gives the same bytes in any folder, in `same_bytes`. A panic names its source file, and
# those of dependencies lie where cargo keeps them: in a registry, a mirror, a vendored folder. Cargo is asked for these
# folders, and each gets the same name. Our own sources are named relative to the workspace, but what build scripts write
# lies in the target folder, and the standard library's sources, where they are installed, in rustup's.
#
# As `--config`, not as RUSTFLAGS: a RUSTFLAGS variable would replace the flags in .cargo/config.toml.
reproducible() {
    local folder flags
    flags="'--remap-path-prefix=$PWD=/teiji', '--remap-path-prefix=$(realpath -m "$target_dir")=/target'"
    flags+=", '--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(rust_commit)'"
    while read -r folder; do
        flags+=", '--remap-path-prefix=$folder=/crates'"
    done < <(folders_of_dependencies "$@")
    # shellcheck disable=SC2034 # for those that source this
    same_bytes=(--config "target.'cfg(all())'.rustflags = [$flags]")
}

# The folders in which the sources of dependencies lie, each in one of its own. Fetches what is not there.
folders_of_dependencies() {
    local targets=() target manifest
    for target; do
        targets+=(--filter-platform "$target")
    done
    cargo metadata --locked --format-version 1 "${targets[@]}" | grep -o '"manifest_path":"[^"]*"' | cut -d '"' -f 4 |
        while read -r manifest; do
            [ "${manifest#"$PWD/"}" != "$manifest" ] || dirname "$(dirname "$manifest")"
        done | sort -u
}

# What `make build` builds: static, so that the same file runs on every distribution.
native_target() {
    case $(uname -m) in
        x86_64 | aarch64) echo "$(uname -m)-unknown-linux-musl" ;;
        *)
            echo "There is no native build for $(uname -m): build on x86_64 with 'make cross' and copy the program." >&2
            return 1
            ;;
    esac
}

# A static program names no interpreter: no loader and no library of the machine it runs on.
check_static() {
    if readelf --program-headers --wide "$1" | grep -q INTERP; then
        echo "$1 is not static." >&2
        return 1
    fi
}

# Run, not sourced: only make sure of the toolchain.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    ensure_rust
    ensure_linker
    cargo --version
fi
