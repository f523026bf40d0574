// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked of the machine for the length of a run, and what it refused.

use host::{DmaLatency, HostRoot};
use model::{MemoryNotLocked, Warning};
use probe::MemoryLock;

/// The machine as the measuring threads find it; given back when dropped.
pub(crate) struct Conditions {
    dma_latency: Option<DmaLatency>,
    memory: MemoryLock,
    warnings: Vec<Warning>,
}

impl Conditions {
    /// Locks memory and keeps CPUs from deep sleep, as far as the rights go.
    /// `dma_latency_us` is how many µs a CPU may take to wake; none: that is left alone.
    pub(crate) fn arrange(dma_latency_us: Option<i32>, host: &HostRoot) -> Self {
        let mut warnings = Vec::new();
        let memory = probe::lock_memory();
        warnings.extend(not_locked(&memory).map(|reason| Warning::MemoryNotLocked { reason }));
        let mut dma_latency = None;
        if let Some(micros) = dma_latency_us {
            match DmaLatency::hold(host, micros) {
                Ok(held) => dma_latency = Some(held),
                Err(error) => warnings.extend(error.warning(host)),
            }
        }
        Conditions { dma_latency, memory, warnings }
    }

    pub(crate) fn memory_locked(&self) -> bool {
        self.memory == MemoryLock::Locked
    }

    pub(crate) const fn dma_latency_held(&self) -> bool {
        self.dma_latency.is_some()
    }

    pub(crate) fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl Drop for Conditions {
    fn drop(&mut self) {
        if self.memory_locked() {
            probe::unlock_memory();
        }
    }
}

fn not_locked(memory: &MemoryLock) -> Option<MemoryNotLocked> {
    match memory {
        MemoryLock::Locked => None,
        MemoryLock::Limited(bytes) => Some(MemoryNotLocked::LimitBytes(*bytes)),
        MemoryLock::Refused(error) => Some(MemoryNotLocked::Error(error.clone())),
    }
}
