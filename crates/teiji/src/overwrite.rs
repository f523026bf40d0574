// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which files may be written over. What teiji wrote is made anew without asking by the same kind
//! of output; anything else that lies in its place is somebody's work, and is only replaced with
//! `--force`.

use anyhow::bail;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// At the end of what teiji writes as Markdown and, within the picture, as SVG; a page names its
/// generator in its head.
const MARK: &str = "<!-- Written by teiji. -->\n";

/// What a page has in its head.
const GENERATOR: &str = "<meta name=\"generator\" content=\"teiji ";
/// Bytes of a page's head that are looked at: the verdict stands in it before the generator.
const HEAD_BYTES: u64 = 64 << 10;

/// How a gate's JUnit file names its only suite.
const SUITE: &str = "<testsuite name=\"teiji gate\"";

/// What teiji writes to a file that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Page,
    Markdown,
    Chart,
    Junit,
}

/// Refuses to replace files unless teiji wrote them, and the same kind. Empty files and devices may
/// be written to.
pub fn refuse_foreign<'p>(
    files: impl IntoIterator<Item = (&'p Path, FileKind)>,
    force: bool,
) -> anyhow::Result<()> {
    for (path, kind) in files {
        let why = match existing(path) {
            Existing::Nothing => continue,
            _ if force => continue,
            Existing::Ours(known) if known == kind => continue,
            Existing::Ours(known) => format!("is {}, not {}", known.named(), kind.named()),
            Existing::Foreign => "teiji did not write it".to_owned(),
        };
        bail!(
            "{} exists, and {why}: choose another name, or replace it with --force",
            path.display()
        );
    }
    Ok(())
}

impl FileKind {
    const fn named(self) -> &'static str {
        match self {
            FileKind::Page => "an HTML page",
            FileKind::Markdown => "a Markdown text",
            FileKind::Chart => "an SVG chart",
            FileKind::Junit => "a JUnit file",
        }
    }
}

/// What lies where something is to be written.
enum Existing {
    Nothing,
    Ours(FileKind),
    Foreign,
}

/// Refuses to replace any file that holds something.
pub fn refuse_existing(path: &Path, force: bool) -> anyhow::Result<()> {
    let holds_something = path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
    anyhow::ensure!(
        force || !holds_something,
        "{} exists: choose another name, or replace it with --force",
        path.display()
    );
    Ok(())
}

/// A file that cannot be read is not ours.
fn existing(path: &Path) -> Existing {
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() > 0 => {
            kind_of(path, found.len()).ok().flatten().map_or(Existing::Foreign, Existing::Ours)
        }
        _ => Existing::Nothing,
    }
}

fn kind_of(path: &Path, length: u64) -> std::io::Result<Option<FileKind>> {
    let mut file = File::open(path)?;
    let mut head = Vec::new();
    let _ = file.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    Ok(if head.contains(GENERATOR) {
        Some(FileKind::Page)
    } else if head.starts_with("<?xml") && head.contains(SUITE) {
        Some(FileKind::Junit)
    } else if ends_with_mark(&mut file, length)? {
        Some(if head.starts_with("<svg") { FileKind::Chart } else { FileKind::Markdown })
    } else {
        None
    })
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
        Some((picture, rest)) if content.starts_with("<svg") && rest.trim().is_empty() => {
            format!("{picture}{MARK}</svg>{rest}")
        }
        _ => format!("{content}\n{MARK}"),
    }
}

/// Refuses a report's name whose ending asks for a format that is not written there.
pub fn check_page_name(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match other_format(path).as_deref() {
        None => Ok(()),
        Some("md" | "markdown") => {
            bail!("{shown}: Markdown is written with --md {shown}; -o names the HTML page")
        }
        Some("svg") => bail!(
            "{shown}: the charts are SVG files of a folder, written with --svg DIR; -o names the \
             HTML page"
        ),
        Some(other) => bail!(
            "{shown}: a report cannot be written as {other}; the formats are HTML (-o FILE.html), \
             Markdown (--md FILE.md) and SVG charts (--svg DIR). A browser prints the page as PDF"
        ),
    }
}

