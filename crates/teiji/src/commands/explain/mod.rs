// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji explain`: where the largest latencies of a recording went.
//!
//! A run with `--explain` has accounts from the kernel's events in its recording, which are shown
//! (`watched.rs`). One of the lab is explained to the ns:
//!
//! The run is made again, twice, with a plugin in QEMU: the first time it shows when the wake-ups
//! were, the second time it keeps what was executed before those that are asked for. Both must give
//! the samples that were recorded.

mod again;
mod choose;
mod show;
mod source;
mod watched;

use crate::commands::lab::{AgainFlags, Show, how_long_again, range};
use crate::commands::run_flags;
use crate::exit::{CommandResult, DONE, Failure};
use crate::live::Display;
use crate::signals;
use crate::suggestion::command;
use again::Again;
use anyhow::{Context, anyhow};
use choose::Chosen;
use explain::{Asked, Dump, Kernel, Processor, Symbols, Vmlinux, Woken, align};
use lab::{LabError, Target};
use model::{Account, Recorded};
use plan::{Machine, Nanos};
use recording::Recording;
use report::Language;
use runner::Signals;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Default, clap::Args)]
pub struct Args {
    /// A recording made with `measure --explain`, or in the lab
    #[arg(value_name = "REC")]
    recording: PathBuf,
    #[command(flatten)]
    which: Which,
    /// The kernel's uncompressed image with debug information, for file and line of each place in
    /// its source
    #[arg(long, value_name = "FILE")]
    vmlinux: Option<PathBuf>,
    #[command(flatten)]
    files: show::Files,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten, next_help_heading = "On which machine")]
    again: AgainFlags,
}

/// Which activations are explained.
#[derive(Default, clap::Args)]
#[group(multiple = false)]
struct Which {
    /// The N with the largest latencies [default: 1 of the lab, otherwise all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    worst: Option<u16>,
    /// This one, of the thread that was the later there [repeatable]
    #[arg(long, value_name = "K")]
    activation: Vec<u64>,
    /// Those with a latency above this, the worst 1,000 at most; without a unit µs
    #[arg(long, value_name = "TIME", value_parser = run_flags::micros)]
    above: Option<Nanos>,
}

pub fn run(args: &Args) -> CommandResult {
    let recorded = Recording::open(&args.recording).and_then(Recording::summarise)?;
    if recorded.document.lab.is_none() {
        return watched::show(args, &recorded);
    }
    suits(&recorded)?;
    if args.vmlinux.is_some() {
        source::suits(&recorded)?;
    }
    args.files.check()?;
    let chosen = Chosen::of(&recorded, &args.which)?;
    // Who names a part of the machine wants it made again with that.
    if args.vmlinux.is_none()
        && args.again == AgainFlags::default()
        && let Some(accounts) = show::kept_before(args, &recorded, &chosen)
    {
        if !args.quiet && !args.json {
            show::say_kept(args, &accounts);
        }
        show::show_kept(args, &recorded, &accounts)?;
        return Ok(DONE);
    }
    let vmlinux = args.vmlinux.as_deref().map(source::open).transpose()?;
    let target = target(args, &recorded)?;
    if !args.quiet && !args.json {
        say_how_long(&recorded, &target);
    }
    let signals = signals::catch()?;
    let mut show = Show::new(Display::lines(args.quiet || args.json));
    let accounts =
        explained(args, &recorded, &chosen, target, vmlinux.as_ref(), &signals, &mut show);
    show.clear();
    let accounts = accounts?;
    show::show(args, &recorded, &accounts)?;
    Ok(DONE)
}

/// How long the run took when it was recorded, and how long it takes to explain it.
fn say_how_long(recorded: &Recorded, target: &Target) {
    if let Some((took, again)) = how_long_again(recorded, target) {
        complain!(
            "The run took {took} when it was recorded. To explain it, it is made twice\nmore, and \
             watched: about {}.",
            range(lab::expected_to_explain(again))
        );
    }
}

/// The machine of a recording. One with another kernel would have another account, even if its
/// latencies were the same.
fn target(args: &Args, recorded: &Recorded) -> Result<Target, Failure> {
    let Some(facts) = recorded.document.lab.as_ref() else {
        refuse!("it was not recorded in the lab");
    };
    let target = args.again.target(recorded, facts, args.quiet || args.json)?;
    let name = recorded.path.display();
    for changed in lab::changed_files(facts, &target)? {
        if changed.decides_account() {
            refuse!("{name}: {changed}");
        }
        complain!("{name}: {changed}");
    }
    Ok(target)
}

/// Explains the largest latency of a recording that was made on this machine and can be explained,
/// and keeps that in it.
pub fn worst(
    recorded: &Recorded,
    target: &Target,
    signals: &Signals,
    quiet: bool,
) -> Result<Vec<Account>, Failure> {
    let args = Args { quiet, ..Args::default() };
    let chosen = Chosen::of(recorded, &args.which)?;
    let mut show = Show::new(Display::lines(quiet));
    let accounts = explained(&args, recorded, &chosen, target.clone(), None, signals, &mut show);
    show.clear();
    show::kept_in(recorded, &accounts?)
}

