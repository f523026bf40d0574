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
    write_together(&[(path, content)])
}

/// All of these files, or none of them.
pub fn write_together(files: &[(&Path, &str)]) -> anyhow::Result<()> {
    for (place, (path, _)) in files.iter().enumerate() {
        anyhow::ensure!(!files[..place].iter().any(|(other, _)| is_same(other, path)), "{} is named twice", path.display());
    }
    let mut written = Vec::new();
    let all = files.iter().try_for_each(|(path, content)| {
        let mut write = || -> anyhow::Result<()> {
            match replaced(path) {
                Some(target) => {
                    let new = new_beside(&target)?;
                    written.push((new.clone(), target));
                    Ok(std::fs::write(new, content)?)
                }
                // A device, a pipe: it is written to, not replaced.
                None => Ok(std::fs::write(path, content)?),
            }
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    });
    let all = all.and_then(|()| {
        let mut each = written.iter();
        each.try_for_each(|(new, target)| {
            std::fs::rename(new, target).with_context(|| format!("cannot write {}", target.display()))
        })
    });
    if all.is_err() {
        written.iter().for_each(|(new, _)| drop(std::fs::remove_file(new)));
    }
    all
}

/// The file that is replaced: at the end of links. None where something else than a file is in its place.
fn replaced(path: &Path) -> Option<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Some(path.canonicalize().unwrap_or_else(|_| path.to_owned())),
        Ok(found) if !found.is_dir() => None,
        _ => Some(path.to_owned()),
    }
}

fn new_beside(path: &Path) -> anyhow::Result<PathBuf> {
    let mut name = path.file_name().with_context(|| format!("{} is no name for a file", path.display()))?.to_owned();
    name.push(".new");
    Ok(path.with_file_name(name))
}

fn is_same(one: &Path, other: &Path) -> bool {
    let end = |path: &Path| replaced(path).and_then(|path| std::path::absolute(path).ok());
    one == other || end(one).is_some_and(|one| Some(one) == end(other))
}

/// What was typed, word by word.
pub fn command_line() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_together_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("teiji-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (one, link, nowhere) = (folder.join("one"), folder.join("link"), folder.join("no/where"));
        write_whole(&one, "first").unwrap();
        std::os::unix::fs::symlink("one", &link).unwrap();
        assert!(write_together(&[(&one, "second"), (&nowhere, "")]).is_err());
        assert!(write_together(&[(&one, "second"), (&link, "third")]).unwrap_err().to_string().contains("named twice"));
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "first");
        write_whole(&link, "fourth").unwrap();
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "fourth");
        assert!(link.is_symlink() && std::fs::read_dir(&folder).unwrap().count() == 2);
        write_whole(Path::new("/dev/null"), "not replaced").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_new_name_is_a_date_and_a_time() {
        let name = new_name("teiji", ".teiji").display().to_string();
        assert!(
            name.starts_with("teiji-20") && name.ends_with(".teiji") && name.len() >= "teiji-20261120-083015.teiji".len(),
            "{name}"
        );
    }
}
