// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of every page of a plan.

use super::*;
use crate::language::Language::English;
use crate::page::MAX_BYTES;
use crate::synthetic::{Synthetic, lose_samples};
use serde_json::{Value, json};

fn plan(kernels: usize, loads: usize, repeats: u32) -> Matrix {
    let value = |text: String| Some(text);
    let rows = (0..kernels).flat_map(|kernel| {
        (0..loads)
            .map(move |load| vec![value(format!("kernel {kernel}")), value(format!("load {load}"))])
    });
    let mut matrix = Matrix::new(Some("A plan".into()), vec!["kernel".into(), "load".into()], rows);
    for repeat in 1..=repeats {
        for row in 0..kernels * loads {
            let seed = row as u64 * 10 + u64::from(repeat);
            let mut recorded = Synthetic::hackbench().threads(1).due(2_000).seed(seed).build();
            // Of a large plan, every run has a caveat.
            if kernels > 10 {
                recorded.document.threads[0].scheduling = plan::Scheduling::OTHER;
                lose_samples(&mut recorded.document.threads[0], seed);
                recorded.document.warnings =
                    vec![model::Warning::SamplesLost { thread: 0, lost: seed, woken: 2_000 }];
            }
            matrix.add(row, repeat, recorded);
        }
    }
    matrix
}

