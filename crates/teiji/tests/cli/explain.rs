// SPDX-License-Identifier: MIT OR Apache-2.0
//! `teiji explain` of recordings that cannot be explained, each for a reason of its own; what can
//! be is in `tests/lab/test_explain.py`.

use crate::sessions::synthetic::{self, Numbers};
use crate::support::{
    MILLISECOND, Output, Running, TEIJI, TRACE_REMOVED, TestFolder, exclusive, is_whole, now,
    sleep_until,
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::Path;

/// A recording whose document was changed.
pub(crate) fn changed(change: impl Fn(&mut Value)) -> TestFolder {
    let place = TestFolder::new();
    synthetic::write(&place.join("rec.teiji"), 1, 500, Numbers::tailed_ns).unwrap();
    let path = place.join("rec.teiji/run.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut document);
    std::fs::write(&path, document.to_string()).unwrap();
    place
}

/// The lab's part of a document: a guest that can be explained.
pub(crate) fn lab() -> Value {
    let file = |path: &str| json!({ "path": path, "sha256": "00" });
    json!({
        "guest": {
            "machine": "x86_64", "memory_mib": 512, "cpus": 1,
            "time": { "mode": "virtual", "shift": 0 }, "kernel_args": "",
        },
        "ns_per_instruction": 1, "deterministic": true, "accelerator": "tcg",
        "kernel": {
            "name": "/nowhere/vmlinuz", "image": file("/nowhere/vmlinuz"), "modules": null,
        },
        "device_tree": null, "program": file("/nowhere/teiji"), "modules": [],
        "initramfs_sha256": "00", "qemu": { "version": "0", "command_line": [] }, "host_ms": 1,
    })
}

#[track_caller]
fn assert_refused(place: &TestFolder, words: &str, says: &str) {
    let Output { code, out, err } = place.teiji(&format!("explain rec.teiji {words}"));
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains(says), "{err}");
    assert!(!Path::new(&place.join("rec.teiji/explain.json")).exists());
}

#[test]
fn only_the_lab_runs_the_same_instructions_again() {
    assert_refused(&changed(|_| ()), "", "was not recorded in the lab");
    assert_refused(&changed(|_| ()), "", "teiji measure --explain");
    let refused = |change: fn(&mut Value), says| {
        let place = changed(|document| {
            document["lab"] = lab();
            change(document);
        });
        assert_refused(&place, "", says);
    };
    refused(|document| document["lab"]["deterministic"] = json!(false), "on the host's clock");
    let only = "only guests of the machines x86_64 and aarch64 can be explained";
    refused(|document| document["lab"]["guest"]["machine"] = json!("armv7"), only);
    refused(|document| document["lab"]["guest"]["machine"] = json!("raspi3b"), only);
    let board_of_the_host = |document: &mut Value| {
        document["lab"]["guest"]["machine"] = json!("raspi3b");
        document["lab"]["deterministic"] = json!(false);
    };
    // No advice to measure in virtual time, which that machine does not have.
    refused(board_of_the_host, only);
    refused(|document| document["probe"]["name"] = json!("timerlat"), "by the probe timerlat");
    refused(|document| document["run"]["probe"] = json!("timerlat"), "by the probe timerlat");
    // Nothing is wrong with it but that its kernel has to be named.
    assert_refused(&changed(|document| document["lab"] = lab()), "", "it says '/nowhere/vmlinuz'");
}

#[test]
fn what_is_asked_for_must_be_there() {
    let place = changed(|document| document["lab"] = lab());
    assert_refused(&place, "--activation 500", "has no activation 500 that ran");
    assert_refused(&place, "--above 1s", "no latency is above 1s: the largest is ");
    std::fs::write(place.join("kept"), "precious").unwrap();
    assert_refused(&place, "--svg kept", "kept exists, and teiji did not write it");
    assert_refused(&place, "--folded kept", "kept exists");
    assert_refused(&place, "--svg new --folded ./new", "./new is named twice");
    assert_refused(&place, "--trace nowhere/new", "cannot write nowhere/new: nowhere is no folder");
    assert_refused(&place, "--svg rec.teiji", "rec.teiji is a folder");
}

/// Activation and latency of the largest one.
fn worst(place: &TestFolder) -> (u64, u64) {
    let samples = place.well("export rec.teiji --samples").out;
    let mut lines = samples.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name| head.iter().position(|known| *known == name).unwrap();
    let (activation, latency) = (column("activation"), column("latency_ns"));
    let mut worst = (0, 0);
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let latency_ns = cells[latency].parse().unwrap_or(0);
        if latency_ns > worst.1 {
            worst = (cells[activation].parse().unwrap(), latency_ns);
        }
    }
    worst
}

