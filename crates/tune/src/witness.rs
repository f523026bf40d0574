// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tells that a journal is of this boot: the id that the kernel chose, and where something
//! else stands in its place, as in a container, the time of the boot too.
//!
//! A wrong answer costs what was there before. So there are three: of this boot, of another one,
//! and not known.

use super::setting::Form;
use host::HostRoot;
use host::regular_file;
use rustix::fs::{PROC_SUPER_MAGIC, fstatfs};
use serde::{Deserialize, Serialize};
use std::io::Read as _;

/// The kernel chooses it anew at each boot.
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
const STAT: &str = "proc/stat";
/// How far the time of a boot moves when the clock is set right.
const CLOCK_SET_S: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    pub(super) id: String,
    /// When it was, in seconds since 1970, as far as it is known.
    pub(super) time: Option<u64>,
    /// Whether the kernel itself says its id. Containers mount a file of theirs there.
    is_kernels: bool,
}

impl Boot {
    /// The one that the machine is in now.
    ///
    /// # Errors
    /// When its id cannot be read, as where /proc has only processes.
    pub(super) fn now(root: &HostRoot) -> Result<Boot, String> {
        let time = root.text(STAT).ok().and_then(|text| time_of(&text));
        let mut id = String::new();
        let opened = regular_file::opened(&root.path(BOOT_ID))
            .and_then(|mut file| file.read_to_string(&mut id).map(|_| file));
        if !root.is_system() {
            // Files that stand for a machine may not have it: it never boots.
            return Ok(Boot { id: id.trim().to_owned(), time, is_kernels: true });
        }
        let file = opened.map_err(|error| format!("cannot read /{BOOT_ID}: {error}"))?;
        let is_kernels = fstatfs(&file).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
        match id.trim() {
            "" => Err(format!("/{BOOT_ID} is empty")),
            id => Ok(Boot { id: id.to_owned(), time, is_kernels }),
        }
    }

    /// Whether it is the one with this id, which was at this time.
    ///
    /// # Errors
    /// When that is not known.
    pub(super) fn is(&self, id: &str, time: Option<u64>) -> Result<bool, String> {
        if self.id == id {
            return Ok(true);
        }
        let is_another_time =
            self.time.zip(time).is_some_and(|(now, then)| now.abs_diff(then) > CLOCK_SET_S);
        if self.is_kernels || is_another_time {
            return Ok(false);
        }
        Err(format!("/{BOOT_ID} is not the kernel's own, as in a container"))
    }
}

/// The time of the boot in the kernel's statistics.
fn time_of(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())
}

/// What decides which threads and which groups a name is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Namespaces {
    pid: String,
    cgroup: String,
}

impl Namespaces {
    /// Those of this process. None on files that stand for a machine.
    pub(super) fn own(root: &HostRoot) -> Option<Namespaces> {
        let named = |name: &str| {
            let path = std::fs::read_link(format!("/proc/self/ns/{name}")).ok()?;
            Some(path.to_str()?.to_owned())
        };
        if root.is_system() {
            Some(Namespaces { pid: named("pid")?, cgroup: named("cgroup")? })
        } else {
            None
        }
    }

    /// Whether a setting that was changed there has another name from here, or none.
    pub(super) fn hide(then: Option<&Namespaces>, root: &HostRoot, file: &str, form: Form) -> bool {
        let Some((then, own)) = then.zip(Namespaces::own(root)) else { return false };
        match form {
            Form::Priority { .. } => then.pid != own.pid,
            _ => file.starts_with("sys/fs/cgroup/") && then.cgroup != own.cgroup,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_id_is_another_boot_only_if_the_kernel_says_so_or_the_time_does() {
        let now = |is_kernels, time| Boot { id: "now".to_owned(), time, is_kernels };
        for (boot, id, then, expected) in [
            (now(true, Some(100)), "now", Some(100), Some(true)),
            (now(false, None), "now", None, Some(true)),
            // The clock was set meanwhile.
            (now(true, Some(1_700_000_000)), "now", Some(100), Some(true)),
            // A machine without a clock of its own boots at the same time again.
            (now(true, Some(100)), "then", Some(100), Some(false)),
            (now(true, None), "then", None, Some(false)),
            (now(false, Some(1000)), "then", Some(100), Some(false)),
            (now(false, Some(101)), "then", Some(100), None),
            (now(false, None), "then", Some(100), None),
            (now(false, Some(100)), "then", None, None),
        ] {
            assert_eq!(boot.is(id, then).ok(), expected, "{boot:?} {id} {then:?}");
        }
    }

    #[test]
    fn this_machine_says_both_itself() {
        let now = Boot::now(&HostRoot::system()).unwrap();
        assert!(now.id.len() == 36 && now.time.is_some_and(|time| time > 0), "{now:?}");
        assert_eq!(time_of("cpu 1 2\nbtime 1700000000\nprocesses 3\n"), Some(1_700_000_000));
        assert_eq!(time_of("cpu 1 2\n"), None);
    }
}
