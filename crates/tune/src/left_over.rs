// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `teiji tune` knows of a machine that is checked: what it would change, and what it has left
//! behind.

use super::journal::{self, Journal, Phase};
use super::meanwhile::changed_since;
use super::proposals::PROPOSALS;
use super::{folder, never};
use check::{CheckOptions, Finding, Machine, Status, as_root};
use host::HostRoot;
use model::{Phrase, check_text};

/// The name of the finding.
const ID: &str = "tuning";
const UNDO: &str = "sudo teiji tune --undo";

/// What is found of a machine, with what tuning has left behind. Each is tunable that tuning would
/// change here.
pub fn findings(root: &HostRoot, options: &CheckOptions) -> Vec<Finding> {
    let mut findings = check::findings(root, options);
    if options.config.is_some() {
        return findings;
    }
    let machine = Machine::new(root, options);
    let left_alone = never::on(&machine);
    for finding in findings.iter_mut().filter(|finding| finding.tunable) {
        finding.tunable = left_alone.iter().all(|never| never.check != Some(finding.id))
            && PROPOSALS.iter().any(|proposal| {
                proposal.check == finding.id && !(proposal.propose)(&machine).is_empty()
            });
    }
    findings.extend(left_over(root, options));
    findings
}

fn finding(status: Status, found: String, action: Option<&str>) -> Finding {
    Finding {
        id: ID,
        status,
        found: found.into(),
        text: check_text(ID).expect("it has a text"),
        action: action.map(Phrase::from),
        tunable: false,
    }
}

fn left_over(root: &HostRoot, options: &CheckOptions) -> Option<Finding> {
    let journal = match journal::left_over(root) {
        Ok(left) => left?,
        Err(error) => {
            let action = if error.contains("Permission denied") {
                as_root(root, options)
            } else if error.contains("boot_id") {
                "run teiji check outside of the container".to_owned()
            } else {
                "reboot, which undoes every change, and remove the file".to_owned()
            };
            return Some(finding(Status::Unknown, error, Some(&action)));
        }
    };
    let count = journal.changes();
    let changes = format!("{count} {}", if count == 1 { "change" } else { "changes" });
    Some(match journal.phase {
        Phase::Applied => applied(root, &journal, format!("{changes} by teiji tune")),
        Phase::Left => {
            let command = journal.command();
            not_put_back(root, &journal, format!("{changes} by {command} could not be put back"))
        }
        Phase::Unfinished if folder::is_in_use(root) => {
            let while_what = if journal.verb.is_none() { "its command" } else { "it" };
            let found = format!("{changes} by {}, while {while_what} runs", journal.command());
            finding(Status::Ok, found, None)
        }
        Phase::Unfinished => finding(
            Status::Warn,
            format!("{} was cut off: up to {changes} left to undo", journal.command()),
            Some(UNDO),
        ),
    })
}

/// How many files are named.
const NAMED: usize = 3;

/// What is to stay, and whether it has stayed.
fn applied(root: &HostRoot, journal: &Journal, changes: String) -> Finding {
    let changed = changed_since(root, journal);
    if changed.is_empty() {
        return finding(Status::Ok, changes, None);
    }
    let count = changed.len();
    finding(
        Status::Warn,
        format!("{changes}, {count} of them changed since by somebody else: {}", named(&changed)),
        Some("sudo teiji tune --undo, find what changes it, then teiji tune again"),
    )
}

/// Files with the values that they have now.
fn named(changed: &[(String, String)]) -> String {
    let named: Vec<String> =
        changed.iter().take(NAMED).map(|(file, now)| format!("/{file} is {now}")).collect();
    let more = if changed.len() > NAMED { ", and others" } else { "" };
    format!("{}{more}", named.join(", "))
}

/// What somebody else has changed is put back only by force: another try leaves it again.
fn not_put_back(root: &HostRoot, journal: &Journal, changes: String) -> Finding {
    let changed = changed_since(root, journal);
    if changed.is_empty() {
        return finding(Status::Warn, changes, Some(UNDO));
    }
    let found = format!("{changes}: {}", named(&changed));
    // Forced, what cannot be put back is forgotten, which may be what another try puts back.
    if changed.len() < journal.changes() {
        return finding(Status::Warn, found, Some(UNDO));
    }
    let force = format!("{UNDO} --force");
    // The file of the journal may also have changes that stay.
    let action = if journal.stays.is_empty() {
        let path = journal::path(&folder::folder(root));
        format!(
            "put back what was there with {force}, or keep what is there: remove {}",
            path.display()
        )
    } else {
        force
    };
    finding(Status::Warn, found, Some(&action))
}

#[cfg(test)]
mod tests {
    use crate::proposals::PROPOSALS;
    use crate::tests::trees::{laid_out, shown, trees};
    use crate::{Tuning, TuningOptions, TuningPlan};
    use check::Status;
    use host::HostRoot;
    use std::fs;

    #[test]
    fn what_tuning_left_behind_is_named() {
        let (dir, options) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
        let root = HostRoot::at(dir.path());
        let tuned = || shown(&root, &options, "tuning");
        assert_eq!(tuned(), None);
        let plan = TuningPlan::new(&root, &TuningOptions::default()).unwrap();
        let mut tuning = Tuning::begin(&root).unwrap();
        tuning.apply(&plan, false, &|| false).unwrap();
        let meanwhile = tuned().unwrap();
        assert!(
            meanwhile.status == Status::Ok && meanwhile.found.contains("while its command runs"),
            "{meanwhile:?}"
        );
        drop(tuning);
        let cut_off = tuned().unwrap();
        assert_eq!(cut_off.status, Status::Warn, "{cut_off:?}");
        assert_eq!(cut_off.action.as_deref(), Some("sudo teiji tune --undo"));
        Tuning::begin(&root).unwrap().undo(false).unwrap();
        assert_eq!(tuned(), None);
        Tuning::begin(&root).unwrap().apply(&plan, true, &|| false).unwrap();
        assert_eq!(tuned().unwrap().found, format!("{} changes by teiji tune", plan.changes.len()));
        fs::write(dir.path().join("proc/sys/vm/stat_interval"), "7\n").unwrap();
        Tuning::begin(&root).unwrap().undo(false).unwrap();
        let left = tuned().unwrap();
        assert_eq!(
            (left.status, left.found.as_str()),
            (
                Status::Warn,
                "1 change by teiji tune could not be put back: /proc/sys/vm/stat_interval is 7"
            )
        );
        // Another try leaves it again, and what is advised ends it.
        let journal = dir.path().join("var/lib/teiji/tune/journal.json");
        let advised = format!(
            "put back what was there with sudo teiji tune --undo --force, or keep what is there: \
             remove {}",
            journal.display()
        );
        assert_eq!(left.action, Some(advised));
        Tuning::begin(&root).unwrap().undo(false).unwrap();
        assert_eq!(tuned().unwrap().found, left.found);
        Tuning::begin(&root).unwrap().undo(true).unwrap();
        assert_eq!(tuned(), None);
    }

    /// What is said of a check, and what is done for it, come from two tables.
    #[test]
    fn what_tune_can_do_is_what_it_does() {
        for check in check::checks() {
            let is_tuned = PROPOSALS.iter().any(|proposal| proposal.check == check.id);
            assert_eq!(check.tunable, is_tuned, "{}", check.id);
        }
    }
}
