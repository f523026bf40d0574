// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs of a plan, one after the other on this machine, several guests at once in the lab. A run that fails is tried once
//! more when the others are done, and the rest goes on, unless there is no room for it on the disk.
//!
//! A run that ends early is evidence: of a machine that starves or a disk that fails. What it recorded is set aside
//! before the next attempt, and never removed. Only what the user stops by a signal is not kept.

use super::folder::{Found, ResultsFolder, found};
use super::guests_can_begin;
use super::progress::PlanProgress;
use super::settings::PlanEntry;
use crate::commands::lab::{Show, VERBS, checked, default_cpus, guests_at_once, kernels_of};
use crate::commands::measure;
use crate::exit::{Failure, is_disk_failure};
use crate::live::Live;
use crate::output;
use anyhow::Context;
use lab::{GuestObserver, GuestProgress, LabError, LabRun};
use model::{End, Recorded};
use plan::PlannedRun;
use probe::Monotonic;
use recording::Recording;
use runner::{RunnerError, Signals};
use std::fmt;
use std::path::{Path, PathBuf};

/// What to do.
pub struct Work<'a> {
    pub folder: &'a ResultsFolder,
    pub points: &'a [PlanEntry],
    pub runs: &'a [PlannedRun],
    pub signals: &'a Signals,
    pub jobs: Option<u32>,
    pub quiet: bool,
}

/// What came of it.
pub struct PlanResult {
    /// Runs with a whole recording, also from before.
    pub done: usize,
    /// Runs that failed, twice unless a signal came.
    pub failed: usize,
    /// What ended it early.
    pub signal: Option<&'static str>,
    /// It ended early because nothing more can be written.
    pub disk_failed: bool,
}

/// A run that ended early.
#[derive(Debug)]
struct EndedEarly {
    why: String,
    kept: PathBuf,
    /// The recording could not be written.
    disk_failed: bool,
}

impl fmt::Display for EndedEarly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it {}; what it recorded is kept in {}", self.why, self.kept.display())
    }
}

impl std::error::Error for EndedEarly {}

