// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is said of each kind of warning, in both languages.

use super::*;
use crate::language::{Language, in_language};
use model::{
    BusyCpu, BusyProcess, FrequencyChange, LoadFailure, MemoryNotLocked, NotHeld, RefusalCause,
    Steady, StolenTime, phrase,
};
use plan::{CpuId, LoadSpec, Nanos, Scheduling};
use std::collections::BTreeSet;

fn cpus(ids: &[u32]) -> Vec<CpuId> {
    ids.iter().copied().map(CpuId).collect()
}

fn load(text: &str) -> LoadSpec {
    text.parse().unwrap()
}

fn busy(cpu: u32, percent: f64) -> BusyCpu {
    BusyCpu { cpu: CpuId(cpu), percent }
}

fn stolen(cpu: u32, stolen_ms: u64, elapsed_ms: u64) -> StolenTime {
    StolenTime { cpu: CpuId(cpu), stolen_ms, elapsed_ms }
}

fn process(name: &str, cpu_ms: u64) -> BusyProcess {
    BusyProcess { pid: 7, name: name.to_owned(), cpu_ms, kernel_thread: false }
}

fn isolated(left_out: &[u32]) -> Warning {
    Warning::IsolatedNotMeasured {
        isolated: cpus(&[1, 2, 3]),
        measured: cpus(&[0]),
        left_out: cpus(left_out),
    }
}

fn machine_check(check: &str, action: Option<&str>) -> Warning {
    Warning::MachineCheck {
        check: check.into(),
        found: "kworker/1:1 at 98".into(),
        why: "Work of the kernel has an ordinary priority.".into(),
        action: action.map(str::to_owned),
        found_phrase: None,
        action_phrase: None,
    }
}

fn program_ended(status: Option<i32>, signal: Option<i32>) -> Warning {
    Warning::ProgramEnded {
        after_ns: Nanos(3_210_000_000),
        planned_ns: Nanos::from_secs(10),
        status,
        signal,
        default_length: false,
    }
}

fn no_real_time(granted: Scheduling, causes: Vec<RefusalCause>) -> Warning {
    Warning::NoRealTime {
        asked: Scheduling::DEFAULT,
        granted,
        error: "not permitted".into(),
        program: "/opt/teiji".into(),
        causes,
    }
}

fn limit(allowed: u64, in_user_namespace: bool) -> RefusalCause {
    let (hard, container) = (Some(allowed), None);
    RefusalCause::Limit { allowed, hard, in_user_namespace, container }
}

fn group(version: u8) -> RefusalCause {
    RefusalCause::ControlGroup { group: "/sys/fs/cgroup/cpu/a".into(), version }
}

