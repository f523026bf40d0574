// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a guest may take of this machine, whatever it or a recording asks for.

use plan::{Guest, Run};
use std::time::Duration;

/// Memory of a guest that a recording asks for, MiB; `--memory` allows more.
pub const MAX_MEMORY_MIB: u32 = 2_048;
/// How long the run of a recording may take, on the guest's clock; `--expect` allows more. On this
/// machine's clock a guest is given up after many times that: see `timeouts.rs`.
pub const MAX_EXPECTED: Duration = Duration::from_secs(600);

/// What the run of a recording may take. More is for the user to ask for. CPUs have no flag: there
/// are at most 8 (`plan::Guest::check`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestLimits {
    /// Memory, MiB.
    pub memory_mib: u32,
    /// How long, on the guest's clock.
    pub expected: Duration,
}

impl Default for GuestLimits {
    fn default() -> Self {
        GuestLimits { memory_mib: MAX_MEMORY_MIB, expected: MAX_EXPECTED }
    }
}

/// More than a recording may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    #[error(
        "the recording asks for a guest of {asked} MiB, and may have {allowed}. To allow more: \
         --memory {asked}"
    )]
    Memory {
        /// MiB.
        asked: u32,
        /// MiB.
        allowed: u32,
    },
    #[error(
        "the recording's run takes up to {} s on the guest's clock, and may take {}. \
         To allow more: --expect {}s",
        asked.as_secs(),
        allowed.as_secs(),
        asked.as_secs() + 1,
    )]
    Time { asked: Duration, allowed: Duration },
}

impl GuestLimits {
    /// Whether a recording's guest and run keep to them.
    pub(crate) fn check(&self, guest: &Guest, run: &Run) -> Result<(), TooMuch> {
        if guest.memory_mib > self.memory_mib {
            return Err(TooMuch::Memory { asked: guest.memory_mib, allowed: self.memory_mib });
        }
        let asked = run.max_duration_ns().duration();
        if asked > self.expected {
            return Err(TooMuch::Time { asked, allowed: self.expected });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{GuestTime, Machine, Nanos};

    #[test]
    fn a_recording_gets_no_more_than_the_user_allows() {
        let guest = |memory_mib| Guest {
            machine: Machine::X86_64,
            memory_mib,
            cpus: 1,
            time: GuestTime::Virtual { shift: 0 },
            kernel_args: String::new(),
        };
        let run = |seconds| Run::example(Nanos::from_secs(1), seconds);
        let usual = GuestLimits::default();
        assert_eq!(usual.check(&guest(MAX_MEMORY_MIB), &run(500)), Ok(()));
        let refused = |limits: GuestLimits, memory, seconds| {
            limits.check(&guest(memory), &run(seconds)).unwrap_err().to_string()
        };
        let text = refused(usual, 1_000_000, 1);
        assert!(
            text.contains("1000000 MiB, and may have 2048. To allow more: --memory 1000000"),
            "{text}"
        );
        let years = refused(usual, 512, 1_000_000_000);
        assert!(years.contains("--expect 10000000"), "{years}");
        let allowed = GuestLimits { memory_mib: 8_192, expected: Duration::from_secs(2_000) };
        assert_eq!(allowed.check(&guest(8_192), &run(1_500)), Ok(()));
        assert!(refused(GuestLimits { memory_mib: 256, ..usual }, 512, 1).contains("may have 256"));
    }
}
