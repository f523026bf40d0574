// SPDX-License-Identifier: MIT OR Apache-2.0
//! A root directory that holds what a guest needs and nothing else, no network, and, as root, a
//! user that owns nothing else.
//!
//! Every file appears at its own path, so that the emulator's words stay as they are. Folders above
//! it are new ones, which everybody may pass: a cache in a home folder of mode 0700 is no obstacle.
//! A file that only its owner may read is copied.

use super::{Access, Confinement, DEVICES, KVM};
use rustix::fs::{CWD, FileType, Gid, Mode, StatVfsMountFlags, Uid, chown, mknodat, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive,
    mount_change, mount_remount, unmount,
};
use rustix::process::{geteuid, getpid, pivot_root, umask};
use rustix::thread::{UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{env, io};

/// The new root directory, in the guest's folder; empty outside of the namespace.
const ROOT: &str = "root";
/// Users that no account has and no system gives out, one for each process (systemd's table of ids
/// has this range as unused).
const FIRST_USER: u32 = 1_900_000_000;
/// Where the process ids of a user namespace do not reach that far.
const NOBODY: u32 = 65_534;

/// Returns whether the process is now of a user of its own. To be called in the guest's folder.
pub(super) fn enter(confinement: &Confinement) -> io::Result<bool> {
    if !geteuid().is_root() {
        enter_as_user(confinement)?;
        return Ok(false);
    }
    let namespaces = UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWIPC;
    match super::sys::unshare(namespaces) {
        Ok(()) => {}
        // As in a container: what follows without it would only find that its files cannot be
        // reached.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        Err(error) => return Err(named("namespaces", error)),
    }
    match keep_mounts_here() {
        Ok(()) => {}
        // After chroot, as the root directory is no mount: it cannot be exchanged.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
        Err(error) => return Err(not_rooted(error)),
    }
    let user =
        FIRST_USER.saturating_add(u32::try_from(getpid().as_raw_nonzero().get()).unwrap_or(0));
    let home = env::current_dir()?;
    let owner = [user, NOBODY].into_iter().find(|user| give(confinement, *user).is_ok());
    // Root of a user namespace that has no other user: nobody outside.
    let Some(owner) = owner else { return Ok(false) };
    fill_root(confinement, &home, Some(owner))
        .and_then(|root| become_root(&root, &home))
        .map_err(not_rooted)?;
    become_user(owner).map_err(|error| named("a user of its own", error))?;
    Ok(owner == user)
}

fn named(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

fn not_rooted(error: io::Error) -> io::Error {
    named("a root directory of its own", error)
}

/// Where the system lets everybody have a user namespace, a network without interfaces; where it
/// may be used, the root directory too.
fn enter_as_user(confinement: &Confinement) -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), rustix::process::getegid().as_raw());
    let least = UnshareFlags::NEWUSER | UnshareFlags::NEWNET;
    let all = least | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    let has_all = super::sys::unshare(all).is_ok();
    if !has_all && super::sys::unshare(least).is_err() {
        return Ok(());
    }
    let _ = fs::write("/proc/self/setgroups", "deny");
    let _ = fs::write("/proc/self/gid_map", format!("{group} {group} 1"));
    let _ = fs::write("/proc/self/uid_map", format!("{user} {user} 1"));
    if has_all {
        let home = env::current_dir()?;
        // Some systems give a namespace of which nothing may be used: then the old root directory
        // stays as it is.
        let root = keep_mounts_here().and_then(|()| fill_root(confinement, &home, None));
        if let Ok(root) = root {
            become_root(&root, &home).map_err(not_rooted)?;
        }
    }
    Ok(())
}

/// What is mounted from now on is mounted in this namespace alone.
fn keep_mounts_here() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?)
}

/// The files that it writes.
fn give(confinement: &Confinement, user: u32) -> io::Result<()> {
    let mut files = confinement.paths.iter().filter(|(access, _)| *access == Access::Write);
    files.try_for_each(|(_, path)| {
        Ok(chown(path, Some(Uid::from_raw(user)), Some(Gid::from_raw(user)))?)
    })
}

fn become_user(user: u32) -> io::Result<()> {
    let (group, user) = (Gid::from_raw(user), Uid::from_raw(user));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    Ok(set_thread_res_uid(user, user, user)?)
}

