// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes of every kind of row, and recordings of which only a histogram or figures are left, through everything that reads recordings.
//! Those named `example-` are in test builds only.

use crate::support::document::Document;
use crate::support::{MILLISECOND, TestFolder, copy_recording, exclusive, sleep_until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

/// What each of them is put through: figures that agree with the samples, the terminal, the page, Markdown, a comparison with
/// itself, and a limit that holds.
pub fn assert_read_everywhere(place: &TestFolder, name: &str, shown: &[&str]) {
    let output = place.well(&format!("verify {name}.teiji"));
    assert!(output.out.starts_with(&format!("{name}.teiji: every figure agrees with its ")), "{output:?}");
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
    // Whatever was skipped on a busy machine has no value of a column that is not its lateness, and was far from half of all.
    place.well(&format!("gate {name}.teiji --limit p50<10s"));
}

/// Each of these limits by itself has this exit code, of a recording that did measure something.
fn assert_judged(place: &TestFolder, recording: &str, limits: &[&str], code: i32) {
    for limit in limits {
        let output = place.teiji(&format!("gate {recording} --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        assert!(!output.out.contains("measured nothing"), "{limit}: {output:?}");
    }
}

fn change(place: &TestFolder, name: &str, change: impl FnOnce(&mut Value)) {
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
fn activations_of_three_columns() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well("measure --probe example-columns -n 300 -t 1 -q -o three.teiji");
    let document = place.document("three.teiji");
    document.assert_adds_up();
    let names: Vec<String> = document.list("/probe/columns").iter().map(|column| column.text("/name").to_owned()).collect();
    assert_eq!(names, ["latency_ns", "second_read_ns", "parity"]);
    // Half of the numbers are 0, the others 1, but for rows that were skipped.
    let parity = &document.list("/threads/0/columns")[1];
    assert_eq!((parity.text("/name"), parity.whole("/values/max")), ("parity", 1));
    assert!((parity.number("/values/mean") - 0.5).abs() < 0.1, "{parity:?}");
    assert_read_everywhere(&place, "three", &["second_read, µs", "parity", "0 or 1, in turn"]);
    let csv = place.well("show three.teiji --csv").out;
    for text in [",second_read_p50_ns,", ",parity_max,", ",probe\r\n", ",example-columns\r\n"] {
        assert!(csv.contains(text), "{text} in {csv}");
    }
    let md = place.well("show three.teiji --md").out;
    assert!(md.contains("| example-columns |\n") && md.contains("| second_read, µs |"), "{md}");
    // Every column has as many values in its histogram.
    let histogram = place.well("export three.teiji --histogram").out;
    assert!(histogram.starts_with("thread,cpu,from_ns,to_ns,count,column,probe\n"), "{histogram}");
    let cells = histogram.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let cells: Vec<Vec<&str>> = cells.inspect(|cells| assert_eq!(cells[6], "example-columns")).collect();
    let of = |name: &str| cells.iter().filter(|cells| cells[5] == name).map(|cells| cells[4].parse::<u64>().unwrap()).sum();
    let values: [u64; 3] = ["latency_ns", "second_read_ns", "parity"].map(of);
    assert!(values[0] > 0 && values == [values[0]; 3], "{histogram}");
    let rows = exported(&place, "three.teiji");
    assert_eq!(rows[0].join(","), "thread,cpu,activation,planned_ns,latency_ns,second_read_ns,parity");
    assert_eq!(rows.len(), 301);
    for (number, row) in rows[1..].iter().enumerate().filter(|(_, row)| !row[4].is_empty()) {
        let cell = |column: usize| row[column].parse::<i64>().unwrap();
        assert!(cell(4) <= cell(5) && (0..=1).contains(&cell(6)), "row {number}: {row:?}");
    }
}

/// A figure of a further column that was changed is found, as one of the judged column is.
#[test]
fn every_column_is_verified() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well("measure --probe example-columns -n 50 -t 1 -q -o x.teiji");
    change(&place, "x.teiji", |run| run["threads"][0]["columns"][0]["values"]["p50"] = json!(1));
    let output = place.teiji("verify x.teiji");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.out.contains("threads[0].columns[0]"), "{output:?}");
}

/// What a timer says was missed is skipped, to the last row, in the recording as in the thread's own count.
#[test]
fn activations_that_a_timer_counted_as_missed() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well("measure --probe example-missed -n 121 -q -o missed.teiji");
    let document = place.document("missed.teiji");
    document.assert_adds_up();
    // One thread, though nobody said so: ten rows stand for twelve activations.
    assert_eq!(document.threads().len(), 1);
    let counts = ["due", "on_time", "late", "skipped"].map(|name| document.whole(&format!("/threads/0/activations/{name}")));
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

/// Each call that a thread can sleep by, on each clock, stopped for a while: what passed meanwhile is accounted for, and a timer that
/// the kernel runs by itself has counted as much.
#[test]
fn every_sleep_accounts_for_what_passed() {
    let _turn = exclusive();
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
        running.signal(Signal::STOP);
        sleep(Duration::from_millis(100));
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
            let counted: i64 = rows[1..].iter().filter_map(|row| row[5].parse::<i64>().ok()).sum();
            assert!(counted > 90 && (flags.contains("catch-up") || counted == skipped), "{flags}: {counted} of {skipped}");
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
        assert!(text.contains(&format!("\n{name} ")) || text.starts_with(&format!("{name} ")), "{name} in {text}");
        assert_eq!(probe["available"] == json!(true), probe["missing"].is_null(), "{probe}");
        for setting in probe["settings"].as_array().unwrap() {
            assert!(text.contains(&format!("--{} ", setting["name"].as_str().unwrap())), "{setting} in {text}");
        }
    }
}

