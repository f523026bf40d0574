// SPDX-License-Identifier: MIT OR Apache-2.0
//! cyclictest's figures of each thread, and its two outputs that other programs read, byte for
//! byte: the histogram and the JSON.

use super::micros::{BUCKETS, NO_COMMAND_LINE, PROGRAM, beyond, command_line, figures, left_out};
use super::{ExportError, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};

/// The figures that cyclictest keeps of a thread, in its unit.
#[derive(Clone, Debug)]
pub struct CyclictestFigures {
    pub cycles: u64,
    pub min: Option<i64>,
    pub last: i64,
    pub max: i64,
    sum: i64,
    /// Buckets of the histogram; 0 where there is none.
    pub(super) limit: usize,
    /// Buckets that hold anything, one for each unit.
    histogram: BTreeMap<usize, u64>,
    /// Latencies outside of the histogram.
    pub overflows: u64,
    /// Those of them that are below 0.
    pub(super) early: u64,
    /// The first cycles with such a latency, as many as there are buckets.
    overflow_cycles: Vec<u64>,
    /// System management interrupts of its CPU meanwhile, where they are counted.
    pub smis: Option<u64>,
}

impl CyclictestFigures {
    /// The smallest latency of a thread that has not run.
    const NO_MINIMUM: i64 = 1_000_000;

    /// Of no cycle, with a histogram of so many buckets.
    pub const fn new(limit: usize) -> Self {
        CyclictestFigures {
            cycles: 0,
            min: None,
            last: 0,
            max: 0,
            sum: 0,
            limit,
            histogram: BTreeMap::new(),
            overflows: 0,
            early: 0,
            overflow_cycles: Vec::new(),
            smis: None,
        }
    }

    /// Adds a cycle.
    pub fn add(&mut self, latency: i64) {
        let cycle = self.cycles;
        self.last = latency;
        if self.add_n(latency, 1) && self.overflow_cycles.len() < self.limit {
            self.overflow_cycles.push(cycle);
        }
    }

    /// Adds so many cycles with the same latency, of which nobody knows which they were. Whether
    /// they lie outside of the histogram.
    pub(super) fn add_n(&mut self, latency: i64, n: u64) -> bool {
        self.cycles = self.cycles.saturating_add(n);
        self.min = Some(self.min.map_or(latency, |min| min.min(latency)));
        self.max = self.max.max(latency);
        let of_all = latency.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        self.sum = self.sum.saturating_add(of_all);
        let bucket = usize::try_from(latency).ok().filter(|at| *at < self.limit);
        if let Some(at) = bucket {
            let count = self.histogram.entry(at).or_insert(0);
            *count = count.saturating_add(n);
        } else if self.limit > 0 {
            self.overflows = self.overflows.saturating_add(n);
            self.early = self.early.saturating_add(if latency < 0 { n } else { 0 });
        }
        bucket.is_none()
    }

    /// Takes the largest and the mean as they are stated.
    #[expect(clippy::cast_possible_truncation, reason = "rounded first, saturating")]
    pub(super) fn state(&mut self, max: i64, mean: f64) {
        self.max = max;
        self.sum = (mean * self.cycles as f64).round() as i64;
    }

    /// As it is printed.
    pub fn printed_min(&self) -> i64 {
        self.min.unwrap_or(Self::NO_MINIMUM)
    }

    /// The mean; none without a cycle.
    fn mean(&self) -> Option<f64> {
        (self.cycles > 0).then(|| self.sum as f64 / self.cycles as f64)
    }

    /// The same cut to a whole number; 0 without a cycle.
    pub fn whole_mean(&self) -> i64 {
        i64::try_from(self.cycles).ok().and_then(|n| self.sum.checked_div(n)).unwrap_or(0)
    }

    /// How many buckets there are up to the last that holds anything.
    pub(super) fn used_buckets(&self) -> usize {
        self.histogram.last_key_value().map_or(0, |(last, _)| last + 1)
    }

    pub(super) fn bucket(&self, at: usize) -> u64 {
        self.histogram.get(&at).copied().unwrap_or(0)
    }
}

/// How cyclictest prints a histogram.
#[derive(Clone, Copy, Debug)]
pub struct HistogramLayout {
    /// As many as were asked for.
    pub buckets: usize,
    /// `-H`: the last column is the sum of the others.
    pub has_sum: bool,
    /// Before 2.7 buckets in which there is nothing are printed too, and so is the total.
    pub is_old: bool,
}

