// SPDX-License-Identifier: MIT OR Apache-2.0
//! A killed tuning is put right once, and nothing else is touched.

use super::*;
use crate::tests::trees::{laid_out, trees};
use crate::{TuningOptions, TuningPlan};
use std::fs;
use tempfile::TempDir;

const NOBODY_STOPS: fn() -> bool = || false;
const INTERVAL: &str = "proc/sys/vm/stat_interval";
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

fn laptop() -> (TempDir, HostRoot, TuningPlan) {
    let (dir, _) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
    let root = HostRoot::at(dir.path());
    fs::create_dir_all(root.path(BOOT_ID).parent().unwrap()).unwrap();
    fs::write(root.path(BOOT_ID), "first\n").unwrap();
    let options = TuningOptions { cpus: Some(vec![plan::CpuId(2)]), ..TuningOptions::default() };
    let plan = TuningPlan::new(&root, &options).unwrap();
    (dir, root, plan)
}

fn interval(root: &HostRoot) -> String {
    fs::read_to_string(root.path(INTERVAL)).unwrap()
}

fn has_journal(root: &HostRoot) -> bool {
    root.path("var/lib/teiji/tune/journal.json").exists()
}

#[test]
fn where_nothing_is_left_nothing_is_made() {
    let (dir, root, _) = laptop();
    assert_eq!(KilledTuning::put_right(&root), None);
    assert!(!dir.path().join("var").exists());
}

#[test]
fn what_a_killed_one_left_is_put_back_once() {
    let (_dir, root, plan) = laptop();
    let before = interval(&root);
    Tuning::begin(&root).unwrap().apply(&plan, false, &NOBODY_STOPS).unwrap();
    assert_ne!(interval(&root), before);
    let back = KilledTuning::PutBack { back: plan.changes.len(), left: 0 };
    assert_eq!(KilledTuning::put_right(&root), Some(back));
    assert_eq!(interval(&root), before);
    assert!(!has_journal(&root));
    assert_eq!(KilledTuning::put_right(&root), None);
}

#[test]
fn what_is_to_stay_stays() {
    let (_dir, root, plan) = laptop();
    Tuning::begin(&root).unwrap().apply(&plan, true, &NOBODY_STOPS).unwrap();
    assert_eq!(KilledTuning::put_right(&root), None);
    assert_eq!(interval(&root), "120");
    assert!(has_journal(&root));
}

#[test]
fn while_somebody_is_at_it_nothing_is_touched() {
    let (_dir, root, plan) = laptop();
    let mut tuning = Tuning::begin(&root).unwrap();
    tuning.apply(&plan, false, &NOBODY_STOPS).unwrap();
    assert_eq!(KilledTuning::put_right(&root), None);
    assert_eq!(interval(&root), "120");
    drop(tuning);
    assert!(KilledTuning::put_right(&root).is_some());
}

/// Nothing is lost by it: the next tuning removes it.
#[test]
fn after_a_reboot_nothing_is_said_and_nothing_is_touched() {
    let (_dir, root, plan) = laptop();
    for is_to_stay in [false, true] {
        fs::write(root.path(BOOT_ID), "first\n").unwrap();
        Tuning::begin(&root).unwrap().apply(&plan, is_to_stay, &NOBODY_STOPS).unwrap();
        fs::write(root.path(BOOT_ID), "second\n").unwrap();
        assert_eq!(KilledTuning::put_right(&root), None);
        assert_eq!(interval(&root), "120");
        assert!(has_journal(&root));
        Tuning::begin(&root).unwrap().undo(false).unwrap();
        assert!(!has_journal(&root));
    }
}

/// It is said once, or every call would say it until somebody undoes it.
#[test]
fn what_cannot_be_put_back_is_tried_once() {
    let (_dir, root, plan) = laptop();
    Tuning::begin(&root).unwrap().apply(&plan, false, &NOBODY_STOPS).unwrap();
    fs::write(root.path(INTERVAL), "7\n").unwrap();
    let back = KilledTuning::PutBack { back: plan.changes.len() - 1, left: 1 };
    assert_eq!(KilledTuning::put_right(&root), Some(back));
    assert_eq!(KilledTuning::put_right(&root), None);
    assert!(has_journal(&root));
    Tuning::begin(&root).unwrap().undo(true).unwrap();
    assert!(!has_journal(&root));
}

#[test]
fn a_journal_that_cannot_be_written_does_not_stop_undoing() {
    let (_dir, root, plan) = laptop();
    let before = interval(&root);
    Tuning::begin(&root).unwrap().apply(&plan, true, &NOBODY_STOPS).unwrap();
    fs::create_dir(folder::folder(&root).join("journal.json.new")).unwrap();
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(interval(&root), before);
    assert!(!has_journal(&root));
}

/// Whoever holds it then changes no settings, and it is said instead of passed over.
#[test]
fn a_lock_that_is_held_by_nobody_who_tunes_is_not_taken_for_a_tuning() {
    let (_dir, root, plan) = laptop();
    Tuning::begin(&root).unwrap().apply(&plan, false, &NOBODY_STOPS).unwrap();
    let lock = fs::File::open(folder::folder(&root).join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockShared).unwrap();
    assert_eq!(KilledTuning::put_right(&root), Some(KilledTuning::NoRights(plan.changes.len())));
    drop(lock);
    let back = KilledTuning::PutBack { back: plan.changes.len(), left: 0 };
    assert_eq!(KilledTuning::put_right(&root), Some(back));
}

/// With root's rights it would be written to whatever a file in an open folder names.
#[test]
fn a_journal_of_somebody_else_is_left_alone() {
    let (_dir, root, plan) = laptop();
    Tuning::begin(&root).unwrap().apply(&plan, false, &NOBODY_STOPS).unwrap();
    if std::os::unix::fs::chown(root.path("var/lib/teiji/tune/journal.json"), Some(12_345), None)
        .is_err()
    {
        return;
    }
    assert_eq!(KilledTuning::put_right(&root), None);
    assert_eq!(interval(&root), "120");
}

#[test]
fn a_damaged_journal_is_left_alone() {
    let (_dir, root, _) = laptop();
    let file = root.path("var/lib/teiji/tune/journal.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{").unwrap();
    assert_eq!(KilledTuning::put_right(&root), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), "{");
}
