// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extrapolates the tail beyond the observed latencies: peaks over a threshold, checked by block
//! maxima, and the reasons for refusing to.

mod clusters;
mod gev;
pub(crate) mod goodness;
mod gpd;
mod refusal;
mod tail;

pub use gev::Gev;
pub use goodness::{Apart, apart};
pub use gpd::{Excesses, Gpd, Region};
pub use refusal::Refusal;
pub use tail::{Horizon, MAX_CROWDED, MIN_CLUSTERS, MIN_LATENCIES, ReturnLevel, TailFit};
pub(crate) use tail::{Observed, Tail, latest};
