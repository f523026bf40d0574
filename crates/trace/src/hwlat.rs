// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the hwlat tracer prints: a line for each window in which a gap was above the threshold.

use crate::line::{is_number, micros, seconds};
use plan::Nanos;

/// The largest gaps of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Between two readings of the clock, one right after the other.
    pub inner: Nanos,
    /// Between the second of them and the first of the next two.
    pub outer: Nanos,
    /// How many there were in the window; not in kernels before 5.9.
    pub count: Option<u64>,
}

impl Gap {
    /// From the payload of an event such as
    /// `#12    inner/outer(us):   11/14    ts:1581527483.343962466 count:6`.
    pub fn parse(payload: &str) -> Option<Self> {
        let (number, rest) = payload.strip_prefix('#')?.split_once(' ')?;
        let (gaps, rest) = rest.trim_start().strip_prefix("inner/outer(us):")?.split_once("ts:")?;
        let (inner, outer) = gaps.trim().split_once('/')?;
        let mut words = rest.split_ascii_whitespace();
        seconds(words.next()?)?;
        number.parse::<u64>().ok().filter(|_| is_number(number))?;
        // What nobody reads has to be a number all the same, or the line is another one.
        let mut count = None;
        for word in words {
            let (name, value) = word.split_once(':')?;
            match name {
                "count" => count = Some(value.parse().ok()?),
                "nmi-total" => _ = micros(value)?,
                "nmi-count" => _ = value.parse::<u64>().ok()?,
                _ => {}
            }
        }
        Some(Gap { inner: micros(inner)?, outer: micros(outer)?, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lines_are_refused() {
        for end in ["count:x", "count:6 nmi-total:x", "count:6 nmi-count:-", "count"] {
            let line = format!("#12    inner/outer(us):   11/14    ts:1581527483.343962466 {end}");
            assert_eq!(Gap::parse(&line), None, "{line}");
        }
        assert_eq!(
            Gap::parse("#99999999999999999999 inner/outer(us): 1/2 ts:1.000000001 count:6"),
            None
        );
    }

    #[test]
    fn lines_of_a_kernel() {
        let gap = Gap { inner: Nanos(11_000), outer: Nanos(14_000), count: Some(6) };
        assert_eq!(
            Gap::parse("#12    inner/outer(us):   11/14    ts:1581527483.343962466 count:6"),
            Some(gap)
        );
        assert_eq!(
            Gap::parse(
                "#12    inner/outer(us):   11/14    ts:1581527483.343962466 count:6 nmi-total:5 \
                 nmi-count:2"
            ),
            Some(gap)
        );
        assert_eq!(
            Gap::parse("#12    inner/outer(us):   11/14    ts:1581527483.343962466"),
            Some(Gap { count: None, ..gap })
        );
        for other in [
            "#1 inner/outer(us): 1/ ts:1.0",
            "#1 inner/outer(us): 1/2",
            "inner/outer(us): 1/2 ts:1.0",
        ] {
            assert_eq!(Gap::parse(other), None, "{other}");
        }
    }
}
