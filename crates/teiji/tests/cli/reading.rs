// SPDX-License-Identifier: MIT OR Apache-2.0
//! `show`, `verify` and `report`: what lies on the disk is read again, and nothing that was changed
//! there passes for what was measured.

use crate::support::document::Document;
use crate::support::{NAMES, Output, TestFolder, beside_others, copy_recording};
use serde_json::{Value, json};
use std::fs::{read, write};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Two short recordings, made once, kept while any test looks at them.
fn measured() -> Arc<TestFolder> {
    static PLACE: Mutex<Weak<TestFolder>> = Mutex::new(Weak::new());
    let mut known = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    known.upgrade().unwrap_or_else(|| {
        let _turn = beside_others();
        let place = Arc::new(TestFolder::new());
        place.well("measure -i 1ms -n 250 --title one -o one.teiji");
        place.well("measure -i 1ms -n 250 --title two -o two.teiji");
        *known = Arc::downgrade(&place);
        place
    })
}

/// A copy of a recording that may be spoiled.
fn copy(name: &str) -> TestFolder {
    copy_of(&measured(), name)
}

fn copy_of(original: &TestFolder, name: &str) -> TestFolder {
    let place = TestFolder::new();
    copy_recording(&original.join(name), &place.join("x.teiji"));
    place
}

/// A copy whose document says something else.
fn changed(change: impl FnOnce(&mut Value)) -> TestFolder {
    let place = copy("one.teiji");
    let Document(mut value) = place.document("x.teiji");
    change(&mut value);
    write(place.join("x.teiji/run.json"), value.to_string()).unwrap();
    place
}

fn assert_refused(output: &Output, names: &[&str]) {
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(names.iter().all(|name| output.err.contains(name)), "{names:?} in {}", output.err);
}

/// The next command named it as a flag, and a debug build panicked.
#[test]
fn a_path_that_looks_like_a_flag_is_shown() {
    let place = TestFolder::new();
    copy_recording(&measured().join("one.teiji"), &place.join("-x"));
    let next = |output: Output| output.out.lines().last().map(str::to_owned);
    assert_eq!(next(place.well("show -- -x")).as_deref(), Some("Next: teiji report ./-x"));
}

#[test]
fn a_fresh_recording_is_in_order() {
    let place = measured();
    let output = place.well("verify one.teiji two.teiji");
    let lines: Vec<&str> = output.out.lines().collect();
    assert!(
        lines.len() == 2 && lines[0].starts_with("one.teiji: every figure agrees with its "),
        "{output:?}"
    );
    // The document may be written anew in another form; what counts is what it says.
    changed(|_| ()).well("verify x.teiji");
}

/// Each figure, changed alone, is found and named.
#[test]
fn a_changed_figure_is_named() {
    let figures = [
        "/threads/0/activations/due",
        "/threads/0/activations/on_time",
        "/threads/0/activations/late",
        "/threads/0/activations/skipped",
        "/threads/0/latency_ns/count",
        "/threads/0/latency_ns/min",
        "/threads/0/latency_ns/mean",
        "/threads/0/latency_ns/sd",
        "/threads/0/latency_ns/max",
        "/threads/0/latency_ns/p50",
        "/threads/0/latency_ns/p9999",
        "/threads/0/latency_with_skipped_ns/p99",
        "/threads/0/histogram_ns/buckets/1/2",
        "/threads/0/worst/9/activation",
        "/threads/0/worst/3/planned_ns",
        "/threads/0/evidence/samples_lost",
    ];
    let _original = measured();
    for figure in figures {
        let place = changed(|value| {
            let value = value.pointer_mut(figure).unwrap();
            *value = if value.is_f64() {
                json!(value.as_f64().unwrap() * (1.0 + 1e-15))
            } else {
                json!(value.as_i64().unwrap() + 1)
            };
        });
        let output = place.teiji("verify x.teiji");
        let name = figure.trim_start_matches("/threads/0/").split('/').next().unwrap();
        assert_eq!(output.code, Some(1), "{figure}: {output:?}");
        assert!(
            output.out.contains("x.teiji: ") && output.out.contains(&format!("threads[0].{name}")),
            "{figure}: {output:?}"
        );
    }
}

#[test]
fn a_changed_figure_is_named_with_both_values() {
    let _original = measured();
    let max = copy("one.teiji").document("x.teiji").whole("/threads/0/latency_ns/max");
    let output = changed(|value| value["threads"][0]["latency_ns"]["max"] = json!(max + 7))
        .teiji("verify x.teiji");
    let expected = format!(
        "x.teiji: 1 figure disagrees with its samples\n  threads[0].latency_ns.max: recorded {}, \
         recomputed {max}\n",
        max + 7
    );
    assert_eq!((output.code, output.out), (Some(1), expected));
}

