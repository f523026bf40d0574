// SPDX-License-Identifier: MIT OR Apache-2.0
//! cyclicdeadline: lines as cyclictest's without a priority, and the same histogram since 2.7.

use super::histogram::{histogram, is_histogram, row};
use super::output::of_thread;
use super::thread_line::{Broken, ThreadLine, read_all};
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, ProbeStatement, RowKind};
use plan::{Policy, Scheduling};

pub(crate) static CYCLICDEADLINE: Program = Program {
    name: "cyclicdeadline",
    measuring_point: "from the planned time of a period until the SCHED_DEADLINE thread has read \
                      the clock",
    column: Column::ns("latency_ns", ProbeStatement::UNTIL_IT_RUNS),
    rows: RowKind::Activations,
    is_planned: true,
    // Each time that it runs counts as the next period, however late it is.
    passes_over: false,
    resolution_ns: 1_000,
};

/// The policy of all its threads.
pub(super) const DEADLINE: Scheduling = Scheduling { policy: Policy::Deadline, prio: None };

/// Whether an output of cyclicdeadline begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    is_thread_line(first)
        || (first.trim_end() == "Using all CPUS"
            && lines[1..].iter().any(|line| is_thread_line(line) || is_histogram(line)))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&CYCLICDEADLINE, lines.number());
    output.scheduling = Some(DEADLINE);
    if let Some(words) = import.command("cyclicdeadline", lines.number()) {
        output.command_line = words;
    }
    let mut has_histogram = false;
    let mut broken = Broken::default();
    while let Some(line) = lines.peek()? {
        if is_thread_line(line) {
            if has_histogram || !read_all(lines, &mut output, 1_000, None)? {
                break;
            }
        } else if is_histogram(line) {
            if has_histogram {
                break;
            }
            lines.advance();
            histogram(lines, &mut output, 1_000, row)?;
            has_histogram = true;
        } else if let Some((what, text)) = broken.read(line, 1_000) {
            output.say(what, text);
            lines.advance();
        } else if STEPS.iter().any(|step| line.trim_start().starts_with(step))
            || line.trim().is_empty()
        {
            lines.advance();
        } else {
            break;
        }
    }
    correct_minimum(&mut output);
    broken.put(&mut output);
    import.add_unless_empty(output)
}

/// How lines begin that say how far it is.
const STEPS: [&str; 8] = [
    "Using all CPUS",
    "interval: ",
    "Tested at ",
    "deadline thread ",
    "main thread ",
    "thread[",
    "Creating cpuset ",
    "Removing /",
];

fn is_thread_line(line: &str) -> bool {
    ThreadLine::has(line, &["I", "C", "Min", "Act", "Max"], &["P", "A"])
}

/// A latency of 0 is forgotten: the next one is taken for the smallest. Where that shows, it was 0.
pub(super) fn correct_minimum(output: &mut Output) {
    let mut found = Vec::new();
    for (index, thread) in output.threads.iter_mut().enumerate() {
        if let (Some(min), Some(mean)) = (thread.stated.min, thread.stated.mean)
            && thread.buckets.is_empty()
            && min as f64 > mean
        {
            thread.stated.min = Some(0);
            found.push((index, min, mean));
        }
    }
    for (index, min, mean) in found {
        let found = format!("0 us, as the mean is {:.2} us", mean / 1e3);
        let stated = format!("{:.3} us", min as f64 / 1e3);
        output.contradiction(of_thread(index, "minimum"), stated, found);
    }
    if output.threads.iter().any(|thread| thread.buckets.is_empty()) {
        output.say("Min", "cyclicdeadline forgets a smallest value of 0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused};
    use model::Unknown;

    #[test]
    fn lines_of_2_4() {
        let all = imported(include_str!("samples/cyclicdeadline-2.4-q.txt"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(201, 1_000, 12_000.0, 57_000), (191, 2_000, 11_000.0, 79_000)]
        );
        assert_eq!(document.threads[1].scheduling, DEADLINE);
        assert_eq!(document.threads[1].interval_ns.0, 10_500_000);
        let source = document.imported.as_ref().unwrap();
        assert_eq!((source.format.as_str(), source.line), ("cyclicdeadline", 1));
        assert!(!source.passes_over);
        assert!(!source.lacks(Unknown::Unit), "it prints us, whatever is asked");
    }

    /// A run that -b ended, drawn again and again: the smallest of thread 1 was 0, which it forgot.
    #[test]
    fn forgotten_minimum() {
        let all = imported(include_str!("samples/cyclicdeadline-2.4-b.txt"));
        let document = &all[0].document;
        assert_eq!(figures(document), [(5, 0, 3_000.0, 14_000), (4, 0, 7_000.0, 32_000)]);
        let warnings = format!("{:?}", document.warnings);
        assert!(
            warnings.contains(r#""thread 1: minimum", stated: "14.000 us", found: "0 us, as"#),
            "{warnings}"
        );
        let says = &document.imported.as_ref().unwrap().says;
        assert_eq!((says[1].what.as_str(), says[1].text.as_str()), ("Break value", "32"));
    }

    #[test]
    fn histogram_of_2_10() {
        let all = imported(include_str!("samples/cyclicdeadline-2.10-histogram.txt"));
        let document = &all[0].document;
        assert_eq!(document.run.probe, "cyclicdeadline");
        assert_eq!(
            figures(document).iter().map(|of| (of.0, of.1, of.3)).collect::<Vec<_>>(),
            [(201, 0, 1_576_000), (191, 0, 147_000)]
        );
        // Both printed a smallest above their own smallest bucket.
        let warnings = format!("{:?}", document.warnings);
        assert!(warnings.contains(r#"place: "thread 0: minimum", stated: "3.000 us""#));
        assert_eq!(document.warnings.len(), 2, "{warnings}");
    }

    #[test]
    fn no_figures_of_another_program() {
        let jitter = "T: 0 ( 5942) A: 1 C: 3988 Min: 11 Avg:  317.87 Max:     26090";
        assert!(!is_thread_line(jitter));
        assert!(!is_thread_line("T: 0 (1) P:80 I:1000 C: 9 Min: 2 Act: 2 Avg: 3 Max: 4"));
        assert_eq!(
            refused("T: 0 (1) I:1000 C: 9 Min: 2 Act: 2 Avg: 30 Max: 4\n"),
            "line 1: thread 0: 2000, 30000 and 4000 ns cannot be the smallest, the mean and the \
             largest"
        );
    }
}
