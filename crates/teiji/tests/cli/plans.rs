// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans: every run recorded once, whatever happens meanwhile.

use crate::support::{TestFolder, beside_others, soon};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// 24 runs of a fifth of a second.
const PLAN: &str = "title = \"Twenty-four\"\n[measure]\nsamples = 100\nwarmup = '20ms'\nsettle = \
                    '0s'\n[vary]\ninterval = ['1ms', '2ms']\nload = ['none', 'cpu@20%']\ndistance \
                    = ['0us', '10us']\n[order]\nrepeat = 3\nshuffle = true\n";

/// The recordings of a folder, in order.
fn recordings(folder: &Path) -> Vec<PathBuf> {
    let is_recording =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "teiji");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.map(|entry| entry.unwrap().path()).filter(is_recording).collect())
        .unwrap_or_default();
    found.sort();
    found
}

/// Every file below, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

/// Recordings of runs that did not come to their end.
fn kept(place: &TestFolder) -> Vec<PathBuf> {
    recordings(&place.join("out/incomplete"))
}

/// 24 recordings, each whole, of each combination as many as there are repeats.
fn assert_all_there(place: &TestFolder) {
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

fn begun() -> TestFolder {
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), PLAN).unwrap();
    place
}

/// Ends a plan by a signal while its seventh run goes on, and goes on with it.
fn ended_in_the_seventh(signal: Signal) {
    let _turn = beside_others();
    let place = begun();
    let running = place.start("run plan.toml -q -o out");
    soon("seven recordings", || recordings(&place.join("out")).len() == 7);
    let before: Vec<_> =
        recordings(&place.join("out"))[..6].iter().map(|path| contents(path)).collect();
    running.signal(signal);
    let output = running.end();
    if signal == Signal::KILL {
        assert_eq!(output.code, None);
    } else {
        assert_eq!(output.code, Some(4), "{output:?}");
        assert!(output.err.contains("Resume with teiji run --resume out"), "{output:?}");
    }
    let output = place.well("run --resume out -q");
    assert!(output.out.contains("24 runs recorded, in out/"), "{output:?}");
    assert_all_there(&place);
    let after: Vec<_> =
        recordings(&place.join("out"))[..6].iter().map(|path| contents(path)).collect();
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
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 20\n[vary]\nprio = [10, 20]\n")
        .unwrap();
    place.well("run plan.toml -q -o out");
    let before = place.listing();
    let output = place.well("run --resume out -q");
    assert!(output.out.contains("2 of 2 runs recorded"), "{output:?}");
    assert_eq!(place.listing(), before);

    let table = place.well("show out").out;
    assert!(table.starts_with("Worst wake-up ") && table.contains("\nprio  "), "{table}");
    let csv = place.well("show out --csv").out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let n = rows[0].iter().position(|name| *name == "n").unwrap();
    // A busy machine may skip some of them; n is what woke.
    let max = 20 * crate::support::cpus().len();
    for (row, prio) in [(1, "10"), (2, "20")] {
        assert_eq!(rows[row][0], prio, "{csv}");
        let mut shown = table.lines().skip_while(|line| !line.starts_with("prio  "));
        assert!(shown.nth(row).is_some_and(|line| line.starts_with(prio)), "{table}");
        assert!((1..=max).contains(&rows[row][n].parse().unwrap()), "{csv}");
    }
    std::fs::remove_dir_all(&recordings(&place.join("out"))[1]).unwrap();
    let csv = place.well("show out --csv").out;
    assert!(csv.contains("\r\n20,,,0,1,,,,"), "{csv}");
    let json: serde_json::Value = serde_json::from_str(&place.well("show out --json").out).unwrap();
    assert_eq!(json["missing_runs"], 1);
    assert!(place.well("show out --md").out.contains(" | 0 of 1 | – |"));
}

