// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tracer, and its thread on each CPU.

use crate::tracer::{OPTIONS, Running, Tracer, WORKLOAD};
use plan::{CpuId, Nanos, Scheduling};
use rustix::thread::Pid;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use system::process::{self, Stat};
use system::scheduling::set_scheduling;
use trace::{Session, TraceError, Tracefs};

/// Whose thread waits for the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    Kernel,
    /// One of this program, which comes back to user space each time.
    User,
}

static RUNNING: Running = Mutex::new(Weak::new());

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

/// Lets the tracer run on one more CPU.
pub(crate) fn trace(
    cpu: CpuId,
    interval: Nanos,
    thread: Thread,
    scheduling: Scheduling,
) -> Result<Arc<Tracer>, TraceError> {
    let set_up = |tracefs: &Tracefs, session: &mut Session| {
        session.borrow_knob("osnoise/timerlat_period_us", &(interval.0 / 1_000).to_string())?;
        // Kernels before 6.2 do not have it, and always have threads of their own.
        if thread == Thread::User || tracefs.needs_option(OPTIONS, WORKLOAD, "").is_ok() {
            session.borrow_option(OPTIONS, WORKLOAD, thread == Thread::Kernel)?;
        }
        Ok(())
    };
    Tracer::on(&RUNNING, "timerlat", cpu, set_up, |traced| match thread {
        Thread::User => Ok(()),
        // If the tracer ran already, the kernel has made its threads anew.
        Thread::Kernel => traced.cpus.iter().try_for_each(|cpu| schedule(*cpu, scheduling)),
    })
}

/// What a thread of this program reads on a CPU.
pub(crate) fn file_of_user(tracer: &Tracer, cpu: CpuId) -> PathBuf {
    let folder = tracer.lock().session.folder().to_owned();
    folder.join(format!("../../osnoise/per_cpu/cpu{}/timerlat_fd", cpu.0))
}

/// Gives the kernel's thread on a CPU the run's scheduling.
fn schedule(cpu: CpuId, scheduling: Scheduling) -> Result<(), TraceError> {
    let thread = kernel_thread(cpu);
    let thread = thread.ok_or_else(|| {
        TraceError::Missing(format!("the timerlat tracer made no thread timerlat/{}", cpu.0))
    })?;
    set_scheduling(Some(thread), scheduling).map_err(|error| {
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
