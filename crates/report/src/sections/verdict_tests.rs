// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headlines: a figure and its conditions, in one line of at most 90 columns.

use super::*;
use crate::language::{Language, in_language};
use crate::sections::caveats::Severity;
use crate::synthetic::{self, Synthetic};
use model::{End, Recorded, State, Warning};

fn headline(recordings: &[Recorded]) -> Headline {
    Headline::new(&Overview::all(recordings))
}

fn sentence_of(recordings: &[Recorded]) -> String {
    headline(recordings).sentence
}

fn caveats_of(recordings: &[Recorded]) -> Vec<String> {
    headline(recordings).caveats.into_iter().map(|banner| banner.text).collect()
}

const IDLE: &[i32] = &[10_000, 83_449];

fn idle() -> Recorded {
    Synthetic::idle().samples(IDLE).build()
}

#[test]
fn a_figure_and_its_conditions() {
    let one = headline(&[idle()]);
    assert_eq!(one.sentence, "Worst wake-up 83.4 µs, SCHED_FIFO 90, no load added");
    assert_eq!((one.account.as_str(), one.caveats), ("4 of 4 activations on time.", Vec::new()));
    let busy = Synthetic::hackbench().samples(&[20_000, 2_239_001, 0, 0, 9_000]).build();
    let one = headline(std::slice::from_ref(&busy));
    assert_eq!(one.sentence, "Worst wake-up 2.24 ms, SCHED_FIFO 90, under hackbench");
    let both = headline(&[idle(), busy]);
    assert_eq!(
        both.sentence,
        "Worst wake-up 2.24 ms under hackbench, 83.4 µs with no load added, SCHED_FIFO 90"
    );
    assert_eq!(both.account, "8 of 14 activations on time, 2 late, 4 skipped.");
    let early = Synthetic::idle().samples(&[-2_000]).build();
    assert_eq!(
        sentence_of(&[early]),
        "Worst wake-up -2.00 µs (early), SCHED_FIFO 90, no load added"
    );
}

/// What was asked for and not granted is in the first line.
#[test]
fn scheduling_is_the_one_that_was_granted() {
    let mut recorded = idle();
    recorded.document.instrument.real_time = false;
    for thread in &mut recorded.document.threads {
        thread.scheduling = plan::Scheduling::OTHER;
    }
    assert_eq!(
        sentence_of(std::slice::from_ref(&recorded)),
        "Worst wake-up 83.4 µs, SCHED_OTHER instead of SCHED_FIFO 90, no load added"
    );
    let denied = "real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)";
    assert_eq!(caveats_of(std::slice::from_ref(&recorded)), [format!("No {denied}")]);
    let both = [recorded.clone(), Synthetic::hackbench().samples(IDLE).build()];
    assert_eq!(caveats_of(&both)[0], format!("idle: no {denied}"));

    recorded.document.run.scheduling = plan::Scheduling::OTHER;
    let asked = headline(&[recorded]);
    assert_eq!(asked.sentence, "Worst wake-up 83.4 µs, SCHED_OTHER, no load added");
    let [note] = asked.caveats.as_slice() else { panic!("{:?}", asked.caveats) };
    assert_eq!(
        (note.severity(), note.text.as_str()),
        (Severity::Note, "Ordinary scheduling (SCHED_OTHER), as requested: no real-time figures")
    );
    let mut apart = idle();
    apart.document.threads[1].scheduling.prio = Some(89);
    assert!(
        sentence_of(&[apart]).starts_with("Worst wake-up 83.4 µs, SCHED_FIFO 90 and 1 more, no")
    );
}

#[test]
fn virtual_time_is_a_condition_of_the_figure() {
    let emulated = Synthetic::idle().samples(IDLE).in_lab(Some(1)).build();
    let host = Synthetic::idle().samples(IDLE).in_lab(None).build();
    let one = headline(std::slice::from_ref(&emulated));
    assert_eq!(
        one.sentence,
        "Worst wake-up 83.4 µs, SCHED_FIFO 90, no load added, in virtual time"
    );
    let notes: Vec<&str> = one.caveats.iter().map(|banner| banner.text.as_str()).collect();
    assert_eq!(notes, ["Virtual time counts instructions: it is not a board's ns"]);
    assert!(sentence_of(&[host, emulated.clone()]).ends_with(", no load added, emulated"));
    assert!(sentence_of(&[idle(), emulated]).ends_with(", partly in the lab"));
}

