// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji show`: the summary again, from disk.

use crate::exit::Outcome;
use crate::output;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji)
    #[arg(required = true, value_name = "REC")]
    recordings: Vec<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    let recordings = super::read(&args.recordings)?;
    for (position, recorded) in recordings.iter().enumerate() {
        if recordings.len() > 1 {
            output::say(&format!("{}== {} ==", if position > 0 { "\n" } else { "" }, recorded.path.display()));
        }
        output::say(&report::terminal_summary(recorded));
    }
    Ok(ExitCode::SUCCESS)
}
