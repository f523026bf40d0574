// SPDX-License-Identifier: MIT OR Apache-2.0
//! All probes: one file each, and one line each in [`PROBES`].

mod app;
mod auto;
mod chosen;
mod co_kernels;
mod cyclic;
mod deadline;
#[cfg(debug_assertions)]
#[path = "tests/examples.rs"]
mod examples;
mod hwlat;
mod interrupts;
mod noise;
mod probe;
mod setting;
mod setting_error;
mod spawn;
mod stream;
mod timerlat;
mod wakeup;

pub use chosen::{ChosenProbe, choose, owners};
#[cfg(test)]
pub(crate) use cyclic::Cyclic;
pub(crate) use noise::Noise;
pub use probe::Probe;
pub use setting::{ProbeSetting, SettingValues};
pub use setting_error::ProbeSettingError;

use plan::{AUTO_PROBE, DEFAULT_PROBE};

/// All probes. The first is the default.
pub const PROBES: &[Probe] = &[
    cyclic::PROBE,
    interrupts::RTC,
    interrupts::HPET,
    deadline::PROBE,
    wakeup::PROBE,
    spawn::PROBE,
    timerlat::PROBE,
    noise::PROBE,
    hwlat::PROBE,
    app::PROBE,
    stream::PROBE,
    co_kernels::COBALT,
    co_kernels::EVL,
    #[cfg(debug_assertions)]
    examples::COLUMNS,
    #[cfg(debug_assertions)]
    examples::EVENTS,
    #[cfg(debug_assertions)]
    examples::MISSED,
];

/// The probe of this name. Where it is left to the machine, that of Linux.
///
/// # Errors
/// That there is none, with the names of all.
pub fn find(name: &str) -> Result<&'static Probe, ProbeSettingError> {
    let wanted = if name == AUTO_PROBE { DEFAULT_PROBE } else { name };
    PROBES.iter().find(|probe| probe.name == wanted).ok_or_else(|| no_probe(name))
}

fn no_probe(name: &str) -> ProbeSettingError {
    let names: Vec<&str> = PROBES.iter().map(|probe| probe.name).chain([AUTO_PROBE]).collect();
    ProbeSettingError::NoProbe { name: name.to_owned(), known: names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::statement;
    use model::{ProbeStatement, RowKind};
    use plan::{Length, Nanos, Run};

    fn run(probe: &str, settings: &[(&str, &str)]) -> Run {
        let mut run = crate::test_runs::test_run(Nanos::from_millis(1), 5);
        run.probe = probe.to_owned();
        run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        run
    }

    #[test]
    fn errors_name_their_setting() {
        for (probe, settings, setting, output) in [
            ("nosuch", &[][..], "probe", "unknown probe 'nosuch': expected one of cyclic, "),
            (
                "cyclic",
                &[("method", "fork")],
                "method",
                "the probe cyclic has no setting 'method': it is one of the probe spawn",
            ),
            (
                "cyclic",
                &[("colour", "red")],
                "colour",
                "the probe cyclic has no setting 'colour': it has sleep, clock",
            ),
            (
                "example-missed",
                &[("colour", "red")],
                "colour",
                "the probe example-missed has no setting 'colour': it has no settings",
            ),
            (
                "spawn",
                &[("colour", "red")],
                "colour",
                "the probe spawn has no setting 'colour': it has method",
            ),
            (
                "spawn",
                &[("method", "thread")],
                "method",
                "invalid value 'thread' for 'method' of the probe spawn: it is one of posix_spawn",
            ),
            ("example-events", &[], "samples", "the probe example-events waits for events"),
        ] {
            let error = statement(&run(probe, settings)).unwrap_err();
            assert_eq!(error.setting(), setting);
            assert!(error.to_string().starts_with(output), "{error}");
        }
    }

    /// What consumers rely on, of every probe and every value of its settings.
    #[test]
    fn statements_are_sound() {
        for probe in PROBES {
            let settings = probe.settings.iter().flat_map(|setting| match &setting.values {
                SettingValues::OneOf(words) => {
                    words.iter().map(|word| vec![(setting.name, *word)]).collect()
                }
                SettingValues::Time | SettingValues::Period => vec![vec![(setting.name, "1ms")]],
                SettingValues::Number(..) | SettingValues::Text(_)
                    if setting.default.is_empty() =>
                {
                    Vec::new()
                }
                SettingValues::Number(..) | SettingValues::Text(_) => {
                    vec![vec![(setting.name, setting.default)]]
                }
            });
            for settings in settings.chain([Vec::new()]) {
                let mut run = run(probe.name, &settings);
                run.cpus.truncate(1);
                run.scheduling = probe.default_scheduling;
                run.length = Length::DurationNs(Nanos::from_secs(1));
                let statement = match statement(&run) {
                    // One setting may need another beside it.
                    Err(
                        ProbeSettingError::Conflict { .. } | ProbeSettingError::Incomplete { .. },
                    ) => choose(probe.name, &run.probe_settings).unwrap().statement(&run),
                    statement => statement.unwrap(),
                };
                assert_eq!(statement.name, probe.name);
                assert!(!statement.columns.is_empty());
                assert_eq!(statement.columns[0].unit, model::ColumnUnit::Nanoseconds);
                assert_eq!(statement.overrun_column.is_none(), statement.rows == RowKind::Events);
                assert!(
                    statement.overrun_column.is_none_or(|column| column < statement.columns.len())
                );
            }
            // One without a default is left out.
            for setting in probe.settings.iter().filter(|setting| !setting.default.is_empty()) {
                assert_eq!(setting.values.check(setting.default), Ok(()), "{setting:?}");
            }
        }
    }

    #[test]
    fn cyclic_states_what_the_first_recordings_meant() {
        assert_eq!(statement(&run("cyclic", &[])), Ok(ProbeStatement::cyclic()));
        assert_eq!(PROBES[0].name, plan::DEFAULT_PROBE);
    }
}
