// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writing the changes of a plan, and putting everything back.

use super::change::{Change, TuningPlan};
use super::folder::{self, Lock, NotLocked};
use super::journal::{self, Entry, Journal, Phase};
use super::setting::{self, Form};
use super::witness::Namespaces;
use host::HostRoot;
use rustix::io::Errno;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why nothing could be changed at all.
#[derive(Debug, thiserror::Error)]
pub enum TuningError {
    /// Another process is at it, or has tuned the machine for its command.
    #[error("teiji tune runs already{}: end it first", of_process(.0))]
    Held(String),
    /// Without a journal nothing is written.
    #[error(
        "cannot use the journal in {path}: {source}. Nothing was changed{way_out}",
        path = path.display(),
    )]
    Journal { path: PathBuf, source: io::Error, way_out: &'static str },
    /// The machine is changed or put back, and the journal does not say so.
    #[error(
        "cannot write the journal in {path}: {source}. What it says is looked at again by \
         teiji tune --undo",
        path = path.display(),
    )]
    NotSettled {
        path: PathBuf,
        source: io::Error,
        /// What became of each file.
        results: Vec<ChangeResult>,
    },
    /// It is not known what was there before.
    #[error("{0}. Nothing was changed. A reboot undoes every change, then remove the file")]
    Damaged(String),
    /// One journal cannot have settings of two.
    #[error(
        "teiji tune changed this machine from another namespace, as of a container. Nothing was \
         changed. First there: teiji tune --undo"
    )]
    OtherNamespace,
    /// It is not known whether the machine still is as it was left.
    #[error(
        "{0}, so whether the machine was booted since {path} was written is not known. \
         Nothing was changed. Run this outside of the container",
        path = .1.display(),
    )]
    Elsewhere(String, PathBuf),
}

impl TuningError {
    fn without_journal(root: &HostRoot, source: io::Error) -> TuningError {
        let way_out = if source.kind() == ErrorKind::PermissionDenied && !folder::is_named(root) {
            ". It takes root: run it with sudo"
        } else if root.is_system() {
            ". TEIJI_STATE=DIR names another folder"
        } else {
            ""
        };
        TuningError::Journal { path: folder::folder(root), source, way_out }
    }
}

pub(super) fn of_process(holder: &str) -> String {
    if holder.is_empty() { String::new() } else { format!(" (process {holder})") }
}

/// Why a file was not changed, or not put back.
#[derive(Debug)]
pub enum Obstacle {
    /// It is not there any more.
    Gone,
    /// The file cannot be written to, or the kernel refuses the value.
    Refused(io::Error),
    /// The kernel took the value and made another one of it.
    MadeAnother(String),
    /// Somebody else has changed it meanwhile, to this.
    ChangedByOthers(String),
    /// It is not visible from here: a thread of another PID namespace, or a group of another cgroup
    /// namespace.
    Elsewhere,
    /// It was written, and nothing shows that it is as before.
    NotKnown(io::Error),
}

impl From<io::Error> for Obstacle {
    fn from(error: io::Error) -> Obstacle {
        if error.kind() == ErrorKind::NotFound { Obstacle::Gone } else { Obstacle::Refused(error) }
    }
}

impl Obstacle {
    /// Whether the kernel says that the setting is its own, as of managed interrupts and those of
    /// each CPU.
    fn is_kernels_own(&self) -> bool {
        matches!(
            self,
            Obstacle::Refused(error) if matches!(errno(error), Some(Errno::IO | Errno::PERM)),
        )
    }
}

impl Obstacle {
    /// Whether somebody with more rights, or a file system mounted otherwise, could do it.
    pub(super) fn is_missing_right(&self) -> bool {
        match self {
            Obstacle::Refused(error) => matches!(errno(error), Some(Errno::ACCESS | Errno::ROFS)),
            Obstacle::Elsewhere => true,
            _ => false,
        }
    }
}

fn errno(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error)
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Gone => f.write_str("the file is not there any more"),
            Obstacle::Refused(error) => {
                let hint = match errno(error) {
                    Some(Errno::ACCESS) => " (it takes root)",
                    Some(Errno::ROFS) => " (mounted read-only, as in a container)",
                    _ => "",
                };
                write!(f, "the kernel refuses it: {error}{hint}")
            }
            Obstacle::MadeAnother(value) => write!(f, "the kernel made {} of it", one_line(value)),
            Obstacle::ChangedByOthers(value) => {
                write!(f, "somebody else has changed it to {}", one_line(value))
            }
            Obstacle::Elsewhere => f.write_str(
                "it was changed in another namespace, as of a container: teiji tune --undo there",
            ),
            Obstacle::NotKnown(error) => {
                write!(
                    f,
                    "it was written, and what became of it is not known: {error}. It stays in the \
                     journal: teiji tune --undo"
                )
            }
        }
    }
}