/// The same for the page of a comparison, which has no charts of its own.
pub fn check_comparison_name(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match other_format(path).as_deref() {
        None => Ok(()),
        Some("md" | "markdown") => {
            bail!("{shown}: --html names the HTML page; Markdown is printed with --md > {shown}")
        }
        Some(other) => bail!(
            "{shown}: a comparison cannot be written as {other}; the formats are HTML (--html \
             FILE.html), and, printed, Markdown (--md) and JSON (--json). A browser prints the \
             page as PDF"
        ),
    }
}

/// The ending of a name that is not that of a page, in lower case. `report.2026-11` has a date,
/// `run.v2` a version.
fn other_format(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_format = ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.chars().all(char::is_alphabetic);
    (is_format && ending != "html" && ending != "htm").then_some(ending)
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
        let page = write(
            "page.html",
            "<!doctype html><head><meta name=\"generator\" content=\"teiji 0.1.0\">",
        );
        let text = write("text.md", &marked("# x\n"));
        let picture = write("x.svg", &marked("<svg></svg>\n"));
        let (empty, notes) = (write("empty", ""), write("notes.html", "<p>mine"));
        let nowhere = folder.join("nowhere");
        let suite = write(
            "x.xml",
            "<?xml version=\"1.0\"?>\n<testsuites>\n  <testsuite name=\"teiji gate\" tests=\"1\">",
        );
        let kinds = [
            (&page, FileKind::Page),
            (&text, FileKind::Markdown),
            (&picture, FileKind::Chart),
            (&suite, FileKind::Junit),
        ];
        for kind in kinds.map(|(_, kind)| kind) {
            for (ours, written) in kinds {
                assert_eq!(
                    refuse_foreign([(ours.as_path(), kind)], false).is_ok(),
                    written == kind,
                    "{ours:?} by {kind:?}"
                );
            }
            for free in [&empty, &nowhere, &Path::new("/dev/null").to_owned()] {
                refuse_foreign([(free.as_path(), kind)], false).unwrap();
            }
        }
        let error =
            refuse_foreign([(suite.as_path(), FileKind::Page)], false).unwrap_err().to_string();
        assert!(error.ends_with(
            "x.xml exists, and is a JUnit file, not an HTML page: choose another name, or replace \
             it with --force"
        ));
        let error =
            refuse_foreign([&page, &notes].map(|path| (path.as_path(), FileKind::Page)), false)
                .unwrap_err()
                .to_string();
        assert!(error.ends_with(
            "notes.html exists, and teiji did not write it: choose another name, or replace it \
             with --force"
        ));
        refuse_foreign([(notes.as_path(), FileKind::Page)], true).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_name_that_asks_for_another_format() {
        for fine in ["report.html", "x.HTM", "report", "/dev/stdout", "report.2026-11", "a.v2"] {
            assert!(
                check_page_name(Path::new(fine)).is_ok()
                    && check_comparison_name(Path::new(fine)).is_ok(),
                "{fine}"
            );
        }
        let says = |name: &str| check_page_name(Path::new(name)).unwrap_err().to_string();
        assert!(says("x.pdf").starts_with(
            "x.pdf: a report cannot be written as pdf; the formats are HTML (-o FILE.html), "
        ));
        assert!(says("x.md").contains("--md x.md") && says("charts/x.svg").contains("--svg DIR"));
        let says = |name: &str| check_comparison_name(Path::new(name)).unwrap_err().to_string();
        assert!(says("x.PDF").starts_with(
            "x.PDF: a comparison cannot be written as pdf; the formats are HTML (--html FILE.html)"
        ));
        assert!(says("x.md").contains("printed with --md > x.md"));
    }
}
