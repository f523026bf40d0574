// SPDX-License-Identifier: MIT OR Apache-2.0
//! What must hold of a plan's figures and of the tables they stand in.

use super::*;
use crate::language::Language::English;
use crate::synthetic::{Synthetic, lose_samples};
use judge::Gate;
use model::Examined;
use plan::Limit;
use serde_json::{Value, json};

fn matrix() -> Matrix {
    let factor = |text: &str| vec![Some("1ms".to_owned()), Some(text.to_owned())];
    let factors = vec!["interval".to_owned(), "load".to_owned()];
    let combinations =
        [factor("none"), factor("cpu@50%, of \"one\" | core"), vec![None, Some("net".to_owned())]];
    let mut matrix = Matrix::new(Some("A plan".to_owned()), factors, combinations.into_iter());
    matrix.add_missing(2);
    matrix.add_missing(2);
    matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[10_000, 20_000, 30_000]).build());
    matrix.add(0, 2, Synthetic::idle().threads(1).samples(&[20_000, 20_000, 60_000]).build());
    matrix.add(1, 1, Synthetic::idle().threads(1).samples(&[1_000; 10]).build());
    matrix
}

#[test]
fn repeats_are_pooled_as_if_they_were_one() {
    let json = matrix().json();
    let first = &json["combinations"][0];
    assert_eq!((&first["runs"], &first["n"]), (&json!(2), &json!(6)));
    assert_eq!(first["max_of_runs_ns"], json!([30_000, 60_000]));
    // 10, 20, 30, 20, 20, 60: a mean of 80/3, and by hand a deviation of 17.5119.
    assert!((first["mean_ns"].as_f64().unwrap() - 26_666.666_67).abs() < 0.01, "{first}");
    assert!((first["sd_ns"].as_f64().unwrap() - 17_511.900_7).abs() < 0.01, "{first}");
    assert_eq!(first["p9999_ns"], Value::Null, "six samples carry none");
    assert_eq!(json["combinations"][2]["max_ns"], Value::Null);
    assert_eq!(json["missing_runs"], json!(2));
}

#[test]
fn the_table_has_every_cell() {
    let text = matrix().markdown(English);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "### A plan");
    assert!(lines[2].starts_with("| interval | load |"), "{text}");
    assert!(lines[2].contains("max of runs"), "{text}");
    assert!(lines[4].contains("26.7") && lines[4].contains("30.0–60.0"), "{text}");
    assert!(lines[6].contains("net") && lines[6].contains('–'), "{text}");
    assert!(!lines[2].contains("p99.99"), "no row has one: {text}");
    assert!(text.contains("2 runs of the plan without a recording: net."), "{text}");
    assert!(lines[6].contains("0 of 2"), "{text}");
}

#[test]
fn cells_cannot_break_their_tables() {
    let csv = matrix().csv();
    assert_eq!(csv.lines().count(), 4);
    assert!(
        csv.contains(
            "\r\n1ms,\"cpu@50%, of \"\"one\"\" | core\",,1000000,1,0,0,machine,10,1000,1000,"
        ),
        "{csv}"
    );
    assert!(
        csv.contains("\r\n,net,,,0,2,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,\r\n"),
        "nothing was measured, and nothing is 0: {csv}"
    );
    let markdown = matrix().markdown(English);
    assert!(markdown.contains("| 1ms | cpu@50%, of \"one\" \\| core | 1 | 10 |"), "{markdown}");
    assert_eq!(markdown.lines().filter(|line| line.starts_with("| ")).count(), 5, "{markdown}");
}

#[test]
fn exceeded_and_inconclusive_limits_are_named() {
    let limits = ["max<60us", "p90<20us", "p99<50us"];
    let rows = [Some("none"), Some("net"), None].map(|load| vec![load.map(str::to_owned)]);
    let mut matrix = Matrix::new(Some("A plan".into()), vec!["load".into()], rows.into_iter());
    add_judged(
        &mut matrix,
        0,
        &limits,
        &Synthetic::idle().threads(1).samples(&[10_000, 20_000, 60_000]),
    );
    add_judged(&mut matrix, 1, &limits, &Synthetic::idle().threads(1).samples(&[1_000; 10]));
    let json = matrix.json();
    let stands = |row: usize| {
        (
            json["combinations"][row]["beyond"].clone(),
            json["combinations"][row]["inconclusive"].clone(),
        )
    };
    // Three samples carry no p90, but two of them are beyond its limit, and one of three beyond
    // that of the p99 is more than chance.
    assert_eq!(stands(0), (json!(["max", "p90", "p99"]), json!([])));
    assert_eq!(stands(1), (json!([]), json!(["p99"])));
    assert_eq!(stands(2), (json!([]), json!([])), "nothing is recorded");
    let text = matrix.text(English);
    let none = text.lines().find(|line| line.starts_with("none ")).unwrap();
    assert!(none.ends_with("  max p90 p99"), "{text}");
    let output = "max exceeded its limit in 1 of 2; p90 exceeded its limit in 1 of 2; p99 \
                  exceeded its limit in 1 of 2, inconclusive in 1 (?): p99 needs 100.";
    assert!(text.replace("\n  ", " ").replace('\n', " ").contains(output), "{text}");
}

