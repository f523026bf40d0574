// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mathematics on latencies.
//!
//! The accounting of activations, exact summaries, the histogram, the envelope over time,
//! confidence intervals, the extrapolated tail and comparisons. Sums are whole numbers throughout,
//! so that a result does not depend on order, machine or optimiser.
//!
//! In: rows of latencies in ns, as [`Span`]s. Out: plain values. Must not touch: anything else;
//! this crate is pure.
#![forbid(unsafe_code)]

mod accounting;
mod analysis;
mod between;
mod blocks;
mod bootstrap;
mod bound;
mod chance;
mod collect_in_blocks;
mod compare;
mod confidence;
mod distribution;
mod envelope;
mod extreme;
mod group;
mod histogram;
mod interval;
mod level;
mod linear;
mod maximum;
mod minimise;
mod modes;
mod moments;
mod not_compared;
#[cfg(test)]
mod pool_tests;
mod quantile;
mod random;
mod rank;
mod rounds;
mod rows;
mod spread;
mod steps;
mod summary;
mod time;
#[cfg(test)]
mod truth_tests;
mod worst;

pub use accounting::{Accounting, AccountingRule, Activations, AfterOverrun};
pub use analysis::{Analysis, analyse, analyse_pool};
pub use between::{Between, Bound, Bounds, PooledBounds};
pub use blocks::{Block, Blocks};
pub use compare::{Comparison, QuantileDifference, RateDifference, compare};
pub use confidence::{rate_beyond_maximum, samples_for_rate};
pub use envelope::{Envelope, Extent};
pub use extreme::{
    Apart, Excesses, Gev, Gpd, Horizon, MAX_CROWDED, MIN_CLUSTERS, MIN_LATENCIES, Refusal, Region,
    ReturnLevel, TailFit, apart,
};
pub use group::{Group, Measured, Quantiles};
pub use histogram::{Bucket, Counts, Histogram, RELATIVE_ERROR};
pub use interval::{QuantileInterval, RateInterval};
pub use level::Level;
pub use linear::LinearHistogram;
pub use maximum::{BlockMaxima, MaximumDifference};
pub use modes::Mode;
pub use moments::Moments;
pub use not_compared::{NotCompared, Side};
pub use random::Numbers;
pub use rank::nearest_rank;
pub use rounds::{
    BLOCKS_OF_ROUND, Effect, Evidence, Round, RoundOrder, judged_level, latencies_for, min_rounds,
};
pub use rows::{Rows, Sizes, Span};
pub use spread::{SpreadDifference, block_moments};
pub use summary::{ExactRequest, Places, Statistics, Summary, summarise};
pub use time::{Change, ChangeKind, Part, Period, Together, together};
pub use worst::{Worst, WorstActivations};
