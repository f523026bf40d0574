// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads on a co-kernel beside Linux, through its raw interface: nothing of its libraries is
//! linked or loaded.
//!
//! `cobalt.rs` and `evl.rs` find their core and have its calls, the same few of each ([`Stage`]);
//! [`OnCore`] makes a measuring thread of them. A thread of a co-kernel falls back to Linux when it
//! makes a system call of Linux, faults or gets a signal, and what it measures then is Linux. How
//! often it did between its first and its last row is counted.

pub(crate) mod cobalt;
pub(crate) mod evl;
#[expect(unsafe_code, reason = "system calls without a safe interface; see the file's head")]
mod sys;

use crate::attachment::{Attachment, Linux};
use crate::outcome::{SampleError, Woken};
use crate::{Monotonic, sys as linux};
use model::CoKernel;
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::io;
use std::path::{Path, PathBuf};
use system::named;
use system::usage::ThreadUsage;

/// A running co-kernel that lets us measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Core {
    name: &'static str,
    version: Option<String>,
    abi: u32,
    gravity: Option<String>,
}

#[cfg(test)]
impl Core {
    pub(crate) fn example(name: &'static str) -> Core {
        Core { name, version: None, abi: 1, gravity: None }
    }
}

impl From<Core> for CoKernel {
    fn from(core: Core) -> CoKernel {
        CoKernel {
            name: core.name.to_owned(),
            version: core.version,
            abi: core.abi,
            gravity: core.gravity,
            chosen: false,
        }
    }
}

/// Why there is no measuring on a co-kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Absence {
    #[error("there is no {core} in the running kernel: {kernel}")]
    NoCore { core: &'static str, kernel: &'static str },
    #[error("{core} is stopped: {start}")]
    Stopped { core: &'static str, start: &'static str },
    #[error("{core} does not permit it: {how}")]
    NotPermitted { core: &'static str, how: &'static str },
    #[error("the running {core} has ABI revision {revision}, which is unknown. Known are {known}")]
    UnknownRevision { core: &'static str, revision: u32, known: &'static str },
    #[error(
        "the running {core} describes itself in an unknown way, so its ABI revision is unknown. \
         Known are {known}"
    )]
    UnknownDescription { core: &'static str, known: &'static str },
    #[error("{core} refuses this program: {error}")]
    Refused { core: &'static str, error: String },
}

/// Whether the calls of this architecture are known.
pub(crate) const fn is_known_processor() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
}

/// Of other architectures.
pub(crate) const UNKNOWN_PROCESSOR: &str =
    "the calls of co-kernels are known on x86_64 and arm64 only";

/// Whether the running kernel hands interrupts on through a pipeline, without which there is no
/// co-kernel: its version says so (`IRQPIPE`, `IRQ_PIPELINE`).
pub(crate) fn is_pipelined() -> bool {
    names_a_pipeline(rustix::system::uname().version().to_bytes())
}

fn names_a_pipeline(version: &[u8]) -> bool {
    version
        .split(|byte| *byte == b' ')
        .any(|word| word.starts_with(b"IRQ") && word.windows(4).any(|part| part == b"PIPE"))
}

/// Whether Cobalt is seen without its calls.
pub(crate) fn has_cobalt_in_files() -> bool {
    Files::system().line(cobalt::VERSION).is_some()
}

/// Whether a core is seen without its calls.
pub(crate) fn has_core_in_files() -> bool {
    has_cobalt_in_files() || (is_pipelined() && Path::new(evl::CONTROL).exists())
}

/// What is lacking to measure on a core; none where it can be.
pub(crate) fn lacking(find: fn() -> Result<Core, Absence>) -> Option<String> {
    if !is_known_processor() {
        return Some(UNKNOWN_PROCESSOR.to_owned());
    }
    find().err().map(|absence| absence.to_string())
}

/// The files in which a core says more of itself.
pub(crate) struct Files(PathBuf);

impl Files {
    fn system() -> Files {
        Files::below(Path::new("/"))
    }

    fn below(root: &Path) -> Files {
        Files(root.to_owned())
    }

    /// The first line of a file; none where there is none.
    fn line(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(path)).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    }
}

/// How the core counts what a thread of it did on Linux, in two ways of which either may not be
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    counted: Option<u64>,
    /// By notices to the thread.
    noticed: Option<u64>,
}

impl Switches {
    /// How many there were since; none where neither way was there all the time.
    fn since(self, before: Switches) -> Option<u64> {
        let since = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        since(self.counted, before.counted).max(since(self.noticed, before.noticed))
    }
}