/// Writes the histogram and what follows it.
///
/// # Errors
/// When it cannot be written.
pub fn cyclictest_histogram(
    threads: &[&CyclictestFigures],
    layout: HistogramLayout,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# Histogram")?;
    let has_sum = layout.has_sum && threads.len() > 1;
    let buckets: BTreeSet<usize> = if layout.is_old {
        (0..layout.buckets).collect()
    } else {
        threads.iter().flat_map(|thread| thread.histogram.keys().copied()).collect()
    };
    for bucket in buckets {
        let counts = || threads.iter().map(|thread| thread.bucket(bucket));
        let mut columns: Vec<u64> = counts().collect();
        columns.extend(has_sum.then(|| counts().fold(0, u64::saturating_add)));
        let columns: Vec<String> = columns.iter().map(|count| format!("{count:06}")).collect();
        writeln!(out, "{bucket:06} {}", columns.join("\t"))?;
    }
    let mut line = |name: &str, values: &mut dyn Iterator<Item = u64>, width: usize| {
        write!(out, "# {name}:")?;
        for value in values {
            write!(out, " {value:0width$}")?;
        }
        writeln!(out)
    };
    let of = |value: fn(&CyclictestFigures) -> u64| threads.iter().map(move |thread| value(thread));
    let sum = |value: fn(&CyclictestFigures) -> u64| {
        has_sum.then(|| of(value).fold(0, u64::saturating_add))
    };
    let largest = |value: fn(&CyclictestFigures) -> u64| has_sum.then(|| of(value).max()).flatten();
    let in_buckets: fn(&CyclictestFigures) -> u64 =
        |thread| thread.histogram.values().fold(0, |sum, count| sum.saturating_add(*count));
    let min: fn(&CyclictestFigures) -> u64 = |thread| thread.printed_min().max(0).cast_unsigned();
    let mean: fn(&CyclictestFigures) -> u64 = |thread| thread.whole_mean().max(0).cast_unsigned();
    let max: fn(&CyclictestFigures) -> u64 = |thread| thread.max.max(0).cast_unsigned();
    let beyond: fn(&CyclictestFigures) -> u64 = |thread| thread.overflows;
    if layout.is_old {
        line("Total", &mut of(in_buckets).chain(sum(in_buckets)), 9)?;
    }
    line("Min Latencies", &mut of(min), 5)?;
    line("Avg Latencies", &mut of(mean), 5)?;
    line("Max Latencies", &mut of(max).chain(largest(max)), 5)?;
    line("Histogram Overflows", &mut of(beyond).chain(sum(beyond)), 5)?;
    writeln!(out, "# Histogram Overflow at cycle number:")?;
    for (index, thread) in threads.iter().enumerate() {
        write!(out, "# Thread {index}:")?;
        for cycle in &thread.overflow_cycles {
            write!(out, " {cycle:05}")?;
        }
        let others = thread.overflows - thread.overflow_cycles.len() as u64;
        if others > 0 {
            write!(out, " # {others:05} others")?;
        }
        writeln!(out)?;
    }
    if threads.iter().any(|thread| thread.smis.is_some()) {
        write!(out, "# SMIs:")?;
        for thread in threads {
            write!(out, " {:05}", thread.smis.unwrap_or(0))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// What cyclictest's JSON says beside the figures. What is not known has no line; in the place of a
/// command line stands the program's name.
#[derive(Clone, Debug)]
pub struct CyclictestFrame {
    /// As it stands in the file: cyclictest escapes nothing.
    pub command_line: Option<String>,
    /// As the program prints it.
    pub version: &'static str,
    pub started: Option<String>,
    pub ended: Option<String>,
    /// As uname has them.
    pub system: UnameFields,
    pub is_real_time: Option<bool>,
    pub is_in_ns: bool,
    /// Whether each thread has a histogram, were it empty.
    pub has_histogram: bool,
}

/// What uname says of a machine.
#[derive(Clone, Debug)]
pub struct UnameFields {
    pub sysname: String,
    pub nodename: String,
    pub release: String,
    pub version: String,
    pub machine: String,
}

/// A thread of cyclictest's JSON.
#[derive(Clone, Copy, Debug)]
pub struct CyclictestThread<'a> {
    pub figures: &'a CyclictestFigures,
    /// None if it is not pinned.
    pub cpu: Option<u32>,
    /// The CPU's memory node; -1 where that is not known.
    pub node: i64,
}

/// `Sat, 28 Nov 2026 07:14:43 +0000`.
pub fn cyclictest_time(of: SystemTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let since = of.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let weekday = usize::try_from(since.as_secs() / 86_400 % 7).map_or("", |day| DAYS[day]);
    // 2026-11-28T07:14:43Z
    let text = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string();
    let (year, month, day) = (&text[..4], &text[5..7], &text[8..10]);
    let month = month.parse().ok().and_then(|month: usize| MONTHS.get(month - 1)).unwrap_or(&"");
    format!("{weekday}, {day} {month} {year} {} +0000", &text[11..19])
}

/// cyclictest's JSON, with what is wrong in it: keys that end in a colon, a command line whose
/// quotes are not escaped, and a mean that is no number where there is no cycle.
pub fn cyclictest_json(frame: &CyclictestFrame, threads: &[CyclictestThread<'_>]) -> String {
    let CyclictestFrame { command_line, version, started, ended, system, .. } = frame;
    let of_threads: Vec<String> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| of_thread(index, thread, frame.has_histogram))
        .collect();
    let line = |key: &str, text: &Option<String>| {
        text.as_ref().map_or_else(String::new, |text| format!("  \"{key}\": \"{text}\",\n"))
    };
    let realtime = frame
        .is_real_time
        .map_or_else(String::new, |is| format!(",\n    \"realtime\": {}", u8::from(is)))
        + "\n  }";
    format!(
        "{{\n  \"file_version\": 1,\n{}  \"rt_test_version:\": \"{version}\",\n{}{}  \
         \"return_code\": 0,\n  \
         \"sysinfo\": {{\n    \"sysname\": \"{}\",\n    \"nodename\": \"{}\",\n    \
         \"release\": \"{}\",\n    \"version\": \"{}\",\n    \"machine\": \"{}\"{realtime},\n  \
         \"num_threads\": {},\n  \"resolution_in_ns\": {},\n  \
         \"thread\": {{\n{}\n  }}\n}}\n",
        match command_line {
            Some(_) => line("cmdline:", command_line),
            None => line("program", &Some(PROGRAM.to_owned())),
        },
        line("start_time", started),
        line("end_time", ended),
        system.sysname,
        system.nodename,
        system.release,
        system.version,
        system.machine,
        threads.len(),
        u8::from(frame.is_in_ns),
        of_threads.join(",\n"),
    )
}

fn of_thread(index: usize, thread: &CyclictestThread<'_>, has_histogram: bool) -> String {
    let figures = thread.figures;
    let mut text = format!("    \"{index}\": {{\n");
    if has_histogram {
        let buckets = figures.histogram.iter();
        let buckets: Vec<String> =
            buckets.map(|(value, count)| format!("\n        \"{value}\": {count}")).collect();
        let end = if buckets.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "      \"histogram\": {{{}{end}      }},", buckets.join(","));
    }
    let mean = figures.mean().map_or_else(|| "-nan".to_owned(), |mean| format!("{mean:.2}"));
    let _ = write!(
        text,
        "      \"cycles\": {},\n      \"min\": {},\n      \"max\": {},\n      \"avg\": {mean},\n\
         \x20     \"cpu\": {},\n      \"node\": {}\n    }}",
        figures.cycles,
        figures.printed_min(),
        figures.max,
        thread.cpu.map_or(-1, i64::from),
        thread.node,
    );
    text
}

/// The version whose output is written.
const VERSION: &str = "2.90";

/// A recording as the histogram.
pub(super) fn write_histogram(
    source: &Source<'_>,
    out: &mut dyn Write,
) -> Result<Vec<String>, ExportError> {
    let figures = figures(source)?;
    let layout = HistogramLayout { buckets: BUCKETS, has_sum: false, is_old: false };
    let threads: Vec<&CyclictestFigures> = figures.iter().collect();
    cyclictest_histogram(&threads, layout, out)?;
    Ok(left_out(source, &figures))
}

/// A recording as the JSON.
pub(super) fn write_json(
    source: &Source<'_>,
    out: &mut dyn Write,
) -> Result<Vec<String>, ExportError> {
    let figures = figures(source)?;
    let document = &source.recorded.document;
    let host = &document.host.before;
    let field = |text: &Option<String>| source.in_json(text.as_deref().unwrap_or_default());
    let time = |text: &str| match humantime::parse_rfc3339(text) {
        Ok(time) => Some(cyclictest_time(time)),
        Err(_) => Some(source.in_json(text)).filter(|text| !text.is_empty()),
    };
    let command = command_line(document);
    let frame = CyclictestFrame {
        command_line: command.as_deref().map(|line| source.in_json(line)),
        version: VERSION,
        started: time(&document.started_at),
        ended: time(document.ended_at.as_deref().unwrap_or_default()),
        system: UnameFields {
            sysname: "Linux".to_owned(),
            nodename: field(&host.hostname),
            release: field(&host.kernel),
            version: field(&host.kernel_version),
            machine: source.in_json(&host.architecture),
        },
        is_real_time: host.preemption.as_deref().map(|how| how == "PREEMPT_RT"),
        is_in_ns: false,
        has_histogram: true,
    };
    let cpu = |thread| document.probe.cpu_of(thread).map(|cpu| cpu.0);
    let threads: Vec<CyclictestThread<'_>> = figures
        .iter()
        .zip(&document.threads)
        .map(|(figures, thread)| CyclictestThread { figures, cpu: cpu(thread), node: -1 })
        .collect();
    out.write_all(cyclictest_json(&frame, &threads).as_bytes())?;
    let no_command = command.is_none().then(|| NO_COMMAND_LINE.to_owned());
    let left_out = left_out(source, &figures).into_iter();
    Ok(left_out.chain(beyond(&figures)).chain(no_command).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_as_mail_has_it() {
        let at = |seconds| cyclictest_time(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 +0000");
        assert_eq!(at(1_795_850_083), "Sat, 28 Nov 2026 07:14:43 +0000");
    }
}
