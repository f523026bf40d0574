// SPDX-License-Identifier: MIT OR Apache-2.0
//! What most people do not mean who write such a command line, said once on standard error.

use super::account::Account;
use super::options::{CommandLine, Id};
use super::settings::Settings;

fn say(text: &str) {
    complain!("teiji cyclictest: {text}");
}

/// Of a command line.
pub fn before(line: &CommandLine, settings: &Settings) {
    for given in line.of_others(settings.version) {
        say(&format!(
            "{} is not an option of {}, which would print its help and end with 0: taken as other \
             versions do",
            given.written,
            settings.version.name(),
        ));
    }
    for word in &line.unread {
        say(&format!("'{word}' belongs to no option, and is passed over"));
    }
    let priority = line.last(Id::Priority).and_then(|given| given.value.as_deref());
    if priority.is_some_and(|value| value.starts_with('-')) {
        say(&format!(
            "the priority is '{}', which is no number: {} is taken. -smp is -s -m -p; -S or --smp \
             was meant",
            priority.unwrap_or_default(),
            settings.priority
        ));
    } else if !settings.policy.is_real_time() && !line.has(Id::Policy) {
        say("without -p the threads are SCHED_OTHER, not real-time");
    }
    let several = settings.threads != Some(1);
    if several && settings.distance.0 > 0 && !line.has(Id::Distance) {
        say("the interval of each further thread is 500 µs longer: -d0 makes them equal");
    }
    if settings.nanoseconds && settings.histogram.is_some() {
        say("with -N a bucket of the histogram is 1 ns wide");
    }
    for id in [Id::DeepestIdleState] {
        if line.has(id) {
            say("--deepest-idle-state is not done: idle states stay as they are");
        }
    }
}

/// Of a run.
pub fn after(account: &Account) {
    let skipped: u64 = account.threads.iter().map(|thread| thread.skipped).sum();
    if skipped > 0 {
        let cycles = if skipped == 1 { "cycle" } else { "cycles" };
        say(&format!(
            "{skipped} {cycles} fell due and are in no figure above: their time had passed when \
             an earlier one ended"
        ));
    }
}
