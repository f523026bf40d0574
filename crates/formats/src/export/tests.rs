// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings in every format: as golden texts, and read again.

use super::*;
use crate::ImportOptions;
use crate::tests::of_file;
use flate2::read::ZlibDecoder;
use model::{Beside, Document, End, HostFacts, RowCounts, State, Thread, fill_in};
use plan::{CpuId, Nanos, Run, Scheduling};
use proptest::prelude::*;
use recording::Folder;
use std::collections::BTreeMap;
use std::io::Read;

const INTERVAL: Nanos = Nanos::from_millis(1);

/// A recording of these latencies of each thread, ns: what an overrun skips is left out by it.
/// Also gives what was measured.
fn recording(folder: &std::path::Path, threads: &[Vec<i64>]) -> (Recording, Vec<Vec<i64>>) {
    let mut document: Document =
        serde_json::from_str(include_str!("../../../../fuzz/corpus/run_json/complete.json"))
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
            .join("src/export/golden")
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
    assert_eq!(json["cmdline:"], "cyclictest -q -t 2 -a0,1 -p 90 -i 1000 -d 0 -h 1000000");
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
        "granularity": "microseconds", "maxima": [2, 0],
        "cores": [[0, 1, 2], [0, 2, 1], [2, 0, 0]],
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

/// Fields of a message, in order: numbers, and bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (tag, rest) = varint(bytes);
        let (number, rest) = varint(rest);
        let length = if tag & 7 == 2 { usize::try_from(number).unwrap() } else { 0 };
        all.push((tag >> 3, number, &rest[..length]));
        bytes = &rest[length..];
    }
    all
}

fn field<'a>(all: &[(u64, u64, &'a [u8])], number: u64) -> Option<(u64, &'a [u8])> {
    all.iter().find(|(field, ..)| *field == number).map(|(_, value, bytes)| (*value, *bytes))
}

/// Time, kind, track, and name or value of each event.
fn events(trace: &[u8]) -> Vec<(u64, u64, u64, String)> {
    let mut all = Vec::new();
    for (_, _, packet) in fields(trace) {
        let packet = fields(packet);
        let Some((_, event)) = field(&packet, 11) else { continue };
        let event = fields(event);
        let number = |of: u64| field(&event, of).unwrap().0;
        let text = match (field(&event, 23), field(&event, 30)) {
            (Some((_, name)), _) => String::from_utf8(name.to_vec()).unwrap(),
            (_, Some((value, _))) => value.cast_signed().to_string(),
            _ => String::new(),
        };
        all.push((field(&packet, 8).unwrap().0, number(9), number(11), text));
    }
    all
}

#[test]
fn a_small_recording_as_a_trace() {
    let place = tempfile::tempdir().unwrap();
    let recording = small(place.path());
    let options = options(Some(60_000));
    let mut out = Vec::new();
    let left_out = export(&recording, export_format("perfetto").unwrap(), &options, &mut out);
    assert_eq!(left_out.unwrap(), [SKIPPED]);
    let events = events(&out);
    let slices: Vec<_> = events.iter().filter(|event| event.1 != 4).cloned().collect();
    let (first, second) = (7_002_000_000, 7_003_000_000);
    assert_eq!(
        slices,
        [
            (first, 1, 1, "2007.300 us".to_owned()),
            (first + 2_007_300, 2, 1, String::new()),
            (second, 1, 3, "70.000 us".to_owned()),
            (second + 70_000, 2, 3, String::new()),
        ]
    );
    let counted: Vec<&str> =
        events.iter().filter(|event| event.2 == 4).map(|event| event.3.as_str()).collect();
    assert_eq!(counted, ["1500", "-2500", "3000", "70000", "3100", "3200", "900"]);
    let tracks: Vec<String> = fields(&out)
        .iter()
        .filter_map(|(_, _, packet)| field(&fields(packet), 60))
        .map(|(_, track)| String::from_utf8(field(&fields(track), 2).unwrap().1.to_vec()).unwrap())
        .collect();
    let names = ["thread 0, CPU 0", "latency of thread 0, CPU 0"];
    assert_eq!(tracks[..2], names);
}

