// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nobody else puts a journal in the folder, holds its lock, or has something else written by a
//! link.

use super::*;
use std::os::unix::fs::{chown, symlink};
use tempfile::TempDir;

fn machine() -> (TempDir, HostRoot, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = HostRoot::at(dir.path());
    let folder = folder(&root);
    (dir, root, folder)
}

fn refused(root: &HostRoot) -> String {
    match lock(root) {
        Err(NotLocked::Failed(error)) => error.to_string(),
        Err(NotLocked::Held(holder)) => panic!("held by {holder}"),
        Ok(_) => panic!("locked"),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn one_at_a_time() {
    let (_dir, root, folder) = machine();
    assert!(!is_in_use(&root));
    let held = lock(&root).ok().unwrap();
    let Err(NotLocked::Held(holder)) = lock(&root) else { panic!("locked twice") };
    assert_eq!(holder, std::process::id().to_string());
    assert!(is_in_use(&root));
    assert_eq!(alive(&fs::read_to_string(folder.join(HOLDER)).unwrap()), Some(std::process::id()));
    drop(held);
    assert!(!folder.join(HOLDER).exists());
    assert!(lock(&root).is_ok());
}

/// One that another thread is starting has all files of its parent until it executes its program.
#[test]
fn a_process_being_started_does_not_keep_the_lock() {
    let (_folder, root, _) = machine();
    let held = lock(&root).ok().unwrap();
    let starting = held._files.0.0.try_clone().unwrap();
    drop(held);
    assert!(lock(&root).is_ok());
    drop(starting);
}

/// Where its number was left, or is another one's by now.
#[test]
fn a_holder_that_has_ended_is_not_named() {
    let (_dir, root, folder) = machine();
    drop(lock(&root));
    let other = open_lock_of_another(&folder.join(LOCK)).unwrap();
    other.try_lock_shared().unwrap();
    for said in ["", "x", "999999999 5", &format!("{} 1", std::process::id())] {
        fs::write(folder.join(HOLDER), said).unwrap();
        assert!(matches!(lock(&root), Err(NotLocked::Held(holder)) if holder.is_empty()), "{said}");
    }
}

#[test]
fn everybody_may_look_and_nobody_else_may_write_or_lock() {
    let (_dir, root, folder) = machine();
    // The modes are the same with any umask, which all tests of this process share.
    let held = lock(&root).ok().unwrap();
    assert_eq!((mode(&folder), mode(folder.parent().unwrap())), (0o755, 0o755));
    assert_eq!((mode(&folder.join(LOCK)), mode(&folder.join(HOLDER))), (0o600, 0o644));
    drop(held);
    // One that an earlier version made.
    fs::set_permissions(folder.join(LOCK), Permissions::from_mode(0o644)).unwrap();
    drop(lock(&root));
    assert_eq!(mode(&folder.join(LOCK)), 0o600);
}

#[test]
fn a_folder_that_others_may_write_to_is_refused() {
    let (_dir, root, folder) = machine();
    drop(lock(&root));
    for refused_mode in [0o777, 0o1777, 0o757] {
        fs::set_permissions(&folder, Permissions::from_mode(refused_mode)).unwrap();
        assert!(refused(&root).starts_with("others may write to "), "{refused_mode:o}");
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    assert!(lock(&root).is_ok());
    if geteuid().is_root() {
        fs::set_permissions(&folder, Permissions::from_mode(0o775)).unwrap();
        assert!(lock(&root).is_ok(), "root's own group");
        chown(&folder, None, Some(12_345)).unwrap();
        assert!(refused(&root).starts_with("others may write to "));
        chown(&folder, Some(12_345), Some(0)).unwrap();
        assert!(refused(&root).ends_with("belongs to user 12345"));
    }
}

#[test]
fn what_somebody_else_wrote_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal.json");
    assert_eq!(read(&file).unwrap(), None);
    fs::write(&file, "{}").unwrap();
    assert_eq!(read(&file).unwrap().as_deref(), Some("{}"));
    let link = dir.path().join("link");
    symlink(&file, &link).unwrap();
    assert_eq!(read(&link).unwrap_err().to_string(), "it is a link");
    if geteuid().is_root() {
        chown(&file, Some(12_345), None).unwrap();
        assert_eq!(read(&file).unwrap_err().to_string(), "it belongs to user 12345");
    }
}

#[test]
fn no_link_has_another_file_written() {
    let (dir, root, folder) = machine();
    drop(lock(&root));
    let victim = dir.path().join("victim");
    fs::write(&victim, "as before").unwrap();
    for name in ["journal.json.new", HOLDER] {
        symlink(&victim, folder.join(name)).unwrap();
    }
    store(&folder, "journal.json", READABLE, "{}").unwrap();
    drop(lock(&root));
    assert!(!folder.join("journal.json").is_symlink());
    fs::remove_file(folder.join(LOCK)).unwrap();
    symlink(&victim, folder.join(LOCK)).unwrap();
    assert_eq!(refused(&root), "it is a link");
    assert_eq!(
        (fs::read_to_string(&victim).unwrap().as_str(), mode(&victim) & 0o700),
        ("as before", 0o600)
    );
}

#[test]
fn no_folder_is_made_outside_of_the_root() {
    let (_dir, root, _) = machine();
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), root.path("var")).unwrap();
    assert!(refused(&root).ends_with("is a link that leads out of this machine's files"));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
