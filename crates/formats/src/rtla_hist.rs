// SPDX-License-Identifier: MIT OR Apache-2.0
//! The histograms of `rtla timerlat hist` and `rtla osnoise hist`. Interrupt, thread and user space
//! are measured at different points of one wake-up: each becomes a recording.

use super::numbers::{mean, whole};
use super::output::of_thread;
use super::rtla::{Command, Kind, below, unit_ns};
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};
use plan::CpuId;
use std::collections::VecDeque;

static OSNOISE: Program = Program {
    name: "osnoise",
    measuring_point: "between two readings of the clock by a thread of osnoise that only reads it: \
                      each gap that counts as noise, by its length",
    column: Column::ns("latency_ns", "how long the thread was kept from running at a time"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Numbers of one histogram at most.
const MAX_CELLS: usize = 1 << 24;
/// What stands below the buckets, in this order.
const NAMES: [&str; 5] = ["over", "count", "min", "avg", "max"];

/// Whether such a histogram begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let is = |at: usize, name: &str| {
        lines.get(at).is_some_and(|line| line.trim_start().starts_with(&format!("{name}:")))
    };
    let Some(first) = lines.first() else { return false };
    title(first).is_some() || NAMES.iter().enumerate().all(|(at, name)| is(at, name))
}

/// Whether it is of timerlat.
fn title(line: &str) -> Option<bool> {
    match line.trim() {
        "# RTLA timerlat histogram" => Some(true),
        "# RTLA osnoise histogram" => Some(false),
        _ => None,
    }
}

/// A column: of which kind, where it is of timerlat, and of which CPU.
struct Of {
    kind: Option<Kind>,
    cpu: u32,
}

/// What a histogram has.
#[derive(Default)]
struct Histogram {
    columns: Vec<Of>,
    has_index: bool,
    /// The lower end of a bucket, or where none is printed its number, and how many are in it, of
    /// each column. None of them is empty.
    rows: Vec<(u64, Vec<u64>)>,
    /// The last index, and what all of them are multiples of.
    last: u64,
    step: u64,
    /// Below the buckets, by name.
    below: [Option<Vec<String>>; NAMES.len()],
    /// The same of all CPUs together.
    all: [Option<Vec<String>>; NAMES.len()],
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let line = lines.number();
    let Some(is_timerlat) = lines.peek()?.and_then(title) else {
        let why = "the histogram has no heading (--no-header): which CPUs were measured, and \
                   where, \
                   is not known";
        return Err(lines.error(why));
    };
    let command = Command::before(import, line);
    lines.advance();
    let (mut unit, mut duration) = (None, None);
    while let Some(rest) = lines.peek()?.and_then(|text| text.trim().strip_prefix("# ")) {
        if let Some(text) = rest.strip_prefix("Duration:") {
            duration = Some(text.trim().to_owned());
        } else if rest.starts_with("Time unit is ") {
            let Some(known) = unit_ns(rest) else {
                return Err(lines.error("the unit of time is not one of rtla's"));
            };
            unit = Some(known);
        } else {
            break;
        }
        lines.advance();
    }
    let Some(unit) = unit else { return Err(lines.error("the unit of time is not said")) };
    let Some(mut histogram) = columns(lines, is_timerlat)? else {
        return Err(lines.error("the columns have no headings"));
    };
    rows(lines, &mut histogram)?;
    let mut new = |program: &'static Program| {
        let mut output = import.output(program, line);
        command.put(&mut output);
        output.resolution_ns = unit;
        if let Some(duration) = &duration {
            output.say("Duration", duration);
        }
        output
    };
    let of = |kind| histogram.columns.iter().any(|column| column.kind == kind);
    let kinds: Vec<Option<Kind>> =
        std::iter::once(None).chain(Kind::ALL.map(Some)).filter(|kind| of(*kind)).collect();
    let mut outputs: Vec<Output> =
        kinds.iter().map(|kind| new(kind.map_or(&OSNOISE, Kind::program))).collect();
    if !histogram.columns.is_empty() {
        let width = width(&histogram, &command).ok_or_else(|| {
            lines.error("how wide a bucket is does not follow from what is printed")
        })?;
        for (kind, output) in kinds.iter().zip(&mut outputs) {
            let of = columns_of(&histogram, *kind);
            for (index, at) in of.iter().enumerate() {
                put(&histogram, *at, (index, width, unit), output)
                    .map_err(|why| lines.error(why))?;
            }
            compare_all(&histogram, *kind, &of, output);
        }
    }
    below(lines, &mut outputs)?;
    for (kind, output) in kinds.iter().zip(outputs) {
        if output.threads.iter().any(|thread| !thread.is_empty()) {
            import.add_part(kind.map_or("", Kind::part), output)?;
        }
    }
    Ok(())
}

