// SPDX-License-Identifier: MIT OR Apache-2.0
//! Putting back what was changed: all of it, or only what is not to stay.

use super::apply::{ChangeResult, Obstacle, Tuning, TuningError};
use super::journal::{Entry, Journal, Phase};
use super::setting;
use super::witness::Namespaces;
use std::io::ErrorKind;

/// What became of entries that were to be put back.
#[derive(Default)]
struct PutBack {
    results: Vec<ChangeResult>,
    /// In the order of the journal.
    left: Vec<Entry>,
    /// Files that somebody with more rights could put back.
    lacking_rights: Vec<String>,
}

impl PutBack {
    fn phase(&self) -> Phase {
        if self.lacking_rights.is_empty() { Phase::Left } else { Phase::Unfinished }
    }

    /// Whether what was written last is still there, for lack of rights.
    fn is_still_ours(&self, file: &str) -> bool {
        self.lacking_rights.iter().any(|lacking| lacking == file)
    }

    /// Whether somebody else's value is on top of one that stays, which then says so itself.
    fn is_named_below(&self, file: &str, stays: &[Entry]) -> bool {
        !self.is_still_ours(file) && stays.iter().any(|entry| entry.file == file)
    }

    /// So that it is named once.
    fn forget_what_is_named_below(&mut self, stays: &[Entry]) {
        let left = std::mem::take(&mut self.left);
        self.left =
            left.into_iter().filter(|entry| !self.is_named_below(&entry.file, stays)).collect();
    }
}

impl Tuning {
    /// Puts back what is not to stay, from the last change to the first: the changes for a command,
    /// and those of a process that was killed. What somebody else has changed meanwhile is left
    /// alone.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn undo_unfinished(&mut self) -> Result<Vec<ChangeResult>, TuningError> {
        let Some(journal) = self.of_this_boot()? else { return Ok(Vec::new()) };
        if journal.entries.is_empty() {
            self.journal = Some(journal);
            return Ok(Vec::new());
        }
        let Journal { phase, entries, stays, .. } = journal;
        let count = entries.len();
        let mut back = PutBack::default();
        self.put_all_back(entries, false, &mut back);
        back.forget_what_is_named_below(&stays);
        self.settle(back, phase, count, &stays)
    }

    /// Puts everything back, from the last change to the first, and forgets what is back. What
    /// somebody else has changed meanwhile is left alone, unless forced; forced, what cannot be
    /// put back is forgotten too.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub fn undo(&mut self, is_forced: bool) -> Result<Vec<ChangeResult>, TuningError> {
        let Some(Journal { mut phase, entries, stays, .. }) = self.of_this_boot()? else {
            return Ok(Vec::new());
        };
        let mut count = entries.len();
        let mut back = PutBack::default();
        self.put_all_back(entries, is_forced, &mut back);
        if !stays.is_empty() {
            if is_forced {
                back.left.clear();
            }
            back.forget_what_is_named_below(&stays);
            let results = std::mem::take(&mut back.results);
            let is_to_be_said = |one: &ChangeResult| {
                one.obstacle.is_none() || !back.is_named_below(&one.file, &stays)
            };
            back.results = results.into_iter().filter(is_to_be_said).collect();
            // Cut off from here on, the rest is put back by whoever comes next. Where that cannot
            // be written, this one goes on.
            let all = [stays.clone(), back.left.clone()].concat();
            let _ = self.keep(Phase::Unfinished, &all, &[]);
            (phase, count) = (Phase::Unfinished, all.len());
            self.put_all_back(stays, is_forced, &mut back);
        }
        if is_forced {
            back.left.clear();
        }
        self.settle(back, phase, count, &[])
    }

    /// The journal, taken; none where a reboot has undone it.
    fn of_this_boot(&mut self) -> Result<Option<Journal>, TuningError> {
        let Some(journal) = self.journal.take() else { return Ok(None) };
        if journal.is_of_this_boot(&self.root) {
            return Ok(Some(journal));
        }
        self.forget().map_err(|source| TuningError::NotSettled {
            path: self.folder.clone(),
            source,
            results: Vec::new(),
        })?;
        Ok(None)
    }

    /// Writes down what is left, where that is not what the journal says: its phase, and how many
    /// entries it has.
    fn settle(
        &mut self,
        back: PutBack,
        phase: Phase,
        count: usize,
        stays: &[Entry],
    ) -> Result<Vec<ChangeResult>, TuningError> {
        let next = back.phase();
        let settled = match (back.left.is_empty(), stays.is_empty()) {
            (true, true) => self.forget(),
            (true, false) => self.keep(Phase::Applied, &[], stays),
            // Nothing is known that was not: it stays as whoever had the rights wrote it.
            _ if next == phase && back.left.len() == count => {
                let namespaces = self.namespaces.clone();
                Journal::new(&self.root, next, back.left, stays.to_vec(), namespaces)
                    .map(|journal| self.journal = Some(journal))
            }
            _ => self.keep(next, &back.left, stays),
        };
        match settled {
            Ok(()) => Ok(back.results),
            Err(source) => Err(TuningError::NotSettled {
                path: self.folder.clone(),
                source,
                results: back.results,
            }),
        }
    }

    fn put_all_back(&self, entries: Vec<Entry>, is_forced: bool, back: &mut PutBack) {
        for entry in entries.into_iter().rev() {
            // What is below a value that is still there cannot be seen.
            if back.is_still_ours(&entry.file) {
                back.left.insert(0, entry);
                continue;
            }
            match self.put_back(&entry, is_forced) {
                Ok(false) => {}
                Ok(true) => back.results.push(ChangeResult::new(entry.file, None)),
                Err(obstacle) => {
                    if obstacle.is_missing_right() {
                        back.lacking_rights.push(entry.file.clone());
                    }
                    back.results.push(ChangeResult::new(entry.file.clone(), Some(obstacle)));
                    back.left.insert(0, entry);
                }
            }
        }
    }

    /// Whether there was something to put back.
    fn put_back(&self, entry: &Entry, is_forced: bool) -> Result<bool, Obstacle> {
        let Entry { file, form, from, to, comes_and_goes } = entry;
        if Namespaces::hide(self.namespaces.as_ref(), &self.root, file, *form) {
            return Err(Obstacle::Elsewhere);
        }
        let now = match setting::read(&self.root, file, *form) {
            // What it comes with is not as it was then, or is again.
            Err(error) if error.kind() == ErrorKind::NotFound && *comes_and_goes => {
                return Ok(false);
            }
            now => now?,
        };
        if form.is_back(&now, from) {
            return Ok(false);
        }
        // A file on a disk is empty where its write was interrupted.
        let is_ours = to.as_ref().is_none_or(|to| form.is_same(&now, to)) || now.is_empty();
        if !is_ours && !is_forced {
            return Err(Obstacle::ChangedByOthers(now));
        }
        self.write(file, *form, from)?;
        let now = setting::read(&self.root, file, *form)?;
        if form.is_back(&now, from) { Ok(true) } else { Err(Obstacle::MadeAnother(now)) }
    }
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
