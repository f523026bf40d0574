// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the figures of a recording must not be read without, each in one line: what is wrong with
//! the run, what else the machine did, and what kind of time it is.
//!
//! Computed from the two snapshots of the machine where it can be, as a shorter phrase than that of
//! the recording's warning.

use crate::alike::grouped;
use crate::format::{self, at_most, capitalised, count, counted, latency, list};
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::ending::cut_short;
use crate::sections::loads;
use crate::sections::rows::Rows;
use crate::sections::time_kind::TimeKind;
use crate::sections::{co_kernel, imported};
use judge::Incomplete;
use model::{
    BusyCpu, Document, LoadEvidence, Recorded, StolenTime, TakenBy, Thread, Warning, changes,
};
use plan::{CpuId, CpuList};
use std::collections::BTreeSet;

/// Checks that are named in one line; the warnings have all of them.
const MAX_CHECKS: usize = 2;

/// How bad it is for the figures, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// They are not those of the run that was asked for.
    Bad,
    /// Something else is in them.
    Caution,
    /// It is what they are.
    Note,
}

impl Severity {
    /// The class of a page's style.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Severity::Bad => "bad",
            Severity::Caution => "caution",
            Severity::Note => "note",
        }
    }

    /// For those who see no colours.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Severity::Bad => "✗",
            Severity::Caution => "!",
            Severity::Note => "·",
        }
    }
}

/// What kind of thing it is, what weighs most first; of each kind a reader needs the worst only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CaveatKind {
    Contradicts,
    CutShort,
    SamplesLost,
    Incomplete,
    NothingMeasured,
    RightsDenied,
    LowerPriority,
    Unresponsive,
    LoadOffTarget,
    LoadsElsewhere,
    Steal,
    OtherWork,
    Clocksource,
    CpusOnline,
    LoadNotSettled,
    SetUpBadly,
    UnitAssumed,
    HostsClock,
    MeasuredElsewhere,
    NotedByOutput,
    OrdinaryScheduling,
    CoKernel,
    VirtualTime,
    ProgramEnded,
}

impl CaveatKind {
    pub(crate) fn severity(self) -> Severity {
        if self <= CaveatKind::LoadOffTarget {
            Severity::Bad
        } else if self <= CaveatKind::HostsClock {
            Severity::Caution
        } else {
            Severity::Note
        }
    }

    /// Whether what it is called in short says how much there was of it.
    pub(crate) const fn has_share(self) -> bool {
        matches!(self, CaveatKind::Steal | CaveatKind::OtherWork)
    }

    /// Whether it says what the ns of the lab are.
    pub(crate) const fn is_of_time(self) -> bool {
        matches!(self, CaveatKind::HostsClock | CaveatKind::VirtualTime)
    }
}

/// A caveat as it stands below a headline: one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Banner {
    pub(crate) kind: CaveatKind,
    pub(crate) text: String,
}

impl Banner {
    /// A phrase as a line; what comes from outside cannot break it.
    pub(crate) fn new(kind: CaveatKind, phrase: &str) -> Banner {
        Banner { kind, text: capitalised(phrase).replace(char::is_control, " ") }
    }

    pub(crate) fn severity(&self) -> Severity {
        self.kind.severity()
    }
}

/// One thing that the figures must not be read without.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Caveat {
    pub(crate) kind: CaveatKind,
    /// What the worst of its kind is known by, where it has a size: percent of a CPU, samples, ns.
    size: f64,
    /// A phrase: `steal time 26.3 % (2.63 s) on CPU 1`.
    pub(crate) phrase: String,
    /// A few letters for a table, `steal 26.3 %`; empty of what stands in none.
    pub(crate) short: String,
}

impl Caveat {
    const fn new(kind: CaveatKind, phrase: String, short: String) -> Caveat {
        Caveat { kind, size: 0.0, phrase, short }
    }

    #[expect(clippy::cast_precision_loss, reason = "compared with others of its kind")]
    fn of_size(self, size: u64) -> Caveat {
        Caveat { size: size as f64, ..self }
    }

    /// What no table has a column for.
    pub(crate) const fn in_full(kind: CaveatKind, phrase: String) -> Caveat {
        Caveat::new(kind, phrase, String::new())
    }
}