fn columns_of(histogram: &Histogram, kind: Option<Kind>) -> Vec<usize> {
    let columns = histogram.columns.iter().enumerate();
    columns.filter(|(_, column)| column.kind == kind).map(|(at, _)| at).collect()
}

/// `Index   IRQ-000   Thr-000` or `Index   CPU-000`.
fn columns(lines: &mut Lines<'_>, is_timerlat: bool) -> Result<Option<Histogram>, ImportError> {
    let Some(line) = lines.peek()? else { return Ok(None) };
    let mut words = line.split_whitespace().peekable();
    let has_index = words.next_if_eq(&"Index").is_some();
    let columns: Option<Vec<Of>> = words
        .map(|word| {
            let (name, cpu) = word.split_once('-')?;
            let kind = Kind::ALL.into_iter().find(|kind| kind.column() == name);
            let fits = kind.is_some() == is_timerlat && (is_timerlat || name == "CPU");
            let cpu = u32::try_from(whole(cpu)?).ok()?;
            fits.then_some(Of { kind, cpu })
        })
        .collect();
    let Some(columns) = columns.filter(|columns| has_index || !columns.is_empty()) else {
        return Ok(None);
    };
    lines.advance();
    Ok(Some(Histogram { columns, has_index, ..Histogram::default() }))
}

/// Reads the buckets, and what stands below them.
fn rows(lines: &mut Lines<'_>, histogram: &mut Histogram) -> Result<(), ImportError> {
    let width = histogram.columns.len();
    let mut is_of_all = false;
    // Without names the last lines are those below the buckets.
    let mut last: VecDeque<Vec<String>> = VecDeque::new();
    let mut previous: Option<u64> = None;
    while let Some(line) = lines.peek()? {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { break };
        if let Some(at) = NAMES.iter().position(|name| first.trim_end_matches(':') == *name)
            && first.ends_with(':')
        {
            let table = if is_of_all { &mut histogram.all } else { &mut histogram.below };
            let found: Vec<String> = words.map(str::to_owned).collect();
            let fits = is_of_all || found.len() == width || width == 0;
            if !fits {
                let why = format!("there are {} figures of {width} columns", found.len());
                return Err(lines.error(why));
            }
            if table[at].replace(found).is_some() {
                return Err(lines.error(format!("'{}:' is there twice", NAMES[at])));
            }
        } else if first == "ALL:" || Kind::ALL.iter().any(|kind| kind.column() == first) {
            is_of_all = true;
        } else if is_of_all {
            // Without names, those of all CPUs begin with how many.
            let free = histogram.all.iter_mut().skip(1).find(|line| line.is_none());
            let (Some(free), false) = (free, histogram.has_index) else { break };
            *free = Some(line.split_whitespace().map(str::to_owned).collect());
        } else if histogram.has_index {
            let (Some(index), Some(counts)) =
                (whole(first), words.map(whole).collect::<Option<Vec<u64>>>())
            else {
                break;
            };
            if counts.len() != width {
                let why = "the row has another number of columns than the heading";
                return Err(lines.error(why));
            }
            if previous.is_some_and(|previous| previous >= index) {
                return Err(lines.error("the bucket does not follow the one above"));
            }
            (previous, histogram.last) = (Some(index), index);
            histogram.step = gcd(histogram.step, index);
            add_row(lines, histogram, index, counts)?;
        } else {
            let found: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let are_figures = found.iter().all(|word| word == "-" || mean(word, 1).is_some());
            if !are_figures {
                break;
            }
            if found.len() != width {
                let why = "the row has another number of columns than the heading";
                return Err(lines.error(why));
            }
            last.push_back(found);
            if last.len() > NAMES.len()
                && let Some(row) = last.pop_front()
            {
                add_numbered(lines, histogram, &mut previous, &row)?;
            }
        }
        lines.advance();
    }
    if !histogram.has_index {
        name_last(lines, histogram, previous, last)?;
    }
    if width > 0 && histogram.below[0].is_none() {
        return Err(lines.error("the histogram ends before 'over:'"));
    }
    Ok(())
}

