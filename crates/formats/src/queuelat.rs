// SPDX-License-Identifier: MIT OR Apache-2.0
//! queuelat: the table of how long passes of its loop took.
//!
//! Of neighbours that hold as many, the last alone is printed, and `...` for those before it. The
//! table above `default_n` is of the passes by which it finds how much to do in each.

use super::numbers::whole;
use super::{Import, ImportError, Lines, Measured, Program};
use model::{Column, RowKind};

pub(crate) static QUEUELAT: Program = Program {
    name: "queuelat",
    measuring_point: "from one reading of the cycle counter to the next around a memmove, in user \
                      space",
    column: Column::ns("loop_ns", "a pass of the loop, which is longer where it was interrupted"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1,
};

/// Buckets at most, and the width of each, ns.
const MAX_BUCKETS: i64 = 10_000;
const WIDTH: i64 = 100;

/// Whether an output of queuelat begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let next = || lines.get(1).is_some_and(|line| Bucket::parse(line).is_some());
    first.starts_with("tsc_freq_ghz = ")
        || Bucket::parse(first).is_some_and(|bucket| bucket.lower == 0)
        || (first.trim_end() == "..." && next())
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&QUEUELAT, lines.number());
    if let Some(words) = import.command("queuelat", output.line) {
        output.command_line = words;
    }
    // Where it is said how it began, it is also said that this ended.
    let (mut is_calibrating, mut has_table) = (false, false);
    let mut thread = Measured::default();
    while let Some(line) = lines.peek()? {
        if line.starts_with("tsc_freq_ghz = ") {
            if has_table {
                break;
            }
            is_calibrating = true;
        } else if let Some((what, text)) = setting(line) {
            is_calibrating &= what != "default_n";
            output.say(what, text);
        } else if line.trim_end() == "..." || Bucket::parse(line).is_some() {
            if has_table {
                break;
            }
            let found = table(lines)?;
            if !found.is_of_calibration {
                thread = found.thread;
                has_table = true;
            }
            continue;
        } else if let Some((name, text)) = loop_time(line) {
            check(&mut output, &mut thread, name, text);
        } else if !line.trim().is_empty() && !line.trim().bytes().all(|byte| byte == b'-') {
            break;
        }
        lines.advance();
    }
    if is_calibrating || !has_table {
        let why = "queuelat ended before it measured: its table is of the passes before that";
        import.pass_over(output.line, why);
        return Ok(());
    }
    output.may_have_more = thread.beyond.is_some();
    *output.thread(0)? = thread;
    import.add(output)
}

/// What is said of the run.
fn setting(line: &str) -> Option<(&str, &str)> {
    if let Some(text) = line.strip_prefix("queue length exceeded:") {
        return Some(("queue length exceeded", text));
    }
    let (what, text) = line.split_once('=')?;
    let what = what.trim();
    ["max_queue_len", "default_n"].contains(&what).then_some((what, text))
}

/// `[7200 - 7299] = 2457`; the last is `[70000 - END]`.
struct Bucket {
    lower: i64,
    /// None of the last, which has no end.
    upper: Option<i64>,
    count: u64,
    /// They have something behind them.
    is_of_calibration: bool,
}

impl Bucket {
    fn parse(line: &str) -> Option<Bucket> {
        let (range, text) = line.strip_prefix('[')?.split_once("] = ")?;
        let (lower, upper) = range.split_once(" - ")?;
        let (count, behind) = text.split_once(' ').unwrap_or((text, ""));
        let number = |text| i64::try_from(whole(text)?).ok();
        let lower = number(lower)?;
        let upper = if upper == "END" { None } else { Some(number(upper)?) };
        let behind = behind.trim();
        let is_of_calibration = behind.starts_with("packetfillrates=");
        (behind.is_empty() || is_of_calibration).then_some(Bucket {
            lower,
            upper,
            count: whole(count)?,
            is_of_calibration,
        })
    }
}

#[derive(Default)]
struct Table {
    thread: Measured,
    is_of_calibration: bool,
}

