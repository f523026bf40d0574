// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji import`: outputs of other programs become recordings, in a folder, or for one call.

use crate::exit::{BAD_INPUT, CommandResult, DONE, Failure};
use crate::output;
use crate::suggestion::command;
use anyhow::{Context, anyhow};
use formats::{FORMATS, FoundOutput, ImportOptions, import, shown_name};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use system::ScratchFolder;

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Files with outputs of other programs, also within a log or a page; archives of such
    #[arg(required_unless_present = "list", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder that gets a recording of each output; made if it is not there
    #[arg(short, long, required_unless_present = "list", value_name = "DIR")]
    output: Option<PathBuf>,
    /// Look for this format alone
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// The unit of values whose output does not say it: ns, us, ms or s
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    unit: Option<i64>,
    /// List the formats that are read
    #[arg(long, exclusive = true)]
    list: bool,
    /// Import the other files where one cannot be read, and say which; the exit code is 2 then
    #[arg(long)]
    keep_going: bool,
}

/// Below the flags.
const HELP: &str = "report, show, compare and gate read such files directly too. What an output \
                    does not hold, such as the order of its values, is unknown in the recording, \
                    and judged as not enough evidence";

pub fn unit(text: &str) -> Result<i64, String> {
    match text {
        "ns" => Ok(1),
        "us" | "µs" => Ok(1_000),
        "ms" => Ok(1_000_000),
        "s" => Ok(1_000_000_000),
        _ => Err("expected ns, us, ms or s".to_owned()),
    }
}

pub fn run(args: &Args) -> CommandResult {
    if args.list {
        say!("{}", list());
        return Ok(DONE);
    }
    let known = |name: &String| {
        formats::format(name)
            .ok_or_else(|| anyhow!("there is no format '{name}': --list names all"))
    };
    let format = args.format.as_ref().map(known).transpose()?;
    let options = ImportOptions { format, unit_ns: args.unit };
    let Some(to) = &args.output else { refuse!("name a folder for the recordings with -o") };
    let new: Vec<&Path> = to.ancestors().take_while(|path| is_free(path)).collect();
    let result = fs::create_dir_all(to)
        .with_context(|| format!("cannot make the folder {}", to.display()))
        .map_err(Failure::from)
        .and_then(|()| into(args, to, options));
    if !matches!(&result, Ok((made, _)) if !made.is_empty()) {
        // Nothing was put there: what was made for it goes, as far as it is empty.
        for path in new {
            let _ = fs::remove_dir(path);
        }
    }
    let (made, failed) = result?;
    for (path, line) in &made {
        say!("{}: {line}", output::path(path));
    }
    let files = output::counted(args.files.len() - failed, "file");
    let not_read = match failed {
        0 => String::new(),
        _ => format!(", {} not read", output::counted(failed, "file")),
    };
    say!("Imported: {} of {files}{not_read}", output::counted(made.len(), "recording"));
    if !made.is_empty() {
        say!("Next: {}", command(&[&"show", to]));
    }
    Ok(if failed == 0 { DONE } else { BAD_INPUT })
}

