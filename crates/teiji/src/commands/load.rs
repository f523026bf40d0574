// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji load`: loads alone, and what they reached.

use crate::commands::load_worker;
use crate::commands::measure::process_cpus;
use crate::exit::{CommandResult, EXCEEDED, Failure, RUN_FAILED};
use crate::live::sheet::{Charts, Row, SECONDS, Sheet};
use crate::live::{Display, Drawing, decimal, rows};
use crate::output;
use crate::signals;
use anyhow::ensure;
use load::{Limits, LoadNow, Loads, check, check_times};
use plan::{CpuList, LoadSpec, Nanos, Phase, Unit};
use report::Language;
use std::collections::{BTreeMap, VecDeque};
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
    /// Show a full screen: CPU use now and in the last minute
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    live: bool,
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
    let display = Display::asked(args.live, args.quiet || args.json)?;
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
    let mut drawing = Drawing::new(display, EVERY);
    let mut minute = Minute::default();
    loop {
        loads.poll();
        let now = Instant::now();
        let all_dead = loads.now().iter().all(|load| !load.alive);
        if signals.caught().is_some() || end.is_some_and(|end| now >= end) || all_dead {
            break;
        }
        let elapsed = now - start;
        minute.add(elapsed, &loads);
        drawing.show(
            || draw(&loads.now(), elapsed, args.duration, rows()),
            || sheet(&loads.now(), elapsed, args.duration, &minute),
        );
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
    let mut lines = vec![how_far(elapsed, length), format!("{UNIT}:"), columns()];
    lines.extend(now.iter().take(rows.saturating_sub(5).max(1)).map(line));
    lines
}

const UNIT: &str = "percent of one CPU, on each";

fn how_far(elapsed: Duration, length: Option<Nanos>) -> String {
    let of = length.map_or_else(
        || "; Ctrl-C ends it".to_owned(),
        |length| format!(" of {} s", length.0 / 1_000_000_000),
    );
    format!("{} s{of}", elapsed.as_secs())
}

fn columns() -> String {
    format!(" {:<WIDEST$} {:>6} {:>6} {:>6} {:>6}", "load", "asked", "now", "mean", "worst")
}

fn line(load: &LoadNow) -> String {
    let state = if load.alive { "" } else { "  stopped!" };
    format!(
        " {:<WIDEST$} {:>6} {:>6} {:>6} {:>6}{state}",
        shortened(&load.spec),
        decimal(load.requested),
        decimal(load.latest),
        decimal(load.reached.map(|reached| reached.mean)),
        decimal(load.reached.map(|reached| reached.worst_second)),
    )
}

/// CPU use of each load in each second of the last minute, for a screen.
#[derive(Default)]
struct Minute {
    /// Of the second that was added last.
    second: Option<u64>,
    loads: Vec<VecDeque<Option<f64>>>,
}

impl Minute {
    /// Once a second what the loads had in the last one.
    fn add(&mut self, elapsed: Duration, loads: &Loads) {
        if self.second.replace(elapsed.as_secs()) != Some(elapsed.as_secs()) {
            self.add_second(&loads.now());
        }
    }

    fn add_second(&mut self, now: &[LoadNow]) {
        self.loads.resize_with(now.len(), VecDeque::new);
        for (minute, load) in self.loads.iter_mut().zip(now) {
            minute.push_back(load.latest);
            minute.drain(..minute.len().saturating_sub(SECONDS));
        }
    }
}

fn sheet(now: &[LoadNow], elapsed: Duration, length: Option<Nanos>, minute: &Minute) -> Sheet {
    let row = |(load, minute): (&LoadNow, &VecDeque<Option<f64>>)| Row {
        text: line(load),
        name: shortened(&load.spec),
        charts: Some(Charts {
            histogram: None,
            title: "CPU use in each second of the last minute, %, and what was asked for",
            minute: minute.iter().copied().collect(),
            steps: SECONDS,
            full: Some(100.0),
            asked: load.requested,
        }),
    };
    Sheet {
        how_far: how_far(elapsed, length),
        unit: UNIT,
        columns: columns(),
        rows: now.iter().zip(&minute.loads).map(row).collect(),
        of: "load",
        ..Sheet::default()
    }
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

    #[test]
    fn what_a_screen_shows() {
        let load = |latest: f64| LoadNow {
            spec: "cpu@50%".to_owned(),
            requested: Some(50.0),
            latest: Some(latest),
            reached: None,
            rate: BTreeMap::new(),
            alive: true,
        };
        let mut minute = Minute::default();
        (0..70).for_each(|second| minute.add_second(&[load(f64::from(second))]));
        let sheet = sheet(&[load(69.0)], Duration::from_secs(70), None, &minute);
        assert_eq!(sheet.how_far, "70 s; Ctrl-C ends it");
        assert!(sheet.rows[0].text.starts_with(" cpu@50%  "), "{:?}", sheet.rows[0]);
        let charts = sheet.rows[0].charts.as_ref().unwrap();
        assert_eq!((charts.minute.len(), charts.steps), (SECONDS, SECONDS));
        assert_eq!((sheet.rows[0].name.as_str(), charts.asked), ("cpu@50%", Some(50.0)));
        assert_eq!((charts.minute[0], charts.minute[59]), (Some(10.0), Some(69.0)));
    }
}
