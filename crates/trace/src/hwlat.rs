// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the hwlat tracer prints: a line for each window in which a gap was above the threshold.

use crate::line::{is_number, micros, seconds};
use plan::Nanos;

/// The largest gaps of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Of the window, counted from the tracer's start.
    pub number: u64,
    /// Between two readings of the clock, one right after the other.
    pub inner: Nanos,
    /// Between the second of them and the first of the next two.
    pub outer: Nanos,
    /// When the last was, CLOCK_REALTIME.
    pub at: Nanos,
    /// How many there were in the window; not in kernels before 5.9.
    pub count: Option<u64>,
    /// In non-maskable interrupts during the window, where there were any and the kernel counts
    /// them.
    pub nmi_total: Option<Nanos>,
    pub nmi_count: Option<u64>,
}

impl Gap {
    /// From the payload of an event such as `#12 inner/outer(us): 11/14 ts:1581527483.343962466
    /// count:6`.
    #[must_use]
    pub fn parse(payload: &str) -> Option<Self> {
        let (number, rest) = payload.strip_prefix('#')?.split_once(' ')?;
        let (gaps, rest) = rest.trim_start().strip_prefix("inner/outer(us):")?.split_once("ts:")?;
        let (inner, outer) = gaps.trim().split_once('/')?;
        let mut words = rest.split_ascii_whitespace();
        let at = seconds(words.next()?)?;
        let number = number.parse().ok().filter(|_| is_number(number))?;
        let mut gap = Gap {
            number,
            inner: micros(inner)?,
            outer: micros(outer)?,
            at,
            count: None,
            nmi_total: None,
            nmi_count: None,
        };
        for word in words {
            let (name, value) = word.split_once(':')?;
            match name {
                "count" => gap.count = Some(value.parse().ok()?),
                "nmi-total" => gap.nmi_total = Some(micros(value)?),
                "nmi-count" => gap.nmi_count = Some(value.parse().ok()?),
                _ => {}
            }
        }
        Some(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_kernel() {
        let gap = Gap {
            number: 12,
            inner: Nanos(11_000),
            outer: Nanos(14_000),
            at: Nanos(1_581_527_483_343_962_466),
            count: Some(6),
            nmi_total: None,
            nmi_count: None,
        };
        assert_eq!(
            Gap::parse("#12    inner/outer(us):   11/14    ts:1581527483.343962466 count:6"),
            Some(gap)
        );
        assert_eq!(
            Gap::parse(
                "#12    inner/outer(us):   11/14    ts:1581527483.343962466 count:6 nmi-total:5 \
                 nmi-count:2"
            ),
            Some(Gap { nmi_total: Some(Nanos(5_000)), nmi_count: Some(2), ..gap })
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
