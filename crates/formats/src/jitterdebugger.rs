// SPDX-License-Identifier: MIT OR Apache-2.0
//! jitterdebugger: the lines that it draws, results.json of every version, and its samples as they
//! are (samples.raw) and as CSV. What results.json calls a CPU is the number of a thread.

use super::command_line::OF_JITTERDEBUGGER;
use super::json::{self, SysInfo};
use super::numbers::{decimal, whole};
use super::output::of_thread;
use super::thread_line::{ThreadLine, read_all};
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, ProbeStatement, RowKind};
use plan::{Nanos, Policy, Scheduling};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};

static JITTERDEBUGGER: Program = Program {
    name: "jitterdebugger",
    measuring_point: "from the planned end of a sleep until the thread of jitterdebugger has read \
                      the clock",
    column: Column::ns("latency_ns", ProbeStatement::UNTIL_IT_RUNS),
    rows: RowKind::Activations,
    is_planned: true,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Its histogram has so many buckets, of one unit each, and does not count what is beyond.
const BUCKETS: i64 = 1_000;

/// Whether an output of jitterdebugger begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let has = |key: &str| lines.iter().any(|line| line.contains(key));
    let is_document = first.trim_start().starts_with('{')
        && !has("\"rt_test_version")
        && ((has("\"cpu\"") && has("\"histogram\""))
            || (has("\"version\"") && has("\"cpus_online\"") && has("\"resolution_in_ns\"")));
    let are_samples =
        sample(first).is_some() && lines.iter().skip(1).take(2).any(|line| sample(line).is_some());
    is_document || is_thread_line(first) || are_samples
}

fn is_thread_line(line: &str) -> bool {
    ThreadLine::has(line, &["C", "Min", "Max", "Avg"], &["P", "I", "Act"])
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&JITTERDEBUGGER, lines.number());
    let mut unit_ns = import.unit_ns(1_000);
    output.is_of_unknown_unit = import.is_unit_open();
    if let Some(words) = import.command("jitterdebugger", lines.number()) {
        if import.is_unit_open()
            && let Some(is_in_ns) = OF_JITTERDEBUGGER.is_in_ns(&words)
        {
            unit_ns = if is_in_ns { 1 } else { 1_000 };
            output.is_of_unknown_unit = false;
        }
        put_command(&words, unit_ns, &mut output);
        output.command_line = words;
    }
    output.resolution_ns = unit_ns;
    let Some(line) = lines.peek()? else { return Ok(()) };
    if sample(line).is_some() {
        csv(lines, &mut output, unit_ns)?;
    } else if is_thread_line(line) {
        of_lines(lines, &mut output, unit_ns)?;
    } else {
        let document = json::document(lines)?;
        put_document(document, unit_ns, &mut output)?;
    }
    import.add_unless_empty(output)
}

/// What the command says of all threads.
fn put_command(words: &[String], unit_ns: i64, output: &mut Output) {
    let value = |short: &str, long: &str| {
        let at = words.iter().position(|word| word == short || word == long)?;
        whole(words.get(at + 1)?)
    };
    output.interval = value("-i", "--interval")
        .and_then(|value| i64::try_from(value).ok()?.checked_mul(unit_ns))
        .map(Nanos);
    output.scheduling = value("-p", "--priority")
        .and_then(|prio| u8::try_from(prio).ok())
        .map(|prio| Scheduling { policy: Policy::Fifo, prio: Some(prio) });
}

