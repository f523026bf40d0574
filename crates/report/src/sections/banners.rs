// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader must know before the figures: their caveats, and the conditions.

use crate::format;
use crate::format::list;
use crate::language::{texts, tr};
use crate::overview::Overview;
use crate::sections::cautions;
use crate::sections::lab;
use crate::warnings::{NextStep, localised_finding, warning_text};
use model::{Document, TakenBy, Warning};

/// Characters of a message or a piece of evidence.
const MAX_LETTERS: usize = 1_000;
/// Characters of what was found, where several findings stand in one sentence.
const MAX_LETTERS_OF_FINDING: usize = 120;
/// Warnings shown; no recording of ours has as many.
const MAX_WARNINGS: usize = 60;

/// A caveat of the figures.
#[derive(Clone, Debug)]
pub(crate) struct Banner {
    pub(crate) title: &'static str,
    pub(crate) text: String,
    pub(crate) next_step: String,
    pub(crate) is_command: bool,
}

impl Banner {
    pub(crate) fn new(title: &'static str, text: String, next_step: &NextStep) -> Self {
        let is_command = next_step.is_command();
        Banner {
            title,
            text,
            next_step: format::clip(&next_step.to_string(), MAX_LETTERS),
            is_command,
        }
    }
}

/// Caveats: what the lab's are, then recording by recording, the worst first.
pub(crate) fn banners(all: &[Overview<'_>]) -> Vec<Banner> {
    let mut banners: Vec<Banner> = Vec::new();
    for overview in all {
        let only = all.len() == 1;
        let of = if only { String::new() } else { format!("{}: ", overview.name) };
        let it = if only { texts::this_recording.said() } else { overview.name.as_str() };
        let measured = |how: &str| {
            if only {
                tr!(measured_how, how)
            } else {
                tr!(name_measured_with_how, name = overview.name, how)
            }
        };
        let mut add = |title, text, next_step| banners.push(Banner::new(title, text, &next_step));
        if let Some(how) = overview.no_real_time() {
            let denied = denied(&overview.recorded.document);
            let next_step =
                denied.map_or(NextStep::Unknown, |warning| warning_text(warning).next_step);
            add(texts::no_real_time.said(), tr!(measured, measured = measured(&how)), next_step);
        }
        if let Some(policy) = overview.ordinary() {
            let text = tr!(measured_requested_not_real, measured = measured(&policy));
            add(texts::ordinary_scheduling.said(), text, NextStep::Unknown);
        }
        if overview.recorded.document.probe.taken_by() == TakenBy::AnotherMachine {
            let text = tr!(recording_holds_times_came, recording = it);
            add(texts::measured_elsewhere.said(), text, NextStep::Unknown);
        }
        if let Some(bad) = set_up_badly(&overview.recorded.document) {
            let text = tr!(bad_figures_those_machine, of, bad);
            add(texts::bad_for_latency.said(), text, NextStep::Unknown);
        }
        if let Some(how) = overview.cut_short() {
            add(
                texts::incomplete_run.said(),
                tr!(recording_how, recording = it, how),
                NextStep::Unknown,
            );
        }
        if overview.lost > 0 {
            let lost = format::counted(overview.lost, texts::n_samples);
            let text = tr!(lost_their_latencies_unknown, of, lost);
            add(texts::samples_lost_sentence.said(), text, NextStep::Unknown);
        }
        if let Some(which) = overview.load_off_target() {
            let text = tr!(figures_hold_but_not, of, which);
            add(texts::load_off_target_sentence.said(), text, NextStep::Unknown);
        }
    }
    // What the ns are, before anything is said of them.
    let times = lab::times(all).into_iter();
    let cores = cautions::co_kernel_notes(all)
        .into_iter()
        .map(|text| (texts::co_kernel_sentence.said(), text));
    let times = times.chain(cores);
    banners.splice(0..0, times.map(|(title, text)| Banner::new(title, text, &NextStep::Unknown)));
    banners
}

/// Findings that are named at the top; the warnings have all of them.
const MAX_FINDINGS: usize = 3;

/// What is bad about how the machine was set up.
fn set_up_badly(document: &Document) -> Option<String> {
    let finding = |warning: &Warning| match warning {
        Warning::MachineCheck { check, found, found_phrase, .. } => {
            let found = localised_finding(found, found_phrase.as_ref());
            Some(format!("{check} ({})", format::clip(&found, MAX_LETTERS_OF_FINDING)))
        }
        _ => None,
    };
    let mut findings: Vec<String> = document.warnings.iter().filter_map(finding).collect();
    let further = findings.len().saturating_sub(MAX_FINDINGS);
    findings.truncate(MAX_FINDINGS);
    if further > 0 {
        findings.push(tr!(n_more, n = further));
    }
    (!findings.is_empty()).then(|| list(&findings))
}

/// The warning that stands at the top of everything.
pub(crate) fn denied(document: &Document) -> Option<&Warning> {
    document.warnings.iter().find(|warning| is_denied(warning))
}

const fn is_denied(warning: &Warning) -> bool {
    matches!(warning, Warning::NoRealTime { .. })
}

/// Warnings in the order they were recorded, without the one at the top.
pub(crate) fn below_the_top<'a>(overview: &'a Overview<'_>) -> impl Iterator<Item = &'a Warning> {
    let at_the_top = overview.no_real_time().is_some();
    overview
        .recorded
        .document
        .warnings
        .iter()
        .filter(move |warning| !(at_the_top && is_denied(warning)))
}

/// A warning, and the recordings that have it.
pub(crate) struct GroupedWarning {
    pub(crate) message: String,
    pub(crate) evidence: String,
    pub(crate) next_step: String,
    pub(crate) is_command: bool,
    /// Empty where all have it.
    pub(crate) recordings: String,
}

/// All warnings but the one at the top, each once.
pub(crate) fn warnings(all: &[Overview<'_>]) -> Vec<GroupedWarning> {
    let mut groups: Vec<(&Warning, Vec<&str>)> = Vec::new();
    for overview in all {
        for warning in below_the_top(overview) {
            match groups.iter_mut().find(|(known, _)| *known == warning) {
                Some((_, names)) => names.push(&overview.name),
                None => groups.push((warning, vec![&overview.name])),
            }
        }
    }
    groups
        .into_iter()
        .take(MAX_WARNINGS)
        .map(|(warning, names)| {
            grouped(warning, if names.len() == all.len() { String::new() } else { list(&names) })
        })
        .collect()
}

/// A warning as it is shown.
pub(crate) fn grouped(warning: &Warning, recordings: String) -> GroupedWarning {
    let text = warning_text(warning);
    let clip = |text: &str| format::clip(text, MAX_LETTERS);
    GroupedWarning {
        message: clip(&text.message),
        evidence: clip(&text.evidence),
        next_step: clip(&text.next_step.to_string()),
        is_command: text.next_step.is_command(),
        recordings,
    }
}
