// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji tune --prove`: which changes help on this machine, each measured by itself, and only
//! those are made.

use super::prove_block::{Measuring, Quantity};
use super::prove_change::{Proved, Verdict, prove};
use super::signals::Signals;
use super::{
    Args, apply_plan, complain_of, has_failed, planned, prove_text, put_right, say_what_stays,
};
use crate::commands::run::new_seed;
use crate::commands::{measure, run_flags};
use crate::exit::{CommandResult, DONE, Failure, RUN_FAILED};
use crate::output;
use anyhow::anyhow;
use executor::{SettingError, checked_run};
use host::HostRoot;
use plan::{
    CpuId, DEFAULT_PROBE, Interval, Length, LoadSpec, Nanos, Policy, ProbeSettings, Run, Scheduling,
};
use runner::PreparedRun;
use stats::{RoundOrder, judged_level, latencies_for, min_rounds};
use std::path::Path;
use tune::{ChangeResult, Tuning, TuningOptions, TuningPlan};

/// With what it is measured.
#[derive(clap::Args)]
#[command(next_help_heading = "With --prove")]
pub struct ProveFlags {
    /// Length of a block. Four of them are a round, two with the change and two without [default:
    /// 1s]
    #[arg(
        short,
        long,
        requires = "prove",
        value_name = "TIME",
        value_parser = run_flags::seconds,
        allow_hyphen_values = true,
    )]
    duration: Option<Nanos>,

    /// Rounds for each change [default: two more than it takes to show an effect]
    #[arg(
        long,
        requires = "prove",
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=MAX_ROUNDS),
    )]
    rounds: Option<u16>,

    /// The figure that judges, a quantile or max [default: the highest quantile that 10 latencies
    /// of a block exceed]
    #[arg(long, requires = "prove", value_name = "QUANTITY")]
    quantity: Option<Quantity>,

    /// Time from one activation of a thread to the next [default: 1ms]
    #[arg(short, long, requires = "prove", value_name = "TIME", allow_hyphen_values = true)]
    interval: Option<Interval>,

    /// Real-time priority, 1 to 99 [default: 90]
    #[arg(
        short,
        long,
        requires = "prove",
        value_name = "PRIO",
        value_parser = run_flags::priority,
        allow_hyphen_values = true,
    )]
    prio: Option<i64>,

    /// Keep the machine busy meanwhile, as in teiji measure [repeatable]
    #[arg(long = "load", requires = "prove", value_name = "SPEC")]
    loads: Vec<LoadSpec>,

    /// Do not hold /dev/cpu_dma_latency at 0. For idle-states it is never held: it would hide them
    #[arg(long, requires = "prove")]
    no_dma_latency: bool,
}

impl ProveFlags {
    /// That of the threads that measure, where it was given.
    pub fn priority(&self) -> Option<u8> {
        self.prio.and_then(|prio| u8::try_from(prio).ok())
    }

    /// One that was given: clap lets them pass beside what excludes --prove.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--duration", self.duration.is_some()),
            ("--rounds", self.rounds.is_some()),
            ("--quantity", self.quantity.is_some()),
            ("--interval", self.interval.is_some()),
            ("--prio", self.prio.is_some()),
            ("--load", !self.loads.is_empty()),
            ("--no-dma-latency", self.no_dma_latency),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

/// Of a change: a day of blocks.
const MAX_ROUNDS: i64 = 1_000;
/// More than the fewest, so that a round or two may be against the others.
const SPARE_ROUNDS: usize = 2;
/// As `teiji measure` has it.
const WARMUP: Nanos = Nanos::from_millis(100);

/// The checks of a plan's changes, in their order.
fn checks(plan: &TuningPlan) -> Vec<&'static str> {
    let mut checks: Vec<&'static str> = plan.changes.iter().map(|change| change.check).collect();
    checks.dedup();
    checks
}

