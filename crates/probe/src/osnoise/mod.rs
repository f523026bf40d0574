// SPDX-License-Identifier: MIT OR Apache-2.0
//! The osnoise tracer's account of the gaps of a loop: what had its CPU in them.
//!
//! The tracer runs without its own workload: the loop of this program is the workload, and the
//! tracer's events say how long each interrupt, soft interrupt and other thread ran on its CPU, net
//! of what interrupted those. `kernel.rs` has the session, `event.rs` reads the events as they are
//! stored, `account.rs` adds them up, which is pure, and `source.rs` is the loop with its account.

mod account;
mod event;
mod kernel;
mod source;

pub(crate) use kernel::lacks;
pub(crate) use source::{Accounted, COLUMNS};
