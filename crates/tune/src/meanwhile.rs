// SPDX-License-Identifier: MIT OR Apache-2.0
//! Settings that somebody else changes while they are to stay as they were changed: a daemon, a
//! profile, another program.

use super::apply::{ChangeResult, Obstacle, Tuning};
use super::change::{Change, TuningPlan};
use super::journal::{Entry, Journal, Phase};
use super::setting::{self, Form};
use super::witness::Namespaces;
use host::HostRoot;
use std::io::ErrorKind;

/// What a file says instead of what was written, or why it cannot be read.
fn obstacle(
    root: &HostRoot,
    file: &str,
    form: Form,
    to: &str,
    comes_and_goes: bool,
) -> Option<Obstacle> {
    match setting::read(root, file, form) {
        Ok(now) if form.is_same(&now, to) => None,
        Ok(now) => Some(Obstacle::ChangedByOthers(now)),
        Err(error) if error.kind() == ErrorKind::NotFound && comes_and_goes => None,
        Err(error) => Some(error.into()),
    }
}

impl Tuning {
    /// Those of the settings that were changed which are not so any more.
    pub fn changed_meanwhile(
        &self,
        plan: &TuningPlan,
        results: &[ChangeResult],
    ) -> Vec<ChangeResult> {
        let is_changed = |change: &&Change| {
            results.iter().any(|result| result.file == change.file && result.obstacle.is_none())
        };
        let changed = plan.changes.iter().filter(is_changed);
        let found = |Change { file, form, to, comes_and_goes, .. }: &Change| {
            let obstacle = obstacle(&self.root, file, *form, to, *comes_and_goes)?;
            Some(ChangeResult::new(file.clone(), Some(obstacle)))
        };
        changed.filter_map(found).collect()
    }
}

/// Files that are to stay changed, or that undoing left, and which somebody else has changed since,
/// each with its value. One that cannot be read is none.
pub(super) fn changed_since(root: &HostRoot, journal: &Journal) -> Vec<(String, String)> {
    let is_to_stay = journal.phase == Phase::Applied;
    let found = |Entry { file, form, from, to, comes_and_goes }: &Entry| {
        // What changes with another setting need not have changed.
        if is_to_stay && *comes_and_goes && !form.is_priority() {
            return None;
        }
        match obstacle(root, file, *form, to.as_deref()?, *comes_and_goes)? {
            // Undoing has no more to do with one that has its first value again.
            Obstacle::ChangedByOthers(now) if is_to_stay || !form.is_back(&now, from) => {
                Some((file.clone(), now.trim().to_owned()))
            }
            _ => None,
        }
    };
    let entries = if is_to_stay { &journal.stays } else { &journal.entries };
    let is_seen = |entry: &&Entry| {
        !Namespaces::hide(journal.namespaces.as_ref(), root, &entry.file, entry.form)
    };
    entries.iter().filter(is_seen).filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TuningOptions;
    use crate::tests::files::lay;
    use crate::tests::trees::shown;
    use check::{CheckOptions, Status};
    use std::fs;

    const STATISTICS: &str = "proc/sys/vm/stat_interval";
    const COMPACTION: &str = "proc/sys/vm/compaction_proactiveness";

    #[test]
    fn what_somebody_else_changes_is_seen() {
        let (_dir, root) = lay(&[
            ("proc/sys/kernel/random/boot_id", "first\n"),
            ("proc/stat", "btime 1000\n"),
            ("sys/devices/system/cpu/online", "0-1\n"),
            (STATISTICS, "1\n"),
            (COMPACTION, "20\n"),
        ]);
        let found = || {
            let options = CheckOptions::default();
            let finding = shown(&root, &options, "tuning").unwrap();
            (finding.status, finding.found)
        };
        let plan = TuningPlan::new(&root, &TuningOptions::default()).unwrap();
        let mut tuning = Tuning::begin(&root).unwrap();
        let results = tuning.apply(&plan, true, &|| false).unwrap();
        let meanwhile = |tuning: &Tuning| -> Vec<String> {
            let changed = tuning.changed_meanwhile(&plan, &results).into_iter();
            changed.map(|one| format!("{}: {}", one.file, one.obstacle.unwrap())).collect()
        };
        assert!(meanwhile(&tuning).is_empty());
        assert_eq!(found(), (Status::Ok, "2 changes by teiji tune".to_owned()));
        // Back to what it was, which undoing would take for its own work.
        fs::write(root.path(COMPACTION), "20\n").unwrap();
        assert_eq!(
            meanwhile(&tuning),
            [format!("{COMPACTION}: somebody else has changed it to '20'")]
        );
        let said = format!(
            "2 changes by teiji tune, 1 of them changed since by somebody else: /{COMPACTION} is \
             20"
        );
        assert_eq!(found(), (Status::Warn, said));
        let refused = vec![ChangeResult {
            file: COMPACTION.to_owned(),
            obstacle: Some(Obstacle::Gone),
            is_expected: false,
        }];
        assert!(tuning.changed_meanwhile(&plan, &refused).is_empty(), "it was never changed");
    }
}
