// SPDX-License-Identifier: MIT OR Apache-2.0
//! schbench: percentiles with how many samples lie between them, printed again and again as the run
//! goes on. The last of a run counts.

use super::numbers::whole;
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};

static WAKEUP: Program = program(
    "schbench-wakeup",
    "from when a message thread of schbench woke its workers until a worker has read the clock; \
     none below 1 us is counted",
    "from the wake-up until the worker runs",
);

static REQUEST: Program = program(
    "schbench-request",
    "from the beginning of a worker's request until its end",
    "how long a request took",
);

const fn program(name: &'static str, point: &'static str, meaning: &'static str) -> Program {
    Program {
        name,
        measuring_point: point,
        column: Column::ns("latency_ns", meaning),
        rows: RowKind::Events,
        is_planned: false,
        passes_over: false,
        resolution_ns: 1_000,
    }
}

/// What is printed of one kind of latencies.
#[derive(Default)]
struct Block {
    line: u64,
    runtime: u64,
    total: u64,
    /// Each percentile, its value, and how many samples lie between the one before and it.
    percentiles: Vec<(f64, u64, u64)>,
    min: Option<u64>,
    max: Option<u64>,
}

/// The kinds, in the order in which they are printed; none of requests per second.
const KINDS: [(&str, Option<&str>); 3] =
    [("Wakeup Latencies", Some("wakeup")), ("Request Latencies", Some("request")), ("RPS", None)];

/// Those that are figures of a recording.
const LEVELS: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// Percentiles at most.
const MAX_PERCENTILES: usize = 20;

/// Whether an output of schbench begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    let Some(first) = lines.first() else { return false };
    heading(first).is_some_and(|(kind, ..)| kind == 0)
        || (first.trim() == "Latency percentiles (usec)"
            && lines.get(1).is_some_and(|next| percentile(next).is_some()))
        || is_document(first)
}

fn is_document(line: &str) -> bool {
    line.trim_start().starts_with("{\"normal\":") && line.contains("\"wakeup_latency_pct")
}

/// `Wakeup Latencies percentiles (usec) runtime 10 (s) (30212 total samples)`: the kind, the
/// runtime and how many there were.
fn heading(line: &str) -> Option<(usize, u64, u64)> {
    let (name, rest) = line.trim().split_once(" percentiles (")?;
    let kind = KINDS.iter().position(|(known, _)| *known == name)?;
    let (_, rest) = rest.split_once(") runtime ")?;
    let (runtime, rest) = rest.split_once(" (s) (")?;
    let total = rest.strip_suffix(" total samples)")?;
    Some((kind, whole(runtime)?, whole(total)?))
}

/// `* 99.0th: 175  (2590 samples)`, of older versions without how many.
fn percentile(line: &str) -> Option<(f64, u64, Option<u64>)> {
    let text = line.trim().trim_start_matches('*').trim_start();
    let (level, rest) = text.split_once("th:")?;
    let level: f64 = level.parse().ok().filter(|level| (0.0..=100.0).contains(level))?;
    let rest = rest.trim();
    match rest.split_once('(') {
        Some((value, count)) => {
            Some((level, whole(value)?, Some(whole(count.strip_suffix(" samples)")?)?)))
        }
        None => Some((level, whole(rest)?, None)),
    }
}

