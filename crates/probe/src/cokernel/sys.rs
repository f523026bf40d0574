// SPDX-License-Identifier: MIT OR Apache-2.0
//! The calls of Cobalt and EVL, each wrapped so that nothing unsafe leaves this file. Numbers and
//! layouts are those of x86_64 and arm64, which are both little-endian and of 64 bits. Elsewhere
//! nobody calls them: [`super::is_known_processor`] is asked first.

use rustix::io::Errno;
use rustix::ioctl::opcode;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// In the number of a system call: it is for the co-kernel.
const TO_CO_KERNEL: i64 = 0x1000_0000;
/// The first argument of a prctl that is for the co-kernel.
const PR_OOB_SYSCALL: i64 = 0x4f4f_4243;

/// Numbers of Cobalt's calls, the same in 3.0 to 3.3 where nothing else is said.
mod cobalt {
    pub(super) const BIND: i64 = 0;
    pub(super) const SET_MODE: i64 = 3;
    pub(super) const SET_SCHEDULING: i64 = 7;
    pub(super) const GET_STATISTICS: i64 = 9;
    pub(super) const CLOCK_GETTIME: i64 = 23;
    pub(super) const CLOCK_NANOSLEEP: i64 = 25;
    pub(super) const TIMERFD_CREATE: i64 = 57;
    /// With times of 64 bits before 3.3, and of 32 since.
    pub(super) const TIMERFD_SETTIME: i64 = 58;
    pub(super) const CLOSE: i64 = 79;
    pub(super) const READ: i64 = 81;
    /// With times of 64 bits, since 3.3.
    pub(super) const TIMERFD_SETTIME64: i64 = 118;
    pub(super) const MIGRATE: i64 = 88;
}

/// EVL's out-of-band ioctl.
const EVL_IOCTL: i64 = 2;

/// How EVL is called on its own stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// A system call whose number says that it is for the core.
    SystemCall,
    /// prctl, with that number as its option.
    PrctlNumber,
    /// prctl, with an option that says so, and the number after it.
    PrctlOption,
}

/// What a process tells Cobalt and what that answers (`cobalt_bindreq`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BindRequest {
    features_wanted: u32,
    pub(crate) revision: u32,
    clock_frequency: u64,
    vdso_offset: u32,
    /// The core's own, which is filled in even where it refuses ours.
    pub(crate) core_revision: u32,
    features: [u32; 4],
    /// Four times 64 bytes of their names.
    names: [[u64; 8]; 4],
    /// Whatever an architecture or a later revision may add.
    spare: [u64; 16],
}

impl BindRequest {
    /// By this revision, without wishes.
    pub(crate) fn by(revision: u32) -> BindRequest {
        BindRequest { revision, ..BindRequest::default() }
    }
}

/// What EVL says of itself (`evl_core_info`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoreInfo {
    /// The oldest revision that it still serves.
    pub(crate) base: u32,
    pub(crate) current: u32,
    fpu: u32,
    shared_memory: u64,
}

#[cfg(test)]
impl CoreInfo {
    /// Of a core of these revisions.
    pub(crate) fn of(base: u32, current: u32) -> CoreInfo {
        CoreInfo { base, current, ..CoreInfo::default() }
    }
}

/// `evl_clone_req`.
#[repr(C)]
#[derive(Default)]
struct CloneRequest {
    name: u64,
    attributes: u64,
    flags: u32,
    ids: [u32; 3],
    file: u32,
}

/// `evl_sched_attrs`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct EvlScheduling {
    policy: i32,
    priority: i32,
    of_policy: [u64; 2],
}

/// `evl_thread_state`.
#[repr(C)]
#[derive(Default)]
struct EvlState {
    scheduling: EvlScheduling,
    cpu: u32,
    state: u32,
    in_band_switches: u32,
    context_switches: u32,
    calls: u32,
    wakeups: u32,
    time: u64,
}

/// Seconds and nanoseconds, both of 64 bits.
type Time = [i64; 2];

