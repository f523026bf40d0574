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

/// Lets signals through to the calling thread. One that does not exist is left out.
pub(crate) fn unblock(signals: &[libc::c_int]) {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointer is to writable memory of the right size; sigemptyset cannot fail.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    for signal in signals {
        // SAFETY: the set was initialised by sigemptyset; a signal that does not exist is an error
        // and changes nothing.
        unsafe { libc::sigaddset(set.as_mut_ptr(), *signal) };
    }
    change_mask(libc::SIG_UNBLOCK, &set);
}

/// `set` must have been initialised by sigfillset or sigemptyset.
fn change_mask(how: libc::c_int, set: &MaybeUninit<libc::sigset_t>) {
    // SAFETY: `set` is initialised, as every caller in this file does first; the old mask is not
    // wanted; `how` is one of the kernel's constants. With these the call cannot fail.
    unsafe { libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut()) };
}

/// Gets a thread of this process out of its sleep.
pub(crate) fn wake(thread: rustix::thread::Pid) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: tgkill takes three integers and touches no memory of ours; by naming our own process
    // it cannot reach a stranger even if the thread has ended and its number was given away;
    // WAKE has a handler that does nothing.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread.as_raw_nonzero().get(), WAKE) };
}
