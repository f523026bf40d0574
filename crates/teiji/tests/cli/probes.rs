// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes of every kind of row through everything that reads recordings. Those named `example-` are
//! in test builds only.

use crate::support::document::Document;
use crate::support::{MILLISECOND, TestFolder, beside_others, copy_recording, sleep_until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

/// What each of them is put through: figures that agree with the samples, the terminal, the page,
/// Markdown, a comparison with itself, and a limit that holds.
pub fn assert_read_everywhere(place: &TestFolder, name: &str, shown: &[&str]) {
    let output = place.well(&format!("verify {name}.teiji"));
    let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.starts_with(&format!("{name}.teiji: every figure agrees with its ")),
        "{output:?}"
    );
    place.well(&format!("report {name}.teiji -o {name}.html --md {name}.md --svg {name}-charts"));
    let show = place.well(&format!("show {name}.teiji"));
    let (page, markdown) = (place.read(&format!("{name}.html")), place.read(&format!("{name}.md")));
    for text in shown {
        assert!(show.out.contains(text), "{text} in {}", show.out);
        assert!(page.contains(&text.replace('\'', "&#39;")), "{text} on the page of {name}");
        assert!(markdown.contains(text), "{text} in {markdown}");
    }
    copy_recording(&place.join(&format!("{name}.teiji")), &place.join("again/x.teiji"));
    let output = place.well(&format!("compare {name}.teiji again/x.teiji"));
    assert!(!output.out.contains("probes differ"), "{output:?}");
    // Whatever was skipped on a busy machine has no value of a column that is not its lateness, and
    // was far from half of all.
    place.well(&format!("gate {name}.teiji --limit p50<10s"));
}

/// Each of these limits by itself has this exit code, of a recording that did measure something.
pub fn assert_judged(place: &TestFolder, recording: &str, limits: &[&str], code: i32) {
    for limit in limits {
        let output = place.teiji(&format!("gate {recording} --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        assert!(!output.out.contains("measured nothing"), "{limit}: {output:?}");
    }
}

pub fn change(place: &TestFolder, name: &str, change: impl FnOnce(&mut Value)) {
    let Document(mut value) = place.document(name);
    change(&mut value);
    std::fs::write(place.join(name).join("run.json"), value.to_string()).unwrap();
}

/// The rows of `export --samples`, cell by cell; the first is the heading.
fn exported(place: &TestFolder, name: &str) -> Vec<Vec<String>> {
    let output = place.well(&format!("export {name} --samples"));
    output.out.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn what_is_said_of_probes_fits_a_terminal() {
    let place = TestFolder::new();
    let list = place.well("probes").out;
    let is_name = |line: &&str| line.starts_with(|letter: char| letter.is_ascii_lowercase());
    let names: Vec<&str> =
        list.lines().filter(is_name).filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() > 10, "{list}");
    let each = names.iter().map(|name| place.well(&format!("probes {name}")).out);
    for text in each.chain([list.clone()]) {
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{line}\nin {text}");
        }
    }
}

/// Where there is no co-kernel nothing tells a run whose probe was chosen from one whose probe was
/// named.
#[test]
fn without_a_co_kernel_auto_is_cyclic() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut described = Vec::new();
    for (name, words) in [("named", "--probe cyclic"), ("auto", "--probe auto"), ("default", "")] {
        let output = place.well(&format!(
            "measure {words} --sleep poll --policy other -n 10 -t 1 -o {name}.teiji"
        ));
        assert!(!output.err.contains("runs here"), "{output:?}");
        let document = place.document(&format!("{name}.teiji"));
        assert!(document.0["instrument"].get("co_kernel").is_none());
        described.push((document.0["run"].clone(), document.0["probe"].clone()));
    }
    assert_eq!(described[0].1["name"], "cyclic");
    assert!(described.iter().all(|one| *one == described[0]), "{described:?}");
    // What is wrong is said as ever.
    let output = place.teiji("measure --method fork -n 10");
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("the probe cyclic has no setting 'method'"), "{output:?}");
}