/// What a run says of its own end and of its loads has to follow from the rest of it.
#[test]
fn a_changed_end_is_named() {
    type Change = fn(&mut Value);
    let _original = measured();
    let changes: [(&str, &str, Change); 8] = [
        ("threads[0].interval_ns: recorded 1000000, recomputed 5, by run", "", |value| {
            value["run"]["interval_ns"] = json!(5)
        }),
        ("state: recorded stopped", "running, by end: none", |value| {
            (value["state"], value["end"]) = (json!("stopped"), Value::Null);
        }),
        ("state: recorded stopped", "complete, by end: Done", |value| {
            value["state"] = json!("stopped")
        }),
        ("state: recorded complete", "stopped, by end: Guard", |value| {
            value["end"] = json!({ "reason": "guard", "starved_ns": 5_000_000_000_i64 });
        }),
        (
            "state: recorded complete, with 250 activations due of thread 0",
            "300 were planned",
            |value| {
                value["run"]["length"] = json!({ "samples": 300 });
            },
        ),
        ("end.latency_ns: recorded 3600000000000", "of thread 0", |value| {
            value["state"] = json!("stopped");
            value["end"] = json!({
                "reason": "break-above", "thread": 0, "activation": 3,
                "latency_ns": 3_600_000_000_000_i64,
            });
        }),
        ("load_off_target: recorded true", "recomputed false", |value| {
            value["load_off_target"] = json!(true)
        }),
        ("threads[0].samples_file: recorded ../../samples-0.arrows", "samples-0.arrows", |value| {
            value["threads"][0]["samples_file"] = json!("../../samples-0.arrows");
        }),
    ];
    for (place, instead, change) in changes {
        let output = changed(change).teiji("verify x.teiji");
        assert_eq!(output.code, Some(1), "{place}: {output:?}");
        assert!(output.out.contains(place) && output.out.contains(instead), "{place}: {output:?}");
    }
}

/// One latency in another bucket is two lines, not two histograms.
#[test]
fn a_changed_histogram_is_named_briefly() {
    let place = changed(|value| {
        let buckets =
            value.pointer_mut("/threads/0/histogram_ns/buckets").unwrap().as_array_mut().unwrap();
        buckets.remove(0);
    });
    let output = place.teiji("verify x.teiji");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.out.contains("threads[0].histogram_ns.buckets: recorded ")
            && output.out.contains(" entries, "),
        "{output:?}"
    );
    assert!(
        output.out.lines().all(|line| line.len() < 600) && output.out.lines().count() <= 4,
        "{output:?}"
    );
}

#[test]
fn one_bad_recording_among_good_ones() {
    let original = measured();
    let place = changed(|value| value["threads"][0]["latency_ns"]["p50"] = json!(1));
    let good = original.join("two.teiji").display().to_string();
    let output = place.teiji(&format!("verify x.teiji {good}"));
    assert_eq!(output.code, Some(1));
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("{good}: every figure agrees")), "{output:?}");
    // No line is wider than a terminal, unless its path is.
    let long = format!("{}.teiji", "two-of-a-plan-with-many-factors".repeat(2));
    let place = changed(|_| ());
    std::fs::rename(place.join("x.teiji"), place.join(&long)).unwrap();
    let output = place.well(&format!("verify {long}"));
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output:?}");
}

#[test]
fn samples_of_another_run() {
    let original = measured();
    let place = copy("one.teiji");
    std::fs::copy(
        original.join("two.teiji/samples-0.arrows"),
        place.join("x.teiji/samples-0.arrows"),
    )
    .unwrap();
    let output = place.teiji("verify x.teiji");
    assert!(matches!(output.code, Some(1 | 2)), "{output:?}");
    assert!(
        output.out.contains("threads[0].") || output.err.contains("x.teiji/samples-0.arrows"),
        "{output:?}"
    );
}

