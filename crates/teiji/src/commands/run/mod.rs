// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji run`: a plan, which is every combination of its factors, in one folder.

mod carry_out;
mod folder;
mod progress;
mod settings;
mod table;

pub use table::{Wanted, is_folder, table, text};

use crate::commands::lab::{failure, kernels_of};
use crate::exit::{Failure, NOT_CARRIED_OUT, Outcome};
use crate::output;
use anyhow::{Context, anyhow};
use carry_out::{Ended, Work};
use folder::ResultsFolder;
use lab::KernelName;
use plan::{Nanos, Plan, PlannedRun, Value};
use runner::Signals;
use settings::{Point, points};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(clap::Args)]
pub struct Args {
    /// The plan
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume", conflicts_with = "resume")]
    plan: Option<PathBuf>,
    /// Go on with what is missing in this folder of a plan that was begun
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "dry_run"])]
    resume: Option<PathBuf>,
    /// The plan's short form, as its table [quick] says, each combination once
    #[arg(long, conflicts_with = "resume")]
    quick: bool,
    /// On this machine: the plan without its kernels and whatever else is of the lab
    #[arg(long, conflicts_with = "resume")]
    here: bool,
    /// Check the plan, and print its runs, their order and how long they take; carry out none
    #[arg(long)]
    dry_run: bool,
    /// The folder for the results; must not exist [default: NAME-DATE-TIME, by the plan's name]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Guests of the lab at once [default: as many as this machine has CPUs; 1 with time = "host"]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    jobs: Option<u32>,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: &Args) -> Outcome {
    match (&args.plan, &args.resume) {
        (_, Some(folder)) => resume(args, folder),
        (Some(path), None) if args.dry_run => dry_run(args, path),
        (Some(path), None) => begin(args, path),
        (None, None) => Err(Failure::bad_input(anyhow!("name a plan"))),
    }
}

fn read(path: &Path) -> anyhow::Result<Plan> {
    Ok(Plan::read(path, &mut |path| std::fs::read_to_string(path))?)
}

/// The plan in the form that was asked for.
fn asked(args: &Args, path: &Path) -> anyhow::Result<Plan> {
    let plan = read(path)?;
    let plan = if args.here { plan.without(&settings::of_the_lab()) } else { plan };
    Ok(if args.quick { plan.quick()? } else { plan })
}

fn checked(plan: &Plan) -> anyhow::Result<Vec<Point>> {
    let available = probe::allowed_cpus().context("cannot read which CPUs this process may use")?;
    Ok(points(plan, &available)?)
}

/// Whether the emulators and programs for all guests are there: found before the first run, not at each.
fn guests_can_begin<'p>(points: impl Iterator<Item = &'p Point>) -> Result<(), Failure> {
    let mut known = Vec::new();
    for point in points {
        let Some(kernel) = &point.kernel else { continue };
        let guests = point.place.guests(std::slice::from_ref(kernel)).map_err(Failure::bad_input)?;
        for machine in guests.into_iter().map(|guest| guest.machine) {
            let wanted = (machine, point.place.program());
            if !known.contains(&wanted) {
                known.push(wanted);
                lab::can_begin(machine, wanted.1).map_err(failure)?;
            }
        }
    }
    Ok(())
}

/// Begun from nothing: the clock is as good as dice. Within what TOML holds.
fn new_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos() % (1 << 52)).unwrap_or(0)
}

