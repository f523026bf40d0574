// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a plan is: runs done, the time left, and the largest latency so far.

use crate::output;
use model::Document;
use plan::Nanos;
use report::Language;
use std::time::Instant;

/// Between two runs on this machine, until it is known better.
const BETWEEN_NS: i64 = 300_000_000;
/// A label beside a figure is left out rather than cut to fewer characters.
const MIN_LABEL: usize = 8;

pub struct PlanProgress {
    /// Runs with a recording, also from before, of all.
    done: usize,
    all: usize,
    /// Runs to make, and how many of them came to an end of some kind.
    planned: usize,
    ended: usize,
    /// How long those measure, and those that ended, ns.
    wanted_ns: i64,
    ended_ns: i64,
    /// Whether all of them run on this machine: then a run takes as long as it measures, and some
    /// more.
    on_this_machine: bool,
    began: Instant,
    /// When the last of them ended, ns since the beginning.
    last_end_ns: i64,
    /// The largest latency of any run, ns, its label, and what that run must not be read without.
    largest: Option<(i64, String, Option<String>)>,
    /// Runs that must not be read without something.
    with_caveats: usize,
}

impl PlanProgress {
    /// Begins now: so many runs are done of all.
    pub fn new(done: usize, all: usize) -> Self {
        PlanProgress {
            done,
            all,
            planned: 0,
            ended: 0,
            wanted_ns: 0,
            ended_ns: 0,
            on_this_machine: true,
            began: Instant::now(),
            last_end_ns: 0,
            largest: None,
            with_caveats: 0,
        }
    }

    /// A run begins that measures for this long.
    pub fn add_run(&mut self, expected_ns: i64, on_this_machine: bool) {
        self.planned += 1;
        self.wanted_ns += expected_ns;
        self.on_this_machine &= on_this_machine;
    }

    /// Runs with a recording.
    pub fn done(&self) -> usize {
        self.done
    }

    /// A run was recorded before.
    pub fn recorded_before(&mut self, label: &str, document: &Document) {
        self.done += 1;
        self.see(label, document);
    }

    /// A run is recorded.
    pub fn one_more(&mut self, expected_ns: i64, label: &str, document: &Document) {
        self.done += 1;
        self.see(label, document);
        self.one_ended(expected_ns);
    }

    fn one_ended(&mut self, expected_ns: i64) {
        self.ended += 1;
        self.ended_ns += expected_ns;
        self.last_end_ns = self.elapsed_ns();
    }

    /// A run came to an end without a recording: how long it took says nothing about the others.
    pub fn one_failed(&mut self, expected_ns: i64) {
        self.planned -= 1;
        self.wanted_ns -= expected_ns;
    }

    fn see(&mut self, label: &str, document: &Document) {
        let caveats = report::caveats(document, Language::English);
        self.with_caveats += usize::from(caveats.is_some());
        let max = document
            .threads
            .iter()
            .filter_map(|thread| thread.latency_with_skipped_ns.map(|latency| latency.max))
            .max();
        if let Some(max) =
            max.filter(|max| self.largest.as_ref().is_none_or(|(largest, ..)| max > largest))
        {
            self.largest = Some((max, label.to_owned(), caveats));
        }
    }

    fn elapsed_ns(&self) -> i64 {
        Nanos::from(self.began.elapsed()).0
    }

    /// `12 of 54 done, about 3 min left; largest so far 560 µs (...)`, in one line of a terminal.
    pub fn text(&self) -> String {
        self.text_after(self.elapsed_ns())
    }

    /// `about 3 min left`, where that is known.
    pub fn time_left(&self) -> Option<String> {
        self.time_left_after(self.elapsed_ns())
    }

    fn time_left_after(&self, elapsed_ns: i64) -> Option<String> {
        // Counting down from what was known when the last run ended.
        let left = self.left_ns()? - (elapsed_ns - self.last_end_ns);
        Some(if left > 0 {
            format!("about {} left", report::span(whole_seconds(left), Language::English))
        } else {
            "any moment now".to_owned()
        })
    }

    fn text_after(&self, elapsed_ns: i64) -> String {
        let mut text = format!("{} of {} done", self.done, self.all);
        if let Some(left) = self.time_left_after(elapsed_ns) {
            text += &format!(", {left}");
        }
        if self.with_caveats > 0 {
            text += &format!("; caveats in {}", output::counted(self.with_caveats, "run"));
        }
        if let Some((max, label, caveats)) = &self.largest {
            text += &format!("; largest so far {}", report::latency(*max));
            text += &caveats
                .as_ref()
                .map(|caveats| format!(", with {caveats}"))
                .filter(|with| with.chars().count() <= room_beside(&text))
                .unwrap_or_default();
            // What differs most stands at the end: the last factor changes fastest.
            let (letters, room) = (label.chars().count(), room_beside(&text).saturating_sub(3));
            if letters > 0 && letters <= room {
                text += &format!(" ({label})");
            } else if letters > room && room > MIN_LABEL {
                let end: String = label.chars().skip(letters + 1 - room).collect();
                text += &format!(" (…{end})");
            }
        }
        text
    }

