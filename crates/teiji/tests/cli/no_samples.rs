// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings of which only a histogram or figures are left, alone and beside others in a plan,
//! through everything that reads recordings.

use crate::probes::{assert_judged, assert_read_everywhere, change};
use crate::support::{TestFolder, beside_others};
use serde_json::{Value, json};

/// Every kind of row in a plan's table and page: with repeats, a factor, a limit, and recordings of
/// which only a histogram or figures are left.
#[test]
fn plans_of_every_kind_of_row() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (folder, probe, length) in [
        // Of rows that it skips this probe has no value to be judged.
        ("columns", "example-columns", "samples = 60\ncatch-up = true"),
        ("events", "example-events", "duration = '200ms'"),
        ("histograms", "cyclic", "samples = 60"),
        ("figures", "cyclic", "samples = 60"),
    ] {
        let plan = format!(
            "[measure]\nprobe = '{probe}'\nthreads = 1\n{length}\n[vary]\npolicy = ['fifo', \
             'rr']\n[order]\nrepeat = 2\n[limits]\np50 = '10s'\n"
        );
        std::fs::write(place.join("plan.toml"), plan).unwrap();
        place.well(&format!("run plan.toml -q -o {folder}"));
        for entry in
            std::fs::read_dir(place.join(folder)).unwrap().map(|entry| entry.unwrap().path())
        {
            if entry.extension().is_none_or(|extension| extension != "teiji") {
                continue;
            }
            let recording = format!("{folder}/{}", entry.file_name().unwrap().to_str().unwrap());
            match folder {
                "histograms" => to_histogram(&place, &recording),
                "figures" => to_figures(&place, &recording),
                _ => {}
            }
        }
        let table = place.well(&format!("show {folder} --csv")).out;
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows.len() == 3 && rows[1].contains("fifo") && rows[2].contains("rr"), "{table}");
        let table = place.well(&format!("show {folder}")).out;
        assert!(table.contains("fifo") && table.contains("rr"), "{table}");
        let table = place.well(&format!("show {folder} --md")).out;
        assert_eq!(
            table.lines().next().unwrap().contains("| p50 |"),
            folder != "figures",
            "quantiles are known of all but figures: {table}"
        );
        place.well(&format!("show {folder} --by policy"));
        place.well(&format!("report {folder} -o {folder}.html"));
        let page = place.read(&format!("{folder}.html"));
        assert!(!page.contains("NaN") && !page.contains("null µs"), "{folder}");
        let gate = |figure: &str| place.teiji(&format!("gate {folder} --limit {figure}<10s"));
        let (max, median) = (gate("max"), gate("p50"));
        let expected = if folder == "figures" { 3 } else { 0 };
        assert_eq!(
            (max.code, median.code),
            (Some(0), Some(expected)),
            "{folder}: {max:?}, {median:?}"
        );
    }
}

/// A recording as an import makes it: buckets of 1 µs, and nothing else.
fn histogram_only(place: &TestFolder, name: &str) {
    place.well(&format!("measure -n 200 -t 1 -q -o {name}"));
    to_histogram(place, name);
}

/// Leaves nothing of a recording but a histogram.
fn to_histogram(place: &TestFolder, name: &str) {
    let buckets = json!([[5_000, 5_999, 900], [9_000, 9_999, 99], [63_000, 63_999, 1]]);
    let figures = json!({
        "count": 1_000, "min": 5_999, "mean": 6_400.0, "sd": null, "max": 63_999,
        "p50": 5_999, "p90": 5_999, "p99": 9_999, "p999": 9_999, "p9999": 63_999,
    });
    without_samples(place, name, "histogram", &buckets, &figures);
}

/// Leaves nothing of a recording but what the last line of other programs says.
fn to_figures(place: &TestFolder, name: &str) {
    let figures = json!({
        "count": 1_000, "min": 5_999, "mean": 6_400.0, "sd": null, "max": 63_999,
        "p50": null, "p90": null, "p99": null, "p999": null, "p9999": null,
    });
    without_samples(place, name, "figures", &json!([]), &figures);
}

