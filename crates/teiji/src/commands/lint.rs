// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lint`: what is wrong with a command line of cyclictest, or with what was published of its
//! output, and the command of teiji for it.

use super::cyclictest::options::{CommandLine, Id, Version};
use super::cyclictest::settings::Settings;
use super::cyclictest::translation::{Length, Translation};
use super::cyclictest::traps;
use crate::exit::{CommandResult, DONE, EXCEEDED};
use crate::output::wrapped;
use crate::suggestion::{self, Word};
use anyhow::{Context, bail};
use formats::{FoundOutput, ImportError, ImportOptions, import};
use model::{Document, Unknown};
use plan::Scheduling;
use recording::Recording;
use report::{Language, WarningText, warning_text};
use stats::Bucket;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use system::ScratchFolder;
use system::files::{Links, open_regular, read_up_to};

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    /// A command line, quoted or not, or a file that has some, with or without their output
    #[arg(
        value_name = "COMMAND|FILE",
        required = true,
        num_args = 1..,
        allow_hyphen_values = true,
        trailing_var_arg = true
    )]
    words: Vec<OsString>,
}

/// More than anybody publishes.
const MAX_BYTES: u64 = 16 << 20;
const MAX_COMMANDS: usize = 200;
/// Longer than a command line that somebody typed.
const MAX_LINE: usize = 4_096;

/// Runs it.
pub fn run(args: &Args) -> CommandResult {
    let found = match args.words.as_slice() {
        [one] if Path::new(one).is_file() => of_file(Path::new(one))?,
        words => {
            let line: Vec<String> =
                words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let line = line.join(" ");
            let is_bare = line.trim().rsplit('/').next() == Some("cyclictest");
            let command = command_in(&line).or_else(|| is_bare.then(Vec::new)).or_else(|| {
                // The program's name may be left out.
                line.trim_start().starts_with('-').then(|| split(&line, false)).flatten()
            });
            let Some(command) = command else {
                refuse!("'{line}' is neither a command line of cyclictest nor a file");
            };
            let mut found = of_command(&command);
            found.wrong.extend(placed_by(&line));
            vec![found]
        }
    };
    let texts: Vec<String> = found.iter().map(Linted::text).collect();
    say!("{}", texts.join("\n"));
    Ok(if found.iter().all(|linted| linted.wrong.is_empty()) { DONE } else { EXCEEDED })
}

/// A command line or an output, and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub struct Linted {
    what: String,
    wrong: Vec<String>,
    /// What to type instead, or why there is nothing.
    instead: Option<String>,
}

impl Linted {
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.what);
        for wrong in &self.wrong {
            text += &format!("  - {}\n", wrapped(wrong, 4).join("\n    "));
        }
        if self.wrong.is_empty() {
            text += "  nothing is wrong with it\n";
        }
        if let Some(instead) = &self.instead {
            text += &format!("{instead}\n");
        }
        text
    }
}

/// The words behind the name cyclictest, if it stands in a line, up to where a shell goes on with
/// something else.
fn command_in(line: &str) -> Option<Vec<String>> {
    let (at, _) = line.match_indices("cyclictest").find(|(at, name)| {
        let behind = &line[at + name.len()..];
        let before = line[..*at].chars().next_back();
        behind.trim_start().starts_with('-')
            && behind.starts_with(char::is_whitespace)
            && before.is_none_or(|c| c.is_whitespace() || "/'\"`$(".contains(c))
    })?;
    let is_in_quotes = line[..at].bytes().filter(|byte| *byte == b'"').count() % 2 == 1;
    split(&line[at + "cyclictest".len()..], is_in_quotes)
}

/// Programs that call another and say where it runs, and how.
const PLACING: [&str; 3] = ["taskset", "chrt", "numactl"];

/// What stands in front of cyclictest and is in no command of teiji.
fn placed_by(line: &str) -> Option<String> {
    let mut before = line.split_whitespace().take_while(|word| !word.ends_with("cyclictest"));
    let program = before.find_map(|word| {
        let name = word.rsplit(['/', '\'', '"', '`', '(']).next();
        PLACING.into_iter().find(|placing| Some(*placing) == name)
    })?;
    let why = match program {
        "chrt" => "-p and --policy say with which priority",
        _ => "-a says on which CPUs",
    };
    Some(format!("{program} is not in the command of teiji: {why}"))
}

