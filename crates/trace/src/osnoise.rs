// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the osnoise tracer prints: a summary of each period, and, as events, each noise by itself.

use crate::line::{is_number, micros, nanos, seconds};
use plan::Nanos;

/// What took a CPU away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseSource<'a> {
    /// A non-maskable interrupt.
    Nmi,
    /// An interrupt: its name and number.
    Irq(&'a str),
    /// A soft interrupt: its name and number.
    Softirq(&'a str),
    /// Another thread: its name and number.
    Thread(&'a str),
    /// The tracer saw a gap, with so many of the others in it. With none it was hardware or a
    /// hypervisor.
    Sample(u64),
}

/// One time in which the tracer did not have its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise<'a> {
    pub source: NoiseSource<'a>,
    /// From when, on the trace's own clock.
    pub start: Nanos,
    pub duration: Nanos,
}

/// What was taken away in one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How long the tracer ran.
    pub runtime: Nanos,
    /// Of which it did not have the CPU.
    pub noise: Nanos,
    pub max: Nanos,
    /// Gaps without anything that the kernel knows of.
    pub hardware: u64,
    /// Non-maskable interrupts.
    pub nmi: u64,
    pub irq: u64,
    pub softirq: u64,
    pub thread: u64,
}

impl<'a> Noise<'a> {
    /// From the payload of an event such as `irq_noise: local_timer:236 start 5789.857529929
    /// duration 1845 ns`.
    #[must_use]
    pub fn parse(payload: &'a str) -> Option<Self> {
        let (event, rest) = payload.split_once(": ")?;
        // The name before it can be anything.
        let at = if rest.starts_with("start ") { 0 } else { rest.rfind(" start ")? + 1 };
        let (what, times) = rest.split_at(at);
        let (start, rest) = times.strip_prefix("start ")?.split_once(" duration ")?;
        let (duration, interferences) = match rest.split_once(" interference") {
            Some((duration, count)) => {
                (duration, Some(count.trim_start_matches(['s', ' ', ':']).parse().ok()?))
            }
            None => (rest, None),
        };
        let what = what.trim();
        let source = match event {
            "nmi_noise" => NoiseSource::Nmi,
            "irq_noise" => NoiseSource::Irq(what),
            "softirq_noise" => NoiseSource::Softirq(what),
            "thread_noise" => NoiseSource::Thread(what),
            "sample_threshold" => NoiseSource::Sample(interferences?),
            _ => return None,
        };
        Some(Noise { source, start: seconds(start)?, duration: nanos(duration)? })
    }
}

impl Summary {
    /// From the payload of a line such as `1000000        190  99.98100       9     18      0
    /// 1007     18      1`.
    #[must_use]
    pub fn parse(payload: &str) -> Option<Self> {
        let mut words = payload.split_ascii_whitespace();
        let (runtime, noise) = (micros(words.next()?)?, micros(words.next()?)?);
        // The share in percent follows from the two.
        let (whole, fraction) = words.next()?.split_once('.')?;
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let max = micros(words.next()?)?;
        let mut count =
            || words.next().and_then(|word| word.parse().ok().filter(|_| is_number(word)));
        let summary = Summary {
            runtime,
            noise,
            max,
            hardware: count()?,
            nmi: count()?,
            irq: count()?,
            softirq: count()?,
            thread: count()?,
        };
        words.next().is_none().then_some(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_a_kernel() {
        let start = Nanos(5_789_857_529_929);
        let of = |source, ns| Some(Noise { source, start, duration: Nanos(ns) });
        let parse = Noise::parse;
        assert_eq!(
            parse("irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns"),
            of(NoiseSource::Irq("local_timer:236"), 1_845)
        );
        assert_eq!(
            parse("softirq_noise: RCU:9 start 5789.857529929 duration 2848 ns"),
            of(NoiseSource::Softirq("RCU:9"), 2_848)
        );
        assert_eq!(
            parse("thread_noise: a start b:54 start 5789.857529929 duration 3068 ns"),
            of(NoiseSource::Thread("a start b:54"), 3_068)
        );
        assert_eq!(parse("nmi_noise: start 5789.857529929 duration 5 ns"), of(NoiseSource::Nmi, 5));
        for text in ["interferences 3", "interference 3"] {
            let line = format!("sample_threshold: start 5789.857529929 duration 8812 ns {text}");
            assert_eq!(Noise::parse(&line), of(NoiseSource::Sample(3), 8_812));
        }
        for other in [
            "",
            "irq_noise: x",
            "irq_noise: x start 1.0 duration 5 us",
            "sched_switch: a start 1.0 duration 5 ns",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn summaries_of_a_kernel() {
        let summary = Summary {
            runtime: Nanos(1_000_000_000),
            noise: Nanos(190_000),
            max: Nanos(9_000),
            hardware: 18,
            nmi: 0,
            irq: 1_007,
            softirq: 18,
            thread: 1,
        };
        assert_eq!(
            Summary::parse(
                "1000000        190  99.98100       9     18      0   1007     18      1"
            ),
            Some(summary)
        );
        assert_eq!(
            Summary::parse("1000000        190  99.98100       9     18      0   1007     18"),
            None
        );
    }
}
