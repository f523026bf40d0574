// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an importer makes of one output of another program, whatever its format: what was measured,
//! by which threads, and what the output says of the run. It becomes a recording here.

use super::ImportError;
use crate::counts::too_many;
use crate::folder::Folder;
use crate::{Recording, SampleWriter};
use model::{
    Accounted, Column, Detail, Document, End, FORMAT, Host, HostFacts, Imported, Instrument,
    ProbeStatement, Quantity, RowCounts, RowKind, Said, State, Thread, Unknown, VERSION, Warning,
    fill_in, samples_file,
};
use plan::{CpuId, Length, Nanos, OverrunPolicy, Run, Scheduling, Settle};
use stats::{Bucket, Statistics, Summary};
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;

/// Samples of all threads together that are kept before they are written.
const MAX_KEPT: usize = 1 << 16;
/// Threads of an output at most: more than the CPUs of most machines, and what is judged of each
/// takes some MB.
const MAX_THREADS: usize = 1_024;
/// Threads that may have a file of samples each.
const MAX_FILES: usize = 512;
/// Lines that are kept of what an output says, and characters of each.
const MAX_SAID: usize = 64;
const MAX_TEXT: usize = 2_000;
/// Buckets of a thread at most, as many as a document holds.
const MAX_BUCKETS: usize = 5_000;
/// Beyond any latency, and far below overflow.
const MAX_NS: i64 = 1 << 53;

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
    pub resolution_ns: i64,
    pub interval: Option<Nanos>,
    pub scheduling: Option<Scheduling>,
    pub is_of_unknown_unit: bool,
    /// Whether the number of samples is not said: what is stated is a lower bound, or nothing.
    pub is_of_unknown_count: bool,
    /// Whether there may be values beyond the histogram that are not said.
    pub may_have_more: bool,
    pub command_line: Vec<String>,
    /// RFC 3339, or in the words of the output.
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    pub host: HostFacts,
    /// By thread.
    pub threads: Vec<Measured>,
    says: Vec<Said>,
    warnings: Vec<Warning>,
    /// Where samples go.
    place: PathBuf,
    folder: Option<Folder>,
    writers: Vec<Option<SampleWriter>>,
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

/// What an output says of one thread.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// The CPU that it ran on and no other, where that is said.
    pub cpu: Option<CpuId>,
    pub interval: Option<Nanos>,
    pub scheduling: Option<Scheduling>,
    /// Where the output has a histogram; in any order.
    pub buckets: Vec<Bucket>,
    /// Values beyond the histogram: how many, and the smallest that they may have been, ns.
    pub beyond: Option<(u64, i64)>,
    pub stated: Stated,
    /// System management interrupts meanwhile.
    pub smis: Option<u64>,
    /// Its id, where that is said.
    pub tid: u64,
    /// Samples that are not on the disk yet, and times of events before them.
    kept: Vec<i64>,
    times: Vec<i64>,
    /// Those on the disk.
    written: u64,
}

/// Figures as an output states them, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stated {
    pub count: Option<u64>,
    pub min: Option<i64>,
    pub mean: Option<f64>,
    pub sd: Option<f64>,
    pub max: Option<i64>,
    /// 50, 90, 99, 99.9 and 99.99 %.
    pub quantiles: [Option<i64>; 5],
}

impl Measured {
    /// Adds a value of a histogram, ns.
    pub(crate) fn bucket(&mut self, value: i64, count: u64) {
        self.range(value, value, count);
    }

    /// Adds a range of values of a histogram, both ends in it, ns.
    pub(crate) fn range(&mut self, lower: i64, upper: i64, count: u64) {
        if count > 0 {
            self.buckets.push(Bucket { lower, upper, count });
        }
    }

    /// Whether a thread of this id is not the one that was here before. Ids of 0 are not known.
    pub(crate) fn is_another(&mut self, tid: u64) -> bool {
        let is_another = self.tid != 0 && tid != 0 && self.tid != tid;
        if tid != 0 {
            self.tid = tid;
        }
        is_another
    }

    /// Whether anything is known of what it measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.samples() == 0
            && self.buckets.is_empty()
            && self.beyond.is_none_or(|(count, _)| count == 0)
            && self.stated.count.unwrap_or(u64::MAX) == 0
    }

    /// How many samples it has.
    pub(crate) fn samples(&self) -> u64 {
        self.written + self.kept.len() as u64
    }
}

impl Output {
    pub(super) fn new(
        program: &'static Program,
        format: &'static str,
        line: u64,
        place: PathBuf,
        rows: Rc<Rows>,
    ) -> Output {
        Output {
            program,
            format,
            line,
            version: None,
            resolution_ns: program.resolution_ns,
            interval: None,
            scheduling: None,
            is_of_unknown_unit: false,
            is_of_unknown_count: false,
            may_have_more: false,
            command_line: Vec::new(),
            started_at: None,
            ended_at: None,
            host: HostFacts::default(),
            threads: Vec::new(),
            says: Vec::new(),
            warnings: Vec::new(),
            place,
            folder: None,
            writers: Vec::new(),
            kept: 0,
            rows,
        }
    }

