// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts of a document that no run can have. They are refused where it is read, or every sum of
//! them would have to mind that it may overflow.

use model::{Document, HostFacts, Thread};
use plan::Nanos;

/// Of anything at most: latencies that a thread has at an interval of 1 µs in 285 years, and what a
/// float counts without a gap.
const MAX_COUNT: u64 = 1 << 53;

/// An interval of 104 days, ns.
const MAX_INTERVAL_NS: i64 = 1 << 53;
/// A time of any clock, ns: CLOCK_REALTIME reaches it in the year 2116.
const MAX_TIME_NS: i64 = 1 << 62;

/// The place of an interval or a time that no run can have.
fn too_late(document: &Document) -> Option<String> {
    let is_interval =
        |nanos: Option<Nanos>| nanos.is_none_or(|nanos| (0..=MAX_INTERVAL_NS).contains(&nanos.0));
    let is_time = |nanos: Option<Nanos>| {
        nanos.is_none_or(|nanos| (-MAX_TIME_NS..=MAX_TIME_NS).contains(&nanos.0))
    };
    let of_run = [
        ("run.interval_ns", Some(document.run.interval_ns)),
        ("probe.period_ns", document.probe.period_ns),
    ];
    if let Some((name, _)) = of_run.into_iter().find(|(_, nanos)| !is_interval(*nanos)) {
        return Some(name.to_owned());
    }
    document.threads.iter().enumerate().find_map(|(index, thread)| {
        let wrong = [
            ("interval_ns", !is_interval(Some(thread.interval_ns))),
            ("start_ns", !is_time(Some(thread.start_ns))),
            ("given_up_ns", !is_time(thread.given_up_ns)),
        ];
        let (name, _) = wrong.into_iter().find(|(_, is_wrong)| *is_wrong)?;
        Some(format!("threads[{index}].{name}"))
    })
}

/// The place of a count or a time that no run can have, in one thread or in all of them together.
pub fn too_many(document: &Document) -> Option<String> {
    if let Some(place) = too_late(document) {
        return Some(place);
    }
    let is_too_many =
        |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add) > MAX_COUNT;
    for (index, thread) in document.threads.iter().enumerate() {
        if is_too_many(&mut thread.histogram_ns.buckets.iter().map(|bucket| bucket.count)) {
            return Some(format!("threads[{index}].histogram_ns"));
        }
    }
    for (name, counts) in OF_THREADS {
        if is_too_many(&mut document.threads.iter().flat_map(counts).flatten()) {
            return Some(format!("threads[].{name}"));
        }
    }
    if let Some(processes) = &document.host.processes {
        let known = [Some(processes.own_ms), processes.others_ms, processes.kernel_ms];
        if is_too_many(
            &mut known
                .into_iter()
                .flatten()
                .chain(processes.busiest.iter().map(|busy| busy.cpu_ms)),
        ) {
            return Some("host.processes".to_owned());
        }
    }
    let times = |facts: &HostFacts| {
        is_too_many(&mut facts.cpus.iter().flat_map(|cpu| cpu.time_ms.values().copied()))
    };
    let hosts = [("before", Some(&document.host.before)), ("after", document.host.after.as_ref())];
    let (name, _) = hosts.into_iter().find(|(_, facts)| facts.is_some_and(times))?;
    Some(format!("host.{name}.cpus[].time_ms"))
}

/// What a thread counts of something.
type CountsOf = fn(&Thread) -> Vec<Option<u64>>;

/// By its name in the document.
const OF_THREADS: [(&str, CountsOf); 4] = [
    ("activations", |thread| {
        let counts = thread.activations.map(|counts| counts.all());
        counts
            .into_iter()
            .flat_map(|all| [all.due, all.on_time, all.late, all.skipped].map(Some))
            .collect()
    }),
    ("evidence", |Thread { evidence, .. }| {
        let faults = [evidence.minor_faults, evidence.major_faults];
        let switches = [evidence.voluntary_switches, evidence.involuntary_switches];
        [faults, switches].concat().into_iter().chain([Some(evidence.samples_lost)]).collect()
    }),
    ("polling", |thread| vec![thread.polling.map(|polling| polling.readings)]),
    ("smis", |thread| vec![thread.smis.and_then(|smis| smis.count)]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_json::parse;
    use stats::Bucket;

    #[test]
    fn a_histogram_of_more_than_any_run_has() {
        let mut document =
            parse(include_str!("../../../fuzz/corpus/run_json/before_settling.json")).unwrap();
        let count = |document: &mut Document, counts: [u64; 2]| {
            document.threads[0].histogram_ns.buckets =
                counts.map(|count| Bucket { lower: 5, upper: 5, count }).to_vec();
            parse(&model::document_text(document).unwrap())
        };
        assert!(count(&mut document, [MAX_COUNT - 1, 1]).is_ok());
        for counts in [[MAX_COUNT, 1], [u64::MAX, u64::MAX]] {
            let why = count(&mut document, counts).unwrap_err();
            assert!(why.contains("threads[0].histogram_ns is more than any run can have"), "{why}");
        }
    }

    #[test]
    fn times_that_no_run_has() {
        let document =
            parse(include_str!("../../../fuzz/corpus/run_json/before_settling.json")).unwrap();
        let refused = |change: &dyn Fn(&mut Document)| {
            let mut document = document.clone();
            change(&mut document);
            parse(&model::document_text(&document).unwrap()).err().unwrap_or_default()
        };
        assert_eq!(
            refused(&|document| document.threads[0].interval_ns = Nanos(MAX_INTERVAL_NS)),
            ""
        );
        for nanos in [MAX_INTERVAL_NS + 1, -1] {
            let why = refused(&|document| document.threads[0].interval_ns = Nanos(nanos));
            assert_eq!(why, "threads[0].interval_ns is more than any run can have");
        }
        let why = refused(&|document| document.threads[0].start_ns = Nanos(i64::MAX));
        assert_eq!(why, "threads[0].start_ns is more than any run can have");
    }

    /// Of all threads together, as they are added up.
    #[test]
    fn counts_of_more_than_any_run_has() {
        let document =
            parse(include_str!("../../../fuzz/corpus/run_json/before_settling.json")).unwrap();
        let refused = |change: &dyn Fn(&mut Document)| {
            let mut document = document.clone();
            document.threads.push(Thread {
                samples_file: "samples-1.arrows".to_owned(),
                ..document.threads[0].clone()
            });
            change(&mut document);
            parse(&model::document_text(&document).unwrap()).err().unwrap_or_default()
        };
        assert_eq!(refused(&|_| ()), "");
        let lost = |n: u64| {
            move |document: &mut Document| {
                document.threads.iter_mut().for_each(|thread| thread.evidence.samples_lost = n)
            }
        };
        assert_eq!(refused(&lost(MAX_COUNT / 2 - 1_000_000)), "");
        assert_eq!(
            refused(&lost(MAX_COUNT / 2 + 1)),
            "threads[].evidence is more than any run can have"
        );
        let busy = |document: &mut Document| {
            document.host.before.cpus[0].time_ms.insert("irq".to_owned(), u64::MAX);
        };
        assert_eq!(refused(&busy), "host.before.cpus[].time_ms is more than any run can have");
    }
}
