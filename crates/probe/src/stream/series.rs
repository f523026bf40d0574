// SPDX-License-Identifier: MIT OR Apache-2.0
//! Makes times of the numbers of a stream.
//!
//! Exact: timestamps are unwrapped and added up in 10^-9 of their unit, in 128 bits. The sum is
//! converted to whole nanoseconds, rounded down, and intervals are differences of these. So
//! intervals add up to the time between the first and the last timestamp, to less than
//! 1 ns, however many there are. Intervals and latencies that the stream gives are each rounded to
//! the nearest nanosecond.

use super::number::{Number, ONE};

/// No interval or latency is longer: 104 days. What reads as more is another unit, width or byte
/// order, and its squares would be beyond any sum.
const MAX_NS: i64 = 1 << 53;

/// What the numbers of a stream are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// When something happened. The time between two of them is judged.
    Timestamp,
    /// Time between two events.
    Interval,
    /// How late something was, or how long it took.
    Latency,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The first timestamp, or the first one after a break, from which the next interval runs.
    First,
    Event {
        /// When, ns since the first timestamp, by the stream's own time. None of latencies without
        /// a period.
        time_ns: Option<i64>,
        /// The judged time, ns.
        value_ns: i64,
        /// Periods before it that passed without a record; below 0 where it makes up for some of
        /// them, and 0 where no period is known.
        missed: i64,
    },
    /// A timestamp this far before the last one, ns: no interval follows from it. The next one
    /// does.
    Backwards(i64),
}

/// A number that cannot be what the stream is said to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

#[derive(Clone, Debug)]
pub struct Series {
    kind: Kind,
    /// 10^-9 of a unit in a nanosecond.
    per_ns: i128,
    /// Timestamps begin again at this, in 10^-9 of their unit.
    modulus: Option<i128>,
    period_ns: Option<i64>,
    /// How late the last record was, measured from the last one before a gap, while the ones after
    /// it may still make up for it.
    behind_ns: i64,
    /// The last timestamp as it came.
    last: Option<i128>,
    /// The last timestamp, or the sum of intervals, unwrapped; in 10^-9 of their unit.
    total: i128,
    time_ns: i64,
    events: i64,
}

impl Series {
    /// Of numbers with so many 10^-9 of their unit in a nanosecond: `10^9` if that is their unit,
    /// their rate in Hz of ticks. A counter of `wrap` bits begins again at `2^wrap`.
    pub fn new(kind: Kind, per_ns: u64, wrap: Option<u32>, period_ns: Option<i64>) -> Self {
        let modulus = wrap.map(|bits| (1_i128 << bits.min(64)) * ONE);
        let period_ns = period_ns.filter(|period| *period > 0);
        Series {
            kind,
            per_ns: i128::from(per_ns.max(1)),
            modulus,
            period_ns,
            behind_ns: 0,
            last: None,
            total: 0,
            time_ns: 0,
            events: 0,
        }
    }

    /// Takes the next number.
    ///
    /// # Errors
    /// When it is beyond its counter, below 0 as an interval, or beyond 104 days as an interval or
    /// latency. A timestamp that follows the one before after longer breaks the series: no
    /// interval runs to it or from it.
    pub fn take(&mut self, number: Number) -> Result<Taken, Unreadable> {
        match self.kind {
            Kind::Timestamp => self.timestamp(number.0),
            Kind::Interval => self.interval(number.0),
            Kind::Latency => self.latency(number.0),
        }
    }

    fn timestamp(&mut self, number: i128) -> Result<Taken, Unreadable> {
        if self.modulus.is_some_and(|modulus| !(0..modulus).contains(&number)) {
            return Err(Unreadable);
        }
        let Some(last) = self.last.replace(number) else {
            self.total = number;
            return Ok(Taken::First);
        };
        let step = match self.modulus {
            // Half a turn or more forwards looks like a step backwards.
            Some(modulus) => match (number - last).rem_euclid(modulus) {
                step if step >= modulus / 2 => step - modulus,
                step => step,
            },
            None => number - last,
        };
        if step < 0 {
            (self.total, self.behind_ns) = (number, 0);
            return Ok(Taken::Backwards(i64::try_from(-step / self.per_ns).unwrap_or(i64::MAX)));
        }
        let before = self.total.div_euclid(self.per_ns);
        let interval = self
            .total
            .checked_add(step)
            .map(|total| (total, i64::try_from(total.div_euclid(self.per_ns) - before)));
        let Some((total, Ok(value_ns @ ..=MAX_NS))) = interval else {
            (self.last, self.behind_ns) = (None, 0);
            return Err(Unreadable);
        };
        self.total = total;
        self.time_ns = self.time_ns.saturating_add(value_ns);
        Ok(Taken::Event { time_ns: Some(self.time_ns), value_ns, missed: self.missed(value_ns) })
    }

    fn interval(&mut self, number: i128) -> Result<Taken, Unreadable> {
        let value_ns = self.nearest_ns(number)?;
        let total = self.total.checked_add(number).ok_or(Unreadable)?;
        if number < 0 {
            return Err(Unreadable);
        }
        self.total = total;
        self.time_ns = i64::try_from(total.div_euclid(self.per_ns)).unwrap_or(i64::MAX);
        Ok(Taken::Event { time_ns: Some(self.time_ns), value_ns, missed: self.missed(value_ns) })
    }