/// Whether a recording can be explained at all.
pub fn suits(recorded: &Recorded) -> anyhow::Result<()> {
    let name = recorded.path.display();
    let document = &recorded.document;
    let Some(facts) = document.lab.as_ref() else {
        refuse!(
            "{name} was not recorded in the lab: only there the same instructions can be run \
             again. Record with: teiji lab run"
        );
    };
    if processor(facts.guest.machine).is_none() {
        refuse!(
            "{name} was recorded on {}: only guests of the machines x86_64 and aarch64 can be \
             explained",
            facts.guest.machine
        );
    }
    if !facts.deterministic {
        refuse!(
            "{name} ran on the host's clock, and no two such runs are the same. Measure again \
             with teiji lab run --time virtual"
        );
    }
    crate::commands::anonymise::check_settings_known(recorded)?;
    // Both say it; where they differ, it is not known what its columns are.
    let probes = [document.run.probe.as_str(), document.probe.name.as_ref()];
    if let Some(other) = probes.into_iter().find(|probe| *probe != plan::DEFAULT_PROBE) {
        refuse!(
            "{name} was recorded by the probe {other}: only wake-ups, of cyclic, can be explained"
        );
    }
    if !recording::verify(recorded).is_empty() {
        refuse!(
            "{name} is damaged: its samples are not those that were recorded. See: {}",
            command(&[&"verify", &recorded.path])
        );
    }
    if document.threads.iter().any(|thread| !thread.detail.is_samples()) {
        refuse!("{name} holds no samples: it is not known when its wake-ups were");
    }
    Ok(())
}

/// The processor of a machine whose guests can be explained.
const fn processor(machine: Machine) -> Option<Processor> {
    match machine {
        Machine::X86_64 => Some(Processor::X86_64),
        Machine::Aarch64 => Some(Processor::Aarch64),
        Machine::Armv7 | Machine::Raspi3b => None,
    }
}

/// What became of guests that were to make the run again.
fn not_made_again(error: LabError) -> Failure {
    match error {
        LabError::Interrupted(signal) => Failure::run_failed(anyhow!(
            "interrupted by {signal}. Nothing was explained, and the recording is as it was"
        )),
        error => error.into(),
    }
}

fn explained(
    args: &Args,
    recorded: &Recorded,
    chosen: &Chosen,
    target: Target,
    vmlinux: Option<&Vmlinux>,
    signals: &Signals,
    show: &mut Show,
) -> Result<Vec<Account>, Failure> {
    let Some(facts) = recorded.document.lab.as_ref() else { return Ok(Vec::new()) };
    let Some(processor) = processor(facts.guest.machine) else { return Ok(Vec::new()) };
    show.heading = Some(" The kernel's symbols".to_owned());
    let listed = lab::symbols(&target, signals, show).map_err(not_made_again)?;
    let symbols = Symbols::parse(&listed).map_err(Failure::run_failed)?;
    let lines = vmlinux.map(|vmlinux| source::lines(vmlinux, args, &listed)).transpose()?;
    let mut again = Again { recorded, facts, target, signals, show };
    let rate = again.rate(processor);

    let begun = Instant::now();
    let found = again.run(&[], &[], " Finding the wake-ups: the first of two runs")?;
    let took = report::span(Nanos::from(begun.elapsed()), Language::English);
    let found = Dump::parse(&found, processor).map_err(Failure::run_failed)?;
    let counts = align(&found.wakes, &chosen.samples, rate).map_err(Failure::run_failed)?;
    let windows = chosen.windows(&counts);

    let heading = format!(" Recording what ran: the second of two runs. The first took {took}");
    let dump = again.run(&windows, &again::addresses(&symbols, processor), &heading)?;
    let dump = Dump::parse(&dump, processor).map_err(Failure::run_failed)?;
    let find = |address| lines.as_ref()?.find(address);
    let kernel = Kernel::new(&symbols);
    let kernel = if lines.is_some() { kernel.with_source(&find) } else { kernel };
    let accounts = chosen.worst_first.iter().map(|sample| {
        let window = dump.windows.iter().find(|window| window.end == counts[*sample]);
        let window = window
            .context("QEMU's plugin did not keep what was executed")
            .map_err(Failure::run_failed)?;
        let latency_ns = chosen.latency_ns(*sample);
        let Woken { thread, activation, cpu, .. } = chosen.samples[*sample];
        let asked = Asked {
            thread,
            activation,
            latency_ns,
            cpu,
            ns_per_instruction: rate.ns_per_instruction,
        };
        let account = explain::account(&dump, window, &kernel, &asked);
        is_of_thread(&account)?;
        Ok(account)
    });
    accounts.collect()
}

/// Refuses an account that ends in another thread than the one that measured.
fn is_of_thread(account: &Account) -> Result<(), Failure> {
    let wanted = probe::thread_name(account.thread);
    match account.parts.last().and_then(|part| part.task.as_ref()) {
        Some(task) if *task != wanted => Err(Failure::run_failed(anyhow!(
            "what was found to be activation {} of {wanted} is {task}'s, so nothing is explained: \
             please report this as a defect of teiji",
            account.activation
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_thread_did_is_refused() {
        let account = |task: Option<&str>| -> Account {
            let part = serde_json::json!({
                "kind": "thread", "begin_ns": 0, "length_ns": 33, "task": task, "called_by": [],
                "mostly": [],
            });
            let account = serde_json::json!({
                "thread": 1, "activation": 7, "latency_ns": 33, "parts": [part],
            });
            serde_json::from_value(account).unwrap()
        };
        assert!(is_of_thread(&account(Some("teiji-1"))).is_ok());
        // Nothing is known of the task where the kernel lists no variables.
        assert!(is_of_thread(&account(None)).is_ok());
        assert!(is_of_thread(&account(Some("teiji-0"))).is_err());
    }
}