/// Under 1 ms and no load, whatever the kernel and the rights, there are two documents to stand
/// beside.
#[test]
fn published_figures_and_the_page() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "[measure]\nsamples = 20\ninterval = '1ms'\n[vary]\nload = ['none', \
                'cpu@33%']\n[limits]\nmax = '1ns'\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let output = place.well("run plan.toml -q -o out").out;
    assert!(
        output.contains(
            "\n✗ Fail: 2 of 2 combinations, checked against 1 limit\nNext: teiji gate out\n"
        ),
        "{output}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show out --json --beside published").out).unwrap();
    let sources = |place: usize| -> Vec<String> {
        let published = json["combinations"][place]["published"].as_array().unwrap();
        published.iter().map(|run| run["source"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((sources(0).len(), sources(1).len()), (2, 0), "{json}");
    assert!(sources(0)[0].contains("Toshiba"), "{json}");
    assert_eq!(json["combinations"][0]["beyond"], serde_json::json!(["max"]));
    let csv = place.well("show out --csv --beside published").out;
    assert_eq!(csv.lines().count(), 4, "{csv}");
    let own = "source,year,hardware,kernel,patch,policy,load,load_pct,period_us,samples,min_us,\
               avg_us,max_us,sd_us,overruns\nMine,,board,6.1,none,,cpu,33,1000,,,1.5,2,,\nMine,,\
               board,6.1,PREEMPT_RT,,cpu,33,1000,,,1.5,2,,\n";
    std::fs::write(place.join("own.csv"), own).unwrap();
    assert!(place.well("show out --md --beside own.csv").out.contains("| 1.5 | 2 | [1] |"));

    let output = place.well("report out --beside published -o page.html --svg charts").out;
    assert!(
        output.contains("(the worst of 2 combinations)")
            && output.contains("\nReport: page.html\n"),
        "{output}"
    );
    let page = std::fs::read_to_string(place.join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">their mean</th>") && page.contains("cpu@33%"));
    let charts = |name: &str| {
        std::fs::read_to_string(place.join("charts").join(name))
            .is_ok_and(|svg| svg.starts_with("<svg "))
    };
    assert!(
        charts("histogram.svg")
            && charts("latency-over-time.svg")
            && charts("exceedance.svg")
            && !charts("heat-map.svg")
    );

    // A limit is held against every run of the plan.
    let output = place.teiji("show out --limit max<1ns");
    assert_eq!(
        (output.code, output.out.starts_with("FAIL: 2 of 2 recordings, checked against 1 limit\n")),
        (Some(1), true),
        "{output:?}"
    );
    let output = place.teiji("report out --limit max<1ns -o page.html --svg charts");
    assert_eq!(
        (output.code, output.out.contains("FAIL: 2 of 2 recordings, checked against 1 limit")),
        (Some(1), true),
        "{output:?}"
    );
    assert!(place.read("page.html").contains("✗ Fail: 2 of 2 recordings, checked against 1 limit"));
    assert!(place.read("charts/histogram.svg").contains("✗ max&lt;1ns</text>"));
}

#[test]
fn a_run_that_fails_is_tried_again_and_the_rest_goes_on() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("vmlinuz"), "no kernel at all").unwrap();
    let text = "[measure]\nsamples = 20\n[vary]\nprio = [10]\n[[include]]\nkernel = \
                'vmlinuz'\n[[include]]\nkernel = 'vmlinuz'\ncpus = '7'\n[order]\nrepeat = 2\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let output = place.teiji("run plan.toml -q -o out");
    assert_eq!(output.code, Some(4), "{output:?}");
    assert!(output.out.contains("2 of 6 runs recorded"), "{output:?}");
    assert_eq!(output.err.matches("error: run 2 of 6, kernel=").count(), 2, "{output:?}");
    assert_eq!(output.err.matches("is not a bootable kernel").count(), 4, "{output:?}");
    assert_eq!(output.err.matches("CPU 7 cannot be used").count(), 4, "{output:?}");
    assert!(output.err.contains("4 runs failed twice"), "{output:?}");
    assert_eq!(recordings(&place.join("out")).len(), 2);
}

/// What a power cut may leave: a document without content, samples without their end, half a plan.
#[test]
fn after_a_power_cut() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nsamples = 20\n[vary]\nprio = [10, 20, 30]\n",
    )
    .unwrap();
    place.well("run plan.toml -q -o out");
    let all = recordings(&place.join("out"));
    let untouched = contents(&all[2]);
    std::fs::write(all[0].join("run.json"), "").unwrap();
    let json: serde_json::Value = serde_json::from_str(&place.well("show out --json").out).unwrap();
    assert_eq!(json["missing_runs"], 1);
    let samples = all[1].join("samples-0.arrows");
    let bytes = std::fs::read(&samples).unwrap();
    std::fs::write(&samples, &bytes[..bytes.len() - 20]).unwrap();
    let killed_early = PathBuf::from(format!("{}.part-123", all[1].display()));
    std::fs::create_dir(&killed_early).unwrap();
    place.well("run --resume out -q");
    assert!(recordings(&place.join("out")) == all && !killed_early.exists());
    for path in &all {
        place.well(&format!("verify {}", path.display()));
    }
    assert!(contents(&all[2]) == untouched);
    // What a machine recorded before it went down may say why it did.
    assert_eq!(
        std::fs::read(kept(&place)[1].join("samples-0.arrows")).unwrap(),
        &bytes[..bytes.len() - 20]
    );

    std::fs::write(place.join("out/plan.toml"), "").unwrap();
    let output = place.teiji("run --resume out");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("has no seed: it was cut off"), "{output:?}");
}

