// SPDX-License-Identifier: MIT OR Apache-2.0
//! A limit on a figure of a run, as people write it: `p99<10us`.

use crate::{Nanos, Unit};
use std::fmt;
use std::str::FromStr;

/// A figure that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The arithmetic mean.
    Mean,
    /// The median.
    P50,
    /// 90 % were at most this.
    P90,
    /// 99 %.
    P99,
    /// 99.9 %.
    P999,
    /// 99.99 %.
    P9999,
    /// The largest.
    Max,
}

const FIGURES: [(&str, Figure); 7] = [
    ("mean", Figure::Mean),
    ("p50", Figure::P50),
    ("p90", Figure::P90),
    ("p99", Figure::P99),
    ("p99.9", Figure::P999),
    ("p99.99", Figure::P9999),
    ("max", Figure::Max),
];

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FIGURES.iter().find(|(_, figure)| figure == self).map_or("", |(name, _)| name))
    }
}

/// A figure and what it must stay below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which figure of the latencies.
    pub figure: Figure,
    /// What it must be below, ns.
    pub below: Nanos,
}

/// A limit that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no limit: write FIGURE<TIME, such as p99<10us; the figures are mean, p50, p90, p99, p99.9, p99.99 and max")]
pub struct LimitError(pub String);

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let read = || {
            let (figure, time) = text.split_once('<')?;
            let figure = FIGURES.iter().find(|(name, _)| *name == figure.trim()).map(|(_, figure)| *figure)?;
            let below = Nanos::parse(time.trim(), Unit::Microsecond).ok()?;
            (below.0 > 0).then_some(Limit { figure, below })
        };
        read().ok_or_else(|| LimitError(text.to_owned()))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.figure, self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limit = |text: &str| text.parse::<Limit>().unwrap();
        assert_eq!(limit("p99<10us"), Limit { figure: Figure::P99, below: Nanos(10_000) });
        assert_eq!(limit("max < 1ms"), Limit { figure: Figure::Max, below: Nanos(1_000_000) });
        assert_eq!(limit("p99.99<20"), Limit { figure: Figure::P9999, below: Nanos(20_000) });
        assert_eq!(limit("mean<500ns").to_string(), "mean < 500ns");
        for wrong in ["", "p99", "p99>10us", "p98<10us", "p99<", "p99<fast", "p99<0us", "<10us"] {
            assert_eq!(wrong.parse::<Limit>(), Err(LimitError(wrong.to_owned())));
        }
    }
}
