// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tables of `rtla timerlat top`, `rtla osnoise top` and `rtla hwnoise`, which are drawn again
//! and again: the last of a run counts.

use super::numbers::{decimal, mean, whole};
use super::output::of_thread;
use super::rtla::{Command, Kind, below, unit_ns};
use super::{Import, ImportError, Lines, Output, Program, Stated};
use model::{Column, RowKind};
use plan::CpuId;

static OSNOISE: Program = noise(
    "osnoise-period",
    "in each period of osnoise: all gaps together between readings of the clock by a thread that \
     only reads it",
);

static HWNOISE: Program = noise(
    "hwnoise-period",
    "in each period of osnoise: all gaps together between readings of the clock by a thread that \
     only reads it, with interrupts disabled",
);

const fn noise(name: &'static str, point: &'static str) -> Program {
    Program {
        name,
        measuring_point: point,
        column: Column::ns("latency_ns", "how long the thread was kept from running in a period"),
        rows: RowKind::Events,
        is_planned: false,
        passes_over: false,
        resolution_ns: 1_000,
    }
}

/// Which program drew a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Timerlat,
    Osnoise,
    Hwnoise,
}

/// Whether such a table begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let next = lines.iter().take(4);
    match title(first) {
        Some(Of::Timerlat) => next.clone().any(|line| kinds(line).is_some()),
        Some(_) => next.clone().any(|line| is_of_noise(line)),
        None => false,
    }
}

fn title(line: &str) -> Option<Of> {
    match line.trim() {
        "Timer Latency" => Some(Of::Timerlat),
        "Operating System Noise" => Some(Of::Osnoise),
        "Hardware-related Noise" => Some(Of::Hwnoise),
        _ => None,
    }
}

/// `0 00:00:12   |   IRQ Timer Latency (us)   |   Thread Timer Latency (us)`: the duration, how
/// many kinds there are, and the unit, ns.
fn kinds(line: &str) -> Option<(String, usize, i64)> {
    let mut parts = line.split('|');
    let duration = parts.next()?.trim().to_owned();
    let (mut found, mut unit) = (0, None);
    for (part, name) in parts.zip(["IRQ Timer Latency", "Thread Timer Latency", "Ret user"]) {
        if !part.trim().starts_with(name) {
            return None;
        }
        unit = Some(unit_ns(part)?);
        found += 1;
    }
    unit.filter(|_| found >= 2).map(|unit| (duration, found, unit))
}

fn is_of_noise(line: &str) -> bool {
    line.trim().starts_with("duration:") && line.contains("| time is in us")
}

/// A table.
struct Table {
    of: Of,
    line: u64,
    duration: String,
    unit: i64,
    kinds: usize,
    rows: Vec<Row>,
    /// The line of all CPUs together.
    all: Option<Row>,
}

/// What is said of a CPU, or of all.
struct Row {
    cpu: u32,
    count: u64,
    /// What the count was divided by.
    scale: u64,
    /// Of each kind: the smallest, the mean and the largest; none where there was nothing.
    figures: Vec<Option<[u64; 3]>>,
    /// Of noise, as it is printed from the runtime on; of latencies the last of each kind.
    words: Vec<String>,
}

/// Reads such tables of one run.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let command = Command::before(import, lines.number());
    let mut last: Option<Table> = None;
    loop {
        while lines.peek()?.is_some_and(|line| line.trim().is_empty()) {
            lines.advance();
        }
        let Some(of) = lines.peek()?.and_then(title) else { break };
        let table = table(lines, of)?;
        if let Some(last) = last.take_if(|last| !goes_on(last, &table)) {
            let mut outputs = outputs(&last, import, &command)?;
            add(import, &mut outputs)?;
        }
        last = Some(table);
    }
    let Some(last) = last else { return Ok(()) };
    let mut outputs = outputs(&last, import, &command)?;
    let mut all: Vec<Output> = outputs.drain(..).map(|(_, output)| output).collect();
    below(lines, &mut all)?;
    let mut parts: Vec<(&'static str, Output)> = parts(&last).into_iter().zip(all).collect();
    add(import, &mut parts)
}

