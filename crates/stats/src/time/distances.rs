// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often two late bins lie how far apart, and which distances stand out; see
//! [`super::recurrence`].

use super::places::{Bin, Window};
use crate::chance::poisson_at_least;

pub(super) const BINS: usize = 4_096;
/// Distances up to this many bins are counted: a third of a window.
const DISTANCES: usize = BINS / 3;
/// The share of bins that are taken as late is one in this many.
pub(super) const RARITIES: [usize; 5] = [2, 8, 32, 128, 512];

#[derive(Clone, Debug, Default)]
pub(super) struct Distances {
    /// Pairs of late bins, by the distance between them in bins.
    pairs: Vec<u64>,
    /// As many would be expected if late bins came at random.
    expected: Vec<f64>,
    /// Share of bins that are late, of all windows.
    late: f64,
    bins: f64,
    /// Those of the fullest window.
    pub(super) latest: Vec<Bin>,
    pub(super) window: Window,
}

impl Distances {
    fn add_one_by_one(&mut self, events: &[(usize, Bin)], max: usize) {
        for (index, (place, _)) in events.iter().enumerate() {
            for (other, _) in &events[index + 1..] {
                let apart = other - place;
                if apart > max {
                    break;
                }
                self.pairs[apart] += 1;
            }
        }
    }

