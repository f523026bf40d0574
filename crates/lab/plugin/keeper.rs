// SPDX-License-Identifier: MIT OR Apache-2.0
//! Has QEMU end the turns of its CPUs where `turns.rs` says so, from where the guest asks for it.
//!
//! Before that, CPUs are started and stopped, and wait for one another by PAUSE instructions, of
//! which each ends a turn: kept even, nothing would get far in a turn.

use super::begin::INSTRUCTION;
use super::turns::Turns;
use super::{Block, INSN, host};
use crate::host::Arena;
use crate::qemu::{self, Cpus, Data, Info, Tb};

/// A block of instructions, of several CPUs.
pub struct Shared {
    pub instructions: u32,
    /// Whether the turns begin at it.
    begins: bool,
    /// What is recorded of it.
    pub block: Option<&'static Block>,
}

/// What keeps the turns even.
pub struct Keeper {
    data: Data,
    count: usize,
    arena: Arena,
    /// None before the turns begin.
    kept: Option<(Turns, Cpus)>,
}

impl Keeper {
    /// For so many CPUs, where QEMU has what it takes.
    pub fn new(info: &Info, count: usize) -> Option<Self> {
        let data = Data::new(info)?;
        Cpus::can_be_told_apart().then_some(Keeper { data, count, arena: Arena::new(), kept: None })
    }

    /// Keeps a block that is being translated.
    pub fn translated(
        &mut self,
        tb: *mut Tb,
        block: Option<&'static Block>,
    ) -> Option<&'static Shared> {
        let (_, instructions) = qemu::extent(tb);
        let begins = (0..instructions).any(|index| {
            let mut bytes = [0; INSN];
            let size = self.data.bytes(qemu::instruction(tb, index), &mut bytes);
            bytes.get(..size) == Some(&INSTRUCTION.to_le_bytes())
        });
        self.arena.keep(Shared { instructions: u32::try_from(instructions).ok()?, begins, block })
    }

    /// The CPU whose turn it is begins to execute this block. Returns whether its turn is over
    /// after it.
    pub fn execute(&mut self, shared: &Shared) -> bool {
        match &mut self.kept {
            _ if shared.begins => {
                let Some(cpus) = Cpus::new(self.count) else { host::die() };
                self.kept = Some((Turns::new(self.count), cpus));
                false
            }
            Some((turns, cpus)) => turns.execute(cpus.executing(), shared.instructions.into()),
            None => false,
        }
    }

    /// Ends the turn of the CPU that executes.
    pub fn end_turn(&self) {
        if let Some((_, cpus)) = &self.kept {
            cpus.end_turn();
        }
    }
}
