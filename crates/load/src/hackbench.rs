// SPDX-License-Identifier: MIT OR Apache-2.0
//! `hackbench`: groups of 20 senders and 20 receivers, each a process, passing 100-byte messages.
//!
//! Each receiver has a channel of its own, and each sender of its group writes to them in turn, so that nearly every message
//! wakes somebody: much scheduling, little work. The name and the figures are those of the program everyone knows; that one
//! ends after so many messages, this one goes on until it is stopped. The tasks may run on any of the load's CPUs, so that
//! the scheduler has to balance as well.

use crate::kinds::{Generator, Kind};
use crate::spec::{Options, SpecError};
use crate::team::{Post, Team};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

pub(crate) const KIND: Kind =
    Kind { name: "hackbench", keys: &["groups", "via"], level: None, units: &["messages", "bytes"], read };

/// Senders of a group, and its receivers.
const SIDE: usize = 20;
/// One message.
const MESSAGE: usize = 100;
/// What `groups=` is without being written.
const GROUPS: usize = 10;
/// Four thousand processes; beyond it lies the usual limit of a user's processes.
const MOST_GROUPS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Via {
    Socket,
    Pipe,
}

#[derive(Debug)]
struct Hackbench {
    groups: usize,
    via: Via,
}

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let groups = match options.value("groups").map(str::parse) {
        None => GROUPS,
        Some(Ok(groups @ 1..=MOST_GROUPS)) => groups,
        Some(_) => return Err(options.refuse("groups", &format!("a number from 1 to {MOST_GROUPS}"))),
    };
    let via = match options.value("via") {
        None | Some("socket") => Via::Socket,
        Some("pipe") => Via::Pipe,
        Some(_) => return Err(options.refuse("via", "socket or pipe")),
    };
    Ok(Box::new(Hackbench { groups, via }))
}

impl Generator for Hackbench {
    fn tasks(&self, _: usize) -> usize {
        self.groups * 2 * SIDE
    }

    fn assemble(&self, team: &mut Team) -> io::Result<()> {
        (0..self.groups).try_for_each(|_| self.assemble_group(team))
    }
}

impl Hackbench {
    /// Group by group, each one's channels closed again here once its tasks have them: the leader never holds more than 40,
    /// however many groups there are, and a task only those it uses.
    fn assemble_group(&self, team: &mut Team) -> io::Result<()> {
        let cpus = team.cpus().to_vec();
        let channels = (0..SIDE).map(|_| self.via.channel()).collect::<io::Result<Vec<_>>>()?;
        let (mut sources, mut sinks): (Vec<OwnedFd>, Vec<OwnedFd>) = channels.into_iter().unzip();
        for receiver in 0..SIDE {
            team.fork(&cpus, |post| {
                let source = sources.swap_remove(receiver);
                sources.clear();
                sinks.clear();
                receive(File::from(source), post)
            })?;
        }
        for _ in 0..SIDE {
            team.fork(&cpus, |post| {
                sources.clear();
                send(sinks.drain(..).map(File::from).collect(), post)
            })?;
        }
        Ok(())
    }
}

impl Via {
    /// The end to read and the end to write.
    fn channel(self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok(match self {
            Via::Socket => {
                let (source, sink) = UnixStream::pair()?;
                (source.into(), sink.into())
            }
            Via::Pipe => {
                let (source, sink) = io::pipe()?;
                (source.into(), sink.into())
            }
        })
    }
}

fn send(mut sinks: Vec<File>, post: Post<'_>) -> io::Result<Infallible> {
    let message = [0_u8; MESSAGE];
    post.wait()?;
    loop {
        for sink in &mut sinks {
            sink.write_all(&message)?;
        }
    }
}

/// Messages are counted here, where they have been passed and not only been sent.
fn receive(mut source: File, post: Post<'_>) -> io::Result<Infallible> {
    let mut message = [0_u8; MESSAGE];
    let slot = post.wait()?;
    loop {
        source.read_exact(&mut message)?;
        slot.add(0, 1);
        slot.add(1, MESSAGE as u64);
    }
}
