// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether latencies gather around several values: paths of different length through the kernel, a
//! deep idle state beside a shallow one, a cache that is warm or cold.
//!
//! Latencies are counted in bins of equal ratio. Of a distribution with one mode, no bin is less
//! dense than the less dense of any two on both its sides. So two peaks are two modes only if the
//! lowest bin between them is less dense than the lower peak by more than chance would have it, by
//! ns as well as by ratio, since either alone makes a hill of what only falls: the difference of
//! the two is taken in each block of the run, blocks are joined until they are not correlated, and
//! its mean is compared with Student's distribution, at a probability that allows for every pair of
//! bins that could have been chosen (Bonferroni). What is significant but too small to matter is
//! not reported.

use crate::Bucket;
use crate::blocks::Block;
use crate::chance::student_quantile;
use crate::distribution::Counted;
use crate::histogram::signed_index;
use crate::interval::is_correlated;

/// Latencies that gather around one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// The latency around which they are densest, ns.
    pub peak_ns: i64,
    /// They lie from here, ns.
    pub from_ns: i64,
    /// To here, ns; the next mode's begin behind it.
    pub to_ns: i64,
    /// Share of all latencies.
    pub share: f64,
}

/// Bins of an octave, at each of which modes are looked for: near ones show in narrow bins, broad
/// ones in wide ones.
const RESOLUTIONS: [f64; 4] = [64.0, 32.0, 16.0, 8.0];
/// A bin spans at least so many steps of a clock.
const STEPS_OF_A_CLOCK: i64 = 4;
/// Between two modes, the lowest bin has at most this share of the lower peak.
const DEEPEST: f64 = 0.7;
/// A mode has at least this share of all latencies: what is rarer is the tail.
const MIN_SHARE: f64 = 0.01;
/// More than these are no modes but the steps of something.
const MAX_MODES: usize = 5;
/// More than one mode is found where there is one in one of so many runs.
const CHANCE: f64 = 1e-3;
/// Minimum number of latencies, and of blocks, to look for modes.
const MIN_LATENCIES: u64 = 1_000;
const MIN_BLOCKS: usize = 16;

/// Latencies from `from` up to, not including, `to`, ns.
#[derive(Clone, Copy, Debug)]
struct Bin {
    from: i64,
    to: i64,
    count: u64,
}

impl Bin {
    /// Latencies by logarithmic width.
    #[expect(clippy::cast_precision_loss, reason = "a density")]
    fn density(&self) -> f64 {
        self.count as f64 / self.width()
    }

