// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one check finds, for tests of it.

use super::finding::Status;
use super::machine::{CheckOptions, Purpose};
use crate::tests::trees::{Shown, shown};
use host::HostRoot;
use plan::CpuId;

/// What was found. The action is empty where there is none.
#[derive(Debug)]
pub(crate) struct OneFinding {
    pub(crate) status: Status,
    pub(crate) found: String,
    pub(crate) action: String,
}

/// The finding of this name on a machine for packets, on these CPUs at priority 90.
pub(crate) fn finding(root: &HostRoot, id: &str, cpus: Option<&[u32]>) -> Option<OneFinding> {
    let cpus = cpus.map(|cpus| cpus.iter().copied().map(CpuId).collect());
    let options = CheckOptions { purpose: Purpose::Telco, cpus, ..CheckOptions::default() };
    let Shown { status, found, action, .. } = shown(root, &options, id)?;
    Some(OneFinding { status, found, action: action.unwrap_or_default() })
}