/// Each kind, and where it says different things, each of them.
fn all() -> Vec<Warning> {
    let text = str::to_owned;
    let (asked, granted) = (Scheduling::DEFAULT, Scheduling::OTHER);
    let died = |spec: &str, failure| Warning::LoadDied {
        load: load(spec),
        failure,
        output: String::new(),
    };
    let held = |reason| Warning::DmaLatencyNotHeld {
        path: text("/dev/cpu_dma_latency"),
        reason,
        error: text("refused"),
    };
    let off_target = |cpu| Warning::LoadOffTarget {
        load: load("cpu@50%"),
        requested: 50.0,
        reached: 31.25,
        cpu,
        machine: vec![busy(0, 99.8), busy(1, 7.0)],
    };
    let (clocksource, available) = (text("hpet"), vec![text("hpet"), text("acpi_pm")]);
    let fields = serde_json::from_str(r#"{"celsius": 105, "zone": "cpu-thermal"}"#).unwrap();
    let mut all = vec![
        no_real_time(granted, vec![limit(0, false)]),
        no_real_time(Scheduling { prio: Some(20), ..asked }, vec![limit(20, false)]),
        no_real_time(granted, vec![limit(0, true), group(1), group(2)]),
        no_real_time(granted, vec![RefusalCause::SystemCall { seccomp: true }]),
        no_real_time(granted, vec![RefusalCause::SystemCall { seccomp: false }]),
        no_real_time(granted, Vec::new()),
        Warning::RealTimeTimeout { after_ns: Nanos::from_millis(200) },
        Warning::MemoryNotLocked { reason: MemoryNotLocked::LimitBytes(65_536) },
        Warning::MemoryNotLocked { reason: MemoryNotLocked::Error(text("refused")) },
        held(NotHeld::NotFound),
        held(NotHeld::PermissionDenied),
        held(NotHeld::Failed),
        Warning::IntervalShort {
            interval_ns: Nanos::from_micros(300),
            missed_percent: 12,
            cpu: CpuId(1),
        },
        Warning::DiskSlow { max_delay_ns: Nanos(1_250_000_000) },
        Warning::NotWatched { error: text("the kernel's tracers are root's alone") },
        Warning::StreamUnreadable {
            from: text("/dev/rtf0"),
            records: 2,
            numbers: 1_024,
            first: 7,
            first_offset: 41,
            text: text("rubbish"),
        },
        Warning::StreamHalfRecord { from: text("/dev/rtf0"), bytes: 3, offset: 8_192, ended: true },
        Warning::StreamHalfRecord {
            from: text("/dev/rtf0"),
            bytes: 1,
            offset: 8_192,
            ended: false,
        },
        Warning::StreamBackwards {
            from: text("/dev/rtf0"),
            steps: 1,
            first: 9,
            furthest_ns: Nanos(1_500),
        },
        Warning::StreamTrailing { from: text("/dev/rtf0"), unreadable: 2, backwards: 3 },
        Warning::SourceContradicts {
            place: text("thread 2: maximum"),
            stated: text("19 us"),
            found: text("27 us"),
        },
        Warning::StreamMissed { from: text("/dev/rtf0"), missed: 12, period_ns: Nanos(976_562) },
        Warning::StreamOffPeriod {
            period_ns: Nanos(976_562),
            median_ns: Nanos(1_024_000),
            intervals: 1_999,
        },
        Warning::StreamEnded {
            from: text("/dev/rtf0"),
            numbers: 1_024,
            after_ns: Nanos(1_001_000_000),
            closed: true,
        },
        Warning::StreamSilent {
            from: text("/dev/rtf0"),
            numbers: 0,
            silent_ns: Nanos::from_secs(10),
        },
        Warning::StreamSilent {
            from: text("/dev/rtf0"),
            numbers: 5,
            silent_ns: Nanos::from_secs(3),
        },
        Warning::StreamUnread { from: text("a.txt"), bytes: 4_096 },
        Warning::RowsUntraced { thread: 2, rows: 17, without_switch: None, measured: 40 },
        Warning::RowsUntraced { thread: 0, rows: 495, without_switch: Some(495), measured: 500 },
        Warning::AccountEventsLost { cpu: CpuId(3), events: 1_700, rows: 12 },
        Warning::TraceEventsLost { events: 1_200, buffer_kib: 8_192, unfollowed: 0 },
        Warning::TraceEventsLost { events: 0, buffer_kib: 512, unfollowed: 3 },
        Warning::FellBack { thread: 1, switches: Some(3), measured: 5_000 },
        Warning::FellBack { thread: 0, switches: None, measured: 0 },
        program_ended(Some(1), None),
        program_ended(None, Some(9)),
        program_ended(None, None),
        Warning::ClockStepped {
            clock: text("CLOCK_REALTIME"),
            forwards_ns: Nanos(50_000_000),
            backwards_ns: Nanos::ZERO,
        },
        Warning::ThreadUnresponsive { thread: 2, cpu: CpuId(3), waited_ns: Nanos::from_secs(3) },
        Warning::SamplesLost { thread: 2, lost: 17, woken: 40 },
        Warning::PageFaults { thread: 3, minor: 4, major: 5 },
        Warning::AccountingDiffers {
            place: text("threads[0].activations"),
            counted: text("10"),
            recorded: text("9"),
        },
        Warning::LoadsElsewhere { bare: cpus(&[1]), loaded: cpus(&[0]), load: load("cpu@50%") },
        Warning::LoadNotSettled {
            load: load("cpu@50%"),
            steady: Steady::LevelForNs(Nanos::from_millis(400)),
        },
        Warning::LoadNotSettled {
            load: load("cmd:sleep 9"),
            steady: Steady::RunningForNs(Nanos::from_secs(1)),
        },
        Warning::LoadConditions { load: load("cpu@50%"), nice: 5 },
        off_target(None),
        off_target(Some(CpuId(1))),
        died(
            "cpu",
            LoadFailure::TaskExited {
                task: 1,
                tasks: 4,
                pid: 77,
                status: text("signal: 9 (SIGKILL)"),
                others: 2,
            },
        ),
        died("cmd:sleep 1", LoadFailure::TasksMissing { alive: 3, tasks: 4 }),
        died("cpu", LoadFailure::SupervisorExited { status: text("exit status: 1") }),
        died("cpu", LoadFailure::SupervisorNotKilled),
        died("cpu", LoadFailure::SupervisorFailed { error: text("refused") }),
        died(
            "cpu",
            LoadFailure::UnexpectedMessage { line: text("?"), error: text("expected value") },
        ),
        died("cpu", LoadFailure::NotStopped { waited_s: 5 }),
        Warning::GovernorNotPerformance {
            governors: [(text("ondemand"), cpus(&[0])), (text("powersave"), cpus(&[2, 3]))].into(),
        },
        Warning::FrequencyChanged {
            cpus: vec![FrequencyChange {
                cpu: CpuId(2),
                before_khz: 3_600_000,
                after_khz: 3_239_999,
            }],
        },
        Warning::ClocksourceChanged { before: text("tsc"), after: text("hpet") },
        Warning::ClocksourceSlow { clocksource: clocksource.clone(), available, fast: None },
        Warning::ClocksourceSlow { clocksource, available: Vec::new(), fast: Some(text("tsc")) },
        Warning::Hypervisor { cpu_model: None },
        Warning::Hypervisor { cpu_model: Some(text("Xeon")) },
        Warning::StealTime {
            cpus: vec![stolen(1, 250, 10_000), stolen(0, 1, 100_000), stolen(2, 1, 0)],
        },
        Warning::CpuOfflineChanged { before: cpus(&[0, 1, 2]), after: cpus(&[0, 2]) },
        isolated(&[1, 2, 3]),
        Warning::CpusNotAllowed { allowed: cpus(&[0, 1]), left_out: cpus(&[2, 3]) },
        Warning::SiblingsMeasured {
            cores: vec![cpus(&[0, 4]), cpus(&[1, 5])],
            one_each: cpus(&[0, 1]),
        },
        machine_check("kernel-workers", Some("sudo chrt -o -p 0 THREAD")),
        machine_check("of-a-later-version", None),
        Warning::OtherWork {
            percent: 190.04,
            cpus: Vec::new(),
            processes: Vec::new(),
            unnamed_ms: None,
        },
        Warning::Other(OtherWarning { code: text("too-hot"), fields }),
    ];
    let processes = vec![process("yes", 9_760), process("kworker/0:1", 90)];
    let (cpus, unnamed_ms) = (vec![busy(0, 97.6)], Some(1_250));
    all.push(Warning::OtherWork { percent: 97.6, cpus, processes, unnamed_ms });
    all
}

fn in_japanese(warning: &Warning) -> WarningText {
    in_language(Language::Japanese, || warning_text(warning))
}

fn parts(text: &WarningText) -> [String; 3] {
    [text.message.clone(), text.evidence.clone(), text.next_step.to_string()]
}

fn is_japanese(text: &str) -> bool {
    text.chars()
        .any(|c| ('\u{3040}'..='\u{30ff}').contains(&c) || ('\u{4e00}'..='\u{9fff}').contains(&c))
}

/// Every kind there is: a new one does not compile here without its number, nor goes unsaid above.
fn kind(warning: &Warning) -> usize {
    match warning {
        Warning::NoRealTime { .. } => 0,
        Warning::MemoryNotLocked { .. } => 1,
        Warning::DmaLatencyNotHeld { .. } => 2,
        Warning::IntervalShort { .. } => 3,
        Warning::DiskSlow { .. } => 4,
        Warning::ThreadUnresponsive { .. } => 5,
        Warning::SamplesLost { .. } => 6,
        Warning::PageFaults { .. } => 7,
        Warning::AccountingDiffers { .. } => 8,
        Warning::LoadsElsewhere { .. } => 9,
        Warning::LoadNotSettled { .. } => 10,
        Warning::LoadConditions { .. } => 11,
        Warning::LoadOffTarget { .. } => 12,
        Warning::LoadDied { .. } => 13,
        Warning::GovernorNotPerformance { .. } => 14,
        Warning::FrequencyChanged { .. } => 15,
        Warning::ClocksourceChanged { .. } => 16,
        Warning::ClocksourceSlow { .. } => 17,
        Warning::Hypervisor { .. } => 18,
        Warning::StealTime { .. } => 19,
        Warning::CpuOfflineChanged { .. } => 20,
        Warning::IsolatedNotMeasured { .. } => 21,
        Warning::OtherWork { .. } => 22,
        Warning::ClockStepped { .. } => 23,
        Warning::StreamUnreadable { .. } => 24,
        Warning::StreamHalfRecord { .. } => 25,
        Warning::StreamBackwards { .. } => 26,
        Warning::StreamMissed { .. } => 27,
        Warning::StreamEnded { .. } => 28,
        Warning::StreamSilent { .. } => 29,
        Warning::StreamUnread { .. } => 30,
        Warning::ProgramEnded { .. } => 31,
        Warning::RowsUntraced { .. } => 32,
        Warning::TraceEventsLost { .. } => 33,
        Warning::StreamTrailing { .. } => 34,
        Warning::AccountEventsLost { .. } => 35,
        Warning::StreamOffPeriod { .. } => 36,
        Warning::FellBack { .. } => 37,
        Warning::MachineCheck { .. } => 38,
        Warning::CpusNotAllowed { .. } => 39,
        Warning::SiblingsMeasured { .. } => 40,
        Warning::RealTimeTimeout { .. } => 41,
        Warning::SourceContradicts { .. } => 42,
        Warning::NotWatched { .. } => 43,
        Warning::Other { .. } => 44,
    }
}

/// Of a recording made before there were phrases, and of one that says something else, the English.
#[test]
fn what_a_check_found_is_in_japanese_where_its_phrase_says_so() {
    let of =
        |found: &str, said: Option<model::Phrase>, action: &str, advised: Option<model::Phrase>| {
            let mut warning = machine_check("threads-above", Some(action));
            if let Warning::MachineCheck { found: text, found_phrase, action_phrase, .. } =
                &mut warning
            {
                (*text, *found_phrase, *action_phrase) = (found.to_owned(), said, advised);
            }
            let WarningText { message, next_step, .. } = in_japanese(&warning);
            format!("{message} {next_step}")
        };
    let found = phrase!("allows", cpus = phrase!("cpus", list = "2-3"));
    let said = of("allows CPUs 2-3", Some(found.clone()), "cool it", None);
    assert!(said.contains("CPU 2-3 を許可") && said.contains("cool it"), "{said}");
    let said = of("allows CPUs 2-4", Some(found), "runs", Some(phrase!("runs")));
    assert!(said.contains("allows CPUs 2-4") && said.contains("動作中"), "{said}");
}

#[test]
fn every_kind_has_its_sentences_in_both_languages() {
    let all = all();
    assert_eq!(all.iter().map(kind).collect::<BTreeSet<_>>(), (0..=44).collect());
    for warning in &all {
        let (english, japanese) = (warning_text(warning), in_japanese(warning));
        assert!(!english.message.is_empty() && is_japanese(&japanese.message), "{japanese:?}");
        assert_eq!(english.evidence.is_empty(), japanese.evidence.is_empty());
        assert!(!parts(&english).iter().any(|text| is_japanese(text)), "{english:?}");
        let same_kind = std::mem::discriminant(&english.next_step)
            == std::mem::discriminant(&japanese.next_step);
        assert!(same_kind, "{english:?} {japanese:?}");
        match (&english.next_step, &japanese.next_step) {
            (NextStep::Advice(_), NextStep::Advice(text)) => assert!(is_japanese(text), "{text}"),
            (english, japanese) => {
                assert_eq!(english, japanese, "a command is the same in every language")
            }
        }
    }
}

/// Evidence in Japanese has no English word of ours left: what is Latin in it is a name, a number
/// or the system's.
#[test]
fn evidence_is_said_in_japanese() {
    let of_no_language = |warning: &Warning| {
        matches!(
            warning,
            Warning::MemoryNotLocked { reason: MemoryNotLocked::Error(_) }
                | Warning::GovernorNotPerformance { .. }
                | Warning::Other(_)
        )
    };
    for warning in all().iter().filter(|warning| !of_no_language(warning)) {
        let evidence = in_japanese(warning).evidence;
        assert!(is_japanese(&evidence), "{evidence}");
        assert_ne!(evidence, warning_text(warning).evidence);
    }
}

/// A probe need not measure wake-ups.
#[test]
fn warnings_are_true_of_every_probe() {
    for warning in
        all().iter().filter(|warning| !matches!(warning, Warning::AccountingDiffers { .. }))
    {
        for text in parts(&warning_text(warning)).iter().chain(&parts(&in_japanese(warning))) {
            let of_one_probe = ["activation", "wake-up", "Wake-up", "woke", "起床"]
                .into_iter()
                .find(|word| text.contains(word));
            assert_eq!(of_one_probe, None, "{text}");
        }
    }
}

/// Root in a control group without time was advised to give the program capabilities.
#[test]
fn advice_follows_from_the_cause_of_a_refusal() {
    let said = |granted, causes| {
        let text = warning_text(&no_real_time(granted, causes));
        (text.message.clone(), text.evidence.clone(), text.next_step.to_string())
    };
    let (message, seen, next) = said(Scheduling::OTHER, vec![group(1)]);
    assert_eq!(
        message,
        "No real-time rights: measured with SCHED_OTHER, not SCHED_FIFO 90. The figures say \
         little about real-time threads."
    );
    assert_eq!(
        seen,
        "the kernel refused SCHED_FIFO 90: not permitted; the control group \
         /sys/fs/cgroup/cpu/a has no time for real-time threads (RT_GROUP_SCHED)"
    );
    assert_eq!(
        next,
        "Start it from a shell in the root control group: echo $$ | sudo tee \
         /sys/fs/cgroup/cpu/tasks. For other ways see teiji check (rt-group-scheduling)."
    );
    let twenty = Scheduling { prio: Some(20), ..Scheduling::DEFAULT };
    let (message, seen, next) = said(twenty, vec![limit(20, false)]);
    assert_eq!(
        message,
        "Lower priority than asked: measured with SCHED_FIFO 20, not SCHED_FIFO 90. Threads above \
         20 delay what is measured."
    );
    assert_eq!(
        seen,
        "the kernel refused SCHED_FIFO 90: not permitted; the limit on real-time priorities \
         (RLIMIT_RTPRIO) is 20"
    );
    assert!(next.ends_with("sudo prlimit --pid $$ --rtprio=95 --memlock=unlimited"), "{next}");
    let raised = RefusalCause::Limit {
        allowed: 0,
        hard: Some(95),
        in_user_namespace: false,
        container: None,
    };
    let next = |causes| said(Scheduling::OTHER, causes).2;
    assert_eq!(next(vec![raised]), "Raise the limit, which needs no right: ulimit -S -r 90");
    assert_eq!(
        next(Vec::new()),
        "The reason is not known. teiji check shows what this user may do (rights-real-time, \
         rt-group-scheduling)."
    );
    // Each cause that there is, the one with a command at its end last.
    let both = next(vec![limit(0, false), group(2)]);
    assert!(
        both.starts_with("Start it from a shell") && both.ends_with("--memlock=unlimited"),
        "{both}"
    );
}

#[test]
fn the_end_of_a_program_is_said_with_its_status() {
    let said = |status, signal| warning_text(&program_ended(status, signal)).message;
    assert_eq!(said(Some(1), None), "The program ended after 3.2 s of 10 s with status 1.");
    assert_eq!(said(None, Some(9)), "The program ended after 3.2 s of 10 s by signal 9.");
    assert_eq!(said(None, None), "The program ended after 3.2 s of 10 s.");
}

#[test]
fn lost_samples_are_counted_as_everything_is() {
    let lost = |lost| warning_text(&Warning::SamplesLost { thread: 0, lost, woken: 10_000 });
    assert_eq!(
        lost(1).message,
        "1 sample of thread 0 was lost. It is counted, but it is not in the statistics."
    );
    assert!(
        lost(1_200).message.starts_with("1,200 samples of thread 0 were lost. They are counted")
    );
    assert_eq!(lost(1).evidence, "of 10,000 measured");
}

/// The same numbers, however many of them, in both languages.
#[test]
fn both_languages_have_the_same_figures() {
    let figures = |text: &str| {
        let parts = text
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .map(|part| part.trim_matches('.').to_owned());
        let mut all: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        all.sort();
        all.dedup();
        all
    };
    // "1 second" and "one CPU" are words in English.
    let from_figures = |warning: &Warning| {
        !matches!(warning, Warning::DiskSlow { .. } | Warning::OtherWork { .. })
    };
    for warning in all().iter().filter(|warning| from_figures(warning)) {
        let (english, japanese) = (warning_text(warning), in_japanese(warning));
        for (english, japanese) in parts(&english).iter().zip(&parts(&japanese)) {
            assert_eq!(figures(english), figures(japanese), "{english}\n{japanese}");
        }
    }
}

#[test]
fn texts_about_loads() {
    let elsewhere = |spec: &str| {
        warning_text(&Warning::LoadsElsewhere {
            bare: cpus(&[1]),
            loaded: cpus(&[0]),
            load: load(spec),
        })
    };
    let text = elsewhere("cpu@50%");
    assert_eq!(text.message, "No load on measured CPU 1: loads run on CPU 0.");
    assert_eq!(text.evidence, "load cpu@50% has no cpus=, so it runs on this program's CPUs");
    let step = "To load the measured CPUs too, add cpus=all: --load cpu@50%,cpus=all";
    assert_eq!(text.next_step, NextStep::Advice(step.to_owned()));
    let typed = |spec: &str| {
        elsewhere(spec).next_step.to_string().split_once("--load ").unwrap().1.to_owned()
    };
    assert_eq!(typed("cmd:sleep 30"), r#"'cmd:"sleep 30",cpus=all'"#);
    assert_eq!(
        typed(r#"cmd:"sh -c 'x, y'",nice=3"#),
        r#"'cmd:"sh -c '\''x, y'\''",nice=3,cpus=all'"#
    );

    let failure = LoadFailure::TaskExited {
        task: 1,
        tasks: 1,
        pid: 9,
        status: "exit status: 0".to_owned(),
        others: 0,
    };
    let died =
        Warning::LoadDied { load: load("cmd:sleep 1"), failure, output: "no such host".to_owned() };
    let text = warning_text(&died);
    assert_eq!(
        text.message,
        "Load 'cmd:sleep 1' exited early. Part of the run was measured without it."
    );
    assert_eq!(text.evidence, "task 1 of 1 (process 9) exited early: exit status: 0; no such host");
    assert!(text.next_step.to_string().starts_with("Run the command alone"));
    assert_eq!(
        in_japanese(&died).evidence,
        "タスク 1/1(プロセス 9)が途中で終了しました: exit status: 0; no such host"
    );
}

#[test]
fn texts_about_the_machine() {
    let output = |warning: &Warning| warning_text(warning);
    let all_stolen =
        Warning::StealTime { cpus: vec![stolen(1, 250, 10_000), stolen(0, 10, 10_000)] };
    let message = "Steal time: the hypervisor took CPU 0-1 away for 260 ms. What was due in that \
                   time was delayed.";
    assert_eq!(output(&all_stolen).message, message);
    assert_eq!(
        output(&all_stolen).evidence,
        "CPU 1: 250 ms, 2.5 % of its time; CPU 0: 10 ms, 0.1 % of its time"
    );
    let few = Warning::StealTime { cpus: vec![stolen(0, 1, 100_000), stolen(1, 2, 0)] };
    let evidence =
        "CPU 0: 1 ms, below 0.1 % of its time; CPU 1: 2 ms, an unknown share of its time";
    assert_eq!(output(&few).evidence, evidence);
    assert_eq!(
        in_japanese(&few).evidence,
        "CPU 0: 1 ms(時間の 0.1 % 未満); CPU 1: 2 ms(時間の 不明な割合)"
    );

    assert_eq!(
        output(&isolated(&[1, 2, 3])).message,
        "CPUs 1-3 are set apart and were not measured: add -a 1-3."
    );
    assert_eq!(
        output(&isolated(&[1])).message,
        "CPU 1 is set apart and was not measured: add -a 1."
    );
    assert_eq!(
        output(&isolated(&[1])).evidence,
        "set apart: CPU 1-3; measured, by inherited affinity: CPU 0"
    );
    let message = "専用に確保された CPU 1-3 は測定していません。-a 1-3 を付けてください。";
    assert_eq!(in_japanese(&isolated(&[1, 2, 3])).message, message);

    let change = FrequencyChange { cpu: CpuId(2), before_khz: 3_600_000, after_khz: 3_239_999 };
    let changed = output(&Warning::FrequencyChanged { cpus: vec![change] });
    assert_eq!(changed.evidence, "CPU 2: 3600 MHz before, 3239 MHz after");
    let command = "sudo cpupower frequency-set --governor performance --min 3600000 --max 3600000";
    assert_eq!(changed.next_step, NextStep::Command(command.to_owned()));
    let many = Warning::FrequencyChanged { cpus: vec![change; 256] };
    assert!(
        output(&many).evidence.ends_with("; and 248 more")
            && in_japanese(&many).evidence.ends_with("; ほか 248 件")
    );

    let processes = vec![process("yes", 9_760), process("kworker/0:1", 90)];
    let other_work = |percent, cpus, processes, unnamed_ms| Warning::OtherWork {
        percent,
        cpus,
        processes,
        unnamed_ms,
    };
    let other = other_work(97.6, vec![busy(0, 97.6)], processes.clone(), None);
    let evidence = "CPU 0: 97.6 %; CPU time of processes: yes (pid 7) 9.76 s; kworker/0:1 (pid 7) \
                    0.09 s (those that ended meanwhile are not seen)";
    assert!(
        output(&other)
            .message
            .starts_with("Other work kept CPUs up to 97.6 % busy with no load added")
    );
    assert_eq!(output(&other).evidence, evidence);
    let evidence = "CPU 0: 97.6 %; プロセスの CPU 時間: yes (pid 7) 9.76 s; kworker/0:1 (pid 7) \
                    0.09 s(測定中に終了したものは含まない)";
    assert_eq!(in_japanese(&other).evidence, evidence);
    let unnamed = other_work(190.0, Vec::new(), processes, Some(1_250));
    assert_eq!(
        output(&unnamed).evidence,
        "CPU time of processes: yes (pid 7) 9.76 s; kworker/0:1 (pid 7) 0.09 s; of others, such as \
         those that ended meanwhile: 1.25 s"
    );
    let beside = other_work(190.0, Vec::new(), Vec::new(), None);
    let in_japanese_beside = in_japanese(&beside);
    let beside = output(&beside);
    assert!(beside.message.starts_with("Other processes used 190.0 % of one CPU"));
    assert_eq!(beside.evidence, "no visible process that is still running used CPU time");
    // A run that has a load needs no other.
    assert!(output(&other).next_step.to_string().ends_with("add one with --load."));
    assert_eq!(beside.next_step.to_string(), "Stop the other work and measure again.");
    assert!(!in_japanese_beside.next_step.to_string().contains("--load"), "{in_japanese_beside:?}");
}

#[test]
fn shares_of_time() {
    for (part, whole, text) in [
        (1, 0, "an unknown share"),
        (0, 10, "0.0 %"),
        (1, 100_000, "below 0.1 %"),
        (15, 1_000, "1.5 %"),
        (10, 10, "100.0 %"),
        (u64::MAX, u64::MAX, "100.0 %"),
    ] {
        let warning = Warning::StealTime { cpus: vec![stolen(0, part, whole)] };
        let seen = format!("CPU 0: {part} ms, {text} of its time");
        assert_eq!(warning_text(&warning).evidence, seen);
    }
}

#[test]
fn an_unknown_warning_is_shown_by_its_code_and_fields() {
    let json = r#"{"code": "too-hot", "celsius": 105, "zone": "cpu-thermal", "cpus": [0, 1]}"#;
    let warning: Warning = serde_json::from_str(json).unwrap();
    let output = warning_text(&warning);
    assert_eq!(output.message, "too-hot: this version of teiji does not know this warning.");
    assert_eq!(output.evidence, "celsius: 105; cpus: [0,1]; zone: cpu-thermal");
    assert_eq!(output.next_step, NextStep::Unknown);
    assert_eq!(in_japanese(&warning).evidence, output.evidence);
}

#[test]
fn warnings_that_differ_in_a_figure_are_one_and_those_of_other_loads_are_not() {
    let off_target = |spec: &str, reached| {
        subject(&Warning::LoadOffTarget {
            load: load(spec),
            requested: 50.0,
            reached,
            cpu: None,
            machine: Vec::new(),
        })
    };
    assert_eq!(off_target("cpu@50%", 85.7), off_target("cpu@50%", 90.6));
    assert_ne!(off_target("cpu@50%", 85.7), off_target("cpu@100%", 85.7));
}
