// SPDX-License-Identifier: MIT OR Apache-2.0
//! The folder of a plan that is run: the plan as run, an index, and a recording for each run. Which
//! runs are done is decided by the recordings alone, so that nothing but they can be lost, whenever
//! the machine goes down.

use crate::boots::{Boot, PlannedBoot};
use anyhow::{Context, anyhow, bail};
use model::Thread;
use plan::{Plan, PlannedRun};
use recording::{Recording, RecordingError};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::json;
use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::files::{Durability, Lock, USUAL, replace};

/// The plan as run, with its seed.
const PLAN: &str = "plan.toml";
const INDEX: &str = "index.json";
/// Recordings of runs that did not come to their end: out of the way of the next attempt, and never
/// removed.
const INCOMPLETE: &str = "incomplete";
/// For one that was killed a moment ago to be gone, with all that it has started.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of a label in a recording's name.
const MAX_LABEL: usize = 80;

/// The folder of a plan that is run, locked by the process that runs it.
pub struct ResultsFolder {
    path: PathBuf,
    /// Held while runs are made: two at once would remove what the other measures.
    _held: Lock,
}

/// What has become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingState {
    Nothing,
    Done,
    /// A recording of a run that did not come to its end.
    Partial,
    /// A recording of one that did, and whose samples are not all there.
    Damaged,
}

impl ResultsFolder {
    /// Makes it, with plan and index.
    ///
    /// # Errors
    /// When it exists, or cannot be written.
    pub fn create(
        path: &Path,
        plan: &Plan,
        text: &str,
        labels: &[String],
        runs: &[PlannedRun],
        boot: Option<(&Boot, &[PlannedBoot])>,
    ) -> anyhow::Result<Self> {
        new_folder(path)?;
        let listed: Vec<_> = runs
            .iter()
            .enumerate()
            .map(|(place, run)| {
                json!({
                    "number": place + 1,
                    "combination": run.combination,
                    "label": labels[run.combination],
                    "repeat": run.repeat,
                    "recording": name(place, runs.len(), &labels[run.combination]),
                })
            })
            .collect();
        let mut index = json!({
            "format": "teiji-plan", "version": 1, "title": plan.title, "seed": plan.order.seed,
            "runs": listed,
        });
        if let Some((boot, planned_boots)) = boot {
            index["boot"] = json!(boot);
            index["boots"] = json!(planned_boots);
        }
        write(&path.join(INDEX), &model::document_text(&index)?)?;
        // Last: with the plan there, the folder can be resumed.
        write(&path.join(PLAN), text)?;
        ResultsFolder::open(path)
    }

