// SPDX-License-Identifier: MIT OR Apache-2.0
//! A control group of our own, version 1: it has the CPUs that are not measured, and the threads
//! that sat in the root.
//!
//! The root has all CPUs, always. So its threads are moved, and each comes back when the group is
//! removed, with those that it started meanwhile. What the group says is its CPUs, and nothing
//! where it is not there. Cut off anywhere, it is removed in the same way.

use check::root_threads;
use host::HostRoot;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::time::Duration;

/// What it says before it has CPUs of its own.
pub(super) const UNFINISHED: &str = "unfinished";

/// Threads start others while they are moved: so often the list is read again.
const MAX_PASSES: usize = 100;
/// The kernel takes a moment to forget a thread that has ended.
const PAUSE: Duration = Duration::from_millis(5);

fn above(group: &str) -> &str {
    group.rsplit_once('/').map_or("", |(above, _)| above)
}

/// Its CPUs; empty where it is not there.
pub(super) fn read(root: &HostRoot, group: &str) -> io::Result<String> {
    let cpus_of = |group: &str| root.text(&format!("{group}/cpuset.cpus"));
    let of_root = cpus_of(above(group))?;
    if !root.path(group).is_dir() {
        return Ok(String::new());
    }
    let cpus = cpus_of(group).unwrap_or_default();
    // With cgroup.clone_children it begins with all CPUs.
    let is_unfinished = cpus.trim().is_empty() || cpus.trim() == of_root.trim();
    Ok(if is_unfinished { UNFINISHED.to_owned() } else { cpus })
}

/// Makes it with these CPUs, or removes it where there are none.
pub(super) fn write(root: &HostRoot, group: &str, cpus: &str) -> io::Result<()> {
    if cpus.trim().is_empty() {
        return remove(root, group);
    }
    fs::create_dir(root.path(group))?;
    let filled = fill(root, group, cpus);
    if filled.is_err() {
        let _ = remove(root, group);
    }
    filled
}

fn fill(root: &HostRoot, group: &str, cpus: &str) -> io::Result<()> {
    // No thread is taken before there is memory.
    let memory = root.text(&format!("{}/cpuset.mems", above(group)))?;
    put(root, &format!("{group}/cpuset.mems"), memory.trim())?;
    put(root, &format!("{group}/cpuset.cpus"), cpus)?;
    let mut asked = BTreeSet::new();
    for _ in 0..MAX_PASSES {
        let mut are_new = false;
        for thread in root_threads(root, above(group)) {
            if asked.insert(thread.id) {
                are_new = true;
                move_thread(root, group, thread.id)?;
            }
        }
        if !are_new {
            break;
        }
    }
    Ok(())
}

/// Moves every thread back, and removes it.
fn remove(root: &HostRoot, group: &str) -> io::Result<()> {
    let mut last = io::Error::from(ErrorKind::ResourceBusy);
    for _ in 0..MAX_PASSES {
        for id in threads(root, group) {
            move_thread(root, above(group), id)?;
        }
        match remove_folder(root, group) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy => last = error,
            done => return done,
        }
        std::thread::sleep(PAUSE);
    }
    Err(last)
}

fn remove_folder(root: &HostRoot, group: &str) -> io::Result<()> {
    let path = root.path(group);
    // A kernel's files go with their folder.
    if root.is_system() { fs::remove_dir(path) } else { fs::remove_dir_all(path) }
}

fn threads(root: &HostRoot, group: &str) -> Vec<u32> {
    let text = root.text(&format!("{group}/tasks")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Moves a thread into a group, unless it has ended, or may not be moved: the kernel keeps some of
/// its own, and those with a deadline.
fn move_thread(root: &HostRoot, group: &str, id: u32) -> io::Result<()> {
    // Of plain files the root keeps its list, so that what is cut off can be begun again.
    if !root.is_system() && threads(root, group).contains(&id) {
        return Ok(());
    }
    match put(root, &format!("{group}/tasks"), &format!("{id}\n")) {
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::SRCH | Errno::INVAL | Errno::BUSY)
            ) =>
        {
            Ok(())
        }
        done => done,
    }
}

/// Writes at once, as the kernel takes it. Where files stand for a kernel, they are made, and a
/// list gets longer.
fn put(root: &HostRoot, file: &str, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(!root.is_system())
        .append(!root.is_system() && file.ends_with("/tasks"));
    write_at_once(options.open(root.path(file))?, text)
}

/// In one write, as the kernel takes a setting.
pub(super) fn write_at_once(mut file: File, text: &str) -> io::Result<()> {
    match file.write(text.as_bytes())? {
        written if written == text.len() => Ok(()),
        _ => Err(io::Error::new(ErrorKind::WriteZero, "only a part of it was taken")),
    }
}

#[cfg(test)]
#[path = "own_group_tests.rs"]
mod tests;
