// SPDX-License-Identifier: MIT OR Apache-2.0
//! OSADL's "RT Dataset", a JSON document made of a histogram of cyclictest, and the part of one
//! that is called "RT Cyclictest".

use super::cyclictest::CYCLICTEST;
use super::json::{self, said};
use super::output::of_thread;
use super::{Import, ImportError, Lines, Output};
use plan::{CpuId, CpuList, Nanos};
use serde::Deserialize;

/// CPUs that a command line may name.
const MAX_CPUS: u32 = 8_192;
/// Bytes of a list of CPUs at most.
const MAX_LIST: usize = 4_096;
/// The widest class of latencies, us.
const MAX_WIDTH: u64 = 1_000_000;

#[derive(Deserialize)]
struct Dataset {
    #[serde(default)]
    timestamps: Timestamps,
    #[serde(default)]
    system: System,
    #[serde(default)]
    processor: Processor,
    #[serde(default)]
    kernel: Kernel,
    #[serde(default)]
    condition: Condition,
    latency: Latency,
}

#[derive(Default, Deserialize)]
struct Timestamps {
    #[serde(default)]
    origin: Option<String>,
}

#[derive(Default, Deserialize)]
struct System {
    #[serde(default)]
    hostname: Option<String>,
}

#[derive(Default, Deserialize)]
struct Processor {
    #[serde(default)]
    family: Option<String>,
    #[serde(default)]
    vendor: Option<String>,
    #[serde(default, rename = "type")]
    model: Option<String>,
    #[serde(default)]
    clock: Option<String>,
}

#[derive(Default, Deserialize)]
struct Kernel {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    cmdline: Option<String>,
    #[serde(default)]
    patches: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct Condition {
    #[serde(default)]
    load: Option<String>,
    #[serde(default)]
    cycles: Option<u64>,
    #[serde(default)]
    interval: Option<i64>,
    #[serde(default)]
    cyclictest: Option<String>,
}

#[derive(Deserialize)]
struct Latency {
    granularity: Granularity,
    #[serde(default)]
    maxima: Vec<i64>,
    /// The classes, and of each core how many are in each. Other writers leave the classes out.
    cores: Vec<Vec<u64>>,
}

/// The unit, or how wide a class is, us.
#[derive(Deserialize)]
#[serde(untagged)]
enum Granularity {
    Unit(String),
    Width(u64),
}

impl Latency {
    /// The classes, and what is in them of each core. OSADL's programs write the unit and the
    /// classes. Where a width stands in the unit's place, there are classes if there is an array
    /// more than cores have maxima.
    fn classes_and_cores(&self) -> Result<(Vec<u64>, &[Vec<u64>]), &'static str> {
        let [first, others @ ..] = self.cores.as_slice() else {
            return Err("there are no cores");
        };
        if let Granularity::Width(width) = self.granularity {
            if self.cores.len() == self.maxima.len() {
                let classes = (0..).step_by(usize::try_from(width).unwrap_or(usize::MAX));
                return Ok((classes.take(first.len()).collect(), &self.cores));
            }
            if others.len() != self.maxima.len() {
                return Err("latency.maxima fits neither cores with their classes nor without");
            }
        }
        if !first.is_sorted_by(|a, b| a < b) {
            return Err("the first of latency.cores is not the classes of latencies");
        }
        Ok((first.clone(), others))
    }
}

