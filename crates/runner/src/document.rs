// SPDX-License-Identifier: MIT OR Apache-2.0
//! `run.json` as it is before the first activation, and what is added after the last.

use crate::PreparedRun;
use crate::conditions::Conditions;
use model::{
    Beside, Column, Document, End, FORMAT, Host, HostFacts, Instrument, ProbeStatement, RowCounts,
    RowKind, State, TakenBy, Thread, ThreadEvidence, VERSION, Warning,
};
use plan::Nanos;
use probe::{Calibration, StopReason, ThreadResult};
use stats::{Activations, Statistics, Summary};
use std::time::{Duration, SystemTime};

/// The time of day in RFC 3339, UTC.
pub(crate) fn time_of_day() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

/// What is known before anything is started.
pub(crate) fn initial_document(order: &PreparedRun, before: HostFacts) -> Document {
    Document {
        format: FORMAT.to_owned(),
        version: VERSION,
        teiji: order.version.clone(),
        anonymous: false,
        state: State::Running,
        end: None,
        started_at: time_of_day(),
        ended_at: None,
        command_line: order.command_line.clone(),
        run: order.run.clone(),
        probe: order.statement.clone(),
        instrument: Instrument::default(),
        warnings: order.granted.warning.iter().chain(&order.warnings).cloned().collect(),
        threads: Vec::new(),
        load: Vec::new(),
        load_off_target: false,
        host: Host { before, after: None, processes: None },
        lab: None,
        imported: None,
    }
}

/// The measuring threads before their first activation; `nice` is the level that they inherited.
pub(crate) fn threads(order: &PreparedRun, starts: &[Nanos], nice: Option<i32>) -> Vec<Thread> {
    let (run, granted) = (&order.run, order.granted.scheduling);
    let nice = nice.filter(|_| !granted.policy.is_real_time());
    let thread = |(index, start): (usize, &Nanos)| {
        let thread =
            Thread::unmeasured(index, run.cpus[index], granted, run.interval_of(index), *start);
        Thread { nice, ..thread }
    };
    starts.iter().enumerate().map(thread).collect()
}

/// The instrument's own properties.
pub(crate) fn instrument(
    order: &PreparedRun,
    calibration: Calibration,
    conditions: &Conditions,
    ring_slots: u64,
    first: Nanos,
    settling: Duration,
) -> Instrument {
    let settled_in_ns = Nanos::from(settling);
    Instrument {
        clock: order.statement.clock.to_string(),
        clock_resolution_ns: calibration.resolution_ns,
        clock_read_ns: calibration.read_ns,
        real_time: order.granted.warning.is_none(),
        memory_locked: conditions.memory_locked(),
        dma_latency_held: conditions.dma_latency_held(),
        ring_slots,
        settled_in_ns,
        start_to_first_activation_ns: Some(
            first.0 - order.run.whole_warmup_ns().0 - settled_in_ns.0 - order.program_started.0,
        ),
        // Set when the run has ended: until then nothing is to cost a guest another instruction.
        virtual_time: false,
        co_kernel: order.probe.co_kernel().cloned(),
        watched: None,
    }
}

/// That a power cut might have cost more than a second.
pub(crate) fn slow_disk_warning(longest: Nanos, limit: Nanos) -> Option<Warning> {
    (longest > limit).then_some(Warning::DiskSlow { max_delay_ns: longest })
}

/// None of the end that a run without end waits for: what it measured ended by itself.
pub(crate) fn unless_its_end(order: &PreparedRun, mut warning: Warning) -> Option<Warning> {
    let ended = matches!(
        warning,
        Warning::ProgramEnded { status: Some(0), .. } | Warning::StreamEnded { .. }
    );
    if let Warning::ProgramEnded { default_length, .. } = &mut warning {
        *default_length = order.default_length;
    }
    (!(order.run.length.is_endless() && ended)).then_some(warning)
}

/// Why the run ended, from what stopped it.
pub(crate) fn end(reason: Option<StopReason>, signal: Option<&str>) -> End {
    match (reason, signal) {
        (Some(StopReason::BreakAbove { thread, activation, latency_ns }), _) => {
            End::BreakAbove { thread, activation, latency_ns }
        }
        (Some(StopReason::Starved { for_ns, cpu }), _) => End::Guard { starved_ns: for_ns, cpu },
        (Some(StopReason::ProbeFailed { doing, errno: 0, .. }), _) => {
            End::ProbeFailed { error: doing.to_owned() }
        }
        (Some(StopReason::ProbeFailed { thread, doing, errno }), _) => {
            let error = std::io::Error::from_raw_os_error(errno);
            End::ProbeFailed { error: format!("thread {thread}: {doing}: {error}") }
        }
        (Some(StopReason::Overtime { by_ns }), _) => End::Overtime { by_ns },
        (Some(StopReason::Asked), Some(name)) => End::Signal { name: name.to_owned() },
        _ => End::Done,
    }
}

