// SPDX-License-Identifier: MIT OR Apache-2.0
//! `mem-alloc`, `mem-fault` and `mem-access`: memory that comes and goes, one task pinned on each
//! CPU.
//!
//! `mem-alloc` maps memory, writes to every page of it and unmaps it, again and again: page faults
//! that the kernel resolves. `mem-fault` maps memory that may not be touched, writes to every page,
//! takes the SIGSEGV, and makes that page writable in the handler: page faults, signals and
//! mprotect. `mem-access` updates a counter in memory and makes no system call.

use crate::load_types::{LoadType, on_each_cpu};
use crate::options::{Options, SpecError};
use crate::sys::{self, Pages};
use crate::worker_pool::StartBarrier;
use std::convert::Infallible;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use system::usage::thread_usage;

pub(crate) const ALLOC: LoadType = LoadType {
    keys: &["chunk"],
    paced: true,
    ..LoadType::new("mem-alloc", &["page_faults", "maps"], |options| {
        let chunk = chunk(options)?;
        on_each_cpu(move |barrier| allocate(chunk, barrier))
    })
};

pub(crate) const FAULT: LoadType = LoadType {
    keys: &["chunk"],
    paced: true,
    ..LoadType::new("mem-fault", &["signals", "maps"], |options| {
        let chunk = chunk(options)?;
        on_each_cpu(move |barrier| fault(chunk, barrier))
    })
};

pub(crate) const ACCESS: LoadType =
    LoadType { paced: true, ..LoadType::new("mem-access", &["updates"], |_| on_each_cpu(access)) };

/// Mapped at a time, unless `chunk=` says otherwise.
const CHUNK: u64 = 16 << 20;
/// Pages written to between two chances to sleep: tens of microseconds.
const PAGES: usize = 32;
/// Updates between two chances to sleep: the same.
const UPDATES: u64 = 10_000;

fn chunk(options: &Options<'_>) -> Result<usize, SpecError> {
    options.memory("chunk", CHUNK)
}

fn allocate(chunk: usize, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let mut worker = barrier.wait()?;
    loop {
        let (pages, before) = (Pages::writable(chunk)?, thread_usage()?);
        for first in (0..pages.count()).step_by(PAGES) {
            let last = pages.count().min(first + PAGES);
            (first..last).for_each(|page| pages.touch(page));
            worker.throttle();
        }
        worker.add(0, thread_usage()?.minor_faults - before.minor_faults);
        worker.add(1, 1);
    }
}

fn fault(chunk: usize, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    sys::open_guarded_pages()?;
    let mut worker = barrier.wait()?;
    loop {
        let pages = Pages::guarded(chunk)?;
        for first in (0..pages.count()).step_by(PAGES) {
            let last = pages.count().min(first + PAGES);
            let before = sys::faults_taken();
            (first..last).for_each(|page| pages.touch(page));
            worker.add(0, sys::faults_taken() - before);
            worker.throttle();
        }
        worker.add(1, 1);
    }
}

/// The compiler has to believe that something else reads the counter, or it would keep it in a
/// register and add all at once.
fn access(barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    let counter = AtomicU64::new(0);
    let mut worker = barrier.wait()?;
    loop {
        for _ in 0..UPDATES {
            let counter = black_box(&counter);
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
        worker.add(0, UPDATES);
        worker.throttle();
    }
}
