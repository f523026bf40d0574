// SPDX-License-Identifier: MIT OR Apache-2.0
//! oslat of every version: its table, with a column for each CPU.
//!
//! Up to 2.4 a gap is rounded up to the next whole µs, in buckets and figures alike. Since then the
//! smallest and the largest are rounded down, while a bucket is named by the value that it does not
//! reach any more, and the mean is that of those names.

use super::numbers::{decimal, mean, whole};
use super::output::of_thread;
use super::{Import, ImportError, Lines, Output, Program, Stated};
use model::{Column, RowKind};
use plan::{CpuId, Policy, Scheduling};

pub(crate) static OSLAT: Program = Program {
    name: "oslat",
    measuring_point: "from one reading of the cycle counter to the next in a loop of oslat, in \
                      user space",
    column: Column::ns("gap_ns", "a pass of the loop, which is longer where it was interrupted"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Rows of a table at most.
const MAX_ROWS: usize = 40_000;

/// Whether an output of oslat begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let is_frequency = |line: &&str| {
        field(line).is_some_and(|(name, _)| ["Counter Freq", "CPU Freq"].contains(&name))
    };
    version(first).is_some()
        || is_stop(first)
        || (field(first).is_some_and(|(name, _)| name == "Core")
            && lines.get(1).is_some_and(is_frequency))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&OSLAT, lines.number());
    if let Some(words) = import.command("oslat", lines.number()) {
        output.command_line = words;
    }
    let mut table = Table::default();
    let mut is_first = true;
    loop {
        let Some(line) = lines.peek()? else { return Ok(()) };
        if is_stop(line) {
            let why = format!("oslat stopped and printed no figures: {}", line.trim());
            return Err(lines.error(why));
        }
        match field(line) {
            Some(("Core", _)) => break,
            Some(("Thread priority", text)) => output.scheduling = scheduling(text),
            Some((name, text)) if PREAMBLE.contains(&name) => output.say(name, text),
            _ if is_first && version(line).is_some() => {
                output.version = version(line).map(str::to_owned);
            }
            _ if line.starts_with("Global bias set to ") => {
                table.is_biased = true;
                let line = line.to_owned();
                output.say("bias", &line);
            }
            _ if STEPS.iter().any(|step| line.starts_with(step)) || line.trim().is_empty() => {}
            _ => return Ok(()),
        }
        is_first = false;
        lines.advance();
    }
    table.read(lines, &mut output)?;
    table.put(&mut output)?;
    import.add(output)
}

/// What it says of its settings.
const PREAMBLE: [&str; 7] = [
    "Total runtime",
    "CPU list",
    "CPU for main thread",
    "Workload",
    "Workload mem",
    "Preheat cores",
    "WARNING",
];
/// How lines begin that say how far it is.
const STEPS: [&str; 5] =
    ["Pre-heat for ", "Test starts", "Test completed", "Stopping the test", "WARN: "];

fn version(line: &str) -> Option<&str> {
    let version = line.strip_prefix("oslat V ")?.trim();
    version.starts_with(|letter: char| letter.is_ascii_digit()).then_some(version)
}

/// The line of a run that ended at the threshold of -T, which prints no table.
fn is_stop(line: &str) -> bool {
    line.contains(": Trace threshold (") && line.contains(" triggered on cpu ")
}

fn scheduling(text: &str) -> Option<Scheduling> {
    match text.strip_prefix("SCHED_FIFO:") {
        Some(prio) => {
            let prio = u8::try_from(whole(prio)?).ok()?;
            Some(Scheduling { policy: Policy::Fifo, prio: Some(prio) })
        }
        None => (text == "default").then_some(Scheduling::OTHER),
    }
}

/// A line of the form `name: text`.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once(':')?;
    Some((name.trim(), text.trim()))
}

