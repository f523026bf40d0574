// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji export`: what a recording holds as text, for programs that do not read Arrow.

use crate::exit::{CommandResult, DONE};
use crate::output;
use crate::overwrite::refuse_existing;
use anyhow::Context;
use recording::{Recording, each_row};
use report::{Paint, csv_cell, shown};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// A recording (NAME.teiji)
    #[arg(value_name = "REC")]
    recording: PathBuf,
    #[command(flatten)]
    what: What,
    /// The file, CSV [default: standard output]
    #[arg(short, long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "output")]
    force: bool,
    /// Replace names by pseudonyms, as `teiji anonymise` does. A table has at most that of a probe
    /// which teiji does not know
    #[arg(long)]
    anonymous: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// A row for each activation that was due: thread, CPU, number, planned time (CLOCK_MONOTONIC)
    /// and latency, ns, or the columns of another probe; of an event, when it happened. Values
    /// are empty where the activation was skipped or its sample lost
    #[arg(long)]
    samples: bool,
    /// A row for each bucket of the histogram that holds latencies as measured: thread, CPU,
    /// smallest and largest latency, ns, how many, the column of which these are values, and
    /// the probe. Further columns of a probe follow that which is judged
    #[arg(long)]
    histogram: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let recording = Recording::open(&args.recording)?;
    let recording = if args.anonymous {
        recording.anonymous(&super::anonymise::pseudonyms()?)
    } else {
        recording
    };
    let write = |to: &mut dyn Write| {
        if args.what.samples { samples(&recording, to) } else { histogram(recording.clone(), to) }
    };
    match &args.output {
        Some(path) => into(path, args.force, write)?,
        None => match write(&mut io::stdout().lock()) {
            // Whoever read has seen enough.
            Err(error)
                if error
                    .downcast_ref::<io::Error>()
                    .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) => {}
            result => result?,
        },
    }
    Ok(DONE)
}

/// Writes a file, all of it or none of it.
fn into(
    path: &Path,
    force: bool,
    write: impl Fn(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    refuse_existing(path, force)?;
    let named = || format!("cannot write {}", path.display());
    if path.exists() && !path.is_file() {
        return write(&mut std::fs::File::create(path).with_context(named)?);
    }
    output::write_by(path, |file| write(file))?;
    complain!("Written: {}", path.display());
    Ok(())
}

fn samples(recording: &Recording, to: &mut dyn Write) -> anyhow::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, to);
    let probe = &recording.document().probe;
    let columns: Vec<String> = probe.columns.iter().map(|column| cell(&column.name)).collect();
    let (row, time) =
        if probe.is_planned() { ("activation", "planned_ns") } else { ("event", "time_ns") };
    writeln!(out, "thread,cpu,{row},{time},{}", columns.join(","))?;
    let mut damaged = None;
    for (thread, files) in recording.document().threads.iter().zip(recording.sample_files()?) {
        let (index, cpu) = (thread.index, probe.cpu_text(thread));
        let planned =
            |row: u64| i64::try_from(row).unwrap_or(i64::MAX).saturating_mul(thread.interval_ns.0);
        let mut failed: io::Result<()> = Ok(());
        let mut line = String::new();
        let read = each_row(&files, &mut |row| {
            if failed.is_err() {
                return;
            }
            let since_start =
                if probe.is_planned() { Some(planned(row.number)) } else { row.time_ns };
            line = format!(
                "{index},{cpu},{},{}",
                row.number,
                text(since_start.map(|time| thread.start_ns.0 + time))
            );
            for value in row.values {
                line.push(',');
                line.push_str(&text(*value));
            }
            failed = writeln!(out, "{line}");
        });
        failed?;
        // What is left of a damaged file is written, and the other threads'.
        damaged = damaged.or(read.err());
    }
    out.flush()?;
    damaged.map_or(Ok(()), |error| Err(error.into()))
}

/// A text of the recording as RFC 4180 has it.
fn cell(text: &str) -> String {
    let text = shown(text, Paint::Plain);
    let text = csv_cell(&text);
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

/// Empty for a missing value.
fn text(value: Option<i64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn histogram(recording: Recording, to: &mut dyn Write) -> anyhow::Result<()> {
    let recorded = recording.summarise()?;
    if recorded.document.threads.iter().any(|thread| thread.detail == model::Detail::Figures) {
        anyhow::bail!("{} holds no histogram", recorded.path.display());
    }
    let mut out = BufWriter::new(to);
    writeln!(out, "thread,cpu,from_ns,to_ns,count,column,probe")?;
    let probe = &recorded.document.probe;
    let of = cell(&probe.name);
    for (place, (thread, judged)) in
        recorded.document.threads.iter().zip(&recorded.threads).enumerate()
    {
        // Of a recording without samples the judged column alone may be known.
        let further =
            recorded.beside.get(place).map(|beside| beside.columns.as_slice()).unwrap_or_default();
        for (column, statistics) in probe.columns.iter().zip([judged].into_iter().chain(further)) {
            let name = cell(&column.name);
            for bucket in statistics.histogram.buckets() {
                let (index, cpu) = (thread.index, probe.cpu_text(thread));
                writeln!(
                    out,
                    "{index},{cpu},{},{},{},{name},{of}",
                    bucket.lower, bucket.upper, bucket.count
                )?;
            }
        }
    }
    Ok(out.flush()?)
}
