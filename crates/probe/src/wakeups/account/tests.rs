// SPDX-License-Identifier: MIT OR Apache-2.0
//! The account of wake-ups, driven by events as a kernel records them.

use super::*;

const SLEEPER: i64 = 0x100;
const TIMER_FILE: i64 = 0x200;
/// A thread of the program, its timers.
const A: i64 = 10;
const B: i64 = 11;
const ON_STACK: i64 = 0x9000;
const FILE: i64 = 0x7000;

fn account() -> Account {
    Account::new(Functions { sleeper: SLEEPER, process: [TIMER_FILE, 0, 0] }, &[A], None)
}

fn event(time: i64, by: i64, what: What) -> Event {
    Event { time, cpu: 1, by, in_interrupt: false, what }
}

fn interrupt(time: i64, what: What) -> Event {
    Event { time, cpu: 1, by: 0, in_interrupt: true, what }
}

fn sleep(time: i64, expires: i64) -> [Event; 3] {
    [
        event(time, A, What::TimerMade { timer: ON_STACK, clock: 1 }),
        event(
            time + 1,
            A,
            What::TimerArmed { timer: ON_STACK, function: SLEEPER, expires, is_absolute: true },
        ),
        event(time + 2, A, What::Switch { from: A, sleeps: true, to: 0 }),
    ]
}

fn wake(time: i64) -> Event {
    interrupt(time, What::Waking { thread: A })
}

fn run(time: i64) -> Event {
    event(time, 0, What::Switch { from: 0, sleeps: false, to: A })
}

fn found(account: &mut Account, events: &[Event]) -> Vec<Found> {
    let mut found = Vec::new();
    events.iter().for_each(|event| account.take(event, &mut |what| found.push(what)));
    found
}

fn wakeups(account: &mut Account, events: &[Event]) -> Vec<Wakeup> {
    let wakeup = |what| match what {
        Found::Wakeup(wakeup) => wakeup,
        other => panic!("{other:?}"),
    };
    found(account, events).into_iter().map(wakeup).collect()
}

fn wakeup(planned: i64, woken: i64, running: i64) -> Wakeup {
    let (cause, thread, cpu, missed, is_periodic) = (Cause::Timer, A, 1, 0, false);
    Wakeup { cause, thread, cpu, planned, woken, running, missed, is_periodic }
}

#[test]
fn a_thread_that_sleeps_until_a_time() {
    let events = [
        &sleep(100, 1_000)[..],
        &[wake(1_003), run(1_007)],
        &sleep(1_010, 2_000),
        &[wake(2_004), run(2_009)],
    ]
    .concat();
    let found = wakeups(&mut account(), &events);
    assert_eq!(found, [wakeup(1_000, 1_003, 1_007), wakeup(2_000, 2_004, 2_009)]);
}

#[test]
fn a_thread_that_is_woken_before_its_time_was_woken_by_something_else() {
    let other = Wakeup { cause: Cause::Other, ..wakeup(500, 500, 507) };
    let events =
        [&sleep(100, 1_000)[..], &[event(500, B, What::Waking { thread: A }), run(507)]].concat();
    assert_eq!(wakeups(&mut account(), &events), [other]);
}

/// The time had passed when it was to sleep: it is woken before it leaves its CPU.
#[test]
fn a_deadline_that_had_passed() {
    let [made, armed, _] = sleep(5_000, 1_000);
    let mut account = account();
    assert_eq!(wakeups(&mut account, &[run(4_000), made, armed, wake(5_003)]), []);
    // What it does next says that it never left.
    assert_eq!(wakeups(&mut account, &sleep(5_010, 6_000)), [wakeup(1_000, 5_003, 5_003)]);
}

/// The wake-up came while it was on its way off the CPU.
#[test]
fn a_wake_up_while_going_to_sleep() {
    let [made, armed, off] = sleep(100, 103);
    let off = Event { time: 110, ..off };
    let found = wakeups(&mut account(), &[run(50), made, armed, wake(104), off, run(115)]);
    assert_eq!(found, [wakeup(103, 104, 115)]);
}

/// It was woken while it ran, went on, and slept anew soon after.
#[test]
fn a_wake_up_that_kept_a_thread_from_sleeping() {
    let mut account = account();
    let by_b = |time| event(time, B, What::Waking { thread: A });
    let off = event(120, A, What::Switch { from: A, sleeps: true, to: 0 });
    let other = |woken, running| Wakeup { cause: Cause::Other, ..wakeup(woken, woken, running) };
    let found = wakeups(&mut account, &[run(50), by_b(104), off, by_b(900), run(907)]);
    assert_eq!(found, [other(104, 104), other(900, 907)]);
}

#[test]
fn deadlines_that_passed_are_counted() {
    let mut account = account();
    let missed: Vec<(i64, bool)> = [1_000, 2_000, 3_000, 4_000, 8_000, 9_000]
        .into_iter()
        .flat_map(|time| {
            wakeups(
                &mut account,
                &[&sleep(time - 500, time)[..], &[wake(time + 1), run(time + 2)]].concat(),
            )
        })
        .map(|wakeup| (wakeup.missed, wakeup.is_periodic))
        .collect();
    assert_eq!(
        missed,
        [(0, false), (0, false), (0, false), (0, true), (3, true), (0, true)],
        "and of which wake-ups that is known"
    );
}

