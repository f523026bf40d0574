// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that have no safe interface elsewhere, each wrapped so that nothing unsafe leaves this file.

use plan::Scheduling;
use rustix::mm::{MlockAllFlags, mlockall};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// The kernel's `struct sched_attr` in its first version, 48 bytes (include/uapi/linux/sched/types.h).
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

/// Gives the calling thread this scheduling. By the raw system call: musl's `sched_setscheduler` is a stub.
pub(crate) fn set_scheduling(scheduling: Scheduling) -> io::Result<()> {
    let attributes = SchedAttr {
        size: 48,
        policy: scheduling.policy.number().into(),
        priority: scheduling.prio.map_or(0, u32::from),
        ..SchedAttr::default()
    };
    let (this_thread, no_flags) = (0_usize, 0_usize);
    // SAFETY: sched_setattr reads `size` (48) bytes from the pointer, which is to a live, initialised struct of exactly
    // that size and layout; thread 0 is the caller, which exists; the call writes nothing.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, ptr::from_ref(&attributes), no_flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What getrusage says of the calling thread.
pub(crate) struct ThreadUsage {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) voluntary_switches: u64,
    pub(crate) involuntary_switches: u64,
}

/// Page faults and context switches of the calling thread since it began.
pub(crate) fn thread_usage() -> io::Result<ThreadUsage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to writable memory of the size and alignment of struct rusage, alive through the call;
    // RUSAGE_THREAD is known to every kernel since 2.6.26 and fails cleanly otherwise.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: rusage consists of integers, for which the zeroed bytes it began with are valid too, and the call
    // succeeded and has filled it in.
    let usage = unsafe { usage.assume_init() };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    Ok(ThreadUsage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    })
}

/// Locks all memory of the process, present and future, into RAM.
pub(crate) fn lock_all_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// The signal that gets a measuring thread out of its sleep when the run is stopped. Ignored by default, so that one that
/// arrives too late does no harm.
const WAKE: libc::c_int = libc::SIGURG;

extern "C" fn nothing(_signal: libc::c_int) {}

/// Makes [`WAKE`] interrupt system calls. To be called before the first measuring thread starts.
pub(crate) fn let_wake_interrupt() -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: `action` is zeroed, which is a valid sigaction (default handler, empty mask, no flags), and the pointer to
    // its field is valid for writes.
    unsafe { (*action.as_mut_ptr()).sa_sigaction = handler as *const () as libc::sighandler_t };
    // SAFETY: `action` is fully initialised; its handler is an extern "C" function that does nothing and therefore is
    // async-signal-safe; without SA_SIGINFO it is called with one argument, as declared; the old action is not wanted.
    let result = unsafe { libc::sigaction(WAKE, action.as_ptr(), ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps every signal that can be kept from the calling thread.
pub(crate) fn block_all_signals() {
    let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointer is to writable memory of the right size; sigfillset cannot fail.
    unsafe { libc::sigfillset(all.as_mut_ptr()) };
    change_mask(libc::SIG_BLOCK, &all);
}

/// Keeps every signal but [`WAKE`] from the calling thread.
pub(crate) fn block_all_signals_but_wake() {
    block_all_signals();
    let mut wake = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointer is to writable memory of the right size; sigemptyset cannot fail.
    unsafe { libc::sigemptyset(wake.as_mut_ptr()) };
    // SAFETY: the set was initialised by sigemptyset, and WAKE is a signal that exists.
    unsafe { libc::sigaddset(wake.as_mut_ptr(), WAKE) };
    change_mask(libc::SIG_UNBLOCK, &wake);
}

/// `set` must have been initialised by sigfillset or sigemptyset.
fn change_mask(how: libc::c_int, set: &MaybeUninit<libc::sigset_t>) {
    // SAFETY: `set` is initialised, as every caller in this file does first; the old mask is not wanted; `how` is one of
    // the kernel's constants. With these the call cannot fail.
    unsafe { libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut()) };
}

/// Gets a thread of this process out of its sleep.
pub(crate) fn wake(thread: rustix::thread::Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: tgkill takes three integers and touches no memory of ours; by naming our own process it cannot reach a
    // stranger even if the thread has ended and its number was given away; WAKE has a handler that does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread.as_raw_nonzero().get(), WAKE) };
}
