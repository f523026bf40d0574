// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tail of a run: threshold, clusters, fit, checks, and the levels that follow, or the reason
//! why none do.
//!
//! Peaks over threshold after Davison and Smith, "Models for exceedances over high thresholds",
//! JRSS B 52 (1990) 393-442.

use super::clusters::Clusters;
use super::gev::Gev;
use super::goodness::{anderson_darling, apart, chance_of};
use super::gpd::{Excesses, Gpd, MAX_SHAPE, MIN_SHAPE, Region};
use super::refusal::Refusal;
use crate::blocks::Blocks;
use crate::chance::kolmogorov_at_least;
use crate::random::Numbers;
use crate::time::changes;
use crate::{Block, Part, Worst};

/// What a tail is fitted to.
pub(crate) struct Observed<'a> {
    /// The largest latencies, worst first.
    pub(crate) largest: &'a [Worst],
    pub(crate) blocks: &'a Blocks,
    /// Activations that were due.
    pub(crate) rows: u64,
    pub(crate) woken: u64,
    pub(crate) interval_ns: i64,
}

/// A duration that levels are given for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// `hour`, `day`, `year`.
    pub name: &'static str,
    /// Its length, ns.
    pub ns: i64,
}

/// For which a tail gives its levels.
pub(crate) const HORIZONS: [Horizon; 3] = [
    Horizon { name: "hour", ns: 3_600_000_000_000 },
    Horizon { name: "day", ns: 86_400_000_000_000 },
    Horizon { name: "year", ns: 31_557_600_000_000_000 },
];

/// A fitted tail that passed every check.
#[derive(Clone, Debug)]
pub struct TailFit {
    /// Latencies above this, ns, are the tail.
    pub threshold_ns: i64,
    pub exceedances: usize,
    /// Clusters of them: as many are independent.
    pub clusters: usize,
    /// Clusters per exceedance.
    pub extremal_index: f64,
    /// Of the excesses beyond the threshold, ns: of all of them, since to take each cluster's
    /// largest alone would bend the tail where two clusters happen to meet (Fawcett and
    /// Walshaw, "Improved estimation for temporally clustered extremes", Environmetrics 18
    /// (2007) 173-188).
    pub gpd: Gpd,
    /// What else the data allow.
    pub region: Region,
    /// p-value of the fit; 0.25 stands for that or more.
    pub goodness: f64,
    /// The check by block maxima, where there are enough blocks.
    pub gev: Option<Gev>,
    /// Levels that are exceeded once in a duration, on average.
    pub levels: Vec<ReturnLevel>,
    /// Exceedances per latency.
    share: f64,
    /// Clusters per activation.
    rate: f64,
}

/// A latency that is exceeded once in some time, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReturnLevel {
    pub horizon: Horizon,
    /// The latency, ns.
    pub level_ns: f64,
    /// The 95 % interval by profile likelihood, ns.
    pub lower_ns: f64,
    pub upper_ns: f64,
}

/// With fewer latencies no tail is fitted.
pub const MIN_LATENCIES: u64 = 1_000;
/// With fewer clusters in it no tail is fitted.
pub const MIN_CLUSTERS: usize = 50;
/// Of all latencies, at most one in so many is the tail.
const MIN_RARITY: u64 = 20;
/// And clusters fill at most this share of the run: where they fill more, one runs into the next.
pub const MAX_CROWDED: f64 = 0.10;
/// A threshold is taken where chance makes the fit as bad as it is at least this often.
const GOOD: f64 = 0.10;
/// Where no threshold is that good, the best one is taken from here on.
const TOLERABLE: f64 = 0.01;
/// A run is called uneven where chance makes it so in less of all runs than this ...
const UNEVEN: f64 = 0.01;
/// ... and where the cumulated share of late wake-ups strays this far from time's: less would not
/// move a level visibly.
const MIN_STRAY: f64 = 0.1;
/// A level is given for at most this many times the duration of the run.
const MAX_TIMES: f64 = 1_000.0;
/// An interval whose upper end is this many times the lower says nothing.
const MAX_WIDE: f64 = 10.0;
/// Values among which a gap is looked for.
const AROUND_GAP: usize = 200;
/// How many blocks the check by block maxima uses.
const BLOCKS: usize = 64;