const GET_CORE_INFO: u32 = opcode::read::<CoreInfo>(b'C', 0);
const CLONE: u32 = opcode::read_write::<CloneRequest>(b'f', 0);
const SET_SCHEDULING: u32 = opcode::write::<EvlScheduling>(b'T', 1);
const GET_STATE: u32 = opcode::read::<EvlState>(b'T', 4);
const SWITCH_OUT_OF_BAND: u32 = opcode::none(b'T', 5);
const DETACH: u32 = opcode::none(b'T', 7);
const SLEEP: u32 = opcode::write::<Time>(b'c', 0);
const GET_TIME: u32 = opcode::read::<Time>(b'c', 2);

/// CLOCK_MONOTONIC and TIMER_ABSTIME.
const MONOTONIC: i64 = 1;
const ABSOLUTE: i64 = 1;

const SECOND: i64 = 1_000_000_000;

const fn time_of(ns: i64) -> Time {
    [ns.div_euclid(SECOND), ns.rem_euclid(SECOND)]
}

const fn ns_of([seconds, ns]: Time) -> i64 {
    seconds * SECOND + ns
}

/// A number as the C library takes that of a call or of one of its arguments, which is of 64 bits
/// on the processors that this is for.
#[allow(
    clippy::cast_possible_truncation,
    clippy::unnecessary_cast,
    reason = "it is narrower on other processors, where nobody calls"
)]
const fn word(number: i64) -> libc::c_long {
    number as libc::c_long
}

/// A file's number, as an argument of a call.
fn number_of(file: &File) -> libc::c_long {
    word(file.as_raw_fd().into())
}

/// The result of a call of the C library.
fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Binds this process to Cobalt, by this revision. Where there is no Cobalt the call fails and does
/// nothing.
pub(crate) fn bind(request: &mut BindRequest) -> io::Result<()> {
    let number = word(TO_CO_KERNEL | cobalt::BIND);
    // SAFETY: the pointer is to initialised memory that is writable and alive through the call.
    // Cobalt reads the first 8 bytes of it and writes its `cobalt_bindreq`, 296 bytes, or fewer
    // by what an architecture leaves out, and the struct is longer. A kernel without Cobalt has
    // no call of this number.
    checked(unsafe { libc::syscall(number, ptr::from_mut(request)) })
}

/// Makes the calling thread one of Cobalt, or gives it another scheduling there.
pub(crate) fn cobalt_set_scheduling(policy: i32, priority: i32) -> io::Result<()> {
    let mut parameters = [0_i32; 16];
    parameters[0] = priority;
    let mut window_offset = 0_u32;
    let mut promoted = 0_i32;
    // SAFETY: pthread_self has no preconditions and cannot fail.
    let own = unsafe { libc::pthread_self() };
    let number = word(TO_CO_KERNEL | cobalt::SET_SCHEDULING);
    // SAFETY: all three pointers are to live, initialised memory. Cobalt reads a `sched_param_ex`,
    // 56 bytes, from the first, which is to 64, and writes one u32 and one int to the others.
    // The thread is only a key to it, unique in this process.
    checked(unsafe {
        libc::syscall(
            number,
            own,
            word(policy.into()),
            &raw const parameters,
            &raw mut window_offset,
            &raw mut promoted,
        )
    })
}

/// To Cobalt's stage.
pub(crate) fn cobalt_migrate() -> io::Result<()> {
    const PRIMARY: i64 = 1;
    // SAFETY: the call takes one integer and touches no memory of ours.
    checked(unsafe { libc::syscall(word(TO_CO_KERNEL | cobalt::MIGRATE), word(PRIMARY)) })
}

/// Clears and sets modes of the calling thread.
pub(crate) fn cobalt_set_mode(clear: u32, set: u32) -> io::Result<()> {
    let not_wanted: *mut libc::c_int = ptr::null_mut();
    let (number, clear, set) =
        (word(TO_CO_KERNEL | cobalt::SET_MODE), word(clear.into()), word(set.into()));
    // SAFETY: the call takes two integers; where the old modes would go is null, so nothing is
    // written.
    checked(unsafe { libc::syscall(number, clear, set, not_wanted) })
}

