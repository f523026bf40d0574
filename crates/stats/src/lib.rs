// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mathematics on latencies.
//!
//! Here live the accounting of activations, exact summaries, the histogram, the envelope over time, and what a maximum
//! may claim. Sums are whole numbers throughout, so that a result does not depend on order, machine or optimiser.
//!
//! In: rows of latencies in ns, as [`Span`]s. Out: plain values. Must not touch: anything else; this room is pure.
#![forbid(unsafe_code)]

mod accounting;
mod confidence;
mod distribution;
mod envelope;
mod histogram;
mod moments;
mod quantile;
mod rows;
mod summary;
mod tail;
mod worst;

pub use accounting::{Accounting, Activations, AfterOverrun};
pub use confidence::{rate_beyond_maximum, samples_for_rate};
pub use envelope::{Envelope, Extent};
pub use histogram::{Bucket, Histogram, RELATIVE_ERROR};
pub use moments::Moments;
pub use quantile::nearest_rank;
pub use rows::{Rows, Span};
pub use summary::{Statistics, Summary, summarise};
pub use worst::{Worst, WorstActivations};
