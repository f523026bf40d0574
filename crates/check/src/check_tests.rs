// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machines as trees of files, and what is found of each. `scripts/capture-machine.sh` prints such
//! a tree.

use crate::tests::trees::{laid_out, trees};
use crate::*;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

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
        let found = shown(&crate::findings(&HostRoot::at(dir.path()), &options), dir.path());
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
    for name in names {
        assert!(model::check_text(name).is_some(), "{name}");
    }
}

/// A folder in a file's place stands for what cannot be read, for root too.
#[test]
fn what_cannot_be_read_is_unknown_and_the_rest_goes_on() {
    let (dir, options) = laid_out(&fs::read_to_string(trees().join("laptop.tree")).unwrap());
    let file = dir.path().join("sys/devices/system/clocksource/clocksource0/current_clocksource");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let findings = crate::findings(&HostRoot::at(dir.path()), &options);
    let clock = findings.iter().find(|finding| finding.id == "clocksource").unwrap();
    assert_eq!(clock.status, Status::Unknown);
    assert!(clock.found.to_string().contains("current_clocksource"), "{}", clock.found);
    assert!(
        findings.iter().any(|finding| finding.id == "governor" && finding.status == Status::Bad)
    );
}