fn one_line(value: &str) -> String {
    format!("'{}'", value.trim().replace('\n', " "))
}

/// What became of one file.
#[derive(Debug)]
pub struct ChangeResult {
    /// The file, without the slash that it begins with.
    pub file: String,
    /// Why it was not changed or put back, if it was not.
    pub obstacle: Option<Obstacle>,
    /// Whether that is no failure: the kernel places this one itself.
    pub is_expected: bool,
}

impl ChangeResult {
    pub(super) const fn new(file: String, obstacle: Option<Obstacle>) -> ChangeResult {
        ChangeResult { file, obstacle, is_expected: false }
    }
}

/// What the journal has of a plan's changes, those that are chosen by their place. What comes with
/// another setting is first, so that it is looked at last: then it is gone.
fn entries_of(plan: &TuningPlan, is_chosen: impl Fn(usize) -> bool) -> Vec<Entry> {
    let entry = |change: &Change| Entry {
        file: change.file.clone(),
        form: change.form,
        from: change.from.clone(),
        to: Some(change.to.clone()),
        comes_and_goes: change.comes_and_goes,
    };
    let chosen = plan.changes.iter().enumerate().filter(|(place, _)| is_chosen(*place));
    let mut entries: Vec<Entry> = chosen.map(|(_, change)| entry(change)).collect();
    entries.sort_by_key(|entry| !entry.comes_and_goes);
    entries
}

/// What is recorded meanwhile, beside the journal.
const RECORDING: &str = "tune-block.teiji";

/// Holds the lock of a machine's journal: nobody else changes its settings by this program
/// meanwhile.
pub struct Tuning {
    pub(super) root: HostRoot,
    pub(super) folder: PathBuf,
    _lock: Lock,
    pub(super) journal: Option<Journal>,
    /// Where the journal's settings were changed.
    pub(super) namespaces: Option<Namespaces>,
    /// The verb that this is for, where it is not `tune`.
    verb: Option<String>,
    /// That of the changes in the journal.
    journals_verb: Option<String>,
}

/// Whether something is left to put back, or to be forgotten after a reboot.
pub fn has_been_tuned(root: &HostRoot) -> bool {
    has_journal(&folder::folder(root))
}

fn has_journal(folder: &Path) -> bool {
    !matches!(journal::load(folder), Ok(None))
}

/// The folder whose journal has changes of this machine too, where TEIJI_STATE names another one.
pub fn journal_passed_over(root: &HostRoot) -> Option<PathBuf> {
    folder::passed_over(root).filter(|folder| has_journal(folder))
}

impl Tuning {
    /// Begins to change settings, and priorities of threads by the call that is given.
    ///
    /// # Errors
    /// When another process does, or the journal cannot be kept or read.
    pub fn begin(root: &HostRoot) -> Result<Tuning, TuningError> {
        let folder = folder::folder(root);
        let lock = folder::lock(root).map_err(|error| match error {
            NotLocked::Held(holder) => TuningError::Held(holder),
            NotLocked::Failed(source) => TuningError::without_journal(root, source),
        })?;
        let journal = journal::load(&folder).map_err(TuningError::Damaged)?;
        if let Some(Err(why)) = journal.as_ref().map(|journal| journal.boot(root)) {
            return Err(TuningError::Elsewhere(why, journal::path(&folder)));
        }
        // Of a process that was killed.
        let _ = fs::remove_dir_all(folder.join(RECORDING));
        let left = journal.as_ref().filter(|journal| journal.is_of_this_boot(root));
        let namespaces =
            left.and_then(|journal| journal.namespaces.clone()).or_else(|| Namespaces::own(root));
        let journals_verb = left.and_then(|journal| journal.verb.clone());
        Ok(Tuning {
            root: root.clone(),
            folder,
            _lock: lock,
            journal,
            namespaces,
            verb: None,
            journals_verb,
        })
    }

    /// For another verb than `tune`, which is named where its changes are left.
    #[must_use]
    pub fn for_verb(mut self, verb: &str) -> Tuning {
        self.verb = Some(verb.to_owned());
        self
    }

    pub(super) fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Where something can be recorded while the lock is held. It is removed before the lock is
    /// given back, or by the next process that takes it.
    pub fn recording(&self) -> PathBuf {
        self.folder.join(RECORDING)
    }

