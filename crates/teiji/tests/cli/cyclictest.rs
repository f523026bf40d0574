// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji cyclictest` with what the other one does not have; what both have is compared with it in
//! `tests/outside/beside_rt_tests.py`.

use crate::ordinary_user::{powerless, public};
use crate::support::skipped::{Need, skipped};
use crate::support::{Running, TEIJI, TestFolder, cpus, may_real_time_or_skip, soon};
use rustix::process::Signal;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

fn said(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Each call makes one, with as many samples as its output has cycles.
#[test]
fn a_recording_besides() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    let cyclictest = |clock: &str| {
        let mut command = place.command(env!("CARGO_BIN_EXE_teiji"));
        let words = "cyclictest -q -t 1 -a 0 -i 1000 -l 50 --json=- -c";
        command.args(words.split(' ')).arg(clock).env("TEIJI_RECORD", "kept");
        said(&mut command)
    };
    // On CLOCK_REALTIME a row has two columns.
    for clock in ["0", "1"] {
        let (code, out, err) = cyclictest(clock);
        assert_eq!(code, 0, "{err}");
        let json = out.split("\nT: 0").next().unwrap();
        let json = &json[json.find('{').unwrap()..];
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        let cycles = json["thread"]["0"]["cycles"].as_u64().unwrap();
        let path = err.lines().find_map(|line| line.split_once("recorded in ")).unwrap().1;
        let name = path.strip_prefix("kept/").unwrap();
        place.well(&format!("verify kept/{name}"));
        let thread = place.document(&format!("kept/{name}")).threads().remove(0);
        assert_eq!(u64::try_from(thread.whole("/latency_ns/count")), Ok(cycles));
        let min = json["thread"]["0"]["min"].as_i64().unwrap();
        assert_eq!(min, thread.whole("/latency_ns/min") / 1_000);
    }
    assert_eq!(std::fs::read_dir(place.join("kept")).unwrap().count(), 2);
}

/// Each thread was printed with the priority that it would have had without a recording.
#[test]
fn what_a_recorded_run_prints_is_what_its_threads_have() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    let mut command = place.command(env!("CARGO_BIN_EXE_teiji"));
    let words = "cyclictest -q -t 3 -d0 -p 20 --priospread -l 20 --latency=50";
    let (code, out, err) = said(command.args(words.split(' ')).env("TEIJI_RECORD", "kept"));
    assert_eq!((code, out.matches(" P:20 ").count()), (0, 3), "{out}{err}");
    assert!(!out.contains("50us"), "{out}");
    let path = err.lines().find_map(|line| line.split_once("recorded in ")).unwrap().1;
    for thread in place.document(path).threads() {
        assert_eq!(thread.whole("/scheduling/prio"), 20);
    }
}

#[test]
fn by_a_link_of_its_name_and_as_an_older_version() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    for name in ["cyclictest", "hackbench"] {
        symlink(env!("CARGO_BIN_EXE_teiji"), place.join(name)).unwrap();
    }
    let histogram = "-q -t1 -a 0 -l 5 -h 2";
    let lines = |version: &str| {
        let mut command = place.command(place.join("cyclictest"));
        command.args(histogram.split(' ')).env("TEIJI_AS_VERSION", version);
        let (code, out, err) = said(&mut command);
        assert_eq!(code, 0, "{err}");
        out
    };
    assert!(lines("2.4").contains("\n# Total: ") && lines("1.1").contains("\n# Total: "));
    assert!(!lines("").contains("# Total"));
    let mut command = place.command(place.join("hackbench"));
    let (code, out, _) = said(command.args(["-g", "1", "-l", "1"]));
    assert!(code == 0 && out.contains("\nTime: "), "{out}");
}

