// SPDX-License-Identifier: MIT OR Apache-2.0
//! A figure of a run as a limit judges it.

use crate::{Document, State};
use plan::Figure;

/// Why a run does not tell a figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTold {
    /// It holds less than was asked for.
    #[error("its run ended early")]
    EndedEarly,
    /// Samples are missing.
    #[error("{0} of its samples were lost")]
    Lost(u64),
    /// A thread has no latency at all.
    #[error("thread {0} never woke")]
    NeverWoke(usize),
    /// The figure would be the maximum under another name.
    #[error("{count} activations do not carry a {figure}: it takes {needed}; see --samples")]
    TooFew {
        /// How many there are.
        count: u64,
        /// Of what.
        figure: Figure,
        /// How many it takes.
        needed: u64,
    },
    /// It measured nothing.
    #[error("it has no threads")]
    NoThreads,
}

impl Document {
    /// A figure of the thread that is worst in it, ns, with the skipped activations counted in: a kernel that lets none of them
    /// run is not the better for it. Exact; a mean is rounded down, since for a limit in whole ns what stands behind the point
    /// decides nothing.
    ///
    /// # Errors
    /// Why it cannot be told.
    pub fn worst(&self, figure: Figure) -> Result<i64, NotTold> {
        if self.state != State::Complete {
            return Err(NotTold::EndedEarly);
        }
        let lost: u64 = self.threads.iter().map(|thread| thread.proof.samples_lost).sum();
        if lost > 0 {
            return Err(NotTold::Lost(lost));
        }
        let of = |thread: &crate::Thread| {
            let summary = thread.latency_with_skipped_ns.ok_or(NotTold::NeverWoke(thread.index))?;
            let (value, needed) = match figure {
                #[expect(clippy::cast_possible_truncation, reason = "a mean of latencies that fit i64")]
                Figure::Mean => (summary.mean.floor() as i64, 1),
                Figure::P50 => (summary.p50, 2),
                Figure::P90 => (summary.p90, 10),
                Figure::P99 => (summary.p99, 100),
                Figure::P999 => (summary.p999, 1_000),
                Figure::P9999 => (summary.p9999, 10_000),
                Figure::Max => (summary.max, 1),
            };
            let count = summary.count;
            if count < needed { Err(NotTold::TooFew { count, figure, needed }) } else { Ok(value) }
        };
        let all: Vec<i64> = self.threads.iter().map(of).collect::<Result<_, _>>()?;
        all.into_iter().max().ok_or(NotTold::NoThreads)
    }
}
