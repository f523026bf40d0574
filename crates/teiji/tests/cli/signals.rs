// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whoever asks a run to end gets a recording that is in order and says that it was stopped,
//! however often they ask; and the machine back, without our loads. The exit code says that it was
//! cut short.

use crate::support::processes::assert_gone;
use crate::support::pty::OnTerminal;
use crate::support::{MILLISECOND, SECOND, TEIJI, TestFolder, beside_others, sleep_until, soon};
use rustix::process::Signal;
use signal_hook::consts::SIGTERM;
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A run of 30 s is asked to end after a fifth of a second, with each of these, 30 ms apart.
fn asked_to_end(signals: &[Signal], name: &str) {
    let _turn = beside_others();
    let place = TestFolder::new();
    let running =
        place.start("measure -i 1ms -d 30s --load hackbench,groups=2 --load cpu -o x.teiji");
    sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    let processes = running.descendants();
    assert!(processes.len() > 80, "{processes:?}");
    for signal in signals {
        running.signal(*signal);
        sleep(Duration::from_millis(30));
    }
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert_gone(&processes);
    assert_stopped(&place, name);
    assert!(output.out.contains(&format!("\n✗ Stopped early by {name}\n")), "{output:?}");
}

/// The recording is whole as far as it goes, and says by what it was ended.
fn assert_stopped(place: &TestFolder, name: &str) {
    let document = place.document("x.teiji");
    assert_eq!(
        (document.text("/state"), document.text("/end/reason"), document.text("/end/name")),
        ("stopped", "signal", name)
    );
    document.assert_adds_up();
    for thread in document.threads() {
        let due = thread.whole("/activations/due");
        assert!((100..20_000).contains(&due), "{due}");
    }
    assert!(
        document.list("/load").iter().all(|load| load.at("/alive") == true),
        "{:?}",
        document.at("/load")
    );
    place.well("verify x.teiji");
}

#[test]
fn interrupted() {
    asked_to_end(&[Signal::INT], "SIGINT");
}

#[test]
fn interrupted_again_and_again() {
    asked_to_end(&[Signal::INT, Signal::INT, Signal::INT], "SIGINT");
}

#[test]
fn terminated() {
    asked_to_end(&[Signal::TERM], "SIGTERM");
}

#[test]
fn hung_up() {
    asked_to_end(&[Signal::HUP], "SIGHUP");
}

/// The window is closed, or the connection lost, while the run draws its progress.
#[test]
fn the_terminal_is_closed() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut terminal =
        OnTerminal::start(&place, "measure -i 1ms -d 30s --load hackbench,groups=1 -o x.teiji");
    sleep_until(terminal.running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    terminal.look_until(" left");
    let processes = terminal.running.descendants();
    assert!(processes.len() > 40, "{processes:?}");
    let output = terminal.close();
    assert_eq!(output.code, Some(4), "{output:?}");
    assert_gone(&processes);
    assert_stopped(&place, "SIGHUP");
}

/// Sends what comes with a closed terminal, and what a script sends, once SIGTERM is caught; the
/// program ignored both from the start. What it has written after it ended with 0.
fn ignoring_from_the_start(words: &str) -> String {
    let place = TestFolder::new();
    fs::write(place.join("p.toml"), "[measure]\nduration = \"1s\"\n").unwrap();
    let mut running = place.start_in_shell(&format!("trap '' HUP INT; exec {TEIJI} {words}"));
    let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
    soon("SIGTERM is caught", || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:\t")).unwrap();
        u64::from_str_radix(caught, 16).unwrap() & 1 << (SIGTERM - 1) != 0 || !running.runs()
    });
    sleep(Duration::from_millis(200));
    running.signal(Signal::HUP);
    running.signal(Signal::INT);
    let output = running.end();
    assert_eq!(output.code, Some(0), "{words}: {output:?}");
    output.out
}

/// Under `nohup`, and in the background of a script, where a shell has SIGINT ignored.
#[test]
fn what_was_ignored_from_the_start_ends_nothing() {
    let _turn = beside_others();
    for words in ["measure -i 1ms -d 1s -o x.teiji", "run p.toml -o x", "load cpu -d 1s"] {
        ignoring_from_the_start(words);
    }
}

/// Scripts start rt-tests' programs in the background and end them by SIGINT.
#[test]
fn what_replaces_rt_tests_heeds_an_ignored_sigint() {
    let _turn = beside_others();
    for (words, said) in [("cyclictest -q -D 60", "T: 0 "), ("hackbench -l 99999999", "Time: ")] {
        let started = Instant::now();
        let output = ignoring_from_the_start(words);
        assert!(output.contains(said) && started.elapsed().as_secs() < 30, "{words}: {output}");
    }
}

/// Ctrl-C reaches the whole group in the foreground; the loads are none of its business.
#[test]
fn control_c() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let terminal =
        OnTerminal::start(&place, "measure -i 1ms -d 30s --load hackbench,groups=1 -o x.teiji");
    sleep_until(terminal.running.begun("x.teiji").whole("/threads/0/start_ns") + 300 * MILLISECOND);
    terminal.press(b"\x03");
    let (code, text) = terminal.end();
    assert_eq!(code, Some(4), "{text}");
    assert_stopped(&place, "SIGINT");
}

/// A thread that sleeps for an hour is woken to stop.
#[test]
fn between_two_activations_an_hour_apart() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let running = place.start("measure -i 1h -n 3 -o x.teiji");
    sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    running.signal(Signal::INT);
    let output = running.end();
    assert_eq!(output.code, Some(4), "{output:?}");
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!(
        (document.text("/end/name"), document.threads()[0].whole("/activations/due")),
        ("SIGINT", 1)
    );
    // Threads are spread over the interval: the other ones' hour had not come, and nothing is
    // claimed of them.
    for thread in &document.threads()[1..] {
        assert_eq!(
            (thread.whole("/activations/due"), thread.at("/latency_ns")),
            (0, &serde_json::Value::Null)
        );
    }
    place.well("verify x.teiji");
    place.well("show x.teiji");
    place.well("report x.teiji");
}