/// Each format, and what it is of.
fn list() -> String {
    let width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let line = |format: &formats::Format| {
        let what = output::wrapped(format.what, width + 2).join(&format!("\n{:1$}", "", width + 2));
        format!("{:width$}  {what}", format.name)
    };
    FORMATS.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Imports all into a folder beside, and then puts all of them in their place. What became a
/// recording and what it was, and how many files could not be read.
fn into(
    args: &Args,
    to: &Path,
    options: ImportOptions,
) -> Result<(Vec<(PathBuf, String)>, usize), Failure> {
    // On the same disk, so that recordings only change their names.
    let staging = ScratchFolder::new_in(to, STAGING)
        .with_context(|| format!("cannot make a folder in {}", to.display()))?;
    let mut names = Names::default();
    let (mut made, mut failed) = (Vec::new(), 0);
    for (number, file) in args.files.iter().enumerate() {
        match imported(file, &staging.path().join(number.to_string()), options, false) {
            Ok(found) => {
                for one in &found {
                    let name = names.of(file, one, found.len());
                    let member = one.member.as_ref().map(|member| format!("{member}, "));
                    let member = member.unwrap_or_default();
                    let what = format!("{}, {member}line {}", one.format, one.line);
                    made.push((one.recording.clone(), to.join(name), what));
                }
            }
            Err(error) if args.keep_going => {
                failed += 1;
                error.report();
            }
            Err(error) => return Err(error),
        }
    }
    put_down(&made)?;
    Ok((made.into_iter().map(|(_, to, what)| (to, what)).collect(), failed))
}

/// How the folder's name begins that recordings are made in.
const STAGING: &str = ".teiji-import-";

fn is_free(path: &Path) -> bool {
    !path.as_os_str().is_empty() && path.symlink_metadata().is_err()
}

/// Puts all recordings in their place, or none.
fn put_down(made: &[(PathBuf, PathBuf, String)]) -> Result<(), Failure> {
    if let Some((_, taken, _)) = made.iter().find(|(_, to, _)| !is_free(to)) {
        return Err(recording::RecordingError::Exists(taken.clone()).into());
    }
    for (number, (from, to, _)) in made.iter().enumerate() {
        if let Err(error) = fs::rename(from, to) {
            for (from, to, _) in &made[..number] {
                let _ = fs::rename(to, from);
            }
            return Err(anyhow!(error).context(format!("cannot make {}", to.display())).into());
        }
    }
    Ok(())
}

/// The outputs in a file, as recordings in a folder that is made for them; whether a recording may
/// have been named in its place.
fn imported(
    file: &Path,
    to: &Path,
    options: ImportOptions,
    is_recording_too: bool,
) -> Result<Vec<FoundOutput>, Failure> {
    fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
    let found = import(file, to, env!("CARGO_PKG_VERSION"), options);
    Ok(found.map_err(|error| match error {
        formats::ImportError::Recording(error) => anyhow::Error::from(error),
        formats::ImportError::Nothing(_) if is_recording_too => anyhow!(
            "{} is neither a recording nor an output of a format that is read: `teiji import \
             --list` names these",
            output::path(file)
        ),
        error => anyhow!("{}: {error}", output::path(file)),
    })?)
}

/// Names of recordings, each once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// That of an output of a file, which has so many.
    fn of(&mut self, file: &Path, output: &FoundOutput, of: usize) -> String {
        let file = file.file_name().unwrap_or_default().to_string_lossy();
        let mut name = shown_name(&file, output, of);
        let mut number = 1;
        while !self.0.insert(name.clone()) {
            number += 1;
            name = format!("{}-{number}", shown_name(&file, output, of));
        }
        name + ".teiji"
    }
}

/// Recordings that outputs of other programs were made into, for as long as this is there.
pub struct ForOneCall(
    #[expect(dead_code, reason = "held, so that it stays")] Option<ScratchFolder>,
);

/// Puts recordings in the place of files with outputs of other programs among these paths.
pub fn in_place<'p>(
    lists: impl IntoIterator<Item = &'p mut Vec<PathBuf>>,
    options: ImportOptions,
) -> Result<ForOneCall, Failure> {
    let mut folder: Option<ScratchFolder> = None;
    let mut names = Names::default();
    for list in lists {
        if !list.iter().any(|path| path.is_file()) {
            continue;
        }
        let mut paths = Vec::new();
        for path in std::mem::take(list) {
            if !path.is_file() {
                paths.push(path);
                continue;
            }
            let scratch = match &folder {
                Some(folder) => folder,
                None => folder.insert(
                    ScratchFolder::new().context("cannot make a folder for what is imported")?,
                ),
            };
            let to = scratch.path().join("imported");
            let found = imported(&path, &to, options, true)?;
            for one in &found {
                let place = scratch.path().join(names.of(&path, one, found.len()));
                fs::rename(&one.recording, &place)
                    .with_context(|| format!("cannot make {}", place.display()))?;
                paths.push(place);
            }
            fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", to.display()))?;
        }
        *list = paths;
    }
    Ok(ForOneCall(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_recordings_are_put_down_or_none() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("a")).unwrap();
        let made = [(at("a"), at("b"), String::new()), (at("missing"), at("c"), String::new())];
        assert!(put_down(&made).is_err());
        assert!(at("a").is_dir() && !at("b").exists() && !at("c").exists());
        assert!(put_down(&made[..1]).is_ok());
        assert!(put_down(&made[..1]).is_err(), "it is there");
    }
}
