// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of two groups of runs has the largest latencies.
//!
//! What makes one wake-up late makes tens of its neighbours late, and to count them one by one
//! takes one cause for tens. So blocks of the runs are counted, all of one length: the 20 with the
//! largest latencies, and how many of these each group has. Where the groups are alike, any block
//! is as likely among them as any other, whatever the latencies are distributed like and however
//! many come at once (E. J. Gumbel and H. von Schelling, "The distribution of the number of
//! exceedances", Annals of Mathematical Statistics 21 (1950) 247-262). Bursts that reach into the
//! next block, and longer memory, show in the correlation of neighbours, and count as that many
//! fewer blocks. A run whose latencies above the median come in a few bursts cannot be cut into
//! independent blocks.

use crate::Group;
use crate::blocks::{Block, joined};
use crate::bootstrap::MIN_BLOCKS;
use crate::chance::at_most;
use crate::group::LARGEST;
use crate::interval::{Dependence, correlation, inflation};
use crate::not_compared::{NotCompared, Side};

/// The largest latencies of two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaximumDifference {
    /// The largest of the first group, ns, skipped activations counted in; none where nothing woke.
    pub base_ns: Option<i64>,
    pub other_ns: Option<i64>,
    /// Of the 20 largest latencies, one by one, so many are of the first and of the second group.
    /// Those equal to one that is left out are in neither.
    pub largest: (usize, usize),
    /// Whether the groups differ in them, or why that is not said.
    pub test: Result<BlockMaxima, (NotCompared, Side)>,
}

impl MaximumDifference {
    /// Whether the groups differ significantly in their largest latencies.
    pub fn is_significant(&self) -> bool {
        self.test.is_ok_and(|test| test.is_significant)
    }
}

/// Blocks with the largest latencies, by group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockMaxima {
    /// Latencies of a block, of all threads.
    pub latencies: u64,
    /// So many blocks the first and the second group have ...
    pub blocks: (usize, usize),
    /// ... and so many of the worst.
    pub worst: (usize, usize),
    /// The second would have so many of the worst if the groups were alike.
    pub expected: f64,
    /// Whether that is more than chance, and the largest latency of all is of the group with more.
    pub is_significant: bool,
    /// Whether it is more than chance, but the largest latency of all is of the other group.
    pub disagrees: bool,
}

/// Compares the largest latencies of two groups. `blocks` are those of each by run, joined until
/// they are independent; `bursts` is why there are none; `error` is the probability that equal
/// groups are reported as different.
pub(crate) fn compare_maxima(
    (base, other): (&Group, &Group),
    blocks: (&[Vec<Block>], &[Vec<Block>]),
    bursts: Option<(NotCompared, Side)>,
    error: f64,
) -> MaximumDifference {
    let one_by_one = |group: &Group| {
        group.threads().flat_map(|thread| thread.largest.iter().copied()).collect::<Vec<i64>>()
    };
    let (first, second) = (one_by_one(base), one_by_one(other));
    let left_out = largest_left_out(&first, &second);
    let largest = (above(&first, left_out), above(&second, left_out));
    let (base_ns, other_ns) = (base.max(), other.max());
    let test = if !have_equal_threads(base, other) {
        Err((NotCompared::Threads, Side::Both))
    } else if let Some(why) = bursts {
        Err(why)
    } else {
        Maxima::of_equal_blocks(blocks)
            .and_then(|(base, other)| test(&base, &other, other_ns > base_ns, error))
    };
    MaximumDifference { base_ns, other_ns, largest, test }
}

/// Whether all runs have as many threads: the largest of four is larger than that of one.
fn have_equal_threads(base: &Group, other: &Group) -> bool {
    let mut threads = base.runs.iter().chain(&other.runs).map(Vec::len);
    let first = threads.next();
    threads.all(|count| Some(count) == first)
}

/// The largest value that is not among those that are counted.
fn largest_left_out(base: &[i64], other: &[i64]) -> i64 {
    let mut both = [base, other].concat();
    both.sort_unstable_by(|a, b| b.cmp(a));
    both.get(LARGEST).copied().unwrap_or(i64::MIN)
}

fn above(values: &[i64], limit: i64) -> usize {
    values.iter().filter(|value| **value > limit).count()
}

/// The largest latencies of a group's blocks.
struct Maxima {
    /// By run, ns.
    runs: Vec<Vec<i64>>,
    /// Latencies of the longest block.
    longest: u64,
    /// Latencies of all.
    total: u64,
}

