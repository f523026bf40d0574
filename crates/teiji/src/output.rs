// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program says. A reader that has gone away, a closed pipe or terminal, is no error: the
//! work goes on. It also goes on where the output cannot be written, but the exit code tells.

use anyhow::{Context, anyhow};
use report::{Paint, shown};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::{NamedTempFile, TempPath};

/// Columns of a terminal that everything but commands fits.
pub const WIDTH: usize = 80;

/// Set once standard output has no reader any more.
static READER_GONE: AtomicBool = AtomicBool::new(false);

/// Set once something could not be written to standard output.
static OUTPUT_FAILED: AtomicBool = AtomicBool::new(false);

/// [`say`] of a formatted text.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::say(&format!($($text)*)) };
}

/// [`complain`] of a formatted text.
macro_rules! complain {
    ($($text:tt)*) => { $crate::output::complain(&format!($($text)*)) };
}

/// Says what was asked for. Where that cannot be written, standard error says so once, and
/// [`has_failed`] from then on.
pub fn say(text: &str) {
    note(write_line(text));
}

/// Prints a text of the program's own as it is, what moves on a terminal included.
pub fn print(text: &str) {
    let mut out = stdout().lock();
    note(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

/// Passes on what another program printed: as it is, or what a terminal can take.
pub fn pass_on(text: &str) {
    if stdout().is_terminal() { say(text.trim_end()) } else { print(text) }
}

fn write_line(text: &str) -> io::Result<()> {
    let text = shown(text, paint());
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Keeps in mind how writing to standard output went.
pub fn note(written: io::Result<()>) {
    let Err(error) = written else { return };
    if has_no_reader(&error) {
        READER_GONE.store(true, Ordering::Relaxed);
    } else if !OUTPUT_FAILED.swap(true, Ordering::Relaxed) {
        complain(&format!("error: cannot write to standard output: {error}"));
    }
}

/// Whether something that was said could not be written.
pub fn has_failed() -> bool {
    OUTPUT_FAILED.load(Ordering::Relaxed)
}

/// Whether whoever read standard output has gone away.
pub fn is_reader_gone() -> bool {
    READER_GONE.load(Ordering::Relaxed)
}

/// A closed pipe, or a terminal that hung up: that one fails like a broken disk, and does not pass
/// for a terminal any more, but is still a character device.
fn has_no_reader(error: &io::Error) -> bool {
    let is_device = || {
        let file = stdout().as_fd().try_clone_to_owned().map(File::from);
        file.and_then(|file| file.metadata()).is_ok_and(|found| found.file_type().is_char_device())
    };
    error.kind() == ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(Errno::IO.raw_os_error()) && is_device()
}

/// Whether what is said goes to a terminal that shows colour. NO_COLOR, set to anything, asks for
/// none (no-color.org).
pub fn paint() -> Paint {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if stdout().is_terminal() && !unwanted && !dumb { Paint::Colour } else { Paint::Plain }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The same of a screen, which may be on a VT100 and its like: these lack colour.
pub fn has_colours() -> bool {
    paint() == Paint::Colour && !variable("TERM").is_some_and(|term| term.starts_with("vt"))
}

/// Whether a screen has letters of ASCII alone: by the locale; and a Linux console's font lacks
/// most blocks.
pub fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    let is_utf8 = locale.contains("utf-8") || locale.contains("utf8");
    !is_utf8 || variable("TERM").as_deref() == Some("linux")
}

/// A path in one line: that of a folder which somebody sent is named by him.
pub fn path(path: &Path) -> String {
    shown(&path.display().to_string(), Paint::Plain).replace('\n', "\\u000a")
}

/// A path as a shell takes it.
pub fn quoted(path: &Path) -> String {
    plan::quoted(&path.display().to_string())
}

/// Says what somebody should know. For a terminal, lines are broken between words.
pub fn complain(text: &str) {
    let text = shown(text, Paint::Plain);
    let text = if stderr().is_terminal() { fitted(&text, columns()).into() } else { text };
    let _ = writeln!(stderr().lock(), "{text}");
}

/// Columns of the terminal on standard error that are written to.
fn columns() -> usize {
    let known = rustix::termios::tcgetwinsize(stderr()).map_or(0, |size| size.ws_col);
    if known > 0 { WIDTH.min(known.into()) } else { WIDTH }
}

fn fitted(text: &str, width: usize) -> String {
    text.split('\n').map(|line| fitted_line(line, width)).collect::<Vec<_>>().join("\n")
}

/// Lines that fit a terminal, but for a command, which is to be copied. Of a line with two columns
/// the second is wrapped; what a label such as `error:` begins hangs below it.
fn fitted_line(line: &str, width: usize) -> String {
    if report::columns(line) <= width {
        return line.to_owned();
    }
    let commands = [": teiji ", ": sudo "].iter().filter_map(|sign| line.find(sign));
    let (line, command) = line.split_at(commands.min().map_or(line.len(), |colon| colon + 1));
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let mut columns = text
        .match_indices("  ")
        .map(|(place, _)| line.len() - text[place..].trim_start().len())
        .chain([indent, 0]);
    let beside = columns.find(|&beside| beside < width / 2).unwrap_or(0);
    let (before, after) = line.split_at(beside);
    let is_label = |word: &str| word.ends_with(':');
    let hanging = if after.split(' ').next().is_some_and(is_label) { 2 } else { 0 };
    let mut lines = report::in_lines(after, width - beside, hanging);
    match lines.last_mut() {
        Some(last)
            if report::columns(last) + report::columns(command) + hanging + beside <= width =>
        {
            last.push_str(command);
        }
        _ => lines.push(command.trim_start().to_owned()),
    }
    format!("{before}{}", lines.join(&format!("\n{:1$}", "", beside + hanging)))
}

/// A paragraph in lines that fit a terminal, each this far in.
pub fn indented(text: &str, columns: usize) -> String {
    wrapped(text, columns).iter().map(|line| format!("{:columns$}{line}\n", "")).collect()
}

/// A paragraph in lines that fit a terminal beside so many columns.
pub fn wrapped(text: &str, beside: usize) -> Vec<String> {
    report::in_lines(text, WIDTH - beside, 0)
}

/// A number of things, by the name of one.
pub fn counted(n: usize, name: &str) -> String {
    report::counted_in_english(n as u64, name)
}

/// `teiji-20261120-083015.teiji`, UTC; with a number where that exists.
pub fn new_name(stem: &str, ending: &str) -> PathBuf {
    let time = humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string();
    let stamp: String = time
        .chars()
        .filter_map(|c| if c == 'T' { Some('-') } else { c.is_ascii_digit().then_some(c) })
        .collect();
    let name = |number: u32| {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        PathBuf::from(format!("{stem}-{stamp}{number}{ending}"))
    };
    (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(1))
}

/// All of the file or none of it.
pub fn write_whole(path: &Path, content: &str) -> anyhow::Result<()> {
    write_together(&[(path, content)])
}

/// All of a file that is written by this, or none of it. A link that is in its place is replaced.
pub fn write_by(
    path: &Path,
    write: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let named = || format!("cannot write {}", path.display());
    let _ = path.file_name().with_context(named)?;
    let mut new = nameless_beside(path, |path| File::create_new(path)).with_context(named)?;
    write(new.as_file_mut())?;
    new.into_temp_path().persist(path).map_err(|error| error.error).with_context(named)
}

/// Refuses what cannot be written in any case: a name twice, a folder, what would lie in none.
pub fn check_places(files: &[&Path]) -> anyhow::Result<()> {
    for (place, path) in files.iter().enumerate() {
        let shown = path.display();
        anyhow::ensure!(
            !files[..place].iter().any(|other| is_same(other, path)),
            "{shown} is named twice"
        );
        anyhow::ensure!(!path.is_dir(), "{shown} is a folder");
        let folder =
            path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        anyhow::ensure!(folder.is_dir(), "cannot write {shown}: {} is no folder", folder.display());
    }
    Ok(())
}

/// All of these files, or none of them: whatever fails, files that were there are as they were.
/// Their names may be a stranger's, and a file may be shown by a terminal.
pub fn write_together(files: &[(&Path, &str)]) -> anyhow::Result<()> {
    let files: Vec<(&Path, Cow<'_, str>)> =
        files.iter().map(|(path, content)| (*path, shown(content, Paint::Plain))).collect();
    for (place, (path, _)) in files.iter().enumerate() {
        anyhow::ensure!(
            !files[..place].iter().any(|(other, _)| is_same(other, path)),
            "{} is named twice",
            path.display()
        );
    }
    let named = |path: &Path| format!("cannot write {}", path.display());
    let mut written = Vec::new();
    let mut devices = Vec::new();
    for (path, content) in &files {
        match replaced(path) {
            Some(target) => {
                written.push(Written::beside(target, content).with_context(|| named(path))?)
            }
            // A device, a pipe: it is written to, not replaced.
            None => devices.push((path, content)),
        }
    }
    // These cannot be undone, so nothing but renaming comes after them.
    devices.into_iter().try_for_each(|(path, content)| {
        std::fs::write(path, content.as_bytes()).with_context(|| named(path))
    })?;
    let mut replaced: Vec<Replaced> = Vec::new();
    for file in written {
        let target = file.target.clone();
        match file.put_in_place() {
            Ok(one) => replaced.push(one),
            Err(error) => {
                let undone = replaced.into_iter().rev().try_for_each(Replaced::undo);
                return Err(undone.err().unwrap_or_else(|| anyhow!(error).context(named(&target))));
            }
        }
    }
    Ok(())
}

/// A new file that waits to take its place.
struct Written {
    target: PathBuf,
    /// Removed when dropped.
    new: TempPath,
}

/// A file that has taken its place, and what it takes to put the old one back.
struct Replaced {
    target: PathBuf,
    /// Removed when dropped; none where there was no file.
    old: Option<TempPath>,
}

impl Written {
    fn beside(target: PathBuf, content: &str) -> anyhow::Result<Self> {
        let _ = target
            .file_name()
            .with_context(|| format!("invalid file name {}", target.display()))?;
        let mut file = nameless_beside(&target, |path| File::create_new(path))?;
        file.as_file_mut().write_all(content.as_bytes())?;
        Ok(Written { target, new: file.into_temp_path() })
    }

    fn put_in_place(self) -> io::Result<Replaced> {
        let Written { target, new } = self;
        let old = match target.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Ok(found) if found.is_file() => {
                Some(nameless_beside(&target, |path| second_name(&target, path))?.into_temp_path())
            }
            // What cannot be replaced says so itself.
            _ => None,
        };
        new.persist(&target).map_err(|error| error.error)?;
        Ok(Replaced { target, old })
    }
}

impl Replaced {
    fn undo(self) -> anyhow::Result<()> {
        let Replaced { target, old } = self;
        let Some(old) = old else {
            return std::fs::remove_file(&target)
                .with_context(|| format!("cannot remove {} again", target.display()));
        };
        old.persist(&target).map_err(|error| {
            let kept = error
                .path
                .keep()
                .map_or_else(|error| error.to_string(), |path| path.display().to_string());
            anyhow!(error.error)
                .context(format!("cannot put back {}, which is now {kept}", target.display()))
        })
    }
}

/// Makes something in the folder of a file under a name that nobody else has.
fn nameless_beside<F>(
    target: &Path,
    make: impl FnMut(&Path) -> io::Result<F>,
) -> io::Result<NamedTempFile<F>> {
    let folder =
        target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".teiji-").make_in(folder, make)
}

/// A second name for a file, or a copy where the file system has no second names, as on a USB
/// stick.
fn second_name(file: &Path, name: &Path) -> io::Result<()> {
    match std::fs::hard_link(file, name) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            io::copy(&mut File::open(file)?, &mut File::create_new(name)?).map(drop)
        }
        linked => linked,
    }
}