/// Cut short, garbled in its frame, emptied or gone: the file that is damaged is named, by every
/// verb that reads.
#[test]
fn damaged_samples() {
    let original = measured();
    let whole = read(original.join("one.teiji/samples-0.arrows")).unwrap();
    let half = whole[..whole.len() / 2].to_vec();
    let garbled: Vec<u8> = whole
        .iter()
        .enumerate()
        .map(|(place, byte)| if place < 16 { byte ^ 0x55 } else { *byte })
        .collect();
    let without_end = whole[..whole.len() - 8].to_vec();
    for (what, bytes) in
        [("half", half), ("garbled", garbled), ("without end", without_end), ("empty", Vec::new())]
    {
        let place = copy("one.teiji");
        write(place.join("x.teiji/samples-0.arrows"), bytes).unwrap();
        for verb in ["show", "verify", "report"] {
            let output = place.teiji(&format!("{verb} x.teiji"));
            assert_refused(&output, &["error: x.teiji/samples-0.arrows is damaged after row "]);
            assert!(!place.join("report.html").exists(), "{what}");
        }
    }
    let place = copy("one.teiji");
    std::fs::remove_file(place.join("x.teiji/samples-0.arrows")).unwrap();
    assert_refused(
        &place.teiji("show x.teiji"),
        &["cannot read x.teiji/samples-0.arrows: ", "No such file"],
    );
}

/// A recording whose samples have no gap, and are therefore not compressed.
fn measured_without_gaps() -> TestFolder {
    let _turn = beside_others();
    let mut attempts = (0..10).map(|_| {
        let place = TestFolder::new();
        place.well("measure -i 1ms -n 250 -o one.teiji");
        place
    });
    let whole = |place: &TestFolder| {
        place.document("one.teiji").threads()[0].whole("/activations/skipped") == 0
    };
    attempts.find(whole).expect("activations were skipped in each of ten runs")
}

/// A single bit of a single latency, changed in the samples.
#[test]
fn a_changed_sample_is_seen() {
    let original = measured_without_gaps();
    let whole = read(original.join("one.teiji/samples-0.arrows")).unwrap();
    let thread = &original.document("one.teiji").threads()[0];
    for worst in thread.list("/worst") {
        let latency = i32::try_from(worst.whole("/latency_ns")).unwrap().to_le_bytes();
        let at = whole
            .windows(4)
            .rposition(|bytes| bytes == latency)
            .expect("a batch without gaps is not compressed");
        let place = copy_of(&original, "one.teiji");
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        write(place.join("x.teiji/samples-0.arrows"), bytes).unwrap();
        let output = place.teiji("verify x.teiji");
        assert!(
            output.code == Some(1) && output.out.contains("threads[0].worst["),
            "{worst:?}: {output:?}"
        );
    }
}

#[test]
fn documents_that_cannot_be_read() {
    let _original = measured();
    let later = changed(|value| value["version"] = json!(2)).teiji("show x.teiji");
    assert_refused(
        &later,
        &["x.teiji/run.json", "its version is 2; this program reads versions up to 1"],
    );
    let without = changed(|value| drop(value.as_object_mut().unwrap().remove("instrument")))
        .teiji("show x.teiji");
    assert_refused(&without, &["x.teiji/run.json", "instrument"]);
    let place = copy("one.teiji");
    let text = place.read("x.teiji/run.json");
    write(place.join("x.teiji/run.json"), &text[..text.len() / 2]).unwrap();
    assert_refused(
        &place.teiji("show x.teiji"),
        &["x.teiji/run.json cannot be understood", "line"],
    );
}

#[test]
fn several_are_shown_one_after_the_other() {
    let place = measured();
    let [one, two] = ["one", "two"].map(|name| place.well(&format!("show {name}.teiji")).out);
    let both = place.well("show one.teiji two.teiji").out;
    let [one, two] =
        [&one, &two].map(|output| output.split_once("\nNext: teiji report ").unwrap().0);
    let next = "\nNext: teiji report one.teiji two.teiji\n";
    assert_eq!(both, format!("== one.teiji ==\n{one}\n== two.teiji ==\n{two}{next}"));
}

/// What a run ends with is what is shown again.
#[test]
fn shown_as_measured() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let measured = place.well("measure -n 100 -o x.teiji");
    assert_eq!(
        measured.out,
        place.summary("x.teiji")
            + "\nRecording: x.teiji\n"
            + NAMES
            + "Next: teiji report x.teiji\n"
    );
}

