// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji measure`: one run, now.

use crate::commands::help::{self, OUTPUT};
use crate::commands::load_worker;
use crate::commands::run_flags::RunFlags;
use crate::exit::{CommandResult, EXCEEDED, Failure, of_end, of_verdict};
use crate::live::{Display, Live};
use crate::output;
use crate::signals;
use crate::suggestion::command;
use anyhow::{Context, anyhow};
use host::HostRoot;
use judge::{Gate, Verdict};
use model::{End, Recorded, TakenBy, Warning};
use plan::Limit;
use plan::{CpuId, MachineTime, Nanos, ProcessCpus, Run};
use probe::ChosenProbe;
use report::{ChartOptions, GateReport, Language, Report, warning_text};
use runner::{PreparedRun, RunnerError, Signals, TooShort, execute, grant, try_interval};
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use system::rights;

/// What was said.
#[derive(clap::Args)]
#[command(after_help = help::MORE, after_long_help = help::OF_PROBES)]
pub struct Args {
    #[command(flatten)]
    measured: RunFlags,
    /// The recording's folder, which must not exist [default: teiji-DATE-TIME.teiji]
    ///
    /// With several probes it is the folder of their recordings.
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// A limit, judged as by teiji gate: 'max<200us', 'p99.99<50us@95%', skipped==0 [repeatable]
    ///
    /// Exit code 1 if it fails, 3 if there is not enough evidence, 4 if the run is cut short
    /// and none fails.
    #[arg(long = "limit", value_name = "LIMIT", help_heading = OUTPUT)]
    limits: Vec<Limit>,
    /// Print run.json on standard output, and nothing else
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    json: bool,
    /// Show no progress
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
    /// Show a full screen: histogram, last minute, loads, largest latencies
    #[arg(long, help_heading = OUTPUT, conflicts_with_all = ["json", "quiet"])]
    live: bool,
    /// The command to start and measure, of the probe app
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "command")]
    words: Vec<String>,
}

impl Args {
    /// Why no machine could make this run.
    pub fn refused(&self) -> Option<String> {
        let mut measured = self.measured.clone();
        if !self.words.is_empty() {
            measured.probe.set_command(&self.words);
        }
        let mut each = measured.each().into_iter();
        each.find_map(|flags| flags.run(&[CpuId(0)]).err()).map(|error| error.to_string())
    }
}

/// Makes a run.
pub fn run(mut args: Args, started: Nanos) -> CommandResult {
    if !args.words.is_empty() {
        args.measured.probe.set_command(&args.words);
    }
    let args = &args;
    if args.json {
        // Standard output is for run.json.
        probe::keep_standard_output();
    }
    let display = Display::asked(args.live, args.quiet || args.json)?;
    let orders = decide_all(args, started)?;
    let signals = signals::catch()?;
    // Advice for a run that there will not be is none.
    if let Some(lacking) = orders.iter().find_map(|order| order.probe.lacking(&order.run)) {
        return Err(Failure::run_failed(lacking));
    }
    say_before(args, &orders);
    if let [_, _, ..] = &orders[..] {
        executor::new_folder(&folder_of(&orders))?;
    }
    let (recorded, gate, failed) = measured_in_turn(args, &orders, &signals, display);
    if recorded.is_empty() {
        if orders.len() > 1 {
            // It was made for the recordings, and only an empty one goes.
            let _ = std::fs::remove_dir(folder_of(&orders));
        }
        return Err(failed.unwrap_or_else(|| RunnerError::Interrupted.into()));
    }
    // A limit on runs of which one is missing has not been judged.
    let gate = gate.filter(|_| failed.is_none());
    say_after(args, orders.len(), &recorded, gate.as_ref())?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    Ok(code(&recorded, gate.map(|report| report.gate.verdict())))
}

/// A limit that was exceeded is, whatever ended the run. One that holds in part of a run need not
/// hold in the rest.
fn code(recorded: &[Recorded], verdict: Option<Verdict>) -> u8 {
    let ends = || recorded.iter().map(|recorded| of_end(&recorded.document));
    let limits = verdict.map_or(0, of_verdict);
    match ends().max() {
        _ if limits == EXCEEDED || ends().any(|end| end == EXCEEDED) => EXCEEDED,
        Some(ended @ 1..) => ended,
        _ => limits,
    }
}

