// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a process start needs and safe code cannot do: the child's instructions, the four ways to
//! make a child, and the memory it shares with its parent. Nothing unsafe leaves this file.

use super::Method;
use crate::sys::{KERNEL_SIGNALS, set_mask, signal_set, zero_or_errno};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};
use std::arch::global_asm;
use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};
use system::Mapping;

// The whole child program, for each processor: clock_gettime(CLOCK_MONOTONIC), write 16 bytes of it
// to the standard output, exit_group(0). The system call and not the vDSO, which a program would
// have to find first. Constant data to this process: it is copied into a file of its own and runs
// only there.
global_asm!(
    ".pushsection .rodata.teiji_child, \"a\"",
    ".balign 4",
    ".globl teiji_child",
    ".hidden teiji_child",
    "teiji_child:",
    #[cfg(target_arch = "x86_64")]
    include_str!("child/x86_64.s"),
    #[cfg(target_arch = "aarch64")]
    include_str!("child/aarch64.s"),
    #[cfg(target_arch = "arm")]
    include_str!("child/arm.s"),
    #[cfg(target_arch = "riscv64")]
    include_str!("child/riscv64.s"),
    ".globl teiji_child_end",
    ".hidden teiji_child_end",
    "teiji_child_end:",
    ".popsection",
);

// SAFETY: both are defined above, at the beginning of the code and just behind it, in a section of
// constants that is at least one byte long; only their addresses are taken.
unsafe extern "C" {
    static teiji_child: u8;
    static teiji_child_end: u8;
}

/// The child's instructions.
pub(super) fn code() -> &'static [u8] {
    let begin = &raw const teiji_child;
    let length = (&raw const teiji_child_end).addr() - begin.addr();
    // SAFETY: the two symbols bound one run of bytes in one section of constants, which is loaded
    // for as long as the process lives, is never written, and has no alignment to keep as
    // bytes.
    unsafe { std::slice::from_raw_parts(begin, length) }
}

/// No signal.
const NO_SIGNALS: u64 = 0;
/// More than the kernel's `struct sigaction` on any processor. All zero it is the default action;
/// its first word is the handler.
type Action = [usize; 8];

/// Which signals have a handler in this process, a bit for each.
fn handled_signals() -> u64 {
    (1..=64_i32).fold(0, |handled, signal| {
        let mut action = Action::default();
        // SAFETY: the kernel writes at most its struct sigaction, which is shorter than `action`,
        // alive and writable; the action is asked for and not changed, and a signal that
        // does not exist is an error.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                ptr::null::<Action>(),
                action.as_mut_ptr(),
                KERNEL_SIGNALS,
            )
        };
        let has_handler = result == 0 && action[0] != libc::SIG_DFL && action[0] != libc::SIG_IGN;
        handled | u64::from(has_handler) << (signal - 1)
    })
}

/// Keeps every signal from the calling thread until it is dropped, those of the C library too:
/// their handlers must not run in a child that shares this memory.
pub(super) struct BlockedSignals(u64);

impl BlockedSignals {
    pub(super) fn new() -> Self {
        BlockedSignals(set_mask(!NO_SIGNALS))
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        set_mask(self.0);
    }
}

const READ_WRITE: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// A stack with a page below it that may not be touched.
fn stack() -> io::Result<Mapping> {
    const STACK: usize = 128 << 10;
    let guard = rustix::param::page_size();
    let stack = Mapping::new(guard + STACK, READ_WRITE, MapFlags::PRIVATE | MapFlags::STACK)?;
    // SAFETY: the first page lies in the mapping just made, of which nothing points anywhere yet. A
    // stack grows towards it.
    unsafe { rustix::mm::mprotect(stack.start().as_ptr(), guard, MprotectFlags::empty()) }?;
    Ok(stack)
}

/// What the child says before its exec; zero where it has said nothing.
#[derive(Default)]
pub(super) struct ChildReport {
    /// CLOCK_MONOTONIC when the call returned in the child.
    pub(super) child_ns: AtomicI64,
    /// Why it could not execute the program.
    pub(super) errno: AtomicI32,
}