    pub(super) fn place(&self) -> &std::path::Path {
        &self.place
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

    /// Keeps what the output says, in its own words.
    pub(crate) fn say(&mut self, what: &str, text: &str) {
        if self.says.len() < MAX_SAID {
            let clip = |text: &str| text.trim().chars().take(MAX_TEXT).collect();
            self.says.push(Said { what: clip(what), text: clip(text) });
        }
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
        if self.folder.is_none() {
            self.folder = Some(Folder::part(&self.place)?);
        }
        let Some(folder) = &self.folder else { return Ok(()) };
        self.writers.resize_with(self.threads.len(), || None);
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
            let writer = match &mut self.writers[index] {
                Some(writer) => writer,
                none => none.insert(folder.samples(&thread, &statement)?),
            };
            let rows = measured.kept.len() as u64;
            measured.times.append(&mut measured.kept);
            writer.extend(measured.written, &measured.times)?;
            writer.flush()?;
            measured.written += rows;
            measured.times.clear();
        }
        self.kept = 0;
        Ok(())
    }

    /// Makes a recording of it, in the folder that is to be its own.
    ///
    /// # Errors
    /// When it says nothing that can be recorded, or cannot be written.
    pub(super) fn record(mut self, file: &str, teiji: &str) -> Result<(), ImportError> {
        let has_samples = self.threads.iter().any(|thread| thread.samples() > 0);
        if !has_samples {
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
        let known: Vec<Thread> =
            (0..self.writers.len()).map(|index| self.document_thread(index)).collect();
        for ((writer, thread), known) in self.writers.iter_mut().zip(&self.threads).zip(&known) {
            if let Some(writer) = writer {
                // Lines below the samples may have said more of the thread.
                writer.relabel(known);
                writer.finish(thread.written)?;
            }
        }
        self.writers.clear();
        let figures: Vec<Option<Summary>> =
            (0..self.threads.len()).map(|index| self.figures(index)).collect::<Result<_, _>>()?;
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => Folder::part(&self.place)?,
        };
        let mut document = self.document(file, teiji);
        is_possible(&document, self.line)?;
        for (thread, figures) in document.threads.iter_mut().zip(figures) {
            thread.latency_ns = figures;
            thread.latency_with_skipped_ns = figures;
        }
        let read = Recording::from_document(folder.path(), document.clone()).summarise()?;
        for (index, thread) in document.threads.iter_mut().enumerate() {
            let statistics = &read.threads[index];
            if thread.detail == Detail::Samples {
                fill_in(thread, &document.probe, statistics, &read.beside[index]);
                thread.evidence.samples_lost = statistics.lost;
                let accounted = Accounted::new(thread, statistics);
                thread.activations = accounted.map(|all| RowCounts::new(all.rows, &document.probe));
                continue;
            }
            thread.latency_ns = statistics.latency;
            thread.latency_with_skipped_ns = statistics.latency_with_skipped;
        }
        is_possible(&document, self.line)?;
        Ok(folder.put_down(&document, &self.place)?)
    }

