// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel shows in debugfs alone, and why it is not seen there.

use super::finding::Seen;
use super::machine::{CheckOptions, Machine, Purpose};
use host::{HostRoot, regular_file};
use plan::{CpuList, quoted};
use rustix::io::Errno;
use rustix::process::geteuid;

const FOLDER: &str = "sys/kernel/debug";

/// Why a file of debugfs was not read.
enum Hidden {
    /// By a kernel that is locked down, in this way.
    LockedDown(String),
    /// To root too, or by a kernel that does not say that it is locked down.
    Refused(Errno),
    /// These are copies, without it.
    NotCopied,
    /// Only root can look there, once it is mounted.
    NeedsRoot { is_mounted: bool },
}

impl Hidden {
    fn of(machine: &Machine<'_>, file: &str) -> Hidden {
        if let Some(mode) = machine.lockdown() {
            return Hidden::LockedDown(mode);
        }
        let error = regular_file::read(&machine.root().path(file)).err();
        let refused = error.and_then(|error| Errno::from_io_error(&error));
        let is_refused =
            |error: &Errno| *error == Errno::PERM || *error == Errno::ACCESS && geteuid().is_root();
        if let Some(error) = refused.filter(is_refused) {
            return Hidden::Refused(error);
        }
        if !machine.root().is_running() {
            return Hidden::NotCopied;
        }
        // Who may not look into it sees in the list of mounts that it is there.
        let mounts = machine.text("proc/self/mountinfo").unwrap_or_default();
        let is_mounted =
            machine.exists(&format!("{FOLDER}/sched")) || mounts.contains(" - debugfs ");
        Hidden::NeedsRoot { is_mounted }
    }

    /// The finding. What cannot be read at all may be seen otherwise.
    fn seen(self, what: &str, otherwise: Option<&str>, check: &str, folder: &str) -> Option<Seen> {
        let found = |why: &str| format!("{what} is in debugfs, which {why}");
        let (found, action) = match self {
            Hidden::LockedDown(mode) => (
                found(&format!("nobody can read: the kernel is locked down ({mode})")),
                otherwise.map(str::to_owned),
            ),
            Hidden::Refused(error) => {
                // As of the files that can be written to, where Secure Boot locks a kernel down.
                let likely = match error {
                    Errno::PERM => ", as one that is locked down does (Secure Boot)",
                    _ => "",
                };
                let error = std::io::Error::from(error);
                (
                    found(&format!("the kernel refuses to show: {error}{likely}")),
                    otherwise.map(str::to_owned),
                )
            }
            Hidden::NotCopied => (
                found("is not among these files"),
                Some("take them as root, with debugfs mounted".to_owned()),
            ),
            Hidden::NeedsRoot { is_mounted } => {
                let mount = format!("sudo mount -t debugfs none {folder}; ");
                let mount = if is_mounted { "" } else { &mount };
                (found("only root can read"), Some(format!("{mount}{check}")))
            }
        };
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

/// The command that looks at the same as root.
fn as_root(root: &HostRoot, options: &CheckOptions) -> String {
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
    fn what_root_can_read_is_advised() {
        let found = "Its mode is in debugfs, which only root can read".to_owned();
        let mounting = "sudo mount -t debugfs none /d; sudo teiji check";
        for (is_mounted, action) in [(false, mounting), (true, "sudo teiji check")] {
            let needs_root = Hidden::NeedsRoot { is_mounted };
            assert_eq!(said(needs_root), (found.clone(), Some(action.to_owned())));
        }
    }

    /// It once looked at another machine, and for another use.
    #[test]
    fn the_command_for_root_looks_at_the_same() {
        let options = |purpose, cpus| CheckOptions { purpose, cpus, priority: 90, config: None };
        let plain = options(Purpose::Measure, None);
        assert_eq!(as_root(&HostRoot::system(), &plain), "sudo teiji check");
        let telco = options(Purpose::Telco, Some(vec![CpuId(2), CpuId(3)]));
        let root = HostRoot::at("/a board");
        assert_eq!(as_root(&root, &telco), "sudo teiji check --root '/a board' --for telco -a 2-3");
    }
}
