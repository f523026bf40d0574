// SPDX-License-Identifier: MIT OR Apache-2.0
//! Outputs of other programs, imported, and read in the place of recordings.

use crate::support::{TestFolder, beside_others};
use serde_json::Value;

pub(crate) const HISTOGRAM: &str = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n\
                         000004 000900\t000500\n000005 000090\t000400\n\
                         000009 000008\t000100\n# Total: 000000998 \
                         000001000\n# Min Latencies: 00004 00004\n# Avg Latencies: 00004 00004\n\
                         # Max Latencies: 00070 00009\n# Histogram Overflows: 00002 00000\n\
                         # Histogram Overflow at cycle number:\n# Thread 0: 00017 00500\n\
                         # Thread 1:\n";
const SAMPLES: &str = "       0:       0:       5\n       0:       1:       7\n\
                       \x20      0:       2:     900\n       0:       3:       6\n";

fn place() -> TestFolder {
    let place = TestFolder::new();
    let file = |name: &str, text: &str| std::fs::write(place.join(name), text).unwrap();
    file("hist.txt", HISTOGRAM);
    file("log.md", &format!("# A page\n```\n$ cyclictest -v\n{SAMPLES}```\nand\n\n{HISTOGRAM}"));
    file("none.txt", "Nothing that anybody measured.\n");
    file("damaged.txt", "# Histogram\n000002 000001\n000001 000001\n");
    place
}

#[test]
fn each_output_becomes_a_recording() {
    let _turn = beside_others();
    let place = place();
    let said = place.well("import hist.txt log.md -o all").out;
    assert!(said.contains("Imported: 3 recordings of 2 files\nNext: teiji show all"), "{said}");
    let names = ["hist.txt.teiji", "log.md-4.teiji", "log.md-12.teiji"];
    for name in names {
        let verified = place.well(&format!("verify all/{name}")).out;
        let what = match name {
            "log.md-4.teiji" => "every figure agrees with its 4 samples of 1 thread",
            _ => "figures of 2 threads fit their histogram (no samples to check them by)",
        };
        assert!(verified.contains(what), "{verified}");
        place.well(&format!("report all/{name} -o {name}.html"));
        assert!(!place.read(&format!("{name}.html")).contains("NaN"), "{name}");
    }
    assert_eq!(std::fs::read_dir(place.join("all")).unwrap().count(), 3, "nothing else is left");
    let document: Value =
        serde_json::from_str(&place.well("show all/log.md-4.teiji --json").out).unwrap();
    assert_eq!(document["imported"]["line"], 4);
    assert_eq!(
        document["imported"]["unknown"],
        serde_json::json!(["interval", "scheduling", "start", "load"])
    );
    assert_eq!(document["command_line"], serde_json::json!(["cyclictest", "-v"]));
    assert_eq!(document["threads"][0]["latency_ns"]["max"], 900_000);
    let buckets = place.well("export all/hist.txt.teiji --histogram").out;
    assert!(
        buckets.contains("\n0,,10,70,2,latency,"),
        "as wide as they are, in their unit: {buckets}"
    );
    let table = place.well("show all").out;
    assert!(table.contains("hist.txt") && table.contains("log.md:12"), "{table}");
}