/// Adds a row that has no index.
fn add_numbered(
    lines: &Lines<'_>,
    histogram: &mut Histogram,
    previous: &mut Option<u64>,
    row: &[String],
) -> Result<(), ImportError> {
    let Some(counts) = row.iter().map(|word| whole(word)).collect() else {
        return Err(lines.error("a row of the histogram is not of counts"));
    };
    let index = previous.map_or(0, |previous| previous + 1);
    (*previous, histogram.last, histogram.step) = (Some(index), index, 1);
    add_row(lines, histogram, index, counts)
}

fn add_row(
    lines: &Lines<'_>,
    histogram: &mut Histogram,
    index: u64,
    counts: Vec<u64>,
) -> Result<(), ImportError> {
    if counts.iter().all(|count| *count == 0) {
        return Ok(());
    }
    if (histogram.rows.len() + 1).saturating_mul(counts.len()) > MAX_CELLS {
        return Err(
            lines.error(format!("a histogram of more than {MAX_CELLS} numbers is not read"))
        );
    }
    histogram.rows.push((index, counts));
    Ok(())
}

/// Decides what the last lines of a histogram without names (--no-index) are: the five, where
/// their second is how many there are above, or `over` alone (--no-summary).
fn name_last(
    lines: &Lines<'_>,
    histogram: &mut Histogram,
    mut previous: Option<u64>,
    last: VecDeque<Vec<String>>,
) -> Result<(), ImportError> {
    let numbers =
        |row: &Vec<String>| row.iter().map(|word| whole(word)).collect::<Option<Vec<_>>>();
    let mut sums: Vec<u64> = vec![0; histogram.columns.len()];
    for (_, counts) in &histogram.rows {
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum = sum.saturating_add(*count);
        }
    }
    let has_summary = last.len() == NAMES.len()
        && numbers(&last[0]).zip(numbers(&last[1])).is_some_and(
            |(over, count): (Vec<u64>, Vec<u64>)| {
                let found = sums.iter().zip(&over).map(|(sum, over)| sum.saturating_add(*over));
                found.eq(count.iter().copied())
            },
        );
    let named = if has_summary { NAMES.len() } else { 1 };
    let split = last.len().saturating_sub(named);
    for (at, row) in last.into_iter().enumerate() {
        if at < split {
            add_numbered(lines, histogram, &mut previous, &row)?;
        } else {
            histogram.below[at - split] = Some(row);
        }
    }
    Ok(())
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A number of a line below the buckets.
fn figure(table: &[Option<Vec<String>>; NAMES.len()], name: usize, at: usize) -> Option<u64> {
    table[name].as_ref()?.get(at).and_then(|word| whole(word))
}

/// How wide a bucket is: as the command says, or as wide as the steps of the index allow, so that
/// none is narrower than it was. Without an index, as the smallest and the largest need it to be.
fn width(histogram: &Histogram, command: &Command) -> Option<u64> {
    if let Some(size) = command.bucket_size().filter(|size| *size > 0)
        && (!histogram.has_index || histogram.step.is_multiple_of(size))
    {
        return Some(size);
    }
    if histogram.has_index && histogram.step > 0 {
        return Some(histogram.step);
    }
    let (mut smallest, mut largest) = (1_u64, u64::MAX);
    let mut is_in_first = true;
    for at in 0..histogram.columns.len() {
        let mut rows =
            histogram.rows.iter().filter(|(_, counts)| counts[at] > 0).map(|(row, _)| *row);
        let Some(first) = rows.next() else { continue };
        let last = rows.next_back().unwrap_or(first);
        let stated = |name| figure(&histogram.below, name, at);
        let max = stated(4).filter(|_| stated(0) == Some(0));
        is_in_first &= last == 0 && max.is_some();
        for (row, value) in [(first, stated(2)), (last, max)] {
            let Some(value) = value else { continue };
            smallest = smallest.max((value / (row + 1)).saturating_add(1));
            largest = largest.min(value.checked_div(row).unwrap_or(u64::MAX));
        }
    }
    // Where all are in the first bucket, the largest ends it.
    (smallest == largest || is_in_first).then_some(smallest)
}

