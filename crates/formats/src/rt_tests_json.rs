// SPDX-License-Identifier: MIT OR Apache-2.0
//! The documents that rt-tests' programs write with `--json`.
//!
//! They are nearly JSON, see [`json`], and two keys end in a colon.

use super::command_line::Asked;
use super::cyclicdeadline::{CYCLICDEADLINE, DEADLINE, correct_minimum};
use super::cyclictest::CYCLICTEST;
use super::json::{self, SysInfo};
use super::numbers::decimal;
use super::oslat::{OSLAT, OnCpu, Table};
use super::output::of_thread;
use super::rt_migrate_test::{RT_MIGRATE_TEST, Task};
use super::signaltest::SIGNALTEST;
use super::{Import, ImportError, Lines, Output, Program, Stated, pairs, rt_migrate_test};
use plan::CpuId;
use serde::Deserialize;
use serde_json::Number;
use std::collections::BTreeMap;

/// What the documents have in common, and what is of one program alone.
#[derive(Deserialize)]
struct RtTests {
    #[serde(default, alias = "cmdline:")]
    cmdline: Option<String>,
    /// Of an export that knows no command line.
    #[serde(default)]
    program: Option<String>,
    #[serde(default, alias = "rt_test_version:")]
    rt_test_version: Option<String>,
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    sysinfo: Option<SysInfo>,
    #[serde(default)]
    num_threads: Option<usize>,
    /// 1 where values are ns.
    #[serde(default)]
    resolution_in_ns: u64,
    #[serde(default, deserialize_with = "json::once")]
    thread: BTreeMap<String, OneThread>,
}

#[derive(Default, Deserialize)]
struct OneThread {
    #[serde(default, deserialize_with = "json::once")]
    histogram: BTreeMap<String, u64>,
    #[serde(default)]
    cycles: Option<u64>,
    #[serde(default)]
    min: Option<Number>,
    #[serde(default)]
    avg: Option<f64>,
    #[serde(default)]
    max: Option<Number>,
    #[serde(default)]
    cpu: Option<i64>,
    /// s.
    #[serde(default)]
    duration: Option<f64>,
    /// Of the counter, MHz.
    #[serde(default)]
    freq: Option<u64>,
    /// Of rt-migrate-test.
    #[serde(default)]
    prio: Option<u8>,
    #[serde(default)]
    total: Option<u64>,
    #[serde(default)]
    sender: Option<OfPair>,
    #[serde(default)]
    receiver: Option<OfPair>,
}

/// A thread of two: the sender has what is counted, the receiver has the figures.
#[derive(Deserialize)]
struct OfPair {
    #[serde(default)]
    priority: Option<u64>,
    #[serde(default)]
    samples: Option<u64>,
    #[serde(default)]
    interval: Option<u64>,
    #[serde(default)]
    timeoutcount: Option<u64>,
    #[serde(default)]
    min: Option<Number>,
    #[serde(default)]
    avg: Option<f64>,
    #[serde(default)]
    max: Option<Number>,
}

impl OneThread {
    fn cpu(&self) -> Option<CpuId> {
        self.cpu.and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId)
    }
}

/// Whether such a document begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| line.trim_start().starts_with('{'))
        && lines.iter().take(4).any(|line| line.contains("\"file_version\""))
        && lines.iter().any(|line| line.contains("rt_test_version"))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let line = lines.number();
    let document: RtTests = json::document(lines)?;
    let command = document.cmdline.as_ref().or(document.program.as_ref());
    let command = command.cloned().unwrap_or_default();
    let program = command.split_whitespace().next().unwrap_or_default();
    let (program, put): (&'static Program, Put) = match program.rsplit('/').next() {
        Some("cyclictest") => (&CYCLICTEST, of_cycles),
        Some("cyclicdeadline") => (&CYCLICDEADLINE, of_cycles),
        Some("signaltest") => (&SIGNALTEST, of_cycles),
        Some("oslat") => (&OSLAT, oslat),
        Some("rt-migrate-test") => (&RT_MIGRATE_TEST, of_tasks),
        Some(name) if let Some(program) = pairs::by_name(name) => (program, of_pairs),
        Some("ssdd" | "pi_stress" | "pip_stress" | "hackbench") => {
            import.pass_over(line, format!("the document is of {program}, which has no latencies"));
            return Ok(());
        }
        _ => {
            let why = format!("the document is of '{program}', which is not read");
            return Err(ImportError::at(line, why));
        }
    };
    let mut output = import.output(program, line);
    common(&document, &mut output);
    put(&document, line, &mut output)?;
    import.add(output)
}

