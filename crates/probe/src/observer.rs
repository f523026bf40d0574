// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that measures nothing itself: it reads what the kernel measures.

use crate::attachment::Attachment;
use crate::process_cpus;
use plan::{CpuId, Scheduling};
use rustix::thread::Pid;
use std::io;
use system::scheduling::set_affinity;

/// The thread that reads: of ordinary scheduling, and not on the CPU that is measured where there
/// is another. The run's scheduling is that of the kernel's thread.
pub(crate) struct Observer;

impl Attachment for Observer {
    fn attach(&mut self, cpu: CpuId, _: Scheduling) -> io::Result<Pid> {
        let elsewhere: Vec<CpuId> =
            process_cpus()?.usable.into_iter().filter(|other| *other != cpu).collect();
        if !elsewhere.is_empty() {
            set_affinity(None, &elsewhere)?;
        }
        Ok(rustix::thread::gettid())
    }

    fn detach(&mut self) {}
}