    /// One that was begun before.
    ///
    /// # Errors
    /// When it is none, or another process is running its plan.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.join(PLAN).is_file() {
            bail!("{} has no {PLAN}: it is not the folder of a plan", path.display());
        }
        let locked = recording::open_file(&path.join(PLAN))?;
        let deadline = Instant::now() + LOCK_TIMEOUT;
        loop {
            match locked.try_lock() {
                Ok(()) => break,
                // A kernel without FILE_LOCKING has no locks: nobody can be told from another
                // there.
                Err(TryLockError::Error(error))
                    if Errno::from_io_error(&error) == Some(Errno::NOSYS) =>
                {
                    break;
                }
                Err(TryLockError::WouldBlock) if Instant::now() <= deadline => {
                    std::thread::sleep(Duration::from_millis(20))
                }
                Err(TryLockError::WouldBlock) => {
                    bail!("another teiji is running the plan in {}", path.display())
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error)
                        .with_context(|| format!("cannot lock {}", path.join(PLAN).display()));
                }
            }
        }
        Ok(ResultsFolder { path: path.to_owned(), _held: Lock(locked) })
    }

    /// Moves a recording that did not come to its end out of the way of the next attempt; says
    /// where to.
    pub(crate) fn set_aside(&self, recording: &Path) -> anyhow::Result<PathBuf> {
        let folder = recording::within(&self.path.join(INCOMPLETE))?;
        let stem = recording.file_stem().unwrap_or_default().to_string_lossy();
        let name = |number: u32| {
            if number == 1 { format!("{stem}.teiji") } else { format!("{stem}.{number}.teiji") }
        };
        let free = (1..)
            .map(|number| folder.join(name(number)))
            .find(|path| path.symlink_metadata().is_err());
        let kept = free.context("too many attempts")?;
        fs::create_dir_all(&folder).and_then(|()| fs::rename(recording, &kept)).with_context(
            || {
                format!(
                    "cannot move {}, which is incomplete, to {}",
                    recording.display(),
                    kept.display()
                )
            },
        )?;
        Ok(kept)
    }

    /// The recordings that are here, by the form of their names: `007-....teiji`.
    pub(crate) fn recordings(&self) -> anyhow::Result<Vec<PathBuf>> {
        let is_of_a_plan = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name = name.strip_suffix(".teiji");
            name.is_some_and(|name| {
                is_number(name.split_once('-').map_or(name, |(number, _)| number))
            })
        };
        let mut paths = entries(&self.path)?;
        paths.retain(is_of_a_plan);
        Ok(paths)
    }

    /// Keeps in the index which runs, by their places, this machine cannot measure, and why.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep_left_out(&self, runs: &[(usize, String)]) -> anyhow::Result<()> {
        let Some(mut index) = index(&self.path).filter(|_| left_out(&self.path) != runs) else {
            return Ok(());
        };
        index["left_out"] = json!(runs);
        write(&self.path.join(INDEX), &model::document_text(&index)?)
    }

    /// Has what was recorded go to the disk, before anything else is measured.
    pub(crate) fn sync(&self) -> anyhow::Result<()> {
        let path = self.path.display();
        let folder = fs::File::open(&self.path).with_context(|| format!("cannot open {path}"))?;
        rustix::fs::syncfs(&folder).with_context(|| format!("cannot write {path} to the disk"))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn plan(&self) -> PathBuf {
        plan_file(&self.path)
    }

    /// Where the recording of a run is.
    pub(crate) fn recording(&self, place: usize, runs: usize, label: &str) -> PathBuf {
        recording(&self.path, place, runs, label)
    }
}

/// Writes a file, through to the disk, and puts it in place whole.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    replace(path, &new, USUAL, Durability::OnDisk, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn exists(path: &Path) -> anyhow::Error {
    anyhow!("{} exists already: choose another name with -o, or remove it", path.display())
}

/// Refuses a folder that is there, before anything is done for it.
///
/// # Errors
/// When something of this name is there.
pub fn check_new(path: &Path) -> anyhow::Result<()> {
    path.symlink_metadata().map_or(Ok(()), |_| Err(exists(path)))
}

/// Makes a folder that was not there: of two that want the same name, one gets it.
///
/// # Errors
/// When something is there already, or it cannot be made.
pub fn new_folder(path: &Path) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot make the folder {}", parent.display()))?;
    }
    fs::create_dir(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => anyhow!(error).context(format!("cannot make the folder {}", path.display())),
    })
}

/// Where the recording of a run is, in this folder.
pub fn recording(folder: &Path, place: usize, runs: usize, label: &str) -> PathBuf {
    folder.join(name(place, runs, label))
}

/// Where the plan as run is, in this folder.
pub fn plan_file(folder: &Path) -> PathBuf {
    folder.join(PLAN)
}

/// The plan as run, of this folder. Nothing else is read: it has everything that another plan gave
/// to it.
///
/// # Errors
/// When it cannot be read, names another plan, or something is wrong with it.
pub fn read_plan(folder: &Path) -> anyhow::Result<Plan> {
    let own = plan_file(folder);
    let mut read = |path: &Path| {
        if path != own {
            return Err(io::Error::other("the plan of a folder of results includes no other file"));
        }
        recording::read_text(path).map_err(io::Error::other)
    };
    Ok(Plan::read(&own, &mut read)?)
}

/// Recordings of runs that did not come to their end, in this folder.
///
/// # Errors
/// When it cannot be read.
pub fn incomplete(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = recording::within(&folder.join(INCOMPLETE))?;
    if folder.try_exists().is_ok_and(|exists| !exists) { Ok(Vec::new()) } else { entries(&folder) }
}

