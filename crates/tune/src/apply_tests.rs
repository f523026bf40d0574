// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever happens in between, every file comes back to its first value.

use super::*;
use crate::TuningOptions;
use crate::tests::trees::{laid_out, trees};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub(crate) fn laptop() -> (TempDir, HostRoot, TuningPlan) {
    let (dir, _) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
    let root = HostRoot::at(dir.path());
    let boot_id = dir.path().join("proc/sys/kernel/random/boot_id");
    fs::create_dir_all(boot_id.parent().unwrap()).unwrap();
    fs::write(boot_id, "first\n").unwrap();
    let options = TuningOptions {
        cpus: Some(vec![plan::CpuId(2), plan::CpuId(3)]),
        ..TuningOptions::default()
    };
    let plan = TuningPlan::new(&root, &options).unwrap();
    (dir, root, plan)
}

/// Every file below /proc and /sys, with what it says.
pub(crate) fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![dir.join("proc"), dir.join("sys")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.insert(entry.path().display().to_string(), fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

pub(crate) fn journal_is_there(root: &HostRoot) -> bool {
    root.path("var/lib/teiji/tune/journal.json").exists()
}

pub(crate) fn obstacles(results: &[ChangeResult]) -> Vec<String> {
    let failed = results
        .iter()
        .filter_map(|result| Some(format!("{}: {}", result.file, result.obstacle.as_ref()?)));
    failed.collect()
}

pub(crate) const STAY: bool = true;
pub(crate) const NOBODY_STOPS: fn() -> bool = || false;

#[test]
fn what_is_applied_is_there_and_what_is_undone_is_as_before() {
    let (dir, root, plan) = laptop();
    let before = contents(dir.path());
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(obstacles(&results), Vec::<String>::new());
    for change in &plan.changes {
        let now = fs::read_to_string(root.path(&change.file)).unwrap();
        assert!(change.form.is_same(&now, &change.to), "{change:?}: {now}");
    }
    let again = TuningPlan::new(
        &root,
        &TuningOptions { cpus: Some(plan.cpus.clone()), ..TuningOptions::default() },
    )
    .unwrap();
    assert_eq!(again.changes, [], "nothing is left to change");
    assert!(journal_is_there(&root));
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(undone.len(), plan.changes.len());
    let order: Vec<&str> = undone.iter().map(|result| result.file.as_str()).collect();
    let backwards: Vec<&str> =
        plan.changes.iter().rev().map(|change| change.file.as_str()).collect();
    assert_eq!(order, backwards);
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root) && !crate::has_been_tuned(&root));
}

/// A program that ends after so many changes, and the next one.
#[test]
fn cut_off_after_each_change() {
    let (dir, root, plan) = laptop();
    let before = contents(dir.path());
    for changes in 0..=plan.changes.len() {
        let asked = std::cell::Cell::new(0);
        let stop = || asked.replace(asked.get() + 1) >= changes;
        let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &stop).unwrap();
        assert_eq!(results.len(), changes);
        assert_eq!(contents(dir.path()) == before, changes == 0);
        assert!(journal_is_there(&root));
        Tuning::begin(&root).unwrap().undo(false).unwrap();
        assert_eq!(contents(dir.path()), before, "after {changes} changes");
    }
}

#[test]
fn a_reboot_has_undone_everything() {
    let (dir, root, plan) = laptop();
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let tuned = contents(dir.path());
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    let mut tuning = Tuning::begin(&root).unwrap();
    assert!(tuning.was_rebooted());
    assert!(tuning.undo(false).unwrap().is_empty());
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "first\n").unwrap();
    assert_eq!(contents(dir.path()), tuned, "nothing was written");
    assert!(!journal_is_there(&root));
}

/// Below /proc, root may open this one for writing too, and the kernel takes nothing.
#[test]
fn a_refused_value_is_named_and_the_rest_goes_on() {
    let (dir, root, _) = laptop();
    let file = "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor";
    fs::remove_file(root.path(file)).unwrap();
    std::os::unix::fs::symlink("/proc/version", root.path(file)).unwrap();
    let before = contents(dir.path());
    let options = TuningOptions {
        cpus: Some(vec![plan::CpuId(2), plan::CpuId(3)]),
        ..TuningOptions::default()
    };
    let plan = TuningPlan::new(&root, &options).unwrap();
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let failed = obstacles(&results);
    assert!(
        failed.len() == 1 && failed[0].starts_with(&format!("{file}: the kernel refuses it: ")),
        "{failed:?}"
    );
    assert_eq!(results.len(), plan.changes.len());
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(undone.len(), plan.changes.len() - 1);
    assert_eq!(contents(dir.path()), before);
}

