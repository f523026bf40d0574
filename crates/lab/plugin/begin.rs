// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instruction at which a guest has its turns begin, for both sides: the guest executes it, and
//! the plugin looks for it.

/// A NOP with an operand in memory, at a distance by which no other NOP is meant. Its bytes, the
/// first one lowest.
pub const INSTRUCTION: u64 = u64::from_le_bytes(*b"\x0f\x1f\x84\x00teij");
