// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-migrate-test: when each of more tasks than CPUs started in each iteration, and figures of
//! that. Where the figures are all there is, how many iterations there were follows from them.

use super::numbers::{decimal, whole};
use super::output::of_thread;
use super::{Import, ImportError, Lines, Measured, Output, Program, Stated};
use model::{Column, RowKind};
use plan::{Policy, Scheduling};

pub(crate) static RT_MIGRATE_TEST: Program = Program {
    name: "rt-migrate-test",
    measuring_point: "from the release of all tasks at once until the one of this priority has \
                      read the clock; the lowest waits by design until another ends",
    column: Column::ns("start_ns", "from the release of all tasks until this one runs"),
    rows: RowKind::Trials,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Whether an output of rt-migrate-test begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let is_row = |count| {
        lines.get(1).and_then(|line| row(line)).is_some_and(|(_, values)| values.len() == count)
            && lines.get(2).is_some_and(|line| line.trim().starts_with("len:"))
    };
    columns(first).is_some_and(is_row)
        || (first.starts_with("Parent pid: ")
            && lines.get(1).is_some_and(|line| Task::parse(line).is_some()))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&RT_MIGRATE_TEST, lines.number());
    if let Some(words) = import.command("rt-migrate-test", output.line) {
        output.command_line = words;
    }
    let count = lines.peek()?.and_then(columns).unwrap_or(0);
    if count > 0 {
        output.thread(count - 1)?;
        lines.advance();
    }
    // Of each task the smallest, the largest and the sum of what is in the table.
    let mut found = vec![(i64::MAX, i64::MIN, 0_i64); count];
    let mut iterations = 0;
    while let Some(line) = lines.peek()? {
        if let Some((iteration, values)) = row(line) {
            if iteration != iterations || values.len() != count {
                let why = format!("it is no row of {count} tasks for iteration {iterations}");
                return Err(lines.error(why));
            }
            for (index, ns) in values.into_iter().enumerate() {
                output.sample(index, ns)?;
                let (min, max, sum) = &mut found[index];
                (*min, *max) = (ns.min(*min), ns.max(*max));
                *sum = sum.saturating_add(ns);
            }
            iterations += 1;
        } else if !["len:", "loops:"].iter().any(|name| line.trim().starts_with(name))
            && !line.trim().is_empty()
        {
            break;
        }
        lines.advance();
    }
    if !lines.peek()?.is_some_and(|line| line.starts_with("Parent pid: ")) {
        return Err(lines.error("the output ends before its figures"));
    }
    lines.advance();
    let tasks = tasks(lines)?;
    if count > 0 && tasks.len() != count {
        let why =
            format!("the table above is of {count} tasks, and the figures of {}", tasks.len());
        return Err(lines.error(why));
    }
    for (index, task) in tasks.iter().enumerate() {
        output.thread(index)?.scheduling = Some(fifo(task.prio));
        if count > 0 {
            compare(index, task, found[index], &mut output);
        }
    }
    while let Some(line) = lines.peek()? {
        match line.trim() {
            verdict @ ("Passed!" | "Failed!") => {
                let verdict = verdict.to_owned();
                output.say("check", &verdict);
            }
            "" => {}
            _ => break,
        }
        lines.advance();
    }
    if count == 0 {
        put(&mut output, &tasks)?;
    }
    import.add(output)
}

/// Of how many tasks a table is, by its first line: `Iter:      0       1       2`.
fn columns(line: &str) -> Option<usize> {
    let mut count = 0;
    for (index, word) in line.strip_prefix("Iter:")?.split_whitespace().enumerate() {
        (word.parse() == Ok(index)).then_some(())?;
        count = index + 1;
    }
    (count > 0).then_some(count)
}

/// `   0:    20037      38      27`
fn row(line: &str) -> Option<(u64, Vec<i64>)> {
    let (iteration, values) = line.split_once(':')?;
    let values = values.split_whitespace().map(|value| decimal(value, 1_000));
    Some((whole(iteration)?, values.collect::<Option<_>>()?))
}

/// The figures of a task, ns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Task {
    pub prio: u8,
    pub min: i64,
    pub max: i64,
    pub total: i64,
    /// In whole µs.
    pub mean: i64,
}

impl Task {
    /// ` Task 0 (prio 2) (pid 12819):`
    fn parse(line: &str) -> Option<(usize, Task)> {
        let (index, rest) = line.trim().strip_prefix("Task ")?.split_once(" (prio ")?;
        let (prio, _) = rest.split_once(") (pid ")?;
        Some((index.parse().ok()?, Task { prio: prio.parse().ok()?, ..Task::default() }))
    }
}

fn tasks(lines: &mut Lines<'_>) -> Result<Vec<Task>, ImportError> {
    let mut tasks: Vec<Task> = Vec::new();
    while let Some((index, mut task)) = lines.peek()?.and_then(Task::parse) {
        if index != tasks.len() || index >= plan::MAX_THREADS {
            return Err(lines.error(format!("task {} is not there", tasks.len())));
        }
        lines.advance();
        for (name, value) in [
            ("Max", &mut task.max),
            ("Min", &mut task.min),
            ("Tot", &mut task.total),
            ("Avg", &mut task.mean),
        ] {
            let of_line = |line: &str| {
                let text = line.trim().strip_prefix(name)?.strip_prefix(": ")?;
                decimal(text.strip_suffix(" us")?, 1_000)
            };
            let Some(ns) = lines.peek()?.and_then(of_line) else {
                return Err(lines.error(format!("there is no {name} of task {index}")));
            };
            *value = ns;
            lines.advance();
        }
        while lines.peek()?.is_some_and(|line| line.trim().is_empty()) {
            lines.advance();
        }
        tasks.push(task);
    }
    if tasks.is_empty() {
        return Err(lines.error("there are no tasks"));
    }
    Ok(tasks)
}

