// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a command line of cyclictest asks for, with its defaults and with what one option does to
//! another.

use super::options::{CommandLine, Id, Version};
use anyhow::{anyhow, bail};
use plan::{CpuList, Nanos, Policy};

/// Where the threads run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// Wherever the kernel puts them.
    Any,
    /// Thread n on the n-th CPU.
    Each,
    /// In turn on these.
    Listed { cpus: CpuList, written: String },
}

/// How many threads, and where.
struct Placement {
    /// None for one on each CPU.
    threads: Option<usize>,
    affinity: Affinity,
    /// Lists of CPUs that are counted on standard output as soon as they are read.
    counted: Vec<CpuList>,
}

/// How threads start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Each as it is made.
    None,
    /// At one instant, the n-th later by n times this.
    Instant(Nanos),
    /// So much after the beginning of a second.
    Second(Nanos),
}

/// What the command line adds up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub version: Version,
    pub affinity: Affinity,
    /// Lists of CPUs that stand behind `-v`: how many each has is printed before anything else.
    pub counted: Vec<CpuList>,
    pub main_affinity: Option<CpuList>,
    pub alignment: Alignment,
    /// A latency above this, µs (ns with `nanoseconds`), ends the run.
    pub break_above: Option<u64>,
    pub trace_mark: bool,
    pub realtime_clock: bool,
    pub interval: Nanos,
    pub distance: Nanos,
    /// None: until somebody ends it.
    pub duration: Option<Nanos>,
    /// None: until somebody ends it.
    pub loops: Option<u64>,
    /// Buckets of a histogram, one for each µs (ns with `nanoseconds`).
    pub histogram: Option<usize>,
    pub histogram_has_sum: bool,
    pub histogram_file: Option<String>,
    pub json: Option<String>,
    pub fifo: Option<String>,
    /// What /dev/cpu_dma_latency is held at, µs; none: it is left alone.
    pub dma_latency: Option<i32>,
    pub deepest_idle_state: Option<i64>,
    pub refresh_on_max: bool,
    pub nanoseconds: bool,
    /// Of so many latencies, only the largest is printed.
    pub oscilloscope: u64,
    pub policy: Policy,
    pub priority: u32,
    /// Whether that is the number of threads and one more, because none above 0 was given.
    pub default_priority: bool,
    pub spread_priorities: bool,
    pub quiet: bool,
    pub relative: bool,
    pub resolution: bool,
    pub system: bool,
    /// Latencies above this are listed, µs (ns with `nanoseconds`).
    pub spike: Option<u64>,
    pub spike_nodes: usize,
    /// System management interrupts are counted.
    pub smi: bool,
    /// None: as many as there are CPUs.
    pub threads: Option<usize>,
    /// So many there are.
    pub cpus: usize,
    pub verbose: bool,
    pub posix_timers: bool,
}

/// The most buckets of a histogram.
const MAX_BUCKETS: usize = 1_000_000;
const SPIKE_NODES: usize = 1024;
const DISTANCE_US: i64 = 500;

/// A number as C's atoi reads it: what stands in front of anything else, or 0.
pub fn number(text: &str) -> i64 {
    let text = text.trim_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let value = digits[..end].parse().unwrap_or(if end == 0 { 0 } else { i64::MAX });
    if negative { -value } else { value }
}