/// As on a co-kernel and on the Linux beside it.
#[test]
fn several_probes_measure_in_turn() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let output = place.well(
        "measure --probe cyclic,spawn --method fork --sleep poll --policy other -i 5ms -n 20 -t 1 \
         -q -o both",
    );
    assert!(
        output.out.contains("Recordings: both/") && output.out.contains("Next: teiji show both"),
        "{output:?}"
    );
    let of = |probe: &str, setting: &str, value: &str| {
        let document = place.document(&format!("both/{probe}.teiji"));
        document.assert_adds_up();
        assert_eq!(document.0["run"]["probe"], probe);
        // Each has the settings that are its own.
        assert_eq!(document.0["run"]["probe_settings"], json!({ setting: value }));
    };
    of("cyclic", "sleep", "poll");
    of("spawn", "method", "fork");
    let table = place.well("show both").out;
    for probe in ["cyclic", "spawn"] {
        assert!(table.lines().any(|line| line.contains(probe)), "{table}");
    }
    let output = place.teiji(
        "measure --probe cyclic,spawn --policy other -n 5 -t 1 -q --json --limit max<1ns -o json",
    );
    assert_eq!(output.code, Some(1), "{output:?}");
    let all: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(
        (&all[0]["probe"]["name"], &all[1]["probe"]["name"]),
        (&json!("cyclic"), &json!("spawn"))
    );
    assert!(output.err.matches("max").count() >= 2, "{output:?}");
}

#[test]
fn several_probes_that_cannot_measure_in_turn() {
    let place = TestFolder::new();
    std::fs::create_dir(place.join("there")).unwrap();
    std::fs::write(place.join("plan.toml"), "[measure]\nsamples = 10\nprobe = 'cyclic,spawn'\n")
        .unwrap();
    for (words, says) in [
        ("measure --probe cyclic,cyclic -n 5 -o out", "the probe cyclic would measure twice"),
        ("measure --probe cyclic,nosuch -n 5 -o out", "unknown probe 'nosuch'"),
        ("measure --probe cyclic, -n 5 -o out", "unknown probe ''"),
        (
            "measure --probe cyclic,spawn --pid 1 -n 5 -o out",
            "the probe cyclic has no setting 'pid'",
        ),
        ("measure --probe cyclic,spawn -n 5 -o there", "there exists already"),
        ("run --dry-run plan.toml", "write several as a list below [vary]"),
    ] {
        let output = place.teiji(words);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.err.contains(says), "{words}: {output:?}");
        assert!(!place.join("out").exists());
    }
}

#[test]
fn activations_of_three_columns() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure --probe example-columns -n 300 -t 1 -q -o three.teiji");
    let document = place.document("three.teiji");
    document.assert_adds_up();
    let names: Vec<String> = document
        .list("/probe/columns")
        .iter()
        .map(|column| column.text("/name").to_owned())
        .collect();
    assert_eq!(names, ["latency_ns", "second_read_ns", "parity"]);
    // Half of the numbers are 0, the others 1, but for rows that were skipped.
    let parity = &document.list("/threads/0/columns")[1];
    assert_eq!((parity.text("/name"), parity.whole("/values/max")), ("parity", 1));
    assert!((parity.number("/values/mean") - 0.5).abs() < 0.1, "{parity:?}");
    assert_read_everywhere(&place, "three", &["second_read, µs", "parity", "0 or 1, in turn"]);
    let csv = place.well("show three.teiji --csv").out;
    for text in [
        ",second_read_p50_ns,",
        ",parity_max,",
        ",probe,co_kernel,gravity,load_off_target,caveats,between_ns\r\n",
        ",example-columns,,,false,",
    ] {
        assert!(csv.contains(text), "{text} in {csv}");
    }
    let md = place.well("show three.teiji --md").out;
    assert!(md.contains("| example-columns |\n") && md.contains("| second_read, µs |"), "{md}");
    // Every column has as many values in its histogram.
    let histogram = place.well("export three.teiji --histogram").out;
    assert!(histogram.starts_with("thread,cpu,from_ns,to_ns,count,column,probe\n"), "{histogram}");
    let cells = histogram.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let cells: Vec<Vec<&str>> =
        cells.inspect(|cells| assert_eq!(cells[6], "example-columns")).collect();
    let of = |name: &str| {
        cells
            .iter()
            .filter(|cells| cells[5] == name)
            .map(|cells| cells[4].parse::<u64>().unwrap())
            .sum()
    };
    let values: [u64; 3] = ["latency_ns", "second_read_ns", "parity"].map(of);
    assert!(values[0] > 0 && values == [values[0]; 3], "{histogram}");
    let rows = exported(&place, "three.teiji");
    assert_eq!(
        rows[0].join(","),
        "thread,cpu,activation,planned_ns,latency_ns,second_read_ns,parity"
    );
    assert_eq!(rows.len(), 301);
    for (number, row) in rows[1..].iter().enumerate().filter(|(_, row)| !row[4].is_empty()) {
        let cell = |column: usize| row[column].parse::<i64>().unwrap();
        assert!(cell(4) <= cell(5) && (0..=1).contains(&cell(6)), "row {number}: {row:?}");
    }
}

