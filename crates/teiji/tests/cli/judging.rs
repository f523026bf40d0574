// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gate`, `compare` and what `show` and `report` claim: on recordings that were just measured, with limits that are surely kept
//! or surely not.

use crate::support::{Place, alone};
use serde_json::Value;

fn measured() -> Place {
    let _turn = alone();
    let place = Place::new();
    place.well("measure -i 500us -n 4000 -t 1 --title one -o one.teiji");
    place.well("measure -i 500us -n 4000 -t 1 --title two -o two.teiji");
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
    let said = place.well("gate one.teiji --limit max<1h --json --junit junit.xml");
    let said = json(&said.out);
    assert_eq!((said["verdict"].as_str(), said["limits"][0]["limit"].as_str()), (Some("pass"), Some("max<1h")));
    assert!(said["limits"][0]["margin"].as_f64().is_some_and(|margin| margin > 0.5 && margin < 1.0), "{said}");
    assert!(place.read("junit.xml").contains("<testsuite name=\"teiji gate\" tests=\"1\" failures=\"0\" errors=\"0\">"));
    assert!(
        place.well("gate one.teiji --limit max<1h --tap").out.starts_with("TAP version 13\n1..1\nok 1 - max<1h in one.teiji\n")
    );
}

#[test]
fn a_recording_is_not_worse_than_itself() {
    let place = measured();
    let said = place.well("gate one.teiji --baseline one.teiji --worse-than 1000%");
    assert!(said.out.starts_with("PASS: ") && said.out.contains("p99 at most 1000 % worse than one.teiji"), "{said:?}");
    let compared = json(&place.well("compare one.teiji one.teiji --json").out);
    let one = &compared["comparisons"][0];
    for figure in one["quantiles"].as_array().unwrap() {
        assert_eq!(figure["told_apart"], false, "{figure}");
        assert!(figure["ratio_lower"].as_f64().unwrap() <= 1.0 && figure["ratio_upper"].as_f64().unwrap() >= 1.0, "{figure}");
    }
    assert!(one["quantiles"].as_array().unwrap().len() >= 3 && one["differs"].as_array().unwrap().is_empty(), "{one}");
    assert!(one["notes"].to_string().contains("is there twice"), "{one}");
}

#[test]
fn pages_are_written_together_or_not_at_all() {
    let place = measured();
    for words in [
        "report one.teiji --md no/where.md",
        "report one.teiji --md report.html",
        "compare one.teiji two.teiji --html no/where.html",
    ] {
        let said = place.teiji(words);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{words}: {said:?}");
        assert!(!place.join("report.html").exists() && !place.join("report.html.new").exists(), "{words}");
    }
    assert_eq!(place.teiji("compare one.teiji --with ,").code, Some(2));
    // Programs read English, people whatever they asked for.
    let said = place.well("compare one.teiji two.teiji --json --html page.html --lang ja");
    assert!(json(&said.out)["comparisons"][0]["verdict"].as_str().unwrap().is_ascii(), "{said:?}");
    assert!(std::fs::read_to_string(place.join("page.html")).unwrap().contains("<html lang=\"ja\">"));
}

#[test]
fn what_cannot_be_compared_is_not() {
    let place = measured();
    let path = place.join("two.teiji/run.json");
    let mut document = json(&std::fs::read_to_string(&path).unwrap());
    document["instrument"]["clock"] = "CLOCK_TAI".into();
    document["host"]["before"]["kernel"] = "7.0.0-other".into();
    std::fs::write(&path, document.to_string()).unwrap();
    let said = place.teiji("compare one.teiji two.teiji");
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("measured by different clocks") && said.err.contains("--anyway"), "{said:?}");
    let anyway = place.well("compare one.teiji two.teiji --anyway");
    assert!(
        anyway.out.contains("Note: they were measured by different clocks") && anyway.out.contains("7.0.0-other"),
        "{anyway:?}"
    );
    assert!(anyway.out.lines().all(|line| line.chars().count() <= 80), "{anyway:?}");
    let table = place.well("compare one.teiji --with two.teiji --anyway --md").out;
    assert!(table.contains("\n| p50 | ") && table.contains("| Kernel | "), "{table}");
}

#[test]
fn show_and_report_say_what_may_be_claimed() {
    let place = measured();
    let said = place.well("show one.teiji").out;
    assert!(said.contains('█') && said.contains("\n  p99     ") && said.contains("\n  tail    "), "{said}");
    assert!(said.lines().filter(|line| !line.contains("Next:")).all(|line| line.chars().count() <= 80), "{said}");
    place.well("report one.teiji two.teiji -o page.html");
    let page = place.read("page.html");
    assert!(page.contains("What the figures may claim") && page.contains(">tail</a></dt><dd>"));
}

/// Rows of a Markdown table have as many cells as its heading, or it is no table.
fn tables_are_whole(text: &str) {
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    let lines: Vec<&str> = text.lines().collect();
    let mut tables = 0;
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("|--") || line.starts_with("| --")) {
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
    for (written, charts, link) in [("r.md", ".", "."), ("charts/r.md", "charts", "."), ("charts/r.md", "a(b", "../a%28b")] {
        place.well(&format!("report one.teiji -o page.html --md {written} --svg {charts}"));
        assert!(place.read(written).contains(&format!("]({link}/exceedance.svg)")), "{written}, {charts}");
    }
    place.well("report one.teiji -o seite.html --md bericht.md --lang ja");
    let (page, text) = (place.read("seite.html"), place.read("bericht.md"));
    tables_are_whole(&text);
    assert!(page.contains("<html lang=\"ja\">") && page.contains("レイテンシのヒストグラム") && text.contains("## まとめ"));
    let said = place.teiji("report one.teiji --lang de");
    assert_eq!((said.code, said.err.contains("it is en or ja")), (Some(2), true), "{said:?}");
}

#[test]
fn a_comparison_is_a_page_too() {
    let place = measured();
    let said = place.well("compare one.teiji two.teiji --html page.html --lang ja");
    assert!(said.out.starts_with("one に対する two: "), "{said:?}");
    let page = place.read("page.html");
    assert!(page.contains("id=\"differences\"") && page.contains("<html lang=\"ja\">") && page.len() < 2_000_000);
    place.well("compare one.teiji two.teiji --html page.html");
    let page = place.read("page.html");
    assert!(page.contains("two against one: ") && page.matches(" viewBox=").count() == 4, "three charts and the differences");
}
