// SPDX-License-Identifier: MIT OR Apache-2.0
//! What most people do not mean who write such a command line, said once on standard error.

use super::account::Account;
use super::options::{CommandLine, Id};
use super::settings::{Settings, is_whole_duration};

/// Of a command line.
pub fn of_line(line: &CommandLine, settings: &Settings) -> Vec<String> {
    let mut found = Vec::new();
    let version = settings.version.name();
    for given in line.of_others(settings.version) {
        found.push(format!(
            "{} is an option of other versions than {version}, which prints its help and ends with \
             0",
            given.written,
        ));
    }
    for word in &line.unread {
        found.push(format!("'{word}' belongs to no option, and is passed over"));
    }
    let priority = line.last(Id::Priority).and_then(|given| given.value.as_deref());
    if let Some(value) = priority.filter(|value| value.starts_with('-')) {
        found.push(format!(
            "the priority is '{value}', which is no number: {} is taken. In -smp the -p takes the \
             next word; --smp may be meant",
            settings.priority
        ));
    } else if !settings.policy.is_real_time() && !line.has(Id::Policy) {
        found.push("without -p the threads are SCHED_OTHER, not real-time".to_owned());
    }
    if settings.lengthens_unasked(line) {
        found.push(
            "the interval of each further thread is 500 µs longer: -d0 makes them equal".to_owned(),
        );
    }
    if settings.nanoseconds && settings.histogram.is_some() {
        found.push("with -N a bucket of the histogram is 1 ns wide".to_owned());
    }
    let length = line.last(Id::Duration).and_then(|given| given.value.as_deref());
    if let (Some(text), Some(read)) = (length, settings.duration)
        && !is_whole_duration(text)
    {
        found.push(format!("-D {text} is read as {read}: what else it says is passed over"));
    }
    found
}

/// Of a run.
pub fn of_run(account: &Account) -> Option<String> {
    let skipped: u64 = account.threads.iter().map(|thread| thread.skipped).sum();
    let (cycles, their) = match skipped {
        1 => ("cycle fell due and is", "its"),
        _ => ("cycles fell due and are", "their"),
    };
    (skipped > 0).then(|| {
        format!(
            "{skipped} {cycles} in no figure above: {their} time had passed when an earlier one \
             ended"
        )
    })
}
