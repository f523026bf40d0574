// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tasks of one load, as their supervisor sees them: forked, held at the barrier, released
//! together, read, killed.

use crate::duty_cycle::{DutyCycle, OwnClocks};
use crate::options::CommonOptions;
use crate::proc_stat;
use crate::process_tree;
use crate::report::{Reading, complain, explained};
use crate::sys::{self, Area, SingleThreaded, Slot};
use model::LoadFailure;
use plan::{CpuId, Scheduling};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, getpriority_process,
    setpriority_process, wait,
};
use rustix::time::{ClockId, clock_gettime};
use std::convert::Infallible;
use std::ffi::CString;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread::{self, Builder};
use std::time::Duration;
use system::scheduling::{set_affinity, set_scheduling};
use system::usage::{children_cpu_time_ns, process_cpu_time_ns};

/// What a pool has to know of the tasks of its load.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// The load's name.
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) threads_per_task: u64,
    /// How many things each counts.
    pub(crate) counters: usize,
    /// Whether they start processes of their own, which are then counted and killed with them.
    pub(crate) starts_others: bool,
}

#[derive(Debug)]
pub(crate) struct WorkerPool {
    single_threaded: SingleThreaded,
    name: CString,
    of: Tasks,
    cpus: Vec<CpuId>,
    common: CommonOptions,
    area: Area,
    /// Gone once the tasks have been released.
    barrier: Option<Barrier>,
    tasks: Vec<Task>,
    /// Whether they have been killed, as they should be.
    stopped: bool,
}

#[derive(Debug)]
struct Task {
    pid: Pid,
    alive: bool,
    cpu_ns: u64,
    /// The one CPU it is bound to, if it is one, by its place among the load's.
    place: Option<usize>,
}

/// Each task writes a byte to `ready` and reads `release`, which ends when the supervisor closes
/// it: that wakes all of them at once.
#[derive(Debug)]
struct Barrier {
    ready: (PipeReader, PipeWriter),
    release: (PipeReader, PipeWriter),
}

/// Where a task waits until all others are ready.
#[derive(Debug)]
pub(crate) struct StartBarrier<'a> {
    slot: &'a Slot,
    common: &'a CommonOptions,
    ready: PipeWriter,
    release: PipeReader,
}

impl<'a> StartBarrier<'a> {
    /// Says that this task is ready, waits for the others, and lets it begin its work.
    pub(crate) fn wait(mut self) -> io::Result<Worker<'a>> {
        self.ready.write_all(b".")?;
        self.release.read_to_end(&mut Vec::new())?;
        let cycle = DutyCycle::new(
            OwnClocks::new(),
            self.common.level.unwrap_or(100.0),
            self.common.period,
            self.common.seed,
        );
        Ok(Worker { slot: self.slot, cycle })
    }

    /// The same for a task of several threads, one for each of `works`, which all begin together.
    /// They work until the task is killed; the first that cannot go on ends the task, since the
    /// others would go on for ever.
    pub(crate) fn wait_with_threads<'w>(
        self,
        works: Vec<ThreadWork<'w>>,
    ) -> io::Result<Infallible> {
        let slot = self.slot;
        let barrier = std::sync::Barrier::new(works.len() + 1);
        thread::scope(|scope| {
            for work in works {
                let barrier = &barrier;
                let begun = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
                    barrier.wait();
                    let Err(error) = work(slot);
                    give_up(&error)
                });
                // Those before it wait at the barrier, and would for ever: there is no way back but
                // the end.
                begun.map(drop).unwrap_or_else(|error| give_up(&error));
            }
            self.wait().map(drop).unwrap_or_else(|error| give_up(&error));
            barrier.wait();
        });
        Err(io::Error::other("its threads have ended"))
    }
}

/// What one thread of a task does.
pub(crate) type ThreadWork<'w> = Box<dyn FnOnce(&Slot) -> io::Result<Infallible> + Send + 'w>;

/// Ample: threads of loads do not recurse.
const STACK_BYTES: usize = 64 * 1024;

fn give_up(error: &io::Error) -> ! {
    complain(&explained(error));
    sys::leave(1)
}

/// What a task has while it works.
#[derive(Debug)]
pub(crate) struct Worker<'a> {
    slot: &'a Slot,
    cycle: DutyCycle<OwnClocks>,
}

impl<'a> Worker<'a> {
    pub(crate) fn add(&self, counter: usize, amount: u64) {
        self.slot.add(counter, amount);
    }

    /// Call between two steps of work, each at most some tens of microseconds: sleeps as the level
    /// asks.
    pub(crate) fn throttle(&mut self) {
        self.cycle.throttle();
    }

