// SPDX-License-Identifier: MIT OR Apache-2.0
//! `hwlat`: times in which the hardware, its firmware or a hypervisor took the CPU away, found by
//! the kernel's hwlat tracer.
//!
//! A kernel thread reads the clock again and again with interrupts off. Whatever comes between two
//! readings is no software of this kernel, except a non-maskable interrupt. Our thread reads what
//! the tracer prints of each window.

use super::probe::{Probe, SetProbe, SettingConflict, conflict};
use super::setting::{ProbeSetting, SettingValues};
use crate::attachment::Attachment;
use crate::observer::Observer;
use crate::outcome::SampleError;
use crate::sampler::{Awaited, EventSource};
use crate::smi::SmiCounter;
use crate::thread::{Launched, Outlives, ThreadConfig};
use model::{Column, ProbeStatement, RowKind, Smis};
use plan::{CpuId, Nanos, Run, Scheduling};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use std::sync::Arc;
use trace::{Gap, Line, Reader, Session, Text, TraceError, Tracefs};

pub(super) const PROBE: Probe = Probe {
    needs: "the hwlat tracer (CONFIG_HWLAT_TRACER), and root",
    settings: &[WINDOW, WIDTH, THRESHOLD],
    default_scheduling: Scheduling::OTHER,
    ..Probe::new(
        "hwlat",
        "gaps made by hardware, firmware or a hypervisor, with interrupts off (hwlat tracer)",
        |settings| {
            let nanos = |setting: &ProbeSetting| setting.time(settings).unwrap_or(Nanos(1));
            let (window, width, threshold) = (nanos(&WINDOW), nanos(&WIDTH), nanos(&THRESHOLD));
            Arc::new(Settings { window, width, threshold })
        },
    )
};

const WINDOW: ProbeSetting = ProbeSetting::new(
    "hwlat-window",
    "Time from the beginning of one sampling with interrupts off to the next",
    SettingValues::Time,
    "1s",
);
const WIDTH: ProbeSetting = ProbeSetting::new(
    "hwlat-width",
    "How long of each window the tracer samples, with interrupts off",
    SettingValues::Time,
    "500ms",
);
const THRESHOLD: ProbeSetting = ProbeSetting::new(
    "hwlat-threshold",
    "Gaps above this are recorded",
    SettingValues::Time,
    "10us",
);

struct Settings {
    window: Nanos,
    width: Nanos,
    threshold: Nanos,
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        ProbeStatement {
            rows: RowKind::Events,
            columns: vec![
                Column::ns(
                    "gap_ns",
                    "the longest time in one window that the CPU did not execute the tracer",
                ),
                Column::ns(
                    "inner_ns",
                    "the longest between two readings of the clock, one right after the other",
                ),
                Column::ns(
                    "outer_ns",
                    "the longest from the second reading to the first of the next two",
                ),
                Column::count(
                    "count",
                    "gaps above the threshold in the window; one where the kernel does not count \
                     them",
                ),
            ],
            overrun_column: None,
            measuring_point:
                "between two successive readings of the clock by a kernel thread with \
                              interrupts off, in whole us"
                    .into(),
            only_observes: true,
            ..ProbeStatement::cyclic()
        }
    }

    fn conflict(&self, run: &Run) -> Option<SettingConflict> {
        let times = [(WINDOW, self.window), (WIDTH, self.width), (THRESHOLD, self.threshold)];
        if let Some((setting, _)) = times.iter().find(|(_, time)| time.0 % 1_000 != 0) {
            return conflict(setting.name, "the tracer takes whole us");
        }
        if self.width >= self.window {
            return conflict(
                WIDTH.name,
                "it is less than hwlat-window, or the CPU would never run anything else",
            );
        }
        if run.scheduling.policy.is_real_time() {
            return conflict(
                "policy",
                "the tracer's thread samples with interrupts off, and has no priority: leave it \
                 at other",
            );
        }
        None
    }

    /// The tracer has one thread.
    fn max_threads(&self) -> Option<usize> {
        Some(1)
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        lacks().err().map(|error| error.to_string())
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let hwlat = Hwlat::begin(self, config.cpu).map_err(io::Error::other)?;
        let outlives = Some(Arc::clone(&hwlat.session) as Outlives);
        Ok(Launched { outlives, ..config.launch_events::<_, 4, 5>(Observer, hwlat)? })
    }
}