impl Maxima {
    /// Of both groups, in blocks of one length.
    fn of_equal_blocks(
        (base, other): (&[Vec<Block>], &[Vec<Block>]),
    ) -> Result<(Maxima, Maxima), (NotCompared, Side)> {
        let length = |run: &Vec<Block>| run.iter().map(|block| block.counts.total()).max();
        let longest = base.iter().chain(other).filter_map(length).max().unwrap_or(0);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a power of two, but for rows that were lost"
        )]
        let equal = |run: &Vec<Block>| {
            let times = longest as f64 / length(run).unwrap_or(1).max(1) as f64;
            joined(run, times.round().max(1.0) as usize)
        };
        let maxima = |runs: &[Vec<Block>]| {
            let runs: Vec<Vec<Block>> = runs.iter().map(equal).collect();
            let max = |block: &Block| block.max.unwrap_or(i64::MIN);
            let total = runs.iter().flatten().map(|block| block.counts.total()).sum();
            let maxima: Vec<Vec<i64>> =
                runs.iter().map(|run| run.iter().map(max).collect()).collect();
            let count = maxima.iter().map(Vec::len).sum();
            if count < MIN_BLOCKS {
                return Err(NotCompared::few_blocks(count));
            }
            Ok(Maxima { runs: maxima, longest, total })
        };
        NotCompared::or_both(maxima(base), maxima(other))
    }

    fn count(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// How many of the worst blocks are worth one independent block, as far as the worst and more
    /// blocks come in phases; or that these last too long.
    #[expect(clippy::cast_precision_loss, reason = "counts of blocks")]
    fn phases(&self) -> Result<f64, NotCompared> {
        let mut maxima = self.runs.concat();
        maxima.sort_unstable_by(|a, b| b.cmp(a));
        let mut together: f64 = 1.0;
        let counts = std::iter::successors(Some(LARGEST), |count| Some(2 * count));
        for count in counts.take_while(|count| 2 * count <= maxima.len()) {
            let is_above = |max: &i64| (1, u64::from(*max > maxima[count]));
            let above = |run: &Vec<i64>| run.iter().map(is_above).collect();
            let dependence = Dependence::between(&self.runs.iter().map(above).collect::<Vec<_>>());
            if dependence.lasts {
                return Err(NotCompared::LongPhases);
            }
            // Half of the worst are of either group where these are alike.
            let share = (LARGEST / 2) as f64 / count as f64;
            together = together.max(1.0 + (dependence.factor - 1.0) * share);
        }
        Ok(together)
    }

    /// By how much the number of blocks above a limit differs from what is expected of each block.
    #[expect(clippy::cast_precision_loss, reason = "counts of blocks")]
    fn offsets(&self, limit: i64) -> Vec<Vec<f64>> {
        let share = above(&self.runs.concat(), limit) as f64 / self.count() as f64;
        let offset = |max: &i64| f64::from(u8::from(*max > limit)) - share;
        self.runs.iter().map(|run| run.iter().map(offset).collect()).collect()
    }
}

/// Whether one group has more of the worst blocks than chance makes it.
#[expect(clippy::cast_precision_loss, reason = "counts of blocks")]
fn test(
    base: &Maxima,
    other: &Maxima,
    other_is_larger: bool,
    error: f64,
) -> Result<BlockMaxima, (NotCompared, Side)> {
    let (first, second) = (base.runs.concat(), other.runs.concat());
    let limit = largest_left_out(&first, &second);
    let worst = (above(&first, limit), above(&second, limit));
    let all = (worst.0 + worst.1) as f64;
    if all == 0.0 {
        return Err((NotCompared::Equal, Side::Both));
    }
    let share = other.total as f64 / (base.total + other.total) as f64;
    let expected = share * all;
    let offsets = [base.offsets(limit), other.offsets(limit)].concat();
    let phases = NotCompared::or_both(base.phases(), other.phases())?;
    let together = inflation(correlation(&offsets)).max(phases.0).max(phases.1);
    let (k, n) = (worst.1 as f64 / together, all / together);
    let chance = 2.0 * at_most(k, n, share).min(1.0 - at_most(k - 1.0, n, share));
    let agrees = other_is_larger == (worst.1 as f64 > expected);
    Ok(BlockMaxima {
        latencies: base.longest,
        blocks: (base.count(), other.count()),
        worst,
        expected,
        is_significant: agrees && chance < error,
        disagrees: !agrees && chance < error,
    })
}
