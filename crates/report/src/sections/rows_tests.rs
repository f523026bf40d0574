// SPDX-License-Identifier: MIT OR Apache-2.0
//! That nothing shown of trials and events calls them activations, or speaks of waking up.

use crate::sections::inference::Inference;
use crate::synthetic::Synthetic;
use crate::{ChartOptions, Comparisons, GateReport, Language, Matrix, Paint, Repeats, Report};
use model::{Column, End, Examined, ProbeStatement, Recorded, RowKind, State};
use stats::{AfterOverrun, ExactRequest, Span, analyse};

/// A recording with loads, skipped and lost ones, as this probe would have made it.
fn recorded(rows: RowKind, title: &str) -> Recorded {
    let mut recorded = Synthetic::hackbench().title(title).build();
    recorded.document.probe = ProbeStatement {
        name: "other".into(),
        rows,
        columns: vec![
            Column::ns("exec_ns", "from the call to the child's first instruction after exec"),
            Column::ns("done_ns", "from the planned time until the child was waited for"),
        ],
        overrun_column: (rows != RowKind::Events).then_some(1),
        ..ProbeStatement::cyclic()
    };
    if rows == RowKind::Events {
        recorded.document.probe.columns = vec![Column::ns("length_ns", "how long the event took")];
    }
    recorded.document.threads[0].evidence.samples_lost = 3;
    recorded.threads[0].lost = 3;
    recorded
}

/// With a period, a change and too little for some figures.
fn examined(recorded: Recorded) -> Examined {
    let latency = |n: i32| {
        3_000
            + n * 37 % 1_900
            + if n % 400 == 399 { 50_000 } else { 0 }
            + if n > 4_000 { 9_000 } else { 0 }
    };
    let latencies: Vec<i32> = (0..8_000).map(latency).collect();
    let of = |_| {
        let Ok(analysis) = analyse(
            &[Span::Woken(&latencies)][..],
            1_000_000,
            AfterOverrun::Unknown,
            64,
            &ExactRequest::default(),
        );
        analysis
    };
    let analyses = recorded.threads.iter().map(of).collect();
    Examined { recorded, analyses, pool: None }
}

/// Without what its scripts are made of, which know both.
fn seen(page: &str) -> String {
    let mut parts = page.split("<script");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter_map(|part| part.split_once("</script>")).fold(first, |page, (_, rest)| page + rest)
}

/// Everything that shows these, each with its name.
fn shown(rows: RowKind, language: Language) -> Vec<(&'static str, String)> {
    let mut recordings =
        vec![recorded(rows, "first"), recorded(rows, "second"), recorded(rows, "third")];
    recordings[1].document.state = State::Stopped;
    recordings[1].document.end =
        Some(End::BreakAbove { thread: 1, activation: 4_711, latency_ns: 83_449 });
    recordings[2].document.state = State::Stopped;
    recordings[2].document.end = Some(End::Guard { starved_ns: 2_000_000_000, cpu: None });
    let all: Vec<Examined> = recordings.iter().cloned().map(examined).collect();
    let inferences: Vec<Vec<Inference>> =
        all.iter().map(|one| one.analyses.iter().map(Inference::from_analysis).collect()).collect();
    let options = ChartOptions::default();
    let report = Report::new(&recordings, &inferences, &options);
    let limits =
        ["max<10us", "p99.9<1ms@95%", "p99.99<1ms", "late==0", "skipped==0", "rate(>1ms)<1e-9@95%"];
    let limits: Vec<plan::Limit> = limits.iter().map(|text| text.parse().unwrap()).collect();
    let mut gate = GateReport::judge(&limits, &all);
    gate.against(&all[0], 0.1, &all[1..2], language).unwrap();
    let groups: Vec<Repeats> =
        recordings.iter().map(|one| Repeats::new(vec![examined(one.clone())])).collect();
    let comparisons = Comparisons::new(&groups, true, language).unwrap();
    let mut matrix = Matrix::new(
        None,
        vec!["load".into()],
        ["one", "two"].map(|load| vec![Some(load.into())]).into_iter(),
    );
    matrix.limits = limits.clone();
    for (row, (one, inferences)) in all.iter().take(2).zip(&inferences).enumerate() {
        let judged = limits.iter().map(|limit| judge::judge(limit, one)).collect();
        matrix.add_run(row, 1, one.recorded.clone(), inferences.clone(), judged);
    }
    let nothing = [recorded(rows, "nothing")].map(|mut recorded| {
        recorded.threads.clear();
        recorded
    });
    let mut shown = vec![
        ("page", seen(&report.html("teiji", language))),
        ("Markdown", report.markdown("teiji", Some("charts"), language)),
        ("summary", report.terminal_summary(Paint::Plain, language)),
        ("what the data supports", report.terminal_inference(language)),
        ("nothing", Report::new(&nothing, &[], &options).terminal_summary(Paint::Plain, language)),
        ("gate", gate.text(language)),
        ("comparison", comparisons.text(language)),
        ("comparison's page", seen(&comparisons.html(&groups, "teiji", language))),
        ("plan", matrix.text(language)),
        ("plan's page", seen(&matrix.html("[vary]", "teiji", language))),
        ("side by side", crate::side_by_side(&recordings, language)),
        ("threads", crate::threads_markdown(&recordings, language)),
    ];
    shown.extend(report.svg_charts(language).into_iter().map(|(_, svg)| ("chart", svg)));
    shown
}

