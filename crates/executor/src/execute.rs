// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs of a plan, one after the other on this machine, several guests at once in the lab. A
//! run that fails is tried once more when the others are done, and the others continue, unless the
//! disk is full.
//!
//! A run that ends early is evidence: of a machine that starves or a disk that fails. What it
//! recorded is set aside before the next attempt, and never removed. Only what the user stops by a
//! signal is not kept.

use crate::folder::{RecordingState, ResultsFolder, damage, find_recording};
use crate::resumed::Difference;
use anyhow::{Context, bail};
use model::{Document, End, Recorded};
use plan::PlannedRun;
use recording::{Recording, RecordingError};
use rustix::io::Errno;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A combination, as far as the order of its runs depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CombinationEntry {
    /// Its label in the plan.
    pub label: String,
    /// Whether its runs are for guests of the lab.
    pub is_in_lab: bool,
}

/// What to run, and where its recordings are. A run's number counts from 0, in the order of `runs`.
pub struct Execution<'a> {
    /// Holds recordings of runs that are done.
    pub folder: &'a ResultsFolder,
    pub combinations: &'a [CombinationEntry],
    /// All runs of the plan, in order.
    pub runs: &'a [PlannedRun],
}

/// The result of an execution.
#[derive(Debug, PartialEq, Eq)]
pub struct PlanResult {
    /// Runs that failed, twice unless a signal came.
    pub failed: usize,
    pub signal: Option<&'static str>,
    /// It ended early because nothing more can be written.
    pub disk_failed: bool,
}

