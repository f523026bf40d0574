// SPDX-License-Identifier: MIT OR Apache-2.0
//! `tlb` and `ipi`: CPUs that interrupt one another. One process with a thread pinned on each CPU.
//!
//! With `tlb` each thread takes rights to memory away and unmaps it, so that the kernel has to make
//! the other CPUs forget what they know of it. With `ipi` each thread calls membarrier, which
//! interrupts every other CPU that runs the process.

use crate::load_types::{Generator, LoadType};
use crate::sys::{self, Pages, Slot};
use crate::worker_pool::{ThreadWork, WorkerPool};
use std::convert::Infallible;
use std::io;
use std::slice;
use system::scheduling::set_affinity;

pub(crate) const TLB: LoadType = LoadType {
    min_cpus: 2,
    ..LoadType::new("tlb", &["shootdowns"], |_| Ok(Box::new(Shootdown { work: shoot })))
};

pub(crate) const IPI: LoadType = LoadType {
    min_cpus: 2,
    ..LoadType::new("ipi", &["barriers"], |_| Ok(Box::new(Shootdown { work: storm })))
};

/// Mapped, written to and given back at a time.
const BYTES: usize = 64 << 10;

#[derive(Debug)]
struct Shootdown {
    work: fn(&Slot) -> io::Result<Infallible>,
}

impl Generator for Shootdown {
    fn tasks(&self, _: usize) -> usize {
        1
    }

    fn threads_per_task(&self, cpus: usize) -> u64 {
        cpus as u64
    }

    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        let (cpus, work) = (pool.cpus().to_vec(), self.work);
        pool.fork(&cpus, |barrier| {
            let on = |cpu| -> ThreadWork<'_> {
                Box::new(move |slot| {
                    set_affinity(None, slice::from_ref(cpu))?;
                    work(slot)
                })
            };
            barrier.wait_with_threads(cpus.iter().map(on).collect())
        })
    }
}

fn shoot(slot: &Slot) -> io::Result<Infallible> {
    let round = || -> io::Result<()> {
        let pages = Pages::writable(BYTES)?;
        (0..pages.count()).for_each(|page| pages.touch(page));
        pages.reprotect()?;
        drop(pages);
        // Once for the right to write, once for the memory itself.
        slot.add_shared(0, 2);
        Ok(())
    };
    again_and_again(slot, round)
}

fn storm(slot: &Slot) -> io::Result<Infallible> {
    sys::register_to_interrupt()?;
    let round = || -> io::Result<()> {
        sys::interrupt_others()?;
        slot.add_shared(0, 1);
        Ok(())
    };
    again_and_again(slot, round)
}

fn again_and_again(slot: &Slot, round: impl Fn() -> io::Result<()>) -> io::Result<Infallible> {
    round()?;
    slot.has_worked();
    loop {
        round()?;
    }
}
