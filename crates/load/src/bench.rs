// SPDX-License-Identifier: MIT OR Apache-2.0
//! hackbench as a benchmark: so many messages, and the time they took.
//!
//! Groups of senders and receivers; each sender of a group writes a number of messages to each of
//! its receivers. All are made first, each waits at a barrier, and the time runs from the opening
//! of the barrier until the last of them has ended.

use crate::process_tree::kill_children;
use crate::report::complain;
use crate::supervisor::raise_file_limit;
use crate::sys::SingleThreaded;
use plan::{Policy, Scheduling};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, getppid,
    set_parent_process_death_signal, waitid, waitpid,
};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use system::scheduling::set_scheduling;

/// What carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A pair of Unix sockets.
    Socket,
    Pipe,
    /// A TCP connection over the loopback interface.
    Tcp,
}

/// What a benchmark consists of.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    pub groups: usize,
    /// Senders of a group, and its receivers.
    pub side: usize,
    /// Messages of each sender to each receiver.
    pub loops: u64,
    pub message: usize,
    pub channel: Channel,
    /// Threads instead of processes.
    pub threads: bool,
    /// The one who waits for all gets SCHED_FIFO once they are made.
    pub fifo: bool,
}

const STACK_BYTES: usize = 64 * 1024;
/// Between two checks whether to stop; what ends a wait by itself does so at once.
const TENTH: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

