// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an importer makes of one output of another program, whatever its format: what was measured,
//! by which threads, and what the output says of the run. It becomes a recording here.

use super::ImportError;
use super::destination::Destination;
use super::measured::{MAX_NS, Measured, in_us, is_possible_sd, mean_in_us};
use model::{
    Accounted, Column, Detail, Document, End, FORMAT, Host, HostFacts, Imported, Instrument,
    ProbeStatement, Quantity, Recorded, RowCounts, RowKind, Said, State, Thread, Unknown, VERSION,
    Warning, fill_in, samples_file,
};
use plan::{CpuId, Length, Nanos, OverrunPolicy, Run, Scheduling, Settle};
use recording::too_many;
use stats::{Bounds, Statistics, Summary};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Samples of all threads together that are kept before they are written.
const MAX_KEPT: usize = 1 << 16;
/// Threads of an output at most: more than the CPUs of most machines, and what is judged of each
/// takes some MB.
pub(crate) const MAX_THREADS: usize = 1_024;
/// Threads that may have a file of samples each.
const MAX_FILES: usize = 512;
/// Lines of one kind that are kept of what an output says, lines in all, and characters of each.
const MAX_SAID: usize = 64;
const MAX_SAID_IN_ALL: usize = 2 * MAX_SAID;
const MAX_TEXT: usize = 2_000;

/// What a program measures, as far as its output does not say otherwise.
pub(crate) struct Program {
    /// Its name, which is the probe's.
    pub name: &'static str,
    pub measuring_point: &'static str,
    /// The judged column.
    pub column: Column,
    pub rows: RowKind,
    /// Whether its threads were to wake at planned times, so that some may have been late by a
    /// period or more.
    pub is_planned: bool,
    /// Whether periods that went by are passed over and not counted.
    pub passes_over: bool,
    /// What values are whole multiples of, ns.
    pub resolution_ns: i64,
}

/// One output of another program.
pub(crate) struct Output {
    pub program: &'static Program,
    /// The format, by its name in the table.
    pub format: &'static str,
    pub line: u64,
    pub version: Option<String>,
    /// The program that ran the one that measured, and its version.
    pub ran_by: Option<String>,
    /// What load there was, in the words of the output.
    pub load: Option<String>,
    pub resolution_ns: i64,
    pub interval: Option<Nanos>,
    pub scheduling: Option<Scheduling>,
    /// Whether the program is not known: its name is that of the output's shape.
    pub is_of_unknown_program: bool,
    pub is_of_unknown_unit: bool,
    /// Whether the number of samples is not said: what is stated is a lower bound, or nothing.
    pub is_of_unknown_count: bool,
    /// Whether the minimum is not said: what is stated is a lower bound.
    pub is_of_unknown_min: bool,
    /// Whether no mean is said.
    pub is_of_unknown_mean: bool,
    /// Whether there may be values beyond the histogram that are not said.
    pub may_have_more: bool,
    /// Whether a latency ended the run.
    pub is_broken_off: bool,
    /// The thread that it is of and the latency, ns, where that is said.
    pub broken_at: Option<(usize, i64)>,
    /// Whether the program measured, and nothing was above its threshold.
    pub found_nothing: bool,
    pub probe_settings: plan::ProbeSettings,
    pub length: Option<Nanos>,
    /// The line within which the file ends, if that is where it ends: how the run did is not known.
    pub cut_at: Option<u64>,
    pub command_line: Vec<String>,
    /// RFC 3339, or in the words of the output.
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub host: HostFacts,
    /// By thread.
    pub threads: Vec<Measured>,
    says: Vec<Said>,
    /// Of each kind of lines how many there was no room for.
    unsaid: BTreeMap<String, u64>,
    warnings: Vec<Warning>,
    to: Box<dyn Destination>,
    kept: usize,
    rows: Rc<Rows>,
}

