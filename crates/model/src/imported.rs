// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where figures come from that another program measured, and what its output does not say.

use serde::{Deserialize, Serialize};

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
    /// `run.loads`, which are none.
    Load,
    /// The unit of the values: they were read as the unit that the program has by default.
    Unit,
    /// `threads[].latency_ns.count`: there were as many at least.
    Count,
    /// Whether values were beyond the histogram: the largest may have been any.
    Beyond,
    /// `threads[].latency_ns.min`: it was so much at least.
    Minimum,
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
