// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a report says, each part as values or sentences that the terminal, the pages and the charts
//! show: the headline, the caveats below it, confidence intervals, conditions, loads, what else the
//! machine did.

pub(crate) mod accounts;
pub(crate) mod activity;
pub(crate) mod cautions;
pub(crate) mod caveats;
pub(crate) mod co_kernel;
pub(crate) mod columns;
pub(crate) mod conditions;
pub(crate) mod due;
pub(crate) mod ending;
pub(crate) mod events;
pub(crate) mod glossary;
pub(crate) mod grouped_warnings;
pub(crate) mod imported;
pub(crate) mod inference;
pub(crate) mod jitter;
pub(crate) mod lab;
pub(crate) mod latencies;
pub(crate) mod loads;
pub(crate) mod method;
pub(crate) mod missed;
pub(crate) mod noise;
pub(crate) mod refusals;
pub(crate) mod rows;
pub(crate) mod smis;
pub(crate) mod time_kind;
pub(crate) mod verdict;
