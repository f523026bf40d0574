// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program: reads the command line, hands it to its verb, and turns what comes back into an
//! exit code.
//!
//! What the codes mean is in `exit.rs`.
#![forbid(unsafe_code)]

// First, as they have macros: what is said, and what is refused.
#[macro_use]
mod output;
#[macro_use]
mod exit;

mod commands;
mod hints;
mod key;
mod live;
mod overwrite;
mod signals;
mod suggestion;
#[cfg(test)]
mod suggestion_tests;

use clap::{Parser, Subcommand};
use commands::{OnceAsked, help};
use exit::Failure;
use probe::Monotonic;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use system::rights;

/// musl's own asks the kernel for each block of some pages and gives it back at once, a tenth of
/// what a short run costs.
#[global_allocator]
static MEMORY: system::Allocator = system::Allocator;

/// Measure and judge wake-up latency on Linux: how late a thread runs after the time it asked to be
/// woken
#[derive(Parser)]
#[command(
    name = "teiji",
    version,
    max_term_width = help::COLUMNS,
    after_help = format!("{}\n\n{}", help::EXAMPLES, exit::CODES)
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Measure latency, now, on this machine: of wake-ups, or of what --probe names
    Measure(OnceAsked<Box<commands::measure::Args>>),
    /// Run a plan: every combination of its factors
    Run(OnceAsked<commands::run::Args>),
    /// List the shipped plans, and what each measures
    Plans(OnceAsked<commands::plans::Args>),
    /// List the probes: what each measures, what it needs, and whether this machine has it
    Probes(OnceAsked<commands::probes::Args>),
    /// Check what about this machine costs latency, and what to do about it
    Check(OnceAsked<commands::check::Args>),
    /// Change what costs latency on this machine, and put it back
    Tune(OnceAsked<commands::tune::Args>),
    /// Keep this machine busy, and report the CPU use reached
    Load(OnceAsked<commands::load::Args>),
    /// Pass messages between groups of tasks, and time it: rt-tests' hackbench
    Hackbench(OnceAsked<commands::hackbench::Args>),
    /// Measure and print as rt-tests' cyclictest does, with its options
    #[command(disable_help_flag = true)]
    Cyclictest(commands::cyclictest::Args),
    /// Say what is wrong with a command line or an output of cyclictest, and what teiji's is
    Lint(OnceAsked<commands::lint::Args>),
    /// Print the summary of recordings again
    Show(OnceAsked<commands::show::Args>),
    /// Recompute every figure of recordings from their samples
    Verify(OnceAsked<commands::verify::Args>),
    /// Make recordings of outputs of other programs: cyclictest, oslat, rtla, Xenomai's latency ...
    Import(OnceAsked<commands::import::Args>),
    /// Write a recording as CSV, or as cyclictest, Prometheus and others read it
    Export(OnceAsked<commands::export::Args>),
    /// Write a recording again without names of hosts, users, processes and files
    Anonymise(OnceAsked<commands::anonymise::Args>),
    /// Make one offline HTML page of recordings
    Report(OnceAsked<commands::report::Args>),
    /// Compare recordings: significant differences, with confidence intervals
    Compare(OnceAsked<commands::compare::Args>),
    /// Explain the largest latencies: by instructions of the lab, or by the events of --explain
    Explain(OnceAsked<commands::explain::Args>),
    /// Check recordings against limits: pass, fail, or not enough evidence
    Gate(OnceAsked<commands::gate::Args>),
    /// Print how long a run must be to establish a rate
    PlanLength(OnceAsked<commands::plan_length::Args>),
    /// Boot real kernels in an emulator, in virtual time, and measure in them
    Lab(OnceAsked<Box<commands::lab::Args>>),
    /// Write manual pages, and completions for shells
    Pages(OnceAsked<commands::pages::Args>),
    /// Become a load: only started by teiji itself
    #[command(name = commands::load_worker::VERB, hide = true)]
    LoadWorker(OnceAsked<commands::load_worker::Args>),
    /// Be the first process of a kernel in the lab: only started by such a kernel
    #[command(name = lab::INIT_VERB, hide = true)]
    LabInit(OnceAsked<commands::lab_init::Args>),
    /// Become the lab's emulator: only started by teiji itself
    #[command(name = lab::EMULATOR_VERB, hide = true)]
    LabEmulator(OnceAsked<commands::lab_emulator::Args>),
}

/// The verbs with real-time threads or loads. They alone keep rights that the program has and its
/// caller lacks.
const REAL_TIME_VERBS: [&str; 6] =
    ["measure", "run", "load", "hackbench", "cyclictest", commands::load_worker::VERB];

/// Verbs by whose name the program may be called too, through a link.
const NAMES: [&str; 2] = ["cyclictest", "hackbench"];

/// The words of the command line: called through a link of a verb's name, as if the verb stood
/// there.
fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let called = words.first().and_then(|word| Path::new(word).file_name());
    if let Some(verb) = NAMES.iter().find(|verb| called == Some(OsStr::new(verb))) {
        words[0] = "teiji".into();
        words.insert(1, verb.into());
    }
    words
}