/// Puts the threads of a document that begins at this line.
type Put = fn(&RtTests, u64, &mut Output) -> Result<(), ImportError>;

/// Puts what all of them say of the run and its machine.
fn common(document: &RtTests, output: &mut Output) {
    let words = document.cmdline.iter().flat_map(|line| line.split_whitespace());
    output.command_line = words.map(str::to_owned).collect();
    output.version.clone_from(&document.rt_test_version);
    output.started_at = document.start_time.as_deref().map(rfc3339);
    output.ended_at = document.end_time.as_deref().map(rfc3339);
    if let Some(system) = &document.sysinfo {
        system.put(output);
    }
    let threads = document.thread.len();
    if let Some(stated) = document.num_threads.filter(|stated| *stated != threads) {
        output.contradiction("num_threads", stated, threads);
    }
}

fn ns(number: Option<&Number>, unit: i64) -> Option<i64> {
    decimal(&number?.to_string(), unit)
}

/// What is said of a thread, of which the mean is in µs.
fn stated(min: Option<&Number>, mean: Option<f64>, max: Option<&Number>, unit: i64) -> Stated {
    Stated {
        min: ns(min, unit),
        mean: mean.map(|mean| mean * 1_000.0),
        max: ns(max, unit),
        ..Stated::default()
    }
}

/// Of programs with threads that count their cycles.
fn of_cycles(document: &RtTests, line: u64, output: &mut Output) -> Result<(), ImportError> {
    let unit = if document.resolution_in_ns == 1 { 1 } else { 1_000 };
    output.resolution_ns = unit;
    // What nobody knows is not the default either.
    let asked = document.cmdline.as_ref().map(|_| Asked::from_words(&output.command_line));
    output.scheduling = asked.as_ref().and_then(Asked::scheduling_of_all);
    for (index, of) in in_order(document, line)? {
        let thread = output.thread(index)?;
        let mut in_buckets = 0_u64;
        let mut limit = 0;
        for (value, count) in buckets_of(of, unit).map_err(|why| thread_error(line, index, why))? {
            thread.bucket(value, count);
            in_buckets = in_buckets.saturating_add(count);
            limit = limit.max(value.saturating_add(unit));
        }
        thread.interval = asked.as_ref().and_then(|asked| asked.interval_of(index));
        thread.cpu = of.cpu();
        thread.stated.count = of.cycles;
        if of.cycles != Some(0) {
            thread.stated.min = ns(of.min.as_ref(), unit);
            thread.stated.max = ns(of.max.as_ref(), unit);
            #[expect(clippy::cast_precision_loss, reason = "a unit of at most a microsecond")]
            let scale = unit as f64;
            thread.stated.mean = of.avg.map(|mean| mean * scale);
        }
        // How many were beyond the histogram is not said, but follows.
        if let Some(beyond) = of.cycles.and_then(|cycles| cycles.checked_sub(in_buckets))
            && !of.histogram.is_empty()
        {
            thread.beyond = Some((beyond, limit));
        }
    }
    if output.program.name == CYCLICDEADLINE.name {
        output.scheduling = Some(DEADLINE);
        correct_minimum(output);
    }
    Ok(())
}

fn of_tasks(document: &RtTests, line: u64, output: &mut Output) -> Result<(), ImportError> {
    let mut tasks = Vec::new();
    for (index, of) in in_order(document, line)? {
        let task = || {
            let (mean, total) = (of.avg?, of.total?);
            let mean = decimal(&format!("{mean:.0}"), 1_000)?;
            Some(Task {
                prio: of.prio?,
                min: ns(of.min.as_ref(), 1_000)?,
                max: ns(of.max.as_ref(), 1_000)?,
                total: i64::try_from(total).ok()?.checked_mul(1_000)?,
                mean,
            })
        };
        let task = task().filter(|_| index == tasks.len());
        tasks.push(task.ok_or_else(|| thread_error(line, index, "its figures are not all there"))?);
    }
    rt_migrate_test::put(output, &tasks)
}