/// What `posix_spawn` does in the child before the exec: the pipe as standard output, no signal
/// blocked.
struct SpawnSettings {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

// SAFETY: the pointers in it are to the C library's heap, which belongs to the process and to no
// thread, and to nothing else's memory; the value stays in its box, and only its owner uses and
// destroys it.
unsafe impl Send for SpawnSettings {}

impl SpawnSettings {
    /// In a box, because the C library does not promise that its types may be moved.
    fn new(output: &OwnedFd) -> io::Result<Box<Self>> {
        let mut settings = Box::new(MaybeUninit::<Self>::zeroed());
        let place = settings.as_mut_ptr();
        // SAFETY: `place` is to live, writable memory of the struct.
        let actions = unsafe { &raw mut (*place).actions };
        // SAFETY: as above; another field of it.
        let attributes = unsafe { &raw mut (*place).attributes };
        // SAFETY: the pointer is to writable memory of the type's size and alignment.
        zero_or_errno(unsafe { libc::posix_spawn_file_actions_init(actions) })?;
        // SAFETY: the same of the other type.
        zero_or_errno(unsafe { libc::posix_spawnattr_init(attributes) })?;
        // SAFETY: both were initialised by the two calls before, and all bytes were zeroed, which
        // is valid for the integers, pointers and arrays of these that they consist of.
        let mut settings = unsafe { settings.assume_init() };
        // SAFETY: the actions are initialised and borrowed by nobody else; the descriptors are only
        // numbers, looked at in the child.
        zero_or_errno(unsafe {
            libc::posix_spawn_file_actions_adddup2(
                &mut settings.actions,
                output.as_raw_fd(),
                libc::STDOUT_FILENO,
            )
        })?;
        let none = signal_set(&[]);
        // SAFETY: the attributes are initialised and borrowed by nobody else; the set is
        // initialised.
        zero_or_errno(unsafe {
            libc::posix_spawnattr_setsigmask(&mut settings.attributes, &raw const none)
        })?;
        let flags =
            libc::c_short::try_from(libc::POSIX_SPAWN_SETSIGMASK).map_err(io::Error::other)?;
        // SAFETY: the attributes are initialised and borrowed by nobody else; an unknown flag would
        // be an error.
        zero_or_errno(unsafe { libc::posix_spawnattr_setflags(&mut settings.attributes, flags) })?;
        Ok(settings)
    }
}

impl Drop for SpawnSettings {
    fn drop(&mut self) {
        // SAFETY: initialised in `new`, and destroyed once.
        unsafe { libc::posix_spawn_file_actions_destroy(&mut self.actions) };
        // SAFETY: the same.
        unsafe { libc::posix_spawnattr_destroy(&mut self.attributes) };
    }
}

/// The arguments of the program: a name. Since Linux 5.18 the kernel asks for at least one. No
/// environment.
const NAME: &CStr = c"teiji-child";

/// All that starts need, made beforehand.
pub(super) struct Launch {
    program: OwnedFd,
    /// The program's path as long as its descriptor is open, for `posix_spawn`, which takes no
    /// descriptor.
    path: CString,
    /// Becomes the child's standard output.
    output: OwnedFd,
    report: Mapping,
    stack: Mapping,
    settings: Box<SpawnSettings>,
    handled_signals: u64,
}

impl Launch {
    pub(super) fn new(program: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        Ok(Launch {
            path: CString::new(format!("/proc/self/fd/{}", program.as_raw_fd()))?,
            settings: SpawnSettings::new(&output)?,
            report: Mapping::new(size_of::<ChildReport>(), READ_WRITE, MapFlags::SHARED)?,
            stack: stack()?,
            handled_signals: handled_signals(),
            program,
            output,
        })
    }

    pub(super) fn report(&self) -> &ChildReport {
        // SAFETY: the mapping is page-aligned, at least as long as `ChildReport` and lives as long
        // as `self`; it began as zeroes, and every pattern of bits is valid for its
        // atomics. Parent and child touch it by those atomics only.
        unsafe { self.report.start::<ChildReport>().as_ref() }
    }

