// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji measure`: one run, now.

use crate::commands::load_worker;
use crate::commands::run_flags::RunFlags;
use crate::exit::{Failure, Outcome, of_end};
use crate::live::Live;
use crate::output;
use anyhow::Context;
use plan::{CpuId, Nanos, Run};
use recording::End;
use runner::{Order, RunnerError, Signals, carry_out, grant};
use std::path::PathBuf;
use std::process::ExitCode;

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    measured: RunFlags,
    /// The recording's folder; must not exist [default: teiji-DATE-TIME.teiji]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print run.json on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
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
    if let Some(End::RecordingFailed { error }) = &recorded.document.end {
        output::complain(&format!("error: the recording ended early: {error}"));
    }
    Ok(ExitCode::from(of_end(&recorded.document)))
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
    let cpus = args.measured.cpus(&available)?;
    let directory = args.output.clone().unwrap_or_else(|| output::new_name("teiji", ".teiji"));
    order(args.measured.run(&cpus)?, directory, &available, started)
}

/// What the runner needs for a run on this machine, whose threads and loads may use these CPUs.
pub fn order(run: Run, directory: PathBuf, available: &[CpuId], started: Nanos) -> anyhow::Result<Order> {
    let granted = grant(run.scheduling);
    let limits = load::Limits::here(Some(granted.scheduling.prio.unwrap_or(0)), run.loads.len());
    let loads = run.loads.iter().map(|spec| load::check(spec, &run.cpus, available, &limits)).collect::<Result<_, _>>()?;
    Ok(Order {
        granted,
        run,
        loads,
        load_verb: load_worker::VERB,
        directory,
        command_line: output::command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_started: started,
    })
}
