// SPDX-License-Identifier: MIT OR Apache-2.0
//! signaltest: lines as cyclictest's without an interval.

use super::numbers::whole;
use super::thread_line::{ThreadLine, read_all};
use super::{Import, ImportError, Lines, Program};
use model::{Column, RowKind};
use plan::Policy;

pub(crate) static SIGNALTEST: Program = Program {
    name: "signaltest",
    measuring_point: "from the clock read before the signal to the next thread to the clock read \
                      after the signal of the one before it, in the same thread",
    column: Column::ns("round_trip_ns", "a signal's way around all threads"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// Whether an output of signaltest begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    is_thread_line(first)
        || (is_of_thread(first) && lines[1..].iter().any(|line| is_thread_line(line)))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&SIGNALTEST, lines.number());
    if let Some(words) = import.command("signaltest", lines.number()) {
        output.command_line = words;
    }
    while let Some(line) = lines.peek()? {
        if is_thread_line(line) {
            if !read_all(lines, &mut output, 1_000, Some(Policy::Fifo))? {
                break;
            }
        } else if is_of_thread(line) {
            let line = line.to_owned();
            output.say("thread", &line);
            output.is_broken_off |= line.ends_with(" exceeded trace limit.");
            lines.advance();
        } else if is_load_average(line) || line.trim().is_empty() {
            lines.advance();
        } else {
            break;
        }
    }
    import.add_unless_empty(output)
}

/// Whether it is the line of a thread.
pub(super) fn is_thread_line(line: &str) -> bool {
    ThreadLine::has(line, &["P", "C", "Min", "Act", "Max"], &["I", "A"])
}

/// `Thread 0 exceeded trace limit.`, `Thread 0 using cpu 1.`
fn is_of_thread(line: &str) -> bool {
    line.starts_with("Thread ")
        && (line.ends_with(" exceeded trace limit.") || line.contains(" using cpu "))
}

/// Drawn above the lines of threads: `5.07 2.59 1.77 3/125 21910`.
fn is_load_average(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(6).collect();
    let [_, _, _, running, last] = words[..] else { return false };
    words[..3].iter().all(|word| word.parse::<f64>().is_ok())
        && running.split_once('/').is_some_and(|(a, b)| whole(a).is_some() && whole(b).is_some())
        && whole(last).is_some()
}

#[cfg(test)]
mod tests {
    use crate::tests::{figures, imported, refused};

    #[test]
    fn last_lines() {
        let all = imported(include_str!("samples/signaltest-2.4-q.txt"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(3_025, 17_000, 28_000.0, 82_000), (3_025, 17_000, 657_000.0, 10_098_000)]
        );
        assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_FIFO 80");
        assert_eq!(document.run.probe, "signaltest");
    }

    #[test]
    fn lines_that_are_drawn_again() {
        let all = imported(include_str!("samples/signaltest-2.4.txt"));
        assert_eq!(all.len(), 1);
        assert_eq!(
            figures(&all[0].document),
            [(3_025, 17_000, 28_000.0, 110_000), (3_025, 17_000, 657_000.0, 10_121_000)]
        );
    }

    #[test]
    fn stopped_at_its_limit() {
        let all = imported(include_str!("samples/signaltest-2.10-b.txt"));
        let document = &all[0].document;
        assert_eq!(figures(document)[0], (1, 494_000, 494_000.0, 494_000));
        let said = &document.imported.as_ref().unwrap().says[0];
        assert_eq!(said.text, "Thread 0 exceeded trace limit.");
    }

    #[test]
    fn samples_are_not_those_of_cyclictest() {
        assert_eq!(
            refused(include_str!("samples/signaltest-2.4-v.txt")),
            "line 301: the samples above are signaltest's (-v), which prints one that it did not \
             take: give its lines below alone"
        );
    }
}