/// Puts a column into a thread: its number there, the width of buckets, the unit.
fn put(
    histogram: &Histogram,
    at: usize,
    (index, width, unit): (usize, u64, i64),
    output: &mut Output,
) -> Result<(), String> {
    let ns = |value: u64| {
        let ns = i64::try_from(value).ok().and_then(|value| value.checked_mul(unit));
        ns.ok_or_else(|| String::from("no latency is so large"))
    };
    let cpu = histogram.columns[at].cpu;
    let is_osnoise = histogram.columns[at].kind.is_none();
    let stated = |name| figure(&histogram.below, name, at);
    let scale = if histogram.has_index { 1 } else { width };
    let lower = |row: u64| row.saturating_mul(scale);
    let thread = output.thread(index).map_err(|error| error.to_string())?;
    thread.cpu = Some(CpuId(cpu));
    let over = stated(0).unwrap_or(0);
    let mut in_buckets = 0_u64;
    for (row, counts) in &histogram.rows {
        let upper = lower(*row).saturating_add(width - 1);
        thread.range(ns(lower(*row))?, ns(upper)?, counts[at]);
        in_buckets = in_buckets.saturating_add(counts[at]);
    }
    thread.beyond = Some((over, ns(lower(histogram.last).saturating_add(width))?));
    thread.stated.count = stated(1);
    if in_buckets.saturating_add(over) == 0 {
        return Ok(());
    }
    // osnoise's figures are of the lower ends of buckets that the kernel has.
    let within = if is_osnoise { width - 1 } else { 0 };
    let end = |name| stated(name).map(|value| ns(value.saturating_add(within))).transpose();
    thread.stated.within = ns(within)?;
    (thread.stated.min, thread.stated.max) = (end(2)?, end(4)?);
    let word = histogram.below[3].as_ref().and_then(|words| words.get(at));
    if within == 0 {
        thread.stated.mean = word.and_then(|word| mean(word, unit));
    } else if let Some(word) = word {
        output.say(&of_thread(index, "avg of the lower ends of buckets"), word);
    }
    Ok(())
}

