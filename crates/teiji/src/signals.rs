// SPDX-License-Identifier: MIT OR Apache-2.0
//! The signals that ask a verb to end.

use crate::exit::Failure;
use anyhow::Context;
use runner::Signals;

/// From here on they are caught: before, a signal ends the program as ever.
pub fn catch() -> Result<Signals, Failure> {
    Signals::catch().context("cannot catch signals").map_err(Failure::run_failed)
}
