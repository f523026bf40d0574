// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji cyclictest`: measures as cyclictest does, with its options and its output, for whoever
//! calls it and reads what it prints.

mod account;
mod idle_states;
mod json;
pub mod options;
mod output;
mod run;
mod running;
pub mod settings;
mod status;
pub mod translation;
pub mod traps;

use crate::exit::{BAD_INPUT, CommandResult, DONE, EXCEEDED, Failure};
use crate::output::{print, wrapped};
use anyhow::Context;
use options::{CommandLine, OPTIONS, Version};
use plan::Nanos;
use run::Call;
use settings::Settings;
use std::ffi::OsString;
use std::path::PathBuf;

/// Names the version where no flag can be given.
const VERSION_VARIABLE: &str = "TEIJI_AS_VERSION";

/// Names a folder for recordings that are made besides. Not with lent rights.
const RECORD_VARIABLE: &str = "TEIJI_RECORD";

/// What is not among its options.
const BESIDE: &str = "cyclictest's options: teiji cyclictest --help. TEIJI_AS_VERSION in the \
                      environment is --as-version, and TEIJI_RECORD names a folder for recordings \
                      besides. Exit codes: 0 done, also by a signal or -b; 1 refused; 2 unknown \
                      option, or --json cannot be written; 4 the run failed";

/// What was said.
#[derive(clap::Args)]
#[command(after_help = BESIDE)]
pub struct Args {
    /// cyclictest's options; --as-version VERSION prints as that version does, and --faithful
    /// takes unknown options as it does
    #[arg(value_name = "ARGS", allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<OsString>,
}

/// What is said to this program, and not to cyclictest.
struct Own {
    version: Version,
    /// Whether an unknown option ends with 0, as there.
    faithful: bool,
    /// What is left.
    words: Vec<String>,
}

impl Own {
    fn from_words(words: &[OsString]) -> Result<Self, Failure> {
        let named = |name: &str| {
            Version::named(name).ok_or_else(|| {
                let known: Vec<&str> = Version::ALL.iter().map(|version| version.name()).collect();
                anyhow::anyhow!("'{name}' is no version of cyclictest's: {}", known.join(", "))
            })
        };
        let variable = std::env::var(VERSION_VARIABLE).ok().filter(|name| !name.is_empty());
        let version = variable.map_or(Ok(Version::NEWEST), |name| named(&name))?;
        let mut own = Own { version, faithful: false, words: Vec::new() };
        let mut rest = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = rest.next() {
            if word == "--faithful" {
                own.faithful = true;
            } else if let Some(name) = word.strip_prefix("--as-version=") {
                own.version = named(name)?;
            } else if word == "--as-version" {
                own.version = named(&rest.next().unwrap_or_default())?;
            } else {
                own.words.push(word);
            }
        }
        Ok(own)
    }
}

/// Runs it.
pub fn run(args: &Args, started: Nanos) -> CommandResult {
    let own = Own::from_words(&args.words)?;
    let line = match CommandLine::read(&own.words, own.version) {
        Ok(line) => line,
        Err(_) if own.faithful => {
            print(&help(own.version));
            return Ok(DONE);
        }
        Err(error) => {
            complain!("error: {error}; cyclictest would print its help, and end with 0");
            return Ok(BAD_INPUT);
        }
    };
    if line.has(options::Id::Help) {
        print(&help(own.version));
        return Ok(DONE);
    }
    let cpus = probe::process_cpus().context("cannot read the CPUs of this process")?;
    let (settings, said) = match Settings::from_line(&line, own.version, cpus.inherited.len()) {
        Ok(read) => read,
        Err(refused) => {
            complain!("error: {refused}");
            return Ok(EXCEEDED);
        }
    };
    said.iter().for_each(|line| complain!("{line}"));
    for trap in traps::of_line(&line, &settings) {
        complain!("teiji cyclictest: {trap}");
    }
    let record = std::env::var_os(RECORD_VARIABLE).filter(|folder| !folder.is_empty());
    let call = Call {
        command_line: &format!("cyclictest {}", own.words.join(" ")),
        cpus,
        program_started: started,
        record: record.map(PathBuf::from),
    };
    run::run(&settings, &call)
}

/// All options of a version.
fn help(version: Version) -> String {
    let mut text = format!(
        "teiji cyclictest: measures and prints as cyclictest {} does\n\nUsage: teiji cyclictest \
         [--as-version VERSION] [--faithful] OPTIONS\n\n",
        version.name()
    );
    for option in OPTIONS.iter().filter(|option| option.is_of(version)) {
        let letter = option.short.map(|letter| format!("-{letter}"));
        let long = option.long.map(|long| format!("--{long}"));
        let names: Vec<String> = letter.into_iter().chain(long).collect();
        let help = wrapped(option.help, 27).join(&format!("\n{:27}", ""));
        text += &format!("  {:<24} {help}\n", names.join(" "));
    }
    text
}