/// Holds what is stated of all CPUs together against what is stated of each.
fn compare_all(histogram: &Histogram, kind: Option<Kind>, of: &[usize], output: &mut Output) {
    let Some(kind) = kind else { return };
    let kinds = Kind::ALL
        .into_iter()
        .filter(|of| histogram.columns.iter().any(|column| column.kind == Some(*of)));
    let Some(place) = kinds.into_iter().position(|of| of == kind) else { return };
    let each = |name: usize| of.iter().filter_map(move |at| figure(&histogram.below, name, *at));
    let found =
        [(1, Some(each(1).fold(0, u64::saturating_add))), (2, each(2).min()), (4, each(4).max())];
    for (name, found) in found {
        if let (Some(stated), Some(found)) = (figure(&histogram.all, name, place), found)
            && stated != found
        {
            let unit = match name {
                1 => "",
                _ if output.resolution_ns == 1 => " ns",
                _ => " us",
            };
            output.contradiction(
                format!("ALL: {}: {}", kind.column(), NAMES[name]),
                format!("{stated}{unit}"),
                format!("{found}{unit}"),
            );
            let ns =
                i64::try_from(stated).ok().and_then(|max| max.checked_mul(output.resolution_ns));
            if let Some(ns) = ns.filter(|_| name == 4 && stated > found) {
                output.raise_max(ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{buckets, figures, imported, refused, says};

    /// Two CPUs, three kinds, buckets of 10 us.
    const USER: &str = include_str!("samples/rtla-timerlat-hist-u-bucket10.txt");

    #[test]
    fn each_kind_is_a_recording() {
        let all = imported(USER);
        let names: Vec<&str> = all.iter().map(|one| one.document.run.probe.as_str()).collect();
        assert_eq!(names, ["timerlat-irq", "timerlat-thread", "timerlat-user"]);
        let user = &all[2].document;
        assert_eq!(
            figures(user),
            [(1_000, 4_000, 10_000.0, 24_000), (999, 3_000, 3_000.0, 15_000)]
        );
        assert_eq!(
            buckets(user, 0),
            [(4_000, 9_000, 140), (10_000, 19_000, 857), (20_000, 24_000, 3)]
        );
        assert_eq!(user.threads[1].cpu, CpuId(2));
        assert!(user.threads[1].pinned);
        assert_eq!(figures(&all[0].document)[1], (999, 0, 0.0, 3_000));
        assert!(all.iter().all(|one| one.document.warnings.is_empty()));
        assert_eq!(says(user, "Duration"), "0 00:00:02");
    }

    #[test]
    fn without_some_of_the_lines() {
        let short: String = USER
            .lines()
            .filter(|line| !line.starts_with("ALL:"))
            .take(8)
            .map(|line| format!("{line}\n"))
            .collect();
        let all = imported(&short);
        assert_eq!(buckets(&all[1].document, 1), [(0, 9_000, 997), (10_000, 19_000, 2)]);
        let old = USER.split("ALL:").next().unwrap();
        assert_eq!(figures(&imported(old)[1].document)[0], (1_000, 3_000, 7_000.0, 21_000));
        let only_threads = "# RTLA timerlat histogram\n# Time unit is nanoseconds (ns)\n\
            # Duration:   0 00:00:01\nIndex   Thr-007\n6             1\n21            2\n\
            over:         0\ncount:        3\nmin:          6\navg:         16\nmax:         22\n";
        let all = imported(only_threads);
        assert_eq!(figures(&all[0].document), [(3, 6, 16.0, 22)]);
        assert_eq!(buckets(&all[0].document, 0), [(6, 8, 1), (21, 22, 2)]);
        assert_eq!(all[0].document.imported.as_ref().unwrap().resolution_ns, 1);
    }

    /// `rows` of a histogram that has no index.
    fn without_index(rows: &str) -> String {
        format!(
            "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 \
             00:00:01\n   IRQ-000   Thr-000\n{rows}"
        )
    }

    #[test]
    fn without_an_index() {
        let rows = "5 0\n3 4\n0 2\n0 0\n0 1\n0 1\n8 8\n0 1\n0 2\n1 99\n";
        let all =
            imported(&without_index(&format!("{rows}      IRQ       Thr\n8 8\n0 1\n0 2\n1 99\n")));
        assert_eq!(figures(&all[1].document), [(8, 1_000, 2_000.0, 99_000)]);
        assert_eq!(
            buckets(&all[1].document, 0),
            [(1_000, 1_000, 4), (2_000, 2_000, 2), (4_000, 4_000, 1), (5_000, 99_000, 1)]
        );
        assert_eq!(buckets(&all[0].document, 0), [(0, 0, 5), (1_000, 1_000, 3)]);
        // As many rows as there would be with figures below them.
        let command = "# rtla timerlat hist --no-index --with-zeros --no-summary -b 5\n";
        let bare = imported(&format!("{command}{}", without_index("5 0\n3 4\n0 2\n0 0\n")));
        assert_eq!(buckets(&bare[1].document, 0), [(5_000, 9_000, 4), (10_000, 14_000, 2)]);
        assert_eq!(
            refused(&without_index("5 0\n3 4\n0 2\n0 0\n")),
            "line 9: how wide a bucket is does not follow from what is printed"
        );
    }

    #[test]
    fn noise_in_buckets_of_the_kernel() {
        let all = imported(include_str!("samples/rtla-osnoise-hist.txt"));
        let document = &all[0].document;
        assert_eq!(document.threads[1].cpu, CpuId(3));
        assert_eq!(
            buckets(document, 0),
            [(0, 9_000, 42_982), (10_000, 19_000, 12_224), (20_000, 29_000, 8)]
        );
        assert_eq!(buckets(document, 1).last(), Some(&(50_000, 319_000, 2)));
        assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_FIFO 1");
        assert_eq!(says(document, "rtla"), "17 missed events");
        assert_eq!(document.warnings, []);
        for nothing in
            ["Index\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n", "Index\nover:\ncount:\n"]
        {
            let text = format!(
                "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 \
                 00:00:05\n{nothing}"
            );
            assert_eq!(refused(&text), "no output of a known format is in it");
        }
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let crossed = concat!(
            "# RTLA timerlat histogram\n# Time unit is microseconds (us)\nIndex Thr-000\n",
            "0 3\n10 0\nover: 0\ncount: 3\nmin: 9\navg: 8\nmax: 7\n"
        );
        assert_eq!(
            refused(crossed),
            "line 1: thread 0: the smallest, 9.000 us, is above the largest, 7.000 us"
        );
        let with = |from: &str, to: &str| refused(&USER.replacen(from, to, 1));
        assert_eq!(
            with("10            0        48", "10            0"),
            "line 6: the row has another number of columns than the heading"
        );
        assert_eq!(with("\n20  ", "\n10  "), "line 7: the bucket does not follow the one above");
        assert_eq!(with("Usr-002", "CPU-002"), "line 4: the columns have no headings");
        assert_eq!(with("microseconds (us)", "s"), "line 2: the unit of time is not one of rtla's");
        let cut: String = USER.lines().take(6).map(|line| format!("{line}\n")).collect();
        assert_eq!(refused(&cut), "line 7: the histogram ends before 'over:'");
        assert_eq!(
            refused("0 1\n1 2\nover: 0\ncount: 3\nmin: 0\navg: 0\nmax: 1\n"),
            "line 3: the histogram has no heading (--no-header): which CPUs were measured, and \
             where, is not known"
        );
        let contradicts =
            imported(&USER.replace("max:          7        21        24\n", "max: 7 21 9\n"));
        assert_eq!(contradicts[2].document.warnings.len(), 1);
    }
}
