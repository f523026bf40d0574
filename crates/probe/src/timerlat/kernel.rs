// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer's session, which all threads of a run share, and the thread that reads it.

use crate::sys;
use plan::{CpuId, CpuList, Nanos, Scheduling};
use rustix::thread::Pid;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use trace::{Reader, Session, TraceError, Tracefs};

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
pub(crate) fn lacks() -> Option<String> {
    let here = Tracefs::find().and_then(|tracefs| {
        tracefs.needs_tracer("timerlat", "CONFIG_TIMERLAT_TRACER")?;
        tracefs.needs_idle_tracers()
    });
    here.err().map(|error| error.to_string())
}

impl Kernel {
    /// Lets the tracer run on one more CPU, in the session of this process.
    pub(crate) fn on(cpu: CpuId, interval: Nanos, scheduling: Scheduling) -> Result<Arc<Self>, TraceError> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match running.upgrade() {
            Some(kernel) => kernel,
            None => Arc::new(Kernel { state: Mutex::new(State { session: begin(interval)?, cpus: Vec::new() }) }),
        };
        kernel.add(cpu, scheduling)?;
        *running = Arc::downgrade(&kernel);
        Ok(kernel)
    }

    fn add(&self, cpu: CpuId, scheduling: Scheduling) -> Result<(), TraceError> {
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
        // If the tracer ran already, the kernel has made its threads anew.
        state.cpus.iter().try_for_each(|cpu| schedule(*cpu, scheduling))
    }

    pub(crate) fn reader(&self, cpu: CpuId) -> Result<Reader, TraceError> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).session.reader(cpu)
    }
}

fn begin(interval: Nanos) -> Result<Session, TraceError> {
    let tracefs = Tracefs::find()?;
    tracefs.needs_idle_tracers()?;
    let mut session = Session::begin(&tracefs)?;
    session.borrow_knob("osnoise/timerlat_period_us", &(interval.0 / 1_000).to_string())?;
    // Somebody's limits would end the trace, and a stack in it would cost time.
    for knob in ["osnoise/stop_tracing_us", "osnoise/stop_tracing_total_us", "osnoise/print_stack"] {
        session.borrow_knob(knob, "0")?;
    }
    Ok(session)
}

/// Gives the kernel's thread on a CPU the run's scheduling.
fn schedule(cpu: CpuId, scheduling: Scheduling) -> Result<(), TraceError> {
    let thread = kernel_thread(cpu);
    let thread = thread.ok_or_else(|| TraceError::Missing(format!("the timerlat tracer made no thread timerlat/{}", cpu.0)))?;
    sys::set_scheduling_of(Some(thread), scheduling)
        .map_err(|error| TraceError::Missing(format!("timerlat/{} of the kernel cannot be given {scheduling}: {error}", cpu.0)))
}

/// The kernel's measuring thread on a CPU.
fn kernel_thread(cpu: CpuId) -> Option<Pid> {
    let name = format!("timerlat/{}", cpu.0);
    let numbers = std::fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_it = |number: &i32| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{number}/{file}")).unwrap_or_default();
        // Threads of the kernel have no command line.
        read("comm").trim_end() == name && read("cmdline").is_empty()
    };
    numbers.filter(|number| is_it(number)).find_map(Pid::from_raw)
}
