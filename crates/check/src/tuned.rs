// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the profiles of tuned set, read as tuned reads them: a profile after those that it
//! includes, and of several settings the last. What it would take to know and is not read, such as
//! a file of variables or the output of a function, makes a setting unknown.

use super::machine::Machine;

/// Where tuned has profiles, the first before the others.
const PROFILES: [&str; 4] =
    ["etc/tuned/profiles", "etc/tuned", "usr/lib/tuned/profiles", "usr/lib/tuned"];
/// Profiles that include one another: more are not read.
const MAX_LOADED: usize = 32;
/// Bytes of a value, with its variables in it, and of all variables. What is longer is not known.
const MAX_VALUE: usize = 4 << 10;
const MAX_VALUES: usize = 1 << 20;
/// What may keep a unit from being set as it stands, beside being switched off.
const CONDITIONS: [&str; 5] =
    ["type", "devices", "devices_udev_regex", "cpuinfo_regex", "uname_regex"];

/// The profiles in force.
pub(crate) struct Tuned {
    /// As they were asked for.
    pub(crate) profile: String,
    loaded: Vec<Loaded>,
}

/// One that was asked for or included, in the order in which their settings are taken.
enum Loaded {
    Profile {
        file: String,
        settings: Vec<Setting>,
    },
    /// Its tuned.conf was not found.
    Unseen(String),
    /// tuned does not take its tuned.conf, nor any profile with it.
    Refused,
}

struct Setting {
    section: String,
    key: String,
    value: String,
}

impl Setting {
    /// Whether it makes its unit one of this type.
    fn is_type(&self, unit: &str) -> bool {
        self.key == "type" && self.value == unit
    }
}

/// What the profiles say of a setting.
pub(crate) enum TunedSetting {
    /// Nothing, or what it says counts under conditions that are not read.
    None,
    /// In this file.
    Is { value: String, file: String },
    /// It depends on what only tuned knows.
    Unexpanded { value: String, file: String },
    /// A profile that would say it was not found.
    Unseen(String),
}

impl Tuned {
    /// None where tuned does not run.
    pub(crate) fn in_force(machine: &Machine<'_>) -> Option<Tuned> {
        let profile = machine.text("etc/tuned/active_profile")?;
        if profile.is_empty() || machine.processes("tuned").is_empty() {
            return None;
        }
        let mut loaded = Vec::new();
        let last = machine.text("etc/tuned/post_loaded_profile").unwrap_or_default();
        let names = profile.split_whitespace().chain(last.split_whitespace());
        load(machine, names, &mut loaded, &mut Vec::new());
        Some(Tuned { profile, loaded })
    }

    pub(crate) fn setting(&self, section: &str, key: &str) -> TunedSetting {
        if !self.is_plain(section, key) {
            return TunedSetting::None;
        }
        for loaded in self.loaded.iter().rev() {
            let (file, settings) = match loaded {
                Loaded::Refused => return TunedSetting::None,
                Loaded::Unseen(name) => return TunedSetting::Unseen(name.clone()),
                Loaded::Profile { file, settings } => (format!("/{file}"), settings),
            };
            if let Some(value) = last_of(settings, section, key) {
                return match expanded(value, &self.variables()) {
                    Some(value) => TunedSetting::Is { value, file },
                    None => TunedSetting::Unexpanded { value: value.to_owned(), file },
                };
            }
            let is_dropped = |drop: &str| drop.contains(key);
            if last_of(settings, section, "replace").is_some()
                || last_of(settings, section, "drop").is_some_and(is_dropped)
            {
                return TunedSetting::None;
            }
        }
        TunedSetting::None
    }

    /// Whether a setting of a unit counts wherever it stands: the unit is on, under no condition,
    /// and no other unit of its type is there that would say something of it.
    fn is_plain(&self, section: &str, key: &str) -> bool {
        let mut is_on = true;
        for loaded in &self.loaded {
            let settings = match loaded {
                Loaded::Refused => return false,
                Loaded::Unseen(_) => continue,
                Loaded::Profile { settings, .. } => settings,
            };
            let mut of_unit = settings.iter().filter(|one| one.section == section).peekable();
            if of_unit.peek().is_some() {
                // The last profile that has the unit has the word.
                let enabled = last_of(settings, section, "enabled");
                is_on = enabled.is_none_or(|value| ["1", "true", "True"].contains(&value));
            }
            if of_unit.any(|one| CONDITIONS.contains(&one.key.as_str()) && !one.is_type(section)) {
                return false;
            }
            let is_of_type = |one: &&Setting| one.section != section && one.is_type(section);
            let mut others = settings.iter().filter(is_of_type);
            // What CPUs such a unit takes from this one is not known.
            if others.any(|one| section == "cpu" || last_of(settings, &one.section, key).is_some())
            {
                return false;
            }
        }
        is_on
    }

