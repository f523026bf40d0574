// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that have no safe interface elsewhere, each wrapped so that nothing unsafe leaves
//! this file.

use crate::Usage;
use crate::reservation::Reservation;
use plan::{CpuId, Policy, Scheduling};
use rustix::mm::{MlockAllFlags, mlockall};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Bits of a word of a mask of CPUs.
const WORD: u32 = libc::c_ulong::BITS;
/// Words of the first mask that is tried, 1,024 CPUs, and of the last one, far more than Linux can
/// have.
const WORDS: std::ops::RangeInclusive<usize> = 1_024 / WORD as usize..=1_048_576 / WORD as usize;

/// The CPUs that a thread may run on, or the calling one, ascending; of any number, where
/// `cpu_set_t` ends at 1,024.
pub(crate) fn affinity(thread: Option<rustix::thread::Pid>) -> io::Result<Vec<CpuId>> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    mask_of_any_length(|mask| {
        // SAFETY: the pointer is to writable memory, alive through the call, of as many bytes as
        // are given with it, and every pattern of bits is a valid integer; the kernel
        // writes no more than that many bytes. The thread is only a number.
        let written = unsafe {
            libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(mask), mask.as_mut_ptr())
        };
        if written < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })
}

/// Asks with ever longer masks: the kernel refuses with EINVAL one that is shorter than its own.
fn mask_of_any_length(
    mut ask: impl FnMut(&mut [libc::c_ulong]) -> io::Result<()>,
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

fn cpus_of(mask: &[libc::c_ulong]) -> Vec<CpuId> {
    let words = (0_u32..).zip(mask);
    words
        .flat_map(|(word, bits)| {
            (0..WORD)
                .filter(move |bit| bits >> bit & 1 == 1)
                .map(move |bit| CpuId(word * WORD + bit))
        })
        .collect()
}

/// Binds a thread, or the calling one, to these CPUs, whatever their numbers.
pub(crate) fn set_affinity(thread: Option<rustix::thread::Pid>, cpus: &[CpuId]) -> io::Result<()> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    let highest = cpus.iter().map(|cpu| cpu.0).max().unwrap_or(0);
    let mut mask: Vec<libc::c_ulong> = vec![0; (highest / WORD) as usize + 1];
    cpus.iter().for_each(|cpu| mask[(cpu.0 / WORD) as usize] |= 1 << (cpu.0 % WORD));
    // SAFETY: the mask is read only, alive through the call, and its length in bytes is given with
    // it; the kernel takes masks of any length. The thread is only a number.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            thread,
            size_of_val(mask.as_slice()),
            mask.as_ptr(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's `struct sched_attr` in its first version, 48 bytes
/// (include/uapi/linux/sched/types.h).
#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Gives the calling thread this scheduling; its nice level stays, which nobody without rights may
/// lower. By the raw system call: musl's `sched_setscheduler` is a stub.
pub(crate) fn set_scheduling(scheduling: Scheduling) -> io::Result<()> {
    set_scheduling_of(None, scheduling)
}

/// Gives a thread, or the calling one, this scheduling.
pub(crate) fn set_scheduling_of(
    thread: Option<rustix::thread::Pid>,
    scheduling: Scheduling,
) -> io::Result<()> {
    let thread = thread.map_or(0, |thread| thread.as_raw_nonzero().get());
    let attributes = SchedAttr {
        size: 48,
        policy: scheduling.policy.number().into(),
        nice: rustix::process::getpriority_process(rustix::thread::Pid::from_raw(thread))
            .unwrap_or(0),
        priority: scheduling.prio.map_or(0, u32::from),
        ..SchedAttr::default()
    };
    set_attributes(thread, &attributes)
}

/// Gives a thread another real-time priority. Its policy stays, and whether its children inherit
/// it.
pub(crate) fn set_priority_of(thread: rustix::thread::Pid, priority: u8) -> io::Result<()> {
    let priority = libc::c_int::from(priority);
    // SAFETY: sched_setparam reads one int, the only member of its struct sched_param, from the
    // pointer, which is to a live int; the thread is only a number; the call writes nothing.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setparam, thread.as_raw_nonzero().get(), &raw const priority)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling thread SCHED_DEADLINE with this reservation.
pub(crate) fn set_deadline(asked: Reservation) -> io::Result<()> {
    let [runtime, deadline, period] =
        [asked.runtime, asked.deadline, asked.period].map(|time| time.0.unsigned_abs());
    let policy = Policy::Deadline.number().into();
    set_attributes(
        0,
        &SchedAttr { size: 48, policy, runtime, deadline, period, ..SchedAttr::default() },
    )
}

/// Of a thread, or of the calling one, which is 0.
fn set_attributes(thread: libc::pid_t, attributes: &SchedAttr) -> io::Result<()> {
    let no_flags = 0_usize;
    // SAFETY: sched_setattr reads `size` bytes, which every caller in this file sets to 48, from
    // the pointer, which is to a live, initialised struct of exactly that size and layout; the
    // thread is only a number; the call writes nothing.
    let result = unsafe {
        libc::syscall(libc::SYS_sched_setattr, thread, ptr::from_ref(attributes), no_flags)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What getrusage says of `whom`.
fn rusage(whom: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to writable memory of the size and alignment of struct rusage, alive
    // through the call.
    let result = unsafe { libc::getrusage(whom, usage.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: rusage consists of integers, for which the zeroed bytes it began with are valid too,
    // and the call succeeded and has filled it in.
    Ok(unsafe { usage.assume_init() })
}

/// Page faults and context switches of the calling thread since it began.
pub(crate) fn thread_usage() -> io::Result<Usage> {
    let usage = rusage(libc::RUSAGE_THREAD)?;
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Ok(Usage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

/// CPU time of the children of this process that were waited for, ns.
pub(crate) fn children_cpu_time_ns() -> i64 {
    // Their fields have other widths on other targets.
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the fields have other widths on other targets"
    )]
    let micros = |time: libc::timeval| time.tv_sec as i64 * 1_000_000 + time.tv_usec as i64;
    rusage(libc::RUSAGE_CHILDREN)
        .map_or(0, |usage| (micros(usage.ru_utime) + micros(usage.ru_stime)) * 1_000)
}

/// CPU time of a thread of this process, ns; none if it is gone.
pub(crate) fn thread_cpu_time_ns(thread: rustix::thread::Pid) -> Option<i64> {
    /// CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED (include/linux/posix-timers_types.h): the kernel's
    /// number of a thread's clock.
    const OF_A_THREAD: libc::clockid_t = 4 | 2;
    let clock = (!thread.as_raw_nonzero().get() << 3) | OF_A_THREAD;
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is valid for writing; a clock that does not exist, or has ceased to, is an
    // error, not undefined.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: clock_gettime succeeded, so it has filled `time` in.
    let time = unsafe { time.assume_init() };
    // Its fields have other widths on other targets.
    #[allow(clippy::useless_conversion, reason = "the fields have other widths on other targets")]
    let (seconds, nanos) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    Some(seconds * 1_000_000_000 + nanos)
}

/// Locks all memory of the process, present and future, into RAM.
pub(crate) fn lock_all_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// The signal that gets a measuring thread out of its sleep when the run is stopped. Ignored by
/// default, so that one that arrives too late does no harm.
pub(crate) const WAKE: libc::c_int = libc::SIGURG;

extern "C" fn nothing(_signal: libc::c_int) {}

/// Makes [`WAKE`] interrupt system calls. To be called before the first measuring thread starts.
pub(crate) fn let_wake_interrupt() -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: `action` is zeroed, which is a valid sigaction (default handler, empty mask, no
    // flags), and the pointer to its field is valid for writes.
    unsafe { (*action.as_mut_ptr()).sa_sigaction = handler as *const () as libc::sighandler_t };
    // SAFETY: `action` is fully initialised; its handler is an extern "C" function that does
    // nothing and therefore is async-signal-safe; without SA_SIGINFO it is called with one
    // argument, as declared; the old action is not wanted.
    let result = unsafe { libc::sigaction(WAKE, action.as_ptr(), ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A set of these signals. One that does not exist is left out.
pub(crate) fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    let mut set = MaybeUninit::zeroed();
    // SAFETY: the pointer is to writable memory of the right size; sigemptyset cannot fail.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set was initialised by sigemptyset; a signal that does not exist is an error
        // and changes nothing.
        unsafe { libc::sigaddset(set.as_mut_ptr(), *signal) };
    }
    // SAFETY: the set was initialised by sigemptyset.
    unsafe { set.assume_init() }
}

/// Keeps every signal that can be kept from the calling thread.
pub(crate) fn block_all_signals() {
    let mut all = MaybeUninit::zeroed();
    // SAFETY: the pointer is to writable memory of the right size; sigfillset cannot fail.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    // SAFETY: the set was initialised by sigfillset.
    change_mask(libc::SIG_BLOCK, &unsafe { all.assume_init() });
}

/// Keeps every signal but [`WAKE`] from the calling thread.
pub(crate) fn block_all_signals_but_wake() {
    block_all_signals();
    unblock(&[WAKE]);
}

/// Keeps these signals from the calling thread, and from all that it starts from now on.
pub(crate) fn block(signals: &[libc::c_int]) {
    change_mask(libc::SIG_BLOCK, &signal_set(signals));
}

/// Lets these signals through to the calling thread.
pub(crate) fn unblock(signals: &[libc::c_int]) {
    change_mask(libc::SIG_UNBLOCK, &signal_set(signals));
}

fn change_mask(how: libc::c_int, set: &libc::sigset_t) {
    // SAFETY: the set is initialised; the old mask is not wanted; `how` is one of the kernel's
    // constants. With these the call cannot fail.
    unsafe { libc::pthread_sigmask(how, set, ptr::null_mut()) };
}

/// Bytes of the kernel's set of signals: one bit for each of 64.
pub(crate) const KERNEL_SIGNALS: usize = 8;

/// Sets the calling thread's mask of blocked signals and returns the one before. By the system
/// call: the C library's own spares signals that it uses itself.
pub(crate) fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both pointers are to live integers of 64 bits, as the length says and the kernel
    // takes them on every little-endian machine, the second writable. With these arguments the
    // call cannot fail.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            KERNEL_SIGNALS,
        )
    };
    before
}

/// Gets a thread of this process out of its sleep.
pub(crate) fn wake(thread: rustix::thread::Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: tgkill takes three integers and touches no memory of ours; by naming our own process
    // it cannot reach a stranger even if the thread has ended and its number was given away;
    // WAKE has a handler that does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread.as_raw_nonzero().get(), WAKE) };
}

#[cfg(test)]
mod tests {
    use super::*;

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
