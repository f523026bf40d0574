// SPDX-License-Identifier: MIT OR Apache-2.0
//! System calls that have no safe interface elsewhere, each wrapped so that nothing unsafe leaves
//! this file.

use rustix::mm::{MlockAllFlags, mlockall};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

/// Locks all memory of the process, present and future, into RAM.
pub(crate) fn lock_all_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?)
}

/// What a call that returns 0 has said.
#[inline]
pub(crate) fn zero_or_errno(errno: libc::c_int) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// The signal that gets a measuring thread out of its sleep when the run is stopped. Ignored by
/// default, so that one that arrives too late does no harm.
pub(crate) const WAKE: libc::c_int = libc::SIGURG;

extern "C" fn nothing(_signal: libc::c_int) {}

/// Makes [`WAKE`] interrupt system calls. To be called before the first measuring thread starts.
pub(crate) fn let_wake_interrupt() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = nothing;
    let action = system::signal_action(handler as *const (), 0);
    // SAFETY: the action is initialised; its handler does nothing and therefore is
    // async-signal-safe; without SA_SIGINFO it is called with one argument, as declared; the old
    // action is not wanted.
    system::done(unsafe { libc::sigaction(WAKE, &raw const action, ptr::null_mut()) }.into())
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
