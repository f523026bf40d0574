// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji measure`: one run, now.

use crate::commands::load_worker;
use crate::exit::{BAD_INPUT, EXCEEDED, Failure, NOT_CARRIED_OUT, Outcome};
use crate::live::Live;
use crate::output;
use anyhow::Context;
use plan::{CpuId, CpuList, Length, LoadSpec, MOST_THREADS, Missed, Nanos, Policy, Probe, Run, RunError, Scheduling, Unit};
use recording::End;
use runner::{Order, RunnerError, Signals, carry_out, grant};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    /// Time between two wake-ups, such as 200us or 1ms; a bare number counts microseconds
    #[arg(short, long, value_name = "TIME", default_value = "1ms", value_parser = micros, allow_hyphen_values = true)]
    interval: Nanos,
    /// Activations due per thread: N x interval is the length of the run
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "duration", value_parser = count::<u64>, allow_hyphen_values = true)]
    samples: Option<u64>,
    /// Length of the run, such as 10s or 3h; a bare number counts seconds [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = seconds, allow_hyphen_values = true)]
    duration: Option<Nanos>,
    /// Number of threads, placed in turn on the CPUs [default: one on each CPU]
    #[arg(short, long, value_name = "N", value_parser = count::<usize>, allow_hyphen_values = true)]
    threads: Option<usize>,
    /// CPUs to measure, one pinned thread on each, such as 1-3,!2 [default: all this process may use]
    #[arg(short = 'a', long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// Real-time priority, 1 to 99 [default: 90]
    #[arg(short, long, value_name = "PRIO", value_parser = priority, allow_hyphen_values = true)]
    prio: Option<i64>,
    /// Scheduling policy: fifo, rr, other, batch or idle [default: fifo]
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,
    /// Lengthen each further thread's interval by this
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = micros, allow_hyphen_values = true)]
    distance: Nanos,
    /// Start all threads at one instant, the n-th shifted by n x TIME [default without this: spread over one interval]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "0us", value_parser = micros)]
    aligned: Option<Nanos>,
    /// Let the threads run so long before the first wake-up that counts
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = micros, allow_hyphen_values = true)]
    warmup: Nanos,
    /// End the run, with exit code 1, when a latency exceeds this
    #[arg(short, long, value_name = "TIME", value_parser = micros, allow_hyphen_values = true)]
    break_above: Option<Nanos>,
    /// After an overrun, run the missed activations late instead of skipping them
    #[arg(long)]
    catch_up: bool,
    /// Do not hold /dev/cpu_dma_latency at 0: let CPUs sleep as deeply as they are set up to
    #[arg(long)]
    no_dma_latency: bool,
    /// Keep the machine busy meanwhile: NAME[@LEVEL][,key=value]..., such as cpu@50% or hackbench,groups=10 [repeatable]
    #[arg(long = "load", value_name = "SPEC")]
    loads: Vec<LoadSpec>,
    /// The recording's folder; must not exist [default: teiji-DATE-TIME.teiji]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// What to call the run in summaries and reports
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Print run.json on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

fn micros(text: &str) -> Result<Nanos, plan::DurationError> {
    Nanos::parse(text, Unit::Microsecond)
}

fn seconds(text: &str) -> Result<Nanos, plan::DurationError> {
    Nanos::parse(text, Unit::Second)
}

fn count<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number above 0"))
}

fn priority(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a priority: real-time priorities are 1 (lowest) to 99 (highest)"))
}

/// Carries out a run.
pub fn run(args: &Args, started: Nanos) -> Outcome {
    let order = decide(args, started).map_err(Failure::bad_input)?;
    let signals = Signals::catch().context("cannot catch signals").map_err(Failure::not_carried_out)?;
    if let Some(warning) = &order.granted.warning {
        output::complain(&format!("{} To change that: {}", warning.message, warning.next_step));
    }
    let mut live = Live::new(args.quiet || args.json);
    let result = carry_out(&order, &signals, &mut live);
    live.clear();
    let recorded = result.map_err(failure)?;
    if args.json {
        output::say(&recording::document_text(&recorded.document).map_err(Failure::not_carried_out)?);
    } else {
        output::say(&report::terminal_summary(&recorded));
        output::say(&format!("Recording: {}", recorded.path.display()));
    }
    Ok(match &recorded.document.end {
        Some(End::BreakAbove { .. }) => ExitCode::from(EXCEEDED),
        Some(End::Guard { .. }) => ExitCode::from(NOT_CARRIED_OUT),
        Some(End::RecordingFailed { error }) => {
            output::complain(&format!("error: the recording ended early: {error}"));
            ExitCode::from(BAD_INPUT)
        }
        _ => ExitCode::SUCCESS,
    })
}

