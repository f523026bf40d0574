// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording being written.

use crate::contents::write_file;
use crate::run_json::{DOCUMENT, parse};
use crate::{Recording, RecordingError, SampleWriter};
use model::samples_file;
use model::{Document, HostFacts, ProbeStatement, Recorded, Thread};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use system::files::Lock;

/// The document before it has its name.
const STAGED: &str = "run.json.new";
/// Space reserved for the final document, so that a full disk cannot leave a recording without one.
const RESERVE: &str = ".reserve";
/// More than the final document and the facts after need beyond what the first one took.
const RESERVE_BYTES: usize = 192 * 1024;

/// The folder of a recording that is being made. Dropped before [`Folder::begin`], it takes
/// everything with it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    begun: bool,
    /// Held until it has its name: nobody removes it.
    unnamed: Option<Lock>,
    /// Files that have been forced to the disk and have not changed since.
    synced: Vec<OsString>,
}

impl Folder {
    /// Makes the folder, which must not exist, with what is known already; what cannot be written
    /// is found out now and not after ten hours. It appears under its name in one step: there
    /// is never a folder of that name without a document.
    ///
    /// # Errors
    /// When it exists, cannot be made, or the disk is full.
    pub fn create(path: &Path, document: &Document) -> Result<Self, RecordingError> {
        let mut folder = Folder::part(path)?;
        folder.write("host-before.json", &document.host.before)?;
        // Not forced to the disk, which may take long: what begins the run is.
        folder.write(STAGED, document)?;
        folder.put_in_place()?;
        folder.rename(path)?;
        Ok(folder)
    }

    /// A folder that has not its name yet; it goes again unless it is given one. What calls of the
    /// same name that were killed have left is removed.
    ///
    /// # Errors
    /// When there is something of that name, or it cannot be made.
    pub fn part(path: &Path) -> Result<Self, RecordingError> {
        if path.symlink_metadata().is_ok() {
            return Err(RecordingError::Exists(path.to_owned()));
        }
        remove_left_over(path);
        let part = part_of(path, &std::process::id().to_string());
        fs::create_dir(&part).map_err(RecordingError::io("make the folder", path))?;
        // Where there are no locks, nothing is ever taken for left over.
        let unnamed = File::open(&part).ok().filter(|folder| folder.try_lock().is_ok()).map(Lock);
        Ok(Folder { path: part, begun: false, unnamed, synced: Vec::new() })
    }

    /// Writes the document of a run that has ended and both snapshots of the machine, and takes its
    /// name.
    ///
    /// # Errors
    /// When they cannot be written, or there is something of that name.
    pub fn put_down(self, document: &Document, path: &Path) -> Result<(), RecordingError> {
        self.write("host-before.json", &document.host.before)?;
        if let Some(after) = &document.host.after {
            self.write("host-after.json", after)?;
        }
        self.replace(document)?;
        self.take_name(path)
    }

