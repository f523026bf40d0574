// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a machine is set up for low latency: one finding for each thing that decides it.
//!
//! Each area has a file with a table of [`Check`]s. A check reads files of the [`Machine`] and says
//! what it [`Seen`]; why it matters, what documents it, and whether it can be changed while the
//! machine runs are in the table too. What a machine does not have is no finding, and what could
//! not be read is one of unknown status.
//!
//! In: a [`host::HostRoot`] and [`CheckOptions`], which say for which CPUs, priority and purpose.
//! Out: [`findings`], the [`Advice`] which CPUs to isolate, what ran on them ([`Watched`]), and for
//! a recording the [`model::Warning`]s of a [`RunCheck`].
//!
//! Must not touch: any setting, and any file but those in `docs/opened-files.md`. What changes a
//! setting is in the crate `tune`.
#![forbid(unsafe_code)]

mod advice;
mod agreement;
mod area_arguments;
#[cfg(test)]
mod area_arguments_tests;
mod area_battery;
mod area_board;
mod area_clock;
mod area_cokernel;
mod area_container;
mod area_cores;
mod area_firmware;
mod area_frequency;
mod area_groups;
mod area_interrupts;
mod area_kernel;
#[cfg(test)]
mod area_kernel_tests;
mod area_memory;
mod area_rights;
mod area_scheduling;
mod area_temperature;
mod area_threads;
mod area_time;
mod area_virtual;
mod arguments;
mod board_config;
mod config;
mod cpuset;
mod cpuset_v1;
mod debug_options;
mod distribution;
mod interrupt_lines;
mod machine;
mod of_run;
#[cfg(test)]
mod one_finding;
mod recommended;
mod root_threads;
mod rt_share;
mod spelling;
mod thread;
mod timers;
mod topology;
mod watching;
mod watching_time;

pub use advice::Advice;
pub use agreement::repeated_arguments;
pub use area_arguments::highest as highest_cpu;
pub use area_frequency::SLOW_EXIT_US;
pub use area_groups::{GROUPS, groups_on_measured};
pub use area_threads::OF_INTERRUPTS;
pub use arguments::cpus as cpus_of_argument;
pub use config::KernelConfig;
pub use cpuset_v1::{CpusetLimits, cpuset_limits};
pub use interrupt_lines::{DeviceInterrupt, movable_interrupts};
pub use machine::Machine;
pub use machine::Purpose;
pub use of_run::{MeasuredProgram, RunCheck};
use plan::CpuId;
pub use recommended::{
    Recommended, built_with, isolable_cpus, means_the_same, recommended_arguments,
};
pub use root_threads::root_threads;
pub use rt_share::has_fair_server;
pub use spelling::misspelled_arguments;
pub use thread::{
    Thread, interrupt_threads_above, lower_priority, thread as thread_of_line, threads_above,
};
pub use watching::{Activity, Watched};
pub use watching_time::CpuTime;

use host::HostRoot;
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    Ok,
    /// It could not be found out.
    Unknown,
    /// It may cost some latency, or only some uses suffer from it.
    Warn,
    /// Latencies suffer from it.
    Bad,
}

impl Status {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Unknown => "unknown",
            Status::Warn => "warn",
            Status::Bad => "bad",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    status: Status,
    found: String,
    action: Option<String>,
}

impl Seen {
    fn ok(found: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Ok, found: found.into(), action: None })
    }

    fn warn(found: impl Into<String>, action: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Warn, found: found.into(), action: Some(action.into()) })
    }

    fn bad(found: impl Into<String>, action: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Bad, found: found.into(), action: Some(action.into()) })
    }

    fn unknown(found: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Unknown, found: found.into(), action: None })
    }

    /// What to do to find it out.
    fn unknown_until(found: impl Into<String>, action: impl Into<String>) -> Option<Seen> {
        Some(Seen { status: Status::Unknown, found: found.into(), action: Some(action.into()) })
    }
}