fn dry_run(args: &Args, path: &Path) -> Outcome {
    let plan = asked(args, path).map_err(Failure::bad_input)?;
    let points = checked(&plan).map_err(Failure::bad_input)?;
    let seed = plan.order.seed.unwrap_or_else(new_seed);
    let runs = plan.order.runs(points.len(), seed);
    let mut text = String::new();
    let width = runs.len().to_string().len();
    for (place, run) in runs.iter().enumerate() {
        let repeat = if plan.order.repeat > 1 { format!("  repeat {}", run.repeat) } else { String::new() };
        text += &format!("{:>width$}  {}{repeat}\n", place + 1, points[run.combination].label);
    }
    let combinations = counted(points.len(), "combination");
    text += &format!("{} of {combinations}; {}\n", counted(runs.len(), "run"), time_of(&points, &runs));
    if plan.order.shuffle && plan.order.seed.is_none() {
        text += "Their order is one of many: the plan names no seed, so each beginning draws its own.\n";
    }
    output::say(&text);
    // Good to know, but no fault of the plan: it may be looked at on one machine and carried out on another.
    if let Err(missing) = guests_can_begin(points.iter()) {
        output::complain(&format!("It could not begin here: {missing}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn counted(n: usize, thing: &str) -> String {
    report::counted(n as u64, thing)
}

/// How long they measure, all together; what lies between two runs comes on top.
fn time_of(points: &[Point], runs: &[PlannedRun]) -> String {
    let of = |in_lab: bool| -> (usize, i64) {
        let chosen = runs.iter().map(|run| &points[run.combination]).filter(|point| point.kernel.is_some() == in_lab);
        let times = chosen.map(|point| point.run.as_ref().map_or(0, |run| run.expected_ns().0));
        times.fold((0, 0), |(count, sum), time| (count + 1, sum.saturating_add(time)))
    };
    let span = |ns: i64| report::span(Nanos(ns));
    let parts = [
        (of(false), "of measuring on this machine, and some tenths of a second between two runs"),
        (of(true), "of time in guests of the lab, which take several times as long on this machine's clock"),
    ];
    let told = parts.iter().filter(|((count, _), _)| *count > 0).map(|((_, ns), what)| format!("{} {what}", span(*ns)));
    told.collect::<Vec<_>>().join("; ")
}

fn begin(args: &Args, path: &Path) -> Outcome {
    let mut plan = asked(args, path).map_err(Failure::bad_input)?;
    guests_can_begin(checked(&plan).map_err(Failure::bad_input)?.iter())?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let output = args.output.clone().unwrap_or_else(|| output::new_name(&stem, ""));
    if output.symlink_metadata().is_ok() {
        let error = anyhow!("{} exists already: choose another name with -o, or go on with it: --resume", output.display());
        return Err(Failure::bad_input(error));
    }
    let signals = Signals::catch().context("cannot catch signals").map_err(Failure::not_carried_out)?;
    name_files(&mut plan, args.quiet).map_err(Failure::not_carried_out)?;
    let text = plan.as_run(plan.order.seed.unwrap_or_else(new_seed));
    // Read back, as it will be whenever somebody goes on with it: two names of one kernel, say, are one value from here on.
    let plan = Plan::read(path, &mut |_| Ok(text.clone())).map_err(Failure::bad_input)?;
    let points = checked(&plan).map_err(Failure::bad_input)?;
    let runs = runs(&plan, points.len()).map_err(Failure::bad_input)?;
    let labels: Vec<String> = points.iter().map(|point| point.label.clone()).collect();
    let folder = ResultsFolder::create(&output, &plan, &text, &labels, &runs).map_err(Failure::bad_input)?;
    carry_out(args, &folder, &points, &runs, &signals)
}

fn resume(args: &Args, path: &Path) -> Outcome {
    let folder = ResultsFolder::open(path).map_err(Failure::bad_input)?;
    let plan = read(&folder.plan()).map_err(Failure::bad_input)?;
    let points = checked(&plan).map_err(Failure::bad_input)?;
    let signals = Signals::catch().context("cannot catch signals").map_err(Failure::not_carried_out)?;
    let runs = runs(&plan, points.len()).map_err(Failure::bad_input)?;
    carry_out(args, &folder, &points, &runs, &signals)
}

/// The runs of a plan that was begun, in order.
fn runs(plan: &Plan, combinations: usize) -> anyhow::Result<Vec<PlannedRun>> {
    let seed = plan
        .order
        .seed
        .with_context(|| format!("{} has no seed: it was cut off while it was written", plan.at.file.display()))?;
    Ok(plan.order.runs(combinations, seed))
}

/// Gives each kernel its full name, with the version that is there, and gets those that are not: whoever goes on with the plan
/// next week is to have the same ones. Files get their full paths, to be found from anywhere.
fn name_files(plan: &mut Plan, quiet: bool) -> anyhow::Result<()> {
    let varied = plan.vary.iter_mut().flat_map(|factor| &mut factor.values);
    let settings = plan.measure.iter_mut().chain(varied).chain(plan.include.iter_mut().flatten());
    for setting in settings.chain(plan.exclude.iter_mut().flatten()) {
        let Value::Words(words) = &mut setting.value else { continue };
        let is_kernel = setting.key == "kernel";
        let is_path = ["modules", "dtb", "program"].contains(&setting.key.as_str());
        for word in words.iter_mut().filter(|_| is_kernel || is_path) {
            if is_path {
                let path = std::fs::canonicalize(&*word).with_context(|| format!("{}: {word}", setting.at))?;
                *word = path.display().to_string();
                continue;
            }
            let name: KernelName = word.parse()?;
            let found = kernels_of(std::slice::from_ref(&name), &mut |text| {
                if !quiet {
                    output::complain(text);
                }
            })?;
            *word = match (&name, found.first()) {
                (KernelName::Path(path), _) => std::fs::canonicalize(path)?.display().to_string(),
                (_, Some(kernel)) => kernel.name.clone(),
                (_, None) => continue,
            };
        }
    }
    Ok(())
}

fn carry_out(args: &Args, folder: &ResultsFolder, points: &[Point], runs: &[PlannedRun], signals: &Signals) -> Outcome {
    let work = Work { folder, points, runs, signals, jobs: args.jobs, quiet: args.quiet };
    let Ended { done, failed, signal } = work.carry_out()?;
    let path = folder.path().display();
    output::say(&format!("{done} of {} recorded, in {path}/", counted(runs.len(), "run")));
    if let Some(signal) = signal {
        output::complain(&format!("ended by {signal}; to go on: teiji run --resume {path}"));
    }
    if failed > 0 {
        let twice = if signal.is_some() { "" } else { " twice" };
        output::complain(&format!("{} failed{twice}; to try them again: teiji run --resume {path}", counted(failed, "run")));
    }
    Ok(if done == runs.len() { ExitCode::SUCCESS } else { ExitCode::from(NOT_CARRIED_OUT) })
}
