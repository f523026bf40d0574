// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji hackbench`: the benchmark, with the options and the output of the one in rt-tests.

use crate::exit::{CommandResult, DONE, Failure};
use crate::signals;
use anyhow::{Context, bail};
use load::{Benchmark, Channel};

/// What was said.
#[derive(clap::Args)]
pub struct Args {
    /// The old form: GROUPS [process|thread [LOOPS]]
    #[arg(num_args = 0..=3)]
    old: Vec<String>,
    /// Senders of a group, and its receivers
    #[arg(
        short,
        long,
        value_name = "NUM",
        default_value_t = 20,
        value_parser = clap::value_parser!(u16).range(1..=1_000),
    )]
    fds: u16,
    /// Give the parent SCHED_FIFO
    #[arg(short = 'F', long)]
    fifo: bool,
    /// Groups of senders and receivers
    #[arg(
        short,
        long,
        value_name = "NUM",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..=1_000),
    )]
    groups: u16,
    /// Messages of each sender to each receiver
    #[arg(
        short,
        long,
        value_name = "LOOPS",
        default_value_t = 100,
        value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
    )]
    loops: u64,
    /// Pass messages through pipes instead of sockets
    #[arg(short, long, conflicts_with = "inet")]
    pipe: bool,
    /// Pass messages through TCP connections
    #[arg(short, long)]
    inet: bool,
    /// Bytes of a message
    #[arg(
        short = 's',
        long,
        value_name = "SIZE",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
    )]
    datasize: u32,
    /// Threads instead of processes
    #[arg(short = 'T', long, overrides_with = "process")]
    threads: bool,
    /// Processes, the default
    #[arg(short = 'P', long, overrides_with = "threads")]
    process: bool,
}

/// Runs it.
pub fn run(args: &Args) -> CommandResult {
    let benchmark = decide(args)?;
    if !args.old.is_empty() {
        complain!(
            "teiji hackbench: rt-tests' hackbench since 2.0 passes over the form GROUPS \
             [process|thread [LOOPS]], and runs 10 groups; here it counts"
        );
    }
    let Benchmark { groups, side, loops, message, threads, .. } = benchmark;
    let mode = if threads { "threaded" } else { "process" };
    let (each, tasks) = (2 * side, 2 * side * groups);
    say!(
        "Running in {mode} mode with {groups} groups using {each} file descriptors each (== \
         {tasks} tasks)"
    );
    say!("Each sender will pass {loops} messages of {message} bytes");
    // As rt-tests' hackbench: stopped, it ends with 0 and says the time so far, or with threads it
    // ends by the signal and says nothing more.
    let signals = (!threads).then(signals::catch_as_rt_tests).transpose()?;
    let is_stopped = || signals.as_ref().is_some_and(|signals| signals.caught().is_some());
    let time = benchmark
        .run(&is_stopped)
        .context("the benchmark could not be run")
        .map_err(Failure::run_failed)?;
    if is_stopped() {
        say!("signaling {tasks} worker threads to terminate");
    }
    say!("Time: {:.3}", time.as_secs_f64());
    Ok(DONE)
}

fn decide(args: &Args) -> anyhow::Result<Benchmark> {
    let mut benchmark = Benchmark {
        groups: args.groups.into(),
        side: args.fds.into(),
        loops: args.loops,
        message: usize::try_from(args.datasize)?,
        channel: match (args.pipe, args.inet) {
            (true, _) => Channel::Pipe,
            (_, true) => Channel::Tcp,
            _ => Channel::Socket,
        },
        threads: args.threads,
        fifo: args.fifo,
    };
    let mut old = args.old.iter();
    if let Some(groups) = old.next() {
        benchmark.groups = groups
            .parse()
            .ok()
            .filter(|groups| (1..=1_000).contains(groups))
            .with_context(|| format!("'{groups}' is not a number of groups: from 1 to 1000"))?;
    }
    match old.next().map(String::as_str) {
        None => {}
        Some("process" | "processes") => benchmark.threads = false,
        Some("thread" | "threads") => benchmark.threads = true,
        Some(other) => bail!("'{other}' is neither process nor thread"),
    }
    if let Some(loops) = old.next() {
        benchmark.loops = loops
            .parse()
            .ok()
            .filter(|loops| (1..=1_000_000_000).contains(loops))
            .with_context(|| format!("'{loops}' is not a number of loops"))?;
    }
    Ok(benchmark)
}