/// What stands around a word that should not be there.
fn around(text: &str, word: &str) -> Option<String> {
    let text: Vec<char> = text.to_lowercase().chars().collect();
    let word: Vec<char> = word.chars().collect();
    let at = text.windows(word.len()).position(|window| window == word)?;
    Some(text[at.saturating_sub(60)..(at + 60).min(text.len())].iter().collect())
}

#[test]
fn trials_and_events_are_no_wake_ups() {
    for (rows, [english, japanese]) in
        [(RowKind::Trials, [" trials", "試行"]), (RowKind::Events, [" events", "イベント"])]
    {
        for (language, own) in [(Language::English, english), (Language::Japanese, japanese)] {
            let shown = shown(rows, language);
            for (name, text) in &shown {
                for word in ["activation", "wake-up", "woke", "起床"] {
                    assert_eq!(
                        around(text, word),
                        None,
                        "{name} of {rows:?} in {language:?} says {word}"
                    );
                }
            }
            let (_, plan) = shown.iter().find(|(known, _)| *known == "plan's page").unwrap();
            assert!(!plan.contains("最大レイテンシは最大"), "the largest is said once");
            for name in ["page", "Markdown", "summary", "gate", "plan's page"] {
                let (_, text) = shown.iter().find(|(known, _)| *known == name).unwrap();
                assert!(text.contains(own), "{name} of {rows:?} in {language:?}: {text}");
            }
        }
    }
}

#[test]
fn activations_are_called_so() {
    let all = Synthetic::hackbench().build();
    let output = |language| {
        Report::new(std::slice::from_ref(&all), &[], &ChartOptions::default())
            .terminal_summary(Paint::Plain, language)
    };
    assert!(
        output(Language::English).contains("activations")
            && output(Language::Japanese).contains("起床")
    );
}

/// One page of both says what a latency is of each, by its name, and counts them by a word for
/// both.
#[test]
fn recordings_of_several_probes_each_say_what_they_measured() {
    let recordings = [
        recorded(RowKind::Trials, "starts"),
        Synthetic::idle().title("wakes").build(),
        recorded(RowKind::Events, "events"),
    ];
    let options = ChartOptions::default();
    let report = Report::new(&recordings, &[], &options);
    let (english, japanese) = (
        report.markdown("", None, Language::English),
        report.markdown("", None, Language::Japanese),
    );
    for line in [
        "- latency (starts): from the call to the child's first instruction after exec",
        "- latency (wakes): from the absolute time given to clock_nanosleep to the clock read \
         after its return, in user space",
        "- done, µs (starts): from the planned time until the child was waited for",
    ] {
        assert!(english.contains(line), "{line} in {english}");
    }
    assert!(
        english.contains(" | measurements | on time | late |")
            && english.contains(" measurements on time")
            && !english.contains("activations on time"),
        "{english}"
    );
    assert!(
        english.contains(
            "other: from the call to the child's first instruction after exec. cyclic: from"
        ),
        "{english}"
    );
    for line in [
        "- レイテンシ(starts): 呼び出しから",
        "- レイテンシ(wakes): clock_nanosleep に渡した絶対時刻から",
        "スキップ 3 回、イベント 20,003 件。",
    ] {
        assert!(japanese.contains(line), "{line} in {japanese}");
    }
    assert!(english.contains("- **jitter**: "), "one of them has it: {english}");
    let one = [recorded(RowKind::Trials, "starts"), recorded(RowKind::Trials, "again")];
    let one = Report::new(&one, &[], &options).markdown("", None, Language::English);
    assert!(one.contains("- latency: from the call to"), "said once: {one}");
}
