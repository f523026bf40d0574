// SPDX-License-Identifier: MIT OR Apache-2.0
//! Latency over time in a bounded number of steps, without losing one extreme.
//!
//! The number of rows need not be known: when the steps run out, neighbours are joined and a step covers twice the rows.

/// What happened during one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Smallest latency, ns; `i64::MAX` when none woke.
    pub min: i64,
    /// Largest latency, ns; `i64::MIN` when none woke.
    pub max: i64,
    /// Activations without a sample.
    pub missing: u64,
    /// Largest jitter, ns: by how much the time between two successive wake-ups differed from the interval. Below zero where no
    /// two activations in succession woke. It belongs to the step of the later one.
    jitter: i64,
}

impl Extent {
    fn of(values: &[i32]) -> Extent {
        // Two loops, because the compiler makes vector code of each alone and not of both together.
        let min = values.iter().fold(i32::MAX, |min, v| min.min(*v));
        let max = values.iter().fold(i32::MIN, |max, v| max.max(*v));
        Extent { min: i64::from(min), max: i64::from(max), ..Extent::EMPTY }
    }

    const EMPTY: Extent = Extent { min: i64::MAX, max: i64::MIN, missing: 0, jitter: -1 };

    /// Smallest and largest latency, ns, if any activation woke.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        (self.min <= self.max).then_some((self.min, self.max))
    }

    /// The largest jitter, ns: how much the time between two successive wake-ups differed from the interval. None where there
    /// were no two.
    #[must_use]
    pub fn jitter(&self) -> Option<i64> {
        (self.jitter >= 0).then_some(self.jitter)
    }

    fn join(self, other: Extent) -> Extent {
        Extent {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            missing: self.missing + other.missing,
            jitter: self.jitter.max(other.jitter),
        }
    }
}

/// Rows of a step from which on they are looked at together.
const SHORT: u64 = 16;

/// Extremes per step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    most_steps: usize,
    rows_per_step: u64,
    rows_in_last: u64,
    /// The latency of the activation before, ns, if it woke.
    before: Option<i64>,
    steps: Vec<Extent>,
}

impl Envelope {
    /// An envelope of at most `most_steps` steps (an even number; an odd one is rounded up).
    #[must_use]
    pub fn new(most_steps: usize) -> Self {
        let most_steps = most_steps.max(2).next_multiple_of(2);
        Envelope { most_steps, rows_per_step: 1, rows_in_last: 1, before: None, steps: Vec::with_capacity(most_steps) }
    }

    /// The same, for at least so many rows: what it would become by growing, without the growing.
    pub(crate) fn for_rows(most_steps: usize, rows: u64) -> Self {
        let mut envelope = Envelope::new(most_steps);
        let rows_per_step = rows.div_ceil(envelope.most_steps as u64).max(1).checked_next_power_of_two();
        envelope.rows_per_step = rows_per_step.unwrap_or(1);
        envelope.rows_in_last = envelope.rows_per_step;
        envelope
    }

    /// Rows that each step but the last covers.
    #[must_use]
    pub const fn rows_per_step(&self) -> u64 {
        self.rows_per_step
    }

    /// The steps, in order of time.
    #[must_use]
    pub fn steps(&self) -> &[Extent] {
        &self.steps
    }

    /// Adds rows that woke, at least one, latencies in ns; returns the extremes of them all.
    pub fn woken(&mut self, values: &[i32]) -> Extent {
        if self.rows_per_step < SHORT {
            return self.woken_one_by_one(values);
        }
        let (mut left, mut all) = (values, Extent::EMPTY);
        while !left.is_empty() {
            let room = usize::try_from(self.room()).unwrap_or(usize::MAX).min(left.len());
            let (now, later) = left.split_at(room);
            let mut extent = Extent::of(now);
            extent.jitter = self.jitter(now, extent.max - extent.min);
            self.add(extent, now.len() as u64);
            all = all.join(extent);
            left = later;
        }
        all
    }

    /// The same where steps are so short that looking at several rows together costs more than it spares.
    fn woken_one_by_one(&mut self, values: &[i32]) -> Extent {
        let (mut min, mut max) = (i32::MAX, i32::MIN);
        for value in values {
            (min, max) = (min.min(*value), max.max(*value));
            self.room();
            let now = i64::from(*value);
            let jitter = self.before.replace(now).map_or(-1, |before| now.saturating_sub(before).saturating_abs());
            if let Some(last) = self.steps.last_mut() {
                last.min = last.min.min(now);
                last.max = last.max.max(now);
                last.jitter = last.jitter.max(jitter);
                self.rows_in_last += 1;
            }
        }
        Extent { min: i64::from(min), max: i64::from(max), ..Extent::EMPTY }
    }

