// SPDX-License-Identifier: MIT OR Apache-2.0
//! One file per verb.

pub mod anonymise;
mod chart_flags;
pub mod check;
pub mod compare;
pub mod cyclictest;
pub mod explain;
pub mod export;
pub mod gate;
pub mod hackbench;
pub mod help;
pub mod import;
mod joint;
pub mod lab;
pub mod lab_emulator;
pub mod lab_init;
pub mod lint;
pub mod load;
pub mod load_worker;
pub mod measure;
mod named;
pub mod pages;
pub mod plan_length;
mod plan_limits;
pub mod plans;
pub mod probe_flags;
pub mod probes;
mod published;
mod recordings;
pub mod report;
pub mod run;
mod run_flags;
pub mod show;
pub mod tune;
pub mod verify;

use ::report::Language;
use anyhow::Context;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// A language by its tag.
fn language(tag: &str) -> anyhow::Result<Language> {
    named_so(&Language::ALL, Language::tag, tag, ("it is", " or "))
}

/// The one of this name. Where there is none, an error begins so and has all names, with this
/// between them.
fn named_so<T: Copy>(
    all: &[T],
    name: fn(T) -> &'static str,
    asked: &str,
    (begin, between): (&str, &str),
) -> anyhow::Result<T> {
    let names = || all.iter().map(|one| name(*one)).collect::<Vec<_>>().join(between);
    let found = all.iter().copied().find(|one| name(*one) == asked);
    found.with_context(|| format!("{begin} {}", names()))
}

/// The arguments of a verb, whose flags are made when it is asked for: those of all verbs take half
/// a MB of memory, which would stay locked while a run measures.
pub struct OnceAsked<T>(pub T);

impl<T: FromArgMatches> FromArgMatches for OnceAsked<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(OnceAsked)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for OnceAsked<T> {
    fn augment_args(verb: Command) -> Command {
        // What the arguments say of themselves is not what the verb does.
        verb.defer(|verb| {
            let about = verb.get_about().cloned().unwrap_or_default();
            T::augment_args(verb).about(about).long_about(None)
        })
    }

    fn augment_args_for_update(verb: Command) -> Command {
        Self::augment_args(verb)
    }
}
