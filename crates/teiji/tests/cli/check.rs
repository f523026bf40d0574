// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji check`, on this machine and on files in its place.

use crate::app::may_trace_or_skip;
use crate::support::{TestFolder, exclusive};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

fn findings(text: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(text).unwrap();
    document["findings"].as_array().unwrap().clone()
}

/// The quickest of several, on a machine that may be busy.
#[test]
fn this_machine_is_checked_in_less_than_300_ms() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let quickest = (0..7)
        .map(|_| {
            let began = Instant::now();
            let output = place.teiji("check --json");
            let took = began.elapsed();
            assert!(matches!(output.code, Some(0 | 1)), "{output:?}");
            let findings = findings(&output.out);
            let is_bad = findings.iter().any(|finding| finding["status"] == "bad");
            assert_eq!(output.code, Some(i32::from(is_bad)), "{output:?}");
            assert!(findings.iter().any(|finding| finding["id"] == "preemption"), "{output:?}");
            took
        })
        .min();
    assert!(quickest.is_some_and(|quickest| quickest < Duration::from_millis(300)), "{quickest:?}");
}

/// A mode that was asked for at boot was in the one and not in the other.
#[test]
fn a_recording_has_the_preemption_that_check_finds() {
    let place = TestFolder::new();
    place.well("measure -q -n 10 -o r.teiji");
    let document: Value = serde_json::from_str(&place.read("r.teiji/run.json")).unwrap();
    let recorded = |facts: &str| document["host"][facts]["preemption"].as_str().unwrap();
    let findings = findings(&place.teiji("check --json").out);
    let found = findings.iter().find(|finding| finding["id"] == "preemption").unwrap();
    let found = found["found"].as_str().unwrap();
    assert!(found.starts_with(recorded("before")), "{found}");
    assert_eq!(recorded("after"), recorded("before"));
}

#[test]
fn files_stand_for_another_machine() {
    let place = TestFolder::new();
    let file = |path: &str, text: &str| {
        let path = place.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("m/proc/cmdline", "isolcpus=1-3 rcu_nocbs=0");
    file("m/sys/devices/system/cpu/online", "0-3");
    file("m/sys/devices/system/cpu/isolated", "1-3");
    file("m/sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL");
    file("m/proc/sys/vm/swappiness", "60");
    file("m/proc/sys/kernel/numa_balancing", "1");
    file(
        "config",
        "CONFIG_PREEMPT_RT=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_PROVE_LOCKING=y\n\
         CONFIG_RCU_NOCB_CPU=y\n",
    );
    let output = place.teiji("check --root m");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.out.contains("rcu_nocbs=0 names CPU 0 and not CPUs 1-3"), "{output:?}");
    assert!(output.out.contains("boot with rcu_nocbs=1-3"), "{output:?}");
    // Copies hold no device, and are not what is to be changed.
    assert!(output.out.contains("Or on that machine: sudo teiji tune --cpus 1-3\n"), "{output:?}");
    let judged = "cannot be judged from copied files";
    let flat = output.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(judged) && !flat.contains("there is no /dev"), "{output:?}");
    let output = place.teiji("check --root m --kernel-config config");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(!output.out.contains("rcu_nocbs="), "nothing of the machine: {output:?}");
    assert!(
        output.out.contains("PROVE_LOCKING")
            && output.out.contains("scripts/config -d PROVE_LOCKING"),
        "{output:?}"
    );
    let json = findings(&place.teiji("check --root m --kernel-config config --json").out);
    let names: Vec<&str> = json.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    let expected = [
        "preemption",
        "kernel-config",
        "high-resolution-timers",
        "full-dynticks",
        "rcu-callbacks",
        "debug-options",
        "frequency-scaling-built",
        "isolation",
    ];
    assert_eq!(names, expected);
    assert_eq!(json.iter().find(|finding| finding["id"] == "preemption").unwrap()["status"], "ok");
}

/// But for commands, which are to be copied.
#[test]
fn findings_fit_80_columns() {
    let place = TestFolder::new();
    let output = place.teiji("check");
    let is_command = |line: &str| {
        line.contains("; do ")
            || ["Do: sudo ", "Do: echo ", "Or: sudo "].iter().any(|begin| line.contains(begin))
    };
    let wide: Vec<&str> =
        output.out.lines().filter(|line| line.chars().count() > 80 && !is_command(line)).collect();
    assert_eq!(wide, [""; 0], "{}", output.out);
}