/// A folder that cannot be written is the user's to change; threads and loads that do not start are the machine's.
fn failure(error: RunnerError) -> Failure {
    match error {
        RunnerError::Recording(error) => Failure::bad_input(error),
        RunnerError::Probe(_) | RunnerError::Load(_) => Failure::not_carried_out(error),
    }
}

/// From what was said to what will be done. Everything that can be found wrong is found wrong here.
fn decide(args: &Args, started: Nanos) -> anyhow::Result<Order> {
    let available = probe::allowed_cpus().context("cannot read which CPUs this process may use")?;
    let cpus = args.cpus.as_ref().map_or(Ok(available.clone()), |list| list.resolve(&available))?;
    let run = Run {
        title: args.title.clone(),
        probe: Probe::Cyclic,
        interval_ns: args.interval,
        distance_ns: args.distance,
        length: match (args.samples, args.duration) {
            (Some(samples), _) => Length::Samples(samples),
            (None, duration) => Length::DurationNs(duration.unwrap_or(Nanos::from_secs(10))),
        },
        cpus: place(args.threads, &cpus)?,
        scheduling: Scheduling::new(args.policy, args.prio)?,
        aligned_ns: args.aligned,
        warmup_ns: args.warmup,
        break_above_ns: args.break_above,
        missed: if args.catch_up { Missed::CatchUp } else { Missed::Skip },
        hold_dma_latency: !args.no_dma_latency,
        loads: args.loads.clone(),
    };
    run.check()?;
    let granted = grant(run.scheduling);
    let limits = load::Limits::here(Some(granted.scheduling.prio.unwrap_or(0)), run.loads.len());
    let loads = run.loads.iter().map(|spec| load::check(spec, &cpus, &available, &limits)).collect::<Result<_, _>>()?;
    Ok(Order {
        granted,
        run,
        loads,
        load_verb: load_worker::VERB,
        directory: args.output.clone().unwrap_or_else(default_directory),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_started: started,
    })
}

/// Each thread's CPU: one thread on each, or as many threads as asked, in turn.
fn place(threads: Option<usize>, cpus: &[CpuId]) -> Result<Vec<CpuId>, RunError> {
    match threads {
        None => Ok(cpus.to_vec()),
        Some(asked) if asked == 0 || asked > MOST_THREADS => Err(RunError::Threads { asked, limit: MOST_THREADS }),
        Some(threads) => Ok(cpus.iter().copied().cycle().take(threads).collect()),
    }
}

/// `teiji-20261120-083015.teiji`, UTC; with a number where that exists.
fn default_directory() -> PathBuf {
    let time = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let stamp: String = time.chars().filter_map(|c| if c == 'T' { Some('-') } else { c.is_ascii_digit().then_some(c) }).collect();
    let name = |number: u32| {
        PathBuf::from(if number == 1 { format!("teiji-{stamp}.teiji") } else { format!("teiji-{stamp}-{number}.teiji") })
    };
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_on_cpus() {
        let cpus = [CpuId(1), CpuId(3)];
        assert_eq!(place(None, &cpus).unwrap(), cpus);
        assert_eq!(place(Some(3), &cpus).unwrap(), [CpuId(1), CpuId(3), CpuId(1)]);
        assert!(place(Some(0), &cpus).is_err());
    }

    #[test]
    fn the_default_name_is_a_date_and_a_time() {
        let name = default_directory().display().to_string();
        assert!(
            name.starts_with("teiji-20") && name.ends_with(".teiji") && name.len() >= "teiji-20261120-083015.teiji".len(),
            "{name}"
        );
    }
}