/// Policy and priority as co-kernels take them: they know SCHED_FIFO, SCHED_RR and SCHED_OTHER by
/// Linux' numbers.
fn policy_and_priority(scheduling: Scheduling) -> (i32, i32) {
    let policy = if scheduling.policy.is_real_time() {
        i32::from(scheduling.policy.number())
    } else {
        libc::SCHED_OTHER
    };
    (policy, scheduling.prio.map_or(0, i32::from))
}

/// The calls of a co-kernel, for the calling thread.
pub(crate) trait Stage: Send + 'static {
    /// Makes it one of the core, with this scheduling.
    fn attach(&mut self, scheduling: Scheduling) -> io::Result<()>;
    /// Takes it from Linux to the core.
    fn enter(&mut self) -> io::Result<()>;
    /// From now on it may fall back to Linux.
    fn leave(&mut self);
    /// The core's monotonic clock, ns.
    fn now(&mut self) -> io::Result<i64>;
    /// Sleeps until an absolute time of that clock.
    fn sleep_until(&mut self, time: i64) -> io::Result<()>;
    /// How often it has fallen back to Linux so far.
    fn switches(&mut self) -> io::Result<Switches>;
    /// Makes it an ordinary one again.
    fn detach(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As Linux' own, without a system call: the core's clock is the same, and reading it so does
    /// not leave the core.
    Shared,
    /// By the core's call.
    Call,
}

/// A thread on a co-kernel, on its monotonic clock. Times are those of Linux' CLOCK_MONOTONIC,
/// which plans them.
#[derive(Debug)]
pub(crate) struct OnCore<S> {
    stage: S,
    reading: Reading,
    /// By how much the core's clock is ahead of Linux', ns: 0 where they are one.
    ahead: i64,
    /// Right before the first row.
    before: Switches,
    /// The last sleep was ended by a signal, which took the thread to Linux.
    interrupted: bool,
    /// How often it fell back between its first and its last row, as the core says; none where it
    /// does not.
    fallen_back: Option<u64>,
}

/// Clocks that differ by no more are one, ns.
const CLOSE: i64 = 1_000;
/// Attempts to read two clocks at one moment.
const READINGS: usize = 5;

impl<S: Stage> OnCore<S> {
    pub(crate) const fn new(stage: S) -> Self {
        let before = Switches { counted: None, noticed: None };
        OnCore {
            stage,
            reading: Reading::Call,
            ahead: 0,
            before,
            interrupted: false,
            fallen_back: None,
        }
    }

    /// Finds out whether the core's clock is Linux' own.
    fn compare_clocks(&mut self) -> io::Result<()> {
        let mut closest: Option<(i64, i64, i64)> = None;
        for _ in 0..READINGS {
            let (before, core, after) = (Monotonic.now().0, self.stage.now()?, Monotonic.now().0);
            if closest.is_none_or(|(width, ..)| after - before < width) {
                closest = Some((after - before, core - before, core - after));
            }
        }
        let Some((width, since_before, since_after)) = closest else { return Ok(()) };
        let is_one = since_before >= -CLOSE && since_after <= CLOSE;
        (self.reading, self.ahead) =
            if is_one { (Reading::Shared, 0) } else { (Reading::Call, since_before - width / 2) };
        Ok(())
    }

    fn try_enter(&mut self) -> io::Result<()> {
        self.stage.enter()?;
        if self.reading == Reading::Shared {
            let before = self.stage.switches()?;
            // Where the kernel has to be asked for the time of a clock source, that is a call of
            // Linux.
            let _ = Monotonic.now();
            if self.stage.switches()?.since(before).is_some_and(|switches| switches > 0) {
                self.reading = Reading::Call;
                self.stage.enter()?;
            }
        }
        Ok(())
    }
}

impl<S: Stage> Attachment for OnCore<S> {
    const IS_LINUX: bool = false;

    fn attach(&mut self, cpu: CpuId, scheduling: Scheduling) -> io::Result<Pid> {
        let pid = Linux.attach(cpu, scheduling)?;
        // The cores take no thread of a process whose pages may go.
        linux::lock_all_memory().map_err(|error| {
            named("a co-kernel needs all memory locked (ulimit -l unlimited)", error)
        })?;
        self.stage
            .attach(scheduling)
            .map_err(|error| named("the co-kernel does not take the thread", error))?;
        self.stage
            .switches()
            .map_err(|error| named("the co-kernel does not count switches to Linux", error))?;
        self.compare_clocks()
            .map_err(|error| named("the co-kernel's clock cannot be read", error))?;
        Ok(pid)
    }

