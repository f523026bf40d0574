// SPDX-License-Identifier: MIT OR Apache-2.0
//! rteval's summary.xml. Each of its measurements becomes a recording.
//!
//! The document is read event by event. It has no document type and no entities but those that
//! every XML has, and is bounded in bytes and depth.

use super::cyclictest::CYCLICTEST;
use super::numbers::{decimal, is_said_once, mean, whole};
use super::output::of_thread;
use super::{Import, ImportError, Output, Program};
use model::{Column, RowKind};
use plan::{CpuId, Nanos, Policy, Scheduling};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use std::io::{BufRead, Read};

/// Histograms of rteval hold what interrupt, thread and user space latencies have together.
static TIMERLAT: Program = Program {
    name: "timerlat-together",
    measuring_point: "IRQ, thread and user latencies of timerlat, which rteval adds up in one \
                      histogram: each wake-up counts up to three times",
    column: Column::ns("latency_ns", "from the planned time until any of the three"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: true,
    resolution_ns: 1_000,
};

/// Bytes of a document at most.
const MAX_DOCUMENT: u64 = 8 << 20;
/// Elements within one another at most.
const MAX_DEPTH: usize = 32;
/// Attributes of an element at most.
const MAX_ATTRIBUTES: usize = 64;

/// Whether it is such a document.
pub(crate) fn is(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[..head.len().min(1_000)]);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let text = match text.strip_prefix("<?xml") {
        Some(rest) => rest.split_once("?>").map_or("", |(_, rest)| rest),
        None => text,
    };
    // What a document type says is passed over here, and refused when the document is read.
    let text = match text.trim_start() {
        typed if typed.starts_with("<!DOCTYPE") => {
            typed.find("<rteval").map_or("", |at| &typed[at..])
        }
        text => text,
    };
    text.strip_prefix("<rteval").is_some_and(|rest| rest.starts_with([' ', '>', '\n']))
}

/// What the document says of the run.
#[derive(Default)]
struct Summary {
    version: Option<String>,
    date: Option<String>,
    time: Option<String>,
    node: Option<String>,
    kernel: Option<String>,
    /// Whether the kernel calls itself a real-time one.
    is_rt: Option<String>,
    arch: Option<String>,
    cmdline: Option<String>,
    clocksource: Option<String>,
    /// What it ran beside the measurements, by name.
    loads: Vec<String>,
    says: Vec<(String, String)>,
    measurements: Vec<Measurement>,
}

#[derive(Default)]
struct Measurement {
    is_timerlat: bool,
    /// Where it stands.
    offset: u64,
    command_line: String,
    says: Vec<(String, String)>,
    cores: Vec<Core>,
    system: Option<Core>,
}

#[derive(Default)]
struct Core {
    id: Option<u64>,
    priority: Option<u64>,
    samples: Option<u64>,
    min: Option<i64>,
    max: Option<i64>,
    mean: Option<f64>,
    sd: Option<f64>,
    /// Its other figures, in its words.
    says: Vec<String>,
    buckets: Vec<(i64, u64)>,
}

/// Reads it.
pub(crate) fn read(source: &mut dyn BufRead, import: &mut Import<'_>) -> Result<(), ImportError> {
    let summary = Document::read(source)?;
    for measurement in &summary.measurements {
        let error =
            |why: &str| ImportError::Byte { offset: measurement.offset, why: why.to_owned() };
        let all = measurement.cores.iter().chain(&measurement.system);
        if all.clone().next().is_none() {
            return Err(error(
                "the measurement has no figures: rteval leaves them out where the largest was \
                 beyond the histogram",
            ));
        }
        if all.map(|core| core.samples.unwrap_or(0)).all(|samples| samples == 0) {
            continue;
        }
        let program = if measurement.is_timerlat { &TIMERLAT } else { &CYCLICTEST };
        let mut output = import.output(program, 1);
        summary.put(&mut output);
        measurement.put(&mut output).map_err(|why| error(&why))?;
        import.add_part(if measurement.is_timerlat { "timerlat" } else { "" }, output)?;
    }
    Ok(())
}

impl Summary {
    fn put(&self, output: &mut Output) {
        let version = self.version.iter().map(|version| format!(" {version}"));
        output.ran_by = Some(std::iter::once("rteval".to_owned()).chain(version).collect());
        output.load = (!self.loads.is_empty()).then(|| self.loads.join(", "));
        output.started_at = match (&self.date, &self.time) {
            (Some(date), Some(time)) => Some(format!("{date}T{time}")),
            (date, _) => date.clone(),
        };
        output.host.hostname.clone_from(&self.node);
        output.host.kernel.clone_from(&self.kernel);
        output.host.architecture = self.arch.clone().unwrap_or_default();
        output.host.kernel_command_line.clone_from(&self.cmdline);
        output.host.clocksource.clone_from(&self.clocksource);
        if let Some(is_rt) = &self.is_rt {
            output.say("kernel is_RT", is_rt);
        }
        for (what, text) in &self.says {
            output.say(what, text);
        }
    }
}

