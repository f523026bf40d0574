// SPDX-License-Identifier: MIT OR Apache-2.0
//! The probe `app`: what the kernel records of another program's wake-ups, against what that
//! program knows of them itself.

use crate::support::document::Document;
use crate::support::skipped::{Need, skipped};
use crate::support::{TestFolder, exclusive, now, own_nice, sleep_until, soon};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

const TEIJI: &str = env!("CARGO_BIN_EXE_teiji");

/// Whether this machine can be traced; if not, it is said.
pub(crate) fn may_trace_or_skip(place: &TestFolder) -> bool {
    let probes: Value = serde_json::from_str(&place.well("probes --json").out).unwrap();
    let app = probes["probes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|probe| probe["name"] == "app")
        .unwrap()
        .clone();
    if app["available"] != true {
        skipped(Need::Tracing, &app["missing"]);
    }
    app["available"] == true
}

/// A CPU on which the kernel leaves no switches out of a trace, found without the program under
/// test: a thread sleeps a hundred times on it, and nearly as many switches to it have to be there.
/// If there is none, it is said.
fn traced_cpu_or_skip(place: &TestFolder) -> Option<usize> {
    if !may_trace_or_skip(place) {
        return None;
    }
    let shell = |script: String| {
        let output = Command::new("sh").arg("-euc").arg(&script).output().unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let (root, thread) = (place.join("tracefs"), rustix::thread::gettid().as_raw_nonzero());
    let instance = format!("{}/instances/teiji-test-{thread}", root.display());
    shell(format!("mkdir {0}; mount -t tracefs nodev {0}; mkdir {instance}", root.display()));
    let own = shell(format!("taskset -pc {thread} | sed 's/.*: //'"));
    shell(format!("echo 1 >{instance}/events/sched/sched_switch/enable"));
    let slept = |cpu: &usize| {
        shell(format!("taskset -pc {cpu} {thread}; : >{instance}/trace"));
        (0..100).for_each(|_| sleep_until(now() + 2_000_000));
        shell(format!("grep -c 'next_pid={thread} ' {instance}/trace || true"))
            .parse::<u32>()
            .unwrap()
    };
    let cpus = std::thread::available_parallelism().unwrap().get();
    let traced = (0..cpus).find(|cpu| slept(cpu) >= 90);
    shell(format!(
        "taskset -pc {own} {thread}; rmdir {instance}; umount {0}; rmdir {0}",
        root.display()
    ));
    if traced.is_none() {
        skipped(
            Need::Tracing,
            "on no CPU does the kernel record the switches to a thread that slept",
        );
    }
    traced
}

/// A row of `app`.
#[derive(Clone, Copy, Debug)]
struct Row {
    planned: i64,
    latency: i64,
    missed: i64,
    cause: i64,
    tid: i64,
}

fn rows(place: &TestFolder, name: &str) -> Vec<Row> {
    let output = place.well(&format!("export {name} --samples"));
    let mut lines = output.out.lines();
    let heading = "thread,cpu,event,time_ns,latency_ns,switch_ns,missed,cause,tid,on_cpu";
    assert_eq!(lines.next(), Some(heading));
    let row = |line: &str| {
        // Our thread has a CPU, which is not the program's: that is in `on_cpu`.
        assert!(line.starts_with("0,,"), "{line}");
        let cells: Vec<i64> = line
            .split(',')
            .map(|cell| if cell.is_empty() { 0 } else { cell.parse().unwrap() })
            .collect();
        // What is left of it is from the timer's planned time until the thread was woken.
        assert!(cells[4] >= cells[5] && (cells[7] == 1 || cells[4] == cells[5]), "{line}");
        Row {
            planned: cells[3] - cells[4],
            latency: cells[4],
            missed: cells[6],
            cause: cells[7],
            tid: cells[8],
        }
    };
    // A lost one has no values.
    lines.filter(|line| !line.ends_with(',')).map(row).collect()
}

/// How many were lost: a few are, where the kernel does not record a switch from another task.
fn lost(place: &TestFolder, name: &str) -> usize {
    place.well(&format!("verify {name}"));
    let document = place.document(name);
    assert_eq!(document.text("/end/reason"), "done");
    let lost = usize::try_from(document.whole("/threads/0/evidence/samples_lost")).unwrap();
    assert!(lost < 20, "{lost}");
    lost
}

/// The cyclic probe is the program, and its own recording the truth: each of its planned times is a
/// row, to the nanosecond.
#[test]
fn wake_ups_agree_with_the_programs_own() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(cpu) = traced_cpu_or_skip(&place) else { return };
    place.well(&format!(
        "measure --probe app -d 60s -q -o app.teiji -- taskset -c {cpu} {TEIJI} measure -t 1 -i \
         5ms -n 200 -q -o own.teiji"
    ));
    let mut lost = lost(&place, "app.teiji");
    let by_time: HashMap<i64, Row> = rows(&place, "app.teiji")
        .iter()
        .filter(|row| row.cause == 1)
        .map(|row| (row.planned, *row))
        .collect();
    let own = place.well("export own.teiji --samples").out;
    let (mut found, mut differences) = (Vec::new(), Vec::new());
    for line in own.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        // One that was skipped never slept.
        let Ok(latency) = cells[4].parse::<i64>() else { continue };
        let planned: i64 = cells[3].parse().unwrap();
        let Some(row) = by_time.get(&planned) else {
            lost = lost.checked_sub(1).unwrap_or_else(|| panic!("no row for {line}"));
            continue;
        };
        assert!(latency >= row.latency, "{line}: {row:?}");
        differences.push(latency - row.latency);
        found.push(*row);
    }
    assert!(
        found.len() >= 50 && found.iter().all(|row| row.tid == found[0].tid),
        "{}",
        found.len()
    );
    differences.sort_unstable();
    let median = differences[differences.len() / 2];
    assert!(
        median < 60_000,
        "{median} ns between the thread's switch and its own reading of the clock"
    );
}

