// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji lab exec`: programs in a guest, and what they cost.

use super::guest_flags::{self, GuestFlags};
use super::how_long::how_long_commands;
use super::show::Show;
use crate::exit::{CommandResult, EXCEEDED};
use crate::live::Display;
use crate::output;
use crate::signals;
use anyhow::{Context, bail};
use lab::{GuestCommand, KernelName};
use plan::{Guest, GuestTime, Nanos, Unit};
use serde_json::json;
use std::path::Path;

#[derive(clap::Args)]
pub struct Args {
    /// The kernel
    #[arg(short, long, value_name = "KERNEL", default_value = "debian:amd64")]
    kernel: KernelName,
    /// A command line, its program by the full path in the guest; this teiji is /teiji
    /// [repeatable]
    #[arg(long = "run", value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// A file to copy into the guest, to its own path or to the one after the = [repeatable]
    #[arg(long = "file", value_name = "FILE[=PATH]")]
    files: Vec<String>,
    /// Count the instructions of the whole machine, in virtual time; the processor is then never
    /// idle
    #[arg(long)]
    count: bool,
    /// Total time the commands may take, on the guest's clock
    #[arg(long, value_name = "TIME", default_value = "60s")]
    #[arg(value_parser = |text: &str| Nanos::parse(text, Unit::Second))]
    expect: Nanos,
    #[command(flatten, next_help_heading = "On which machine")]
    guest: GuestFlags,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub fn run(args: &Args) -> CommandResult {
    let quiet = args.quiet || args.json;
    let commands = commands(args)?;
    let files: Vec<(String, Vec<u8>)> =
        args.files.iter().map(|text| file(text)).collect::<Result<_, _>>()?;
    commands.iter().try_for_each(|command| check_copied(command, &files))?;
    let guests = args.guest.guests(std::slice::from_ref(&args.kernel))?;
    countable(args, &guests)?;
    let kernel = guest_flags::kernel(&args.kernel, quiet)?;
    let mut target = args.guest.target(kernel)?;
    countable(args, std::slice::from_ref(&target.guest))?;
    target = args.guest.with_qemu(target, quiet)?;
    target.check()?;
    target.files = files;
    // Only now: while a kernel is got nothing has begun, and a signal may end the program as ever.
    let signals = signals::catch()?;
    if !quiet {
        output::complain(&how_long_commands(&target, &commands));
    }
    let mut show = Show::new(Display::lines(quiet));
    let result = lab::execute(&target, commands, args.expect.duration(), &signals, &mut show);
    show.clear();
    let (costs, facts) = result?;
    let ns = facts.ns_per_instruction;
    let instructions = |busy: Option<u64>| busy.zip(ns).map(|(busy, ns)| busy / ns);
    if args.json {
        let commands: Vec<_> = costs
            .iter()
            .map(|costs| {
                json!({
                    "command": costs.words, "code": costs.code,
                    "stdout": costs.stdout, "stderr": costs.stderr,
                    "elapsed_ns": costs.elapsed_ns, "instructions": instructions(costs.busy_ns),
                })
            })
            .collect();
        let text = model::document_text(&json!({ "commands": commands, "lab": facts }))?;
        output::say(&text);
    } else {
        for costs in &costs {
            output::pass_on(&costs.stdout);
            output::complain(costs.stderr.trim_end());
            let took = format!(
                "{}: {} in the guest",
                costs.words.join(" "),
                Nanos(costs.elapsed_ns.cast_signed())
            );
            let counted = instructions(costs.busy_ns)
                .map_or_else(String::new, |n| format!(", {n} instructions"));
            let ended =
                costs.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            complain!("{took}{counted}, {ended}");
        }
    }
    Ok(if costs.iter().all(|costs| costs.code == Some(0)) { 0 } else { EXCEEDED })
}

fn countable(args: &Args, guests: &[Guest]) -> anyhow::Result<()> {
    if args.count && guests.iter().any(|guest| guest.time == GuestTime::Host) {
        bail!("--count counts virtual time, in which an instruction takes a fixed number of ns");
    }
    if args.count && guests.iter().any(|guest| guest.cpus > 1) {
        bail!("--count counts what one CPU executes: use it without --smp");
    }
    Ok(())
}

fn commands(args: &Args) -> anyhow::Result<Vec<GuestCommand>> {
    let command = |text: &String| {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words.with_context(|| {
            format!("--run '{text}': a quote is not closed, or there is no command")
        })?;
        if !words[0].starts_with('/') {
            bail!("--run '{text}': write the program's full path in the guest, such as /teiji");
        }
        Ok(GuestCommand { words, counted: args.count })
    };
    args.commands.iter().map(command).collect()
}

/// A program that no flag copies into the guest cannot be there, unless by a link or in /proc.
fn check_copied(command: &GuestCommand, files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
    let program = &command.words[0];
    let name = program.trim_start_matches('/');
    let has_links = name.split('/').any(|part| matches!(part, "" | "." | ".." | "proc"));
    if name != "teiji" && !has_links && !files.iter().any(|(to, _)| to == name) {
        bail!(
            "--run '{}': the guest has no {program}: copy a static program there with --file \
             FILE={program}",
            command.words.join(" ")
        );
    }
    Ok(())
}

/// The path in the guest without its first slash, and the content.
fn file(text: &str) -> anyhow::Result<(String, Vec<u8>)> {
    let (from, to) = text.split_once('=').unwrap_or((text, text));
    let content = std::fs::read(from).with_context(|| format!("--file {from}"))?;
    let to = Path::new(to);
    if !to.is_absolute()
        || to.components().any(|part| matches!(part, std::path::Component::ParentDir))
    {
        bail!(
            "--file {text}: give the path in the guest from its root, as in --file \
             {from}=/bin/name"
        );
    }
    Ok((to.display().to_string().trim_start_matches('/').to_owned(), content))
}