/// Of many latencies the extremes stay, and of slices the largest thousand.
#[test]
fn a_long_trace_keeps_its_extremes() {
    let place = tempfile::tempdir().unwrap();
    let mut latencies: Vec<i64> = (0..250_000).map(|row| 2_000 + row * 7_919 % 5_000).collect();
    (latencies[123_456], latencies[234_567]) = (900_000, 17);
    let (recording, _) = recording(place.path(), &[latencies]);
    let all = events(&written(&recording, "perfetto").0);
    assert_eq!(all.iter().filter(|event| event.1 == 1).count(), 1_000);
    let values: Vec<i64> =
        all.iter().filter(|event| event.1 == 4).map(|event| event.3.parse().unwrap()).collect();
    assert!((90_000..=100_000).contains(&values.len()), "{}", values.len());
    assert_eq!((values.iter().min(), values.iter().max()), (Some(&17), Some(&900_000)));
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

/// Quotes, and characters that would steer a terminal.
#[test]
fn texts_of_a_stranger_stay_texts() {
    let place = tempfile::tempdir().unwrap();
    let (recording, _) = recording(place.path(), &[vec![1_000]]);
    let mut document = recording.document().clone();
    let name = "a \"b\" \\ \u{1b}[2J\n\u{202e}";
    document.host.before.hostname = Some(name.to_owned());
    document.probe.columns[0].meaning = name.into();
    let changed = Recording::from_document(&recording.shown_path(), document);
    for (format, place) in [("cyclictest-json", "/sysinfo/nodename"), ("osadl", "/system/hostname")]
    {
        let text = text(&changed, format);
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json.pointer(place).unwrap(), name);
    }
    let metrics = text(&changed, "openmetrics");
    let help = metrics.lines().nth(2).unwrap();
    let escaped = "a \\\"b\\\" \\\\ \u{1b}[2J\\n\\\\u202e";
    assert_eq!(help, format!("# HELP teiji_latency_seconds {escaped}"));
}

/// An event has no cycle and no planned time, and jitter is no latency.
#[test]
fn what_a_format_cannot_hold_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let recording = small(place.path());
    let refused = |change: fn(&mut Document), name: &str| {
        let mut document = recording.document().clone();
        change(&mut document);
        let changed = Recording::from_document(&recording.shown_path(), document);
        let format = export_format(name).unwrap();
        export(&changed, format, &options(None), &mut Vec::new()).unwrap_err().to_string()
    };
    for name in ["cyclictest-histogram", "cyclictest-json", "osadl"] {
        let why = refused(|document| document.probe.quantity = Quantity::Jitter, name);
        assert_eq!(why, format!("{name} holds latencies of activations only: this has none"));
    }
    let why = refused(|document| document.probe.overrun_column = None, "perfetto");
    assert_eq!(why, "perfetto holds activations with planned times only: this has none");
    let wide = |document: &mut Document| {
        for thread in &mut document.threads {
            let bucket = stats::Bucket { lower: 900, upper: 4_000, count: 3 };
            (thread.detail, thread.histogram_ns.buckets) = (Detail::Histogram, vec![bucket]);
        }
    };
    let narrow = |document: &mut Document| {
        for thread in &mut document.threads {
            let bucket = stats::Bucket { lower: 3_000, upper: 3_000, count: 3 };
            (thread.detail, thread.histogram_ns.buckets) = (Detail::Histogram, vec![bucket]);
        }
    };
    for name in ["perfetto", "parquet"] {
        assert!(refused(narrow, name).ends_with("holds no samples"));
    }
    let where_of = "cannot say where in 900 to 4000 ns latencies were";
    let no_unit = |document: &mut Document| {
        let text = "# Histogram\n000003 000002\n# Max Latencies: 00003\n";
        *document = crate::tests::imported(text).remove(0).document;
    };
    for name in ["cyclictest-json", "osadl", "hdrhistogram", "openmetrics"] {
        let why = refused(no_unit, name);
        let states = format!("{name} states the unit of its times, and the output");
        assert!(why.starts_with(&states) && why.ends_with("again with --unit"), "{why}");
        assert_eq!(refused(wide, name), format!("thread 0: {name} {where_of}"));
    }
}

