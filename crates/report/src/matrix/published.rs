// SPDX-License-Identifier: MIT OR Apache-2.0
//! Published figures for comparison with a plan's: which of them were measured under the settings
//! of a combination.

use crate::language::tr;
use crate::overview::Overview;
use model::{Document, Thread};
use plan::{LoadSpec, Policy};
use serde::Deserialize;
use std::sync::Arc;

const ALONG: &str = include_str!("../../../../plans/published.csv");

/// Columns that a table must have; `note` it may have.
const COLUMNS: [&str; 15] = [
    "source",
    "year",
    "hardware",
    "kernel",
    "patch",
    "policy",
    "load",
    "load_pct",
    "period_us",
    "samples",
    "min_us",
    "avg_us",
    "max_us",
    "sd_us",
    "overruns",
];

/// A table of published figures that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{name}, line {line}: {what}")]
pub struct PublishedError {
    name: String,
    line: u64,
    what: String,
}

/// Figures that others have published.
#[derive(Clone, Debug, Default)]
pub struct Published(Vec<Arc<PublishedRun>>);

/// What one of them has measured. Times in ns; none: unknown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedRun {
    /// Which of its table, from 0.
    pub(crate) place: usize,
    pub(crate) source: String,
    pub(crate) year: Option<u16>,
    pub(crate) hardware: String,
    pub(crate) kernel: String,
    pub(crate) samples: Option<u64>,
    pub(crate) min: Option<PublishedTime>,
    pub(crate) mean: Option<PublishedTime>,
    pub(crate) sd: Option<PublishedTime>,
    pub(crate) max: Option<PublishedTime>,
    pub(crate) overruns: Option<u64>,
    pub(crate) note: String,
    /// `fifo 49`; none: unknown.
    scheduling: Option<String>,
    /// Which of several it was.
    thread_number: Option<u32>,
    key: MatchKey,
}

/// A figure that others have published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PublishedTime {
    pub(crate) ns: i64,
    /// As it was published, with the digits it has, µs.
    pub(crate) us: String,
}

impl PublishedRun {
    /// `fifo 49`, and which thread of several it was; an unknown policy is named as such.
    pub(crate) fn thread(&self) -> String {
        let thread =
            self.thread_number.map_or_else(String::new, |thread| tr!(thread_after, thread));
        self.scheduling.clone().unwrap_or_else(|| tr!(policy_unknown)) + &thread
    }
}

/// What two runs must have in common for their figures to be laid beside one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatchKey {
    /// `none` or `PREEMPT_RT`; those who measured a co-kernel give its name, which no recording of
    /// ours has.
    patch: String,
    interval_ns: i64,
    /// None: unknown.
    policy: Option<Policy>,
    /// Names and levels in percent, sorted; a load without a level takes what it gets, which is
    /// 100.
    loads: Vec<(String, u8)>,
}

/// A line as it is written: µs, and empty for what is unknown.
#[derive(Deserialize)]
struct Line {
    source: String,
    year: Option<u16>,
    hardware: String,
    kernel: String,
    patch: String,
    policy: Option<String>,
    #[serde(default)]
    priority: Option<u8>,
    #[serde(default)]
    thread: Option<u32>,
    load: String,
    load_pct: Option<u8>,
    period_us: f64,
    samples: Option<u64>,
    min_us: Option<String>,
    avg_us: Option<String>,
    max_us: Option<String>,
    sd_us: Option<String>,
    overruns: Option<u64>,
    #[serde(default)]
    note: String,
}

/// Each is compared with each row of a table.
const MAX_LINES: usize = 10_000;

impl Published {
    /// The figures of the documents that the plans of `plans/` come from.
    ///
    /// # Errors
    ///
    /// None that a release would have: the table is read by a test.
    pub fn along() -> Result<Published, PublishedError> {
        Published::read("plans/published.csv", ALONG.as_bytes())
    }

