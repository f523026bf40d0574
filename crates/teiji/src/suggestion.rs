// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command lines of teiji that somebody is told to type: quoted for a shell, and of words that this
//! program reads. Those in texts of other crates are held to the same by `suggestion_tests.rs`.

use crate::commands::OnceAsked;
use crate::output;
use crate::{Cli, Verb};
use clap::Parser;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A word of a command line.
pub trait Word {
    fn word(&self) -> OsString;
}

impl<T: Word + ?Sized> Word for &T {
    fn word(&self) -> OsString {
        (**self).word()
    }
}

impl Word for str {
    fn word(&self) -> OsString {
        self.into()
    }
}

impl Word for String {
    fn word(&self) -> OsString {
        self.into()
    }
}

impl Word for OsString {
    fn word(&self) -> OsString {
        self.clone()
    }
}

impl Word for PathBuf {
    fn word(&self) -> OsString {
        self.as_path().word()
    }
}

impl Word for Path {
    /// No path is a flag.
    fn word(&self) -> OsString {
        let is_like_a_flag = self.as_os_str().as_encoded_bytes().starts_with(b"-");
        if is_like_a_flag { Path::new(".").join(self) } else { self.to_owned() }.into_os_string()
    }
}

/// `teiji` and these words. In test builds it panics where the program would refuse them.
pub fn command(words: &[&dyn Word]) -> String {
    let words: Vec<OsString> = words.iter().map(|word| word.word()).collect();
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