    /// Those of all profiles in their order, with their values where these are known.
    fn variables(&self) -> Vec<(&str, Option<String>)> {
        let mut merged: Vec<(&str, &str)> = Vec::new();
        for loaded in &self.loaded {
            let Loaded::Profile { settings, .. } = loaded else { return Vec::new() };
            for Setting { key, value, .. } in settings.iter().filter(|one| one.section == VARIABLES)
            {
                match merged.iter_mut().find(|(name, _)| name == key) {
                    Some(known) => known.1 = value,
                    None => merged.push((key, value)),
                }
            }
        }
        // These say what becomes of the others.
        if merged.iter().any(|(name, _)| ["replace", "drop", "type"].contains(name)) {
            return Vec::new();
        }
        let mut variables: Vec<(&str, Option<String>)> = Vec::new();
        let mut room = MAX_VALUES;
        for (name, value) in merged {
            if name == INCLUDE {
                // Any of those before may be another in that file.
                variables.clear();
            } else {
                let value = expanded(value, &variables).filter(|value| value.len() <= room);
                room -= value.as_ref().map_or(0, String::len);
                variables.push((name, value));
            }
        }
        variables
    }
}

const INCLUDE: &str = "include";
const VARIABLES: &str = "variables";

fn last_of<'s>(settings: &'s [Setting], section: &str, key: &str) -> Option<&'s str> {
    let mut of = settings.iter().filter(|one| one.section == section && one.key == key);
    Some(&of.next_back()?.value)
}

fn load<'n>(
    machine: &Machine<'_>,
    names: impl Iterator<Item = &'n str>,
    loaded: &mut Vec<Loaded>,
    processed: &mut Vec<String>,
) {
    for name in names {
        // One that need not be there.
        let (plain, is_needed) = name.strip_prefix('-').map_or((name, true), |name| (name, false));
        let text = match find(machine, plain, processed) {
            Found::Before => continue,
            Found::Nowhere if !is_needed => continue,
            Found::At(file) if processed.len() < MAX_LOADED => {
                processed.push(file.clone());
                machine.text(&file).map(|text| (file, text))
            }
            Found::At(_) | Found::Nowhere => None,
        };
        let Some((file, text)) = text else {
            loaded.push(Loaded::Unseen(plain.to_owned()));
            continue;
        };
        let Some(settings) = settings(&text) else {
            loaded.push(Loaded::Refused);
            continue;
        };
        let included = last_of(&settings, "main", INCLUDE).map(str::to_owned);
        if let Some(included) = included {
            load(machine, included_names(&included), loaded, processed);
        }
        loaded.push(Loaded::Profile { file, settings });
    }
}

/// What is put together from variables or functions is one name, of none that is found.
fn included_names(included: &str) -> impl Iterator<Item = &str> {
    let separators: &[char] = if included.contains('$') { &[] } else { &[',', ';'] };
    included.split(separators).map(str::trim)
}

enum Found {
    At(String),
    /// Each that there is was read already.
    Before,
    Nowhere,
}

/// The file of a profile. Its name is part of a path. One that includes its own name means the
/// profile of that name which it stands before.
fn find(machine: &Machine<'_>, profile: &str, processed: &[String]) -> Found {
    let name = profile.rsplit('/').next().unwrap_or_default();
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if !is_name {
        return Found::Nowhere;
    }
    let files = PROFILES.iter().map(|folder| format!("{folder}/{name}/tuned.conf"));
    let (before, mut others): (Vec<String>, Vec<String>) =
        files.filter(|file| machine.exists(file)).partition(|file| processed.contains(file));
    match others.is_empty() {
        false => Found::At(others.remove(0)),
        true if before.is_empty() => Found::Nowhere,
        true => Found::Before,
    }
}

/// The settings of a file, as Python's configparser reads it for tuned: lines that begin with `#`
/// or `;` are comments, a `#` after a space begins one, and a line that is indented further goes on
/// with the value before it. None of one that it refuses, such as for a line that sets nothing, or
/// that has defaults for all sections.
fn settings(text: &str) -> Option<Vec<Setting>> {
    let mut settings: Vec<Setting> = Vec::new();
    let (mut section, mut indent, mut is_open) = (None, 0, false);
    for line in text.lines() {
        let content = without_comment(line).trim();
        if content.is_empty() {
            continue;
        }
        let own_indent = line.len() - line.trim_start().len();
        if let Some(last) = settings.last_mut().filter(|_| is_open && own_indent > indent) {
            last.value.push('\n');
            last.value += content;
            continue;
        }
        (indent, is_open) = (own_indent, false);
        let header = content.strip_prefix('[').and_then(|rest| rest.rsplit_once(']'));
        if let Some((name, _)) = header {
            section = Some(name.to_owned()).filter(|name| name != "DEFAULT");
        } else {
            let (key, value) = content.split_once('=')?;
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            settings.push(Setting { section: section.clone()?, key, value });
            is_open = true;
        }
    }
    Some(settings)
}

fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with(['#', ';']) {
        return "";
    }
    let begins = |at: usize| line[..at].ends_with(char::is_whitespace);
    let end = line.match_indices('#').map(|(at, _)| at).find(|at| begins(*at));
    &line[..end.unwrap_or(line.len())]
}

/// A value with the variables' values in it. None where one of them is not known, what stands there
/// is no variable, or it is too long.
fn expanded(value: &str, variables: &[(&str, Option<String>)]) -> Option<String> {
    let (mut text, mut rest) = (String::new(), value);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}')?;
        // Escaped, it is for something else.
        if before.ends_with('\\') {
            return None;
        }
        let (_, value) = variables.iter().find(|(known, _)| *known == name)?;
        text += before;
        text += value.as_ref()?;
        if text.len() > MAX_VALUE {
            return None;
        }
        rest = after;
    }
    Some(text + rest).filter(|text| text.len() <= MAX_VALUE)
}
