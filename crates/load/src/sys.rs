// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the C library or a raw system call can do: fork, shared memory, another process's CPU clock, signal
//! dispositions, and masks of more CPUs than a `cpu_set_t` holds.

use crate::report::COUNTERS;
use plan::CpuId;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::Pid;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Evidence that this process has one thread, which is what makes forking it sound.
#[derive(Debug)]
pub(crate) struct Alone(());

impl Alone {
    /// Looks into /proc. Nothing in a leader starts a thread, so what holds at its start holds on.
    pub(crate) fn check() -> io::Result<Self> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(Alone(())),
            threads => Err(io::Error::other(format!("a leader must have one thread, and this process has {threads}"))),
        }
    }

    /// Forks. The child runs `child` and ends with the status it returns; it never comes back here.
    pub(crate) fn fork(&self, child: impl FnOnce() -> u8) -> io::Result<Pid> {
        // SAFETY: the process has one thread (self is the evidence), so no lock is held by a thread that the child lacks: the
        // child may allocate and call anything. It shares no Rust-owned memory with the parent but the Area, which is atomics
        // only, and what both own (open files) the kernel counts.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let status = catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
                // SAFETY: `_exit` takes any status. It runs no destructors and flushes nothing, and that is wanted: both are
                // the leader's to do.
                unsafe { libc::_exit(status.into()) }
            }
            pid => Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id")),
        }
    }
}

/// What one task has done. A cache line of its own, so that counting disturbs nobody; two, because many CPUs fetch pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    counters: [AtomicU64; COUNTERS],
}

impl Slot {
    /// Counts. Only the task that owns the slot does.
    pub(crate) fn add(&self, counter: usize, amount: u64) {
        // A load and a store, not a locked addition: there is one writer.
        let counter = &self.counters[counter];
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(amount), Ordering::Relaxed);
    }

    /// What was counted so far.
    pub(crate) fn get(&self, counter: usize) -> u64 {
        self.counters[counter].load(Ordering::Relaxed)
    }
}

/// Slots in memory that the leader and its tasks share.
#[derive(Debug)]
pub(crate) struct Area {
    slots: NonNull<Slot>,
    count: usize,
}

impl Area {
    /// So many slots, all zero.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let bytes = count.max(1) * size_of::<Slot>();
        // SAFETY: a null address lets the kernel choose, so no mapping is replaced; the length is not 0.
        let start =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED) }?;
        let slots = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned no address"))?;
        Ok(Area { slots, count })
    }

    /// The slots.
    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: the mapping holds `count` slots, is page-aligned, lives until self is dropped, and is zeroed, which is a
        // valid Slot. Other processes change it only through atomics, and nobody has a `&mut` to it.
        unsafe { std::slice::from_raw_parts(self.slots.as_ptr(), self.count) }
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped, and no reference outlives self.
        let _ = unsafe { rustix::mm::munmap(self.slots.as_ptr().cast(), self.count.max(1) * size_of::<Slot>()) };
    }
}

/// CPU time of a process, user and system, all its threads, to the nanosecond. None if it is gone.
///
/// Read from outside, it costs the task nothing; a task that measured itself would pay a system call for each look.
pub(crate) fn cpu_time_ns(pid: Pid) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is valid for writing.
    if unsafe { libc::clock_getcpuclockid(pid.as_raw_nonzero().get(), &raw mut clock) } != 0 {
        return None;
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `time` is valid for writing; a clock that has ceased to exist is an error, not undefined.
    if unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: clock_gettime succeeded, so it has filled `time` in.
    let time = unsafe { time.assume_init() };
    // Its fields have other widths on other targets.
    #[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    Some(seconds * 1_000_000_000 + nanos)
}

/// Binds the calling process to these CPUs.
pub(crate) fn bind(cpus: &[CpuId]) -> io::Result<()> {
    let mask = mask(cpus);
    // SAFETY: the mask is read only, and its length in bytes is given with it; the kernel takes masks of any length, and 0 is
    // the caller.
    let result = unsafe { libc::sched_setaffinity(0, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Bit n of the mask stands for CPU n. As long as needed: `cpu_set_t` ends at 1023.
fn mask(cpus: &[CpuId]) -> Vec<libc::c_ulong> {
    let highest = cpus.iter().map(|cpu| cpu.0).max().unwrap_or(0);
    let mut mask = vec![0; (highest / libc::c_ulong::BITS) as usize + 1];
    for cpu in cpus {
        mask[(cpu.0 / libc::c_ulong::BITS) as usize] |= 1 << (cpu.0 % libc::c_ulong::BITS);
    }
    mask
}

/// Ordinary scheduling for the calling process. By system call, because musl's function only says ENOSYS.
pub(crate) fn schedule_ordinarily() -> io::Result<()> {
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads a `struct sched_param`, which is this one int; 0 is the caller.
    let result = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_OTHER, &raw const priority) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// No signal blocked; all at their defaults, but those that would end a load before its owner says so ignored, and SIGPIPE
/// too, so that a broken pipe is an error with words.
pub(crate) fn settle_signals() -> io::Result<()> {
    const IGNORED: [libc::c_int; 5] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE];
    // The runtime's own handlers, which turn a stack overflow into a message.
    const KEPT: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !KEPT.contains(signal)) {
        let disposition = if IGNORED.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: both dispositions are the kernel's own, no handler is installed. KILL, STOP and the C library's own signals
        // are refused, and that is all right.
        unsafe { libc::signal(signal, disposition) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `none` is valid for writing.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: `none` has been filled in; the old mask is not asked for.
    let result = unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_of_any_length() {
        let bits = libc::c_ulong::BITS;
        assert_eq!(mask(&[CpuId(0), CpuId(2)]), [0b101]);
        let long = mask(&[CpuId(1), CpuId(2 * bits)]);
        assert_eq!(long, [0b10, 0, 1]);
        assert_eq!(mask(&[CpuId(5000)]).len(), (5000 / bits) as usize + 1);
    }

    #[test]
    fn slots_count_apart() {
        let area = Area::new(3).unwrap();
        area.slots()[1].add(0, 5);
        area.slots()[1].add(0, 2);
        area.slots()[2].add(COUNTERS - 1, 1);
        let all: Vec<u64> = area.slots().iter().map(|slot| slot.get(0)).collect();
        assert_eq!((all, area.slots()[2].get(COUNTERS - 1)), (vec![0, 7, 0], 1));
    }

    #[test]
    fn a_process_has_used_time() {
        assert!(cpu_time_ns(rustix::process::getpid()).unwrap() > 0);
        // Above the highest number the kernel gives.
        assert_eq!(cpu_time_ns(Pid::from_raw(5_000_000).unwrap()), None);
    }
}