/// How many activations of a thread were due: as it has counted itself, or, if it did not come
/// back, by the clock. Of events, which nobody plans, those it has counted.
pub(crate) fn due(
    thread: &Thread,
    is_planned: bool,
    result: Option<&ThreadResult>,
    planned: u64,
    ended: Nanos,
) -> u64 {
    result.map_or_else(
        || {
            if !is_planned {
                return 0;
            }
            let passed = u64::try_from(ended.0 - thread.start_ns.0)
                .map_or(0, |ns| ns / thread.interval_ns.0.unsigned_abs() + 1);
            passed.min(planned)
        },
        |result| result.counts.due(),
    )
}

/// Enters what a thread has counted. For one that did not come back, what the samples say stands,
/// and all else that was due counts as skipped: it was never run.
pub(crate) fn enter(
    thread: &mut Thread,
    probe: &ProbeStatement,
    result: Option<&ThreadResult>,
    due: u64,
    statistics: &Statistics,
) {
    let seen = statistics.activations;
    let woken = seen.on_time + seen.late;
    let (due, on_time, late) = result
        .map_or((due.max(woken), seen.on_time, seen.late), |ThreadResult { counts, .. }| {
            (due, counts.on_time, counts.late)
        });
    let skipped = due - on_time - late;
    thread.activations = Some(RowCounts::new(Activations { due, on_time, late, skipped }, probe));
    thread.timer_slack_ns = result.and_then(|result| result.timer_slack_ns);
    thread.polling = result.and_then(|result| result.polled);
    thread.smis = result.and_then(|result| result.smis);
    let usage = result.and_then(|result| result.usage);
    let periodic_rows = result.and_then(|result| result.periodic_rows);
    thread.evidence = ThreadEvidence {
        minor_faults: usage.map(|usage| usage.minor_faults),
        major_faults: usage.map(|usage| usage.major_faults),
        voluntary_switches: usage.map(|usage| usage.voluntary_switches),
        involuntary_switches: usage.map(|usage| usage.involuntary_switches),
        samples_lost: (on_time + late).saturating_sub(woken),
        fallen_back: result.and_then(|result| result.fallen_back),
        periodic_rows: periodic_rows.map(|(known, _)| known),
        without_period: periodic_rows.map(|(_, without)| without),
    };
}

/// What a reader must know of the clock that threads follow, if their probe has a column of its
/// steps.
pub(crate) fn clock_warning(probe: &ProbeStatement, threads: &[Beside]) -> Option<Warning> {
    let (column, _) = probe.others().find(|(_, column)| column.name == Column::STEP)?;
    let steps = || threads.iter().filter_map(|beside| beside.columns.get(column - 1));
    let forwards = steps().filter_map(|steps| steps.moments.max()).max().unwrap_or(0).max(0);
    let backwards = steps().filter_map(|steps| steps.moments.min()).min().unwrap_or(0).min(0);
    let (forwards_ns, backwards_ns) = (Nanos(forwards), Nanos(-backwards));
    let clock = probe.clock.to_string();
    ((forwards, backwards) != (0, 0)).then_some(Warning::ClockStepped {
        clock,
        forwards_ns,
        backwards_ns,
    })
}

/// What a reader must know of a stream whose intervals are not those of its period: most likely its
/// unit is another.
///
/// Both the median and the mean have to be off, so that neither missed periods, which lengthen the
/// mean, nor events that come in pairs, which move the median, are taken for it. Off is more than 2
/// %: clocks of microcontrollers are right to 1 %, and 1,024 events a second are 2.4 % more than
/// 1,000. And it is more than one period in all, by which the first and the last event may be early
/// or late.
#[expect(clippy::cast_precision_loss, reason = "a share of 2 %")]
pub(crate) fn period_warning(probe: &ProbeStatement, statistics: &[Statistics]) -> Option<Warning> {
    let period_ns = probe.period_ns.filter(|_| probe.taken_by() == TakenBy::AnotherMachine)?;
    let [Statistics { latency: Some(Summary { count, mean, p50: Some(median), .. }), .. }] =
        statistics
    else {
        return None;
    };
    let (period, median_off) = (period_ns.0 as f64, *median as f64);
    let is_off =
        median_off.abs().min(mean.abs()) > period * 0.02 && median_off.signum() == mean.signum();
    let is_beyond_the_ends = mean.abs() * *count as f64 > period;
    let (median_ns, intervals) = (Nanos(period_ns.0.saturating_add(*median)), *count);
    (is_off && is_beyond_the_ends).then_some(Warning::StreamOffPeriod {
        period_ns,
        median_ns,
        intervals,
    })
}