/// Reads the lines of threads, and what is printed below them.
fn of_lines(lines: &mut Lines<'_>, output: &mut Output, unit: i64) -> Result<(), ImportError> {
    let counts_sum = |line: &str| line.find("Max:") < line.find("Avg:");
    while let Some(line) = lines.peek()? {
        if is_thread_line(line) {
            if counts_sum(line) {
                let why = "this version of jitterdebugger printed behind C: the sum of latencies, \
                           not how many there were";
                return Err(lines.error(why));
            }
            if !read_all(lines, output, unit, None)? {
                return Ok(());
            }
        } else if let Some((cpu, hit)) = hit(line) {
            output.say("hit", line.trim());
            // Lines are drawn some time before the end.
            let thread = output
                .threads
                .iter()
                .position(|thread| thread.cpu.is_some_and(|known| u64::from(known.0) == cpu));
            let index = thread.unwrap_or(usize::MAX);
            (output.is_broken_off, output.broken_at) = (true, thread.map(|index| (index, hit)));
            let max = output.threads.get(index).and_then(|thread| thread.stated.max);
            if let Some(max) = max.filter(|max| *max < hit) {
                let us = |ns: i64| format!("{} us", ns / 1_000);
                output.contradiction(of_thread(index, "Max"), us(max), us(hit));
                // It is a latency of that thread, and no limit below it holds.
                output.threads[index].stated.max = Some(hit);
            }
            lines.advance();
        } else if line.trim() == "{" {
            // Older versions printed results.json below.
            let document = json::document(lines)?;
            return put_document(document, unit, output);
        } else if line.trim().is_empty() {
            lines.advance();
        } else {
            break;
        }
    }
    Ok(())
}

/// `Thread 29438 on CPU 1 hit 195 us latency`: the CPU, and ns.
fn hit(line: &str) -> Option<(u64, i64)> {
    let rest = line.trim().strip_prefix("Thread ")?;
    let (_, rest) = rest.split_once(" on CPU ")?;
    let (cpu, rest) = rest.split_once(" hit ")?;
    let (value, unit) = rest.strip_suffix(" latency")?.split_once(' ')?;
    let unit = match unit {
        "us" => 1_000,
        "ns" => 1,
        _ => return None,
    };
    Some((whole(cpu)?, decimal(value, unit)?))
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    version: Option<u64>,
    #[serde(default)]
    sysinfo: Option<System>,
    #[serde(deserialize_with = "json::once")]
    cpu: BTreeMap<String, OneThread>,
}

#[derive(Deserialize)]
struct System {
    #[serde(flatten)]
    of_all: SysInfo,
    #[serde(default)]
    cpus_online: Option<u64>,
    #[serde(default)]
    resolution_in_ns: Option<i64>,
}

#[derive(Deserialize)]
struct OneThread {
    #[serde(default, deserialize_with = "json::once")]
    histogram: BTreeMap<String, u64>,
    count: u64,
    #[serde(default)]
    min: Option<i64>,
    #[serde(default)]
    max: Option<i64>,
    #[serde(default)]
    avg: Option<f64>,
}

fn put_document(results: Results, unit: i64, output: &mut Output) -> Result<(), ImportError> {
    let line = output.line;
    let mut unit = unit;
    if let Some(system) = &results.sysinfo {
        system.of_all.put(output);
        if let Some(cpus) = system.cpus_online {
            output.say("cpus_online", &cpus.to_string());
        }
        if let Some(resolution) = system.resolution_in_ns {
            if !(1..=1_000_000).contains(&resolution) {
                let why = format!("no clock is read to {resolution} ns (resolution_in_ns)");
                return Err(ImportError::at(line, why));
            }
            (unit, output.is_of_unknown_unit) = (resolution, false);
        }
    }
    if let Some(version) = results.version {
        output.say("version", &version.to_string());
    }
    output.resolution_ns = unit;
    let (mut threads, mut values) = (BTreeSet::new(), BTreeSet::new());
    for (name, of) in &results.cpu {
        let error = |why: &str| ImportError::at(line, format!("thread {name}: {why}"));
        let index = name.parse().map_err(|_| error("its name is no number"))?;
        if !threads.insert(index) {
            return Err(error("it stands there twice"));
        }
        values.clear();
        let ns = |value: Option<i64>| {
            value
                .map(|value| value.checked_mul(unit))
                .map_or(Ok(None), |ns| ns.map(Some).ok_or_else(|| error("no latency is so large")))
        };
        let thread = output.thread(index)?;
        let (mut in_buckets, mut limit) = (0_u64, BUCKETS.saturating_mul(unit));
        for (bucket, count) in &of.histogram {
            let value = decimal(bucket, unit).ok_or_else(|| error("a bucket is no number"))?;
            if !values.insert(value) {
                return Err(error("a bucket stands there twice"));
            }
            thread.bucket(value, *count);
            in_buckets = in_buckets.saturating_add(*count);
            limit = limit.max(value.saturating_add(unit));
        }
        thread.stated.count = Some(of.count);
        // Beyond the histogram none is counted, but how many there were follows.
        thread.beyond = Some((of.count.saturating_sub(in_buckets), limit));
        if of.count > 0 {
            thread.stated.min = ns(of.min)?;
            thread.stated.max = ns(of.max)?;
            #[expect(clippy::cast_precision_loss, reason = "a unit of at most a millisecond")]
            let scale = unit as f64;
            thread.stated.mean = of.avg.map(|mean| mean * scale);
        }
    }
    Ok(())
}

