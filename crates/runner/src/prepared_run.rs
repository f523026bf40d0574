// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is to be run.

use crate::Granted;
use load::ValidatedLoad;
use model::{ProbeStatement, Warning};
use plan::{MachineTime, Nanos, Run};
use probe::ChosenProbe;
use std::path::PathBuf;

/// Everything a run needs, decided before it begins.
#[derive(Clone, Debug)]
pub struct PreparedRun {
    pub run: Run,
    /// Whether its length is the default, because none was given.
    pub default_length: bool,
    pub probe: ChosenProbe,
    /// What that measures in this run.
    pub statement: ProbeStatement,
    /// What the threads may have of it.
    pub granted: Granted,
    /// What is known before it begins and a reader has to know.
    pub warnings: Vec<Warning>,
    /// The loads of the run, checked.
    pub loads: Vec<ValidatedLoad>,
    /// The verb by which the program, executed anew, becomes a load.
    pub load_verb: &'static str,
    pub directory: PathBuf,
    pub command_line: Vec<String>,
    pub version: String,
    /// What this machine's clocks count.
    pub time: MachineTime,
    /// When the program started, CLOCK_MONOTONIC ns.
    pub program_started: Nanos,
}
