// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread of this program in the place of the kernel's: it reads `timerlat_fd`, which returns
//! when the timer expired, and again.
//!
//! The kernel takes the return to user space when the thread is back and calls read again, so it
//! does nothing else. The kernel kills whoever has that file open when the tracer ends, or when its
//! CPUs change: the thread begins after and ends before.

use crate::outcome::errno_of;
use crate::{attachment, sys};
use plan::{CpuId, Scheduling};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::{Builder, JoinHandle};
use system::scheduling::set_scheduling;

/// It calls nothing but read.
const STACK_BYTES: usize = 64 * 1024;

/// The thread. It ends, within a period, when this is dropped.
pub(crate) struct UserThread {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    is_to_end: AtomicBool,
    /// Why it could not go on (errno); 0 while it can.
    errno: AtomicI32,
}

impl UserThread {
    /// Starts it on a CPU.
    pub(crate) fn start(file: PathBuf, cpu: CpuId, scheduling: Scheduling) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let its = Arc::clone(&state);
        let thread = Builder::new()
            .name(format!("teiji-user-{}", cpu.0))
            .stack_size(STACK_BYTES)
            .spawn(move || {
            if let Err(error) = read_on(&file, cpu, scheduling, &its) {
                its.errno.store(errno_of(&error), Ordering::Relaxed);
            }
            let _ = set_scheduling(None, Scheduling::OTHER);
        })?;
        Ok(UserThread { state, thread: Some(thread) })
    }

    /// Why it ended by itself, if it did (errno).
    pub(crate) fn error(&self) -> Option<i32> {
        Some(self.state.errno.load(Ordering::Relaxed)).filter(|errno| *errno != 0)
    }
}

fn read_on(
    file: &std::path::Path,
    cpu: CpuId,
    scheduling: Scheduling,
    state: &State,
) -> io::Result<()> {
    sys::block_all_signals();
    attachment::pin(None, cpu)?;
    set_scheduling(None, scheduling)?;
    let mut file = File::open(file)?;
    let mut nothing = [0; 64];
    while !state.is_to_end.load(Ordering::Relaxed) {
        // No bytes come: that it returns is all.
        let _ = file.read(&mut nothing)?;
    }
    Ok(())
}

impl Drop for UserThread {
    fn drop(&mut self) {
        self.state.is_to_end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
