// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings written for other programs: one file per format, and one line of a table for each.
//!
//! What a format cannot hold is refused, or named in what [`export`] returns.

mod csv;
mod cyclictest;
mod hdrhistogram;
mod micros;
mod openmetrics;
mod osadl;
mod parquet;
mod perfetto;

pub use csv::{export_histogram, export_samples};
pub use cyclictest::{
    CyclictestFigures, CyclictestFrame, CyclictestThread, HistogramLayout, UnameFields,
    cyclictest_histogram, cyclictest_json, cyclictest_time,
};

use model::{Detail, Quantity, Recorded, RowKind, Unknown};
use recording::{Recording, RecordingError, each_row};
use stats::Summary;
use std::io::{self, BufWriter, Write};

/// A format that recordings are written in.
#[derive(Debug)]
pub struct ExportFormat {
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Whether it is no text.
    pub is_binary: bool,
    /// Whether it makes something of [`ExportOptions::above_ns`].
    pub takes_above: bool,
    needs: Needs,
    /// Whether it says in which unit its times are.
    states_unit: bool,
    /// Writes it. Returns what of the recording is not in it.
    write: fn(&Source<'_>, &mut dyn Write) -> Result<Vec<String>, ExportError>,
}

/// What a format is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Any values in ns.
    Values,
    /// Latencies of rows that have a number and no time of their own.
    Latencies,
    /// Latencies of rows whose planned time is known.
    PlannedTimes,
    /// Rows of whatever the probe measures, all columns of them.
    Rows,
}

/// Every format that is written.
pub const EXPORT_FORMATS: &[ExportFormat] = &[
    ExportFormat {
        name: "cyclictest-histogram",
        what: "what cyclictest -h prints: 1 us buckets of each thread, below 1 s",
        is_binary: false,
        takes_above: false,
        needs: Needs::Latencies,
        states_unit: false,
        write: cyclictest::write_histogram,
    },
    ExportFormat {
        name: "cyclictest-json",
        what: "what cyclictest -h --json writes",
        is_binary: false,
        takes_above: false,
        needs: Needs::Latencies,
        states_unit: true,
        write: cyclictest::write_json,
    },
    ExportFormat {
        name: "osadl",
        what: "OSADL RT Dataset 1.0 (Latencyplot): JSON with 1 us buckets",
        is_binary: false,
        takes_above: false,
        needs: Needs::Latencies,
        states_unit: true,
        write: osadl::write,
    },
    ExportFormat {
        name: "hdrhistogram",
        what: "HdrHistogram log, V2: one interval, a tag for each thread, ns in 3 digits",
        is_binary: false,
        takes_above: false,
        needs: Needs::Values,
        states_unit: true,
        write: hdrhistogram::write,
    },
    ExportFormat {
        name: "openmetrics",
        what: "OpenMetrics text: a histogram of each thread and its gauges",
        is_binary: false,
        takes_above: false,
        needs: Needs::Values,
        states_unit: true,
        write: openmetrics::write,
    },
    ExportFormat {
        name: "parquet",
        what: "Parquet: the table of --samples, and run.json in its metadata",
        is_binary: true,
        takes_above: false,
        states_unit: true,
        needs: Needs::Rows,
        write: parquet::write,
    },
    ExportFormat {
        name: "perfetto",
        what: "Perfetto trace: the largest latencies as slices, and all as a counter",
        is_binary: true,
        takes_above: true,
        needs: Needs::PlannedTimes,
        states_unit: true,
        write: perfetto::write,
    },
];

/// The format of this name.
pub fn export_format(name: &str) -> Option<&'static ExportFormat> {
    EXPORT_FORMATS.iter().find(|format| format.name == name)
}

/// What a file says that no recording does.
#[derive(Clone, Debug)]
pub struct ExportOptions {
    /// What the recording is called.
    pub name: String,
    /// When the file is written, RFC 3339.
    pub written_at: String,
    /// Show latencies above this, ns; without it the largest.
    pub above_ns: Option<i64>,
    /// Escapes what would steer a terminal, as `\u001b`.
    pub shown: fn(&str) -> String,
}

/// Why a recording is not written in a format.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Recording(#[from] RecordingError),
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The format cannot hold it.
    #[error("{0}")]
    Refused(String),
}

