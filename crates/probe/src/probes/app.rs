// SPDX-License-Identifier: MIT OR Apache-2.0
//! `app`: the wake-ups of another program, in which nothing is changed.
//!
//! The kernel records when the program arms a timer, when a thread of it is woken and when that is
//! on a CPU. Each wake-up is a row. The judged time is from the planned one, which the program gave
//! its timer, until the thread runs; where no timer of the program was the cause, from when the
//! thread was woken.

use super::{Probe, ProbeSetting, SettingConflict, SettingValues};
use crate::attachment::Linux;
use crate::wakeups::{self, Cause, Program, ProgramError, Wakeups};
use model::{Column, ColumnUnit, ProbeStatement, Quantity, RowKind};
use plan::{Nanos, ProbeSettings, Run, Scheduling};
use std::io;
use system::rights;

pub(super) const PROBE: Probe = Probe {
    name: "app",
    summary: "wake-ups of another program, which runs or is started",
    needs: "tracefs with the events sched and timer, and the right to use it (root)",
    settings: &[PID, COMMAND, WAKEUPS],
    statement: |run| statement(&run.probe_settings),
    conflict,
    max_threads: |_| Some(1),
    lacks: |settings, _| lacks(settings),
    default_interval: EXPECTED,
    default_scheduling: Scheduling::OTHER,
    launch: |settings, config| {
        let source = Wakeups::of(program(settings)?, wanted(settings))?;
        config.launch_events::<_, { wakeups::COLUMNS }, { wakeups::SLOT }>(Linux, source)
    },
};

pub(super) const WITHOUT_MEANING: super::WithoutMeaning =
    &[("interval", "when the program wakes up is its own affair")];

/// Between two wake-ups of a busy program: as many as that have room until they are written.
const EXPECTED: Nanos = Nanos::from_micros(100);

const PID: ProbeSetting = ProbeSetting {
    name: "pid",
    help: "The process to measure",
    values: SettingValues::Number(1, 4_194_304),
    default: "",
    default_is_recorded: false,
};

const COMMAND: ProbeSetting = ProbeSetting {
    name: "command",
    help: "The command to start and measure, in one text. After -- it is given as it is",
    values: SettingValues::Text("COMMAND"),
    default: "",
    default_is_recorded: false,
};

const WAKEUPS: ProbeSetting = ProbeSetting {
    name: "wakeups",
    help: "Which of them: those of the program's timers, all others, or both",
    values: SettingValues::OneOf(&["all", "timer", "other"]),
    default: "all",
    default_is_recorded: true,
};

fn wanted(settings: &ProbeSettings) -> Option<Cause> {
    match WAKEUPS.value_in(settings) {
        "timer" => Some(Cause::Timer),
        "other" => Some(Cause::Other),
        _ => None,
    }
}

fn statement(_: &ProbeSettings) -> ProbeStatement {
    let count = |name: &'static str, meaning: &'static str| Column {
        name: name.into(),
        unit: ColumnUnit::Count,
        meaning: meaning.into(),
    };
    ProbeStatement {
        name: PROBE.name.into(),
        rows: RowKind::Events,
        columns: vec![
            Column::ns(
                "latency_ns",
                "from the planned time of the program's timer, or from being woken, until the \
                 thread runs",
            ),
            Column::ns("switch_ns", "from being woken until the thread runs"),
            count(
                Column::MISSED,
                "planned times of a periodic thread that passed since its wake-up before",
            ),
            count("cause", "1: a timer of the program, 2: anything else"),
            count("tid", "number of the thread that was woken"),
            count(Column::ON_CPU, "CPU that it ran on"),
        ],
        overrun_column: None,
        clock: "CLOCK_MONOTONIC".into(),
        measuring_point: "from the time that the program gave its timer, or from the event \
                          sched_waking, to the event sched_switch, in the kernel"
            .into(),
        quantity: Quantity::Latency,
        period_ns: None,
        only_observes: true,
    }
}

fn conflict(run: &Run) -> Option<SettingConflict> {
    let given = |setting: &ProbeSetting| run.probe_settings.contains_key(setting.name);
    let conflict = |setting: &ProbeSetting, reason: &str| {
        Some(SettingConflict { setting: setting.name, reason: reason.into() })
    };
    match (given(&PID), given(&COMMAND)) {
        (true, true) => conflict(&PID, "one program is measured. Give a process or a command"),
        (false, false) => conflict(&PID, "no program is named. Give --pid N, or -- COMMAND"),
        (false, true) => match (
            rights::may_start_programs(),
            wakeups::words(COMMAND.value_in(&run.probe_settings)),
        ) {
            (Err(refused), _) => conflict(&COMMAND, &refused.to_string()),
            (_, Err(error)) => conflict(&COMMAND, &error.to_string()),
            _ => None,
        },
        (true, false) => None,
    }
}

/// With no program named, of the machine alone.
fn lacks(settings: &ProbeSettings) -> Option<String> {
    let lack = |error: ProgramError| error.to_string();
    let program = || match (settings.get(PID.name), settings.get(COMMAND.name)) {
        (Some(pid), _) => Program::find(pid.parse().unwrap_or(0)).err().map(lack),
        (None, Some(command)) => wakeups::check(command).err().map(lack),
        (None, None) => None,
    };
    wakeups::lacks().or_else(program)
}

fn program(settings: &ProbeSettings) -> io::Result<Program> {
    match settings.get(PID.name) {
        Some(pid) => Program::find(pid.parse().unwrap_or(0)).map_err(io::Error::other),
        None => {
            Program::hold(&wakeups::words(COMMAND.value_in(settings)).map_err(io::Error::other)?)
        }
    }
}