/// Whether such a document begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| line.trim_start().starts_with('{'))
        && lines
            .iter()
            .take(4)
            .any(|line| line.contains("\"RT Dataset\"") || line.contains("\"RT Cyclictest\""))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&CYCLICTEST, lines.number());
    let line = lines.number();
    let dataset: Dataset = json::document(lines)?;
    let error = |why: &str| ImportError::at(line, why);
    let (unit, width) = match &dataset.latency.granularity {
        Granularity::Unit(unit) if unit == "microseconds" => (1_000, 1),
        Granularity::Unit(unit) if unit == "nanoseconds" => (1, 1),
        Granularity::Width(width) if (1..=MAX_WIDTH).contains(width) => (1_000, *width),
        _ => return Err(error("the granularity of latencies is not known")),
    };
    output.resolution_ns = unit;
    let command = CommandLine::new(dataset.condition.cyclictest.as_deref().unwrap_or_default());
    put_conditions(&dataset, &command, &mut output);
    let (classes, cores) = dataset.latency.classes_and_cores().map_err(&error)?;
    let cores = match cores.split_last() {
        // With -H the last column is the sum of the others.
        Some((last, others)) if command.has_sum && is_sum(last, others) => others,
        _ => cores,
    };
    for (index, counts) in cores.iter().enumerate() {
        let error = |why: &str| error(&format!("core {index}: {why}"));
        if counts.len() != classes.len() {
            return Err(error("it has another number of classes"));
        }
        let ns = |value: u64| {
            let ns = i64::try_from(value).ok().and_then(|value| value.checked_mul(unit));
            ns.ok_or_else(|| error("no latency is so large"))
        };
        let thread = output.thread(index)?;
        thread.cpu = command.cpu(index);
        let (mut count, mut limit) = (0_u64, 0);
        for (class, of_class) in classes.iter().zip(counts) {
            let upper = ns(class.saturating_add(width - 1))?;
            thread.range(ns(*class)?, upper, *of_class);
            count = count.saturating_add(*of_class);
            limit = upper.saturating_add(unit);
        }
        let max = dataset.latency.maxima.get(index).copied();
        thread.stated.max = max.and_then(|max| max.checked_mul(unit)).filter(|_| count > 0);
        // How many were beyond the classes is not said.
        let is_beyond = thread.stated.max.is_some_and(|max| max >= limit);
        if is_beyond {
            thread.beyond = Some((1, limit));
            count = count.saturating_add(1);
        }
        let cycles = dataset.condition.cycles.filter(|_| command.has_loops);
        if let Some(cycles) = cycles.filter(|cycles| *cycles != count && count > 0) {
            let found = if is_beyond { format!("{count} or more") } else { count.to_string() };
            output.contradiction(of_thread(index, "cycles"), cycles, found);
        }
    }
    if output.threads.iter().all(super::Measured::is_empty) {
        return Ok(());
    }
    import.add(output)
}

fn is_sum(last: &[u64], others: &[Vec<u64>]) -> bool {
    others.len() > 1
        && last.iter().enumerate().all(|(at, count)| {
            let counts = others.iter().map(|core| core.get(at).copied().unwrap_or(0));
            counts.fold(0, u64::saturating_add) == *count
        })
}

fn put_conditions(dataset: &Dataset, command: &CommandLine, output: &mut Output) {
    let Dataset { timestamps, system, processor, kernel, condition, .. } = dataset;
    // When the histogram was written.
    output.ended_at = said(&timestamps.origin);
    output.load = said(&condition.load);
    output.host.hostname = said(&system.hostname);
    output.host.kernel = said(&kernel.version);
    output.host.kernel_command_line = said(&kernel.cmdline);
    output.host.architecture = processor.family.clone().unwrap_or_default();
    let model: Vec<String> =
        [&processor.vendor, &processor.model].into_iter().filter_map(said).collect();
    output.host.cpu_model = (!model.is_empty()).then(|| model.join(" "));
    let patches = kernel.patches.as_ref().map(|patches| patches.join(", "));
    for (what, text) in [("processor.clock", &processor.clock), ("kernel.patches", &patches)] {
        if let Some(text) = said(text) {
            output.say(what, &text);
        }
    }
    output.command_line.clone_from(&command.words);
    // Where the command does not say it, what stands here is not always what cyclictest took.
    let us = condition.interval.filter(|us| *us > 0 && (command.has_interval || command.is_none()));
    output.interval = us.and_then(|us| us.checked_mul(1_000)).map(Nanos);
}

