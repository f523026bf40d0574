// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a thread, or the calling one, is scheduled, and on which CPUs.

use crate::sys::{self, Attributes};
use libc::c_ulong;
use plan::{CpuId, Nanos, Policy, Scheduling};
use rustix::process::{Resource, getrlimit};
use rustix::thread::Pid;
use std::io;
use std::ops::RangeInclusive;
use std::thread::Builder;

/// Bits of a word of a mask of CPUs.
const WORD: u32 = c_ulong::BITS;
/// Words of the first mask that is tried, 1,024 CPUs, and of the last one, far more than Linux can
/// have.
const WORDS: RangeInclusive<usize> = 1_024 / WORD as usize..=1_048_576 / WORD as usize;

fn number(thread: Option<Pid>) -> libc::pid_t {
    thread.map_or(0, |thread| thread.as_raw_nonzero().get())
}

/// The CPUs that a thread may run on, ascending; of any number, where `cpu_set_t` ends at 1,024.
///
/// # Errors
/// When the kernel does not say.
pub fn affinity(thread: Option<Pid>) -> io::Result<Vec<CpuId>> {
    mask_of_any_length(|mask| sys::get_affinity(number(thread), mask))
}

/// Asks with ever longer masks: the kernel refuses with EINVAL one that is shorter than its own.
fn mask_of_any_length(
    mut ask: impl FnMut(&mut [c_ulong]) -> io::Result<()>,
) -> io::Result<Vec<CpuId>> {
    let mut words = *WORDS.start();
    loop {
        let mut mask = vec![0; words];
        match ask(&mut mask) {
            Ok(()) => return Ok(cpus_of(&mask)),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && words < *WORDS.end() => {
                words *= 2
            }
            Err(error) => return Err(error),
        }
    }
}

fn cpus_of(mask: &[c_ulong]) -> Vec<CpuId> {
    let words = (0_u32..).zip(mask);
    words
        .flat_map(|(word, bits)| {
            (0..WORD)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| CpuId(word * WORD + bit))
        })
        .collect()
}

/// Binds a thread to these CPUs, whatever their numbers.
///
/// # Errors
/// When it may run on none of them.
pub fn set_affinity(thread: Option<Pid>, cpus: &[CpuId]) -> io::Result<()> {
    sys::set_affinity(number(thread), &mask(cpus))
}

/// Binds a thread to all CPUs that there can be: the kernel leaves out those that it would refuse.
///
/// # Errors
/// When it may run on none of them.
pub fn set_affinity_to_all(thread: Option<Pid>) -> io::Result<()> {
    /// More CPUs than Linux can have.
    const ALL: u32 = 65_536;
    sys::set_affinity(number(thread), &vec![c_ulong::MAX; (ALL / WORD) as usize])
}

/// Bit n of the mask stands for CPU n.
fn mask(cpus: &[CpuId]) -> Vec<c_ulong> {
    let highest = cpus.iter().map(|cpu| cpu.0).max().unwrap_or(0);
    let mut mask = vec![0; (highest / WORD) as usize + 1];
    cpus.iter().for_each(|cpu| mask[(cpu.0 / WORD) as usize] |= 1 << (cpu.0 % WORD));
    mask
}

/// Gives a thread this scheduling; its nice level stays, which nobody without rights may lower.
/// Where the call is forbidden (a sandbox), an ordinary policy that it has already is granted.
///
/// # Errors
/// When it may not have it.
pub fn set_scheduling(thread: Option<Pid>, scheduling: Scheduling) -> io::Result<()> {
    let attributes = Attributes {
        policy: scheduling.policy.number().into(),
        nice: rustix::process::getpriority_process(thread).unwrap_or(0),
        priority: scheduling.prio.map_or(0, u32::from),
        ..Attributes::default()
    };
    let is_had = || {
        !scheduling.policy.is_real_time()
            && sys::policy(number(thread)).is_ok_and(|had| had == scheduling.policy.number().into())
    };
    sys::set_attributes(number(thread), attributes)
        .or_else(|error| if is_had() { Ok(()) } else { Err(error) })
}

