// SPDX-License-Identifier: MIT OR Apache-2.0
//! Xenomai's `latency`: its table, the histograms of `-h`, the figures of `-s`, and the file of
//! `-g`, which belongs to the run whose text it stands behind.

use super::latency_table::{Cells, LatencyTable, fields, is_heading, is_time, program};
use super::numbers::{decimal, mean, whole};
use super::{Import, ImportError, Lines, Output, Program, Stated};
use plan::Nanos;

static USER_TASK: Program = program(
    "xenomai-latency",
    "from the planned time of a period until the user-space thread of latency has read the clock",
);
static KERNEL_TASK: Program = program(
    "xenomai-latency-kernel",
    "from the planned time of a period until latency's thread in the kernel has read the clock",
);
static TIMER_HANDLER: Program = program(
    "xenomai-latency-handler",
    "from the planned time of a period until latency's timer handler in the kernel has read the \
     clock",
);
static UNSAID: Program = program(
    "latency-table",
    "from the planned time of a period until what the program measures there, which is not said",
);

/// What `latency -t` measures, by the name that it prints.
fn of_mode(mode: &str) -> Option<&'static Program> {
    Some(match mode.trim() {
        "periodic user-mode task" => &USER_TASK,
        "in-kernel periodic task" => &KERNEL_TASK,
        "in-kernel timer handler" => &TIMER_HANDLER,
        _ => return None,
    })
}

/// The line above each page of the table.
struct PageLine<'l> {
    mode: &'static Program,
    period_ns: i64,
    priority: &'l str,
}

