// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forces what the recorder has written to the disk, on a thread of its own: a disk may take
//! seconds for it, and the rings must be emptied meanwhile.

use plan::Nanos;
use probe::Monotonic;
use std::fs::File;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

enum SyncRequest {
    /// Another file to be kept on the disk.
    File(File),
    /// Something has been written, at this time.
    Written(Nanos),
}

/// The thread, until it is ended.
pub(crate) struct Syncer {
    orders: Sender<SyncRequest>,
    /// The longest time from a write until the disk had it.
    thread: JoinHandle<Nanos>,
    refusal: Refusal,
}

/// The first thing the disk refused, until it is taken. Locked for that alone: no thread waits here
/// for the disk.
type Refusal = Arc<Mutex<Option<io::Error>>>;

impl Syncer {
    pub(crate) fn start() -> io::Result<Self> {
        let (orders, ordered) = channel();
        let refusal = Refusal::default();
        let refused = Arc::clone(&refusal);
        let thread =
            Builder::new().name("teiji-sync".into()).stack_size(64 * 1024).spawn(move || {
                let (mut files, mut longest) = (Vec::new(), Nanos::ZERO);
                while let Ok(order) = ordered.recv() {
                    let mut written = None;
                    // All that has come while the disk was busy is one more pass.
                    for order in std::iter::once(order).chain(ordered.try_iter()) {
                        match order {
                            SyncRequest::File(file) => files.push(file),
                            SyncRequest::Written(at) => written = written.or(Some(at)),
                        }
                    }
                    if let Some(at) = written {
                        for file in &files {
                            if let Err(error) = sync(file) {
                                refused
                                    .lock()
                                    .unwrap_or_else(PoisonError::into_inner)
                                    .get_or_insert(error);
                            }
                        }
                        longest = longest.max(Nanos(Monotonic.now().0 - at.0));
                    }
                }
                longest
            })?;
        Ok(Syncer { orders, thread, refusal })
    }

    /// Keeps this file on the disk from now on.
    pub(crate) fn add(&self, file: File) {
        let _ = self.orders.send(SyncRequest::File(file));
    }

    /// Something has been written.
    pub(crate) fn written(&self, now: Nanos) {
        let _ = self.orders.send(SyncRequest::Written(now));
    }

    /// What the disk has refused so far, if that was not asked before.
    pub(crate) fn refused(&self) -> Option<io::Error> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits for the last pass. Returns the longest time from a write until the disk had it, and
    /// what it refused.
    pub(crate) fn end(self) -> (Nanos, Option<io::Error>) {
        let Syncer { orders, thread, refusal } = self;
        drop(orders);
        let longest = thread.join().unwrap_or_default();
        (longest, refusal.lock().unwrap_or_else(PoisonError::into_inner).take())
    }
}

/// Its data and length. A file of a kind that cannot be synced (a pipe) has nothing to lose.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}
