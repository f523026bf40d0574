// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can be set of a probe, and what was.

use plan::{Interval, Nanos, ProbeSettings, Unit};
use std::str::FromStr;

/// Something that can be set.
#[derive(Debug, PartialEq, Eq)]
pub struct ProbeSetting {
    /// The flag without its dashes.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    pub values: SettingValues,
    /// What it is where nothing is said.
    pub default: &'static str,
    /// Whether the default is recorded too. Not where recordings were made before the setting was
    /// there.
    pub default_is_recorded: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum SettingValues {
    OneOf(&'static [&'static str]),
    /// A period: a time such as `200us` or `1/1024s`, or a rate such as `1kHz`; a bare number
    /// counts microseconds.
    Period,
    /// A time such as `200us`; a bare number counts microseconds.
    Time,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// Any text, of which this is shown as its name in help, such as `PATH`.
    Text(&'static str),
}

impl ProbeSetting {
    /// One whose default is recorded too.
    pub(super) const fn new(
        name: &'static str,
        help: &'static str,
        values: SettingValues,
        default: &'static str,
    ) -> Self {
        ProbeSetting { name, help, values, default, default_is_recorded: true }
    }

    /// One of these words, the first where nothing is said.
    pub(super) const fn one_of(
        name: &'static str,
        help: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        ProbeSetting::new(name, help, SettingValues::OneOf(words), words[0])
    }

    pub(super) const fn default_not_recorded(self) -> Self {
        ProbeSetting { default_is_recorded: false, ..self }
    }

    /// What was set, or the default.
    pub(super) fn text<'a>(&'a self, settings: &'a ProbeSettings) -> &'a str {
        settings.get(self.name).map_or(self.default, String::as_str)
    }

    /// The same as a number; none where nothing was set and there is no default.
    pub(super) fn number<T: FromStr>(&self, settings: &ProbeSettings) -> Option<T> {
        self.text(settings).parse().ok()
    }

    /// The same as a time.
    pub(super) fn time(&self, settings: &ProbeSettings) -> Option<Nanos> {
        Nanos::parse(self.text(settings), Unit::Microsecond).ok()
    }
}

impl SettingValues {
    /// Whether a text is one of them; if not, what they are.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        match self {
            SettingValues::OneOf(words) if words.contains(&value) => Ok(()),
            SettingValues::OneOf(words) => Err(format!("it is one of {}", words.join(", "))),
            SettingValues::Time => above_0(Nanos::parse(value, Unit::Microsecond)),
            SettingValues::Period => {
                above_0(value.parse().map(|interval: Interval| interval.nanos))
            }
            SettingValues::Number(min, max) => match value.parse() {
                Ok(number) if (*min..=*max).contains(&number) => Ok(()),
                _ => Err(format!("it is a whole number from {min} to {max}")),
            },
            SettingValues::Text(name) if value.is_empty() => Err(format!("it is a {name}")),
            SettingValues::Text(_) => Ok(()),
        }
    }
}

fn above_0<E: ToString>(time: Result<Nanos, E>) -> Result<(), String> {
    match time {
        Ok(Nanos(1..)) => Ok(()),
        Ok(_) => Err("it is above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
