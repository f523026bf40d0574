// SPDX-License-Identifier: MIT OR Apache-2.0
//! cyclictest's options in all its versions, and its command lines taken apart as getopt does: the
//! one table of them.

use std::fmt;

/// A version whose command line and output are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 1.x, before rt-tests 2.0.
    One,
    /// As Debian 12 has it.
    TwoFour,
    /// The newest one.
    TwoNine,
}

impl Version {
    pub const ALL: [Version; 3] = [Version::One, Version::TwoFour, Version::TwoNine];

    pub const NEWEST: Version = Version::TwoNine;

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Version::One => "1.10",
            Version::TwoFour => "2.4",
            Version::TwoNine => "2.9",
        }
    }

    /// As the program prints it.
    pub const fn printed(self) -> &'static str {
        match self {
            Version::One => "1.10",
            Version::TwoFour => "2.40",
            Version::TwoNine => "2.90",
        }
    }

    /// The one of this name, or the newest that is not newer.
    pub fn named(name: &str) -> Option<Self> {
        let mut numbers = name.split('.');
        let major: u32 = numbers.next()?.parse().ok()?;
        let minor: u32 = numbers.next().unwrap_or("0").parse().ok()?;
        // The program prints 2.4 as 2.40.
        let minor = if minor >= 10 && minor.is_multiple_of(10) { minor / 10 } else { minor };
        match (major, minor) {
            (0 | 1, _) => Some(Version::One),
            (2, ..=6) => Some(Version::TwoFour),
            (2, _) => Some(Version::TwoNine),
            _ => None,
        }
    }
}

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// In the same word or in the next.
    Value,
    /// In the same word, or in the next if that is a number or a list of CPUs.
    Number,
}

/// One of cyclictest's options.
#[derive(Debug)]
pub struct CyclictestOption {
    pub id: Id,
    pub short: Option<char>,
    /// None of those that had a letter alone.
    pub long: Option<&'static str>,
    pub takes: Takes,
    /// The first version that has it, and the last.
    versions: (Version, Version),
    /// What it asks for.
    pub help: &'static str,
}

macro_rules! options {
    ($($id:ident $short:tt $long:tt $takes:ident $versions:ident $help:literal;)*) => {
        /// Which option it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Id {
            $($id,)*
        }

        /// In the order of their help.
        pub const OPTIONS: &[CyclictestOption] = &[
            $(CyclictestOption {
                id: Id::$id,
                short: options!(@letter $short),
                long: options!(@word $long),
                takes: Takes::$takes,
                versions: $versions,
                help: $help,
            },)*
        ];
    };
    (@letter -) => { None };
    (@letter $letter:literal) => { Some($letter) };
    (@word -) => { None };
    (@word $word:literal) => { Some($word) };
}

const ALL: (Version, Version) = (Version::One, Version::TwoNine);
const FROM_TWO: (Version, Version) = (Version::TwoFour, Version::TwoNine);
const NEW: (Version, Version) = (Version::TwoNine, Version::TwoNine);
const OLD: (Version, Version) = (Version::One, Version::One);

