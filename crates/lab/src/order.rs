// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the lab tells a guest, and what a guest says when it cannot do it. Both sides are the same program, so the form may
//! change with it.

use crate::yardstick::Errand;
use plan::Run;
use serde::{Deserialize, Serialize};

/// Where the order lies in the initramfs.
pub(crate) const ORDER: &str = "order.json";
/// Where the modules lie in it.
pub(crate) const MODULES: &str = "modules";

/// What a guest is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The serial line that takes frames.
    pub channel: String,
    /// Files below `/modules`, in the order to be loaded.
    pub modules: Vec<String>,
    /// What to do once the machine is ready.
    pub task: Task,
}

/// What a guest is there for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A run, whose recording is to come back. What the host knows better, such as what was typed, is filled in there: a guest
    /// that held it would be another guest for every name of an output folder.
    Measure {
        /// The run, without its title.
        run: Box<Run>,
    },
    /// Programs, one after the other, each with what it cost; see [`crate::Spent`].
    Execute {
        /// In order.
        errands: Vec<Errand>,
    },
}

/// Why a guest did not do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A sentence.
    pub error: String,
    /// Whether what was asked is at fault, not the guest.
    pub bad_input: bool,
}