impl<'l> PageLine<'l> {
    /// `(periodic user-mode task, 1000 us period, priority 99)`, behind the time.
    fn parse(text: &'l str) -> Option<PageLine<'l>> {
        let (time, rest) = text.trim().split_once(char::is_whitespace)?;
        let mut parts = rest.trim().strip_prefix('(')?.strip_suffix(')')?.split(", ");
        let mode = of_mode(parts.next()?)?;
        let period = parts.next()?.strip_suffix(" us period")?;
        let priority = parts.next().and_then(|part| part.strip_prefix("priority "));
        is_time(time).then_some(PageLine {
            mode,
            period_ns: decimal(period, 1_000)?,
            priority: priority.unwrap_or_default(),
        })
    }

    fn of_text(line: &'l str) -> Option<PageLine<'l>> {
        PageLine::parse(line.trim_start().strip_prefix("RTT|")?)
    }

    fn of_plot(line: &'l str) -> Option<PageLine<'l>> {
        PageLine::parse(line.strip_prefix("# ")?)
    }
}

/// Whether an output of latency begins here. A table without any line that says whose it is is
/// taken too: its unit has to be said.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    first.starts_with("== Sampling period: ")
        || first.strip_prefix("== Test mode: ").is_some_and(|mode| of_mode(mode).is_some())
        || PageLine::of_text(first).is_some()
        || PageLine::of_plot(first).is_some()
        || (is_heading(first) && lines[1..].iter().any(|line| fields(line, "RTD").is_some()))
}

/// One run, as far as it was read.
#[derive(Default)]
struct Reading {
    table: LatencyTable,
    cells: Cells,
    mode: Option<&'static Program>,
    period_ns: Option<i64>,
    /// Of the file for gnuplot.
    has_plot: bool,
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let begin = lines.number();
    let is_bare = lines.peek()?.is_some_and(is_heading);
    if is_bare && import.is_unit_open() {
        return Err(lines.error(
            "the table does not say of which program it is, and of some it is in us, of others in \
             ns: say the unit with --unit",
        ));
    }
    let unit_ns = if is_bare { import.unit_ns(1_000) } else { 1_000 };
    let mut output = import.output(if is_bare { &UNSAID } else { &USER_TASK }, begin);
    let command = import.command("latency", begin);
    let command = command.filter(|words| words.get(1).is_some_and(|word| word.starts_with('-')));
    output.command_line = command.unwrap_or_default();
    let mut run = Reading::default();
    while let Some(line) = lines.peek()? {
        if run.table.is_complete() && begins_again(line) {
            break;
        }
        if PageLine::of_plot(line).is_some() {
            if run.has_plot || !plot(lines, &mut run, &mut output)? {
                break;
            }
        } else if run.take(line, &mut output).map_err(|why| lines.error(why))? {
            lines.advance();
        } else if !run.table.take(lines, &mut output, unit_ns)? {
            // What the kernel or the program says meanwhile, in a log.
            let ahead = [1, 2, 3];
            let mut goes_on = false;
            for behind in ahead {
                goes_on |= lines.peek_behind(behind)?.is_some_and(is_of_table);
            }
            if run.table.is_complete() || !goes_on {
                break;
            }
            if let Some(line) = lines.take()? {
                output.say("line in between", &line);
            }
        }
    }
    if let Some(mode) = run.mode {
        output.program = mode;
    }
    output.interval = run.period_ns.map(Nanos);
    if run.table.is_empty() && !run.has_plot {
        // Only what it prints before it measures.
        return if run.cells.is_empty() {
            Ok(())
        } else {
            Err(lines.error("there is no RTS line"))
        };
    }
    run.table.put(&mut output)?;
    run.put_cells(&mut output).map_err(|why| ImportError::at(begin, why))?;
    if run.cells.is_empty() {
        run.table.count(&mut output, Some(1_000_000_000));
    }
    import.add(output)
}

/// Whether a further run begins, after one whose table has ended.
fn begins_again(line: &str) -> bool {
    line.starts_with("== ") || PageLine::of_text(line).is_some() || is_heading(line)
}

fn is_of_table(line: &str) -> bool {
    let line = line.trim_start();
    ["RTD|", "RTH|", "RTT|", "RTS|", "HSD|", "HSS|", "---|"].iter().any(|tag| line.starts_with(tag))
}

impl Reading {
    /// Takes a line beside the table.
    fn take(&mut self, line: &str, output: &mut Output) -> Result<bool, String> {
        let text = line.trim();
        if let Some(period) = text.strip_prefix("== Sampling period: ") {
            let period = period.strip_suffix(" us").and_then(|us| decimal(us, 1_000));
            self.period_ns = Some(period.ok_or("the sampling period is no number of us")?);
        } else if let Some(mode) = text.strip_prefix("== Test mode: ") {
            self.mode = Some(of_mode(mode).ok_or("the test mode is none of latency's")?);
        } else if let Some(unit) = text.strip_prefix("== All results in ") {
            if unit != "microseconds" {
                return Err(format!("results in {unit} are not read"));
            }
        } else if let Some(page) = PageLine::of_text(text) {
            self.page(&page, output);
        } else if let Some(fields) = fields(text, "HSD") {
            self.cell(&fields)?;
        } else if let Some(fields) = fields(text, "HSS") {
            output.say("HSS", text);
            if let ["avg", count, ..] = fields[..] {
                let count = whole(count).ok_or("the number of samples (HSS) is none")?;
                let thread = output.thread(0).map_err(|error| error.to_string())?;
                thread.stated.count = Some(count).filter(|count| *count > 0);
            }
        } else if let Some(what) = text.strip_prefix("Maximum latency exceeded:") {
            output.say("Maximum latency exceeded", what);
        } else if let Some(what) = text.strip_prefix("Warning! ") {
            output.say("Warning", what);
        } else {
            return Ok(text.is_empty()
                || text.starts_with("HSH|")
                || text.starts_with("warming up...")
                || text.starts_with("running quietly for ")
                || text.starts_with("Please contact xenomai"));
        }
        Ok(true)
    }

    fn page(&mut self, page: &PageLine<'_>, output: &mut Output) {
        let is_first = self.mode.is_none() || self.table.seconds == 0;
        if let Some(period) = self.period_ns.filter(|period| *period != page.period_ns) {
            output.contradiction("period, ns", period, page.period_ns);
        }
        self.mode = Some(page.mode);
        self.period_ns = Some(page.period_ns);
        if is_first && !page.priority.is_empty() {
            output.say("priority", page.priority);
        }
    }

    /// `avg|  15 - 16 |     4990`: of the histograms of each second's smallest and largest nothing
    /// is kept.
    fn cell(&mut self, fields: &[&str]) -> Result<(), String> {
        let cell = match fields {
            ["min" | "max", ..] => return Ok(()),
            ["avg", range, count] => range.split_once('-').and_then(|(from, to)| {
                let (from, to) = (decimal(from, 1)?, decimal(to, 1)?);
                (from >= 0 && from.checked_add(1) == Some(to)).then_some((from, whole(count)?))
            }),
            _ => None,
        };
        let (cell, count) = cell.ok_or("the cell of the histogram (HSD) is damaged")?;
        self.cells.add(cell, count).map_err(str::to_owned)
    }

    /// Puts the histogram beside the figures.
    fn put_cells(&mut self, output: &mut Output) -> Result<(), String> {
        if self.cells.is_empty() {
            return Ok(());
        }
        if self.cells.width_ns == 0 {
            self.cells.width_ns = width_of(&output.command_line).unwrap_or(1_000);
        }
        let thread = output.thread(0).map_err(|error| error.to_string())?;
        if !self.cells.fit(&thread.stated) {
            let width = self.cells.width_ns;
            return Err(format!(
                "cells of {width} ns do not come to the figures of RTS: their width (-B) has to \
                 stand in latency's command line, just above its output"
            ));
        }
        if self.cells.put(thread).map_err(str::to_owned)? {
            output.say("HSD", "counts latencies without their sign: negative ones are among them");
        }
        Ok(())
    }
}

/// The width of cells that a command line asks for, ns.
fn width_of(words: &[String]) -> Option<i64> {
    let at = words.iter().position(|word| word.starts_with("-B"))?;
    let value = match words[at].strip_prefix("-B")? {
        "" => words.get(at + 1)?,
        value => value,
    };
    decimal(value, 1).filter(|width| *width > 0)
}

/// Reads the file for gnuplot: if its figures are others than those of the text above, it is none
/// of that run.
fn plot(
    lines: &mut Lines<'_>,
    run: &mut Reading,
    output: &mut Output,
) -> Result<bool, ImportError> {
    // Nothing is taken before it is known whose the figures are.
    let mut head = [const { String::new() }; 3];
    for (behind, line) in head.iter_mut().enumerate() {
        lines.peek_behind(behind)?.unwrap_or_default().clone_into(line);
    }
    let Some(page) = PageLine::of_plot(&head[0]) else { return Ok(false) };
    let Some((stated, counts)) = plot_figures(&head[1], &head[2]) else {
        return Err(lines.error("the figures of the file for gnuplot are damaged"));
    };
    if run.table.is_complete() && !run.table.states(&stated) {
        return Ok(false);
    }
    run.page(&page, output);
    if run.table.is_empty() {
        output.thread(0)?.stated = stated;
        output.say("duration", head[0][2..].split(' ').next().unwrap_or_default());
        for (name, count) in ["overrun", "msw"].iter().zip(counts) {
            output.say(name, count);
        }
    }
    run.has_plot = true;
    for _ in &head {
        lines.advance();
    }
    while let Some(line) = lines.peek()?.and_then(|line| line.strip_prefix('#')) {
        about(line.trim(), output);
        lines.advance();
    }
    rows(lines, run, output)?;
    Ok(true)
}

/// The figures of the file for gnuplot, and what it counts.
fn plot_figures<'l>(names: &str, values: &'l str) -> Option<(Stated, Vec<&'l str>)> {
    names.strip_prefix("# ")?.trim_start().strip_prefix("----lat min|")?;
    let fields = values.strip_prefix("# ")?.split('|').map(str::trim).collect::<Vec<_>>();
    let [min, of_all, max, counts @ ..] = &fields[..] else { return None };
    let stated = Stated {
        min: Some(decimal(min, 1_000)?),
        mean: Some(mean(of_all, 1_000)?),
        max: Some(decimal(max, 1_000)?),
        ..Stated::default()
    };
    Some((stated, counts.to_vec()))
}

/// What `xeno-config --info` says.
fn about(line: &str, output: &mut Output) {
    if let Some(version) = line.strip_prefix("Xenomai version: ") {
        output.version = Some(version.rsplit('v').next().unwrap_or(version).to_owned());
    } else if let Some(arguments) = line.strip_prefix("Kernel parameters: ") {
        output.host.kernel_command_line = Some(arguments.to_owned());
    } else if let Some(uname) = line.strip_prefix("Linux ") {
        let words: Vec<&str> = uname.split_whitespace().collect();
        if let [name, release, version @ .., machine, _] = &words[..] {
            output.host.hostname = Some((*name).to_owned());
            output.host.kernel = Some((*release).to_owned());
            output.host.kernel_version = Some(version.join(" "));
            output.host.architecture = (*machine).to_owned();
        }
    } else if let Some((what, text)) = line.split_once(": ") {
        output.say(what, text);
    } else {
        output.say("Xenomai", line);
    }
}

/// Reads the rows: middle and count of each cell between two edges of the first and the last one.
/// Each count is one too high, for a logarithmic scale, and edges have a count of 1.
fn rows(lines: &mut Lines<'_>, run: &mut Reading, output: &mut Output) -> Result<(), ImportError> {
    let begin = lines.number();
    let mut rows: Vec<(i64, u64)> = Vec::new();
    while let Some(row) = lines.peek()?.and_then(|line| {
        let (middle, count) = line.trim().split_once(' ')?;
        Some((mean(middle, 1_000).filter(|ns| ns.abs() < 1e15)?.round(), whole(count)?))
    }) {
        if rows.len() >= 1 << 20 {
            return Err(lines.error("no histogram has so many cells"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "below 2^53")]
        rows.push((row.0 as i64, row.1));
        lines.advance();
    }
    let [(from, 1), cells @ .., (to, 1)] = &rows[..] else {
        return Err(ImportError::at(begin, "the rows for gnuplot have not both their edges"));
    };
    let Some(width) = i64::try_from(cells.len()).ok().and_then(|n| (to - from).checked_div(n))
    else {
        return Err(ImportError::at(begin, "the rows for gnuplot have no cell"));
    };
    let mut found = Cells::of(width);
    for (row, (middle, count)) in (begin + 1..).zip(cells) {
        let cell = middle.checked_div(width).unwrap_or(-1);
        let expected = from.checked_div(width).and_then(|first| {
            i64::try_from(row - begin - 1).ok().and_then(|steps| first.checked_add(steps))
        });
        if width <= 0 || *middle < 0 || Some(cell) != expected || *count == 0 {
            return Err(ImportError::at(row, "the row for gnuplot is not where its cell is"));
        }
        found.add(cell, count - 1).map_err(|why| ImportError::at(row, why))?;
    }
    if run.cells.is_empty() {
        run.cells = found;
        return Ok(());
    }
    run.cells.width_ns = width;
    if run.cells.total() != found.total() {
        output.contradiction("HSD avg", run.cells.total(), found.total());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportOptions;
    use crate::tests::{imported, of_file, refused};
    use model::{Recorded, Unknown};

    const T0: &str = include_str!("samples/xenomai-latency.txt");
    const QUIET: &str = include_str!("samples/xenomai-latency-quiet.txt");
    const HISTOGRAM: &str = include_str!("samples/xenomai-latency-histogram.txt");
    const GNUPLOT: &str = include_str!("samples/xenomai-latency-gnuplot.txt");
    const MARKDOWN: &str = include_str!("samples/xenomai-latency-in-markdown.md");

    fn figures(recorded: &Recorded) -> (u64, i64, f64, i64) {
        let of = recorded.document.threads[0].latency_ns.unwrap();
        (of.count, of.min, of.mean, of.max)
    }

    fn only(text: &str) -> Recorded {
        let mut all = imported(text);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    fn says(recorded: &Recorded, what: &str) -> Vec<String> {
        let imported = recorded.document.imported.as_ref().unwrap();
        let said = imported.says.iter().filter(|said| said.what == what);
        said.map(|said| said.text.clone()).collect()
    }

    fn buckets(recorded: &Recorded) -> Vec<(i64, i64, u64)> {
        let buckets = &recorded.document.threads[0].histogram_ns.buckets;
        buckets.iter().map(|bucket| (bucket.lower, bucket.upper, bucket.count)).collect()
    }

    #[test]
    fn a_table_states_its_figures_and_the_least_number_of_samples() {
        let one = only(T0);
        assert_eq!(figures(&one), (11_000, 15_312, 16_406.0, 17_088));
        let document = &one.document;
        assert_eq!(document.run.probe, "xenomai-latency");
        assert_eq!(document.run.interval_ns, Nanos(1_000_000));
        let source = document.imported.as_ref().unwrap();
        assert_eq!(
            source.unknown,
            [Unknown::Scheduling, Unknown::Start, Unknown::Load, Unknown::Count]
        );
        assert_eq!(says(&one, "priority"), ["99"]);
        assert_eq!(
            (says(&one, "overrun"), says(&one, "msw")),
            (vec!["0".into()], vec!["0".into()])
        );
        assert_eq!(says(&one, "duration"), ["00:00:12/00:00:12"]);
        assert_eq!(document.warnings, []);
        let quiet = only(QUIET);
        assert_eq!(figures(&quiet), (2, 15_840, 16_406.0, 16_656));
    }

    #[test]
    fn a_histogram_is_of_cells() {
        let one = only(HISTOGRAM);
        assert_eq!(figures(&one), (4_994, 15_248, 16_405.0, 17_080));
        assert_eq!(
            buckets(&one),
            [(15_248, 15_999, 3), (16_000, 16_999, 4_990), (17_000, 17_080, 1)]
        );
        assert_eq!(one.document.warnings, []);
        assert!(says(&one, "HSS")[1].contains("4994"));
    }

    #[test]
    fn the_file_for_gnuplot_belongs_to_the_text_above_it() {
        let one = only(GNUPLOT);
        // As the rows say without what is added to them: 3 - 1, 4990 - 1 and 2 - 1.
        assert_eq!(figures(&one), (4_992, 15_888, 16_406.0, 17_088));
        assert_eq!(
            buckets(&one),
            [(15_888, 15_999, 2), (16_000, 16_999, 4_989), (17_000, 17_088, 1)]
        );
        let document = &one.document;
        assert_eq!(document.warnings, []);
        assert_eq!(document.host.before.kernel.as_deref(), Some("5.13.0"));
        assert_eq!(document.host.before.architecture, "x86_64");
        assert_eq!(document.imported.as_ref().unwrap().version.as_deref(), Some("3.2.7"));
        let file = GNUPLOT.split_once("# 00:00:05").map(|(_, file)| format!("# 00:00:05{file}"));
        let alone = only(&file.unwrap());
        assert_eq!(figures(&alone), figures(&one));
        assert_eq!(alone.document.run.interval_ns, Nanos(1_000_000));
        assert_eq!(says(&alone, "duration"), ["00:00:05"]);
        // Of another run it is an output of its own.
        let two = imported(&GNUPLOT.replace("#      15.888", "#      15.887"));
        assert_eq!(two.len(), 2);
        assert_eq!(figures(&two[1]).1, 15_887);
    }

    #[test]
    fn in_markdown_below_its_command() {
        let one = only(MARKDOWN);
        assert_eq!(figures(&one), (59_997, 2_664, 4_779.0, 16_182));
        assert_eq!(one.document.command_line, ["latency", "-h", "-s", "-T", "6"]);
        assert_eq!(one.document.run.interval_ns, Nanos(100_000));
    }

    #[test]
    fn modes_are_measured_elsewhere_and_runs_are_apart() {
        let kernel = T0.replace("periodic user-mode task", "in-kernel timer handler");
        let all = imported(&format!("{T0}\n{kernel}"));
        let probes: Vec<&str> = all.iter().map(|one| one.document.run.probe.as_str()).collect();
        assert_eq!(probes, ["xenomai-latency", "xenomai-latency-handler"]);
    }

    #[test]
    fn negative_latencies_are_in_the_cells_of_others() {
        let text = HISTOGRAM
            .replace("15.248", "-0.248")
            .replace("HSD|    avg|  15 - 16 |        3", "HSD|    avg|   0 - 1  |        3");
        let one = only(&text);
        assert_eq!(figures(&one).1, -248);
        assert_eq!(buckets(&one)[0], (-248, 999, 3));
        assert_eq!(says(&one, "HSD").len(), 1);
    }

    #[test]
    fn cells_of_another_width_have_to_be_known() {
        let text = HISTOGRAM
            .replace("avg|  15 - 16", "avg|  30 - 31")
            .replace("avg|  16 - 17", "avg|  32 - 33")
            .replace("avg|  17 - 18", "avg|  34 - 35");
        assert!(refused(&text).starts_with("line 1: cells of 1000 ns do not come to"));
        let one = only(&format!("$ latency -h -B 500\n{text}"));
        assert_eq!(
            buckets(&one),
            [(15_248, 15_499, 3), (16_000, 16_499, 4_990), (17_000, 17_080, 1)]
        );
    }

    #[test]
    fn the_last_cell_holds_all_that_is_larger() {
        let one = only(&HISTOGRAM.replace("17.080", "317.080"));
        assert_eq!(buckets(&one)[2], (17_000, 317_080, 1));
    }

    #[test]
    fn lines_in_between_and_a_limit() {
        let mut text =
            T0.replacen("RTD|     16.000", "[   12.3] eth0: link up\nRTD|     16.000", 1);
        text = text.replace("rc 0", "Maximum latency exceeded:      17.088 > 17");
        let one = only(&text);
        assert_eq!(figures(&one).0, 11_000);
        assert_eq!(says(&one, "line in between"), ["[   12.3] eth0: link up"]);
        assert_eq!(says(&one, "Maximum latency exceeded"), ["17.088 > 17"]);
    }

    /// Those seconds that are there.
    #[test]
    fn a_table_that_was_cut_off() {
        let cut = T0.split_once("RTD|     16.304").unwrap().0;
        let one = only(cut);
        let (count, min, mean, max) = figures(&one);
        assert_eq!((count, min, max), (4_000, 15_960, 17_080));
        assert!((mean - 16_406.5).abs() < 1e-6, "{mean}");
        // The seconds of a line that was left out are in the best and the worst.
        let page = T0.split_once("RTT").map(|(_, rest)| format!("RTT{rest}")).unwrap();
        assert_eq!(figures(&only(&page)).0, 11_000);
    }

    #[test]
    fn the_table_of_an_older_version() {
        let text = "== Sampling period: 100 us\n== Test mode: periodic user-mode task\n\
                    == All results in microseconds\nwarming up...\n\
                    RTT|  00:00:01  (periodic user-mode task, 100 us period, priority 99)\n\
                    RTH|-----lat min|-----lat avg|-----lat max|-overrun|---lat best|--lat worst\n\
                    RTD|      -1.203|      -0.961|       1.203|       3|     -1.203|      1.203\n\
                    ---|------------|------------|------------|--------|---------------------\n\
                    RTS|      -1.203|      -0.961|       1.203|       3|    00:00:01/00:00:01\n";
        let one = only(text);
        assert_eq!(figures(&one), (10_000, -1_203, -961.0, 1_203));
        assert_eq!(says(&one, "overrun"), ["3"]);
        assert_eq!(says(&one, "msw"), Vec::<String>::new());
    }

    #[test]
    fn what_the_lines_contradict_is_a_warning() {
        let one = only(&T0.replace("RTS|     15.312", "RTS|     15.960"));
        let warnings = format!("{:?}", one.document.warnings);
        assert!(warnings.contains("RTS: lat min"), "{warnings}");
        assert_eq!(one.document.warnings.len(), 1);
    }

    #[test]
    fn a_table_of_no_known_program_needs_its_unit() {
        let bare = T0.split_once("RTH").map(|(_, rest)| format!("RTH{rest}")).unwrap();
        assert!(
            refused(&bare).starts_with("line 1: the table does not say of which program it is")
        );
        let options = ImportOptions { unit_ns: Some(1_000), ..ImportOptions::default() };
        let one = of_file(bare.as_bytes(), options).unwrap().remove(0);
        assert_eq!(one.document.run.probe, "latency-table");
        assert_eq!(figures(&one), (2, 15_312, 16_406.0, 17_088));
        let switches = "RTH|---------cpu|ctx switches|-------total\n\
                        RTD|           0|         100|         100\n";
        assert_eq!(refused(switches), "no output of a known format is in it");
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let damaged = T0.replacen("RTD|     16.000|     16.407|", "RTD|     16.000|", 1);
        assert_eq!(
            refused(&damaged),
            "line 8: the line of a second (RTD) is not as its heading (RTH)"
        );
        let damaged = HISTOGRAM.replace("avg|  16 - 17", "avg|  16 - 19");
        assert_eq!(refused(&damaged), "line 16: the cell of the histogram (HSD) is damaged");
        let damaged = GNUPLOT.replace("16.5 4990", "19.5 4990");
        assert_eq!(refused(&damaged), "line 28: the row for gnuplot is not where its cell is");
        let damaged = T0.replace("RTS|     15.312", "RTS|     15.3x2");
        assert_eq!(refused(&damaged), "line 19: the line of all seconds (RTS) is damaged");
    }
}