    /// Whether the changes in the journal were undone by a reboot.
    pub fn was_rebooted(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| !journal.is_of_this_boot(&self.root))
    }

    /// How many settings stay as an earlier tuning changed them.
    pub fn staying(&self) -> usize {
        let journal = self.journal.as_ref().filter(|journal| journal.is_of_this_boot(&self.root));
        journal.map_or(0, |journal| journal::changes(&journal.stays))
    }

    /// Writes the changes of a plan, each read back, on top of what stays. What is in the journal
    /// from before stays there. When asked to stop in between, none of the changes stay.
    ///
    /// # Errors
    /// When the journal cannot be written: then nothing was changed.
    pub fn apply(
        &mut self,
        plan: &TuningPlan,
        is_to_stay: bool,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Vec<ChangeResult>, TuningError> {
        if plan.changes.is_empty() {
            return Ok(Vec::new());
        }
        let own = Namespaces::own(&self.root);
        if self.namespaces != own
            && self.journal.as_ref().is_some_and(|journal| journal.is_of_this_boot(&self.root))
        {
            return Err(TuningError::OtherNamespace);
        }
        self.namespaces = own;
        self.journals_verb.clone_from(&self.verb);
        let earlier = self.journal.take().filter(|journal| journal.is_of_this_boot(&self.root));
        let (mut before, stays) =
            earlier.map(|journal| (journal.entries, journal.stays)).unwrap_or_default();
        before.extend(plan.companions.iter().cloned());
        let entries: Vec<Entry> =
            before.iter().cloned().chain(entries_of(plan, |_| true)).collect();
        let path = self.folder.clone();
        self.keep(Phase::Unfinished, &entries, &stays)
            .map_err(|source| TuningError::without_journal(&self.root, source))?;
        let mut results = Vec::new();
        let mut to_undo = Vec::new();
        for change in &plan.changes {
            if should_stop() {
                break;
            }
            let obstacle = self.change(change).err();
            to_undo.push(matches!(obstacle, None | Some(Obstacle::NotKnown(_))));
            let is_expected =
                change.may_be_refused && obstacle.as_ref().is_some_and(Obstacle::is_kernels_own);
            results.push(ChangeResult { file: change.file.clone(), obstacle, is_expected });
        }
        if is_to_stay && results.len() == plan.changes.len() {
            // What was not written needs not be put back.
            let changed = entries_of(plan, |place| to_undo[place]);
            let stays = journal::with_added(stays, before.into_iter().chain(changed));
            let is_empty = journal::changes(&stays) == 0;
            let settled =
                if is_empty { self.forget() } else { self.keep(Phase::Applied, &[], &stays) };
            if let Err(source) = settled {
                return Err(TuningError::NotSettled { path, source, results });
            }
        }
        Ok(results)
    }

    fn change(&self, change: &Change) -> Result<(), Obstacle> {
        let Change { file, form, from, to, .. } = change;
        let now = setting::read(&self.root, file, *form)?;
        // CPUs may share a setting, under other names.
        if form.is_same(&now, to) {
            return Ok(());
        }
        if !form.is_back(&now, from) {
            return Err(Obstacle::ChangedByOthers(now));
        }
        let read = || setting::read(&self.root, file, *form);
        let obstacle = match self.write(file, *form, to).and_then(|()| read()) {
            Ok(now) if form.is_same(&now, to) => return Ok(()),
            Ok(now) => Obstacle::MadeAnother(now),
            Err(error) => error.into(),
        };
        // Undoing later could not know that this is ours. And a write that failed may have done
        // something.
        if read().is_ok_and(|now| form.is_back(&now, from)) {
            return Err(obstacle);
        }
        let written = self.write(file, *form, from);
        match read() {
            Ok(now) if form.is_back(&now, from) => Err(obstacle),
            // A thread that has ended needs no priority.
            Err(error) if error.kind() == ErrorKind::NotFound && form.is_priority() => {
                Err(obstacle)
            }
            Ok(now) => Err(Obstacle::NotKnown(
                written
                    .err()
                    .unwrap_or_else(|| io::Error::other(format!("it is {}", one_line(&now)))),
            )),
            Err(error) => Err(Obstacle::NotKnown(error)),
        }
    }

    pub(super) fn write(&self, file: &str, form: Form, text: &str) -> io::Result<()> {
        setting::write(&self.root, file, form, text)
    }

    pub(super) fn keep(
        &mut self,
        phase: Phase,
        entries: &[Entry],
        stays: &[Entry],
    ) -> io::Result<()> {
        let (entries, stays) = (entries.to_vec(), stays.to_vec());
        let mut journal = Journal::new(&self.root, phase, entries, stays, self.namespaces.clone())?;
        journal.verb = self.journals_verb.clone().filter(|_| !journal.entries.is_empty());
        let stored = journal::store(&self.folder, &journal);
        self.journal = Some(journal);
        stored
    }

    pub(super) fn forget(&mut self) -> io::Result<()> {
        self.journal = None;
        journal::remove(&self.folder)
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.recording());
    }
}

#[cfg(test)]
#[path = "apply_tests.rs"]
pub(super) mod tests;