/// Of programs in which one thread wakes another.
fn of_pairs(document: &RtTests, line: u64, output: &mut Output) -> Result<(), ImportError> {
    for (index, of) in in_order(document, line)? {
        let (Some(sender), Some(receiver)) = (&of.sender, &of.receiver) else {
            return Err(thread_error(line, index, "there is no sender or no receiver"));
        };
        let stated = stated(receiver.min.as_ref(), receiver.avg, receiver.max.as_ref(), 1_000);
        let counts = (sender.samples, sender.interval);
        pairs::put(output, index, counts, receiver.priority, stated)?;
        if let Some(timeouts) = receiver.timeoutcount {
            output.say(&of_thread(index, "timeoutcount"), &timeouts.to_string());
        }
    }
    Ok(())
}

fn oslat(document: &RtTests, line: u64, output: &mut Output) -> Result<(), ImportError> {
    let is_biased = |word: &String| word == "-B" || word == "--bias";
    let buckets = || document.thread.values().flat_map(|of| of.histogram.keys());
    let is_in_ns = buckets().any(|bucket| bucket.contains(['.', ',']));
    // With buckets to the ns these are in ns, and the mean is not.
    let unit = if is_in_ns { 1 } else { 1_000 };
    let mut table = Table::new(output.command_line.iter().any(is_biased), is_in_ns);
    let mut names = Vec::new();
    for (index, of) in in_order(document, line)? {
        if index != table.cpus.len() {
            return Err(ImportError::at(line, format!("there is no thread {}", table.cpus.len())));
        }
        let stated = stated(of.min.as_ref(), of.avg, of.max.as_ref(), unit);
        let buckets = buckets_of(of, 1_000).map_err(|why| thread_error(line, index, why))?;
        names.extend(buckets.iter().map(|(name, _)| *name));
        for (what, value) in [
            ("Counter Freq", of.freq.map(|freq| format!("{freq} MHz"))),
            ("Duration", of.duration.map(|duration| format!("{duration} s"))),
        ] {
            if let Some(value) = value {
                output.say(&of_thread(index, what), &value);
            }
        }
        table.cpus.push(OnCpu { cpu: of.cpu(), buckets, stated });
    }
    names.sort_unstable();
    names.dedup();
    names.into_iter().for_each(|name| table.name(name));
    table.put(output)
}

/// The threads by their numbers.
fn in_order(document: &RtTests, line: u64) -> Result<BTreeMap<usize, &OneThread>, ImportError> {
    let mut all = BTreeMap::new();
    for (name, of) in &document.thread {
        let error = |why: &str| ImportError::at(line, format!("thread {name}: {why}"));
        let index = name.parse().map_err(|_| error("its name is no number"))?;
        if all.insert(index, of).is_some() {
            return Err(error("it stands there twice"));
        }
    }
    Ok(all)
}

/// The buckets of a thread, the smallest first, ns.
fn buckets_of(of: &OneThread, unit_ns: i64) -> Result<Vec<(i64, u64)>, &'static str> {
    let value = |(name, count): (&String, &u64)| Some((decimal(name, unit_ns)?, *count));
    let buckets: Option<Vec<(i64, u64)>> = of.histogram.iter().map(value).collect();
    let mut buckets = buckets.ok_or("a bucket is no number")?;
    buckets.sort_unstable();
    if buckets.windows(2).any(|two| two[0].0 == two[1].0) {
        return Err("a bucket stands there twice");
    }
    Ok(buckets)
}

fn thread_error(line: u64, thread: usize, why: &str) -> ImportError {
    ImportError::at(line, format!("thread {thread}: {why}"))
}

/// `Fri, 20 Nov 2026 08:25:56 +0000` as RFC 3339 has it, UTC; anything else as it is.
fn rfc3339(text: &str) -> String {
    utc(text).unwrap_or_else(|| text.to_owned())
}