/// How often the calling thread fell back to Linux, as Cobalt's statistics have it: always 0 in one
/// that keeps none.
pub(crate) fn cobalt_mode_switches() -> io::Result<u64> {
    /// Of `cobalt_threadstat`, which begins with CPU time, timeout, and this.
    const SWITCHES: usize = 2;
    let mut statistics = [0_u64; 64];
    let calling_thread = word(0);
    let number = word(TO_CO_KERNEL | cobalt::GET_STATISTICS);
    // SAFETY: the pointer is to writable memory, alive through the call, of 512 bytes, four times
    // what Cobalt writes; any bits are valid integers.
    checked(unsafe { libc::syscall(number, calling_thread, &raw mut statistics) })?;
    Ok(statistics[SWITCHES])
}

/// Cobalt's CLOCK_MONOTONIC, ns.
pub(crate) fn cobalt_now() -> io::Result<i64> {
    let mut time: Time = [0; 2];
    // SAFETY: the pointer is to writable memory of the size and layout of a timespec of 64 bits,
    // alive through the call.
    checked(unsafe {
        libc::syscall(word(TO_CO_KERNEL | cobalt::CLOCK_GETTIME), word(MONOTONIC), &raw mut time)
    })?;
    Ok(ns_of(time))
}

/// Sleeps until an absolute time of Cobalt's CLOCK_MONOTONIC.
pub(crate) fn cobalt_sleep_until(ns: i64) -> io::Result<()> {
    let time = time_of(ns);
    let left: *mut Time = ptr::null_mut();
    let number = word(TO_CO_KERNEL | cobalt::CLOCK_NANOSLEEP);
    // SAFETY: the pointer is to an initialised timespec of 64 bits, alive through the call; what is
    // left is not wanted.
    checked(unsafe {
        libc::syscall(number, word(MONOTONIC), word(ABSOLUTE), &raw const time, left)
    })
}

/// Makes a timer file of Cobalt on its CLOCK_MONOTONIC. Its number is one of this process's files,
/// which Cobalt has to close.
pub(crate) fn cobalt_make_timer() -> io::Result<libc::c_int> {
    let (number, no_flags) = (word(TO_CO_KERNEL | cobalt::TIMERFD_CREATE), word(0));
    // SAFETY: the call takes two integers and touches no memory of ours.
    let file = unsafe { libc::syscall(number, word(MONOTONIC), no_flags) };
    checked(file)?;
    libc::c_int::try_from(file).map_err(|_| Errno::BADF.into())
}

/// Starts a timer file of Cobalt: it expires once, at this absolute time. `is_3_3` is whether it is
/// that of Xenomai 3.3 or later.
pub(crate) fn cobalt_start_timer(is_3_3: bool, file: libc::c_int, ns: i64) -> io::Result<()> {
    let times: [Time; 2] = [time_of(0), time_of(ns)];
    let old: *mut [Time; 2] = ptr::null_mut();
    let number = word(
        TO_CO_KERNEL | if is_3_3 { cobalt::TIMERFD_SETTIME64 } else { cobalt::TIMERFD_SETTIME },
    );
    // SAFETY: the pointer is to an initialised itimerspec of 64-bit times, alive through the call;
    // the old setting is not wanted. A number that is no timer file of Cobalt's in this process
    // is refused.
    checked(unsafe {
        libc::syscall(number, word(file.into()), word(ABSOLUTE), &raw const times, old)
    })
}

/// Waits until a timer file of Cobalt has expired since it was read last.
pub(crate) fn cobalt_await_timer(file: libc::c_int) -> io::Result<()> {
    let mut expiries = 0_u64;
    let (number, size) = (word(TO_CO_KERNEL | cobalt::READ), word(8));
    // SAFETY: the pointer is to 8 bytes of writable memory, alive through the call, and the size
    // says so.
    let read = unsafe { libc::syscall(number, word(file.into()), &raw mut expiries, size) };
    checked(read)?;
    if read == size { Ok(()) } else { Err(Errno::IO.into()) }
}

/// Closes a timer file of Cobalt.
pub(crate) fn cobalt_close(file: libc::c_int) {
    // SAFETY: the call takes one integer; a number that is no file of Cobalt's is refused.
    let _ = unsafe { libc::syscall(word(TO_CO_KERNEL | cobalt::CLOSE), word(file.into())) };
}

/// What Cobalt's notice of a thread that fell back has in its upper half.
const MARKER: usize = 0xfccf_0000;

thread_local! {
    /// Notices to this thread.
    static NOTICES: AtomicU64 = const { AtomicU64::new(0) };
}

