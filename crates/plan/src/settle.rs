// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a run waits for its loads to settle before it measures.
//!
//! A load's own start (hundreds of tasks forked, buffers filled) delays wake-ups as its steady
//! state never does again, and a maximum that comes from there says nothing about the kernel.

use crate::{DurationError, Nanos, Unit};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// How long the first activation waits after the loads have been started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// Until each load is in its steady state, but no longer than [`Settle::MAX_AUTO`].
    Auto,
    /// So long, whatever the loads do; 0: not at all.
    ForNs(Nanos),
}

impl Settle {
    /// A load that has no steady state must not keep a run from beginning.
    pub(crate) const MAX_AUTO: Nanos = Nanos::from_secs(10);

    /// How much longer the threads warm up beside loads that were given time to settle: wake-ups a
    /// thousand times a second change the order in which the tasks of a load run, and it takes
    /// a while until that is steady too.
    pub(crate) const BESIDE_THREADS: Nanos = Nanos::from_millis(500);

    /// The loads' start is measured too.
    pub(crate) const fn not_at_all() -> Self {
        Settle::ForNs(Nanos::ZERO)
    }

    /// The longest it may take, ns.
    pub const fn bound_ns(self) -> Nanos {
        match self {
            Settle::Auto => Self::MAX_AUTO,
            Settle::ForNs(time) => time,
        }
    }
}

impl FromStr for Settle {
    type Err = DurationError;

    /// `auto`, or a time such as `2s`; a bare number counts seconds.
    fn from_str(text: &str) -> Result<Self, DurationError> {
        if text == "auto" {
            Ok(Settle::Auto)
        } else {
            Nanos::parse(text, Unit::Second).map(Settle::ForNs)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_people_write_it() {
        assert_eq!("auto".parse(), Ok(Settle::Auto));
        assert_eq!("0".parse(), Ok(Settle::ForNs(Nanos::ZERO)));
        assert_eq!("2".parse(), Ok(Settle::ForNs(Nanos::from_secs(2))));
        assert_eq!("300ms".parse(), Ok(Settle::ForNs(Nanos::from_millis(300))));
        assert!("soon".parse::<Settle>().is_err());
    }

    #[test]
    fn as_it_is_recorded() {
        let text = |settle| serde_json::to_string(&settle).unwrap();
        assert_eq!(text(Settle::Auto), "\"auto\"");
        assert_eq!(text(Settle::ForNs(Nanos(5))), "{\"for_ns\":5}");
    }
}
