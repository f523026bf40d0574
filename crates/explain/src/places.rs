// SPDX-License-Identifier: MIT OR Apache-2.0
//! At which instructions a part was, and which line of the source most of it was at.

use crate::calls::Way;
use crate::code::{Code, FrameId};
use crate::dump::Dump;
use crate::kernel::FindSource;
use crate::timed::Timed;
use model::{Inlined, Source};
use std::collections::BTreeMap;
use std::ops::Range;

/// Instructions of a part by address.
type Spent = BTreeMap<u64, u64>;

pub(crate) struct Places<'a> {
    pub timed: &'a Timed,
    pub dump: &'a Dump,
    pub find: FindSource<'a>,
}

impl Places<'_> {
    /// The line at which some code spent most of these steps, what it called included.
    pub(crate) fn most_of(&self, steps: Range<usize>, code: Code) -> Option<Source> {
        let calls = &self.timed.calls;
        let mut spent = Spent::new();
        for index in steps {
            let step = &calls.steps[index];
            let mut called = None;
            let found = calls.chain(step.frame).find(|(id, frame)| {
                frame.code == code || {
                    called = Some(*id);
                    false
                }
            });
            match (found, called) {
                (None, _) => {}
                (Some(_), None) => self.own(index, &mut spent),
                (Some(_), Some(called)) => {
                    if let Some(address) = self.call_of(called) {
                        *spent.entry(address).or_default() += self.within(index);
                    }
                }
            }
        }
        self.busiest(&spent)
    }

    /// The line at which some code spent most of its own time in these steps.
    pub(crate) fn most_of_own(&self, steps: Range<usize>, code: Code) -> Option<Source> {
        let calls = &self.timed.calls;
        let mut spent = Spent::new();
        steps
            .filter(|index| calls.frame(calls.steps[*index].frame).code == code)
            .for_each(|index| self.own(index, &mut spent));
        self.busiest(&spent)
    }

    /// Where a frame was called, or interrupted what ran before it.
    pub(crate) fn source_of_call(&self, frame: FrameId) -> Option<Source> {
        (self.find)(self.call_of(frame)?)
    }

    fn call_of(&self, frame: FrameId) -> Option<u64> {
        let frame = self.timed.calls.frame(frame);
        match (frame.way, frame.interrupted) {
            // Where it returns to lies behind the call.
            (Way::Call(returns), _) => Some(returns - 1),
            (_, Some(interrupted)) => {
                let block = &self.dump.blocks[interrupted.block];
                block.bounds.get(usize::try_from(interrupted.done).ok()?.saturating_sub(1)).copied()
            }
            _ => frame.returned_to.map(|returns| returns - 1),
        }
    }

    /// The instructions of a step that lie within the latency.
    fn within(&self, index: usize) -> u64 {
        let step = &self.timed.calls.steps[index];
        let done = step.end - step.begin;
        let all = self.timed.times[index + 1].abs_diff(self.timed.times[index]);
        let seen = self.timed.extent(index).1;
        if seen >= all { done } else { done.saturating_mul(seen) / all }
    }

    /// The instructions of a step, by address.
    fn own(&self, index: usize, spent: &mut Spent) {
        let (calls, step) = (&self.timed.calls, &self.timed.calls.steps[index]);
        let end = step.end;
        let begin = end - self.within(index);
        let first = calls.runs.partition_point(|run| run.begin + run.done <= begin);
        for run in calls.runs[first..].iter().take_while(|run| run.begin < end) {
            let block = &self.dump.blocks[run.block];
            let (from, until) =
                (begin.max(run.begin) - run.begin, end.min(run.begin + run.done) - run.begin);
            let of = usize::try_from(from).unwrap_or(usize::MAX)
                ..usize::try_from(until).unwrap_or(usize::MAX);
            block
                .bounds
                .get(of)
                .into_iter()
                .flatten()
                .for_each(|address| *spent.entry(*address).or_default() += 1);
        }
    }

    /// Of these instructions the line that most of them belong to, and the inlined functions that
    /// most of that was in.
    fn busiest(&self, spent: &Spent) -> Option<Source> {
        let mut found: Vec<(Source, u64)> = spent
            .iter()
            .filter_map(|(address, count)| Some(((self.find)(*address)?, *count)))
            .collect();
        let (file, line) = most(&found, |source| Some((source.file.clone(), source.line)))?.0;
        found.retain(|(source, _)| (&source.file, source.line) == (&file, line));
        let mut inlined: Vec<Inlined> = Vec::new();
        for depth in 1.. {
            let at = |source: &Source| {
                source.inlined.len().checked_sub(depth).map(|place| source.inlined[place].clone())
            };
            let all: u64 = found.iter().map(|(_, count)| count).sum();
            let Some((function, count)) = most(&found, |source| Some(at(source)?.function)) else {
                break;
            };
            if count * 2 <= all {
                break;
            }
            found.retain(|(source, _)| {
                at(source).is_some_and(|inlined| inlined.function == function)
            });
            let Some((place, _)) =
                most(&found, |source| at(source).map(|place| (place.file, place.line)))
            else {
                break;
            };
            found.retain(|(source, _)| {
                at(source).is_some_and(|inlined| (inlined.file, inlined.line) == place)
            });
            inlined.push(Inlined { function, file: place.0, line: place.1 });
        }
        inlined.reverse();
        Some(Source { file, line, inlined })
    }
}

/// The key with most instructions, and how many; of equals the first by order.
fn most<K: Ord>(found: &[(Source, u64)], key: impl Fn(&Source) -> Option<K>) -> Option<(K, u64)> {
    let mut sums: BTreeMap<K, u64> = BTreeMap::new();
    for (source, count) in found {
        if let Some(key) = key(source) {
            *sums.entry(key).or_default() += count;
        }
    }
    sums.into_iter().rev().max_by_key(|(_, count)| *count)
}
