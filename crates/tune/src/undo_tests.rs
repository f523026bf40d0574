// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is changed on top of what stays, and how both come back.

use super::super::apply::tests::{
    NOBODY_STOPS, STAY, contents, journal_is_there, laptop, obstacles,
};
use super::*;
use crate::{TuningOptions, TuningPlan};
use host::HostRoot;
use std::fs;

/// A laptop, with settings that have a list of CPUs.
fn machine() -> (tempfile::TempDir, HostRoot, TuningPlan) {
    let (dir, root, plan) = laptop();
    for (file, text) in
        [("proc/irq/default_smp_affinity", "f\n"), ("proc/sys/kernel/watchdog_cpumask", "0-3\n")]
    {
        fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
        fs::write(root.path(file), text).unwrap();
    }
    (dir, root, plan)
}

fn planned(root: &HostRoot, cpus: &[u32], only: &[&str]) -> TuningPlan {
    let cpus = Some(cpus.iter().copied().map(plan::CpuId).collect());
    let only = only.iter().map(|name| (*name).to_owned()).collect();
    TuningPlan::new(root, &TuningOptions { cpus, only, ..TuningOptions::default() }).unwrap()
}

fn tuned(root: &HostRoot, plan: &TuningPlan, is_to_stay: bool) {
    let results = Tuning::begin(root).unwrap().apply(plan, is_to_stay, &NOBODY_STOPS).unwrap();
    assert_eq!(obstacles(&results), Vec::<String>::new());
}

/// Some files are changed twice, such as affinities, some the first time only, some the second time
/// only.
#[test]
fn a_second_tuning_adds_to_what_stays_and_the_first_values_come_back() {
    let (dir, root, _) = machine();
    let before = contents(dir.path());
    tuned(&root, &planned(&root, &[2], &[]), STAY);
    let first = contents(dir.path());
    let second = planned(&root, &[1, 3], &[]);
    assert!(
        second.changes.iter().any(|change| change.file == "proc/irq/default_smp_affinity"),
        "changed a second time"
    );
    tuned(&root, &second, STAY);
    assert_eq!(
        fs::read_to_string(root.path("sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"))
            .unwrap(),
        "performance"
    );
    for (file, cpus) in
        [("proc/irq/default_smp_affinity", "1"), ("proc/sys/kernel/watchdog_cpumask", "0")]
    {
        assert_eq!(
            fs::read_to_string(root.path(file)).unwrap(),
            cpus,
            "{file}: of all CPUs that are to be on time"
        );
    }
    let tuning = Tuning::begin(&root).unwrap();
    let journal = tuning.journal().unwrap();
    assert!(journal.phase == Phase::Applied && journal.entries.is_empty());
    let files: std::collections::BTreeSet<&str> =
        journal.stays.iter().map(|entry| entry.file.as_str()).collect();
    assert_eq!(files.len(), journal.stays.len(), "each once");
    for entry in &journal.stays {
        assert_eq!(
            before[&root.path(&entry.file).display().to_string()],
            entry.from.as_bytes(),
            "{}",
            entry.file
        );
    }
    drop(tuning);
    assert_ne!(contents(dir.path()), first);
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root));
}

#[test]
fn only_what_is_not_to_stay_is_put_back_after_a_command() {
    let (dir, root, _) = machine();
    let before = contents(dir.path());
    tuned(&root, &planned(&root, &[2], &["watchdogs", "interrupt-default"]), STAY);
    let stayed = contents(dir.path());
    let journal = fs::read(root.path("var/lib/teiji/tune/journal.json")).unwrap();
    let mut tuning = Tuning::begin(&root).unwrap();
    assert_eq!(tuning.staying(), 2);
    tuning.apply(&planned(&root, &[1, 2, 3], &[]), false, &NOBODY_STOPS).unwrap();
    assert_ne!(contents(dir.path()), stayed);
    tuning.undo_unfinished().unwrap();
    assert_eq!(contents(dir.path()), stayed);
    assert_eq!(fs::read(root.path("var/lib/teiji/tune/journal.json")).unwrap(), journal);
    assert_eq!(tuning.undo_unfinished().unwrap().len(), 0, "nothing is left that is not to stay");
    // Nothing to change forgets nothing.
    assert!(
        tuning
            .apply(&planned(&root, &[2], &["watchdogs"]), false, &NOBODY_STOPS)
            .unwrap()
            .is_empty()
    );
    assert_eq!(tuning.undo(false).unwrap().len(), 2);
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root));
}

/// A program that ends after so many changes on top of what stays: what stays is there, and then
/// what was first.
#[test]
fn cut_off_after_each_change_on_top_of_what_stays() {
    let (dir, root, _) = machine();
    let before = contents(dir.path());
    tuned(
        &root,
        &planned(&root, &[2], &["watchdogs", "interrupt-default", "statistics-interval"]),
        STAY,
    );
    let stayed = contents(dir.path());
    let plan = planned(&root, &[1, 2, 3], &[]);
    for changes in 0..=plan.changes.len() {
        for is_to_stay in [false, true] {
            let asked = std::cell::Cell::new(0);
            let stop = || asked.replace(asked.get() + 1) >= changes;
            Tuning::begin(&root).unwrap().apply(&plan, is_to_stay, &stop).unwrap();
            let is_complete = is_to_stay && changes == plan.changes.len();
            let back = Tuning::begin(&root).unwrap().undo_unfinished().unwrap();
            assert_eq!(back.len(), if is_complete { 0 } else { changes });
            assert_eq!(contents(dir.path()) == stayed, !is_complete, "after {changes} changes");
        }
    }
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(contents(dir.path()), before);
    // Undone at once, without first putting back what is on top.
    tuned(&root, &planned(&root, &[2], &["watchdogs", "interrupt-default"]), STAY);
    tuned(&root, &planned(&root, &[1, 2, 3], &[]), false);
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root));
}

/// What somebody else changed while the command ran is named once by undoing, and forced it gets
/// its first value.
#[test]
fn what_somebody_else_changed_on_top_of_what_stays_is_named_once() {
    let (dir, root, _) = machine();
    let before = contents(dir.path());
    let file = "proc/irq/default_smp_affinity";
    tuned(&root, &planned(&root, &[2], &["interrupt-default"]), STAY);
    tuned(&root, &planned(&root, &[1, 2, 3], &["interrupt-default", "statistics-interval"]), false);
    fs::write(root.path(file), "2\n").unwrap();
    let named = [format!("{file}: somebody else has changed it to '2'")];
    assert_eq!(obstacles(&Tuning::begin(&root).unwrap().undo_unfinished().unwrap()), named);
    assert_eq!(Tuning::begin(&root).unwrap().journal().unwrap().phase, Phase::Applied);
    assert_eq!(obstacles(&Tuning::begin(&root).unwrap().undo(false).unwrap()), named);
    assert_eq!(Tuning::begin(&root).unwrap().undo(true).unwrap().len(), 1);
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root));
}
