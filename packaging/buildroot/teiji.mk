################################################################################
#
# teiji
#
################################################################################

# SPDX-License-Identifier: MIT OR Apache-2.0
# Copy this folder to package/teiji of Buildroot or of a BR2_EXTERNAL tree, and name its Config.in there. teiji needs Rust 1.95 or
# later.
#
# How far it was tried: no image was built. Buildroot of August 2026 (e991fa0716, Rust 1.97) reads the package for aarch64 with
# musl, its check-package finds no fault, and it takes the archive as vendored. The build and install commands of its
# cargo-package were run on Debian 12 with vendored crates and without a network, for x86_64 with glibc, and the program measured.
TEIJI_VERSION = 0.1.0
TEIJI_SITE = $(call qstrip,$(BR2_PACKAGE_TEIJI_SITE))
TEIJI_SOURCE = teiji-$(TEIJI_VERSION)-vendored.tar.gz
TEIJI_LICENSE = MIT or Apache-2.0
TEIJI_LICENSE_FILES = LICENSE-MIT LICENSE-APACHE
TEIJI_SUBDIR = crates/teiji

# SHA256SUMS of the release has it: these files are in the archive themselves.
BR_NO_CHECK_HASH_FOR += $(TEIJI_SOURCE)

$(eval $(cargo-package))