/// A guest was started for what had been kept.
#[test]
fn what_was_explained_before_is_drawn_without_a_guest() {
    let place = changed(|document| document["lab"] = lab());
    let (activation, latency_ns) = worst(&place);
    let explained = |activation: u64, latency_ns: u64, left_out: Value| {
        let part = json!({
            "kind": "interrupts-off", "begin_ns": 0, "length_ns": latency_ns, "function": "free",
            "called_by": [], "task": "yes", "mostly": [],
        });
        let timeline = json!({
            "names": ["yes", "free"], "spans": [[0, 0, 0, latency_ns], [1, 1, 0, latency_ns]],
            "left_out": left_out,
        });
        let account = json!({
            "thread": 0, "activation": activation, "latency_ns": latency_ns, "parts": [part],
            "timeline": timeline,
        });
        let all = json!({ "version": 1, "identical_samples": 500, "accounts": [account] });
        std::fs::write(place.join("rec.teiji/explain.json"), all.to_string()).unwrap();
    };
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap();
    explained(activation, latency_ns, json!(0));
    let before = "Explained before: this is what explain.json in the recording says.\nWithout that \
                  file the run is made again.\n";
    let drawn = place.teiji("explain rec.teiji --svg why.svg --folded stacks --trace trace.json");
    assert_eq!((drawn.code, drawn.err.as_str()), (Some(0), before), "{drawn:?}");
    assert!(drawn.out.contains(&format!("at activation {activation}: interrupts off for ")));
    assert_eq!(read("stacks"), format!("yes;free {latency_ns}\n"));
    assert!(read("why.svg").contains(">free<"), "{}", read("why.svg"));
    let trace: Value = serde_json::from_str(&read("trace.json")).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 6);
    let printed = place.teiji(&format!("explain rec.teiji --activation {activation} --json"));
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""));
    let printed: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(printed["accounts"][0]["latency_ns"], json!(latency_ns));
    // What is left out is said, where it matters.
    explained(activation, latency_ns, json!(3));
    let drawn = place.teiji("explain rec.teiji --folded stacks --force");
    let short = "It has the 1500 longest calls of each latency at most.\nThe time of shorter ones \
                 counts as their callers'.\n";
    assert_eq!((drawn.code, drawn.err), (Some(0), format!("{before}{short}")));
    assert_eq!(place.teiji("explain rec.teiji").err, before);
    // Names are a stranger's.
    let kept = place.join("rec.teiji/explain.json");
    let named =
        std::fs::read_to_string(&kept).unwrap().replace(r#"["yes","#, r#"["y\u001b[31m\u202e","#);
    std::fs::write(&kept, named).unwrap();
    let drawn = place.teiji("explain rec.teiji --folded stacks --trace trace.json --force");
    assert_eq!(drawn.code, Some(0), "{drawn:?}");
    assert_eq!(read("stacks"), format!("y\\u001b[31m\\u202e;free {latency_ns}\n"));
    let trace = read("trace.json");
    assert!(trace.contains(r#""name":"y\u001b[31m\u202e""#), "{trace}");
    let events: Value = serde_json::from_str(&trace).unwrap();
    let names = events["traceEvents"].as_array().unwrap().iter().map(|event| &event["name"]);
    assert_eq!(names.filter(|name| **name == json!("y\u{1b}[31m\u{202e}")).count(), 1);
    // Nothing is known of others, and what the samples contradict was not explained.
    let needs_a_guest = |words: &str| {
        let asked = place.teiji(&format!("explain rec.teiji {words}"));
        assert_eq!(asked.code, Some(2), "{asked:?}");
        assert!(asked.err.contains("it says '/nowhere/vmlinuz'"), "{asked:?}");
    };
    needs_a_guest("--worst 2");
    needs_a_guest("--qemu system");
    explained(activation, latency_ns + 1, json!(0));
    needs_a_guest("");
}

/// Before a guest is started for it.
#[test]
fn a_vmlinux_that_cannot_be_used_is_refused() {
    let place = changed(|document| document["lab"] = lab());
    assert_refused(&place, "--vmlinux gone", "cannot read gone");
    std::fs::write(place.join("vmlinuz"), b"MZ compressed").unwrap();
    assert_refused(
        &place,
        "--vmlinux vmlinuz",
        "vmlinuz: not a vmlinux: expected an uncompressed kernel for x86_64",
    );
    let of_another = changed(|document| {
        document["lab"] = lab();
        document["lab"]["guest"]["machine"] = json!("aarch64");
    });
    assert_refused(
        &of_another,
        "--vmlinux gone",
        "was recorded on aarch64: --vmlinux works with guests of x86_64 only",
    );
    assert_refused(&of_another, "", "it says '/nowhere/vmlinuz'");
}

/// The recordings' folder of events is gone, and each account is whole.
fn explained(place: &TestFolder, words: &str) -> Value {
    place.well(&format!("measure -q -o rec --explain=1us {words}"));
    let text = std::fs::read_to_string(place.join("rec/explain.json")).unwrap();
    let explained: Value = serde_json::from_str(&text).unwrap();
    for account in explained["accounts"].as_array().unwrap() {
        let parts = account["parts"].as_array().unwrap();
        let sum: u64 = parts.iter().map(|part| part["length_ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), account["latency_ns"].as_u64(), "{account}");
    }
    explained
}

#[test]
fn a_run_explains_its_latencies_and_says_which_it_does_not() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let accounts =
        explained(&place, "-d 3500ms -i 200us -a 0")["accounts"].as_array().unwrap().len() as u64;
    let run: Value =
        serde_json::from_slice(&std::fs::read(place.join("rec/run.json")).unwrap()).unwrap();
    let watched = &run["instrument"]["watched"];
    let count = |key: &str| watched[key].as_u64().unwrap();
    assert_eq!(
        count("above"),
        count("accounted") + count("overwritten") + count("unwatched") + count("unseen")
    );
    assert!(accounts > 100 && accounts == count("kept"), "{watched}");
    assert!(watched["events"].to_string().contains("sched/sched_switch"), "{watched}");
    let shown = place.well("explain rec --json").out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["accounts"].as_array().unwrap().len() as u64, accounts);
    assert!(place.well("explain rec --worst 3").out.contains("without them"), "{watched}");
    place.well("verify rec");
    // What was explained is of the samples, and is counted.
    let path = place.join("rec/explain.json");
    let mut explained: Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let accounts = explained["accounts"].as_array_mut().unwrap();
    accounts.pop();
    let first = accounts[0]["activation"].as_u64().unwrap();
    accounts[0]["activation"] = json!(first + 1);
    std::fs::write(&path, explained.to_string()).unwrap();
    let verified = place.teiji("verify rec");
    assert_eq!(verified.code, Some(1), "{verified:?}");
    assert!(verified.out.contains("explain.json: accounts[0].latency_ns: recorded "));
    assert!(verified.out.contains(&format!("instrument.watched.kept: recorded {}", count("kept"))));
}

/// Runs for 4 ms in each 44, at priority 95 on CPU 0, until it is dropped.
struct Hog {
    ended: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Hog {
    fn start() -> Hog {
        let (ran, ended) = (std::time::Duration::from_millis(4), std::sync::mpsc::channel::<()>());
        let thread = std::thread::Builder::new().name("known-hog".into()).spawn(move || {
            system::scheduling::set_affinity(None, &[plan::CpuId(0)]).unwrap();
            let fifo = plan::Scheduling::new(Some(plan::Policy::Fifo), Some(95)).unwrap();
            system::scheduling::set_scheduling(None, fifo).unwrap();
            while ended.1.try_recv() != Err(std::sync::mpsc::TryRecvError::Disconnected) {
                std::thread::sleep(std::time::Duration::from_millis(40));
                let begun = std::time::Instant::now();
                while begun.elapsed() < ran {}
            }
        });
        Hog { ended: Some(ended.0), thread: Some(thread.unwrap()) }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        drop(self.ended.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Of the time that it runs a tenth: of 50 turns most begin or end within a wait.
#[track_caller]
fn assert_hog_is_named(accounts: &[Value]) {
    let hogged = |account: &&Value| {
        let parts = account["parts"].as_array().unwrap().iter();
        let of_hog = parts.filter(|part| part["task"] == "known-hog" && part["priority"] == 95);
        let ns: u64 = of_hog.map(|part| part["length_ns"].as_u64().unwrap()).sum();
        ns * 2 > account["latency_ns"].as_u64().unwrap()
    };
    let found = accounts.iter().filter(hogged).count();
    assert!(found >= 10, "{found} of {}", accounts.len());
    let longest = accounts.iter().filter(hogged).flat_map(|account| {
        account["parts"].as_array().unwrap().iter().filter(|part| part["kind"] == "other-thread")
    });
    let longest = longest.map(|part| part["length_ns"].as_u64().unwrap()).max().unwrap();
    assert!(longest <= 4_000_000 * 105 / 100, "{longest}");
}

/// What is known to have run is named, with its priority and its length.
#[test]
fn a_thread_of_higher_priority_is_named() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let hog = Hog::start();
    let explained = explained(&place, "-d 2s -a 0 -i 4ms");
    drop(hog);
    assert_hog_is_named(explained["accounts"].as_array().unwrap());
}

/// The same of a program in which nothing is changed.
#[test]
fn what_keeps_a_program_from_running_is_named() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let hog = Hog::start();
    let explained = explained(
        &place,
        &format!(
            "--probe app --wakeups timer -d 60s -- {TEIJI} measure -a 0 -i 4ms -d 2s -q -o own"
        ),
    );
    drop(hog);
    let accounts = explained["accounts"].as_array().unwrap();
    let own: Vec<&Value> =
        accounts.iter().filter(|one| one["program"]["name"] == "teiji-0").collect();
    assert!(own.iter().all(|one| one["program"]["priority"] == 90 && one["program"]["cpu"] == 0));
    assert_hog_is_named(&own.into_iter().cloned().collect::<Vec<_>>());
    let shown = place.well("explain rec").out;
    assert!(shown.contains(" at wake-up ") && shown.contains(" of teiji-0: "), "{shown}");
}

/// A thread that is stopped is late for each of its planned times. That was called a timer's fault,
/// or not attributed.
#[test]
fn what_a_signal_stops_is_said_to_have_been_stopped() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let stopped = format!(
        "{TEIJI} measure -a 0 -i 20ms -d 1s -q -o own & p=$!; sleep 0.4; kill -STOP $p; \
         sleep 0.3; kill -CONT $p; wait $p"
    );
    std::fs::write(place.join("stopped.sh"), stopped).unwrap();
    let explained = explained(&place, "--probe app --wakeups timer -d 60s -- sh stopped.sh");
    let stopped_ns = |account: &Value| {
        let parts = account["parts"].as_array().unwrap().iter();
        let parts = parts.filter(|part| part["kind"] == "stopped" && part["evidence"] == "traced");
        parts.map(|part| part["length_ns"].as_u64().unwrap()).sum::<u64>()
    };
    let accounts = explained["accounts"].as_array().unwrap();
    let longest = accounts.iter().map(stopped_ns).max().unwrap_or(0);
    assert!((270_000_000..500_000_000).contains(&longest), "{longest} of {}", accounts.len());
}

/// What of the kernel's tracing all share, and whether there are instances of this process.
fn tracing_state(of: Option<rustix::process::Pid>) -> (Vec<String>, bool) {
    let mounts = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(Path::new);
    let root = mounts.into_iter().find(|mount| mount.join("instances").is_dir()).unwrap();
    let names = [
        "tracing_on",
        "current_tracer",
        "set_event",
        "trace_clock",
        "buffer_size_kb",
        "set_event_pid",
    ];
    let shared = names.map(|name| std::fs::read_to_string(root.join(name)).unwrap());
    let instances = std::fs::read_dir(root.join("instances")).unwrap();
    let mut names = instances.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let own = of.map(|pid| format!("teiji-{}-", pid.as_raw_nonzero()));
    (shared.to_vec(), own.is_some_and(|own| names.any(|name| name.starts_with(&own))))
}

/// Whatever a run was at when it was killed, the next call that traces removes it.
#[test]
fn a_killed_run_leaves_nothing_behind_in_tracefs() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let before = tracing_state(None);
    let mut left = 0;
    let times = if is_whole() { 100 } else { 6 };
    for number in 0..times {
        // Spread over the start, the run and its end, each time elsewhere.
        let moment = 611 * (number + 1) % 1_200 + number % 7;
        let name = format!("rec{number}");
        let run = place.start(&format!("measure -q -o {name} --explain=5us -i 500us -d 600ms"));
        sleep_until(now() + moment * MILLISECOND);
        let pid = run.pid();
        run.signal(Signal::KILL);
        run.end();
        left += i32::from(tracing_state(Some(pid)).1);
        // Asks for an instance, as every run that traces does.
        place.well("measure -q -o next --explain=5us -i 1ms -d 20ms");
        std::fs::remove_dir_all(place.join("next")).unwrap();
        assert_eq!(tracing_state(Some(pid)), before, "killed after {moment} ms");
    }
    assert!(left > 0, "no run was killed while it traced");
}

/// A plain call too, which says so. In a PID namespace of its own no call of another test does it.
#[test]
fn a_call_that_does_not_trace_removes_what_a_killed_run_left() {
    let _turn = exclusive();
    let place = TestFolder::new();
    if !crate::app::may_trace_or_skip(&place) {
        return;
    }
    let mounts = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(Path::new);
    let root = mounts.into_iter().find(|mount| mount.join("instances").is_dir()).unwrap();
    for call in ["check", "measure -q -o rec -i 1ms -d 20ms"] {
        let script = format!(
            "left={}/instances/teiji-77777-1-$(readlink /proc/self/ns/pid | tr -dc 0-9)-0; mkdir \
             $left; {TEIJI} {call} 2>&1 > said; test -d $left && rmdir $left && echo left",
            root.display()
        );
        let mut shell = place.command("unshare");
        shell.args(["--pid", "--fork", "--mount-proc", "sh", "-c", &script]);
        let output = Running::start(shell).end();
        assert!(output.out.contains(TRACE_REMOVED) && !output.out.contains("left\n"), "{output:?}");
    }
}
