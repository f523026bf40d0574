// SPDX-License-Identifier: MIT OR Apache-2.0
//! What was explained of recordings, as a page shows it: of each the worst as a sentence, a picture
//! and its parts, and the causes.

use super::remedies::remedies;
use super::timeline::{Heading, timeline};
use super::watched_lines;
use super::words::{account_title, cause_rows, details, part_rows, sentence};
use crate::overview::Overview;
use model::causes;

/// Recordings of which a page shows it: each has a picture of 100 KB at most.
const MAX_RECORDINGS: usize = 4;

pub(crate) struct ExplainedView {
    pub(crate) recording: String,
    pub(crate) sentence: String,
    pub(crate) title: String,
    pub(crate) svg: String,
    pub(crate) parts: Vec<[String; 4]>,
    pub(crate) details: Vec<String>,
    /// None where only one was explained.
    pub(crate) causes: Vec<Vec<String>>,
    /// How many have accounts, and what watching cost.
    pub(crate) watched: Vec<String>,
    pub(crate) remedies: Vec<String>,
}

/// Of those of which something was explained.
pub(crate) fn views(all: &[Overview<'_>]) -> Vec<ExplainedView> {
    let view = |overview: &Overview<'_>| {
        let explained = overview.recorded.explained.as_ref()?;
        let worst = explained.accounts.first()?;
        let all = causes(&explained.accounts);
        Some(ExplainedView {
            recording: overview.name.clone(),
            sentence: sentence(worst),
            title: account_title(worst),
            svg: if worst.timeline.is_empty() {
                String::new()
            } else {
                timeline(worst, Heading::Page)
            },
            parts: part_rows(worst),
            details: details(worst),
            causes: if explained.accounts.len() > 1 {
                cause_rows(&all, explained.accounts.len())
            } else {
                Vec::new()
            },
            watched: watched_lines(overview.document()),
            remedies: remedies(&explained.accounts, overview.document()),
        })
    };
    all.iter().filter_map(view).take(MAX_RECORDINGS).collect()
}
