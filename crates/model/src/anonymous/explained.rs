// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where latencies went. Functions are the kernel's, and tasks may be anybody's.

use super::{Anonymiser, each};
use crate::{
    Account, Explained, FunctionTime, Inlined, OtherCpu, Part, ProgramThread, Source, Sources,
    Timeline,
};
use std::collections::BTreeSet;

impl Anonymiser<'_> {
    /// The same without names of tasks and of places outside the kernel's source.
    pub fn explained(&self, mut explained: Explained) -> Explained {
        let Explained { accounts, version: _, identical_samples: _ } = &mut explained;
        for Account { parts, timeline, program, thread: _, activation: _, latency_ns: _ } in
            accounts
        {
            if let Some(ProgramThread { name, number: _, priority: _, cpu: _ }) = program {
                each(name, |name| self.some_task(name));
            }
            parts.iter_mut().for_each(|part| self.part(part));
            self.timeline(timeline);
        }
        explained
    }

    fn part(&self, part: &mut Part) {
        let Part {
            name,
            task,
            next_task,
            other_cpu,
            mostly,
            sources: Sources { function, called_by, interrupted, off_at, on_at },
            kind: _,
            begin_ns: _,
            length_ns: _,
            function: _,
            called_by: _,
            interrupted: _,
            off_at: _,
            on_at: _,
            off_before_ns: _,
            priority: _,
            evidence: _,
        } = part;
        // Of an interrupt it says what is built in.
        each(name, |name| self.ours("interrupt", name));
        let of_other = other_cpu
            .iter_mut()
            .filter_map(|OtherCpu { task, function: _, called_by: _ }| task.as_mut());
        each(task.iter_mut().chain(next_task).chain(of_other), |task| self.some_task(task));
        let of_functions =
            mostly.iter_mut().map(|FunctionTime { source, function: _, own_ns: _ }| source);
        let sources = [function, interrupted, off_at, on_at].into_iter().chain(called_by);
        for Source { file, inlined, line: _ } in sources.chain(of_functions).flatten() {
            let within = inlined.iter_mut().map(|Inlined { file, function: _, line: _ }| file);
            each(within.chain([file]), |file| self.source_file(file));
        }
    }

    /// A file of the kernel's source is known to everybody; one that lies elsewhere is not.
    fn source_file(&self, file: &str) -> String {
        if file.starts_with('/') || file.starts_with("..") {
            self.name("path", file)
        } else {
            self.without_secrets(file)
        }
    }

    fn timeline(&self, Timeline { names, spans, left_out: _ }: &mut Timeline) {
        let functions: BTreeSet<usize> =
            spans.iter().filter(|span| span.depth > 0).map(|span| span.name as usize).collect();
        let tasks: BTreeSet<usize> =
            spans.iter().filter(|span| span.depth == 0).map(|span| span.name as usize).collect();
        for (place, name) in names.iter_mut().enumerate() {
            if tasks.contains(&place) || !functions.contains(&place) {
                *name = self.some_task(name);
            }
        }
    }
}