/// Of a stream nothing is known but its times.
/// A program that measured in a guest by itself said nothing of it.
#[test]
fn a_program_in_a_guest_says_that_its_time_is_virtual() {
    let mut recorded = Synthetic::idle().threads(1).samples(&[4_080]).build();
    recorded.document.instrument.virtual_time = true;
    let headline = Headline::new(&Overview::all(&[recorded]));
    assert_eq!(
        headline.sentence,
        "Worst wake-up 4.08 µs, SCHED_FIFO 90, no load added, in virtual time"
    );
}

#[test]
fn of_times_from_elsewhere_neither_scheduling_nor_load_is_said() {
    let mut recorded = idle();
    let probe = &mut recorded.document.probe;
    (probe.only_observes, probe.clock) = (true, model::ProbeStatement::CLOCK_OF_STREAM.into());
    let one = headline(&[recorded]);
    assert_eq!(one.sentence, "Worst wake-up 83.4 µs, taken elsewhere");
    let elsewhere = "Measured elsewhere: what this machine did says nothing of these times";
    assert!(one.caveats.iter().any(|banner| banner.text == elsewhere), "{:?}", one.caveats);
}

/// Of a tracer that prints only gaps, nothing printed is what was found. It says nothing of
/// windows that there were not.
#[test]
fn no_gap_is_a_finding() {
    let mut recorded = Synthetic::idle().samples(&[]).threads(1).build();
    assert_eq!(sentence_of(std::slice::from_ref(&recorded)), "No latency was measured");
    let settings = [("hwlat-threshold", "10us"), ("hwlat-window", "1s"), ("hwlat-width", "500ms")];
    recorded.document.run.probe_settings =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    recorded.document.end = Some(End::Done);
    for (ms, windows) in [(5_500, "5 windows of 1s"), (1_500, "1 window of 1s")] {
        recorded.document.run.length = Length::DurationNs(Nanos::from_millis(ms));
        assert_eq!(
            sentence_of(std::slice::from_ref(&recorded)),
            format!("No gap above 10us was found in {windows}")
        );
    }
    recorded.document.end = None;
    assert_eq!(sentence_of(&[recorded]), "No gap above 10us was found");
}

#[test]
fn recordings_with_equal_loads_go_by_their_names() {
    let named = |title: &str, worst: i32| {
        Synthetic::idle().title(title).samples(&[worst]).threads(1).build()
    };
    assert_eq!(
        sentence_of(&[named("vanilla", 4_000), named("rt", 3_000)]),
        "Worst wake-up 4.00 µs in vanilla, 3.00 µs in rt, SCHED_FIFO 90, no load added"
    );
    let many: Vec<Recorded> = (1..=5).map(|n| named(&format!("{n}"), n * 1_000)).collect();
    assert_eq!(
        sentence_of(&many),
        "Worst wake-up 5.00 µs in 5 (the worst of 5 recordings), SCHED_FIFO 90, no load added"
    );
    let silent = Synthetic::idle().title("silent").samples(&[]).build();
    assert_eq!(caveats_of(&[named("rt", 3_000), silent]), ["silent: nothing was measured"]);
}

/// Whatever is recorded, in any language.
#[test]
fn a_headline_has_one_line_of_90_columns() {
    let long = "a name that goes on and on with 起床遅延 in it, and on and on";
    let loads = ["cpu@50%", "mem-alloc@100%", "hackbench", "hackbench", "hackbench", "hackbench"];
    let mut busy = Synthetic::hackbench().title(&format!("{long}\nmore")).build();
    busy.document.run.loads = loads.iter().map(|load| load.parse().unwrap()).collect();
    let mut denied = busy.clone();
    denied.document.instrument.real_time = false;
    for thread in &mut denied.document.threads {
        thread.scheduling = plan::Scheduling::OTHER;
    }
    let lab = Synthetic::idle().title(long).in_lab(Some(1)).build();
    let mut jitter = busy.clone();
    jitter.document.probe.quantity = model::Quantity::Jitter;
    let all = [busy.clone(), denied, lab, jitter.clone()];
    let mut sets: Vec<Vec<Recorded>> = all.iter().map(|one| vec![one.clone()]).collect();
    sets.extend([vec![jitter.clone(), jitter], vec![busy.clone(), busy], all.to_vec(), Vec::new()]);
    for language in Language::ALL {
        for recordings in &sets {
            let sentence = in_language(language, || sentence_of(recordings));
            assert!(columns(&sentence) <= MAX_COLUMNS, "{} {sentence}", columns(&sentence));
            assert!(!sentence.contains(char::is_control), "{sentence:?}");
        }
    }
    assert_eq!(
        sentence_of(&sets[0]),
        "Worst wake-up 1.45 ms, SCHED_FIFO 90, under 6 loads",
        "rather than half a name"
    );
}