/// What else the machine did during a run, each kind once.
pub(crate) fn collect(document: &Document) -> Vec<Caveat> {
    let not_settled = document
        .warnings
        .iter()
        .any(|warning| matches!(warning, Warning::LoadNotSettled { .. }))
        .then(|| {
            let phrase = tr!(load_not_steady_when);
            Caveat::new(CaveatKind::LoadNotSettled, phrase, tr!(load_not_steady))
        });
    let of_the_run = unresponsive(document).into_iter().chain(loads_elsewhere(document));
    let unit = imported::unit_assumed(document)
        .map(|phrase| Caveat::new(CaveatKind::UnitAssumed, phrase, tr!(unit_assumed_in_short)));
    of_the_run.chain(of_machine(document)).chain(not_settled).chain(unit).collect()
}

/// Threads that something kept from their CPUs until the run was ended without them.
fn unresponsive(document: &Document) -> Option<Caveat> {
    let threads: Vec<&Thread> =
        document.threads.iter().filter(|thread| thread.given_up_ns.is_some()).collect();
    let numbers: Vec<String> = threads.iter().map(|thread| thread.index.to_string()).collect();
    let waited = threads
        .iter()
        .filter_map(|thread| thread.latency_with_skipped_ns)
        .map(|summary| summary.max)
        .max()?;
    let phrase = tr!(
        thread_threads_kept_off,
        threads = list(&numbers),
        rows = Rows::from(document.probe.rows).plural(),
        time = at_most(waited)
    );
    let size = waited.unsigned_abs();
    Some(Caveat::new(CaveatKind::Unresponsive, phrase, tr!(thread_kept_off_cpu)).of_size(size))
}

/// Measured CPUs that no load ran on. Where the CPUs of all loads were named, that was meant, and
/// there is no such warning.
fn loads_elsewhere(document: &Document) -> Option<Caveat> {
    document.warnings.iter().find(|warning| matches!(warning, Warning::LoadsElsewhere { .. }))?;
    let loaded = |cpu: CpuId| document.load.iter().any(|load| load.cpus.contains(&cpu));
    let bare: BTreeSet<CpuId> =
        document.threads.iter().map(|thread| thread.cpu).filter(|cpu| !loaded(*cpu)).collect();
    if document.load.is_empty() || bare.is_empty() {
        return None;
    }
    let cpus = CpuList::format(&bare.into_iter().collect::<Vec<_>>());
    let phrase = tr!(no_load_on_measured, cpus);
    Some(Caveat::new(CaveatKind::LoadsElsewhere, phrase, tr!(no_load_on_cpu, cpus)))
}

/// The caveats found in the two snapshots of the machine.
fn of_machine(document: &Document) -> Vec<Caveat> {
    // It made nothing of times that were taken elsewhere.
    let Some(after) = document
        .host
        .after
        .as_ref()
        .filter(|_| document.probe.taken_by() != TakenBy::AnotherMachine)
    else {
        return Vec::new();
    };
    let before = &document.host.before;
    let found = changes(before, after);
    let fact = |name: &str| found.facts.iter().find(|fact| fact.cpu.is_none() && fact.name == name);
    let clocksource =
        fact("clocksource").filter(|_| before.clocksource.is_some() && after.clocksource.is_some());
    let online = fact("cpus").filter(|_| !before.cpus.is_empty() && !after.cpus.is_empty());
    let all = [
        steal(document),
        other_work(document),
        clocksource.map(|fact| {
            let phrase = tr!(clocksource_changed_from, was = fact.before, is = fact.after);
            Caveat::new(CaveatKind::Clocksource, phrase, tr!(clocksource_changed))
        }),
        online.map(|fact| {
            let phrase = tr!(cpus_online_changed_from, was = fact.before, is = fact.after);
            Caveat::new(CaveatKind::CpusOnline, phrase, tr!(cpus_changed))
        }),
    ];
    all.into_iter().flatten().collect()
}

