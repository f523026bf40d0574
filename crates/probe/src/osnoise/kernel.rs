// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer.

use super::event;
use crate::tracer::{OPTIONS, Running, Tracer, WORKLOAD};
use plan::CpuId;
use std::sync::{Arc, Mutex, Weak};
use trace::{Session, TraceError, Tracefs};

static RUNNING: Running = Mutex::new(Weak::new());

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

/// Lets the tracer account for one more CPU.
pub(crate) fn trace(cpu: CpuId) -> Result<Arc<Tracer>, TraceError> {
    let set_up = |_: &Tracefs, session: &mut Session| {
        session.borrow_option(OPTIONS, WORKLOAD, false)?;
        session.write("buffer_size_kb", BUFFER_KIB)
    };
    Tracer::on(&RUNNING, "osnoise", cpu, set_up, |traced| {
        if traced.cpus.len() == 1 { event::enable(&traced.session) } else { Ok(()) }
    })
}
