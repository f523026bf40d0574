// SPDX-License-Identifier: MIT OR Apache-2.0
//! The line of a thread that cyclictest prints, and programs that took its form:
//! `T: 0 (11999) P:80 I:1000 C:   9 Min:   20 Act:   20 Avg:  109 Max:     192`.

use super::numbers::{decimal, mean, whole};
use super::output::of_thread;
use super::{ImportError, Lines, Measured, Output, Stated};
use plan::{CpuId, Nanos, Policy, Scheduling};

/// What such a line says. What it leaves out is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ThreadLine<'l> {
    pub index: usize,
    /// The thread's id; 0 before it has begun.
    tid: u64,
    /// By the letters before the colon.
    values: Vec<(&'l str, &'l str)>,
}

impl<'l> ThreadLine<'l> {
    /// Reads a line.
    pub(crate) fn parse(line: &'l str) -> Option<ThreadLine<'l>> {
        let rest = line.trim_start().strip_prefix("T:")?;
        let (index, rest) = rest.split_once('(')?;
        let (pid, mut rest) = rest.split_once(')')?;
        let tid = whole(pid)?;
        let index = usize::try_from(whole(index)?).ok()?;
        let mut values = Vec::new();
        while let Some((name, behind)) = rest.split_once(':') {
            let behind = behind.trim_start();
            let end = behind.find(' ').unwrap_or(behind.len());
            values.push((name.trim(), &behind[..end]));
            rest = &behind[end..];
            if values.len() > 16 {
                return None;
            }
        }
        (!values.is_empty()).then_some(ThreadLine { index, tid, values })
    }

    /// Whether a line is of the program whose lines have these values and none of those.
    pub(crate) fn has(line: &str, these: &[&str], none_of: &[&str]) -> bool {
        ThreadLine::parse(line).is_some_and(|line| {
            let has = |name: &&str| line.get(name).is_some();
            these.iter().all(has) && !none_of.iter().any(has)
        })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'l str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// How many cycles there were.
    pub(crate) fn cycles(&self) -> Option<u64> {
        whole(self.get("C")?)
    }

    /// Whether it is of this thread, later in the same run or at the same time.
    pub(crate) fn continues(&self, thread: &Measured, unit_ns: i64) -> bool {
        self.tid != 0 && self.tid == thread.tid && self.counts_on(thread, unit_ns)
    }

    /// Whether its figures may follow those of this thread in one run: cycles do not become fewer,
    /// nor the largest value smaller, and without a cycle more it stays.
    fn counts_on(&self, thread: &Measured, unit_ns: i64) -> bool {
        let (was, is) = (thread.stated, self.stated(unit_ns));
        let is_known = was.max.is_some() && is.max.is_some();
        let has_more = is.count > was.count;
        let goes_back = is.count < was.count || (is_known && is.max < was.max);
        // cyclicdeadline, whose threads have no priority, forgets a smallest value of 0.
        let is_larger = is.min.zip(was.min).is_some_and(|(is, was)| is > was);
        let min_rises = self.get("P").is_some() && is_larger;
        let is_same = !is_known || is.count.is_none() || is.max == was.max;
        !goes_back && !min_rises && (has_more || is_same)
    }

    /// Puts what it says into a thread: its interval, CPU and figures, which are in this unit.
    pub(crate) fn put(&self, thread: &mut Measured, unit_ns: i64) {
        if let Some(interval) = self.get("I").and_then(|text| decimal(text, 1_000)) {
            thread.interval = Some(Nanos(interval));
        }
        if let Some(cpu) = self.get("A").and_then(whole).and_then(|cpu| u32::try_from(cpu).ok()) {
            thread.cpu = Some(CpuId(cpu));
        }
        thread.stated = self.stated(unit_ns);
    }

    /// Its figures. Before the first cycle there are none.
    fn stated(&self, unit_ns: i64) -> Stated {
        let count = self.cycles();
        let ns = |name: &str| decimal(self.get(name)?, unit_ns).filter(|_| count != Some(0));
        Stated {
            count,
            min: ns("Min"),
            mean: mean(self.get("Avg").unwrap_or_default(), unit_ns).filter(|_| count != Some(0)),
            max: ns("Max"),
            last: ns("Act"),
            ..Stated::default()
        }
    }

    /// The scheduling, of a program that has real-time threads of this policy where they have a
    /// priority.
    pub(crate) fn scheduling(&self, policy: Option<Policy>) -> Option<Scheduling> {
        match whole(self.get("P")?)? {
            0 => match policy {
                Some(policy @ (Policy::Batch | Policy::Idle)) => {
                    Some(Scheduling { policy, prio: None })
                }
                _ => Some(Scheduling::OTHER),
            },
            prio => Some(Scheduling { policy: policy?, prio: u8::try_from(prio).ok() }),
        }
    }
}

/// Reads such lines, drawn again and again, while each counts on: the last of each thread stays. An
/// output of which a thread begins again, or another thread has its number, ends before it, and
/// before a line that is cut. Whether there were any.
pub(crate) fn read_all(
    lines: &mut Lines<'_>,
    output: &mut Output,
    unit_ns: i64,
    policy: Option<Policy>,
) -> Result<bool, ImportError> {
    let mut any = false;
    loop {
        lines.peek()?;
        let is_cut = lines.is_cut();
        if is_cut && lines.peek()?.and_then(ThreadLine::parse).is_some() {
            output.cut_at = Some(lines.number());
            break;
        }
        let Some(line) = lines.peek()?.and_then(ThreadLine::parse) else { break };
        let thread = output.thread(line.index)?;
        if !line.counts_on(thread, unit_ns) || thread.is_another(line.tid) {
            break;
        }
        let scheduling = line.scheduling(policy);
        line.put(thread, unit_ns);
        thread.smis = line.get("SMI").and_then(whole);
        thread.scheduling = scheduling;
        any = true;
        lines.advance();
    }
    Ok(any)
}

/// The latency that ended a run (-b) and its thread, which are printed below lines that were drawn
/// before it.
#[derive(Default)]
pub(crate) struct Broken {
    tid: Option<u64>,
    value: Option<i64>,
}

impl Broken {
    /// Takes a line, if it is one of those that say this: what it is, and the rest.
    pub(crate) fn read<'l>(&mut self, line: &'l str, unit_ns: i64) -> Option<(&'l str, &'l str)> {
        let (what, text) = line.trim().strip_prefix("# ")?.split_once(':')?;
        match what {
            "Break thread" => self.tid = whole(text),
            "Break value" => self.value = decimal(text, unit_ns),
            _ => return None,
        }
        Some((what, text))
    }

    pub(crate) const fn is_any(&self) -> bool {
        self.value.is_some()
    }

    /// Makes it the largest latency of its thread where the lines say less.
    pub(crate) fn put(&self, output: &mut Output) {
        let Some(value) = self.value else { return };
        let of_lines = output.threads.iter().map(|thread| thread.stated.max);
        let is_it = |thread: &Measured| Some(thread.tid) == self.tid;
        let largest = of_lines.clone().enumerate().max_by_key(|(_, max)| *max);
        let largest = largest.map(|(index, _)| index);
        let of_it = output.threads.iter().position(is_it);
        let Some(index) = of_it.or(largest) else { return };
        (output.is_broken_off, output.broken_at) = (true, Some((index, value)));
        if of_lines.flatten().max().is_none_or(|max| max >= value) {
            return;
        }
        let has_max = |index: &usize| output.threads[*index].stated.max.is_some();
        let Some(index) = of_it.filter(has_max).or(largest) else { return };
        let Some(max) = output.threads[index].stated.max.replace(value) else { return };
        let us = |ns: i64| format!("{:.3} us", ns as f64 / 1e3);
        output.contradiction(of_thread(index, "maximum"), us(max), us(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_programs() {
        let of = |line: &'static str| ThreadLine::parse(line).unwrap();
        let cyclictest = of("T: 1 (12000) P:80 I:1500 C:      4 Min:     27 Act:   27 Avg:   47 \
                             Max:      74 SMI:       3");
        assert_eq!(
            ["P", "I", "C", "Min", "Avg", "Max", "SMI"].map(|name| cyclictest.get(name)),
            ["80", "1500", "4", "27", "47", "74", "3"].map(Some)
        );
        assert_eq!((cyclictest.index, cyclictest.cycles()), (1, Some(4)));
        let jitter = of("T: 0 ( 5942) A: 1 C:      3988 Min:        11 Avg:  317.87 Max: 26090");
        assert_eq!((jitter.get("A"), jitter.get("Avg")), (Some("1"), Some("317.87")));
        for line in ["T: 0", "T: x (1) P:1", "# T: 0 (1) P:1", "T: 1 Spike:  157: TS:  780"] {
            assert_eq!(ThreadLine::parse(line), None, "{line}");
        }
    }
}
