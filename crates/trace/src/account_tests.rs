// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::watch::Window;
use plan::CpuId;

const OURS: i64 = 42;
const SPIKE: Spike = Spike {
    thread: 0,
    number: OURS,
    cpu: CpuId(0),
    activation: 7,
    planned: 1_000,
    woken: None,
    woke: 2_000,
};

/// Events, from what they are made of: time, who ran, what.
struct Made {
    events: Vec<Event>,
    names: Names,
}

impl Made {
    fn new() -> Self {
        Made { events: Vec::new(), names: Names::default() }
    }

    /// Between threads as they are usually.
    fn switch(self, time: i64, from: i64, to: i64) -> Self {
        let usual = |thread| match thread {
            OURS => ("teiji-0", 9),
            7 => ("hackbench", 120),
            8 => ("hog", 4),
            _ => ("swapper/0", 120),
        };
        self.switched(time, (from, usual(from)), (to, usual(to)))
    }

    fn switched(mut self, time: i64, from: (i64, (&str, i64)), to: (i64, (&str, i64))) -> Self {
        let mut id = |(name, priority): (&str, i64)| self.names.task_id(name.as_bytes(), priority);
        let (from_task, to_task) = (id(from.1), id(to.1));
        let (from, to) = (from.0, to.0);
        let leaves = if from == OURS { Own::Sleeps } else { Own::Waits };
        self.and(time, from, What::Switch { from, from_task, leaves, to, to_task })
    }

    fn waking(self, time: i64, by: i64) -> Self {
        self.and(time, by, What::Waking { thread: OURS, priority: 9 })
    }

    fn and(mut self, time: i64, by: i64, what: What) -> Self {
        self.events.push(Event { time, by, what });
        self
    }

    fn interrupt(mut self, time: i64, by: i64, name: &str, begins: bool) -> Self {
        let name = self.names.id(name.as_bytes());
        self.and(time, by, What::Interrupt { name, begins })
    }

    fn accounted(&self, beside: &Beside) -> Vec<(PartKind, u64, Option<String>)> {
        self.accounted_of(&SPIKE, beside)
    }

    fn accounted_of(&self, spike: &Spike, beside: &Beside) -> Vec<(PartKind, u64, Option<String>)> {
        parts_of(&self.account_of(spike, beside).unwrap())
    }

    fn account_of(&self, spike: &Spike, beside: &Beside) -> Option<Account> {
        account(spike, &[self.leg(spike.planned, spike.woke)], &own(&[self]), beside)
    }

    /// All of it of one CPU.
    fn leg(&self, from: i64, until: i64) -> Leg<'_> {
        let window = Window { events: self.events.clone(), names: &self.names, complete_from: 0 };
        Leg { from, until, window }
    }
}

fn own(cpus: &[&Made]) -> Vec<(i64, Own)> {
    let events = cpus.iter().flat_map(|made| &made.events);
    let mut own: Vec<(i64, Own)> =
        events.filter_map(|event| Some((event.time, event.own(OURS)?))).collect();
    own.sort_by_key(|(time, _)| *time);
    own
}

fn parts_of(account: &Account) -> Vec<(PartKind, u64, Option<String>)> {
    let sum: u64 = account.parts.iter().map(|part| part.length_ns).sum();
    assert_eq!(sum, account.latency_ns);
    let mut end = 0;
    for part in &account.parts {
        assert_eq!(part.begin_ns, end);
        end += part.length_ns;
    }
    let place = |part: &Part| part.place().map(str::to_owned);
    account.parts.iter().map(|part| (part.kind, part.length_ns, place(part))).collect()
}

