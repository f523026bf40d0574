// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command that makes one phase of a run again: the flags as they were given, with the kernel's
//! full name, and that phase.

use crate::suggestion::{self, Word};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory};
use plan::{Run, Value};
use probe::PROBES;
use std::ffi::OsString;

/// Flags that say of which kernels, how often, how long to search, by what it is judged, and where
/// the recordings go.
const NOT_OF_A_RUN: [&str; 17] = [
    "kernels",
    "kernel",
    "phases",
    "phase",
    "repeat",
    "verify_identical",
    "for_time",
    "runs",
    "intervals",
    "prios",
    "seed",
    "jobs",
    "output",
    "json",
    "quiet",
    "title",
    "limit",
];
/// The flag of which each run has one value.
const PROBE: &str = "probe";

/// `teiji lab run -k debian:amd64=6.1.0-56 --load hackbench -n 3000 --phase 17`, for a run that
/// this command line asked for: of this kernel, by the probe as it was named.
pub fn command(kernel: &str, probe: &str, run: &Run) -> String {
    command_of(std::env::args_os(), kernel, probe, run)
}

/// The flags of a run, as this command line gave them, as the settings of a plan: long names, and
/// values or whether they are switched on.
pub fn settings(probe: &str, run: &Run) -> Vec<(String, Value)> {
    settings_of(std::env::args_os(), probe, run)
}

fn settings_of(
    line: impl IntoIterator<Item = OsString>,
    probe: &str,
    run: &Run,
) -> Vec<(String, Value)> {
    given(line, probe, run)
        .into_iter()
        .map(|flag| (flag.long, flag.values.map_or(Value::Switch(true), Value::Words)))
        .collect()
}

fn command_of(
    line: impl IntoIterator<Item = OsString>,
    kernel: &str,
    probe: &str,
    run: &Run,
) -> String {
    let mut words = ["lab", "run", "-k", kernel].map(str::to_owned).to_vec();
    let mut typed: Vec<(usize, Vec<String>)> =
        given(line, probe, run).iter().flat_map(Given::typed).collect();
    typed.sort();
    words.extend(typed.into_iter().flat_map(|(_, words)| words));
    words.extend(["--phase".to_owned(), run.phase.to_string()]);
    suggestion::command(&words.iter().map(|word| word as &dyn Word).collect::<Vec<_>>())
}

/// A flag as it was given.
struct Given {
    long: String,
    short: Option<char>,
    /// Where each of its values stood; of a flag without values where it stood itself.
    places: Vec<usize>,
    /// None of a flag that has none.
    values: Option<Vec<String>>,
    /// Whether a value has to follow an equals sign.
    needs_equals: bool,
}

