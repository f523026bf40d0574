// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of phases, and that a plan's table has the same figures.

use super::*;
use crate::Matrix;
use crate::synthetic::Synthetic;
use model::Pool;
use plan::Limit;
use stats::{AccountingRule, AfterOverrun, ExactRequest, Measured, Span, analyse, analyse_pool};

const INTERVAL_NS: i64 = 1_000_000;

/// Of these latencies, by phase, as they are judged together.
pub(crate) fn examined(phases: &[(u32, &[i32])]) -> Examined {
    let rule = AccountingRule::from(AfterOverrun::Skip);
    let spans: Vec<[Span<'_>; 1]> =
        phases.iter().map(|(_, latencies)| [Span::Woken(latencies)]).collect();
    let recorded = phases.iter().map(|(phase, latencies)| {
        let mut recorded = Synthetic::idle().threads(1).samples(latencies).in_lab(Some(1)).build();
        recorded.document.run.phase = phase.to_string().parse().unwrap();
        recorded.path = format!("out/vanilla-phase-{phase}.teiji").into();
        recorded
    });
    let mut recordings: Vec<Recorded> = recorded.collect();
    let measured = |spans: &[Span<'_>; 1]| {
        let Ok(analysis) = analyse(&spans[..], INTERVAL_NS, rule, 64, &ExactRequest::default());
        vec![Measured::from(&analysis)]
    };
    let mut runs: Vec<Vec<Measured>> = spans.iter().map(measured).collect();
    let rows: Vec<(&[Span<'_>], AccountingRule)> =
        spans.iter().map(|spans| (&spans[..], rule)).collect();
    let Ok(analysis) = analyse_pool(&rows, INTERVAL_NS, &ExactRequest::default());
    let worst = PhaseMaxima::new(&recordings).worst().map_or(0, |worst| worst.place);
    recordings[..=worst].rotate_right(1);
    runs[..=worst].rotate_right(1);
    let recorded = recordings.remove(0);
    let pool = Pool { others: recordings, threads: vec![analysis.statistics.clone()], runs };
    Examined { recorded, analyses: vec![analysis], pool: Some(Box::new(pool)) }
}

/// 40 latencies from `from` on, ns, 1 ns apart; the last is `max`.
fn latencies(from: i32, max: i32) -> Vec<i32> {
    (from..from + 39).chain([max]).collect()
}

fn three() -> [(u32, Vec<i32>); 3] {
    [(1, latencies(4_000, 16_120)), (2, latencies(5_000, 18_650)), (17, latencies(3_000, 16_400))]
}

fn of_three() -> Examined {
    let three = three();
    examined(&three.each_ref().map(|(phase, latencies)| (*phase, latencies.as_slice())))
}

fn again(worst: &Recorded) -> String {
    format!("teiji lab run -k debian:amd64=6.1.0-56 --phase {}", worst.document.run.phase)
}

#[test]
fn phases_are_one_line_and_the_worst_is_named() {
    let examined = of_three();
    let all = [Phases::new("vanilla".into(), &examined, again)];
    let text = phases(&all, Language::English);
    let lines: Vec<&str> = text.lines().collect();
    let cells =
        |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    assert_eq!(cells(lines[0]), "recording due late skipped min mean p50 p99 p99.9 max");
    // The mean is that of all 120, and p99 the observed one: the second largest of all.
    assert_eq!(cells(lines[1]), "vanilla 120 0 0 3.000 4.345 4.020 16.400 – 18.650");
    let end = "\nvanilla: 95 % confidence intervals p99 ≥ 4.03 µs. Maxima of 3 phases from \
               16.120\nto 18.650 µs, median 16.400. Worst: phase 2, 18.650 µs. Again:\n  teiji \
               lab run -k debian:amd64=6.1.0-56 --phase 2\n";
    assert!(text.ends_with(end), "{text}");
    let japanese = phases(&all, Language::Japanese);
    assert!(japanese.contains("位相 2") && japanese.contains("--phase 2\n"), "{japanese}");
}

/// Of jitter the intervals would be those of its size, beside figures with their sign.
#[test]
fn jitter_has_no_intervals() {
    let mut examined = of_three();
    examined.recorded.document.probe.quantity = Quantity::Jitter;
    let all = [Phases::new("vanilla".into(), &examined, again)];
    assert!(!phases(&all, Language::English).contains("confidence"));
    assert_eq!(phases_json(&all)[0]["intervals"], serde_json::json!([]));
}

#[test]
fn a_program_gets_every_phase() {
    let examined = of_three();
    let json = phases_json(&[Phases::new("vanilla".into(), &examined, again)]);
    let one = &json[0];
    let figures = ["due", "late", "skipped", "lost", "min_ns", "p50_ns", "p99_ns", "max_ns"]
        .map(|name| one[name].as_i64().unwrap());
    assert_eq!(figures, [120, 0, 0, 0, 3_000, 4_020, 16_400, 18_650]);
    let of = &one["phases"];
    assert_eq!(
        (
            of["count"].as_u64(),
            of["smallest_max_ns"].as_i64(),
            of["median_max_ns"].as_i64(),
            of["largest_max_ns"].as_i64()
        ),
        (Some(3), Some(16_120), Some(16_400), Some(18_650))
    );
    let worst = &of["worst"];
    assert_eq!(
        (worst["phase"].as_u64(), worst["activation"].as_u64(), worst["thread"].as_u64()),
        (Some(2), Some(39), Some(0))
    );
    assert_eq!(worst["command"], "teiji lab run -k debian:amd64=6.1.0-56 --phase 2");
    assert_eq!(worst["recording"], "out/vanilla-phase-2.teiji");
    let interval = &one["intervals"][0];
    assert_eq!(
        (&interval["quantile"], interval["observed_ns"].as_i64()),
        (&"p50".into(), Some(4_020))
    );
    let phases: Vec<u64> = of["of_each"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["phase"].as_u64().unwrap())
        .collect();
    assert_eq!(phases, [1, 2, 17]);
}

/// A caveat of any phase comes before the figures of all.
#[test]
fn a_caveat_of_one_phase_is_said() {
    let mut examined = of_three();
    examined.pool.as_mut().unwrap().others[0].document.load_off_target = true;
    let text = phases(&[Phases::new("vanilla".into(), &examined, again)], Language::English);
    assert!(text.starts_with("✗ idle: load off target: off by more than 5 points\n"), "{text}");
}

#[test]
fn a_plans_table_has_the_figures_of_all_phases_and_names_the_worst() {
    let examined = of_three();
    let mut matrix =
        Matrix::new(None, vec!["kernel".into()], std::iter::once(vec![Some("vanilla".into())]));
    matrix.limits = vec!["max<18us".parse::<Limit>().unwrap()];
    for (recorded, repeat) in examined.recordings().zip(1..) {
        matrix.add(0, repeat, recorded.clone());
    }
    let judged = matrix.limits.iter().map(|limit| judge::judge(limit, &examined)).collect();
    // Alone they are pooled by their buckets.
    assert!(matrix.text(Language::English).contains('~'));
    matrix.pool(0, &examined, judged);
    let text = matrix.text(Language::English);
    assert!(!text.contains('~') && !text.contains("repeats differ"), "{text}");
    assert!(text.contains(" Phases are pooled. Max of runs:"), "{text}");
    let json = matrix.json();
    let row = &json["combinations"][0];
    assert_eq!(
        (row["n"].as_u64(), row["p50_ns"].as_i64(), row["p99_ns"].as_i64()),
        (Some(120), Some(4_020), Some(16_400))
    );
    assert_eq!(
        (row["phases"]["worst"]["phase"].as_u64(), &row["beyond"][0]),
        (Some(2), &"max".into())
    );
    assert_eq!(row["phases"]["worst"]["recording"], "out/vanilla-phase-2.teiji");
    let note = text.replace('\n', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        note.contains(
            "Worst: phase 2, 18.650 µs. Again: teiji lab rerun out/vanilla-phase-2.teiji"
        ),
        "{note}"
    );
}

/// Repeats in the lab are to be identical; phases are to differ.
#[test]
fn a_phase_that_differs_from_itself_is_a_caveat() {
    let table = |second: u32| {
        let (first, other) = (latencies(4_000, 16_120), latencies(4_000, 16_121));
        let examined = examined(&[(1, &first), (second, &other)]);
        let mut matrix =
            Matrix::new(None, vec!["kernel".into()], std::iter::once(vec![Some("vanilla".into())]));
        examined
            .recordings()
            .zip(1..)
            .for_each(|(recorded, repeat)| matrix.add(0, repeat, recorded.clone()));
        matrix.text(Language::English)
    };
    assert!(table(1).contains("repeats differ"));
    assert!(!table(2).contains("repeats differ"));
}

/// Those of the worst run would be of a third of what the table has.
#[test]
fn a_page_has_the_intervals_of_all_phases() {
    let examined = of_three();
    let page = |pool: bool| {
        let mut matrix =
            Matrix::new(None, vec!["kernel".into()], std::iter::once(vec![Some("vanilla".into())]));
        examined
            .recordings()
            .zip(1..)
            .for_each(|(recorded, repeat)| matrix.add(0, repeat, recorded.clone()));
        if pool {
            matrix.pool(0, &examined, Vec::new());
        }
        matrix.html("", "teiji report", Language::English)
    };
    let refused = "these are several runs, whose largest latencies have no order in time";
    assert!(page(true).contains(refused) && !page(false).contains(refused));
}

/// As long a pool as a user has.
#[test]
fn phases_have_intervals_of_all_of_them() {
    let many: Vec<(u32, Vec<i32>)> = (1..=40_u32)
        .map(|phase| {
            (
                phase,
                (0..400)
                    .map(|row| 4_000 + (row * 7_919 + phase.cast_signed() * 104_729) % 3_000)
                    .collect(),
            )
        })
        .collect();
    let examined = examined(
        &many.iter().map(|(phase, latencies)| (*phase, latencies.as_slice())).collect::<Vec<_>>(),
    );
    let text = phases(&[Phases::new("vanilla".into(), &examined, again)], Language::English);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let intervals = text.split("vanilla: 95 % confidence intervals p50 ").nth(1).unwrap();
    let (lower, upper) = intervals.split_once(',').unwrap().0.split_once('–').unwrap();
    let [lower, upper] = [lower, upper].map(|end| end.parse::<f64>().unwrap());
    assert!((5.4..5.5).contains(&lower) && (5.5..5.6).contains(&upper), "{text}");
    assert!(text.contains(" µs. Maxima of 40 phases from "), "{text}");
}
