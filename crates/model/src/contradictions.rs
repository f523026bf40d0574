// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether every figure in `run.json` follows from the samples.

use crate::{
    Accounted, ColumnUnit, Detail, Document, End, LoadEvidence, Polling, ProbeStatement, Recorded,
    RowKind, State, Thread, fill_in,
};
use plan::Scheduling;
use serde_json::Value;
use stats::{Statistics, Summary};
use std::fmt::Display;

/// A figure that does not follow from the samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// Where it stands in `run.json`, such as `threads[0].latency_ns.max`.
    pub place: String,
    pub recorded: String,
    pub recomputed: String,
}

/// Characters of a value that are shown.
const MAX_SHOWN: usize = 200;

impl Contradiction {
    /// Of two values, each shown in a few hundred characters at most.
    pub fn between(
        place: impl Into<String>,
        recorded: impl ToString,
        recomputed: impl ToString,
    ) -> Contradiction {
        let clipped = |text: String| match text.char_indices().nth(MAX_SHOWN) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        };
        Contradiction {
            place: place.into(),
            recorded: clipped(recorded.to_string()),
            recomputed: clipped(recomputed.to_string()),
        }
    }
}

/// What is found in one part of a document.
struct Finder<'d> {
    /// The part, with the dot behind it; empty for the document itself.
    part: String,
    differences: &'d mut Vec<Contradiction>,
}

impl Finder<'_> {
    fn expect(&mut self, holds: bool, name: &str, recorded: impl Display, expected: impl Display) {
        if !holds {
            let place = format!("{}{name}", self.part);
            self.differences.push(Contradiction::between(place, recorded, expected));
        }
    }

    fn expect_equal<T: PartialEq + Display>(&mut self, name: &str, recorded: T, recomputed: T) {
        self.expect(recorded == recomputed, name, recorded, recomputed);
    }
}

/// What `run.json` says that its samples, as they were read, contradict, and whatever else of it
/// does not follow from another part of it. Nothing is rounded, nothing is tolerated. Nothing is
/// found in a recording that was cut off, which has no figures of its own.
pub fn contradictions(recorded: &Recorded) -> Vec<Contradiction> {
    let mut differences = Vec::new();
    let document = &recorded.document;
    if document.state == State::Running {
        return differences;
    }
    let mut finder = Finder { part: String::new(), differences: &mut differences };
    finder.expect_equal("threads", document.threads.len(), recorded.threads.len());
    ending(recorded, &mut finder);
    // What another program was asked is known by what it did.
    if document.imported.is_none() {
        asked(document, finder.differences);
    }
    finder.part = "probe.".to_owned();
    stated(document, &mut finder);
    finder.part.clear();
    loads(document, &mut finder);
    for (index, (thread, statistics)) in document.threads.iter().zip(&recorded.threads).enumerate()
    {
        finder.part = format!("threads[{index}].");
        if thread.detail != Detail::Samples {
            if thread.detail == Detail::Histogram {
                check_histogram(thread, statistics, document.imported.is_some(), &mut finder);
            } else {
                check_figures(thread, &mut finder);
            }
            // What was late or skipped is known of samples only.
            let activations = thread.activations;
            let text = serde_json::to_string(&activations).unwrap_or_default();
            let unknown = "null, as only samples tell";
            finder.expect(activations.is_none(), "activations", text, unknown);
            continue;
        }
        let beside = recorded.beside.get(index).cloned().unwrap_or_default();
        let mut recomputed = thread.clone();
        fill_in(&mut recomputed, &document.probe, statistics, &beside);
        // As JSON only where something differs: to find out what.
        if *thread != recomputed {
            let place = format!("threads[{index}]");
            match (serde_json::to_value(thread), serde_json::to_value(&recomputed)) {
                (Ok(old), Ok(new)) => compare(&place, &old, &new, finder.differences),
                (Err(error), _) | (_, Err(error)) => {
                    finder.differences.push(Contradiction::between(place, error, ""))
                }
            }
        }
        accounting(thread, statistics, &mut finder);
        polled(thread, statistics, &mut finder);
    }
    differences
}