    /// Adds one row that woke, latency in ns.
    pub fn woken_one(&mut self, value: i64) {
        self.room();
        let jitter = self.before.replace(value).map_or(-1, |before| value.saturating_sub(before).saturating_abs());
        self.add(Extent { min: value, max: value, missing: 0, jitter }, 1);
    }

    /// The largest jitter of rows that woke and belong to one step, if it is larger than what that step has; ns. Within them it is
    /// not larger than the distance of their extremes, `range`, which spares most rows the search.
    #[inline]
    fn jitter(&mut self, values: &[i32], range: i64) -> i64 {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return -1 };
        let from_before = self.before.map_or(-1, |before| i64::from(*first).saturating_sub(before).saturating_abs());
        self.before = Some(i64::from(*last));
        if values.len() == 1 || range <= from_before || self.steps.last().is_some_and(|step| range <= step.jitter) {
            return from_before;
        }
        let each = values.iter().zip(values.get(1..).unwrap_or_default());
        let within = each.fold(0, |most, (before, now)| now.abs_diff(*before).max(most));
        from_before.max(i64::from(within))
    }

    /// Adds rows without a sample.
    pub fn missing(&mut self, mut rows: u64) {
        if rows > 0 {
            self.before = None;
        }
        while rows > 0 {
            let now = self.room().min(rows);
            self.add(Extent { missing: now, ..Extent::EMPTY }, now);
            rows -= now;
        }
    }

    /// How many rows still fit the last step; makes a step, and room for it, when there is none.
    #[inline]
    fn room(&mut self) -> u64 {
        if self.steps.is_empty() || self.rows_in_last == self.rows_per_step {
            if self.steps.len() == self.most_steps {
                self.steps = self.steps.chunks(2).map(|pair| pair.iter().fold(Extent::EMPTY, |a, b| a.join(*b))).collect();
                self.rows_per_step *= 2;
            }
            self.steps.push(Extent::EMPTY);
            self.rows_in_last = 0;
        }
        self.rows_per_step - self.rows_in_last
    }

    fn add(&mut self, extent: Extent, rows: u64) {
        if let Some(last) = self.steps.last_mut() {
            *last = last.join(extent);
            self.rows_in_last += rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_step_has_its_extremes(values in proptest::collection::vec(proptest::option::weighted(0.9, prop_oneof![0..50_000_i32, any::<i32>()]), 1..500),
                                       most in 2_usize..40, piece in 1_usize..20, known in 0.0..1.0_f64) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let mut envelope = Envelope::for_rows(most, (values.len() as f64 * known) as u64);
            for part in values.chunks(piece) {
                for run in part.chunk_by(|a, b| a.is_some() == b.is_some()) {
                    if run[0].is_some() {
                        envelope.woken(&run.iter().flatten().copied().collect::<Vec<_>>());
                    } else {
                        envelope.missing(run.len() as u64);
                    }
                }
            }
            prop_assert!(envelope.steps().len() <= most.next_multiple_of(2));
            let rows = usize::try_from(envelope.rows_per_step()).unwrap();
            let before: Vec<Option<i32>> = std::iter::once(None).chain(values.iter().copied()).collect();
            let expected: Vec<Extent> = values.chunks(rows).zip(before.chunks(rows)).map(|(rows, before)| Extent {
                min: rows.iter().flatten().min().map_or(i64::MAX, |v| i64::from(*v)),
                max: rows.iter().flatten().max().map_or(i64::MIN, |v| i64::from(*v)),
                missing: rows.iter().filter(|v| v.is_none()).count() as u64,
                jitter: rows.iter().zip(before).filter_map(|(now, before)| Some(i64::from(now.as_ref()?.abs_diff((*before)?)))).max().unwrap_or(-1),
            }).collect();
            prop_assert_eq!(envelope.steps(), expected);
            let mut grown = Envelope::new(most);
            grown.missing(values.len() as u64);
            prop_assert_eq!(grown.rows_per_step(), envelope.rows_per_step(), "as if it had grown");
        }
    }
}
