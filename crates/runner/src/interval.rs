// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether this machine can keep up with the interval of a run: tried before anything of the run
//! exists.

use model::Warning;
use plan::{CpuId, CpuList, Nanos, Run, Scheduling};
use probe::{ChosenProbe, Tried};

/// An interval at which the threads of a run would do nothing but wake up too late, and let nothing
/// else run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an interval of {interval} is too short for this machine: in a trial before the run {percent} \
     % of the activations on CPU {cpu} were late or skipped. With {scheduling} nothing else could \
     run on CPU {cpus}. Use a longer interval, such as 1ms"
)]
pub struct TooShort {
    interval: Nanos,
    percent: u32,
    cpu: CpuId,
    cpus: String,
    scheduling: Scheduling,
}

/// Every machine carries what leaves a thread so much time on its CPU.
const LONG_ENOUGH: Nanos = Nanos::from_micros(500);
/// A share of activations that no machine misses at an interval it can keep up with.
const NONE_IN_TIME: f64 = 0.9;
/// A share worth a warning.
const MANY_MISSED: f64 = 0.1;
/// Trials of which the best counts: a hypervisor, or another real-time thread, may take a CPU away
/// for one of them.
const TRIALS: usize = 3;

/// Tries a run's interval with the scheduling its threads were granted. A warning says that many
/// activations will be missed.
///
/// # Errors
/// That nearly all would be, by real-time threads, which then leave the machine no time.
pub fn try_interval(
    run: &Run,
    probe: &ChosenProbe,
    granted: Scheduling,
) -> Result<Option<Warning>, TooShort> {
    if !is_short(run) {
        return Ok(None);
    }
    let mut best: Option<Tried> = None;
    for _ in 0..TRIALS {
        // What keeps a thread from being made here keeps the run's from it too, and is said there.
        let Ok(threads) = probe::tried(run, probe, granted) else { return Ok(None) };
        let Some(worst) = threads.into_iter().max_by(|a, b| a.missed().total_cmp(&b.missed()))
        else {
            return Ok(None);
        };
        if best.is_none_or(|best| worst.missed() < best.missed()) {
            best = Some(worst);
        }
        if worst.missed() < MANY_MISSED {
            return Ok(None);
        }
    }
    best.map_or(Ok(None), |best| judged(run, granted, best))
}

fn judged(run: &Run, granted: Scheduling, best: Tried) -> Result<Option<Warning>, TooShort> {
    let (missed, cpu) = (best.missed(), best.cpu);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
    let percent = (missed * 100.0).floor() as u32;
    if missed < MANY_MISSED {
        return Ok(None);
    }
    if missed >= NONE_IN_TIME && granted.policy.is_real_time() {
        let cpus = CpuList::format(&run.cpus);
        return Err(TooShort {
            interval: run.interval_ns,
            percent,
            cpu,
            cpus,
            scheduling: granted,
        });
    }
    Ok(Some(Warning::IntervalShort { interval_ns: run.interval_ns, missed_percent: percent, cpu }))
}

/// Whether any CPU has less than [`LONG_ENOUGH`] for each wake-up.
fn is_short(run: &Run) -> bool {
    run.cpus.iter().enumerate().any(|(index, cpu)| {
        let threads = run.cpus.iter().filter(|other| *other == cpu).count();
        run.interval_of(index).0 / i64::try_from(threads).unwrap_or(i64::MAX) < LONG_ENOUGH.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe::Counts;

    fn run(interval: Nanos, threads: usize) -> Run {
        Run { cpus: vec![CpuId(1); threads], ..Run::example(interval, 1) }
    }

    #[test]
    fn only_short_intervals_are_tried() {
        assert!(
            !is_short(&run(Nanos::from_millis(1), 2)) && is_short(&run(Nanos::from_millis(1), 3))
        );
        assert!(is_short(&run(Nanos::from_micros(200), 1)));
    }

    #[test]
    fn refused_where_real_time_threads_would_never_sleep() {
        let tried = |on_time, skipped| Tried {
            cpu: CpuId(1),
            counts: Counts { on_time, late: 1, skipped },
        };
        let judged = |scheduling, tried| judged(&run(Nanos::from_micros(1), 1), scheduling, tried);
        let refused = judged(Scheduling::DEFAULT, tried(1, 998)).unwrap_err().to_string();
        assert!(
            refused.starts_with("an interval of 1us is too short for this machine: in a trial"),
            "{refused}"
        );
        assert!(
            refused.contains(
                "99 % of the activations on CPU 1 were late or skipped. With SCHED_FIFO 90"
            ),
            "{refused}"
        );
        for (scheduling, tried, missed_percent) in
            [(Scheduling::OTHER, tried(1, 998), 99), (Scheduling::DEFAULT, tried(600, 399), 40)]
        {
            let short = Warning::IntervalShort {
                interval_ns: Nanos::from_micros(1),
                missed_percent,
                cpu: CpuId(1),
            };
            assert_eq!(judged(scheduling, tried), Ok(Some(short)));
        }
        assert_eq!(judged(Scheduling::DEFAULT, tried(950, 49)), Ok(None));
    }
}