/// As the guard ends it that found the machine starved.
#[test]
fn a_run_that_was_ended_by_the_guard_is_kept() {
    let _turn = beside_others();
    let place = TestFolder::new();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 20\n[vary]\nprio = [10, 20]\n")
        .unwrap();
    place.well("run plan.toml -q -o out");
    let name = "out/01-prio=10.teiji";
    let mut document = place.document(name).0;
    document["state"] = "stopped".into();
    document["end"] = serde_json::json!({ "reason": "guard", "starved_ns": 5_000_000_000_i64 });
    std::fs::write(place.join(name).join("run.json"), document.to_string()).unwrap();
    let evidence = contents(&place.join(name));

    let output = place.well("run --resume out -q");
    assert!(output.out.contains("2 of 2 runs recorded"), "{output:?}");
    assert_eq!(place.document(name).text("/state"), "complete");
    assert_eq!(kept(&place).len(), 1, "{output:?}");
    let files = |of: &BTreeMap<PathBuf, Vec<u8>>| of.values().cloned().collect::<Vec<_>>();
    assert!(files(&contents(&kept(&place)[0])) == files(&evidence), "kept as it was");
    assert!(output.err.contains("kept in out/incomplete/01-prio=10.teiji"), "{output:?}");
    let table = place.well("show out").out;
    assert!(table.contains("1 recording of incomplete runs"), "{table}");
    // Once more, and nothing takes the place of the first.
    std::fs::write(place.join(name).join("run.json"), document.to_string()).unwrap();
    place.well("run --resume out -q");
    assert_eq!(kept(&place).len(), 2);
}

/// Two names of one kernel would be two rows of one combination, and a plan that cannot be read
/// back.
#[test]
fn one_kernel_under_two_names() {
    let place = TestFolder::new();
    std::fs::write(place.join("vmlinuz"), "no kernel at all").unwrap();
    std::fs::write(place.join("plan.toml"), "[vary]\nkernel = ['vmlinuz', './vmlinuz']\n").unwrap();
    let output = place.teiji("run plan.toml -o out");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("is listed already"), "{output:?}");
    assert!(!place.join("out").exists());
}

/// The plans that come along are read and checked as far as this machine can.
#[test]
fn the_projects_own_plans() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans"));
    let place = TestFolder::new();
    let mut output = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for form in ["", "--quick"] {
            let dry = place.teiji(&format!("run --dry-run {form} {}", path.display()));
            // Whether an emulator and a program for its guests are here is this machine's matter.
            let said = dry.err.lines().find(|line| !line.starts_with("Left out: kernel=$TEIJI_"));
            assert!(
                dry.code == Some(0)
                    || said.is_some_and(|line| line.starts_with("error: it cannot run here: ")),
                "{dry:?}"
            );
            output.insert(
                format!("{name}{form}"),
                dry.out.lines().find(|line| line.contains(" of ")).unwrap().to_owned(),
            );
        }
    }
    assert!(
        output["toshiba-memory"]
            .starts_with("54 runs of 54 combinations; 54.5 min of time in guests"),
        "{output:?}"
    );
    assert!(
        output["toshiba-memory--quick"].starts_with("54 runs of 54 combinations; "),
        "{output:?}"
    );
    assert!(output["desktop-4.19"].starts_with("8 runs of 8 combinations; "), "{output:?}");
    assert!(output["rtc-jitter"].starts_with("4 runs of 4 combinations; "), "{output:?}");
    assert!(output["three-responses"].starts_with("54 runs of 54 combinations; "), "{output:?}");
    // Two more for each kernel that is given for the lab's tests.
    let given =
        ["TEIJI_COBALT_KERNEL", "TEIJI_EVL_KERNEL"].into_iter().filter_map(std::env::var_os);
    let runs = 2 + 2 * given.filter(|path| !path.is_empty()).count();
    assert!(
        output["rpi3-three-kernels"].starts_with(&format!("{runs} runs of {runs} combinations; ")),
        "{output:?}"
    );
    assert_eq!(output.len(), 14, "{output:?}");
}

/// A script that asks whether a plan can begin reads the exit code.
#[test]
fn a_dry_run_of_what_cannot_begin() {
    let place = TestFolder::new();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nkernel = 'debian:amd64'\nprogram = 'nosuch'\nsamples = 1_000\n",
    )
    .unwrap();
    let output = place.teiji("run --dry-run plan.toml");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.out.contains("1 run of 1 combination; "),
        "the list comes all the same: {output:?}"
    );
    assert!(
        output.err.starts_with(
            "error: it cannot run here: cannot read the program for the guest, nosuch"
        ),
        "{output:?}"
    );
}

#[test]
fn a_dry_run_runs_nothing() {
    let place = begun();
    let before = place.listing();
    let output = place.well("run --dry-run plan.toml");
    assert!(output.out.contains("24 runs of 8 combinations; "), "{output:?}");
    assert_eq!(
        output.out.lines().filter(|line| line.contains("repeat 3")).count(),
        8,
        "{output:?}"
    );
    assert_eq!(place.listing(), before);
}

/// What is varied names a run. One of which nothing is varied is no bare number.
#[test]
fn a_dry_run_names_each_run() {
    let place = TestFolder::new();
    let dry = |text: &str| {
        std::fs::write(place.join("plan.toml"), text).unwrap();
        let out = place.well("run --dry-run plan.toml").out;
        out.lines().take_while(|line| !line.contains("combination")).collect::<Vec<_>>().join("\n")
    };
    let measure = "[measure]\nsamples = 20\nthreads = 1\npolicy = 'fifo'\nprio = 80\n";
    assert_eq!(dry(measure), "1  settings of [measure]");
    // As docs/plans.md has policies beside one another.
    let policies = format!("{measure}[[include]]\npolicy = 'other'\nprio = 'none'\n");
    assert_eq!(dry(&policies), "1  settings of [measure]\n2  policy=other prio=none");
    let repeated = format!("{measure}[order]\nrepeat = 2\n");
    assert_eq!(
        dry(&repeated),
        "1  settings of [measure]  repeat 1\n2  settings of [measure]  repeat 2"
    );
}

