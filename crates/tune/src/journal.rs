// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was there before: on disk before anything is changed, and gone when all of it is there
//! again.
//!
//! One file, replaced as a whole (written beside, synced, renamed, the folder synced), so that it
//! is never half there.

use super::folder;
use super::setting::Form;
use super::witness::{Boot, Namespaces};
use host::HostRoot;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

const JOURNAL: &str = "journal.json";
/// Of this form; another one is not read.
const VERSION: u32 = 2;
/// Has one list, of what stays or of what does not.
const ONE_LIST: u32 = 1;

/// One value that was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) file: String,
    pub(super) form: Form,
    pub(super) from: String,
    /// What it was changed to. None: it was not, but changes with another, and is put back after
    /// it.
    pub(super) to: Option<String>,
    /// Whether the file is there only while another setting has its first value, or only while it
    /// has not.
    pub(super) comes_and_goes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    /// Some of the changes may not have been made yet, or are for a command that runs, or are being
    /// put back: whoever finds this and nobody at it puts everything back.
    Unfinished,
    /// All changes that could be made are, and are to stay. Nothing else is left.
    Applied,
    /// What undoing left, because somebody else had changed it or it was refused. Only who asks for
    /// it tries again.
    Left,
}

/// What is put back, each list from the last to the first: `entries` before `stays`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    version: u32,
    boot_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    booted: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespaces: Option<Namespaces>,
    /// Of `entries`. Where there are none: that of what stays.
    pub(super) phase: Phase,
    /// The verb that changed `entries`, where it is not `tune`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) verb: Option<String>,
    /// What was changed on top of what stays.
    pub(super) entries: Vec<Entry>,
    /// What is changed until somebody undoes it, each file once, with its first value.
    #[serde(default)]
    pub(super) stays: Vec<Entry>,
}

impl Journal {
    /// # Errors
    /// When the boot is not known: then nobody could tell later that this is of another one.
    pub(super) fn new(
        root: &HostRoot,
        phase: Phase,
        entries: Vec<Entry>,
        stays: Vec<Entry>,
        namespaces: Option<Namespaces>,
    ) -> io::Result<Journal> {
        let Boot { id, time, .. } = Boot::now(root).map_err(io::Error::other)?;
        Ok(Journal {
            version: VERSION,
            boot_id: id,
            booted: time,
            namespaces,
            phase,
            verb: None,
            entries,
            stays,
        })
    }

    /// Whether the machine still is as this left it: a reboot undoes everything.
    ///
    /// # Errors
    /// When that is not known.
    pub(super) fn boot(&self, root: &HostRoot) -> Result<bool, String> {
        Boot::now(root)?.is(&self.boot_id, self.booted)
    }

    /// The same. What is not known counts as of this boot, for it is not to be lost.
    pub(super) fn is_of_this_boot(&self, root: &HostRoot) -> bool {
        self.boot(root) != Ok(false)
    }

    /// Whether it is of a process that was killed, unless that process is still at it.
    pub(super) fn is_unfinished(&self, root: &HostRoot) -> bool {
        self.phase == Phase::Unfinished && self.is_of_this_boot(root)
    }

    /// The command that changed `entries`.
    pub(super) fn command(&self) -> String {
        format!("teiji {}", self.verb.as_deref().unwrap_or("tune"))
    }

    /// How many settings it says were changed: those that its phase is of.
    pub(super) fn changes(&self) -> usize {
        changes(if self.phase == Phase::Applied { &self.stays } else { &self.entries })
    }
}

/// How many of these were changed.
pub(super) fn changes(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| entry.to.is_some()).count()
}

/// What stays when these changes stay too. A file that stays changed already keeps its first value.
pub(super) fn with_added(
    mut stays: Vec<Entry>,
    added: impl IntoIterator<Item = Entry>,
) -> Vec<Entry> {
    for entry in added {
        match stays
            .iter_mut()
            .find(|earlier| earlier.file == entry.file && earlier.form == entry.form)
        {
            Some(earlier) => earlier.to = entry.to.or(earlier.to.take()),
            None => stays.push(entry),
        }
    }
    stays
}

/// The journal's file in a folder.
pub(super) fn path(folder: &Path) -> PathBuf {
    folder.join(JOURNAL)
}

/// The journal in a folder, if there is one.
///
/// # Errors
/// When it cannot be read, or is none of ours: then nothing may be written, for it is not known
/// what was there.
pub(super) fn load(folder: &Path) -> Result<Option<Journal>, String> {
    let path = folder.join(JOURNAL);
    let read =
        folder::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let Some(text) = read else { return Ok(None) };
    let damaged = |error: &dyn std::fmt::Display| format!("{} is damaged: {error}", path.display());
    let mut journal: Journal = serde_json::from_str(&text).map_err(|error| damaged(&error))?;
    if journal.version == ONE_LIST {
        journal.version = VERSION;
        if journal.phase == Phase::Applied {
            journal.stays = std::mem::take(&mut journal.entries);
        }
    }
    if journal.version != VERSION {
        return Err(damaged(&format_args!("version {}, expected {VERSION}", journal.version)));
    }
    // It is written to with root's rights, and so is what it names.
    if let Some(entry) = journal
        .entries
        .iter()
        .chain(&journal.stays)
        .find(|entry| !is_setting(&entry.file, entry.form))
    {
        return Err(damaged(&format_args!(
            "'{}' is not a setting below /proc or /sys",
            entry.file
        )));
    }
    Ok(Some(journal))
}

