// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where instructions of 64-bit x86 code begin and end, which is all that finding one of them
//! takes.
//!
//! By the opcode maps of Intel's manual (SDM volume 2, appendix A). Everything after the opcode
//! follows from it: whether a ModRM byte comes, with what it brings along, and how long the
//! immediate is.

/// What comes after an opcode.
#[derive(Clone, Copy)]
struct Form {
    modrm: bool,
    immediate: Immediate,
}

#[derive(Clone, Copy)]
enum Immediate {
    None,
    Bytes(usize),
    /// 4 bytes, or 2 with an operand size prefix.
    Operand,
    /// The same, or 8 bytes with REX.W.
    FullOperand,
    /// 1 byte, if the ModRM byte's register field is below 2.
    ByteOfTest,
    /// As `Operand`, on the same condition.
    OperandOfTest,
    /// An address: 8 bytes, or 4 with an address size prefix.
    Address,
}

const fn plain() -> Option<Form> {
    Some(Form { modrm: false, immediate: Immediate::None })
}

const fn modrm() -> Option<Form> {
    Some(Form { modrm: true, immediate: Immediate::None })
}

const fn immediate(immediate: Immediate) -> Option<Form> {
    Some(Form { modrm: false, immediate })
}

const fn both(immediate: Immediate) -> Option<Form> {
    Some(Form { modrm: true, immediate })
}

/// Of an opcode of one byte.
const fn one_byte(opcode: u8) -> Option<Form> {
    use Immediate::{Address, ByteOfTest, Bytes, FullOperand, Operand, OperandOfTest};
    match opcode {
        0x00..=0x3f => match opcode & 7 {
            0..=3 => modrm(),
            4 => immediate(Bytes(1)),
            5 => immediate(Operand),
            _ => None,
        },
        0x63 | 0x84..=0x8f | 0xd0..=0xd3 | 0xd8..=0xdf | 0xfe | 0xff => modrm(),
        0x68 | 0xa9 => immediate(Operand),
        0x69 | 0x81 | 0xc7 => both(Operand),
        0x6a | 0x70..=0x7f | 0xa8 | 0xb0..=0xb7 | 0xcd | 0xe0..=0xe7 | 0xeb => immediate(Bytes(1)),
        0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6 => both(Bytes(1)),
        0xa0..=0xa3 => immediate(Address),
        0xb8..=0xbf => immediate(FullOperand),
        0xc2 | 0xca => immediate(Bytes(2)),
        0xc8 => immediate(Bytes(3)),
        0xe8 | 0xe9 => immediate(Bytes(4)),
        0xf6 => both(ByteOfTest),
        0xf7 => both(OperandOfTest),
        0x60..=0x62 | 0x82 | 0x9a | 0xce | 0xd4..=0xd6 | 0xea => None,
        _ => plain(),
    }
}

/// Of one after 0x0f.
const fn two_bytes(opcode: u8) -> Option<Form> {
    use Immediate::Bytes;
    match opcode {
        0x04 | 0x0a | 0x0c | 0x24..=0x27 | 0x36 | 0x38..=0x3f => None,
        0x05..=0x0b | 0x0e | 0x30..=0x37 | 0x77 | 0xa0..=0xa2 | 0xa8..=0xaa | 0xc8..=0xcf => {
            plain()
        }
        0x80..=0x8f => immediate(Bytes(4)),
        0x0f | 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6 => both(Bytes(1)),
        _ => modrm(),
    }
}

