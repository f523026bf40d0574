// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji load`: loads alone, and what they reached.

use crate::commands::load_worker;
use crate::commands::measure::process_cpus;
use crate::exit::{CommandResult, EXCEEDED, Failure, RUN_FAILED};
use crate::live::{Drawing, decimal, rows};
use crate::output;
use crate::signals;
use anyhow::ensure;
use load::{Limits, LoadNow, Loads, check, check_times};
use plan::{CpuList, LoadSpec, Nanos, Phase, Unit};
use report::Language;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    /// Loads such as cpu@50%, mem-alloc@30%,cpus=1 or hackbench,groups=10,via=pipe
    #[arg(required = true, value_name = "SPEC")]
    loads: Vec<LoadSpec>,
    /// How long to run, such as 10s or 3h; a bare number counts seconds [default: until Ctrl-C]
    #[arg(short, long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    duration: Option<Nanos>,
    /// CPUs to keep busy, such as '1-3,!2' or all [default: the affinity inherited]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Print the CPU use reached as JSON on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

fn seconds(text: &str) -> anyhow::Result<Nanos> {
    let time = Nanos::parse(text, Unit::Second)?;
    ensure!(time.0 > 0, "invalid duration '{text}': must be above 0");
    Ok(time)
}

/// Between two polls.
const POLL: Duration = Duration::from_millis(100);
/// Looks per drawing.
const EVERY: u32 = 5;

/// Runs loads until their time is over or a signal comes.
pub fn run(args: &Args) -> CommandResult {
    let checked = decide(args)?;
    let signals = signals::catch()?;
    let cancelled = || signals.caught().is_some();
    let mut loads = Loads::start(
        checked,
        Phase::NONE,
        Path::new("/proc/self/exe"),
        load_worker::VERB,
        cancelled,
    )
    .map_err(Failure::run_failed)?;
    loads.begin();
    loads.measured_from(probe::Monotonic.now());
    let start = Instant::now();
    let end = args.duration.map(|time| start + time.duration());
    let mut drawing = Drawing::new(args.quiet || args.json, EVERY);
    loop {
        loads.poll();
        let now = Instant::now();
        let all_dead = loads.now().iter().all(|load| !load.alive);
        if signals.caught().is_some() || end.is_some_and(|end| now >= end) || all_dead {
            break;
        }
        drawing.show(|| draw(&loads.now(), now - start, args.duration, rows()));
        sleep(end.map_or(POLL, |end| POLL.min(end - now)));
    }
    // Without a time they run until a signal comes.
    let cut_short =
        signals.caught().zip(args.duration).filter(|_| end.is_some_and(|end| Instant::now() < end));
    let evidence = loads.stop();
    drawing.clear();
    for warning in loads.warnings() {
        let text = report::warning_text(&warning, Language::English);
        complain!("Warning: {} Seen: {}", text.message, text.evidence);
    }
    let all_held = evidence.iter().all(|load| load.alive && !load.off_target);
    output::say(&if args.json {
        model::document_text(&BTreeMap::from([("load", &evidence)])).map_err(Failure::run_failed)?
    } else {
        report::load_table(&evidence, Language::English)
    });
    if let Some((signal, asked)) = cut_short {
        complain!("stopped early by {signal}: the loads were to run for {asked}");
    }
    Ok(match all_held {
        false => EXCEEDED,
        true if cut_short.is_some() => RUN_FAILED,
        true => 0,
    })
}

fn decide(args: &Args) -> anyhow::Result<Vec<load::ValidatedLoad>> {
    let of_process = process_cpus()?;
    let cpus = args
        .cpus
        .as_ref()
        .map_or(Ok(of_process.inherited), |list| list.resolve(&of_process.usable))?;
    let limits = Limits::for_loads(None, args.loads.len());
    let length = args.duration.unwrap_or(Nanos(i64::MAX));
    args.loads.iter().try_for_each(|spec| check_times(spec, length, Nanos::ZERO))?;
    Ok(args
        .loads
        .iter()
        .map(|spec| check(spec, &cpus, &of_process.usable, &limits))
        .collect::<Result<_, _>>()?)
}

const WIDEST: usize = 28;

fn shortened(spec: &str) -> String {
    if spec.chars().count() <= WIDEST {
        spec.to_owned()
    } else {
        spec.chars().take(WIDEST - 3).collect::<String>() + "..."
    }
}

fn draw(now: &[LoadNow], elapsed: Duration, length: Option<Nanos>, rows: usize) -> Vec<String> {
    let of = length.map_or_else(
        || "; Ctrl-C ends it".to_owned(),
        |length| format!(" of {} s", length.0 / 1_000_000_000),
    );
    let mut lines = vec![
        format!("{} s{of}", elapsed.as_secs()),
        "percent of one CPU, on each:".to_owned(),
        format!(" {:<WIDEST$} {:>6} {:>6} {:>6} {:>6}", "load", "asked", "now", "mean", "worst"),
    ];
    for load in now.iter().take(rows.saturating_sub(5).max(1)) {
        let state = if load.alive { "" } else { "  stopped!" };
        lines.push(format!(
            " {:<WIDEST$} {:>6} {:>6} {:>6} {:>6}{state}",
            shortened(&load.spec),
            decimal(load.requested),
            decimal(load.latest),
            decimal(load.reached.map(|reached| reached.mean)),
            decimal(load.reached.map(|reached| reached.worst_second)),
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_shows() {
        let now = LoadNow {
            spec: "mem-alloc@50%,cpus=0-1,chunk=64M,period=20ms".to_owned(),
            requested: Some(50.0),
            latest: Some(49.95),
            reached: None,
            rate: BTreeMap::new(),
            alive: false,
        };
        let lines = draw(&[now], Duration::from_secs(3), Some(Nanos::from_secs(10)), 24);
        assert_eq!(lines[0], "3 s of 10 s");
        assert_eq!(lines[3], " mem-alloc@50%,cpus=0-1,ch...   50.0   50.0      -      -  stopped!");
        assert!(lines.iter().all(|line| line.len() < 80), "{lines:#?}");
    }
}
