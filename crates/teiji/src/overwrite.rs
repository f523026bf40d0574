// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which files may be written over. A report that teiji wrote is made anew without asking; anything else that lies in its place is
//! somebody's work, and is only replaced with `--force`.

use anyhow::bail;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// At the end of what teiji writes as Markdown and, within the picture, as SVG; a page names its generator in its head.
const MARK: &str = "<!-- Written by teiji. -->\n";

/// What a page has in its head.
const GENERATOR: &str = "<meta name=\"generator\" content=\"teiji ";
/// Bytes of a page's head that are looked at: the verdict stands in it before the generator.
const HEAD_BYTES: u64 = 64 << 10;

/// Refuses to replace files that teiji has not written. Empty files and devices may be written to.
pub fn refuse_foreign<'p>(paths: impl IntoIterator<Item = &'p Path>, force: bool) -> anyhow::Result<()> {
    for path in paths {
        if !force && path.is_file() && !is_ours(path) {
            let path = path.display();
            bail!("{path} exists, and teiji did not write it: choose another name, or replace it with --force");
        }
    }
    Ok(())
}

/// Refuses to replace any file that holds something.
pub fn refuse_existing(path: &Path, force: bool) -> anyhow::Result<()> {
    let holds_something = path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
    anyhow::ensure!(force || !holds_something, "{} exists: choose another name, or replace it with --force", path.display());
    Ok(())
}

/// A file that cannot be read is not ours.
fn is_ours(path: &Path) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let Ok(length) = file.metadata().map(|file| file.len()) else { return false };
    let mut head = Vec::new();
    if length == 0 || file.by_ref().take(HEAD_BYTES).read_to_end(&mut head).is_err() {
        return length == 0;
    }
    String::from_utf8_lossy(&head).contains(GENERATOR) || ends_with_mark(&mut file, length).unwrap_or(false)
}

fn ends_with_mark(file: &mut File, length: u64) -> std::io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    file.seek(SeekFrom::Start(length.saturating_sub(2 * MARK.len() as u64)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).contains(MARK))
}

/// A text, or a picture, that will be known as ours.
pub fn marked(content: &str) -> String {
    match content.rsplit_once("</svg>") {
        Some((picture, rest)) if content.starts_with("<svg") && rest.trim().is_empty() => format!("{picture}{MARK}</svg>{rest}"),
        _ => format!("{content}\n{MARK}"),
    }
}

/// Refuses a name whose ending asks for a format that is not written there.
pub fn check_page_name(path: &Path) -> anyhow::Result<()> {
    let Some(ending) = path.extension().and_then(|ending| ending.to_str()) else { return Ok(()) };
    let shown = path.display();
    match ending.to_ascii_lowercase().as_str() {
        "html" | "htm" => Ok(()),
        "md" | "markdown" => bail!("{shown}: Markdown is written with --md {shown}; -o names the HTML page"),
        "svg" => bail!("{shown}: the charts are SVG files of a folder, written with --svg DIR; -o names the HTML page"),
        // `report.2026-11` has a date, `run.v2` a version.
        other if other.starts_with(|c: char| c.is_ascii_alphabetic()) && other.chars().all(char::is_alphabetic) => bail!(
            "{shown}: a report cannot be written as {other}; the formats are HTML (-o FILE.html), Markdown (--md FILE.md) and \
             SVG charts (--svg DIR). A browser prints the page as PDF"
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_teiji_wrote_is_replaced() {
        let folder = std::env::temp_dir().join(format!("teiji-overwrite-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        let page = write("page.html", "<!doctype html><head><meta name=\"generator\" content=\"teiji 0.1.0\">");
        let text = write("text.md", &marked("# x\n"));
        let picture = write("x.svg", &marked("<svg></svg>\n"));
        let (empty, notes) = (write("empty", ""), write("notes.html", "<p>mine"));
        let nowhere = folder.join("nowhere");
        for ours in [&page, &text, &picture, &empty, &nowhere, &Path::new("/dev/null").to_owned()] {
            refuse_foreign([ours.as_path()], false).unwrap();
        }
        let error = refuse_foreign([page.as_path(), notes.as_path()], false).unwrap_err().to_string();
        assert!(
            error.ends_with("notes.html exists, and teiji did not write it: choose another name, or replace it with --force")
        );
        refuse_foreign([notes.as_path()], true).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_that_asks_for_another_format() {
        for fine in ["report.html", "x.HTM", "report", "/dev/stdout", "report.2026-11", "a.v2"] {
            assert!(check_page_name(Path::new(fine)).is_ok(), "{fine}");
        }
        let says = |name: &str| check_page_name(Path::new(name)).unwrap_err().to_string();
        assert!(says("x.pdf").starts_with("x.pdf: a report cannot be written as pdf; the formats are HTML (-o FILE.html), "));
        assert!(says("x.md").contains("--md x.md") && says("charts/x.svg").contains("--svg DIR"));
    }
}