    /// Starts the program once and waits until it has ended. All signals should be blocked: see
    /// [`BlockedSignals`].
    pub(super) fn run(&self, method: Method) -> io::Result<WaitStatus> {
        let child = match method {
            Method::PosixSpawn => self.posix_spawn(),
            Method::Fork => self.fork(),
            // These two flags are what vfork is to the kernel: the parent is held until the child's
            // exec or end. The C library's function returns twice on one stack, which
            // Rust cannot bear; here the child has a stack of its own.
            Method::Vfork => self.clone(libc::CLONE_VM | libc::CLONE_VFORK),
            Method::Clone => self.clone(libc::CLONE_VM),
        }?;
        loop {
            // An error other than an interruption says that the child is gone, and that it was
            // reaped elsewhere.
            match waitpid(Some(child), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(status),
                Ok(None) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn posix_spawn(&self) -> io::Result<Pid> {
        let arguments = [NAME.as_ptr().cast_mut(), ptr::null_mut()];
        let environment = [ptr::null_mut()];
        let mut child = 0;
        // SAFETY: the path and the name are NUL-terminated strings, the two arrays end with a null
        // pointer, the actions and attributes are initialised; all live through the call,
        // which only reads them, and `child` is writable.
        zero_or_errno(unsafe {
            libc::posix_spawn(
                &mut child,
                self.path.as_ptr(),
                &self.settings.actions,
                &self.settings.attributes,
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        })?;
        Pid::from_raw(child).ok_or_else(|| Errno::SRCH.into())
    }

    fn fork(&self) -> io::Result<Pid> {
        // SAFETY: the child may have been forked from a process of many threads, so it may do only
        // what is async-signal-safe: `become_program` makes system calls and never returns,
        // so nothing of Rust's is run or dropped twice.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => self.become_program(),
            child => Pid::from_raw(child).ok_or_else(|| Errno::SRCH.into()),
        }
    }

    /// A child in the same memory, on a stack of its own. It belongs to no function but `run`,
    /// which reaps the child: a second one must not be given the stack before.
    fn clone(&self, flags: libc::c_int) -> io::Result<Pid> {
        let argument = ptr::from_ref(self).cast_mut().cast();
        let end = self.stack.start::<u8>().as_ptr().wrapping_add(self.stack.bytes()).cast();
        // SAFETY:
        // - The stack is mapped, 16-byte aligned at its end as all pages are, large enough, guarded
        //   below, and used by one child at a time: `run` returns only after the child is gone, and
        //   `self` cannot be shared between threads.
        // - The argument points to `self`, which outlives the child for the same reason; the child
        //   reads it only.
        // - The child shares the thread pointer of the calling thread, so also its errno. It calls
        //   no C function that uses anything else of it, and the parent makes no call that touches
        //   errno until the child has been reaped.
        // - No signal handler runs in the child: all signals are blocked at the call, and it drops
        //   handlers before unblocking.
        // - Without the flags that need them, the remaining arguments are not looked at.
        match unsafe { libc::clone(child_main, end, flags | libc::SIGCHLD, argument) } {
            -1 => Err(io::Error::last_os_error()),
            child => Pid::from_raw(child).ok_or_else(|| Errno::SRCH.into()),
        }
    }

    /// What the child does after the call has returned in it. It allocates nothing, takes no lock
    /// and cannot panic: it may be in its parent's memory, or the copy of a process whose other
    /// threads held locks.
    fn become_program(&self) -> ! {
        self.report().child_ns.store(super::monotonic_ns(), Ordering::Relaxed);
        let error = self.exec();
        self.report().errno.store(error, Ordering::Relaxed);
        // SAFETY: `_exit` takes any status, and runs nothing of this process's.
        unsafe { libc::_exit(127) }
    }

    /// The number of the error, if it returns.
    fn exec(&self) -> libc::c_int {
        let standard: Action = Action::default();
        let arguments = [NAME.as_ptr(), ptr::null()];
        let environment = [ptr::null::<libc::c_char>()];
        // SAFETY: dup2 takes two integers. The descriptors are a copy of the parent's, not shared
        // with it.
        if unsafe { libc::dup2(self.output.as_raw_fd(), libc::STDOUT_FILENO) } < 0 {
            return errno();
        }
        // An exec would do that too, but a signal may come before it, and a handler of the parent's
        // would run in its memory.
        for signal in (1..=64_i32).filter(|signal| self.handled_signals >> (signal - 1) & 1 == 1) {
            // SAFETY: the kernel reads its struct sigaction, which is shorter than `standard`,
            // alive and initialised. All zero, it is the default action. Actions are a
            // copy of the parent's, not shared with it.
            unsafe {
                libc::syscall(
                    libc::SYS_rt_sigaction,
                    signal,
                    standard.as_ptr(),
                    ptr::null_mut::<Action>(),
                    KERNEL_SIGNALS,
                )
            };
        }
        set_mask(NO_SIGNALS);
        // SAFETY: the descriptor is open, the path is an empty string, which with AT_EMPTY_PATH
        // means the descriptor's file; the arrays end with a null pointer, and all is alive
        // until the call has replaced this program or returned.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                self.program.as_raw_fd(),
                c"".as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
                libc::AT_EMPTY_PATH,
            )
        };
        errno()
    }
}

/// The child's own; in a child that shares its parent's memory, the calling thread's.
fn errno() -> libc::c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

extern "C" fn child_main(launch: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Launch::clone` gives a pointer to itself, which it keeps alive and unchanged until
    // this child is gone.
    let launch = unsafe { &*launch.cast::<Launch>() };
    launch.become_program()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Gives the calling thread a table of descriptors of its own, so that it can count them while
    /// other tests open files.
    pub(crate) fn unshare_descriptors() {
        // SAFETY: the descriptors of the process are copied, so all that this thread owns stay
        // valid in it.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
    }

    /// For tests that look at all children of the process, or at its signal actions, which its
    /// threads share.
    pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
        static LOCK: Mutex<()> = Mutex::new(());
        LOCK.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program whose standard output nobody reads: writing ends it, unless it blocks or ignores
    /// SIGPIPE.
    fn unread() -> Launch {
        let program = super::super::program_in_memory(&super::super::image::image(code())).unwrap();
        let (_unread, output) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        Launch::new(program, output).unwrap()
    }

    fn ended_by<const N: usize>(launch: &Launch, methods: [Method; N]) -> [Option<libc::c_int>; N] {
        let _signals = BlockedSignals::new();
        methods.map(|method| launch.run(method).unwrap().terminating_signal())
    }

    #[test]
    fn no_signal_is_blocked_in_the_child() {
        let _alone = one_at_a_time();
        let launch = unread();
        // SAFETY: the default action is the kernel's own; nothing in this crate's tests but the
        // child writes to a broken pipe.
        let before = unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let ended = ended_by(&launch, Method::ALL);
        // SAFETY: the action that was there.
        unsafe { libc::signal(libc::SIGPIPE, before) };
        assert_eq!(ended, [Some(libc::SIGPIPE); 4]);
    }

    /// Else a handler of the parent's could run in a child that shares its memory. The test's
    /// SIGPIPE is ignored, and stays so through an exec unless the child puts it back to its
    /// default.
    #[test]
    fn what_has_a_handler_is_reset_before_the_exec() {
        let _alone = one_at_a_time();
        let mut launch = unread();
        let methods = [Method::Fork, Method::Vfork, Method::Clone];
        assert_eq!(ended_by(&launch, methods), [None; 3]);
        launch.handled_signals |= 1 << (libc::SIGPIPE - 1);
        assert_eq!(ended_by(&launch, methods), [Some(libc::SIGPIPE); 3]);
    }

    #[test]
    fn the_signals_that_have_handlers() {
        let has_handler = |signal: libc::c_int| handled_signals() >> (signal - 1) & 1 == 1;
        crate::sys::let_wake_interrupt().unwrap();
        assert!(has_handler(libc::SIGURG));
        // The first is at its default, the second cannot have one.
        assert!(!has_handler(libc::SIGWINCH) && !has_handler(libc::SIGKILL));
    }
}