/// What to know before it begins.
fn say_before(args: &Args, orders: &[PreparedRun]) {
    let mut said = Vec::new();
    for warning in orders.iter().filter_map(|order| order.granted.warning.as_ref()) {
        said.push(message(warning));
    }
    said.extend(orders.iter().filter(|_| !args.quiet).filter_map(chosen));
    said.extend(args.measured.interval_note().filter(|_| !args.quiet && !args.json));
    said.extend(orders.iter().flat_map(|order| &order.warnings).map(warning_line));
    let loud = orders.iter().filter(|_| !args.quiet);
    said.extend(loud.filter_map(|order| order.probe.waits_for(&order.run)));
    for (place, line) in said.iter().enumerate() {
        if !said[..place].contains(line) {
            output::complain(line);
        }
    }
}

/// One run after the other, up to one that failed, which is the second part. A signal ends them
/// all.
fn measured_in_turn(
    args: &Args,
    orders: &[PreparedRun],
    signals: &Signals,
    display: Display,
) -> (Vec<Recorded>, Option<GateReport>, Option<Failure>) {
    let exact = Limit::exact_request(&args.limits);
    let mut gate = (!args.limits.is_empty()).then(GateReport::default);
    let mut all = Vec::new();
    for order in orders {
        let is_stopped = signals.caught().is_some();
        let mut live = Live::new(if is_stopped { Display::Nothing } else { display });
        let result = if is_stopped {
            Err(RunnerError::Interrupted)
        } else {
            execute(order, signals, &mut live, gate.is_some().then_some(&exact))
        };
        live.clear();
        match result {
            Ok(examined) => {
                // At once: an analysis takes memory that the next run would lock.
                if let Some(gate) = &mut gate {
                    gate.add(Gate::judge(&args.limits, from_ref(&examined)), &examined);
                }
                all.push(examined.recorded);
            }
            Err(error) => {
                if orders.len() > 1 {
                    complain!("{} was not measured", order.run.probe);
                }
                return (all, gate, Some(error.into()));
            }
        }
    }
    (all, gate, None)
}

/// What came of it.
fn say_after(
    args: &Args,
    asked: usize,
    recorded: &[Recorded],
    gate: Option<&GateReport>,
) -> Result<(), Failure> {
    match recorded {
        [one] if args.json && asked == 1 => output::say(&model::document_text(&one.document)?),
        several if args.json => {
            let documents: Vec<_> = several.iter().map(|one| &one.document).collect();
            output::say(&model::document_text(&documents)?);
        }
        [one] if asked == 1 => {
            let options = ChartOptions::default();
            let report = Report::new(std::slice::from_ref(one), &[], &options);
            output::say(&report.terminal_summary(output::paint(), Language::English));
            say!("\nRecording: {}", one.path.display());
            say_names(args);
            let report = command(&[&"report", &one.path]);
            match &one.document.instrument.watched {
                Some(watched) if watched.accounted > 0 => {
                    say!("Next: {}\n      {report}", command(&[&"explain", &one.path]));
                }
                _ => say!("Next: {report}"),
            }
        }
        several => {
            let folder =
                several.first().and_then(|one| one.path.parent()).unwrap_or(Path::new("."));
            output::say(&report::side_by_side(several, Language::English));
            say!("Recordings: {}/", folder.display());
            say_names(args);
            say!("Next: {}", command(&[&"show", &folder]));
        }
    }
    if let Some(gate) = gate {
        // Standard output is for run.json where that was asked for.
        if args.json {
            output::complain(gate.text(Language::English).trim_end())
        } else {
            say!("\n{}", gate.text(Language::English))
        }
    }
    for one in recorded {
        if let Some(End::RecordingFailed { error }) = &one.document.end {
            complain!("error: the recording ended early: {error}");
        }
    }
    Ok(())
}

/// What to know before a recording is sent.
fn say_names(args: &Args) {
    if !args.quiet {
        output::say(&::report::has_names("teiji anonymise", Language::English));
    }
}

/// Says what is known of a run before it begins.
pub fn warn(warning: &Warning) {
    output::complain(&warning_line(warning));
}

/// What a warning says, what was seen, and what to do.
pub fn message(warning: &Warning) -> String {
    let text = warning_text(warning, Language::English);
    format!("{} Seen: {}. {}", text.message, text.evidence, text.next_step)
}

fn warning_line(warning: &Warning) -> String {
    format!("Warning: {}", message(warning))
}

/// The probe that nobody has named, where it is not the usual one.
fn chosen(order: &PreparedRun) -> Option<String> {
    let core = order.probe.co_kernel().filter(|core| core.chosen)?;
    let version = core.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let (name, abi, probe) = (&core.name, core.abi, &order.run.probe);
    Some(format!(
        "{name}{version} runs here (ABI revision {abi}): measuring on it, by the probe {probe}. \
         For the Linux beside it: --probe {}",
        plan::DEFAULT_PROBE
    ))
}