/// `min=1, max=10224`.
fn ends(line: &str) -> Option<(u64, u64)> {
    let (min, max) = line.trim().strip_prefix("min=")?.split_once(", max=")?;
    Some((whole(min)?, whole(max)?))
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let Some(line) = lines.peek()? else { return Ok(()) };
    if heading(line).is_none() {
        return Err(lines.error("how many latencies there were is not said beside the percentiles"));
    }
    let command = import.command("schbench", lines.number()).unwrap_or_default();
    let mut blocks: [Option<Block>; KINDS.len()] = [const { None }; KINDS.len()];
    let mut says: Vec<String> = Vec::new();
    while let Some(line) = lines.peek()? {
        let text = line.trim();
        if let Some((kind, runtime, total)) = heading(line) {
            // A run begins again.
            if blocks[kind].as_ref().is_some_and(|last| last.runtime > runtime) {
                break;
            }
            let line = lines.number();
            lines.advance();
            blocks[kind] = Some(block(lines, Block { line, runtime, total, ..Block::default() })?);
            continue;
        }
        let is_end = text.starts_with("average rps:");
        if is_end || text.starts_with("final rps goal") {
            says.push(text.to_owned());
        } else if !(text.is_empty()
            || text.starts_with("current rps:")
            || text.starts_with("sched delay:"))
        {
            break;
        }
        lines.advance();
        if is_end {
            break;
        }
    }
    for (block, (_, part)) in blocks.into_iter().zip(KINDS) {
        let (Some(block), Some(part)) = (block.filter(|block| block.total > 0), part) else {
            continue;
        };
        let program = if part == "wakeup" { &WAKEUP } else { &REQUEST };
        let mut output = import.output(program, block.line);
        output.command_line.clone_from(&command);
        output.say("runtime", &format!("{} (s)", block.runtime));
        for text in &says {
            let (what, text) = text.split_once(':').unwrap_or(("rps", text));
            output.say(what, text);
        }
        put(&block, &mut output)?;
        import.add_part(part, output)?;
    }
    Ok(())
}

fn block(lines: &mut Lines<'_>, mut block: Block) -> Result<Block, ImportError> {
    while let Some(line) = lines.peek()? {
        if let Some((level, value, count)) = percentile(line) {
            let Some(count) = count else {
                return Err(lines.error("how many samples there were is not said"));
            };
            let before = block.percentiles.last().map_or((-1.0, 0), |last| (last.0, last.1));
            if level <= before.0 || value < before.1 || block.percentiles.len() >= MAX_PERCENTILES {
                return Err(lines.error("the percentile does not follow the one above"));
            }
            block.percentiles.push((level, value, count));
        } else if let Some((min, max)) = ends(line) {
            (block.min, block.max) = (Some(min), Some(max));
            lines.advance();
            break;
        } else {
            break;
        }
        lines.advance();
    }
    Ok(block)
}

/// The largest value, us, of the bucket in whose middle this is: exact below 512, and 1/256 wide
/// above.
fn end_of_bucket(value: u64) -> u64 {
    let bits = value.checked_ilog2().unwrap_or(0).saturating_sub(8);
    if bits == 0 { value } else { value.saturating_add((1 << (bits - 1)) - 1) }
}