fn main() -> ExitCode {
    let started = Monotonic.now();
    let words = words();
    // Before anything else is read.
    if let Err(error) = rights::settle(
        words.get(1).is_some_and(|verb| REAL_TIME_VERBS.iter().any(|known| verb == known)),
    ) {
        return Failure::run_failed(error).report().into();
    }
    // Before anything is parsed: a kernel hands on to its first process whatever argument it does
    // not know itself.
    if commands::lab_init::is_first_process() {
        commands::lab_init::first_process();
    }
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return unread(error, &words).into(),
    };
    if is_to_put_right_first(&cli.verb) && !rights::are_lent() {
        commands::tune::put_right_killed();
        if matches!(
            cli.verb,
            Verb::Measure(_) | Verb::Run(_) | Verb::Check(_) | Verb::Cyclictest(_)
        ) {
            commands::tune::remove_left_tracing();
        }
    }
    let result = match cli.verb {
        Verb::Measure(OnceAsked(args)) => commands::measure::run(*args, started),
        Verb::Run(OnceAsked(args)) => commands::run::run(&args),
        Verb::Plans(OnceAsked(args)) => commands::plans::run(&args),
        Verb::Probes(OnceAsked(args)) => commands::probes::run(&args),
        Verb::Check(OnceAsked(args)) => commands::check::run(&args),
        Verb::Tune(OnceAsked(args)) => commands::tune::run(&args),
        Verb::Load(OnceAsked(args)) => commands::load::run(&args),
        Verb::Hackbench(OnceAsked(args)) => commands::hackbench::run(&args),
        Verb::Cyclictest(args) => commands::cyclictest::run(&args, started),
        Verb::Lint(OnceAsked(args)) => commands::lint::run(&args),
        Verb::Show(OnceAsked(args)) => commands::show::run(args),
        Verb::Verify(OnceAsked(args)) => commands::verify::run(&args),
        Verb::Import(OnceAsked(args)) => commands::import::run(&args),
        Verb::Export(OnceAsked(args)) => commands::export::run(&args),
        Verb::Anonymise(OnceAsked(args)) => commands::anonymise::run(&args),
        Verb::Report(OnceAsked(args)) => commands::report::run(args),
        Verb::Compare(OnceAsked(args)) => commands::compare::run(args),
        Verb::Explain(OnceAsked(args)) => commands::explain::run(&args),
        Verb::Gate(OnceAsked(args)) => commands::gate::run(args),
        Verb::PlanLength(OnceAsked(args)) => commands::plan_length::run(&args),
        Verb::Pages(OnceAsked(args)) => commands::pages::run(&args),
        Verb::Lab(OnceAsked(args)) => commands::lab::run(&args),
        Verb::LabInit(OnceAsked(args)) => commands::lab_init::run(&args),
        Verb::LabEmulator(OnceAsked(args)) => Ok(commands::lab_emulator::run(&args)),
        Verb::LoadWorker(OnceAsked(args)) => return commands::load_worker::run(&args),
    };
    exit::of_output(result.unwrap_or_else(|failure| failure.report()), output::has_failed()).into()
}

/// Whether the machine is to be as it was before a tuning was killed, before this begins. What
/// teiji itself starts comes after that, and `tune` knows best what it is to put back.
fn is_to_put_right_first(verb: &Verb) -> bool {
    match verb {
        Verb::LoadWorker(_) | Verb::LabInit(_) | Verb::LabEmulator(_) => false,
        Verb::Tune(OnceAsked(args)) => args.leaves_settings(),
        _ => true,
    }
}

/// A command line that cannot be read, or that asks for help.
fn unread(mut error: clap::Error, words: &[OsString]) -> u8 {
    hints::remove_trailing_tip(&mut error);
    let hint = match hints::histogram_hint(words) {
        Some(hint) if !error.use_stderr() => {
            output::complain("error: -h asks for help here, and takes no number");
            Some(hint)
        }
        _ => {
            let hint = hints::hint(words, &error);
            if hint.is_some() {
                hints::remove_guesses(&mut error);
            }
            if error.use_stderr() {
                output::complain(error.render().to_string().trim_end());
            } else {
                output::note(error.print());
                let options = commands::probe_flags::options_of_named(words);
                if !options.is_empty() {
                    output::say(&options);
                }
            }
            hint
        }
    };
    match hint {
        None if !error.use_stderr() => {
            return exit::of_output(exit::DONE, output::has_failed());
        }
        None => {}
        Some(hint) => complain!("\n{hint}"),
    }
    exit::BAD_INPUT
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        assert!(commands::help::EXAMPLES.lines().all(|line| line.len() <= output::WIDTH));
    }

    /// What is in the table is tried by `tests/cli/lent_rights.rs`.
    #[test]
    fn the_page_on_rights_has_every_verb() {
        let page = include_str!("../../../docs/rights.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let keeping =
            rows.clone().filter(|(_, cells)| cells.starts_with(" | `CAP_")).map(|(verb, _)| verb);
        assert_eq!(keeping.collect::<Vec<_>>(), REAL_TIME_VERBS);
        let cli = Cli::command();
        let verbs: BTreeSet<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(rows.map(|(verb, _)| verb).collect::<BTreeSet<_>>(), verbs);
    }
}