/// As a shell takes it, up to where the command ends: at what is the shell's, or at the quote that
/// stands in front of the command's name.
fn split(text: &str, is_in_quotes: bool) -> Option<Vec<String>> {
    let mut quote = None;
    let end = text.find(|c: char| match (quote, c) {
        (_, '"') if is_in_quotes => true,
        (Some(open), c) if open == c => {
            quote = None;
            false
        }
        (Some(_), _) => false,
        (None, '\'' | '"') => {
            quote = Some(c);
            false
        }
        (None, c) => "|;&><`)".contains(c),
    });
    let (text, rest) = text.split_at(end.unwrap_or(text.len()));
    let mut words = shlex::split(text)?;
    // The number of a file in front of `>`.
    if rest.starts_with('>') && !text.ends_with(' ') {
        words.pop_if(|last| last == "1" || last == "2");
    }
    Some(words)
}

pub fn of_command(words: &[String]) -> Linted {
    let what = format!("cyclictest {}", words.join(" ")).trim_end().to_owned();
    if let Some(word) = words.iter().find(|word| word.contains('$')) {
        let wrong = format!("what '{word}' stands for is not known: the shell puts it in");
        return Linted { what, wrong: vec![wrong], instead: None };
    }
    let version = Version::NEWEST;
    let line = match CommandLine::read(words, version) {
        Ok(line) => line,
        Err(error) => return Linted { what, wrong: vec![error.to_string()], instead: None },
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (settings, _) = match Settings::from_line(&line, version, cpus) {
        Ok(read) => read,
        Err(error) => return Linted { what, wrong: vec![format!("{error:#}")], instead: None },
    };
    let mut wrong = traps::of_line(&line, &settings);
    if !line.has(Id::LockMemory) {
        wrong.push(
            "without -m memory is not locked, and page faults are in the latencies".to_owned(),
        );
    }
    let (mut instead, lost) = in_teiji("In teiji", &line, &settings);
    wrong.extend(lost);
    if words.iter().any(|word| word == "-smp") {
        let meant: Vec<String> =
            words.iter().map(|word| word.replacen("-smp", "--smp", 1)).collect();
        let meant = CommandLine::read(&meant, version).ok().and_then(|line| {
            let (settings, _) = Settings::from_line(&line, version, cpus).ok()?;
            Some(in_teiji("Meant, in teiji", &line, &settings).0)
        });
        if let Some(meant) = meant {
            instead = format!("{instead}\n{meant}");
        }
    }
    Linted { what, wrong, instead: Some(instead) }
}

/// The command of teiji for a command line, and what it lacks.
fn in_teiji(name: &str, line: &CommandLine, settings: &Settings) -> (String, Vec<String>) {
    let Translation { words, lost, .. } = Translation::new(line, settings, Length::Theirs);
    let words: Vec<OsString> =
        std::iter::once("measure".to_owned()).chain(words).map(OsString::from).collect();
    let command = match suggestion::refused(&words) {
        Some(why) => format!("  No command of teiji is the same: {why}"),
        None => {
            let words: Vec<&dyn Word> = words.iter().map(|word| word as &dyn Word).collect();
            format!("  {name}: {}", suggestion::command(&words))
        }
    };
    (command, lost)
}

/// Each command line and each output in a file.
fn of_file(path: &Path) -> anyhow::Result<Vec<Linted>> {
    let name = crate::output::path(path);
    let file = open_regular(path, Links::Followed).map_err(|error| error.into_io());
    let file = file.with_context(|| format!("cannot open {name}"))?;
    let Some(bytes) =
        read_up_to(&file, MAX_BYTES).with_context(|| format!("cannot read {name}"))?
    else {
        bail!("{name} is larger than {} MiB", MAX_BYTES >> 20);
    };
    let text = String::from_utf8_lossy(&bytes);
    let mut commands = BTreeSet::new();
    // A line goes on behind a backslash.
    for line in text.replace("\\\n", " ").lines().filter(|line| line.len() <= MAX_LINE) {
        commands.extend(command_in(line));
        if commands.len() > MAX_COMMANDS {
            bail!("{name} has more than {MAX_COMMANDS} command lines of cyclictest");
        }
    }
    let mut found: Vec<Linted> = commands.iter().map(|words| of_command(words)).collect();
    found.extend(outputs(path, &name)?);
    if found.is_empty() {
        bail!("{name} has no command line of cyclictest and no output of a format that is read");
    }
    Ok(found)
}

/// What the outputs in it show, as `import` reads them.
fn outputs(path: &Path, name: &str) -> anyhow::Result<Vec<Linted>> {
    let scratch = ScratchFolder::new().context("cannot make a folder for what is imported")?;
    let (version, options) = (env!("CARGO_PKG_VERSION"), ImportOptions::default());
    let found = match import(path, scratch.path(), version, options) {
        Ok(found) => found,
        Err(ImportError::Nothing(_)) => return Ok(Vec::new()),
        Err(ImportError::Recording(error)) => return Err(error.into()),
        Err(error) => {
            let what = format!("output in {name}");
            return Ok(vec![Linted { what, wrong: vec![error.to_string()], instead: None }]);
        }
    };
    let of_one = |one: &FoundOutput| -> anyhow::Result<Linted> {
        let what = match found.len() {
            1 => format!("output in {name}"),
            _ => format!("output in {name}, line {}", one.line),
        };
        Ok(of_output(what, Recording::open(&one.recording)?.document()))
    };
    found.iter().map(of_one).collect()
}

/// What an output shows.
fn of_output(what: String, document: &Document) -> Linted {
    let english = Language::English;
    let in_words = |warning| {
        let WarningText { message, evidence, .. } = warning_text(warning, english);
        format!("{}: {evidence}", message.trim_end_matches('.'))
    };
    let mut wrong: Vec<String> = document.warnings.iter().map(in_words).collect();
    let threads = &document.threads;
    if !document.lacks(Unknown::Scheduling)
        && threads.iter().any(|of| of.scheduling == Scheduling::OTHER)
    {
        wrong.push("threads of SCHED_OTHER (P: 0) are not real-time".to_owned());
    }
    let interval = threads.first().map(|thread| thread.interval_ns);
    if !document.lacks(Unknown::Interval)
        && threads.iter().any(|of| Some(of.interval_ns) != interval)
    {
        wrong.push(
            "the threads have different intervals (I:), so their figures are of different numbers \
             of cycles"
                .to_owned(),
        );
    }
    if document.lacks(Unknown::Unit) {
        wrong.push("the unit of its values is not stated: ns with -N, µs without".to_owned());
    }
    let has_samples = threads.iter().all(|thread| thread.detail.is_samples());
    let (beyond, of) = threads.iter().fold((0, 0), |(beyond, of), thread| {
        (beyond + beyond_histogram(&thread.histogram_ns.buckets), of + counted(thread))
    });
    if !has_samples && (beyond > 0 || document.lacks(Unknown::Beyond)) {
        let how_many = match beyond {
            0 => "values may".to_owned(),
            _ => format!("{beyond} of {of} values"),
        };
        wrong.push(format!(
            "{how_many} lie beyond the histogram: no percentile that reaches into them is known"
        ));
    }
    let says = document.imported.iter().flat_map(|of| &of.says);
    if says.into_iter().any(|said| said.what == "Break value") {
        wrong.push(
            "a latency ended the run early (-b): its length is not the one asked for".to_owned(),
        );
    }
    let passes_over = document.imported.as_ref().is_some_and(|of| of.passes_over);
    let skipped = passes_over.then(|| {
        "Cycles that fell due while an earlier one was late are in none of its figures.".to_owned()
    });
    let said = [report::imported(document, english), skipped].into_iter().flatten();
    let lines: Vec<String> =
        said.map(|line| format!("  {}", wrapped(&line, 2).join("\n  "))).collect();
    Linted { what, wrong, instead: (!lines.is_empty()).then(|| lines.join("\n")) }
}

/// How many values a thread has.
fn counted(thread: &model::Thread) -> u64 {
    thread.latency_ns.map_or(0, |figures| figures.count)
}

/// Those in a last bucket that is wider than all others, which are as wide as one another.
fn beyond_histogram(buckets: &[Bucket]) -> u64 {
    let width = |bucket: &Bucket| bucket.upper.saturating_sub(bucket.lower);
    let Some((last, others)) = buckets.split_last() else { return 0 };
    let widths = || others.iter().map(width);
    let is_wider = widths().max().is_some_and(|widest| width(last) > widest);
    if is_wider && widths().min() == widths().max() { last.count } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_where_people_keep_them() {
        for (line, command) in [
            ("$ sudo ./cyclictest -p 90 -m >log.txt", Some("-p 90 -m")),
            ("taskset -c 0 cyclictest -p 98 -t1 2>&1 | tee x", Some("-p 98 -t1")),
            (r#"  "cmdline:": "cyclictest -D2 -S -q","#, Some("-D2 -S -q")),
            ("`cyclictest -t`", Some("-t")),
            (r#"cyclictest -m -a "0-1" -t 2; echo"#, Some("-m -a 0-1 -t 2")),
            ("echo $(cyclictest -q -l 5 2>/dev/null)", Some("-q -l 5")),
            ("cyclictest is a tool", None),
            ("mycyclictest -t", None),
        ] {
            let found = command_in(line).map(|words| words.join(" "));
            assert_eq!(found.as_deref(), command, "{line}");
        }
    }

    fn wrong(line: &str) -> (Vec<String>, Option<String>) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let Linted { wrong, instead, .. } = of_command(&words);
        (wrong, instead)
    }

    #[test]
    fn a_priority_that_is_none() {
        let (found, instead) = wrong("-smp -p 80 -i 10000 -l 9");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].starts_with("the priority is '-p', which is no number: 2 is taken"));
        let unknown = wrong("-m -p 80 -D ${TIME}");
        assert_eq!((unknown.0.len(), unknown.1), (1, None));
        let (lost, _) = wrong("-m -p 80 -t 3 -d0 --priospread --tracemark");
        assert_eq!(lost.len(), 2, "{lost:?}");
        let (length, of_a_second) = wrong("-m -p 80 -D 1.5h");
        assert_eq!(length, ["-D 1.5h is read as 1s: what else it says is passed over"]);
        assert!(of_a_second.is_some_and(|command| command.contains(" -d 1s ")));
        let instead = instead.unwrap();
        assert_eq!(
            instead,
            "  In teiji: teiji measure -p 2 -i 10000 -n 9 -t 1 --sleep relative
  Meant, in teiji: \
             teiji measure -p 80 -i 10000 -n 9 --distance 500us"
        );
    }

    #[test]
    fn nothing_is_wrong_with_a_good_one() {
        let (found, instead) = wrong("-m -p 80 -t 1 -a 3 -i 200 -h 400 -q -D 10m");
        assert_eq!(found, Vec::<String>::new());
        assert_eq!(
            instead.as_deref(),
            Some("  In teiji: teiji measure -p 80 -i 200 -d 10m -a 3 -q")
        );
    }

    fn found(text: &str) -> Vec<String> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("x");
        std::fs::write(&file, text).unwrap();
        outputs(&file, "x").unwrap().into_iter().flat_map(|linted| linted.wrong).collect()
    }

    fn is_found(all: &[String], parts: &[&str]) {
        assert_eq!(all.len(), parts.len(), "{all:?}");
        for (one, part) in all.iter().zip(parts) {
            assert!(one.contains(part), "{one}: {part}");
        }
    }

    #[test]
    fn what_an_output_shows() {
        let line = |index: u32, prio: u32, interval: u32| {
            format!("T: {index} ( 361) P:{prio} I:{interval} C: 5 Min: 1 Act: 2 Avg: 2 Max: 3\n")
        };
        let command = "$ cyclictest -q -t2\n";
        let wrong = found(&format!("{command}{}{}", line(0, 0, 1_000), line(1, 0, 1_500)));
        is_found(&wrong, &["not real-time", "different intervals"]);
        is_found(&found(&format!("{command}{}", line(0, 80, 1_000))), &[]);
        is_found(&found(&line(0, 80, 1_000)), &["the unit of its values"]);
        is_found(&found("T: shirt"), &[]);
        is_found(&found("# Histogram\n000001 000002\n000001 000003\n"), &["line 3: the bucket"]);
    }

    /// What `import` warns of was not looked at.
    #[test]
    fn contradictions_of_a_document() {
        let text = r#"{
  "file_version": 1,
  "cmdline:": "cyclictest -q -p 80 -m -h 20 -D 10",
  "rt_test_version:": "2.40",
  "sysinfo": {"version": "\#1 SMP PREEMPT_RT", "realtime": 0},
  "num_threads": 2,
  "resolution_in_ns": 0,
  "thread": {"0": {"histogram": {"10": 5, "11": 3}, "cycles": 9, "min": 10, "max": 99, "avg": 12.0}}
}
"#;
        let text = text.replace("\\#", "#");
        let wrong = found(&text);
        is_found(&wrong, &["realtime", "num_threads", "1 of 9 values lie beyond the histogram"]);
        // Each sample is there, or each bucket has its ends.
        let samples = include_str!("../../../formats/src/samples/cyclictest-2.4-v.txt");
        let buckets = include_str!("../../../formats/src/samples/bcc-runqlat.txt");
        for text in [samples, buckets] {
            let is_counted =
                |wrong: &String| wrong.contains(" of ") && wrong.contains("lie beyond");
            assert!(!found(text).iter().any(is_counted), "{:?}", found(text));
        }
    }

    #[test]
    fn commands_around_it() {
        assert!(placed_by("taskset -c 3 cyclictest -p 80").unwrap().contains("-a says"));
        assert!(placed_by("sudo chrt -f 5 ./cyclictest -p 80").unwrap().contains("-p and"));
        assert!(placed_by("'/usr/bin/taskset -c 3 cyclictest -p 80'").is_some());
        assert_eq!(placed_by("sudo cyclictest -p 80; taskset -c 3 true"), None);
    }
}
