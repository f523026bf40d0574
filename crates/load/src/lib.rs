// SPDX-License-Identifier: MIT OR Apache-2.0
//! Load generators, and the evidence of the load they reached.
//!
//! The loads ([`check`] knows their names and keys), the processes they run in, and their handle in
//! the parent ([`Loads`]). A load must neither disturb the measuring process nor survive it. So
//! each load is a process of its own, the *supervisor*: the program itself, executed anew under a
//! hidden verb whose body is [`worker`]. Nothing of the measuring process goes with it: no locked
//! memory, no threads, no policy, no files. The supervisor forks the load's *tasks*, releases them
//! at one instant, reads their CPU time from outside, so that observing costs them nothing, and
//! reports to its parent once a second.
//!
//! ```text
//! parent (teiji)  --stdin: go, begin; closed means stop-->  supervisor  --fork-->  tasks
//!                <--stdout: one line of JSON a second----
//!                <--stderr: complaints of supervisor and tasks;
//!                           its end means that all of them are gone
//! ```
//!
//! Each task holds itself at its level (`duty_cycle.rs`) and counts its work. The supervisor adds
//! up CPU time and counts, and the parent computes the evidence (`evidence.rs`).
//!
//! Every process ends with its parent, however that ends: the supervisor asks the kernel for
//! SIGKILL when its parent ends and each task when its supervisor does, the end of the supervisor's
//! stdin says the same, and the parent kills the whole process group. INT, QUIT, TERM and HUP do
//! not end a load: Ctrl-C is for the parent, who stops its loads when the recording is whole.
//!
//! In: a [`plan::LoadSpec`] for each load. Out: a [`model::LoadEvidence`] for each, and warnings
//! about loads that ended early or were off target. Must not touch: the clock of the measurement,
//! the measuring threads, and the recording's files.
//!
//! A new load is one file in `load_types/` with its `LoadType`, and one line in the table of
//! `load_types/mod.rs`. [`Benchmark`] is hackbench as a program that ends.
#![deny(unsafe_code)]

mod bench;
mod duty_cycle;
mod evidence;
mod limits;
mod load_handle;
mod load_types;
mod loads;
mod options;
mod pipe_reader;
mod proc_stat;
mod process_tree;
mod report;
mod settling;
mod spec;
mod supervisor;
#[expect(unsafe_code, reason = "the one file that may; each block says why it is sound")]
mod sys;
mod worker_pool;

pub use bench::{Benchmark, Channel};
pub use limits::Limits;
pub use load_handle::LoadNow;
pub use load_types::has_level;
pub use loads::{Loads, StartError};
pub use options::SpecError;
pub use spec::{ValidatedLoad, check, check_elsewhere, check_times};
pub use supervisor::worker;
