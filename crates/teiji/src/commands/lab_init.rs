// SPDX-License-Identifier: MIT OR Apache-2.0
//! This program as the first process of a kernel in the lab, and what that process starts besides
//! loads.

use crate::commands::load_worker;
use crate::exit::{CommandResult, DONE};
use anyhow::anyhow;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// What to be instead of the first process
    part: Option<String>,
}

/// Whether this is a guest's first process. Anywhere else it would mount over what it finds, and
/// switch the machine off.
pub fn is_first_process() -> bool {
    std::process::id() == 1 && Path::new("/order.json").exists()
}

/// Runs the guest's order and switches it off.
pub fn first_process() -> ! {
    lab::init(load_worker::VERB)
}

/// The other parts; the first process never comes here.
pub fn run(args: &Args) -> CommandResult {
    let done = match args.part.as_deref() {
        Some(lab::SPIN) => lab::spin(),
        Some(part) if part.starts_with(lab::STALL) => lab::stall(part),
        Some(part) if part.starts_with(lab::READ) => lab::read(part),
        Some(part) if part.starts_with(lab::REST) => lab::rest(part),
        _ => Err("this verb is for the first process of a kernel in the lab; see teiji lab run"
            .to_owned()),
    };
    done.map(|()| DONE).map_err(|why| anyhow!(why).into())
}
