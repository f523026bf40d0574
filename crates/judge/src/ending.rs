// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a run ended, and whether its recording shows all that it should have.

use model::{Accounted, Document, End, Examined, Recorded, State, Thread, Warning, contradictions};

/// How a run ended, as plans, gates and exit codes see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At its planned end. Of a run without end, by a signal once it had begun to measure.
    Planned,
    /// At the latency it was to stop at: an end it was to have.
    AtLatency,
    /// By a signal, before it had what was asked for.
    Asked,
    /// Because it could not go on.
    Failed,
    /// It is going on, or it was cut off.
    CutOff,
}

pub fn ending(document: &Document) -> Ending {
    match (document.state, &document.end) {
        (State::Running, _) => Ending::CutOff,
        (State::Complete, _) => Ending::Planned,
        (State::Stopped, Some(End::BreakAbove { .. })) => Ending::AtLatency,
        (State::Stopped, Some(End::Signal { .. }))
            if document.run.length.is_endless() && has_begun(document) =>
        {
            Ending::Planned
        }
        (State::Stopped, Some(End::Signal { .. }) | None) => Ending::Asked,
        (State::Stopped, Some(_)) => Ending::Failed,
    }
}

/// Whether anything was due. Events come when they come, and that none came is what was measured.
fn has_begun(document: &Document) -> bool {
    let any_due = || {
        document
            .threads
            .iter()
            .any(|thread| thread.activations.is_some_and(|counts| counts.all().due > 0))
    };
    !document.probe.is_planned() || any_due()
}

/// Whether a run came to an end it was to have: its planned one, or the latency it was to stop at.
pub fn came_to_its_end(document: &Document) -> bool {
    matches!(ending(document), Ending::Planned | Ending::AtLatency)
}

/// Samples that were lost, of all threads; of one without samples as it counted them.
pub fn samples_lost(recorded: &Recorded) -> u64 {
    let threads = recorded.document.threads.iter().zip(&recorded.threads);
    let lost = threads.map(|(thread, samples)| {
        let accounted = Accounted::new(thread, samples);
        accounted.map_or(thread.evidence.samples_lost, |accounted| accounted.lost)
    });
    lost.fold(0, u64::saturating_add)
}

/// Why a recording does not show all that it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incomplete {
    /// Its run ended before its planned end.
    EndedEarly,
    /// So many samples were lost.
    SamplesLost(u64),
    /// The kernel's trace lost so many events at least, and rows with them.
    TraceLost(u64),
    /// The stream's intervals are not those of the period that they are compared with.
    StreamOffPeriod,
    /// Parts of the stream that was read are missing, or could not be read.
    StreamBroken,
    /// The program that was measured crashed or failed.
    ProgramFailed,
    /// Threads of a co-kernel ran on Linux in between, or may have.
    FellBack,
    /// A load was off the level asked for.
    LoadOffTarget,
    /// `run.json` says what its samples do not.
    Contradicts,
    /// Periods of the stream that was read have no record.
    PeriodsMissed,
}

/// Whether it is known which sample followed which: of a histogram it is not, and so neither is how
/// samples depend on one another.
pub fn knows_order(document: &Document) -> bool {
    document.threads.iter().all(|thread| thread.detail.is_samples())
}

