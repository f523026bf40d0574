// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cobalt, the co-kernel of Xenomai 3: how it is found, and its calls for a measuring thread.

use super::sys::{self, BindRequest};
use super::{Absence, Core, Files, Stage, Switches, policy_and_priority};
use plan::Scheduling;
use rustix::io::Errno;
use std::io;

const NAME: &str = "Cobalt";

/// ABI revisions with the calls that are made here: of Xenomai 3.0 to 3.3. They are counted by
/// architecture.
const REVISIONS: &[u32] =
    if cfg!(target_arch = "aarch64") { &[1, 2, 20] } else { &[16, 17, 18, 19] };
/// That of Xenomai 3.3.
const SINCE_3_3: u32 = if cfg!(target_arch = "aarch64") { 20 } else { 19 };
/// How revisions are written in errors.
const KNOWN: &str = if cfg!(target_arch = "aarch64") {
    "1 (Xenomai 3.1), 2 (3.2) and 20 (3.3) on arm64"
} else {
    "16 (Xenomai 3.0), 17 (3.1), 18 (3.2) and 19 (3.3)"
};

pub(super) const VERSION: &str = "proc/xenomai/version";
/// The gravity for threads of users, ns. `proc/xenomai/clock/coreclk` has those of others too, and
/// is never read: it makes the kernel follow a null pointer where the core is stopped, or runs
/// without CPU 0.
const GRAVITY: &str = "proc/xenomai/latency";

/// The mode in which Cobalt notifies a thread that falls back to Linux (`PTHREAD_WARNSW`).
const WARN_OF_SWITCHES: u32 = 0x4000;

/// The running Cobalt, bound to this process. Without one this is one system call that fails.
pub(crate) fn find() -> Result<Core, Absence> {
    found(sys::bind, &Files::system())
}

/// Asks by the newest known revision, and then by that of the core, if it is known.
fn found(
    mut bind: impl FnMut(&mut BindRequest) -> io::Result<()>,
    files: &Files,
) -> Result<Core, Absence> {
    let newest = REVISIONS.iter().copied().max().unwrap_or(0);
    let mut request = BindRequest::by(newest);
    let mut answer = bind(&mut request);
    let mut revision = newest;
    if let Err(error) = &answer
        && error.raw_os_error() == Some(libc::ENOEXEC)
    {
        revision = request.core_revision;
        if !REVISIONS.contains(&revision) {
            return Err(Absence::UnknownRevision { core: NAME, revision, known: KNOWN });
        }
        request = BindRequest::by(revision);
        answer = bind(&mut request);
    }
    match answer {
        Ok(()) => {
            let gravity = files.line(GRAVITY).map(|ns| format!("user={ns}"));
            Ok(Core { name: NAME, version: files.line(VERSION), abi: revision, gravity })
        }
        Err(error) => Err(absence(&error, files)),
    }
}

/// What the refusal of a bind means. EPERM is also what other co-kernels and filters of system
/// calls answer.
fn absence(error: &io::Error, files: &Files) -> Absence {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => Absence::Stopped {
            core: NAME,
            start: "start it by 'corectl --start', or boot without 'xenomai.state=stopped'",
        },
        Some(libc::EPERM) if files.line(VERSION).is_some() => Absence::NotPermitted {
            core: NAME,
            how: "be root, or have root write a group of yours to \
                  /sys/module/xenomai/parameters/allowed_group",
        },
        Some(libc::ENOSYS | libc::EPERM) => Absence::NoCore {
            core: NAME,
            kernel: "boot a kernel with Xenomai 3 (CONFIG_XENOMAI=y on Dovetail or the I-pipe)",
        },
        _ => Absence::Refused { core: NAME, error: error.to_string() },
    }
}

/// The calling thread on Cobalt's stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cobalt;

impl Stage for Cobalt {
    fn attach(&mut self, scheduling: Scheduling) -> io::Result<()> {
        sys::count_notices()?;
        let (policy, priority) = policy_and_priority(scheduling);
        sys::cobalt_set_scheduling(policy, priority)
    }

    fn enter(&mut self) -> io::Result<()> {
        sys::cobalt_migrate()?;
        sys::cobalt_set_mode(0, WARN_OF_SWITCHES)
    }

    fn leave(&mut self) {
        let _ = sys::cobalt_set_mode(WARN_OF_SWITCHES, 0);
    }

    #[inline]
    fn now(&mut self) -> io::Result<i64> {
        sys::cobalt_now()
    }

    #[inline]
    fn sleep_until(&mut self, time: i64) -> io::Result<()> {
        sys::cobalt_sleep_until(time)
    }

    fn switches(&mut self) -> io::Result<Switches> {
        Ok(Switches { counted: Some(sys::cobalt_mode_switches()?), noticed: Some(sys::notices()) })
    }

    fn detach(&mut self) {
        let (policy, priority) = policy_and_priority(Scheduling::OTHER);
        let _ = sys::cobalt_set_scheduling(policy, priority);
    }
}

