// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab`: kernels in an emulator.

mod again;
mod bisect;
mod exec;
mod guest_flags;
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
pub use run::{checked, jobs as guests_at_once, lab_run};
pub use show::Show;

use crate::exit::{CommandResult, Failure, of_end};
use anyhow::Context;
use clap::Subcommand;
use lab::{GuestCommand, LabRun, Target};
use model::{Lab, Recorded};
use plan::Nanos;
use report::Language;
use std::time::Duration;
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

/// How long a run took when it was recorded, if it says so.
pub fn took(facts: &Lab) -> Option<String> {
    (facts.host_ms > 0).then(|| span(Duration::from_millis(facts.host_ms)))
}

fn span(time: Duration) -> String {
    report::span(Nanos::from(time), Language::English)
}

/// How long these runs take, so many at once, by the last of their kind on this machine.
fn how_long(runs: &[LabRun], jobs: usize) -> String {
    let known: Vec<(Duration, Duration)> = runs.iter().filter_map(lab::expected).collect();
    let unknown = runs.len() - known.len();
    if unknown > 0 {
        let (runs, verb) = if unknown == 1 {
            ("1 run".to_owned(), "is")
        } else {
            (format!("{unknown} runs"), "are")
        };
        return format!(
            "How long this takes is not known: {runs} {verb} the first of that kernel\nand load on \
             this machine."
        );
    }
    let boots = lab::expected_of_boots(runs.iter().map(|run| &run.target));
    boots.map_or_else(first_boot, |boots| about(&boots, &known, jobs))
}

/// The same of programs in a guest.
fn how_long_commands(target: &Target, commands: &[GuestCommand]) -> String {
    let Some(time) = lab::expected_of_commands(target, commands) else {
        return "How long this takes is not known: these commands have not run in such a guest\n\
                on this machine."
            .to_owned();
    };
    let boots = lab::expected_of_boots(std::iter::once(target));
    boots.map_or_else(first_boot, |boots| about(&boots, &[(time, time)], 1))
}

fn first_boot() -> String {
    "How long this takes is not known: a guest boots first, and none of its kind has\n\
     on this machine."
        .to_owned()
}

/// How long these take after guests have booted for so long, so many at once.
fn about(boots: &[Duration], each: &[(Duration, Duration)], jobs: usize) -> String {
    let range = |(least, most)| {
        let (least, most) = (span(least), span(most));
        if least == most { least } else { format!("{least} to {most}") }
    };
    let boots: Vec<(Duration, Duration)> = boots.iter().map(|boot| (*boot, *boot)).collect();
    let (boot, then) = (together(&boots, jobs), together(each, jobs));
    let time = range((boot.0 + then.0, boot.1 + then.1));
    let to_boot = if boots.is_empty() {
        " ".to_owned()
    } else {
        format!(" {} of it to boot first,\n", range(boot))
    };
    format!("About {time},{to_boot}as the last runs of this kind took on this machine.")
}

/// At least and at most how long these take, so many at once.
fn together(each: &[(Duration, Duration)], jobs: usize) -> (Duration, Duration) {
    let jobs = u32::try_from(jobs.max(1)).unwrap_or(u32::MAX);
    let rounds = u32::try_from(each.len()).unwrap_or(u32::MAX).div_ceil(jobs);
    let largest = |of: fn(&(Duration, Duration)) -> Duration| each.iter().map(of).max();
    let shared = each.iter().map(|(least, _)| *least).sum::<Duration>() / jobs;
    let least = shared.max(largest(|(least, _)| *least).unwrap_or_default());
    let most = largest(|(_, most)| *most).unwrap_or_default().saturating_mul(rounds);
    (least, most.min(each.iter().map(|(_, most)| *most).sum()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_to_boot_first_takes_longer() {
        let seconds = Duration::from_secs;
        let as_then = "as the last runs of this kind took on this machine.";
        let about = |boots: &[u64], each: &[(u64, u64)]| {
            let boots: Vec<Duration> = boots.iter().copied().map(seconds).collect();
            let each = each.iter().map(|(least, most)| (seconds(*least), seconds(*most)));
            about(&boots, &each.collect::<Vec<_>>(), 1)
        };
        assert_eq!(about(&[], &[(1, 1)]), format!("About 1 s, {as_then}"));
        assert_eq!(
            about(&[33], &[(1, 1)]),
            format!("About 34 s, 33 s of it to boot first,\n{as_then}")
        );
        assert_eq!(
            about(&[10, 20], &[(2, 4), (2, 4)]),
            format!("About 34 s to 38 s, 30 s of it to boot first,\n{as_then}")
        );
        let not_known = first_boot();
        assert!(not_known.lines().all(|line| line.len() <= 80), "{not_known}");
    }

    #[test]
    fn guests_share_the_machine() {
        let together = |each: &[(u64, u64)], jobs| {
            let seconds = |(least, most): &(u64, u64)| {
                (Duration::from_secs(*least), Duration::from_secs(*most))
            };
            let (least, most) = together(&each.iter().map(seconds).collect::<Vec<_>>(), jobs);
            (least.as_secs(), most.as_secs())
        };
        assert_eq!(together(&[(6, 10)], 2), (6, 10), "one is not shared");
        assert_eq!(together(&[(6, 10), (2, 4)], 1), (8, 14));
        assert_eq!(together(&[(6, 10), (2, 4), (2, 4)], 2), (6, 18));
        assert_eq!(together(&[(6, 10), (6, 10), (6, 10), (6, 10)], 2), (12, 20));
    }
}