/// The hypervisor ran something else on CPUs that were measured.
fn steal(document: &Document) -> Option<Caveat> {
    let (stolen, most) = document.steal_at_worst()?;
    let (time, percent) = (time_stolen(&stolen), format::share(stolen.percent()));
    let (cpu, size) = (stolen.cpu, most.unwrap_or(stolen).percent());
    let (phrase, short) = if let Some(most) = most {
        let (other, most, time_there) = (most.cpu, format::share(size), time_stolen(&most));
        if stolen.stolen_ms == 0 {
            (
                tr!(steal_time_elsewhere, most, time = time_there, other, cpu),
                tr!(steal_percent_elsewhere, most),
            )
        } else {
            (
                tr!(steal_time_at_worst, percent, time, cpu, most, other),
                tr!(steal_percent_at_worst, percent, most, other),
            )
        }
    } else {
        (tr!(steal_time_percent_time, percent, time, cpu), tr!(steal_percent, percent))
    };
    Some(Caveat { kind: CaveatKind::Steal, size, phrase, short })
}

fn other_work(document: &Document) -> Option<Caveat> {
    let other = document.other_work()?;
    let size = other.summed_percent();
    let percent = format::share(size);
    let worst = document.cpu_of_worst_latency();
    let (at_worst, others): (Vec<&BusyCpu>, Vec<&BusyCpu>) =
        other.cpus.iter().partition(|busy| Some(busy.cpu) == worst);
    let here = at_worst.first().map(|busy| format::share(busy.percent));
    let most = format::share(others.iter().map(|busy| busy.percent).fold(0.0, f64::max));
    let n = others.len();
    let phrase = match (others.as_slice(), worst, here) {
        ([busy], None, _) => tr!(other_work_used_percent, cpu = busy.cpu, percent = most),
        ([], Some(cpu), Some(percent)) => tr!(other_work_used_percent, cpu, percent),
        // Under a load it is not known which CPUs it used.
        ([], ..) | (_, None, _) => tr!(other_work_used_in_all, percent),
        ([busy], Some(cpu), None) => tr!(little_other_work_at_worst, cpu, most, other = busy.cpu),
        (_, Some(cpu), None) => tr!(little_other_work_at_worst_and_others, cpu, most, n),
        ([busy], Some(cpu), Some(here)) => {
            tr!(other_work_at_worst, cpu, here, most, other = busy.cpu)
        }
        (_, Some(cpu), Some(here)) => tr!(other_work_at_worst_and_others, cpu, here, most, n),
    };
    Some(Caveat {
        kind: CaveatKind::OtherWork,
        size,
        phrase,
        short: tr!(other_work_percent, percent),
    })
}

pub(crate) fn time_stolen(stolen: &StolenTime) -> String {
    latency(i64::try_from(stolen.stolen_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000))
}

/// Real-time scheduling that was asked for and not granted: `SCHED_OTHER instead of SCHED_FIFO 90`.
pub(crate) fn denied(document: &Document) -> Option<String> {
    let asked = document.run.scheduling;
    if document.probe.taken_by() != TakenBy::OwnThreads || !asked.policy.is_real_time() {
        return None;
    }
    let granted = document.threads.iter().find(|thread| !thread.scheduling.policy.is_real_time());
    match granted.map(Thread::granted) {
        Some(granted) => Some(tr!(granted_instead_of_asked, granted, asked)),
        None if !document.instrument.real_time && lower_priority(document).is_none() => {
            Some(tr!(ordinary_scheduling_instead_asked, asked))
        }
        None => None,
    }
}

/// A real-time priority below the one asked for: `SCHED_FIFO 20 instead of SCHED_FIFO 90`.
pub(crate) fn lower_priority(document: &Document) -> Option<String> {
    let asked = document.run.scheduling;
    let lower = document.threads.iter().filter(|thread| thread.scheduling.is_below(asked));
    let lower = lower.min_by_key(|thread| thread.scheduling.prio)?;
    (document.probe.taken_by() == TakenBy::OwnThreads)
        .then(|| tr!(granted_instead_of_asked, granted = lower.granted(), asked))
}

/// Ordinary scheduling that was asked for: no fault, but no real-time figure either.
pub(crate) fn ordinary(document: &Document) -> Option<String> {
    let asked = document.run.scheduling;
    let granted = || document.threads.first().map_or_else(|| asked.to_string(), Thread::granted);
    (!asked.policy.is_real_time() && document.probe.taken_by() == TakenBy::OwnThreads).then(granted)
}