fn table(lines: &mut Lines<'_>) -> Result<Table, ImportError> {
    let mut table = Table::default();
    let mut next = 0;
    let mut is_gap = false;
    while let Some(line) = lines.peek()? {
        if line.trim_end() == "..." {
            is_gap = true;
            lines.advance();
            continue;
        }
        let Some(bucket) = Bucket::parse(line) else { break };
        let is_wide = bucket.upper.is_none_or(|upper| upper - bucket.lower == WIDTH - 1);
        if !is_wide || bucket.lower % WIDTH != 0 || bucket.lower > MAX_BUCKETS * WIDTH {
            return Err(lines.error("it is no bucket of queuelat, which are 100 ns wide"));
        }
        if bucket.lower < next || (bucket.lower > next) != is_gap {
            return Err(lines.error("the bucket does not follow the one above"));
        }
        // Those that are left out hold as many as the one below.
        while next < bucket.lower {
            table.thread.range(next, next + WIDTH - 1, bucket.count);
            next += WIDTH;
        }
        table.is_of_calibration |= bucket.is_of_calibration;
        is_gap = false;
        lines.advance();
        let Some(upper) = bucket.upper else {
            if bucket.count > 0 {
                table.thread.beyond = Some((bucket.count, bucket.lower));
            }
            return Ok(table);
        };
        table.thread.range(bucket.lower, upper, bucket.count);
        next = upper + 1;
    }
    Err(lines.error("the table ends before its last bucket"))
}

fn loop_time(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once(" loop processing time:")?;
    ["Min", "Max", "Avg"].contains(&name).then_some((name, text.trim()))
}

/// Holds what is stated below the table against it.
fn check(output: &mut super::Output, thread: &mut Measured, name: &str, text: &str) {
    if name == "Avg" {
        // In whole ns, of the upper ends of buckets.
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = whole(text).map(|mean| mean as f64);
        thread.stated.mean = mean;
        return;
    }
    let beyond = thread.beyond.map(|(count, lower)| (lower, count));
    let mut of_buckets = thread.buckets.iter().map(|bucket| (bucket.lower, bucket.count));
    let found = if name == "Min" {
        of_buckets.next().or(beyond)
    } else {
        beyond.or_else(|| of_buckets.next_back())
    };
    let stated = Bucket::parse(text).map(|bucket| (bucket.lower, bucket.count));
    if let (Some(stated), Some(found)) = (stated, found)
        && stated != found
    {
        let words = |(lower, count)| format!("{count} from {lower} ns");
        output.contradiction(format!("{name} loop processing time"), words(stated), words(found));
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::{figures, imported, refused};
    use model::Unknown;

    /// Printed by its source built here, without the trace marker that it needs.
    #[test]
    fn table_below_the_calibration() {
        let document = imported(include_str!("samples/queuelat-2.10.txt")).remove(0).document;
        let buckets: Vec<(i64, i64, u64)> = document.threads[0]
            .histogram_ns
            .buckets
            .iter()
            .map(|bucket| (bucket.lower, bucket.upper, bucket.count))
            .collect();
        assert_eq!(
            buckets,
            [(700, 799, 685), (800, 899, 1_117), (900, 999, 2), (70_000, 70_000, 1)]
        );
        assert_eq!(figures(&document), [(1_805, 799, 899.0, 70_000)]);
        // How long the one beyond took is not said.
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains("1 values of 70.000 us or more"), "{warnings}");
        assert_eq!(document.warnings.len(), 1, "{warnings}");
        assert!(document.imported.as_ref().unwrap().lacks(Unknown::Beyond));
    }

    #[test]
    fn neighbours_that_hold_as_many() {
        let text = "[0 - 99] = 0\n[100 - 199] = 5\n...\n[400 - 499] = 2\n...\n[70000 - END] = \
                    0\n\n ---------------- \nMin loop processing time: [100 - 199] = 5\nMax loop \
                    processing time: [400 - 499] = 2\nAvg loop processing time: 290\n";
        let document = imported(text).remove(0).document;
        assert_eq!(document.warnings, Vec::new());
        assert_eq!(figures(&document), [(11, 199, 290.0, 499)]);
        assert_eq!(document.threads[0].histogram_ns.buckets[1].lower, 200);
        let document = imported(&text.replace("[400 - 499] = 2\nAvg", "[400 - 499] = 3\nAvg"));
        let warnings = format!("{:?}", document[0].document.warnings);
        assert!(warnings.contains(r#"stated: "3 from 400 ns", found: "2 from 400 ns""#));
    }

    #[test]
    fn damaged_and_unmeasured() {
        assert_eq!(
            refused(include_str!("samples/queuelat-2.4-calibration.txt")),
            "line 1: queuelat ended before it measured: its table is of the passes before that"
        );
        assert_eq!(
            refused("[0 - 99] = 1\n[200 - 299] = 1\n"),
            "line 2: the bucket does not follow the one above"
        );
        assert_eq!(
            refused("[0 - 99] = 1\n[100 - 299] = 1\n"),
            "line 2: it is no bucket of queuelat, which are 100 ns wide"
        );
        assert_eq!(
            refused("[0 - 99] = 1\n[9223372036854775800 - 9223372036854775807] = 1\n"),
            "line 2: it is no bucket of queuelat, which are 100 ns wide"
        );
        assert_eq!(refused("[0 - 99] = 1\n"), "line 2: the table ends before its last bucket");
    }
}
