// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measuring engine.
//!
//! Here live the real-time threads, the clock they sleep on, the accounting of their activations, and the ring that
//! carries each sample out. Between its first and its last activation a measuring thread makes no system call but its
//! sleep, takes no lock, allocates nothing and faults no page.
//!
//! In: a [`plan::Run`]. Out: samples, by [`Consumer::drain`]; at the end a [`ThreadResult`] per thread. Must not touch:
//! files, statistics, terminals.
#![deny(unsafe_code)]

mod affinity;
mod clock;
mod control;
mod cycle;
mod guard;
mod measurement;
mod memory;
mod ring;
#[expect(unsafe_code, reason = "system calls without a safe interface; see the file's head")]
mod sys;
mod thread;
mod trial;

pub use affinity::process_cpus;
pub use clock::{Calibration, Clock, Monotonic, Woken};
pub use control::{Control, StopReason};
pub use cycle::{Counts, Cycle, measure};
pub use measurement::{Measurement, ProbeError, can_schedule, set_scheduling};
pub use memory::{MemoryLock, lock_memory, unlock_memory};
pub use ring::{Consumer, Producer, Sample, ring};
pub use thread::{ThreadResult, Usage};
pub use trial::{Tried, tried};