    /// The same, much faster where about every other bin is late: a bit for each bin, laid over
    /// itself.
    fn add_as_bits(&mut self, events: &[(usize, Bin)], max: usize) {
        let mut bits = [0_u64; BINS / 64 + 1];
        events.iter().for_each(|(place, _)| bits[place / 64] |= 1 << (place % 64));
        for apart in 1..=max {
            let (words, over) = (apart / 64, apart % 64);
            let shifted = bits[words..].windows(2).map(|pair| {
                if over == 0 { pair[0] } else { pair[0] >> over | pair[1] << (64 - over) }
            });
            self.pairs[apart] += shifted
                .zip(&bits)
                .map(|(later, bit)| u64::from((later & bit).count_ones()))
                .sum::<u64>();
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    pub(super) fn add(&mut self, events: &[(usize, Bin)], bins: usize) {
        let max = DISTANCES.min(bins / 3);
        self.pairs.resize(DISTANCES + 1, 0);
        self.expected.resize(DISTANCES + 1, 0.0);
        if events.len() > bins / RARITIES[1] {
            self.add_as_bits(events, max);
        } else {
            self.add_one_by_one(events, max);
        }
        let (events, bins) = (events.len() as f64, bins as f64);
        for (apart, expected) in self.expected.iter_mut().enumerate().take(max + 1).skip(1) {
            *expected += events * events * (bins - apart as f64) / (bins * bins);
        }
        self.late += events;
        self.bins += bins;
    }
}

impl Distances {
    /// Distances that could be a period: those with room for sides.
    fn max(&self) -> usize {
        self.expected.iter().rposition(|expected| *expected > 0.0).unwrap_or(0)
    }

    /// How many sums of counts that do not overlap are tried.
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    pub(super) fn tried(&self) -> f64 {
        let at = |apart: usize| halves(apart).map(|half| 1.0 / (2 * half + 1) as f64).sum::<f64>();
        (2..=self.max()).map(at).sum::<f64>().max(1.0)
    }

    /// Distance, how far around it was summed, and the probability of its count by chance, of those
    /// where it is below `max`: the nearest of each group of neighbours that stands out most.
    pub(super) fn stand_out(&self, shortest: usize, max: f64) -> Vec<(usize, usize, f64)> {
        let mut found: Vec<(usize, usize, f64)> = Vec::new();
        let last = self.max();
        if last < 3 {
            return found;
        }
        let correlation = Correlation::from_distances(self);
        let mut sums = vec![0_u64; last + 2];
        for apart in 1..=last {
            sums[apart + 1] = sums[apart] + self.pairs[apart];
        }
        for apart in shortest.max(2)..=last * 10 / 14 {
            for half in halves(apart) {
                let chance = self.chance(apart, half, last, &sums, &correlation);
                if chance < max {
                    match found.last_mut() {
                        // Neighbours, or the same distance summed more widely.
                        Some(known) if apart - known.0 <= known.1.max(half) + 1 + apart / 16 => {
                            if chance < known.2 {
                                *known = (apart, half, chance);
                            }
                        }
                        _ => found.push((apart, half, chance)),
                    }
                }
            }
        }
        fundamental(&found)
    }

    /// The probability that the pairs around a distance are as many as they are though they were no
    /// more than on either side.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn chance(
        &self,
        apart: usize,
        half: usize,
        last: usize,
        sums: &[u64],
        correlation: &Correlation,
    ) -> f64 {
        let sum = |from: usize, to: usize| (sums[to + 1] - sums[from]) as f64;
        let (from, to) = (apart - half, (apart + half).min(last));
        let pairs = sum(from, to);
        let width = (to - from + 1) as f64;
        let expected: f64 = self.expected[from..=to].iter().sum();
        if pairs <= expected {
            return 1.0;
        }
        let below = ((apart * 6).div_ceil(10).min(from - 1), (apart * 9 / 10).clamp(1, from - 1));
        let above =
            ((apart * 11).div_ceil(10).max(to + 1), (apart * 14 / 10).max(to + 1).min(last));
        if above.0 > above.1 || below.0 < 1 || below.0 > below.1 {
            return 1.0;
        }
        let side = |(from, to): (usize, usize)| sum(from, to) / (to - from + 1) as f64 * width;
        let around = side(below).max(side(above)).max(expected);
        if pairs <= around {
            return 1.0;
        }
        poisson_at_least(pairs, around, correlation.dispersion(apart, width))
    }
}

/// How far around a distance counts are summed, bins: spikes may be a little off their places.
fn halves(apart: usize) -> impl Iterator<Item = usize> {
    [0, 1, 2, apart / 32]
        .into_iter()
        .enumerate()
        .filter(move |(n, half)| 8 * half <= apart && (*n < 3 || *half > 2))
        .map(|(_, half)| half)
}

/// Those that are no multiple of an earlier one, within the resolution of the bins; a few.
fn fundamental(found: &[(usize, usize, f64)]) -> Vec<(usize, usize, f64)> {
    let mut kept: Vec<(usize, usize, f64)> = Vec::new();
    for one in found {
        let is_multiple = kept.iter().any(|known| {
            let times = (one.0 + known.0 / 2) / known.0;
            one.0.abs_diff(times * known.0) <= times * (known.1 + 1) / 2 + one.1
        });
        if !is_multiple && kept.len() < 4 {
            kept.push(*one);
        }
    }
    kept
}

/// How correlated the lateness of bins is, by their distance.
struct Correlation {
    /// The variance of a count, as a share of Poisson's, if bins were independent.
    independent: f64,
    /// The sum of all correlations up to each distance, and of their squares.
    sums: Vec<(f64, f64)>,
}

/// A correlation smaller than this makes no difference.
const MIN_CORRELATION: f64 = 0.05;

impl Correlation {
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn from_distances(distances: &Distances) -> Correlation {
        let share = distances.late / distances.bins;
        let mut sums = (0.0, 0.0);
        let add = |(pairs, expected): (&u64, &f64)| {
            let more = *pairs as f64 - expected;
            let correlation = more / (expected / share * (1.0 - share));
            // What chance makes of a correlation is not counted.
            if correlation > MIN_CORRELATION && more > 3.0 * expected.sqrt() + 1.0 {
                sums = (sums.0 + correlation, sums.1 + correlation * correlation);
            }
            sums
        };
        Correlation {
            independent: (1.0 - share).powi(2),
            sums: distances.pairs.iter().zip(&distances.expected).map(add).collect(),
        }
    }

    /// How much the sum of counts at so many neighbouring distances varies at most, as a share of
    /// Poisson's variance: such counts are themselves correlated. A period is no reason for
    /// them to vary, so only correlations over less than half the distance count.
    fn dispersion(&self, apart: usize, width: f64) -> f64 {
        let (sum, squares) = if apart < 3 {
            (0.0, 0.0)
        } else {
            self.sums.get((apart - 1) / 2).copied().unwrap_or_default()
        };
        let more = (1.0 + 2.0 * sum).powi(2).min(width * (1.0 + 2.0 * squares));
        // Bins that are rarely late are Poisson's case; those that often are vary less, unless they
        // are correlated.
        self.independent * more + (1.0 - self.independent) * (more - 1.0)
    }
}
