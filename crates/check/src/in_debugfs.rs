// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel shows in debugfs alone, and why it is not seen there.

use super::finding::Seen;
use super::machine::{CheckOptions, Machine, Purpose};
use host::{HostRoot, regular_file};
use plan::{CpuList, Scheduling, quoted};
use rustix::io::Errno;
use rustix::process::geteuid;

const FOLDER: &str = "sys/kernel/debug";

/// The folder of what is asked for. It is there with all that the kernel has of it.
const OF_SCHEDULER: &str = "sys/kernel/debug/sched";

/// Why a file of debugfs was not read.
#[derive(Debug, PartialEq, Eq)]
enum Hidden {
    /// By a kernel that is locked down, in this way.
    LockedDown(String),
    /// To root too, or by a kernel that does not say that it is locked down.
    Refused(Errno),
    /// What is beside it could be seen, or all of it.
    NotThere,
    /// These are copies, without it.
    NotCopied,
    /// The kernel was built without, or booted with debugfs=off.
    NoDebugfs,
    NotMounted,
    NeedsRoot,
}

impl Hidden {
    fn of(machine: &Machine<'_>, file: &str) -> Hidden {
        if let Some(mode) = machine.lockdown() {
            return Hidden::LockedDown(mode);
        }
        let error = regular_file::read(&machine.root().path(file)).err();
        let error = error.and_then(|error| Errno::from_io_error(&error));
        if error == Some(Errno::NOENT) && machine.exists(OF_SCHEDULER) {
            return Hidden::NotThere;
        }
        if error != Some(Errno::PERM) && !machine.root().is_running() {
            return Hidden::NotCopied;
        }
        let text = |path: &str| machine.text(path).unwrap_or_default();
        let (kinds, mounts) = (text("proc/filesystems"), text("proc/self/mountinfo"));
        Hidden::by(error, geteuid().is_root(), &kinds, &mounts)
    }

    /// Of a machine that runs: what kinds of file systems its kernel has, and what is mounted.
    fn by(error: Option<Errno>, is_root: bool, kinds: &str, mounts: &str) -> Hidden {
        let is_folder = |line: &str| {
            line.contains(" - debugfs ")
                && line.split(' ').nth(4).is_some_and(|place| place.ends_with("/kernel/debug"))
        };
        match error {
            Some(error @ Errno::PERM) => Hidden::Refused(error),
            Some(error @ Errno::ACCESS) if is_root => Hidden::Refused(error),
            Some(Errno::ACCESS) => Hidden::NeedsRoot,
            _ if mounts.lines().any(is_folder) => Hidden::NotThere,
            _ if !kinds.is_empty() && !kinds.split_whitespace().any(|kind| kind == "debugfs") => {
                Hidden::NoDebugfs
            }
            _ => Hidden::NotMounted,
        }
    }

    /// The finding. What cannot be read at all may be seen otherwise.
    fn seen(self, what: &str, otherwise: Option<&str>, check: &str, folder: &str) -> Option<Seen> {
        let otherwise = otherwise.map(str::to_owned);
        let (why, action) = match self {
            Hidden::LockedDown(mode) => {
                (format!("which nobody can read: the kernel is locked down ({mode})"), otherwise)
            }
            Hidden::Refused(error) => {
                // As of the files that can be written to, where Secure Boot locks a kernel down.
                let likely = match error {
                    Errno::PERM => ", as one that is locked down does (Secure Boot)",
                    _ => "",
                };
                let error = std::io::Error::from(error);
                (format!("which the kernel refuses to show: {error}{likely}"), otherwise)
            }
            Hidden::NotThere => ("where this kernel does not show it".to_owned(), otherwise),
            Hidden::NotCopied => (
                "which is not among these files".to_owned(),
                Some("take them as root, with debugfs mounted".to_owned()),
            ),
            Hidden::NoDebugfs => ("which this kernel does not have".to_owned(), otherwise),
            Hidden::NotMounted => (
                "which is not mounted".to_owned(),
                Some(format!("sudo mount -t debugfs none {folder}; {check}")),
            ),
            Hidden::NeedsRoot => ("which only root can read".to_owned(), Some(check.to_owned())),
        };
        let found = format!("{what} is in debugfs, {why}");
        match action {
            Some(action) => Seen::unknown_until(found, action),
            None => Seen::unknown(found),
        }
    }
}

/// The finding that something, in a file of debugfs, could not be seen. `otherwise` says where else
/// it can be.
pub(crate) fn hidden(
    machine: &Machine<'_>,
    file: &str,
    what: &str,
    otherwise: Option<&str>,
) -> Option<Seen> {
    let folder = quoted(&machine.root().path(FOLDER).display().to_string());
    let check = as_root(machine.root(), machine.options);
    Hidden::of(machine, file).seen(what, otherwise, &check, &folder)
}

