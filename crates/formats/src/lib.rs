// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs of other programs, made into recordings: one file per program, and one line of a table
//! for each format. And recordings written as such (`export/`).
//!
//! In: files of strangers, recordings. Out: recordings, and bytes in the formats of others. Must
//! not touch: the machine beyond the files and the folder it was given.
//!
//! A file is read once, from its beginning to its end. In the text of a log or a page each output
//! is found by how it begins; what nobody knows is passed over, and archives are looked into. A
//! file is a stranger's: no line, no document and no number of outputs in it is read beyond what
//! any real one has.
//!
//! What an output does not hold is not made up: it is named in [`model::Imported`]. What it says
//! twice and differently is a warning with both values.
#![forbid(unsafe_code)]

mod archive;
mod bpf_histogram;
mod columns;
mod command_line;
mod cyclicdeadline;
mod cyclictest;
mod destination;
mod error;
mod export;
mod histogram;
mod histogram_csv;
mod hwlatdetect;
#[cfg(any(test, feature = "in_memory"))]
mod in_memory;
mod jitterdebugger;
mod json;
mod latency_table;
mod latmus;
mod lines;
mod linuxcnc;
mod measured;
mod numbers;
mod osadl;
mod oslat;
mod output;
mod pairs;
mod perf_sched;
mod queuelat;
mod rt_app;
mod rt_migrate_test;
mod rt_tests_json;
mod rtai;
mod rteval;
mod rtla;
mod rtla_hist;
mod rtla_top;
mod rttest;
mod schbench;
mod sendme;
mod signaltest;
mod stress_ng;
mod thread_line;
mod utf16;
mod xenomai;

pub use error::ImportError;
pub use export::{
    CyclictestFigures, CyclictestFrame, CyclictestThread, EXPORT_FORMATS, ExportError,
    ExportFormat, ExportOptions, HistogramLayout, UnameFields, cyclictest_histogram,
    cyclictest_json, cyclictest_time, export, export_format, export_histogram, export_samples,
};
#[cfg(feature = "in_memory")]
pub use in_memory::{import_in_memory, recognise};
pub(crate) use lines::Lines;
pub(crate) use measured::{Measured, Stated};
pub(crate) use output::{MAX_THREADS, Output, Program};

use destination::{Destination, OnDisk};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use utf16::{ByteOrder, Decoded};

/// A format of another program's output.
pub struct Format {
    /// Its name, for `--format`, and in recordings.
    pub name: &'static str,
    /// What it is of, in a few words.
    pub what: &'static str,
    reads: Reads,
}