/// What its tasks run with.
fn fifo(prio: u8) -> Scheduling {
    Scheduling { policy: Policy::Fifo, prio: Some(prio) }
}

/// Holds figures against the table.
fn compare(index: usize, task: &Task, (min, max, sum): (i64, i64, i64), output: &mut Output) {
    let count = i64::try_from(output.threads[index].samples()).unwrap_or(i64::MAX);
    // Each in the table is up to a µs more.
    let totals = sum..=sum.saturating_add(count.saturating_mul(1_000));
    for (name, stated, found, fits) in [
        ("Min", task.min, min, task.min == min),
        ("Max", task.max, max, task.max == max),
        ("Tot", task.total, sum, totals.contains(&task.total)),
    ] {
        if !fits {
            output.contradiction(of_thread(index, name), stated, found);
        }
    }
    if task.max > max {
        output.raise_max(task.max);
    }
}

/// Makes tasks of which there are figures alone threads of an output.
pub(crate) fn put(output: &mut Output, tasks: &[Task]) -> Result<(), ImportError> {
    let Some(count) = iterations(tasks) else {
        let why = "how many iterations there were does not follow from the figures";
        return Err(ImportError::at(output.line, why));
    };
    for (index, task) in tasks.iter().enumerate() {
        let thread: &mut Measured = output.thread(index)?;
        thread.scheduling = Some(fifo(task.prio));
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let mean = task.mean as f64;
        thread.stated = Stated {
            count: Some(count),
            min: Some(task.min),
            mean: Some(mean),
            max: Some(task.max),
            ..Stated::default()
        };
    }
    output.say("iterations", &format!("{count}, which follows from Tot and Avg"));
    Ok(())
}

/// The only number of iterations with which each mean is of its total.
fn iterations(tasks: &[Task]) -> Option<u64> {
    let (mut from, mut to) = (1, i64::MAX);
    for task in tasks {
        // The total was at most 1 µs more, and the mean as well.
        let (total, mean) = (task.total / 1_000, task.mean / 1_000);
        (mean >= 0).then_some(())?;
        from = from.max(total / (mean + 1) + 1);
        if mean > 0 {
            to = to.min(total.checked_add(1)? / mean);
        }
    }
    (from == to).then(|| u64::try_from(from).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused};

    #[test]
    fn iterations_one_by_one() {
        let all = imported(include_str!("samples/rt-migrate-test-2.10.txt"));
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        // The table rounds down each, so that its sum is a little less than the total.
        assert_eq!(
            figures(document),
            [
                (5, 20_037_000, 20_044_600.0, 20_052_000),
                (5, 38_000, 40_200.0, 42_000),
                (5, 27_000, 37_800.0, 49_000)
            ]
        );
        assert_eq!(document.warnings, Vec::new());
        assert_eq!(document.threads[2].scheduling.to_string(), "SCHED_FIFO 4");
        let text = include_str!("samples/rt-migrate-test-2.10.txt").replace("Max: 42", "Max: 43");
        let warnings = format!("{:?}", imported(&text)[0].document.warnings);
        assert!(warnings.contains("thread 1: Max"), "{warnings}");
    }

    #[test]
    fn figures_alone() {
        let text = include_str!("samples/rt-migrate-test-2.4-c.txt");
        let document = imported(text).remove(0).document;
        assert_eq!(figures(&document)[0], (5, 20_049_000, 20_054_800.0, 20_064_000));
        let says = &document.imported.as_ref().unwrap().says;
        assert_eq!((says[0].what.as_str(), says[0].text.as_str()), ("check", "Passed!"));
        let figures_alone = &text[text.find("Parent").unwrap()..];
        let document = imported(figures_alone).remove(0).document;
        assert_eq!(figures(&document)[0], (5, 20_049_000, 20_054_000.0, 20_064_000));
        let of = |total: i64, mean: i64| Task {
            total: total * 1_000,
            mean: mean * 1_000,
            ..Task::default()
        };
        assert_eq!(iterations(&[of(100_274, 20_054)]), Some(5));
        assert_eq!(iterations(&[of(3, 0)]), None);
        assert_eq!(iterations(&[of(1_000, 50)]), Some(20));
        assert_eq!(iterations(&[of(10_000, 5)]), None);
    }

    #[test]
    fn a_negative_mean_divides_by_nothing() {
        let tasks = |mean: &str| {
            format!(
                "Parent pid: 1\n Task 0 (prio 2) (pid 2):\n Max: 9 us\n Min: 0 us\n Tot: 9 us\n \
                 Avg: {mean} us\n"
            )
        };
        let why = "line 1: how many iterations there were does not follow from the figures";
        for mean in ["-1", "-2", "-9223372036854775"] {
            assert_eq!(refused(&tasks(mean)), why);
        }
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let text = include_str!("samples/rt-migrate-test-2.10.txt");
        let cut = |until: &str| text.split_once(until).unwrap().0.to_owned();
        assert_eq!(refused(&cut("Parent")), "line 22: the output ends before its figures");
        assert_eq!(refused(&cut("   Tot: 189")), "line 38: there is no Tot of task 2");
        assert_eq!(
            refused(&text.replace("  20041      39      33", "  20041      39")),
            "line 10: it is no row of 3 tasks for iteration 2"
        );
        assert_eq!(
            refused(
                "Parent pid: 1\n Task 0 (prio 2) (pid 2):\n Max: 9 us\n Min: 0 us\n Tot: 9 \
                     us\n Avg: 0 us\n"
            ),
            "line 1: how many iterations there were does not follow from the figures"
        );
    }
}
