// SPDX-License-Identifier: MIT OR Apache-2.0
//! The warnings of recordings, each once, with the recordings that have it.

use crate::alike::grouped;
use crate::format::{self, list};
use crate::overview::Overview;
use crate::warnings::{WarningText, warning_text};
use model::{Document, Warning};

/// Characters of a message or a piece of evidence.
const MAX_LETTERS: usize = 1_000;
/// Warnings shown; no recording of ours has as many.
const MAX_WARNINGS: usize = 60;

/// That real-time rights were lacking, and what would grant them.
pub(crate) fn denied(document: &Document) -> Option<&Warning> {
    document.warnings.iter().find(|warning| matches!(warning, Warning::NoRealTime { .. }))
}

/// A warning, and the recordings that have it.
pub(crate) struct GroupedWarning {
    pub(crate) text: WarningText,
    /// Empty where all have it.
    pub(crate) recordings: String,
}

/// All warnings, each once.
pub(crate) fn warnings(all: &[Overview<'_>]) -> Vec<GroupedWarning> {
    // As they are recorded, equal ones are equal texts.
    let keyed = all.iter().flat_map(|overview| {
        let warnings = overview.document().warnings.iter().filter(|warning| !warning.is_a_fact());
        warnings.map(|warning| (serde_json::to_string(warning).ok(), (warning, &overview.name)))
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