#[test]
fn files_stand_where_recordings_do() {
    let _turn = beside_others();
    let place = place();
    let show = place.well("show hist.txt").out;
    assert!(
        show.contains("Measured by cyclictest, read from hist.txt, line 2")
            && show.contains("Next: teiji report hist.txt"),
        "{show}"
    );
    assert!(show.lines().all(|line| line.chars().count() <= 80), "{show}");
    let ja = place.well("report hist.txt log.md --lang ja -o ja.html").out;
    assert!(ja.contains("\nレポート: ja.html\n"), "{ja}");
    let page = place.read("ja.html");
    let point = "周期の予定時刻から、cyclictest のスレッドがクロックを読み出すまで";
    assert!(page.contains(point), "the measuring point");
    place.well("report hist.txt log.md -o page.html --md page.md --svg charts");
    let page = place.read("page.html");
    assert!(page.contains("hist.txt") && page.contains("log.md-12"), "names of files");
    assert!(!page.contains("teiji-scratch-"), "no path of this machine's");
    // The overflows are anywhere from 10 to 70 µs.
    for (limit, code) in [
        ("max<71us", 0),
        ("max<70.5us", 3),
        ("max<70us", 1),
        ("p50<10us", 3),
        ("late==0", 3),
        ("p99.9<20us", 3),
    ] {
        let output = place.teiji(&format!("gate hist.txt --unit us --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        let output = place.teiji(&format!("gate hist.txt --limit {limit}"));
        assert_eq!(output.code, Some(3), "nothing says the unit: {limit}: {output:?}");
    }
    let samples = place.well("show log.md").out;
    assert!(!samples.contains("on time"), "{samples}");
    let output = place.well("compare hist.txt log.md --anyway").out;
    assert!(output.contains("not compared"), "{output}");
    let output = place.teiji("gate hist.txt --baseline log.md");
    assert_eq!(output.code, Some(2), "two outputs: {output:?}");
}

/// Its values have a unit by now: what `gate` was told of it changed nothing, and its advice was to
/// tell it again.
#[test]
fn the_unit_of_a_recording_is_said_when_it_is_imported() {
    let _turn = beside_others();
    let place = place();
    place.well("import hist.txt -o made");
    let gate = "gate made/hist.txt.teiji --limit max<71us";
    let output = place.teiji(gate);
    assert_eq!(output.code, Some(3), "{output:?}");
    let advice = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(advice.contains("name it with --unit, and import a recording's output again"));
    let output = place.teiji(&format!("{gate} --unit us"));
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("teiji import --unit us FILE"), "{output:?}");
    place.well("import hist.txt --unit us -o again");
    place.well("gate again/hist.txt.teiji --limit max<71us");
}

/// `-d 500` of cyclictest, as `measure --distance` shows and lists it.
#[test]
fn threads_with_different_intervals_are_told_apart() {
    let _turn = beside_others();
    let place = place();
    let lines = "policy: fifo: loadavg: 1.53 1.62 1.35 6/111 12000\n\n\
                 T: 0 (11999) P:80 I:1000 C:  19 Min: 20 Act:   20 Avg:   60 Max:     292\n\
                 T: 1 (12000) P:80 I:1500 C:  12 Min: 17 Act:   27 Avg:   47 Max:      74\n";
    std::fs::write(place.join("two.txt"), lines).unwrap();
    place.well("import two.txt -o made");
    let show = place.well("show made/two.txt.teiji").out.replace('\n', " ");
    assert!(show.contains("every 1ms (+500us for each further thread)"), "{show}");
    let interval = |csv: &str, row: usize, name: &str| -> String {
        let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let at = rows.next().unwrap().iter().position(|heading| *heading == name).unwrap();
        rows.nth(row).unwrap()[at].to_owned()
    };
    for csv in ["show made/two.txt.teiji --csv", "show made --csv"] {
        let csv = place.well(csv).out;
        assert_eq!([0, 1].map(|row| interval(&csv, row, "interval_ns")), ["1000000", "1500000"]);
        assert_eq!([0, 1].map(|row| interval(&csv, row, "max_ns")), ["292000", "74000"], "{csv}");
    }
}

/// Nothing of an import is done if one file cannot be read, unless that was asked for.
#[test]
fn a_file_that_cannot_be_read_ends_an_import() {
    let _turn = beside_others();
    let place = place();
    for (file, why) in [
        ("none.txt", "none.txt: no output of a known format is in it"),
        ("damaged.txt", "damaged.txt: line 3: the bucket does not follow the one above"),
        ("nowhere.txt", "nowhere.txt: No such file or directory"),
        (".", "Is a directory"),
    ] {
        let output = place.teiji(&format!("import hist.txt {file} -o made"));
        assert!(output.code == Some(2) && output.err.contains(why), "{file}: {output:?}");
        assert!(!place.join("made").exists(), "{file}");
    }
    let output = place.teiji("import hist.txt none.txt log.md -o made --keep-going");
    assert!(
        output.code == Some(2) && output.out.contains("Imported: 3 recordings of 2 files"),
        "{output:?}"
    );
    let output = place.teiji("import hist.txt -o made");
    assert!(output.code == Some(2) && output.err.contains("exists already"), "{output:?}");
    assert_eq!(std::fs::read_dir(place.join("made")).unwrap().count(), 3);
    let output = place.teiji("import hist.txt --format nonsense -o x");
    assert!(output.code == Some(2) && output.err.contains("--list names all"), "{output:?}");
    let output = place.teiji("import hist.txt --format rt-tests-json -o x");
    assert!(
        output.code == Some(2) && output.err.contains("no output of the format rt-tests-json"),
        "{output:?}"
    );
}

/// Every format that is read is described, and the other way round.
#[test]
fn each_format_is_described() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let list = place.well("import --list").out;
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    let docs = include_str!("../../../../docs/import.md");
    let listed: Vec<&str> = list
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .collect();
    let described: Vec<&str> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|line| line.split('`').next())
        .collect();
    assert_eq!(listed, described);
}

