// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab search`: a run with a large latency, on purpose, how to make it again, and what it
//! came from.

mod explore;
mod recipe;
mod results;

use super::guest_flags::{self, GuestFlags};
use super::run::{checked, lab_run};
use crate::commands::explain;
use crate::commands::help::{self, OUTPUT};
use crate::commands::lab::show::Show;
use crate::commands::run_flags::{RunFlags, priority};
use crate::exit::{CommandResult, Failure, RUN_FAILED};
use crate::live::Display;
use crate::output;
use crate::signals;
use anyhow::{Context, ensure};
use explore::{Explorer, Limits, Means};
use lab::{KernelName, Target};
use model::Account;
use plan::{GuestTime, LoadSpec, Nanos, SearchLoad, SearchSpace, Unit};
use results::Results;
use runner::Signals;
use std::path::PathBuf;
use std::time::Duration;

#[derive(clap::Args)]
#[command(after_help = help::MORE, after_long_help = help::OF_PROBES)]
pub struct Args {
    /// The kernel: debian:FLAVOUR, debian:FLAVOUR=VERSION, or the path of an image [default:
    /// debian:amd64]
    #[arg(
        short,
        long,
        value_name = "KERNEL",
        default_value = "debian:amd64",
        hide_default_value = true
    )]
    kernel: KernelName,
    /// How long to search
    #[arg(
        long = "for",
        value_name = "TIME",
        default_value = "10m",
        value_parser = guest_flags::seconds,
        help_heading = "Search",
    )]
    for_time: Duration,
    /// Try this many runs, however long they take, before what did not matter is looked for
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "for_time",
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        help_heading = "Search",
    )]
    runs: Option<u32>,
    /// Intervals that may be tried, such as 200us..5ms [default: only that of --interval]
    #[arg(
        long,
        value_name = "A..B",
        value_parser = intervals,
        conflicts_with = "interval",
        help_heading = "Search",
    )]
    intervals: Option<(Nanos, Nanos)>,
    /// Priorities of the measuring threads that may be tried, such as 50..95 [default: only that
    /// of --prio]
    #[arg(
        long,
        value_name = "A..B",
        value_parser = prios,
        conflicts_with = "prio",
        help_heading = "Search",
    )]
    prios: Option<(u8, u8)>,
    /// What is tried, and in which order, follows from this
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Search")]
    seed: u64,
    #[command(flatten)]
    measured: RunFlags,
    #[command(flatten, next_help_heading = "On which machine")]
    guest: GuestFlags,
    /// Guests at once [default: as many as this machine has CPUs]
    #[arg(
        short,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=256),
        help_heading = "Search",
        hide_short_help = true,
    )]
    jobs: Option<u32>,
    /// The folder for what is found; must not exist [default: teiji-search-DATE-TIME]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Print what was found as JSON on standard output, and nothing else
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    json: bool,
    /// Show no progress
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

/// Loads that may run where none are named: each disturbs the kernel in another way.
const LOADS: [&str; 7] = ["hackbench", "mem-alloc", "mem-fault", "fork", "disk", "timer", "net"];
/// How long a run measures where nobody says. Shorter ones are more runs, but see less of each.
const LENGTH: Nanos = Nanos::from_secs(1);

fn range<T: PartialOrd>(
    text: &str,
    one: impl Fn(&str) -> anyhow::Result<T>,
) -> anyhow::Result<(T, T)> {
    let (least, most) =
        text.split_once("..").with_context(|| format!("'{text}' is no range: expected A..B"))?;
    let (least, most) = (one(least.trim())?, one(most.trim())?);
    ensure!(least <= most, "'{text}' ends before it begins");
    Ok((least, most))
}

fn intervals(text: &str) -> anyhow::Result<(Nanos, Nanos)> {
    range(text, |text| {
        let interval = Nanos::parse(text, Unit::Microsecond)?;
        ensure!(interval.0 > 0, "an interval is above 0");
        Ok(interval)
    })
}

fn prios(text: &str) -> anyhow::Result<(u8, u8)> {
    range(text, |text| {
        let prio = priority(text)?;
        ensure!((1..=99).contains(&prio), "{prio}: real-time priorities are 1 (lowest) to 99");
        Ok(u8::try_from(prio)?)
    })
}