    /// What stands beside samples or buckets of a thread, or all that there is of it: what is
    /// stated, where buckets do not contradict it. Buckets are put in order meanwhile.
    fn figures(&mut self, index: usize) -> Result<Option<Summary>, ImportError> {
        let (line, resolution) = (self.line, self.resolution_ns);
        let is_of_unknown_count = self.is_of_unknown_count;
        let thread = &mut self.threads[index];
        let stated = thread.stated;
        let within = |ns: Option<i64>| ns.is_none_or(|ns| (-MAX_NS..=MAX_NS).contains(&ns));
        let mean_fits = stated.mean.is_none_or(|mean| mean.abs() <= MAX_NS as f64);
        if !(within(stated.min) && within(stated.max) && mean_fits) {
            return Err(ImportError::at(line, format!("thread {index}: no latency is so large")));
        }
        if thread.samples() > 0 {
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
            let Some(mean) = stated.mean else {
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
            let [p50, p90, p99, p999, p9999] = stated.quantiles;
            if clamped != mean {
                let place = format!("thread {index}: mean");
                self.contradiction(
                    place,
                    mean_in_us(mean),
                    format!("{} to {}", in_us(min), in_us(max)),
                );
            }
            return Ok(Some(Summary {
                count: count.unsigned_abs(),
                min,
                mean: clamped,
                sd: stated.sd,
                max,
                p50,
                p90,
                p99,
                p999,
                p9999,
            }));
        }
        let found = thread.put_in_order(index, line, resolution)?;
        for (place, stated, found) in found.contradictions {
            self.contradiction(format!("thread {index}: {place}"), stated, found);
        }
        self.may_have_more |= found.has_more;
        Ok(found.figures)
    }

    fn document(&self, file: &str, teiji: &str) -> Document {
        let threads: Vec<Thread> = (0..self.threads.len())
            .map(|index| {
                let mut thread = self.document_thread(index);
                thread.histogram_ns.buckets.clone_from(&self.threads[index].buckets);
                thread
            })
            .collect();
        let mut unknown = vec![Unknown::Load];
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
        lacks(self.is_of_unknown_unit, Unknown::Unit);
        lacks(self.is_of_unknown_count, Unknown::Count);
        lacks(self.may_have_more, Unknown::Beyond);
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
        Document {
            format: FORMAT.to_owned(),
            version: VERSION,
            teiji: teiji.to_owned(),
            anonymous: false,
            state: State::Complete,
            end: Some(End::Done),
            started_at: self.started_at.clone().unwrap_or_default(),
            ended_at: self.ended_at.clone(),
            command_line: self.command_line.clone(),
            run: Run {
                title: None,
                probe: self.program.name.to_owned(),
                probe_settings: plan::ProbeSettings::new(),
                interval_ns: threads[0].interval_ns,
                distance_ns: if is_even { distance } else { Nanos::ZERO },
                length: Length::Samples(rows),
                cpus: threads.iter().map(|thread| thread.cpu).collect(),
                scheduling: threads[0].scheduling,
                aligned_ns: None,
                warmup_ns: Nanos::ZERO,
                break_above_ns: None,
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
                file: file.to_owned(),
                line: self.line,
                resolution_ns: self.resolution_ns.max(1),
                passes_over: self.program.passes_over,
                unknown,
                says: self.says.clone(),
            }),
        }
    }
}

/// Whether it can be read again.
fn is_possible(document: &Document, line: u64) -> Result<(), ImportError> {
    let why = |place| ImportError::at(line, format!("{place} is more than any run can have"));
    too_many(document).map_or(Ok(()), |place| Err(why(place)))
}

/// In the place of an interval that is not known.
const NO_INTERVAL: Nanos = Nanos(1);

