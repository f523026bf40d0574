// SPDX-License-Identifier: MIT OR Apache-2.0
//! The histogram in a terminal: columns of block characters, counts on a logarithmic scale, so that
//! one spike among millions is a column too.

use crate::format::{count, latency, rounded_count};
use crate::terminal::text::WIDTH;
use stats::{Bucket, Histogram};

/// Lines of the tallest column.
const HEIGHT: usize = 8;
/// Columns of characters; the rest of the line is the scale.
const COLUMNS: usize = 66;
/// From empty to full, by eighths.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Latencies that span more than this are shown on a logarithmic scale.
const LINEAR: f64 = 20.0;

/// How latencies are spread over the columns.
struct Axis {
    from: f64,
    to: f64,
    logarithmic: bool,
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "columns of a terminal"
)]
impl Axis {
    fn from_buckets(buckets: &[Bucket]) -> Option<Axis> {
        let (min, max) = (buckets.first()?.lower as f64, buckets.last()?.upper as f64);
        let logarithmic = min > 0.0 && max / min > LINEAR;
        let place = |ns: f64| if logarithmic { ns.ln() } else { ns };
        Some(Axis { from: place(min), to: place(max).max(place(min) + 1e-9), logarithmic })
    }

    fn column(&self, ns: i64) -> usize {
        let place = if self.logarithmic { (ns.max(1) as f64).ln() } else { ns as f64 };
        (((place - self.from) / (self.to - self.from) * COLUMNS as f64).max(0.0) as usize)
            .min(COLUMNS - 1)
    }

    /// The latency in the middle of a column, ns.
    fn at(&self, column: usize) -> i64 {
        let place = self.from + (self.to - self.from) * column as f64 / (COLUMNS - 1) as f64;
        (if self.logarithmic { place.exp() } else { place }).round() as i64
    }
}

/// At most 80 columns wide; nothing where nothing was counted.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "eighths of a character"
)]
pub(crate) fn histogram(histogram: &Histogram) -> String {
    let buckets: Vec<Bucket> = histogram.within().buckets().collect();
    let Some(axis) = Axis::from_buckets(&buckets) else { return String::new() };
    let mut counts = [0_u64; COLUMNS];
    buckets.iter().for_each(|bucket| {
        counts[axis.column(i64::midpoint(bucket.lower, bucket.upper))] += bucket.count
    });
    let max = counts.iter().copied().max().unwrap_or(1).max(1);
    // One is an eighth, the most is full.
    let eighths = |n: u64| match n {
        0 => 0,
        n => {
            1 + ((n as f64).ln() / (max as f64).ln().max(1e-9) * (HEIGHT * 8 - 1) as f64).round()
                as usize
        }
    };
    let heights = counts.map(|n| eighths(n).min(HEIGHT * 8));
    let scale = [count(max), rounded_count((max as f64).sqrt()), "1".to_owned()];
    let mut out = String::new();
    for line in (0..HEIGHT).rev() {
        let label = match line {
            line if line == HEIGHT - 1 => scale[0].as_str(),
            line if line == HEIGHT / 2 - 1 && max > 3 => scale[1].as_str(),
            0 => scale[2].as_str(),
            _ => "",
        };
        let bars: String =
            heights.iter().map(|height| EIGHTHS[height.saturating_sub(line * 8).min(8)]).collect();
        out.push_str(format!("{label:>width$} ┤{bars}", width = WIDTH - COLUMNS - 2).trim_end());
        out.push('\n');
    }
    out.push_str(&format!("{:>width$}{}\n", "└", "─".repeat(COLUMNS), width = WIDTH - COLUMNS));
    let mut labels = String::new();
    for quarter in 0..=3 {
        let column = quarter * (COLUMNS - 1) / 3;
        let label = latency(axis.at(column));
        let width = label.chars().count();
        // The first begins below its column, the last ends there, the others stand around it.
        let from = match quarter {
            0 => 0,
            3 => COLUMNS - width,
            _ => column - width / 2,
        };
        labels = format!("{labels:<from$}{label}");
    }
    out.push_str(&format!("{}{labels}\n", " ".repeat(WIDTH - COLUMNS)));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_spike_among_thousands_is_a_column() {
        let mut all = Histogram::default();
        (0..10_000).for_each(|n| all.record(5_000 + n % 3_000));
        all.record(2_000_000);
        let drawn = histogram(&all);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 2);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "\n{drawn}");
        assert!(lines[HEIGHT - 1].ends_with('▁'), "\n{drawn}");
        assert!(
            lines[0].contains('█')
                && lines[HEIGHT + 1].ends_with("2.01 ms")
                && drawn.contains("4.99 µs"),
            "\n{drawn}"
        );
        assert_eq!(histogram(&Histogram::default()), "");
    }

    #[test]
    fn one_value_is_one_column() {
        let mut all = Histogram::default();
        all.record_n(-50, 7);
        let drawn = histogram(&all);
        assert_eq!(drawn.matches('█').count(), HEIGHT, "\n{drawn}");
    }
}