    #[expect(clippy::cast_precision_loss, reason = "a density")]
    fn width_ns(&self) -> f64 {
        (self.to - self.from) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a density")]
    fn width(&self) -> f64 {
        (self.to as f64 / self.from.max(1) as f64).ln()
    }
}

/// Neighbouring bins around a peak.
#[derive(Clone, Copy, Debug)]
struct Hill {
    /// The first bin, and the one behind the last.
    first: usize,
    behind: usize,
    peak: usize,
}

/// Several modes, ascending; empty where there is one, or the data are inconclusive.
pub(crate) fn modes(counted: &Counted, blocks: &[Block]) -> Vec<Mode> {
    if counted.count() < MIN_LATENCIES || blocks.len() < MIN_BLOCKS {
        return Vec::new();
    }
    let step = counted.step();
    let buckets: Vec<Bucket> =
        counted.histogram().buckets().filter(|bucket| bucket.lower >= 0).collect();
    let mut best = Vec::new();
    for per_octave in RESOLUTIONS {
        let found = Search {
            bins: bins(&buckets, per_octave, step),
            buckets: &buckets,
            blocks,
            all: counted.count(),
        }
        .modes();
        if (2..=MAX_MODES).contains(&found.len()) && found.len() > best.len() {
            best = found;
        }
    }
    best
}

/// Bins of equal ratio, each of whole buckets of the histogram, from the first latency to the last.
fn bins(buckets: &[Bucket], per_octave: f64, step: i64) -> Vec<Bin> {
    let ratio = 2_f64.powf(1.0 / per_octave);
    let mut bins: Vec<Bin> = Vec::new();
    for bucket in buckets {
        let to = bucket.upper.saturating_add(1);
        // What follows a gap does not belong to a bin before it.
        if let Some(last) =
            bins.last_mut().filter(|last| last.to < bucket.lower && !wide_enough(last, ratio, step))
        {
            last.to = wider(last.from, ratio, step).min(bucket.lower);
        }
        // Nothing lies between this bucket and the last: bins of nothing.
        while let Some(last) = bins
            .last()
            .copied()
            .filter(|last| last.to < bucket.lower && wide_enough(last, ratio, step))
        {
            let wide = wider(last.to, ratio, step).min(bucket.lower);
            bins.push(Bin { from: last.to, to: wide, count: 0 });
        }
        match bins.last_mut() {
            Some(last) if !wide_enough(last, ratio, step) => {
                last.to = to;
                last.count += bucket.count;
            }
            Some(last) => {
                let from = last.to.min(bucket.lower);
                bins.push(Bin { from, to, count: bucket.count });
            }
            None => bins.push(Bin { from: bucket.lower, to, count: bucket.count }),
        }
    }
    // The last may be narrower than it should be, which would make it look dense.
    if bins.len() > 1 && bins.last().is_some_and(|last| !wide_enough(last, ratio, step)) {
        let last = bins.pop();
        if let (Some(last), Some(before)) = (last, bins.last_mut()) {
            before.to = last.to;
            before.count += last.count;
        }
    }
    bins
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "ns of a latency")]
fn wider(from: i64, ratio: f64, step: i64) -> i64 {
    ((from.max(1) as f64 * ratio).ceil() as i64).max(from + STEPS_OF_A_CLOCK * step)
}

fn wide_enough(bin: &Bin, ratio: f64, step: i64) -> bool {
    bin.to >= wider(bin.from, ratio, step)
}

struct Search<'p> {
    bins: Vec<Bin>,
    buckets: &'p [Bucket],
    blocks: &'p [Block],
    all: u64,
}