    /// From when the last run ended. Before any has, it is only known how long they measure, which
    /// in the lab says nothing.
    fn left_ns(&self) -> Option<i64> {
        let (planned, ended) = (i64::try_from(self.planned).ok()?, i64::try_from(self.ended).ok()?);
        let (left, left_ns) = (planned - ended, self.wanted_ns - self.ended_ns);
        if left <= 0 || (ended == 0 && !self.on_this_machine) {
            return None;
        }
        if !self.on_this_machine {
            // Guests, several at once, take as many times longer than they measure as those before.
            let times = self.last_end_ns as f64 / self.ended_ns.max(1) as f64;
            #[expect(clippy::cast_possible_truncation, reason = "some days in ns, saturating")]
            return Some((left_ns as f64 * times) as i64);
        }
        // What lies between two runs is known once one is done.
        let between =
            if ended == 0 { BETWEEN_NS } else { (self.last_end_ns - self.ended_ns).max(0) / ended };
        Some(left_ns + between * left)
    }
}

/// Characters that a line has room for beside this text, which is shown one column in.
fn room_beside(text: &str) -> usize {
    output::WIDTH.saturating_sub(1 + text.chars().count())
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

    fn begun(on_this_machine: bool) -> PlanProgress {
        let mut progress = PlanProgress::new(4, 10);
        (0..6).for_each(|_| progress.add_run(10 * SECOND, on_this_machine));
        progress
    }

    /// As if a run had ended then.
    fn end(progress: &mut PlanProgress, at_ns: i64) {
        progress.done += 1;
        progress.one_ended(10 * SECOND);
        progress.last_end_ns = at_ns;
    }

    #[test]
    fn on_this_machine_runs_take_as_long_as_they_measure_and_some_more() {
        let mut progress = begun(true);
        assert_eq!(progress.text_after(0), "4 of 10 done, about 62 s left");
        // 12 s for a run of 10 s: five of them are left, and time passes.
        end(&mut progress, 12 * SECOND);
        assert_eq!(progress.text_after(12 * SECOND), "5 of 10 done, about 60 s left");
        assert_eq!(progress.text_after(20 * SECOND), "5 of 10 done, about 52 s left");
        assert_eq!(progress.text_after(72 * SECOND), "5 of 10 done, any moment now");
        (0..5).for_each(|_| end(&mut progress, 72 * SECOND));
        assert_eq!(progress.text_after(80 * SECOND), "10 of 10 done");
    }

    #[test]
    fn guests_take_as_many_times_longer_as_those_before() {
        let mut progress = begun(false);
        assert_eq!(progress.text_after(5 * SECOND), "4 of 10 done");
        // Two at once, in 8 s.
        end(&mut progress, 8 * SECOND);
        end(&mut progress, 8 * SECOND);
        assert_eq!(progress.text_after(8 * SECOND), "6 of 10 done, about 16 s left");
        assert_eq!(progress.text_after(10 * SECOND), "6 of 10 done, about 14 s left");
    }

    #[test]
    fn what_failed_tells_nothing_of_the_others() {
        let mut progress = begun(false);
        progress.one_failed(10 * SECOND);
        assert_eq!(progress.text_after(SECOND), "4 of 10 done");
        end(&mut progress, 8 * SECOND);
        assert_eq!(
            progress.text_after(8 * SECOND),
            "5 of 10 done, about 32 s left",
            "four of five are left"
        );
    }

    #[test]
    fn the_largest_is_told_with_the_end_of_its_label() {
        let mut progress = PlanProgress::new(4, 10);
        progress.largest = Some((12_345, "load=cpu@50%".into(), None));
        assert_eq!(progress.text_after(0), "4 of 10 done; largest so far 12.3 µs (load=cpu@50%)");
        progress.largest =
            Some((12_345, "kernel=debian:rt-amd64=6.1.0-56 load=cpu@50%".into(), None));
        assert_eq!(
            progress.text_after(0),
            "4 of 10 done; largest so far 12.3 µs (…l=debian:rt-amd64=6.1.0-56 load=cpu@50%)"
        );
    }

    #[test]
    fn caveats_stand_beside_the_largest() {
        let mut progress = PlanProgress::new(4, 10);
        progress.with_caveats = 2;
        progress.largest = Some((148_000_000, "load=none".into(), Some("steal 26.3 %".into())));
        let text = "4 of 10 done; caveats in 2 runs; largest so far 148 ms, with steal 26.3 %";
        assert_eq!(progress.text_after(0), text);
    }

    #[test]
    fn a_line_has_room_for_all_that_is_told() {
        let mut progress = begun(true);
        (progress.done, progress.all, progress.with_caveats) = (100, 1_000, 99);
        let label = "probe=spawn load=mem-alloc@100%".to_owned();
        let caveats = "load off target, other work 193.9 % of one CPU".to_owned();
        progress.largest = Some((287_000, label, Some(caveats)));
        let text = progress.text_after(0);
        assert!(text.chars().count() < output::WIDTH, "{text}");
        assert!(text.ends_with("largest so far 287 µs"), "{text}");
    }
}
