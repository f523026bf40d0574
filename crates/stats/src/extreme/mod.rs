// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the tail goes on beyond what was seen: peaks over a threshold, block maxima beside them, and every reason not to say it.

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
pub use tail::Latest;
pub use tail::{Horizon, MAX_CROWDED, MIN_CLUSTERS, MIN_LATENCIES, ReturnLevel, TailFit};
pub(crate) use tail::{Observed, Tail, latest};
