// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer's session, which all threads of a run share.

use super::event::{self, Layout};
use plan::{CpuId, CpuList};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use trace::{RawReader, Session, TraceError, Tracefs};

/// The tracer at work for some CPUs. It ends with the last reference.
pub(crate) struct Kernel {
    state: Mutex<State>,
}

struct State {
    session: Session,
    cpus: Vec<CpuId>,
}

/// The one of this process, while there is one: its settings are the machine's.
static RUNNING: Mutex<Weak<Kernel>> = Mutex::new(Weak::new());

/// Where it is said whether the tracer has a workload of its own.
const OPTIONS: &str = "osnoise/options";
const WORKLOAD: &str = "OSNOISE_WORKLOAD";

/// Each CPU's buffer, KiB: the events of 2 s, which is the longest time to poll, if there are
/// 40,000 a second.
const BUFFER_KIB: &str = "4096";

/// What this machine lacks for it.
pub(crate) fn lacks() -> Option<String> {
    let here = Tracefs::find().and_then(|tracefs| {
        tracefs.needs_tracer("osnoise", "CONFIG_OSNOISE_TRACER")?;
        tracefs.needs_option(
            OPTIONS,
            WORKLOAD,
            "Linux 6.2 or later, or a 6.1 that has it, such as Debian's",
        )?;
        tracefs.needs_idle_tracers()
    });
    here.err().map(|error| error.to_string())
}

impl Kernel {
    /// Lets the tracer account for one more CPU, in the session of this process.
    pub(crate) fn on(cpu: CpuId) -> Result<Arc<Self>, TraceError> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let kernel = match running.upgrade() {
            Some(kernel) => kernel,
            None => Arc::new(Kernel {
                state: Mutex::new(State { session: begin()?, cpus: Vec::new() }),
            }),
        };
        kernel.add(cpu)?;
        *running = Arc::downgrade(&kernel);
        Ok(kernel)
    }

    fn add(&self, cpu: CpuId) -> Result<(), TraceError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let first = state.cpus.is_empty();
        state.cpus.push(cpu);
        state.cpus.sort_unstable();
        state.cpus.dedup();
        let cpus = CpuList::format(&state.cpus);
        state.session.borrow_knob("osnoise/cpus", &cpus)?;
        if first {
            state.session.set_tracer("osnoise")?;
            event::enable(&state.session)?;
        }
        Ok(())
    }

    pub(crate) fn layout(&self) -> Result<Layout, TraceError> {
        Layout::of(&self.state.lock().unwrap_or_else(PoisonError::into_inner).session)
    }

    pub(crate) fn reader(&self, cpu: CpuId) -> Result<RawReader, TraceError> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).session.raw_reader(cpu)
    }

    /// Makes an event of the calling thread, on its CPU.
    pub(crate) fn mark(&self) -> Result<(), TraceError> {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .session
            .write("trace_marker", "teiji")
    }
}

fn begin() -> Result<Session, TraceError> {
    let tracefs = Tracefs::find()?;
    tracefs.needs_idle_tracers()?;
    let mut session = Session::begin(&tracefs)?;
    session.borrow_option(OPTIONS, WORKLOAD, false)?;
    // Somebody's limits would end the trace, and a stack in it would cost time.
    for knob in ["osnoise/stop_tracing_us", "osnoise/stop_tracing_total_us", "osnoise/print_stack"]
    {
        session.borrow_knob(knob, "0")?;
    }
    session.write("buffer_size_kb", BUFFER_KIB)?;
    Ok(session)
}
