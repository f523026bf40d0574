// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads on the command line: alone, beside a measurement, and when they do not do what they were
//! asked to.

use crate::support::document::Document;
use crate::support::processes::assert_gone;
use crate::support::skipped::{Need, skipped};
use crate::support::{
    Output, Running, TEIJI, TestFolder, cpus, exclusive, may_real_time_or_skip, own_nice,
    quiet_cpu, soon,
};
use plan::CpuList;
use rustix::process::Signal;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

fn run(place: &TestFolder, arguments: &[&str]) -> Output {
    let mut command = place.command(TEIJI);
    command.args(arguments);
    Running::start(command).end()
}

#[test]
fn alone_it_says_what_it_reached() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let cpu = quiet_cpu();
    let output = place.teiji(&format!("load mem-access@40%,cpus={cpu} -d 2s --json"));
    let document = Document::parse(&output.out);
    let [load] = &document.list("/load")[..] else { panic!("one load: {output:?}") };
    assert_eq!((load.number("/requested"), load.whole("/cpus/0")), (40.0, i64::from(cpu.0)));
    assert!((0.1..43.0).contains(&load.number("/reached/mean")), "{load:?}");
    assert!(load.number("/reached/worst_second") <= load.number("/reached/mean"), "{load:?}");
    assert!(load.number("/rate/updates_per_s") > 1e4, "{load:?}");
    assert_eq!(output.code == Some(0), load.at("/off_target") == false, "{output:?}");
    assert!(place.listing().is_empty());
}

#[test]
fn for_people_it_prints_a_table() {
    let place = TestFolder::new();
    let output = place
        .well(&format!("load dev-zero,cpus={} hackbench,groups=1,threads -d 300ms", quiet_cpu()));
    assert!(
        output.out.contains("dev-zero,cpus=")
            && output.out.contains("bytes/s")
            && output.out.contains("messages/s"),
        "{output:?}"
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 100), "{}", output.out);
}

/// Two loads that want the same CPU whole: each gets half of it, and says so.
#[test]
fn a_load_that_misses_its_level_marks_the_run() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let load = format!("--load cpu@100%,cpus={0} --load mem-access@100%,cpus={0}", quiet_cpu());
    let output = place.well(&format!("measure -i 1ms -d 2500ms {load} -o x.teiji"));
    let document = place.document("x.teiji");
    assert!(
        document.at("/load_off_target") == true && document.warns_of("load-off-target"),
        "{:?}",
        document.at("/load")
    );
    assert!(
        document
            .list("/load")
            .iter()
            .all(|load| load.at("/off_target") == true && load.number("/reached/mean") < 95.0)
    );
    assert!(output.out.contains("\n✗ Load off target: "), "{}", output.out);
    assert!(place.well("show x.teiji").out.contains("\n✗ Load off target: "));
    place.well("report x.teiji -o x.html");
    assert!(place.read("x.html").contains("<b>✗</b>Load off target: "));
}

/// CPU times, interrupts and steal time are differences between the two looks, and are said of the
/// measurement.
#[test]
fn what_happened_while_loads_settled_is_not_said_of_the_measurement() {
    let place = TestFolder::new();
    place.well("measure -q -i 1ms -d 300ms --settle 6s --load cpu@5% -o x.teiji");
    let document = place.document("x.teiji");
    let seconds =
        document.number("/host/after/uptime_s") - document.number("/host/before/uptime_s");
    assert!((0.3..6.0).contains(&seconds), "{seconds} s between the looks");
    assert_eq!(
        &Document::parse(&place.read("x.teiji/host-before.json")).0,
        document.at("/host/before")
    );
}