    #[inline]
    fn now(&mut self) -> Nanos {
        match self.reading {
            Reading::Shared => Monotonic.now(),
            // A core that no longer answers is seen by the next sleep, which fails.
            Reading::Call => {
                self.stage.now().map_or_else(|_| Monotonic.now(), |now| Nanos(now - self.ahead))
            }
        }
    }

    #[inline]
    fn sleep_until(&mut self, time: Nanos) -> Woken {
        match self.stage.sleep_until(time.0 + self.ahead) {
            Ok(()) => {
                self.interrupted = false;
                Woken::OnTime
            }
            Err(error) => {
                let woken = Woken::from(error);
                self.interrupted |= woken == Woken::Interrupted;
                woken
            }
        }
    }

    fn enter(&mut self) -> Result<(), SampleError> {
        self.try_enter()
            .map_err(|error| SampleError::new("going from Linux to the co-kernel", &error))
    }

    fn begin(&mut self) {
        // One that cannot be asked here is no count later either.
        self.before = self.stage.switches().unwrap_or_default();
    }

    fn leave(&mut self) {
        self.fallen_back = self.stage.switches().ok().and_then(|now| now.since(self.before));
        self.stage.leave();
    }

    /// An EVL that was built without EVL_RUNSTATS counts nothing. Linux then says how often it took
    /// the thread off a CPU of its own, since before it entered, which is once to enter, and
    /// once at least for each fall back.
    fn fallen_back(&self, used: Option<&ThreadUsage>) -> Option<u64> {
        const TO_ENTER: u64 = 1;
        let by_linux = || Some(used?.voluntary_switches.saturating_sub(TO_ENTER));
        // The signal that stops a run takes a sleeping thread to Linux, after its last row.
        let excused = u64::from(self.interrupted);
        self.fallen_back.or_else(by_linux).map(|switches| switches.saturating_sub(excused))
    }

