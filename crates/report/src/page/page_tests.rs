// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of every page.

use crate::language::Language::English;
use crate::overview::Overview;
use crate::page::MAX_BYTES;
use crate::sections::inference::Inference;
use crate::synthetic::Synthetic;
use crate::{ChartOptions, Report};
use judge::{Criterion, Gate, Judged, Seen, Verdict};
use model::{EventCounts, Recorded, Warning};
use plan::Limit;
use stats::{AfterOverrun, Span, analyse};

fn page(recordings: &[Recorded]) -> String {
    crate::Report::new(recordings, &[], &ChartOptions::default())
        .html("teiji report a.teiji", English)
}

/// 20,000 latencies of 10 µs and an exponential tail, and what they support.
pub(crate) fn with_a_tail() -> (Recorded, Vec<Inference>) {
    let latencies: Vec<i32> = (0..20_000_u32)
        .map(|n| {
            // Multiplied by the golden ratio, whole numbers are spread evenly and in no order.
            let share = (f64::from(n) * 0.618_033_988_749_894_8 + 0.5 / 20_000.0).fract();
            #[expect(clippy::cast_possible_truncation, reason = "at most 60 µs")]
            let late = (-5_000.0 * (1.0 - share).ln()) as i32;
            10_000 + late
        })
        .collect();
    let Ok(analysis) = analyse(
        &[Span::Woken(&latencies)][..],
        1_000_000,
        AfterOverrun::Skip,
        64,
        &stats::ExactRequest::default(),
    );
    (
        Synthetic::idle().threads(1).samples(&latencies).build(),
        vec![Inference::from_analysis(&analysis)],
    )
}

#[test]
fn claims_are_said_and_a_tail_is_drawn() {
    let (recorded, inferences) = with_a_tail();
    assert!(inferences[0].tail.is_ok(), "{:?}", inferences[0].tail);
    let (recordings, inferences) = ([recorded], [inferences]);
    let page = crate::Report::new(&recordings, &inferences, &ChartOptions::default())
        .html("teiji report a.teiji", English);
    assert!(
        page.contains("<table class=\"intervals\">")
            && page.contains("<th scope=\"col\">p99.99</th>")
            && page.contains(">tail</a></dt><dd>once an hour above ")
    );
    assert!(
        page.contains("\"tail\":{\"latency_ns\":[")
            && page.contains("Dotted: the extrapolated tail")
    );
    let svg = |inferences| {
        crate::Report::new(&recordings, inferences, &ChartOptions::default())
            .svg_charts(English)
            .into_iter()
            .find(|(name, _)| name == "exceedance.svg")
            .unwrap()
            .1
    };
    assert!(
        svg(&inferences).contains("stroke-dasharray=\"2 3\"")
            && !svg(&[]).contains("stroke-dasharray=\"2 3\"")
    );
    // Without inferences the section is left out.
    let without = crate::Report::new(&recordings, &[], &ChartOptions::default())
        .html("teiji report a.teiji", English);
    assert!(!without.contains("id=\"inferences\"") && without.contains("\"tail\":null"));
}

/// Figures count skipped activations in, and charts cannot draw them: where any were skipped, what
/// is without them is named.
#[test]
fn what_is_as_measured_says_so_where_anything_was_skipped() {
    const ROW: &str = "<tr class=\"measured\">";
    const CHART: &str = " As measured: skipped activations are not drawn.";
    let calm = Synthetic::idle().threads(1).samples(&[10_000; 100]).build();
    let mut latencies = [10_000; 100];
    latencies[10] = 5_500_000;
    let stalled = Synthetic::idle().threads(1).samples(&latencies).build();
    let found = |recorded: &Recorded| {
        let page = page(std::slice::from_ref(recorded));
        let mut matrix = crate::Matrix::new(None, vec![], [vec![]].into_iter());
        matrix.add(0, 1, recorded.clone());
        let terminal = Report::new(std::slice::from_ref(recorded), &[], &ChartOptions::default())
            .terminal_inference(English);
        let plan = matrix.html("", "teiji report plan", English);
        let in_terminal = terminal.contains(CHART.trim_start());
        (
            [page.matches(ROW).count(), page.matches(CHART).count(), plan.matches(CHART).count()],
            in_terminal,
        )
    };
    assert_eq!(found(&calm), ([0, 0, 0], false));
    assert_eq!(
        found(&stalled),
        ([1, 2, 2], true),
        "the histogram and the exceedance, not what goes over time"
    );
}

