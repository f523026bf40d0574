// SPDX-License-Identifier: MIT OR Apache-2.0
//! hwlatdetect: its summary and its samples, each of which is the largest gap of a window. A report
//! that it saved holds the samples alone.

use super::numbers::{decimal, whole};
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};
use plan::{CpuId, Nanos, Unit};

pub(crate) static HWLATDETECT: Program = Program {
    name: "hwlatdetect",
    measuring_point: "between two successive readings of the clock by the kernel's hwlat tracer, \
                      with interrupts off",
    column: Column::ns("gap_ns", "the larger of inner and outer: of a pass, and between two"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Whether an output of hwlatdetect begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    is_title(first) || first.starts_with("ts: ") && Sample::parse(first).is_some()
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&HWLATDETECT, lines.number());
    if let Some(words) = import.command("hwlatdetect", output.line) {
        output.command_line = words;
    }
    let mut summary = Summary::default();
    let mut samples = Samples::default();
    let mut is_first = true;
    while let Some(line) = lines.peek()? {
        if line.starts_with("ts: ") {
            let Some(sample) = Sample::parse(line) else {
                return Err(lines.error("the sample is not complete"));
            };
            let line = line.to_owned();
            samples.add(&sample, &mut output).map_err(|why| lines.error(why))?;
            output.say("sample", &line);
            let (thread, time, gap) = samples.last;
            output.event(thread, time, gap)?;
        } else if (is_title(line) && !is_first)
            || !(line.trim().is_empty() || summary.read(line, &mut output))
        {
            break;
        }
        is_first = false;
        lines.advance();
    }
    if samples.count == 0 {
        let why = match (summary.is_below, summary.max) {
            (true, _) | (false, Some(0)) => {
                summary.nothing(&mut output)?;
                return import.add(output);
            }
            (false, Some(_)) => "the samples of hwlatdetect are not below its summary",
            (false, None) => "hwlatdetect did not finish",
        };
        import.pass_over(output.line, why);
        return Ok(());
    }
    summary.compare(&samples, &mut output);
    import.add(output)
}

fn is_title(line: &str) -> bool {
    line.starts_with("hwlatdetect:") && line.contains("test duration")
}

/// `ts: 1787951679.284904730, inner:17, outer:1, cpu:0, count:2`, as far as the version has it.
struct Sample {
    time_ns: i64,
    inner_ns: i64,
    outer_ns: i64,
    cpu: Option<CpuId>,
    /// How many gaps of its window were above the threshold.
    count: u64,
}

impl Sample {
    fn parse(line: &str) -> Option<Sample> {
        let mut fields = line.split(',').map(str::trim);
        let time_ns = decimal(fields.next()?.strip_prefix("ts:")?, 1_000_000_000)?;
        let inner_ns = decimal(fields.next()?.strip_prefix("inner:")?, 1_000)?;
        let outer_ns = decimal(fields.next()?.strip_prefix("outer:")?, 1_000)?;
        let mut sample = Sample { time_ns, inner_ns, outer_ns, cpu: None, count: 1 };
        for field in fields {
            if let Some(cpu) = field.strip_prefix("cpu:") {
                sample.cpu = Some(CpuId(u32::try_from(whole(cpu)?).ok()?));
            } else {
                sample.count = whole(field.strip_prefix("count:")?)?;
            }
        }
        Some(sample)
    }
}

/// What was found among the samples.
#[derive(Default)]
struct Samples {
    count: u64,
    above: u64,
    max: i64,
    /// When the first and the last were.
    times: Option<(i64, i64)>,
    /// The thread, the time since the first and the gap of the last.
    last: (usize, i64, i64),
    /// By CPU.
    threads: std::collections::BTreeMap<Option<u32>, usize>,
}

