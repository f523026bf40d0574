// SPDX-License-Identifier: MIT OR Apache-2.0
//! A recording being read.

use crate::contents::read_text;
use crate::run_json::{DOCUMENT, parse};
use crate::{RecordingError, SampleFile, each_row};
use model::{
    Accounted, Beside, Detail, Document, ENVELOPE_STEPS, End, Examined, Quantity, Recorded,
    RowCounts, RowKind, State, TakenBy, Thread, Unknown, fill_in,
};
use plan::OverrunPolicy;
use stats::{
    AccountingRule, AfterOverrun, Analysis, Bucket, Envelope, ExactRequest, Extent, Rows, Sizes,
    Statistics, analyse, block_moments, summarise,
};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

/// A recording on disk, its document read, its samples not yet.
#[derive(Clone, Debug)]
pub struct Recording {
    path: PathBuf,
    document: Document,
    /// Steps over time that are kept of the judged column.
    steps: usize,
}

impl Recording {
    /// Reads the document.
    ///
    /// # Errors
    /// When there is none, or it is none of ours, or of a later version.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = path.join(DOCUMENT);
        let text = read_text(&file).map_err(|error| match error {
            RecordingError::Io { doing, source, .. }
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                if path.exists() {
                    RecordingError::not_a_recording(path)
                } else {
                    // What is not there is what was named, not a file in it.
                    RecordingError::Io { doing, path: path.to_owned(), source }
                }
            }
            error => error,
        })?;
        let document = parse(&text).map_err(|why| RecordingError::Document { path: file, why })?;
        Ok(Recording { path: path.to_owned(), document, steps: ENVELOPE_STEPS })
    }

    /// A recording whose samples are on disk and whose document is not yet. Nothing is drawn of it:
    /// its course over time is kept in few steps, so that the end of a run takes little memory.
    pub fn from_document(path: &Path, document: Document) -> Self {
        Recording { path: path.to_owned(), document, steps: STEPS_NOT_DRAWN }
    }

    /// By which it is shown: the output of another program that is a recording for one call only by
    /// the name of its file.
    pub fn shown_path(&self) -> PathBuf {
        let is_scratch = system::ScratchFolder::is_at;
        if self.document.imported.is_some() && self.path.parent().is_some_and(is_scratch) {
            self.path.with_extension("").file_name().unwrap_or_default().into()
        } else {
            self.path.clone()
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What `run.json` says.
    pub const fn document(&self) -> &Document {
        &self.document
    }

    /// Goes through all samples, threads side by side on the cores there are.
    ///
    /// # Errors
    /// When samples cannot be read or are damaged. Of a recording that was cut off the end may be
    /// missing, and nothing else.
    pub fn summarise(self) -> Result<Recorded, RecordingError> {
        let threads = self.of_each_thread(|samples| {
            match samples.thread.detail {
                Detail::Samples => {}
                Detail::Histogram => {
                    let statistics = Statistics::from_histogram(samples.buckets());
                    return Ok((samples.as_stated(statistics), Beside::default()));
                }
                Detail::Figures => {
                    let statistics = Statistics::from_figures(samples.thread.latency_ns);
                    return Ok((samples.as_known(statistics), Beside::default()));
                }
            }
            let judged = summarise(
                &samples.open(JUDGED)?,
                samples.interval_ns(),
                samples.rule(JUDGED),
                self.steps,
            )?;
            samples.with_beside(judged)
        })?;
        Ok(self.recorded(threads))
    }

    /// The same, in the same passes, and of each thread what `keep` takes from its analysis, which
    /// itself is a few MB. What `exact` asks for may take a further pass.
    ///
    /// # Errors
    /// As [`Recording::summarise`].
    pub fn analyse<T: Send>(
        self,
        exact: &ExactRequest,
        keep: impl Fn(&Analysis) -> T + Sync,
    ) -> Result<(Recorded, Vec<T>), RecordingError> {
        let threads = self.of_each_thread(|samples| {
            let (analysis, beside) = samples.analyse(exact)?;
            let kept = keep(&analysis);
            Ok(((analysis.statistics, beside), kept))
        })?;
        let (statistics, kept) = threads.into_iter().unzip();
        Ok((self.recorded(statistics), kept))
    }

    /// The same with what limits and comparisons judge: of jitter its size, because an interval may
    /// be too short as well as too long. `exact` asks about that; `keep` takes from the
    /// analysis of what was measured.
    ///
    /// # Errors
    /// As [`Recording::summarise`].
    pub fn examine<T: Send>(
        self,
        exact: &ExactRequest,
        keep: impl Fn(&Analysis) -> T + Sync,
    ) -> Result<(Examined, Vec<T>), RecordingError> {
        let threads = self.of_each_thread(|samples| {
            let (analysis, beside) = samples.analyse(exact)?;
            let kept = keep(&analysis);
            let statistics = analysis.statistics.clone();
            let mut judged = match self.document.probe.quantity {
                Quantity::Jitter => samples.analyse_sizes(&statistics, exact)?,
                Quantity::Latency | Quantity::Interval => analysis,
            };
            // Of intervals it is asked how much they vary.
            if self.document.probe.quantity != Quantity::Latency
                && samples.thread.detail == Detail::Samples
            {
                judged.sums = block_moments(&samples.open(JUDGED)?)?;
            }
            Ok(((statistics, beside), (judged, kept)))
        })?;
        let (statistics, judged): (_, Vec<_>) = threads.into_iter().unzip();
        let (analyses, kept) = judged.into_iter().unzip();
        Ok((Examined { recorded: self.recorded(statistics), analyses, pool: None }, kept))
    }

    /// Opens the judged column of each thread and hands it over: as many at a time as there are
    /// cores.
    ///
    /// # Errors
    /// As [`Recording::summarise`]; also where a recording holds no samples.
    pub fn each_sample_file<T: Send>(
        &self,
        of: impl Fn(&SampleFile) -> Result<T, RecordingError> + Sync,
    ) -> Result<Vec<T>, RecordingError> {
        self.of_each_thread(|samples| of(&samples.open(JUDGED)?))
    }

    /// The columns of each thread's samples, as the probe states them.
    ///
    /// # Errors
    /// When a file is not there, or a thread has no samples.
    pub fn sample_files(&self) -> Result<Vec<Vec<SampleFile>>, RecordingError> {
        self.of_each_thread(|samples| {
            if samples.thread.detail != Detail::Samples {
                return Err(RecordingError::NoSamples(self.path.clone()));
            }
            (0..self.document.probe.columns.len()).map(|column| samples.open(column)).collect()
        })
    }

    /// The judged column of one thread's samples.
    ///
    /// # Errors
    /// When its file is not there, or damaged.
    pub fn judged_samples(&self, thread: &Thread) -> Result<SampleFile, RecordingError> {
        ThreadSamples { recording: self, thread }.open(JUDGED)
    }

    fn recorded(self, threads: Vec<(Statistics, Beside)>) -> Recorded {
        let path = self.shown_path();
        let mut document = self.document;
        let (threads, beside): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        if document.state == State::Running {
            for (index, thread) in document.threads.iter_mut().enumerate() {
                fill_in(thread, &document.probe, &threads[index], &beside[index]);
                // No thread has counted: had a lost one been late, skipped ones would follow it.
                (thread.activations, thread.evidence.samples_lost) = (None, threads[index].lost);
                let accounted = Accounted::new(thread, &threads[index]);
                thread.activations = accounted.map(|all| RowCounts::new(all.rows, &document.probe));
            }
        }
        Recorded { path, document, threads, beside, explained: None }
    }

    /// The samples of a thread.
    pub(crate) fn thread(&self, index: usize) -> Option<ThreadSamples<'_>> {
        Some(ThreadSamples { recording: self, thread: self.document.threads.get(index)? })
    }

    /// Of all threads: as many as were counted, or while nothing is, as were asked for.
    fn rows_due(&self) -> u64 {
        let due = |thread: &Thread| {
            thread.activations.as_ref().map_or_else(
                || self.document.run.activations_of(thread.index),
                |counts| counts.all().due,
            )
        };
        self.document.threads.iter().map(due).fold(0, u64::saturating_add)
    }

    /// What is made of the samples of each thread: as many at a time as there are cores, where
    /// there is enough to do.
    pub(crate) fn of_each_thread<T: Send>(
        &self,
        of: impl Fn(&ThreadSamples<'_>) -> Result<T, RecordingError> + Sync,
    ) -> Result<Vec<T>, RecordingError> {
        let next = AtomicUsize::new(0);
        let results: Mutex<Vec<Option<Result<T, RecordingError>>>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.document.threads.len() {
                    return;
                }
                let result =
                    of(&ThreadSamples { recording: self, thread: &self.document.threads[index] });
                let mut results = results.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if results.len() <= index {
                    results.resize_with(index + 1, || None);
                }
                results[index] = Some(result);
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = cores
            .min(MAX_WORKERS)
            .min(self.document.threads.len())
            .min(workers_worth(self.rows_due()));
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // A worker that cannot be started leaves its work to the others.
                drop(Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work));
            }
            work();
        });
        results
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .into_iter()
            .flatten()
            .collect()
    }
}

