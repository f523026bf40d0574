// SPDX-License-Identifier: MIT OR Apache-2.0
//! What only the C library or a raw system call can do: fork, shared memory, pages that are mapped
//! and unmapped, and signal dispositions.

use crate::report::COUNTERS;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use rustix::process::Pid;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use system::{Mapping, done, signal_action};

/// Evidence that this process has one thread, which is what makes forking it sound.
#[derive(Debug)]
pub(crate) struct SingleThreaded {
    /// Links of /proc/self/task while there was one thread: the kernel counts each thread as a
    /// link.
    links: u64,
}

impl SingleThreaded {
    /// Looks into /proc.
    pub(crate) fn check() -> io::Result<Self> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(SingleThreaded { links: task_links()? }),
            threads => Err(io::Error::other(format!(
                "a supervisor must have one thread, and this process has {threads}"
            ))),
        }
    }

    /// Forks. The child runs `child` and ends with the status it returns; it never comes back here.
    ///
    /// # Errors
    /// When threads have been started since [`SingleThreaded::check`], or the kernel refuses.
    pub(crate) fn fork(&self, child: impl FnOnce() -> u8) -> io::Result<Pid> {
        if task_links()? != self.links {
            return Err(io::Error::other(
                "a process that forks must have one thread, and this one has started others",
            ));
        }
        // SAFETY: the process has one thread, as was just seen and as no other thread could change,
        // so no lock is held by a thread that the child lacks: the child may allocate and
        // call anything. It shares no Rust-owned memory with the parent but the Area, which
        // is atomics only, and what both own (open files) the kernel counts.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                let status = catch_unwind(AssertUnwindSafe(child)).unwrap_or(101);
                // SAFETY: `_exit` takes any status. It runs no destructors and flushes nothing, and
                // that is wanted: both are the supervisor's to do.
                unsafe { libc::_exit(status.into()) }
            }
            pid => {
                Pid::from_raw(pid).ok_or_else(|| io::Error::other("fork returned no process id"))
            }
        }
    }
}

/// One system call, so that it can be made before every fork.
fn task_links() -> io::Result<u64> {
    #[allow(clippy::useless_conversion, reason = "the field has other widths on other targets")]
    Ok(u64::from(rustix::fs::stat("/proc/self/task")?.st_nlink))
}

/// What one task has done. A cache line of its own, so that counting disturbs no other task; two,
/// because many CPUs fetch pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    counters: [AtomicU64; COUNTERS],
    children_ns: AtomicU64,
    /// Threads of the task that have done their work at least once; more if one says so again.
    worked: AtomicU64,
}

impl Slot {
    /// Counts. Only the task that owns the slot does.
    pub(crate) fn add(&self, counter: usize, amount: u64) {
        // A load and a store, not a locked addition: there is one writer.
        let counter = &self.counters[counter];
        let before = counter.load(Ordering::Relaxed);
        counter.store(before.wrapping_add(amount), Ordering::Relaxed);
        if before == 0 && amount > 0 {
            self.has_worked();
        }
    }

    /// States that the calling thread has done its work once. [`Slot::add`] does; others do where
    /// they do not count, or several threads do.
    pub(crate) fn has_worked(&self) {
        self.worked.fetch_add(1, Ordering::Relaxed);
    }

    /// How many threads have stated that.
    pub(crate) fn worked(&self) -> u64 {
        self.worked.load(Ordering::Relaxed)
    }

    /// Counts, where several threads of the task do.
    pub(crate) fn add_shared(&self, counter: usize, amount: u64) {
        self.counters[counter].fetch_add(amount, Ordering::Relaxed);
    }

    /// States the CPU time of children that the task has waited for, ns: its own clock does not
    /// have it.
    pub(crate) fn set_children_ns(&self, used_ns: u64) {
        self.children_ns.store(used_ns, Ordering::Relaxed);
    }

    /// CPU time of the task's children, ns.
    pub(crate) fn children_ns(&self) -> u64 {
        self.children_ns.load(Ordering::Relaxed)
    }

    /// What was counted so far.
    pub(crate) fn get(&self, counter: usize) -> u64 {
        self.counters[counter].load(Ordering::Relaxed)
    }
}

/// Slots in memory that the supervisor and its tasks share.
#[derive(Debug)]
pub(crate) struct Area {
    memory: Mapping,
    count: usize,
}

impl Area {
    /// So many slots, all zero.
    pub(crate) fn new(count: usize) -> io::Result<Self> {
        let bytes = count * size_of::<Slot>();
        let memory = Mapping::new(bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)?;
        Ok(Area { memory, count })
    }

