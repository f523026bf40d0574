// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the process may ask of the scheduler, and what to say when it is less than was wanted.

use model::Warning;
use plan::Scheduling;

/// What the threads will run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// What they get.
    pub scheduling: Scheduling,
    /// That it is less than was asked, and how to get more.
    pub warning: Option<Warning>,
}

/// Tries what was asked. Without the rights for it, ordinary scheduling is measured instead, and said.
#[must_use]
pub fn grant(asked: Scheduling) -> Granted {
    match probe::can_schedule(asked) {
        Ok(()) => Granted { scheduling: asked, warning: None },
        Err(error) => Granted { scheduling: Scheduling::OTHER, warning: Some(no_real_time(asked, &error)) },
    }
}

fn no_real_time(asked: Scheduling, error: &std::io::Error) -> Warning {
    let program = std::env::current_exe().map_or_else(|_| "teiji".to_owned(), |path| path.display().to_string());
    Warning {
        code: "no-real-time".to_owned(),
        message: format!(
            "No real-time rights: measured with {}, not {asked}. The figures say little about real-time threads.",
            Scheduling::OTHER
        ),
        evidence: format!("the kernel refused {asked}: {error}"),
        // Not cap_dac_override, which would open /dev/cpu_dma_latency and every other file with it.
        next_step: format!("sudo setcap cap_sys_nice,cap_ipc_lock=ep {program}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_scheduling_is_always_granted() {
        assert_eq!(grant(Scheduling::OTHER), Granted { scheduling: Scheduling::OTHER, warning: None });
    }

    #[test]
    fn refusal_names_what_would_help() {
        let warning = no_real_time(Scheduling::DEFAULT, &std::io::Error::from_raw_os_error(1));
        assert!(warning.message.starts_with("No real-time rights"));
        assert!(warning.evidence.contains("SCHED_FIFO 90"));
        assert!(warning.next_step.contains("setcap cap_sys_nice"));
    }
}