#[test]
fn one_page_and_its_charts() {
    let place = TestFolder::new();
    let original = measured();
    let [one, two] =
        ["one.teiji", "two.teiji"].map(|name| original.join(name).display().to_string());
    let output = place.well(&format!("report {one} {two} -o page.html --svg charts"));
    assert!(
        output.out.contains("\nReport: page.html\n") && output.out.starts_with("Worst wake-up "),
        "{output:?}"
    );
    let page = place.read("page.html");
    assert!(
        page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"),
        "{}",
        &page[..50]
    );
    assert!(page.len() < 2_000_000 && page.trim_end().ends_with("</html>"), "{} bytes", page.len());
    let headline = output.out.lines().next().unwrap();
    assert!(page.contains("one") && page.contains("two") && page.contains(headline), "{headline}");
    let charts: Vec<String> =
        place.listing().into_iter().filter(|name| name.starts_with("charts/")).collect();
    assert_eq!(charts.len(), 3, "{charts:?}");
    for chart in charts {
        let text = place.read(&chart);
        assert!(
            chart.ends_with(".svg") && text.contains("<svg") && text.trim_end().ends_with("</svg>"),
            "{chart}"
        );
    }
    assert_eq!(place.listing().len(), 5, "{:?}", place.listing());
    // The usual name, and what was there before is replaced as a whole.
    write(place.join("report.html"), "old").unwrap();
    place.well(&format!("report {one} --force"));
    assert!(place.read("report.html").trim_end().ends_with("</html>"));
}

#[test]
fn a_report_that_cannot_be_written() {
    let place = TestFolder::new();
    let original = measured();
    let one = original.join("one.teiji").display().to_string();
    for output in ["missing/report.html", "/sys/report.html", "."] {
        assert_refused(&place.teiji(&format!("report {one} -o {output}")), &["error: ", output]);
    }
    assert_refused(
        &place.teiji(&format!("report {one} -o missing/report.html --svg charts")),
        &["error: ", "missing/report.html"],
    );
    assert!(!place.join("charts").exists(), "an empty folder looks like one whose charts are gone");
    write(place.join("file"), "").unwrap();
    let refused = place.teiji(&format!("report {one} --svg file"));
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
    assert!(refused.err.contains("cannot make the folder file"), "{refused:?}");
}

/// `teiji show ... | head -1`.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = measured();
    let mut shell = place.command("sh");
    let script = "{ \"$0\" show one.teiji one.teiji one.teiji; echo $? >&2; } | true";
    let output = crate::support::Running::start({
        shell.args(["-c", script, crate::support::TEIJI]);
        shell
    });
    assert_eq!(output.end().err, "0\n");
}

/// Whoever has a report.html of their own keeps it.
#[test]
fn only_a_report_is_replaced_by_a_report() {
    let place = copy("one.teiji");
    place.well("report x.teiji --md one.md --svg charts");
    place.well("report x.teiji --md one.md --svg charts");
    for (mine, words) in [
        ("report.html", "report x.teiji"),
        ("one.md", "report x.teiji -o other.html --md one.md"),
        ("charts/exceedance.svg", "report x.teiji -o other.html --svg charts"),
        ("page.html", "compare x.teiji x.teiji --html page.html"),
        ("gate.xml", "gate x.teiji --limit max<1h --junit gate.xml"),
    ] {
        std::fs::write(place.join(mine), "mine").unwrap();
        let output = place.teiji(words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words}: {output:?}");
        assert!(
            output.err.contains(&format!("{mine} exists, and teiji did not write it")),
            "{output:?}"
        );
        assert_eq!(place.read(mine), "mine");
        assert!(!place.join("other.html").exists());
        place.well(&format!("{words} --force"));
        assert_ne!(place.read(mine), "mine");
        place.well(words);
        let _ = std::fs::remove_file(place.join("other.html"));
    }
}

/// A name given twice by mistake: a page is not replaced by a text, nor a JUnit file by a page.
#[test]
fn a_kind_of_output_is_replaced_by_its_own_kind() {
    let place = copy("one.teiji");
    place.well("report x.teiji -o page.html --md text --svg charts");
    place.well("gate x.teiji --limit max<1h --junit gate");
    for (written, kind, words) in [
        ("page.html", "an HTML page", "gate x.teiji --limit max<1h --junit page.html"),
        ("page.html", "an HTML page", "report x.teiji -o other.html --md page.html"),
        ("gate", "a JUnit file", "compare x.teiji x.teiji --html gate"),
        ("text", "a Markdown text", "report x.teiji -o text"),
        (
            "charts/exceedance.svg",
            "an SVG chart",
            "report x.teiji -o other.html --md charts/exceedance.svg",
        ),
    ] {
        let before = place.read(written);
        assert_refused(
            &place.teiji(words),
            &[&format!("{written} exists, and is {kind}, not "), "--force"],
        );
        assert_eq!(
            (place.read(written), place.join("other.html").exists()),
            (before, false),
            "{words}"
        );
    }
    let refused = place.teiji("compare x.teiji x.teiji --html x.pdf");
    assert_refused(&refused, &["x.pdf: a comparison cannot be written as pdf", "--html FILE.html"]);
    assert!(!place.join("x.pdf").exists());
}
