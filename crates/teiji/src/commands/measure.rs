// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji measure`: one run, now.

use crate::commands::run_flags::RunFlags;
use crate::commands::{gate, load_worker};
use crate::exit::{CommandResult, Failure, of_end};
use crate::live::Live;
use crate::output;
use anyhow::{Context, anyhow};
use model::{End, Recorded, Warning};
use plan::Limit;
use plan::{MachineTime, Nanos, ProcessCpus, Run};
use probe::ProbeSettingError;
use report::{ChartOptions, Gate, Language, Report, warning_text};
use runner::{Order, RunnerError, Signals, TooShort, execute, grant, try_interval};
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
    /// A limit, judged as by `teiji gate`: 'max<200us', 'p99.99<50us@95%', 'sd<2us', 'skipped==0'. Exit code 1 if it fails, 3 if there is
    /// not enough evidence [repeatable]
    #[arg(long = "limit", value_name = "LIMIT")]
    limits: Vec<Limit>,
    /// Print run.json on standard output, and nothing else
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    /// The command to start and measure, of the probe app
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "command")]
    words: Vec<String>,
}

/// Makes a run.
pub fn run(mut args: Args, started: Nanos) -> CommandResult {
    if !args.words.is_empty() {
        args.measured.set_command(&args.words);
    }
    let args = &args;
    if args.json {
        // Standard output is for run.json.
        probe::keep_standard_output();
    }
    let order = decide(args, started).map_err(not_decided)?;
    let signals = Signals::catch().context("cannot catch signals").map_err(Failure::run_failed)?;
    // Advice for a run that there will not be is none.
    if let Some(lacking) = probe::lacking(&order.run) {
        return Err(Failure::run_failed(lacking));
    }
    if let Some(warning) = &order.granted.warning {
        // What lacks for the probe comes first: then there is nothing that the rights would change.
        if let Some(lacking) = probe::lacking(&order.run) {
            return Err(Failure::run_failed(lacking));
        }
        let text = warning_text(warning, Language::English);
        output::complain(&format!("{} To change that: {}", text.message, text.next_step));
    }
    if let Some(text) = chosen(&order).filter(|_| !args.quiet) {
        output::complain(&text);
    }
    if let Some(note) = args.measured.interval_note().filter(|_| !args.quiet && !args.json) {
        output::complain(&note);
    }
    for warning in &order.warnings {
        warn(warning);
    }
    let mut live = Live::new(args.quiet || args.json);
    let result = execute(&order, &signals, &mut live);
    live.clear();
    let recorded = result.map_err(failure)?;
    let gate = judged(args, &recorded)?;
    if args.json {
        output::say(&model::document_text(&recorded.document).map_err(Failure::run_failed)?);
    } else {
        let options = ChartOptions::default();
        let report = Report::new(std::slice::from_ref(&recorded), &[], &options);
        output::say(&report.terminal_summary(output::paint(), Language::English));
        output::say(&format!("\nRecording: {}", recorded.path.display()));
        output::say(&format!("Next: teiji report {}", output::quoted(&recorded.path)));
    }
    if let Some(gate) = &gate {
        // Standard output is for run.json where that was asked for.
        if args.json {
            output::complain(gate.text(Language::English).trim_end())
        } else {
            output::say(&format!("\n{}", gate.text(Language::English)))
        }
    }
    if let Some(End::RecordingFailed { error }) = &recorded.document.end {
        output::complain(&format!("error: the recording ended early: {error}"));
    }
    Ok(ExitCode::from(match of_end(&recorded.document) {
        0 => gate.map_or(0, |gate| gate::code(gate.verdict())),
        ended => ended,
    }))
}

/// Says what is known of a run before it begins.
pub fn warn(warning: &Warning) {
    let text = warning_text(warning, Language::English);
    output::complain(&format!("Warning: {} Seen: {}. {}", text.message, text.evidence, text.next_step));
}