/// The column that is judged.
pub(crate) const JUDGED: usize = 0;
/// Steps over time that are kept of what is not drawn.
const STEPS_NOT_DRAWN: usize = 64;

/// The samples of one thread.
pub(crate) struct ThreadSamples<'a> {
    recording: &'a Recording,
    pub(crate) thread: &'a Thread,
}

impl ThreadSamples<'_> {
    const fn document(&self) -> &Document {
        &self.recording.document
    }

    pub(crate) const fn interval_ns(&self) -> i64 {
        self.thread.interval_ns.0
    }

    /// What is left of a thread without samples.
    fn buckets(&self) -> &[Bucket] {
        &self.thread.histogram_ns.buckets
    }

    /// What another program wrote down beside its histogram is believed.
    fn as_stated(&self, statistics: Statistics) -> Statistics {
        let stated = self.thread.latency_ns.as_ref();
        match stated.filter(|_| self.document().imported.is_some()) {
            Some(figures) => statistics.stated(figures, self.buckets()),
            None => statistics,
        }
    }

    /// Figures without those that the output of another program does not state.
    fn as_known(&self, statistics: Statistics) -> Statistics {
        let lacks = |what| self.document().lacks(what);
        let mut statistics = statistics;
        if lacks(Unknown::Minimum) {
            statistics = statistics.without_min();
        }
        if lacks(Unknown::Mean) {
            statistics = statistics.without_mean();
        }
        if lacks(Unknown::Count) {
            statistics = statistics.without_count();
        }
        statistics
    }

    /// Opens one of the columns that the probe states.
    pub(crate) fn open(&self, column: usize) -> Result<SampleFile, RecordingError> {
        // A samples file lies beside its document; a name that leads elsewhere is no name of ours.
        let name = Path::new(&self.thread.samples_file).file_name().unwrap_or_default();
        let document = self.document();
        let cut = document.state == State::Running
            || matches!(document.end, Some(End::RecordingFailed { .. }));
        let path = self.recording.path.join(name);
        if document.state == State::Running {
            // There are no figures that the samples of another thread or run would contradict.
            SampleFile::check_labels(&path, self.thread)?;
        }
        SampleFile::open_column(&path, column, &document.probe, cut)
    }

    /// How a column classifies rows: late or on time, skipped or lost.
    pub(crate) fn rule(&self, column: usize) -> AccountingRule {
        if self.document().probe.overrun_column != Some(column) {
            return AfterOverrun::Unknown.into();
        }
        let after = match self.document().run.overrun_policy {
            OverrunPolicy::Skip => AfterOverrun::Skip,
            OverrunPolicy::CatchUp => AfterOverrun::CatchUp,
        };
        AccountingRule {
            after,
            given_up_ns: self.thread.given_up_ns.map(|time| time.0 - self.thread.start_ns.0),
        }
    }

    /// Not generic, so that it is compiled here, for speed, and not by those who call it, for size.
    fn analyse(&self, exact: &ExactRequest) -> Result<(Analysis, Beside), RecordingError> {
        let interval_ns = self.interval_ns();
        match self.thread.detail {
            Detail::Samples => {}
            Detail::Histogram => {
                let mut analysis = Analysis::from_histogram(self.buckets(), interval_ns, exact);
                analysis.statistics = self.as_stated(analysis.statistics);
                return Ok((analysis, Beside::default()));
            }
            Detail::Figures => {
                let mut analysis = Analysis::from_figures(self.thread.latency_ns, interval_ns);
                analysis.statistics = self.as_known(analysis.statistics);
                return Ok((analysis, Beside::default()));
            }
        }
        let mut analysis = self.analyse_rows(&self.open(JUDGED)?, exact)?;
        let (judged, beside) = self.with_beside(analysis.statistics)?;
        analysis.statistics = judged;
        Ok((analysis, beside))
    }

    fn analyse_rows<R: Rows<Error = RecordingError>>(
        &self,
        rows: &R,
        exact: &ExactRequest,
    ) -> Result<Analysis, RecordingError> {
        analyse(rows, self.interval_ns(), self.rule(JUDGED), self.recording.steps, exact)
    }

    /// The judged column by the size of its values; what was late or skipped is the same.
    fn analyse_sizes(
        &self,
        measured: &Statistics,
        exact: &ExactRequest,
    ) -> Result<Analysis, RecordingError> {
        let mut sizes = match self.thread.detail {
            Detail::Samples => self.analyse_rows(&Sizes(&self.open(JUDGED)?), exact)?,
            Detail::Histogram => {
                let buckets: Vec<Bucket> =
                    self.buckets().iter().map(|bucket| bucket.sizes()).collect();
                Analysis::from_histogram(&buckets, self.interval_ns(), exact)
            }
            Detail::Figures => Analysis::from_figures(
                measured.latency.map(|figures| figures.sizes()),
                self.interval_ns(),
            ),
        };
        (sizes.statistics.activations, sizes.statistics.lost) =
            (measured.activations, measured.lost);
        Ok(sizes)
    }

    /// Statistics beside the judged column. A further column may decide the accounting of all, and
    /// the times of events where things happened.
    fn with_beside(&self, mut judged: Statistics) -> Result<(Statistics, Beside), RecordingError> {
        let mut beside = Beside::default();
        for (index, _) in self.document().probe.others() {
            let decides = self.document().probe.overrun_column == Some(index);
            let unit = if decides {
                self.document().probe.overrun_unit(self.thread.interval_ns)
            } else {
                self.interval_ns()
            };
            let statistics =
                summarise(&self.open(index)?, unit, self.rule(index), STEPS_NOT_DRAWN)?;
            if decides {
                (judged.activations, judged.lost) = (statistics.activations, statistics.lost);
            }
            beside.columns.push(statistics);
        }
        if self.document().probe.rows == RowKind::Events {
            let mut times: HashMap<u64, i64> =
                judged.worst.iter().map(|worst| (worst.activation, 0)).collect();
            judged.envelope = self.over_time(&mut times)?;
            beside.worst_times_ns =
                judged.worst.iter().map(|worst| times[&worst.activation]).collect();
        }
        // How much the time between two wake-ups differed from the interval follows from when they
        // were, and from nothing else.
        let is_known = self.document().probe.rows == RowKind::Activations
            && self.document().imported.is_none();
        if !is_known {
            judged.jitter = vec![None; judged.envelope.steps().len()];
        }
        Ok((judged, beside))
    }

    /// Events by the time they happened at, each step of the envelope as long as so many intervals;
    /// fills in the times of the rows asked for.
    fn over_time(&self, times: &mut HashMap<u64, i64>) -> Result<Envelope, RecordingError> {
        let mut planned = self.document().run.activations_of(self.thread.index).max(1);
        // Events that were recorded elsewhere have a time of their own, which is not that of
        // reading them, and a run that was cut short did not measure what was planned: then
        // what is known to have been measured ends with the last event.
        if self.document().probe.taken_by() == TakenBy::AnotherMachine
            || self.document().state != State::Complete
            || self.document().run.length.is_endless()
        {
            let mut last = 0;
            each_row(&[self.open(JUDGED)?], &mut |row| last = row.time_ns.unwrap_or(0).max(last))?;
            planned =
                u64::try_from(last / self.interval_ns().max(1)).unwrap_or(0).saturating_add(1);
        }
        // Events that come once in a period come a little early or late: in steps as short as that
        // some would have none, and some two.
        let period_ns = period_of_events(self.document()).unwrap_or(0).saturating_mul(2);
        let shortest = u64::try_from(period_ns / self.interval_ns().max(1)).unwrap_or(0);
        let intervals_per_step = planned.div_ceil(self.recording.steps as u64).max(shortest);
        let step_ns = i64::try_from(intervals_per_step)
            .unwrap_or(i64::MAX)
            .saturating_mul(self.interval_ns())
            .max(1);
        let mut steps = vec![
            Extent::NOTHING;
            usize::try_from(planned.div_ceil(intervals_per_step)).unwrap_or(1)
        ];
        each_row(&[self.open(JUDGED)?], &mut |row| {
            let (Some(time), [Some(value)]) = (row.time_ns, row.values) else { return };
            if let Some(known) = times.get_mut(&row.number) {
                *known = time;
            }
            let last = steps.len() - 1;
            steps[usize::try_from(time / step_ns).unwrap_or(0).min(last)].record(*value);
        })?;
        Ok(Envelope::from_steps(intervals_per_step, steps))
    }
}

/// The time from one event to the next, of those that come periodically, ns.
fn period_of_events(document: &Document) -> Option<i64> {
    match document.probe.quantity {
        Quantity::Latency => None,
        Quantity::Jitter | Quantity::Interval => {
            Some(document.probe.period_ns.unwrap_or(document.run.interval_ns).0)
        }
    }
}

/// Each takes about 2 MB of memory, and a disk feeds no more.
const MAX_WORKERS: usize = 4;
/// Fewer rows take one worker some ms: a second is not worth its memory, of which a run that has
/// just ended may have little.
const ROWS_OF_A_WORKER: u64 = 1 << 20;

/// So many workers have something to do.
fn workers_worth(rows: u64) -> usize {
    usize::try_from(rows.div_ceil(ROWS_OF_A_WORKER)).unwrap_or(usize::MAX).max(1)
}
/// Ample: nothing here recurses.
const STACK_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a short run takes the memory of one worker, whatever the machine does meanwhile.
    #[test]
    fn workers_have_something_to_do() {
        assert_eq!([0, 1, 100_000, 1 << 20].map(workers_worth), [1; 4]);
        assert_eq!([(1 << 20) + 1, 216_000_000].map(workers_worth), [2, 206]);
    }
}