/// The reason of the first combination was given for all.
#[test]
fn each_reason_why_a_limit_is_inconclusive_is_given() {
    let rows = [Some("none"), Some("net")].map(|load| vec![load.map(str::to_owned)]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    let short = Synthetic::idle().threads(1).samples(&[1_000; 10]);
    add_judged(&mut matrix, 0, &["p99<50us"], &short);
    let (mut recorded, analyses) = Synthetic::idle()
        .threads(1)
        .samples(&[1_000; 500])
        .examined(&Limit::exact_request(&matrix.limits));
    lose_samples(&mut recorded.document.threads[0], 1);
    let examined = Examined { recorded, analyses, pool: None };
    let judged = Gate::judge(&matrix.limits, std::slice::from_ref(&examined)).judged;
    matrix.add_run(1, 1, examined.recorded, Vec::new(), judged);
    let text = matrix.text(English).replace("\n  ", " ").replace('\n', " ");
    let reasons = "inconclusive in 2 (?): p99 needs 100 and 1 sample lost, with unknown latencies";
    assert!(text.contains(reasons), "{text}");
}

/// Of two folders of plans: what only one of them limits is not judged in the other, and not
/// dropped either.
#[test]
fn each_row_is_judged_by_the_limits_of_its_plan() {
    let rows = ["idle", "net", "disk"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    let run = Synthetic::idle().threads(1).samples(&[10_000; 10]);
    for (row, limits) in [(0, &["max<1us"][..]), (1, &["max<2us", "p50<1ms"]), (2, &[])] {
        add_judged(&mut matrix, row, limits, &run);
    }
    let of =
        |limits: &[&str]| limits.iter().map(|limit| limit.parse().unwrap()).collect::<Vec<Limit>>();
    matrix.limits = of(&["max<1us", "max<2us", "p50<1ms"]);
    matrix.limits_of = vec![
        ("a/plan.toml".into(), of(&["max<1us"])),
        ("b/plan.toml".into(), of(&["max<2us", "p50<1ms"])),
    ];
    let json = matrix.json();
    let beyond = |row: usize| json["combinations"][row]["beyond"].clone();
    assert_eq!(
        (beyond(0), beyond(1), beyond(2)),
        (json!(["max<1us"]), json!(["max<2us"]), json!([]))
    );
    let text = matrix.text(English).replace("\n  ", " ").replace('\n', " ");
    let limits = "Limits of the plan: max<1us (a/plan.toml), max<2us (b/plan.toml) and p50<1ms \
                  (b/plan.toml). For the worst thread of the worst run: max<1us exceeded its \
                  limit in 1 of 1; max<2us exceeded its limit in 1 of 1; p50 exceeded its limit \
                  in 0 of 1. No limit is named for disk.";
    assert!(text.contains(limits), "{text}");
    assert!(
        matrix.markdown(crate::Language::Japanese).contains("上限の指定なし: disk"),
        "{}",
        matrix.markdown(crate::Language::Japanese)
    );
}

/// A quantile of the histogram is up to 1 % off; a limit within that is judged by the exact one.
#[test]
fn limits_are_judged_exactly_and_with_what_was_skipped() {
    let judged = |samples: &[i32], limit: &str| {
        let mut matrix = Matrix::new(None, vec![], [vec![]].into_iter());
        add_judged(&mut matrix, 0, &[limit], &Synthetic::idle().threads(1).samples(samples));
        matrix.rows[0].judged(&matrix.limits[0]).unwrap().verdict
    };
    let mut near = vec![49_950; 100];
    near.extend([50_090; 100]);
    assert_eq!(
        (judged(&near, "p99<50us"), judged(&near, "p99<50.1us")),
        (Verdict::Fail, Verdict::Pass)
    );
    // One of a hundred is 3.5 ms late and has three skipped behind it: 4 % are late, not 1 %.
    let mut skipping = vec![1_000; 96];
    skipping[10] = 3_500_000;
    assert_eq!(
        (judged(&skipping, "p90<2us"), judged(&skipping, "p99<2us")),
        (Verdict::Pass, Verdict::Fail)
    );
    assert_eq!(judged(&skipping[20..], "p99<2us"), Verdict::NotEnough);
    let mut cut = Synthetic::idle()
        .threads(1)
        .samples(&[1_000; 200])
        .examined(&stats::ExactRequest::default());
    cut.0.document.state = model::State::Running;
    let examined = Examined { recorded: cut.0, analyses: cut.1, pool: None };
    let judged_by = |limit: &str| {
        Gate::judge(&[limit.parse().unwrap()], std::slice::from_ref(&examined)).verdict()
    };
    assert_eq!(
        (judged_by("max<5us"), judged_by("max<1us")),
        (Verdict::NotEnough, Verdict::Fail),
        "what was seen was seen"
    );
}

/// Of repeats that fail alike, or are inconclusive alike, the worst is shown and not the first.
#[test]
fn of_one_verdict_the_worst_run_is_judged() {
    let late = |ms: i32| {
        let mut samples = vec![1_000; 96];
        samples[10] = ms * 1_000_000 + 500_000;
        samples
    };
    let mut matrix = Matrix::new(None, vec![], [vec![]].into_iter());
    for ms in [3, 9, 5] {
        let run = Synthetic::idle().threads(1).samples(&late(ms));
        add_judged(&mut matrix, 0, &["skipped==0", "max<1ms"], &run);
    }
    let seen = |limit: usize| matrix.rows[0].judged(&matrix.limits[limit]).unwrap().seen;
    assert!(matches!(seen(0), judge::Seen::Count { n: 9, .. }), "{:?}", seen(0));
    assert!(matches!(seen(1), judge::Seen::Latency { ns: 9_500_000, .. }), "{:?}", seen(1));
}

/// What has no latency is not said to be counted in.
#[test]
fn limits_say_whether_skipped_ones_are_counted_in() {
    let mut late = vec![1_000; 96];
    late[10] = 3_500_000;
    for (samples, are_counted_in) in [(&late[..], true), (&late[20..], false)] {
        let mut matrix = Matrix::new(None, vec![], [vec![]].into_iter());
        add_judged(&mut matrix, 0, &["p90<2us"], &Synthetic::idle().threads(1).samples(samples));
        let text = matrix.text(English).replace("\n  ", " ").replace('\n', " ");
        assert!(text.contains("For the worst thread of the worst run"), "{text}");
        assert_eq!(
            text.contains("of the worst run, skipped ones counted in where they have a latency:"),
            are_counted_in,
            "{text}"
        );
    }
}

/// Adds a run, held against the plan's limits as `teiji show` does.
fn add_judged(matrix: &mut Matrix, row: usize, limits: &[&str], run: &Synthetic) {
    matrix.limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let limits = matrix.limits.clone();
    let (recorded, analyses) = run.examined(&Limit::exact_request(&limits));
    let examined = Examined { recorded, analyses, pool: None };
    let judged = Gate::judge(&limits, std::slice::from_ref(&examined)).judged;
    matrix.add_run(row, 1, examined.recorded, Vec::new(), judged);
}

/// In virtual time a repeat is the same run again: it must not carry what one run does not.
#[test]
fn identical_repeats_add_no_samples() {
    let run = |seed: u64| Synthetic::idle().threads(1).due(100).seed(seed).in_lab(Some(1)).build();
    let mut matrix =
        Matrix::new(None, vec!["load".into()], [vec![Some("none".into())]].into_iter());
    for (repeat, seed) in [(1, 7), (2, 7), (3, 7)] {
        matrix.add(0, repeat, run(seed));
    }
    assert_eq!(
        (
            matrix.rows[0].runs,
            matrix.rows[0].identical,
            matrix.rows[0].stats.totals.moments.count()
        ),
        (3, 2, 100)
    );
    assert!(matrix.text(English).contains("3 identical"), "{}", matrix.text(English));
    matrix.add(0, 4, run(8));
    matrix.add(0, 5, run(8));
    assert_eq!(
        (matrix.rows[0].identical, matrix.rows[0].stats.totals.moments.count()),
        (3, 200),
        "nor does one that is the fourth again"
    );
    assert!(
        matrix.text(English).replace('\n', " ").contains("its repeats in the lab differ"),
        "{}",
        matrix.text(English)
    );
    assert!(!matrix.text(English).contains("identical  "), "{}", matrix.text(English));
}

/// Neither equal latencies of another kernel nor other figures of a further column are the same run
/// again.
#[test]
fn runs_of_the_lab_are_identical_in_all_that_is_known() {
    let run = || Synthetic::idle().threads(1).due(100).in_lab(Some(1)).build();
    let mut matrix = Matrix::new(None, vec![], [vec![]].into_iter());
    matrix.add(0, 1, run());
    let mut other_kernel = run();
    other_kernel.document.lab.as_mut().unwrap().kernel.image.sha256 = "00".repeat(32);
    matrix.add(0, 2, other_kernel);
    let mut other_qemu = run();
    other_qemu.document.lab.as_mut().unwrap().qemu.version = "10.0.13".to_owned();
    matrix.add(0, 5, other_qemu);
    let mut other_column = run();
    other_column.beside =
        vec![model::Beside { columns: other_column.threads.clone(), worst_times_ns: Vec::new() }];
    matrix.add(0, 3, other_column);
    assert_eq!(matrix.rows[0].identical, 0);
    matrix.add(0, 4, run());
    assert_eq!(matrix.rows[0].identical, 1);
}

/// On a machine equal figures are chance, but no two runs begin in the same nanosecond.
#[test]
fn a_copy_of_a_recording_is_no_run() {
    let mut here = Matrix::new(None, vec![], [vec![]].into_iter());
    let mut one = Synthetic::idle().threads(1).due(100).build();
    here.add(0, 1, one.clone());
    here.add(0, 2, Recorded { path: "copy.teiji".into(), ..one.clone() });
    assert_eq!((here.rows[0].identical, here.rows[0].stats.totals.moments.count()), (1, 100));
    assert!(
        here.text(English).replace('\n', " ").contains(" A copy of a recording adds nothing to n"),
        "{}",
        here.text(English)
    );
    one.document.threads[0].start_ns.0 += 1;
    here.add(0, 3, one);
    assert_eq!(
        (here.rows[0].runs, here.rows[0].identical, here.rows[0].stats.totals.moments.count()),
        (3, 1, 200)
    );
}

/// A recording without samples, as an import is one, may not know when its threads began: then its
/// figures are looked at too.
#[test]
fn recordings_without_samples_are_runs_unless_all_is_equal() {
    let mut here = Matrix::new(None, vec![], [vec![]].into_iter());
    // Equal sums and equal sums of squares, and the same from the median on.
    let imported = |first: [i32; 3], started_at: &str| {
        let mut recorded = Synthetic::idle()
            .threads(1)
            .samples(&[&[0], &first[..], &[8_000; 16]].concat())
            .build();
        recorded.document.started_at = started_at.to_owned();
        let thread = &mut recorded.document.threads[0];
        (thread.activations, thread.detail) = (None, model::Detail::Histogram);
        thread.start_ns.0 = 0;
        recorded
    };
    let (one, other) = ([1_000, 5_000, 6_000], [2_000, 3_000, 7_000]);
    assert_eq!(imported(one, "").threads[0].latency, imported(other, "").threads[0].latency);
    here.add(0, 1, imported(one, ""));
    here.add(0, 2, imported(other, ""));
    here.add(0, 3, imported(one, "2026-01-01T00:00:00Z"));
    assert_eq!(here.rows[0].identical, 0);
    here.add(0, 4, imported(one, ""));
    assert_eq!((here.rows[0].runs, here.rows[0].identical), (4, 1));
}

/// It had a caveat for each number that one of its runs had, and none with its own.
#[test]
fn the_samples_lost_of_a_combination_are_those_of_its_runs() {
    let mut matrix = Matrix::new(None, vec!["load".into()], [vec![None]].into_iter());
    for (repeat, lost) in [(1, 2), (2, 3)] {
        let mut run = Synthetic::idle().threads(1).seed(u64::from(repeat)).build();
        lose_samples(&mut run.document.threads[0], lost);
        // That more were lost than its rows leave room for, run.json alone says.
        run.document.threads[0].evidence.samples_lost += 10;
        matrix.add(0, repeat, run.clone());
        matrix.add(0, repeat + 2, run);
    }
    let combination = &matrix.json()["combinations"][0];
    assert_eq!((&combination["lost"], matrix.rows[0].identical), (&json!(5), 2));
    let of_lost = |caveat: &&Value| caveat.as_str().is_some_and(|text| text.contains("lost"));
    let caveats: Vec<&Value> =
        combination["caveats"].as_array().unwrap().iter().filter(of_lost).collect();
    assert_eq!(caveats, [&json!("5 samples lost, with unknown latencies")]);
}

#[test]
fn noise_is_a_column_where_loops_polled() {
    let mut matrix = Matrix::new(
        None,
        vec!["load".into()],
        ["none", "busy"].map(|load| vec![Some(load.to_owned())]).into_iter(),
    );
    let mut polled = Synthetic::idle().threads(1).samples(&[2_000, 4_000]).build();
    assert!(!matrix.text(English).contains("noise"));
    polled.document.threads[0].polling =
        Some(model::Polling { polled_ns: 1_000_000, readings: 9, resolution_ns: None });
    matrix.add(0, 1, polled.clone());
    lose_samples(&mut polled.document.threads[0], 1);
    matrix.add(1, 1, polled);
    let text = matrix.text(English);
    assert!(
        text.contains("noise (%)") && text.contains(" 0.600") && text.contains("≥0.600"),
        "{text}"
    );
    assert_eq!(matrix.json()["combinations"][0]["noise_percent"], json!(0.6));
}

/// Intervals that differ from 1 ms by these, ns.
fn jitter(differences: &[i32]) -> Recorded {
    let mut recorded = Synthetic::idle().threads(1).samples(differences).build();
    recorded.document.probe.quantity = model::Quantity::Jitter;
    recorded.document.probe.period_ns = Some(plan::Nanos(1_000_000));
    recorded
}

#[test]
fn intervals_are_ranked_by_how_much_they_vary() {
    let loads = ["none", "busy"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], loads.into_iter());
    matrix.add(0, 1, jitter(&[-300, 0, 300]));
    // The longest of these is no longer than that; the shortest is far shorter.
    matrix.add(1, 1, jitter(&[-9_000, 0, 300]));
    assert_eq!(
        matrix.headline().sentence,
        "Largest peak to peak 9.30 µs with busy (the worst of 2 combinations)"
    );
    assert_eq!(
        matrix.by_first_factor().unwrap(),
        "Largest peak to peak by load: none 600 ns, busy 9.30 µs."
    );
    let text = matrix.text(English);
    let head: Vec<&str> =
        text.lines().nth(3).unwrap().split("  ").filter(|cell| !cell.is_empty()).collect();
    assert!(head.iter().any(|cell| cell.trim() == "peak to peak"), "{text}");
    assert!(text.contains("0.300") && text.contains("9.30"), "{text}");
    assert_eq!(
        (&matrix.json()["combinations"][1]["peak_to_peak_ns"], matrix.heat_map().is_some()),
        (&json!(9_300), false)
    );
    let by = matrix.by("load", English).unwrap();
    assert!(by.contains("peak to peak"), "{by}");
}

#[test]
fn jitter_is_not_compared_with_latency() {
    let probes = ["rtc", "cyclic"].map(|probe| vec![Some(probe.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["probe".into()], probes.into_iter());
    matrix.add(0, 1, jitter(&[-300, 0, 300]));
    matrix.add(1, 1, Synthetic::idle().threads(1).samples(&[4_180]).build());
    assert_eq!(matrix.headline().sentence, "Largest peak to peak 600 ns with probe=rtc");
    let why = "their quantities differ (jitter; latency)";
    assert!(
        matrix.text(English).contains(&format!("Rows are not comparable: {why}.")),
        "{}",
        matrix.text(English)
    );
    assert_eq!(
        matrix.by("probe", English),
        Err(format!("rows cannot be held beside one another: {why}"))
    );
    assert_eq!((matrix.by_first_factor(), matrix.selected()), (None, vec![0]));
}

/// Otherwise the kernel alone would seem to differ.
#[test]
fn rows_of_a_co_kernel_are_named() {
    let kernels = ["vanilla", "both"].map(|kernel| vec![Some(kernel.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["kernel".into()], kernels.into_iter());
    matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[4_180]).build());
    let mut on_core = Synthetic::idle().threads(1).samples(&[2_000]).build();
    on_core.document.instrument.co_kernel = Some(model::CoKernel {
        name: "Cobalt".into(),
        version: Some("3.3.1".into()),
        abi: 19,
        gravity: None,
        chosen: true,
    });
    matrix.add(1, 1, on_core);
    let text = matrix.text(English);
    assert!(
        text.replace('\n', " ")
            .contains("both: measured on Cobalt 3.3.1 (ABI revision 19), not on Linux."),
        "{text}"
    );
    assert!(!text.contains("vanilla: measured on"), "{text}");
}

#[test]
fn kinds_of_time_are_named_and_not_compared() {
    let kernels = ["none", "debian:amd64"].map(|kernel| vec![Some(kernel.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["kernel".into()], kernels.into_iter());
    matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[57_600]).build());
    matrix.add(1, 1, Synthetic::idle().threads(1).samples(&[4_180]).in_lab(Some(1)).build());
    assert_eq!(
        matrix.headline_text(crate::Paint::Plain, English),
        "\
Worst wake-up 57.6 µs with kernel=none
2 of 2 activations on time.

· Virtual time counts instructions: it is not a board's ns (1 of 2 combinations)
"
    );
    assert!(
        matrix.text(English).replace('\n', " ").contains("debian:amd64: Virtual ns"),
        "{}",
        matrix.text(English)
    );
    assert!(matrix.by_first_factor().is_none());
}

/// No cell and no curve chooses between ns of a machine and ns of the lab.
#[test]
fn pictures_hold_one_kind_of_time() {
    let row = |load: &str, kernel: &str| vec![Some(load.to_owned()), Some(kernel.to_owned())];
    let rows = [row("none", "here"), row("none", "lab"), row("cpu", "here"), row("cpu", "lab")];
    let mut matrix = Matrix::new(None, vec!["load".into(), "kernel".into()], rows.into_iter());
    for place in 0..4 {
        let run =
            Synthetic::idle().threads(1).samples(&[1_000 * (i32::try_from(place).unwrap() + 1)]);
        matrix.add(
            place,
            1,
            if place % 2 == 1 { run.in_lab(Some(1)).build() } else { run.build() },
        );
    }
    assert_eq!(matrix.selected(), [0, 2]);
    let svg = matrix.heat_map().unwrap();
    assert!(
        svg.contains("(time: machine)")
            && svg.contains("from 1.00 µs to 3.00 µs")
            && svg.matches('–').count() == 2,
        "{svg}"
    );
}

#[test]
fn repeats_of_several_machines_are_said_to_be_so() {
    let rows = [vec![Some("none".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    matrix.add(0, 1, Synthetic::idle().threads(1).build());
    let mut elsewhere = Synthetic::idle().threads(1).build();
    elsewhere.document.host.before.kernel = Some("5.10.0".into());
    elsewhere.document.threads[0].start_ns.0 += 1;
    matrix.add(0, 2, elsewhere);
    let text = matrix.text(English).replace('\n', " ");
    assert!(
        text.contains(
            "its repeats come from different machines, kernels, co-kernels, programs or QEMUs"
        ),
        "{text}"
    );
}

#[test]
fn a_lack_of_rights_is_the_worst_caveat_and_stands_with_what_would_help() {
    let mut recorded = Synthetic::idle().threads(1).samples(&[5_000]).build();
    recorded.document.threads[0].scheduling = plan::Scheduling::OTHER;
    recorded.document.instrument.real_time = false;
    recorded.document.warnings = vec![crate::synthetic::no_real_time()];
    let rows = ["none", "cpu"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    matrix.add(0, 1, recorded);
    let caveats = |matrix: &Matrix| {
        let banners = matrix.headline().caveats;
        banners.into_iter().map(|banner| banner.text).collect::<Vec<_>>()
    };
    let denied = "No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)";
    assert_eq!(caveats(&matrix), [denied]);
    matrix.add(1, 1, Synthetic::hackbench().threads(1).samples(&[6_000]).build());
    assert_eq!(
        caveats(&matrix),
        [
            format!("{denied} in 1 of 2 combinations").as_str(),
            "Steal 1.0 % in 1 combination",
            "Clocksource changed in 1 combination"
        ]
    );
    assert!(
        matrix
            .text(English)
            .contains("Join a group that has them: teiji check says how (rights-real-time)."),
        "{}",
        matrix.text(English)
    );
    assert_eq!(
        matrix.json()["combinations"][0]["caveats"][0],
        "No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)"
    );
}

/// An added combination that is unlike the others must not be laid at the first factor's door.
#[test]
fn the_first_factor_is_reported_where_all_else_is_equal() {
    let row = |load: &str, prio: Option<&str>| vec![Some(load.to_owned()), prio.map(str::to_owned)];
    let rows = [row("none", None), row("cpu", None), row("none", Some("20"))];
    let mut matrix = Matrix::new(None, vec!["load".into(), "prio".into()], rows.into_iter());
    for (place, max) in [2_000, 3_000, 900_000].into_iter().enumerate() {
        matrix.add(place, 1, Synthetic::idle().threads(1).samples(&[max]).build());
    }
    assert_eq!(
        matrix.by_first_factor().unwrap(),
        "Largest latency by load: none 2.00 µs, cpu 3.00 µs."
    );
    assert_eq!(
        matrix.headline().sentence,
        "Worst wake-up 900 µs with prio=20, no load (the worst of 3 combinations)",
        "the smallest has no room in 90 columns"
    );
}

/// The worst was named by its figure alone, where all its names were too long for one line.
#[test]
fn the_headline_names_what_it_was_measured_under() {
    let text = |text: &str| Some(text.to_owned());
    let kernels = ["debian:amd64=6.1.0-56", "debian:rt-amd64=6.1.0-56"];
    let loads = ["none", "hackbench"];
    let all = kernels.iter().flat_map(|kernel| loads.map(|load| (*kernel, load)));
    let rows = all.flat_map(|(kernel, load)| {
        [("other", "none"), ("fifo", "49")]
            .map(|(policy, prio)| [kernel, policy, prio, load].map(text).to_vec())
    });
    let factors = ["kernel", "policy", "prio", "load"].map(str::to_owned).to_vec();
    let mut matrix = Matrix::new(None, factors, rows);
    let add = |matrix: &mut Matrix, row: usize, policy, prio, max| {
        let mut recorded = Synthetic::idle().threads(1).samples(&[max]).in_lab(Some(1)).build();
        recorded.document.threads[0].scheduling = plan::Scheduling { policy, prio };
        matrix.add(row, 1, recorded);
    };
    for row in 0..8 {
        let (policy, prio) =
            if row % 2 == 0 { (plan::Policy::Other, None) } else { (plan::Policy::Fifo, Some(49)) };
        add(&mut matrix, row, policy, prio, 20_000 + i32::try_from(row).unwrap());
    }
    add(&mut matrix, 6, plan::Policy::Other, None, 31_600_000);
    assert_eq!(
        matrix.headline().sentence,
        "Worst wake-up 31.6 ms with SCHED_OTHER, hackbench, debian:rt-amd64, in virtual time"
    );
}

/// Who asked for real-time scheduling and was denied it had the worst, and nothing said so.
#[test]
fn the_headline_names_the_scheduling_in_force() {
    let rows = ["fifo", "rr"].map(|policy| vec![Some(policy.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["policy".into()], rows.into_iter());
    let mut denied = Synthetic::idle().threads(1).samples(&[1_090_000_000]).build();
    denied.document.threads[0].scheduling =
        plan::Scheduling { policy: plan::Policy::Other, prio: None };
    matrix.add(0, 1, denied);
    matrix.add(1, 1, Synthetic::idle().threads(1).samples(&[20_000]).build());
    let sentence = matrix.headline().sentence;
    assert!(
        sentence.starts_with("Worst wake-up 1.09 s with SCHED_OTHER (the worst of 2 combinations)"),
        "{sentence}"
    );
}

/// One of them had three lines.
#[test]
fn caveats_are_a_line_each_and_the_rest_is_below_the_table() {
    let rows = ["none", "busy"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    matrix.add(0, 1, Synthetic::idle().threads(1).samples(&[20_000]).build());
    let lacks = "the probe rtc cannot measure here: there is no /dev/rtc0";
    let next = "It takes a real-time clock: CONFIG_RTC_INTF_DEV";
    matrix.left_out = vec![format!("{lacks}. {next}"); 9];
    let boots = vec!["kernel=one".to_owned(), "kernel=two".to_owned()];
    matrix.boots_missing = BootsMissing { boots, runs: 54 };
    let text = matrix.text(English);
    let head = text.split("\n\n").nth(1).unwrap();
    assert_eq!(
        head,
        format!(
            "✗ 54 runs of the plan without a recording, including all runs of 2 boots\n✗ 9 runs \
             left out: {lacks}"
        ),
        "{text}"
    );
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for below in [format!("9 runs left out: {lacks}. {next}"), "teiji run --here PLAN".into()] {
        assert!(text.contains(&below), "{text}");
    }
    // A reason is kept as it was said.
    let text = matrix.markdown(crate::Language::Japanese);
    let reason = format!("除外: 測定 9 回。記録されている理由(原文): {lacks}. {next}");
    assert!(text.contains(&reason), "{text}");
}

/// Jitter was called latency below the table.
#[test]
fn what_the_columns_are_is_said_below_them() {
    let loads = ["none", "busy"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], loads.into_iter());
    matrix.add(0, 1, jitter(&[-300, 0, 300]));
    matrix.add(1, 1, jitter(&[-9_000, 0, 300]));
    for text in [matrix.text(English), matrix.markdown(English)] {
        assert!(text.contains("\nJitter in µs, as measured."), "{text}");
        assert!(!text.contains("Latencies"), "{text}");
    }
}

/// In virtual time each ns is meant: of one run a quantile as much as the largest.
#[test]
fn exact_figures_have_three_decimals_in_all_tables() {
    let made = |title: &str, threads: u32| {
        let samples = [4_181, 5_182, 6_183];
        let one = Synthetic::idle().threads(threads).samples(&samples).title(title);
        one.in_lab(Some(1)).build()
    };
    let loads = ["none", "busy"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], loads.into_iter());
    matrix.add(0, 1, made("one", 1));
    // Of two threads only the histogram knows.
    matrix.add(1, 1, made("two", 2));
    let by = matrix.by("load", English).unwrap();
    for text in [matrix.text(English), matrix.markdown(English), by] {
        assert!(text.contains(" 5.182") && text.contains(" 6.183"), "{text}");
        assert!(text.contains("~5.2"), "{text}");
    }
    let recorded = made("one", 1);
    let all = std::slice::from_ref(&recorded);
    let options = crate::ChartOptions::default();
    let report = crate::Report::new(all, &[], &options);
    for text in [
        crate::threads_markdown(all, English),
        report.markdown("teiji report", None, English),
        report.html("teiji report", English),
    ] {
        assert!(text.contains("5.182") && !text.contains("5.2 "), "{text}");
    }
}

#[test]
fn what_others_published_stands_beside_it() {
    let mut matrix = matrix();
    let lines = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,min_us,\
                 avg_us,max_us,sd_us,overruns,note\nSomebody,2010,a \
                 board,2.6.31,none,,none,0,1000,100000,,7.036,402.131,3.167,4,\nAnother,2020,a \
                 desk,4.19,none,fifo,none,0,1000,30000,3,5,289,,,\n";
    matrix.published = Some(Published::read("a.csv", lines.as_bytes()).unwrap());
    let text = matrix.markdown(English);
    let lines: Vec<&str> = text.lines().skip(2).collect();
    let theirs = "| their min | their mean | their sd | their max | their late | source |";
    assert!(lines[0].ends_with(theirs), "{text}");
    assert!(lines[2].ends_with("| – | 7.036 | 3.167 | 402.131 | 4 | [1] |"), "{text}");
    // Loads are told by the recording, not by a factor's name. A second one of the same
    // combination: a line of its own, with nothing of ours.
    assert!(lines[3].ends_with("|  | 3 | 5 | – | 289 | – | [2] |"), "{text}");
    assert!(lines[6].ends_with("| – | – |"), "{text}");
    let text = matrix.text(English);
    assert!(
        text.contains("[1] Somebody; a board; Linux 2.6.31; policy unknown; 100,000 wake-ups"),
        "{text}"
    );
    assert!(text.contains("2 of 2 published figures match a combination."), "{text}");
    let csv = matrix.csv();
    assert_eq!(csv.lines().count(), 6, "{csv}");
    assert!(
        csv.contains("1ms,none,,1000000,2,0,0,machine,6,")
            && csv.contains(",Another,2020,a desk,4.19,fifo,30000,3000,5000,,289000,"),
        "{csv}"
    );
    let json = matrix.json();
    assert_eq!(json["combinations"][0]["published"][0]["mean_ns"], json!(7_036));
    assert_eq!(json["combinations"][2]["published"], json!([]));
}

/// Published figures beside ours, with caveats of several words, had lines of 105 columns.
#[test]
fn caveats_without_room_stand_below_the_table() {
    let factors = ["policy", "interval"].map(str::to_owned).to_vec();
    let rows = [["other", "1ms"], ["fifo", "1ms"], ["other", "1500us"], ["fifo", "1500us"]];
    let values = rows.map(|row| row.map(|value| Some(value.to_owned())).to_vec());
    let mut matrix = Matrix::new(None, factors, values.into_iter());
    for (row, more) in (1_i32..=4).enumerate() {
        let samples: Vec<i32> = (1..=2_000).map(|n| n * 99_765 + more).collect();
        let mut recorded = Synthetic::idle().threads(1).due(2_000).samples(&samples).build();
        let after = recorded.document.host.after.as_mut().unwrap();
        after.clocksource = Some("hpet".into());
        *after.cpus[0].time_ms.get_mut("steal").unwrap() += 1_000 * u64::from(more.unsigned_abs());
        matrix.add(row, 1, recorded);
    }
    let lines = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,min_us,\
                 avg_us,max_us,sd_us,overruns,note\nSomebody,2010,a \
                 board,2.6.31,none,,none,0,1000,100000,,7.036,27395.703,3.167,4,\n";
    matrix.published = Some(Published::read("a.csv", lines.as_bytes()).unwrap());
    let text = matrix.text(English);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let head = text.lines().find(|line| line.starts_with("policy ")).unwrap();
    assert!(
        head.ends_with("  their max  their late  source") && !head.contains("caveats"),
        "{text}"
    );
    let below = "\ninterval=1500us; policy=fifo, interval=1500us: clocksource changed.\n\
                 policy=other, interval=1ms: steal 33.3 %.\n\
                 policy=fifo, interval=1ms: steal 50.0 %.\n";
    assert!(text.contains(below), "{text}");
    let left_out = text.split_once("Not shown in 80 columns: ").unwrap().1;
    assert!(!left_out.split_once("For all").unwrap().0.contains("caveats"), "{text}");
}

/// A table of several probes, each with settings of its own, had lines of 155 columns.
#[test]
fn factors_that_others_determine_are_given_up_last() {
    let row = |values: [&str; 8]| values.map(|value| Some(value.to_owned())).to_vec();
    let rows = [
        row(["cyclic", "fifo", "90", "locked", "held at 0", "0-1", "1ms", "none"]),
        row(["cyclic", "fifo", "90", "locked", "held at 0", "0-1", "1ms", "cpu@50%"]),
        row(["noise", "other", "none", "not locked", "not held", "1 thread on any", "1s", "none"]),
        row(["stream", "–", "–", "–", "–", "–", "–", "none"]),
    ];
    let factors = ["probe", "policy", "prio", "memory", "cpu_dma_latency", "cpus", "interval"];
    let factors = factors.map(str::to_owned).into_iter().chain(["load".to_owned()]).collect();
    let mut matrix = Matrix::new(None, factors, rows.into_iter());
    for row in 0..4 {
        matrix.add(row, 1, Synthetic::idle().seed(row as u64).build());
    }
    let text = matrix.text(English);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let head = text.lines().find(|line| line.starts_with("probe ")).unwrap();
    let names: Vec<&str> =
        head.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    let kept =
        ["probe", "policy", "prio", "memory", "cpu_dma_latency", "load", "p99", "max", "late"];
    assert_eq!(names, kept);
    assert!(text.replace('\n', " ").contains("skipped, interval, cpus. For"), "{text}");
}

/// It was "all runs", beside another combination, where a dry run says what it is.
#[test]
fn a_combination_of_no_factor_has_the_settings_of_measure() {
    let rows = [None, Some("other".to_owned())].map(|policy| vec![policy]);
    let mut matrix = Matrix::new(None, vec!["policy".into()], rows.into_iter());
    matrix.add(0, 1, Synthetic::idle().build());
    matrix.add(1, 1, Synthetic::idle().seed(2).build());
    let sets = matrix.alike_by("policy", English).unwrap();
    let names: Vec<&str> = sets[0].rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["settings of [measure]", "policy=other"]);
}

/// Events had the interval of the thread that read them.
#[test]
fn events_have_no_interval() {
    let rows = [vec![Some("none".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    let mut recorded = Synthetic::idle().threads(2).build();
    let probe = &mut recorded.document.probe;
    (probe.rows, probe.overrun_column) = (model::RowKind::Events, None);
    recorded.document.threads[1].interval_ns = plan::Nanos(2_000_000);
    matrix.add(0, 1, recorded);
    let csv = matrix.csv();
    assert_eq!(csv.lines().count(), 2);
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let at = cells[0].iter().position(|heading| *heading == "interval_ns").unwrap();
    assert_eq!(cells[1][at], "");
    assert_eq!(matrix.json()["combinations"][0]["interval_ns"], Value::Null);
}

/// A single recording said so, a folder did not.
#[test]
fn a_row_whose_run_json_contradicts_its_samples_says_so() {
    let rows = [vec![Some("none".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    let mut recorded = Synthetic::idle().threads(1).samples(&[5_000; 20]).build();
    recorded.document.threads[0].latency_ns.as_mut().unwrap().max = 4_000;
    matrix.add(0, 1, recorded);
    assert_eq!(matrix.rows[0].in_short(), ["contradicts samples"]);
    assert!(!matrix.rows[0].is_whole());
    let why = "figures in run.json contradict its samples: teiji verify lists the differences";
    assert_eq!(matrix.json()["combinations"][0]["caveats"], json!([why]));
    assert!(matrix.text(English).replace('\n', " ").contains(why));
    let mut unread = Synthetic::idle().threads(1).samples(&[6_000; 20]).build();
    unread.document.warnings =
        vec![model::Warning::TraceEventsLost { events: 3, buffer_kib: 64, unfollowed: 0 }];
    matrix.add(0, 2, unread);
    assert_eq!(matrix.rows[0].in_short(), ["contradicts samples", "incomplete"]);
}

/// A note stood before what is wrong with the figures.
#[test]
fn caveats_of_a_row_are_the_worst_first() {
    let rows = [vec![Some("none".to_owned())]];
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    let mut recorded = Synthetic::idle().threads(1).samples(&[5_000; 20]).build();
    recorded.document.threads[0].latency_ns.as_mut().unwrap().max = 4_000;
    let ordinary = plan::Scheduling { policy: plan::Policy::Other, prio: None };
    recorded.document.run.scheduling = ordinary;
    recorded.document.threads[0].scheduling = ordinary;
    matrix.add(0, 1, recorded);
    let caveats = matrix.json()["combinations"][0]["caveats"].clone();
    let caveats: Vec<&str> =
        caveats.as_array().unwrap().iter().map(|caveat| caveat.as_str().unwrap()).collect();
    let [first, .., last] = caveats.as_slice() else { panic!("{caveats:?}") };
    assert!(first.contains("contradict its samples"), "{caveats:?}");
    assert!(last.contains("rdinary scheduling"), "{caveats:?}");
}

/// A name stood below the table once for each thread.
#[test]
fn a_combination_of_two_threads_is_named_once_by_a_factor() {
    let value = |text: String| Some(text);
    let rows = (0..4).map(|row| {
        let load = ["mem-alloc@100%,cpus=0", "mem-alloc@100%,cpus=1"][row / 2];
        vec![value(load.to_owned() + &",groups=40".repeat(6)), value(format!("{row}ms"))]
    });
    let mut matrix = Matrix::new(None, ["load", "interval"].map(str::to_owned).to_vec(), rows);
    for row in 0..4 {
        let mut recorded = Synthetic::idle().threads(2).samples(&[10_000, 2_000]).build();
        recorded.document.threads[1].interval_ns = plan::Nanos(1_500_000);
        matrix.add(row, 1, recorded);
    }
    matrix.rows.iter_mut().enumerate().for_each(|(row, one)| one.at[1] = row % 2);
    let by = matrix.by("interval", English).unwrap();
    assert_eq!(by.matches("load=mem-alloc@100%,cpus=0").count(), 1, "{by}");
    assert!(
        by.contains("\n  3:\n    load=mem-alloc@100%,cpus=1") && by.contains("1: 1500us"),
        "{by}"
    );
}

/// Two threads as cyclictest starts them: 1 ms and 1.5 ms. Document 003 publishes a line for each.
#[test]
fn threads_with_intervals_of_their_own_have_lines_of_their_own() {
    let mut recorded = Synthetic::idle().threads(2).samples(&[10_000, 2_000, 30_000]).build();
    recorded.document.host.before.preemption = Some("voluntary".into());
    recorded.document.threads[1].interval_ns = plan::Nanos(1_500_000);
    recorded.document.run.distance_ns = plan::Nanos(500_000);
    let fill_in = |recorded: &mut Recorded| {
        let model::Document { threads, probe, .. } = &mut recorded.document;
        for (thread, statistics) in threads.iter_mut().zip(&recorded.threads) {
            model::fill_in(thread, probe, statistics, &model::Beside::default());
        }
    };
    fill_in(&mut recorded);
    let desktop =
        || Matrix::new(None, vec!["load".into()], [vec![Some("none".into())]].into_iter());
    let mut matrix = desktop();
    matrix.add(0, 1, recorded.clone());
    recorded.document.threads[0].start_ns.0 += 1;
    fill_in(&mut recorded);
    matrix.add(0, 2, recorded);
    matrix.published = Some(Published::along().unwrap());
    let text = matrix.text(English);
    let markdown = matrix.markdown(English);
    let lines: Vec<&str> = markdown.lines().collect();
    let begins = |line: usize, cells: &str| assert!(lines[line].starts_with(cells), "{markdown}");
    begins(0, "| load | thread | runs | n | min | mean | sd | p50 |");
    begins(2, "| none | 0: 1ms | 2 | 6 | 2.0 | 14.0 | 12.9 |");
    assert!(lines[3].contains(" | 5 | – | 289 |"), "{markdown}");
    let second = lines.iter().position(|line| line.contains("| 1: 1")).unwrap();
    begins(second, "|  | 1: 1500us |  | 6 | 2.0 | 14.0 | 12.9 | \\~10.0 | 30.0 |");
    assert!(lines[second].contains(" | 5 | – | 369 |"), "{markdown}");
    assert!(text.replace('\n', " ").contains("thread 1; 20,010 wake-ups"), "{text}");
    let csv = matrix.csv();
    assert!(
        csv.contains("\r\nnone,0,1000000,2,") && csv.contains("\r\nnone,1,1500000,2,"),
        "{csv}"
    );
    let threads = &matrix.json()["combinations"][0]["threads"];
    assert_eq!(
        (&threads[1]["interval_ns"], &threads[1]["min_ns"]),
        (&json!(1_500_000), &json!(2_000))
    );
    assert!(
        threads[0]["published"].as_array().is_some_and(|theirs| !theirs.is_empty()),
        "{threads}"
    );
}

#[test]
fn caveats_of_a_row_stand_before_its_figures() {
    let mut matrix = Matrix::new(
        None,
        vec!["load".into()],
        ["none", "cpu"].map(|load| vec![Some(load.to_owned())]).into_iter(),
    );
    matrix.add(0, 1, Synthetic::idle().threads(1).due(2_000).build());
    let mut recorded = Synthetic::hackbench().threads(1).due(2_000).build();
    recorded.document.load_off_target = true;
    matrix.add(1, 1, recorded);
    let text = matrix.text(English);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("load  ")).collect();
    assert!(lines[0].starts_with("load  caveats "), "{text}");
    assert!(lines[1].starts_with("none  –  "), "{text}");
    assert!(
        lines[2].starts_with("cpu   load off target, steal 1.0 %, clocksource changed  "),
        "{text}"
    );
    assert!(matrix.csv().contains("steal time 1.0 % (20.0 ms) on CPU 0"), "{}", matrix.csv());
    let caveats: Vec<String> =
        matrix.headline().caveats.into_iter().map(|banner| banner.text).collect();
    assert_eq!(
        caveats,
        [
            "Load off target in 1 combination, marked in the table or below it",
            "Steal 1.0 % in 1 combination",
            "Clocksource changed in 1 combination"
        ]
    );
}

#[test]
fn a_factor_side_by_side_is_figures_and_what_to_compare() {
    let levels = ["none", "mem-alloc"];
    let rows = ["300us", "1ms"].iter().flat_map(|interval| {
        levels.map(|load| vec![Some((*interval).to_owned()), Some(load.to_owned())])
    });
    let mut matrix = Matrix::new(None, vec!["interval".into(), "load".into()], rows);
    let late = |n: usize| {
        // As many due in each, whatever is skipped.
        let mut samples = vec![4_000; 61 - n];
        samples.extend(vec![1_000_000; n]);
        Synthetic::idle().threads(1).samples(&samples).build()
    };
    for (row, n) in [0, 30, 0, 41].into_iter().enumerate() {
        let mut recorded = late(n);
        recorded.path = format!("{row}.teiji").into();
        matrix.add(row, 1, recorded);
    }
    let text = matrix.by("load", English).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("interval  figure") && lines[0].ends_with("mem-alloc"), "{text}");
    assert!(lines[0].contains("none"), "{text}");
    assert!(lines[1].starts_with("300us") && lines[1].contains("p50"), "{text}");
    // Whether that is more than chance is for `compare` to say, and what else differs.
    for cause in ["raises", "lowers", "all else equal"] {
        assert!(!text.contains(cause), "{cause}: {text}");
    }
    let sets = matrix.alike_by("load", English).unwrap();
    let of = |set: &AlikeRows<'_>| {
        let row = |(name, paths): &(String, &[std::path::PathBuf])| {
            format!("{name}: {}", paths[0].display())
        };
        (set.rows.iter().map(row).collect::<Vec<_>>().join("; "), set.is_on_cores)
    };
    assert_eq!(
        sets.iter().map(of).collect::<Vec<_>>(),
        [
            (
                "interval=300us, no load: 0.teiji; interval=300us, mem-alloc: 1.teiji".to_owned(),
                false
            ),
            ("interval=1ms, no load: 2.teiji; interval=1ms, mem-alloc: 3.teiji".to_owned(), false),
        ]
    );
    let unknown = matrix.by("kernel", English).unwrap_err();
    assert!(unknown.contains("interval, load"), "{unknown}");
    assert_eq!(matrix.alike_by("kernel", English).err(), Some(unknown));
}

#[test]
fn a_factor_that_never_varies_alone_is_said_to_tell_nothing() {
    let rows = [("other", "none"), ("fifo", "49")]
        .map(|(policy, prio)| vec![Some(policy.to_owned()), Some(prio.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["policy".into(), "prio".into()], rows.into_iter());
    (0..2).for_each(|row| {
        matrix.add(row, 1, Synthetic::idle().threads(1).samples(&[4_000; 4]).build())
    });
    let text = matrix.by("policy", English).unwrap().replace('\n', " ");
    assert!(text.contains("No two combinations differ in policy alone"), "{text}");
}

/// The plan's rows, with these values of its factors.
fn rows_of<const N: usize>(factors: [&str; N], rows: &[[&str; N]]) -> Matrix {
    let names = factors.map(str::to_owned).to_vec();
    let values = rows.iter().map(|row| row.map(|value| Some(value.to_owned())).to_vec());
    let mut matrix = Matrix::new(None, names, values);
    for row in 0..rows.len() {
        let max = 10_000 * (1 + i32::try_from(row).unwrap());
        let samples = [4_000, 4_000, 4_000, max];
        matrix.add(row, 1, Synthetic::idle().threads(1).samples(&samples).build());
    }
    matrix
}

/// The lines of a table by a factor, cell by cell.
fn lines_by(matrix: Matrix, factor: &str) -> Vec<Vec<String>> {
    let (matrix, factor) = matrix.joined(factor);
    let text = matrix.by(&factor, English).unwrap();
    let cells = |line: &str| {
        let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect()
    };
    text.lines().skip_while(|line| !line.contains("figure")).map(cells).collect()
}

/// A priority belongs to its policy. Without it each row of the table had one figure and a dash.
#[test]
fn a_factor_that_follows_from_another_belongs_to_it() {
    let matrix = || {
        let rows = [["other", "none"], ["fifo", "49"]];
        let loads = |[policy, prio]: [&'static str; 2]| {
            ["none", "hackbench"].map(|load| [policy, prio, load])
        };
        rows_of(["policy", "prio", "load"], rows.map(loads).as_flattened())
    };
    for by in ["policy", "prio", "policy,prio"] {
        let lines = lines_by(matrix(), by);
        let head = match by {
            "prio" => ["load", "figure", "none, policy=other", "49, policy=fifo"],
            _ => ["load", "figure", "other", "fifo, prio=49"],
        };
        assert_eq!(lines[0], head, "{by}");
        let max: Vec<&Vec<String>> =
            lines.iter().filter(|line| line.contains(&"max".to_owned())).collect();
        assert_eq!(max, [&["max", "10.0", "30.0"], &["max", "20.0", "40.0"]], "{by}");
    }
    // Whether a factor follows is seen in the rows alone.
    assert_eq!(lines_by(matrix(), "load")[0], ["policy", "prio", "figure", "none", "hackbench"]);
}

/// Caveats made each policy's column so wide that they stood below one another.
#[test]
fn caveats_do_not_drive_columns_apart() {
    let rows = [["other", "none"], ["fifo", "none"], ["other", "cpu"], ["fifo", "cpu"]];
    let values = rows.iter().map(|row| row.map(|value| Some(value.to_owned())).to_vec());
    let mut matrix = Matrix::new(None, vec!["policy".into(), "load".into()], values);
    for row in 0..4 {
        let mut recorded = Synthetic::hackbench().due(2_000).build();
        let after = recorded.document.host.after.as_mut().unwrap();
        *after.cpus[0].time_ms.get_mut("steal").unwrap() += 3_000;
        matrix.add(row, 1, recorded);
    }
    let by = matrix.by("policy", English).unwrap();
    let head: Vec<&str> = by.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["load", "figure", "other", "fifo"], "{by}");
    assert!(by.lines().all(|line| line.chars().count() <= 80), "{by}");
    let below = "policy=other, no load; policy=fifo, no load; policy=other, cpu; policy=fifo, cpu: \
                 steal ";
    assert_eq!(by.replace('\n', " ").matches(below).count(), 1, "{by}");
    assert_eq!(by.matches(" figure ").count(), 1, "{by}");
}

/// Below the table of a plan whose columns with a `~` had no room, or that had none, it was
/// explained.
#[test]
fn a_note_explains_the_signs_that_are_there() {
    let text = |matrix: &Matrix| matrix.text(English).replace('\n', " ");
    let of = |samples: &[i32], threads| {
        let mut matrix = Matrix::new(None, vec!["load".into()], [vec![None]].into_iter());
        let recorded = Synthetic::idle().threads(threads).due(20_000).samples(samples).build();
        matrix.add(0, 1, recorded);
        matrix
    };
    let note = " ~: from the histogram";
    let about = text(&of(&[4_000; 20_000], 2));
    assert!(about.contains("~4.0") && about.contains(note), "{about}");
    let observed = text(&of(&[4_000; 20_000], 1));
    assert!(!observed.contains('~'), "{observed}");
    let narrow = Signs::in_lines(&[vec!["load".into(), "max".into()]], 1);
    assert!(!narrow.about && !narrow.max_of_runs);
    let notes = of(&[4_000; 20_000], 2).notes(narrow);
    assert!(notes.iter().all(|text| !text.contains('~')), "{notes:?}");
}

/// The page of a single recording said that a thread of higher priority ran, a plan's table did
/// not.
#[test]
fn a_machine_set_up_badly_is_in_the_notes() {
    let mut matrix = rows_of(["load"], &[["none"], ["cpu"]]);
    let mut recorded = Synthetic::idle().threads(1).build();
    let check = |name: &str| Warning::MachineCheck {
        check: name.into(),
        found: "python3 at 95".into(),
        why: "It runs first.".into(),
        action: None,
        found_phrase: None,
        action_phrase: None,
    };
    recorded.document.warnings = ["governor", "idle-states", "threads-above"].map(check).to_vec();
    matrix.add(1, 2, recorded);
    let text = matrix.text(English).replace('\n', " ");
    let note = "cpu: Bad for latency: threads-above, governor and 1 more. See teiji check.";
    assert!(text.contains(note), "{text}");
    assert!(matrix.rows[1].is_whole(), "its figures are all that was asked for");
}

/// As the document that set up a Raspberry Pi compared them: as it came, and with another kernel
/// and arguments.
#[test]
fn several_factors_can_be_named_as_one() {
    let rows = [["vanilla", "none"], ["rt", "none"], ["rt", "isolcpus=1-3"]];
    let matrix = || rows_of(["kernel", "append"], &rows);
    let lines = lines_by(matrix(), "kernel,append");
    assert_eq!(lines[0], ["figure", "vanilla", "rt", "rt, append=isolcpus=1-3"]);
    assert!(lines.contains(&["max", "10.0", "20.0", "30.0"].map(str::to_owned).to_vec()));
    // One of them alone is held beside its own values, as before.
    assert_eq!(lines_by(matrix(), "kernel")[0], ["append", "figure", "vanilla", "rt"]);
    let (matrix, name) = matrix().joined("kernel,nosuch");
    assert_eq!(
        matrix.by(&name, English).unwrap_err(),
        "the plan does not vary 'kernel,nosuch': it varies kernel, append"
    );
    // Of several boots one is recorded.
    let matrix = rows_of(["kernel", "append"], &[["rt", "none"], ["rt", "isolcpus=1-3"]]);
    assert_eq!(
        matrix.by("kernel", English).unwrap_err(),
        "one value of 'kernel' alone is recorded: rt"
    );
}

/// Values of a kernel and its arguments were as wide as a terminal each.
#[test]
fn values_that_do_not_fit_are_lettered_below() {
    let append = "isolcpus=1-3 nohz_full=1-3 rcu_nocbs=0";
    let rows = [["debian:arm64", "none"], ["debian:rt-arm64", "none"], ["debian:rt-arm64", append]];
    let lines = lines_by(rows_of(["kernel", "append"], &rows), "kernel,append");
    assert_eq!(lines[0], ["figure", "A", "B", "C"]);
    assert!(lines.contains(&["max", "10.0", "20.0", "30.0"].map(str::to_owned).to_vec()));
    let named = format!("C: debian:rt-arm64, append={append}");
    assert!(lines.iter().flatten().any(|cell| *cell == named), "{lines:?}");
}

/// Of a plan with nine loads four columns stood below five others.
#[test]
fn values_that_are_too_many_for_columns_are_rows() {
    let levels = ["cpu", "mem-alloc", "mem-fault", "mem-access"]
        .into_iter()
        .flat_map(|load| ["50%", "100%"].map(|level| format!("{load}@{level}")));
    let loads: Vec<String> = ["none".to_owned()].into_iter().chain(levels).collect();
    let kernels = ["debian:amd64", "debian:rt-amd64"];
    let rows = kernels.iter().flat_map(|kernel| {
        loads.iter().map(|load| vec![Some((*kernel).to_owned()), Some(load.clone())])
    });
    let mut matrix = Matrix::new(None, vec!["kernel".into(), "load".into()], rows);
    let count = 2 * loads.len();
    for row in 0..count {
        matrix.add(
            row,
            1,
            Synthetic::idle().threads(1).samples(&[4_000, 5_000, 1_900_000]).build(),
        );
    }
    let text = matrix.by("load", English).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let cells: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(cells[0], ["kernel", "load", "p50", "p99", "p99.9", "max", "late"], "{text}");
    assert_eq!(cells[1][..3], ["debian:amd64", "none", "5.0"], "{text}");
    assert_eq!(cells[2][..2], ["cpu@50%", "5.0"], "{text}");
    assert_eq!(cells[1 + loads.len()][..2], ["debian:rt-amd64", "none"], "{text}");
    assert_eq!(text.matches("p50").count(), 1, "one table: {text}");
}

/// Each within one probe, whose quantity is its own.
#[test]
fn loads_are_compared_within_each_quantity() {
    let rows = [["rtc", "none"], ["rtc", "cpu"], ["cyclic", "none"], ["cyclic", "cpu"]];
    let values = rows.iter().map(|row| row.map(|value| Some(value.to_owned())).to_vec());
    let mut matrix = Matrix::new(None, vec!["probe".into(), "load".into()], values);
    (0..2).for_each(|row| matrix.add(row, 1, jitter(&[-300, 0, 300])));
    let latency = || Synthetic::idle().threads(1).samples(&[4_180; 4]).build();
    (2..4).for_each(|row| matrix.add(row, 1, latency()));
    let text = matrix.by("load", English).unwrap();
    assert!(text.contains("peak to peak") && text.contains("p50"), "{text}");
    assert!(matrix.by("probe", English).is_err());
}

/// Threads with intervals of their own are cases of their own.
#[test]
fn threads_of_unlike_intervals_are_named() {
    let rows = ["none", "cpu"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    for (row, max) in [(0, 9_000), (1, 90_000)] {
        let mut recorded = Synthetic::idle().threads(2).samples(&[4_000, max]).build();
        recorded.document.threads[1].interval_ns = plan::Nanos::from_millis(2);
        matrix.add(row, 1, recorded);
    }
    let text = matrix.by("load", English).unwrap();
    let sets = matrix.alike_by("load", English).unwrap();
    assert_eq!(sets.len(), 1, "a combination is compared with all its threads");
    assert!(text.contains("\n0: 1ms  p50") && text.contains("\n1: 2ms  p50"), "{text}");
}

/// A thread that was kept from its CPU until the run was ended: what it never ran waited longest,
/// and every place that shows a maximum shows that.
#[test]
fn what_was_never_run_is_in_every_maximum() {
    let mut recorded = Synthetic::idle().threads(1).samples(&[4_000, 5_000, 6_000]).build();
    let rule =
        stats::AccountingRule { after: stats::AfterOverrun::Skip, given_up_ns: Some(9_500_000) };
    let rows = [stats::Span::Woken(&[4_000, 5_000, 6_000]), stats::Span::Missing(7)];
    let Ok(statistics) = stats::summarise(&rows[..], 1_000_000, rule, 8);
    let thread = &mut recorded.document.threads[0];
    thread.given_up_ns = Some(plan::Nanos(thread.start_ns.0 + 9_500_000));
    thread.latency_with_skipped_ns = statistics.latency_with_skipped;
    recorded.threads = vec![statistics];
    // Activation 3 waited from 3 ms to 9.5 ms.
    let waited = "6.50 ms";
    let output = crate::sections::verdict::Headline::new(&[Overview::new(&recorded)]);
    assert!(output.sentence.starts_with(&format!("Worst wake-up {waited}, ")), "{output:?}");
    let kept_off =
        format!("Thread 0 kept off its CPU to the end, activations waiting up to {waited}");
    assert!(output.caveats.iter().any(|banner| banner.text == kept_off), "{output:?}");
    let page =
        crate::Report::new(std::slice::from_ref(&recorded), &[], &crate::ChartOptions::default())
            .html("teiji report", English);
    assert!(page.contains(">6.50<") && !page.contains(">6.00<"), "the page's one figure");
    let mut matrix =
        Matrix::new(None, vec!["load".into()], [vec![Some("none".into())]].into_iter());
    matrix.add(0, 1, recorded);
    let sentence = matrix.headline().sentence;
    assert!(sentence.starts_with(&format!("Worst wake-up {waited}")), "{sentence}");
    assert!(matrix.text(English).contains("6,500.0"), "{}", matrix.text(English));
    assert_eq!(heat::FIGURES[0].value(&matrix.rows[0]), Some(6_500_000), "the heat map");
    assert_eq!(matrix.json()["combinations"][0]["max_ns"], json!(6_500_000));
}

/// What became of activations is not known of a histogram: the table says so, and so does the same
/// table by one factor.
#[test]
fn overruns_that_are_not_known_are_not_none() {
    let rows = ["a", "b"].map(|load| vec![Some(load.to_owned())]);
    let mut matrix = Matrix::new(None, vec!["load".into()], rows.into_iter());
    for row in 0..2 {
        let mut recorded = Synthetic::idle().threads(1).build();
        recorded.threads =
            recorded.threads.iter().map(crate::sections::latencies::from_histogram).collect();
        (recorded.document.threads[0].activations, recorded.document.threads[0].detail) =
            (None, model::Detail::Histogram);
        matrix.add(row, 1, recorded);
    }
    let by = matrix.by("load", English).unwrap();
    assert!(!by.contains("no overruns"), "{by}");
    let line = by.lines().find(|line| line.starts_with("late")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), ["late", "–", "–"], "{by}");
    for figure in ["overruns", "skipped", "lost"] {
        assert_eq!(matrix.json()["combinations"][0][figure], Value::Null, "{figure}");
    }
    let csv = matrix.csv();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let cell = |name: &str| lines[1][lines[0].iter().position(|known| *known == name).unwrap()];
    assert_eq!(["overruns", "skipped", "lost"].map(cell), ["", "", ""], "{csv}");
}

/// Rows of a plan as `rpi3-three-kernels` has them: kernel, probe, co-kernel and largest latency.
fn three_kernels() -> Matrix {
    let rows = [
        ("vanilla", "cyclic", None, 42_000),
        ("rt", "cyclic", None, 38_000),
        ("both", "auto", Some(crate::sections::co_kernel::cobalt(2_000)), 14_000),
        ("both", "cyclic", None, 64_000),
    ];
    let values = rows
        .iter()
        .map(|(kernel, probe, ..)| vec![Some((*kernel).to_owned()), Some((*probe).to_owned())]);
    let mut matrix = Matrix::new(None, vec!["kernel".into(), "probe".into()], values);
    for (place, (.., core, max)) in rows.into_iter().enumerate() {
        let mut recorded = Synthetic::idle().threads(1).samples(&[max - 9_000, max]).build();
        if core.is_some() {
            recorded.document.probe.name = "cobalt".into();
        }
        recorded.document.instrument.co_kernel = core;
        matrix.add(place, 1, recorded);
    }
    matrix
}

#[test]
fn a_kernel_with_a_co_kernel_is_compared_by_its_threads_on_it() {
    let matrix = three_kernels();
    assert_eq!(
        matrix.by_first_factor().unwrap(),
        "Largest latency by kernel: vanilla 42.0 µs, rt 38.0 µs, both (on Cobalt) 14.0 µs."
    );
    assert_eq!(matrix.selected(), [0, 1, 2], "drawn first");
    let note = "Of a kernel with a co-kernel, threads on the co-kernel are compared and drawn \
                first, and not those on the Linux beside it.";
    assert!(matrix.text(English).replace('\n', " ").contains(note), "{}", matrix.text(English));
    let by = matrix.by("kernel", English).unwrap();
    let compared = |factor: &str| {
        let sets = matrix.alike_by(factor, English).unwrap();
        let names = |set: &AlikeRows<'_>| {
            let names = set.rows.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            (names.join("; "), set.is_on_cores)
        };
        sets.iter().map(names).collect::<Vec<_>>()
    };
    assert_eq!(
        compared("kernel"),
        [("vanilla, probe=cyclic; rt, probe=cyclic; both, probe=auto".to_owned(), true)]
    );
    let (of_cores, of_linux) = by.split_once("On the Linux of each").unwrap();
    assert!(of_cores.contains("14.0") && !of_cores.contains("64.0"), "{by}");
    assert!(
        of_linux.contains("64.0") && of_linux.contains("42.0") && !of_linux.contains("14.0"),
        "{by}"
    );
    let page = matrix.page_as_markdown("", "", None, English);
    assert!(page.contains("both, probe=auto (Cobalt, gravity 2 µs)"), "{page}");
    // The probes themselves are compared as any factor is.
    let by = matrix.by("probe", English).unwrap();
    assert!(by.contains("64.0") && by.contains("14.0"), "{by}");
    assert_eq!(compared("probe"), [("both, probe=cyclic; both, probe=auto".to_owned(), false)]);
}

/// What is the same in all rows is said once, and the figures that say least go first.
#[test]
fn a_table_fits_80_columns_by_fewer_of_them() {
    let value = |text: &str| Some(text.to_owned());
    let rows = ["hackbench,groups=10", "mem-alloc@100%", "none"]
        .map(|load| vec![value("debian:rt-amd64=6.1.0-37"), value(load), value("500us")]);
    let factors = ["kernel", "load", "interval"].map(str::to_owned).to_vec();
    let mut matrix = Matrix::new(None, factors, rows.into_iter());
    for row in 0..3 {
        for repeat in 1..=2 {
            let seed = row as u64 * 7 + u64::from(repeat);
            matrix.add(row, repeat, Synthetic::hackbench().due(20_000).seed(seed).build());
        }
    }
    let text = matrix.text(English);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let head = text.lines().find(|line| line.starts_with("load ")).unwrap();
    let names: Vec<&str> =
        head.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    let kept = ["load", "p50", "p99", "p99.9", "max", "late", "skipped"];
    assert_eq!(names, kept, "{text}");
    assert!(
        text.contains("All have kernel=debian:rt-amd64=6.1.0-37, interval=500us, caveats=steal"),
        "{text}"
    );
    let left_out = "Not shown in 80 columns: p99.99, sd, min, ";
    assert!(text.contains(left_out), "{text}");
    // Markdown and CSV have all.
    let markdown = matrix.markdown(English);
    assert!(markdown.starts_with("| kernel | load | interval | caveats | "), "{markdown}");
    let by = matrix.by("load", English).unwrap();
    assert!(by.lines().all(|line| line.chars().count() <= 80), "{by}");
}

/// Their texts were cut until no row was like itself, and still wider than a terminal.
#[test]
fn factors_that_do_not_fit_are_numbered_below() {
    let factors = ["kernel", "append", "load", "interval"].map(str::to_owned).to_vec();
    let value = |text: &str| Some(text.to_owned());
    let row = |[append, load, interval]: [&str; 3]| {
        let append = format!("isolcpus=managed_irq,domain,2-3 mitigations={append}");
        vec![value("6.1.0-56-rt"), Some(append), value(load), value(interval)]
    };
    let rows = ["off", "auto"].into_iter().flat_map(|append| {
        let loads = ["hackbench,groups=10,pipe", "hackbench,groups=20,pipe"].into_iter();
        loads.flat_map(move |load| ["250us", "500us"].map(|interval| row([append, load, interval])))
    });
    let mut matrix = Matrix::new(None, factors, rows);
    for row in 0..8 {
        let seed = row as u64;
        matrix.add(row, 1, Synthetic::hackbench().due(2_000).seed(seed).build());
    }
    let text = matrix.text(English);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("#  ")).collect();
    assert!(lines[0].contains(" p99 ") && lines[2].starts_with("2  "), "{text}");
    let named = "  8: append=isolcpus=managed_irq,domain,2-3 mitigations=auto,\n    \
                 hackbench,groups=20,pipe, interval=500us\n";
    assert!(text.contains(named) && text.contains("All have kernel=6.1.0-56-rt, "), "{text}");
    let by = matrix.by("interval", English).unwrap();
    assert!(by.lines().all(|line| line.chars().count() <= 80), "{by}");
    // By the numbers of that table, of the combinations with the first value.
    assert!(by.starts_with("#  ") && !by.contains("\n  2: "), "{by}");
    let named = "\n  7: append=isolcpus=managed_irq,domain,2-3 mitigations=auto,\n    \
                 load=hackbench,groups=20,pipe";
    assert!(by.contains(named), "{by}");
}