/// One thing that is looked at.
pub struct Check {
    /// Its name, as users and recordings have it.
    pub id: &'static str,
    /// Why it matters for latency.
    pub why: &'static str,
    /// Where that is documented.
    reference: &'static str,
    /// Whether it can be changed while the machine runs, by writing to files.
    pub tunable: bool,
    /// For which purposes it is as bad as it was seen; for the others it warns at most.
    matters: &'static [Purpose],
    /// Looks; none where the machine does not have it.
    look: fn(&Machine<'_>) -> Option<Seen>,
}

/// All of them, in the order in which they are shown.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    [
        area_kernel::CHECKS,
        area_cokernel::CHECKS,
        area_arguments::CHECKS,
        area_clock::CHECKS,
        area_frequency::CHECKS,
        area_interrupts::CHECKS,
        area_scheduling::CHECKS,
        area_threads::CHECKS,
        area_time::CHECKS,
        area_groups::CHECKS,
        area_memory::CHECKS,
        area_rights::CHECKS,
        area_virtual::CHECKS,
        area_container::CHECKS,
        area_cores::CHECKS,
        area_firmware::CHECKS,
        area_battery::CHECKS,
        area_temperature::CHECKS,
        area_board::CHECKS,
    ]
    .into_iter()
    .flatten()
}

/// What was found of one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name, such as `governor`.
    pub id: &'static str,
    pub status: Status,
    pub found: String,
    /// Why it matters for latency.
    pub why: &'static str,
    /// What to do: the exact command, or the kernel argument.
    pub action: Option<String>,
    /// Whether it is of a kind that `teiji tune` changes. The crate `tune` knows whether it would
    /// on this machine.
    pub tunable: bool,
    /// Where it is documented.
    pub reference: &'static str,
}

/// What the machine is looked at for.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// What it is used for, which weighs findings.
    pub purpose: Purpose,
    /// CPUs that measure, or run what must be on time. None: those that are isolated, or all where
    /// none is.
    pub cpus: Option<Vec<CpuId>>,
    /// The real-time priority of that.
    pub priority: u8,
    /// The configuration of the kernel, where another than the running one's is asked about.
    pub config: Option<KernelConfig>,
}

/// Looks at the machine. Never fails: what cannot be read is of unknown status.
#[must_use]
pub fn findings(root: &HostRoot, options: &CheckOptions) -> Vec<Finding> {
    let machine = Machine::new(root, options);
    checks().filter_map(|check| look(&machine, check)).collect()
}

/// The CPUs that are to be on time where these are named, or none.
#[must_use]
pub fn cpus_on_time(root: &HostRoot, cpus: Option<Vec<CpuId>>) -> Vec<CpuId> {
    cpus.unwrap_or_else(|| {
        let asked =
            CheckOptions { purpose: Purpose::Measure, cpus: None, priority: 90, config: None };
        Machine::new(root, &asked).measured()
    })
}

/// What the check of this name finds.
#[must_use]
pub fn finding(machine: &Machine<'_>, id: &str) -> Option<Finding> {
    look(machine, checks().find(|check| check.id == id)?)
}

/// What one check finds. It is unknown where a file that it needs could not be read.
fn look(machine: &Machine<'_>, check: &Check) -> Option<Finding> {
    machine.take_unreadable();
    let seen =
        (check.look)(machine).or_else(|| Seen::unknown(machine.take_unreadable().first()?.clone()));
    let Seen { status, found, action } = seen?;
    let status = if check.matters.contains(&machine.options.purpose) {
        status
    } else {
        status.min(Status::Warn)
    };
    let Check { id, why, reference, tunable, .. } = *check;
    let tunable = tunable && status >= Status::Warn;
    Some(Finding { id, status, found, why, action, tunable, reference })
}

const ALL: &[Purpose] = &Purpose::ALL;

/// The words of a list: `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod check_tests;

#[cfg(test)]
mod anonymous_tests;

#[cfg(test)]
mod tests {
    pub(crate) mod cpusets;
    #[path = "../../../host/src/tests/files.rs"]
    pub(crate) mod files;
    pub(crate) mod threads;
    pub(crate) mod trees;
}
