// SPDX-License-Identifier: MIT OR Apache-2.0
//! sendme of rt-tests before 2.0: a signal to the kernel module backfire and back, in two parts.

use super::numbers::whole;
use super::pairs::parse_figures;
use super::{Import, ImportError, Lines, Program, Stated};
use model::{Column, RowKind};

const fn program(name: &'static str, column: Column, measuring_point: &'static str) -> Program {
    Program {
        name,
        measuring_point,
        column,
        rows: RowKind::Trials,
        is_planned: false,
        passes_over: false,
        resolution_ns: 1_000,
    }
}

static TO: Program = program(
    "sendme-to",
    Column::ns("to_kernel_ns", "from the write to /dev/backfire until the kernel sends a signal"),
    "from the clock read before write to the time that the kernel module backfire takes",
);
static FROM: Program = program(
    "sendme-from",
    Column::ns("from_kernel_ns", "from the kernel's signal until its handler runs"),
    "from the time that the kernel module backfire takes to the clock read in the signal handler",
);

/// Whether an output of sendme begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| samples(line).is_some())
        && lines.get(1).is_some_and(|line| line.starts_with("To:"))
}

/// Reads it: of lines that are drawn again and again the last.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut to = import.output(&TO, lines.number());
    let mut count = None;
    let mut found = [Stated::default(); 2];
    while let Some(line) = lines.peek()? {
        if let Some(now) = samples(line) {
            if count > Some(now) {
                break;
            }
            count = Some(now);
        } else if let Some((at, text)) = part(line) {
            let Some(figures) = parse_figures(text) else {
                return Err(lines.error("the figures are no numbers"));
            };
            found[at] = Stated { count, ..figures };
        } else if !line.trim().is_empty() {
            break;
        }
        lines.advance();
    }
    if found.iter().any(|stated| stated.count != count) {
        return Err(lines.error("there are no figures of the samples above"));
    }
    let command_line = import.command("sendme", to.line).unwrap_or_default();
    to.command_line.clone_from(&command_line);
    to.thread(0)?.stated = found[0];
    let line = to.line;
    import.add_part("to", to)?;
    let mut from = import.output(&FROM, line);
    from.command_line = command_line;
    from.thread(0)?.stated = found[1];
    import.add_part("from", from)
}

fn samples(line: &str) -> Option<u64> {
    whole(line.strip_prefix("Samples:")?)
}

fn part(line: &str) -> Option<(usize, &str)> {
    let (name, text) = line.split_once(':')?;
    Some((["To", "From"].iter().position(|part| *part == name)?, text))
}

#[cfg(test)]
mod tests {
    use crate::tests::{figures, imported, refused};

    /// As its source prints: the kernel module is no part of any kernel.
    #[test]
    fn two_ways() {
        let text = "Samples:       10\nTo:   Min    1, Cur    2, Avg    2, Max    9\nFrom: Min    \
                    4, Cur    5, Avg    5, Max   19\n\x1b[3ASamples:       11\nTo:   Min    1, \
                    Cur    2, Avg    2, Max   10\nFrom: Min    3, Cur    3, Avg    5, Max   19\n";
        let all = imported(text);
        assert_eq!(figures(&all[0].document), [(11, 1_000, 2_000.0, 10_000)]);
        assert_eq!(figures(&all[1].document), [(11, 3_000, 5_000.0, 19_000)]);
        let probes = all.iter().map(|one| one.document.run.probe.as_str());
        assert_eq!(probes.collect::<Vec<_>>(), ["sendme-to", "sendme-from"]);
        assert_eq!(
            refused(text.rsplit_once("From").unwrap().0),
            "line 6: there are no figures of the samples above"
        );
    }
}
