// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader must know before the figures: their caveats, and the conditions.

use crate::alike::grouped;
use crate::format::{self, list};
use crate::language::{Text, texts, tr};
use crate::overview::Overview;
use crate::sections::cautions;
use crate::sections::lab;
use crate::sections::verdict::capitalised;
use crate::warnings::{NextStep, WarningText, localised_finding, warning_text};
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
    pub(crate) next_step: NextStep,
}

impl Banner {
    pub(crate) fn new(title: Text, text: String) -> Self {
        Banner { title: title.said(), text, next_step: NextStep::Unknown }
    }

    /// With what would change it.
    pub(crate) fn next(self, warning: Option<&Warning>) -> Self {
        let next_step = warning.map(|warning| warning_text(warning).next_step.clipped(MAX_LETTERS));
        Banner { next_step: next_step.unwrap_or(NextStep::Unknown), ..self }
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
        let document = overview.document();
        let refused = |title: Text, how: &str| {
            let (text, warning) = (tr!(measured, measured = measured(how)), denied(document));
            let why = warning.map(|warning| {
                let evidence = format::clip(&warning_text(warning).evidence, MAX_LETTERS);
                format!(" {}", tr!(measured, measured = capitalised(&evidence)))
            });
            Banner::new(title, text + &why.unwrap_or_default()).next(warning)
        };
        banners.extend(overview.no_real_time().map(|how| refused(texts::no_real_time, &how)));
        let lower = overview.lower_priority();
        banners.extend(lower.map(|how| refused(texts::lower_priority_sentence, &how)));
        let mut add = |title, text: Option<String>| {
            banners.extend(text.map(|text| Banner::new(title, text)));
        };
        let ordinary = overview
            .ordinary()
            .map(|policy| tr!(measured_requested_not_real, measured = measured(&policy)));
        add(texts::ordinary_scheduling, ordinary);
        let is_elsewhere = document.probe.taken_by() == TakenBy::AnotherMachine;
        add(
            texts::measured_elsewhere,
            is_elsewhere.then(|| tr!(recording_holds_times_came, recording = it)),
        );
        let bad = set_up_badly(document).map(|bad| tr!(bad_figures_those_machine, of, bad));
        add(texts::bad_for_latency, bad);
        let cut_short = overview.cut_short().map(|how| tr!(recording_how, recording = it, how));
        add(texts::incomplete_run, cut_short);
        let lost = || format::counted(overview.totals.lost, texts::n_samples);
        add(
            texts::samples_lost_sentence,
            (overview.totals.lost > 0)
                .then(|| tr!(lost_their_latencies_unknown, of, lost = lost())),
        );
        let off_target =
            overview.load_off_target().map(|which| tr!(figures_hold_but_not, of, which));
        add(texts::load_off_target_sentence, off_target);
    }
    // What the ns are, before anything is said of them.
    let cores = cautions::co_kernel_notes(all).into_iter();
    let cores = cores.map(|text| (texts::co_kernel_sentence, text));
    let times = lab::times(all).into_iter().chain(cores);
    banners.splice(0..0, times.map(|(title, text)| Banner::new(title, text)));
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
    let at_the_top = overview.no_real_time().or_else(|| overview.lower_priority()).is_some();
    overview
        .recorded
        .document
        .warnings
        .iter()
        .filter(move |warning| !(at_the_top && is_denied(warning)))
}

/// A warning, and the recordings that have it.
pub(crate) struct GroupedWarning {
    pub(crate) text: WarningText,
    /// Empty where all have it.
    pub(crate) recordings: String,
}

/// All warnings but the one at the top, each once.
pub(crate) fn warnings(all: &[Overview<'_>]) -> Vec<GroupedWarning> {
    // As they are recorded, equal ones are equal texts.
    let keyed = all.iter().flat_map(|overview| {
        below_the_top(overview)
            .map(|warning| (serde_json::to_string(warning).ok(), (warning, &overview.name)))
    });
    let shown = |(_, having): (_, Vec<(&Warning, &String)>)| {
        let names: Vec<&String> = having.iter().map(|(_, name)| *name).collect();
        let recordings = if names.len() == all.len() { String::new() } else { list(&names) };
        GroupedWarning::new(having[0].0, recordings)
    };
    grouped(keyed).into_iter().take(MAX_WARNINGS).map(shown).collect()
}

impl GroupedWarning {
    /// As it is shown.
    pub(crate) fn new(warning: &Warning, recordings: String) -> GroupedWarning {
        let WarningText { message, evidence, next_step } = warning_text(warning);
        let text = WarningText {
            message: format::clip(&message, MAX_LETTERS),
            evidence: format::clip(&evidence, MAX_LETTERS),
            next_step: next_step.clipped(MAX_LETTERS),
        };
        GroupedWarning { text, recordings }
    }
}
