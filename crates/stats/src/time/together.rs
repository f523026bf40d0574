// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether several CPUs are late at the same moments.

use crate::chance::poisson_at_least;

/// Late wake-ups of two threads that fall together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Together {
    /// Late wake-ups of the thread that has fewer, of those that were compared.
    pub of: usize,
    /// How many of them fell together with one of the other's.
    pub together: usize,
    /// Expected number if the threads were independent.
    pub expected: f64,
    /// p-value: the probability of so many if the threads were independent.
    pub chance: f64,
}

/// Compares when two threads woke late, in ns of one clock, ascending; times at most `apart` from
/// one another are the same moment. Both are taken from the same `span` of time, ns. None without
/// any.
#[expect(clippy::cast_precision_loss, reason = "thousands")]
pub fn together(one: &[i64], other: &[i64], apart: i64, span: i64) -> Option<Together> {
    let (fewer, more) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if fewer.is_empty() || span <= 0 {
        return None;
    }
    let near = |time: &&i64| {
        let from = more.partition_point(|known| *known < **time - apart);
        more.get(from).is_some_and(|known| *known <= **time + apart)
    };
    let together = fewer.iter().filter(near).count();
    // The share of the span that lies near one of the other's, counting what overlaps once.
    let mut covered = 0_i64;
    let mut until = i64::MIN;
    for time in more {
        let (from, to) = ((time - apart).max(until), time + apart + 1);
        covered += (to - from).max(0);
        until = until.max(to);
    }
    let share = (covered as f64 / span as f64).min(1.0);
    let expected = share * fewer.len() as f64;
    Some(Together {
        of: fewer.len(),
        together,
        expected,
        chance: poisson_at_least(together as f64, expected, 1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Numbers;

    fn times(seed: u64, count: usize) -> Vec<i64> {
        let mut numbers = Numbers::new(seed);
        let mut times: Vec<i64> =
            (0..count).map(|_| (numbers.next() % 1_000_000_000).cast_signed()).collect();
        times.sort_unstable();
        times
    }

    #[test]
    fn what_falls_together_is_found_and_chance_is_not() {
        let one = times(1, 100);
        let apart = together(&one, &times(2, 120), 20_000, 1_000_000_000).unwrap();
        assert!(apart.chance > 0.01 && apart.together < 5, "{apart:?}");
        let mut other = times(3, 80);
        other.extend(one.iter().take(30).map(|time| time + 7_000));
        other.sort_unstable();
        let found = together(&one, &other, 20_000, 1_000_000_000).unwrap();
        assert!(found.together >= 30 && found.chance < 1e-12, "{found:?}");
        assert_eq!(together(&[], &other, 20_000, 1_000_000_000), None);
    }
}