/// An imported histogram with overflows was refused.
#[test]
fn values_beyond_a_histogram_are_overflows_of_cyclictest() {
    let text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000003 000002\t000005\n000009 \
                000001\t000000\n# Min Latencies: 00003 00003\n# Avg Latencies: 00025 00003\n# Max \
                Latencies: 00083 00003\n# Histogram Overflows: 00001 00000\n";
    let in_us = ImportOptions { unit_ns: Some(1_000), ..ImportOptions::default() };
    let recorded = of_file(text.as_bytes(), in_us).unwrap().remove(0);
    let recording = Recording::from_document(&recorded.path, recorded.document);
    let written = |name: &str| {
        let mut out = Vec::new();
        let format = export_format(name).unwrap();
        let left_out = export(&recording, format, &options(None), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), left_out)
    };
    let (histogram, left_out) = written("cyclictest-histogram");
    let expected = "# Histogram\n000003 000002\t000005\n000009 000001\t000000\n# Min Latencies: \
                    00003 00003\n# Avg Latencies: 00025 00003\n# Max Latencies: 00083 00003\n# \
                    Histogram Overflows: 00001 00000\n";
    assert!(histogram.starts_with(expected), "{histogram}");
    assert!(!left_out.join(" ").contains("histogram"), "{left_out:?}");
    let (json, left_out) = written("cyclictest-json");
    assert!(json.contains("\"cycles\": 4") && json.contains("\"max\": 83"), "{json}");
    assert!(left_out.contains(&"1 latency beyond the histogram".to_owned()), "{left_out:?}");
    let (osadl, left_out) = written("osadl");
    assert!(left_out.contains(&"1 latency outside of 0 to 9 us".to_owned()), "{left_out:?}");
    let again = crate::tests::imported(&osadl).remove(0).document;
    let largest = again.threads.iter().map(|thread| thread.latency_ns.unwrap().max);
    assert_eq!(largest.collect::<Vec<_>>(), [83_000, 3_000]);
}

/// The mean was that of the buckets.
#[test]
fn what_another_program_stated_is_exported() {
    let recorded =
        crate::tests::imported(include_str!("../samples/rteval-cyclictest.xml")).remove(0);
    let means = |document: &Document| -> Vec<f64> {
        document.threads.iter().map(|thread| thread.latency_ns.unwrap().mean).collect()
    };
    assert_eq!(means(&recorded.document), [2_100.0, 1_500.0]);
    let recording = Recording::from_document(&recorded.path, recorded.document);
    let json = text(&recording, "cyclictest-json");
    assert_eq!(means(&crate::tests::imported(&json)[0].document), [2_100.0, 1_500.0]);
    let histogram = text(&recording, "cyclictest-histogram");
    assert!(histogram.contains("# Avg Latencies: 00002 00001\n"), "{histogram}");
    let metrics = text(&recording, "openmetrics");
    assert!(
        metrics.contains("_sum{recording=\"night \\\"1\\\"\",thread=\"0\",cpu=\"0\"} 1.26\n"),
        "{metrics}"
    );
}