/// A figure of a further column that was changed is found, as one of the judged column is.
#[test]
fn every_column_is_verified() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure --probe example-columns -n 50 -t 1 -q -o x.teiji");
    change(&place, "x.teiji", |run| run["threads"][0]["columns"][0]["values"]["p50"] = json!(1));
    let output = place.teiji("verify x.teiji");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.out.contains("threads[0].columns[0]"), "{output:?}");
}

/// What a timer says was missed is skipped, to the last row, in the recording as in the thread's
/// own count.
#[test]
fn activations_that_a_timer_counted_as_missed() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure --probe example-missed -n 121 -q -o missed.teiji");
    let document = place.document("missed.teiji");
    document.assert_adds_up();
    // One thread, though nobody said so: ten rows stand for twelve activations.
    assert_eq!(document.threads().len(), 1);
    let counts = ["due", "on_time", "late", "skipped"]
        .map(|name| document.whole(&format!("/threads/0/activations/{name}")));
    assert_eq!(counts, [121, 91, 10, 20]);
    assert_read_everywhere(&place, "missed", &["0, and in every tenth row 2"]);
    let rows = exported(&place, "missed.teiji");
    for (number, row) in rows[1..].iter().enumerate() {
        let expected = match number % 12 {
            9 => "2",
            10 | 11 => "",
            _ => "0",
        };
        assert_eq!(row[5], expected, "row {number}: {row:?}");
    }
    let output = place.teiji("measure --probe example-missed -n 20 -t 2 -o x.teiji");
    assert!(output.code == Some(2) && output.err.contains("at most 1 thread, not 2"), "{output:?}");
}

