// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of a recording's folder, opened as what they are: a stranger's. What is in the folder is
//! read, and nothing that it points to; nothing that would wait for ever or has an effect of its
//! own when it is opened; and no more of it than memory allows.

use crate::RecordingError;
use rustix::fs::FileType;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use system::files::{self, Links, OpenError, USUAL, open_regular, read_up_to};

/// What the kernel of a guest printed.
pub(crate) const CONSOLE: &str = "console.log";
/// Bytes of a document, of what was explained, of a console's log. A thread's part of a document
/// takes 10 kB.
pub(crate) const MAX_TEXT: u64 = 32 << 20;

/// Opens a file of a recording's folder for reading. A link to another file of the same folder is
/// followed.
///
/// # Errors
/// When it is not there, leads out of the folder, or is no file.
pub fn open_file(path: &Path) -> Result<File, RecordingError> {
    let path = within(path)?;
    open_regular(&path, Links::Refused).map_err(|error| match error {
        OpenError::Io(source) => RecordingError::Io { doing: "read", path, source },
        OpenError::Kind(kind) => RecordingError::NoFile { path, what: name_of(kind) },
    })
}

/// Reads a file of a recording's folder, of so many bytes at most.
///
/// # Errors
/// As [`open_file`], and when it is larger.
pub(crate) fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, RecordingError> {
    let read =
        read_up_to(&open_file(path)?, max_bytes).map_err(RecordingError::io("read", path))?;
    read.ok_or_else(|| RecordingError::TooLarge { path: path.to_owned(), max_bytes })
}

/// The same as text, of 32 MB at most.
///
/// # Errors
/// The same, and when it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, RecordingError> {
    String::from_utf8(read_file(path, MAX_TEXT)?)
        .map_err(|error| RecordingError::Document { path: path.to_owned(), why: error.to_string() })
}

/// Makes a file with this content in the place of whatever is there.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    files::create(path, USUAL)?.write_all(content)
}

/// What a guest of the lab printed; nothing where that cannot be read.
pub fn read_console(recording: &Path) -> String {
    read_file(&recording.join(CONSOLE), MAX_TEXT)
        .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Where something lies that is part of a folder: at the end of a link that stays in the folder.
///
/// # Errors
/// When it is a link that leads out.
pub fn within(path: &Path) -> Result<PathBuf, RecordingError> {
    let Ok(target) = fs::read_link(path) else { return Ok(path.to_owned()) };
    let mut parts = target.components();
    let stays = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    let sibling = path.with_file_name(&target);
    if stays && !sibling.is_symlink() {
        Ok(sibling)
    } else {
        Err(RecordingError::LeadsOut { path: path.to_owned(), target })
    }
}

fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a folder",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a link",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};
    use std::os::unix::fs::symlink;

    #[test]
    fn only_files_of_the_folder_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("rec");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("own"), "own").unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        let outside = place.path().join("secret").display().to_string();
        let links = [
            ("beside", "own", Ok("own")),
            ("above", "../secret", Err("is a link to ../secret")),
            ("absolute", outside.as_str(), Err("is a link to /")),
            ("again", "beside", Err("is a link to beside")),
            ("dots", "..", Err("is a link to ..")),
            ("nothing", "nowhere", Err("No such file")),
        ];
        for (name, target, expected) in links {
            symlink(target, folder.join(name)).unwrap();
            match (read_file(&folder.join(name), 100), expected) {
                (Ok(content), Ok(expected)) => assert_eq!(content, expected.as_bytes()),
                (Err(error), Err(expected)) => {
                    assert!(error.to_string().contains(expected), "{name}: {error}")
                }
                (found, _) => panic!("{name}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("precious"), "precious").unwrap();
        symlink("precious", path("run.json.new")).unwrap();
        write_file(&path("run.json.new"), b"new").unwrap();
        assert_eq!(
            (fs::read(path("precious")).unwrap(), fs::read(path("run.json.new")).unwrap()),
            (b"precious".into(), b"new".into())
        );
        write_file(&path("run.json.new"), b"newer").unwrap();
        assert_eq!(fs::read(path("run.json.new")).unwrap(), b"newer");
    }

    /// A test that waits here for ever has opened a FIFO.
    #[test]
    fn what_is_no_file_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        mknodat(CWD, place.path().join("fifo"), Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        fs::create_dir(place.path().join("folder")).unwrap();
        let refused = |name: &str| open_file(&place.path().join(name)).unwrap_err().to_string();
        assert!(refused("fifo").contains("is a FIFO"), "{}", refused("fifo"));
        assert!(refused("folder").contains("is a folder"), "{}", refused("folder"));
        assert!(open_file(Path::new("/dev/null")).unwrap_err().to_string().contains("is a device"));
    }

    #[test]
    fn no_more_is_read_than_there_may_be() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run.json");
        fs::write(&path, [b'x'; 10]).unwrap();
        assert_eq!(read_file(&path, 10).unwrap().len(), 10);
        assert!(matches!(read_file(&path, 9), Err(RecordingError::TooLarge { max_bytes: 9, .. })));
    }
}
