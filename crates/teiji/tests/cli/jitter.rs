// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is judged, compared and shown of intervals, by series that are known: a file of intervals
//! is as exact as a device.

use crate::support::document::Document;
use crate::support::{Output, TestFolder, beside_others};

/// So many intervals that differ from 1 ms by up to half a µs either way, in an order without any,
/// stretched so many times.
fn intervals(count: i64, times: i64) -> Vec<i64> {
    (0..count).map(|n| 1_000_000 + times * (n * 7_919 % 1_000 - 500)).collect()
}

fn write(place: &TestFolder, name: &str, intervals: &[i64]) {
    let text: String = intervals.iter().map(|ns| format!("{ns}\n")).collect();
    std::fs::write(place.join(name), text).unwrap();
}

fn measured(place: &TestFolder, from: &str, to: &str, flags: &str) -> Output {
    place.teiji(&format!(
        "measure --probe stream --kind interval --period 1ms -d 5s -q --from {from} -o {to} \
         {flags}"
    ))
}

/// One interval is 400 µs short: with its sign it would be below every limit.
fn one_short() -> Vec<i64> {
    let mut intervals = intervals(3_000, 1);
    intervals[1_500] -= 400_000;
    intervals
}

#[test]
fn a_limit_on_jitter_holds_on_both_sides() {
    let _turn = beside_others();
    let place = TestFolder::new();
    write(&place, "short", &one_short());
    let output = measured(&place, "short", "a.teiji", "--limit max<100us --limit peak-to-peak<1ms");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.out.contains("|jitter| 400.000 µs; 300 % above the limit"), "{output:?}");
    // The same verdict of the recording, whoever asks; the figures that are shown keep their sign.
    for verb in ["gate a.teiji", "show a.teiji", "report a.teiji --md x.md"] {
        assert_eq!(place.teiji(&format!("{verb} --limit max<100us")).code, Some(1), "{verb}");
    }
    assert!(place.read("x.md").contains("-400.0"));
    let figure = |name: &str| place.well(&format!("show a.teiji --figure {name}")).out;
    assert_eq!(
        [figure("min"), figure("max"), figure("peak-to-peak")],
        ["-400.000\n", "0.499\n", "400.499\n"]
    );
    let document = place.document("a.teiji");
    let sd = document.number("/threads/0/latency_ns/sd");
    assert_eq!(figure("sd").trim_end(), format!("{:.3}", sd.round() / 1_000.0));

    let output = measured(&place, "short", "b.teiji", "-b 100us");
    assert_eq!(output.code, Some(1), "{output:?}");
    let end = place.document("b.teiji");
    assert_eq!(
        (end.text("/end/reason"), end.whole("/end/activation"), end.whole("/end/latency_ns")),
        ("break-above", 1_500, -400_000)
    );
    assert!(
        output.out.contains("\n✗ Stopped by --break-above: 400 µs too short before event 1,500"),
        "{output:?}"
    );
    place.well("verify b.teiji");
}

#[test]
fn a_limit_without_meaning_is_refused_before_the_run() {
    let place = TestFolder::new();
    write(&place, "in", &intervals(100, 1));
    let output = measured(&place, "in", "a.teiji", "--limit late<3");
    assert!(
        output.code == Some(2)
            && output.err.contains("'late<3' has no meaning for the probe stream"),
        "{output:?}"
    );
    let plan = format!(
        "[measure]\nprobe = 'stream'\nfrom = '{}'\n[limits]\nskipped = '==0'\n",
        place.join("in").display()
    );
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    let output = place.teiji("run plan.toml -q -o out");
    assert!(
        output.code == Some(2)
            && output.err.contains("'skipped==0' has no meaning for the probe stream"),
        "{output:?}"
    );
    let bisect = "lab bisect --kernels debian:amd64,debian:rt-amd64 --probe noise --limit late<3 \
                  -d 1s -o out";
    let output = place.teiji(bisect);
    assert!(
        output.code == Some(2)
            && output.err.contains("'late<3' has no meaning for the probe noise"),
        "{output:?}"
    );
    assert_eq!(place.listing(), ["in", "plan.toml"]);
}

/// The same grammar wherever there are limits; a name that no probe has is misspelt.
#[test]
fn a_column_has_a_limit_by_its_name() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut intervals = intervals(1_000, 1);
    intervals[500] += 2 * 1_000_000;
    write(&place, "lost", &intervals);
    let output = measured(&place, "lost", "a.teiji", "--limit missed==0");
    assert!(
        output.code == Some(1)
            && output.out.contains("  FAIL  missed==0\n        2 in 1,000 events\n"),
        "{output:?}"
    );
    for (limits, code, said) in [
        ("--limit missed<=2 --limit unreadable==0", 3, "  pass  missed<=2\n"),
        ("--limit missed<=2", 0, "        2 in 1,000 events; at the limit\n"),
        ("--limit jitter<1ms", 1, "|jitter| 2,000.000 µs"),
        ("--limit max<1h", 3, "periods of the stream have no record"),
    ] {
        for verb in ["gate", "show"] {
            let output = place.teiji(&format!("{verb} a.teiji {limits}"));
            assert!(output.code == Some(code) && output.out.contains(said), "{limits}: {output:?}");
        }
    }
    for (limit, said) in [
        ("mised==0", "nor a column that can be limited: jitter_ns, missed, unreadable\n"),
        ("missed<5us", "the column missed is of the other kind"),
        ("jitter==0", "the column jitter is of the other kind"),
    ] {
        for verb in ["gate", "show"] {
            let output = place.teiji(&format!("{verb} a.teiji --limit {limit}"));
            assert!(output.code == Some(2) && output.err.contains(said), "{limit}: {output:?}");
        }
        let output = measured(&place, "lost", "b.teiji", &format!("--limit {limit}"));
        assert!(output.code == Some(2) && output.err.contains(said), "{limit}: {output:?}");
    }
    let plan = |limit: &str| {
        let from = place.join("lost");
        let text = format!(
            "[measure]\nprobe = 'stream'\nkind = 'interval'\nperiod = '1ms'\nfrom = '{}'\n\
             [limits]\n{limit}\n",
            from.display()
        );
        std::fs::write(place.join("plan.toml"), text).unwrap();
    };
    plan("mised = '==0'");
    let output = place.teiji("run plan.toml -q -o out");
    assert!(output.code == Some(2) && output.err.contains("'mised' is neither"), "{output:?}");
    plan("missed = '==0'");
    place.teiji("run plan.toml -q -o out");
    let gate = place.teiji("gate out");
    assert!(
        gate.code == Some(1) && gate.out.contains("  FAIL  missed==0\n        2 in 1,000 events\n"),
        "{gate:?}"
    );
}

