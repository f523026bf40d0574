// SPDX-License-Identifier: MIT OR Apache-2.0
//! The supervisor of one load: the process between the parent and the tasks.
//!
//! It sleeps except for one reading a second, on the load's own CPUs. Its own time is not counted
//! as the load's.

use crate::load_types::LoadType;
use crate::options::CommonOptions;
use crate::report::{BEGIN, GO, MEASURED_FROM, Report, SupervisorArgument, complain, explained};
use crate::settling::{Settling, WINDOW_NS};
use crate::spec;
use crate::sys::{self, SingleThreaded};
use crate::worker_pool::{Tasks, WorkerPool, now_ns};
use plan::{Policy, Scheduling};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, getpriority_process, getrlimit, setpriority_process,
    setrlimit,
};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;
use system::scheduling::{set_affinity, set_scheduling};

/// An order to end at once: what the load `fork` executes.
pub(crate) const NOTHING: &str = "nothing";

/// Between two readings of the tasks.
const READING_NS: u64 = 1_000_000_000;

/// The body of the hidden verb: runs one load on the orders of the [`crate::Loads`] that started
/// this process, until its stdin ends. `order` is the argument that stood after the verb.
///
/// To be called on the main thread before anything else has been done: it forks, so it refuses to
/// run beside other threads, and it takes over stdin, stdout, signals and scheduling of the whole
/// process.
pub fn worker(order: &str) -> ExitCode {
    if order == NOTHING {
        return ExitCode::SUCCESS;
    }
    let result = serde_json::from_str(order)
        .map_err(|error| {
            io::Error::other(format!("internal command: its order cannot be read: {error}"))
        })
        .and_then(|argument| supervise(&argument));
    let Err(error) = result else { return ExitCode::SUCCESS };
    let error = explained(&error);
    if say(&Report::Failed { error: error.clone() }).is_err() {
        complain(&error);
    }
    ExitCode::FAILURE
}

fn supervise(argument: &SupervisorArgument) -> io::Result<()> {
    let (load_type, generator, common) =
        spec::read(&argument.spec, argument.cpus.len(), argument.memory, argument.loads)
            .map_err(io::Error::other)?;
    let common = CommonOptions { seed: argument.seed, ..common };
    settle(argument, load_type, &common)?;
    let tasks = Tasks {
        name: load_type.name,
        size: generator.tasks(argument.cpus.len()),
        threads_per_task: generator.threads_per_task(argument.cpus.len()),
        counters: load_type.units.len(),
        starts_others: load_type.starts_others,
    };
    let mut pool = WorkerPool::new(SingleThreaded::check()?, tasks, argument.cpus.clone(), common)?;
    generator.assemble(&mut pool)?;
    pool.wait_ready()?;
    say(&Report::Prepared)?;
    obey(&mut pool, argument.shift_ns)
}

/// Follows orders until there are no more. A load that begins or is stopped while measuring is so
/// `shift_ns` later.
fn obey(pool: &mut WorkerPool, shift_ns: u64) -> io::Result<()> {
    // None: the tasks wait at the start barrier, or are gone; there is nothing to read.
    let mut reading_due_ns = None;
    let mut settling = None;
    let mut changes = VecDeque::new();
    let [start, stop] = pool.times();
    let mut works = false;
    let mut died = false;
    loop {
        let change_due_ns = changes.front().map(|(at_ns, _)| *at_ns);
        let next = next(reading_due_ns.into_iter().chain(change_due_ns).min())?;
        if let Some(failure) = pool.reap()
            && !std::mem::replace(&mut died, true)
        {
            say(&Report::Died { failure })?;
        }
        match next {
            Next::Order(GO) => {
                if start.is_none() {
                    pool.release();
                    works = true;
                    settling = Some(Settling::new(now_ns()));
                }
                say(&Report::Running(pool.full_reading()))?;
            }
            Next::Order(BEGIN) => {
                settling = None;
                say(&Report::Begun(pool.full_reading()))?;
            }
            Next::Order(MEASURED_FROM) => {
                let begin_ns = read_time()?;
                let at = |time: Duration| {
                    begin_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
                };
                changes
                    .extend(start.map(|start| (at(start).saturating_add(shift_ns), Change::Start)));
                changes.extend(stop.map(|stop| (at(stop).saturating_add(shift_ns), Change::Stop)));
            }
            Next::Order(other) => {
                return Err(io::Error::other(format!("there is no order {other}")));
            }
            Next::Due => match changes.pop_front_if(|(at_ns, _)| *at_ns <= now_ns()) {
                Some((_, Change::Start)) => {
                    // What a whole reading would find out is known, and taking one would disturb
                    // what is measured.
                    say(&Report::Started { at_ns: now_ns() })?;
                    pool.release();
                    works = true;
                }
                Some((_, Change::Stop)) => {
                    let last = pool.reading();
                    pool.stop();
                    works = false;
                    say(&Report::Stopped(last))?;
                }
                None => match &mut settling {
                    None => say(&Report::Second(pool.reading()))?,
                    Some(on_its_way) => {
                        if let Some(after_ns) =
                            on_its_way.observe(now_ns(), pool.work_done(), pool.has_worked())
                        {
                            settling = None;
                            say(&Report::Settled { after_ns })?;
                        }
                    }
                },
            },
            Next::Stop => return say(&Report::Final(pool.full_reading())),
        }
        // From the reading that was taken, not from the one that was due: so a second is never
        // shorter than one.
        reading_due_ns =
            works.then(|| now_ns() + if settling.is_some() { WINDOW_NS } else { READING_NS });
    }
}

