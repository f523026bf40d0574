// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is asked of the machine for the length of a run, and what it refused.

use host::{DmaLatency, HostRoot};
use model::Warning;
use plan::Run;
use probe::MemoryLock;

/// The machine as the measuring threads find it; given back when dropped.
pub(crate) struct Conditions {
    dma_latency: Option<DmaLatency>,
    memory: MemoryLock,
    warnings: Vec<Warning>,
}

impl Conditions {
    /// Locks memory and keeps CPUs from deep sleep, as far as the rights go.
    pub(crate) fn arrange(run: &Run, host: &HostRoot) -> Self {
        let mut warnings = Vec::new();
        let memory = probe::lock_memory();
        if let Some((evidence, next_step)) = memory_advice(&memory) {
            warnings.push(Warning {
                code: "memory-not-locked".to_owned(),
                message: "Memory could not be locked: page faults may add latency.".to_owned(),
                evidence,
                next_step,
            });
        }
        let mut dma_latency = None;
        if run.hold_dma_latency {
            match DmaLatency::hold(host) {
                Ok(held) => dma_latency = Some(held),
                Err(error) => warnings.push(Warning {
                    code: "dma-latency-not-held".to_owned(),
                    message: "CPUs may enter deep idle states between activations: /dev/cpu_dma_latency is not held at 0."
                        .to_owned(),
                    evidence: error.to_string(),
                    next_step: "Run as root, or measure the machine as it is with --no-dma-latency.".to_owned(),
                }),
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

fn memory_advice(memory: &MemoryLock) -> Option<(String, String)> {
    match memory {
        MemoryLock::Locked => None,
        MemoryLock::Limited(bytes) => Some((
            format!("the limit on locked memory is {} KiB", bytes / 1024),
            "Raise it with a line '@realtime - memlock unlimited' in /etc/security/limits.d/realtime.conf, or run as root."
                .to_owned(),
        )),
        MemoryLock::Refused(error) => Some((format!("mlockall: {error}"), "Run as root.".to_owned())),
    }
}
