// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far guests have come, and who observes it.

use std::time::Duration;

/// How far a guest has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Whether KVM runs the kernel is tried out.
    TryingKvm,
    Booting,
    Measuring,
    /// Results arrive: bytes that are here, of all.
    Sending {
        received: u64,
        of: u64,
    },
}

#[derive(Clone, Debug)]
pub struct GuestProgress {
    pub name: String,
    pub stage: Stage,
    /// Since its start, on the host's clock.
    pub elapsed: Duration,
}

/// Observes the guests. Called a few times a second.
pub trait GuestObserver {
    /// How far each guest that runs is, how many are done, and how many there are in all.
    fn progress(&mut self, running: &[GuestProgress], done: usize, all: usize);
    /// Something worth a line.
    fn note(&mut self, text: &str);
}