fn decide(flags: &ProveFlags, cpus: &[CpuId]) -> anyhow::Result<PreparedRun> {
    let scheduling = flags
        .prio
        .map_or(Ok(Scheduling::DEFAULT), |prio| Scheduling::new(Some(Policy::Fifo), Some(prio)))
        .map_err(SettingError::from)?;
    let probe = probe::choose(DEFAULT_PROBE, &ProbeSettings::new())?;
    let interval = flags.interval.as_ref().map(|interval| interval.nanos);
    let run = Run {
        length: Length::DurationNs(flags.duration.unwrap_or(Nanos::from_secs(1))),
        cpus: cpus.to_vec(),
        scheduling,
        warmup_ns: WARMUP,
        hold_dma_latency: !flags.no_dma_latency,
        // The recording of a block does not outlast it.
        sync: false,
        loads: flags.loads.clone(),
        ..Run::example(interval.unwrap_or_else(|| probe.default_interval()), 0)
    };
    measure::order(
        checked_run(run, &probe)?,
        probe,
        Vec::new(),
        Path::new("block.teiji").to_owned(),
        &measure::process_cpus()?,
        probe::Monotonic.now(),
    )
}

/// The figure that judges, where a block has enough for it.
fn quantity(asked: Option<Quantity>, run: &Run) -> anyhow::Result<Quantity> {
    let due: u64 = (0..run.cpus.len()).map(|thread| run.activations_of(thread)).sum();
    let too_few = |what: &str, needed: u64| {
        anyhow!(
            "a block of {} has {due} activations, too few for {what}: {needed} are needed. \
             Lengthen it with --duration",
            run.measured_ns()
        )
    };
    match asked {
        None => judged_level(due)
            .map(Quantity::Quantile)
            .ok_or_else(|| too_few("any quantile", latencies_for(stats::Level::P50))),
        Some(Quantity::Quantile(level)) if due < latencies_for(level) => {
            Err(too_few(&level.to_string(), latencies_for(level)))
        }
        Some(quantity) => Ok(quantity),
    }
}

/// Measures each change, and makes those that help.
pub fn run(root: &HostRoot, args: &Args, options: &TuningOptions) -> CommandResult {
    if args.root != Path::new("/") {
        refuse!("--prove measures this machine. It cannot be used with --root");
    }
    if args.json {
        // Standard output is for JSON.
        probe::keep_standard_output();
    }
    let flags = &args.measured;
    // What is asked for wrongly changes nothing, not even what an earlier call left.
    let order = decide(flags, &planned(root, options)?.cpus)?;
    let quantity = quantity(flags.quantity, &order.run)?;
    let signals = Signals::catch(false)?;
    let of_runner = crate::signals::catch()?;
    let mut tuning = Tuning::begin(root)?;
    let mut failed = put_right(&mut tuning)?;
    say_what_stays(&tuning);
    let plan = planned(root, options)?;
    let names = checks(&plan);
    let mut measuring = Measuring {
        order,
        quantity,
        changes: names.len(),
        rounds: 0,
        seed: new_seed(),
        recording: tuning.recording(),
        signals: &signals,
        of_runner,
    };
    let needed = min_rounds(measuring.error());
    measuring.rounds = flags.rounds.map_or(needed + SPARE_ROUNDS, usize::from);
    say_before(args, &plan, &measuring, needed);
    let (proved, signal) = prove_all(root, args, options, &mut tuning, &names, &measuring)?;
    failed |= proved.iter().any(|one| {
        [&one.refused, &one.stuck, &one.changed_meanwhile]
            .into_iter()
            .any(|results| has_failed(results))
    });
    if let Some(signal) = signal {
        if args.json {
            say!("{:#}\n", prove_text::as_json(&plan.cpus, &measuring, &proved, None));
        }
        let so_far = format!("{} of {} changes were measured", proved.len(), names.len());
        return Err(Failure::run_failed(anyhow!(
            "ended by {signal}. {so_far}. Everything is put back, and nothing is kept"
        )));
    }
    let (kept, results) = keep(root, options, &mut tuning, &proved, &signals)?;
    failed |= has_failed(&results);
    if args.json {
        say!(
            "{:#}\n",
            prove_text::as_json(&plan.cpus, &measuring, &proved, Some((kept.as_ref(), &results)))
        );
    } else if !proved.is_empty() {
        output::say(&prove_text::ending(&proved, kept.as_ref(), &results));
    }
    Ok(if failed { RUN_FAILED } else { DONE })
}

