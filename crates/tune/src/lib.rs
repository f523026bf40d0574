// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that a machine needs for low latency: changed while it runs, or for its next boot, and
//! put back.
//!
//! In: a machine as the checks see it, and CPUs that are to be on time. Out: a [`TuningPlan`] of
//! [`Change`]s, each a file with its value before and after; and a [`Tuning`], which writes them
//! and puts them back. What was there before is in a journal on disk before the first of them is
//! written, so that a killed program leaves nothing that the next one could not put back.
//!
//! Must not touch: what [`never`] lists, and any file that is not below /proc or /sys, but for
//! those of the boot loader that `loader` knows.
#![forbid(unsafe_code)]

mod apply;
mod boot;
mod folder;
mod journal;
mod killed;
mod left_over;
mod loader;
mod meanwhile;
mod never;
mod own_group;
mod proposals;
mod propose_frequency;
mod propose_groups;
mod propose_interrupts;
mod propose_kernel;
mod propose_threads;
mod setting;
mod undo;
mod witness;

pub use apply::{ChangeResult, Obstacle, Tuning, TuningError, has_been_tuned};
pub use boot::{BootArgument, BootPlan};
use check::{CheckOptions, Machine, Purpose, checks};
use host::HostRoot;
use journal::Entry;
pub use killed::KilledTuning;
pub use left_over::findings;
pub use loader::{LoaderError, LoaderFile, LoaderPlace, LoaderUndo, LoaderWrite};
pub use never::NeverTouched;
use plan::CpuId;
use proposals::{PROPOSALS, Proposal, Wanted};
use setting::Form;
pub use setting::SetPriority;

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
    form: Form,
    comes_and_goes: bool,
}

#[derive(Clone, Debug, Default)]
pub struct TuningOptions {
    /// CPUs that are to be on time. None: those that are isolated, or all where none is.
    pub cpus: Option<Vec<CpuId>>,
    /// Checks whose changes are made only when asked for.
    pub also: Vec<String>,
    /// The only checks whose changes are made; all where none is named. Naming one here asks for
    /// it.
    pub only: Vec<String>,
    /// Checks whose changes are not made.
    pub except: Vec<String>,
    /// The real-time priority of what is to be on time [default: 90]. Threads that come before it
    /// get a lower one.
    pub priority: Option<u8>,
}

/// What would be changed on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningPlan {
    /// CPUs that are to be on time.
    pub cpus: Vec<CpuId>,
    /// In the order in which they are written.
    pub changes: Vec<Change>,
    /// What is not touched here, whatever is asked for.
    pub never: Vec<NeverTouched>,
    /// Checks with changes that were not asked for.
    pub not_asked: Vec<&'static str>,
    /// What should be known of this machine.
    pub notes: Vec<String>,
    /// Values that the kernel forgets when another is changed, and that are put back with it.
    companions: Vec<Entry>,
}

/// As `teiji measure` has it.
const DEFAULT_PRIORITY: u8 = 90;

impl TuningPlan {
    /// What would be changed. Reads only.
    ///
    /// # Errors
    /// When a check is named that is none, that is not tuned, or that is never touched on this
    /// machine.
    pub fn new(root: &HostRoot, options: &TuningOptions) -> Result<TuningPlan, String> {
        let priority = options.priority.unwrap_or(DEFAULT_PRIORITY);
        let asked = CheckOptions {
            purpose: Purpose::Measure,
            cpus: options.cpus.clone(),
            priority,
            config: None,
        };
        let machine = Machine::new(root, &asked);
        for name in options.also.iter().chain(&options.only).chain(&options.except) {
            known(name)?;
        }
        let never = never::on(&machine);
        let is_asked =
            |check: &str| options.also.iter().chain(&options.only).any(|name| name == check);
        if let Some(refused) = never.iter().find(|never| never.check.is_some_and(is_asked)) {
            return Err(format!(
                "{} is never changed on this machine. {}",
                refused.setting, refused.why
            ));
        }
        let mut plan = TuningPlan {
            cpus: machine.measured(),
            changes: Vec::new(),
            not_asked: Vec::new(),
            notes: proposals::notes(&machine),
            companions: Vec::new(),
            never,
        };
        for proposal in PROPOSALS {
            let is = |name: &String| name == proposal.check;
            let is_left_out = options.except.iter().any(is)
                || !options.only.is_empty() && !is_asked(proposal.check);
            if is_left_out || plan.never.iter().any(|never| never.check == Some(proposal.check)) {
                continue;
            }
            let wanted = (proposal.propose)(&machine);
            let before = plan.changes.len();
            plan.extend(root, proposal, wanted);
            if proposal.only_when_asked && !is_asked(proposal.check) {
                if plan.changes.len() > before {
                    plan.not_asked.push(proposal.check);
                }
                plan.changes.truncate(before);
            }
        }
        plan.companions = propose_frequency::companions(&machine, &plan.changes);
        Ok(plan)
    }

    /// Takes what is not so yet. A file that cannot be read is not there to be changed.
    fn extend(&mut self, root: &HostRoot, proposal: &Proposal, wanted: Vec<Wanted>) {
        for Wanted { file, subject, form, to, when_new } in wanted {
            let file = proposals::real_file(root, file);
            let now = setting::read(root, &file, form).ok();
            let comes_and_goes = now.is_none() && when_new.is_some();
            let Some(from) = now.or_else(|| when_new.map(str::to_owned)) else { continue };
            // CPUs may share a file.
            if form.is_same(&from, &to) || self.changes.iter().any(|change| change.file == file) {
                continue;
            }
            let Proposal { check, risk, may_be_refused, .. } = *proposal;
            self.changes.push(Change {
                file,
                subject,
                from,
                to,
                check,
                why: why_of(check),
                risk,
                may_be_refused,
                form,
                comes_and_goes,
            });
        }
    }
}

/// Why a check matters for latency, by its name.
fn why_of(id: &str) -> &'static str {
    checks().find(|check| check.id == id).map(|check| check.why).unwrap_or_default()
}

/// Whether the changes for a check of this name are made only when it is named.
#[must_use]
pub fn is_tuned_only_when_asked(check: &str) -> bool {
    PROPOSALS.iter().any(|proposal| proposal.check == check && proposal.only_when_asked)
}

/// Whether it names a check with changes.
fn known(name: &str) -> Result<(), String> {
    if PROPOSALS.iter().any(|proposal| proposal.check == name) {
        return Ok(());
    }
    let names: Vec<&str> = PROPOSALS.iter().map(|proposal| proposal.check).collect();
    Err(format!("unknown change '{name}': expected one of {}", names.join(", ")))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod plan_tests;

#[cfg(test)]
mod agreement_tests;
#[cfg(test)]
use check::Finding;

#[cfg(test)]
mod tests;
