// SPDX-License-Identifier: MIT OR Apache-2.0
//! `fork`: one task pinned on each CPU that forks, executes a program that ends at once, and waits
//! for it, without end. The program is this one.

use crate::load_types::{LoadType, on_each_cpu};
use crate::report::complain;
use crate::supervisor::NOTHING;
use crate::sys::SingleThreaded;
use crate::worker_pool::StartBarrier;
use rustix::process::{WaitOptions, waitpid};
use std::convert::Infallible;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use system::usage::children_cpu_time_ns;

pub(crate) const LOAD_TYPE: LoadType = LoadType::new("fork", &["forks"], |_| {
    let verb = std::env::args().nth(1).unwrap_or_default();
    on_each_cpu(move |barrier| fork(&verb, barrier))
});

fn fork(verb: &str, barrier: StartBarrier<'_>) -> io::Result<Infallible> {
    // A real fork, which copies the task's memory map; the library's own way to start a program
    // does not.
    let single_threaded = SingleThreaded::check()?;
    let worker = barrier.wait()?;
    loop {
        let child = single_threaded.fork(|| {
            let error =
                Command::new("/proc/self/exe").args([verb, NOTHING]).stdout(Stdio::null()).exec();
            complain(&error.to_string());
            1
        })?;
        let ended = waitpid(Some(child), WaitOptions::empty())?;
        if ended.is_none_or(|(_, status)| status.exit_status() != Some(0)) {
            return Err(io::Error::other("the program that should exit at once failed"));
        }
        worker.add(0, 1);
        worker.slot().set_children_ns(children_cpu_time_ns());
    }
}