/// What was measured on the CPUs.
#[derive(Default)]
pub(crate) struct Table {
    pub cpus: Vec<OnCpu>,
    /// The largest difference that all buckets are apart by a multiple of, ns.
    step: i64,
    last: Option<i64>,
    /// The bucket that holds larger values too, ns, where it is marked.
    open: Option<i64>,
    /// Whether buckets are counted from the smallest value of a first run.
    is_biased: bool,
    /// Whether values are printed to the ns.
    is_in_ns: bool,
    /// Whether this version is known to print the unit of the counter as 2.7 and later do.
    is_mhz: Option<bool>,
}

/// What was measured on a CPU, ns.
#[derive(Default)]
pub(crate) struct OnCpu {
    pub cpu: Option<CpuId>,
    /// By the names of buckets; those alone in which there is something.
    pub buckets: Vec<(i64, u64)>,
    pub stated: Stated,
}

impl Table {
    /// Of a document.
    pub(crate) fn new(is_biased: bool, is_in_ns: bool) -> Table {
        Table { is_biased, is_in_ns, ..Table::default() }
    }

    /// Takes a bucket into account, which has this name, ns. Names rise.
    pub(crate) fn name(&mut self, ns: i64) {
        match self.last.replace(ns) {
            Some(last) => self.step = greatest_divisor(self.step, ns.saturating_sub(last)),
            None if !self.is_biased => self.step = ns.max(0),
            None => {}
        }
    }