/// Leaves nothing of a recording but these buckets of a histogram and these figures.
fn without_samples(place: &TestFolder, name: &str, detail: &str, buckets: &Value, figures: &Value) {
    change(place, name, |run| {
        let thread = &mut run["threads"][0];
        thread["detail"] = json!(detail);
        thread["activations"] = Value::Null;
        thread["worst"] = json!([]);
        thread.as_object_mut().unwrap().remove("samples_file");
        thread["histogram_ns"] = json!({"relative_error": 0.0, "buckets": buckets});
        thread["latency_ns"] = figures.clone();
        thread["latency_with_skipped_ns"] = figures.clone();
        (run["warnings"], run["host"]["processes"]) = (json!([]), Value::Null);
    });
    for file in std::fs::read_dir(place.join(name)).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "arrows") {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_recording_of_a_histogram_only() {
    let _turn = beside_others();
    let place = TestFolder::new();
    histogram_only(&place, "past.teiji");
    assert_read_everywhere(&place, "past", &["64.0"]);
    let show = place.well("show past.teiji").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        show.contains("The recording has no samples: what was late, skipped or lost is unknown")
            && show.contains(
                "the recording has no samples, so whether the largest latencies came together is \
                 unknown"
            ),
        "{show}"
    );
    assert!(
        !show.contains("of 200 activations") && !show.contains("At 95 % confidence, 1,000"),
        "{show}"
    );
    assert!(show.contains("– of counts: not known"), "{show}");
    assert!(place.read("past.md").contains("– of counts: not known."));
    assert!(
        place.read("past.html").contains("\"length_ns\":0,\"min_ns\":[],\"max_ns\":[]"),
        "nothing is drawn over time"
    );
    // What the buckets tell is judged; what they do not tell is not enough evidence.
    assert_judged(&place, "past.teiji", &["max<64us", "p99<10us"], 0);
    assert_judged(&place, "past.teiji", &["max<63us", "p99<9us"], 1);
    let unknown = ["p99<10us@95%", "rate(>10us)<1e-2@95%", "late==0", "skipped==0", "lost==0"];
    assert_judged(&place, "past.teiji", &unknown, 3);
    let figure = |name: &str| place.teiji(&format!("show past.teiji --figure {name}"));
    assert_eq!(
        (figure("p99").out.trim(), figure("late").code, figure("due").code),
        ("≤9.999", Some(2), Some(2))
    );
    // How its latencies depend on one another is not known, which is not the same as too few of
    // them.
    place.well("measure -n 200 -t 1 -q -o now.teiji");
    let output = place.well("compare now.teiji past.teiji --anyway").out.replace('\n', " ");
    assert!(
        output.contains("order of samples is unknown: past against now The order of samples is"),
        "{output}"
    );
    assert!(
        output.contains("Note: no samples in past. Compare recordings that hold every sample"),
        "{output}"
    );
    assert!(!output.contains("too few"), "{output}");
    assert!(!output.contains("these intervals hold"), "there are none: {output}");
    // Each figure has its row all the same: both values, and why there is no interval.
    let compared: Value =
        serde_json::from_str(&place.well("compare now.teiji past.teiji --anyway --json").out)
            .unwrap();
    let p99 = &compared["comparisons"][0]["quantiles"][2];
    assert_eq!(
        (&p99["other_ns"], &p99["ratio_lower"], &p99["significant"], &p99["reason"]),
        (&json!(9_999), &Value::Null, &json!(false), &json!("past has no samples")),
        "{compared}"
    );
    assert!(p99["base_ns"].as_i64().is_some_and(|ns| ns != 0), "{compared}");
    let row = "| 10.0 | not compared: past has no samples |";
    let table = place.well("compare now.teiji past.teiji --anyway --md").out;
    assert!(table.contains("| p99 | ") && table.contains(row), "{table}");
    place.well("compare now.teiji past.teiji --anyway --html none.html");
    let page = place.read("none.html");
    assert!(
        page.contains("class=\"differences\"")
            && page.contains("<td>10.0</td><td class=\"text\">not compared: past has no samples"),
        "{page}"
    );
    let output = place.teiji("gate now.teiji --baseline past.teiji");
    assert!(
        output.code == Some(3)
            && output.out.replace("\n ", "").contains("the order of samples is unknown"),
        "{output:?}"
    );
    let output = place.teiji("export past.teiji --samples");
    assert!(
        output.code == Some(2) && output.err.contains("past.teiji holds no samples"),
        "{output:?}"
    );
    change(&place, "past.teiji", |run| {
        run["threads"][0]["histogram_ns"]["buckets"][1][2] = json!(98)
    });
    let output = place.teiji("verify past.teiji");
    assert!(output.code == Some(1) && output.out.contains("999 latencies"), "{output:?}");
}