/// Its figures had a unit that nobody had said, and placeholders looked like settings.
#[test]
fn what_an_output_does_not_say_is_not_shown() {
    let place = TestFolder::new();
    let lines = [
        "# Histogram",
        "000003 000002",
        "000009 000001",
        "# Min Latencies: 00003",
        "# Avg Latencies: 00005",
        "# Max Latencies: 00009",
        "",
    ];
    let text = lines.join("\n");
    std::fs::write(place.join("open.txt"), text).unwrap();
    let shown = place.well("show open.txt").out;
    assert!(shown.starts_with("Worst latency 9 (unit not stated), "), "{shown}");
    let row = shown.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
    assert_eq!(row.split_whitespace().nth(2), Some("3"), "as many were counted: {shown}");
    // So do its page and its tables, of others beside it too.
    std::fs::write(place.join("hist.txt"), HISTOGRAM).unwrap();
    place.well("report open.txt hist.txt -o page.html --md page.md");
    let table = place.read("page.md");
    assert!(table.contains("| recording | CPU | measurements | on time |"), "{table}");
    for row in ["| **open.txt** load not known |  | 3 | –", "|  | 2,000 | –", "| – | 1,000 | –"]
    {
        assert!(table.contains(row), "{row}: {table}");
    }
    let page = place.read("page.html");
    assert!(page.contains(">measurements</th>"), "its heading");
    assert!(page.contains("<td data-key=\"due\" data-value=\"2000\">2,000</td>"), "its total");
    let table = place.well("show open.txt --md").out;
    assert!(table.contains("| CPU | measurements | late |"), "{table}");
    assert!(table.contains("| open.txt | 0 |  | 3 | – | – |"), "{table}");
    let json: Value = serde_json::from_str(&place.well("show open.txt --json").out).unwrap();
    for of in [&json["run"], &json["threads"][0]] {
        assert!(of["interval_ns"].is_null() && of["scheduling"].is_null(), "{json}");
    }
}

/// Samples of another program passed a limit on what is lost of them, which nobody counted.
#[test]
fn what_an_output_does_not_count_passes_no_limit() {
    let _turn = beside_others();
    let place = place();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/src/samples");
    for name in ["cyclictest-2.4-v.txt", "rt-app.log"] {
        std::fs::copy(format!("{samples}/{name}"), place.join(name)).unwrap();
        let judged = place.teiji(&format!("gate {name} --limit lost==0"));
        assert_eq!(judged.code, Some(3), "{name}: {judged:?}");
        assert!(judged.out.contains("late, skipped or lost"), "{name}: {judged:?}");
    }
    let csv = place.well("show rt-app.log --csv").out;
    let cell = |row: usize, name: &str| {
        let at = csv.lines().next().unwrap().split(',').position(|head| head == name);
        csv.lines().nth(row).unwrap().split(',').nth(at.unwrap()).unwrap().to_owned()
    };
    assert_eq!((cell(1, "count"), cell(1, "lost")), ("40".to_owned(), String::new()), "{csv}");
    let json: Value = serde_json::from_str(&place.well("show rt-app.log --json").out).unwrap();
    assert!(
        json["threads"][0]["evidence"]["samples_lost"].is_null(),
        "nor has its document: {json}"
    );
    let refused = place.teiji("export hist.txt --as parquet");
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
}