/// A sample: of which thread, when, ns, and how late.
#[derive(Clone, Copy)]
struct Sample {
    thread: u64,
    time: i64,
    value: i64,
}

/// `0;1114.936950838;9`.
fn sample(line: &str) -> Option<Sample> {
    let mut fields = line.trim().split(';');
    let (thread, time, value) = (fields.next()?, fields.next()?, fields.next()?);
    let (seconds, behind) = time.split_once('.')?;
    let fits = behind.len() == 9 && fields.next().is_none();
    let value = i64::try_from(whole(value)?).ok()?;
    let time = time_ns(i64::try_from(whole(seconds)?).ok()?, i64::try_from(whole(behind)?).ok()?)?;
    fits.then_some(Sample { thread: whole(thread)?, time, value })
}

fn time_ns(seconds: i64, ns: i64) -> Option<i64> {
    let is_time = seconds >= 0 && (0..1_000_000_000).contains(&ns);
    is_time.then(|| seconds.checked_mul(1_000_000_000)?.checked_add(ns)).flatten()
}

/// Samples as they come: of each thread, when its last was.
struct Samples {
    unit_ns: i64,
    last: Vec<Option<i64>>,
}

impl Samples {
    fn add(&mut self, sample: Sample, output: &mut Output) -> Result<(), ImportError> {
        let error =
            |why: &str| ImportError::at(output.line, format!("thread {}: {why}", sample.thread));
        let thread = usize::try_from(sample.thread).unwrap_or(usize::MAX);
        let ns = sample.value.checked_mul(self.unit_ns).filter(|ns| *ns < 1 << 53);
        let ns = ns.ok_or_else(|| error("no latency is so large"))?;
        if self.last.get(thread).copied().flatten().is_some_and(|last| last > sample.time) {
            return Err(error("a sample is from before the one above"));
        }
        output.thread(thread)?;
        if self.last.len() <= thread {
            self.last.resize(thread + 1, None);
        }
        self.last[thread] = Some(sample.time);
        output.sample(thread, ns)
    }
}

fn csv(lines: &mut Lines<'_>, output: &mut Output, unit_ns: i64) -> Result<(), ImportError> {
    let mut samples = Samples { unit_ns, last: Vec::new() };
    while let Some(line) = lines.peek()? {
        let Some(sample) = sample(line) else {
            let is_end = !line.contains(';');
            return if is_end { Ok(()) } else { Err(lines.error("it is no sample")) };
        };
        samples.add(sample, output).map_err(|error| match error {
            ImportError::Line { why, .. } => lines.error(why),
            other => other,
        })?;
        lines.advance();
    }
    Ok(())
}

/// Bytes of a sample in samples.raw: thread, seconds, ns, value.
const RECORD: usize = 28;
/// Threads that a file may have to be known by its bytes.
const MAX_KNOWN: u64 = 1_024;

fn record(bytes: &[u8; RECORD]) -> Option<Sample> {
    let number = |at: usize| {
        let bytes: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
        i64::try_from(u64::from_le_bytes(bytes)).ok()
    };
    let thread = u64::from(u32::from_le_bytes(bytes.first_chunk().copied()?));
    Some(Sample { thread, time: time_ns(number(4)?, number(12)?)?, value: number(20)? })
}