/// Why a recording does not show all that it should have, the gravest reason first; none for one
/// that does.
pub fn incomplete(recorded: &Recorded) -> Option<Incomplete> {
    let document = &recorded.document;
    if ending(document) != Ending::Planned {
        return Some(Incomplete::EndedEarly);
    }
    let lost = samples_lost(recorded);
    if lost > 0 {
        return Some(Incomplete::SamplesLost(lost));
    }
    let of_trace = document.warnings.iter().filter_map(|warning| match warning {
        Warning::TraceEventsLost { events, unfollowed, .. } => {
            Some(events.saturating_add(*unfollowed))
        }
        _ => None,
    });
    let lost = of_trace.fold(0, u64::saturating_add);
    if lost > 0 {
        return Some(Incomplete::TraceLost(lost));
    }
    if document.warnings.iter().any(|warning| matches!(warning, Warning::StreamOffPeriod { .. })) {
        return Some(Incomplete::StreamOffPeriod);
    }
    if document.warnings.iter().any(is_of_a_broken_stream) {
        return Some(Incomplete::StreamBroken);
    }
    if document.warnings.iter().any(is_of_a_failed_program) {
        return Some(Incomplete::ProgramFailed);
    }
    let has_fallen_back =
        |thread: &Thread| thread.evidence.fallen_back.is_some_and(|switches| switches > 0);
    if document.warnings.iter().any(|warning| matches!(warning, Warning::FellBack { .. }))
        || document.threads.iter().any(has_fallen_back)
    {
        return Some(Incomplete::FellBack);
    }
    if document.load_off_target {
        return Some(Incomplete::LoadOffTarget);
    }
    if !contradictions(recorded).is_empty() {
        return Some(Incomplete::Contradicts);
    }
    // Last: a limit may allow them.
    let is_of_missed = |warning: &Warning| matches!(warning, Warning::StreamMissed { .. });
    document.warnings.iter().any(is_of_missed).then_some(Incomplete::PeriodsMissed)
}

/// The same of all recordings that are judged together: the first reason.
pub(crate) fn incomplete_among(examined: &Examined) -> Option<Incomplete> {
    examined.recordings().find_map(incomplete)
}

/// Of a record within which the run ended nothing is missing: it ended later. Of a pipe that its
/// writers closed all has come, as of a file.
const fn is_of_a_broken_stream(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::StreamUnreadable { .. }
            | Warning::StreamHalfRecord { ended: true, .. }
            | Warning::StreamUnread { .. }
            | Warning::StreamEnded { closed: false, .. }
            | Warning::StreamBackwards { .. }
            | Warning::StreamTrailing { .. }
            | Warning::StreamSilent { .. }
    )
}

