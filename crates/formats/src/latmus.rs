// SPDX-License-Identifier: MIT OR Apache-2.0
//! EVL's `latmus`: its table, which has the form of Xenomai's, and the file of `-g`.

use super::latency_table::{Cells, LatencyTable, is_time, program};
use super::numbers::{decimal, mean, whole};
use super::{Import, ImportError, Lines, Output, Program};
use plan::{CpuId, Nanos};

static UNSAID: Program = program(
    "latmus",
    "from the planned time of a period until what latmus measures there, which is not said",
);

/// What latmus measures, by the name that it prints.
static CONTEXTS: [(&str, Program); 6] = [
    (
        "user",
        program(
            "latmus-user",
            "from the planned time of a period until the user-space thread of latmus has read the \
             clock",
        ),
    ),
    (
        "kernel",
        program(
            "latmus-kernel",
            "from the planned time of a period until latmus' thread in the kernel has read the \
             clock",
        ),
    ),
    (
        "irq",
        program(
            "latmus-irq",
            "from the planned time of a period until the interrupt handler of latmus has read the \
             clock",
        ),
    ),
    (
        "sirq",
        program(
            "latmus-sirq",
            "from the planned time of a period until latmus' synthetic interrupt has read the \
             clock",
        ),
    ),
    (
        "oob-gpio",
        program(
            "latmus-oob-gpio",
            "from a pulse of another machine until it sees the answer of an out-of-band thread",
        ),
    ),
    (
        "inband-gpio",
        program(
            "latmus-inband-gpio",
            "from a pulse of another machine until it sees the answer of an in-band thread",
        ),
    ),
];

fn of_context(context: &str) -> Option<&'static Program> {
    let is_it = |(name, _): &&(&str, Program)| {
        *name == context || context.strip_prefix("oob-").is_some_and(|rest| rest == *name)
    };
    CONTEXTS.iter().find(is_it).map(|(_, program)| program)
}

/// The line above each page of the table: `(user, 1000 us period, priority 98, CPU0-noisol)`.
fn page(line: &str) -> Option<Vec<&str>> {
    let (time, rest) = line.trim().strip_prefix("RTT|")?.trim().split_once(char::is_whitespace)?;
    let parts: Vec<&str> =
        rest.trim().strip_prefix('(')?.strip_suffix(')')?.split(", ").take(8).collect();
    of_context(parts[0])?;
    (is_time(time) && parts.get(1)?.ends_with(" us period")).then_some(parts)
}

/// The CPU of `CPU0-noisol`, and what is said of it.
fn cpu(text: &str) -> Option<(CpuId, &str)> {
    let digits = text.strip_prefix("CPU")?;
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    Some((CpuId(digits[..end].parse().ok()?), digits[end..].trim()))
}

/// What latmus prints before anything else, with the CPU that it measures on.
fn first_line(line: &str) -> Option<(CpuId, &str)> {
    let behind = match line.trim().strip_prefix("warming up on ") {
        Some(behind) => behind,
        None => line.trim().strip_prefix("running quietly for ")?.split_once(" seconds on ")?.1,
    };
    cpu(behind.trim_end_matches('.'))
}

fn is_plot(line: &str) -> bool {
    line.starts_with("# test started on: ")
}

/// Whether an output of latmus begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    let knows_period = |line: &&str| line.starts_with("# sampling period: ");
    first_line(first).is_some()
        || page(first).is_some()
        || (is_plot(first) && lines.iter().any(knows_period))
        || (first.starts_with("# libevl version: ") && lines.iter().any(knows_period))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let begin = lines.number();
    let mut output = import.output(&UNSAID, begin);
    output.command_line = import.command("latmus", begin).unwrap_or_default();
    let mut table = LatencyTable::default();
    let (mut cells, mut has_plot) = (Cells::of(1_000), false);
    while let Some(line) = lines.peek()? {
        if first_line(line).is_some() {
            if !table.is_empty() {
                break;
            }
            said_of_cpu(first_line(line), &mut output)?;
            lines.advance();
        } else if let Some(parts) = page(line) {
            if table.is_complete() {
                break;
            }
            let parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
            said_of_page(&parts, table.seconds == 0, &mut output)?;
            lines.advance();
        } else if is_plot(line) || line.starts_with("# libevl version: ") {
            if has_plot {
                break;
            }
            has_plot = true;
            plot(lines, &mut output, &mut cells)?;
        } else if beside(line, &mut output) || line.trim().is_empty() {
            lines.advance();
        } else if !table.take(lines, &mut output, 1_000)? {
            break;
        }
    }
    if table.is_empty() && !has_plot {
        return Ok(());
    }
    table.put(&mut output)?;
    if cells.is_empty() {
        table.count(&mut output, Some(1_000_000_000));
    } else {
        let folded = cells.put(output.thread(0)?).map_err(|why| ImportError::at(begin, why))?;
        if folded {
            let what = "counts latencies without their sign: negative ones are among them";
            output.say("histogram", what);
        }
    }
    import.add(output)
}