/// The same as a caveat of figures that say nothing else of it.
pub(crate) fn of_ordinary(document: &Document) -> Option<Caveat> {
    ordinary(document).map(|policy| {
        let phrase = tr!(ordinary_scheduling_policy, policy);
        Caveat::in_full(CaveatKind::OrdinaryScheduling, phrase)
    })
}

/// What is wrong with the run itself, as far as its document says it, and that so many samples were
/// lost.
fn faults_of_run(document: &Document, lost: u64) -> Vec<Caveat> {
    let all = [
        denied(document).map(|how| {
            let phrase = tr!(no_real_time_rights_how, how);
            Caveat::new(CaveatKind::RightsDenied, phrase, tr!(no_real_time_rights))
        }),
        lower_priority(document).map(|how| {
            let phrase = tr!(lower_priority_how, how);
            Caveat::new(CaveatKind::LowerPriority, phrase, tr!(lower_priority_in_short))
        }),
        cut_short(document).map(|how| Caveat::new(CaveatKind::CutShort, how, tr!(cut_short))),
        of_lost_samples(lost),
        loads::all_off_target(document).map(|which| {
            let phrase = tr!(load_off_target_which, which);
            let off = document.load.iter().filter(|load| load.off_target).filter_map(points_off);
            let size = off.fold(0.0, f64::max);
            Caveat { size, ..Caveat::new(CaveatKind::LoadOffTarget, phrase, tr!(load_off_target)) }
        }),
    ];
    all.into_iter().flatten().collect()
}

/// How far a load was off the level asked for where it was farthest, percent of a CPU.
fn points_off(load: &LoadEvidence) -> Option<f64> {
    let (reached, _) = load.farthest_off()?;
    Some((reached - load.requested?).abs())
}

/// Samples that were lost of a run, or of all runs of a combination.
pub(crate) fn of_lost_samples(lost: u64) -> Option<Caveat> {
    (lost > 0).then(|| {
        let phrase = incomplete_reason(Incomplete::SamplesLost(lost));
        Caveat::new(CaveatKind::SamplesLost, phrase, tr!(samples_lost)).of_size(lost)
    })
}

/// What is wrong with the run, with its samples, or with what was followed.
pub(crate) fn faults(recorded: &Recorded) -> Vec<Caveat> {
    // What was missed is said already.
    let contradicts =
        !recorded.document.load_off_target && !model::contradictions(recorded).is_empty();
    let reason = match judge::incomplete(recorded) {
        // Said by its own caveat.
        None
        | Some(
            Incomplete::EndedEarly
            | Incomplete::SamplesLost(_)
            | Incomplete::LoadOffTarget
            | Incomplete::Contradicts,
        ) => None,
        Some(why) => {
            Some(Caveat::new(CaveatKind::Incomplete, incomplete_reason(why), tr!(incomplete)))
        }
    };
    let contradicts = contradicts.then(|| {
        let phrase = incomplete_reason(Incomplete::Contradicts);
        Caveat::new(CaveatKind::Contradicts, phrase, tr!(contradicts_samples))
    });
    let of_samples = contradicts.into_iter().chain(reason);
    let of_run = faults_of_run(&recorded.document, judge::samples_lost(recorded));
    of_run.into_iter().chain(of_samples).collect()
}

/// What is bad about how the machine was set up.
pub(crate) fn set_up_badly(document: &Document) -> Option<Caveat> {
    let check = |warning: &Warning| match warning {
        Warning::MachineCheck { check, .. } => Some(check.clone()),
        _ => None,
    };
    let mut checks: Vec<String> = document.warnings.iter().filter_map(check).collect();
    // What ran before the threads is in their figures.
    checks.sort_by_key(|check| check != "threads-above");
    let further = checks.len().saturating_sub(MAX_CHECKS);
    checks.truncate(MAX_CHECKS);
    checks.extend((further > 0).then(|| tr!(n_more, n = further)));
    let phrase = || tr!(bad_for_latency_checks, checks = list(&checks));
    (!checks.is_empty()).then(|| Caveat::in_full(CaveatKind::SetUpBadly, phrase()))
}