/// What happens to a load while measuring.
#[derive(Clone, Copy)]
enum Change {
    /// Its tasks begin to work.
    Start,
    Stop,
}

/// The time that follows an order, CLOCK_MONOTONIC, ns.
fn read_time() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let mut length = 0;
    while length < bytes.len() {
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes[length..]) {
            Err(Errno::INTR) => {}
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            other => length += other?,
        }
    }
    Ok(u64::from_le_bytes(bytes))
}

/// What a supervisor waits for.
enum Next {
    /// An order of its parent.
    Order(u8),
    /// A reading or a change is due.
    Due,
    /// The end of orders.
    Stop,
}

/// Sleeps until there is an order, or the time has come.
fn next(due_ns: Option<u64>) -> io::Result<Next> {
    let stdin = rustix::stdio::stdin();
    loop {
        let left = due_ns.map(|due| Duration::from_nanos(due.saturating_sub(now_ns())));
        let timeout = left.map(Timespec::try_from).transpose().map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], timeout.as_ref()) {
            Err(Errno::INTR) => continue,
            Ok(0) => return Ok(Next::Due),
            other => other?,
        };
        let mut order = [0];
        match rustix::io::read(stdin, &mut order) {
            Err(Errno::INTR) => {}
            Ok(0) => return Ok(Next::Stop),
            other => return Ok(other.map(|_| Next::Order(order[0]))?),
        }
    }
}

/// Binds this process's life to its parent's and brings it to a known state, whatever the parent's
/// is.
///
/// The death signal is asked for here and not between fork and exec, because executing a program
/// with file capabilities (`setcap cap_sys_nice+ep`, as one does for real-time rights) takes it
/// away again.
fn settle(
    argument: &SupervisorArgument,
    load_type: &LoadType,
    common: &CommonOptions,
) -> io::Result<()> {
    if load_type.starts_others {
        // What others have started only this process can find and kill. It learns of its parent's
        // end by that of its stdin, and must live to do it; whoever down there loses a
        // parent becomes its child.
        rustix::process::set_child_subreaper(Some(getpid()))?;
    } else {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    }
    if getppid()
        .is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != argument.parent)
    {
        return Err(io::Error::other("the program that started this load has ended"));
    }
    rustix::thread::set_name(c"load-supervisor")?;
    sys::settle_signals()?;
    set_scheduling(None, Scheduling::OTHER)
        .map_err(|error| io::Error::other(format!("cannot take ordinary scheduling: {error}")))?;
    set_affinity(None, &argument.cpus).map_err(|error| {
        let cpus = plan::CpuList::format(&argument.cpus);
        io::Error::other(format!("cannot run on CPUs {cpus}: {error}; a cpuset may forbid them"))
    })?;
    raise_file_limit();
    if common.policy.is_real_time() {
        // Above its tasks, or it would never be asked to stop them.
        let name = common.policy.kernel_name();
        let above = Scheduling { policy: Policy::Fifo, prio: Some(common.prio + 1) };
        return set_scheduling(None, above).map_err(|error| {
            io::Error::other(format!("{name} {} may not be had: {error}", common.prio))
        });
    }
    take_precedence()
}

/// Puts this process in front of its tasks, which go back to nice 0 (see `pool`). Hundreds of them
/// on one CPU keep an ordinary process waiting for seconds, so that the measured span would begin
/// late and "a second" would be several. Without the rights it has to do as it is: readings carry
/// their own time, and stay right.
fn take_precedence() -> io::Result<()> {
    let nice = getpriority_process(None)?;
    if setpriority_process(None, -20).is_err() && nice > 0 && setpriority_process(None, 0).is_err()
    {
        say(&Report::Nice { nice })?;
    }
    Ok(())
}

/// Many shells still set 1,024, which is enough for the loads there are; what is allowed may be
/// used. Failing is no harm: a load that really runs out of files says so.
pub(crate) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// One line to the parent.
fn say(report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