fn said_of_cpu(of: Option<(CpuId, &str)>, output: &mut Output) -> Result<(), ImportError> {
    if let Some((cpu, what)) = of {
        output.thread(0)?.cpu = Some(cpu);
        if !what.is_empty() {
            output.say(&format!("CPU{cpu}"), what.trim_matches(['(', ')', '-']));
        }
    }
    Ok(())
}

fn said_of_page(parts: &[String], is_first: bool, output: &mut Output) -> Result<(), ImportError> {
    for part in parts {
        if let Some(context) = of_context(part) {
            output.program = context;
        } else if let Some(period) = part.strip_suffix(" us period") {
            output.interval = decimal(period, 1_000).map(Nanos);
        } else if let Some(priority) = part.strip_prefix("priority ").filter(|_| is_first) {
            output.say("priority", priority);
        } else if let Some((id, _)) = cpu(part) {
            output.thread(0)?.cpu = Some(id);
        }
    }
    Ok(())
}

/// Lines beside the table. What they say is kept.
fn beside(line: &str, output: &mut Output) -> bool {
    let text = line.trim();
    for what in ["*** WARNING", "*** OOPS", "CAUTION"] {
        if let Some(text) = text.strip_prefix(what).and_then(|rest| rest.strip_prefix(':')) {
            output.say(what.trim_start_matches(['*', ' ']), text);
            return true;
        }
    }
    if text.starts_with("latency threshold is exceeded") || text.starts_with("results look weird") {
        output.say("aborted", text);
        return true;
    }
    text == "latency figures displayed are NOT reliable."
        || text == "Please submit a bug report upstream."
        || text.starts_with("connecting to latmon at ")
}

/// Reads the file of `-g`: what is said of the run, and a row for each cell of 1 us.
fn plot(lines: &mut Lines<'_>, output: &mut Output, cells: &mut Cells) -> Result<(), ImportError> {
    while let Some(line) = lines.peek()?.and_then(|line| line.strip_prefix("# ")) {
        let line = line.trim().to_owned();
        if !about(&line, output)? {
            return Err(lines.error("the line of the file for gnuplot is damaged"));
        }
        lines.advance();
    }
    while let Some((cell, count)) = lines.peek()?.and_then(|line| line.trim().split_once(' ')) {
        let (cell, is_last) = match cell.strip_suffix('+') {
            Some(cell) => (cell, true),
            None => (cell, false),
        };
        let Some((cell, count)) = decimal(cell, 1).zip(whole(count)) else { break };
        cells.add(cell, count).map_err(|why| lines.error(why))?;
        lines.advance();
        if is_last {
            cells.has_more = true;
            break;
        }
    }
    if cells.is_empty() {
        return Err(lines.error("the file for gnuplot has no rows"));
    }
    Ok(())
}

