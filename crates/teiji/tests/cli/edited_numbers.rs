// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every number of a document from a stranger, as large and as small as it can be, in all threads:
//! whoever reads it refuses it or shows it. Nothing panics, and as sums are checked in a test
//! build, none wraps.

use crate::support::is_whole;
use plan::Limit;
use recording::{Recording, verify};
use report::{
    ChartOptions, Comparisons, GateReport, Inference, Language, Matrix, Paint, Repeats, Report,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// With a warning of every kind.
const WARNINGS: &str = include_str!("../../../../fuzz/corpus/run_json/warnings.json");
/// Two threads of which a histogram is left, so that there is nothing beside the document.
fn document(probe: &str) -> Value {
    let mut document: Value = serde_json::from_str(WARNINGS).unwrap();
    let threads = document["threads"].as_array_mut().unwrap();
    threads[0]["detail"] = json!("histogram");
    threads[0]["smis"] = json!({"count": 3});
    threads[0]["polling"] =
        json!({"polled_ns": 900_000_000, "readings": 40_000_000, "resolution_ns": 20});
    threads.push(threads[0].clone());
    document["host"]["processes"] = json!({
        "own_ms": 120, "others_ms": 50, "kernel_ms": 70,
        "busiest": [
            {"pid": 1, "name": "init", "cpu_ms": 40, "kernel_thread": false},
            {"pid": 2, "name": "kthreadd", "cpu_ms": 10, "kernel_thread": true},
        ],
    });
    document["run"]["probe"] = json!(probe);
    if probe == "cyclic" {
        let reached = json!({"mean": 30.0, "worst_second": 29.0});
        document["run"]["loads"] = json!(["cpu@30%"]);
        document["load"] = json!([{
            "spec": "cpu@30%", "requested": 30.0, "reached": reached, "cpus": [0, 1],
            "rate": {"iterations_per_s": 7e7}, "tasks": 2,
            "nice": 0, "settled_after_ns": 400_000_000, "alive": true, "off_target": false,
            "course": [[400_000_000, 30.0], [500_000_000, 29.0]],
            "per_cpu": [
                {"cpu": 0, "reached": reached, "machine_busy": 45.0},
                {"cpu": 1, "reached": reached, "machine_busy": 52.0},
            ],
        }]);
    } else {
        let column = |name: &str, unit: &str| json!({"name": name, "unit": unit, "meaning": "it"});
        document["probe"] = json!({
            "name": probe, "rows": "events",
            "columns": [column("gap_ns", "ns"), column("missed", "1")], "overrun_column": null,
            "clock": "CLOCK_MONOTONIC", "measuring_point": "here",
        });
    }
    document
}

/// The places of numbers, those that differ in an index or a key of many as one.
fn places(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Number(_) => drop(found.insert(at.to_owned())),
        Value::Array(list) => list.iter().for_each(|one| places(one, &format!("{at}/*"), found)),
        Value::Object(fields) => fields.iter().for_each(|(key, one)| {
            let key = if key.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { key };
            places(one, &format!("{at}/{key}"), found);
        }),
        _ => {}
    }
}

/// The same with another number in all these places.
fn with(value: &Value, at: &str, place: &str, number: &Value) -> Value {
    match value {
        Value::Number(_) if at == place => number.clone(),
        Value::Array(list) => {
            list.iter().map(|one| with(one, &format!("{at}/*"), place, number)).collect()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(key, one)| {
                let name = if key.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { key };
                (key.clone(), with(one, &format!("{at}/{name}"), place, number))
            })
            .collect(),
        _ => value.clone(),
    }
}

/// Reads it and shows it in every way: how much there was to say, and nothing where it was refused.
fn read(folder: &Path) -> usize {
    let limits: Vec<Limit> = [
        "max<1s",
        "mean<1s",
        "p99.9<1s@95%",
        "rate(>1ms)<0.1@95%",
        "skipped==0",
        "late==0",
        "lost==0",
        "sd<1s",
        "peak-to-peak<1s",
    ]
    .iter()
    .map(|limit| limit.parse().unwrap())
    .collect();
    let exact = Limit::exact_request(&limits);
    let open = || Recording::open(folder);
    let Ok((recorded, inferences)) =
        open().and_then(|one| one.analyse(&exact, Inference::from_analysis))
    else {
        return 0;
    };
    let Ok((examined, _)) = open().and_then(|one| one.examine(&exact, |_| ())) else { return 0 };
    let mut said = verify(&recorded).len() + judge::incomplete(&recorded).iter().count();
    let recordings = vec![recorded.clone(), recorded.clone()];
    let inferences = [inferences, Vec::new()];
    let options = ChartOptions::default();
    let report = Report::new(&recordings, &inferences, &options);
    let mut matrix =
        Matrix::new(None, vec!["kernel".to_owned()], [vec![Some("a".to_owned())]].into_iter());
    matrix.add(0, 0, recorded.clone());
    let mut other = recorded;
    other.document.started_at = "2020-01-01T00:00:00Z".to_owned();
    matrix.add(0, 1, other);
    let texts = [
        report.terminal_summary(Paint::Plain, Language::English),
        report.terminal_inference(Language::English),
        report.html("teiji report", Language::English),
        report::side_by_side(&recordings, Language::English),
        report::threads_csv(&recordings),
        GateReport::judge(&limits, std::slice::from_ref(&examined)).text(Language::English),
        matrix.text(Language::English),
        matrix.csv(),
        matrix.json().to_string(),
    ];
    said += texts.iter().map(String::len).sum::<usize>();
    let again = open().and_then(|one| one.examine(&exact, |_| ())).unwrap().0;
    let groups = [Repeats::new(vec![examined]), Repeats::new(vec![again])];
    if let Ok(compared) = Comparisons::new(&groups, true, Language::English) {
        said += compared.text(Language::English).len() + compared.json().to_string().len();
    }
    said
}

#[test]
fn numbers_at_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let write = |document: &Value| {
        std::fs::write(folder.path().join("run.json"), document.to_string()).unwrap()
    };
    let mut broken = Vec::new();
    for probe in ["cyclic", "noise"] {
        let document = document(probe);
        write(&document);
        assert!(
            read(folder.path()) > 0,
            "{probe}: {:?}",
            Recording::open(folder.path()).and_then(Recording::summarise).err()
        );
        let mut found = BTreeSet::new();
        places(&document, "", &mut found);
        // The rest is that of the first.
        found.retain(|place| probe == "cyclic" || place.starts_with("/threads"));
        let numbers = [json!(u64::MAX), json!(i64::MAX), json!(i64::MIN)];
        for (index, place) in found.iter().enumerate() {
            // One of them at each place, unless nothing is to be left out.
            let one = index % numbers.len();
            for number in if is_whole() { &numbers[..] } else { &numbers[one..=one] } {
                write(&with(&document, "", place, number));
                if catch_unwind(AssertUnwindSafe(|| read(folder.path()))).is_err() {
                    broken.push(format!("{probe}: {place} = {number}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}:\n{}", broken.len(), broken.join("\n"));
}
