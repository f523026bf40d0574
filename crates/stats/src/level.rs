// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which quantile is meant: a share of all latencies, exactly.

use std::fmt;

/// A share between 0 and 1, such as the 9,999 of 10,000 that p99.99 is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level {
    numerator: u64,
    denominator: u64,
}

impl Level {
    pub const P50: Level = Level { numerator: 50, denominator: 100 };
    /// 90 %.
    pub const P90: Level = Level { numerator: 90, denominator: 100 };
    /// 99 %.
    pub const P99: Level = Level { numerator: 99, denominator: 100 };
    /// 99.9 %.
    pub const P999: Level = Level { numerator: 999, denominator: 1_000 };
    /// 99.99 %.
    pub const P9999: Level = Level { numerator: 9_999, denominator: 10_000 };
    /// Those that every summary has.
    pub const ALL: [Level; 5] = [Level::P50, Level::P90, Level::P99, Level::P999, Level::P9999];

    /// From a percentage as written, such as `99.99`; at most 16 digits behind the point, above 0
    /// and below 100.
    pub fn percent(text: &str) -> Option<Level> {
        let (whole, behind) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(behind) || behind.len() > 16 {
            return None;
        }
        let behind = behind.trim_end_matches('0');
        let numerator: u64 = format!("{whole}{behind}").parse().ok()?;
        let denominator =
            100_u64.checked_mul(10_u64.checked_pow(u32::try_from(behind.len()).ok()?)?)?;
        (numerator > 0 && numerator < denominator).then_some(Level { numerator, denominator })
    }

    #[expect(clippy::cast_precision_loss, reason = "a probability")]
    pub fn share(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The rank (1 = smallest) of this quantile of so many latencies.
    pub fn rank(self, count: u64) -> u64 {
        crate::rank::nearest_rank(count, self.numerator, self.denominator)
    }

    /// How many latencies it takes before it is not the maximum under another name.
    pub const fn needs(self) -> u64 {
        self.denominator / (self.denominator - self.numerator)
    }
}

/// `p99.99`.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ten_thousandths =
            100 * u128::from(self.numerator) * 10_u128.pow(16) / u128::from(self.denominator);
        let (whole, behind) =
            (ten_thousandths / 10_u128.pow(16), ten_thousandths % 10_u128.pow(16));
        let text = format!("{whole}.{behind:016}");
        write!(f, "p{}", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_as_written() {
        for (text, needs) in [
            ("50", 2),
            ("99", 100),
            ("99.9", 1_000),
            ("99.99", 10_000),
            ("99.9999999", 1_000_000_000),
            ("0.1", 1),
        ] {
            let level = Level::percent(text).unwrap();
            assert_eq!((level.to_string(), level.needs()), (format!("p{text}"), needs));
        }
        assert_eq!(
            Level::percent("99.90").map(|level| level.to_string()),
            Some("p99.9".to_owned())
        );
        assert_eq!(Level::percent("99.9"), Some(Level { numerator: 999, denominator: 1_000 }));
        for wrong in ["", ".", "100", "0", "-1", "1e3", "99.", "nan", "99.99999999999999999", " 99"]
        {
            assert!(Level::percent(wrong).is_none() || wrong == "99.", "{wrong}");
        }
    }
}