/// Whether tuning changes files of this name.
fn is_setting(file: &str, form: Form) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = file.split('/').collect();
    match parts[..] {
        _ if parts.iter().any(|part| matches!(*part, "" | "." | "..")) => false,
        ["proc", process, "task", thread, "stat"] => {
            is_number(process) && is_number(thread) && form.is_priority()
        }
        ["proc", "sys" | "irq", _, ..] | ["sys", _, ..] => !form.is_priority(),
        _ => false,
    }
}

/// Puts a journal in its place. When this returns, it is on disk.
pub(super) fn store(folder: &Path, journal: &Journal) -> io::Result<()> {
    // Whoever looks at the machine may know what was changed, whatever the umask of root is.
    folder::store(folder, JOURNAL, folder::READABLE, &serde_json::to_string_pretty(journal)?)
}

/// Removes it, where it is.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    folder::remove(folder, JOURNAL)
}

/// What a machine was left with. None after a reboot, which undid it.
pub(super) fn left_over(root: &HostRoot) -> Result<Option<Journal>, String> {
    let Some(journal) = load(&folder::folder(root))? else { return Ok(None) };
    Ok(journal.boot(root)?.then_some(journal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn journal(file: &str) -> Journal {
        let entry = Entry {
            file: file.to_owned(),
            form: Form::Choice,
            from: "[a] b\n".to_owned(),
            to: Some("b".to_owned()),
            comes_and_goes: false,
        };
        Journal {
            version: VERSION,
            boot_id: "x".to_owned(),
            booted: None,
            namespaces: None,
            verb: None,
            phase: Phase::Unfinished,
            entries: vec![entry],
            stays: Vec::new(),
        }
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(load(dir.path()), Ok(None));
        let stored = journal("sys/a");
        store(dir.path(), &stored).unwrap();
        assert_eq!(load(dir.path()), Ok(Some(stored)));
        remove(dir.path()).unwrap();
        remove(dir.path()).unwrap();
        assert_eq!(load(dir.path()), Ok(None));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_journal_leads_out_of_the_kernels_files() {
        let dir = tempfile::tempdir().unwrap();
        for file in [
            "etc/passwd",
            "proc/../etc/passwd",
            "/proc/sys/vm/x",
            "sys",
            "sys/",
            "proc/sys",
            "proc/self/root/etc/passwd",
            "proc/1/task/1/stat",
            "proc/1/root/sys/a",
            "proc/sys//x",
            "sys/./x",
            "proc/sysrq-trigger",
        ] {
            store(dir.path(), &journal(file)).unwrap();
            assert!(
                load(dir.path()).unwrap_err().contains("is not a setting below /proc or /sys"),
                "{file}"
            );
        }
    }

    #[test]
    fn a_journal_of_one_list_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let entry =
            r#"{"file":"sys/a","form":"choice","from":"[a] b\n","to":"b","comes_and_goes":false}"#;
        for (phase, entries, stays) in [("applied", 0, 1), ("unfinished", 1, 0), ("left", 1, 0)] {
            let text =
                format!(r#"{{"version":1,"boot_id":"x","phase":"{phase}","entries":[{entry}]}}"#);
            fs::write(dir.path().join(JOURNAL), text).unwrap();
            let read = load(dir.path()).unwrap().unwrap();
            assert_eq!(
                (read.entries.len(), read.stays.len(), read.changes()),
                (entries, stays, 1),
                "{phase}"
            );
        }
    }

    #[test]
    fn what_tuning_changes_is_a_setting() {
        for (file, form) in [
            ("proc/sys/vm/stat_interval", Form::Plain),
            ("proc/irq/default_smp_affinity", Form::CpuMask),
            ("proc/800/task/801/stat", Form::Priority { started: 1 }),
            ("sys/fs/cgroup/a..b.slice/cpuset.cpus", Form::CpuList),
        ] {
            assert!(is_setting(file, form), "{file}");
        }
        for file in [
            "proc/800/task/self/stat",
            "proc/self/task/1/stat",
            "proc/sys/vm/stat_interval",
            "sys/a",
        ] {
            assert!(!is_setting(file, Form::Priority { started: 1 }), "{file}");
        }
    }

    #[test]
    fn a_damaged_journal_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "{", "{\"version\":2}"] {
            fs::write(dir.path().join(JOURNAL), text).unwrap();
            let error = load(dir.path()).unwrap_err();
            assert!(error.contains("journal.json is damaged"), "{error}");
        }
    }
}