/// What a reader must know of a thread.
pub(crate) fn thread_warnings(
    thread: &Thread,
    rows: RowKind,
    result: Option<&ThreadResult>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if result.is_none() {
        let waited_ns = probe::JOIN_TIMEOUT.into();
        warnings.push(Warning::ThreadUnresponsive {
            thread: thread.index,
            cpu: thread.cpu,
            waited_ns,
        });
    }
    let woken = thread.activations.map_or(0, |counts| counts.all().on_time + counts.all().late);
    let untraced = result.map(|result| result.untraced).unwrap_or_default();
    let rows_untraced = untraced.rows.min(thread.evidence.samples_lost);
    let lost = thread.evidence.samples_lost - rows_untraced;
    if lost > 0 {
        warnings.push(Warning::SamplesLost { thread: thread.index, lost, woken });
    }
    if rows_untraced > 0 {
        warnings.push(Warning::RowsUntraced {
            thread: thread.index,
            rows: rows_untraced,
            without_switch: Some(untraced.without_switch.min(rows_untraced)).filter(|n| *n > 0),
            measured: woken,
        });
    }
    let (minor, major) =
        (thread.evidence.minor_faults.unwrap_or(0), thread.evidence.major_faults.unwrap_or(0));
    // What a trial starts may fault by its nature, as the copy of a memory map does.
    if (minor, major) != (0, 0) && rows != RowKind::Trials {
        warnings.push(Warning::PageFaults { thread: thread.index, minor, major });
    }
    warnings
}