fn is_of_a_failed_program(warning: &Warning) -> bool {
    let Warning::ProgramEnded { status, signal, .. } = warning else { return false };
    signal.is_some() || status.is_some_and(|status| status != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(state: State, end: Option<End>) -> Document {
        let json = include_str!("../../../fuzz/corpus/run_json/complete.json");
        let mut document: Document = serde_json::from_str(json).unwrap();
        (document.state, document.end) = (state, end);
        document
    }

    #[test]
    fn a_run_has_one_ending() {
        let at_latency = || End::BreakAbove { thread: 0, activation: 1, latency_ns: 2 };
        for (state, end, expected, whole) in [
            (State::Running, None, Ending::CutOff, false),
            (State::Complete, Some(End::Done), Ending::Planned, true),
            (State::Stopped, Some(at_latency()), Ending::AtLatency, true),
            (State::Stopped, Some(End::Signal { name: "SIGINT".into() }), Ending::Asked, false),
            (State::Stopped, Some(End::Guard { starved_ns: 5, cpu: None }), Ending::Failed, false),
            (State::Stopped, Some(End::ProbeFailed { error: "no".into() }), Ending::Failed, false),
            (State::Stopped, Some(End::Overtime { by_ns: 5 }), Ending::Failed, false),
            (
                State::Stopped,
                Some(End::RecordingFailed { error: "no".into() }),
                Ending::Failed,
                false,
            ),
        ] {
            let document = document(state, end);
            assert_eq!(
                (ending(&document), came_to_its_end(&document)),
                (expected, whole),
                "{:?}",
                document.end
            );
        }
    }

    /// One that ran until somebody ended it did what was asked, unless its threads still warmed up.
    #[test]
    fn a_run_without_end_ends_by_a_signal() {
        let signal = || Some(End::Signal { name: "SIGTERM".into() });
        let mut endless = document(State::Stopped, signal());
        endless.run.length = plan::Length::Forever;
        assert_eq!((ending(&endless), came_to_its_end(&endless)), (Ending::Planned, true));
        endless.threads.iter_mut().for_each(|thread| thread.activations = None);
        assert_eq!(ending(&endless), Ending::Asked);
        endless.end = Some(End::Guard { starved_ns: 5, cpu: None });
        assert_eq!(ending(&endless), Ending::Failed);
        assert_eq!(ending(&document(State::Stopped, signal())), Ending::Asked);
    }

    #[test]
    fn the_gravest_reason_comes_first() {
        let of = |change: &dyn Fn(&mut Document)| {
            let mut document = document(State::Complete, Some(End::Done));
            document.threads.clear();
            document.load.clear();
            document.run.cpus.clear();
            change(&mut document);
            incomplete(&Recorded {
                path: "a.teiji".into(),
                document,
                threads: Vec::new(),
                beside: Vec::new(),
                explained: None,
            })
        };
        assert_eq!(of(&|_| ()), None);
        assert_eq!(
            of(&|document| document.load_off_target = true),
            Some(Incomplete::LoadOffTarget)
        );
        let lost = |document: &mut Document| {
            document.load_off_target = true;
            document.warnings =
                vec![Warning::TraceEventsLost { events: 5, buffer_kib: 8, unfollowed: 2 }];
        };
        assert_eq!(of(&lost), Some(Incomplete::TraceLost(7)));
        let silent = Warning::StreamSilent {
            from: "/dev/rtf0".into(),
            numbers: 9,
            silent_ns: plan::Nanos::from_secs(2),
        };
        assert_eq!(
            of(&|document| document.warnings = vec![silent.clone()]),
            Some(Incomplete::StreamBroken)
        );
        let half = |ended| Warning::StreamHalfRecord {
            from: "/dev/rtf0".into(),
            bytes: 3,
            offset: 8,
            ended,
        };
        assert_eq!(
            of(&|document| document.warnings = vec![half(true)]),
            Some(Incomplete::StreamBroken)
        );
        assert_eq!(
            of(&|document| document.warnings = vec![half(false)]),
            None,
            "its rest came after the run"
        );
        let ended = |closed| {
            let (numbers, after_ns) = (9, plan::Nanos::from_secs(2));
            of(&|document| {
                let from = "in".into();
                document.warnings = vec![Warning::StreamEnded { from, numbers, after_ns, closed }];
            })
        };
        assert_eq!((ended(false), ended(true)), (Some(Incomplete::StreamBroken), None));
        let missed = Warning::StreamMissed {
            from: "in".into(),
            missed: 2,
            period_ns: plan::Nanos::from_millis(1),
        };
        let beside = |off_target: bool| {
            of(&|document| {
                (document.load_off_target, document.warnings) = (off_target, vec![missed.clone()]);
            })
        };
        // What a limit may allow hides no other reason.
        assert_eq!(
            (beside(true), beside(false)),
            (Some(Incomplete::LoadOffTarget), Some(Incomplete::PeriodsMissed))
        );
        let off_period = Warning::StreamOffPeriod {
            period_ns: plan::Nanos::from_micros(1),
            median_ns: plan::Nanos::from_millis(1),
            intervals: 9,
        };
        let both =
            |document: &mut Document| document.warnings = vec![silent.clone(), off_period.clone()];
        assert_eq!(of(&both), Some(Incomplete::StreamOffPeriod));
        let ended = |status, signal| {
            let (after_ns, planned_ns) = (plan::Nanos::from_secs(1), plan::Nanos::from_secs(10));
            of(&|document| {
                document.warnings = vec![Warning::ProgramEnded {
                    after_ns,
                    planned_ns,
                    status,
                    signal,
                    default_length: true,
                }]
            })
        };
        assert_eq!((ended(Some(0), None), ended(None, None)), (None, None));
        assert_eq!(ended(Some(3), None), Some(Incomplete::ProgramFailed));
        assert_eq!(ended(None, Some(11)), Some(Incomplete::ProgramFailed));
        let fell_back = |document: &mut Document| {
            document.load_off_target = true;
            document.warnings = vec![Warning::FellBack { thread: 0, switches: None, measured: 9 }];
        };
        assert_eq!(of(&fell_back), Some(Incomplete::FellBack));
        assert_eq!(of(&|document| document.end = None), Some(Incomplete::Contradicts));
        assert_eq!(
            of(&|document| (document.state, document.load_off_target) = (State::Running, true)),
            Some(Incomplete::EndedEarly)
        );
    }
}