/// Each call that a thread can sleep by, on each clock, stopped for a while: what passed meanwhile
/// is accounted for, and a timer that the kernel runs by itself has counted as much.
#[test]
fn every_sleep_accounts_for_what_passed() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for flags in [
        "--sleep relative",
        "--sleep poll",
        "--sleep itimer",
        "--sleep timerfd",
        "--sleep signal",
        "--clock realtime",
        "--clock tai",
        "--sleep timerfd --clock realtime",
        "--sleep signal --clock tai",
        "--sleep signal --catch-up",
        "--sleep timerfd --catch-up",
    ] {
        let running = place.start(&format!("measure {flags} -i 1ms -n 400 -t 1 -q -o x.teiji"));
        sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") + 100 * MILLISECOND);
        // Twice as long as is asked for below: on a busy machine a thread stops some time later.
        running.signal(Signal::STOP);
        sleep(Duration::from_millis(200));
        running.signal(Signal::CONT);
        let output = running.end();
        assert_eq!(output.code, Some(0), "{flags}: {output:?}");
        let document = place.document("x.teiji");
        document.assert_adds_up();
        place.well("verify x.teiji");
        assert_eq!(document.whole("/threads/0/activations/due"), 400, "{flags}");
        assert!(
            document.whole("/threads/0/latency_ns/min") >= 0,
            "{flags} wakes nobody before the time: {:?}",
            document.at("/threads/0")
        );
        assert!(document.whole("/threads/0/latency_ns/max") > 90 * MILLISECOND, "{flags}");
        assert!(!document.warns_of("clock-stepped"), "{flags}");
        let skipped = document.whole("/threads/0/activations/skipped");
        if flags.contains("catch-up") {
            assert_eq!(skipped, 0, "{flags}");
        } else {
            assert!(skipped > 90, "{flags}: {skipped}");
        }
        if flags.contains("timerfd") || flags.contains("signal") {
            let rows = exported(&place, "x.teiji");
            assert_eq!(rows[0][5], "timer_overruns");
            assert_eq!(rows[0][2], "activation");
            // Of the last row also those beyond the end of the run, which are none of its own.
            let within = |row: &Vec<String>| {
                let (at, overruns) = (row[2].parse::<i64>().ok()?, row[5].parse::<i64>().ok()?);
                Some(overruns.min(399 - at))
            };
            let counted: i64 = rows[1..].iter().filter_map(within).sum();
            assert!(
                counted > 90 && (flags.contains("catch-up") || counted == skipped),
                "{flags}: {counted} of {skipped}"
            );
        }
        std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
    }
}

/// What is there to be measured, and what each probe needs.
#[test]
fn probes_are_listed() {
    let place = TestFolder::new();
    let text = place.well("probes").out;
    let listed: Value = serde_json::from_str(&place.well("probes --json").out).unwrap();
    let listed = listed["probes"].as_array().unwrap();
    assert!(listed.len() >= 2 && !text.contains("example-"), "{text}");
    for probe in listed {
        let name = probe["name"].as_str().unwrap();
        assert!(
            text.contains(&format!("\n{name} ")) || text.starts_with(&format!("{name} ")),
            "{name} in {text}"
        );
        assert_eq!(probe["available"] == json!(true), probe["missing"].is_null(), "{probe}");
        for setting in probe["settings"].as_array().unwrap() {
            let option = format!("--{}", setting["name"].as_str().unwrap());
            assert!(text.contains(&option), "{option} in {text}");
            let alone = place.well(&format!("probes {name}")).out;
            assert!(alone.contains(&format!("{option} <")), "{option} in {alone}");
            assert!(!place.well("measure --help").out.contains(&format!("{option} <")), "{option}");
            let beside = place.well(&format!("measure --help --probe={name}")).out;
            let options = beside.split("Options of the probe ").nth(1).unwrap();
            // Broken at other columns.
            let in_words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(in_words(&alone).contains(&in_words(options)), "{options} in {alone}");
        }
    }
    // What is typed as it stands there begins to measure, where this machine can.
    for (name, words, line) in [
        ("app", " -- ./my-loop", "  command = \"./my-loop\"\n"),
        ("stream", " --from numbers.txt", "  from = \"numbers.txt\"\n"),
        ("cyclic", "", ""),
    ] {
        let text = place.well(&format!("probes {name}")).out;
        let plan = format!("  [measure]\n  probe = \"{name}\"\n{line}");
        let usage = format!("\nMeasure: teiji measure --probe {name}{words}\nIn a plan:\n{plan}");
        assert!(text.ends_with(&usage), "{text}");
        std::fs::write(place.join("p.toml"), plan).unwrap();
        let plan = place.teiji("run --dry-run p.toml");
        assert!(matches!(plan.code, Some(0 | 4)), "{plan:?}");
    }
    let stream = place.well("probes stream").out;
    assert!(
        stream.contains("needs numbers to read: from standard input, or from what"),
        "{stream}"
    );
    let one = place.well("probes noise --json").out;
    assert_eq!(serde_json::from_str::<Value>(&one).unwrap()["probes"].as_array().unwrap().len(), 1);
}

