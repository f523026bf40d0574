// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads go into a group of our own and come back, wherever that is cut off. Files stand for the
//! kernel: the root keeps its list.

use super::*;
use crate::Tuning;
use crate::tests::cpusets::{MOUNT, group, machine};
use crate::{KilledTuning, TuningOptions, TuningPlan};
use plan::CpuId;
use std::collections::BTreeMap;
use std::path::Path;

const NOBODY_STOPS: fn() -> bool = || false;
const STAY: bool = true;

fn planned(root: &HostRoot) -> TuningPlan {
    let only = vec!["control-groups".to_owned()];
    TuningPlan::new(
        root,
        &TuningOptions { cpus: Some(vec![CpuId(2), CpuId(3)]), only, ..TuningOptions::default() },
    )
    .unwrap()
}

fn laid_out() -> (tempfile::TempDir, HostRoot, TuningPlan) {
    let dir = machine();
    for (name, cpus) in [("docker", "0-3\n"), ("docker/a", "1-3\n"), ("system", "0-1\n")] {
        group(dir.path(), name, cpus);
    }
    let boot_id = dir.path().join("proc/sys/kernel/random/boot_id");
    fs::create_dir_all(boot_id.parent().unwrap()).unwrap();
    fs::write(boot_id, "first\n").unwrap();
    let root = HostRoot::at(dir.path());
    let plan = planned(&root);
    (dir, root, plan)
}

/// Every file and folder of the groups, with what it says.
fn contents(dir: &Path) -> BTreeMap<String, Option<String>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![dir.join(MOUNT)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let is_folder = entry.file_type().unwrap().is_dir();
            let text = (!is_folder).then(|| fs::read_to_string(entry.path()).unwrap());
            found.insert(entry.path().display().to_string(), text);
            folders.extend(is_folder.then(|| entry.path()));
        }
    }
    found
}

fn undo(root: &HostRoot) -> Vec<String> {
    let undone = Tuning::begin(root).unwrap().undo(false).unwrap();
    undone
        .into_iter()
        .filter_map(|result| Some(format!("{}: {}", result.file, result.obstacle?)))
        .collect()
}

fn text(dir: &Path, file: &str) -> String {
    fs::read_to_string(dir.join(MOUNT).join(file)).unwrap()
}

#[test]
fn groups_are_limited_from_below_and_threads_moved_and_all_is_put_back() {
    let (dir, root, plan) = laid_out();
    let changes: Vec<(&str, &str, &str)> = plan
        .changes
        .iter()
        .map(|change| (change.file.as_str(), change.from.as_str(), change.to.as_str()))
        .collect();
    let expected = [
        ("sys/fs/cgroup/cpuset/docker/a/cpuset.cpus", "1-3\n", "1"),
        ("sys/fs/cgroup/cpuset/docker/cpuset.cpus", "0-3\n", "0-1"),
        ("sys/fs/cgroup/cpuset/teiji", "", "0-1"),
    ];
    assert_eq!(changes, expected);
    assert_eq!(plan.changes[2].subject, "a new group, for 3 threads of the root");
    let before = contents(dir.path());
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert!(results.iter().all(|result| result.obstacle.is_none()), "{results:?}");
    assert_eq!(text(dir.path(), "teiji/cpuset.mems"), "0");
    assert_eq!(text(dir.path(), "teiji/cpuset.cpus"), "0-1");
    assert_eq!(text(dir.path(), "teiji/tasks"), "1\n2\n40\n41\n");
    assert_eq!(planned(&root).changes, []);
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    let order: Vec<&str> = undone.iter().map(|result| result.file.as_str()).collect();
    assert_eq!(order, [expected[2].0, expected[1].0, expected[0].0]);
    assert_eq!(contents(dir.path()), before);
    assert!(!crate::has_been_tuned(&root));
}