fn put(block: &Block, output: &mut Output) -> Result<(), ImportError> {
    let error = |why: &str| ImportError::at(block.line, why);
    let ns = |us: u64| {
        let ns = i64::try_from(us).ok().and_then(|us| us.checked_mul(1_000));
        ns.ok_or_else(|| error("no latency is so large"))
    };
    let [(_, first, _), .., (level, last, _)] = block.percentiles.as_slice() else {
        return Err(error("there are no percentiles"));
    };
    let (Some(min), Some(max)) = (block.min, block.max) else {
        return Err(error("the smallest and the largest are not there"));
    };
    // How many lie beyond the last percentile is not printed, nor how many up to a 20th one, which
    // is left out. Beyond the last are as many at most as its level says.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a number of samples"
    )]
    let beyond = ((100.0 - level) / 100.0 * block.total as f64).floor() as u64;
    let beyond = if max > end_of_bucket(*last) { beyond.max(1) } else { 0 };
    let between: u64 = block.percentiles[1..].iter().map(|of| of.2).fold(0, u64::saturating_add);
    let Some(below) = block.total.checked_sub(between.saturating_add(beyond)) else {
        return Err(error("there are more samples between the percentiles than in all"));
    };
    let thread = output.thread(0)?;
    let mut lower = min;
    let mut range = |upper: u64, count: u64| -> Result<(), ImportError> {
        let upper = upper.max(lower);
        thread.range(ns(lower)?, ns(upper)?, count);
        if count > 0 {
            lower = upper.saturating_add(1);
        }
        Ok(())
    };
    range(end_of_bucket(*first).min(max), below)?;
    for (_, value, count) in &block.percentiles[1..] {
        range(end_of_bucket(*value).min(max), *count)?;
    }
    range(max, beyond)?;
    thread.stated.count = Some(block.total);
    thread.stated.min = Some(ns(min)?);
    thread.stated.max = Some(ns(max)?);
    // The middle of a bucket may be above the largest in it.
    for (level, value, _) in block.percentiles.iter().filter(|(_, value, _)| *value <= max) {
        let at = LEVELS.iter().position(|known| (known - level).abs() < 1e-9);
        if let Some(quantile) = at.and_then(|at| thread.stated.quantiles.get_mut(at)) {
            *quantile = Some(ns(*value)?);
        }
    }
    if beyond > 0 {
        let text = format!("{beyond} at most: how many is not printed");
        output.say(&format!("samples beyond the {level}th percentile"), &text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{buckets, figures, imported, refused, says};
    use model::Recorded;

    const TEXT: &str = include_str!("samples/schbench.txt");

    #[test]
    fn the_last_of_a_run_counts() {
        let all = imported(TEXT);
        assert_eq!(all.len(), 2);
        let wakeup = &all[0].document;
        assert_eq!(
            buckets(wakeup, 0),
            [
                (1_000, 7_000, 18_672),
                (8_000, 18_000, 8_649),
                (19_000, 175_000, 2_590),
                (176_000, 909_000, 271),
                (910_000, 10_224_000, 30)
            ]
        );
        let (count, min, _, max) = figures(wakeup)[0];
        assert_eq!((count, min, max), (30_212, 1_000, 10_224_000));
        assert_eq!(says(wakeup, "average rps"), "3024.60");
        assert_eq!(all[1].document.run.probe, "schbench-request");
        // Its 50.0th to 99.9th, and not the ends of their buckets.
        let stated = |of: &Recorded| of.document.threads[0].latency_ns.map(|of| of.quantiles());
        let [wakeup, request] = [&all[0], &all[1]].map(|of| stated(of).unwrap());
        assert_eq!(wakeup[..4], [7_000, 18_000, 175_000, 909_000].map(Some));
        assert_eq!(request[..2], [16_864_000, 16_992_000].map(Some));
        assert!([&all[0], &all[1]].iter().all(|of| of.document.warnings.is_empty()));
        assert_eq!(figures(&all[1].document)[0].3, 27_964_000);
        assert_eq!(imported(&format!("{TEXT}{TEXT}")).len(), 4);
    }

    #[test]
    fn what_is_damaged_or_says_too_little() {
        let old =
            "Latency percentiles (usec)\n\t50.0000th: 22\n\t*99.0000th: 2132\n\tmin=0, max=9\n";
        assert_eq!(
            refused(old),
            "line 1: how many latencies there were is not said beside the percentiles"
        );
        assert_eq!(
            refused(&TEXT.replace("\t* 99.0th: 175        (2590", "\t* 99.0th: 5        (2590")),
            "line 19: the percentile does not follow the one above"
        );
        assert_eq!(
            refused(&TEXT.replace("(30212 total", "(302 total")),
            "line 16: there are more samples between the percentiles than in all"
        );
        let document = "{\"normal\": {\"version\": \"6.1\"},\"int\": {\"time\": 1, \
            \"wakeup_latency_pct20.0\": 3}}";
        assert!(refused(document).contains("how many latencies there were is not said"));
    }

    #[test]
    fn a_value_stands_for_its_bucket() {
        let ends = [0, 7, 511, 513, 909, 10_224].map(end_of_bucket);
        assert_eq!(ends, [0, 7, 511, 513, 909, 10_239]);
    }
}
