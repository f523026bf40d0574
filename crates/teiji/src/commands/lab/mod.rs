// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab`: kernels in an emulator.

mod again;
mod bisect;
mod exec;
mod guest_flags;
mod how_long;
mod kernels;
mod phase_flags;
mod pools;
mod rerun;
mod run;
mod search;
mod show;

pub use guest_flags::{
    AgainFlags, GuestFlags, check_path_exists, chosen_qemu, kernel as kernel_of,
};
pub use how_long::{how_long, how_long_again, range};
pub use run::{checked, jobs as guests_at_once, lab_run};
pub use show::Show;

use crate::exit::{CommandResult, Failure, of_end};
use anyhow::Context;
use clap::Subcommand;
use model::Recorded;
use system::ScratchFolder;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the kernels and QEMUs in the cache, and remove them
    Kernels(kernels::ListArgs),
    /// Download Debian's kernels, and the lab's QEMU, into the cache, without root
    Fetch(kernels::FetchArgs),
    /// Measure one or more kernels, and compare them
    Run(run::Args),
    /// Repeat a recorded run, and check that it is identical
    Rerun(rerun::Args),
    /// Search for a run with a large latency, and how to make it again
    Search(search::Args),
    /// Find the first kernel of an ordered list that exceeds a limit
    Bisect(bisect::Args),
    /// Run programs in a guest, and count the machine's instructions
    Exec(exec::Args),
}

pub fn run(args: &Args) -> CommandResult {
    match &args.what {
        What::Kernels(args) => kernels::list(args),
        What::Fetch(args) => kernels::fetch(args),
        What::Run(args) => run::run(args),
        What::Rerun(args) => rerun::run(args),
        What::Search(args) => search::run(args),
        What::Bisect(args) => bisect::run(args),
        What::Exec(args) => exec::run(args),
    }
}

/// The folder for a recording that is made again.
pub fn again_folder() -> Result<ScratchFolder, Failure> {
    let made = ScratchFolder::new().context("cannot make a folder for the new recording");
    made.map_err(Failure::run_failed)
}

/// The exit code of recordings that are there.
fn code(recordings: &[&Recorded]) -> u8 {
    recordings.iter().map(|recorded| of_end(&recorded.document)).max().unwrap_or(0)
}

/// Why a run that was made again is not the same, where these conditions differ.
pub fn why_different(differences: &[&str]) -> String {
    if differences.is_empty() {
        "Kernel, machine, QEMU and teiji are all the same: please report this as a defect of teiji"
            .to_owned()
    } else {
        format!("What differs: {}", differences.join(", "))
    }
}
