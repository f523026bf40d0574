// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gate`, `compare` and what `show` and `report` infer: on recordings that were just measured,
//! with limits that are surely kept or surely not.

use crate::support::{TestFolder, beside_others, copy_recording};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const RECORDINGS: [&str; 2] = ["one.teiji", "two.teiji"];

/// Copies of two recordings that were measured once for all these tests.
fn measured() -> TestFolder {
    static MEASURED: OnceLock<PathBuf> = OnceLock::new();
    let originals = MEASURED.get_or_init(|| {
        let _turn = beside_others();
        let place = TestFolder::new();
        place.well("measure -i 500us -n 4000 -t 1 --title one -o one.teiji");
        place.well("measure -i 500us -n 4000 -t 1 --title two -o two.teiji");
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("judging");
        _ = std::fs::remove_dir_all(&kept);
        RECORDINGS.iter().for_each(|name| copy_recording(&place.join(name), &kept.join(name)));
        kept
    });
    let place = TestFolder::new();
    RECORDINGS.iter().for_each(|name| copy_recording(&originals.join(name), &place.join(name)));
    place
}

/// The same recordings of latencies that are drawn independently of one another, always the same
/// ones, so that what can be compared does not depend on the machine.
fn drawn() -> TestFolder {
    let place = TestFolder::new();
    for (name, mut state) in [("one", 1_u64), ("two", 2)] {
        let mut latency = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            10_000 + (state >> 33) % 5_000
        };
        let numbers: String = (0..20_000).map(|_| format!("{}\n", latency())).collect();
        std::fs::write(place.join(name), numbers).unwrap();
        let from = format!("--probe stream --kind latency --from {name}");
        place.well(&format!("measure {from} --title {name} -q -o {name}.teiji"));
    }
    place
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

#[test]
fn a_gate_passes_fails_or_does_not_know() {
    let place = measured();
    let code = |words: &str| place.teiji(&format!("gate one.teiji two.teiji {words}")).code;
    assert_eq!(code("--limit max<1h --limit lost==0 --limit rate(>1h)<1e-2@95%"), Some(0));
    assert_eq!(code("--limit max<1h --limit max<1ns"), Some(1));
    assert_eq!(code("--limit max<1h --limit rate(>1h)<1e-9@95%"), Some(3));
    assert_eq!(code("--limit max<1ns --limit rate(>1h)<1e-9@95%"), Some(1));
    let output = place.well("gate one.teiji --limit max<1h --json --junit junit.xml");
    let output = json(&output.out);
    assert_eq!(
        (output["verdict"].as_str(), output["limits"][0]["limit"].as_str()),
        (Some("pass"), Some("max<1h"))
    );
    assert!(
        output["limits"][0]["margin"].as_f64().is_some_and(|margin| margin > 0.5 && margin < 1.0),
        "{output}"
    );
    assert!(
        place
            .read("junit.xml")
            .contains("<testsuite name=\"teiji gate\" tests=\"1\" failures=\"0\" errors=\"0\">")
    );
    let tap = place.well("gate one.teiji --limit max<1h --tap").out;
    // Between them stands what else the machine was busy with.
    assert!(
        tap.starts_with("TAP version 13\n1..1\n") && tap.contains("\nok 1 - max<1h in one.teiji\n"),
        "{tap}"
    );
}

#[test]
fn a_recording_is_not_worse_than_itself() {
    let place = drawn();
    let output = place.teiji("gate one.teiji --baseline one.teiji --worse-than 1000%");
    assert_eq!(output.code, Some(0), "{output:?}");
    for quantile in ["p50", "p90", "p99", "p99.9"] {
        let passed = format!("  pass  {quantile} at most 1000 % worse than one.teiji\n");
        assert!(output.out.contains(&passed), "{output:?}");
    }
    let compared = json(&place.well("compare one.teiji one.teiji --json").out);
    let one = &compared["comparisons"][0];
    let ratios: Vec<[f64; 2]> = one["quantiles"]
        .as_array()
        .unwrap()
        .iter()
        .inspect(|figure| assert_eq!(figure["significant"], false, "{figure}"))
        .filter(|figure| figure["reason"].is_null())
        .map(|figure| ["ratio_lower", "ratio_upper"].map(|end| figure[end].as_f64().unwrap()))
        .collect();
    assert_eq!(ratios.len(), 4, "{one}");
    assert!(ratios.iter().all(|[lower, upper]| *lower <= 1.0 && *upper >= 1.0), "{one}");
    assert!(one["differs"].as_array().unwrap().is_empty(), "{one}");
    assert_eq!(one["quantiles"].as_array().unwrap().len(), 5, "{one}");
    assert!(one["notes"].to_string().contains("is given twice"), "{one}");
    // Neither is its copy, and two of them are no two runs.
    copy_recording(&place.join("one.teiji"), &place.join("copy.teiji"));
    let output = place.well("compare one.teiji copy.teiji --with one.teiji").out.replace('\n', " ");
    assert!(
        output.contains("1 recording of one left out, identical to an earlier one")
            && output.contains("is given twice"),
        "{output}"
    );
}

