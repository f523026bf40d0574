// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process may ask of the scheduler, and what to say when it is less than was wanted.

use host::HostRoot;
use model::{RefusalCause, Warning};
use plan::{Policy, Scheduling};
use std::io;
use system::scheduling::may_have;

/// What the threads will run with.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    pub scheduling: Scheduling,
    /// That it is less than was asked, and how to get more.
    pub warning: Option<Warning>,
}

/// Tries what was asked. Where the priority is above the limit, the highest one that is allowed is
/// measured with instead, and without any right ordinary scheduling; both are said.
pub fn grant(asked: Scheduling) -> Granted {
    if asked.policy == Policy::Deadline {
        // Not without the reservation of its probe, which says itself what the kernel refuses.
        // There is nothing else to measure with.
        return Granted { scheduling: asked, warning: None };
    }
    match may_have(asked) {
        Ok(()) => Granted { scheduling: asked, warning: None },
        Err(error) => {
            let causes = check::refusal_causes(&HostRoot::system(), asked);
            let allowed = allowed(asked, &causes).filter(|lower| may_have(*lower).is_ok());
            refused(asked, allowed.unwrap_or(Scheduling::OTHER), &error, causes)
        }
    }
}

/// The same policy with the highest priority below the one asked for that the limit allows.
fn allowed(asked: Scheduling, causes: &[RefusalCause]) -> Option<Scheduling> {
    let limit = causes.iter().find_map(|cause| match cause {
        RefusalCause::Limit { allowed, .. } => u8::try_from(*allowed).ok(),
        _ => None,
    });
    let prio = limit.filter(|limit| *limit > 0 && Some(*limit) < asked.prio)?;
    Some(Scheduling { prio: Some(prio), ..asked })
}

fn refused(
    asked: Scheduling,
    granted: Scheduling,
    error: &io::Error,
    causes: Vec<RefusalCause>,
) -> Granted {
    let program = std::env::current_exe()
        .map_or_else(|_| "teiji".to_owned(), |path| path.display().to_string());
    let error = error.to_string();
    let warning = Warning::NoRealTime { asked, granted, error, program, causes };
    Granted { scheduling: granted, warning: Some(warning) }
}

/// What the kernel will do to this process if one of its threads, scheduled so, runs for long
/// without sleep.
pub fn timeout(granted: Scheduling) -> Option<Warning> {
    // SCHED_DEADLINE has a runtime of its own, and no such limit.
    let after_ns = system::scheduling::real_time_timeout().filter(|_| granted.prio.is_some())?;
    Some(Warning::RealTimeTimeout { after_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_scheduling_is_always_granted() {
        assert_eq!(
            grant(Scheduling::OTHER),
            Granted { scheduling: Scheduling::OTHER, warning: None }
        );
    }

    fn limit(allowed: u64) -> RefusalCause {
        let (hard, container) = (Some(allowed), None);
        RefusalCause::Limit { allowed, hard, in_user_namespace: false, container }
    }

    #[test]
    fn a_refusal_holds_the_request_the_error_and_the_cause() {
        let error = io::Error::from_raw_os_error(1);
        let granted = refused(Scheduling::DEFAULT, Scheduling::OTHER, &error, vec![limit(0)]);
        assert_eq!(granted.scheduling, Scheduling::OTHER);
        let Some(Warning::NoRealTime { asked, granted, error, program, causes }) = granted.warning
        else {
            panic!("no warning")
        };
        assert_eq!((asked, granted), (Scheduling::DEFAULT, Scheduling::OTHER));
        assert_eq!(error, "Operation not permitted (os error 1)");
        assert_eq!(causes, [limit(0)]);
        assert!(program.contains("runner"), "{program}");
    }

    /// With a limit of 20, ordinary scheduling was measured.
    #[test]
    fn the_highest_allowed_priority_is_measured_with() {
        let of = |causes: &[RefusalCause]| allowed(Scheduling::DEFAULT, causes);
        assert_eq!(of(&[limit(20)]), Some(Scheduling { prio: Some(20), ..Scheduling::DEFAULT }));
        assert_eq!(of(&[limit(0)]), None);
        assert_eq!(of(&[RefusalCause::SystemCall { seccomp: true }]), None);
    }
}