/// What the ns are, where they are not a machine's.
pub(crate) fn of_time(kind: TimeKind) -> Option<(CaveatKind, String)> {
    match kind {
        TimeKind::Machine => None,
        TimeKind::Virtual => Some((CaveatKind::VirtualTime, tr!(virtual_time_counts_instructions))),
        TimeKind::Emulated => Some((CaveatKind::HostsClock, tr!(emulated_on_hosts_clock_so))),
    }
}

/// That figures were measured elsewhere, in short by which program, and what its output notes.
pub(crate) fn of_source(document: &Document) -> impl Iterator<Item = Caveat> {
    let elsewhere = (document.probe.taken_by() == TakenBy::AnotherMachine).then(|| {
        let of_another = imported::caveat(document);
        let phrase = of_another.unwrap_or_else(|| tr!(measured_elsewhere_this_machine));
        let program = document.imported.as_ref().map(|one| imported::program(document, one));
        Caveat::new(CaveatKind::MeasuredElsewhere, phrase, program.unwrap_or_default())
    });
    let noted = imported::note(document);
    let noted = noted.map(|note| Caveat::in_full(CaveatKind::NotedByOutput, note));
    elsewhere.into_iter().chain(noted)
}

/// What the figures are, where they are not those of real-time threads of a machine.
fn nature(document: &Document) -> Vec<Caveat> {
    let of_lab = of_time(TimeKind::from_document(document));
    let ordinary = ordinary(document)
        .map(|policy| (CaveatKind::OrdinaryScheduling, tr!(ordinary_scheduling_requested, policy)));
    let core = co_kernel::of(document).and_then(co_kernel::effect);
    let core = core.map(|effect| (CaveatKind::CoKernel, effect));
    let all = [of_lab, ordinary, core, program_ended(document)].into_iter().flatten();
    let all = all.map(|(kind, phrase)| Caveat::in_full(kind, phrase));
    all.chain(of_source(document)).collect()
}

/// A program that did all that it was to do before the default length of a run was over.
fn program_ended(document: &Document) -> Option<(CaveatKind, String)> {
    let fact = document.warnings.iter().find(|warning| warning.is_a_fact())?;
    let Warning::ProgramEnded { after_ns, .. } = fact else { return None };
    let phrase = tr!(program_ended_by_itself, after = latency(after_ns.0));
    Some((CaveatKind::ProgramEnded, phrase))
}

/// All that a recording's figures must not be read without, each kind once, the worst first.
fn all_of(overview: &Overview<'_>) -> Vec<Caveat> {
    let document = overview.document();
    let mut all = faults(overview.recorded);
    all.extend(collect(document));
    all.extend(set_up_badly(document));
    all.extend(nature(document));
    all.sort_by_key(|caveat| caveat.kind);
    all
}

/// What a single run must not be read without, in a few letters each.
pub(crate) fn in_short(document: &Document) -> Vec<String> {
    let lost = document.threads.iter().map(|thread| thread.evidence.samples_lost);
    let lost = lost.fold(0, u64::saturating_add);
    let mut all: Vec<Caveat> =
        faults_of_run(document, lost).into_iter().chain(collect(document)).collect();
    all.sort_by_key(|caveat| caveat.kind);
    all.into_iter().map(|caveat| caveat.short).collect()
}

/// The same in full, as a plan's table for programs has it of its combinations. That a load was off
/// target has a column of its own.
pub(crate) fn phrases(recorded: &Recorded) -> Vec<String> {
    let document = &recorded.document;
    let faults = faults(recorded).into_iter().chain(collect(document)).chain(of_ordinary(document));
    let mut all: Vec<Caveat> =
        faults.filter(|caveat| caveat.kind != CaveatKind::LoadOffTarget).collect();
    all.sort_by_key(|caveat| caveat.kind);
    all.into_iter().map(|caveat| caveat.phrase).collect()
}

/// Adds those of one more run: of each kind, the worst stays.
pub(crate) fn merge(all: &mut Vec<Caveat>, more: Vec<Caveat>) {
    for caveat in more {
        match all.iter_mut().find(|known| known.kind == caveat.kind) {
            Some(known) if known.size < caveat.size => *known = caveat,
            Some(_) => {}
            None => all.push(caveat),
        }
    }
    all.sort_by_key(|caveat| caveat.kind);
}