/// A minimum that no output states was 0, and the ends of wide buckets were the values in them, to
/// within 1 %.
#[test]
fn bounds_are_not_shown_as_values() {
    let _turn = beside_others();
    let place = place();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/src/samples");
    std::fs::copy(format!("{samples}/perf-sched-latency.txt"), place.join("tasks.txt")).unwrap();
    let shown = place.well("show tasks.txt").out;
    assert!(shown.contains("the load, the minimum\n"), "{shown}");
    let row = |shown: &str| -> Vec<String> {
        let row = shown.lines().find(|line| line.trim_start().starts_with("0 ")).unwrap();
        row.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(row(&shown)[6..8], ["–", "58.0"], "{shown}");
    let json: Value = serde_json::from_str(&place.well("show tasks.txt --json").out).unwrap();
    assert_eq!(json["threads"][0]["latency_ns"]["min"], Value::Null);
    let buckets = [
        "     usecs               : count     distribution",
        "         0 -> 1          : 10       |****                |",
        "        16 -> 31         : 90       |********************|",
        "",
    ];
    std::fs::write(place.join("buckets.txt"), buckets.join("\n")).unwrap();
    let shown = place.well("show buckets.txt").out;
    // The last bucket may have all that is larger.
    assert_eq!(row(&shown)[6..8], ["≤1.0", "≥14.4"], "{shown}");
    assert!(shown.contains("≤ upper end of a bucket"), "{shown}");
    place.well("report buckets.txt hist.txt -o page.html --md page.md");
    let page = place.read("page.md");
    assert!(page.contains("| ≤1.0 | ≥14.4 |") && page.contains(" ≤ upper end of a buck"), "{page}");
    assert!(page.contains("| 4.0 | 4.0 | – | 4.0 |"), "buckets of one value have no sign: {page}");
    place.well("import buckets.txt hist.txt -o both");
    let table = place.well("show both --md").out;
    assert!(table.contains(" ≥14.4 ") && table.contains("≤ upper end of a bucket."), "{table}");
}

/// Its headline had figures in a unit that nobody had said and no condition, nothing said who had
/// measured them, and its page was of the phases of a run.
#[test]
fn a_folder_of_imports_says_what_a_single_one_does() {
    let _turn = beside_others();
    let place = place();
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    place.well("import hist.txt -o one");
    let alone = in_one_line(&place.well("show hist.txt").out);
    let (head, _) = alone.split_once(" hist.txt: cyclictest, load not known").unwrap();
    assert!(head.starts_with("Worst latency 70 (unit not stated), load not known "), "{head}");
    assert!(head.contains("· Measured by cyclictest, whose output does not say: "), "{head}");
    let shown = in_one_line(&place.well("show one").out);
    let (figure, who) =
        head.split_once(" ! Unit not stated: that of cyclictest by default ").unwrap();
    assert!(shown.starts_with(&format!("{figure} ! Unit not stated in 1 combin")), "{shown}");
    assert!(shown.contains(who), "{shown}");
    place.well("report one -o one.html --md one.md");
    assert!(place.read("one.html").contains("<title>hist.txt – teiji</title>"));
    let page = place.read("one.html");
    assert!(page.contains("<strong>70<small>(unit not stated)</small>"), "its large figure");
    let text = place.read("one.md");
    assert!(text.starts_with("# hist.txt – teiji\n\n**Worst latency 70 (unit not st"), "{text}");
    assert!(text.contains("\n> - · Measured by cyclictest, whose output does not say: "), "{text}");
    place.well("import hist.txt log.md -o all");
    // The two without a unit are none that it could be the worst of.
    let text = "Worst latency 900 µs with source=log.md:4, load not known";
    assert!(in_one_line(&place.well("show all").out).starts_with(text));
    place.well("report all --lang ja -o all.html --md all.md");
    let ja = place.read("all.md");
    let begin = "# 記録 – teiji\n\n**最大レイテンシ 900\u{a0}µs(source=log.md:4)、\
                 負荷は不明**\n";
    assert!(ja.starts_with(begin), "{ja}");
    assert!(ja.contains("Cyclictest で測定。出力に記載がないものは表の下を参照"), "{ja}");
}

/// Times of `cyclictest -N` were a thousand times too large, without a word beside most of them.
#[test]
fn a_unit_that_nobody_stated_is_said_wherever_there_are_times() {
    let _turn = beside_others();
    let place = place();
    let said = "unit not stated: that of cyclictest by default";
    place.well("import hist.txt -o all");
    place.well("import hist.txt --unit us -o known");
    let one = "all/hist.txt.teiji";
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = place.well(&format!("show {one}")).out;
    assert!(flat(&shown).contains(&format!("µs as measured; {said}")), "{shown}");
    assert!(place.well(&format!("show {one} --csv")).out.contains(said));
    for args in [format!("show {one} --md"), "show all".to_owned(), "show all --md".to_owned()] {
        let text = flat(&place.well(&args).out);
        assert!(text.contains("Unit not stated: that of cyclictest by default."), "{args}: {text}");
    }
    assert!(place.well("show all --csv").out.contains(said));
    assert!(place.well("show all --json").out.contains(said));
    let figure = place.well(&format!("show {one} --figure max"));
    assert_eq!((figure.out.trim(), figure.err.contains(said)), ("70.000", true), "{figure:?}");
    place.well(&format!("report {one} -o page.html --md page.md --svg charts"));
    let html = place.read("page.html");
    assert!(html.contains("Unit not stated: that of") && html.contains("µs (unit not stated)"));
    assert!(place.read("page.md").contains("Unit not stated: that of cyclictest by default."));
    for format in ["osadl", "openmetrics", "hdrhistogram", "cyclictest-json"] {
        let refused = place.teiji(&format!("export {one} --as {format}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
        assert!(refused.err.contains("import it again with --unit"), "{refused:?}");
    }
    place.well("export known/hist.txt.teiji --as osadl");
    for what in ["--as cyclictest-histogram", "--histogram"] {
        assert!(place.well(&format!("export {one} {what}")).err.contains(said), "{what}");
    }
    assert!(!place.well("show known/hist.txt.teiji").out.contains("unit not stated"));
}

/// Two were shown, which are as many as have a smallest and a largest. And no load was off target
/// where nobody knows of any.
#[test]
fn how_many_there_were_is_not_counted_where_no_output_says_it() {
    let place = TestFolder::new();
    let text = "== Sampling period: 1000 us\n== Test mode: periodic user-mode task\n\
                == All results in microseconds\nwarming up...\nrunning quietly for 3 seconds\n\
                ---|-----------|-----------|-----------|--------|------|---------------\n\
                RTS|     15.840|     16.406|     16.656|       0|     0|    00:00:03/00:00:03\n";
    for name in ["quiet.txt", "still.txt"] {
        std::fs::write(place.join(name), text).unwrap();
    }
    place.well("import quiet.txt still.txt -o all");
    let json = |of: &str| -> Value {
        serde_json::from_str(&place.well(&format!("show {of} --json")).out).unwrap()
    };
    let document = json("all/quiet.txt.teiji");
    assert_eq!(document["imported"]["unknown"].as_array().unwrap().last().unwrap(), "count");
    let thread = &document["threads"][0];
    assert!(thread["latency_ns"]["count"].is_null() && thread["cpu"].is_null(), "{thread}");
    assert_eq!(
        (&thread["latency_ns"]["max"], &thread["interval_ns"]),
        (&16_656.into(), &1_000_000.into())
    );
    for key in ["cpus", "length", "loads", "scheduling"] {
        assert!(document["run"][key].is_null(), "{key}");
    }
    let cell = |csv: &str, name: &str| {
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        let at = rows[0].iter().position(|head| *head == name).unwrap();
        rows[1][at].to_owned()
    };
    let csv = place.well("show all/quiet.txt.teiji --csv").out;
    assert_eq!([cell(&csv, "count"), cell(&csv, "as_measured_count")], ["", ""]);
    assert_eq!((cell(&csv, "max_ns"), cell(&csv, "load_off_target")), ("16656".into(), "".into()));
    assert!(document["load_off_target"].is_null(), "{document}");
    let folder = json("all");
    let one = &folder["combinations"][0];
    assert!(one["n"].is_null() && one["as_measured"]["n"].is_null(), "{one}");
    assert!(one["load_off_target"].is_null(), "{one}");
    let csv = place.well("show all --csv").out;
    assert_eq!([cell(&csv, "n"), cell(&csv, "load_off_target")], ["", ""]);
    let table = place.well("show all").out;
    let row = table.lines().find(|line| line.starts_with("quiet.txt")).unwrap();
    assert!(!row.split_whitespace().any(|cell| cell == "2"), "{table}");
}

/// One file without a gap kept all others of the call from being imported.
#[test]
fn a_clean_hwlatdetect_is_a_result() {
    let place = place();
    let lines = [
        "hwlatdetect:  test duration 120 seconds",
        "   detector: tracer",
        "   parameters:",
        "        Latency threshold: 10us",
        "        Sample window:      1000000us",
        "        Sample width:      500000us",
        "",
        "Starting test",
        "test finished",
        "Max Latency: Below threshold",
        "Samples recorded: 0",
        "Samples exceeding threshold: 0",
        "",
    ];
    let text = lines.join("\n");
    std::fs::write(place.join("clean.txt"), text).unwrap();
    place.well("import clean.txt -o recordings");
    let shown = place.well("show recordings/clean.txt.teiji").out;
    assert!(shown.starts_with("No gap above 10us was found in 120 windows of 1s\n"), "{shown}");
    assert!(!shown.contains("contradict"), "{shown}");
    let folder = place.well("show recordings").out;
    assert!(folder.starts_with("1 combination, no gap above 10us was found in 120 "), "{folder}");
    place.well("verify recordings/clean.txt.teiji");
    place.well("report recordings/clean.txt.teiji -o clean.html");
    let gated = place.teiji("gate recordings/clean.txt.teiji --limit max<50us");
    assert_eq!(gated.code, Some(3), "{gated:?}");
}

/// rteval's version was cyclictest's, the load that it says was not known, and the name of a
/// table's shape was a program's.
#[test]
fn who_measured_is_said_as_far_as_it_is_known() {
    let place = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/src/samples");
    std::fs::copy(format!("{samples}/rteval-cyclictest.xml"), place.join("summary.xml")).unwrap();
    std::fs::copy(format!("{samples}/bcc-runqlat.txt"), place.join("runqlat.txt")).unwrap();
    std::fs::write(place.join("column.csv"), "latency_us\n5\n7\n5\n6\n5\n8\n").unwrap();
    place.well("import summary.xml runqlat.txt column.csv -o all");
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = flat(&place.well("show all/summary.xml.teiji").out);
    assert!(shown.starts_with("Worst latency 31.0 µs, load: kcompile "), "{shown}");
    assert!(shown.contains("· Measured by cyclictest (run by rteval 3.8) summary.xml"), "{shown}");
    for (name, shape) in [("runqlat.txt-3", "bpf-histogram"), ("column.csv", "columns")] {
        let shown = flat(&place.well(&format!("show all/{name}.teiji")).out);
        for said in [
            format!("Measured by an unknown program ({shape}), whose output does not say: "),
            format!(": an unknown program ({shape}), "),
        ] {
            assert!(shown.contains(&said), "{said}: {shown}");
        }
        assert!(!shown.contains(&format!(" {shape},")), "{shown}");
    }
    place.well("report all/column.csv.teiji --lang ja -o ja.html --md ja.md");
    let ja = place.read("ja.md");
    assert!(ja.contains("不明なプログラム(columns)"), "{ja}");
}

/// A mean and a count that LinuxCNC does not print were wanted of it.
#[test]
fn a_mean_that_no_output_states_is_nowhere() {
    let place = TestFolder::new();
    let line = |thread: &str, max: &str| {
        format!("   12 secs  {thread} min:  -9.800 uS max:  {max} uS sdev:   1.300 uS\n")
    };
    let text = line(" base", "14.200") + &line("servo", "17.500");
    std::fs::write(place.join("lines.txt"), text).unwrap();
    place.well("import lines.txt -o all");
    let shown = place.well("show all/lines.txt.teiji").out;
    for row in ["0 – – – – – -9.8 – – – – 14.2", "all – – – – -9.8 – – – – 17.5"]
    {
        let is_row = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == row;
        assert!(shown.lines().any(is_row), "{row}: {shown}");
    }
    let gated = place.teiji("gate all/lines.txt.teiji --limit mean<10us");
    assert!(gated.code == Some(3) && gated.out.contains("not known"), "{gated:?}");
    assert_eq!(place.well("show all/lines.txt.teiji --figure sd").out, "1.300\n");
    let none = place.teiji("show all/lines.txt.teiji --figure mean");
    assert!(none.out.is_empty(), "{none:?}");
    let failed = place.teiji("gate all/lines.txt.teiji --limit max<10us");
    assert_eq!(failed.code, Some(1), "the largest is known: {failed:?}");
}

/// Headings stood above nothing, a break at no latency was said of another program's run, and
/// samples without times were all at 0 s.
#[test]
fn a_page_has_no_section_of_what_no_output_says() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/src/samples");
    for name in ["cyclictest-2.4-fifo.txt", "jitterdebugger-samples.raw"] {
        std::fs::copy(format!("{samples}/{name}"), place.join(name)).unwrap();
    }
    place.well("report cyclictest-2.4-fifo.txt -o page.html --md page.md");
    let page = place.read("page.md");
    let headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let expected = [
        "# cyclictest-2.4-fifo.txt – teiji",
        "## Summary",
        "## What was measured",
        "## Conditions",
        "## How it was measured",
        "## Words",
    ];
    assert_eq!(headings, expected, "{page}");
    for nothing in ["Break above", "| not known |", "``", "**jitter**", "Nothing to draw"] {
        assert!(!page.contains(nothing), "{nothing}: {page}");
    }
    let html = place.read("page.html");
    for id in ["histogram", "latency-over-time", "exceedance", "worst", "inferences"] {
        assert!(!html.contains(&format!("\"#{id}\"")), "a link to {id}");
        assert!(!html.contains(&format!("<section id=\"{id}\"")), "{id}");
    }
    place.well("report jitterdebugger-samples.raw -o raw.html --md raw.md");
    let raw = place.read("raw.md");
    assert!(raw.contains("| 30.0 | – | – | 1 | 0 |") && !raw.contains(" over time"), "{raw}");
}

/// A folder with an output of those that the importers are tested by.
fn sample(name: &str) -> TestFolder {
    let place = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/src/samples");
    std::fs::copy(format!("{samples}/{name}"), place.join(name)).unwrap();
    place.well(&format!("import {name} -o all"));
    place
}

/// Where a figure was known to be anywhere in a bucket, only some tables said so, and a gate
/// failed a maximum that may have been below the limit.
#[test]
fn a_bound_is_one_wherever_it_is_shown() {
    let _turn = beside_others();
    let place = sample("rtla-osnoise-hist.txt");
    let of = |verb: &str| place.well(&format!("{verb} all/rtla-osnoise-hist.txt.teiji")).out;
    let show = of("show");
    assert!(show.starts_with("Worst latency ≤319 µs"), "{show}");
    assert_eq!(show.matches(" ≤319.0\n").count(), 2, "its thread and all: {show}");
    assert!(show.contains("  p50     ≤9.00 µs, no interval"), "{show}");
    for (figure, value) in
        [("max", "≤319.000"), ("min", "≤9.000"), ("p95", "≤19.000"), ("mean", "≤12.438")]
    {
        assert_eq!(of(&format!("show --figure {figure}")).trim(), value, "{figure}");
    }
    assert!(of("show --md").contains(" | ≤319.0 | "), "Markdown");
    let csv = of("show --csv");
    let of_thread = "max 310000..319000; mean 3429..12438; min 0..9000; p50 0..9000; \
                     p90 10000..19000; p99 10000..19000; p999 10000..19000; p9999 40000..49000";
    assert!(csv.lines().next().unwrap().ends_with(",caveats,between_ns"), "{csv}");
    assert!(csv.lines().nth(2).unwrap().ends_with(of_thread), "{csv}");
    let document: Value = serde_json::from_str(&of("show --json")).unwrap();
    let figures = &document["threads"][1]["latency_ns"];
    assert_eq!(figures["max"], 319_000);
    assert_eq!(figures["between"]["max"], serde_json::json!([310_000, 319_000]));
    let table = place.well("show all").out;
    assert!(table.contains(" ≤319.0\n") && table.starts_with("Worst latency ≤319 µs"), "{table}");
    let matrix: Value = serde_json::from_str(&place.well("show --json all").out).unwrap();
    let row = &matrix["combinations"][0]["between_ns"]["max"];
    assert_eq!(*row, serde_json::json!([310_000, 319_000]));
    assert!(place.well("show --csv all").out.contains("max 310000..319000"), "CSV of a folder");
    let page = of("report -o x.html --md x.md");
    assert!(place.read("x.md").contains("latency ≤319"), "{page}");
    let both = "compare all/rtla-osnoise-hist.txt.teiji all/rtla-osnoise-hist.txt.teiji";
    assert!(place.well(both).out.contains("max     ≤319.0  ≤319.0"), "{}", place.well(both).out);
    for (limit, code, seen) in [
        ("max<320us", 0, "≤319.000 µs on thread 1"),
        ("max<315us", 3, "≤319.000 µs on thread 1"),
        ("max<=309us", 1, "≥310.000 µs on thread 1"),
        ("mean<13.5us", 0, "≤12.4 µs on thread 1"),
        ("mean<12.5us", 3, "≤12.4 µs on thread 1"),
        ("mean<12.44us", 3, "≤12.4 µs on thread 1"),
        ("mean<12.4us", 3, "≤12.438 µs on thread 1"),
        ("mean<3us", 1, "≥3.4 µs on thread 1"),
    ] {
        let output = place.teiji(&format!("gate all/rtla-osnoise-hist.txt.teiji --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        assert!(output.out.contains(seen), "{limit}: {output:?}");
    }
    place.well("verify all/rtla-osnoise-hist.txt.teiji");
}

/// Such a quantile was anywhere in its bucket to a gate, and an upper end in a folder's table.
#[test]
fn a_quantile_that_is_stated_decides() {
    let _turn = beside_others();
    let place = sample("schbench.txt");
    for (limit, code) in [
        ("p50<=16864us", 0),
        ("p50<16864us", 1),
        ("p99<17249us", 0),
        ("p99<17200us", 1),
        ("p95<17100us", 0),
        ("p95<17000us", 3),
        ("max<=27964us", 3),
    ] {
        let output =
            place.teiji(&format!("gate all/schbench.txt-22-request.teiji --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
    }
    let table = place.well("show all").out;
    assert!(table.contains(" 17,248.0 "), "{table}");
}

/// A total above all of its parts was a warning, and the gate passed by the parts.
#[test]
fn a_total_that_its_parts_contradict_is_judged() {
    let _turn = beside_others();
    let place = sample("rtla-timerlat-top.txt");
    let whole = place.read("rtla-timerlat-top.txt");
    std::fs::write(place.join("top.txt"), whole.split("rtla timerlat hit").next().unwrap())
        .unwrap();
    place.well("import top.txt -o top");
    let recording = "top/top.txt-8-thread.teiji";
    for (limit, code) in [("max<43us", 0), ("max<42us", 1)] {
        let output = place.teiji(&format!("gate {recording} --limit {limit}"));
        assert_eq!(output.code, Some(code), "{limit}: {output:?}");
        assert!(output.out.contains("42.000 µs on thread 1"), "{output:?}");
    }
    let show = place.well(&format!("show {recording}")).out;
    assert!(show.contains("42 us") && show.contains("41 us"), "both are said: {show}");
}

/// They were repeats of one another.
#[test]
fn columns_of_a_file_have_rows_of_their_own() {
    let _turn = beside_others();
    let place = sample("columns-decimal-comma.csv");
    let table = place.well("show all").out;
    let source = "columns-decimal-comma.csv:";
    for column in ["Hardware (ms)", "Tuned guest (ms)", "Untuned guest (ms)"] {
        let json = place.well("show all --json").out;
        assert!(json.contains(&format!("\"source\": \"{source}{column}\"")), "{json}");
    }
    assert!(table.contains("(the worst of 3 combinations)"), "{table}");
}

/// They were a full bar at the largest, and the curve went on to it.
#[test]
fn what_is_beyond_a_histogram_is_said_and_not_drawn() {
    let _turn = beside_others();
    let place = place();
    let beyond =
        "Beyond the histogram and not drawn: 2 latencies, anywhere from 10.0 µs to 70.0 µs";
    place.well("import hist.txt --unit us -o all");
    let shown = place.well("show all/hist.txt.teiji").out;
    assert!(shown.contains(" 9.02 µs\n"), "{shown}");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(&format!("{beyond}.")), "{shown}");
    place.well("report all/hist.txt.teiji -o x.html --svg charts");
    let page = place.read("x.html");
    assert!(page.contains(&format!(" of each latency. {beyond}.")), "the histogram");
    assert!(!page.contains("every one that was measured"), "it is not");
    let curve = "\"latency_ns\":[4000,4992,8960,9023],\"at_least\":[2000,600,110,2]}";
    assert!(page.contains(curve), "it ends above those beyond");
    for chart in ["histogram", "exceedance"] {
        assert!(place.read(&format!("charts/{chart}.svg")).contains(beyond), "{chart}");
    }
}

/// It was complete, and every limit above its last latency passed.
#[test]
fn a_run_that_a_latency_ended_was_stopped_early() {
    let _turn = beside_others();
    for (name, recording, at) in [
        ("cyclicdeadline-2.4-b.txt", "cyclicdeadline-2.4-b.txt.teiji", "32.0 µs of thread 1"),
        ("rteval-cyclictest.xml", "rteval-cyclictest.xml.teiji", "31.0 µs of thread 0"),
        ("signaltest-2.10-b.txt", "signaltest-2.10-b.txt.teiji", "10.1 ms of thread 1"),
        ("jitterdebugger-lines.txt", "jitterdebugger-lines.txt.teiji", "195 µs of thread 1"),
        ("rtla-timerlat-top.txt", "rtla-timerlat-top.txt-8-thread.teiji", "42.0 µs of thread 1"),
    ] {
        let place = sample(name);
        let shown = place.well(&format!("show all/{recording}")).out;
        assert!(shown.contains(&format!("Stopped by its program at a latency of {at}")), "{shown}");
        place.well(&format!("verify all/{recording}"));
        let output = place.teiji(&format!("gate all/{recording} --limit max<10s"));
        assert_eq!(output.code, Some(3), "{name}: {output:?}");
        assert!(output.out.contains("the run ended early"), "{output:?}");
        place.well(&format!("report all/{recording} -o x.html --md x.md"));
        assert!(!place.read("x.md").contains("| never |"), "its break value: {name}");
    }
}

/// They were ranked among others as if they were µs, and exported under headings in ns.
#[test]
fn an_unstated_unit_is_ranked_and_headed_by_nothing() {
    let _turn = beside_others();
    let place = place();
    let samples = "       0:       0:      12\n       0:       1:      13\n";
    std::fs::write(place.join("v.txt"), samples).unwrap();
    std::fs::write(
        place.join("x.txt"),
        "idx time_s latency_us\n0 1.5 1\n1 1.6 3\n2 1.7 2\n3 1.8 1\n4 1.9 2\n",
    )
    .unwrap();
    place.well("import v.txt x.txt hist.txt -o all");
    let table = place.well("show all").out;
    assert!(
        table.starts_with("Worst latency 3.00 µs") || table.starts_with("Worst wake-up 3.00 µs"),
        "{table}"
    );
    let csv = place.well("export all/v.txt.teiji --samples").out;
    assert!(csv.starts_with("thread,cpu,event,time,latency\n0,,0,,12\n"), "{csv}");
    place.well("report all -o x.html --svg charts");
    let page = place.read("x.html");
    let few = page.find("Worst").map(|at| &page[at..at + 60]);
    assert!(page.contains("3.00 µs"), "{few:?}");
}
