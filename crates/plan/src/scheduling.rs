// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scheduling policies and priorities.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A scheduling policy of Linux, by its usual short name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Fifo,
    Rr,
    Other,
    Batch,
    Idle,
    /// SCHED_DEADLINE, with the runtime, deadline and period of the probe that has them.
    Deadline,
}

impl Policy {
    /// Whether its threads go before all of ordinary policies.
    pub const fn is_real_time(self) -> bool {
        self.has_priorities() || matches!(self, Policy::Deadline)
    }

    /// Whether the policy has priorities 1 to 99.
    const fn has_priorities(self) -> bool {
        matches!(self, Policy::Fifo | Policy::Rr)
    }

    /// Whether its threads may be bound to a CPU. The kernel admits a SCHED_DEADLINE thread to all
    /// CPUs of its root domain or not at all.
    pub const fn can_pin(self) -> bool {
        !matches!(self, Policy::Deadline)
    }

    /// The kernel's number (include/uapi/linux/sched.h).
    pub const fn number(self) -> u8 {
        match self {
            Policy::Other => 0,
            Policy::Fifo => 1,
            Policy::Rr => 2,
            Policy::Batch => 3,
            Policy::Idle => 5,
            Policy::Deadline => 6,
        }
    }

    /// The kernel's name.
    pub const fn kernel_name(self) -> &'static str {
        match self {
            Policy::Fifo => "SCHED_FIFO",
            Policy::Rr => "SCHED_RR",
            Policy::Other => "SCHED_OTHER",
            Policy::Batch => "SCHED_BATCH",
            Policy::Idle => "SCHED_IDLE",
            Policy::Deadline => "SCHED_DEADLINE",
        }
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Ok(match text {
            "fifo" => Policy::Fifo,
            "rr" => Policy::Rr,
            "other" => Policy::Other,
            "batch" => Policy::Batch,
            "idle" => Policy::Idle,
            "deadline" => Policy::Deadline,
            _ => return Err(PolicyError::Unknown(text.to_owned())),
        })
    }
}

/// A policy with its priority: what a thread asks for, or what it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduling {
    pub policy: Policy,
    /// 1 to 99 for the real-time policies, none for the others.
    pub prio: Option<u8>,
}

/// What cannot be asked of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No such policy.
    #[error("unknown policy '{0}': expected fifo, rr, other, batch, idle or deadline")]
    Unknown(String),
    /// Outside 1 to 99.
    #[error("priority {0} does not exist: real-time priorities are 1 (lowest) to 99 (highest)")]
    Priority(i64),
    /// A priority beside a policy that has none.
    #[error(
        "priority {prio} needs a real-time policy, but the policy is {policy}: use --policy fifo \
         or rr, or leave the priority out"
    )]
    PriorityWithoutRealTime {
        /// The priority asked for.
        prio: i64,
        policy: &'static str,
    },
    /// CPUs named for threads that cannot be bound to them.
    #[error(
        "threads under {policy} cannot be pinned: the kernel refuses it. Leave the CPUs (-a) out, \
         and give -t N for N threads"
    )]
    CannotPin { policy: &'static str },
}

impl Scheduling {
    /// The default for measuring: high, and below the kernel's own threads at 99.
    pub const DEFAULT: Scheduling = Scheduling { policy: Policy::Fifo, prio: Some(90) };
    pub const OTHER: Scheduling = Scheduling { policy: Policy::Other, prio: None };
    /// Of threads with a runtime in each period.
    pub const DEADLINE: Scheduling = Scheduling { policy: Policy::Deadline, prio: None };

    /// The priority that other threads are held against: 0 of ordinary policies, above all that
    /// there are under SCHED_DEADLINE.
    pub fn rank(self) -> u8 {
        match self.policy {
            Policy::Deadline => u8::MAX,
            _ => self.prio.unwrap_or(0),
        }
    }

    /// Whether it is the same policy with a lower priority.
    pub fn is_below(self, other: Scheduling) -> bool {
        self.policy == other.policy && self.prio < other.prio
    }

    /// Puts what was written together; what was not written takes its default.
    ///
    /// # Errors
    /// A priority that does not exist, or one beside a policy without priorities.
    pub fn new(policy: Option<Policy>, prio: Option<i64>) -> Result<Self, PolicyError> {
        let policy = policy.unwrap_or(Self::DEFAULT.policy);
        let Some(asked) = prio else {
            return Ok(Scheduling {
                policy,
                prio: if policy.has_priorities() { Self::DEFAULT.prio } else { None },
            });
        };
        if !policy.has_priorities() {
            return Err(PolicyError::PriorityWithoutRealTime {
                prio: asked,
                policy: policy.kernel_name(),
            });
        }
        match u8::try_from(asked) {
            Ok(prio @ 1..=99) => Ok(Scheduling { policy, prio: Some(prio) }),
            _ => Err(PolicyError::Priority(asked)),
        }
    }
}

impl fmt::Display for Scheduling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.policy.kernel_name())?;
        self.prio.map_or(Ok(()), |prio| write!(f, " {prio}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_limits() {
        assert_eq!(Scheduling::new(None, None), Ok(Scheduling::DEFAULT));
        assert_eq!(
            Scheduling::new(Some(Policy::Rr), Some(1)),
            Ok(Scheduling { policy: Policy::Rr, prio: Some(1) })
        );
        assert_eq!(Scheduling::new(Some(Policy::Other), None), Ok(Scheduling::OTHER));
        for prio in [100, 0, -1, 300] {
            assert_eq!(Scheduling::new(None, Some(prio)), Err(PolicyError::Priority(prio)));
        }
        assert_eq!(
            Scheduling::new(Some(Policy::Other), Some(5)),
            Err(PolicyError::PriorityWithoutRealTime { prio: 5, policy: "SCHED_OTHER" })
        );
    }
}
