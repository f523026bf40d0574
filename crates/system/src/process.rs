// SPDX-License-Identifier: MIT OR Apache-2.0
//! Processes and threads as /proc shows them.

use std::fs;
use std::path::Path;
use std::str::FromStr;

/// The flag of a kernel thread in `flags` (include/linux/sched.h has had it at this place since
/// 2.6.28).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A line of /proc/PID/stat or /proc/PID/task/TID/stat: see proc_pid_stat(5).
#[derive(Clone, Debug)]
pub struct Stat<'a> {
    number: &'a str,
    /// It may hold anything, spaces and parentheses among it.
    pub name: &'a str,
    /// From the state on, which is the third field.
    fields: &'a str,
}

impl<'a> Stat<'a> {
    pub fn parse(line: &'a str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let (number, name) = head.split_once('(')?;
        Some(Stat { number: number.trim(), name, fields: rest })
    }

    /// A field by its number in the manual, which counts from 1.
    pub fn field<T: FromStr>(&self, number: usize) -> Option<T> {
        let text = match number {
            1 => self.number,
            number => self.fields.split_ascii_whitespace().nth(number.checked_sub(3)?)?,
        };
        text.parse().ok()
    }

    /// The process that started it.
    pub fn parent(&self) -> Option<u32> {
        self.field(4)
    }

    /// Ended, and perhaps not yet waited for.
    pub fn has_ended(&self) -> bool {
        self.fields.trim_start().starts_with(['Z', 'X'])
    }

    pub fn is_kernel_thread(&self) -> Option<bool> {
        Some(self.field::<u64>(9)? & KERNEL_THREAD != 0)
    }

    /// Its own CPU time, user and system, in ticks.
    pub fn own_ticks(&self) -> Option<u64> {
        Some(self.field::<u64>(14)?.saturating_add(self.field(15)?))
    }

    /// CPU time of the children that it has waited for, in ticks.
    pub fn waited_for_ticks(&self) -> Option<u64> {
        Some(self.field::<u64>(16)?.saturating_add(self.field(17)?))
    }

    /// When it began, in ticks since boot: its number may be another one's later.
    pub fn started(&self) -> Option<u64> {
        self.field(22)
    }
}

/// When a process began, in ticks since boot; none where none of this number lives.
pub fn started(proc: &Path, process: u32) -> Option<u64> {
    let line = fs::read_to_string(proc.join(process.to_string()).join("stat")).ok()?;
    Stat::parse(&line).filter(|stat| !stat.has_ended())?.started()
}

/// The numbers of all processes that can be seen.
pub fn numbers<T: FromStr>(proc: &Path) -> impl Iterator<Item = T> {
    let entries = fs::read_dir(proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = "42 (a ) (b) S 7 42 42 0 -1 2129984 1 2 3 4 10 20 30 40 20 0 1 0 5";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.name, stat.field(1), stat.parent()), ("a ) (b", Some(42), Some(7)));
        assert_eq!((stat.own_ticks(), stat.waited_for_ticks()), (Some(30), Some(70)));
        assert_eq!((stat.is_kernel_thread(), stat.started()), (Some(true), Some(5)));
        assert!(!stat.has_ended());
        assert_eq!((stat.field::<u64>(2), stat.field::<u64>(23)), (None, None));
        assert!(Stat::parse("42 (a) Z 7").is_some_and(|stat| stat.has_ended()));
        assert!(Stat::parse("").is_none());
    }

    #[test]
    fn this_process_lives() {
        let (proc, own) = (Path::new("/proc"), std::process::id());
        assert!(started(proc, own).is_some() && numbers(proc).any(|number: u32| number == own));
        assert_eq!(started(proc, 0), None);
    }
}