/// What cyclictest's command line says.
#[derive(Default)]
struct CommandLine {
    words: Vec<String>,
    has_interval: bool,
    has_loops: bool,
    has_sum: bool,
    /// The CPUs that its threads are bound to, in their order; empty for all from 0 on.
    cpus: Option<Vec<CpuId>>,
    /// The same as it is written, until the last such option is known.
    list: Option<String>,
}

impl CommandLine {
    fn new(line: &str) -> CommandLine {
        let mut command = CommandLine::default();
        let words: Vec<&str> = line.split_whitespace().collect();
        command.words = words.iter().map(|word| (*word).to_owned()).collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).filter(|next| !next.starts_with('-')).copied();
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (*word, next),
            };
            match name {
                "--interval" => command.has_interval = true,
                "--loops" => command.has_loops = true,
                "--histofall" => command.has_sum = true,
                "--smp" => command.list = Some(String::new()),
                "--affinity" => command.list = Some(value.unwrap_or_default().to_owned()),
                _ if word.starts_with("--") => {}
                _ => command.short(word.strip_prefix('-').unwrap_or_default(), next),
            }
        }
        command.cpus = command.list.as_deref().and_then(pinned);
        command
    }

    /// Short options in one word: of those with a value it takes the rest.
    fn short(&mut self, word: &str, next: Option<&str>) {
        for (at, letter) in word.char_indices() {
            let rest = &word[at + letter.len_utf8()..];
            match letter {
                'S' => self.list = Some(String::new()),
                'i' => self.has_interval = true,
                'l' => self.has_loops = true,
                'H' => self.has_sum = true,
                'a' => {
                    let list = if rest.is_empty() { next.unwrap_or_default() } else { rest };
                    self.list = Some(list.to_owned());
                }
                _ => {}
            }
            if "abcdDFhHiloptA".contains(letter) {
                break;
            }
        }
    }

    fn is_none(&self) -> bool {
        self.words.is_empty()
    }

    /// The CPU of a thread, where threads are bound.
    fn cpu(&self, thread: usize) -> Option<CpuId> {
        let cpus = self.cpus.as_ref()?;
        if cpus.is_empty() {
            return u32::try_from(thread).ok().map(CpuId);
        }
        cpus.get(thread % cpus.len()).copied()
    }
}