impl Measurement {
    fn put(&self, output: &mut Output) -> Result<(), String> {
        output.command_line = self.command_line.split_whitespace().map(str::to_owned).collect();
        let interval = if self.is_timerlat { "-p" } else { "-i" };
        let us = output.command_line.iter().find_map(|word| whole(word.strip_prefix(interval)?));
        output.interval = us.and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000)).map(Nanos);
        let (mut sum, mut largest) = (0_u64, None);
        for (index, core) in self.cores.iter().enumerate() {
            let thread = output.thread(index).map_err(|error| error.to_string())?;
            thread.cpu = core.id.and_then(|id| u32::try_from(id).ok()).map(CpuId);
            // Both are started with it under SCHED_FIFO.
            thread.scheduling = core
                .priority
                .and_then(|prio| u8::try_from(prio).ok())
                .map(|prio| Scheduling { policy: Policy::Fifo, prio: Some(prio) });
            thread.stated.count = core.samples;
            thread.stated.min = core.min;
            thread.stated.max = core.max;
            thread.stated.mean = core.mean;
            thread.stated.sd = core.sd;
            for (value, count) in &core.buckets {
                thread.bucket(*value, *count);
            }
            sum = sum.saturating_add(core.samples.unwrap_or(0));
            largest = largest.max(core.max);
        }
        for (index, core) in self.cores.iter().enumerate().filter(|(_, core)| !core.says.is_empty())
        {
            output.say(&of_thread(index, "statistics"), &core.says.join(", "));
        }
        if let Some(system) = &self.system {
            if !system.says.is_empty() || system.sd.is_some() {
                let figure =
                    |name: &str, ns: Option<f64>| ns.map(|ns| format!("{name} {} us", ns / 1e3));
                let of_all = [figure("mean", system.mean), figure("standard_deviation", system.sd)];
                let all = of_all.into_iter().flatten().chain(system.says.iter().cloned());
                output.say("statistics of all threads", &all.collect::<Vec<_>>().join(", "));
            }
            if let Some(samples) = system.samples.filter(|samples| *samples != sum) {
                output.contradiction("system: samples", samples, sum);
            }
            if let (Some(stated), Some(found)) = (system.max, largest)
                && stated != found
            {
                let us = |ns: i64| format!("{} us", ns / 1_000);
                output.contradiction("system: maximum", us(stated), us(found));
                output.raise_max(stated);
            }
        }
        if self.is_timerlat {
            output.say("histogram", "IRQ, thread and user latencies added up");
        }
        for (what, text) in &self.says {
            output.say(what, text);
            output.is_broken_off |= what.starts_with("abort_report");
            if what == "abort_report: measured_latency" {
                let ns = whole(text).and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000));
                let maxima = self.cores.iter().map(|core| core.max).enumerate();
                let thread = maxima.max_by_key(|(_, max)| *max).map(|(index, _)| index);
                output.broken_at = thread.zip(ns);
            }
        }
        Ok(())
    }
}

/// A document as it is read.
#[derive(Default)]
struct Document {
    summary: Summary,
    /// The elements that are open.
    path: Vec<String>,
    /// Of the innermost of them.
    text: String,
    offset: u64,
}