#[test]
fn a_command_that_dies_while_measuring_marks_the_run() {
    let place = TestFolder::new();
    let output = run(
        &place,
        &["measure", "-i", "1ms", "-d", "4s", "--load", "cmd:\"sleep 3\"", "-o", "x.teiji"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let document = place.document("x.teiji");
    assert!(
        document.at("/load/0/alive") == false && document.warns_of("load-died"),
        "{:?}",
        document.at("/load")
    );
    assert!(output.out.contains("Load 'cmd:\"sleep 3\"' exited early"), "{}", output.out);
}

#[test]
fn signals_end_loads_in_good_order() {
    let place = TestFolder::new();
    let running = place.start("load cpu@20% hackbench,groups=1 timer -d 1h --json");
    soon("loads run", || running.descendants().len() > 42);
    let processes = running.descendants();
    sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    let output = running.end();
    // A load may be off target, which is the graver of the two.
    assert!(matches!(output.code, Some(1 | 4)), "{output:?}");
    assert!(
        output.err.contains("stopped early by SIGINT: the loads were to run for 1h"),
        "{output:?}"
    );
    assert_eq!(Document::parse(&output.out).list("/load").len(), 3, "{output:?}");
    assert_gone(&processes);
}

/// The measuring thread beside a load that never sleeps and goes before everything ordinary: by its
/// priority it hardly notices, and an ordinary thread waits for its turn.
#[test]
fn a_busy_cpu_does_not_keep_a_real_time_thread() {
    if !may_real_time_or_skip() {
        return;
    }
    let _turn = exclusive();
    let place = TestFolder::new();
    let p99 = |policy: &str, attempt: u32| {
        let cpu = quiet_cpu();
        let load = format!("--load cpu@100%,cpus={cpu},nice=-20");
        place.well(&format!(
            "measure -a {cpu} -i 1ms -d 2s {load} --policy {policy} -o {policy}{attempt}.teiji"
        ));
        place.document(&format!("{policy}{attempt}.teiji")).threads()[0]
            .number("/latency_with_skipped_ns/p99")
    };
    // A virtual machine is sometimes kept from its CPU for a millisecond, whatever its threads are;
    // not three times in a row.
    let mut measured = Vec::new();
    let held = (1..=3).any(|attempt| {
        let (real_time, ordinary) = (p99("fifo", attempt), p99("other", attempt));
        measured.push((real_time, ordinary));
        real_time < 1e6 && ordinary > 1e6
    });
    assert!(held, "real-time and ordinary: {measured:?} ns");
}

/// A nice level is part of the conditions; a real-time policy has none.
#[test]
fn the_nice_level_of_a_load_is_recorded() {
    let _turn = exclusive();
    let place = TestFolder::new();
    place
        .well("measure --policy batch -n 50 -t 1 -q --load cpu@5%,nice=7 --load cpu@5% -o x.teiji");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    let levels: Vec<&serde_json::Value> =
        document.0["load"].as_array().unwrap().iter().map(|load| &load["nice"]).collect();
    // Without the right to a lower one, a load stays at what it inherits, and says so.
    let ordinary = if document.warns_of("load-conditions") { own_nice() } else { 0 };
    assert_eq!(levels, [7, ordinary], "{levels:?}");
    assert_eq!(document.0["threads"][0]["nice"], own_nice());
    place.well("verify x.teiji");
}

#[test]
fn a_killed_hackbench_leaves_nothing() {
    let place = TestFolder::new();
    let running = place.start("hackbench -g 2 -l 100000000");
    soon("it runs", || running.descendants().len() == 80);
    let processes = running.descendants();
    running.signal(Signal::KILL);
    running.end();
    assert_gone(&processes);
}

/// Line by line what rt-tests' program says.
#[test]
fn hackbench_speaks_as_its_model() {
    let place = TestFolder::new();
    for (words, mode, groups, tasks, loops, bytes) in [
        ("hackbench -g 2 -l 5", "process", 2, 80, 5, 100),
        ("hackbench 2", "process", 2, 80, 100, 100),
        ("hackbench 1 thread 7", "threaded", 1, 40, 7, 100),
        (
            "hackbench --pipe --threads --groups 1 --loops 300 --datasize 64 --fds 10",
            "threaded",
            1,
            20,
            300,
            64,
        ),
        ("hackbench -i -P -g1 -l2", "process", 1, 40, 2, 100),
    ] {
        let output = place.well(words);
        let lines: Vec<&str> = output.out.lines().collect();
        let each = tasks / groups;
        let first = format!(
            "Running in {mode} mode with {groups} groups using {each} file descriptors each (== \
             {tasks} tasks)"
        );
        assert_eq!((lines[0], lines.len()), (first.as_str(), 3), "{words}");
        assert_eq!(lines[1], format!("Each sender will pass {loops} messages of {bytes} bytes"));
        let seconds = lines[2].strip_prefix("Time: ").unwrap();
        assert!(
            seconds.parse::<f64>().unwrap() > 0.0 && seconds.rsplit_once('.').unwrap().1.len() == 3,
            "{words}: {seconds}"
        );
    }
}

/// The lab's machine has its own directories, and a check changes nothing on this one.
#[test]
fn checking_a_disk_load_touches_no_disk() {
    let place = TestFolder::new();
    let there =
        "[vary]\nkernel = ['debian:amd64']\nload = ['disk,dir=/only/there', 'cmd:/only/there']\n";
    std::fs::write(place.join("there.toml"), there).unwrap();
    let there = place.teiji("run --dry-run there.toml");
    // Whether an emulator and a program for its guests are here is this machine's matter.
    assert!(
        there.code == Some(0) || there.err.starts_with("error: it cannot run here: "),
        "{there:?}"
    );
    let here = format!("[vary]\nload = ['disk,dir={}']\n", place.path().display());
    std::fs::write(place.join("here.toml"), here).unwrap();
    let mut traced = place.command("strace");
    traced.args([
        "-f",
        "-e",
        "trace=open,openat,creat",
        "-o",
        "trace",
        TEIJI,
        "run",
        "--dry-run",
        "here.toml",
    ]);
    let Ok(status) = traced.stdout(Stdio::null()).status() else {
        return skipped(Need::Strace, "there is no strace");
    };
    assert!(status.success(), "{status}");
    let trace = place.read("trace");
    assert!(trace.contains("here.toml"), "{trace}");
    let made: Vec<_> = trace
        .lines()
        .filter(|line| line.contains("O_CREAT") || line.contains("O_TMPFILE"))
        .collect();
    assert!(made.is_empty(), "{made:?}");
}

/// Whoever measures one CPU and loads the machine means the machine: hackbench's 400 tasks shared
/// the measured CPU.
#[test]
fn a_load_runs_on_all_cpus_unless_it_is_told_otherwise() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let (all, quiet) = (cpus(), quiet_cpu());
    let output =
        place.well(&format!("measure -a {quiet} -d 300ms --load hackbench,groups=1 -o x.teiji"));
    let numbers = |document: &Document, list: &str| {
        document.list(list).iter().map(|cpu| cpu.whole("")).collect::<Vec<_>>()
    };
    let document = place.document("x.teiji");
    let expected: Vec<i64> = all.iter().map(|cpu| i64::from(cpu.0)).collect();
    assert_eq!(
        (numbers(&document, "/load/0/cpus"), numbers(&document, "/run/cpus")),
        (expected.clone(), vec![i64::from(quiet.0)])
    );
    let place_of_load = format!(
        "Load hackbench,groups=1 on CPU{} {}:",
        if all.len() == 1 { "" } else { "s" },
        CpuList::format(&all)
    );
    assert!(output.out.contains(&place_of_load), "{}", output.out);
    place.well(&format!(
        "measure -a {quiet} -d 300ms --load hackbench,groups=1,cpus=all -o all.teiji"
    ));
    place.well(&format!(
        "measure -a {quiet} -d 300ms --load hackbench,groups=1,cpus={quiet} -o one.teiji"
    ));
    assert_eq!(numbers(&place.document("all.teiji"), "/load/0/cpus"), expected);
    assert_eq!(numbers(&place.document("one.teiji"), "/load/0/cpus"), [i64::from(quiet.0)]);
}