#[test]
fn events_at_irregular_times() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well("measure --probe example-events --period 2ms -d 500ms -t 1 -q -o events.teiji");
    let document = place.document("events.teiji");
    document.assert_adds_up();
    // One after 2 ms, the next after 4: some 166 in half a second, on a machine that wakes up in time.
    let events = document.whole("/threads/0/activations/due");
    assert!((40..=168).contains(&events), "{events}");
    let figure = format!("{events} events");
    assert_read_everywhere(&place, "events", &["how long the event took"]);
    assert!(place.well("show events.teiji").out.contains(&figure));
    let rows = exported(&place, "events.teiji");
    assert_eq!(rows[0].join(","), "thread,cpu,event,time_ns,length_ns,number");
    let start = document.whole("/threads/0/start_ns");
    let times: Vec<i64> = rows[1..].iter().map(|row| row[3].parse::<i64>().unwrap() - start).collect();
    assert!(times.is_sorted() && times[0] >= 0 && times.iter().all(|time| *time < 520_000_000), "{times:?}");
    // The worst are where they happened, and not at a multiple of an interval.
    for worst in document.list("/threads/0/worst") {
        let row = usize::try_from(worst.whole("/activation")).unwrap();
        assert_eq!(worst.whole("/since_start_ns"), times[row]);
    }
    // ... on the page too, whose data has a point for each.
    let page = place.read("events.html");
    let worst = &document.list("/threads/0/worst")[0];
    assert!(page.contains(&format!("\"since_start_ns\":{},", worst.whole("/since_start_ns"))), "{worst:?}");
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

