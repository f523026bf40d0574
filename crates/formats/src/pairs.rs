// SPDX-License-Identifier: MIT OR Apache-2.0
//! ptsematest, svsematest, sigwaittest and pmqtest: pairs of threads of which one wakes the other.
//! The first three print the same, so that only a command line above it says which one it was.

use super::numbers::{decimal, mean, whole};
use super::{Import, ImportError, Lines, Output, Program, Stated};
use model::{Column, RowKind};
use plan::{Nanos, Policy, Scheduling};

const fn program(name: &'static str, measuring_point: &'static str) -> Program {
    Program {
        name,
        measuring_point,
        column: Column::ns("wakeup_ns", "from waking another thread until it runs"),
        rows: RowKind::Trials,
        is_planned: false,
        passes_over: false,
        resolution_ns: 1_000,
    }
}

pub(crate) static PTSEMATEST: Program =
    program("ptsematest", "from unlocking a pthread mutex until another thread has locked it");
pub(crate) static SVSEMATEST: Program =
    program("svsematest", "from releasing a System V semaphore until another thread has it");
pub(crate) static SIGWAITTEST: Program =
    program("sigwaittest", "from sending a signal until another thread returns from sigwait");
pub(crate) static PMQTEST: Program =
    program("pmqtest", "from sending a POSIX message until another thread has received it");
/// One of the first three.
static UNKNOWN: Program = program(
    "rt-tests-pairs",
    "from waking another thread by a mutex, semaphore or signal until it runs (ptsematest, \
     svsematest or sigwaittest: the output does not say which)",
);

/// The program of this name.
pub(crate) fn by_name(name: &str) -> Option<&'static Program> {
    [&PTSEMATEST, &SVSEMATEST, &SIGWAITTEST, &PMQTEST]
        .into_iter()
        .find(|program| program.name == name)
}

/// Whether an output of one of them begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| Pair::parse(line).is_some())
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let line = lines.number();
    let has_timeouts = lines.peek()?.and_then(Pair::parse).is_some_and(|pair| pair.is_of_pmqtest);
    let mut program = if has_timeouts { &PMQTEST } else { &UNKNOWN };
    let mut command_line = Vec::new();
    for known in [&PTSEMATEST, &SVSEMATEST, &SIGWAITTEST, &PMQTEST] {
        if let Some(words) = import.command(known.name, line) {
            (program, command_line) = (known, words);
        }
    }
    let mut output = import.output(program, line);
    output.is_of_unknown_program = std::ptr::eq(program, &UNKNOWN);
    output.command_line = command_line;
    // As they were drawn last, and whether figures are below them.
    let mut drawn: Vec<(String, bool)> = Vec::new();
    while let Some(line) = lines.peek()? {
        if let Some(pair) = Pair::parse(line) {
            let thread = output.thread(pair.index)?;
            if thread.stated.count > Some(pair.cycles) || thread.is_another(pair.tid) {
                break;
            }
            thread.interval = Some(pair.interval);
            thread.scheduling = pair.scheduling;
            thread.stated = Stated { count: Some(pair.cycles), ..thread.stated };
            drawn.resize_with(drawn.len().max(pair.index + 1), Default::default);
            drawn[pair.index] = (line.trim().to_owned(), false);
        } else if let Some((index, text)) = figures_of_pair(line) {
            let Some((_, has_figures)) = drawn.get_mut(index) else {
                return Err(lines.error(format!("there is no pair #{}", 2 * index)));
            };
            let found = parse_figures(text);
            if found.is_none() && text.trim() != "(not yet ready)" {
                return Err(lines.error("the figures are no numbers"));
            }
            *has_figures = true;
            let stated = &mut output.threads[index].stated;
            *stated = match found {
                // Printed where there is none yet.
                Some(figures) if figures.min >= Some(0) => {
                    Stated { count: stated.count, ..figures }
                }
                _ => Stated { count: Some(0), ..Stated::default() },
            };
        } else if !line.trim().is_empty() {
            break;
        }
        lines.advance();
    }
    if drawn.iter().any(|(_, has_figures)| !has_figures) {
        return Err(lines.error("there are no figures of a pair above"));
    }
    for (text, _) in &drawn {
        output.say("threads", text);
    }
    import.add_unless_empty(output)
}

/// `#0: ID12719, P80, CPU1, I1000; #1: ID12720, P80, CPU0, Cycles 1762`: the thread that is woken,
/// and the one that wakes it. A CPU is the one that a thread ran on last.
struct Pair {
    index: usize,
    /// The woken thread's id.
    tid: u64,
    scheduling: Option<Scheduling>,
    interval: Nanos,
    cycles: u64,
    /// It alone has timeouts.
    is_of_pmqtest: bool,
}

impl Pair {
    fn parse(line: &str) -> Option<Pair> {
        let (woken, waking) = line.trim().strip_prefix('#')?.split_once("; #")?;
        let (number, woken) = woken.split_once(": ID")?;
        let (other, waking) = waking.split_once(": ID")?;
        let number = whole(number)?;
        if number % 2 != 0 || whole(other)? != number + 1 {
            return None;
        }
        let words = |text: &'static str, of: &str| {
            of.split(", ").find_map(|word| whole(word.strip_prefix(text)?))
        };
        let interval = i64::try_from(words("I", woken)?).ok()?.checked_mul(1_000)?;
        Some(Pair {
            index: usize::try_from(number / 2).ok()?,
            tid: whole(woken.split(',').next()?)?,
            scheduling: scheduling(words("P", woken)?),
            interval: Nanos(interval),
            cycles: words("Cycles ", waking)?,
            is_of_pmqtest: words("TO ", waking).is_some(),
        })
    }
}