impl Samples {
    fn add(&mut self, sample: &Sample, output: &mut Output) -> Result<(), String> {
        let (first, last) = self.times.unwrap_or((sample.time_ns, sample.time_ns));
        if sample.time_ns < last {
            return Err("the sample is earlier than the one above".to_owned());
        }
        let Some(since) = sample.time_ns.checked_sub(first) else {
            return Err("the sample is centuries after the first".to_owned());
        };
        self.times = Some((first, sample.time_ns));
        let gap = sample.inner_ns.max(sample.outer_ns);
        self.count += 1;
        self.above = self.above.saturating_add(sample.count);
        self.max = self.max.max(gap);
        let next = self.threads.len();
        let cpu = sample.cpu;
        let thread = *self.threads.entry(cpu.map(|cpu| cpu.0)).or_insert(next);
        output.thread(thread).map_err(|error| error.to_string())?.cpu = cpu;
        self.last = (thread, since, gap);
        Ok(())
    }
}

/// What is printed above the samples.
#[derive(Default)]
struct Summary {
    /// `run.probe_settings` of teiji's own probe.
    settings: plan::ProbeSettings,
    length: Option<Nanos>,
    is_below: bool,
    max: Option<i64>,
    recorded: Option<u64>,
    exceeding: Option<u64>,
}

impl Summary {
    /// Takes a line. Whether it is one of hwlatdetect's.
    fn read(&mut self, line: &str, output: &mut Output) -> bool {
        let line = line.trim();
        let is_step = ["Starting test", "test finished", "interrupted", "parameters:"];
        if is_step.contains(&line) || line.starts_with("report saved to ") {
            return true;
        }
        // The program spells it so.
        if line.split_once(" SMIs occured on cpu ").is_some_and(|(n, _)| whole(n).is_some()) {
            output.say("SMIs", line);
            return true;
        }
        let Some((name, text)) = line.split_once(':') else { return false };
        let text = text.trim();
        match name {
            "Max Latency" if text == "Below threshold" => self.is_below = true,
            "Max Latency" => {
                self.max = text.strip_suffix("us").and_then(|us| decimal(us, 1_000));
                return self.max.is_some();
            }
            "Samples recorded" => self.recorded = whole(text),
            "Samples exceeding threshold" => self.exceeding = whole(text),
            _ => {
                if !SETTINGS.contains(&name) {
                    return false;
                }
                if let Some((_, key)) = PROBE_SETTINGS.iter().find(|(known, _)| *known == name)
                    && let Ok(time) = Nanos::parse(text, Unit::Microsecond)
                {
                    self.settings.insert((*key).to_owned(), time.to_string());
                } else if let Some(seconds) = text.strip_prefix("test duration ") {
                    let seconds = seconds.strip_suffix(" seconds").unwrap_or(seconds);
                    self.length = decimal(seconds, 1_000_000_000).filter(|ns| *ns > 0).map(Nanos);
                }
                output.say(name, text);
            }
        }
        true
    }

    /// That there was no gap above the threshold: a result, without a figure.
    fn nothing(self, output: &mut Output) -> Result<(), ImportError> {
        output.thread(0)?;
        output.found_nothing = true;
        (output.probe_settings, output.length) = (self.settings, self.length);
        Ok(())
    }

    fn compare(&self, samples: &Samples, output: &mut Output) {
        if let Some(max) = self.max.filter(|max| *max != samples.max) {
            output.contradiction("Max Latency", max, samples.max);
            if max > samples.max {
                output.raise_max(max);
            }
        }
        if let Some(recorded) = self.recorded.filter(|recorded| *recorded != samples.count) {
            output.contradiction("Samples recorded", recorded, samples.count);
        }
        if let Some(exceeding) = self.exceeding.filter(|exceeding| *exceeding != samples.above) {
            output.contradiction("Samples exceeding threshold", exceeding, samples.above);
        }
    }
}

/// What it says of its run that teiji's own probe is set to.
const PROBE_SETTINGS: [(&str, &str); 3] = [
    ("Latency threshold", "hwlat-threshold"),
    ("Sample window", "hwlat-window"),
    ("Sample width", "hwlat-width"),
];

/// What it says of its run.
const SETTINGS: [&str; 10] = [
    "hwlatdetect",
    "detector",
    "CPU list",
    "Latency threshold",
    "Sample window",
    "Sample width",
    "Non-sampling period",
    "Output File",
    "MTBF",
    "SMIs during run",
];

#[cfg(test)]
mod tests {
    use super::Nanos;
    use crate::tests::{figures, imported, refused};