#[test]
fn a_run_cut_short_says_so_below_the_figure() {
    let mut recorded = idle();
    let mut ends = |state, end| {
        (recorded.document.state, recorded.document.end) = (state, end);
        caveats_of(std::slice::from_ref(&recorded))
    };
    assert_eq!(ends(State::Complete, Some(End::Done)), [""; 0]);
    let running = ends(State::Running, None);
    assert_eq!(running, ["Incomplete: cut off, and at most its last second is missing"]);
    let signal = ends(State::Stopped, Some(End::Signal { name: "SIGINT".into() }));
    assert_eq!(signal, ["Stopped early by SIGINT"]);
    let end = End::BreakAbove { thread: 1, activation: 4_711, latency_ns: 83_449 };
    let above = "Stopped by --break-above: activation 4,711 of thread 1 had a latency of 83.4 µs";
    assert_eq!(ends(State::Stopped, Some(end)), [above]);
    let guard = ends(State::Stopped, Some(End::Guard { starved_ns: 2_000_000_000, cpu: None }));
    let nothing = "Stopped by its guard: nothing else had run for 2.00 s (interval 1ms)";
    assert_eq!(guard, [nothing]);
    let full = End::RecordingFailed { error: "No space left on device".into() };
    let writing = "Stopped early: writing it failed (No space left on device)";
    assert_eq!(ends(State::Stopped, Some(full)), [writing]);
    // Without --no-sync a power cut costs no more than SIGKILL.
    recorded.document.run.sync = false;
    (recorded.document.state, recorded.document.end) = (State::Running, None);
    let not_synced = "Incomplete: cut off, and not synced to the disk (--no-sync)";
    assert_eq!(caveats_of(&[recorded]), [not_synced]);
}

#[test]
fn a_load_off_its_level_is_named() {
    let mut recorded = Synthetic::idle().load("cpu@50%").samples(IDLE).build();
    recorded.document.load_off_target = true;
    let off = caveats_of(std::slice::from_ref(&recorded)).remove(0);
    assert_eq!(off, "Load off target: off by more than 5 points");
    recorded.document.load[0].off_target = true;
    recorded.document.load[0].reached = Some(model::Reached { mean: 31.2, worst_second: 30.0 });
    let named = "oad off target: cpu@50% reached 31.2 % of each CPU instead of 50 %";
    assert_eq!(caveats_of(std::slice::from_ref(&recorded))[0], format!("L{named}"));
    let both = [Synthetic::idle().samples(IDLE).title("calm").build(), recorded];
    assert_eq!(caveats_of(&both)[0], format!("idle: l{named}"));
}

/// As many as there can be of one recording, each in one line of a terminal.
#[test]
fn caveats_are_lines_the_worst_first() {
    let mut recorded = Synthetic::hackbench().in_lab(None).samples(IDLE).build();
    let document = &mut recorded.document;
    document.state = State::Running;
    document.instrument.real_time = false;
    document.threads[0].scheduling = plan::Scheduling::OTHER;
    synthetic::lose_samples(&mut document.threads[0], 12);
    document.load_off_target = true;
    let load: plan::LoadSpec = "cpu@50%".parse().unwrap();
    let steady = model::Steady::RunningForNs(Nanos::from_secs(1));
    document.warnings = vec![synthetic::no_real_time(), Warning::LoadNotSettled { load, steady }];
    document.warnings.extend(["idle-states", "governor", "smt"].map(|check| {
        Warning::MachineCheck {
            check: check.to_owned(),
            found: "x".to_owned(),
            why: "y".to_owned(),
            action: None,
            found_phrase: None,
            action_phrase: None,
        }
    }));
    let caveats = headline(&[recorded]).caveats;
    let lines: Vec<String> =
        caveats.iter().map(|one| format!("{} {}", one.severity().sign(), one.text)).collect();
    assert_eq!(
        lines,
        [
            "✗ Incomplete: cut off, and at most its last second is missing",
            "✗ 12 samples lost, with unknown latencies",
            "✗ No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)",
            "✗ Load off target: off by more than 5 points",
            "! Steal time 1.0 % (10.0 ms) on CPU 0",
            "! Clocksource changed from tsc to hpet",
            "! Load not steady when measuring began",
            "! Bad for latency: idle-states, governor and 1 more. See teiji check",
            "! Emulated on the host's clock: other work of the host is in the figures",
        ]
    );
    assert!(lines.iter().all(|line| columns(line) <= 80), "{lines:#?}");
}
