// SPDX-License-Identifier: MIT OR Apache-2.0
//! `spawn`: how long it takes to start a process.
//!
//! Each trial starts a tiny static program, whose first instructions read the clock, and waits for
//! its end. The judged time is from the call to that first reading. A trial is over when the child
//! has been waited for; one that is not over when the next is due is late, and the next one is
//! skipped.

use super::probe::{Probe, SetProbe};
use super::setting::ProbeSetting;
use crate::attachment::{Attachment, Linux};
use crate::outcome::SampleError;
use crate::process_start::{ChildProgram, Method, Started, start};
use crate::sampler::{Overrun, Sampler};
use crate::thread::{Launched, ThreadConfig};
use model::{Column, ProbeStatement, RowKind};
use plan::{Nanos, Run, Scheduling};
use std::io;
use std::sync::Arc;

pub(super) const PROBE: Probe = Probe {
    needs: "a file in memory that may be executed (memfd_create)",
    settings: &[METHOD],
    ..Probe::new(
        "spawn",
        "time from the call that starts a process to its first instruction",
        |settings| {
            let (method, name) = match METHOD.text(settings) {
                "fork" => (Method::Fork, "fork"),
                "vfork" => (Method::Vfork, "vfork"),
                "clone" => (Method::Clone, "clone"),
                _ => (Method::PosixSpawn, "posix_spawn"),
            };
            Arc::new(Settings { method, name })
        },
    )
};

const METHOD: ProbeSetting = ProbeSetting::one_of(
    "method",
    "How processes are started",
    &["posix_spawn", "fork", "vfork", "clone"],
);

struct Settings {
    method: Method,
    name: &'static str,
}

impl SetProbe for Settings {
    fn statement(&self, _: &Run) -> ProbeStatement {
        let mut columns = vec![
            Column::ns("exec_ns", "from the call to the child's first instruction after exec"),
            Column::ns("done_ns", "from the planned time until the child was waited for"),
            Column::ns("wakeup_ns", "from the planned time until the call"),
        ];
        if self.method != Method::PosixSpawn {
            columns.push(Column::ns("child_ns", "from the call to its return in the child"));
        }
        ProbeStatement {
            rows: RowKind::Trials,
            columns,
            overrun_column: Some(DONE),
            measuring_point: "from the clock read before the call to the child's own reading, its \
                              first instructions after exec"
                .into(),
            ..ProbeStatement::cyclic()
        }
    }

    fn lacks(&self, _: Nanos, _: Scheduling) -> Option<String> {
        let error = ChildProgram::new().err()?;
        Some(format!("a program cannot be made in memory: {error}"))
    }

    fn launch(&self, config: ThreadConfig) -> io::Result<Launched> {
        let Settings { method, name } = *self;
        config.launch(Linux, Spawn { program: ChildProgram::new()?, method, name })
    }
}

/// The column of `done_ns`.
const DONE: usize = 1;

struct Spawn {
    program: ChildProgram,
    method: Method,
    name: &'static str,
}

/// A child that a signal ended is started again so often: a Ctrl-C goes to it too, and the run then
/// sees that it is to stop.
const MAX_REPEATS: usize = 3;

impl Spawn {
    fn start(&self) -> Result<Started, SampleError> {
        let mut repeats = 0;
        loop {
            match start(&self.program, self.method) {
                Ok(started) => return Ok(started),
                Err(error)
                    if error.kind() == io::ErrorKind::Interrupted && repeats < MAX_REPEATS =>
                {
                    repeats += 1
                }
                Err(error) => return Err(SampleError::new(self.name, &error)),
            }
        }
    }
}

impl<A: Attachment> Sampler<A, 4> for Spawn {
    const OVERRUN: Overrun = Overrun::Time(DONE);

    fn sample(&mut self, _attachment: &mut A, planned: Nanos) -> Result<[i64; 4], SampleError> {
        let Started { called_ns, child_ns, first_instruction_ns, ended_ns } = self.start()?;
        let in_child = match child_ns {
            Some(child_ns) => child_ns - called_ns,
            None if self.method == Method::PosixSpawn => 0,
            None => return Err(SampleError { doing: self.name, errno: libc::EIO }),
        };
        Ok([
            first_instruction_ns - called_ns,
            ended_ns - planned.0,
            called_ns - planned.0,
            in_child,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Control;
    use crate::test_runs::{prepare, statement, test_run};

    /// What the threads of a run recorded: rows of each, column after column.
    fn measured(run: &Run) -> Vec<Vec<i64>> {
        let mut measurement = prepare(run, &Control::new()).unwrap();
        measurement.begin(measurement.earliest());
        let mut consumers = std::mem::take(&mut measurement.consumers);
        let counts: u64 =
            measurement.join().into_iter().map(|result| result.unwrap().counts.due()).sum();
        assert_eq!(counts, 20 * run.cpus.len() as u64);
        let rows = |consumer: &mut crate::Consumer| {
            let mut columns: Vec<Vec<i64>> = Vec::new();
            let Ok(()) = consumer.drain(|_, values| {
                let width = statement(run).unwrap().columns.len();
                columns.resize(width, Vec::new());
                let rows = values.len() / width;
                columns
                    .iter_mut()
                    .zip(values.chunks_exact(rows))
                    .for_each(|(column, values)| column.extend(values));
                Ok::<_, std::convert::Infallible>(())
            });
            columns
        };
        consumers.iter_mut().flat_map(rows).collect()
    }

    /// The guard sees what they used: a CPU that children keep busy is not one with time to spare.
    #[test]
    fn the_time_of_children_is_seen() {
        let _alone = crate::process_start::one_at_a_time();
        let before = system::usage::children_cpu_time_ns();
        let program = ChildProgram::new().unwrap();
        (0..200).for_each(|_| assert!(start(&program, Method::Fork).is_ok()));
        assert!(system::usage::children_cpu_time_ns() > before);
    }

    /// Every part of a start takes some time, and lies within the whole.
    #[test]
    fn the_parts_of_a_start_are_in_order() {
        let _alone = crate::process_start::one_at_a_time();
        for method in ["posix_spawn", "fork", "vfork", "clone"] {
            let mut run = test_run(Nanos::from_millis(10), 20);
            run.cpus.truncate(1);
            run.probe = PROBE.name.to_owned();
            run.probe_settings = [("method".to_owned(), method.to_owned())].into();
            let columns = measured(&run);
            assert_eq!(columns.len(), if method == "posix_spawn" { 3 } else { 4 }, "{method}");
            for row in 0..columns[0].len() {
                let [exec, done, wakeup] = [columns[0][row], columns[1][row], columns[2][row]];
                assert!(
                    exec > 0 && wakeup >= 0 && done >= wakeup + exec,
                    "{method}: {exec} {done} {wakeup}"
                );
                if let Some(child) = columns.get(3).map(|column| column[row]) {
                    assert!(0 < child && child < exec, "{method}: {child} of {exec}");
                }
            }
        }
    }
}
