// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji verify`: every figure again, from the samples.

use crate::commands::recordings;
use crate::exit::{CommandResult, DONE, EXCEEDED};
use crate::output;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (NAME.teiji)
    #[arg(required = true, value_name = "REC")]
    recordings: Vec<PathBuf>,
}

pub fn run(args: &Args) -> CommandResult {
    let mut all_well = true;
    for (mut recorded, path) in
        recordings::read(&args.recordings)?.into_iter().zip(&args.recordings)
    {
        match recording::read_explained(path) {
            Ok(explained) => recorded.explained = explained,
            Err(error) => {
                all_well = false;
                output::say(&error.to_string());
            }
        }
        let differences = recording::verify(&recorded);
        let samples = recorded.samples();
        let (path, threads) =
            (output::path(&recorded.path), output::counted(recorded.threads.len(), "thread"));
        if differences.is_empty() {
            let has_samples =
                recorded.document.threads.iter().all(|thread| thread.detail.is_samples());
            let what =
                if has_samples { "samples" } else { "latencies, of which no samples are known," };
            let text = format!("every figure agrees with its {samples} {what} of {threads}");
            let line = format!("{path}: {text}");
            if line.chars().count() <= output::WIDTH {
                say!("{line}");
            } else {
                say!("{path}:\n  {text}");
            }
        } else {
            all_well = false;
            let what = if differences.len() == 1 { "figure disagrees" } else { "figures disagree" };
            say!("{path}: {} {what} with its samples", differences.len());
            for difference in differences {
                say!(
                    "  {}: recorded {}, recomputed {}",
                    difference.place,
                    difference.recorded,
                    difference.recomputed
                );
            }
        }
    }
    Ok(if all_well { DONE } else { EXCEEDED })
}