/// The same machine is bad for one use and good enough for another.
#[test]
fn findings_are_weighed_by_use() {
    let place = TestFolder::new();
    fs::create_dir_all(place.join("m/proc")).unwrap();
    fs::write(place.join("m/proc/version"), "Linux version 6.1.0 (x) #1 SMP Debian").unwrap();
    let status = |purpose: &str| {
        let found = findings(&place.teiji(&format!("check --root m --for {purpose} --json")).out);
        found.iter().find(|finding| finding["id"] == "preemption").unwrap()["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!((status("audio"), status("robotics")), ("warn".to_owned(), "bad".to_owned()));
}

#[test]
fn cpus_are_advised_and_watched() {
    let _turn = exclusive();
    let place = TestFolder::new();
    let file = |path: &str, text: &str| {
        let path = place.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("m/proc/interrupts", "  CPU0 CPU1\n 5: 7 2 nvme0\n");
    file("m/sys/devices/system/cpu/online", "0-1");
    for cpu in ["0", "1"] {
        file(&format!("m/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"), cpu);
    }
    let output = place.teiji("check --root m --advise");
    assert!(output.out.contains("Isolate CPU 1, and measure CPU 1."), "{output:?}");
    assert!(
        output.out.contains("isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1 irqaffinity=0"),
        "{output:?}"
    );
    // Of files that do not change nothing could be said.
    let output = place.teiji("check --root m --watch 200ms");
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.err.contains("nothing can be watched"), "{output:?}");
    // The timer of some CPU is set meanwhile, by this program itself.
    let output = place.teiji("check --watch 200ms --json");
    let document: Value = serde_json::from_str(&output.out).unwrap();
    let watched = document["watched"].as_array().unwrap();
    assert!(
        watched
            .iter()
            .any(|activity| activity["kind"] == "timer" && activity["count"].as_u64() > Some(0)),
        "{output:?}"
    );
    for time in document["cpu_time"].as_array().unwrap() {
        let shares = ["user", "system", "irq", "softirq", "steal", "idle"]
            .map(|name| time[name].as_f64().unwrap());
        assert!((99.0..101.0).contains(&shares.iter().sum::<f64>()), "{output:?}");
    }
    assert!(!document["cpu_time"].as_array().unwrap().is_empty(), "{output:?}");
}

/// It has the highest priority, and still runs when the machine is looked at.
#[test]
fn a_measured_program_is_not_in_its_own_way() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !may_trace_or_skip(&place) {
        return;
    }
    let mut program = Command::new("chrt")
        .args(["-f", "99", "sh", "-c", "while sleep 0.01; do :; done"])
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let number = program.id();
    let output =
        place.teiji(&format!("measure --probe app --pid {number} -d 500ms -q -o program.teiji"));
    program.kill().unwrap();
    program.wait().unwrap();
    let document: Value = serde_json::from_str(&place.read("program.teiji/run.json")).unwrap();
    let warnings = document["warnings"].as_array().unwrap();
    let is_named = |warning: &Value| {
        warning["found"].as_str().is_some_and(|found| found.contains(&format!(" {number} at 99")))
    };
    assert!(!warnings.iter().any(is_named), "{warnings:?} {output:?}");
}

#[test]
fn wrong_use_is_refused() {
    let place = TestFolder::new();
    for (words, says) in [
        ("check --for gaming", "audio, robotics, telco, measure"),
        ("check --root nowhere", "has no proc"),
        ("check --kernel-config nowhere", "nowhere: No such file"),
        ("check -a 9999", "9999"),
        ("check -p 0", "0"),
        ("check --watch 0", "more than 0"),
        ("check --watch x", "x"),
    ] {
        let output = place.teiji(words);
        assert_eq!(output.code, Some(2), "{words}: {output:?}");
        assert!(output.err.contains(says), "{words}: {output:?}");
    }
    fs::write(place.join("empty"), "nothing of a kernel\n").unwrap();
    let output = place.teiji("check --kernel-config empty");
    assert!(
        output.code == Some(2) && output.err.contains("holds no kernel configuration"),
        "{output:?}"
    );
}
