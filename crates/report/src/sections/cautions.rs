// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader must know before any figure that rests on a recording, and before two are
//! compared: in front of what `gate` and `compare` say.

use crate::alike::grouped;
use crate::format::{self, count, list, rounded_count};
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::accounts::Accounts;
use crate::sections::caveats::{self, CaveatKind};
use crate::sections::co_kernel;
use crate::sections::events::{self, Source};
use model::{CoKernel, StolenTime, TakenBy, changes};

/// Recordings differ in steal time from so many points of a CPU's time on ...
const MIN_STEAL: f64 = 1.0;
/// ... in how busy the CPUs were from so many on ...
const POINTS_APART: f64 = 10.0;
/// ... and in an interrupt's rate where one is so many times the other, and at least so many a
/// second.
const TIMES_APART: f64 = 5.0;
const MIN_PER_SECOND: f64 = 100.0;
/// A CPU's times that add up to more times the elapsed time than this are not believed.
const MAX_SUM: f64 = 1.05;
/// Interrupts that are named.
const MAX_NAMED: usize = 3;

/// Steal time of the measured CPU with most of it, percent of its time.
fn steal(overview: &Overview<'_>) -> Option<f64> {
    Some(overview.document().steal()?.first().map_or(0.0, StolenTime::percent))
}

/// How busy all CPUs were, percent of the time of all of them: all but idle, waiting for a disk,
/// and stolen. None where the kernel's times add up to more than passed: it counts what its tick
/// meets, and a thread that wakes with the tick is met each time.
fn busy(overview: &Overview<'_>) -> Option<f64> {
    let host = &overview.document().host;
    let after = host.after.as_ref()?;
    let sum_ms = changes(&host.before, after).cpu_times.iter().map(|cpu| cpu.elapsed_ms).max()?;
    if let Some((end, begin)) = after.uptime_s.zip(host.before.uptime_s)
        && sum_ms as f64 > MAX_SUM * 1e3 * (end - begin)
    {
        return None;
    }
    let time = events::cpu_time(std::slice::from_ref(overview));
    let is_busy =
        |kind: &str| !matches!(kind, "idle" | "iowait" | "steal" | "guest" | "guest_nice");
    let known = time.iter().any(|time| time.kind == "idle");
    let shares = time.iter().filter(|time| is_busy(&time.kind));
    known.then(|| shares.filter_map(|time| Some((*time.shares.first()?)?.0)).sum())
}

/// The caveats of a recording, the gravest first, each as a phrase.
pub(crate) fn collect(overview: &Overview<'_>) -> Vec<String> {
    ranked(overview).into_iter().map(|(_, phrase)| phrase).collect()
}

/// The same with what kind each is of.
fn ranked(overview: &Overview<'_>) -> Vec<(CaveatKind, String)> {
    let document = overview.document();
    let denied = caveats::denied(document).map(|how| (CaveatKind::RightsDenied, how));
    let how = denied
        .or_else(|| Some((CaveatKind::OrdinaryScheduling, caveats::ordinary(document)?)))
        .or_else(|| Some((CaveatKind::LowerPriority, caveats::lower_priority(document)?)));
    let mut all: Vec<(CaveatKind, String)> =
        how.map(|(kind, how)| (kind, tr!(measured_with_how, how))).into_iter().collect();
    all.extend(
        judge::incomplete(overview.recorded)
            .map(|why| (caveats::kind_of_incomplete(why), caveats::incomplete_reason(why))),
    );
    let others = caveats::collect(document).into_iter().chain(caveats::set_up_badly(document));
    all.extend(others.map(|caveat| (caveat.kind, caveat.phrase)));
    let effect = co_kernel::of(document).and_then(co_kernel::effect);
    all.extend(effect.map(|effect| (CaveatKind::CoKernel, effect)));
    all.sort_by_key(|(kind, _)| *kind);
    all
}

/// A condition that differs between two groups of recordings: what it is, and the values of both.
pub(crate) struct Apart {
    pub(crate) name: String,
    pub(crate) base: String,
    pub(crate) other: String,
}

impl Apart {
    /// `steal time: 26.3 % | 1.3 %`.
    pub(crate) fn in_words(&self) -> String {
        tr!(name_base_against_other, name = self.name, base = self.other, other = self.base)
    }
}

