// SPDX-License-Identifier: MIT OR Apache-2.0
//! RTAI's test programs `latency` and `preempt`, in the kernel and in user space. They print ns in
//! a table of the form of Xenomai's, which prints us.

use super::latency_table::{LatencyTable, is_heading, is_time, program};
use super::numbers::decimal;
use super::{Import, ImportError, Lines, Output, Program};
use plan::Nanos;

const IN_KERNEL: &str =
    "from the planned time of a period until RTAI's task in the kernel has read the clock";
const IN_USER_SPACE: &str =
    "from the planned time of a period until RTAI's user-space task has read the clock";

static LATENCY_IN_KERNEL: Program = program("rtai-latency-kernel", IN_KERNEL);
static LATENCY: Program = program("rtai-latency", IN_USER_SPACE);
static PREEMPT_IN_KERNEL: Program = program("rtai-preempt-kernel", IN_KERNEL);
static PREEMPT: Program = program("rtai-preempt", IN_USER_SPACE);

/// The line that says what is measured where, and in which unit.
fn banner(line: &str) -> Option<(&'static Program, i64)> {
    let rest = line.trim().strip_prefix("RTAI Testsuite - ")?;
    let (what, unit) = rest.strip_suffix(')')?.split_once(" (all data in ")?;
    let program = match what.split_whitespace().collect::<Vec<_>>()[..] {
        ["KERNEL", .., "latency"] => &LATENCY_IN_KERNEL,
        ["USER" | "LXRT", .., "latency"] => &LATENCY,
        ["UP" | "KERNEL", .., "preempt"] => &PREEMPT_IN_KERNEL,
        ["USER" | "LXRT", .., "preempt"] => &PREEMPT,
        _ => return None,
    };
    let unit_ns = match unit {
        "nanoseconds" => 1,
        "microseconds" => 1_000,
        _ => return None,
    };
    Some((program, unit_ns))
}

/// Whether an output of RTAI begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    banner(first).is_some() || first.trim().starts_with("## RTAI latency calibration tool")
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&LATENCY, lines.number());
    let mut table = LatencyTable::default();
    let (mut unit_ns, mut each_ns) = (None, None);
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        if let Some((program, unit)) = banner(line) {
            if unit_ns.is_some() {
                break;
            }
            (output.program, unit_ns) = (program, Some(unit));
            lines.advance();
        } else if unit_ns.is_none() && is_heading(line) {
            return Err(lines.error("the line that says the unit (RTAI Testsuite) is missing"));
        } else if text.starts_with("## RTAI latency calibration tool") && !table.is_empty() {
            break;
        } else if text.starts_with(['#', '*']) {
            about(text, &mut output, &mut each_ns);
            lines.advance();
        } else if is_date(text) {
            output.started_at.get_or_insert_with(|| text.to_owned());
            lines.advance();
        } else if text.is_empty() {
            lines.advance();
        } else if !table.take(lines, &mut output, unit_ns.unwrap_or(1))? {
            break;
        }
    }
    if table.is_empty() {
        return Ok(());
    }
    table.put(&mut output)?;
    table.count(&mut output, each_ns);
    import.add(output)
}

/// `2026/11/20 08:26:01`.
fn is_date(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(day, time)| {
        day.split('/').count() == 3
            && is_time(time)
            && text.bytes().all(|byte| byte.is_ascii_digit() || b"/: ".contains(&byte))
    })
}

/// The period, how long each line is of, and what else is said: `# period = 1000000 (ns)`.
fn about(text: &str, output: &mut Output, each_ns: &mut Option<i64>) {
    for part in text.trim_matches(['#', '*', ' ']).split(", ") {
        let Some((what, value)) = part.split_once(" = ") else {
            if !part.is_empty() && !part.contains("tool") {
                output.say("RTAI", part);
            }
            continue;
        };
        let number = value.split(' ').next().unwrap_or_default();
        let unit = if value.ends_with("(ns)") { 1 } else { 1_000_000_000 };
        let ns = decimal(number, unit).filter(|ns| *ns > 0);
        match what.trim() {
            "period" => output.interval = ns.map(Nanos),
            "avrgtime" | "average time" => *each_ns = ns,
            what => output.say(what, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{imported, refused};
    use model::Unknown;

    const USER: &str = "\
## RTAI latency calibration tool ##
# period = 1000000 (ns)
# average time = 1 (s)
# use the FPU
# timer_mode is oneshot

RTAI Testsuite - USER latency (all data in nanoseconds)
1999/11/30 00:03:40
RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns
RTD|     -20762|     -20762|      12879|      61300|      61300|          0
RTD|     -24175|     -24175|      13286|      63550|      63550|          0
RTD|     -22000|     -24175|      13288|      60000|      63550|          1
";

    #[test]
    fn latencies_are_ns_and_may_be_negative() {
        let all = imported(USER);
        assert_eq!(all.len(), 1);
        let document = &all[0].document;
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (3_000, -24_175, 13_151.0, 63_550));
        assert_eq!(document.run.probe, "rtai-latency");
        assert_eq!(document.run.interval_ns, Nanos(1_000_000));
        assert_eq!(document.started_at, "1999/11/30 00:03:40");
        let source = document.imported.as_ref().unwrap();
        assert!(source.lacks(Unknown::Count) && !source.lacks(Unknown::Interval));
        let said: Vec<(&str, &str)> =
            source.says.iter().map(|said| (said.what.as_str(), said.text.as_str())).collect();
        assert_eq!(
            said,
            [("RTAI", "use the FPU"), ("RTAI", "timer_mode is oneshot"), ("overruns", "1")]
        );
    }

    #[test]
    fn in_the_kernel_and_under_load() {
        let kernel = "RTAI Testsuite - KERNEL threads latency (all data in nanoseconds)\n\
                      \n*** latency verification tool with kernel threads ***\n\
                      ***    period = 100000 (ns),  avrgtime = 2 (s)    ***\n\n\
                      RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|  overruns\n\
                      RTD|         60|         60|        141|       1040|       1040|         0\n";
        let preempt = "RTAI Testsuite - UP preempt (all data in nanoseconds)\n\
                       RTH|     lat min|     lat avg|     lat max|    jit fast|    jit slow\n\
                       RTD|       -1200|         300|        4200|        3000|        9000\n";
        let all = imported(&format!("{kernel}{preempt}"));
        assert_eq!(all.len(), 2);
        let of = |index: usize| {
            let document = &all[index].document;
            let of = document.threads[0].latency_ns.unwrap();
            (document.run.probe.as_str(), of.count, of.min, of.mean, of.max)
        };
        assert_eq!(of(0), ("rtai-latency-kernel", 20_000, 60, 141.0, 1_040));
        assert_eq!(of(1), ("rtai-preempt-kernel", 2, -1_200, 300.0, 4_200));
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        let bare = USER.replace("RTAI Testsuite - USER latency (all data in nanoseconds)\n", "");
        assert_eq!(
            refused(&bare),
            "line 8: the line that says the unit (RTAI Testsuite) is missing"
        );
        let damaged = USER.replace("|      13286|", "|");
        assert_eq!(
            refused(&damaged),
            "line 11: the line of a second (RTD) is not as its heading (RTH)"
        );
    }
}
