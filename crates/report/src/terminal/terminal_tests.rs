// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the summary in a terminal says, line by line.

use super::*;
use crate::synthetic::{Synthetic, lose_samples};
use crate::terminal::text::WIDTH;
use model::State;

const TWO_THREADS: &str = "\
Worst wake-up 1.45 ms, SCHED_FIFO 90, under hackbench
19,994 of 20,000 activations on time, 3 late, 3 skipped.

! Steal time 1.0 % (100 ms) on CPU 1
! Clocksource changed from tsc to hpet

hackbench: cyclic, every 1ms, 10,000 activations of each thread planned, under
hackbench
SCHED_FIFO 90 on Linux 6.1.0-37-amd64, voluntary (PREEMPT_DYNAMIC)

thread cpu    due on-time late skipped min mean  p50   p99  p99.9     max
     0   0 10,000   9,996    2       2 2.8 12.5  9.7  59.6  319.2 1,358.1
     1   1 10,000   9,998    1       1 2.8 12.2  9.6  56.6  213.9 1,446.9
   all     20,000  19,994    3       3 2.8 12.3 ~9.7 ~58.4 ~292.9 1,446.9

µs with skipped counted in; ~ up to 1 % high; without 600 ms of warm-up
At 95 % confidence, 20,000 activations without a worse one establish a rate
below 1 in 6,676, if they are independent.

As measured, without the skipped activations:
thread  cpu  count  min  mean  p50   p99  p99.9      max
     0    0  9,998  2.8  12.5  9.7  59.4  319.2  1,358.1
     1    1  9,999  2.8  12.1  9.6  56.6  213.9  1,446.9

Load hackbench,groups=10 on CPUs 0-1: asked for as much as it gets, 97.8 % of
each CPU reached (94.1 % in its worst second), machine 98.9 % busy there,
812,345 messages/s, 400 tasks, steady after 640 ms, alive throughout.
  cpu  reached  worst second  machine busy
    0        –             –        99.1 %
    1        –             –        98.7 %

Warning: Slow disk: a power cut would have cost more than the last second of
samples.
  Seen: up to 0.7 s from a write until it was on the disk
  Next: Record to a faster disk.
";

const WITH_CAVEATS: &str = "\
Worst wake-up 83.4 µs, SCHED_OTHER instead of SCHED_FIFO 90, no load added
5 of 5 activations on time.

✗ Incomplete: cut off, and at most its last second is missing
✗ 3 samples lost, with unknown latencies
✗ No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90)

idle: cyclic, every 1ms, 2 activations of each thread planned, no load added
SCHED_OTHER on Linux 6.1.0-37-amd64, voluntary (PREEMPT_DYNAMIC)

thread  cpu  due  on-time  late  skipped   min  mean   p50  p99  p99.9   max
     0    0    5        5     0        0  10.0  46.7  10.0    –      –  83.4

µs as measured; – too few samples; without 100 ms of warm-up

Warning: No real-time rights: measured with SCHED_OTHER, not SCHED_FIFO 90. The
figures say little about real-time threads.
  Seen: the kernel refused SCHED_FIFO 90: Operation not permitted (os error 1);
    the limit on real-time priorities (RLIMIT_RTPRIO) is 0
  Next: Join a group that has them: teiji check says how (rights-real-time). For
    this shell alone: sudo prlimit --pid $$ --rtprio=95 --memlock=unlimited
";

const OFF_TARGET: &str = "\
Load cpu@50% on CPUs 0-1: asked for 50 %, OFF TARGET, 31.2 % of each CPU reached
(12.0 % in its worst second), machine 98.9 % busy there, 45,120 rounds/s, 2
tasks, steady after 640 ms, EXITED EARLY.
  cpu  reached  worst second  machine busy
    0   50.0 %        48.8 %        99.1 %
    1   49.6 %        48.4 %        98.7 %
";

fn painted(recorded: &model::Recorded, paint: Paint) -> String {
    let options = crate::ChartOptions::default();
    Report::new(std::slice::from_ref(recorded), &[], &options)
        .terminal_summary(paint, Language::English)
}