impl Work<'_> {
    /// Runs what is missing.
    pub fn execute(&self) -> Result<PlanResult, Failure> {
        let mut progress = PlanProgress::new(0, self.runs.len());
        let mut missing = self.missing(&mut progress).map_err(Failure::bad_input)?;
        guests_can_begin(missing.iter().map(|place| self.point(*place)))?;
        let mut is_retry = false;
        loop {
            for place in &missing {
                progress.want(self.expected_ns(*place), self.point(*place).kernel.is_none());
            }
            let Failed { places, disk_failed } = self.all(&missing, &mut progress)?;
            let signal = self.signals.caught();
            if signal.is_some() || disk_failed || places.is_empty() || is_retry {
                return Ok(PlanResult { done: progress.done(), failed: places.len(), signal, disk_failed });
            }
            output::complain(&format!("{} failed; trying again", places.len()));
            missing = places;
            is_retry = true;
        }
    }

    /// How long a run measures, ns.
    fn expected_ns(&self, place: usize) -> i64 {
        self.point(place).expected_ns()
    }

    fn path(&self, place: usize) -> std::path::PathBuf {
        self.folder.recording(place, self.runs.len(), &self.point(place).label)
    }

    fn point(&self, place: usize) -> &PlanEntry {
        &self.points[self.runs[place].combination]
    }

    /// Places of the runs that have no whole recording; what there is of those that were cut off is set aside.
    fn missing(&self, progress: &mut PlanProgress) -> anyhow::Result<Vec<usize>> {
        self.folder.remove_nameless()?;
        let mut missing = Vec::new();
        for place in 0..self.runs.len() {
            let path = self.path(place);
            match found(&path)? {
                Found::Done => {
                    progress.there(&self.point(place).label, Recording::open(&path)?.document());
                    continue;
                }
                Found::Nothing => {}
                Found::Partial => {
                    let kept = self.folder.set_aside(&path)?;
                    output::complain(&format!(
                        "{}: an earlier attempt was cut short: kept in {}",
                        self.name(place),
                        kept.display()
                    ));
                }
            }
            missing.push(place);
        }
        Ok(missing)
    }

    /// Makes these runs; returns those that failed.
    fn all(&self, places: &[usize], progress: &mut PlanProgress) -> Result<Failed, Failure> {
        let mut failed = Failed::default();
        for group in places.chunk_by(|a, b| self.point(*a).kernel.is_some() == self.point(*b).kernel.is_some()) {
            if self.point(group[0]).kernel.is_some() {
                self.in_lab(group, progress, &mut failed)?;
            } else {
                self.one_by_one(group, progress, &mut failed)?;
            }
            if self.signals.caught().is_some() || failed.disk_failed {
                break;
            }
        }
        Ok(failed)
    }

    /// Runs on this machine.
    fn one_by_one(&self, places: &[usize], progress: &mut PlanProgress, failed: &mut Failed) -> Result<(), Failure> {
        for place in places {
            if self.signals.caught().is_some() {
                return Ok(());
            }
            let told = progress.told();
            if !self.quiet {
                output::complain(&format!("{}; {told}", self.name(*place)));
            }
            match self.here(*place, told) {
                Ok(Some(recorded)) => {
                    progress.one_more(self.expected_ns(*place), &self.point(*place).label, &recorded.document);
                }
                Ok(None) => return Ok(()),
                Err(error) => {
                    progress.one_failed(self.expected_ns(*place));
                    let disk_failed = failed.add(*place, &error);
                    Failure::run_failed(error).report_for(&self.name(*place));
                    let path = self.path(*place);
                    // It began, and an error came before it knew its end.
                    if found(&path).map_err(Failure::bad_input)? == Found::Partial {
                        let kept = self.folder.set_aside(&path).map_err(Failure::bad_input)?;
                        output::complain(&format!("what it recorded is kept in {}", kept.display()));
                    }
                    if disk_failed {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn name(&self, place: usize) -> String {
        let name = format!("run {} of {}", place + 1, self.runs.len());
        match self.point(place).label.as_str() {
            "" => name,
            label => format!("{name}, {label}"),
        }
    }

    /// A run on this machine; none: a signal ended it.
    fn here(&self, place: usize, heading: String) -> anyhow::Result<Option<Recorded>> {
        let point = self.point(place);
        let run = point.run.clone().context("it has no run")?;
        let run = plan::Run { title: run.title.or_else(|| Some(point.label.clone()).filter(|label| !label.is_empty())), ..run };
        let order = {
            let cpus = measure::process_cpus()?;
            let warnings = measure::left_out(&point.measured, &run, &cpus).into_iter().collect();
            measure::order(run, warnings, self.path(place), &cpus, Monotonic.now())?
        };
        let mut live = Live::under(self.quiet, heading);
        let result = runner::execute(&order, self.signals, &mut live);
        live.clear();
        if let Err(RunnerError::Interrupted) = result {
            return Ok(None);
        }
        let recorded = result?;
        if let Some(End::Signal { .. }) = &recorded.document.end {
            remove_interrupted(&recorded.path)?;
            return Ok(None);
        }
        let recorded = self.whole(recorded)?;
        if !self.quiet {
            output::say(&format!("  {}", report::verdict_of_one(&recorded)));
        }
        self.keep()?;
        Ok(Some(recorded))
    }

    /// Has what was recorded go to the disk, before anything else is measured.
    fn keep(&self) -> anyhow::Result<()> {
        let path = self.folder.path();
        let folder = std::fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
        rustix::fs::syncfs(&folder).with_context(|| format!("cannot write {} to the disk", path.display()))
    }

    /// Runs in the lab, as many guests at once as may be.
    fn in_lab(&self, places: &[usize], progress: &mut PlanProgress, failed: &mut Failed) -> Result<(), Failure> {
        let mut runs: Vec<LabRun> = Vec::new();
        let mut begun = Vec::new();
        for place in places {
            match self.lab_run(*place) {
                Ok(run) => {
                    runs.push(run);
                    begun.push(*place);
                }
                Err(error) => {
                    progress.one_failed(self.expected_ns(*place));
                    failed.add(*place, &error);
                    Failure::run_failed(error).report_for(&self.name(*place));
                }
            }
        }
        let at_once = guests_at_once(self.jobs, runs.iter().map(|run| run.place.guest.time));
        let mut look = Guests { show: Show::new(self.quiet), progress };
        let mut ended = |index: usize, result: Result<Recorded, LabError>, look: &mut Guests<'_>| {
            let place: usize = begun[index];
            let expected = self.expected_ns(place);
            match result.map_err(anyhow::Error::from).and_then(|recorded| self.whole(recorded)) {
                Ok(recorded) => {
                    look.progress.one_more(expected, &self.point(place).label, &recorded.document);
                    look.show.say(&format!("{}: {}", self.name(place), report::verdict_of_one(&recorded)));
                    if let Err(error) = self.keep() {
                        look.show.without(|| Failure::bad_input(error).report_for(&self.name(place)));
                    }
                }
                Err(error) => {
                    look.progress.one_failed(expected);
                    failed.add(place, &error);
                    look.show.without(|| Failure::run_failed(error).report_for(&self.name(place)));
                }
            }
        };
        lab::run_each_in_guest(&runs, at_once, VERBS, self.signals, &mut look, &mut ended);
        look.show.clear();
        self.keep().map_err(Failure::bad_input)
    }

    /// A recording that came to its end; another one is set aside, out of the next attempt's way.
    fn whole(&self, recorded: Recorded) -> anyhow::Result<Recorded> {
        if judge::came_to_its_end(&recorded.document) {
            return Ok(recorded);
        }
        let why = report::cut_short(&recorded.document).unwrap_or_default();
        let disk_failed = matches!(recorded.document.end, Some(End::RecordingFailed { .. }));
        let kept = self.folder.set_aside(&recorded.path).with_context(|| format!("it {why}"))?;
        Err(EndedEarly { why, kept, disk_failed }.into())
    }

    fn lab_run(&self, place: usize) -> anyhow::Result<LabRun> {
        let point = self.point(place);
        let name = point.kernel.as_ref().context("it has no kernel")?;
        let kernel = kernels_of(std::slice::from_ref(name), &mut |text| output::complain(text))?.remove(0);
        let machine = point.place.place(kernel)?;
        let run = checked(&point.measured, &machine.guest)?;
        let run = plan::Run { title: run.title.or_else(|| Some(point.label.clone())), ..run };
        Ok(LabRun {
            run,
            default_cpus: default_cpus(&point.measured, &machine.guest),
            place: machine,
            directory: self.path(place),
            name: format!("{} {}", place + 1, point.label),
            command_line: output::command_line(),
        })
    }
}

/// Guests that run, below how far the plan is.
struct Guests<'c> {
    show: Show,
    progress: &'c mut PlanProgress,
}

impl GuestObserver for Guests<'_> {
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize) {
        self.show.heading = Some(format!(" {}", self.progress.told()));
        self.show.progress(running, done, all);
    }

    fn note(&mut self, text: &str) {
        self.show.note(text);
    }
}

/// Runs that failed.
#[derive(Default)]
struct Failed {
    places: Vec<usize>,
    /// One of them because nothing more can be written: no other run is worth an attempt.
    disk_failed: bool,
}

impl Failed {
    /// Whether it is because nothing more can be written.
    fn add(&mut self, place: usize, error: &anyhow::Error) -> bool {
        self.places.push(place);
        let ended = error.downcast_ref::<EndedEarly>().is_some_and(|ended| ended.disk_failed);
        self.disk_failed |= ended || is_disk_failure(error);
        self.disk_failed
    }
}

/// Removes the recording of a run that the user stopped, and who goes on with the plan measures anew.
fn remove_interrupted(path: &Path) -> anyhow::Result<()> {
    std::fs::remove_dir_all(path).with_context(|| format!("cannot remove {}, which was interrupted", path.display()))
}