/// Whether the run ended as it says: a whole one has all that was planned, and one that was stopped
/// at a latency has that latency.
fn ending(recorded: &Recorded, finder: &mut Finder<'_>) {
    let document = &recorded.document;
    let (recorded_state, end) = (format!("{:?}", document.state).to_lowercase(), &document.end);
    let is_done = *end == Some(End::Done);
    let reason = end.as_ref().map_or_else(|| "none".to_owned(), |end| format!("{end:?}"));
    let state = match end {
        None => "running",
        Some(End::Done) => "complete",
        Some(_) => "stopped",
    };
    finder.expect(
        is_done == (document.state == State::Complete) && end.is_some(),
        "state",
        recorded_state,
        format_args!("{state}, by end: {reason}"),
    );
    for (index, thread) in document.threads.iter().enumerate() {
        let planned = document.run.activations_of(index);
        // Of a thread that did not come back, what was due is known by the clock alone. Events come
        // when they come.
        let whole = !document.probe.is_planned()
            || document.state != State::Complete
            || thread.given_up_ns.is_some();
        let due = thread.activations.map_or(planned, |counts| counts.all().due);
        finder.expect(
            whole || due == planned,
            "state",
            format_args!("complete, with {due} activations due of thread {index}"),
            format_args!("{planned} were planned"),
        );
    }
    let largest_of = |statistics: &Statistics| largest(document, statistics);
    if let (Some(End::Done), Some(limit)) = (end, document.run.break_above_ns) {
        let max = recorded.threads.iter().filter_map(largest_of).max().unwrap_or(i64::MIN);
        let expected =
            format!("break-above, which is {} ns: the largest latency is {max}", limit.0);
        finder.expect(max <= limit.0, "end.reason", "done", expected);
    }
    // Another program's samples need not have the one that ended its run.
    if document.imported.is_none()
        && let Some(End::BreakAbove { thread, latency_ns, .. }) = *end
    {
        let max = recorded.threads.get(thread).and_then(largest_of);
        let lost = document.threads.get(thread).map_or(0, |thread| thread.evidence.samples_lost);
        let has_it = max.is_some_and(|max| max >= document.probe.judged_size(latency_ns));
        let max = max.map_or_else(|| "no latency".to_owned(), |max| format!("at most {max}"));
        let expected = format!("{max} of thread {thread}");
        finder.expect(lost > 0 || has_it, "end.latency_ns", latency_ns, expected);
    }
}

/// The largest value of a thread, as `--break-above` judges it, ns.
fn largest(document: &Document, statistics: &Statistics) -> Option<i64> {
    let extremes = [statistics.moments.min(), statistics.moments.max()];
    extremes.into_iter().flatten().map(|value| document.probe.judged_size(value)).max()
}

/// Whether the threads are those that were asked for.
fn asked(document: &Document, differences: &mut Vec<Contradiction>) {
    let run = &document.run;
    let mut finder = Finder { part: String::new(), differences };
    let (threads, cpus) = (document.threads.len(), run.cpus.len());
    let asked = format!("{cpus} CPUs in run.cpus");
    finder.expect(threads == cpus, "threads", threads, asked);
    // Without the right to what was asked, a lower priority is measured, or ordinary scheduling.
    let granted = |thread: &Thread| match document.instrument.real_time {
        true => run.scheduling,
        false if thread.scheduling.is_below(run.scheduling) => thread.scheduling,
        false => Scheduling::OTHER,
    };
    for (index, (thread, cpu)) in document.threads.iter().zip(&run.cpus).enumerate() {
        finder.part = format!("threads[{index}].");
        let mut expect = |what: &str, recorded: &dyn Display, asked: &dyn Display| {
            let holds = recorded.to_string() == asked.to_string();
            finder.expect(holds, what, recorded, format_args!("{asked}, by run"));
        };
        expect("index", &thread.index, &index);
        expect("cpu", &thread.cpu, cpu);
        expect("pinned", &thread.pinned, &thread.scheduling.policy.can_pin());
        expect("interval_ns", &thread.interval_ns.0, &run.interval_of(index).0);
        expect("scheduling", &thread.scheduling, &granted(thread));
        let of_ordinary = [
            ("nice", thread.nice.map(|nice| nice.to_string())),
            ("timer_slack_ns", thread.timer_slack_ns.map(|ns| ns.to_string())),
        ];
        for (name, value) in of_ordinary {
            let none = format!("none under {}", thread.scheduling);
            let is_ordinary = !thread.scheduling.policy.is_real_time();
            if let Some(value) = value {
                finder.expect(is_ordinary, name, value, none);
            }
        }
    }
}

