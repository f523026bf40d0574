// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may be concluded from a recording.
//!
//! Here live the judgements that terminal, page, plans, gate and exit codes share, so that two of
//! them cannot disagree.
//!
//! In: [`model::Recorded`] and statistics. Out: plain values; the renderer has the words. Must not
//! touch: files, clocks, the machine.
#![forbid(unsafe_code)]

mod baseline;
mod contradictions;
mod ending;
mod judged;
mod limits;
mod pool;
mod run_identity;

pub use baseline::judge_against;
pub use contradictions::{Difference, contradictions};
pub use ending::{
    Ending, Incomplete, came_to_its_end, ending, incomplete, knows_order, samples_lost,
};
pub use judged::{Criterion, Examined, Judged, Lacking, Seen, Verdict};
pub use limits::{counted, figure, has_meaning, judge, nothing_recorded, without_limit};
pub use pool::{PhaseMaxima, PhaseMaximum, Pool, largest, pools};
pub use run_identity::RunIdentity;
