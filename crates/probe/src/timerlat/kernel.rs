// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer's session, which all threads of a run share, and the thread that reads it.

use crate::sys;
use plan::{CpuId, CpuList, Nanos, Scheduling};
use rustix::thread::Pid;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use system::process::{self, Stat};
use trace::{Reader, Session, TraceError, Tracefs};

/// Whose thread waits for the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    Kernel,
    /// One of this program, which comes back to user space each time.
    User,
}

/// Where it is said whether the tracer has threads of its own. Not in kernels before 6.2, where it
/// always has.
const OPTIONS: &str = "osnoise/options";
const WORKLOAD: &str = "OSNOISE_WORKLOAD";

/// The tracer, running on some CPUs. It ends with the last reference.
pub(crate) struct Kernel {
    state: Mutex<State>,
}

struct State {
    session: Session,
    cpus: Vec<CpuId>,
}

/// The one of this process, while there is one: its settings are the machine's.
static RUNNING: Mutex<Weak<Kernel>> = Mutex::new(Weak::new());

/// What this machine lacks for it.
pub(crate) fn lacks(thread: Thread) -> Option<String> {
    let here = Tracefs::find().and_then(|tracefs| {
        tracefs.needs_tracer("timerlat", "CONFIG_TIMERLAT_TRACER")?;
        if thread == Thread::User {
            tracefs.needs_file("osnoise/per_cpu/cpu0/timerlat_fd", "Linux 6.5 or later")?;
        }
        tracefs.needs_idle_tracers()
    });
    here.err().map(|error| error.to_string())
}

impl Kernel {
    /// Lets the tracer run on one more CPU, in the session of this process.
    pub(crate) fn on(
        cpu: CpuId,
        interval: Nanos,
        thread: Thread,
        scheduling: Scheduling,
    ) -> Result<Arc<Self>, TraceError> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match running.upgrade() {
            Some(kernel) => kernel,
            None => Arc::new(Kernel {
                state: Mutex::new(State { session: begin(interval, thread)?, cpus: Vec::new() }),
            }),
        };
        kernel.add(cpu, thread, scheduling)?;
        *running = Arc::downgrade(&kernel);
        Ok(kernel)
    }

    fn add(&self, cpu: CpuId, thread: Thread, scheduling: Scheduling) -> Result<(), TraceError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.cpus.is_empty();
        state.cpus.push(cpu);
        state.cpus.sort_unstable();
        state.cpus.dedup();
        let cpus = CpuList::format(&state.cpus);
        state.session.borrow_knob("osnoise/cpus", &cpus)?;
        if first {
            state.session.set_tracer("timerlat")?;
        }
        if thread == Thread::User {
            return Ok(());
        }
        // If the tracer ran already, the kernel has made its threads anew.
        state.cpus.iter().try_for_each(|cpu| schedule(*cpu, scheduling))
    }

    /// What a thread of this program reads on a CPU.
    pub(crate) fn file_of_user(&self, cpu: CpuId) -> PathBuf {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.session.folder().join(format!("../../osnoise/per_cpu/cpu{}/timerlat_fd", cpu.0))
    }

    pub(crate) fn reader(&self, cpu: CpuId) -> Result<Reader, TraceError> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).session.reader(cpu)
    }
}

fn begin(interval: Nanos, thread: Thread) -> Result<Session, TraceError> {
    let tracefs = Tracefs::find()?;
    tracefs.needs_idle_tracers()?;
    let mut session = Session::begin(&tracefs)?;
    session.borrow_knob("osnoise/timerlat_period_us", &(interval.0 / 1_000).to_string())?;
    if thread == Thread::User || tracefs.needs_option(OPTIONS, WORKLOAD, "").is_ok() {
        session.borrow_option(OPTIONS, WORKLOAD, thread == Thread::Kernel)?;
    }
    // Somebody's limits would end the trace, and a stack in it would cost time.
    for knob in ["osnoise/stop_tracing_us", "osnoise/stop_tracing_total_us", "osnoise/print_stack"]
    {
        session.borrow_knob(knob, "0")?;
    }
    Ok(session)
}

/// Gives the kernel's thread on a CPU the run's scheduling.
fn schedule(cpu: CpuId, scheduling: Scheduling) -> Result<(), TraceError> {
    let thread = kernel_thread(cpu);
    let thread = thread.ok_or_else(|| {
        TraceError::Missing(format!("the timerlat tracer made no thread timerlat/{}", cpu.0))
    })?;
    sys::set_scheduling_of(Some(thread), scheduling).map_err(|error| {
        TraceError::Missing(format!(
            "timerlat/{} of the kernel cannot be given {scheduling}: {error}",
            cpu.0
        ))
    })
}

/// The kernel's measuring thread on a CPU.
fn kernel_thread(cpu: CpuId) -> Option<Pid> {
    let stat =
        |number: i32| std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let mut numbers = process::numbers(Path::new("/proc"));
    numbers.find(|number| is_kernel_thread(&stat(*number), cpu)).and_then(Pid::from_raw)
}

/// Whether it is that thread, by its line of /proc/PID/stat. A program may take the name, but not
/// kthreadd as its parent.
fn is_kernel_thread(stat: &str, cpu: CpuId) -> bool {
    const KTHREADD: u32 = 2;
    Stat::parse(stat).is_some_and(|stat| {
        stat.name == format!("timerlat/{}", cpu.0) && stat.parent() == Some(KTHREADD)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_took_the_name_is_no_thread_of_the_kernel() {
        let is = |stat: &str| is_kernel_thread(stat, CpuId(1));
        assert!(is("812 (timerlat/1) S 2 0 0 0 -1 2129984"));
        for other in [
            "812 (timerlat/1) S 1 812 812",
            "812 (timerlat/0) S 2 0",
            "812 (timerlat/1) S 2) R 1 0",
            "",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