/// The tail above one threshold.
struct Above {
    threshold_ns: i64,
    exceedances: usize,
    clusters: Clusters,
    excesses: Vec<f64>,
    gpd: Gpd,
    goodness: f64,
}

/// Fits that may become a [`TailFit`].
pub(crate) struct Tail;

impl Tail {
    /// Fits the tail, checks it, and computes the levels.
    pub(crate) fn fit(observed: &Observed<'_>) -> Result<TailFit, Refusal> {
        if observed.woken < MIN_LATENCIES {
            return Err(Refusal::TooFew { latencies: observed.woken });
        }
        let step = clock_step(observed.largest);
        // Each value somewhere within the step of the clock that it was rounded to, so that a
        // rounded tail is no staircase.
        #[expect(clippy::cast_precision_loss, reason = "latencies up to 100 days")]
        let place =
            |worst: &Worst| worst.latency_ns as f64 - step * Numbers::new(worst.activation).share();
        if let Some(apart) = apart(&largest_of_clusters(observed.largest, &place)) {
            return Err(Refusal::Apart(apart));
        }
        // The late ones first: they are the tail.
        if let Some(change) =
            changes(observed.blocks).into_iter().max_by_key(|change| change.part == Part::Late)
        {
            return Err(Refusal::Changed(change));
        }
        let above = Above::choose(observed, &place)?;
        above.is_even(observed.rows)?;
        let region = Excesses::from_values(&above.excesses)
            .ok_or(Refusal::AllEqual)?
            .region(&above.gpd, above.clusters.extremal_index);
        if region.shape.1 >= MAX_SHAPE {
            return Err(Refusal::TooHeavy { shape: region.shape.1 });
        }
        #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
        let (rate, share) = (
            above.clusters.largest.len() as f64 / observed.rows as f64,
            above.exceedances as f64 / observed.woken as f64,
        );
        let mut fit = TailFit {
            threshold_ns: above.threshold_ns,
            exceedances: above.exceedances,
            clusters: above.clusters.largest.len(),
            extremal_index: above.clusters.extremal_index,
            gpd: above.gpd,
            region,
            goodness: above.goodness,
            gev: None,
            levels: Vec::new(),
            share,
            rate,
        };
        fit.gev = fit.check_by_blocks(observed)?;
        fit.levels = HORIZONS.iter().filter_map(|horizon| fit.level(*horizon, observed)).collect();
        Ok(fit)
    }
}

/// The largest of each cluster among the largest latencies, largest first: enough to find outliers.
fn largest_of_clusters(largest: &[Worst], place: &impl Fn(&Worst) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> =
        clusters_among(largest, 8 * AROUND_GAP).largest.iter().map(place).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values.truncate(AROUND_GAP);
    values
}

/// The clusters among so many of the largest latencies.
fn clusters_among(largest: &[Worst], max: usize) -> Clusters {
    let mut some: Vec<Worst> = largest.iter().take(max).copied().collect();
    some.sort_unstable_by_key(|worst| worst.activation);
    Clusters::from_exceedances(&some)
}

/// The latest wake-ups that are independent of one another, worst first: of each cluster the
/// largest, as many as asked for, or fewer.
pub(crate) fn latest(largest: &[Worst], max: usize) -> Vec<Worst> {
    let mut maxima = clusters_among(largest, 8 * max).largest;
    maxima.sort_unstable_by_key(|worst| (std::cmp::Reverse(worst.latency_ns), worst.activation));
    maxima.truncate(max);
    maxima
}

/// The step of the clock that all these values are multiples of, ns.
#[expect(clippy::cast_precision_loss, reason = "a step is small")]
fn clock_step(largest: &[Worst]) -> f64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    largest.iter().map(|worst| worst.latency_ns.unsigned_abs()).fold(0, gcd).max(1) as f64
}

