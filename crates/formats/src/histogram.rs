// SPDX-License-Identifier: MIT OR Apache-2.0
//! The histogram that cyclictest prints, and programs that took its form.

use super::numbers::{is_said_once, whole};
use super::output::of_thread;
use super::{ImportError, Lines, MAX_THREADS, Output};

/// Whether a histogram begins below it.
pub(crate) fn is_histogram(line: &str) -> bool {
    line.trim_end() == "# Histogram"
}

/// Whether it is one of the lines of a histogram that stand below its first.
pub(crate) fn is_of_histogram(line: &str) -> bool {
    row(line).is_some() || line.starts_with("# Total:") || line.starts_with("# Min Latencies:")
}

/// A bucket, and how many of each thread are in it.
pub(crate) type Row = (u64, Vec<u64>);

/// A row as cyclictest prints it.
pub(crate) fn row(line: &str) -> Option<Row> {
    let mut words = line.split_whitespace();
    let bucket = whole(words.next()?)?;
    let counts: Vec<u64> = words.map(whole).take(MAX_COLUMNS + 1).collect::<Option<_>>()?;
    (!counts.is_empty()).then_some((bucket, counts))
}

/// The numbers of one of the lines below the histogram.
fn numbers(line: &str, name: &str) -> Option<Vec<u64>> {
    let behind = line.strip_prefix("# ")?.strip_prefix(name)?.strip_prefix(':')?;
    behind.split_whitespace().map(whole).take(MAX_COLUMNS + 1).collect()
}

/// Columns of a histogram at most: threads, and their sum.
pub(crate) const MAX_COLUMNS: usize = MAX_THREADS + 1;
/// Numbers of a histogram at most, rows of zeros left out: 32 MB.
const MAX_CELLS: usize = 1 << 22;

/// Reads the rows of a histogram, each by this function, and the lines below.
pub(crate) fn histogram(
    lines: &mut Lines<'_>,
    output: &mut Output,
    unit_ns: i64,
    row: fn(&str) -> Option<Row>,
) -> Result<(), ImportError> {
    let mut rows: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut columns = None;
    while let Some((bucket, counts)) = lines.peek()?.and_then(row) {
        if counts.len() > MAX_COLUMNS {
            let why =
                format!("the histogram has more threads than the {MAX_THREADS} that are read");
            return Err(lines.error(why));
        }
        if *columns.get_or_insert(counts.len()) != counts.len() {
            return Err(lines.error("the row has another number of columns than those above"));
        }
        if rows.last().is_some_and(|(last, _)| *last >= bucket) {
            return Err(lines.error("the bucket does not follow the one above"));
        }
        // Of several that are empty only the last says anything: how far the histogram goes.
        rows.pop_if(|(_, counts)| is_zero(counts));
        if (rows.len() + 1).saturating_mul(counts.len()) > MAX_CELLS {
            return Err(lines.error(format!("more than {MAX_CELLS} numbers are not read")));
        }
        rows.push((bucket, counts));
        lines.advance();
    }
    let mut of_lines: [Option<Vec<u64>>; NAMES.len()] = [const { None }; NAMES.len()];
    while let Some(line) = lines.peek()? {
        // Spelt so once.
        let line = &line.replacen("# Max Latencys:", "# Max Latencies:", 1);
        let found = NAMES.iter().position(|name| line.starts_with(&format!("# {name}:")));
        if let Some(at) = found {
            let Some(numbers) = numbers(line, NAMES[at]) else {
                return Err(lines.error(format!("{} are no numbers", NAMES[at])));
            };
            if !is_said_once(&mut of_lines[at], numbers) {
                return Err(lines.error(format!("{} stand there twice", NAMES[at])));
            }
        } else if let Some(cycles) = overflow_cycles(line) {
            if !cycles.is_empty() {
                output.say("Histogram Overflow at cycle number", cycles);
            }
        } else {
            break;
        }
        lines.advance();
    }
    let [total, min, mean, max, beyond, smis] = of_lines;
    let all = columns.unwrap_or(0);
    // With -H the last column is the sum of the others, and some lines have one number more.
    let has_sum = match (&min, columns) {
        (Some(min), Some(columns)) => columns == min.len() + 1,
        _ => all > 2 && rows.iter().all(|(_, row)| is_sum(row)),
    };
    let threads = min.as_ref().map_or(all - usize::from(has_sum), Vec::len);
    if all > 0 && all - usize::from(has_sum) != threads {
        let why = format!("the histogram has {all} columns, and the lines below it {threads}");
        return Err(lines.error(why));
    }
    if threads == 0 || (max.is_none() && !output.may_have_more) {
        return Err(lines.error("the histogram ends before its Max Latencies"));
    }
    let at = |of: &Option<Vec<u64>>, thread: usize| of.as_ref()?.get(thread).copied();
    let limit = rows.last().map_or(0, |(bucket, _)| bucket.saturating_add(1));
    for index in 0..threads {
        let ns =
            |value: u64| i64::try_from(value).ok().and_then(|value| value.checked_mul(unit_ns));
        let too_large = || lines.error("no latency is so large");
        let mut in_buckets = 0_u64;
        let from = ns(limit).ok_or_else(too_large)?;
        let thread = output.thread(index)?;
        for (bucket, counts) in &rows {
            thread.bucket(ns(*bucket).ok_or_else(too_large)?, counts[index]);
            in_buckets = in_buckets.saturating_add(counts[index]);
        }
        let overflows = at(&beyond, index).unwrap_or(0);
        thread.beyond = Some((overflows, from));
        let known = thread.stated.count;
        if in_buckets > 0 || overflows > 0 {
            thread.stated.min = at(&min, index).and_then(ns).or(thread.stated.min);
            thread.stated.max = at(&max, index).and_then(ns).or(thread.stated.max);
            #[expect(clippy::cast_precision_loss, reason = "a mean")]
            if let Some(mean) = at(&mean, index).and_then(ns) {
                thread.stated.mean = Some(mean as f64);
            }
        }
        // The last lines were drawn a little before the end.
        thread.stated.count = known.filter(|known| *known > in_buckets.saturating_add(overflows));
        if let Some(stated) = at(&total, index).filter(|stated| *stated != in_buckets) {
            output.contradiction(of_thread(index, "# Total"), stated, in_buckets);
        }
        if let Some(count) = at(&smis, index) {
            output.thread(index)?.smis = Some(count);
        }
    }
    Ok(())
}