/// What all of them give their threads.
pub(crate) fn scheduling(prio: u64) -> Option<Scheduling> {
    match u8::try_from(prio).ok()? {
        0 => Some(Scheduling::OTHER),
        prio => Some(Scheduling { policy: Policy::Fifo, prio: Some(prio) }),
    }
}

/// Of `#1 -> #0, Min    7, Cur   23, ...` which pair it is, and the rest.
fn figures_of_pair(line: &str) -> Option<(usize, &str)> {
    let (waking, rest) = line.trim().strip_prefix('#')?.split_once(" -> #")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let woken = whole(&rest[..end])?;
    let is_pair = woken % 2 == 0 && whole(waking)? == woken + 1;
    is_pair.then_some((usize::try_from(woken / 2).ok()?, rest[end..].trim_start_matches(',')))
}

/// `Min    7, Cur   23, Avg   23, Max  730`, in µs.
pub(crate) fn parse_figures(text: &str) -> Option<Stated> {
    let of = |name: &str| {
        text.split(',').find_map(|part| part.trim().strip_prefix(name)).map(str::trim_start)
    };
    Some(Stated {
        min: Some(decimal(of("Min ")?, 1_000)?),
        mean: Some(mean(of("Avg ")?, 1_000)?),
        max: Some(decimal(of("Max ")?, 1_000)?),
        last: of("Cur ").and_then(|text| decimal(text, 1_000)),
        ..Stated::default()
    })
}

/// Puts a pair of a document into an output.
pub(crate) fn put(
    output: &mut Output,
    index: usize,
    (count, interval_us): (Option<u64>, Option<u64>),
    prio: Option<u64>,
    stated: Stated,
) -> Result<(), ImportError> {
    let thread = output.thread(index)?;
    thread.scheduling = prio.and_then(scheduling);
    thread.interval =
        interval_us.and_then(|us| i64::try_from(us).ok()?.checked_mul(1_000)).map(Nanos);
    thread.stated = match count {
        Some(0) => Stated { count, ..Stated::default() },
        _ => Stated { count, ..stated },
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused};

    #[test]
    fn two_pairs_at_the_end() {
        let text = include_str!("samples/ptsematest-2.4-q.txt");
        let all = imported(&format!("$ ptsematest -D 2 -q -p 80 -t 2\n{text}"));
        let document = &all[0].document;
        assert_eq!(
            figures(document),
            [(1_867, 7_000, 18_000.0, 75_000), (1_261, 1_000, 20_000.0, 144_000)]
        );
        assert_eq!(document.run.probe, "ptsematest");
        assert_eq!(document.command_line.len(), 8);
        assert_eq!(document.threads[1].interval_ns, Nanos(1_500_000));
        assert_eq!(document.threads[1].scheduling.to_string(), "SCHED_FIFO 79");
        assert!(!document.threads[0].pinned, "they ran there last");
        let document = imported(text).remove(0).document;
        assert_eq!(document.run.probe, "rt-tests-pairs");
        let again = text.replace("ID226", "ID326");
        assert_eq!(imported(&format!("{text}{again}")).len(), 2, "two runs");
    }

    #[test]
    fn timeouts() {
        let document = imported(include_str!("samples/pmqtest-2.4-q.txt")).remove(0).document;
        assert_eq!(document.run.probe, "pmqtest");
        assert_eq!(
            figures(&document),
            [(1_917, 4_000, 9_000.0, 61_000), (1_288, 4_000, 8_000.0, 174_000)]
        );
        let document =
            imported(include_str!("samples/pmqtest-2.4-timeouts.txt")).remove(0).document;
        assert_eq!(figures(&document), [(1, 39_000, 39_000.0, 39_000)]);
        let says = &document.imported.as_ref().unwrap().says;
        assert!(says[0].text.contains("TO 1"), "{says:?}");
    }

    #[test]
    fn pairs_that_are_drawn_again() {
        let all = imported(include_str!("samples/svsematest-2.4.txt"));
        assert_eq!(all.len(), 1);
        assert_eq!(figures(&all[0].document), [(873, 4_000, 7_000.0, 131_000)]);
        let document =
            imported(include_str!("samples/ptsematest-2.4-other.txt")).remove(0).document;
        assert_eq!(document.threads[0].scheduling, Scheduling::OTHER);
    }

    #[test]
    fn pairs_without_figures() {
        let head = "#0: ID1, P80, CPU1, I1000; #1: ID2, P80, CPU0, Cycles 0\n";
        let refused = |rest: &str| refused(&format!("{head}{rest}"));
        assert_eq!(refused(""), "line 2: there are no figures of a pair above");
        assert_eq!(refused("#3 -> #2, Min 1\n"), "line 2: there is no pair #2");
        assert_eq!(refused("#1 -> #0, Min x, Cur 1\n"), "line 2: the figures are no numbers");
        let nothing = "no output of a known format is in it";
        assert_eq!(refused("#1 -> #0 (not yet ready)\n"), nothing);
        assert_eq!(refused("#1 -> #0, Min -1, Cur 0, Avg -2147483648, Max 0\n"), nothing);
    }
}
