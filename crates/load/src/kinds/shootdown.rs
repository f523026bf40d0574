// SPDX-License-Identifier: MIT OR Apache-2.0
//! `tlb` and `ipi`: CPUs that interrupt one another. One process with a thread pinned on each CPU.
//!
//! With `tlb` each thread takes rights to memory away and unmaps it, so that the kernel has to make the other CPUs forget what
//! they know of it. With `ipi` each thread calls membarrier, which interrupts every other CPU that runs the process.

use crate::kinds::{Generator, Kind};
use crate::sys::{self, Pages, Slot};
use crate::team::{Team, ThreadWork};
use std::convert::Infallible;
use std::io;
use std::slice;

pub(crate) const TLB: Kind = Kind {
    name: "tlb",
    keys: &[],
    paced: false,
    least_cpus: 2,
    units: &["shootdowns"],
    starts_others: false,
    read: |_| Ok(Box::new(Shootdown { work: shoot })),
};

pub(crate) const IPI: Kind = Kind {
    name: "ipi",
    keys: &[],
    paced: false,
    least_cpus: 2,
    units: &["barriers"],
    starts_others: false,
    read: |_| Ok(Box::new(Shootdown { work: storm })),
};

/// Mapped, written to and given back at a time.
const BYTES: usize = 64 << 10;

#[derive(Debug)]
struct Shootdown {
    /// What each thread does.
    work: fn(&Slot) -> io::Result<Infallible>,
}

impl Generator for Shootdown {
    fn tasks(&self, _: usize) -> usize {
        1
    }

    fn assemble(&self, team: &mut Team) -> io::Result<()> {
        let (cpus, work) = (team.cpus().to_vec(), self.work);
        team.fork(&cpus, |post| {
            let on = |cpu| -> ThreadWork<'_> {
                Box::new(move |slot| {
                    sys::bind(slice::from_ref(cpu))?;
                    work(slot)
                })
            };
            post.wait_with_threads(cpus.iter().map(on).collect())
        })
    }
}

fn shoot(slot: &Slot) -> io::Result<Infallible> {
    loop {
        let pages = Pages::writable(BYTES)?;
        (0..pages.count()).for_each(|page| pages.touch(page));
        pages.reprotect()?;
        drop(pages);
        // Once for the right to write, once for the memory itself.
        slot.add_shared(0, 2);
    }
}

fn storm(slot: &Slot) -> io::Result<Infallible> {
    sys::register_to_interrupt()?;
    loop {
        sys::interrupt_others()?;
        slot.add_shared(0, 1);
    }
}