/// What was skipped, where that is in no latency and differs between the two groups.
fn skipped(base: &[Overview<'_>], other: &[Overview<'_>]) -> Option<Apart> {
    let of = |group: &[Overview<'_>]| {
        let mut sum = Accounts::default();
        group
            .iter()
            .filter(|one| !one.has_skipped())
            .for_each(|one| sum.merge(&one.totals.activations));
        Some((sum.skipped()?, sum.due()?, sum.rows()))
    };
    let ((base_skipped, base_due, rows), (other_skipped, other_due, _)) =
        of(base).zip(of(other))?;
    // As shares: the groups may differ in length.
    if u128::from(base_skipped) * u128::from(other_due)
        == u128::from(other_skipped) * u128::from(base_due)
    {
        return None;
    }
    let share = |skipped, due| tr!(n_of_rows, n = count(skipped), rows = rows.counted(due));
    Some(Apart {
        name: tr!(skipped_so_in_no),
        base: share(base_skipped, base_due),
        other: share(other_skipped, other_due),
    })
}

/// In what the recordings of two groups, the first so many and the others, differ that was not
/// asked for: steal time, how busy the CPUs were under the same loads, and interrupts that were
/// much more frequent in one.
pub(crate) fn between(all: &[Overview<'_>], first: usize) -> Vec<Apart> {
    let (base, other) = all.split_at(first.min(all.len()));
    type Share = fn(&Overview<'_>) -> Option<f64>;
    let mean = |group: &[Overview<'_>], of: Share| average(group.iter().filter_map(of));
    let both = |of: Share| mean(base, of).zip(mean(other, of));
    let percent = |value: f64| format!("{} %", format::share(value));
    let mut apart: Vec<Apart> = skipped(base, other).into_iter().collect();
    // What this machine did says nothing of times that were taken elsewhere.
    if all.iter().any(|overview| overview.document().probe.taken_by() == TakenBy::AnotherMachine) {
        return apart;
    }
    if let Some((first, second)) = both(steal)
        && (first - second).abs() >= MIN_STEAL
    {
        let name = tr!(steal_time_of_worst_cpu);
        apart.push(Apart { name, base: percent(first), other: percent(second) });
    }
    let loads = |group: &[Overview<'_>]| group.first().and_then(Overview::loads);
    if loads(base) == loads(other)
        && let Some((first, second)) = both(busy)
        && (first - second).abs() >= POINTS_APART
    {
        apart.push(Apart {
            name: tr!(cpus_busy_any_work),
            base: percent(first),
            other: percent(second),
        });
    }
    apart.extend(interrupts(all, first));
    apart
}

/// For recordings of which any was measured on a core: which was on which. Where all were on one,
/// what its gravity does.
pub(crate) fn co_kernel_notes(all: &[Overview<'_>]) -> Vec<String> {
    let too_early = all.iter().filter_map(|one| co_kernel::too_early(one.document())).next();
    of_cores(all).into_iter().chain(too_early).collect()
}

fn of_cores(all: &[Overview<'_>]) -> Vec<String> {
    let cores = grouped(all.iter().filter_map(|overview| {
        let core = co_kernel::of(overview.document())?;
        Some((format::co_kernel(core), (core, &overview.name)))
    }));
    match cores.as_slice() {
        [(_, on)] if on.len() == all.len() => {
            co_kernel::effect_as_sentence(on[0].0).into_iter().collect()
        }
        several => {
            let names = |on: &[(&CoKernel, &String)]| {
                list(&on.iter().map(|(_, name)| *name).collect::<Vec<_>>())
            };
            several.iter().map(|(_, on)| co_kernel::note(&names(on), on[0].0)).collect()
        }
    }
}

/// That two groups differ in it, where they do.
pub(crate) fn gravity_apart(base: &[Overview<'_>], other: &[Overview<'_>]) -> Option<Apart> {
    let values = |group: &[Overview<'_>]| {
        let mut values: Vec<String> = group
            .iter()
            .map(|one| match co_kernel::of(one.document()) {
                None => tr!(none_on_linux),
                Some(core) => co_kernel::gravity(core).unwrap_or_else(|| tr!(not_known)),
            })
            .collect();
        values.sort_unstable();
        values.dedup();
        values.join(texts::comma.said())
    };
    let (base, other) = (values(base), values(other));
    (base != other).then(|| Apart { name: tr!(gravity), base, other })
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0.0, 0.0), |(count, sum), value| (count + 1.0, sum + value));
    (count > 0.0).then(|| sum / count)
}

/// The interrupts whose rates differ most.
fn interrupts(all: &[Overview<'_>], first: usize) -> Vec<Apart> {
    let is_known = |one: &Overview<'_>| {
        let host = &one.document().host;
        !host.before.interrupts.is_empty()
            && host.after.as_ref().is_some_and(|after| !after.interrupts.is_empty())
    };
    if !all.iter().all(is_known) {
        return Vec::new();
    }
    let (sources, _) = events::interrupts(all);
    let rates = |source: &Source| {
        let rates: Vec<f64> = source
            .deltas
            .iter()
            .map(|delta| delta.as_ref().and_then(|delta| delta.per_second).unwrap_or(0.0))
            .collect();
        let (base, other) = rates.split_at(first.min(rates.len()));
        average(base.iter().copied()).zip(average(other.iter().copied()))
    };
    let mut differ: Vec<(&Source, f64, f64)> = sources
        .iter()
        .filter_map(|source| rates(source).map(|(a, b)| (source, a, b)))
        .filter(|(_, a, b)| a.max(*b) >= MIN_PER_SECOND && a.max(*b) >= TIMES_APART * a.min(*b))
        .collect();
    differ.sort_by(|x, y| y.1.max(y.2).total_cmp(&x.1.max(x.2)));
    differ.truncate(MAX_NAMED);
    let per_second = |rate: f64| format!("{}/s", rounded_count(rate));
    let name = |source: &Source| {
        if source.description.is_empty() {
            source.name.clone()
        } else {
            format!("{} ({})", source.name, source.description)
        }
    };
    differ
        .into_iter()
        .map(|(source, a, b)| Apart {
            name: tr!(interrupts_name, name = name(source)),
            base: per_second(a),
            other: per_second(b),
        })
        .collect()
}

/// `one: measured with SCHED_OTHER`, the gravest of all recordings first; the same of several in
/// one phrase.
pub(crate) fn of_each(all: &[Overview<'_>]) -> Vec<String> {
    let keyed = all
        .iter()
        .flat_map(|overview| ranked(overview).into_iter().map(|caveat| (caveat, &overview.name)));
    let mut kinds = grouped(keyed);
    kinds.sort_by_key(|((kind, _), _)| *kind);
    kinds
        .into_iter()
        .map(|((_, why), names)| tr!(recording_why, recording = list(&names), why))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::Recorded;

    /// Of all CPU time after the first look, so many percent of each kind.
    fn spend(recorded: &mut Recorded, kinds: &[(&str, u64)]) {
        let host = &mut recorded.document.host;
        let passed = kinds.iter().map(|(_, percent)| *percent as f64 / 10.0).sum::<f64>();
        host.before.uptime_s = Some(1.0);
        host.after.as_mut().unwrap().uptime_s = Some(1.0 + passed);
        for cpu in &mut host.after.as_mut().unwrap().cpus {
            for time in cpu.time_ms.values_mut() {
                *time = 1_000_000;
            }
            for (kind, percent) in kinds {
                cpu.time_ms.insert((*kind).to_owned(), 1_000_000 + percent * 100);
            }
        }
    }

    #[test]
    fn caveats_of_a_recording_are_cautions() {
        let mut stolen = Synthetic::hackbench().build();
        spend(&mut stolen, &[("user", 700), ("steal", 263), ("idle", 37)]);
        stolen.document.load_off_target = true;
        let output = collect(&Overview::new(&stolen));
        assert!(
            output[0].starts_with("a load was off") && output[1].starts_with("steal time 26.3 %"),
            "{output:?}"
        );
    }

    /// They came in the order of the recordings, and of what was looked at.
    #[test]
    fn the_gravest_of_all_recordings_comes_first() {
        let first = Synthetic::hackbench().title("a").build();
        let mut second = Synthetic::hackbench().title("b").build();
        second.document.load_off_target = true;
        for (thread, prio) in second.document.threads.iter_mut().zip([80, 20]) {
            thread.scheduling.prio = Some(prio);
        }
        let said = of_each(&[Overview::new(&first), Overview::new(&second)]);
        assert_eq!(
            said[..3],
            [
                "b: measured with SCHED_FIFO 20 instead of SCHED_FIFO 90",
                "b: a load was off target",
                "a and b: steal time 1.0 % (100 ms) on CPU 1"
            ],
        );
        let short = caveats::in_short(&second.document);
        assert_eq!(short[..2], ["lower priority", "load off target"]);
    }

    /// A thread of higher priority made the maximum: `show` said so, and a comparison did not.
    #[test]
    fn a_machine_set_up_badly_is_a_caution_of_its_recording() {
        let (good, mut bad) =
            (Synthetic::idle().build(), Synthetic::idle().title("fifo80").build());
        bad.document.warnings = vec![model::Warning::MachineCheck {
            check: "threads-above".into(),
            found: "python3 at 95".into(),
            why: "It runs first.".into(),
            action: None,
            found_phrase: None,
            action_phrase: None,
        }];
        let both = [Overview::new(&good), Overview::new(&bad)];
        assert_eq!(of_each(&both), ["fifo80: bad for latency: threads-above. See teiji check"]);
        bad.document.warnings.clear();
        for thread in &mut bad.document.threads {
            thread.scheduling.prio = Some(20);
        }
        let how = "measured with SCHED_FIFO 20 instead of SCHED_FIFO 90".to_owned();
        assert!(collect(&Overview::new(&bad)).contains(&how));
    }

    #[test]
    fn trials_that_were_skipped_are_named_where_they_are_in_no_latency() {
        let mut first = Synthetic::hackbench().build();
        let mut second = first.clone();
        for (recorded, skipped) in [(&mut first, 0), (&mut second, 3)] {
            recorded.document.probe.rows = model::RowKind::Trials;
            recorded.threads.iter_mut().for_each(|statistics| statistics.with_skipped = None);
            for statistics in &mut recorded.threads {
                statistics.activations =
                    stats::Activations { due: 1_000, on_time: 1_000 - skipped, late: 0, skipped };
            }
        }
        let output = |first, second| {
            between(&[Overview::new(first), Overview::new(second)], 1)
                .iter()
                .map(Apart::in_words)
                .collect::<Vec<_>>()
        };
        let due = 1_000 * first.document.threads.len();
        let rows = format!("of {} trials", count(u64::try_from(due).unwrap()));
        let skipped = 3 * second.document.threads.len();
        assert_eq!(
            output(&first, &second),
            [format!("skipped, and so in no latency: {skipped} {rows} against 0 {rows}")]
        );
        assert!(output(&second, &second).is_empty());
    }

    #[test]
    fn conditions_that_differ_between_groups() {
        let (mut first, mut second) =
            (Synthetic::hackbench().build(), Synthetic::hackbench().build());
        spend(&mut first, &[("user", 724), ("steal", 263), ("idle", 13)]);
        spend(&mut second, &[("user", 300), ("steal", 13), ("idle", 687)]);
        let events = &mut second.document.host.after.as_mut().unwrap().interrupts;
        events
            .iter_mut()
            .filter(|event| event.name == "RES")
            .for_each(|event| event.counts.fill(5_000));
        let output: Vec<String> = between(&[Overview::new(&first), Overview::new(&second)], 1)
            .iter()
            .map(Apart::in_words)
            .collect();
        assert_eq!(
            output[..2],
            [
                "steal time of the measured CPU with most of it: 1.3 % against 26.3 %",
                "all CPUs busy, with any work: 30.0 % against 72.4 %"
            ]
        );
        assert!(
            output[2].starts_with("interrupts RES (Rescheduling interrupts): 0/s against "),
            "{output:?}"
        );
        assert!(between(&[Overview::new(&first), Overview::new(&first)], 1).is_empty());
    }

    /// Of a guest's CPU the kernel counted 1,590 ms idle and 380 ms in the system, in 1,620 ms.
    #[test]
    fn times_that_add_up_to_more_than_passed_say_nothing_of_busy() {
        let (mut first, mut second) =
            (Synthetic::hackbench().build(), Synthetic::hackbench().build());
        spend(&mut first, &[("idle", 15), ("system", 1)]);
        spend(&mut second, &[("idle", 15), ("system", 4)]);
        second.document.host.after.as_mut().unwrap().uptime_s = Some(2.62);
        assert!(busy(&Overview::new(&first)).is_some_and(|percent| percent < 7.0));
        assert_eq!(busy(&Overview::new(&second)), None);
    }

    /// It was the mean of all CPUs, beside a caveat of one of them.
    #[test]
    fn steal_time_between_groups_is_that_of_their_caveats() {
        let (mut first, mut second) =
            (Synthetic::hackbench().build(), Synthetic::hackbench().build());
        spend(&mut first, &[("user", 700), ("idle", 300)]);
        spend(&mut second, &[("user", 700), ("idle", 300)]);
        let after = second.document.host.after.as_mut().unwrap();
        let times = &mut after.cpus[1].time_ms;
        *times.get_mut("steal").unwrap() += 50_000;
        *times.get_mut("idle").unwrap() -= 20_000;
        let of = |recorded: &Recorded| collect(&Overview::new(recorded)).join("; ");
        assert!(of(&second).contains("steal time 38.5 % (50.0 s) on CPU 1"), "{}", of(&second));
        let apart = |first: &Recorded, second: &Recorded| -> Vec<String> {
            let between = between(&[Overview::new(first), Overview::new(second)], 1);
            between.iter().map(Apart::in_words).collect()
        };
        assert_eq!(
            apart(&first, &second)[0],
            "steal time of the measured CPU with most of it: 38.5 % against 0 %"
        );
        // The table of a page says the same of it.
        let table = crate::sections::activity::all(&[Overview::new(&second)]);
        let row = table[0].rows.iter().find(|row| row.name == "steal").unwrap();
        let cell = &row.cells[0];
        assert_eq!((cell.figure.as_str(), cell.beside.as_str()), ("38.5 %", "50.0 s on CPU 1"));
        // What was taken from a CPU that nobody measured delayed nothing that was.
        second.document.threads.retain(|thread| thread.cpu == plan::CpuId(0));
        assert!(!of(&second).contains("steal"), "{}", of(&second));
        assert!(apart(&first, &second).iter().all(|text| !text.contains("steal")));
    }
}
