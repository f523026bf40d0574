// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which instructions of a window were done, as QEMU's clock counts them.
//!
//! The plugin counts instructions that were begun. One that faults is begun again once the kernel has mended what was missing, and its
//! first attempt did not pass for QEMU's clock: it is taken back here.

use crate::dump::{Block, Dump, Window};
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

/// User code of another process may be the same code at another address; what lies within a page is the same.
const PAGE: u64 = 4_096;

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
            // The stub of an interrupt jumps to what all of them share.
            let is_stub = || before.is_some_and(|before| kernel.entrance(block(before).address) == Some(Entrance::Interrupt));
            runs[index].entrance = kernel.entrance(block(index).address).filter(|_| !is_stub());
            if runs[index].entrance == Some(Entrance::Fault)
                && let Some(last) = before.map(|before| &mut runs[before])
                && last.done > 0
                && is_begun_again(&dump.blocks[last.block], last.done, own[place..].iter().map(|index| block(*index)))
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

/// Whether the last instruction begun of this block was the one that faulted, and not the fetching of what follows it, which happens
/// only in user code.
fn is_begun_again<'a>(faulted: &Block, begun: u64, mut after: impl Iterator<Item = &'a Block>) -> bool {
    if begun < faulted.len() || faulted.is_kernel() {
        return true;
    }
    let last = faulted.bounds[faulted.bounds.len() - 2];
    after.find(|block| !block.is_kernel()).is_none_or(|next| next.address % PAGE == last % PAGE)
}
