// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the timerlat tracer prints: two lines of each activation of its thread, or three.

use crate::line::is_number;
use plan::Nanos;

/// Where a latency was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// In the timer's interrupt.
    Irq,
    Thread,
    /// When it was back in user space, where a program takes the place of the kernel's thread.
    User,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerLatency {
    /// Of the interrupt, counted on each CPU.
    pub number: u64,
    pub context: Context,
    /// From the time the timer was set to.
    pub latency: Nanos,
}

impl TimerLatency {
    /// From the payload of an event such as `#1     context    irq timer_latency       932 ns`.
    pub fn parse(payload: &str) -> Option<Self> {
        let mut words = payload.strip_prefix('#')?.split_ascii_whitespace();
        let [number, "context", context, "timer_latency", latency, "ns"] =
            std::array::from_fn(|_| words.next().unwrap_or_default())
        else {
            return None;
        };
        let context = match context {
            "irq" => Context::Irq,
            "thread" => Context::Thread,
            "user-ret" => Context::User,
            _ => return None,
        };
        let is_whole = words.next().is_none() && is_number(number) && is_number(latency);
        let (number, latency) = (number.parse().ok()?, Nanos(latency.parse().ok()?));
        is_whole.then_some(TimerLatency { number, context, latency })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_kernel() {
        let of = |number, context, ns| Some(TimerLatency { number, context, latency: Nanos(ns) });
        assert_eq!(
            TimerLatency::parse("#1     context    irq timer_latency       932 ns"),
            of(1, Context::Irq, 932)
        );
        assert_eq!(
            TimerLatency::parse("#12345 context thread timer_latency     11700 ns"),
            of(12_345, Context::Thread, 11_700)
        );
        assert_eq!(
            TimerLatency::parse("#7     context user-ret timer_latency     12700 ns"),
            of(7, Context::User, 12_700)
        );
        for other in [
            "#1 context irq timer_latency 1 us",
            "#1 context nmi timer_latency 1 ns",
            "#-1 context irq timer_latency 1 ns",
            "# context",
        ] {
            assert_eq!(TimerLatency::parse(other), None, "{other}");
        }
    }
}