#[test]
fn what_began_in_the_group_comes_to_the_root() {
    let (dir, root, plan) = laid_out();
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    // One has ended, one has begun.
    fs::write(dir.path().join(MOUNT).join("teiji/tasks"), "1\n2\n40\n120\n").unwrap();
    assert_eq!(undo(&root), Vec::<String>::new());
    assert!(text(dir.path(), "tasks").ends_with("\n99\n120\n"));
    assert!(!dir.path().join(MOUNT).join("teiji").exists());
}

/// The group as it is after each of its writes, without and with those of cgroup.clone_children.
#[test]
fn a_group_that_was_cut_off_is_removed_by_the_next_call() {
    for (cut_off, files) in [
        ("made", &[][..]),
        ("cloned", &[("cpuset.cpus", "0-3\n"), ("cpuset.mems", "0\n"), ("tasks", "")]),
        ("memory", &[("cpuset.mems", "0")]),
        ("empty", &[("cpuset.mems", "0"), ("cpuset.cpus", "")]),
        ("no CPUs", &[("cpuset.mems", "0"), ("cpuset.cpus", "\n")]),
        ("CPUs", &[("cpuset.mems", "0"), ("cpuset.cpus", "0-1\n")]),
        ("some threads", &[("cpuset.mems", "0"), ("cpuset.cpus", "0-1\n"), ("tasks", "1\n40\n")]),
    ] {
        let (dir, root, plan) = laid_out();
        let before = contents(dir.path());
        Tuning::begin(&root).unwrap().apply(&plan, false, &|| true).unwrap();
        let group = dir.path().join(MOUNT).join("teiji");
        fs::create_dir(&group).unwrap();
        for (name, text) in files {
            fs::write(group.join(name), text).unwrap();
        }
        let back = KilledTuning::PutBack { back: 1, left: 0 };
        assert_eq!(KilledTuning::put_right(&root), Some(back), "{cut_off}");
        assert_eq!(contents(dir.path()), before, "{cut_off}");
    }
}

#[test]
fn after_a_reboot_no_group_is_touched() {
    let (dir, root, plan) = laid_out();
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let tuned = contents(dir.path());
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    assert_eq!(undo(&root), Vec::<String>::new());
    assert_eq!(contents(dir.path()), tuned);
    assert!(!crate::has_been_tuned(&root));
}

/// Somebody may have a group of that name: it is limited as any other.
#[test]
fn a_group_of_that_name_is_no_group_of_ours() {
    let (dir, root, _) = laid_out();
    group(dir.path(), "teiji", "1-3\n");
    let before = contents(dir.path());
    let plan = planned(&root);
    assert!(
        plan.changes
            .iter()
            .any(|change| change.file.ends_with("/teiji/cpuset.cpus") && change.to == "1")
    );
    assert!(!plan.changes.iter().any(|change| change.file.ends_with("/teiji")));
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(undo(&root), Vec::<String>::new());
    assert_eq!(contents(dir.path()), before);
}

#[test]
fn cpus_that_somebody_else_gave_the_group_are_left_alone_unless_forced() {
    let (dir, root, plan) = laid_out();
    let before = contents(dir.path());
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    fs::write(dir.path().join(MOUNT).join("teiji/cpuset.cpus"), "0\n").unwrap();
    assert_eq!(undo(&root), ["sys/fs/cgroup/cpuset/teiji: somebody else has changed it to '0'"]);
    Tuning::begin(&root).unwrap().undo(true).unwrap();
    assert_eq!(contents(dir.path()), before);
}

/// Nothing stays of a group that could not be filled.
#[test]
fn a_group_that_is_refused_is_named_and_not_left_there() {
    let (dir, root, plan) = laid_out();
    fs::remove_file(dir.path().join(MOUNT).join("cpuset.mems")).unwrap();
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert!(results[2].obstacle.is_some() && results[0].obstacle.is_none(), "{results:?}");
    assert!(!dir.path().join(MOUNT).join("teiji").exists());
}
