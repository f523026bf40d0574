// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the loads reached over time, to be drawn below the latencies of the same time.
//!
//! Points are joined by their mean over time, as the recording itself joins those of a long run: a
//! longer step says what was reached in all of it. The worst second of a load stands in its table.

use crate::format;
use crate::overview::Overview;
use plan::Nanos;
use serde::Serialize;

/// Loads drawn for one recording; more lines than this cannot be distinguished.
pub(crate) const MAX_DRAWN: usize = 8;
/// Points of one load; a recording holds no more.
const MAX_POINTS: usize = 1_024;
/// Fewer would be no picture of a load.
const MIN_POINTS: usize = 8;
/// Characters of a load as written that a legend has room for.
const MAX_SPEC: usize = 60;

/// The loads of one recording.
#[derive(Debug, Default, Serialize)]
pub(crate) struct LoadCourses {
    /// In the recording's order; a load that was never observed is not among them.
    pub(crate) drawn: Vec<LoadCourse>,
    /// How many more have a course.
    pub(crate) left_out: usize,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct LoadCourse {
    pub(crate) spec: String,
    /// Percent of one CPU; none for a load that takes as much as it gets.
    pub(crate) requested: Option<f64>,
    /// `[until, percent]`: seconds since the first activation, ascending and above 0, and CPU use
    /// since the point before, or since 0; percent of one CPU, averaged over the load's CPUs.
    pub(crate) points: Vec<(f64, f64)>,
}

/// Points of each load, when all loads of a report share `max`.
pub(crate) fn points_each(all: &[Overview<'_>], max: usize) -> usize {
    let drawn = |overview: &Overview<'_>| {
        overview
            .recorded
            .document
            .load
            .iter()
            .filter(|load| !load.course.is_empty())
            .count()
            .min(MAX_DRAWN)
    };
    let drawn: usize = all.iter().map(drawn).sum();
    (max / drawn.max(1)).clamp(MIN_POINTS, MAX_POINTS)
}

impl LoadCourses {
    /// The courses of a recording that lasts `length_ns`, in at most `max` points each.
    pub(crate) fn from_overview(
        overview: &Overview<'_>,
        length_ns: i64,
        max: usize,
    ) -> LoadCourses {
        let document = overview.document();
        let Some(start) = document.threads.iter().map(|thread| thread.start_ns.0).min() else {
            return LoadCourses::default();
        };
        let mut drawn: Vec<LoadCourse> = document
            .load
            .iter()
            .map(|load| {
                let points = since(start, length_ns, &load.course);
                LoadCourse {
                    spec: format::clip(&load.spec, MAX_SPEC),
                    requested: load.requested,
                    points: joined(&points, max),
                }
            })
            .filter(|course| !course.points.is_empty())
            .collect();
        let left_out = drawn.len().saturating_sub(MAX_DRAWN);
        drawn.truncate(MAX_DRAWN);
        LoadCourses { drawn, left_out }
    }
}

impl LoadCourse {
    /// The same in at most `max` points.
    pub(crate) fn reduced(&self, max: usize) -> Vec<(f64, f64)> {
        joined(&self.points, max)
    }

    /// What was reached between two times, s: the mean over as much of it as was observed.
    pub(crate) fn mean_between(&self, from: f64, to: f64) -> Option<f64> {
        let (mut sum, mut observed, mut before) = (0.0, 0.0, 0.0_f64);
        for (until, percent) in &self.points {
            let length = (until.min(to) - before.max(from)).max(0.0);
            sum += percent * length;
            observed += length;
            before = *until;
        }
        (observed > 0.0).then(|| sum / observed)
    }
}

/// Points of CLOCK_MONOTONIC, ns, as seconds since `start`, to the ms; what lies before it or
/// behind the end is cut off.
fn since(start: i64, length_ns: i64, course: &[(u64, f64)]) -> Vec<(f64, f64)> {
    let end = Nanos(length_ns).as_secs_f64();
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, percent) in course {
        let at = i64::try_from(*at).unwrap_or(i64::MAX).saturating_sub(start);
        let at = rounded(Nanos(at).as_secs_f64(), 1e3).min(end);
        if at > points.last().map_or(0.0, |(before, _)| *before) && percent.is_finite() {
            points.push((at, rounded(*percent, 10.0)));
        }
    }
    points
}

/// At most `max` points, each the mean over the time of those it is made of.
fn joined(points: &[(f64, f64)], max: usize) -> Vec<(f64, f64)> {
    let every = points.len().div_ceil(max.max(1)).max(1);
    if every == 1 {
        return points.to_vec();
    }
    let mut start = 0.0;
    let join = |part: &[(f64, f64)]| {
        let (mut sum, mut before) = (0.0, start);
        for (until, percent) in part {
            sum += percent * (until - before);
            before = *until;
        }
        let mean = sum / (before - start);
        start = before;
        (before, rounded(mean, 10.0))
    };
    points.chunks(every).map(join).collect()
}

