// SPDX-License-Identifier: MIT OR Apache-2.0
//! `perf sched latency`, a table of tasks, and `perf sched timehist`, a line for each time that a
//! task left a CPU.

use super::numbers::{decimal, mean, whole};
use super::output::of_thread;
use super::{Import, ImportError, Lines, Program, Stated};
use model::{Column, RowKind};
use plan::CpuId;

static PERF_SCHED: Program = Program {
    name: "perf-sched",
    measuring_point: "from the event by which the scheduler made a task runnable to that by which \
                      it \
                      gave it a CPU",
    column: Column::ns("latency_ns", "how long a runnable task waited for a CPU"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// A table and its unit: ms with three decimals.
const UNIT: i64 = 1_000_000;

/// Whether an output of either begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| is_table(line) || delay_column(line).is_some())
}

fn is_table(line: &str) -> bool {
    let columns: Vec<&str> = line.split('|').map(str::trim).collect();
    matches!(columns.as_slice(), ["Task", "Runtime ms", "Switches" | "Count", avg, max, ..]
        if avg.ends_with("delay ms") && max.ends_with("delay ms"))
}

/// The place of the delay among the figures of a line, which are behind the task's name.
fn delay_column(line: &str) -> Option<usize> {
    let (before, figures) = line.split_once("task name")?;
    let is_heading = before.split_whitespace().eq(["time", "cpu"])
        || before.trim_start().starts_with("time    cpu");
    let mut names = figures.split("  ").map(str::trim).filter(|name| !name.is_empty());
    names.position(|name| name == "sch delay").filter(|_| is_heading)
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    match lines.peek()?.and_then(delay_column) {
        Some(column) => timehist(lines, import, column),
        None => latency(lines, import),
    }
}

/// `rustc:439  |  1979.624 ms |  10 | avg:  0.058 ms | max:  0.385 ms | max start: ...`
struct Task {
    name: String,
    switches: u64,
    mean: f64,
    max: i64,
    /// What is printed beside them: the runtime, and when the largest delay was.
    beside: String,
}

fn task(line: &str) -> Option<Task> {
    let mut columns = line.split('|').map(str::trim);
    let name = columns.next()?;
    let runtime = columns.next().filter(|text| text.ends_with(" ms"))?;
    let switches = whole(columns.next()?)?;
    let figure = |text: &str, name: &str| {
        Some(text.strip_prefix(name)?.strip_prefix(':')?.strip_suffix("ms")?.trim().to_owned())
    };
    let average = figure(columns.next()?, "avg")?;
    let max = figure(columns.next()?, "max")?;
    let when = columns.filter(|text| !text.is_empty());
    let beside = std::iter::once(format!("runtime: {runtime}")).chain(when.map(str::to_owned));
    let beside = beside.collect::<Vec<_>>().join(", ");
    Some(Task {
        name: name.to_owned(),
        switches,
        mean: mean(&average, UNIT)?,
        max: decimal(&max, UNIT)?,
        beside,
    })
}

fn latency(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&PERF_SCHED, lines.number());
    output.command_line = import.command("perf", lines.number()).unwrap_or_default();
    lines.advance();
    let (mut threads, mut without) = (0, 0_u64);
    let mut switches = 0_u64;
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        if let Some(total) = text.strip_prefix("TOTAL:") {
            let stated = total.split('|').nth(2).and_then(whole);
            if let Some(stated) = stated.filter(|stated| *stated != switches) {
                output.contradiction("TOTAL: Switches", stated, switches);
            }
            lines.advance();
            break;
        }
        if text.is_empty() || text.starts_with("---") {
            lines.advance();
            continue;
        }
        let Some(Task { name, switches: count, mean, max, beside }) = task(line) else {
            if text.contains('|') {
                return Err(lines.error("the row is not as its headings say"));
            }
            break;
        };
        switches = switches.saturating_add(count);
        if max == 0 {
            // None of its switches had a wake-up before it.
            without += 1;
        } else {
            let thread = output.thread(threads)?;
            thread.stated = Stated {
                count: Some(count.max(1)),
                // Not printed: none can be below.
                min: Some(if count <= 1 { max } else { 0 }),
                mean: Some(mean),
                max: Some(max),
                ..Stated::default()
            };
            output.say(&of_thread(threads, "name"), &format!("{name}, {beside}"));
            threads += 1;
        }
        lines.advance();
    }
    if threads == 0 {
        return Ok(());
    }
    output.say("tasks without any delay, left out", &without.to_string());
    output.is_of_unknown_min = true;
    import.add(output)
}

