// SPDX-License-Identifier: MIT OR Apache-2.0
//! Computes from a supervisor's readings what the load reached. Pure.
//!
//! Readings are aggregated as they arrive, so that memory does not grow with the run.

use crate::report::Reading;
use model::{LoadOnCpu, Reached};
use plan::CpuId;
use std::collections::BTreeMap;

/// The measured span of one load, as far as it has been read.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    cpus: usize,
    span: Option<Span>,
    /// When the first activation is due, CLOCK_MONOTONIC, ns, while no reading after it is known.
    measured_from: Option<u64>,
}

#[derive(Clone, Debug)]
struct Span {
    first: Reading,
    /// When measuring begins, between two readings: what the load had used then, if it used as much
    /// at any time between them.
    estimated: Option<Reading>,
    /// The reading of how busy the CPUs had been: the span's first, or one before it.
    full: Reading,
    /// Where the current whole second began.
    second: Reading,
    last: Reading,
    worst_second: Option<f64>,
    /// The same of each CPU, where it is known.
    worst_per_cpu: Vec<f64>,
    latest: Option<f64>,
    /// When, and CPU time until then: one point a second at first, fewer as the span grows.
    course: Vec<(u64, u64)>,
}

/// A piece of a second that is a point of its own: in a shorter one the kernel's ticks, of up to
/// 10 ms, are more than 2 % of it.
const MIN_PIECE_NS: u64 = 500_000_000;
/// Points of a course; two are wider apart than a pixel of any chart.
const MAX_POINTS: usize = 1_024;

impl Span {
    fn point(&mut self, reading: &Reading) {
        self.course.push((reading.at_ns, reading.cpu_ns));
        if self.course.len() > MAX_POINTS {
            let mut number = 0;
            self.course.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }
}

impl Account {
    /// An empty account of a load on so many CPUs.
    pub(crate) fn new(cpus: usize) -> Self {
        Account { cpus, span: None, measured_from: None }
    }

    /// Measuring begins at this time, which no reading is taken for: it would be in the first
    /// latencies. What readings say of the time before it is forgotten as they come.
    pub(crate) fn measured_from(&mut self, at_ns: u64) {
        self.measured_from = Some(at_ns);
    }

    /// Whether measuring had not begun by the last reading: then the span begins with this one.
    fn begins_with(&mut self, reading: &Reading) -> bool {
        let Some((span, from)) = self.span.as_ref().zip(self.measured_from) else { return false };
        if span.last.at_ns >= from {
            self.measured_from = None;
            return false;
        }
        let (last, full) = (span.last.clone(), span.full.clone());
        self.begin(reading.clone());
        if reading.at_ns >= from {
            self.measured_from = None;
            if let Some(span) = &mut self.span {
                let estimated = between(&last, reading, from);
                span.course.insert(0, (estimated.at_ns, estimated.cpu_ns));
                span.estimated = Some(estimated);
            }
        }
        if let Some(span) = &mut self.span {
            span.full = full;
        }
        true
    }

    /// The span begins here; what was before is forgotten.
    pub(crate) fn begin(&mut self, reading: Reading) {
        self.span = Some(Span {
            second: reading.clone(),
            last: reading.clone(),
            worst_second: None,
            worst_per_cpu: vec![f64::INFINITY; reading.per_cpu_ns.len()],
            latest: None,
            course: vec![(reading.at_ns, reading.cpu_ns)],
            estimated: None,
            full: reading.clone(),
            first: reading,
        });
    }

    /// A whole second ends here.
    pub(crate) fn second(&mut self, reading: Reading) {
        if self.begins_with(&reading) {
            return;
        }
        let cpus = self.cpus;
        let Some(span) = &mut self.span else { return self.begin(reading) };
        if let Some(use_now) = cpu_use(&span.second, &reading, cpus) {
            span.worst_second = Some(span.worst_second.map_or(use_now, |worst| worst.min(use_now)));
            span.latest = Some(use_now);
        }
        for (index, worst) in span.worst_per_cpu.iter_mut().enumerate() {
            if let Some(use_now) =
                use_of(&span.second, &reading, |reading| reading.per_cpu_ns.get(index))
            {
                *worst = worst.min(use_now);
            }
        }
        span.point(&reading);
        span.second = reading.clone();
        span.last = reading;
    }