/// With `--aligned=TIME` each thread starts that much later than the one before.
#[test]
fn a_change_is_told_since_the_first_activation_of_the_run() {
    let latencies: Vec<i32> =
        (0..4_000).map(|n| if n < 2_000 { 5_000 } else { 9_000 } + n % 7 * 10).collect();
    let Ok(analysis) = analyse(
        &[Span::Woken(&latencies)][..],
        1_000_000,
        AfterOverrun::Skip,
        64,
        &stats::ExactRequest::default(),
    );
    let mut recorded = Synthetic::idle().threads(2).samples(&latencies).build();
    recorded.document.threads[1].start_ns.0 += 10_000_000_000;
    let inferences = vec![Inference::from_analysis(&analysis); 2];
    let (recordings, inferences, options) = ([recorded], [inferences], ChartOptions::default());
    let report = Report::new(&recordings, &inferences, &options);
    let terminal = report.terminal_inference(English);
    assert!(
        terminal.contains(" at about 2 s") && terminal.contains(" at about 12 s"),
        "{terminal}"
    );
    let page = report.html("teiji report a.teiji", English);
    assert!(page.contains(" at about 2 s") && page.contains(" at about 12 s"));
}

#[test]
fn the_figure_and_the_sentence_beside_it_say_the_same() {
    let output = |worst: i32| {
        let page = page(&[Synthetic::idle().threads(1).samples(&[-9_000, worst]).build()]);
        let (_, figure) = page.split_once("<p class=\"figure\"><strong>").unwrap();
        let (number, rest) = figure.split_once("<small>").unwrap();
        let figure = format!("{number} {}", rest.split_once("</small>").unwrap().0);
        let (_, headline) = page.split_once("<h1 id=\"verdict\">Worst wake-up ").unwrap();
        (figure, headline.split_once(", SCHED_FIFO 90").unwrap().0.replace('\u{a0}', " "))
    };
    assert_eq!(output(111_004), ("111 µs".to_owned(), "111 µs".to_owned()));
    assert_eq!(output(-2_340), ("-2.34 µs".to_owned(), "-2.34 µs (early)".to_owned()));
}

#[test]
fn jitter_is_offered_where_there_is_any() {
    let offered = |recording: &Recorded| {
        let page =
            crate::Report::new(std::slice::from_ref(recording), &[], &ChartOptions::default())
                .html("teiji report a.teiji", English);
        (page.contains("id=\"drawn-figure\""), page.contains(">max jitter, µs</th>"))
    };
    let mut recorded = with_a_tail().0;
    assert_eq!(offered(&recorded), (false, false));
    recorded.threads[0].jitter = vec![Some((-2, 3)), None];
    assert_eq!(offered(&recorded), (true, true));
}