    pub(crate) fn slots(&self) -> &[Slot] {
        // SAFETY: the mapping holds `count` slots, is page-aligned, lives until self is dropped,
        // and is zeroed, which is a valid Slot. Other processes change it only through
        // atomics, and nobody has a `&mut` to it.
        unsafe { std::slice::from_raw_parts(self.memory.start().as_ptr(), self.count) }
    }
}

/// Ends the calling process at once, whatever its other threads do.
pub(crate) fn leave(status: u8) -> ! {
    // SAFETY: `_exit` takes any status. It runs no destructors and flushes nothing, and that is
    // wanted.
    unsafe { libc::_exit(status.into()) }
}

/// Anonymous memory of this process alone, of small pages, none of them there yet.
#[derive(Debug)]
pub(crate) struct Pages {
    memory: Mapping,
    page: usize,
}

impl Pages {
    /// At least so many bytes that may be written.
    pub(crate) fn writable(bytes: usize) -> io::Result<Self> {
        Pages::map(bytes, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// At least so many bytes that may not be touched; each page becomes writable when it is
    /// written to. One such mapping at a time: whoever writes elsewhere where it may not, dies
    /// of it as always.
    pub(crate) fn guarded(bytes: usize) -> io::Result<Self> {
        let pages = Pages::map(bytes, ProtFlags::empty())?;
        let start = pages.memory.start::<u8>().as_ptr() as usize;
        GUARDED_PAGE.store(pages.page, Ordering::Relaxed);
        GUARDED_START.store(start, Ordering::Relaxed);
        GUARDED_END.store(start + pages.memory.bytes(), Ordering::Relaxed);
        Ok(pages)
    }

    fn map(bytes: usize, access: ProtFlags) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let bytes = bytes.max(1).next_multiple_of(page);
        let memory = Mapping::new(bytes, access, MapFlags::PRIVATE)?;
        // A large page would take the faults of five hundred small ones at once. A kernel without
        // large pages refuses. SAFETY: exactly what was mapped; the advice changes no
        // content.
        let _ =
            unsafe { rustix::mm::madvise(memory.start().as_ptr(), bytes, Advice::LinuxNoHugepage) };
        Ok(Pages { memory, page })
    }

    pub(crate) fn count(&self) -> usize {
        self.memory.bytes() / self.page
    }

    pub(crate) fn touch(&self, number: usize) {
        assert!(number < self.count(), "there is no page {number}");
        // SAFETY: the offset stays within the mapping, as was just checked.
        let place = unsafe { self.memory.start::<u8>().as_ptr().add(number * self.page) };
        // SAFETY: nobody has a reference into the mapping. It is writable, or it is guarded: then
        // the write faults, the handler makes the page writable, and the write is done
        // again.
        unsafe { place.write_volatile(1) };
    }

    /// Takes back, and gives again, the right to write to all of it: what other CPUs know of these
    /// pages is void.
    pub(crate) fn reprotect(&self) -> io::Result<()> {
        for access in [MprotectFlags::READ, MprotectFlags::READ | MprotectFlags::WRITE] {
            // SAFETY: exactly what was mapped, of which nobody has a reference; only `touch` writes
            // to it, and not meanwhile, for it is this thread that is here.
            unsafe {
                rustix::mm::mprotect(self.memory.start().as_ptr(), self.memory.bytes(), access)
            }?;
        }
        Ok(())
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // What is mapped at these addresses next is not ours.
        if GUARDED_START.load(Ordering::Relaxed) == self.memory.start::<u8>().as_ptr() as usize {
            GUARDED_START.store(0, Ordering::Relaxed);
            GUARDED_END.store(0, Ordering::Relaxed);
        }
    }
}

static GUARDED_START: AtomicUsize = AtomicUsize::new(0);
static GUARDED_END: AtomicUsize = AtomicUsize::new(0);
static GUARDED_PAGE: AtomicUsize = AtomicUsize::new(1);
static FAULTS_TAKEN: AtomicU64 = AtomicU64::new(0);

/// Times the handler has made a guarded page writable.
pub(crate) fn faults_taken() -> u64 {
    FAULTS_TAKEN.load(Ordering::Relaxed)
}

/// From now on a write to a guarded page of [`Pages`] makes that page writable.
pub(crate) fn open_guarded_pages() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    let action = signal_action(handler as *const (), libc::SA_SIGINFO);
    // SAFETY: the action is initialised; with SA_SIGINFO the handler is called with the three
    // arguments it declares, and it does only what is allowed in a signal handler; the old action
    // is not wanted.
    done(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, ptr::null_mut()) }.into())
}

