// SPDX-License-Identifier: MIT OR Apache-2.0
//! stress-ng's `--cyclic`: figures, percentiles and `--cyclic-dist`. All of them are of the first
//! samples only, as many as `--cyclic-samples` has room for. Each cycle sleeps for a while from
//! when it begins: none was planned.

use super::numbers::{decimal, is_said_once, mean, whole};
use super::{Import, ImportError, Lines, Output, Program};
use model::{Column, RowKind};
use plan::{Policy, Scheduling};

static CYCLIC: Program = Program {
    name: "stress-ng-cyclic",
    measuring_point: "from the end of the sleep asked for until stress-ng has read the clock",
    column: Column::ns(
        "latency_ns",
        "from the end of the sleep asked for until the thread runs again",
    ),
    rows: RowKind::Events,
    is_planned: false,
    passes_over: false,
    resolution_ns: 1,
};

/// What the stressor says in a line.
fn said(line: &str) -> Option<&str> {
    let (_, text) =
        line.split_once("] cyclic: ").or_else(|| line.split_once("] stress-ng-cyclic: "))?;
    Some(text.trim())
}

/// `sched SCHED_FIFO: 100000 ns delay, 10000 samples`.
fn first_line(line: &str) -> Option<(&str, &str, u64)> {
    let (policy, rest) = said(line)?.strip_prefix("sched ")?.split_once(": ")?;
    let (delay, samples) = rest.split_once(" delay, ")?;
    Some((policy, delay, whole(samples.strip_suffix(" samples")?)?))
}

/// Whether an output of the stressor begins here.
pub(crate) fn begins(lines: &[&str]) -> bool {
    lines.first().is_some_and(|line| first_line(line).is_some())
}

/// Reads it.
pub(crate) fn read(lines: &mut Lines<'_>, import: &mut Import<'_>) -> Result<(), ImportError> {
    let mut output = import.output(&CYCLIC, lines.number());
    output.command_line = import.command("stress-ng", lines.number()).unwrap_or_default();
    let Some((policy, delay, samples)) = lines.peek()?.and_then(first_line) else { return Ok(()) };
    output.scheduling = of_policy(policy);
    output.say("delay", delay);
    output.thread(0)?.stated.count = Some(samples);
    lines.advance();
    // Of a distribution: how wide its buckets are, how far they reach, where the last of them ends,
    // and how many were counted.
    let (mut width, mut reach) = (None, None);
    let mut end_of_last = None;
    let (mut counted, mut percentiles) = (0_u64, Vec::new());
    while let Some(line) = lines.peek()? {
        let Some(text) = said(line) else {
            // Others that run meanwhile, and the program itself.
            if !line.contains("stress-ng: ") || line.contains("completed in") {
                break;
            }
            lines.advance();
            continue;
        };
        if first_line(line).is_some() {
            break;
        }
        if let Some((width, (lower, count))) = width.zip(bucket(text)) {
            let end = lower.checked_add(width);
            let end = end.ok_or_else(|| lines.error("no latency is so large"))?;
            counted = counted.saturating_add(count);
            output.thread(0)?.range(lower, end - 1, count);
            end_of_last = Some(end);
            if reach.is_none_or(|(reach, _)| reach < end) {
                reach = Some((end, true));
            }
        } else if let Some((shown, all)) = buckets_shown(text).filter(|_| width.is_some()) {
            let end = width.and_then(|width| width.checked_mul(shown));
            reach = Some((end.ok_or_else(|| lines.error("no latency is so large"))?, shown < all));
        } else if let Some(interval) = text.strip_prefix("latency distribution (") {
            let interval = interval.strip_suffix(" ns intervals):").and_then(|of| decimal(of, 1));
            let interval = interval.filter(|width| *width > 0);
            width = Some(interval.ok_or_else(|| lines.error("the intervals are no number of ns"))?);
        } else if let Some((percent, value)) = text.split_once("%:") {
            percentiles.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
            put_percentile(percent, value, &mut output).ok_or_else(|| {
                lines.error("the percentile is no number of ns, or stands there twice")
            })?;
            if percentiles.len() > 32 {
                return Err(lines.error("there are not so many percentiles"));
            }
        } else if text.starts_with("mean: ") || text.starts_with("min: ") {
            figures(text, &mut output)
                .ok_or_else(|| lines.error("the figures are damaged, or stand there twice"))?;
        } else if let Some(note) = text.strip_prefix("Note: ") {
            // The largest may be among those that there was no room for.
            output.may_have_more |= note.contains(" needed to be ");
            output.say("Note", note);
        } else if text.starts_with("..") {
            // All that follow are empty.
            end_of_last = reach.map(|(end, _)| end);
        } else if !is_of_distribution(text) {
            output.say("cyclic", text);
        }
        lines.advance();
    }
    if !percentiles.is_empty() {
        output.say("latency percentiles", &percentiles.join(", "));
    }
    // A log that was cut within the distribution: the others were beyond what is left of it.
    let cut = end_of_last.filter(|last| reach.is_some_and(|(end, _)| *last < end));
    reach = cut.map(|last| (last, true)).or(reach);
    if let Some((end, true)) = reach {
        // Those that the buckets do not reach to are in none.
        output.thread(0)?.beyond = Some((samples.saturating_sub(counted), end));
    }
    import.add(output)
}