#[test]
fn show_and_report_hold_the_limits_of_a_gate() {
    let place = measured();
    let output = place.teiji("show one.teiji --limit max<1ns --limit max<1h");
    assert_eq!(output.code, Some(1));
    assert!(
        output.out.starts_with("FAIL: 1 of 2 limits") && output.out.contains("thread"),
        "{output:?}"
    );
    assert_eq!(place.teiji("show one.teiji two.teiji --limit max<1h").code, Some(0));
    let output = place.teiji(
        "report one.teiji two.teiji --limit rate(>1s)<1e-9@95% --limit p50<1s --svg charts -o \
         report.html",
    );
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(
        output.out.contains("NOT ENOUGH EVIDENCE: 2 of 2 recordings, checked against 2 limits")
            && output.out.contains("\nReport: report.html\n"),
        "{output:?}"
    );
    for chart in ["histogram", "latency-over-time", "exceedance"] {
        let svg = place.read(&format!("charts/{chart}.svg"));
        assert!(
            svg.contains("? rate(&gt;1s)&lt;1e-9@95%</text>") && svg.contains("✓ p50&lt;1s</text>"),
            "{chart}"
        );
    }
    assert!(
        place
            .read("report.html")
            .contains("? Not enough evidence: 2 of 2 recordings, checked against 2 limits")
    );
}

#[test]
fn charts_are_drawn_as_flags_say() {
    let place = measured();
    place.well(
        "report one.teiji two.teiji --svg charts --bin 1us --heights shares --jitter --overlay -o \
         report.html",
    );
    let (histogram, time) =
        (place.read("charts/histogram.svg"), place.read("charts/latency-over-time.svg"));
    assert!(
        histogram.contains(">% of activations in bins of 1 µs (logarithmic)</text>")
            && histogram.contains(">latency, µs</text>")
    );
    assert!(time.contains(">Jitter over time") && time.matches(">jitter, µs</text>").count() == 1);
    let page = place.read("report.html");
    assert!(
        page.contains("\"bin_ns\":1000")
            && page.contains("\"over_time\":\"jitter\",\"overlay\":true")
    );
    place.well(
        "report one.teiji two.teiji --svg charts --x linear --y linear --heights counts -o \
         report.html",
    );
    let histogram = place.read("charts/histogram.svg");
    assert!(histogram.contains(">activations in bins of ") && !histogram.contains("(logarithmic)"));
    for words in ["--x sideways", "--bin 1ns", "--heights both"] {
        assert_eq!(place.teiji(&format!("report one.teiji {words}")).code, Some(2), "{words}");
    }
}

#[test]
fn pages_are_written_together_or_not_at_all() {
    let place = measured();
    for words in [
        "report one.teiji --md no/where.md",
        "report one.teiji --md report.html",
        "compare one.teiji two.teiji --html no/where.html",
    ] {
        let output = place.teiji(words);
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{words}: {output:?}");
        assert!(
            !place.join("report.html").exists() && !place.join("report.html.new").exists(),
            "{words}"
        );
    }
    assert_eq!(place.teiji("compare one.teiji --with ,").code, Some(2));
    // Programs read English, people whatever they asked for.
    let output = place.well("compare one.teiji two.teiji --json --html page.html --lang ja");
    // Of what is not ASCII, English holds "µ" only.
    let verdict = json(&output.out)["comparisons"][0]["verdict"].as_str().unwrap().to_owned();
    assert!(verdict.chars().all(|letter| letter.is_ascii() || letter == 'µ'), "{verdict}");
    assert!(
        std::fs::read_to_string(place.join("page.html")).unwrap().contains("<html lang=\"ja\">")
    );
}

