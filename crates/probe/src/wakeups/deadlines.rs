// SPDX-License-Identifier: MIT OR Apache-2.0
//! The deadlines of a periodic thread, from the times that it sleeps until, and those that passed
//! without a wake-up.

/// So many equal distances in a row are a period: distances of a program that sleeps for what is
/// left differ by more than a ns.
const EQUAL: u32 = 3;
/// Programs that add up a period in floating point are off by this, ns.
const TOLERANCE_NS: i64 = 1;

/// What is known of one thread's, or one timer's, deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deadlines {
    last: Option<i64>,
    distance: i64,
    equal: u32,
    period: Option<i64>,
    /// Those that passed in the last distances, which were longer than the period and not of it.
    /// Whether they were of this period shows only the next distance.
    off_period: i64,
}

impl Deadlines {
    /// Takes the next deadline, and says how many passed since the one before: none where that is
    /// not known, because there is no period or the distance is not of it.
    pub(crate) fn next(&mut self, deadline: i64) -> Option<i64> {
        let distance = deadline - self.last.replace(deadline)?;
        if distance <= TOLERANCE_NS {
            self.equal = 0;
            // A sleep that was interrupted goes on until the same time.
            return self.period.filter(|_| distance >= -TOLERANCE_NS).map(|_| 0);
        }
        if let Some(period) = self.period {
            // A period that was missed again and again is not a longer one.
            if let Some(passed) = passed(distance, period) {
                // A loop that was late and goes on from then has its period again.
                return Some(passed + std::mem::take(&mut self.off_period));
            }
            let passed = distance / period;
            self.off_period = if passed > 0 { self.off_period + passed } else { 0 };
        }
        self.equal =
            if (distance - self.distance).abs() <= TOLERANCE_NS { self.equal + 1 } else { 1 };
        self.distance = distance;
        (self.equal >= EQUAL).then(|| {
            (self.period, self.off_period) = (Some(distance), 0);
            0
        })
    }
}

/// How many deadlines lie within a distance of so many periods; none if it is not that.
fn passed(distance: i64, period: i64) -> Option<i64> {
    let periods = (distance + period / 2) / period;
    (periods > 0 && (distance - periods * period).abs() <= TOLERANCE_NS * periods)
        .then(|| periods - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(distances: &[i64]) -> Vec<Option<i64>> {
        let (mut deadlines, mut time) = (Deadlines::default(), 1_000_000);
        deadlines.next(time);
        let next = |distance: &i64| {
            time += distance;
            deadlines.next(time)
        };
        distances.iter().map(next).collect()
    }

    #[test]
    fn what_passed_is_counted_once_a_period_is_known() {
        assert_eq!(
            passed(&[500, 500, 500, 500, 2_000, 500, 1_000, 1_001]),
            [None, None, Some(0), Some(0), Some(3), Some(0), Some(1), Some(1)]
        );
    }

    #[test]
    fn missed_again_and_again_is_no_longer_period() {
        assert_eq!(
            passed(&[500, 500, 500, 1_000, 1_000, 1_000, 1_000, 500]),
            [None, None, Some(0), Some(1), Some(1), Some(1), Some(1), Some(0)]
        );
    }

    #[test]
    fn a_new_period_is_learned() {
        assert_eq!(
            passed(&[500, 500, 500, 720, 720, 720, 1_440]),
            [None, None, Some(0), None, None, Some(0), Some(1)]
        );
        // One that was learned from every other deadline.
        assert_eq!(
            passed(&[1_000, 1_000, 1_000, 500, 500, 500, 1_000]),
            [None, None, Some(0), None, None, Some(0), Some(1)]
        );
    }

    /// A loop that was late twice and restarted from then had missed nothing, it was said.
    #[test]
    fn a_loop_that_restarts_after_an_overrun_has_missed_what_passed() {
        assert_eq!(
            passed(&[500, 500, 500, 1_300, 500, 500, 650, 713, 500, 500]),
            [None, None, Some(0), None, Some(2), Some(0), None, None, Some(2), Some(0)]
        );
        // One that is late and catches up ran each.
        assert_eq!(
            passed(&[500, 500, 500, 650, 350, 500]),
            [None, None, Some(0), None, None, Some(0)]
        );
    }

    #[test]
    fn an_interrupted_sleep_passes_nothing() {
        assert_eq!(
            passed(&[500, 500, 500, 0, 500, -500, 500]),
            [None, None, Some(0), Some(0), Some(0), None, Some(0)]
        );
    }

    #[test]
    fn irregular_sleeps_have_no_deadlines_to_miss() {
        assert_eq!(passed(&[500, 510, 493, 1_505, 502, 0, -4, 800]), [None; 8]);
    }
}