/// The CPUs of a list; empty for all from 0 on.
fn pinned(list: &str) -> Option<Vec<CpuId>> {
    if list.is_empty() {
        return Some(Vec::new());
    }
    let all: Vec<CpuId> = (0..MAX_CPUS).map(CpuId).collect();
    let list = Some(list).filter(|list| list.len() <= MAX_LIST)?.parse::<CpuList>().ok()?;
    list.resolve(&all).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{buckets, figures, imported, refused};
    use model::Unknown;

    const DATASET: &str = include_str!("samples/osadl-rt-dataset.json");

    #[test]
    fn a_dataset() {
        let all = imported(DATASET);
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(100_000, 3_000, 3_509.76, 250_000), (99_001, 2_000, 3_034.231_977_454_773, 420_000)]
        );
        assert_eq!(buckets(document, 1).last(), Some(&(400_000, 420_000, 1)));
        assert_eq!(document.run.interval_ns, Nanos(200_000));
        assert_eq!(document.threads[1].cpu, CpuId(1));
        let host = &document.host.before;
        assert_eq!(host.hostname.as_deref(), Some("r0s8.osadl.org"));
        assert_eq!(host.cpu_model.as_deref(), Some("Intel Core i5"));
        let source = document.imported.as_ref().unwrap();
        assert_eq!(source.load.as_deref(), Some("heaavy"));
        assert!(source.lacks(Unknown::Start) && !source.lacks(Unknown::Interval));
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains("thread 1: cycles") && warnings.contains("99001 or more"));
    }

    #[test]
    fn other_shapes() {
        let wide = DATASET
            .replace("\"microseconds\"", "10")
            .replace("[0, 1, 2, 3, 4, 5, 250, 399]", "[0, 10, 20, 30, 40, 50, 240, 390]");
        let document = &imported(&wide)[0].document;
        assert_eq!(buckets(document, 0)[0], (30_000, 39_000, 75_002));
        let part =
            DATASET.replace("\"format\"", "\"format-test\"").replace("RT Dataset", "RT Cyclictest");
        assert_eq!(imported(&part).len(), 1);
        let unsaid = DATASET.replace("-i200 ", "");
        let source = imported(&unsaid)[0].document.imported.clone().unwrap();
        assert!(source.lacks(Unknown::Interval), "200 is what the script writes then");
        let sum =
            DATASET.replace("-h400", "-H400").replace("\"maxima\"", "\"cores_\": [], \"maxima\"");
        let sum = sum.replace(
            "\n        ]\n    }",
            ",\n            [0, 0, 2, 173002, 2, 25986, 8, 0]\n        ]\n    }",
        );
        assert_eq!(figures(&imported(&sum)[0].document).len(), 2);
    }

    /// The first core's counts rise, as classes do.
    #[test]
    fn without_classes_the_first_array_is_a_core() {
        let bare = DATASET
            .replace("\"microseconds\"", "1")
            .replace("[250, 420]", "[3, 3]")
            .replace("[0, 1, 2, 3, 4, 5, 250, 399],", "")
            .replace("[0, 0, 0, 75002, 0, 24994, 4, 0]", "[0, 1, 2, 9]")
            .replace("[0, 0, 2, 98000, 2, 992, 4, 0]", "[5, 0, 1, 6]");
        let document = &imported(&bare)[0].document;
        let means = [32_000.0 / 12.0, 20_000.0 / 12.0];
        assert_eq!(figures(document), [(12, 1_000, means[0], 3_000), (12, 0, means[1], 3_000)]);
        assert_eq!(
            refused(&bare.replace("[3, 3]", "[3, 3, 3]")),
            "line 1: latency.maxima fits neither cores with their classes nor without"
        );
    }

    #[test]
    fn which_cpus_a_command_names() {
        let cpus = |line: &str| {
            let command = CommandLine::new(line);
            [0, 1].map(|thread| command.cpu(thread).map(|cpu| cpu.0))
        };
        assert_eq!(cpus("cyclictest -m -Sp98 -q -i200 -h400 -l100000"), [Some(0), Some(1)]);
        assert_eq!(cpus("cyclictest -qmu -a4,6 -t2"), [Some(4), Some(6)]);
        assert_eq!(cpus("cyclictest -t2 -a 2-3 -p 80"), [Some(2), Some(3)]);
        assert_eq!(cpus("cyclictest --smp"), [Some(0), Some(1)]);
        assert_eq!(cpus("cyclictest -t2 -p98 -i200"), [None, None]);
    }

    #[test]
    fn what_is_damaged_is_named() {
        let with = |from: &str, to: &str| refused(&DATASET.replace(from, to));
        assert_eq!(
            with("[0, 1, 2,", "[0, 1, 1,"),
            "line 1: the first of latency.cores is not the classes of latencies"
        );
        assert_eq!(
            with("microseconds", "fortnights"),
            "line 1: the granularity of latencies is not known"
        );
        assert_eq!(
            with("[0, 0, 0, ", "[0, 0, "),
            "line 1: core 0: it has another number of classes"
        );
    }

    #[test]
    fn a_list_of_cpus_that_nobody_writes_is_not_resolved() {
        let list = |parts: usize| vec!["0-8191"; parts].join(",");
        assert_eq!(CommandLine::new(&format!("cyclictest -a {}", list(2))).cpu(7), Some(CpuId(7)));
        assert_eq!(CommandLine::new(&format!("cyclictest -a {}", list(1_000))).cpu(7), None);
        assert_eq!(CommandLine::new("cyclictest -a 3 -a5").cpu(0), Some(CpuId(5)), "the last");
    }
}
