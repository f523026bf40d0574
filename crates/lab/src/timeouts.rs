// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long a guest may take, on the host's clock, before it is given up.

use plan::{Guest, GuestTime};
use std::time::Duration;

/// Until a guest's first process runs: several times what a busy two-core machine needs.
pub const BOOT_TIMEOUT: Duration = Duration::from_secs(120);
/// What a task may take beyond its own length, where booting may not take longer: loads that start,
/// figures that are computed, both by an emulator.
const BESIDE_TASK: Duration = Duration::from_secs(120);
/// How many times slower than real time virtual time may pass. An emulator executes some hundred
/// million instructions a second of the thousand million that virtual time counts, and fewer on a
/// busy host.
const VIRTUAL_SLOWDOWN: u32 = 60;
/// The same of several CPUs in turns, of which each is short.
const TURNS_SLOWDOWN: u32 = 1_000;
/// On the host's clock a task takes its own length; computing its figures at most as long again.
const HOST_SLOWDOWN: u32 = 2;

/// How long a guest may take, on the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// Until its first process runs.
    pub boot: Duration,
    /// From there until its results begin to arrive.
    pub task: Duration,
}

impl Timeouts {
    /// For a task that takes `expected` on the clock of this guest. Where booting may take long, so
    /// may what is beside it.
    pub(crate) fn new(boot: Duration, expected: Duration, guest: &Guest) -> Self {
        let slowdown = match guest.time {
            GuestTime::Virtual { .. } if guest.has_turns() => TURNS_SLOWDOWN,
            GuestTime::Virtual { .. } => VIRTUAL_SLOWDOWN,
            GuestTime::Host => HOST_SLOWDOWN,
        };
        Timeouts {
            boot,
            task: expected.saturating_mul(slowdown).saturating_add(boot.max(BESIDE_TASK)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_on_the_hosts_clock_is_not_given_sixty_times_its_length() {
        let hour = Duration::from_secs(3_600);
        let guest = |cpus, time| Guest {
            machine: plan::Machine::X86_64,
            memory_mib: 512,
            cpus,
            time,
            kernel_args: String::new(),
        };
        let task = |cpus, time| Timeouts::new(BOOT_TIMEOUT, hour, &guest(cpus, time)).task;
        assert_eq!(
            (task(1, GuestTime::Host), task(2, GuestTime::Host)),
            (2 * hour + BESIDE_TASK, 2 * hour + BESIDE_TASK)
        );
        assert_eq!(task(1, GuestTime::Virtual { shift: 0 }), 60 * hour + BESIDE_TASK);
        assert_eq!(task(2, GuestTime::Virtual { shift: 0 }), 1_000 * hour + BESIDE_TASK);
        assert_eq!(Timeouts::new(hour, hour, &guest(1, GuestTime::Host)).task, 3 * hour);
        assert!(Timeouts::new(BOOT_TIMEOUT, Duration::MAX, &guest(1, GuestTime::Host)).task > hour);
    }
}
