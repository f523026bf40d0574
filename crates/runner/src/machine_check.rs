// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is bad about the machine, for the recording of a run. What was recorded elsewhere met
//! nothing of it.

use crate::PreparedRun;
use check::{MeasuredProgram, RunCheck};
use host::HostRoot;
use model::TakenBy;

pub(crate) fn begin(order: &PreparedRun, host: &HostRoot) -> Option<RunCheck> {
    match order.statement.taken_by() {
        TakenBy::OwnThreads => {
            Some(RunCheck::begin(host, &order.run.cpus, Some(order.granted.scheduling)))
        }
        TakenBy::ThisMachine => Some(RunCheck::begin(host, &order.run.cpus, None)),
        TakenBy::AnotherMachine => None,
    }
}

/// When the run has ended, while its program still runs.
pub(crate) fn see_program(check: &mut Option<RunCheck>, order: &PreparedRun, host: &HostRoot) {
    if let (Some(check), Some(program)) = (check, program(order)) {
        check.see_program(host, program);
    }
}

/// The program that a probe measures.
pub(crate) fn program(order: &PreparedRun) -> Option<MeasuredProgram> {
    let number = order.probe.program()?;
    Some(number.map_or(MeasuredProgram::Started, MeasuredProgram::Runs))
}
