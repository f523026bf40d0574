// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why two groups of runs are not compared in a figure.

use crate::Level;
use crate::bootstrap::MIN_BLOCKS;
use std::mem::discriminant;

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
    /// The run has phases that last too long: too few of them to say what the next run would have.
    LongPhases,
    /// The samples above this quantile, which depend on one another, are worth too few independent
    /// ones. The further out they are, the less they may depend.
    FewAbove { independent: u64, needed: u64, above: u64, level: Level },
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
            (Err(base), Err(other)) if discriminant(&base) == discriminant(&other) => {
                Err((base.max(other), Side::BothAtMost))
            }
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
    /// Of both, whose numbers differ: the reason has the larger.
    BothAtMost,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where both had too few, one of them was named.
    #[test]
    fn what_both_lack_is_said_of_both() {
        let both = |base, other| NotCompared::or_both::<()>(Err(base), Err(other)).unwrap_err();
        let samples = |samples| NotCompared::FewSamples { samples, needed: 700 };
        let blocks = |blocks| NotCompared::FewBlocks { blocks, needed: 16 };
        assert_eq!(both(samples(300), samples(300)), (samples(300), Side::Both));
        assert_eq!(both(samples(300), samples(500)), (samples(500), Side::BothAtMost));
        assert_eq!(both(blocks(7), blocks(3)), (blocks(7), Side::BothAtMost));
        assert_eq!(both(samples(300), NotCompared::NoSamples).1, Side::Second);
        let one = NotCompared::or_both(Err(samples(300)), Ok(()));
        assert_eq!(one, Err((samples(300), Side::First)));
    }
}