    fn detach(&mut self) {
        self.stage.detach();
        Linux.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycle::{Cycle, measure};
    use crate::probes::Cyclic;
    use crate::{Control, StopReason, ring};
    use plan::OverrunPolicy;

    /// As Dovetail writes it, and kernels without it.
    #[test]
    fn a_pipeline_is_named_in_the_kernels_version() {
        for (version, expected) in [
            ("#1 SMP PREEMPT IRQPIPE Wed Nov 25 01:52:11 UTC 2026", true),
            ("#3 SMP PREEMPT IRQ_PIPELINE Wed Nov 25 01:52:11 UTC 2026", true),
            ("#1 SMP PREEMPT_RT Debian 6.1.158-1 (2025-11-09)", false),
            ("#1 SMP PREEMPT_DYNAMIC PIPELINE-build IRQ", false),
            ("", false),
        ] {
            assert_eq!(names_a_pipeline(version.as_bytes()), expected, "{version}");
        }
    }

    /// What is counted so far by a core that counts in both ways.
    const NONE_SO_FAR: Switches = Switches { counted: Some(0), noticed: Some(0) };

    /// A core whose clock is this far ahead of Linux', and whose threads do what a test wants.
    #[derive(Default)]
    struct Fake {
        ahead: i64,
        sleeps: u64,
        switches: Switches,
        /// Reading Linux' clock leaves the core.
        reading_switches: bool,
        entered: bool,
        /// In this sleep the thread falls back to Linux, the core vanishes, or a signal comes.
        falls_back_in: Option<u64>,
        vanishes_in: Option<u64>,
        signal_in: Option<(u64, Control)>,
    }

    impl Stage for Fake {
        fn attach(&mut self, _: Scheduling) -> io::Result<()> {
            Ok(())
        }

        fn enter(&mut self) -> io::Result<()> {
            self.entered = true;
            Ok(())
        }

        fn leave(&mut self) {
            self.entered = false;
        }

        fn now(&mut self) -> io::Result<i64> {
            Ok(Monotonic.now().0 + self.ahead)
        }

        fn sleep_until(&mut self, time: i64) -> io::Result<()> {
            self.sleeps += 1;
            if self.falls_back_in == Some(self.sleeps) {
                self.switches.noticed = self.switches.noticed.map(|noticed| noticed + 1);
            }
            if self.vanishes_in == Some(self.sleeps) {
                return Err(io::Error::from_raw_os_error(libc::ENOSYS));
            }
            if let Some((sleep, control)) = &self.signal_in
                && *sleep == self.sleeps
            {
                control.stop(StopReason::Asked);
                self.switches.counted = self.switches.counted.map(|counted| counted + 1);
                return Err(io::Error::from_raw_os_error(libc::EINTR));
            }
            Monotonic.sleep_until(Nanos(time - self.ahead));
            Ok(())
        }

        fn switches(&mut self) -> io::Result<Switches> {
            let further = u64::from(self.reading_switches && self.entered);
            self.switches.counted = self.switches.counted.map(|counted| counted + further);
            Ok(self.switches)
        }

        fn detach(&mut self) {}
    }

    /// Ten rows on it: how often it fell back, how many rows there were, and why they ended.
    fn run(fake: Fake, control: &Control) -> (OnCore<Fake>, u64, Option<StopReason>) {
        let mut core = OnCore::new(fake);
        core.compare_clocks().unwrap();
        core.enter().unwrap();
        core.begin();
        let cycle = Cycle {
            thread: 0,
            start: Nanos(Monotonic.now().0 + 1_000_000),
            interval: Nanos(500_000),
            activations: 10,
            break_above: None,
            overrun_policy: OverrunPolicy::CatchUp,
        };
        let (mut producer, _consumer) = ring::<1>(64, 1);
        let counts = measure(&mut core, &mut Cyclic, &cycle, &mut producer, control);
        core.leave();
        (core, counts.on_time + counts.late, control.reason())
    }

    #[test]
    fn a_thread_that_stays_on_its_core_has_fallen_back_0_times() {
        for (ahead, reading) in
            [(0, Reading::Shared), (5_000_000_000, Reading::Call), (-7_000_000, Reading::Call)]
        {
            let (core, rows, reason) =
                run(Fake { ahead, switches: NONE_SO_FAR, ..Fake::default() }, &Control::new());
            assert_eq!((core.fallen_back(None), rows, reason), (Some(0), 10, None));
            assert_eq!(core.reading, reading);
            assert!((core.ahead - ahead).abs() < 1_000_000, "{}", core.ahead);
        }
    }

    #[test]
    fn falling_back_in_the_middle_is_counted() {
        for counted in [Some(0), None] {
            let switches = Switches { counted, noticed: Some(0) };
            let (core, rows, _) =
                run(Fake { falls_back_in: Some(4), switches, ..Fake::default() }, &Control::new());
            assert_eq!((core.fallen_back(None), rows), (Some(1), 10));
        }
    }

    /// A core that neither keeps statistics nor notifies.
    #[test]
    fn what_the_core_does_not_count_linux_does() {
        let (core, rows, _) =
            run(Fake { falls_back_in: Some(4), ..Fake::default() }, &Control::new());
        let used = |voluntary_switches| ThreadUsage {
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches,
            involuntary_switches: 0,
        };
        assert_eq!((core.fallen_back(None), rows), (None, 10));
        assert_eq!(core.fallen_back(Some(&used(1))), Some(0));
        assert_eq!(core.fallen_back(Some(&used(3))), Some(2));
    }

    /// The signal comes after the last row.
    #[test]
    fn the_signal_that_stops_a_run_is_excused() {
        let control = Control::new();
        let (core, rows, _) = run(
            Fake {
                signal_in: Some((4, control.clone())),
                switches: NONE_SO_FAR,
                ..Fake::default()
            },
            &control,
        );
        assert_eq!((core.fallen_back(None), rows), (Some(0), 3));
    }

    #[test]
    fn a_core_that_vanishes_ends_the_run() {
        let (_, rows, reason) =
            run(Fake { vanishes_in: Some(4), ..Fake::default() }, &Control::new());
        let failed =
            StopReason::ProbeFailed { thread: 0, doing: "clock_nanosleep", errno: libc::ENOSYS };
        assert_eq!((rows, reason), (3, Some(failed)));
    }

    /// Then the core is asked for the time.
    #[test]
    fn a_clock_whose_reading_leaves_the_core_is_not_read() {
        let mut core =
            OnCore::new(Fake { reading_switches: true, switches: NONE_SO_FAR, ..Fake::default() });
        core.compare_clocks().unwrap();
        assert_eq!(core.reading, Reading::Shared);
        core.enter().unwrap();
        assert_eq!(core.reading, Reading::Call);
    }
}