/// The run held against its limits, from the disk, by what `teiji gate` does.
fn judged(args: &Args, recorded: &Recorded) -> Result<Option<Gate>, Failure> {
    if args.limits.is_empty() {
        return Ok(None);
    }
    let examined = super::examine(std::slice::from_ref(&recorded.path), &Limit::exact_request(&args.limits))?;
    Ok(Some(Gate::judge(&args.limits, &examined)))
}

/// A folder that cannot be written is the user's to change; threads and loads that do not start are the machine's.
fn failure(error: RunnerError) -> Failure {
    match error {
        RunnerError::Recording(error) => Failure::bad_input(error),
        RunnerError::Probe(_) | RunnerError::Load(_) | RunnerError::Thread { .. } | RunnerError::Interrupted => {
            Failure::run_failed(error)
        }
    }
}

/// What was said is the user's to change; what the machine lacks is not.
fn not_decided(error: anyhow::Error) -> Failure {
    let lacks = matches!(error.downcast_ref(), Some(ProbeSettingError::Lacks { .. }));
    if lacks { Failure::run_failed(error) } else { Failure::bad_input(error) }
}

/// The probe that nobody has named, where it is not the usual one.
fn chosen(order: &Order) -> Option<String> {
    let core = order.chosen_for.as_ref()?;
    let version = core.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let (name, abi, probe) = (&core.name, core.abi, &order.run.probe);
    Some(format!(
        "{name}{version} runs here (ABI revision {abi}): measuring on it, by the probe {probe}. For the Linux beside it: --probe {}",
        plan::DEFAULT_PROBE
    ))
}

/// From what was said to what will be done. Everything that can be found wrong is found wrong here.
fn decide(args: &Args, started: Nanos) -> anyhow::Result<Order> {
    let cpus = process_cpus()?;
    let run = args.measured.run(&args.measured.cpus(&cpus)?)?;
    gate::check_meaning(&args.limits, &probe::statement(&run)?)?;
    let directory = args.output.clone().unwrap_or_else(|| output::new_name("teiji", ".teiji"));
    let warnings = left_out(&args.measured, &run, &cpus).into_iter().collect();
    order(run, warnings, directory, &cpus, started).map_err(|error| match args.measured.interval_note() {
        Some(note) if error.is::<TooShort>() => anyhow!("{error}. {note}"),
        _ => error,
    })
}

/// The CPUs this process runs on, and those it may ask for.
pub fn process_cpus() -> anyhow::Result<ProcessCpus> {
    probe::process_cpus().context("cannot read which CPUs this process may use")
}

/// What to say where nobody named CPUs and some are left out that are there to be measured.
pub fn left_out(flags: &RunFlags, run: &Run, cpus: &ProcessCpus) -> Option<Warning> {
    if flags.names_cpus() { None } else { runner::isolated_not_measured(run, &cpus.usable) }
}

/// What the runner needs for a run on this machine, whose threads and loads may use these CPUs.
pub fn order(
    mut run: Run,
    warnings: Vec<Warning>,
    directory: PathBuf,
    cpus: &ProcessCpus,
    started: Nanos,
) -> anyhow::Result<Order> {
    let granted = grant(run.scheduling);
    let chosen_for = probe::choose(&mut run)?;
    let probe = probe::statement(&run)?;
    let limits = load::Limits::for_loads(Some(granted.scheduling.rank()), run.loads.len());
    let loads =
        run.loads.iter().map(|spec| load::check(spec, &cpus.inherited, &cpus.usable, &limits)).collect::<Result<Vec<_>, _>>()?;
    let elsewhere = runner::loads_elsewhere(&run, &loads);
    let warnings = warnings.into_iter().chain(elsewhere).chain(try_interval(&run, granted.scheduling)?).collect();
    Ok(Order {
        probe,
        chosen_for,
        granted,
        warnings,
        run,
        loads,
        load_verb: load_worker::VERB,
        time: MachineTime::Real,
        directory,
        command_line: output::command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_started: started,
    })
}