/// A board's two boots: what this kernel cannot measure is missing until another is booted.
#[test]
fn two_boots_in_one_folder() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "title = 'Two boots'\n[measure]\nsamples = 20\ncpus = '0'\n[vary]\nkernel = \
                ['9.9.9-vanilla', '9.9.9-rt']\nprio = [10, 20]\n[limits]\nmax = '10s'\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let output = place.well("run --here plan.toml -q -o board").out;
    assert!(
        output.contains(
            "Still missing: kernel=9.9.9-vanilla; kernel=9.9.9-rt. Boot each, then: teiji run \
             --here plan.toml -o board"
        ),
        "{output}"
    );
    let release = rustix::system::uname().release().to_str().unwrap().to_owned();
    // That this kernel is neither of them is said before and after.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let none_of_them = format!(
        "This boot, {release}, is none that the plan asks for: kernel=9.9.9-vanilla; \
         kernel=9.9.9-rt. It is measured beside them."
    );
    let dry = place.well("run --here --dry-run plan.toml").out;
    assert!(words(&dry).ends_with(&none_of_them), "{dry}");
    let begun = place.well("run --here plan.toml -q -o other");
    assert!(words(&begun.err).contains(&none_of_them), "{begun:?}");
    std::fs::remove_dir_all(place.join("other")).unwrap();
    let title = format!("Two boots (with {release}, booted as the plan does not ask for) ");
    for shown in ["show board", &format!("show board/{release}"), "show board --md"] {
        let table = words(&place.well(shown).out);
        assert!(table.trim_start_matches("### ").starts_with(&title), "{table}");
    }
    let own = format!("board/{release}");
    assert_eq!(recordings(&place.join(&own)).len(), 2);
    // The same command measures nothing twice.
    let before = place.listing();
    place.well("run --here plan.toml -q -o board");
    place.well("run --resume board -q");
    assert_eq!(place.listing(), before);

    // The other boot, as its kernel would have recorded it.
    let other = place.join("board/9.9.9-rt");
    std::fs::create_dir(&other).unwrap();
    let rename = |text: String| text.replace(&release, "9.9.9-rt");
    for name in ["plan.toml", "index.json"] {
        std::fs::write(other.join(name), rename(place.read(&format!("{own}/{name}")))).unwrap();
    }
    for from in recordings(&place.join(&own)) {
        let to = other.join(from.file_name().unwrap());
        std::fs::create_dir(&to).unwrap();
        for (path, content) in contents(&from) {
            let content = if path.extension().is_some_and(|e| e == "json") {
                rename(String::from_utf8(content).unwrap()).into_bytes()
            } else {
                content
            };
            std::fs::write(to.join(path.file_name().unwrap()), content).unwrap();
        }
    }
    let output = place.well("run --here plan.toml -q -o board").out;
    assert!(output.contains("Still missing: kernel=9.9.9-vanilla. Boot it"), "{output}");

    // One evaluation of both, and of any mix.
    let table = place.well("show board").out;
    let rows = table.lines().skip_while(|line| !line.starts_with("kernel "));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0][..2], ["kernel", "prio"], "{table}");
    let named = |row: &Vec<&str>| format!("{} {}", row[0], row[1]);
    let mut kernels: Vec<String> = rows[1..5].iter().map(named).collect();
    kernels.sort();
    let mut expected = ["9.9.9-rt", &release]
        .map(|kernel| ["10", "20"].map(|prio| format!("{kernel} {prio}")))
        .concat();
    expected.sort();
    assert_eq!(kernels, expected, "{table}");
    let first = recordings(&place.join(&own))[0].display().to_string();
    let mixed: serde_json::Value =
        serde_json::from_str(&place.well(&format!("show board/9.9.9-rt {first} --json")).out)
            .unwrap();
    assert_eq!(mixed["combinations"].as_array().unwrap().len(), 3, "{mixed}");
    assert!(place.well("report board -o page.html").out.contains("Report: page.html"));
    assert!(place.read("page.html").contains("9.9.9-rt"));
    let compared = place.well("compare board").out;
    assert!(
        compared.contains("== prio=10 ==")
            && compared.contains("== prio=20 ==")
            && compared.contains("kernel=9.9.9-rt"),
        "{compared}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&place.well("compare board --json").out).unwrap();
    assert_eq!(
        (json.as_array().unwrap().len(), json[0]["factor"].as_str()),
        (2, Some("kernel")),
        "{json}"
    );
    // The plan's own limits, on all four; and what is not recorded does not pass.
    let output = place.teiji("gate board");
    assert_eq!((output.out.matches("  max<10s").count(), output.code), (4, Some(3)), "{output:?}");
    assert!(
        output.err.contains("no recording of 2 runs: what is not recorded cannot pass"),
        "a boot is missing: {output:?}"
    );
    // The table counts them too, and names the boot.
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show board --json").out).unwrap();
    assert_eq!(
        (&json["missing_runs"], &json["missing_boots"]),
        (&serde_json::json!(2), &serde_json::json!(["kernel=9.9.9-vanilla"]))
    );
    let shown = words(&place.well("show board").out);
    for said in [
        "✗ 2 runs of the plan without a recording, including all runs of 1 boot",
        "2 runs of the plan without a recording: boot kernel=9.9.9-vanilla. After booting: teiji \
         run --here PLAN -o DIR",
    ] {
        assert!(shown.contains(said), "{shown}");
    }
    assert_eq!(
        place.teiji(&format!("gate {own}")).code,
        Some(0),
        "one boot by itself is all that was asked for"
    );
    std::fs::remove_dir_all(&recordings(&other)[0]).unwrap();
    for gate in ["gate board", "gate board board/."] {
        let output = place.teiji(gate);
        assert_eq!(output.code, Some(3), "{output:?}");
        assert!(
            output.err.contains("no recording of 3 runs: what is not recorded cannot pass"),
            "{output:?}"
        );
    }
    // What is of another boot cannot be made in this one.
    let lacks = "1 run of the plan without a recording. They cannot be made here: they are of \
                 another boot (9.9.9-rt)";
    let shown = words(&place.well("show board/9.9.9-rt").out);
    assert!(shown.contains(lacks) && !shown.contains("--resume"), "{shown}");
    let refused = place.teiji("run --resume board/9.9.9-rt");
    assert!(
        refused.code == Some(2)
            && refused.err.contains("board/9.9.9-rt is of another boot (9.9.9-rt): boot that"),
        "{refused:?}"
    );

    // Another plan in the same folder lacks the same boot, with as many runs as it has itself.
    let third = place.join("board/third");
    std::fs::create_dir(&third).unwrap();
    let more = |text: String| text.replace("samples = \"20\"", "samples = \"21\"");
    for name in ["plan.toml", "index.json"] {
        std::fs::write(third.join(name), more(place.read(&format!("{own}/{name}")))).unwrap();
    }
    let shown: serde_json::Value =
        serde_json::from_str(&place.well("show board --json").out).unwrap();
    assert_eq!(
        shown["missing_boots"],
        serde_json::json!(["kernel=9.9.9-vanilla", "kernel=9.9.9-rt"])
    );
    // 1 that was removed, 2 of the third folder, 2 of a boot of the first plan, 4 of its own boots.
    assert_eq!(shown["missing_runs"], 9, "{shown}");
    std::fs::remove_dir_all(&third).unwrap();

    std::fs::write(place.join("plan.toml"), text.replace("20\n", "30\n")).unwrap();
    let output = place.teiji("run --here plan.toml -q -o board");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("was started with another plan"), "{output:?}");
}

