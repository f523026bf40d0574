// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the C library or a raw system call can do. Of a thread or a process only its number is
//! given, which touches no memory; 0 is the caller.

use dlmalloc::GlobalDlmalloc;
use rustix::mm::{MapFlags, ProtFlags};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};

/// Whether exec gave this program rights, AT_SECURE: by file capabilities, set-user-ID,
/// set-group-ID or a security module.
pub(crate) fn gained_by_exec() -> bool {
    // SAFETY: getauxval takes a number and reads the vector that the kernel wrote at exec, which
    // stays as long as the process.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) };
    secure != 0
}

#[inline]
pub fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Anonymous memory of a process, unmapped when the value is dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<libc::c_void>,
    bytes: usize,
}

// SAFETY: unmapping is all that the value itself does with the memory, and any thread may. What is
// written there, and by whom, is up to those who take its start.
unsafe impl Send for Mapping {}

impl Mapping {
    /// So many bytes, zeroed, at a place that the kernel chooses.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(bytes: usize, access: ProtFlags, kind: MapFlags) -> io::Result<Self> {
        // SAFETY: a null address lets the kernel choose a place where nothing is, so no mapping is
        // replaced; nothing is known of that memory before.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes.max(1), access, kind) }?;
        let start = NonNull::new(start).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, bytes: bytes.max(1) })
    }

    /// Where it begins. Not to be used after the value is dropped.
    pub const fn start<T>(&self) -> NonNull<T> {
        self.start.cast()
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, once. Whoever takes its start owes that nobody uses the
        // memory after this, no child that runs on it as its stack and no reference into it.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

/// What a signal does from now on, where it is given to `sigaction`: calls this handler.
pub fn signal_action(handler: *const (), flags: libc::c_int) -> libc::sigaction {
    let action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: zeroed is a valid sigaction: default handler, empty mask, no flags.
    let mut action = unsafe { action.assume_init() };
    (action.sa_sigaction, action.sa_flags) = (handler as libc::sighandler_t, flags);
    action
}

pub(crate) fn get_affinity(thread: libc::pid_t, mask: &mut [libc::c_ulong]) -> io::Result<()> {
    // SAFETY: the pointer is to writable memory, alive through the call, of as many bytes as are
    // given with it, and every pattern of bits is a valid integer; the kernel writes no more than
    // that many bytes.
    done(unsafe {
        libc::syscall(libc::SYS_sched_getaffinity, thread, size_of_val(mask), mask.as_mut_ptr())
    })
}

pub(crate) fn set_affinity(thread: libc::pid_t, mask: &[libc::c_ulong]) -> io::Result<()> {
    // SAFETY: the mask is read only, alive through the call, and its length in bytes is given with
    // it; the kernel takes masks of any length.
    done(unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, thread, size_of_val(mask), mask.as_ptr())
    })
}

/// The kernel's `struct sched_attr` in its first version (include/uapi/linux/sched/types.h).
#[derive(Default)]
#[repr(C)]
pub(crate) struct Attributes {
    /// [`set_attributes`] sets it.
    pub(crate) size: u32,
    pub(crate) policy: u32,
    pub(crate) flags: u64,
    pub(crate) nice: i32,
    pub(crate) priority: u32,
    pub(crate) runtime: u64,
    pub(crate) deadline: u64,
    pub(crate) period: u64,
}

/// By the raw system call: musl's `sched_setscheduler` is a stub.
pub(crate) fn set_attributes(thread: libc::pid_t, mut attributes: Attributes) -> io::Result<()> {
    const BYTES: u32 = 48;
    const { assert!(size_of::<Attributes>() == BYTES as usize) };
    attributes.size = BYTES;
    let no_flags = 0_usize;
    // SAFETY: sched_setattr reads `size` bytes from the pointer, which is to a live, initialised
    // struct of exactly that size and layout; the call writes nothing.
    done(unsafe {
        libc::syscall(libc::SYS_sched_setattr, thread, ptr::from_ref(&attributes), no_flags)
    })
}

/// The number of a thread's policy. By the raw system call, as above.
pub(crate) fn policy(thread: libc::pid_t) -> io::Result<libc::c_long> {
    /// Beside the policy: children are not to inherit it (include/uapi/linux/sched.h).
    const RESET_ON_FORK: libc::c_long = 0x4000_0000;
    // SAFETY: sched_getscheduler takes a number and touches no memory.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) };
    done(policy)?;
    Ok(policy & !RESET_ON_FORK)
}

pub(crate) fn set_priority(thread: libc::pid_t, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: sched_setparam reads one int, the only member of its struct sched_param, from the
    // pointer, which is to a live int; the call writes nothing.
    done(unsafe { libc::syscall(libc::SYS_sched_setparam, thread, &raw const priority) })
}

pub(crate) fn usage(whom: libc::c_int) -> io::Result<libc::rusage> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to writable memory of the size and alignment of struct rusage, alive
    // through the call.
    let result = unsafe { libc::getrusage(whom, usage.as_mut_ptr()) };
    done(result.into())?;
    // SAFETY: rusage consists of integers, for which the zeroed bytes it began with are valid too.
    Ok(unsafe { usage.assume_init() })
}

/// A clock's time, ns; none if there is no such clock, or no longer.
pub(crate) fn time_ns(clock: libc::clockid_t) -> Option<i64> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is valid for writing; a clock that does not exist, or has ceased to, is an
    // error, not undefined.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: clock_gettime succeeded, so it has filled `time` in.
    let time = unsafe { time.assume_init() };
    #[allow(clippy::useless_conversion, reason = "the fields have other widths on other targets")]
    let (seconds, nanos) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    Some(seconds * 1_000_000_000 + nanos)
}
/// The program's allocator: small blocks are kept for the next that are asked for, and large ones
/// are the C library's, which gives their memory back to the kernel.
#[derive(Debug)]
pub struct Allocator;

/// Bytes from which on a block is a large one.
const LARGE: usize = 128 << 10;

// SAFETY: each call goes to one of two allocators, which both keep the contract of the trait. A
// block's layout alone says to which, so that it is given back where it came from.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            // SAFETY: the caller's promise about the layout is the one asked for.
            unsafe { GlobalDlmalloc.alloc(layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() < LARGE {
            // SAFETY: the caller's promise about the layout is the one asked for.
            unsafe { GlobalDlmalloc.alloc_zeroed(layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() < LARGE {
            // SAFETY: a block of this layout came from the same branch of `alloc`.
            unsafe { GlobalDlmalloc.dealloc(block, layout) }
        } else {
            // SAFETY: as above.
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match (layout.size() < LARGE, size < LARGE) {
            // SAFETY: the block is that allocator's before, and by its size after.
            (true, true) => unsafe { GlobalDlmalloc.realloc(block, layout, size) },
            // SAFETY: as above.
            (false, false) => unsafe { System.realloc(block, layout, size) },
            _ => {
                // SAFETY: the caller promises that `size` is not 0 and does not overflow when
                // rounded up to the alignment.
                let grown = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
                // SAFETY: the layout is valid, as above.
                let new = unsafe { self.alloc(grown) };
                if !new.is_null() {
                    // SAFETY: both blocks are valid for the smaller of their sizes, and a new block
                    // does not overlap one that is in use.
                    unsafe { ptr::copy_nonoverlapping(block, new, layout.size().min(size)) };
                    // SAFETY: the block came from `alloc` with this layout and is not used again.
                    unsafe { self.dealloc(block, layout) };
                }
                new
            }
        }
    }
}