    /// The counters, for a task that does not count in this thread alone.
    pub(crate) fn slot(&self) -> &'a Slot {
        self.slot
    }
}

impl WorkerPool {
    /// A pool of tasks still to be forked, named after their load.
    pub(crate) fn new(
        single_threaded: SingleThreaded,
        of: Tasks,
        cpus: Vec<CpuId>,
        common: CommonOptions,
    ) -> io::Result<Self> {
        let barrier = Barrier { ready: io::pipe()?, release: io::pipe()? };
        Ok(WorkerPool {
            single_threaded,
            name: CString::new(format!("load-{}", of.name))?,
            area: Area::new(of.size)?,
            of,
            cpus,
            common,
            barrier: Some(barrier),
            tasks: Vec::new(),
            stopped: false,
        })
    }

    /// When its tasks begin to work and are killed, since measuring began; none for before and
    /// after that.
    pub(crate) const fn times(&self) -> [Option<Duration>; 2] {
        [self.common.start, self.common.stop]
    }

    pub(crate) fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// What its tasks draw at random follows from this; none without a phase.
    pub(crate) fn seed(&self) -> Option<u64> {
        Some(self.common.seed).filter(|seed| *seed != 0)
    }

    /// Forks the next task, bound to these CPUs. `body` runs in the task alone, prepares itself,
    /// waits at its barrier, and then works until it is killed; the supervisor's own values are
    /// not changed by it.
    pub(crate) fn fork(
        &mut self,
        cpus: &[CpuId],
        body: impl FnOnce(StartBarrier<'_>) -> io::Result<Infallible>,
    ) -> io::Result<()> {
        let number = self.tasks.len();
        let size = self.area.slots().len();
        let slot = self
            .area
            .slots()
            .get(number)
            .ok_or_else(|| io::Error::other("the load has more tasks than it announced"))?;
        let (supervisor, barrier, name, common) =
            (getpid(), &mut self.barrier, &self.name, &self.common);
        let task = || {
            let error = settle(supervisor, name, cpus, common).and_then(|()| {
                let barrier =
                    barrier.take().ok_or_else(|| io::Error::other("forked after the release"))?;
                let Barrier { ready: (heard, ready), release: (release, opener) } = barrier;
                // The barrier opens when its other end is closed, so no task may keep a copy.
                drop((heard, opener));
                body(StartBarrier { slot, common, ready, release })
            });
            let Err(error) = error;
            complain(&explained(&error));
            1
        };
        let pid = self.single_threaded.fork(task).map_err(|error| {
            let limits =
                "the limits are RLIMIT_NPROC (ulimit -u), the pids limit of the cgroup, and memory";
            io::Error::new(
                error.kind(),
                format!("task {} of {size} could not be forked: {error}; {limits}", number + 1),
            )
        })?;
        let place =
            if let [cpu] = cpus { self.cpus.iter().position(|known| known == cpu) } else { None };
        self.tasks.push(Task { pid, alive: true, cpu_ns: 0, place });
        Ok(())
    }

    /// Waits until every task waits at its barrier. How long that may take, the parent decides.
    pub(crate) fn wait_ready(&mut self) -> io::Result<()> {
        let mut missing = self.tasks.len();
        while missing > 0 {
            let Some(barrier) = &mut self.barrier else { return Ok(()) };
            let tenth = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let ready =
                match poll(&mut [PollFd::new(&barrier.ready.0, PollFlags::IN)], Some(&tenth)) {
                    Err(rustix::io::Errno::INTR) => 0,
                    other => other?,
                };
            if ready > 0 {
                missing = missing.saturating_sub(barrier.ready.0.read(&mut [0; 4096])?);
            } else if let Some(reason) = self.reap() {
                return Err(io::Error::other(reason));
            }
        }
        Ok(())
    }

    /// Releases all tasks at once.
    pub(crate) fn release(&mut self) {
        self.barrier = None;
    }

    /// Whether every thread of every task has done its work at least once.
    pub(crate) fn has_worked(&self) -> bool {
        self.area.slots().iter().all(|slot| slot.worked() >= self.of.threads_per_task)
    }

    /// What they have done until now, in the first of their units; none of a load that has no
    /// units.
    pub(crate) fn work_done(&self) -> Option<u64> {
        (self.of.counters > 0).then(|| self.done(0))
    }

    fn done(&self, counter: usize) -> u64 {
        self.area.slots().iter().map(|slot| slot.get(counter)).fold(0, u64::wrapping_add)
    }

    /// What they have used and done until now. What a dead task used is counted as last seen.
    pub(crate) fn reading(&mut self) -> Reading {
        let before_ns = now_ns();
        for (task, slot) in
            self.tasks.iter_mut().zip(self.area.slots()).filter(|(task, _)| task.alive)
        {
            task.cpu_ns =
                process_cpu_time_ns(task.pid).map_or(task.cpu_ns, |own| own + slot.children_ns());
        }
        // Reading thousands takes milliseconds; the middle of them is when the sum was true.
        let at_ns = before_ns.midpoint(now_ns());
        Reading {
            at_ns,
            cpu_ns: self.cpu_ns(),
            per_cpu_ns: self.per_cpu_ns(),
            busy_ns: Vec::new(),
            work: (0..self.of.counters).map(|counter| self.done(counter)).collect(),
            alive: self.tasks.iter().filter(|task| task.alive).count(),
        }
    }

    /// The same, with how busy the CPUs have been. For the ends of a span only: on a large machine
    /// /proc/stat takes the kernel longer than the rest of a reading.
    pub(crate) fn full_reading(&mut self) -> Reading {
        Reading { busy_ns: proc_stat::busy_ns(&self.cpus), ..self.reading() }
    }

    /// CPU time of all tasks and, where they start others, of those: what lives, and what was
    /// waited for.
    fn cpu_ns(&self) -> u64 {
        if self.of.starts_others {
            process_tree::cpu_time_ns(getpid()) + children_cpu_time_ns()
        } else {
            self.tasks.iter().map(|task| task.cpu_ns).sum()
        }
    }

    /// CPU time on each of the load's CPUs; nothing unless each task is bound to one.
    fn per_cpu_ns(&self) -> Vec<u64> {
        let mut per_cpu = vec![0; self.cpus.len()];
        for task in &self.tasks {
            match task.place.filter(|_| !self.of.starts_others) {
                Some(place) => per_cpu[place] += task.cpu_ns,
                None => return Vec::new(),
            }
        }
        per_cpu
    }

    /// Buries tasks that ended by themselves, and says which. In a load whose tasks need one
    /// another, one death brings on others that end with an error: one killed by a signal is
    /// named first.
    pub(crate) fn reap(&mut self) -> Option<LoadFailure> {
        let mut deaths = Vec::new();
        // Whatever has become a child of the supervisor, of whatever group.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if let Some(index) = self.tasks.iter().position(|task| task.pid == pid) {
                self.tasks[index].alive = false;
                deaths.push((status.exited(), index, pid, status));
            }
        }
        if self.stopped {
            return None;
        }
        deaths.sort_by_key(|&(exited, index, ..)| (exited, index));
        let &(_, index, pid, status) = deaths.first()?;
        Some(LoadFailure::TaskExited {
            task: index + 1,
            tasks: self.tasks.len(),
            pid: pid.as_raw_nonzero().get(),
            status: describe(status),
            others: deaths.len() - 1,
        })
    }

    /// Kills and reaps the tasks that are left. Each is a child not yet waited for, so its number
    /// cannot mean another process.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        if self.of.starts_others {
            self.tasks.iter_mut().for_each(|task| task.alive = false);
            return process_tree::kill_all_below(getpid());
        }
        process_tree::kill_children(
            self.tasks.iter().filter(|task| task.alive).map(|task| task.pid),
        );
        self.tasks.iter_mut().for_each(|task| task.alive = false);
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What each task does first: bind its life to the supervisor's, and leave the supervisor's pipes
/// to the supervisor, so that their end is the supervisor's end.
fn settle(
    supervisor: Pid,
    name: &CString,
    cpus: &[CpuId],
    common: &CommonOptions,
) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        return Err(io::Error::other("the supervisor ended meanwhile"));
    }
    rustix::thread::set_name(name)?;
    if common.nice != 0 || getpriority_process(None)? < 0 {
        setpriority_process(None, common.nice).map_err(|error| {
            system::named(format_args!("nice {} may not be had", common.nice), error)
        })?;
    }
    rustix::stdio::dup2_stdin(io::pipe()?.0)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    set_affinity(None, cpus)?;
    let scheduling = Scheduling { policy: common.policy, prio: Some(common.prio) };
    set_scheduling(None, scheduling).map_err(|error| {
        system::named(format_args!("{} may not be had", common.policy.kernel_name()), error)
    })
}

fn describe(status: WaitStatus) -> String {
    ExitStatus::from_raw(status.as_raw()).to_string()
}

pub(crate) fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