/// A line of timehist: when, on which CPU, and the figures behind the task's name, as printed.
fn switch(line: &str) -> Option<(i64, u32, bool, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let time = decimal(words.next()?, 1_000_000_000)?;
    let cpu = words.next()?.strip_prefix('[')?.strip_suffix(']')?;
    let cpu = u32::try_from(whole(cpu)?).ok()?;
    let ends = |word: &&str| word.ends_with(']') || **word == *"<idle>";
    let name = words.find(ends)?;
    let is_figure = |word: &&str| word.contains('.') && decimal(word, UNIT).is_some();
    Some((time, cpu, name == "<idle>", words.take_while(is_figure).take(8).collect()))
}

fn timehist(
    lines: &mut Lines<'_>,
    import: &mut Import<'_>,
    column: usize,
) -> Result<(), ImportError> {
    let mut output = import.output(&PERF_SCHED, lines.number());
    output.command_line = import.command("perf", lines.number()).unwrap_or_default();
    lines.advance();
    if !lines.peek()?.is_some_and(|line| line.contains("(msec)")) {
        return Err(lines.error("the unit of the delays is not msec"));
    }
    lines.advance();
    let (mut first, mut last, mut without) = (None, 0, 0_u64);
    while let Some(line) = lines.peek()? {
        if line.trim().is_empty() || line.starts_with("---") {
            lines.advance();
            continue;
        }
        let Some((time, cpu, is_idle, figures)) = switch(line) else { break };
        if time < last {
            return Err(lines.error("the line is from before the one above"));
        }
        last = time;
        let first = *first.get_or_insert(time);
        // Lines of wake-ups and migrations (-w, -M) have no figures.
        if !is_idle && !figures.is_empty() {
            let Some(delay) = figures.get(column).and_then(|text| decimal(text, UNIT)) else {
                return Err(lines.error("the line has no scheduling delay"));
            };
            if delay == 0 {
                without += 1;
            } else {
                let known = output.threads.iter().position(|thread| thread.cpu == Some(CpuId(cpu)));
                let thread = known.unwrap_or(output.threads.len());
                output.thread(thread)?.cpu = Some(CpuId(cpu));
                output.event(thread, time - first, delay)?;
            }
        }
        lines.advance();
    }
    if output.threads.is_empty() {
        return Ok(());
    }
    output.say("lines without any delay, left out", &without.to_string());
    import.add(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused, says};

    const LATENCY: &str = include_str!("samples/perf-sched-latency.txt");
    const TIMEHIST: &str = include_str!("samples/perf-sched-timehist.txt");

    #[test]
    fn tasks_that_waited() {
        let all = imported(LATENCY);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        assert_eq!(figures(document), [(10, 0, 58_000.0, 385_000)]);
        let task = says(document, "thread 0: name");
        let when = "max start:  2044.058550 s, max end:  2044.058935 s";
        assert_eq!(task, format!("rustc:439, runtime: 1979.624 ms, {when}"));
        assert_eq!(says(document, "tasks without any delay, left out"), "15");
        assert_eq!(document.warnings, []);
        let other = LATENCY.replace("27 |", "28 |");
        assert_eq!(imported(&other)[0].document.warnings.len(), 1);
    }

    #[test]
    fn delays_with_their_times() {
        let document = &imported(TIMEHIST)[0].document;
        assert_eq!(document.probe.rows, RowKind::Events);
        assert_eq!(figures(document)[1], (1, 21_000, 21_000.0, 21_000));
        let (count, min, _, max) = figures(document)[0];
        assert_eq!((count, min, max), (26, 5_000, 13_000));
        assert_eq!(document.threads[0].cpu, CpuId(0));
    }

    #[test]
    fn lines_of_other_options() {
        let text = include_str!("samples/perf-sched-timehist-wnV.txt");
        assert_eq!(figures(&imported(text)[0].document), [(1, 250_000, 250_000.0, 250_000)]);
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused(&LATENCY.replace("avg:   0.058 ms", "avg:   x")),
            "line 5: the row is not as its headings say"
        );
        assert_eq!(
            refused(&TIMEHIST.replace("2043.983650", "2043.983400")),
            "line 7: the line is from before the one above"
        );
        assert_eq!(
            refused(&TIMEHIST.replace("(msec)", "(usec)")),
            "line 3: the unit of the delays is not msec"
        );
    }
}