/// A trial that never ran has no time from its call: what it would have been is no reason to let a limit pass.
#[test]
fn skipped_trials_are_not_taken_for_short_ones() {
    let _turn = exclusive();
    let place = TestFolder::new();
    // No process starts in 20 us.
    place.well("measure --probe spawn --policy other -i 20us -n 400 -t 1 -q -o x.teiji");
    let document = place.document("x.teiji");
    assert!(document.whole("/threads/0/activations/skipped") > 200, "{}", document.0["threads"][0]["activations"]);
    assert_eq!(document.text("/run/probe_settings/method"), "posix_spawn", "what was not asked for is said as well");
    for (limit, code) in [("max<1h", 3), ("p50<1h", 3), ("mean<1h", 3), ("rate(>1h)<0.5@95%", 3), ("max<1us", 1), ("lost==0", 0)]
    {
        let output = place.teiji(&format!("gate x.teiji --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        assert_eq!(output.out.contains("skipped, which have no value"), code == 3, "{output:?}");
    }
    // Where few were skipped, a quantile tells even if all of those were beyond any limit.
    place.well("measure --probe spawn -i 100ms -n 10 -t 1 -q -o y.teiji");
    assert_eq!(place.teiji("gate y.teiji --limit p50<1h").code, Some(0));
}

#[test]
fn a_process_start_by_every_method() {
    let _turn = exclusive();
    let place = TestFolder::new();
    for method in ["posix_spawn", "fork", "vfork", "clone"] {
        place.well(&format!("measure --probe spawn --method {method} -i 10ms -n 30 -t 1 -q -o {method}.teiji"));
        let document = place.document(&format!("{method}.teiji"));
        document.assert_adds_up();
        assert!(document.whole("/threads/0/latency_ns/min") > 0, "{method}");
        assert!(!document.warns_of("page-faults"), "what a fork costs is what is measured");
    }
    assert_read_everywhere(&place, "fork", &["child, µs", "done, µs", "from the call to its return in the child"]);
    let summary = place.well("show fork.teiji").out;
    assert!(summary.contains("30 trials of each thread planned") && !summary.contains("activation"), "{summary}");
    let page = place.read("fork.html");
    assert!(!page.contains(">max jitter, µs</th>"), "nothing is said of when anything woke");
    assert!(page.contains("otherwise they have no value") && !page.contains("skipped ones counted in"), "of the trials that ran");
    let output = place.well("compare fork.teiji vfork.teiji");
    assert!(output.out.contains("spawn (method fork)") && output.out.contains("spawn (method vfork)"), "{output:?}");
    place.well("measure -n 30 -t 1 -i 10ms -q -o cyclic.teiji");
    let output = place.teiji("compare fork.teiji cyclic.teiji");
    // Each probe stands where its recording does.
    let differ = "fork and cyclic cannot be compared: their probes differ (spawn; cyclic)";
    assert!(output.code == Some(2) && output.err.contains(differ), "{output:?}");
}

/// Whatever a probe can be set to, a Japanese page says in Japanese what it measured; and none of them but `cyclic` has activations.
#[test]
fn columns_of_every_probe_are_explained_in_japanese() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let mut columns = 0;
    for probe in probe::PROBES {
        let settings = probe.settings.iter().flat_map(|setting| match &setting.values {
            probe::SettingValues::OneOf(words) => words.iter().map(|word| format!("--{} {word}", setting.name)).collect(),
            probe::SettingValues::Time => vec![format!("--{} 2ms", setting.name)],
            probe::SettingValues::Number(..) | probe::SettingValues::Text(_) => Vec::new(),
        });
        if probe.lacks().is_some() {
            continue;
        }
        // What it measures is another program.
        let of_a_command = probe.settings.iter().any(|setting| setting.name == "command");
        let command = if of_a_command { "-- sleep 1" } else { "" };
        for flags in settings.chain([String::new()]) {
            let run = format!("measure --probe {} {flags} -i 10ms -d 100ms -t 1 -q -o {columns}.teiji {command}", probe.name);
            let output = place.teiji(&run);
            // A setting may need another beside it, which says nothing of columns.
            if output.code == Some(2) && output.err.contains("is impossible here") {
                continue;
            }
            assert_eq!(output.code, Some(0), "{flags}: {output:?}");
            place.well(&format!("report {columns}.teiji --lang ja -o {columns}.html --md {columns}.md"));
            let (document, page) = (place.document(&format!("{columns}.teiji")), place.read(&format!("{columns}.md")));
            for column in document.list("/probe/columns") {
                let meaning = column.text("/meaning");
                assert!(!page.contains(meaning), "{meaning} on the Japanese page of {} {flags}: {page}", probe.name);
                columns += 1;
            }
            let is_of_activations = document.text("/probe/rows") == "activations";
            assert_eq!(page.contains("起床"), is_of_activations, "{} {flags}: {page}", probe.name);
            assert!(is_of_activations || page.contains("## 測定した量"), "{page}");
        }
    }
    assert!(columns >= 20, "{columns}");
}

/// Nothing is measured by something else instead, and no recording is left.
#[test]
fn what_a_probe_lacks_is_named() {
    let place = TestFolder::new();
    for (flags, error) in [
        ("--probe rtc --device /nosuch", "the probe rtc cannot measure here: there is no /nosuch. It takes a real-time clock"),
        ("--probe rtc --device /dev/null", "the probe rtc cannot measure here: /dev/null is not a real-time clock"),
    ] {
        let output = place.teiji(&format!("measure {flags} -d 1s -o none.teiji"));
        assert!(output.code == Some(4) && output.err.contains(error), "{output:?}");
        assert!(!place.join("none.teiji").exists());
    }
    // A plan says so before its first run.
    std::fs::write(place.join("plan.toml"), "[measure]\nprobe = 'rtc'\ndevice = '/nosuch'\nsamples = 10\n").unwrap();
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

/// The same of those that cannot measure on this machine, from what they state.
#[test]
fn every_column_that_a_probe_states_has_japanese() {
    let translated = include_str!("../../../report/src/language/japanese_probes.rs");
    for probe in probe::PROBES {
        let words = |setting: &probe::ProbeSetting| match setting.values {
            probe::SettingValues::OneOf(words) => {
                words.iter().map(|word| (setting.name.to_owned(), (*word).to_owned())).collect()
            }
            _ => Vec::new(),
        };
        for settings in probe.settings.iter().flat_map(words).map(|one| [one].into()).chain([plan::ProbeSettings::new()]) {
            let mut run = plan::Run::example(probe.default_interval, 10);
            (run.probe, run.probe_settings) = (probe.name.to_owned(), settings);
            (run.scheduling, run.length) = (probe.default_scheduling, plan::Length::DurationNs(plan::Nanos::from_secs(1)));
            // A value that is impossible beside the defaults of others.
            let Ok(statement) = probe::statement(&run) else { continue };
            for column in statement.columns {
                assert!(translated.contains(&*column.meaning), "{} of {}", column.meaning, probe.name);
            }
        }
    }
}

/// A plan varies the settings of a probe as it varies flags.
#[test]
fn plans_vary_the_settings_of_probes() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let plan = "[measure]\nprobe = 'spawn'\ninterval = '10ms'\nsamples = 10\nthreads = 1\n[vary]\nmethod = ['fork', 'clone']\n";
    std::fs::write(place.join("plan.toml"), plan).unwrap();
    place.well("run plan.toml -q -o out");
    let table = place.well("show out --csv").out;
    assert!(table.contains("method") && table.contains("fork") && table.contains("clone"), "{table}");
    for (text, error) in [
        ("probe = 'spwan'", "plan.toml:2:1: unknown probe 'spwan': expected one of cyclic, "),
        ("probe = 'spawn'\nmethod = 'thread'", "plan.toml:3:1: invalid value 'thread' for 'method' of the probe spawn"),
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

/// Every kind of row in a plan's table and page: with repeats, a factor, a limit, and recordings of which only a histogram or
/// figures are left.
#[test]
fn plans_of_every_kind_of_row() {
    let _turn = exclusive();
    let place = TestFolder::new();
    for (folder, probe, length) in [
        ("columns", "example-columns", "samples = 60"),
        ("events", "example-events", "duration = '200ms'"),
        ("histograms", "cyclic", "samples = 60"),
        ("figures", "cyclic", "samples = 60"),
    ] {
        let plan = format!(
            "[measure]\nprobe = '{probe}'\nthreads = 1\n{length}\n[vary]\npolicy = ['fifo', 'rr']\n[order]\nrepeat = 2\n\
             [limits]\np50 = '10s'\n"
        );
        std::fs::write(place.join("plan.toml"), plan).unwrap();
        place.well(&format!("run plan.toml -q -o {folder}"));
        for entry in std::fs::read_dir(place.join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.extension().is_none_or(|extension| extension != "teiji") {
                continue;
            }
            let recording = format!("{folder}/{}", entry.file_name().unwrap().to_str().unwrap());
            match folder {
                "histograms" => to_histogram(&place, &recording),
                "figures" => to_figures(&place, &recording),
                _ => {}
            }
        }
        let table = place.well(&format!("show {folder} --csv")).out;
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows.len() == 3 && rows[1].contains("fifo") && rows[2].contains("rr"), "{table}");
        let table = place.well(&format!("show {folder}")).out;
        assert!(table.contains("fifo") && table.contains("rr"), "{table}");
        assert_eq!(
            table.lines().next().unwrap().contains("p50"),
            folder != "figures",
            "quantiles are known of all but figures: {table}"
        );
        place.well(&format!("show {folder} --by policy"));
        place.well(&format!("report {folder} -o {folder}.html"));
        let page = place.read(&format!("{folder}.html"));
        assert!(!page.contains("NaN") && !page.contains("null µs"), "{folder}");
        let gate = |figure: &str| place.teiji(&format!("gate {folder} --limit {figure}<10s")).code;
        if folder == "figures" {
            assert_eq!((gate("max"), gate("p50")), (Some(0), Some(3)));
        } else {
            assert_eq!(gate("p50"), Some(0), "{folder}");
        }
    }
}

/// A recording as an import makes it: buckets of 1 µs, and nothing else.
fn histogram_only(place: &TestFolder, name: &str) {
    place.well(&format!("measure -n 200 -t 1 -q -o {name}"));
    to_histogram(place, name);
}

/// Leaves nothing of a recording but a histogram.
fn to_histogram(place: &TestFolder, name: &str) {
    let buckets = json!([[5_000, 5_999, 900], [9_000, 9_999, 99], [63_000, 63_999, 1]]);
    let figures = json!({
        "count": 1_000, "min": 5_999, "mean": 6_400.0, "sd": null, "max": 63_999,
        "p50": 5_999, "p90": 5_999, "p99": 9_999, "p999": 9_999, "p9999": 63_999,
    });
    without_samples(place, name, "histogram", &buckets, &figures);
}

/// Leaves nothing of a recording but what the last line of other programs says.
fn to_figures(place: &TestFolder, name: &str) {
    let figures = json!({
        "count": 1_000, "min": 5_999, "mean": 6_400.0, "sd": null, "max": 63_999,
        "p50": null, "p90": null, "p99": null, "p999": null, "p9999": null,
    });
    without_samples(place, name, "figures", &json!([]), &figures);
}

/// Leaves nothing of a recording but these buckets of a histogram and these figures.
fn without_samples(place: &TestFolder, name: &str, detail: &str, buckets: &Value, figures: &Value) {
    change(place, name, |run| {
        let thread = &mut run["threads"][0];
        thread["detail"] = json!(detail);
        thread["activations"] = Value::Null;
        thread["worst"] = json!([]);
        thread.as_object_mut().unwrap().remove("samples_file");
        thread["histogram_ns"] = json!({"relative_error": 0.0, "buckets": buckets});
        thread["latency_ns"] = figures.clone();
        thread["latency_with_skipped_ns"] = figures.clone();
        (run["warnings"], run["host"]["processes"]) = (json!([]), Value::Null);
    });
    for file in std::fs::read_dir(place.join(name)).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "arrows") {
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_recording_of_a_histogram_only() {
    let _turn = exclusive();
    let place = TestFolder::new();
    histogram_only(&place, "past.teiji");
    assert_read_everywhere(&place, "past", &["64.0"]);
    let show = place.well("show past.teiji").out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        show.contains("The recording has no samples: what was late, skipped or lost is unknown")
            && show.contains("the recording has no samples, so whether the largest latencies came together is unknown"),
        "{show}"
    );
    assert!(!show.contains("of 200 activations") && !show.contains("At 95 % confidence, 1,000"), "{show}");
    assert!(show.contains("– of counts: not known"), "{show}");
    assert!(place.read("past.md").contains("– of counts: not known."));
    assert!(place.read("past.html").contains("\"length_ns\":0,\"min_ns\":[],\"max_ns\":[]"), "nothing is drawn over time");
    // What the buckets tell is judged; what they do not tell is not enough evidence.
    assert_judged(&place, "past.teiji", &["max<64us", "p99<10us"], 0);
    assert_judged(&place, "past.teiji", &["max<63us", "p99<9us"], 1);
    let unknown = ["p99<10us@95%", "rate(>10us)<1e-2@95%", "late==0", "skipped==0", "lost==0"];
    assert_judged(&place, "past.teiji", &unknown, 3);
    let figure = |name: &str| place.teiji(&format!("show past.teiji --figure {name}"));
    assert_eq!((figure("p99").out.trim(), figure("late").code, figure("due").code), ("9.999", Some(2), Some(2)));
    // How its latencies depend on one another is not known, which is not the same as too few of them.
    place.well("measure -n 200 -t 1 -q -o now.teiji");
    let output = place.well("compare now.teiji past.teiji --anyway").out.replace('\n', " ");
    assert!(output.contains("past against now: not compared. The order of samples is unknown"), "{output}");
    assert!(output.contains("Note: no samples in past. Compare recordings that hold every sample"), "{output}");
    assert!(!output.contains("too few"), "{output}");
    assert!(!output.contains(" first  second") && !output.contains("these intervals hold"), "a table without rows: {output}");
    assert!(!place.well("compare now.teiji past.teiji --anyway --md").out.contains("| µs |"));
    place.well("compare now.teiji past.teiji --anyway --html none.html");
    assert!(!place.read("none.html").contains("class=\"differences\""));
    let output = place.teiji("gate now.teiji --baseline past.teiji");
    assert!(output.code == Some(3) && output.out.replace("\n ", "").contains("the order of samples is unknown"), "{output:?}");
    let output = place.teiji("export past.teiji --samples");
    assert!(output.code == Some(2) && output.err.contains("past.teiji holds no samples"), "{output:?}");
    change(&place, "past.teiji", |run| run["threads"][0]["histogram_ns"]["buckets"][1][2] = json!(98));
    let output = place.teiji("verify past.teiji");
    assert!(output.code == Some(1) && output.out.contains("999 latencies"), "{output:?}");
}

/// Figures alone: what they say is shown and judged, and all else is unknown.
#[test]
fn a_recording_of_figures_only() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place.well("measure -n 200 -t 1 -q -o line.teiji");
    to_figures(&place, "line.teiji");
    let output = place.well("verify line.teiji").out;
    assert!(
        output.contains("every figure agrees with its 1000 latencies, of which no samples are known, of 1 thread"),
        "{output}"
    );
    place.well("report line.teiji -o line.html --md line.md --svg line-charts");
    let (show, page, markdown) = (place.well("show line.teiji").out, place.read("line.html"), place.read("line.md"));
    for known in ["64.0", "6.4", "6.0"] {
        assert!(show.contains(known) && page.contains(known) && markdown.contains(known), "{known}: {show}");
    }
    assert!(show.contains("The recording has no samples"), "{show}");
    assert!(!show.contains("no latency was measured") && !show.contains("At 95 % confidence, 1,000"), "{show}");
    assert!(!page.contains("NaN") && !page.contains("null µs") && !page.contains("no latency was measured"));
    assert!(page.matches("Nothing to draw: there are no samples.").count() >= 3);
    assert!(!page.contains("class=\"canvas\"") && !page.contains("class=\"paper\""), "axes would make up a range");
    assert!(show.contains("– not known;") && !show.contains("too few samples"), "{show}");
    assert_judged(&place, "line.teiji", &["max<64us", "mean<7us"], 0);
    assert_judged(&place, "line.teiji", &["max<63us", "mean<6us"], 1);
    let unknown = ["p99<10s", "p99<1us", "p99<10us@95%", "rate(>10us)<1e-2@95%", "late==0", "skipped==0", "lost==0"];
    assert_judged(&place, "line.teiji", &unknown, 3);
    let figure = |name: &str| place.teiji(&format!("show line.teiji --figure {name}"));
    assert_eq!((figure("max").out.trim(), figure("p99").code, figure("due").code), ("63.999", Some(2), Some(2)));
    for (command, code) in [("export line.teiji --samples", 2), ("export line.teiji --histogram", 2)] {
        let output = place.teiji(command);
        assert!(output.code == Some(code) && output.err.contains("line.teiji holds no "), "{command}: {output:?}");
    }
    place.well("measure -n 200 -t 1 -q -o now.teiji");
    let output = place.well("compare now.teiji line.teiji --anyway").out.replace('\n', " ");
    assert!(output.contains("line against now: not compared. The order of samples is unknown"), "{output}");
    assert_eq!(place.teiji("gate now.teiji --baseline line.teiji").code, Some(3));
    // A quantile that was written down is a figure too.
    change(&place, "line.teiji", |run| {
        for figures in ["latency_ns", "latency_with_skipped_ns"] {
            run["threads"][0][figures]["p99"] = json!(9_000);
        }
    });
    assert_eq!(figure("p99").out.trim(), "9.000");
    assert_eq!(place.teiji("gate line.teiji --limit p99<9us").code, Some(1));
    assert_eq!(place.teiji("gate line.teiji --limit p99<10us").code, Some(0));
    change(&place, "line.teiji", |run| run["threads"][0]["latency_ns"]["p99"] = json!(70_000));
    let output = place.teiji("verify line.teiji");
    assert!(output.code == Some(1) && output.out.contains("5999, 70000, 63999, recomputed from the smallest"), "{output:?}");
}

/// Where a latency was as late as the interval, a quantile over the activations that woke is none over those that were due.
#[test]
fn a_histogram_with_overruns_does_not_tell_its_quantiles() {
    let _turn = exclusive();
    let place = TestFolder::new();
    histogram_only(&place, "past.teiji");
    change(&place, "past.teiji", |run| {
        let thread = &mut run["threads"][0];
        thread["histogram_ns"]["buckets"][2] = json!([2_000_000, 2_000_999, 1]);
        for figures in ["latency_ns", "latency_with_skipped_ns"] {
            (thread[figures]["max"], thread[figures]["p9999"]) = (json!(2_000_999), json!(2_000_999));
        }
    });
    place.well("verify past.teiji");
    assert_eq!(place.teiji("gate past.teiji --limit p99<10us").code, Some(3));
    assert_eq!(place.teiji("gate past.teiji --limit max<3ms").code, Some(0));
}