extern "C" fn noticed(
    _signal: libc::c_int,
    information: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    // SAFETY: the handler was installed with SA_SIGINFO, so the kernel has passed a valid
    // siginfo_t.
    let information = unsafe { &*information };
    // SAFETY: any bits are a valid sigval, and where the signal carries none this is what else
    // stands there.
    let value = unsafe { information.si_value() };
    // Another is of the limit on CPU time, which the kernel enforces by itself where it is a hard
    // one.
    if value.sival_ptr.addr() & 0xffff_0000 == MARKER {
        NOTICES.with(|notices| notices.fetch_add(1, Ordering::Relaxed));
    }
}

/// Lets Cobalt's notices come to the calling thread, and counts them.
pub(crate) fn count_notices() -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = noticed;
    let action = system::signal_action(handler as *const (), libc::SA_SIGINFO);
    // SAFETY: the action is initialised; its handler only touches an atomic of a thread-local
    // without destructor, which is there from the beginning; it takes the three arguments of
    // SA_SIGINFO; the old action is not wanted.
    let result = unsafe { libc::sigaction(libc::SIGXCPU, &raw const action, ptr::null_mut()) };
    checked(result.into())?;
    crate::sys::unblock(&[libc::SIGXCPU]);
    Ok(())
}

/// How many came to the calling thread.
pub(crate) fn notices() -> u64 {
    NOTICES.with(|notices| notices.load(Ordering::Relaxed))
}

/// What EVL says of itself.
pub(crate) fn evl_core_info(control: &File) -> io::Result<CoreInfo> {
    let mut info = CoreInfo::default();
    // SAFETY: the file is open; the pointer is to writable memory, alive through the call, of the
    // size that the request's number has, which the kernel compares with its own.
    checked(unsafe {
        libc::syscall(
            libc::SYS_ioctl,
            number_of(control),
            word(GET_CORE_INFO.into()),
            &raw mut info,
        )
    })?;
    Ok(info)
}

/// Makes the calling thread one of EVL, without a name. The file stands for it.
pub(crate) fn evl_attach(factory: &File) -> io::Result<File> {
    let mut clone = CloneRequest::default();
    // SAFETY: the file is open; the pointer is to initialised, writable memory, alive through the
    // call, of the size that the request's number has; the pointers in it are null, which
    // stands for no name and no attributes.
    checked(unsafe {
        libc::syscall(libc::SYS_ioctl, number_of(factory), word(CLONE.into()), &raw mut clone)
    })?;
    let file = i32::try_from(clone.file).map_err(|_| Errno::BADF)?;
    // SAFETY: EVL has just opened this file for us and given its number to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(file) }.into())
}

/// Makes the calling thread an ordinary one again.
pub(crate) fn evl_detach(thread: &File) -> io::Result<()> {
    // SAFETY: the file is open; the request has no data.
    checked(unsafe {
        libc::syscall(libc::SYS_ioctl, number_of(thread), word(DETACH.into()), word(0))
    })
}

/// An ioctl on EVL's stage.
///
/// # Safety
/// `data` is a pointer to memory, alive and as the request needs it, or 0 for a request without
/// data.
unsafe fn evl_ioctl<T>(
    convention: Convention,
    file: &File,
    request: u32,
    data: *mut T,
) -> io::Result<()> {
    let (file, request, flagged) =
        (number_of(file), word(request.into()), word(TO_CO_KERNEL | EVL_IOCTL));
    checked(match convention {
        // SAFETY: the caller's promise; the file is open.
        Convention::SystemCall => unsafe { libc::syscall(flagged, file, request, data) },
        // SAFETY: as above. To prctl of a kernel without EVL this is an unknown option.
        Convention::PrctlNumber => unsafe {
            libc::syscall(libc::SYS_prctl, flagged, file, request, data)
        },
        // SAFETY: as above.
        Convention::PrctlOption => unsafe {
            libc::syscall(
                libc::SYS_prctl,
                word(PR_OOB_SYSCALL),
                word(EVL_IOCTL),
                file,
                request,
                data,
            )
        },
    })
}