/// Gives a thread, by its number, another real-time priority. Its policy stays, and whether its
/// children inherit it.
///
/// # Errors
/// When it may not have it, or is not there.
pub fn set_priority(thread: u32, priority: u8) -> io::Result<()> {
    let thread = i32::try_from(thread).ok().filter(|thread| *thread > 0);
    sys::set_priority(thread.ok_or(io::ErrorKind::NotFound)?, priority.into())
}

/// Stack of a thread that tries something: small, because where all memory is locked every page of
/// it is there from the beginning.
const STACK_BYTES: usize = 128 * 1024;

/// Does something that changes the thread that does it, on a thread of its own.
///
/// # Errors
/// When no thread can be made, or what it does fails.
pub fn on_own_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let thread = Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(work)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that tried it panicked")))
}

/// Whether threads of this process may have this scheduling. Tried on a thread of its own, because
/// only the kernel knows (rights, limits, groups without real-time bandwidth).
///
/// # Errors
/// What the kernel said.
pub fn may_have(scheduling: Scheduling) -> io::Result<()> {
    on_own_thread("teiji-try", move || set_scheduling(None, scheduling))
}

/// For how long a thread of SCHED_FIFO or SCHED_RR may run without sleep before the kernel ends the
/// process (RLIMIT_RTTIME): at the soft limit by SIGXCPU, at the hard one by SIGKILL. None where it
/// may for ever.
pub fn real_time_timeout() -> Option<Nanos> {
    let limit = getrlimit(Resource::Rttime);
    let micros = limit.current.into_iter().chain(limit.maximum).min()?;
    Some(Nanos(i64::try_from(micros).unwrap_or(i64::MAX).saturating_mul(1_000)))
}

/// What a thread asks of the kernel's admission control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// CPU time in each period.
    pub runtime: Nanos,
    /// From the start of a period, when that time is due.
    pub deadline: Nanos,
    pub period: Nanos,
}

/// Gives the calling thread SCHED_DEADLINE with this reservation.
///
/// # Errors
/// When the kernel does not admit it.
pub fn set_deadline(asked: Reservation) -> io::Result<()> {
    let [runtime, deadline, period] =
        [asked.runtime, asked.deadline, asked.period].map(|time| time.0.unsigned_abs());
    let policy = Policy::Deadline.number().into();
    sys::set_attributes(
        0,
        Attributes { policy, runtime, deadline, period, ..Attributes::default() },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_any_length() {
        assert_eq!(mask(&[CpuId(0), CpuId(2)]), [0b101]);
        let long = mask(&[CpuId(1), CpuId(2 * WORD)]);
        assert_eq!(long, [0b10, 0, 1]);
        assert_eq!(mask(&[CpuId(5000)]).len(), (5000 / WORD) as usize + 1);
    }

    /// A kernel of 8,192 possible CPUs refused the mask of 1,024 that `cpu_set_t` is, and nothing
    /// could be measured.
    #[test]
    fn a_kernel_of_more_cpus_than_a_cpu_set_holds() {
        let cpus = [0, 63, 1_024, 5_000, 8_191].map(CpuId);
        let mut asked = Vec::new();
        let read = mask_of_any_length(|mask| {
            asked.push(mask.len() * WORD as usize);
            if mask.len() * (WORD as usize) < 8_192 {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            cpus.iter().for_each(|cpu| mask[(cpu.0 / WORD) as usize] |= 1 << (cpu.0 % WORD));
            Ok(())
        });
        assert_eq!((read.unwrap(), asked), (cpus.to_vec(), vec![1_024, 2_048, 4_096, 8_192]));
        let endless = mask_of_any_length(|_| Err(io::Error::from_raw_os_error(libc::EINVAL)));
        assert_eq!(endless.unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }

    /// In a thread of its own, whose affinity goes with it.
    #[test]
    fn what_is_set_is_read() {
        let before = affinity(None).unwrap();
        let last = *before.last().unwrap();
        let confined = std::thread::spawn(move || {
            set_affinity(None, &[last]).unwrap();
            affinity(None).unwrap()
        });
        assert_eq!(confined.join().unwrap(), [last]);
        assert_eq!(affinity(None).unwrap(), before);
        // A number that no CPU has is refused, however large.
        assert!(set_affinity(None, &[CpuId(60_000)]).is_err());
    }
}