#[test]
fn what_cannot_be_compared_is_not() {
    let place = measured();
    let path = place.join("two.teiji/run.json");
    let mut document = json(&std::fs::read_to_string(&path).unwrap());
    document["instrument"]["clock"] = "CLOCK_TAI".into();
    document["host"]["before"]["kernel"] = "7.0.0-other".into();
    std::fs::write(&path, document.to_string()).unwrap();
    let output = place.teiji("compare one.teiji two.teiji");
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{output:?}");
    assert!(
        output.err.contains("their clocks differ") && output.err.contains("--anyway"),
        "{output:?}"
    );
    let japanese = place.teiji("compare one.teiji two.teiji --lang ja");
    assert_eq!(
        (japanese.code, japanese.err.contains("比較できません")),
        (Some(2), true),
        "{japanese:?}"
    );
    let for_a_program = place.teiji("compare one.teiji two.teiji --json --lang ja");
    assert_eq!(
        (for_a_program.code, &for_a_program.err),
        (Some(2), &output.err),
        "JSON is in English"
    );
    let anyway = place.well("compare one.teiji two.teiji --anyway");
    assert!(
        anyway.out.contains("Note: their clocks differ") && anyway.out.contains("7.0.0-other"),
        "{anyway:?}"
    );
    assert!(anyway.out.lines().all(|line| line.chars().count() <= 80), "{anyway:?}");
    let table = place.well("compare one.teiji --with two.teiji --anyway --md").out;
    assert!(table.contains("\n| p50 | ") && table.contains("| Kernel | "), "{table}");
}

#[test]
fn show_and_report_say_what_the_data_supports() {
    let place = measured();
    let output = place.well("show one.teiji").out;
    assert!(
        output.contains('█') && output.contains("\n  p99     ") && output.contains("\n  tail    "),
        "{output}"
    );
    assert!(
        output
            .lines()
            .filter(|line| !line.contains("Next:"))
            .all(|line| line.chars().count() <= 80),
        "{output}"
    );
    place.well("report one.teiji two.teiji -o page.html");
    let page = place.read("page.html");
    assert!(page.contains("What the data supports") && page.contains(">tail</a></dt><dd>"));
}

/// Rows of a Markdown table have as many cells as its heading, or it is no table.
fn tables_are_whole(text: &str) {
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = text.lines().collect();
    let mut tables = 0;
    for (place, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("|--") || line.starts_with("| --"))
    {
        tables += 1;
        let rows = lines[place + 1..].iter().take_while(|row| row.starts_with('|'));
        assert_eq!(cells(lines[place - 1]), cells(line), "{line}");
        rows.for_each(|row| assert_eq!(cells(row), cells(line), "{row}"));
    }
    assert!(tables > 0, "{text}");
}

#[test]
fn the_same_report_as_markdown_and_in_japanese() {
    let place = measured();
    place.well("report one.teiji two.teiji -o page.html --md report.md --svg charts");
    let text = place.read("report.md");
    tables_are_whole(&text);
    for part in [
        "# one",
        "## Summary",
        "### two",
        "- **tail**: ",
        "| p50 | p90 | p99 | p99.9 |",
        "![Exceedance](charts/exceedance.svg)",
        "## Words",
        "| p99.9 |",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(place.join("charts/exceedance.svg").is_file());
    for (written, charts, link) in
        [("r.md", ".", "."), ("charts/r.md", "charts", "."), ("charts/r.md", "a(b", "../a%28b")]
    {
        place.well(&format!("report one.teiji -o page.html --md {written} --svg {charts}"));
        assert!(
            place.read(written).contains(&format!("]({link}/exceedance.svg)")),
            "{written}, {charts}"
        );
    }
    place.well("report one.teiji -o seite.html --md bericht.md --lang ja");
    let (page, text) = (place.read("seite.html"), place.read("bericht.md"));
    tables_are_whole(&text);
    assert!(
        page.contains("<html lang=\"ja\">")
            && page.contains("レイテンシのヒストグラム")
            && text.contains("## 測定結果")
    );
    let output = place.teiji("report one.teiji --lang de");
    assert_eq!((output.code, output.err.contains("it is en or ja")), (Some(2), true), "{output:?}");
}

#[test]
fn a_comparison_is_a_page_too() {
    let place = drawn();
    let output = place.well("compare one.teiji two.teiji --html page.html --lang ja");
    assert!(output.out.lines().any(|line| line.starts_with("two と one の比較: ")), "{output:?}");
    let page = place.read("page.html");
    assert!(
        page.contains("id=\"differences\"")
            && page.contains("<html lang=\"ja\">")
            && page.len() < 2_000_000
    );
    place.well("compare one.teiji two.teiji --html page.html");
    let page = place.read("page.html");
    assert!(
        page.contains(": two against one") && page.matches(" viewBox=").count() == 4,
        "three charts and the differences"
    );
}

/// One step for what runs builds: measure, then judge as `teiji gate` does.
#[test]
fn measuring_with_limits_is_judged_as_a_gate() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let measure = |name: &str, limits: &str| {
        place.teiji(&format!("measure -i 1ms -n 200 -t 1 -o {name} {limits}"))
    };
    let passed = measure("pass.teiji", "--limit max<1h --limit skipped<1000");
    assert_eq!(
        (passed.code, passed.out.contains("\nPASS: 2 limits\n")),
        (Some(0), true),
        "{passed:?}"
    );
    let failed = measure("fail.teiji", "--limit max<1h --limit max<1ns");
    assert_eq!(
        (failed.code, failed.out.contains("\nFAIL: 1 of 2 limits\n")),
        (Some(1), true),
        "{failed:?}"
    );
    let lacking = measure("lack.teiji", "--limit rate(>1h)<1e-9@95%");
    assert_eq!(
        (lacking.code, lacking.out.contains("\nNOT ENOUGH EVIDENCE: ")),
        (Some(3), true),
        "{lacking:?}"
    );
    let output = measure("json.teiji", "--limit max<1ns --json");
    assert_eq!(
        (output.code, json(&output.out)["state"].as_str()),
        (Some(1), Some("complete")),
        "{output:?}"
    );
    assert!(output.err.contains("FAIL: 1 of 1 limit"), "{output:?}");
    let wrong = measure("wrong.teiji", "--limit max>1us");
    assert_eq!((wrong.code, place.join("wrong.teiji").exists()), (Some(2), false), "{wrong:?}");
}

