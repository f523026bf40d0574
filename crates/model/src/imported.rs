// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where figures come from that another program measured, and what its output does not say: which
//! places of a document then say nothing is known here alone.

use crate::{Accounted, Document, RowKind, Thread};
use plan::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stats::Statistics;

/// The output of another program that a recording was made of. What the output says of the run is
/// in its usual place; what it does not say is named in `unknown`, and what stands in that place
/// says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The format, by the name that `teiji import --format` takes.
    pub format: String,
    /// The version of the program that measured, where the output says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The program that ran the one that measured, and its version, where the output is that one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_by: Option<String>,
    /// What load there was, in the words of the output, where it says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// The file's name, without its folder.
    pub file: String,
    /// The line at which the output begins, from 1; of a file that has no lines, 1.
    pub line: u64,
    /// What values are whole multiples of, ns. The program dropped what was beyond: a value may
    /// have been larger by less than this.
    pub resolution_ns: i64,
    /// Whether the program passes over periods that went by while it was late, without a sample and
    /// without counting them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passes_over: bool,
    /// What is not said of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
    /// What else is said, in the words of the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub says: Vec<Said>,
}

/// Something that an output may leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// `run.interval_ns` and `threads[].interval_ns`.
    Interval,
    /// `run.scheduling` and `threads[].scheduling`.
    Scheduling,
    /// `started_at`.
    Start,
    /// What load there was.
    Load,
    /// The unit of the values: they were read as the unit that the program has by default.
    Unit,
    /// `threads[].latency_ns.count`: there were as many at least.
    Count,
    /// Whether values were beyond the histogram: the largest may have been any.
    Beyond,
    /// `threads[].latency_ns.min`: it was so much at least.
    Minimum,
    /// `threads[].latency_ns.mean`, which says nothing.
    Mean,
    /// Which program measured: `probe.name` and `run.probe` are the name of the output's shape.
    Program,
}

/// A line of an output that no key of `run.json` has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    pub what: String,
    pub text: String,
}

impl Imported {
    /// Whether the output leaves this out.
    pub fn lacks(&self, what: Unknown) -> bool {
        self.unknown.contains(&what)
    }
}

impl Document {
    /// Whether its threads were to wake at intervals, as far as that is known: of another program
    /// as its output says.
    pub fn has_intervals(&self) -> bool {
        let is_known = || {
            !self.lacks(Unknown::Interval)
                && self.threads.iter().all(|thread| thread.interval_ns.0 > 1)
        };
        self.probe.is_planned() || self.imported.is_some() && is_known()
    }

    /// Whether it is an output of another program which leaves this out.
    pub fn lacks(&self, what: Unknown) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.lacks(what))
    }

    /// How many latencies there are, where that is known: another program may state fewer.
    pub fn known_count(&self, count: u64) -> Option<u64> {
        (!self.lacks(Unknown::Count)).then_some(count)
    }

    /// The interval of a thread, where it has one that is known.
    pub fn known_interval(&self, thread: &Thread) -> Option<Nanos> {
        self.has_intervals().then_some(thread.interval_ns)
    }

    /// Whether it is known when each row was: another program may print neither that nor an
    /// interval.
    pub fn knows_times(&self) -> bool {
        self.imported.is_none() || self.probe.rows == RowKind::Events || self.has_intervals()
    }

    /// Whether a load was off target, where that was looked at.
    pub fn known_off_target(&self) -> Option<bool> {
        self.imported.is_none().then_some(self.load_off_target)
    }

    /// What became of the rows of a thread, as far as that is known: of a thread without samples it
    /// is not, and of activations that another program planned only the latencies are.
    pub fn accounted(&self, thread: &Thread, statistics: &Statistics) -> Option<Accounted> {
        let is_known = self.imported.is_none() || self.probe.rows == RowKind::Events;
        Accounted::new(thread, statistics).filter(|_| is_known)
    }

    /// Whether so many samples of a thread were lost, and not more of which nothing is known:
    /// another program may have lost some and printed nothing of it.
    pub fn knows_lost(&self, thread: &Thread, lost: u64) -> bool {
        lost > 0 || self.imported.is_none() && thread.detail.is_samples()
    }

    /// The whole as `run.json` has it, but null in each place that has to have something there and
    /// of which another program's output says nothing.
    ///
    /// # Errors
    /// Never, as with [`crate::document_text`].
    pub fn without_unknown(&self) -> serde_json::Result<Value> {
        const OF_INSTRUMENT: [&str; 7] = [
            "clock_read_ns",
            "clock_resolution_ns",
            "dma_latency_held",
            "memory_locked",
            "real_time",
            "ring_slots",
            "settled_in_ns",
        ];
        const OF_RUN: [&str; 7] = [
            "hold_dma_latency",
            "length",
            "loads",
            "overrun_policy",
            "settle",
            "sync",
            "warmup_ns",
        ];
        let mut shown = serde_json::to_value(self)?;
        if self.imported.is_none() {
            return Ok(shown);
        }
        let has_interval = self.has_intervals();
        let is_pinned = |thread: &Thread| thread.pinned;
        clear(&mut shown["instrument"], &OF_INSTRUMENT);
        let run = &mut shown["run"];
        clear(run, &OF_RUN);
        clear_if(!has_interval, run, &["interval_ns", "distance_ns"]);
        clear_if(self.lacks(Unknown::Scheduling), run, &["scheduling"]);
        clear_if(!self.threads.iter().all(is_pinned), run, &["cpus"]);
        clear_if(self.lacks(Unknown::Start), &mut shown, &["started_at"]);
        clear(&mut shown, &["load", "load_off_target"]);
        for (shown, thread) in
            shown["threads"].as_array_mut().into_iter().flatten().zip(&self.threads)
        {
            clear(shown, &["start_ns"]);
            clear_if(!has_interval, shown, &["interval_ns"]);
            clear_if(self.lacks(Unknown::Scheduling), shown, &["scheduling"]);
            clear_if(!thread.pinned, shown, &["cpu"]);
            for figures in ["latency_ns", "latency_with_skipped_ns"] {
                clear_if(self.lacks(Unknown::Count), &mut shown[figures], &["count"]);
                clear_if(self.lacks(Unknown::Minimum), &mut shown[figures], &["min"]);
                clear_if(self.lacks(Unknown::Mean), &mut shown[figures], &["mean"]);
            }
            let knows_lost = self.knows_lost(thread, thread.evidence.samples_lost);
            clear_if(!knows_lost, &mut shown["evidence"], &["samples_lost"]);
            for worst in shown["worst"].as_array_mut().into_iter().flatten() {
                clear_if(!self.knows_times(), worst, &["planned_ns", "since_start_ns"]);
            }
        }
        Ok(shown)
    }
}

/// Null in the place of these keys, where they are there.
fn clear(of: &mut Value, keys: &[&str]) {
    for key in keys {
        if let Some(value) = of.get_mut(key) {
            *value = Value::Null;
        }
    }
}

fn clear_if(is_unknown: bool, of: &mut Value, keys: &[&str]) {
    if is_unknown {
        clear(of, keys);
    }
}
