// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that a machine needs for low latency: changed while it runs, or for its next boot, and
//! put back.
//!
//! In: a machine as the checks see it, and CPUs that are to be on time. Out: a [`TuningPlan`] of
//! [`Change`]s, each a file with its value before and after; and a [`Tuning`], which writes them
//! and puts them back. What was there before is in a journal on disk before the first of them is
//! written, so that a killed program leaves nothing that the next one could not put back.
//!
//! Must not touch: what [`never`] lists, and any file that is not below /proc or /sys, but for
//! those of the boot loader that `loader` knows.
#![forbid(unsafe_code)]

#[cfg(test)]
mod agreement_tests;
mod apply;
mod boot;
mod change;
mod folder;
mod journal;
mod killed;
mod left_over;
mod loader;
mod meanwhile;
mod never;
mod own_group;
mod planning;
mod proposals;
mod propose_frequency;
mod propose_groups;
mod propose_interrupts;
mod propose_kernel;
mod propose_threads;
mod setting;
mod undo;
mod wanted;
mod witness;

pub use apply::{ChangeResult, Obstacle, Tuning, TuningError, has_been_tuned, journal_passed_over};
pub use boot::{BootArgument, BootPlan};
pub use change::{Change, TuningPlan};
pub use killed::KilledTuning;
pub use left_over::findings;
pub use loader::{LoaderError, LoaderFile, LoaderPlace, LoaderUndo, LoaderWrite};
pub use never::NeverTouched;
pub use planning::{TuningOptions, is_tuned_only_when_asked};

#[cfg(test)]
use check::{CheckOptions, Finding, KernelConfig, Purpose, Status};
#[cfg(test)]
use host::HostRoot;

#[cfg(test)]
mod tests;
