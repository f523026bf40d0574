// SPDX-License-Identifier: MIT OR Apache-2.0
//! The signals that ask a verb to end.

use crate::exit::Failure;
use anyhow::Context;
use runner::Signals;
use std::io;

/// From here on they are caught: before, a signal ends the program as ever.
pub fn catch() -> Result<Signals, Failure> {
    said(Signals::catch())
}

/// The same of those that rt-tests' programs catch.
pub fn catch_as_rt_tests() -> Result<Signals, Failure> {
    said(Signals::catch_as_rt_tests())
}

fn said(caught: io::Result<Signals>) -> Result<Signals, Failure> {
    caught.context("cannot catch signals").map_err(Failure::run_failed)
}
