// SPDX-License-Identifier: MIT OR Apache-2.0
//! A tracer of the kernel's at work for some CPUs, which all threads of a run share: its settings
//! are the machine's.

use plan::{CpuId, CpuList};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use trace::{Session, TraceError, Tracefs};

/// Where it is said whether a tracer has threads of its own.
pub(crate) const OPTIONS: &str = "osnoise/options";
pub(crate) const WORKLOAD: &str = "OSNOISE_WORKLOAD";

/// The tracer. It ends with the last reference.
pub(crate) struct Tracer(Mutex<Traced>);

pub(crate) struct Traced {
    pub(crate) session: Session,
    pub(crate) cpus: Vec<CpuId>,
}

/// The tracer of this process, while it runs.
pub(crate) type Running = Mutex<Weak<Tracer>>;

impl Tracer {
    /// Lets the tracer of this name run on one more CPU, in the session of this process. `set_up`
    /// is what a new session needs before, and `add` what a CPU needs afterwards.
    pub(crate) fn on(
        running: &Running,
        name: &str,
        cpu: CpuId,
        set_up: impl FnOnce(&Tracefs, &mut Session) -> Result<(), TraceError>,
        add: impl FnOnce(&mut Traced) -> Result<(), TraceError>,
    ) -> Result<Arc<Self>, TraceError> {
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let tracer = match running.upgrade() {
            Some(tracer) => tracer,
            None => {
                let session = begin(set_up)?;
                Arc::new(Tracer(Mutex::new(Traced { session, cpus: Vec::new() })))
            }
        };
        let mut traced = tracer.lock();
        let first = traced.cpus.is_empty();
        traced.cpus.push(cpu);
        traced.cpus.sort_unstable();
        traced.cpus.dedup();
        let cpus = CpuList::format(&traced.cpus);
        traced.session.borrow_knob("osnoise/cpus", &cpus)?;
        if first {
            traced.session.set_tracer(name)?;
        }
        add(&mut traced)?;
        drop(traced);
        *running = Arc::downgrade(&tracer);
        Ok(tracer)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Traced> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn begin(
    set_up: impl FnOnce(&Tracefs, &mut Session) -> Result<(), TraceError>,
) -> Result<Session, TraceError> {
    let tracefs = Tracefs::find()?;
    tracefs.needs_idle_tracers()?;
    let mut session = Session::begin(&tracefs)?;
    set_up(&tracefs, &mut session)?;
    // Somebody's limits would end the trace, and a stack in it would cost time.
    for knob in ["osnoise/stop_tracing_us", "osnoise/stop_tracing_total_us", "osnoise/print_stack"]
    {
        session.borrow_knob(knob, "0")?;
    }
    Ok(session)
}
