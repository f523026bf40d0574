// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says. A reader that has gone away, a closed pipe or terminal, is no error: the work goes on.

use anyhow::{Context, anyhow};
use std::io::{ErrorKind, Write, stderr, stdout};
use std::path::{Path, PathBuf};

/// Says what was asked for.
pub fn say(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    let _ = out.flush();
}

/// Says what somebody should know.
pub fn complain(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// `teiji-20261120-083015.teiji`, UTC; with a number where that exists.
pub fn new_name(stem: &str, ending: &str) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let stamp: String = time.chars().filter_map(|c| if c == 'T' { Some('-') } else { c.is_ascii_digit().then_some(c) }).collect();
    let name = |number: u32| {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        PathBuf::from(format!("{stem}-{stamp}{number}{ending}"))
    };
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
}

/// Makes a folder that was not there: of two that want the same name, one gets it.
pub fn new_folder(path: &Path) -> anyhow::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make the folder {}", parent.display()))?;
    }
    std::fs::create_dir(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => anyhow!("{} exists already: choose another name with -o, or remove it", path.display()),
        _ => anyhow!(error).context(format!("cannot make the folder {}", path.display())),
    })
}

/// All of the file or none of it.
pub fn write_whole(path: &Path, content: &str) -> anyhow::Result<()> {
    let mut name = path.file_name().with_context(|| format!("{} is no name for a file", path.display()))?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    std::fs::write(&new, content).and_then(|()| std::fs::rename(&new, path)).map_err(|error| {
        let _ = std::fs::remove_file(&new);
        anyhow::Error::new(error).context(format!("cannot write {}", path.display()))
    })
}

/// What was typed, word by word.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_name_is_a_date_and_a_time() {
        let name = new_name("teiji", ".teiji").display().to_string();
        assert!(
            name.starts_with("teiji-20") && name.ends_with(".teiji") && name.len() >= "teiji-20261120-083015.teiji".len(),
            "{name}"
        );
    }
}
