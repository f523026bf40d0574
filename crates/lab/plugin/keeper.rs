// SPDX-License-Identifier: MIT OR Apache-2.0
//! Has QEMU end the turns of its CPUs where `turns.rs` says so, from where the guest asks for it.
//!
//! Before that, CPUs are started and stopped, and wait for one another by PAUSE instructions, of which each ends a turn: kept even,
//! nothing would get far in a turn.

use super::begin::INSTRUCTION;
use super::turns::Turns;
use super::{INSN, host};
use crate::qemu::{self, Cpus, Data, Info, Tb};

/// What keeps the turns even.
pub struct Keeper {
    data: Data,
    count: usize,
    /// None before the turns begin.
    kept: Option<(Turns, Cpus)>,
}

impl Keeper {
    /// For so many CPUs, where QEMU has what it takes.
    pub fn new(info: &Info, count: usize) -> Option<Self> {
        Cpus::can_be_told_apart().then_some(Keeper { data: Data::new(info)?, count, kept: None })
    }

    /// Whether the turns begin at this block, and how many instructions it has.
    pub fn translated(&self, tb: *mut Tb) -> (bool, usize) {
        let (_, instructions) = qemu::extent(tb);
        let begins = (0..instructions).any(|index| {
            let mut bytes = [0; INSN];
            let size = self.data.bytes(qemu::instruction(tb, index), &mut bytes);
            bytes.get(..size) == Some(&INSTRUCTION.to_le_bytes())
        });
        (begins, instructions)
    }

    /// The turns begin.
    pub fn begin(&mut self) {
        let Some(cpus) = Cpus::new(self.count) else { host::die() };
        self.kept = Some((Turns::new(self.count), cpus));
    }

    /// The CPU whose turn it is begins to execute so many instructions.
    pub fn execute(&mut self, instructions: u64) {
        if let Some((turns, cpus)) = &mut self.kept
            && turns.execute(cpus.executing(), instructions)
        {
            cpus.end_turn();
        }
    }
}
