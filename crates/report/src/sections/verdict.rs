// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one line for a reader with ten seconds: the worst latency, the load, and the caveats.

use crate::format;
use crate::format::list;
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::accounts;
use crate::sections::caveats;
use crate::sections::jitter::{self, Spread};
use crate::sections::lab;
use crate::sections::missed;
use model::End;
use plan::{Length, Nanos, Unit};
use std::collections::BTreeSet;

/// More recordings than this are not listed one by one.
const MAX_LISTED: usize = 3;

/// One line: what the figures must not be read without, then the figures.
pub(crate) fn verdict(all: &[Overview<'_>]) -> String {
    sentences(all, lab::in_short(all).unwrap_or_default())
}

/// The same, where it stands elsewhere what the ns are.
pub(crate) fn without_lab(all: &[Overview<'_>]) -> String {
    sentences(all, "")
}

/// What the figures must not be read without, where they do not stand in one line: in sentences, or
/// empty.
pub(crate) fn caveats_alone(all: &[Overview<'_>]) -> String {
    let conditions = capitalised(conditions(all).trim_end_matches([':', ' ']));
    let conditions = (!conditions.is_empty()).then(|| conditions + texts::full_stop.said());
    let sentences: Vec<String> = caveats_of(all).into_iter().chain(conditions).collect();
    sentences.join(" ").replace(char::is_control, " ")
}

fn caveats_of(all: &[Overview<'_>]) -> Vec<String> {
    let mut sentences = cut_short(all);
    sentences.extend(lost(all));
    sentences.extend(load_off_target(all));
    sentences.extend(contradicting(all));
    sentences
}

fn sentences(all: &[Overview<'_>], lab: &str) -> String {
    let mut sentences = caveats_of(all);
    sentences.push(capitalised(&(conditions(all) + lab + &figures(all))));
    // A title or an error message from outside may hold anything; a verdict is one line.
    sentences.join(" ").replace(char::is_control, " ")
}

/// How each recording is named: by its load where loads differ, otherwise by its name.
pub(crate) fn labels(all: &[Overview<'_>]) -> Vec<String> {
    let conditions: Vec<String> = all.iter().map(Overview::condition).collect();
    let distinct: BTreeSet<&String> = conditions.iter().collect();
    if distinct.len() == all.len() {
        conditions
    } else {
        all.iter().map(|overview| tr!(in_name, name = overview.name)).collect()
    }
}

pub(crate) fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `No real-time rights (...); steal time 26.3 % (2.63 s) on CPU 1: `; empty where nothing is
/// amiss.
fn conditions(all: &[Overview<'_>]) -> String {
    let documents: Vec<_> =
        all.iter().map(|overview| (overview.name.as_str(), overview.document())).collect();
    let phrases: Vec<String> =
        rights(all).into_iter().chain(caveats::phrases(&documents)).collect();
    if phrases.is_empty() {
        String::new()
    } else {
        tr!(before_conditions, conditions = phrases.join(texts::semicolon.said()))
    }
}

fn rights(all: &[Overview<'_>]) -> Option<String> {
    let denied: Vec<(&Overview<'_>, String)> =
        all.iter().filter_map(|o| o.no_real_time().map(|how| (o, how))).collect();
    if let Some((_, how)) = denied.first() {
        if denied.len() == all.len() {
            return Some(tr!(no_real_time_rights_how, how));
        }
        let names: Vec<&str> = denied.iter().map(|(overview, _)| overview.name.as_str()).collect();
        return Some(tr!(no_real_time_rights_in, names = list(&names), how));
    }
    let lower: Vec<(&Overview<'_>, String)> =
        all.iter().filter_map(|o| o.lower_priority().map(|how| (o, how))).collect();
    if let Some((_, how)) = lower.first() {
        if lower.len() == all.len() {
            return Some(tr!(lower_priority_how, how));
        }
        let names: Vec<&str> = lower.iter().map(|(overview, _)| overview.name.as_str()).collect();
        return Some(tr!(lower_priority_in, names = list(&names), how));
    }
    let policy = all.iter().find_map(Overview::ordinary)?;
    all.iter()
        .all(|overview| overview.ordinary().is_some())
        .then(|| tr!(ordinary_scheduling_policy, policy))
}

fn figures(all: &[Overview<'_>]) -> String {
    if !all.is_empty() && all.iter().all(jitter::is_judged) {
        return jitters(all);
    }
    let labels = labels(all);
    let mut maxima: Vec<(i64, &str)> = all
        .iter()
        .zip(&labels)
        .filter_map(|(overview, label)| Some((overview.totals.due_moments.max()?, label.as_str())))
        .collect();
    maxima.sort_by_key(|(max, _)| std::cmp::Reverse(*max));
    let Some(((worst, label), others)) = maxima.split_first() else {
        return if all.is_empty() { tr!(no_recording_was_given) } else { nothing_measured(all) };
    };
    let mut phrases = vec![tr!(late_label, late = late(*worst), label)];
    if all.len() > MAX_LISTED {
        phrases[0] += &tr!(worst_n_recordings, n = format::count(all.len() as u64));
        phrases.extend(
            others
                .last()
                .map(|(max, label)| tr!(max_label_the_best, max = format::latency(*max), label)),
        );
    } else {
        phrases.extend(
            others.iter().map(|(max, label)| tr!(max_label, max = format::latency(*max), label)),
        );
    }
    let silent = silent(all);
    let silent = silent.map_or_else(String::new, |names| tr!(no_latency_measured_in, names));
    tr!(
        worst_latency_phrases_silent,
        phrases = phrases.join(texts::comma.said()),
        silent,
        on_time = rows_in_words(all)
    )
}

/// How many rows there were, and how many periods that have none.
fn rows_in_words(all: &[Overview<'_>]) -> String {
    accounts::in_words(all.iter().map(|overview| overview.totals.activations))
        + &missed::in_words(all)
}

/// Where events are recorded only above a threshold, in windows, none of them is a finding.
fn nothing_measured(all: &[Overview<'_>]) -> String {
    let mut found: Vec<String> = all.iter().filter_map(no_gap).collect();
    found.dedup();
    if found.len() == 1 && all.iter().all(|overview| no_gap(overview).is_some()) {
        return found.remove(0);
    }
    tr!(no_latency_measured)
}

/// `no gap above 10us was found in 5 windows of 1s.` How many of a run that ended early is not
/// said.
fn no_gap(overview: &Overview<'_>) -> Option<String> {
    let document = overview.document();
    let settings = &document.run.probe_settings;
    let set = |ending: &str| {
        settings.iter().find(|(name, _)| name.ends_with(ending)).map(|(_, value)| value.as_str())
    };
    let (threshold, window) = (set("-threshold")?, set("-window")?);
    let window_ns = Nanos::parse(window, Unit::Microsecond).ok()?.0.max(1);
    match (&document.end, document.run.length) {
        (Some(End::Done), Length::DurationNs(length)) => {
            let windows = format::count((length.0 / window_ns).unsigned_abs());
            Some(tr!(no_gap_above_threshold_found, threshold, windows, window))
        }
        _ => Some(tr!(no_gap_above_threshold, threshold)),
    }
}

/// The spread of intervals, the widest first.
fn jitters(all: &[Overview<'_>]) -> String {
    let labels = labels(all);
    let mut spreads: Vec<(Spread, &str)> = all
        .iter()
        .zip(&labels)
        .filter_map(|(overview, label)| Some((Spread::from_overview(overview)?, label.as_str())))
        .collect();
    spreads.sort_by_key(|(spread, _)| std::cmp::Reverse(spread.peak_to_peak_ns));
    if spreads.is_empty() {
        return tr!(no_interval_was_measured);
    }
    let in_words =
        |(spread, label): &(Spread, &str)| tr!(spread_label, spread = spread.in_words(), label);
    let mut phrases: Vec<String> = spreads.iter().take(MAX_LISTED).map(in_words).collect();
    if spreads.len() > MAX_LISTED {
        phrases.push(tr!(and_n_more, n = format::count((spreads.len() - MAX_LISTED) as u64)));
    }
    let silent = silent(all);
    let silent = silent.map_or_else(String::new, |names| tr!(no_interval_measured_in, names));
    tr!(
        jitter_phrases_silent_on_time,
        phrases = phrases.join(texts::semicolon.said()),
        silent,
        on_time = rows_in_words(all)
    )
}

/// The recordings in which nothing was measured.
fn silent(all: &[Overview<'_>]) -> Option<String> {
    let is_silent = |one: &&Overview<'_>| one.totals.moments.max().is_none();
    let names: Vec<&str> = all.iter().filter(is_silent).map(|one| one.name.as_str()).collect();
    (!names.is_empty()).then(|| list(&names))
}

/// `1.24 ms`; a latency below 0 is early.
fn late(max: i64) -> String {
    if max < 0 { tr!(time_early, time = format::latency(-max)) } else { format::latency(max) }
}

/// One sentence for each recording that holds less than was asked for.
fn cut_short(all: &[Overview<'_>]) -> Vec<String> {
    let subject = |overview: &Overview<'_>| {
        if all.len() == 1 { tr!(the_recording) } else { overview.name.clone() }
    };
    all.iter()
        .filter_map(|overview| {
            overview.cut_short().map(|how| tr!(recording_how, recording = subject(overview), how))
        })
        .collect()
}

fn lost(all: &[Overview<'_>]) -> Option<String> {
    let sum: u64 = all.iter().map(|overview| overview.totals.lost).sum();
    (sum > 0).then(|| tr!(samples_lost_unknown, samples = format::counted(sum, texts::n_samples)))
}

/// One sentence for each recording whose figures were changed after they had been taken.
fn contradicting(all: &[Overview<'_>]) -> Vec<String> {
    // What was lost or missed is said already, and is no contradiction.
    let is_whole = |overview: &&Overview<'_>| {
        overview.totals.lost == 0 && !overview.document().load_off_target
    };
    let contradicts =
        all.iter().filter(is_whole).filter(|one| !model::contradictions(one.recorded).is_empty());
    let sentence = |overview: &Overview<'_>| {
        let name = if all.len() == 1 {
            "run.json".to_owned()
        } else {
            format!("{}/run.json", overview.name)
        };
        tr!(name_contradicts_samples_teiji, name)
    };
    contradicts.map(sentence).collect()
}

/// One sentence for each recording whose load was not the one asked for, with the name that
/// `run.json` has for it.
fn load_off_target(all: &[Overview<'_>]) -> Vec<String> {
    let of = |overview: &Overview<'_>| {
        if all.len() == 1 { String::new() } else { tr!(in_name_after, name = overview.name) }
    };
    let sentence = |overview: &Overview<'_>, which: String| {
        tr!(load_off_target_load_off_target, of = of(overview), which)
    };
    all.iter()
        .filter_map(|overview| overview.load_off_target().map(|which| sentence(overview, which)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use model::{End, Recorded, State};

    fn output(recordings: &[Recorded]) -> String {
        verdict(&Overview::all(recordings))
    }

    const IDLE: &[i32] = &[10_000, 83_449];

    #[test]
    fn one_figure_for_each_load() {
        let idle = Synthetic::idle().samples(IDLE).build();
        let busy = Synthetic::hackbench().samples(&[20_000, 2_239_001, 0, 0, 9_000]).build();
        assert_eq!(
            output(&[idle.clone(), busy]),
            "Steal time 1.0 % (10.0 ms) on CPU 0 in hackbench; clocksource changed from tsc to \
             hpet in hackbench: worst latency 2.24 ms under hackbench, 83.4 µs with no load \
             added. 8 of 14 activations on time, 2 late, 4 skipped."
        );
        assert_eq!(
            output(&[idle]),
            "Worst latency 83.4 µs with no load added. 4 of 4 activations on time."
        );
    }

    /// Of a tracer that prints only gaps, nothing printed is what was found. It says nothing of
    /// windows that there were not.
    #[test]
    fn no_gap_is_a_finding() {
        let mut recorded = Synthetic::idle().samples(&[]).threads(1).build();
        assert!(output(std::slice::from_ref(&recorded)).ends_with("o latency was measured."));
        let settings =
            [("hwlat-threshold", "10us"), ("hwlat-window", "1s"), ("hwlat-width", "500ms")];
        recorded.document.run.probe_settings = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        recorded.document.run.length = Length::DurationNs(Nanos::from_millis(5_500));
        recorded.document.end = Some(End::Done);
        let text = output(std::slice::from_ref(&recorded));
        assert!(text.ends_with("o gap above 10us was found in 5 windows of 1s."), "{text}");
        recorded.document.end = None;
        let text = output(std::slice::from_ref(&recorded));
        assert!(text.ends_with("o gap above 10us was found."), "{text}");
    }

    #[test]
    fn recordings_with_equal_loads_go_by_their_names() {
        let named = |title: &str, worst: i32| {
            Synthetic::idle().title(title).samples(&[worst]).threads(1).build()
        };
        assert_eq!(
            output(&[named("vanilla", 4_000), named("rt", 3_000)]),
            "Worst latency 4.00 µs in vanilla, 3.00 µs in rt. 2 of 2 activations on time."
        );
        let many: Vec<Recorded> = (1..=5).map(|n| named(&format!("run {n}"), n * 1_000)).collect();
        assert_eq!(
            output(&many),
            "Worst latency 5.00 µs in run 5 (the worst of 5 recordings), 1.00 µs in run 1 (the \
             best). 5 of 5 activations on time."
        );
    }

    #[test]
    fn no_real_time_rights_come_first() {
        let mut recorded = Synthetic::idle().samples(IDLE).build();
        recorded.document.instrument.real_time = false;
        recorded
            .document
            .threads
            .iter_mut()
            .for_each(|thread| thread.scheduling = plan::Scheduling::OTHER);
        assert_eq!(
            output(std::slice::from_ref(&recorded)),
            "No real-time rights (SCHED_OTHER instead of SCHED_FIFO 90): worst latency 83.4 µs \
             with no load added. 4 of 4 activations on time."
        );
        let both = [recorded.clone(), Synthetic::hackbench().samples(IDLE).build()];
        assert!(output(&both).starts_with(
            "No real-time rights in idle (SCHED_OTHER instead of SCHED_FIFO 90); steal time"
        ));

        recorded.document.run.scheduling = plan::Scheduling::OTHER;
        assert!(
            output(&[recorded]).starts_with("Ordinary scheduling (SCHED_OTHER): worst latency")
        );
    }

    /// It was called a lack of real-time rights, and ordinary scheduling.
    #[test]
    fn a_lower_priority_than_asked_comes_first() {
        let mut recorded = Synthetic::idle().samples(IDLE).build();
        recorded.document.instrument.real_time = false;
        for thread in &mut recorded.document.threads {
            thread.scheduling.prio = Some(20);
        }
        assert_eq!(
            output(std::slice::from_ref(&recorded)),
            "Lower priority than asked (SCHED_FIFO 20 instead of SCHED_FIFO 90): worst latency \
             83.4 µs with no load added. 4 of 4 activations on time."
        );
        let both = [recorded.clone(), Synthetic::hackbench().samples(IDLE).build()];
        assert!(output(&both).starts_with(
            "Lower priority than asked in idle (SCHED_FIFO 20 instead of SCHED_FIFO 90); steal"
        ));
        assert_eq!(crate::sections::caveats::own(&recorded.document), ["lower priority"]);
    }

    /// Without --no-sync a power cut costs no more than SIGKILL.
    #[test]
    fn a_run_cut_off_that_was_not_synced() {
        let mut recorded = Synthetic::idle().samples(IDLE).build();
        (recorded.document.state, recorded.document.end, recorded.document.run.sync) =
            (State::Running, None, false);
        assert!(output(&[recorded]).starts_with(
            "The recording is incomplete: it was cut off, and its last second is missing at most, \
             or after a power cut all that was not on the disk yet. Worst latency"
        ));
    }

    #[test]
    fn a_run_cut_short_says_so() {
        let mut recorded = Synthetic::idle().samples(IDLE).build();
        let mut ends = |state, end| {
            (recorded.document.state, recorded.document.end) = (state, end);
            // In front of the figures.
            output(std::slice::from_ref(&recorded))
                .split_once(" Worst latency")
                .map(|(before, _)| before.to_owned())
        };
        assert_eq!(ends(State::Complete, Some(End::Done)), None);
        let cut = ends(State::Running, None).unwrap();
        assert_eq!(
            cut,
            "The recording is incomplete: it was cut off, and at most its last second is missing."
        );
        let signal = ends(State::Stopped, Some(End::Signal { name: "SIGINT".into() })).unwrap();
        assert_eq!(signal, "The recording was stopped early by SIGINT.");
        let above = ends(
            State::Stopped,
            Some(End::BreakAbove { thread: 1, activation: 4_711, latency_ns: 83_449 }),
        )
        .unwrap();
        assert_eq!(
            above,
            "The recording was stopped early: activation 4,711 of thread 1 had a latency of 83.4 \
             µs, above --break-above."
        );
        let guard = ends(State::Stopped, Some(End::Guard { starved_ns: 2_000_000_000, cpu: None }))
            .unwrap();
        assert_eq!(
            guard,
            "The recording was stopped early by its guard: at an interval of 1ms, nothing else \
             had run for 2.00 s."
        );
        let full = ends(
            State::Stopped,
            Some(End::RecordingFailed { error: "No space left on device".into() }),
        )
        .unwrap();
        assert_eq!(
            full,
            "The recording was stopped early: writing it failed (No space left on device)."
        );
    }

    #[test]
    fn lost_samples_and_nothing_at_all() {
        let mut recorded = Synthetic::idle().samples(IDLE).build();
        recorded.document.threads[0].evidence.samples_lost = 12;
        assert!(
            output(&[recorded])
                .starts_with("12 samples lost, with unknown latencies. Worst latency")
        );
        assert_eq!(output(&[Synthetic::idle().samples(&[]).build()]), "No latency was measured.");
        assert_eq!(output(&[]), "No recording was given.");
        assert!(
            output(&[Synthetic::idle().samples(&[-2_000]).build()])
                .starts_with("Worst latency -2.00 µs (early) with no load added.")
        );
    }

    #[test]
    fn a_load_off_its_level_is_named() {
        let mut recorded = Synthetic::hackbench().load("cpu@50%").samples(IDLE).build();
        assert!(!output(std::slice::from_ref(&recorded)).contains("load_off_target"));
        recorded.document.load_off_target = true;
        let unnamed = output(std::slice::from_ref(&recorded));
        assert!(
            unnamed.starts_with(
                "Load off target: off by more than 5 points (load_off_target). Steal time"
            ),
            "{unnamed}"
        );
        recorded.document.load[1].off_target = true;
        recorded.document.load[1].reached = Some(model::Reached { mean: 31.2, worst_second: 30.0 });
        let named = output(std::slice::from_ref(&recorded));
        assert!(
            named.starts_with(
                "Load off target: cpu@50% reached 31.2 % of each CPU instead of 50 % \
                 (load_off_target). Steal time"
            ),
            "{named}"
        );
        let both = output(&[Synthetic::idle().samples(IDLE).build(), recorded]);
        assert!(both.starts_with("Load off target in hackbench: cpu@50% reached 31.2 %"), "{both}");
    }

    #[test]
    fn virtual_time_is_said_before_the_figure() {
        let measured = Synthetic::idle().samples(IDLE).build();
        let emulated = Synthetic::idle().samples(IDLE).in_lab(Some(1)).build();
        let host = Synthetic::idle().samples(IDLE).in_lab(None).build();
        assert!(
            output(std::slice::from_ref(&emulated))
                .starts_with("In the lab's virtual time (instructions, not a board's ns): worst")
        );
        assert!(output(&[host, emulated.clone()]).starts_with("In the lab, emulated: worst"));
        assert!(
            output(&[measured, emulated])
                .starts_with("Partly in the lab, partly on real machines: worst")
        );
    }

    #[test]
    fn one_line_whatever_the_title() {
        let odd = Synthetic::idle().title("two\nlines").samples(IDLE).build();
        assert!(!output(&[odd.clone(), odd]).contains('\n'));
    }
}
