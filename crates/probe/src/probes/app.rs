// SPDX-License-Identifier: MIT OR Apache-2.0
//! `app`: the wake-ups of another program, in which nothing is changed.
//!
//! The kernel records when the program arms a timer, when a thread of it is woken and when that is
//! on a CPU. Each wake-up is a row. The judged time is from the planned one, which the program gave
//! its timer, until the thread runs; where no timer of the program was the cause, from when the
//! thread was woken.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::Linux;
use crate::thread::{Launched, Outlives, ThreadConfig};
use crate::wakeups::{self, Cause, Program, ProgramError, Wakeups};
use model::{Column, ProbeStatement, RowKind};
use plan::{APP_PROBE, Nanos, ProbeSettings, Run, Scheduling};
use std::io;
use std::sync::Arc;
use system::rights;

pub(super) const PROBE: Probe = Probe {
    needs: "tracefs with the events sched and timer, and the right to use it (root)",
    settings: &[PID, COMMAND, WAKEUPS],
    example: Some((COMMAND, "./my-loop")),
    default_interval: EXPECTED,
    default_scheduling: Scheduling::OTHER,
    ..Probe::new(APP_PROBE, "wake-ups of another program, which runs or is started", |settings| {
        Arc::new(Settings::from(settings))
    })
};

/// Between two wake-ups of a busy program: as many as that have room until they are written.
const EXPECTED: Nanos = Nanos::from_micros(100);

const PID: ProbeSetting =
    ProbeSetting::new("pid", "The process to measure", SettingValues::Number(1, 4_194_304), "")
        .default_not_recorded();

const COMMAND: ProbeSetting = ProbeSetting::new(
    "command",
    "The command to start and measure, in one text. After -- it is given as it is",
    SettingValues::Text("COMMAND"),
    "",
)
.default_not_recorded();

const WAKEUPS: ProbeSetting = ProbeSetting::one_of(
    "wakeups",
    "Which of them: those of the program's timers, all others, or both",
    &["all", "timer", "other"],
);

struct Settings {
    pid: Option<u32>,
    command: Option<String>,
    wanted: Option<Cause>,
}

impl From<&ProbeSettings> for Settings {
    fn from(settings: &ProbeSettings) -> Self {
        let wanted = match WAKEUPS.text(settings) {
            "timer" => Some(Cause::Timer),
            "other" => Some(Cause::Other),
            _ => None,
        };
        let command = settings.get(COMMAND.name).cloned();
        Settings { pid: PID.number(settings), command, wanted }
    }
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        ProbeStatement {
            rows: RowKind::Events,
            columns: vec![
                Column::ns(
                    "latency_ns",
                    "from the planned time of the program's timer, or from being woken, until the \
                     thread runs",
                ),
                Column::ns("switch_ns", "from being woken until the thread runs"),
                Column::count(
                    Column::MISSED,
                    "planned times of a periodic thread that passed since its wake-up before",
                ),
                Column::count("cause", "1: a timer of the program, 2: anything else"),
                Column::count("tid", "number of the thread that was woken"),
                Column::count(Column::ON_CPU, "CPU that it ran on"),
            ],
            overrun_column: None,
            measuring_point: "from the time that the program gave its timer, or from the event \
                              sched_waking, to the event sched_switch, in the kernel"
                .into(),
            only_observes: true,
            ..ProbeStatement::cyclic()
        }
    }

    fn incomplete(&self) -> Option<&'static str> {
        (self.pid.is_none() && self.command.is_none()).then_some(
            "a program to measure: add -- ./my-loop or --pid N (in a plan, command = './my-loop' \
             or pid = N)",
        )
    }

    fn conflict(&self, _: &Run) -> Option<SettingConflict> {
        match (self.pid, &self.command) {
            (Some(_), Some(_)) => {
                conflict(PID.name, "one program is measured. Give a process or a command")
            }
            (None, Some(command)) => {
                let refused = rights::may_start_programs().err().map(|error| error.to_string());
                let refused = refused
                    .or_else(|| wakeups::words(command).err().map(|error| error.to_string()));
                refused.and_then(|reason| conflict(COMMAND.name, reason))
            }
            (Some(_) | None, None) => None,
        }
    }

    fn max_threads(&self) -> Option<usize> {
        Some(1)
    }

    fn without_meaning(&self) -> &'static [(&'static str, &'static str)] {
        &[("interval", "when the program wakes up is its own affair")]
    }

    /// With no program named, of the machine alone.
    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        let lack = |error: ProgramError| error.to_string();
        let program = || match (self.pid, &self.command) {
            (Some(pid), _) => Program::find(pid).err().map(lack),
            (None, Some(command)) => wakeups::check(command).err().map(lack),
            (None, None) => None,
        };
        wakeups::lacks().or_else(program)
    }

    fn program(&self) -> Option<Option<u32>> {
        (self.pid.is_some() || self.command.is_some()).then_some(self.pid)
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let command = self.command.as_deref().unwrap_or_default();
        let program = match self.pid {
            Some(pid) => Program::find(pid).map_err(io::Error::other)?,
            None => Program::hold(&wakeups::words(command).map_err(io::Error::other)?)?,
        };
        let source = Wakeups::of(program, self.wanted)?;
        let outlives = Some(source.session() as Outlives);
        let launched =
            config.launch_events::<_, { wakeups::COLUMNS }, { wakeups::SLOT }>(Linux, source)?;
        Ok(Launched { outlives, ..launched })
    }
}
