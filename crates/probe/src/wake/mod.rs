// SPDX-License-Identifier: MIT OR Apache-2.0
//! One thread wakes another, timed: the ways to do it, and the thread that wakes.
//!
//! The measuring thread asks its partner, a thread of the same scheduling, to wake it, and waits in
//! one of the [`Way`]s. The partner, which has waited to be asked in the same way, reads the clock
//! and wakes it; the measuring thread reads the clock as the first thing after. So whatever the
//! kernel does in the wake-up that is timed, it has just done. The partner ends when the
//! [`Partner`] is dropped.

mod left_over;
mod partner;
#[expect(unsafe_code, reason = "calls without a safe interface; see the file's head")]
mod sys;

pub(crate) use partner::{Partner, Woke};

use rustix::event::EventfdFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::thread::futex;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// How one thread waits and another wakes it. Wake-ups are counted by the kernel or in memory: one
/// that comes before the wait ends it at once. All signals are blocked in the thread that waits,
/// but perhaps the one that stops a run.
pub(crate) trait Way: Send + Sync {
    /// Prepares for waits of the calling thread, which is the only one that does.
    fn attach(&self) {}

    /// Waits for one wake-up. Ends with EINTR where the signal that stops a run came first, or
    /// [`Way::release`].
    fn wait(&self) -> io::Result<()>;

    /// Wakes the thread that waits. Never blocks as long as at most one wake-up before it was not
    /// taken yet.
    fn wake(&self) -> io::Result<()>;

    /// Ends a wait that no signal ends, or the next one, with EINTR. Never blocks.
    fn release(&self) {}

    /// Removes what would outlive the process. Called when no more is measured, perhaps while the
    /// partner still waits.
    fn remove(&self) {}
}

/// A way to wake, as it is named and made.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) wake_call: &'static str,
    pub(crate) wait_call: &'static str,
    make: fn() -> io::Result<Box<dyn Way>>,
    /// The kernel option it depends on.
    option: &'static str,
    limit: &'static str,
}

/// All ways. The first is the default.
pub(crate) const WAYS: [Named; 8] = [
    Named {
        name: "futex",
        wake_call: "futex(FUTEX_WAKE)",
        wait_call: "futex(FUTEX_WAIT)",
        make: || Ok(Box::new(Futex::default())),
        option: "CONFIG_FUTEX",
        limit: "memory",
    },
    Named {
        name: "mutex",
        wake_call: "pthread_mutex_lock, pthread_mutex_unlock and pthread_cond_signal",
        wait_call: "pthread_cond_wait and pthread_mutex_unlock",
        make: || Ok(Box::new(sys::Condition::new())),
        option: "CONFIG_FUTEX",
        limit: "memory",
    },
    Named {
        name: "semaphore",
        wake_call: "semop",
        wait_call: "semop",
        make: semaphore,
        option: "CONFIG_SYSVIPC",
        limit: "kernel.sem",
    },
    Named {
        name: "mq",
        wake_call: "mq_send",
        wait_call: "mq_receive",
        make: || Ok(Box::new(sys::Queue::new()?)),
        option: "CONFIG_POSIX_MQUEUE",
        limit: "fs.mqueue.queues_max or RLIMIT_MSGQUEUE",
    },
    Named {
        name: "signal",
        wake_call: "tgkill (as glibc's pthread_kill)",
        wait_call: "sigwait",
        make: || Ok(Box::new(sys::Signal::default())),
        option: "none",
        limit: "RLIMIT_SIGPENDING",
    },
    Named {
        name: "eventfd",
        wake_call: "write to an eventfd",
        wait_call: "read of an eventfd",
        make: || Ok(Box::new(EventFile(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?))),
        option: "CONFIG_EVENTFD",
        limit: "RLIMIT_NOFILE",
    },
    Named {
        name: "pipe",
        wake_call: "write to a pipe",
        wait_call: "read of a pipe",
        make: pipe,
        option: "none",
        limit: "RLIMIT_NOFILE",
    },
    Named {
        name: "socketpair",
        wake_call: "write to a UNIX stream socket",
        wait_call: "read of a UNIX stream socket",
        make: sockets,
        option: "CONFIG_UNIX",
        limit: "RLIMIT_NOFILE",
    },
];

fn semaphore() -> io::Result<Box<dyn Way>> {
    left_over::remove();
    Ok(Box::new(sys::Semaphore::new()?))
}

fn pipe() -> io::Result<Box<dyn Way>> {
    let (output, input) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    Ok(Box::new(Bytes { input, output }))
}

fn sockets() -> io::Result<Box<dyn Way>> {
    let (input, output) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    Ok(Box::new(Bytes { input, output }))
}

/// The names of [`WAYS`].
pub(crate) const NAMES: &[&str] = &{
    let mut names = [""; WAYS.len()];
    let mut index = 0;
    while index < WAYS.len() {
        names[index] = WAYS[index].name;
        index += 1;
    }
    names
};

impl Named {
    /// The way of this name, which is one of them.
    pub(crate) fn of(name: &str) -> &'static Named {
        WAYS.iter().find(|way| way.name == name).unwrap_or(&WAYS[0])
    }

    /// What the machine lacks for it, in one line.
    pub(crate) fn lacks(&self) -> Option<String> {
        let error = (self.make)().map(|way| way.remove()).err()?;
        Some(match Errno::from_io_error(&error) {
            Some(Errno::NOSYS | Errno::AFNOSUPPORT) => {
                format!(
                    "the kernel was built without what --by {} needs ({})",
                    self.name, self.option
                )
            }
            Some(Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
                format!("a limit is reached for --by {}: {error}. Raise {}", self.name, self.limit)
            }
            _ => format!("what --by {} needs cannot be made: {error}", self.name),
        })
    }
}

/// A word in memory that the kernel waits on.
#[derive(Default)]
struct Futex {
    wakes: AtomicU32,
    /// Those that were waited for; only the waiting thread's.
    taken: AtomicU32,
}

impl Way for Futex {
    fn wait(&self) -> io::Result<()> {
        let taken = self.taken.load(Ordering::Relaxed);
        while self.wakes.load(Ordering::Acquire) == taken {
            match futex::wait(&self.wakes, futex::Flags::PRIVATE, taken, None) {
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.taken.store(taken.wrapping_add(1), Ordering::Relaxed);
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        self.wakes.fetch_add(1, Ordering::Release);
        futex::wake(&self.wakes, futex::Flags::PRIVATE, 1)?;
        Ok(())
    }
}

/// A counter that the kernel keeps behind a file.
struct EventFile(OwnedFd);

impl Way for EventFile {
    fn wait(&self) -> io::Result<()> {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count)?;
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

/// One byte through a pipe or a pair of sockets.
struct Bytes {
    input: OwnedFd,
    output: OwnedFd,
}

impl Way for Bytes {
    fn wait(&self) -> io::Result<()> {
        let mut byte = [0];
        rustix::io::read(&self.output, &mut byte)?;
        Ok(())
    }

    fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.input, &[1])?;
        Ok(())
    }
}