/// A dry run said that a plan could start into a folder where starting was refused, and counted
/// what is recorded.
#[test]
fn a_dry_run_looks_at_the_folder_too() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "[measure]\nsamples = 20\ncpus = '0'\n[vary]\nprio = [10, 20]\n[order]\nshuffle = \
                true\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    place.well("run --here plan.toml -q -o board");
    let dry = place.well("run --here plan.toml --dry-run -o board").out;
    assert_eq!(dry.lines().filter(|line| line.ends_with("  recorded")).count(), 2, "{dry}");
    assert!(dry.ends_with("\n0 runs of 0 combinations, 2 recorded\n"), "{dry}");
    let own =
        recordings(&place.join("board").join(rustix::system::uname().release().to_str().unwrap()));
    std::fs::remove_dir_all(&own[0]).unwrap();
    let dry = place.well("run --here plan.toml --dry-run -o board").out;
    assert!(dry.contains("\n1 run of 1 combination, 1 recorded; "), "{dry}");
    // In the order of that folder.
    let first = dry.lines().next().unwrap().split_whitespace().nth(1).unwrap();
    assert!(own[0].display().to_string().ends_with(&format!("1-{first}.teiji")), "{dry}");
    let before = place.listing();
    for (command, error) in [
        ("run plan.toml -o board", "board exists already: choose another name"),
        ("run --here other.toml -o board", "board was started with another plan than other.toml"),
    ] {
        std::fs::write(place.join("other.toml"), text.replace("20\n", "30\n")).unwrap();
        for dry in ["", " --dry-run"] {
            let output = place.teiji(&format!("{command}{dry}"));
            assert_eq!(output.code, Some(2), "{command}{dry}: {output:?}");
            assert!(output.err.contains(error), "{command}{dry}: {output:?}");
        }
        std::fs::remove_file(place.join("other.toml")).unwrap();
    }
    assert_eq!(place.listing(), before);
}

