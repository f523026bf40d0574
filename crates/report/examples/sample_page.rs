// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a page and its SVG files from recordings that nobody measured, to look at: `cargo run -p
//! report --example sample_page -- FOLDER`.

mod synthetic;

use report::Language::English;
use std::path::PathBuf;
use synthetic::Synthetic;

fn summary(recorded: &model::Recorded) -> String {
    let options = report::ChartOptions::default();
    report::Report::new(std::slice::from_ref(recorded), &[], &options)
        .terminal_summary(report::Paint::Plain, English)
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let recordings =
        [Synthetic::idle().with_jitter().build(), Synthetic::hackbench().with_jitter().build()];
    let options = report::ChartOptions::default();
    let command = "teiji report idle.teiji hackbench.teiji -o report.html";
    std::fs::write(
        folder.join("report.html"),
        report::Report::new(&recordings, &[], &options).html(command, English),
    )?;
    for (name, svg) in report::Report::new(&recordings, &[], &options).svg_charts(English) {
        std::fs::write(folder.join(name), svg)?;
    }
    let limited: Vec<plan::Limit> = ["max<200us", "p99<1ms", "rate(>300us)<0.0001@95%"]
        .iter()
        .filter_map(|text| text.parse().ok())
        .collect();
    let judged = |limit: &plan::Limit, verdict| judge::Judged {
        criterion: judge::Criterion::Limit(limit.clone()),
        recording: "idle.teiji".into(),
        rows: model::RowKind::Activations,
        quantity: model::Quantity::Latency,
        verdict,
        seen: judge::Seen::Latency { ns: 201_317, between: None, thread: Some(1) },
        margin: Some(-0.0066),
        lacking: None,
    };
    let mut gate = judge::Gate::default();
    let verdicts = [judge::Verdict::Fail, judge::Verdict::Pass, judge::Verdict::NotEnough];
    gate.judged.extend(limited.iter().zip(verdicts).map(|(limit, verdict)| judged(limit, verdict)));
    let others = report::ChartOptions {
        bin: Some(plan::Nanos(1_000)),
        heights: Some(report::Heights::Shares),
        over_time: report::OverTime::Jitter,
        overlay: true,
        limits: limited,
        gate,
        ..report::ChartOptions::default()
    };
    std::fs::write(
        folder.join("limits.html"),
        report::Report::new(&recordings, &[], &others).html(command, English),
    )?;
    let japanese =
        report::Report::new(&recordings, &[], &others).html(command, report::Language::Japanese);
    std::fs::write(folder.join("japanese.html"), japanese)?;
    for (name, svg) in report::Report::new(&recordings, &[], &others).svg_charts(English) {
        std::fs::write(folder.join(format!("limits-{name}")), svg)?;
    }
    // As a kernel in the lab: most within a tenth of a microsecond.
    let narrow: Vec<i32> = (0..4_000).map(|n| 3_500 + n * 7 % 90 + n % 200 / 199 * 900).collect();
    let narrow = [Synthetic::idle().title("narrow").threads(1).samples(&narrow).build()];
    std::fs::write(
        folder.join("narrow.html"),
        report::Report::new(&narrow, &[], &options).html(command, English),
    )?;
    for recorded in &recordings {
        std::fs::write(folder.join(format!("{}.txt", recorded.name())), summary(recorded))?;
        std::fs::write(
            folder.join(format!("{}.run.json", recorded.name())),
            serde_json::to_string(&recorded.document)?,
        )?;
    }
    std::fs::write(
        folder.join("verdict.txt"),
        report::Report::new(&recordings, &[], &options).headline(report::Paint::Plain, English),
    )?;

    let many: Vec<_> = (0..8)
        .map(|n| {
            Synthetic::hackbench()
                .title(&format!("kernel {n}"))
                .seed(n)
                .threads(64)
                .due(4_096)
                .build()
        })
        .collect();
    std::fs::write(
        folder.join("many.html"),
        report::Report::new(&many, &[], &options).html(command, English),
    )?;

    let mut loads =
        Synthetic::hackbench().title("two loads").load("cpu@50%,cpus=0-1").due(60_000).build();
    let mut crowded = Synthetic::hackbench().title("crowded").threads(24).due(20_000).build();
    for level in 1..=9 {
        let mut load = Synthetic::idle()
            .threads(24)
            .load("cpu@50%,nice=3")
            .due(20_000)
            .seed(level)
            .build()
            .document
            .load
            .remove(0);
        load.course.iter_mut().for_each(|(_, percent)| *percent += 9.0 * level as f64 - 45.0);
        crowded.document.load.push(load);
    }
    std::fs::write(
        folder.join("crowded.html"),
        report::Report::new(&[crowded], &[], &options).html(command, English),
    )?;
    let mut off_target =
        Synthetic::idle().title("missed").load("memory@80%").threads(1).due(60_500).build();
    off_target.document.load_off_target = true;
    off_target.document.load[0].off_target = true;
    off_target.document.load[0].reached = Some(model::Reached { mean: 61.3, worst_second: 20.4 });
    off_target.document.load[0]
        .course
        .iter_mut()
        .skip(20)
        .take(16)
        .for_each(|(_, percent)| *percent -= 55.0);
    loads.document.load[1].alive = false;
    loads.document.load[1].course.truncate(42);
    std::fs::write(folder.join("loads.txt"), summary(&off_target))?;
    let of_loads = [loads, off_target, Synthetic::idle().due(60_000).build()];
    std::fs::write(
        folder.join("loads.html"),
        report::Report::new(&of_loads, &[], &options).html(command, English),
    )?;
    for (name, svg) in report::Report::new(&of_loads, &[], &options).svg_charts(English) {
        std::fs::write(folder.join(format!("loads-{name}")), svg)?;
    }

    let mut with_caveats = Synthetic::idle()
        .title("a rather long title for </script> a recording that was cut off")
        .threads(1)
        .build();
    with_caveats.document.state = model::State::Running;
    with_caveats.document.host.after = None;
    with_caveats.document.instrument.real_time = false;
    with_caveats.document.threads[0].scheduling = plan::Scheduling::OTHER;
    synthetic::lose_samples(&mut with_caveats.document.threads[0], 12);
    with_caveats.document.warnings = vec![synthetic::no_real_time()];
    std::fs::write(
        folder.join("caveats.html"),
        report::Report::new(&[with_caveats], &[], &options).html(command, English),
    )
}