/// The command that looks at the same as root, and prints it in the same way.
pub fn as_root(root: &HostRoot, options: &CheckOptions) -> String {
    let mut command = "sudo teiji check".to_owned();
    if !root.is_system() {
        let root = root.path("").display().to_string();
        command += &format!(" --root {}", quoted(root.trim_end_matches('/')));
    }
    if options.purpose != Purpose::Measure {
        command += &format!(" --for {}", options.purpose.word());
    }
    if let Some(cpus) = &options.cpus {
        command += &format!(" -a {}", CpuList::format(cpus));
    }
    // Other ranks are of a run that is not under a real-time priority.
    if (1..=99).contains(&options.priority) && options.priority != Scheduling::DEFAULT.rank() {
        command += &format!(" -p {}", options.priority);
    }
    for flag in &options.output_flags {
        command += &format!(" {}", quoted(flag));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::CpuId;

    fn said(hidden: Hidden) -> (String, Option<String>) {
        let seen = hidden.seen("Its mode", Some("see dmesg"), "sudo teiji check", "/d").unwrap();
        (seen.found.to_string(), seen.action.map(|action| action.to_string()))
    }

    /// Root was told again and again to look as root.
    #[test]
    fn what_the_kernel_refuses_to_root_is_not_advised_to_root() {
        let otherwise = Some("see dmesg".to_owned());
        let refused = "Its mode is in debugfs, which the kernel refuses to show: Operation not \
                       permitted (os error 1), as one that is locked down does (Secure Boot)";
        assert_eq!(said(Hidden::Refused(Errno::PERM)), (refused.to_owned(), otherwise.clone()));
        let refused = "Its mode is in debugfs, which the kernel refuses to show: Permission denied \
                       (os error 13)";
        assert_eq!(said(Hidden::Refused(Errno::ACCESS)), (refused.to_owned(), otherwise.clone()));
        let locked = "Its mode is in debugfs, which nobody can read: the kernel is locked down \
                      (integrity)";
        let mode = "integrity".to_owned();
        assert_eq!(said(Hidden::LockedDown(mode)), (locked.to_owned(), otherwise));
    }

    #[test]
    fn what_can_be_done_is_advised() {
        let found = |why: &str| format!("Its mode is in debugfs, {why}");
        let otherwise = || Some("see dmesg".to_owned());
        let mount = "sudo mount -t debugfs none /d; sudo teiji check".to_owned();
        for (hidden, why, action) in [
            (Hidden::NeedsRoot, "which only root can read", Some("sudo teiji check".to_owned())),
            (Hidden::NotMounted, "which is not mounted", Some(mount)),
            (Hidden::NoDebugfs, "which this kernel does not have", otherwise()),
            (Hidden::NotThere, "where this kernel does not show it", otherwise()),
        ] {
            assert_eq!(said(hidden), (found(why), action));
        }
    }

    /// Root was told that only root can read what was not mounted, or not there.
    #[test]
    fn what_stands_in_the_way_is_found() {
        let has = "nodev\tsysfs\nnodev\tdebugfs\n\text4\n";
        let mounted = "30 25 0:7 / /sys/kernel/debug rw,nosuid shared:16 - debugfs debugfs rw\n";
        let elsewhere = "30 25 0:7 / /mnt rw,nosuid shared:16 - debugfs debugfs rw\n";
        let (none, denied, refused) = (Errno::NOENT, Errno::ACCESS, Errno::PERM);
        for is_root in [true, false] {
            for (error, kinds, mounts, hidden) in [
                (none, has, mounted, Hidden::NotThere),
                (none, has, elsewhere, Hidden::NotMounted),
                (none, has, "", Hidden::NotMounted),
                (none, "", "", Hidden::NotMounted),
                (none, "nodev\tsysfs\n\text4\n", "", Hidden::NoDebugfs),
                (refused, has, mounted, Hidden::Refused(refused)),
            ] {
                assert_eq!(Hidden::by(Some(error), is_root, kinds, mounts), hidden);
            }
        }
        let of_denied = |is_root| Hidden::by(Some(denied), is_root, has, mounted);
        assert_eq!(of_denied(false), Hidden::NeedsRoot);
        assert_eq!(of_denied(true), Hidden::Refused(denied));
    }

    /// It once looked at another machine, and for another use.
    #[test]
    fn the_command_for_root_looks_at_the_same() {
        let options = |purpose, cpus, priority| CheckOptions {
            purpose,
            cpus,
            priority,
            ..CheckOptions::default()
        };
        // Of ordinary threads, and of those under SCHED_DEADLINE, there is none to be asked for.
        for priority in [90, 0, u8::MAX] {
            let plain = options(Purpose::Measure, None, priority);
            assert_eq!(as_root(&HostRoot::system(), &plain), "sudo teiji check");
        }
        let telco = options(Purpose::Telco, Some(vec![CpuId(2), CpuId(3)]), 42);
        let root = HostRoot::at("/a board");
        let command = "sudo teiji check --root '/a board' --for telco -a 2-3 -p 42";
        assert_eq!(as_root(&root, &telco), command);
        let output_flags = ["--advise", "--watch", "1s", "--json"].map(str::to_owned).to_vec();
        let printed = CheckOptions { output_flags, ..telco };
        assert_eq!(as_root(&root, &printed), format!("{command} --advise --watch 1s --json"));
    }
}
