// SPDX-License-Identifier: MIT OR Apache-2.0
//! The processors of guests that can be explained.

use crate::effect::Effect;
use crate::{arm64, x86};

/// The guest's kind of processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    /// A PC's.
    X86_64,
    /// A 64-bit ARM.
    Aarch64,
}

impl Processor {
    /// The steps in which the clock goes on that programs read on QEMU's machines, ns.
    pub const fn clock_step_ns(self) -> f64 {
        match self {
            Processor::X86_64 => 1.0,
            Processor::Aarch64 => 16.0,
        }
    }

    /// What this instruction does. Bytes that are none do nothing.
    pub fn effect(self, bytes: &[u8]) -> Effect {
        match self {
            Processor::X86_64 => x86::effect(bytes),
            Processor::Aarch64 => arm64::effect(bytes),
        }
    }
}
