// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs of this machine that a run leaves out without anybody having said so.

use host::HostRoot;
use model::Warning;
use plan::{CpuId, Run};

/// What to say of a run whose CPUs were not named, where isolated ones are not among them.
pub fn isolated_not_measured(run: &Run, usable: &[CpuId]) -> Option<Warning> {
    host::isolated_not_measured(&HostRoot::system().isolated_cpus(), &run.cpus, usable)
}