/// Whether it is samples.raw: records whose times and threads are possible. The last may be cut.
pub(crate) fn is_raw(head: &[u8]) -> bool {
    let (records, _) = head.as_chunks::<RECORD>();
    let mut last: BTreeMap<u64, i64> = BTreeMap::new();
    records.len() >= 2
        && records.iter().all(|bytes| {
            record(bytes).is_some_and(|Sample { thread, time, value }| {
                let before = last.insert(thread, time).unwrap_or(1);
                thread < MAX_KNOWN && time >= before && value < 1 << 40
            })
        })
}

/// Reads it.
pub(crate) fn read_raw(
    source: &mut dyn BufRead,
    import: &mut Import<'_>,
) -> Result<(), ImportError> {
    let mut output = import.output(&JITTERDEBUGGER, 1);
    let unit_ns = import.unit_ns(1_000);
    output.is_of_unknown_unit = import.is_unit_open();
    output.resolution_ns = unit_ns;
    let mut samples = Samples { unit_ns, last: Vec::new() };
    let mut bytes = Vec::with_capacity(RECORD);
    for place in 0_u64.. {
        let offset = place.saturating_mul(RECORD as u64);
        let error = |why: String| ImportError::Byte { offset, why };
        bytes.clear();
        (&mut *source)
            .take(RECORD as u64)
            .read_to_end(&mut bytes)
            .map_err(|failed| error(format!("it cannot be read: {failed}")))?;
        if bytes.is_empty() {
            break;
        }
        let Ok(whole) = <&[u8; RECORD]>::try_from(bytes.as_slice()) else {
            return Err(error("the last sample is cut off".to_owned()));
        };
        let Some(sample) = record(whole) else { return Err(error("it is no sample".to_owned())) };
        samples.add(sample, &mut output).map_err(|failed| match failed {
            ImportError::Line { why, .. } => error(why),
            other => other,
        })?;
    }
    import.add(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportOptions;
    use crate::tests::{buckets, figures, imported, of_file, refused, says};
    use model::Unknown;
    use plan::CpuId;

    const RAW: &[u8] = include_bytes!("samples/jitterdebugger-samples.raw");
    const CSV: &str = include_str!("samples/jitterdebugger-samples.csv");
    const RESULTS: &str = include_str!("samples/jitterdebugger-results.json");

    #[test]
    fn results_of_version_3() {
        let all = imported(RESULTS);
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(2_004, 13_000, 23_030.0, 861_000), (1_997, 14_000, 22_060.0, 969_000)]
        );
        assert!(!document.threads[0].pinned, "it is the number of a thread");
        assert_eq!(document.host.before.preemption.as_deref(), Some("PREEMPT_DYNAMIC"));
        let source = document.imported.as_ref().unwrap();
        assert!(!source.lacks(Unknown::Unit) && source.lacks(Unknown::Interval));
        assert!(!source.passes_over);
        assert_eq!(document.warnings, []);
    }

    #[test]
    fn nothing_beyond_the_histogram_is_lost() {
        let all = imported(include_str!("samples/jitterdebugger-results-ns.json"));
        let document = &all[0].document;
        assert_eq!(figures(document)[0], (1, 32_445, 32_445.0, 32_445));
        assert_eq!(document.imported.as_ref().unwrap().resolution_ns, 1);
        let more = RESULTS
            .replace("\"count\": 2004", "\"count\": 2107")
            .replace("\"max\": 861,", "\"max\": 26090,");
        let document = &imported(&more)[0].document;
        assert_eq!(buckets(document, 0).last(), Some(&(1_000_000, 26_090_000, 103)));
    }

    #[test]
    fn results_of_older_versions() {
        let old = include_str!("samples/jitterdebugger-results-2.json");
        let document = &imported(old)[0].document;
        assert_eq!(figures(document), [(4, 11_000, 11_750.0, 12_000)]);
        assert!(document.imported.as_ref().unwrap().lacks(Unknown::Unit));
        let first = old.replace("  \"version\": 2,\n", "").replace('\n', " ");
        let below = format!("T: 0 ( 5942) A: 1 C: 3 Min: 11 Avg: 11.67 Max: 12 \x1b[K\n\n{old}");
        assert_eq!(figures(&imported(&first)[0].document)[0].0, 4);
        let all = imported(&below);
        assert_eq!((all.len(), figures(&all[0].document)[0].0), (1, 4));
        assert_eq!(all[0].document.threads[0].cpu, CpuId(1));
    }

    #[test]
    fn the_largest_is_in_the_last_line() {
        let all = imported(include_str!("samples/jitterdebugger-lines.txt"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(605, 14_000, 27_320.0, 96_000), (602, 18_000, 23_280.0, 195_000)]
        );
        assert_eq!(document.threads[1].cpu, CpuId(1));
        assert_eq!(says(document, "hit"), "Thread 29438 on CPU 1 hit 195 us latency");
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains("thread 1: Max") && warnings.contains("195 us"), "{warnings}");
    }

    #[test]
    fn samples_as_they_are() {
        let raw = of_file(RAW, ImportOptions::default()).unwrap();
        let csv = imported(CSV);
        let of = figures(&raw[0].document);
        assert_eq!(of, figures(&csv[0].document));
        assert_eq!(of.iter().map(|of| of.0).sum::<u64>(), 40);
        assert_eq!(csv[0].document.imported.as_ref().unwrap().format, "jitterdebugger");
        assert_eq!(raw[0].document.imported.as_ref().unwrap().format, "jitterdebugger-raw");
        let in_ns = ImportOptions { unit_ns: Some(1), ..ImportOptions::default() };
        let ns = of_file(RAW, in_ns).unwrap();
        assert_eq!(figures(&ns[0].document)[0].3 * 1_000, of[0].3);
    }

    #[test]
    fn what_is_not_raw_is_not_known() {
        assert!(is_raw(RAW));
        let cut = &RAW[..RAW.len() - 1];
        let forced = ImportOptions { format: crate::format("jitterdebugger-raw"), unit_ns: None };
        for options in [ImportOptions::default(), forced] {
            let why = of_file(cut, options).unwrap_err().to_string();
            assert_eq!(why, format!("byte {}: the last sample is cut off", RAW.len() - RECORD));
        }
        assert!(!is_raw(&RAW[..RECORD]), "one record is too few to be sure");
        assert!(!is_raw(&[0; 560]));
        assert!(!is_raw(&[b' '; 560]));
        let mut backwards = RAW[RECORD..2 * RECORD].to_vec();
        backwards.extend(&RAW[..RECORD]);
        assert!(!is_raw(&backwards));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_place() {
        let mut long: Vec<u8> = Vec::new();
        while long.len() < 2 * crate::BUFFER {
            let time = u64::try_from(1 + long.len()).unwrap().to_le_bytes();
            long.extend([[0; 4].as_slice(), &[0; 8], &time, &[9, 0, 0, 0, 0, 0, 0, 0]].concat());
        }
        let cut = of_file(&long[..long.len() - 5], ImportOptions::default()).unwrap_err();
        let offset = long.len() - RECORD;
        assert_eq!(cut.to_string(), format!("byte {offset}: the last sample is cut off"));
        assert_eq!(refused(&format!("{CSV}0;1;2\n")), "line 41: it is no sample");
        assert_eq!(
            refused("0;2.000000000;1\n0;3.000000000;1\n0;2.999999999;1\n"),
            "line 3: thread 0: a sample is from before the one above"
        );
        assert_eq!(
            refused("T: 0 ( 5942) C: 3988 Min: 11 Max: 26090 Avg: 317.87\n"),
            "line 1: this version of jitterdebugger printed behind C: the sum of latencies, not \
             how many there were"
        );
        for twice in ["\"0\": {", "\"00\": {"] {
            let why = refused(&RESULTS.replace("\"1\": {", twice));
            assert!(why.contains("stands there twice"), "{why}");
        }
        assert_eq!(
            refused(&RESULTS.replace("\"count\": 2004,", "")),
            "line 65: the JSON cannot be read: missing field `count` at line 65 column 5"
        );
    }
}
