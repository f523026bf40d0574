// SPDX-License-Identifier: MIT OR Apache-2.0
//! What to say to somebody whose command line was meant for another program: cyclictest's flags in
//! teiji's words, and what can be done about a program of one's own.

use crate::output;
use crate::suggestion;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// One of cyclictest's flags, and what it is here.
struct Flag {
    short: Option<char>,
    long: &'static str,
    value: Takes,
    here: Here,
}

#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Nothing,
    /// A value, in the same word or the next.
    Value,
    /// Perhaps a value; a word that begins with a dash is none.
    Perhaps,
}

enum Here {
    /// The same flag, with or without its value.
    Same,
    /// Leave it out, because of this.
    Drop(&'static str),
    /// This flag has its value.
    Is(&'static str),
    /// There is nothing like it.
    None(&'static str),
}

const fn flag(short: Option<char>, long: &'static str, value: Takes, here: Here) -> Flag {
    Flag { short, long, value, here }
}

/// Each thread on a CPU of its own is what happens anyway.
const ONE_ON_EACH: &str = "one thread on each CPU is what teiji does by itself";
const BY_NANOSLEEP: &str = "teiji sleeps with clock_nanosleep until an absolute time by itself";
const ALL_RECORDED: &str =
    "every sample is recorded; teiji show and teiji report draw the histogram";

/// Said of a flag at the end, or with the next flag behind it.
const NO_VALUE: &str = "it has no value here";

/// With one of these cyclictest sets the distance to 0, and says so where another is asked for.
const HISTOGRAMS: &[&str] = &["histogram", "histofall", "histfile"];

/// cyclictest's flags that mean something else here, or nothing.
const FLAGS: &[Flag] = &[
    flag(Some('m'), "mlockall", Takes::Nothing, Here::Drop("memory is always locked")),
    flag(Some('S'), "smp", Takes::Nothing, Here::Drop(ONE_ON_EACH)),
    flag(Some('a'), "affinity", Takes::Perhaps, Here::Is("-a")),
    flag(Some('t'), "threads", Takes::Perhaps, Here::Same),
    flag(Some('l'), "loops", Takes::Value, Here::Is("-n")),
    flag(Some('D'), "duration", Takes::Value, Here::Is("-d")),
    flag(Some('d'), "distance", Takes::Value, Here::Is("--distance")),
    flag(Some('n'), "nanosleep", Takes::Perhaps, Here::Drop(BY_NANOSLEEP)),
    flag(Some('h'), "histogram", Takes::Perhaps, Here::Drop(ALL_RECORDED)),
    flag(Some('H'), "histofall", Takes::Perhaps, Here::Drop(ALL_RECORDED)),
    flag(None, "histfile", Takes::Value, Here::Drop(ALL_RECORDED)),
    flag(Some('A'), "aligned", Takes::Perhaps, Here::Is("--aligned=")),
    flag(Some('b'), "breaktrace", Takes::Value, Here::Is("-b")),
    flag(None, "priority", Takes::Value, Here::Is("-p")),
    flag(
        Some('c'),
        "clock",
        Takes::Value,
        Here::Drop("the clock is CLOCK_MONOTONIC, or what --clock names"),
    ),
    flag(
        Some('M'),
        "refresh_on_max",
        Takes::Nothing,
        Here::Drop("progress is drawn a few times a second"),
    ),
    flag(Some('N'), "nsecs", Takes::Nothing, Here::Drop("recordings are in ns, and shown in µs")),
    flag(Some('u'), "unbuffered", Takes::Nothing, Here::Drop("output is never held back")),
    flag(
        Some('v'),
        "verbose",
        Takes::Nothing,
        Here::Drop("every sample is recorded: teiji export REC --samples"),
    ),
    flag(
        Some('R'),
        "resolution",
        Takes::Nothing,
        Here::Drop("the clock's resolution is in every recording"),
    ),
    flag(None, "laptop", Takes::Nothing, Here::Is("--no-dma-latency")),
    flag(None, "default-system", Takes::Nothing, Here::Is("--no-dma-latency")),
    flag(
        None,
        "latency",
        Takes::Value,
        Here::Drop("/dev/cpu_dma_latency is held at 0, or not at all with --no-dma-latency"),
    ),
    flag(None, "mainaffinity", Takes::Perhaps, Here::None("only measuring threads are pinned")),
    flag(None, "priospread", Takes::Nothing, Here::None("all threads have the same priority")),
    flag(None, "secaligned", Takes::Perhaps, Here::None("starts are not tied to full seconds")),
    flag(Some('r'), "relative", Takes::Nothing, Here::Is("--sleep=relative")),
    flag(Some('s'), "system", Takes::Nothing, Here::None("--sleep names six calls to sleep by")),
    flag(Some('x'), "posix_timers", Takes::Nothing, Here::Is("--sleep=signal")),
];

/// Flags of ours with a value, which may stand between those of cyclictest.
const OURS_WITH_VALUE: [char; 3] = ['i', 'p', 'o'];
const OURS_LONG_WITH_VALUE: [&str; 12] = [
    "interval",
    "samples",
    "cpus",
    "prio",
    "policy",
    "break-above",
    "warmup",
    "settle",
    "load",
    "title",
    "output",
    "limit",
];

/// Commands that are meant to be and are not there yet, and what is possible today.
const NOT_YET: [(&str, &str); 4] = [
    (
        "import",
        "teiji measure -o NAME.teiji makes recordings; those of other programs cannot be read",
    ),
    ("history", "teiji compare and teiji gate compare recordings"),
    ("serve", "teiji report writes one page that opens offline"),
    ("remote", "copy the program to the board, which needs nothing else, and the recording back"),
];

/// What to say beside an error about this command line, if it was meant for another program or is
/// not there yet.
pub fn hint(words: &[OsString], error: &clap::Error) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    if error.kind() == ErrorKind::InvalidSubcommand {
        let (verb, today) = NOT_YET.iter().find(|(verb, _)| words.first() == Some(verb))?;
        return Some(format!("teiji {verb} does not exist yet. Today: {today}."));
    }
    let words = words.strip_prefix(&["measure"])?;
    // Whoever names one of our probes has not come from cyclictest.
    if words.iter().any(|word| *word == "--probe" || word.starts_with("--probe=")) {
        return None;
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg)?;
    match error.kind() {
        // Behind a bare -t of cyclictest the next flag is taken for its value, and what follows for
        // a program.
        ErrorKind::UnknownArgument if !argument.starts_with('-') => {
            program(argument).or_else(|| cyclictest(words))
        }
        ErrorKind::UnknownArgument => {
            is_of_cyclictest(argument).then(|| cyclictest(words)).flatten()
        }
        // A flag that takes no value there, in front of the next flag or of nothing.
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = context(ContextKind::InvalidValue).unwrap_or_default();
            let is_flag = value
                .strip_prefix('-')
                .is_some_and(|flag| flag.starts_with(|c: char| c == '-' || c.is_alphabetic()));
            let bare =
                ["--samples", "--threads", "--cpus"].iter().any(|flag| argument.starts_with(flag));
            let distance = argument.starts_with("--duration") && value == "0";
            (bare && (value.is_empty() || is_flag) || distance).then(|| cyclictest(words)).flatten()
        }
        _ => None,
    }
}

/// Removes the tip that an unknown flag may be given behind `--`: there is the command that a probe
/// starts.
pub fn remove_trailing_tip(error: &mut clap::Error) {
    if let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) {
        tips.retain(|tip| !tip.to_string().contains(" as a value, use "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
}

/// Removes the flag that is spelt alike, and its usage, where the flag is known to be cyclictest's.
pub fn remove_guesses(error: &mut clap::Error) {
    if error.remove(ContextKind::SuggestedArg).is_some() {
        error.remove(ContextKind::Usage);
    }
}

/// What `-h 400` is here, which asks for a histogram there.
pub fn histogram_hint(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    asks_for_a_histogram(&words).then(|| cyclictest(words.strip_prefix(&["measure"])?)).flatten()
}

fn is_of_cyclictest(argument: &str) -> bool {
    match argument.strip_prefix("--") {
        Some(long) => FLAGS.iter().any(|flag| flag.long == long.split('=').next().unwrap_or(long)),
        None => argument
            .chars()
            .nth(1)
            .is_some_and(|letter| FLAGS.iter().any(|flag| flag.short == Some(letter))),
    }
}

/// Whether a word asks for help in teiji, and for a histogram in cyclictest.
fn asks_for_a_histogram(words: &[&str]) -> bool {
    let is_number = |word: &str| word.parse::<u32>().is_ok();
    words.first() == Some(&"measure")
        && words.iter().enumerate().any(|(place, word)| match word.strip_prefix("-h") {
            Some("") => words.get(place + 1).is_some_and(|next| is_number(next)),
            Some(number) => is_number(number),
            None => false,
        })
}

/// A program that is to be measured itself. A number or a time is none.
fn program(name: &str) -> Option<String> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let command = shlex::try_quote(name).ok()?;
    // Once for the shell, and within that once for teiji, which takes a command apart as a shell
    // does.
    let load = in_quotes(&format!("cmd:{}", shlex::try_quote(name).ok()?));
    let file = output::quoted(Path::new(&format!("{name}=/my")));
    Some(format!(
        "teiji measure starts threads of its own and measures their wake-ups. Those of another \
         program:\n\x20 teiji measure --probe app -- {command}   its wake-ups, from its start. \
         --pid N: of a process that runs\n\x20 teiji measure --load {load}   wake-up latency \
         while that program runs\n\x20 teiji lab exec --file {file} --run /my --count   the \
         instructions it takes, if it is static"
    ))
}

/// In single quotes for a shell.
fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same command line in teiji's words. What a flag means depends on others, in front of it or
/// behind.
fn cyclictest(words: &[&str]) -> Option<String> {
    let first = translated(words, BTreeSet::new());
    translated(words, first.seen).command_line()
}

/// Given the flags that stand anywhere in it.
fn translated(words: &[&str], all: BTreeSet<String>) -> Translation {
    let mut translation = Translation { all, ..Translation::default() };
    let mut rest = words.iter().copied().peekable();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match FLAGS.iter().find(|flag| flag.long == name) {
                // Ours too, with the same meaning.
                Some(_)
                    if is_shared(name) && !(name == "distance" && translation.has(HISTOGRAMS)) =>
                {
                    translation.ours(name, word);
                }
                Some(flag) => {
                    let value = value.or_else(|| rest.next_if(|next| takes(flag.value, next)));
                    translation.flag(flag, &format!("--{name}"), value);
                }
                None if value.is_none() && OURS_LONG_WITH_VALUE.contains(&name) => {
                    let value = rest.next_if(|next| takes(Takes::Value, next));
                    translation.ours_with_value(name, word, value);
                }
                None => translation.ours(name, word),
            }
        } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
            for (at, letter) in cluster.char_indices() {
                let attached = Some(&cluster[at + letter.len_utf8()..])
                    .filter(|attached| !attached.is_empty());
                let Some(flag) = FLAGS.iter().find(|flag| flag.short == Some(letter)) else {
                    let (name, written) = (letter.to_string(), format!("-{letter}"));
                    if OURS_WITH_VALUE.contains(&letter) {
                        let value =
                            attached.or_else(|| rest.next_if(|next| takes(Takes::Value, next)));
                        translation.ours_with_value(&name, &written, value);
                        break;
                    }
                    translation.ours(&name, &written);
                    continue;
                };
                let value = match flag.value {
                    Takes::Nothing => None,
                    Takes::Value => {
                        attached.or_else(|| rest.next_if(|next| takes(flag.value, next)))
                    }
                    Takes::Perhaps => attached
                        .filter(|attached| !attached.starts_with(char::is_alphabetic))
                        .or_else(|| {
                            rest.next_if(|next| attached.is_none() && takes(flag.value, next))
                        }),
                };
                translation.flag(flag, &format!("-{letter}"), value);
                if value.is_some() {
                    break;
                }
            }
        } else {
            translation.left_out(word, "no flag takes it");
        }
    }
    translation.add_what_differs_unsaid();
    translation
}

