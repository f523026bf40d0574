// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole document, and its threads.

use super::{Anonymiser, each};
use crate::{
    CoKernel, Column, ColumnFigures, Document, End, HistogramDocument, Imported, Instrument,
    ProbeStatement, Said, Thread, samples_file,
};

impl Anonymiser<'_> {
    /// The same document without names. One that is anonymous already is not changed.
    pub fn document(&self, mut document: Document) -> Document {
        if document.anonymous {
            return document;
        }
        let Document {
            teiji,
            anonymous,
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
            host,
            lab,
            imported,
            format: _,
            version: _,
            state: _,
            load_off_target: _,
        } = &mut document;
        *anonymous = true;
        *teiji = self.ours("value", teiji);
        end.iter_mut().for_each(|end| self.end(end));
        each([started_at].into_iter().chain(ended_at), |time| self.time(time));
        *command_line = self.command_line(command_line);
        self.run(run);
        self.statement(probe);
        self.instrument(instrument);
        warnings.iter_mut().for_each(|warning| self.warning(warning));
        threads.iter_mut().for_each(thread);
        load.iter_mut().for_each(|load| self.load_evidence(load));
        self.host(host);
        lab.iter_mut().for_each(|lab| self.lab(lab));
        imported.iter_mut().for_each(|imported| self.imported(imported));
        document
    }

    fn imported(&self, imported: &mut Imported) {
        let Imported {
            format,
            version,
            ran_by,
            load,
            file,
            says,
            line: _,
            resolution_ns: _,
            passes_over: _,
            unknown: _,
        } = imported;
        each([format].into_iter().chain(version).chain(ran_by), |text| self.ours("value", text));
        each(load, |text| self.name("value", text));
        *file = self.name("file", file);
        for Said { what, text } in says {
            (*what, *text) = (self.ours("value", what), self.name("value", text));
        }
    }

    fn end(&self, end: &mut End) {
        match end {
            End::Signal { name } => *name = self.ours("value", name),
            End::ProbeFailed { error } | End::RecordingFailed { error } => {
                *error = self.error(error);
            }
            End::Done
            | End::BreakAbove { thread: _, activation: _, latency_ns: _ }
            | End::Guard { starved_ns: _, cpu: _ }
            | End::Overtime { by_ns: _ } => {}
        }
    }

    /// The time of day is no name.
    fn time(&self, time: &str) -> String {
        if time.chars().all(|letter| "0123456789TZ:-+.".contains(letter)) {
            time.to_owned()
        } else {
            self.name("value", time)
        }
    }

    fn statement(&self, statement: &mut ProbeStatement) {
        let ProbeStatement {
            name,
            columns,
            clock,
            measuring_point,
            rows: _,
            overrun_column: _,
            quantity: _,
            period_ns: _,
            only_observes: _,
            from_file: _,
        } = statement;
        *name = self.ours("probe", name).into();
        // The samples are found by a column's name.
        let meanings = columns.iter_mut().map(|Column { meaning, name: _, unit: _ }| meaning);
        for text in meanings.chain([clock, measuring_point]) {
            *text = self.sentence(text).into();
        }
    }

    fn instrument(&self, instrument: &mut Instrument) {
        let Instrument {
            clock,
            co_kernel,
            clock_resolution_ns: _,
            clock_read_ns: _,
            real_time: _,
            settled_in_ns: _,
            memory_locked: _,
            dma_latency_held: _,
            ring_slots: _,
            start_to_first_activation_ns: _,
            virtual_time: _,
            // Events of the kernel, and numbers.
            watched: _,
        } = instrument;
        *clock = self.sentence(clock);
        if let Some(CoKernel { name, version, gravity, abi: _, chosen: _ }) = co_kernel {
            each([name].into_iter().chain(version), |text| self.ours("value", text));
            each(gravity, |text| self.terms("value", text));
        }
    }
}

fn thread(thread: &mut Thread) {
    let Thread {
        index,
        samples_file: file,
        histogram_ns,
        columns,
        cpu: _,
        pinned: _,
        scheduling: _,
        nice: _,
        timer_slack_ns: _,
        interval_ns: _,
        start_ns: _,
        given_up_ns: _,
        detail: _,
        activations: _,
        latency_ns: _,
        latency_with_skipped_ns: _,
        worst: _,
        polling: _,
        smis: _,
        evidence: _,
    } = thread;
    if !file.is_empty() {
        *file = samples_file(*index);
    }
    // Columns are named as the probe states them.
    let of_columns =
        columns.iter().map(|ColumnFigures { histogram, name: _, values: _ }| histogram);
    for HistogramDocument { relative_error: _, buckets: _ } in of_columns.chain([&*histogram_ns]) {}
}