/// The flags of a run, as they were given.
fn given(line: impl IntoIterator<Item = OsString>, probe: &str, run: &Run) -> Vec<Given> {
    let mut command = crate::Cli::command();
    let all = command.try_get_matches_from_mut(line).unwrap_or_default();
    let (mut command, mut matches) = (&command, &all);
    while let Some((verb, of_verb)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(verb) else { return Vec::new() };
        (command, matches) = (found, of_verb);
    }
    let is_given = |argument: &&Arg| {
        matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let is_of_run = |argument: &&Arg| {
        let id = argument.get_id().as_str();
        let is_setting =
            PROBES.iter().flat_map(|probe| probe.settings).any(|setting| setting.name == id);
        // Of several probes each has its own settings.
        !NOT_OF_A_RUN.contains(&id) && (!is_setting || run.probe_settings.contains_key(id))
    };
    let given = command.get_arguments().filter(is_given).filter(is_of_run);
    let mut given: Vec<Given> =
        given.map(|argument| Given::new(argument, matches, probe)).collect();
    given.sort_by_key(|flag| flag.places.first().copied());
    given
}

impl Given {
    fn new(argument: &Arg, matches: &ArgMatches, probe: &str) -> Self {
        let id = argument.get_id().as_str();
        let takes_values = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
        let value = |value: &std::ffi::OsStr| {
            if id == PROBE { probe.to_owned() } else { value.to_string_lossy().into_owned() }
        };
        Given {
            long: argument.get_long().unwrap_or(id).to_owned(),
            short: argument.get_short(),
            places: matches.indices_of(id).into_iter().flatten().collect(),
            values: takes_values
                .then(|| matches.get_raw(id).into_iter().flatten().map(value).collect()),
            needs_equals: argument.is_require_equals_set(),
        }
    }

    /// As it is typed, each value where it stood.
    fn typed(&self) -> Vec<(usize, Vec<String>)> {
        let Given { long, short, .. } = self;
        let one = |(place, value): (usize, &String)| {
            if value.starts_with('-') || self.needs_equals {
                return (place, vec![format!("--{long}={value}")]);
            }
            (
                place,
                vec![
                    short.map_or_else(|| format!("--{long}"), |short| format!("-{short}")),
                    value.clone(),
                ],
            )
        };
        let places = self.places.iter().copied();
        match &self.values {
            None => vec![(self.places.first().copied().unwrap_or(0), vec![format!("--{long}")])],
            Some(values) => places.zip(values).map(one).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Nanos;

    fn again(line: &str, probe: &str, settings: &[(&str, &str)]) -> String {
        let probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let run = Run {
            phase: "17".parse().unwrap(),
            probe_settings,
            ..Run::example(Nanos::from_millis(1), 10)
        };
        command_of(
            shlex::split(line).unwrap().into_iter().map(OsString::from),
            "debian:amd64=6.1.0-56",
            probe,
            &run,
        )
    }

    #[test]
    fn what_says_nothing_of_one_phase_is_left_out() {
        let line = "teiji lab run -k debian:amd64 --kernel=debian:rt-amd64 --load hackbench \
                    -n3000 --phases 50 -o out -q --json -j 2 --repeat 2 --verify-identical \
                    --title x";
        let expected = "teiji lab run -k debian:amd64=6.1.0-56 --load hackbench -n 3000 --phase 17";
        assert_eq!(again(line, "auto", &[]), expected);
        assert_eq!(
            again("teiji lab run --phases=2", "auto", &[]),
            "teiji lab run -k debian:amd64=6.1.0-56 --phase 17"
        );
        let line = "teiji lab bisect --kernels debian:amd64,debian:rt-amd64 --limit 'max<20us' \
                    --load hackbench -n 3000 --phases 50";
        assert_eq!(again(line, "auto", &[]), expected);
    }

    #[test]
    fn what_was_given_stays_as_it_was_given() {
        let line = "teiji lab run --load 'cmd:\"sh -c x\",nice=3' --load cpu@50% --append=-x \
                    --append 'nohz=off a=b' --aligned=5us --catch-up -t 2 --phases 3";
        let expected = "teiji lab run -k debian:amd64=6.1.0-56 --load 'cmd:\"sh -c x\",nice=3' \
                        --load cpu@50% --append=-x --append 'nohz=off a=b' --aligned=5us \
                        --catch-up -t 2 --phase 17";
        assert_eq!(again(line, "auto", &[]), expected);
    }

    /// Each has its own settings.
    #[test]
    fn of_several_probes_there_is_one() {
        let line = "teiji lab run --probe spawn,cyclic --method fork --sleep relative --phases 3";
        let of = |probe, settings: &[(&str, &str)]| again(line, probe, settings);
        assert_eq!(
            of("spawn", &[("method", "fork")]),
            "teiji lab run -k debian:amd64=6.1.0-56 --probe spawn --method fork --phase 17"
        );
        assert_eq!(
            of("cyclic", &[("sleep", "relative")]),
            "teiji lab run -k debian:amd64=6.1.0-56 --probe cyclic --sleep relative --phase 17"
        );
    }
}