/// Whether the probe's statement is one that a probe can make, and that of the probe that was asked
/// for.
fn stated(document: &Document, finder: &mut Finder<'_>) {
    let (probe, asked) = (&document.probe, &document.run.probe);
    finder.expect(probe.name == *asked, "name", &probe.name, format_args!("{asked}, by run.probe"));
    let unit = match probe.columns.first().map(|column| column.unit) {
        Some(ColumnUnit::Nanoseconds) => "ns",
        Some(ColumnUnit::Count) => "1",
        None => "no column",
    };
    finder.expect(unit == "ns", "columns[0].unit", unit, "ns, as of every judged column");
    let column =
        probe.overrun_column.map_or_else(|| "null".to_owned(), |column| column.to_string());
    let (fits, expected) = match (probe.rows, probe.overrun_column) {
        (RowKind::Events, column) => (column.is_none(), "null, as events are not planned"),
        (_, None) if document.imported.is_some() => (true, "null"),
        (_, column) => {
            (column.is_some_and(|column| column < probe.columns.len()), "one of the columns")
        }
    };
    finder.expect(fits, "overrun_column", column, expected);
    // Of others, only the program that measured knows what they are.
    let cyclic = ProbeStatement::cyclic();
    let rows = format!("{:?}", probe.rows).to_lowercase();
    let fits = probe.name != cyclic.name || probe.rows == cyclic.rows;
    finder.expect(fits, "rows", rows, "activations, as of cyclic");
}

/// Whether loads were off target where it says so.
fn loads(document: &Document, finder: &mut Finder<'_>) {
    for (index, load) in document.load.iter().enumerate() {
        let place = format!("load[{index}].off_target");
        finder.expect_equal(&place, load.off_target, load.is_off_target());
    }
    let any = document.load.iter().any(LoadEvidence::is_off_target);
    finder.expect_equal("load_off_target", document.load_off_target, any);
}