fn some(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn a_wake_up_from_a_thread_that_is_not_preempted() {
    let made = Made::new()
        .switch(500, 0, 7)
        .interrupt(1_100, 7, "local timer", true)
        .waking(1_150, 7)
        .interrupt(1_200, 7, "local timer", false)
        .switch(1_900, 7, OURS);
    let expected = vec![
        (PartKind::TimerPending, 100, some("hackbench")),
        (PartKind::HardInterrupt, 100, some("local timer")),
        (PartKind::PreemptionOff, 700, some("hackbench")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(made.accounted(&Beside::default()), expected);
}

#[test]
fn what_runs_first_is_named_with_its_priority() {
    let made = Made::new()
        .switch(500, 0, 8)
        .interrupt(1_010, 8, "local timer", true)
        .waking(1_020, 8)
        .interrupt(1_030, 8, "local timer", false)
        .interrupt(1_500, 8, "eth0", true)
        .interrupt(1_600, 8, "eth0", false)
        .and(1_600, 8, What::Softirq { vector: 3, begins: true })
        .and(1_700, 8, What::Softirq { vector: 3, begins: false })
        .switch(1_990, 8, OURS);
    let expected = vec![
        (PartKind::TimerPending, 10, some("hog")),
        (PartKind::HardInterrupt, 20, some("local timer")),
        (PartKind::OtherThread, 470, some("hog")),
        (PartKind::HardInterrupt, 100, some("eth0")),
        (PartKind::Softirq, 100, some("NET_RX")),
        (PartKind::OtherThread, 290, some("hog")),
        (PartKind::Return, 10, some("teiji-0")),
    ];
    assert_eq!(made.accounted(&Beside::default()), expected);
    let account = made.account_of(&SPIKE, &Beside::default()).unwrap();
    let (cause, sum) = account.cause().unwrap();
    assert_eq!((cause.place(), cause.priority, sum), (Some("hog"), Some(95), 760));
    assert_eq!(cause.evidence, Some(Evidence::Traced));
}

/// A softirq runs with interrupts on: it is what the timer's came into, not what kept it out.
#[test]
fn a_timer_that_interrupts_a_softirq() {
    let net_rx = |begins| What::Softirq { vector: 3, begins };
    let made = || {
        let made = Made::new().switch(500, 0, 7).and(900, 7, net_rx(true));
        let made = made.interrupt(1_300, 7, "local timer", true).waking(1_320, 7);
        made.interrupt(1_400, 7, "local timer", false)
    };
    let until_then = [
        (PartKind::TimerPending, 300, some("NET_RX")),
        (PartKind::HardInterrupt, 100, some("local timer")),
    ];
    let runs_to_its_end = made().and(1_700, 7, net_rx(false)).switch(1_900, 7, OURS);
    let then = [
        (PartKind::Softirq, 300, some("NET_RX")),
        (PartKind::PreemptionOff, 200, some("hackbench")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    let none = Beside::default();
    assert_eq!(runs_to_its_end.accounted(&none), [&until_then[..], &then].concat());
    // PREEMPT_RT preempts it.
    let is_preempted = made().switch(1_900, 7, OURS).switch(2_500, OURS, 7);
    let then = [
        (PartKind::PreemptionOff, 500, some("hackbench")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(is_preempted.accounted(&none), [&until_then[..], &then].concat());
}

/// An interrupt ends the halt: what it still does on its way out keeps the timer's out.
#[test]
fn a_timer_that_comes_after_another_interrupt_of_an_idle_cpu() {
    let made = |halt_ends| {
        let made = Made::new().switch(500, 7, 0).and(600, 0, What::Idle { begins: true });
        let made = made.interrupt(990, 0, "eth0", true).interrupt(1_100, 0, "eth0", false);
        let made = if halt_ends {
            made.and(1_110, 0, What::Idle { begins: false }).and(
                1_120,
                0,
                What::Idle { begins: true },
            )
        } else {
            made
        };
        made.interrupt(1_300, 0, "local timer", true)
            .waking(1_310, 0)
            .interrupt(1_400, 0, "local timer", false)
            .and(1_450, 0, What::Idle { begins: false })
            .switch(1_900, 0, OURS)
    };
    let beside = Beside { idle_exit_ns: 1_000, stolen_ns: 0 };
    let kinds = |made: Made| {
        let found = made.accounted(&beside);
        found.into_iter().map(|(kind, ns, _)| (kind, ns)).collect::<Vec<_>>()
    };
    let then =
        [(PartKind::HardInterrupt, 100), (PartKind::LeavingIdle, 500), (PartKind::Return, 100)];
    let until = [(PartKind::HardInterrupt, 100), (PartKind::TimerPending, 200)];
    assert_eq!(kinds(made(false)), [&until[..], &then].concat());
    let until =
        [(PartKind::HardInterrupt, 100), (PartKind::TimerPending, 20), (PartKind::Idle, 180)];
    assert_eq!(kinds(made(true)), [&until[..], &then].concat());
}

/// Where a CPU halts with interrupts off, the end of the halt is told of before its interrupt.
#[test]
fn a_halt_that_ends_before_its_interrupt() {
    let made = Made::new()
        .switch(500, 7, 0)
        .and(600, 0, What::Idle { begins: true })
        .and(1_200, 0, What::Idle { begins: false })
        .interrupt(1_300, 0, "local timer", true)
        .waking(1_310, 0)
        .interrupt(1_400, 0, "local timer", false)
        .switch(1_900, 0, OURS);
    let beside = Beside { idle_exit_ns: 1_000, stolen_ns: 0 };
    let expected = vec![
        (PartKind::Idle, 200, some("idle")),
        (PartKind::LeavingIdle, 100, some("idle")),
        (PartKind::HardInterrupt, 100, some("local timer")),
        (PartKind::LeavingIdle, 500, some("idle")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(made.accounted(&beside), expected);
}

/// On some kernels switches out of idle are not recorded.
#[test]
fn a_switch_that_is_missing() {
    let made = Made::new()
        .switch(500, 7, 0)
        .interrupt(1_300, 0, "local timer", true)
        .waking(1_310, 0)
        .interrupt(1_400, 0, "local timer", false);
    let beside = Beside { idle_exit_ns: 100, stolen_ns: 0 };
    let expected = vec![
        (PartKind::Unattributed, 200, None),
        (PartKind::Idle, 100, some("idle")),
        (PartKind::HardInterrupt, 100, some("local timer")),
        (PartKind::LeavingIdle, 600, some("idle")),
    ];
    assert_eq!(made.accounted(&beside), expected);
    // A thread is there without one: it is not known since when.
    let made = Made::new()
        .switch(500, 7, 0)
        .and(600, 0, What::Idle { begins: true })
        .interrupt(700, 0, "eth0", true)
        .interrupt(750, 0, "eth0", false)
        .and(760, 0, What::Idle { begins: false })
        .interrupt(1_300, 7, "local timer", true)
        .waking(1_310, 7)
        .interrupt(1_400, 7, "local timer", false)
        .switch(1_900, 7, OURS);
    assert_eq!(made.accounted(&beside)[..3], expected[..3]);
}

#[test]
fn the_hypervisor_gets_no_more_than_was_stolen() {
    let at = |time: i64| 1_000 + (time - 1_000) * 1_000;
    let made = Made::new()
        .switch(500, 0, 7)
        .interrupt(at(1_800), 7, "local timer", true)
        .waking(at(1_850), 7)
        .interrupt(at(1_900), 7, "local timer", false)
        .switch(at(1_950), 7, OURS);
    let spike = Spike { woke: at(2_000), ..SPIKE };
    let with = |stolen_ns| made.accounted_of(&spike, &Beside { stolen_ns, idle_exit_ns: 0 });
    assert_eq!(with(0)[0], (PartKind::TimerPending, 800_000, some("hackbench")));
    let expected = [
        (PartKind::Hypervisor, 500_000, None),
        (PartKind::TimerPending, 300_000, some("hackbench")),
    ];
    assert_eq!(with(500_000)[..2], expected);
    // What is too short to show in its count is not.
    let all = with(5_000_000);
    assert_eq!(all[0], (PartKind::Hypervisor, 800_000, None));
    assert_eq!(all[2], (PartKind::PreemptionOff, 50_000, some("hackbench")));
}

#[test]
fn what_was_not_seen_is_not_guessed() {
    let of = |made: &Made, complete_from| {
        let window = Window { events: made.events.clone(), names: &made.names, complete_from };
        account(
            &SPIKE,
            &[Leg { from: 1_000, until: 2_000, window }],
            &own(&[made]),
            &Beside::default(),
        )
    };
    let made = Made::new().switch(1_500, 7, OURS);
    assert_eq!(of(&made, 1_400), None, "overwritten");
    assert!(of(&made, 0).is_some());
    assert_eq!(of(&Made::new(), 0), None);
    assert_eq!(of(&Made::new().switch(1_200, 7, 8), 0), None, "on another CPU");
}

/// Each event has the name and the priority of its moment.
#[test]
fn a_thread_that_changes_its_name_and_priority() {
    let (then, later) = ((8, ("ren1", 4)), (8, ("ren2", 120)));
    let made = Made::new()
        .switched(900, (0, ("swapper/0", 120)), then)
        .interrupt(1_010, 8, "local timer", true)
        .waking(1_020, 8)
        .interrupt(1_030, 8, "local timer", false)
        .switched(1_900, then, (OURS, ("teiji-0", 9)))
        .switched(3_000, (OURS, ("teiji-0", 9)), later);
    let found = made.accounted(&Beside::default());
    assert_eq!(found[2], (PartKind::OtherThread, 870, some("ren1")));
    // One that does not go before it is not said to.
    let made = Made::new()
        .switched(900, (0, ("swapper/0", 120)), (8, ("low", 50)))
        .waking(1_020, 8)
        .switched(1_900, (8, ("low", 50)), (OURS, ("teiji-0", 9)));
    assert_eq!(made.accounted(&Beside::default())[1].0, PartKind::PreemptionOff);
}

/// With `--catch-up` it may be late when it is planned, and no timer has to do with it.
#[test]
fn a_thread_that_does_not_sleep_waits_for_no_timer() {
    let made = Made::new().switch(500, 0, 8).waking(600, 8).switch(1_800, 8, OURS);
    let expected =
        [(PartKind::OtherThread, 800, some("hog")), (PartKind::Return, 200, some("teiji-0"))];
    assert_eq!(made.accounted(&Beside::default()), expected);
}

/// A thread behind thousands of turns of others has no account of megabytes.
#[test]
fn an_account_is_bounded_and_whole() {
    let spike = Spike { woke: 1_000_000, ..SPIKE };
    let mut made = Made::new().switch(500, 0, 7).waking(1_010, 7);
    for turn in 0..9_000 {
        let (from, to) = if turn % 2 == 0 { (7, 8) } else { (8, 7) };
        made = made.switch(1_020 + turn * 100 + turn % 7, from, to);
    }
    let made = made.switch(950_000, 7, OURS);
    let parts = made.accounted_of(&spike, &Beside::default());
    assert!(parts.len() <= 2 * MAX_PARTS + 1, "{}", parts.len());
    assert!(parts.iter().any(|(kind, ..)| *kind == PartKind::OtherThread));
}

/// A program's thread waits behind another one on one CPU, is moved, and runs on another CPU.
#[test]
fn a_thread_that_is_moved_has_the_time_of_both_cpus() {
    let mut first = Made::new()
        .switch(500, 0, 7)
        .interrupt(1_010, 7, "local timer", true)
        .waking(1_020, 7)
        .interrupt(1_030, 7, "local timer", false)
        .switch(1_200, 7, 8)
        .switch(1_700, 8, 7);
    // The second CPU's events name threads by the same numbers and names.
    let second = Made { names: std::mem::take(&mut first.names), ..Made::new() }
        .switch(600, 0, 8)
        .switch(1_800, 8, OURS);
    let first = Made { names: Names::default(), ..first };
    let spike = Spike { woken: Some(1_020), ..SPIKE };
    let window = |made: &Made| made.events.clone();
    let leg = |from, until, made| Leg {
        from,
        until,
        window: Window { events: window(made), names: &second.names, complete_from: 0 },
    };
    let legs = [leg(1_000, 1_600, &first), leg(1_600, 2_000, &second)];
    let account = account(&spike, &legs, &own(&[&first, &second]), &Beside::default()).unwrap();
    let expected = vec![
        (PartKind::TimerPending, 10, some("hackbench")),
        (PartKind::HardInterrupt, 20, some("local timer")),
        (PartKind::PreemptionOff, 170, some("hackbench")),
        (PartKind::OtherThread, 600, some("hog")),
        (PartKind::Return, 200, some("teiji-0")),
    ];
    assert_eq!(parts_of(&account), expected);
    let program = account.program.unwrap();
    assert_eq!((program.name.as_deref(), program.priority), (Some("teiji-0"), Some(90)));
}

/// What keeps a timer on a CPU that the thread is not on is not seen; the thread waits from when
/// it was made runnable, though its CPU has no event then.
#[test]
fn a_program_thread_that_another_cpu_wakes_waits_from_then_on() {
    let made = Made::new().switch(500, 0, 8).switch(1_900, 8, OURS);
    let spike = Spike { woken: Some(1_300), ..SPIKE };
    let expected = vec![
        (PartKind::Unattributed, 300, None),
        (PartKind::OtherThread, 600, some("hog")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(made.accounted_of(&spike, &Beside::default()), expected);
}

/// SIGSTOP wakes a sleeping thread, which then stops. Another CPU lets it go on. What ran there in
/// between was called a timer that had not fired, or nothing.
#[test]
fn a_thread_that_a_signal_has_stopped_is_not_late_by_what_runs() {
    let made = Made::new().switch(400, OURS, 7).waking(600, 7).switch(610, 7, OURS);
    let mut made = made.switch(640, OURS, 7).switch(1_500, 7, 8).switch(1_900, 8, OURS);
    let stops = &mut made.events[3].what;
    assert!(matches!(stops, What::Switch { from: OURS, .. }));
    if let What::Switch { leaves, .. } = stops {
        *leaves = Own::Stopped;
    }
    let elsewhere = Made::new().waking(1_700, 0);
    let spike = Spike { woken: Some(1_700), ..SPIKE };
    let legs = [made.leg(1_000, 2_000)];
    let account = account(&spike, &legs, &own(&[&made, &elsewhere]), &Beside::default()).unwrap();
    let expected = vec![
        (PartKind::Stopped, 700, None),
        (PartKind::OtherThread, 200, some("hog")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(parts_of(&account), expected);
}

/// A program's thread slept for something else, ran past its planned time, was preempted, and
/// slept at last. An idle state, a timer and the way back from its sleep were blamed.
#[test]
fn a_program_that_is_late_itself_waits_for_no_timer() {
    let made = Made::new()
        .switch(800, OURS, 0)
        .waking(1_200, 0)
        .switch(1_210, 0, OURS)
        .switch(1_500, OURS, 8);
    let mut made = made.switch(1_600, 8, OURS).switch(1_800, OURS, 7).waking(1_900, 7);
    let leaves =
        [1_500, 1_800].map(|time| made.events.iter().position(|event| event.time == time).unwrap());
    if let What::Switch { leaves, .. } = &mut made.events[leaves[0]].what {
        *leaves = Own::Waits;
    }
    let made = made.switch(1_950, 7, OURS);
    let spike = Spike { woken: Some(1_900), ..SPIKE };
    let expected = vec![
        (PartKind::Blocked, 200, None),
        (PartKind::LeavingIdle, 10, some("idle")),
        (PartKind::Busy, 290, some("teiji-0")),
        (PartKind::OtherThread, 100, some("hog")),
        (PartKind::Busy, 200, some("teiji-0")),
        (PartKind::TimerPending, 100, some("hackbench")),
        (PartKind::PreemptionOff, 50, some("hackbench")),
        (PartKind::Return, 50, some("teiji-0")),
    ];
    assert_eq!(made.accounted_of(&spike, &Beside::default()), expected);
    // The next one's time had passed too, and it did not sleep for it.
    let spike = Spike { planned: 1_960, woken: Some(2_000), ..SPIKE };
    let expected = vec![(PartKind::Busy, 40, some("teiji-0"))];
    assert_eq!(made.accounted_of(&spike, &Beside::default()), expected);
}

/// The switch to it may be told of a moment after it is said to run.
#[test]
fn a_switch_that_comes_a_moment_later_ends_what_ran() {
    let made = Made::new().switch(500, 0, 8).waking(1_000, 8).switch(2_010, 8, OURS);
    let spike = Spike { woken: Some(1_000), ..SPIKE };
    let account = made.account_of(&spike, &Beside::default()).unwrap();
    assert_eq!(parts_of(&account), vec![(PartKind::OtherThread, 1_000, some("hog"))]);
    assert_eq!(account.parts[0].evidence, Some(Evidence::Traced));
}

/// What a worker of the kernel executes is named beside it, also behind an interrupt.
#[test]
fn a_worker_has_the_name_of_its_function() {
    let mut made = Made::new().switch(500, 0, 7);
    let function = made.names.id(b"vmstat_update");
    let made = made
        .and(600, 7, What::Work { function, begins: true })
        .interrupt(1_010, 7, "local timer", true)
        .waking(1_020, 7)
        .interrupt(1_030, 7, "local timer", false)
        .and(1_500, 7, What::Work { function, begins: false })
        .switch(1_900, 7, OURS);
    let expected = vec![
        (PartKind::TimerPending, 10, some("vmstat_update")),
        (PartKind::HardInterrupt, 20, some("local timer")),
        (PartKind::PreemptionOff, 470, some("vmstat_update")),
        (PartKind::PreemptionOff, 400, some("hackbench")),
        (PartKind::Return, 100, some("teiji-0")),
    ];
    assert_eq!(made.accounted(&Beside::default()), expected);
}