/// A flag of both, by its long name.
fn is_shared(name: &str) -> bool {
    matches!(name, "threads" | "duration" | "distance" | "aligned")
}

/// Whether this word is the value. The next flag is none: the value is missing there.
fn takes(value: Takes, next: &str) -> bool {
    match value {
        Takes::Nothing => false,
        Takes::Value => !next.starts_with('-'),
        Takes::Perhaps => next.starts_with(|c: char| c.is_ascii_digit() || c == '!'),
    }
}

#[derive(Default)]
struct Translation {
    /// In teiji's words.
    words: Vec<String>,
    /// What each flag that differs is here.
    lines: Vec<String>,
    /// Flags met so far, by their long names, or by their letter if only teiji has them.
    seen: BTreeSet<String>,
    /// All flags of the command line.
    all: BTreeSet<String>,
    /// One CPU is named, and no more.
    names_one_cpu: bool,
    /// One thread is asked for.
    names_one_thread: bool,
}

impl Translation {
    fn has(&self, any: &[&str]) -> bool {
        any.iter().any(|name| self.all.contains(*name))
    }

    /// A flag of ours as it was written.
    fn ours(&mut self, name: &str, written: &str) {
        let _ = self.seen.insert(name.to_owned());
        self.words.push(written.to_owned());
    }

