// SPDX-License-Identifier: MIT OR Apache-2.0
//! What threads and processes have used, as the kernel counts.

use crate::sys;
use rustix::thread::Pid;
use std::io;

/// CPUCLOCK_SCHED and CPUCLOCK_PERTHREAD_MASK (include/linux/posix-timers_types.h) in the kernel's
/// number of the clock of a process or a thread.
const OF_A_PROCESS: libc::clockid_t = 2;
const OF_A_THREAD: libc::clockid_t = 4 | OF_A_PROCESS;

/// Page faults and context switches of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Page faults served without the disk.
    pub minor_faults: u64,
    /// Page faults that waited for the disk.
    pub major_faults: u64,
    /// Times it went to sleep.
    pub voluntary_switches: u64,
    /// Times it was taken off its CPU.
    pub involuntary_switches: u64,
}

impl ThreadUsage {
    /// What came on top since an earlier one.
    pub const fn since(self, before: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(before.involuntary_switches),
        }
    }
}

/// Page faults and context switches of the calling thread since it began.
///
/// # Errors
/// Before Linux 2.6.26.
pub fn thread_usage() -> io::Result<ThreadUsage> {
    let usage = sys::usage(libc::RUSAGE_THREAD)?;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Ok(ThreadUsage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

/// CPU time of the children of this process that were waited for, user and system, ns.
pub fn children_cpu_time_ns() -> u64 {
    #[allow(clippy::useless_conversion, reason = "the fields have other widths on other targets")]
    let micros = |time: libc::timeval| i64::from(time.tv_sec) * 1_000_000 + i64::from(time.tv_usec);
    sys::usage(libc::RUSAGE_CHILDREN)
        .ok()
        .and_then(|usage| u64::try_from(micros(usage.ru_utime) + micros(usage.ru_stime)).ok())
        .map_or(0, |micros| micros * 1_000)
}

/// CPU time of a thread of this process, ns; none if it is gone.
pub fn thread_cpu_time_ns(thread: Pid) -> Option<u64> {
    cpu_time_ns(thread, OF_A_THREAD)
}

/// CPU time of a process, user and system, all its threads, ns; none if it is gone. Read from
/// outside, it costs the process nothing.
pub fn process_cpu_time_ns(process: Pid) -> Option<u64> {
    cpu_time_ns(process, OF_A_PROCESS)
}

fn cpu_time_ns(of: Pid, clock: libc::clockid_t) -> Option<u64> {
    u64::try_from(sys::time_ns((!of.as_raw_nonzero().get() << 3) | clock)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_time() {
        assert!(process_cpu_time_ns(rustix::process::getpid()).unwrap() > 0);
        // Above the highest number the kernel gives.
        assert_eq!(process_cpu_time_ns(Pid::from_raw(5_000_000).unwrap()), None);
    }
}