/// The kernel places some interrupts itself. That is no failure, unless it is the right to write
/// that lacks.
#[test]
fn an_interrupt_that_stays_is_no_failure() {
    let (dir, root, _) = laptop();
    fs::create_dir_all(dir.path().join("proc/irq/16")).unwrap();
    let version = fs::read_to_string("/proc/version").unwrap();
    let file = "proc/irq/16/smp_affinity_list";
    fs::write(root.path(file), "0-3\n").unwrap();
    let options = TuningOptions { cpus: Some(vec![plan::CpuId(2)]), ..TuningOptions::default() };
    let mut plan = TuningPlan::new(&root, &options).unwrap();
    fs::remove_file(root.path(file)).unwrap();
    std::os::unix::fs::symlink("/proc/version", root.path(file)).unwrap();
    plan.changes
        .iter_mut()
        .filter(|change| change.file == file)
        .for_each(|change| change.from.clone_from(&version));
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let interrupt = results.iter().find(|result| result.file == file).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(interrupt.is_expected, is_root, "{interrupt:?}");
}

#[test]
fn a_file_that_vanishes_is_named_and_the_rest_goes_on() {
    let (dir, root, plan) = laptop();
    let (first, second) = (&plan.changes[0].file, &plan.changes[1].file);
    let mut before = contents(dir.path());
    fs::remove_file(root.path(first)).unwrap();
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(obstacles(&results), [format!("{first}: the file is not there any more")]);
    fs::remove_file(root.path(second)).unwrap();
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(obstacles(&undone), [format!("{second}: the file is not there any more")]);
    for file in [first, second] {
        before.remove(&root.path(file).display().to_string());
    }
    assert_eq!(contents(dir.path()), before);
    // It may come again, with its CPU; unless nobody waits for it.
    assert!(journal_is_there(&root));
    Tuning::begin(&root).unwrap().undo(true).unwrap();
    assert!(!journal_is_there(&root));
}

#[test]
fn what_somebody_else_changed_is_left_alone_unless_forced() {
    let (dir, root, plan) = laptop();
    let before = contents(dir.path());
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let governor = &plan.changes[0].file;
    fs::write(root.path(governor), "ondemand\n").unwrap();
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(
        obstacles(&undone),
        [format!("{governor}: somebody else has changed it to 'ondemand'")]
    );
    assert_eq!(fs::read_to_string(root.path(governor)).unwrap(), "ondemand\n");
    assert!(journal_is_there(&root));
    Tuning::begin(&root).unwrap().undo(true).unwrap();
    assert_eq!(contents(dir.path()), before);
    assert!(!journal_is_there(&root));
}

/// What was left alone stays known when the machine is tuned again.
#[test]
fn what_is_left_of_an_earlier_tuning_is_kept_with_the_next() {
    let (dir, root, plan) = laptop();
    let before = contents(dir.path());
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let governor = plan.changes[0].file.clone();
    fs::write(root.path(&governor), "ondemand\n").unwrap();
    let mut tuning = Tuning::begin(&root).unwrap();
    tuning.undo(false).unwrap();
    let plan = TuningPlan::new(
        &root,
        &TuningOptions { cpus: Some(plan.cpus), ..TuningOptions::default() },
    )
    .unwrap();
    tuning.apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    drop(tuning);
    assert_eq!(fs::read_to_string(root.path(&governor)).unwrap(), "performance");
    Tuning::begin(&root).unwrap().undo(true).unwrap();
    assert_eq!(contents(dir.path()), before);
}

/// What was changed between the plan and its first write is not ours to change.
#[test]
fn a_value_that_changed_since_the_plan_is_not_written() {
    let (_dir, root, plan) = laptop();
    let governor = &plan.changes[0].file;
    fs::write(root.path(governor), "ondemand\n").unwrap();
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(
        obstacles(&results),
        [format!("{governor}: somebody else has changed it to 'ondemand'")]
    );
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(fs::read_to_string(root.path(governor)).unwrap(), "ondemand\n");
}

/// The kernel cuts the name of a thread to 15 letters.
#[test]
fn a_value_of_which_the_kernel_makes_another_is_put_back_at_once() {
    let (_dir, root, mut plan) = laptop();
    let (name, own) =
        ("/proc/thread-self/comm", fs::read_to_string("/proc/thread-self/comm").unwrap());
    let change = &mut plan.changes[0];
    fs::remove_file(root.path(&change.file)).unwrap();
    std::os::unix::fs::symlink(name, root.path(&change.file)).unwrap();
    change.from.clone_from(&own);
    "of-sixteen-lette".clone_into(&mut change.to);
    let file = change.file.clone();
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(obstacles(&results), [format!("{file}: the kernel made 'of-sixteen-lett' of it")]);
    assert_eq!(fs::read_to_string(name).unwrap(), own);
}