/// Writes a recording in a format, and returns what of it is not in it.
///
/// # Errors
/// When its samples cannot be read, the format cannot hold them, or writing fails.
pub fn export(
    recording: &Recording,
    format: &ExportFormat,
    options: &ExportOptions,
    to: &mut dyn Write,
) -> Result<Vec<String>, ExportError> {
    let probe = &recording.document().probe;
    let is_of_latencies = probe.quantity == Quantity::Latency && probe.rows != RowKind::Events;
    let lacks = match format.needs {
        Needs::Values | Needs::Rows => None,
        Needs::Latencies => (!is_of_latencies).then_some("latencies of activations"),
        Needs::PlannedTimes => {
            (!is_of_latencies || !probe.is_planned()).then_some("activations with planned times")
        }
    };
    if let Some(lacks) = lacks {
        let name = format.name;
        return Err(ExportError::Refused(format!("{name} holds {lacks} only: this has none")));
    }
    if format.states_unit && recording.document().lacks(Unknown::Unit) {
        return Err(ExportError::Refused(format!(
            "{} states the unit of its times, and the output that was imported does not: import it \
             again with --unit",
            format.name
        )));
    }
    let recorded = recording.clone().summarise()?;
    let source = Source { recording, recorded, format, options };
    let mut out = BufWriter::with_capacity(1 << 16, to);
    let mut left_out = match (format.write)(&source, &mut out) {
        Ok(left_out) => left_out,
        Err(error) => {
            // Of what is refused no beginning is written.
            let _ = out.into_parts();
            return Err(error);
        }
    };
    out.flush()?;
    if format.needs != Needs::Rows {
        let further = source.recorded.document.probe.others().count() as u64;
        left_out.extend(counted(further, "further column", "further columns"));
    }
    Ok(left_out)
}

/// A number in groups of seven bits, the lowest first, as protobuf and thrift have it.
fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    to.push(value.to_le_bytes()[0]);
}

/// So many, unless there are none.
fn counted(n: u64, one: &str, several: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { several }))
}

/// The recording that is written.
struct Source<'a> {
    recording: &'a Recording,
    recorded: Recorded,
    format: &'a ExportFormat,
    options: &'a ExportOptions,
}

impl Source<'_> {
    const fn threads(&self) -> usize {
        self.recorded.document.threads.len()
    }

    /// A text of the recording as it stands in quotes of JSON.
    fn in_json(&self, text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        (self.options.shown)(&quoted[1..quoted.len() - 1])
    }

    /// Activations that were skipped and samples that were lost.
    fn skipped_and_lost(&self) -> Vec<String> {
        let all = || self.recorded.threads.iter();
        let skipped = all().map(|thread| thread.activations.skipped).sum();
        let lost = all().map(|thread| thread.lost).sum();
        let counts = [
            counted(skipped, "skipped activation", "skipped activations"),
            counted(lost, "lost sample", "lost samples"),
        ];
        counts.into_iter().flatten().collect()
    }

    /// What another program stated beside the histogram of a thread, whose buckets do not say it
    /// as exactly.
    fn stated(&self, thread: usize) -> Option<Summary> {
        let document = &self.recorded.document;
        let of = &document.threads[thread];
        of.latency_ns.filter(|_| document.imported.is_some() && of.detail == Detail::Histogram)
    }

    /// Hands over each judged value of a thread, ns, with its row, and how often it was measured.
    /// Where only a histogram is known, rows are not, and each of its buckets has to lie in one of
    /// the format's, which `bucket` tells; with `takes_beyond`, but for that of all values beyond.
    fn each_value(
        &self,
        thread: usize,
        bucket: impl Fn(i64) -> i64,
        takes_beyond: bool,
        visit: &mut dyn FnMut(Option<u64>, i64, u64),
    ) -> Result<(), ExportError> {
        let of = &self.recorded.document.threads[thread];
        match of.detail {
            Detail::Samples => {
                let file = self.recording.judged_samples(of)?;
                each_row(&[file], &mut |row| {
                    if let [Some(value)] = row.values {
                        visit(Some(row.number), *value, 1);
                    }
                })?;
            }
            Detail::Histogram | Detail::Figures if self.format.needs == Needs::PlannedTimes => {
                return Err(RecordingError::NoSamples(self.recorded.path.clone()).into());
            }
            Detail::Histogram => {
                for one in &of.histogram_ns.buckets {
                    if !takes_beyond && bucket(one.lower) != bucket(one.upper) {
                        return Err(ExportError::Refused(format!(
                            "thread {thread}: {} cannot say where in {} to {} ns latencies were",
                            self.format.name, one.lower, one.upper
                        )));
                    }
                    visit(None, one.lower, one.count);
                }
            }
            Detail::Figures => {
                let path = self.recorded.path.display();
                return Err(ExportError::Refused(format!(
                    "{path} holds no histogram of thread {thread}, only its figures"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
