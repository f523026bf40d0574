// SPDX-License-Identifier: MIT OR Apache-2.0
//! The runs of a plan, made and shown: each as `teiji measure` or `teiji lab run` makes it. Which
//! of them, and in which order, `executor` knows.

use super::can_begin::{all_can_begin, divided, measurable};
use super::plan_entry::PlanEntry;
use super::progress::PlanProgress;
use crate::commands::lab::{
    Show, checked, chosen_qemu, guests_at_once, how_long, kernel_of, lab_run,
};
use crate::commands::measure;
use crate::exit::{Failure, in_full};
use crate::live::{Display, Live};
use crate::output;
use anyhow::Context;
use executor::{
    CombinationEntry, EndedEarly, Event, Execution, GuestEnded, PlanObserver, PlanResult,
    ResultsFolder, RunMaker,
};
use lab::{GuestObserver, GuestProgress, LabError, LabRun};
use model::{Document, Lab, Recorded};
use plan::{Machine, PlannedRun, Qemu};
use probe::Monotonic;
use report::Language;
use runner::{PreparedRun, RunnerError, Signals};
use std::path::{Path, PathBuf};

/// What to do.
pub struct Work<'a> {
    pub folder: &'a ResultsFolder,
    pub points: &'a [PlanEntry],
    pub runs: &'a [PlannedRun],
    pub signals: &'a Signals,
    pub jobs: Option<u32>,
    pub display: Display,
    /// Whether what this machine cannot measure is left out.
    pub here: bool,
}

impl Work<'_> {
    /// Runs what is missing; says how many runs have a whole recording, also from before, how many
    /// were left out, and what came of the others.
    pub fn execute(&self) -> Result<(usize, usize, PlanResult), Failure> {
        let entry = |point: &PlanEntry| CombinationEntry {
            label: point.label.clone(),
            is_in_lab: point.kernel.is_some(),
        };
        let combinations: Vec<CombinationEntry> = self.points.iter().map(entry).collect();
        let execution =
            Execution { folder: self.folder, combinations: &combinations, runs: self.runs };
        let mut maker = Maker {
            work: self,
            show: Show::new(Display::Nothing),
            are_guests: false,
            progress: PlanProgress::new(0, self.runs.len()),
            recorded_in: Vec::new(),
        };
        let differences = |run: usize, document: &Document| self.point(run).differences(document);
        let mut missing = execution.missing(&mut maker, &differences)?;
        let all = missing.len();
        if self.here {
            let divided = divided(missing, |run| self.point(run));
            let left_out = divided.1.iter().flat_map(|(why, runs)| {
                runs.iter().map(|run| (*run, why.to_string())).collect::<Vec<_>>()
            });
            self.folder.keep_left_out(&left_out.collect::<Vec<_>>())?;
            missing = measurable(divided, all == self.runs.len())?;
        } else {
            all_can_begin(missing.iter().map(|run| self.point(*run)))?;
        }
        let left_out = all - missing.len();
        let result = execution.execute(missing, &mut maker)?;
        Ok((maker.progress.done(), left_out, result))
    }

    fn point(&self, run: usize) -> &PlanEntry {
        &self.points[self.runs[run].combination]
    }

    fn name(&self, run: usize) -> String {
        let name = format!("run {} of {}", run + 1, self.runs.len());
        match self.point(run).label.as_str() {
            "" => name,
            label => format!("{name}, {label}"),
        }
    }

    /// The QEMUs in `recorded_in` are for runs that name none.
    fn lab_run(
        &self,
        run: usize,
        directory: &Path,
        recorded_in: &[(Machine, Qemu)],
    ) -> anyhow::Result<LabRun> {
        let point = self.point(run);
        let name = point.kernel.as_ref().context("it has no kernel")?;
        let mut machine = point.guest.target(kernel_of(name, false)?)?;
        let known = || {
            recorded_in
                .iter()
                .find(|(known, _)| *known == machine.guest.machine)
                .map(|(_, qemu)| qemu)
        };
        machine.qemu = chosen_qemu(
            point.guest.qemu().or_else(known),
            machine.guest.machine,
            self.display.is_quiet(),
        )?;
        let checked = checked(&point.measured, point.phase, &machine.guest)?;
        let name = format!("{} {}", run + 1, point.label);
        let run = titled(checked, &point.label);
        Ok(lab_run(&point.measured, run, &machine, directory.to_owned(), name))
    }
}

/// A run with what distinguishes it from the others as its title, unless it has one.
fn titled(run: plan::Run, label: &str) -> plan::Run {
    let title = run.title.or_else(|| Some(label.to_owned()).filter(|label| !label.is_empty()));
    plan::Run { title, ..run }
}

/// Makes runs, and shows how far the plan is.
struct Maker<'w> {
    /// Guests that run, if any do.
    show: Show,
    are_guests: bool,
    work: &'w Work<'w>,
    progress: PlanProgress,
    /// The QEMUs of recordings that are there, where no QEMU was named: a plan that goes on keeps
    /// to them.
    recorded_in: Vec<(Machine, Qemu)>,
}

