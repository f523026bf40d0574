// SPDX-License-Identifier: MIT OR Apache-2.0
//! rttest of ROS 2: the statistics it prints, and the file of samples of `-f`.

use super::numbers::{decimal, is_said_once, mean, whole};
use super::{Import, ImportError, Lines, Program};
use model::{Column, ProbeStatement, RowKind};
use plan::Nanos;

static RTTEST: Program = Program {
    name: "rttest",
    measuring_point: "from the absolute time given to clock_nanosleep until the thread of rttest \
                      has read the clock",
    column: Column::ns("latency_ns", ProbeStatement::UNTIL_IT_RUNS),
    rows: RowKind::Activations,
    is_planned: true,
    // It wakes for each period, however late.
    passes_over: false,
    resolution_ns: 1,
};

fn is_statistics(line: &str) -> bool {
    let name = line.trim().strip_prefix("rttest statistics").and_then(|of| of.strip_suffix(':'));
    name.is_some_and(|name| name.is_empty() || name.starts_with(" for "))
}

fn is_file(line: &str) -> bool {
    line.trim().starts_with("iteration timestamp latency minor_pagefaults ")
}

/// Whether an output of rttest begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| is_statistics(line) || is_file(line))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    if lines.peek()?.is_some_and(is_file) { file(lines, import) } else { statistics(lines, import) }
}

/// How many there are is not said. Before rttest 0.10.0 squares were added up in 32 bits, which
/// overflow: then the standard deviation is too small.
fn statistics(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&RTTEST, lines.number());
    lines.advance();
    output.is_of_unknown_count = true;
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        if let Some((name, value)) = text.strip_prefix("- ").and_then(|of| of.split_once(": ")) {
            let ns = value.trim_end_matches(" ns");
            let stated = &mut output.thread(0)?.stated;
            let is_once = match name {
                "Min" => decimal(ns, 1).map(|ns| is_said_once(&mut stated.min, ns)),
                "Max" => decimal(ns, 1).map(|ns| is_said_once(&mut stated.max, ns)),
                "Mean" => mean(ns, 1).map(|ns| is_said_once(&mut stated.mean, ns)),
                "Standard deviation" => mean(ns, 1).map(|ns| is_said_once(&mut stated.sd, ns)),
                _ => Some(true),
            };
            let why = match is_once {
                Some(true) => None,
                Some(false) => Some(format!("{name} stands there twice")),
                None => Some(format!("{name} is no number of ns")),
            };
            if let Some(why) = why {
                return Err(lines.error(why));
            }
            if !["Min", "Max", "Mean", "Standard deviation"].contains(&name) {
                output.say(name, value);
            }
        } else if !(text.is_empty() || text.starts_with("Latency (time after deadline")) {
            break;
        }
        lines.advance();
    }
    import.add(output)
}

/// `iteration timestamp latency minor_pagefaults major_pagefaults`, all times ns. The timestamp is
/// that of the plan.
fn file(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&RTTEST, lines.number());
    lines.advance();
    output.thread(0)?;
    let (mut next, mut minor, mut major) = (0_u64, 0_u64, 0_u64);
    // The interval stands in the file of samples from its beginning.
    let first = lines.peek()?.and_then(row);
    let second = lines.peek_behind(1)?.and_then(row);
    let interval = match (&first, &second) {
        (Some(first), Some(second)) => {
            second.timestamp.checked_sub(first.timestamp).filter(|ns| *ns > 0)
        }
        _ => None,
    };
    output.interval = interval.map(Nanos);
    while let Some(line) = lines.peek()?.filter(|line| !line.trim().is_empty()) {
        let Some(row) = row(line) else {
            if next == 0 || !line.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
                break;
            }
            return Err(lines.error("the row is not five numbers"));
        };
        if row.iteration != next {
            return Err(lines.error(format!("iteration {} is not {next}", row.iteration)));
        }
        let planned = i64::try_from(next).ok().zip(interval);
        let planned = planned.and_then(|(next, interval)| interval.checked_mul(next));
        if interval.is_some() && planned != Some(row.timestamp) {
            return Err(lines.error("the timestamp is not the interval after the one above"));
        }
        output.sample(0, row.latency)?;
        minor = minor.saturating_add(row.minor);
        major = major.saturating_add(row.major);
        next += 1;
        lines.advance();
    }
    if next == 0 {
        output.thread(0)?.stated.count = Some(0);
    }
    output.say("minor_pagefaults", &minor.to_string());
    output.say("major_pagefaults", &major.to_string());
    import.add(output)
}

struct Row {
    iteration: u64,
    timestamp: i64,
    latency: i64,
    minor: u64,
    major: u64,
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let row = Row {
        iteration: whole(words.next()?)?,
        timestamp: decimal(words.next()?, 1)?,
        latency: decimal(words.next()?, 1)?,
        minor: whole(words.next()?)?,
        major: whole(words.next()?)?,
    };
    words.next().is_none().then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{imported, refused};
    use model::{Detail, Unknown};

    const STATISTICS: &str = "\
Initial major pagefaults: 0
rttest statistics for pendulum.txt:
  - Minor pagefaults: 0
  - Major pagefaults: 0
  Latency (time after deadline was missed):
    - Min: 7961 ns
    - Max: 1974464 ns
    - Mean: 14049.551050 ns
    - Standard deviation: 131.175455

";

    const FILE: &str = "\
iteration timestamp latency minor_pagefaults minor_pagefaults
0 0 12000 2 0
1 1000000 9000 0 0
2 2000000 -10 0 1
3 3000000 10010 0 0
";

    #[test]
    fn statistics_do_not_say_of_how_many() {
        for text in [STATISTICS.to_owned(), STATISTICS.replace(" for pendulum.txt", "")] {
            let all = imported(&text);
            assert_eq!(all.len(), 1);
            let document = &all[0].document;
            let of = document.threads[0].latency_ns.unwrap();
            assert_eq!((of.count, of.min, of.mean, of.max), (2, 7_961, 14_049.551_05, 1_974_464));
            assert_eq!(of.sd, Some(131.175_455));
            let source = document.imported.as_ref().unwrap();
            assert!(source.lacks(Unknown::Count) && source.lacks(Unknown::Interval));
            assert_eq!(source.says[1].what, "Major pagefaults");
        }
    }

    #[test]
    fn a_file_of_samples() {
        let all = imported(FILE);
        let document = &all[0].document;
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (4, -10, 7_750.0, 12_000));
        assert_eq!(document.threads[0].detail, Detail::Samples);
        assert_eq!(document.run.interval_ns, Nanos(1_000_000));
        let says = &document.imported.as_ref().unwrap().says;
        assert_eq!((says[0].text.as_str(), says[1].text.as_str()), ("2", "1"));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused(&FILE.replace("2 2000000", "7 2000000")),
            "line 4: iteration 7 is not 2"
        );
        assert_eq!(refused(&FILE.replace(" -10", " 1.2.3")), "line 4: the row is not five numbers");
        assert_eq!(
            refused(&FILE.replace("3000000", "3000001")),
            "line 5: the timestamp is not the interval after the one above"
        );
        assert_eq!(refused(&FILE[..62]), "line 1: nothing was measured");
        assert_eq!(
            refused(&STATISTICS.replace("14049.551050 ns", "?")),
            "line 8: Mean is no number of ns"
        );
        let twice = STATISTICS.replace("    - Mean", "    - Max: 5 ns\n    - Mean");
        assert_eq!(refused(&twice), "line 8: Max stands there twice");
    }
}