#[test]
fn figures_alone_and_recordings_as_tables() {
    let place = measured();
    let document = place.document("one.teiji");
    let thread = &document.threads()[0];
    let max = thread.whole("/latency_with_skipped_ns/max");
    let number: f64 = place.well("show one.teiji --figure max").out.trim().parse().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let difference = number - max as f64 / 1e3;
    assert!(difference.abs() < 1e-6, "{number} for {max} ns");
    assert_eq!(place.well("show one.teiji two.teiji --figure due").out, "4000\n4000\n");
    let code = |words: &str| place.teiji(words).code;
    assert_eq!(
        [code("show one.teiji --figure p99.9999"), code("show one.teiji --figure median")],
        [Some(2); 2]
    );
    // The gate sees the same number.
    let gate = place.well("gate one.teiji --limit p99<1h --json");
    let p99 = place.well("show one.teiji --figure p99").out;
    let seen = json(&gate.out)["limits"][0]["seen"].as_str().unwrap().replace(',', "");
    assert_eq!(seen, format!("{} µs", p99.trim()));

    let shown = json(&place.well("show one.teiji --json").out);
    assert_eq!(shown, json(&place.read("one.teiji/run.json")));
    let two = json(&place.well("show one.teiji two.teiji --json").out);
    assert_eq!(two.as_array().map(Vec::len), Some(2));
    let csv = place.well("show one.teiji two.teiji --csv").out;
    assert!(csv.lines().count() == 3 && csv.contains("\r\none.teiji,0,"), "{csv}");
    tables_are_whole(&place.well("show one.teiji two.teiji --md").out);
}

#[test]
fn exported_as_text() {
    let place = measured();
    let document = place.document("one.teiji");
    let thread = &document.threads()[0];
    place.well("export one.teiji --samples -o samples.csv");
    let samples = place.read("samples.csv");
    let rows: Vec<Vec<&str>> =
        samples.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(
        samples.starts_with("thread,cpu,activation,planned_ns,latency_ns\n") && rows.len() == 4_000,
        "{}",
        rows.len()
    );
    assert_eq!(rows[0][3].parse(), Ok(thread.whole("/start_ns")));
    assert_eq!(
        (rows[7][2], rows[7][3].parse()),
        ("7", Ok(thread.whole("/start_ns") + 7 * 500_000))
    );
    let latencies: Vec<i64> = rows.iter().filter_map(|row| row[4].parse().ok()).collect();
    assert_eq!(latencies.iter().max(), Some(&thread.whole("/latency_ns/max")));
    assert_eq!(i64::try_from(latencies.len()), Ok(thread.whole("/latency_ns/count")));
    let histogram = place.well("export one.teiji --histogram").out;
    let counts = histogram
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(4).unwrap().parse::<usize>().unwrap());
    assert_eq!(counts.sum::<usize>(), latencies.len());
    let again = place.teiji("export one.teiji --histogram -o samples.csv");
    assert!(again.code == Some(2) && again.err.contains("samples.csv exists"), "{again:?}");
    place.well("export one.teiji --histogram -o samples.csv --force");
    assert_eq!(place.read("samples.csv"), histogram);
    assert_eq!(place.teiji("export one.teiji").code, Some(2));
    assert!(place.listing().iter().all(|name| !name.contains(".teiji-")), "{:?}", place.listing());
}

