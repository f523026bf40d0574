// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loads there are.

use crate::spec::{Options, SpecError};
use crate::team::Team;
use crate::{cpu, hackbench};
use std::fmt;
use std::io;

/// Every load, in the order they are listed to people.
pub(crate) static KINDS: &[Kind] = &[cpu::KIND, hackbench::KIND];

/// One load, as data: all that can be said of it before any is started.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What people write.
    pub name: &'static str,
    /// The keys it understands beside `cpus`, which all do.
    pub keys: &'static [&'static str],
    /// The CPU use it is to reach on each of its CPUs, percent; none for a load that takes what it gets.
    pub level: Option<f64>,
    /// What each counter of a task counts; at most [`crate::report::COUNTERS`].
    pub units: &'static [&'static str],
    /// Reads the values of the keys.
    pub read: fn(&Options<'_>) -> Result<Box<dyn Generator>, SpecError>,
}

/// A load whose options have been read.
pub(crate) trait Generator: fmt::Debug {
    /// How many tasks it consists of on so many CPUs.
    fn tasks(&self, cpus: usize) -> usize;

    /// Forks that many tasks, in the leader. Each prepares itself, waits at its post, then works until it is killed.
    fn assemble(&self, team: &mut Team) -> io::Result<()>;
}

/// The load of this name.
pub(crate) fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::COUNTERS;

    #[test]
    fn the_table_is_sound() {
        for kind in KINDS {
            assert!(std::ptr::eq(find(kind.name).unwrap(), kind), "{} stands twice", kind.name);
            assert!((1..=COUNTERS).contains(&kind.units.len()), "{}", kind.name);
            assert!(!kind.keys.contains(&"cpus"), "{}", kind.name);
            // The kernel cuts the name of a process after 15 bytes.
            assert!("load-".len() + kind.name.len() <= 15, "{}", kind.name);
        }
    }
}
