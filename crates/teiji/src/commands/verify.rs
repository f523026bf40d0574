// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji verify`: every figure again, from the samples.

use crate::commands::recordings;
use crate::exit::{CommandResult, DONE, EXCEEDED};
use crate::output;
use model::{Detail, Recorded};
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
        let path = output::path(&recorded.path);
        let has_samples = recorded.document.threads.iter().all(|thread| thread.detail.is_samples());
        if differences.is_empty() {
            let text = checked(&recorded);
            let line = format!("{path}: {text}");
            if line.chars().count() <= output::WIDTH {
                say!("{line}");
            } else {
                say!("{path}:\n  {text}");
            }
        } else {
            all_well = false;
            let what = if differences.len() == 1 { "figure disagrees" } else { "figures disagree" };
            let with = if has_samples { "its samples" } else { "the rest of it" };
            say!("{path}: {} {what} with {with}", differences.len());
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

/// What was found right. Figures that another program stated can only be ones that are possible
/// beside one another, or with its histogram.
fn checked(recorded: &Recorded) -> String {
    let has = |detail: Detail| recorded.document.threads.iter().any(|of| of.detail == detail);
    let threads = output::counted(recorded.threads.len(), "thread");
    let fit = match (has(Detail::Figures), has(Detail::Histogram)) {
        (true, _) => "are possible ones",
        (false, true) if recorded.document.imported.is_some() => "fit their histogram",
        (false, true) => return format!("every figure agrees with its histogram of {threads}"),
        (false, false) => {
            let samples = recorded.samples();
            return format!("every figure agrees with its {samples} samples of {threads}");
        }
    };
    format!("figures of {threads} {fit} (no samples to check them by)")
}