options! {
    Affinity 'a' "affinity" Number ALL
        "pin thread n to the n-th CPU, or in turn to those of the list";
    Aligned 'A' "aligned" Number ALL
        "start all threads at one instant, the n-th so many µs later";
    BreakTrace 'b' "breaktrace" Value ALL
        "end the run at a latency above this, µs";
    Preemptirqs 'B' "preemptirqs" Nothing OLD
        "ftrace: trace preemption and interrupts that are off";
    Clock 'c' "clock" Value ALL
        "0: CLOCK_MONOTONIC, 1: CLOCK_REALTIME";
    Context 'C' "context" Nothing OLD
        "ftrace: trace context switches";
    DeepestIdleState - "deepest-idle-state" Value NEW
        "keep CPUs from deeper idle states than this";
    DefaultSystem - "default-system" Nothing FROM_TWO
        "leave power management as it is";
    Distance 'd' "distance" Value ALL
        "how much longer the interval of each further thread is, µs (500)";
    Duration 'D' "duration" Value ALL
        "length of the run, s, or with m, h, d behind it";
    Event 'E' "event" Nothing OLD
        "ftrace: trace events";
    Ftrace 'f' "ftrace" Nothing OLD
        "ftrace: trace functions";
    Fifo 'F' "fifo" Value ALL
        "write status lines to a named pipe that is made there";
    Histogram 'h' "histogram" Value ALL
        "print a histogram with buckets of 1 µs, so many";
    HistogramOfAll 'H' "histofall" Value ALL
        "the same with a column that sums up all threads";
    HistogramFile - "histfile" Value ALL
        "write the histogram into a file";
    Interval 'i' "interval" Value ALL
        "interval of the first thread, µs (1000)";
    Irqsoff 'I' "irqsoff" Nothing OLD
        "ftrace: trace interrupts that are off";
    Json - "json" Value FROM_TWO
        "write the result into a file as JSON, with - to standard output";
    Laptop - "laptop" Nothing ALL
        "leave /dev/cpu_dma_latency alone";
    Latency - "latency" Value ALL
        "what /dev/cpu_dma_latency is held at, µs (0)";
    LatencyLetter 'e' - Value OLD
        "what /dev/cpu_dma_latency is held at, µs (0)";
    Loops 'l' "loops" Value ALL
        "end after so many cycles (0: never)";
    MainAffinity - "mainaffinity" Value FROM_TWO
        "CPUs of the main thread";
    LockMemory 'm' "mlockall" Nothing ALL
        "lock memory";
    RefreshOnMax 'M' "refresh_on_max" Nothing ALL
        "print only where there is a new maximum";
    Nanosleep 'n' "nanosleep" Nothing OLD
        "sleep with clock_nanosleep, as is usual now";
    Nanoseconds 'N' "nsecs" Nothing ALL
        "print in ns instead of µs";
    Oscilloscope 'o' "oscope" Value ALL
        "with -v, print only the largest of so many latencies";
    TraceOption 'O' "traceopt" Value OLD
        "ftrace: set an option";
    Priority 'p' "priority" Value ALL
        "priority of the threads, SCHED_FIFO unless --policy says something else";
    Preemptoff 'P' "preemptoff" Nothing OLD
        "ftrace: trace preemption that is off";
    Policy - "policy" Value ALL
        "other, batch, idle, fifo or rr";
    SpreadPriorities - "priospread" Nothing ALL
        "give each further thread a priority one lower";
    Quiet 'q' "quiet" Nothing ALL
        "print only the result";
    Relative 'r' "relative" Nothing ALL
        "sleep for a time instead of until a time";
    Resolution 'R' "resolution" Nothing ALL
        "say what the clock resolves";
    SecAligned - "secaligned" Number ALL
        "start all threads at a full second, so many µs after it";
    System 's' "system" Nothing ALL
        "sleep with nanosleep, or with -x by setitimer";
    Smp 'S' "smp" Nothing ALL
        "one thread on each CPU, all of one priority";
    Spike - "spike" Value FROM_TWO
        "list latencies above this, µs";
    SpikeNodes - "spike-nodes" Value FROM_TWO
        "how many of them at most (1024)";
    Smi - "smi" Nothing ALL
        "count system management interrupts of Intel's CPUs";
    Threads 't' "threads" Number ALL
        "threads: so many, or without a number one for each CPU (1)";
    Tracer 'T' "tracer" Value OLD
        "ftrace: set the tracer";
    TraceMark - "tracemark" Nothing ALL
        "with -b, mark the latency in the kernel's trace and end the trace";
    Unbuffered 'u' "unbuffered" Nothing ALL
        "hold no output back";
    Numa 'U' "numa" Nothing OLD
        "threads and their memory on their nodes";
    Verbose 'v' "verbose" Nothing ALL
        "print each latency";
    Wakeup 'w' "wakeup" Nothing OLD
        "ftrace: trace wake-ups";
    WakeupRealTime 'W' "wakeuprt" Nothing OLD
        "ftrace: trace wake-ups of real-time threads";
    Debug - "dbg_cyclictest" Nothing ALL
        "print what only its developers need";
    PosixTimers 'x' "posix_timers" Nothing FROM_TWO
        "sleep by timer_create and a signal";
    Help - "help" Nothing ALL
        "print this";
}

impl CyclictestOption {
    /// Whether this version has it.
    pub fn is_of(&self, version: Version) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
    }
}

/// The option of this identity.
pub fn option(id: Id) -> &'static CyclictestOption {
    // Each identity is one line of the table, in its order.
    &OPTIONS[id as usize]
}

/// An option as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    pub id: Id,
    pub value: Option<String>,
    /// As it was written, without its value: `-p`, `--priority`.
    pub written: String,
    /// The word in which it stands, from 0.
    pub word: usize,
}

/// A command line taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    pub given: Vec<Given>,
    /// Words that belong to no option. cyclictest passes over them.
    pub unread: Vec<String>,
    /// Options that have no value though they need one, as they were written.
    pub without_value: Vec<String>,
    /// Whether a word that begins with a dash is never a value.
    is_lenient: bool,
}

