// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings in every format: as golden texts, and read again.

use super::*;
use crate::Folder;
use crate::formats::ImportOptions;
use crate::formats::tests::of_file;
use flate2::read::ZlibDecoder;
use model::{Beside, Document, End, RowCounts, State, Thread, fill_in};
use plan::{CpuId, Nanos, Run, Scheduling};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Read;

const INTERVAL: Nanos = Nanos::from_millis(1);

/// A recording of these latencies of each thread, ns: what an overrun skips is left out by it.
/// Also gives what was measured.
fn recording(folder: &std::path::Path, threads: &[Vec<i64>]) -> (Recording, Vec<Vec<i64>>) {
    let mut document: Document =
        serde_json::from_str(include_str!("../../../../../fuzz/corpus/run_json/complete.json"))
            .unwrap();
    document.run = Run {
        cpus: (0..).map(CpuId).take(threads.len()).collect(),
        ..Run::example(INTERVAL, threads[0].len() as u64)
    };
    document.threads = (0..threads.len())
        .map(|index| Thread {
            pinned: true,
            ..Thread::unmeasured(
                index,
                CpuId(u32::try_from(index).unwrap()),
                Scheduling::DEFAULT,
                INTERVAL,
                Nanos::from_secs(7),
            )
        })
        .collect();
    document.state = State::Running;
    let path = folder.join("night.teiji");
    let mut folder = Folder::create(&path, &document).unwrap();
    folder.begin(&document).unwrap();
    let mut measured = Vec::new();
    for (thread, latencies) in document.threads.iter().zip(threads) {
        let mut samples = folder.samples(thread, &document.probe).unwrap();
        let mut written = Vec::new();
        let mut row = 0;
        while row < latencies.len() {
            samples.extend(row as u64, &latencies[row..=row]).unwrap();
            written.push(latencies[row]);
            row += 1 + usize::try_from(latencies[row].max(0) / INTERVAL.0).unwrap();
        }
        samples.finish(latencies.len() as u64).unwrap();
        measured.push(written);
    }
    (document.state, document.end) = (State::Complete, Some(End::Done));
    let mut recorded = Recording::from_document(folder.path(), document).summarise().unwrap();
    for (thread, statistics) in recorded.document.threads.iter_mut().zip(&recorded.threads) {
        fill_in(thread, &recorded.document.probe, statistics, &Beside::default());
        thread.activations = Some(RowCounts::Planned(statistics.activations));
    }
    folder.finish(&recorded.document).unwrap();
    (Recording::open(&path).unwrap(), measured)
}

fn options(above_ns: Option<i64>) -> ExportOptions {
    let shown = |text: &str| text.replace('\u{202e}', "\\u202e");
    ExportOptions { name: String::new(), written_at: String::new(), above_ns, shown }
}

fn written(recording: &Recording, name: &str) -> (Vec<u8>, Vec<String>) {
    let options = ExportOptions {
        name: "night \"1\"".to_owned(),
        written_at: "2026-11-28T12:00:00Z".to_owned(),
        ..options(None)
    };
    let mut out = Vec::new();
    let left_out = export(recording, export_format(name).unwrap(), &options, &mut out);
    (out, left_out.unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn text(recording: &Recording, name: &str) -> String {
    String::from_utf8(written(recording, name).0).unwrap()
}

/// Two threads: the first with an overrun, the second woken early once.
fn small(folder: &std::path::Path) -> Recording {
    let threads = [
        vec![2_900, 1_000, 2_007_300, 0, 0, 4_000, 4_999],
        vec![1_500, -2_500, 3_000, 70_000, 3_100, 3_200, 900],
    ];
    recording(folder, &threads).0
}

const SKIPPED: &str = "2 skipped activations";
const EARLY: &str = "1 latency below 0 us (overflows there)";

/// What each text format is of the small recording: `TEIJI_WRITE_GOLDEN=1` writes them again.
#[test]
fn a_small_recording_in_each_text_format() {
    let place = tempfile::tempdir().unwrap();
    let small = small(place.path());
    for format in EXPORT_FORMATS.iter().filter(|format| !format.is_binary) {
        let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/formats/export/golden")
            .join(format!("{}.txt", format.name));
        let text = text(&small, format.name);
        if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&golden).unwrap(), "{}", format.name);
    }
    assert_eq!(written(&small, "cyclictest-histogram").1, [SKIPPED, EARLY]);
}

