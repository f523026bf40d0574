// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a plan is: runs done, the time left, and the latest wake-up so far.

use plan::Nanos;
use recording::Recorded;
use std::time::Instant;

/// Characters of a label beside a figure: all in a line of a terminal.
const LONGEST_LABEL: usize = 28;

pub struct Course {
    /// Runs with a recording, also from before, of all.
    done: usize,
    all: usize,
    /// Runs to be carried out, and how many of them came to an end of some kind.
    wanted: usize,
    ended: usize,
    /// How long those measure, and those that ended, ns.
    wanted_ns: i64,
    ended_ns: i64,
    began: Instant,
    latest: Option<(i64, String)>,
}

impl Course {
    /// Begins now: so many runs are done of all; so many are to be carried out, which measure for so long together.
    pub fn new(done: usize, all: usize, wanted: usize, wanted_ns: i64) -> Self {
        Course { done, all, wanted, ended: 0, wanted_ns, ended_ns: 0, began: Instant::now(), latest: None }
    }

    /// Runs with a recording.
    pub fn done(&self) -> usize {
        self.done
    }

    /// A run is recorded.
    pub fn one_more(&mut self, expected_ns: i64, label: &str, recorded: &Recorded) {
        self.done += 1;
        let max = recorded.threads.iter().filter_map(|thread| thread.latency.map(|latency| latency.max)).max();
        if let Some(max) = max.filter(|max| self.latest.as_ref().is_none_or(|(latest, _)| max > latest)) {
            self.latest = Some((max, label.to_owned()));
        }
        self.one_failed(expected_ns);
    }

    /// A run came to an end without a recording.
    pub fn one_failed(&mut self, expected_ns: i64) {
        self.ended += 1;
        self.ended_ns += expected_ns;
    }

    /// `12 of 54 done, about 3 min left; latest so far 560 µs (...)`.
    pub fn told(&self) -> String {
        let elapsed = i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        self.told_after(elapsed)
    }

    fn told_after(&self, elapsed_ns: i64) -> String {
        let mut text = format!("{} of {} done", self.done, self.all);
        if let Some(left) = self.left_ns(elapsed_ns) {
            text += &format!(", about {} left", report::span(whole_seconds(left)));
        }
        if let Some((max, label)) = &self.latest {
            text += &format!("; latest so far {}", report::at_most(*max));
            if label.chars().count() <= LONGEST_LABEL && !label.is_empty() {
                text += &format!(" ({label})");
            }
        }
        text
    }

    /// Before any run has ended it is only known how long they measure, which in the lab says nothing.
    fn left_ns(&self, elapsed_ns: i64) -> Option<i64> {
        let left = self.wanted - self.ended.min(self.wanted);
        let (ended, left) = (i64::try_from(self.ended).ok()?, i64::try_from(left).ok()?);
        let left_ns = self.wanted_ns - self.ended_ns;
        if ended == 0 || left == 0 {
            return None;
        }
        // What each run took beyond its measuring, loads and starting and writing, the others will take too. Guests, and
        // several at once, take another time than they measure: then by their share of it.
        let beyond = (elapsed_ns - self.ended_ns) / ended;
        if beyond >= 0 {
            return Some(left_ns + beyond * left);
        }
        let share = elapsed_ns as f64 / self.ended_ns.max(1) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "some hours in ns, saturating")]
        let left = (left_ns as f64 * share) as i64;
        Some(left)
    }
}

/// At least one.
fn whole_seconds(ns: i64) -> Nanos {
    const SECOND: i64 = 1_000_000_000;
    Nanos((ns.max(1) + SECOND - 1) / SECOND * SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn the_time_left_is_what_the_others_measure_and_what_lies_between() {
        let mut course = Course::new(4, 10, 6, 60 * SECOND);
        assert_eq!(course.told_after(SECOND), "4 of 10 done");
        course.done += 1;
        course.one_failed(10 * SECOND);
        // 12 s for a run of 10 s: five of them are left.
        assert_eq!(course.told_after(12 * SECOND), "5 of 10 done, about 60 s left");
        // Two at once: half the time.
        assert_eq!(course.told_after(5 * SECOND), "5 of 10 done, about 25 s left");
        course.latest = Some((12_345, "load=cpu@50%".into()));
        assert_eq!(course.told_after(5 * SECOND), "5 of 10 done, about 25 s left; latest so far 12.4 µs (load=cpu@50%)");
        course.latest = Some((12_345, "kernel=debian:rt-amd64=6.1.0-56 load=cpu@50%".into()));
        assert!(course.told_after(5 * SECOND).ends_with("; latest so far 12.4 µs"));
    }

    #[test]
    fn nothing_is_left_at_the_end() {
        let mut course = Course::new(0, 1, 1, SECOND);
        course.one_failed(SECOND);
        assert_eq!(course.told_after(2 * SECOND), "0 of 1 done");
    }
}
