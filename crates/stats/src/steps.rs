// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run over time in a bounded number of steps of equally many rows.
//!
//! The number of rows need not be known: when the steps run out, neighbours are joined and a step
//! covers twice the rows.

/// What is kept of one step.
pub(crate) trait Step: Copy {
    /// Of a step without rows.
    const EMPTY: Self;

    fn join(self, other: Self) -> Self;
}

/// Steps in order of time; all but the last cover the same number of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps<S> {
    max: usize,
    rows_per_step: u64,
    rows_in_last: u64,
    list: Vec<S>,
}

impl<S: Step> Steps<S> {
    /// At most so many steps (an even number; an odd one is rounded up), for at least so many rows:
    /// what they would become by growing, without the growing.
    pub(crate) fn for_rows(max: usize, rows: u64) -> Self {
        let max = max.max(2).next_multiple_of(2);
        let rows_per_step =
            rows.div_ceil(max as u64).max(1).checked_next_power_of_two().unwrap_or(1);
        // A recording of a few rows of many threads takes no more memory than it needs.
        let needed = usize::try_from(rows.div_ceil(rows_per_step)).unwrap_or(max).min(max);
        Steps { max, rows_per_step, rows_in_last: rows_per_step, list: Vec::with_capacity(needed) }
    }

    /// These steps, which are whole, each of so many rows.
    pub(crate) fn from_list(rows_per_step: u64, list: Vec<S>) -> Self {
        Steps { max: list.len(), rows_per_step, rows_in_last: rows_per_step, list }
    }

    pub(crate) const fn rows_per_step(&self) -> u64 {
        self.rows_per_step
    }

    pub(crate) fn list(&self) -> &[S] {
        &self.list
    }

    /// What the step that rows are added to next has so far.
    pub(crate) fn last(&self) -> Option<&S> {
        self.list.last()
    }

    /// How many rows still fit the last step; makes a step, and room for it, when there is none.
    #[inline]
    pub(crate) fn rows_left(&mut self) -> u64 {
        if self.list.is_empty() || self.rows_in_last == self.rows_per_step {
            if self.list.len() == self.max {
                self.list = self
                    .list
                    .chunks(2)
                    .map(|pair| pair.iter().fold(S::EMPTY, |a, b| a.join(*b)))
                    .collect();
                self.rows_per_step *= 2;
            }
            self.list.push(S::EMPTY);
            self.rows_in_last = 0;
        }
        self.rows_per_step - self.rows_in_last
    }

    /// The first of these values, at least one, that still fit the last step, and the others.
    #[inline]
    pub(crate) fn split<'a, T>(&mut self, values: &'a [T]) -> (&'a [T], &'a [T]) {
        values.split_at(usize::try_from(self.rows_left()).unwrap_or(usize::MAX).min(values.len()))
    }

    /// Adds rows for which there is room.
    #[inline]
    pub(crate) fn add(&mut self, step: S, rows: u64) {
        if let Some(last) = self.list.last_mut() {
            *last = last.join(step);
            self.rows_in_last += rows;
        }
    }

    /// Adds rows that are all alike, in as many steps as they take.
    pub(crate) fn add_all(&mut self, mut rows: u64, of: impl Fn(u64) -> S) {
        while rows > 0 {
            let now = self.rows_left().min(rows);
            self.add(of(now), now);
            rows -= now;
        }
    }
}
