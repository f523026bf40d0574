// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line of `trace_pipe`: what every event begins with.

use plan::{CpuId, Nanos};

/// What a line of `trace_pipe` can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// An event, or anything else.
    Line(&'a str),
    /// Here events were lost: how many, if the kernel knows.
    Lost(Option<u64>),
}

impl<'a> Text<'a> {
    /// Of one line without its end.
    pub(crate) fn of(line: &'a str) -> Self {
        let lost = || {
            let (cpu, rest) = line.trim_start().strip_prefix("CPU:")?.split_once(' ')?;
            let said = rest.strip_prefix("[LOST ")?.strip_suffix("EVENTS]")?.trim_end();
            let known = said.is_empty() || said.bytes().all(|byte| byte.is_ascii_digit());
            (known && is_number(cpu)).then(|| said.parse().ok())
        };
        lost().map_or(Text::Line(line), Text::Lost)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The name of the task that ran.
    pub task: &'a str,
    /// Its number; 0 while idle.
    pub pid: u32,
    pub cpu: CpuId,
    /// When, on the clock of the session, in whole µs as the kernel prints them.
    pub time: Nanos,
    /// What the event says of itself.
    pub payload: &'a str,
}

impl<'a> Line<'a> {
    /// Takes a line apart; none if it is no event.
    pub fn parse(line: &'a str) -> Option<Self> {
        // A name can have any characters, but is too short to hold all that follows it.
        line.match_indices('[').find_map(|(bracket, _)| Self::with_cpu_at(line, bracket))
    }

    fn with_cpu_at(line: &'a str, bracket: usize) -> Option<Self> {
        let (cpu, rest) = line[bracket + 1..].split_once("] ")?;
        let cpu = CpuId(cpu.parse().ok().filter(|_| is_number(cpu))?);
        let (flags, rest) = rest.trim_start().split_once(' ')?;
        let (time, payload) = rest.trim_start().split_once(": ")?;
        let time = seconds(time)?;
        // Four or five characters, and as many more as later kernels need.
        if !(4..=8).contains(&flags.len()) {
            return None;
        }
        let mut head = line[..bracket].trim_end();
        // The process of the thread, where that is recorded.
        if let Some((before, process)) =
            head.rsplit_once('(').filter(|(_, process)| process.ends_with(')'))
        {
            let process = process[..process.len() - 1].trim();
            if is_number(process) || process.bytes().all(|byte| byte == b'-') {
                head = before.trim_end();
            }
        }
        let (task, pid) = head.rsplit_once('-')?;
        Some(Line {
            task: task.trim_start(),
            pid: pid.parse().ok().filter(|_| is_number(pid))?,
            cpu,
            time,
            payload: payload.trim(),
        })
    }
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Seconds with a fraction of up to nine digits.
pub(crate) fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.trim().split_once('.')?;
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let digits = u32::try_from(fraction.len()).ok()?;
    let fraction = fraction.parse::<i64>().ok()?.checked_mul(10_i64.pow(9 - digits))?;
    whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction).map(Nanos)
}

/// Whole µs as ns.
pub(crate) fn micros(text: &str) -> Option<Nanos> {
    text.parse::<i64>().ok().filter(|_| is_number(text))?.checked_mul(1_000).map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_a_kernel() {
        let line = Line::parse(
            "          <idle>-0       [000] d.h1.    54.029328: #1     context    irq \
             timer_latency       932 ns",
        )
        .unwrap();
        let expected = Line {
            task: "<idle>",
            pid: 0,
            cpu: CpuId(0),
            time: Nanos(54_029_328_000),
            payload: "#1     context    irq timer_latency       932 ns",
        };
        assert_eq!(line, expected);
        let line = Line::parse(
            " my-task [1] a-b-1234    (   1200) [017] d..3   678.473449: sched_wakeup: comm=a \
             [000] pid=3",
        )
        .unwrap();
        assert_eq!(
            (line.task, line.pid, line.cpu, line.payload),
            ("my-task [1] a-b", 1234, CpuId(17), "sched_wakeup: comm=a [000] pid=3")
        );
        assert_eq!(
            Line::parse("   x-9   (-------) [001] ....   1.5: e: f").map(|line| line.pid),
            Some(9)
        );
        for other in [
            "",
            "# tracer: timerlat",
            "CPU:0 [LOST 3 EVENTS]",
            "a [0] b",
            "a-1 [000] d.h1. x: y",
            " => do_idle",
        ] {
            assert_eq!(Line::parse(other), None, "{other}");
        }
    }

    #[test]
    fn lost_events() {
        assert_eq!(Text::of("CPU:3 [LOST 1234 EVENTS]"), Text::Lost(Some(1234)));
        assert_eq!(Text::of("CPU:3 [LOST EVENTS]"), Text::Lost(None));
        assert_eq!(Text::of("CPU:x [LOST 1 EVENTS]"), Text::Line("CPU:x [LOST 1 EVENTS]"));
    }

    proptest! {
        #[test]
        fn whatever_stands_there(line in ".*") {
            let _ = (Line::parse(&line), Text::of(&line));
        }
    }
}
