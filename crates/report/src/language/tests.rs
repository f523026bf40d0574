// SPDX-License-Identifier: MIT OR Apache-2.0
//! That nothing is left in English, and nothing is said differently than in English.

use super::*;
use crate::synthetic::{Synthetic, lose_samples};
use crate::{ChartOptions, Comparisons, GateReport, Matrix, Paint, PlanLength, Repeats, Report};
use model::Examined;
use stats::{AfterOverrun, ExactRequest, Span, analyse};

/// Scripts say texts by their English: no key of them is compiled.
#[test]
fn scripts_say_the_texts_that_there_are_for_them() {
    let scripts = concat!(
        include_str!("../../assets/charts.js"),
        include_str!("../../assets/page.js"),
        include_str!("../../assets/plan.js"),
    );
    let said =
        scripts.split("tell(").filter_map(|call| call.strip_prefix('\'')?.split('\'').next());
    let is_known = |said: &str| texts::SCRIPTS.iter().any(|text| text.in_english() == said);
    let unknown: Vec<&str> = said.filter(|said| !is_known(said)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    // Kinds of time and figures of the heat map, which scripts find in the page's data.
    let of_data = ["machine", "virtual", "emulated", "mean", "sd", "max", "late", "skipped"];
    let is_said = |english| of_data.contains(&english) || scripts.contains(&format!("'{english}'"));
    let mut known = texts::SCRIPTS.iter().map(|text| text.in_english());
    assert_eq!(known.find(|english| !is_said(english)), None);
}

#[test]
fn a_text_is_said_of_one_in_the_singular() {
    let said = |n: u64| {
        [Language::English, Language::Japanese]
            .map(|language| in_language(language, || tr!(n_samples, n)))
    };
    assert_eq!(said(1), ["1 sample", "サンプル 1 個"]);
    assert_eq!(said(3), ["3 samples", "サンプル 3 個"]);
}

fn recordings() -> Vec<model::Recorded> {
    let mut recordings = vec![
        Synthetic::idle().build(),
        Synthetic::hackbench().load("cpu@50%").build(),
        Synthetic::idle().samples(&[1_000, 2_000]).in_lab(Some(1)).title("lab").build(),
        Synthetic::idle().samples(&[-1_000]).in_lab(None).title("emulated").build(),
        Synthetic::idle().samples(&[]).title("nothing").build(),
    ];
    recordings[0].document.state = model::State::Stopped;
    recordings[0].document.end = Some(model::End::Guard { starved_ns: 2_000_000_000, cpu: None });
    recordings[1].document.load[1].off_target = true;
    lose_samples(&mut recordings[1].document.threads[0], 3);
    recordings[2].document.run.scheduling = plan::Scheduling::OTHER;
    recordings[3].document.instrument.real_time = false;
    recordings
}

/// Whatever is looked up and not found is a panic here.
#[test]
fn a_page_of_everything_is_japanese() {
    let (recordings, options) = (recordings(), ChartOptions::default());
    let report = Report::new(&recordings, &[], &options);
    let [english, page] = Language::ALL.map(|language| report.html("teiji report", language));
    assert!(
        page.contains("<html lang=\"ja\">")
            && page.contains("ヒストグラム")
            && english.contains("<html lang=\"en\">")
    );
    assert!(
        page.contains("周期内")
            && !page.contains(">on time<")
            && !page.contains("<h2>Latency over time")
    );
    assert_eq!(current_language(), Language::English, "given back");
    assert_eq!(figures(&page), figures(&english));
}

/// The figures of a page, in ns.
fn figures(page: &str) -> Vec<&str> {
    page.split("data-ns=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(ns, _)| ns)
        .collect()
}

/// Runs of every kind of time, of several repeats, with inferences that say something and
/// inferences that refuse to.
fn matrix() -> Matrix {
    let rows = (0..4)
        .map(|row| vec![Some(format!("kernel {}", row / 2)), Some(format!("load {}", row % 2))]);
    let mut matrix = Matrix::new(Some("題".into()), vec!["kernel".into(), "load".into()], rows);
    for (row, lab) in [(1, Some(1)), (2, None)] {
        for repeat in 1..=2 {
            let few = Synthetic::idle().threads(2).due(2_000).seed(u64::from(repeat)).in_lab(lab);
            matrix.add(row, repeat, few.build());
        }
    }
    let (recorded, inferences) = crate::page::page_tests::with_a_tail();
    matrix.add_run(0, 1, recorded, inferences, Vec::new());
    matrix.add_missing(3);
    matrix
}

#[test]
fn a_plan_with_its_claims_is_japanese() {
    let (matrix, japanese) = (matrix(), Language::Japanese);
    let page = matrix.html("[vary]", "teiji report", japanese);
    let text = matrix.page_as_markdown("[vary]", "teiji report", Some("charts"), japanese);
    assert!(
        page.contains("(時間: 実機)") && page.contains("1 時間に 1 回は"),
        "{}",
        page.split("<main").nth(1).unwrap()
    );
    assert!(text.contains("](charts/histogram.svg)") && text.contains("1 時間に 1 回は"), "{text}");
}

/// A recording with what `gate` and `compare` need of it.
fn examined(recorded: model::Recorded) -> Examined {
    let latencies: Vec<i32> =
        (0..2_000).map(|n| 3_000 + n * 37 % 1_900 + n % 400 / 399 * 50_000).collect();
    let spans = [Span::Woken(&latencies)];
    let analyses = recorded.threads.iter().map(|_| {
        let Ok(analysis) =
            analyse(&spans[..], 1_000_000, AfterOverrun::Skip, 64, &ExactRequest::default());
        analysis
    });
    let analyses = analyses.collect();
    Examined { recorded, analyses, pool: None }
}

/// What a model says in one language is the same whatever language it was asked for in before, and
/// of the other nothing is left.
#[test]
fn no_language_leaks_into_another() {
    let (recordings, options) = (recordings(), ChartOptions::default());
    let report = Report::new(&recordings, &[], &options);
    let matrix = matrix();
    let all: Vec<Examined> = recordings.iter().cloned().map(examined).collect();
    let limits: Vec<plan::Limit> =
        ["max<10us", "p99.9<1ms@95%"].iter().map(|text| text.parse().unwrap()).collect();
    let mut gate = GateReport::judge(&limits, &all);
    gate.against(&all[0], 0.1, &all[1..2], Language::English).unwrap();
    let groups: Vec<Repeats> =
        recordings.iter().map(|one| Repeats::new(vec![examined(one.clone())])).collect();
    let comparisons = Comparisons::new(&groups, true, Language::English).unwrap();
    let single: Vec<Report<'_>> = recordings
        .iter()
        .map(|one| Report::new(std::slice::from_ref(one), &[], &options))
        .collect();
    let (recorded, inferences) = crate::page::page_tests::with_a_tail();
    let (recorded, inferences) = ([recorded], [inferences]);
    let with_a_tail = Report::new(&recorded, &inferences, &options);
    let (interval, duration) = (plan::Nanos(1_000_000), Some(plan::Nanos::from_secs(10_800)));
    let length =
        PlanLength { samples: 2_995, rate: 1e-3, confidence: 0.95, interval, threads: 4, duration };
    let command = "teiji";
    let output = |language| {
        let mut texts = vec![
            ("page", report.html(command, language)),
            ("Markdown", report.markdown(command, Some("charts"), language)),
            ("headline", report.headline(Paint::Plain, language)),
            ("plan's page", matrix.html("[vary]", command, language)),
            ("plan's Markdown page", matrix.page_as_markdown("[vary]", command, None, language)),
            ("plan's headline", matrix.headline_text(Paint::Plain, language)),
            ("plan's text", matrix.text(language)),
            ("plan's Markdown", matrix.markdown(language)),
            ("gate", gate.text(language)),
            ("comparison's page", comparisons.html(&groups, command, language)),
            ("comparison", comparisons.text(language)),
            ("comparison's Markdown", comparisons.markdown(language)),
            ("comparison's time", comparisons.what_time_is(language).unwrap().to_owned()),
            ("side by side", crate::side_by_side(&recordings, language)),
            ("threads", crate::threads_markdown(&recordings, language)),
            ("loads", crate::load_table(&recordings[1].document.load, language)),
            ("length", length.text(language)),
            ("time", crate::what_time_is(&recordings[2], language).unwrap()),
            ("plan's factor", matrix.by("load", language).unwrap()),
            ("plan's factor that it has not", matrix.by("cpu", language).unwrap_err()),
        ];
        texts.push(("summary", report.terminal_summary(Paint::Plain, language)));
        texts.extend(
            single
                .iter()
                .map(|one| ("summary of one", one.terminal_summary(Paint::Plain, language))),
        );
        texts.push(("what a recording supports", with_a_tail.terminal_inference(language)));
        texts.extend(report.svg_charts(language).into_iter().map(|(_, svg)| ("chart", svg)));
        texts.extend(matrix.svg_charts(language).into_iter().map(|(_, svg)| ("plan's chart", svg)));
        texts
    };
    let for_programs = || {
        [
            matrix.csv(),
            matrix.json().to_string(),
            gate.json().to_string(),
            gate.junit(),
            gate.tap(),
            comparisons.json().to_string(),
        ]
    };
    let (first, before) = (output(Language::English), for_programs());
    let japanese = output(Language::Japanese);
    let (again, after) = (output(Language::English), for_programs());
    // What a plan is called comes from outside.
    let is_japanese =
        |text: &str| text.replace('題', "").chars().any(|c| matches!(c, '\u{3040}'..='\u{9fff}'));
    for (((name, english), (_, japanese)), (_, again)) in first.iter().zip(&japanese).zip(&again) {
        assert_eq!(english, again, "{name}");
        let line = english.lines().find(|line| is_japanese(line));
        assert_eq!(line, None, "{name} in English");
        assert!(is_japanese(japanese), "{name} in Japanese");
    }
    assert_eq!(before, after);
    assert!(!before.iter().any(|text| is_japanese(text)));
    // Sentences that are made of a run before it is let go, or of a recording before anyone says in
    // which language it is read.
    for (name, text) in &japanese {
        for english in [
            "real-time rights",
            "Steal time",
            "steal time",
            "off target",
            "Virtual ns",
            "Ordinary scheduling",
        ] {
            let line = text.lines().find(|line| line.contains(english));
            assert_eq!(line, None, "{name} in Japanese");
        }
        let of_terminal = [
            "planned",
            "as measured",
            "As measured",
            "Warning",
            "Next:",
            "Seen",
            "asked for",
            "confidence",
        ];
        for english in of_terminal.into_iter().filter(|_| !text.contains("<html")) {
            let line = text.lines().find(|line| line.contains(english));
            assert_eq!(line, None, "{name} in Japanese");
        }
    }
}