/// Bytes of the instruction that begins here; none if there is no such instruction, or it is not
/// all here.
pub(super) fn instruction_length(code: &[u8]) -> Option<usize> {
    let byte = |at: usize| code.get(at).copied();
    let (mut at, mut operand_is_short, mut address_is_short) = (0, false, false);
    loop {
        match byte(at)? {
            0x66 => operand_is_short = true,
            0x67 => address_is_short = true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 | 0xf2 | 0xf3 => {}
            _ => break,
        }
        at += 1;
    }
    let mut is_wide = false;
    if let rex @ 0x40..=0x4f = byte(at)? {
        is_wide = rex & 8 != 0;
        at += 1;
    }
    let opcode = byte(at)?;
    at += 1;
    let form = match opcode {
        0x0f => {
            let second = byte(at)?;
            at += 1;
            match second {
                0x38 => {
                    at += 1;
                    modrm()
                }
                0x3a => {
                    at += 1;
                    both(Immediate::Bytes(1))
                }
                _ => two_bytes(second),
            }
        }
        // VEX of two and three bytes, and EVEX: the map's number stands in the prefix.
        0xc5 => {
            at += 2;
            vector(1, byte(at - 1)?)
        }
        0xc4 => {
            let map = byte(at)? & 0x1f;
            at += 3;
            vector(map, byte(at - 1)?)
        }
        0x62 => {
            let map = byte(at)? & 7;
            at += 4;
            vector(map, byte(at - 1)?)
        }
        _ => one_byte(opcode),
    }?;
    let mut register_field = 0;
    if form.modrm {
        let modrm = byte(at)?;
        at += 1;
        register_field = modrm >> 3 & 7;
        let (mode, place) = (modrm >> 6, modrm & 7);
        let mut base = place;
        if mode != 3 && place == 4 {
            base = byte(at)? & 7;
            at += 1;
        }
        at += match mode {
            0 if base == 5 => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
    }
    let operand = if operand_is_short && !is_wide { 2 } else { 4 };
    at += match form.immediate {
        Immediate::None => 0,
        Immediate::Bytes(bytes) => bytes,
        Immediate::Operand => operand,
        Immediate::FullOperand if is_wide => 8,
        Immediate::FullOperand => operand,
        Immediate::ByteOfTest => usize::from(register_field < 2),
        Immediate::OperandOfTest if register_field < 2 => operand,
        Immediate::OperandOfTest => 0,
        Immediate::Address => {
            if address_is_short {
                4
            } else {
                8
            }
        }
    };
    (at <= code.len()).then_some(at)
}

/// Of a vector instruction: nearly all have a ModRM byte, and those of the third map an immediate
/// as well.
const fn vector(map: u8, opcode: u8) -> Option<Form> {
    match (map, opcode) {
        (1, 0x77) => plain(),
        (1, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6) | (3, _) => both(Immediate::Bytes(1)),
        _ => modrm(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as a kernel has it, with its length by an independent disassembler.
    #[test]
    fn instructions_are_as_long_as_others_say() {
        for code in [
            &b"\xf3\x90"[..],                            // pause
            b"\x66\x90",                                 // xchg ax,ax
            b"\xf3\x0f\x1e\xfa",                         // endbr64
            b"\x65\x48\x8b\x1c\x25\x80\xfb\x01\x00",     // mov rbx,gs:0x1fb80
            b"\x65\x8b\x15\xd3\x06\x5c\x7e",             // mov edx,gs:[rip+..]
            b"\x0f\x1f\x44\x00\x00",                     // nop
            b"\xff\x15\x63\x24\xfe\x00",                 // call [rip+..]
            b"\xe8\x4b\xd3\x61\xff",                     // call
            b"\x75\xed",                                 // jne
            b"\x0f\x84\x10\x00\x00\x00",                 // je
            b"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", // movabs
            b"\xb8\x01\x00\x00\x00",                     // mov eax,1
            b"\x66\xb8\x01\x00",                         // mov ax,1
            b"\xf6\x47\x08\x01",                         // test byte [rdi+8],1
            b"\xf7\xd8",                                 // neg eax
            b"\xf7\xc7\x00\x02\x00\x00",                 // test edi,0x200
            b"\x66\xc7\x43\x10\x01\x00",                 // mov word [rbx+16],1
            b"\xf0\x48\x0f\xb1\x17",                     // lock cmpxchg
            b"\x48\x0f\xba\x2f\x03",                     // bts qword [rdi],3
            b"\x0f\x0b",                                 // ud2
            b"\x0f\x38\xf0\x07",                         // movbe
            b"\x66\x0f\x3a\x0f\xc1\x08",                 // palignr
            b"\xc5\xf8\x77",                             // vzeroupper
            b"\xc4\xe2\x79\x18\x05\x00\x00\x00\x00",     // vbroadcastss [rip+..]
            b"\xc4\xe3\x7d\x19\xc1\x01",                 // vextractf128
            b"\x62\xf1\x7c\x48\x10\x07",                 // vmovups zmm0,[rdi]
            b"\xc8\x10\x00\x00",                         // enter
            b"\x48\x8d\x84\x24\x00\x01\x00\x00",         // lea rax,[rsp+0x100]
        ] {
            let mut followed = code.to_vec();
            followed.extend([0x90; 8]);
            assert_eq!(instruction_length(&followed), Some(code.len()), "{code:02x?}");
            assert_eq!(
                instruction_length(&code[..code.len() - 1]).filter(|length| *length >= code.len()),
                None,
                "{code:02x?}"
            );
        }
        assert_eq!((instruction_length(b"\x06"), instruction_length(b"")), (None, None));
    }
}