/// Whether a duration is a number with a unit that cyclictest has: what else follows it passes
/// over.
pub fn is_whole_duration(text: &str) -> bool {
    let digits = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A duration as cyclictest has it, in seconds, minutes, hours or days.
fn duration(text: &str) -> Nanos {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = match digits.chars().next() {
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => 1,
    };
    Nanos::from_secs(number(text).saturating_mul(unit))
}

impl Settings {
    pub const DEFAULT_INTERVAL: Nanos = Nanos::from_millis(1);

    /// What the command line asks for on a machine with so many CPUs, and what cyclictest says of
    /// it on standard error.
    ///
    /// # Errors
    /// What cyclictest refuses, or hangs with.
    pub fn from_line(
        line: &CommandLine,
        version: Version,
        cpus: usize,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut said = Vec::new();
        let text = |id| line.last(id).and_then(|given| given.value.clone());
        let value = |id| line.last(id).map(|given| number(given.value.as_deref().unwrap_or("")));
        let Placement { threads, affinity, counted } = placement(line, version, &mut said)?;
        let all = line.last(Id::HistogramOfAll).map(|given| given.word);
        let only = line.last(Id::Histogram).map(|given| given.word);
        let histogram_id = if all > only { Id::HistogramOfAll } else { Id::Histogram };
        let histogram = match value(histogram_id) {
            None => None,
            Some(asked) => Some(
                usize::try_from(asked)
                    .ok()
                    .filter(|asked| *asked > 0)
                    .ok_or_else(|| anyhow!("a histogram has at least one bucket"))?
                    .min(MAX_BUCKETS),
            ),
        };
        let mut distance = value(Id::Distance);
        if histogram.is_some() {
            if distance.is_some() {
                said.push(
                    "WARN: distance is ignored and set to 0, if histogram enabled".to_owned(),
                );
            }
            distance = Some(0);
        }
        let clock = value(Id::Clock).unwrap_or(0);
        if !(0..=1).contains(&clock) {
            bail!(
                "-c {clock}: there are the clocks 0 (CLOCK_MONOTONIC) and 1 (CLOCK_REALTIME){}",
                if clock == 2 { "; cyclictest itself hangs with 2" } else { "" }
            );
        }
        let interval = value(Id::Interval).unwrap_or(Self::DEFAULT_INTERVAL.0 / 1_000);
        if interval < 1 {
            bail!("-i {interval}: an interval is at least 1 µs; cyclictest itself hangs");
        }
        let alignment = match (line.last(Id::Aligned), line.last(Id::SecAligned)) {
            (Some(_), Some(_)) => {
                bail!("--aligned and --secaligned exclude one another");
            }
            (Some(_), None) => Alignment::Instant(micros(value(Id::Aligned))),
            (None, Some(_)) => Alignment::Second(micros(value(Id::SecAligned))),
            (None, None) => Alignment::None,
        };
        let oscilloscope = value(Id::Oscilloscope);
        if oscilloscope.is_some_and(|asked| asked < 1) {
            bail!("-o takes a number above 0");
        }
        if oscilloscope.is_some() && !line.has(Id::Verbose) {
            bail!("-o is of the latencies that -v prints, and there is no -v");
        }
        let count_threads = i64::try_from(threads.unwrap_or(cpus)).unwrap_or(1);
        let (policy, priority, default_priority) = scheduling(line, count_threads, &mut said)?;
        let held = line.last(Id::Latency).or_else(|| line.last(Id::LatencyLetter));
        let dma = held.map_or(0, |given| number(given.value.as_deref().unwrap_or("")));
        let is_left_alone = line.has(Id::Laptop) || line.has(Id::DefaultSystem);
        let settings = Settings {
            version,
            affinity,
            counted,
            main_affinity: text(Id::MainAffinity).map(|list| cpu_list(&list)).transpose()?,
            alignment,
            break_above: value(Id::BreakTrace).and_then(above_zero),
            trace_mark: line.has(Id::TraceMark),
            realtime_clock: clock == 1,
            interval: Nanos::from_micros(interval),
            distance: Nanos::from_micros(distance.unwrap_or(DISTANCE_US)),
            duration: text(Id::Duration).map(|text| duration(&text)).filter(|time| time.0 > 0),
            loops: value(Id::Loops).and_then(above_zero),
            histogram,
            histogram_has_sum: all.is_some(),
            histogram_file: text(Id::HistogramFile),
            json: text(Id::Json),
            fifo: text(Id::Fifo),
            dma_latency: (!is_left_alone).then(|| i32::try_from(dma.max(0)).unwrap_or(i32::MAX)),
            deepest_idle_state: value(Id::DeepestIdleState),
            refresh_on_max: line.has(Id::RefreshOnMax),
            nanoseconds: line.has(Id::Nanoseconds),
            oscilloscope: oscilloscope.and_then(above_zero).unwrap_or(1),
            policy,
            priority,
            default_priority,
            spread_priorities: line.has(Id::SpreadPriorities),
            quiet: line.has(Id::Quiet),
            relative: line.has(Id::Relative),
            resolution: line.has(Id::Resolution),
            system: line.has(Id::System),
            spike: value(Id::Spike).and_then(above_zero),
            spike_nodes: value(Id::SpikeNodes)
                .and_then(|asked| usize::try_from(asked).ok())
                .filter(|asked| *asked > 0)
                .unwrap_or(SPIKE_NODES),
            smi: line.has(Id::Smi),
            threads,
            cpus,
            verbose: line.has(Id::Verbose),
            posix_timers: line.has(Id::PosixTimers),
        };
        if settings.system && settings.posix_timers {
            said.push(
                "WARN: The system option requires clock_nanosleep\nand is not compatible with \
                 posix_timers\nUsing clock_nanosleep"
                    .to_owned(),
            );
        }
        if line.has(Id::Laptop) {
            said.push("WARN: not setting cpu_dma_latency to save battery power".to_owned());
        }
        Ok((settings, said))
    }

    /// Whether threads stay on their CPUs though nobody asked: built with libnuma, as usual, 2.4
    /// has them so.
    pub fn pins_unasked(&self) -> bool {
        self.version == Version::TwoFour
    }

    /// How a thread sleeps, as the probe's setting has it.
    pub const fn sleep(&self) -> &'static str {
        match (self.posix_timers, self.system, self.relative) {
            (true, false, _) => "signal",
            (_, true, _) | (false, false, true) => "relative",
            (false, false, false) => "absolute",
        }
    }

    /// Whether further threads have longer intervals though nobody asked.
    pub fn lengthens_unasked(&self, line: &CommandLine) -> bool {
        self.threads != Some(1) && self.distance > Nanos::ZERO && !line.has(Id::Distance)
    }

    /// One for each µs, or for each ns.
    pub const fn unit(&self) -> Nanos {
        if self.nanoseconds { Nanos(1) } else { Nanos(1_000) }
    }
}