    /// The span ends here, within a second.
    pub(crate) fn end(&mut self, reading: Reading) {
        self.begins_with(&reading);
        match &mut self.span {
            Some(span) => {
                // Of so short a time the second in which measuring began tells more.
                let read = reading.at_ns.saturating_sub(span.first.at_ns);
                if let Some(estimated) = span.estimated.take().filter(|_| read < MIN_PIECE_NS) {
                    span.first = estimated;
                }
                // The course goes on until here. A short piece belongs to the second before it.
                let piece = reading.at_ns.saturating_sub(span.second.at_ns);
                if span.course.len() > 1 && piece < MIN_PIECE_NS {
                    span.course.pop();
                }
                span.point(&reading);
                span.last = reading;
            }
            None => self.begin(reading),
        }
    }

    /// CPU use in percent of one CPU, averaged over the load's CPUs; none if there was no time to
    /// observe. Shorter than one whole second, the span is its own worst, which is never better
    /// than the whole.
    pub(crate) fn reached(&self) -> Option<Reached> {
        let span = self.span.as_ref()?;
        let mean = cpu_use(&span.first, &span.last, self.cpus)?;
        Some(Reached {
            mean,
            worst_second: span.worst_second.map_or(mean, |worst| worst.min(mean)),
        })
    }

    /// In the last whole second, the same way.
    pub(crate) fn latest(&self) -> Option<f64> {
        self.span.as_ref()?.latest
    }

    /// What was reached on each of these CPUs, which are the load's.
    pub(crate) fn per_cpu(&self, cpus: &[CpuId]) -> Vec<LoadOnCpu> {
        let Some(span) = &self.span else { return Vec::new() };
        let on = |(index, cpu): (usize, &CpuId)| {
            let mean = use_of(&span.first, &span.last, |reading| reading.per_cpu_ns.get(index));
            let worst = span.worst_per_cpu.get(index).copied().filter(|worst| worst.is_finite());
            LoadOnCpu {
                cpu: *cpu,
                reached: mean.map(|mean| Reached {
                    mean,
                    worst_second: worst.map_or(mean, |worst| worst.min(mean)),
                }),
                // The kernel counts that in ticks, and may count one more than there was time for.
                machine_busy: use_of(&span.full, &span.last, |reading| reading.busy_ns.get(index))
                    .map(|busy| busy.min(100.0)),
            }
        };
        cpus.iter().enumerate().map(on).collect()
    }

    /// What was reached over time: CLOCK_MONOTONIC, ns, and CPU use from the point before until
    /// then.
    pub(crate) fn course(&self) -> Vec<(u64, f64)> {
        let points = self.span.as_ref().map_or(&[][..], |span| &span.course);
        let use_until = |pair: &[(u64, u64)]| {
            let (elapsed, used) =
                (pair[1].0.saturating_sub(pair[0].0), pair[1].1.saturating_sub(pair[0].1));
            (pair[1].0, 100.0 * used as f64 / elapsed.max(1) as f64 / self.cpus.max(1) as f64)
        };
        points.windows(2).map(use_until).collect()
    }