/// A value on a grid of `1 / per_unit`: digits that no picture shows need no room in a page.
fn rounded(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    const SECOND: i64 = 1_000_000_000;

    fn course(points: &[(f64, f64)]) -> LoadCourse {
        LoadCourse { spec: "cpu".into(), requested: None, points: points.to_vec() }
    }

    #[test]
    fn times_are_those_of_the_latencies() {
        let start = 8 * SECOND;
        let at = |ns: u64, percent| (8_000_000_000 + ns, percent);
        let points = [
            (7_000_000_000, 1.0),
            at(0, 2.0),
            at(1_000_400_000, 50.04),
            at(2_000_000_000, 60.0),
            at(3_100_000_000, 70.0),
        ];
        assert_eq!(since(start, 3 * SECOND, &points), [(1.0, 50.0), (2.0, 60.0), (3.0, 70.0)]);
        // Behind the end there is nothing to draw, and a time that does not grow is no step.
        let behind = [
            at(3_000_000_000, 1.0),
            at(3_000_000_000, 2.0),
            at(4_000_000_000, 3.0),
            at(5_000_000_000, f64::NAN),
        ];
        assert_eq!(since(start, 3 * SECOND, &behind), [(3.0, 1.0)]);
    }

    #[test]
    fn the_first_thread_begins_the_time() {
        let mut recorded = Synthetic::hackbench().build();
        recorded.document.threads[0].start_ns.0 += 500_000_000;
        recorded.document.load[0].course = vec![(9_000_000_000, 40.0)];
        let courses = LoadCourses::from_overview(&Overview::new(&recorded), 10 * SECOND, 100);
        assert_eq!(courses.drawn[0].points, [(1.0, 40.0)]);
    }

    #[test]
    fn joined_points_keep_the_mean_over_time() {
        let points = [(1.0, 10.0), (4.0, 50.0), (5.0, 20.0), (6.0, 30.0), (7.0, 90.0)];
        assert_eq!(joined(&points, 5), points);
        assert_eq!(joined(&points, 3), [(4.0, 40.0), (6.0, 25.0), (7.0, 90.0)]);
        assert_eq!(joined(&points, 1), [(7.0, 42.9)]);
        assert_eq!(joined(&[], 4), []);
    }

    #[test]
    fn a_block_of_time_has_its_own_mean() {
        let course = course(&[(1.0, 10.0), (2.0, 50.0), (4.0, 20.0)]);
        assert_eq!(course.mean_between(0.5, 2.0), Some(110.0 / 3.0));
        assert_eq!(course.mean_between(3.0, 9.0), Some(20.0));
        assert_eq!(course.mean_between(4.0, 9.0), None);
    }

    #[test]
    fn many_loads_and_many_points_are_bounded_and_counted() {
        let mut recorded = Synthetic::hackbench().build();
        let load = recorded.document.load[0].clone();
        recorded.document.load = vec![load; 11];
        recorded.document.load[10].course.clear();
        recorded.document.load[9].course =
            (1..=5_000).map(|n| (8_000_000_000 + n * 2_000_000, 50.0)).collect();
        recorded.document.load.swap(0, 9);
        let all = [Overview::new(&recorded), Overview::new(&recorded)];
        let each = points_each(&all, 9_000);
        assert_eq!(each, 562);
        let courses = LoadCourses::from_overview(&all[0], 10 * SECOND, each);
        assert_eq!((courses.drawn.len(), courses.left_out), (8, 2));
        assert!(courses.drawn.iter().all(|course| course.points.len() <= each));
        assert_eq!(courses.drawn[0].points.last(), Some(&(10.0, 50.0)));
        assert_eq!(
            (points_each(&all, 10), points_each(&all[..0], 90_000)),
            (MIN_POINTS, MAX_POINTS)
        );
    }

    #[test]
    fn no_load_no_course() {
        let mut recorded = Synthetic::hackbench().build();
        assert!(
            LoadCourses::from_overview(&Overview::new(&Synthetic::idle().build()), SECOND, 9)
                .drawn
                .is_empty()
        );
        recorded.document.load[0].course.clear();
        assert!(LoadCourses::from_overview(&Overview::new(&recorded), SECOND, 9).drawn.is_empty());
        recorded.document.threads.clear();
        recorded.threads.clear();
        assert!(LoadCourses::from_overview(&Overview::new(&recorded), SECOND, 9).drawn.is_empty());
    }
}
