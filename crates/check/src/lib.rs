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
#[cfg(test)]
mod anonymous_tests;
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
mod asked_options;
mod board;
mod board_config;
mod cgroups;
#[cfg(test)]
mod check_tests;
mod checks;
mod config;
mod container;
mod cpuset;
mod cpuset_v1;
mod debug_options;
mod debug_table;
mod distribution;
mod files;
mod finding;
mod harmful_arguments;
mod image;
mod in_debugfs;
mod interrupt_lines;
mod isolating;
mod kernel_arguments;
mod machine;
mod odd_lines;
mod of_run;
#[cfg(test)]
mod one_finding;
mod pam_limits;
#[cfg(test)]
mod phrases_tests;
mod power_daemons;
mod preemption;
mod recommended;
mod refusal;
mod root_threads;
mod rt_share;
mod set_apart;
mod sets;
mod spelling;
mod thread;
mod threads_above;
mod timers;
mod topology;
mod tuned;
mod watching;
mod watching_time;
mod words;

#[cfg(test)]
use host::HostRoot;

pub use advice::Advice;
pub use agreement::repeated_arguments;
pub use area_clock::takes_timers_of_others;
pub use area_cores::siblings_measured;
pub use area_frequency::SLOW_EXIT_US;
pub use area_groups::groups_on_measured;
pub use area_threads::OF_INTERRUPTS;
pub use cgroups::GROUPS;
pub use checks::{checks, cpus_on_time, finding, findings, set_apart_cpus};
pub use config::KernelConfig;
pub use cpuset_v1::{CpusetLimits, cpuset_limits};
pub use finding::{Finding, Status};
pub use image::ImageNames;
pub use in_debugfs::as_root;
pub use interrupt_lines::{DeviceInterrupt, movable_interrupts};
pub use isolating::highest_cpu;
pub use machine::{CheckOptions, Machine, Purpose};
pub use of_run::{MeasuredProgram, RunCheck};
pub use preemption::preemption;
pub use recommended::{
    Recommended, built_with, isolable_cpus, means_the_same, recommended_arguments,
};
pub use refusal::refusal_causes;
pub use root_threads::root_threads;
pub use rt_share::has_fair_server;
pub use spelling::misspelled_arguments;
pub use thread::{Thread, thread as thread_of_line};
pub use threads_above::{interrupt_threads_above, lower_priority, threads_above};
pub use watching::{Activity, Watched};
pub use watching_time::CpuTime;

#[cfg(test)]
mod tests {
    pub(crate) mod cpusets;
    #[path = "../../../host/src/tests/files.rs"]
    pub(crate) mod files;
    pub(crate) mod threads;
    pub(crate) mod trees;
}