const PERIOD: i64 = 5_000_000;

/// Sleeps until one time after another, and is busy over three of them three times. Says how many
/// it did not sleep until: only as a process of the next test.
#[test]
fn a_program_that_misses_wake_ups() {
    if std::env::var_os("TEIJI_TEST_PROGRAM").is_none() {
        return;
    }
    let (mut next, mut skipped) = (now() + PERIOD, 0);
    for wakeup in 0..100 {
        // Before the period shows in its first wake-ups, nothing can be known to be missing.
        if wakeup == 20 {
            println!("known={next}.");
            skipped = 0;
        }
        sleep_until(next);
        let busy_until =
            if [30, 50, 70].contains(&wakeup) { next + 3 * PERIOD + PERIOD / 2 } else { 0 };
        while now() < busy_until {}
        // No wake-up follows the last one that could show what it missed.
        if wakeup == 99 {
            break;
        }
        next += PERIOD;
        while next <= now() {
            next += PERIOD;
            skipped += 1;
        }
    }
    println!("skipped={skipped}.");
}

#[test]
fn missed_wake_ups_are_found() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(cpu) = traced_cpu_or_skip(&place) else { return };
    let program = std::env::current_exe().unwrap();
    let output = place.well(&format!(
        "measure --probe app --wakeups timer -d 60s -q -o app.teiji -- taskset -c {cpu} env \
         TEIJI_TEST_PROGRAM=1 {} --exact app::a_program_that_misses_wake_ups --nocapture",
        program.display()
    ));
    let lost = lost(&place, "app.teiji");
    let skipped: i64 =
        output.out.split("skipped=").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
    assert!(skipped >= 9, "{output:?}");
    let rows = rows(&place, "app.teiji");
    let known: i64 =
        output.out.split("known=").nth(1).unwrap().split('.').next().unwrap().parse().unwrap();
    let missed: i64 = rows.iter().filter(|row| row.planned > known).map(|row| row.missed).sum();
    let thread = rows.iter().max_by_key(|row| row.missed).unwrap().tid;
    let of_thread = rows.iter().filter(|row| row.tid == thread).count();
    assert!(
        missed == skipped && (100_usize.saturating_sub(lost)..=100).contains(&of_thread),
        "{missed} of {skipped}, {of_thread} rows: {rows:?}"
    );
    assert!(periodic_rows(&place.document("app.teiji")) > 60, "{rows:?}");
}

fn periodic_rows(document: &Document) -> i64 {
    document.threads()[0].whole("/evidence/periodic_rows")
}

/// A program that sleeps now and then has no period of which one could be missed.
#[test]
fn without_a_period_none_is_known_not_to_be_missed() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    std::fs::write(place.join("naps.sh"), "sleep 0.2; sleep 0.3; exec sleep 0.1\n").unwrap();
    let output =
        place.teiji("measure --probe app -d 5s -q -o app.teiji --limit missed==0 -- sh naps.sh");
    let why = "no period of the program was found";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.code == Some(3) && words(&output.out).contains(why), "{output:?}");
    assert_eq!(periodic_rows(&place.document("app.teiji")), 0);
    let gate = place.teiji("gate app.teiji --limit missed==0");
    assert!(gate.code == Some(3) && words(&gate.out).contains(why), "{gate:?}");
}