impl Document {
    fn read(source: &mut dyn BufRead) -> Result<Summary, ImportError> {
        let mut reader = Reader::from_reader(source.take(MAX_DOCUMENT));
        let mut document = Document::default();
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            document.offset = reader.buffer_position();
            let offset = document.offset;
            let error = |why: String| ImportError::Byte { offset, why };
            if offset >= MAX_DOCUMENT {
                return Err(error(format!("the document is above {} MB", MAX_DOCUMENT >> 20)));
            }
            let event = reader
                .read_event_into(&mut buffer)
                .map_err(|failed| error(format!("the XML cannot be read: {failed}")))?;
            match event {
                Event::Start(element) => document.start(&element).map_err(error)?,
                Event::Empty(element) => {
                    document.start(&element).map_err(error)?;
                    document.end().map_err(error)?;
                }
                Event::End(_) => document.end().map_err(error)?,
                Event::Text(text) => document.text.push_str(&text.xml10_content()),
                Event::CData(text) => document.text.push_str(&text.xml10_content()),
                Event::GeneralRef(name) => {
                    let known = match name.resolve_char_ref() {
                        Ok(Some(letter)) => Some(letter),
                        _ => predefined(&name.xml10_content()),
                    };
                    let letter =
                        known.ok_or_else(|| error("entities are not expanded".to_owned()))?;
                    document.text.push(letter);
                }
                Event::DocType(_) => {
                    let why = "a document type (DOCTYPE) is not read: it may name other files";
                    return Err(error(why.to_owned()));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof if document.path.is_empty() => return Ok(document.summary),
                Event::Eof => return Err(error("the document ends within an element".to_owned())),
            }
        }
    }

    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        if self.path.len() >= MAX_DEPTH {
            return Err(format!("there are more than {MAX_DEPTH} elements within one another"));
        }
        self.text.clear();
        self.path.push(element.name().as_ref().to_owned());
        let get = |name: &str| attribute(element, name);
        match self.path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["rteval"] => self.summary.version = get("version")?,
            ["rteval", "run_info"] => {
                let mut parts = Vec::new();
                for unit in ["days", "hours", "minutes", "seconds"] {
                    parts.extend(get(unit)?.map(|value| format!("{value} {unit}")));
                }
                self.summary.says.push(("run_info".to_owned(), parts.join(", ")));
            }
            ["rteval", "loads"] => {
                if let Some(average) = get("load_average")? {
                    self.summary.says.push(("load_average".to_owned(), average));
                }
            }
            ["rteval", "loads", .., "command_line"] => match get("run")?.as_deref() {
                // It was there, and was not run.
                Some("0") => self.rename("not_run"),
                _ => self.summary.loads.extend(get("name")?),
            },
            ["rteval", "SystemInfo", "uname", "kernel"] => self.summary.is_rt = get("is_RT")?,
            ["rteval", "SystemInfo", "Kernel", "ClockSource", "source"] => {
                // Only that in use has text that is kept.
                if get("current")?.is_none_or(|current| current != "1") {
                    self.rename("available");
                }
            }
            ["rteval", "Measurements", name @ ("cyclictest" | "timerlat")]
            | ["rteval", "Measurements", "Profile", name @ ("cyclictest" | "timerlat")]
            | ["rteval", name @ "cyclictest"] => {
                let measurement = Measurement {
                    is_timerlat: *name == "timerlat",
                    offset: self.offset,
                    command_line: get("command_line")?.unwrap_or_default(),
                    ..Measurement::default()
                };
                self.summary.measurements.push(measurement);
            }
            _ => self.start_within(element)?,
        }
        Ok(())
    }

    /// Has the innermost element that is open under another name.
    fn rename(&mut self, name: &str) {
        self.path.pop();
        self.path.push(name.to_owned());
    }

    /// The same within a measurement.
    fn start_within(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let get = |name: &str| attribute(element, name);
        let is_core = |path: &str| matches!(path, "core" | "system");
        let depth = self.path.len();
        let parent = |up: usize| depth.checked_sub(up).map_or("", |at| self.path[at].as_str());
        let (name, above, higher) = (parent(1), parent(2), parent(3));
        let is_of_measurement = |name: &str| matches!(name, "cyclictest" | "timerlat");
        let Some(measurement) = self.summary.measurements.last_mut() else { return Ok(()) };
        if is_core(name) && is_of_measurement(above) {
            let number = |name: &str| Ok::<_, String>(get(name)?.as_deref().and_then(whole));
            let core = Core { id: number("id")?, priority: number("priority")?, ..Core::default() };
            let is_known = |known: &Core| known.id.is_some() && known.id == core.id;
            if name == "core" && measurement.cores.iter().any(is_known) {
                return Err("a core stands there twice".to_owned());
            }
            if name == "system" {
                measurement.system = Some(core);
            } else if measurement.cores.len() < plan::MAX_THREADS {
                measurement.cores.push(core);
            } else {
                return Err(format!("no machine has more than {} CPUs", plan::MAX_THREADS));
            }
        } else if above == "statistics" && is_core(higher) {
            if let Some(unit) = get("unit")?.filter(|unit| unit != "us") {
                return Err(format!("{name} is in '{unit}', and not in us"));
            }
        } else if name == "bucket" && above == "histogram" && is_core(higher) {
            let us = get("index")?.and_then(|text| decimal(&text, 1_000));
            let count = get("value")?.as_deref().and_then(whole);
            let (Some(us), Some(count)) = (us, count) else {
                return Err("a bucket has no index or no value".to_owned());
            };
            // Those of all together are in those of each.
            if higher == "core"
                && let Some(core) = measurement.cores.last_mut()
            {
                core.buckets.push((us, count));
            }
        } else if name == "abort_report" || above == "abort_report" {
            for name in ["reason", "latency_threshold", "measured_latency"] {
                if let Some(text) = get(name)? {
                    measurement.says.push((format!("abort_report: {name}"), text));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let summary = &mut self.summary;
        let path: Vec<&str> = self.path.iter().map(String::as_str).collect();
        let kept = Some(text.to_owned()).filter(|text| !text.is_empty());
        match path.as_slice() {
            ["rteval", "run_info", "date"] => summary.date = kept,
            ["rteval", "run_info", "time"] => summary.time = kept,
            ["rteval", "run_info", "annotate"] => {
                summary.says.extend(kept.map(|text| ("annotate".to_owned(), text)));
            }
            ["rteval", "SystemInfo", "uname", "node"] => summary.node = kept,
            ["rteval", "SystemInfo", "uname", "kernel"] => summary.kernel = kept,
            ["rteval", "SystemInfo", "uname", "arch"] => summary.arch = kept,
            ["rteval", "SystemInfo", "uname", "baseos"] => {
                summary.says.extend(kept.map(|text| ("baseos".to_owned(), text)));
            }
            ["rteval", "SystemInfo", "cmdlineInfo", "cmdline"] => summary.cmdline = kept,
            ["rteval", "SystemInfo", "Kernel", "ClockSource", "source"] => {
                summary.clocksource = kept;
            }
            ["rteval", "loads", .., "command_line"] => {
                summary.says.extend(kept.map(|text| ("load".to_owned(), text)));
            }
            [.., of @ ("core" | "system"), "statistics", name] => {
                if let Some(measurement) = summary.measurements.last_mut() {
                    let core = match *of {
                        "core" => measurement.cores.last_mut(),
                        _ => measurement.system.as_mut(),
                    };
                    if let Some(core) = core {
                        core.put(name, text)?;
                    }
                }
            }
            [.., "cyclictest" | "timerlat", "stoptrace_report", name] => {
                if let (Some(measurement), Some(text)) = (summary.measurements.last_mut(), kept) {
                    measurement.says.push((format!("stoptrace_report: {name}"), text));
                }
            }
            _ => {}
        }
        self.path.pop();
        Ok(())
    }
}

impl Core {
    /// A figure, which is in us.
    fn put(&mut self, name: &str, text: &str) -> Result<(), String> {
        let bad = || format!("'{text}' is no {name}");
        let ns = || decimal(text, 1_000).ok_or_else(bad);
        match name {
            "samples" => is_said_once(&mut self.samples, whole(text).ok_or_else(bad)?),
            "minimum" => is_said_once(&mut self.min, ns()?),
            "maximum" => is_said_once(&mut self.max, ns()?),
            "mean" => is_said_once(&mut self.mean, mean(text, 1_000).ok_or_else(bad)?),
            "standard_deviation" => is_said_once(&mut self.sd, mean(text, 1_000).ok_or_else(bad)?),
            // Of its own: rteval's median is not always one.
            _ => {
                self.says.push(format!("{name} {text}"));
                true
            }
        }
        .then_some(())
        .ok_or_else(|| format!("{name} stands there twice"))
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    for one in element.attributes().take(MAX_ATTRIBUTES) {
        let one = one.map_err(|failed| format!("an attribute cannot be read: {failed}"))?;
        if one.key.as_ref() == name {
            let value = one.normalized_value(XmlVersion::Explicit1_0);
            let value = value.map_err(|failed| format!("an attribute cannot be read: {failed}"))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

/// What every document may write by name.
fn predefined(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{buckets, figures, imported, refused, says};

    const CYCLIC: &str = include_str!("samples/rteval-cyclictest.xml");
    const TIMER: &str = include_str!("samples/rteval-timerlat.xml");

    #[test]
    fn cores_of_cyclictest() {
        let all = imported(CYCLIC);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(600_000, 1_000, 2_100.0, 31_000), (599_998, 1_000, 1_500.0, 12_000)]
        );
        assert_eq!(
            buckets(document, 0),
            [
                (1_000, 1_000, 200_000),
                (2_000, 2_000, 200_000),
                (3_000, 3_000, 199_999),
                (31_000, 31_000, 1)
            ]
        );
        assert_eq!(document.threads[1].cpu, CpuId(3));
        assert_eq!(document.threads[1].scheduling.to_string(), "SCHED_FIFO 95");
        assert_eq!(document.run.interval_ns, Nanos(100_000));
        assert_eq!(document.started_at, "2024-05-02T11:20:15");
        let host = &document.host.before;
        assert_eq!(host.kernel.as_deref(), Some("5.14.0-427.rt"));
        assert_eq!(host.clocksource.as_deref(), Some("tsc"));
        assert_eq!(
            host.kernel_command_line.as_deref(),
            Some("root=/dev/sda1 a<b quiet & isolcpus=3")
        );
        assert_eq!(says(document, "load_average"), "18.52");
        assert_eq!(says(document, "abort_report: measured_latency"), "31");
        let imported = document.imported.as_ref().unwrap();
        assert_eq!(
            (imported.version.as_deref(), imported.ran_by.as_deref()),
            (None, Some("rteval 3.8"))
        );
        assert_eq!(imported.load.as_deref(), Some("kcompile"));
        assert!(!imported.lacks(model::Unknown::Load));
        assert_eq!(document.warnings, []);
    }

    #[test]
    fn a_load_that_was_not_run_is_none() {
        let none = CYCLIC.replace("run=\"1\"", "run=\"0\"");
        assert!(imported(&none)[0].document.lacks(model::Unknown::Load));
    }

    #[test]
    fn timerlat_has_three_in_one() {
        let document = &imported(TIMER)[0].document;
        assert_eq!(document.run.probe, "timerlat-together");
        // That of the system is above its core's.
        assert_eq!(figures(document), [(3_001, 0, 2_600.0, 10_000)]);
        assert_eq!(says(document, "histogram"), "IRQ, thread and user latencies added up");
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains("system: maximum") && warnings.contains("10 us"), "{warnings}");
    }

    #[test]
    fn one_line_and_both_modules() {
        let head = TIMER.split("<timerlat").next().unwrap();
        let timerlat = &TIMER[head.len()..TIMER.find("</Measurements>").unwrap()];
        let both = CYCLIC.replace("</Measurements>", &format!("{timerlat}</Measurements>"));
        let all = imported(&both.replace('\n', " "));
        assert_eq!(all.len(), 2);
        assert_eq!(figures(&all[1].document)[0].0, 3_001);
    }

    #[test]
    fn what_is_hostile_is_refused() {
        assert_eq!(
            refused(&CYCLIC.replacen("<rteval", "<!DOCTYPE r [<!ENTITY a \"b\">]><rteval", 1)),
            "byte 39: a document type (DOCTYPE) is not read: it may name other files"
        );
        let inner = CYCLIC.replacen("<run_info", "<!DOCTYPE r [<!ENTITY a \"b\">]><run_info", 1);
        assert_eq!(
            refused(&inner),
            "byte 64: a document type (DOCTYPE) is not read: it may name other files"
        );
        assert_eq!(
            refused(&CYCLIC.replace("&lt;", "&lol;")),
            "byte 432: entities are not expanded"
        );
        let deep = format!("<rteval>{}", "<a>".repeat(100));
        assert_eq!(refused(&deep), "byte 101: there are more than 32 elements within one another");
        let long = format!("<rteval>{}", "x".repeat(9 << 20));
        assert_eq!(refused(&long), "byte 8388608: the document is above 8 MB");
    }

    #[test]
    fn what_is_damaged_is_named_with_its_place() {
        let cut = &CYCLIC[..CYCLIC.find("</histogram>").unwrap()];
        assert!(refused(cut).ends_with("the document ends within an element"), "{}", refused(cut));
        let wrong = refused(&CYCLIC.replace("<maximum unit=\"us\">31<", "<maximum unit=\"us\">x<"));
        assert!(wrong.ends_with("'x' is no maximum"), "{wrong}");
        let in_ns =
            refused(&CYCLIC.replace("<maximum unit=\"us\">31<", "<maximum unit=\"ns\">31<"));
        assert!(in_ns.ends_with("maximum is in 'ns', and not in us"), "{in_ns}");
        let maximum = "<maximum unit=\"us\">31</maximum>";
        let other = format!("{maximum}<maximum unit=\"us\">3</maximum>");
        let twice = refused(&CYCLIC.replace(maximum, &other));
        assert!(twice.ends_with("maximum stands there twice"), "{twice}");
        let wrong = refused(&CYCLIC.replace("</node>", "</nod>"));
        assert!(wrong.contains("the XML cannot be read"), "{wrong}");
        let without = "<rteval version=\"3.8\"><Measurements><cyclictest command_line=\"x\"/>\
            </Measurements></rteval>";
        assert_eq!(
            refused(without),
            "byte 36: the measurement has no figures: rteval leaves them out where the largest was \
             beyond the histogram"
        );
    }
}
