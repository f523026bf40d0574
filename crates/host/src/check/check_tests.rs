// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as trees of files, and what is found of each. `scripts/capture-machine.sh` prints such
//! a tree.

use super::*;
use crate::HostRoot;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check/trees")
}

/// A tree laid out in a folder, and the options in its head.
pub(crate) fn laid_out(text: &str) -> (tempfile::TempDir, CheckOptions) {
    let dir = tempfile::tempdir().unwrap();
    let (head, files) = text.split_at(text.find("=== ").unwrap());
    for file in files.split("=== ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let options = head.lines().find_map(|line| line.strip_prefix("options: ")).unwrap_or_default();
    let words: Vec<&str> = options.split(' ').collect();
    let after =
        |flag: &str| words.iter().position(|word| *word == flag).map(|place| words[place + 1]);
    let purpose = after("--for").map_or(Purpose::Measure, |word| {
        Purpose::ALL.into_iter().find(|one| one.word() == word).unwrap()
    });
    let cpus =
        after("-a").map(|list| list.split(',').map(|cpu| CpuId(cpu.parse().unwrap())).collect());
    (dir, CheckOptions { purpose, cpus, priority: 90, config: None })
}

fn shown(findings: &[Finding], root: &Path) -> String {
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<8}{:<28}{}", finding.status.word(), finding.id, finding.found);
        if let Some(action) = &finding.action {
            let _ = writeln!(text, "        {action}");
        }
    }
    text.replace(&format!("{}/", root.display()), "/")
}

/// Each tree has its findings beside it. `TEIJI_WRITE_GOLDEN=1` writes them, to be read before they
/// are kept.
#[test]
fn what_is_found_of_each_machine() {
    let mut names: Vec<PathBuf> =
        fs::read_dir(trees()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "tree"));
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    for tree in names {
        let (dir, options) = laid_out(&fs::read_to_string(&tree).unwrap());
        let found = shown(&HostRoot::at(dir.path()).check(&options), dir.path());
        let golden = tree.with_extension("findings");
        if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
            fs::write(&golden, &found).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "{}", tree.display());
    }
}

#[test]
fn each_check_has_a_name_of_its_own_and_says_why() {
    let names: std::collections::BTreeSet<&str> = checks().map(|check| check.id).collect();
    assert_eq!(names.len(), checks().count());
    for check in checks() {
        assert!(check.why.ends_with('.') && !check.reference.is_empty(), "{}", check.id);
    }
}

/// A folder in a file's place stands for what cannot be read, for root too.
#[test]
fn what_cannot_be_read_is_unknown_and_the_rest_goes_on() {
    let (dir, options) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
    let file = dir.path().join("sys/devices/system/clocksource/clocksource0/current_clocksource");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let findings = HostRoot::at(dir.path()).check(&options);
    let clock = findings.iter().find(|finding| finding.id == "clocksource").unwrap();
    assert_eq!(clock.status, Status::Unknown);
    assert!(clock.found.contains("current_clocksource"), "{}", clock.found);
    assert!(
        findings.iter().any(|finding| finding.id == "governor" && finding.status == Status::Bad)
    );
}

#[test]
fn what_tuning_left_behind_is_named() {
    let (dir, options) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
    let root = HostRoot::at(dir.path());
    let tuned = || root.check(&options).into_iter().find(|finding| finding.id == "tuning");
    assert_eq!(tuned(), None);
    let plan = root.plan_tuning(&crate::TuningOptions::default()).unwrap();
    let mut tuning = root.begin_tuning(|_, _| unreachable!()).unwrap();
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
    root.begin_tuning(|_, _| unreachable!()).unwrap().undo(false).unwrap();
    assert_eq!(tuned(), None);
    root.begin_tuning(|_, _| unreachable!()).unwrap().apply(&plan, true, &|| false).unwrap();
    assert_eq!(tuned().unwrap().found, format!("{} changes by teiji tune", plan.changes.len()));
    fs::write(dir.path().join("proc/sys/vm/stat_interval"), "7\n").unwrap();
    root.begin_tuning(|_, _| unreachable!()).unwrap().undo(false).unwrap();
    let left = tuned().unwrap();
    assert_eq!(
        (left.status, left.found.as_str()),
        (Status::Warn, "1 change by teiji tune could not be put back")
    );
}

/// What is said of a check, and what is done for it, come from two tables.
#[test]
fn what_tune_can_do_is_what_it_does() {
    for check in checks() {
        assert_eq!(check.tunable, crate::tune::mends(check.id), "{}", check.id);
    }
}