fn add(
    import: &mut Import<'_>,
    outputs: &mut Vec<(&'static str, Output)>,
) -> Result<(), ImportError> {
    for (part, output) in outputs.drain(..) {
        if output.threads.iter().any(|thread| !thread.is_empty()) {
            import.add_part(part, output)?;
        }
    }
    Ok(())
}

/// Whether a table is the same as another, drawn later.
fn goes_on(last: &Table, table: &Table) -> bool {
    last.of == table.of
        && last.kinds == table.kinds
        && last.unit == table.unit
        && seconds(&last.duration) <= seconds(&table.duration)
        && last
            .rows
            .iter()
            .all(|of| table.rows.iter().any(|now| now.cpu == of.cpu && now.count >= of.count))
}

/// Of `0 00:01:00`: days, hours, minutes, seconds.
fn seconds(duration: &str) -> Option<u64> {
    let (days, rest) = duration.split_once(' ')?;
    let mut sum = whole(days)?;
    for (part, size) in rest.split(':').zip([24_u64, 60, 60]) {
        sum = sum.checked_mul(size)?.checked_add(whole(part)?)?;
    }
    Some(sum)
}

/// Reads a table from its title on.
fn table(lines: &mut Lines<'_>, of: Of) -> Result<Table, ImportError> {
    let mut table = Table {
        of,
        line: lines.number(),
        duration: String::new(),
        unit: 1_000,
        kinds: 0,
        rows: Vec::new(),
        all: None,
    };
    lines.advance();
    let mut has_heading = false;
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        if let Some((duration, found, unit)) = kinds(line).filter(|_| of == Of::Timerlat) {
            (table.duration, table.kinds, table.unit) = (duration, found, unit);
        } else if is_of_noise(line) && of != Of::Timerlat {
            let duration = text.split('|').next().unwrap_or_default();
            duration["duration:".len()..].trim().clone_into(&mut table.duration);
            table.kinds = 1;
        } else if text.starts_with("CPU COUNT") || text.starts_with("CPU Period") {
            has_heading = true;
            lines.advance();
            break;
        } else if !text.is_empty() {
            break;
        }
        lines.advance();
    }
    if table.kinds == 0 || !has_heading {
        return Err(lines.error("the table has no headings"));
    }
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        let is_of_all = text.starts_with("ALL ");
        if text.starts_with("---") && text.contains('|') {
            lines.advance();
            continue;
        }
        if !(is_of_all || is_row(text)) {
            break;
        }
        let row = match of {
            Of::Timerlat => latencies(text, table.kinds),
            Of::Osnoise | Of::Hwnoise => noises(text),
        };
        let Some(row) = row else {
            return Err(lines.error("the row is not as its headings say"));
        };
        if is_of_all {
            table.all = Some(row);
        } else {
            if table.rows.len() >= plan::MAX_THREADS {
                let why = format!("no machine has more than {} CPUs", plan::MAX_THREADS);
                return Err(lines.error(why));
            }
            table.rows.push(row);
        }
        lines.advance();
    }
    Ok(table)
}

/// `3 #12322 ...`
fn is_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(|cpu| whole(cpu).is_some())
        && words.next().is_some_and(|count| count.starts_with('#'))
}

