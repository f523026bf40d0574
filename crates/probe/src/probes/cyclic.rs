// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cyclic`: a thread that sleeps until an absolute time, again and again.

use super::Probe;
use crate::attachment::{Attachment, Linux};
use crate::sampler::{SampleError, Sampler};
use model::ProbeStatement;
use plan::Nanos;

pub(super) const PROBE: Probe = Probe {
    name: plan::DEFAULT_PROBE,
    summary: "wake-up latency of a periodic thread",
    settings: &[],
    statement: |_| ProbeStatement::cyclic(),
    lacks: || None,
    launch: |_, config| config.launch(Linux, Cyclic),
};

/// Reads the clock.
pub(crate) struct Cyclic;

impl<A: Attachment> Sampler<A, 1> for Cyclic {
    const OVERRUN: usize = 0;

    #[inline]
    fn sample(&mut self, attachment: &mut A, planned: Nanos) -> Result<[i64; 1], SampleError> {
        Ok([attachment.now().0 - planned.0])
    }
}