/// That a thread of a co-kernel was on Linux in between, or that nobody knows whether it was.
pub(crate) fn fell_back(thread: &Thread) -> Option<Warning> {
    let measured = thread.activations.map_or(0, |counts| counts.all().on_time + counts.all().late);
    let switches = thread.evidence.fallen_back;
    (switches != Some(0)).then_some(Warning::FellBack { thread: thread.index, switches, measured })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::{CpuId, Scheduling};
    use probe::Untraced;
    use stats::{AfterOverrun, Span};

    /// Activations that a thread kept off its CPU never ran are skipped, not lost: no sample of
    /// theirs ever existed.
    #[test]
    fn a_thread_that_did_not_come_back() {
        let start = Nanos::from_secs(1);
        let mut thread =
            Thread::unmeasured(0, CpuId(1), Scheduling::DEFAULT, Nanos::from_millis(1), start);
        let due = due(&thread, true, None, 50, Nanos(start.0 + 9_500_000));
        let rows = [Span::Woken(&[5, 6, 7]), Span::Missing(7)];
        let Ok(statistics) = stats::summarise(rows.as_slice(), 1_000_000, AfterOverrun::Skip, 8);
        enter(&mut thread, &ProbeStatement::cyclic(), None, due, &statistics);
        let expected = Activations { due: 10, on_time: 3, late: 0, skipped: 7 };
        assert_eq!(thread.activations, Some(RowCounts::Planned(expected)));
        assert_eq!((thread.evidence.samples_lost, thread.evidence.voluntary_switches), (0, None));
        let (cpu, waited_ns) = (CpuId(1), Nanos::from_secs(3));
        let expected = [Warning::ThreadUnresponsive { thread: 0, cpu, waited_ns }];
        assert_eq!(thread_warnings(&thread, RowKind::Activations, None), expected);
    }

    /// A faster disk is no advice against a trace that is not whole.
    #[test]
    fn samples_are_lost_in_one_of_two_places() {
        let mut thread =
            Thread::unmeasured(0, CpuId(1), Scheduling::OTHER, Nanos::from_millis(1), Nanos(0));
        thread.activations =
            Some(RowCounts::Planned(Activations { due: 50, on_time: 50, late: 0, skipped: 0 }));
        thread.evidence.samples_lost = 7;
        let of = |rows| {
            let untraced = Untraced { rows, without_switch: rows };
            let result = ThreadResult { untraced, ..ThreadResult::default() };
            thread_warnings(&thread, RowKind::Events, Some(&result))
        };
        let untraced = |rows| {
            let without_switch = Some(rows);
            Warning::RowsUntraced { thread: 0, rows, without_switch, measured: 50 }
        };
        let lost = |lost| Warning::SamplesLost { thread: 0, lost, woken: 50 };
        assert_eq!(of(0), [lost(7)]);
        assert_eq!(of(5), [lost(2), untraced(5)]);
        assert_eq!(of(9), [untraced(7)]);
    }

    /// What is not known is not 0.
    #[test]
    fn a_thread_of_a_co_kernel_stays_there() {
        let mut thread =
            Thread::unmeasured(0, CpuId(1), Scheduling::DEFAULT, Nanos::from_millis(1), Nanos(0));
        let warned = |switches| Some(Warning::FellBack { thread: 0, switches, measured: 0 });
        for (switches, expected) in
            [(Some(0), None), (Some(2), warned(Some(2))), (None, warned(None))]
        {
            thread.evidence.fallen_back = switches;
            assert_eq!(fell_back(&thread), expected);
        }
    }

    #[test]
    fn a_stream_with_another_period() {
        let mut probe = ProbeStatement::cyclic();
        (probe.only_observes, probe.clock) = (true, ProbeStatement::CLOCK_OF_STREAM.into());
        probe.period_ns = Some(Nanos::from_millis(1));
        let off = |probe: &ProbeStatement, jitter: &[i32]| {
            let Ok(statistics) =
                stats::summarise([Span::Woken(jitter)].as_slice(), 1 << 60, AfterOverrun::Skip, 8);
            match period_warning(probe, &[statistics]) {
                Some(Warning::StreamOffPeriod { median_ns, .. }) => Some(median_ns.0),
                _ => None,
            }
        };
        // In ns and read as us, the other way round, 1,000 Hz for 1,024, and 1,024 without a unit
        // for 1,024 Hz.
        assert_eq!(off(&probe, &[999_000_000; 9]), Some(1_000_000_000));
        assert_eq!(off(&probe, &[-999_000; 9]), Some(1_000));
        assert_eq!(off(&probe, &[-23_438; 50]), Some(976_562));
        probe.period_ns = Some(Nanos::from_micros(1_024));
        assert_eq!(off(&probe, &[-47_438; 50]), Some(976_562));
        probe.period_ns = Some(Nanos::from_millis(1));
        // A clock that is 1 % fast, every third period missed, and events in pairs.
        assert_eq!(off(&probe, &[-10_000; 5_000]), None);
        assert_eq!(off(&probe, &[0, 1_000, 1_000_000].repeat(50)), None);
        assert_eq!(off(&probe, &[-900_000, 900_000].repeat(50)), None);
        // Of three intervals nothing is known.
        assert_eq!(off(&probe, &[200_000, 100_000, 90_000]), None);
        probe.period_ns = None;
        assert_eq!(off(&probe, &[999_000_000; 9]), None);
    }

    #[test]
    fn the_reason_is_reported() {
        assert_eq!(end(None, None), End::Done);
        assert_eq!(
            end(Some(StopReason::Asked), Some("SIGTERM")),
            End::Signal { name: "SIGTERM".into() }
        );
        let broken = StopReason::BreakAbove { thread: 1, activation: 2, latency_ns: 3 };
        assert_eq!(
            end(Some(broken), Some("SIGINT")),
            End::BreakAbove { thread: 1, activation: 2, latency_ns: 3 }
        );
        let starved = StopReason::Starved { for_ns: 5, cpu: Some(CpuId(2)) };
        assert_eq!(end(Some(starved), None), End::Guard { starved_ns: 5, cpu: Some(CpuId(2)) });
        assert_eq!(end(Some(StopReason::Overtime { by_ns: 7 }), None), End::Overtime { by_ns: 7 });
        let failed = StopReason::ProbeFailed { thread: 1, doing: "clock_nanosleep", errno: 1 };
        let End::ProbeFailed { error } = end(Some(failed), None) else { panic!() };
        let nothing = StopReason::ProbeFailed { thread: 0, doing: "no number came", errno: 0 };
        assert_eq!(end(Some(nothing), None), End::ProbeFailed { error: "no number came".into() });
        assert!(error.starts_with("thread 1: clock_nanosleep: Operation not permitted"), "{error}");
    }
}