fn of_policy(name: &str) -> Option<Scheduling> {
    let policy = match name {
        "SCHED_FIFO" => Policy::Fifo,
        "SCHED_RR" => Policy::Rr,
        "SCHED_DEADLINE" => Policy::Deadline,
        "SCHED_OTHER" => Policy::Other,
        "SCHED_BATCH" => Policy::Batch,
        "SCHED_IDLE" => Policy::Idle,
        _ => return None,
    };
    Some(Scheduling { policy, prio: None })
}

/// `mean: 18105.12 ns, mode: 14530 ns` or `min: 9342 ns, max: 1600051 ns, std.dev. 22231.15`.
fn figures(text: &str, output: &mut Output) -> Option<()> {
    for part in text.split(", ") {
        if let Some(sd) = part.strip_prefix("std.dev. ") {
            let sd = mean(sd.trim_end_matches(" ns"), 1)?;
            is_said_once(&mut output.threads.first_mut()?.stated.sd, sd).then_some(())?;
            continue;
        }
        let (name, value) = part.split_once(": ")?;
        let value = value.strip_suffix(" ns")?;
        let stated = &mut output.threads.first_mut()?.stated;
        match name {
            "mean" => is_said_once(&mut stated.mean, mean(value, 1)?),
            "min" => is_said_once(&mut stated.min, decimal(value, 1)?),
            "max" => is_said_once(&mut stated.max, decimal(value, 1)?),
            _ => {
                output.say(name, &format!("{value} ns"));
                true
            }
        }
        .then_some(())?;
    }
    Some(())
}

fn put_percentile(percent: &str, value: &str, output: &mut Output) -> Option<()> {
    let value = decimal(value.trim().strip_suffix(" ns")?, 1)?;
    let at =
        ["50.00", "90.00", "99.00", "99.90", "99.99"].iter().position(|known| *known == percent);
    if let Some(at) = at {
        let quantile = &mut output.threads.first_mut()?.stated.quantiles[at];
        is_said_once(quantile, value).then_some(())?;
    }
    Some(())
}

/// A row of the distribution: its lower end, and how many there are.
fn bucket(text: &str) -> Option<(i64, u64)> {
    let mut words = text.split_whitespace();
    let row = (decimal(words.next()?, 1)?, whole(words.next()?)?);
    words.next().is_none().then_some(row)
}

/// `(for the first 250 buckets of 517)`.
fn buckets_shown(text: &str) -> Option<(i64, i64)> {
    let text = text.strip_prefix("(for the first ")?.strip_suffix(')')?;
    let (shown, all) = text.split_once(" buckets of ")?;
    decimal(shown, 1).zip(decimal(all, 1))
}

fn is_of_distribution(text: &str) -> bool {
    text.starts_with("latency percentiles") || text.starts_with("latency (ns)")
}

#[cfg(test)]
mod tests {
    use crate::tests::{imported, refused};
    use model::{Detail, Recorded, Unknown};

    /// Written by stress-ng 0.15.06.
    const SAMPLE: &str = include_str!("samples/stress-ng-cyclic.txt");
    const CLIPPED: &str = include_str!("samples/stress-ng-cyclic-clipped.txt");

    fn only(text: &str) -> Recorded {
        let mut all = imported(text);
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn figures_and_percentiles() {
        let text: String = SAMPLE
            .lines()
            .filter(|line| !line.contains("distribution"))
            .take(16)
            .fold(String::new(), |text, line| text + line + "\n");
        let one = only(&text);
        let thread = &one.document.threads[0];
        assert_eq!(thread.detail, Detail::Figures);
        let of = thread.latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (10_000, 9_675, 17_595.03, 1_002_824));
        assert_eq!(of.sd, Some(12_825.48));
        assert_eq!(
            [of.p50, of.p90, of.p99, of.p999, of.p9999],
            [16_465, 17_856, 49_915, 151_177, 1_002_824].map(Some)
        );
        // They were taken as they stood.
        assert!(
            refused(&text.replace("49915 ns", "9915 ns"))
                .ends_with("thread 0: the percentiles do not grow from 9675 to 1002824 ns")
        );
    }

