// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan in a few sentences: the worst and the best of its combinations, and what its first factor does.

use super::Matrix;
use super::pooled::Pooled;
use crate::format::{at_most, count, counted};
use stats::Activations;

/// Values of a factor that a sentence has room for.
const MOST_VALUES: usize = 4;

impl Matrix {
    /// Rows of which something woke, the latest first.
    pub(super) fn latest_first(&self) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.rows.len()).filter(|row| self.rows[*row].moments.max().is_some()).collect();
        // Sorted stably: of equals, the first of the plan.
        rows.sort_by_key(|row| std::cmp::Reverse(self.rows[*row].moments.max()));
        rows
    }

    /// One line: what the figures say, and how much of it is spoiled or missing.
    #[must_use]
    pub fn verdict(&self) -> String {
        let mut text = self.headline();
        let of = |n: usize| counted(n as u64, "combination");
        let spoiled = self.rows.iter().filter(|row| !row.spoiled.is_empty()).count();
        if spoiled > 0 {
            text += &format!(" Something spoils the figures of {}.", of(spoiled));
        }
        let missed = self.rows.iter().filter(|row| row.missed).count();
        if missed > 0 {
            text += &format!(" In {} a load missed its level.", of(missed));
        }
        if self.missing > 0 {
            text += &format!(" {} of the plan have no recording.", counted(self.missing as u64, "run"));
        }
        text
    }

    /// What the ns are if they are not a machine's, the worst, the best, and what became of all activations.
    pub(super) fn headline(&self) -> String {
        let latest = self.latest_first();
        let varied = self.varied();
        let of = |row: &Pooled| row.name(&varied);
        let (Some(worst), Some(best)) = (latest.first(), latest.last()) else {
            return format!("{}, and no activation woke.", counted(self.rows.len() as u64, "combination"));
        };
        let (worst, best) = (&self.rows[*worst], &self.rows[*best]);
        let max = |row: &Pooled| at_most(row.moments.max().unwrap_or(0));
        let mut text = format!("{}oke at most {} late with {}", self.before_figures(), max(worst), of(worst));
        if latest.len() > 1 {
            text += &format!(
                " (the worst of {}), {} with {} (the best)",
                counted(latest.len() as u64, "combination"),
                max(best),
                of(best)
            );
        }
        text += &format!("; {}.", on_time(&self.rows));
        text.replace(char::is_control, " ")
    }

    /// Ends in the first letter of "woke".
    fn before_figures(&self) -> &'static str {
        match (self.is_virtual, self.times.is_empty()) {
            (Some(true), _) => "In the lab's virtual time (instructions, not a board's ns): w",
            (_, false) => "In the lab, emulated: w",
            _ => "W",
        }
    }

    /// What the first factor does, if a sentence can say it: `At most, by kernel: debian:amd64 560 µs, ...`.
    pub(super) fn by_first_factor(&self) -> Option<String> {
        let factor = *self.varied().first()?;
        let mut worst: Vec<(&str, i64)> = Vec::new();
        for row in &self.rows {
            let (Some(value), Some(max)) = (row.factors[factor].as_deref(), row.moments.max()) else { continue };
            match worst.iter_mut().find(|(known, _)| *known == value) {
                Some((_, so_far)) => *so_far = max.max(*so_far),
                None => worst.push((value, max)),
            }
        }
        let told: Vec<String> = worst.iter().map(|(value, max)| format!("{value} {}", at_most(*max))).collect();
        (2..=MOST_VALUES).contains(&told.len()).then(|| format!("At most, by {}: {}", self.factors[factor], told.join(", ")))
    }
}

fn on_time(rows: &[Pooled]) -> String {
    let mut sum = Activations::default();
    rows.iter().for_each(|row| sum.merge(&row.activations));
    let mut text = format!("{} of {} on time", count(sum.on_time), counted(sum.due, "activation"));
    for (n, what) in [(sum.late, "late"), (sum.skipped, "skipped")] {
        if n > 0 {
            text += &format!(", {} {what}", count(n));
        }
    }
    let lost: u64 = rows.iter().map(|row| row.lost).sum();
    if lost > 0 {
        text += &format!(", {} lost", counted(lost, "sample"));
    }
    text
}