/// From what was said to what will be done. Everything that can be found wrong is found wrong here.
fn decide_all(args: &Args, started: Nanos) -> anyhow::Result<Vec<PreparedRun>> {
    let each = args.measured.each();
    let is_one = each.len() == 1;
    let directory = args
        .output
        .clone()
        .unwrap_or_else(|| output::new_name("teiji", if is_one { ".teiji" } else { "" }));
    let mut orders = each
        .iter()
        .map(|flags| decide(args, flags, &directory, started))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for place in 0..orders.len() {
        if is_one {
            break;
        }
        let probe = orders[place].run.probe.clone();
        if orders[..place].iter().any(|other| other.run.probe == probe) {
            return Err(anyhow!(
                "the probe {probe} would measure twice: name each once. auto is {} without a \
                 co-kernel",
                plan::DEFAULT_PROBE
            ));
        }
        orders[place].directory = directory.join(format!("{probe}.teiji"));
    }
    Ok(orders)
}

/// Of several runs, the folder with the recordings of all.
fn folder_of(orders: &[PreparedRun]) -> PathBuf {
    orders.first().and_then(|order| order.directory.parent()).unwrap_or(Path::new(".")).to_owned()
}

fn decide(
    args: &Args,
    flags: &RunFlags,
    directory: &Path,
    started: Nanos,
) -> anyhow::Result<PreparedRun> {
    let cpus = process_cpus()?;
    let run = flags.run(&flags.cpus(&cpus)?)?;
    let probe = flags.chosen_probe()?;
    judge::check_meaning(&args.limits, &[&probe.statement(&run)])?;
    let warnings = of_cpus(flags, &run, &cpus);
    let order =
        order(run, probe, warnings, directory.to_owned(), &cpus, started).map_err(|error| {
            match args.measured.interval_note() {
                Some(note) if error.is::<TooShort>() => anyhow!("{error}. {note}"),
                _ => error,
            }
        })?;
    Ok(PreparedRun { default_length: flags.has_default_length(), ..order })
}

/// The CPUs this process runs on, and those it may ask for.
pub fn process_cpus() -> anyhow::Result<ProcessCpus> {
    runner::process_cpus().context("cannot read which CPUs this process may use")
}

/// What to say of a run's CPUs: where nobody named them, of those that are left out and are there
/// to be measured; and of those that share a core.
pub fn of_cpus(flags: &RunFlags, run: &Run, cpus: &ProcessCpus) -> Vec<Warning> {
    let is_elsewhere =
        |probe: ChosenProbe| matches!(probe.statement(run).taken_by(), TakenBy::AnotherMachine);
    if flags.chosen_probe().is_ok_and(is_elsewhere) {
        return Vec::new();
    }
    let machine = HostRoot::system();
    let left_out = || {
        [
            runner::isolated_not_measured(run, cpus),
            host::cpus_not_allowed(&machine.online_cpus(), &cpus.usable),
        ]
    };
    let by_default = (!flags.names_cpus()).then(left_out).into_iter().flatten();
    by_default.chain([check::siblings_measured(&machine, &run.cpus)]).flatten().collect()
}

/// What the runner needs for a run on this machine, whose threads and loads may use these CPUs.
pub fn order(
    mut run: Run,
    probe: ChosenProbe,
    warnings: Vec<Warning>,
    directory: PathBuf,
    cpus: &ProcessCpus,
    started: Nanos,
) -> anyhow::Result<PreparedRun> {
    // First: a co-kernel may give this user the rights that are asked for next.
    let probe = probe.here(&mut run)?;
    probe.check(&run)?;
    let granted = grant(run.scheduling);
    let limits = load::Limits::for_loads(Some(granted.scheduling.rank()), run.loads.len());
    let loads = run
        .loads
        .iter()
        .map(|spec| load::check(spec, &cpus.inherited, &cpus.usable, &limits))
        .collect::<Result<Vec<_>, _>>()?;
    let elsewhere = runner::loads_elsewhere(&run, &loads);
    let measures_itself = probe.statement(&run).taken_by() == TakenBy::OwnThreads;
    let warnings = warnings
        .into_iter()
        .chain(elsewhere)
        .chain(runner::timeout(granted.scheduling).filter(|_| measures_itself))
        .chain(try_interval(&run, &probe, granted.scheduling)?)
        .collect();
    Ok(PreparedRun {
        statement: probe.statement(&run),
        probe,
        granted,
        warnings,
        run,
        default_length: false,
        loads,
        load_verb: load_worker::VERB,
        time: if rights::are_lent() { MachineTime::Real } else { lab::time_here() },
        directory,
        command_line: output::command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        program_started: started,
    })
}
