// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranks (1 = smallest): of a quantile, and what has the value of one.

/// The rank (1 = smallest) of a quantile `numerator / denominator` among `count` values: the
/// smallest rank that leaves at most the remaining share above it. Its value is one that was
/// observed.
pub fn nearest_rank(count: u64, numerator: u64, denominator: u64) -> u64 {
    let rank = (u128::from(count) * u128::from(numerator)).div_ceil(u128::from(denominator.max(1)));
    u64::try_from(rank).unwrap_or(u64::MAX).max(1)
}

/// What has the value of this rank (1 = smallest) among ascending values, each with how often it
/// was counted, and the rank within it.
pub(crate) fn at_rank<T>(
    counted: impl IntoIterator<Item = (T, u64)>,
    mut rank: u64,
) -> Option<(T, u64)> {
    counted.into_iter().find_map(|(value, count)| {
        if rank <= count {
            return Some((value, rank));
        }
        rank -= count;
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        assert_eq!(nearest_rank(100, 50, 100), 50);
        assert_eq!(nearest_rank(101, 50, 100), 51);
        assert_eq!(nearest_rank(10, 9_999, 10_000), 10);
        assert_eq!(nearest_rank(1, 50, 100), 1);
        assert_eq!(nearest_rank(u64::MAX, 9_999, 10_000), 18_444_899_399_302_180_660);
    }
}