impl Above {
    /// The lowest threshold above which the tail fits: from one in twenty latencies, or as many as
    /// are kept, in steps of the root of two down to the fewest clusters that can be fitted;
    /// where none fits well, the best of them.
    fn choose(observed: &Observed<'_>, place: &impl Fn(&Worst) -> f64) -> Result<Above, Refusal> {
        let max = observed
            .largest
            .len()
            .min(usize::try_from(observed.woken / MIN_RARITY).unwrap_or(usize::MAX));
        let mut best: Option<Above> = None;
        let (mut seen, mut crowded) = (0, None);
        let mut take = max;
        while take > MIN_CLUSTERS {
            if let Some(above) = Above::from_observed(observed, take, place) {
                seen = seen.max(above.clusters.largest.len());
                if above.clusters.largest.len() < MIN_CLUSTERS {
                    break;
                }
                let share = above.crowdedness(observed.rows);
                if share > MAX_CROWDED {
                    crowded = Some(share);
                    take = take * 100 / 141;
                    continue;
                }
                if above.goodness >= GOOD {
                    return Ok(above);
                }
                if best.as_ref().is_none_or(|known| above.goodness > known.goodness) {
                    best = Some(above);
                }
            }
            take = take * 100 / 141;
        }
        match best {
            Some(best) if best.goodness >= TOLERABLE => Ok(best),
            Some(best) => Err(Refusal::BadFit { chance: best.goodness }),
            None if observed.largest.first().map(|worst| worst.latency_ns)
                == observed.largest.last().map(|worst| worst.latency_ns) =>
            {
                Err(Refusal::AllEqual)
            }
            None => Err(crowded.map_or(Refusal::TooFewClusters { clusters: seen }, |share| {
                Refusal::Crowded { share }
            })),
        }
    }

    /// The tail of so many of the largest, or fewer where the last has equals.
    #[expect(clippy::cast_precision_loss, reason = "latencies up to 100 days")]
    fn from_observed(
        observed: &Observed<'_>,
        take: usize,
        place: &impl Fn(&Worst) -> f64,
    ) -> Option<Above> {
        let threshold_ns =
            observed.largest.get(take).or_else(|| observed.largest.last())?.latency_ns;
        let mut exceedances: Vec<Worst> = observed
            .largest
            .iter()
            .take_while(|worst| worst.latency_ns > threshold_ns)
            .copied()
            .collect();
        exceedances.sort_unstable_by_key(|worst| worst.activation);
        let clusters = Clusters::from_exceedances(&exceedances);
        let excesses: Vec<f64> =
            exceedances.iter().map(|worst| (place(worst) - threshold_ns as f64).max(0.0)).collect();
        let gpd = Excesses::from_values(&excesses)?.fit();
        // Those of one cluster are alike: they stray together, as if there were so many fewer.
        let goodness =
            chance_of(anderson_darling(&gpd, &excesses) * clusters.extremal_index, gpd.shape);
        Some(Above {
            threshold_ns,
            exceedances: exceedances.len(),
            clusters,
            excesses,
            gpd,
            goodness,
        })
    }

    /// The share of the run that lies within clusters, or too near one to separate another from it.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn crowdedness(&self, rows: u64) -> f64 {
        let clusters = self.clusters.largest.len();
        ((self.exceedances - clusters) as f64 + clusters as f64 * self.clusters.run as f64)
            / rows as f64
    }

    /// Whether late wake-ups come, and are late, alike over the whole run: Kolmogorov's test of
    /// their times, and Smirnov's of their excesses in the two halves.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn is_even(&self, rows: u64) -> Result<(), Refusal> {
        let clusters = &self.clusters.largest;
        let count = clusters.len() as f64;
        let stray = clusters.iter().zip(0_u32..).map(|(worst, before)| {
            let time = (worst.activation as f64 + 0.5) / rows as f64;
            (time - f64::from(before) / count)
                .abs()
                .max((f64::from(before + 1) / count - time).abs())
        });
        let stray = stray.fold(0.0, f64::max);
        let chance = kolmogorov_at_least(stray * count.sqrt());
        if chance < UNEVEN && stray > MIN_STRAY {
            let first = clusters.iter().filter(|worst| worst.activation < rows / 2).count() as f64;
            return Err(Refusal::Uneven { first_half: first / count, chance });
        }
        let half = clusters.partition_point(|worst| worst.activation < rows / 2);
        let sorted = |some: &[Worst]| {
            let mut values: Vec<i64> = some.iter().map(|worst| worst.latency_ns).collect();
            values.sort_unstable();
            values
        };
        let (first, second) = (sorted(&clusters[..half]), sorted(&clusters[half..]));
        if first.is_empty() || second.is_empty() {
            return Ok(());
        }
        let share = |some: &[i64], value: i64| {
            some.partition_point(|known| *known <= value) as f64 / some.len() as f64
        };
        let stray = clusters
            .iter()
            .map(|w| (share(&first, w.latency_ns) - share(&second, w.latency_ns)).abs())
            .fold(0.0, f64::max);
        let effective = first.len() as f64 * second.len() as f64 / count;
        let chance = kolmogorov_at_least(stray * effective.sqrt());
        if chance < UNEVEN && stray > MIN_STRAY {
            return Err(Refusal::Drifting {
                first_ns: first[first.len() / 2],
                second_ns: second[second.len() / 2],
                chance,
            });
        }
        Ok(())
    }
}

