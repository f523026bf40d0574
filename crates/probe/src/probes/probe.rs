// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a probe states of itself, before and after its settings are known.

use super::setting::ProbeSetting;
use crate::thread::{Launched, ThreadConfig};
use model::{CoKernel, ProbeStatement};
use plan::{Nanos, ProbeSettings, Run, Scheduling};
use std::io;
use std::sync::Arc;

/// A way to measure, as it states itself.
pub struct Probe {
    pub name: &'static str,
    /// What it measures, in one line.
    pub summary: &'static str,
    /// What it needs of a machine, in a few words.
    pub needs: &'static str,
    /// What can be set beside what every run has. A name means the same in every probe that has
    /// it.
    pub settings: &'static [ProbeSetting],
    /// A setting that says what is measured, with a value as an example of it.
    pub example: Option<(ProbeSetting, &'static str)>,
    /// Time from one row to the next, where nobody says another.
    pub default_interval: Nanos,
    /// How its threads are scheduled, where nobody says otherwise.
    pub default_scheduling: Scheduling,
    /// Parses its settings, which are valid each by itself.
    pub(super) set: fn(&ProbeSettings) -> Arc<dyn SetProbe>,
}

impl Probe {
    /// One without settings, which needs nothing and wakes each ms as most do.
    pub(super) const fn new(
        name: &'static str,
        summary: &'static str,
        set: fn(&ProbeSettings) -> Arc<dyn SetProbe>,
    ) -> Self {
        Probe {
            name,
            summary,
            needs: "nothing",
            settings: &[],
            example: None,
            default_interval: Nanos::from_millis(1),
            default_scheduling: Scheduling::DEFAULT,
            set,
        }
    }
}

/// A probe whose settings have been parsed.
pub(super) trait SetProbe: Send + Sync {
    /// What it measures in a run. Its name is filled in.
    fn statement(&self, run: &Run) -> ProbeStatement;

    /// What it measures, where its settings do not name it, and how they would.
    fn incomplete(&self) -> Option<&'static str> {
        None
    }

    /// Which setting cannot be as it is beside the others of a run.
    fn conflict(&self, _run: &Run) -> Option<SettingConflict> {
        None
    }

    /// How many threads can measure by it at most; none where any number can.
    fn max_threads(&self) -> Option<usize> {
        None
    }

    /// Settings that every run has, and that have no meaning for it, each with the reason.
    fn without_meaning(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What this machine lacks for it at this time from one row to the next and with threads that
    /// are scheduled so, in one line; none where it can measure here.
    fn lacks(&self, _interval: Nanos, _scheduling: Scheduling) -> Option<String> {
        None
    }

    /// The same as far as it is seen without opening a device that does something then.
    fn seen_to_lack(&self, interval: Nanos, scheduling: Scheduling) -> Option<String> {
        self.lacks(interval, scheduling)
    }

    /// Whether only measuring shows all that this machine lacks for it.
    fn is_tried_by_measuring(&self) -> bool {
        false
    }

    /// The co-kernel that it measures on, while that runs.
    fn co_kernel(&self) -> Option<CoKernel> {
        None
    }

    /// What it waits for from the user at this terminal, in one line; none where nothing.
    fn waits_for(&self, _: &Run) -> Option<String> {
        None
    }

    /// Makes one measuring thread.
    fn launch(&self, config: ThreadConfig) -> io::Result<Launched>;

    /// The program that it measures, by its number where that is said; none where it starts it.
    fn program(&self) -> Option<Option<u32>> {
        None
    }
}

/// A setting that is valid, and impossible beside others.
pub(super) struct SettingConflict {
    pub(super) setting: &'static str,
    /// Why it cannot be, in one line.
    pub(super) reason: String,
}

/// The conflict of a setting, for this reason.
pub(super) fn conflict(
    setting: &'static str,
    reason: impl Into<String>,
) -> Option<SettingConflict> {
    Some(SettingConflict { setting, reason: reason.into() })
}
