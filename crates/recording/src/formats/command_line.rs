// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a command line of cyclictest says of its run.

use super::numbers::decimal;
use plan::{Nanos, Policy, Scheduling};

/// What a command line of cyclictest asks for, as far as it can be read without a doubt.
pub(crate) struct Asked {
    interval_ns: Option<i64>,
    distance_ns: Option<i64>,
    pub(crate) scheduling: Option<Scheduling>,
}

impl Asked {
    /// Of these words, the program's name the first.
    pub(crate) fn from_words(words: &[String]) -> Asked {
        let any = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let begins = |of: &str| words.iter().any(|word| word.starts_with(of));
        let us = |of: Found| match of {
            Found::Value(text) => decimal(&text, 1_000).filter(|ns| *ns > 0),
            Found::Nothing | Found::Unclear => None,
        };
        let interval_ns = match value(words, 'i', "--interval") {
            Found::Nothing => Some(1_000_000),
            found => us(found),
        };
        // A histogram has all threads at one interval.
        let is_even = begins("-h") || begins("-H") || begins("--histo");
        let distance_ns = match value(words, 'd', "--distance") {
            Found::Nothing => Some(if is_even { 0 } else { 500_000 }),
            Found::Value(text) if text == "0" => Some(0),
            found => us(found),
        };
        let scheduling = match value(words, 'p', "--prio") {
            Found::Value(prio) if !begins("--policy") => {
                let prio = prio.parse().ok().filter(|prio| (1..=99).contains(prio));
                prio.map(|prio| Scheduling { policy: Policy::Fifo, prio: Some(prio) })
            }
            _ => None,
        };
        // Without -S each further thread has a lower one in old versions.
        let scheduling = scheduling.filter(|_| any(&["-S", "--smp"]));
        Asked { interval_ns, distance_ns, scheduling }
    }

    /// That of a thread, where it is known.
    pub(crate) fn interval_of(&self, thread: usize) -> Option<Nanos> {
        let steps = i64::try_from(thread).ok()?;
        let distance = self.distance_ns?.checked_mul(steps)?;
        self.interval_ns?.checked_add(distance).map(Nanos)
    }
}

/// A flag's value on a command line.
enum Found {
    Nothing,
    Value(String),
    /// It may be among letters that stand together.
    Unclear,
}

fn value(words: &[String], letter: char, long: &str) -> Found {
    let short = format!("-{letter}");
    for (at, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(at + 1).cloned().map_or(Found::Unclear, Found::Value);
        if let Some(behind) = word.strip_prefix(long) {
            return match behind.split_once('=') {
                Some((_, value)) => Found::Value(value.to_owned()),
                None => next(),
            };
        }
        match word.strip_prefix(&short) {
            Some("") => return next(),
            Some(value) => return Found::Value(value.to_owned()),
            None => {}
        }
        let is_cluster = word.starts_with('-') && !word.starts_with("--");
        if is_cluster && word.chars().skip(2).any(|other| other == letter) {
            return Found::Unclear;
        }
    }
    Found::Nothing
}