#[test]
fn a_timer_file_wakes_who_waits_for_it() {
    let armed = event(
        100,
        A,
        What::TimerArmed { timer: FILE, function: TIMER_FILE, expires: 1_000, is_absolute: true },
    );
    let off = event(110, A, What::Switch { from: A, sleeps: true, to: 0 });
    let mut account = account();
    assert_eq!(
        wakeups(&mut account, &[armed, off, wake(1_002), run(1_004)]),
        [wakeup(1_000, 1_002, 1_004)]
    );
    // It is armed no more.
    let off = event(1_010, A, What::Switch { from: A, sleeps: true, to: 0 });
    let other = Wakeup { cause: Cause::Other, ..wakeup(1_500, 1_500, 1_504) };
    assert_eq!(wakeups(&mut account, &[off, wake(1_500), run(1_504)]), [other]);
}

/// What expired while the thread ran is not what woke it later, and neither is what was disarmed.
#[test]
fn a_timer_file_that_woke_nobody() {
    let armed = |time, expires| {
        event(
            time,
            A,
            What::TimerArmed { timer: FILE, function: TIMER_FILE, expires, is_absolute: true },
        )
    };
    let off = |time| event(time, A, What::Switch { from: A, sleeps: true, to: 0 });
    let causes = |events: &[Event]| {
        wakeups(&mut account(), events).iter().map(|wakeup| wakeup.cause).collect::<Vec<_>>()
    };
    assert_eq!(causes(&[armed(100, 1_000), off(2_000), wake(3_000), run(3_001)]), [Cause::Other]);
    let disarmed = event(200, A, What::TimerOff { timer: FILE });
    assert_eq!(
        causes(&[armed(100, 1_000), disarmed, off(300), wake(3_000), run(3_001)]),
        [Cause::Other]
    );
    assert_eq!(causes(&[armed(100, 1_000), off(300), wake(1_001), run(3_001)]), [Cause::Timer]);
}

#[test]
fn other_clocks_are_converted() {
    const SINCE_1970: i64 = 1_700_000_000_000_000_000;
    for (clock, is_absolute, expires) in [
        (REALTIME, true, SINCE_1970 + 1_000),
        (TAI, true, SINCE_1970 + 38_000),
        (BOOTTIME, true, 1_500),
        (REALTIME, false, 1_000),
    ] {
        let mut account = account();
        account.clocks = Clocks { realtime: SINCE_1970, tai: SINCE_1970 + 37_000, boottime: 500 };
        let [_, _, off] = sleep(100, 0);
        let made = event(99, A, What::TimerMade { timer: ON_STACK, clock });
        let armed = event(
            100,
            A,
            What::TimerArmed { timer: ON_STACK, function: SLEEPER, expires, is_absolute },
        );
        assert_eq!(
            wakeups(&mut account, &[made, armed, off, wake(1_003), run(1_007)]),
            [wakeup(1_000, 1_003, 1_007)]
        );
    }
    let mut account = account();
    account.clocks.realtime = SINCE_1970;
    assert_eq!(account.clocks.monotonic(SINCE_1970 + 7, None), 7);
}

#[test]
fn threads_that_appear_later_and_end() {
    let mut account = account();
    let of_b = |time| {
        [
            interrupt(time, What::Waking { thread: B }),
            event(time + 3, 0, What::Switch { from: 0, sleeps: false, to: B }),
        ]
    };
    assert_eq!(wakeups(&mut account, &of_b(100)), [], "not of the program");
    wakeups(&mut account, &[event(150, A, What::Made { thread: B })]);
    assert_eq!(wakeups(&mut account, &of_b(200)).len(), 1);
    wakeups(&mut account, &[event(250, B, What::Ended { thread: B })]);
    assert_eq!(found(&mut account, &of_b(300)), []);
}

/// What was begun before events were lost may have ended among them: nothing is made up from it. A
/// wake-up that the trace shows is one row, whether or not it shows when the thread ran. How many
/// more there were among the lost events is not known.
#[test]
fn lost_events_end_what_was_under_way() {
    let mut account = account();
    let lost = Event::lost(1_004, 1, 17);
    let events = [&sleep(100, 1_000)[..], &[wake(1_003), lost, run(900_000)]].concat();
    let unseen = |cause, woken, without_switch| Found::Unseen { cause, woken, without_switch };
    assert_eq!(
        found(&mut account, &events),
        [Found::EventsLost { time: 1_004, events: 17 }, unseen(Cause::Timer, 1_003, false)]
    );
    assert_eq!(found(&mut account, &[lost]), [Found::EventsLost { time: 1_004, events: 17 }]);
    // Woken twice without running between.
    let off = event(950_000, A, What::Switch { from: A, sleeps: true, to: 0 });
    let found = found(&mut account, &[off, wake(1_000_000), wake(1_000_100), run(1_000_107)]);
    assert_eq!((found.len(), found[0]), (2, unseen(Cause::Other, 1_000_000, true)));
}

/// The event that a program was executed may be among them.
#[test]
fn lost_events_before_the_program_is_executed_are_counted() {
    let mut account = Account::new(Functions::default(), &[A], Some(A));
    assert_eq!(
        found(&mut account, &[Event::lost(5, 1, 3)]),
        [Found::EventsLost { time: 5, events: 3 }]
    );
}

#[test]
fn nothing_counts_before_the_program_is_executed() {
    let mut account = Account::new(Functions::default(), &[A], Some(A));
    let executes = event(50, A, What::Executes { thread: A });
    assert_eq!(wakeups(&mut account, &[wake(10), run(20), executes]), []);
    assert_eq!(wakeups(&mut account, &[wake(100), run(107)]).len(), 1);
}
