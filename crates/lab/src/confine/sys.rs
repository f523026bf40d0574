// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that have no safe interface elsewhere: Landlock's, seccomp's, those that leave a
//! namespace, and one that closes files.

use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The kernel's `struct landlock_ruleset_attr` (include/uapi/linux/landlock.h). A kernel takes as
/// much of it as it knows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ruleset {
    pub files: u64,
    pub network: u64,
    pub scoped: u64,
}

/// The kernel's `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

fn result(value: libc::c_long) -> io::Result<i32> {
    if value < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(i32::try_from(value).unwrap_or(i32::MAX))
    }
}

/// Which version of Landlock this kernel has.
pub(super) fn landlock_version() -> io::Result<i32> {
    const VERSION: libc::c_long = 1;
    // SAFETY: with this flag the kernel reads no ruleset: the pointer has to be null, and the
    // length 0.
    result(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0_usize,
            VERSION,
        )
    })
}

/// A ruleset that denies all of this; the kernel takes its first `length` bytes.
pub(super) fn landlock_ruleset(ruleset: &Ruleset, length: usize) -> io::Result<OwnedFd> {
    let length = length.min(size_of::<Ruleset>());
    let none: libc::c_long = 0;
    // SAFETY: the pointer is to a live structure of the form that the kernel reads, and the length
    // is not beyond its end.
    let made = result(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::from_ref(ruleset), length, none)
    })?;
    // SAFETY: the call has just returned this descriptor, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// Allows this with a file, or with all beneath a folder.
pub(super) fn landlock_allow(ruleset: BorrowedFd<'_>, path: &File, allowed: u64) -> io::Result<()> {
    const PATH_BENEATH: libc::c_long = 1;
    let rule = PathBeneath { allowed, parent: path.as_raw_fd() };
    let none: libc::c_long = 0;
    let ruleset = libc::c_long::from(ruleset.as_raw_fd());
    // SAFETY: the pointer is to a live structure of the form that belongs to this kind of rule, and
    // both descriptors are open.
    let added = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset,
            PATH_BENEATH,
            std::ptr::from_ref(&rule),
            none,
        )
    };
    result(added).map(drop)
}

/// Restricts this thread, and what it becomes, to a ruleset.
pub(super) fn landlock_restrict(ruleset: BorrowedFd<'_>) -> io::Result<()> {
    let none: libc::c_long = 0;
    // SAFETY: the call takes a descriptor, which is open, and no memory.
    result(unsafe {
        libc::syscall(
            libc::SYS_landlock_restrict_self,
            libc::c_long::from(ruleset.as_raw_fd()),
            none,
        )
    })
    .map(drop)
}

/// Has the kernel run this program before each system call of this thread, and of what it becomes.
pub(super) fn filter_calls(program: &[libc::sock_filter]) -> io::Result<()> {
    let length = libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let (filter, none) = (libc::c_ulong::from(libc::SECCOMP_SET_MODE_FILTER), 0 as libc::c_ulong);
    // SAFETY: the pointer is to a live structure of the form that the kernel reads; that one points
    // to as many live steps as it says, which the kernel copies and does not change.
    result(unsafe { libc::syscall(libc::SYS_seccomp, filter, none, std::ptr::from_ref(&program)) })
        .map(drop)
}

/// Leaves these namespaces for new ones.
pub(super) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    if namespaces.contains(UnshareFlags::FILES) {
        return Err(io::Error::other("descriptors stay shared"));
    }
    // SAFETY: only a table of descriptors that threads no longer share could surprise them, and
    // that flag was refused above.
    Ok(unsafe { unshare_unsafe(namespaces) }?)
}

/// Has every descriptor but the first three closed when another program is started. Kernels before
/// 5.11 do not know that: there those that this program was started with stay open.
pub(super) fn close_all_on_exec() {
    const CLOSE_ON_EXEC: libc::c_uint = 4;
    // SAFETY: the call takes numbers and no memory. Nothing is closed now, so that no descriptor
    // that somebody owns becomes invalid.
    let _ = unsafe {
        libc::syscall(libc::SYS_close_range, 3 as libc::c_uint, libc::c_uint::MAX, CLOSE_ON_EXEC)
    };
}

/// Has a file that grows beyond its limit end the process, even where this program was started to
/// ignore that.
pub(super) fn end_at_file_limit() {
    // SAFETY: the default action needs no handler, and this process has no other thread whose
    // expectations it could change.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
}
