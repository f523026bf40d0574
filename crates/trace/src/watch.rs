// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose events are recorded all the time, and read only where something happened.
//!
//! The kernel keeps the last events of each CPU in memory and overwrites the oldest. Nothing is
//! read as long as nobody asks for a window of time.

use crate::events::{self, Event, Layout, Names, Recorded};
use crate::{Raw, RawReader, Session, TraceError, Tracefs};
use plan::CpuId;
use std::collections::VecDeque;
use std::fs;
use std::io;

/// What the kernel keeps of each CPU, KiB: half a second under a load that switches 200,000 times a
/// second; and of all together at most.
const BUFFER_KIB: u64 = 8_192;
const BUFFERS_KIB: u64 = 262_144;
const MIN_BUFFER_KIB: u64 = 512;
/// Events of one CPU that are kept of what was read, at most.
const KEPT: usize = 1 << 18;
/// The number of the first PID namespace, whose numbers of threads events have.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Events of some CPUs.
pub struct Watch {
    cpus: Vec<Cpu>,
    layout: Layout,
    names: Names,
    recorded: Recorded,
    buffer_kib: u64,
    /// Ends after its readers: fields are dropped in this order.
    session: Session,
}

struct Cpu {
    id: CpuId,
    reader: RawReader,
    kept: VecDeque<Event>,
    /// From this time on nothing is missing of what is kept, ns.
    complete_from: i64,
}

/// What a CPU did in a while.
#[derive(Debug)]
pub struct Window<'a> {
    /// In order, those before the window that are known included.
    pub events: Vec<Event>,
    pub names: &'a Names,
    /// From this time on nothing is missing, ns.
    pub complete_from: i64,
}

impl Watch {
    /// Begins to record what these CPUs do, and the wake-ups of these threads.
    ///
    /// # Errors
    /// What the machine lacks, or which right.
    pub fn begin(cpus: &[CpuId], threads: &[i64]) -> Result<Self, TraceError> {
        let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        if namespace.as_os_str() != FIRST_PID_NAMESPACE {
            return Err(TraceError::Missing(
                "events have other numbers of threads than this container. Run it outside"
                    .to_owned(),
            ));
        }
        let session = Session::begin(&Tracefs::find()?)?;
        session.write("tracing_on", "0")?;
        let (layout, recorded) = Layout::of(&session)?;
        let mut ids = cpus.to_vec();
        ids.sort_unstable();
        ids.dedup();
        session.write("tracing_cpumask", &mask(&ids))?;
        let buffer_kib = (BUFFERS_KIB / u64::try_from(ids.len().max(1)).unwrap_or(u64::MAX))
            .clamp(MIN_BUFFER_KIB, BUFFER_KIB);
        let mut cpus = Vec::new();
        for id in ids {
            session
                .write(&format!("per_cpu/cpu{}/buffer_size_kb", id.0), &buffer_kib.to_string())?;
            let reader = session.raw_reader(id)?;
            cpus.push(Cpu { id, reader, kept: VecDeque::new(), complete_from: i64::MIN });
        }
        events::enable(&session, &recorded, threads)?;
        let watch = Watch { cpus, layout, names: Names::default(), recorded, buffer_kib, session };
        watch.switch(true)?;
        Ok(watch)
    }

    /// Which events are recorded.
    pub const fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// What the kernel keeps of each CPU, KiB.
    pub const fn buffer_kib(&self) -> u64 {
        self.buffer_kib
    }

    /// Has the kernel record or not; the events stay enabled.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn switch(&self, on: bool) -> Result<(), TraceError> {
        self.session.write("tracing_on", if on { "1" } else { "0" })
    }

    /// Reads what the kernel has of a CPU, and keeps what is not older than this time, ns.
    ///
    /// # Errors
    /// What read(2) says.
    pub fn read(&mut self, cpu: CpuId, from: i64) -> io::Result<()> {
        let Watch { cpus, layout, names, .. } = self;
        let Some(Cpu { reader, kept, complete_from, .. }) =
            cpus.iter_mut().find(|known| known.id == cpu)
        else {
            return Ok(());
        };
        while kept.front().is_some_and(|event| event.time < from) {
            kept.pop_front();
        }
        // No more pages than the buffer has: it is filled meanwhile.
        let pages = self.buffer_kib / 4 + 2;
        for _ in 0..pages {
            let taken = |raw: Raw<'_>| match raw {
                Raw::Lost(time, _) => {
                    kept.clear();
                    *complete_from = time.max(*complete_from);
                }
                Raw::Event(time, bytes) => {
                    if time >= from
                        && let Some(event) = layout.decode(time, bytes, names)
                    {
                        if kept.len() == KEPT {
                            kept.pop_front();
                            *complete_from = kept.front().map_or(time, |first| first.time);
                        }
                        kept.push_back(event);
                    }
                }
            };
            if !reader.take(taken)? {
                break;
            }
        }
        Ok(())
    }

    /// What is known of a CPU from a time until another, ns.
    pub fn window(&self, cpu: CpuId, from: i64, until: i64) -> Option<Window<'_>> {
        let cpu = self.cpus.iter().find(|known| known.id == cpu)?;
        let before = |time: i64| cpu.kept.partition_point(|event| event.time < time);
        let events = cpu.kept.range(before(from)..before(until + 1)).copied().collect();
        Some(Window { events, names: &self.names, complete_from: cpu.complete_from })
    }

    /// Ends, and leaves nothing behind.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn end(self) -> Result<(), TraceError> {
        let Watch { cpus, session, .. } = self;
        drop(cpus);
        session.end()
    }
}

/// CPUs as tracefs takes them: hexadecimal, 32 of them between two commas.
fn mask(cpus: &[CpuId]) -> String {
    let words = cpus.iter().map(|cpu| cpu.0 / 32).max().unwrap_or(0) + 1;
    let word = |word: u32| {
        let bits = cpus.iter().filter(|cpu| cpu.0 / 32 == word);
        format!("{:x}", bits.fold(0_u32, |all, cpu| all | 1 << (cpu.0 % 32)))
    };
    let first = word(words - 1);
    let rest = (0..words - 1).rev().map(|index| format!(",{:0>8}", word(index)));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_cpu() {
        let of = |cpus: &[u32]| mask(&cpus.iter().map(|cpu| CpuId(*cpu)).collect::<Vec<_>>());
        assert_eq!([of(&[0, 1]), of(&[5]), of(&[1, 32, 64])], ["3", "20", "1,00000001,00000002"]);
    }
}