/// The command for the other boots had no --quick, and was refused: that is another plan.
#[test]
fn the_command_for_other_boots_is_of_the_same_plan() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "[measure]\nsamples = 40\ncpus = '0'\n[vary]\nkernel = ['9.9.9']\n[quick]\nsamples \
                = 20\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let said = place.well("run --here --quick plan.toml -q -o board").out;
    let again = "Boot it, then: teiji run --here --quick plan.toml -o board";
    assert!(said.contains(again), "{said}");
    place.well("run --here --quick plan.toml -o board");
}

/// What a plan excludes and adds by a kernel was neither left out nor measured in its boot.
#[test]
fn exclusions_and_additions_are_of_the_boot_that_they_name() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let release = rustix::system::uname().release().to_str().unwrap().to_owned();
    let text = format!(
        "[measure]\nsamples = 20\ncpus = '0'\n[vary]\nkernel = ['{release}', '9.9.9']\nprio = [10, \
         20, 30]\n[[exclude]]\nkernel = '{release}'\nprio = 30\n[[exclude]]\nkernel = \
         '9.9.9'\nprio \
         = 10\n[[exclude]]\nkernel = '9.9.9'\nprio = 20\n[[include]]\nkernel = \
         '{release}'\ninterval = '3ms'\nprio = 10\n"
    );
    std::fs::write(place.join("plan.toml"), text).unwrap();
    let dry = place.well("run --here --dry-run plan.toml").out;
    assert!(
        dry.starts_with("1  prio=10\n2  prio=20\n3  prio=10 interval=3ms\n3 runs of "),
        "{dry}"
    );
    for _ in 0..2 {
        place.well("run --here plan.toml -q -o board");
    }
    assert_eq!(recordings(&place.join(&format!("board/{release}"))).len(), 3);
    // The other boot has one run.
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show board --json").out).unwrap();
    assert_eq!(
        (&json["missing_runs"], &json["missing_boots"]),
        (&serde_json::json!(1), &serde_json::json!(["kernel=9.9.9"]))
    );
    let own = place.read(&format!("board/{release}/plan.toml"));
    let other = place.join("board/9.9.9");
    std::fs::create_dir(&other).unwrap();
    // As that boot would begin it.
    let (kept, _) = own.split_once("[[exclude]]").unwrap();
    let order = own.split_once("[order]").unwrap().1;
    let excluded = "[[exclude]]\nprio = \"10\"\n\n[[exclude]]\nprio = \"20\"\n";
    let plan = format!("{kept}{excluded}\n[order]{order}");
    std::fs::write(other.join("plan.toml"), plan).unwrap();
    let index = place.read(&format!("board/{release}/index.json"));
    let boot = format!("\"kernel\": \"{release}\",\n    \"machine");
    let index = index.replace(&boot, "\"kernel\": \"9.9.9\",\n    \"machine");
    std::fs::write(other.join("index.json"), index).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show board --json").out).unwrap();
    assert_eq!(
        (&json["missing_runs"], &json["missing_boots"]),
        (&serde_json::json!(1), &serde_json::json!([]))
    );
    place.well("run --here plan.toml -q -o board");
    std::fs::rename(place.join(&format!("board/{release}")), place.join("away")).unwrap();
    // The same plan goes on beside the folder of the other boot.
    place.well("run --here plan.toml -q -o board");
}

/// A recording that was damaged in the folder of its plan was called one that is not there, and
/// then one that was cut short.
#[test]
fn a_damaged_recording_is_called_damaged() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "[measure]\nsamples = 500\ncpus = '0'\n[vary]\nprio = [10, 20]\n[limits]\nmax = \
                '10s'\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    place.well("run plan.toml -q -o out");
    let samples = "out/01-prio=10.teiji/samples-0.arrows";
    let file = std::fs::File::options().write(true).open(place.join(samples)).unwrap();
    file.set_len(file.metadata().unwrap().len() - 100).unwrap();
    for command in ["show out", "show out --json", "report out -o page.html", "gate out"] {
        let output = place.teiji(command);
        assert_eq!(output.code, Some(2), "{command}: {output:?}");
        let damage = format!("error: {samples} is damaged ");
        assert!(
            output.err.contains(&damage) && output.err.contains("teiji run --resume out"),
            "{command}: {output:?}"
        );
    }
    let resumed = place.well("run --resume out -q");
    assert!(
        resumed.err.contains(&format!("run 1 of 2, prio=10: {samples} is damaged "))
            && resumed.err.contains("It is kept in out/incomplete/01-prio=10.teiji")
            && !resumed.err.contains("cut short"),
        "{resumed:?}"
    );
    assert_eq!(recordings(&place.join("out")).len(), 2);
    place.well("show out");
    // With its end, too.
    let mut bytes = std::fs::read(place.join(samples)).unwrap();
    bytes[8..200].fill(0xff);
    std::fs::write(place.join(samples), bytes).unwrap();
    let shown = place.teiji("show out");
    assert_eq!(shown.code, Some(2), "{shown:?}");
    let resumed = place.well("run --resume out -q");
    assert!(resumed.err.contains(&format!("{samples} is damaged ")), "{resumed:?}");
    place.well("show out");
}

