// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole document, and its threads.

use super::Anonymiser;
use crate::{
    CoKernel, Column, ColumnFigures, Document, End, HistogramDocument, Instrument, ProbeStatement,
    Thread, samples_file,
};

impl Anonymiser<'_> {
    /// The same document without names. One that is anonymous already is not changed.
    #[must_use]
    pub fn document(&self, document: Document) -> Document {
        if document.anonymous {
            return document;
        }
        let Document {
            format,
            version,
            teiji,
            anonymous: _,
            state,
            end,
            started_at,
            ended_at,
            command_line,
            run,
            probe,
            instrument,
            warnings,
            threads,
            load,
            load_off_target,
            host,
            lab,
        } = document;
        Document {
            format,
            version,
            teiji: self.ours("value", &teiji),
            anonymous: true,
            state,
            end: end.map(|end| self.end(end)),
            started_at: self.time(started_at),
            ended_at: ended_at.map(|time| self.time(time)),
            command_line: self.command_line(&command_line),
            run: self.run(run),
            probe: self.statement(probe),
            instrument: self.instrument(instrument),
            warnings: warnings.into_iter().map(|warning| self.warning(warning)).collect(),
            threads: threads.into_iter().map(thread).collect(),
            load: load.into_iter().map(|load| self.load_evidence(load)).collect(),
            load_off_target,
            host: self.host(host),
            lab: lab.map(|lab| self.lab(lab)),
        }
    }

    fn end(&self, end: End) -> End {
        match end {
            End::Signal { name } => End::Signal { name: self.ours("value", &name) },
            End::ProbeFailed { error } => End::ProbeFailed { error: self.error(&error) },
            End::RecordingFailed { error } => End::RecordingFailed { error: self.error(&error) },
            end @ (End::Done
            | End::BreakAbove { thread: _, activation: _, latency_ns: _ }
            | End::Guard { starved_ns: _, cpu: _ }
            | End::Overtime { by_ns: _ }) => end,
        }
    }

    /// The time of day is no name.
    fn time(&self, time: String) -> String {
        if time.chars().all(|letter| "0123456789TZ:-+.".contains(letter)) {
            time
        } else {
            self.name("value", &time)
        }
    }

    fn statement(&self, statement: ProbeStatement) -> ProbeStatement {
        let ProbeStatement {
            name,
            rows,
            columns,
            overrun_column,
            clock,
            measuring_point,
            quantity,
            period_ns,
            only_observes,
        } = statement;
        // The samples are found by a column's name.
        let column = |Column { name, unit, meaning }| Column {
            name,
            unit,
            meaning: self.sentence(&meaning).into(),
        };
        ProbeStatement {
            name: self.ours("probe", &name).into(),
            rows,
            columns: columns.into_iter().map(column).collect(),
            overrun_column,
            clock: self.sentence(&clock).into(),
            measuring_point: self.sentence(&measuring_point).into(),
            quantity,
            period_ns,
            only_observes,
        }
    }

    fn instrument(&self, instrument: Instrument) -> Instrument {
        let Instrument {
            clock,
            clock_resolution_ns,
            clock_read_ns,
            real_time,
            settled_in_ns,
            memory_locked,
            dma_latency_held,
            ring_slots,
            start_to_first_activation_ns,
            co_kernel,
        } = instrument;
        let core = |CoKernel { name, version, abi, gravity, chosen }| CoKernel {
            name: self.ours("value", &name),
            version: version.map(|version| self.ours("value", &version)),
            abi,
            gravity: gravity.map(|gravity| self.terms("value", &gravity)),
            chosen,
        };
        Instrument {
            clock: self.sentence(&clock),
            clock_resolution_ns,
            clock_read_ns,
            real_time,
            settled_in_ns,
            memory_locked,
            dma_latency_held,
            ring_slots,
            start_to_first_activation_ns,
            co_kernel: co_kernel.map(core),
        }
    }
}

fn thread(thread: Thread) -> Thread {
    let Thread {
        index,
        cpu,
        pinned,
        scheduling,
        nice,
        interval_ns,
        start_ns,
        given_up_ns,
        detail,
        samples_file: file,
        activations,
        latency_ns,
        latency_with_skipped_ns,
        histogram_ns,
        worst,
        columns,
        polling,
        smis,
        evidence,
    } = thread;
    // Named as the probe states them.
    let column = |ColumnFigures { name, values, histogram }| ColumnFigures {
        name,
        values,
        histogram: counts(histogram),
    };
    Thread {
        index,
        cpu,
        pinned,
        scheduling,
        nice,
        interval_ns,
        start_ns,
        given_up_ns,
        detail,
        samples_file: if file.is_empty() { file } else { samples_file(index) },
        activations,
        latency_ns,
        latency_with_skipped_ns,
        histogram_ns: counts(histogram_ns),
        worst,
        columns: columns.into_iter().map(column).collect(),
        polling,
        smis,
        evidence,
    }
}

fn counts(HistogramDocument { relative_error, buckets }: HistogramDocument) -> HistogramDocument {
    HistogramDocument { relative_error, buckets }
}
