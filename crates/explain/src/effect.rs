// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction does to what runs next, and to interrupts: the same words for each
//! processor.

use crate::{arm64, x86};

/// What matters about an instruction here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    None,
    /// A call; the next instruction's address is where it returns to.
    Call,
    Return,
    /// A jump that is always taken.
    Jump,
    SystemCall,
    SystemReturn,
    /// The return from an interrupt or an exception, and on arm64 from a system call.
    InterruptReturn,
    /// An exception that the instruction asks for, such as a breakpoint's, where it enters the
    /// kernel as a fault does.
    Trap,
    /// Interrupts are off from here on.
    InterruptsOff,
    /// They are off from here on, and all else that can be masked, whether they were on or not.
    AllOff,
    /// They are on from here on.
    InterruptsOn,
    /// They are on, after the next instruction.
    InterruptsOnAfterNext,
    /// The flags are read, in order to be restored later or to see whether interrupts are on.
    FlagsSaved,
    /// They are as they were when the flags were saved.
    FlagsRestored,
    /// The processor halts until an interrupt.
    Halt,
    /// The processor's counter of time is read.
    ReadsClock,
}

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
    #[must_use]
    pub const fn clock_step_ns(self) -> f64 {
        match self {
            Processor::X86_64 => 1.0,
            Processor::Aarch64 => 16.0,
        }
    }

    /// What this instruction does. Bytes that are none do nothing.
    #[must_use]
    pub fn effect(self, bytes: &[u8]) -> Effect {
        match self {
            Processor::X86_64 => x86::effect(bytes),
            Processor::Aarch64 => arm64::effect(bytes),
        }
    }
}