/// Each as it is printed there, without sudo and the folder of the program; what would take longer
/// is ended as with Ctrl-C.
#[test]
fn command_lines_of_articles_run_as_they_stand() {
    let place = TestFolder::new();
    for (words, line) in [
        ("cyclictest -p 90 -m -c 0 -i 200 -n -v 100 -q -l 5000", "       0:       0:"),
        ("cyclictest -m -t -p 80 -n -i 500 -l 100000", "T: 0 ("),
        ("cyclictest --smp -m -l 30000", "T: 0 ("),
        ("cyclictest --smp -m -l 30000 -p 49", "T: 0 ("),
        (
            "taskset -c 0 cyclictest -p 98 -m -t1 -n -D 3h -i 200 -a 1 --policy=rr -h500 -q",
            "# Max Latencies: ",
        ),
        ("hackbench 50", "== 2000 tasks)"),
        ("hackbench -l 100000", "== 400 tasks)"),
    ] {
        let mut all = words.split(' ');
        let is_hackbench = words.starts_with("hackbench");
        let mut command = match words.strip_prefix("taskset -c 0 ") {
            Some(_) if cpus().len() < 2 => {
                skipped(Need::TwoCpus, "there is one CPU");
                continue;
            }
            Some(_) => {
                let mut taskset = place.command("taskset");
                taskset.args(all.by_ref().skip(1).take(2)).arg(TEIJI);
                taskset
            }
            None => place.command(TEIJI),
        };
        if !is_hackbench && !may_real_time_or_skip() {
            continue;
        }
        command.args(all);
        let mut running = Running::start(command);
        // By then it takes signals.
        soon("it works", || !running.runs() || tasks(&running) > 1);
        sleep(Duration::from_millis(500));
        if running.runs() {
            running.signal(Signal::INT);
        }
        let output = running.end();
        assert_eq!(output.code, Some(0), "{words}: {}", output.err);
        assert!(output.out.contains(line), "{words}: {}", output.out);
        let is_ended = !is_hackbench || output.out.contains("\nTime: ");
        assert!(is_ended && !output.err.contains("error"), "{words}: {}", output.err);
    }
}

/// Threads of a program and processes that it has started.
fn tasks(running: &Running) -> usize {
    let folder = format!("/proc/{}/task", running.pid().as_raw_nonzero());
    std::fs::read_dir(folder).map_or(0, Iterator::count) + running.descendants().len()
}

/// Theirs prints its help and ends with 0.
#[test]
fn an_unknown_option_is_refused_unless_faithful() {
    let place = TestFolder::new();
    let refused = place.teiji("cyclictest -q --nosuch");
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""));
    let faithful = place.teiji("cyclictest --faithful -q --nosuch");
    assert!(faithful.code == Some(0) && faithful.out.contains("--histogram"), "{}", faithful.out);
}

/// Scripts test for rights by the exit code, also without a priority.
#[test]
fn without_rights_it_is_refused() {
    let place = public();
    for words in ["-q -l 5", "-q -p 80 -l 5", "-h 20 -l 5 --json=-"] {
        let mut command = powerless(&place);
        let (code, out, err) = said(command.arg("cyclictest").args(words.split(' ')));
        assert_eq!((code, out.as_str()), (1, ""), "{words}: {err}");
        assert!(err.contains("Unable to change scheduling policy!\n"), "{words}: {err}");
    }
}

/// There it is blocked.
#[test]
fn an_alarm_ends_no_run() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    let mut command = place.command(TEIJI);
    command.args("cyclictest -q -t1 -a0 -D 2".split(' '));
    let mut running = Running::start(command);
    soon("it works", || !running.runs() || tasks(&running) > 1);
    sleep(Duration::from_millis(500));
    running.signal(Signal::ALARM);
    running.signal(Signal::INT);
    let output = running.end();
    assert!(output.code == Some(0) && output.out.contains("T: 0 ("), "{output:?}");
}

/// Refused there since 2.0.
#[test]
fn what_it_refuses_of_cpus() {
    let place = TestFolder::new();
    for words in ["-a 0 --smp -l 5 -q", "-a -S -l 5 -q", "-a !4000 -l 5 -q"] {
        let refused = place.teiji(&format!("cyclictest {words}"));
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{words}: {}", refused.err);
    }
    let old = place.teiji("cyclictest --as-version 1 -a 0 --smp -l 5 -q");
    assert!(!old.err.contains("mutually exclusive"), "{}", old.err);
}

/// Numbers as `#`, with the blanks before them that fill a column; lines that are alike by then
/// once.
fn without_figures(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("# /dev/cpu_dma_latency")) {
        let (mut masked, mut blanks) = (String::new(), 0);
        for letter in line.chars() {
            match letter {
                ' ' => blanks += 1,
                '0'..='9' => {
                    masked += &"#".repeat(blanks + 1);
                    blanks = 0;
                }
                letter => {
                    masked += &" ".repeat(std::mem::take(&mut blanks));
                    masked.push(letter);
                }
            }
        }
        masked += &" ".repeat(blanks);
        if lines.last() != Some(&masked) {
            lines.push(masked);
        }
    }
    lines.join("\n")
}

