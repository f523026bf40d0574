// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji export`: a recording as CSV, or in a format of other programs.

use crate::exit::{CommandResult, DONE};
use crate::output;
use crate::overwrite::refuse_existing;
use anyhow::{Context, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use formats::{
    EXPORT_FORMATS, ExportError, ExportFormat, ExportOptions, export, export_format,
    export_histogram, export_samples,
};
use plan::Nanos;
use recording::Recording;
use report::{Language, Paint, csv_cell, shown};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[derive(clap::Args)]
pub struct Args {
    /// A recording (NAME.teiji)
    #[arg(value_name = "REC")]
    recording: PathBuf,
    #[command(flatten)]
    what: What,
    /// With --as perfetto: a slice for each latency above this, such as 50us, instead of the 1,000
    /// largest
    #[arg(long, value_name = "TIME", value_parser = super::run_flags::micros, requires = "format")]
    above: Option<Nanos>,
    /// The file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
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
    /// CSV: a row for each activation that was due: thread, CPU, number, planned time
    /// (CLOCK_MONOTONIC) and latency, ns, or the columns of another probe; of an event, when it
    /// happened. Values are empty where the activation was skipped or its sample lost
    #[arg(long)]
    samples: bool,
    /// CSV: a row for each bucket of the histogram that holds latencies as measured: thread, CPU,
    /// smallest and largest latency, ns, how many, the column of which these are values, and
    /// the probe. Further columns of a probe follow that which is judged
    #[arg(long)]
    histogram: bool,
    /// A format of other programs. What it cannot hold is said on standard error; docs/export.md
    /// has what each one keeps
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    format: Option<&'static ExportFormat>,
}

fn formats() -> impl TypedValueParser<Value = &'static ExportFormat> {
    PossibleValuesParser::new(EXPORT_FORMATS.iter().map(|format| format.name))
        .try_map(|name| export_format(&name).ok_or("unknown"))
}

pub fn run(args: &Args) -> CommandResult {
    let mut options = ExportOptions {
        name: args.recording.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        written_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        above_ns: args.above.map(|above| above.0),
        shown: |text| shown(text, Paint::Plain).into_owned(),
    };
    let mut recording = Recording::open(&args.recording)?;
    if args.anonymous {
        let pseudonyms = super::anonymise::pseudonyms()?;
        options.name = pseudonyms.of("recording", &options.name);
        recording = recording.anonymous(&pseudonyms);
    }
    if let Some(format) = args.what.format {
        refuse_flags(args, format)?;
    }
    if let Some(unit) = report::unit_assumed(recording.document(), Language::English) {
        complain!("{}: {unit}", args.recording.display());
    }
    let write = |to: &mut dyn Write| {
        let written = match args.what.format {
            Some(format) => export(&recording, format, &options, to)
                .map(|left_out| say_left_out(format, &left_out)),
            None if args.what.samples => export_samples(&recording, cell, to),
            None => export_histogram(recording.clone(), cell, to),
        };
        written.map_err(|error| match error {
            ExportError::Io(error) => error.into(),
            error => anyhow::Error::from(error),
        })
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

fn refuse_flags(args: &Args, format: &ExportFormat) -> anyhow::Result<()> {
    let name = format.name;
    if args.above.is_some() && !format.takes_above {
        bail!("--above: {name} holds all latencies, and no slices");
    }
    if format.is_binary && args.output.is_none() && io::stdout().is_terminal() {
        bail!("{name} is binary: name a file with -o");
    }
    Ok(())
}

fn say_left_out(format: &ExportFormat, left_out: &[String]) {
    if !left_out.is_empty() {
        complain!("Not in {}: {}", format.name, left_out.join(", "));
    }
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
