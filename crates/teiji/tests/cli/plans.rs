// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans: every run recorded once, whatever happens meanwhile.

use crate::support::{Place, alone, soon};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 24 runs of a fifth of a second.
const PLAN: &str = "title = \"Twenty-four\"\n[measure]\nsamples = 100\nwarmup = '20ms'\n[vary]\ninterval = ['1ms', '2ms']\n\
                    load = ['none', 'cpu@20%']\ndistance = ['0us', '10us']\n[order]\nrepeat = 3\nshuffle = true\n";

/// The recordings of a folder, in order.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect())
        .unwrap_or_default();
    found.sort();
    found
}

/// Every file below, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// 24 recordings, each whole, of each combination as many as there are repeats.
fn assert_all_there(place: &Place) {
    let all = recordings(&place.join("out"));
    assert_eq!(all.len(), 24, "{all:?}");
    let mut labels: BTreeMap<String, u32> = BTreeMap::new();
    for path in &all {
        let name = path.strip_prefix(place.path()).unwrap().display().to_string();
        assert_eq!(place.document(&name).text("/state"), "complete", "{name}");
        *labels.entry(place.document(&name).text("/run/title").to_owned()).or_default() += 1;
    }
    assert_eq!(labels.len(), 8, "{labels:?}");
    assert!(labels.values().all(|count| *count == 3), "{labels:?}");
    place.well(&format!("verify {}", all[0].display()));
}

fn begun() -> Place {
    let place = Place::new();
    std::fs::write(place.join("plan.toml"), PLAN).unwrap();
    place
}

/// Ends a plan by a signal while its seventh run goes on, and goes on with it.
fn ended_in_the_seventh(signal: Signal) {
    let _turn = alone();
    let place = begun();
    let running = place.start("run plan.toml -q -o out");
    soon("seven recordings", Duration::from_secs(30), || recordings(&place.join("out")).len() == 7);
    let before: Vec<_> = recordings(&place.join("out"))[..6].iter().map(|path| contents(path)).collect();
    running.signal(signal);
    let said = running.end();
    if signal == Signal::KILL {
        assert_eq!(said.code, None);
    } else {
        assert_eq!(said.code, Some(4), "{said:?}");
        assert!(said.err.contains("to go on: teiji run --resume out"), "{said:?}");
    }
    let said = place.well("run --resume out -q");
    assert!(said.out.contains("24 runs recorded, in out/"), "{said:?}");
    assert_all_there(&place);
    let after: Vec<_> = recordings(&place.join("out"))[..6].iter().map(|path| contents(path)).collect();
    assert!(before == after, "runs that were done are as they were");
}

#[test]
fn killed_in_the_seventh_of_24_runs() {
    ended_in_the_seventh(Signal::KILL);
}

#[test]
fn interrupted_in_the_seventh_of_24_runs() {
    ended_in_the_seventh(Signal::INT);
}