/// Boots that a plan does not ask for were named in its title alone, once for each boot of a
/// kernel.
#[test]
fn a_kernel_that_is_not_in_the_plan_is_named_once() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let text = "[measure]\nsamples = 20\ncpus = '0'\n[vary]\nkernel = ['9.9.9-vanilla', \
                '9.9.9-rt']\n";
    std::fs::write(place.join("plan.toml"), text).unwrap();
    place.well("run --here plan.toml -q -o board");
    // As if that boot had had other arguments.
    let release = rustix::system::uname().release().to_str().unwrap().to_owned();
    let index = format!("board/{release}/index.json");
    let arguments = "\"arguments\": \"";
    let others = place.read(&index).replace(arguments, &format!("{arguments}another "));
    std::fs::write(place.join(&index), others).unwrap();
    let made = place.well("run --here plan.toml -q -o board").out;
    let made = made.lines().find(|line| line.starts_with("Boots in "));
    assert_eq!(made, Some(&*format!("Boots in board: {release} (not in the plan)")));
    assert!(place.join(&format!("board/{release}.2")).is_dir());
    let shown = place.well("show board").out;
    let title = shown.split("\n\n").next().unwrap().replace('\n', " ");
    assert_eq!(title, format!("A plan (with {release}, booted as the plan does not ask for)"));
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show board --json").out).unwrap();
    assert_eq!(json["title"], serde_json::Value::Null);
    assert_eq!(json["unplanned_kernels"], serde_json::json!([release]));

    // Beside the runs of a plan that asks for it, and of one that does not either.
    let other = text.replace("9.9.9-rt", &release).replace("samples = 20", "samples = 30");
    std::fs::write(place.join("other.toml"), other).unwrap();
    place.well("run --here other.toml -q -o asked");
    let json: serde_json::Value =
        serde_json::from_str(&place.well("show board asked --json").out).unwrap();
    assert_eq!(json["unplanned_kernels"], serde_json::json!([]));
    std::fs::write(place.join("third.toml"), text.replace("20", "40")).unwrap();
    place.well("run --here third.toml -q -o third");
    let shown = place.well("show board third").out;
    let title = shown.split("\n\n").next().unwrap().replace('\n', " ");
    let said = format!("Several plans (with {release}, booted as none of the plans asks for)");
    assert_eq!(title, said);
}

/// A machine without Xenomai measures the rest, and says what it cannot; nothing but that is an
/// error.
#[test]
fn what_a_machine_cannot_measure_is_left_out() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let plan = |probes: &str| {
        let text = format!(
            "[measure]\nsamples = 20\nthreads = 1\n[vary]\nprobe = [{probes}]\nprio = [10, 20]\n"
        );
        std::fs::write(place.join("plan.toml"), text).unwrap();
    };
    plan("'cyclic', 'cobalt'");
    let why = "2 runs left out: the probe cobalt cannot measure here: ";
    let dry = place.well("run --here --dry-run plan.toml");
    assert!(dry.err.contains(why), "{dry:?}");
    assert!(dry.out.contains("\n4  probe=cobalt prio=20  left out\n"), "{dry:?}");
    // 2 runs of 20 ms, and 100 ms of warm-up before each.
    let counted = "\n2 runs of 2 combinations, 2 left out; 240 ms of measuring";
    assert!(dry.out.contains(counted), "{dry:?}");
    for command in ["run --here plan.toml -o board", "run --resume board"] {
        let output = place.well(&format!("{command} -q"));
        assert!(
            output.out.contains("2 of 4 runs recorded, 2 left out, in board/")
                && output.err.contains(why),
            "{output:?}"
        );
    }
    // What is not recorded is in no table as if it had been.
    let shown = place.well("show board").out;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks = "2 runs of the plan without a recording. They cannot be made here: the probe \
                 cobalt cannot measure here: ";
    assert!(shown.contains(lacks) && !shown.contains("--resume"), "{shown}");
    // In the plan as it is they are asked for.
    let output = place.teiji("run plan.toml -q -o whole");
    assert!(
        output.code == Some(4) && output.err.contains("the probe cobalt cannot measure here: "),
        "{output:?}"
    );
    plan("'cobalt'");
    let output = place.teiji("run --here plan.toml -q -o none");
    assert!(
        output.code == Some(4) && output.err.contains("the probe cobalt cannot measure here: "),
        "{output:?}"
    );
}