#[test]
fn a_small_recording_as_cyclictest_json() {
    let place = tempfile::tempdir().unwrap();
    let (out, left_out) = written(&small(place.path()), "cyclictest-json");
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["rt_test_version:"], "2.90");
    assert_eq!(json["cmdline:"], "cyclictest -q -t 2 -a 0,1 -p 90 -i 1000 -d 0 -h 1000000");
    assert_eq!(json["start_time"], "Fri, 20 Nov 2026 12:07:35 +0000");
    assert_eq!(json["sysinfo"]["realtime"], 1);
    let first = serde_json::json!({
        "histogram": {"1": 1, "2": 1, "4": 2, "2007": 1}, "cycles": 5, "min": 1, "max": 2007,
        "avg": 403.6, "cpu": 0, "node": -1,
    });
    assert_eq!(json["thread"]["0"], first);
    assert_eq!(left_out, [SKIPPED, EARLY]);
}

#[test]
fn a_small_recording_as_osadl_has_it() {
    let place = tempfile::tempdir().unwrap();
    let recording = recording(place.path(), &[vec![2_900, 1_000, 1_999], vec![900, 0, -1_000]]).0;
    let (out, left_out) = written(&recording, "osadl");
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["format"], serde_json::json!({ "name": "RT Dataset", "version": "1.0" }));
    assert_eq!(json["timestamps"]["dataset"], "2026-11-28T12:00:00Z");
    assert_eq!(json["system"]["hostname"], "board");
    assert_eq!(json["condition"]["load"], "idle");
    assert_eq!(
        (&json["condition"]["cycles"], &json["condition"]["interval"]),
        (&3.into(), &1000.into())
    );
    let latency = serde_json::json!({
        "granularity": 1, "maxima": [2, 0], "cores": [[0, 2, 1], [2, 0, 0]],
    });
    assert_eq!(json["latency"], latency);
    assert_eq!(left_out, ["1 latency outside of 0 to 999999 us"]);
}

#[test]
fn a_small_recording_as_openmetrics() {
    let place = tempfile::tempdir().unwrap();
    let (out, left_out) = written(&small(place.path()), "openmetrics");
    let text = String::from_utf8(out).unwrap();
    let labels =
        |thread: u32| format!("recording=\"night \\\"1\\\"\",thread=\"{thread}\",cpu=\"{thread}\"");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "# TYPE teiji_latency_seconds histogram",
            "# UNIT teiji_latency_seconds seconds",
            "# HELP teiji_latency_seconds from the planned time until the thread runs again",
        ]
    );
    let has = |line: String| assert!(lines.contains(&line.as_str()), "{line}\n{text}");
    let name = "teiji_latency_seconds";
    has(format!("{name}_bucket{{{},le=\"1e-06\"}} 1", labels(0)));
    has(format!("{name}_bucket{{{},le=\"4e-06\"}} 3", labels(0)));
    has(format!("{name}_bucket{{{},le=\"+Inf\"}} 5", labels(0)));
    has(format!("{name}_count{{{}}} 5", labels(0)));
    has(format!("{name}_sum{{{}}} 0.002020199", labels(0)));
    has(format!("{name}_bucket{{{},le=\"1e-06\"}} 2", labels(1)));
    has(format!("teiji_latency_max_seconds{{{}}} 0.0020073", labels(0)));
    has(format!("teiji_late_activations{{{}}} 1", labels(0)));
    has(format!("teiji_skipped_activations{{{}}} 2", labels(0)));
    has(format!("teiji_lost_samples{{{}}} 0", labels(1)));
    assert_eq!(lines.last(), Some(&"# EOF"));
    assert_eq!(left_out, ["1 value below 0 (in the first bucket there)"]);
}

/// A number of protobuf, and how long it is.
fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0).unwrap() + 1;
    let bits = |value, byte: &u8| value << 7 | u64::from(byte & 0x7f);
    (bytes[..end].iter().rev().fold(0, bits), &bytes[end..])
}