/// One thread with a period beside one that sleeps from one wake-up on: only as a process of the
/// next test.
#[test]
fn a_program_with_one_loop_of_two() {
    if std::env::var_os("TEIJI_TEST_PROGRAM").is_none() {
        return;
    }
    let sleeper = std::thread::spawn(|| {
        (0..30).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
    });
    let start = now();
    (1..=60).for_each(|k| sleep_until(start + k * PERIOD));
    sleeper.join().unwrap();
}

/// The thread without a period may be the one that is meant.
#[test]
fn a_period_of_one_thread_says_nothing_of_another() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(cpu) = traced_cpu_or_skip(&place) else { return };
    let program = std::env::current_exe().unwrap();
    let output = place.teiji(&format!(
        "measure --probe app --wakeups timer -d 60s -q -o app.teiji --limit missed<1000 -- \
         taskset -c {cpu} env TEIJI_TEST_PROGRAM=1 {} --exact \
         app::a_program_with_one_loop_of_two",
        program.display()
    ));
    let document = place.document("app.teiji");
    assert!(periodic_rows(&document) > 40, "{document:?}");
    let evidence = "/threads/0/evidence/without_period";
    let rows = document.whole(&format!("{evidence}/rows"));
    assert!((11..=31).contains(&rows), "{document:?}");
    assert_eq!(document.whole(&format!("{evidence}/threads")), 1);
    let words = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = format!("no period was found for {rows} wake-ups by timers of 1 thread");
    assert!(output.code == Some(3) && words.contains(&why), "{output:?}");
    assert!(words.contains(&format!(", {rows} of no known period.")), "{output:?}");
}

/// How many events the kernel had no room for, in all instances of its trace.
fn lost_by_the_kernel() -> u64 {
    let below = |folder: PathBuf| {
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
    };
    let count = |line: &str| {
        let (name, count) = line.split_once(": ")?;
        ["overrun", "dropped events"].contains(&name).then(|| count.trim().parse::<u64>().unwrap())
    };
    // Wherever it is mounted.
    let mounts = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let instances = mounts
        .into_iter()
        .map(|mount| Path::new(mount).join("instances"))
        .find(|place| place.is_dir());
    instances
        .into_iter()
        .flat_map(below)
        .flat_map(|instance| below(instance.join("per_cpu")))
        .filter_map(|cpu| std::fs::read_to_string(cpu.join("stats")).ok())
        .map(|text| text.lines().filter_map(count).sum::<u64>())
        .sum()
}

/// Events that the kernel had no room for, because nobody read them for seconds, are said as what
/// they are. They are no rows: how many they would have made is unknown.
#[test]
fn lost_events_are_no_rows() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    let program = format!("{TEIJI} measure -t 2 -i 50us --policy other -d 60s -q -o own.teiji");
    let run = place.start(&format!("measure --probe app -d 6s -q -o app.teiji -- {program}"));
    run.begun("app.teiji");
    soon("the program measures", || place.join("own.teiji").exists());
    run.signal(Signal::STOP);
    soon("the kernel has lost events", || lost_by_the_kernel() > 20_000);
    run.signal(Signal::CONT);
    let output = run.end();
    place.well("verify app.teiji");
    let document = place.document("app.teiji");
    // Where the program's threads began among the lost events, nobody knows them.
    is_done_or_without_a_row(&document, &output);
    let warnings = document.list("/warnings");
    let of = |code: &str| warnings.iter().find(|warning| warning.text("/code") == code);
    let warning = of("trace-events-lost").unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(
        warning.whole("/events") > 10_000 && warning.whole("/buffer_kib") >= 512,
        "{warning:?}"
    );
    // Lost are rows of which the trace shows a half. That may be any number: where one CPU's buffer
    // is full and another's is not, the one has when threads run and the other when they are woken.
    let lost = document.whole("/threads/0/evidence/samples_lost");
    assert_eq!(of("rows-untraced").map_or(0, |rows| rows.whole("/rows")), lost, "{warnings:?}");
    assert!(of("samples-lost").is_none(), "{warnings:?}");
    let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("events of the kernel's trace were lost"), "{said}");
    // The largest latency may have been among them.
    assert_eq!(place.teiji("gate app.teiji --limit max<1h").code, Some(3));
}

/// What a recording says of the end of its program.
fn program_ended(document: &Document) -> Value {
    let of = |warning: &&Document| warning.text("/code") == "program-ended";
    document.list("/warnings").iter().find(of).unwrap_or_else(|| panic!("{document:?}")).0.clone()
}