/// Rows of all outputs of one file: with a sample, and lost.
#[derive(Default)]
pub(crate) struct Rows {
    sampled: Cell<u64>,
    lost: Cell<u64>,
}

/// Rows of one file that may be lost, beside so many for each sample: each takes room on the disk.
const MAX_LOST: u64 = 2_000_000;
const MAX_LOST_PER_SAMPLE: u64 = 10;

impl Output {
    pub(super) fn new(
        program: &'static Program,
        format: &'static str,
        line: u64,
        to: Box<dyn Destination>,
        rows: Rc<Rows>,
    ) -> Output {
        Output {
            program,
            format,
            line,
            version: None,
            ran_by: None,
            load: None,
            resolution_ns: program.resolution_ns,
            interval: None,
            scheduling: None,
            is_of_unknown_program: false,
            is_of_unknown_unit: false,
            is_of_unknown_count: false,
            is_of_unknown_min: false,
            is_of_unknown_mean: false,
            may_have_more: false,
            is_broken_off: false,
            broken_at: None,
            found_nothing: false,
            probe_settings: plan::ProbeSettings::new(),
            length: None,
            cut_at: None,
            command_line: Vec::new(),
            started_at: None,
            ended_at: None,
            host: HostFacts::default(),
            threads: Vec::new(),
            says: Vec::new(),
            unsaid: BTreeMap::new(),
            warnings: Vec::new(),
            to,
            kept: 0,
            rows,
        }
    }

    /// A thread by its number from 0, which is there from now on, as those below it are.
    ///
    /// # Errors
    /// When no run has so many.
    pub(crate) fn thread(&mut self, index: usize) -> Result<&mut Measured, ImportError> {
        if index >= MAX_THREADS {
            let why = format!("thread {index}: no more than {MAX_THREADS} are read");
            return Err(ImportError::at(self.line, why));
        }
        if self.threads.len() <= index {
            self.threads.resize_with(index + 1, Measured::default);
        }
        Ok(&mut self.threads[index])
    }

    /// Keeps what the output says, in its own words, or how many such lines there was no room for.
    pub(crate) fn say(&mut self, what: &str, text: &str) {
        let clip = |text: &str| -> String { text.trim().chars().take(MAX_TEXT).collect() };
        let what = clip(what);
        let alike = self.says.iter().filter(|said| said.what == what).count();
        if alike < MAX_SAID && self.says.len() < MAX_SAID_IN_ALL {
            self.says.push(Said { what, text: clip(text) });
        } else if alike > 0 {
            *self.unsaid.entry(what).or_default() += 1;
        } else {
            *self.unsaid.entry("other lines".to_owned()).or_default() += 1;
        }
    }

    /// All that is kept of it.
    fn said(&mut self) -> Vec<Said> {
        let last = |of: &Measured| of.stated.last.map_or_else(|| "–".to_owned(), in_us);
        if self.threads.iter().any(|thread| thread.stated.last.is_some()) {
            let all: Vec<String> = self.threads.iter().map(last).collect();
            self.say("last latency of each thread", &all.join(", "));
        }
        let left_out = |(what, count): (&String, &u64)| {
            let what = what.clone();
            Said { what, text: format!("{count} more of them are left out") }
        };
        self.says.iter().cloned().chain(self.unsaid.iter().map(left_out)).collect()
    }

    /// Keeps that the output says something twice, and differently.
    pub(crate) fn contradiction(
        &mut self,
        place: impl Into<String>,
        stated: impl ToString,
        found: impl ToString,
    ) {
        if self.warnings.len() < MAX_SAID {
            self.warnings.push(Warning::SourceContradicts {
                place: place.into(),
                stated: stated.to_string(),
                found: found.to_string(),
            });
        }
    }

    /// Takes the largest of all together that the output states, ns, where that is above those of
    /// its parts: nobody knows of which it is, so it counts as one of the thread with the largest.
    /// Of samples it is lacking, and how large others are that lack is not known.
    pub(crate) fn raise_max(&mut self, stated: i64) {
        self.may_have_more |= self.threads.iter().any(|thread| thread.samples() > 0);
        let largest = self.threads.iter_mut().filter_map(|thread| thread.stated.max.as_mut());
        if let Some(max) = largest.max() {
            *max = stated.max(*max);
        }
    }