/// Gives the calling thread a scheduling on EVL's stage.
pub(crate) fn evl_set_scheduling(
    convention: Convention,
    thread: &File,
    policy: i32,
    priority: i32,
) -> io::Result<()> {
    let mut scheduling = EvlScheduling { policy, priority, ..EvlScheduling::default() };
    // SAFETY: the request reads a struct of this type, which is initialised and alive through the
    // call.
    unsafe { evl_ioctl(convention, thread, SET_SCHEDULING, &raw mut scheduling) }
}

/// To EVL's stage.
pub(crate) fn evl_switch_out_of_band(convention: Convention, thread: &File) -> io::Result<()> {
    // SAFETY: the request has no data.
    unsafe { evl_ioctl::<()>(convention, thread, SWITCH_OUT_OF_BAND, ptr::null_mut()) }
}

/// How often the thread fell back to Linux; none where the core keeps no statistics: then every
/// count is 0, and a thread that runs there has been switched to and has made calls.
pub(crate) fn evl_in_band_switches(
    convention: Convention,
    thread: &File,
) -> io::Result<Option<u64>> {
    let mut state = EvlState::default();
    // SAFETY: the request writes a struct of this type, which is writable and alive through the
    // call.
    unsafe { evl_ioctl(convention, thread, GET_STATE, &raw mut state) }?;
    let are_kept = state.context_switches != 0 || state.calls != 0;
    Ok(are_kept.then(|| state.in_band_switches.into()))
}

/// The time of an EVL clock, ns.
pub(crate) fn evl_now(convention: Convention, clock: &File) -> io::Result<i64> {
    let mut time: Time = [0; 2];
    // SAFETY: the request writes two integers of 64 bits, which are writable and alive through the
    // call.
    unsafe { evl_ioctl(convention, clock, GET_TIME, &raw mut time) }?;
    Ok(ns_of(time))
}

/// Sleeps until an absolute time of an EVL clock.
pub(crate) fn evl_sleep_until(convention: Convention, clock: &File, ns: i64) -> io::Result<()> {
    let mut time = time_of(ns);
    // SAFETY: the request reads two integers of 64 bits, which are initialised and alive through
    // the call.
    unsafe { evl_ioctl(convention, clock, SLEEP, &raw mut time) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// As the kernels' headers have them.
    #[test]
    fn layouts_and_numbers() {
        assert_eq!(offset_of!(BindRequest, core_revision), 20);
        assert_eq!(offset_of!(BindRequest, names), 40);
        assert_eq!(size_of::<BindRequest>(), 296 + 128);
        assert_eq!((size_of::<CoreInfo>(), offset_of!(CoreInfo, shared_memory)), (24, 16));
        assert_eq!((size_of::<CloneRequest>(), offset_of!(CloneRequest, file)), (40, 32));
        assert_eq!(size_of::<EvlScheduling>(), 24);
        assert_eq!((size_of::<EvlState>(), offset_of!(EvlState, in_band_switches)), (56, 32));
        assert_eq!((GET_CORE_INFO, CLONE, SET_SCHEDULING), (0x8018_4300, 0xc028_6600, 0x4018_5401));
        assert_eq!((GET_STATE, SWITCH_OUT_OF_BAND, DETACH), (0x8038_5404, 0x5405, 0x5407));
        assert_eq!((SLEEP, GET_TIME), (0x4010_6300, 0x8010_6302));
    }

    #[test]
    fn times_are_split_and_joined() {
        for ns in [0, 1, 999_999_999, 1_000_000_000, 7_500_000_001] {
            assert_eq!(ns_of(time_of(ns)), ns);
        }
        assert_eq!(time_of(7_500_000_001), [7, 500_000_001]);
    }

    /// What Cobalt sends is counted by the thread that it is sent to.
    #[test]
    fn notices_are_counted_by_thread() {
        let counted = std::thread::spawn(|| {
            count_notices().unwrap();
            let value = libc::sigval { sival_ptr: std::ptr::without_provenance_mut(MARKER | 2) };
            // SAFETY: pthread_self has no preconditions.
            let own = unsafe { libc::pthread_self() };
            for _ in 0..3 {
                // SAFETY: the thread is the calling one, which has a handler for the signal.
                assert_eq!(unsafe { libc::pthread_sigqueue(own, libc::SIGXCPU, value) }, 0);
            }
            notices()
        });
        assert_eq!((counted.join().unwrap(), notices()), (3, 0));
    }
}
