// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose an instance or a journal is: a process, by number and start time, because numbers are used
//! again, and by the PID namespace in which it has that number.

use std::fs;
use std::path::Path;
use system::process::started;

/// What the names of our instances begin with.
const PREFIX: &str = "teiji-";

/// A process that has something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) pid: u32,
    /// In clock ticks since boot.
    started: u64,
    /// The inode of its PID namespace.
    namespace: u64,
}

impl Owner {
    /// This process; none if /proc does not tell.
    pub(crate) fn this_process(proc: &Path) -> Option<Self> {
        let pid = std::process::id();
        Some(Owner { pid, started: started(proc, pid)?, namespace: namespace(proc)? })
    }

    /// The name of its instance of this number.
    pub(crate) fn name(&self, number: u32) -> String {
        format!("{PREFIX}{}-{}-{}-{number}", self.pid, self.started, self.namespace)
    }

    /// Whose an instance of this name is; none if it is not one of ours.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let mut numbers = name.strip_prefix(PREFIX)?.split('-');
        let owner = Owner {
            pid: parsed(numbers.next()?)?,
            started: parsed(numbers.next()?)?,
            namespace: parsed(numbers.next()?)?,
        };
        let _number: u32 = parsed(numbers.next()?)?;
        numbers.next().is_none().then_some(owner)
    }

    /// Whether it has ended. Of a process in another PID namespace nobody can tell here, so it has
    /// not.
    pub(crate) fn has_ended(&self, proc: &Path) -> bool {
        namespace(proc) == Some(self.namespace) && started(proc, self.pid) != Some(self.started)
    }
}

/// Digits and nothing else.
fn parsed<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn namespace(proc: &Path) -> Option<u64> {
    let link = fs::read_link(proc.join("self/ns/pid")).ok()?;
    parsed(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_it_is() {
        let proc = Path::new("/proc");
        let owner = Owner::this_process(proc).unwrap();
        assert_eq!(Owner::of(&owner.name(3)), Some(owner.clone()));
        assert!(!owner.has_ended(proc));
        for other in [
            "teiji",
            "teiji-1-2-3",
            "teiji-1-2-3-4-5",
            "teiji-+1-2-3-4",
            "rtla_timerlat_top",
            "teiji-1-2-x-4",
        ] {
            assert_eq!(Owner::of(other), None, "{other}");
        }
    }

    /// The number of a process that ended may be another's by now.
    #[test]
    fn a_number_that_is_used_again_is_not_the_same_process() {
        let proc = Path::new("/proc");
        let owner = Owner::this_process(proc).unwrap();
        assert!(Owner { started: owner.started + 1, ..owner.clone() }.has_ended(proc));
        // One in another PID namespace cannot be judged from here.
        assert!(!Owner { started: owner.started + 1, namespace: 1, ..owner }.has_ended(proc));
    }
}
