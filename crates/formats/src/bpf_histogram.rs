// SPDX-License-Identifier: MIT OR Apache-2.0
//! Histograms of times as the tools of bcc (runqlat and others) and scripts of bpftrace print them.
//! What was measured is the tool's business: only values and counts are here.

use super::numbers::whole;
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};

static BPF: Program = Program {
    name: "bpf-histogram",
    measuring_point: "where the tool of bcc or bpftrace measured, which its histogram does not say",
    column: Column::ns("latency_ns", "the times of the histogram"),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1,
};

/// Whether such a histogram begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let [first, next, ..] = lines else { return false };
    (heading(first).is_some() && bcc_row(next).is_some())
        || (map(first).is_some() && bpftrace_row(next).is_some())
}

/// `usecs : count distribution`: the unit, ns.
fn heading(line: &str) -> Option<i64> {
    let mut words = line.split_whitespace();
    let unit = unit_ns(words.next()?)?;
    words.eq([":", "count", "distribution"]).then_some(unit)
}

fn unit_ns(name: &str) -> Option<i64> {
    match name {
        "nsecs" | "nsec" | "ns" => Some(1),
        "usecs" | "usec" | "us" => Some(1_000),
        "msecs" | "msec" | "ms" => Some(1_000_000),
        "secs" => Some(1_000_000_000),
        _ => None,
    }
}

/// `@usecs:` or `@usecs[comm, 3]:`: its name and what is in the brackets.
fn map(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix('@')?.strip_suffix(':')?;
    let end = name.find('[').unwrap_or(name.len());
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name[..end].chars().all(is_name).then_some(name)
}

/// Lower and upper end, both in it, and the count; without an upper end there is none.
type Row = (i64, Option<i64>, u64);

/// `4 -> 7 : 57 |****|`, or of a linear histogram `4 : 57 |****|`.
fn bcc_row(line: &str) -> Option<Row> {
    let (range, rest) = line.split_once(" : ")?;
    let (count, bar) = rest.split_once('|')?;
    let number = |text: &str| i64::try_from(whole(text)?).ok();
    let (lower, upper) = match range.split_once("->") {
        Some((lower, upper)) => (number(lower)?, number(upper)?),
        None => (number(range)?, number(range)?),
    };
    let is_bar = bar.trim_end().ends_with(['|', '+']);
    (is_bar && lower <= upper).then_some((lower, Some(upper), whole(count)?))
}

/// `[4, 8)  57 |@@@@|`, `[1]  3 |@|`, `[1K, 2K)`, `[100, ...)`.
fn bpftrace_row(line: &str) -> Option<Row> {
    let text = line.trim();
    let (text, bar) = text.split_once('|')?;
    let end = text.find([']', ')'])?;
    let (range, count) = text.split_at(end + 1);
    let inner = range.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    let (lower, upper) = match inner.split_once(", ") {
        Some((lower, "...")) => (scaled(lower)?, None),
        Some((lower, upper)) => (scaled(lower)?, Some(scaled(upper)?.checked_sub(1)?)),
        None => (scaled(inner)?, Some(scaled(inner)?)),
    };
    let fits = bar.trim_end().ends_with('|') && upper.is_none_or(|upper| lower <= upper);
    fits.then_some((lower, upper, whole(count)?))
}

/// `2K` is 2,048.
fn scaled(text: &str) -> Option<i64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 10),
        b'M' => (&text[..text.len() - 1], 20),
        b'G' => (&text[..text.len() - 1], 30),
        b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    i64::try_from(whole(digits)?).ok()?.checked_mul(1 << shift)
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&BPF, lines.number());
    output.is_of_unknown_program = true;
    let before = import.before.back().map_or("", |(_, line)| line.trim());
    if !before.is_empty() {
        output.say("line above", before);
    }
    let Some(line) = lines.peek()? else { return Ok(()) };
    let (unit, parse): (_, fn(&str) -> Option<Row>) = if let Some(unit) = heading(line) {
        (unit, bcc_row)
    } else {
        let name = map(line).unwrap_or_default().to_owned();
        output.say("map", &name);
        // The unit is asked for, or the last word of the name.
        let word = name.split('[').next().unwrap_or_default().rsplit('_').next();
        let said = word.and_then(unit_ns);
        if said.is_none() && import.is_unit_open() {
            let why = format!("@{name} does not say the unit of its values: say it with --unit");
            return Err(lines.error(why));
        }
        (said.unwrap_or(import.unit_ns(1)), bpftrace_row)
    };
    lines.advance();
    output.resolution_ns = unit;
    // The last bucket may have an end, and is only as precise as it is wide.
    output.may_have_more = true;
    rows(lines, &mut output, unit, parse)?;
    if output.threads.iter().all(super::Measured::is_empty) {
        return Ok(());
    }
    import.add(output)
}