#[test]
fn a_limit_is_a_line_in_every_chart_and_a_verdict_above_them() {
    let recordings = [Synthetic::idle().build()];
    let limits: Vec<Limit> =
        ["max<1us", "p99<5ms", "late<3"].iter().map(|text| text.parse().unwrap()).collect();
    let judged = |limit: &Limit, verdict| Judged {
        criterion: Criterion::Limit(limit.clone()),
        recording: "a.teiji".into(),
        rows: model::RowKind::Activations,
        quantity: model::Quantity::Latency,
        verdict,
        seen: Seen::Latency { ns: 9_000, between: None, thread: None },
        margin: None,
        lacking: None,
    };
    let mut gate = Gate::default();
    gate.judged.extend([
        judged(&limits[0], Verdict::Fail),
        judged(&limits[1], Verdict::Pass),
        judged(&limits[2], Verdict::Pass),
    ]);
    let options = ChartOptions { limits, gate, ..ChartOptions::default() };
    for (name, svg) in crate::Report::new(&recordings, &[], &options).svg_charts(English) {
        assert!(
            svg.contains("✗ max&lt;1us</text>") && svg.contains("✓ p99&lt;5ms</text>"),
            "{name}"
        );
        assert!(!svg.contains("late&lt;3"), "a count has no place on an axis of latencies");
    }
    let page = crate::Report::new(&recordings, &[], &options).html("teiji report a.teiji", English);
    assert!(page.contains("✗ Fail: 1 of 3 limits"));
    assert!(
        page.contains("<td class=\"text fail\"><b>✗ fail</b></td>")
            && page.contains("<td class=\"text pass\"><b>✓ pass</b></td>")
    );
    assert!(page.contains(
        "\"limits\":[{\"name\":\"✗ \
         max\\u003c1us\",\"latency_ns\":1000,\"share\":0.0,\"verdict\":\"fail\"}"
    ));
    let text = crate::Report::new(&recordings, &[], &options).markdown(
        "teiji report a.teiji",
        None,
        English,
    );
    assert!(text.contains("| `max<1us` | ✗ fail | a.teiji | 9.000 µs |"), "{text}");
}

/// Names and ranges of axes, dashes and limits are in the page as the SVG files have them; its
/// scripts have none of their own.
#[test]
fn scripts_draw_by_the_definition_of_the_svg_files() {
    let recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
    let page = crate::Report::new(&recordings, &[], &ChartOptions::default())
        .html("teiji report a.teiji", English);
    let (_, definition) =
        page.split_once("<script type=\"application/json\" id=\"definition\">").unwrap();
    let definition: serde_json::Value =
        serde_json::from_str(definition.split_once("</script>").unwrap().0).unwrap();
    let dash = definition["dashes"][1].as_str().unwrap();
    assert!(
        crate::Report::new(&recordings, &[], &ChartOptions::default()).svg_charts(English)[0]
            .1
            .contains(&format!("stroke-dasharray=\"{dash}\""))
    );
    assert_eq!(definition["load"]["y"]["name"], "reached (%)");
    let scripts = include_str!("../../assets/charts.js");
    for own in ["reached (%)", "latency, µs", "activations in", "1.05", "0.064", "✗"] {
        assert!(!scripts.contains(own), "{own}");
    }
}

/// Warnings with text from outside in message, evidence and next step, and one that nobody knows.
pub(crate) fn evil_warnings(evil: &str) -> Vec<Warning> {
    let (program, place, text) = (evil.to_owned(), evil.to_owned(), evil.to_owned());
    let (asked, granted) = (plan::Scheduling::DEFAULT, plan::Scheduling::OTHER);
    let fields = [(evil.to_owned(), text.clone().into())].into_iter().collect();
    let causes = vec![model::RefusalCause::ControlGroup { group: text.clone(), version: 1 }];
    vec![
        Warning::NoRealTime { asked, granted, error: text.clone(), program, causes },
        Warning::AccountingDiffers { place, counted: text.clone(), recorded: text },
        Warning::Other(model::OtherWarning { code: evil.to_owned(), fields }),
    ]
}

#[test]
fn text_from_outside_stays_text() {
    let evil = "</script><img src=x onerror=alert(1)><!--";
    let mut recorded = Synthetic::hackbench().title(evil).build();
    recorded.document.command_line.push(evil.into());
    recorded.document.warnings = evil_warnings(evil);
    recorded.document.load[0].spec = evil.into();
    for facts in [Some(&mut recorded.document.host.before), recorded.document.host.after.as_mut()]
        .into_iter()
        .flatten()
    {
        facts.hostname = Some(evil.into());
        facts.kernel_command_line = Some(evil.into());
        facts.interrupts.push(EventCounts {
            name: evil.into(),
            description: evil.into(),
            counts: vec![facts.interrupts.len() as u64],
        });
    }
    let page = crate::Report::new(&[recorded], &[], &ChartOptions::default()).html(evil, English);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert_eq!(page.matches("</script>").count(), 6, "of the page's own");
    assert_eq!(page.matches("<script").count(), 6);
}