/// How a format is known, and read.
enum Reads {
    /// Lines of text, which may stand in another text.
    Lines {
        /// Whether an output begins at the first of these lines; there are some more of them where
        /// the file has more.
        begins: fn(&[&str]) -> bool,
        /// Reads an output from where it begins up to the first line that is none of its own.
        read: Reader,
    },
    /// The same of lines that nothing stands before, as in a log.
    BareLines { begins: fn(&[&str]) -> bool, read: Reader },
    /// A whole file.
    Bytes {
        /// Whether it is such a file, by its first bytes.
        is: fn(&[u8]) -> bool,
        read: fn(&mut dyn BufRead, &mut Import<'_>) -> Result<(), ImportError>,
    },
}

/// Every format that is read. Of two that know the same lines the first is taken.
pub const FORMATS: &[Format] = &[
    Format {
        name: "cyclictest",
        what: "cyclictest's lines, histogram (-h, -H) and samples (-v)",
        reads: Reads::Lines { begins: cyclictest::begins, read: cyclictest::read },
    },
    Format {
        name: "rt-tests-json",
        what: "rt-tests' --json",
        reads: Reads::Lines { begins: rt_tests_json::begins, read: rt_tests_json::read },
    },
    Format {
        name: "oslat",
        what: "oslat's table",
        reads: Reads::Lines { begins: oslat::begins, read: oslat::read },
    },
    Format {
        name: "cyclicdeadline",
        what: "cyclicdeadline's lines and histogram",
        reads: Reads::Lines { begins: cyclicdeadline::begins, read: cyclicdeadline::read },
    },
    Format {
        name: "signaltest",
        what: "signaltest's lines",
        reads: Reads::Lines { begins: signaltest::begins, read: signaltest::read },
    },
    Format {
        name: "rt-tests-pairs",
        what: "lines of ptsematest, svsematest, sigwaittest and pmqtest",
        reads: Reads::Lines { begins: pairs::begins, read: pairs::read },
    },
    Format {
        name: "sendme",
        what: "sendme's lines",
        reads: Reads::Lines { begins: sendme::begins, read: sendme::read },
    },
    Format {
        name: "rt-migrate-test",
        what: "rt-migrate-test's iterations and figures",
        reads: Reads::Lines { begins: rt_migrate_test::begins, read: rt_migrate_test::read },
    },
    Format {
        name: "queuelat",
        what: "queuelat's table",
        reads: Reads::Lines { begins: queuelat::begins, read: queuelat::read },
    },
    Format {
        name: "hwlatdetect",
        what: "hwlatdetect's summary and samples",
        reads: Reads::Lines { begins: hwlatdetect::begins, read: hwlatdetect::read },
    },
    Format {
        name: "rtla-hist",
        what: "histograms of rtla timerlat hist and rtla osnoise hist",
        reads: Reads::Lines { begins: rtla_hist::begins, read: rtla_hist::read },
    },
    Format {
        name: "rtla-top",
        what: "tables of rtla timerlat top, rtla osnoise top and rtla hwnoise",
        reads: Reads::Lines { begins: rtla_top::begins, read: rtla_top::read },
    },
    Format {
        name: "jitterdebugger",
        what: "jitterdebugger's lines, results.json and samples as CSV",
        reads: Reads::Lines { begins: jitterdebugger::begins, read: jitterdebugger::read },
    },
    Format {
        name: "jitterdebugger-raw",
        what: "jitterdebugger's samples.raw",
        reads: Reads::Bytes { is: jitterdebugger::is_raw, read: jitterdebugger::read_raw },
    },
    Format {
        name: "osadl",
        what: "OSADL's RT Dataset",
        reads: Reads::Lines { begins: osadl::begins, read: osadl::read },
    },
    Format {
        name: "rteval",
        what: "rteval's summary.xml: cyclictest and timerlat",
        reads: Reads::Bytes { is: rteval::is, read: rteval::read },
    },
    Format {
        name: "xenomai-latency",
        what: "Xenomai's latency: table, histogram (-h) and gnuplot file (-g)",
        reads: Reads::Lines { begins: xenomai::begins, read: xenomai::read },
    },
    Format {
        name: "latmus",
        what: "EVL's latmus: table and gnuplot file (-g)",
        reads: Reads::Lines { begins: latmus::begins, read: latmus::read },
    },
    Format {
        name: "rtai",
        what: "RTAI's latency and preempt",
        reads: Reads::Lines { begins: rtai::begins, read: rtai::read },
    },
    Format {
        name: "stress-ng",
        what: "stress-ng's --cyclic: figures, percentiles and --cyclic-dist",
        reads: Reads::Lines { begins: stress_ng::begins, read: stress_ng::read },
    },
    Format {
        name: "rttest",
        what: "rttest of ROS 2: statistics and file of samples (-f)",
        reads: Reads::Lines { begins: rttest::begins, read: rttest::read },
    },
    Format {
        name: "rt-app",
        what: "rt-app's log of a thread: wu_lat",
        reads: Reads::Lines { begins: rt_app::begins, read: rt_app::read },
    },
    Format {
        name: "cyclictest-csv",
        what: "rows of cyclictest's histogram with commas or tabs",
        reads: Reads::Lines { begins: histogram_csv::begins, read: histogram_csv::read },
    },
    Format {
        name: "linuxcnc",
        what: "LinuxCNC's latency-histogram --nox: extremes and standard deviation",
        reads: Reads::Lines { begins: linuxcnc::begins, read: linuxcnc::read },
    },
    Format {
        name: "perf-sched",
        what: "perf sched latency and perf sched timehist",
        reads: Reads::Lines { begins: perf_sched::begins, read: perf_sched::read },
    },
    Format {
        name: "bpf-histogram",
        what: "histograms of times of bcc's tools (runqlat) and of bpftrace",
        reads: Reads::Lines { begins: bpf_histogram::begins, read: bpf_histogram::read },
    },
    Format {
        name: "schbench",
        what: "schbench's latencies, by percentiles",
        reads: Reads::Lines { begins: schbench::begins, read: schbench::read },
    },
    // The last: what others know is not theirs by chance.
    Format {
        name: "columns",
        what: "columns of latencies in a unit that a heading or --unit says",
        reads: Reads::BareLines { begins: columns::begins, read: columns::read },
    },
];

/// The format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// How files are to be read.
#[derive(Clone, Copy, Default)]
pub struct ImportOptions {
    /// The only format that is looked for.
    pub format: Option<&'static Format>,
    /// The unit of values whose output does not say it, ns.
    pub unit_ns: Option<i64>,
}

/// An output that was found, and the recording it became.
#[derive(Debug)]
pub struct FoundOutput {
    /// Its format's name.
    pub format: &'static str,
    /// The member of an archive that it is in.
    pub member: Option<String>,
    /// Where it begins, from 1.
    pub line: u64,
    /// Further distinguishes recordings that were made of one output, such as `irq`; empty if
    /// there is one.
    pub part: &'static str,
    pub recording: PathBuf,
}

/// What an output of a file is called that has so many.
pub fn shown_name(file: &str, output: &FoundOutput, of: usize) -> String {
    let member = output.member.as_deref().and_then(|member| member.rsplit('/').next());
    let cut = |name: &str, of: usize| name[..name.floor_char_boundary(of)].to_owned();
    let name = match member {
        Some(member) => format!("{}-{}", cut(file, MAX_NAME / 2 - 1), cut(member, MAX_NAME / 2)),
        None => cut(file, MAX_NAME),
    };
    let line = if of == 1 { String::new() } else { format!("-{}", output.line) };
    let part = if output.part.is_empty() { String::new() } else { format!("-{}", output.part) };
    format!("{name}{line}{part}")
}

/// Bytes of a file's name that name a recording: with the rest a folder may be called so.
const MAX_NAME: usize = 100;
/// Outputs of one file at most.
const MAX_OUTPUTS: usize = 1_000;
/// Lines that nobody knows before the first that somebody does.
const MAX_UNKNOWN: u64 = 200_000;
/// The same of all members of an archive.
const MAX_UNKNOWN_OF_ALL: u64 = 10 * MAX_UNKNOWN;
/// Lines from a command to what it printed at most.
const COMMAND_WITHIN: u64 = 4;
/// Bytes that are looked at to know a whole file.
const BUFFER: usize = 1 << 16;

/// The outputs of one file as they become recordings.
pub(crate) struct Import<'a> {
    /// Where an output goes, by its number.
    to: &'a dyn Fn(usize) -> Box<dyn Destination>,
    /// The file's name.
    file: String,
    /// The member of it that is being read, where it is an archive.
    member: Option<String>,
    /// Archives within one another that are being read, and bytes that they may still unpack to.
    depth: usize,
    unpacked: Rc<Cell<u64>>,
    /// The version of this program.
    teiji: &'a str,
    options: ImportOptions,
    /// The format that is being read.
    format: &'static str,
    /// The last lines that nobody knew since the last output, and their numbers.
    before: VecDeque<(u64, String)>,
    /// Rows of all outputs.
    rows: Rc<output::Rows>,
    /// Lines that nobody knew.
    unknown: u64,
    /// A run of cyclictest of which there were but lines that it draws again.
    drawn: Option<cyclictest::Drawn>,
    /// Outputs that were begun, which may be more than were found.
    begun: usize,
    found: Vec<FoundOutput>,
    /// Where the first output without any latency is, and why it has none.
    passed_over: Option<ImportError>,
}