/// `1 #12322 | 0 0 1 15 | 10 3 9 31`, or `ALL #12322  e0 | 0 1 28 | 2 9 41`.
fn latencies(text: &str, kinds: usize) -> Option<Row> {
    let mut parts = text.split('|');
    let mut words = parts.next()?.split_whitespace();
    let cpu = words.next()?;
    let is_of_all = cpu == "ALL";
    let cpu = if is_of_all { 0 } else { u32::try_from(whole(cpu)?).ok()? };
    let count = whole(words.next()?.strip_prefix('#')?)?;
    let exponent = match words.next() {
        Some(exponent) => u32::try_from(whole(exponent.strip_prefix('e')?)?).ok()?,
        None => 0,
    };
    let scale = 10_u64.checked_pow(exponent)?;
    let of_part = |part: &str| -> Option<Option<[u64; 3]>> {
        // What stands behind the figures is somebody's remark.
        let is_figure = |word: &&str| *word == "-" || whole(word).is_some();
        let words: Vec<&str> = part.split_whitespace().take_while(is_figure).take(5).collect();
        let figures = match words.as_slice() {
            [_, figures @ ..] if !is_of_all && figures.len() == 3 => figures,
            figures if is_of_all && figures.len() == 3 => figures,
            // Without anything measured, there may be as many as for a CPU.
            [_, figures @ ..] if words.iter().all(|word| *word == "-") => figures,
            _ => return None,
        };
        if figures.iter().all(|word| *word == "-") {
            return Some(None);
        }
        Some(Some([whole(figures[0])?, whole(figures[1])?, whole(figures[2])?]))
    };
    let last = |part: &str| part.split_whitespace().next().unwrap_or_default().to_owned();
    let words = parts.clone().map(last).collect();
    let figures: Vec<Option<[u64; 3]>> = parts.map(of_part).collect::<Option<_>>()?;
    (figures.len() == kinds).then_some(Row { cpu, count, scale, figures, words })
}

/// `0 #59  53100000  304896  99.42580  6978  56  549  0  53111  1590  13`.
fn noises(text: &str) -> Option<Row> {
    let mut words = text.split_whitespace();
    let cpu = u32::try_from(whole(words.next()?)?).ok()?;
    let count = whole(words.next()?.strip_prefix('#')?)?;
    let words: Vec<String> = words.take(NOISE.len()).map(str::to_owned).collect();
    let are_numbers = words.iter().all(|word| mean(word, 1).is_some());
    let fits = matches!(words.len(), 7 | 10) && are_numbers;
    fits.then_some(Row { cpu, count, scale: 1, figures: Vec::new(), words })
}

/// What stands behind the number of periods; hwnoise ends after NMI.
const NOISE: [&str; 10] = [
    "Runtime",
    "Noise",
    "% CPU Aval",
    "Max Noise",
    "Max Single",
    "HW",
    "NMI",
    "IRQ",
    "Softirq",
    "Thread",
];

fn parts(table: &Table) -> Vec<&'static str> {
    match table.of {
        Of::Timerlat => Kind::ALL[..table.kinds].iter().map(|kind| kind.part()).collect(),
        Of::Osnoise | Of::Hwnoise => vec![""],
    }
}

/// What a table comes to.
fn outputs(
    table: &Table,
    import: &mut Import<'_>,
    command: &Command,
) -> Result<Vec<(&'static str, Output)>, ImportError> {
    let mut new = |program: &'static Program| {
        let mut output = import.output(program, table.line);
        command.put(&mut output);
        output.say("Duration", &table.duration);
        output
    };
    let outputs = match table.of {
        Of::Timerlat => Kind::ALL[..table.kinds]
            .iter()
            .enumerate()
            .map(|(at, kind)| of_timerlat(table, *kind, at, new(kind.program())))
            .collect::<Result<Vec<_>, _>>()?,
        Of::Osnoise => vec![of_noise(table, new(&OSNOISE))?],
        Of::Hwnoise => vec![of_noise(table, new(&HWNOISE))?],
    };
    Ok(parts(table).into_iter().zip(outputs).collect())
}

