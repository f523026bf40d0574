// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction does to what runs next, and to interrupts: the same words for each
//! processor.

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