    /// Comma-separated values with a heading, in any order: `source`, `year`, `hardware`, `kernel`,
    /// `patch` (`none`, `PREEMPT_RT`), `policy`, `load` (names, with `+` between several),
    /// `load_pct`, `period_us`, `samples`, `min_us`, `avg_us`, `max_us`, `sd_us`, `overruns`,
    /// `note`. What is unknown is empty.
    ///
    /// # Errors
    ///
    /// The name and the first line that cannot be read.
    pub fn read(name: &str, text: &[u8]) -> Result<Published, PublishedError> {
        let wrong = |line: u64, what: String| PublishedError { name: name.to_owned(), line, what };
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
        let head = reader.headers().map_err(|error| wrong(1, reason(&error)))?;
        if let Some(missing) =
            COLUMNS.iter().find(|column| head.iter().all(|known| known != **column))
        {
            return Err(wrong(
                1,
                format!("there is no column '{missing}'; those needed are {}", COLUMNS.join(", ")),
            ));
        }
        let mut runs = Vec::new();
        for (place, line) in reader.deserialize::<Line>().enumerate() {
            // Where a quoted cell has several lines, the library's count is the better one.
            let at = place as u64 + 2;
            if place == MAX_LINES {
                return Err(wrong(at, format!("more than {MAX_LINES} lines")));
            }
            let line = line.map_err(|error| {
                wrong(error.position().map_or(at, csv::Position::line), reason(&error))
            })?;
            runs.push(Arc::new(line.read(place).map_err(|what| wrong(at, what))?));
        }
        Ok(Published(runs))
    }

