// SPDX-License-Identifier: MIT OR Apache-2.0
//! What tests of all importers need.

use super::*;
use model::{Document, Recorded, Said};
use recording::{Recording, verify};
use std::fmt::Write;

/// The recordings that are made of a text, each of which agrees with itself.
pub(crate) fn imported(text: &str) -> Vec<Recorded> {
    of_file(text.as_bytes(), ImportOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Why a text is not imported.
pub(crate) fn refused(text: &str) -> String {
    match of_file(text.as_bytes(), ImportOptions::default()) {
        Ok(found) => panic!("{} outputs were read", found.len()),
        Err(error) => error.to_string(),
    }
}

/// Of each thread how many there are, the smallest, the mean and the largest, ns.
pub(crate) fn figures(document: &Document) -> Vec<(u64, i64, f64, i64)> {
    let of = |thread: &model::Thread| {
        let of = thread.latency_ns.unwrap();
        (of.count, of.min, of.mean, of.max)
    };
    document.threads.iter().map(of).collect()
}

/// The same of any file, read in some way.
pub(crate) fn of_file(
    content: &[u8],
    options: ImportOptions,
) -> Result<Vec<Recorded>, ImportError> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("output.txt");
    std::fs::write(&file, content).unwrap();
    let to = place.path().join("to");
    std::fs::create_dir(&to).unwrap();
    let found = import(&file, &to, "0.0.0", options)?;
    Ok(found
        .iter()
        .map(|one| {
            let recorded = Recording::open(&one.recording).unwrap().summarise().unwrap();
            assert_eq!(verify(&recorded), Vec::new(), "{}", one.recording.display());
            recorded
        })
        .collect())
}

/// Programs that load a machine print into the same log as those that measure.
#[test]
fn outputs_without_latencies() {
    let hackbench = "$ hackbench\nRunning in process mode with 10 groups using 40 file descriptors \
                     each (== 400 tasks)\nEach sender will pass 50 messages of 100 \
                     bytes\nTime: 0.358\n";
    assert_eq!(refused(hackbench), "line 2: hackbench prints no latencies");
    assert_eq!(
        refused("Total inversion performed: 113965\nTest Duration: 0 days, 0 hours\n"),
        "line 1: pi_stress prints no latencies"
    );
    assert_eq!(refused("forktest#3/8631/8640: STARTING\n"), "line 1: ssdd prints no latencies");
    let measured = "T: 0 (11999) P:80 I:1000 C: 9 Min: 20 Act: 20 Avg: 109 Max: 192\n";
    assert_eq!(imported(&format!("{hackbench}{measured}")).len(), 1);
}

/// However many threads and outputs it has.
#[test]
fn lost_samples_of_a_whole_file() {
    let mut text = String::new();
    for thread in 0..20 {
        for cycle in [0, 1, 150_000] {
            text += &format!("{thread:8}:{cycle:8}:{:8}\n", 7);
        }
    }
    let why = refused(&text);
    assert!(why.starts_with("line 1: nearly all samples are lost: 20"), "{why}");
}

#[test]
fn names_are_cut_in_bytes() {
    let output = |member: Option<&str>| FoundOutput {
        format: "",
        member: member.map(str::to_owned),
        line: 7,
        part: "irq",
        recording: PathBuf::new(),
    };
    let long = "\u{1f980}".repeat(200);
    for member in [None, Some(long.as_str())] {
        let name = shown_name(&long, &output(member), 2);
        assert!(name.len() <= 100 + "-7-irq".len(), "{} bytes", name.len());
        assert!(name.ends_with("-7-irq"));
    }
    assert_eq!(shown_name("a.txt", &output(None), 1), "a.txt-irq");
}

/// The buckets of a thread, both ends and how many.
pub(crate) fn buckets(document: &Document, thread: usize) -> Vec<(i64, i64, u64)> {
    let all = document.threads[thread].histogram_ns.buckets.iter();
    all.map(|bucket| (bucket.lower, bucket.upper, bucket.count)).collect()
}

/// What an output says of this.
pub(crate) fn says(document: &Document, what: &str) -> String {
    let all = &document.imported.as_ref().unwrap().says;
    let found = all.iter().find(|said| said.what == what);
    found.unwrap_or_else(|| panic!("{what} is not among {all:?}")).text.clone()
}

/// A recording that is made can be read again.
#[test]
fn what_no_run_can_have_is_refused() {
    let line = |interval: &str, max: &str| {
        format!("T: 0 (1) P:80 I:{interval} C: 9 Min: 1 Act: 2 Avg: 3 Max: {max}\n")
    };
    assert_eq!(imported(&line("1000", "5")).len(), 1);
    assert_eq!(
        refused(&line("9100000000000", "5")),
        "line 1: run.interval_ns is more than any run can have"
    );
    assert_eq!(
        refused(&line("1000", "90000000000000")),
        "line 1: thread 0: no latency is so large"
    );
    let samples = "       0:       0:90000000000000\n       0:       1:       7\n";
    assert_eq!(refused(samples), "line 1: thread 0: no latency is so large");
}

/// Sums of what a stranger wrote do not overflow.
#[test]
fn intervals_too_far_apart_are_refused() {
    let line = |thread: usize, interval: &str| {
        format!("T: {thread} (1) P:80 I:{interval} C: 9 Min: 1 Act: 2 Avg: 3 Max: 5\n")
    };
    let text = format!("{}{}", line(0, "-9000000000000000"), line(1, "9000000000000000"));
    assert_eq!(refused(&text), "line 1: run.interval_ns is more than any run can have");
}

#[test]
fn buckets_that_add_up_to_more_than_any_run_are_refused() {
    let most = "5,9007199254740992\n".repeat(2_049);
    assert_eq!(
        refused(&format!("latency_us,count\n{most}")),
        "line 1: thread 0: the histogram holds more than any run"
    );
}

#[test]
fn values_beyond_a_histogram_that_no_latency_can_have_are_refused() {
    let text = "# Histogram\n000001 000005\n9100000000000 000000\n# Total: 000000005\n\
                # Min Latencies: 00001\n# Avg Latencies: 00001\n# Max Latencies: 00001\n\
                # Histogram Overflows: 00002\n";
    assert_eq!(refused(text), "line 1: thread 0: no latency is so large");
}

#[test]
fn files_that_are_cut_within_a_number() {
    let why = |line: u64| {
        format!(
            "line {line}: the last line has no end: the file may be cut within a number; add a \
             line end if it is whole"
        )
    };
    let thread = "T: 0 (1) P:80 I:1000 C: 9 Min: 1 Act: 2 Avg: 3 Max: 192";
    let samples = "       0:       0:      90\n       0:       1:       7";
    let column = "latency_us\n1\n2\n1\n3\n1\n29";
    let rows = "000001,000000\n000002,000000\n000003,000001\n000004,000000\n000005,000012";
    for (text, line) in [(thread, 1), (samples, 2), (column, 7), (rows, 5)] {
        assert_eq!(refused(text), why(line));
        assert_eq!(imported(&format!("{text}\n")).len(), 1);
        assert_eq!(imported(&format!("{text}\n\nThe log ends at 12")).len(), 1);
    }
}

/// Of each sample what is recorded of it: each figure that it states is among the figures of its
/// threads, or in what it says.
#[test]
fn what_is_kept_of_each_sample() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<PathBuf> = std::fs::read_dir(place.join("samples"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort_unstable();
    let mut kept = String::new();
    for file in &files {
        let name = file.file_name().unwrap().to_string_lossy();
        let _ = writeln!(kept, "# {name}");
        match of_file(&std::fs::read(file).unwrap(), ImportOptions::default()) {
            Ok(all) => all.iter().for_each(|one| what_is_kept(&one.document, &mut kept)),
            Err(error) => drop(writeln!(kept, "refused: {error}")),
        }
    }
    let golden = place.join("golden/samples.txt");
    if std::env::var_os("TEIJI_WRITE_GOLDEN").is_some() {
        std::fs::write(&golden, &kept).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    for (at, (kept, expected)) in kept.lines().zip(expected.lines()).enumerate() {
        assert_eq!(kept, expected, "line {} of {}", at + 1, golden.display());
    }
    assert_eq!(kept.len(), expected.len());
}

/// A recording in a few lines.
fn what_is_kept(document: &Document, kept: &mut String) {
    let imported = document.imported.as_ref().unwrap();
    let version = imported.version.iter().chain(&imported.ran_by).chain(&imported.load);
    let version: String = version.map(|text| format!(", {text}")).collect();
    let unknown = serde_json::to_string(&imported.unknown).unwrap().replace('"', "");
    let _ = writeln!(kept, "{}{version}; without {unknown}", document.probe.name);
    for thread in document.threads.iter().take(4) {
        let figures = thread.latency_ns.map_or_else(
            || "nothing".to_owned(),
            |of| {
                let sd = of.sd.map_or_else(String::new, |sd| format!(", sd {sd:.3}"));
                let quantiles = of.quantiles().into_iter().flatten().map(|ns| format!(" {ns}"));
                let quantiles: String = quantiles.collect();
                let (count, min, mean, max) = (of.count, of.min, of.mean, of.max);
                format!("{count} of {min} to {max}, mean {mean:.3}{sd}; quantiles{quantiles}")
            },
        );
        let buckets = thread.histogram_ns.buckets.len();
        let cpu = document.probe.cpu_text(thread);
        let _ = writeln!(
            kept,
            "  thread {} {cpu}: {figures}; {buckets} buckets, every {}, {}",
            thread.index, thread.interval_ns, thread.scheduling
        );
    }
    for Said { what, text } in imported.says.iter().take(40) {
        let _ = writeln!(kept, "  {what}: {text}");
    }
    for warning in &document.warnings {
        let _ = writeln!(kept, "  ! {}", serde_json::to_string(warning).unwrap());
    }
}
