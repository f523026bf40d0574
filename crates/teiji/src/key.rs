// SPDX-License-Identifier: MIT OR Apache-2.0
//! The user's key of pseudonyms: made once, kept where nobody else reads it, and in no recording.

use anyhow::{Context, anyhow, ensure};
use model::Pseudonyms;
use rustix::process::geteuid;
use std::env::var_os;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use system::files::{Links, OpenError, create, open_regular};

const FILE: &str = "pseudonyms.key";
/// Only the user reads it, and looks into the folder that is made for it.
const PRIVATE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// The pseudonyms of whoever runs this, and what to know about them if they are not the same next
/// time.
pub fn pseudonyms() -> anyhow::Result<(Pseudonyms, Option<String>)> {
    let why = match folder() {
        None => "no folder for their key (set XDG_STATE_HOME or HOME)".to_owned(),
        Some(folder) => {
            let path = folder.join(FILE);
            let mut found = read(&path)?;
            let made = if found.is_none() { make(&folder, &path) } else { Ok(()) };
            if found.is_none() && made.is_ok() {
                found = read(&path)?;
            }
            match (found, made) {
                (Some(key), _) => return Ok((Pseudonyms::new(key), None)),
                (None, Ok(())) => format!("{} is gone", path.display()),
                (None, Err(error)) => {
                    format!("cannot keep their key in {}: {error}", path.display())
                }
            }
        }
    };
    let once = random().context("cannot read /dev/urandom")?;
    Ok((Pseudonyms::new(once), Some(format!("pseudonyms differ next time: {why}"))))
}

/// The user's folder of what programs keep.
fn folder() -> Option<PathBuf> {
    let named = |variable| var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_home = || Some(named("HOME")?.join(".local/state"));
    named("TEIJI_STATE").or_else(|| {
        Some(
            named("XDG_STATE_HOME")
                .filter(|path| path.is_absolute())
                .or_else(of_home)?
                .join("teiji"),
        )
    })
}

fn random() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    Ok(key)
}

/// The key, where there is one that is the user's own.
fn read(path: &Path) -> anyhow::Result<Option<[u8; 32]>> {
    let shown = path.display();
    let cannot = || format!("cannot read {shown}");
    let not_own = || {
        anyhow!(
            "{shown} is not a file that you alone may read, so it is no key: remove it, and a new \
             one is made"
        )
    };
    let mut file = match open_regular(path, Links::Refused) {
        Ok(file) => file,
        Err(OpenError::Kind(_)) => return Err(not_own()),
        Err(OpenError::Io(error))
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(OpenError::Io(error)) => return Err(error).with_context(cannot),
    };
    let found = file.metadata().with_context(cannot)?;
    if found.uid() != geteuid().as_raw() || found.mode() & OTHERS != 0 {
        return Err(not_own());
    }
    let mut key = [0; 32];
    let whole = found.len() == key.len() as u64 && file.read_exact(&mut key).is_ok();
    ensure!(
        whole,
        "{shown} does not hold 32 bytes, so it is no key: remove it, and a new one is made"
    );
    Ok(Some(key))
}

/// Makes it, in one step and where none is: of two that make it at once the first one counts.
fn make(folder: &Path, path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(folder)?;
    let new = folder.join(format!(".{FILE}-{}", std::process::id()));
    let mut file = create(&new, PRIVATE)?;
    let written = random().and_then(|key| file.write_all(&key)).and_then(|()| file.sync_all());
    let placed = written.and_then(|()| fs::hard_link(&new, path));
    let _ = fs::remove_file(&new);
    match placed {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        placed => placed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_is_the_users_alone() {
        let place = tempfile::tempdir().unwrap();
        let (folder, path) = (place.path().join("a/b"), place.path().join("a/b").join(FILE));
        assert_eq!(read(&path).unwrap(), None);
        make(&folder, &path).unwrap();
        let key = read(&path).unwrap().unwrap();
        make(&folder, &path).unwrap();
        assert_eq!((read(&path).unwrap(), fs::read_dir(&folder).unwrap().count()), (Some(key), 1));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, PRIVATE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("you alone"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("32 bytes"));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(read(&path).is_err());
    }
}