/// Every format is written, and what cyclictest would have printed is imported as it was measured.
#[test]
fn exported_for_other_programs() {
    let place = measured();
    let thread = place.document("one.teiji").threads().remove(0);
    let [count, min, max] =
        ["count", "min", "max"].map(|of| thread.whole(&format!("/latency_ns/{of}")));
    for format in ["cyclictest-histogram", "cyclictest-json"] {
        let output = place.well(&format!("export one.teiji --as {format} -o {format}"));
        assert!(output.err.contains(&format!("Written: {format}")), "{output:?}");
        place.well(&format!("import {format} -o imported"));
        let again = place.document(&format!("imported/{format}.teiji")).threads().remove(0);
        assert_eq!(again.whole("/latency_ns/count"), count);
        assert_eq!(again.whole("/latency_ns/min"), min / 1_000 * 1_000);
        assert_eq!(again.whole("/latency_ns/max"), max / 1_000 * 1_000);
    }
    let osadl = json(&place.well("export one.teiji --as osadl").out);
    assert_eq!(osadl["latency"]["maxima"][0], max / 1_000);
    let log = place.well("export one.teiji --as hdrhistogram").out;
    assert!(log.contains("\nTag=thread0,0.000,"), "{log}");
    let metrics = place.well("export one.teiji --as openmetrics").out;
    let counted =
        format!("teiji_latency_seconds_count{{recording=\"one\",thread=\"0\",cpu=\"0\"}} {count}");
    assert!(metrics.contains(&counted) && metrics.ends_with("# EOF\n"), "{metrics}");
    place.well("export one.teiji --as perfetto --above 1ms -o few");
    place.well("export one.teiji --as perfetto --above 0 -o all");
    let bytes = |name: &str| std::fs::metadata(place.join(name)).unwrap().len();
    assert!(bytes("few") + 4_000 < bytes("all"), "{} {}", bytes("few"), bytes("all"));
    let refused = place.teiji("export one.teiji --as osadl --above 1ms");
    assert!(refused.code == Some(2) && refused.err.contains("no slices"), "{refused:?}");
    let hidden = place.well("export one.teiji --as openmetrics --anonymous").out;
    assert!(!hidden.contains("recording=\"one\""), "{hidden}");
}

/// The plan's first run is one of the second value.
#[test]
fn runs_of_a_shuffled_plan_are_compared_with_its_first_value() {
    let place = TestFolder::new();
    let plan = "[measure]\npolicy = 'other'\ninterval = '1ms'\ncpus = '0'\nwarmup = \
                '0s'\n[vary]\nsamples = [60, 50]\n[order]\nshuffle = true\nseed = 2\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    assert!(
        place.join("out/01-samples=50.teiji").is_dir(),
        "the order of the runs is what this test is about"
    );
    let compared = json(&place.well("compare out --json").out);
    let one = &compared[0]["compared"]["comparisons"][0];
    assert_eq!(
        (&one["base"], &one["other"]),
        (&"samples=60".into(), &"samples=50".into()),
        "{compared}"
    );
    let by = place.well("show out --by samples").out;
    // No cause is named: whether the figures differ is for `compare` to say.
    let verdict = "\n\nsamples=50 against samples=60: too few independent samples to compare.\n";
    assert!(by.contains(verdict), "{by}");
    let head = by.lines().find(|line| line.starts_with("figure")).unwrap();
    assert!(head.find("60") < head.find("50"), "{by}");
}

/// It ended in a refusal that led nowhere.
#[test]
fn what_can_be_compared_of_a_plan_is_named() {
    let place = TestFolder::new();
    let plan = "[measure]\npolicy = 'other'\ncpus = '0'\nwarmup = '0s'\nsamples = \
                30\n[vary]\ninterval = ['1ms', '2ms']\nload = ['none', 'cpu']\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    for (flags, named) in [
        ("", "cannot be compared: their intervals differ (1ms; 2ms); "),
        ("--html page.html --anyway", "--html shows one comparison, and these are 2"),
    ] {
        let output = place.teiji(&format!("compare out {flags}"));
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(named), "{output:?}");
        let commands: Vec<&str> =
            output.err.lines().filter_map(|line| line.strip_prefix("  teiji ")).collect();
        let [first, second, by] = commands.as_slice() else { panic!("{output:?}") };
        for (pair, interval) in [(first, "1ms"), (second, "2ms")] {
            assert_eq!(pair.matches(&format!("interval={interval}_load=")).count(), 2, "{pair}");
            place.well(pair);
        }
        assert_eq!(*by, "show out --by load");
        place.well(by);
    }
}