/// Before the first activation: the run is recorded as stopped, or never was.
#[test]
fn while_loads_start() {
    let _turn = beside_others();
    for wait in [5, 20, 60] {
        let place = TestFolder::new();
        let running = place.start("measure -i 1ms -d 30s --load hackbench,groups=20 -o x.teiji");
        sleep(Duration::from_millis(wait));
        let processes = running.descendants();
        running.signal(Signal::TERM);
        let output = running.end();
        assert_gone(&processes);
        if place.join("x.teiji").exists() {
            assert_eq!(
                (output.code, place.document("x.teiji").text("/state")),
                (Some(4), "stopped"),
                "after {wait} ms: {output:?}"
            );
            place.well("verify x.teiji");
        }
    }
}

/// A terminal that is held (Ctrl-S), or whose connection stalls, takes nothing more. That is no
/// reason to end the run, nor to lose samples.
#[test]
fn the_terminal_is_held() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let mut terminal = OnTerminal::start(&place, "measure -i 1ms -d 7s -o x.teiji");
    let start = terminal.running.begun("x.teiji").whole("/threads/0/start_ns");
    terminal.look_until(" left");
    terminal.press(b"\x13");
    sleep_until(start + 7 * SECOND + 500 * MILLISECOND);
    terminal.press(b"\x11");
    let (code, text) = terminal.end();
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!(
        (code, document.text("/state")),
        (Some(0), "complete"),
        "{}\n{text}",
        document.at("/end")
    );
}

/// Ctrl-Z and `fg`: the activations of the time between are skipped and counted, and nobody says
/// that the measuring threads left the system no time.
#[test]
fn suspended_and_resumed() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let running = place.start("measure -i 1ms -d 8s -o x.teiji");
    sleep_until(running.begun("x.teiji").whole("/threads/0/start_ns") + 200 * MILLISECOND);
    running.signal(Signal::STOP);
    sleep(Duration::from_secs(6));
    running.signal(Signal::CONT);
    let output = running.end();
    let document = place.document("x.teiji");
    document.assert_adds_up();
    assert_eq!(
        (output.code, document.text("/state")),
        (Some(0), "complete"),
        "{}",
        document.at("/end")
    );
    for thread in document.threads() {
        assert!(thread.whole("/activations/skipped") > 5_900, "{thread:?}");
        assert!(thread.whole("/latency_ns/max") > 5_900 * MILLISECOND, "{thread:?}");
    }
    place.well("verify x.teiji");
}

/// Ctrl-Z before the end of a run and `fg` long after it: each activation is accounted for at once,
/// and whoever wakes first then, nobody says that the threads had not ended in time.
#[test]
fn suspended_across_the_end() {
    let _turn = beside_others();
    let place = TestFolder::new();
    let names = ["a.teiji", "b.teiji", "c.teiji"];
    let running = names.map(|name| place.start(&format!("measure -q -i 1ms -d 2s -o {name}")));
    for (running, name) in running.iter().zip(names) {
        sleep_until(running.begun(name).whole("/threads/0/start_ns") + 200 * MILLISECOND);
    }
    running.iter().for_each(|running| running.signal(Signal::STOP));
    sleep(Duration::from_secs(8));
    running.iter().for_each(|running| running.signal(Signal::CONT));
    for (running, name) in running.into_iter().zip(names) {
        let output = running.end();
        let document = place.document(name);
        document.assert_adds_up();
        assert_eq!(
            (output.code, document.text("/state")),
            (Some(0), "complete"),
            "{name}: {}",
            document.at("/end")
        );
    }
}

/// As rt-tests' hackbench: whoever stops it gets the time until then, and exit code 0. With threads
/// it ends by the signal and says nothing more.
#[test]
fn hackbench_prints_its_time_when_it_is_stopped() {
    let _turn = beside_others();
    let place = TestFolder::new();
    for (words, signal, tasks) in [
        ("hackbench -g 2 -l 100000000", Signal::INT, Some(80)),
        ("hackbench -g 2 -l 100000000 -T", Signal::INT, None),
        ("hackbench -g 1 -l 100000000 -p", Signal::TERM, Some(40)),
    ] {
        let started = Instant::now();
        let running = place.start(words);
        if !words.contains("-T") {
            soon("its tasks are there", || !running.descendants().is_empty());
        }
        sleep(Duration::from_millis(500));
        let before = running.descendants();
        running.signal(signal);
        let output = running.end();
        assert_gone(&before);
        let said: Vec<&str> = output.out.lines().skip(2).collect();
        let Some(tasks) = tasks else {
            assert_eq!((output.code, said.as_slice()), (None, [].as_slice()), "{words}");
            continue;
        };
        let time = output
            .out
            .lines()
            .last()
            .and_then(|line| line.strip_prefix("Time: "))
            .map(str::parse::<f64>);
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{words}: {output:?}");
        let signaling = format!("signaling {tasks} worker threads to terminate");
        assert_eq!(said.split_last().unwrap().1, [signaling], "{words}");
        // It counts from when all its tasks are ready, on a busy machine much later.
        let most = started.elapsed().as_secs_f64();
        assert!(
            matches!(time, Some(Ok(seconds)) if seconds > 0.0 && seconds < most),
            "{words}: {output:?}"
        );
    }
}