/// Ends with the test.
struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// It said "what the data supports", and nothing below it.
#[test]
fn a_program_that_only_sleeps_is_no_measurement() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    let sleeper = Sleeper(Command::new("sleep").arg("1000").spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    for (flags, expected) in [
        ("", "measuring failed (no wake-up of the program was seen)"),
        ("--wakeups timer", "measuring failed (no wake-up by a timer of the program was seen)"),
    ] {
        let run = format!(
            "measure --probe app --pid {} -d 500ms -q -o x.teiji {flags} --limit max<1s",
            sleeper.0.id()
        );
        let output = place.teiji(&run);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(&output.out);
        assert!(
            output.code == Some(4)
                && said.contains(expected)
                && said.starts_with("No latency was measured "),
            "{output:?}"
        );
        assert_eq!(place.teiji("gate x.teiji --limit max<1s").code, Some(3));
        let shown = place.well("show x.teiji").out;
        assert!(
            words(&shown).contains("✗ Holds nothing: ") && !shown.contains("data supports"),
            "{shown}"
        );
        std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
    }
}

/// Done, or failed where no wake-up was seen until the program ended.
fn is_done_or_without_a_row(document: &Document, output: &crate::support::Output) {
    let end = if document.whole("/threads/0/activations/due") > 0 {
        ("done", Some(0))
    } else {
        ("probe-failed", Some(4))
    };
    assert_eq!((document.text("/end/reason"), output.code), end, "{output:?}");
}

#[test]
fn the_end_of_the_program_ends_the_run() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    let mut sleeper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    let run =
        place.start(&format!("measure --probe app --pid {} -d 60s -q -o pid.teiji", sleeper.id()));
    run.begun("pid.teiji");
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let output = run.end();
    let document = place.document("pid.teiji");
    is_done_or_without_a_row(&document, &output);
    let ended = program_ended(&document);
    // Whoever only observes it does not learn its status.
    assert_eq!(
        (&ended["status"], &ended["planned_ns"]),
        (&Value::Null, &json!(60_000_000_000_i64))
    );
    assert!(ended["after_ns"].as_i64().unwrap() < 20_000_000_000, "{ended}");
}

/// A warning advised to measure for as long as the program runs, which was done.
#[test]
fn whether_the_length_that_a_program_did_not_last_was_asked_for_is_recorded() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    std::fs::write(place.join("short.sh"), "sleep 0.3\nsleep 0.2\n").unwrap();
    for (flags, default_length) in [("", json!(true)), ("-d 7s", Value::Null)] {
        let run = format!("measure --probe app {flags} -q -o x.teiji -- sh short.sh");
        let said = place.well(&run).out;
        let ended = program_ended(&place.document("x.teiji"));
        assert_eq!((&ended["status"], &ended["default_length"]), (&json!(0), &default_length));
        let is_fact = said.lines().any(|line| line.starts_with("· The program ended after "));
        let is_warning =
            said.lines().any(|line| line.starts_with("Warning: The program ended after "));
        assert_eq!((is_fact, is_warning), (flags.is_empty(), !flags.is_empty()), "{said}");
        std::fs::remove_dir_all(place.join("x.teiji")).unwrap();
    }
}

/// Ctrl-C, and the end of the run, end the command that was started. What it prints is not among
/// the JSON.
#[test]
fn a_command_ends_with_the_run() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    std::fs::write(
        place.join("talks.sh"),
        "nice > level; echo $$ > pid.new; mv pid.new pid; echo talks; exec sleep 1000\n",
    )
    .unwrap();
    let ended = || {
        let pid = place.read("pid");
        std::fs::remove_file(place.join("pid")).unwrap();
        assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists());
    };
    let output = place.teiji("measure --probe app -d 1s --json -o json.teiji -- sh talks.sh");
    ended();
    is_done_or_without_a_row(&place.document("json.teiji"), &output);
    assert!(output.err.contains("talks"), "{output:?}");
    assert_eq!(
        place.read("level").trim(),
        own_nice().to_string(),
        "not that of what prepares and records"
    );
    let document: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(document["run"]["probe_settings"]["command"], "sh talks.sh");
    std::fs::write(place.join("fails.sh"), "exit 3\n").unwrap();
    let output = place.teiji("measure --probe app -d 7s -q -o fails.teiji -- sh fails.sh");
    is_done_or_without_a_row(&place.document("fails.teiji"), &output);
    let said = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(" s of 7 s with status 3."), "{output:?}");
    assert_eq!(program_ended(&place.document("fails.teiji"))["status"], 3);
    std::fs::write(place.join("is-killed.sh"), "kill -9 $$\n").unwrap();
    let output = place.teiji("measure --probe app -q -o is-killed.teiji -- sh is-killed.sh");
    is_done_or_without_a_row(&place.document("is-killed.teiji"), &output);
    assert_eq!(program_ended(&place.document("is-killed.teiji"))["signal"], 9);
    assert_eq!(
        document["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|warning| warning["code"] == "program-ended"),
        None
    );
    let run = place.start("measure --probe app -d 60s -q -o signal.teiji -- sh talks.sh");
    soon("the command runs", || place.join("pid").exists());
    run.signal(Signal::INT);
    let output = run.end();
    assert!(output.out.starts_with("talks\n"), "{output:?}");
    assert_eq!(
        (place.document("signal.teiji").text("/end/reason"), output.code),
        ("signal", Some(4)),
        "{output:?}"
    );
    ended();
}

