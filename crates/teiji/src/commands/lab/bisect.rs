// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab bisect`: the first kernel of an ordered list that breaks a limit.

use super::place_flags::{self, PlaceFlags};
use super::run::checked;
use super::show::Show;
use super::{VERBS, exit, failure};
use crate::commands::run_flags::RunFlags;
use crate::exit::{Failure, Outcome};
use crate::output;
use anyhow::{Context, anyhow};
use lab::{KernelName, LabRun, Place};
use plan::{Figure, Limit};
use recording::Recorded;
use runner::Signals;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The kernels in order, the oldest first, separated by commas; at least two
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    kernels: Vec<KernelName>,
    /// What a kernel has to hold, such as 'p99<10us': mean, p50, p90, p99, p99.9, p99.99 or max, of its worst thread
    #[arg(long, value_name = "LIMIT", required = true)]
    limit: Limit,
    #[command(flatten, next_help_heading = "What to measure")]
    measured: RunFlags,
    #[command(flatten, next_help_heading = "On which machine")]
    place: PlaceFlags,
    /// The folder for the recordings; must not exist [default: teiji-bisect-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = "Lab")]
    output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long, help_heading = "Lab")]
    quiet: bool,
}

/// One kernel measured: whether it holds, and the figure.
type Verdict = (bool, i64);

pub fn run(args: &Args) -> Outcome {
    if args.kernels.len() < 2 {
        return Err(Failure::bad_input(anyhow!(
            "a list of one kernel has nothing to be searched; name at least two with --kernels A,B"
        )));
    }
    let output = args.output.clone().unwrap_or_else(|| output::new_name("teiji-bisect", ""));
    if output.symlink_metadata().is_ok() {
        return Err(Failure::bad_input(anyhow!(
            "{} exists already: choose another name with -o, or remove it",
            output.display()
        )));
    }
    for guest in args.place.guests(&args.kernels).map_err(Failure::bad_input)? {
        checked(&args.measured, &guest).map_err(Failure::bad_input)?;
    }
    let signals = Signals::catch().context("cannot catch signals").map_err(Failure::not_carried_out)?;
    // As they turned out to be called, with their versions.
    let mut names: Vec<String> = args.kernels.iter().map(ToString::to_string).collect();
    let mut measure = |index: usize| -> Result<Verdict, Failure> {
        let name = &args.kernels[index];
        let kernel = place_flags::kernels(std::slice::from_ref(name), &mut |text| {
            if !args.quiet {
                output::complain(text);
            }
        });
        let kernel = kernel.map_err(Failure::not_carried_out)?.remove(0);
        names[index].clone_from(&kernel.name);
        let place = args.place.place(kernel).map_err(Failure::bad_input)?;
        let recorded = carry_out(args, place, &output.join(format!("{:02}.teiji", index + 1)), &signals)?;
        let figure = worst(&recorded, args.limit.figure);
        let figure = figure
            .ok_or_else(|| Failure::not_carried_out(anyhow!("{name}: no activation woke, so it has no {}", args.limit.figure)))?;
        let holds = figure < args.limit.below.0;
        let verdict = if holds { "holds" } else { "breaks" };
        output::say(&format!("{}: {} {} µs, {verdict}", names[index], args.limit.figure, report::exact_micros(figure)));
        Ok((holds, figure))
    };
    std::fs::create_dir_all(&output)
        .with_context(|| format!("cannot make the folder {}", output.display()))
        .map_err(Failure::bad_input)?;
    let found = search(args.kernels.len(), &mut measure);
    let _ = std::fs::remove_dir(&output);
    match found? {
        None => output::say(&format!("None of them breaks {}.", args.limit)),
        Some(0) => output::say(&format!("{} breaks {} already: the list begins too late.", names[0], args.limit)),
        Some(first) => {
            let (good, bad) = (&names[first - 1], &names[first]);
            output::say(&format!("{bad} is the first to break {}; {good}, before it, holds.", args.limit));
        }
    }
    Ok(exit(0))
}

/// The first of so many that does not hold, if those before it do and those after it do not; between the ends it is searched
/// by halves, so that what is returned breaks, and what stands before it was seen to hold.
fn search<E>(count: usize, measure: &mut impl FnMut(usize) -> Result<Verdict, E>) -> Result<Option<usize>, E> {
    if !measure(0)?.0 {
        return Ok(Some(0));
    }
    if measure(count - 1)?.0 {
        return Ok(None);
    }
    let (mut holds, mut breaks) = (0, count - 1);
    while breaks - holds > 1 {
        let middle = usize::midpoint(holds, breaks);
        if measure(middle)?.0 { holds = middle } else { breaks = middle }
    }
    Ok(Some(breaks))
}

fn carry_out(args: &Args, place: Place, directory: &Path, signals: &Signals) -> Result<Recorded, Failure> {
    let run = checked(&args.measured, &place.guest).map_err(Failure::bad_input)?;
    let lab_run = LabRun {
        run,
        name: place.kernel.name.clone(),
        place,
        directory: directory.to_owned(),
        command_line: output::command_line(),
    };
    let mut show = Show::new(args.quiet);
    let result = lab::carry_out(std::slice::from_ref(&lab_run), 1, VERBS, signals, &mut show).pop();
    show.clear();
    result.unwrap_or(Err(lab::LabError::Interrupted("nobody"))).map_err(failure)
}

/// A figure of the thread that is worst in it, ns.
fn worst(recorded: &Recorded, figure: Figure) -> Option<i64> {
    let of = |summary: &stats::Summary| match figure {
        // Whole ns are enough for a limit.
        #[expect(clippy::cast_possible_truncation, reason = "a mean of latencies that fit i64")]
        Figure::Mean => summary.mean.ceil() as i64,
        Figure::P50 => summary.p50,
        Figure::P90 => summary.p90,
        Figure::P99 => summary.p99,
        Figure::P999 => summary.p999,
        Figure::P9999 => summary.p9999,
        Figure::Max => summary.max,
    };
    recorded.threads.iter().filter_map(|thread| thread.latency.as_ref().map(of)).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_breaks_is_found_in_few_steps() {
        for count in 2..40 {
            for first_bad in 0..=count {
                let mut measured = 0;
                let mut measure = |index: usize| -> Result<Verdict, ()> {
                    measured += 1;
                    Ok((index < first_bad, 0))
                };
                let found = search(count, &mut measure).unwrap();
                assert_eq!(found, (first_bad < count).then_some(first_bad), "{first_bad} of {count}");
                assert!(measured <= 2 + count.ilog2() as usize + 1);
            }
        }
    }
}