    /// A flag of ours that takes a value.
    fn ours_with_value(&mut self, name: &str, written: &str, value: Option<&str>) {
        match value {
            None => self.left_out(written, NO_VALUE),
            Some("0") if matches!(name, "p" | "prio") => self.ordinary(written),
            Some(value) => {
                self.ours(name, written);
                self.words.push(value.to_owned());
            }
        }
    }

    /// Priority 0, which is ordinary scheduling in cyclictest.
    fn ordinary(&mut self, written: &str) {
        let _ = self.seen.insert("policy".to_owned());
        self.instead(&format!("{written} 0"), ["--policy", "other"].map(str::to_owned).to_vec());
    }

    fn flag(&mut self, flag: &Flag, written: &str, value: Option<&str>) {
        let shown = value.map_or_else(|| written.to_owned(), |value| format!("{written} {value}"));
        if value.is_none() && flag.value == Takes::Value {
            return self.left_out(written, NO_VALUE);
        }
        if flag.long == "priority" && value == Some("0") {
            return self.ordinary(written);
        }
        let is_length =
            written == "-d" && value.is_some_and(|value| value.ends_with(char::is_alphabetic));
        if !is_length {
            let _ = self.seen.insert(flag.long.to_owned());
        }
        self.names_one_cpu |=
            flag.long == "affinity" && value.is_some_and(|cpus| cpus.parse::<u32>().is_ok());
        self.names_one_thread |= flag.long == "threads" && value == Some("1");
        let instead: Vec<String> = match (flag.long, &flag.here, value) {
            ("affinity", _, Some(_)) if self.has(&["smp"]) => {
                return self.left_out(&shown, "cyclictest ignores it with -S");
            }
            ("affinity", _, None) => {
                return self.left_out(&shown, "teiji pins each thread to a CPU anyway");
            }
            ("threads", _, None) => return self.left_out(&shown, ONE_ON_EACH),
            // -n has a number here, and none there; -t and -a with theirs are the same.
            ("nanosleep", _, Some(number)) => return self.same(["-n", number]),
            ("affinity" | "threads" | "breaktrace", _, Some(value)) if written.len() == 2 => {
                return self.same([written, value]);
            }
            ("distance", _, Some(_)) if !is_length && self.has(HISTOGRAMS) => {
                return self.left_out(&shown, "cyclictest ignores it with a histogram");
            }
            ("distance", _, Some("0")) => {
                return self.left_out(&shown, "the intervals of all threads are the same anyway");
            }
            // A length, which is ours, unless there is cyclictest's flag for that too.
            ("distance", _, Some(value)) if is_length => return self.same(["-d", value]),
            ("loops", _, Some("0")) => return self.left_out(&shown, "a run has a length: -d TIME"),
            ("aligned", _, value) => vec![
                value.map_or_else(|| "--aligned".to_owned(), |value| format!("--aligned={value}")),
            ],
            (_, Here::Drop(why), _) => return self.left_out(&shown, why),
            (_, Here::None(why), _) => {
                self.lines.push(format!("  {shown:<10}  has no counterpart: {why}"));
                return;
            }
            (_, Here::Is(name), value) => {
                std::iter::once((*name).to_owned()).chain(value.map(str::to_owned)).collect()
            }
            (_, Here::Same, value) => {
                std::iter::once(written.to_owned()).chain(value.map(str::to_owned)).collect()
            }
        };
        self.instead(&shown, instead);
    }