impl Import<'_> {
    /// Begins an output of this program at this line.
    pub(crate) fn output(&mut self, program: &'static Program, line: u64) -> Output {
        let to = (self.to)(self.begun);
        self.begun += 1;
        Output::new(program, self.format, line, to, Rc::clone(&self.rows))
    }

    /// Makes a recording of an output.
    pub(crate) fn add(&mut self, output: Output) -> Result<(), ImportError> {
        self.add_part("", output)
    }

    /// The same, unless none of its threads says anything.
    pub(crate) fn add_unless_empty(&mut self, output: Output) -> Result<(), ImportError> {
        let has_any = output.threads.iter().any(|thread| !thread.is_empty());
        if has_any { self.add(output) } else { Ok(()) }
    }

    /// The same of a part of an output: of another place that was measured in the same run.
    pub(crate) fn add_part(
        &mut self,
        part: &'static str,
        output: Output,
    ) -> Result<(), ImportError> {
        self.end_drawn()?;
        let (line, format) = (output.line, output.format);
        self.has_room(line)?;
        let member = self.member.clone();
        let file = member.as_ref().map(|member| format!("{}:{member}", self.file));
        let recording = output.record(file.as_ref().unwrap_or(&self.file), self.teiji)?;
        self.found.push(FoundOutput { format, member, line, part, recording });
        Ok(())
    }

    /// Makes a recording of the run whose lines nothing draws again.
    fn end_drawn(&mut self) -> Result<(), ImportError> {
        self.drawn.take().map_or(Ok(()), |drawn| self.add(drawn.into_output()))
    }

    /// Whether one more output may be read that begins at this line.
    fn has_room(&self, line: u64) -> Result<(), ImportError> {
        if self.found.len() < MAX_OUTPUTS {
            return Ok(());
        }
        let why = format!("more than {MAX_OUTPUTS} outputs in one file are not read");
        Err(ImportError::at(line, why))
    }

    /// Passes over an output that begins at this line and holds no latency. Why is said if there is
    /// nothing else in the file.
    pub(crate) fn pass_over(&mut self, line: u64, why: impl Into<String>) {
        let error = ImportError::at(line, why);
        self.passed_over.get_or_insert_with(|| match &self.member {
            Some(member) => ImportError::Member { member: member.clone(), error: error.into() },
            None => error,
        });
    }

    /// The command line of a program that stands just before its output at this line, as after the
    /// prompt of a shell.
    pub(crate) fn command(&self, program: &str, line: u64) -> Option<Vec<String>> {
        let near = self.before.iter().rev().filter(|(at, _)| line - at <= COMMAND_WITHIN);
        let near: Vec<&str> = near.map(|(_, text)| text.as_str()).collect();
        let mut naming = (0..near.len()).filter(|at| command_line::names(near[*at], program));
        // Where two lines name it, or another command was called since, it is not sure which.
        let (at, None) = (naming.next()?, naming.next()) else { return None };
        if near[..at].iter().any(|line| command_line::is_typed(line)) {
            return None;
        }
        command_line::command(near[at], program)
    }

    /// Whether nothing but what was just read stands in the file so far.
    pub(crate) fn is_at_start(&self) -> bool {
        self.before.is_empty() && self.found.is_empty() && self.drawn.is_none()
    }

    /// The unit of values whose output does not say it, ns: what was asked for, or this.
    pub(crate) fn unit_ns(&self, default: i64) -> i64 {
        self.options.unit_ns.unwrap_or(default)
    }

    /// Whether nobody said the unit.
    pub(crate) const fn is_unit_open(&self) -> bool {
        self.options.unit_ns.is_none()
    }
}

