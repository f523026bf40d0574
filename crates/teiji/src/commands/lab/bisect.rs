// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab bisect`: the first kernel of an ordered list that breaks a limit.

use super::guest_flags::{self, GuestFlags};
use super::how_long;
use super::phase_flags::PhaseFlags;
use super::pools::Pool;
use super::run::{checked, jobs as guests_at_once, lab_run};
use super::show::Show;
use crate::commands::help::{self, OUTPUT};
use crate::commands::run_flags::RunFlags;
use crate::exit::{CommandResult, Failure};
use crate::live::Display;
use crate::output;
use crate::signals;
use anyhow::{Context, anyhow};
use judge::Verdict;
use lab::{KernelName, LabRun, Target};
use model::Recorded;
use plan::{Limit, Phase};
use report::Language;
use runner::Signals;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = help::MORE, after_long_help = help::OF_PROBES)]
pub struct Args {
    /// The kernels in order, the oldest first, separated by commas; at least two
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    kernels: Vec<KernelName>,
    /// The limit, such as 'p99<10us': any that teiji gate takes
    #[arg(long, value_name = "LIMIT", required = true)]
    limit: Limit,
    #[command(flatten)]
    measured: RunFlags,
    #[command(flatten, next_help_heading = "On which machine")]
    guest: GuestFlags,
    #[command(flatten, next_help_heading = "Lab")]
    phases: PhaseFlags,
    /// The folder for the recordings; must not exist [default: teiji-bisect-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(args: &Args) -> CommandResult {
    if args.kernels.len() < 2 {
        refuse!("bisect needs at least two kernels: --kernels A,B");
    }
    let output = args.output.clone().unwrap_or_else(|| output::new_name("teiji-bisect", ""));
    for guest in args.guest.guests(&args.kernels)? {
        let run = checked(&args.measured, args.phases.first(), &guest)?;
        let probe = args.measured.chosen_probe()?;
        judge::check_meaning(std::slice::from_ref(&args.limit), &[&probe.statement(&run)])?;
    }
    for name in &args.kernels {
        guest_flags::check_path_exists(name)?;
    }
    let signals = signals::catch()?;
    executor::new_folder(&output)?;
    // As they turned out to be called, with their versions.
    let mut names: Vec<String> = args.kernels.iter().map(ToString::to_string).collect();
    let mut time = None;
    let mut measured = 0;
    let found = search(args.kernels.len(), &mut |index| {
        let target = args.guest.target_of(&args.kernels[index], args.quiet)?;
        names[index].clone_from(&target.kernel.name);
        let pool = execute(args, target, &output.join(format!("{:02}", index + 1)), &signals)?;
        let kernel = &names[index];
        let judged = judge::judge(&args.limit, pool.examined());
        let holds = match judged.verdict {
            Verdict::Pass => true,
            Verdict::Fail => false,
            Verdict::NotEnough => {
                let why = report::judged_in_words(&judged, Language::English);
                return Err(Failure::run_failed(anyhow!("{kernel} cannot be judged: {why}")));
            }
        };
        let verdict = if holds { "meets" } else { "exceeds" };
        say!(
            "{kernel} {verdict} {}: {}",
            args.limit,
            report::judged_in_words(&judged, Language::English)
        );
        if let Some(worst) = report::worst_phase(&pool.phases(), Language::English) {
            output::say(&worst);
        }
        if pool.examined().recordings().any(|recorded| recorded.document.load_off_target) {
            complain!("{kernel}: a load was off target (load_off_target)");
        }
        time = report::what_time_is(&pool.examined().recorded, Language::English);
        measured += 1;
        Ok(holds)
    });
    let _ = std::fs::remove_dir(&output);
    let limit = &args.limit;
    let last = names.len() - 1;
    output::say(&match found? {
        None if measured == names.len() => {
            format!("Neither {} nor {} exceeds {limit}.", names[0], names[last])
        }
        None => {
            let between = names.len() - measured;
            format!(
                "Neither {} nor {} exceeds {limit}; {between} between them were not measured.",
                names[0], names[last]
            )
        }
        Some(0) => format!("{} already exceeds {limit}: begin the list earlier.", names[0]),
        Some(first) => format!(
            "{} is the first to exceed {limit}; {}, before it, meets it.",
            names[first],
            names[first - 1]
        ),
    });
    if let Some(time) = time {
        output::say(&time);
    }
    Ok(0)
}

/// The first of so many that does not hold, if those before it do and those after it do not;
/// between the ends it is searched by halves, so that what is returned breaks, and what stands
/// before it was seen to hold.
fn search<E>(
    count: usize,
    holds: &mut impl FnMut(usize) -> Result<bool, E>,
) -> Result<Option<usize>, E> {
    if !holds(0)? {
        return Ok(Some(0));
    }
    if holds(count - 1)? {
        return Ok(None);
    }
    let (mut good, mut bad) = (0, count - 1);
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if holds(middle)? { good = middle } else { bad = middle }
    }
    Ok(Some(bad))
}

/// The kernel in each phase, to be judged as a gate does it; the recordings' names begin with
/// `stem`.
fn execute(args: &Args, target: Target, stem: &Path, signals: &Signals) -> Result<Pool, Failure> {
    let of_phase = |phase: Phase| {
        let run = checked(&args.measured, phase, &target.guest)?;
        let of_phase = if phase.is_none() { String::new() } else { format!("-phase-{phase}") };
        let directory = PathBuf::from(format!("{}{of_phase}.teiji", stem.display()));
        let name = format!("{}{of_phase}", target.kernel.name);
        Ok(lab_run(&args.measured, run, &target, directory, name))
    };
    let lab_runs: Vec<LabRun> =
        args.phases.all().into_iter().map(of_phase).collect::<Result<_, Failure>>()?;
    let jobs = guests_at_once(None, [target.guest.time]);
    if !args.quiet {
        complain!("{}: {}", target.kernel.name, how_long(&lab_runs, jobs));
    }
    let mut show = Show::new(Display::lines(args.quiet));
    let results = lab::run_in_guests(&lab_runs, jobs, signals, &mut show);
    show.clear();
    let recordings = results.into_iter().collect::<Result<Vec<Recorded>, _>>()?;
    let exact = Limit::exact_request(std::slice::from_ref(&args.limit));
    let pool = Pool::read(
        &target.kernel.name,
        &args.measured.probe.name,
        &recordings.iter().collect::<Vec<_>>(),
        &exact,
    )?;
    pool.context("no recording").map_err(Failure::run_failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_breaks_is_found_in_few_steps() {
        for count in 2..40 {
            for first_bad in 0..=count {
                let mut measured = 0;
                let mut holds = |index: usize| -> Result<bool, ()> {
                    measured += 1;
                    Ok(index < first_bad)
                };
                let found = search(count, &mut holds).unwrap();
                assert_eq!(
                    found,
                    (first_bad < count).then_some(first_bad),
                    "{first_bad} of {count}"
                );
                assert!(measured <= 2 + count.ilog2() as usize + 1);
            }
        }
    }
}