/// Of recordings each kind of caveat once, the worst kind first: the worst of its kind, behind the
/// recordings that have it, unless it is the same of all.
pub(crate) fn banners(all: &[Overview<'_>]) -> Vec<Banner> {
    // Of one recording the headline says it.
    let silent = |overview: &Overview<'_>| {
        (all.len() > 1 && overview.totals.moments.max().is_none())
            .then(|| Caveat::in_full(CaveatKind::NothingMeasured, tr!(nothing_was_measured)))
    };
    let each = all.iter().flat_map(|overview| {
        all_of(overview).into_iter().chain(silent(overview)).map(|caveat| {
            // Figures may be of several natures, none of which is the worst.
            let is_note = caveat.kind.severity() == Severity::Note;
            let nature = is_note.then(|| caveat.phrase.clone());
            ((caveat.kind, nature), (overview.name.as_str(), caveat))
        })
    });
    let mut kinds = grouped(each);
    kinds.sort_by_key(|((kind, _), _)| *kind);
    kinds.into_iter().filter_map(|(_, having)| in_one_line(having, all.len())).collect()
}

/// The worst of one kind, which these of so many recordings have.
fn in_one_line(having: Vec<(&str, Caveat)>, recordings: usize) -> Option<Banner> {
    let is_one = having.iter().all(|(_, caveat)| caveat.phrase == having[0].1.phrase);
    let is_of_all = is_one && having.len() == recordings;
    let names: Vec<&str> = having.iter().map(|(name, _)| *name).collect();
    let n = count(names.len() as u64);
    let (name, worst) =
        having.into_iter().reduce(|a, b| if b.1.size > a.1.size { b } else { a })?;
    let recording = match (names.as_slice(), is_one) {
        ([_] | [_, _], true) => list(&names),
        ([_, more @ ..], true) => tr!(first_and_n_more_recordings, first = name, n = more.len()),
        _ if worst.size > 0.0 => tr!(worst_of_n_such_recordings, name, n),
        _ => tr!(one_of_n_such_recordings, name, n),
    };
    Some(if is_of_all {
        Banner::new(worst.kind, &worst.phrase)
    } else {
        let text = tr!(recording_why, recording, why = worst.phrase);
        Banner { kind: worst.kind, text: text.replace(char::is_control, " ") }
    })
}

/// What kind that is of.
pub(crate) const fn kind_of_incomplete(why: Incomplete) -> CaveatKind {
    match why {
        Incomplete::EndedEarly => CaveatKind::CutShort,
        Incomplete::SamplesLost(_) => CaveatKind::SamplesLost,
        Incomplete::LoadOffTarget => CaveatKind::LoadOffTarget,
        Incomplete::Contradicts => CaveatKind::Contradicts,
        _ => CaveatKind::Incomplete,
    }
}

/// Why a recording does not show all that it should have.
pub(crate) fn incomplete_reason(why: Incomplete) -> String {
    match why {
        Incomplete::EndedEarly => tr!(run_ended_early_rest),
        Incomplete::SamplesLost(lost) => {
            tr!(samples_lost_unknown_latencies, samples = counted(lost, texts::n_samples))
        }
        Incomplete::TraceLost(lost) => {
            tr!(events_kernels_trace_lost, events = counted(lost, texts::n_events))
        }
        Incomplete::StreamOffPeriod => {
            tr!(streams_intervals_not_those)
        }
        Incomplete::StreamBroken => tr!(parts_stream_missing_could),
        Incomplete::ProgramFailed => tr!(program_measured_crashed_failed),
        Incomplete::FellBack => tr!(threads_co_kernel_ran),
        Incomplete::LoadOffTarget => tr!(load_off_target_2),
        Incomplete::Contradicts => {
            tr!(run_json_contradicts_samples_teiji)
        }
        Incomplete::PeriodsMissed => tr!(periods_stream_have_no_record),
    }
}

#[cfg(test)]
#[path = "caveats_tests.rs"]
mod tests;
