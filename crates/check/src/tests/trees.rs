// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captured machines as trees of files, for the tests of this crate and of `tune`.

use crate::{CheckOptions, Finding, KernelConfig, Purpose, Status};
use host::HostRoot;
use plan::CpuId;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../check/src/trees")
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
    let config = after("--kernel-config")
        .map(|file| KernelConfig::from_file(&dir.path().join(file)).unwrap());
    (dir, CheckOptions { purpose, cpus, config, ..CheckOptions::default() })
}

/// What is found, in English.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) status: Status,
    pub(crate) found: String,
    pub(crate) action: Option<String>,
    pub(crate) tunable: bool,
}

impl From<Finding> for Shown {
    fn from(Finding { status, found, action, tunable, .. }: Finding) -> Shown {
        let action = action.map(|action| action.to_string());
        Shown { status, found: found.to_string(), action, tunable }
    }
}

impl Shown {
    /// The action is empty where there is none.
    pub(crate) fn words(self) -> (Status, String, String) {
        (self.status, self.found, self.action.unwrap_or_default())
    }
}

/// The finding of this name.
pub(crate) fn shown(root: &HostRoot, options: &CheckOptions, id: &str) -> Option<Shown> {
    let findings = crate::findings(root, options);
    findings.into_iter().find(|finding| finding.id == id).map(Shown::from)
}

/// What is found of this machine, of four CPUs unless its files say otherwise.
pub(crate) fn found(id: &str, options: &str, files: &[(&str, &str)]) -> Option<Shown> {
    let text = |text: &mut String, (path, content): &(&str, &str)| {
        *text += &format!("=== {path}\n{content}\n")
    };
    let mut tree = format!("options: {options}\n");
    for file in [
        ("sys/devices/system/cpu/online", "0-3"),
        ("sys/devices/system/cpu/possible", "0-3"),
        ("proc/sys/kernel/osrelease", "6.1.0-x"),
    ] {
        text(&mut tree, &file);
    }
    for file in files {
        text(&mut tree, file);
    }
    let (dir, options) = laid_out(&tree);
    shown(&HostRoot::at(dir.path()), &options, id)
}