/// What buckets and what is stated beside them come to.
struct Found {
    figures: Option<Summary>,
    /// What it is of, what is stated, what buckets say.
    contradictions: Vec<(&'static str, String, String)>,
    /// Whether it is not known how many are beyond its buckets, or how large.
    has_more: bool,
}

impl Measured {
    /// Puts buckets in order, no wider than what is stated beside them allows, and holds both
    /// against one another.
    fn put_in_order(
        &mut self,
        index: usize,
        line: u64,
        resolution: i64,
    ) -> Result<Found, ImportError> {
        let error = |why: String| ImportError::at(line, format!("thread {index}: {why}"));
        let (mut contradictions, mut has_more) = (Vec::new(), false);
        let stated = self.stated;
        self.buckets.sort_by_key(|bucket| (bucket.lower, bucket.upper));
        let mut buckets: Vec<Bucket> = Vec::with_capacity(self.buckets.len());
        for bucket in self.buckets.drain(..) {
            let Bucket { lower, upper, count } = bucket;
            if lower > upper || lower < -MAX_NS || upper > MAX_NS || count > 1 << 53 {
                return Err(error(format!("a bucket of {count} from {lower} to {upper} ns")));
            }
            match buckets.last_mut() {
                Some(last) if last.upper >= lower && (last.lower, last.upper) != (lower, upper) => {
                    return Err(error(format!("two buckets hold {lower} ns")));
                }
                Some(last) if last.lower == lower => last.count = last.count.saturating_add(count),
                _ => buckets.push(bucket),
            }
        }
        if let Some((count, from)) = self.beyond.filter(|(count, _)| *count > 0) {
            let last = buckets.last().map_or(i64::MIN, |bucket| bucket.upper);
            let lower = from.max(last.saturating_add(1));
            if lower > MAX_NS {
                return Err(error("no latency is so large".to_owned()));
            }
            let upper = match stated.max.filter(|max| *max >= lower) {
                Some(max) => max,
                None => {
                    has_more = true;
                    let stated = stated.max.map_or_else(|| "none".to_owned(), in_us);
                    contradictions.push((
                        "maximum",
                        stated,
                        format!("{count} values of {} or more", in_us(lower)),
                    ));
                    lower
                }
            };
            buckets.push(Bucket { lower, upper, count });
        }
        // As many digits as a µs has are enough for what a document can hold.
        if buckets.len() > MAX_BUCKETS - 2 {
            merge_neighbours(&mut buckets);
        }
        let (Some(first), Some(last)) = (buckets.first().copied(), buckets.last().copied()) else {
            return Err(error("the histogram is empty".to_owned()));
        };
        let count = buckets.iter().try_fold(0_u64, |sum, bucket| sum.checked_add(bucket.count));
        let Some(count) = count.filter(|count| *count <= 1 << 53) else {
            return Err(error("the histogram holds more than any run".to_owned()));
        };
        if let Some(stated) = stated.count.filter(|stated| *stated != count) {
            contradictions.push(("number of samples", stated.to_string(), count.to_string()));
        }
        // What buckets do not reach to was there at least once: it is judged, too.
        if let Some(max) = stated.max.filter(|max| *max > last.upper) {
            contradictions.push(("maximum", in_us(max), between(last)));
            has_more = true;
            buckets.push(Bucket { lower: max, upper: max, count: 1 });
        }
        if let Some(min) = stated.min.filter(|min| *min < first.lower) {
            contradictions.push(("minimum", in_us(min), between(first)));
            buckets.insert(0, Bucket { lower: min, upper: min, count: 1 });
        }
        let (first, last) = (buckets[0], buckets[buckets.len() - 1]);
        let count = buckets.iter().map(|bucket| bucket.count).fold(0, u64::saturating_add);
        let is_in = |bucket: Bucket, ns: &i64| (bucket.lower..=bucket.upper).contains(ns);
        let min = stated.min.filter(|ns| is_in(first, ns));
        if let (None, Some(stated)) = (min, stated.min) {
            contradictions.push(("minimum", in_us(stated), between(first)));
        }
        let max = stated.max.filter(|ns| is_in(last, ns));
        if let (None, Some(stated)) = (max, stated.max) {
            contradictions.push(("maximum", in_us(stated), between(last)));
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            let why = format!("the smallest, {}, is above the largest, {}", in_us(min), in_us(max));
            return Err(error(why));
        }
        if let (Some(min), Some(bucket)) = (min, buckets.first_mut()) {
            bucket.lower = min;
        }
        if let (Some(max), Some(bucket)) = (max, buckets.last_mut()) {
            bucket.upper = max;
        }
        self.buckets = buckets;
        let Some(own) = Statistics::from_histogram(&self.buckets).latency else {
            return Err(error("the histogram is empty".to_owned()));
        };
        let mean_of = |of: fn(&Bucket) -> i64| {
            let sum = |bucket: &Bucket| i128::from(of(bucket)) * i128::from(bucket.count);
            self.buckets.iter().map(sum).sum::<i128>() as f64 / count as f64
        };
        // A mean is printed to a ns at best.
        let tolerance = resolution as f64 + 1.0;
        let lowest = mean_of(|bucket| bucket.lower) - tolerance;
        let highest = mean_of(|bucket| bucket.upper) + tolerance;
        let mean = stated.mean.filter(|mean| (lowest..=highest).contains(mean));
        if let (None, Some(stated)) = (mean, stated.mean) {
            let found = format!("{:.3} to {:.3} us", lowest / 1e3, highest / 1e3);
            contradictions.push(("mean", mean_in_us(stated), found));
        }
        let (min, max) = (min.unwrap_or(own.min), max.unwrap_or(own.max));
        if let Some(mean) = mean.filter(|mean| !(min as f64..=max as f64).contains(mean)) {
            let found = format!("{} to {}", in_us(min), in_us(max));
            contradictions.push(("mean", mean_in_us(mean), found));
        }
        let mean = mean.unwrap_or(own.mean).clamp(min as f64, max as f64);
        let figures = Summary { min, max, mean, sd: stated.sd, ..own };
        Ok(Found { figures: Some(figures), contradictions, has_more })
    }
}

/// Makes neighbours one until there are few enough, each as wide as it has to be.
fn merge_neighbours(buckets: &mut Vec<Bucket>) {
    while buckets.len() > MAX_BUCKETS - 2 {
        // The largest stay as they are, and those below them lose precision.
        let kept = MAX_BUCKETS / 4;
        let below = buckets.len() - kept;
        let mut merged: Vec<Bucket> = buckets[..below]
            .chunks(2)
            .map(|pair| Bucket {
                lower: pair[0].lower,
                upper: pair[pair.len() - 1].upper,
                count: pair.iter().map(|bucket| bucket.count).fold(0, u64::saturating_add),
            })
            .collect();
        merged.extend_from_slice(&buckets[below..]);
        *buckets = merged;
    }
}

fn in_us(ns: i64) -> String {
    format!("{:.3} us", ns as f64 / 1e3)
}

fn mean_in_us(ns: f64) -> String {
    format!("{:.3} us", ns / 1e3)
}

fn between(bucket: Bucket) -> String {
    if bucket.lower == bucket.upper {
        in_us(bucket.lower)
    } else {
        format!("{} to {}", in_us(bucket.lower), in_us(bucket.upper))
    }
}