#[test]
fn nothing_is_fetched_from_anywhere() {
    let page = page(&[Synthetic::idle().build()]);
    assert!(page.contains("default-src 'none'"));
    for reference in ["src=\"http", "href=\"http", "url(http", "@import", "src=\"//"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("The MIT License (MIT)"), "the licence of what is used");
}

#[test]
fn extremes_are_in_the_data_whatever_the_room() {
    let recordings = [Synthetic::hackbench().build()];
    let max = Overview::new(&recordings[0]).totals.moments.max().unwrap();
    let page = page(&recordings);
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let maxima = data["recordings"][0]["time"]["max_ns"].as_array().unwrap();
    assert_eq!(maxima.iter().filter_map(serde_json::Value::as_i64).max(), Some(max));
}

#[test]
fn small_enough_for_many_threads() {
    let page = page(&[Synthetic::hackbench().threads(64).due(8_192).build()]);
    assert!(page.len() < MAX_BYTES, "{}", page.len());
}

#[test]
fn small_enough_for_many_recordings() {
    let recordings: Vec<Recorded> =
        (0..8).map(|n| Synthetic::hackbench().seed(n).threads(64).due(4_096).build()).collect();
    let page = page(&recordings);
    assert!(page.len() < MAX_BYTES, "{}", page.len());
}

#[test]
fn well_small_enough_for_many_loads() {
    let mut one = Synthetic::hackbench().threads(16).due(1_024).build();
    let mut load = one.document.load[0].clone();
    load.course = (1..=1_024)
        .map(|n| (8_000_000_000 + n * 1_000_000, (n * 31 % 1_000) as f64 / 10.0))
        .collect();
    one.document.load = vec![load; 9];
    let mut without = one.clone();
    without.document.load.clear();
    let (page, without) = (page(&vec![one; 16]), page(&vec![without; 16]));
    assert!(page.len() < MAX_BYTES * 9 / 10, "{}", page.len());
    assert!(
        page.len() - without.len() < MAX_BYTES / 4,
        "{} of {}",
        page.len() - without.len(),
        page.len()
    );
    assert!(page.contains("1 more load not drawn"));
}

#[test]
fn what_loads_were_asked_for_and_reached() {
    let mut recorded = Synthetic::hackbench().load("cpu@50%").build();
    let output = page(std::slice::from_ref(&recorded));
    for there in [
        "<td>as much as it gets</td><td>97.8 %</td>",
        "<td>50 %</td><td>50.0 %</td>",
        "on CPU 1",
        ">throughout<",
    ] {
        assert!(output.contains(there), "{there}");
    }
    assert!(
        output.contains("Below: CPU use of each load over the same time")
            && output.contains("<th scope=\"col\">CPU use of each load</th>")
    );
    assert!(!output.contains("load off target") && !output.contains("Load off target"));

    // Nothing known of each CPU: all of them together are named.
    recorded.document.load_off_target = true;
    recorded.document.load[1].per_cpu.clear();
    (recorded.document.load[1].off_target, recorded.document.load[1].alive) = (true, false);
    let output = page(&[recorded]);
    for there in [
        "<b>✗</b>Load off target: cpu@50% reached 50.0 %",
        "<b class=\"bad\">load off target</b>",
        "not throughout</b>",
    ] {
        assert!(output.contains(there), "{there}");
    }
    let idle = page(&[Synthetic::idle().build()]);
    assert!(
        !idle.contains("Below: CPU use of each load over the same time")
            && !idle.contains("CPU use of each load")
    );
}

#[test]
fn small_enough_when_everything_is_long() {
    let mut one = Synthetic::hackbench().threads(700).samples(&[9_000_000; 40]).build();
    let long = |n: usize| Warning::ClocksourceChanged {
        before: format!("{n} {}", "x".repeat(5_000)),
        after: "y".repeat(5_000),
    };
    one.document.warnings = (0..500).map(long).collect();
    one.document.command_line = vec!["y".repeat(1_000_000)];
    one.document.host.before.kernel_command_line = Some("z".repeat(1_000_000));
    let recordings = vec![one; 18];
    let page = page(&recordings);
    assert!(page.len() < MAX_BYTES, "{}", page.len());
    assert!(page.contains("16 of 18 recordings shown, those with the worst wake-ups"));
}

