// SPDX-License-Identifier: MIT OR Apache-2.0
//! Axes: where a value lies, and where a tick and its label go.

use crate::charts::options::AxisScale;
use crate::format::{count, rounded_count};

/// A logarithmic or linear axis from data to pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    pub(crate) start: f64,
    pub(crate) end: f64,
    log: bool,
}

impl Scale {
    pub(crate) fn linear(from: f64, to: f64, start: f64, end: f64) -> Scale {
        Scale { from, to: if to > from { to } else { from + 1.0 }, start, end, log: false }
    }

    pub(crate) fn new(scale: AxisScale, (from, to): (f64, f64), start: f64, end: f64) -> Scale {
        match scale {
            AxisScale::Linear => Scale::linear(from, to, start, end),
            AxisScale::Log => Scale::log(from, to, start, end),
        }
    }

    /// `from` and `to` are above 0.
    pub(crate) fn log(from: f64, to: f64, start: f64, end: f64) -> Scale {
        let from = from.max(f64::MIN_POSITIVE).ln();
        Scale { from, to: to.ln().max(from + 0.1), start, end, log: true }
    }

    /// The pixel of a value; what lies outside is put on the edge.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let share = ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }

    /// Whether a value lies within.
    pub(crate) fn holds(&self, value: f64) -> bool {
        let value = if self.log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        (self.from..=self.to).contains(&value)
    }

    /// Values for ticks, ascending, about `count` of them.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        if self.log {
            log_ticks(self.from.exp(), self.to.exp(), count)
        } else {
            linear_ticks(self.from, self.to, count)
        }
    }
}

fn linear_ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    let rough = (to - from) / count.max(1) as f64;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (from / step - 1e-9).ceil();
    (0..=count + 1)
        .map(|n| (first + n as f64) * step)
        .take_while(|tick| *tick <= to + to.abs() * 1e-9)
        .collect()
}

/// Powers of ten, every second or third of them where there are many, and their 2- and 5-fold where
/// there are few.
fn log_ticks(from: f64, to: f64, count: usize) -> Vec<f64> {
    let decades = (to / from).log10();
    let multiples: &[f64] = if decades * 3.0 <= count as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((decades / count.max(1) as f64).ceil()).max(1.0);
    let mut ticks = Vec::new();
    let mut exponent = (from.log10() / every).floor() * every;
    while 10_f64.powf(exponent) <= to {
        ticks.extend(multiples.iter().map(|m| m * 10_f64.powf(exponent)));
        exponent += every;
    }
    ticks.retain(|tick| *tick >= from * (1.0 - 1e-9) && *tick <= to * (1.0 + 1e-9));
    // A range within two such ticks is as good as linear.
    if ticks.len() < 2 && decades < 1.0 { linear_ticks(from, to, count) } else { ticks }
}

/// A tick's value with its thousands apart, and as many decimals as it needs.
pub(crate) fn tick_label(value: f64) -> String {
    if value >= 1.0 && (value - value.round()).abs() < 1e-6 * value {
        return rounded_count(value);
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text.split_once('.').and_then(|(whole, rest)| Some((whole.parse().ok()?, rest))) {
        Some((whole, rest)) => format!("{}.{rest}", count(whole)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_at_round_values() {
        assert_eq!(Scale::linear(0.0, 10.0, 0.0, 1.0).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(Scale::linear(0.0, 0.0, 0.0, 1.0).ticks(2), [0.0, 0.5, 1.0]);
        let labels: Vec<String> =
            Scale::log(3.0, 5_000.0, 0.0, 1.0).ticks(6).into_iter().map(tick_label).collect();
        assert_eq!(labels, ["10", "100", "1,000"]);
        let labels: Vec<String> =
            Scale::log(0.15, 6.0, 0.0, 1.0).ticks(6).into_iter().map(tick_label).collect();
        assert_eq!(labels, ["0.2", "0.5", "1", "2", "5"]);
        assert_eq!([1_000.2, 0.25, -0.5].map(tick_label), ["1,000.2", "0.25", "-0.5"]);
        let labels: Vec<String> =
            Scale::log(55.0, 58.2, 0.0, 1.0).ticks(4).into_iter().map(tick_label).collect();
        assert_eq!(labels, ["56", "58", "60"]);
    }

    #[test]
    fn values_find_their_place() {
        let log = Scale::log(1.0, 100.0, 0.0, 200.0);
        assert!((log.at(10.0) - 100.0).abs() < 1e-9);
        assert_eq!((log.at(0.0), log.at(1e9)), (0.0, 200.0));
        assert_eq!(Scale::linear(0.0, 4.0, 100.0, 0.0).at(1.0), 75.0);
    }
}