    fn rename(&mut self, path: &Path) -> Result<(), RecordingError> {
        match fs::rename(&self.path, path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                Err(RecordingError::Exists(path.to_owned()))
            }
            Err(error) => Err(RecordingError::io("make the folder", path)(error)),
            Ok(()) => {
                path.clone_into(&mut self.path);
                self.unnamed = None;
                Ok(())
            }
        }
    }

    /// Takes its name for good.
    fn take_name(mut self, path: &Path) -> Result<(), RecordingError> {
        self.rename(path)?;
        self.begun = true;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what else is known before the first activation, and reserves space for the end. From
    /// here on the folder stays, whatever happens.
    ///
    /// # Errors
    /// When it cannot be written; the folder is then removed again.
    pub fn begin(&mut self, document: &Document) -> Result<(), RecordingError> {
        // The snapshot of a run under loads is taken again once they have settled.
        self.write("host-before.json", &document.host.before)?;
        self.replace(document)?;
        let known = fs::metadata(self.path.join(DOCUMENT)).map_or(0, |file| file.len());
        let path = self.path.join(RESERVE);
        let reserve = vec![0_u8; RESERVE_BYTES + usize::try_from(known).unwrap_or(0) * 3];
        write_file(&path, &reserve).map_err(RecordingError::io("reserve room in", &path))?;
        self.begun = true;
        Ok(())
    }

    /// Forces what the folder holds to the disk, and the folder itself into the one it lies in:
    /// after a power cut there is a recording of that name. What is there already is left
    /// alone: the document, which was forced there as it was staged, and what an earlier call
    /// has seen to. Ends early where it is cancelled, which is asked before each file: a slow disk
    /// takes seconds for each.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn sync(&mut self, cancelled: &dyn Fn() -> bool) -> Result<(), RecordingError> {
        let sync = |path: &Path| {
            File::open(path)
                .and_then(|file| file.sync_all())
                .map_err(RecordingError::io("write", path))
        };
        let is_first = self.synced.is_empty();
        for entry in fs::read_dir(&self.path).map_err(RecordingError::io("read", &self.path))? {
            let name = entry.map_err(RecordingError::io("read", &self.path))?.file_name();
            if name == DOCUMENT || self.synced.contains(&name) {
                continue;
            }
            if cancelled() {
                return Ok(());
            }
            sync(&self.path.join(&name))?;
            self.synced.push(name);
        }
        sync(&self.path)?;
        if is_first && !cancelled() {
            sync(above(&self.path))?;
        }
        Ok(())
    }

    /// Removes all of it: the run that was begun never was.
    pub fn discard(mut self) {
        self.begun = false;
    }

    /// The file for one thread's samples, in the place of one that was begun before.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn samples(
        &self,
        thread: &Thread,
        probe: &ProbeStatement,
    ) -> Result<SampleWriter, RecordingError> {
        let path = self.path.join(samples_file(thread.index));
        let _ = fs::remove_file(&path);
        SampleWriter::create(&path, thread, probe)
    }

    /// Writes the facts after the run and the final document.
    ///
    /// # Errors
    /// When they cannot be written; the document of the beginning is then still there.
    pub fn finish(mut self, document: &Document) -> Result<(), RecordingError> {
        let reserve = self.path.join(RESERVE);
        fs::remove_file(&reserve).map_err(RecordingError::io("remove", &reserve))?;
        if let Some(after) = &document.host.after {
            self.write::<HostFacts>("host-after.json", after)?;
        }
        self.replace(document)?;
        if document.run.sync { self.sync(&|| false) } else { Ok(()) }
    }

    /// Puts the document in place in one step: a reader sees the old one or the new one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn replace(&self, document: &Document) -> Result<(), RecordingError> {
        self.stage(document)?;
        self.put_in_place()
    }

    /// Writes the document, all but its name: [`Folder::put_in_place`] then takes next to no time.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn stage(&self, document: &Document) -> Result<(), RecordingError> {
        self.write(STAGED, document)?;
        if document.run.sync {
            // Or the new name may reach the disk before what it names.
            let staged = self.path.join(STAGED);
            File::open(&staged)
                .and_then(|file| file.sync_all())
                .map_err(RecordingError::io("write", &staged))?;
        }
        Ok(())
    }

    /// Gives the document that was staged its name.
    ///
    /// # Errors
    /// When there is none, or the disk does not take it.
    pub fn put_in_place(&self) -> Result<(), RecordingError> {
        let path = self.path.join(DOCUMENT);
        fs::rename(self.path.join(STAGED), &path).map_err(RecordingError::io("put in place", &path))
    }

    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), RecordingError> {
        let path = self.path.join(name);
        let text = model::document_text(value).map_err(|error| RecordingError::Document {
            path: path.clone(),
            why: error.to_string(),
        })?;
        write_file(&path, text.as_bytes()).map_err(|source| {
            let _ = fs::remove_file(&path);
            RecordingError::Io { doing: "write", path, source }
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.begun {
            // Made by us a moment ago, and nothing in it but ours.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Makes a recording of files that were recorded elsewhere, `run.json` among them, once `complete`
/// has added to its document what is known only here. It appears under its name in one step, whole.
///
/// # Errors
/// When the folder exists or cannot be made, or the files are no recording. Then nothing is left
/// behind.
pub fn adopt(
    path: &Path,
    files: &[(&str, &[u8])],
    complete: impl FnOnce(&mut Document),
) -> Result<Recorded, RecordingError> {
    let part = Folder::part(path)?;
    let (document, others): (Vec<_>, Vec<_>) =
        files.iter().partition(|(name, _)| *name == DOCUMENT);
    let [(_, document)] = document.as_slice() else {
        return Err(RecordingError::not_a_recording(path));
    };
    let document = std::str::from_utf8(document).map_err(|error| error.to_string()).and_then(parse);
    let mut document =
        document.map_err(|why| RecordingError::Document { path: path.join(DOCUMENT), why })?;
    complete(&mut document);
    for (name, content) in others {
        let file = part.path.join(name);
        write_file(&file, content).map_err(RecordingError::io("write", &file))?;
    }
    // Last: a folder with a document is never without what only the host knew.
    part.replace(&document)?;
    let recorded = Recording::from_document(&part.path, document).summarise()?;
    part.take_name(path)?;
    Ok(Recorded { path: path.to_owned(), ..recorded })
}

/// Bytes of a file's name.
const MAX_NAME: usize = 255;

/// Where a recording lies before it has its name. Of a name to which nothing can be added the
/// middle is left out: names of one folder differ at their ends.
fn part_of(path: &Path, process: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().as_bytes();
    let ending = format!(".part-{process}");
    let left_out = (name.len() + ending.len()).saturating_sub(MAX_NAME);
    let kept = name.len().saturating_sub(left_out) / 2;
    let name =
        [&name[..kept], &name[(kept + left_out).min(name.len())..], ending.as_bytes()].concat();
    path.with_file_name(OsStr::from_bytes(&name))
}

/// The folder that it lies in.
fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what calls that were killed before this recording had its name have left: no run had
/// begun, or its samples are still where they were read. What is locked is being made, and what has
/// samples and a document is whole: it stays.
fn remove_left_over(path: &Path) {
    for entry in fs::read_dir(above(path)).into_iter().flatten().flatten() {
        let (name, left) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let is_of_this = name.rsplit_once(".part-").is_some_and(|(_, process)| {
            process.bytes().all(|byte| byte.is_ascii_digit())
                && part_of(path, process).file_name() == left.file_name()
        });
        let is_free = || File::open(&left).is_ok_and(|folder| folder.try_lock().is_ok());
        let is_whole = || {
            let has_samples = |file: io::Result<fs::DirEntry>| {
                file.is_ok_and(|file| file.file_name().as_bytes().ends_with(b".arrows"))
            };
            let mut files = fs::read_dir(&left).into_iter().flatten();
            left.join(DOCUMENT).exists() && files.any(has_samples)
        };
        if is_of_this
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && is_free()
            && !is_whole()
        {
            let _ = fs::remove_dir_all(&left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_call_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.teiji");
        let left = |name: &str, files: &[&str]| {
            let folder = place.path().join(name);
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|file| fs::write(folder.join(file), "").unwrap());
        };
        left("x.teiji.part-1", &["host-before.json", DOCUMENT]);
        left(&format!("x.teiji.part-{}", std::process::id()), &["samples-0.arrows"]);
        left("x.teiji.part-3", &["samples-0.arrows", DOCUMENT]);
        left("x.teiji.part-mine", &[]);
        left("y.teiji.part-4", &[]);
        left("x.teiji.part-5", &[]);
        let held = File::open(place.path().join("x.teiji.part-5")).unwrap();
        held.try_lock().unwrap();
        let folder = Folder::part(&path).unwrap();
        remove_left_over(&path);
        let names = |of: &Path| {
            let names = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        let stay = ["x.teiji.part-3", "x.teiji.part-5", "x.teiji.part-mine", "y.teiji.part-4"];
        let own = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut with_own = [&stay.map(str::to_owned)[..], &[own]].concat();
        with_own.sort();
        assert_eq!(names(place.path()), with_own);
        assert!(names(folder.path()).is_empty());
        drop(folder);
        assert_eq!(names(place.path()), stay);
    }

    #[test]
    fn names_that_are_as_long_as_names_can_be() {
        let place = tempfile::tempdir().unwrap();
        for length in [9, 241, 242, 245, 250, 255] {
            let name = format!("{}.teiji", "n".repeat(length - 6));
            let part = part_of(&place.path().join(&name), &std::process::id().to_string());
            fs::create_dir(&part).unwrap();
            assert!(
                part.display()
                    .to_string()
                    .ends_with(&format!(".teiji.part-{}", std::process::id()))
            );
            fs::rename(&part, place.path().join(&name)).unwrap();
        }
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 6);
    }
}
