// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which instructions of a window were done, as QEMU's clock counts them.
//!
//! Of one CPU, the plugin counts instructions that were begun. One that faults is begun again once
//! the kernel has mended what was missing, and its first attempt did not pass for QEMU's clock: it
//! is taken back here.

use crate::dump::{Block, Dump, Window};
use crate::effect::Effect;
use crate::kernel::{Entrance, Kernel};

/// A block as it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// An index into [`Dump::blocks`].
    pub block: usize,
    /// The CPU that executed it.
    pub cpu: usize,
    /// Instructions done before it, by all CPUs, from the beginning of the window.
    pub begin: u64,
    /// Instructions of it that were done.
    pub done: u64,
    /// How the processor came to it, if not by the code before.
    pub entrance: Option<Entrance>,
    /// What the plugin had counted before it.
    pub counted: u64,
}

/// User code of another process may be the same code at another address; what lies within a page is
/// the same.
const PAGE: u64 = 4_096;

/// More blocks than such a trampoline has.
const TRAMPOLINE: usize = 4;

/// The blocks of a window, of all CPUs in the order in which they were executed.
pub(crate) fn runs(dump: &Dump, window: &Window, kernel: &Kernel<'_>) -> Vec<Run> {
    let block = |index: usize| &dump.blocks[window.entries[index].block as usize];
    let after = |index: usize| window.entries.get(index + 1).map_or(window.end, |next| next.before);
    let mut runs: Vec<Run> = window
        .entries
        .iter()
        .enumerate()
        .map(|(index, entry)| Run {
            block: entry.block as usize,
            cpu: entry.cpu,
            begin: 0,
            done: after(index) - entry.before,
            entrance: None,
            counted: entry.before,
        })
        .collect();
    let cpus = window.entries.iter().map(|entry| entry.cpu).max().map_or(0, |last| last + 1);
    for cpu in 0..cpus {
        // What one CPU did has nothing to do with the other's turns in between.
        let own: Vec<usize> = (0..runs.len()).filter(|index| runs[*index].cpu == cpu).collect();
        for (place, &index) in own.iter().enumerate() {
            let before = place.checked_sub(1).map(|before| own[before]);
            // Page tables of programs hold but a trampoline to the kernel, where those of the
            // kernel are kept from them.
            let is_user = |index: &usize| !block(*index).is_kernel();
            let before = match kernel.is_entered_from_user(block(index).address) {
                true => own[..place].iter().rev().take(TRAMPOLINE).copied().find(is_user),
                false => before,
            };
            // The stub of an interrupt jumps to what all of them share.
            let is_stub = || {
                before.is_some_and(|before| {
                    kernel.entrance(block(before).address) == Some(Entrance::Interrupt)
                })
            };
            runs[index].entrance = kernel.entrance(block(index).address).filter(|_| !is_stub());
            let begun =
                before.map_or(Effect::None, |before| last_begun(block(before), runs[before].done));
            runs[index].entrance = match (runs[index].entrance, begun) {
                // One way into the kernel for all that an instruction does, on arm64.
                (Some(Entrance::Fault), Effect::SystemCall) => Some(Entrance::SystemCall),
                (Some(Entrance::Fault), Effect::Trap) => Some(Entrance::Trap),
                (entrance, _) => entrance,
            };
            if dump.counts_begun
                && runs[index].entrance == Some(Entrance::Fault)
                && let Some(last) = before.map(|before| &mut runs[before])
                && last.done > 0
                && is_begun_again(
                    &dump.blocks[last.block],
                    last.done,
                    own[place..].iter().map(|index| block(*index)),
                )
            {
                last.done -= 1;
            }
        }
    }
    let mut begin = 0;
    for run in &mut runs {
        run.begin = begin;
        begin += run.done;
    }
    runs
}

/// What the last instruction of a block does that was begun.
fn last_begun(block: &Block, begun: u64) -> Effect {
    let last = begun.checked_sub(1).and_then(|last| usize::try_from(last).ok());
    block
        .effects
        .iter()
        .find(|(index, _)| Some(*index) == last)
        .map_or(Effect::None, |(_, effect)| *effect)
}

/// Whether the last instruction begun of this block was the one that faulted, and not the fetching
/// of what follows it, which happens only in user code.
fn is_begun_again<'a>(
    faulted: &Block,
    begun: u64,
    mut after: impl Iterator<Item = &'a Block>,
) -> bool {
    if begun < faulted.len() || faulted.is_kernel() {
        return true;
    }
    let last = faulted.bounds[faulted.bounds.len() - 2];
    after.find(|block| !block.is_kernel()).is_none_or(|next| next.address % PAGE == last % PAGE)
}
