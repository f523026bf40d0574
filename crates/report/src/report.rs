// SPDX-License-Identifier: MIT OR Apache-2.0
//! A report of recordings: what it says is made once, and rendered for a terminal, as a page, as
//! Markdown and as pictures.

use crate::charts;
use crate::charts::definition::Chart;
use crate::charts::options::ChartOptions;
use crate::charts::series::Charts;
use crate::language::{InEach, Language, in_language};
use crate::overview::{self, Overview};
use crate::page::page_texts::PageTexts;
use crate::sections::grouped_warnings::{self, GroupedWarning};
use crate::sections::inference::Inference;
use crate::sections::verdict::Headline;
use model::Recorded;
use std::cell::OnceCell;

/// What is to be said of recordings; in which language, whoever renders it says.
pub struct Report<'a> {
    /// The recordings that are charted; of many, those with the latest wake-ups.
    pub(crate) charted: Vec<Overview<'a>>,
    /// How many there are, charted or not.
    pub(crate) recorded: usize,
    pub(crate) options: &'a ChartOptions,
    texts: InEach<Texts>,
    /// Made when a page or Markdown is first asked for: a terminal shows none of it, and after a
    /// run it is not to cost anything.
    page_texts: OnceCell<InEach<PageTexts>>,
}

pub(crate) struct Texts {
    pub(crate) headline: Headline,
    pub(crate) warnings: Vec<GroupedWarning>,
}

impl<'a> Report<'a> {
    /// `inferences` are those of each recording's threads, or nothing.
    pub fn new(
        recordings: &'a [Recorded],
        inferences: &'a [Vec<Inference>],
        options: &'a ChartOptions,
    ) -> Report<'a> {
        let all = Overview::all_with(recordings, inferences);
        let of_all = InEach::new(|| Headline::new(&all));
        let charted = overview::charted(all);
        let texts = InEach::new(|| {
            let headline = of_all.get().clone();
            Texts { headline, warnings: grouped_warnings::warnings(&charted) }
        });
        let (recorded, page_texts) = (recordings.len(), OnceCell::new());
        Report { recorded, options, texts, page_texts, charted }
    }

    /// In the current language.
    pub(crate) fn page_texts(&self) -> &PageTexts {
        self.page_texts.get_or_init(|| InEach::new(|| PageTexts::new(&self.charted))).get()
    }

    /// In the current language.
    pub(crate) fn texts(&self) -> &Texts {
        self.texts.get()
    }

    /// The charts as files: name and content. They are drawn from the same series as the page's.
    pub fn svg_charts(&self, language: Language) -> Vec<(String, String)> {
        in_language(language, || {
            let charts = Charts::new(&self.charted, self.options, charts::plot::STEPS_OF_A_FILE);
            let file = |chart: Chart| {
                (format!("{}.svg", chart.file()), charts::draw(chart, &charts, &self.charted))
            };
            Chart::ALL.into_iter().map(file).collect()
        })
    }
}