/// Goes down both trees side by side; through JSON, so that a field added later is compared without
/// anyone thinking of it.
fn compare(
    place: &str,
    recorded: &Value,
    recomputed: &Value,
    differences: &mut Vec<Contradiction>,
) {
    if recorded == recomputed {
        return;
    }
    match (recorded, recomputed) {
        (Value::Object(old), Value::Object(new)) if old.len() == new.len() => {
            for (key, value) in old {
                compare(&format!("{place}.{key}"), value, &new[key], differences);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            // The first that differs; of the others how many, since one value in another bucket
            // moves all behind it.
            let differ =
                old.iter().zip(new).filter(|(a, b)| a != b).count() + old.len().abs_diff(new.len());
            if let Some((index, (a, b))) =
                old.iter().zip(new).enumerate().find(|(_, (a, b))| a != b)
            {
                compare(&format!("{place}[{index}]"), a, b, differences);
            }
            if differ > 1 || old.len() != new.len() {
                let have = format!("{} entries", old.len());
                let should = format!("{} entries, {differ} differ", new.len());
                differences.push(Contradiction::between(place, have, should));
            }
        }
        _ => differences.push(Contradiction::between(place, recorded, recomputed)),
    }
}

/// Whether the figures of a thread without samples are those of its buckets; quantiles are the
/// largest value of theirs.
fn check_histogram(
    thread: &Thread,
    statistics: &Statistics,
    is_imported: bool,
    finder: &mut Finder<'_>,
) {
    if let Some(figures) = thread.latency_ns.filter(|_| is_imported) {
        let (buckets, in_order) = (&thread.histogram_ns.buckets, figures.min <= figures.max);
        let holds = |value: i64| {
            buckets.iter().any(|bucket| (bucket.lower..=bucket.upper).contains(&value))
        };
        finder.expect(in_order && holds(figures.min), "latency_ns.min", figures.min, "in a bucket");
        finder.expect(in_order && holds(figures.max), "latency_ns.max", figures.max, "in a bucket");
    }
    let figures = |summary: &Summary| {
        let Summary { count, min, max, .. } = *summary;
        let [p50, p90, p99, p999, p9999] = summary
            .quantiles()
            .map(|ns| ns.map_or_else(|| "unknown".to_owned(), |ns| ns.to_string()));
        format!(
            "{count} latencies, min {min}, p50 {p50}, p90 {p90}, p99 {p99}, p99.9 {p999}, p99.99 \
             {p9999}, max {max}"
        )
    };
    let [recorded, recomputed] = [&thread.latency_ns, &statistics.latency]
        .map(|summary| summary.as_ref().map_or_else(|| "nothing".to_owned(), figures));
    finder.expect_equal("latency_ns", recorded, recomputed);
}

/// Figures that can be those of latencies: in their order, as many as there are, and nothing beside
/// them that would say more.
fn check_figures(thread: &Thread, finder: &mut Finder<'_>) {
    let lists = [
        ("histogram_ns.buckets", thread.histogram_ns.buckets.len()),
        ("worst", thread.worst.len()),
    ];
    for (name, entries) in lists {
        finder.expect(entries == 0, name, entries, "0, of figures");
    }
    // There are none where nothing was above the program's threshold.
    let Some(figures) = thread.latency_ns else { return };
    let known = std::iter::once(figures.min)
        .chain(figures.quantiles().into_iter().flatten())
        .chain([figures.max]);
    let in_order: Vec<i64> = known.collect();
    let text = in_order.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    finder.expect(in_order.is_sorted(), "latency_ns", text, "from the smallest to the largest");
    let Summary { mean, count, .. } = figures;
    #[expect(clippy::cast_precision_loss, reason = "compared with a mean, which is rounded")]
    let between = (figures.min as f64..=figures.max as f64).contains(&mean);
    finder.expect(between, "latency_ns.mean", mean, "between the smallest and the largest");
    finder.expect(count > 0, "latency_ns.count", count, "more than 0");
    let sd = figures.sd.unwrap_or_default();
    finder.expect(sd >= 0.0, "latency_ns.sd", sd, "0 or more");
    finder.expect(
        thread.latency_with_skipped_ns == thread.latency_ns,
        "latency_with_skipped_ns",
        "others",
        "those of latency_ns: what was skipped is not known",
    );
}

/// The thread's own accounting against the rows.
fn accounting(thread: &Thread, statistics: &Statistics, finder: &mut Finder<'_>) {
    let counted = thread.activations.map(|counts| counts.all()).unwrap_or_default();
    finder.expect_equal("activations.due", counted.due, counted.total());
    if let Some(Accounted { rows, lost }) = Accounted::new(thread, statistics) {
        finder.expect_equal("evidence.samples_lost", thread.evidence.samples_lost, lost);
        finder.expect_equal("activations.on_time", counted.on_time, rows.on_time);
        finder.expect_equal("activations.late", counted.late, rows.late);
        finder.expect_equal("activations.skipped", counted.skipped, rows.skipped);
    }
}

/// A loop polled for as long as its gaps at least.
fn polled(thread: &Thread, statistics: &Statistics, finder: &mut Finder<'_>) {
    let Some(Polling { polled_ns, .. }) = thread.polling else { return };
    #[expect(clippy::cast_precision_loss, reason = "compared with a sum that is known to 1 ns")]
    let (count, polled) = (statistics.moments.count() as f64, polled_ns as f64);
    let gaps_ns = statistics.moments.mean().unwrap_or(0.0) * count;
    let gaps = format!("at least {gaps_ns:.0}, the sum of its gaps");
    finder.expect(gaps_ns <= polled + 1.0, "polling.polled_ns", polled_ns, gaps);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{CpuId, Nanos};
    use stats::Span;

    /// What `asked` finds in a whole recording of one thread that was changed.
    fn differences_after(change: impl FnOnce(&mut Document)) -> Vec<String> {
        let json = include_str!("../../../fuzz/corpus/run_json/complete.json");
        let mut document: Document = serde_json::from_str(json).unwrap();
        change(&mut document);
        let mut differences = Vec::new();
        asked(&document, &mut differences);
        differences
            .iter()
            .map(|found| format!("{}: {}, not {}", found.place, found.recorded, found.recomputed))
            .collect()
    }

    #[test]
    fn threads_that_nobody_asked_for_are_named() {
        assert_eq!(differences_after(|_| ()), Vec::<String>::new());
        assert_eq!(
            differences_after(|document| document.run.interval_ns = Nanos(5)),
            ["threads[0].interval_ns: 500000, not 5, by run"]
        );
        assert_eq!(
            differences_after(|document| document.run.cpus = vec![CpuId(3)]),
            ["threads[0].cpu: 0, not 3, by run"]
        );
        assert_eq!(
            differences_after(|document| document.threads[0].index = 1),
            ["threads[0].index: 1, not 0, by run"]
        );
        assert_eq!(
            differences_after(|document| document.run.scheduling = Scheduling::OTHER),
            ["threads[0].scheduling: SCHED_FIFO 90, not SCHED_OTHER, by run"]
        );
        assert_eq!(
            differences_after(|document| document.run.cpus.push(CpuId(1))),
            ["threads: 1, not 2 CPUs in run.cpus"]
        );
        let second = |document: &mut Document| {
            document.run.cpus.push(CpuId(1));
            document.threads.push(document.threads[0].clone());
            (document.threads[1].index, document.threads[1].cpu) = (1, CpuId(1));
            document.run.distance_ns = Nanos(500);
        };
        assert_eq!(
            differences_after(second),
            ["threads[1].interval_ns: 500000, not 500500, by run"]
        );
    }

    /// Where samples were lost, only the sum of what was on time or late was looked at.
    #[test]
    fn fewer_late_than_the_samples_have_are_no_account() {
        let differences = |on_time, late, skipped, lost| {
            let mut thread =
                Thread::unmeasured(0, CpuId(0), Scheduling::OTHER, Nanos(1_000), Nanos(0));
            let counted = stats::Activations { due: 9, on_time, late, skipped };
            thread.activations = Some(crate::RowCounts::Planned(counted));
            thread.evidence.samples_lost = lost;
            let rows =
                [Span::Woken(&[10, 2_500]), Span::Missing(3), Span::Woken(&[1_800, 7, 8, 9])];
            let Ok(statistics) = stats::summarise(&rows[..], 1_000, stats::AfterOverrun::Skip, 2);
            let mut differences = Vec::new();
            let mut finder = Finder { part: String::new(), differences: &mut differences };
            accounting(&thread, &statistics, &mut finder);
            differences
        };
        let nothing: [Contradiction; 0] = [];
        assert_eq!(differences(5, 2, 2, 1), nothing);
        assert_eq!(differences(4, 3, 2, 1), nothing);
        assert_eq!(
            differences(6, 1, 2, 1),
            [
                Contradiction::between("activations.on_time", 6, 5),
                Contradiction::between("activations.late", 1, 2)
            ]
        );
        assert_eq!(
            differences(7, 2, 0, 3),
            [
                Contradiction::between("evidence.samples_lost", 3, 1),
                Contradiction::between("activations.on_time", 7, 5),
                Contradiction::between("activations.skipped", 0, 2)
            ],
            "skipped rows said to be lost"
        );
    }

    /// A recording made before nice levels were recorded has none, and a real-time policy never has
    /// one.
    #[test]
    fn a_real_time_policy_has_no_nice_level_and_no_timer_slack() {
        assert_eq!(
            differences_after(|document| assert_eq!(document.threads[0].nice, None)),
            Vec::<String>::new()
        );
        assert_eq!(
            differences_after(|document| document.threads[0].nice = Some(5)),
            ["threads[0].nice: 5, not none under SCHED_FIFO 90"]
        );
        assert_eq!(
            differences_after(|document| document.threads[0].timer_slack_ns = Some(1)),
            ["threads[0].timer_slack_ns: 1, not none under SCHED_FIFO 90"]
        );
    }

    /// What the rights did not allow was not measured with.
    #[test]
    fn threads_without_real_time_rights_have_ordinary_scheduling() {
        let without = |document: &mut Document| document.instrument.real_time = false;
        assert_eq!(
            differences_after(without),
            ["threads[0].scheduling: SCHED_FIFO 90, not SCHED_OTHER, by run"]
        );
        let ordinary = |document: &mut Document| {
            document.instrument.real_time = false;
            document.threads[0].scheduling = Scheduling::OTHER;
        };
        assert_eq!(differences_after(ordinary), Vec::<String>::new());
        let lower = |document: &mut Document| {
            document.instrument.real_time = false;
            document.threads[0].scheduling.prio = Some(20);
        };
        assert_eq!(differences_after(lower), Vec::<String>::new());
        assert_eq!(
            differences_after(|document| document.threads[0].scheduling.prio = Some(20)),
            ["threads[0].scheduling: SCHED_FIFO 20, not SCHED_FIFO 90, by run"]
        );
    }
}
