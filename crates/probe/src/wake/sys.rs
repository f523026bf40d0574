// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ways to wake that have no safe interface: pthread's mutex and condition variable, SysV
//! semaphores, POSIX message queues, signals. Safe by what the types hold: a queue is closed before
//! its number is forgotten, and a condition stays where it was made.

use super::Way;
use crate::sys::{WAKE, set_mask, signal_set, zero_or_errno};
use rustix::io::Errno;
use rustix::process::Pid;
use std::cell::UnsafeCell;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

/// What a call has returned, or the error where that is below 0.
fn or_errno<T: PartialOrd + From<i8>>(result: T) -> io::Result<T> {
    if result >= T::from(0) { Ok(result) } else { Err(io::Error::last_os_error()) }
}

/// A mutex and a condition variable of the C library, and how many wake-ups were not taken yet.
pub(super) struct Condition(Box<Guarded>);

struct Guarded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    condition: UnsafeCell<libc::pthread_cond_t>,
    /// Only touched by whoever holds the mutex.
    pending: AtomicU32,
    /// Whether a wait is to end without anything pending.
    is_released: AtomicBool,
}

// SAFETY: mutex and condition are made to be used by several threads at once, and only their
// addresses are handed to pthread calls; the others are atomic; nothing in them belongs to one
// thread between calls, since every function here unlocks what it locked.
unsafe impl Sync for Guarded {}

// SAFETY: the box is never moved out of, so that the addresses stay; no thread holds the mutex when
// it is dropped, as every function unlocks it, and the two threads hold it by an Arc.
unsafe impl Send for Guarded {}

impl Condition {
    pub(super) fn new() -> Self {
        Condition(Box::new(Guarded {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            condition: UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER),
            pending: AtomicU32::new(0),
            is_released: AtomicBool::new(false),
        }))
    }

    fn lock(&self) -> io::Result<()> {
        // SAFETY: the mutex is initialised, stays at its address and lives as long as `self`; this
        // thread does not hold it.
        zero_or_errno(unsafe { libc::pthread_mutex_lock(self.0.mutex.get()) })
    }

    fn unlock(&self) -> io::Result<()> {
        // SAFETY: the mutex is initialised, stays at its address and lives as long as `self`;
        // callers hold it.
        zero_or_errno(unsafe { libc::pthread_mutex_unlock(self.0.mutex.get()) })
    }

    fn signal(&self) -> io::Result<()> {
        // SAFETY: the condition is initialised, stays at its address and lives as long as `self`;
        // it may be signalled without the mutex.
        zero_or_errno(unsafe { libc::pthread_cond_signal(self.0.condition.get()) })
    }

    /// Waits until something is pending, and takes it. The mutex is held before and after.
    fn take(&self) -> io::Result<()> {
        while self.0.pending.load(Ordering::Relaxed) == 0 {
            if self.0.is_released.swap(false, Ordering::Relaxed) {
                return Err(Errno::INTR.into());
            }
            // SAFETY: both are initialised, stay at their addresses and live as long as `self`; the
            // caller holds the mutex, and the condition is used with no other.
            zero_or_errno(unsafe {
                libc::pthread_cond_wait(self.0.condition.get(), self.0.mutex.get())
            })?;
        }
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Way for Condition {
    fn wait(&self) -> io::Result<()> {
        self.lock()?;
        let taken = self.take();
        self.unlock().and(taken)
    }

    fn wake(&self) -> io::Result<()> {
        self.lock()?;
        self.0.pending.fetch_add(1, Ordering::Relaxed);
        self.unlock()?;
        self.signal()
    }

    /// No signal ends `pthread_cond_wait`. Without the mutex, which a thread may hold that is kept
    /// from its CPU: a wait that begins just now may miss it, and ends with the next.
    fn release(&self) {
        self.0.is_released.store(true, Ordering::Relaxed);
        let _ = self.signal();
    }
}

/// Semaphores in a set: the one that is measured, and two marks, by which a set that was left over
/// is known.
pub(super) const SEMAPHORES: libc::c_int = 3;
/// What the marks hold, semaphores 1 and 2.
const MARKS: [libc::c_int; 2] = [0x7e13, 0x1e11];

/// A set of SysV semaphores.
pub(super) struct Semaphore {
    id: libc::c_int,
    is_removed: AtomicBool,
}

impl Semaphore {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the call takes three integers and touches no memory of ours.
        let id = or_errno(unsafe { libc::semget(libc::IPC_PRIVATE, SEMAPHORES, 0o600) })?;
        let semaphore = Semaphore { id, is_removed: AtomicBool::new(false) };
        for (number, mark) in (1..).zip(MARKS) {
            let value = libc::c_long::from(mark);
            // SAFETY: SETVAL takes its value in place of a pointer, and touches no memory of ours.
            or_errno(unsafe { libc::semctl(id, number, libc::SETVAL, value) })?;
        }
        Ok(semaphore)
    }

    fn add(&self, change: libc::c_short) -> io::Result<()> {
        let mut operation = libc::sembuf { sem_num: 0, sem_op: change, sem_flg: 0 };
        let number_of_operations = 1;
        // SAFETY: the pointer is to one live operation, as the number says; the kernel reads it
        // only. A set that is gone is an error.
        or_errno(unsafe { libc::semop(self.id, &raw mut operation, number_of_operations) })?;
        Ok(())
    }
}

impl Way for Semaphore {
    fn wait(&self) -> io::Result<()> {
        self.add(-1)
    }

    fn wake(&self) -> io::Result<()> {
        self.add(1)
    }