#[test]
fn events_at_irregular_times() {
    let _turn = beside_others();
    let place = TestFolder::new();
    place.well("measure --probe example-events --period 2ms -d 500ms -t 1 -q -o events.teiji");
    let document = place.document("events.teiji");
    document.assert_adds_up();
    // One after 2 ms, the next after 4: some 166 in half a second, on a machine that wakes up in
    // time.
    let events = document.whole("/threads/0/activations/due");
    assert!((40..=168).contains(&events), "{events}");
    let figure = format!("{events} events");
    assert_read_everywhere(&place, "events", &["how long the event took"]);
    assert!(place.well("show events.teiji").out.contains(&figure));
    let rows = exported(&place, "events.teiji");
    assert_eq!(rows[0].join(","), "thread,cpu,event,time_ns,length_ns,number");
    let start = document.whole("/threads/0/start_ns");
    let times: Vec<i64> =
        rows[1..].iter().map(|row| row[3].parse::<i64>().unwrap() - start).collect();
    assert!(
        times.is_sorted() && times[0] >= 0 && times.iter().all(|time| *time < 520_000_000),
        "{times:?}"
    );
    // The worst are where they happened, and not at a multiple of an interval.
    for worst in document.list("/threads/0/worst") {
        let row = usize::try_from(worst.whole("/activation")).unwrap();
        assert_eq!(worst.whole("/since_start_ns"), times[row]);
    }
    // ... on the page too, whose data has a point for each.
    let page = place.read("events.html");
    let worst = &document.list("/threads/0/worst")[0];
    assert!(
        page.contains(&format!("\"since_start_ns\":{},", worst.whole("/since_start_ns"))),
        "{worst:?}"
    );
    // Nothing was planned, so nothing is late; and that is no reason to let a limit pass.
    assert_eq!(place.teiji("gate events.teiji --limit late==0").code, Some(3));
    assert_eq!(place.teiji("gate events.teiji --limit lost==0").code, Some(0));
    assert_eq!(place.teiji("show events.teiji --figure skipped").code, Some(2));
}

#[test]
fn events_cannot_be_asked_for_by_number() {
    let place = TestFolder::new();
    let output = place.teiji("measure --probe example-events -n 10 -o x.teiji");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("Give a duration"), "{output:?}");
}

