// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab rerun`: the same run once more, and whether it is the same.

use super::guest_flags::AgainFlags;
use super::show::Show;
use super::{again_folder, how_long_again, range, why_different};
use crate::commands::anonymise::check_settings_known;
use crate::exit::{CommandResult, EXCEEDED, Failure};
use crate::live::Display;
use crate::output;
use crate::signals;
use anyhow::{Context, anyhow};
use lab::{LabRun, differences, first_divergence};
use recording::Recording;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// A recording made in the lab
    #[arg(value_name = "REC")]
    recording: PathBuf,
    /// Keep the new recording here; must not exist [default: it is removed after the comparison]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten, next_help_heading = "On which machine")]
    again: AgainFlags,
}

pub fn run(args: &Args) -> CommandResult {
    let recorded = Recording::open(&args.recording).and_then(Recording::summarise)?;
    let name = output::path(&args.recording);
    let facts = recorded.document.lab.as_ref();
    let facts = facts.with_context(|| {
        format!("{name} was not recorded in the lab: only lab recordings can be rerun")
    })?;
    if !facts.deterministic {
        let why = "it ran on the host's clock, and no two such runs are the same. Measure again \
                   with teiji lab run";
        refuse!("{name}: {why}");
    }
    if recorded.document.threads.iter().any(|thread| !thread.detail.is_samples()) {
        refuse!("{name} holds no samples: nothing can be compared with it");
    }
    check_settings_known(&recorded)?;
    let target = args.again.target(&recorded, facts, args.quiet)?;
    for changed in lab::changed_files(facts, &target)? {
        complain!("{name}: {changed}");
    }
    if !args.quiet
        && let Some((took, now)) = how_long_again(&recorded, &target)
    {
        complain!(
            "{name}: it took {took} when it was recorded.\nNow it takes about {}.",
            range(now)
        );
    }
    let signals = signals::catch()?;
    let scratch = again_folder()?;
    let directory = args.output.clone().unwrap_or_else(|| scratch.path().join("again.teiji"));
    let again = LabRun::again(&recorded, facts, target, directory);
    let mut show = Show::new(Display::lines(args.quiet));
    let result = lab::run_in_guests(std::slice::from_ref(&again), 1, &signals, &mut show).pop();
    show.clear();
    let compared = match result {
        Some(Ok(repeated)) => Ok((first_divergence(&recorded, &repeated), repeated.document.lab)),
        Some(Err(error)) => Err(error.into()),
        None => Err(Failure::run_failed(anyhow!("nothing was run"))),
    };
    let (first_divergence, now) = compared?;
    let differences = now.map_or_else(Vec::new, |now| differences(facts, &now));
    Ok(match first_divergence? {
        None => {
            let samples = recorded.samples();
            say!("{name}: made again, {samples} identical samples");
            if !differences.is_empty() {
                say!("{}.", why_different(&differences));
            }
            0
        }
        Some(first_divergence) => {
            say!("{name}: made again, and not identical: {first_divergence}");
            say!("{}.", why_different(&differences));
            EXCEEDED
        }
    })
}