/// As the real ones of these versions print, which no test has beside it as it has 2.4: since 2.7
/// empty buckets and the line of totals are left out.
#[test]
fn whole_outputs_of_versions_that_are_not_there() {
    if !may_real_time_or_skip() {
        return;
    }
    let place = TestFolder::new();
    let out_of = |version: &str, words: &str| {
        let command = format!("cyclictest --as-version {version} --laptop -t1 -a0 -l20 {words}");
        let ended = place.teiji(&command);
        assert_eq!(ended.code, Some(0), "{command}: {}", ended.err);
        // Ids may be of any width.
        let (before, behind) = ended.out.split_once(" (").unwrap_or((&ended.out, ""));
        let behind = behind.split_once(')').map(|(_, rest)| format!(" (){rest}"));
        without_figures(&format!("{before}{}", behind.unwrap_or_default()))
    };
    let thread = "T:## () P:## I:#### C:####### Min:####### Act:##### Avg:##### Max:########";
    let histogram = |threads: usize, has_sum: bool, has_total: bool| {
        let numbers = |name: &str, width: usize, has_sum: bool| {
            format!("# {name}:{}\n", "#".repeat((width + 1) * (threads + usize::from(has_sum))))
        };
        let mut text = "# Histogram\n#############".to_owned();
        text += &"\t######".repeat(threads - 1 + usize::from(has_sum));
        text.push('\n');
        if has_total {
            text += &numbers("Total", 9, has_sum);
        }
        text += &numbers("Min Latencies", 5, false);
        text += &numbers("Avg Latencies", 5, false);
        text += &numbers("Max Latencies", 5, has_sum);
        text += &numbers("Histogram Overflows", 5, has_sum);
        text + "# Histogram Overflow at cycle number:\n# Thread##:\n"
    };
    for (version, has_total) in [("1.0", true), ("2.9", false)] {
        assert_eq!(out_of(version, "-q"), thread, "{version}");
        assert_eq!(
            out_of(version, "-v"),
            "Max CPUs =##\nOnline CPUs =##\nUsing## cpus.\nThread## using cpu##.\nThread## \
             Interval:#####\n########:########:########",
            "{version}"
        );
        for (words, threads, has_sum) in
            [("-h 100000", 1, false), ("-h 100000 -t2", 2, false), ("-H 100000 -t2", 2, true)]
        {
            let expected = histogram(threads, has_sum, has_total);
            assert_eq!(out_of(version, &format!("-q {words}")), expected, "{version} {words}");
        }
        assert_eq!(out_of(version, "-q -h 100000 --histfile=kept.txt"), "", "{version}");
        let kept = std::fs::read_to_string(place.join("kept.txt")).unwrap();
        assert!(kept.starts_with("# Histogram\n") && kept.contains("\n# Thread 0:"), "{kept}");
    }
    // Behind -v each list of CPUs is counted as soon as it is read.
    for (version, line) in [("1.0", "parse_cpumask: Using 1 cpus.\n"), ("2.9", "Using 1 cpus.\n")] {
        let verbose = place.teiji(&format!("cyclictest --as-version {version} -v -a0 -t1 -l5"));
        assert!(verbose.out.starts_with(line), "{}", verbose.out);
    }
    let broken = place.teiji("cyclictest --as-version 2.9 --laptop -t1 -a0 -q -b 1");
    let trailer = broken.out.split_once('\n').unwrap().1;
    let lines: Vec<&str> = trailer.lines().collect();
    let id = lines[0].strip_prefix("# Thread Ids: ").unwrap().trim_start_matches('0');
    assert_eq!((broken.code, lines.len()), (Some(0), 3), "{trailer}");
    assert_eq!(lines[1], format!("# Break thread: {id}"));
    assert!(lines[2].strip_prefix("# Break value: ").unwrap().parse::<u32>().unwrap() > 1);
    let spikes = place.teiji("cyclictest --as-version 2.9 --laptop -t1 -a0 -q -l20 --spike=1").out;
    let spikes = without_figures(spikes.split_once('\n').unwrap().1);
    assert_eq!(spikes, "\nT:## Spike:########: TS:#############\nspikes =###\n");
    let json = place.teiji("cyclictest --as-version 2.9 --laptop -t1 -a0 -q -l20 --json=-").out;
    let json = json.split("\nT: 0").next().unwrap();
    let read: serde_json::Value = serde_json::from_str(json).unwrap();
    assert_eq!(read["rt_test_version:"], "2.90");
    let keys = |of: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = of.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&read["thread"]["0"]), ["avg", "cpu", "cycles", "max", "min", "node"]);
    assert_eq!(
        keys(&read),
        [
            "cmdline:",
            "end_time",
            "file_version",
            "num_threads",
            "resolution_in_ns",
            "return_code",
            "rt_test_version:",
            "start_time",
            "sysinfo",
            "thread"
        ]
    );
}