/// A list of CPUs as libnuma has it; what is relative (`+`) is taken from CPU 0 on, as where all
/// CPUs may be used.
fn cpu_list(list: &str) -> anyhow::Result<CpuList> {
    list.replace('+', "").parse().map_err(|error| anyhow!("'{list}': {error}"))
}

/// `-S` has the last word on both; behind `-a` it is refused since 2.0.
fn placement(
    line: &CommandLine,
    version: Version,
    said: &mut Vec<String>,
) -> anyhow::Result<Placement> {
    let (mut threads, mut affinity, mut smp) = (Some(1), Affinity::Any, false);
    let (mut counted, mut is_verbose, mut is_placed) = (Vec::new(), false, false);
    for given in &line.given {
        let value = given.value.as_deref();
        match given.id {
            Id::Smp if is_placed && version > Version::One => {
                bail!("-a before {}: numa and smp options are mutually exclusive", given.written);
            }
            Id::Smp => (threads, affinity, smp) = (None, Affinity::Each, true),
            Id::Threads | Id::Affinity if smp => {
                said.push(format!("WARN: {} ignored due to smp mode", given.written));
            }
            Id::Threads => {
                let number = |text| usize::try_from(number(text)).ok().filter(|n| *n > 0);
                let asked = value.map(|text| {
                    number(text).ok_or_else(|| anyhow!("-t {text}: at least one thread"))
                });
                threads = asked.transpose()?;
            }
            Id::Affinity => {
                is_placed = true;
                affinity = match value {
                    None => Affinity::Each,
                    Some(list) => {
                        let cpus = cpu_list(list)?;
                        counted.extend(is_verbose.then(|| cpus.clone()));
                        Affinity::Listed { cpus, written: list.to_owned() }
                    }
                }
            }
            Id::Verbose => is_verbose = true,
            _ => {}
        }
    }
    Ok(Placement { threads, affinity, counted })
}

fn above_zero(value: i64) -> Option<u64> {
    u64::try_from(value).ok().filter(|value| *value > 0)
}

fn micros(value: Option<i64>) -> Nanos {
    Nanos::from_micros(value.unwrap_or(0))
}

/// Policy and priority, of which one changes the other, the later one that was given as well.
fn scheduling(
    line: &CommandLine,
    threads: i64,
    said: &mut Vec<String>,
) -> anyhow::Result<(Policy, u32, bool)> {
    let (mut policy, mut priority) = (Policy::Other, 0);
    for given in &line.given {
        let value = given.value.as_deref().unwrap_or("");
        match given.id {
            Id::Priority => {
                priority = number(value);
                if !policy.is_real_time() {
                    policy = Policy::Fifo;
                }
            }
            // A name that it does not know is SCHED_OTHER.
            Id::Policy => {
                policy = match &*value.to_ascii_lowercase() {
                    "fifo" => Policy::Fifo,
                    "rr" => Policy::Rr,
                    "batch" => Policy::Batch,
                    "idle" => Policy::Idle,
                    _ => Policy::Other,
                }
            }
            _ => {}
        }
    }
    if !(0..=99).contains(&priority) {
        bail!("-p {priority}: priorities are 0 to 99");
    }
    let spreads = line.has(Id::SpreadPriorities);
    let is_default = (policy.is_real_time() || spreads) && priority == 0;
    if is_default {
        priority = threads + 1;
        said.push(format!("defaulting realtime priority to {priority}"));
    }
    if priority > 0 && !policy.is_real_time() {
        said.push("policy and priority don't match: setting policy to SCHED_FIFO".to_owned());
        policy = Policy::Fifo;
    }
    Ok((policy, u32::try_from(priority).unwrap_or(0), is_default))
}
