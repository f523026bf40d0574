// SPDX-License-Identifier: MIT OR Apache-2.0
//! The order in which files of the boot loader are written and put back: journal, copies, files,
//! journal.

use super::error::{LoaderError, LoaderPlace};
use super::journal::{self, Entry, Journal};
use super::layout::{Layout, Source};
use super::line::Quoting;
use super::{entries, grub, line, replace};
use crate::boot::BootPlan;
use host::HostRoot;
use host::regular_file;
use plan::quoted;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file of the boot loader that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderFile {
    /// Without the slash that it begins with.
    pub file: String,
    /// Where the first text is kept.
    pub backup: String,
    pub from: String,
    pub to: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderWrite {
    /// The boot loader whose files these are. None where it is not known, and the kernel that runs
    /// was booted with all that is planned.
    pub place: Option<LoaderPlace>,
    /// Those that were changed; none where all of them were right.
    pub files: Vec<LoaderFile>,
    /// Those that have the arguments already.
    pub right: Vec<String>,
    /// What is to be run so that the boot loader takes it.
    pub run: Option<String>,
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct LoaderUndo {
    /// Files that say again what they said before.
    pub back: Vec<String>,
    /// Files that do not, with the reason. Those that were written stay in the journal, unless
    /// forced. Entries that others made of them are here too.
    pub left: Vec<(String, LoaderError)>,
    /// What is to be run so that the boot loader takes it.
    pub run: Vec<String>,
}

/// A file that is to be written.
struct Change {
    path: PathBuf,
    now: String,
    to: String,
    entry: Entry,
}

impl BootPlan {
    /// Writes the arguments of a plan to where the boot loader has them, each file read back.
    ///
    /// # Errors
    /// When the place is not known or not certain, or a file cannot be written: then all of them
    /// say what they said before.
    pub fn write(
        &self,
        root: &HostRoot,
        place: Option<LoaderPlace>,
    ) -> Result<LoaderWrite, LoaderError> {
        let place = match LoaderPlace::find(root, place) {
            Ok(LoaderPlace::UBoot) => return self.on_u_boot(root),
            Err(LoaderError::NoPlace) => {
                return self.by_hand(None, LoaderError::NoPlace.to_string(), None);
            }
            place => place?,
        };
        if place == LoaderPlace::Grub && grub::uses_entries(root) {
            return Err(LoaderError::Entries(grubby(self)));
        }
        // What is refused leaves no trace.
        place.layout(root)?;
        let mut journal = Journal::open(root)?;
        let layout = place.layout(root)?;
        let texts = texts(&layout, self);
        let right = files_that_have(&layout, &texts, self);
        let mut changes = Vec::new();
        for (source, to) in layout.files.iter().zip(texts) {
            if to != source.extended {
                changes.push(change(
                    root,
                    &journal,
                    &source.file,
                    &source.text,
                    to,
                    layout.run.clone(),
                )?);
            }
        }
        if !changes.is_empty() {
            journal.write(&changes)?;
        }
        let mut files = Vec::new();
        for Change { path, now, to, entry } in changes {
            let backup = backup_name(root, &path, &entry.file);
            files.push(LoaderFile { file: entry.file, backup, from: now, to });
        }
        let place = Some(place);
        Ok(LoaderWrite { place, files, right, run: layout.run, notes: layout.notes })
    }

    /// What U-Boot's file lacks, or the one that it is made of, which are not written.
    fn on_u_boot(&self, root: &HostRoot) -> Result<LoaderWrite, LoaderError> {
        let place = LoaderPlace::UBoot;
        let what = "teiji does not write where this machine's boot loader has the kernel's \
                    arguments"
            .to_owned();
        let written_in = place.written_in(root);
        let Ok(layout) = place.layout(root) else {
            return self.by_hand(Some(place), what, written_in);
        };
        let (source, piece) = (&layout.files[0], &layout.lines[0].pieces[0]);
        let texts = texts(&layout, self);
        let is_right = |number: usize| texts[number] == layout.files[number].extended;
        let made = layout.files.get(1).map(|made| (made.file.clone(), is_right(1)));
        if is_right(0) {
            let mut right = vec![source.file.clone()];
            let (mut run, mut notes) = (layout.run, layout.notes);
            match made {
                Some((file, true)) => {
                    right.push(file);
                    run = None;
                }
                Some((file, false)) => notes.push(format!("/{file} does not have them yet")),
                None => {}
            }
            return Ok(LoaderWrite { place: Some(place), files: Vec::new(), right, run, notes });
        }
        let what = match made {
            Some((file, true)) => format!(
                "/{file} has these arguments, and loses them as soon as u-boot-update makes it \
                 anew"
            ),
            _ => what,
        };
        let to = &texts[0];
        // Nothing else in the file is changed.
        let Range { start, end } = piece.range;
        let behind = source.extended.len() - end;
        let (now, to) = (&source.extended[start..end], &to[start..to.len() - behind]);
        // A word without quotes gets them with the second argument.
        let to = if piece.quoting == Quoting::Bare { to.trim_matches('"') } else { to };
        let (added, removed) = (line::added(now, to), line::added(to, now));
        Err(todo(what, &added, &removed, written_in))
    }

    /// What is to be done where no file that can be read has the arguments: against those that the
    /// kernel was booted with, which are all there is to go by.
    fn by_hand(
        &self,
        place: Option<LoaderPlace>,
        what: String,
        written_in: Option<String>,
    ) -> Result<LoaderWrite, LoaderError> {
        if self.changes.is_empty() {
            let (files, right, notes) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(LoaderWrite { place, files, right, run: None, notes });
        }
        let added: Vec<&str> = self.changes.iter().map(|change| change.to.as_str()).collect();
        let removed: Vec<&str> =
            self.changes.iter().filter_map(|change| change.from.as_deref()).collect();
        Err(todo(what, &added, &removed, written_in))
    }

    /// Files of the boot loader that have the arguments of a plan already, all of them: they count
    /// from the next boot. Reads only. None where it is not certain which files these are.
    pub fn files_with(&self, root: &HostRoot) -> Vec<String> {
        let layout = LoaderPlace::find(root, None).and_then(|place| place.layout(root));
        let Ok(layout) = layout else { return Vec::new() };
        let texts = texts(&layout, self);
        let is_right = layout.files.iter().zip(&texts).all(|(source, to)| source.text == *to);
        if is_right { files_that_have(&layout, &texts, self) } else { Vec::new() }
    }
}

/// Where the first text of a file is kept: beside the file that a link leads to.
fn backup_name(root: &HostRoot, path: &Path, file: &str) -> String {
    let backup = replace::backup_of(path).ok().zip(root.path("").canonicalize().ok());
    let below_root = backup
        .and_then(|(backup, root)| Some(backup.strip_prefix(root).ok()?.display().to_string()));
    below_root.unwrap_or_else(|| format!("{file}{}", replace::BACKUP))
}

/// What is done with one file. What a reader made of it in between is looked at again when it
/// is written.
fn change(
    root: &HostRoot,
    journal: &Journal,
    file: &str,
    now: &str,
    to: String,
    run: Option<String>,
) -> Result<Change, LoaderError> {
    let failed = LoaderError::file("write", file);
    let path = replace::only_path(root, file)?;
    let mut entry = match journal.entry(file) {
        Some(entry) if now != entry.from && !entry.wrote.iter().any(|wrote| wrote == now) => {
            return Err(LoaderError::ChangedByOthers {
                file: file.to_owned(),
                journal: journal.path(),
            });
        }
        Some(entry) => entry.clone(),
        None => Entry { file: file.to_owned(), from: now.to_owned(), wrote: Vec::new(), run },
    };
    // Cut off, the file has one of these.
    entry.wrote.retain(|wrote| wrote == now);
    entry.wrote.push(to.clone());
    let backup = replace::backup_of(&path).map_err(&failed)?;
    match regular_file::read(&backup) {
        Ok(text) if text != entry.from.as_bytes() => {
            return Err(LoaderError::BackupInTheWay(format!("{file}{}", replace::BACKUP)));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    Ok(Change { path, now: now.to_owned(), to, entry })
}

impl LoaderUndo {
    /// Puts the files back that were written, byte for byte. One that somebody else has changed is
    /// left alone, unless forced; forced, one that cannot be put back is forgotten.
    ///
    /// # Errors
    /// When the journal cannot be read or written.
    pub fn undo(root: &HostRoot, is_forced: bool) -> Result<LoaderUndo, LoaderError> {
        let mut undo = LoaderUndo { back: Vec::new(), left: Vec::new(), run: Vec::new() };
        if !journal::is_there(root) {
            return Ok(undo);
        }
        let mut journal = Journal::open(root)?;
        let (written, mut left) = (journal.files.clone(), Vec::new());
        for entry in journal.files.clone().into_iter().rev() {
            match put_back(root, &journal, &entry, is_forced) {
                Ok(false) => {}
                Ok(true) => {
                    undo.run.extend(entry.run.filter(|run| !undo.run.contains(run)));
                    undo.back.push(entry.file);
                }
                Err(error) => {
                    undo.left.push((entry.file.clone(), error));
                    left.push(entry);
                }
            }
        }
        left.reverse();
        journal.keep(if is_forced { Vec::new() } else { left })?;
        undo.left.extend(made_of(root, &written));
        Ok(undo)
    }
}

/// Entries that have what was written, and were not written.
fn made_of(root: &HostRoot, written: &[Entry]) -> Vec<(String, LoaderError)> {
    let of_entries = written.iter().filter(|entry| entries::is_source_of_entries(&entry.file));
    let arguments: Vec<&str> = of_entries
        .flat_map(|entry| entry.wrote.iter().flat_map(|wrote| line::added(&entry.from, wrote)))
        .collect();
    let files: Vec<&str> = written.iter().map(|entry| entry.file.as_str()).collect();
    let others = if arguments.is_empty() {
        Ok(Vec::new())
    } else {
        entries::others_with(root, &files, &arguments)
    };
    let named = |error: LoaderError| match &error {
        LoaderError::InAnotherEntry { file, .. } | LoaderError::File { file, .. } => {
            (file.clone(), error)
        }
        _ => (entries::CMDLINE.to_owned(), error),
    };
    others.unwrap_or_else(|error| vec![error]).into_iter().map(named).collect()
}

/// Whether there was something to put back.
fn put_back(
    root: &HostRoot,
    journal: &Journal,
    entry: &Entry,
    is_forced: bool,
) -> Result<bool, LoaderError> {
    let Entry { file, from, wrote, .. } = entry;
    let failed = |action| LoaderError::file(action, file);
    let path = replace::real_path(root, file)?;
    let now = regular_file::read(&path).map_err(failed("read"))?;
    let is_changed = now != from.as_bytes();
    if is_changed {
        let is_ours = wrote.iter().any(|wrote| wrote.as_bytes() == now);
        if !is_ours && !is_forced {
            return Err(LoaderError::ChangedByOthers {
                file: file.clone(),
                journal: journal.path(),
            });
        }
        put(&path, from).map_err(failed("write"))?;
    }
    replace::tidy(&path, from).map_err(failed("tidy up beside"))?;
    Ok(is_changed)
}

/// The files' texts with all that is planned.
fn texts(layout: &Layout, plan: &BootPlan) -> Vec<String> {
    let is_right = |argument: &_, text: &str| plan.is_right(argument, text);
    let extended = layout.files.iter().map(|source| source.extended.clone()).collect();
    layout.lines.iter().fold(extended, |texts: Vec<String>, one| {
        line::edited(&texts, &one.pieces, &plan.arguments, &is_right, one.new_in)
    })
}

/// Files that stay as they are and have arguments of a plan. GRUB reads others too.
fn files_that_have(layout: &Layout, texts: &[String], plan: &BootPlan) -> Vec<String> {
    let pieces = || layout.lines.iter().flat_map(|one| &one.pieces);
    let has = |(number, source): &(usize, &Source)| {
        texts[*number] == source.extended
            && pieces()
                .any(|piece| piece.file == *number && line::has_any(texts, piece, &plan.arguments))
    };
    layout.files.iter().enumerate().filter(has).map(|(_, source)| source.file.clone()).collect()
}

/// What does it where GRUB has entries.
fn grubby(plan: &BootPlan) -> String {
    let removed: Vec<&str> =
        plan.changes.iter().filter_map(|change| change.from.as_deref()).collect();
    let removed = if removed.is_empty() {
        String::new()
    } else {
        format!(" --remove-args={}", quoted(&removed.join(" ")))
    };
    let added: Vec<&str> = plan.arguments.iter().map(|argument| argument.text.as_str()).collect();
    format!("sudo grubby --update-kernel=ALL{removed} --args={}", quoted(&added.join(" ")))
}

/// What is to be done by hand, and where.
fn todo(what: String, added: &[&str], removed: &[&str], place: Option<String>) -> LoaderError {
    let (added, removed) = (added.join(" "), removed.join(" "));
    let mut todo = match (added.as_str(), removed.as_str()) {
        ("", removed) => format!("remove {removed}"),
        (added, "") => format!("add {added}"),
        (added, removed) => format!("add {added} in place of {removed}"),
    };
    if let Some(place) = place {
        todo += &format!(". Where: {place}");
    }
    LoaderError::ByHand { what, todo }
}

/// Writes a file, and reads it back.
fn put(path: &Path, text: &str) -> io::Result<()> {
    replace::replace(path, text, path)?;
    if regular_file::read(path)? == text.as_bytes() {
        Ok(())
    } else {
        Err(io::Error::other("it says something else than what was written"))
    }
}

impl Journal {
    fn write(&mut self, changes: &[Change]) -> Result<(), LoaderError> {
        let before = self.files.clone();
        let others = before
            .iter()
            .filter(|entry| !changes.iter().any(|change| change.entry.file == entry.file));
        let planned: Vec<Entry> =
            others.cloned().chain(changes.iter().map(|change| change.entry.clone())).collect();
        self.keep(planned.clone())?;
        if let Err(error) = write_all(changes) {
            // What cannot be put back now stays in the journal, which knows both texts.
            let failed =
                changes.iter().rev().filter(|change| change.take_back(&before).is_err()).count();
            if failed == 0 {
                self.keep(before)?;
            }
            return Err(error);
        }
        let mut settled = planned;
        for entry in settled
            .iter_mut()
            .filter(|entry| changes.iter().any(|change| change.entry.file == entry.file))
        {
            entry.wrote.drain(..entry.wrote.len() - 1);
        }
        // The journal that is there knows one text more, which does no harm.
        let _ = self.keep(settled);
        Ok(())
    }
}

fn write_all(changes: &[Change]) -> Result<(), LoaderError> {
    let failed = |file: &str, error| LoaderError::file("write", file)(error);
    for Change { path, entry, .. } in changes {
        let copied = replace::backup_of(path).and_then(|backup| {
            if backup.exists() { Ok(()) } else { replace::replace(&backup, &entry.from, path) }
        });
        copied.map_err(|error| failed(&format!("{}{}", entry.file, replace::BACKUP), error))?;
    }
    for Change { path, now, to, entry } in changes {
        let is_as_read = regular_file::read(path).is_ok_and(|text| text == now.as_bytes());
        if !is_as_read {
            return Err(failed(&entry.file, io::Error::other("it was changed meanwhile")));
        }
        put(path, to).map_err(|error| failed(&entry.file, error))?;
    }
    Ok(())
}

impl Change {
    /// Leaves the file and what is beside it as they were.
    fn take_back(&self, before: &[Entry]) -> io::Result<()> {
        if regular_file::read(&self.path)? == self.to.as_bytes() {
            put(&self.path, &self.now)?;
        }
        if !before.iter().any(|entry| entry.file == self.entry.file) {
            // A copy that stays says what the file says.
            let _ = replace::tidy(&self.path, &self.entry.from);
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