/// Lines below a histogram, with a number for each thread.
const NAMES: [&str; 6] =
    ["Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows", "SMIs"];

fn is_zero(counts: &[u64]) -> bool {
    counts.iter().all(|count| *count == 0)
}

fn is_sum(row: &[u64]) -> bool {
    let Some((last, others)) = row.split_last() else { return false };
    others.iter().fold(0_u64, |sum, count| sum.saturating_add(*count)) == *last
}

/// In which cycles values of a thread were beyond the histogram, `Thread 0: 00017 00500`; empty of
/// a thread without any, and of the heading above.
fn overflow_cycles(line: &str) -> Option<&str> {
    if line.starts_with("# Histogram Overflow at cycle number") {
        return Some("");
    }
    let text = line.strip_prefix("# ")?;
    let (thread, cycles) = text.strip_prefix("Thread ")?.split_once(':')?;
    whole(thread)?;
    Some(if cycles.trim().is_empty() { "" } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::refused;
    use std::fmt::Write;

    /// What a small archive unpacks to took all memory.
    #[test]
    fn no_histogram_has_so_many_numbers() {
        let counts = vec!["1"; MAX_THREADS].join("\t");
        let mut text = "# Histogram\n".to_owned();
        for bucket in 0..4_100 {
            let _ = writeln!(text, "{bucket:06} {counts}");
        }
        assert_eq!(refused(&text), "line 4098: more than 4194304 numbers are not read");
    }

    /// 1 MB of them took some 600 MB before a thread was refused.
    #[test]
    fn a_histogram_of_more_threads_than_are_read() {
        for threads in [MAX_COLUMNS + 1, 100_000] {
            let counts = vec!["1"; threads].join("\t");
            let text = format!("# Histogram\n000001 {counts}\n000002 {counts}\n");
            let why = "line 2: the histogram has more threads than the 1024 that are read";
            assert_eq!(refused(&text), why);
        }
    }
}