    fn instead(&mut self, shown: &str, words: Vec<String>) {
        self.lines.push(format!("  {shown:<10}  is {}", words.join(" ")));
        self.words.extend(words);
    }

    fn same(&mut self, words: [&str; 2]) {
        self.words.extend(words.map(str::to_owned));
    }

    fn left_out(&mut self, shown: &str, why: &str) {
        self.lines.push(format!("  {shown:<10}  leave it out: {why}"));
    }

    /// What cyclictest does where nothing is said, and teiji does not: the command has it.
    fn add_what_differs_unsaid(&mut self) {
        if self.lines.is_empty() {
            return;
        }
        if !self.has(&["p", "prio", "priority", "policy"]) {
            self.add(
                "-p",
                "cyclictest's threads are SCHED_OTHER, teiji's SCHED_FIFO 90",
                ["--policy", "other"],
            );
        }
        let has_threads = self.has(&["threads", "smp"]);
        if !has_threads && !self.names_one_cpu {
            self.add("-t", "cyclictest starts one thread, teiji one on each CPU", ["-t", "1"]);
        }
        let has_further_threads = has_threads && !self.names_one_thread;
        if has_further_threads && !self.has(&["distance"]) && !self.has(HISTOGRAMS) {
            self.add(
                "-d",
                "cyclictest lengthens each further thread's interval",
                ["--distance", "500us"],
            );
        }
    }