impl PlanObserver for Maker<'_> {
    fn observe(&mut self, run: usize, event: &Event<'_>) {
        let (work, point) = (self.work, self.work.point(run));
        let name = work.name(run);
        match event {
            Event::WasDone(document) => {
                self.progress.recorded_before(&point.label, document);
                let lab = document.lab.iter().filter(|_| point.guest.qemu().is_none());
                let qemu = |lab: &Lab| Some((lab.guest.machine, lab::qemu_of(lab)?));
                self.recorded_in.extend(lab.filter_map(qemu));
            }
            Event::Missing => self.progress.add_run(point.expected_ns(), point.kernel.is_none()),
            Event::WasCutShort(kept) => {
                complain!("{name}: an earlier attempt was cut short: kept in {}", kept.display());
            }
            Event::WasDamaged(damage, kept) => {
                complain!("{name}: {}. It is kept in {}", in_full(damage), kept.display());
            }
            Event::Recorded(recorded) => {
                self.progress.one_more(point.expected_ns(), &point.label, &recorded.document);
                let headline = report::headline_of_one(recorded, Language::English);
                let headline: String =
                    headline.iter().map(|line| output::indented(line, 2)).collect();
                if self.are_guests {
                    self.show.say(&format!("{name}\n{}", headline.trim_end()));
                } else if !work.display.is_quiet() {
                    output::say(&headline);
                }
            }
            Event::Failed(error) | Event::NotSynced(error) => {
                if matches!(event, Event::Failed(_)) {
                    self.progress.one_failed(point.expected_ns());
                }
                self.show.without(|| complain!("error: {name}: {}", failure_text(error)));
            }
            Event::SetAside(kept) => {
                complain!("what it recorded is kept in {}", kept.display())
            }
        }
    }
}

/// Why a run failed, and what is left of it.
fn failure_text(error: &anyhow::Error) -> String {
    let Some(EndedEarly { document, kept }) = error.downcast_ref() else { return in_full(error) };
    let why = report::cut_short(document, Language::English).unwrap_or_default();
    format!("{why}. Its recording is in {}", kept.display())
}

impl RunMaker for Maker<'_> {
    fn run_locally(&mut self, run: usize, recording: &Path) -> anyhow::Result<Option<Recorded>> {
        let (work, heading) = (self.work, self.progress.text());
        if !work.display.is_quiet() {
            let left = self.progress.time_left();
            let left = left.map_or_else(String::new, |left| format!("; {left}"));
            complain!("{}{left}", work.name(run));
        }
        let point = work.point(run);
        let asked = point.run.clone().context("it has no run")?;
        let asked = titled(asked, &point.label);
        let cpus = measure::process_cpus()?;
        let warnings = measure::of_cpus(&point.measured, &asked, &cpus);
        let probe = point.measured.chosen_probe()?;
        let order =
            measure::order(asked, probe, warnings, recording.to_owned(), &cpus, Monotonic.now())?;
        let order = PreparedRun { default_length: point.measured.has_default_length(), ..order };
        let mut live = Live::under(work.display, heading);
        let result = runner::execute(&order, work.signals, &mut live, None);
        live.clear();
        match result {
            Err(RunnerError::Interrupted) => Ok(None),
            result => Ok(Some(result?.recorded)),
        }
    }

    fn in_lab(&mut self, runs: &[(usize, PathBuf)], ended: &mut GuestEnded<'_>) {
        let work = self.work;
        let mut begun = Vec::new();
        let mut lab_runs: Vec<LabRun> = Vec::new();
        for (run, recording) in runs {
            match work.lab_run(*run, recording, &self.recorded_in) {
                Ok(lab_run) => {
                    lab_runs.push(lab_run);
                    begun.push(*run);
                }
                Err(error) => ended(*run, Err(error), self),
            }
        }
        let at_once = guests_at_once(work.jobs, lab_runs.iter().map(|run| run.target.guest.time));
        let mut one_ended = |index: usize, result: Result<_, LabError>, maker: &mut Self| {
            ended(begun[index], result.map_err(anyhow::Error::from), maker);
        };
        if !work.display.is_quiet() && !lab_runs.is_empty() {
            output::complain(&how_long(&lab_runs, at_once));
        }
        self.show = Show::new(work.display);
        self.are_guests = true;
        lab::run_each_in_guest(&lab_runs, at_once, work.signals, self, &mut one_ended);
        self.are_guests = false;
        self.show.clear();
    }

    fn retry(&mut self, runs: usize) {
        complain!("{runs} failed; trying again");
    }

    fn signal(&self) -> Option<&'static str> {
        self.work.signals.caught()
    }
}

impl GuestObserver for Maker<'_> {
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize) {
        self.show.heading = Some(format!(" {}", self.progress.text()));
        self.show.progress(running, done, all);
    }

    fn note(&mut self, text: &str) {
        self.show.note(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{End, State};

    /// One combination alone has no label: then a recording has the name of its folder.
    #[test]
    fn no_run_is_titled_with_nothing() {
        let run = plan::Run { title: None, ..plan::Run::example(plan::Nanos::from_millis(1), 9) };
        assert_eq!(titled(run.clone(), "").title, None);
        assert_eq!(titled(run.clone(), "load=cpu").title.as_deref(), Some("load=cpu"));
        let own = plan::Run { title: Some("mine".to_owned()), ..run };
        assert_eq!(titled(own, "load=cpu").title.as_deref(), Some("mine"));
    }

    #[test]
    fn a_run_that_ended_early_says_why_and_where_its_recording_is() {
        let complete = include_str!("../../../../../fuzz/corpus/run_json/complete.json");
        let mut document: Box<Document> = serde_json::from_str(complete).unwrap();
        (document.state, document.end) =
            (State::Stopped, Some(End::Guard { starved_ns: 5_000_000_000, cpu: None }));
        let text =
            failure_text(&EndedEarly { document, kept: "out/incomplete/1.teiji".into() }.into());
        assert!(text.starts_with("stopped by its guard: "), "{text}");
        assert!(text.ends_with(". Its recording is in out/incomplete/1.teiji"), "{text}");
        assert_eq!(
            failure_text(&anyhow::anyhow!("no disk").context("no recording")),
            "no recording: no disk"
        );
    }
}