/// The new root directory, for another user if one is given.
fn fill_root(confinement: &Confinement, home: &Path, owner: Option<u32>) -> io::Result<PathBuf> {
    let root = home.join(ROOT);
    umask(Mode::WGRP | Mode::WOTH);
    fs::create_dir_all(&root)?;
    mount("teiji-lab", &root, "tmpfs", MountFlags::NOSUID, Some(c"mode=0755"))?;
    let (folders, files): (Vec<_>, Vec<_>) =
        confinement.paths.iter().partition(|(_, path)| path.is_dir());
    let put = |(access, path): &(Access, PathBuf)| {
        place(&root, *access, path, owner.is_some())
            .map_err(|error| named(&path.display().to_string(), error))
    };
    folders.into_iter().try_for_each(put)?;
    let new_home = inside(&root, home);
    let has_home = new_home.exists();
    if has_home {
        // In a folder that is there as a whole, as where QEMU's own folder has the one for
        // temporary files.
        mount(
            "teiji-lab",
            &new_home,
            "tmpfs",
            MountFlags::NOSUID | MountFlags::NODEV,
            Some(c"mode=0755"),
        )?;
    }
    fs::create_dir_all(&new_home)?;
    files.into_iter().try_for_each(put)?;
    fs::create_dir_all(root.join("dev"))?;
    for (path, _) in DEVICES {
        bind(Path::new(path), &inside(&root, Path::new(path)), MountFlags::empty())?;
    }
    match owner {
        Some(owner) if confinement.kvm => kvm_device(&inside(&root, Path::new(KVM)), owner)?,
        None if confinement.kvm => {
            bind(Path::new(KVM), &inside(&root, Path::new(KVM)), MountFlags::empty())?
        }
        _ => {}
    }
    if has_home {
        mount_remount(
            &new_home,
            MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV,
            "",
        )?;
    }
    Ok(root)
}

fn become_root(root: &Path, home: &Path) -> io::Result<()> {
    env::set_current_dir(root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    mount_remount(
        "/",
        MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | locked(Path::new("/"))?,
        "",
    )?;
    env::set_current_dir(home)
}

/// What a mount has already: a user namespace may take none of that away.
fn locked(mount: &Path) -> io::Result<MountFlags> {
    let has = statvfs(mount)?.f_flag;
    let flags = [
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ];
    Ok(flags.into_iter().filter(|(found, _)| has.contains(*found)).map(|(_, flag)| flag).collect())
}

/// The path of this one below the new root.
fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Puts a file or folder into the new root directory, for this user or for another one.
fn place(root: &Path, access: Access, path: &Path, for_another: bool) -> io::Result<()> {
    let target = inside(root, path);
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    // As /lib, which leads to another folder of the system.
    if found.is_symlink() && path.is_dir() {
        fs::create_dir_all(target.parent().unwrap_or(root))?;
        return symlink(fs::read_link(path)?, target);
    }
    let found = path.metadata()?;
    let can_be_read = !for_another || found.is_dir() || found.mode() & 0o004 != 0;
    if target.exists() && access != Access::Write && can_be_read {
        // In a folder that is there as a whole.
        return Ok(());
    }
    fs::create_dir_all(if found.is_dir() { &target } else { target.parent().unwrap_or(root) })?;
    let read_only = MountFlags::RDONLY | MountFlags::NODEV;
    match access {
        Access::Write => bind(path, &target, MountFlags::NODEV),
        _ if can_be_read => bind(path, &target, read_only),
        // For its owner only.
        _ => {
            let copy = root.join(format!("copy-{}-{}", found.dev(), found.ino()));
            fs::copy(path, &copy)?;
            fs::set_permissions(
                &copy,
                Permissions::from_mode(if access == Access::Run { 0o755 } else { 0o644 }),
            )?;
            bind(&copy, &target, read_only)
        }
    }
}

fn bind(from: &Path, to: &Path, flags: MountFlags) -> io::Result<()> {
    if from.is_dir() {
        mount_bind_recursive(from, to)?;
    } else {
        if !to.exists() {
            fs::write(to, "")?;
        }
        mount_bind(from, to)?;
    }
    Ok(mount_remount(to, MountFlags::BIND | MountFlags::NOSUID | flags | locked(to)?, "")?)
}

/// The device of KVM with another owner, whatever group may use the host's.
fn kvm_device(target: &Path, owner: u32) -> io::Result<()> {
    let device = Path::new(KVM).metadata()?.rdev();
    mknodat(CWD, target, FileType::CharacterDevice, Mode::RUSR | Mode::WUSR, device)?;
    Ok(chown(target, Some(Uid::from_raw(owner)), Some(Gid::from_raw(owner)))?)
}