#[test]
fn no_recording_and_nothing_woke_are_pages_too() {
    assert!(page(&[]).contains("No recording was given."));
    assert!(page(&[Synthetic::idle().samples(&[]).build()]).contains("No latency was measured."));
}

/// Neither trials nor events are wake-ups, and of a histogram it is not known which latency was of
/// which activation.
#[test]
fn only_wake_ups_are_called_so() {
    let [mut trials, mut events, mut histogram] =
        [(); 3].map(|()| Synthetic::idle().threads(2).due(2_000).build());
    trials.document.probe.rows = model::RowKind::Trials;
    events.document.probe.rows = model::RowKind::Events;
    histogram.threads =
        histogram.threads.iter().map(crate::sections::latencies::from_histogram).collect();
    for thread in &mut histogram.document.threads {
        (thread.activations, thread.detail) = (None, model::Detail::Histogram);
    }
    let of_wake_ups = [
        "The worst wake-ups",
        "every activation that woke",
        "the worst wake-up",
        "activations with at least this",
    ];
    // What is behind the page's tables and charts, without the words that it explains and the texts
    // of its scripts.
    let output = |page: &str| {
        let ends = ["<script", "id=\"words\"", "## Words", "## 用語"].map(|end| page.find(end));
        page[..ends.into_iter().flatten().min().unwrap()].to_owned()
    };
    let page_of = |recorded: &Recorded, language| {
        let (recordings, options) = (std::slice::from_ref(recorded), ChartOptions::default());
        let report = Report::new(recordings, &[], &options);
        [report.html("teiji", language), report.markdown("teiji", None, language)]
            .map(|page| output(&page))
    };
    let wake_ups = page_of(&Synthetic::idle().threads(2).due(2_000).build(), English);
    assert!(
        wake_ups.iter().all(|page| page.contains(of_wake_ups[0]) && page.contains(of_wake_ups[1]))
    );
    for (recorded, is_ordered) in [(trials, true), (events, true), (histogram, false)] {
        let mut matrix = crate::Matrix::new(None, vec![], [vec![]].into_iter());
        matrix.add(0, 1, recorded.clone());
        let plan = output(&matrix.html("", "teiji", English));
        for page in page_of(&recorded, English).iter().chain([&plan]) {
            let line =
                page.lines().find(|line| of_wake_ups.iter().any(|words| line.contains(words)));
            assert_eq!(line, None);
            let is_plan = std::ptr::eq(page, &raw const plan);
            // Nor is there a section of what is not known.
            for of_samples in ["The largest latencies", "Latency over time"] {
                assert!(is_plan || page.contains(of_samples) == is_ordered, "{page}");
            }
            assert!(is_plan || !page.contains("Nothing to draw"), "{page}");
        }
        // Whatever has no Japanese is a panic here.
        page_of(&recorded, crate::Language::Japanese);
        let japanese = matrix.html("", "teiji", crate::Language::Japanese);
        assert!(japanese.contains("最大レイテンシ"));
    }
}

/// What is bad about the machine stands under the headline, in one line.
#[test]
fn a_machine_that_is_set_up_badly_is_said_under_the_verdict() {
    let mut recorded = Synthetic::idle().build();
    assert!(!page(std::slice::from_ref(&recorded)).contains("Bad for latency"));
    let check = |name: &str| Warning::MachineCheck {
        check: name.to_owned(),
        found: "hpet".to_owned(),
        why: "Slow.".to_owned(),
        action: None,
        found_phrase: None,
        action_phrase: None,
    };
    recorded.document.warnings = ["a", "b", "c", "d", "e"].map(check).to_vec();
    let output = page(&[recorded]);
    let said = "<li class=\"banner caution\"><b>!</b>Bad for latency: a, b and 3 more. See teiji \
                check</li>";
    assert!(output.contains(said));
    assert!(output.find(said) < output.find("id=\"summary\""));
    assert!(output.contains("Bad for latency, e: hpet."));
}
