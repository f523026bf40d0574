// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an x86_64 instruction does to what runs next, and to interrupts. The bytes are one whole
//! instruction, as QEMU decoded it.

use crate::effect::Effect;

/// What this instruction does. Bytes that are none do nothing.
pub fn effect(bytes: &[u8]) -> Effect {
    const PREFIXES: [u8; 11] = [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    let begin = bytes.iter().position(|byte| !PREFIXES.contains(byte)).unwrap_or(bytes.len());
    let opcode = match &bytes[begin..] {
        // REX.
        [0x40..=0x4f, rest @ ..] => rest,
        rest => rest,
    };
    match opcode {
        [0xe8, ..] => Effect::Call,
        // The group's member stands in the middle of the byte after it.
        [0xff, member, ..] => match member >> 3 & 7 {
            2 | 3 => Effect::Call,
            4 | 5 => Effect::Jump,
            _ => Effect::None,
        },
        [0xc3 | 0xc2 | 0xcb | 0xca, ..] => Effect::Return,
        [0xe9 | 0xeb, ..] => Effect::Jump,
        [0xcf, ..] => Effect::InterruptReturn,
        [0xfa, ..] => Effect::InterruptsOff,
        [0xfb, ..] => Effect::InterruptsOnAfterNext,
        [0x9c, ..] => Effect::FlagsSaved,
        [0x9d, ..] => Effect::FlagsRestored,
        [0xf4, ..] => Effect::Halt,
        [0x0f, 0x05, ..] => Effect::SystemCall,
        [0x0f, 0x07, ..] => Effect::SystemReturn,
        [0x0f, 0x31, ..] | [0x0f, 0x01, 0xf9, ..] => Effect::ReadsClock,
        // mwait.
        [0x0f, 0x01, 0xc9, ..] => Effect::Halt,
        _ => Effect::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_by_their_bytes() {
        for (bytes, expected) in [
            (&[0xe8, 1, 2, 3, 4][..], Effect::Call),
            (&[0xff, 0xd0], Effect::Call),
            (&[0x41, 0xff, 0x54, 0x24, 0x08], Effect::Call),
            (&[0xff, 0xe0], Effect::Jump),
            (&[0xff, 0xc0], Effect::None),
            (&[0xff, 0x30], Effect::None),
            (&[0xc3], Effect::Return),
            (&[0xf3, 0xc3], Effect::Return),
            (&[0xeb, 0xfe], Effect::Jump),
            (&[0x48, 0xcf], Effect::InterruptReturn),
            (&[0x48, 0x0f, 0x07], Effect::SystemReturn),
            (&[0xfa], Effect::InterruptsOff),
            (&[0x0f, 0x01, 0xf9], Effect::ReadsClock),
            (&[0x0f, 0x01, 0xca], Effect::None),
            (&[0x66, 0x66], Effect::None),
            (&[], Effect::None),
            (&[0xff], Effect::None),
        ] {
            assert_eq!(effect(bytes), expected, "{bytes:x?}");
        }
    }
}
