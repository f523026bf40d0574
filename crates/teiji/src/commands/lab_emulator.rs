// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that turns into the lab's emulator: this program, started anew by
//! [`lab::run_in_guests`].

use crate::exit::RUN_FAILED;
use std::ffi::OsString;

#[derive(clap::Args)]
pub struct Args {
    /// The parent's process id, the emulator and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub fn run(args: &Args) -> u8 {
    complain!("cannot become the emulator: {}", lab::become_emulator(&args.words));
    RUN_FAILED
}