/// Nobody ran `-i 0` without a priority, and it hangs a machine.
#[test]
fn what_is_not_known_is_not_invented() {
    let text = "# Histogram\n000003 000002\n000009 000001\n# Min Latencies: 00003\n\
                # Avg Latencies: 00005\n# Max Latencies: 00009\n# Histogram Overflows: 00000\n";
    let in_us = ImportOptions { unit_ns: Some(1_000), ..ImportOptions::default() };
    let recorded = of_file(text.as_bytes(), in_us).unwrap().remove(0);
    let unknown = recorded.document.imported.clone().unwrap().unknown;
    let recording = Recording::from_document(&recorded.path, recorded.document);
    let written = |recording: &Recording, name: &str| {
        let mut out = Vec::new();
        let format = export_format(name).unwrap();
        let left_out = export(recording, format, &options(None), &mut out).unwrap();
        (String::from_utf8(out).unwrap(), left_out.join(", "))
    };
    for name in ["cyclictest-json", "osadl"] {
        let (json, left_out) = written(&recording, name);
        assert!(left_out.contains("the command line, which is not known"), "{left_out}");
        for invented in [" -i ", "interval", "realtime", "start_time", "end_time", "clock"] {
            assert!(!json.contains(invented), "{invented}: {json}");
        }
        let again = crate::tests::imported(&json).remove(0);
        let again = (again.document.imported.unwrap().unknown, again.document.host.before);
        assert_eq!(again, (unknown.clone(), HostFacts::default()));
    }
    let (log, left_out) = written(&recording, "hdrhistogram");
    assert!(!log.contains("StartTime:") && left_out.contains("the length of the run"), "{log}");
    let place = tempfile::tempdir().unwrap();
    let small = small(place.path());
    let mut document = small.document().clone();
    document.run.interval_ns = Nanos(500);
    let short = Recording::from_document(&small.shown_path(), document);
    assert!(written(&short, "osadl").0.contains("\"cyclictest\":\"\""), "0 us would hang");
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
        for name in ["cyclictest-histogram", "cyclictest-json", "osadl"] {
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

    /// The same of formats that nothing here imports, and as an outsider reads an RT Dataset.
    #[test]
    fn every_value_is_in_a_bucket(threads in latencies()) {
        let place = tempfile::tempdir().unwrap();
        let (recording, measured) = recording(place.path(), &threads);
        let logged = hdr(&text(&recording, "hdrhistogram"));
        let osadl: serde_json::Value = serde_json::from_str(&text(&recording, "osadl")).unwrap();
        let metrics = text(&recording, "openmetrics");
        for (index, measured) in measured.iter().enumerate() {
            let mut expected = BTreeMap::new();
            for ns in measured {
                // Three digits: ranges of 2,048 values, then of twice as many.
                let step = (0..).map(|n| 1_i64 << n).find(|step| ns / step < 2_048).unwrap();
                *expected.entry(ns / step * step).or_insert(0_u64) += 1;
            }
            prop_assert_eq!(&logged[index], &expected);
            let array = |at: usize| osadl["latency"]["cores"][at].as_array().unwrap();
            let counts = array(index + 1);
            prop_assert_eq!(counts.len(), array(0).len());
            for ((us, class), count) in (0_i64..).zip(array(0)).zip(counts) {
                prop_assert_eq!(class, us);
                let found = measured.iter().filter(|ns| **ns / 1_000 == us).count();
                prop_assert_eq!(count.as_u64(), Some(found as u64));
            }
            let max = measured.iter().max().unwrap() / 1_000;
            prop_assert_eq!(&osadl["latency"]["maxima"][index], max);
            let thread = format!("thread=\"{index}\"");
            let of = |name: &str, also: &str| {
                let mut lines = metrics.lines().filter(|line| {
                    line.starts_with(name) && line.contains(&thread) && line.contains(also)
                });
                lines.next().unwrap().rsplit(' ').next().unwrap().to_owned()
            };
            let within = measured.iter().filter(|ns| **ns <= 16_000).count();
            let bucket = of("teiji_latency_seconds_bucket{", "le=\"1.6e-05\"");
            prop_assert_eq!(bucket, within.to_string());
            prop_assert_eq!(of("teiji_latency_seconds_count{", ""), measured.len().to_string());
            let sum: f64 = of("teiji_latency_seconds_sum{", "").parse().unwrap();
            prop_assert!((sum * 1e9 - measured.iter().sum::<i64>() as f64).abs() < 1.0);
        }
    }
}