    /// All that were measured under the same circumstances, in the order of the table.
    pub(crate) fn beside(&self, key: &MatchKey) -> Vec<Arc<PublishedRun>> {
        self.0.iter().filter(|run| run.key.fits(key)).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// The library's sentence without the position, which stands in front of ours.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => err.to_string(),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells below a heading of {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

impl Line {
    fn read(self, place: usize) -> Result<PublishedRun, String> {
        let asked = self.policy.filter(|policy| !policy.is_empty());
        let policy = asked
            .as_ref()
            .map(|policy| policy.parse().map_err(|error: plan::PolicyError| error.to_string()))
            .transpose()?;
        if self.load.is_empty() || self.patch.is_empty() {
            return Err("'load' and 'patch' are not empty: without one, write none".to_owned());
        }
        let patch = if self.patch.eq_ignore_ascii_case("PREEMPT_RT") {
            "PREEMPT_RT".to_owned()
        } else {
            self.patch
        };
        let level = self.load_pct.unwrap_or(100);
        let mut loads: Vec<(String, u8)> = self
            .load
            .split('+')
            .map(str::trim)
            .filter(|name| *name != "none")
            .map(|name| (name.to_owned(), level))
            .collect();
        loads.sort();
        let priority = self
            .priority
            .filter(|priority| *priority > 0)
            .map_or_else(String::new, |priority| format!(" {priority}"));
        let interval_ns = nanoseconds("period_us", self.period_us)?;
        Ok(PublishedRun {
            place,
            source: self.source,
            year: self.year,
            hardware: self.hardware,
            kernel: self.kernel,
            samples: self.samples,
            min: written("min_us", self.min_us)?,
            mean: written("avg_us", self.avg_us)?,
            sd: written("sd_us", self.sd_us)?,
            max: written("max_us", self.max_us)?,
            overruns: self.overruns,
            note: self.note,
            scheduling: asked.map(|policy| format!("{policy}{priority}")),
            thread_number: self.thread,
            key: MatchKey { patch, interval_ns, policy, loads },
        })
    }
}

/// A figure; an empty cell is none.
fn written(column: &str, text: Option<String>) -> Result<Option<PublishedTime>, String> {
    let Some(us) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let time =
        us.parse().map_err(|_| format!("invalid {column} '{us}': expected a number of µs"))?;
    Ok(Some(PublishedTime { ns: nanoseconds(column, time)?, us }))
}

/// µs of a table as ns. An hour is more than anyone has published.
fn nanoseconds(column: &str, us: f64) -> Result<i64, String> {
    if !(0.0..=3.6e9).contains(&us) {
        return Err(format!("invalid {column} {us}: must be from 0 to an hour"));
    }
    Ok(crate::format::rounded(us * 1e3))
}

/// Kernels with a co-kernel carry its name in theirs, or say in their version that their interrupts
/// go to it first. They are no vanilla ones, whose figures were published, also where the Linux in
/// them is measured.
const CO_KERNELS: [&str; 7] =
    ["xenomai", "cobalt", "ipipe", "dovetail", "evl", "irq_pipeline", "irqpipe"];

impl MatchKey {
    /// That of a recording; none where it could match by accident only: preemption that is not
    /// known, a co-kernel, loads with options, threads with intervals of their own, each of
    /// which has a key of its own.
    pub(crate) fn from_overview(overview: &Overview<'_>) -> Option<MatchKey> {
        overview.interval_ns()?;
        let document = overview.document();
        MatchKey::from_thread(document, document.threads.first()?)
    }

    /// That of one thread of a recording. What was published are wake-up latencies.
    pub(crate) fn from_thread(document: &Document, thread: &Thread) -> Option<MatchKey> {
        if document.probe.name != plan::DEFAULT_PROBE {
            return None;
        }
        let before = &document.host.before;
        let preemption = before.preemption.as_deref()?;
        let kernel = [&before.kernel, &before.kernel_version]
            .map(|text| text.as_deref().unwrap_or_default().to_lowercase());
        if CO_KERNELS.iter().any(|name| kernel.iter().any(|text| text.contains(name))) {
            return None;
        }
        let mut loads: Vec<(String, u8)> =
            document.run.loads.iter().map(load).collect::<Option<_>>()?;
        loads.sort();
        Some(MatchKey {
            patch: if preemption.contains("PREEMPT_RT") { "PREEMPT_RT" } else { "none" }.to_owned(),
            interval_ns: thread.interval_ns.0,
            policy: Some(thread.scheduling.policy),
            loads,
        })
    }

    fn fits(&self, ours: &MatchKey) -> bool {
        let policy = self.policy.is_none() || ours.policy.is_none() || self.policy == ours.policy;
        policy
            && self.patch == ours.patch
            && self.interval_ns == ours.interval_ns
            && self.loads == ours.loads
    }
}

/// A load's name and level; none for a level that is no percentage, and for options: another CPU is
/// another load. On all CPUs it is what others have measured.
fn load(spec: &LoadSpec) -> Option<(String, u8)> {
    let level = spec.level().map_or(Some(100), |level| level.strip_suffix('%')?.parse().ok())?;
    let as_published =
        spec.options().all(|option| option == ("cpus", "all")) && spec.command().is_none();
    as_published.then(|| (spec.name().to_owned(), level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    const HEAD: &str = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,\
                        min_us,avg_us,max_us,sd_us,overruns,note\n";

    fn read(lines: &str) -> Result<Published, String> {
        Published::read("a.csv", format!("{HEAD}{lines}").as_bytes())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn those_that_come_along_can_be_read() {
        let published = Published::along().unwrap();
        assert_eq!(published.0.len(), 75);
        let toshiba: Vec<_> =
            published.0.iter().filter(|run| run.source.contains("Toshiba")).collect();
        assert_eq!(
            (
                toshiba.len(),
                [&toshiba[0].mean, &toshiba[0].max].map(|one| one.as_ref().unwrap().ns)
            ),
            (54, [7_036, 402_131])
        );
        assert_eq!(toshiba[0].overruns, Some(4));
        assert!(
            published.0.iter().all(|run| run.source.len() > 20 && run.max.is_some()),
            "each has its source"
        );
    }

    #[test]
    fn matched_by_load_level_period_patch_and_policy() {
        let published = read(
            "A,2010,board,2.6,none,,cpu,50,1000,100,,7.036,402.1,3.1,4,\nB,2010,board,2.6,\
             PREEMPT_RT,,cpu,50,1000,100,,1,2,,,\nC,2010,board,2.6,none,,cpu,100,1000,100,,1,2,,,\n\
         D,2010,board,2.6,none,,cpu,50,500,100,,1,2,,,\nE,,board,2.6,none,other,cpu,50,1000,,\
             ,1,2,,,\nF,2010,board,2.6,none,fifo,cpu,50,1000,100,5,,78,,,x\nG,2010,board,2.6,none,\
             fifo,none,0,1000,100,5,,78,,,x\nH,2010,board,2.6,none,fifo,io-sync+cpu,100,1000,100,\
             5,,78,,,x\n",
        );
        let published = published.unwrap();
        let sources = |recorded: &model::Recorded| -> String {
            let key = MatchKey::from_overview(&Overview::new(recorded));
            key.map_or_else(String::new, |key| {
                published.beside(&key).iter().map(|run| run.source.as_str()).collect()
            })
        };
        assert_eq!(
            sources(&Synthetic::idle().load("cpu@50%,cpus=0").build()),
            "",
            "another CPU is another load"
        );
        let mut recorded = Synthetic::idle().load("cpu@50%").build();
        recorded.document.host.before.preemption = Some("PREEMPT_DYNAMIC (voluntary)".into());
        assert_eq!(sources(&recorded), "AF");
        // As kernels for Cobalt and EVL say it, whose names say nothing.
        for pipelined in [
            "Linux version 6.6.0 #2 SMP PREEMPT IRQ_PIPELINE Wed",
            "Linux version 5.13.0 #3 SMP PREEMPT IRQPIPE Wed",
        ] {
            let before = recorded.document.host.before.kernel_version.replace(pipelined.into());
            assert_eq!(sources(&recorded), "", "not vanilla: {pipelined}");
            recorded.document.host.before.kernel_version = before;
        }
        recorded.document.host.before.preemption = Some("PREEMPT_RT".into());
        assert_eq!(sources(&recorded), "B");
        recorded.document.host.before.preemption = None;
        assert_eq!(sources(&recorded), "", "nobody knows the kernel");
        recorded.document.host.before.preemption = Some("PREEMPT_DYNAMIC".into());
        recorded
            .document
            .threads
            .iter_mut()
            .for_each(|thread| thread.interval_ns = plan::Nanos(500_000));
        assert_eq!(sources(&recorded), "D");
        assert_eq!(sources(&Synthetic::idle().load("cpu").build()), "C");
        assert_eq!(sources(&Synthetic::idle().build()), "G");
        assert_eq!(sources(&Synthetic::idle().load("cpu").load("io-sync").build()), "H");
        assert_eq!(
            sources(&Synthetic::idle().load("cpu,cpus=all").load("io-sync,cpus=all").build()),
            "H",
            "all CPUs are named"
        );
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        for (lines, output) in [
            (
                "A,2010,b,k,none,,cpu,50,1000,100,,7,4,3,4\n",
                "a.csv, line 2: 15 cells below a heading of 16",
            ),
            (
                "A,2010,b,k,none,,cpu,50,1000,100,,7,4,3,4,\nA,2010,b,k,none,,cpu,50,soon,100,,7,\
                 4,3,4,\n",
                "a.csv, line 3: ",
            ),
            (
                "A,2010,b,k,none,,cpu,50,1000,100,,7,-4,3,4,\n",
                "a.csv, line 2: invalid max_us -4: must be from 0 to an hour",
            ),
            ("A,2010,b,k,none,,cpu,50,NaN,100,,7,4,3,4,\n", "a.csv, line 2: invalid period_us NaN"),
            ("A,2010,b,k,none,best,cpu,50,1000,100,,7,4,3,4,\n", "a.csv, line 2: "),
            ("A,2010,b,k,none,,cpu,500,1000,100,,7,4,3,4,\n", "a.csv, line 2: "),
        ] {
            let error = read(lines).unwrap_err();
            assert!(error.starts_with(output), "{lines}said: {error}\nnot:  {output}");
        }
        let error = Published::read("b.csv", b"source,year\nA,2010\n").unwrap_err().to_string();
        assert!(
            error.starts_with(
                "b.csv, line 1: there is no column 'hardware'; those needed are source, year,"
            ),
            "{error}"
        );
        assert!(Published::read("b.csv", b"\xff\xfe\n\xff\n").is_err());
    }
}
