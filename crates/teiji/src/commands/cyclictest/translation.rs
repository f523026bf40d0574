// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command line of cyclictest in the words of `teiji measure`, and what each of its options is
//! there.

use super::options::{CommandLine, Given, Id};
use super::settings::{Affinity, Alignment, Settings, is_whole_duration};
use plan::{Nanos, Policy};

/// The same in teiji's words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// Behind `teiji measure`.
    pub words: Vec<String>,
    /// What each option that differs is there, and what differs where nothing is said.
    pub lines: Vec<String>,
    /// Those of options that have no counterpart.
    pub lost: Vec<String>,
}

/// How long a run is where cyclictest would never end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as there.
    Theirs,
    /// As long as teiji measures by itself, or as its own words say.
    Ours,
}

/// What an option is in teiji.
enum Here {
    /// The same.
    Same,
    /// These words.
    Is(String),
    /// Nothing, because of this.
    LeftOut(&'static str),
    /// There is nothing like it.
    None(&'static str),
}

const ONE_ON_EACH: &str = "one thread on each CPU is what teiji does by itself";
const ALL_RECORDED: &str =
    "every sample is recorded; teiji show and teiji report draw the histogram";
const EACH_RECORDED: &str = "every sample is recorded: teiji export REC --samples";
const TRACERS: &str = "cyclictest has had no tracers since 2.0";

impl Translation {
    /// Of a command line, and of what it adds up to.
    pub fn new(line: &CommandLine, settings: &Settings, length: Length) -> Self {
        let words = words(line, settings, length);
        let mut translation = Translation { words, ..Translation::default() };
        for given in &line.given {
            translation.add(given, line, settings);
        }
        for written in &line.without_value {
            translation.left_out(written, "it has no value here");
        }
        for word in &line.unread {
            translation.left_out(word, "no flag takes it");
        }
        translation.add_what_differs_unsaid(line, settings, length);
        translation
    }

    /// Says what an option is here, where that is something else.
    fn add(&mut self, given: &Given, line: &CommandLine, settings: &Settings) {
        let value = given.value.as_deref();
        let shown = value
            .map_or_else(|| given.written.clone(), |value| format!("{} {value}", given.written));
        match here(given, line, settings) {
            Here::Same => {}
            Here::Is(words) => self.lines.push(format!("  {shown:<10}  is {words}")),
            Here::LeftOut(why) => self.left_out(&shown, why),
            Here::None(why) => {
                self.lines.push(format!("  {shown:<10}  has no counterpart: {why}"));
                self.lost.push(format!("{shown} has no counterpart in teiji: {why}"));
            }
        }
    }

    fn left_out(&mut self, shown: &str, why: &str) {
        self.lines.push(format!("  {shown:<10}  leave it out: {why}"));
    }

    /// What cyclictest does where nothing is said, and teiji does not: the command has it.
    fn add_what_differs_unsaid(&mut self, line: &CommandLine, settings: &Settings, length: Length) {
        let mut add = |without: &str, differs: &str| {
            let text = match differs.rsplit_once(": ") {
                Some((what, words)) => format!("{what}: {words} is the same"),
                None => differs.to_owned(),
            };
            self.lines.push(format!("  without {without}  {text}"));
        };
        let says_priority = line.has(Id::Priority);
        if !says_priority && !line.has(Id::Policy) {
            add(
                "-p",
                "cyclictest's threads are SCHED_OTHER, teiji's SCHED_FIFO 90: --policy other",
            );
        } else if settings.default_priority && !says_priority {
            let priority = settings.priority;
            add(
                "-p",
                &format!("the priority is the number of threads and one more: -p {priority}"),
            );
        }
        let says_threads = line.has(Id::Threads) || line.has(Id::Smp);
        if !says_threads && !names_one_cpu(settings) {
            add("-t", "cyclictest starts one thread, teiji one on each CPU: -t 1");
        }
        if settings.lengthens_unasked(line) {
            add("-d", "cyclictest lengthens each further thread's interval: --distance 500us");
        }
        if length == Length::Theirs && settings.loops.is_none() && settings.duration.is_none() {
            add("-D", "cyclictest runs until it is ended, teiji for 10 s: -d forever");
        }
    }
}

/// All threads run on one CPU, which is then the only one of a measurement.
fn names_one_cpu(settings: &Settings) -> bool {
    matches!(&settings.affinity, Affinity::Listed { written, .. } if written.parse::<u32>().is_ok())
}

/// Behind `teiji measure`, in the order of its help.
fn words(line: &CommandLine, settings: &Settings, length: Length) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    match settings.policy {
        Policy::Fifo => add("-p", settings.priority.to_string()),
        Policy::Rr => {
            add("--policy", "rr".to_owned());
            add("-p", settings.priority.to_string());
        }
        Policy::Batch => add("--policy", "batch".to_owned()),
        Policy::Idle => add("--policy", "idle".to_owned()),
        Policy::Other | Policy::Deadline => add("--policy", "other".to_owned()),
    }
    if settings.interval != Settings::DEFAULT_INTERVAL {
        add("-i", in_us(settings.interval));
    }
    match (settings.loops, settings.duration) {
        (Some(loops), _) => add("-n", loops.to_string()),
        (None, Some(length)) => {
            let given = line.last(Id::Duration).and_then(|given| given.value.clone());
            let written = given.filter(|given| is_whole_duration(given));
            add("-d", written.unwrap_or_else(|| length.to_string()));
        }
        (None, None) if length == Length::Ours => {}
        (None, None) => add("-d", "forever".to_owned()),
    }
    if let Affinity::Listed { written, .. } = &settings.affinity {
        add("-a", written.clone());
    }
    // One on each of all CPUs, or on the one that is named, is what teiji does by itself.
    let threads = match (settings.threads, &settings.affinity) {
        (None, Affinity::Listed { .. }) => Some(settings.cpus),
        (threads, _) => threads,
    };
    if let Some(threads) = threads.filter(|threads| *threads > 1 || !names_one_cpu(settings)) {
        add("-t", threads.to_string());
    }
    if let Some(above) = settings.break_above {
        add("-b", format!("{above}{}", if settings.nanoseconds { "ns" } else { "" }));
    }
    if settings.threads != Some(1) && settings.distance > Nanos::ZERO {
        add("--distance", settings.distance.to_string());
    }
    if settings.realtime_clock {
        add("--clock", "realtime".to_owned());
    }
    if settings.sleep() != "absolute" {
        add("--sleep", settings.sleep().to_owned());
    }
    match settings.alignment {
        Alignment::Instant(Nanos::ZERO) => words.push("--aligned".to_owned()),
        Alignment::Instant(offset) => words.push(format!("--aligned={offset}")),
        Alignment::None | Alignment::Second(_) => {}
    }
    if settings.dma_latency.is_none() {
        words.push("--no-dma-latency".to_owned());
    }
    if settings.quiet {
        words.push("-q".to_owned());
    }
    words
}

/// A bare number counts µs.
fn in_us(time: Nanos) -> String {
    (time.0 / 1_000).to_string()
}

/// What an option is in teiji.
fn here(given: &Given, line: &CommandLine, settings: &Settings) -> Here {
    let value = given.value.as_deref();
    let is_long = given.written.starts_with("--");
    let same_letter = |letter: &str| match value {
        Some(value) if is_long => Here::Is(format!("{letter} {value}")),
        _ => Here::Same,
    };
    let is = |words: &str| Here::Is(words.to_owned());
    match given.id {
        Id::Interval | Id::Quiet | Id::Policy | Id::Help => Here::Same,
        Id::LockMemory => Here::LeftOut("memory is always locked"),
        Id::Smp => Here::LeftOut(ONE_ON_EACH),
        Id::Threads | Id::Affinity if line.has(Id::Smp) => {
            Here::LeftOut("cyclictest ignores it with -S")
        }
        Id::Threads if value.is_none() && matches!(settings.affinity, Affinity::Listed { .. }) => {
            Here::Is(format!("-t {}: as many as there are CPUs here", settings.cpus))
        }
        Id::Threads if value.is_none() => Here::LeftOut(ONE_ON_EACH),
        Id::Threads => same_letter("-t"),
        Id::Affinity if value.is_none() => Here::LeftOut("teiji pins each thread to a CPU anyway"),
        Id::Affinity => same_letter("-a"),
        Id::Priority if settings.default_priority => Here::Is(format!(
            "-p {}: cyclictest makes of it the number of threads and one more",
            settings.priority
        )),
        Id::Priority => same_letter("-p"),
        Id::BreakTrace if settings.break_above.is_none() => Here::LeftOut("0 ends no run"),
        Id::BreakTrace => same_letter("-b"),
        Id::Loops if settings.loops.is_none() => {
            Here::LeftOut("what is no number above 0 is no end")
        }
        Id::Loops => Here::Is(format!("-n {}", value.unwrap_or_default())),
        Id::Duration => match (settings.duration, value.is_some_and(is_whole_duration)) {
            (Some(length), false) => Here::Is(format!("-d {length}: the rest is passed over")),
            _ => Here::Is(format!("-d {}", value.unwrap_or_default())),
        },
        Id::Distance if settings.histogram.is_some() => {
            Here::LeftOut("cyclictest ignores it with a histogram")
        }
        Id::Distance if settings.distance == Nanos::ZERO => {
            Here::LeftOut("the intervals of all threads are the same anyway")
        }
        Id::Distance => Here::Is(format!("--distance {}", settings.distance)),
        Id::Nanosleep => {
            Here::LeftOut("teiji sleeps with clock_nanosleep until an absolute time by itself")
        }
        Id::Histogram | Id::HistogramOfAll | Id::HistogramFile => Here::LeftOut(ALL_RECORDED),
        Id::Verbose | Id::Oscilloscope | Id::Spike | Id::SpikeNodes => Here::LeftOut(EACH_RECORDED),
        Id::Aligned => Here::Is(
            value.map_or_else(|| "--aligned".to_owned(), |value| format!("--aligned={value}")),
        ),
        Id::Clock if settings.realtime_clock => is("--clock realtime"),
        Id::Clock => Here::LeftOut("teiji's clock is CLOCK_MONOTONIC too"),
        Id::RefreshOnMax => Here::LeftOut("progress is drawn a few times a second"),
        Id::Nanoseconds => Here::LeftOut("recordings are in ns, and shown in µs"),
        Id::Unbuffered => Here::LeftOut("output is never held back"),
        Id::Resolution => Here::LeftOut("the clock's resolution is in every recording"),
        Id::Laptop | Id::DefaultSystem => is("--no-dma-latency"),
        Id::Latency | Id::LatencyLetter => {
            Here::LeftOut("/dev/cpu_dma_latency is held at 0, or not at all with --no-dma-latency")
        }
        Id::DeepestIdleState => Here::None("/dev/cpu_dma_latency is held at 0"),
        Id::Relative | Id::System | Id::PosixTimers => {
            Here::Is(format!("--sleep {}", settings.sleep()))
        }
        Id::Json => Here::LeftOut("teiji show REC --json has the figures"),
        Id::Fifo => Here::None("a terminal shows the figures so far"),
        Id::MainAffinity => Here::None("only measuring threads are pinned"),
        Id::SpreadPriorities => Here::None("all threads have the same priority"),
        Id::SecAligned => Here::None("starts are not tied to full seconds"),
        Id::TraceMark => Here::None("the kernel's trace is left alone"),
        Id::Smi => Here::None("teiji measure --probe hwlat finds what firmware takes"),
        Id::Debug => Here::None("it is for cyclictest's developers"),
        Id::Numa => Here::LeftOut(ONE_ON_EACH),
        Id::Preemptirqs
        | Id::Context
        | Id::Event
        | Id::Ftrace
        | Id::Irqsoff
        | Id::Preemptoff
        | Id::TraceOption
        | Id::Tracer
        | Id::Wakeup
        | Id::WakeupRealTime => Here::None(TRACERS),
    }
}
