// SPDX-License-Identifier: MIT OR Apache-2.0
//! CSV: every row of a recording, or its histogram.

use super::ExportError;
use model::{Detail, Document, ProbeStatement, Thread, Unknown};
use recording::{Recording, Row, each_row};
use stats::Bucket;
use std::io::{self, BufWriter, Write};

/// A row for each activation that was due, or for each event. `cell` makes a text of the recording
/// one that a table may hold.
///
/// # Errors
/// When samples cannot be read: then those before are written, and the other threads'.
pub fn export_samples(
    recording: &Recording,
    cell: fn(&str) -> String,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let mut out = BufWriter::with_capacity(1 << 16, to);
    let probe = &recording.document().probe;
    let own = OwnUnit::of(recording.document());
    let columns: Vec<String> =
        probe.columns.iter().map(|column| cell(own.name(&column.name))).collect();
    let RowNames { row, time } = RowNames::of(probe);
    writeln!(out, "thread,cpu,{row},{},{}", own.name(time), columns.join(","))?;
    let result = each_table_row(recording, &mut |thread, row, time| {
        let (index, cpu) = (thread.index, probe.cpu_text(thread));
        let text = |ns: Option<i64>| text(ns.map(|ns| own.value(ns)));
        write!(out, "{index},{cpu},{},{}", row.number, text(time))?;
        for value in row.values {
            write!(out, ",{}", text(*value))?;
        }
        writeln!(out)
    });
    out.flush()?;
    result
}

/// The unit of an output that was imported and does not state it: times are in that, and no heading
/// calls them ns.
struct OwnUnit(Option<i64>);

impl OwnUnit {
    fn of(document: &Document) -> Self {
        let imported = document.imported.as_ref().filter(|_| document.lacks(Unknown::Unit));
        OwnUnit(imported.map(|imported| imported.resolution_ns.max(1)))
    }

    fn name<'n>(&self, name: &'n str) -> &'n str {
        self.0.and_then(|_| name.strip_suffix("_ns")).unwrap_or(name)
    }

    fn value(&self, ns: i64) -> i64 {
        ns / self.0.unwrap_or(1)
    }
}

/// What the number of a row and its time are called.
pub(super) struct RowNames {
    pub(super) row: &'static str,
    pub(super) time: &'static str,
}

impl RowNames {
    pub(super) fn of(probe: &ProbeStatement) -> Self {
        if probe.is_planned() {
            RowNames { row: "activation", time: "planned_ns" }
        } else {
            RowNames { row: "event", time: "time_ns" }
        }
    }
}

/// Takes a row of a thread, with its time in ns.
pub(super) type TakeRow<'a> = dyn FnMut(&Thread, Row<'_>, Option<i64>) -> io::Result<()> + 'a;

/// Hands over each row of each thread.
///
/// # Errors
/// When `visit` fails, and then nothing more is read; when samples cannot be read: then those
/// before were handed over, and the other threads'.
pub(super) fn each_table_row(
    recording: &Recording,
    visit: &mut TakeRow<'_>,
) -> Result<(), ExportError> {
    let probe = &recording.document().probe;
    let mut damaged = None;
    for (thread, files) in recording.document().threads.iter().zip(recording.sample_files()?) {
        let planned =
            |row: u64| i64::try_from(row).unwrap_or(i64::MAX).saturating_mul(thread.interval_ns.0);
        // Another program's may not be known.
        let has_interval = recording.document().known_interval(thread).is_some();
        let mut failed: io::Result<()> = Ok(());
        let read = each_row(&files, &mut |row| {
            if failed.is_err() {
                return;
            }
            let since_start = match probe.is_planned() {
                true => has_interval.then(|| planned(row.number)),
                false => row.time_ns,
            };
            failed = visit(thread, row, since_start.map(|time| thread.start_ns.0 + time));
        });
        failed?;
        damaged = damaged.or(read.err());
    }
    damaged.map_or(Ok(()), |error| Err(error.into()))
}

/// Empty for a missing value.
fn text(value: Option<i64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A row for each bucket of the histogram.
///
/// # Errors
/// When samples cannot be read, or there is no histogram.
pub fn export_histogram(
    recording: Recording,
    cell: fn(&str) -> String,
    to: &mut dyn Write,
) -> Result<(), ExportError> {
    let recorded = recording.summarise()?;
    if recorded.document.threads.iter().any(|thread| thread.detail == Detail::Figures) {
        let path = recorded.path.display();
        return Err(ExportError::Refused(format!("{path} holds no histogram")));
    }
    let mut out = BufWriter::new(to);
    let own = OwnUnit::of(&recorded.document);
    let [from, to] = ["from_ns", "to_ns"].map(|name| own.name(name));
    writeln!(out, "thread,cpu,{from},{to},count,column,probe")?;
    let probe = &recorded.document.probe;
    let of = cell(&probe.name);
    for (place, (thread, judged)) in
        recorded.document.threads.iter().zip(&recorded.threads).enumerate()
    {
        // Of a recording without samples the judged column alone may be known.
        let further =
            recorded.beside.get(place).map(|beside| beside.columns.as_slice()).unwrap_or_default();
        for (column, statistics) in probe.columns.iter().zip([judged].into_iter().chain(further)) {
            let name = cell(own.name(&column.name));
            // Of a histogram alone its own buckets, which may be wider than ours or narrower.
            let buckets: Vec<Bucket> = match thread.detail {
                Detail::Histogram => thread.histogram_ns.buckets.clone(),
                Detail::Samples | Detail::Figures => statistics.histogram.buckets().collect(),
            };
            for bucket in buckets {
                let (index, cpu) = (thread.index, probe.cpu_text(thread));
                writeln!(
                    out,
                    "{index},{cpu},{},{},{},{name},{of}",
                    own.value(bucket.lower),
                    own.value(bucket.upper),
                    bucket.count
                )?;
            }
        }
    }
    Ok(out.flush()?)
}
