// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flags of probes: which one measures, and the settings that each states for itself.

use crate::commands::help;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use plan::{AUTO_PROBE, DEFAULT_PROBE, ProbeSettings};
use probe::{ChosenProbe, PROBES, Probe, ProbeSetting, ProbeSettingError, SettingValues};
use std::ffi::OsString;

/// What was said of them.
#[derive(Clone)]
pub struct ProbeFlags {
    /// The probe.
    pub name: String,
    /// Its settings: those that were given, and the defaults of all others that are recorded.
    pub settings: ProbeSettings,
    /// The probe of that name with these settings.
    pub chosen: Result<ChosenProbe, ProbeSettingError>,
    /// Those that are to measure after it, where several were named.
    next: Vec<ProbeFlags>,
}

impl ProbeFlags {
    /// One probe with these settings, and the defaults of all others that are recorded.
    fn new(name: &str, mut settings: ProbeSettings) -> Self {
        for setting in settings_of(name).filter(|setting| !setting.default.is_empty()) {
            let value = settings
                .entry(setting.name.to_owned())
                .or_insert_with(|| setting.default.to_owned());
            if !setting.default_is_recorded && value == setting.default {
                settings.remove(setting.name);
            }
        }
        let chosen = probe::choose(name, &settings);
        ProbeFlags { name: name.to_owned(), settings, chosen, next: Vec::new() }
    }

    /// Each probe that was named, by itself.
    pub fn each(&self) -> Vec<ProbeFlags> {
        let first = ProbeFlags { next: Vec::new(), ..self.clone() };
        std::iter::once(first).chain(self.next.iter().cloned()).collect()
    }

    /// How many were named.
    pub const fn count(&self) -> usize {
        1 + self.next.len()
    }

    /// The command that a probe starts, if one was named.
    pub fn command(&self) -> Option<&str> {
        self.settings.get(COMMAND).map(String::as_str).filter(|command| !command.is_empty())
    }

    /// Sets the command that a probe starts, from its words.
    pub fn set_command(&mut self, words: &[String]) {
        // No argument of a process has a byte 0.
        let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        self.settings.insert(COMMAND.to_owned(), command);
        // Nobody named a setting.
        self.chosen = probe::choose(&self.name, &self.settings).map_err(|error| match error {
            ProbeSettingError::NoSetting { probe, setting, .. } if setting == COMMAND => {
                let owners = probe::owners(COMMAND).join(" or --probe ");
                ProbeSettingError::NoCommand { probe, owners }
            }
            error => error,
        });
    }
}

/// The setting of probes that start a command.
const COMMAND: &str = "command";

/// Each setting once: of those that several probes have under one name, the first.
fn settings() -> Vec<&'static ProbeSetting> {
    let mut all: Vec<&ProbeSetting> = Vec::new();
    for setting in PROBES.iter().flat_map(|probe| probe.settings) {
        if all.iter().all(|known| known.name != setting.name) {
            all.push(setting);
        }
    }
    all
}

/// A probe that only tests have.
pub fn is_example(probe: &Probe) -> bool {
    probe.name.starts_with("example-")
}

/// The words that a setting can be; none where it is not one of several words.
pub fn choices(setting: &ProbeSetting) -> Option<&'static [&'static str]> {
    match setting.values {
        SettingValues::OneOf(words) => Some(words),
        SettingValues::Time
        | SettingValues::Period
        | SettingValues::Number(..)
        | SettingValues::Text(_) => None,
    }
}

/// What a value is called in help.
const fn value_name(setting: &ProbeSetting) -> &'static str {
    match setting.values {
        SettingValues::OneOf(_) => "NAME",
        SettingValues::Time | SettingValues::Period => "TIME",
        SettingValues::Number(..) => "N",
        SettingValues::Text(name) => name,
    }
}

fn flag(setting: &'static ProbeSetting) -> Arg {
    let values = match setting.values {
        SettingValues::OneOf(words) => format!(": {}", words.join(", ")),
        SettingValues::Number(min, max) => format!(", {min} to {max}"),
        SettingValues::Time | SettingValues::Period | SettingValues::Text(_) => String::new(),
    };
    // What has no default is named by what its help says.
    let default = if setting.default.is_empty() {
        String::new()
    } else {
        format!(" [default: {}]", setting.default)
    };
    Arg::new(setting.name)
        .long(setting.name)
        .value_name(value_name(setting))
        .help(format!("{}{values}{default}", setting.help))
}

