// SPDX-License-Identifier: MIT OR Apache-2.0
//! All loads.

mod cache;
mod cmd;
mod cpu;
mod dev_zero;
mod disk;
mod fork;
mod hackbench;
mod memory;
mod net;
mod shootdown;
mod timer;

use crate::options::{Options, SpecError};
use crate::worker_pool::{StartBarrier, WorkerPool};
use std::convert::Infallible;
use std::io;
use std::slice;

/// Every load, in the order they are listed.
pub(crate) static LOAD_TYPES: &[LoadType] = &[
    cpu::LOAD_TYPE,
    memory::ALLOC,
    memory::FAULT,
    memory::ACCESS,
    cache::LOAD_TYPE,
    dev_zero::LOAD_TYPE,
    hackbench::LOAD_TYPE,
    disk::SYNC,
    disk::DISK,
    fork::LOAD_TYPE,
    timer::LOAD_TYPE,
    net::LOAD_TYPE,
    shootdown::TLB,
    shootdown::IPI,
    cmd::LOAD_TYPE,
];

/// One load, as data: all that can be said of it before any is started.
#[derive(Debug)]
pub(crate) struct LoadType {
    pub name: &'static str,
    /// The keys it understands beside those that all do.
    pub keys: &'static [&'static str],
    /// Whether it can be held at a level. Others take what they get.
    pub paced: bool,
    /// How many CPUs it needs.
    pub min_cpus: usize,
    /// What each counter of a task counts; at most [`crate::report::COUNTERS`].
    pub units: &'static [&'static str],
    /// Whether its tasks start processes of their own that may live as long as they do.
    pub starts_others: bool,
    pub read: Read,
}

/// Reads the values of a load's keys.
type Read = fn(&Options<'_>) -> Result<Box<dyn Generator>, SpecError>;

impl LoadType {
    /// A load without keys of its own and without a level, on any number of CPUs.
    const fn new(name: &'static str, units: &'static [&'static str], read: Read) -> Self {
        LoadType { name, keys: &[], paced: false, min_cpus: 1, units, starts_others: false, read }
    }
}

/// A load whose options have been read.
pub(crate) trait Generator {
    /// How many tasks it consists of on so many CPUs.
    fn tasks(&self, cpus: usize) -> usize {
        cpus
    }

    /// How many threads of each task do the load's work, on so many CPUs.
    fn threads_per_task(&self, _cpus: usize) -> u64 {
        1
    }

    /// Forks that many tasks, in the supervisor. Each prepares itself, waits at its barrier, then
    /// works until it is killed.
    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()>;
}

/// A load that is one task on each of its CPUs, which all do the same.
struct OnEachCpu<Body>(Body);

impl<Body: Fn(StartBarrier<'_>) -> io::Result<Infallible>> Generator for OnEachCpu<Body> {
    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        for cpu in pool.cpus().to_vec() {
            pool.fork(slice::from_ref(&cpu), &self.0)?;
        }
        Ok(())
    }
}

fn on_each_cpu(
    body: impl Fn(StartBarrier<'_>) -> io::Result<Infallible> + 'static,
) -> Result<Box<dyn Generator>, SpecError> {
    Ok(Box::new(OnEachCpu(body)))
}

/// Whether the load of this name can be held at a level.
pub fn has_level(name: &str) -> bool {
    find(name).is_some_and(|load_type| load_type.paced)
}

pub(crate) fn find(name: &str) -> Option<&'static LoadType> {
    LOAD_TYPES.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::COUNTERS;
    use model::{Anonymiser, Document, LoadEvidence, Pseudonyms};

    #[test]
    fn the_table_is_sound() {
        for kind in LOAD_TYPES {
            assert!(std::ptr::eq(find(kind.name).unwrap(), kind), "{} stands twice", kind.name);
            assert!(kind.units.len() <= COUNTERS, "{}", kind.name);
            assert!(
                ["cpus", "period", "nice", "policy", "prio", "start", "stop"]
                    .iter()
                    .all(|key| !kind.keys.contains(key)),
                "{}",
                kind.name
            );
            assert!(kind.min_cpus >= 1, "{}", kind.name);
            // The kernel cuts the name of a process after 15 bytes.
            assert!("load-".len() + kind.name.len() <= 15, "{}", kind.name);
        }
    }

    /// They stay in a recording without names. A folder is one.
    #[test]
    fn words_of_loads_are_no_names() {
        let with_keys = |kind: &LoadType| {
            let keys = kind.keys.iter().filter(|key| **key != "dir");
            keys.fold(kind.name.to_owned(), |spec, key| spec + "," + key + "=1")
        };
        let evidence = |kind: &LoadType| LoadEvidence {
            spec: with_keys(kind),
            rate: kind.units.iter().map(|unit| (unit.to_string(), 1.0)).collect(),
            ..LoadEvidence::default()
        };
        let corpus = include_str!("../../../../fuzz/corpus/run_json/complete.json");
        let mut document: Document = serde_json::from_str(corpus).unwrap();
        document.load = LOAD_TYPES.iter().map(evidence).collect();
        let pseudonyms = Pseudonyms::new([7; 32]);
        let shown = Anonymiser::new(&pseudonyms, &document).document(document.clone());
        for (shown, load) in shown.load.iter().zip(&document.load) {
            assert_eq!(shown, load);
        }
    }
}