    fn add(&mut self, without: &str, differs: &str, same: [&str; 2]) {
        let [flag, value] = same;
        self.lines.push(format!("  without {without}  {differs}: {flag} {value} is the same"));
        self.same(same);
    }

    /// Nothing where no word differs.
    fn command_line(&self) -> Option<String> {
        let measure = "measure".to_owned();
        let words: Vec<OsString> =
            std::iter::once(&measure).chain(&self.words).map(OsString::from).collect();
        // What else is wrong in it is for the user to change: it is no command to write.
        let last = match suggestion::refused(&words) {
            Some(why) => format!("That is no command line of teiji yet: {why}"),
            None => {
                let words: Vec<&dyn AsRef<OsStr>> =
                    words.iter().map(|word| word as &dyn AsRef<OsStr>).collect();
                format!("Write: {}", suggestion::command(&words))
            }
        };
        let lines = self.lines.join("\n");
        (!self.lines.is_empty())
            .then(|| format!("cyclictest's flags translated to teiji's:\n{lines}\n{last}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("teiji").chain(line.split_whitespace()).map(OsString::from).collect()
    }

    fn command_line(line: &str) -> Option<String> {
        let words = words(line);
        let error = crate::Cli::command().try_get_matches_from(&words).err()?;
        histogram_hint(&words).or_else(|| hint(&words, &error))
    }

    fn command(line: &str) -> String {
        let command_line = command_line(line).unwrap_or_else(|| panic!("{line}"));
        command_line
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("Write: "))
            .unwrap_or_else(|| panic!("{command_line}"))
            .to_owned()
    }

    /// It was advised to write `--probe` without its value.
    #[test]
    fn a_probe_of_ours_is_not_of_cyclictest() {
        for line in [
            "measure --probe stream -d 0",
            "measure --probe=app -d 0 -- true",
            "measure --probe noise -m",
        ] {
            assert_eq!(command_line(line), None, "{line}");
        }
        assert!(command_line("measure -d 0").is_some());
    }

    #[test]
    fn cyclictest_command_lines() {
        for (line, translated) in [
            (
                "measure -m -S -p 90 -i 200 -l 1000",
                "teiji measure -p 90 -i 200 -n 1000 --distance 500us",
            ),
            ("measure -mSp90 -i200 -h 400 -D 10m", "teiji measure -p 90 -i 200 -d 10m"),
            ("measure --smp -a -t -n -d 0", "teiji measure --policy other"),
            (
                "measure -a 1-3 -t 2 -l 5 -q",
                "teiji measure -a 1-3 -t 2 -n 5 -q --policy other --distance 500us",
            ),
            ("measure -t -a 1 -D 1h --histogram=400", "teiji measure -a 1 -d 1h --policy other"),
            (
                "measure --mlockall --priority=80 --loops=9 --breaktrace=100",
                "teiji measure -p 80 -n 9 -b 100 -t 1",
            ),
            ("measure -m -d 10s", "teiji measure -d 10s --policy other -t 1"),
            (
                "measure -m -D 10 -d 500 -A",
                "teiji measure -d 10 --distance 500 --aligned --policy other -t 1",
            ),
            ("measure -t5 -n", "teiji measure -t 5 --policy other --distance 500us"),
            (
                "measure -p 90 -m -c 0 -i 200 -n -v 100 -q -l 5000",
                "teiji measure -p 90 -i 200 -q -n 5000 -t 1",
            ),
            ("measure -D 30 -i 1000 -m", "teiji measure -d 30 -i 1000 --policy other -t 1"),
            ("measure -m -a 1 -i 200", "teiji measure -a 1 -i 200 --policy other"),
            ("measure -m -a -i 200", "teiji measure -i 200 --policy other -t 1"),
            ("measure -a 1-2 -m", "teiji measure -a 1-2 --policy other -t 1"),
            ("measure -a 1 -S -m", "teiji measure --policy other --distance 500us"),
            ("measure -S -d 300 -h 400", "teiji measure --policy other"),
            ("measure --distance=300 -S -h 400", "teiji measure --policy other"),
            ("measure -S -d 300 -D 1h", "teiji measure --distance 300 -d 1h --policy other"),
        ] {
            assert_eq!(command(line), translated, "{line}");
        }
        let command_line = command_line("measure -m -r").unwrap();
        assert!(
            command_line.contains(
                "  -m          leave it out: memory is always locked\n  -r          is \
                 --sleep=relative\n"
            ),
            "{command_line}"
        );
    }

    /// `teiji measure -p -p -i 10000` was what one was told to write.
    #[test]
    fn what_is_to_be_written_can_be_read() {
        for (line, translated) in [
            ("measure --priority -p -i 10000", "teiji measure -i 10000 --policy other -t 1"),
            (
                "measure -m -p -p -i 10000 -t5",
                "teiji measure -i 10000 -t 5 --policy other --distance 500us",
            ),
            ("measure -t1 -m -p -n -i 10000 -l", "teiji measure -t 1 -i 10000 --policy other"),
            ("measure -S -i", "teiji measure --policy other --distance 500us"),
            ("measure -S --interval -p 90", "teiji measure -p 90 --distance 500us"),
            ("measure -S -D", "teiji measure --policy other --distance 500us"),
            ("measure -S -p 0", "teiji measure --policy other --distance 500us"),
            ("measure -S --priority=0 -l 9", "teiji measure --policy other -n 9 --distance 500us"),
        ] {
            assert_eq!(command(line), translated, "{line}");
        }
        let refused = |line: &str| {
            command_line(line).unwrap().lines().last().map(str::to_owned).unwrap_or_default()
        };
        let begin = "That is no command line of teiji yet: ";
        assert_eq!(
            refused("measure -S -l many"),
            format!(
                "{begin}invalid value 'many' for '--samples <N>': 'many' is not a whole number \
                 above 0"
            )
        );
        assert_eq!(
            refused("measure -S -p 120"),
            format!(
                "{begin}priority 120 does not exist: real-time priorities are 1 (lowest) to 99 \
                 (highest)"
            )
        );
    }

    #[test]
    fn a_distance_that_is_not_given() {
        let lengthens = |line: &str| command_line(line).unwrap().contains("without -d");
        assert!(
            lengthens("measure -m -S")
                && lengthens("measure -m -t 3 -D1d")
                && lengthens("measure -m -t -d 10s")
        );
        for line in [
            "measure -S -h 400",
            "measure -h400 -m -t 2",
            "measure -m -D 10",
            "measure -m -a 1",
            "measure -p 80 -i 1000 -l 100000 -a2 -t1",
            "measure -t 1 -m",
            "measure -S -d 300",
        ] {
            assert!(!lengthens(line), "{line}");
        }
    }

    #[test]
    fn nothing_to_say() {
        for line in [
            "measure -i 200us -n 5 -a 1 -t 2",
            "show -m",
            "measure --distance 5us",
            "measure --bogus",
            "measure -n 10 -b 5",
            "run x.toml",
        ] {
            assert_eq!(command_line(line), None, "{line}");
        }
        let asks = |line: &str| histogram_hint(&words(line)).is_some();
        assert!(asks("measure -h 400") && asks("measure -q -h400"));
        assert!(!asks("measure -h") && !asks("show -h 400") && !asks("measure -h -q"));
    }

    #[test]
    fn a_program_of_ones_own() {
        for (line, name) in [
            ("measure ./my-loop", "'cmd:./my-loop'"),
            ("measure -o x/y.teiji /usr/bin/top", "'cmd:/usr/bin/top'"),
        ] {
            let command_line = command_line(line).unwrap_or_else(|| panic!("{line}"));
            assert!(
                command_line.contains(name)
                    && command_line.contains("--probe app -- ")
                    && command_line.contains("--pid N"),
                "{line}: {command_line}"
            );
        }
    }

    #[test]
    fn a_program_whose_name_a_shell_would_split() {
        for name in ["a b", "it's", "./my-loop"] {
            let command_line = program(name).unwrap();
            let commands: Vec<_> = command_line
                .lines()
                .filter(|line| line.starts_with("  teiji"))
                .filter_map(shlex::split)
                .collect();
            assert_eq!(commands[0][5], name);
            let load = commands[1][3].strip_prefix("cmd:").unwrap();
            assert_eq!(
                (shlex::split(load).unwrap(), commands[2][4].as_str()),
                (vec![name.to_owned()], &*format!("{name}=/my"))
            );
        }
    }
}