    /// Adds a sample to a thread that is there, ns. Its interval and CPU are known by now.
    ///
    /// # Errors
    /// When it cannot be written, or is none.
    pub(crate) fn sample(&mut self, thread: usize, value_ns: i64) -> Result<(), ImportError> {
        if !(-MAX_NS..=MAX_NS).contains(&value_ns) {
            let why = format!("thread {thread}: no latency is so large");
            return Err(ImportError::at(self.line, why));
        }
        self.threads[thread].kept.push(value_ns);
        self.kept += 1;
        self.rows.sampled.set(self.rows.sampled.get().saturating_add(1));
        if self.kept >= MAX_KEPT { self.write_samples() } else { Ok(()) }
    }

    /// Leaves out rows of a thread, of which there is no sample, up to this one.
    ///
    /// # Errors
    /// When those before cannot be written, or more of the file are lost than of any run.
    pub(crate) fn lose(&mut self, thread: usize, until_row: u64) -> Result<(), ImportError> {
        self.write_samples()?;
        let more = until_row.saturating_sub(self.threads[thread].written);
        let lost = self.rows.lost.get().saturating_add(more);
        let allowed = self.rows.sampled.get().saturating_mul(MAX_LOST_PER_SAMPLE);
        if lost > allowed.saturating_add(MAX_LOST) {
            let why = format!("nearly all samples are lost: {lost} of this file so far");
            return Err(ImportError::at(self.line, why));
        }
        self.rows.lost.set(lost);
        self.threads[thread].written = until_row;
        Ok(())
    }

