// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's own verbs by which the lab starts it anew; hidden, because nobody else does.

/// In a guest, as its first process: [`crate::init`].
pub const INIT_VERB: &str = "lab-init";
/// On the host, as QEMU: [`crate::become_emulator`].
pub const EMULATOR_VERB: &str = "lab-emulator";