/// A probe's settings as the help of a verb has its options, in lines of so many columns; empty
/// where it has none.
pub fn options(probe: &'static Probe, columns: usize) -> String {
    if probe.settings.is_empty() {
        return String::new();
    }
    let command = Command::default()
        .disable_help_flag(true)
        .help_template("{options}")
        .max_term_width(columns);
    let options = command.args(probe.settings.iter().map(flag)).render_help();
    format!("Options of the probe {}:\n{options}\n", probe.name)
}

/// The same of each probe that a command line names.
pub fn options_of_named(words: &[OsString]) -> String {
    let words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--");
    let words: Vec<&str> = words.collect();
    let named = words.iter().enumerate().filter_map(|(place, word)| match *word {
        "--probe" => words.get(place + 1).copied(),
        word => word.strip_prefix("--probe="),
    });
    let probes = named.flat_map(|names| names.split(',')).flat_map(probe::find);
    let options = |probe| options(probe, help::COLUMNS);
    probes.map(options).filter(|text| !text.is_empty()).map(|text| format!("\n{text}")).collect()
}

/// How a probe is asked for on the command line and in a plan, with what it is to measure.
pub fn usage(name: &str, example: Option<&(ProbeSetting, &str)>) -> String {
    let (words, line) = example.map_or_else(Default::default, |(setting, value)| {
        let name = setting.name;
        let words =
            if name == COMMAND { format!(" -- {value}") } else { format!(" --{name} {value}") };
        (words, format!("  {name} = \"{value}\"\n"))
    });
    format!(
        "Measure: teiji measure --probe {name}{words}\nIn a plan:\n  [measure]\n  probe = \
         \"{name}\"\n{line}"
    )
}

/// The settings that a probe of this name has.
fn settings_of(name: &str) -> impl Iterator<Item = &'static ProbeSetting> {
    probe::find(name).into_iter().flat_map(|probe| probe.settings)
}

impl Args for ProbeFlags {
    fn augment_args(command: Command) -> Command {
        let shown = PROBES.iter().filter(|probe| !is_example(probe));
        let each = shown
            .map(|probe| format!("{} ({})", probe.name, probe.summary))
            .collect::<Vec<_>>()
            .join(", ");
        let short = "The probe that measures; teiji probes lists them";
        let long_help = format!(
            "The probe that measures: auto ({DEFAULT_PROBE}, or cobalt or evl where that co-kernel \
             runs), {each}. Several measure in turn: cobalt,cyclic"
        );
        let probe = Arg::new("probe")
            .long("probe")
            .value_name("NAME")
            .default_value(AUTO_PROBE)
            .help(short)
            .long_help(long_help)
            .help_heading(help::WHAT);
        // A verb's help has the settings of the probe that is named beside it.
        command.arg(probe).args(settings().into_iter().map(|setting| flag(setting).hide(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProbeFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let given = settings()
            .into_iter()
            .filter_map(|setting| Some((setting.name.to_owned(), text(setting.name)?)));
        let given: ProbeSettings = given.collect();
        let named = text("probe").unwrap_or_else(|| AUTO_PROBE.to_owned());
        let names: Vec<&str> = named.split(',').collect();
        // A setting that one of several has is no concern of the others.
        let has = |name: &str, setting: &str| settings_of(name).any(|known| known.name == setting);
        let concerns = |name: &str, setting: &str| {
            has(name, setting) || !names.iter().any(|other| has(other, setting))
        };
        let mut each = names.iter().map(|name| {
            let own = given.iter().filter(|(setting, _)| concerns(name, setting));
            let own = own.map(|(setting, value)| (setting.clone(), value.clone())).collect();
            ProbeFlags::new(name, own)
        });
        let first = each.next().unwrap_or_else(|| ProbeFlags::new(&named, given.clone()));
        Ok(ProbeFlags { next: each.collect(), ..first })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
