// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of a recording's folder, opened as what they are: a stranger's. What is in the folder is
//! read, and nothing that it points to; nothing that would wait for ever or has an effect of its
//! own when it is opened; and no more of it than memory allows.

use crate::RecordingError;
use rustix::fs::OFlags;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

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
    let path = &within(path)?;
    let io = |source| RecordingError::Io { doing: "read", path: path.clone(), source };
    // Looked at before it is opened, which may have an effect, and again after: another file may be
    // in its place by then.
    let seen = path.symlink_metadata().map_err(io)?;
    check_kind(path, seen.file_type())?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(io)?;
    let opened = file.metadata().map_err(io)?;
    check_kind(path, opened.file_type())?;
    if (opened.dev(), opened.ino()) != (seen.dev(), seen.ino()) {
        return Err(io(io::Error::other("it was replaced meanwhile")));
    }
    Ok(file)
}

/// Reads a file of a recording's folder, of so many bytes at most.
///
/// # Errors
/// As [`open_file`], and when it is larger.
pub(crate) fn read_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, RecordingError> {
    let file = open_file(path)?;
    let io = |source| RecordingError::Io { doing: "read", path: path.to_owned(), source };
    let bytes = file.metadata().map_err(io)?.len();
    let too_large = || RecordingError::TooLarge { path: path.to_owned(), max_bytes };
    if bytes > max_bytes {
        return Err(too_large());
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    file.take(max_bytes + 1).read_to_end(&mut content).map_err(io)?;
    // It may grow while it is read.
    if content.len() as u64 > max_bytes { Err(too_large()) } else { Ok(content) }
}

/// The same as text, of 32 MB at most.
///
/// # Errors
/// The same, and when it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String, RecordingError> {
    String::from_utf8(read_file(path, MAX_TEXT)?)
        .map_err(|error| RecordingError::Document { path: path.to_owned(), why: error.to_string() })
}

/// Makes a file in the place of whatever is there. Where that is a link the link is replaced, and
/// not what it leads to: somebody else may write to the folder, or may have made it.
///
/// # Errors
/// When it cannot be made.
pub fn create_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => File::create_new(path),
    }
}

/// The same with this content.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    create_file(path)?.write_all(content)
}

/// What a guest of the lab printed; nothing where that cannot be read.
#[must_use]
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

fn check_kind(path: &Path, kind: FileType) -> Result<(), RecordingError> {
    let what = match kind {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() || kind.is_block_device() => "a device",
        _ => "a link",
    };
    Err(RecordingError::NoFile { path: path.to_owned(), what })
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
