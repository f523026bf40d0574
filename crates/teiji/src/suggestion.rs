// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines of teiji that somebody is told to type: quoted for a shell, and of words that this
//! program reads. Those in texts of other crates are held to the same by `suggestion_tests.rs`.

use crate::commands::OnceAsked;
use crate::output;
use crate::{Cli, Verb};
use clap::Parser;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// `teiji` and these words. In test builds it panics where the program would refuse them.
pub fn command(words: &[&dyn AsRef<OsStr>]) -> String {
    let words: Vec<OsString> = words.iter().map(|word| word.as_ref().to_owned()).collect();
    debug_assert_eq!(refused(&words), None, "{words:?}");
    let quoted = words.iter().map(|word| format!(" {}", output::quoted(Path::new(word))));
    format!("teiji{}", quoted.collect::<String>())
}

/// Why the program would refuse these words, as far as that does not depend on the machine.
pub fn refused(words: &[OsString]) -> Option<String> {
    let name = OsString::from("teiji");
    match Cli::try_parse_from(std::iter::once(&name).chain(words)) {
        Ok(Cli { verb: Verb::Measure(OnceAsked(args)) }) => args.refused(),
        Ok(_) => None,
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Some(first.trim_start_matches("error: ").to_owned())
        }
    }
}
