// SPDX-License-Identifier: MIT OR Apache-2.0
//! `hackbench`: groups of 20 senders and 20 receivers, each a process, passing 100-byte messages.
//!
//! Each receiver has a channel of its own, and each sender of its group writes to them in turn, so
//! that nearly every message wakes a task: much scheduling, little work. The name and the figures
//! are those of the program everyone knows; that one ends after so many messages, this one runs
//! until it is stopped. The tasks may run on any of the load's CPUs, so that the scheduler has to
//! balance as well. With `threads`, each group is one process of 40 threads.

use crate::bench::Channel;
use crate::load_types::{Generator, LoadType};
use crate::options::{Options, SpecError};
use crate::worker_pool::{ThreadWork, WorkerPool};
use std::cell::Cell;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};

pub(crate) const LOAD_TYPE: LoadType = LoadType {
    keys: &["groups", "via", "threads"],
    ..LoadType::new("hackbench", &["messages", "bytes"], read)
};

/// Senders of a group, and its receivers.
const SIDE: usize = 20;
const MESSAGE: usize = 100;
/// What `groups=` is without being written.
const GROUPS: usize = 10;
/// Four thousand processes; beyond it lies the usual limit of a user's processes.
const MAX_GROUPS: usize = 100;

#[derive(Debug)]
struct Hackbench {
    groups: usize,
    via: Channel,
    threads: bool,
}

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let groups = options.number("groups", 1..=MAX_GROUPS)?.unwrap_or(GROUPS);
    let via = match options.value("via") {
        None | Some("socket") => Channel::Socket,
        Some("pipe") => Channel::Pipe,
        Some(_) => return Err(options.refuse("via", "socket or pipe")),
    };
    let threads = options
        .parsed("threads", "written without a value", |text| text.is_empty().then_some(()))?
        .is_some();
    Ok(Box::new(Hackbench { groups, via, threads }))
}

impl Generator for Hackbench {
    fn tasks(&self, _: usize) -> usize {
        if self.threads { self.groups } else { self.groups * 2 * SIDE }
    }

    fn threads_per_task(&self, _: usize) -> u64 {
        if self.threads { 2 * SIDE as u64 } else { 1 }
    }

    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        (0..self.groups).try_for_each(|_| {
            if self.threads { self.assemble_threads(pool) } else { self.assemble_group(pool) }
        })
    }
}

impl Hackbench {
    /// The ends to read and the ends to write of one group's channels.
    fn channels(&self) -> io::Result<(Vec<File>, Vec<File>)> {
        (0..SIDE).map(|_| self.via.open()).collect()
    }

    /// Group by group, each one's channels closed again here once its tasks have them: the
    /// supervisor never holds more than 40, however many groups there are, and a task only
    /// those it uses.
    fn assemble_group(&self, pool: &mut WorkerPool) -> io::Result<()> {
        let cpus = pool.cpus().to_vec();
        let (mut sources, mut sinks) = self.channels()?;
        for receiver in 0..SIDE {
            pool.fork(&cpus, |barrier| {
                let source = sources.swap_remove(receiver);
                sources.clear();
                sinks.clear();
                let worker = barrier.wait()?;
                receive(source, |messages| {
                    worker.add(0, messages);
                    worker.add(1, messages * MESSAGE as u64);
                })
            })?;
        }
        for _ in 0..SIDE {
            pool.fork(&cpus, |barrier| {
                sources.clear();
                let worker = barrier.wait()?;
                send(sinks.iter().collect(), || worker.slot().has_worked())
            })?;
        }
        Ok(())
    }

    /// One task with a thread for each sender and receiver.
    fn assemble_threads(&self, pool: &mut WorkerPool) -> io::Result<()> {
        let cpus = pool.cpus().to_vec();
        pool.fork(&cpus, |barrier| {
            let (sources, sinks) = self.channels()?;
            let receiver = |source| -> ThreadWork<'_> {
                Box::new(move |slot| {
                    let worked = Cell::new(false);
                    receive(source, |messages| {
                        slot.add_shared(0, messages);
                        slot.add_shared(1, messages * MESSAGE as u64);
                        if !worked.replace(true) {
                            slot.has_worked();
                        }
                    })
                })
            };
            let sender = |_| -> ThreadWork<'_> {
                Box::new(|slot| send(sinks.iter().collect(), || slot.has_worked()))
            };
            barrier.wait_with_threads(
                sources.into_iter().map(receiver).chain((0..SIDE).map(sender)).collect(),
            )
        })
    }
}

/// `once` is called when every receiver of the group has been sent a message.
fn send(mut sinks: Vec<&File>, once: impl FnOnce()) -> io::Result<Infallible> {
    let message = [0_u8; MESSAGE];
    let mut round = || sinks.iter_mut().try_for_each(|sink| sink.write_all(&message));
    round()?;
    once();
    loop {
        round()?;
    }
}

/// Messages are counted here, where they have been passed and not only been sent.
fn receive(mut source: File, count: impl Fn(u64)) -> io::Result<Infallible> {
    let mut message = [0_u8; MESSAGE];
    loop {
        source.read_exact(&mut message)?;
        count(1);
    }
}
