// SPDX-License-Identifier: MIT OR Apache-2.0
//! One setting that is changed, and those of a plan.

use super::journal::Entry;
use super::never::NeverTouched;
use super::setting::Form;
use plan::CpuId;

/// One setting that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The file, without the slash that it begins with.
    pub file: String,
    /// What it is of, where the file's name does not say so: the device of an interrupt, the name
    /// of an idle state.
    pub subject: String,
    /// What it says now, as it is.
    pub from: String,
    pub to: String,
    /// The check that finds fault with it.
    pub check: &'static str,
    /// Why it matters for latency.
    pub why: &'static str,
    /// What the change costs, or may do.
    pub risk: &'static str,
    /// Whether many machines refuse it, rightly: then that is no failure.
    pub may_be_refused: bool,
    pub(crate) form: Form,
    pub(crate) comes_and_goes: bool,
}

/// What would be changed on a machine.
#[derive(Clone, Debug)]
pub struct TuningPlan {
    /// CPUs that are to be on time.
    pub cpus: Vec<CpuId>,
    /// In the order in which they are written.
    pub changes: Vec<Change>,
    /// What is not touched here, whatever is asked for.
    pub never: Vec<&'static NeverTouched>,
    /// Checks with changes that were not asked for.
    pub not_asked: Vec<&'static str>,
    /// What should be known of this machine.
    pub notes: Vec<String>,
    /// Values that the kernel forgets when another is changed, and that are put back with it.
    pub(crate) companions: Vec<Entry>,
}
