// SPDX-License-Identifier: MIT OR Apache-2.0
//! What may be concluded from a recording.
//!
//! Here live the judgements that terminal, page, plans, gate and exit codes share, so that two of them cannot disagree.
//!
//! In: [`model::Recorded`] and statistics. Out: plain values; whoever shows them has the words. Must not touch: files, clocks, the
//! machine.
#![forbid(unsafe_code)]

mod contradictions;

pub use contradictions::{Difference, contradictions};