    fn remove(&self) {
        if !self.is_removed.swap(true, Ordering::Relaxed) {
            remove_set(self.id);
        }
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes a set; whoever waits in it gets an error.
pub(super) fn remove_set(id: libc::c_int) {
    // SAFETY: the call takes integers and touches no memory of ours; a set that is gone, or
    // another's, is an error.
    unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

/// The process that made this set, if it has our marks.
pub(super) fn owner_of_marked(id: libc::c_int) -> Option<Pid> {
    let (first, second) = (1, 2);
    // SAFETY: the call takes integers and touches no memory of ours; what is not there, or not
    // readable, is an error.
    let get = |number, what| unsafe { libc::semctl(id, number, what) };
    let marks = [first, second].map(|number| get(number, libc::GETVAL));
    if marks != MARKS {
        return None;
    }
    // Only the maker has ever changed a mark. 0 is a process of another namespace.
    Pid::from_raw(get(second, libc::GETPID)).filter(|pid| pid.as_raw_nonzero().get() > 0)
}

/// A POSIX message queue that no longer has a name.
pub(super) struct Queue(libc::mqd_t);

const MESSAGE: [u8; MESSAGE_BYTES as usize] = *b"wake up\0";
const MESSAGE_BYTES: u8 = 8;
/// Messages there is room for: the one awaited, and the one that ends the wait for it.
const MESSAGES: u8 = 2;
/// Names that are tried: queues of a run that was killed before it could remove the name may be in
/// the way.
const NAMES: u32 = 64;

impl Queue {
    pub(super) fn new() -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let process = rustix::process::getpid().as_raw_nonzero();
        let mut result = Err(Errno::EXIST.into());
        for _ in 0..NAMES {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            result = Self::named(&CString::new(format!("/teiji-{process}-{number}"))?);
            if !matches!(&result, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        result
    }

    /// Makes a new one and removes its name at once: it goes with its last descriptor, however the
    /// process ends.
    fn named(name: &CString) -> io::Result<Self> {
        // SAFETY: mq_attr consists of integers, for which zeroes are valid.
        let mut attributes: libc::mq_attr = unsafe { MaybeUninit::zeroed().assume_init() };
        attributes.mq_maxmsg = MESSAGES.into();
        attributes.mq_msgsize = MESSAGE_BYTES.into();
        let (flags, mode): (_, libc::c_uint) =
            (libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC, 0o600);
        // SAFETY: the name ends with a zero, and the attributes are initialised; both are alive
        // through the call and read only.
        let queue = unsafe { libc::mq_open(name.as_ptr(), flags, mode, &raw const attributes) };
        if queue < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the name ends with a zero and is alive through the call. It was made above, and
        // nobody else knows it.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        Ok(Queue(queue))
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this queue's, open until here, and used no more.
        unsafe { libc::mq_close(self.0) };
    }
}

impl Way for Queue {
    fn wait(&self) -> io::Result<()> {
        let mut message = [0_u8; MESSAGE.len()];
        // SAFETY: the buffer is alive and writable, of the length given; the queue is open as long
        // as `self` lives; the message's priority is not wanted.
        or_errno(unsafe {
            libc::mq_receive(self.0, message.as_mut_ptr().cast(), MESSAGE.len(), ptr::null_mut())
        })?;
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        let priority = 1;
        // SAFETY: the message is alive and as long as is said; the queue is open as long as `self`
        // lives.
        or_errno(unsafe {
            libc::mq_send(self.0, MESSAGE.as_ptr().cast(), MESSAGE.len(), priority)
        })?;
        Ok(())
    }
}

/// A signal to the thread that waits.
#[derive(Default)]
pub(super) struct Signal {
    /// Its number; 0 before it has said so.
    thread: AtomicI32,
}

impl Way for Signal {
    fn attach(&self) {
        self.thread.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
    }

    fn wait(&self) -> io::Result<()> {
        // musl's function goes on waiting when another signal comes, so the one that stops a run is
        // waited for too.
        let set = signal_set(&[signal(), WAKE]);
        let mut came = 0;
        // SAFETY: the set is initialised; both pointers are to live memory of the right types, the
        // second writable.
        zero_or_errno(unsafe { libc::sigwait(&raw const set, &raw mut came) })?;
        if came == signal() { Ok(()) } else { Err(Errno::INTR.into()) }
    }

    /// The system calls of glibc's `pthread_kill`, whichever C library this is built with: so it is
    /// what most programs do.
    fn wake(&self) -> io::Result<()> {
        let before = set_mask(u64::MAX);
        let (process, thread) =
            (rustix::process::getpid().as_raw_nonzero().get(), self.thread.load(Ordering::Relaxed));
        // SAFETY: tgkill takes three integers and touches no memory of ours; by naming our own
        // process it cannot reach a stranger even if the thread has ended; the thread
        // blocks the signal before it says its number, and no thread has the number 0.
        let sent = or_errno(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal()) });
        set_mask(before);
        sent.map(drop)
    }
}

/// The signal, which the thread that waits blocks with all others but the one that stops a run.
fn signal() -> libc::c_int {
    libc::SIGRTMIN()
}

/// Makes a set in a child that ends without removing it; returns its number.
#[cfg(test)]
pub(super) fn left_by_a_dead_process() -> libc::c_int {
    let (read, write) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child calls nothing that takes a lock: system calls and an exit that runs no
    // handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let written = Semaphore::new()
            .map(std::mem::ManuallyDrop::new)
            .map(|made| rustix::io::write(&write, &made.id.to_ne_bytes()));
        // SAFETY: ends the child at once, without destructors.
        unsafe { libc::_exit(i32::from(!matches!(written, Ok(Ok(4))))) };
    }
    let mut id = [0; 4];
    assert_eq!(rustix::io::read(&read, &mut id), Ok(4));
    rustix::process::waitpid(Pid::from_raw(child), rustix::process::WaitOptions::empty()).unwrap();
    i32::from_ne_bytes(id)
}
