// SPDX-License-Identifier: MIT OR Apache-2.0
//! EVL, the co-kernel of Xenomai 4: how it is found, and its calls for a measuring thread.

use super::sys::{self, Convention, CoreInfo};
use super::{Absence, Core, Files, Stage, Switches, policy_and_priority};
use plan::Scheduling;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;

const NAME: &str = "EVL";

/// The oldest ABI revision with the requests that are made here, and the newest whose calls are
/// known.
const OLDEST: u32 = 23;
const NEWEST: u32 = 36;
/// How revisions are written in errors.
const KNOWN: &str = "23 and later, as long as the core still serves 36";
/// From these revisions on calls go through prctl, and by an option of their own.
const BY_PRCTL: u32 = 32;
const BY_OPTION: u32 = 36;

pub(super) const CONTROL: &str = "/dev/evl/control";
const FACTORY: &str = "/dev/evl/thread/clone";
const CLOCK: &str = "/dev/evl/clock/monotonic";
const STATE: &str = "sys/class/evl/control/state";
const GRAVITY: &str = "sys/devices/virtual/clock/monotonic/gravity";

/// How a core of this revision is called, which still serves programs of `base`.
fn convention_of(CoreInfo { base, current, .. }: CoreInfo) -> Option<Convention> {
    match current {
        _ if base > NEWEST => None,
        OLDEST..BY_PRCTL => Some(Convention::SystemCall),
        BY_PRCTL..BY_OPTION => Some(Convention::PrctlNumber),
        BY_OPTION.. => Some(Convention::PrctlOption),
        _ => None,
    }
}

/// The running EVL. Without one this is one system call that fails.
pub(crate) fn find() -> Result<Core, Absence> {
    found(ask, &Files::system()).map(|(core, _)| core)
}

/// How the running EVL is called.
pub(crate) fn convention() -> Result<Convention, Absence> {
    found(ask, &Files::system()).map(|(_, convention)| convention)
}

fn ask() -> io::Result<CoreInfo> {
    sys::evl_core_info(&open(CONTROL)?)
}

fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

fn found(
    ask: impl FnOnce() -> io::Result<CoreInfo>,
    files: &Files,
) -> Result<(Core, Convention), Absence> {
    let unknown = |revision| Absence::UnknownRevision { core: NAME, revision, known: KNOWN };
    let info = ask().map_err(|error| absence(&error, files))?;
    let convention = convention_of(info).ok_or_else(|| unknown(info.current))?;
    if files.line(STATE).is_some_and(|state| state != "running") {
        return Err(Absence::Stopped {
            core: NAME,
            start: "start it by 'evl start', or boot without 'evl.state=stopped'",
        });
    }
    // It has no version beside that of its ABI.
    Ok((
        Core { name: NAME, version: None, abi: info.current, gravity: files.line(GRAVITY) },
        convention,
    ))
}

/// What the refusal of its control device means.
fn absence(error: &io::Error, files: &Files) -> Absence {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENOTDIR)
            if files.line(STATE).is_some_and(|state| state != "disabled") =>
        {
            Absence::NotPermitted {
                core: NAME,
                how: "there is no /dev/evl here, in a container for example: give it these devices",
            }
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENOTDIR) => Absence::NoCore {
            core: NAME,
            kernel: "boot a kernel with Xenomai 4 (CONFIG_EVL=y on Dovetail)",
        },
        Some(libc::EACCES | libc::EPERM) => Absence::NotPermitted {
            core: NAME,
            how: "be root, or have root give you the files in /dev/evl",
        },
        Some(libc::ENXIO) => {
            Absence::Stopped { core: NAME, start: "boot without 'evl.state=disabled'" }
        }
        // It does not know a description of itself of this size.
        Some(libc::ENOTTY) => Absence::UnknownDescription { core: NAME, known: KNOWN },
        _ => Absence::Refused { core: NAME, error: error.to_string() },
    }
}