fn data(page: &str) -> Value {
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_folder_of_phases_is_no_plan() {
    let mut matrix = Matrix::new(None, vec![], [vec![]].into_iter());
    for phase in 1..=2 {
        let mut recorded = Synthetic::hackbench().threads(1).in_lab(Some(1)).build();
        recorded.document.run.phase = phase.to_string().parse().unwrap();
        matrix.add(0, phase, recorded);
    }
    let (page, text) = (
        matrix.html("", "teiji report x", English),
        matrix.page_as_markdown("", "teiji report x", None, English),
    );
    assert!(
        page.contains("<title>Phases of a run") && !page.contains("<pre class=\"plan\">"),
        "{}",
        &page[..500]
    );
    assert!(text.starts_with("# Phases of a run") && !text.contains("~~~toml"), "{text}");
    assert!(text.contains("\n## How it was measured\n\n- this page: `teiji report x`"), "{text}");
    let two = Matrix { title: None, ..plan(2, 1, 1) };
    assert!(two.html("", "teiji report x", English).contains("<title>Recordings – teiji<"));
    let with = Matrix { title: None, ..plan(1, 1, 2) }.page_as_markdown(
        "[vary]",
        "teiji report x",
        None,
        English,
    );
    assert!(
        with.starts_with("# A plan")
            && with.contains("\n## The plan, as run\n\n~~~toml\n[vary]\n~~~\n\n- this page"),
        "{with}"
    );
}

#[test]
fn every_combination_has_its_row_its_figures_and_its_curve() {
    let matrix = plan(2, 3, 2);
    let page = matrix.html("[vary]", "teiji report plan", English);
    assert_eq!(
        page.matches("<tr data-row=").count()
            + page.matches("<tr class=\"begins\" data-row=").count(),
        6
    );
    let data = data(&page);
    let combinations = data["plan"]["combinations"].as_array().unwrap();
    assert_eq!((combinations.len(), data["recordings"].as_array().unwrap().len()), (6, 12));
    for (place, (combination, row)) in combinations.iter().zip(&matrix.rows).enumerate() {
        assert_eq!(
            combination["figures"][0].as_i64(),
            row.stats.totals.moments.max(),
            "its largest"
        );
        assert_eq!(
            combination["curve"]["counts"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_u64)
                .sum::<u64>(),
            row.stats.totals.moments.count()
        );
        assert_eq!(combination["at"], serde_json::json!([place / 3, place % 3]));
        let runs: Vec<&Value> = combination["runs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| &data["recordings"][usize::try_from(run.as_u64().unwrap()).unwrap()])
            .collect();
        assert_eq!(runs.len(), 2);
        assert_eq!(
            runs.iter().filter_map(|run| run["max_ns"].as_i64()).max(),
            row.stats.totals.moments.max()
        );
        assert!(
            runs[1]["name"].as_str().unwrap().ends_with(&format!("load {} (run 2)", place % 3))
        );
    }
}

/// Every label of the picture is the one that the page's script writes into the same cell, and both
/// have one idea of the axes.
#[test]
fn the_heat_map_is_the_same_on_the_page_and_in_its_picture() {
    let matrix = plan(3, 2, 2);
    let page = matrix.html("[vary]", "teiji report plan", English);
    let data = data(&page);
    let heat = &data["plan"]["heat"];
    assert_eq!(
        (&heat["down"], &heat["across"], &heat["times"]),
        (&json!(0), &json!([1]), &json!(["machine"]))
    );
    let picture =
        matrix.svg_charts(English).into_iter().find(|(name, _)| name == "heat-map.svg").unwrap().1;
    let labels = data["plan"]["labels"].as_array().unwrap();
    for combination in data["plan"]["combinations"].as_array().unwrap() {
        let label = labels[usize::try_from(combination["labels"][0].as_u64().unwrap()).unwrap()]
            .as_str()
            .unwrap();
        assert!(picture.contains(&format!(">{label}</text>")), "{label} is not in {picture}");
        let about = combination["labels"][3].as_u64().unwrap();
        let about = labels[usize::try_from(about).unwrap()].as_str().unwrap();
        assert!(about.starts_with('~'), "p99 of two runs: {about}");
    }
    let once: std::collections::BTreeSet<&str> = labels.iter().filter_map(Value::as_str).collect();
    assert_eq!(once.len(), labels.len(), "each once");
}

#[test]
fn the_worst_is_drawn_first_beside_its_likes_of_the_first_factor() {
    let matrix = plan(2, 3, 1);
    let selected = matrix.selected();
    assert_eq!(
        (selected.len(), selected[1] - selected[0]),
        (2, 3),
        "the same load under both kernels"
    );
    assert!(selected.contains(&matrix.largest_first()[0]));
    assert_eq!(plan(2, 2, 1).selected(), [0, 1, 2, 3], "few are all drawn");
}

#[test]
fn a_large_plan_stays_a_small_page_and_says_what_it_leaves_out() {
    let matrix = plan(40, 60, 1);
    assert_eq!(matrix.top_runs.len(), MAX_RETAINED);
    let page = matrix.html("[vary]", "teiji report plan", English);
    assert!(page.len() < MAX_BYTES, "{}", page.len());
    let data = data(&page);
    assert_eq!(
        data["plan"]["combinations"].as_array().unwrap().len(),
        2_400,
        "the heat map has all"
    );
    assert!(page.contains("more combinations are left out"));
    assert!(page.contains("No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)"));
    let notes = matrix.notes(Signs { max_of_runs: true, about: true, bounds: [None; 2] });
    assert!(notes.len() < 20, "{notes:?}");
    let worst = matrix.largest_first()[0];
    assert!(
        data["plan"]["selected"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row.as_u64() == Some(worst as u64))
    );
    let drawn = &data["plan"]["combinations"][worst];
    assert!(drawn["curve"].is_object() && !drawn["runs"].as_array().unwrap().is_empty());
}

#[test]
fn text_from_outside_stays_text() {
    let evil = "</script><img src=x onerror=alert(1)><!--";
    let rows = [
        vec![Some(evil.to_owned()), Some("1".to_owned())],
        vec![Some("b".to_owned()), Some("2".to_owned())],
    ];
    let mut matrix =
        Matrix::new(Some(evil.into()), vec![evil.into(), "other".into()], rows.into_iter());
    let mut recorded = Synthetic::idle().title(evil).build();
    recorded.document.host.before.kernel_command_line = Some(evil.into());
    recorded.document.warnings = crate::page::page_tests::evil_warnings(evil);
    matrix.add(0, 1, recorded);
    let page = matrix.html(evil, evil, English);
    assert!(!page.contains("<img") && !page.contains("<!--"));
    assert_eq!(
        (page.matches("</script>").count(), page.matches("<script").count()),
        (7, 7),
        "of the page's own"
    );
    for (_, svg) in matrix.svg_charts(English) {
        assert!(!svg.contains("<img"));
    }
}

#[test]
fn a_plan_of_which_nothing_is_recorded_has_a_page_too() {
    let rows = [vec![Some("a".to_owned())], vec![Some("b".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    matrix.add_missing(0);
    matrix.add_missing(1);
    let page = matrix.html("", "", English);
    assert!(page.contains("<h1 id=\"verdict\">2 combinations, nothing is recorded yet</h1>"));
    let missing = "2 runs of the plan without a recording: teiji run --resume DIR</li>";
    assert!(page.contains(missing), "{page}");
    assert!(!page.contains("NaN"));
}

/// As the page of a recording has the verdict of `--limit`.
#[test]
fn the_verdict_of_the_plans_limits_stands_above_the_table() {
    let mut matrix = plan(1, 3, 1);
    let limit: plan::Limit = "max<100us".parse().unwrap();
    matrix.limits = vec![limit.clone()];
    assert!(!matrix.html("", "", English).contains("id=\"limits\""), "of what was not judged");
    let judged = |verdict| judge::Judged {
        criterion: judge::Criterion::Limit(limit.clone()),
        recording: "a.teiji".into(),
        rows: model::RowKind::Activations,
        quantity: model::Quantity::Latency,
        verdict,
        seen: judge::Seen::Latency { ns: 83_449, between: None, thread: None },
        margin: None,
        lacking: None,
    };
    let headline = |matrix: &Matrix| {
        let page = matrix.html("", "", English);
        let (before, limits) = page.split_once("<p class=\"judged ").unwrap();
        assert!(!before.contains("id=\"combinations\""), "it stands above");
        limits.split_once("</b>").unwrap().0.replace("\"><b>", " ")
    };
    for row in 0..3 {
        matrix.rows[row].judge(vec![judged(Verdict::Pass)]);
    }
    let against = "3 combinations, checked against 1 limit";
    assert_eq!(headline(&matrix), format!("pass ✓ Pass: {against}"));
    // What is not recorded cannot pass.
    matrix.add_missing(1);
    let lacking = "unsure ? Not enough evidence: 1 run without a recording";
    assert_eq!(headline(&matrix), lacking);
    matrix.rows[1].judge(vec![judged(Verdict::NotEnough)]);
    assert_eq!(headline(&matrix), format!("unsure ? Not enough evidence: 1 of {against}"));
    matrix.rows[2].judge(vec![judged(Verdict::Fail)]);
    assert_eq!(headline(&matrix), format!("fail ✗ Fail: 1 of {against}"));
    let text = matrix.page_as_markdown("", "", None, English);
    assert!(text.contains(&format!("## ✗ Fail: 1 of {against}")), "{text}");
}

/// A cell that says nothing is not printed bold: `****` is a line in Markdown.
#[test]
fn no_cell_of_markdown_is_bold_and_empty() {
    let mut matrix = plan(1, 1, 0);
    let mut recorded = Synthetic::hackbench().threads(2).due(2_000).build();
    recorded.document.load_off_target = true;
    recorded.document.threads[1].interval_ns = ::plan::Nanos(2_000_000);
    matrix.add(0, 1, recorded);
    let text = matrix.page_as_markdown("", "", None, English);
    assert!(text.contains("**off target**") || text.contains("off target**"), "{text}");
    assert!(!text.contains("****"), "{text}");
}
