// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plan's setting as the flag that it is: as it would be typed, and what the flags' own parser
//! says of it.

use super::plan_entry::PlanEntry;
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};
use plan::{Plan, PlanError, Setting, Value};

/// A setting as it would be typed.
pub fn words(setting: &Setting) -> Vec<String> {
    match &setting.value {
        Value::Switch(true) => vec![format!("--{}", setting.key)],
        Value::Switch(false) => Vec::new(),
        Value::Words(words) => {
            words.iter().map(|word| format!("--{}={word}", setting.key)).collect()
        }
    }
}

/// The flag that refuses its value.
pub fn flag_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return None };
    let flag = flag.trim_start_matches("--").split([' ', '=', '[']).next()?;
    Some(flag.to_owned())
}

/// What a flag says of its value, at the place of that value.
pub fn refused(plan: &Plan, settings: &[Setting], error: &clap::Error) -> PlanError {
    let flag = flag_of(error);
    let setting = settings.iter().rfind(|setting| Some(&setting.key) == flag.as_ref());
    let text = error.to_string();
    let output = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    PlanError::at(setting.map_or(&plan.at, |setting| &setting.at), output)
}

/// Why no run can have a setting: the flag is unknown, or its value is none.
pub fn refused_alone(
    plan: &Plan,
    setting: &Setting,
    command: &mut clap::Command,
) -> Option<PlanError> {
    let Setting { key, value, at } = setting;
    let flag = command.get_arguments().find(|argument| argument.get_long() == Some(key));
    let takes_value = flag.map(|flag| flag.get_action().takes_values() && key != "aligned");
    let Some(takes_value) = takes_value else {
        return Some(PlanError::at(at, unknown(key, command)));
    };
    if takes_value && *value == Value::Switch(false) {
        let what = format!("'{key}' takes a value; to leave it out, write \"none\"");
        return Some(PlanError::at(at, what));
    }
    let read = command
        .try_get_matches_from_mut(words(setting))
        .and_then(|matches| PlanEntry::from_arg_matches(&matches));
    read.err().map(|error| refused(plan, std::slice::from_ref(setting), &error))
}

/// What a flag that there is not may have been meant to be.
fn unknown(key: &str, command: &mut clap::Command) -> String {
    let error = command.try_get_matches_from_mut([format!("--{key}")]).err();
    match error.as_ref().and_then(|error| error.get(ContextKind::SuggestedArg)) {
        Some(ContextValue::String(near)) => {
            format!("unknown flag '{key}': did you mean '{}'?", near.trim_start_matches('-'))
        }
        _ => format!(
            "unknown flag '{key}': a setting is a long flag of teiji measure or teiji lab run, \
             without its dashes"
        ),
    }
}
