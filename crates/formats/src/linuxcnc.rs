// SPDX-License-Identifier: MIT OR Apache-2.0
//! LinuxCNC's `latency-histogram --nox`, which prints the smallest and the largest latency of each
//! thread and their standard deviation again and again, and neither a mean nor of how many.

use super::numbers::{decimal, mean, whole};
use super::output::of_thread;
use super::{Import, ImportError, Lines, Program};
use model::{Column, RowKind};

static LINUXCNC: Program = Program {
    name: "linuxcnc-latency",
    measuring_point: "from one period after the run before until a thread of LinuxCNC runs",
    column: Column::ns("latency_ns", "from one period after the run before until the thread runs"),
    rows: RowKind::Activations,
    is_planned: true,
    passes_over: false,
    resolution_ns: 1,
};

/// What a line says, its figures as they are printed.
struct Line<'l> {
    seconds: u64,
    thread: &'l str,
    min: &'l str,
    max: &'l str,
    sd: &'l str,
}

/// `   12 secs  servo min:  -9.800 uS max:  14.200 uS sdev:   1.300 uS`.
fn parse(line: &str) -> Option<Line<'_>> {
    let words: Vec<&str> =
        line.split([' ', ':']).filter(|word| !word.is_empty()).take(12).collect();
    let [seconds, "secs", thread, "min", min, "uS", "max", max, "uS", "sdev", sd, "uS"] = words[..]
    else {
        return None;
    };
    Some(Line { seconds: whole(seconds)?, thread, min, max, sd })
}

/// Whether its lines begin here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| parse(line).is_some())
}

/// Reads them: the last of each thread has all that the others have.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&LINUXCNC, lines.number());
    (output.is_of_unknown_count, output.is_of_unknown_mean) = (true, true);
    let (mut names, mut seconds): (Vec<String>, u64) = (Vec::new(), 0);
    while let Some(line) = lines.peek()?.and_then(parse) {
        // Another run begins.
        if line.seconds < seconds {
            break;
        }
        seconds = line.seconds;
        let at = names.iter().position(|name| name == line.thread).unwrap_or(names.len());
        let stated = &mut output.thread(at)?.stated;
        (stated.min, stated.max) = (decimal(line.min, 1_000), decimal(line.max, 1_000));
        stated.sd = mean(line.sd, 1_000);
        if stated.min.is_none() || stated.max.is_none() || stated.sd.is_none() {
            return Err(lines.error("a figure is no number of us"));
        }
        if at == names.len() {
            names.push(line.thread.to_owned());
            output.say(&of_thread(at, "name"), line.thread);
        }
        lines.advance();
    }
    output.say("duration", &format!("{seconds} s"));
    import.add(output)
}

#[cfg(test)]
mod tests {
    use crate::tests::{imported, refused, says};
    use model::Unknown;

    const LINES: &str = "    1 secs   base min:  -5.000 uS max:   4.000 uS sdev:   0.900 uS\n    \
                         1 secs  servo min:  -7.000 uS max:   8.000 uS sdev:   1.100 uS\n    \
                         2 secs   base min:  -9.800 uS max:  14.200 uS sdev:   1.300 uS\n    \
                         2 secs  servo min: -20.000 uS max:  17.500 uS sdev:   2.400 uS\n";

    #[test]
    fn neither_a_mean_nor_a_count_is_made_up() {
        let all = imported(LINES);
        let document = &all[0].document;
        let stated = document.threads.iter().map(|thread| thread.latency_ns.unwrap());
        let stated: Vec<_> = stated.map(|of| (of.min, of.max, of.sd)).collect();
        assert_eq!(stated, [(-9_800, 14_200, Some(1_300.0)), (-20_000, 17_500, Some(2_400.0))]);
        assert!(document.lacks(Unknown::Count) && document.lacks(Unknown::Mean));
        let moments = all[0].threads[0].moments;
        assert_eq!((moments.min(), moments.mean()), (Some(-9_800), None));
        let shown = document.without_unknown().unwrap();
        let of = &shown["threads"][1]["latency_ns"];
        assert!(of["mean"].is_null() && of["count"].is_null() && of["max"] == 17_500, "{of}");
        assert_eq!(says(document, "thread 1: name"), "servo");
        assert_eq!(imported(&format!("{LINES}{LINES}")).len(), 2, "a second run");
        let damaged = LINES.replace("14.200", "1.4.2");
        assert_eq!(refused(&damaged), "line 3: a figure is no number of us");
    }
}