/// What happens to the runs of a plan, as it happens.
pub enum Event<'e> {
    /// A run has a recording from before.
    WasDone(&'e Document),
    /// An earlier attempt was cut short, and is kept here.
    WasCutShort(&'e Path),
    /// The recording of a run is damaged in this way, and is kept here.
    WasDamaged(&'e anyhow::Error, &'e Path),
    /// A run has no recording yet.
    Missing,
    Recorded(&'e Recorded),
    Failed(&'e anyhow::Error),
    /// What a failed run recorded is kept here.
    SetAside(&'e Path),
    /// A run is recorded, but perhaps not on the disk.
    NotSynced(&'e anyhow::Error),
}

/// Sees what happens to each run.
pub trait PlanObserver {
    /// This happened to the run of that number.
    fn observe(&mut self, run: usize, event: &Event<'_>);
}

/// What a run in the lab came to: its number, its result, and who is to see it.
pub type GuestEnded<'a> = dyn FnMut(usize, anyhow::Result<Recorded>, &mut dyn PlanObserver) + 'a;

pub trait RunMaker: PlanObserver {
    /// Makes a run on this machine, into this recording; none: a signal ended it.
    ///
    /// # Errors
    /// When it fails, which ends no other run.
    fn run_locally(&mut self, run: usize, recording: &Path) -> anyhow::Result<Option<Recorded>>;

    /// Makes runs in guests, several at once, each into its recording, and hands over what came of
    /// each. Of those that a signal stops or keeps from starting, nothing comes.
    fn in_lab(&mut self, runs: &[(usize, PathBuf)], ended: &mut GuestEnded<'_>);

    /// These runs failed, and are tried again.
    fn retry(&mut self, runs: usize);

    /// The signal that asked for the end.
    fn signal(&self) -> Option<&'static str>;
}

/// A run that ended early.
#[derive(Debug, thiserror::Error)]
#[error("it ended early. Its recording is in {}", .kept.display())]
pub struct EndedEarly {
    /// Its `run.json`, which says why.
    pub document: Box<Document>,
    /// Where its recording lies now.
    pub kept: PathBuf,
}

impl EndedEarly {
    /// The recording could not be written.
    fn disk_failed(&self) -> bool {
        matches!(self.document.end, Some(End::RecordingFailed { .. }))
    }
}

impl Execution<'_> {
    /// Numbers of the runs that have no whole recording; what there is of those that were cut off
    /// is set aside. `differences` says in what a recording differs from what its run asks for
    /// now.
    ///
    /// # Errors
    /// When the folder cannot be read or written, something else has a recording's name, or the
    /// plan was changed since.
    pub fn missing(
        &self,
        observer: &mut dyn PlanObserver,
        differences: &dyn Fn(usize, &Document) -> anyhow::Result<Vec<Difference>>,
    ) -> anyhow::Result<Vec<usize>> {
        self.refuse_another_plan(differences)?;
        let mut missing = Vec::new();
        for run in 0..self.runs.len() {
            let path = self.path(run);
            match find_recording(&path)? {
                RecordingState::Done => match Recording::open(&path)?.summarise() {
                    Ok(recorded) => {
                        observer.observe(run, &Event::WasDone(&recorded.document));
                        continue;
                    }
                    Err(error @ RecordingError::Samples { .. }) => {
                        let kept = self.folder.set_aside(&path)?;
                        observer.observe(run, &Event::WasDamaged(&error.into(), &kept));
                    }
                    Err(error) => return Err(error.into()),
                },
                RecordingState::Nothing => {}
                RecordingState::Partial => {
                    observer.observe(run, &Event::WasCutShort(&self.folder.set_aside(&path)?))
                }
                RecordingState::Damaged => {
                    let damage = damage(&path);
                    let kept = self.folder.set_aside(&path)?;
                    observer.observe(run, &Event::WasDamaged(&damage, &kept));
                }
            }
            missing.push(run);
        }
        Ok(missing)
    }

    /// Refuses a folder with recordings that its plan does not ask for as they are: the rest would
    /// be of another plan. Nothing is moved or measured before.
    fn refuse_another_plan(
        &self,
        differences: &dyn Fn(usize, &Document) -> anyhow::Result<Vec<Difference>>,
    ) -> anyhow::Result<()> {
        let mut found = Vec::new();
        let mut known = Vec::with_capacity(self.runs.len());
        for run in 0..self.runs.len() {
            let path = self.path(run);
            if find_recording(&path)? == RecordingState::Done {
                let differ = differences(run, Recording::open(&path)?.document())?;
                found.extend(differ.iter().map(|one| format!("{}: {one}", path.display())));
            }
            known.push(path);
        }
        let others = self.folder.recordings()?.into_iter().filter(|path| !known.contains(path));
        found.extend(
            others.map(|path| format!("{}: no run of the plan has this name", path.display())),
        );
        let Some(more) = found.len().checked_sub(1) else { return Ok(()) };
        let more = if more > 0 { format!(" ({more} more like this)") } else { String::new() };
        bail!(
            "{}{more}. The plan was changed after this was recorded. Run the changed plan in a \
             new folder: teiji run {} -o NEW. Or move the recording out of the folder to measure \
             that run again",
            found[0],
            plan::quoted(&self.folder.plan().display().to_string())
        )
    }

    /// Makes these runs, and those of them that fail once more.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn execute(
        &self,
        mut missing: Vec<usize>,
        maker: &mut dyn RunMaker,
    ) -> anyhow::Result<PlanResult> {
        let mut is_retry = false;
        loop {
            missing.iter().for_each(|run| maker.observe(*run, &Event::Missing));
            let Failed { runs, disk_failed } = self.all(&missing, maker)?;
            let signal = maker.signal();
            if signal.is_some() || disk_failed || runs.is_empty() || is_retry {
                return Ok(PlanResult { failed: runs.len(), signal, disk_failed });
            }
            maker.retry(runs.len());
            missing = runs;
            is_retry = true;
        }
    }

    fn path(&self, run: usize) -> PathBuf {
        self.folder.recording(run, self.runs.len(), &self.combination(run).label)
    }

    fn combination(&self, run: usize) -> &CombinationEntry {
        &self.combinations[self.runs[run].combination]
    }

    /// Makes these runs; returns those that failed.
    fn all(&self, runs: &[usize], maker: &mut dyn RunMaker) -> anyhow::Result<Failed> {
        let mut failed = Failed::default();
        for group in
            runs.chunk_by(|a, b| self.combination(*a).is_in_lab == self.combination(*b).is_in_lab)
        {
            if self.combination(group[0]).is_in_lab {
                self.in_lab(group, maker, &mut failed)?;
            } else {
                self.one_by_one(group, maker, &mut failed)?;
            }
            if maker.signal().is_some() || failed.disk_failed {
                break;
            }
        }
        Ok(failed)
    }

    fn one_by_one(
        &self,
        runs: &[usize],
        maker: &mut dyn RunMaker,
        failed: &mut Failed,
    ) -> anyhow::Result<()> {
        for run in runs {
            if maker.signal().is_some() {
                return Ok(());
            }
            let path = self.path(*run);
            match self.run_locally(*run, &path, maker) {
                Ok(Some(recorded)) => maker.observe(*run, &Event::Recorded(&recorded)),
                Ok(None) => return Ok(()),
                Err(error) => {
                    let disk_failed = failed.add(*run, &error);
                    maker.observe(*run, &Event::Failed(&error));
                    // It began, and an error came before it knew its end.
                    if [RecordingState::Partial, RecordingState::Damaged]
                        .contains(&find_recording(&path)?)
                    {
                        maker.observe(*run, &Event::SetAside(&self.folder.set_aside(&path)?));
                    }
                    if disk_failed {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// A run on this machine; none: a signal ended it.
    fn run_locally(
        &self,
        run: usize,
        path: &Path,
        maker: &mut dyn RunMaker,
    ) -> anyhow::Result<Option<Recorded>> {
        let Some(recorded) = maker.run_locally(run, path)? else { return Ok(None) };
        if let Some(End::Signal { .. }) = &recorded.document.end {
            remove_interrupted(&recorded.path)?;
            return Ok(None);
        }
        let recorded = self.require_complete(recorded)?;
        self.folder.sync()?;
        Ok(Some(recorded))
    }

    /// Runs in the lab.
    fn in_lab(
        &self,
        runs: &[usize],
        maker: &mut dyn RunMaker,
        failed: &mut Failed,
    ) -> anyhow::Result<()> {
        let runs: Vec<(usize, PathBuf)> = runs.iter().map(|run| (*run, self.path(*run))).collect();
        maker.in_lab(&runs, &mut |run, result, observer| match result
            .and_then(|recorded| self.require_complete(recorded))
        {
            Ok(recorded) => {
                observer.observe(run, &Event::Recorded(&recorded));
                if let Err(error) = self.folder.sync() {
                    observer.observe(run, &Event::NotSynced(&error));
                }
            }
            Err(error) => {
                failed.add(run, &error);
                observer.observe(run, &Event::Failed(&error));
            }
        });
        self.folder.sync()
    }

    /// Returns a complete recording. An incomplete one is set aside, out of the next attempt's way.
    fn require_complete(&self, recorded: Recorded) -> anyhow::Result<Recorded> {
        if judge::came_to_its_end(&recorded.document) {
            return Ok(recorded);
        }
        let kept = self.folder.set_aside(&recorded.path).context("it ended early")?;
        Err(EndedEarly { document: Box::new(recorded.document), kept }.into())
    }
}

#[derive(Default)]
struct Failed {
    runs: Vec<usize>,
    /// One of them because nothing more can be written: no other run is worth an attempt.
    disk_failed: bool,
}

impl Failed {
    /// Whether it is because nothing more can be written.
    fn add(&mut self, run: usize, error: &anyhow::Error) -> bool {
        self.runs.push(run);
        let ended = error.downcast_ref::<EndedEarly>().is_some_and(EndedEarly::disk_failed);
        self.disk_failed |= ended || is_disk_failure(error);
        self.disk_failed
    }
}

/// Removes the recording of a run that the user stopped, so that a resumed plan measures it again.
fn remove_interrupted(path: &Path) -> anyhow::Result<()> {
    std::fs::remove_dir_all(path)
        .with_context(|| format!("cannot remove {}, which was interrupted", path.display()))
}

/// Whether a disk that is full or broken is the cause: then nothing is wrong with what was asked
/// for.
pub fn is_disk_failure(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|cause| {
        let is_full = matches!(cause.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        is_full || cause.raw_os_error() == Some(Errno::IO.raw_os_error())
    })
}

#[cfg(test)]
#[path = "execute_tests.rs"]
mod tests;
