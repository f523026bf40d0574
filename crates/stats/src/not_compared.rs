// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why two groups of runs are not compared in a figure.

use crate::bootstrap::MIN_BLOCKS;

/// The reason that is furthest from being a comparison comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotCompared {
    /// Without samples it is unknown how they depend on one another.
    NoSamples,
    /// Runs have several numbers of threads, and the largest of four is larger than that of one.
    Threads,
    /// The figure needs more samples.
    FewSamples { samples: u64, needed: u64 },
    /// There are too few independent blocks.
    FewBlocks { blocks: u64, needed: u64 },
    /// The samples above the quantile, which depend on one another, are worth too few independent
    /// ones. The further out they are, the less they may depend.
    FewAbove { independent: u64, needed: u64, above: u64 },
    /// The largest are all equal.
    Equal,
}

impl NotCompared {
    /// So many blocks are too few.
    pub(crate) const fn few_blocks(blocks: usize) -> NotCompared {
        if blocks == 0 {
            return NotCompared::NoSamples;
        }
        NotCompared::FewBlocks { blocks: blocks as u64, needed: MIN_BLOCKS as u64 }
    }

    /// What there is of both groups, or the graver reason and whose it is.
    pub(crate) fn or_both<T>(
        base: Result<T, NotCompared>,
        other: Result<T, NotCompared>,
    ) -> Result<(T, T), (NotCompared, Side)> {
        match (base, other) {
            (Ok(base), Ok(other)) => Ok((base, other)),
            (Err(base), Err(other)) if base == other => Err((base, Side::Both)),
            (Err(base), Err(other)) if other < base => Err((other, Side::Second)),
            (Err(base), _) => Err((base, Side::First)),
            (_, Err(other)) => Err((other, Side::Second)),
        }
    }
}

/// Which of two groups a reason is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    First,
    Second,
    Both,
}
