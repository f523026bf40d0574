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
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
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
            let command = command_in(&line).or_else(|| {
                // The program's name may be left out.
                line.trim_start().starts_with('-').then(|| split(&line, false)).flatten()
            });
            let Some(command) = command else {
                refuse!("'{line}' is neither a command line of cyclictest nor a file");
            };
            vec![of_command(&command)]
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
    let what = format!("cyclictest {}", words.join(" "));
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
    found.extend(of_output(&text, &name));
    if found.is_empty() {
        bail!("{name} has no command line of cyclictest and none of its output");
    }
    Ok(found)
}

/// What its output shows.
fn of_output(text: &str, name: &str) -> Option<Linted> {
    let threads: Vec<ThreadLine> = text.lines().filter_map(ThreadLine::read).collect();
    let trailer = |begin: &str| text.lines().find_map(|line| line.trim_start().strip_prefix(begin));
    let overflows = trailer("# Histogram Overflows:");
    if threads.is_empty() && overflows.is_none() {
        return None;
    }
    let mut wrong = Vec::new();
    if threads.iter().any(|thread| thread.priority == 0) {
        wrong.push("threads with P: 0 are SCHED_OTHER, not real-time".to_owned());
    }
    // The lines of one output begin with thread 0.
    let mut runs = threads.chunk_by(|_, next| next.index != 0);
    if runs.any(|run| run.iter().any(|thread| thread.interval != run[0].interval)) {
        wrong.push(
            "the threads have different intervals (I:), so their figures are of different numbers \
             of cycles"
                .to_owned(),
        );
    }
    let beyond: u64 = overflows
        .map_or(0, |list| list.split_whitespace().filter_map(|n| n.parse::<u64>().ok()).sum());
    if beyond > 0 {
        wrong.push(
            "cycles lie beyond the histogram: no percentile that reaches into them is known"
                .to_owned(),
        );
    }
    if trailer("# Break value:").is_some() {
        wrong.push(
            "a latency ended the run early (-b): its length is not the one asked for".to_owned(),
        );
    }
    let skipped =
        "  Cycles that fell due while an earlier one was late are in none of its figures.";
    let instead = Some(skipped.to_owned());
    Some(Linted { what: format!("output in {name}"), wrong, instead })
}

/// What a line of a thread says: `T: 0 (11999) P:80 I:1000 C: …`.
struct ThreadLine {
    index: usize,
    priority: i64,
    interval: u64,
}

impl ThreadLine {
    /// Wherever it stands in a line.
    fn read(line: &str) -> Option<Self> {
        line.match_indices("T:").find_map(|(at, _)| {
            let (index, rest) = line[at + 2..].split_once('(')?;
            let field = |name: &str| {
                let value = rest.split_once(name)?.1.trim_start();
                value.split(|c: char| c.is_whitespace()).next()
            };
            Some(ThreadLine {
                index: index.trim().parse().ok()?,
                priority: field(" P:")?.parse().ok()?,
                interval: field(" I:")?.parse().ok()?,
            })
        })
    }
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

    #[test]
    fn what_an_output_shows() {
        let wrong = |text: &str| of_output(text, "x").map(|linted| linted.wrong.len());
        let text = "T: 0 ( 361) P: 0 I:1000 C:  5 Min: 1\nT: 1 ( 362) P: 0 I:1500 C: 5 Min: 2\n\
                    # Histogram Overflows: 00000 00003\n# Break value: 41\n";
        assert_eq!(wrong(text), Some(4));
        assert_eq!(wrong("# Histogram Overflows: 00000 00000\n"), Some(0));
        let two = "2026-11-28T11:36Z T: 0 (1) P:80 I:1000 C: 5\n[x] T: 0 (2) P:80 I:200 C: 5";
        assert_eq!(wrong(two), Some(0));
        assert_eq!(wrong("T: shirt"), None);
    }
}