/// What is in a folder, by name.
///
/// # Errors
/// When it cannot be read.
pub fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let read = || fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let paths: io::Result<Vec<PathBuf>> = read();
    let mut paths = paths.with_context(|| format!("cannot read {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The boot that a folder is of; none for any other folder.
pub fn boot(folder: &Path) -> Option<Boot> {
    Boot::deserialize(&index(folder)?["boot"]).ok()
}

/// The boots that the plan of such a folder asks for.
pub(crate) fn planned_boots(folder: &Path) -> Vec<PlannedBoot> {
    Vec::deserialize(&index(folder).unwrap_or_default()["boots"]).unwrap_or_default()
}

/// The runs, by their places, that the machine of this folder cannot measure, and why.
pub fn left_out(folder: &Path) -> Vec<(usize, String)> {
    Vec::deserialize(&index(folder).unwrap_or_default()["left_out"]).unwrap_or_default()
}

fn index(folder: &Path) -> Option<serde_json::Value> {
    serde_json::from_str(&recording::read_text(&folder.join(INDEX)).ok()?).ok()
}

/// What is where a run's recording should be.
///
/// # Errors
/// When it cannot be read, or is something else.
pub fn find_recording(recording: &Path) -> anyhow::Result<RecordingState> {
    match recording.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(RecordingState::Nothing),
        found => found.with_context(|| format!("cannot look at {}", recording.display()))?,
    };
    // A folder that somebody sent is read, and nothing that it points to.
    recording::within(recording)?;
    // After a power cut, the last document may be empty or half there.
    let text = match recording::read_text(&recording.join("run.json")) {
        Err(error @ (RecordingError::LeadsOut { .. } | RecordingError::NoFile { .. })) => {
            return Err(error.into());
        }
        text => text.unwrap_or_default(),
    };
    if recording.is_dir() && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err() {
        return Ok(RecordingState::Partial);
    }
    let opened = Recording::open(recording)
        .with_context(|| format!("{} is in the way", recording.display()))?;
    let document = opened.document();
    let has_all = |thread: &Thread| !thread.detail.is_samples() || has_its_end(recording, thread);
    Ok(match judge::came_to_its_end(document) {
        false => RecordingState::Partial,
        true if document.threads.iter().all(has_all) => RecordingState::Done,
        true => RecordingState::Damaged,
    })
}

/// What is wrong with a damaged recording: which file, and from where on.
pub fn damage(recording: &Path) -> anyhow::Error {
    match Recording::open(recording).and_then(Recording::summarise) {
        Err(error) => error.into(),
        Ok(_) => anyhow!("{} is damaged: a samples file has no end", recording.display()),
    }
}

/// Whether a file of samples has the mark that ends an Arrow stream: a power cut may keep a
/// document and lose samples.
fn has_its_end(recording: &Path, thread: &Thread) -> bool {
    const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let mut last = [0; 8];
    // It lies beside its document, whatever that says.
    let name = Path::new(&thread.samples_file).file_name().unwrap_or_default();
    let Ok(mut file) = recording::open_file(&recording.join(name)) else { return false };
    let read = file.seek(SeekFrom::End(-8)).and_then(|_| file.read_exact(&mut last));
    read.is_ok() && last == END
}

/// `007-interval=1ms_load=cpu@50%.teiji`: in order, and readable.
fn name(place: usize, runs: usize, label: &str) -> String {
    let width = runs.to_string().len().max(2);
    let plain = |c: char| if c.is_alphanumeric() || "-.+=@%".contains(c) { c } else { '_' };
    let label: String = label.chars().map(plain).collect();
    // By bytes, of which a file's name may have 255.
    let label: String = label
        .char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= MAX_LABEL)
        .map(|(_, c)| c)
        .collect();
    let label = if label.is_empty() { label } else { format!("-{label}") };
    format!("{:0width$}{label}.teiji", place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_named_in_order() {
        assert_eq!(
            name(6, 24, "kernel=debian:amd64 load=cpu@50%"),
            "07-kernel=debian_amd64_load=cpu@50%.teiji"
        );
        assert_eq!(name(6, 1_000, ""), "0007.teiji");
        assert!(name(0, 1, &"../x".repeat(100)).len() < 100);
        assert!(!name(0, 1, "a/b/../c").contains('/'));
    }
}