pub fn run(args: &Args) -> CommandResult {
    let quiet = args.quiet || args.json;
    let output = args.output.clone().unwrap_or_else(|| output::new_name("teiji-search", ""));
    executor::check_new(&output)?;
    let loads = loads(&args.measured)?;
    let measured = args.measured.with_length(LENGTH);
    let mut has_times = true;
    for guest in args.guest.guests(std::slice::from_ref(&args.kernel))? {
        if guest.time == GuestTime::Host {
            let why = "a search needs virtual time: on the host's clock no run can be made again. \
                       Use --time virtual";
            refuse!(why);
        }
        has_times &= check_ends(args, &measured, &loads, &guest)?;
    }
    let target = args.guest.target_of(&args.kernel, quiet)?;
    let signals = signals::catch()?;
    executor::new_folder(&output)?;

    let space = SearchSpace {
        loads: loads
            .into_iter()
            .map(|spec| SearchLoad { varies_level: varies_level(&spec), spec })
            .collect(),
        varies_times: has_times,
        intervals: args.intervals,
        prios: args.prios,
    };
    let limits = Limits { time: args.for_time, runs: args.runs };
    let mut show = Show::new(Display::lines(quiet));
    let mut explorer = Explorer::new(space, args.seed, &measured, &target, &output, &limits);
    let jobs = super::run::jobs(args.jobs, [target.guest.time]);
    let mut with = Means { jobs, signals: &signals, show: &mut show };
    let tried = explorer.explore(&mut with).and_then(|()| explorer.make_simpler(&mut with));
    if tried.is_err() {
        // Only if nothing is in it.
        let _ = std::fs::remove_dir(&output);
    }
    tried?;
    show.clear();
    let found = explorer.end()?;
    if let Some(signal) = signals.caught() {
        complain!("Interrupted by {signal}: this is what was found until then");
    }
    let recipe =
        recipe::write(&output.join(results::RECIPE), &found, &target).map_err(Failure::run_failed);
    let (explained, not_explained) = explained(&found, &target, &signals, quiet);
    // What took so long to find is said and kept, whatever became of its explanation.
    let results = Results {
        output: &output,
        args,
        target: &target,
        found: &found,
        explained: explained.as_deref(),
    };
    let document = model::document_text(&results.json())?;
    let everything = output::write_whole(&output.join(results::EVERYTHING), &document)
        .map_err(Failure::run_failed);
    output::say(&if args.json { document } else { results.text() });
    recipe.and(everything).and(not_explained)?;
    // It was to search for longer, or to explain what it found.
    Ok(if signals.caught().is_some() { RUN_FAILED } else { 0 })
}

/// The loads that were named, or the usual ones.
fn loads(measured: &RunFlags) -> anyhow::Result<Vec<LoadSpec>> {
    let given = &measured.loads;
    if given.is_empty() {
        LOADS.iter().map(|name| Ok(name.parse()?)).collect()
    } else {
        Ok(given.to_vec())
    }
}

fn varies_level(spec: &LoadSpec) -> bool {
    spec.level().is_none() && load::has_level(spec.name())
}

/// Refuses what no candidate could be, before anything is fetched: all loads at once, at both ends
/// of what may be varied. Returns whether the run is long enough for loads to start and stop in it.
fn check_ends(
    args: &Args,
    measured: &RunFlags,
    loads: &[LoadSpec],
    guest: &plan::Guest,
) -> Result<bool, Failure> {
    let mut has_times = true;
    let ends = |range: Option<(u8, u8)>| {
        range.map_or(vec![None], |(least, most)| vec![Some(least), Some(most)])
    };
    let intervals =
        args.intervals.map_or(vec![None], |(least, most)| vec![Some(least), Some(most)]);
    for (interval, prio) in intervals
        .iter()
        .flat_map(|interval| ends(args.prios).into_iter().map(move |prio| (interval, prio)))
    {
        let flags = measured.varied(loads.to_vec(), *interval, prio);
        let run = checked(&flags, "1".parse()?, guest)?;
        has_times &= SearchSpace::has_times(run.measured_ns());
    }
    Ok(has_times)
}

/// Where the largest latency went, which also shows that the run can be made again; none where it
/// cannot be explained. And what else kept it from being explained.
fn explained(
    found: &explore::Found,
    target: &Target,
    signals: &Signals,
    quiet: bool,
) -> (Option<Vec<Account>>, Result<(), Failure>) {
    if signals.caught().is_some() {
        return (None, Ok(()));
    }
    if let Err(why) = explain::suits(&found.worst) {
        if !quiet {
            complain!("Not explained: {why}");
        }
        return (None, Ok(()));
    }
    match (explain::worst(&found.worst, target, signals, quiet), signals.caught()) {
        (Ok(accounts), _) => (Some(accounts), Ok(())),
        (Err(_), Some(signal)) => {
            complain!("Interrupted by {signal}: the largest latency is not explained");
            (None, Ok(()))
        }
        (Err(failure), None) => (None, Err(failure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends_in_order() {
        assert_eq!(
            intervals("200us..5ms").unwrap(),
            (Nanos::from_micros(200), Nanos::from_millis(5))
        );
        assert_eq!(intervals("1ms..1ms").unwrap(), (Nanos::from_millis(1), Nanos::from_millis(1)));
        assert_eq!(prios("50..95").unwrap(), (50, 95));
        for (wrong, why) in [
            ("1ms", "no range"),
            ("2ms..1ms", "ends before"),
            ("0us..1ms", "above 0"),
            ("a..b", "a"),
        ] {
            assert!(intervals(wrong).unwrap_err().to_string().contains(why), "{wrong}");
        }
        assert!(prios("0..5").is_err() && prios("5..100").is_err() && prios("50").is_err());
    }

    #[test]
    fn usual_loads_are_loads() {
        for name in LOADS {
            let spec: LoadSpec = name.parse().unwrap();
            let limits = load::Limits { memory: 1 << 28, probe_prio: Some(90), loads: LOADS.len() };
            load::check_elsewhere(&spec, &[plan::CpuId(0)], &[plan::CpuId(0)], &limits).unwrap();
        }
        assert!(varies_level(&"mem-alloc".parse().unwrap()));
        assert!(
            !varies_level(&"mem-alloc@30%".parse().unwrap())
                && !varies_level(&"hackbench".parse().unwrap())
        );
    }
}