impl Search<'_> {
    fn modes(&self) -> Vec<Mode> {
        let mut hills = self.hills();
        // Remove the shallowest valley that is not significant.
        while let Some(place) = self.insignificant_valley(&hills) {
            let (left, right) = (hills[place], hills[place + 1]);
            let higher = if self.density(right.peak) > self.density(left.peak) {
                right.peak
            } else {
                left.peak
            };
            hills[place] = Hill { first: left.first, behind: right.behind, peak: higher };
            hills.remove(place + 1);
        }
        hills.iter().map(|hill| self.mode(hill)).collect()
    }

    fn density(&self, bin: usize) -> f64 {
        self.bins[bin].density()
    }

    /// Each local peak with the bins around it, up to the lowest towards the next.
    fn hills(&self) -> Vec<Hill> {
        let mut hills: Vec<Hill> = Vec::new();
        let mut rising = true;
        for bin in 0..self.bins.len() {
            let Some(last) = hills.last_mut() else {
                hills.push(Hill { first: 0, behind: 1, peak: 0 });
                continue;
            };
            last.behind = bin + 1;
            let up = self.bins[bin].density() > self.bins[bin - 1].density();
            if up && !rising {
                last.behind = bin;
                hills.push(Hill { first: bin, behind: bin + 1, peak: bin });
            } else if self.bins[bin].density() > self.bins[last.peak].density() {
                last.peak = bin;
            }
            rising = up;
        }
        hills
    }

    /// The lowest bin between two hills' peaks.
    fn valley(&self, left: &Hill, right: &Hill) -> usize {
        (left.peak..=right.peak)
            .min_by(|a, b| self.density(*a).total_cmp(&self.density(*b)))
            .unwrap_or(left.peak)
    }

    fn mass(&self, hill: &Hill) -> u64 {
        self.bins[hill.first..hill.behind].iter().map(|bin| bin.count).sum()
    }

    #[expect(clippy::cast_precision_loss, reason = "shares")]
    fn mode(&self, hill: &Hill) -> Mode {
        let peak = self.bins[hill.peak];
        let within =
            self.buckets.iter().filter(|bucket| (peak.from..peak.to).contains(&bucket.lower));
        let fullest = within.max_by_key(|bucket| bucket.count);
        Mode {
            peak_ns: fullest.map_or(peak.from, |bucket| i64::midpoint(bucket.lower, bucket.upper)),
            from_ns: self.bins[hill.first].from,
            to_ns: self.bins[hill.behind - 1].to - 1,
            share: self.mass(hill) as f64 / self.all as f64,
        }
    }

    /// The shallowest valley between neighbours that is not significant.
    #[expect(clippy::cast_precision_loss, reason = "shares")]
    fn insignificant_valley(&self, hills: &[Hill]) -> Option<usize> {
        let depth = |pair: &[Hill]| {
            let valley = self.valley(&pair[0], &pair[1]);
            let lower = self.density(pair[0].peak).min(self.density(pair[1].peak));
            self.density(valley) / lower.max(f64::MIN_POSITIVE)
        };
        let rare = |hill: &Hill| (self.mass(hill) as f64) < MIN_SHARE * self.all as f64;
        let is_significant = |pair: &[Hill], depth: f64| {
            let valley = self.valley(&pair[0], &pair[1]);
            let lower = |width| self.is_lower(valley, &pair[0], &pair[1], width);
            depth <= DEEPEST && !pair.iter().any(rare) && lower(Bin::width) && lower(Bin::width_ns)
        };
        let pairs = hills.windows(2).enumerate().map(|(place, pair)| (place, pair, depth(pair)));
        let mut failing: Vec<(usize, f64)> = pairs
            .filter(|(_, pair, depth)| !is_significant(pair, *depth))
            .map(|(place, _, depth)| (place, depth))
            .collect();
        failing.sort_by(|a, b| b.1.total_cmp(&a.1));
        failing.first().map(|(place, _)| *place)
    }

    /// Whether the valley is less dense than the lower of the two peaks, by this width of a bin, by
    /// more than chance would have it.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn is_lower(&self, valley: usize, left: &Hill, right: &Hill, width: fn(&Bin) -> f64) -> bool {
        let density = |bin: &Bin| bin.count as f64 / width(bin);
        let [left, right, valley] = [left.peak, right.peak, valley].map(|bin| self.bins[bin]);
        let peak = if density(&left) < density(&right) { left } else { right };
        if density(&valley) > DEEPEST * density(&peak) {
            return false;
        }
        let share = |block: &Block, bin: &Bin| within(block, bin) as f64 / width(bin);
        let mut offsets: Vec<f64> =
            self.blocks.iter().map(|block| share(block, &peak) - share(block, &valley)).collect();
        let mean = |offsets: &[f64]| offsets.iter().sum::<f64>() / offsets.len() as f64;
        let about = |offsets: &[f64]| {
            let mean = mean(offsets);
            offsets.iter().map(|offset| offset - mean).collect::<Vec<f64>>()
        };
        while offsets.len() / 2 >= MIN_BLOCKS && is_correlated(&about(&offsets)) {
            offsets = offsets.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        let count = offsets.len() as f64;
        let variance =
            about(&offsets).iter().map(|offset| offset * offset).sum::<f64>() / (count - 1.0);
        let pairs = (self.bins.len() * self.bins.len()) as f64 * RESOLUTIONS.len() as f64;
        let needed = student_quantile(1.0 - CHANCE / pairs, count - 1.0);
        mean(&offsets) > needed * (variance / count).sqrt()
    }
}

/// Latencies of a block within a bin.
fn within(block: &Block, bin: &Bin) -> u64 {
    let (first, behind) = (signed_index(bin.from), signed_index(bin.to));
    let list = block.counts.list();
    let from = list.partition_point(|(bucket, _)| *bucket < first);
    list[from..].iter().take_while(|(bucket, _)| *bucket < behind).map(|(_, count)| count).sum()
}