/// The file that is replaced: at the end of links. None where something else than a file is in its
/// place.
fn replaced(path: &Path) -> Option<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => {
            Some(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
        }
        Ok(found) if !found.is_dir() => None,
        _ => Some(path.to_owned()),
    }
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
        let (one, link, nowhere) =
            (folder.join("one"), folder.join("link"), folder.join("no/where"));
        write_whole(&one, "first").unwrap();
        std::os::unix::fs::symlink("one", &link).unwrap();
        assert!(write_together(&[(&one, "second"), (&nowhere, "")]).is_err());
        assert!(
            write_together(&[(&one, "second"), (&link, "third")])
                .unwrap_err()
                .to_string()
                .contains("named twice")
        );
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "first");
        write_whole(&link, "fourth").unwrap();
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "fourth");
        assert!(link.is_symlink() && std::fs::read_dir(&folder).unwrap().count() == 2);
        write_whole(Path::new("/dev/null"), "not replaced").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_was_there_comes_back_if_a_later_file_cannot_take_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [one, new, taken] = ["one", "new", "taken"].map(|name| folder.path().join(name));
        std::fs::write(&one, "first").unwrap();
        // Its content can be written, beside it, but no file takes the place of a folder.
        std::fs::create_dir(&taken).unwrap();
        let error =
            write_together(&[(&one, "second"), (&new, "second"), (&taken, "")]).unwrap_err();
        assert!(error.to_string().starts_with("cannot write "), "{error:#}");
        assert_eq!(std::fs::read_to_string(&one).unwrap(), "first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
    }

    #[test]
    fn files_that_only_look_like_ours_are_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let (report, new) =
            (folder.path().join("report.html"), folder.path().join("report.html.new"));
        std::fs::write(&new, "the user's").unwrap();
        write_whole(&report, "first").unwrap();
        write_whole(&report, "second").unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "the user's");
        assert_eq!(std::fs::read_to_string(&report).unwrap(), "second");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_is_said_in_a_terminal_is_broken_between_words() {
        let words = "word ".repeat(20);
        let words = words.trim_end();
        let text = format!("error: {words}\n  -h 400      {words}\n\nWrite: teiji {words}");
        for width in [80, 60] {
            let lines = fitted(&text, width);
            let lines: Vec<&str> = lines.lines().collect();
            let (commands, others): (Vec<&str>, Vec<&str>) =
                lines.iter().partition(|line| line.contains("teiji"));
            assert!(others.iter().all(|line| line.len() <= width), "{lines:?}");
            assert!(lines[1].starts_with("  word word"), "{lines:?}");
            assert!(lines.iter().any(|line| line.starts_with("  -h 400      word word")));
            assert!(others.iter().any(|line| line.starts_with("              word")), "{lines:?}");
            assert_eq!(commands, [format!("  teiji {words}")]);
        }
        let far = format!("{}{words}", " ".repeat(100));
        assert!(fitted(&far, 80).starts_with("word"));
        // Each sign takes two columns, and a line ends behind any of them.
        let lines = fitted(&format!("error: {}", "遅延".repeat(42)), 60);
        assert!(lines.lines().all(|line| (57..=60).contains(&report::columns(line))), "{lines}");
        let short = "Not enough for it, and the command has its own line: sudo teiji tune --cpus 1";
        assert_eq!(fitted(short, 60), short.replace(": ", ":\n"));
    }

    #[test]
    fn a_new_name_is_a_date_and_a_time() {
        let name = new_name("teiji", ".teiji").display().to_string();
        assert!(
            name.starts_with("teiji-20")
                && name.ends_with(".teiji")
                && name.len() >= "teiji-20261120-083015.teiji".len(),
            "{name}"
        );
    }
}
