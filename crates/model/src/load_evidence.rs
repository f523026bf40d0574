// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a load was asked to do, and what it did.

use plan::CpuId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a load was asked to do and what it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadEvidence {
    /// As written on the command line.
    pub spec: String,
    /// CPU use asked for on each of its CPUs, percent of one CPU; null for a load without a level.
    pub requested: Option<f64>,
    /// CPU use reached, percent of one CPU, over all its CPUs; null if it could not be observed.
    pub reached: Option<Reached>,
    pub cpus: Vec<CpuId>,
    /// What it did, in its own units per second, such as `messages_per_s`.
    pub rate: BTreeMap<String, f64>,
    /// Processes and threads it consisted of.
    pub tasks: u64,
    /// Their nice level. None under a real-time policy, which has none, and where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// How long after the release of its tasks it was in its steady state, ns; null if it was not
    /// when measuring began.
    #[serde(default)]
    pub settled_after_ns: Option<u64>,
    /// When it began to work, of a load that does so while measuring (`start=`), CLOCK_MONOTONIC,
    /// ns; null if it was not to, or did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<u64>,
    /// When it was stopped, of a load that is while measuring (`stop=`), CLOCK_MONOTONIC, ns; null
    /// if it was not to be, or was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<u64>,
    /// Whether it ran as long as it should, which without `start` and `stop` is from before the
    /// first activation until after the last.
    pub alive: bool,
    /// Whether it was more than 5 points off the level asked for.
    #[serde(default)]
    pub off_target: bool,
    /// What it reached on each of its CPUs.
    #[serde(default)]
    pub per_cpu: Vec<LoadOnCpu>,
    /// What it reached over time: `[at, percent]`, CPU use until this time (CLOCK_MONOTONIC, ns)
    /// since the one before.
    #[serde(default)]
    pub course: Vec<(u64, f64)>,
}

/// A load this many points off its level is off target.
const MAX_OFF: f64 = 5.0;

impl LoadEvidence {
    /// CPU use, percent, where it lies farthest off the level asked for, and on which CPU; no CPU
    /// where only all together are known. None without a level or an observation.
    pub fn farthest_off(&self) -> Option<(f64, Option<CpuId>)> {
        let (asked, together) = (self.requested?, self.reached?.mean);
        let each = self.per_cpu.iter().filter_map(|on| Some((on.reached?.mean, Some(on.cpu))));
        let off = |place: &(f64, Option<CpuId>)| (place.0 - asked).abs();
        each.chain([(together, None)]).max_by(|a, b| off(a).total_cmp(&off(b)))
    }

    /// Whether it lies farther off than is allowed, on any of its CPUs: what
    /// [`LoadEvidence::off_target`] is to say.
    pub fn is_off_target(&self) -> bool {
        self.requested
            .zip(self.farthest_off())
            .is_some_and(|(asked, (reached, _))| (reached - asked).abs() > MAX_OFF)
    }
}

/// A load on one of its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOnCpu {
    pub cpu: CpuId,
    /// CPU use of the load there; null if its tasks move between CPUs.
    pub reached: Option<Reached>,
    /// How busy the CPU was, with whatever, percent, as /proc/stat says; null if it does not.
    pub machine_busy: Option<f64>,
}

/// CPU use of a load, percent of one CPU, averaged over its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    pub mean: f64,
    /// In its worst whole second.
    pub worst_second: f64,
}