extern "C" fn on_fault(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a pointer to a siginfo that lives as long as the handler runs.
    let info = unsafe { &*info };
    // SAFETY: for SIGSEGV the kernel fills in the address.
    let address = unsafe { info.si_addr() } as usize;
    let guarded = GUARDED_START.load(Ordering::Relaxed)..GUARDED_END.load(Ordering::Relaxed);
    let page = GUARDED_PAGE.load(Ordering::Relaxed);
    let open = || {
        let start = address / page * page;
        // SAFETY: a whole page of a mapping of Pages, which is alive while it is being written to;
        // mprotect is a bare system call, touches no memory of ours and may be made in a
        // handler.
        unsafe {
            rustix::mm::mprotect(
                start as *mut libc::c_void,
                page,
                MprotectFlags::READ | MprotectFlags::WRITE,
            )
        }
        .is_ok()
    };
    if guarded.contains(&address) && open() {
        FAULTS_TAKEN.store(FAULTS_TAKEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    } else {
        // SAFETY: the default disposition needs no handler. The write is done again, and now ends
        // the process.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
    }
}

/// `membarrier` commands (include/uapi/linux/membarrier.h).
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;

/// Asks for [`interrupt_others`].
pub(crate) fn register_to_interrupt() -> io::Result<()> {
    membarrier(REGISTER_PRIVATE_EXPEDITED)
}

/// Has every other CPU that runs a thread of this process interrupted.
pub(crate) fn interrupt_others() -> io::Result<()> {
    membarrier(PRIVATE_EXPEDITED)
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: membarrier takes integers and touches no memory.
    done(unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) })
}

const IGNORED: [libc::c_int; 5] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE];

/// The defaults for what [`settle_signals`] ignores, for a program that is to be executed: it would
/// inherit that.
pub(crate) fn let_signals_end() {
    for signal in IGNORED {
        // SAFETY: the default disposition is the kernel's own, no handler is installed.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// No signal blocked; all at their defaults, but those that would end a load before its parent says
/// so ignored, and SIGPIPE too, so that a broken pipe is an error with words.
pub(crate) fn settle_signals() -> io::Result<()> {
    // The runtime's own handlers, which turn a stack overflow into a message.
    const UNBLOCKED: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];
    for signal in (1..=libc::SIGRTMAX()).filter(|signal| !UNBLOCKED.contains(signal)) {
        let disposition = if IGNORED.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
        // SAFETY: both dispositions are the kernel's own, no handler is installed. KILL, STOP and
        // the C library's own signals are refused, and that is all right.
        unsafe { libc::signal(signal, disposition) };
    }
    let mut none = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `none` is valid for writing.
    unsafe { libc::sigemptyset(none.as_mut_ptr()) };
    // SAFETY: `none` has been filled in; the old mask is not asked for.
    done(unsafe { libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::usage::thread_usage;

    #[test]
    fn a_page_fault_for_each_page() {
        let pages = Pages::writable(1 << 20).unwrap();
        let faults = || thread_usage().unwrap().minor_faults;
        let before = faults();
        (0..pages.count()).for_each(|page| pages.touch(page));
        assert!(faults() - before >= pages.count() as u64);
    }

    #[test]
    fn a_signal_for_each_page() {
        open_guarded_pages().unwrap();
        for _ in 0..3 {
            let (pages, before) = (Pages::guarded(1 << 20).unwrap(), faults_taken());
            (0..pages.count()).for_each(|page| pages.touch(page));
            // Open now.
            (0..pages.count()).for_each(|page| pages.touch(page));
            assert_eq!(faults_taken() - before, pages.count() as u64);
        }
        // The handler would otherwise open whatever is mapped there next. Here, because there is
        // one such mapping at a time.
        let pages = Pages::guarded(1 << 16).unwrap();
        assert_eq!(
            GUARDED_START.load(Ordering::Relaxed),
            pages.memory.start::<u8>().as_ptr() as usize
        );
        drop(pages);
        assert_eq!(
            (GUARDED_START.load(Ordering::Relaxed), GUARDED_END.load(Ordering::Relaxed)),
            (0, 0)
        );
    }

    /// The test runner's own threads are the others.
    #[test]
    fn a_process_with_threads_does_not_fork() {
        let single_threaded = SingleThreaded { links: task_links().unwrap() };
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        let error = single_threaded.fork(|| 0).unwrap_err();
        assert!(error.to_string().contains("has started others"), "{error}");
        drop(stop);
        assert!(other.join().unwrap().is_err());
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
}