/// Medians near 0 have no ratio; sizes have, and so has how much the intervals vary.
#[test]
fn a_comparison_says_how_much_intervals_vary() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (name, times) in [("narrow", 1), ("wide", 2)] {
        write(&place, name, &intervals(4_000, times));
        measured(&place, name, &format!("{name}.teiji"), "");
    }
    let output = place.well("compare narrow.teiji wide.teiji").out;
    assert!(
        output.contains("The standard deviation is ") && output.contains("\n|jitter| p50 "),
        "{output}"
    );
    let document = Document::parse(&place.well("compare narrow.teiji wide.teiji --json").out);
    let one = |name: &str| document.number(&format!("/comparisons/0/{name}"));
    for figure in ["sd", "quantiles/0", "quantiles/1"] {
        let (lower, upper) =
            (one(&format!("{figure}/ratio_lower")), one(&format!("{figure}/ratio_upper")));
        assert!(
            lower > 1.8 && lower < 2.01 && upper > 1.99 && upper < 2.2,
            "{figure}: {lower} to {upper}"
        );
    }
    assert_eq!((one("peak_to_peak/base_ns"), one("peak_to_peak/other_ns")), (999.0, 1_998.0));
    assert_eq!(document.text("/comparisons/0/quantity"), "jitter");
    // What compare calls the median is the one that a gate judges.
    let median = one("quantiles/0/base_ns");
    let gate = place.teiji("gate narrow.teiji --limit p50<1ns").out;
    assert!(gate.contains(&format!("|jitter| 0.{median} µs")), "{gate} {median}");
}

#[test]
fn jitter_and_latency_are_not_compared() {
    let _turn = beside_others();
    let place = TestFolder::new();
    write(&place, "in", &intervals(400, 1));
    let flags = "measure --probe stream -d 5s -q --from in";
    place.well(&format!("{flags} --kind interval --period 1ms -o jitter.teiji"));
    place.well(&format!("{flags} --kind latency -o latency.teiji"));
    for words in [
        "compare jitter.teiji latency.teiji --anyway",
        "gate jitter.teiji --baseline latency.teiji",
    ] {
        let output = place.teiji(words);
        assert!(
            output.code == Some(2) && output.err.contains("their quantities differ ("),
            "{words}: {output:?}"
        );
    }
}

/// A tenth of a second of a stream that was to be read for 10 s: its time is its own. No step of
/// the chart is without an interval.
#[test]
fn the_chart_of_a_stream_ends_with_the_stream() {
    let _turn = beside_others();
    let place = TestFolder::new();
    write(&place, "in", &intervals(100, 1));
    place
        .well("measure --probe stream --kind interval --period 1ms -d 10s -q --from in -o a.teiji");
    place.well("report a.teiji --svg charts");
    let svg = place.read("charts/latency-over-time.svg");
    let last =
        svg.split("</text>").filter_map(|text| text.rsplit('>').next()?.parse::<u32>().ok()).max();
    assert_eq!(last, Some(100), "{svg}");
    // One band, without a gap.
    let band = svg.lines().find(|line| line.contains("fill-opacity=\"0.45\"")).unwrap();
    assert_eq!(band.matches('M').count(), 1, "{band}");
}

/// A stream in ns that is read as one in us varies as little as it did, around a period a thousand
/// times too long.
#[test]
fn a_stream_in_another_unit_passes_no_gate() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let stamps: String = (0..200).map(|n| format!("{}\n", n * 1_000_000)).collect();
    std::fs::write(place.join("in"), stamps).unwrap();
    let measure = |flags: &str| {
        let output = place.teiji(&format!(
            "measure --probe stream --from in --period 1ms {flags} -o x.teiji --limit sd<1us"
        ));
        let document = place.document("x.teiji");
        std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
        (output, document)
    };
    let (output, document) = measure("");
    assert!(output.code == Some(0) && !document.warns_of("stream-off-period"), "{output:?}");
    for (flags, median) in [("--unit us", "1,000,000.0"), ("--unit tsc --hz 1000000000000", "1.0")]
    {
        let (output, document) = measure(flags);
        assert_eq!(document.text("/warnings/0/code"), "stream-off-period");
        let said = format!("{output:?}").replace("\\n", " ");
        let figures = format!(
            "The stream's median interval is {median} µs, but its given period is 1,000.0 µs."
        );
        let reason = "the stream's intervals are not those of the period that was given";
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            output.code == Some(3) && words.contains(&figures) && words.contains(reason),
            "{words}"
        );
        assert!(words.contains("Check --unit and --hz first, then --period."), "{words}");
    }
}
