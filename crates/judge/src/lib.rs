// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may be concluded from a recording.
//!
//! Here live the judgements that terminal, page, plans, gate and exit codes share, so that two of
//! them cannot disagree.
//!
//! In: [`model::Recorded`] and statistics. Out: plain values and errors; the renderer has the
//! words. Must not touch: files, clocks, the machine.
#![forbid(unsafe_code)]

mod baseline;
mod ending;
mod gate;
mod judged;
mod limits;
mod meaning;
mod pool;

pub use baseline::judge_against;
pub use ending::{
    Ending, Incomplete, came_to_its_end, ending, incomplete, knows_order, samples_lost,
};
pub use gate::{Gate, JudgedPool, LimitSources};
pub use judged::{Criterion, Judged, Lacking, Seen, Verdict};
pub use limits::{figure, judge, total};
pub use meaning::{NoMeaning, check_meaning, no_meaning};
pub use pool::{PhaseMaxima, PhaseMaximum, pools};