    fn latency(&mut self, number: i128) -> Result<Taken, Unreadable> {
        let value_ns = self.nearest_ns(number)?;
        let time_ns = self.period_ns.map(|period| self.events.saturating_mul(period));
        self.events += 1;
        Ok(Taken::Event { time_ns, value_ns, missed: 0 })
    }

    fn nearest_ns(&self, number: i128) -> Result<i64, Unreadable> {
        let nearest = i64::try_from((2 * number + self.per_ns).div_euclid(2 * self.per_ns));
        nearest.ok().filter(|ns| (-MAX_NS..=MAX_NS).contains(ns)).ok_or(Unreadable)
    }

    /// Periods that passed without a record before one that came so long after the last: its
    /// interval in whole periods, rounded, less the one that it ends. A loop that catches up sends
    /// the records of these periods late, one soon after the other, and so has missed none: each
    /// that brings it closer to its period takes back what was counted. From the next interval on
    /// that is as long as a period, nothing is made up any more.
    fn missed(&mut self, interval_ns: i64) -> i64 {
        let Some(period) = self.period_ns else { return 0 };
        let periods = |behind: i64| behind.saturating_add(period / 2) / period;
        let longer = interval_ns - period;
        if longer >= -period / 10 && periods(longer) == 0 {
            self.behind_ns = 0;
        }
        let before = periods(self.behind_ns);
        self.behind_ns = self.behind_ns.saturating_add(longer).max(0);
        let missed = periods(self.behind_ns) - before;
        if periods(self.behind_ns) == 0 {
            self.behind_ns = 0;
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NS: u64 = 1_000_000_000;
    const US: u64 = 1_000_000;

    fn event(time_ns: i64, value_ns: i64, missed: i64) -> Result<Taken, Unreadable> {
        Ok(Taken::Event { time_ns: Some(time_ns), value_ns, missed })
    }

    fn taken(mut series: Series, numbers: &[i128]) -> Vec<Result<Taken, Unreadable>> {
        numbers.iter().map(|number| series.take(Number::whole(*number))).collect()
    }

    #[test]
    fn timestamps_with_and_without_a_period() {
        let numbers = [5_000, 6_000, 7_010, 9_995, 11_000];
        let series = Series::new(Kind::Timestamp, NS, None, Some(1_000));
        let expected = [
            Ok(Taken::First),
            event(1_000, 1_000, 0),
            event(2_010, 1_010, 0),
            event(4_995, 2_985, 2),
            event(6_000, 1_005, 0),
        ];
        assert_eq!(taken(series, &numbers), expected);
        let series = Series::new(Kind::Timestamp, NS, None, None);
        assert_eq!(taken(series, &numbers)[3], event(4_995, 2_985, 0));
    }

    /// Of intervals with a period of 1 ms.
    fn missed(intervals: &[i128]) -> Vec<i64> {
        taken(Series::new(Kind::Interval, NS, None, Some(1_000_000)), intervals)
            .into_iter()
            .map(|taken| match taken {
                Ok(Taken::Event { missed, .. }) => missed,
                _ => panic!("{taken:?}"),
            })
            .collect()
    }

    /// It was preempted for 6 ms, and then ran its loop for each period that had passed.
    #[test]
    fn a_loop_that_catches_up_has_missed_nothing() {
        let caught_up =
            [1_000_000, 6_116_648, 89_013, 26_079, 31_204, 28_411, 27_645, 681_000, 1_000_000];
        assert_eq!(missed(&caught_up), [0, 5, -1, -1, -1, -1, -1, 0, 0]);
        // Each of these is more than half a period.
        assert_eq!(
            missed(&[3_000_000, 600_000, 600_000, 600_000, 600_000, 600_000]).iter().sum::<i64>(),
            0
        );
        assert_eq!(missed(&[1_600_000, 400_000, 1_000_000]), [1, -1, 0]);
        // It was delayed once more before it had caught up.
        let twice = [4_000_000, 50_000, 2_000_000, 50_000, 50_000, 50_000, 50_000];
        assert_eq!(missed(&twice).iter().sum::<i64>(), 0);
    }

    #[test]
    fn what_nothing_makes_up_for_is_missed() {
        // Where it went on with the next period, a period that is 1 % short makes up for nothing.
        let mut went_on = vec![6_000_000];
        went_on.extend([990_000; 1_000]);
        assert_eq!(missed(&went_on).iter().sum::<i64>(), 5);
        // Nor do events in pairs later, or before.
        assert_eq!(
            missed(&[1_000_000, 20_000, 980_000, 3_000_000, 1_000_000, 20_000, 980_000]),
            [0, 0, 0, 2, 0, 0, 0]
        );
        // It caught up with two of five.
        assert_eq!(missed(&[6_000_000, 20_000, 20_000, 1_000_000, 20_000]), [5, -1, -1, 0, 0]);
    }

    #[test]
    fn counters_wrap_and_clocks_step() {
        for bits in [24_u32, 32, 64] {
            let top = 1_i128 << bits;
            let series = Series::new(Kind::Timestamp, NS, Some(bits), None);
            let expected = [
                Ok(Taken::First),
                event(30, 30, 0),
                Ok(Taken::Backwards(10)),
                event(35, 5, 0),
                Err(Unreadable),
            ];
            assert_eq!(taken(series, &[top - 20, 10, 0, 5, top]), expected, "{bits}");
        }
        let series = Series::new(Kind::Timestamp, NS, None, None);
        assert_eq!(
            taken(series, &[100, 110, 7, 12]),
            [Ok(Taken::First), event(10, 10, 0), Ok(Taken::Backwards(103)), event(15, 5, 0)]
        );
        // A step back across the wrap is as long forwards as nearly a whole turn.
        let series = Series::new(Kind::Timestamp, NS, Some(32), None);
        assert_eq!(taken(series, &[5, (1 << 32) - 3])[1], Ok(Taken::Backwards(8)));
    }

    /// Which of the two is wrong is not known: neither is an end of an interval.
    #[test]
    fn a_timestamp_too_far_ahead_breaks_the_series() {
        let far = i128::from(u64::MAX) - 500;
        let series = Series::new(Kind::Timestamp, NS, None, None);
        let expected = [
            Ok(Taken::First),
            event(10, 10, 0),
            Err(Unreadable),
            Ok(Taken::First),
            event(15, 5, 0),
        ];
        assert_eq!(taken(series, &[100, 110, far, far + 7, far + 12]), expected);
        let series = Series::new(Kind::Timestamp, NS, None, None);
        assert_eq!(taken(series, &[100, 110, far, 120, 125]), expected);
    }

    #[test]
    fn intervals_and_latencies() {
        let series = Series::new(Kind::Interval, US, None, Some(1_000_000));
        let expected =
            [event(1_000_000, 1_000_000, 0), event(3_000_000, 2_000_000, 1), Err(Unreadable)];
        assert_eq!(taken(series, &[1_000, 2_000, -1]), expected);
        let latency = |time_ns, value_ns| Ok(Taken::Event { time_ns, value_ns, missed: 0 });
        let series = Series::new(Kind::Latency, US, None, None);
        assert_eq!(taken(series, &[7, -2]), [latency(None, 7_000), latency(None, -2_000)]);
        let series = Series::new(Kind::Latency, US, None, Some(250));
        assert_eq!(taken(series, &[7, 8]), [latency(Some(0), 7_000), latency(Some(250), 8_000)]);
        assert_eq!(
            taken(Series::new(Kind::Latency, 1, None, None), &[i128::from(u64::MAX)]),
            [Err(Unreadable)]
        );
    }

    #[test]
    fn microseconds_are_exact_to_the_nanosecond() {
        let mut series = Series::new(Kind::Timestamp, US, None, None);
        assert_eq!(series.take(Number(1_000_001_000_000)), Ok(Taken::First));
        assert_eq!(series.take(Number(1_976_563_000_000)), event(976_562, 976_562, 0));
    }

    proptest! {
        /// A million ticks of 866 MHz drift by nothing: the time of each event is that of its tick,
        /// rounded, whatever came between.
        #[test]
        fn ticks_do_not_drift(
            first in any::<u64>(),
            steps in proptest::collection::vec(0_u64..10_000_000, 1..300),
            hz in 1_u64..10_000_000_000,
        ) {
            let mut series = Series::new(Kind::Timestamp, hz, Some(64), None);
            let (mut ticks, mut sum) = (u128::from(first), 0_i64);
            prop_assert_eq!(series.take(Number::whole(i128::from(first))), Ok(Taken::First));
            let ns = |ticks: u128| ticks * 1_000_000_000 / u128::from(hz);
            for step in steps {
                ticks += u128::from(step);
                let counter = i128::from(
                    first.wrapping_add(u64::try_from(ticks - u128::from(first)).unwrap()),
                );
                let Ok(Taken::Event { time_ns, value_ns, .. }) =
                    series.take(Number::whole(counter))
                else {
                    panic!()
                };
                sum += value_ns;
                let expected = i64::try_from(ns(ticks) - ns(u128::from(first))).unwrap();
                prop_assert_eq!((time_ns, sum), (Some(expected), expected));
            }
        }

        /// Whatever comes: no interval below 0, and time never runs backwards.
        #[test]
        fn any_numbers_at_all(
            numbers in proptest::collection::vec(any::<i64>(), 0..200),
            wrap in proptest::option::of(1_u32..=64),
            kind in 0..3,
        ) {
            let kind =
                [Kind::Timestamp, Kind::Interval, Kind::Latency][usize::try_from(kind).unwrap()];
            let mut series = Series::new(kind, 3, wrap, Some(7));
            let mut last = 0;
            for number in numbers {
                if let Ok(Taken::Event { time_ns: Some(time), value_ns, .. }) =
                    series.take(Number::whole(i128::from(number)))
                {
                    prop_assert!(time >= last && (kind == Kind::Latency || value_ns >= 0));
                    last = time;
                }
            }
        }
    }
}
