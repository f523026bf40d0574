// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log that rt-app writes of each thread: of each loop its wake-up latency by a timer, us.

use super::numbers::{decimal, whole};
use super::{Import, ImportError, Lines, Program};
use model::{Column, RowKind};
use plan::{Policy, Scheduling};

static RT_APP: Program = Program {
    name: "rt-app",
    measuring_point: "from the time that a timer of rt-app was set to until its thread has read \
                      the clock",
    column: Column::ns("latency_ns", "from the time of the timer until the thread runs again"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1_000,
};

/// The line above the heading.
fn policy(line: &str) -> Option<Scheduling> {
    let (name, prio) = line.trim().strip_prefix("# Policy : ")?.split_once(" priority : ")?;
    let policy = match name.trim() {
        "SCHED_FIFO" => Policy::Fifo,
        "SCHED_RR" => Policy::Rr,
        "SCHED_DEADLINE" => return Some(Scheduling::DEADLINE),
        "SCHED_OTHER" => return Some(Scheduling::OTHER),
        _ => return None,
    };
    Some(Scheduling { policy, prio: whole(prio).and_then(|prio| u8::try_from(prio).ok()) })
}

/// The names of the columns.
fn heading(line: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = line.trim().strip_prefix("#idx")?.split_whitespace().take(64).collect();
    names.contains(&"wu_lat").then_some(names)
}

/// Whether a log of rt-app begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    heading(first).is_some()
        || (first.starts_with("# Policy : ")
            && lines[1..].iter().any(|line| heading(line).is_some()))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let begin = lines.number();
    let mut output = import.output(&RT_APP, begin);
    output.thread(0)?;
    if let Some(line) = lines.peek()?.filter(|line| heading(line).is_none()) {
        output.scheduling = policy(line);
        lines.advance();
    }
    let Some(names) = lines.peek()?.and_then(heading) else { return Ok(()) };
    // `idx` is the first column.
    let columns = names.len() + 1;
    let at = |name: &str| names.iter().position(|known| *known == name).map(|at| at + 1);
    let (Some(start), Some(latency)) = (at("start"), at("wu_lat")) else {
        return Err(lines.error("the heading has no start"));
    };
    lines.advance();
    let (mut first, mut last, mut is_any) = (None, 0, false);
    while let Some(line) = lines.peek()?.filter(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().take(columns + 1).collect();
        if words.first().and_then(|word| whole(word)).is_none() {
            break;
        }
        let row = (words.len() == columns)
            .then(|| decimal(words[start], 1_000).zip(decimal(words[latency], 1_000)))
            .flatten();
        let Some((time, value)) = row else {
            return Err(lines.error("the row is not as its heading"));
        };
        let time = time.checked_sub(*first.get_or_insert(time)).filter(|time| *time >= last);
        let Some(time) = time else {
            return Err(lines.error("the loop began before the one above"));
        };
        last = time;
        is_any |= value != 0;
        output.event(0, time, value)?;
        lines.advance();
    }
    if first.is_none() {
        output.thread(0)?.stated.count = Some(0);
    } else if !is_any {
        return Err(ImportError::at(begin, "every wu_lat is 0: no timer woke the thread"));
    }
    import.add(output)
}

#[cfg(test)]
mod tests {
    use crate::tests::{imported, refused};
    use model::Detail;

    /// Written by rt-app 1.0.
    const LOG: &str = include_str!("samples/rt-app.log");

    #[test]
    fn each_loop_is_an_event() {
        let all = imported(LOG);
        let document = &all[0].document;
        let thread = &document.threads[0];
        assert_eq!(thread.detail, Detail::Samples);
        assert_eq!(thread.scheduling.to_string(), "SCHED_FIFO 10");
        let of = thread.latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.max), (40, 16_000, 87_000));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let cut = &LOG[..LOG.len() - 6];
        assert_eq!(refused(cut), "line 42: the row is not as its heading");
        let text: String = LOG.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()
            + "   0 2000 23 4982 1932076168 1932081150 5208 4939 200 0 0\n";
        assert_eq!(refused(&text), "line 1: every wu_lat is 0: no timer woke the thread");
        assert_eq!(
            refused(&text.replace("1932076168", "x")),
            "line 3: the row is not as its heading"
        );
    }
}
