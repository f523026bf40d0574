// SPDX-License-Identifier: MIT OR Apache-2.0
//! An instance of our own: buffers, tracer, events and clock that nobody else sees.

use crate::journal::{Borrowed, OPTION};
use crate::owner::Owner;
use crate::tracefs::remove_instance;
use crate::{Format, RawReader, Reader, TraceError, Tracefs};
use plan::CpuId;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// One instance, in whose events times are of CLOCK_MONOTONIC. It is removed, and what was borrowed
/// restored, when it ends; if the process is killed, by the next that asks for one.
pub struct Session {
    tracefs: Tracefs,
    name: String,
    folder: PathBuf,
    borrowed: Option<Borrowed>,
    ended: bool,
}

/// Instances that this process has made.
static MADE: AtomicU32 = AtomicU32::new(0);

impl Session {
    /// Makes an instance, after removing what killed processes left. It records from now on
    /// whatever is enabled in it.
    ///
    /// # Errors
    /// What the machine lacks, or what could not be restored.
    pub fn begin(tracefs: &Tracefs) -> Result<Self, TraceError> {
        tracefs.recover()?;
        let owner = Owner::this_process(&tracefs.proc).ok_or_else(|| {
            TraceError::Missing(
                "/proc does not tell when this process started. Mount it".to_owned(),
            )
        })?;
        let name = owner.name(MADE.fetch_add(1, Ordering::Relaxed));
        let folder = tracefs.root.join("instances").join(&name);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(TraceError::Missing(
                    "tracefs has no instances. It takes Linux 3.10 or later".to_owned(),
                ));
            }
            result => result.map_err(|error| tracefs.denied(error, &folder))?,
        }
        let session =
            Session { tracefs: tracefs.clone(), name, folder, borrowed: None, ended: false };
        session.write("trace_clock", "mono")?;
        // Whoever waits is woken by the first event, not when the buffer is half full. Kernels
        // before 5.0 always do that.
        if session.folder.join("buffer_percent").exists() {
            session.write("buffer_percent", "0")?;
        }
        Ok(session)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file of the instance, such as `buffer_size_kb`.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn write(&self, file: &str, value: &str) -> Result<(), TraceError> {
        let path = self.folder.join(file);
        let written = OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .and_then(|mut file| file.write_all(value.as_bytes()));
        written.map_err(|error| TraceError::file("write", path, error))
    }

    /// Records an event such as `sched/sched_switch`, of which only what passes a filter, where one
    /// is given.
    ///
    /// # Errors
    /// The event that this kernel does not have, or what it said of the filter.
    pub fn enable(&self, event: &str, filter: Option<&str>) -> Result<(), TraceError> {
        if !self.folder.join("events").join(event).exists() {
            return Err(TraceError::Missing(format!("this kernel has no event {event}")));
        }
        if let Some(filter) = filter {
            self.write(&format!("events/{event}/filter"), filter)?;
        }
        self.write(&format!("events/{event}/enable"), "1")
    }

    /// Lets a tracer run in the instance.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn set_tracer(&self, tracer: &str) -> Result<(), TraceError> {
        self.write("current_tracer", tracer)
    }

    /// Sets what has no version for each instance, such as `osnoise/cpus`, until the session ends.
    ///
    /// # Errors
    /// When another teiji has borrowed something, or the kernel does not take the value.
    pub fn borrow_knob(&mut self, knob: &str, value: &str) -> Result<(), TraceError> {
        if self.borrowed.is_none() {
            let Tracefs { root, journals, proc, .. } = &self.tracefs;
            self.borrowed = Some(Borrowed::begin(root, journals, proc, &self.name)?);
        }
        self.borrowed.as_mut().map_or(Ok(()), |borrowed| borrowed.set(knob, value))
    }

    /// Switches an option in a file such as `osnoise/options` on or off, until the session ends.
    ///
    /// # Errors
    /// When another teiji has borrowed something, or the kernel does not have the option.
    pub fn borrow_option(
        &mut self,
        file: &str,
        option: &str,
        is_on: bool,
    ) -> Result<(), TraceError> {
        let value = if is_on { option.to_owned() } else { format!("NO_{option}") };
        self.borrow_knob(&format!("{file}{OPTION}{option}"), &value)
    }

    /// What one CPU records. It has to be dropped before the session ends, which waits a second for
    /// it.
    ///
    /// # Errors
    /// When there is no such CPU.
    pub fn reader(&self, cpu: CpuId) -> Result<Reader, TraceError> {
        let path = self.folder.join(format!("per_cpu/cpu{}/trace_pipe", cpu.0));
        Reader::open(&path).map_err(|error| TraceError::file("read", path, error))
    }

    /// What one CPU records, as it is stored. It has to be dropped before the session ends, which
    /// waits a second for it.
    ///
    /// # Errors
    /// When there is no such CPU.
    pub fn raw_reader(&self, cpu: CpuId) -> Result<RawReader, TraceError> {
        let path = self.folder.join(format!("per_cpu/cpu{}/trace_pipe_raw", cpu.0));
        RawReader::open(&path).map_err(|error| TraceError::file("read", path, error))
    }

    /// How the fields of an event such as `sched/sched_switch` lie in memory.
    ///
    /// # Errors
    /// The event that this kernel does not have.
    pub fn format(&self, event: &str) -> Result<Format, TraceError> {
        let text = fs::read_to_string(self.folder.join("events").join(event).join("format")).ok();
        text.and_then(|text| Format::parse(&text))
            .ok_or_else(|| TraceError::Missing(format!("this kernel has no event {event}")))
    }

    /// Removes the instance and restores what was borrowed.
    ///
    /// # Errors
    /// What could not be. The next session tries again.
    pub fn end(mut self) -> Result<(), TraceError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), TraceError> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        // The tracer ends first: what is restored would change what it does.
        let removed = remove_instance(&self.folder)
            .map_err(|error| TraceError::file("remove", &self.folder, error));
        let restored = self.borrowed.take().map_or(Ok(()), |mut borrowed| borrowed.end());
        restored.and(removed)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            #[expect(
                clippy::print_stderr,
                reason = "a machine that is not as it was found is never silent, and nobody is \
                          left to return it to"
            )]
            {
                eprintln!("teiji: {error}. The next run that traces tries again");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;
    use std::time::Duration;

    /// The machine's own.
    fn real() -> Tracefs {
        Tracefs::find().expect("these tests need root and a kernel with tracefs")
    }

    #[test]
    fn events_are_read_and_nothing_is_left() {
        let tracefs = real();
        let session = Session::begin(&tracefs).unwrap();
        let name = session.name.clone();
        assert!(tracefs.instances().contains(&name));
        session.write("trace_marker", "hello from a test").unwrap();
        let cpus = fs::read_dir(session.folder().join("per_cpu")).unwrap().count();
        let mut found = 0;
        for cpu in 0..cpus {
            let mut reader = session.reader(CpuId(u32::try_from(cpu).unwrap())).unwrap();
            assert!(reader.wait(Duration::from_millis(1)).is_ok());
            while let Some(text) = reader.next().unwrap() {
                let Text::Line(line) = text else { continue };
                let line = crate::Line::parse(line).unwrap();
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
                let age = now.tv_sec * 1_000_000_000 + now.tv_nsec - line.time.0;
                assert!((0..60_000_000_000).contains(&age), "{age}");
                found += usize::from(line.payload.contains("hello from a test"));
            }
        }
        assert_eq!(found, 1);
        session.end().unwrap();
        assert!(!tracefs.instances().contains(&name));
    }

    #[test]
    fn an_event_that_is_not_there_is_named() {
        let tracefs = real();
        let session = Session::begin(&tracefs).unwrap();
        assert!(
            session
                .enable("sched/no_such_event", None)
                .unwrap_err()
                .to_string()
                .contains("sched/no_such_event")
        );
        session.enable("sched/sched_switch", Some("next_prio < 50")).unwrap();
    }

    /// Makes an instance in a process that kills itself: only as a process of the next test.
    #[test]
    fn a_process_that_is_killed() {
        if std::env::var_os("TEIJI_TEST_KILL").is_none() {
            return;
        }
        let session = Session::begin(&Tracefs::find().unwrap()).unwrap();
        session.enable("sched/sched_switch", None).unwrap();
        eprintln!("instance={}", session.name);
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }

    #[test]
    fn the_next_session_removes_the_instance_of_a_killed_process() {
        let tracefs = real();
        let killed = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "session::tests::a_process_that_is_killed", "--nocapture"])
            .env("TEIJI_TEST_KILL", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&killed.stderr).into_owned();
        let name = said.split("instance=").nth(1).unwrap().lines().next().unwrap().to_owned();
        let ours = Session::begin(&tracefs).unwrap();
        assert!(!tracefs.instances().contains(&name), "{name}");
        assert!(tracefs.instances().contains(&ours.name));
    }
}
