// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is bad about the machine of a run: its settings when the run began, and everything when it
//! has ended, so that nothing is delayed.

use super::checks::{checks, look};
use super::finding::{Check, Finding, Status};
use super::machine::{CheckOptions, Machine};
use super::sets::sorted;
use super::thread::{RANK_OF_DEADLINE, Thread, with_descendants};
use host::{HostRoot, ProcessLines};
use model::{Warning, phrase};
use plan::{CpuId, Policy, Scheduling};

/// Checks of whose findings a run warns by itself, from what it saw before and after.
pub(crate) const WARNED_OF: [&str; 6] = [
    "governor",
    "clocksource",
    "steal-time",
    "rights-real-time",
    "rights-locked-memory",
    "rt-group-scheduling",
];
/// Checks that read a file of every thread, which takes long on some machines.
const OF_THREADS: [&str; 2] = ["threads-above", "interrupt-threads"];
const HIGHEST: u8 = 99;

/// A program that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredProgram {
    /// The process that a thread of this number belongs to.
    Runs(u32),
    /// One that this process started.
    Started,
}

/// The machine of a run, from its begin to its end.
#[derive(Clone, Debug)]
pub struct RunCheck {
    options: CheckOptions,
    program: Option<u32>,
    /// Whether no thread of the program has a real-time policy.
    is_ordinary: bool,
    /// Whether the run's own threads have none.
    has_ordinary_threads: bool,
    /// What was bad when the run began, and could be changed since.
    before: Vec<Finding>,
}

impl RunCheck {
    /// Looks at the settings of the machine, which takes a few ms. Of a run on these CPUs, whose
    /// threads are scheduled so. None: other threads than ours are measured.
    pub fn begin(host: &HostRoot, cpus: &[CpuId], scheduling: Option<Scheduling>) -> RunCheck {
        let priority = match scheduling {
            Some(Scheduling { policy: Policy::Deadline, .. }) => RANK_OF_DEADLINE,
            // Ordinary threads run after all that is real-time, whichever that is.
            Some(Scheduling { prio, .. }) => prio.unwrap_or(HIGHEST),
            None => HIGHEST,
        };
        let cpus = Some(cpus.to_vec())
            .filter(|cpus| !cpus.is_empty())
            .or_else(|| Some(host.online_cpus()));
        let options = CheckOptions::to_measure(cpus, priority);
        let mut check = RunCheck {
            options,
            program: None,
            is_ordinary: false,
            has_ordinary_threads: scheduling.is_some_and(|own| !own.policy.is_real_time()),
            before: Vec::new(),
        };
        let is_wanted = |check: &Check| check.tunable && !OF_THREADS.contains(&check.id);
        check.before = check.bad(Machine::new(host, &check.options), is_wanted);
        check
    }

    /// Looks at the threads of the program that is measured, while it runs.
    pub fn see_program(&mut self, host: &HostRoot, program: MeasuredProgram) {
        let machine = Machine::new(host, &self.options);
        let threads = machine.threads();
        let first = match program {
            MeasuredProgram::Runs(number) => {
                threads.iter().find(|thread| thread.id == number).map(|thread| thread.pid)
            }
            MeasuredProgram::Started => Some(std::process::id()),
        };
        let Some(first) = first else { return };
        let mut processes = with_descendants(threads, first);
        if program == MeasuredProgram::Started {
            processes.retain(|process| *process != first);
        } else {
            self.program = Some(first);
        }
        let of_program: Vec<&Thread> =
            threads.iter().filter(|thread| processes.contains(&thread.pid)).collect();
        let Some(highest) = of_program.iter().map(|thread| thread.rank()).max() else { return };
        if highest == 0 {
            self.is_ordinary = self.program.is_some();
            return;
        }
        let urgent = of_program.iter().filter(|thread| thread.rank() > 0);
        let cpus = urgent.flat_map(|thread| thread.cpus());
        let cpus = sorted(cpus.filter(|cpu| machine.online.contains(cpu)));
        self.options.priority = highest;
        if !cpus.is_empty() {
            self.options.cpus = Some(cpus);
        }
    }

    /// What is bad now, when the run has ended and these processes are there, and what was when it
    /// began, but for what a run warns of by itself.
    pub fn end(self, host: &HostRoot, processes: &ProcessLines) -> Vec<Warning> {
        let machine = Machine::new(host, &self.options).with_processes(processes);
        let mut bad = self.bad(machine, |_| true);
        for mut finding in self.before {
            if bad.iter().all(|other| other.id != finding.id) {
                finding.found = phrase!("when-the-run-began", found = finding.found);
                bad.push(finding);
            }
        }
        bad.into_iter().map(Warning::from).collect()
    }

    fn bad(&self, machine: Machine<'_>, is_wanted: impl Fn(&Check) -> bool) -> Vec<Finding> {
        // CPUs that nobody set apart are as busy with interrupts as any.
        let is_apart = |cpu| machine.set_apart().is_some_and(|apart| apart.cpus.contains(cpu));
        let are_apart = machine.measured().iter().all(is_apart);
        let machine = machine
            .in_run(are_apart, self.program, self.is_ordinary)
            .measured_by(self.has_ordinary_threads);
        let wanted = checks().filter(|check| is_wanted(check) && !WARNED_OF.contains(&check.id));
        wanted
            .filter_map(|check| look(&machine, check))
            .filter(|finding| finding.status == Status::Bad)
            .collect()
    }
}

#[cfg(test)]
#[path = "of_run_tests.rs"]
mod tests;