/// What getopt cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    Unknown(String),
    /// Several options begin so.
    Ambiguous(String),
    NeedsValue(String),
    TakesNone(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Unknown(option) => write!(f, "cyclictest has no option {option}"),
            Unreadable::Ambiguous(option) => {
                write!(f, "several of cyclictest's options begin with {option}")
            }
            Unreadable::NeedsValue(option) => write!(f, "{option} needs a value"),
            Unreadable::TakesNone(option) => write!(f, "{option} takes no value"),
        }
    }
}

impl CommandLine {
    /// Takes the words behind the program's name apart as getopt_long does for this version:
    /// letters run together, values in the same word or the next, long options by any beginning
    /// that only one has, and words that are no option anywhere. Options that only another version
    /// has are read as there: [`CommandLine::of_others`] has them.
    ///
    /// # Errors
    /// The first word that cannot be read.
    pub fn read(words: &[String], version: Version) -> Result<Self, Unreadable> {
        CommandLine::default().with(words, version)
    }

    /// The same as its writer may have meant it: a word that begins with a dash is the next option,
    /// and an option without its value is left out.
    ///
    /// # Errors
    /// The first word that cannot be read.
    pub fn read_leniently(words: &[String], version: Version) -> Result<Self, Unreadable> {
        CommandLine { is_lenient: true, ..CommandLine::default() }.with(words, version)
    }

    fn with(self, words: &[String], version: Version) -> Result<Self, Unreadable> {
        let mut line = self;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).map(String::as_str);
            let takes_next = if word == "--" {
                line.unread.extend(words[at + 1..].iter().cloned());
                return Ok(line);
            } else if let Some(long) = word.strip_prefix("--") {
                line.long(long, next, version, at)?
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                line.letters(letters, next, at)?
            } else {
                line.unread.push(word.clone());
                false
            };
            at += 1 + usize::from(takes_next);
        }
        Ok(line)
    }

    /// Reads `name` or `name=value`; whether the next word is its value.
    fn long(
        &mut self,
        word: &str,
        next: Option<&str>,
        version: Version,
        at: usize,
    ) -> Result<bool, Unreadable> {
        let (name, attached) = word.split_once('=').map_or((word, None), |(n, v)| (n, Some(v)));
        let written = format!("--{name}");
        let begins =
            |option: &&CyclictestOption| option.long.is_some_and(|long| long.starts_with(name));
        let of = OPTIONS.iter().filter(|option| option.is_of(version));
        let found: Vec<_> = of.filter(begins).collect();
        // Of another version only in full.
        let exact = OPTIONS.iter().find(|option| option.long == Some(name));
        let option = match (exact, found.as_slice()) {
            (Some(option), _) => option,
            (None, [option]) => *option,
            (None, []) => return Err(Unreadable::Unknown(written)),
            (None, _) => return Err(Unreadable::Ambiguous(written)),
        };
        if attached.is_some() && option.takes == Takes::Nothing {
            return Err(Unreadable::TakesNone(written));
        }
        self.add(option, written, attached, next, at)
    }

    /// Reads letters that stand in one word; whether the next word is the last one's value.
    fn letters(&mut self, word: &str, next: Option<&str>, at: usize) -> Result<bool, Unreadable> {
        for (place, letter) in word.char_indices() {
            let written = format!("-{letter}");
            let Some(option) = OPTIONS.iter().find(|option| option.short == Some(letter)) else {
                return Err(Unreadable::Unknown(written));
            };
            let rest = &word[place + letter.len_utf8()..];
            if option.takes == Takes::Nothing {
                self.push(option, written, None, at);
                continue;
            }
            return self.add(option, written, (!rest.is_empty()).then_some(rest), next, at);
        }
        Ok(false)
    }

    /// Adds an option that may have a value; whether the next word is it.
    fn add(
        &mut self,
        option: &CyclictestOption,
        written: String,
        attached: Option<&str>,
        next: Option<&str>,
        at: usize,
    ) -> Result<bool, Unreadable> {
        let from_next = match option.takes {
            _ if attached.is_some() => None,
            Takes::Nothing => None,
            Takes::Value => match next.filter(|next| !self.is_lenient || !next.starts_with('-')) {
                None if self.is_lenient => {
                    self.without_value.push(written);
                    return Ok(false);
                }
                next => Some(next.ok_or_else(|| Unreadable::NeedsValue(written.clone()))?),
            },
            Takes::Number => {
                next.filter(|next| is_number(next) || option.id == Id::Affinity && *next == "all")
            }
        };
        // A number of threads that stands by itself counts only if it is not 0.
        let value = attached.or(from_next.filter(|next| option.id != Id::Threads || *next != "0"));
        self.push(option, written, value, at);
        Ok(from_next.is_some())
    }

    fn push(
        &mut self,
        option: &CyclictestOption,
        written: String,
        value: Option<&str>,
        word: usize,
    ) {
        let value = value.map(str::to_owned);
        self.given.push(Given { id: option.id, value, written, word });
    }

    /// The last one given, which counts.
    pub fn last(&self, id: Id) -> Option<&Given> {
        self.given.iter().rev().find(|given| given.id == id)
    }

    /// Options that this version does not have.
    pub fn of_others(&self, version: Version) -> impl Iterator<Item = &Given> {
        self.given.iter().filter(move |given| !option(given.id).is_of(version))
    }

    pub fn has(&self, id: Id) -> bool {
        self.last(id).is_some()
    }
}