fn of_timerlat(
    table: &Table,
    kind: Kind,
    at: usize,
    mut output: Output,
) -> Result<Output, ImportError> {
    let error = |why: &str| ImportError::at(table.line, why);
    let ns = |value: u64| {
        let ns = i64::try_from(value).ok().and_then(|value| value.checked_mul(table.unit));
        ns.ok_or_else(|| error("no latency is so large"))
    };
    output.resolution_ns = table.unit;
    if kind != Kind::Irq {
        output.say("COUNT", "is printed of IRQ latencies only, and taken for the others too");
    }
    for (index, row) in table.rows.iter().enumerate() {
        let thread = output.thread(index)?;
        thread.cpu = Some(CpuId(row.cpu));
        let Some([min, average, max]) = row.figures[at] else {
            thread.stated.count = Some(0);
            continue;
        };
        // Where not one interrupt was counted there still was what these figures are of.
        let least = if min == max { 1 } else { 2 };
        thread.stated = Stated {
            count: Some(row.count.max(least)),
            min: Some(ns(min)?),
            mean: mean(&average.to_string(), table.unit),
            max: Some(ns(max)?),
            last: row.words.get(at).and_then(|text| decimal(text, table.unit)),
            ..Stated::default()
        };
    }
    if let Some(all) = &table.all {
        let figures = || table.rows.iter().filter_map(|row| row.figures[at]);
        let stated = all.figures[at];
        let unit = if table.unit == 1 { " ns" } else { " us" };
        let mut compare = |name: &str, stated: Option<u64>, found: Option<u64>, unit: &str| {
            if let (Some(stated), Some(found)) = (stated, found)
                && stated != found
            {
                let place = format!("ALL: {}: {name}", kind.column());
                output.contradiction(place, format!("{stated}{unit}"), format!("{found}{unit}"));
            }
        };
        compare("min", stated.map(|[min, ..]| min), figures().map(|[min, ..]| min).min(), unit);
        let (of_all, largest) = (stated.map(|[.., max]| max), figures().map(|[.., max]| max).max());
        compare("max", of_all, largest, unit);
        let sum = table.rows.iter().map(|row| row.count).fold(0, u64::saturating_add);
        let found = sum / all.scale * all.scale;
        compare("COUNT", Some(all.count.saturating_mul(all.scale)), Some(found), "");
        if let Some(of_all) = of_all.filter(|of_all| Some(*of_all) > largest) {
            output.raise_max(ns(of_all)?);
        }
    }
    Ok(output)
}

