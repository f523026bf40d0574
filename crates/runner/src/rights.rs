// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process may ask of the scheduler, and what to say when it is less than was wanted.

use model::Warning;
use plan::Scheduling;

/// What the threads will run with.
#[derive(Clone, Debug, PartialEq)]
pub struct Granted {
    pub scheduling: Scheduling,
    /// That it is less than was asked, and how to get more.
    pub warning: Option<Warning>,
}

/// Tries what was asked. Without the rights for it, ordinary scheduling is measured instead, and
/// said.
pub fn grant(asked: Scheduling) -> Granted {
    match probe::can_schedule(asked) {
        Ok(()) => Granted { scheduling: asked, warning: None },
        Err(error) => {
            Granted { scheduling: Scheduling::OTHER, warning: Some(no_real_time(asked, &error)) }
        }
    }
}

fn no_real_time(asked: Scheduling, error: &std::io::Error) -> Warning {
    let program = std::env::current_exe()
        .map_or_else(|_| "teiji".to_owned(), |path| path.display().to_string());
    Warning::NoRealTime { asked, granted: Scheduling::OTHER, error: error.to_string(), program }
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

    #[test]
    fn a_refusal_holds_the_request_and_the_error() {
        let warning = no_real_time(Scheduling::DEFAULT, &std::io::Error::from_raw_os_error(1));
        let Warning::NoRealTime { asked, granted, error, program } = warning else {
            panic!("{warning:?}")
        };
        assert_eq!((asked, granted), (Scheduling::DEFAULT, Scheduling::OTHER));
        assert_eq!(error, "Operation not permitted (os error 1)");
        assert!(program.contains("runner"), "{program}");
    }
}