fn utc(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split_whitespace();
    let day: i64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|known| *known == month)?;
    let year: i64 = words.next()?.parse().ok().filter(|year| (1970..=2400).contains(year))?;
    let mut time = words.next()?.split(':').map(|part| part.parse::<u8>().ok().map(i64::from));
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let zone: i64 = words.next()?.parse().ok().filter(|zone| (-2_400..=2_400).contains(zone))?;
    if hour > 24 || minute > 60 || second > 61 {
        return None;
    }
    // Days since 1970, by the Gregorian calendar; the year begins in March.
    let month = i64::try_from(month).ok()? + 1;
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719_468;
    let zone = (zone / 100 * 60 + zone % 100) * 60;
    let seconds = u64::try_from(days * 86_400 + hour * 3_600 + minute * 60 + second - zone).ok()?;
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    Some(humantime::format_rfc3339_seconds(time).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{buckets, figures, imported, refused};

    #[test]
    fn times_of_several_zones() {
        assert_eq!(rfc3339("Fri, 20 Nov 2026 08:25:56 +0000"), "2026-11-20T08:25:56Z");
        assert_eq!(rfc3339("Thu, 29 Feb 2024 23:30:00 -0130"), "2024-03-01T01:00:00Z");
        for text in [
            "yesterday",
            "Fri, 99999999999 Nov 2026 08:25:56 +0000",
            "Fri, 20 Nov 2026 99:25:56 +0000",
            "Fri, 20 Nov 2026 08:25:56 +99999999999",
        ] {
            assert_eq!(rfc3339(text), text);
        }
    }

    #[test]
    fn nothing_stands_there_twice() {
        let text = include_str!("samples/cyclictest-2.4.json");
        for (one, other) in [("\"1\": {", "\"0\": {"), ("\"1\": {", "\"00\": {")] {
            let (before, behind) = text.split_once(one).unwrap();
            let why = refused(&format!("{before}{other}{behind}"));
            assert!(why.contains("stands there twice"), "{why}");
        }
    }

    #[test]
    fn a_thread_that_is_not_there() {
        let text = include_str!("samples/cyclictest-2.4.json");
        let document =
            imported(&text.replace("\"num_threads\": 2", "\"num_threads\": 3")).remove(0).document;
        let warnings = format!("{:?}", document.warnings);
        let contradicts = "place: \"num_threads\", stated: \"3\", found: \"2\"";
        assert!(warnings.contains(contradicts), "{warnings}");
    }

    #[test]
    fn documents_of_cyclictest() {
        let of = |text: &str| {
            let document = imported(text).remove(0).document;
            let last = |thread: usize| *buckets(&document, thread).last().unwrap();
            (figures(&document), [last(0), last(document.threads.len() - 1)], document)
        };
        let (figures, last, document) = of(include_str!("samples/cyclictest-2.4.json"));
        assert_eq!(figures, [(9_987, 8_000, 21_200.0, 571_000), (9_993, 9_000, 19_530.0, 501_000)]);
        // As many as the buckets lack of all cycles.
        assert_eq!(last, [(20_000, 571_000, 5_632), (20_000, 501_000, 4_520)]);
        assert_eq!(document.warnings, Vec::new());
        // With -N, and pinned.
        let (figures, last, document) = of(include_str!("samples/cyclictest-2.4-N.json"));
        assert_eq!(figures[1], (200, 14_480, 28_297.15, 205_918));
        assert_eq!(last[1].2, 4);
        assert_eq!(document.run.cpus, [CpuId(0), CpuId(1)]);
        assert_eq!(document.imported.as_ref().unwrap().resolution_ns, 1);
        // Its kernel is PREEMPT_RT, and it says that it is not.
        let (figures, _, document) = of(include_str!("samples/cyclictest-2.6-field.json"));
        assert_eq!(figures[1], (29_431, 6_000, 7_620.0, 33_000));
        assert_eq!(document.warnings.len(), 1);
    }

    #[test]
    fn documents_of_cyclicdeadline() {
        let all = imported(include_str!("samples/cyclicdeadline-2.4.json"));
        let document = &all[0].document;
        assert_eq!(document.threads[0].scheduling, DEADLINE);
        assert_eq!(figures(document).len(), 2);
        let all = imported(include_str!("samples/cyclicdeadline-2.10.json"));
        let document = &all[0].document;
        let buckets = &document.threads[0].histogram_ns.buckets;
        assert_eq!((buckets[0].lower, buckets[0].count), (0, 7));
        assert_eq!(figures(document)[0], (201, 0, 18_100.0, 322_000));
        assert_eq!(document.imported.as_ref().unwrap().version.as_deref(), Some("2.10"));
    }

    #[test]
    fn document_of_signaltest() {
        let all = imported(include_str!("samples/signaltest-2.4.json"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(3_025, 17_000, 27_730.0, 90_000), (3_026, 17_000, 676_210.0, 57_442_000)]
        );
        assert_eq!(document.run.cpus, [CpuId(0), CpuId(0)]);
    }

    #[test]
    fn document_of_rt_migrate_test() {
        let all = imported(include_str!("samples/rt-migrate-test-2.4.json"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [
                (4, 20_049_000, 20_067_000.0, 20_088_000),
                (4, 52_000, 65_000.0, 83_000),
                (4, 42_000, 56_000.0, 76_000)
            ]
        );
        assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_FIFO 2");
    }

    #[test]
    fn documents_without_latencies() {
        let ssdd = include_str!("samples/ssdd-2.4.json");
        assert_eq!(refused(ssdd), "line 1: the document is of ssdd, which has no latencies");
        assert_eq!(
            refused(include_str!("samples/pi_stress-2.4.json")),
            "line 1: the document is of pi_stress, which has no latencies"
        );
        assert_eq!(
            refused(&format!("a log\n{}", ssdd.replace("ssdd -i", "rtla -i"))),
            "line 2: the document is of 'rtla', which is not read"
        );
        let both = format!("{ssdd}\n{}", include_str!("samples/svsematest-2.4.json"));
        assert_eq!(imported(&both).len(), 1);
    }

    #[test]
    fn documents_of_pairs() {
        let figures_of = |text: &str| {
            let document = imported(text).remove(0).document;
            (document.run.probe.clone(), figures(&document), document)
        };
        let (probe, figures, document) = figures_of(include_str!("samples/pmqtest-2.4.json"));
        assert_eq!((probe.as_str(), figures), ("pmqtest", vec![(1_813, 9_000, 27_180.0, 231_000)]));
        assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_FIFO 80");
        assert_eq!(document.threads[0].interval_ns.0, 1_000_000);
        assert_eq!(document.imported.as_ref().unwrap().says[0].what, "thread 0: timeoutcount");
        let (probe, figures, _) = figures_of(include_str!("samples/svsematest-2.4.json"));
        assert_eq!(
            (probe.as_str(), figures),
            ("svsematest", vec![(1_805, 6_000, 22_370.0, 181_000)])
        );
        let (probe, figures, _) = figures_of(include_str!("samples/sigwaittest-2.4.json"));
        assert_eq!((probe.as_str(), figures[1]), ("sigwaittest", (651, 5_000, 7_800.0, 77_000)));
        let (probe, figures, _) = figures_of(include_str!("samples/ptsematest-2.4.json"));
        assert_eq!((probe.as_str(), figures[1]), ("ptsematest", (629, 0, 19_420.0, 129_000)));
    }

    /// As 2.4 wrote it, with a quote in the command line and a mean of nothing.
    #[test]
    fn what_is_no_json_is_put_right() {
        let text = r##"a log
{
  "file_version": 1,
  "cmdline:": "cyclictest -a "0 1" -h 20",
  "rt_test_version:": "2.40",
  "resolution_in_ns": 0,
  "sysinfo": {"release": "6.6", "version": "#1 SMP PREEMPT_RT x", "realtime": 0},
  "thread": {
    "0": {
      "histogram": {"10": 5, "12": 3},
      "cycles": 10,
      "min": 10,
      "max": 99,
      "avg": 20.25,
      "cpu": 1,
      "node": -1
    },
    "1": {
      "cycles": 0,
      "min": 1000000,
      "max": 0,
      "avg": -nan,
      "cpu": -1
    }
  }
} and more"##;
        let all = imported(text);
        let document = &all[0].document;
        assert_eq!(document.threads.len(), 1, "one measured nothing");
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (10, 10_000, 20_250.0, 99_000));
        assert_eq!(document.threads[0].histogram_ns.buckets[2].lower, 13_000);
        assert_eq!(document.command_line[3], "1\"");
        assert_eq!(document.warnings.len(), 1, "{:?}", document.warnings);
    }
}