    #[test]
    fn a_distribution_and_what_was_not_looked_at() {
        let one = only(SAMPLE);
        let document = &one.document;
        let of = document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.mean, of.max), (10_000, 9_675, 17_595.03, 1_002_824));
        let buckets = &document.threads[0].histogram_ns.buckets;
        let ends = |at: usize| (buckets[at].lower, buckets[at].upper, buckets[at].count);
        assert_eq!((ends(0), ends(1)), ((9_675, 19_999, 9_485), (20_000, 39_999, 387)));
        assert_eq!(ends(buckets.len() - 1), (1_000_000, 1_002_824, 1));
        assert_eq!(document.warnings, []);
        assert_eq!(document.threads[0].scheduling.to_string(), "SCHED_DEADLINE");
        let source = document.imported.as_ref().unwrap();
        assert_eq!(source.unknown, [Unknown::Start, Unknown::Load, Unknown::Beyond]);
        let said: Vec<(&str, &str)> =
            source.says.iter().map(|said| (said.what.as_str(), said.text.as_str())).collect();
        assert_eq!(said[0], ("delay", "100000 ns"));
        assert!(said.contains(&(
            "Note",
            "--cyclic-samples needed to be 25137 to capture all the data for this run"
        )));
    }

    #[test]
    fn values_that_the_buckets_do_not_reach() {
        let one = only(CLIPPED);
        let of = one.document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.min, of.max), (1_869, 12_188, 25_837_726));
        let last = one.document.threads[0].histogram_ns.buckets.last().unwrap();
        assert_eq!((last.lower, last.upper, last.count), (12_500_000, 25_837_726, 1));
        assert_eq!(one.document.warnings, []);
        let all = only(&CLIPPED.replace("250 buckets of 517", "517 buckets of 517"));
        let contradicts = format!("{:?}", all.document.warnings);
        assert!(contradicts.contains("number of samples"), "{contradicts}");
    }

    /// They were the ends of wide buckets.
    #[test]
    fn percentiles_beside_a_distribution_are_as_stated() {
        let of = only(SAMPLE).document.threads[0].latency_ns.unwrap();
        assert_eq!(
            [of.p50, of.p90, of.p99, of.p999, of.p9999],
            [16_465, 17_856, 49_915, 151_177, 1_002_824].map(Some)
        );
        // One that no value of its bucket can be.
        let other = only(&SAMPLE.replace("49915 ns", "9915 ns"));
        assert_eq!(other.document.threads[0].latency_ns.unwrap().p99, Some(59_999));
        let contradicts = format!("{:?}", other.document.warnings);
        assert!(contradicts.contains("thread 0: p99"), "{contradicts}");
    }

    /// Quantiles were those of what was left.
    #[test]
    fn a_distribution_that_was_cut_says_nothing_beyond() {
        let percentile = |line: &&str| !line.contains("%:");
        let whole: String =
            SAMPLE.lines().filter(percentile).fold(String::new(), |text, line| text + line + "\n");
        let cut = whole.split_once("cyclic:        20000 ").unwrap().0.rsplit_once('\n').unwrap().0;
        let one = only(&format!("{cut}\n"));
        let of = one.document.threads[0].latency_ns.unwrap();
        assert_eq!((of.count, of.max, of.p90), (10_000, 1_002_824, Some(19_999)));
        assert_eq!([of.p99, of.p999, of.p9999], [None; 3]);
        assert_eq!(one.document.warnings, []);
    }

    #[test]
    fn several_runs_in_a_log() {
        let in_log: String = SAMPLE.lines().fold(String::new(), |text, line| {
            text + "Nov 28 14:00:00 board stress[1]: " + line + "\n"
        });
        let all = imported(&(in_log + SAMPLE));
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].document.threads[0].latency_ns, all[1].document.threads[0].latency_ns);
    }

    #[test]
    fn what_is_damaged_is_named_with_its_line() {
        assert_eq!(
            refused(&SAMPLE.replace("mean: 17595.03 ns", "mean: 17595.03")),
            "line 4: the figures are damaged, or stand there twice"
        );
        assert_eq!(
            refused(&SAMPLE.replace("mean: 17595.03 ns", "mean: 17595.03 ns, mean: 6 ns")),
            "line 4: the figures are damaged, or stand there twice"
        );
        assert_eq!(
            refused(&SAMPLE.replace("(20000 ns", "(0 ns")),
            "line 16: the intervals are no number of ns"
        );
        let cut = SAMPLE.split_once("  min:").unwrap().0.rsplit_once('\n').unwrap().0;
        assert_eq!(
            refused(cut),
            "line 3: thread 0: how many, the smallest and the largest are not all there"
        );
    }
}