#[test]
fn nothing_is_left_to_do() {
    let _turn = alone();
    let place = Place::new();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 20\n[vary]\nprio = [10, 20]\n").unwrap();
    place.well("run plan.toml -q -o out");
    let before = place.listing();
    let said = place.well("run --resume out -q");
    assert!(said.out.contains("2 of 2 runs recorded"), "{said:?}");
    assert_eq!(place.listing(), before);

    let table = place.well("show out").out;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    // A busy machine may skip some of them; n is what woke.
    let most = 20 * crate::support::cpus().len();
    assert_eq!(rows[0][..2], ["prio", "n"], "{table}");
    for (row, prio) in [(&rows[1], "10"), (&rows[2], "20")] {
        assert_eq!(row[0], prio, "{table}");
        assert!((1..=most).contains(&row[1].parse().unwrap()), "{table}");
    }
    std::fs::remove_dir_all(&recordings(&place.join("out"))[1]).unwrap();
    let csv = place.well("show out --csv").out;
    assert!(csv.contains("\r\n20,0,1,,,,"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&place.well("show out --json").out).unwrap();
    assert_eq!(json["missing_runs"], 1);
    assert!(place.well("show out --md").out.contains("| 20 | 0 of 1 | – |"));
}

/// Under 1 ms and no load, whatever the kernel and the rights, there are two documents to stand beside.
#[test]
fn published_figures_and_the_page() {
    let _turn = alone();
    let place = Place::new();
    let text = "[measure]\nsamples = 20\ninterval = '1ms'\n[vary]\nload = ['none', 'cpu@33%']\n[limits]\nmax = '1ns'\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    place.well("run plan.toml -q -o out");
    let json: serde_json::Value = serde_json::from_str(&place.well("show out --json --beside published").out).unwrap();
    let sources = |place: usize| -> Vec<String> {
        let published = json["combinations"][place]["published"].as_array().unwrap();
        published.iter().map(|run| run["source"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((sources(0).len(), sources(1).len()), (2, 0), "{json}");
    assert!(sources(0)[0].contains("Toshiba"), "{json}");
    assert_eq!(json["combinations"][0]["beyond"], serde_json::json!(["max"]));
    let csv = place.well("show out --csv --beside published").out;
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let own = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,min_us,avg_us,max_us,sd_us,overruns\n\
               Mine,,board,6.1,none,,cpu,33,1000,,,1.5,2,,\nMine,,board,6.1,PREEMPT_RT,,cpu,33,1000,,,1.5,2,,\n";
    std::fs::write(place.join("own.csv"), own).unwrap();
    assert!(place.well("show out --md --beside own.csv").out.contains("| 1.5 | 2 | [1] |"));

    let said = place.well("report out --beside published -o page.html --svg charts").out;
    assert!(said.contains("(the largest of 2 maxima)") && said.ends_with("Report: page.html\n"), "{said}");
    let page = std::fs::read_to_string(place.join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">their mean</th>") && page.contains("cpu@33%"));
    let charts = |name: &str| std::fs::read_to_string(place.join("charts").join(name)).is_ok_and(|svg| svg.starts_with("<svg "));
    assert!(charts("histogram.svg") && charts("latency-over-time.svg") && charts("exceedance.svg") && !charts("heat-map.svg"));
}

#[test]
fn a_run_that_fails_is_tried_again_and_the_rest_goes_on() {
    let _turn = alone();
    let place = Place::new();
    std::fs::write(place.join("vmlinuz"), "no kernel at all").unwrap();
    let text = "[measure]\nsamples = 20\n[vary]\nprio = [10]\n[[include]]\nkernel = 'vmlinuz'\n\
                [[include]]\nkernel = 'vmlinuz'\ncpus = '7'\n[order]\nrepeat = 2\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let said = place.teiji("run plan.toml -q -o out");
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.contains("2 of 6 runs recorded"), "{said:?}");
    assert_eq!(said.err.matches("error: run 2 of 6, kernel=").count(), 2, "{said:?}");
    assert_eq!(said.err.matches("is no kernel that can be booted").count(), 4, "{said:?}");
    assert_eq!(said.err.matches("CPU 7 cannot be used").count(), 4, "{said:?}");
    assert!(said.err.contains("4 runs failed twice"), "{said:?}");
    assert_eq!(recordings(&place.join("out")).len(), 2);
}

/// What a power cut may leave: a document without content, samples without their end, half a plan.
#[test]
fn after_a_power_cut() {
    let _turn = alone();
    let place = Place::new();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 20\n[vary]\nprio = [10, 20, 30]\n").unwrap();
    place.well("run plan.toml -q -o out");
    let all = recordings(&place.join("out"));
    let untouched = contents(&all[2]);
    std::fs::write(all[0].join("run.json"), "").unwrap();
    let samples = all[1].join("samples-0.arrows");
    let bytes = std::fs::read(&samples).unwrap();
    std::fs::write(&samples, &bytes[..bytes.len() - 20]).unwrap();
    std::fs::create_dir(place.join("out/03-x.teiji.part-123")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&place.well("show out --json").out).unwrap();
    assert_eq!(json["missing_runs"], 2);
    place.well("run --resume out -q");
    assert_eq!(recordings(&place.join("out")), all);
    for path in &all {
        place.well(&format!("verify {}", path.display()));
    }
    assert!(contents(&all[2]) == untouched);

    std::fs::write(place.join("out/plan.toml"), "").unwrap();
    let said = place.teiji("run --resume out");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("has no seed: it was cut off"), "{said:?}");
}

/// Two names of one kernel would be two rows of one combination, and a plan that cannot be read back.
#[test]
fn one_kernel_under_two_names() {
    let place = Place::new();
    std::fs::write(place.join("vmlinuz"), "no kernel at all").unwrap();
    std::fs::write(place.join("plan.toml"), "[vary]\nkernel = ['vmlinuz', './vmlinuz']\n").unwrap();
    let said = place.teiji("run plan.toml -o out");
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("stands there already"), "{said:?}");
    assert!(!place.join("out").exists());
}

/// The plans that come along are read and checked as far as this machine can; one waits for a probe.
#[test]
fn the_projects_own_plans() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans"));
    let place = Place::new();
    let mut said = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "rtc-jitter" {
            let refused = place.teiji(&format!("run --dry-run {}", path.display()));
            assert_eq!(refused.code, Some(2), "{refused:?}");
            assert!(refused.err.contains("there is no probe 'rtc' yet"), "{refused:?}");
            continue;
        }
        for form in ["", "--quick"] {
            let out = place.well(&format!("run --dry-run {form} {}", path.display())).out;
            said.insert(format!("{name}{form}"), out.lines().find(|line| line.contains(" of ")).unwrap().to_owned());
        }
    }
    assert!(said["toshiba-memory"].starts_with("54 runs of 54 combinations; 54.1 min of time in guests"), "{said:?}");
    assert!(said["toshiba-memory--quick"].starts_with("54 runs of 54 combinations; "), "{said:?}");
    assert!(said["desktop-4.19"].starts_with("8 runs of 8 combinations; "), "{said:?}");
    assert_eq!(said.len(), 8, "{said:?}");
}

#[test]
fn a_dry_run_carries_out_nothing() {
    let place = begun();
    let before = place.listing();
    let said = place.well("run --dry-run plan.toml");
    assert!(said.out.contains("24 runs of 8 combinations; "), "{said:?}");
    assert_eq!(said.out.lines().filter(|line| line.contains("repeat 3")).count(), 8, "{said:?}");
    assert_eq!(place.listing(), before);
}
