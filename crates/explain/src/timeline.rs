// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which functions ran when: the stacks of a latency's steps, joined to spans.

use crate::code::{Code, FrameId};
use crate::dump::Window;
use crate::kernel::{Kernel, Role};
use crate::timed::Timed;
use model::{Span, Timeline};
use std::collections::HashMap;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Of {
    Task(Option<usize>),
    Frame(FrameId),
}

/// The spans of a latency. What is shorter than an instruction is not there.
pub(crate) fn timeline(timed: &Timed, window: &Window, kernel: &Kernel<'_>) -> Timeline {
    let mut spans =
        Spans { timeline: Timeline::default(), names: HashMap::new(), open: Vec::new() };
    let mut end = 0;
    for (index, step) in timed.steps() {
        let (begin, length) = timed.extent(index);
        let mut stack: Vec<Of> = timed
            .calls
            .chain(step.frame)
            // Programs are shown as their tasks, and the thunks of returns are no functions.
            .filter(|(_, frame)| {
                frame.code != Code::User && kernel.role(frame.code) != Some(Role::ReturnThunk)
            })
            .map(|(id, _)| Of::Frame(id))
            .collect();
        stack.push(Of::Task(step.task));
        stack.reverse();
        end = begin + length;
        spans.change(&stack, begin, |of| match of {
            Of::Task(task) => {
                let name = task.map_or("", |task| window.tasks[task].name.as_str());
                if name.is_empty() { "task unknown".to_owned() } else { name.to_owned() }
            }
            Of::Frame(id) => kernel.name(timed.calls.frame(id).code),
        });
    }
    spans.change(&[], end, |_| String::new());
    let mut timeline = spans.timeline;
    timeline.spans.retain(|span| span.length_ns > 0);
    timeline.left_out = Some(0);
    timeline.spans.sort_by_key(|span| (span.begin_ns, span.depth));
    timeline
}

struct Spans {
    timeline: Timeline,
    names: HashMap<String, u32>,
    /// What runs, outermost first, and its span.
    open: Vec<(Of, usize)>,
}

impl Spans {
    /// From now on this is the stack.
    fn change(&mut self, stack: &[Of], now: u64, name: impl Fn(Of) -> String) {
        let same = self.open.iter().zip(stack).take_while(|((open, _), of)| open == *of).count();
        for (_, span) in self.open.drain(same..) {
            let span = &mut self.timeline.spans[span];
            span.length_ns = now - span.begin_ns;
        }
        for of in &stack[same..] {
            let name = self.name(name(*of));
            let depth = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
            self.open.push((*of, self.timeline.spans.len()));
            self.timeline.spans.push(Span { depth, name, begin_ns: now, length_ns: 0 });
        }
    }

    fn name(&mut self, name: String) -> u32 {
        let next = u32::try_from(self.timeline.names.len()).unwrap_or(u32::MAX);
        *self.names.entry(name).or_insert_with_key(|name| {
            self.timeline.names.push(name.clone());
            next
        })
    }
}