fn about(line: &str, output: &mut Output) -> Result<bool, ImportError> {
    if line.starts_with("Linux version ") {
        output.host.kernel = line.split(' ').nth(2).map(str::to_owned);
        output.host.kernel_version = line.find(" #").map(|at| line[at + 1..].to_owned());
        return Ok(true);
    }
    let Some((key, value)) = line.split_once(": ") else {
        if line == "C-state restricted" {
            output.say("C-state", "restricted");
        } else if output.host.kernel.is_some() && output.host.kernel_command_line.is_none() {
            output.host.kernel_command_line = Some(line.to_owned());
        }
        return Ok(true);
    };
    let is_of_period = key == "sampling period";
    let period = value.strip_suffix(" microseconds").and_then(|us| decimal(us, 1_000));
    let thread = output.thread(0)?;
    let stated = &mut thread.stated;
    let is_number = match key {
        "min latency" => decimal(value, 1_000).inspect(|ns| stated.min = Some(*ns)).is_some(),
        "avg latency" => mean(value, 1_000).inspect(|ns| stated.mean = Some(*ns)).is_some(),
        "max latency" => decimal(value, 1_000).inspect(|ns| stated.max = Some(*ns)).is_some(),
        "sample count" => whole(value).inspect(|count| stated.count = Some(*count)).is_some(),
        "sampling period" => period.is_some(),
        _ => true,
    };
    match key {
        "test started on" => output.started_at = Some(value.to_owned()),
        "libevl version" => {
            output.version = value.split_whitespace().next().map(str::to_owned);
        }
        "clocksource" => output.host.clocksource = Some(value.to_owned()),
        "context" => output.program = of_context(value).unwrap_or(output.program),
        "thread affinity" => said_of_cpu(cpu(value), output)?,
        "min latency" | "avg latency" | "max latency" | "sample count" => {}
        _ if is_of_period => output.interval = period.map(Nanos),
        _ if output.host.kernel.is_some()
            && output.host.kernel_command_line.is_none()
            && key.contains('=') =>
        {
            output.host.kernel_command_line = Some(line.to_owned());
        }
        _ => output.say(key, value),
    }
    Ok(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{imported, refused};
    use model::Unknown;

    const TEXT: &str = "\
warming up on CPU0 (not isolated)...
RTT|  00:00:01  (user, 1000 us period, priority 98, CPU0-noisol)
RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst
RTD|     12.440|     12.944|     14.160|       0|     0|     12.440|     14.160
RTD|     12.408|     12.943|     25.160|       0|     0|     12.408|     25.160
---|-----------|-----------|-----------|--------|------|-------------------------
RTS|     12.408|     12.944|     25.160|       0|     0|    00:00:06/00:00:06
";

    const PLOT: &str = "\
# test started on: Fri Nov 20 09:02:16 2026
# Linux version 5.13.0 (root@build) (gcc 12.2.0) #2 SMP PREEMPT IRQPIPE Fri Nov 20 2026
# console=ttyS0 isolcpus=1
# libevl version: evl.28 -- #a1b2c3d (2021-07-01 10:00:00 +0200)
# sampling period: 1000 microseconds
# clock gravity: 2500i 3500k 4500u
# clocksource: tsc
# vDSO access: architected
# context: user
# thread priority: 98
# thread affinity: CPU1-noisol
# C-state restricted
# duration (hhmmss): 00:01:00
# peak (hhmmss): 00:00:17
# OVERRUNS: 2
# IN-BAND SWITCHES: 1
# min latency: 0.408
# avg latency: 1.944
# max latency: 225.160
# sample count: 10006
0 10
1 9000
2 993
199+ 3
";

    #[test]
    fn a_table() {
        let all = imported(TEXT);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (2_000, 12_408, 12_944.0, 25_160));
        assert_eq!(document.run.probe, "latmus-user");
        assert_eq!((document.threads[0].cpu, document.threads[0].pinned), (CpuId(0), true));
        assert_eq!(document.run.interval_ns, Nanos(1_000_000));
        assert!(document.imported.as_ref().unwrap().lacks(Unknown::Count));
        // Without a page what it measures is not said.
        let (_, end) = TEXT.split_at(TEXT.find("---|").unwrap());
        let quiet = format!("running quietly for 6 seconds on CPU0\n{end}");
        assert_eq!(imported(&quiet)[0].document.run.probe, "latmus");
    }

    #[test]
    fn a_file_for_gnuplot() {
        let all = imported(PLOT);
        let document = &all[0].document;
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (10_006, 408, 1_944.0, 225_160));
        let buckets = document.threads[0].histogram_ns.buckets.iter();
        let buckets: Vec<(i64, i64, u64)> =
            buckets.map(|bucket| (bucket.lower, bucket.upper, bucket.count)).collect();
        assert_eq!(
            buckets,
            [(408, 999, 10), (1_000, 1_999, 9_000), (2_000, 2_999, 993), (199_000, 225_160, 3)]
        );
        assert_eq!(document.warnings, []);
        assert_eq!(document.threads[0].cpu, CpuId(1));
        assert_eq!(document.host.before.kernel.as_deref(), Some("5.13.0"));
        assert_eq!(
            document.host.before.kernel_command_line.as_deref(),
            Some("console=ttyS0 isolcpus=1")
        );
        assert_eq!(document.host.before.clocksource.as_deref(), Some("tsc"));
        let source = document.imported.as_ref().unwrap();
        assert_eq!(source.version.as_deref(), Some("evl.28"));
        let said: Vec<&str> = source.says.iter().map(|said| said.what.as_str()).collect();
        assert!(said.contains(&"OVERRUNS") && said.contains(&"IN-BAND SWITCHES"), "{said:?}");
    }

    /// As `-g` without a name does: the file stands before the last line of the table.
    #[test]
    fn a_file_for_gnuplot_within_the_table() {
        let (above, below) = TEXT.split_at(TEXT.find("---|").unwrap());
        let plot = PLOT.replace("0.408", "12.408").replace("1.944", "12.944");
        let plot = plot.replace("225.160", "25.160").split_once("0 10\n").unwrap().0.to_owned();
        let all = imported(&format!("{above}{plot}12 10005\n25 1\n{below}"));
        assert_eq!(all.len(), 1);
        let of = all[0].document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.max), (10_006, 12_408, 25_160));
        assert_eq!(all[0].document.warnings, []);
    }

    #[test]
    fn contexts_are_measured_elsewhere() {
        for (context, probe) in [
            ("irq", "latmus-irq"),
            ("sirq", "latmus-sirq"),
            ("oob-kernel", "latmus-kernel"),
            ("oob-gpio", "latmus-oob-gpio"),
        ] {
            let text = TEXT.replace("(user,", &format!("({context},"));
            assert_eq!(imported(&text)[0].document.run.probe, probe);
        }
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let damaged = PLOT.replace("sample count: 10006", "sample count: many");
        assert_eq!(refused(&damaged), "line 20: the line of the file for gnuplot is damaged");
        let damaged = PLOT.replace("2 993", "1 993");
        assert_eq!(refused(&damaged), "line 23: the cell does not follow the one above");
        let cut = PLOT.split_once("0 10").unwrap().0;
        assert_eq!(refused(cut), "line 21: the file for gnuplot has no rows");
    }
}