fn of_noise(table: &Table, mut output: Output) -> Result<Output, ImportError> {
    let error = |why: &str| ImportError::at(table.line, why);
    let large = || error("no latency is so large");
    let number = |row: &Row, at: usize| {
        row.words.get(at).and_then(|word| whole(word)).ok_or_else(|| error("a figure is no number"))
    };
    for (index, row) in table.rows.iter().enumerate() {
        let thread = output.thread(index)?;
        thread.cpu = Some(CpuId(row.cpu));
        let (sum, max) = (number(row, 1)?, number(row, 3)?);
        let max = i64::try_from(max).ok().and_then(|us| us.checked_mul(1_000)).ok_or_else(large)?;
        #[expect(clippy::cast_precision_loss, reason = "a mean")]
        let average = sum as f64 * 1_000.0 / row.count.max(1) as f64;
        thread.stated = Stated {
            count: Some(row.count),
            // Not printed: none can be below.
            min: Some(if row.count == 1 { max } else { 0 }),
            mean: Some(average),
            max: Some(max),
            ..Stated::default()
        };
    }
    output.is_of_unknown_min = true;
    for (at, name) in NOISE.iter().enumerate().filter(|(at, _)| ![1, 3].contains(at)) {
        let of = |(index, row): (usize, &Row)| Some(of_thread(index, row.words.get(at)?));
        let all: Vec<String> = table.rows.iter().enumerate().filter_map(of).collect();
        if !all.is_empty() {
            output.say(name, &all.join(", "));
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{figures, imported, refused, says};

    const TIMERLAT: &str = include_str!("samples/rtla-timerlat-top.txt");

    #[test]
    fn the_last_table_counts() {
        let all = imported(TIMERLAT);
        assert_eq!(all.len(), 2);
        let (irq, thread) = (&all[0].document, &all[1].document);
        assert_eq!(figures(irq), [(12_322, 0, 1_000.0, 15_000), (12_320, 0, 1_000.0, 28_000)]);
        assert_eq!(
            figures(thread),
            // The row of all has more than any of its CPUs.
            [(12_322, 3_000, 9_000.0, 31_000), (12_320, 2_000, 11_000.0, 42_000)]
        );
        assert_eq!(thread.threads[1].cpu, CpuId(23));
        assert_eq!(irq.warnings, []);
        let contradicts = format!("{:?}", thread.warnings);
        assert!(
            contradicts.contains("ALL: Thr: max") && contradicts.contains("42 us"),
            "{contradicts}"
        );
    }

    #[test]
    fn the_analysis_is_kept() {
        let all = imported(TIMERLAT);
        let document = &all[0].document;
        assert_eq!(says(document, "rtla"), "rtla timerlat hit stop tracing");
        let of = |what: &str| says(document, &format!("CPU 23: {what}"));
        assert_eq!(of("IRQ handler delay"), "(exit from idle)\t    27.49 us (65.52 %)");
        assert_eq!(of("Thread latency"), "41.96 us (100%)");
        assert_eq!(of("Blocking thread stack trace"), "-> timerlat_irq, -> vfs_write");
        assert_eq!(of("IRQ interference"), "4.93 us (0.40 %)");
        assert_eq!(says(document, "Max timerlat IRQ latency from idle"), "17.48 us in cpu 4");
    }

    #[test]
    fn as_a_terminal_has_it() {
        let drawn: String = TIMERLAT
            .lines()
            .map(|line| match line.trim() {
                "Timer Latency" => format!("\x1bc\x1b[2;37;40m{line}\x1b[0;0;0m\n"),
                text if text.starts_with("CPU COUNT") => {
                    format!("\x1b[2;30;47m{line}\x1b[0;0;0m\n")
                }
                _ => format!("{line}\n"),
            })
            .collect();
        let all = imported(&drawn);
        assert_eq!((all.len(), figures(&all[1].document)[1].3), (2, 42_000));
    }

    #[test]
    fn two_runs_are_two() {
        let run = TIMERLAT.split("rtla timerlat hit").next().unwrap();
        assert_eq!(imported(&format!("{run}{run}")).len(), 4);
    }

    #[test]
    fn nothing_of_one_kind_and_users() {
        let text = include_str!("samples/rtla-timerlat-top-u-ns.txt");
        let all = imported(text);
        let names: Vec<&str> = all.iter().map(|one| one.document.run.probe.as_str()).collect();
        assert_eq!(names, ["timerlat-irq", "timerlat-thread", "timerlat-user"]);
        let each: Vec<_> = all.iter().map(|one| figures(&one.document)).collect();
        assert_eq!(each, [[(1, 54, 54.0, 54)], [(1, 161, 161.0, 161)], [(1, 70, 70.0, 70)]]);
        assert_eq!(all[1].document.threads[0].cpu, CpuId(2));
    }

    #[test]
    fn noise_of_a_period() {
        let all = imported(include_str!("samples/rtla-osnoise-top.txt"));
        let document = &all[0].document;
        assert_eq!(document.run.probe, "osnoise-period");
        let of = document.threads[1].latency_ns.unwrap();
        assert_eq!((of.count, of.max), (59, 6_251_000));
        assert!((of.mean - 204_935_000.0 / 59.0).abs() < 1.0);
        assert_eq!(says(document, "Max Single"), "thread 0: 56, thread 1: 33");
        assert_eq!(says(document, "Thread"), "thread 0: 13, thread 1: 12");
        let all = imported(include_str!("samples/rtla-hwnoise.txt"));
        assert_eq!(all[0].document.run.probe, "hwnoise-period");
        assert_eq!(figures(&all[0].document)[1], (599, 0, 0.0, 0));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let wrong =
            TIMERLAT.replace("1 #12322     |        0         0", "1 #12322     |        0");
        assert_eq!(refused(&wrong), "line 11: the row is not as its headings say");
        let cut = include_str!("samples/rtla-osnoise-top.txt").replace("99.61405", "");
        assert_eq!(refused(&cut), "line 5: the row is not as its headings say");
        let without = TIMERLAT.replace("CPU COUNT", "CPU");
        assert_eq!(refused(&without), "line 3: the table has no headings");
    }
}
