// SPDX-License-Identifier: MIT OR Apache-2.0
//! This machine: its facts, and what it did during a run.
//!
//! The readers of /proc and /sys, the warnings that follow from two snapshots, and the one kernel
//! state that a run borrows. Figures depend on the conditions they were taken under: the same
//! kernel is an order of magnitude later with another governor, another clocksource or another
//! guest on the same hypervisor, and nothing shows it afterwards.
//!
//! In: a [`HostRoot`], below which every path is read; tests lay files into a directory of their
//! own. Out: a [`model::HostFacts`] per snapshot, the [`warnings`] of two snapshots, a
//! [`DmaLatency`] that is given back when dropped, and the parsers that the crates `check` and
//! `tune` share. A snapshot never fails: what cannot be read is `None`, with the file, line, item
//! and reason beside it.
//!
//! Must not touch: the measuring threads, and any setting of the machine but that one. CPUs this
//! process may run on are a question to the scheduler, not to files: see the crate `probe`.
#![forbid(unsafe_code)]

#[cfg(test)]
mod changes_tests;
pub mod cpu;
mod dma_latency;
pub mod interrupts;

pub mod kernel;
mod other_work;
pub mod proc_stat;
mod processes;
pub mod regular_file;
mod root;
mod snapshot;
#[cfg(test)]
mod tests {
    pub(crate) mod files;
    pub(crate) mod machines;
}
mod usage;
mod warnings;

pub use dma_latency::{DmaLatency, HostError};
pub use other_work::other_work;
pub use processes::{ProcessLines, ProcessTimes};
pub use root::HostRoot;
pub use warnings::{
    FAST_CLOCKSOURCES, SLOW_CLOCKSOURCES, cpus_not_allowed, isolated_not_measured, warnings,
};