/// A trial that never ran has no time from its call: what it would have been is no reason to let a
/// limit pass.
#[test]
fn skipped_trials_are_not_taken_for_short_ones() {
    let _turn = beside_others();
    let place = TestFolder::new();
    // No process starts in 20 us; on a busy machine few do in 0.4 s, and a rate needs some.
    place.well("measure --probe spawn --policy other -i 20us -n 20000 -t 1 -q -o x.teiji");
    let document = place.document("x.teiji");
    assert!(
        document.whole("/threads/0/activations/skipped") > 10_000,
        "{}",
        document.0["threads"][0]["activations"]
    );
    assert_eq!(
        document.text("/run/probe_settings/method"),
        "posix_spawn",
        "what was not asked for is said as well"
    );
    for (limit, code) in [
        ("max<1h", 3),
        ("p50<1h", 3),
        ("mean<1h", 3),
        ("rate(>1h)<0.5@95%", 3),
        ("max<1us", 1),
        ("lost==0", 0),
    ] {
        let output = place.teiji(&format!("gate x.teiji --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains("skipped, which have no value"), code == 3, "{output:?}");
    }
    // Where few were skipped, a quantile tells even if all of those were beyond any limit.
    place.well("measure --probe spawn -i 1s -n 4 -t 1 -q -o y.teiji");
    assert_eq!(place.teiji("gate y.teiji --limit p50<1h").code, Some(0));
}

#[test]
fn a_process_start_by_every_method() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for method in ["posix_spawn", "fork", "vfork", "clone"] {
        place.well(&format!(
            "measure --probe spawn --method {method} -i 10ms -n 30 -t 1 -q -o {method}.teiji"
        ));
        let document = place.document(&format!("{method}.teiji"));
        document.assert_adds_up();
        assert!(document.whole("/threads/0/latency_ns/min") > 0, "{method}");
        assert!(!document.warns_of("page-faults"), "what a fork costs is what is measured");
    }
    assert_read_everywhere(
        &place,
        "fork",
        &["child, µs", "done, µs", "from the call to its return in the child"],
    );
    let summary = place.well("show fork.teiji").out;
    assert!(
        summary.contains("30 trials of each thread planned") && !summary.contains("activation"),
        "{summary}"
    );
    let page = place.read("fork.html");
    assert!(!page.contains(">max jitter, µs</th>"), "nothing is said of when anything woke");
    assert!(
        page.contains("Otherwise they have no value") && !page.contains("skipped ones counted in"),
        "of the trials that ran"
    );
    let output = place.well("compare fork.teiji vfork.teiji");
    assert!(
        output.out.contains("spawn (method fork)") && output.out.contains("spawn (method vfork)"),
        "{output:?}"
    );
    place.well("measure -n 30 -t 1 -i 10ms -q -o cyclic.teiji");
    let output = place.teiji("compare fork.teiji cyclic.teiji");
    // Each probe stands where its recording does.
    let differ = "fork and cyclic cannot be compared: their probes differ (spawn; cyclic)";
    assert!(output.code == Some(2) && output.err.contains(differ), "{output:?}");
}

/// Nothing is measured by something else instead, and no recording is left.
#[test]
fn what_a_probe_lacks_is_named() {
    let place = TestFolder::new();
    for (flags, error) in [
        (
            "--probe rtc --device /nosuch",
            "the probe rtc cannot measure here: there is no /nosuch. It takes a real-time clock",
        ),
        (
            "--probe rtc --device /dev/null",
            "the probe rtc cannot measure here: /dev/null is not a real-time clock",
        ),
    ] {
        let output = place.teiji(&format!("measure {flags} -d 1s -o none.teiji"));
        assert!(output.code == Some(4) && output.err.contains(error), "{output:?}");
        assert!(!place.join("none.teiji").exists());
    }
    // A plan says so before its first run.
    std::fs::write(
        place.join("plan.toml"),
        "[measure]\nprobe = 'rtc'\ndevice = '/nosuch'\nsamples = 10\n",
    )
    .unwrap();
    for run in ["run plan.toml --dry-run", "run plan.toml -o out"] {
        let output = place.teiji(run);
        assert!(output.code == Some(4) && output.err.contains("there is no /nosuch"), "{output:?}");
    }
    assert!(!place.join("out").exists());
    for (flags, error) in [
        ("--probe rtc -i 300us", "'interval' of the probe rtc is impossible here"),
        ("--probe rtc --catch-up", "'catch-up' of the probe rtc is impossible here"),
        ("--probe rtc -t 2", "the probe rtc measures with at most 1 thread"),
    ] {
        let output = place.teiji(&format!("measure {flags} -d 1s -o none.teiji"));
        assert!(output.code == Some(2) && output.err.contains(error), "{output:?}");
    }
}

/// A plan varies the settings of a probe as it varies flags.
#[test]
fn plans_vary_the_settings_of_probes() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let plan = "[measure]\nprobe = 'spawn'\ninterval = '10ms'\nsamples = 10\nthreads = \
                1\n[vary]\nmethod = ['fork', 'clone']\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    let table = place.well("show out --csv").out;
    assert!(
        table.contains("method") && table.contains("fork") && table.contains("clone"),
        "{table}"
    );
    for (text, error) in [
        ("probe = 'spwan'", "plan.toml:2:1: unknown probe 'spwan': expected one of cyclic, "),
        (
            "probe = 'spawn'\nmethod = 'thread'",
            "plan.toml:3:1: invalid value 'thread' for 'method' of the probe spawn",
        ),
        (
            "probe = 'cyclic'\nmethod = 'fork'",
            "plan.toml:3:1: the probe cyclic has no setting 'method': it is one of the probe spawn",
        ),
    ] {
        std::fs::write(place.join("plan.toml"), format!("[measure]\n{text}\n")).unwrap();
        let output = place.teiji("run plan.toml --dry-run");
        assert!(output.code == Some(2) && output.err.contains(error), "{error} in {output:?}");
    }
}