impl TailFit {
    /// The latency, ns, that is exceeded once in `rows` activations on average, and its 95 %
    /// interval; none where that lies below the threshold, or where nothing bounds it.
    pub(crate) fn exceeded_once_in(&self, rows: f64) -> Option<(f64, f64, f64)> {
        let exponential = (self.rate * rows).ln();
        if exponential <= 0.0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "latencies up to 100 days")]
        let threshold = self.threshold_ns as f64;
        let (lower, upper) = self.region.excess_at(exponential);
        Some((threshold + self.gpd.excess_at(exponential), threshold + lower, threshold + upper?))
    }

    /// The share of latencies above this, ns, as the tail has it, and its 95 % interval; none below
    /// the threshold.
    #[expect(clippy::cast_precision_loss, reason = "latencies up to 100 days")]
    pub fn share_above(&self, latency_ns: f64) -> Option<(f64, f64, f64)> {
        let excess = latency_ns - self.threshold_ns as f64;
        if excess < 0.0 {
            return None;
        }
        let (lower, upper) = self.region.beyond(excess);
        Some((self.share * self.gpd.beyond(excess), self.share * lower, self.share * upper))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn level(&self, horizon: Horizon, observed: &Observed<'_>) -> Option<ReturnLevel> {
        let rows = horizon.ns as f64 / observed.interval_ns as f64;
        if rows > MAX_TIMES * observed.rows as f64 {
            return None;
        }
        let (level_ns, lower_ns, upper_ns) = self.exceeded_once_in(rows)?;
        (upper_ns < MAX_WIDE * lower_ns).then_some(ReturnLevel {
            horizon,
            level_ns,
            lower_ns,
            upper_ns,
        })
    }

    /// Fits the maxima of blocks as well, and compares what both say of a run ten times as long.
    #[expect(clippy::cast_precision_loss, reason = "counts that are divided")]
    fn check_by_blocks(&self, observed: &Observed<'_>) -> Result<Option<Gev>, Refusal> {
        let list = observed.blocks.list();
        let blocks = observed.blocks.coarser(list.len() / BLOCKS);
        let rows = observed.blocks.rows_per_block() * (list.len() / BLOCKS).max(1) as u64;
        // The last may be short.
        let full = &blocks[..usize::try_from(observed.rows / rows).unwrap_or(0).min(blocks.len())];
        let maxima: Vec<f64> =
            full.iter().filter_map(|block: &Block| block.max).map(|max| max as f64).collect();
        if maxima.len() < BLOCKS / 2 {
            return Ok(None);
        }
        let Some(gev) = Gev::fit(&maxima) else { return Ok(None) };
        let longer = 10.0 * observed.rows as f64;
        let Some((_, lower, upper)) = self.exceeded_once_in(longer) else { return Ok(None) };
        let (from, to) = gev.level_interval(&maxima, longer / rows as f64);
        if gev.shape <= MIN_SHAPE + 0.01 {
            return Ok(None);
        }
        if from > upper || to.is_some_and(|to| to < lower) {
            return Err(Refusal::Disagree {
                peaks: (lower, upper),
                blocks: (from, to.unwrap_or(f64::INFINITY)),
            });
        }
        Ok(Some(gev))
    }
}
