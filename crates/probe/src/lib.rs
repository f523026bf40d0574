// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probes, and the engine they share.
//!
//! The probes, one file each in `probes/`; what their threads run on, Linux or a co-kernel
//! (`attachment.rs`); and the engine: real-time threads, the accounting of their rows, and the ring
//! that hands each sample over. Between its first and its last row a measuring thread takes no lock
//! and allocates nothing, and the engine makes no system call but its sleep. What a probe measures
//! may take more of them: a process that is started is many.
//!
//! In: a [`plan::Run`]. Out: samples, by [`Consumer::drain`]; at the end a [`ThreadResult`] per
//! thread. Must not touch: recordings, statistics, terminals.
#![deny(unsafe_code)]

mod affinity;
mod attachment;
mod clock;
mod cokernel;
mod control;
mod cycle;
mod deadline;
mod events;
mod guard;
mod interrupt_timer;
mod measurement;
mod memory;
mod observer;
mod osnoise;
mod outcome;
mod probes;
mod process_start;
mod ring;
mod sampler;
mod signals;
mod sleep;
mod smi;
mod stream;
#[expect(unsafe_code, reason = "system calls without a safe interface; see the file's head")]
mod sys;
#[cfg(test)]
#[path = "tests/runs.rs"]
mod test_runs;
mod thread;
mod timerlat;
mod tracer;
mod trial;
mod wake;
mod wakeups;

pub use affinity::process_cpus;
pub use clock::{Calibration, Monotonic};
pub use control::{Control, StopReason};
pub use cycle::Counts;
pub use measurement::{JOIN_TIMEOUT, Measurement, ProbeError};
pub use memory::{MemoryLock, lock_memory, unlock_memory};
pub use outcome::Woken;
pub use probes::{
    ChosenProbe, PROBES, Probe, ProbeSetting, ProbeSettingError, SettingValues, choose, find,
    owners,
};
pub use ring::Consumer;
pub use sampler::Untraced;
pub use signals::{ignores_signal, unblock_signals};
pub use smi::SmiCounter;
pub use stream::{Format, Kind, Number, Record, Records, Series, Taken, Unreadable};
pub use thread::{ThreadResult, thread_name};
pub use trial::{Tried, tried};
pub use wakeups::keep_standard_output;

pub(crate) use cycle::Cycle;
pub(crate) use ring::{Producer, ring};
