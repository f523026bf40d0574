// SPDX-License-Identifier: MIT OR Apache-2.0
//! Signals that ask a tuning to end: waited for without a thread that wakes now and then, which
//! would disturb what is to be on time.

use crate::exit::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;

const ASKING: [(i32, &str); 4] =
    [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM"), (SIGHUP, "SIGHUP"), (SIGQUIT, "SIGQUIT")];

/// A pipe for each signal that is caught.
pub struct Signals {
    asking: Vec<Asking>,
    child: Option<UnixStream>,
}

/// A signal that asks for the end.
struct Asking {
    signal: i32,
    name: &'static str,
    pipe: UnixStream,
}

impl Signals {
    /// From now on these are remembered instead of ending the program, also where whoever started
    /// it had blocked them. What is ignored stays so, here and in what we start: under `nohup`,
    /// or in the background of a script.
    pub fn catch(children_too: bool) -> Result<Signals, Failure> {
        let caught = |signal| {
            let (receiver, sender) = UnixStream::pair()?;
            pipe::register(signal, sender)?;
            receiver.set_nonblocking(true)?;
            Ok::<_, io::Error>(receiver)
        };
        let caught = |signal| caught(signal).map_err(Failure::run_failed);
        let heeded = ASKING.into_iter().filter(|(signal, _)| !probe::ignores_signal(*signal));
        let asking = heeded
            .map(|(signal, name)| Ok(Asking { signal, name, pipe: caught(signal)? }))
            .collect::<Result<Vec<_>, Failure>>()?;
        let child = children_too.then(|| caught(SIGCHLD)).transpose()?;
        let signals: Vec<i32> = asking.iter().map(|one| one.signal).chain([SIGCHLD]).collect();
        probe::unblock_signals(&signals);
        Ok(Signals { asking, child })
    }

    /// Which are there, or will be within a time; without one, whenever they come.
    fn ready(&self, timeout: Option<&Timespec>) -> io::Result<Vec<bool>> {
        let mut pipes: Vec<PollFd<'_>> = self
            .asking
            .iter()
            .map(|one| &one.pipe)
            .chain(&self.child)
            .map(|stream| PollFd::new(stream, PollFlags::IN))
            .collect();
        loop {
            match poll(&mut pipes, timeout) {
                Err(Errno::INTR) => {}
                result => {
                    result?;
                    return Ok(pipes
                        .iter()
                        .map(|pipe| pipe.revents().contains(PollFlags::IN))
                        .collect());
                }
            }
        }
    }

    /// The name of a signal that asked for the end and was not waited for.
    pub fn caught(&self) -> Option<&'static str> {
        let ready = self.ready(Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).ok()?;
        self.asking.iter().zip(ready).find(|(_, is_there)| *is_there).map(|(one, _)| one.name)
    }

    /// Waits for signals or a child, and takes them: those that ask for the end.
    pub fn wait(&self) -> io::Result<Vec<i32>> {
        let ready = self.ready(None)?;
        let streams = self.asking.iter().map(|one| &one.pipe).chain(&self.child);
        for (mut stream, _) in streams.zip(&ready).filter(|(_, is_there)| **is_there) {
            // As many as came are one.
            while matches!(stream.read(&mut [0; 64]), Ok(1..)) {}
        }
        let asking = self.asking.iter().zip(ready).filter(|(_, is_there)| *is_there);
        Ok(asking.map(|(one, _)| one.signal).collect())
    }
}
