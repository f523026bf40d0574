// SPDX-License-Identifier: MIT OR Apache-2.0
//! On which CPUs this process runs, and on which it may.
//!
//! These are two sets. A process inherits an affinity: with `isolcpus=` everybody's is the CPUs
//! that are not isolated, and `taskset` sets any. That is where a thread runs unless it asks for
//! something else, and no limit: the kernel lets it ask. What the kernel does not give are CPUs
//! that are offline or outside of the process's cpuset.

use plan::{CpuId, ProcessCpus};
use std::io;
use system::scheduling::{self, on_own_thread};

/// The CPUs of this process: where it runs, and what it may ask for.
///
/// # Errors
/// When no thread can be made, or the kernel does not say.
pub fn process_cpus() -> io::Result<ProcessCpus> {
    Ok(ProcessCpus { inherited: affinity()?, usable: usable()?, ..ProcessCpus::default() })
}

/// The calling thread's.
fn affinity() -> io::Result<Vec<CpuId>> {
    scheduling::affinity(None)
}

/// Only the kernel knows, so a thread asks for all there can be.
fn usable() -> io::Result<Vec<CpuId>> {
    on_own_thread("teiji-cpus", || {
        // Where asking is forbidden (a sandbox), what was inherited is what there is.
        let _ = scheduling::set_affinity_to_all(None);
        affinity()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a thread of its own, whose affinity goes with it.
    #[test]
    fn an_inherited_affinity_is_no_limit() {
        let before = process_cpus().unwrap();
        assert!(before.inherited.iter().all(|cpu| before.usable.contains(cpu)), "{before:?}");
        let first = before.inherited[0];
        let confined = std::thread::spawn(move || {
            scheduling::set_affinity(None, &[first]).unwrap();
            process_cpus().unwrap()
        });
        let usable = before.usable.clone();
        let expected = ProcessCpus { inherited: vec![first], usable, ..ProcessCpus::default() };
        assert_eq!(confined.join().unwrap(), expected);
        assert_eq!(process_cpus().unwrap(), before, "asking changes nothing for anyone else");
    }
}