/// Makes a recording of each output in a file, in a folder that is there and empty, and says where
/// each is. `teiji` is the version of this program.
///
/// # Errors
/// When the file cannot be read, holds nothing that is known, or is damaged: then recordings that
/// were made of its beginning are still there.
pub fn import(
    file: &Path,
    to: &Path,
    teiji: &str,
    options: ImportOptions,
) -> Result<Vec<FoundOutput>, ImportError> {
    let opened = system::files::open_regular(file, system::files::Links::Followed)
        .map_err(|error| ImportError::Whole(error.into_io().to_string()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let in_folder = |number| -> Box<dyn Destination> {
        Box::new(OnDisk::new(to.join(format!("{number}.teiji"))))
    };
    let mut source = BufReader::with_capacity(BUFFER, opened);
    import_from_to(&mut source, name, &in_folder, teiji, options)
}

/// The same of what this reads, each output to where its number says.
fn import_from_to(
    source: &mut dyn BufRead,
    file: String,
    to: &dyn Fn(usize) -> Box<dyn Destination>,
    teiji: &str,
    options: ImportOptions,
) -> Result<Vec<FoundOutput>, ImportError> {
    let mut import = Import {
        to,
        file,
        member: None,
        depth: 0,
        unpacked: Rc::new(Cell::new(archive::MAX_UNPACKED)),
        teiji,
        options,
        format: "",
        before: VecDeque::new(),
        rows: Rc::default(),
        unknown: 0,
        drawn: None,
        begun: 0,
        found: Vec::new(),
        passed_over: None,
    };
    let looks_like = archive::looks_like(head(source)?);
    import_from(source, &mut import)?;
    if import.found.is_empty() {
        let nothing = || ImportError::Nothing(nothing_known(options.format) + looks_like);
        return Err(import.passed_over.unwrap_or_else(nothing));
    }
    Ok(import.found)
}

/// The first bytes of it.
fn head(source: &mut dyn BufRead) -> Result<&[u8], ImportError> {
    source.fill_buf().map_err(|error| ImportError::Whole(error.to_string()))
}

fn nothing_known(format: Option<&Format>) -> String {
    match format {
        Some(format) => format!("there is no output of the format {} in it", format.name),
        None => "no output of a known format is in it".to_owned(),
    }
}

/// Whether an output that a program printed begins at one of these lines but the first.
fn begins_further_down(lines: &[&str]) -> bool {
    let begins = |from: usize| {
        let of_program = |format: &Format| match format.reads {
            Reads::Lines { begins, .. } => begins(&lines[from..]),
            Reads::BareLines { .. } | Reads::Bytes { .. } => false,
        };
        FORMATS.iter().any(of_program)
    };
    (1..lines.len()).any(begins)
}

/// Reads an output from where it begins.
type Reader = fn(&mut Lines<'_>, &mut Import<'_>) -> Result<(), ImportError>;

/// The format whose output begins at the next line, whatever was added before it.
fn begins_here(
    lines: &mut Lines<'_>,
    wanted: Option<&'static Format>,
) -> Result<Option<(&'static str, Reader)>, ImportError> {
    let (mut found, mut are_bare) = (None, true);
    lines.strip(|ahead| {
        found = formats(wanted).find_map(|format| match format.reads {
            Reads::Lines { begins, read } => begins(ahead).then_some((format.name, read)),
            // Comments before the output of a program are no heading of a table.
            Reads::BareLines { begins, read } => {
                (are_bare && begins(ahead) && !begins_further_down(ahead))
                    .then_some((format.name, read))
            }
            Reads::Bytes { .. } => None,
        });
        are_bare = false;
        found.is_some()
    })?;
    Ok(found)
}

/// All formats, or the one that is looked for.
fn formats(wanted: Option<&'static Format>) -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(move |format| wanted.is_none_or(|wanted| wanted.name == format.name))
}

/// The same of what is being read.
pub(crate) fn import_from(
    source: &mut dyn BufRead,
    import: &mut Import<'_>,
) -> Result<(), ImportError> {
    read_outputs(source, import)?;
    import.end_drawn()
}

/// Reads the outputs in it, but for the end of one that may be drawn again.
fn read_outputs(source: &mut dyn BufRead, import: &mut Import<'_>) -> Result<(), ImportError> {
    let wanted = import.options.format;
    let head = head(source)?;
    if let Some(kind) = archive::kind(head) {
        return archive::read(kind, source, import);
    }
    if let Some(how) = archive::unread(head) {
        let why = format!("it is compressed as {how}, which is not read: unpack it first");
        if import.member.is_none() {
            return Err(ImportError::Whole(why));
        }
        import.pass_over(1, why);
        return Ok(());
    }
    let known = import.found.len();
    for format in formats(wanted) {
        if let Reads::Bytes { is, read } = format.reads
            // Where nothing else is looked for, reading says what is wrong with it.
            && (is(head) || (wanted.is_some() && import.member.is_none()))
        {
            import.format = format.name;
            return read(source, import);
        }
    }
    let order = ByteOrder::of(head);
    let mut decoded = None;
    let source: &mut dyn BufRead = match order {
        Some(order) => decoded.insert(Decoded::new(source, order)),
        None => source,
    };
    let mut lines = Lines::new(source);
    let mut unknown = 0;
    while let Some(line) = lines.peek()? {
        if line.trim().is_empty() {
            lines.advance();
            continue;
        }
        let found = begins_here(&mut lines, wanted)?;
        let line = lines.number();
        if let Some((name, read)) = found {
            import.format = name;
            import.has_room(line)?;
            read(&mut lines, import)?;
            lines.are_whole()?;
            import.before.clear();
        }
        if lines.number() > line {
            continue;
        }
        unknown += 1;
        import.unknown += 1;
        if import.member.is_some() && import.unknown > MAX_UNKNOWN_OF_ALL {
            let why = format!("more than {MAX_UNKNOWN_OF_ALL} lines of its members are not known");
            return Err(ImportError::Whole(why));
        }
        if let Some(program) = lines.peek()?.and_then(without_latencies) {
            import.pass_over(line, format!("{program} prints no latencies"));
        }
        let text: String = lines.peek()?.unwrap_or_default().chars().take(2_000).collect();
        if import.drawn.as_ref().is_some_and(|drawn| drawn.ends_before(&text)) {
            import.end_drawn()?;
        }
        import.before.push_back((line, text));
        if import.before.len() as u64 > COMMAND_WITHIN {
            import.before.pop_front();
        }
        if unknown > MAX_UNKNOWN && import.found.len() == known && import.drawn.is_none() {
            if import.member.is_some() {
                return Ok(());
            }
            let why = format!("{} among its first {MAX_UNKNOWN} lines", nothing_known(wanted));
            return Err(ImportError::Whole(why));
        }
        lines.advance();
    }
    Ok(())
}

/// The program that an output begins of, of those that measure no latency and are run beside those
/// that do.
fn without_latencies(line: &str) -> Option<&'static str> {
    const BEGINNINGS: [(&str, &str); 6] = [
        ("Running in process mode with ", "hackbench"),
        ("Running in threaded mode with ", "hackbench"),
        ("Starting PI Stress Test", "pi_stress"),
        ("Total inversion performed:", "pi_stress"),
        ("forktest#", "ssdd"),
        ("Successfully used priority inheritance to handle an inversion", "pip_stress"),
    ];
    BEGINNINGS.iter().find(|(text, _)| line.starts_with(text)).map(|(_, program)| *program)
}

#[cfg(test)]
pub(crate) mod tests;
