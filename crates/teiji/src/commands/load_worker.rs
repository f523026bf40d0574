// SPDX-License-Identifier: MIT OR Apache-2.0
//! A load runs in a process of its own: this program, executed anew by [`load::Loads`].

use std::process::ExitCode;

/// The verb; hidden, because only teiji itself starts it.
pub const VERB: &str = "load-worker";

#[derive(clap::Args)]
pub struct Args {
    /// What the load is to do, as its parent wrote it
    order: String,
}

pub fn run(args: &Args) -> ExitCode {
    load::worker(&args.order)
}
