// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forces what the recorder has written to the disk, on a thread of its own: a disk may take seconds for it, and the rings
//! must be emptied meanwhile.

use plan::Nanos;
use probe::{Clock, Monotonic};
use std::fs::File;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

/// What it is told.
enum Order {
    /// Another file to be kept on the disk.
    File(File),
    /// Something has been written, at this time.
    Written(Nanos),
}

/// The thread, until it is ended.
pub(crate) struct Syncer {
    orders: Sender<Order>,
    thread: JoinHandle<Synced>,
}

/// How it went.
#[derive(Debug, Default)]
pub(crate) struct Synced {
    /// The longest time from a write until the disk had it.
    pub(crate) longest: Nanos,
    /// The first thing the disk refused.
    pub(crate) error: Option<io::Error>,
}

impl Syncer {
    pub(crate) fn start() -> io::Result<Self> {
        let (orders, ordered) = channel();
        let thread = Builder::new().name("teiji-sync".into()).stack_size(64 * 1024).spawn(move || {
            let (mut files, mut synced) = (Vec::new(), Synced::default());
            while let Ok(order) = ordered.recv() {
                let mut written = None;
                // All that has come while the disk was busy is one more pass.
                for order in std::iter::once(order).chain(ordered.try_iter()) {
                    match order {
                        Order::File(file) => files.push(file),
                        Order::Written(at) => written = written.or(Some(at)),
                    }
                }
                if let Some(at) = written {
                    for file in &files {
                        synced.error = synced.error.take().or(sync(file).err());
                    }
                    synced.longest = synced.longest.max(Nanos(Monotonic.now().0 - at.0));
                }
            }
            synced
        })?;
        Ok(Syncer { orders, thread })
    }

    /// Keeps this file on the disk from now on.
    pub(crate) fn add(&self, file: File) {
        let _ = self.orders.send(Order::File(file));
    }

    /// Something has been written.
    pub(crate) fn written(&self, now: Nanos) {
        let _ = self.orders.send(Order::Written(now));
    }

    /// Waits for the last pass.
    pub(crate) fn end(self) -> Synced {
        drop(self.orders);
        self.thread.join().unwrap_or_default()
    }
}

/// Its data and length. A file of a kind that cannot be synced (a pipe) has nothing to lose.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}