/// Whether a word is taken for the value of an option that may have one.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '!' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, version: Version) -> Result<CommandLine, Unreadable> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        CommandLine::read(&words, version)
    }

    /// `-p 80`, as `Priority=80`; what has no value, by its name alone.
    fn given(line: &str) -> String {
        let line = read(line, Version::TwoFour).unwrap();
        let each = line.given.iter().map(|given| match &given.value {
            Some(value) => format!("{:?}={value}", given.id),
            None => format!("{:?}", given.id),
        });
        each.chain(line.unread.iter().map(|word| format!("({word})"))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_table_of_one_line_for_each() {
        for (place, one) in OPTIONS.iter().enumerate() {
            assert_eq!(one.id as usize, place);
            for other in &OPTIONS[..place] {
                let same = (one.short.is_some() && one.short == other.short)
                    || (one.long.is_some() && one.long == other.long);
                assert!(!same, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn command_lines_as_getopt_reads_them() {
        for (line, expected) in [
            ("-mSp90 -i200", "LockMemory Smp Priority=90 Interval=200"),
            ("-t5 -a1-3 -t 4 -a", "Threads=5 Affinity=1-3 Threads=4 Affinity"),
            ("-t -p 80", "Threads Priority=80"),
            ("--quie --loops=9 --loops 10", "Quiet Loops=9 Loops=10"),
            ("-v 100 -q", "Verbose Quiet (100)"),
            ("-smp -p 80", "System LockMemory Priority=-p (80)"),
            ("-q -- -l 5", "Quiet (-l) (5)"),
            ("-t 0 -a 0", "Threads Affinity=0"),
            ("-t0", "Threads=0"),
            ("--histogram=400 --hist=5", ""),
        ] {
            if expected.is_empty() {
                assert_eq!(
                    read(line, Version::TwoFour),
                    Err(Unreadable::Ambiguous("--hist".to_owned()))
                );
            } else {
                assert_eq!(given(line), expected, "{line}");
            }
        }
    }

    #[test]
    fn what_a_version_has() {
        let others = |line: &str, version| {
            let line = read(line, version).unwrap();
            line.of_others(version).map(|given| given.id).collect::<Vec<_>>()
        };
        assert_eq!(others("-n -q", Version::TwoFour), [Id::Nanosleep]);
        assert_eq!(others("-n -q", Version::One), []);
        assert_eq!(others("--deepest-idle-state=1", Version::TwoFour), [Id::DeepestIdleState]);
        assert_eq!(others("--deepest-idle-state=1", Version::TwoNine), []);
        for unknown in ["-y", "--nanos"] {
            assert_eq!(
                read(unknown, Version::TwoNine),
                Err(Unreadable::Unknown(unknown.to_owned()))
            );
        }
        assert_eq!(read("-l", Version::TwoFour), Err(Unreadable::NeedsValue("-l".to_owned())));
        assert_eq!(
            read("--quiet=1", Version::TwoFour),
            Err(Unreadable::TakesNone("--quiet".to_owned()))
        );
    }

    #[test]
    fn versions_by_name() {
        for (name, version) in [
            ("1.1", Some(Version::One)),
            ("2.4", Some(Version::TwoFour)),
            ("2.40", Some(Version::TwoFour)),
            ("2.90", Some(Version::TwoNine)),
            ("2.9", Some(Version::TwoNine)),
            ("2.7", Some(Version::TwoNine)),
            ("3", None),
            ("new", None),
        ] {
            assert_eq!(Version::named(name), version, "{name}");
        }
    }
}