/// Each change by itself, up to a signal, which is the second part.
fn prove_all(
    root: &HostRoot,
    args: &Args,
    options: &TuningOptions,
    tuning: &mut Tuning,
    names: &[&'static str],
    measuring: &Measuring<'_>,
) -> Result<(Vec<Proved>, Option<&'static str>), Failure> {
    let mut proved = Vec::new();
    let mut orders = RoundOrder::new(measuring.seed);
    for check in names {
        let plan = planned(root, &only(options, &[check]))?;
        let Some(one) = prove(tuning, check, plan, measuring, &mut orders)? else {
            return Ok((proved, measuring.caught().or(Some("a signal"))));
        };
        complain_of(&one.refused, "not changed");
        complain_of(&one.stuck, "not put back");
        complain_of(&one.changed_meanwhile, "did not stay");
        if !args.json {
            output::say(&prove_text::change(&one, measuring.quantity));
        }
        proved.push(one);
    }
    Ok((proved, None))
}

/// The same for some checks only.
fn only(options: &TuningOptions, checks: &[&str]) -> TuningOptions {
    let only = checks.iter().map(|check| (*check).to_owned()).collect();
    TuningOptions {
        cpus: options.cpus.clone(),
        only,
        priority: options.priority,
        ..TuningOptions::default()
    }
}

/// Makes the changes that help, to stay.
fn keep(
    root: &HostRoot,
    options: &TuningOptions,
    tuning: &mut Tuning,
    proved: &[Proved],
    signals: &Signals,
) -> Result<(Option<TuningPlan>, Vec<ChangeResult>), Failure> {
    let helpful: Vec<&str> =
        proved.iter().filter(|one| one.verdict == Verdict::Helps).map(|one| one.check).collect();
    if helpful.is_empty() {
        return Ok((None, Vec::new()));
    }
    let plan = planned(root, &only(options, &helpful))?;
    let results = apply_plan(tuning, &plan, true, signals)?;
    Ok((Some(plan), results))
}

/// What to know before it begins.
fn say_before(args: &Args, plan: &TuningPlan, measuring: &Measuring<'_>, needed: usize) {
    if let Some(warning) = &measuring.order.granted.warning {
        output::complain(&measure::message(warning));
    }
    measuring.order.warnings.iter().for_each(measure::warn);
    for note in &plan.notes {
        complain!("note: {note}");
    }
    if measuring.changes > 0 && measuring.rounds < needed {
        complain!(
            "note: {} cannot show whether a change helps, {needed} can. No change will be kept",
            output::counted(measuring.rounds, "round")
        );
    }
    if let Some(note) = args.measured.interval.as_ref().and_then(Interval::note) {
        output::complain(&note);
    }
    if !args.json {
        output::say(&prove_text::beginning(&plan.cpus, measuring));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_takes_latencies_enough() {
        let run =
            Run { cpus: vec![CpuId(0), CpuId(1)], ..Run::example(Nanos::from_millis(1), 500) };
        let p = |text: &str| text.parse::<Quantity>();
        assert_eq!(
            quantity(None, &run).map(|quantity| quantity.to_string()).ok().as_deref(),
            Some("p99")
        );
        assert_eq!(quantity(p("max").ok(), &run).ok(), Some(Quantity::Max));
        assert_eq!(
            quantity(p("p99.9").ok(), &run).unwrap_err().to_string(),
            "a block of 500ms has 1000 activations, too few for p99.9: 10000 are needed. Lengthen \
             it with --duration"
        );
        let short = Run::example(Nanos::from_millis(1), 5);
        assert!(
            quantity(None, &short)
                .unwrap_err()
                .to_string()
                .contains("too few for any quantile: 20")
        );
        assert!(p("mean").is_err() && p("p100").is_err());
    }
}