fn rows(
    lines: &mut Lines<'_>,
    output: &mut Output,
    unit: i64,
    parse: fn(&str) -> Option<Row>,
) -> Result<(), ImportError> {
    let mut last = i64::MIN;
    while let Some((lower, upper, count)) = lines.peek()?.and_then(parse) {
        if lower <= last {
            return Err(lines.error("the bucket does not follow the one above"));
        }
        last = upper.unwrap_or(i64::MAX);
        let too_large = || lines.error("no latency is so large");
        let ns = |value: i64| value.checked_mul(unit).ok_or_else(too_large);
        let (from, to) = (ns(lower)?, upper.map(ns).transpose()?);
        let thread = output.thread(0)?;
        match to {
            Some(to) => thread.range(from, to, count),
            None => thread.beyond = Some((count, from)),
        }
        lines.advance();
    }
    match lines.peek()? {
        Some(line) if line.trim_end().ends_with('|') => {
            Err(lines.error("it is no bucket of times"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::ImportOptions;
    use crate::tests::{buckets, figures, imported, of_file, refused, says};

    const BCC: &str = include_str!("samples/bcc-runqlat.txt");
    const BPFTRACE: &str = include_str!("samples/bpftrace-usecs.txt");

    #[test]
    fn each_histogram_of_bcc() {
        let all = imported(BCC);
        assert_eq!(all.len(), 2);
        assert_eq!(
            buckets(&all[0].document, 0),
            [(0, 1_000, 233), (2_000, 3_000, 742), (4_000, 7_000, 203), (16_000, 31_000, 1)]
        );
        assert_eq!(figures(&all[1].document)[0].3, 3_000_000);
        assert_eq!(says(&all[1].document, "line above"), "pid = 1234");
        let linear = concat!(
            "     usecs         : count     distribution\n",
            "        0          : 4    |**|\n        1          : 2    |*|\n"
        );
        assert_eq!(buckets(&imported(linear)[0].document, 0), [(0, 0, 4), (1_000, 1_000, 2)]);
    }

    #[test]
    fn maps_of_bpftrace() {
        let document = &imported(BPFTRACE)[0].document;
        assert_eq!(
            buckets(document, 0),
            [
                (0, 0, 1),
                (1_000, 1_000, 11),
                (2_000, 3_000, 300),
                (4_000, 7_000, 77),
                (512_000, 1_023_000, 3),
                (1_024_000, 2_047_000, 1)
            ]
        );
        let unsaid = BPFTRACE.replace("@usecs", "@[comm, 3]");
        assert_eq!(
            refused(&unsaid),
            "line 4: @[comm, 3] does not say the unit of its values: say it with --unit"
        );
        let options = ImportOptions { unit_ns: Some(1_000), ..ImportOptions::default() };
        let all = of_file(unsaid.as_bytes(), options).unwrap();
        assert_eq!(figures(&all[0].document), figures(document));
        let open = BPFTRACE.replace("[1K, 2K) ", "[1K, ...)");
        assert_eq!(buckets(&imported(&open)[0].document, 0)[5], (1_024_000, 1_024_000, 1));
        for text in [BPFTRACE, BCC, open.as_str()] {
            let source = imported(text).remove(0).document.imported.unwrap();
            assert!(source.lacks(model::Unknown::Beyond));
        }
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused(&BCC.replace("4 -> 7 ", "3 -> 7 ")),
            "line 6: the bucket does not follow the one above"
        );
        assert_eq!(
            refused(&BPFTRACE.replace("[4, 8)", "(..., 8)")),
            "line 8: it is no bucket of times"
        );
        let bytes = BCC.replace("usecs", "kbytes").replace("msecs", "value");
        assert_eq!(refused(&bytes), "no output of a known format is in it");
    }
}