    /// The same of what happened at a time, ns since the first.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn event(
        &mut self,
        thread: usize,
        time_ns: i64,
        value_ns: i64,
    ) -> Result<(), ImportError> {
        self.threads[thread].times.push(time_ns);
        self.sample(thread, value_ns)
    }

    fn statement(&self) -> ProbeStatement {
        ProbeStatement {
            name: self.program.name.into(),
            rows: self.program.rows,
            columns: vec![self.program.column.clone()],
            overrun_column: None,
            clock: ProbeStatement::CLOCK_OF_ANOTHER.into(),
            measuring_point: self.program.measuring_point.into(),
            quantity: Quantity::Latency,
            period_ns: None,
            only_observes: true,
            from_file: false,
        }
    }

    /// The thread as `run.json` has it, without figures.
    fn document_thread(&self, index: usize) -> Thread {
        let measured = &self.threads[index];
        let scheduling = measured.scheduling.or(self.scheduling).unwrap_or(Scheduling::OTHER);
        let cpu = measured.cpu.unwrap_or(CpuId(u32::try_from(index).unwrap_or(u32::MAX)));
        let interval = measured.interval.or(self.interval).unwrap_or(NO_INTERVAL);
        let detail = match measured {
            _ if measured.samples() > 0 => Detail::Samples,
            _ if measured.buckets.is_empty() => Detail::Figures,
            _ => Detail::Histogram,
        };
        let file = if detail == Detail::Samples { samples_file(index) } else { String::new() };
        Thread {
            pinned: measured.cpu.is_some(),
            detail,
            samples_file: file,
            activations: None,
            ..Thread::unmeasured(index, cpu, scheduling, interval, Nanos::ZERO)
        }
    }

    fn write_samples(&mut self) -> Result<(), ImportError> {
        let statement = self.statement();
        for index in 0..self.threads.len() {
            if self.threads[index].kept.is_empty() {
                continue;
            }
            if index >= MAX_FILES {
                let why = format!("samples of more than {MAX_FILES} threads are not read");
                return Err(ImportError::at(self.line, why));
            }
            let thread = self.document_thread(index);
            let measured = &mut self.threads[index];
            let rows = measured.kept.len() as u64;
            measured.times.append(&mut measured.kept);
            self.to.extend(&thread, &statement, measured.written, &measured.times)?;
            measured.written += rows;
            measured.times.clear();
        }
        self.kept = 0;
        Ok(())
    }

    /// Makes a recording of it. Returns where it is.
    ///
    /// # Errors
    /// When it says nothing that can be recorded, or cannot be written.
    pub(super) fn record(mut self, file: &str, teiji: &str) -> Result<PathBuf, ImportError> {
        let has_samples = self.threads.iter().any(|thread| thread.samples() > 0);
        if !has_samples && !self.found_nothing {
            // Those that were not run yet, or never.
            self.threads.retain(|thread| !thread.is_empty());
        }
        if self.threads.is_empty() {
            return Err(ImportError::at(self.line, "nothing was measured"));
        }
        if has_samples && self.threads.iter().any(|thread| thread.samples() == 0) {
            return Err(ImportError::at(self.line, "some threads have samples, and some have not"));
        }
        self.write_samples()?;
        for index in 0..self.threads.len() {
            let thread = self.document_thread(index);
            self.to.finish(&thread, self.threads[index].written)?;
        }
        let mut figures: Vec<Option<Summary>> =
            (0..self.threads.len()).map(|index| self.figures(index)).collect::<Result<_, _>>()?;
        if self.may_have_more {
            figures.iter_mut().flatten().for_each(Summary::open);
        }
        let mut document = self.document(file, teiji);
        is_possible(&document, self.line)?;
        if has_samples {
            let Recorded { threads, beside, document: read, .. } = self.to.summarise(document)?;
            document = read;
            for (index, thread) in document.threads.iter_mut().enumerate() {
                let statistics = &threads[index];
                fill_in(thread, &document.probe, statistics, &beside[index]);
                thread.evidence.samples_lost = statistics.lost;
                let accounted = Accounted::new(thread, statistics);
                thread.activations = accounted.map(|all| RowCounts::new(all.rows, &document.probe));
            }
        } else {
            // One after the other: those of a thousand threads take 100 MB.
            for (thread, figures) in document.threads.iter_mut().zip(figures) {
                let statistics = match (thread.detail, figures) {
                    (Detail::Histogram, Some(figures)) => {
                        let buckets = &thread.histogram_ns.buckets;
                        Statistics::from_histogram(buckets).stated(&figures, buckets)
                    }
                    _ => Statistics::from_figures(figures),
                };
                thread.latency_ns = statistics.latency;
                thread.latency_with_skipped_ns = statistics.latency_with_skipped;
            }
        }
        is_possible(&document, self.line)?;
        Ok(self.to.put_down(&document)?)
    }

    /// What stands beside samples or buckets of a thread, or all that there is of it: what is
    /// stated, where buckets do not contradict it. Buckets are put in order meanwhile.
    fn figures(&mut self, index: usize) -> Result<Option<Summary>, ImportError> {
        let (line, resolution) = (self.line, self.resolution_ns);
        let (is_of_unknown_count, is_of_unknown_mean) =
            (self.is_of_unknown_count, self.is_of_unknown_mean);
        let thread = &mut self.threads[index];
        let stated = thread.stated;
        let within = |ns: Option<i64>| ns.is_none_or(|ns| (-MAX_NS..=MAX_NS).contains(&ns));
        let mean_fits = stated.mean.is_none_or(|mean| mean.abs() <= MAX_NS as f64);
        if !(within(stated.min) && within(stated.max) && mean_fits) {
            return Err(ImportError::at(line, format!("thread {index}: no latency is so large")));
        }
        if thread.samples() > 0 || self.found_nothing {
            return Ok(None);
        }
        if thread.buckets.is_empty() && thread.beyond.is_none_or(|(count, _)| count == 0) {
            let fewest = || if stated.min == stated.max { 1 } else { 2 };
            let count = stated.count.or_else(|| is_of_unknown_count.then(fewest));
            let [Some(count), Some(min), Some(max)] =
                [count.and_then(|count| i64::try_from(count).ok()), stated.min, stated.max]
            else {
                let why = format!(
                    "thread {index}: how many, the smallest and the largest are not \
                                   all there"
                );
                return Err(ImportError::at(line, why));
            };
            // In the place of one that is not known: any that lies between them.
            let between = || is_of_unknown_mean.then_some((min as f64 + max as f64) / 2.0);
            let Some(mean) = stated.mean.or_else(between) else {
                return Err(ImportError::at(line, format!("thread {index}: there is no mean")));
            };
            if min > max
                || !(min as f64 - resolution as f64..=(max + resolution) as f64).contains(&mean)
            {
                let why = format!(
                    "thread {index}: {min}, {mean} and {max} ns cannot be the \
                                   smallest, the mean and the largest"
                );
                return Err(ImportError::at(line, why));
            }
            let clamped = mean.clamp(min as f64, max as f64);
            let quantiles = stated.quantiles.iter().flatten();
            if ![&min].into_iter().chain(quantiles).chain([&max]).is_sorted() {
                let why =
                    format!("thread {index}: the percentiles do not grow from {min} to {max} ns");
                return Err(ImportError::at(line, why));
            }
            let [p50, p90, p99, p999, p9999] = stated.quantiles;
            if clamped != mean {
                let place = of_thread(index, "mean");
                self.contradiction(
                    place,
                    mean_in_us(mean),
                    format!("{} to {}", in_us(min), in_us(max)),
                );
            }
            let sd = stated.sd.filter(|_| is_possible_sd(&stated, resolution));
            if let (None, Some(stated)) = (sd, stated.sd) {
                let place = of_thread(index, "standard deviation");
                let found = format!("{} to {}", in_us(min), in_us(max));
                self.contradiction(place, mean_in_us(stated), found);
            }
            return Ok(Some(Summary {
                count: count.unsigned_abs(),
                min,
                mean: clamped,
                sd,
                max,
                p50,
                p90,
                p99,
                p999,
                p9999,
                between: Bounds::default(),
            }));
        }
        let found = thread.put_in_order(index, line, resolution)?;
        for (place, stated, found) in found.contradictions {
            self.contradiction(of_thread(index, &place), stated, found);
        }
        self.may_have_more |= found.has_more;
        Ok(found.figures)
    }

    /// How its run ended.
    fn end(&self) -> End {
        if let Some(line) = self.cut_at {
            return End::RecordingFailed { error: format!("the file ends within line {line}") };
        }
        if !self.is_broken_off {
            return End::Done;
        }
        let threads = self.threads.iter().enumerate();
        let maxima = threads.filter_map(|(index, thread)| Some((index, thread.stated.max?)));
        let largest = maxima.max_by_key(|(_, max)| *max);
        let (thread, latency_ns) = self.broken_at.or(largest).unwrap_or_default();
        // It was the last.
        let count = self
            .threads
            .get(thread)
            .map_or(0, |thread| thread.stated.count.unwrap_or_else(|| thread.samples()));
        End::BreakAbove { thread, activation: count.saturating_sub(1), latency_ns }
    }

    /// All that is known of it; buckets go there.
    fn document(&mut self, file: &str, teiji: &str) -> Document {
        let threads: Vec<Thread> = (0..self.threads.len())
            .map(|index| {
                let mut thread = self.document_thread(index);
                thread.histogram_ns.buckets = std::mem::take(&mut self.threads[index].buckets);
                thread
            })
            .collect();
        let mut unknown = Vec::new();
        let mut lacks =
            |is_lacking: bool, what: Unknown| unknown.extend(is_lacking.then_some(what));
        let measured = || self.threads.iter();
        lacks(
            self.program.is_planned
                && self.interval.is_none()
                && measured().any(|thread| thread.interval.is_none()),
            Unknown::Interval,
        );
        lacks(
            self.scheduling.is_none() && measured().any(|thread| thread.scheduling.is_none()),
            Unknown::Scheduling,
        );
        lacks(self.started_at.is_none(), Unknown::Start);
        lacks(self.load.is_none(), Unknown::Load);
        lacks(self.is_of_unknown_unit, Unknown::Unit);
        lacks(self.is_of_unknown_count, Unknown::Count);
        lacks(self.may_have_more, Unknown::Beyond);
        lacks(self.is_of_unknown_min, Unknown::Minimum);
        lacks(self.is_of_unknown_mean, Unknown::Mean);
        lacks(self.is_of_unknown_program, Unknown::Program);
        unknown.sort_unstable();
        let interval = |index: usize| threads.get(index).map(|thread| thread.interval_ns);
        let distance = match (interval(0), interval(1)) {
            (Some(first), Some(second)) => Nanos(second.0.saturating_sub(first.0).max(0)),
            _ => Nanos::ZERO,
        };
        let is_even = threads.iter().enumerate().all(|(index, thread)| {
            let steps = i64::try_from(index).unwrap_or(i64::MAX);
            thread.interval_ns.0
                == threads[0].interval_ns.0.saturating_add(distance.0.saturating_mul(steps))
        });
        let rows = measured().map(Measured::samples).max().unwrap_or(0).max(1);
        let end = self.end();
        Document {
            format: FORMAT.to_owned(),
            version: VERSION,
            teiji: teiji.to_owned(),
            anonymous: false,
            state: if end == End::Done { State::Complete } else { State::Stopped },
            end: Some(end),
            started_at: self.started_at.clone().unwrap_or_default(),
            ended_at: self.ended_at.clone(),
            command_line: self.command_line.clone(),
            run: Run {
                title: None,
                probe: self.program.name.to_owned(),
                probe_settings: self.probe_settings.clone(),
                interval_ns: threads[0].interval_ns,
                distance_ns: if is_even { distance } else { Nanos::ZERO },
                length: self.length.map_or(Length::Samples(rows), Length::DurationNs),
                cpus: threads.iter().map(|thread| thread.cpu).collect(),
                scheduling: threads[0].scheduling,
                aligned_ns: None,
                warmup_ns: Nanos::ZERO,
                break_above_ns: None,
                explain_above_ns: None,
                overrun_policy: OverrunPolicy::Skip,
                hold_dma_latency: false,
                sync: false,
                settle: Settle::ForNs(Nanos::ZERO),
                loads: Vec::new(),
                phase: plan::Phase::NONE,
            },
            probe: self.statement(),
            instrument: Instrument {
                clock: ProbeStatement::CLOCK_OF_ANOTHER.to_owned(),
                real_time: true,
                ..Instrument::default()
            },
            warnings: self.warnings.clone(),
            threads,
            load: Vec::new(),
            load_off_target: false,
            host: Host { before: self.host.clone(), after: None, processes: None },
            lab: None,
            imported: Some(Imported {
                format: self.format.to_owned(),
                version: self.version.clone(),
                ran_by: self.ran_by.clone(),
                load: self.load.clone(),
                file: file.to_owned(),
                line: self.line,
                resolution_ns: self.resolution_ns.max(1),
                passes_over: self.program.passes_over,
                unknown,
                says: self.said(),
            }),
        }
    }
}

/// A figure of a thread, as tables number it, whatever the output calls a thread.
pub(crate) fn of_thread(index: usize, what: &str) -> String {
    format!("thread {index}: {what}")
}

/// Whether it can be read again.
fn is_possible(document: &Document, line: u64) -> Result<(), ImportError> {
    let why = |place| ImportError::at(line, format!("{place} is more than any run can have"));
    too_many(document).map_or(Ok(()), |place| Err(why(place)))
}

/// In the place of an interval that is not known.
const NO_INTERVAL: Nanos = Nanos(1);