    /// What was done per second, by `..._per_s`.
    pub(crate) fn rate(&self, units: &[&str]) -> BTreeMap<String, f64> {
        let Some(span) = &self.span else { return BTreeMap::new() };
        let Some(elapsed) = elapsed_ns(&span.first, &span.last) else { return BTreeMap::new() };
        let done = span
            .first
            .work
            .iter()
            .zip(&span.last.work)
            .map(|(first, last)| last.saturating_sub(*first));
        units
            .iter()
            .zip(done)
            .map(|(unit, done)| (format!("{unit}_per_s"), done as f64 * 1e9 / elapsed as f64))
            .collect()
    }
}

/// A reading at a time between these two, as if the load had done as much at any time between them.
fn between(first: &Reading, last: &Reading, at_ns: u64) -> Reading {
    let whole = u128::from(last.at_ns.saturating_sub(first.at_ns)).max(1);
    let part = u128::from(at_ns.saturating_sub(first.at_ns));
    let of = |first: u64, last: u64| {
        let more = u128::from(last.saturating_sub(first)) * part / whole;
        first.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    };
    let of_each = |first: &[u64], last: &[u64]| -> Vec<u64> {
        first.iter().zip(last).map(|(first, last)| of(*first, *last)).collect()
    };
    Reading {
        at_ns,
        cpu_ns: of(first.cpu_ns, last.cpu_ns),
        per_cpu_ns: of_each(&first.per_cpu_ns, &last.per_cpu_ns),
        busy_ns: Vec::new(),
        work: of_each(&first.work, &last.work),
        alive: last.alive,
    }
}

fn elapsed_ns(from: &Reading, to: &Reading) -> Option<u64> {
    to.at_ns.checked_sub(from.at_ns).filter(|elapsed| *elapsed > 0)
}

fn cpu_use(from: &Reading, to: &Reading, cpus: usize) -> Option<f64> {
    Some(use_of(from, to, |reading| Some(&reading.cpu_ns))? / cpus.max(1) as f64)
}

/// CPU use of one CPU in percent, from what a reading says of it.
fn use_of<'a>(
    from: &'a Reading,
    to: &'a Reading,
    of: impl Fn(&'a Reading) -> Option<&'a u64>,
) -> Option<f64> {
    let used = of(to)?.saturating_sub(*of(from)?);
    Some(100.0 * used as f64 / elapsed_ns(from, to)? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(at_ns: u64, cpu_ns: u64, messages: u64) -> Reading {
        Reading {
            at_ns,
            cpu_ns,
            work: vec![messages, messages * 100],
            alive: 1,
            ..Reading::default()
        }
    }

    #[test]
    fn two_seconds_and_a_half() {
        let mut account = Account::new(2);
        account.begin(at(0, 77, 5));
        account.begin(at(SECOND, SECOND, 100));
        account.second(at(2 * SECOND, 3 * SECOND, 200));
        account.second(at(3 * SECOND, 4 * SECOND, 300));
        account.end(at(7 * SECOND / 2, 5 * SECOND, 350));
        assert_eq!(account.reached(), Some(Reached { mean: 80.0, worst_second: 50.0 }));
        let rate = account.rate(&["messages", "bytes"]);
        assert_eq!(
            rate,
            BTreeMap::from([("messages_per_s".into(), 100.0), ("bytes_per_s".into(), 10_000.0)])
        );
    }

    /// A load began 3.6 s before the first activation and was at rest meanwhile: of the 2 s that
    /// were measured it had 40 %, and not 16.
    #[test]
    fn what_was_before_the_first_activation_is_not_counted() {
        let tenth = SECOND / 10;
        let mut account = Account::new(1);
        account.begin(at(0, 0, 0));
        account.measured_from(36 * tenth);
        for second in 1..=3 {
            account.second(at(second * SECOND, 0, 0));
        }
        account.second(at(40 * tenth, tenth, 100));
        account.second(at(50 * tenth, 5 * tenth, 500));
        account.end(at(56 * tenth, 74 * tenth / 10, 740));
        assert_eq!(account.reached(), Some(Reached { mean: 40.0, worst_second: 40.0 }));
        assert_eq!(account.rate(&["messages"])["messages_per_s"], 400.0);
        let course = account.course();
        assert_eq!(course[0], (40 * tenth, 10.0), "of the second in which it began");
        assert_eq!(course.len(), 3);
    }

    /// No reading but the last was taken since: as much as in the whole time since the one before.
    #[test]
    fn a_short_run_has_what_was_used_around_it() {
        let tenth = SECOND / 10;
        let mut account = Account::new(1);
        let busy = |reading, ns| Reading { busy_ns: vec![ns], ..reading };
        account.begin(busy(at(0, 0, 0), 0));
        account.measured_from(15 * tenth);
        account.second(at(SECOND, 0, 0));
        account.end(busy(at(2 * SECOND, 5 * tenth, 10), 20 * tenth));
        assert_eq!(account.reached(), Some(Reached { mean: 50.0, worst_second: 50.0 }));
        assert_eq!(account.course(), [(2 * SECOND, 50.0)]);
        assert_eq!(account.per_cpu(&[CpuId(0)])[0].machine_busy, Some(100.0));
    }

    #[test]
    fn each_cpu_and_the_course() {
        let at = |at_ns, per_cpu: [u64; 2], busy: [u64; 2]| Reading {
            per_cpu_ns: per_cpu.to_vec(),
            busy_ns: busy.to_vec(),
            ..at(at_ns, per_cpu.iter().sum(), 0)
        };
        let mut account = Account::new(2);
        account.begin(at(0, [0, 0], [0, 0]));
        account.second(at(SECOND, [SECOND / 2, SECOND / 4], [SECOND, SECOND / 2]));
        account.second(at(2 * SECOND, [SECOND, SECOND], [2 * SECOND, SECOND]));
        // A tick more than there was time for.
        account.end(at(2 * SECOND, [SECOND, SECOND], [2 * SECOND + SECOND / 100, SECOND]));
        let reached = |mean, worst_second| Some(Reached { mean, worst_second });
        let expected = [
            LoadOnCpu { cpu: CpuId(4), reached: reached(50.0, 50.0), machine_busy: Some(100.0) },
            LoadOnCpu { cpu: CpuId(6), reached: reached(50.0, 25.0), machine_busy: Some(50.0) },
        ];
        assert_eq!(account.per_cpu(&[CpuId(4), CpuId(6)]), expected);
        assert_eq!(account.course(), [(SECOND, 37.5), (2 * SECOND, 62.5)]);
        assert_eq!(account.latest(), Some(62.5));
    }

    /// It ended with the last whole second, up to a second before the run.
    #[test]
    fn the_course_goes_on_to_the_end() {
        let course = |end: u64, used: u64| {
            let mut account = Account::new(1);
            account.begin(at(0, 0, 0));
            account.second(at(SECOND, SECOND / 2, 0));
            account.end(at(end, used, 0));
            account.course()
        };
        let half = SECOND / 2;
        assert_eq!(course(3 * half, SECOND), [(SECOND, 50.0), (3 * half, 100.0)]);
        // Of a tick nothing can be said.
        let tick = SECOND / 250;
        assert_eq!(course(SECOND + tick, half + tick / 2), [(SECOND + tick, 50.0)]);
        let mut short = Account::new(1);
        short.begin(at(0, 0, 0));
        short.end(at(tick, tick, 0));
        assert_eq!(short.course(), [(tick, 100.0)]);
    }

    #[test]
    fn a_long_course_has_few_points() {
        let mut account = Account::new(1);
        account.begin(at(0, 0, 0));
        (1..=5_000).for_each(|second| account.second(at(second * SECOND, second * SECOND / 2, 0)));
        let course = account.course();
        assert!((MAX_POINTS / 2 - 1..=MAX_POINTS).contains(&course.len()), "{}", course.len());
        assert!(course.iter().all(|(_, reached)| (*reached - 50.0).abs() < 1e-9));
        assert!(course.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn shorter_than_a_second_is_its_own_worst() {
        let mut account = Account::new(1);
        account.begin(at(10, 0, 0));
        account.end(at(110, 25, 1));
        assert_eq!(account.reached(), Some(Reached { mean: 25.0, worst_second: 25.0 }));
    }

    #[test]
    fn what_was_not_observed_is_not_zero() {
        let mut account = Account::new(1);
        assert_eq!((account.reached(), account.rate(&["messages"])), (None, BTreeMap::new()));
        account.begin(at(5, 5, 5));
        assert_eq!((account.reached(), account.rate(&["messages"])), (None, BTreeMap::new()));
    }

    proptest! {
        #[test]
        fn folded_is_the_same_as_all_at_once(
            steps in proptest::collection::vec(
                (1..3 * SECOND, 0..8 * SECOND, 0..1_000_000_u64),
                1..50,
            ),
            rest in (0..SECOND, 0..SECOND, 0..1_000_u64),
            cpus in 1..9_usize,
        ) {
            let mut account = Account::new(cpus);
            let mut now = at(123, 456, 789);
            let first = now.clone();
            account.begin(now.clone());
            let mut worst = f64::INFINITY;
            for (time, cpu, work) in &steps {
                now = at(now.at_ns + time, now.cpu_ns + cpu, now.work[0] + work);
                account.second(now.clone());
                worst = worst.min(100.0 * *cpu as f64 / *time as f64 / cpus as f64);
            }
            now = at(now.at_ns + rest.0, now.cpu_ns + rest.1, now.work[0] + rest.2);
            account.end(now.clone());
            let elapsed = (now.at_ns - first.at_ns) as f64;
            let mean = 100.0 * (now.cpu_ns - first.cpu_ns) as f64 / elapsed / cpus as f64;
            prop_assert_eq!(
                account.reached(),
                Some(Reached { mean, worst_second: worst.min(mean) })
            );
            let messages = (now.work[0] - first.work[0]) as f64 * 1e9 / elapsed;
            prop_assert_eq!(
                account.rate(&["messages"]),
                BTreeMap::from([("messages_per_s".to_owned(), messages)])
            );
        }

        #[test]
        fn no_reading_panics(
            readings in proptest::collection::vec((0..3_u8, any::<u64>(), any::<u64>()), 0..20),
        ) {
            let mut account = Account::new(0);
            for (kind, at_ns, cpu_ns) in readings {
                let reading = Reading { at_ns, cpu_ns, ..Reading::default() };
                match kind {
                    0 => account.begin(reading),
                    1 => account.second(reading),
                    _ => account.end(reading),
                }
            }
            prop_assert!(
                account
                    .reached()
                    .is_none_or(|reached| reached.mean >= 0.0 && reached.worst_second >= 0.0)
            );
        }
    }
}