/// A governor that ends forgets its settings; the kernel of this test does it by hand.
#[test]
fn the_settings_of_a_governor_come_back_with_it() {
    let (dir, root, _) = laptop();
    let settings = root.path("sys/devices/system/cpu/cpu2/cpufreq/powersave");
    fs::create_dir(&settings).unwrap();
    fs::write(settings.join("rate"), "7\n").unwrap();
    let before = contents(dir.path());
    let options = TuningOptions { cpus: Some(vec![plan::CpuId(2)]), ..TuningOptions::default() };
    let plan = TuningPlan::new(&root, &options).unwrap();
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    fs::write(settings.join("rate"), "1000\n").unwrap();
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(contents(dir.path()), before);
}

/// Killed before the controller was there, or after it was gone again: its files are neither.
#[test]
fn a_file_that_comes_with_another_setting_may_not_be_there() {
    let (dir, root, _) = laptop();
    let group = dir.path().join("sys/fs/cgroup/system.slice");
    fs::create_dir_all(&group).unwrap();
    fs::write(group.join("cgroup.procs"), "").unwrap();
    fs::write(group.join("../cgroup.controllers"), "cpuset memory\n").unwrap();
    fs::write(group.join("../cgroup.subtree_control"), "memory\n").unwrap();
    let before = contents(dir.path());
    let options = TuningOptions { cpus: Some(vec![plan::CpuId(2)]), ..TuningOptions::default() };
    let plan = TuningPlan::new(&root, &options).unwrap();
    Tuning::begin(&root).unwrap().apply(&plan, STAY, &|| true).unwrap();
    let undone = Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert!(undone.is_empty(), "{undone:?}");
    // No kernel makes the group's file here.
    let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    assert_eq!(
        obstacles(&results),
        ["sys/fs/cgroup/system.slice/cpuset.cpus: the file is not there any more"]
    );
    assert_eq!(
        fs::read_to_string(group.join("../cgroup.subtree_control")).unwrap(),
        "memory cpuset\n"
    );
    Tuning::begin(&root).unwrap().undo(false).unwrap();
    assert_eq!(contents(dir.path()), before);
}

/// A number that is another thread's by now is left alone, and what has ended needs nothing.
#[test]
fn a_thread_gets_its_priority_back_if_it_is_still_that_one() {
    let (dir, root, _) = laptop();
    let file = "proc/800/task/800/stat";
    // That tree's thread is a guard, which keeps its priority.
    let guard = fs::read_to_string(root.path(file)).unwrap();
    fs::write(root.path(file), guard.replace("rtkit-daemon", "daemon")).unwrap();
    let options = TuningOptions {
        cpus: Some(vec![plan::CpuId(0)]),
        only: vec!["threads-above".to_owned()],
        ..TuningOptions::default()
    };
    let plan = TuningPlan::new(&root, &options).unwrap();
    assert_eq!(
        plan.changes
            .iter()
            .map(|change| (change.file.as_str(), change.to.as_str()))
            .collect::<Vec<_>>(),
        [(file, "89")]
    );
    let before = contents(dir.path());
    let tuned = || {
        let results = Tuning::begin(&root).unwrap().apply(&plan, STAY, &NOBODY_STOPS).unwrap();
        assert_eq!(obstacles(&results), Vec::<String>::new());
        fs::read_to_string(root.path(file)).unwrap()
    };
    let undone = || Tuning::begin(&root).unwrap().undo(false).unwrap().len();
    assert!(tuned().contains(" 17 0 89 2 "), "priority and policy");
    assert_eq!(undone(), 1);
    assert_eq!(contents(dir.path()), before);
    let another = with_start(&tuned(), "777777");
    fs::write(root.path(file), &another).unwrap();
    assert_eq!(undone(), 0);
    assert_eq!(fs::read_to_string(root.path(file)).unwrap(), another);
    assert!(!journal_is_there(&root));
}

/// The same line of a thread that began at another time.
fn with_start(line: &str, start: &str) -> String {
    let (name, rest) = line.rsplit_once(") ").unwrap();
    let mut fields: Vec<&str> = rest.split(' ').collect();
    fields[19] = start;
    format!("{name}) {}", fields.join(" "))
}

#[test]
fn one_process_at_a_time_changes_settings() {
    let (_dir, root, plan) = laptop();
    let mut first = Tuning::begin(&root).unwrap();
    first.apply(&plan, STAY, &NOBODY_STOPS).unwrap();
    let error = Tuning::begin(&root).err().unwrap().to_string();
    assert_eq!(
        error,
        format!("teiji tune runs already (process {}): end it first", std::process::id())
    );
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let (dir, root, plan) = laptop();
    let before = contents(dir.path());
    let mut tuning = Tuning::begin(&root).unwrap();
    // A folder in its place: it cannot be written, by root either.
    fs::create_dir(root.path("var/lib/teiji/tune/journal.json.new")).unwrap();
    let error = tuning.apply(&plan, STAY, &NOBODY_STOPS).unwrap_err().to_string();
    assert!(
        error.contains("cannot use the journal in ") && error.ends_with("Nothing was changed"),
        "{error}"
    );
    assert_eq!(contents(dir.path()), before);
}
