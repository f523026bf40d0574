// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an aarch64 instruction does to what runs next, and to interrupts.

use crate::effect::Effect;

/// The mask of IRQs, of the four that DAIF holds, as an instruction names it.
const I: u32 = 0b10;

/// What this instruction does. Bytes that are none do nothing.
pub fn effect(bytes: &[u8]) -> Effect {
    let Ok(bytes) = bytes.try_into() else { return Effect::None };
    let insn = u32::from_le_bytes(bytes);
    // Without the last five bits: most instructions name a register there.
    match insn >> 5 << 5 {
        // mrs of DAIF, and msr; from the register that is always 0, every mask is taken away.
        0xd53b_4220 => return Effect::FlagsSaved,
        0xd51b_4220 => {
            return if insn & 31 == 31 { Effect::InterruptsOn } else { Effect::FlagsRestored };
        }
        // mrs of CNTPCT, CNTVCT, and of both in their order.
        0xd53b_e020 | 0xd53b_e040 | 0xd53b_e0a0 | 0xd53b_e0c0 => return Effect::ReadsClock,
        // wfit.
        0xd503_1020 => return Effect::Halt,
        _ => {}
    }
    // msr of DAIFSet and DAIFClr, with four bits in the middle.
    match (insn & 0xffff_f0ff, insn >> 8 & I != 0) {
        (0xd503_40df, true) => {
            return if insn >> 8 & 15 == 15 { Effect::AllOff } else { Effect::InterruptsOff };
        }
        (0xd503_40ff, true) => return Effect::InterruptsOn,
        _ => {}
    }
    match insn {
        // wfi. QEMU goes on at once at wfe, and so does this.
        0xd503_207f => return Effect::Halt,
        // udf.
        0..=0xffff => return Effect::Trap,
        _ => {}
    }
    match (insn >> 26, insn >> 24, insn & 31) {
        (0b00_0101, ..) => Effect::Jump,
        (0b10_0101, ..) => Effect::Call,
        (_, 0xd4, 0b00001) if insn >> 21 & 7 == 0 => Effect::SystemCall,
        // brk. What hvc and smc ask for is done by QEMU.
        (_, 0xd4, 0b00000) if insn >> 21 & 7 == 1 => Effect::Trap,
        // By a register, with or without a check of the pointer.
        (_, 0xd6 | 0xd7, _) if insn >> 25 == 0b110_1011 && insn >> 16 & 31 == 31 => {
            match insn >> 21 & 15 {
                0b0000 | 0b1000 => Effect::Jump,
                0b0001 | 0b1001 => Effect::Call,
                0b0010 => Effect::Return,
                0b0100 => Effect::InterruptReturn,
                _ => Effect::None,
            }
        }
        _ => Effect::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_by_their_bytes() {
        for (insn, expected) in [
            // bl, blr x8, blraa x8 x9, blraaz x8.
            (0x9400_0010_u32, Effect::Call),
            (0xd63f_0100, Effect::Call),
            (0xd73f_0909, Effect::Call),
            (0xd63f_091f, Effect::Call),
            // b, b backwards, br x16, braa x16 x17.
            (0x1400_0004, Effect::Jump),
            (0x17ff_fffe, Effect::Jump),
            (0xd61f_0200, Effect::Jump),
            (0xd71f_0a11, Effect::Jump),
            // b.eq, cbz x0, tbnz x0 #7: taken or not.
            (0x5400_0040, Effect::None),
            (0xb400_0040, Effect::None),
            (0x3738_0040, Effect::None),
            // ret, ret x1, retaa, retab.
            (0xd65f_03c0, Effect::Return),
            (0xd65f_0020, Effect::Return),
            (0xd65f_0bff, Effect::Return),
            (0xd65f_0fff, Effect::Return),
            // eret, eretaa; drps.
            (0xd69f_03e0, Effect::InterruptReturn),
            (0xd69f_0bff, Effect::InterruptReturn),
            (0xd6bf_03e0, Effect::None),
            // svc #0, svc #1, hvc #0, smc #0, brk #0x800, hlt #0, udf #0.
            (0xd400_0001, Effect::SystemCall),
            (0xd400_0021, Effect::SystemCall),
            (0xd400_0002, Effect::None),
            (0xd400_0003, Effect::None),
            (0xd421_0000, Effect::Trap),
            (0xd440_0000, Effect::None),
            (0x0000_0000, Effect::Trap),
            // msr daifset #3, #15, #4 (SError alone); daifclr #3, #8.
            (0xd503_43df, Effect::InterruptsOff),
            (0xd503_4fdf, Effect::AllOff),
            (0xd503_44df, Effect::None),
            (0xd503_43ff, Effect::InterruptsOn),
            (0xd503_48ff, Effect::None),
            // mrs x21, daif; msr daif, x21; msr daif, xzr.
            (0xd53b_4235, Effect::FlagsSaved),
            (0xd51b_4235, Effect::FlagsRestored),
            (0xd51b_423f, Effect::InterruptsOn),
            // wfi, wfit x3; wfe, isb, nop.
            (0xd503_207f, Effect::Halt),
            (0xd503_1023, Effect::Halt),
            (0xd503_205f, Effect::None),
            (0xd503_3fdf, Effect::None),
            (0xd503_201f, Effect::None),
            // mrs x0, cntvct_el0; x5, cntvctss_el0; x0, cntfrq_el0.
            (0xd53b_e040, Effect::ReadsClock),
            (0xd53b_e0c5, Effect::ReadsClock),
            (0xd53b_e000, Effect::None),
        ] {
            assert_eq!(effect(&insn.to_le_bytes()), expected, "{insn:#x}");
        }
        assert_eq!(effect(&[0xc3]), Effect::None);
        assert_eq!(effect(&[]), Effect::None);
    }
}
