// SPDX-License-Identifier: MIT OR Apache-2.0
//! This machine: its facts, what it did during a run, and its settings.
//!
//! The readers of /proc and /sys, the warnings that follow from them, and the kernel state that a
//! run borrows. Figures depend on the conditions they were taken under: the same kernel is an order
//! of magnitude later with another governor, another clocksource or another guest on the same
//! hypervisor, and nothing shows it afterwards.
//!
//! In: a [`HostRoot`], below which every path is read; tests lay files into a directory of their
//! own. Out: a [`model::HostFacts`] per snapshot, the [`warnings`] of two snapshots, and a
//! [`DmaLatency`] that is given back when dropped. A snapshot never fails: what cannot be read is
//! `None`, with the file, line, item and reason beside it.
//!
//! Must not touch: the measuring threads, and any setting of the machine that cannot be put back.
//! CPUs this process may run on are a question to the scheduler, not to files: see the crate
//! `probe`.
#![forbid(unsafe_code)]

#[cfg(test)]
mod changes_tests;
mod check;
mod cpu;
mod dma_latency;
mod interrupts;
mod judge;
mod kernel;
mod other_work;
mod proc_stat;
mod processes;
mod regular_file;
mod root;
mod snapshot;
#[cfg(test)]
mod test_machines;
mod tune;
mod usage;

pub use check::{
    Activity, Advice, CheckOptions, CpuTime, Finding, KernelConfig, MeasuredProgram, Purpose,
    RunCheck, Status, Watched,
};
pub use dma_latency::{DmaLatency, HostError};
pub use judge::{isolated_not_measured, warnings};
pub use other_work::other_work;
pub use processes::ProcessTimes;
pub use root::HostRoot;
pub use tune::{
    BootArgument, BootPlan, Change, ChangeResult, KilledTuning, LoaderError, LoaderFile,
    LoaderPlace, LoaderUndo, LoaderWrite, NeverTouched, Obstacle, SetPriority, Tuning, TuningError,
    TuningOptions, TuningPlan, is_tuned_only_when_asked,
};