/// Of a boot beside the plan's, runs that it cannot measure were counted as runs of the plan, and
/// it was advised to boot for them.
#[test]
fn what_another_boot_cannot_measure_is_not_missing() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let release = rustix::system::uname().release().to_str().unwrap().to_owned();
    let plan = |kernel: &str| {
        let text = format!(
            "[measure]\nsamples = 20\nthreads = 1\n[vary]\nkernel = ['{kernel}', \
             '9.9.9']\nprobe = ['cyclic', 'cobalt']\n[limits]\nmax = '10s'\n"
        );
        std::fs::write(place.join("plan.toml"), text).unwrap();
    };
    let missing = |folder: &str| {
        let json: serde_json::Value =
            serde_json::from_str(&place.well(&format!("show {folder} --json")).out).unwrap();
        json["missing_runs"].as_u64()
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "1 run left out: the probe cobalt cannot measure here: ";
    plan("9.9.8");
    for _ in 0..2 {
        place.well("run --here plan.toml -q -o board");
    }
    assert_eq!(missing("board"), Some(4));
    assert_eq!(missing(&format!("board/{release}")), Some(0));
    let shown = words(&place.well("show board").out);
    assert!(shown.contains(why) && shown.contains("4 runs of the plan without"), "{shown}");
    // No row is of what the plan does not ask for and nobody can measure.
    let rows = |folder: &str| {
        let json: serde_json::Value =
            serde_json::from_str(&place.well(&format!("show {folder} --json")).out).unwrap();
        let rows = json["combinations"].as_array().unwrap().clone();
        rows.iter().map(|row| row["caveats"][0].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(rows(&format!("board/{release}")).len(), 1);
    let list = "4 runs of the plan without a recording: boot kernel=9.9.8; boot kernel=9.9.9.";
    assert!(shown.contains(list), "{shown}");
    let gated = place.teiji("gate board");
    assert!(gated.err.contains("no recording of 4 runs") && gated.err.contains(why), "{gated:?}");
    assert_eq!(place.teiji(&format!("gate board/{release}")).code, Some(0));
    // One that the plan asks for lacks them.
    plan(&release);
    place.well("run --here plan.toml -q -o asked");
    assert_eq!(missing("asked"), Some(3));
    assert!(words(&place.well("show asked").out).contains(why));
    let own = words(&place.well(&format!("show asked/{release}")).out);
    assert!(own.contains("They cannot be made here: the probe cobalt cannot measure"), "{own}");
    for folder in ["asked", &format!("asked/{release}")] {
        let left_out = rows(folder).into_iter().flatten().filter(|caveat| caveat == "left out");
        assert_eq!(left_out.count(), 1, "{folder}");
        let shown = place.well(&format!("show {folder}")).out;
        let cobalt = shown.lines().find(|line| line.starts_with("cobalt ")).unwrap();
        assert!(cobalt.contains("left out"), "{shown}");
    }
}

/// `auto` is one of the others on every kernel, also on one that the plan does not name.
#[test]
fn no_probe_measures_twice_on_a_board() {
    let place = TestFolder::new();
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nsamples = 20\nthreads = 1\n[vary]\nkernel = ['9.9.9-vanilla', \
         '$NO_KERNEL']\nprobe = ['auto', 'cyclic']\n[[exclude]]\nkernel = '9.9.9-vanilla'\nprobe \
         = 'auto'\n",
    )
    .unwrap();
    let _turn = beside_others();
    let dry = place.well("run --here --dry-run plan.toml").out;
    assert!(dry.contains("1 run of 1 combination"), "{dry}");
    for _ in 0..2 {
        let output = place.teiji("run --here plan.toml -q -o board");
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(
            output.err.contains("kernel=$NO_KERNEL is the kernel that you boot."),
            "{output:?}"
        );
        assert!(!output.err.contains("path of an image"), "{output:?}");
    }
}

/// The program alone, without its project beside it.
#[test]
fn plans_that_come_along() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let list = place.well("plans").out;
    // Paths are single words.
    let is_wide = |line: &&str| line.contains(' ') && line.chars().count() > 80;
    assert_eq!(list.lines().find(is_wide), None, "{list}");
    for name in ["toshiba-memory", "desktop-4.19", "rtc-jitter", "three-responses"] {
        assert!(list.lines().any(|line| line == name), "{list}");
    }
    assert!(list.contains("54 runs, varying kernel, interval, load"), "{list}");
    let own = place.well("plans toshiba-memory").out;
    assert_eq!(
        own,
        std::fs::read_to_string(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../plans/toshiba-memory.toml"
        ))
        .unwrap()
    );
    assert_eq!(place.teiji("plans nosuch").code, Some(2));

    // No line is wider than a terminal.
    let dry = place.well("run --dry-run --here desktop-4.19").out;
    assert!(dry.lines().all(|line| line.chars().count() <= 80), "{dry}");
    let dry = place.well("run --here --dry-run toshiba-memory").out;
    assert!(dry.contains("27 runs of 27 combinations"), "{dry}");
    let output = place.teiji("run --dry-run toshibamemory");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(
        output.err.contains("the shipped plans are arm64-dev-zero, desktop-4.19"),
        "{output:?}"
    );
    // A file of that name comes first.
    std::fs::write(place.join("toshiba-memory"), "[measure]\nsamples = 20\n").unwrap();
    assert!(place.well("run --dry-run toshiba-memory").out.contains("1 run of 1 combination"));
    // Its results have its name, which has a dot in it.
    std::fs::write(place.join("desktop-4.19"), "[measure]\nsamples = 20\n").unwrap();
    assert!(place.well("run -q desktop-4.19").out.contains("in desktop-4.19-20"));
}