fn lacks() -> Result<Tracefs, TraceError> {
    let tracefs = Tracefs::find()?;
    tracefs.needs_tracer("hwlat", "CONFIG_HWLAT_TRACER")?;
    tracefs.needs_idle_tracers()?;
    Ok(tracefs)
}

/// How often the trace is read.
const READ_EVERY: Nanos = Nanos::from_millis(100);

struct Hwlat {
    reader: Reader,
    /// What gaps may have been.
    smis: SmiCounter,
    /// Ends after the reader: fields are dropped in this order.
    session: Arc<Session>,
}

impl Hwlat {
    fn begin(settings: &Settings, cpu: CpuId) -> Result<Self, TraceError> {
        let mut session = Session::begin(&lacks()?)?;
        // Not in kernels before 5.14, which do what it says there by default.
        let mode = std::fs::read_to_string(session.folder().join("../../hwlat_detector/mode"));
        if mode.is_ok_and(|mode| !mode.contains("[round-robin]")) {
            let what = "somebody has set hwlat_detector/mode of tracefs, by which the tracer's \
                        thread is not kept on one CPU. Write round-robin to it";
            return Err(TraceError::Busy(what.to_owned()));
        }
        let micros = |time: Nanos| (time.0 / 1_000).to_string();
        let (window, width) = (micros(settings.window), micros(settings.width));
        // Which of the two can be written first depends on what they were: the kernel takes no
        // width above the window.
        if session.borrow_knob("hwlat_detector/window", &window).is_err() {
            session.borrow_knob("hwlat_detector/width", &width)?;
            session.borrow_knob("hwlat_detector/window", &window)?;
        }
        session.borrow_knob("hwlat_detector/width", &width)?;
        session.borrow_knob("tracing_thresh", &micros(settings.threshold))?;
        // In turn on each CPU of the mask, which is one.
        session.write("tracing_cpumask", &cpu_mask(cpu))?;
        session.set_tracer("hwlat")?;
        Ok(Hwlat {
            reader: session.reader(cpu)?,
            smis: SmiCounter::open(Path::new("/"), cpu),
            session: Arc::new(session),
        })
    }

    /// The next gap that was printed, and when; none if there is none yet.
    fn next_gap(&mut self) -> io::Result<Option<(Nanos, Gap)>> {
        while let Some(text) = self.reader.next()? {
            match text {
                Text::Line(line) => {
                    let gap = Line::parse(line)
                        .and_then(|line| Some((line.time, Gap::parse(line.payload)?)));
                    if gap.is_some() {
                        return Ok(gap);
                    }
                }
                // A gap that is lost cannot be counted among events, which have no number of their
                // own: the run ends.
                Text::Lost(_) => return Err(Errno::NOBUFS.into()),
            }
        }
        Ok(None)
    }
}

/// A CPU in the kernel's notation: hexadecimal, a comma after each 32 bits.
fn cpu_mask(cpu: CpuId) -> String {
    format!("{:x}{}", 1_u32 << (cpu.0 % 32), ",00000000".repeat((cpu.0 / 32) as usize))
}

impl<A: Attachment> EventSource<A, 4> for Hwlat {
    fn begin(&mut self, attachment: &mut A, start: Nanos, _interval: Nanos) {
        // Those before the start are not counted. The engine waits for it too, and looks at what
        // ended this wait.
        let _ = attachment.sleep_until(start);
        self.smis.begin();
    }

    fn smis(&self) -> Option<Smis> {
        Some(self.smis.since_begin())
    }

    fn next(&mut self, attachment: &mut A, until: Nanos) -> Awaited<4> {
        loop {
            match self.next_gap() {
                Ok(Some((time, gap))) => {
                    let (inner, outer) = (gap.inner.0, gap.outer.0);
                    let count = gap.count.and_then(|count| i64::try_from(count).ok()).unwrap_or(1);
                    return Awaited::Event(time, [inner.max(outer), inner, outer, count]);
                }
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    return Awaited::Nothing;
                }
                Err(error) => {
                    return Awaited::Failed(SampleError::new("read of trace_pipe", &error));
                }
            }
            let now = attachment.now();
            if now >= until {
                return Awaited::Nothing;
            }
            let woken = attachment.sleep_until(Nanos(now.0 + READ_EVERY.0).min(until));
            if let Some(ended) = Awaited::after_sleep(woken) {
                return ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_the_kernel_reads_them() {
        let masks = [0, 5, 31, 32, 69].map(|cpu| cpu_mask(CpuId(cpu)));
        assert_eq!(masks, ["1", "20", "80000000", "1,00000000", "20,00000000,00000000"]);
    }
}