/// The calling thread on EVL's stage.
#[derive(Debug)]
pub(crate) struct Evl {
    convention: Convention,
    clock: File,
    /// Of the thread, once it is attached.
    thread: Option<File>,
}

impl Evl {
    pub(crate) fn new(convention: Convention) -> io::Result<Evl> {
        let clock = open(CLOCK).map_err(|error| system::named(CLOCK, error))?;
        Ok(Evl { convention, clock, thread: None })
    }

    fn thread(&self) -> io::Result<&File> {
        self.thread.as_ref().ok_or_else(|| Errno::PERM.into())
    }
}

impl Stage for Evl {
    fn attach(&mut self, scheduling: Scheduling) -> io::Result<()> {
        let thread = &*self.thread.insert(sys::evl_attach(&open(FACTORY)?)?);
        let (policy, priority) = policy_and_priority(scheduling);
        sys::evl_set_scheduling(self.convention, thread, policy, priority)
    }

    fn enter(&mut self) -> io::Result<()> {
        sys::evl_switch_out_of_band(self.convention, self.thread()?)
    }

    fn leave(&mut self) {}

    #[inline]
    fn now(&mut self) -> io::Result<i64> {
        sys::evl_now(self.convention, &self.clock)
    }

    #[inline]
    fn sleep_until(&mut self, time: i64) -> io::Result<()> {
        sys::evl_sleep_until(self.convention, &self.clock, time)
    }

    fn switches(&mut self) -> io::Result<Switches> {
        // Its notices leave out what signals did.
        Ok(Switches {
            counted: sys::evl_in_band_switches(self.convention, self.thread()?)?,
            noticed: None,
        })
    }

    fn detach(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = sys::evl_detach(&thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(base: u32, current: u32) -> CoreInfo {
        CoreInfo::of(base, current)
    }

    #[test]
    fn the_reported_revision_chooses_how_the_core_is_called() {
        for (base, current, expected) in [
            (19, 22, None),
            (23, 23, Some(Convention::SystemCall)),
            (23, 26, Some(Convention::SystemCall)),
            (26, 31, Some(Convention::SystemCall)),
            (32, 32, Some(Convention::PrctlNumber)),
            (32, 35, Some(Convention::PrctlNumber)),
            (36, 36, Some(Convention::PrctlOption)),
            (36, 41, Some(Convention::PrctlOption)),
            (37, 41, None),
        ] {
            assert_eq!(convention_of(info(base, current)), expected, "{base} {current}");
        }
    }

    #[test]
    fn refusals_name_why_and_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::below(root.path());
        let said = |errno: i32| {
            found(|| Err(io::Error::from_raw_os_error(errno)), &files).unwrap_err().to_string()
        };
        for (errno, part) in [
            (libc::ENOENT, "there is no EVL in the running kernel: boot a kernel with Xenomai 4"),
            (libc::EACCES, "EVL does not permit it: be root"),
            (libc::ENXIO, "EVL is stopped: "),
            (libc::ENOTTY, "the running EVL describes itself in an unknown way"),
            (libc::EIO, "EVL refuses this program: "),
        ] {
            assert!(said(errno).contains(part), "{errno}: {}", said(errno));
        }
        let found = |info| found(|| Ok(info), &files);
        let unknown = found(info(40, 44)).unwrap_err().to_string();
        assert!(
            unknown.starts_with("the running EVL has ABI revision 44, which is unknown"),
            "{unknown}"
        );
        std::fs::create_dir_all(root.path().join("sys/class/evl/control")).unwrap();
        std::fs::write(root.path().join(STATE), "stopped\n").unwrap();
        let stopped = found(info(23, 26)).unwrap_err().to_string();
        assert!(stopped.starts_with("EVL is stopped: start it by 'evl start'"), "{stopped}");
        std::fs::write(root.path().join(STATE), "running\n").unwrap();
        assert_eq!(found(info(23, 26)).unwrap().0.abi, 26);
    }
}