    /// Its text as the sources of several versions print it.
    const HEAD: &str = "hwlatdetect:  test duration 120 seconds\n   detector: tracer\n   \
                        parameters:\n        CPU list:          None\n        Latency threshold: \
                        10us\n        Sample window:      1000000us\n        Sample width:      \
                        500000us\n     Non-sampling period:  500000us\n        Output File:       \
                        None\n\nStarting test\ntest finished\n";

    #[test]
    fn samples_of_several_cpus() {
        let text = format!(
            "{HEAD}Max Latency: 19us\nSamples recorded: 3\nSamples exceeding threshold: 4\nMTBF: \
             12.345 seconds\n3 SMIs occured on cpu 0\nSMIs during run: 3\nts: \
             1787951679.284904730, inner:17, outer:1, cpu:0\nts: 1787951680.284904730, inner:0, \
             outer:19, cpu:3, count:2\nts: 1787951681.284904731, inner:12, outer:12, cpu:0\n"
        );
        let all = imported(&text);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(2, 12_000, 14_500.0, 17_000), (1, 19_000, 19_000.0, 19_000)]
        );
        assert_eq!(document.warnings, Vec::new());
        assert_eq!(document.threads[1].cpu.0, 3);
        let says = &document.imported.as_ref().unwrap().says;
        let said = |what: &str| says.iter().find(|said| said.what == what).unwrap().text.clone();
        assert_eq!(said("Latency threshold"), "10us");
        assert_eq!(said("SMIs"), "3 SMIs occured on cpu 0");
        assert_eq!(said("sample"), "ts: 1787951679.284904730, inner:17, outer:1, cpu:0");
    }

    #[test]
    fn saved_report_without_cpus() {
        let text = "ts: 10.5, inner:17, outer:1\nts: 11.5, inner:1, outer:18\n";
        let document = imported(text).remove(0).document;
        assert_eq!(figures(&document), [(2, 17_000, 17_500.0, 18_000)]);
        assert!(!document.threads[0].pinned);
    }

    #[test]
    fn summary_that_contradicts_the_samples() {
        let text = format!(
            "{HEAD}Max Latency: 20us\nSamples recorded: 2\nSamples exceeding threshold: 1\nts: \
             10.5, inner:17, outer:1\n"
        );
        let document = imported(&text).remove(0).document;
        assert_eq!(document.warnings.len(), 2, "{:?}", document.warnings);
    }

    #[test]
    fn times_too_far_apart() {
        assert_eq!(
            refused("ts: -9000000000.5, inner:17, outer:1\nts: 9000000000.5, inner:1, outer:1\n"),
            "line 2: the sample is centuries after the first"
        );
    }

    /// It was an error, also for other files of the call.
    #[test]
    fn nothing_above_the_threshold_is_a_result() {
        let rest = "Samples recorded: 0\nSamples exceeding threshold: 0\n";
        let mut all = imported(&format!("{HEAD}Max Latency: Below threshold\n{rest}"));
        let document = all.remove(0).document;
        assert_eq!(document.threads[0].latency_ns, None);
        let settings: Vec<(&str, &str)> = document
            .run
            .probe_settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let expected =
            [("hwlat-threshold", "10us"), ("hwlat-width", "500ms"), ("hwlat-window", "1s")];
        assert_eq!(settings, expected);
        assert_eq!(document.run.length, plan::Length::DurationNs(Nanos::from_millis(120_000)));
    }

    #[test]
    fn nothing_to_record() {
        assert_eq!(
            refused(&format!("\n{HEAD}Max Latency: 19us\n")),
            "line 2: the samples of hwlatdetect are not below its summary"
        );
        assert_eq!(refused(HEAD), "line 1: hwlatdetect did not finish");
        assert_eq!(
            refused("ts: 10.5, inner:17, outer:1\nts: 10.5, inner:17\n"),
            "line 2: the sample is not complete"
        );
        assert_eq!(
            refused("ts: -9000000000, inner:1, outer:1\nts: 9000000000, inner:1, outer:1\n"),
            "line 2: the sample is centuries after the first"
        );
        assert_eq!(
            refused("ts: 10.5, inner:17, outer:1\nts: 9.5, inner:17, outer:1\n"),
            "line 2: the sample is earlier than the one above"
        );
    }
}
