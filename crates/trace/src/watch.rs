// SPDX-License-Identifier: MIT OR Apache-2.0
//! CPUs whose events are recorded all the time, and read only where something happened.
//!
//! The kernel keeps the last events of each CPU in memory and overwrites the oldest. Nothing is
//! read as long as nobody asks for a window of time.

use crate::events::{self, Event, Layout, Names, Own, Recorded, What};
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

/// A latency that is to be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spike {
    /// The thread's index in the recording.
    pub thread: usize,
    /// Its number as the kernel counts.
    pub number: i64,
    pub cpu: CpuId,
    pub activation: u64,
    /// When it was due, CLOCK_MONOTONIC ns.
    pub planned: i64,
    /// When it was made runnable, ns, where that is known without its events; then it is a thread
    /// of another program.
    pub woken: Option<i64>,
    /// When it read the clock or was on a CPU, ns.
    pub woke: i64,
}

/// A while that a thread was on a CPU, or waited for it.
#[derive(Debug)]
pub struct Leg<'a> {
    /// CLOCK_MONOTONIC, ns.
    pub from: i64,
    pub until: i64,
    /// Of that CPU.
    pub window: Window<'a>,
}

/// What a CPU did in a while.
#[derive(Debug)]
pub struct Window<'a> {
    /// In order, those around it that are known included.
    pub events: Vec<Event>,
    pub names: &'a Names,
    /// From this time on nothing is missing, ns.
    pub complete_from: i64,
}

impl Cpu {
    /// What is kept from a time until another, both included.
    fn between(&self, from: i64, until: i64) -> impl Iterator<Item = &Event> {
        let before = |time: i64| self.kept.partition_point(|event| event.time < time);
        self.kept.range(before(from)..before(until + 1))
    }
}

impl Watch {
    /// Begins to record what these CPUs do, and the wake-ups of these threads, or of all.
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

    /// The CPUs that are watched.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.cpus.iter().map(|cpu| cpu.id)
    }

    /// On which CPUs a thread was, or waited for, from the time that it was due; each with what is
    /// known of it, with so many ns around. None where one of them is not watched.
    pub fn legs(&self, spike: &Spike, (before, after): (i64, i64)) -> Option<Vec<Leg<'_>>> {
        let moved = |event: &Event| match event.what {
            What::Migrated { thread, from, to } if thread == spike.number => {
                Some((event.time, from, to))
            }
            _ => None,
        };
        let mut moves: Vec<(i64, CpuId, CpuId)> = self
            .cpus
            .iter()
            .flat_map(|cpu| cpu.between(spike.planned, spike.woke).filter_map(moved))
            .collect();
        moves.sort_unstable_by_key(|(time, ..)| *time);
        let first = moves.first().map_or(spike.cpu, |(_, from, _)| *from);
        let ends = moves.iter().map(|(time, ..)| *time).chain([spike.woke]);
        let cpus = std::iter::once(first).chain(moves.iter().map(|(.., to)| *to));
        let mut from = spike.planned;
        let mut legs = Vec::new();
        for (until, id) in ends.zip(cpus) {
            let cpu = self.cpus.iter().find(|known| known.id == id)?;
            let events = cpu.between(spike.planned - before, until + after).copied().collect();
            let complete_from = cpu.complete_from;
            legs.push(Leg {
                from,
                until,
                window: Window { events, names: &self.names, complete_from },
            });
            from = until;
        }
        Some(legs)
    }

    /// What its thread was at from which time on, as far as all CPUs show it, until it ran.
    pub fn own(&self, spike: &Spike, before: i64) -> Vec<(i64, Own)> {
        let from = spike.planned - before;
        let events = self.cpus.iter().flat_map(|cpu| cpu.between(from, spike.woke));
        let changes = |event: &Event| event.own(spike.number).map(|own| (event.time, own));
        let mut all: Vec<(i64, Own)> = events.filter_map(changes).collect();
        all.sort_by_key(|(time, _)| *time);
        all
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
