// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the plugin has to know of the guest's processor: the instructions that show wake-ups.

use core::ffi::CStr;

#[derive(Clone, Copy)]
pub enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// By QEMU's name of its target.
    pub fn named(target: &CStr) -> Option<Self> {
        match target.to_bytes() {
            b"x86_64" => Some(Processor::X86_64),
            b"aarch64" => Some(Processor::Aarch64),
            _ => None,
        }
    }

    /// The instruction that makes a system call.
    pub const fn system_call(self) -> &'static [u8] {
        match self {
            Processor::X86_64 => &[0x0f, 0x05],
            // svc #0
            Processor::Aarch64 => &[0x01, 0x00, 0x00, 0xd4],
        }
    }

    /// Whether an instruction reads the counter that clocks are made of.
    pub const fn reads_clock(self, insn: &[u8]) -> bool {
        match self {
            Processor::X86_64 => matches!(insn, [0x0f, 0x31] | [0x0f, 0x01, 0xf9]),
            // mrs of CNTVCT_EL0, or CNTVCTSS_EL0; the register that it goes to is in the low bits.
            Processor::Aarch64 => matches!(insn, [0x40..=0x5f | 0xc0..=0xdf, 0xe0, 0x3b, 0xd5]),
        }
    }
}