/// The kernel's buffers are read ten times a second. What they held when a run was stopped was in
/// no row, and counted nowhere.
#[test]
fn a_stopped_run_has_all_wake_ups_until_then() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let Some(cpu) = traced_cpu_or_skip(&place) else { return };
    // The stop comes at another moment between two readings each time.
    let mut missing: Vec<i64> = (0..5)
        .map(|stop| {
            let program = format!(
                "taskset -c {cpu} {TEIJI} measure -t 1 -i 2ms -d 60s -q -o own{stop}.teiji"
            );
            let run = place.start(&format!(
                "measure --probe app --wakeups timer -d 60s -q -o app{stop}.teiji -- {program}"
            ));
            let own = run.begun(&format!("app{stop}.teiji"));
            soon("the program measures", || place.join(&format!("own{stop}.teiji")).exists());
            std::thread::sleep(Duration::from_millis(1_500));
            let begun = own.threads()[0].whole("/start_ns");
            let now = now();
            let stopped = now + 100_000_000 - (now - begun) % 100_000_000 + 20_000_000 * stop;
            sleep_until(stopped);
            run.signal(Signal::INT);
            let output = run.end();
            let document = place.document(&format!("app{stop}.teiji"));
            assert_eq!(
                (document.text("/end/reason"), output.code),
                ("signal", Some(4)),
                "{output:?}"
            );
            let last = rows(&place, &format!("app{stop}.teiji"))
                .iter()
                .map(|row| row.planned + row.latency)
                .max()
                .unwrap();
            stopped - last
        })
        .collect();
    missing.sort_unstable();
    // One of them may be slow to see its signal, or its program to run.
    assert!(missing[3] < 15_000_000, "rows end so many ns before the stop: {missing:?}");
}

/// The kernel ends it: nobody else is left to.
#[test]
fn a_command_ends_with_a_killed_run() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    std::fs::write(place.join("waits.sh"), "echo $$ > pid.new; mv pid.new pid; exec sleep 1000\n")
        .unwrap();
    let run = place.start("measure --probe app -d 60s -q -o killed.teiji -- sh waits.sh");
    soon("the command runs", || place.join("pid").exists());
    let process = format!("/proc/{}", place.read("pid").trim());
    assert!(Path::new(&process).exists());
    run.signal(Signal::KILL);
    run.end();
    soon("the command has ended", || !Path::new(&process).exists());
    // Removes what the run left in tracefs.
    place.well("probes");
}

#[test]
fn a_program_that_is_not_there() {
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    for (flags, code, error) in [
        (
            "",
            2,
            "error: the probe app needs a program to measure: add -- ./my-loop or --pid N (in a \
             plan, command = './my-loop' or pid = N)\n",
        ),
        ("--pid 1 -- true", 2, "one program is measured"),
        (
            "--pid 1 -i 100us",
            2,
            "--interval has no meaning for the probe app: when the program wakes up is its own",
        ),
        ("--pid 0", 2, "it is a whole number from 1 to 4194304"),
        ("--pid 1 -n 5", 2, "waits for events"),
        ("--pid 4194304", 4, "there is no process 4194304"),
        (
            "-- no-such-program",
            4,
            "there is no program 'no-such-program' to start in the folders of PATH",
        ),
        ("-- ./no-such-program", 4, "there is no program ./no-such-program\n"),
        (
            "-- /etc/passwd",
            4,
            "/etc/passwd is not executable: name the program that runs it in front of it, such as \
             sh ",
        ),
        ("-- /", 4, "/ is a directory: name a program in it"),
    ] {
        let output = place.teiji(&format!("measure --probe app -q {flags}"));
        assert!(output.code == Some(code) && output.err.contains(error), "{flags}: {output:?}");
    }
    assert!(place.listing().is_empty());
}