fn output(recorded: &model::Recorded) -> String {
    painted(recorded, Paint::Plain)
}

#[test]
fn two_threads_under_load() {
    let output = output(&Synthetic::hackbench().build());
    assert_eq!(output, TWO_THREADS, "\n{output}");
    assert!(output.lines().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn several_have_one_headline_and_a_table_each() {
    let mut recordings = [Synthetic::idle().build(), Synthetic::hackbench().build()];
    recordings[0].document.warnings =
        vec![model::Warning::SamplesLost { thread: 0, lost: 1, woken: 9 }];
    let options = crate::ChartOptions::default();
    let report = Report::new(&recordings, &[], &options);
    let output = report.terminal_summary(Paint::Plain, Language::English);
    assert!(output.starts_with(&report.headline(Paint::Plain, Language::English)), "{output}");
    assert_eq!(output.matches("Worst wake-up").count(), 1, "{output}");
    assert_eq!(
        output.matches("thread cpu").count() + output.matches("thread  cpu").count(),
        3,
        "one as measured: {output}"
    );
    assert!(output.contains("Warning in idle: "), "{output}");
}

#[test]
fn caveats_stand_between_the_headline_and_the_table() {
    let mut recorded = Synthetic::idle().threads(1).samples(&[10_000, 83_449]).build();
    recorded.document.state = State::Running;
    recorded.document.instrument.real_time = false;
    recorded.document.threads[0].scheduling = plan::Scheduling::OTHER;
    lose_samples(&mut recorded.document.threads[0], 3);
    recorded.document.warnings = vec![crate::synthetic::no_real_time()];
    let output = output(&recorded);
    assert_eq!(output, WITH_CAVEATS, "\n{output}");
}

/// How a thread that only reads is scheduled says nothing of what is measured.
#[test]
fn the_scheduling_of_whoever_only_observes_is_no_condition() {
    let mut recorded = Synthetic::idle().threads(1).build();
    assert!(output(&recorded).contains("\nSCHED_FIFO 90 on Linux "), "{}", output(&recorded));
    recorded.document.probe.only_observes = true;
    let output = output(&recorded);
    assert!(output.contains("\nObserved on Linux ") && !output.contains("SCHED_"), "{output}");
}

/// Of two threads `~` was explained where nothing in the table had one.
#[test]
fn the_legend_explains_what_is_in_the_table() {
    let legend = "; ~ up to 1 % high";
    let mut recorded = Synthetic::idle().build();
    assert!(output(&recorded).contains(" ~") && output(&recorded).contains(legend));
    recorded.document.threads.truncate(1);
    recorded.threads.truncate(1);
    assert!(!output(&recorded).contains('~'), "{}", output(&recorded));
    let few = Synthetic::idle().due(0).build();
    assert!(!output(&few).contains('~'), "{}", output(&few));
}

#[test]
fn ordinary_threads_say_their_timer_slack() {
    let mut recorded = Synthetic::idle().threads(1).build();
    let thread = &mut recorded.document.threads[0];
    (thread.scheduling, thread.timer_slack_ns) = (plan::Scheduling::OTHER, Some(1));
    let line = "\nSCHED_OTHER with 1 ns timer slack on Linux ";
    assert!(output(&recorded).contains(line), "{}", output(&recorded));
    let all = [crate::overview::Overview::new(&recorded)];
    let rows = crate::sections::method::rows(&all);
    let words = "SCHED_OTHER with 1 ns timer slack instead of SCHED_FIFO 90";
    assert!(rows.iter().any(|row| row.values.iter().any(|value| value == words)));
}

#[test]
fn a_load_off_its_level_is_a_caveat_and_stands_with_its_cpus() {
    let mut recorded = Synthetic::idle().load("cpu@50%").build();
    recorded.document.load_off_target = true;
    let load = &mut recorded.document.load[0];
    (load.off_target, load.alive) = (true, false);
    load.reached = Some(model::Reached { mean: 31.2, worst_second: 12.0 });
    let output = output(&recorded);
    let line = "\n✗ Load off target: cpu@50% reached 31.2 % of each CPU instead of 50 %\n";
    assert!(output.contains(line), "{output}");
    assert!(output.contains(OFF_TARGET), "{output}");
}

#[test]
fn a_terminal_is_not_steered_from_outside() {
    let output = output(&Synthetic::idle().title("\u{1b}[2Jgone\u{7}").build());
    assert!(output.chars().all(|c| c == '\n' || !c.is_control()), "{output:?}");
}

#[test]
fn the_columns_are_the_same_whatever_the_figures() {
    let head = |recorded: &model::Recorded| {
        let output = output(recorded);
        let head = output.lines().find(|line| line.contains("on-time")).unwrap();
        head.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let long = Synthetic::hackbench().due(1_000_000).samples(&[999_999, 123_456]).build();
    let milliseconds: Vec<i32> = (1..=4_000).map(|n| n * 4_834).collect();
    let bad = Synthetic::idle().threads(1).due(4_000).samples(&milliseconds).build();
    assert!(output(&bad).contains(" 5,704 5,723\n"), "{}", output(&bad));
    assert!(output(&bad).lines().all(|line| line.chars().count() <= WIDTH), "{}", output(&bad));
    assert_eq!(head(&long), head(&Synthetic::idle().threads(1).samples(&[10_000, 83_449]).build()));
    assert!(output(&long).lines().all(|line| line.chars().count() <= WIDTH));
}

#[test]
fn figures_of_five_digits_take_fewer_columns() {
    let milliseconds: Vec<i32> = (1..=10_000).map(|n| n * 98_765).collect();
    let mut recorded = Synthetic::idle().threads(2).due(10_000).samples(&milliseconds).build();
    recorded.document.threads[0].index = 4_000_000;
    let output = output(&recorded);
    let head = output.lines().find(|line| line.contains("p99.9")).unwrap();
    let names: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(
        names,
        [
            "thread", "cpu", "due", "on-time", "late", "skipped", "mean", "p50", "p99", "p99.9",
            "max"
        ],
        "{output}"
    );
    assert!(output.lines().all(|line| line.chars().count() <= WIDTH), "{output}");
}

/// As `teiji lab run` has them.
#[test]
fn figures_in_virtual_time_have_each_ns() {
    let recorded = Synthetic::idle().threads(1).samples(&[10_001, 83_449]).in_lab(Some(1)).build();
    let output = output(&recorded);
    assert!(output.contains("10.001 46.725 10.001   –     – 83.449\n"), "{output}");
    let machine = Synthetic::idle().threads(1).samples(&[10_001, 83_449]).build();
    assert!(self::output(&machine).contains("10.0  46.7  10.0    –      –  83.4\n"));
}

/// `due 3,000` stood beside "events are not planned".
#[test]
fn events_are_counted_and_never_due() {
    let mut recorded = Synthetic::idle().threads(1).samples(&[10_000, 83_449]).build();
    recorded.document.probe.rows = model::RowKind::Events;
    recorded.document.probe.overrun_column = None;
    let output = output(&recorded);
    let head = output.lines().position(|line| line.starts_with("thread")).unwrap();
    let table: Vec<Vec<&str>> =
        output.lines().skip(head).take(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(table[0][..4], ["thread", "cpu", "events", "min"], "{output}");
    assert_eq!(table[1][2], count(recorded.document.threads[0].activations.unwrap().all().due));
    assert!(!output.contains("not planned"), "{output}");
}

#[test]
fn colour_marks_what_is_bad_and_says_nothing_by_itself() {
    let recorded = Synthetic::hackbench().build();
    let coloured = painted(&recorded, Paint::Colour);
    assert!(coloured.starts_with("\u{1b}[1mWorst wake-up"), "{coloured:?}");
    // An overrun is red, and a caveat yellow.
    assert!(coloured.contains("\u{1b}[1;31m") && coloured.contains("\u{1b}[33m! Steal"));
    let without: String =
        coloured
            .split('\u{1b}')
            .enumerate()
            .map(|(place, part)| {
                if place == 0 { part } else { part.split_once('m').map_or(part, |(_, text)| text) }
            })
            .collect();
    assert_eq!(without, output(&recorded));
}