fn go_on(is_to_stop: &dyn Fn() -> bool) -> io::Result<()> {
    if is_to_stop() { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
}

impl Benchmark {
    /// Runs it, to its end or until it is to stop; then the time is what has passed until then. To
    /// be called in a process that has one thread.
    ///
    /// # Errors
    /// When tasks or channels cannot be created. Then none is left.
    pub fn run(&self, is_to_stop: &dyn Fn() -> bool) -> io::Result<Duration> {
        let single_threaded = SingleThreaded::check()?;
        raise_file_limit();
        let begun = Instant::now();
        match if self.threads {
            self.run_threads(is_to_stop)
        } else {
            self.run_processes(&single_threaded, is_to_stop)
        } {
            // Stopped before the barrier opened.
            Err(error) if error.kind() == io::ErrorKind::Interrupted && is_to_stop() => {
                Ok(begun.elapsed())
            }
            result => result,
        }
    }

    fn run_processes(
        &self,
        single_threaded: &SingleThreaded,
        is_to_stop: &dyn Fn() -> bool,
    ) -> io::Result<Duration> {
        let barrier = StartBarrier::new()?;
        let mut children = Children(Vec::new());
        // Every task holds the end to write until it ends, so that the other end shows when the
        // last of them has.
        let (all_ended, write_end) = io::pipe()?;
        for _ in 0..self.groups {
            let (sources, sinks) = self.channels()?;
            let parent = getpid();
            let bound = || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                if getppid() == Some(parent) {
                    barrier.wait()
                } else {
                    Err(io::Error::other("the benchmark has been killed"))
                }
            };
            for source in &sources {
                children.0.push(
                    single_threaded.fork(|| ended(bound().and_then(|()| self.receive(source))))?,
                );
            }
            for _ in 0..self.side {
                children.0.push(
                    single_threaded.fork(|| ended(bound().and_then(|()| self.send(&sinks))))?,
                );
            }
        }
        drop(write_end);
        self.begin()?;
        let start = barrier.open(children.0.len(), || {
            children.none_has_ended()?;
            go_on(is_to_stop)
        })?;
        // A signal that comes just before the poll is heard after it: the tenth of a second is for
        // that.
        while !is_to_stop() {
            match poll(&mut [PollFd::new(&all_ended, PollFlags::IN)], Some(&TENTH)) {
                Ok(0) => children.reap(WaitOptions::NOHANG)?,
                Err(Errno::INTR) => {}
                other => {
                    other?;
                    children.reap(WaitOptions::empty())?;
                    break;
                }
            }
        }
        Ok(start.elapsed())
    }

    /// The first thread that cannot do its work ends the benchmark; the others end with the
    /// program.
    fn run_threads(&self, is_to_stop: &dyn Fn() -> bool) -> io::Result<Duration> {
        let barrier = Arc::new(StartBarrier::new()?);
        let (result, results) = channel();
        let (this, mut threads) = (*self, 0);
        let mut start_one = |body: Box<dyn FnOnce() -> io::Result<()> + Send>| {
            let (barrier, result) = (Arc::clone(&barrier), result.clone());
            let work = move || drop(result.send(barrier.wait().and_then(|()| body())));
            threads += 1;
            Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
        };
        for _ in 0..self.groups {
            let (sources, sinks) = self.channels()?;
            for source in sources {
                start_one(Box::new(move || this.receive(&source)))?;
            }
            let sinks = Arc::new(sinks);
            for _ in 0..self.side {
                let sinks = Arc::clone(&sinks);
                start_one(Box::new(move || this.send(&sinks)))?;
            }
        }
        self.begin()?;
        let start = barrier.open(threads, || go_on(is_to_stop))?;
        let mut missing = threads;
        while missing > 0 && !is_to_stop() {
            match results.recv_timeout(Duration::from_millis(100)) {
                Ok(result) => {
                    result?;
                    missing -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(start.elapsed())
    }

    fn begin(&self) -> io::Result<()> {
        let lowest = Scheduling { policy: Policy::Fifo, prio: Some(1) };
        if self.fifo { set_scheduling(None, lowest) } else { Ok(()) }
    }

    /// The ends to read and the ends to write of one group's channels.
    fn channels(&self) -> io::Result<(Vec<File>, Vec<File>)> {
        (0..self.side).map(|_| self.channel.open()).collect()
    }

    fn send(&self, sinks: &[File]) -> io::Result<()> {
        let message = vec![0_u8; self.message];
        for _ in 0..self.loops {
            for mut sink in sinks {
                sink.write_all(&message)?;
            }
        }
        Ok(())
    }

    fn receive(&self, mut source: &File) -> io::Result<()> {
        let mut message = vec![0_u8; self.message];
        for _ in 0..self.loops * self.side as u64 {
            source.read_exact(&mut message)?;
        }
        Ok(())
    }
}

impl Channel {
    /// The end to read and the end to write.
    pub(crate) fn open(self) -> io::Result<(File, File)> {
        let (source, sink): (OwnedFd, OwnedFd) = match self {
            Channel::Socket => {
                let (source, sink) = UnixStream::pair()?;
                (source.into(), sink.into())
            }
            Channel::Pipe => {
                let (source, sink) = io::pipe()?;
                (source.into(), sink.into())
            }
            Channel::Tcp => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let sink = TcpStream::connect(listener.local_addr()?)?;
                (listener.accept()?.0.into(), sink.into())
            }
        };
        Ok((source.into(), sink.into()))
    }
}

/// All tasks wait at it: each writes a byte when it arrives, and polls for one byte that stays
/// unread, so that all of them start.
struct StartBarrier {
    arrived: (PipeReader, PipeWriter),
    open: (PipeReader, PipeWriter),
}

impl StartBarrier {
    fn new() -> io::Result<Self> {
        Ok(StartBarrier { arrived: io::pipe()?, open: io::pipe()? })
    }

    fn wait(&self) -> io::Result<()> {
        (&self.arrived.1).write_all(b".")?;
        let mut wait = [PollFd::new(&self.open.0, PollFlags::IN)];
        while matches!(poll(&mut wait, None), Err(Errno::INTR)) {}
        Ok(())
    }

    /// Waits until so many have arrived, and starts them. Calls `all_is_well` while it waits: one
    /// that has ended never arrives.
    fn open(
        &self,
        expected: usize,
        all_is_well: impl Fn() -> io::Result<()>,
    ) -> io::Result<Instant> {
        let mut missing = expected;
        while missing > 0 {
            match poll(&mut [PollFd::new(&self.arrived.0, PollFlags::IN)], Some(&TENTH)) {
                Ok(0) => all_is_well()?,
                Err(Errno::INTR) => all_is_well()?,
                other => {
                    other?;
                    missing -= (&self.arrived.0).read(&mut [0; 4096])?.min(missing);
                }
            }
        }
        let start = Instant::now();
        (&self.open.1).write_all(b".")?;
        Ok(start)
    }
}

/// Processes that are killed unless they have been waited for.
struct Children(Vec<Pid>);

impl Children {
    /// An error if one has: before the barrier opens, none should.
    fn none_has_ended(&self) -> io::Result<()> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::All, options)? {
            None => Ok(()),
            Some(_) => Err(io::Error::other("a task ended before its work began")),
        }
    }

    /// Waits for all of them, or with NOHANG takes note of those that have ended. The first that
    /// failed is an error.
    fn reap(&mut self, options: WaitOptions) -> io::Result<()> {
        while !self.0.is_empty() {
            match waitpid(None, options) {
                Ok(Some((pid, status))) => {
                    self.0.retain(|child| *child != pid);
                    if status.exit_status() != Some(0) {
                        return Err(io::Error::other("a task ended before its work was done"));
                    }
                }
                Ok(None) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        kill_children(self.0.iter().copied());
    }
}

fn ended(result: io::Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            complain(&error.to_string());
            1
        }
    }
}