/// What a log of `HdrHistogram` says of each thread: counts by the smallest value of a bucket.
fn hdr(log: &str) -> Vec<BTreeMap<i64, u64>> {
    let value = |at: i64| {
        let range = (at >> 10).max(1) - 1;
        if at < 2_048 { at } else { ((at & 1_023) + 1_024) << range }
    };
    let one = |line: &str| {
        const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let text = line.rsplit(',').next().unwrap().trim_end_matches('=');
        let mut bits = 0_u32;
        let mut bytes = Vec::new();
        for (at, letter) in text.chars().enumerate() {
            bits = bits << 6 | u32::try_from(LETTERS.find(letter).unwrap()).unwrap();
            if at % 4 > 0 {
                bytes.push(u8::try_from(bits >> (6 - at % 4 * 2) & 0xff).unwrap());
            }
        }
        assert_eq!(bytes[..4], [0x1c, 0x84, 0x93, 0x14]);
        let mut plain = Vec::new();
        ZlibDecoder::new(&bytes[8..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain[..4], [0x1c, 0x84, 0x93, 0x13]);
        let mut rest = &plain[40..];
        assert_eq!(plain[4..8], u32::try_from(rest.len()).unwrap().to_be_bytes());
        let (mut counts, mut at) = (BTreeMap::new(), 0);
        while !rest.is_empty() {
            let number;
            (number, rest) = varint(rest);
            if number & 1 == 1 {
                at += i64::try_from(number.div_ceil(2)).unwrap();
            } else {
                counts.extend((number > 0).then_some((value(at), number / 2)));
                at += 1;
            }
        }
        counts
    };
    log.lines().filter(|line| line.starts_with("Tag=")).map(one).collect()
}

#[test]
fn a_small_recording_as_an_hdr_log() {
    let place = tempfile::tempdir().unwrap();
    let (out, left_out) = written(&small(place.path()), "hdrhistogram");
    let log = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines[0], "#[Histogram log format version 1.3]");
    let start = "#[StartTime: 1795176455.191 (seconds since epoch), 2026-11-20T12:07:35.191Z]";
    assert_eq!(lines[1], start);
    assert!(lines[3].starts_with("Tag=thread0,0.000,0.204,2.007300,HISTFAAAA"), "{log}");
    assert_eq!(
        hdr(&log)[0],
        [(1_000, 1), (2_900, 1), (4_000, 1), (4_996, 1), (2_007_040, 1)].into()
    );
    assert_eq!(left_out, [SKIPPED, "1 value below 0 (0 there)"]);
}

/// Each thread's latencies, ns.
fn latencies() -> impl Strategy<Value = Vec<Vec<i64>>> {
    let latency = prop_oneof![20 => 0..30_000_i64, 2 => 0..3_000_000_i64, 1 => Just(0_i64)];
    (1..4_usize).prop_flat_map(move |threads| {
        prop::collection::vec(prop::collection::vec(latency.clone(), 60), threads)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What is imported again has the figures of the recording, in µs.
    #[test]
    fn an_importer_reads_the_same_figures(threads in latencies()) {
        let place = tempfile::tempdir().unwrap();
        let (recording, measured) = recording(place.path(), &threads);
        let own = recording.clone().summarise().unwrap();
        for name in ["cyclictest-histogram", "cyclictest-json"] {
            let text = text(&recording, name);
            let again = of_file(text.as_bytes(), ImportOptions::default()).unwrap();
            prop_assert_eq!(again.len(), 1);
            prop_assert_eq!(again[0].document.warnings.len(), 0);
            for (index, measured) in measured.iter().enumerate() {
                let own = own.threads[index].latency.unwrap();
                let read = again[0].threads[index].latency.unwrap();
                let floor = |ns: i64| ns / 1_000 * 1_000;
                prop_assert_eq!(read.count, own.count);
                prop_assert_eq!((read.min, read.max), (floor(own.min), floor(own.max)));
                let mut expected = BTreeMap::new();
                for ns in measured {
                    *expected.entry(floor(*ns)).or_insert(0_u64) += 1;
                }
                let buckets = &again[0].document.threads[index].histogram_ns.buckets;
                let buckets = buckets.iter().map(|one| (one.lower, one.count));
                prop_assert_eq!(buckets.collect::<BTreeMap<_, _>>(), expected);
            }
        }
    }
}
