// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where latencies went. Functions are the kernel's, and tasks may be anybody's.

use super::Anonymiser;
use crate::{Account, Explained, FunctionTime, Inlined, OtherCpu, Part, Source, Sources, Timeline};
use std::collections::BTreeSet;

impl Anonymiser<'_> {
    /// The same without names of tasks and of places outside the kernel's source.
    #[must_use]
    pub fn explained(&self, explained: Explained) -> Explained {
        let Explained { version, identical_samples, accounts } = explained;
        let account = |Account { thread, activation, latency_ns, parts, timeline }| Account {
            thread,
            activation,
            latency_ns,
            parts: parts.into_iter().map(|part| self.part(part)).collect(),
            timeline: self.timeline(timeline),
        };
        Explained {
            version,
            identical_samples,
            accounts: accounts.into_iter().map(account).collect(),
        }
    }

    fn part(&self, part: Part) -> Part {
        let Part {
            kind,
            begin_ns,
            length_ns,
            function,
            called_by,
            task,
            next_task,
            interrupted,
            off_at,
            on_at,
            off_before_ns,
            other_cpu,
            mostly,
            sources,
        } = part;
        let some_task = |task: String| self.some_task(&task);
        let other = |OtherCpu { function, called_by, task }| OtherCpu {
            function,
            called_by,
            task: task.map(some_task),
        };
        let time = |FunctionTime { function, own_ns, source }| FunctionTime {
            function,
            own_ns,
            source: source.map(|at| self.source(at)),
        };
        Part {
            kind,
            begin_ns,
            length_ns,
            function,
            called_by,
            task: task.map(some_task),
            next_task: next_task.map(some_task),
            interrupted,
            off_at,
            on_at,
            off_before_ns,
            other_cpu: other_cpu.map(other),
            mostly: mostly.into_iter().map(time).collect(),
            sources: self.sources(sources),
        }
    }

    fn sources(
        &self,
        Sources { function, called_by, interrupted, off_at, on_at }: Sources,
    ) -> Sources {
        let place = |source: Option<Source>| source.map(|source| self.source(source));
        Sources {
            function: place(function),
            called_by: called_by.into_iter().map(place).collect(),
            interrupted: place(interrupted),
            off_at: place(off_at),
            on_at: place(on_at),
        }
    }

    fn source(&self, Source { file, line, inlined }: Source) -> Source {
        let within = |Inlined { function, file, line }| Inlined {
            function,
            file: self.source_file(file),
            line,
        };
        Source {
            file: self.source_file(file),
            line,
            inlined: inlined.into_iter().map(within).collect(),
        }
    }

    /// A file of the kernel's source is known to everybody; one that lies elsewhere is not.
    fn source_file(&self, file: String) -> String {
        if file.starts_with('/') || file.starts_with("..") {
            self.name("path", &file)
        } else {
            self.without_secrets(&file)
        }
    }

    fn timeline(&self, Timeline { names, spans }: Timeline) -> Timeline {
        let functions: BTreeSet<usize> =
            spans.iter().filter(|span| span.depth > 0).map(|span| span.name as usize).collect();
        let tasks: BTreeSet<usize> =
            spans.iter().filter(|span| span.depth == 0).map(|span| span.name as usize).collect();
        let name = |(place, name): (usize, String)| {
            if functions.contains(&place) && !tasks.contains(&place) {
                name
            } else {
                self.some_task(&name)
            }
        };
        Timeline { names: names.into_iter().enumerate().map(name).collect(), spans }
    }
}
