// SPDX-License-Identifier: MIT OR Apache-2.0
//! A run in blocks of equal length, each with its own histogram. Correlation over time, changes and
//! resampling are judged from them.
//!
//! The number of rows need not be known: when there are too many blocks, neighbours are joined and
//! a block covers twice the rows. Of several runs that are pooled no block covers rows of two: they
//! are independent of one another, however their rows are not.

use crate::Moments;
use crate::histogram::Counts;
use crate::rows::Chunk;

/// Maximum number of blocks of a run; an even number.
pub(crate) const MAX_BLOCKS: usize = 256;
/// About as many of runs that are pooled, all together.
const MAX_POOLED: usize = 1_024;

/// One of the blocks that a run is divided into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its latencies, skipped activations counted in, by bucket of the histogram.
    pub counts: Counts,
    /// The largest of them, ns; none where nothing woke.
    pub max: Option<i64>,
}

impl Block {
    /// One block that covers both.
    pub fn join(&self, other: &Block) -> Block {
        Block { counts: self.counts.merged(&other.counts), max: self.max.max(other.max) }
    }
}

/// Consecutive blocks of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// Rows of each but the last.
    rows_per_block: u64,
    /// Rows so far of the block that is being filled.
    rows: u64,
    /// The extremes so far of that block, ns; of what woke, and of what was counted.
    max: Option<i64>,
    counted: Option<(i64, i64)>,
    list: Vec<Block>,
    /// Where in the list each run begins.
    begins: Vec<usize>,
    /// So many of a run are joined.
    max_of_run: usize,
}

impl Blocks {
    /// Nothing yet; `rows` may be known beforehand.
    pub(crate) fn for_rows(rows: u64) -> Self {
        let min = Chunk::LENGTH as u64;
        let rows_per_block =
            rows.div_ceil(MAX_BLOCKS as u64).max(min).checked_next_power_of_two().unwrap_or(min);
        Blocks {
            rows_per_block,
            rows: 0,
            max: None,
            counted: None,
            list: Vec::new(),
            begins: vec![0],
            max_of_run: MAX_BLOCKS,
        }
    }

    /// Nothing yet, of so many runs that are pooled; `rows` of one of them may be known beforehand.
    pub(crate) fn for_runs(runs: usize, rows: u64) -> Self {
        let max_of_run = (MAX_POOLED / runs.max(1)).clamp(2, MAX_BLOCKS) / 2 * 2;
        Blocks { max_of_run, ..Blocks::for_rows(rows) }
    }

    /// The last run is at its end, and another begins.
    pub(crate) fn begin_run(&mut self) {
        self.begins.push(self.list.len());
    }

    /// The blocks of each run, in order of time.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &[Block]> {
        let ends = self.begins.iter().skip(1).copied().chain([self.list.len()]);
        self.begins.iter().zip(ends).map(|(begin, end)| &self.list[*begin..end])
    }

    /// Whether these are of several runs.
    pub(crate) fn are_pooled(&self) -> bool {
        self.begins.len() > 1
    }

    /// In order of time.
    pub fn list(&self) -> &[Block] {
        &self.list
    }

    /// Activations that each block but the last covers.
    pub(crate) const fn rows_per_block(&self) -> u64 {
        self.rows_per_block
    }

    /// Rows until the block that is being filled is full; at least one.
    pub(crate) const fn rows_left(&self) -> u64 {
        self.rows_per_block - self.rows
    }

    /// Adds rows that woke, at most as many as there is room for, with their extremes. Whether that
    /// fills the block.
    pub(crate) fn woken(&mut self, rows: u64, (min, max): (i64, i64)) -> bool {
        self.max = self.max.max(Some(max));
        self.widen(min, max);
        self.missing(rows)
    }

    /// Adds one row that was skipped, and how long it had waited.
    pub(crate) fn skipped(&mut self, waited_ns: i64) -> bool {
        self.widen(waited_ns, waited_ns);
        self.missing(1)
    }

    /// Adds rows of which nothing is known.
    pub(crate) const fn missing(&mut self, rows: u64) -> bool {
        self.rows += rows;
        self.rows >= self.rows_per_block
    }

    fn widen(&mut self, min: i64, max: i64) {
        self.counted = Some(
            self.counted
                .map_or((min, max), |(lowest, highest)| (lowest.min(min), highest.max(max))),
        );
    }

    /// Whether rows were added since the last block was ended.
    pub(crate) const fn is_open(&self) -> bool {
        self.rows > 0
    }

    /// The extremes of what was counted since then, ns.
    pub(crate) const fn counted(&self) -> Option<(i64, i64)> {
        self.counted
    }

    pub(crate) fn close(&mut self, counts: Counts) {
        self.list.push(Block { counts, max: self.max.take() });
        (self.rows, self.counted) = (0, None);
        let begin = self.begins.last().copied().unwrap_or(0);
        if self.list.len() - begin == self.max_of_run {
            let halved = joined(&self.list[begin..], 2);
            self.list.truncate(begin);
            self.list.extend(halved);
            self.rows_per_block *= 2;
        }
    }

    /// Joins neighbours until each block has at least so many times the rows.
    pub fn coarser(&self, times: usize) -> Vec<Block> {
        joined(&self.list, times.max(1))
    }
}

/// What blocks hold, and can be put together.
pub(crate) trait Merge: Default {
    fn add(&mut self, other: &Self);
}

impl Merge for Counts {
    fn add(&mut self, other: &Self) {
        *self = self.merged(other);
    }
}

impl Merge for Block {
    fn add(&mut self, other: &Self) {
        *self = self.join(other);
    }
}

impl Merge for Moments {
    fn add(&mut self, other: &Self) {
        self.merge(other);
    }
}

pub(crate) fn merged<'b, B: Merge + 'b>(blocks: impl IntoIterator<Item = &'b B>) -> B {
    blocks.into_iter().fold(B::default(), |mut all, one| {
        all.add(one);
        all
    })
}

/// Each so many neighbours as one.
pub(crate) fn joined<B: Merge>(blocks: &[B], times: usize) -> Vec<B> {
    blocks.chunks(times).map(merged).collect()
}

/// What all threads have in each block of a run. There are as many blocks as the thread with the
/// fewest has.
pub(crate) fn aligned<T, B: Merge>(threads: &[&[T]], of: impl Fn(&T) -> &B) -> Vec<B> {
    let count = threads.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
    let part = |blocks: &&[T], index: usize| {
        let begin = |index: usize| index * blocks.len() / count;
        merged(blocks[begin(index)..begin(index + 1)].iter().map(&of))
    };
    let all_threads =
        |index| merged(&threads.iter().map(|blocks| part(blocks, index)).collect::<Vec<B>>());
    (0..count).map(all_threads).collect()
}