/// Figures alone: what they say is shown and judged, and all else is unknown.
#[test]
fn a_recording_of_figures_only() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure -n 200 -t 1 -q -o line.teiji");
    to_figures(&place, "line.teiji");
    let output = place.well("verify line.teiji").out;
    let said = "figures of 1 thread are possible ones (no samples to check them by)";
    assert!(output.contains(said), "{output}");
    place.well("report line.teiji -o line.html --md line.md --svg line-charts");
    let (show, page, markdown) =
        (place.well("show line.teiji").out, place.read("line.html"), place.read("line.md"));
    for known in ["64.0", "6.4", "6.0"] {
        assert!(
            show.contains(known) && page.contains(known) && markdown.contains(known),
            "{known}: {show}"
        );
    }
    assert!(show.contains("The recording has no samples"), "{show}");
    assert!(
        !show.contains("no latency was measured") && !show.contains("At 95 % confidence, 1,000"),
        "{show}"
    );
    assert!(
        !page.contains("NaN")
            && !page.contains("null µs")
            && !page.contains("no latency was measured")
    );
    assert!(!page.contains("Nothing to draw") && !page.contains("<section id=\"histogram\""));
    assert!(
        !page.contains("class=\"canvas\"") && !page.contains("class=\"paper\""),
        "axes would make up a range"
    );
    assert!(show.contains("– not known;") && !show.contains("too few samples"), "{show}");
    assert_judged(&place, "line.teiji", &["max<64us", "mean<7us"], 0);
    assert_judged(&place, "line.teiji", &["max<63us", "mean<6us"], 1);
    let unknown = [
        "p99<10s",
        "p99<1us",
        "p99<10us@95%",
        "rate(>10us)<1e-2@95%",
        "late==0",
        "skipped==0",
        "lost==0",
    ];
    assert_judged(&place, "line.teiji", &unknown, 3);
    let figure = |name: &str| place.teiji(&format!("show line.teiji --figure {name}"));
    assert_eq!(
        (figure("max").out.trim(), figure("p99").code, figure("due").code),
        ("63.999", Some(2), Some(2))
    );
    for (command, code) in
        [("export line.teiji --samples", 2), ("export line.teiji --histogram", 2)]
    {
        let output = place.teiji(command);
        assert!(
            output.code == Some(code) && output.err.contains("line.teiji holds no "),
            "{command}: {output:?}"
        );
    }
    place.well("measure -n 200 -t 1 -q -o now.teiji");
    let output = place.well("compare now.teiji line.teiji --anyway").out.replace('\n', " ");
    assert!(
        output.contains("order of samples is unknown: line against now The order of samples is"),
        "{output}"
    );
    assert_eq!(place.teiji("gate now.teiji --baseline line.teiji").code, Some(3));
    // A quantile that was written down is a figure too.
    change(&place, "line.teiji", |run| {
        for figures in ["latency_ns", "latency_with_skipped_ns"] {
            run["threads"][0][figures]["p99"] = json!(9_000);
        }
    });
    assert_eq!(figure("p99").out.trim(), "9.000");
    assert_eq!(place.teiji("gate line.teiji --limit p99<9us").code, Some(1));
    assert_eq!(place.teiji("gate line.teiji --limit p99<10us").code, Some(0));
    change(&place, "line.teiji", |run| run["threads"][0]["latency_ns"]["p99"] = json!(70_000));
    let output = place.teiji("verify line.teiji");
    assert!(
        output.code == Some(1)
            && output.out.contains("5999, 70000, 63999, recomputed from the smallest"),
        "{output:?}"
    );
}

/// Where a latency was as late as the interval, a quantile over the activations that woke is none
/// over those that were due.
#[test]
fn a_histogram_with_overruns_does_not_tell_its_quantiles() {
    let _turn = beside_others();
    let place = TestFolder::new();
    histogram_only(&place, "past.teiji");
    change(&place, "past.teiji", |run| {
        let thread = &mut run["threads"][0];
        thread["histogram_ns"]["buckets"][2] = json!([2_000_000, 2_000_999, 1]);
        for figures in ["latency_ns", "latency_with_skipped_ns"] {
            (thread[figures]["max"], thread[figures]["p9999"]) =
                (json!(2_000_999), json!(2_000_999));
        }
    });
    place.well("verify past.teiji");
    assert_eq!(place.teiji("gate past.teiji --limit p99<10us").code, Some(3));
    assert_eq!(place.teiji("gate past.teiji --limit max<3ms").code, Some(0));
}
