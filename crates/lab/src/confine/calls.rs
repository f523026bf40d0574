// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that reach what belongs to the same user elsewhere, and that neither Landlock nor
//! QEMU's `-sandbox` denies: seccomp.

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, c_long, sock_filter,
};
use std::io;

/// Denied with EPERM, whatever their arguments.
const DENIED: &[c_long] = &[
    // Programs that listen, as D-Bus. What is opened already stays.
    libc::SYS_socket,
    // It makes sockets as well, and changes files.
    IO_URING_SETUP,
    // Modes, owners, times and attributes of files.
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // Memory, semaphores and messages of others.
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other processes.
    libc::SYS_ioprio_set,
    libc::SYS_sched_setattr,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    PIDFD_OPEN,
];
/// Of processors that have them beside the newer ones.
#[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
const OLDER: &[c_long] =
    &[libc::SYS_chmod, libc::SYS_chown, libc::SYS_lchown, libc::SYS_utimes, libc::SYS_futimesat];
#[cfg(not(any(target_arch = "x86_64", target_arch = "arm")))]
const OLDER: &[c_long] = &[];
#[cfg(target_arch = "x86_64")]
const OWN: &[c_long] = &[libc::SYS_utime];
#[cfg(target_arch = "arm")]
const OWN: &[c_long] = &[
    libc::SYS_chown32,
    libc::SYS_lchown32,
    libc::SYS_fchown32,
    UTIMENSAT_TIME64,
    SEMTIMEDOP_TIME64,
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "arm")))]
const OWN: &[c_long] = &[];

// The same for every processor.
#[cfg(target_arch = "arm")]
const UTIMENSAT_TIME64: c_long = 412;
#[cfg(target_arch = "arm")]
const SEMTIMEDOP_TIME64: c_long = 420;
const IO_URING_SETUP: c_long = 425;
const PIDFD_OPEN: c_long = 434;
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;

/// How the kernel names this processor (include/uapi/linux/audit.h).
const PROCESSOR: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "arm") {
    Some(0x4000_0028)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

// Places in what a filter sees (`struct seccomp_data`); of an argument the half that a process id
// is in.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENT: u32 = 16;
/// From here on numbers are of x86_64's other set of calls.
const OTHER_SET: u32 = 0x4000_0000;

const fn step(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    #[expect(clippy::cast_possible_truncation, reason = "codes have 16 bits")]
    sock_filter { code: code as u16, jt, jf, k }
}

const fn load(place: u32) -> sock_filter {
    step(BPF_LD | BPF_W | BPF_ABS, place, 0, 0)
}

const fn end(value: u32) -> sock_filter {
    step(BPF_RET | BPF_K, value, 0, 0)
}

/// Skips so many steps where the number is this one, or else so many.
const fn equal(value: u32, then: u8, otherwise: u8) -> sock_filter {
    step(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
}

/// The program that the kernel runs before each call.
fn program(processor: u32) -> Vec<sock_filter> {
    let deny = end(SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned());
    let allow = end(SECCOMP_RET_ALLOW);
    let number = |call: c_long| u32::try_from(call).unwrap_or(u32::MAX);
    let mut steps = vec![load(ARCHITECTURE), equal(processor, 1, 0), deny, load(NUMBER)];
    steps.extend([step(BPF_JMP | BPF_JGE | BPF_K, OTHER_SET, 0, 1), deny]);
    // Limits of this process alone.
    steps.extend([
        equal(number(libc::SYS_prlimit64), 0, 4),
        load(ARGUMENT),
        equal(0, 0, 1),
        allow,
        deny,
    ]);
    steps.extend(
        [DENIED, OLDER, OWN]
            .concat()
            .into_iter()
            .flat_map(|call| [equal(number(call), 0, 1), deny]),
    );
    steps.push(allow);
    steps
}

/// Denies them to this thread and what it becomes; nothing where the kernel has no filters. No new
/// privileges have to be given up before.
pub(super) fn deny() -> io::Result<()> {
    let Some(processor) = PROCESSOR else { return Ok(()) };
    match super::sys::filter_calls(&program(processor)) {
        Err(error) if [Some(libc::ENOSYS), Some(libc::EINVAL)].contains(&error.raw_os_error()) => {
            Ok(())
        }
        filtered => filtered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Resource, getrlimit, prlimit};
    use std::fs::{self, Permissions};
    use std::net::UdpSocket;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::{UnixListener, UnixStream};

    /// On a thread of its own: what it gave up does not come back.
    #[test]
    fn a_thread_reaches_nothing_of_others() {
        let place = tempfile::tempdir().unwrap();
        let (file, socket) = (place.path().join("file"), place.path().join("socket"));
        fs::write(&file, "x").unwrap();
        let _listens = UnixListener::bind(&socket).unwrap();
        let parent = rustix::process::getppid().unwrap();
        let tries = move || {
            let of = |pid: Option<Pid>| {
                prlimit(pid, Resource::Nofile, getrlimit(Resource::Nofile)).is_ok()
            };
            [
                of(None),
                fs::read(&file).is_ok(),
                UnixStream::connect(&socket).is_ok(),
                UdpSocket::bind("127.0.0.1:0").is_ok(),
                fs::set_permissions(&file, Permissions::from_mode(0o600)).is_ok(),
                fs::File::open(&file)
                    .unwrap()
                    .set_modified(std::time::SystemTime::UNIX_EPOCH)
                    .is_ok(),
                std::os::unix::fs::chown(&file, None, None).is_ok(),
                of(Some(parent)),
            ]
        };
        assert_eq!(tries.clone()(), [true; 8]);
        let denied = std::thread::spawn(move || {
            rustix::thread::set_no_new_privs(true).unwrap();
            deny().unwrap();
            tries()
        });
        assert_eq!(denied.join().unwrap(), [true, true, false, false, false, false, false, false]);
    }
}
