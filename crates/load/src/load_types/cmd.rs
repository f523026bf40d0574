// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cmd:...`: any program as a load. It is started with the others, checked for being alive, and
//! killed with all that it has started. Its words are split as by a shell, but no shell runs. Its
//! work is unknown, so it has no rate.

use crate::load_types::{Generator, LoadType};
use crate::options::{Options, SpecError};
use crate::sys;
use crate::worker_pool::WorkerPool;
use rustix::fs::{Access, access};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use system::rights;

pub(crate) const LOAD_TYPE: LoadType =
    LoadType { starts_others: true, ..LoadType::new("cmd", &[], read) };

/// The variable that a program may take its random numbers from, in a phase of the lab.
const SEED: &str = "TEIJI_SEED";

#[derive(Debug)]
struct Program {
    words: Vec<String>,
}

fn read(options: &Options<'_>) -> Result<Box<dyn Generator>, SpecError> {
    let command = options.spec.command().ok_or_else(|| {
        options
            .refuse_command("write the command after a colon, as in cmd:\"stress-ng --matrix 1\"")
    })?;
    if let Some(operator) = shell_operator(command) {
        return Err(options.refuse_command(format!(
            "'{operator}' has no meaning here, the command runs without a shell: write {}",
            through_a_shell(options, command)
        )));
    }
    if !options.elsewhere {
        rights::may_start_programs().map_err(|refused| options.refuse_command(refused))?;
    }
    let words = shlex::split(command).ok_or_else(|| {
        options.refuse_command("the command has an unclosed quote or a trailing backslash")
    })?;
    let program =
        words.first().ok_or_else(|| options.refuse_command("there is no command after cmd:"))?;
    if !options.elsewhere && find(program).is_none() {
        return Err(
            options.refuse_command(format!("there is no program '{program}' that can be run here"))
        );
    }
    Ok(Box::new(Program { words }))
}

/// What only a shell understands: longer operators first.
const OPERATORS: [&str; 9] = ["&&", "||", "$(", "|", "&", ";", ">", "<", "`"];

/// The first operator of a shell outside of quotes. Within a word it may be part of an address
/// (`?a=1&b=2`) or an expression (`a|b`), unless the word is the program itself, or it could be
/// nothing but a substitution.
fn shell_operator(command: &str) -> Option<&'static str> {
    let command = command.trim_start();
    let (mut quote, mut word, mut is_program) = (None, 0, true);
    let mut chars = command.char_indices();
    while let Some((at, c)) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => drop(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            (c, None) if c.is_whitespace() => (word, is_program) = (at + c.len_utf8(), false),
            (_, None) => {
                let operator =
                    OPERATORS.iter().copied().find(|operator| command[at..].starts_with(operator));
                let means_a_shell = |operator| {
                    is_program || stands_apart(&command[word..at], operator, &command[at..])
                };
                if let Some(operator) = operator.filter(|operator| means_a_shell(operator)) {
                    return Some(operator);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether an operator begins or ends its word: `before` is what the word has in front of it,
/// `from` all from it on.
fn stands_apart(before: &str, operator: &str, from: &str) -> bool {
    // 2>file
    let of_a_file =
        matches!(operator, ">" | "<") && before.bytes().all(|byte| byte.is_ascii_digit());
    let ends = from[operator.len()..].chars().next().is_none_or(char::is_whitespace);
    matches!(operator, "$(" | "`") || before.is_empty() || of_a_file || ends
}

/// The load that does what was meant: `cmd:sh -c 'a | b'`, with its options if it has any.
fn through_a_shell(options: &Options<'_>, command: &str) -> String {
    let quoted = shlex::try_quote(command)
        .map_or_else(|_| format!("'{command}'"), |quoted| quoted.into_owned());
    let others: String =
        options.spec.options().map(|(key, value)| format!(",{key}={value}")).collect();
    if others.is_empty() {
        format!("cmd:sh -c {quoted}")
    } else {
        format!("cmd:\"sh -c {quoted}\"{others}")
    }
}

/// Where a program lies: a path, or a name to be found in PATH.
fn find(program: &str) -> Option<PathBuf> {
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| runs(path));
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|path| runs(path))
}

impl Generator for Program {
    fn tasks(&self, _: usize) -> usize {
        1
    }

    fn assemble(&self, pool: &mut WorkerPool) -> io::Result<()> {
        let (cpus, seed) = (pool.cpus().to_vec(), pool.seed());
        pool.fork(&cpus, |barrier| {
            barrier.wait()?;
            sys::let_signals_end();
            // Its output is discarded; its standard error is kept.
            let mut command = Command::new(&self.words[0]);
            command.args(&self.words[1..]).stdout(Stdio::null());
            Err(command.envs(seed.map(|seed| (SEED, seed.to_string()))).exec())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_shell_understands() {
        for (command, operator) in [
            ("sleep 1 | x", "|"),
            ("a && b", "&&"),
            ("a||b", "||"),
            ("dd if=/dev/zero > file", ">"),
            ("cat <file", "<"),
            ("a; b", ";"),
            ("a &", "&"),
            ("stress-ng --cpu $(nproc)", "$("),
            ("a 2>&1", ">"),
            ("echo 'a' | b", "|"),
            (" true|cat", "|"),
            ("true>file", ">"),
            ("a 2>file", ">"),
            ("a 2> file", ">"),
            ("a b> file", ">"),
            ("a &>file", "&"),
            ("a b| c", "|"),
            ("a b&", "&"),
            ("a 'b'; c", ";"),
            ("a --n=$(nproc)", "$("),
            ("a x`b`", "`"),
        ] {
            assert_eq!(shell_operator(command), Some(operator), "{command}");
        }
        for command in [
            "sh -c 'a | b > c && d; e'",
            "stress-ng --cpu 2",
            "awk \"{ x; y }\" file",
            "echo a\\;b",
            "grep \"\\\"|\" x",
            "",
        ] {
            assert_eq!(shell_operator(command), None, "{command}");
        }
    }

    /// Nobody who writes an address or an expression means a shell.
    #[test]
    fn operators_within_a_word_are_part_of_it() {
        for command in
            ["curl http://x/?a=1&b=2", "curl http://x/a;v=2?b", "grep a|b file", "test --where=x<3"]
        {
            assert_eq!(shell_operator(command), None, "{command}");
        }
    }
}