    fn read(&mut self, lines: &mut Lines<'_>, output: &mut Output) -> Result<(), ImportError> {
        let text = lines.take()?.unwrap_or_default();
        let (_, cpus) = field(&text).unwrap_or_default();
        for cpu in cpus.split_whitespace() {
            let cpu = whole(cpu).and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId);
            if cpu.is_none() || self.cpus.len() >= plan::MAX_THREADS {
                return Err(lines.error("the line above is no list of CPUs"));
            }
            self.cpus.push(OnCpu { cpu, ..OnCpu::default() });
        }
        let mut rows = 0;
        while let Some(line) = lines.peek()?.map(str::to_owned) {
            if line.trim() == "..." {
                lines.advance();
                continue;
            }
            let Some((name, text)) = field(&line) else { break };
            let (values, unit) = text.split_once('(').unwrap_or((text, ""));
            let values: Vec<&str> = values.split_whitespace().collect();
            if values.len() != self.cpus.len() {
                let (found, cpus) = (values.len(), self.cpus.len());
                return Err(lines.error(format!("{name}: {found} values of {cpus} CPUs")));
            }
            if let Some(bucket) = name.strip_suffix("(us)") {
                rows += 1;
                if rows > MAX_ROWS {
                    return Err(lines.error(format!("no table has more than {MAX_ROWS} rows")));
                }
                self.row(bucket, &values, unit).map_err(|why| lines.error(why))?;
            } else {
                let is_last = name == "Duration";
                self.figure(name, text, &values, output).map_err(|why| lines.error(why))?;
                if is_last {
                    lines.advance();
                    break;
                }
            }
            lines.advance();
        }
        if rows == 0 || self.cpus.iter().any(|cpu| cpu.stated.max.is_none()) {
            return Err(lines.error("the table ends before its figures"));
        }
        Ok(())
    }

    fn row(&mut self, name: &str, counts: &[&str], marked: &str) -> Result<(), String> {
        let ns = decimal(name, 1_000).ok_or("the bucket is no number")?;
        if self.last.is_some_and(|last| last >= ns) {
            return Err("the bucket does not follow the one above".to_owned());
        }
        self.is_in_ns |= name.contains(['.', ',']);
        self.name(ns);
        self.open = marked.starts_with("including overflows").then_some(ns);
        for (cpu, count) in self.cpus.iter_mut().zip(counts) {
            let count = whole(count).ok_or("a count is no number")?;
            if count > 0 {
                cpu.buckets.push((ns, count));
            }
        }
        Ok(())
    }

    fn figure(
        &mut self,
        name: &str,
        text: &str,
        values: &[&str],
        output: &mut Output,
    ) -> Result<(), String> {
        let mut range = Vec::new();
        for (cpu, value) in self.cpus.iter_mut().zip(values) {
            let ns = || decimal(value, 1_000).ok_or_else(|| format!("{name}: no number"));
            match name {
                "Minimum" => cpu.stated.min = Some(ns()?),
                "Average" => cpu.stated.mean = mean(value, 1_000),
                "Maximum" => cpu.stated.max = Some(ns()?),
                "Max-Min" => range.push(ns()?),
                _ => {}
            }
        }
        match name {
            "Minimum" | "Average" | "Maximum" => {}
            "Max-Min" => {
                for (index, stated) in range.into_iter().enumerate() {
                    let Stated { min, max, .. } = self.cpus[index].stated;
                    let found = max.unwrap_or(0).saturating_sub(min.unwrap_or(0));
                    if found != stated {
                        output.contradiction(of_thread(index, "Max-Min"), stated, found);
                    }
                }
            }
            "Counter Freq" | "CPU Freq" => {
                self.is_mhz = Some(text.ends_with("(MHz)"));
                output.say(name, text);
            }
            "Duration" => output.say(name, text),
            _ => return Err(format!("'{name}' is no line of oslat's table")),
        }
        Ok(())
    }

    /// Whether values were rounded up, as they are before 2.5.
    fn is_rounded_up(&self, version: Option<&str>) -> bool {
        let is_from_smallest = || {
            let is = |cpu: &OnCpu| {
                cpu.buckets.first().is_none_or(|(name, _)| cpu.stated.min == Some(*name))
            };
            self.cpus.iter().all(is)
        };
        let mut parts = version.unwrap_or_default().split('.').map(|part| part.parse::<u32>());
        match (self.is_mhz, parts.next(), parts.next()) {
            _ if self.is_in_ns => false,
            (Some(true), ..) => false,
            // 2.1 and 2.10 both say that they are 2.10, and 2.4 that it is 2.40.
            (None, Some(Ok(2)), Some(Ok(10))) => is_from_smallest(),
            (_, Some(Ok(2)), Some(Ok(minor))) => [0, 10, 20, 30, 40].contains(&minor),
            (_, Some(Ok(major)), _) => major < 2,
            _ => is_from_smallest(),
        }
    }

    /// Makes it threads of an output.
    pub(crate) fn put(self, output: &mut Output) -> Result<(), ImportError> {
        let unit = if self.is_in_ns { 1 } else { 1_000 };
        output.resolution_ns = unit;
        let is_rounded_up = self.is_rounded_up(output.version.as_deref());
        if is_rounded_up {
            output.say("rounding", "values are rounded up to the next whole us");
        } else {
            let what = "Average is the mean of the upper ends of the buckets, not of the values";
            output.say("rounding", what);
        }
        for (index, cpu) in self.cpus.into_iter().enumerate() {
            let thread = output.thread(index)?;
            thread.cpu = cpu.cpu;
            thread.stated = cpu.stated;
            let min = cpu.stated.min.unwrap_or(i64::MAX);
            let max = cpu.stated.max.unwrap_or(0);
            let last = cpu.buckets.len().saturating_sub(1);
            for (at, (name, count)) in cpu.buckets.into_iter().enumerate() {
                let (lower, upper) = if is_rounded_up {
                    (name, name)
                } else {
                    (name.saturating_sub(self.step.max(unit)), name.saturating_sub(unit))
                };
                // Values below the smallest of the first run are in the first bucket.
                let lower = if at == 0 && self.is_biased { lower.min(min) } else { lower };
                let is_open = match self.open {
                    Some(open) => open == name,
                    None => at == last && max > upper,
                };
                if is_open {
                    thread.beyond = Some((count, lower));
                } else {
                    thread.range(lower, upper, count);
                }
            }
        }
        Ok(())
    }
}

const fn greatest_divisor(first: i64, second: i64) -> i64 {
    let (mut a, mut b) = (first, second);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
#[path = "oslat_tests.rs"]
mod tests;
