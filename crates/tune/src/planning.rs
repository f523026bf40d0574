// SPDX-License-Identifier: MIT OR Apache-2.0
//! What would be changed on a machine, of what is asked for.

use super::change::{Change, TuningPlan};
use super::proposals::{self, PROPOSALS};
use super::wanted::{Proposal, Wanted};
use super::{folder, journal, never, propose_frequency, setting};
use check::{CheckOptions, Machine};
use host::HostRoot;
use model::check_text;
use plan::CpuId;

#[derive(Clone, Debug, Default)]
pub struct TuningOptions {
    /// CPUs that are to be on time. None: those that are set apart, or all where none is.
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
        let asked =
            CheckOptions { cpus: options.cpus.clone(), priority, ..CheckOptions::default() };
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

    /// What keeps CPUs from their idle states from this number on, the deeper ones. Reads only.
    pub fn without_idle_states(root: &HostRoot, cpus: &[CpuId], first: usize) -> TuningPlan {
        let mut plan = TuningPlan {
            cpus: cpus.to_vec(),
            changes: Vec::new(),
            not_asked: Vec::new(),
            notes: Vec::new(),
            companions: Vec::new(),
            never: Vec::new(),
        };
        for proposal in PROPOSALS.iter().filter(|proposal| proposal.check == "idle-states") {
            for cpu in cpus {
                let wanted = propose_frequency::idle_states_from(root, *cpu, first);
                plan.extend(root, proposal, wanted);
            }
        }
        plan
    }

    /// The process that keeps these CPUs from such idle states until it ends; the empty text where
    /// its number is not known.
    pub fn idle_states_held_by(root: &HostRoot, cpus: &[CpuId], first: usize) -> Option<String> {
        let journal = journal::load(&folder::folder(root)).ok()??;
        let is_wanted = |file: &str| {
            cpus.iter()
                .flat_map(|cpu| propose_frequency::idle_states_from(root, *cpu, first))
                .any(|wanted| proposals::real_file(root, wanted.file) == file)
        };
        let is_held = journal.is_unfinished(root)
            && journal.entries.iter().any(|entry| is_wanted(&entry.file))
            && folder::is_in_use(root);
        let number = || folder::holder(root).map(|process| process.to_string());
        is_held.then(|| number().unwrap_or_default())
    }

    /// Takes what is not so yet. A file that cannot be read is not there to be changed.
    fn extend(&mut self, root: &HostRoot, proposal: &Proposal, wanted: Vec<Wanted>) {
        for Wanted { file, subject, form, to, when_new } in wanted {
            let file = proposals::real_file(root, file);
            let now = setting::read(root, &file, form).ok();
            // A thread that has ended needs no priority.
            let comes_and_goes = form.is_priority() || now.is_none();
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
                why: check_text(check).map(|text| text.why).unwrap_or_default(),
                risk,
                may_be_refused,
                form,
                comes_and_goes,
            });
        }
    }
}

/// Whether the changes for a check of this name are made only when it is named.
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
mod tests;
