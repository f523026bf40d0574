// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a file has beside its text, for one that takes its place: owner, mode, extended attributes
//! (a label of SELinux, an access list).

use rustix::fs::{Gid, Mode, Uid, XattrFlags, fchmod, fchown, fsetxattr, getxattr, listxattr};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const MODE_BITS: u32 = 0o7777;
/// The kernel's limit of all names, and of one value.
const MAX_BYTES: usize = 65_536;
/// Sums of the text, which the kernel makes anew.
const OF_THE_TEXT: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Gives a file what another one has.
pub(super) fn copy(like: &Path, file: &File) -> io::Result<()> {
    let (own, wanted) = (file.metadata()?, like.metadata()?);
    // FAT has one owner and one mode for all, and refuses others.
    if (own.uid(), own.gid()) != (wanted.uid(), wanted.gid()) {
        fchown(file, Some(Uid::from_raw(wanted.uid())), Some(Gid::from_raw(wanted.gid())))?;
    }
    if (own.mode() ^ wanted.mode()) & MODE_BITS != 0 {
        fchmod(file, Mode::from_raw_mode(wanted.mode() & MODE_BITS))?;
    }
    for name in names(like)? {
        let value = value(like, &name)?;
        fsetxattr(file, &name, &value, XattrFlags::empty())?;
    }
    Ok(())
}

fn names(path: &Path) -> io::Result<Vec<CString>> {
    let mut list = vec![0; MAX_BYTES];
    let length = match listxattr(path, &mut list[..]) {
        // FAT has none.
        Err(Errno::OPNOTSUPP) => return Ok(Vec::new()),
        length => length?,
    };
    let names = list[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty() && !OF_THE_TEXT.contains(name));
    Ok(names.filter_map(|name| CString::new(name).ok()).collect())
}

fn value(path: &Path, name: &CStr) -> io::Result<Vec<u8>> {
    let mut value = vec![0; MAX_BYTES];
    let length = getxattr(path, name, &mut value[..])?;
    value.truncate(length);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Machine, error};
    use super::*;
    use crate::LoaderUndo;
    use rustix::fs::setxattr;
    use std::fs;

    const FILE: &str = "boot/cmdline.txt";

    #[test]
    fn extended_attributes_stay_with_the_file_and_its_copy() {
        let machine = Machine::new(&[(FILE, "quiet\n")]);
        let path = machine.root.path(FILE);
        if setxattr(&path, "user.owner", b"me\0", XattrFlags::empty()) == Err(Errno::OPNOTSUPP) {
            return;
        }
        let owner = |path: &Path| value(path, c"user.owner").unwrap();
        let written = machine.write().unwrap();
        assert_eq!(
            (owner(&path), owner(&machine.root.path(&written.files[0].backup))),
            (b"me\0".to_vec(), b"me\0".to_vec())
        );
        LoaderUndo::undo(&machine.root, false).unwrap();
        assert_eq!((owner(&path), machine.read(FILE).as_str()), (b"me\0".to_vec(), "quiet\n"));
    }

    /// A file that takes its place has only one of them.
    #[test]
    fn a_file_with_another_name_is_refused() {
        let machine = Machine::new(&[(FILE, "quiet\n")]);
        let other = machine.root.path("boot/other");
        fs::hard_link(machine.root.path(FILE), &other).unwrap();
        let error = error(machine.write());
        assert_eq!(
            error,
            "/boot/cmdline.txt has other names (hard links), which would keep the old text. \
             Nothing was written"
        );
        assert_eq!(machine.read(FILE), "quiet\n");
        fs::remove_file(other).unwrap();
        machine.write().unwrap();
    }
}
