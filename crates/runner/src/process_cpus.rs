// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CPUs of this process on this machine, and those that a run leaves out without anybody having
//! said so.

use host::HostRoot;
use model::Warning;
use plan::{ProcessCpus, Run};
use std::io;

/// The CPUs that this process runs on, those it may ask for, and those that are set apart.
///
/// # Errors
/// When the kernel does not say.
pub fn process_cpus() -> io::Result<ProcessCpus> {
    let set_apart = check::set_apart_cpus(&HostRoot::system());
    Ok(ProcessCpus { set_apart, ..probe::process_cpus()? })
}

/// What to say of a run whose CPUs were not named, where some that are set apart are not among
/// them.
pub fn isolated_not_measured(run: &Run, cpus: &ProcessCpus) -> Option<Warning> {
    host::isolated_not_measured(&cpus.set_apart, &run.cpus, &cpus.usable)
}
