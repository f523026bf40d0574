# SPDX-License-Identifier: MIT OR Apache-2.0
# Copy it into a layer, and set TEIJI_SITE and TEIJI_SHA256 in local.conf or a .bbappend. teiji needs Rust 1.95 or later.
#
# How far it was tried: no image was built. BitBake reads and expands the recipe in OpenEmbedded-Core of August 2026 (35a2c6ed79,
# Rust 1.97). With the settings that its class writes for cargo, the crates are found in the archive without a network; the same
# sources were built on Debian 12 by Buildroot's command.
SUMMARY = "Measures wake-up latency: how late a thread runs after the time it asked to be woken"
SECTION = "console/utils"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=e109aa1d7fe522446787cf9f7ecb4bb0 \
                    file://LICENSE-APACHE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# The URL of a release, or what `make dist` has left, as file:///.../dist; and the archive's line in SHA256SUMS.
TEIJI_SITE ?= "file:///nowhere"
TEIJI_SHA256 ?= ""
SRC_URI = "${TEIJI_SITE}/teiji-${PV}-vendored.tar.gz"
SRC_URI[sha256sum] = "${TEIJI_SHA256}"

inherit cargo

CARGO_SRC_DIR = "crates/teiji"
CARGO_VENDORING_DIRECTORY = "${S}/VENDOR"
# What a target's symbols are for is the build system's decision.
export CARGO_PROFILE_RELEASE_STRIP = "false"