/// The calling thread on Cobalt's stage, which waits in the read of a timer file: as Cobalt's own
/// `latency` does, but that the timer is set anew for each time. One that runs by itself moves to
/// its next expiry where it is set too late, and after a debugger's stop, and counts neither.
#[derive(Debug)]
pub(crate) struct TimerFile {
    file: Option<i32>,
    /// Its core is that of Xenomai 3.3 or later.
    is_3_3: bool,
    /// It may have expired unread: the next read may return too early.
    is_suspect: bool,
}

impl TimerFile {
    pub(crate) fn new() -> Result<TimerFile, Absence> {
        Ok(TimerFile { file: None, is_3_3: find()?.abi >= SINCE_3_3, is_suspect: false })
    }
}

impl Stage for TimerFile {
    fn attach(&mut self, scheduling: Scheduling) -> io::Result<()> {
        self.file = Some(sys::cobalt_make_timer()?);
        Cobalt.attach(scheduling)
    }

    fn enter(&mut self) -> io::Result<()> {
        Cobalt.enter()
    }

    fn leave(&mut self) {
        Cobalt.leave();
    }

    #[inline]
    fn now(&mut self) -> io::Result<i64> {
        Cobalt.now()
    }

    fn sleep_until(&mut self, time: i64) -> io::Result<()> {
        let file = self.file.ok_or(Errno::BADF)?;
        match sys::cobalt_start_timer(self.is_3_3, file, time) {
            Ok(()) => {}
            // That time has come.
            Err(error) if error.raw_os_error() == Some(libc::ETIMEDOUT) => return Ok(()),
            Err(error) => return Err(error),
        }
        loop {
            if let Err(error) = sys::cobalt_await_timer(file) {
                self.is_suspect = true;
                return Err(error);
            }
            if !self.is_suspect || self.now()? >= time {
                self.is_suspect = false;
                return Ok(());
            }
        }
    }

    fn switches(&mut self) -> io::Result<Switches> {
        Cobalt.switches()
    }

    fn detach(&mut self) {
        if let Some(file) = self.file.take() {
            sys::cobalt_close(file);
        }
        Cobalt.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core of this revision that answers a bind of its own with this.
    fn core(
        revision: u32,
        answer: Result<(), i32>,
    ) -> impl FnMut(&mut BindRequest) -> io::Result<()> {
        move |request| {
            if answer.is_ok() && request.revision != revision {
                request.core_revision = revision;
                return Err(io::Error::from_raw_os_error(libc::ENOEXEC));
            }
            answer.map_err(io::Error::from_raw_os_error)
        }
    }

    fn files(xenomai: bool) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        if xenomai {
            std::fs::create_dir_all(root.path().join("proc/xenomai")).unwrap();
            std::fs::write(root.path().join(VERSION), "3.2.7\n").unwrap();
            std::fs::write(root.path().join(GRAVITY), "1500\n").unwrap();
        }
        let files = Files::below(root.path());
        (root, files)
    }

    #[test]
    fn each_known_revision_is_bound_by_its_own_number() {
        let (_root, files) = files(true);
        for abi in REVISIONS {
            let found = found(core(*abi, Ok(())), &files).unwrap();
            assert_eq!((found.name, found.abi), ("Cobalt", *abi));
            assert_eq!(found.version.as_deref(), Some("3.2.7"));
            assert_eq!(found.gravity.as_deref(), Some("user=1500"));
        }
    }

    #[test]
    fn refusals_name_why_and_what_to_do() {
        let said = |revision, answer, xenomai| {
            let (_root, files) = files(xenomai);
            found(core(revision, answer), &files).unwrap_err().to_string()
        };
        let unknown = said(99, Ok(()), true);
        assert!(
            unknown.starts_with(
                "the running Cobalt has ABI revision 99, which is unknown. Known are "
            ),
            "{unknown}"
        );
        for (errno, xenomai, part) in [
            (
                libc::ENOSYS,
                false,
                "there is no Cobalt in the running kernel: boot a kernel with Xenomai 3",
            ),
            (libc::EPERM, false, "there is no Cobalt in the running kernel"),
            (libc::EPERM, true, "/sys/module/xenomai/parameters/allowed_group"),
            (libc::EAGAIN, true, "Cobalt is stopped: start it"),
            (libc::ENOMEM, true, "Cobalt refuses this program: "),
        ] {
            let found = said(18, Err(errno), xenomai);
            assert!(found.contains(part), "{errno}: {found}");
        }
    }

    /// Without a co-kernel one call is made.
    #[test]
    fn no_core_costs_one_call() {
        let (_root, files) = files(false);
        let mut calls = 0;
        let bind = |_: &mut BindRequest| {
            calls += 1;
            Err(io::Error::from_raw_os_error(libc::ENOSYS))
        };
        assert!(found(bind, &files).is_err());
        assert_eq!(calls, 1);
    }
}
